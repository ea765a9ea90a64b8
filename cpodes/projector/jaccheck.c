/* Is G the derivative of the residuals, which are arrays, and does its pattern contain all entries?
 * Central differences along a random vector decide; if they disagree, differences by columns locate
 * the wrong entry. */
#include "projector_impl.h"

#include <math.h>
#include <string.h>

/* Step of component j in central differences */
static double stepOf(const CPRows *rows, N_Vector y, double typical, int j) {
  return cbrt(CP_UROUND) * fmax(fmax(fabs(N_VGetArrayPointer(y)[j]), typical), 1.0 / rows->w[j]);
}

/* difference <- c(t, y + v) - c(t, y - v), v in newton->x */
static int differenceAlong(CPNewton *newton, sunrealtype t, N_Vector y, double *difference) {
  const CPRows *rows = newton->rows;
  for (int sign = 1; sign >= -1; sign -= 2) {
    N_VLinearSum(1.0, y, sign, newton->x, newton->near);
    const int flag = newton->parts->residuals(newton, t, newton->near);
    if (flag) return flag;
    for (int i = 0; i < rows->m; i++)
      difference[i] = sign > 0 ? rows->c[i] : difference[i] - rows->c[i];
  }
  return CP_SUCCESS;
}

int cpDerivativeAlong(CPNewton *newton, sunrealtype t, N_Vector y, CPTimesAt times, const char *off,
                      unsigned *state, double *err) {
  const CPRows *rows = newton->rows;
  double *v = N_VGetArrayPointer(newton->x), *difference = rows->a, *Gv = rows->b;
  double *least        = rows->kept,
         *of_time      = rows->frozen; /* the smallest error of a row; its roundoff */
  const double typical = cpTypicalSize(y);
  for (int j = 0; j < rows->n; j++)
    v[j] = stepOf(rows, y, typical, j) * cpUniformAwayFromZero(state);
  int flag = times(newton->self, t, v, Gv);
  memset(of_time, 0, (size_t)rows->m * sizeof *of_time);
  *err = INFINITY;
  for (int k = -1; !flag && k <= CP_SHORTENED && *err > CP_WRONG_JACOBIAN; k++) {
    if (k == 0) flag = cpRowsTimeRoundoff(newton, t, y, of_time);
    if (k > 0) N_VScale(CP_SHORTER, newton->x, newton->x);
    for (int i = 0; k > 0 && i < rows->m; i++) Gv[i] *= CP_SHORTER;
    if (!flag) flag = differenceAlong(newton, t, y, difference);
    *err           = 0.0;
    double largest = 0.0;
    for (int i = 0; !flag && i < rows->m; i++)
      largest = fmax(largest, fabs(difference[i]) + fabs(2.0 * Gv[i]));
    for (int i = 0; !flag && i < rows->m; i++) {
      /* A row of zeros has no size of its own: others may close it, but for so little. */
      const double noise =
                       CP_DIFFERENCE_NOISE * CP_UROUND * fmax(1.0, fabs(rows->c[i])) + of_time[i],
                   hidden = noise / CP_WRONG_JACOBIAN,
                   size   = Gv[i] == 0.0 ? largest : fabs(difference[i]) + fabs(2.0 * Gv[i]),
                   error  = fabs(difference[i] - 2.0 * Gv[i]) / (size + hidden);
      /* A short step that shows nothing of a row does not make it right. */
      if (k <= 0 || (size > hidden && error < least[i])) least[i] = error;
      if (!off || !off[i]) *err = fmax(*err, least[i]);
    }
  }
  return flag;
}

