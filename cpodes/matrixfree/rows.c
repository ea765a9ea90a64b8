/* Sizes and violations of the rows without the entries of G, and checks of the products. The sizes
 * (guide, P3) come from the user's diagonal of G D G^T, or are estimated as the mean of the squares
 * of G v over some pseudo-random v with E v v^T = W^-2. The checks: is G v the derivative of c, and
 * is G^T w the transpose of G v? */
#include "matrixfree_impl.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* ---- pseudo-random vectors ---- */

/* A seed. If vectors are distributed, it is the hash of the first state (FNV-1a): the same in each
 * run, but different on each process, since equal directions might cancel in a constraint between
 * two processes. */
static unsigned seedOf(N_Vector y) {
  const sunindextype length = cpHasData(y) ? 0 : cpLocalLength(y);
  const sunrealtype *entry  = length > 0 ? N_VGetArrayPointer(y) : NULL;
  uint32_t hash             = 2166136261u;
  for (sunindextype j = 0; j < length; j++) {
    unsigned char bytes[sizeof entry[j]];
    memcpy(bytes, &entry[j], sizeof bytes);
    for (size_t b = 0; b < sizeof bytes; b++) hash = (hash ^ bytes[b]) * 16777619u;
  }
  return hash ? hash : 1u;
}

/* v_j <- pseudo-random numbers in +-[0.5, 1), the same for the same `number`. Returns 0, and sets
 * all entries to 1, if v gives no access to its data. */
static int randomise(CPMatrixFree k, int number, N_Vector v) {
  const sunindextype length = cpLocalLength(v);
  if (length < 0) {
    N_VConst(1.0, v);
    return 0;
  }
  if (k->seed == 0) k->seed = seedOf(k->y);
  unsigned state     = k->seed + 7919u * (unsigned)number;
  sunrealtype *entry = N_VGetArrayPointer(v);
  for (int i = 0; i < 4; i++) cpUniform(&state); /* separates it from neighbouring seeds */
  for (sunindextype j = 0; j < length; j++) entry[j] = cpUniformAwayFromZero(&state);
  return 1;
}

/* ---- sizes ---- */

/* Metric and components of the sum of squares of a row. */
typedef enum { IN_METRIC, IN_WEIGHTS, IN_WEIGHTS_OVER_ALL } Measure;

/* v <- D^(1/2) u with a pseudo-random u */
static void direction(CPMatrixFree k, int number, int l, Measure measure, N_Vector v) {
  const int unit = measure == IN_METRIC && k->work->norm == CP_NORM_L2;
  randomise(k, number, v);
  if (!unit) N_VDiv(v, k->w, v);
  if (measure == IN_WEIGHTS_OVER_ALL) return;
  N_VCompare(DBL_MIN, k->level[l].D, k->s);
  N_VProd(v, k->s, v);
}

/* sum += diag(G D G^T) on the rows of level l (or all), by the user's function or as the mean of (G
 * v)^2 over some v. D is that of the norm, or W^-2, on the level's free columns, or W^-2 on all
 * columns. */
static int addSquares(CPMatrixFree k, int l, Measure measure, int directions, N_Vector sum) {
  const int exact = k->given->diag != NULL;
  for (int i = 0; i < (exact ? 1 : directions); i++) {
    if (!exact) direction(k, i, l, measure, k->d);
    else if (measure == IN_METRIC) N_VScale(1.0, k->level[l].D, k->d);
    else {
      N_VConst(1.0, k->d);
      if (measure == IN_WEIGHTS) N_VCompare(DBL_MIN, k->level[l].D, k->d); /* 1: a free column */
      N_VDiv(k->d, k->w, k->d);
      N_VDiv(k->d, k->w, k->d);
    }
    const int flag = exact ? cpFreeSchurDiag(k, k->d, k->q) : cpFreeTimes(k, k->d, k->q);
    if (flag) return flag;
    if (measure != IN_WEIGHTS_OVER_ALL) N_VProd(k->q, k->level[l].rows, k->q);
    if (!exact) N_VProd(k->q, k->q, k->q);
    N_VLinearSum(1.0, sum, exact ? 1.0 : 1.0 / (CP_SECOND_MOMENT * directions), k->q, sum);
  }
  return CP_SUCCESS;
}

