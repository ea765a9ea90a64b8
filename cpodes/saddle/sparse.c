/* Sparse Schur complement S = A^T A = L D L^T, by CHOLMOD, or by loops where L fills its envelope:
 * x = A S^{-1} r, mu = S^{-1} (A^T x - r).
 *
 * S is formed here, in its order of elimination, and factored in place, in two thirds of the time
 * that CHOLMOD takes with A^T itself (the guide has the figures). Dependent columns are dropped:
 * those with small pivots, if the remaining columns have no small pivots and span the dropped ones;
 * otherwise those that are dependent in double-double arithmetic (sparse_dd.c), which then also solves.
 * Neither of the two factorisations pivots, and columns that were good to drop at one state may be
 * bad at the next: dropped columns with large coefficients in the others are therefore exchanged
 * for them. */
#include "cpodes/base/compat.h"
#include "sparse_impl.h"

#include <math.h>
#include <string.h>

int cpCholmodFailure(const cholmod_common *chol) {
  return chol->status == CHOLMOD_OUT_OF_MEMORY || chol->status == CHOLMOD_TOO_LARGE ? CP_MEM_FAIL
                                                                                    : CP_LINSOL_FAIL;
}

static void destroy(void *content) {
  Sparse *s            = content;
  cholmod_common *chol = &s->common;
  cpSparseDDFree(s);
  cpArenaFree(&s->late);
  cholmod_l_free_factor(&s->L, chol);
  cholmod_l_free_dense(&s->b, chol);
  cholmod_l_free_dense(&s->x, chol);
  cholmod_l_free_dense(&s->y, chol);
  cholmod_l_free_dense(&s->e, chol);
  cholmod_l_finish(chol);
}

/* K with the structure of the plan, and values of its own */
static int createMatrix(Sparse *s, const cholmod_sparse *K, CPArena *arena) {
  double *value;
  CP_NEW(arena, s->K, 1);
  CP_NEW(arena, value, K->nzmax);
  if (cpArenaStatus(arena)) return CP_MEM_FAIL;
  *s->K   = *K;
  s->K->x = memcpy(value, K->x, K->nzmax * sizeof *value);
  return CP_SUCCESS;
}

/* Allocates what dropped columns and kept components need, which most systems do not have. */
static int allowDropped(Sparse *s) {
  if (s->reduced) return CP_SUCCESS;
  CP_ARRAYS(&s->late, s->XT.start[s->n], &s->reduced);
  CP_ARRAYS(&s->late, s->n, &s->z);
  CP_ARRAYS(&s->late, s->m, &s->coefficient);
  if (!cpArenaStatus(&s->late)) return CP_SUCCESS;
  cpArenaFree(&s->late); /* Memory may be found the next time. */
  s->reduced = s->z = s->coefficient = NULL;
  return CP_MEM_FAIL;
}

/* The workspace of solutions has CHOLMOD's own sizes: four right-hand sides at a time without supernodes. (CHOLMOD
 * would allocate it, but crashes if only a part of it fits into memory.) */
static int createWorkspace(Sparse *s) {
  cholmod_common *chol = &s->common;
  const size_t order = (size_t)s->order, block = s->is_lower ? order : 4;
  s->b = cholmod_l_zeros(order, 1, CHOLMOD_REAL, chol);
  s->x = cholmod_l_zeros(order, 1, CHOLMOD_REAL, chol);
  if (s->envelope) return s->b && s->x ? CP_SUCCESS : CP_MEM_FAIL;
  s->y = cholmod_l_zeros(block, s->is_lower ? 1 : order, CHOLMOD_REAL, chol);
  s->e = s->is_lower ? cholmod_l_zeros(1, s->L->maxesize, CHOLMOD_REAL, chol) : NULL;
  return s->b && s->x && s->y && (s->e || !s->is_lower) ? CP_SUCCESS : CP_MEM_FAIL;
}

