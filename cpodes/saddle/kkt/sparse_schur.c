/* Sparse Schur complement, where M = L L^T has small blocks (bodies in absolute coordinates):
 *
 *   X = L^{-1} A^T E,   S = X^T X = E A M^{-1} A^T E,   E = diag(e): unit columns of X
 *
 *   x = X S^{-1} E b,   mu = S^{-1} X^T (L^{-1} f - x),   lambda = E mu,   L^T a = L^{-1} f - X mu.
 *
 * S is the projectors' (../sparse.c): in an order of little fill, with components that very many rows
 * share kept as unknowns. Its order is m, that of the KKT matrix n + m. */
#include "blocks.h"
#include "cpodes/saddle/linsol.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  CPMassBlocks M;
  CPEntries X;  /* by rows, each with all the constraints of its block's rows up to there */
  CPLin lin;    /* S; NULL without rows */
  double *unit; /* [m] e; 0: row is off, or zero */
  double *w;    /* [m] a row of X; zero in between */
  double *r;    /* [m] */
  double *x;    /* [n] */
} SparseSchur;

static void destroy(CPKkt kkt) {
  SparseSchur *s = kkt->content;
  cpKktBlocksFree(&s->M);
  cpLinFree(&s->lin);
  free(s->X.start);
  free(s->X.row);
  free(s->X.value);
  free(s->unit);
  free(s->w);
  free(s->r);
  free(s->x);
  free(s);
  kkt->content = NULL;
}

/* ---- structure ---- */

/* Appends row j of A^T to the row of X that begins at `first` and has the constraints before; both
 * ascend. Returns the end. */
static size_t mergeRow(const CPMat *A, int j, size_t first, size_t end, int *row) {
  for (size_t k = A->start[j]; k < A->start[j + 1]; k++) {
    size_t at = first;
    while (at < end && row[at] < A->row[k]) at++;
    if (at < end && row[at] == A->row[k]) continue;
    memmove(row + at + 1, row + at, (end - at) * sizeof *row);
    row[at] = A->row[k];
    end++;
  }
  return end;
}

/* Entries of X at most: those of a block's rows of A^T count in all rows below, too. */
static size_t mostEntries(const CPMassBlocks *M, const CPMat *A) {
  size_t most = 0;
  for (int b = 0; b < M->nblocks; b++)
    for (int j = M->first[b]; j < M->first[b + 1]; j++)
      most += (A->start[j + 1] - A->start[j]) * (size_t)(M->first[b + 1] - j);
  return most;
}

static void buildStructure(SparseSchur *s, const CPMat *A) {
  CPEntries *X = &s->X;
  X->start[0]  = 0;
  for (int b = 0; b < s->M.nblocks; b++)
    for (int j = s->M.first[b]; j < s->M.first[b + 1]; j++) {
      const size_t first = X->start[j];
      size_t end         = first;
      if (j > s->M.first[b])
        for (size_t k = X->start[j - 1]; k < first; k++) X->row[end++] = X->row[k];
      X->start[j + 1] = mergeRow(A, j, first, end, X->row);
    }
}

static int create(CPKkt kkt) {
  const CPMat *M = kkt->M, *A = kkt->A;
  const size_t n = (size_t)kkt->n, m = (size_t)kkt->m;
  if (!M->start || (!A->start && kkt->m > 0)) return CP_ILL_INPUT;
  SparseSchur *s = kkt->content = calloc(1, sizeof *s);
  if (!s || cpKktBlocksCreate(&s->M, M)) return CP_MEM_FAIL;
  if (kkt->m == 0) return CP_SUCCESS;
  const size_t most = mostEntries(&s->M, A);
  s->X.start        = malloc((n + 1) * sizeof *s->X.start);
  s->X.row          = malloc((most + 1) * sizeof *s->X.row);
  s->X.value        = calloc(most + 1, sizeof *s->X.value);
  s->unit           = malloc(m * sizeof *s->unit);
  s->w              = calloc(m, sizeof *s->w);
  s->r              = malloc(m * sizeof *s->r);
  s->x              = malloc(n * sizeof *s->x);
  if (!s->X.start || !s->X.row || !s->X.value || !s->unit || !s->w || !s->r || !s->x)
    return CP_MEM_FAIL;
  buildStructure(s, A);
  return cpLinCreate(&s->lin, CP_LINSOL_SPARSE, kkt->n, kkt->m, &s->X);
}

/* ---- factors ---- */