/* Finds rows that are switched on, but that no free component can change. They are removed from the
 * masks, and their squares become those over all components, or CP_ROUNDED^2 if these are
 * zero, too. */
static int findDead(CPMatrixFree k, int directions, N_Vector squares) {
  N_Vector alive = k->z, zero = k->Bq;
  N_VCompare(DBL_MIN, squares, alive);
  N_VConst(0.0, k->dead);
  for (int l = 0; l < k->nlevels; l++) {
    N_VLinearSum(1.0, k->dead, 1.0, k->level[l].rows, k->dead);
    N_VProd(k->level[l].rows, alive, k->level[l].rows);
  }
  N_VLinearSum(1.0, k->dead, -1.0, alive, k->dead);
  k->has_dead = N_VMaxNorm(k->dead) > 0.0;
  k->masked   = k->nlevels > 1 || N_VMin(alive) == 0.0;
  if (!k->has_dead) return CP_SUCCESS;
  N_VConst(0.0, k->z);
  const int flag = addSquares(k, 0, IN_WEIGHTS_OVER_ALL, directions, k->z);
  if (flag) return flag;
  N_VProd(k->z, k->dead, k->z);
  N_VLinearSum(1.0, squares, 1.0, k->z, squares);
  N_VCompare(DBL_MIN, k->z, zero); /* 1: has a gradient over all components */
  N_VLinearSum(1.0, k->dead, -1.0, zero, zero);
  N_VLinearSum(1.0, squares, CP_ROUNDED * CP_ROUNDED, zero, squares);
  return CP_SUCCESS;
}

/* out <- 1 / squares on the rows that are switched on, else 0 */
static void invert(const CPMatrixFree k, N_Vector squares, N_Vector out) {
  N_Vector on = k->Bq;
  N_VScale(1.0, k->dead, on);
  for (int l = 0; l < k->nlevels; l++) N_VLinearSum(1.0, on, 1.0, k->level[l].rows, on);
  N_VScale(-1.0, on, out);
  N_VAddConst(out, 1.0, out);
  N_VLinearSum(1.0, squares, 1.0, out, out); /* squares + 1 - on: squares are 0 where on is */
  N_VDiv(on, out, out);
}

int cpFreeMeasure(CPMatrixFree k) {
  CPProjector P        = k->work->P;
  N_Vector squares     = k->m1;
  const int directions = P->ctol && k->given->psolve ? 1 : CP_SIZE_DIRECTIONS;
  const int known      = k->given->diag || randomise(k, 0, k->d);
  int flag             = CP_SUCCESS;
  if (!known && !P->ctol)
    return cpReason(
        k->work->text, CP_NOT_SUPPORTED,
        "these vectors give no access to their data, so the constraints' sizes cannot "
        "be estimated: CPProjectorSetConstraintTol or CPProjectorSetSchurDiag is needed");
  N_VConst(0.0, squares);
  for (int l = 0; !flag && l < k->nlevels; l++) {
    if (known) flag = addSquares(k, l, IN_WEIGHTS, directions, squares);
    else N_VLinearSum(1.0, squares, 1.0, k->level[l].rows, squares); /* all have a gradient */
  }
  if (flag) return flag;
  flag = findDead(k, directions, squares);
  if (flag) return flag;
  invert(k, squares, k->distance);
  N_VScale(1.0, k->distance, k->weight);
  if (P->ctol) {
    N_VProd(P->ctol, P->ctol, k->m2);
    N_VDiv(k->Bq, k->m2, k->weight); /* Bq: the rows that are switched on */
    const int squares_are_good = k->given->diag || (known && directions > 1);
    if (!squares_are_good) N_VScale(1.0, k->weight, k->distance);
  }
  if (k->given->psolve) return CP_SUCCESS;
  if (!known) { /* without the user's preconditioner: 1 / diag(G D G^T), if it is known */
    N_VScale(1.0, k->weight, k->jacobi);
    return CP_SUCCESS;
  }
  const int in_weights = k->work->norm != CP_NORM_L2 || k->given->metric;
  if (!in_weights) N_VScale(1.0, k->dead, squares);
  for (int l = 0; !in_weights && !flag && l < k->nlevels; l++)
    flag = addSquares(k, l, IN_METRIC, directions, squares);
  if (!flag) invert(k, squares, k->jacobi);
  return flag;
}

