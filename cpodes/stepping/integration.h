/* What both integrators, CPode (integrator/) and CPOneStep (onestep/), share: tolerances, the model
 * that one may have attached, and checks of starts, vectors and projectors. */
#ifndef CPODES_INTEGRATION_H
#define CPODES_INTEGRATION_H

#include "cpodes/base/compat.h"
#include "cpodes/base/errors.h"
#include "cpodes/base/vectors.h"
#include "cpodes/projector/projection.h"
#include "model.h"

#include <cpodes/cpodes.h>

/* ---- tolerances.c ---- */

typedef enum { CP_TOL_NONE, CP_TOL_SS, CP_TOL_SV, CP_TOL_WF, CP_TOL_CVODES } CPTolKind;

typedef struct {
  CPTolKind kind;
  sunrealtype reltol, abstol;
  N_Vector vabstol; /* a copy, owned */
  CVEwtFn efun;
} CPTolerances;

/* Each checks its arguments and keeps them: 0, or the code, reported for function. like: the state,
 * NULL: not known yet. */
int cpTolerancesSS(CPTolerances *tol, sunrealtype reltol, sunrealtype abstol, CPLog *log,
                   const char *function);
int cpTolerancesSV(CPTolerances *tol, sunrealtype reltol, N_Vector abstol, N_Vector like,
                   CPLog *log, const char *function);
int cpTolerancesWF(CPTolerances *tol, CVEwtFn efun, CPLog *log, const char *function);
void cpTolerancesFree(CPTolerances *tol);
/* ewt_i = 1 / (rtol |y_i| + atol_i), or by efun with user_data. 0; CP_NO_INIT: there are no
 * tolerances; CP_ILL_INPUT: a weight that is not positive, or efun failed. */
int cpTolerancesWeights(const CPTolerances *tol, N_Vector y, N_Vector ewt, void *user_data);

/* Weights by the tolerances, scaled by the model. As cpTolerancesWeights. */
int cpModelWeights(const CPTolerances *tol, const CPModel *model, N_Vector y, N_Vector ewt,
                   void *user_data);

/* ---- checks.c: 0, or a code, reported for function ---- */

/* An operation that cpodes calls and this kind of vector lacks, or NULL. */
const char *cpMissingOperation(N_Vector v);
/* Is y0 a start: finite, and a state of P's and of the kind of like? (Either may be NULL.) */
int cpCheckStartVector(sunrealtype t0, N_Vector y0, N_Vector like, CPProjector P,
                       const CPTolerances *tol, CPLog *log, const char *function);
/* Is P a projector of states like this one? (Either may be NULL.) */
int cpCheckProjector(CPProjector P, N_Vector like, CPLog *log, const char *function);
/* Is v there and of the length of the state? name: of the argument. */
int cpCheckLength(N_Vector v, const char *name, N_Vector like, CPLog *log, const char *function);
/* The arguments that CPode and CPOneStepEvolve share. */
int cpCheckCall(sunrealtype tout, N_Vector yout, const sunrealtype *tret, int itask, N_Vector like,
                CPLog *log, const char *function);
/* A number that must be positive, or 0 for its default. */
int cpCheckPositive(sunrealtype value, const char *name, CPLog *log, const char *function);

/* ---- projection.c ---- prefix: of the integrator's functions, for messages ---- */

/* New work for the steps and for everything else, in place of *step and *out; P NULL: none. The
 * factors for steps and for output are apart, so that asking for output never changes a trajectory.
 * CP_MEM_FAIL: they are as before. */
int cpWorksCreate(CPProjector P, CPWork *step, CPWork *out);
/* Is the start (t, y) on the manifold, and G the Jacobian of c? Sets up all workspace. started: steps
 * have been made before. tmp: workspace. 0, or a code with the reason in text. */
int cpCheckConsistent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector tmp,
                      int started, const char *prefix, char *text);
/* y (in, out) becomes consistent, in the projector's norm; L2 where weights, the result of computing
 * ewt, is CP_NO_INIT. 0, or a code with the reason in cpWorkText. */
int cpMakeConsistent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, int weights);
/* y (in, out) between two steps moves to the manifold. bound: on the correction. On failure y is as
 * it came: CP_OUTPUT_PROJ_FAIL, with the reason in text. kept: workspace; event: what output it is;
 * cause: what the projection returned. */
int cpProjectBetween(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector kept,
                     sunrealtype bound, const char *event, const char *prefix, char *text,
                     int *cause);
/* estimate <- P e + a share of e - P e, P the tangent projector at (t, y). 0, or as cpProjectError. */
int cpProjectEstimate(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector e,
                      N_Vector estimate);
/* Where the constraints are all but dependent, says so in text [length], which is left alone otherwise. */
void cpTellAngle(CPWork work, char *text, size_t length);
/* Why the newest projection of work, to t, is refused: its correction is above the bound. */
void cpExplainCorrection(CPWork work, sunrealtype t, sunrealtype correction, sunrealtype bound,
                         const char *prefix, char *text);
/* Warnings of accepted steps, each once: more is asked of the projection than roundoff in c allows (told: it has
 * been told); the rank has fallen on the way. t: reached. */
void cpWarnOfFloor(CPWork work, int *told, sunrealtype t, CPLog *log, const char *function);
void cpWarnOfRank(CPWork work, sunrealtype t, CPLog *log, const char *function);

/* ---- creeping.c ---- */

/* Failures at steps that lead nowhere, since the last good time t. */
typedef struct {
  int count;
  sunrealtype t;
} CPCreeping;

/* After a failed attempt to t with step h from tgood: do attempts fail again and again where steps
 * have become so short that they lead nowhere? One failure at such a step proves nothing: far from
 * t = 0 all steps may be short. t0: start. */
int cpIsCreeping(CPCreeping *creeping, sunrealtype t, sunrealtype h, sunrealtype t0,
                 sunrealtype tgood);

/* ---- newton_matrix.c ---- */

/* Is the matrix not finite with which Newton's iteration has ended in the correction ycor (from 0)? One more
 * linear solve where a component of ycor is exactly 0 or not finite, and nothing otherwise; there must have been
 * one. Vectors whose entries are not at hand pass. lsolve, mem: what SUNNonlinSolSetLSolveFn is given, and
 * SUNNonlinSolSolve; tmp: workspace. */
int cpNewtonMatrixFails(SUNNonlinSolLSolveFn lsolve, void *mem, N_Vector ycor, N_Vector tmp);
/* For messages. */
#define CP_MATRIX_NONFINITE                                                                       \
  "the matrix of Newton's iteration is not finite: the right-hand side f beside the state, or a " \
  "Jacobian"

/* ---- report.c: each returns whether writing failed ---- */

typedef struct {
  const char *name;
  long int value;
} CPCounter;

int cpPrintCounters(FILE *out, SUNOutputFormat fmt, const CPCounter *counters, size_t count);
int cpPrintNumber(FILE *out, const char *name, sunrealtype value); /* table format */
/* What a work has done since base, and rank and levels: the last counters of an integrator. */
enum { CP_WORK_COUNTERS = 7 };
void cpWorkCounters(CPWork work, const CPProjectorStats *base, CPCounter counters[CP_WORK_COUNTERS]);
/* Table format: the solver, and why it was chosen; the newest violation, the largest correction. */
int cpPrintProjection(CPProjector P, sunrealtype violation, sunrealtype correction, FILE *out);
/* Is fmt a format? 0, or the reported code. */
int cpCheckFormat(FILE *out, SUNOutputFormat fmt, CPLog *log, const char *function);

#endif
