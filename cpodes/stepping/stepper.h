/* The base of both integrators, CPode (multistep/) and CPOneStep (onestep/): a solution with
 * tolerances, a projector, and perhaps an attached system. CPodeMem_ and CPOneStepMem_ begin with a
 * CPStepper_, so that a pointer to either is a CPStepper.
 *
 * Functions that take the name of a public function report errors under that name. They accept s =
 * NULL if they are the first to see the user's argument. */
#ifndef CPODES_STEPPER_H
#define CPODES_STEPPER_H

#include "cpodes/base/arena.h"
#include "cpodes/base/compat.h"
#include "cpodes/base/vectors.h"
#include "cpodes/projector/projection.h"
#include "system.h"

#include <cpodes/cpodes.h>
#include <stdlib.h>

/* What differs between the integrators. */
typedef struct {
  const char *name;                 /* the prefix of its public functions, for messages */
  int multistep;                    /* steps may be left unprojected, and corrections taken back */
  sunrealtype (*size)(CPStepper s); /* of the latest step */
  int (*weights)(CPStepper s, N_Vector ewt); /* of the latest step */
  void *(*user_data)(CPStepper s);           /* that of f */
  int (*set_projector)(CPStepper s, CPProjector P);
} CPStepperOps;

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
} CPCreeping;

struct CPStepper_ {
  const CPStepperOps *ops;
  SUNContext ctx;
  CPLog log;
  char text[CP_TEXT_LENGTH]; /* the reason for the latest failure */
  CPArena memory;            /* owns the vectors */
  int initialised;
  /* the problem */
  CVRhsFn f; /* NULL for attached memory, or if not given yet */
  CPTolerances tol;
  CPSystem system;
  int system_gone; /* the system has been freed, so the integrator must not step */
  /* the projection */
  CPProjector P;
  CPWork step,
      out; /* stored factors for steps, and for all else, as output must not change a trajectory */
  CPErrEst errest;
  sunrealtype max_correction;
  sunbooleantype project_output, test_cnstr;
  /* the solution: the start, and the latest accepted state */
  sunrealtype t0, t;
  N_Vector y0, y;
  N_Vector ewt, err, delta, tmp; /* weights, error estimate, latest correction, workspace */
  int start_checked;             /* the start has been found on the manifold */
  /* results */
  long int nst_out; /* steps taken when the stored factors of `out` were computed */
  int output_cause; /* result of the latest projection between two steps */
  CPCreeping creeping;
  CPodeProjStats stats;
  CPProjectorStats stats_before; /* those of `step` at the start */
  int floor_warned;              /* once, since events restart runs */
};

/* ---- stepper.c: life cycle and options ---- */

void cpStepperCreate(CPStepper s, const CPStepperOps *ops, SUNContext ctx);
/* Allocates the vectors, and `count` more of the integrator's own, as clones of `like`. On
 * CP_MEM_FAIL none are left. */
int cpStepperAllocate(CPStepper s, N_Vector like, N_Vector *const own[], size_t count);
void cpStepperFree(CPStepper s);
/* Checks that y0 is a valid start: finite, and of the same kind and length as the projector's
 * states and earlier ones. */
int cpStepperCheckStart(CPStepper s, sunrealtype t0, N_Vector y0, const char *function);
/* Restarts from (t0, y0), with counters of zero. */
void cpStepperRestart(CPStepper s, sunrealtype t0, N_Vector y0);

/* The first checks that s exists, the second also that it is initialised. They return 0,
 * CP_MEM_NULL or CP_NO_INIT. */
int cpStepperExists(CPStepper s, const char *function);
int cpStepperInitialised(CPStepper s, const char *function);
/* The same two for functions that work on the solution or change how it is computed: these also check
 * that no call of the integrator is under way (CP_REENTERED). */
int cpStepperIdle(CPStepper s, const char *function);
int cpStepperCheck(CPStepper s, const char *function);
/* Returns the user_data of f, which the functions of a projector without data of its own receive: NULL
 * with an attached system, whose f it is. */
void *cpStepperLent(CPStepper s);
/* To be called before and after an action that calls functions of the user's. cpStepperLeave returns
 * flag. */
void cpStepperEnter(CPStepper s);
static inline int cpStepperLeave(CPStepper s, int flag) { return cpCalledUser(&s->log, flag); }
/* cpStepperInitialised; also checks that v, the argument of that name, is a vector of the length of the
 * state. */
int cpStepperCheckVector(CPStepper s, N_Vector v, const char *name, const char *function);
/* Checks the arguments that CPode and CPOneStepEvolve share. */
int cpStepperCheckCall(CPStepper s, sunrealtype tout, N_Vector yout, const sunrealtype *tret,
                       int itask, const char *function);
/* Is tout the start t, up to roundoff, so that no step leads there? An event at the end of a run
 * leaves nothing to integrate. */