int cpFreeCheckLevels(CPMatrixFree k) {
  for (int l = 1; l < k->nlevels; l++) {
    direction(k, l, l, IN_WEIGHTS, k->d);
    const int flag = cpFreeTimes(k, k->d, k->q);
    if (flag) return flag;
    for (int lower = 0; lower < l; lower++) {
      N_VProd(k->q, k->level[lower].rows, k->z);
      if (cpKrylovNorm(k->distance, k->z, k->m2) > CP_ROUNDED)
        return cpReason(k->work->text, CP_ILL_INPUT,
                        "at t = %.10g: a constraint of level %d depends on components of level %d "
                        "(CPProjectorSetLevels)",
                        k->t, lower, l);
    }
  }
  return CP_SUCCESS;
}

/* ---- violation ---- */

/* A row that no component can move counts as satisfied within one tolerance, because no correction
 * can do better. */
void cpFreeSquares(CPMatrixFree k, N_Vector c, N_Vector squares) {
  N_VProd(c, k->weight, squares);
  N_VProd(c, squares, squares);
  if (!k->has_dead) return;
  N_VCompare(1.0 + 4.0 * CP_UROUND, squares, k->m1); /* 1: above one tolerance */
  N_VAddConst(k->m1, -1.0, k->m1);
  N_VProd(k->m1, k->dead, k->m1); /* -1: dead, and within one tolerance */
  N_VAddConst(k->m1, 1.0, k->m1);
  N_VProd(k->m1, squares, squares);
}

double cpFreeViolation(CPMatrixFree k, N_Vector c, int *worst) {
  cpFreeSquares(k, c, k->m2);
  const double largest      = N_VMaxNorm(k->m2);
  const sunindextype length = cpLocalLength(k->m2);
  const sunrealtype *entry  = length > 0 ? N_VGetArrayPointer(k->m2) : NULL;
  *worst                    = -1; /* if another process holds the largest entry */
  for (sunindextype i = 0; entry && i < length && *worst < 0; i++)
    if (fabs(entry[i]) == largest) *worst = (int)i;
  return sqrt(largest);
}

double cpFreeWorstResidual(CPMatrixFree k, N_Vector c, int i) {
  N_VProd(c, k->weight, k->m2);
  N_VProd(c, k->m2, k->m2);
  const double largest = N_VMaxNorm(k->m2);
  N_VCompare(largest, k->m2, k->m1);
  N_VProd(c, k->m1, k->m1);
  const double size = N_VMaxNorm(k->m1); /* over all processes */
  return i >= 0 ? N_VGetArrayPointer(c)[i] : size;
}

/* ---- the products ---- */

/* *err <- |(G v, w) - (v, G^T w)| relative to its terms, with v in k->d, G v in k->q, and w such
 * that all rows have the same weight */
