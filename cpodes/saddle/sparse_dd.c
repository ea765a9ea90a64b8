/* K = L D L^T in double-double arithmetic (a number is the unevaluated sum hi + lo of two), where Cholesky
 * factors in double precision are in doubt:
 *
 *   x = A S^+ r,   mu = S^+ A^T x, zero for the columns left out.
 *
 * Without kept components pivot d_k is s_kk times the squared sine of column k's angle to the columns before
 * it. Its error is u^2 over the square of the narrowest angle, and so sines down to the tolerance are as
 * accurate as those of a QR factorisation of A in double precision, which has the error u over that angle.
 *
 * With kept components pivots of the constraints before them are those of S0, and columns may be apart by
 * the kept components alone. Constraints with small pivots there are late: they are eliminated last. */
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

/* ---- structure; places are positions, but for late constraints ---- */

struct CPSparseDD_ {
  CPArena arena;
  CPMat A;         /* structure of A by columns */
  size_t *from;    /* [entries] place of each entry of A in XT.value */
  char *late;      /* [order] 1: the constraint at position k is eliminated last */
  int *at, *place; /* [order] the position at place p, and its inverse */
  int *kept;       /* [n] the place of component j, if it is kept, or -1 */
  int early;       /* number of places before the kept components; 0 if there are none */
  int *parent; /* [order] first entry of each column of L below the diagonal; -1: there is none */
  size_t *start, *end; /* [order + 1] column p of L: row[start[p]] ... row[end[p] - 1] */
  int *row;
  Number *l;
  Number *inverse;  /* [order] 1 / d_p; 0 if column p is left out or absent */
  char *omitted;    /* [order] 1: to be left out, whatever its pivot */
  Number *x;        /* [order] row of K, or solution */
  int *path, *mark; /* [order] workspace of formRow */
};
typedef struct CPSparseDD_ Factors;

/* Row p of K has an entry at i <= p. Row p of L then has entries on the path from i to the root p. */
CP_WIDE_PART void addEntry(Factors *q, int p, int i, Number entry, int *first) {
  int length = 0;
  if (i > p) return;
  q->x[i] = plus(q->x[i], entry);
  for (; q->mark[i] != p; i = q->parent[i]) {
    if (q->parent[i] < 0) q->parent[i] = p;
    q->mark[q->path[length++] = i] = p;
  }
  while (length > 0) q->path[--*first] = q->path[--length];
}

/* x <- row p of K up to the diagonal. Returns `first`: row p of L has the entries path[first] ...
 * path[order - 1], each before its parent. The first pass over all p sets the parents. *square: the squared
 * length of the column of A */
CP_WIDE_PART int formRow(const Sparse *s, Factors *q, int p, double *square) {
  const size_t *start = s->XT.start;
  const double *value = s->XT.value;
  const int k = q->at[p], i = s->constraint[k], component = s->component[k];
  int first  = s->order;
  *square    = 0.0;
  q->mark[p] = p;
  if (i < 0) {
    addEntry(q, p, p, (Number){-1.0, 0.0}, &first);
    for (size_t l = start[component]; l < start[component + 1]; l++)
      addEntry(q, p, q->place[s->position[l]], (Number){value[l], 0.0}, &first);
    return first;
  }
  for (size_t e = q->A.start[i]; e < q->A.start[i + 1]; e++) {
    const int j    = q->A.row[e];
    const Number v = {value[q->from[e]], 0.0};
    *square += v.hi * v.hi;
    if (q->kept[j] >= 0) addEntry(q, p, q->kept[j], v, &first);
    else
      for (size_t l = start[j]; l < start[j + 1]; l++)
        addEntry(q, p, q->place[s->position[l]], times(v, (Number){value[l], 0.0}), &first);
  }
  return first;
}

static void startRows(const Sparse *s, Factors *q) {
  for (int p = 0; p < s->order; p++) q->mark[p] = -1, q->x[p] = (Number){0.0, 0.0};
}

