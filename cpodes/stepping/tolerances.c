/* Tolerances, and the error weights that they make. */
#include "integration.h"

#include <math.h>

static int checkReltol(sunrealtype reltol, CPLog *log, const char *function) {
  if (!(reltol >= 0.0) || isinf(reltol))
    return cpReport(log, CP_ILL_INPUT, function, "reltol must be >= 0 and finite: reltol = %g",
                    reltol);
  return CP_SUCCESS;
}

int cpTolerancesSS(CPTolerances *tol, sunrealtype reltol, sunrealtype abstol, CPLog *log,
                   const char *function) {
  int flag = checkReltol(reltol, log, function);
  if (flag) return flag;
  if (!(abstol >= 0.0) || isinf(abstol))
    return cpReport(log, CP_ILL_INPUT, function, "abstol must be >= 0 and finite: abstol = %g",
                    abstol);
  tol->reltol = reltol;
  tol->abstol = abstol;
  tol->kind   = CP_TOL_SS;
  return CP_SUCCESS;
}

int cpTolerancesSV(CPTolerances *tol, sunrealtype reltol, N_Vector abstol, N_Vector like,
                   CPLog *log, const char *function) {
  int flag = checkReltol(reltol, log, function);
  if (flag) return flag;
  if (!abstol) return cpReport(log, CP_ILL_INPUT, function, "abstol must not be NULL");
  if (like && N_VGetLength(abstol) != N_VGetLength(like))
    return cpReport(log, CP_ILL_INPUT, function,
                    "abstol must have the length of the state, %ld, has %ld",
                    (long)N_VGetLength(like), (long)N_VGetLength(abstol));
  if (!(N_VMin(abstol) >= 0.0) || !cpVectorFinite(abstol))
    return cpReport(log, CP_ILL_INPUT, function,
                    "abstol must be >= 0 and finite: its least entry is %g", N_VMin(abstol));
  N_Vector copy = N_VClone(abstol);
  if (!copy) return cpReport(log, CP_MEM_FAIL, function, "no memory");
  N_VScale(1.0, abstol, copy);
  cpTolerancesFree(tol);
  tol->vabstol = copy;
  tol->reltol  = reltol;
  tol->kind    = CP_TOL_SV;
  return CP_SUCCESS;
}

int cpTolerancesWF(CPTolerances *tol, CVEwtFn efun, CPLog *log, const char *function) {
  if (!efun) return cpReport(log, CP_ILL_INPUT, function, "efun must not be NULL");
  tol->efun = efun;
  tol->kind = CP_TOL_WF;
  return CP_SUCCESS;
}

void cpTolerancesFree(CPTolerances *tol) {
  if (tol->vabstol) N_VDestroy(tol->vabstol);
  tol->vabstol = NULL;
}

int cpTolerancesWeights(const CPTolerances *tol, N_Vector y, N_Vector ewt, void *user_data) {
  switch (tol->kind) {
  case CP_TOL_WF:
    if (tol->efun(y, ewt, user_data)) return CP_ILL_INPUT;
    return N_VMin(ewt) > 0.0 ? CP_SUCCESS : CP_ILL_INPUT;
  case CP_TOL_SS:
  case CP_TOL_SV:
    N_VAbs(y, ewt);
    N_VScale(tol->reltol, ewt, ewt);
    if (tol->kind == CP_TOL_SS) N_VAddConst(ewt, tol->abstol, ewt);
    else N_VLinearSum(1.0, ewt, 1.0, tol->vabstol, ewt);
    if (!(N_VMin(ewt) > 0.0)) return CP_ILL_INPUT;
    N_VInv(ewt, ewt);
    return CP_SUCCESS;
  default: return CP_NO_INIT;
  }
}

int cpModelWeights(const CPTolerances *tol, const CPModel *model, N_Vector y, N_Vector ewt,
                   void *user_data) {
  const int flag = cpTolerancesWeights(tol, y, ewt, user_data);
  return flag || !model->scale ? flag : model->scale(ewt, model->data);
}
