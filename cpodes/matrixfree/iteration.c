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
#include "matrixfree_impl.h"

#include <stdio.h>

/* For vectors: P^2 = P holds, and P^T is the transpose of P, to about 1e-8 of the vector. */
#define RTOL_OF_VECTOR CP_ROUNDED

/* k->x <- K c */
static int rightInverse(CPMatrixFree k, N_Vector c, double rtol) {
  int flag = CP_SUCCESS;
  N_VConst(0.0, k->x);
  for (int l = 0; !flag && l < k->nlevels; l++) {
    N_VScale(1.0, c, k->r);
    if (l > 0) {
      flag = cpFreeTimes(k, k->x, k->q);
      N_VLinearSum(1.0, k->r, -1.0, k->q, k->r); /* c - G x */
    }
    cpFreeMask(k, l, k->r);
    if (!flag) flag = cpFreeSolve(k, l, rtol, NULL);
  }
  return flag;
}

/* ---- the parts of Newton's iteration ---- */

static int residuals(CPNewton *newton, sunrealtype t, N_Vector y) {
  return cpUserConstraint(newton->work, t, y, ((CPMatrixFree)newton->self)->c);
}

static int renew(CPNewton *newton, sunrealtype t, N_Vector y, N_Vector ewt, int damped,
                 CPRank *rank) {
  const CPMatrixFree k = newton->self;
  const int flag       = cpFreeRenew(k, t, y, ewt);
  *rank                = (CPRank){.rank = -1, .sine = 1.0};
  k->damped            = damped > 0;
  if (flag || damped != 1) return flag;
  /* Weights of the damped iteration must be finite, because a row without a gradient at the start
   * may get one during the iteration. */
  N_VProd(k->weight, k->dead, k->frozen);
  N_VLinearSum(1.0, k->weight, -1.0, k->frozen, k->frozen);
  const double largest = N_VMaxNorm(k->frozen);
  N_VLinearSum(1.0, k->frozen, largest > 0.0 ? largest : 1.0, k->dead, k->frozen);
  return CP_SUCCESS;
}

static double measure(CPNewton *newton, int *worst, double *residual) {
  const CPMatrixFree k   = newton->self;
  const double violation = cpFreeViolation(k, k->c, worst);
  if (residual) *residual = cpFreeWorstResidual(k, k->c, *worst);
  return violation;
}

static double distance(CPNewton *newton) {
  const CPMatrixFree k = newton->self;
  return cpKrylovNorm(k->distance, k->c, k->m2);
}

static int direction(CPNewton *newton, N_Vector x) {
  const CPMatrixFree k = newton->self;
  const int flag       = rightInverse(k, k->c, CP_CG_RTOL_OF_STATE);
  if (!flag) N_VScale(1.0, k->x, x);
  return flag;
}

static double merit(CPNewton *newton) {
  const CPMatrixFree k = newton->self;
  N_VProd(k->c, k->frozen, k->p);
  return N_VDotProd(k->c, k->p);
}

