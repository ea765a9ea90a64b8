/* Example: a pendulum that rebounds from a wall repeatedly, by two methods at the same tolerance.
 *
 *   x'' = -x T,  y'' = -y T - g,   T = (x'^2 + y'^2 - g y) / L^2
 *   0 = x^2 + y^2 - L^2,   0 = x x' + y y'                      rod of length L, and its rate
 *   x = 0: the wall; there x' -> -x', without loss
 *
 *   L = 1 m,   g = (2 K)^2 m/s^2, K = K(m = 1/2) = 1.854... the complete elliptic integral: the free
 *   pendulum, released at rest at (L, 0), has the period 2 s, and so impact k is at t = k - 1/2 s
 *
 * Between impacts the motion is smooth and the tolerance is tight, so that the one-step method of order 8
 * (DOP853) needs few evaluations of f. Each impact is a restart: DOP853 keeps its step size, while
 * Adams' method restarts at order 1.
 *
 * Run:       rebound
 * Expected:  two lines like these,
 *              DOP853: 20 impacts, the last off by 7e-10 s; 507 steps, 6165 evaluations of f
 *              Adams:  20 impacts, the last off by 7e-08 s; 3693 steps, 6559 evaluations of f
 *            then "ok". The exit code is 1 if the impacts come at wrong times, and 2 if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes_integrator.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

enum { IMPACTS = 20 };

typedef struct {
  sunrealtype g;        /* [m/s^2] */
  long int evaluations; /* of f */
} Pendulum;

static int motion(sunrealtype t, N_Vector state, N_Vector rate, void *user_data) {
  (void)t;
  Pendulum *p          = user_data;
  const sunrealtype *y = N_VGetArrayPointer(state);
  sunrealtype *ydot    = N_VGetArrayPointer(rate);
  const sunrealtype T  = y[2] * y[2] + y[3] * y[3] - p->g * y[1];
  ydot[0] = y[2], ydot[1] = y[3];
  ydot[2] = -y[0] * T, ydot[3] = -y[1] * T - p->g;
  p->evaluations++;
  return 0;
}

static int rod(sunrealtype t, N_Vector state, N_Vector c, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype *y     = N_VGetArrayPointer(state);
  N_VGetArrayPointer(c)[0] = y[0] * y[0] + y[1] * y[1] - 1;
  N_VGetArrayPointer(c)[1] = y[0] * y[2] + y[1] * y[3];
  return 0;
}

static int rod_gradients(sunrealtype t, N_Vector state, N_Vector c, SUNMatrix G, void *user_data) {
  (void)t, (void)c, (void)user_data;
  const sunrealtype *y  = N_VGetArrayPointer(state);
  SM_ELEMENT_D(G, 0, 0) = 2 * y[0], SM_ELEMENT_D(G, 0, 1) = 2 * y[1];
  SM_ELEMENT_D(G, 1, 0) = y[2], SM_ELEMENT_D(G, 1, 1) = y[3];
  SM_ELEMENT_D(G, 1, 2) = y[0], SM_ELEMENT_D(G, 1, 3) = y[1];
  return 0;
}

static int wall(sunrealtype t, N_Vector state, sunrealtype *distance, void *user_data) {
  (void)t, (void)user_data;
  *distance = N_VGetArrayPointer(state)[0];
  return 0;
}

static void release(N_Vector state) {
  N_VConst(0, state);
  N_VGetArrayPointer(state)[0] = 1;
}

static void rebound(N_Vector state) {
  sunrealtype *y = N_VGetArrayPointer(state);
  y[2] = -y[2], y[3] = -y[3]; /* y' is zero there up to the error */
}

