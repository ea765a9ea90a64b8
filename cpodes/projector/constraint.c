/* The user's c and G, called and checked; G by difference quotients. */
#include "projector_impl.h"

#include <math.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

int cpConstraint(CPWork work, sunrealtype t, N_Vector y, N_Vector c) {
  CPProjector P = work->P;
  int flag      = P->c(t, y, c, P->user_data);
  work->stats.nce++;
  P->stats.nce++;
  if (flag < 0)
    return cpReason(work->text, CP_CNSTRFUNC_FAIL, "at t = %g: the constraint function failed (%d)",
                    t, flag);
  if (flag > 0)
    return cpReason(work->text, -CP_REPTD_CNSTRFUNC_ERR,
                    "at t = %g: the constraint function failed recoverably (%d)", t, flag);
  int bad = cpFirstNonFinite(c);
  if (bad >= 0)
    return cpReason(work->text, -CP_CNSTR_NONFINITE, "at t = %g: constraint %d is %g", t, bad,
                    N_VGetArrayPointer(c)[bad]);
  return CP_SUCCESS;
}

/* Size below which a component counts as zero when it is perturbed: the tolerance alone may be far
 * below what the other terms of a constraint can resolve. */
static double typicalSize(N_Vector y) {
  const double largest = N_VMaxNorm(y);
  return largest > 0.0 ? 0.1 * largest : 1.0;
}

/* Increment of y_j, as a machine number. Where states are small next to the constants of a
 * constraint (displacements from a reference position), the root of roundoff in them is nothing;
 * one tolerance, over which G must be good anyway, is what such a constraint resolves. */
static double increment(double y, double size, double tolerance) {
  const double root = sqrt(CP_UROUND);
  volatile double z = y + fmax(root * size, fmin(tolerance, root));
  return z - y;
}

int cpJacobianDQ(CPWork work, sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G) {
  CPProjector P = work->P;
  const int m = P->m, n = P->n;
  sunrealtype *z        = N_VGetArrayPointer(work->v);
  const sunrealtype *c0 = N_VGetArrayPointer(c), *c1 = N_VGetArrayPointer(work->c2);
  const double typical = typicalSize(y);
  N_VScale(1.0, y, work->v);
  for (int j = 0; j < n; j++) {
    const double zj = z[j], h = increment(zj, fmax(fabs(zj), typical), 1.0 / work->w[j]);
    z[j]     = zj + h;
    int flag = cpConstraint(work, t, work->v, work->c2); /* c(t, y + h e_j) */
    z[j]     = zj;
    work->stats.nce--, work->stats.nceDQ++;
    P->stats.nce--, P->stats.nceDQ++;
    if (flag) return flag;
    sunrealtype *column = SUNDenseMatrix_Column(G, j);
    for (int i = 0; i < m; i++) column[i] = (c1[i] - c0[i]) / h;
  }
  return CP_SUCCESS;
}

int cpJacobian(CPWork work, sunrealtype t, N_Vector y, N_Vector c) {
  CPProjector P = work->P;
  work->stats.nje++;
  P->stats.nje++;
  memset(SUNDenseMatrix_Data(work->G), 0,
         (size_t)SUNDenseMatrix_LData(work->G) * sizeof(sunrealtype));
  if (!P->jac) return cpJacobianDQ(work, t, y, c, work->G);
  int flag = P->jac(t, y, c, work->G, P->user_data);
  if (flag < 0)
    return cpReason(work->text, CP_CNSTRJAC_FAIL, "at t = %g: the constraint Jacobian failed (%d)",
                    t, flag);
  if (flag > 0)
    return cpReason(work->text, -CP_REPTD_CNSTRJAC_ERR,
                    "at t = %g: the constraint Jacobian failed recoverably (%d)", t, flag);
  return CP_SUCCESS; /* whose entries cpGradientGather checks */
}

