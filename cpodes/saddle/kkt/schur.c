/* Dense Schur complement: M = L L^T, by blocks where M has them,
 *
 *   X = L^{-1} A^T,   S = X^T X = A M^{-1} A^T,   S lambda = A M^{-1} f - b,   M a = f - A^T lambda.
 *
 * S is scaled to unit diagonal: its pivots are then the squared sines of the angles between rows, in
 * the metric of kinetic energy. */
#include "blocks.h"
#include "cpodes/saddle/small.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
  CPMassBlocks M;
  double *X;      /* n x nrows */
  CPCholesky S;   /* nrows x nrows */
  double *lambda; /* [nrows] */
} Schur;

static void schurDestroy(CPKkt kkt) {
  Schur *s = kkt->content;
  cpKktBlocksFree(&s->M);
  cpCholeskyFree(&s->S);
  free(s->X);
  free(s->lambda);
  free(s);
  kkt->content = NULL;
}

static int schurCreate(CPKkt kkt) {
  Schur *s = kkt->content = calloc(1, sizeof *s);
  const size_t n = (size_t)kkt->n, m = (size_t)kkt->m;
  if (!s) return CP_MEM_FAIL;
  s->X      = malloc((n * m + 1) * sizeof *s->X);
  s->lambda = malloc((m + 1) * sizeof *s->lambda);
  if (!s->X || !s->lambda || cpCholeskyCreate(&s->S, kkt->m)) return CP_MEM_FAIL;
  return cpKktBlocksCreate(&s->M, kkt->M);
}

/* Without rows in use the BLAS would be asked for arrays of no columns. */
static int schurFactor(CPKkt kkt) {
  Schur *s       = kkt->content;
  const int m    = kkt->nrows;
  const int flag = cpKktBlocksFactor(&s->M, kkt->M);
  s->S.n         = m;
  if (flag || m == 0) return flag;
  cpKktGather(kkt, s->X);
  cpKktBlocksForward(&s->M, s->X, m); /* X = L^-1 A' */
  cpGram(kkt->n, m, s->X, s->S.U);    /* S = X'X     */
  cpCholeskyUnitDiagonal(&s->S);
  const int bad = cpCholeskyFactor(&s->S, fmax(kkt->ranktol, CP_CHOLESKY_LEAST));
  for (int k = 0; bad == 0 && k < m; k++) kkt->sine = fmin(kkt->sine, 1.0 / s->S.inverse[k]);
  if (bad == 0) return 0;
  cpKktMarkDependent(kkt, kkt->row[bad - 1]);
  return CP_KKT_DEPENDENT;
}

static int schurSolve(CPKkt kkt, const double *f, const double *b, double *a, double *lambda) {
  Schur *s    = kkt->content;
  const int n = kkt->n, m = kkt->nrows;
  for (int j = 0; j < n; j++) a[j] = f[j];
  cpKktBlocksForward(&s->M, a, 1); /* y = L^-1 f */
  for (int k = 0; k < m; k++) s->lambda[k] = b[kkt->row[k]];
  if (m > 0) {
    cpTransposedTimes(n, m, 1.0, s->X, a, -1.0, s->lambda); /* X'y - b      */
    cpCholeskySolve(&s->S, s->lambda);                      /* S^-1 lambda  */
    cpTimes(n, m, -1.0, s->X, s->lambda, 1.0, a);           /* y - X lambda */
  }
  cpKktBlocksBackward(&s->M, a);
  for (int k = 0; k < m; k++) lambda[kkt->row[k]] = s->lambda[k];
  return 0;
}

const CPKktOps cpKktSchurOps = {.name    = "Schur complement",
                                .type    = CP_KKT_SCHUR,
                                .create  = schurCreate,
                                .factor  = schurFactor,
                                .solve   = schurSolve,
                                .destroy = schurDestroy};
