/* Is the user's G the derivative of the user's c, and are all entries within its pattern? One direction tells, and
 * then each column by itself which entry is wrong. */
#include "projector_impl.h"

#include <math.h>
#include <string.h>

/* There is something of the user's to compare with. */
static int canBeWrong(const CPProjector P) { return P->mc > 0 && (P->user.jac || P->G_tmpl); }

/* Of each row: the norm squared (work->room.r), the largest difference (work->room.rl) and where it is
 * (work->room.s). Columns are weighted by their units 1/w_j. */
static void compare(CPWork work, int i, int j, double gij, double dq) {
  const double unit = 1.0 / work->rows.w[j], size = fmax(fabs(gij), fabs(dq)) * unit;
  work->room.r[i] += size * size;
  if (fabs(gij - dq) * unit > work->room.rl[i])
    work->room.rl[i] = fabs(gij - dq) * unit, work->room.s[i] = j;
}

/* Column j of G against the difference quotients in work->room.c2, along it alone. Entries that are
 * differences themselves may have got what belongs to other columns of their group: then those
 * outside of the pattern are to blame. */
static void compareColumn(CPWork work, int j) {
  const CPMat *g = &work->g;
  const int mc   = work->P->mc;
  for (size_t k = g->start[j]; k < g->start[j + 1]; k++) {
    const int i = g->row[k];
    if (i >= mc) continue;
    const double dq = work->room.c2[i] / work->room.z[j];
    compare(work, i, j, work->P->user.jac ? g->value[k] : dq, dq);
    work->room.c2[i] = 0.0;
  }
  for (int i = 0; i < mc; i++) /* roundoff in c counts as the difference that it makes */
    if (work->room.c2[i] != 0.0) compare(work, i, j, 0.0, work->room.c2[i] / work->room.z[j]);
}

int cpJacobianError(CPWork work, sunrealtype t, N_Vector y, double *err, int *row, int *col) {
  const int mc = work->P->mc;
  *err = 0.0, *row = *col = -1;
  if (!canBeWrong(work->P)) return CP_SUCCESS;
  int flag = cpConstraint(work, CP_COUNTER(nce), t, y, work->rows.c);
  if (!flag) flag = cpJacobian(work, t, y, work->rows.c);
  if (flag) return flag;
  const double typical = cpTypicalSize(y);
  N_VScale(1.0, y, work->v);
  for (int i = 0; i < mc; i++) work->room.r[i] = work->room.s[i] = 0.0, work->room.rl[i] = -1.0;
  for (int j = 0; !flag && j < work->P->n; j++) {
    flag = cpDifference(work, t, work->v, work->rows.c, &j, 1, typical);
    if (!flag) compareColumn(work, j);
  }
  for (int i = 0; !flag && i < mc; i++)
    if (work->room.r[i] > 0.0 && work->room.rl[i] / sqrt(work->room.r[i]) > *err)
      *err = work->room.rl[i] / sqrt(work->room.r[i]), *row = i, *col = (int)work->room.s[i];
  return flag;
}

/* ---- along one direction ---- */

/* Is c(t, y + v) - c(t, y - v) far from 2 G v, for a vector v without zeros? *suspicious: 1 if so. */
static int probeDirection(CPWork work, sunrealtype t, N_Vector y, int *suspicious) {
  const int m = work->P->m, n = work->P->n;
  const CPMat *g        = &work->g;
  const sunrealtype *y0 = N_VGetArrayPointer(y);
  sunrealtype *trial    = N_VGetArrayPointer(work->v);
  double *v = work->room.x, *difference = work->room.r, *terms = work->room.rl;
  const double h = cbrt(CP_UROUND), typical = cpTypicalSize(y);
  unsigned state = 12345u;
  for (int j = 0; j < n; j++)
    v[j] =
        h * fmax(fmax(fabs(y0[j]), typical), 1.0 / work->rows.w[j]) * cpUniformAwayFromZero(&state);
  for (int i = 0; i < m; i++) difference[i] = terms[i] = 0.0;
  for (int sign = 1; sign >= -1; sign -= 2) {
    for (int j = 0; j < n; j++) trial[j] = y0[j] + sign * v[j];
    const int flag = cpConstraint(work, CP_COUNTER(nce), t, work->v, work->room.c2);
    if (flag) return flag;
    for (int i = 0; i < m; i++) difference[i] += sign * work->room.c2[i];
  }
  for (int j = 0; j < n; j++)
    for (size_t k = g->start[j]; k < g->start[j + 1]; k++) {
      const double step = 2.0 * g->value[k] * v[j];
      difference[g->row[k]] -= step;
      terms[g->row[k]] += fabs(step);
    }
  *suspicious = 0;
  for (int i = 0; i < work->P->mc; i++) {
    const double size  = fmax(terms[i], fabs(difference[i]));
    const double noise = 1.0e3 * CP_UROUND * fmax(1.0, fabs(work->room.c2[i]));
    if (fabs(difference[i]) > CP_WRONG_JACOBIAN * size + noise) *suspicious = 1;
  }
  return CP_SUCCESS;
}

int cpJacobianWrong(CPWork work, sunrealtype t, N_Vector y, const char *before) {
  double err = 0.0;
  int row, col, suspicious = 0;
  char name[CP_ROW_NAME];
  if (!canBeWrong(work->P)) return CP_SUCCESS;
  int flag = probeDirection(work, t, y, &suspicious);
  if (!flag && suspicious) flag = cpJacobianError(work, t, y, &err, &row, &col);
  if (flag > 0) return CP_SUCCESS; /* c does not reach that far: nothing to compare */
  if (flag || !(err > CP_WRONG_JACOBIAN)) return flag;
  const double *entry = cpMatAt(&work->g, row, col);
  return cpReason(work->text, -CP_CNSTRJAC_WRONG,
                  "at t = %.15g: %sentry (%d, %d) of the constraint Jacobian is %g and not the "
                  "derivative of %s with respect to component %d (relative error %.1e of the row)",
                  t, before, row, col, entry ? *entry : 0.0, cpRowName(work->P, row, name), col,
                  err);
}
