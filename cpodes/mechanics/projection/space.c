/* The problems of positions and of velocities (space.h): their residuals, Jacobians and metrics. */
#include "space.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

/* ---- coordinates ---- */

void cpMechSpaceStart(CPMech mech, const double *q, double *x) {
  for (int j = 0; j < mech->nu; j++) x[j] = mech->pair[j] >= 0 ? q[mech->pair[j]] : 0.0;
}

int cpMechSpacePositions(CPMech mech, const double *x) {
  const CPMechSpace s = mech->space;
  double *w           = mech->wspace;
  for (int j = 0; j < mech->nu; j++) w[j] = mech->pair[j] >= 0 ? 0.0 : x[j];
  int flag = cpMechMove(mech, s->q0, w, s->q);
  for (int j = 0; !flag && j < mech->nu; j++)
    if (mech->pair[j] >= 0) s->q[mech->pair[j]] = x[j];
  return flag ? flag : cpMechNormalise(mech, s->t, s->q);
}

/* Length of column j of N in the weights of q. */
static int columnWeight(CPMech mech, const double *q, const double *ewt, int j, double *w) {
  double sum = 0.0, *e = mech->wspace, *column = mech->space->q;
  memset(e, 0, (size_t)mech->nu * sizeof *e);
  e[j]           = 1.0;
  const int flag = cpMechKinematics(mech, q, CP_N, e, column);
  for (int i = 0; !flag && i < mech->nq; i++) sum += (column[i] * ewt[i]) * (column[i] * ewt[i]);
  *w = sqrt(sum);
  return flag;
}

/* Columns of N of a quaternion have length 1/2 each. */
static void quaternionWeights(const CPQuaternion *Q, const double *ewt, double *w) {
  double sum = 0.0;
  for (int k = 0; k < 4; k++) sum += ewt[Q->first_q + k] * ewt[Q->first_q + k];
  for (int k = 0; k < 3; k++) w[Q->first_u + k] = 0.25 * sqrt(sum); /* |e_j ewt| for equal ewt */
}

int cpMechSpaceWeights(CPMech mech, int which, const double *q, const double *ewt, double *w) {
  int flag = CP_SUCCESS;
  if (which == CP_VELOCITIES) {
    memcpy(w, ewt + mech->nq, (size_t)mech->nu * sizeof *w);
    return CP_SUCCESS;
  }
  for (int j = 0; j < mech->nu; j++)
    if (mech->pair[j] >= 0) w[j] = ewt[mech->pair[j]];
  for (int k = 0; k < mech->nquaternions; k++) quaternionWeights(&mech->quaternions[k], ewt, w);
  for (int j = 0; mech->model.N && !flag && j < mech->nu; j++)
    flag = columnWeight(mech, q, ewt, j, &w[j]);
  return flag;
}

/* ---- what the projectors call ---- */

/* A failure keeps its reason in mech->text and its code in mech->space_flag; the projectors hear its
 * sign. */
static int answer(CPMech mech, int flag) {
  if (flag) mech->space_flag = flag;
  return flag;
}

static int residuals(sunrealtype t, N_Vector xv, N_Vector cv, void *data) {
  const CPMechLevel *level = data;
  const CPMech mech        = level->mech;
  const CPMechSpace s      = mech->space;
  const double *x          = N_VGetArrayPointer(xv);
  sunrealtype *c           = N_VGetArrayPointer(cv);
  int flag;
  if (s->which == CP_POSITIONS) {
    flag = cpMechSpacePositions(mech, x);
    if (!flag) flag = cpMechPositions(mech, t, s->q, s->r);
  } else {
    flag = cpMechVelocities(mech, t, s->q0, x, s->r);
  }
  for (int k = 0; !flag && k < level->nrows; k++) c[k] = s->r[level->row[k]];
  return answer(mech, flag);
}

/* q at which A is wanted */
static int place(CPMech mech, const double *x, const double **q) {
  const CPMechSpace s = mech->space;
  *q                  = s->q0;
  if (s->which == CP_VELOCITIES) return CP_SUCCESS;
  *q = s->q;
  return cpMechSpacePositions(mech, x);
}

