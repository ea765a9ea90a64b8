/* Inside of CPode: the projecting nonlinear solver around the user's (guide, "The integrator").
 *
 * CVODES calls step.c's solve function once per attempt of a step. That function projects and
 *
 *   BDF:    returns ycor + delta: the history then interpolates the projected values (as Adams where
 *           steps are left unprojected);
 *   Adams:  adds delta to the predicted state and returns ycor. Spread over the columns of the
 *           Nordsieck array by the Adams polynomial, delta would grow (by 1.7 a step at order 3,
 *           by 4.7 at order 8).
 *
 * The second is a *pending* correction until CVODES has accepted the step (pending.c).
 */
#ifndef CPODES_INTEGRATOR_IMPL_H
#define CPODES_INTEGRATOR_IMPL_H

#include "../compat.h"
#include "../errors.h"
#include "../projector/projector_impl.h"

#include <cpodes/cpodes.h>

typedef enum { CP_TOL_NONE, CP_TOL_SS, CP_TOL_SV, CP_TOL_WF, CP_TOL_CVODES } CPTolKind;

/* A correction added to the predicted state of a step that CVODES has not yet accepted. */
typedef struct {
  int active;
  N_Vector delta;
  long int nst;   /* steps taken when it was added             */
  long int nfail; /* failed attempts counted by CVODES by then */
  sunrealtype h;  /* step size of the attempt                  */
} CPPending;

/* What CVODES shows a nonlinear solver at the beginning of an attempt. */
typedef struct {
  sunrealtype t, h, rl1;
  N_Vector ypred, zn1, f;
  long int nst, nfail;
  void *user_data;
} CPAttempt;

struct CPodeMem_ {
  SUNContext ctx;
  void *cvode_mem;
  int lmm, attached;
  N_Vector y_tmpl; /* NULL before CPodeInit */
  /* solvers */
  SUNNonlinearSolver wrapper, inner;
  int inner_owned, inner_running, keep_maxiters;
  SUNNonlinSolSysFn sysfn;      /* CVODES' */
  SUNNonlinSolConvTestFn ctest; /* CVODES' */
  void *ctest_data;
  sunrealtype coef; /* nonlinear convergence coefficient */
  /* projection */
  CPProjector P;
  long int nst_out; /* steps taken when out's factors were made */
  CPWork step, out; /* factors for the steps, and for everything else */
  long int frequency;
  sunbooleantype test_cnstr, project_output;
  CPErrEst errest;
  sunrealtype max_correction;
  /* tolerances */
  CPTolKind tol;
  sunrealtype reltol, abstol;
  N_Vector vabstol;
  CVEwtFn efun;
  /* the attempt, and the last good state */
  N_Vector y0, y, ygood; /* start; state of the newest attempt; newest accepted state */
  sunrealtype t0, t, tgood;
  int have_attempt;     /* y is a complete attempt that has not been settled yet */
  long int nst_attempt; /* steps taken before that attempt */
  N_Vector delta, err, ewt, tmp;
  sunrealtype tq2;          /* of the attempt: the error test is tq2 ||err|| <= 1 */
  int err_valid, projected; /* of the newest attempt; projected -1: there is none yet */
  long int since;           /* steps since the last projection */
  long int expect_rejected; /* steps taken when an attempt was left unprojected since CVODES must
                               reject it; -1 */
  CPPending pending;
  long int nsolves;
  int start_checked;
  /* why the newest attempt failed: 0, or a negative code with the reason in text */
  int cause, fatal;
  char text[CP_TEXT_LENGTH];
  CPodeProjStats stats;
  int floor_told;        /* the warning of projections that end at the roundoff floor */
  CPProjectorStats base; /* of step at the last restart */
  CPLog log;
  int holding;  /* inside CPode CVODES' messages are held back until the cause is known ... */
  CPLog cvodes; /* ... here */
};

/* step.c */
SUNNonlinearSolver cpWrapperCreate(CPodeMem mem);
int cpAttemptRead(CPodeMem mem, CPAttempt *a);
/* CVODES has taken nst steps: if the newest attempt is among them, its y becomes ygood. */
void cpSettle(CPodeMem mem, long int nst);
int cpCheckStart(CPodeMem mem, sunrealtype t, N_Vector y, N_Vector ewt);
/* Is the correction returned, in place of added to the predicted state? */
int cpEntersHistory(CPodeMem mem);

/* pending.c */
void cpPendingSet(CPodeMem mem, const CPAttempt *a);
/* At a new attempt: if it retries the step of the pending correction, ypred -= delta. Clears it in any case. */
void cpPendingResolve(CPodeMem mem, const CPAttempt *a);
/* After a failed call: takes back what was never accepted. */
void cpPendingTakeBack(CPodeMem mem);
void cpPendingClear(CPodeMem mem);

/* create.c */
int cpInstall(CPodeMem mem, SUNNonlinearSolver inner, int keep_maxiters);
int cpAllocateVectors(CPodeMem mem, N_Vector y_tmpl);
void cpRestart(CPodeMem mem, sunrealtype t0);

/* options.c */
int cpWorksCreate(CPodeMem mem);
int cpApplyTolerances(CPodeMem mem);
/* Error weights at y by the kept tolerances, in mem->ewt. 0, CP_NO_INIT if there are none, CP_ILL_INPUT. */
int cpErrWeights(CPodeMem mem, N_Vector y);

/* output.c */
int cpProjectOutput(CPodeMem mem, sunrealtype t, N_Vector y, const char *function);

#endif