static int transposeError(CPMatrixFree k, int number, double *err) {
  const double least = 1.0e-14 * N_VMaxNorm(k->q);
  randomise(k, number, k->z);
  N_VAbs(k->q, k->m1);
  N_VAddConst(k->m1, least > 0.0 ? least : 1.0, k->m1);
  N_VDiv(k->z, k->m1, k->z); /* w */
  const int flag = cpFreeTransposed(k, k->z, k->g);
  if (flag) return flag;
  const double difference = fabs(N_VDotProd(k->q, k->z) - N_VDotProd(k->d, k->g));
  N_VProd(k->q, k->z, k->m1);
  N_VProd(k->d, k->g, k->s);
  const double terms = N_VL1Norm(k->m1) + N_VL1Norm(k->s);
  *err               = terms > 0.0 ? difference / terms : 0.0;
  return CP_SUCCESS;
}

int cpFreeTimeRoundoff(CPMatrixFree k, sunrealtype t, N_Vector y, N_Vector roundoff) {
  const sunrealtype delta = 0.5 * CP_FLOOR_FACTOR * CP_UROUND * fabs(t);
  int flag                = cpUserConstraint(k->work, t + delta, y, roundoff);
  if (!flag) flag = cpUserConstraint(k->work, t - delta, y, k->m1);
  if (!flag) flag = cpUserConstraint(k->work, t, y, k->c2);
  N_VLinearSum(1.0, roundoff, -1.0, k->c2, roundoff);
  N_VLinearSum(1.0, k->c2, -1.0, k->m1, k->m1);
  N_VAbs(roundoff, roundoff);
  N_VAbs(k->m1, k->m1);
  N_VLinearSum(1.0, roundoff, -1.0, k->m1, k->m2); /* 2 min(a, b) = a + b - |a - b| */
  N_VAbs(k->m2, k->m2);
  N_VLinearSum(1.0, roundoff, 1.0, k->m1, roundoff);
  N_VLinearSum(1.0, roundoff, -1.0, k->m2, roundoff);
  return flag;
}

/* k->z <- the error of G v, in k->q, relative to its row and apart from noise, to which k->r is added. k->p <- 1 in
 * rows of which v shows more than noise, and 0 in others. */
static void rowErrors(CPMatrixFree k) {
  N_VLinearSum(1.0, k->q, -1.0, k->Bq, k->z);
  N_VAbs(k->z, k->z);
  N_VAbs(k->q, k->m1);
  N_VAbs(k->Bq, k->m2);
  N_VLinearSum(1.0, k->m1, 1.0, k->m2, k->m1); /* the size of the row's terms */
  N_VAbs(k->c2, k->m2);
  N_VAddConst(k->m2, 1.0, k->m2);
  N_VLinearSum(CP_DIFFERENCE_NOISE * CP_UROUND / CP_WRONG_JACOBIAN, k->m2, 1.0 / CP_WRONG_JACOBIAN,
               k->r, k->m2); /* the size that noise hides */
  N_VDiv(k->m1, k->m2, k->p);
  N_VCompare(1.0, k->p, k->p);
  N_VLinearSum(1.0, k->m1, 1.0, k->m2, k->m1);
  N_VDiv(k->z, k->m1, k->z);
}

/* k->Bq <- (c(t, y + v) - c(t, y - v)) / 2, and k->c2 <- c(t, y - v), with v in k->d */
static int differenceAlong(CPMatrixFree k, sunrealtype t, N_Vector y) {
  N_VLinearSum(1.0, y, 1.0, k->d, k->work->v);
  int flag = cpUserConstraint(k->work, t, k->work->v, k->Bq);
  N_VLinearSum(1.0, y, -1.0, k->d, k->work->v);
  if (!flag) flag = cpUserConstraint(k->work, t, k->work->v, k->c2);
  N_VLinearSum(0.5, k->Bq, -0.5, k->c2, k->Bq);
  return flag;
}

/* Both errors along one pair of directions. k->d: v = u h max(|y|, typical, 1/w), roughly, with a
 * pseudo-random u and the step h of a central difference; k->q <- G v. As in cpDerivativeAlong, an error of
 * a row has to remain with shorter steps. */
