/* CVODES as a back-end: the projecting nonlinear solver around the user's (guide, "The integrator").
 *
 * CVODES calls step.c's solve function once per attempt of a step. That function projects, with the
 * correction delta, and
 *
 *   BDF:    returns ycor + delta, so that the history interpolates the projected values (if steps
 *           may be left unprojected, it does as with Adams);
 *   Adams:  adds delta to the predicted state and returns ycor. If the Adams polynomial spread
 *           delta over the columns of the Nordsieck array, delta would grow (by 1.7 a step at
 *           order 3, by 4.7 at order 8).
 *
 * In the second case delta is a *pending* correction until CVODES has accepted the step
 * (step.c). */
#ifndef CPODES_MULTISTEP_IMPL_H
#define CPODES_MULTISTEP_IMPL_H

#include "cpodes/stepping/watch.h"
#include "multistep.h"

typedef struct CPMultistep_ *CPMultistep;

/* Identifies an attempt, to recognise a retry of it (step.c). */
typedef struct {
  long int nst, nfail; /* steps taken and attempts failed before it */
  sunrealtype h;       /* step size of the attempt */
} CPMark;

/* A correction added to the predicted state of a step that CVODES has not yet accepted. */
typedef struct {
  int active;
  N_Vector delta;
  CPMark mark;
} CPPending;

/* Observations of CVODES' choice of an order, at the first attempt of the step after it. */
typedef struct {
  long int nst, nfail; /* steps taken and attempts failed before it */
  int q;               /* order of the latest step */
  int begun;           /* that step was projected, and its norms count */
  long int taken;      /* number of norms taken at orders q-1 and q+1 */
} CPOrderChoice;

/* The norms by which CVODES chooses the next order (norms.c). */
typedef struct {
  int possible;       /* CVODES' vectors are adopted, so that its own norms can be changed */
  int adopting;       /* CVodeInit is running, and the vectors that it clones are adopted */
  int no_memory;      /* there was no memory to adopt a vector */
  int adopted;        /* number of vectors adopted so far */
  int active;         /* set from a projected solve to the beginning of the next step */
  int begun;          /* set from a projected solve to the next solve */
  CPErrEst mode;      /* for the attempt */
  sunrealtype ratio;  /* factor for norms at orders q-1 and q+1 */
  sunrealtype higher; /* additional factor for the norm at order q+1 */
  N_Vector zn0, ewt;  /* CVODES' state, whose norm chooses no order, and its weights */
  long int taken;     /* projected norms since the previous choice */
  CPOrderChoice choice;
} CPOrderNorms;

/* The data that CVODES gives a nonlinear solver at the beginning of an attempt. */
typedef struct {
  sunrealtype t, h, rl1;
  N_Vector ypred, zn1, f;
  long int nst, nfail,
      netf; /* steps; failed attempts, and those of them that failed the error test */
  void *user_data;
} CPAttempt;

/* The functions of the sensitivities, base.sens, that the integrator calls (sensitivity/). */
typedef struct {
  void (*begin)(void *data); /* before a call of CVODES: keeps the parameters, which end restores */
  void (*end)(void *data);
  void (*attempt)(void *data, const CPAttempt *a);  /* a new attempt of a step begins */
  int (*take_back)(void *data, const CPAttempt *a); /* a call failed: is the history lost? */
  void (*restart)(void *data);                      /* the run starts again */
  void (*projector)(void *data);                    /* the projector has been replaced */
  int (*solver)(void *data); /* the nonlinear solver has been replaced: returns 0 or a code */
  void (*stats)(void *data, CPIntegratorSensStats *stats);
  int (*bypassed)(void *data, long int steps); /* Has CVODES solved for them without cpodes? */
} CPSensHooks;

