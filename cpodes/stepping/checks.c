/* Checks of arguments that both integrators make. */
#include "integration.h"

#include <math.h>

const char *cpMissingOperation(N_Vector v) {
  const N_Vector_Ops ops = v->ops;
  const struct {
    const char *name;
    int there;
  } needed[] = {{"N_VClone", ops->nvclone != NULL},
                {"N_VDestroy", ops->nvdestroy != NULL},
                {"N_VGetLength", ops->nvgetlength != NULL},
                {"N_VLinearSum", ops->nvlinearsum != NULL},
                {"N_VScale", ops->nvscale != NULL},
                {"N_VAbs", ops->nvabs != NULL},
                {"N_VInv", ops->nvinv != NULL},
                {"N_VAddConst", ops->nvaddconst != NULL},
                {"N_VDotProd", ops->nvdotprod != NULL},
                {"N_VMaxNorm", ops->nvmaxnorm != NULL},
                {"N_VWrmsNorm", ops->nvwrmsnorm != NULL},
                {"N_VMin", ops->nvmin != NULL}};
  for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
    if (!needed[i].there) return needed[i].name;
  return NULL;
}

int cpCheckStartVector(sunrealtype t0, N_Vector y0, N_Vector like, CPProjector P,
                       const CPTolerances *tol, CPLog *log, const char *function) {
  if (!y0) return cpReport(log, CP_ILL_INPUT, function, "y0 must not be NULL");
  if (!isfinite(t0)) return cpReport(log, CP_ILL_INPUT, function, "t0 must be finite: t0 = %g", t0);
  const char *operation = cpMissingOperation(y0);
  if (operation)
    return cpReport(log, CP_VECTOROP_ERR, function, "y0 must have the operation %s", operation);
  if (!cpVectorFinite(y0))
    return cpReport(log, CP_ILL_INPUT, function, "y0 must be finite: component %d is not",
                    cpFirstNonFinite(y0));
  if (P && cpProjectorNeedsData(P) && !cpHasData(y0))
    return cpReport(
        log, CP_ILL_INPUT, function,
        "y0 must be a vector in one memory (serial, OpenMP, pthreads) for this projector");
  const sunindextype length = like ? N_VGetLength(like) : P ? cpProjectorLength(P) : -1;
  if (length >= 0 && N_VGetLength(y0) != length)
    return cpReport(log, CP_ILL_INPUT, function, "y0 must have the length of the %s, %ld, has %ld",
                    like ? "state" : "projector's states", (long)length, (long)N_VGetLength(y0));
  if (!like && tol->vabstol && N_VGetLength(tol->vabstol) != N_VGetLength(y0))
    return cpReport(log, CP_ILL_INPUT, function,
                    "abstol, set before, must have the length of y0, %ld, has %ld",
                    (long)N_VGetLength(y0), (long)N_VGetLength(tol->vabstol));
  return CP_SUCCESS;
}

int cpCheckProjector(CPProjector P, N_Vector like, CPLog *log, const char *function) {
  if (!P || !like) return CP_SUCCESS;
  if (cpProjectorLength(P) != N_VGetLength(like))
    return cpReport(log, CP_ILL_INPUT, function, "P must be for states of length %ld, is for %ld",
                    (long)N_VGetLength(like), (long)cpProjectorLength(P));
  if (cpProjectorNeedsData(P) && !cpHasData(like))
    return cpReport(
        log, CP_ILL_INPUT, function,
        "P needs states in one memory (serial, OpenMP, pthreads): use CPProjectorCreateUser");
  return CP_SUCCESS;
}

int cpCheckLength(N_Vector v, const char *name, N_Vector like, CPLog *log, const char *function) {
  if (!v) return cpReport(log, CP_ILL_INPUT, function, "%s must not be NULL", name);
  if (N_VGetLength(v) != N_VGetLength(like))
    return cpReport(log, CP_ILL_INPUT, function, "%s must have length %ld, has %ld", name,
                    (long)N_VGetLength(like), (long)N_VGetLength(v));
  return CP_SUCCESS;
}

int cpCheckCall(sunrealtype tout, N_Vector yout, const sunrealtype *tret, int itask, N_Vector like,
                CPLog *log, const char *function) {
  int flag = cpCheckLength(yout, "yout", like, log, function);
  if (flag) return flag;
  if (!tret) return cpReport(log, CP_ILL_INPUT, function, "tret must not be NULL");
  if (!isfinite(tout))
    return cpReport(log, CP_ILL_INPUT, function, "tout must be finite: tout = %g", tout);
  if (itask != CV_NORMAL && itask != CV_ONE_STEP)
    return cpReport(log, CP_ILL_INPUT, function,
                    "itask must be CV_NORMAL (%d) or CV_ONE_STEP (%d), is %d", CV_NORMAL,
                    CV_ONE_STEP, itask);
  return CP_SUCCESS;
}

int cpCheckPositive(sunrealtype value, const char *name, CPLog *log, const char *function) {
  if (value >= 0.0) return CP_SUCCESS;
  return cpReport(log, CP_ILL_INPUT, function, "%s must be positive, or 0 for the default: %s = %g",
                  name, name, value);
}