/* Each of these functions returns the time of the last impact, and adds its steps. */
static sunrealtype with_dop853(Pendulum *p, CPProjector P, N_Vector y, sunrealtype tol,
                               SUNContext ctx, long int *steps) {
  sunrealtype t    = 0;
  CPIntegrator mem = CPIntegratorCreate("DOP853", ctx);
  CHECK_NEW(mem);
  CHECK(CPIntegratorInit(mem, motion, t, y));
  CHECK(CPIntegratorSetUserData(mem, p));
  CHECK(CPIntegratorSStolerances(mem, tol, tol));
  CHECK(CPIntegratorSetProjector(mem, P));
  CHECK(CPIntegratorRootInit(mem, 1, wall));
  CHECK(CPIntegratorSetRootDirection(mem, (int[]){-1})); /* arriving only */
  for (int k = 0; k < IMPACTS; k++) {
    CHECK(CPIntegratorEvolve(mem, 2 * IMPACTS, y, &t, CV_NORMAL)); /* returns at the impact */
    *steps += COUNT(mem, "steps");
    rebound(y);
    CHECK(CPIntegratorReInit(mem, t, y));
  }
  CPIntegratorFree(&mem);
  return t;
}

static sunrealtype with_adams(Pendulum *p, CPProjector P, N_Vector y, sunrealtype tol,
                              SUNContext ctx, long int *steps) {
  long int nst;
  sunrealtype t          = 0;
  CPIntegrator mem       = CPIntegratorCreate("ADAMS", ctx);
  SUNNonlinearSolver NLS = SUNNonlinSol_FixedPoint(y, 0, ctx);
  CHECK_NEW(mem);
  CHECK_NEW(NLS);
  void *cvode_mem = CPIntegratorGetCVodeMem(mem);
  CHECK(CPIntegratorInit(mem, motion, t, y));
  CHECK(CVodeSetUserData(cvode_mem, p));
  CHECK(CPIntegratorSStolerances(mem, tol, tol));
  CHECK(CPIntegratorSetNonlinearSolver(mem, NLS));
  CHECK(CPIntegratorSetProjector(mem, P));
  CHECK(CVodeRootInit(cvode_mem, 1, wall));
  CHECK(CVodeSetRootDirection(cvode_mem, (int[]){-1}));
  for (int k = 0; k < IMPACTS; k++) {
    CHECK(CPIntegratorEvolve(mem, 2 * IMPACTS, y, &t, CV_NORMAL));
    CHECK(CVodeGetNumSteps(cvode_mem, &nst));
    *steps += nst;
    rebound(y);
    CHECK(CPIntegratorReInit(mem, t, y));
  }
  CPIntegratorFree(&mem);
  SUNNonlinSolFree(NLS);
  return t;
}

int main(void) {
  const sunrealtype K = 1.85407467730137191843385034720, tol = 1e-10;
  Pendulum p = {.g = 4 * K * K};
  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector y = N_VNew_Serial(4, ctx), c = N_VNew_Serial(2, ctx);
  SUNMatrix G = SUNDenseMatrix(2, 4, ctx);
  CHECK_NEW(y);
  CHECK_NEW(c);
  CHECK_NEW(G);
  CPProjector P = CPProjectorCreate(rod, y, c, ctx);
  CHECK_NEW(P);
  CHECK(CPProjectorSetJacFn(P, rod_gradients, G));

  int ok = 1;
  sunrealtype error[2];
  for (int adams = 0; adams < 2; adams++) {
    long int steps = 0;
    p.evaluations  = 0;
    release(y);
    const sunrealtype t = (adams ? with_adams : with_dop853)(&p, P, y, tol, ctx, &steps);
    error[adams]        = fabs(t - (IMPACTS - 0.5));
    printf("%s %d impacts, the last off by %.0e s; %ld steps, %ld evaluations of f\n",
           adams ? "Adams: " : "DOP853:", IMPACTS, error[adams], steps, p.evaluations);
    /* the error of a step is tol in the norm of the error test, and the speed at the wall is above 1 m/s */
    ok &= error[adams] <= (sunrealtype)steps * tol;
  }

  ok &= error[0] < error[1];
  printf("%s\n", ok ? "ok" : "WRONG: the impacts are not half a second after whole ones");

  CPProjectorFree(&P);
  SUNMatDestroy(G);
  N_VDestroy(c);
  N_VDestroy(y);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