/* Constraints that are late in s->dd, if there is one, are late. */
static int create(Sparse *s) {
  CPArena arena   = {0};
  Factors *q      = CP_NEW(&arena, q, 1);
  const int order = s->order;
  double square;
  if (!q) return CP_MEM_FAIL;
  CP_NEW(&arena, q->late, order);
  CP_NEW(&arena, q->at, order);
  CP_NEW(&arena, q->place, order);
  CP_NEW(&arena, q->kept, s->n);
  CP_NEW(&arena, q->parent, order);
  CP_NEW(&arena, q->start, order + 1);
  CP_NEW(&arena, q->end, order + 1);
  CP_NEW(&arena, q->inverse, order);
  CP_NEW(&arena, q->omitted, order);
  CP_NEW(&arena, q->x, order);
  CP_NEW(&arena, q->path, order);
  CP_NEW(&arena, q->mark, order);
  if (!cpMatTransposed(&arena, &s->XT, &q->A, &q->from)) {
    if (s->dd) memcpy(q->late, s->dd->late, (size_t)order);
    for (int late = 0, p = 0; late < 2; late++)
      for (int k = 0; k < order; k++)
        if (q->late[k] == late) q->at[q->place[k] = p++] = k;
    for (int j = 0; j < s->n; j++) q->kept[j] = -1;
    for (int p = order - 1; p >= 0; p--)
      if (s->constraint[q->at[p]] < 0) q->kept[s->component[q->at[p]]] = q->early = p;
    for (int p = 0; p < order; p++) q->parent[p] = -1;
    startRows(s, q);
    for (int p = 0; p < order; p++)
      for (int t = formRow(s, q, p, &square); t < order; t++) q->start[q->path[t] + 1]++;
    for (int p = 0; p < order; p++) q->start[p + 1] += q->start[p];
    CP_NEW(&arena, q->row, q->start[order]);
    CP_NEW(&arena, q->l, q->start[order]);
  }
  if (cpArenaStatus(&arena)) {
    cpArenaFree(&arena);
    return CP_MEM_FAIL;
  }
  q->arena = arena;
  cpSparseDDFree(s);
  s->dd = q;
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
 * Some extensions of an algorithm for sparse linear least squares problems, SIAM J. Sci. Stat. Comput. 3, 1982).
 * Returns the number of constraints that became late; unless it is 0, the factors are void. */
