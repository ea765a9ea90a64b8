/* Dense Schur complement: D = F F^T (weight.c), X = F^T A^T, X^T in memory,
 *
 *   S = X^T X = A D A^T,   S mu = X^T (F^T f) - b,   x = F (F^T f - X mu).
 *
 * S is scaled to unit diagonal: its pivots are then the squared sines of the angles between rows, in the metric of W.
 * Where W is diagonal and A has few entries, X^T holds these only, else all. Small dense W and A have both factors in one
 * (envelope.h). */
#include "envelope.h"
#include "saddle_impl.h"

#include <math.h>
#include <string.h>

/* Part of nonzero entries above which a large X is treated as a dense matrix. */
#define DENSE_ABOVE 0.25

typedef struct {
  CPEnvelope both;  /* order up to CP_SMALL; n is 0 if it is not used, and the rest if it is: */
  long int both_of; /* s->weights that its rows of W belong to */
  CPWeightFactors W;
  CPMat XT;      /* nrows x n; dense if start is NULL */
  size_t *start; /* [n + 1] XT.start when X^T is sparse */
  int *row;      /* [n m] the same of XT.row; NULL if it never is */
  int *place;    /* [m] of a row in X^T, -1: off */
  CPCholesky S;  /* nrows x nrows */
  double *y;     /* [n] */
  double *mu;    /* [nrows] */
} Schur;

static int schurCreate(CPSaddle s) {
  CPArena *arena       = &s->used.arena;
  const size_t entries = (size_t)s->n * (size_t)s->m;
  Schur *c;
  s->used.content = CP_NEW(arena, c, 1);
  if (!c) return CP_MEM_FAIL;
  if (s->has_matrix && !s->M.start && !s->A.start && s->n + s->m <= CP_SMALL) {
    CP_NEW(arena, c->y, s->n + s->m);
    return cpEnvelopeCreate(&c->both, arena, s->n, s->m);
  }
  c->XT.cols = s->n;
  CP_NEW(arena, c->XT.value, entries);
  if (!s->has_matrix && s->A.start) {
    CP_NEW(arena, c->start, s->n + 1);
    CP_NEW(arena, c->row, entries);
  }
  CP_NEW(arena, c->place, s->m);
  CP_NEW(arena, c->y, s->n);
  CP_NEW(arena, c->mu, s->m);
  const int flag = cpCholeskyCreate(&c->S, arena, s->m);
  return flag ? flag : cpWeightCreate(&c->W, s);
}

/* X^T = A F, of the entries of A that are not zero and whose component is not held */
static void gatherSparse(const CPSaddle s, Schur *c) {
  const CPMat *A = &s->A;
  size_t count   = 0;
  c->XT.start    = c->start;
  c->XT.row      = c->row;
  for (int i = 0, k = 0; i < s->m; i++) c->place[i] = s->off[i] ? -1 : k++;
  for (int j = 0; j < s->n; j++) {
    const double root = c->W.root[j];
    c->start[j]       = count;
    for (size_t e = A->start[j]; root != 0.0 && e < A->start[j + 1]; e++) {
      if (c->place[A->row[e]] < 0 || A->value[e] == 0.0) continue;
      c->row[count]        = c->place[A->row[e]];
      c->XT.value[count++] = A->value[e] * root;
    }
  }
  c->start[s->n] = count;
}

static int dependent(CPSaddle s, int bad) {
  if (bad == 0) return 0;
  cpSaddleMarkDependent(s, s->row[bad - 1]);
  return CP_SADDLE_DEPENDENT;
}

static int factorBoth(CPSaddle s, Schur *c) {
  const double least = s->ranktol > CP_CHOLESKY_LEAST ? s->ranktol : CP_CHOLESKY_LEAST;
  if (c->both_of != s->weights) {
    c->both_of    = 0;
    s->indefinite = cpEnvelopeFactorWeight(&c->both, s->M.value, CP_CHOLESKY_LEAST) - 1;
    if (s->indefinite >= 0) return CP_SADDLE_NOT_DEFINITE;
    c->both_of = s->weights;
  }
  return dependent(s, cpEnvelopeFactorRows(&c->both, &s->A, s->row, s->nrows, least, &s->sine));
}

