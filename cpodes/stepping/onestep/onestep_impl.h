/* What all one-step methods share, and the table of functions of a method.
 *
 * A method attempts steps from the current state and interpolates in the last one. Step sizes, the
 * acceptance of attempts (evolve.c), error weights, projections and reasons of failures are shared.
 * Explicit methods are in explicit.c, Radau IIA in radau.c. */
#ifndef CPODES_ONESTEP_IMPL_H
#define CPODES_ONESTEP_IMPL_H

#include "cpodes/stepping/watch.h"
#include "onestep.h"

typedef struct CPOneStep_ *CPOneStep;

/* Functions of a method. Those that return int return 0, or a negative code with the reason in
 * base.text. Those marked as optional may be NULL. */
typedef struct {
  int implicit; /* it needs the equations in implicit form (CPImplicitSystem) */
  /* Sets mem->own, and order, embedded and stages from mem->table or from a table of its own. */
  int (*create)(CPOneStep mem);
  /* Allocates vectors like base.y0 in base.memory (optional). */
  int (*init)(CPOneStep mem);
  /* Starts from a new (t, y) with its weights. Earlier values of f are invalid. */
  int (*start)(CPOneStep mem);
  /* Prepares the attempts of a step. If mem->h is 0 and steps are not fixed, chooses mem->h. */
  int (*begin)(CPOneStep mem);
  /* Attempts a step of size h from (t, y) to tnew. Sets ynew, which is projected, base.err, and its
   * norm, which is 0 with fixed steps. Returns a positive code if a smaller step may help. */
  int (*attempt)(CPOneStep mem, sunrealtype h, sunrealtype *norm);
  /* Returns the ratio of the next step size to the size of an attempt with this error norm. */
  sunrealtype (*ratio)(CPOneStep mem, sunrealtype norm, int accepted);
  /* The attempt is accepted: (tnew, ynew) is about to become the state, and the present state
   * (tlast, ylast). */
  void (*accepted)(CPOneStep mem);
  /* The last step has been taken back: the next one starts from the same state. */
  void (*taken_back)(CPOneStep mem);
  /* dky = the k-th derivative of the last step's interpolant at t, which lies in [tlast, base.t],
   * not projected. base.tmp changes only if it is dky. At both ends the first derivative takes no
   * evaluation of f. */
  int (*interpolate)(CPOneStep mem, sunrealtype t, int k, N_Vector dky);
  /* Returns the degree of the interpolant. */
  int (*degree)(CPOneStep mem);
  /* Sensitivities (sensitivities.c): allocates in mem->beside.memory what the method needs of them. */
  int (*vary_init)(CPOneStep mem);
  /* They have been set to those of the state, which is a start. */
  int (*vary_start)(CPOneStep mem);
  /* Carries mem->beside.s along the attempt, which has passed, to beside.snew, projected. *norm becomes the largest norm of the
   * errors of sensitivities if that is larger and they are tested. Returns a positive code if a smaller step may help. */
  int (*vary)(CPOneStep mem, sunrealtype h, sunrealtype *norm);
  /* dky = the k-th derivative of the interpolant of sensitivity i, as interpolate. */
  int (*vary_interpolate)(CPOneStep mem, int i, sunrealtype t, int k, N_Vector dky);
  /* Sets the counters that the method keeps (optional). */
  void (*stats)(CPOneStep mem, CPIntegratorStats *stats);
} CPOneStepMethod;

extern const CPOneStepMethod cpExplicitMethod, cpRadauMethod;

/* Roots of g (roots.c). The interval that is yet to be searched extends from tlo to the end of the
 * last step. */
typedef struct {
  CPArena values, vectors; /* The vectors are allocated when the first search starts. */
  CVRootFn g;
  int n;          /* number of functions */
  int *direction; /* [n] crossings to be found: -1 falling, 1 rising, 0 both */
  int *found;     /* [n] directions of the crossings at the last returned root, or 0 */
  int *at_zero;   /* [n] g_i has not left zero yet, and has no sign */
  /* zero [n]: the value from which g_i has to move away from zero; after a crossing it is infinite,
   * with the sign of the side from which g_i came. noise [n]: the change of g_i by errors of the
   * state, which are roundoff or, after a root, tolerances. */
  sunrealtype *zero;
  sunrealtype *noise;
  sunrealtype *lo, *hi, *mid;                   /* [n] values of g at tlo, at thi, and in between */
  sunrealtype *slope_lo, *slope_hi, *slope_mid; /* [n] slopes of g along the run */
  sunrealtype t_slope_lo, t_slope_hi;           /* the times of the first two, or NAN */
  sunrealtype tlo, thi;
  /* the state in which the newest search began */
  struct {
    sunrealtype t, *values; /* tlo; [n] lo */
    int *at_zero, zero_is_new;
  } begin;
  sunrealtype tbefore, tfound; /* the last returned root: the lower end of its bracket, its time */
  N_Vector y, trial;           /* the states of hi and mid */
  N_Vector rate;               /* workspace */
  sunrealtype *room;           /* [2 n] workspace */
  CPWatch watch;               /* of the functions between the ends of steps */
  int watching;                /* it has not reached the end of the newest step */
  sunrealtype *end;            /* [n] g at the end of the newest step */
  int have_lo;
  int zero_is_new;    /* some g_i has reached zero at tlo */
  int pending;        /* y at thi is a root that has not been returned */
  int raw, trial_raw; /* y or trial could not be projected */
} CPRoots;