/* State of the convergence test for Newton's iteration (nls.c); norms are WRMS norms. */
typedef struct {
  sunrealtype t, t_jac; /* of this attempt; of the state where the derivatives were evaluated */
  N_Vector ewt;         /* of this attempt */
  sunrealtype tol;      /* of this attempt */
  sunrealtype residual, residual_before, d_before; /* |F_m|, |F_(m-1)|, |d_(m-1)| */
  sunrealtype d_halved; /* |d| at iteration m_halved, the last to halve the smallest correction */
  int m_halved;
  sunrealtype ratio;     /* |d_m| / |F_(m-1)|, negative if unknown for the present derivatives */
  sunrealtype ratio_age; /* age of the derivatives for which ratio was computed */
  sunrealtype stiffness; /* largest recent |F_0| / |d_0| */
} CPNewton;

/* A nonlinear solver that is given to CVODES, and the inner one that it wraps (nls.c). */
typedef struct {
  SUNNonlinearSolver wrapper, inner;
  int inner_owned, inner_running, keep_maxiters;
  int iteration;               /* given to CVODES' test while the inner solver does not run */
  int initialized;             /* CVODES has initialised the solver since this was reset */
  int sysfn_failed;            /* latest result of sysfn in SUNDIALS' fixed-point solver */
  SUNNonlinSolSysFn sysfn;     /* CVODES' function, like the next three */
  SUNNonlinSolLSetupFn lsetup; /* NULL without a linear solver, or if that has no set-up */
  SUNNonlinSolLSolveFn lsolve; /* NULL without a linear solver */
  SUNNonlinSolConvTestFn ctest;
  void *ctest_data;      /* CVODES' memory */
  void *owner;           /* the object whose solve function CVODES calls */
  N_Vector tmp;          /* workspace of the owner */
  long int nsetups;      /* number of set-ups when a Newton matrix was last checked */
  int matrix_not_finite; /* the latest solve failed because its matrix is not finite */
  int nquad;             /* quadratures that Newton's iteration leaves out, while it runs */
  CPNewton newton;       /* for the states */
} CPWrapped;

/* A tolerance so large that CVODES' convergence test only stores the norm of its vector. */
#define CP_CANNOT_MISS DBL_MAX

/* The latest attempt of a step. */
typedef struct {
  int complete;  /* y is a complete attempt that is not yet known to be accepted */
  N_Vector y;    /* its state */
  sunrealtype t; /* its end */
  sunrealtype h;
  long int nst, netf; /* steps taken and error tests failed before it */
  sunrealtype tq2;    /* the error test is tq2 ||err|| <= 1 */
  int err_valid;      /* err is the projected estimate of this attempt */
  int projected;      /* -1 before the first attempt */
  double roundoff; /* cpStepperRoundoff at y if angles are narrow, relative to the tolerances as set */
  int enters;      /* its correction is to be part of what the solver returns */
  int entered;     /* its correction is part of what the solver has returned */
  int uncut;       /* steps since h was last reduced */
  long int expect_rejected; /* nst if left unprojected because CVODES must reject it, else -1 */
} CPTrial;

/* The latest accepted step. */
typedef struct {
  long int since;    /* steps since the last projection */
  int uncut;         /* steps since h was last reduced */
  int have_estimate; /* err, tq2 and delta still belong to this step */
} CPAccepted;

/* Why the latest attempt failed: 0, or a negative code with the reason in base.text. */
typedef struct {
  int cause, fatal; /* a fatal code ends the run */
  int history_lost; /* CVODES' own state must no longer be used */
  int restarted;    /* CVODES has been re-initialised after the latest error */
} CPFailure;

/* The latest root that was returned. */
typedef struct {
  sunrealtype t;      /* NAN if there is none */
  sunrealtype motion; /* length of the motion that led to a root where the run restarted, else 0 */
} CPAtRoot;

