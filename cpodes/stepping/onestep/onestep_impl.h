/* Inside of CPOneStep: the layer that all methods share, and the table of functions of a method.
 *
 * A stepper attempts steps from the state at hand and interpolates in the last one; it asks the shared
 * layer for everything else: sizes of steps and what becomes of attempts (step.c), weights,
 * projections, reasons of failures. Explicit methods: explicit.c; implicit ones: implicit.c.
 */
#ifndef CPODES_ONESTEP_IMPL_H
#define CPODES_ONESTEP_IMPL_H

#include "cpodes/stepping/integration.h"

#include <cpodes/cpodes_onestep.h>

/* Functions of a method. Those that return int: 0, or a negative code with the reason in mem->text.
 *
 * create: mem->stepper for mem->table. init: storage for states like mem->y, once. start: (t, y) and
 * its weights are new, whatever was known of f is not valid; mem->h is kept, 0: to be chosen.
 * begin: before the attempts of a step, whose weights are in ewt; mem->h, if it is 0 and steps are not
 * fixed: the first size.
 * attempt: from (t, y) with size h to tnew; out: ynew (projected), norm of the error, 0 with fixed steps,
 * and err. 0; positive: a smaller step may help; negative: fatal; the reason in mem->text.
 * ratio: of the next size to that of an attempt whose error has this norm.
 * accepted: the attempt will be the step. The shared layer then makes (tnew, ynew) the state (t, y), and
 * the one before it (tlast, ylast).
 * interpolate: k-th derivative at t in [tlast, t] of the last step's polynomial, unprojected;
 * ytmp is not to be used. degree: of that polynomial. stats: adds what the method counts itself;
 * NULL: nothing. arkode_mem: ARKODE's memory; set_linear_solver: whose matrix the model makes; NULL: there
 * is none. free: mem->stepper may be NULL, or
 * half-built. */
typedef struct {
  int (*create)(CPOneStepMem mem);
  int (*init)(CPOneStepMem mem);
  int (*start)(CPOneStepMem mem);
  int (*begin)(CPOneStepMem mem);
  int (*attempt)(CPOneStepMem mem, sunrealtype h, sunrealtype *norm);
  sunrealtype (*ratio)(CPOneStepMem mem, sunrealtype norm, int accepted);
  void (*accepted)(CPOneStepMem mem);
  int (*interpolate)(CPOneStepMem mem, sunrealtype t, int k, N_Vector dky);
  int (*degree)(CPOneStepMem mem);
  void (*stats)(CPOneStepMem mem, CPOneStepStats *stats);
  void *(*arkode_mem)(CPOneStepMem mem);
  int (*set_linear_solver)(CPOneStepMem mem, SUNLinearSolver LS, SUNMatrix S);
  void (*free)(CPOneStepMem mem);
  int implicit;
} CPStepperOps;

/* Roots of g (roots.c). Searched is the interval from tlo, where lo are the values, to the end of the
 * last step. */
typedef struct {
  CVRootFn g;
  int n;                      /* functions; 0: none */
  int *direction;             /* [n] -1, 0, 1: falling, both, rising */
  int *found;                 /* [n] of the root that was returned: -1, 0, 1 */
  int *at_zero;               /* [n] g_i has not left zero yet, and has no sign */
  sunrealtype *zero;          /* [n] its value there, and ... */
  sunrealtype *noise;         /* [n] what roundoff in the state makes of g_i */
  sunrealtype *lo, *hi, *mid; /* [n] values of g */
  sunrealtype tlo, thi;       /* hi: those at thi, in state y */
  sunrealtype tfound;         /* of the root that was returned */
  N_Vector y, trial;
  int have_lo;
  int zero_is_new;    /* some at_zero is one that begins at tlo */
  int pending;        /* y at thi is a root that has not been returned */
  int raw, trial_raw; /* y, trial could not be projected */
} CPRoots;

#define CP_METHOD_NAME 64

struct CPOneStepMem_ {
  SUNContext ctx;
  /* method */
  const CPStepperOps *ops;
  void *stepper; /* the method's own */
  char name[CP_METHOD_NAME];
  ARKodeButcherTable table; /* owned; NULL: DOP853 */
  int order, embedded, stages;
  /* problem */
  CVRhsFn f; /* NULL before CPOneStepInit */
  void *user_data;
  CPTolerances tol;
  long int nst_tol;      /* steps taken when it was set */
  CPModel model;         /* data NULL: none */
  sunrealtype norm_last; /* step.c: of the last step's error */
  double sine;           /* step.c: of the model, at the end of the last step */
  int on_manifold; /* explicit.c: the newest attempt needed the right-hand side of the manifold (CPModel) */
  int model_gone; /* it has been freed: there is nothing to integrate */
  CPRoots roots;
  /* projection */
  CPProjector P;
  CPWork step, out;      /* factors for the steps, and for everything else */
  CPProjectorStats base; /* of step at the last restart */
  CPErrEst errest;
  sunrealtype max_correction;
  sunbooleantype project_output;
  int floor_told;   /* the warning of projections that end at the roundoff floor */
  long int nst_out; /* steps taken when out's factors were made */
  /* step sizes: sign of the user's first one, else without */
  sunrealtype hinit, hmin, hmax, hfixed; /* 0: not set */
  long int mxsteps;                      /* in one call; < 0: no bound */
  sunrealtype tstop;
  int have_tstop;
  /* the solution: it has come from (tlast, ylast) to (t, y) */
  N_Vector y0, y, ylast, ynew; /* y0: start; NULL before CPOneStepInit */
  sunrealtype t0, t, tlast, tnew;
  sunrealtype tret;   /* of the last return */
  sunrealtype dir;    /* 1, -1; 0: the start, there is none yet */
  sunrealtype tlimit; /* tstop, or infinite */
  sunrealtype h;      /* signed size for the next attempt; 0: to be chosen */
  sunrealtype hlast;
  int have_err;            /* err is an estimate of the newest attempt's errors */
  int output_cause;        /* what the newest projection between two steps returned */
  int have_step;           /* (tlast, ylast) and what the stepper has for interpolation are there */
  int started;             /* the stepper has been */
  int start_checked;       /* the state is on the manifold */
  N_Vector ewt, err, ytmp; /* weights at the step's start; estimate of the last step; workspace */
  /* failures */
  CPCreeping creeping;
  char text[CP_TEXT_LENGTH];
  CPOneStepStats stats;
  CPLog log;
};

