/* Schur complement of small dense W and A, by factors without square roots and pivoting:
 *
 *   W = L D L^T,   Y = L^{-1} A^T,   S = Y^T D^{-1} Y = A W^{-1} A^T,   S factored in the same way,
 *
 *   z = L^{-1} f,   S mu = Y^T D^{-1} z - b,   x = L^{-T} D^{-1} (z - Y mu).
 *
 * Each row of L begins with the first nonzero entry of the matrix's row, so that a diagonal or
 * block-diagonal W costs no more than it must: if W is diagonal, Y is A^T. (A. George, J. W. Liu,
 * Computer Solution of Large Sparse Positive Definite Systems, 1981, chapter 4.) */
#include "cpodes/base/compat.h"
#include "saddle_impl.h"

#include <math.h>
#include <string.h>

/* L D L^T of a matrix K */
typedef struct {
  int n, plain;    /* order; number of leading rows of L that are rows of the identity */
  int dense;       /* the rows of L begin with entry 0 */
  int *first;      /* [n] column of each row's first entry */
  double *L;       /* [n x n] by rows, the part below the diagonal */
  double *inverse; /* [n] 1 / d_k */
  double *size;    /* [n] k_kk: a pivot is k_kk times the squared sine of an angle */
  double smallest; /* the smallest of these squared sines, in row `worst` */
  int worst;
} Factors;

typedef struct {
  Factors W, S; /* factors of W, and of S for the rows in use */
  double *Y;    /* [n x nrows] by rows: the values of A, or own */
  double *own, *v, *z;
  double *square; /* [m] see CPSaddle_ */
  long int of;    /* value of s->weights when W was factored; 0: there are no factors */
} Envelope;

static void createFactors(Factors *F, CPArena *arena, int n) {
  F->n = n;
  CP_NEW(arena, F->first, n);
  CP_NEW(arena, F->L, (size_t)n * (size_t)n);
  CP_ARRAYS(arena, n, &F->inverse, &F->size);
}

static int create(CPSaddle s) {
  CPArena *arena = &s->used.arena;
  Envelope *e;
  s->used.content = CP_NEW(arena, e, 1);
  if (!e) return CP_MEM_FAIL;
  createFactors(&e->W, arena, s->n);
  createFactors(&e->S, arena, s->m);
  CP_NEW(arena, e->own, (size_t)s->n * (size_t)s->m);
  CP_ARRAYS(arena, s->n + s->m, &e->v, &e->z, &e->square);
  return cpArenaStatus(arena);
}

/* ---- factors, as those of cpCholeskyFactor with scaling to unit diagonal ---- */

static void begin(Factors *F) {
  F->plain = F->worst = 0;
  F->smallest         = 1.0;
}

/* In the following functions n is F->n, and with dense = 1 all rows begin with entry 0. The callers
 * pass constants where they can, so that the compiler unrolls the loops. */

/* Computes row k of L from row k of K, given by v [k] and size = k_kk; v is overwritten. Returns
 * whether the row depends on the rows before it. */
CP_WIDE_PART int addRow(Factors *F, int n, int dense, int k, double size, double *v, double least) {
  double *l = F->L + (size_t)k * (size_t)n, pivot = size;
  int i = 0;
  while (!dense && i < k && v[i] == 0.0) i++;
  if (!dense) F->plain += i == k && i == F->plain, F->first[k] = i;
  for (const double *before = F->L + (size_t)i * (size_t)n; i < k; i++, before += n) {
    double vi = v[i];
    for (int j = dense ? 0 : F->first[i]; j < i; j++) vi -= before[j] * v[j];
    v[i] = vi;
    l[i] = vi * F->inverse[i];
    pivot -= vi * l[i];
  }
  if (!(size > 0.0 && (k > 0 ? pivot > least * least * size : size < INFINITY))) return 1;
  F->size[k]    = size;
  F->inverse[k] = 1.0 / pivot;
  if (k > 0 && pivot < F->smallest * size) F->smallest = pivot / size, F->worst = k;
  return 0;
}

/* x <- L^{-1} x; the entries of x are stride apart */
CP_WIDE_PART void forward(const Factors *F, int n, int dense, double *x, size_t stride) {
  int i = dense ? 1 : F->plain;
  if (i >= n) return;
  for (const double *l = F->L + (size_t)i * (size_t)n; i < n; i++, l += n) {
    double xi = x[(size_t)i * stride];
    for (int j = dense ? 0 : F->first[i]; j < i; j++) xi -= l[j] * x[(size_t)j * stride];
    x[(size_t)i * stride] = xi;
  }
}

