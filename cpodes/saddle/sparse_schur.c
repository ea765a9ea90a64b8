/* Sparse Schur complement, where W is diagonal or has small blocks (bodies in absolute coordinates): D = F F^T (weight.c),
 *
 *   X = F^T A^T E,   S = X^T X = E A D A^T E,   E = diag(e): unit columns of X
 *
 *   x2 = X S^+ E b,   mu = E S^+ X^T (F^T f - x2),   x = F (F^T f - X E^{-1} mu)
 *
 * S is of order m, that of the KKT matrix is n + m. */
#include "weight.h"

#include "linsol.h"

#include <math.h>
#include <string.h>

typedef struct {
  CPWeightFactors W;
  CPEntries X;   /* by rows, each with all the constraints of its block's rows up to there */
  CPLin lin;     /* S; NULL without rows */
  double *e;     /* [m] 0: row is off, or zero */
  double *w;     /* [m] a row of X; zero in between */
  double *r;     /* [m] */
  double *x, *y; /* [n] */
} SparseSchur;

static void destroy(void *content) { cpLinFree(&((SparseSchur *)content)->lin); }

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
static size_t mostEntries(const CPWeightFactors *W, const CPMat *A) {
  size_t most = 0;
  for (int b = 0; b < W->nblocks; b++)
    for (int j = W->first[b]; j < W->first[b + 1]; j++)
      most += (A->start[j + 1] - A->start[j]) * (size_t)(W->first[b + 1] - j);
  return W->nblocks > 0 ? most : A->start[A->cols];
}

static void buildStructure(SparseSchur *c, const CPMat *A) {
  CPEntries *X = &c->X;
  X->start[0]  = 0;
  for (int j = 0, b = 0; j < A->cols; j++) {
    const size_t first = X->start[j];
    size_t end         = first;
    while (b < c->W.nblocks && c->W.first[b + 1] <= j) b++;
    if (b < c->W.nblocks && j > c->W.first[b])
      for (size_t k = X->start[j - 1]; k < first; k++) X->row[end++] = X->row[k];
    X->start[j + 1] = mergeRow(A, j, first, end, X->row);
  }
}

static int create(CPSaddle s) {
  CPArena *arena = &s->used.arena;
  const CPMat *A = &s->A;
  SparseSchur *c;
  if ((s->has_matrix && !s->M.start) || (!A->start && s->m > 0)) return CP_ILL_INPUT;
  s->used.content = CP_NEW(arena, c, 1);
  if (!cpArenaOwn(arena, c, destroy) || cpWeightCreate(&c->W, s)) return CP_MEM_FAIL;
  CP_NEW(arena, c->x, s->n);
  CP_NEW(arena, c->y, s->n);
  if (s->m == 0) return cpArenaStatus(arena);
  const size_t most = mostEntries(&c->W, A);
  CP_NEW(arena, c->X.start, s->n + 1);
  CP_NEW(arena, c->X.row, most);
  CP_NEW(arena, c->X.value, most);
  CP_NEW(arena, c->e, s->m);
  CP_NEW(arena, c->w, s->m);
  CP_NEW(arena, c->r, s->m);
  if (cpArenaStatus(arena)) return CP_MEM_FAIL;
  buildStructure(c, A);
  return cpLinCreate(&c->lin, CP_LINSOL_SPARSE, s->n, s->m, &c->X);
}

/* ---- factors ---- */