int cpSparseCreate(Sparse *s, const Sparse *plan, CPArena *arena) {
  const size_t order = (size_t)plan->order, entries = plan->XT.start[plan->n];
  cholmod_common *chol = &s->common;
  *s                   = *plan;
  s->K                 = NULL;
  s->L                 = NULL;
  s->sine              = 1.0;
  cholmod_l_start(chol);
  chol->print                      = 0;
  chol->error_handler              = NULL;
  chol->quick_return_if_not_posdef = 1;
  chol->supernodal                 = plan->is_lower ? CHOLMOD_SUPERNODAL : CHOLMOD_SIMPLICIAL;
  if (!cpArenaOwn(arena, s, destroy)) return CP_MEM_FAIL;
  CP_NEW(arena, s->is_dependent, s->m);
  CP_NEW(arena, s->present, order);
  CP_NEW(arena, s->dropped, order);
  CP_ARRAYS(arena, entries, &s->XT.value);
  if (s->envelope) {
    CP_NEW(arena, s->l, s->envelope[order]);
    CP_ARRAYS(arena, order, &s->d, &s->inverse);
  } else CP_ARRAYS(arena, order, &s->w);
  if (cpArenaStatus(arena) || (s->nborder > 0 && allowDropped(s))) return CP_MEM_FAIL;
  if (!s->envelope) {
    if (createMatrix(s, plan->K, arena)) return CP_MEM_FAIL;
    s->L = cholmod_l_copy_factor(plan->L, chol);
    if (!s->L) return cpCholmodFailure(chol);
  }
  return createWorkspace(s);
}

/* Selects the values in use, in which dropped columns are zero. Returns whether nothing is dropped
 * or kept out of S; the diagonal of S then shows which columns are present. */
static int gather(Sparse *s) {
  const double *value = s->XT.value;
  char *present = s->present, *dropped = s->dropped;
  const int plain = s->nborder == 0 && !memchr(dropped, 1, (size_t)s->order);
  s->value        = plain ? value : s->reduced;
  if (plain) return 1;
  memset(present, 0, (size_t)s->order);
  for (size_t l = 0; l < s->XT.start[s->n]; l++) {
    const int k = s->position[l];
    present[k] |= value[l] != 0.0;
    s->reduced[l] = dropped[k] ? 0.0 : value[l];
  }
  for (int k = 0; k < s->order; k++) dropped[k] = dropped[k] && present[k];
  return 0;
}

/* Reports the dropped columns as dependent. */
static void countColumns(Sparse *s) {
  s->dependent = -1;
  memset(s->is_dependent, 0, (size_t)s->m);
  for (int k = 0; k < s->order; k++)
    if (s->dropped[k]) s->is_dependent[s->dependent = s->constraint[k]] = 1;
}

/* Forms K; a column that is absent or dropped gets 1 on the diagonal. */
static void formMatrix(Sparse *s, int plain) {
  const Index *start = s->K->p, *row = s->K->i;
  double *K = s->K->x, *w = s->w;
  for (int k = 0; k < s->order; k++) {
    if (s->constraint[k] < 0) continue;
    for (size_t e = s->column[k]; e < s->column[k + 1]; e++) {
      const Entry *entry = &s->entry[e];
      const double v     = s->value[s->is_lower ? entry->first : entry->last];
      for (int l = entry->first; l <= entry->last; l++) w[s->position[l]] += v * s->value[l];
    }
    for (Index q = start[k]; q < s->product_end[k]; q++) K[q] = w[row[q]], w[row[q]] = 0.0;
    if (plain) s->present[k] = K[start[k]] != 0.0;
    if (!s->present[k] || s->dropped[k]) K[start[k]] = 1.0;
  }
  for (size_t l = 0; l < s->nborder; l++) K[s->border_to[l]] = s->value[s->border_from[l]];
}

/* Positive result of a factorisation. */
enum { DEPENDENT = 1 };

/* ---- L D L^T in the envelope ---- */

/* Constant widths, lengths and flags in the following functions let the compiler unroll the loops. */

/* Adds the products of a group to S (the entries of l before those of the diagonal, d), and if has_z those
 * with z to r. */
