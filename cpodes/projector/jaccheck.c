/* Is the user's G the derivative of the user's c? Of a pattern alone: are there entries outside of
 * it? */
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

/* Part of its row's norm by which an entry may differ from a difference quotient. */
#define ALIKE 1.0e-4

static int isAlike(const CPWork work, int i, int j, double gij, double dq) {
  return fabs(gij - dq) / work->rows.w[j] <= ALIKE * work->rows.unit[i];
}

/* Is a group of columns as the difference along all of them has it, whose steps are not in the
 * ratios in which G was made of differences? Nothing may be left that belongs to no entry. */
static int groupIsAlike(CPWork work, const int *cols, int ncols) {
  const CPMat *g    = &work->g;
  const int mc      = work->P->mc;
  double *has_entry = work->rows.a;
  int alike         = 1;
  memset(has_entry, 0, (size_t)work->P->m * sizeof *has_entry);
  for (int q = 0; q < ncols; q++)
    for (size_t k = g->start[cols[q]]; k < g->start[cols[q] + 1]; k++) {
      const int i = g->row[k], j = cols[q];
      if (i >= mc) continue;
      alike        = alike && isAlike(work, i, j, g->value[k], work->room.c2[i] / work->room.z[j]);
      has_entry[i] = 1.0;
    }
  for (int i = 0; alike && i < mc; i++)
    alike = has_entry[i] != 0.0 ||
            isAlike(work, i, cols[0], 0.0, work->room.c2[i] / work->room.z[cols[0]]);
  return alike;
}

/* The columns of a group one by one, unless all of them are alike together. */
static int compareGroup(CPWork work, sunrealtype t, const int *cols, int ncols, double typical) {
  const CPMat *g = &work->g;
  if (ncols > 1) {
    const int flag = cpDifference(work, t, work->v, work->rows.c, cols, ncols, typical, 1);
    if (flag) return flag;
    if (groupIsAlike(work, cols, ncols)) {
      for (int q = 0; q < ncols; q++)
        for (size_t k = g->start[cols[q]]; k < g->start[cols[q] + 1]; k++) {
          const int i = g->row[k], j = cols[q];
          if (i < work->P->mc) compare(work, i, j, g->value[k], work->room.c2[i] / work->room.z[j]);
        }
      return CP_SUCCESS;
    }
  }
  for (int k = 0; k < ncols; k++) {
    const int flag = cpDifference(work, t, work->v, work->rows.c, cols + k, 1, typical, 0);
    if (flag) return flag;
    compareColumn(work, cols[k]);
  }
  return CP_SUCCESS;
}

int cpJacobianError(CPWork work, sunrealtype t, N_Vector y, double *err, int *row, int *col) {
  const int mc   = work->P->mc;
  const CPMat *g = &work->g;
  *err = 0.0, *row = *col = -1;
  if (!canBeWrong(work->P)) return CP_SUCCESS;
  int flag = cpConstraint(work, CP_NCE, t, y, work->rows.c);
  if (!flag) flag = cpJacobian(work, t, y, work->rows.c);
  if (flag) return flag;
  const double typical     = cpTypicalSize(y);
  const CPColoring *colors = &work->colors;
  N_VScale(1.0, y, work->v);
  for (int i = 0; i < work->P->m; i++) work->rows.unit[i] = 0.0;
  for (int j = 0; j < work->P->n; j++) /* unit_i <- |g_i| in the units of the columns */
    for (size_t k = g->start[j]; k < g->start[j + 1]; k++)
      work->rows.unit[g->row[k]] = hypot(work->rows.unit[g->row[k]], g->value[k] / work->rows.w[j]);
  for (int i = 0; i < mc; i++) work->room.r[i] = work->room.s[i] = 0.0, work->room.rl[i] = -1.0;
  for (int q = 0; !flag && q < colors->ngroups; q++)
    flag = compareGroup(work, t, colors->col + colors->start[q],
                        colors->start[q + 1] - colors->start[q], typical);
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
    const int flag = cpConstraint(work, CP_NCE, t, work->v, work->room.c2);
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

int cpMatrixProbe(void *self, sunrealtype t, N_Vector y, N_Vector ewt) {
  CPWork work = self;
  double err;
  int row, col, suspicious = 0;
  int flag = CP_SUCCESS;
  if (!canBeWrong(work->P)) return flag;
  if (!work->newton.valid) {
    flag = cpWeights(work, y, ewt);
    if (!flag) flag = cpConstraint(work, CP_NCE, t, y, work->rows.c);
    if (!flag) flag = cpJacobian(work, t, y, work->rows.c);
  }
  if (flag) return flag;
  flag = probeDirection(work, t, y, &suspicious);
  cpNewtonForget(&work->newton);
  if (flag > 0) return CP_SUCCESS; /* c does not reach that far: nothing to compare */
  if (flag || !suspicious) return flag;
  flag = cpJacobianError(work, t, y, &err, &row, &col);
  if (flag > 0 || (!flag && err <= CP_WRONG_JACOBIAN)) return CP_SUCCESS;
  if (flag) return flag;
  const double *entry = cpMatAt(&work->g, row, col);
  return cpReason(
      work->text, -CP_CNSTRJAC_WRONG,
      "at t = %.15g: entry (%d, %d) of the constraint Jacobian is %g and not the derivative of "
      "constraint %d with respect to component %d (relative error %.1e of the row)",
      t, row, col, entry ? *entry : 0.0, row, col, err);
}
