/* Real matrices, dense or sparse. One type serves the user's matrices (SUNMatrix: dense, CSC or
 * CSR) and those computed from them. Also patterns, and groups of columns for difference
 * quotients. */
#ifndef CPODES_MATRIX_H
#define CPODES_MATRIX_H

#include "cpodes/base/arena.h"
#include "cpodes/base/errors.h"
#include "cpodes/base/memo.h"
#include "cpodes/base/roundoff.h"
#include "cpodes/base/vectors.h"

#include <stddef.h>
#include <sundials/sundials_matrix.h>

/* If start is NULL, the matrix is dense, and value is column-major [rows * cols]. Otherwise it has
 * compressed columns: column j has the entries start[j], ..., start[j + 1] - 1, with ascending
 * rows. */
typedef struct CPMat_ {
  int rows, cols;
  size_t *start; /* [cols + 1] */
  int *row;      /* [start[cols]] */
  double *value;
} CPMat;

/* Create matrices of zeros; a sparse one has room for `entries` entries, and all its start[] are 0.
 * Return 0, or CP_MEM_FAIL with *A zero. */
int cpMatCreateDense(CPMat *A, int rows, int cols);
int cpMatCreateSparse(CPMat *A, int rows, int cols, size_t entries);
/* Creates a matrix with the same structure, and values of zero. */
int cpMatClone(CPMat *A, const CPMat *like);
/* The same, but the index arrays remain those of `like`, which must outlive A, and the values are the arena's: A must
 * not be freed. Returns 0 or CP_MEM_FAIL. */
int cpMatLike(CPArena *arena, CPMat *A, const CPMat *like);
void cpMatFree(CPMat *A);
/* The arena will free whatever A then holds. Returns 0 or CP_MEM_FAIL. */
int cpMatOwn(CPArena *arena, CPMat *A);

static inline size_t cpMatEntries(const CPMat *A) {
  return A->start ? A->start[A->cols] : (size_t)A->rows * (size_t)A->cols;
}
void cpMatZero(CPMat *A);
/* Returns the address of entry (i, j), or NULL if the pattern lacks it. */
double *cpMatAt(const CPMat *A, int i, int j);
static inline double cpMatEntry(const CPMat *A, int i, int j) {
  const double *entry = cpMatAt(A, i, j);
  return entry ? *entry : 0.0;
}

/* Column j has the entries k = cpMatFirst(A, j), ..., cpMatFirst(A, j + 1) - 1; cpMatRow gives the
 * row of entry k. */
static inline size_t cpMatFirst(const CPMat *A, int j) {
  return A->start ? A->start[j] : (size_t)j * (size_t)A->rows;
}
static inline int cpMatRow(const CPMat *A, int j, size_t k) {
  return A->start ? A->row[k] : (int)(k - (size_t)j * (size_t)A->rows);
}

/* y = alpha A x + beta y and y = alpha A^T x + beta y, with beta 0 or 1. */
void cpMatTimes(const CPMat *A, double alpha, const double *x, double beta, double *y);
/* y = |A| |x|, with absolute values of the entries. */
void cpMatAbsTimes(const CPMat *A, const double *x, double *y);
/* S = A A^T, upper triangle of [rows x rows]. A is sparse, with ascending rows. */
void cpMatGram(const CPMat *A, double *S);
void cpMatTransposedTimes(const CPMat *A, double alpha, const double *x, double beta, double *y);

/* Computes the structure of A^T for a sparse A, and in *from [entries] (unless from is NULL) the
 * index in A of each entry of A^T. The memory is the arena's, whose status is returned. */
int cpMatTransposed(CPArena *arena, const CPMat *A, CPMat *T, size_t **from);

/* Places (i, j) from which a pattern is made, in any order; a place may occur several times. A list
 * filled with zeros is empty. */
typedef struct {
  size_t count, room;
  int (*place)[2]; /* row, column */
  int failed;      /* sticky: set if there was no memory for a place */
} CPPlaces;
void cpPlacesAdd(CPPlaces *list, int i, int j);
/* Adds the entries of A, or of A^T, with the first row and column at (row, col). */
void cpPlacesAddMat(CPPlaces *list, const CPMat *A, int row, int col, int transposed);
/* Adds the entries of A^T A; A is sparse. */
void cpPlacesAddNormal(CPPlaces *list, const CPMat *A);
/* Creates a matrix with this pattern, and empties and frees the list. Returns 0 or CP_MEM_FAIL. */
int cpMatFromPlaces(CPMat *A, int rows, int cols, CPPlaces *list);

/* length_i <- sqrt(sum_j (A_ij s_j)^2) [rows], safe from underflow and overflow of the squares; s_j = 1 if
 * s is NULL. The length is normal, or 0 if the row is zero, unless that of an A_ij s_j is not. largest
 * [rows]: workspace */
void cpMatRowLengths(const CPMat *A, const double *s, double *largest, double *length);
/* A += alpha B. A is dense, or its pattern contains that of B. */
void cpMatAdd(CPMat *A, double alpha, const CPMat *B);
/* Does a square A equal A^T? A sparse A has a symmetric pattern here and below. */
int cpMatIsSymmetric(const CPMat *A);
/* A <- (A + A^T) / 2 */
void cpMatSymmetrise(CPMat *A);
/* In [W A^T; A 0], replaces the rows and columns of W that belong to fixed components by those of
 * the identity, and their columns of A by zero: fixed components do not move, and do not affect the
 * others. */
void cpMatFix(CPMat *W, CPMat *A, const char *fixed);

/* ---- coloring.c ---- */

/* Groups of columns that share no row: one evaluation of a function for each group gives the whole
 * Jacobian. */
