/* Inside of CPOneStep: what all one-step methods share, and the table of functions of a method.
 *
 * A method attempts steps from the state at hand and interpolates in the last one. Everything else is shared: the sizes
 * of steps and what becomes of attempts (evolve.c), weights, projections, reasons of failures. Explicit methods are in
 * explicit.c, diagonally implicit ones in implicit.c. */
#ifndef CPODES_ONESTEP_IMPL_H
#define CPODES_ONESTEP_IMPL_H

#include "cpodes/stepping/stepper.h"

#include <cpodes/cpodes_onestep.h>

/* Functions of a method. Those that return int return 0, or a negative code with the reason in base.text. Those marked
 * with (optional) may be NULL. */
typedef struct {
  int implicit;
  /* mem->own, order, embedded and stages of mem->table, or of a table of its own. */
  int (*create)(CPOneStepMem mem);
  /* Storage for states like base.y0, in base.memory. */
  int (*init)(CPOneStepMem mem);
  /* (t, y) and its weights are new: nothing that is known of f holds any more. */
  int (*start)(CPOneStepMem mem);
  /* Before the attempts of a step. If mem->h is 0 and steps are not fixed, chooses it. */
  int (*begin)(CPOneStepMem mem);
  /* From (t, y) with size h to tnew: ynew (projected), the norm of the error (0 with fixed steps), and base.err.
   * Positive if a smaller step may help. */
  int (*attempt)(CPOneStepMem mem, sunrealtype h, sunrealtype *norm);
  /* The ratio of the next size to that of an attempt whose error has this norm. */
  sunrealtype (*ratio)(CPOneStepMem mem, sunrealtype norm, int accepted);
  /* The attempt becomes the step: (tnew, ynew) will be the state, and the state (tlast, ylast). */
  void (*accepted)(CPOneStepMem mem);
  /* The k-th derivative at t in [tlast, t] of the last step's polynomial, unprojected. Leaves base.tmp alone. */
  int (*interpolate)(CPOneStepMem mem, sunrealtype t, int k, N_Vector dky);
  int (*degree)(CPOneStepMem mem); /* of that polynomial */
  void (*stats)(CPOneStepMem mem,
                CPOneStepStats *stats);  /* what the method counts itself (optional) */
  void *(*arkode_mem)(CPOneStepMem mem); /* (optional) */
  int (*set_linear_solver)(CPOneStepMem mem, SUNLinearSolver LS, SUNMatrix S); /* (optional) */
} CPOneStepMethod;

extern const CPOneStepMethod cpExplicitMethod, cpImplicitMethod;

/* Roots of g (roots.c). The interval that is searched leads from tlo to the end of the last step. */
typedef struct {
  CPArena values, vectors; /* The vectors are allocated when the first search starts. */
  CVRootFn g;
  int n;              /* number of functions */
  int *direction;     /* [n] of the crossings that are asked for: -1 falling, 1 rising, 0 both */
  int *found;         /* [n] directions of the crossings at the root that was returned, or 0 */
  int *at_zero;       /* [n] g_i has not left zero yet, and has no sign */
  sunrealtype *zero;  /* [n] the value of g_i that counts as zero */
  sunrealtype *noise; /* [n] the change that roundoff in the state causes in g_i */
  sunrealtype *lo, *hi, *mid; /* [n] values of g at tlo, at thi, and in between */
  sunrealtype tlo, thi;
  sunrealtype tfound; /* time of the root that was returned */
  N_Vector y, trial;  /* states that belong to hi and mid */
  int have_lo;
  int zero_is_new;    /* some g_i has reached zero at tlo */
  int pending;        /* y at thi is a root that has not been returned */
  int raw, trial_raw; /* y, trial could not be projected */
} CPRoots;

#define CP_DOP853      "DOP853"
#define CP_METHOD_NAME 64

