/* Dense Schur complement: D = F F^T (weight.c), X = F^T A^T, stored as X^T,
 *
 *   S = X^T X = A D A^T,   S mu = X^T (F^T f) - b,   x = F (F^T f - X mu).
 *
 * S is scaled to unit diagonal: its pivots are then the squared sines of the angles between rows,
 * in the metric of W. If W is diagonal and A has few entries, X^T is sparse, else dense. */
#include "saddle_impl.h"

#include <math.h>
#include <string.h>

typedef struct {
  CPWeightFactors W;
  CPMat XT;      /* nrows x n; dense if start is NULL */
  size_t *start; /* [n + 1] XT.start if X^T is sparse; NULL if it never is */
  int *row;      /* [n m] XT.row if X^T is sparse; NULL if it never is */
  int *place;    /* [m] place of a row of A in X^T; -1: the row is off */
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

/* X^T = A F, from the entries of A that are not zero and whose component is not fixed */
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

static int schurFactor(CPSaddle s) {
  Schur *c       = s->used.content;
  const int m    = s->nrows;
  const int flag = s->dependent >= 0 ? CP_SADDLE_DEPENDENT : cpWeightFactor(&c->W, s);
  c->S.n = c->XT.rows = m;
  if (m == 0) c->XT.start = NULL;
  if (flag || m == 0) return flag;
  if (c->row && (m <= CP_SMALL || (double)s->A.start[s->n] <= CP_SPARSE_UP_TO * s->n * m))
    gatherSparse(s, c);
  else {
    c->XT.start = NULL;
    cpSaddleGather(s, c->XT.value, 1, (size_t)m);
    cpWeightScale(&c->W, m, c->XT.value);
  }
  if (c->XT.start) cpMatGram(&c->XT, c->S.U);
  else cpGram(m, s->n, c->XT.value, c->S.U);
  cpCholeskyUnitDiagonal(&c->S);
  int bad = cpCholeskyFactor(&c->S, cpSaddleLeastSine(s));
  for (int k = 0; bad == 0 && k < m; k++) /* d_k^2 = 1 / s_kk */
    if (!(c->S.d[k] * c->S.d[k] < 1.0 / CP_LEAST_SQUARES)) bad = k + 1;
  for (int k = 0; bad == 0 && k < m; k++) s->sine = fmin(s->sine, 1.0 / c->S.inverse[k]);
  if (bad == 0) return 0;
  cpSaddleMarkDependent(s, s->row[bad - 1]);
  return CP_SADDLE_DEPENDENT;
}

/* x = F (y - X mu); y is zero if NULL, else x itself */
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

static int schurSolve(CPSaddle s, const double *f, const double *b, double *x, double *mu) {
  Schur *c       = s->used.content;
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

const CPSaddleOps cpSaddleSchurOps = {schurCreate, schurFactor, schurSolve, NULL, NULL};
