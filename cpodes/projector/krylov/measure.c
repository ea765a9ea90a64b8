/* Sizes of the rows (guide, P3), without the entries of G: from the user's diagonal of G D G^T, or
 * as the mean of the squares of G v over some pseudo-random v with E v v^T = W^-2. */
#include "krylov_impl.h"

#include <float.h>
#include <math.h>

/* Directions for the estimate of a row's size: good to a quarter of it, whatever the number of
 * rows; one is enough to tell rows without gradient. */
#define DIRECTIONS 8
/* E u^2 for u of cpKrylovRandom, uniform in +-[0.5, 1). */
#define SECOND_MOMENT (7.0 / 12.0)
/* Residual that a row without any gradient may have. */
#define ZERO_ROW_RESIDUAL 1.0e-12
/* Part of its row's size below which a coefficient counts as roundoff: where zero is meant, users
 * compute cos(pi/2). */
#define ENTRY_ROUNDOFF 1.0e-10

/* Over which components the squares of a row are summed up, and in which metric. */
typedef enum { IN_METRIC, IN_WEIGHTS, IN_WEIGHTS_OVER_ALL } Measure;

/* D <- its diagonal on level l: that of the norm, or W^-2, on the free columns or on all. */
static void diagonal(CPWork work, int l, Measure measure, N_Vector D) {
  const CPKrylov k = work->krylov;
  if (measure == IN_METRIC) {
    N_VScale(1.0, k->D[l], D);
    return;
  }
  N_VConst(1.0, D);
  if (measure == IN_WEIGHTS) N_VCompare(DBL_MIN, k->D[l], D); /* 1 on the free columns */
  N_VDiv(D, k->w, D);
  N_VDiv(D, k->w, D);
}

/* v <- D^(1/2) u, u pseudo-random */
static void direction(CPWork work, int number, int l, Measure measure, N_Vector v) {
  const CPKrylov k = work->krylov;
  const int unit   = measure == IN_METRIC && work->norm == CP_NORM_L2;
  cpKrylovRandom(work, number, v);
  if (!unit) N_VDiv(v, k->w, v);
  if (measure == IN_WEIGHTS_OVER_ALL) return;
  N_VCompare(DBL_MIN, k->D[l], k->s);
  N_VProd(v, k->s, v);
}

/* q <- q o q / count on the rows of level l (or all), added to sum */
static void addSquare(CPWork work, int l, Measure measure, double count, N_Vector sum) {
  const CPKrylov k = work->krylov;
  if (measure != IN_WEIGHTS_OVER_ALL) N_VProd(k->q, k->rows[l], k->q);
  N_VProd(k->q, k->q, k->q);
  N_VLinearSum(1.0, sum, 1.0 / count, k->q, sum);
}

static int estimateSquares(CPWork work, int l, Measure measure, int directions, N_Vector sum) {
  const CPKrylov k = work->krylov;
  for (int i = 0; i < directions; i++) {
    direction(work, i, l, measure, k->d);
    const int flag = cpKrylovTimesChecked(work, k->d, k->q);
    if (flag) return flag;
    addSquare(work, l, measure, SECOND_MOMENT * directions, sum);
  }
  return CP_SUCCESS;
}

/* sum += diag(G D G^T) on the rows of level l (or all) */
static int addSquares(CPWork work, int l, Measure measure, int directions, N_Vector sum) {
  const CPKrylov k = work->krylov;
  if (!work->P->schurdiag) return estimateSquares(work, l, measure, directions, sum);
  diagonal(work, l, measure, k->d);
  const int flag = cpKrylovSchurDiag(work, k->d, k->q);
  if (flag) return flag;
  if (measure != IN_WEIGHTS_OVER_ALL) N_VProd(k->q, k->rows[l], k->q);
  N_VLinearSum(1.0, sum, 1.0, k->q, sum);
  return CP_SUCCESS;
}