struct CPOneStepMem_ {
  struct CPStepper_ base; /* the state (t, y), with the weights ewt of where its step began */
  CPArena memory;         /* of the method */
  /* the method */
  const CPOneStepMethod *method;
  void *own; /* its data */
  char name[CP_METHOD_NAME];
  ARKodeButcherTable table;
  int order, embedded, stages;
  /* options; sizes have no sign, but that of the first step, and are 0 if they are not set */
  void *user_data;
  sunrealtype hinit, hmin, hmax, hfixed;
  long int mxsteps; /* in one call; negative: no bound */
  sunrealtype tstop;
  int have_tstop;
  long int nst_tol; /* steps taken when tolerances were set */
  /* the last step came from (tlast, ylast), the newest attempt leads to (tnew, ynew) */
  N_Vector ylast, ynew;
  sunrealtype tlast, tnew;
  sunrealtype tret;   /* of the last return */
  sunrealtype dir;    /* 1 or -1; 0 at the start */
  sunrealtype tlimit; /* tstop, or infinite */
  sunrealtype h;      /* signed size for the next attempt; 0: to be chosen */
  sunrealtype hlast;
  sunrealtype norm_last; /* of the last step's error */
  double sine;           /* of the system, at the end of the last step */
  int on_manifold; /* the newest attempt needed the right-hand side of the manifold (CPSystem) */
  int started;     /* the method has been, from the state */
  int have_step;   /* (tlast, ylast), and what the method needs for interpolation, are there */
  int have_err;    /* err is an estimate of the newest attempt's errors */
  CPRoots roots;
  CPOneStepStats stats; /* those of the projection are in base */
};

/* onestep.c: what f, g and efun get, the user's pointer or the system. */
void *cpOneStepUserData(CPStepper s);
/* Destroys an ARKodeButcherTable for an arena. */
void cpOneStepFreeTable(void *B);
/* The diagonally implicit tables of ARKODE 6.4, and NULL */
extern const char *const cpImplicitNames[];

/* evolve.c: each returns 0; positive: recoverable, a smaller step may help; negative: fatal; the reason is in
 * base.text. Positive codes are those of the library with the sign changed.
 *
 * ydot = f(t, y), counted and checked. output: for interpolation. */
int cpOneStepRhs(CPOneStepMem mem, sunrealtype t, N_Vector y, N_Vector ydot, int output);
/* y (in, out) is projected with the factors of steps; its correction is bounded and counted. Nothing happens without a
 * projector. */
int cpOneStepProject(CPOneStepMem mem, sunrealtype t, N_Vector y);
/* The bound on corrections: none where there are no smaller steps, and none from a state that was projected for other
 * tolerances. */
sunrealtype cpOneStepMaxCorrection(CPOneStepMem mem);

/* explicit.c: a first size, from f0 = f(t, y); one evaluation of f, in f1. */
int cpInitialStep(CPOneStepMem mem, N_Vector f0, N_Vector f1, sunrealtype *h);
/* The least size of a step from t that is resolved by the roundoff of t. */
sunrealtype cpLeastStep(sunrealtype t);

/* output.c: the solution at t in [tlast, t], projected, into y; beyond these ends, and without a step that can be
 * interpolated, the state at the end. event: what output it is, for the message. 0, or a code with its reason in
 * base.text; CP_OUTPUT_PROJ_FAIL: y is given unprojected. */
int cpOneStepSolution(CPOneStepMem mem, sunrealtype t, N_Vector y, const char *event);
/* Roundoff of times near t. */
sunrealtype cpOneStepTimeRoundoff(CPOneStepMem mem);

/* roots.c: searches the part of the last step that has not been searched; the earliest root is pending afterwards. 0,
 * or a code with its reason in base.text. */
int cpRootsSearch(CPOneStepMem mem);
/* The values where the search starts: at the last return. 0, or a code with its reason in base.text. */
int cpRootsStart(CPOneStepMem mem);
/* The pending root is being returned. */
void cpRootsReturned(CPRoots *roots);
/* Is t the time of the root that was returned last? */
int cpRootsAt(const CPRoots *roots, sunrealtype t);
void cpRootsFree(CPRoots *roots);

#endif
