/* Projection with products of G only: the simplified Newton iteration of newton.c,
 *
 *   delta <- delta - K c(t, y + delta),   K = D G^T (G D G^T)^+,
 *
 * on vectors. The user's products are taken at the state where the iteration started, and kept like
 * factors; K c comes from conjugate gradients (krylov_cg.c), level by level:
 *
 *   x = 0;  for l = 0, 1, ...:  x += D_l G_l^T (G_l D_l G_l^T)^+ (c - G x)_l
 *
 * G_l has the rows and columns of level l, D_l is zero on other columns.
 *
 * Without the entries of G there is no bound for the roundoff of c; that residuals are noise is found
 * from their second differences alone. */
#include "krylov_impl.h"

#include <math.h>
#include <stdio.h>

/* As in newton.c. */
#define RATE_RENEW    0.2
#define RATE_DIVERGED 0.9
#define KEEP_DISTANCE 10.0
#define NOISE_REACH   1.0e-2
#define NOISE_PART    0.25
#define MAX_RENEWALS  3

/* How far the residual of conjugate gradients falls, for a state. Chains of 10 and 40 links, BDF and Adams at
 * 1e-6 and 1e-9: with 1e-4 steps and states are those of a direct solver, to 0.02 tolerances; with 1e-2
 * there are up to 28 % more steps and states 2 to 2000 tolerances off, for 6 to 9 % fewer iterations; ending at
 * a tenth of eps takes 30 to 60 % fewer, with errors alike. */
#define GOAL_OF_STATE 1.0e-4
/* For vectors: P twice is P, and P^T is its transpose, to some 1e-8 of the vector. */
#define GOAL_OF_VECTOR 1.0e-10
/* For telling what contradicts. */
#define GOAL_IN_DOUBT 1.0e-6
/* Part of the residuals that remains only if they contradict each other. */
#define CONTRADICTION 0.1

int cpKrylovRightInverse(CPWork work, N_Vector c, double goal) {
  const CPKrylov k = work->krylov;
  int flag         = CP_SUCCESS;
  N_VConst(0.0, k->x);
  for (int l = 0; !flag && l < k->nlevels; l++) {
    N_VScale(1.0, c, k->r);
    if (l > 0) {
      flag = cpKrylovTimesChecked(work, k->x, k->q);
      N_VLinearSum(1.0, k->r, -1.0, k->q, k->r); /* c - G x */
    }
    cpKrylovMask(work, l, k->r);
    if (!flag) flag = cpKrylovSolve(work, l, goal, 0);
  }
  return flag;
}

/* k->p <- |G e|, e what is lost of the correction k->x when it is subtracted from work->y */
static int lostCorrection(CPWork work) {
  const CPKrylov k = work->krylov;
  N_VLinearSum(1.0, work->y, -1.0, k->x, work->v);
  N_VLinearSum(1.0, work->y, -1.0, work->v, k->g);
  N_VLinearSum(1.0, k->x, -1.0, k->g, k->g);
  const int flag = cpKrylovTimesChecked(work, k->g, k->p);
  N_VAbs(k->p, k->p);
  return flag;
}

/* k->p <- the larger one of k->p and the second differences of c along k->x, for steps of 1, 2, 4 */
static int secondDifferences(CPWork work, sunrealtype t) {
  const CPKrylov k = work->krylov;
  for (int multiple = 1; multiple <= 4; multiple *= 2) {
    N_VScale(-2.0, k->c, k->q);
    for (int sign = -1; sign <= 1; sign += 2) {
      N_VLinearSum(1.0, work->y, sign * multiple, k->x, work->v);
      const int flag = cpUserConstraint(work, t, work->v, k->c2);
      if (flag) return flag;
      N_VLinearSum(1.0, k->q, 1.0, k->c2, k->q);
    }
    N_VAbs(k->q, k->q);
    N_VLinearSum(1.0, k->q, -1.0, k->p, k->z); /* p = max(p, q) */
    N_VAbs(k->z, k->z);
    N_VLinearSum(0.5, k->p, 0.5, k->q, k->p);
    N_VLinearSum(1.0, k->p, 0.5, k->z, k->p);
  }
  return CP_SUCCESS;
}