static int probeOnce(CPMatrixFree k, sunrealtype t, N_Vector y, int number, double *transpose,
                     double *product) {
  const double h       = cbrt(CP_UROUND);
  const N_Vector least = k->mu; /* errors of the rows */
  randomise(k, number, k->d);
  N_VAbs(y, k->s);
  N_VAddConst(k->s, cpTypicalSize(y), k->s);
  N_VInv(k->w, k->g);
  N_VLinearSum(h, k->s, h, k->g, k->s);
  N_VProd(k->d, k->s, k->d);
  int flag = cpFreeTimes(k, k->d, k->q);
  if (!flag) flag = transposeError(k, number + 1, transpose);
  *product = INFINITY;
  N_VConst(0.0, k->r);
  for (int i = -1; !flag && i <= CP_SHORTENED && *product > CP_INEXACT; i++) {
    if (i == 0) flag = cpFreeTimeRoundoff(k, t, y, k->r);
    if (i > 0) N_VScale(CP_SHORTER, k->d, k->d);
    if (i > 0) N_VScale(CP_SHORTER, k->q, k->q);
    if (!flag) flag = differenceAlong(k, t, y);
    if (flag) return flag;
    rowErrors(k);
    if (i <= 0) N_VScale(1.0, k->z, least);
    else { /* least <- min(least, z) where p is 1: a short step that shows nothing makes no row right */
      N_VLinearSum(1.0, least, -1.0, k->z, k->z);
      N_VAbs(k->z, k->m1);
      N_VLinearSum(0.5, k->z, 0.5, k->m1, k->z);
      N_VProd(k->z, k->p, k->z);
      N_VLinearSum(1.0, least, -1.0, k->z, least);
    }
    *product = N_VMaxNorm(least);
  }
  return flag;
}

int cpFreeProductsWrong(CPMatrixFree k, sunrealtype t, N_Vector y, const char *before) {
  double transpose = 0.0, product = 0.0;
  const N_Vector kept = k->y;
  int flag = CP_SUCCESS, suspicious = 1;
  k->y = y; /* products are taken at y in the meantime */
  for (int number = 10; !flag && suspicious && number <= 12; number += 2) { /* both must fail */
    flag       = probeOnce(k, t, y, number, &transpose, &product);
    suspicious = transpose > CP_INEXACT || product > CP_WRONG_JACOBIAN;
  }
  k->y = kept;
  if (flag || !suspicious)
    return flag < 0 ? flag : CP_SUCCESS; /* > 0: c cannot be evaluated there, nothing to compare */
  if (product > CP_WRONG_JACOBIAN)
    return cpReason(
        k->work->text, -CP_CNSTRJAC_WRONG,
        "at t = %.10g: %sthe product G v is not the derivative of c along v (relative error "
        "%.1e of a constraint, CPProjectorCheckJac)",
        t, before, product);
  return cpReason(
      k->work->text, -CP_CNSTRJAC_WRONG,
      "at t = %.10g: %sthe product G^T w is not the transpose of G v: (G v, w) and (v, G^T "
      "w) differ by %.1e of their terms (CPProjectorCheckJac)",
      t, before, transpose);
}

int cpFreeCheck(void *self, sunrealtype t, N_Vector y, N_Vector ewt, double *err, int *row,
                int *col) {
  const CPMatrixFree k = self;
  double transpose = 0.0, product = 0.0;
  int flag = cpFreePlace(k, t, y, ewt);
  if (!flag) flag = probeOnce(k, t, y, 10, &transpose, &product);
  *err = fmax(transpose, product);
  *row = *col = -1;
  return flag;
}

int cpFreeProbe(void *self, sunrealtype t, N_Vector y, N_Vector ewt) {
  const CPMatrixFree k = self;
  cpNewtonForget(&k->newton);
  const int flag = cpFreePlace(k, t, y, ewt);
  return flag ? flag : cpFreeProductsWrong(k, t, y, "");
}
