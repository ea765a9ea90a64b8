/* Residuals that are arrays c [m], for kinds that know the entries of G or products with it: the
 * size of the violation, what is noise, and why an iteration does not converge. Vectors of the
 * state lie in one memory. */
#include "newton.h"

#include "cpodes/base/random.h"
#include "projector_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* If K has at most this many entries, and all angles between rows are wide, so that K is accurate
 * to the last digits, products with K take fewer instructions than solutions with the factors
 * (bench/overhead.sh). K is formed after m right-hand sides, or at once if the previous factors had
 * more. */
#define SMALL_INVERSE 64

void cpRowsCreate(CPRows *rows, CPArena *arena, int m, int n) {
  *rows = (CPRows){.m = m, .n = n};
  CP_ARRAYS(arena, m, &rows->c, &rows->size, &rows->unit, &rows->a, &rows->frozen, &rows->b,
            &rows->d, &rows->kept);
  CP_NEW(arena, rows->w, n);
  CP_NEW(arena, rows->is_idle, m);
  if ((size_t)m * (size_t)n <= SMALL_INVERSE) CP_NEW(arena, rows->K, m * n);
}

/* Number of tolerances within which a component is zero but for errors */
#define SIZELESS 100.0

/* Sizes of the components x [n], as they enter the terms of constraints. w [n]: their error
 * weights, or NULL; size may be x. A component that is zero but for errors, as in a planar or
 * symmetric motion, has no size of its own, and |c_i| over its terms would be a ratio of errors. It
 * counts as large as the largest component in units of their tolerances, but at least as 100
 * tolerances. */
static void componentSizes(int n, const double *x, const double *w, double *size) {
  double largest = SIZELESS;
  for (int j = 0; j < n; j++) largest = fmax(largest, fabs(x[j]) * cpWeightOf(w, x, j));
  for (int j = 0; j < n; j++) {
    const double one = cpWeightOf(w, x, j);
    size[j]          = fabs(x[j]) * one > SIZELESS ? fabs(x[j]) : largest / one;
  }
}

double cpRelativeDistance(const CPMat *A, const double *r, const char *out, const double *x,
                          const double *w, double *size, double *terms) {
  double largest = 0.0;
  componentSizes(A->cols, x, w, size);
  cpMatAbsTimes(A, size, terms);
  for (int i = 0; i < A->rows; i++)
    if (!out[i] && terms[i] > 0.0) largest = fmax(largest, fabs(r[i]) / terms[i]);
  return largest;
}

/* ---- the parts of the iteration ---- */

static double sizeOf(const CPRows *rows, int i) {
  return rows->size[i] > 0.0 ? rows->size[i] : CP_ROUNDED;
}

static int isLeftAlone(const CPRows *rows, int i) {
  return rows->is_idle[i] && fabs(rows->c[i]) <= sizeOf(rows, i);
}

static double violation(const CPRows *rows, int *worst) {
  double largest = -1.0;
  *worst         = -1;
  for (int i = 0; i < rows->m; i++) {
    const double size = sizeOf(rows, i);
    if (fabs(rows->c[i]) > largest * size && !isLeftAlone(rows, i))
      largest = fabs(rows->c[i]) / size, *worst = i;
  }
  return *worst < 0 ? 0.0 : largest;
}

static int numberOf(const CPRows *rows, int i) {
  return i >= 0 && rows->number ? rows->number[i] : i;
}

double cpRowsMeasure(CPNewton *newton, int *worst, double *residual) {
  const CPRows *rows   = newton->rows;
  const double largest = violation(rows, worst);
  if (residual) *residual = *worst < 0 ? 0.0 : rows->c[*worst];
  *worst = numberOf(rows, *worst);
  return largest;
}

double cpRowsDistance(CPNewton *newton) {
  const CPRows *rows = newton->rows;
  double largest     = 0.0;
  for (int i = 0; i < rows->m; i++)
    if (fabs(rows->c[i]) > largest * rows->unit[i] && rows->unit[i] > 0.0)
      largest = fabs(rows->c[i]) / rows->unit[i];
  return largest;
}

