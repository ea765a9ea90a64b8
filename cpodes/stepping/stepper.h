/* What all integrators are made of: a solution with tolerances, a projector, and perhaps an attached system. The structs of
 * both back-ends, CPMultistep_ (multistep/) and CPOneStep_ (onestep/), begin with a CPIntegrator_.
 *
 * Functions that take the name of a public function report errors under that name. They accept s =
 * NULL if they are the first to see the user's argument. */
#ifndef CPODES_STEPPER_H
#define CPODES_STEPPER_H

#include "counters.h"
#include "cpodes/base/arena.h"
#include "cpodes/base/compat.h"
#include "cpodes/base/vectors.h"
#include "cpodes/projector/projection.h"
#include "system.h"

#include <cpodes/cpodes_integrator.h>
#include <stdlib.h>

/* How a method solves implicit equations: not at all, as CPImplicitSystem, by Newton's iteration for y' = f, or by fixed-point
 * iteration; with CP_USERS_ITERATION the user has replaced the latter. */
typedef enum {
  CP_EXPLICIT,
  CP_IMPLICIT,
  CP_NEWTON,
  CP_FIXED_POINT,
  CP_USERS_ITERATION
} CPIteration;
enum { CP_METHOD_NAME = 64 }; /* length of the names of methods */
typedef enum { CP_LEAST_STEP, CP_LARGEST_STEP, CP_FIXED_STEP } CPStepSize;

/* Sensitivities that a one-step method carries beside the state,
 *
 *   s_i' = (df/dy) s_i + df/dp_i,   G s_i + dc/dp_i = 0,   i < count.
 *
 * Functions return 0, a positive code if a smaller step may help, or a negative one if the failure is fatal, with the reason
 * in the integrator's text. */
typedef struct {
  void *data; /* of the functions; NULL: there are no sensitivities */
  int count;
  const int *errcon;                     /* whether their errors are tested */
  int (*start)(void *data, N_Vector *s); /* s [count] <- the start, which has been checked */
  /* sdot <- (df/dy) s + df/dp_i at (t, y), where ydot = f(t, y) */
  int (*rhs)(sunrealtype t, N_Vector y, N_Vector ydot, int i, N_Vector s, N_Vector sdot, void *data);
  /* s <- the nearest vector with G s + dc/dp_i = 0 at (t, y). fresh: y is not the state of the latest call */
  int (*project)(sunrealtype t, N_Vector y, int fresh, int i, N_Vector s, void *data);
  int (*weights)(int i, N_Vector s, N_Vector ewt, void *data);
  void (*restart)(void *data);   /* the state has a new start */
  void (*projector)(void *data); /* the projector has been replaced */
  void (*stats)(void *data, CPIntegratorSensStats *stats);
} CPBeside;

/* A back-end. Functions that are NULL are those that it does not have. They report errors under the name of the public
 * function that was called; its arguments have been checked as far as that does not depend on the back-end. */
