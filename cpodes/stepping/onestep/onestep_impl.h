/* CPOneStep: what all one-step methods share, and the table of functions of a method.
 *
 * A method attempts steps from the current state and interpolates in the last one. Everything else is shared: the sizes
 * of steps, the verdict on attempts (evolve.c), weights, projections, reasons of failures. Explicit methods are in
 * explicit.c, Radau IIA in radau.c. */
#ifndef CPODES_ONESTEP_IMPL_H
#define CPODES_ONESTEP_IMPL_H

#include "cpodes/stepping/stepper.h"

#include <cpodes/cpodes_onestep.h>

/* Functions of a method. Those that return int return 0, or a negative code with the reason in base.text. Those marked
 * as optional may be NULL. */
typedef struct {
  int implicit; /* it asks for the equations in implicit form (CPImplicitSystem) */
  /* Sets mem->own, and order, embedded and stages from mem->table or from a table of its own. */
  int (*create)(CPOneStepMem mem);
  /* Requests storage for states like base.y0 in base.memory (optional). */
  int (*init)(CPOneStepMem mem);
  /* (t, y) and its weights are new, and values of f from before are invalid. */
  int (*start)(CPOneStepMem mem);
  /* Prepares the attempts of a step. If mem->h is 0 and steps are not fixed, chooses mem->h. */
  int (*begin)(CPOneStepMem mem);
  /* Attempts a step from (t, y) with size h to tnew. Sets ynew, which is projected, base.err, and the norm of the error,
   * which is 0 with fixed steps. Returns a positive code if a smaller step may help. */
  int (*attempt)(CPOneStepMem mem, sunrealtype h, sunrealtype *norm);
  /* Returns the ratio of the next size to that of an attempt whose error has this norm. */
  sunrealtype (*ratio)(CPOneStepMem mem, sunrealtype norm, int accepted);
  /* The attempt becomes the step: the state will be (tnew, ynew), and (tlast, ylast) the present one. */
  void (*accepted)(CPOneStepMem mem);
  /* The last step has been taken back: the next one begins where it began, at (t, y) = (tlast, ylast). */
  void (*taken_back)(CPOneStepMem mem);
  /* dky = the k-th derivative at t in [tlast, t] of the last step's polynomial, not projected. Uses base.tmp for dky only.
   * At both ends the first derivative takes no evaluation of f. */
  int (*interpolate)(CPOneStepMem mem, sunrealtype t, int k, N_Vector dky);
  /* Returns the degree of that polynomial. */
  int (*degree)(CPOneStepMem mem);
  /* Sets the counters that the method keeps (optional). */
  void (*stats)(CPOneStepMem mem, CPOneStepStats *stats);
} CPOneStepMethod;

extern const CPOneStepMethod cpExplicitMethod, cpRadauMethod;

/* Roots of g (roots.c). The interval that is searched leads from tlo to the end of the last step. */
typedef struct {
  CPArena values, vectors; /* The vectors are allocated when the first search starts. */
  CVRootFn g;
  int n;          /* number of functions */
  int *direction; /* [n] of the crossings that are asked for: -1 falling, 1 rising, 0 both */
  int *found;     /* [n] directions of the crossings at the root that was returned, or 0 */
  int *at_zero;   /* [n] g_i has not left zero yet, and has no sign */
  sunrealtype *zero; /* [n] the value of g_i that counts as zero; infinite on the side from which it has crossed */
  sunrealtype *noise; /* [n] the change that errors of the state cause in g_i: of roundoff, after a root of the tolerances */
  sunrealtype *lo, *hi, *mid;                   /* [n] values of g at tlo, at thi, and in between */
  sunrealtype *slope_lo, *slope_hi, *slope_mid; /* [n] their slopes in the direction of the run */
  sunrealtype tlo, thi;
  /* What the newest search began with */
  struct {
    sunrealtype t, *values; /* tlo; [n] lo */
    int *at_zero, zero_is_new;
  } begin;
  sunrealtype tbefore,
      tfound;        /* of the root that was returned: the lower end of its bracket, and its time */
  N_Vector y, trial; /* states that belong to hi and mid */
  N_Vector rate;     /* work */
  int have_lo;
  int zero_is_new;    /* some g_i has reached zero at tlo */
  int pending;        /* y at thi is a root that has not been returned */
  int raw, trial_raw; /* y, trial could not be projected */
} CPRoots;

