/* Example: derivatives of accelerations, and what they say: the frequencies of a double pendulum, and how its release depends
 * on the masses and on gravity.
 *
 *   m_i r_i'' + A^T lambda = -m_i g e_y,   0 = (|r_1|^2 - 1) / 2,  0 = (|r_2 - r_1|^2 - 1) / 2           q = (r_1, r_2)
 *
 * At rest below, both masses move along x. The derivatives of their accelerations along these two directions are minus a
 * matrix whose eigenvalues are the squares of the frequencies, with equal masses g (2 -+ sqrt 2) (L. D. Landau, E. M. Lifshitz,
 * Mechanics, section 23).
 *
 * Where the pendulum is released at rest from any other state, only two scales count: u' grows with g, and only the ratio of the
 * masses matters; forces grow with both. By Euler's theorem on homogeneous functions
 *
 *   g du'/dg = u',   m_1 du'/dm_1 + m_2 du'/dm_2 = 0,   m_1 dlambda/dm_1 + m_2 dlambda/dm_2 = lambda
 *
 * CPMechJvp gives derivatives along one direction of state and parameters, CPMechVjp the gradient of one number with respect to
 * all of them: each by one solution with factors that exist.
 *
 * Run:       vibration
 * Expected:  the frequencies, the gradient of the lower mass' acceleration at its release, and "ok". The exit code is 1 if a
 *            frequency or one of the three equations is wrong by 1e-10, and 2 if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes_sens.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <sunmatrix/sunmatrix_dense.h>

enum { M1, M2, G, PARAMETERS };

static int masses(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q;
  const sunrealtype *p = user_data;
  for (int i = 0; i < 4; i++) SM_ELEMENT_D(M, i, i) = p[i < 2 ? M1 : M2];
  return 0;
}

static int weights(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z;
  const sunrealtype *p = user_data;
  f[1] = -p[M1] * p[G], f[3] = -p[M2] * p[G];
  return 0;
}

static int rods(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype x = q[2] - q[0], y = q[3] - q[1];
  p[0] = (q[0] * q[0] + q[1] * q[1] - 1) / 2;
  p[1] = (x * x + y * y - 1) / 2;
  return 0;
}

static int rods_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)user_data;
  for (int k = 0; k < 2; k++) {
    SM_ELEMENT_D(A, 0, k)     = q[k];
    SM_ELEMENT_D(A, 1, k)     = q[k] - q[2 + k];
    SM_ELEMENT_D(A, 1, 2 + k) = q[2 + k] - q[k];
  }
  return 0;
}

static int b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *r,
             void *user_data) {
  (void)t, (void)q, (void)user_data;
  r[0] = -u[0] * u[0] - u[1] * u[1];
  r[1] = -(u[2] - u[0]) * (u[2] - u[0]) - (u[3] - u[1]) * (u[3] - u[1]);
  return 0;
}

/* Of f - M u' - A^T lambda with respect to parameter i; the constraints do not depend on any. */
static int partials(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                    const sunrealtype *udot, const sunrealtype *lambda, int i, sunrealtype *Fp,
                    sunrealtype *Bp, sunrealtype *pp, sunrealtype *vp, sunrealtype *Zp,
                    void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)lambda, (void)Bp, (void)pp, (void)vp, (void)Zp;
  const sunrealtype *p = user_data;
  if (i == G) Fp[1] = -p[M1], Fp[3] = -p[M2];
  else Fp[2 * i] = -udot[2 * i], Fp[2 * i + 1] = -udot[2 * i + 1] - p[G];
  return 0;
}

/* Squares of the frequencies at rest below, by the derivatives along x_1 and x_2 */
static void frequencies(CPMech mech, N_Vector y, N_Vector s, N_Vector sdot, sunrealtype w2[2]) {
  sunrealtype K[2][2], *q = N_VGetArrayPointer(y);
  N_VConst(0, y);
  q[1] = -1, q[3] = -2;
  for (int j = 0; j < 2; j++) {
    N_VConst(0, s);
    N_VGetArrayPointer(s)[2 * j] = 1;
    CHECK(CPMechJvp(mech, 0, y, NULL, s, NULL, sdot, NULL));
    for (int i = 0; i < 2; i++) K[i][j] = -N_VGetArrayPointer(sdot)[4 + 2 * i];
  }
  const sunrealtype half = (K[0][0] + K[1][1]) / 2, det = K[0][0] * K[1][1] - K[0][1] * K[1][0];
  w2[0] = half - sqrt(half * half - det);
  w2[1] = half + sqrt(half * half - det);
}

