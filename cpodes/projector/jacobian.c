/* G: by the user's function, checked, or by difference quotients, several columns with each where
 * the pattern allows it (A. R. Curtis, M. J. D. Powell, J. K. Reid, J. Inst. Maths Applics 13
 * (1974) 117-119). */
#include "projector_impl.h"

#include <math.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

/* Increments of y_j are machine numbers. Where states are small next to the constants of a constraint
 * (displacements from a reference position), the root of roundoff in them is nothing. One tolerance, over
 * which G must be good anyway, is what such a constraint resolves. */
int cpDifference(CPWork work, sunrealtype t, N_Vector y, const double *c, const int *cols,
                 int ncols, double typical, int uneven) {
  sunrealtype *z = N_VGetArrayPointer(y);
  double *h = work->z, *saved = work->xl;
  const double root = sqrt(CP_UROUND);
  for (int k = 0; k < ncols; k++) {
    const int j = cols[k];
    saved[k]    = z[j];
    const volatile double next =
        z[j] + fmax(root * fmax(fabs(z[j]), typical), fmin(1.0 / work->w[j], root));
    h[j] = (next - z[j]) * (uneven ? 1 << k % 3 : 1);
    z[j] += h[j];
  }
  const int flag = cpConstraintForDifference(work, t, y, work->c2);
  for (int k = 0; k < ncols; k++) z[cols[k]] = saved[k];
  for (int i = 0; !flag && i < work->P->m; i++) work->c2[i] -= c[i];
  return flag;
}

static int differences(CPWork work, sunrealtype t, N_Vector y, const double *c) {
  const double typical     = cpTypicalSize(y);
  const CPColoring *colors = &work->colors;
  const CPMat *g           = &work->g;
  sunrealtype *data        = cpMatrixData(work->G);
  cpCopy(work->v, y);
  for (int q = 0; q < colors->ngroups; q++) {
    const int *cols  = colors->col + colors->start[q];
    const int ncols  = colors->start[q + 1] - colors->start[q];
    const int flag   = cpDifference(work, t, work->v, c, cols, ncols, typical, 0);
    const double *dc = work->c2, *h = work->z;
    if (flag) return flag;
    for (const int *j = cols; j < cols + ncols; j++) {
      if (!work->P->G_tmpl) { /* g may be compact */
        sunrealtype *column = SUNDenseMatrix_Column(work->G, *j);
        for (int i = 0; i < work->P->mc; i++) column[i] = dc[i] / h[*j];
        continue;
      }
      for (size_t k = g->start[*j]; k < g->start[*j + 1]; k++)
        if (work->source[k] != CP_NORM_ENTRY) data[work->source[k]] = dc[g->row[k]] / h[*j];
    }
  }
  return CP_SUCCESS;
}

static int userJacobian(CPWork work, sunrealtype t, N_Vector y, const double *c) {
  CPProjector P = work->P;
  memcpy(N_VGetArrayPointer(work->uc), c, (size_t)P->mc * sizeof *c);
  if (work->pattern_is_kept) cpMatrixZeroValues(work->G);
  else cpMatrixZero(work->G, P->G_tmpl);
  work->pattern_is_kept = 0;
  const int flag        = P->jac(t, y, work->uc, work->G, P->user_data);
  if (flag) return cpUserResult(work->text, flag, t, "the constraint Jacobian");
  if (P->G_tmpl && !cpMatrixSamePattern(work->G, P->G_tmpl))
    return cpReason(
        work->text, CP_USERFUNC_FAIL,
        "at t = %.15g: the constraint Jacobian function changed the index arrays of its "
        "template (CPProjectorSetJacFn)",
        t);
  work->pattern_is_kept = 1;
  return CP_SUCCESS; /* whose entries cpGradientGather checks */
}

int cpJacobian(CPWork work, sunrealtype t, N_Vector y, const double *c) {
  CP_COUNT(work, nje);
  if (work->P->mc == 0) return CP_SUCCESS;
  return work->P->jac ? userJacobian(work, t, y, c) : differences(work, t, y, c);
}