static inline int cpStepperIsThere(sunrealtype t, sunrealtype tout) {
  return fabs(tout - t) <= 2.0 * CP_UROUND * fmax(fabs(t), fabs(tout));
}
/* Returns an operation that steps need and that this kind of vector lacks, or NULL. */
static inline const char *cpMissingOperation(N_Vector v) { return cpVectorLacks(v, CP_FOR_STEPS); }

/* Copies tol.vabstol. */
int cpStepperSetTolerances(CPStepper s, CPTolerances tol, const char *function);
/* ewt_i = 1 / (reltol |y_i| + abstol_i), or by efun; then scaled by the system. Returns 0,
 * CP_NO_INIT without tolerances, or CP_ILL_INPUT if a weight is not positive or efun failed. */
int cpStepperWeights(CPStepper s, N_Vector y, N_Vector ewt);
/* Setting the same projector again means that its data have changed. */
int cpStepperSetProjector(CPStepper s, CPProjector P, const char *function);
int cpStepperSetErrEst(CPStepper s, CPErrEst mode, const char *function);
int cpStepperSetMaxCorrection(CPStepper s, sunrealtype wrms, const char *function);
int cpStepperSetOutput(CPStepper s, sunbooleantype on, const char *function);
int cpStepperSetErrHandler(CPStepper s, CPErrHandlerFn handler, void *data, const char *function);

/* After a failed attempt to t with step h: have attempts failed repeatedly with steps too short to
 * make progress? A single failure with such a step proves nothing, since far from t = 0 all steps
 * may be short. */
int cpStepperIsCreeping(CPStepper s, sunrealtype t, sunrealtype h);
/* Returns the text behind its "at t = ...: ", for messages that name the time already. */
const char *cpStepperWithoutTime(const char *text);
/* Returns "; the last good state is that of t = ...", in last, or "" if the text names this time. */
#define CP_LAST_GOOD 80
const char *cpStepperLastGood(CPStepper s, const char *text, char last[CP_LAST_GOOD]);
/* Is the newest state the end of the motion (CPSystem's limit)? Then s->text says why. */
int cpStepperTellLimit(CPStepper s);
/* The same after a step of size h, if many steps in a row have been so short that they approach the end
 * of the motion without reaching it. */
int cpStepperIsAtLimit(CPStepper s, sunrealtype h);

/* The code, negative, for which the attached system's functions have failed, with the reason, or 0. */
static inline int cpStepperCause(const CPStepper s, const char **reason) {
  return s->system.cause ? -abs(s->system.cause(reason, s->system.data)) : 0;
}

/* Returns the counters of the projection since the start. */
CPodeProjStats cpStepperStats(CPStepper s);

/* Prints the counters of the projection and of the system. bad: writing those of the integrator has
 * failed. Returns 0, or the code that was reported. */
int cpStepperPrint(CPStepper s, FILE *out, SUNOutputFormat fmt, int bad, const char *function);
/* Checks that fmt is a format and out a file. */
int cpStepperCheckFormat(CPStepper s, FILE *out, SUNOutputFormat fmt, const char *function);

/* ---- projection.c: the reason for a failure is in s->text; a positive code is recoverable ---- */

/* Is the start (t, y) on the manifold, and is G the Jacobian of c? Allocates all workspace.
 * `stepped`: steps have been taken before. Returns 0 or an error code. */
int cpStepperCheckConsistent(CPStepper s, sunrealtype t, N_Vector y, N_Vector ewt, int stepped);
/* Writes the consistent start nearest to s->y0 to s->tmp, in the projector's norm (the Euclidean
 * norm without tolerances). */
int cpStepperMakeConsistent(CPStepper s, long int nst, const char *function);
/* Projects y (in, out), the end of an attempt, onto the manifold, and counts the projection. The
 * correction s->delta must not be longer than bound. e: an error estimate, or NULL, as in
 * cpProject. */
int cpStepperProject(CPStepper s, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector e,
                     sunrealtype bound, CPProjected *projected);
/* Replaces e (in, out), the error estimate of an attempt, by P e, where P is the tangent projector
 * at (t, y). */
int cpStepperProjectError(CPStepper s, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector e);
/* Projects y (in, out), a state between two steps, onto the manifold; nst steps have been taken.
 * The weights are s->ewt. Messages name the output by its event. CP_OUTPUT_PROJ_FAIL leaves y
 * unchanged, and the result of the projection in s->output_cause. */
int cpStepperProjectOutput(CPStepper s, sunrealtype t, N_Vector y, sunrealtype bound, long int nst,
                           const char *event);
/* If the constraints are nearly dependent, says so in text [length], which is otherwise
 * unchanged. */
void cpStepperTellAngle(CPStepper s, char *text, size_t length);
/* Warns after accepted steps: once if the projection is asked for more accuracy than roundoff in c
 * allows, and each time the rank falls. */
void cpStepperWarn(CPStepper s, const char *function);

/* The message for a Newton iteration whose matrix has NaN or Inf. */
#define CP_MATRIX_NONFINITE                                                                       \
  "the matrix of Newton's iteration is not finite: the right-hand side f beside the state, or a " \
  "Jacobian"

#endif