int main(void) {
  const CPEquations model       = {CP_SIZED(CPEquations), .nu = 4,      .np = 2,   .M = masses,
                                   .A = rods_matrix,      .f = weights, .p = rods, .b = b};
  sunrealtype p[PARAMETERS]     = {1, 1, 9.81}; /* kg, kg, m/s^2 */
  const CPParameters parameters = {CP_SIZED(CPParameters), .n = PARAMETERS, .values = p};
  sunrealtype w2[2], udot[4], lambda[2], lambda_m[2], gradient[PARAMETERS], worst = 0;
  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector y = N_VNew_Serial(8, ctx);
  CHECK_NEW(y);
  N_VConst(0, y);
  N_Vector s = N_VClone(y), sdot = N_VClone(y), l = N_VClone(y), Jl = N_VClone(y);
  CHECK_NEW(s);
  CHECK_NEW(sdot);
  CHECK_NEW(l);
  CHECK_NEW(Jl);
  CPModel made = CPModelCreate(&model);
  CHECK_NEW(made);
  CPMech mech = CPMechCreate(made, y, ctx);
  CHECK_NEW(mech);
  CPModelFree(&made);
  CHECK(CPMechSetUserData(mech, p));
  CHECK(CPMechSetParamPartialsFn(mech, partials));

  frequencies(mech, y, s, sdot, w2);
  CHECK(CPMechRhs(0, y, sdot, mech));
  printf("at rest |y'| = %.0e; frequencies %.6f and %.6f rad/s\n", N_VMaxNorm(sdot), sqrt(w2[0]),
         sqrt(w2[1]));
  worst = fmax(worst, N_VMaxNorm(sdot));
  for (int i = 0; i < 2; i++)
    worst = fmax(worst, fabs(w2[i] / (p[G] * (2 + (2 * i - 1) * sqrt(2))) - 1));

  /* Released at rest, the upper rod at 60 degrees from below, the lower one at 37 degrees; masses of 1 and 3 kg */
  sunrealtype *q = N_VGetArrayPointer(y);
  q[0] = sqrt(0.75), q[1] = -0.5, q[2] = q[0] + 0.6, q[3] = q[1] - 0.8;
  p[M2] = 3;
  CHECK(CPMechSetUserData(mech, p)); /* They have changed. */
  CHECK(CPMechAccelerations(mech, 0, y, udot, lambda));

  /* The gradient of y_2'' with respect to everything, l . y' = y_2'' */
  N_VConst(0, l);
  N_VGetArrayPointer(l)[7] = 1;
  CHECK(CPMechVjp(mech, 0, y, &parameters, l, Jl, gradient));
  printf("the lower mass starts with %.6f m/s^2: %.6f for each kg above, %.6f for each kg below, "
         "%.6f for each m/s^2 of g\n",
         udot[3], gradient[M1], gradient[M2], gradient[G]);
  worst = fmax(worst, fabs(p[G] * gradient[G] - udot[3]));
  worst = fmax(worst, fabs(p[M1] * gradient[M1] + p[M2] * gradient[M2]));

  /* Along both masses in proportion accelerations stay, and the forces of the rods grow. */
  N_VConst(0, s);
  CHECK(CPMechJvp(mech, 0, y, &parameters, s, (sunrealtype[]){p[M1], p[M2], 0}, sdot, lambda_m));
  worst = fmax(worst, N_VMaxNorm(sdot));
  for (int i = 0; i < 2; i++) worst = fmax(worst, fabs(lambda_m[i] - lambda[i]) / fabs(lambda[i]));

  /* The same number both ways: along a motion of the joints, here a turn of the lower rod */
  N_VGetArrayPointer(s)[2] = 0.8, N_VGetArrayPointer(s)[3] = 0.6;
  CHECK(CPMechJvp(mech, 0, y, NULL, s, NULL, sdot, NULL));
  printf("turned by 1 rad it would change by %.6f m/s^2, by the gradient %.6f m/s^2\n",
         N_VDotProd(l, sdot), N_VDotProd(Jl, s));
  worst = fmax(worst, fabs(N_VDotProd(l, sdot) - N_VDotProd(Jl, s)));

  /* b is exact, and the derivatives of A are differences, which are good to about 1e-12. */
  const int ok = worst <= 1e-10;
  printf("%s\n", ok ? "ok" : "WRONG: a frequency, or a derivative");
  CPMechFree(&mech);
  N_VDestroy(Jl);
  N_VDestroy(l);
  N_VDestroy(sdot);
  N_VDestroy(s);
  N_VDestroy(y);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
