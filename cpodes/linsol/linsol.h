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
#define CP_LIN_DEPENDENT 1 /* a column depends on others, and this solver wants full rank */

typedef struct {
  const char *name;
  CPLinSol type;
  /* Workspace for n x m; CP_SUCCESS or CP_MEM_FAIL, CP_LINSOL_FAIL. */
  int (*create)(CPLin lin);
  /* Factors of A; 0, CP_LIN_DEPENDENT (then lin->dependent names a column), or CP_LINSOL_FAIL. */
  int (*factor)(CPLin lin);
  void (*solve)(CPLin lin, const double *r, double *x);    /* r [m], x [n]  */
  void (*solve_t)(CPLin lin, const double *x, double *mu); /* x [n], mu [m] */
  void (*destroy)(CPLin lin);
} CPLinOps;

struct CPLin_ {
  const CPLinOps *ops;
  int n, mmax;         /* allocated for A n x mmax                            */
  int m;               /* columns of A now, <= mmax                           */
  const CPEntries *AT; /* A^T by components, the caller's, set before factor  */
  double ranktol;      /* a column is dependent below this sine of its angle  */
  int rank;            /* at the newest factorisation                         */
  int dependent;       /* a dependent column, -1 if there is none             */
  void *content;       /* the solver's own                                    */
};

/* Creates a solver of the given type (not AUTO) for A n x mmax. *lin is NULL on failure. */
int cpLinCreate(CPLin *lin, CPLinSol type, int n, int mmax);
void cpLinFree(CPLin *lin);

/* A as a dense n x m matrix, column-major. */
void cpLinScatter(const CPLin lin, double *A);

extern const CPLinOps cpSchurOps, cpQROps, cpQRPOps;

#endif
