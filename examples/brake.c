/* Example: a force that is added to a mechanism and removed again. The brake of a sledge grips at 5 m/s and lets go at 3 m/s.
 *
 *   m x'' = N sin a - F cos a,   m y'' = N cos a + F sin a - m g        q = (x, y), downhill is (cos a, -sin a)
 *   0 = x sin a + y cos a                                              the slope; its multiplier is -N
 *   F = mu N while the brake grips, else 0
 *
 *   m = 80 kg,   a = 0.2 rad,   mu = 0.5,   g = 9.81 m/s^2;   from rest
 *
 * The model is the sledge without its brake. The brake's force depends on the multiplier, and cpodes solves for both.
 *
 * Closed form: N = m g cos a, so that the sledge gains g sin a each second and loses g (mu cos a - sin a) with the brake.
 *
 * Run:       brake
 * Expected:  a line for each of the first six changes, at 2.565, 3.265, 4.291, ... s, then the distance after 10 s and its
 *            closed form, and "ok". The exit code is 1 if a time or the distance is wrong by 1e-8, and 2 if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes_mechanics.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <sunmatrix/sunmatrix_dense.h>

static const sunrealtype m = 80, a = 0.2, mu = 0.5, g = 9.81, fast = 5, slow = 3, t_end = 10;

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = m;
  return 0;
}

static int weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)user_data;
  f[1] = -m * g;
  return 0;
}

static int slope(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  p[0] = q[0] * sin(a) + q[1] * cos(a);
  return 0;
}

static int slope_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(A, 0, 0) = sin(a);
  SM_ELEMENT_D(A, 0, 1) = cos(a);
  return 0;
}

/* F = mu N = -mu lambda, against the motion downhill */
static int grip(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                const sunrealtype *lambda, sunrealtype *f, void *data) {
  (void)t, (void)q, (void)u, (void)z;
  const sunrealtype F = -*(const sunrealtype *)data * lambda[0];
  f[0]                = -F * cos(a);
  f[1]                = F * sin(a);
  return 0;
}

static sunrealtype speed(N_Vector y) {
  const sunrealtype *u = N_VGetArrayPointer(y) + 2;
  return u[0] * cos(a) - u[1] * sin(a);
}

/* Root functions get the CPMech, unless CPIntegratorSetRootData gives them another pointer: here both speeds. */
static int speeds(sunrealtype t, N_Vector y, sunrealtype *root, void *data) {
  (void)t;
  const sunrealtype *limit = data;
  for (int i = 0; i < 2; i++) root[i] = speed(y) - limit[i];
  return 0;
}

/* An integrator for the sledge as it is at t */
static CPIntegrator start(CPMech mech, sunrealtype t, N_Vector y, sunrealtype *limit,
                          SUNContext ctx) {
  CPIntegrator mem = CPIntegratorCreate("DOP853", ctx);
  CHECK_NEW(mem);
  CHECK(CPMechAttach(mech, mem, t, y));
  CHECK(CPIntegratorSStolerances(mem, 1e-11, 1e-11));
  CHECK(CPIntegratorRootInit(mem, 2, speeds));
  CHECK(CPIntegratorSetRootData(mem, limit));
  CHECK(CPIntegratorSetRootDirection(
      mem, (int[]){1, -1})); /* faster than the first, slower than the second */
  return mem;
}

int main(void) {
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 2,     .np = 1,   .M = mass,
                             .A = slope_matrix,     .f = weight, .p = slope};
  sunrealtype friction = mu, limit[2] = {fast, slow};
  const CPMechForce brake = {CP_SIZED(CPMechForce), .f = grip, .on_lambda = 1, .data = &friction};
  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector y = N_VNew_Serial(4, ctx);
  CHECK_NEW(y);
  N_VConst(0, y);
  CPModel made = CPModelCreate(&model);
  CHECK_NEW(made);
  CPMech mech = CPMechCreate(made, y, ctx);
  CHECK_NEW(mech);
  CPModelFree(&made);

  /* the closed form: the newest change, way and speed there, and the acceleration from there on */
  const sunrealtype gain = g * sin(a), loss = g * (sin(a) - mu * cos(a));
  sunrealtype t = 0, changed = 0, way = 0, v = 0, rate = gain, worst = 0;
  int id, flag, changes = 0, found[2];
  CPIntegrator mem = start(mech, t, y, limit, ctx);
  while ((flag = CPIntegratorEvolve(mem, t_end, y, &t, CV_NORMAL)) == CV_ROOT_RETURN) {
    CHECK(CPIntegratorGetRootInfo(mem, found));
    if (changes++ < 6) printf("t = %.6f s: the brake %s\n", t, found[0] ? "grips" : "lets go");
    if (found[0]) { /* A force is added while there is no integrator, */
      if (CPMechGetUse(mech) & CP_MECH_ATTACHED) CPIntegratorFree(&mem);
      CHECK(CPMechAddForce(mech, &brake, &id));
      mem = start(mech, t, y, limit, ctx);
    } else { /* and removed at any time. */
      CHECK(CPMechRemoveForce(mech, id));
      CHECK(CPIntegratorReInit(mem, t, y));
    }
    const sunrealtype before = v;
    v                        = found[0] ? fast : slow;
    changed += (v - before) / rate;
    way += (v * v - before * before) / (2 * rate);
    rate  = found[0] ? loss : gain;
    worst = fmax(worst, fabs(t - changed));
  }
  CHECK(flag);
  way += v * (t_end - changed) + rate * (t_end - changed) * (t_end - changed) / 2;
  const sunrealtype x = hypot(N_VGetArrayPointer(y)[0], N_VGetArrayPointer(y)[1]);
  printf("%d changes, at times that are off by at most %.0e s\n", changes, worst);
  printf("t = %.0f s: %.6f m, expected %.6f m\n", t, x, way);
  /* Accelerations are constant between changes: DOP853 has no error there but roundoff. */
  const int ok = t == t_end && changes == 9 && worst <= 1e-8 && fabs(x - way) <= 1e-8;
  printf("%s\n", ok ? "ok" : "WRONG: the sledge is elsewhere, or its brake acts at other times");

  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  N_VDestroy(y);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
