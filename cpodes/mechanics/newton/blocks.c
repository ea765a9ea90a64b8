/* The blocks K, C, ..., Zl: which there are, who gives them, and their patterns. */
#include "newton_impl.h"

#include <stdlib.h>

int cpRowsOf(const CPMechNewtonMem newton, CPOutput of) {
  const int rows[CP_OUTPUTS] = {newton->nu, newton->na, newton->nz};
  return rows[of];
}

int cpColsOf(const CPMechNewtonMem newton, CPDirection by) {
  const int cols[CP_DIRECTIONS] = {newton->nu, newton->nu, newton->nz, newton->na};
  return cols[by];
}

static SUNMatrix templateOf(const CPMechNewtonMem newton, CPOutput of, CPDirection by) {
  const CPMechModel *model                        = &newton->mech->model;
  const SUNMatrix tmpl[CP_OUTPUTS][CP_DIRECTIONS] = {
      {model->K_tmpl, model->C_tmpl ? model->C_tmpl : model->K_tmpl, model->Fz_tmpl, NULL},
      {model->Bq_tmpl, model->Bu_tmpl, NULL, NULL},
      {model->Zq_tmpl, model->Zu_tmpl, model->Zz_tmpl, NULL}};
  return cpIsKkt(newton) || of == CP_OF_Z ? tmpl[of][by] : NULL;
}

/* Motions' rows of B, and B by z and lambda, are zero. */
static int exists(const CPMechNewtonMem newton, CPOutput of, CPDirection by) {
  if (cpRowsOf(newton, of) == 0 || cpColsOf(newton, by) == 0) return 0;
  if (of == CP_OF_B) return by == CP_BY_Q || by == CP_BY_U;
  if (of == CP_OF_F && by == CP_BY_LAMBDA) return newton->mech->model.f_lambda != NULL;
  return 1;
}

/* Does the user's function give it? Not where the matrix is sparse and there is no template. (HALF: the
 * dependence of zdot on lambda is then left out.) */
static int isGiven(const CPMechNewtonMem newton, CPOutput of, CPDirection by) {
  const CPMechModel *model = &newton->mech->model;
  if (by == CP_BY_LAMBDA) return of == CP_OF_F && model->lambda_jac != NULL;
  if (of == CP_OF_Z) return model->auxiliary_jac != NULL;
  if (!cpIsKkt(newton)) return model->udot_jac != NULL;
  if (newton->sparse && by != CP_BY_Z && !templateOf(newton, of, by)) return 0;
  return of == CP_OF_F ? model->dynamics_jac != NULL : model->constraint_jac != NULL;
}

/* ---- patterns ---- */

/* U <- U with the pattern of A. */
static int include(CPMat *U, const CPMat *A) {
  CPMat both     = {0};
  const int flag = U->start ? cpMatUnion(&both, U, A) : cpMatClone(&both, A);
  if (flag) return flag;
  cpMatFree(U);
  *U = both;
  return CP_SUCCESS;
}

/* Where the forces' derivatives may have entries: M a and A^T lambda depend on positions like M and
 * A^T A, springs and dampers mostly lie among these entries. */
static int dynamicsPattern(const CPMechNewtonMem newton, const CPMat *tmpl, CPMat *J) {
  CPMat normal = {0};
  int flag     = cpMatNormalPattern(&normal, &newton->mech->userA.A);
  if (!flag) flag = include(J, &newton->mech->userM.A);
  if (!flag) flag = include(J, &normal);
  if (!flag && tmpl) flag = include(J, tmpl);
  cpMatFree(&normal);
  return flag;
}

/* Column c of the result is column from[c] of J. */
static int columnsFrom(const CPMat *J, const int *from, CPMat *result) {
  const int flag = cpMatClone(result, J);
  size_t count   = 0;
  for (int c = 0; !flag && c < J->cols; c++) {
    for (size_t e = J->start[from[c]]; e < J->start[from[c] + 1]; e++)
      result->row[count++] = J->row[e];
    result->start[c + 1] = count;
  }
  return flag;
}

/* A quaternion's three columns share a pattern: what depends on one of its components depends on all
 * three rotations, and b, by q' = N u, on all three velocities. T mixes them, too. The union with two
 * copies in which they are exchanged. */