typedef struct {
  int multistep;                /* steps may be left unprojected, and corrections taken back */
  void (*free)(CPIntegrator s); /* all but the struct, the base by cpStepperFree */
  int (*init)(CPIntegrator s, CVRhsFn f, sunrealtype t0, N_Vector y0, const char *function);
  int (*reinit)(CPIntegrator s, sunrealtype t0, N_Vector y0, const char *function);
  int (*evolve)(CPIntegrator s, sunrealtype tout, N_Vector yout, sunrealtype *tret, int itask,
                const char *function);
  /* options: what has been set in the base takes effect */
  int (*tolerances)(CPIntegrator s, const char *function);
  void (*projector)(CPIntegrator s, int same);
  int (*user_data)(CPIntegrator s, void *user_data, const char *function);
  void (*frequency)(CPIntegrator s, long int nsteps);
  int (*nonlinear_solver)(CPIntegrator s, SUNNonlinearSolver inner, const char *function);
  int (*jacobian)(CPIntegrator s, SUNMatrix J_tmpl, CVLsJacFn jac, const char *function);
  int (*batch)(CPIntegrator s, CPRhsBatchFn batch, const char *function);
  int (*first_step)(CPIntegrator s, sunrealtype h, const char *function);
  int (*size)(CPIntegrator s, CPStepSize which, sunrealtype h, const char *function);
  int (*max_steps)(CPIntegrator s, long int mxsteps, const char *function);
  int (*stop)(CPIntegrator s, sunrealtype tstop, const char *function); /* infinite: none */
  /* roots */
  int (*roots)(CPIntegrator s, int nrtfn, CVRootFn g, const char *function);
  int (*direction)(CPIntegrator s, const int *rootdir, const char *function);
  int (*found)(CPIntegrator s, int *rootsfound, const char *function);
  int (*window)(CPIntegrator s, sunrealtype *low, sunrealtype *high, const char *function);
  /* results */
  int (*dky)(CPIntegrator s, sunrealtype t, int k, N_Vector dky, const char *function);
  int (*errors)(CPIntegrator s, N_Vector ele, const char *function);
  /* Carries these sensitivities from the next start on, in place of earlier ones. Returns 0 or CP_MEM_FAIL. */
  int (*carry)(CPIntegrator s, const CPBeside *beside);
  /* dkyS [count] <- the k-th derivatives of the sensitivities' interpolants in the last step. For k = 0 they are projected as
   * y, the state at t. */
  int (*carried)(CPIntegrator s, sunrealtype t, int k, N_Vector *dkyS, const char *function);
  const char *(*method)(CPIntegrator s, int *order, int *embedded, int *stages);
  long int (*steps)(CPIntegrator s);                       /* taken since the start */
  void (*stats)(CPIntegrator s, CPIntegratorStats *stats); /* all but those of the projection */
  /* for attached systems: the size of the latest step, its weights, the data that f gets, how implicit equations are solved */
  sunrealtype (*step)(CPIntegrator s);
  int (*weights)(CPIntegrator s, N_Vector ewt);
  /* If y' is known at the start of the coming step, or its mean over the latest one, writes it to ydot, writes
   * that time to t and returns 1. */
  int (*rates)(CPIntegrator s, sunrealtype *t, N_Vector ydot);
  void *(*data)(CPIntegrator s);
  CPIteration (*iteration)(CPIntegrator s);
  int (*system)(CPIntegrator s, const CPSystem *system);
  /* The linear solver of Newton's iteration, whose matrix S the system computes. Returns 0 or CP_MEM_FAIL. */
  int (*linear_system)(CPIntegrator s, SUNLinearSolver LS, SUNMatrix S);
} CPIntegratorOps;

typedef enum { CP_TOL_NONE, CP_TOL_SS, CP_TOL_SV, CP_TOL_WF, CP_TOL_CVODES } CPTolKind;

typedef struct {
  CPTolKind kind;
  sunrealtype reltol, abstol;
  N_Vector vabstol; /* a copy, owned */
  CVEwtFn efun;
} CPTolerances;

/* Failures of steps that are too short to make progress, counted since time t; steps in a row that are
 * short compared with the time of the run. */
typedef struct {
  int count, nshort;
  sunrealtype t;
} CPShortSteps;

struct CPIntegrator_ {
  CPLog log;
  const CPIntegratorOps *ops;
  SUNContext ctx;
  char text[CP_TEXT_LENGTH]; /* the reason for the latest failure */
  CPArena memory;            /* owns the vectors */
  int initialised;
  int begun;    /* f has been given to the method, perhaps in vain */
  int attached; /* CVODES' memory is the user's */
  /* the problem */
  CVRhsFn f; /* NULL for attached memory, or if not given yet */
  CPTolerances tol;
  CPSystem system;
  void *sens; /* the sensitivities that it computes (CPSens), or NULL, and what takes them away before it is freed */
  void (*free_sens)(void *sens);
  void *root_data; /* what root functions get, or NULL: the user data */
  int system_gone; /* the system has been freed, so the integrator must not step */
  /* the projection */
  CPProjector P;
  CPWork step,
      out; /* stored factors for steps, and for all else, as output must not change a trajectory */
  CPErrEst errest;
  sunrealtype max_correction;
  sunbooleantype project_output;
  int test_cnstr; /* a step is projected only where its violation is above eps */
  /* the solution: the start, and the latest accepted state */
  sunrealtype t0, t;
  N_Vector y0, y;
  sunrealtype hmax;              /* the largest step that CPIntegratorSetMaxStep allows, 0: any */
  N_Vector ewt, err, delta, tmp; /* weights, error estimate, latest correction, workspace */
  int turned;                    /* Do states of a step lack turns (system.turns)? */
  N_Vector whole;                /* what functions of the user's get instead of these */
  N_Vector rates; /* with a system: bounds of |y'| in the coming step, 0 where they are not known */
  sunrealtype rates_t; /* the time of their latest update, or NaN */
  int start_checked;   /* the start has been found on the manifold */
  /* results */
  long int nst_out; /* steps taken when the stored factors of `out` were computed */
  int output_cause; /* result of the latest projection between two steps */
  CPShortSteps short_steps;
  CPIntegratorStats stats;
  CPProjectorStats stats_before; /* those of `step` at the start */
  /* the largest factor by which tolerances have been multiplied next to a singular position, when, and the angle between
   * constraints there */
  sunrealtype relaxed, relaxed_t, relaxed_sine;
  int floor_warned, relaxed_warned; /* once, since events restart runs */
};

