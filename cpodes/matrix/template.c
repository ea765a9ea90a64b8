/* Matrices of the user, dense or sparse, with a template that carries the pattern; their values by
 * columns.
 *
 * A sparse matrix has `lines`: columns (CSC) or rows (CSR). Line k has the entries pointer[k], ...,
 * pointer[k + 1] - 1; index[] is the position of each entry within its line. */
#include "matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

typedef struct {
  const sunindextype *pointer, *index;
  sunindextype nlines, across; /* number of lines, and of positions in a line */
  sunindextype storage;        /* entries that there is room for */
  int by_rows;
} Sparse;

static int isDense(SUNMatrix A) { return SUNMatGetID(A) == SUNMATRIX_DENSE; }

static Sparse sparseOf(SUNMatrix A) {
  const int by_rows       = SM_SPARSETYPE_S(A) == CSR_MAT;
  const sunindextype rows = SM_ROWS_S(A), cols = SM_COLUMNS_S(A);
  return (Sparse){.pointer = SM_INDEXPTRS_S(A),
                  .index   = SM_INDEXVALS_S(A),
                  .nlines  = by_rows ? rows : cols,
                  .across  = by_rows ? cols : rows,
                  .storage = SM_NNZ_S(A),
                  .by_rows = by_rows};
}

long cpTemplateRows(SUNMatrix A) {
  const SUNMatrix_ID type = SUNMatGetID(A);
  return type == SUNMATRIX_DENSE    ? SUNDenseMatrix_Rows(A)
         : type == SUNMATRIX_SPARSE ? SUNSparseMatrix_Rows(A)
                                    : -1;
}

/* ---- checks ---- */

/* The pointers are checked before they are used as indices. */
int cpCheckPattern(CPLog *log, SUNMatrix A, int rows, int cols, const char *name,
                   const char *function) {
  const SUNMatrix_ID type = SUNMatGetID(A);
  const int dense         = type == SUNMATRIX_DENSE;
  if (!dense && type != SUNMATRIX_SPARSE)
    return cpRefuse(log, function,
                    "%s must be a dense or a sparse matrix (type %d or %d), is of type %d", name,
                    SUNMATRIX_DENSE, SUNMATRIX_SPARSE, (int)type);
  const long r = cpTemplateRows(A),
             c = dense ? SUNDenseMatrix_Columns(A) : SUNSparseMatrix_Columns(A);
  if (r != rows || c != cols)
    return cpRefuse(log, function, "%s must be %d x %d, is %ld x %ld%s", name, rows, cols, r, c,
                    r == cols && c == rows ? ", transposed: constraints are rows" : "");
  if (dense) return CP_SUCCESS;

  const Sparse a          = sparseOf(A);
  const sunindextype *ptr = a.pointer, *index = a.index;
  const char *line = a.by_rows ? "row" : "column", *across = a.by_rows ? "column" : "row";
  if (ptr[0] != 0)
    return cpRefuse(log, function, "%s: index pointers must start at 0: pointer 0 is %ld", name,
                    (long)ptr[0]);
  for (long k = 0; k < a.nlines; k++)
    if (ptr[k + 1] < ptr[k])
      return cpRefuse(
          log, function,
          "%s: index pointers must not decrease: pointer %ld is %ld, pointer %ld is %ld", name, k,
          (long)ptr[k], k + 1, (long)ptr[k + 1]);
  const long entries = ptr[a.nlines];
  if (entries > a.storage)
    return cpRefuse(log, function,
                    "%s: index pointers must stay within its %ld entries: pointer %ld is %ld", name,
                    (long)a.storage, (long)a.nlines, entries);
  if (entries == 0)
    return cpRefuse(log, function,
                    "%s has no entries: it must carry the pattern of all entries that are ever "
                    "non-zero in its index arrays",
                    name);
  for (long k = 0; k < a.nlines; k++)
    for (sunindextype e = ptr[k]; e < ptr[k + 1]; e++) {
      const long i = index[e], before = e > ptr[k] ? index[e - 1] : -1;
      if (i < 0 || i >= a.across)
        return cpRefuse(log, function, "%s: %s indices must be from 0 to %ld: %s %ld has index %ld",
                        name, across, (long)a.across - 1, line, k, i);
      if (i == before)
        return cpRefuse(log, function, "%s: each entry must occur once: %s %ld has index %ld twice",
                        name, line, k, i);
      if (i < before)
        return cpRefuse(log, function,
                        "%s: indices must ascend within a %s: %s %ld has index %ld before %ld",
                        name, line, line, k, before, i);
    }
  return CP_SUCCESS;
}

