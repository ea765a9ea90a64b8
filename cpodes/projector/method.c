/* The actions of a projector, by its method. */
#include "projector_impl.h"

/* Products are all that was given, or all that is asked for. */
static int isKrylov(const CPProjector P) {
  if (P->linsol == CP_LINSOL_KRYLOV) return 1;
  return P->linsol == CP_LINSOL_AUTO && P->Gv && !P->jac && !P->G_tmpl;
}

const CPMethod *cpMethodOf(CPProjector P) {
  if (P->method) return P->method;
  if (P->user_kind) return &cpUserMethod;
  return isKrylov(P) ? &cpKrylovMethod : &cpMatrixMethod;
}

int cpCountFailure(CPWork work, int flag) {
  CP_COUNT(work, nfails);
  return flag;
}

/* Counts a call; without weights the norm that needs none is in use. */
static const CPMethod *begin(CPWork work, N_Vector ewt) {
  work->norm = ewt || work->P->owner ? work->P->norm : CP_NORM_L2;
  return cpMethodOf(work->P);
}

int cpProject(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, int only_if_needed,
              CPProjected *result) {
  CP_COUNT(work, nproj);
  result->moved     = 0;
  const int flag    = begin(work, ewt)->project(work, t, y, ewt, only_if_needed, &result->moved);
  result->violation = work->violation;
  if (!flag) return CP_SUCCESS;
  work->valid = 0;
  return cpCountFailure(work, flag);
}

int cpTangentTo(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v, N_Vector r) {
  CP_COUNT(work, ntangent);
  const int flag = begin(work, ewt)->tangent(work, t, y, ewt, v, r);
  return flag ? cpCountFailure(work, flag) : CP_SUCCESS;
}

int cpTangent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v) {
  return cpTangentTo(work, t, y, ewt, v, NULL);
}

int cpProjectError(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v) {
  const CPMethod *method = begin(work, ewt);
  if (!method->error) return cpTangent(work, t, y, ewt, v);
  CP_COUNT(work, ntangent);
  const int flag = method->error(work, t, y, ewt, v);
  return flag ? cpCountFailure(work, flag) : CP_SUCCESS;
}

int cpCotangent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector w) {
  CP_COUNT(work, ntangent);
  const int flag = begin(work, ewt)->cotangent(work, t, y, ewt, w);
  return flag ? cpCountFailure(work, flag) : CP_SUCCESS;
}

int cpStateViolation(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, CPViolation *violation) {
  *violation = (CPViolation){.worst = -1};
  return begin(work, ewt)->violation(work, t, y, ewt, violation);
}

int cpAssemble(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  return begin(work, ewt)->assemble(work, t, y, ewt);
}

int cpJacobianProbe(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  return begin(work, ewt)->probe(work, t, y, ewt);
}

int cpRowsVector(CPWork work, N_Vector *c) {
  const CPMethod *method = cpMethodOf(work->P);
  *c                     = NULL;
  if (!method->rows_vector && !work->P->c_tmpl) return CP_SUCCESS;
  *c = method->rows_vector ? method->rows_vector(work) : N_VClone(work->P->c_tmpl);
  return *c ? CP_SUCCESS : CP_MEM_FAIL;
}

int cpRowsAt(CPWork work, sunrealtype t, N_Vector y, N_Vector c) {
  const CPMethod *method = cpMethodOf(work->P);
  return method->rows_at ? method->rows_at(work, t, y, c) : cpUserConstraint(work, t, y, c);
}
