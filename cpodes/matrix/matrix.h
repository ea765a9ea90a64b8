/* Real matrices, dense or sparse: one type for those of the user (SUNMatrix, dense, CSC or CSR), and for those made of
 * them; patterns, and groups of their columns for difference quotients. */
#ifndef CPODES_MATRIX_H
#define CPODES_MATRIX_H

#include "cpodes/base/arena.h"
#include "cpodes/base/errors.h"
#include "cpodes/base/vectors.h"

#include <stddef.h>
#include <sundials/sundials_matrix.h>

/* If start is NULL, the matrix is dense, and value is column-major [rows * cols]. Otherwise it has compressed columns:
 * column j has the entries start[j], ..., start[j + 1] - 1, with ascending rows. */
typedef struct CPMat_ {
  int rows, cols;
  size_t *start; /* [cols + 1] */
  int *row;      /* [start[cols]] */
  double *value;
} CPMat;

/* Matrices of zeros; a sparse one has room for so many entries, and a start of zeros. 0, or CP_MEM_FAIL, and *A is
 * zero. */
int cpMatCreateDense(CPMat *A, int rows, int cols);
int cpMatCreateSparse(CPMat *A, int rows, int cols, size_t entries);
/* The same structure with values of zero. */
int cpMatClone(CPMat *A, const CPMat *like);
void cpMatFree(CPMat *A);
/* Whatever A is then, it is freed with the arena. 0 or CP_MEM_FAIL. */
int cpMatOwn(CPArena *arena, CPMat *A);

static inline size_t cpMatEntries(const CPMat *A) {
  return A->start ? A->start[A->cols] : (size_t)A->rows * (size_t)A->cols;
}
void cpMatZero(CPMat *A);
/* The place of entry (i, j), or NULL. */
double *cpMatAt(const CPMat *A, int i, int j);
static inline double cpMatEntry(const CPMat *A, int i, int j) {
  const double *entry = cpMatAt(A, i, j);
  return entry ? *entry : 0.0;
}

/* Entries of column j: those from cpMatFirst(A, j) to cpMatFirst(A, j + 1), excluded; their rows. */
static inline size_t cpMatFirst(const CPMat *A, int j) {
  return A->start ? A->start[j] : (size_t)j * (size_t)A->rows;
}
static inline int cpMatRow(const CPMat *A, int j, size_t k) {
  return A->start ? A->row[k] : (int)(k - (size_t)j * (size_t)A->rows);
}

/* y = alpha A x + beta y, y = alpha A^T x + beta y, where beta is 0 or 1. */
void cpMatTimes(const CPMat *A, double alpha, const double *x, double beta, double *y);
/* y = |A| |x|, entry by entry */
void cpMatAbsTimes(const CPMat *A, const double *x, double *y);
/* S <- A A^T, upper triangle [rows x rows]; A is sparse with ascending rows */
void cpMatGram(const CPMat *A, double *S);
void cpMatTransposedTimes(const CPMat *A, double alpha, const double *x, double beta, double *y);

/* The structure of A^T, for a sparse A; *from [entries], unless it is NULL: the place in A of each of its entries. All from
 * the arena, whose status it returns. */
int cpMatTransposed(CPArena *arena, const CPMat *A, CPMat *T, size_t **from);

/* Places (i, j) from which a pattern is made, in any order; a place may occur several times. A list of zeros is empty. */
typedef struct {
  size_t count, room;
  int (*place)[2]; /* row, column */
  int failed;      /* sticky: there was no memory for a place */
} CPPlaces;
void cpPlacesAdd(CPPlaces *list, int i, int j);
/* The entries of A, or of A^T, with the first of them at (row, col). */
void cpPlacesAddMat(CPPlaces *list, const CPMat *A, int row, int col, int transposed);
/* Those of A^T A; A is sparse. */
void cpPlacesAddNormal(CPPlaces *list, const CPMat *A);
/* A matrix with this pattern. The list is empty and its memory free afterwards. 0 or CP_MEM_FAIL. */
int cpMatFromPlaces(CPMat *A, int rows, int cols, CPPlaces *list);