static int jacobian(sunrealtype t, N_Vector xv, N_Vector c, SUNMatrix G, void *data) {
  const CPMechLevel *level = data;
  const CPMech mech        = level->mech;
  const double *q;
  (void)c;
  int flag = place(mech, N_VGetArrayPointer(xv), &q);
  if (!flag) flag = cpMechA(mech, t, q);
  sunrealtype *g       = cpMatrixData(G);
  const size_t entries = cpMatrixEntries(G);
  for (size_t k = 0; !flag && k < entries; k++) g[k] = mech->A.value[level->place[k]];
  return answer(mech, flag);
}

static int times(sunrealtype t, N_Vector xv, N_Vector vv, N_Vector Gv, void *data) {
  const CPMechLevel *level = data;
  const CPMech mech        = level->mech;
  const double *q;
  int flag = place(mech, N_VGetArrayPointer(xv), &q);
  if (!flag) flag = cpMechATimes(mech, t, q, N_VGetArrayPointer(vv), mech->space->r);
  for (int k = 0; !flag && k < level->nrows; k++)
    N_VGetArrayPointer(Gv)[k] = mech->space->r[level->row[k]];
  return answer(mech, flag);
}

static int transposedTimes(sunrealtype t, N_Vector xv, N_Vector wv, N_Vector GTw, void *data) {
  const CPMechLevel *level = data;
  const CPMech mech        = level->mech;
  double *r                = mech->space->r;
  const double *q;
  int flag = place(mech, N_VGetArrayPointer(xv), &q);
  memset(r, 0, (size_t)mech->m * sizeof *r);
  for (int k = 0; k < level->nrows; k++) r[level->row[k]] = N_VGetArrayPointer(wv)[k];
  if (!flag) flag = cpMechATransposedTimes(mech, t, q, r, N_VGetArrayPointer(GTw));
  return answer(mech, flag);
}

static int massMatrix(sunrealtype t, N_Vector xv, SUNMatrix M, void *data) {
  const CPMech mech = ((const CPMechLevel *)data)->mech;
  const double *q;
  int flag = place(mech, N_VGetArrayPointer(xv), &q);
  if (!flag) flag = cpMechMass(mech, t, q);
  sunrealtype *out = cpMatrixData(M), *from = flag ? NULL : cpMatrixData(mech->userM.S);
  const size_t entries = cpMatrixEntries(M);
  for (size_t k = 0; !flag && k < entries; k++) out[k] = from[k];
  return answer(mech, flag);
}

static int newtonMatrix(sunrealtype t, N_Vector xv, SUNMatrix W, void *data) {
  const CPMech mech   = ((const CPMechLevel *)data)->mech;
  const CPMechSpace s = mech->space;
  cpMatZero(&s->W);
  if (s->use_mass || cpMechNewtonMetric(mech, &s->W)) { /* W's pattern contains that of M */
    const double *q;
    int flag = place(mech, N_VGetArrayPointer(xv), &q);
    if (!flag) flag = cpMechMass(mech, t, q);
    if (flag) return answer(mech, flag);
    cpMatAdd(&s->W, 1.0, &mech->userM.A);
  }
  memcpy(cpMatrixData(W), s->W.value, cpMatEntries(&s->W) * sizeof(double));
  return CP_SUCCESS;
}

static int massInverse(sunrealtype t, N_Vector xv, N_Vector fv, N_Vector Df, void *data) {
  const CPMech mech = ((const CPMechLevel *)data)->mech;
  const double *q;
  int flag  = place(mech, N_VGetArrayPointer(xv), &q);
  double *y = N_VGetArrayPointer(Df);
  if (flag) return answer(mech, flag);
  memset(y, 0, (size_t)mech->nu * sizeof *y);
  flag = mech->model.Minv(t, q, N_VGetArrayPointer(fv), y, mech->user_data);
  flag = cpMechResult(mech, flag, t, "Minv");
  return answer(mech, flag ? flag : cpMechFinite(mech, t, "Minv", y, mech->nu));
}

/* ---- templates ---- */

