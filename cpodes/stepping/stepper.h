/* What both integrators are, CPode (multistep/) and CPOneStep (onestep/): a solution with tolerances, a projector, and
 * a system that may be attached. CPodeMem_ and CPOneStepMem_ begin with a CPStepper_, so that a pointer to either is a
 * CPStepper.
 *
 * Functions that take the name of a public function report what is wrong as its message. They accept s NULL where they
 * are the first to see the user's argument. */
#ifndef CPODES_STEPPER_H
#define CPODES_STEPPER_H

#include "cpodes/base/arena.h"
#include "cpodes/base/compat.h"
#include "cpodes/base/vectors.h"
#include "cpodes/projector/projection.h"
#include "system.h"

#include <cpodes/cpodes.h>

/* What an integrator has of its own. */
typedef struct {
  const char *name;                 /* the prefix of its public functions, for messages */
  int multistep;                    /* it may leave steps unprojected and take corrections back */
  sunrealtype (*size)(CPStepper s); /* of the newest step */
  int (*weights)(CPStepper s, N_Vector ewt); /* of the newest step */
  void *(*user_data)(CPStepper s);           /* of f */
  int (*set_projector)(CPStepper s, CPProjector P);
} CPStepperOps;

typedef enum { CP_TOL_NONE, CP_TOL_SS, CP_TOL_SV, CP_TOL_WF, CP_TOL_CVODES } CPTolKind;

typedef struct {
  CPTolKind kind;
  sunrealtype reltol, abstol;
  N_Vector vabstol; /* a copy, owned */
  CVEwtFn efun;
} CPTolerances;

/* Failures at steps that lead nowhere, since the last good time t. */
typedef struct {
  int count;
  sunrealtype t;
} CPCreeping;

struct CPStepper_ {
  const CPStepperOps *ops;
  SUNContext ctx;
  CPLog log;
  char text[CP_TEXT_LENGTH]; /* the reason of the newest failure */
  CPArena memory;            /* of the vectors */
  int initialised;
  /* the problem */
  CVRhsFn f; /* NULL if it is that of attached memory, or not given yet */
  CPTolerances tol;
  CPSystem system;
  int system_gone; /* it has been freed: nothing is left to integrate */
  /* the projection */
  CPProjector P;
  CPWork step,
      out; /* stored factors for the steps and for all else: output never changes a trajectory */
  CPErrEst errest;
  sunrealtype max_correction;
  sunbooleantype project_output, test_cnstr;
  /* the solution: the start, and the newest accepted state */
  sunrealtype t0, t;
  N_Vector y0, y;
  N_Vector ewt, err, delta, tmp; /* weights, error estimate, newest correction, workspace */
  int start_checked;             /* the start is on the manifold */
  /* results */
  long int nst_out; /* steps taken when the factors of out were made */
  int output_cause; /* what the newest projection between two steps returned */
  CPCreeping creeping;
  CPodeProjStats stats;
  CPProjectorStats stats_before; /* of step, at the start */
  int floor_warned;
};

/* ---- stepper.c: life cycle and options ---- */

void cpStepperCreate(CPStepper s, const CPStepperOps *ops, SUNContext ctx);
/* Allocates the vectors, and `count` more of the integrator's own, of the kind of `like`. CP_MEM_FAIL leaves none. */
int cpStepperAllocate(CPStepper s, N_Vector like, N_Vector *const own[], size_t count);
void cpStepperFree(CPStepper s);
/* Is y0 a start: finite, and of the kind of the projector's states and of those before? */
int cpStepperCheckStart(CPStepper s, sunrealtype t0, N_Vector y0, const char *function);
/* Starts again from (t0, y0), with counters of zero. */
void cpStepperRestart(CPStepper s, sunrealtype t0, N_Vector y0);

/* The first asks whether s exists, the second also whether it is initialised. They return 0, CP_MEM_NULL or CP_NO_INIT. */
int cpStepperExists(CPStepper s, const char *function);
int cpStepperCheck(CPStepper s, const char *function);
/* Is v, the argument of that name, a vector of the length of the state? */
int cpStepperCheckVector(CPStepper s, N_Vector v, const char *name, const char *function);
/* Checks the arguments that CPode and CPOneStepEvolve share. */
int cpStepperCheckCall(CPStepper s, sunrealtype tout, N_Vector yout, const sunrealtype *tret,
                       int itask, const char *function);
