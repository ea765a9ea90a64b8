/* Inside of CPode: the projecting nonlinear solver around the user's (guide, "The integrator").
 *
 * CVODES calls step.c's solve function once per attempt of a step. That function projects and
 *
 *   BDF:    returns ycor + delta: the history then interpolates the projected values (as Adams
 * where steps are left unprojected); Adams:  adds delta to the predicted state and returns ycor.
 * Spread over the columns of the Nordsieck array by the Adams polynomial, delta would grow (by 1.7
 * a step at order 3, by 4.7 at order 8).
 *
 * The second is a *pending* correction until CVODES has accepted the step (pending.c).
 */
#ifndef CPODES_INTEGRATOR_IMPL_H
#define CPODES_INTEGRATOR_IMPL_H

#include "cpodes/stepping/integration.h"

/* By which a retry of an attempt is recognised (pending.c). */
typedef struct {
  long int nst;   /* steps taken by then                       */
  long int nfail; /* failed attempts counted by CVODES by then */
  sunrealtype h;  /* step size of the attempt                  */
} CPMark;

/* A correction added to the predicted state of a step that CVODES has not yet accepted. */
typedef struct {
  int active;
  N_Vector delta;
  CPMark mark;
} CPPending;

/* What was seen of CVODES' choice of an order, at the first attempt of the step after it. */
typedef struct {
  long int nst, nfail; /* steps taken, and attempts failed, by then      */
  int q;               /* order of the newest step                       */
  int begun;           /* that step was projected, and so were the norms */
  long int taken;      /* norms at orders q-1 and q+1                    */
} CPOrderChoice;

/* The norms by which CVODES chooses the next order (norms.c). */
typedef struct {
  int possible;       /* the vectors of CVODES are adopted: all three norms can be projected  */
  int adopting;       /* CVodeInit runs: what it clones is adopted                            */
  int no_memory;      /* for one of these                                                     */
  int active, begun;  /* from a projected solve to the beginning of the next step; ... solve  */
  int failed;         /* code of a fatal failure in the meantime                              */
  CPErrEst mode;      /* of the attempt */
  sunrealtype factor; /* of projected norms */
  N_Vector zn0, ewt;  /* CVODES' state, whose norm is none of them, and its weights           */
  long int taken;     /* such norms since the choice before                                   */
  CPOrderChoice choice;
} CPOrderNorms;

/* What CVODES shows a nonlinear solver at the beginning of an attempt. */
typedef struct {
  sunrealtype t, h, rl1;
  N_Vector ypred, zn1, f;
  long int nst, nfail,
      netf; /* steps; failed attempts, and those of them that failed the error test */
  void *user_data;
} CPAttempt;

/* What sensitivities (sensitivity/) do at the integrator's occasions: around a call, at each new attempt of
 * a step, at a failed call, at a new start, with a new projector or nonlinear solver,
 * after a call, at the end. */
typedef struct {
  void *data;                /* NULL: there are none */
  void (*begin)(void *data); /* around what CVODES does: the parameters are the user's */
  void (*end)(void *data);
  void (*attempt)(void *data, const CPAttempt *a);
  int (*take_back)(void *data, const CPAttempt *a); /* has their history been lost? */
  void (*restart)(void *data);
  void (*projector)(void *data);               /* there is another one */
  int (*solver)(void *data);                   /* the states have another one: 0 or a code */
  int (*bypassed)(void *data, long int steps); /* did CVODES solve for them in other ways? */
  void (*free)(void **data);
} CPSensHooks;

/* What is known of Newton's iteration (newton.c); norms are WRMS norms. */
typedef struct {
  sunrealtype t, t_jac; /* of this attempt; of the state at which the derivatives were evaluated */
  N_Vector ewt;         /* of this attempt */
  sunrealtype residual, residual_before, d_before; /* norms: of the iteration, of the one before */
  sunrealtype ratio, ratio_age;   /* |d_m| / |F_(m-1)|, and the age of the derivatives then; ratio
                                   negative: not known with these derivatives */
  sunrealtype with_old, with_new; /* slowest contractions of late, with old and new derivatives */
  sunrealtype stiffness;          /* largest |F_0| / |d_0| of late */
} CPNewton;