/* Second differences of a smooth c vanish over moves that are this small, also when G is wrong. Moves may
 * be too small for y's last digit, too. */
int cpKrylovIsNoise(CPWork work, sunrealtype t, double eps) {
  const CPKrylov k = work->krylov;
  int flag         = cpKrylovRightInverse(work, k->c, GOAL_OF_STATE);
  if (flag) return flag < 0 ? flag : 0;
  N_VProd(k->x, k->w, k->g);
  if (N_VMaxNorm(k->g) > NOISE_REACH) return 0;
  flag = lostCorrection(work);
  if (!flag) flag = secondDifferences(work, t);
  if (flag) return flag < 0 ? flag : 0;
  N_VAbs(k->c, k->q);
  N_VLinearSum(1.0, k->p, -NOISE_PART, k->q, k->p); /* < 0: not noise */
  cpKrylovSquares(work, k->c, k->q);
  N_VCompare(eps * eps, k->q, k->q); /* 1: above eps */
  N_VProd(k->q, k->p, k->p);
  return N_VMin(k->p) >= 0.0;
}

/* "constraint 5 is violated by ..." */
static void describe(CPWork work, N_Vector c, int i, double violation, char *text, size_t length) {
  char name[CP_ROW_NAME];
  snprintf(text, length, "%s is violated by %.3e (%.3g times its tolerance, eps = %g)",
           cpRowName(work->P, i, name), cpKrylovWorstResidual(work, c, i), violation, work->P->eps);
}

/* Is the constraint violated most one that no component can change? */
static int worstIsDead(CPWork work) {
  const CPKrylov k = work->krylov;
  if (!k->has_dead) return 0;
  N_VProd(k->c, k->dead, k->p);
  return cpKrylovNorm(work, k->weight, k->p) >= work->violation;
}

/* Does a part of the residuals lie outside of what corrections can reach? k->p: what remains. */
static int contradictory(CPWork work, double *remaining, int *where) {
  const CPKrylov k = work->krylov;
  int flag         = cpKrylovRightInverse(work, k->c, GOAL_IN_DOUBT);
  if (!flag) flag = cpKrylovTimesChecked(work, k->x, k->p);
  if (flag) return flag < 0 ? flag : 0;
  N_VLinearSum(1.0, k->c, -1.0, k->p, k->p);
  *remaining = cpKrylovViolation(work, k->p, where);
  return *remaining > CONTRADICTION * work->violation;
}

static int explainFailure(CPWork work, sunrealtype t) {
  const CPKrylov k = work->krylov;
  char what[CP_TEXT_LENGTH / 3], most[CP_TEXT_LENGTH / 3];
  double remaining = 0.0;
  int where, flag = CP_SUCCESS;
  describe(work, k->c, work->worst, work->violation, what, sizeof what);
  if (worstIsDead(work))
    return cpReason(work->text, -CP_PROJ_INCONSISTENT,
                    "at t = %.15g: %s, and no free component can change it", t, what);
  if (!work->jac_is_right) {
    flag               = cpKrylovProductsWrong(work, t, work->y, "no convergence, and ");
    work->jac_is_right = !flag;
  }
  if (!flag) flag = contradictory(work, &remaining, &where);
  if (flag < 0) return flag;
  if (flag == 1) {
    describe(work, k->p, where, remaining, most, sizeof most);
    return cpReason(work->text, -CP_PROJ_INCONSISTENT,
                    "at t = %.15g: constraints contradict each other: after the best correction %s",
                    t, most);
  }
  if (flag) return flag;
  return cpReason(work->text, -CP_PROJ_CONV_FAILURE,
                  "at t = %.15g: the projection does not converge; %s", t, what);
}

