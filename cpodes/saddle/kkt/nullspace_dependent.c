/* Multipliers of dependent rows, in the order of the pivots. Those that change no force are
 *
 *   D Pi [-R11^{-1} R12; I] w;
 *
 * with N an orthonormal basis of them, lambda - N N^T lambda has minimum norm. */
#include "cpodes/saddle/lapack.h"
#include "nullspace_impl.h"

#include <string.h>

/* Unit columns do not make QR of N better; the scales of the rows are those of the multipliers. */
int cpNullspaceDependent(CPKkt kkt) {
  Nullspace *s     = kkt->content;
  const double one = 1.0;
  const int n = kkt->n, p = kkt->nrows, r = kkt->rank, d = p - r;
  int info = 0;
  if (d == 0) return 0;
  for (size_t k = 0; k < (size_t)d; k++) { /* [R12; -I] */
    double *column = s->N + k * (size_t)p;
    memset(column, 0, (size_t)p * sizeof *column);
    memcpy(column, s->QR + (k + (size_t)r) * (size_t)n, (size_t)r * sizeof *column);
    column[(size_t)r + k] = -1.0;
  }
  if (r > 0) F77(dtrsm)("L", "U", "N", "N", &r, &d, &one, s->QR, &n, s->N, &p);
  for (size_t k = 0; k < (size_t)d; k++)
    for (int i = 0; i < p; i++) s->N[k * (size_t)p + (size_t)i] *= s->scale[s->pivot[i]];
  F77(dgeqrf)(&p, &d, s->N, &p, s->tau, s->work, &s->lwork, &info);
  if (!info) F77(dorgqr)(&p, &d, &d, s->N, &p, s->tau, s->work, &s->lwork, &info);
  return info ? CP_LINSOL_FAIL : 0;
}

void cpNullspaceMultipliers(CPKkt kkt, double *y, double *lambda) {
  Nullspace *s      = kkt->content;
  const double plus = 1.0, minus = -1.0, zero = 0.0;
  const int p = kkt->nrows, r = kkt->rank, d = p - r, one = 1;
  for (int k = 0; k < p; k++) y[k] = k < r ? y[k] * s->scale[s->pivot[k]] : 0.0;
  if (d > 0) {
    F77(dgemv)("T", &p, &d, &plus, s->N, &p, y, &one, &zero, s->w, &one);
    F77(dgemv)("N", &p, &d, &minus, s->N, &p, s->w, &one, &plus, y, &one);
  }
  for (int k = 0; k < p; k++) lambda[kkt->row[s->pivot[k]]] = y[k];
}