#define CP_DOP853  "DOP853"
#define CP_BS54    "BS54"
#define CP_BS32    "BS32"
#define CP_RADAU   "RADAU"
#define CP_RADAU5  "RADAU5"
#define CP_RADAU9  "RADAU9"
#define CP_RADAU13 "RADAU13"

/* The sensitivities beside the state, and their vectors in the last step and in the newest attempt (as y, ylast and ynew). */
typedef struct {
  CPBeside of;                /* of.data = NULL: there are none */
  CPArena memory;             /* owns the vectors */
  int started;                /* s is that of the state's start, or a later one */
  N_Vector *s, *slast, *snew; /* [count] */
  N_Vector y, moved, ewt,
      err; /* workspace: a stage of the state and of a sensitivity; an error estimate and its weights */
  void *own; /* the method's data */
} CPOneStepBeside;

struct CPOneStep_ {
  struct CPIntegrator_ base; /* the state (t, y); ewt: error weights at the start of its step */
  CPArena memory;            /* of the method */
  /* the method */
  const CPOneStepMethod *method;
  void *own; /* its data */
  char name[CP_METHOD_NAME];
  ARKodeButcherTable table;
  int order, embedded, stages;
  CPRhsBatchFn batch; /* for implicit methods: f at several points in one call, or NULL */
  /* For implicit methods: df/dy, NULL for difference quotients; an owned copy of its template, NULL
   * if it is dense. */
  CVLsJacFn jac;
  SUNMatrix J_tmpl;
  int allocated; /* an implicit method has been set up, so that J_tmpl, jac and batch are fixed */
  /* options; 0 means that a size is not set, and only hinit has a sign */
  void *user_data;
  sunrealtype hinit, hmin, hfixed;
  long int mxsteps; /* bound on the steps of one call, none if negative */
  sunrealtype tstop;
  int have_tstop;
  long int nst_tol; /* value of nst when tolerances were set */
  /* the last step began at (tlast, ylast), and the newest attempt leads to (tnew, ynew) */
  N_Vector ylast, ynew;
  sunrealtype tlast, tnew;
  int is_blind;       /* a stage of the interpolant of that step has failed recoverably */
  sunrealtype tret;   /* time of the last return */
  sunrealtype dir;    /* 1 or -1; 0 until the first call after a start */
  sunrealtype tlimit; /* tstop, or infinite */
  sunrealtype h;      /* signed size for the next attempt, or 0 if the method is to choose it */
  sunrealtype hlast;
  sunrealtype shrink; /* ratio of sizes after a failure that is not one of the error test */
  int on_manifold;    /* the newest attempt needed f on the manifold (CPSystem.on_manifold) */
  /* Code of the newest attempt that failed, whose reason is in base.text; 0 if a step has passed at
   * once since then. */
  int failed;
  int started;   /* the method has been started from the state */
  int have_step; /* there is a last step, and the method can interpolate in it */
  int have_err;  /* base.err estimates the errors of the newest attempt */
  CPRoots roots;
  CPOneStepBeside beside;
  CPIntegratorStats stats; /* without those of the projection, which are in base */
};

/* Entries of the back-end's table, in evolve.c, output.c and roots.c. */
int cpOneStepEvolve(CPIntegrator s, sunrealtype tout, N_Vector yout, sunrealtype *tret, int itask,
                    const char *function);