/* Row k of a block whose first row is row `first` of X: x_k = (d_k a_k - sum_i u_ik x_i) / u_kk */
static void formRow(SparseSchur *s, const CPMat *A, const CPCholesky *block, int first, int k) {
  const CPEntries *X = &s->X;
  const double *u    = block->U + (size_t)k * (size_t)block->n;
  const int j        = first + k;
  double *w          = s->w;
  for (size_t l = A->start[j]; l < A->start[j + 1]; l++) w[A->row[l]] = block->d[k] * A->value[l];
  for (int i = 0; i < k; i++)
    for (size_t l = X->start[first + i]; l < X->start[first + i + 1]; l++)
      w[X->row[l]] -= u[i] * X->value[l];
  for (size_t l = X->start[j]; l < X->start[j + 1]; l++) {
    X->value[l]  = w[X->row[l]] * block->inverse[k];
    w[X->row[l]] = 0.0;
  }
}

/* X, and e; rows in use that are zero are marked as dependent. */
static void formMatrix(CPKkt kkt) {
  SparseSchur *s     = kkt->content;
  const CPEntries *X = &s->X;
  double *e          = s->unit;
  for (int b = 0; b < s->M.nblocks; b++)
    for (int k = 0; k < s->M.block[b].n; k++) formRow(s, kkt->A, &s->M.block[b], s->M.first[b], k);
  const size_t entries = X->start[kkt->n];
  memset(s->r, 0, (size_t)kkt->m * sizeof *s->r);
  memset(e, 0, (size_t)kkt->m * sizeof *e);
  for (size_t l = 0; l < entries; l++) s->r[X->row[l]] += X->value[l] * X->value[l];
  for (int k = 0; k < kkt->nrows; k++) {
    const int i = kkt->row[k];
    if (s->r[i] > 0.0) e[i] = 1.0 / sqrt(s->r[i]);
    else cpKktMarkDependent(kkt, i);
  }
  for (size_t l = 0; l < entries; l++) X->value[l] *= e[X->row[l]];
}

/* Rows that are off are columns of zeros, which lin leaves out. */
static int factor(CPKkt kkt) {
  SparseSchur *s = kkt->content;
  int flag       = cpKktBlocksFactor(&s->M, kkt->M);
  if (flag || kkt->m == 0) return flag;
  formMatrix(kkt);
  if (kkt->dependent >= 0) return CP_KKT_DEPENDENT;
  s->lin->ranktol = fmax(kkt->ranktol, CP_CHOLESKY_LEAST);
  flag            = s->lin->ops->factor(s->lin);
  kkt->sine       = s->lin->sine;
  if (flag < 0 || s->lin->dependent < 0) return flag;
  cpKktMarkDependent(kkt, s->lin->dependent);
  return CP_KKT_DEPENDENT;
}

/* ---- solution ---- */

/* a <- L^{-1} f - X mu, lambda = E mu */
static int eliminate(CPKkt kkt, const double *b, double *a, double *lambda) {
  SparseSchur *s     = kkt->content;
  const CPEntries *X = &s->X;
  const int n = kkt->n, m = kkt->m;
  for (int i = 0; i < m; i++) s->r[i] = s->unit[i] > 0.0 ? s->unit[i] * b[i] : 0.0;
  int flag = s->lin->ops->solve(s->lin, s->r, s->x); /* x  = X S^-1 E b         */
  for (int j = 0; j < n; j++) s->x[j] = a[j] - s->x[j];
  if (!flag) flag = s->lin->ops->solve_t(s->lin, s->x, s->r); /* mu = S^-1 X'(L^-1 f - x) */
  if (flag) return flag;
  for (int j = 0; j < n; j++)
    for (size_t l = X->start[j]; l < X->start[j + 1]; l++) a[j] -= X->value[l] * s->r[X->row[l]];
  for (int i = 0; i < m; i++) lambda[i] = s->unit[i] > 0.0 ? s->unit[i] * s->r[i] : 0.0;
  return 0;
}

static int solve(CPKkt kkt, const double *f, const double *b, double *a, double *lambda) {
  SparseSchur *s = kkt->content;
  memcpy(a, f, (size_t)kkt->n * sizeof *a);
  cpKktBlocksForward(&s->M, a, 1);
  const int flag = kkt->m > 0 ? eliminate(kkt, b, a, lambda) : 0;
  cpKktBlocksBackward(&s->M, a);
  return flag;
}

const CPKktOps cpKktSparseSchurOps = {.name    = "sparse Schur complement",
                                      .type    = CP_KKT_SPARSE_SCHUR,
                                      .create  = create,
                                      .factor  = factor,
                                      .solve   = solve,
                                      .destroy = destroy};