int cpCheckTemplate(CPLog *log, SUNMatrix A, int rows, int cols, const char *name,
                    const char *function) {
  int flag = cpCheckPattern(log, A, rows, cols, name, function);
  if (flag || isDense(A)) return flag;
  const Sparse a = sparseOf(A);
  char *has      = calloc((size_t)rows, sizeof *has);
  if (!has) return cpReport(log, CP_MEM_FAIL, function, "no memory");
  for (int k = 0; k < (int)a.nlines; k++)
    for (sunindextype e = a.pointer[k]; e < a.pointer[k + 1]; e++)
      has[a.by_rows ? k : a.index[e]] = 1;
  for (int i = 0; !flag && i < rows; i++)
    if (!has[i])
      flag = cpRefuse(log, function, "%s: each row must have an entry: row %d has none", name, i);
  free(has);
  return flag;
}

static int compareIndices(const void *a, const void *b) {
  const sunindextype i = *(const sunindextype *)a, j = *(const sunindextype *)b;
  return (i > j) - (i < j);
}

static int hasEntry(Sparse a, sunindextype line, sunindextype index) {
  const sunindextype first = a.pointer[line];
  return bsearch(&index, a.index + first, (size_t)(a.pointer[line + 1] - first), sizeof index,
                 compareIndices) != NULL;
}

int cpCheckMetricTemplate(CPLog *log, SUNMatrix M, int n, const char *function) {
  const char *name = "M_tmpl";
  const int flag   = cpCheckPattern(log, M, n, n, name, function);
  if (flag || isDense(M)) return flag;
  const Sparse a = sparseOf(M);
  for (int k = 0; k < n; k++)
    if (!hasEntry(a, k, k))
      return cpRefuse(log, function, "%s must have its whole diagonal: entry (%d, %d) is missing",
                      name, k, k);
  for (int k = 0; k < n; k++)
    for (sunindextype e = a.pointer[k]; e < a.pointer[k + 1]; e++) {
      const int l = (int)a.index[e], i = a.by_rows ? k : l, j = a.by_rows ? l : k;
      if (!hasEntry(a, l, k))
        return cpRefuse(log, function,
                        "%s must have a symmetric pattern: it has entry (%d, %d), and not (%d, %d)",
                        name, i, j, j, i);
    }
  return CP_SUCCESS;
}

/* ---- entries ---- */

size_t cpMatrixEntries(SUNMatrix A) {
  if (isDense(A)) return (size_t)SM_LDATA_D(A);
  const Sparse a = sparseOf(A);
  return (size_t)a.pointer[a.nlines];
}

sunrealtype *cpMatrixData(SUNMatrix A) { return isDense(A) ? SM_DATA_D(A) : SM_DATA_S(A); }

void cpMatrixPattern(SUNMatrix A, int rows, int cols, size_t *start, int *row, size_t *source) {
  memset(start, 0, ((size_t)cols + 1) * sizeof *start);
  if (isDense(A)) {
    for (size_t j = 0, k = 0; j < (size_t)cols; j++, start[j] = k)
      for (int i = 0; i < rows; i++, k++) row[k] = i, source[k] = k;
    return;
  }
  const Sparse a       = sparseOf(A);
  const size_t entries = (size_t)a.pointer[a.nlines];
  if (!a.by_rows) {
    for (int j = 0; j <= cols; j++) start[j] = (size_t)a.pointer[j];
    for (size_t e = 0; e < entries; e++) row[e] = (int)a.index[e], source[e] = e;
    return;
  }
  /* Counts the entries of each column, then distributes the entries row by row, so that rows
   * ascend. */
  for (size_t e = 0; e < entries; e++) start[a.index[e] + 1]++;
  for (int j = 0; j < cols; j++) start[j + 1] += start[j];
  for (int i = 0; i < rows; i++)
    for (sunindextype e = a.pointer[i]; e < a.pointer[i + 1]; e++) {
      const size_t k = start[a.index[e]]++;
      row[k] = i, source[k] = (size_t)e;
    }
  memmove(start + 1, start,
          (size_t)cols * sizeof *start); /* each column's end is the start of the next column */
  start[0] = 0;
}

