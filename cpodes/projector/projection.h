/* A projector as the other rooms use it. CPProjector is the problem, which the user sets; a CPWork is the state of its
 * solution: the kept factors of one caller. The public calls, an integrator's steps, its output and its sensitivities
 * each have their own, so that none changes what another one computes.
 *
 * Functions that return a code return 0, a positive recoverable or a negative fatal one, whose reason is in
 * cpWorkText; vectors that they change are then as they came. */
#ifndef CPODES_PROJECTION_H
#define CPODES_PROJECTION_H

#include "cpodes/base/errors.h"

#include <cpodes/cpodes_projector.h>

typedef struct CPWork_ *CPWork;

/* ---- life cycle ---- */

int cpWorkCreate(CPWork *work, CPProjector P); /* CP_SUCCESS or CP_MEM_FAIL */
void cpWorkFree(CPWork *work);
/* The next call starts from factors of its own state. work may be NULL. */
void cpWorkForget(CPWork work);
/* A new start: no factors, and no warnings left from before. *base <- the counters by then. work may be NULL. */
void cpWorkRestart(CPWork work, CPProjectorStats *base);

/* ---- actions ---- */

/* The result of a projection. */
typedef struct {
  int moved;        /* 0: the state was near enough to be left alone */
  double violation; /* that is left, in units of the tolerances */
  int worst_start;  /* the constraint that was violated most before, or -1 if that is not known */
  int with_error;   /* The error estimate is P e. */
} CPProjected;

typedef struct {
  sunrealtype norm; /* in units of the tolerances */
  int worst;        /* the constraint violated most, or -1 if that is not known */
  double residual;  /* its value */
} CPViolation;

/* y moves to the manifold. only_if_needed: it is left alone if its violation is at most eps. An error estimate e, which may
 * be NULL, becomes P e if that costs no further call of the user's. */
int cpProject(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector e, int only_if_needed,
              CPProjected *result);
int cpTangent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v); /* v <- P v */
/* v <- v - K (G v + r), the nearest one with G v + r = 0. r, of cpRowsVector's kind, is 0 if NULL. */
int cpTangentTo(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v, N_Vector r);
/* As cpTangent for an error estimate, which need be tangential only as far as it helps. */
int cpProjectError(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v);
int cpCotangent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector w); /* w <- P^T w */
int cpStateViolation(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, CPViolation *violation);
/* y from a poor guess. Without ewt the correction is small in the Euclidean norm. */
int cpAssemble(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt);
/* Is the user's derivative that of c? 0, or +-CP_CNSTRJAC_WRONG. */
int cpJacobianProbe(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt);

/* *c <- a new vector with an entry for each row of c(t, y) without unit norms, or NULL if there are no rows.
 * CP_SUCCESS or CP_MEM_FAIL. */
int cpRowsVector(CPWork work, N_Vector *c);
int cpRowsAt(CPWork work, sunrealtype t, N_Vector y, N_Vector c); /* c(t, y) there */

/* ---- figures ---- */

char *cpWorkText(
    CPWork work); /* [CP_TEXT_LENGTH] reason of the newest failure; callers may write their own */
const CPProjectorStats *cpWorkStats(CPWork work);
/* Smallest sine of an angle between constraints that count as independent, at the newest factorisation; 1 where
 * angles are not known. */
double cpWorkSine(CPWork work);
/* Projections that were not needed make the factors older all the same. */
void cpWorkAge(CPWork work);
/* The constraint that the newest projection found violated most, or an empty text where that is not known. */
#define CP_ROW_NAME 64
void cpWorkWorstName(CPWork work, char name[CP_ROW_NAME]);
N_Vector cpWorkScratch(CPWork work); /* like y, free between calls */

/* A projection that ended at the roundoff of evaluating c, above what is asked for. */
typedef struct {
  int reached;      /* 0: none did; the rest is that of the newest */
  double violation; /* left there */
  int worst;        /* constraint */
} CPFloor;

/* Warnings are for steps that are accepted: a new attempt begins; the newest one is a step. work may be NULL. */
void cpWorkAttempt(CPWork work);
void cpWorkAccepted(CPWork work);
const CPFloor *cpWorkFloor(CPWork work); /* of accepted steps */
/* The rank below which that of G has fallen in accepted steps since the last call, or 0. */
sunindextype cpWorkRankFell(CPWork work);

/* ---- the problem ---- */

/* 0 = |(y_first, ..., y_{first+length-1})| - value */
typedef struct {
  int first, length;
  double value;
} CPUnitNorm;

sunindextype cpProjectorLength(const CPProjector P); /* of the state */
int cpProjectorNeedsData(const CPProjector P);       /* Must states lie in one memory? */
int cpProjectorMeasures(const CPProjector P);        /* Are violations known? */
sunrealtype cpProjectorEps(const CPProjector P);
/* Is G so rough, being made of differences, that products with it are good to some 1e-8 only? */
int cpProjectorIsRough(const CPProjector P);
/* "constraint 5", "the norm of components 3 to 6" */
const char *cpRowName(const CPProjector P, int i, char name[CP_ROW_NAME]);
/* Name of the linear solver, and why it was chosen. */
void cpProjectorSolverText(const CPProjector P, char text[CP_TEXT_LENGTH]);
/* Tolerance of a component, absolute and relative, when no error weights are known: half of its digits count. */
#define CP_BLIND_TOLERANCE 1.0e-8

#endif
