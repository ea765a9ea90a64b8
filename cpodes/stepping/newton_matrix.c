/* Is Newton's matrix one?
 *
 * Pivoting takes an Inf for the largest entry of its column and divides by it: the row is gone, and the
 * solution's component of that column is exactly 0 for every right-hand side. Newton's iteration then converges
 * to a state of which that component is the predicted one for ever, without NaN anywhere. (A NaN in the matrix
 * spreads over the solution, and no convergence test passes.) The same holds for a preconditioner from the left
 * or from the right. */
#include "stepper.h"

#include "cpodes/base/random.h"

static int hasZero(N_Vector v, N_Vector tmp) {
  N_VAbs(v, tmp);
  return N_VMin(tmp) == 0.0;
}

/* No row of an inverse is orthogonal to it, by symmetry or otherwise. */
static void fillAtRandom(N_Vector v) {
  sunrealtype *x = N_VGetArrayPointer(v);
  unsigned state = 1u;
  for (sunindextype i = 0; i < N_VGetLength(v); i++) x[i] = cpUniformAwayFromZero(&state);
}

int cpNewtonMatrixFails(SUNNonlinSolLSolveFn lsolve, void *mem, N_Vector ycor, N_Vector tmp) {
  if (!cpHasData(ycor) || (cpVectorFinite(ycor) && !hasZero(ycor, tmp))) return 0;
  fillAtRandom(tmp);
  if (lsolve(tmp, mem)) return 0; /* which tells nothing: an iterative solver may do its best */
  return !cpVectorFinite(tmp) || hasZero(tmp, tmp);
}