int cpOneStepDky(CPIntegrator s, sunrealtype t, int k, N_Vector dky, const char *function);
int cpOneStepErrors(CPIntegrator s, N_Vector ele, const char *function);
void cpOneStepStats(CPIntegrator s, CPIntegratorStats *stats);
int cpOneStepRoots(CPIntegrator s, int nrtfn, CVRootFn g, const char *function);
int cpOneStepDirection(CPIntegrator s, const int *rootdir, const char *function);
int cpOneStepFound(CPIntegrator s, int *rootsfound, const char *function);
int cpOneStepWindow(CPIntegrator s, sunrealtype *low, sunrealtype *high, const char *function);

/* sensitivities.c: the entries of the back-end's table; sensitivities start with the state; they follow an accepted step, and
 * one that is taken back. */
int cpOneStepCarry(CPIntegrator s, const CPBeside *beside);
int cpOneStepCarried(CPIntegrator s, sunrealtype t, int k, N_Vector *dkyS, const char *function);
int cpOneStepVaryStart(CPOneStep mem);
void cpOneStepVaryAccept(CPOneStep mem);
void cpOneStepVaryTakeBack(CPOneStep mem);
/* The same for one of them: sdot = (df/dy) s + df/dp_i at (t, y), where ydot = f(t, y). */
static inline int cpOneStepVariation(CPOneStep mem, sunrealtype t, N_Vector y, N_Vector ydot, int i,
                                     N_Vector s, N_Vector sdot) {
  return mem->beside.of.rhs(t, y, ydot, i, s, sdot, mem->beside.of.data);
}

/* onestep.c. Returns the data pointer of f, g and efun: the user's, or the attached system. */
void *cpOneStepUserData(CPIntegrator s);
/* Destroys an ARKodeButcherTable, for cpArenaOwn. */
void cpOneStepFreeTable(void *B);

/* bogacki_shampine.c. The table of BS54 or BS32, of order 5 or 3, or NULL if out of memory. */
ARKodeButcherTable cpBogackiShampine(int order);

/* evolve.c. Functions return 0, a positive code if the failure is recoverable and a smaller step
 * may help, or a negative one if it is fatal, with the reason in base.text. Positive codes are
 * those of the library with the opposite sign. */

/* ydot = f(t, y), checked and counted; also as an evaluation for output if `output` is set. */
int cpOneStepRhs(CPOneStep mem, sunrealtype t, N_Vector y, N_Vector ydot, int output);
/* F_i = f(t_i, Y_i), i < k, by mem->batch, checked and counted. t [k], Y, F [k n]. */
int cpOneStepRhsBatch(CPOneStep mem, int k, const sunrealtype *t, const sunrealtype *Y,
                      sunrealtype *F);
/* Projects y (in, out) with the stored factors of steps. The correction is bounded and counted.
 * Without a projector y remains as it is. */
int cpOneStepProject(CPOneStep mem, sunrealtype t, N_Vector y);
/* Returns the bound on corrections by the projection. It is infinite with fixed steps, and in steps
 * from a state that was projected for other tolerances. */
sunrealtype cpOneStepMaxCorrection(CPOneStep mem);

/* explicit.c. Sets h to the size of the first step; f0 = f(t, y). f1: workspace for one evaluation
 * of f. */
int cpInitialStep(CPOneStep mem, N_Vector f0, N_Vector f1, sunrealtype *h);

/* output.c. y = the projected solution at t in [tlast, base.t]. At other times y is the state at
 * the nearer end, and without a step that can be interpolated the newest state. event names the
 * output for the message. Returns 0, or a code with its reason in base.text. If the code is
 * CP_OUTPUT_PROJ_FAIL, y is not projected. */
int cpOneStepSolution(CPOneStep mem, sunrealtype t, N_Vector y, const char *event);
/* Returns the roundoff of times near t. */
sunrealtype cpOneStepTimeRoundoff(CPOneStep mem);

/* roots.c. Searches the part of the last step that has not been searched yet. Its earliest root, if
 * any, is then pending. tout: where the run is to go; limit: times beyond it may be watched (watch.h)
 * by later calls. Returns 0, or a code with its reason in base.text. */
int cpRootsSearch(CPOneStep mem, sunrealtype tout, sunrealtype limit);
/* Restores the state before the newest search, so that the next one repeats it. */
void cpRootsSearchAgain(CPRoots *roots);
/* Evaluates g where the search starts: at the last return. Returns 0, or a code with its reason in
 * base.text. */
int cpRootsStart(CPOneStep mem);
/* Records that the pending root is being returned. Returns 0, or a code with its reason in
 * base.text. */
int cpRootsReturned(CPOneStep mem);
/* Is t the time of the root that was returned last? */
int cpRootsAt(const CPRoots *roots, sunrealtype t);
void cpRootsFree(CPRoots *roots);

#endif
