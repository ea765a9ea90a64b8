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

int cpProject(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, int only_if_needed, int *moved) {
  *moved = 0;
  CP_COUNT(work, nproj);
  const int flag = cpMethodOf(work->P)->project(work, t, y, ewt, only_if_needed, moved);
  if (!flag) return CP_SUCCESS;
  work->valid = 0;
  return cpCountFailure(work, flag);
}

int cpTangentTo(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v, N_Vector r) {
  CP_COUNT(work, ntangent);
  const int flag = cpMethodOf(work->P)->tangent(work, t, y, ewt, v, r);
  return flag ? cpCountFailure(work, flag) : CP_SUCCESS;
}

int cpTangent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v) {
  return cpTangentTo(work, t, y, ewt, v, NULL);
}

N_Vector cpRowsVector(CPWork work) {
  const CPMethod *method = cpMethodOf(work->P);
  if (method->rows_vector) return method->rows_vector(work);
  return work->P->c_tmpl ? N_VClone(work->P->c_tmpl) : NULL;
}

int cpRowsAt(CPWork work, sunrealtype t, N_Vector y, N_Vector c) {
  const CPMethod *method = cpMethodOf(work->P);
  return method->rows_at ? method->rows_at(work, t, y, c) : cpUserConstraint(work, t, y, c);
}

int cpProjectError(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v) {
  const CPMethod *method = cpMethodOf(work->P);
  if (!method->error) return cpTangent(work, t, y, ewt, v);
  CP_COUNT(work, ntangent);
  const int flag = method->error(work, t, y, ewt, v);
  return flag ? cpCountFailure(work, flag) : CP_SUCCESS;
}

int cpCotangent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector w) {
  CP_COUNT(work, ntangent);
  const int flag = cpMethodOf(work->P)->cotangent(work, t, y, ewt, w);
  return flag ? cpCountFailure(work, flag) : CP_SUCCESS;
}

int cpStateViolation(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, sunrealtype *norm,
                     int *worst) {
  *worst = -1;
  return cpMethodOf(work->P)->violation(work, t, y, ewt, norm, worst);
}

int cpAssemble(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  return cpMethodOf(work->P)->assemble(work, t, y, ewt);
}

int cpJacobianProbe(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  return cpMethodOf(work->P)->probe(work, t, y, ewt);
}