/* onestep.c */
#define CP_DOP853          "DOP853"
#define CP_MXSTEPS_DEFAULT 500
/* 0, CP_MEM_NULL or CP_NO_INIT, reported. */
int cpOneStepCheck(CPOneStepMem mem, const char *function);

/* table.c: ARKODE's table of this name, the caller's; NULL: there is none. */
ARKodeButcherTable cpOneStepTable(const char *name);
/* The diagonally implicit tables of ARKODE 6.4, NULL behind the last */
extern const char *const cpImplicitNames[];
int cpTableIsExplicit(ARKodeButcherTable B);
/* The rule that B breaks, or NULL. text [CP_TEXT_LENGTH]: room for it. */
const char *cpTableRule(ARKodeButcherTable B, char *text);

/* options.c: what f, g and efun get: the user's pointer, or the model. */
void *cpOneStepUserData(CPOneStepMem mem);
/* Error weights of y. As cpTolerancesWeights. */
int cpOneStepWeights(CPOneStepMem mem, N_Vector y, N_Vector ewt);

/* evaluate.c: each returns 0; positive: recoverable, a smaller step may help; negative: fatal; the
 * reason is in mem->text. Positive codes are those of the library with the sign changed.
 *
 * ydot = f(t, y), counted and checked. output: for interpolation. */
int cpOneStepRhs(CPOneStepMem mem, sunrealtype t, N_Vector y, N_Vector ydot, int output);
/* y (in, out) is projected with the factors of steps; its correction is bounded and counted. Nothing
 * happens without a projector. */
int cpOneStepProject(CPOneStepMem mem, sunrealtype t, N_Vector y);
/* The bound on corrections: none where there are no smaller steps, and none from a state that was
 * projected for other tolerances. */
sunrealtype cpOneStepMaxCorrection(CPOneStepMem mem);
/* Is the error estimate projected? */
int cpOneStepProjectsErrors(CPOneStepMem mem);
/* The error estimate e (in, out) at the projected state y. */
int cpOneStepProjectError(CPOneStepMem mem, sunrealtype t, N_Vector y, N_Vector e);

/* model.c */
extern const CPHostOps cpOneStepHostOps;
/* Attaches a model, before or after CPOneStepInit. */
void cpOneStepSetModel(CPOneStepMem mem, const CPModel *model);

/* step.c: one accepted step from (t, y) in direction dir, not beyond tlimit; in mem->h the size
 * proposed; out: tnew, ynew, hlast, err, h: the next proposal. On failure t, y and h are what they were,
 * and what was kept for interpolation in the step before is gone. */
int cpOneStepStep(CPOneStepMem mem);

/* control.c: a first size (E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations
 * I, 2nd ed., section II.4), from f0 = f(t, y); one evaluation of f, in f1. */
int cpInitialStep(CPOneStepMem mem, N_Vector f0, N_Vector f1, sunrealtype *h);
/* The least size of a step from t that is resolved by the roundoff of t. */
sunrealtype cpLeastStep(sunrealtype t);

/* output.c: the solution at t in [tlast, t], projected, into y; beyond these ends, and without a step
 * that can be interpolated, the state at the end. event: what output it is, for the message. 0 or a code with its reason in mem->text; CP_OUTPUT_PROJ_FAIL: y is given unprojected. */
int cpOneStepSolution(CPOneStepMem mem, sunrealtype t, N_Vector y, const char *event);
/* Roundoff of times near t. */
sunrealtype cpOneStepTimeRoundoff(CPOneStepMem mem);

/* roots.c: searches the part of the last step that has not been searched. 0; CV_ROOT_RETURN: the
 * earliest root is pending; or a code with its reason in mem->text. */
int cpRootsSearch(CPOneStepMem mem);
/* The values where the search starts: at the last return. 0, or a code with its reason in mem->text. */
int cpRootsStart(CPOneStepMem mem);
/* The pending root is being returned. */
void cpRootsReturned(CPRoots *roots);
void cpRootsFree(CPRoots *roots);
/* Is t the time of the root that was returned last? */
int cpRootsAt(const CPRoots *roots, sunrealtype t);

/* The methods. */
extern const CPStepperOps cpExplicitOps, cpImplicitOps;

#endif
