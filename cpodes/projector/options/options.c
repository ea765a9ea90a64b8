/* Options of CPProjector: the solver, sizes and limits; what the options share. */
#include "options_impl.h"

int cpOptionOf(CPProjector P, const char *function) {
  return P ? CP_SUCCESS : cpReport(NULL, CP_MEM_NULL, function, "P must not be NULL");
}

int cpOptionOfInternal(CPProjector P, const char *function) {
  if (!P) return cpOptionOf(P, function);
  if (P->user_kind)
    return cpReport(&P->log, CP_ILL_INPUT, function,
                    "P has a user-supplied projection: this option is for CPProjectorCreate's");
  return CP_SUCCESS;
}

int cpOptionOfConstraints(CPProjector P, const char *function) {
  const int flag = cpOptionOfInternal(P, function);
  if (!flag && P->kind)
    return cpReport(&P->log, CP_NOT_SUPPORTED, function,
                    "P is the projector of a mechanical system: its constraints and metric are "
                    "options of that");
  return flag;
}

int cpCheckLike(CPProjector P, N_Vector v, N_Vector tmpl, const char *name, const char *function) {
  if (!tmpl)
    return cpReport(&P->log, CP_NOT_SUPPORTED, function,
                    "%s is for the rows of a constraint function, and there is none", name);
  if (P->in_memory && !cpHasData(v))
    return cpReport(&P->log, CP_ILL_INPUT, function, "%s must be a vector in one memory", name);
  if (N_VGetLength(v) != N_VGetLength(tmpl))
    return cpReport(&P->log, CP_ILL_INPUT, function, "%s must have length %ld, has %ld", name,
                    (long)N_VGetLength(tmpl), (long)N_VGetLength(v));
  return CP_SUCCESS;
}

int cpCheckFinite(CPProjector P, N_Vector v, const char *name, const char *function) {
  if (cpVectorFinite(v)) return CP_SUCCESS;
  const int bad = cpFirstNonFinite(v);
  if (bad < 0) return cpReport(&P->log, CP_ILL_INPUT, function, "%s must be finite", name);
  return cpReport(&P->log, CP_ILL_INPUT, function, "%s must be finite: %s[%d] = %g", name, name,
                  bad, N_VGetArrayPointer(v)[bad]);
}

void cpChangedValues(CPProjector P) { P->contents++; }

void cpChangedSolver(CPProjector P) {
  P->revision++;
  cpChangedValues(P);
}

void cpChangedShape(CPProjector P) {
  P->shape++;
  if (!P->row_level_v) P->nlevels = 0;
  cpChangedSolver(P);
}

int cpReplaceCopy(CPProjector P, N_Vector *copy, N_Vector v, const char *function) {
  N_Vector clone = v ? N_VClone(v) : NULL;
  if (v && !clone) return cpReport(&P->log, CP_MEM_FAIL, function, "no memory");
  if (v) N_VScale(1.0, v, clone);
  if (*copy) N_VDestroy(*copy);
  *copy = clone;
  return CP_SUCCESS;
}

int CPProjectorSetUserData(CPProjector P, void *user_data) {
  if (!P) return cpOptionOf(P, __func__);
  P->user_data = user_data;
  cpChangedValues(P); /* what was computed with the other data is not to be used again */
  return CP_SUCCESS;
}

int CPProjectorSetErrHandlerFn(CPProjector P, CPErrHandlerFn handler, void *data) {
  if (!P) return cpOptionOf(P, __func__);
  P->log.handler = handler;
  P->log.data    = data;
  return CP_SUCCESS;
}

int CPProjectorSetLinearSolver(CPProjector P, CPLinSol type) {
  int flag = cpOptionOfInternal(P, __func__);
  if (flag) return flag;
  if (type < CP_LINSOL_AUTO || type > CP_LINSOL_KRYLOV)
    return cpReport(&P->log, CP_ILL_INPUT, __func__,
                    "type must be one of CP_LINSOL_AUTO ... CP_LINSOL_KRYLOV, is %d", (int)type);
  P->linsol = type;
  cpChangedSolver(P);
  return CP_SUCCESS;
}

int CPProjectorSetNorm(CPProjector P, CPNorm norm) {
  int flag = cpOptionOfConstraints(P, __func__);
  if (flag) return flag;
  if (norm != CP_NORM_ERROR && norm != CP_NORM_L2)
    return cpReport(&P->log, CP_ILL_INPUT, __func__,
                    "norm must be CP_NORM_ERROR or CP_NORM_L2, is %d", (int)norm);
  P->norm = norm;
  cpChangedValues(P);
  return CP_SUCCESS;
}

int CPProjectorSetViolationFn(CPProjector P, CPViolationFn norm) {
  if (!P) return cpOptionOf(P, __func__);
  if (P->kind) return cpOptionOfConstraints(P, __func__);
  P->violation = norm;
  return CP_SUCCESS;
}

int CPProjectorSetEps(CPProjector P, sunrealtype eps) {
  if (!P) return cpOptionOf(P, __func__);
  if (!(eps >= 0.0 && eps <= 1.0))
    return cpReport(&P->log, CP_ILL_INPUT, __func__,
                    "eps must be in (0, 1], or 0 for the default: eps = %g", eps);
  P->eps = eps > 0.0 ? eps : CP_EPS_DEFAULT;
  return CP_SUCCESS;
}

int CPProjectorSetMaxIters(CPProjector P, int maxit) {
  int flag = cpOptionOfInternal(P, __func__);
  if (flag) return flag;
  if (maxit < 0)
    return cpReport(&P->log, CP_ILL_INPUT, __func__,
                    "maxit must be positive, or 0 for the default: maxit = %d", maxit);
  P->maxiters = maxit ? maxit : CP_MAXITERS_DEFAULT;
  return CP_SUCCESS;
}

int CPProjectorSetJacFrequency(CPProjector P, long int nproj) {
  int flag = cpOptionOfInternal(P, __func__);
  if (flag) return flag;
  if (nproj < 0)
    return cpReport(&P->log, CP_ILL_INPUT, __func__,
                    "nproj must be positive, or 0 for the default: nproj = %ld", nproj);
  P->jacfreq = nproj ? nproj : CP_JACFREQ_DEFAULT;
  return CP_SUCCESS;
}