CP_WIDE_PART void addGroup(const Sparse *s, int width, int length, const Group *group, int has_z,
                           const double *z, double *r) {
  const int *position = s->position + group->first;
  const double *x     = s->value + group->first;
  for (int i = 0; i < length; i++) {
    const int k = position[i];
    double *row = s->l + s->envelope[k + 1] - k, v[MOST_ALIKE];
    for (int g = 0; g < width; g++) v[g] = x[g * length + i];
    double square = s->d[k], rhs = has_z ? r[k] : 0.0;
    for (int g = 0; g < width; g++) {
      square += v[g] * v[g];
      if (has_z) rhs += v[g] * z[group->component + g];
    }
    s->d[k] = square;
    if (has_z) r[k] = rhs;
    for (int j = 0; j < i; j++) {
      double sum = row[position[j]];
      for (int g = 0; g < width; g++) sum += v[g] * x[g * length + j];
      row[position[j]] = sum;
    }
  }
}

/* x <- root (x - X nu) in a group */
CP_WIDE_PART void subtractGroup(const Sparse *s, int width, int length, const Group *group,
                                const double *root, const double *nu, double *x) {
  const int *position = s->position + group->first, j = group->component;
  const double *X = s->value + group->first;
  double v[MOST_ALIKE];
  for (int g = 0; g < width; g++) v[g] = x[j + g];
  for (int i = 0; i < length; i++) {
    const double nu_i = nu[position[i]];
    for (int g = 0; g < width; g++) v[g] -= X[g * length + i] * nu_i;
  }
  for (int g = 0; g < width; g++) x[j + g] = root[j + g] * v[g];
}

/* Calls function(s, width, length, group, ...) for all groups, with constants for the widths and for two
 * constraints, as components of chains have them. */
#define OF_WIDTH(width, function, ...)                            \
  (group->length == 2 ? function(s, width, 2, group, __VA_ARGS__) \
                      : function(s, width, group->length, group, __VA_ARGS__))
#define FOR_GROUPS(function, ...)                                                      \
  for (const Group *group = s->group, *end = group + s->ngroups; group < end; group++) \
  group->width == 1   ? OF_WIDTH(1, function, __VA_ARGS__)                             \
  : group->width == 2 ? OF_WIDTH(2, function, __VA_ARGS__)                             \
                      : OF_WIDTH(MOST_ALIKE, function, __VA_ARGS__)

/* S in the envelope, and r = X^T z if has_z. */
CP_WIDE_PART void formEnvelope(const Sparse *s, int has_z, const double *z, double *r) {
  memset(s->l, 0, s->envelope[s->order] * sizeof *s->l);
  memset(s->d, 0, (size_t)s->order * sizeof *s->d);
  if (has_z) memset(r, 0, (size_t)s->order * sizeof *r);
  FOR_GROUPS(addGroup, has_z, z, r);
}

/* Row k of L and 1 / d_k, from the row of S: l before the diagonal entry, d_k. If has_y, y_k <- (L^{-1} y)_k.
 * *least: the least ratio of a pivot to its entry of S so far. Returns 0, or DEPENDENT if the pivot is zero or
 * infinite. */
CP_WIDE_PART int factorRow(const Sparse *s, int k, int length, double *l, double shift, int has_y,
                           double *y, double *least) {
  const size_t *envelope = s->envelope;
  const double *inverse = s->inverse + k - length, S_kk = s->d[k];
  double pivot = S_kk + shift, y_k = has_y ? y[k] : 0.0;
  for (int i = 1; i < length; i++) { /* l <- d_i l_ki, from L of the rows before */
    const size_t *at    = envelope + k - length + i;
    const double *end   = s->l + at[1];
    const int available = (int)(at[1] - at[0]);
    for (int j = 1; j <= i && j <= available; j++) l[i] -= end[-j] * l[i - j];
  }
  for (int i = 0; i < length; i++) { /* l <- l / d */
    const double scaled = l[i] * inverse[i];
    pivot -= l[i] * scaled;
    if (has_y) y_k -= scaled * y[k - length + i];
    l[i] = scaled;
  }
  if (!(fabs(pivot) > CP_LEAST_SQUARES && fabs(pivot) < INFINITY)) return DEPENDENT;
  if (pivot < *least * S_kk) *least = pivot / S_kk;
  s->d[k]       = pivot;
  s->inverse[k] = 1.0 / pivot;
  if (has_y) y[k] = y_k;
  return 0;
}