/* The user's root functions (roots.c). */
typedef struct {
  CVRootFn g;
  int n;      /* 0 if there are none, or if they were given to CVODES directly */
  int *found; /* [n] the functions that have the root returned last */
  int *seen;  /* [n] the functions that have the latest root of CVODES */
  /* the interval of the search: the root is in (low, high]; g was last evaluated between them */
  sunrealtype end; /* NAN: earlier values of g are not known */
  sunrealtype low, between, high;
  sunrealtype root; /* the latest root found by CVODES, or NAN */
  sunrealtype *at_end, *at_between, *at_high,
      *at_root;        /* [n] g at these times; at_high only if high is not end */
  sunrealtype *beyond; /* [n] replaces 0: -g where g was last nonzero, 0 where it never was */
  int *rests;          /* [n] g_i was exactly zero where the search began */
  sunrealtype *leaves; /* [n] g_i at a restart at its root, until it has left zero; else 0 */
  int called;          /* g was called during this call, so CVodeRootInit has not replaced it */
  /* Between the ends of searches (watch.h). From crossed on, or never if that is NAN, g counts as at_crossed. */
  CPWatch watch;
  int *direction;   /* [n] as set by the user */
  sunrealtype tout; /* where the run is to go */
  sunrealtype crossed, *at_crossed, *at_begin, *at_new;
  sunrealtype *room; /* [2 n] workspace */
  long int nwatched; /* evaluations of g for this since the start */
  N_Vector inner,
      newest;     /* the state of an evaluation; that at the end of the interval, not owned */
  N_Vector spare; /* workspace */
  CPArena memory;
} CPRootFunction;

struct CPMultistep_ {
  struct CPIntegrator_ base;
  void *cvode_mem;
  int lmm;
  /* to which CVODES writes solutions, and in which it iterates: the root function finds mem through
   * this vector. NULL for attached memory */
  N_Vector y;
  CPWrapped nls;
  /* options */
  sunrealtype coef; /* nonlinear convergence coefficient */
  long int frequency;
  int has_first;     /* CPIntegratorSetInitStep has set the first step */
  sunrealtype tstop; /* as set by CPIntegratorSetStopTime, or NAN */
  int tol_is_new;    /* CVODES has been given tolerances with which it has not yet taken a step */
  /* steps */
  CPTrial attempt;
  CPAccepted last;
  int rough; /* the projection has been found to be a rough function of time since the start */
  CPPending pending;
  CPOrderNorms norms;
  CPFailure failure;
  CPRootFunction roots;
  CPAtRoot root;
  CPSensHooks sens;
  /* CVODES keeps a pointer to the solver of sensitivities that have been removed: to this one, or NULL if there were none */
  SUNNonlinearSolver idle_solver;
  /* the present call of CPIntegratorEvolve */
  const char *function;  /* the public function that runs */
  sunrealtype treturned; /* latest time that was returned with success */
  long int ndiverged;    /* attempts since the start in which fixed-point iteration failed */
  int stability_warned;  /* the warning that this limits the steps has been given since the start */
  long int nsolves;
  double roundoff; /* of the constraints, in units of the tolerance: a factor of the tolerance if above 1 */
  int own_weights; /* CVODES has asked for the weights of a system since the start */
  int solving; /* the number of attempts of steps under way: 1, unless CVODES is called by a function of its own */
  int holding;                 /* CVODES' messages are held back until the cause is known */
  char cvodes[CP_TEXT_LENGTH]; /* the latest of them */
};

/* Reports an error of a CVODES function for `function`, unless CVODES has reported it, and returns
 * flag (options.c). */
int cpOfCVODES(CPMultistep mem, int flag, const char *function);

/* check.c: what CVODES knows. CVODES' getters fail only if cvode_mem is NULL (CV_MEM_NULL). */
void cpAttemptRead(CPMultistep mem, CPAttempt *a);
long int cpStepsTaken(CPMultistep mem);
sunrealtype cpLastStep(CPMultistep mem);
/* Are these times equal up to roundoff, for steps of size h? */
int cpSameTime(sunrealtype t1, sunrealtype t2, sunrealtype h);
/* Checks a new attempt. Returns 0, or a code that must end the run, with the reason in
 * base.text. */
int cpSelfCheck(CPMultistep mem, const CPAttempt *a);
int cpCheckStartLate(CPMultistep mem, const CPAttempt *a, N_Vector ewt);
/* Would the state of a longer step be returned as that of tstop? */
int cpIsClipped(CPMultistep mem, const CPAttempt *a);
/* Clears CVODES' stop time, or moves it so far that no run in the direction of `towards` reaches
 * it. */
void cpClearStopTime(CPMultistep mem, sunrealtype towards);

