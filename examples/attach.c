/* Example: projection for a program that already uses CVODES. The lines that were added are marked
 * (+); one was changed (*).
 *
 * A body spins about its intermediate axis and tumbles freely about its centre of mass (the
 * tennis-racket effect). Its attitude is a quaternion e, its angular velocity omega is in body axes:
 *
 *   e'     = 1/2 e o (0, omega)
 *   omega' = J^-1 ((J omega) x omega)
 *
 *   0 = |e|^2 - 1
 *
 *   J = diag(1, 2, 3) kg m^2      omega(0) = (0.01, 1, 0.01) rad/s      y = (e, omega)
 *
 * The equations do not enforce the norm of e: its error grows with every step, and rotation
 * matrices computed from e are then no longer orthogonal. With projection the norm remains 1.
 *
 * Run:       attach
 * Expected:  the error of the norm at every output, below 1e-6 (some 1e-4 at the end without
 *            projection), the angular momentum in space, which is constant, and "ok". The exit code
 *            is 1 if a value is wrong, and 2 if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes.h> /* (+) */
#include <cvodes/cvodes.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

static const sunrealtype J[3] = {1, 2, 3};

static int tumble(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype *e = N_VGetArrayPointer(y), *w = e + 4;
  sunrealtype *ed = N_VGetArrayPointer(ydot), *wd = ed + 4;

  ed[0] = (-e[1] * w[0] - e[2] * w[1] - e[3] * w[2]) / 2;
  ed[1] = (e[0] * w[0] + e[2] * w[2] - e[3] * w[1]) / 2;
  ed[2] = (e[0] * w[1] + e[3] * w[0] - e[1] * w[2]) / 2;
  ed[3] = (e[0] * w[2] + e[1] * w[1] - e[2] * w[0]) / 2;
  wd[0] = (J[1] - J[2]) / J[0] * w[1] * w[2];
  wd[1] = (J[2] - J[0]) / J[1] * w[2] * w[0];
  wd[2] = (J[0] - J[1]) / J[2] * w[0] * w[1];
  return 0;
}

static int unit_quaternion(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {    /* (+) */
  (void)t, (void)user_data;                                                             /* (+) */
  const sunrealtype *e     = N_VGetArrayPointer(y);                                     /* (+) */
  N_VGetArrayPointer(c)[0] = e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3] - 1; /* (+) */
  return 0;                                                                             /* (+) */
} /* (+) */

/* R(e) J omega, the angular momentum in space */
static void momentum(const sunrealtype *y, sunrealtype L[3]) {
  const sunrealtype *e   = y;
  const sunrealtype l[3] = {J[0] * y[4], J[1] * y[5], J[2] * y[6]};
  const sunrealtype u[3] = {e[2] * l[2] - e[3] * l[1], e[3] * l[0] - e[1] * l[2],
                            e[1] * l[1] - e[2] * l[0]}; /* vector part of e, times l */

  for (int i = 0; i < 3; i++) { /* l + 2 e0 u + 2 e x u */
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    L[i] = l[i] + 2 * (e[0] * u[i] + e[1 + j] * u[k] - e[1 + k] * u[j]);
  }
}

int main(void) {
  const sunrealtype tol = 1e-6;

  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector y     = N_VNew_Serial(7, ctx);
  sunrealtype *s = N_VGetArrayPointer(y);
  N_VConst(0, y);
  s[0] = 1;
  s[4] = s[6] = 0.01;
  s[5]        = 1;
  sunrealtype L0[3];
  momentum(s, L0);

  void *cvode_mem    = CVodeCreate(CV_BDF, ctx);
  SUNMatrix A        = SUNDenseMatrix(7, 7, ctx);
  SUNLinearSolver LS = SUNLinSol_Dense(y, A, ctx);
  CHECK(CVodeInit(cvode_mem, tumble, 0, y));
  CHECK(CVodeSStolerances(cvode_mem, tol, tol));
  CHECK(CVodeSetLinearSolver(cvode_mem, LS, A));
  CHECK(CVodeSetMaxNumSteps(cvode_mem, 10000));

  N_Vector c       = N_VNew_Serial(1, ctx);                              /* (+) */
  CPProjector P    = CPProjectorCreate(unit_quaternion, y, c, ctx);      /* (+) */
  CPIntegrator mem = CPIntegratorAttach(cvode_mem, "BDF", NULL, y, ctx); /* (+) */
  CHECK(CPIntegratorSetProjector(mem, P));                               /* (+) */

  sunrealtype t = 0, worst_norm = 0, L[3];
  for (int i = 1; i <= 10; i++) {
    CHECK(CPIntegratorEvolve(mem, 10.0 * i, y, &t, CV_NORMAL)); /* (*) was CVode(cvode_mem, ...) */
    const sunrealtype norm = sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2] + s[3] * s[3]);
    worst_norm             = fmax(worst_norm, fabs(norm - 1));
    momentum(s, L);
    printf("t = %5.1f s   omega = (%7.4f, %7.4f, %7.4f) rad/s   |e| - 1 = %8.1e   L = (%.4f, %.4f, "
           "%.4f)\n",
           t, s[4], s[5], s[6], norm - 1, L[0], L[1], L[2]);
  }

  /* With projection the error of the norm is below that of one step. The attitude, and with it L,
     accumulates the errors of about 500 steps, each of which turns the body by at most 2 tol too far. */
  const sunrealtype dL = hypot(hypot(L[0] - L0[0], L[1] - L0[1]), L[2] - L0[2]);
  const int ok = worst_norm <= tol && dL <= 500 * 2 * tol * hypot(hypot(L0[0], L0[1]), L0[2]);
  printf("%s\n", ok ? "ok" : "WRONG: the quaternion's norm or the angular momentum has changed");

  CPIntegratorFree(&mem); /* (+) returns cvode_mem to the program */
  CPProjectorFree(&P);    /* (+) */
  N_VDestroy(c);          /* (+) */
  CVodeFree(&cvode_mem);
  SUNLinSolFree(LS);
  SUNMatDestroy(A);
  N_VDestroy(y);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