/* ---- a matrix that keeps the pattern of its template ---- */

/* Restores the template's pattern. The user's function may have shrunk the storage of A
 * (SUNSparseMatrix_Realloc); returns 0 if there is no memory to enlarge it, and A's pattern then
 * differs from the template's. */
static int copyPattern(SUNMatrix A, SUNMatrix tmpl) {
  const Sparse t       = sparseOf(tmpl);
  const size_t entries = (size_t)t.pointer[t.nlines], lines = (size_t)t.nlines;
  if (SUNSparseMatrix_NNZ(A) < t.pointer[t.nlines] &&
      SUNSparseMatrix_Reallocate(A, t.pointer[t.nlines]))
    return 0;
  if (!SUNSparseMatrix_IndexValues(A) || !SUNSparseMatrix_Data(A)) return 0;
  memcpy(SUNSparseMatrix_IndexPointers(A), t.pointer, (lines + 1) * sizeof *t.pointer);
  memcpy(SUNSparseMatrix_IndexValues(A), t.index, entries * sizeof *t.index);
  return 1;
}

/* As cpMatrixSamePattern, for sparse matrices. */
static int samePattern(SUNMatrix A, SUNMatrix tmpl) {
  const Sparse a = sparseOf(A), t = sparseOf(tmpl);
  const size_t entries = (size_t)t.pointer[t.nlines], lines = (size_t)t.nlines;
  if (a.by_rows != t.by_rows || a.nlines != t.nlines || a.storage < t.pointer[t.nlines]) return 0;
  if (!a.index || !SM_DATA_S(A)) return 0;
  return !memcmp(a.pointer, t.pointer, (lines + 1) * sizeof *t.pointer) &&
         !memcmp(a.index, t.index, entries * sizeof *t.index);
}

int cpMatrixSamePattern(SUNMatrix A, SUNMatrix tmpl) { return isDense(A) || samePattern(A, tmpl); }

/* ---- a SUNMatrix beside a CPMat ---- */

SUNMatrix cpTemplateClone(SUNMatrix tmpl, SUNContext ctx) {
  if (isDense(tmpl)) return SUNDenseMatrix(SM_ROWS_D(tmpl), SM_COLUMNS_D(tmpl), ctx);
  SUNMatrix A = SUNSparseMatrix(SM_ROWS_S(tmpl), SM_COLUMNS_S(tmpl),
                                (sunindextype)cpMatrixEntries(tmpl), SM_SPARSETYPE_S(tmpl), ctx);
  if (A) copyPattern(A, tmpl);
  return A;
}

/* What all matrices of one template have in common */
typedef struct {
  SUNMatrix tmpl;
  size_t *start; /* as in CPMat */
  int *row;
  size_t *source; /* as in CPUserMat */
} Pattern;

typedef struct {
  SUNMatrix tmpl;
  int rows, cols;
  SUNContext ctx; /* of the copy of tmpl, or NULL if tmpl itself lives long enough */
} PatternOf;

static void destroyMatrix(void *S) { SUNMatDestroy(S); }

/* Of a CSC matrix, `source` would be 0, 1, 2 ... */
static int makePattern(CPArena *arena, void *argument, void **object) {
  const PatternOf *of  = argument;
  const size_t entries = cpMatrixEntries(of->tmpl);
  const int by_rows    = sparseOf(of->tmpl).by_rows;
  CPArena spare        = {0};
  size_t *source;
  Pattern *p = CP_NEW(arena, p, 1);
  if (!p) return CP_MEM_FAIL;
  p->tmpl = of->tmpl;
  if (of->ctx) p->tmpl = cpArenaOwn(arena, cpTemplateClone(of->tmpl, of->ctx), destroyMatrix);
  CP_NEW(arena, p->start, of->cols + 1);
  CP_NEW(arena, p->row, entries);
  CP_NEW(by_rows ? arena : &spare, source, entries);
  if (!cpArenaStatus(arena) && source)
    cpMatrixPattern(of->tmpl, of->rows, of->cols, p->start, p->row, source);
  p->source = by_rows ? source : NULL;
  *object   = p;
  int flag  = source ? cpArenaStatus(arena) : CP_MEM_FAIL;
  cpArenaFree(&spare);
  return flag;
}