/* Row k of a block whose first row is row `first` of X: x_k = (d_k a_k - sum_i u_ik x_i) / u_kk */
static void formRow(SparseSchur *c, const CPMat *A, const CPCholesky *block, int first, int k) {
  const CPEntries *X = &c->X;
  const double *u    = block->U + (size_t)k * (size_t)block->n;
  const int j        = first + k;
  double *w          = c->w;
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
static void formMatrix(CPSaddle s) {
  SparseSchur *c       = s->used.content;
  const CPEntries *X   = &c->X;
  const size_t entries = X->start[s->n];
  double *e            = c->e;
  for (int j = 0; !s->has_matrix && j < s->n; j++)
    for (size_t l = X->start[j]; l < X->start[j + 1]; l++)
      X->value[l] = s->A.value[l] * c->W.root[j];
  for (int b = 0; b < c->W.nblocks; b++)
    for (int k = 0; k < c->W.block[b].n; k++) formRow(c, &s->A, &c->W.block[b], c->W.first[b], k);
  memset(c->r, 0, (size_t)s->m * sizeof *c->r);
  memset(e, 0, (size_t)s->m * sizeof *e);
  for (size_t l = 0; l < entries; l++) c->r[X->row[l]] += X->value[l] * X->value[l];
  for (int k = 0; k < s->nrows; k++) {
    const int i = s->row[k];
    if (c->r[i] > 0.0) e[i] = 1.0 / sqrt(c->r[i]);
    else cpSaddleMarkDependent(s, i);
  }
  for (size_t l = 0; l < entries; l++) X->value[l] *= e[X->row[l]];
}

/* Rows that are off are columns of zeros, which lin leaves out. */
static int factor(CPSaddle s) {
  SparseSchur *c     = s->used.content;
  const int shortest = s->options.shortest;
  int flag           = cpWeightFactor(&c->W, s);
  if (flag || s->m == 0) return flag;
  formMatrix(s);
  if (s->dependent >= 0 && shortest) return CP_SADDLE_DEPENDENT;
  c->lin->ranktol = shortest ? fmax(s->ranktol, CP_CHOLESKY_LEAST) : s->ranktol;
  flag            = c->lin->ops->factor(c->lin);
  s->sine         = c->lin->sine;
  for (int i = 0; !flag && i < s->m; i++)
    if (c->lin->is_dependent[i]) cpSaddleMarkDependent(s, i);
  return !flag && s->dependent >= 0 && shortest ? CP_SADDLE_DEPENDENT : flag;
}

/* ---- solution ---- */

static int solve(CPSaddle s, const double *f, const double *b, double *x, double *mu) {
  SparseSchur *c     = s->used.content;
  const CPEntries *X = &c->X;
  const int n        = s->n;
  double *y          = x ? x : c->y;
  int flag           = 0;
  memset(c->x, 0, (size_t)n * sizeof *c->x);
  memset(y, 0, (size_t)n * sizeof *y);
  if (f) memcpy(y, f, (size_t)n * sizeof *y);
  if (f) cpWeightForward(&c->W, y);
  for (int i = 0; b && i < s->m; i++) c->r[i] = c->e[i] > 0.0 ? c->e[i] * b[i] : 0.0;
  if (b && s->m > 0) flag = c->lin->ops->solve(c->lin, c->r, c->x); /* x2 = X S^+ E b */
  if (!flag && s->m > 0 && (f || mu)) {
    for (int j = 0; j < n; j++) c->x[j] = y[j] - c->x[j];
    flag = c->lin->ops->solve_t(c->lin, c->x, c->r); /* S^+ X^T (y - x2) */
    for (int j = 0; f && j < n; j++)
      for (size_t l = X->start[j]; l < X->start[j + 1]; l++) y[j] -= X->value[l] * c->r[X->row[l]];
    for (int j = 0; !f && j < n; j++) y[j] = -c->x[j];
    for (int i = 0; mu && i < s->m; i++) mu[i] = c->e[i] > 0.0 ? c->e[i] * c->r[i] : 0.0;
  } else if (b && s->m > 0) memcpy(y, c->x, (size_t)n * sizeof *y);
  if (x) cpWeightBackward(&c->W, x);
  return flag;
}

const CPSaddleOps cpSaddleSparseOps = {.name          = "sparse Schur complement",
                                       .type          = CP_SADDLE_SPARSE,
                                       .keeps_pattern = 1,
                                       .create        = create,
                                       .factor        = factor,
                                       .solve         = solve};