/* Rows that are switched on, but that no free component can change. They leave the masks. */
static void findDead(CPWork work, N_Vector squares) {
  const CPKrylov k = work->krylov;
  N_Vector alive   = k->z;
  N_VCompare(DBL_MIN, squares, alive);
  N_VConst(0.0, k->dead);
  for (int l = 0; l < k->nlevels; l++) {
    N_VLinearSum(1.0, k->dead, 1.0, k->rows[l], k->dead);
    N_VProd(k->rows[l], alive, k->rows[l]);
  }
  N_VLinearSum(1.0, k->dead, -1.0, alive, k->dead);
  k->has_dead = N_VMaxNorm(k->dead) > 0.0;
  k->masked   = k->nlevels > 1 || N_VMin(alive) == 0.0;
}

/* squares of the dead rows <- those over all components, or ZERO_ROW_RESIDUAL^2 if these are zero,
 * too */
static int measureDead(CPWork work, int directions, N_Vector squares) {
  const CPKrylov k = work->krylov;
  N_Vector zero    = k->Bq;
  N_VConst(0.0, k->z);
  const int flag = addSquares(work, 0, IN_WEIGHTS_OVER_ALL, directions, k->z);
  if (flag) return flag;
  N_VProd(k->z, k->dead, k->z);
  N_VLinearSum(1.0, squares, 1.0, k->z, squares);
  N_VCompare(DBL_MIN, k->z, zero); /* 1: has some gradient */
  N_VLinearSum(1.0, k->dead, -1.0, zero, zero);
  N_VLinearSum(1.0, squares, ZERO_ROW_RESIDUAL * ZERO_ROW_RESIDUAL, zero, squares);
  return CP_SUCCESS;
}

/* out <- 1 / squares on the rows that are switched on, else 0 */
static void invert(const CPWork work, N_Vector squares, N_Vector out) {
  const CPKrylov k = work->krylov;
  N_Vector on      = k->Bq;
  N_VScale(1.0, k->dead, on);
  for (int l = 0; l < k->nlevels; l++) N_VLinearSum(1.0, on, 1.0, k->rows[l], on);
  N_VScale(-1.0, on, out);
  N_VAddConst(out, 1.0, out);
  N_VLinearSum(1.0, squares, 1.0, out, out); /* squares, which are 0 where switched off: 1 there */
  N_VDiv(on, out, out);
}

/* k->jacobi: 1 / diag(G D G^T). squares: in the weights. */
static int jacobi(CPWork work, int directions, N_Vector squares) {
  const CPKrylov k = work->krylov;
  CPProjector P    = work->P;
  if (work->norm == CP_NORM_L2 && cpHasDiagonalMetric(P)) {
    N_VScale(1.0, k->dead, squares);
    for (int l = 0; l < k->nlevels; l++) {
      const int flag = addSquares(work, l, IN_METRIC, directions, squares);
      if (flag) return flag;
    }
  }
  invert(work, squares, k->jacobi);
  return CP_SUCCESS;
}

/* Can sizes be estimated? Some rows' sizes are needed, or rows without gradient should be found. */
static int canEstimate(CPWork work) { return cpKrylovRandom(work, 0, work->krylov->d); }

static int refuse(CPWork work) {
  return cpReason(work->text, CP_NOT_SUPPORTED,
                  "these vectors give no access to their data, so the constraints' sizes cannot be "
                  "estimated: CPProjectorSetConstraintTol or CPProjectorSetSchurDiag is needed");
}

/* weight and distance, from the rows' squares in the weights */
static void setWeights(CPWork work, int squares_are_good, N_Vector squares) {
  const CPKrylov k = work->krylov;
  invert(work, squares, k->distance);
  N_VScale(1.0, k->distance, k->weight);
  if (!work->P->ctol) return;
  N_VProd(work->P->ctol, work->P->ctol, k->m2);
  N_VDiv(k->Bq, k->m2, k->weight); /* Bq: the rows that are switched on */
  if (!squares_are_good) N_VScale(1.0, k->weight, k->distance);
}

