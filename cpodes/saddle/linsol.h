/* Linear solvers of the projector: one table of functions, one file per solver.
 *
 * Of a matrix A (n x m, column-major, unit columns: the constraint gradients, row-scaled, in the
 * metric) they give the right inverse of A^T and its transpose, from one factorisation:
 *
 *   x  = A (A^T A)^+ r     the shortest x with A^T x = r          (solve)
 *   mu = (A^T A)^+ A^T x   the multipliers of x's normal part     (solve_t)
 *
 * With dependent columns (.)^+ stands for the inverse on an independent subset of them. A new
 * solver is a new file with such a table and a line in linsol.c.
 */
#ifndef CPODES_LINSOL_H
#define CPODES_LINSOL_H

#include <cpodes/cpodes_types.h>

typedef struct CPLin_ *CPLin;

/* Compressed columns of an m x n matrix: G itself, or A^T. */
typedef struct {
  size_t *start; /* [n + 1] column j has entries start[j] ... start[j + 1] - 1 */
  int *row;      /* [start[n]] in ascending order within a column              */
  double *value; /* [start[n]]                                                 */
} CPEntries;

/* Positive results of factor. */
#define CP_LIN_DEPENDENT  1 /* a column depends on others, and this solver wants full rank */
#define CP_LIN_INDEFINITE 2 /* W is not positive definite where A^T x = 0 */

typedef struct {
  const char *name;
  CPLinSol type;
  /* 1: the structure of AT is analysed once (analyse) and stays: absent columns are given as
   * columns of zeros, which the solver leaves out: their r and mu are 0,
   * they count neither in rank nor as dependent. 0: AT has the m present columns only, with any
   * structure. */
  int keeps_pattern;
  /* Workspace for n x mmax; CP_SUCCESS, CP_MEM_FAIL or CP_LINSOL_FAIL. */
  int (*create)(CPLin lin);
  /* Structure of A, lin->AT->start and ->row: called once, after create. NULL without
   * keeps_pattern. Same codes. */
  int (*analyse)(CPLin lin);
  /* Factors of A; 0, CP_LIN_DEPENDENT (then lin->dependent names a column), or a negative code. */
  int (*factor)(CPLin lin);
  /* 0, or a negative code. */
  int (*solve)(CPLin lin, const double *r, double *x);    /* r [m], x [n], r and x apart  */
  int (*solve_t)(CPLin lin, const double *x, double *mu); /* x [n], mu [m], x and mu apart */
  void (*destroy)(CPLin lin);
} CPLinOps;

struct CPLin_ {
  const CPLinOps *ops;
  int n, mmax;            /* allocated for A n x mmax                            */
  int m;                  /* columns of A now, <= mmax; keeps_pattern: mmax      */
  const struct CPMat_ *W; /* metric that is the solver's (kkt/lin.c); NULL: the identity      */
  const CPEntries *AT;    /* A^T by components, the caller's, set before analyse and factor */
  double ranktol;         /* a column is dependent below this sine of its angle  */
  int rank;               /* at the newest factorisation                         */
  int dependent;          /* a dependent column, -1 if there is none             */
  double sine;            /* the smallest sine of a column that counts as independent (estimate) */
  char *is_dependent;     /* [mmax] 1: this column depends on those with 0       */
  void *content;          /* the solver's own                                    */
};

/* Creates a solver of the given type (a matrix solver, not AUTO or KRYLOV) for A n x mmax; AT: its
 * structure, needed by solvers with keeps_pattern, else may be NULL. *lin is NULL on failure. */
int cpLinCreate(CPLin *lin, CPLinSol type, int n, int mmax, const CPEntries *AT);
/* ... with the metric W, n x n, sparse: kkt/lin.c. */
int cpLinCreateInMetric(CPLin *lin, const struct CPMat_ *W, int n, int mmax, const CPEntries *AT);
void cpLinFree(CPLin *lin);

/* Does this type analyse the structure once? */
int cpLinKeepsPattern(CPLinSol type);

/* A as a dense n x m matrix, column-major. */
void cpLinScatter(const CPLin lin, double *A);

/* Random numbers in [1, 2), always the same. */
void cpLinRandom(double *v, int length);

/* A column in the span of others has a pivot of S = A^T A that is roundoff times the squares of its
 * coefficients, which columns at narrow angles make large: where the least (squared) pivot is below
 * this, it takes more to tell. */
#define CP_LIN_SMALL_PIVOT 1.0e-3
/* x = S^{-1} x from the factors of S; 0, or a code of the solver's own. */
typedef int (*CPLinSolveFn)(void *factors, double *x);
/* Is S singular within the roundoff of forming it? Two steps of inverse iteration tell; x [length]:
 * workspace. 0, CP_LIN_SINGULAR, or the code of solve. */
int cpLinJudge(CPLinSolveFn solve, void *factors, double *x, int length);
#define CP_LIN_SINGULAR 1

extern const CPLinOps cpSchurOps, cpQROps, cpQRPOps, cpSparseOps, cpBlockOps, cpKktLinOps;

/* Closed loops in space have rows that are dependent on the manifold only. At a distance, relative to
 * the terms of the constraints, rows at angles of its size contradict each other: satisfying all of
 * them moves the state along the manifold as far as it was off, and gives accelerations that are wrong
 * by their own size. Unless the rows have been found independent before, sines up to this count as
 * zero. */
static inline double cpLinZeroAngle(double distance) {
  const double angle = 100.0 * distance;
  return angle < 1.0e-2 ? angle : 1.0e-2;
}
/* Rows are known to be independent where their sines are larger than that by this factor. */
#define CP_LIN_CLEARLY 30.0
/* Where that leaves a lower rank than there has been, the next angle that is tried is smaller by this. */
#define CP_LIN_LESS_ANGLE 3.0

#endif
