/* S = L D L^T in double-double arithmetic (a number is the unevaluated sum hi + lo of two), where Cholesky
 * factors in double precision are in doubt:
 *
 *   x = A S^+ r,   mu = S^+ A^T x, zero for the columns left out.
 *
 * Pivot d_k is s_kk times the squared sine of column k's angle to the columns before it. Its error is u^2
 * over the square of the narrowest angle, and so sines down to the tolerance are as accurate as those of
 * a QR factorisation of A in double precision, which has the error u over that angle.
 *
 * The order of elimination is that of K. Components that K keeps as unknowns are eliminated here, since
 * columns may be apart by these alone. */
#include "cpodes/base/compat.h"
#include "sparse_impl.h"

#include <math.h>
#include <string.h>

/* ---- arithmetic: D. H. Bailey's algorithms, as in M. Joldes, J.-M. Muller, V. Popescu, Tight and rigorous
 * error bounds for basic building blocks of double-word arithmetic, ACM Trans. Math. Softw. 44, 2017. Sums have
 * errors relative to their terms. Compilers must not contract products with sums, which ISO C keeps apart
 * where they are in different statements. ---- */

typedef struct {
  double hi, lo;
} Number;

/* hi + lo, where lo is small */
CP_WIDE_PART Number normal(double hi, double lo) {
  const double sum = hi + lo;
  return (Number){sum, lo - (sum - hi)};
}

CP_WIDE_PART Number plus(Number a, Number b) {
  const double sum = a.hi + b.hi, part = sum - a.hi;
  const double error = (a.hi - (sum - part)) + (b.hi - part);
  return normal(sum, error + (a.lo + b.lo));
}

CP_WIDE_PART Number times(Number a, Number b) {
  const double product = a.hi * b.hi;
  const double error   = fma(a.hi, b.hi, -product);
  return (Number){product, error + fma(a.hi, b.lo, a.lo * b.hi)};
}

/* a - b c */
CP_WIDE_PART Number minusProduct(Number a, Number b, Number c) {
  return plus(a, times((Number){-b.hi, -b.lo}, c));
}

CP_WIDE_PART Number inverseOf(Number a) {
  const Number estimate = {1.0 / a.hi, 0.0};
  return plus(estimate, times(estimate, minusProduct((Number){1.0, 0.0}, a, estimate)));
}

/* ---- structure ---- */

struct CPSparseDD_ {
  CPArena arena;
  CPMat A;      /* structure of A by columns */
  size_t *from; /* [entries] place of each entry of A in XT.value */
  int *parent;  /* [order] first entry of each column of L below the diagonal; -1: there is none */
  size_t *start, *end; /* [order + 1] column i of L: row[start[i]] ... row[end[i] - 1] */
  int *row;
  Number *l;
  Number *inverse;  /* [order] 1 / d_k; 0 if column k is left out, absent or a kept component */
  char *omitted;    /* [order] 1: to be left out, whatever its pivot */
  Number *x;        /* [order] row of S, or solution */
  int *path, *mark; /* [order] workspace of formRow */
};
typedef struct CPSparseDD_ Factors;

/* x <- row k of S up to the diagonal. Returns `first`: row k of L has the entries path[first] ...
 * path[order - 1], each before its parent. The first pass over all k sets the parents. */
CP_WIDE_PART int formRow(const Sparse *s, Factors *q, int k) {
  const double *value = s->XT.value;
  const int i         = s->constraint[k];
  int first = s->order, *path = q->path, *mark = q->mark;
  mark[k] = k;
  for (size_t e = i < 0 ? 0 : q->A.start[i]; i >= 0 && e < q->A.start[i + 1]; e++) {
    const Number v = {value[q->from[e]], 0.0};
    for (size_t l = s->XT.start[q->A.row[e]]; l <= q->from[e]; l++) {
      int at = s->position[l], length = 0;
      q->x[at] = plus(q->x[at], times(v, (Number){value[l], 0.0}));
      for (; mark[at] != k; at = q->parent[at]) {
        if (q->parent[at] < 0) q->parent[at] = k;
        mark[path[length++] = at] = k;
      }
      while (length > 0) path[--first] = path[--length];
    }
  }
  return first;
}

