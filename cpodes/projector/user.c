/* The user kind: y = g(t, yhat), e = g_eps(t, y, ehat) and the violation norm are the user's. */
#include "projector_impl.h"

#include <math.h>

int cpUserViolation(CPWork work, sunrealtype t, N_Vector y, sunrealtype *norm) {
  int flag = cpCallProjector(work, work->P->user.own.violation(t, y, norm, cpWorkData(work)));
  if (flag)
    return cpReason(work->text, CP_USERFUNC_FAIL,
                    "at t = %.10g: the violation function failed (%d)", t, flag);
  if (!(*norm >= 0.0) || isinf(*norm))
    return cpReason(work->text, CP_USERFUNC_FAIL, "at t = %.10g: the violation function gave %g", t,
                    *norm);
  return CP_SUCCESS;
}

/* ewt and only_if_needed are ignored: the user's projection has its own metric, and violations are
 * measured by the user's function alone, in cpProject. */
static int project(void *self, sunrealtype t, N_Vector y, N_Vector ewt, int only_if_needed,
                   CPProjected *result) {
  CPWork work   = self;
  CPProjector P = work->P;
  N_Vector e    = work->error;
  int flag =
      e ? cpCallProjector(work, P->user.own.both(t, y, work->v, e, P->options.eps, cpWorkData(work)))
        : cpCallProjector(work, P->user.own.state(t, y, work->v, P->options.eps, cpWorkData(work)));
  if (flag) return cpUserResult(work->text, flag, t, "the projection function");
  const N_Vector bad = !cpVectorFinite(work->v) ? work->v : e && !cpVectorFinite(e) ? e : NULL;
  if (bad)
    return cpReason(work->text, -CP_PROJ_NONFINITE,
                    "at t = %.10g: the projection function returned NaN or Inf (component %d%s)", t,
                    cpFirstNonFinite(bad), bad == e ? " of the error" : "");
  (void)ewt, (void)only_if_needed;
  result->moved     = 1; /* its violation is not measured again */
  result->violation = 0.0;
  N_VScale(1.0, work->v, y);
  return CP_SUCCESS;
}

static int tangent(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v, N_Vector r) {
  CPWork work   = self;
  CPProjector P = work->P;
  (void)ewt;
  if (r)
    return cpReason(work->text, CP_NOT_SUPPORTED,
                    "a user-supplied projection cannot follow constraints that depend on "
                    "parameters; use an internal projector");
  N_VScale(1.0, v, work->v);
  int flag = P->user.own.error
                 ? cpCallProjector(work, P->user.own.error(t, y, work->v, cpWorkData(work)))
                 : CP_SUCCESS;
  if (!flag && cpVectorFinite(work->v)) {
    N_VScale(1.0, work->v, v);
    return CP_SUCCESS;
  }
  if (flag) return cpUserResult(work->text, flag, t, "the error projection");
  return cpReason(work->text, -CP_PROJ_NONFINITE, "at t = %.10g: the error projection %s NaN or Inf",
                  t, P->user.own.error ? "returned" : "was given");
}

static int assemble(void *self, sunrealtype t, N_Vector y, N_Vector ewt) {
  return project(self, t, y, ewt, 0, &(CPProjected){0});
}

const CPProjectorKind cpUserKind = {
    .refusal  = "P has a user-supplied projection: this option is for constraint functions",
    .project  = project,
    .assemble = assemble,
    .tangent  = tangent};