/* An operation that steps take and that this kind of vector lacks, or NULL. */
static inline const char *cpMissingOperation(N_Vector v) { return cpVectorLacks(v, CP_FOR_STEPS); }

/* Copies tol.vabstol. */
int cpStepperSetTolerances(CPStepper s, CPTolerances tol, const char *function);
/* ewt_i = 1 / (reltol |y_i| + abstol_i), or by efun, scaled by the system. Returns 0, CP_NO_INIT without
 * tolerances, or CP_ILL_INPUT if a weight is not positive or efun failed. */
int cpStepperWeights(CPStepper s, N_Vector y, N_Vector ewt);
/* A projector that is set once more has other data. */
int cpStepperSetProjector(CPStepper s, CPProjector P, const char *function);
int cpStepperSetErrEst(CPStepper s, CPErrEst mode, const char *function);
int cpStepperSetMaxCorrection(CPStepper s, sunrealtype wrms, const char *function);
int cpStepperSetOutput(CPStepper s, sunbooleantype on, const char *function);
int cpStepperSetErrHandler(CPStepper s, CPErrHandlerFn handler, void *data, const char *function);

/* After a failed attempt to t with step h: do attempts fail again and again where steps are so short that they lead
 * nowhere? One failure at such a step proves nothing, since far from t = 0 all steps may be short. */
int cpStepperIsCreeping(CPStepper s, sunrealtype t, sunrealtype h);

/* Returns the counters of the projection since the start. */
CPodeProjStats cpStepperStats(CPStepper s);

/* Prints the figures of the projection and those of the system. bad: writing those of the integrator has failed. Returns 0,
 * or the reported code. */
int cpStepperPrint(CPStepper s, FILE *out, SUNOutputFormat fmt, int bad, const char *function);
/* Is fmt a format, and out a file? */
int cpStepperCheckFormat(CPStepper s, FILE *out, SUNOutputFormat fmt, const char *function);

/* ---- projection.c: reasons of failures are in s->text; a positive code is recoverable ---- */

/* Is the start (t, y) on the manifold, and G the Jacobian of c? Sets up all workspace. `stepped` says whether steps have
 * been made before. Returns 0, or a code. */
int cpStepperCheckConsistent(CPStepper s, sunrealtype t, N_Vector y, N_Vector ewt, int stepped);
/* Writes the consistent start nearest to s->y0 to s->tmp, in the projector's norm (the Euclidean one without tolerances). */
int cpStepperMakeConsistent(CPStepper s, long int nst, const char *function);
/* y (in, out), the end of an attempt, moves to the manifold by s->delta, which must not be longer than bound. It is
 * counted. e: an error estimate, or NULL, as in cpProject. */
int cpStepperProject(CPStepper s, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector e,
                     sunrealtype bound, CPProjected *projected);
/* e (in, out), the error estimate of an attempt, becomes P e, with P the tangent projector at (t, y). */
int cpStepperProjectError(CPStepper s, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector e);
/* y (in, out) between two steps, of which nst have been taken, moves to the manifold. The weights are
 * s->ewt. The message calls the output by its event. CP_OUTPUT_PROJ_FAIL leaves y as it came, and what the projection returned
 * in s->output_cause. */
int cpStepperProjectOutput(CPStepper s, sunrealtype t, N_Vector y, sunrealtype bound, long int nst,
                           const char *event);
/* If the constraints are nearly dependent, says so in text [length], which is left alone otherwise. */
void cpStepperTellAngle(CPStepper s, char *text, size_t length);
/* Warns at accepted steps, once if more is asked of the projection than roundoff in c allows, and each time the rank falls. */
void cpStepperWarn(CPStepper s, const char *function);

/* What is said of a Newton iteration whose matrix has NaN or Inf. */
#define CP_MATRIX_NONFINITE                                                                       \
  "the matrix of Newton's iteration is not finite: the right-hand side f beside the state, or a " \
  "Jacobian"

#endif