typedef struct {
  int ngroups;
  int *start; /* [ngroups + 1] */
  int *col;   /* [n] */
} CPColoring;

/* Groups the columns of A's pattern, greedily. The memory is the arena's. Returns 0 or
 * CP_MEM_FAIL. */
int cpColoringCreate(CPArena *arena, CPColoring *colors, const CPMat *A);

/* ---- gross.c: gross errors of given Jacobians ---- */

/* A function that is compared, with the derivative J, or none if J is NULL. All arrays: [J->rows] */
typedef struct {
  const CPMat *J;
  double *value, *change; /* before and after a displacement v; afterwards the change */
  double *beside; /* terms beside which J v must count: those of v / h, and roundoff of f / UROUND */
  double *product; /* J v, 0 where it may be roundoff */
  char *right;     /* rows that need no comparison */
  double known;    /* the largest row of J v that was right */
} CPGrossOf;

typedef struct CPGross_ {
  int n, evaluations;
  double *v; /* [n] in: increments of difference quotients; out: shortened and turned */
  CPGrossOf of[3];
  /* Evaluates `change` for y + v. Returns 0, or a code that ends the comparison. NULL: there is no J. */
  int (*displaced)(const struct CPGross_ *c, void *data);
  /* Out: a row of of[wrong] in which J v is grossly too large; wrong is -1 if there is none */
  int wrong, row;
} CPGross;

void cpGrossAdd(CPArena *arena, CPGrossOf *of, const CPMat *J, double *value, double *change,
                double *beside);
/* To be called at each evaluation of J, with v: is J to be compared? cpFindGross follows if it is, with
 * `beside`, `value` and `right`, and returns 0, or the code of displaced(). */
int cpGrossIsDue(CPGross *c);
int cpFindGross(CPGross *c, void *data);

/* ---- template.c: matrices of the user ---- */

/* The rows of a dense or sparse matrix, or -1 */
long cpTemplateRows(SUNMatrix A);
/* Checks that A is dense, or sparse with valid index arrays. Returns 0, or CP_ILL_INPUT after
 * reporting it for the matrix of that name. */
int cpCheckPattern(CPLog *log, SUNMatrix A, int rows, int cols, const char *name,
                   const char *function);
/* As cpCheckPattern, for a matrix that must have an entry in each row. */
int cpCheckTemplate(CPLog *log, SUNMatrix A, int rows, int cols, const char *name,
                    const char *function);
/* As cpCheckPattern, for the n x n template M_tmpl of a metric, whose pattern must be symmetric and
 * contain the whole diagonal. */
int cpCheckMetricTemplate(CPLog *log, SUNMatrix M, int n, const char *function);
/* The number of entries that A stores, and the array of their values. */
size_t cpMatrixEntries(SUNMatrix A);
sunrealtype *cpMatrixData(SUNMatrix A);
/* The pattern of A [rows x cols] by columns: start [cols + 1], row [cpMatrixEntries], and source
 * [cpMatrixEntries], the index of each entry in A's data. A dense matrix has all entries. */
void cpMatrixPattern(SUNMatrix A, int rows, int cols, size_t *start, int *row, size_t *source);
/* Creates a matrix of zeros with the pattern of a template that has been checked. Returns NULL if there is no memory. */
SUNMatrix cpTemplateClone(SUNMatrix tmpl, SUNContext ctx);
/* Does A still have the index arrays of its template? */
int cpMatrixSamePattern(SUNMatrix A, SUNMatrix tmpl);

/* A SUNMatrix with the pattern of a template, and the CPMat that receives its values. The index arrays of A, source and
 * tmpl do not change, and may be those of other matrices. */
typedef struct {
  SUNMatrix S,
      tmpl; /* S is filled by the user; tmpl is the template, or a copy of it, NULL for a dense S */
  const size_t *source; /* [entries] the index of A's entries in the data of S; NULL: the same order */
  CPMat A; /* its values are the data of S if S is dense, or source is NULL and after cpUserMatCopy */
  double *own;    /* S's own memory, if A lies elsewhere (cpUserMatPlace) */
  int is_same;    /* S has had the template's index arrays since the user's last call */
  CPArena memory; /* of source, tmpl and A's index arrays, if they are not shared */
} CPUserMat;

/* Copies a template that has been checked (cpCheckPattern); NULL stands for a dense matrix. With a memo the index
 * arrays are those of all matrices that are created for this template, which must outlive the memo and not change. Returns
 * 0 or CP_MEM_FAIL. */
int cpUserMatCreate(CPUserMat *U, CPMemo memo, SUNMatrix tmpl, int rows, int cols, SUNContext ctx);
void cpUserMatFree(CPUserMat *U);
/* From now on the values of a dense matrix, also as the user fills it, lie in value [entries]. */
void cpUserMatPlace(CPUserMat *U, double *value);
int cpUserMatOwn(CPArena *arena, CPUserMat *U); /* as cpMatOwn */
/* To be called before the user's function: sets the values to zero and restores the template's
 * index arrays. */
void cpUserMatClear(CPUserMat *U);
/* To be called after the user's function if S is sparse: U->A gets the values; U->A.value may change. Returns 0, or -2
 * if the index arrays have changed. */
int cpUserMatCopy(CPUserMat *U);
/* The same for any S; returns -1 if entry (*i, *j) is not finite. */
int cpUserMatTakeSlowly(CPUserMat *U, int *i, int *j);
static inline int cpUserMatTake(CPUserMat *U, int *i, int *j) {
  const size_t entries = U->tmpl ? 0 : cpMatEntries(&U->A);
  return !U->tmpl && cpAllFinite(U->A.value, (sunindextype)entries) ? CP_SUCCESS
                                                                    : cpUserMatTakeSlowly(U, i, j);
}

#endif
