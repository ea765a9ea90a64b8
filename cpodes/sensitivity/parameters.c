/* Differences of sixth order with respect to the parameters that the user's functions read, and
 * what is computed by them: dc/dp, G s and (df/dy) s + df/dp. */
#include "sens_impl.h"

#include "cpodes/base/differences.h"

#include <math.h>
#include <stdlib.h>

/* ---- parameters ---- */

void cpParamsFree(CPParams *params) {
  cpArenaFree(&params->arena);
  *params = (CPParams){0};
}

static int checkParams(const CPParameters *given, CPLog *log, const char *function) {
  const sunrealtype *p = given->values, *pbar = given->pbar;
  if (given->n <= 0)
    return cpRefuse(log, function, "there must be parameters: their number is %d", given->n);
  if (!p && !pbar)
    return cpRefuse(log, function, "values and pbar of the parameters must not both be NULL");
  for (int i = 0; i < given->n; i++) {
    const int k            = given->plist ? given->plist[i] : i;
    const sunrealtype size = k < 0 ? 0.0 : pbar ? pbar[i] : fabs(p[k]);
    if (k < 0) return cpRefuse(log, function, "plist[%d] must not be negative: %d", i, k);
    if (pbar && (!(size > 0.0) || isinf(size)))
      return cpRefuse(log, function, "pbar[%d] must be positive and finite: %g", i, size);
    if (!(size > 0.0) || isinf(size))
      return cpRefuse(log, function,
                      "values[%d] must be finite and, without a size in pbar, not zero: %g", k,
                      p[k]);
    /* The integration of pure noise would not end. */
    if (p && CP_PARAM_PART * size < CP_FUZZ * fabs(p[k]))
      return cpRefuse(log, function,
                      "differences by parts of pbar[%d], %g, would be roundoff of values[%d], %g",
                      i, size, k, p[k]);
  }
  return CP_SUCCESS;
}

int cpParamsSet(CPParams *params, const CPParameters *given, CPLog *log, const char *function) {
  int flag = checkParams(given, log, function);
  if (flag) return flag;
  params->Ns = given->n;
  CP_ARRAYS(&params->arena, given->n, &params->pbar, &params->kept);
  CP_NEW(&params->arena, params->plist, given->n);
  flag = cpArenaStatus(&params->arena);
  if (flag) {
    cpParamsFree(params);
    return cpReport(log, flag, function, "no memory for parameters");
  }
  params->p = given->values;
  for (int i = 0; i < given->n; i++) {
    params->plist[i] = given->plist ? given->plist[i] : i;
    params->pbar[i]  = given->pbar ? given->pbar[i] : fabs(given->values[params->plist[i]]);
  }
  return CP_SUCCESS;
}

/* ---- differences ---- */

/* Moves the parameters from params->kept by e along a direction. */
static void move(const CPParams *params, CPAlong along, sunrealtype e) {
  for (int i = 0; params->p && i < params->Ns; i++)
    if (along.dp || i == along.iS)
      params->p[params->plist[i]] = params->kept[i] + e * (along.dp ? along.dp[i] : 1.0);
}

/* d/de f(t, y + e s, p + e along) at e = 0, by differences with the step e. If s is NULL, only the
 * derivative with respect to the parameters. error, unless it is NULL: that of fourth order */
static int difference(const CPParams *params, CPAlong along, sunrealtype e, CVRhsFn f,
                      sunrealtype t, N_Vector y, N_Vector s, N_Vector result, N_Vector moved,
                      N_Vector value, N_Vector error, void *data) {
  int flag = CP_SUCCESS;
  for (int i = 0; params->p && i < params->Ns; i++) params->kept[i] = params->p[params->plist[i]];
  N_VConst(0.0, result);
  if (error) N_VConst(0.0, error);
  for (int k = -3; !flag && k <= 3; k++) {
    if (k == 0) continue;
    move(params, along, k * e);
    if (s) N_VLinearSum(1.0, y, k * e, s, moved);
    flag = f(t, s ? moved : y, value, data);
    if (!flag) N_VLinearSum(1.0, result, 1.0 / e * cpCentralWeight(cpSixthOrder, k), value, result);
    if (!flag && error)
      N_VLinearSum(1.0, error, 1.0 / e * cpCentralWeight(cpFourthOrder, k), value, error);
  }
  for (int i = 0; params->p && i < params->Ns; i++) params->p[params->plist[i]] = params->kept[i];
  return flag;
}

int cpParamDifference(const CPParams *params, CPAlong along, sunrealtype part, CVRhsFn f,
                      sunrealtype t, N_Vector y, void *data, N_Vector value, N_Vector result) {
  const sunrealtype e = along.dp ? part : part * params->pbar[along.iS];
  return difference(params, along, e, f, t, y, NULL, result, NULL, value, NULL, data);
}

double cpSensSize(double y, double largest) {
  return fabs(y) + 0.01 * (largest > 0.0 ? largest : 1.0);
}

/* size [n] <- the sizes of the components of y: the system's (CPSensSystem), or those beside the largest of all if it has none. */
static void findSizes(const CPSystem *system, N_Vector y, N_Vector size) {
  if (system->sens) {
    system->sens->sizes(y, size, system->data);
    return;
  }
  N_VAbs(y, size);
  N_VAddConst(size, cpSensSize(0.0, N_VMaxNorm(y)), size);
}

/* The step e moves y_j by at most CP_PARAM_PART times its size, and parameters by at most CP_PARAM_PART times theirs. A function that bends
 * within that, or is not defined there, as next to a small radius, gets smaller ones. */
