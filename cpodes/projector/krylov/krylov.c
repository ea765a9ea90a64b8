/* Projection with products of G only: the simplified Newton iteration of newton.c,
 *
 *   delta <- delta - K c(t, y + delta),   K = D G^T (G D G^T)^+,
 *
 * on vectors. The user's products are taken at the state where the iteration started, and kept like
 * factors; K c comes from conjugate gradients (krylov/cg.c), level by level:
 *
 *   x = 0;  for l = 0, 1, ...:  x += D_l G_l^T (G_l D_l G_l^T)^+ (c - G x)_l
 *
 * G_l has the rows and columns of level l, D_l is zero on other columns.
 *
 * Without the entries of G there is no bound for the roundoff of c; that residuals are noise is
 * found from their second differences alone. */
#include "krylov_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* How far the residual of conjugate gradients falls, for a state. Chains of 10 and 40 links, BDF
 * and Adams at 1e-6 and 1e-9: with 1e-4 steps and states are those of a direct solver, to 0.02
 * tolerances; with 1e-2 there are up to 28 % more steps and states 2 to 2000 tolerances off, for 6
 * to 9 % fewer iterations; ending at a tenth of eps takes 30 to 60 % fewer, with errors alike. */
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

/* k->p <- the larger one of k->p and the second differences of c along k->x, for steps of 1, 2, 4
 */
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

/* Second differences of a smooth c vanish over moves that are this small, also when G is wrong.
 * Moves may be too small for y's last digit, too. */
int cpKrylovIsNoise(CPWork work, sunrealtype t, double eps) {
  const CPKrylov k = work->krylov;
  int flag         = cpKrylovRightInverse(work, k->c, GOAL_OF_STATE);
  if (flag) return flag < 0 ? flag : 0;
  N_VProd(k->x, k->w, k->g);
  if (N_VMaxNorm(k->g) > CP_NOISE_REACH) return 0;
  flag = lostCorrection(work);
  if (!flag) flag = secondDifferences(work, t);
  if (flag) return flag < 0 ? flag : 0;
  N_VAbs(k->c, k->q);
  N_VLinearSum(1.0, k->p, -CP_NOISE_PART, k->q, k->p); /* < 0: not noise */
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

static int residuals(CPWork work, sunrealtype t, N_Vector y) {
  return cpUserConstraint(work, t, y, work->krylov->c);
}

static double measure(CPWork work, int *worst) {
  return cpKrylovViolation(work, work->krylov->c, worst);
}

static double distance(CPWork work) {
  return cpKrylovNorm(work, work->krylov->distance, work->krylov->c);
}

static double residualOf(CPWork work, int i) {
  return cpKrylovWorstResidual(work, work->krylov->c, i);
}

static int correct(CPWork work) {
  const CPKrylov k = work->krylov;
  const int flag   = cpKrylovRightInverse(work, k->c, GOAL_OF_STATE);
  if (!flag) N_VLinearSum(1.0, work->y, -1.0, k->x, work->y);
  return flag;
}

static int update(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  (void)t, (void)y, (void)ewt;
  return cpKrylovUpdate(work);
}

/* v <- v - K (G v + r) */
static int tangent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v, N_Vector r) {
  int flag = cpNewtonPrepare(work, t, y, ewt);
  if (flag) return flag;
  const CPKrylov k = work->krylov;
  flag             = cpKrylovTimesChecked(work, v, k->c2);
  if (!flag && r) N_VLinearSum(1.0, k->c2, 1.0, r, k->c2);
  if (!flag) flag = cpKrylovRightInverse(work, k->c2, GOAL_OF_VECTOR);
  if (!flag) N_VLinearSum(1.0, v, -1.0, k->x, v);
  return flag;
}

/* k->mu <- (G_l D_l G_l^T)^+ G_l D_l w */
static int multipliersOf(CPWork work, int l, N_Vector w) {
  const CPKrylov k = work->krylov;
  int flag         = cpKrylovMetricChecked(work, l, w, k->d);
  if (!flag) flag = cpKrylovTimesChecked(work, k->d, k->r);
  cpKrylovMask(work, l, k->r);
  N_VConst(0.0, k->x);
  return flag ? flag : cpKrylovSolve(work, l, GOAL_OF_VECTOR, 1);
}

static int lift(CPWork work, const double *r, double *x) {
  const CPKrylov k = work->krylov;
  memcpy(N_VGetArrayPointer(k->c2), r, (size_t)work->P->m * sizeof *r);
  const int flag = cpKrylovRightInverse(work, k->c2, GOAL_OF_VECTOR);
  if (!flag) memcpy(x, N_VGetArrayPointer(k->x), (size_t)work->P->n * sizeof *x);
  return flag;
}

/* With one level. */
static int liftTransposed(CPWork work, const double *x, double *mu) {
  memcpy(N_VGetArrayPointer(work->v), x, (size_t)work->P->n * sizeof *x);
  const int flag = multipliersOf(work, 0, work->v);
  if (!flag) memcpy(mu, N_VGetArrayPointer(work->krylov->mu), (size_t)work->P->m * sizeof *mu);
  return flag;
}

/* w <- w - G^T K^T w: the levels backwards, w -= G^T (G_l D_l G_l^T)^+ G_l D_l w */
static int cotangent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector w) {
  int flag = cpNewtonPrepare(work, t, y, ewt);
  if (flag) return flag;
  const CPKrylov k = work->krylov;
  N_VScale(1.0, w, work->v);
  for (int l = k->nlevels - 1; !flag && l >= 0; l--) {
    flag = multipliersOf(work, l, work->v);
    if (!flag) flag = cpKrylovTransTimesChecked(work, k->mu, k->g);
    N_VLinearSum(1.0, work->v, -1.0, k->g, work->v);
  }
  if (!flag) N_VScale(1.0, work->v, w);
  return flag;
}

const CPMethod cpKrylovMethod = {.project       = cpNewtonProject,
                                 .tangent       = tangent,
                                 .cotangent     = cotangent,
                                 .violation     = cpNewtonViolation,
                                 .assemble      = cpGaussNewton,
                                 .probe         = cpKrylovProbe,
                                 .update        = update,
                                 .residuals     = residuals,
                                 .renew         = cpKrylovRenew,
                                 .measure       = measure,
                                 .distance      = distance,
                                 .residual_of   = residualOf,
                                 .correct       = correct,
                                 .lift          = lift,
                                 .lift_t        = liftTransposed,
                                 .is_at_floor   = NULL, /* not without the entries of G */
                                 .is_noise      = cpKrylovIsNoise,
                                 .explain       = explainFailure,
                                 .freeze        = cpKrylovFreeze,
                                 .merit         = cpKrylovMerit,
                                 .direction     = cpKrylovDirection,
                                 .trial         = cpKrylovTrial,
                                 .accept        = cpKrylovAccept,
                                 .name_violated = cpKrylovNameViolated};