/* S + shift I = L D L^T in the envelope. For the quick way (has_y) square <- the diagonal of S and y <- L^{-1}
 * (y - b); otherwise columns that are absent or dropped get 1 on the diagonal. Returns 0 or DEPENDENT. */
CP_WIDE_PART int factorEnvelope(Sparse *s, double shift, int plain, int has_y, const double *b,
                                double *y, double *square) {
  double *l = s->l, *end, least = 1.0;
  for (int k = 0, order = s->order; k < order; k++, l = end) {
    const int i = s->constraint[k];
    end         = s->l + s->envelope[k + 1];
    if (has_y) square[i] = s->d[k], y[k] -= b[i];
    else if (plain) s->present[k] = s->d[k] != 0.0;
    if (!has_y && (!s->present[k] || s->dropped[k])) s->d[k] = 1.0;
    if (end == l + 1 ? factorRow(s, k, 1, l, shift, has_y, y, &least)
                     : factorRow(s, k, (int)(end - l), l, shift, has_y, y, &least))
      return DEPENDENT;
  }
  s->least = least;
  return 0;
}

/* Subtracts the terms of *x from the entries before it, which a row of L multiplies. Loops take long to start
 * where rows have one entry. */
CP_WIDE_PART void subtractRow(const double *l, int length, double *x) {
  const double x_k = *x;
  if (length == 1) x[-1] -= *l * x_k;
  else
    for (int i = 0; i < length; i++) x[i - length] -= l[i] * x_k;
}

/* x <- L^{-T} D^{-1} x. mu, if has_mu: out, the same in the order of the constraints */
CP_WIDE_PART void solveUpper(const Sparse *s, double *x, int has_mu, double *mu) {
  const size_t *envelope = s->envelope;
  for (int k = 0; k < s->order; k++) x[k] *= s->inverse[k];
  for (int k = s->order - 1; k >= 0; k--) {
    if (has_mu) mu[s->constraint[k]] = x[k];
    subtractRow(s->l + envelope[k], (int)(envelope[k + 1] - envelope[k]), x + k);
  }
}

/* x = K^{-1} b with these factors */
static void solveEnvelope(const Sparse *s, const double *b, double *x) {
  const size_t *envelope = s->envelope;
  for (int k = 0; k < s->order; k++) {
    const double *l  = s->l + envelope[k];
    const int length = (int)(envelope[k + 1] - envelope[k]);
    double sum       = b[k];
    for (int i = 0; i < length; i++) sum -= l[i] * x[k - length + i];
    x[k] = sum;
  }
  solveUpper(s, x, 0, NULL);
}

/* Pivots d_k of K at position k: the diagonal of D, or the squared diagonal of L in supernodes. */
static void pivots(const Sparse *s, double *d) {
  if (s->envelope) {
    memcpy(d, s->d, (size_t)s->order * sizeof *d);
    return;
  }
  const cholmod_factor *L = s->L;
  const Index *p = L->p, *super = L->super, *rows = L->pi, *values = L->px;
  const double *x = L->x;
  if (!L->is_super)
    for (int k = 0; k < s->order; k++) d[k] = x[p[k]];
  else
    for (size_t b = 0; b < L->nsuper; b++)
      for (Index k = super[b], length = rows[b + 1] - rows[b]; k < super[b + 1]; k++) {
        const double u = x[values[b] + (k - super[b]) * (length + 1)];
        d[k]           = u * u;
      }
}

static double leastSine(const Sparse *s) {
  return fmax(s->ranktol, s->nborder > 0 ? CP_LEAST_SINE_OF_PART : CP_CHOLESKY_LEAST);
}