static void startRows(const Sparse *s, Factors *q) {
  for (int k = 0; k < s->order; k++) q->mark[k] = -1, q->x[k] = (Number){0.0, 0.0};
}

static int create(Sparse *s) {
  CPArena arena   = {0};
  Factors *q      = CP_NEW(&arena, q, 1);
  const int order = s->order;
  if (!q) return CP_MEM_FAIL;
  CP_NEW(&arena, q->parent, order);
  CP_NEW(&arena, q->start, order + 1);
  CP_NEW(&arena, q->end, order + 1);
  CP_NEW(&arena, q->inverse, order);
  CP_NEW(&arena, q->omitted, order);
  CP_NEW(&arena, q->x, order);
  CP_NEW(&arena, q->path, order);
  CP_NEW(&arena, q->mark, order);
  if (!cpMatTransposed(&arena, &s->XT, &q->A, &q->from)) {
    startRows(s, q);
    for (int k = 0; k < order; k++) q->parent[k] = -1;
    for (int k = 0; k < order; k++)
      for (int t = formRow(s, q, k); t < order; t++) q->start[q->path[t] + 1]++;
    for (int k = 0; k < order; k++) q->start[k + 1] += q->start[k];
    CP_NEW(&arena, q->row, q->start[order]);
    CP_NEW(&arena, q->l, q->start[order]);
  }
  if (cpArenaStatus(&arena)) {
    cpArenaFree(&arena);
    return CP_MEM_FAIL;
  }
  q->arena = arena;
  s->dd    = q;
  return CP_SUCCESS;
}

void cpSparseDDFree(Sparse *s) {
  if (!s->dd) return;
  CPArena arena = s->dd->arena; /* which frees s->dd, too */
  cpArenaFree(&arena);
  s->dd = NULL;
}

/* ---- factors ---- */

/* Leaves out the columns that are omitted or, within ranktol, dependent on those before them (M. T. Heath,
 * Some extensions of an algorithm for sparse linear least squares problems, SIAM J. Sci. Stat. Comput. 3, 1982). */
CP_WIDE static void factor(Sparse *s, Factors *q) {
  startRows(s, q);
  memcpy(q->end, q->start, (size_t)s->order * sizeof *q->end);
  for (int k = 0; k < s->order; k++) {
    int t             = formRow(s, q, k);
    Number d          = q->x[k];
    const double S_kk = d.hi;
    q->x[k]           = (Number){0.0, 0.0};
    for (; t < s->order; t++) {
      const int i      = q->path[t];
      const Number x   = q->x[i];
      const size_t end = q->end[i];
      q->x[i]          = (Number){0.0, 0.0};
      if (q->inverse[i].hi == 0.0) continue;
      for (size_t p = q->start[i]; p < end; p++)
        q->x[q->row[p]] = minusProduct(q->x[q->row[p]], q->l[p], x);
      q->row[end] = k;
      q->l[end]   = times(x, q->inverse[i]);
      d           = minusProduct(d, q->l[end], x);
      q->end[i]   = end + 1;
    }
    const int kept = d.hi > s->ranktol * s->ranktol * S_kk && !q->omitted[k];
    s->dropped[k]  = S_kk > 0.0 && !kept;
    q->inverse[k]  = kept ? inverseOf(d) : (Number){0.0, 0.0};
  }
}

/* x <- L^{-T} x */
CP_WIDE_PART void solveUpper(const Sparse *s, const Factors *q) {
  for (int k = s->order - 1; k >= 0; k--) {
    Number x = q->x[k];
    if (q->inverse[k].hi == 0.0) continue;
    for (size_t p = q->start[k]; p < q->end[k]; p++) x = minusProduct(x, q->l[p], q->x[q->row[p]]);
    q->x[k] = x;
  }
}