/* A += alpha B. A is dense, or has all entries of B. */
void cpMatAdd(CPMat *A, double alpha, const CPMat *B);
/* In [W A^T; A 0], rows and columns of W for the components that are held become the identity's, and columns of A zero:
 * these components do not move, and nothing else feels them. */
void cpMatHold(CPMat *W, CPMat *A, const char *held);

/* ---- coloring.c ---- */

/* Groups of columns that share no row: one evaluation of a function for each group gives its whole Jacobian. */
typedef struct {
  int ngroups;
  int *start; /* [ngroups + 1] */
  int *col;   /* [n] */
} CPColoring;

/* Groups of the columns of A's pattern, greedily, from the arena. 0 or CP_MEM_FAIL. */
int cpColoringCreate(CPArena *arena, CPColoring *colors, const CPMat *A);

/* ---- template.c: matrices of the user ---- */

/* Is A dense, or sparse with sound index arrays? 0, or CP_ILL_INPUT, reported for the matrix of that name. */
int cpCheckPattern(CPLog *log, SUNMatrix A, int rows, int cols, const char *name,
                   const char *function);
/* The same of a matrix whose rows must all have an entry. */
int cpCheckTemplate(CPLog *log, SUNMatrix A, int rows, int cols, const char *name,
                    const char *function);
/* The same of a metric M_tmpl, n x n, whose pattern is to be symmetric and to have its whole diagonal. */
int cpCheckMetricTemplate(CPLog *log, SUNMatrix M, int n, const char *function);
/* The places in its data. */
size_t cpMatrixEntries(SUNMatrix A);
sunrealtype *cpMatrixData(SUNMatrix A);
/* The pattern of A [rows x cols] by columns: start [cols + 1], row [cpMatrixEntries], and the place of each entry in A's
 * data, source [cpMatrixEntries]. A dense matrix has all entries. */
void cpMatrixPattern(SUNMatrix A, int rows, int cols, size_t *start, int *row, size_t *source);
/* A template that has been checked, with its index arrays, which SUNMatClone leaves out; its values are those of SUNMatClone.
 * NULL without memory. */
SUNMatrix cpTemplateClone(SUNMatrix tmpl);
/* Zeros the values, and restores the index arrays of the template; or only the former. */
void cpMatrixZero(SUNMatrix A, SUNMatrix tmpl);
void cpMatrixZeroValues(SUNMatrix A);
/* Does A still have the index arrays of its template? */
int cpMatrixSamePattern(SUNMatrix A, SUNMatrix tmpl);

/* A SUNMatrix with the pattern of a template beside the CPMat that takes its values. */
typedef struct {
  SUNMatrix S,
      tmpl; /* what the user's function fills, and a copy of the template, or NULL if S is dense */
  size_t *source; /* [entries] the place of A's entries in the data of S, or NULL if S is dense */
  CPMat A;        /* dense if S is, and then in S's memory */
  double *own;    /* S's memory, if A lies in another one (cpUserMatPlace) */
} CPUserMat;

/* The template has been checked (cpCheckPattern). It is copied, and may be NULL for a dense matrix. 0 or CP_MEM_FAIL. */
int cpUserMatCreate(CPUserMat *U, SUNMatrix tmpl, int rows, int cols, SUNContext ctx);
void cpUserMatFree(CPUserMat *U);
/* The values of a dense matrix, and those that the user fills, lie in value [entries] from now on. */
void cpUserMatPlace(CPUserMat *U, double *value);
int cpUserMatOwn(CPArena *arena, CPUserMat *U); /* as cpMatOwn */
/* Before the user's function: restores zeros and the template's index arrays. */
void cpUserMatClear(CPUserMat *U);
/* After it: copies the values into U->A. Returns 0; -1 if entry (*i, *j) is not finite; -2 if the index arrays have
 * changed. */
int cpUserMatTakeSlowly(CPUserMat *U, int *i, int *j);
static inline int cpUserMatTake(CPUserMat *U, int *i, int *j) {
  const size_t entries = U->tmpl ? 0 : cpMatEntries(&U->A);
  return !U->tmpl && cpAllFinite(U->A.value, (sunindextype)entries) ? CP_SUCCESS
                                                                    : cpUserMatTakeSlowly(U, i, j);
}

#endif
