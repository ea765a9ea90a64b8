/* Symmetric positive definite tridiagonal system, distributed over MPI ranks by rows.
 *
 * Partition method: each rank eliminates all its rows except the last one. The last rows form a tridiagonal
 * system with one row for each rank, which every rank solves after an exchange of six numbers.
 *
 * Source: H. H. Wang, A parallel method for tridiagonal equations, ACM Trans. Math. Software 7
 * (1981) 170-183.
 */
#ifndef CPODES_EXAMPLES_TRIDIAGONAL_PARALLEL_H
#define CPODES_EXAMPLES_TRIDIAGONAL_PARALLEL_H

#include <mpi.h>
#include <sundials/sundials_types.h>

typedef struct {
  MPI_Comm comm; /* not owned */
  int rank, size;
  sunindextype n;    /* rows of this rank, >= 1 */
  sunrealtype *diag; /* [n] in: diagonal; changed */
  sunrealtype *sub;  /* [n] in: coupling to the previous row, for row 0 to the previous rank */
  sunrealtype *x;    /* [n] in: right-hand side; out: solution */
  sunrealtype *left, *right; /* work [n]: effect of a unit of the previous rank's last row, and of
                                 this rank's, on the other rows */
  sunrealtype *shares; /* work [6 size]: contributions of the ranks to the system of the last rows */
  sunrealtype *ldiag, *lsub, *lx; /* work [size]: that system */
} TridiagonalParallel;

/* Not collective. Returns 0, or -1 if out of memory, on this rank alone; T is then half-built. */
int tridiagonal_parallel_create(TridiagonalParallel *T, MPI_Comm comm, sunindextype n);
void tridiagonal_parallel_free(TridiagonalParallel *T); /* T may be half-built */

/* Collective. Returns 0, 1 if the matrix is not positive definite, or -1 if MPI has failed. 0 and 1 are the same
   on all ranks. */
int tridiagonal_parallel_solve(TridiagonalParallel *T);

#endif
