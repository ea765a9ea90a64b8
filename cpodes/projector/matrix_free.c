/* The matrix-free kind: the simplified Newton iteration of newton.c,
 *
 *   delta <- delta - K c(t, y + delta),   K = D G^T (G D G^T)^+,
 *
 * with products of G only. They are taken at the initial state of the iteration, and kept like
 * factors; K c is computed by conjugate gradients (saddle/krylov.c), level by level:
 *
 *   x = 0;  for l = 0, 1, ...:  x += D_l G_l^T (G_l D_l G_l^T)^+ (c - G x)_l
 *
 * G_l has the rows and columns of level l, D_l is zero on other columns.
 *
 * Without the entries of G there is no bound for the roundoff of c; only second differences can
 * show that residuals are noise. */
#include "matrix_free.h"

#include <stdio.h>

/* Reduction of the residual of conjugate gradients when a state is projected. Measured with chains
 * of 10 and 40 links, BDF and Adams at 1e-6 and 1e-9: with 1e-4 steps and states are those of a
 * direct solver, to 0.02 tolerances; with 1e-2 there are up to 28 % more steps, and states are 2 to
 * 2000 tolerances off, for 6 to 9 % fewer iterations; stopping at a tenth of eps takes 30 to 60 %
 * fewer iterations, with similar errors. */
#define GOAL_OF_STATE 1.0e-4
/* In the damped iteration a correction with an error of a hundredth descends as well; the last
 * corrections are not damped. */
#define GOAL_DAMPED 1.0e-2
/* For vectors: P^2 = P holds, and P^T is the transpose of P, to about 1e-8 of the vector. */
#define GOAL_OF_VECTOR 1.0e-10
/* For finding out whether constraints contradict each other. */
#define GOAL_IN_DOUBT 1.0e-6
/* Fraction of the residuals that can remain only if constraints contradict each other. */
#define CONTRADICTION 0.1

/* k->x <- K c */
static int rightInverse(CPWork work, N_Vector c, double goal) {
  const CPMatrixFree k = work->free;
  int flag             = CP_SUCCESS;
  N_VConst(0.0, k->x);
  for (int l = 0; !flag && l < k->nlevels; l++) {
    N_VScale(1.0, c, k->r);
    if (l > 0) {
      flag = cpFreeTimes(work, k->x, k->q);
      N_VLinearSum(1.0, k->r, -1.0, k->q, k->r); /* c - G x */
    }
    cpFreeMask(work, l, k->r);
    if (!flag) flag = cpFreeSolve(work, l, goal, NULL);
  }
  return flag;
}

/* ---- the parts of Newton's iteration ---- */

static int residuals(CPNewton *newton, sunrealtype t, N_Vector y) {
  return cpUserConstraint(newton->self, t, y, ((CPWork)newton->self)->free->c);
}

static int renew(CPNewton *newton, sunrealtype t, N_Vector y, N_Vector ewt, int damped,
                 CPRank *rank) {
  CPWork work    = newton->self;
  const int flag = cpFreeRenew(work, t, y, ewt);
  *rank          = (CPRank){.rank = -1, .sine = 1.0};
  work->damped   = damped > 0;
  if (flag || damped != 1) return flag;
  /* Weights of the damped iteration must be finite, because a row without a gradient at the start
   * may get one during the iteration. */
  const CPMatrixFree k = work->free;
  N_VProd(k->weight, k->dead, k->frozen);
  N_VLinearSum(1.0, k->weight, -1.0, k->frozen, k->frozen);
  const double largest = N_VMaxNorm(k->frozen);
  N_VLinearSum(1.0, k->frozen, largest > 0.0 ? largest : 1.0, k->dead, k->frozen);
  return CP_SUCCESS;
}

static double measure(CPNewton *newton, int *worst, double *residual) {
  CPWork work            = newton->self;
  const double violation = cpFreeViolation(work, work->free->c, worst);
  if (residual) *residual = cpFreeWorstResidual(work, work->free->c, *worst);
  return violation;
}

static double distance(CPNewton *newton) {
  const CPMatrixFree k = ((CPWork)newton->self)->free;
  return cpKrylovNorm(k->distance, k->c, k->m2);
}

