/* Matrices of the user's, dense and sparse, with a template that carries the pattern: its checks,
 * its entries by columns, and a matrix that is to keep it.
 *
 * A sparse matrix has `lines`: columns (CSC) or rows (CSR). Line k has the entries
 * pointer[k] ... pointer[k + 1] - 1, and index is the place of each of them across the lines. */
#include "template.h"

#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

typedef struct {
  const sunindextype *pointer, *index;
  sunindextype nlines, across; /* lines, and the places across them */
  sunindextype storage;        /* entries that there is room for    */
  int by_rows;
} Sparse;

/* Who asks, for the messages. */
typedef struct {
  CPLog *log;
  const char *name, *function;
} Caller;

static int isDense(SUNMatrix A) { return SUNMatGetID(A) == SUNMATRIX_DENSE; }

static Sparse sparseOf(SUNMatrix A) {
  const int by_rows       = SUNSparseMatrix_SparseType(A) == CSR_MAT;
  const sunindextype rows = SUNSparseMatrix_Rows(A), cols = SUNSparseMatrix_Columns(A);
  return (Sparse){.pointer = SUNSparseMatrix_IndexPointers(A),
                  .index   = SUNSparseMatrix_IndexValues(A),
                  .nlines  = by_rows ? rows : cols,
                  .across  = by_rows ? cols : rows,
                  .storage = SUNSparseMatrix_NNZ(A),
                  .by_rows = by_rows};
}

static const char *lineName(const Sparse *a) { return a->by_rows ? "row" : "column"; }
static const char *acrossName(const Sparse *a) { return a->by_rows ? "column" : "row"; }

/* ---- checks ---- */

static int checkSize(Caller by, SUNMatrix A, int rows, int cols) {
  const SUNMatrix_ID type = SUNMatGetID(A);
  if (type != SUNMATRIX_DENSE && type != SUNMATRIX_SPARSE)
    return cpReport(by.log, CP_ILL_INPUT, by.function,
                    "%s must be a dense or a sparse matrix (type %d or %d), is of type %d", by.name,
                    SUNMATRIX_DENSE, SUNMATRIX_SPARSE, (int)type);
  const int dense      = type == SUNMATRIX_DENSE;
  const sunindextype r = dense ? SUNDenseMatrix_Rows(A) : SUNSparseMatrix_Rows(A);
  const sunindextype c = dense ? SUNDenseMatrix_Columns(A) : SUNSparseMatrix_Columns(A);
  if (r == rows && c == cols) return CP_SUCCESS;
  return cpReport(by.log, CP_ILL_INPUT, by.function, "%s must be %d x %d, is %ld x %ld%s", by.name,
                  rows, cols, (long)r, (long)c,
                  r == cols && c == rows ? ", transposed: constraints are rows" : "");
}

/* The pointers, before anything is read through them. */
static int checkPointers(Caller by, const Sparse *a) {
  if (a->pointer[0] != 0)
    return cpReport(by.log, CP_ILL_INPUT, by.function,
                    "%s: index pointers must start at 0: pointer 0 is %ld", by.name,
                    (long)a->pointer[0]);
  for (sunindextype k = 0; k < a->nlines; k++)
    if (a->pointer[k + 1] < a->pointer[k])
      return cpReport(
          by.log, CP_ILL_INPUT, by.function,
          "%s: index pointers must not decrease: pointer %ld is %ld, pointer %ld is %ld", by.name,
          (long)k, (long)a->pointer[k], (long)k + 1, (long)a->pointer[k + 1]);
  const sunindextype entries = a->pointer[a->nlines];
  if (entries > a->storage)
    return cpReport(by.log, CP_ILL_INPUT, by.function,
                    "%s: index pointers must stay within its %ld entries: pointer %ld is %ld",
                    by.name, (long)a->storage, (long)a->nlines, (long)entries);
  if (entries == 0)
    return cpReport(by.log, CP_ILL_INPUT, by.function,
                    "%s has no entries: it must carry the pattern of all entries that are ever "
                    "non-zero in its index arrays",
                    by.name);
  return CP_SUCCESS;
}