extern const CPKind cpIntegratorKind; /* integrator.c */

/* ---- stepper.c: life cycle and options ---- */

void cpStepperCreate(CPIntegrator s, const CPIntegratorOps *ops, SUNContext ctx);
/* Allocates the vectors, and `count` more of the integrator's own, as clones of `like`. On
 * CP_MEM_FAIL none are left. */
int cpStepperAllocate(CPIntegrator s, N_Vector like, N_Vector *const own[], size_t count);
void cpStepperFree(CPIntegrator s);
/* Checks that y0 is a valid start: finite, and of the same kind and length as the projector's
 * states and earlier ones. */
int cpStepperCheckStart(CPIntegrator s, sunrealtype t0, N_Vector y0, const char *function);
/* Restarts from (t0, y0), with counters of zero. */
void cpStepperRestart(CPIntegrator s, sunrealtype t0, N_Vector y0);

/* The first checks that s exists, the second also that it is initialised. They return 0,
 * CP_MEM_NULL or CP_NO_INIT. */
int cpStepperExists(CPIntegrator s, const char *function);
int cpStepperInitialised(CPIntegrator s, const char *function);
/* The same two for functions that work on the solution or change how it is computed: these also check
 * that no call of the integrator is under way (CP_REENTERED). */
int cpStepperIdle(CPIntegrator s, const char *function);
int cpStepperCheck(CPIntegrator s, const char *function);
/* Returns the user_data of f, which the functions of a projector without data of its own receive: NULL
 * with an attached system, whose f it is. */
void *cpStepperLent(CPIntegrator s);
/* To be called before and after an action that calls functions of the user's. cpStepperLeave returns
 * flag. */
void cpStepperEnter(CPIntegrator s);
static inline int cpStepperLeave(CPIntegrator s, int flag) { return cpCalledUser(&s->log, flag); }
/* cpStepperInitialised; also checks that v, the argument of that name, is a vector of the length of the
 * state. */
int cpStepperCheckVector(CPIntegrator s, N_Vector v, const char *name, const char *function);
/* Checks the arguments of CPIntegratorEvolve. */
int cpStepperCheckCall(CPIntegrator s, sunrealtype tout, N_Vector yout, const sunrealtype *tret,
                       int itask, const char *function);
/* Is tout the start t, up to roundoff, so that no step leads there? An event at the end of a run
 * leaves nothing to integrate. */
static inline int cpStepperIsThere(sunrealtype t, sunrealtype tout) {
  return fabs(tout - t) <= 2.0 * CP_UROUND * fmax(fabs(t), fabs(tout));
}
/* Returns an operation that steps need and that this kind of vector lacks, or NULL. */
static inline const char *cpMissingOperation(N_Vector v) { return cpVectorLacks(v, CP_FOR_STEPS); }

/* Copies tol.vabstol. */
int cpStepperSetTolerances(CPIntegrator s, CPTolerances tol, const char *function);
/* ewt_i = 1 / (reltol |y_i| + abstol_i), or by efun; with a system at most what the roundoff of t allows,
 * then scaled by the system. Returns 0,
 * CP_NO_INIT without tolerances, or CP_ILL_INPUT if a weight is not positive or efun failed. */
int cpStepperWeights(CPIntegrator s, N_Vector y, N_Vector ewt);
/* Setting the same projector again means that its data have changed. */
int cpStepperSetProjector(CPIntegrator s, CPProjector P, const char *function);