/* The rows of a level out of A: template of G, and where its entries are in A. */
static SUNMatrix rowsOfA(CPMechLevel *level) {
  const CPMat *A = &level->mech->A;
  int *position  = malloc(((size_t)A->rows + 1) * sizeof *position);
  SUNMatrix G    = NULL;
  level->place   = malloc((cpMatEntries(A) + 1) * sizeof *level->place);
  if (position && level->place)
    G = A->start ? SUNSparseMatrix(level->nrows, A->cols, (sunindextype)cpMatEntries(A), CSC_MAT,
                                   level->mech->ctx)
                 : SUNDenseMatrix(level->nrows, A->cols, level->mech->ctx);
  for (int i = 0; G && i < A->rows; i++) position[i] = -1;
  for (int k = 0; G && k < level->nrows; k++) position[level->row[k]] = k;
  size_t count = 0;
  for (int j = 0; G && j < A->cols; j++) {
    const size_t rows = (size_t)A->rows, first = A->start ? A->start[j] : (size_t)j * rows;
    const size_t last = A->start ? A->start[j + 1] : first + rows;
    for (size_t k = first; k < last; k++) {
      const int i = A->start ? A->row[k] : (int)(k - first);
      if (position[i] < 0) continue;
      if (A->start) SUNSparseMatrix_IndexValues(G)[count] = position[i];
      level->place[count++] = k;
    }
    if (A->start) SUNSparseMatrix_IndexPointers(G)[j + 1] = (sunindextype)count;
  }
  free(position);
  return G;
}

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

/* ---- creation ---- */

static const char *rowName(const CPProjector P, int i, char name[CP_ROW_NAME]) {
  const CPMechLevel *level = P->owner;
  char inner[CP_MECH_ROW_NAME];
  snprintf(name, CP_ROW_NAME, "%s %.40s",
           level->mech->space->which == CP_POSITIONS ? "position" : "velocity",
           cpMechRowName(level->mech, level->row[i], inner));
  return name;
}

static int listRows(CPMechLevel *level) {
  const CPMech mech = level->mech;
  const char *there = level->which == CP_POSITIONS ? mech->at_position : mech->at_velocity;
  level->row        = malloc(((size_t)mech->m + 1) * sizeof *level->row);
  if (!level->row) return CP_MEM_FAIL;
  for (int i = 0; i < mech->m; i++)
    if (there[i]) level->row[level->nrows++] = i;
  return CP_SUCCESS;
}

static int setDerivative(CPMechLevel *level) {
  const CPMech mech = level->mech;
  if (mech->operators) return CPProjectorSetJacTimes(level->P, times, transposedTimes);
  SUNMatrix G = rowsOfA(level);
  if (!G) return CP_MEM_FAIL;
  const int flag = CPProjectorSetJacFn(level->P, jacobian, G);
  SUNMatDestroy(G);
  return flag;
}

/* One level; FULL velocities are held. */
static int setColumns(CPMechLevel *level, N_Vector x) {
  const CPMech mech = level->mech;
  N_Vector rows     = N_VNew_Serial(level->nrows, mech->ctx);
  if (!rows) return CP_MEM_FAIL;
  N_VConst(0.0, rows);
  N_VConst(0.0, x);
  int flag = CPProjectorSetLevels(level->P, rows, x);
  N_VDestroy(rows);
  for (int j = 0; j < mech->nu; j++) N_VGetArrayPointer(x)[j] = !mech->is_full[j];
  if (!flag && mech->nfull > 0) flag = CPProjectorSetFixed(level->P, x);
  return flag;
}

static int createLevel(CPMech mech, int which) {
  CPMechLevel *level = &mech->space->level[which];
  level->mech        = mech;
  level->which       = which;
  int flag           = listRows(level);
  if (flag || level->nrows == 0) return flag;
  N_Vector x = N_VNew_Serial(mech->nu, mech->ctx), c = N_VNew_Serial(level->nrows, mech->ctx);
  if (x && c) level->P = CPProjectorCreate(residuals, x, c, mech->ctx);
  flag = level->P ? CPProjectorSetUserData(level->P, level) : CP_MEM_FAIL;
  if (!flag) {
    level->P->owner    = level;
    level->P->name_row = rowName;
    flag               = setDerivative(level);
  }
  if (!flag) flag = setColumns(level, x);
  if (x) N_VDestroy(x);
  if (c) N_VDestroy(c);
  return flag;
}