#define CP_DOP853      "DOP853"
#define CP_RADAU       "RADAU"
#define CP_RADAU5      "RADAU5"
#define CP_RADAU9      "RADAU9"
#define CP_RADAU13     "RADAU13"
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
  CPOneStepRhsBatchFn batch; /* f at several points, for these methods, or NULL */
  CVLsJacFn jac; /* df/dy for methods that solve for their stages themselves; if NULL, differences */
  SUNMatrix J_tmpl; /* its kind and pattern, a copy, owned; if NULL, dense */
  /* options: only the size of the first step, hinit, has a sign, and sizes that are not set are 0 */
  void *user_data;
  sunrealtype hinit, hmin, hmax, hfixed;
  long int mxsteps; /* in one call, without a bound if negative */
  sunrealtype tstop;
  int have_tstop;
  long int nst_tol; /* steps taken when tolerances were set */
  /* the last step began at (tlast, ylast), and the newest attempt leads to (tnew, ynew) */
  N_Vector ylast, ynew;
  sunrealtype tlast, tnew;
  sunrealtype tret;   /* of the last return */
  sunrealtype dir;    /* 1 or -1, or 0 at the start */
  sunrealtype tlimit; /* tstop, or infinite */
  sunrealtype h;      /* signed size for the next attempt, or 0 if the method is to choose it */
  sunrealtype hlast;
  sunrealtype shrink; /* ratio of sizes after a failure of an attempt that says nothing about the right size */
  sunrealtype norm_last; /* of the last step's error */
  double sine;           /* the system's, at the end of the last step */
  int on_manifold; /* the newest attempt needed the right-hand side of the manifold (CPSystem) */
  int started;     /* the method has been started from the state */
  int have_step;   /* there is a last step, and the method can interpolate in it */
  int have_err;    /* base.err estimates the errors of the newest attempt */
  CPRoots roots;
  CPOneStepStats stats; /* those of the projection are in base */
};

/* onestep.c. Returns what f, g and efun are given: the user's pointer or the system. */
void *cpOneStepUserData(CPStepper s);
/* Destroys an ARKodeButcherTable for an arena. */
void cpOneStepFreeTable(void *B);

/* evolve.c. Functions return 0, a positive code if the failure is recoverable and a smaller step may help, or a negative
 * one if it is fatal, with the reason in base.text. Positive codes are those of the library with the opposite sign. */

/* ydot = f(t, y), counted and checked. output says that it is for interpolation. */
int cpOneStepRhs(CPOneStepMem mem, sunrealtype t, N_Vector y, N_Vector ydot, int output);
/* F_i = f(t_i, Y_i), i < k, by the function for several points: t [k], Y, F [k n]; counted and checked. */
int cpOneStepRhsBatch(CPOneStepMem mem, int k, const sunrealtype *t, const sunrealtype *Y,
                      sunrealtype *F);
/* Projects y (in, out) with the stored factors of steps. The correction is bounded and counted. Without a projector y
 * remains as it is. */
int cpOneStepProject(CPOneStepMem mem, sunrealtype t, N_Vector y);
/* Returns the bound on corrections. It is infinite if steps are fixed, and in steps from a state that was projected for
 * other tolerances. */
sunrealtype cpOneStepMaxCorrection(CPOneStepMem mem);

/* explicit.c. Sets h to the size of a first step, where f0 = f(t, y). f is evaluated once, in f1. */
int cpInitialStep(CPOneStepMem mem, N_Vector f0, N_Vector f1, sunrealtype *h);
/* Returns the least size of a step from t that the roundoff of t resolves. */
sunrealtype cpLeastStep(sunrealtype t);

/* output.c. y = the solution at t in [tlast, t], projected. Outside, and without a step that can be interpolated, it is the
 * state at the end. event names the output for the message. Returns 0, or a code with its reason in base.text. If the
 * code is CP_OUTPUT_PROJ_FAIL, y is not projected. */
int cpOneStepSolution(CPOneStepMem mem, sunrealtype t, N_Vector y, const char *event);
/* Returns the roundoff of times near t. */
sunrealtype cpOneStepTimeRoundoff(CPOneStepMem mem);

/* roots.c. Searches the part of the last step that has not been searched. The earliest root is pending afterwards. Returns
 * 0, or a code with its reason in base.text. */
int cpRootsSearch(CPOneStepMem mem);
/* The next search begins as the newest one did. */
void cpRootsSearchAgain(CPRoots *roots);
/* Evaluates g where the search starts: at the last return. Returns 0, or a code with its reason in base.text. */
int cpRootsStart(CPOneStepMem mem);
/* Records that the pending root is being returned. 0, or a code with its reason in base.text. */
int cpRootsReturned(CPOneStepMem mem);
/* Is t the time of the root that was returned last? */
int cpRootsAt(const CPRoots *roots, sunrealtype t);
void cpRootsFree(CPRoots *roots);

#endif