static int mergeTriples(const CPMechNewtonMem newton, CPMat *J) {
  const CPMech mech = newton->mech;
  CPMat copy[2]     = {{0}};
  int *from = malloc((size_t)J->cols * sizeof *from), flag = from ? CP_SUCCESS : CP_MEM_FAIL;
  for (int shift = 1; !flag && shift <= 2; shift++) {
    for (int c = 0; c < J->cols; c++) from[c] = c;
    for (int k = 0; k < mech->nquaternions; k++)
      for (int d = 0; d < 3; d++) {
        const int j = mech->quaternions[k].first_u;
        from[j + d] = j + (d + shift) % 3;
      }
    flag = columnsFrom(J, from, &copy[shift - 1]);
  }
  for (int k = 0; !flag && k < 2; k++) flag = include(J, &copy[k]);
  cpMatFree(&copy[0]);
  cpMatFree(&copy[1]);
  free(from);
  return flag;
}

/* The pattern of a block of a sparse matrix by differences; tmpl: the template's, or NULL. */
static int sparsePattern(const CPMechNewtonMem newton, CPOutput of, CPDirection by,
                         const CPMat *tmpl, CPMat *J) {
  const CPMechModel *model = &newton->mech->model;
  if (of == CP_OF_F && (by == CP_BY_Q || !model->C_tmpl)) return dynamicsPattern(newton, tmpl, J);
  if (of == CP_OF_B && (by == CP_BY_Q || !tmpl)) {
    const int flag = include(J, &newton->mech->userA.A);
    return !flag && tmpl ? include(J, tmpl) : flag;
  }
  return include(J, tmpl);
}

static int createPattern(const CPMechNewtonMem newton, CPOutput of, CPDirection by, CPBlock *block) {
  const CPMat *tmpl   = templateOf(newton, of, by) ? &block->user.A : NULL;
  const int positions = by == CP_BY_Q || by == CP_BY_U;
  int flag;
  if (tmpl ? !tmpl->start : !newton->sparse || of == CP_OF_Z || !positions)
    return cpMatCreateDense(&block->J, cpRowsOf(newton, of), cpColsOf(newton, by));
  if (newton->sparse && !block->given && of != CP_OF_Z && positions)
    flag = sparsePattern(newton, of, by, tmpl, &block->J);
  else flag = cpMatClone(&block->J, tmpl);
  const int turns = by == CP_BY_Q || (by == CP_BY_U && !block->given);
  if (!flag && turns && newton->mech->nquaternions > 0) flag = mergeTriples(newton, &block->J);
  return flag;
}

/* ---- life cycle ---- */

static int createBlock(const CPMechNewtonMem newton, CPOutput of, CPDirection by, CPBlock *block) {
  SUNMatrix tmpl = templateOf(newton, of, by);
  block->exists  = exists(newton, of, by);
  if (!block->exists) return CP_SUCCESS;
  block->given = isGiven(newton, of, by);
  int flag     = CP_SUCCESS;
  if (block->given || tmpl)
    flag = cpUserMatCreate(&block->user, tmpl, cpRowsOf(newton, of), cpColsOf(newton, by),
                           newton->mech->ctx);
  return flag ? flag : createPattern(newton, of, by, block);
}

int cpBlocksCreate(CPMechNewtonMem newton) {
  const CPMech mech = newton->mech;
  int flag          = CP_SUCCESS;
  for (int of = 0; !flag && of < CP_OUTPUTS; of++)
    for (int by = 0; !flag && by < CP_DIRECTIONS; by++)
      flag = createBlock(newton, (CPOutput)of, (CPDirection)by, &newton->block[of][by]);
  for (int of = 0; !flag && of < CP_OUTPUTS && mech->nquaternions > 0; of++)
    if (newton->block[of][CP_BY_Q].exists)
      flag = cpMatClone(&newton->turned[of], &newton->block[of][CP_BY_Q].J);
  if (flag || !cpIsKkt(newton)) return flag;
  flag = cpMatClone(&newton->M, &mech->userM.A);
  return flag ? flag : cpMatClone(&newton->A, &mech->A);
}

void cpBlocksFree(CPMechNewtonMem newton) {
  for (int of = 0; of < CP_OUTPUTS; of++) {
    for (int by = 0; by < CP_DIRECTIONS; by++) {
      cpMatFree(&newton->block[of][by].J);
      cpUserMatFree(&newton->block[of][by].user);
    }
    cpMatFree(&newton->turned[of]);
  }
  cpMatFree(&newton->M);
  cpMatFree(&newton->A);
}
