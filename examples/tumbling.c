/* Example: a spinning plate tumbles without forces (Euler's symmetric top). One call,
 * CPProjectorAddUnitNorm, keeps the norm of its quaternion, without a constraint function or a Jacobian.
 *
 *   q'     = q o (0, omega) / 2          attitude, body to space, scalar first
 *   omega' = J^-1 ((J omega) x omega)    angular velocity in body axes
 *
 *   0 = |q| - 1                                                         y = (q, omega)
 *
 *   J = diag(1, 1, 2) kg m^2      omega(0) = (0.5, 0, 3) rad/s      q(0) = (1, 0, 0, 0)
 *
 * Closed form (H. Goldstein, C. Poole, J. Safko, Classical Mechanics, 2002, 5.6): the body turns by
 * |L| t / J_1 about L = J omega(0), fixed in space, and by -(J_3 / J_1 - 1) omega_3 t about its axis.
 *
 * Run:       tumbling
 * Expected:  ten lines, with |q| - 1 at roundoff, the energy gained and the angle between the
 *            computed and the exact attitude, some 1e-5 rad at the end; and "ok". The exit code is 1
 *            if the physics is wrong, and 2 if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

static const sunrealtype J[3] = {1, 1, 2};

/* r = p o q */
static void product(const sunrealtype p[4], const sunrealtype q[4], sunrealtype r[4]) {
  r[0] = p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3];
  r[1] = p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2];
  r[2] = p[0] * q[2] + p[2] * q[0] + p[3] * q[1] - p[1] * q[3];
  r[3] = p[0] * q[3] + p[3] * q[0] + p[1] * q[2] - p[2] * q[1];
}

static int tumble(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype *q = N_VGetArrayPointer(y), *w = q + 4;
  sunrealtype *qd = N_VGetArrayPointer(ydot), *wd = qd + 4;
  const sunrealtype half[4] = {0, w[0] / 2, w[1] / 2, w[2] / 2};

  product(q, half, qd);
  for (int i = 0; i < 3; i++) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    wd[i] = (J[j] - J[k]) / J[i] * w[j] * w[k];
  }
  return 0;
}

static sunrealtype energy(const sunrealtype *w) {
  return (J[0] * w[0] * w[0] + J[1] * w[1] * w[1] + J[2] * w[2] * w[2]) / 2;
}

/* Angle between the attitude q at time t and that of the closed form */
static sunrealtype attitude_error(sunrealtype t, const sunrealtype w0[3], const sunrealtype q[4]) {
  const sunrealtype L[3] = {J[0] * w0[0], J[1] * w0[1], J[2] * w0[2]};
  const sunrealtype size = sqrt(L[0] * L[0] + L[1] * L[1] + L[2] * L[2]);
  const sunrealtype a = size * t / J[0] / 2, b = -(J[2] / J[0] - 1) * w0[2] * t / 2;
  const sunrealtype about_L[4]    = {cos(a), sin(a) * L[0] / size, sin(a) * L[1] / size,
                                     sin(a) * L[2] / size};
  const sunrealtype about_axis[4] = {cos(b), 0, 0, sin(b)};
  sunrealtype exact[4], difference[4];

  product(about_L, about_axis, exact);
  for (int i = 1; i < 4; i++) exact[i] = -exact[i]; /* the inverse */
  product(exact, q, difference);
  return 2 * asin(fmin(1, hypot(hypot(difference[1], difference[2]), difference[3])));
}

int main(void) {
  const sunrealtype tol = 1e-8, w0[3] = {0.5, 0, 3};

  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector y = N_VNew_Serial(7, ctx);
  CHECK_NEW(y);
  sunrealtype *q = N_VGetArrayPointer(y), *w = q + 4;
  N_VConst(0, y);
  q[0] = 1;
  for (int i = 0; i < 3; i++) w[i] = w0[i];

  CPProjector P = CPProjectorCreate(NULL, y, NULL, ctx);
  CHECK_NEW(P);
  CHECK(CPProjectorAddUnitNorm(P, 0, 4, 1)); /* components 0 to 3 */

  CPIntegrator mem      = CPIntegratorCreate("ADAMS", ctx);
  SUNNonlinearSolver fp = SUNNonlinSol_FixedPoint(y, 0, ctx);
  CHECK_NEW(mem);
  CHECK_NEW(fp);
  CHECK(CPIntegratorInit(mem, tumble, 0, y));
  CHECK(CPIntegratorSStolerances(mem, tol, tol));
  CHECK(CPIntegratorSetNonlinearSolver(mem, fp));
  CHECK(CPIntegratorSetProjector(mem, P));
  CHECK(CVodeSetMaxNumSteps(CPIntegratorGetCVodeMem(mem), 100000));

  sunrealtype t = 0, worst_norm = 0, worst_energy = 0, angle = 0;
  for (int i = 1; i <= 10; i++) {
    CHECK(CPIntegratorEvolve(mem, 10.0 * i, y, &t, CV_NORMAL));
    const sunrealtype norm = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    angle                  = attitude_error(t, w0, q);
    worst_norm             = fmax(worst_norm, fabs(norm - 1));
    worst_energy           = fmax(worst_energy, fabs(energy(w) - energy(w0)));
    printf("t = %5.1f s   |q| - 1 = %8.1e   energy %8.1e J   angle off by %7.1e rad\n", t, norm - 1,
           energy(w) - energy(w0), angle);
  }

  /* With projection the error of the norm is below that of one step (7e-7 without). A step has an error of at
     most dw = tol (1 + omega_3) in omega, of which CVODES aims at a sixth. It changes the energy by
     J_3 omega_3 dw, and the final angle by |L| / J_1 / omega_3 t dw, half of that in the mean over the steps. */
  long int steps;
  CHECK(CVodeGetNumSteps(CPIntegratorGetCVodeMem(mem), &steps));
  const sunrealtype dw = (sunrealtype)steps * tol * (1 + w0[2]);
  const int ok         = worst_norm <= tol && worst_energy <= J[2] * w0[2] * dw && angle <= t * dw;
  printf("%s\n", ok ? "ok" : "WRONG: the quaternion's norm, the energy or the attitude is off");

  CPIntegratorFree(&mem);
  CPProjectorFree(&P);
  SUNNonlinSolFree(fp);
  N_VDestroy(y);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