/* Solves K s->x = s->b; mu at position k is x[k]. CHOLMOD leaves its workspace with the shape of
 * the last block of right-hand sides, and would allocate a new one if that differs from the full
 * shape, which is therefore restored. */
static int backSolve(Sparse *s) {
  if (s->order == 0) return 0;
  if (s->envelope) {
    solveEnvelope(s, s->b->x, s->x->x);
    return 0;
  }
  if (!cholmod_l_solve2(CHOLMOD_A, s->L, s->b, NULL, &s->x, NULL, &s->y, &s->e, &s->common))
    return cpCholmodFailure(&s->common);
  if (s->y) s->y->nrow = s->y->d = s->y->nzmax / s->y->ncol;
  return 0;
}

/* mu <- K^{-1} mu by position; mu is the array of s->b */
static int trialSolve(void *factors, double *mu) {
  Sparse *s      = factors;
  const int flag = backSolve(s);
  if (!flag) memcpy(mu, s->x->x, (size_t)s->order * sizeof *mu);
  return flag;
}

/* d_k over its entry of S, which is 1 with unit columns, is the squared sine of column k's angle to the
 * columns before it. Returns 0, DEPENDENT or a negative code. */
static int checkPivots(Sparse *s) {
  double *d = s->b->x, least = s->envelope ? s->least : 1.0;
  pivots(s, d);
  for (int k = 0; k < s->order; k++) {
    if (s->constraint[k] < 0) continue; /* d_k <= -1 */
    if (!(d[k] > 0.0)) return DEPENDENT;
    if (!s->envelope && d[k] < least) least = d[k];
  }
  const double sine = leastSine(s);
  s->sine           = sqrt(least);
  if (!(least > sine * sine)) return DEPENDENT;
  if (least > CP_SMALL_PIVOT) return 0;
  const int flag = cpJudge(trialSolve, s, s->b->x, s->order);
  return flag == CP_SINGULAR ? DEPENDENT : flag;
}

/* s->x = S^-1 (A'v - r), by position; r may be NULL */
static int multipliers(Sparse *s, const double *v, const double *r) {
  const size_t *start = s->XT.start;
  double *b           = s->b->x;
  memset(b, 0, (size_t)s->order * sizeof *b);
  for (int j = 0; j < s->n; j++) /* A'v */
    for (size_t l = start[j]; l < start[j + 1]; l++) b[s->position[l]] += s->value[l] * v[j];
  for (int k = 0; r && k < s->order; k++)
    if (s->constraint[k] >= 0) b[k] -= r[s->constraint[k]];
  return backSolve(s);
}

/* (A s->x)_j */
static double timesMultipliers(const Sparse *s, int j) {
  const double *mu = s->x->x;
  double sum       = 0.0;
  for (size_t l = s->XT.start[j]; l < s->XT.start[j + 1]; l++)
    sum += s->value[l] * mu[s->position[l]];
  return sum;
}

/* z = a combination of the dropped columns with random coefficients */
static void combineDropped(Sparse *s) {
  double *coefficient = s->b->x;
  cpRandomVector(coefficient, s->order);
  for (int k = 0; k < s->order; k++)
    coefficient[k] = !s->dropped[k] ? 0.0 : k % 2 ? coefficient[k] : -coefficient[k];
  for (int j = 0; j < s->n; j++) {
    s->z[j] = 0.0;
    for (size_t l = s->XT.start[j]; l < s->XT.start[j + 1]; l++)
      s->z[j] += coefficient[s->position[l]] * s->XT.value[l];
  }
}

/* Coefficient of a dropped column in a kept one above which the two are exchanged. */
#define LARGEST_COEFFICIENT 2.0

static void suspect(Sparse *s, int i, double coefficient, double *largest) {
  if (fabs(coefficient) > *largest) *largest = fabs(coefficient), s->suspect = i;
}

/* Are all dropped columns in the span of the others? Then so is their combination; the converse
 * fails only for a negligible set of random coefficients. Returns 0, DEPENDENT or a negative
 * code. */
