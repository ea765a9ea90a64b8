/* Inside of CPode: the projecting nonlinear solver around the user's (guide, "The integrator").
 *
 * CVODES calls step.c's solve function once per attempt of a step. That function projects and
 *
 *   BDF:    returns ycor + delta, so that the history interpolates the projected values (where steps are left
 *           unprojected it does as with Adams);
 *   Adams:  adds delta to the predicted state and returns ycor. Spread over the columns of the Nordsieck array by the
 *           Adams polynomial, delta would grow (by 1.7 a step at order 3, by 4.7 at order 8).
 *
 * The second is a *pending* correction until CVODES has accepted the step (step.c). */
#ifndef CPODES_MULTISTEP_IMPL_H
#define CPODES_MULTISTEP_IMPL_H

#include "cpodes/stepping/stepper.h"

/* Recognises a retry of an attempt (step.c). */
typedef struct {
  long int nst, nfail; /* steps taken, and attempts failed, by then */
  sunrealtype h;       /* step size of the attempt                  */
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
  int begun;           /* that step was projected, and its norms count  */
  long int taken;      /* norms at orders q-1 and q+1                    */
} CPOrderChoice;

/* The norms by which CVODES chooses the next order (norms.c). */
typedef struct {
  int possible;       /* the vectors of CVODES are adopted: its own norms can be changed      */
  int adopting;       /* CVodeInit runs, and the vectors that it clones are adopted           */
  int no_memory;      /* there was no memory to adopt a vector                                */
  int adopted;        /* number of vectors that were adopted so far                           */
  int active;         /* set from a projected solve to the beginning of the next step         */
  int begun;          /* set from a projected solve to the next solve                         */
  CPErrEst mode;      /* of the attempt                                                       */
  sunrealtype factor; /* of projected norms                                                   */
  sunrealtype ratio;  /* by which norms at orders q-1 and q+1 are multiplied                  */
  sunrealtype higher; /* by which the one at order q+1 is multiplied besides                  */
  N_Vector zn0, ewt;  /* CVODES' state, whose norm chooses no order, and its weights          */
  long int taken;     /* projected norms since the choice before                              */
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

/* What the integrator calls of its sensitivities (sensitivity/). */
typedef struct {
  void *data;                /* NULL if there are none */
  void (*begin)(void *data); /* CVODES is called, and the parameters are the user's until end */
  void (*end)(void *data);
  void (*attempt)(void *data, const CPAttempt *a);  /* a new attempt of a step begins */
  int (*take_back)(void *data, const CPAttempt *a); /* a call failed: is their history lost? */
  void (*restart)(void *data);                      /* the run starts again */
  void (*projector)(void *data);                    /* the projector has been replaced */
  int (*solver)(void *data); /* the nonlinear solver has been replaced: returns 0 or a code */
  int (*bypassed)(void *data, long int steps); /* did CVODES solve for them without cpodes? */
  void (*free)(void **data);
} CPSensHooks;

/* What is known of Newton's iteration (nls.c); norms are WRMS norms. */
typedef struct {
  sunrealtype t, t_jac; /* of this attempt; of the state at which the derivatives were evaluated */
  N_Vector ewt;         /* of this attempt */
  sunrealtype residual, residual_before, d_before; /* |F_m|, |F_(m-1)|, |d_(m-1)| */
  sunrealtype d_halved; /* correction of iteration m_halved, the last that halved the smallest one */
  int m_halved;
  sunrealtype ratio; /* |d_m| / |F_(m-1)|, or negative if it is not known with these derivatives */
  sunrealtype ratio_age;          /* the age of the derivatives at that ratio */
  sunrealtype with_old, with_new; /* slowest contractions of late, with old and new derivatives */
  sunrealtype stiffness;          /* largest |F_0| / |d_0| of late */
} CPNewton;

/* A nonlinear solver that CVODES is given, and the inner one that it wraps (nls.c). */
typedef struct {
  SUNNonlinearSolver wrapper, inner;
  int inner_owned, inner_running, keep_maxiters;
  int iteration;               /* shown to CVODES' test while the inner solver does not run */
  int initialized;             /* CVODES has initialised it since this was reset */
  int sysfn_failed;            /* what sysfn has returned last to SUNDIALS' fixed-point solver */
  SUNNonlinSolSysFn sysfn;     /* CVODES' function, as the next three */
  SUNNonlinSolLSetupFn lsetup; /* NULL without a linear solver, or if it has no set-up */
  SUNNonlinSolLSolveFn lsolve; /* NULL without a linear solver */
  SUNNonlinSolConvTestFn ctest;
  void *ctest_data;      /* CVODES' memory */
  void *owner;           /* whose solve function CVODES calls */
  N_Vector tmp;          /* workspace of the owner */
  long int nsetups;      /* Newton matrices that CVODES had made when one was checked last */
  int matrix_not_finite; /* the newest solve failed since its matrix is not finite */
  CPNewton newton;       /* of states */
} CPWrapped;

/* A tolerance with which CVODES' convergence test only stores the norm of its vector. */
#define CP_CANNOT_MISS 1.0e300

/* The newest attempt of a step. */
typedef struct {
  int complete;  /* y is a complete attempt that has not been settled yet */
  N_Vector y;    /* its state */
  sunrealtype t; /* its end */
  sunrealtype h;
  long int nst, netf;       /* steps taken, and failed error tests, by then */
  int setup_due;            /* CVODES has asked it for a new Newton matrix */
  sunrealtype tq2;          /* the error test is tq2 ||err|| <= 1 */
  int err_valid;            /* err is its projected estimate */
  int projected;            /* -1 before the first attempt */
  int enters;               /* a correction of it is to be part of what the solver returns */
  int entered;              /* a correction is part of what the solver has returned */
  int uncut;                /* steps since h fell */
  long int expect_rejected; /* nst if it was left unprojected since CVODES must reject it, else -1 */
} CPTrial;

/* The newest accepted step. */
typedef struct {
  long int since;    /* steps since the last projection */
  int uncut;         /* steps since h fell */
  int have_estimate; /* err, tq2 and delta are still its own */
} CPAccepted;

/* Why the newest attempt failed: 0, or a negative code with the reason in base.text. */
typedef struct {
  int cause, fatal; /* a fatal code ends the run */
  int history_lost; /* CVODES' own state must not be used any more */
  int restarted;    /* CVODES has been re-initialised after the newest error */
} CPFailure;

/* Steps of CVodeF, which CVodeB repeats from checkpoints: they have to come out the same to the last bit. */
typedef struct {
  int repeatable;  /* nothing may be carried over from step to step */
  int repeating;   /* they are being repeated */
  int overwritten; /* CVodeB has been called: it interpolates in the forward run's Nordsieck array */
  sunrealtype *begins; /* [nbegins, room for more] where they began, or NAN if that is not known */
  long int nbegins, room;
  sunrealtype *stops; /* [nstops] stop times that were reached */
  long int nstops;
  sunrealtype root_beyond; /* root that CVodeF has found beyond tout and not returned yet, or NAN */
  sunrealtype first_root;  /* first root that CVodeF has found since the start, or NAN */
  int count;               /* checkpoints that CVodeF has made after the start */
  int exist;               /* CPodeFunctionalAdjoint has made checkpoints */
  int lost;                /* those have been freed, but CVODES thinks that they exist */
} CPCheckpoints;

/* The newest root that was returned. */
typedef struct {
  sunrealtype t;      /* NAN if there is none */
  sunrealtype motion; /* length of the motion that led to it if the run was restarted there, else 0 */
} CPAtRoot;

/* The user's root functions (roots.c). */
typedef struct {
  CVRootFn g;
  int n;      /* 0 if there are none, or CVODES has been given them directly */
  int *found; /* [n] which functions have the root that was returned last */
  int *seen;  /* [n] those of the newest root of CVODES' */
  /* what is searched; the root is in (low, high], g was evaluated between them last */
  sunrealtype end; /* NAN: nothing is known of values before those that come next */
  sunrealtype low, between, high;
  sunrealtype root; /* found by CVODES last, or NAN */
  sunrealtype *at_end, *at_between, *at_high,
      *at_root; /* [n] g there; at_high: if it is not at_end */
  sunrealtype *beyond; /* [n] what CVODES gets for 0: -g where it was not zero last, 0 where it never was */
  int *rests;          /* [n] g_i was exactly zero where the search began */
  int called;          /* it was called in this call, so that CVodeRootInit has not replaced it */
  N_Vector y, spare; /* into which CVODES writes solutions */
  CPArena memory;
} CPRootFunction;

struct CPodeMem_ {
  struct CPStepper_ base;
  void *cvode_mem;
  int lmm, attached;
  int cvode_inited; /* CVodeInit has been called */
  CPWrapped nls;
  /* options */
  sunrealtype coef; /* nonlinear convergence coefficient */
  long int frequency;
  int tol_is_new; /* CVODES has been given tolerances, and has not made a step with them yet */
  /* steps */
  CPTrial attempt;
  CPAccepted last;
  CPPending pending;
  CPOrderNorms norms;
  CPFailure failure;
  CPRootFunction roots;
  CPAtRoot root;
  CPCheckpoints checkpoints;
  CPSensHooks sens;
  /* the call of CPode */
  const char *function;  /* the public function that runs */
  sunrealtype treturned; /* newest time that was returned with success */
  long int nsolves;
  int holding;  /* CVODES' messages are held back until the cause is known */
  CPLog cvodes; /* holds the newest of them */
};

/* Reports an error of a CVODES function for `function`, unless CVODES has done so, and returns flag (options.c). */
int cpOfCVODES(CPodeMem mem, int flag, const char *function);

/* check.c: what CVODES knows. Its getters fail without memory only (CV_MEM_NULL). */
void cpAttemptRead(CPodeMem mem, CPAttempt *a);
long int cpStepsTaken(CPodeMem mem);
sunrealtype cpLastStep(CPodeMem mem);
/* Are these the same but for roundoff, in steps of h? */
int cpSameTime(sunrealtype t1, sunrealtype t2, sunrealtype h);
/* Checks a new attempt. Returns 0, or the code with which to end the run; the reason is in base.text. */
int cpSelfCheck(CPodeMem mem, const CPAttempt *a);
int cpCheckStartLate(CPodeMem mem, const CPAttempt *a, N_Vector ewt);
/* Would the state of a longer step be handed out as that of tstop? */
int cpIsClipped(CPodeMem mem, const CPAttempt *a);
/* CVodeF has returned y at the stop time tstop. Returns 0, or CVODES' code. */
int cpStopReached(CPodeMem mem, sunrealtype tstop, N_Vector y);
/* Takes CVODES' stop time away, or as far as no run comes; towards lies on the way of the run. */
void cpClearStopTime(CPodeMem mem, sunrealtype towards);

/* check.c: each returns what the nonlinear solver is to return. */
int cpFatal(CPodeMem mem, int code);                        /* ends the run with code */
int cpFailed(CPodeMem mem, const CPAttempt *a, int flag);   /* counts a failed projection */
int cpRejected(CPodeMem mem, const CPAttempt *a, int flag); /* does not count it */
/* The solve failed with flag: returns what the function of SUNDIALS' fixed-point solver returned if that was the cause. If
 * the function did not fail, tmp becomes its value at ycor, which may not be finite. */
int cpFunctionFailure(CPWrapped *nls, N_Vector ycor, N_Vector tmp, int flag);
int cpFailedInner(CPodeMem mem, const CPAttempt *a, N_Vector ycor, int flag);
/* An error test has rejected the attempt before a: 0, or what ends the run where steps no longer move t. */
int cpFailedTest(CPodeMem mem, const CPAttempt *a);

/* nls.c: makes nls->wrapper, which has the operations of nls->inner except solve. Returns 0 or CP_MEM_FAIL. CVODES calls
 * the solve function with nls as the solver's content. It solves by cpInnerSolve, which fails recoverably with a Newton
 * matrix that is not finite. The vector tmp must be free during solves. */
typedef int (*CPSolveFn)(SUNNonlinearSolver NLS, N_Vector y0, N_Vector ycor, N_Vector ewt,
                         sunrealtype tol, sunbooleantype callLSetup, void *cvode_mem);
int cpWrapperCreate(CPWrapped *nls, CPSolveFn solve, void *owner, N_Vector tmp, SUNContext ctx);
/* The inner solver has ended in ycor, a correction from 0. Is its Newton matrix not finite? Costs one more linear solve
 * where a component of ycor is exactly 0 or not finite, and nothing otherwise; there must have been one. Vectors whose
 * entries are not accessible pass. */
int cpMatrixFails(const CPWrapped *nls, N_Vector ycor, void *cvode_mem);
int cpInnerSolve(CPWrapped *nls, N_Vector y0, N_Vector ycor, N_Vector ewt, sunrealtype tol,
                 sunbooleantype callLSetup, void *cvode_mem);

/* The inner solver's solve of the attempt to t, with a convergence test of ours if it is SUNDIALS' Newton solver. */
int cpNewtonIterate(CPWrapped *nls, sunrealtype t, N_Vector y0, N_Vector ycor, N_Vector ewt,
                    sunrealtype tol, sunbooleantype callLSetup, void *cvode_mem);

/* step.c: the solve function of states */
extern const CPSolveFn cpSolveStep;
CPMark cpMark(const CPAttempt *a);
/* Is `a` another attempt of the marked step? */
int cpIsRetry(const CPMark *mark, const CPAttempt *a);
/* Takes back a correction that was never accepted after a failed call. */
void cpPendingTakeBack(CPodeMem mem);
void cpPendingClear(CPodeMem mem);
/* CVODES has taken nst steps: if the newest attempt is among them, its y becomes ygood. */
void cpSettle(CPodeMem mem, long int nst);
/* May anything be carried from step to step? CVodeB repeats the steps of CVodeF from checkpoints. They have to come out the
 * same to the last bit, since CVODES keeps room for the same number of steps only. */
int cpCarriesOver(CPodeMem mem);

/* norms.c
 *
 * Calls CVodeInit with vectors whose norms are ours, and sets cvode_inited. */
int cpInitCVodes(CPodeMem mem, CVRhsFn f, sunrealtype t0, N_Vector y0);
/* Refuses to go on if CVODES has been given other vectors, perhaps of another length. Returns 0, or the reported code. */
int cpRefuseOtherVectors(CPodeMem mem, const char *function);
/* The integrator that has adopted v, or NULL. */
CPodeMem cpAdoptedBy(N_Vector v);
/* A new vector that mem has adopted, or NULL if there is no memory. */
N_Vector cpAdoptedVector(CPodeMem mem);
/* The projected solve of attempt a returns. Until the next step the norms of CVODES are multiplied by norms.ratio. */
void cpOrderNormsBegin(CPodeMem mem, const CPAttempt *a, N_Vector ewt);
/* Forgets the newest solve at a new start, with another projector, and after a failed call. */
void cpOrderNormsForget(CPodeMem mem);
/* A new attempt begins. Returns 0, or the code with which to end the run; the reason is in base.text. */
int cpOrderNormsEnd(CPodeMem mem, const CPAttempt *a);

/* create.c */
int cpInstall(CPodeMem mem, SUNNonlinearSolver inner, int keep_maxiters);
/* Makes checkpoints in place of those of CPodeFunctionalAdjoint. Returns 0, or CVODES' code. */
int cpAdjointRenew(CPodeMem mem, long int steps, int interp);

/* options.c */
extern const CPStepperOps cpMultistepOps;
int cpApplyTolerances(CPodeMem mem);
int cpLacksOperations(SUNNonlinearSolver inner); /* Does inner lack operations of the wrapper? */
#define CP_INNER_MUST                                                                           \
  "inner must have the operations gettype, solve, setsysfn and setctestfn, and be of the type " \
  "ROOTFIND or FIXEDPOINT"
/* At the first step: if the weights ewt that CVODES has set do not follow from the tolerances kept here, CVODES has been
 * given others (CVodeSStolerances), which count from now on, as those of attached memory do. */
void cpAdoptTolerances(CPodeMem mem, N_Vector ewt);
/* Have no steps been taken? Returns 0, or the reported code. */
int cpCheckNoSteps(CPodeMem mem, const char *function);

/* CVODES' user_data, which f gets */
static inline void *cpUserData(CPodeMem mem) { return mem->base.ops->user_data(&mem->base); }
/* Attaches a system, whose weights apply from now on. Returns 0, or CVODES' code. */
int cpSetSystem(CPodeMem mem, const CPSystem *system);
/* The linear solver of Newton's iteration, whose matrix S the system makes. Returns 0 or CP_MEM_FAIL. */
int cpSetLinearSolver(CPodeMem mem, SUNLinearSolver LS, SUNMatrix S);

/* roots.c */
/* Notes that CVODES has returned a root. */
void cpRootReturned(CPodeMem mem, sunrealtype t);
/* Calls CVodeReInit, with a bound on the growth of the first step if (t0, y0) is the newest root. */
int cpReInitCVODES(CPodeMem mem, sunrealtype t0, N_Vector y0);
/* A new start */
void cpRootsForget(CPRootFunction *r);
/* CVODES returns a root at t: does it consist of functions that leave zero, which is none? */
int cpOnlyLeavesZero(CPodeMem mem, sunrealtype t);
/* Is the first step to be made towards *near, before tout? */
int cpStartsAtRoot(const CPodeMem mem, sunrealtype tout, sunrealtype *near);

/* cpode.c: has the user done to CVODES or the system what makes steps after the nst taken impossible? Returns 0, or a code
 * that it has reported for mem->function. */
int cpRefuseChanges(CPodeMem mem, long int nst);
/* The call of CPode, or of CPodeF if ncheck is not NULL. */
int cpRun(CPodeMem mem, sunrealtype tout, N_Vector yout, sunrealtype *tret, int itask, int *ncheck,
          const char *function);

/* output.c */
/* Is v a vector for a result of an initialised mem? Returns 0, or the reported code. */
int cpCheckOutput(CPodeMem mem, N_Vector v, const char *name, const char *function);
/* Is the Nordsieck array that of the forward run? Returns 0, or the reported code. */
int cpCheckHistory(CPodeMem mem, const char *function);
/* Has a step been taken since the start? Returns 0, or the reported code. */
int cpCheckStepTaken(CPodeMem mem, const char *function);
/* Is t the end of a step whose state is projected already? */
int cpIsProjectedState(CPodeMem mem, sunrealtype t);
/* Projects an output, unless it is a projected state. Messages call the output by the name of the event; the first of these
 * functions leaves the reason in base.text. */
int cpMoveOutput(CPodeMem mem, sunrealtype t, N_Vector y, const char *event);
int cpProjectOutput(CPodeMem mem, sunrealtype t, N_Vector y, const char *function,
                    const char *event);

#endif