static int direction(CPNewton *newton, N_Vector x) {
  CPWork work    = newton->self;
  const int flag = rightInverse(work, work->free->c, work->damped ? GOAL_DAMPED : GOAL_OF_STATE);
  if (!flag) N_VScale(1.0, work->free->x, x);
  return flag;
}

static double merit(CPNewton *newton) {
  const CPMatrixFree k = ((CPWork)newton->self)->free;
  N_VProd(k->c, k->frozen, k->p);
  return N_VDotProd(k->c, k->p);
}

/* k->p <- the larger of k->p and the second differences of c along k->x, for steps of 1, 2 and 4 */
static int secondDifferences(CPWork work, sunrealtype t, N_Vector y) {
  const CPMatrixFree k = work->free;
  for (int multiple = 1; multiple <= 4; multiple *= 2) {
    N_VScale(-2.0, k->c, k->q);
    for (int sign = -1; sign <= 1; sign += 2) {
      N_VLinearSum(1.0, y, sign * multiple, k->x, work->v);
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

/* Are all residuals above eps at most the change of c while t changes by 8 of its last digits? Returns 1, 0,
 * or a fatal code. */
static int isRoundoffOfTime(CPWork work, sunrealtype t, N_Vector y, double eps) {
  const CPMatrixFree k = work->free;
  const int flag       = cpFreeTimeRoundoff(work, t, y, k->p);
  if (flag) return flag < 0 ? flag : 0;
  N_VAbs(k->c, k->q);
  N_VLinearSum(1.0, k->p, -1.0, k->q, k->p); /* < 0: more than that */
  cpFreeSquares(work, k->c, k->q);
  N_VCompare(eps * eps, k->q, k->q); /* 1: above eps */
  N_VProd(k->q, k->p, k->p);
  return N_VMin(k->p) >= 0.0;
}

/* Second differences of a smooth c vanish over moves this small, even if G is wrong. Moves may also
 * be too small for the last digit of y. */
static int isNoise(CPNewton *newton, sunrealtype t, N_Vector y, double eps, int thorough) {
  CPWork work          = newton->self;
  const CPMatrixFree k = work->free;
  if (!thorough) return 0;
  int flag = isRoundoffOfTime(work, t, y, eps);
  if (flag) return flag;
  flag = rightInverse(work, k->c, GOAL_OF_STATE);
  if (flag) return flag < 0 ? flag : 0;
  N_VProd(k->x, k->w, k->g);
  if (N_VMaxNorm(k->g) > CP_NOISE_REACH) return 0;
  N_VLinearSum(1.0, y, -1.0, k->x, work->v); /* p = |G e|, e: roundoff of x in y - x */
  N_VLinearSum(1.0, y, -1.0, work->v, k->g);
  N_VLinearSum(1.0, k->x, -1.0, k->g, k->g);
  flag = cpFreeTimes(work, k->g, k->p);
  N_VAbs(k->p, k->p);
  if (!flag) flag = secondDifferences(work, t, y);
  if (flag) return flag < 0 ? flag : 0;
  N_VAbs(k->c, k->q);
  N_VLinearSum(1.0, k->p, -CP_NOISE_PART, k->q, k->p); /* < 0: not noise */
  cpFreeSquares(work, k->c, k->q);
  N_VCompare(eps * eps, k->q, k->q); /* 1: above eps */
  N_VProd(k->q, k->p, k->p);
  return N_VMin(k->p) >= 0.0;
}

/* "constraint 5 is violated by ..." */
static void describe(CPWork work, N_Vector c, int i, double violation, char *text, size_t length) {
  char name[CP_ROW_NAME];
  snprintf(text, length, "%s is violated by %.3e (%.3g times its tolerance, eps = %g)",
           cpRowName(work->P, i, name), cpFreeWorstResidual(work, c, i), violation,
           work->P->options.eps);
}

static int explain(CPNewton *newton, sunrealtype t, N_Vector y, int damped) {
  CPWork work          = newton->self;
  const CPMatrixFree k = work->free;
  char what[CP_TEXT_LENGTH / 3], most[CP_TEXT_LENGTH / 3];
  char name[CP_ROW_NAME];
  int where, flag = CP_SUCCESS;
  if (damped)
    return cpReason(
        work->text, CP_IC_FAIL,
        "at t = %.10g: no consistent state found near the one given; violated most: %s (%.3e)", t,
        cpRowName(work->P, work->newton.worst, name),
        cpFreeWorstResidual(work, k->c, work->newton.worst));
  describe(work, k->c, work->newton.worst, work->newton.violation, what, sizeof what);
  if (k->has_dead) N_VProd(k->c, k->dead, k->p);
  if (k->has_dead && cpKrylovNorm(k->weight, k->p, k->m2) >= newton->violation)
    return cpReason(work->text, -CP_PROJ_INCONSISTENT,
                    "at t = %.10g: %s, and no free component can change it", t, what);
  if (!work->jac_is_right) {
    flag               = cpFreeProductsWrong(work, t, y, "no convergence, and ");
    work->jac_is_right = !flag;
  }
  if (flag) return flag;
  flag = rightInverse(work, k->c, GOAL_IN_DOUBT);
  if (!flag) flag = cpFreeTimes(work, k->x, k->p);
  if (flag < 0) return flag;
  N_VLinearSum(1.0, k->c, -1.0, k->p, k->p); /* the part out of reach of corrections */
  const double remaining = flag ? 0.0 : cpFreeViolation(work, k->p, &where);
  if (remaining > CONTRADICTION * newton->violation) {
    describe(work, k->p, where, remaining, most, sizeof most);
    return cpReason(work->text, -CP_PROJ_INCONSISTENT,
                    "at t = %.10g: constraints contradict each other: after the best correction %s",
                    t, most);
  }
  return cpReason(work->text, -CP_PROJ_CONV_FAILURE,
                  "at t = %.10g: the projection does not converge; %s", t, what);
}

static const CPNewtonParts parts = {.residuals = residuals,
                                    .renew     = renew,
                                    .measure   = measure,
                                    .distance  = distance,
                                    .direction = direction,
                                    .merit     = merit,
                                    .is_noise  = isNoise,
                                    .explain   = explain};

/* ---- the actions ---- */

static int update(void *self, sunrealtype t, N_Vector y, N_Vector ewt) {
  CPWork work        = self;
  work->newton.parts = &parts;
  work->newton.rows  = NULL;
  (void)t, (void)y, (void)ewt;
  return cpFreeUpdate(work);
}

static int probe(void *self, sunrealtype t, N_Vector y, N_Vector ewt) {
  CPWork work = self;
  cpNewtonForget(&work->newton);
  const int flag = cpFreePlace(work, t, y, ewt);
  return flag ? flag : cpFreeProductsWrong(work, t, y, "");
}

/* v <- v - K (G v + r) */
static int tangent(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v, N_Vector r) {
  CPWork work = self;
  int flag    = cpNewtonPrepare(&work->newton, t, y, ewt);
  if (flag) return flag;
  const CPMatrixFree k = work->free;
  flag                 = cpFreeTimes(work, v, k->c2);
  if (!flag && r) N_VLinearSum(1.0, k->c2, 1.0, r, k->c2);
  if (!flag) flag = rightInverse(work, k->c2, GOAL_OF_VECTOR);
  if (!flag) N_VLinearSum(1.0, v, -1.0, k->x, v);
  return flag;
}

/* w <- w - G^T K^T w: for the levels backwards, w -= G^T (G_l D_l G_l^T)^+ G_l D_l w */
static int cotangent(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector w) {
  CPWork work = self;
  int flag    = cpNewtonPrepare(&work->newton, t, y, ewt);
  if (flag) return flag;
  const CPMatrixFree k = work->free;
  N_VScale(1.0, w, work->v);
  for (int l = k->nlevels - 1; !flag && l >= 0; l--) {
    flag = cpFreeMetric(work, l, work->v, k->d);
    if (!flag) flag = cpFreeTimes(work, k->d, k->r);
    cpFreeMask(work, l, k->r);
    N_VConst(0.0, k->x);
    if (!flag) flag = cpFreeSolve(work, l, GOAL_OF_VECTOR, k->mu);
    if (!flag) flag = cpFreeTransposed(work, k->mu, k->g);
    N_VLinearSum(1.0, work->v, -1.0, k->g, work->v);
  }
  if (!flag) N_VScale(1.0, work->v, w);
  return flag;
}

const CPProjectorKind cpKrylovKind = {
    .update = update, .tangent = tangent, .cotangent = cotangent, .probe = probe};
