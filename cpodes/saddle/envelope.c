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
  int *first;      /* [n] column of each row's first entry */
  double *L;       /* [n x n] by rows, the part below the diagonal */
  double *inverse; /* [n] 1 / d_k */
  double *size;    /* [n] k_kk: a pivot is k_kk times the squared sine of an angle */
  double smallest; /* the smallest of these squared sines, in row `worst` */
  int worst;
} Factors;

typedef struct {
  Factors W, S;    /* factors of W, and of S for the rows in use */
  const double *Y; /* [n x nrows] by rows: the values of A, or own */
  double *own, *v, *z;
  long int of; /* value of s->weights when W was factored; 0: there are no factors */
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
  CP_ARRAYS(arena, s->n + s->m, &e->v, &e->z);
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
  F->plain += i == k && i == F->plain;
  F->first[k] = i;
  for (const double *before = F->L + (size_t)i * (size_t)n; i < k; i++, before += n) {
    double vi = v[i];
    for (int j = dense ? 0 : F->first[i]; j < i; j++) vi -= before[j] * v[j];
    v[i] = vi;
    l[i] = vi * F->inverse[i];
    pivot -= vi * l[i];
  }
  if (!(size > 0.0 && pivot > least * least * size)) return 1;
  F->size[k]    = size;
  F->inverse[k] = 1.0 / pivot;
  if (pivot < F->smallest * size) F->smallest = pivot / size, F->worst = k;
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
  solveFactors(F, F->n, 0, x);
  for (int k = 0; k < F->n; k++) x[k] *= sqrt(F->size[k]);
  return 0;
}

/* Returns the row that makes the matrix singular within roundoff, or -1. */
static inline int singularRow(Factors *F) {
  double x[CP_SMALL];
  return F->smallest < CP_SMALL_PIVOT && cpJudge(trialSolve, F, x, F->n) ? F->worst : -1;
}

/* Factors W from its upper triangle. Returns the row that fails, or -1. */
static int factorWeight(Envelope *e, const double *W) {
  Factors *F = &e->W;
  begin(F);
  for (int k = 0; k < F->n; k++, W += F->n) {
    for (int i = 0; i < k; i++) e->v[i] = W[i];
    if (addRow(F, F->n, 0, k, W[k], e->v, CP_CHOLESKY_LEAST)) return k;
  }
  return singularRow(F);
}

/* Y = L^{-1} A^T for the rows in use */
static void formY(Envelope *e, const CPSaddle s) {
  const size_t p = (size_t)s->nrows;
  e->Y           = s->A.value;
  if (s->nrows == s->m && e->W.plain == s->n) return;
  cpSaddleGather(s, e->own, 1, p);
  for (size_t k = 0; k < p; k++) forward(&e->W, s->n, 0, e->own + k, p);
  e->Y = e->own;
}

/* Forms and factors S. A constant p (few rows) keeps the sums over the components in registers.
 * Returns the row that fails, or -1. */
CP_WIDE_PART int factorRows(Envelope *e, int n, int p, double least) {
  Factors *F      = &e->S;
  const double *y = e->Y, *d            = e->W.inverse;
  double S[CP_SMALL * CP_SMALL / 2], *v = e->v; /* S: s_ki, i <= k, row by row */
  for (int q = 0; q < p * (p + 1) / 2; q++) S[q] = 0.0;
  for (int j = 0; j < n; j++, y += p)
    for (int k = 0, q = 0; k < p; k++) {
      const double yd = y[k] * d[j];
      for (int i = 0; i <= k; i++) S[q++] += yd * y[i];
    }
  F->n = p;
  begin(F);
  for (int k = 0, q = 0; k < p; k++) {
    for (int i = 0; i < k; i++) v[i] = S[q++];
    if (addRow(F, p, 1, k, S[q++], v, least)) return k;
  }
  return singularRow(F);
}

static int factor(CPSaddle s) {
  Envelope *e = s->used.content;
  const int n = s->n, p = s->nrows;
  const double least = s->ranktol > CP_CHOLESKY_LEAST ? s->ranktol : CP_CHOLESKY_LEAST;
  if (e->of != s->weights) {
    e->of         = 0;
    s->indefinite = factorWeight(e, s->M.value);
    if (s->indefinite >= 0) return CP_SADDLE_NOT_DEFINITE;
    e->of = s->weights;
  }
  formY(e, s);
  const int bad = p == 1   ? factorRows(e, n, 1, least)
                  : p == 2 ? factorRows(e, n, 2, least)
                  : p == 3 ? factorRows(e, n, 3, least)
                           : factorRows(e, n, p, least);
  s->sine       = sqrt(e->S.smallest);
  if (bad < 0) return 0;
  cpSaddleMarkDependent(s, s->row[bad]);
  return CP_SADDLE_DEPENDENT;
}

/* Solves for x and mu, each unless NULL; p as in factorRows. */
CP_WIDE_PART int solveRows(const Envelope *e, int n, int p, const int *row, const double *f,
                           const double *b, double *x, double *mu) {
  const double *d = e->W.inverse, *y = e->Y;
  double *z = x ? x : e->z, r[CP_SMALL];
  for (int k = 0; k < p; k++) r[k] = b ? -b[row[k]] : 0.0;
  for (int j = 0; j < n; j++) z[j] = f ? f[j] : 0.0;
  if (f) forward(&e->W, n, 0, z, 1);
  for (int j = 0; f && j < n; j++, y += p) {
    const double dz = d[j] * z[j];
    for (int k = 0; k < p; k++) r[k] += y[k] * dz;
  }
  solveFactors(&e->S, p, 1, r);
  for (int k = 0; mu && k < p; k++) mu[row[k]] = r[k];
  y = e->Y;
  for (int j = 0; x && j < n; j++, y += p) {
    double zj = z[j];
    for (int k = 0; k < p; k++) zj -= y[k] * r[k];
    x[j] = d[j] * zj;
  }
  if (x) backward(&e->W, n, 0, x);
  return 0;
}

static int solve(CPSaddle s, const double *f, const double *b, double *x, double *mu) {
  const Envelope *e = s->used.content;
  const int n = s->n, p = s->nrows, *row = s->row;
  return p == 1   ? solveRows(e, n, 1, row, f, b, x, mu)
         : p == 2 ? solveRows(e, n, 2, row, f, b, x, mu)
         : p == 3 ? solveRows(e, n, 3, row, f, b, x, mu)
                  : solveRows(e, n, p, row, f, b, x, mu);
}

const CPSaddleOps cpSaddleEnvelopeOps = {create, factor, solve};