static int checkLine(Caller by, const Sparse *a, sunindextype k) {
  for (sunindextype e = a->pointer[k]; e < a->pointer[k + 1]; e++) {
    const sunindextype i = a->index[e];
    if (i < 0 || i >= a->across)
      return cpReport(by.log, CP_ILL_INPUT, by.function,
                      "%s: %s indices must be from 0 to %ld: %s %ld has index %ld", by.name,
                      acrossName(a), (long)a->across - 1, lineName(a), (long)k, (long)i);
    if (e == a->pointer[k] || i > a->index[e - 1]) continue;
    if (i == a->index[e - 1])
      return cpReport(by.log, CP_ILL_INPUT, by.function,
                      "%s: each entry must occur once: %s %ld has index %ld twice", by.name,
                      lineName(a), (long)k, (long)i);
    return cpReport(by.log, CP_ILL_INPUT, by.function,
                    "%s: indices must ascend within a %s: %s %ld has index %ld before %ld", by.name,
                    lineName(a), lineName(a), (long)k, (long)a->index[e - 1], (long)i);
  }
  return CP_SUCCESS;
}

static int checkRows(Caller by, const Sparse *a, int rows) {
  char *occupied = calloc((size_t)rows, 1);
  if (!occupied) return cpReport(by.log, CP_MEM_FAIL, by.function, "no memory");
  for (sunindextype k = 0; k < a->nlines; k++)
    for (sunindextype e = a->pointer[k]; e < a->pointer[k + 1]; e++)
      occupied[a->by_rows ? k : a->index[e]] = 1;
  int i = 0;
  while (i < rows && occupied[i]) i++;
  free(occupied);
  if (i == rows) return CP_SUCCESS;
  return cpReport(by.log, CP_ILL_INPUT, by.function,
                  "%s: each row must have an entry: row %d has none", by.name, i);
}

int cpCheckPattern(CPLog *log, SUNMatrix A, int rows, int cols, const char *name,
                   const char *function) {
  const Caller by = {log, name, function};
  int flag        = checkSize(by, A, rows, cols);
  if (flag || isDense(A)) return flag;
  const Sparse a = sparseOf(A);
  flag           = checkPointers(by, &a);
  for (sunindextype k = 0; !flag && k < a.nlines; k++) flag = checkLine(by, &a, k);
  return flag;
}

int cpCheckTemplate(CPLog *log, SUNMatrix A, int rows, int cols, const char *name,
                    const char *function) {
  const Caller by = {log, name, function};
  int flag        = cpCheckPattern(log, A, rows, cols, name, function);
  if (flag || isDense(A)) return flag;
  const Sparse a = sparseOf(A);
  return checkRows(by, &a, rows);
}

static int checkDiagonal(Caller by, const Sparse *a) {
  for (sunindextype k = 0; k < a->nlines; k++) {
    sunindextype e = a->pointer[k];
    while (e < a->pointer[k + 1] && a->index[e] < k) e++;
    if (e == a->pointer[k + 1] || a->index[e] != k)
      return cpReport(by.log, CP_ILL_INPUT, by.function,
                      "%s must have its whole diagonal: entry (%ld, %ld) is missing", by.name,
                      (long)k, (long)k);
  }
  return CP_SUCCESS;
}

static int noMirror(Caller by, const Sparse *a, sunindextype line, sunindextype index) {
  const long row = (long)(a->by_rows ? line : index), col = (long)(a->by_rows ? index : line);
  return cpReport(by.log, CP_ILL_INPUT, by.function,
                  "%s must have a symmetric pattern: it has entry (%ld, %ld), and not (%ld, %ld)",
                  by.name, row, col, col, row);
}

/* Lines k in ascending order meet the entries of each line i as mirror images in ascending order,
 * too: next[i] is the one to be met. */
static int checkMirrors(Caller by, const Sparse *a) {
  sunindextype *next = malloc((size_t)a->nlines * sizeof *next);
  if (!next) return cpReport(by.log, CP_MEM_FAIL, by.function, "no memory");
  memcpy(next, a->pointer, (size_t)a->nlines * sizeof *next);
  int flag = CP_SUCCESS;
  for (sunindextype k = 0; !flag && k < a->nlines; k++)
    for (sunindextype e = a->pointer[k]; !flag && e < a->pointer[k + 1]; e++) {
      const sunindextype i = a->index[e], mirror = next[i]++;
      if (mirror == a->pointer[i + 1] || a->index[mirror] > k) flag = noMirror(by, a, k, i);
      else if (a->index[mirror] < k) flag = noMirror(by, a, i, a->index[mirror]);
    }
  free(next);
  return flag;
}

int cpCheckMetricTemplate(CPLog *log, SUNMatrix M, int n, const char *function) {
  const Caller by = {log, "M_tmpl", function};
  int flag        = cpCheckTemplate(log, M, n, n, by.name, function);
  if (flag || isDense(M)) return flag;
  const Sparse a = sparseOf(M);
  flag           = checkDiagonal(by, &a);
  return flag ? flag : checkMirrors(by, &a);
}

