/* Symmetric positive definite tridiagonal system, distributed over MPI ranks by rows.
 *
 * Partition method: each rank eliminates its rows but the last; the last rows form a tridiagonal
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
  sunrealtype *sub;  /* [n] in: coupling to the row before, that of row 0 to the rank before */
  sunrealtype *x;    /* [n] in: right-hand side; out: solution */
  sunrealtype *left, *right; /* work [n]: what a unit of the last row of the rank before, and of this
                                 one, leaves in the other rows */
  sunrealtype *shares;       /* work [6 size]: what the ranks add to the system of the last rows */
  sunrealtype *ldiag, *lsub, *lx; /* work [size]: that system */
} TridiagonalParallel;

/* Not collective. Returns 0, or -1 without memory, on this rank alone; T is then half-built. */
int tridiagonal_parallel_create(TridiagonalParallel *T, MPI_Comm comm, sunindextype n);
void tridiagonal_parallel_free(TridiagonalParallel *T); /* T may be half-built */

/* Collective. 0; 1: not positive definite; -1: MPI has failed. 0 and 1 are the same on all
   ranks. */
int tridiagonal_parallel_solve(TridiagonalParallel *T);

#endif