/* After a failed attempt to t with step h: have attempts failed repeatedly with steps too short to
 * make progress? A single failure with such a step proves nothing, since far from t = 0 all steps
 * may be short. */
int cpStepperIsStuck(CPIntegrator s, sunrealtype t, sunrealtype h);
/* Returns the text behind its "at t = ...: ", for messages that name the time already. */
const char *cpStepperWithoutTime(const char *text);
/* Returns "; the last good state is that of t = ...", in last, or "" if the text names this time. */
enum { CP_LAST_GOOD = 80 };
const char *cpStepperLastGood(CPIntegrator s, const char *text, char last[CP_LAST_GOOD]);
/* Roundoff of the constraints moves projected positions by roundoff over the sine of the narrowest angle
 * between constraints, and velocities by roundoff over its square: next to a singular position by more than a
 * tight tolerance. Returns the norm of that displacement for states like (t, y), or 0 if it is not known. */
double cpStepperRoundoff(CPIntegrator s, sunrealtype t, N_Vector y, N_Vector ewt);
/* Returns the least size of a step from t that the roundoff of t resolves. */
static inline sunrealtype cpLeastStep(sunrealtype t) { return CP_FUZZ * fabs(t); }
/* The size of the first step of a method of this order, from y'' (Hairer, Norsett and Wanner, Solving Ordinary Differential
 * Equations I, section II.4, "Starting step size"). h: in, a bound, with the sign of the direction; out, the size. f0: y' at the start
 * s->y. rhs computes ydot, a negative code is fatal. f1, y: workspace, out: y = s->y + h0 f0 of the trial step h0, f1 = y'' h0 there.
 * Needs s->ewt. Returns 0 or a negative code of rhs. */
int cpStepperFirstStep(CPIntegrator s,
                       int (*rhs)(CPIntegrator s, sunrealtype t, N_Vector y, N_Vector ydot),
                       int order, N_Vector f0, N_Vector f1, N_Vector y, sunrealtype *h);
/* |y| in the present weights, where the size of an angle is 1 rad wherever it is 0, as tolerances have it. work: like y */
sunrealtype cpStepperSize(CPIntegrator s, N_Vector y, N_Vector work);

/* ---- whole turns of angles ----
 *
 * After a million turns the last digit of an angle is worth 1e-9, which differences of high order see. So the states of steps have
 * angles of up to one turn, and the system knows the others (CPSystem.turns); those that are given and returned are complete. */

/* Puts aside whole turns of the angles of y that exceed one, also those of `also`, which may be NULL. Returns whether there are some. */
int cpStepperPutAside(CPIntegrator s, N_Vector y, N_Vector also);
/* The same for a start, the newest state, that has been found consistent: without the roundoff of its turns it can be nearer to the
 * manifold than it is, and it is projected. Returns 0, or a negative code with the reason in text. */
int cpStepperStartTurns(CPIntegrator s);
/* y, a state of a step, gets the turns that it lacks. */
void cpStepperAddTurns(CPIntegrator s, N_Vector y);
/* No state lacks turns any more, since a run starts. */
void cpStepperForgetTurns(CPIntegrator s);
/* To be called before and after the work on states of steps: functions of the system get those (on), or complete ones. */
void cpStepperTurned(CPIntegrator s, int on);
/* The functions evolve and dky of the back-end, whose states get their turns. */
int cpStepperEvolve(CPIntegrator s, sunrealtype tout, N_Vector yout, sunrealtype *tret, int itask,
                    const char *function);
int cpStepperDky(CPIntegrator s, sunrealtype t, int k, N_Vector dky, const char *function);
/* values <- g(t, y) by a function of the user's, which gets the complete state. Returns its code. */
int cpStepperRoots(CPIntegrator s, CVRootFn g, sunrealtype t, N_Vector y, sunrealtype *values);

/* Safety factor of the step sizes of explicit methods (DOP853) */
#define CP_SAFETY 0.9
/* The factor by which the sizes of errors at roots may be wrong */
#define CP_ROOT_MARGIN 10.0
/* off (in: errors of the state y) <- y + CP_ROOT_MARGIN off, after its components have got random signs and sizes, since
 * equal errors would not show in the difference of two components. */