/* check.c: each returns the value that the nonlinear solver is to return. */
int cpFatal(CPMultistep mem, int code);                        /* ends the run with code */
int cpFailed(CPMultistep mem, const CPAttempt *a, int flag);   /* counts a failed projection */
int cpRejected(CPMultistep mem, const CPAttempt *a, int flag); /* as cpFailed, without counting it */
/* After a solve that failed with flag, returns the code of the function of SUNDIALS' fixed-point
 * solver if that was the cause. If the function did not fail, tmp becomes its value at ycor, which
 * may not be finite. */
int cpFunctionFailure(CPWrapped *nls, N_Vector ycor, N_Vector tmp, int flag);
int cpFailedInner(CPMultistep mem, const CPAttempt *a, N_Vector ycor, int flag);
/* Called after an error test has rejected the attempt before a. Returns 0, or a code that ends the
 * run because steps no longer change t. */
int cpFailedTest(CPMultistep mem, const CPAttempt *a);

/* nls.c: creates nls->wrapper, which has the operations of nls->inner except solve. Returns 0 or
 * CP_MEM_FAIL. CVODES calls the solve function with nls as the solver's content. It solves by
 * cpInnerSolve, which fails recoverably if the Newton matrix is not finite. The vector tmp must be
 * free during solves. */
typedef int (*CPSolveFn)(SUNNonlinearSolver NLS, N_Vector y0, N_Vector ycor, N_Vector ewt,
                         sunrealtype tol, sunbooleantype callLSetup, void *cvode_mem);
int cpWrapperCreate(CPWrapped *nls, CPSolveFn solve, void *owner, N_Vector tmp, SUNContext ctx);
/* After the inner solver has returned ycor, a correction from 0: is its Newton matrix not finite?
 * This costs one more linear solve if a component of ycor is exactly 0 or not finite, and nothing
 * otherwise. The inner solver must have made a linear solve. For vectors whose entries are not
 * accessible the answer is no. */
int cpMatrixFails(const CPWrapped *nls, N_Vector ycor, void *cvode_mem);
int cpInnerSolve(CPWrapped *nls, N_Vector y0, N_Vector ycor, N_Vector ewt, sunrealtype tol,
                 sunbooleantype callLSetup, void *cvode_mem);

/* Solves the attempt to t by the inner solver, with our own convergence test if that is SUNDIALS'
 * Newton solver. */
int cpNewtonIterate(CPWrapped *nls, sunrealtype t, N_Vector y0, N_Vector ycor, N_Vector ewt,
                    sunrealtype tol, sunbooleantype callLSetup, void *cvode_mem);

/* step.c: the solve function of states */
extern const CPSolveFn cpSolveStep;
CPMark cpMark(const CPAttempt *a);
/* Is `a` a retry of the marked step? */
int cpIsRetry(const CPMark *mark, const CPAttempt *a);
/* After a failed call, takes back a correction that was never accepted. */
void cpPendingTakeBack(CPMultistep mem);
void cpPendingClear(CPMultistep mem);
/* Called when CVODES has taken nst steps: if the latest attempt is among them, its y becomes the
 * accepted state base.y. */
void cpSettle(CPMultistep mem, long int nst);
/* May anything be carried over from step to step? Not in a program's own CVodeF, whose steps CVodeB repeats from checkpoints: they
 * must be the same to the last bit, since CVODES has room for the same number of steps only. */
int cpCarriesOver(CPMultistep mem);

/* norms.c
 *
 * Calls CVodeInit with vectors that take our norms, and sets base.begun. */
int cpInitCVodes(CPMultistep mem, CVRhsFn f, sunrealtype t0, N_Vector y0);
/* Refuses to continue if CVODES has been given other vectors, perhaps of another length. Returns 0,
 * or the code that was reported. */
int cpRefuseOtherVectors(CPMultistep mem, const char *function);
/* Returns the integrator that has adopted v, or NULL. */
CPMultistep cpAdoptedBy(N_Vector v);
/* Returns a new vector that mem has adopted, or NULL if there is no memory. */
N_Vector cpAdoptedVector(CPMultistep mem);
/* To be called at the end of the projected solve of attempt a. Until the next step the norms of
 * CVODES are multiplied by norms.ratio. */