int cpDerivativeEntries(CPNewton *newton, sunrealtype t, N_Vector y, const CPMat *G, int is_given,
                        const char *off, double *err, int *row, int *col) {
  const CPRows *rows   = newton->rows;
  double *v            = N_VGetArrayPointer(newton->x);
  const double typical = cpTypicalSize(y);
  /* for each row: its squared norm, the largest error, the column of that error, and of the difference
   * quotients of one column the nearest to its entry */
  double *square = rows->b, *worst = rows->kept, *where = rows->frozen, *nearest = rows->d,
         *difference = rows->a;
  *err = 0.0, *row = *col = -1;
  for (int i = 0; i < rows->m; i++) square[i] = 0.0, worst[i] = -1.0;
  memset(v, 0, (size_t)rows->n * sizeof *v);
  for (int j = 0; j < rows->n; j++) {
    const double unit = 1.0 / rows->w[j];
    int suspicious    = 1;
    v[j]              = stepOf(rows, y, typical, j);
    for (int k = 0; suspicious && k <= CP_SHORTENED; k++, v[j] *= CP_SHORTER) {
      const int flag = differenceAlong(newton, t, y, difference);
      if (flag) return flag;
      suspicious = 0;
      for (int i = 0; i < rows->m; i++) {
        const double *entry = cpMatAt(G, i, j), dq = difference[i] / (2.0 * v[j]);
        const double g = !entry ? 0.0 : is_given ? *entry : dq;
        if (k == 0 || fabs(g - dq) < fabs(g - nearest[i])) nearest[i] = dq;
        suspicious |= fabs(g - nearest[i]) > CP_INEXACT * fmax(fabs(g), fabs(dq));
      }
    }
    for (int i = 0; i < rows->m; i++) {
      const double *entry = cpMatAt(G, i, j), dq = nearest[i];
      const double g = !entry ? 0.0 : is_given ? *entry : dq;
      square[i] += fmax(fabs(g), fabs(dq)) * unit * fmax(fabs(g), fabs(dq)) * unit;
      if (fabs(g - dq) * unit > worst[i]) worst[i] = fabs(g - dq) * unit, where[i] = j;
    }
    v[j] = 0.0;
  }
  for (int i = 0; i < rows->m; i++)
    if (!(off && off[i]) && square[i] > 0.0 && worst[i] > *err * sqrt(square[i]))
      *err = worst[i] / sqrt(square[i]), *row = i, *col = (int)where[i];
  return CP_SUCCESS;
}

/* ---- the user's matrix ---- */

/* Has the user given a Jacobian or a pattern that can be wrong? */
static int canBeWrong(const CPProjector P) { return P->mc > 0 && (P->user.jac || P->G_tmpl); }

static int times(void *self, sunrealtype t, const double *v, double *Gv) {
  (void)t;
  cpMatTimes(&((CPWork)self)->g, 1.0, v, 0.0, Gv);
  return CP_SUCCESS;
}

int cpJacobianError(CPWork work, sunrealtype t, N_Vector y, double *err, int *row, int *col) {
  *err = 0.0, *row = *col = -1;
  if (!canBeWrong(work->P)) return CP_SUCCESS;
  const int flag = cpJacobianAt(work, t, y);
  return flag ? flag
              : cpDerivativeEntries(&work->newton, t, y, &work->g, work->P->user.jac != NULL, NULL,
                                    err, row, col);
}

int cpJacobianWrong(CPWork work, sunrealtype t, N_Vector y, const char *before) {
  double err = 0.0;
  int row, col;
  unsigned state = 12345u;
  char name[CP_ROW_NAME];
  if (!canBeWrong(work->P)) return CP_SUCCESS;
  int flag = cpDerivativeAlong(&work->newton, t, y, times, NULL, &state, &err);
  if (!flag && err > CP_WRONG_JACOBIAN) flag = cpJacobianError(work, t, y, &err, &row, &col);
  if (flag > 0) return CP_SUCCESS; /* c cannot be evaluated there: nothing to compare */
  if (flag || !(err > CP_WRONG_JACOBIAN)) return flag;
  return cpReason(work->text, -CP_CNSTRJAC_WRONG,
                  "at t = %.10g: %sentry (%d, %d) of the constraint Jacobian is %g and not the "
                  "derivative of %s with respect to component %d (relative error %.1e of the row)",
                  t, before, row, col, cpMatEntry(&work->g, row, col),
                  cpRowName(work->P, row, name), col, err);
}