/* x <- S^+ x */
CP_WIDE static void solve(const Sparse *s, Factors *q) {
  for (int k = 0; k < s->order; k++) {
    const Number x = q->x[k];
    if (q->inverse[k].hi != 0.0)
      for (size_t p = q->start[k]; p < q->end[k]; p++)
        q->x[q->row[p]] = minusProduct(q->x[q->row[p]], q->l[p], x);
  }
  for (int k = 0; k < s->order; k++) q->x[k] = times(q->x[k], q->inverse[k]);
  solveUpper(s, q);
}

/* The position of the column at the narrowest angle to all other kept ones, if that is below the tolerance;
 * else -1. With R = D^{1/2} L^T, row k of R^{-1} has the length 1 / sine of column k's angle; the entries of z
 * in R^{-1} z are below 2. Pivots of such columns are roundoff, but above the tolerance, since coefficients in
 * columns at narrow angles are large. */
CP_WIDE static int findHidden(const Sparse *s, Factors *q) {
  double largest = 2.0 / s->ranktol, *z = s->b->x;
  int hidden = -1;
  cpRandomVector(z, s->order);
  for (int k = 0; k < s->order; k++) q->x[k] = (Number){sqrt(q->inverse[k].hi) * z[k], 0.0};
  solveUpper(s, q);
  for (int k = 0; k < s->order; k++)
    if (fabs(q->x[k].hi) > largest) largest = fabs(q->x[k].hi), hidden = k;
  return hidden;
}

/* The order of elimination is not that of the angles: among columns at narrow angles it may accept some that are
 * nearly dependent, and then cannot distinguish others from their roundoff. The column of the largest multiplier
 * is then left out, and the factorisation repeated (T. F. Chan, Rank revealing QR factorizations, Lin. Alg. Appl.
 * 88/89, 1987). */
int cpSparseDDFactor(Sparse *s) {
  int flag = s->dd ? CP_SUCCESS : create(s);
  if (flag) return flag;
  memset(s->dd->omitted, 0, (size_t)s->order);
  for (int hidden = 0; hidden >= 0;) {
    factor(s, s->dd);
    hidden = findHidden(s, s->dd);
    if (hidden >= 0) s->dd->omitted[hidden] = 1;
  }
  s->is_dd = 1;
  return CP_SUCCESS;
}

CP_WIDE static void rightInverse(const Sparse *s, Factors *q, const double *r, double *x) {
  for (int k = 0; k < s->order; k++)
    q->x[k] = (Number){s->constraint[k] < 0 ? 0.0 : r[s->constraint[k]], 0.0};
  solve(s, q);
  for (int j = 0; j < s->n; j++) {
    Number sum = {0.0, 0.0};
    for (size_t l = s->XT.start[j]; l < s->XT.start[j + 1]; l++)
      sum = plus(sum, times((Number){s->XT.value[l], 0.0}, q->x[s->position[l]]));
    x[j] = sum.hi;
  }
}

CP_WIDE static void leftInverse(const Sparse *s, Factors *q, const double *x, double *mu) {
  for (int k = 0; k < s->order; k++) q->x[k] = (Number){0.0, 0.0};
  for (int j = 0; j < s->n; j++)
    for (size_t l = s->XT.start[j]; l < s->XT.start[j + 1]; l++)
      q->x[s->position[l]] =
          plus(q->x[s->position[l]], times((Number){s->XT.value[l], 0.0}, (Number){x[j], 0.0}));
  solve(s, q);
  for (int k = 0; k < s->order; k++)
    if (s->constraint[k] >= 0) mu[s->constraint[k]] = q->x[k].hi;
}

/* Static functions have versions (CP_WIDE); these would be exported if they were not. */
void cpSparseDDSolve(const Sparse *s, const double *r, double *x) { rightInverse(s, s->dd, r, x); }

void cpSparseDDSolveT(const Sparse *s, const double *x, double *mu) {
  leftInverse(s, s->dd, x, mu);
}
