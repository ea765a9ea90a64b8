/* What is final at the first use: rows, matrices, workspace. */
#include "cpodes/mechanics/mechanics_impl.h"

#include <stdlib.h>
#include <string.h>

/* ---- the rules of coordinates ---- */

static int checkCoordinates(CPMech mech, const char *function) {
  if (mech->model.N || mech->nq == mech->nu + mech->nquaternions) return CP_SUCCESS;
  return cpReport(
      &mech->log, CP_ILL_INPUT, function,
      "nq must be nu + the number of quaternions (CPMechAddQuaternion), or a function N "
      "be given: nq = %d, nu = %d, %d quaternions",
      mech->nq, mech->nu, mech->nquaternions);
}

/* ---- rows ---- */

static int createRows(CPMech mech) {
  const size_t m = (size_t)mech->m + 1;
  char *off      = calloc(m, 1);
  if (!off) return CP_MEM_FAIL;
  memcpy(off, mech->off, (size_t)mech->na);
  free(mech->off);
  mech->off         = off;
  mech->at_position = calloc(m, 1);
  mech->at_velocity = calloc(m, 1);
  if (!mech->at_position || !mech->at_velocity) return CP_MEM_FAIL;
  for (int i = 0; i < mech->nv; i++) mech->at_position[i] = i < mech->np, mech->at_velocity[i] = 1;
  for (int k = 0; k < mech->nprescribed; k++) {
    const CPPrescribed *g = &mech->prescribed[k];
    if (g->row < 0) continue;
    mech->at_position[g->row] = g->how == CP_MOTION_DIRECT;
    mech->at_velocity[g->row] = 1;
  }
  return CP_SUCCESS;
}

/* The motion of velocity j that has a row of A, or NULL. */
static const CPPrescribed *motionOf(const CPMech mech, int j) {
  for (int k = 0; k < mech->nprescribed; k++)
    if (mech->prescribed[k].j == j && mech->prescribed[k].row >= 0) return &mech->prescribed[k];
  return NULL;
}

/* A = [userA; e_j^T of the motions], and where the entries of userA are in it. */
static int createA(CPMech mech) {
  const CPMat *U       = &mech->userA.A;
  const size_t entries = cpMatEntries(U);
  int flag =
      U->start ? cpMatCreateSparse(&mech->A, mech->m, mech->nu, entries + (size_t)mech->nprescribed)
               : cpMatCreateDense(&mech->A, mech->m, mech->nu);
  mech->A_place = malloc((entries + 1) * sizeof *mech->A_place);
  if (flag || !mech->A_place) return CP_MEM_FAIL;
  size_t from = 0, to = 0;
  for (int j = 0; j < mech->nu; j++) {
    const CPPrescribed *g = motionOf(mech, j);
    const size_t count    = U->start ? U->start[j + 1] - U->start[j] : (size_t)U->rows;
    if (!U->start) to = (size_t)j * (size_t)mech->m;
    for (size_t k = 0; k < count; k++, from++, to++) {
      mech->A_place[from] = to;
      if (U->start) mech->A.row[to] = U->row[from];
    }
    if (U->start) {
      if (g) mech->A.row[to++] = g->row;
      mech->A.start[j + 1] = to;
    }
    if (g) *cpMatAt(&mech->A, g->row, j) = 1.0;
  }
  return CP_SUCCESS;
}

/* A dense A_tmpl with a sparse M_tmpl, or none, are of one kind: that of M. */
static int createMatrices(CPMech mech) {
  CPMechModel *model = &mech->model;
  int flag           = cpUserMatCreate(&mech->userM, model->M_tmpl, mech->nu, mech->nu, mech->ctx);
  if (!flag) flag = cpUserMatCreate(&mech->userA, model->A_tmpl, mech->na, mech->nu, mech->ctx);
  if (!flag && mech->userM.A.start && mech->na == 0) { /* no rows: as sparse as M */
    cpUserMatFree(&mech->userA);
    flag = cpMatCreateSparse(&mech->userA.A, 0, mech->nu, 0);
  }
  if (!flag && model->lambda_jac)
    flag = cpUserMatCreate(&mech->userFl, NULL, mech->nu, mech->na, mech->ctx);
  if (!flag) flag = createA(mech);
  if (flag) return flag;
  const int own = mech->nfull > 0;
  if (own) flag = cpMatClone(&mech->Mk, &mech->userM.A);
  if (own && !flag) flag = cpMatClone(&mech->Ak, &mech->A);
  if (flag) return flag;
  if (!own) mech->Mk = mech->userM.A, mech->Ak = mech->A; /* lent */
  const CPSaddleOptions options = {
      .type = cpSaddleOfKkt(mech->linsol), .shortest = 1, .finest = CP_SADDLE_FINEST};
  return cpSaddleCreate(&mech->kkt, options, &mech->Mk, &mech->Ak);
}