/* The iteration ends at the roundoff of c, above eps. */
static int endAtFloor(CPWork work) {
  CP_COUNT(work, nfloor);
  work->floor_violation = work->violation;
  work->floor_worst     = work->worst;
  return CP_SUCCESS;
}

/* work->y <- work->y - K c, k->c <- c there */
static int correct(CPWork work, sunrealtype t) {
  const CPKrylov k = work->krylov;
  int flag         = cpKrylovRightInverse(work, k->c, GOAL_OF_STATE);
  if (flag) return flag;
  N_VLinearSum(1.0, work->y, -1.0, k->x, work->y);
  CP_COUNT(work, niters);
  return cpUserConstraint(work, t, work->y, k->c);
}

/* Corrections with the products at hand, until the violation is at most eps. Returns 0, a code, DIVERGED
 * or SLOW (contracting, but not within the number of corrections). */
#define DIVERGED 1
#define SLOW     2

static int iterate(CPWork work, sunrealtype t) {
  const CPKrylov k = work->krylov;
  double previous  = cpKrylovViolation(work, k->c, &work->worst);
  int failure      = SLOW;
  work->rate       = 0.0;
  for (int i = 0; i < work->P->maxiters && failure == SLOW; i++) {
    const int flag = correct(work, t);
    if (flag) return flag;
    work->violation    = cpKrylovViolation(work, k->c, &work->worst);
    const double theta = previous > 0.0 ? work->violation / previous : 0.0;
    if (work->violation <= work->P->eps) return CP_SUCCESS;
    work->rate = fmax(work->rate, theta);
    previous   = work->violation;
    if (theta > RATE_DIVERGED) failure = DIVERGED;
  }
  const int noise = cpKrylovIsNoise(work, t, work->P->eps);
  if (noise > 0) return endAtFloor(work);
  return noise < 0 ? noise : failure;
}

/* One attempt from the state y; fresh: with new products. 0, a code, or DIVERGED. */
static int attempt(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, int fresh) {
  N_VScale(1.0, y, work->y);
  int flag = fresh ? cpKrylovRenew(work, t, y, ewt) : CP_SUCCESS;
  if (flag) return flag;
  cpKrylovViolation(work, work->krylov->c, &work->worst_start);
  flag = iterate(work, t);
  for (int i = 0; fresh && flag == SLOW && i < MAX_RENEWALS; i++) {
    flag = cpKrylovRenew(work, t, work->y, ewt);
    if (!flag) flag = iterate(work, t);
  }
  return flag == SLOW ? DIVERGED : flag;
}

/* From y to work->y. */
static int projectFrom(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, int fresh) {
  int flag = attempt(work, t, y, ewt, fresh);
  if (flag > 0 && work->age > 0) { /* kept products are no reason to give up */
    flag = cpUserConstraint(work, t, y, work->krylov->c);
    if (!flag) flag = attempt(work, t, y, ewt, 1);
  }
  return flag == DIVERGED ? explainFailure(work, t) : flag;
}

/* Are kept products too old, or too far away? */
static int needsNew(CPWork work) {
  const CPKrylov k = work->krylov;
  if (!work->valid || work->stale || work->age >= work->P->jacfreq) return 1;
  return cpKrylovNorm(work, k->distance, k->c) > KEEP_DISTANCE;
}

/* Does the violation of y, with c in k->c, call for no projection? SATISFIED, 0, or a code. */
#define SATISFIED 1

static int isSatisfied(CPWork work, sunrealtype t, N_Vector y) {
  sunrealtype norm;
  const int flag = work->P->violation ? cpUserViolation(work, t, y, &norm) : CP_SUCCESS;
  if (flag) return flag;
  if (!work->P->violation) norm = cpKrylovViolation(work, work->krylov->c, &work->worst);
  work->violation = norm;
  return norm <= work->P->eps;
}

