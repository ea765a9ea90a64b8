/* Matrices, dense or sparse: storage, products, patterns. */
#include "matrix.h"

#include "cpodes/base/compat.h"
#include "lapack.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- storage ---- */

int cpMatCreateDense(CPMat *A, int rows, int cols) {
  *A       = (CPMat){.rows = rows, .cols = cols};
  A->value = calloc((size_t)rows * (size_t)cols + 1, sizeof *A->value);
  return A->value ? CP_SUCCESS : CP_MEM_FAIL;
}

int cpMatCreateSparse(CPMat *A, int rows, int cols, size_t entries) {
  *A       = (CPMat){.rows = rows, .cols = cols};
  A->start = calloc((size_t)cols + 1, sizeof *A->start);
  A->row   = malloc((entries + 1) * sizeof *A->row);
  A->value = calloc(entries + 1, sizeof *A->value);
  if (A->start && A->row && A->value) return CP_SUCCESS;
  cpMatFree(A);
  return CP_MEM_FAIL;
}

int cpMatClone(CPMat *A, const CPMat *like) {
  if (!like->start) return cpMatCreateDense(A, like->rows, like->cols);
  const int flag = cpMatCreateSparse(A, like->rows, like->cols, cpMatEntries(like));
  if (flag) return flag;
  memcpy(A->start, like->start, ((size_t)like->cols + 1) * sizeof *A->start);
  memcpy(A->row, like->row, cpMatEntries(like) * sizeof *A->row);
  return CP_SUCCESS;
}

int cpMatLike(CPArena *arena, CPMat *A, const CPMat *like) {
  *A = *like;
  return CP_NEW(arena, A->value, cpMatEntries(like)) ? CP_SUCCESS : CP_MEM_FAIL;
}

void cpMatFree(CPMat *A) {
  free(A->start);
  free(A->row);
  free(A->value);
  *A = (CPMat){0};
}

static void freeMat(void *A) { cpMatFree(A); }

int cpMatOwn(CPArena *arena, CPMat *A) {
  return cpArenaOwn(arena, A, freeMat) ? CP_SUCCESS : CP_MEM_FAIL;
}

void cpMatZero(CPMat *A) { memset(A->value, 0, cpMatEntries(A) * sizeof *A->value); }

double *cpMatAt(const CPMat *A, int i, int j) {
  if (!A->start) return &A->value[(size_t)j * (size_t)A->rows + (size_t)i];
  size_t first = A->start[j], last = A->start[j + 1];
  while (first < last) { /* rows ascend */
    const size_t middle = first + (last - first) / 2;
    if (A->row[middle] < i) first = middle + 1;
    else last = middle;
  }
  return first < A->start[j + 1] && A->row[first] == i ? &A->value[first] : NULL;
}

/* ---- products ---- */

/* For at most CP_SMALL rows, the sums of y stay in registers, a few at a time. Their terms are added in the same order
 * as column by column. */

/* y <- alpha X x + beta y for `count` of the rows of X, whose columns have the stride `rows`. */
CP_WIDE_PART void someRows(int count, int rows, int cols, double alpha, const double *X,
                           const double *x, double beta, double *y) {
  double sum[4];
  for (int i = 0; i < count; i++) sum[i] = beta == 0.0 ? 0.0 : y[i];
  for (int j = 0; j < cols; j++, X += rows) {
    const double xj = alpha * x[j];
    for (int i = 0; i < count; i++) sum[i] += X[i] * xj;
  }
  for (int i = 0; i < count; i++) y[i] = sum[i];
}

CP_WIDE_PART void fewRows(const CPMat *A, double alpha, const double *x, double beta, double *y) {
  const int rows = A->rows, cols = A->cols;
  int i = 0;
  for (; i + 4 <= rows; i += 4) someRows(4, rows, cols, alpha, A->value + i, x, beta, y + i);
  if (rows - i == 3) someRows(3, rows, cols, alpha, A->value + i, x, beta, y + i);
  else if (rows - i == 2) someRows(2, rows, cols, alpha, A->value + i, x, beta, y + i);
  else if (rows - i == 1) someRows(1, rows, cols, alpha, A->value + i, x, beta, y + i);
}

/* Fewer than four rows do not profit from wide registers. */
CP_WIDE static void fourRows(const CPMat *A, double alpha, const double *x, double beta, double *y) {
  fewRows(A, alpha, x, beta, y);
}

/* y <- y + alpha A x for a dense A, column by column */
CP_WIDE static void manyRows(const CPMat *A, double alpha, const double *x, double *restrict y) {
  const double *restrict column = A->value;
  for (int j = 0; j < A->cols; j++, column += A->rows) {
    const double xj = alpha * x[j];
    for (int i = 0; xj != 0.0 && i < A->rows; i++) y[i] += column[i] * xj;
  }
}

