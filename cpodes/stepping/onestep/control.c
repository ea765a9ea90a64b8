/* Sizes of steps of explicit methods (E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary
 * Differential Equations I, 2nd ed., section II.4). */
#include "explicit.h"

#include <math.h>

/* The next step's error is to be so far below the tolerance. */
#define SAFETY 0.9
/* Errors below this are no measure for the controller. */
#define LEAST_NORM 1.0e-4
/* Of the PI controller. At equal error, relative to this one and in the geometric mean over nine mechanisms, DOP853 takes
 * 0.96 of the steps and 1.05 of the evaluations with 0, its authors' value; 1.05 and 0.98 with 0.05 (guide). */
#define BETA 0.03

/* The first step's error is guessed from the size of y'' by this fraction of the tolerance; where y
 * or f vanish there is nothing to guess by. */
#define FIRST_ERROR 0.01
#define VANISHES    1.0e-5
#define SMALL_STEP  1.0e-6
/* The least first step, in units of the roundoff of t. */
#define ROUNDOFF 1.0e2

sunrealtype cpLeastStep(sunrealtype t) { return ROUNDOFF * CP_UROUND * fabs(t); }

sunrealtype cpStepRatio(CPOneStepMem mem, sunrealtype norm, int accepted) {
  const CPExplicit e     = mem->stepper;
  const sunrealtype expo = 1.0 / e->error_order - 0.75 * BETA;
  sunrealtype ratio      = SAFETY * pow(norm, -expo);
  if (accepted) {
    ratio *= pow(e->norm, BETA);
    e->norm = fmax(norm, LEAST_NORM);
  }
  return fmin(fmax(ratio, e->kind->shrink), e->kind->grow); /* of infinity, too */
}

/* |h| from the sizes of y, f and y'', in units of the tolerance. */
static sunrealtype guess(sunrealtype h0, sunrealtype d1, sunrealtype d2, int order) {
  const sunrealtype d = fmax(d1, d2);
  const sunrealtype h1 =
      d <= 1.0e-15 ? fmax(SMALL_STEP, 1.0e-3 * h0) : pow(FIRST_ERROR / d, 1.0 / (order + 1));
  return fmin(100.0 * h0, h1);
}

int cpInitialStep(CPOneStepMem mem, N_Vector f0, N_Vector f1, sunrealtype *h) {
  const sunrealtype d0 = N_VWrmsNorm(mem->y, mem->ewt), d1 = N_VWrmsNorm(f0, mem->ewt);
  sunrealtype h0 = d0 < VANISHES || d1 < VANISHES ? SMALL_STEP : FIRST_ERROR * d0 / d1;
  if (mem->hmax > 0.0) h0 = fmin(h0, mem->hmax);
  h0 = fmin(h0, fabs(mem->tlimit - mem->t));
  h0 = fmax(h0, cpLeastStep(mem->t));
  N_VLinearSum(1.0, mem->y, mem->dir * h0, f0, mem->ynew); /* Euler's step */
  const int flag = cpOneStepRhs(mem, mem->t + mem->dir * h0, mem->ynew, f1, 0);
  if (flag < 0) return flag;
  if (flag == 0) {
    N_VLinearSum(1.0, f1, -1.0, f0, f1);
    h0 = guess(h0, d1, N_VWrmsNorm(f1, mem->ewt) / h0, mem->order);
  } /* else: as small as that */
  *h = mem->dir * h0;
  return CP_SUCCESS;
}
