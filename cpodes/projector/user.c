/* The user kind: y = g(t, yhat), e = g_eps(t, y, ehat) and the violation norm are the user's. */
#include "projector_impl.h"

#include <math.h>

int cpUserViolation(CPWork work, sunrealtype t, N_Vector y, sunrealtype *norm) {
  int flag = work->P->violation(t, y, norm, work->P->user_data);
  if (flag)
    return cpReason(work->text, CP_USERFUNC_FAIL,
                    "at t = %.15g: the violation function failed (%d)", t, flag);
  if (!(*norm >= 0.0) || isinf(*norm))
    return cpReason(work->text, CP_USERFUNC_FAIL, "at t = %.15g: the violation function gave %g", t,
                    *norm);
  return CP_SUCCESS;
}

static int project(CPWork work, sunrealtype t, N_Vector y) {
  CPProjector P = work->P;
  int flag      = P->g(t, y, work->y, P->eps, P->user_data);
  if (flag < 0)
    return cpReason(work->text, CP_USERFUNC_FAIL,
                    "at t = %.15g: the projection function failed (%d)", t, flag);
  if (flag > 0)
    return cpReason(work->text, -CP_REPTD_USERFUNC_ERR,
                    "at t = %.15g: the projection function failed recoverably (%d)", t, flag);
  if (!cpVectorFinite(work->y))
    return cpReason(work->text, -CP_PROJ_NONFINITE,
                    "at t = %.15g: the projection function returned NaN or Inf (component %d)", t,
                    cpFirstNonFinite(work->y));
  return CP_SUCCESS;
}

static int userProject(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, int only_if_needed,
                       int *moved) {
  CPProjector P = work->P;
  int flag      = CP_SUCCESS;
  (void)ewt; /* the user's projection has a metric of its own */
  work->violation = 0.0;
  if (only_if_needed && P->violation) {
    flag = cpUserViolation(work, t, y, &work->violation);
    if (!flag && work->violation <= P->eps) {
      CP_COUNT(work, nskipped);
      return CP_SUCCESS;
    }
  }
  if (!flag) flag = project(work, t, y);
  if (flag) return flag;
  work->violation = 0.0; /* not looked at again */
  *moved          = 1;
  N_VScale(1.0, work->y, y);
  return CP_SUCCESS;
}

static int projectError(CPWork work, sunrealtype t, N_Vector y, N_Vector v) {
  CPProjector P = work->P;
  N_VScale(1.0, v, work->v);
  int flag = P->g_eps ? P->g_eps(t, y, work->v, P->user_data) : CP_SUCCESS;
  if (!flag && cpVectorFinite(work->v)) {
    N_VScale(1.0, work->v, v);
    return CP_SUCCESS;
  }
  if (flag < 0)
    return cpReason(work->text, CP_USERFUNC_FAIL, "at t = %.15g: the error projection failed (%d)",
                    t, flag);
  if (flag > 0)
    return cpReason(work->text, -CP_REPTD_USERFUNC_ERR,
                    "at t = %.15g: the error projection failed recoverably (%d)", t, flag);
  return cpReason(work->text, -CP_PROJ_NONFINITE, "at t = %.15g: the error projection %s NaN or Inf",
                  t, P->g_eps ? "returned" : "was given");
}

static int userTangent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v, N_Vector r) {
  (void)ewt;
  if (!r) return projectError(work, t, y, v);
  return cpReason(work->text, CP_NOT_SUPPORTED,
                  "a user-supplied projection cannot follow constraints that depend on parameters; "
                  "use an internal projector");
}

static int userCotangent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector w) {
  (void)t, (void)y, (void)ewt, (void)w;
  return cpReason(work->text, CP_NOT_SUPPORTED,
                  "a user-supplied projection has no transpose; use an internal projector");
}

static int violation(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, CPViolation *violation) {
  (void)ewt;
  if (work->P->violation) return cpUserViolation(work, t, y, &violation->norm);
  return cpReason(work->text, CP_NOT_SUPPORTED,
                  "a user-supplied projection needs CPProjectorSetViolationFn for that");
}

static int assemble(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  return cpProject(work, t, y, ewt, 0, &(CPProjected){0});
}

static int probe(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  (void)work, (void)t, (void)y, (void)ewt;
  return CP_SUCCESS; /* there is no derivative */
}

const CPMethod cpUserMethod = {.project   = userProject,
                               .tangent   = userTangent,
                               .cotangent = userCotangent,
                               .violation = violation,
                               .assemble  = assemble,
                               .probe     = probe};