int cpRowsLift(CPNewton *newton, const double *r, double *x) {
  CPRows *rows               = newton->rows;
  const CPNewtonParts *parts = newton->parts;
  const int m = rows->m, n = rows->n;
  if (!rows->K || newton->rank.rank < 0 || newton->rank.sine < CP_NARROW_ANGLE)
    return parts->lift(newton, r, x);
  if (rows->made != newton->made)
    rows->made = newton->made, rows->nlifts = rows->nlifts > m ? m : 0;
  if (rows->nlifts < m) return rows->nlifts++, parts->lift(newton, r, x);
  if (rows->nlifts == m) memset(rows->b, 0, (size_t)m * sizeof *rows->b);
  for (int i = 0; rows->nlifts == m && i < m; i++) { /* column i of K: K e_i */
    rows->b[i]     = 1.0;
    const int flag = parts->lift(newton, rows->b, x);
    rows->b[i]     = 0.0;
    if (flag) return flag;
    for (int j = 0; j < n; j++) rows->K[j * m + i] = x[j];
  }
  rows->nlifts = m + 1;
  cpMatTransposedTimes(&(CPMat){.rows = m, .cols = n, .value = rows->K}, 1.0, r, 0.0, x);
  return CP_SUCCESS;
}

int cpRowsDirection(CPNewton *newton, N_Vector x) {
  return cpRowsLift(newton, newton->rows->c, cpData(x));
}

double cpRowsMerit(CPNewton *newton) {
  const CPRows *rows = newton->rows;
  double phi         = 0.0;
  for (int i = 0; i < rows->m; i++)
    phi += (rows->c[i] / rows->frozen[i]) * (rows->c[i] / rows->frozen[i]);
  return phi;
}

/* ---- noise ---- */

void cpRowsRoundoff(CPNewton *newton, N_Vector y, const double *signs, double *r) {
  unsigned state  = 2463534242u;
  const int known = newton->parts->terms(newton, y, r);
  for (int i = 0; i < newton->rows->m; i++) {
    const double part = signs ? copysign(1.0, signs[i]) : cpUniformAwayFromZero(&state);
    r[i]              = known && !newton->rows->is_idle[i] ? part * CP_UROUND * r[i] : 0.0;
  }
}

/* Are all residuals above eps at most factor * bound_i? */
static int areWithin(const CPRows *rows, double eps, double factor, const double *bound) {
  for (int i = 0; i < rows->m; i++)
    if (fabs(rows->c[i]) > eps * rows->size[i] && fabs(rows->c[i]) > factor * bound[i] &&
        !isLeftAlone(rows, i))
      return 0;
  return 1;
}

int cpRowsTimeRoundoff(CPNewton *newton, sunrealtype t, N_Vector y, double *roundoff) {
  const CPRows *rows      = newton->rows;
  const CPNewtonParts *at = newton->parts;
  const sunrealtype delta = 0.5 * CP_FLOOR_FACTOR * CP_UROUND * fabs(t);
  double *before          = rows->d;
  int flag                = at->residuals(newton, t - delta, y);
  memcpy(before, rows->c, (size_t)rows->m * sizeof *before);
  if (!flag) flag = at->residuals(newton, t + delta, y);
  memcpy(roundoff, rows->c, (size_t)rows->m * sizeof *roundoff);
  if (!flag) flag = at->residuals(newton, t, y);
  for (int i = 0; i < rows->m; i++)
    roundoff[i] = 2.0 * fmin(fabs(rows->c[i] - before[i]), fabs(roundoff[i] - rows->c[i]));
  return flag;
}

/* largest_i <- the larger of largest_i and the second difference of c_i along `multiple` times newton->x.
 * rows->c is overwritten. */
static int secondDifference(CPNewton *newton, sunrealtype t, N_Vector y, double multiple,
                            const double *c, double *largest) {
  const CPRows *rows = newton->rows;
  double *second     = rows->b;
  for (int i = 0; i < rows->m; i++) second[i] = -2.0 * c[i];
  for (int sign = -1; sign <= 1; sign += 2) {
    N_VLinearSum(1.0, y, sign * multiple, newton->x, newton->near);
    const int flag = newton->parts->residuals(newton, t, newton->near);
    if (flag) return flag;
    for (int i = 0; i < rows->m; i++) second[i] += rows->c[i];
  }
  for (int i = 0; i < rows->m; i++) largest[i] = fmax(largest[i], fabs(second[i]));
  return CP_SUCCESS;
}