static int checkDropped(Sparse *s) {
  double largest = LARGEST_COEFFICIENT;
  s->suspect     = -1;
  if (s->dependent < 0) return 0;
  combineDropped(s);
  for (int pass = 0; pass < 2; pass++) { /* the second pass removes the roundoff of the first */
    const int flag = multipliers(s, s->z, NULL);
    if (flag) return flag;
    for (int k = 0; pass == 0 && k < s->order; k++)
      if (s->constraint[k] >= 0) suspect(s, s->constraint[k], ((double *)s->x->x)[k], &largest);
    for (int j = 0; j < s->n; j++) s->z[j] -= timesMultipliers(s, j);
  }
  double norm2 = 0.0;
  for (int j = 0; j < s->n; j++) norm2 += s->z[j] * s->z[j];
  return sqrt(norm2) <= s->ranktol ? 0 : DEPENDENT;
}

/* K + shift I = L D L^T. Returns 0, DEPENDENT if that is not possible, or a negative code. */
static int factorShifted(Sparse *s, double shift) {
  double beta[2]  = {shift, 0.0};
  const int plain = gather(s);
  countColumns(s);
  if (s->envelope) {
    formEnvelope(s, 0, NULL, NULL);
    return factorEnvelope(s, shift, plain, 0, NULL, NULL, NULL);
  }
  formMatrix(s, plain);
  cholmod_l_factorize_p(s->K, beta, NULL, 0, s->L, &s->common);
  if (s->common.status < CHOLMOD_OK) return cpCholmodFailure(&s->common);
  return s->common.status == CHOLMOD_OK ? 0 : DEPENDENT;
}

/* Factors K without the dropped columns. Returns 0, DEPENDENT if the others are not independent or
 * do not span the dropped ones, or a negative code. */
static int factorCholesky(Sparse *s) {
  int flag = factorShifted(s, 0.0);
  if (!flag) flag = checkPivots(s);
  return flag ? flag : checkDropped(s);
}

int cpSparseSolve(Sparse *s, const double *r, double *x) {
  if (s->is_dd) {
    cpSparseDDSolve(s, r, x);
    return 0;
  }
  double *b = s->b->x;
  for (int k = 0; k < s->order; k++) b[k] = s->constraint[k] < 0 ? 0.0 : r[s->constraint[k]];
  const int flag = backSolve(s); /* mu = S^-1 r */
  for (int j = 0; !flag && j < s->n; j++) x[j] = timesMultipliers(s, j);
  return flag;
}

int cpSparseSolveT(Sparse *s, const double *x, const double *r, double *mu) {
  if (s->is_dd) {
    cpSparseDDSolveT(s, x, mu);
    return 0;
  }
  const int flag         = multipliers(s, x, r);
  const double *solution = s->x->x;
  for (int k = 0; !flag && k < s->order; k++)
    if (s->constraint[k] >= 0) mu[s->constraint[k]] = solution[k];
  return flag;
}

/* These two are functions of their own because there are enough registers for each. */
CP_WIDE static void formWith(const Sparse *s, const double *z, double *r) {
  formEnvelope(s, 1, z, r);
}

CP_WIDE static void subtract(const Sparse *s, const double *root, const double *nu, double *x) {
  FOR_GROUPS(subtractGroup, root, nu, x); /* x <- root (x - X nu) */
}

CP_WIDE static int quick(Sparse *s, const double *root, const double *f, const double *b, double *x,
                         double *mu, double *square) {
  double *nu = s->x->x;
  if (!s->envelope || !s->is_regular || s->sine * s->sine < CP_SMALL_PIVOT) return 0;
  s->value = s->XT.value;
  for (int j = 0; j < s->n; j++) x[j] = root[j] * f[j];
  formWith(s, x, nu);
  if (factorEnvelope(s, 0.0, 1, 1, b, nu, square) || !(s->least > CP_SMALL_PIVOT)) return 0;
  memset(s->present, 1, (size_t)s->order);
  s->sine = sqrt(s->least);
  solveUpper(s, nu, 1, mu);
  subtract(s, root, nu, x); /* x = root (root f - X nu) */
  return cpAllFinite(x, s->n);
}

