/* Rank-revealing sparse QR (SPQR), A E = Q R, where columns of R below the tolerance are left out:
 *
 *   x = Q R^{-T} E^T r,   mu = E R^{-1} Q^T x, zero for the columns left out.
 *
 * It allocates at each factorisation, and takes about ten times as long as Cholesky. */
#include "sparse_impl.h"

#include <math.h>
#include <string.h>

void cpSparseQRFree(Sparse *s) {
  if (s->QR) SuiteSparseQR_C_free(&s->QR, &s->common);
  cholmod_l_free_sparse(&s->A, &s->common);
  cholmod_l_free_dense(&s->bn, &s->common);
  cholmod_l_free_dense(&s->bm, &s->common);
  cpArenaFree(&s->arena);
  s->QR       = NULL;
  s->A_from   = NULL;
  s->left_out = 0;
  s->is_qr    = 0;
}

/* Sets s->dropped. For a random z, mu = E R^{-1} z is zero exactly in the columns left out. Row i
 * of E R^{-1} has the length 1 / sine of column i's angle to all other kept columns. *hidden: out,
 * among the columns with angles below the tolerance the one with the smallest; -1 if there is none.
 * The pivots of such columns are roundoff, but above the tolerance, since coefficients in columns
 * at narrow angles are large. The entries of z are below 2. */
static int findDropped(Sparse *s, int *hidden) {
  double largest = 2.0 / s->ranktol;
  *hidden        = -1;
  cpRandomVector(s->bn->x, s->n);
  cholmod_dense *solution = SuiteSparseQR_C_solve(SPQR_RETX_EQUALS_B, s->QR, s->bn, &s->common);
  if (!solution) return cpCholmodFailure(&s->common);
  const double *mu = solution->x;
  for (int i = 0; i < s->m; i++)
    if (fabs(mu[i]) > largest) largest = fabs(mu[i]), *hidden = i;
  for (int k = 0; k < s->order; k++) {
    const int i   = s->constraint[k];
    s->dropped[k] = i >= 0 && s->present[k] && mu[i] == 0.0;
  }
  s->left_out = s->common.SPQR_istat[4] < s->m;
  cholmod_l_free_dense(&solution, &s->common);
  return 0;
}

static int factorMatrix(Sparse *s) {
  return SuiteSparseQR_C_numeric(s->ranktol, s->A, s->QR, &s->common) ? 0
                                                                      : cpCholmodFailure(&s->common);
}

/* Copies the values of A and factors it. The first call also creates A by columns, with the map of
 * its values. */
static int factor(Sparse *s) {
  const size_t n = (size_t)s->n, m = (size_t)s->m, entries = s->XT.start[n];
  if (!s->QR) {
    CPMat A;
    s->A  = cholmod_l_allocate_sparse(n, m, entries, 1, 1, 0, CHOLMOD_REAL, &s->common);
    s->bn = cholmod_l_zeros(n, 1, CHOLMOD_REAL, &s->common);
    s->bm = cholmod_l_zeros(m, 1, CHOLMOD_REAL, &s->common);
    if (cpMatTransposed(&s->arena, &s->XT, &A, &s->A_from) || !s->A || !s->bn || !s->bm)
      return CP_MEM_FAIL;
    Index *start = s->A->p, *row = s->A->i;
    for (size_t i = 0; i <= m; i++) start[i] = (Index)A.start[i];
    for (size_t k = 0; k < entries; k++) row[k] = A.row[k];
    s->QR = SuiteSparseQR_C_symbolic(SPQR_ORDERING_COLAMD, 1, s->A, &s->common);
    if (!s->QR) return cpCholmodFailure(&s->common);
  }
  double *value = s->A->x;
  for (size_t k = 0; k < entries; k++) value[k] = s->XT.value[s->A_from[k]];
  return factorMatrix(s);
}

/* SPQR does not pivot: among columns at narrow angles it may accept some that are nearly dependent,
 * and then cannot distinguish others from their roundoff. The column of the largest multiplier is
 * then left out, and the factorisation repeated (T. F. Chan, Rank revealing QR factorizations, Lin.
 * Alg. Appl. 88/89, 1987). */
int cpSparseQRFactor(Sparse *s) {
  int hidden = -1;
  int flag   = factor(s);
  if (!flag && s->left_out && s->common.SPQR_istat[4] == s->m) {
    cpSparseQRFree(s); /* SPQR (2.1 to 4) would solve with the old map of columns */
    flag = factor(s);
  }
  if (!flag) flag = findDropped(s, &hidden);
  while (!flag && hidden >= 0) {
    const Index *start = s->A->p;
    for (Index q = start[hidden]; q < start[hidden + 1]; q++) ((double *)s->A->x)[q] = 0.0;
    flag = factorMatrix(s);
    if (!flag) flag = findDropped(s, &hidden);
  }
  if (flag) cpSparseQRFree(s);
  else s->is_qr = 1;
  return flag;
}

/* Copies v, which is NULL after a failure, to out [length], and frees z and v. */
static int take(Sparse *s, cholmod_dense *z, cholmod_dense *v, double *out, int length) {
  const int flag = v ? 0 : cpCholmodFailure(&s->common);
  if (v) memcpy(out, v->x, (size_t)length * sizeof *out);
  cholmod_l_free_dense(&z, &s->common);
  cholmod_l_free_dense(&v, &s->common);
  return flag;
}

int cpSparseQRSolve(Sparse *s, const double *r, double *x) {
  memcpy(s->bm->x, r, (size_t)s->m * sizeof *r);
  cholmod_dense *z = SuiteSparseQR_C_solve(SPQR_RTX_EQUALS_ETB, s->QR, s->bm, &s->common);
  cholmod_dense *v = z ? SuiteSparseQR_C_qmult(SPQR_QX, s->QR, z, &s->common) : NULL;
  return take(s, z, v, x, s->n);
}

int cpSparseQRSolveT(Sparse *s, const double *x, double *mu) {
  memcpy(s->bn->x, x, (size_t)s->n * sizeof *x);
  cholmod_dense *z = SuiteSparseQR_C_qmult(SPQR_QTX, s->QR, s->bn, &s->common);
  cholmod_dense *v = z ? SuiteSparseQR_C_solve(SPQR_RETX_EQUALS_B, s->QR, z, &s->common) : NULL;
  return take(s, z, v, mu, s->m);
}