/* Multiples of the correction at which c is tried. Residuals that round to multiples of one number q, as where
 * g(t) is large, show it only where they pass half of it: one of these multiples leads there, for residuals
 * from a thirtieth of q to 4 q. */
static const double MULTIPLES[] = {1.0, 2.0, 4.0, 0.5, 0.25, 0.125, 8.0, 16.0};

/* bound_i += sum_k |mu_k| bound_k, where g_i = sum_k mu_k g_k is the gradient of a residual above eps: corrections make those of the rows k
 * zero, but for their roundoff, and thereby that of a dependent row i the combination of their errors. Rows k with short gradients, which
 * have the same roundoff as others, have large mu_k. Returns 1 if a bound has grown. */
static int addCombined(CPNewton *newton, double eps, double *bound, double *mu) {
  const CPRows *rows = newton->rows;
  int any            = 0;
  if (newton->rank.ndependent == 0 || newton->rank.rank < 0) return 0;
  for (int i = 0; i < rows->m; i++) {
    double sum = 0.0;
    if (!(fabs(rows->c[i]) > eps * rows->size[i] && fabs(rows->c[i]) > bound[i])) continue;
    if (newton->parts->combination(newton, i, mu)) return any;
    for (int k = 0; k < rows->m; k++)
      if (k != i && !rows->is_idle[k]) sum += fabs(mu[k]) * bound[k];
    bound[i] += sum, any = 1;
  }
  return any;
}

/* The terms of c may be larger than G and y show: a motion g(t) in it has the roundoff of t, and states may
 * be displacements. Residuals are noise, too, if second differences of c along the next correction are as
 * large as c: those of a smooth c vanish over such distances, even if G is wrong. */
int cpRowsAreNoise(CPNewton *newton, sunrealtype t, N_Vector y, double eps, int thorough) {
  CPRows *rows  = newton->rows;
  double *bound = rows->a, *c = rows->kept;
  const size_t length = (size_t)rows->m * sizeof *c;
  const int known     = newton->parts->terms(newton, y, bound);
  for (int i = 0; i < rows->m; i++) bound[i] = known ? CP_FLOOR_FACTOR * CP_UROUND * bound[i] : 0.0;
  if (areWithin(rows, eps, 1.0, bound)) return 1;
  if (!thorough) return 0;
  memcpy(c, rows->c, length);
  int flag = cpRowsTimeRoundoff(newton, t, y, rows->b);
  memcpy(rows->c, c, length);
  if (flag < 0) return flag;
  for (int i = 0; !flag && i < rows->m; i++) bound[i] += rows->b[i];
  if (areWithin(rows, eps, 1.0, bound)) return 1;
  if (addCombined(newton, eps, bound, rows->b) && areWithin(rows, eps, 1.0, bound)) return 1;
  flag                    = newton->parts->direction(newton, newton->x);
  const sunrealtype *step = N_VGetArrayPointer(newton->x);
  double reach            = 0.0; /* of the correction, in tolerances */
  if (flag) return flag < 0 ? flag : 0;
  for (int j = 0; j < rows->n; j++) reach = fmax(reach, fabs(step[j]) * rows->w[j]);
  memset(rows->d, 0, length);
  for (size_t k = 0; k < sizeof MULTIPLES / sizeof *MULTIPLES; k++) {
    if (!(reach * fmin(MULTIPLES[k], 1.0) <= CP_NOISE_REACH)) continue;
    if (MULTIPLES[k] > 4.0 && reach * MULTIPLES[k] > 4.0 * CP_NOISE_REACH) continue;
    flag = secondDifference(newton, t, y, MULTIPLES[k], c, rows->d);
    memcpy(rows->c, c, length);
    if (flag) return flag < 0 ? flag : 0;
    for (int i = 0; i < rows->m; i++) bound[i] = fmax(bound[i], rows->d[i] / CP_NOISE_PART);
    if (areWithin(rows, eps, 1.0, bound)) return 1;
  }
  return 0;
}