/* Columns weighted by their units 1/w_j; the error of a row is relative to the row's norm. */
int cpJacobianError(CPWork work, sunrealtype t, N_Vector y, double *err, int *row, int *col) {
  CPProjector P = work->P;
  const int m = P->m, n = P->n;
  *err = 0.0, *row = *col = -1;
  if (!P->jac) return CP_SUCCESS;
  int flag = cpConstraint(work, t, y, work->c);
  if (!flag) flag = cpJacobian(work, t, y, work->c);
  if (!flag) flag = cpGradientGather(work, t);
  if (flag) return flag;
  SUNMatrix DQ = SUNMatClone(work->G);
  if (!DQ) return cpReason(work->text, CP_MEM_FAIL, "no memory to check the Jacobian");
  flag = cpJacobianDQ(work, t, y, work->c, DQ);
  for (int i = 0; !flag && i < m; i++) {
    double norm2 = 0.0, worst = -1.0;
    int where = -1;
    for (int j = 0; j < n; j++) {
      const double gij = SM_ELEMENT_D(work->G, i, j), dq = SM_ELEMENT_D(DQ, i, j);
      const double size = fmax(fabs(gij), fabs(dq)) / work->w[j];
      norm2 += size * size;
      if (fabs(gij - dq) / work->w[j] > worst) worst = fabs(gij - dq) / work->w[j], where = j;
    }
    if (norm2 > 0.0 && worst / sqrt(norm2) > *err)
      *err = worst / sqrt(norm2), *row = i, *col = where;
  }
  SUNMatDestroy(DQ);
  return flag;
}

/* Smallest relative error of a row that a user cannot mean. Differences are good to about 1e-7. */
#define WRONG_JACOBIAN 1.0e-2

/* Uniform in +-[0.5, 1], the same sequence at each call: a run must be repeatable. */
static double nextDirection(unsigned *state) {
  *state = *state * 1664525u + 1013904223u;
  return (*state & 0x10000u ? 1.0 : -1.0) * (0.5 + *state / 8589934592.0);
}

/* c(t, y + v) - c(t, y - v) against 2 G v for one v without zeros: work->r their difference,
 * work->rl the size of its terms. */
static int probeDirection(CPWork work, sunrealtype t, N_Vector y, int *suspicious) {
  CPProjector P = work->P;
  const int m = P->m, n = P->n;
  const sunrealtype *y0 = N_VGetArrayPointer(y), *c = N_VGetArrayPointer(work->c2);
  sunrealtype *z = N_VGetArrayPointer(work->v);
  const double h = cbrt(CP_UROUND), typical = typicalSize(y);
  for (int i = 0; i < m; i++) work->r[i] = work->rl[i] = 0.0;
  for (int sign = 1; sign >= -1; sign -= 2) {
    unsigned state = 12345u;
    for (int j = 0; j < n; j++) {
      const double vj =
          h * fmax(fmax(fabs(y0[j]), typical), 1.0 / work->w[j]) * nextDirection(&state);
      z[j] = y0[j] + sign * vj;
      for (int i = 0; i < m; i++) {
        const double step = SM_ELEMENT_D(work->G, i, j) * vj;
        work->r[i] -= step;
        work->rl[i] += fabs(step);
      }
    }
    int flag = cpConstraint(work, t, work->v, work->c2);
    if (flag) return flag;
    for (int i = 0; i < m; i++) work->r[i] += sign * c[i];
  }
  *suspicious = 0;
  for (int i = 0; i < m; i++) {
    const double size  = fmax(work->rl[i], fabs(work->r[i]));
    const double noise = 1.0e3 * CP_UROUND * fmax(1.0, fabs(c[i]));
    if (fabs(work->r[i]) > WRONG_JACOBIAN * size + noise) *suspicious = 1;
  }
  return CP_SUCCESS;
}

int cpJacobianProbe(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  double err;
  int row, col, suspicious = 0;
  if (!work->P->jac) return CP_SUCCESS;
  int flag = cpWeights(work, y, ewt);
  if (!flag) flag = cpConstraint(work, t, y, work->c);
  if (!flag) flag = cpJacobian(work, t, y, work->c);
  if (!flag) flag = cpGradientGather(work, t);
  if (flag) return flag;
  flag        = probeDirection(work, t, y, &suspicious);
  work->valid = 0;                 /* the weights have been replaced */
  if (flag > 0) return CP_SUCCESS; /* c does not reach that far: nothing to compare */
  if (flag || !suspicious) return flag;
  flag = cpJacobianError(work, t, y, &err, &row, &col);
  if (flag > 0 || (!flag && err <= WRONG_JACOBIAN)) return CP_SUCCESS;
  if (flag) return flag;
  return cpReason(
      work->text, -CP_CNSTRJAC_WRONG,
      "at t = %g: entry (%d, %d) of the constraint Jacobian is %g and not the derivative of "
      "constraint %d with respect to component %d (relative error %.1e of the row)",
      t, row, col, SM_ELEMENT_D(work->G, row, col), row, col, err);
}