/* A nonlinear solver that CVODES has, around another one that solves (nls.c). */
typedef struct {
  SUNNonlinearSolver wrapper, inner;
  int inner_owned, inner_running, keep_maxiters;
  int iteration;               /* that CVODES' test is shown while the inner solver does not run */
  int initialized;             /* by CVODES, since this was reset */
  int sysfn_failed;            /* what sysfn has returned last to SUNDIALS' fixed-point solver */
  SUNNonlinSolSysFn sysfn;     /* this and the next three: CVODES' */
  SUNNonlinSolLSetupFn lsetup; /* NULL: no linear solver, or one without a set-up */
  SUNNonlinSolLSolveFn lsolve; /* NULL: no linear solver */
  SUNNonlinSolConvTestFn ctest;
  void *ctest_data;      /* CVODES' memory */
  void *owner;           /* the solve function's */
  N_Vector tmp;          /* workspace, the owner's */
  long int nsetups;      /* Newton matrices that CVODES had made when one was checked last */
  int matrix_not_finite; /* the newest solve has failed for one */
  CPNewton newton;       /* of states */
} CPWrapped;

/* A tolerance with which CVODES' convergence test only stores the norm of its vector. */
#define CP_CANNOT_MISS 1.0e300

struct CPodeMem_ {
  SUNContext ctx;
  void *cvode_mem;
  int lmm, attached;
  int cvode_inited; /* CVodeInit has been called */
  CVRhsFn f;        /* NULL: attached memory's, not known */
  N_Vector y_tmpl;  /* NULL before CPodeInit */
  CPWrapped nls;
  int setup_due;    /* CVODES has asked the newest attempt for a new Newton matrix */
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
  CPTolerances tol;
  int tol_is_new; /* given to CVODES, which has made no step with them yet */
  CPModel model;  /* data NULL: none */
  CPSensHooks sens;
  int has_adjoint;  /* checkpoints of CPodeFunctionalAdjoint's */
  int adjoint_lost; /* ... were freed, and CVODES thinks that they are there */
  int model_gone;   /* it has been freed: there is nothing to integrate */
  /* the attempt, and the last good state */
  N_Vector y0, y, ygood; /* start; state of the newest attempt; newest accepted state */
  sunrealtype t0, t, tgood;
  sunrealtype troot;       /* of the newest root that was returned; NAN: none */
  sunrealtype root_beyond; /* root that CVodeF has found beyond tout and not returned yet; NAN: none */
  sunrealtype first_root; /* first root that CVodeF has found since the start; NAN: none */
  int ncheck;             /* checkpoints that CVodeF has made, besides that at the start */
  sunrealtype motion; /* length of the motion that led to a root, from which this start goes on; 0: it does not */
  sunrealtype treturned; /* newest time that CPode has returned with success */
  int have_attempt;      /* y is a complete attempt that has not been settled yet */
  sunrealtype begin;     /* where that attempt begins */
  long int nst_attempt;  /* steps taken before that attempt */
  long int netf_attempt; /* failed error tests by then */
  N_Vector delta, err, ewt, tmp;
  sunrealtype tq2;          /* of the attempt: the error test is tq2 ||err|| <= 1 */
  int err_valid, projected; /* of the newest attempt; projected -1: there is none yet */
  int enters;               /* its correction, if any, is to be part of what the solver returns */
  int uncut,
      uncut_attempt; /* steps since h fell: by the newest accepted step, by the newest attempt */
  int entered;       /* its correction is part of what the solver returned */
  int have_estimate; /* err, tq2, delta are those of the newest accepted step */
  long int since;    /* steps since the last projection */
  long int expect_rejected; /* steps taken when an attempt was left unprojected since CVODES must
                               reject it; -1 */
  CPPending pending;
  CPOrderNorms norms;
  long int nsolves;
  int start_checked;
  /* why the newest attempt failed: 0, or a negative code with the reason in text */
  int cause, fatal;
  int restarted;    /* CVODES was re-initialised after the newest error */
  int history_lost; /* CVODES' own state is not to be used any more */
  CPCreeping creeping;
  char text[CP_TEXT_LENGTH];
  CPodeProjStats stats;
  int floor_told;        /* the warning of projections that end at the roundoff floor */
  CPProjectorStats base; /* of step at the last restart */
  CPLog log;
  const char *function; /* the public one that runs */
  int repeatable;       /* CVodeF: nothing may be carried from step to step */
  int repeating;    /* CVodeB: the steps of CVodeF come once more, from those of its checkpoints */
  int has_repeated; /* it has, and CVODES stands where the last of them ended */
  sunrealtype *begins; /* [nbegins, room for most_begins] where the steps of CPodeF began; NAN: not known */
  long int nbegins, most_begins;
  int holding;  /* inside CPode CVODES' messages are held back until the cause is known ... */
  CPLog cvodes; /* ... here */
};