/* k->p <- the larger of k->p and the second differences of c along k->x, for steps of 1, 2 and 4 */
static int secondDifferences(CPMatrixFree k, sunrealtype t, N_Vector y) {
  for (int multiple = 1; multiple <= 4; multiple *= 2) {
    N_VScale(-2.0, k->c, k->q);
    for (int sign = -1; sign <= 1; sign += 2) {
      N_VLinearSum(1.0, y, sign * multiple, k->x, k->work->v);
      const int flag = cpUserConstraint(k->work, t, k->work->v, k->c2);
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
static int isRoundoffOfTime(CPMatrixFree k, sunrealtype t, N_Vector y, double eps) {
  const int flag = cpFreeTimeRoundoff(k, t, y, k->p);
  if (flag) return flag < 0 ? flag : 0;
  N_VAbs(k->c, k->q);
  N_VLinearSum(1.0, k->p, -1.0, k->q, k->p); /* < 0: more than that */
  cpFreeSquares(k, k->c, k->q);
  N_VCompare(eps * eps, k->q, k->q); /* 1: above eps */
  N_VProd(k->q, k->p, k->p);
  return N_VMin(k->p) >= 0.0;
}

/* Second differences of a smooth c vanish over moves this small, even if G is wrong. Moves may also
 * be too small for the last digit of y. */
static int isNoise(CPNewton *newton, sunrealtype t, N_Vector y, double eps, int thorough) {
  const CPMatrixFree k = newton->self;
  if (!thorough) return 0;
  int flag = isRoundoffOfTime(k, t, y, eps);
  if (flag) return flag;
  flag = rightInverse(k, k->c, CP_CG_RTOL_OF_STATE);
  if (flag) return flag < 0 ? flag : 0;
  N_VProd(k->x, k->w, k->g);
  if (N_VMaxNorm(k->g) > CP_NOISE_REACH) return 0;
  N_VLinearSum(1.0, y, -1.0, k->x, k->work->v); /* p = |G e|, e: roundoff of x in y - x */
  N_VLinearSum(1.0, y, -1.0, k->work->v, k->g);
  N_VLinearSum(1.0, k->x, -1.0, k->g, k->g);
  flag = cpFreeTimes(k, k->g, k->p);
  N_VAbs(k->p, k->p);
  if (!flag) flag = secondDifferences(k, t, y);
  if (flag) return flag < 0 ? flag : 0;
  N_VAbs(k->c, k->q);
  N_VLinearSum(1.0, k->p, -CP_NOISE_PART, k->q, k->p); /* < 0: not noise */
  cpFreeSquares(k, k->c, k->q);
  N_VCompare(eps * eps, k->q, k->q); /* 1: above eps */
  N_VProd(k->q, k->p, k->p);
  return N_VMin(k->p) >= 0.0;
}

/* "constraint 5 is violated by ..." */
static void describe(CPMatrixFree k, N_Vector c, int i, double violation, char *text, size_t length) {
  char name[CP_ROW_NAME];
  snprintf(text, length, "%s is violated by %.3e (%.3g times its tolerance, eps = %g)",
           cpRowName(k->work->P, i, name), cpFreeWorstResidual(k, c, i), violation,
           k->work->P->options.eps);
}

static int explain(CPNewton *newton, sunrealtype t, N_Vector y, int damped) {
  const CPMatrixFree k = newton->self;
  char what[CP_TEXT_LENGTH / 3], most[CP_TEXT_LENGTH / 3];
  char name[CP_ROW_NAME];
  int where, flag = CP_SUCCESS;
  if (damped)
    return cpReason(
        k->work->text, CP_IC_FAIL,
        "at t = %.10g: no consistent state found near the one given; violated most: %s (%.3e)", t,
        cpRowName(k->work->P, k->newton.worst, name), cpFreeWorstResidual(k, k->c, k->newton.worst));
  describe(k, k->c, k->newton.worst, k->newton.violation, what, sizeof what);
  if (k->has_dead) N_VProd(k->c, k->dead, k->p);
  if (k->has_dead && cpKrylovNorm(k->weight, k->p, k->m2) >= newton->violation)
    return cpReason(k->work->text, -CP_PROJ_INCONSISTENT,
                    "at t = %.10g: %s, and no free component can change it", t, what);
  if (!k->products_are_right) {
    flag                  = cpFreeProductsWrong(k, t, y, "no convergence, and ");
    k->products_are_right = !flag;
  }
  if (flag) return flag;
  flag = rightInverse(k, k->c, CP_INEXACT);
  if (!flag) flag = cpFreeTimes(k, k->x, k->p);
  if (flag < 0) return flag;
  N_VLinearSum(1.0, k->c, -1.0, k->p, k->p); /* the part out of reach of corrections */
  const double remaining = flag ? 0.0 : cpFreeViolation(k, k->p, &where);
  if (remaining > CP_REMAINS * newton->violation) {
    describe(k, k->p, where, remaining, most, sizeof most);
    return cpReason(k->work->text, -CP_PROJ_INCONSISTENT,
                    "at t = %.10g: constraints contradict each other: after the best correction %s",
                    t, most);
  }
  return cpReason(k->work->text, -CP_PROJ_CONV_FAILURE,
                  "at t = %.10g: the projection does not converge; %s", t, what);
}

const CPNewtonParts cpFreeParts = {.residuals = residuals,
                                   .renew     = renew,
                                   .measure   = measure,
                                   .distance  = distance,
                                   .direction = direction,
                                   .merit     = merit,
                                   .is_noise  = isNoise,
                                   .explain   = explain};

/* ---- vectors ---- */

/* v <- v - K (G v + r) */
int cpFreeTangent(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v, N_Vector r) {
  const CPMatrixFree k = self;
  int flag             = cpNewtonPrepare(&k->newton, t, y, ewt);
  if (flag) return flag;
  flag = cpFreeTimes(k, v, k->c2);
  if (!flag && r) N_VLinearSum(1.0, k->c2, 1.0, r, k->c2);
  if (!flag) flag = rightInverse(k, k->c2, RTOL_OF_VECTOR);
  if (!flag) N_VLinearSum(1.0, v, -1.0, k->x, v);
  return flag;
}

/* w <- w - G^T K^T w: for the levels backwards, w -= G^T (G_l D_l G_l^T)^+ G_l D_l w */
int cpFreeCotangent(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector w) {
  const CPMatrixFree k = self;
  int flag             = cpNewtonPrepare(&k->newton, t, y, ewt);
  if (flag) return flag;
  N_VScale(1.0, w, k->work->v);
  for (int l = k->nlevels - 1; !flag && l >= 0; l--) {
    flag = cpFreeMetric(k, l, k->work->v, k->d);
    if (!flag) flag = cpFreeTimes(k, k->d, k->r);
    cpFreeMask(k, l, k->r);
    N_VConst(0.0, k->x);
    if (!flag) flag = cpFreeSolve(k, l, RTOL_OF_VECTOR, k->mu);
    if (!flag) flag = cpFreeTransposed(k, k->mu, k->g);
    N_VLinearSum(1.0, k->work->v, -1.0, k->g, k->work->v);
  }
  if (!flag) N_VScale(1.0, k->work->v, w);
  return flag;
}