/* ---- entries ---- */

size_t cpMatrixEntries(SUNMatrix A) {
  if (isDense(A)) return (size_t)SM_LDATA_D(A);
  const Sparse a = sparseOf(A);
  return (size_t)a.pointer[a.nlines];
}

sunrealtype *cpMatrixData(SUNMatrix A) { return isDense(A) ? SM_DATA_D(A) : SM_DATA_S(A); }

static void densePattern(int rows, int cols, size_t *start, int *row, size_t *source) {
  size_t k = 0;
  for (int j = 0; j < cols; j++) {
    start[j] = k;
    for (int i = 0; i < rows; i++, k++) row[k] = i, source[k] = k;
  }
  start[cols] = k;
}

static void columnPattern(const Sparse *a, size_t *start, int *row, size_t *source) {
  const size_t entries = (size_t)a->pointer[a->nlines];
  for (sunindextype j = 0; j <= a->nlines; j++) start[j] = (size_t)a->pointer[j];
  for (size_t e = 0; e < entries; e++) row[e] = (int)a->index[e], source[e] = e;
}

/* Transposes: counts the entries of each column, then deals the rows out in their order. */
static void rowPattern(const Sparse *a, size_t *start, int *row, size_t *source) {
  const size_t entries = (size_t)a->pointer[a->nlines], cols = (size_t)a->across;
  memset(start, 0, (cols + 1) * sizeof *start);
  for (size_t e = 0; e < entries; e++) start[a->index[e] + 1]++;
  for (size_t j = 0; j < cols; j++) start[j + 1] += start[j];
  for (sunindextype i = 0; i < a->nlines; i++)
    for (sunindextype e = a->pointer[i]; e < a->pointer[i + 1]; e++) {
      const size_t k = start[a->index[e]]++;
      row[k] = (int)i, source[k] = (size_t)e;
    }
  memmove(start + 1, start, cols * sizeof *start); /* each column ended where the next one starts */
  start[0] = 0;
}

void cpMatrixPattern(SUNMatrix A, int rows, int cols, size_t *start, int *row, size_t *source) {
  if (isDense(A)) {
    densePattern(rows, cols, start, row, source);
    return;
  }
  const Sparse a = sparseOf(A);
  if (a.by_rows) rowPattern(&a, start, row, source);
  else columnPattern(&a, start, row, source);
}

/* ---- a matrix that keeps the pattern of its template ---- */

/* The user's function may have cut the storage down (SUNSparseMatrix_Realloc). */
static int hasRoom(SUNMatrix A, sunindextype entries) {
  if (SUNSparseMatrix_NNZ(A) < entries && SUNSparseMatrix_Reallocate(A, entries)) return 0;
  return SUNSparseMatrix_IndexValues(A) && SUNSparseMatrix_Data(A);
}

/* SUNMatZero would clear the index arrays of a sparse matrix, too. */
void cpMatrixZeroValues(SUNMatrix A) {
  memset(cpMatrixData(A), 0, cpMatrixEntries(A) * sizeof(sunrealtype));
}

void cpMatrixZero(SUNMatrix A, SUNMatrix tmpl) {
  if (isDense(A)) {
    cpMatrixZeroValues(A);
    return;
  }
  const Sparse t       = sparseOf(tmpl);
  const size_t entries = (size_t)t.pointer[t.nlines], lines = (size_t)t.nlines;
  if (!hasRoom(A, t.pointer[t.nlines])) return; /* its pattern is then not that of the template */
  memcpy(SUNSparseMatrix_IndexPointers(A), t.pointer, (lines + 1) * sizeof *t.pointer);
  memcpy(SUNSparseMatrix_IndexValues(A), t.index, entries * sizeof *t.index);
  memset(SUNSparseMatrix_Data(A), 0, entries * sizeof(sunrealtype));
}

int cpMatrixSamePattern(SUNMatrix A, SUNMatrix tmpl) {
  if (isDense(A)) return 1;
  const Sparse a = sparseOf(A), t = sparseOf(tmpl);
  const size_t entries = (size_t)t.pointer[t.nlines], lines = (size_t)t.nlines;
  if (a.by_rows != t.by_rows || a.nlines != t.nlines || a.storage < t.pointer[t.nlines]) return 0;
  if (!a.index || !SUNSparseMatrix_Data(A)) return 0;
  return !memcmp(a.pointer, t.pointer, (lines + 1) * sizeof *t.pointer) &&
         !memcmp(a.index, t.index, entries * sizeof *t.index);
}
