/* The problems of positions and of velocities (space.h): their residuals and Jacobians. */
#include "space.h"

#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

/* ---- what the projectors call ---- */

int cpMechSpaceAnswer(CPMech mech, int flag) {
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
  return cpMechSpaceAnswer(mech, flag);
}

int cpMechSpacePlace(CPMech mech, const double *x, const double **q) {
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
  int flag = cpMechSpacePlace(mech, N_VGetArrayPointer(xv), &q);
  if (!flag) flag = cpMechA(mech, t, q);
  sunrealtype *g       = cpMatrixData(G);
  const size_t entries = cpMatrixEntries(G);
  for (size_t k = 0; !flag && k < entries; k++) g[k] = mech->A.value[level->place[k]];
  return cpMechSpaceAnswer(mech, flag);
}

static int times(sunrealtype t, N_Vector xv, N_Vector vv, N_Vector Gv, void *data) {
  const CPMechLevel *level = data;
  const CPMech mech        = level->mech;
  const double *q;
  int flag = cpMechSpacePlace(mech, N_VGetArrayPointer(xv), &q);
  if (!flag) flag = cpMechATimes(mech, t, q, N_VGetArrayPointer(vv), mech->space->r);
  for (int k = 0; !flag && k < level->nrows; k++)
    N_VGetArrayPointer(Gv)[k] = mech->space->r[level->row[k]];
  return cpMechSpaceAnswer(mech, flag);
}

static int transposedTimes(sunrealtype t, N_Vector xv, N_Vector wv, N_Vector GTw, void *data) {
  const CPMechLevel *level = data;
  const CPMech mech        = level->mech;
  double *r                = mech->space->r;
  const double *q;
  int flag = cpMechSpacePlace(mech, N_VGetArrayPointer(xv), &q);
  memset(r, 0, (size_t)mech->m * sizeof *r);
  for (int k = 0; k < level->nrows; k++) r[level->row[k]] = N_VGetArrayPointer(wv)[k];
  if (!flag) flag = cpMechATransposedTimes(mech, t, q, r, N_VGetArrayPointer(GTw));
  return cpMechSpaceAnswer(mech, flag);
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
    for (size_t k = cpMatFirst(A, j); k < cpMatFirst(A, j + 1); k++) {
      const int i = cpMatRow(A, j, k);
      if (position[i] < 0) continue;
      if (A->start) SUNSparseMatrix_IndexValues(G)[count] = position[i];
      level->place[count++] = k;
    }
    if (A->start) SUNSparseMatrix_IndexPointers(G)[j + 1] = (sunindextype)count;
  }
  free(position);
  return G;
}

/* ---- creation ---- */

static const char *rowName(void *model, int i, char name[CP_ROW_NAME]) {
  const CPMechLevel *level = model;
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

/* What goes wrong inside is told by the mechanism, whose projector has the words. */
static void unheard(int code, const char *function, const char *msg, void *data) {
  (void)code, (void)function, (void)msg, (void)data;
}

static int createLevel(CPMech mech, int which) {
  CPMechLevel *level = &mech->space->level[which];
  level->mech        = mech;
  level->which       = which;
  int flag           = listRows(level);
  if (flag || level->nrows == 0) return flag;
  N_Vector x = N_VNew_Serial(mech->nu, mech->ctx), c = N_VNew_Serial(level->nrows, mech->ctx);
  if (x && c) level->P = cpProjectorCreateInner(residuals, x, c, mech->ctx);
  flag = level->P ? CPProjectorSetUserData(level->P, level) : CP_MEM_FAIL;
  if (!flag) {
    CPProjectorSetErrHandlerFn(level->P, unheard, NULL);
    level->P->model     = level;
    level->P->from_zero = 1;
    level->P->name_row  = rowName;
    flag                = setDerivative(level);
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
