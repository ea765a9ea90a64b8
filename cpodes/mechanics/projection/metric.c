/* The metric of a mechanical system's projections. */
#include "space.h"

#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

/* ---- what the projectors call ---- */

static int massMatrix(sunrealtype t, N_Vector xv, SUNMatrix M, void *data) {
  const CPMech mech = ((const CPMechLevel *)data)->mech;
  const double *q;
  int flag = cpMechSpacePlace(mech, N_VGetArrayPointer(xv), &q);
  if (!flag) flag = cpMechMass(mech, t, q);
  sunrealtype *out = cpMatrixData(M), *from = flag ? NULL : cpMatrixData(mech->userM.S);
  const size_t entries = cpMatrixEntries(M);
  for (size_t k = 0; !flag && k < entries; k++) out[k] = from[k];
  return cpMechSpaceAnswer(mech, flag);
}

static int newtonMatrix(sunrealtype t, N_Vector xv, SUNMatrix W, void *data) {
  const CPMech mech   = ((const CPMechLevel *)data)->mech;
  const CPMechSpace s = mech->space;
  cpMatZero(&s->W);
  if (s->use_mass || cpMechNewtonMetric(mech, &s->W)) { /* W's pattern contains that of M */
    const double *q;
    int flag = cpMechSpacePlace(mech, N_VGetArrayPointer(xv), &q);
    if (!flag) flag = cpMechMass(mech, t, q);
    if (flag) return cpMechSpaceAnswer(mech, flag);
    cpMatAdd(&s->W, 1.0, &mech->userM.A);
  }
  memcpy(cpMatrixData(W), s->W.value, cpMatEntries(&s->W) * sizeof(double));
  return CP_SUCCESS;
}

static int massInverse(sunrealtype t, N_Vector xv, N_Vector fv, N_Vector Df, void *data) {
  const CPMech mech = ((const CPMechLevel *)data)->mech;
  const double *q;
  int flag = cpMechSpacePlace(mech, N_VGetArrayPointer(xv), &q);
  if (!flag)
    flag = cpMechOperator(mech, mech->model.Minv, "Minv", t, q, N_VGetArrayPointer(fv),
                          N_VGetArrayPointer(Df), mech->nu);
  return cpMechSpaceAnswer(mech, flag);
}

/* ---- the choice ---- */

static SUNMatrix templateOf(const CPMat *W, SUNContext ctx) {
  if (!W->start) return SUNDenseMatrix(W->rows, W->cols, ctx);
  const size_t entries = cpMatEntries(W);
  SUNMatrix S          = SUNSparseMatrix(W->rows, W->cols, (sunindextype)entries, CSC_MAT, ctx);
  if (!S) return NULL;
  for (int j = 0; j <= W->cols; j++)
    SUNSparseMatrix_IndexPointers(S)[j] = (sunindextype)W->start[j];
  for (size_t k = 0; k < entries; k++) SUNSparseMatrix_IndexValues(S)[k] = W->row[k];
  return S;
}

static int setMatrix(CPMechLevel *level, CPMetricMatrixFn fn, SUNMatrix tmpl) {
  return level->P ? CPProjectorSetMetricMatrix(level->P, fn, tmpl) : CP_SUCCESS;
}

static int kineticMetric(CPMech mech) {
  int flag = CP_SUCCESS;
  for (int which = 0; !flag && which < 2; which++) {
    CPMechLevel *level = &mech->space->level[which];
    if (mech->operators) flag = level->P ? CPProjectorSetMetric(level->P, massInverse) : CP_SUCCESS;
    else flag = setMatrix(level, massMatrix, mech->userM.tmpl ? mech->userM.tmpl : mech->userM.S);
  }
  return flag;
}

static int newtonMetric(CPMech mech) {
  cpMatFree(&mech->space->W);
  if (!mech->newton) return kineticMetric(mech); /* until there is a matrix */
  int flag    = cpMechNewtonPattern(mech, &mech->space->W);
  SUNMatrix S = flag ? NULL : templateOf(&mech->space->W, mech->ctx);
  if (!S) return CP_MEM_FAIL;
  for (int which = 0; !flag && which < 2; which++)
    flag = setMatrix(&mech->space->level[which], newtonMatrix, S);
  SUNMatDestroy(S);
  return flag;
}

static int diagonalMetric(CPMech mech, CPNorm norm) {
  int flag = CP_SUCCESS;
  for (int which = 0; !flag && which < 2; which++) {
    CPProjector P = mech->space->level[which].P;
    if (!P) continue;
    flag = CPProjectorSetMetricMatrix(P, NULL, NULL);
    if (!flag) flag = CPProjectorSetMetric(P, NULL);
    if (!flag) flag = CPProjectorSetNorm(P, norm);
  }
  return flag;
}

/* Measured on the pendulum, the slider-crank, the car axis and Andrews' mechanism
 * (bench/metrics.c): of BDF's steps with ERROR it takes 0.78 to 1.02 with NEWTON, 0.76 to 1.02 with
 * KINETIC, 0.79 to 1.02 with L2, of Adams' 0.94 to 1.02 with KINETIC; errors are smaller with BDF (in
 * the mean 0.74 and 0.65) and the same but for scatter with Adams; where stiffness acts along the
 * normals only NEWTON beats no projection. With sparse matrices, whose factorisation costs little
 * more than a projection, a second one in each step that renews Newton's matrix makes steps dearer by
 * half (stiff chain of 1,000). */
static CPMechMetric defaultMetric(const CPMech mech) {
  if (mech->operators || mech->space->not_definite) return CP_METRIC_ERROR;
  if (mech->userM.A.start || mech->stats.newton != CP_NEWTON_KKT) return CP_METRIC_KINETIC;
  return CP_METRIC_NEWTON;
}

/* Products with operators are taken at the state that a work keeps, and positions and velocities
 * keep different ones; there are no factors to share. */
static int canShare(const CPMech mech, CPMechMetric metric) {
  const CPMechSpace s = mech->space;
  return metric != CP_METRIC_ERROR && !mech->operators && s->level[0].nrows == s->level[1].nrows;
}

static int setMetric(CPMech mech, CPMechMetric metric) {
  mech->space->metric = metric;
  mech->space->shared = canShare(mech, metric);
  switch (metric) {
  case CP_METRIC_KINETIC: return kineticMetric(mech);
  case CP_METRIC_NEWTON: return newtonMetric(mech);
  default: return diagonalMetric(mech, metric == CP_METRIC_L2 ? CP_NORM_L2 : CP_NORM_ERROR);
  }
}

/* Where there is no memory for a matrix, the metric is the one that needs none. */
int cpMechSpaceMetric(CPMech mech) {
  const int flag =
      setMetric(mech, mech->metric == CP_METRIC_DEFAULT ? defaultMetric(mech) : mech->metric);
  if (flag) setMetric(mech, CP_METRIC_ERROR);
  return flag;
}