/* BLAS is faster for a dense A of some size, and slower for columns of a few entries. */
static int isLarge(const CPMat *A) { return !A->start && A->rows > CP_SMALL && A->cols > CP_SMALL; }

void cpMatTimes(const CPMat *A, double alpha, const double *x, double beta, double *y) {
  const int one = 1;
  if (!A->start && A->rows <= CP_SMALL) {
    if (A->rows < 4) fewRows(A, alpha, x, beta, y);
    else fourRows(A, alpha, x, beta, y);
    return;
  }
  if (isLarge(A)) {
    F77(dgemv)("N", &A->rows, &A->cols, &alpha, A->value, &A->rows, x, &one, &beta, y, &one);
    return;
  }
  if (beta == 0.0) memset(y, 0, (size_t)A->rows * sizeof *y);
  if (!A->start) {
    manyRows(A, alpha, x, y);
    return;
  }
  for (int j = 0; j < A->cols; j++) {
    const double xj  = alpha * x[j];
    const size_t end = A->start[j + 1];
    if (xj == 0.0) continue;
    for (size_t k = A->start[j]; k < end; k++) y[A->row[k]] += A->value[k] * xj;
  }
}

void cpMatAbsTimes(const CPMat *A, const double *x, double *y) {
  const size_t rows = (size_t)A->rows;
  memset(y, 0, rows * sizeof *y);
  for (int j = 0; j < A->cols; j++) {
    const double xj = fabs(x[j]), *column = A->value + (A->start ? 0 : (size_t)j * rows);
    if (A->start)
      for (size_t k = A->start[j]; k < A->start[j + 1]; k++) y[A->row[k]] += fabs(column[k]) * xj;
    else
      for (size_t i = 0; i < rows; i++) y[i] += fabs(column[i]) * xj;
  }
}

/* y <- alpha X^T x + beta y. If the number of rows is a constant, the compiler unrolls the inner
 * loop. */
CP_WIDE_PART void columnSums(int rows, int cols, double alpha, const double *X, const double *x,
                             double beta, double *y) {
  for (int j = 0; j < cols; j++, X += rows) {
    double sum = 0.0;
    for (int i = 0; i < rows; i++) sum += X[i] * x[i];
    y[j] = alpha * sum + (beta == 0.0 ? 0.0 : y[j]);
  }
}

void cpMatTransposedTimes(const CPMat *A, double alpha, const double *x, double beta, double *y) {
  const double *X = A->value;
  const int rows = A->rows, cols = A->cols, one = 1;
  for (int j = 0; A->start && j < cols; j++) {
    double sum = 0.0;
    for (size_t k = A->start[j]; k < A->start[j + 1]; k++) sum += X[k] * x[A->row[k]];
    y[j] = alpha * sum + (beta == 0.0 ? 0.0 : y[j]);
  }
  if (A->start) return;
  if (rows == 1) columnSums(1, cols, alpha, X, x, beta, y);
  else if (rows == 2) columnSums(2, cols, alpha, X, x, beta, y);
  else if (rows == 3) columnSums(3, cols, alpha, X, x, beta, y);
  else if (isLarge(A)) F77(dgemv)("T", &rows, &cols, &alpha, X, &rows, x, &one, &beta, y, &one);
  else columnSums(rows, cols, alpha, X, x, beta, y);
}

void cpMatGram(const CPMat *A, double *S) {
  const size_t m = (size_t)A->rows;
  memset(S, 0, m * m * sizeof *S);
  for (int j = 0; j < A->cols; j++)
    for (size_t l = A->start[j]; l < A->start[j + 1]; l++) {
      double *column = S + (size_t)A->row[l] * m;
      for (size_t k = A->start[j]; k <= l; k++) column[A->row[k]] += A->value[k] * A->value[l];
    }
}

/* ---- patterns ---- */

void cpPlacesAdd(CPPlaces *list, int i, int j) {
  if (list->count == list->room) {
    const size_t room = list->failed ? 0 : 2 * list->room + 64;
    int(*grown)[2]    = room ? realloc(list->place, room * sizeof *grown) : NULL;
    list->failed      = !grown;
    if (!grown) return;
    list->place = grown;
    list->room  = room;
  }
  list->place[list->count][0]   = i;
  list->place[list->count++][1] = j;
}

void cpPlacesAddMat(CPPlaces *list, const CPMat *A, int row, int col, int transposed) {
  for (int j = 0; j < A->cols; j++)
    for (size_t k = cpMatFirst(A, j); k < cpMatFirst(A, j + 1); k++) {
      const int i = cpMatRow(A, j, k);
      cpPlacesAdd(list, row + (transposed ? j : i), col + (transposed ? i : j));
    }
}

