/* The residuals: the user's c, evaluated and checked, followed by those of the unit norms. */
#include "projector_impl.h"

#include <math.h>
#include <string.h>

static int evaluate(CPWork work, sunrealtype t, N_Vector y, N_Vector c) {
  const int flag = cpCallProjector(work, work->P->user.c(t, y, c, cpWorkData(work)));
  if (flag) return cpUserResult(work->text, flag, t, "the constraint function");
  if (cpVectorFinite(c)) return CP_SUCCESS;
  const int bad = cpFirstNonFinite(c);
  if (bad < 0)
    return cpReason(work->text, -CP_CNSTR_NONFINITE, "at t = %.10g: a constraint is NaN or Inf", t);
  return cpReason(work->text, -CP_CNSTR_NONFINITE, "at t = %.10g: constraint %d is %g", t, bad,
                  N_VGetArrayPointer(c)[bad]);
}

int cpUserConstraint(CPWork work, sunrealtype t, N_Vector y, N_Vector c) {
  CP_COUNT(work, nce);
  return evaluate(work, t, y, c);
}

double cpUnitNorm(const CPProjector P, int k, const double *y) {
  const CPUnitNorm norm = P->norms[k];
  double sum            = 0.0;
  for (int j = norm.first; j < norm.first + norm.length; j++) sum += y[j] * y[j];
  return sqrt(sum);
}

int cpConstraint(CPWork work, size_t counter, sunrealtype t, N_Vector y, double *c) {
  CPProjector P = work->P;
  cpWorkCount(work, counter, 1);
  const int flag = P->mc > 0 ? evaluate(work, t, y, work->uc) : CP_SUCCESS;
  if (flag) return flag;
  if (P->mc > 0) memcpy(c, N_VGetArrayPointer(work->uc), (size_t)P->mc * sizeof *c);
  const sunrealtype *z = P->nnorms > 0 ? N_VGetArrayPointer(y) : NULL;
  for (int k = 0; k < P->nnorms; k++) {
    char name[CP_ROW_NAME];
    const double norm = cpUnitNorm(P, k, z);
    c[P->mc + k]      = norm - P->norms[k].value;
    if (!isfinite(norm))
      return cpReason(work->text, -CP_CNSTR_NONFINITE, "at t = %.10g: %s is %g", t,
                      cpRowName(P, P->mc + k, name), norm);
  }
  return CP_SUCCESS;
}
