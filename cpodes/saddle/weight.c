/* Cholesky factors of W, block by block, and products with them. */
#include "saddle_impl.h"

#include <math.h>
#include <string.h>

/* First and last row of the entries (dense: nonzero entries) of column j, including the diagonal. A
 * full column costs only two tests. */
static void extent(const CPMat *M, int j, int *top, int *bottom) {
  *top = *bottom = j;
  if (M->start) {
    if (M->start[j] == M->start[j + 1]) return;
    const int least = M->row[M->start[j]], last = M->row[M->start[j + 1] - 1];
    if (least < j) *top = least;
    if (last > j) *bottom = last;
    return;
  }
  const double *column = M->value + (size_t)j * (size_t)M->rows;
  int i                = 0;
  while (i < j && column[i] == 0.0) i++;
  *top = i;
  for (i = M->rows - 1; i > j && column[i] == 0.0;) i--;
  *bottom = i;
}

/* Finds the successive diagonal blocks of M: of a dense M by its values, of a sparse one by its
 * structure. first [n + 1]; returns the number of blocks. A block ends where no column so far
 * reaches further down, which for a symmetric M means that no later column reaches back up. */
static int firstRows(const CPMat *M, int *first) {
  int count = 0, reach = -1, top, bottom;
  for (int j = 0; j < M->cols; j++) {
    extent(M, j, &top, &bottom);
    if (j > reach) first[count++] = j;
    if (bottom > reach) reach = bottom;
    while (first[count - 1] > top) count--; /* M's structure is not symmetric */
  }
  first[count] = M->cols;
  return count;
}

int cpSaddleHasSmallBlocks(const CPMat *W) {
  int first = 0, reach = -1, top, bottom;
  for (int j = 0; j < W->cols; j++) {
    extent(W, j, &top, &bottom);
    if (j > reach) first = j;
    if (top < first) return 0; /* the structure is not symmetric */
    if (bottom > reach) reach = bottom;
    if (reach - first >= CP_SADDLE_SMALL_BLOCKS) return 0;
  }
  return 1;
}

void cpWeightBlockGather(const CPMat *M, int first, int size, double *S) {
  for (int k = 0; k < size; k++) {
    double *s = S + (size_t)k * (size_t)size;
    if (!M->start) {
      memcpy(s, M->value + (size_t)(first + k) * (size_t)M->rows + first,
             ((size_t)k + 1) * sizeof *s);
      continue;
    }
    memset(s, 0, ((size_t)k + 1) * sizeof *s);
    for (size_t e = M->start[first + k]; e < M->start[first + k + 1]; e++) {
      const int i = M->row[e] - first;
      if (i >= 0 && i <= k) s[i] = M->value[e];
    }
  }
}

/* Finds the blocks, in first [n + 1]. If all have one row, W is treated as diagonal. Returns whether it is. */
static int findBlocks(CPWeightFactors *w, const CPMat *M, int *first) {
  w->nblocks            = firstRows(M, first);
  const int is_diagonal = w->nblocks == w->n;
  if (is_diagonal) w->nblocks = 0;
  return is_diagonal;
}

/* Allocates what `most` blocks need, which have `pool` entries, or a diagonal W if most is 0. */
static int allocate(CPWeightFactors *w, CPArena *arena, int most, size_t pool, int may_be_diagonal) {
  const int n = w->n;
  CP_NEW(arena, w->first, most + 1);
  CP_NEW(arena, w->block, most);
  CP_ARRAYS(arena, most > 0 ? n : 0, &w->d, &w->inverse, &w->work);
  CP_ARRAYS(arena, may_be_diagonal ? n : 0, &w->own);
  CP_NEW(arena, w->pool, pool);
  return cpArenaStatus(arena);
}

/* A sparse M keeps its blocks; a dense one may be a single block. */
static int createSparse(CPWeightFactors *w, const CPMat *M, CPArena *arena) {
  CPArena temporary = {0};
  int *first        = CP_NEW(&temporary, first, w->n + 1);
  size_t pool       = 0;
  if (!first) return CP_MEM_FAIL;
  const int is_diagonal = findBlocks(w, M, first);
  for (int k = 0; k < w->nblocks; k++) {
    const size_t size = (size_t)(first[k + 1] - first[k]);
    pool += size * size;
  }
  const int flag = allocate(w, arena, w->nblocks, pool, is_diagonal);
  if (!flag) memcpy(w->first, first, ((size_t)w->nblocks + 1) * sizeof *w->first);
  w->root = is_diagonal ? w->own : NULL;
  cpArenaFree(&temporary);
  return flag;
}