/* x <- L^{-T} x */
CP_WIDE_PART void backward(const Factors *F, int n, int dense, double *x) {
  const int plain = dense ? 1 : F->plain;
  if (plain >= n) return;
  const double *l = F->L + (size_t)n * (size_t)n;
  for (int k = n - 1; k >= plain; k--) {
    l -= n;
    for (int j = dense ? 0 : F->first[k]; j < k; j++) x[j] -= l[j] * x[k];
  }
}

/* x <- K^{-1} x */
CP_WIDE_PART void solveFactors(const Factors *F, int n, int dense, double *x) {
  forward(F, n, dense, x, 1);
  for (int k = 0; k < n; k++) x[k] *= F->inverse[k];
  backward(F, n, dense, x);
}

static int trialSolve(void *factors, double *x) {
  const Factors *F = factors;
  for (int k = 0; k < F->n; k++) x[k] *= sqrt(F->size[k]);
  solveFactors(F, F->n, F->dense, x);
  for (int k = 0; k < F->n; k++) x[k] *= sqrt(F->size[k]);
  return 0;
}

/* Returns the row that makes the matrix singular within roundoff, or -1. */
static inline int singularRow(Factors *F) {
  double x[CP_SMALL];
  return F->smallest < CP_SMALL_PIVOT && cpJudge(trialSolve, F, x, F->n) ? F->worst : -1;
}

/* Factors W from its upper triangle. Returns 0 or CP_SADDLE_NOT_DEFINITE. */
CP_RARE static int factorWeight(CPSaddle s) {
  Envelope *e     = s->used.content;
  Factors *F      = &e->W;
  const double *W = s->M.value;
  int bad         = -1;
  begin(F);
  for (int k = 0; k < F->n && bad < 0; k++, W += F->n) {
    for (int i = 0; i < k; i++) e->v[i] = W[i];
    if (addRow(F, F->n, 0, k, W[k], e->v, CP_CHOLESKY_LEAST)) bad = k;
  }
  s->indefinite = bad < 0 ? singularRow(F) : bad;
  e->of         = s->indefinite < 0 ? s->weights : 0;
  return s->indefinite < 0 ? 0 : CP_SADDLE_NOT_DEFINITE;
}

/* Y = L^{-1} A^T for the rows in use; the multipliers of the others are zero. */
CP_RARE static void formY(CPSaddle s) {
  Envelope *e    = s->used.content;
  const size_t p = (size_t)s->nrows;
  cpSaddleGather(s, e->own, 1, p);
  for (size_t k = 0; k < p; k++) forward(&e->W, s->n, 0, e->own + k, p);
  e->Y      = e->own;
  s->square = NULL;
}

/* Factors S (unless to_do is SOLVE), then solves for x and mu, each unless NULL: S and its
 * right-hand side are sums over the same products. BOTH takes Y from A and keeps a copy, and tests
 * x; nothing is NULL. A diagonal W takes f as it is. A constant p, the number of rows in use, keeps
 * the sums in registers; with more rows (dense = 0) most coordinates have a part in few of them. */