int cpSparseQuick(Sparse *s, const double *root, const double *f, const double *b, double *x,
                  double *mu, double *square) {
  return quick(s, root, f, b, x, mu, square);
}

/* ---- which columns are dropped ---- */

static void exchange(Sparse *s, int i, int d) {
  for (int k = 0; k < s->order; k++)
    if (s->constraint[k] == i || s->constraint[k] == d) s->dropped[k] = !s->dropped[k];
}

/* Exchanges dropped columns for kept ones. Off the manifold dropped columns are inconsistent with
 * the others, and by a factor of these coefficients more than necessary if the kept columns are at
 * narrower angles than another choice. Each exchange multiplies the volume spanned by the kept
 * columns by the coefficient, so that few are needed (M. Gu, S. C. Eisenstat, Efficient algorithms
 * for computing a strong rank-revealing QR factorization, SIAM J. Sci. Comput. 17, 1996). */
static int exchangeDropped(Sparse *s) {
  int flag = 0;
  for (int count = 0; !flag && s->suspect >= 0 && count < s->m; count++) {
    const int i = s->suspect, was_dd = s->is_dd;
    double largest = LARGEST_COEFFICIENT, *C = s->coefficient;
    int d = -1; /* the dropped column with the largest C_di, C_i = A_d^T A S^{-1} e_i */
    memset(C, 0, (size_t)s->m * sizeof *C);
    C[i] = 1.0;
    flag = cpSparseSolve(s, C, s->z);
    if (flag) return flag;
    C[i] = 0.0;
    cpMatTimes(&s->XT, 1.0, s->z, 1.0, C);
    for (int k = 0; k < s->m; k++)
      if (s->is_dependent[k] && fabs(C[k]) > largest) largest = fabs(C[k]), d = k;
    if (d < 0) return 0;
    exchange(s, i, d);
    s->is_dd = 0;
    flag     = factorCholesky(s);
    if (flag != DEPENDENT) continue;
    exchange(s, i, d); /* undone: within ranktol the kept columns do not span the dropped ones */
    s->is_dd = was_dd;
    flag     = was_dd ? 0 : factorCholesky(s);
    if (was_dd) s->sine = CP_CHOLESKY_LEAST;
    countColumns(s);
    return flag;
  }
  return flag;
}

/* Factors without the columns that were dropped last time; if that fails, without those that have
 * small pivots; if that fails, in double-double arithmetic. */
static int factorAnyhow(Sparse *s) {
  const int was_dd = s->is_dd;
  s->is_dd         = 0;
  int flag         = factorCholesky(s);
  if (flag == DEPENDENT && allowDropped(s)) return CP_MEM_FAIL;
  if (flag == DEPENDENT && !was_dd) {
    memset(s->dropped, 0, (size_t)s->order);
    flag              = factorShifted(s, CP_FUZZ);
    double *d         = s->b->x;
    const double sine = leastSine(s);
    if (!flag) pivots(s, d);
    for (int k = 0; !flag && k < s->order; k++)
      s->dropped[k] = s->constraint[k] >= 0 && d[k] < 10.0 * sine * sine;
    if (!flag) flag = factorCholesky(s);
  }
  if (flag == DEPENDENT) {
    double largest = LARGEST_COEFFICIENT;
    flag           = cpSparseDDFactor(s);
    s->sine        = CP_CHOLESKY_LEAST; /* upper bound */
    s->suspect     = -1;
    countColumns(s);
    if (flag || s->dependent < 0) return flag;
    combineDropped(s);
    cpSparseDDSolveT(s, s->z, s->coefficient);
    for (int i = 0; i < s->m; i++) suspect(s, i, s->coefficient[i], &largest);
  }
  return flag ? flag : exchangeDropped(s);
}

int cpSparseFactor(Sparse *s) {
  const int flag = factorAnyhow(s);
  s->is_regular  = !flag && s->dependent < 0 && !s->is_dd;
  return flag;
}
