/* The pending correction of the Adams methods.
 *
 * CVODES keeps the predicted state that a solver changed: cvRestore undoes the prediction only, so
 * that a correction stays in zn[0] when the attempt fails after it (error test, quadratures,
 * sensitivities). It is taken back at the retry, which is recognised by an unchanged step count and
 * a grown failure counter or a smaller step: CVODES never retries without one. (A re-initialised
 * memory or a restored adjoint checkpoint may have the step count by chance, but neither mark.)
 */
#include "multistep_impl.h"

#include <math.h>

CPMark cpMark(const CPAttempt *a) { return (CPMark){a->nst, a->nfail, a->h}; }

int cpIsRetry(const CPMark *mark, const CPAttempt *a) {
  return a->nst == mark->nst && a->nfail >= mark->nfail &&
         (a->nfail > mark->nfail || fabs(a->h) < fabs(mark->h));
}

void cpPendingClear(CPodeMem mem) { mem->pending.active = 0; }

void cpPendingSet(CPodeMem mem, const CPAttempt *a) {
  CPPending *p = &mem->pending;
  cpCopy(p->delta, mem->base.delta);
  p->active = 1;
  p->mark   = cpMark(a);
}

static void takeBack(CPodeMem mem, N_Vector zn0) {
  cpSubtract(zn0, mem->pending.delta, zn0);
  mem->base.stats.ntakenback++;
}

void cpPendingResolve(CPodeMem mem, const CPAttempt *a) {
  const CPPending *p = &mem->pending;
  if (p->active && cpIsRetry(&p->mark, a)) takeBack(mem, a->ypred);
  cpPendingClear(mem);
}

void cpPendingTakeBack(CPodeMem mem) {
  CPAttempt a;
  if (mem->pending.active && cpAttemptRead(mem, &a) == CP_SUCCESS && a.nst == mem->pending.mark.nst)
    takeBack(mem, a.ypred);
  cpPendingClear(mem);
}
