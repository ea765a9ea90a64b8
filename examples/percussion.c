/* Example: where to hit a ball with a bat: impulses, effective masses and the centre of percussion of a constrained body.
 *
 *   M (u+ - u-) + A^T mu = F,   A u+ = 0                        q = (x, y, phi) of the centre of mass
 *   0 = x - c cos phi, 0 = y - c sin phi                        the hand, at the origin, holds the end of the bat
 *
 *   uniform bat of length L = 0.84 m and mass m = 0.9 kg, J = m L^2/12, c = L/2; F: an impulse P = 1 N s across the bat, at the
 *   distance b from the hand. J_0 = J + m c^2 = m L^2/3
 *
 * Closed form, by the balances of momentum and moment of momentum: the bat turns with b P / J_0, and the hand gets the impulse
 * P (1 - b m c / J_0), which is zero at the centre of percussion b = 2/3 L. A point at b resists as a mass J_0 / b^2 would; that of
 * the free bat, without a hand, as 1 / (1/m + (b - c)^2/J).
 *
 * Nothing is integrated here: the questions are right-hand sides of one matrix.
 *
 * Run:       percussion
 * Expected:  a table of the impulses at the hand and the masses for five points, what is left of the motion of a bat that the
 *            hand catches, and "ok". The exit code is 1 if a number is not that of the closed form, and 2 if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes_mechanics.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <sunmatrix/sunmatrix_dense.h>

enum { POINTS = 5 };
static const sunrealtype L = 0.84, m = 0.9, c = 0.42;

static int masses(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = m;
  SM_ELEMENT_D(M, 2, 2)                         = m * L * L / 12;
  return 0;
}

/* The hand, and as a third row the height of the point at b, which is switched off but for its effective mass */
static int points(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t;
  p[0] = q[0] - c * cos(q[2]);
  p[1] = q[1] - c * sin(q[2]);
  p[2] = q[1] + (*(const sunrealtype *)user_data - c) * sin(q[2]);
  return 0;
}

static int points_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t;
  SM_ELEMENT_D(A, 0, 0) = SM_ELEMENT_D(A, 1, 1) = SM_ELEMENT_D(A, 2, 1) = 1;
  SM_ELEMENT_D(A, 0, 2)                                                 = c * sin(q[2]);
  SM_ELEMENT_D(A, 1, 2)                                                 = -c * cos(q[2]);
  SM_ELEMENT_D(A, 2, 2) = (*(const sunrealtype *)user_data - c) * cos(q[2]);
  return 0;
}

int main(void) {
  const CPEquations model     = {CP_SIZED(CPEquations),
                                 .nu     = 3,
                                 .np     = 3,
                                 .M      = masses,
                                 .A      = points_matrix,
                                 .p      = points,
                                 .active = (const int[]){1, 1, 0}};
  const sunrealtype b[POINTS] = {0.2 * L, 0.4 * L, 2 * L / 3, 0.8 * L, L}, J = m * L * L / 12,
                    J0 = J + m * c * c;
  sunrealtype hit = b[0], F[3 * POINTS] = {0}, jump[3 * POINTS], hand[3 * POINTS], worst = 0;
  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector y  = N_VNew_Serial(6, ctx);
  SUNMatrix S = SUNDenseMatrix(3, 3, ctx), W = SUNDenseMatrix(3, 3, ctx);
  CHECK_NEW(y);
  CHECK_NEW(S);
  CHECK_NEW(W);
  N_VConst(0, y);
  N_VGetArrayPointer(y)[0] = c; /* along x, at rest */

  CPModel made = CPModelCreate(&model);
  CHECK_NEW(made);
  CPMech mech = CPMechCreate(made, y, ctx);
  CHECK_NEW(mech);
  CPModelFree(&made);
  CHECK(CPMechSetUserData(mech, &hit));

  /* All impulses at once: column i of F is one of 1 N s at b_i, with its moment about the centre of mass. */
  for (int i = 0; i < POINTS; i++) F[3 * i + 1] = 1, F[3 * i + 2] = b[i] - c;
  CHECK(CPMechSolve(mech, 0, y, POINTS, F, NULL, jump, hand));

  printf("b [m]   turns [rad/s]  hand gets [N s]  resists as [kg]  free [kg]\n");
  for (int i = 0; i < POINTS; i++) {
    /* Multiplier: the impulse of the bat on the hand. Row 2 is off there. */
    const sunrealtype turn = jump[3 * i + 2], impulse = hand[3 * i + 1];
    hit = b[i];
    CHECK(CPMechSetUserData(mech, &hit)); /* The data have changed. */
    CHECK(CPMechSetActive(mech, NULL));   /* Row 2 is on, */
    CHECK(CPMechDelassus(mech, 0, y, S, W));
    CHECK(CPMechSetActive(mech, (const int[]){1, 1, 0})); /* and off again. */
    const sunrealtype resists = SM_ELEMENT_D(W, 2, 2), free = 1 / SM_ELEMENT_D(S, 2, 2);
    printf("%.3f   %9.6f      %9.6f        %9.6f        %.6f\n", b[i], turn, impulse, resists, free);
    worst = fmax(worst, fabs(turn - b[i] / J0));
    worst = fmax(worst, fabs(impulse - (1 - b[i] * m * c / J0)));
    worst = fmax(worst, fabs(resists - J0 / (b[i] * b[i])));
    worst = fmax(worst, fabs(free - 1 / (1 / m + (b[i] - c) * (b[i] - c) / J)));
  }

  /* A bat that flies with 1 m/s across itself is caught: the motion that the hand allows remains, with 3/4 of the energy. */
  sunrealtype u[3] = {0, 1, 0}, lost[3] = {0, 1, 0};
  CHECK(CPMechProject(mech, CP_TANGENT, 0, y, u));
  CHECK(CPMechProject(mech, CP_NORMAL, 0, y, lost));
  const sunrealtype energy = (m * (u[0] * u[0] + u[1] * u[1]) + J * u[2] * u[2]) / 2,
                    gone = (m * (lost[0] * lost[0] + lost[1] * lost[1]) + J * lost[2] * lost[2]) / 2;
  printf("caught: turns with %.6f rad/s; energies %.6f J of %.6f J, lost %.6f J\n", u[2], energy,
         m / 2, gone);
  worst = fmax(worst, fabs(u[2] - m * c / J0));
  worst = fmax(worst, fmax(fabs(energy - 0.75 * m / 2), fabs(energy + gone - m / 2)));

  const int ok = worst <= 1e-12; /* roundoff of numbers up to 10 */
  printf("%s\n", ok ? "ok" : "WRONG: not the numbers of the closed form");
  CPMechFree(&mech);
  SUNMatDestroy(S);
  SUNMatDestroy(W);
  N_VDestroy(y);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