int cpMechSpaceCreate(CPMech mech) {
  mech->space = calloc(1, sizeof *mech->space);
  if (!mech->space) return CP_MEM_FAIL;
  mech->space->layout  = -1;
  mech->space->nnewton = -1;
  mech->space->q       = calloc((size_t)mech->nq, sizeof(double));
  mech->space->r       = calloc((size_t)mech->m + 1, sizeof(double));
  int flag             = mech->space->q && mech->space->r ? CP_SUCCESS : CP_MEM_FAIL;
  if (!flag) flag = createLevel(mech, CP_POSITIONS);
  if (!flag) flag = createLevel(mech, CP_VELOCITIES);
  if (!flag) flag = cpMechSpaceMetric(mech);
  return flag ? flag : cpMechSpaceRows(mech);
}

void cpMechSpaceFree(CPMechSpace *address) {
  CPMechSpace s = *address;
  if (!s) return;
  for (int which = 0; which < 2; which++) {
    CPProjectorFree(&s->level[which].P);
    free(s->level[which].row);
    free(s->level[which].place);
  }
  cpMatFree(&s->W);
  free(s->q);
  free(s->r);
  free(s);
  *address = NULL;
}

/* ---- options ---- */

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

/* Measured on the pendulum, the slider-crank, the car axis and Andrews' mechanism (bench/metrics.c):
 * of BDF's steps with ERROR it takes 0.82 to 1.06 with NEWTON, 0.85 to 1.06 with KINETIC, 0.88 to 1.06
 * with L2, of Adams' 0.94 to 1.03 with KINETIC, and errors are smaller, too (in the mean 0.85, Adams 0.6);
 * where stiffness acts along the normals only NEWTON beats no projection. With sparse matrices, whose factorisation
 * costs little more than a projection, a second one in each step that renews Newton's matrix makes
 * steps dearer by half (stiff chain of 1,000). */
static CPMechMetric defaultMetric(const CPMech mech) {
  if (mech->operators || mech->space->not_definite) return CP_METRIC_ERROR;
  if (mech->userM.A.start || mech->stats.newton != CP_NEWTON_KKT) return CP_METRIC_KINETIC;
  return CP_METRIC_NEWTON;
}

/* Products with operators are taken at the state that a work keeps, and positions and velocities keep
 * different ones; there are no factors to share. */
static int canShare(const CPMech mech, CPMechMetric metric) {
  const CPMechSpace s = mech->space;
  return metric != CP_METRIC_ERROR && !mech->operators && s->level[0].nrows == s->level[1].nrows;
}

int cpMechSpaceMetric(CPMech mech) {
  const CPMechSpace s = mech->space;
  s->metric           = mech->metric == CP_METRIC_DEFAULT ? defaultMetric(mech) : mech->metric;
  s->shared           = canShare(mech, s->metric);
  switch (s->metric) {
  case CP_METRIC_KINETIC: return kineticMetric(mech);
  case CP_METRIC_NEWTON: return newtonMetric(mech);
  default: return diagonalMetric(mech, s->metric == CP_METRIC_L2 ? CP_NORM_L2 : CP_NORM_ERROR);
  }
}

int cpMechSpaceRows(CPMech mech) {
  const CPMechSpace s = mech->space;
  int flag            = CP_SUCCESS;
  if (s->layout == mech->layout) return CP_SUCCESS;
  for (int which = 0; !flag && which < 2; which++) {
    CPMechLevel *level = &s->level[which];
    if (level->nrows == 0) continue;
    N_Vector mask = N_VNew_Serial(level->nrows, mech->ctx);
    if (!mask) return CP_MEM_FAIL;
    level->nactive = 0;
    for (int k = 0; k < level->nrows; k++) {
      N_VGetArrayPointer(mask)[k] = !mech->off[level->row[k]];
      level->nactive += !mech->off[level->row[k]];
    }
    if (level->nactive > 0)
      flag = CPProjectorSetActive(level->P, level->nactive < level->nrows ? mask : NULL);
    N_VDestroy(mask);
  }
  if (!flag) s->layout = mech->layout;
  return flag;
}
