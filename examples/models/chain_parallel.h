/* The chain of chain.h distributed over MPI ranks, for NVECTOR_PARALLEL: each rank has consecutive
 * masses and the rods on their left.
 *
 *   local part of y = (r, v) [4 n]      of this rank's masses
 *   local part of c = (pos, vel) [2 n]  of their rods
 *
 * All functions are collective; their signatures and meaning are those of chain.h, and they return the
 * same value on all ranks (unless MPI itself fails, where it is negative). Each call exchanges data with
 * neighbours: the last mass is sent to the right, the pull of the first rod to the left. The tensions
 * come from an exact solution of the tridiagonal system over all ranks.
 */
#ifndef CPODES_EXAMPLES_CHAIN_PARALLEL_H
#define CPODES_EXAMPLES_CHAIN_PARALLEL_H

#include "tridiagonal_parallel.h"
#include <sundials/sundials_nvector.h>

typedef struct {
  MPI_Comm comm;                 /* not owned */
  int rank, size, before, after; /* neighbours, MPI_PROC_NULL at the ends of the chain */
  sunindextype total;            /* number of masses */
  sunindextype first, n;         /* this rank's: number of the first (from 0), how many */
  sunrealtype g;                 /* gravity [m/s^2] */
  sunrealtype *r, *v;            /* work [2 (n+1)] each: of the mass before, and of this rank's */
  sunrealtype *xr, *xv;          /* work, the same for another vector */
  TridiagonalParallel S;         /* G G^T */
  sunrealtype *prec_diag, *prec_sub; /* [2 n] each: factors of the set-up, by levels */
  int prec_ready;                    /* 1 if they have been computed */
} ChainParallel;                     /* the user_data of the functions below */

/* The masses are distributed evenly, at least one to each rank. Returns NULL on all ranks if out of memory, or
   if total < number of ranks */
ChainParallel *chain_parallel_create(MPI_Comm comm, sunindextype total, sunrealtype g);
void chain_parallel_free(ChainParallel **chain); /* *chain may be NULL; not collective */

/* New vectors like y and c, which the caller frees; NULL if out of memory */
N_Vector chain_parallel_state(const ChainParallel *chain, SUNContext ctx);
N_Vector chain_parallel_residual(const ChainParallel *chain, SUNContext ctx);

int chain_parallel_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data);
int chain_parallel_constraints(sunrealtype t, N_Vector y, N_Vector c, void *user_data);

int chain_parallel_jac_times(sunrealtype t, N_Vector y, N_Vector x, N_Vector Gx, void *user_data);
int chain_parallel_jac_trans_times(sunrealtype t, N_Vector y, N_Vector x, N_Vector GTx,
                                   void *user_data);
int chain_parallel_schur_diag(sunrealtype t, N_Vector y, N_Vector D, N_Vector diag, void *user_data);

/* The tridiagonal factors of each rank's own rows: exact for each level on one rank, block Jacobi
   on more. */
int chain_parallel_prec_setup(sunrealtype t, N_Vector y, N_Vector D, void *user_data);
int chain_parallel_prec_solve(sunrealtype t, N_Vector y, N_Vector res, N_Vector z, void *user_data);

/* y: out, at rest and stretched along +x */
void chain_parallel_initial(const ChainParallel *chain, N_Vector y);

#endif