static int project(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, int only_if_needed,
                   int *moved) {
  int flag = cpKrylovUpdate(work);
  if (!flag) flag = cpUserConstraint(work, t, y, work->krylov->c);
  if (flag) return flag;
  int fresh = needsNew(work);
  if (only_if_needed) {
    if (fresh) flag = cpKrylovRenew(work, t, y, ewt);
    if (!flag) flag = isSatisfied(work, t, y);
    if (flag == SATISFIED) {
      work->age++;
      CP_COUNT(work, nskipped);
      return CP_SUCCESS;
    }
    fresh = 0;
  }
  if (!flag) flag = projectFrom(work, t, y, ewt, fresh);
  if (flag) return flag;
  work->age++;
  work->stale = work->rate > RATE_RENEW && work->age > 1;
  *moved      = 1;
  N_VScale(1.0, work->y, y);
  return CP_SUCCESS;
}

/* Products at (t, y), unless there are some that may be used: those of the projection that gave y. */
static int prepare(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  const int flag = cpKrylovUpdate(work);
  if (flag || (work->valid && !work->stale && work->age <= work->P->jacfreq)) return flag;
  return cpKrylovRenew(work, t, y, ewt);
}

/* v <- v - K G v */
static int tangent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v) {
  int flag = prepare(work, t, y, ewt);
  if (flag) return flag;
  const CPKrylov k = work->krylov;
  flag             = cpKrylovTimesChecked(work, v, k->c2);
  if (!flag) flag = cpKrylovRightInverse(work, k->c2, GOAL_OF_VECTOR);
  if (!flag) N_VLinearSum(1.0, v, -1.0, k->x, v);
  return flag;
}

/* w <- w - G^T K^T w: the levels backwards, w -= G^T (G_l D_l G_l^T)^+ G_l D_l w */
static int cotangent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector w) {
  int flag = prepare(work, t, y, ewt);
  if (flag) return flag;
  const CPKrylov k = work->krylov;
  N_VScale(1.0, w, work->v);
  for (int l = k->nlevels - 1; !flag && l >= 0; l--) {
    flag = cpKrylovMetricChecked(work, l, work->v, k->d);
    if (!flag) flag = cpKrylovTimesChecked(work, k->d, k->r);
    cpKrylovMask(work, l, k->r);
    N_VConst(0.0, k->x);
    if (!flag) flag = cpKrylovSolve(work, l, GOAL_OF_VECTOR, 1);
    if (!flag) flag = cpKrylovTransTimesChecked(work, k->mu, k->g);
    N_VLinearSum(1.0, work->v, -1.0, k->g, work->v);
  }
  if (!flag) N_VScale(1.0, work->v, w);
  return flag;
}

static int violation(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, sunrealtype *norm,
                     int *worst) {
  int flag = cpKrylovUpdate(work);
  if (flag) return flag;
  if (work->P->violation) return cpUserViolation(work, t, y, norm);
  flag = cpUserConstraint(work, t, y, work->krylov->c);
  if (!flag) flag = cpKrylovRenew(work, t, y, ewt);
  if (flag) return flag;
  *norm                = cpKrylovViolation(work, work->krylov->c, worst);
  work->worst_residual = cpKrylovWorstResidual(work, work->krylov->c, *worst);
  if (!(*norm > 1.0)) return CP_SUCCESS;
  N_VScale(1.0, y, work->y);
  const int noise = cpKrylovIsNoise(work, t, 1.0);
  if (noise > 0) *norm = 1.0;
  return noise < 0 ? noise : CP_SUCCESS;
}

const CPMethod cpKrylovMethod = {.project   = project,
                                 .tangent   = tangent,
                                 .cotangent = cotangent,
                                 .violation = violation,
                                 .assemble  = cpKrylovAssemble,
                                 .probe     = cpKrylovProbe};