CP_WIDE static int factor(Sparse *s, Factors *q) {
  const double least = s->ranktol * s->ranktol;
  int late           = 0;
  startRows(s, q);
  memcpy(q->end, q->start, (size_t)s->order * sizeof *q->end);
  for (int p = 0; p < s->order; p++) {
    const int k = q->at[p];
    double square;
    int t    = formRow(s, q, p, &square);
    Number d = q->x[p];
    q->x[p]  = (Number){0.0, 0.0};
    for (; t < s->order; t++) {
      const int i      = q->path[t];
      const Number x   = q->x[i];
      const size_t end = q->end[i];
      q->x[i]          = (Number){0.0, 0.0};
      if (q->inverse[i].hi == 0.0) continue;
      for (size_t e = q->start[i]; e < end; e++)
        q->x[q->row[e]] = minusProduct(q->x[q->row[e]], q->l[e], x);
      q->row[end] = p;
      q->l[end]   = times(x, q->inverse[i]);
      d           = minusProduct(d, q->l[end], x);
      q->end[i]   = end + 1;
    }
    const double sine2 =
        p < q->early ? fmax(least, CP_LEAST_SINE_OF_PART * CP_LEAST_SINE_OF_PART) : least;
    const int is_kept = s->constraint[k] < 0 || (d.hi > sine2 * square && !q->omitted[k]);
    q->inverse[p]     = is_kept ? inverseOf(d) : (Number){0.0, 0.0};
    s->dropped[k]     = square > 0.0 && !is_kept;
    if (p < q->early && s->dropped[k]) q->late[k] = 1, late++;
  }
  return late;
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

/* x <- K^+ x */
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
 * else -1. With R = |D|^{1/2} L^T, row k of R^{-1} has the length 1 / sine of column k's angle, or more with kept
 * components; the entries of z in R^{-1} z are below 2. Pivots of such columns are roundoff, but above the
 * tolerance, since coefficients in columns at narrow angles are large. */
CP_WIDE static int findHidden(const Sparse *s, Factors *q) {
  double largest = 2.0 / s->ranktol, *z = s->b->x;
  int hidden = -1;
  cpRandomVector(z, s->order);
  for (int p = 0; p < s->order; p++) q->x[p] = (Number){sqrt(fabs(q->inverse[p].hi)) * z[p], 0.0};
  solveUpper(s, q);
  for (int p = 0; p < s->order; p++)
    if (s->constraint[q->at[p]] >= 0 && fabs(q->x[p].hi) > largest)
      largest = fabs(q->x[p].hi), hidden = q->at[p];
  return hidden;
}

/* The order of elimination is not that of the angles: among columns at narrow angles it may accept some that are
 * nearly dependent, and then cannot distinguish others from their roundoff. The column of the largest multiplier
 * is then made late or, if it is not early, left out, and the factorisation repeated (T. F. Chan, Rank revealing QR
 * factorizations, Lin. Alg. Appl. 88/89, 1987). */
int cpSparseDDFactor(Sparse *s) {
  int flag = s->dd ? CP_SUCCESS : create(s);
  if (!flag) memset(s->dd->omitted, 0, (size_t)s->order);
  while (!flag) {
    const int late = factor(s, s->dd), hidden = late ? -1 : findHidden(s, s->dd);
    if (!late && hidden < 0) break;
    if (!late && s->dd->place[hidden] >= s->dd->early) {
      s->dd->omitted[hidden] = 1;
      continue;
    }
    if (!late) s->dd->late[hidden] = 1;
    flag = create(s);
  }
  s->is_dd = !flag;
  return flag;
}

CP_WIDE static void rightInverse(const Sparse *s, Factors *q, const double *r, double *x) {
  for (int k = 0; k < s->order; k++)
    q->x[q->place[k]] = (Number){s->constraint[k] < 0 ? 0.0 : r[s->constraint[k]], 0.0};
  solve(s, q);
  for (int j = 0; j < s->n; j++) {
    Number sum = {0.0, 0.0};
    for (size_t l = s->XT.start[j]; l < s->XT.start[j + 1]; l++)
      sum = plus(sum, times((Number){s->XT.value[l], 0.0}, q->x[q->place[s->position[l]]]));
    x[j] = sum.hi;
  }
}

CP_WIDE static void leftInverse(const Sparse *s, Factors *q, const double *x, double *mu) {
  for (int k = 0; k < s->order; k++) q->x[k] = (Number){0.0, 0.0};
  for (int j = 0; j < s->n; j++)
    for (size_t l = s->XT.start[j]; l < s->XT.start[j + 1]; l++)
      q->x[q->place[s->position[l]]] =
          plus(q->x[q->place[s->position[l]]],
               times((Number){s->XT.value[l], 0.0}, (Number){x[j], 0.0}));
  solve(s, q);
  for (int k = 0; k < s->order; k++)
    if (s->constraint[k] >= 0) mu[s->constraint[k]] = q->x[q->place[k]].hi;
}

/* Static functions have versions (CP_WIDE); these would be exported if they were not. */
void cpSparseDDSolve(const Sparse *s, const double *r, double *x) { rightInverse(s, s->dd, r, x); }

void cpSparseDDSolveT(const Sparse *s, const double *x, double *mu) {
  leftInverse(s, s->dd, x, mu);
}
