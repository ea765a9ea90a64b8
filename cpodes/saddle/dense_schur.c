/* Dense Schur complement: D = F F^T (weight.c), X = F^T A^T, X^T in memory,
 *
 *   S = X^T X = A D A^T,   S mu = X^T (F^T f) - b,   x = F (F^T f - X mu).
 *
 * S is scaled to unit diagonal: its pivots are then the squared sines of the angles between rows, in the metric of W. */
#include "weight.h"

#include <math.h>
#include <string.h>

typedef struct {
  CPWeightFactors W;
  double *XT;   /* nrows x n */
  CPCholesky S; /* nrows x nrows */
  double *y;    /* [n] */
  double *mu;   /* [nrows] */
} Schur;

static int schurCreate(CPSaddle s) {
  CPArena *arena = &s->used.arena;
  Schur *c;
  s->used.content = CP_NEW(arena, c, 1);
  if (!c) return CP_MEM_FAIL;
  CP_NEW(arena, c->XT, (size_t)s->n * (size_t)s->m);
  CP_NEW(arena, c->y, s->n);
  CP_NEW(arena, c->mu, s->m);
  const int flag = cpCholeskyCreate(&c->S, arena, s->m);
  return flag ? flag : cpWeightCreate(&c->W, s);
}

/* The rows in use of A. */
static void gather(const CPSaddle s, double *XT) {
  const CPMat *A = &s->A;
  for (int j = 0; j < s->n; j++, XT += s->nrows) {
    const double *column = A->value + cpMatFirst(A, j);
    if (!A->start) {
      for (int k = 0; k < s->nrows; k++) XT[k] = column[s->row[k]];
      continue;
    }
    size_t e = A->start[j];
    for (int k = 0; k < s->nrows; k++) { /* rows ascend, in both */
      while (e < A->start[j + 1] && A->row[e] < s->row[k]) e++;
      XT[k] = e < A->start[j + 1] && A->row[e] == s->row[k] ? A->value[e] : 0.0;
    }
  }
}

static int schurFactor(CPSaddle s) {
  Schur *c       = s->used.content;
  const int m    = s->nrows;
  const int flag = cpWeightFactor(&c->W, s);
  c->S.n         = m;
  if (flag || m == 0) return flag;
  gather(s, c->XT);
  cpWeightScale(&c->W, m, c->XT); /* X^T = A F  */
  cpGram(m, s->n, c->XT, c->S.U); /* S = X^T X  */
  cpCholeskyUnitDiagonal(&c->S);
  const int bad = cpCholeskyFactor(&c->S, fmax(s->ranktol, CP_CHOLESKY_LEAST));
  for (int k = 0; bad == 0 && k < m; k++) s->sine = fmin(s->sine, 1.0 / c->S.inverse[k]);
  if (bad == 0) return 0;
  cpSaddleMarkDependent(s, s->row[bad - 1]);
  return CP_SADDLE_DEPENDENT;
}

static int schurSolve(CPSaddle s, const double *f, const double *b, double *x, double *mu) {
  Schur *c    = s->used.content;
  const int n = s->n, m = s->nrows;
  double *y = x ? x : c->y, *z = c->mu;
  if (f) {
    memcpy(y, f, (size_t)n * sizeof *y);
    cpWeightForward(&c->W, y); /* y = F^T f */
  }
  for (int k = 0; k < m; k++) z[k] = b ? -b[s->row[k]] : 0.0;
  if (f && m > 0) cpTimes(m, n, 1.0, c->XT, y, 1.0, z); /* X^T y - b  */
  if (m > 0) cpCholeskySolve(&c->S, z);                 /* mu = S^-1 z */
  for (int k = 0; mu && k < m; k++) mu[s->row[k]] = z[k];
  if (!x) return 0;
  if (m > 0) cpTransposedTimes(m, n, -1.0, c->XT, z, f ? 1.0 : 0.0, y); /* y - X mu */
  else if (!f) memset(y, 0, (size_t)n * sizeof *y);
  cpWeightBackward(&c->W, y);
  return 0;
}

const CPSaddleOps cpSaddleSchurOps = {.name   = "Schur complement",
                                      .type   = CP_SADDLE_SCHUR,
                                      .create = schurCreate,
                                      .factor = schurFactor,
                                      .solve  = schurSolve};