/* errors of CVODES' functions (options.c): reported for function, unless CVODES has done so. Returns flag. */
int cpOfCVODES(CPodeMem mem, int flag, const char *function);

/* check.c */
int cpAttemptRead(CPodeMem mem, CPAttempt *a);
/* Are these the same but for roundoff, in steps of h? */
int cpSameTime(sunrealtype t1, sunrealtype t2, sunrealtype h);
/* At a new attempt: 0, or the code with which to end the run; the reason is in mem->text. */
int cpSelfCheck(CPodeMem mem, const CPAttempt *a);
/* Is the start on the manifold, and G the Jacobian of c? 0 or a code; sets up all workspace. */
int cpCheckStart(CPodeMem mem, sunrealtype t, N_Vector y, N_Vector ewt);
int cpCheckStartLate(CPodeMem mem, const CPAttempt *a, N_Vector ewt);

/* failure.c: each returns what the nonlinear solver is to return. */
int cpFatal(CPodeMem mem, int code);                        /* ends the run with code       */
int cpFailed(CPodeMem mem, const CPAttempt *a, int flag);   /* for the reason in mem->text  */
int cpRejected(CPodeMem mem, const CPAttempt *a, int flag); /* ... and nothing is counted */
/* What the function of SUNDIALS' fixed-point solver has said when the solve failed with flag. If nothing, tmp becomes its
 * value at ycor, which may not be finite. */
int cpFunctionFailure(CPWrapped *nls, N_Vector ycor, N_Vector tmp, int flag);
int cpFailedProjection(CPodeMem mem, const CPAttempt *a, int flag); /* ... in mem->step->text  */
int cpFailedInner(CPodeMem mem, const CPAttempt *a, N_Vector ycor, int flag);
/* An error test has rejected the attempt before a: 0, or what ends the run where steps no longer move t. */
int cpFailedTest(CPodeMem mem, const CPAttempt *a);

/* nls.c: the operations of nls->inner, but for solve, into nls->wrapper; 0 or CP_MEM_FAIL. Each solve
 * function calls the inner one through cpInnerSolve, which fails recoverably with a Newton matrix that is not
 * finite; CVODES calls it with nls as the solver's content. tmp: a vector that is free during solves. */
typedef int (*CPSolveFn)(SUNNonlinearSolver NLS, N_Vector y0, N_Vector ycor, N_Vector ewt,
                         sunrealtype tol, sunbooleantype callLSetup, void *cvode_mem);
int cpWrapperCreate(CPWrapped *nls, CPSolveFn solve, void *owner, N_Vector tmp, SUNContext ctx);
/* Is the Newton matrix not finite with which the inner solver has ended in ycor? */
int cpMatrixFails(const CPWrapped *nls, N_Vector ycor, void *cvode_mem);
int cpInnerSolve(CPWrapped *nls, N_Vector y0, N_Vector ycor, N_Vector ewt, sunrealtype tol,
                 sunbooleantype callLSetup, void *cvode_mem);

/* newton.c: the inner solver's solve, with a convergence test of ours if it is SUNDIALS' Newton solver.
 * t: of the attempt. */
int cpNewtonIterate(CPWrapped *nls, sunrealtype t, N_Vector y0, N_Vector ycor, N_Vector ewt,
                    sunrealtype tol, sunbooleantype callLSetup, void *cvode_mem);

/* step.c: the solve function of states */
extern const CPSolveFn cpSolveStep;
/* CVODES has taken nst steps: if the newest attempt is among them, its y becomes ygood. */
void cpSettle(CPodeMem mem, long int nst);
/* May anything be carried from step to step? CVodeF drives CVODES without CPode, and CVodeB repeats
 * its steps from checkpoints: they have to come out the same to the last bit, since CVODES keeps room
 * for the same number of steps only. */
int cpCarriesOver(CPodeMem mem);