int cpUserMatCreate(CPUserMat *U, CPMemo memo, SUNMatrix tmpl, int rows, int cols, SUNContext ctx) {
  *U = (CPUserMat){0};
  if (rows == 0 || cols == 0) return cpMatCreateDense(&U->A, rows, cols);
  if (!tmpl || isDense(tmpl)) {
    U->S = SUNDenseMatrix(rows, cols, ctx);
    if (!U->S) return CP_MEM_FAIL;
    U->A = (CPMat){.rows = rows, .cols = cols, .value = SUNDenseMatrix_Data(U->S)};
    return CP_SUCCESS;
  }
  PatternOf of        = {.tmpl = tmpl, .rows = rows, .cols = cols, .ctx = memo ? NULL : ctx};
  const CPMemoKey key = {&tmpl, sizeof tmpl};
  void *object        = NULL;
  int flag            = cpMemoGet(memo, &U->memory, makePattern, &key, 1, &of, &object);
  const Pattern *p    = object;
  if (!flag && !(U->S = cpTemplateClone(tmpl, ctx))) flag = CP_MEM_FAIL;
  if (!flag) {
    U->tmpl    = p->tmpl;
    U->source  = p->source;
    U->A       = (CPMat){.rows = rows, .cols = cols, .start = p->start, .row = p->row};
    U->A.value = p->source ? calloc(cpMatrixEntries(tmpl), sizeof *U->A.value) : SM_DATA_S(U->S);
    if (!U->A.value) flag = CP_MEM_FAIL;
  }
  if (flag) cpUserMatFree(U);
  return flag;
}

void cpUserMatPlace(CPUserMat *U, double *value) {
  if (!U->S) return;
  U->own          = SM_DATA_D(U->S);
  SM_DATA_D(U->S) = U->A.value = value;
  for (int j = 0; j < U->A.cols; j++) SM_COLUMN_D(U->S, j) = value + (size_t)j * (size_t)U->A.rows;
}

void cpUserMatFree(CPUserMat *U) {
  if (U->own) SM_DATA_D(U->S) = U->own;
  if (U->tmpl) U->A.start = NULL, U->A.row = NULL; /* of the pattern */
  if (U->S && !U->source) U->A.value = NULL;       /* S's memory */
  cpMatFree(&U->A);
  if (U->S) SUNMatDestroy(U->S);
  cpArenaFree(&U->memory);
  *U = (CPUserMat){0};
}

static void freeUserMat(void *U) { cpUserMatFree(U); }

int cpUserMatOwn(CPArena *arena, CPUserMat *U) {
  return cpArenaOwn(arena, U, freeUserMat) ? CP_SUCCESS : CP_MEM_FAIL;
}

/* SUNMatZero would clear the index arrays of a sparse matrix as well. */
void cpUserMatClear(CPUserMat *U) {
  sunrealtype *data = U->A.value;
  if (U->tmpl)
    data = U->is_same || samePattern(U->S, U->tmpl) || copyPattern(U->S, U->tmpl) ? SM_DATA_S(U->S)
                                                                                  : NULL;
  if (U->tmpl && !U->source && data) U->A.value = data; /* copyPattern may have moved it */
  if (data) memset(data, 0, cpMatEntries(&U->A) * sizeof *data);
  U->is_same = 0;
}

int cpUserMatCopy(CPUserMat *U) {
  if (!(U->is_same = samePattern(U->S, U->tmpl))) return -2;
  const size_t entries = cpMatEntries(&U->A);
  sunrealtype *data    = SM_DATA_S(U->S);
  if (!U->source) U->A.value = data; /* The user may have enlarged S, and so moved its data. */
  for (size_t k = 0; U->source && k < entries; k++) U->A.value[k] = data[U->source[k]];
  return CP_SUCCESS;
}

int cpUserMatTakeSlowly(CPUserMat *U, int *i, int *j) {
  const int flag = U->tmpl ? cpUserMatCopy(U) : CP_SUCCESS;
  if (flag || cpAllFinite(U->A.value, (sunindextype)cpMatEntries(&U->A))) return flag;
  size_t bad = 0;
  while (isfinite(U->A.value[bad])) bad++;
  *j = 0;
  while (cpMatFirst(&U->A, *j + 1) <= bad) ++*j;
  *i = cpMatRow(&U->A, *j, bad);
  return -1;
}