/* ---- workspace ---- */

typedef struct {
  double **array;
  size_t length;
} Array;

enum { ARRAYS = 30 };

static void listWork(CPMech mech, Array list[ARRAYS]) {
  const size_t nq = (size_t)mech->nq, nu = (size_t)mech->nu, m = (size_t)mech->m;
  const size_t square     = mech->model.lambda_jac ? m * m : 0;
  const Array all[ARRAYS] = {
      {&mech->q_full, nq},    {&mech->q_moved, nq},    {&mech->qdot, nq},
      {&mech->u_full, nu},    {&mech->f_lambda, nu},   {&mech->f, nu},
      {&mech->rhs, nu},       {&mech->a_full, nu},     {&mech->f_total, nu},
      {&mech->a_spare, nu},   {&mech->wspace, nu},     {&mech->unit, nu},
      {&mech->a_out, nu},     {&mech->v_plus, m},      {&mech->v_minus, m},
      {&mech->p_plus, m},     {&mech->p_minus, m},     {&mech->b4, m},
      {&mech->b6, m},         {&mech->p4, m},          {&mech->p6, m},
      {&mech->b, m},          {&mech->rhs_b, m},       {&mech->residual, m},
      {&mech->lambda_new, m}, {&mech->lambda_step, m}, {&mech->zero_b, m},
      {&mech->lambda, m},     {&mech->lambda_out, m},  {&mech->lambda_J, square}};
  memcpy(list, all, sizeof all);
}

static int createWork(CPMech mech) {
  Array list[ARRAYS];
  listWork(mech, list);
  for (int k = 0; k < ARRAYS; k++)
    if (!(*list[k].array = calloc(list[k].length + 1, sizeof(double)))) return CP_MEM_FAIL;
  mech->lambda_pivot = calloc((size_t)mech->m + 1, sizeof *mech->lambda_pivot);
  return mech->lambda_pivot ? CP_SUCCESS : CP_MEM_FAIL;
}

static void freeWork(CPMech mech) {
  Array list[ARRAYS];
  listWork(mech, list);
  for (int k = 0; k < ARRAYS; k++) {
    free(*list[k].array);
    *list[k].array = NULL;
  }
  free(mech->lambda_pivot);
  mech->lambda_pivot = NULL;
}

void cpMechTearDown(CPMech mech) {
  const int own = mech->Mk.value && mech->Mk.value != mech->userM.A.value;
  cpSaddleFree(&mech->kkt);
  cpMechSpaceFree(&mech->space);
  if (own) cpMatFree(&mech->Mk);
  if (mech->Ak.value && mech->Ak.value != mech->A.value) cpMatFree(&mech->Ak);
  mech->Mk = mech->Ak = (CPMat){0};
  cpUserMatFree(&mech->userM);
  cpUserMatFree(&mech->userA);
  cpUserMatFree(&mech->userFl);
  cpMatFree(&mech->A);
  free(mech->A_place);
  free(mech->at_position);
  free(mech->at_velocity);
  mech->A_place     = NULL;
  mech->at_position = mech->at_velocity = NULL;
  freeWork(mech);
  mech->ready = 0;
}

int cpMechSetUp(CPMech mech, const char *function) {
  int flag = checkCoordinates(mech, function);
  cpMechPair(mech);
  if (!flag) flag = cpMechMotionsSetUp(mech, function);
  if (flag) return flag;
  flag = createRows(mech);
  if (!flag && !mech->operators) flag = createMatrices(mech);
  if (!flag) flag = createWork(mech);
  if (!flag) flag = cpMechSpaceCreate(mech);
  if (flag) {
    cpMechTearDown(mech);
    return cpReport(&mech->log, flag, function,
                    flag == CP_MEM_FAIL ? "no memory for the matrices of the system"
                                        : "the KKT solver cannot be set up");
  }
  mech->ready = 1;
  return CP_SUCCESS;
}