int cpMatTransposed(CPArena *arena, const CPMat *A, CPMat *T, size_t **from) {
  const size_t entries = A->start[A->cols];
  size_t *fill, *place = NULL;
  *T = (CPMat){.rows = A->cols, .cols = A->rows};
  CP_NEW(arena, T->start, A->rows + 1);
  CP_NEW(arena, T->row, entries);
  CP_NEW(arena, fill, A->rows);
  if (from) *from = CP_NEW(arena, place, entries);
  if (cpArenaStatus(arena)) return CP_MEM_FAIL;
  for (size_t k = 0; k < entries; k++) T->start[A->row[k] + 1]++;
  for (int i = 0; i < A->rows; i++) T->start[i + 1] += fill[i] = T->start[i];
  for (int j = 0; j < A->cols; j++)
    for (size_t k = A->start[j]; k < A->start[j + 1]; k++) {
      const size_t to = fill[A->row[k]]++;
      T->row[to]      = j;
      if (place) place[to] = k;
    }
  return CP_SUCCESS;
}

/* Entry (l, j) of A^T A is in the pattern if columns l and j of A share a row. mark[l] = j + 1 once
 * (l, j) is in the list. */
void cpPlacesAddNormal(CPPlaces *list, const CPMat *A) {
  CPArena arena = {0};
  CPMat T;
  int *mark = CP_NEW(&arena, mark, A->cols);
  if (cpMatTransposed(&arena, A, &T, NULL)) list->failed = 1;
  for (int j = 0; !list->failed && j < A->cols; j++)
    for (size_t k = A->start[j]; k < A->start[j + 1]; k++)
      for (size_t e = T.start[A->row[k]]; e < T.start[A->row[k] + 1]; e++) {
        if (mark[T.row[e]] == j + 1) continue;
        mark[T.row[e]] = j + 1;
        cpPlacesAdd(list, T.row[e], j);
      }
  cpArenaFree(&arena);
}

/* to[] <- the places of from[], sorted stably by their coordinate c (0: row, 1: column). start
 * [length + 1] is workspace, zero on entry. */
static void sortPlaces(int (*from)[2], int (*to)[2], size_t count, int c, int length, size_t *start) {
  for (size_t k = 0; k < count; k++) start[from[k][c] + 1]++;
  for (int i = 0; i < length; i++) start[i + 1] += start[i];
  for (size_t k = 0; k < count; k++) {
    int *const place = to[start[from[k][c]]++];
    place[0] = from[k][0], place[1] = from[k][1];
  }
}

/* Two stable sorts, by rows and then by columns, make places that occur twice neighbours. */
int cpMatFromPlaces(CPMat *A, int rows, int cols, CPPlaces *list) {
  const size_t count = list->failed ? 0 : list->count;
  int(*sorted)[2]    = malloc((count + 1) * sizeof *sorted);
  size_t *start = calloc((size_t)rows + (size_t)cols + 2, sizeof *start), entries = 0;
  int flag = list->failed || !sorted || !start ? CP_MEM_FAIL : CP_SUCCESS;
  *A       = (CPMat){0};
  if (!flag) {
    sortPlaces(list->place, sorted, count, 0, rows, start);
    sortPlaces(sorted, list->place, count, 1, cols, start + rows + 1);
    for (size_t k = 0; k < count; k++)
      entries += k == 0 || memcmp(list->place[k], list->place[k - 1], sizeof *sorted);
    flag = cpMatCreateSparse(A, rows, cols, entries);
  }
  entries = 0;
  for (size_t k = 0; !flag && k < count; k++) {
    if (k > 0 && !memcmp(list->place[k], list->place[k - 1], sizeof *sorted)) continue;
    A->row[entries++] = list->place[k][0];
    A->start[list->place[k][1] + 1]++;
  }
  for (int j = 0; !flag && j < cols; j++) A->start[j + 1] += A->start[j];
  free(start);
  free(sorted);
  free(list->place);
  *list = (CPPlaces){0};
  return flag;
}

void cpMatAdd(CPMat *A, double alpha, const CPMat *B) {
  const int both_dense = !A->start && !B->start;
  for (size_t k = 0; both_dense && k < cpMatEntries(A); k++) A->value[k] += alpha * B->value[k];
  for (int j = 0; !both_dense && j < A->cols; j++) {
    size_t a = cpMatFirst(A, j);
    for (size_t b = cpMatFirst(B, j); b < cpMatFirst(B, j + 1); b++, a++) {
      const int i = cpMatRow(B, j, b);
      while (cpMatRow(A, j, a) < i) a++;
      A->value[a] += alpha * B->value[b];
    }
  }
}