int cpSensDirection(const CPSystem *system, const CPParams *params, CVRhsFn f, sunrealtype t,
                    N_Vector y, CPAlong along, N_Vector yS, N_Vector ySdot, N_Vector moved,
                    N_Vector value, N_Vector error, void *user_data) {
  findSizes(system, y, moved);
  N_VDiv(yS, moved, moved);
  sunrealtype rate = N_VMaxNorm(moved);
  for (int i = 0; params->p && along.dp && i < params->Ns; i++)
    rate = fmax(rate, fabs(along.dp[i]) / params->pbar[i]);
  if (params->p && !along.dp && along.iS >= 0) rate = fmax(rate, 1.0 / params->pbar[along.iS]);
  sunrealtype e = rate > 0.0 ? CP_PARAM_PART / rate : CP_PARAM_PART, best = INFINITY, best_e = e;
  for (int n = 0, ends = 0;; n++, e /= CP_FINER) {
    const int flag =
        difference(params, along, e, f, t, y, yS, ySdot, moved, value, error, user_data);
    if (!error || flag < 0 || (ends && flag)) return flag;
    if (ends) return CP_SUCCESS;
    const sunrealtype off   = flag ? INFINITY : N_VMaxNorm(error);
    const sunrealtype least = CP_INEXACT * N_VMaxNorm(ySdot) + CP_FUZZ * N_VMaxNorm(value) / e;
    const int improves      = off < best;
    if (!flag && off <= least) return flag;
    if (improves) best = off, best_e = e;
    ends = n == CP_FINEST || (!flag && !improves && n >= CP_FINE);
    if (ends && best_e == e) return flag;
    if (ends) e = CP_FINER * best_e; /* the best one once more */
  }
}

/* CVODES passes the user's pointer, which does not lead here, and its own vectors, which do. */
int cpSensDifferences(int Ns, sunrealtype t, N_Vector y, N_Vector ydot, int iS, N_Vector yS,
                      N_Vector ySdot, void *user_data, N_Vector tmp1, N_Vector tmp2) {
  const CPMultistep mem = cpAdoptedBy(ydot);
  (void)Ns;
  return cpSensDirection(&mem->base.system, &cpSensOf(&mem->base)->params, mem->base.f, t, y,
                         (CPAlong){.iS = iS}, yS, ySdot, tmp1, tmp2, NULL, user_data);
}

/* ---- dc/dp, and G s ---- */

static int rowsAt(sunrealtype t, N_Vector y, N_Vector c, void *work) {
  return cpRowsAt(work, t, y, c);
}

int cpSensRowsAlong(CPSens sens, sunrealtype t, N_Vector y, N_Vector s) {
  const CPParams none = {0};
  if (!sens->Gs && !(sens->Gs = N_VClone(sens->c)))
    return cpReason(cpWorkText(sens->work), CP_MEM_FAIL, "no memory for G s");
  return cpSensDirection(&sens->mem->system, &none, rowsAt, t, y, (CPAlong){.iS = 0}, s, sens->Gs,
                         sens->moved, sens->c, NULL, sens->work);
}

int cpSensRowsByDifferences(CPSens sens, sunrealtype t, N_Vector y, int iS, N_Vector *r) {
  *r = sens->params.p ? sens->r : NULL;
  return *r ? cpParamDifference(&sens->params, (CPAlong){.iS = iS}, CP_PARAM_PART, rowsAt, t, y,
                                sens->work, sens->c, sens->r)
            : CP_SUCCESS;
}

/* Computes the user's dc/dp in sens->r. */
static int rowsByUser(CPSens sens, sunrealtype t, N_Vector y, int iS) {
  char *text = cpWorkText(sens->work);
  char name[40];
  N_VConst(0.0, sens->r);
  const int flag = sens->cS(t, y, iS, sens->r, sens->mem->ops->data(sens->mem));
  if (flag) {
    snprintf(name, sizeof name, "dc/dp of sensitivity %d", iS);
    return cpUserResult(text, flag, t, name);
  }
  if (cpVectorFinite(sens->r)) return CP_SUCCESS;
  return cpReason(text, -CP_CNSTR_NONFINITE,
                  "at t = %.10g: dc/dp of sensitivity %d is not finite (row %d)", t, iS,
                  cpFirstNonFinite(sens->r));
}

int cpSensRows(CPSens sens, sunrealtype t, N_Vector y, int iS, N_Vector *r) {
  const CPSystem *model = &sens->mem->system;
  char *text            = cpWorkText(sens->work);
  int flag = CP_SUCCESS, given = 0;
  if ((!sens->r && cpRowsVector(sens->work, &sens->r)) ||
      (!sens->c && sens->r && !(sens->c = N_VClone(sens->r))))
    return cpReason(text, CP_MEM_FAIL, "no memory for dc/dp");
  *r = sens->r;
  if (!sens->r && sens->cS)
    return cpReason(text, CP_NOT_SUPPORTED,
                    "dc/dp is given (CPSensSetRhsFn), but this projector has no rows for "
                    "it: a projection of the user's keeps G s = 0 only");
  if (!sens->r) return CP_SUCCESS; /* norms and a user's projection have no parameters */
  sens->stats.ncp++;
  if (sens->cS) return rowsByUser(sens, t, y, iS);
  if (model->sens) flag = model->sens->rows(t, y, iS, sens->r, &given, model->data);
  if (flag && model->cause) {
    const char *reason = NULL;
    model->cause(&reason, model->data);
    return cpReason(text, flag, "%s", reason);
  }
  return flag || given ? flag : cpSensRowsByDifferences(sens, t, y, iS, r);
}
