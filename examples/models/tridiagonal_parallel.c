#include "tridiagonal_parallel.h"

#include "chain_impl.h"
#include <stdlib.h>

/* Contributions of a rank to the system of the last rows: to its own row, and to that of the previous rank */
enum { OWN, COUPLING, BEFORE, RHS, RHS_BEFORE, FAILED, SHARES };

int tridiagonal_parallel_create(TridiagonalParallel *T, MPI_Comm comm, sunindextype n) {
  *T = (TridiagonalParallel){.comm = comm, .n = n};
  if (MPI_Comm_rank(comm, &T->rank) || MPI_Comm_size(comm, &T->size)) return -1;

  const size_t rows = (size_t)n, ranks = (size_t)T->size;
  T->diag   = calloc(rows, sizeof *T->diag);
  T->sub    = calloc(rows, sizeof *T->sub);
  T->x      = calloc(rows, sizeof *T->x);
  T->left   = calloc(rows, sizeof *T->left);
  T->right  = calloc(rows, sizeof *T->right);
  T->shares = calloc(SHARES * ranks, sizeof *T->shares);
  T->ldiag  = calloc(ranks, sizeof *T->ldiag);
  T->lsub   = calloc(ranks, sizeof *T->lsub);
  T->lx     = calloc(ranks, sizeof *T->lx);
  return T->diag && T->sub && T->x && T->left && T->right && T->shares && T->ldiag && T->lsub && T->lx
             ? 0
             : -1;
}

void tridiagonal_parallel_free(TridiagonalParallel *T) {
  free(T->diag);
  free(T->sub);
  free(T->x);
  free(T->left);
  free(T->right);
  free(T->shares);
  free(T->ldiag);
  free(T->lsub);
  free(T->lx);
  *T = (TridiagonalParallel){.n = 0};
}

/* Factors all rows except the last, and stores their contribution to the Schur complement in share */
static void eliminate(TridiagonalParallel *T, sunrealtype share[SHARES]) {
  const sunindextype k     = T->n - 1; /* the last row */
  const sunrealtype before = T->sub[0], last = T->sub[k];
  share[OWN] = T->diag[k], share[COUPLING] = before, share[BEFORE] = 0;
  share[RHS] = T->x[k], share[RHS_BEFORE] = 0, share[FAILED] = 0;
  if (k == 0) return;

  for (sunindextype i = 0; i < k; i++) {
    if (ldl_step(T->diag, T->sub, i)) share[FAILED] = 1;
    T->left[i] = T->right[i] = 0;
  }
  T->left[0]      = before;
  T->right[k - 1] = last;
  ldl_solve(k, T->diag, T->sub, T->left);
  ldl_solve(k, T->diag, T->sub, T->right);
  ldl_solve(k, T->diag, T->sub, T->x);
  share[OWN] -= last * T->right[k - 1];
  share[COUPLING] = -last * T->left[k - 1];
  share[BEFORE]   = -before * T->left[0];
  share[RHS] -= last * T->x[k - 1];
  share[RHS_BEFORE] = -before * T->x[0];
}

/* lx <- unknowns of the last rows. Returns 1 if the system, or a rank's part, is not positive definite */
static int solve_last_rows(TridiagonalParallel *T) {
  int failed = 0;
  for (int p = 0; p < T->size; p++) {
    const sunrealtype *share = T->shares + SHARES * p;
    const sunrealtype *next  = p + 1 < T->size ? share + SHARES : NULL;
    T->ldiag[p]              = share[OWN] + (next ? next[BEFORE] : 0);
    T->lx[p]                 = share[RHS] + (next ? next[RHS_BEFORE] : 0);
    T->lsub[p]               = share[COUPLING];
    if (share[FAILED] != 0 || ldl_step(T->ldiag, T->lsub, p)) failed = 1;
  }
  if (!failed) ldl_solve(T->size, T->ldiag, T->lsub, T->lx);
  return failed;
}

int tridiagonal_parallel_solve(TridiagonalParallel *T) {
  sunrealtype share[SHARES];
  eliminate(T, share);
  if (MPI_Allgather(share, SHARES, MPI_DOUBLE, T->shares, SHARES, MPI_DOUBLE, T->comm)) return -1;
  if (solve_last_rows(T)) return 1;

  const sunrealtype before = T->rank > 0 ? T->lx[T->rank - 1] : 0, own = T->lx[T->rank];
  for (sunindextype i = 0; i < T->n - 1; i++) T->x[i] -= T->left[i] * before + T->right[i] * own;
  T->x[T->n - 1] = own;
  return 0;
}