int cpWeightCreate(CPWeightFactors *w, CPSaddle s) {
  CPArena *arena = &s->used.arena;
  w->n           = s->n;
  if (!s->has_matrix) w->root = s->root;
  if (!s->has_matrix) return cpArenaStatus(arena);
  if (s->M.start) return createSparse(w, &s->M, arena);
  return allocate(w, arena, w->n, (size_t)w->n * (size_t)w->n, 1);
}

int cpWeightFactor(CPWeightFactors *w, CPSaddle s) {
  const CPMat *M = &s->M;
  double *pool   = w->pool;
  if (!s->has_matrix) return 0;
  if (w->of == s->weights) return 0;
  w->of = 0;
  if (!M->start) w->root = findBlocks(w, M, w->first) ? w->own : NULL;
  for (int j = 0; w->root && j < w->n; j++) {
    const double w_jj = cpMatEntry(M, j, j);
    s->indefinite     = j;
    if (!(w_jj > 0.0)) return CP_SADDLE_NOT_DEFINITE;
    w->own[j] = 1.0 / sqrt(w_jj);
  }
  s->indefinite = -1;
  for (int k = 0; k < w->nblocks; k++) {
    const int first = w->first[k], size = w->first[k + 1] - first;
    w->block[k] = (CPCholesky){.n       = size,
                               .U       = pool,
                               .d       = w->d + first,
                               .inverse = w->inverse + first,
                               .work    = w->work + first};
    pool += (size_t)size * (size_t)size;
    cpWeightBlockGather(M, first, size, w->block[k].U);
    cpCholeskyUnitDiagonal(&w->block[k]);
    const int bad = cpCholeskyFactor(&w->block[k], CP_CHOLESKY_LEAST);
    if (bad) s->indefinite = first + bad - 1;
    if (bad) return CP_SADDLE_NOT_DEFINITE;
  }
  w->of = s->weights;
  return 0;
}

/* x <- D^(1/2) x for a diagonal W and for blocks of one row; larger blocks by their factors */
static void apply(const CPWeightFactors *w, void (*substitute)(const CPCholesky *, double *),
                  double *x) {
  for (int j = 0; w->root && j < w->n; j++) x[j] *= w->root[j];
  for (int k = 0; k < w->nblocks; k++) {
    const int first = w->first[k];
    if (w->block[k].n == 1) x[first] *= w->d[first] * w->inverse[first];
    else substitute(&w->block[k], x + first);
  }
}

void cpWeightForward(const CPWeightFactors *w, double *x) { apply(w, cpCholeskyForward, x); }

void cpWeightBackward(const CPWeightFactors *w, double *x) { apply(w, cpCholeskyBackward, x); }

/* With d W d = U^T U: column k of a block is x_k <- (d_k x_k - sum_{i<k} u_ik x_i) / u_kk */
void cpWeightScale(const CPWeightFactors *w, int m, double *XT) {
  const double one = 1.0;
  for (int j = 0; w->root && j < w->n; j++)
    for (int i = 0; i < m; i++) XT[i + (size_t)j * (size_t)m] *= w->root[j];
  for (int b = 0; b < w->nblocks; b++) {
    const CPCholesky *block = &w->block[b];
    double *X               = XT + (size_t)w->first[b] * (size_t)m;
    for (int k = 0; k < block->n; k++) {
      const double *u    = block->U + (size_t)k * (size_t)block->n;
      double *x          = X + (size_t)k * (size_t)m;
      const double scale = block->n > CP_SMALL ? block->d[k] : block->d[k] * block->inverse[k];
      for (int i = 0; i < m; i++) x[i] *= scale;
      for (int l = 0; block->n <= CP_SMALL && l < k; l++) {
        const double *before = X + (size_t)l * (size_t)m, factor = u[l] * block->inverse[k];
        for (int i = 0; i < m; i++) x[i] -= factor * before[i];
      }
    }
    if (block->n > CP_SMALL) /* X U^{-1} */
      F77(dtrsm)("R", "U", "N", "N", &m, &block->n, &one, block->U, &block->n, X, &m);
  }
}