int cpKrylovMeasure(CPWork work) {
  const CPKrylov k     = work->krylov;
  CPProjector P        = work->P;
  N_Vector squares     = k->m1;
  const int directions = P->ctol && P->psolve ? 1 : DIRECTIONS;
  const int known      = P->schurdiag || canEstimate(work);
  int flag             = CP_SUCCESS;
  if (!known && !P->ctol) return refuse(work);
  N_VConst(0.0, squares);
  for (int l = 0; !flag && l < k->nlevels; l++) {
    if (known) flag = addSquares(work, l, IN_WEIGHTS, directions, squares);
    else N_VLinearSum(1.0, squares, 1.0, k->rows[l], squares); /* none is without gradient */
  }
  if (flag) return flag;
  findDead(work, squares);
  if (k->has_dead) flag = measureDead(work, directions, squares);
  if (flag) return flag;
  setWeights(work, P->schurdiag || (known && directions > 1), squares);
  if (P->psolve) return CP_SUCCESS;
  if (known) return jacobi(work, directions, squares);
  N_VScale(1.0, k->weight, k->jacobi);
  return CP_SUCCESS;
}

int cpKrylovCheckLevels(CPWork work) {
  const CPKrylov k = work->krylov;
  for (int l = 1; l < k->nlevels; l++) {
    direction(work, l, l, IN_WEIGHTS, k->d);
    const int flag = cpKrylovTimesChecked(work, k->d, k->q);
    if (flag) return flag;
    for (int lower = 0; lower < l; lower++) {
      N_VProd(k->q, k->rows[lower], k->z);
      if (cpKrylovNorm(work, k->distance, k->z) > ENTRY_ROUNDOFF)
        return cpReason(work->text, CP_ILL_INPUT,
                        "at t = %.15g: a constraint of level %d depends on components of level %d "
                        "(CPProjectorSetLevels)",
                        k->t, lower, l);
    }
  }
  return CP_SUCCESS;
}

/* ---- violation ---- */

double cpKrylovNorm(CPWork work, N_Vector weight, N_Vector c) {
  const CPKrylov k = work->krylov;
  N_VProd(c, weight, k->m2);
  N_VProd(c, k->m2, k->m2);
  return sqrt(N_VMaxNorm(k->m2));
}

/* Index of the largest entry of x, if this process holds it. */
static int indexOf(N_Vector x, double largest) {
  const sunindextype length = cpLocalLength(x);
  const sunrealtype *entry  = length > 0 ? N_VGetArrayPointer(x) : NULL;
  for (sunindextype i = 0; entry && i < length; i++)
    if (fabs(entry[i]) == largest) return (int)i;
  return -1;
}

/* A row that no component can move is satisfied within one tolerance: no correction can do better.
 */
void cpKrylovSquares(CPWork work, N_Vector c, N_Vector squares) {
  const CPKrylov k = work->krylov;
  N_VProd(c, k->weight, squares);
  N_VProd(c, squares, squares);
  if (!k->has_dead) return;
  N_VCompare(1.0 + 4.0 * CP_UROUND, squares, k->m1); /* 1: above one tolerance */
  N_VAddConst(k->m1, -1.0, k->m1);
  N_VProd(k->m1, k->dead, k->m1); /* -1: dead and within */
  N_VAddConst(k->m1, 1.0, k->m1);
  N_VProd(k->m1, squares, squares);
}

double cpKrylovViolation(CPWork work, N_Vector c, int *worst) {
  const CPKrylov k = work->krylov;
  cpKrylovSquares(work, c, k->m2);
  const double largest = N_VMaxNorm(k->m2);
  *worst               = indexOf(k->m2, largest);
  return sqrt(largest);
}

double cpKrylovWorstResidual(CPWork work, N_Vector c, int i) {
  const CPKrylov k = work->krylov;
  N_VProd(c, k->weight, k->m2);
  N_VProd(c, k->m2, k->m2);
  const double largest = N_VMaxNorm(k->m2);
  N_VCompare(largest, k->m2, k->m1);
  N_VProd(c, k->m1, k->m1);
  const double size = N_VMaxNorm(k->m1); /* of all processes */
  return i >= 0 ? N_VGetArrayPointer(c)[i] : size;
}