/* norms.c */
/* CVodeInit, with vectors whose norms can be projected; sets cvode_inited. */
int cpInitCVodes(CPodeMem mem, CVRhsFn f, sunrealtype t0, N_Vector y0);
/* Has CVODES its vectors no more, but others, and of another length perhaps? 0, or the reported code. */
int cpRefuseOtherVectors(CPodeMem mem, const char *function);
/* The projected solve of attempt a returns: until the next step the norms of CVODES are projected, too. */
void cpOrderNormsBegin(CPodeMem mem, const CPAttempt *a, N_Vector ewt);
/* 0, or the code of a fatal failure in a norm since the newest solve, told once; the reason is in mem->text. */
int cpOrderNormsFailed(CPodeMem mem);
/* A new start, another projector, or a failed call. */
void cpOrderNormsForget(CPodeMem mem);
/* A new attempt. 0, or the code with which to end the run; the reason is in mem->text. */
int cpOrderNormsEnd(CPodeMem mem, const CPAttempt *a);

/* pending.c */
CPMark cpMark(const CPAttempt *a);
/* Is `a` another attempt of the marked step? */
int cpIsRetry(const CPMark *mark, const CPAttempt *a);
void cpPendingSet(CPodeMem mem, const CPAttempt *a);
/* At a new attempt: if it retries the step of the pending correction, ypred -= delta. Clears it in
 * any case. */
void cpPendingResolve(CPodeMem mem, const CPAttempt *a);
/* After a failed call: takes back what was never accepted. */
void cpPendingTakeBack(CPodeMem mem);
void cpPendingClear(CPodeMem mem);

/* create.c */
int cpInstall(CPodeMem mem, SUNNonlinearSolver inner, int keep_maxiters);
int cpAllocateVectors(CPodeMem mem, N_Vector y_tmpl);
void cpRestart(CPodeMem mem, sunrealtype t0);
/* New checkpoints in place of those of CPodeFunctionalAdjoint's: 0 or CVODES' code. */
int cpAdjointRenew(CPodeMem mem, long int steps, int interp);

/* options.c */
int cpApplyTolerances(CPodeMem mem);
int cpLacksOperations(SUNNonlinearSolver inner); /* that the wrapper needs */
#define CP_INNER_MUST                                                                           \
  "inner must have the operations gettype, solve, setsysfn and setctestfn, and be of the type " \
  "ROOTFIND or FIXEDPOINT"
/* At the first step: are the tolerances kept here those of CVODES, which has set ewt at the start? Else
 * (CVodeSStolerances, ...) they are CVODES' own from now on, as those of attached memory are. */
void cpAdoptTolerances(CPodeMem mem, N_Vector ewt);
/* Error weights at y by the kept tolerances, in mem->ewt. 0, CP_NO_INIT if there are none,
 * CP_ILL_INPUT. */
int cpErrWeights(CPodeMem mem, N_Vector y);
/* The same in ewt. */
int cpErrWeightsInto(CPodeMem mem, N_Vector y, N_Vector ewt);

/* model.c */
extern const CPHostOps cpCPodeOps;
/* Attaches a model; its weights from now on. 0, or CVODES' code. */
int cpSetModel(CPodeMem mem, const CPModel *model);
/* CVODES' weight function where a model scales them. */
int cpScaledWeights(N_Vector y, N_Vector ewt, void *data);

/* cpode.c: What the user may have done with CVODES or the system since the last call, so that no step is possible. nst:
 * steps taken. 0, or a code, reported for mem->function. */
int cpRefuseChanges(CPodeMem mem, long int nst);
/* CPode, and CPodeF (ncheck) */
int cpRun(CPodeMem mem, sunrealtype tout, N_Vector yout, sunrealtype *tret, int itask, int *ncheck,
          const char *function);

/* output.c */
/* Is v a vector for a result of an initialised mem? 0, or the reported code. */
int cpCheckOutput(CPodeMem mem, N_Vector v, const char *name, const char *function);
/* Is there a step, of which CVODES' polynomials are? 0, or the reported code. */
int cpCheckStepTaken(CPodeMem mem, const char *function);
/* Is t the end of a step whose state is projected already? */
int cpIsProjectedState(CPodeMem mem, sunrealtype t);
/* Projects an output, unless it is a projected state. event: what it is, for the message. */
int cpProjectOutput(CPodeMem mem, sunrealtype t, N_Vector y, const char *function,
                    const char *event);

#endif