enum { FACTOR, SOLVE, BOTH };
CP_WIDE_PART int pass(CPSaddle s, int p, int dense, int to_do, const double *A, const double *f,
                      const double *b, double *x, double *mu) {
  Envelope *e = s->used.content;
  Factors *F  = &e->S;
  const int n = s->n, *row = s->row, plain = e->W.plain == n;
  const int has_f = to_do == BOTH || (to_do == SOLVE && f), has_b = to_do == BOTH || b,
            has_x = to_do == BOTH || x, has_mu = to_do == BOTH || mu;
  const double *d = e->W.inverse, *y = to_do == BOTH ? A : e->Y, *z = f;
  double S[CP_SMALL * CP_SMALL / 2], r[CP_SMALL], square[CP_SMALL]; /* S: s_ki, i <= k, by rows */
  int from[CP_SMALL], to[CP_SMALL]; /* the rows of A that coordinate j has a part in */
  double zero = 0.0;
  if (has_f && !plain) {
    double *own = has_x ? x : e->z;
    for (int j = 0; j < n; j++) own[j] = f[j];
    forward(&e->W, n, 0, own, 1);
    z = own;
  }
  for (int k = 0; k < p; k++) r[k] = has_b ? -b[row[k]] : 0.0, square[k] = 0.0;
  for (int q = 0; to_do != SOLVE && q < p * (p + 1) / 2; q++) S[q] = 0.0;
  if (to_do == BOTH && !dense && e->Y != A) memcpy(e->Y, A, (size_t)(n * p) * sizeof *A);
  for (int j = 0; j < n; j++, y += p) {
    int first = 0, end = p;
    while (!dense && first < p && y[first] == 0.0) first++;
    while (!dense && end > first && y[end - 1] == 0.0) end--;
    if (!dense) from[j] = first, to[j] = end;
    for (int k = first; k < end; k++) {
      if (to_do == BOTH && dense) e->Y[j * p + k] = y[k];
      const double yd = y[k] * d[j];
      double *row_k   = S + k * (k + 1) / 2;
      for (int i = first; to_do != SOLVE && i <= k; i++) row_k[i] += yd * y[i];
      if (to_do != SOLVE) square[k] += y[k] * y[k];
      if (has_f) r[k] += yd * z[j];
    }
  }
  if (to_do != SOLVE) {
    const double least = cpSaddleLeastSine(s);
    int bad            = -1;
    F->n               = p;
    F->dense           = dense;
    for (int k = 0; k < p; k++) e->square[k] = square[k];
    begin(F);
    for (int k = 0, q = 0; k < p && bad < 0; k++) {
      for (int i = 0; i < k; i++) e->v[i] = S[q++];
      if (!(S[q] > CP_LEAST_SQUARES) || addRow(F, p, dense, k, S[q], e->v, least)) bad = k;
      q++;
    }
    if (bad < 0 && p > 1 && least >= CP_CHOLESKY_LEAST) bad = singularRow(F);
    s->sine  = p > 1 ? sqrt(F->smallest) : 1.0;
    s->valid = bad < 0;
    if (bad >= 0) cpSaddleMarkDependent(s, row[bad]);
    if (bad >= 0) return CP_SADDLE_DEPENDENT;
    if (to_do == FACTOR) return 0;
  }
  solveFactors(F, p, dense, r);
  for (int k = 0; has_mu && k < p; k++) mu[row[k]] = r[k];
  y = e->Y;
  for (int j = 0; has_x && j < n; j++, y += p) {
    double zj = has_f ? z[j] : 0.0;
    for (int k = dense ? 0 : from[j], end = dense ? p : to[j]; k < end; k++) zj -= y[k] * r[k];
    x[j] = d[j] * zj;
    if (to_do == BOTH) zero += 0.0 * x[j]; /* NaN if x_j is NaN or Inf */
  }
  if (has_x && !plain) {
    backward(&e->W, n, 0, x);
    if (to_do == BOTH && !cpAllFinite(x, n)) return CP_SADDLE_NONFINITE;
  }
  return zero == 0.0 ? 0 : CP_SADDLE_NONFINITE;
}

static int factor(CPSaddle s) {
  Envelope *e = s->used.content;
  if (s->dependent >= 0) return CP_SADDLE_DEPENDENT;
  const int flag = e->of == s->weights ? 0 : factorWeight(s);
  if (flag) return flag;
  e->Y      = s->A.value;
  s->square = e->square;
  if (s->nrows < s->m || e->W.plain < s->n) formY(s);
  return pass(s, s->nrows, 0, FACTOR, s->A.value, 0, 0, 0, 0);
}

static int solve(CPSaddle s, const double *f, const double *b, double *x, double *mu) {
  return pass(s, s->nrows, ((Envelope *)s->used.content)->S.dense, SOLVE, NULL, f, b, x, mu);
}

/* If an entry of A is not finite, neither is its row's diagonal entry of S, and S is refused. */
static int quick(CPSaddle s, const double *W, const double *A, const double *f, const double *b,
                 double *x, double *mu) {
  Envelope *e    = s->used.content;
  const int flag = cpSaddleTake(s, W, A);
  if (flag) return flag == CP_SADDLE_SAME && !cpSaddleSolve(s, f, b, x, mu) && cpAllFinite(x, s->n);
  if (e->of != s->weights && factorWeight(s)) return 0;
  if (e->W.plain < s->n || s->nrows < s->m) {
    memcpy(s->A.value, A, s->entries[1] * sizeof *A);
    formY(s);
    A = e->Y;
    if (s->nrows < s->m) memset(mu, 0, (size_t)s->m * sizeof *mu);
  } else {
    e->Y      = s->A.value;
    s->square = e->square;
  }
  int failed;
  switch (s->nrows) {
  case 1: failed = pass(s, 1, 1, BOTH, A, f, b, x, mu); break;
  case 2: failed = pass(s, 2, 1, BOTH, A, f, b, x, mu); break;
  case 3: failed = pass(s, 3, 1, BOTH, A, f, b, x, mu); break;
  default: failed = pass(s, s->nrows, 0, BOTH, A, f, b, x, mu);
  }
  if (cpSaddleIsRefined(s)) s->valid = 0;
  return !failed && s->valid;
}

const CPSaddleOps cpSaddleEnvelopeOps = {create, factor, solve, quick, NULL};