static void addSquares(const CPMat *A, int j, double s, double *sum) {
  const double *column = A->value + cpMatFirst(A, j);
  for (int i = 0; i < A->rows; i++) sum[i] += (column[i] * s) * (column[i] * s);
}

/* sum_i <- sum_j (A_ij s_j / largest_i)^2, with largest_i = 1 if largest is NULL. Returns 0 if no square has lost digits by underflow, so
 * that a sum of 0 is that of a row of zeros, as of a contact that is open. */
static int sumSquares(const CPMat *A, const double *s, const double *largest, double *sum) {
  int tiny = !A->start && !largest; /* not known */
  memset(sum, 0, (size_t)A->rows * sizeof *sum);
  for (int j = 0; j < A->cols; j++) {
    const double s_j = s ? s[j] : 1.0;
    if (s_j == 0.0) continue;
    if (!A->start && !largest) {
      addSquares(A, j, s_j, sum);
      continue;
    }
    for (size_t k = cpMatFirst(A, j), end = cpMatFirst(A, j + 1); k < end; k++) {
      const int i    = cpMatRow(A, j, k);
      const double a = A->value[k] * s_j, part = largest && a != 0.0 ? a / largest[i] : a;
      sum[i] += part * part;
      tiny |= (part * part < CP_LEAST_SQUARES) & (A->value[k] != 0.0);
    }
  }
  return tiny;
}

/* A product that underflows counts as the least number, so that its row is not zero. */
static void largestEntries(const CPMat *A, const double *s, double *largest) {
  memset(largest, 0, (size_t)A->rows * sizeof *largest);
  for (int j = 0; j < A->cols; j++)
    for (size_t k = cpMatFirst(A, j); k < cpMatFirst(A, j + 1); k++) {
      const double s_j = s ? s[j] : 1.0, a = fabs(A->value[k]) * s_j;
      double *most = &largest[cpMatRow(A, j, k)];
      if (A->value[k] != 0.0 && s_j != 0.0) *most = fmax(*most, fmax(a, DBL_TRUE_MIN));
    }
}

static int isDoubtful(double square) {
  return !(square > CP_LEAST_SQUARES && square < 1.0 / CP_LEAST_SQUARES);
}

void cpMatRowLengths(const CPMat *A, const double *s, double *largest, double *length) {
  int doubtful = 0, scaled = 0;
  const int tiny = sumSquares(A, s, NULL, length);
  for (int i = 0; i < A->rows; i++) doubtful |= isDoubtful(length[i]) && (tiny || length[i] != 0.0);
  if (doubtful) largestEntries(A, s, largest);
  for (int i = 0; doubtful && i < A->rows; i++) scaled |= largest[i] > 0.0 && isDoubtful(length[i]);
  if (scaled) sumSquares(A, s, largest, length);
  for (int i = 0; i < A->rows; i++)
    length[i] = scaled ? fmax(largest[i], largest[i] * sqrt(length[i])) : sqrt(length[i]);
}

/* Replaces mirrored entries by their average, or tells whether they are equal. A dense matrix is passed over in
 * tiles, because its mirrored entries are a column apart. */
static inline int mirror(double *a, double *b, int average) {
  if (average) *a = *b = 0.5 * (*a + *b);
  return average || *a == *b;
}

CP_WIDE_PART int mirrorAll(const CPMat *A, int average) {
  const size_t n = (size_t)A->cols;
  for (size_t first = 0; !A->start && first < n; first += CP_SMALL)
    for (size_t j = first; j < n; j++)
      for (size_t i = first; i < first + CP_SMALL && i < j; i++)
        if (!mirror(&A->value[j * n + i], &A->value[i * n + j], average)) return 0;
  for (int j = 0; A->start && j < A->cols; j++)
    for (size_t k = A->start[j]; k < A->start[j + 1] && A->row[k] < j; k++)
      if (!mirror(&A->value[k], cpMatAt(A, j, A->row[k]), average)) return 0;
  return 1;
}

int cpMatIsSymmetric(const CPMat *A) { return mirrorAll(A, 0); }

void cpMatSymmetrise(CPMat *A) { mirrorAll(A, 1); }

void cpMatFix(CPMat *W, CPMat *A, const char *fixed) {
  for (int j = 0; j < W->cols; j++) {
    for (size_t k = cpMatFirst(W, j); k < cpMatFirst(W, j + 1); k++) {
      const int i = cpMatRow(W, j, k);
      if (fixed[i] || fixed[j]) W->value[k] = i == j;
    }
    for (size_t k = cpMatFirst(A, j); fixed[j] && k < cpMatFirst(A, j + 1); k++) A->value[k] = 0.0;
  }
}
