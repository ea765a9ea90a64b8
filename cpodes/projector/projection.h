/* A projector as the other rooms use it. CPProjector is the problem, which the user sets; a CPWork
 * is the state of its solution, with the kept factors of one caller. The public calls, an
 * integrator's steps, its output and its sensitivities have a CPWork each, so that none changes
 * what another computes.
 *
 * Functions that return a code return 0, a positive code if the failure is recoverable, or a
 * negative one if it is fatal, with the reason in cpWorkText; after a failure, vectors that they
 * change have their old values. */
#ifndef CPODES_PROJECTION_H
#define CPODES_PROJECTION_H

#include "counters.h"
#include "cpodes/base/errors.h"
#include "cpodes/base/roundoff.h"

#include <cpodes/cpodes_projector.h>

typedef struct CPWork_ *CPWork;

/* ---- life cycle ---- */

int cpWorkCreate(CPWork *work, CPProjector P); /* CP_SUCCESS or CP_MEM_FAIL */
void cpWorkFree(CPWork *work);
/* Discards the factors, so that the next call computes its own. work may be NULL. */
void cpWorkForget(CPWork work);
/* Lends work the data for functions of a projector that has none (CPProjectorSetUserData), those of the
 * caller's f. work may be NULL. */
void cpWorkLend(CPWork work, void *user_data);
/* Starts anew: discards the factors and the pending warnings. *base <- the counters at this point;
 * zero if work is NULL. */
void cpWorkRestart(CPWork work, CPProjectorStats *base);

/* ---- actions ---- */

/* The result of a projection. */
typedef struct {
  int moved;        /* 0: the state was close enough to stay unchanged */
  double violation; /* remaining violation in units of the tolerances */
  int worst_start;  /* constraint violated most before the projection; -1: not known */
  int with_error;   /* 1: the error estimate has been replaced by P e */
} CPProjected;

typedef struct {
  sunrealtype norm; /* violation in units of the tolerances */
  int worst;        /* constraint violated most; -1: not known */
  double residual;  /* its residual */
} CPViolation;

/* Projects y to the manifold. only_if_needed: y stays as it is if its violation is at most eps. An
 * error estimate e, which may be NULL, becomes P e if that costs no further call of a user
 * function. */
int cpProject(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector e, int only_if_needed,
              CPProjected *result);
int cpTangent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v); /* v <- P v */
/* v <- v - K (G v + r), the nearest vector with G v + r = 0. r, like the vectors of cpRowsVector,
 * is 0 if NULL. */
int cpTangentTo(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v, N_Vector r);
/* As cpTangent for an error estimate, which is made tangential only as far as that is useful. */
int cpProjectError(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v);
int cpCotangent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector w); /* w <- P^T w */
int cpStateViolation(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, CPViolation *violation);
/* Projects y from a poor guess. Without ewt the correction is small in the Euclidean norm. */
int cpAssemble(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt);
/* *norm <- the WRMS norm of the displacement by which the roundoff of evaluating c moves a projected state
 * like y: the smaller the angles between constraints, the larger it is. 0 if it is not known. */
int cpRoundoff(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, double *norm);
/* Is the user's Jacobian the derivative of c? Returns 0, or +-CP_CNSTRJAC_WRONG. */
int cpJacobianProbe(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt);

/* *c <- a new vector with an entry for each row of c(t, y) without unit norms, or NULL if there are
 * no rows. Returns CP_SUCCESS or CP_MEM_FAIL. */
int cpRowsVector(CPWork work, N_Vector *c);
int cpRowsAt(CPWork work, sunrealtype t, N_Vector y, N_Vector c); /* c <- c(t, y) */

/* ---- figures ---- */

char *cpWorkText(
    /* [CP_TEXT_LENGTH] reason of the newest failure; callers may write their own */
    CPWork work);
const CPProjectorStats *cpWorkStats(CPWork work);
/* Smallest sine of an angle between constraints that count as independent, at the newest
 * factorisation; 1 if angles are not known. */
double cpWorkSine(CPWork work);
/* Wider angles are those of regular motions, for which tolerances hold. */
#define CP_NARROW_ANGLE 0.1
/* Makes the factors older by a projection that was not needed. */
void cpWorkAge(CPWork work);
/* name <- the constraint that the newest projection found violated most; empty if it is not
 * known */
enum { CP_ROW_NAME = 288 };
void cpWorkWorstName(CPWork work, char name[CP_ROW_NAME]);
N_Vector
cpWorkScratch(CPWork work); /* like y, free between calls; NULL: there is no memory for it now */

/* A projection that ended at the roundoff of evaluating c, above eps. */
typedef struct {
  int reached;      /* 1: there was one; the other fields describe the newest */
  double violation; /* its remaining violation */
  int worst;        /* constraint */
} CPFloor;

/* Warnings concern accepted steps only: cpWorkAttempt begins a new attempt of a step,
 * cpWorkAccepted accepts the newest one. work may be NULL. */
void cpWorkAttempt(CPWork work);
void cpWorkAccepted(CPWork work);
const CPFloor *cpWorkFloor(CPWork work); /* floor found in accepted steps */
/* Returns the rank below which the rank of G has fallen in accepted steps since the last call, or
 * 0. */
sunindextype cpWorkRankFell(CPWork work);

/* ---- the problem ---- */

/* 0 = |(y_first, ..., y_{first+length-1})| - value */
typedef struct {
  int first, length;
  double value;
} CPUnitNorm;

sunindextype cpProjectorLength(const CPProjector P); /* length of the state */
int cpProjectorNeedsData(const CPProjector P);       /* Must states lie in one memory? */
int cpProjectorMeasures(const CPProjector P);        /* Are violations known? */
sunrealtype cpProjectorEps(const CPProjector P);
/* Is G made of differences, so that products with it have an error of about 1e-8? */
int cpProjectorIsRough(const CPProjector P);
/* "constraint 5", "the norm of components 3 to 6" */
const char *cpRowName(const CPProjector P, int i, char name[CP_ROW_NAME]);
/* Absolute and relative tolerance of a component if no error weights are known: half of its digits
 * are significant. */
#define CP_BLIND_TOLERANCE CP_HALF_DIGITS

#endif