void cpVaryByErrors(N_Vector y, N_Vector off);
/* Root functions where a search ends because the call does: at tout, or at tstop. */
typedef struct {
  void *data;
  CPIntegrator s;
  int (*g)(void *data, sunrealtype t, N_Vector y, sunrealtype *g); /* values may be NaN */
  int n;
  const int *direction, *at_zero; /* [n] as in CPWatched */
  sunrealtype t, resolution;      /* that of times of roots */
  N_Vector y, ydot, tmp;          /* y' at (t, y); workspace */
  const sunrealtype *before;      /* [n] g where the search begins */
} CPSearchEnd;
/* Roots are located to within the resolution of t, and errors of roundoff move them. A g_i that reaches zero so near beyond
 * t becomes zero, or its root would be found by no call: the next one may begin on its other side. g [n]: in, out;
 * room [2 n]: workspace. Returns 0 or what g has returned. */
int cpRootsAtEnd(const CPSearchEnd *at, sunrealtype *g, sunrealtype *room);
/* What the roundoff of earlier steps still counts, with each step: differences of order q contain that of the last
 * q + 1 states. */
#define CP_FADES 0.5
/* "; ...": which velocity changes fastest at the newest state (CPSystem's fastest), or an empty text. Returns text. */
const char *cpStepperFastest(CPIntegrator s, char text[CP_TEXT_LENGTH]);
/* Is the newest state the end of the motion (CPSystem's limit)? Then s->text says why. */
int cpStepperTellLimit(CPIntegrator s);
/* The same after a step of size h, if many steps in a row have been so short that they approach the end
 * of the motion without reaching it. */
int cpStepperIsAtLimit(CPIntegrator s, sunrealtype h);

/* Tells the system that the newest state has been accepted. Returns its answer, with the reason in s->text. */
int cpStepperAccepted(CPIntegrator s);

/* The code, negative, for which the attached system's functions have failed, with the reason, or 0. */
static inline int cpStepperCause(const CPIntegrator s, const char **reason) {
  return s->system.cause ? -abs(s->system.cause(reason, s->system.data)) : 0;
}

/* Returns the counters of the projection since the start. */
CPIntegratorStats cpStepperStats(CPIntegrator s);

/* ---- projection.c: the reason for a failure is in s->text; a positive code is recoverable ---- */

/* Is the start (t, y) on the manifold, and is G the Jacobian of c? Allocates all workspace.
 * `stepped`: steps have been taken before. Returns 0 or an error code. */
int cpStepperCheckConsistent(CPIntegrator s, sunrealtype t, N_Vector y, N_Vector ewt, int stepped);
/* Writes the consistent start nearest to s->y0 to s->tmp, in the projector's norm (the Euclidean
 * norm without tolerances). */
int cpStepperMakeConsistent(CPIntegrator s, long int nst, const char *function);
/* Projects y (in, out), the end of an attempt, onto the manifold, and counts the projection. The
 * correction s->delta must not be longer than bound. e: an error estimate, or NULL, as in
 * cpProject. */
int cpStepperProject(CPIntegrator s, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector e,
                     sunrealtype bound, CPProjected *projected);
/* Replaces e (in, out), the error estimate of an attempt, by P e, where P is the tangent projector
 * at (t, y). */
int cpStepperProjectError(CPIntegrator s, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector e);
/* Projects y (in, out), a state between two steps, onto the manifold; nst steps have been taken.
 * The weights are s->ewt. Messages name the output by its event. CP_OUTPUT_PROJ_FAIL leaves y
 * unchanged, and the result of the projection in s->output_cause. */
int cpStepperProjectOutput(CPIntegrator s, sunrealtype t, N_Vector y, sunrealtype bound,
                           long int nst, const char *event);
/* If the constraints are nearly dependent, says so in text [length], which is otherwise
 * unchanged. */
void cpStepperTellAngle(CPIntegrator s, char *text, size_t length);
/* Warns after accepted steps: once if the projection is asked for more accuracy than roundoff in c
 * allows, and each time the rank falls. */
void cpStepperWarn(CPIntegrator s, const char *function);
/* The tolerances of a step have been multiplied by this factor (cpStepperRoundoff). */
void cpStepperRelaxed(CPIntegrator s, sunrealtype factor);

/* The message for a Newton iteration whose matrix has NaN or Inf. */
#define CP_MATRIX_NONFINITE                                                                       \
  "the matrix of Newton's iteration is not finite: the right-hand side f beside the state, or a " \
  "Jacobian"

#endif