/* ---- why there is no convergence ---- */

/* The largest number of constraints that a message names */
enum { NAMED = 8 };

void cpAppend(char *text, size_t length, const char *more) {
  const size_t used = strlen(text);
  snprintf(text + used, length - used, "%s", more);
}

static const char *nameOf(const CPNewton *newton, int i, char name[CP_ROW_NAME]) {
  return cpRowName(newton->work->P, numberOf(newton->rows, i), name);
}

/* Are the residuals out of reach of corrections? If so, text says which row keeps which residual,
 * and on which others it depends. */
static int isContradiction(CPNewton *newton, char *text, size_t length) {
  const CPRows *rows         = newton->rows;
  const CPNewtonParts *parts = newton->parts;
  const CPRank *rank         = &newton->rank;
  double largest = 0.0, remains = 0.0, *left = rows->a, *mu = rows->b;
  char name[CP_ROW_NAME], keeps[80];
  int row = -1, named = 0;
  if (rank->ndependent == 0 && rank->rank >= 0) return 0;
  if (parts->direction(newton, newton->x) || parts->times(newton, newton->x, left)) return 0;
  for (int i = 0; i < rows->m; i++) {
    if (rows->is_idle[i] || !(rows->size[i] > 0.0)) continue;
    largest = fmax(largest, fabs(rows->c[i]) / rows->size[i]);
    if (fabs(rows->c[i] - left[i]) > remains * rows->size[i])
      remains = fabs(rows->c[i] - left[i]) / rows->size[i], row = i;
  }
  if (!(remains > CP_REMAINS * largest)) return 0;
  snprintf(keeps, sizeof keeps, ", keeps a residual of %.3e", rows->c[row] - left[row]);
  if (rank->rank < 0)
    snprintf(text, length, "constraints contradict each other: %s", nameOf(newton, row, name));
  else {
    snprintf(text, length, "others contradict it (rank %ld of %ld): %s, whose gradient is given",
             (long)rank->rank, (long)(rank->rank + rank->ndependent), nameOf(newton, row, name));
    const int known = !parts->combination(newton, row, mu);
    for (int k = 0; known && k < rows->m && named <= NAMED; k++) {
      if (k == row || rows->is_idle[k] || fabs(mu[k]) < CP_INEXACT) continue;
      cpAppend(text, length, named == 0 ? " by " : ", ");
      cpAppend(text, length, named++ == NAMED ? "..." : nameOf(newton, k, name));
    }
  }
  cpAppend(text, length, keeps);
  return 1;
}

int cpRowsExplain(CPNewton *newton, sunrealtype t, N_Vector y, int damped) {
  const CPRows *rows = newton->rows;
  char *text         = cpWorkText(newton->work);
  char name[CP_ROW_NAME], what[CP_ROW_NAME + 96], others[CP_TEXT_LENGTH / 2];
  int worst; /* exists, since only violated constraints are explained */
  const double largest = violation(rows, &worst);
  if (damped)
    return cpReason(text, CP_IC_FAIL,
                    "at t = %.10g: no consistent state found near the one given; violated most: %s "
                    "(%.3e)",
                    t, nameOf(newton, worst, name), rows->c[worst]);
  snprintf(what, sizeof what, "%s is violated by %.3e (%.3g times its tolerance, eps = %g)",
           nameOf(newton, worst, name), rows->c[worst], largest, cpWorkOptions(newton->work)->eps);
  if (rows->is_idle[worst])
    return cpReason(text, -CP_PROJ_INCONSISTENT,
                    "at t = %.10g: %s, and no free component can change it", t, what);
  if (isContradiction(newton, others, sizeof others))
    return cpReason(text, -CP_PROJ_INCONSISTENT, "at t = %.10g: %s, and %s", t, what, others);
  const int flag = newton->parts->compare(newton, t, y);
  if (flag) return flag;
  return cpReason(text, -CP_PROJ_CONV_FAILURE, "at t = %.10g: the projection does not converge; %s",
                  t, what);
}
