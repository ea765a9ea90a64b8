/* Sizes of the rows (guide, P3), without the entries of G: from the user's diagonal of G D G^T, or as the
 * mean of the squares of G v over some pseudo-random v with E v v^T = W^-2. */
#include "krylov_impl.h"

#include <float.h>
#include <math.h>

/* Directions for the estimate of a row's size: good to a quarter of it, whatever the number of rows; for
 * telling rows without gradient one is enough. */
#define DIRECTIONS 8
/* E u^2 for u of cpKrylovRandom, uniform in +-[0.5, 1). */
#define SECOND_MOMENT (7.0 / 12.0)
/* Residual that a row without any gradient may have. */
#define ZERO_ROW_RESIDUAL 1.0e-12
/* Part of its row's size below which a coefficient counts as roundoff: where zero is meant, users
 * compute cos(pi/2). */
#define ENTRY_ROUNDOFF 1.0e-10

/* v <- u / w on the free columns of level l, u pseudo-random; with l = -1 on all */
static int unitVector(CPWork work, int number, int l, N_Vector v) {
  const CPKrylov k    = work->krylov;
  const int available = cpKrylovRandom(work, number, v);
  N_VDiv(v, k->w, v);
  if (l < 0) return available;
  N_VCompare(DBL_MIN, k->D[l], k->s); /* 1 on the free columns */
  N_VProd(v, k->s, v);
  return available;
}

/* D o w o w of level l: what measures in the metric of the tolerances. */
static void toleranceMetric(CPWork work, int l, N_Vector D) {
  const CPKrylov k = work->krylov;
  N_VConst(1.0, D);
  N_VDiv(D, k->w, D);
  N_VDiv(D, k->w, D);
  if (l < 0) return;
  N_VCompare(DBL_MIN, k->D[l], k->s);
  N_VProd(D, k->s, D);
}

/* sum += diag(G W^-2 G^T) on the rows of level l and over its free columns (l = -1: all and all) */
static int addSquares(CPWork work, int l, int directions, N_Vector sum) {
  const CPKrylov k = work->krylov;
  int flag         = CP_SUCCESS;
  if (work->P->schurdiag) {
    toleranceMetric(work, l, k->d);
    flag = cpKrylovSchurDiag(work, k->d, k->q);
    if (l >= 0) N_VProd(k->q, k->rows[l], k->q);
    if (!flag) N_VLinearSum(1.0, sum, 1.0, k->q, sum);
    return flag;
  }
  for (int i = 0; !flag && i < directions; i++) {
    unitVector(work, i, l, k->d);
    flag = cpKrylovTimes(work, k->t, k->y, k->d, k->q);
    if (flag) return flag;
    if (!cpVectorFinite(k->q))
      return cpReason(work->text, -CP_CNSTRJAC_NONFINITE,
                      "at t = %.15g: the product G v has a NaN or Inf", k->t);
    if (l >= 0) N_VProd(k->q, k->rows[l], k->q);
    N_VProd(k->q, k->q, k->q);
    N_VLinearSum(1.0, sum, 1.0 / (SECOND_MOMENT * directions), k->q, sum);
  }
  return flag;
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

/* squares of the dead rows <- those over all components, or ZERO_ROW_RESIDUAL^2 if these are zero, too */
static int measureDead(CPWork work, int directions, N_Vector squares) {
  const CPKrylov k = work->krylov;
  N_Vector zero    = k->Bq;
  N_VConst(0.0, k->z);
  const int flag = addSquares(work, -1, directions, k->z);
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

/* k->jacobi: 1 / diag(G D G^T) where the user's function gives it; else the rows' own units. */
static int jacobi(CPWork work, N_Vector squares) {
  const CPKrylov k = work->krylov;
  CPProjector P    = work->P;
  const int known  = P->schurdiag && !P->metric && !P->metric_matrix && !P->psolve;
  if (!known) {
    N_VScale(1.0, k->weight, k->jacobi);
    return CP_SUCCESS;
  }
  if (P->norm == CP_NORM_L2) { /* squares are those in the weights */
    N_VScale(1.0, k->dead, squares);
    for (int l = 0; l < k->nlevels; l++) {
      const int flag = cpKrylovSchurDiag(work, k->D[l], k->q);
      if (flag) return flag;
      N_VProd(k->q, k->rows[l], k->q);
      N_VLinearSum(1.0, squares, 1.0, k->q, squares);
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

int cpKrylovMeasure(CPWork work) {
  const CPKrylov k     = work->krylov;
  CPProjector P        = work->P;
  N_Vector squares     = k->m1;
  const int directions = P->ctol ? 1 : DIRECTIONS, known = P->schurdiag || canEstimate(work);
  int flag = CP_SUCCESS;
  if (!known && !P->ctol) return refuse(work);
  N_VConst(known ? 0.0 : 1.0, squares);
  for (int l = 0; known && !flag && l < k->nlevels; l++)
    flag = addSquares(work, l, directions, squares);
  if (flag) return flag;
  findDead(work, squares);
  if (k->has_dead) flag = measureDead(work, directions, squares);
  if (flag) return flag;
  invert(work, squares, k->weight);
  N_VScale(1.0, k->weight, k->distance);
  if (P->ctol) {
    N_VProd(P->ctol, P->ctol, k->m2);
    N_VDiv(k->Bq, k->m2, k->weight); /* Bq: the rows that are switched on */
    if (!P->schurdiag) N_VScale(1.0, k->weight, k->distance);
  }
  return jacobi(work, squares);
}

int cpKrylovCheckLevels(CPWork work) {
  const CPKrylov k = work->krylov;
  for (int l = 1; l < k->nlevels; l++) {
    unitVector(work, l, l, k->d);
    const int flag = cpKrylovTimes(work, k->t, k->y, k->d, k->q);
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

/* A row that no component can move is satisfied within one tolerance: no correction can do better. */
double cpKrylovViolation(CPWork work, N_Vector c, int *worst) {
  const CPKrylov k = work->krylov;
  N_VProd(c, k->weight, k->m2);
  N_VProd(c, k->m2, k->m2); /* squares of the violations */
  if (k->has_dead) {
    N_VCompare(1.0 + 4.0 * CP_UROUND, k->m2, k->m1); /* 1: above one tolerance */
    N_VAddConst(k->m1, -1.0, k->m1);
    N_VProd(k->m1, k->dead, k->m1); /* -1: dead and within */
    N_VAddConst(k->m1, 1.0, k->m1);
    N_VProd(k->m1, k->m2, k->m2);
  }
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
