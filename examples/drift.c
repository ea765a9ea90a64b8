/* Example: the effect of projection. A pendulum is integrated by CVODES alone and with its constraints.
 *
 *   x'' = -T x,   z'' = -T z - g,   T = (x'^2 + z'^2 - g z) / (x^2 + z^2)        y = (x, z, x', z'), length 1 m
 *
 *   0 = x^2 + z^2 - 1,   0 = x x' + z z'
 *
 *   g = (2 K)^2 m/s^2, K = K(m = 1/2) = 1.854... the complete elliptic integral (Abramowitz and Stegun, table 17.1):
 *   released at rest from the horizontal, it returns every 2 s, and is at its lowest point half a second later
 *
 * Run:       drift
 * Expected:  for CVODES alone and with projection, every 20 s, the errors of length and energy and the distance from the
 *            lowest point, which is the exact position at these times and where the pendulum is fastest. Up to machine and
 *            version, after 100 s the error of the length is 8e-2 m without projection, and roundoff with it. Then "ok". The
 *            exit code is 1 if the projected pendulum leaves its circle or the other one does not, and 2 if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes.h>
#include <cvodes/cvodes.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

static const sunrealtype tol = 1e-6, g = 4 * 1.85407467730137191843385 * 1.85407467730137191843385;

/* ydot = f(t, y) */
static int motion(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype *s = N_VGetArrayPointer(y);
  sunrealtype *sd      = N_VGetArrayPointer(ydot);
  const sunrealtype T  = (s[2] * s[2] + s[3] * s[3] - g * s[1]) / (s[0] * s[0] + s[1] * s[1]);

  sd[0] = s[2];
  sd[1] = s[3];
  sd[2] = -T * s[0];
  sd[3] = -T * s[1] - g;
  return 0;
}

/* 0 = c(t, y): the length, and its rate */
static int length(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype *s     = N_VGetArrayPointer(y);
  N_VGetArrayPointer(c)[0] = s[0] * s[0] + s[1] * s[1] - 1;
  N_VGetArrayPointer(c)[1] = s[0] * s[2] + s[1] * s[3];
  return 0;
}

/* Prints a line of the table and returns the error of the length. */
static sunrealtype report(sunrealtype t, N_Vector y) {
  const sunrealtype *s     = N_VGetArrayPointer(y);
  const sunrealtype energy = (s[2] * s[2] + s[3] * s[3]) / 2 + g * s[1];
  const sunrealtype error  = fabs(hypot(s[0], s[1]) - 1);
  printf("t = %5.1f s   length %7.1e m   energy %7.1e J/kg   state %7.1e m\n", t, error,
         fabs(energy), hypot(s[0], s[1] + 1));
  return error;
}

int main(void) {
  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector y = N_VNew_Serial(4, ctx), c = N_VNew_Serial(2, ctx);
  CHECK_NEW(y);
  CHECK_NEW(c);
  sunrealtype t, drift = 0, violation = 0;

  N_VConst(0, y);
  N_VGetArrayPointer(y)[0] = 1;
  void *cvode_mem          = CVodeCreate(CV_BDF, ctx);
  SUNMatrix J              = SUNDenseMatrix(4, 4, ctx);
  SUNLinearSolver LS       = SUNLinSol_Dense(y, J, ctx);
  CHECK_NEW(cvode_mem);
  CHECK_NEW(J);
  CHECK_NEW(LS);
  CHECK(CVodeInit(cvode_mem, motion, 0, y));
  CHECK(CVodeSStolerances(cvode_mem, tol, tol));
  CHECK(CVodeSetLinearSolver(cvode_mem, LS, J));
  CHECK(CVodeSetMaxNumSteps(cvode_mem, 100000));

  printf("CVODES alone\n");
  for (int i = 1; i <= 5; i++) {
    CHECK(CVode(cvode_mem, 20 * i + 0.5, y, &t, CV_NORMAL));
    drift = report(t, y);
  }

  /* the start again, and from here on with c */
  N_VConst(0, y);
  N_VGetArrayPointer(y)[0] = 1;
  CHECK(CVodeReInit(cvode_mem, 0, y));
  CPProjector P    = CPProjectorCreate(length, y, c, ctx);
  CPIntegrator mem = CPIntegratorAttach(cvode_mem, "BDF", NULL, y, ctx);
  CHECK(CPIntegratorSetProjector(mem, P));

  printf("with projection\n");
  for (int i = 1; i <= 5; i++) {
    CHECK(CPIntegratorEvolve(mem, 20 * i + 0.5, y, &t, CV_NORMAL));
    violation = fmax(violation, report(t, y));
  }
  CPIntegratorFree(&mem);
  CPProjectorFree(&P);

  /* Without projection each of some thousand steps may move the mass off its circle by tol; with it the distance stays below tol. */
  const int ok = violation <= tol && drift > 1000 * tol;
  printf("%s\n", ok ? "ok" : "WRONG: the pendulum is off its circle, or needs no projection");

  CVodeFree(&cvode_mem);
  SUNLinSolFree(LS);
  SUNMatDestroy(J);
  N_VDestroy(y);
  N_VDestroy(c);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