void cpOrderNormsBegin(CPMultistep mem, const CPAttempt *a, N_Vector ewt);
/* Forgets the latest solve: at a new start, with another projector, and after a failed call. */
void cpOrderNormsForget(CPMultistep mem);
/* To be called at the beginning of a new attempt. Returns 0, or a code that must end the run, with
 * the reason in base.text. */
int cpOrderNormsEnd(CPMultistep mem, const CPAttempt *a);

/* create.c */
void cpMultistepFree(CPIntegrator s);
int cpMultistepInit(CPIntegrator s, CVRhsFn f, sunrealtype t0, N_Vector y0, const char *function);
int cpMultistepReInit(CPIntegrator s, sunrealtype t0, N_Vector y0, const char *function);
int cpInstall(CPMultistep mem, SUNNonlinearSolver inner, int keep_maxiters);

/* options.c */
extern const CPIntegratorOps cpMultistepOps;
int cpApplyTolerances(CPMultistep mem);
int cpLacksOperations(SUNNonlinearSolver inner); /* Does inner lack operations of the wrapper? */
#define CP_INNER_MUST                                                                           \
  "inner must have the operations gettype, solve, setsysfn and setctestfn, and be of the type " \
  "ROOTFIND or FIXEDPOINT"
/* At the first step: if the weights ewt that CVODES has computed do not follow from the tolerances
 * kept here, the user has given CVODES others (CVodeSStolerances). These apply from now on, as for
 * attached memory. */
void cpAdoptTolerances(CPMultistep mem, N_Vector ewt);

/* CVODES' user_data, which f receives. */
static inline void *cpUserData(CPMultistep mem) { return mem->base.ops->data(&mem->base); }

/* roots.c */
int cpMultistepDirection(CPIntegrator s, const int *rootdir, const char *function);
int cpMultistepRoots(CPIntegrator s, int nrtfn, CVRootFn g, const char *function);
int cpMultistepWindow(CPIntegrator s, sunrealtype *low, sunrealtype *high, const char *function);
/* Records that CVODES has returned a root. */
void cpRootReturned(CPMultistep mem, sunrealtype t);
/* Calls CVodeReInit, with a bound on the growth of the first step if (t0, y0) is the latest
 * root. */
int cpReInitCVODES(CPMultistep mem, sunrealtype t0, N_Vector y0);
/* To be called at a new start. */
void cpRootsForget(CPRootFunction *r);
/* CVODES has returned a root at t: does it consist only of functions that leave zero, which are no
 * roots? */
int cpOnlyLeavesZero(CPMultistep mem, sunrealtype t);
/* Is the first step to be taken towards *near, before tout? */
int cpStartsAtRoot(const CPMultistep mem, sunrealtype tout, sunrealtype *near);

/* The call of CPIntegratorEvolve; its arguments have been checked. */
int cpRun(CPMultistep mem, sunrealtype tout, N_Vector yout, sunrealtype *tret, int itask,
          const char *function);

/* output.c */
int cpMultistepDky(CPIntegrator s, sunrealtype t, int k, N_Vector dky, const char *function);
int cpMultistepErrors(CPIntegrator s, N_Vector ele, const char *function);
void cpMultistepStats(CPIntegrator s, CPIntegratorStats *stats);
/* Checks that a step has been taken since the start. Returns 0, or the code that was reported. */
int cpCheckStepTaken(CPMultistep mem, const char *function);
/* Is t the end of a step whose state is already projected? */
int cpIsProjectedState(CPMultistep mem, sunrealtype t);
/* Project an output, unless it is a state that is already projected. Messages name the output by
 * its event; cpMoveOutput leaves the reason for a failure in base.text. */
int cpMoveOutput(CPMultistep mem, sunrealtype t, N_Vector y, const char *event);
int cpProjectOutput(CPMultistep mem, sunrealtype t, N_Vector y, const char *function,
                    const char *event);

#endif