static int schurFactor(CPSaddle s) {
  Schur *c    = s->used.content;
  const int m = s->nrows;
  if (c->both.n) return factorBoth(s, c);
  const int flag = cpWeightFactor(&c->W, s);
  c->S.n = c->XT.rows = m;
  if (m == 0) c->XT.start = NULL;
  if (flag || m == 0) return flag;
  if (c->row && (m <= CP_SMALL || (double)s->A.start[s->n] <= DENSE_ABOVE * s->n * m))
    gatherSparse(s, c);
  else {
    c->XT.start = NULL;
    cpSaddleGather(s, c->XT.value, 1, (size_t)m);
    cpWeightScale(&c->W, m, c->XT.value);
  }
  if (c->XT.start) cpMatGram(&c->XT, c->S.U);
  else cpGram(m, s->n, c->XT.value, c->S.U);
  cpCholeskyUnitDiagonal(&c->S);
  const int bad = cpCholeskyFactor(&c->S, fmax(s->ranktol, CP_CHOLESKY_LEAST));
  for (int k = 0; bad == 0 && k < m; k++) s->sine = fmin(s->sine, 1.0 / c->S.inverse[k]);
  return dependent(s, bad);
}

/* x = F (y - X mu); y zero if NULL, else in place */
static void correct(const Schur *c, const double *mu, const double *y, double *x) {
  const CPMat *X = &c->XT;
  if (!X->start) {
    if (!y) memset(x, 0, (size_t)X->cols * sizeof *x);
    cpMatTransposedTimes(X, -1.0, mu, 1.0, x);
    cpWeightBackward(&c->W, x);
    return;
  }
  for (int j = 0; j < X->cols; j++) {
    double sum = y ? y[j] : 0.0;
    for (size_t k = X->start[j]; k < X->start[j + 1]; k++) sum -= X->value[k] * mu[X->row[k]];
    x[j] = c->W.root[j] * sum;
  }
}

static void solveBoth(CPSaddle s, Schur *c, const double *f, const double *b, double *x, double *mu) {
  const int n = s->n, m = s->nrows;
  double *z = c->y;
  for (int j = 0; j < n; j++) z[j] = f ? f[j] : 0.0;
  for (int k = 0; k < m; k++) z[n + k] = b ? b[s->row[k]] : 0.0;
  cpEnvelopeSolve(&c->both, f ? 0 : n, x ? 0 : n, z);
  if (x) memcpy(x, z, (size_t)n * sizeof *x);
  for (int k = 0; mu && k < m; k++) mu[s->row[k]] = z[n + k];
}

static int schurSolve(CPSaddle s, const double *f, const double *b, double *x, double *mu) {
  Schur *c = s->used.content;
  if (c->both.n) return solveBoth(s, c, f, b, x, mu), 0;
  const CPMat *X = &c->XT;
  const int n = s->n, m = s->nrows;
  double *y = x ? x : c->y, *z = c->mu;
  for (int k = 0; k < m; k++) z[k] = b ? -b[s->row[k]] : 0.0;
  if (f) {
    memcpy(y, f, (size_t)n * sizeof *y);
    cpWeightForward(&c->W, y);     /* y = F^T f */
    cpMatTimes(X, 1.0, y, 1.0, z); /* X^T y - b */
  }
  cpCholeskySolve(&c->S, z); /* mu = S^-1 (X^T y - b) */
  for (int k = 0; mu && k < m; k++) mu[s->row[k]] = z[k];
  if (x) correct(c, z, f ? y : NULL, x);
  return 0;
}

const CPSaddleOps cpSaddleSchurOps = {.name   = "Schur complement",
                                      .type   = CP_SADDLE_SCHUR,
                                      .lin    = CP_LINSOL_SCHUR,
                                      .kkt    = CP_KKT_SCHUR,
                                      .create = schurCreate,
                                      .factor = schurFactor,
                                      .solve  = schurSolve};
