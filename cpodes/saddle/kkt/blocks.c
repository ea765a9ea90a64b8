/* Cholesky factors of a mass matrix, block by block. */
#include "blocks.h"

#include <stdlib.h>
#include <string.h>

/* First and last row of column j's entries (dense: not zero), itself included. A full column costs
 * two looks only. */
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

/* A block ends where no column up to there reaches further, which symmetry turns into: no column
 * after reaches back. */
int cpKktBlocksFind(const CPMat *M, int *first) {
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

int cpKktBlocksAreSmall(const CPMat *M, int *first) {
  const int nblocks = cpKktBlocksFind(M, first);
  int small         = 1;
  for (int b = 0; b < nblocks; b++) small = small && first[b + 1] - first[b] <= CP_SMALL;
  return small;
}

void cpKktBlocksGather(const CPMat *M, int first, int size, double *S) {
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

/* Room for the factors: blocks of a sparse M stay, of a dense one there may be a single one. */
static size_t poolSize(CPMassBlocks *b, const CPMat *M) {
  const size_t n = (size_t)M->rows;
  size_t pool    = 0;
  if (!M->start) return n * n;
  b->nblocks = cpKktBlocksFind(M, b->first);
  for (int k = 0; k < b->nblocks; k++) {
    const size_t size = (size_t)(b->first[k + 1] - b->first[k]);
    pool += size * size;
  }
  return pool;
}

int cpKktBlocksCreate(CPMassBlocks *b, const CPMat *M) {
  const size_t n = (size_t)M->rows;
  *b             = (CPMassBlocks){.n = M->rows};
  b->first       = malloc((n + 2) * sizeof *b->first);
  b->block       = malloc((n + 1) * sizeof *b->block);
  b->d           = malloc((n + 1) * sizeof *b->d);
  b->inverse     = malloc((n + 1) * sizeof *b->inverse);
  b->work        = malloc((n + 1) * sizeof *b->work);
  if (!b->first || !b->block || !b->d || !b->inverse || !b->work) return CP_MEM_FAIL;
  b->pool = malloc((poolSize(b, M) + 1) * sizeof *b->pool);
  b->kept = malloc((cpMatEntries(M) + 1) * sizeof *b->kept);
  return b->pool && b->kept ? CP_SUCCESS : CP_MEM_FAIL;
}

void cpKktBlocksFree(CPMassBlocks *b) {
  free(b->first);
  free(b->block);
  free(b->pool);
  free(b->kept);
  free(b->d);
  free(b->inverse);
  free(b->work);
  *b = (CPMassBlocks){0};
}

/* Many mass matrices are constant, and a comparison costs next to nothing beside new factors. */
static int isKept(const CPMassBlocks *b, const CPMat *M) {
  return b->valid && !memcmp(b->kept, M->value, cpMatEntries(M) * sizeof *b->kept);
}

int cpKktBlocksFactor(CPMassBlocks *b, const CPMat *M) {
  double *pool = b->pool;
  if (isKept(b, M)) return 0;
  b->valid   = 0;
  b->nblocks = cpKktBlocksFind(M, b->first);
  for (int k = 0; k < b->nblocks; k++) {
    const int first = b->first[k], size = b->first[k + 1] - first;
    b->block[k] = (CPCholesky){.n       = size,
                               .U       = pool,
                               .d       = b->d + first,
                               .inverse = b->inverse + first,
                               .work    = b->work + first};
    pool += (size_t)size * (size_t)size;
    cpKktBlocksGather(M, first, size, b->block[k].U);
    cpCholeskyUnitDiagonal(&b->block[k]);
    if (cpCholeskyFactor(&b->block[k], CP_CHOLESKY_LEAST)) return CP_KKT_NOT_DEFINITE;
  }
  memcpy(b->kept, M->value, cpMatEntries(M) * sizeof *b->kept);
  b->valid = 1;
  return 0;
}

/* Column by column, unless a block is large enough for the BLAS. */
void cpKktBlocksForward(const CPMassBlocks *b, double *X, int columns) {
  if (b->nblocks == 1) {
    cpCholeskyForward(&b->block[0], X, b->n, columns);
    return;
  }
  for (int j = 0; j < columns; j++) {
    double *x = X + (size_t)j * (size_t)b->n;
    for (int k = 0; k < b->nblocks; k++) {
      const int first = b->first[k];
      if (b->block[k].n == 1) x[first] *= b->d[first] * b->inverse[first];
      else if (b->block[k].n <= CP_SMALL) cpCholeskyForward(&b->block[k], x + first, b->n, 1);
    }
  }
  for (int k = 0; k < b->nblocks; k++)
    if (b->block[k].n > CP_SMALL) cpCholeskyForward(&b->block[k], X + b->first[k], b->n, columns);
}

void cpKktBlocksBackward(const CPMassBlocks *b, double *x) {
  for (int k = 0; k < b->nblocks; k++) {
    const int first = b->first[k];
    if (b->block[k].n == 1) x[first] *= b->d[first] * b->inverse[first];
    else cpCholeskyBackward(&b->block[k], x + first);
  }
}
