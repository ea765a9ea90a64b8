/* Dense QR, A = Q R, and with column pivoting, A Pi = Q [R11 R12; 0 ~0], R11 rank x rank:
 *
 *   x = Q1 R11^{-T} (Pi^T r)_1,   (Pi^T mu)_1 = R11^{-1} Q1^T x, the other mu zero.
 *
 * The pivoted form takes an independent subset of dependent columns; both solves are each other's
 * transpose. */
#include "lapack.h"
#include "linsol.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  double *QR;  /* n x m: Householder vectors and R */
  double *tau; /* [min(n, m)]                      */
  double *x;   /* [max(n, m)]                      */
  int *pivot;  /* [m]: column k of A Pi is column pivot[k] of A */
  double *work;
  int lwork;
} QR;

static void qrDestroy(CPLin lin) {
  QR *q = lin->content;
  free(q->QR);
  free(q->tau);
  free(q->x);
  free(q->pivot);
  free(q->work);
  free(q);
  lin->content = NULL;
}

/* Best workspace for all three routines at full size. */
static int workspaceSize(int n, int m) {
  double best     = 1.0, size;
  const int query = -1, k = n < m ? n : m, one = 1;
  int info, pivot = 0;
  F77(dgeqrf)(&n, &m, &size, &n, &size, &size, &query, &info);
  if (!info) best = fmax(best, size);
  F77(dgeqp3)(&n, &m, &size, &n, &pivot, &size, &size, &query, &info);
  if (!info) best = fmax(best, size);
  F77(dormqr)("L", "N", &n, &one, &k, &size, &n, &size, &size, &n, &size, &query, &info);
  if (!info) best = fmax(best, size);
  return (int)fmax(best, 3.0 * m + 1.0);
}

static int qrCreate(CPLin lin) {
  QR *q = lin->content = calloc(1, sizeof *q);
  size_t n = (size_t)lin->n, m = (size_t)lin->mmax, longest = n > m ? n : m;
  if (!q) return CP_MEM_FAIL;
  q->lwork = workspaceSize(lin->n, lin->mmax);
  q->QR    = malloc(n * m * sizeof *q->QR);
  q->tau   = malloc(m * sizeof *q->tau);
  q->x     = malloc(longest * sizeof *q->x);
  q->pivot = malloc(m * sizeof *q->pivot);
  q->work  = malloc((size_t)q->lwork * sizeof *q->work);
  return q->QR && q->tau && q->x && q->pivot && q->work ? CP_SUCCESS : CP_MEM_FAIL;
}

/* |R_kk| with unit columns is the sine of column k's angle to the columns before it. */
static int independentColumns(const CPLin lin, const QR *q) {
  int k = 0, kmax = lin->m < lin->n ? lin->m : lin->n;
  while (k < kmax && fabs(q->QR[(size_t)k * (size_t)(lin->n + 1)]) > lin->ranktol) k++;
  return k;
}

static int factor(CPLin lin, int pivoting) {
  QR *q       = lin->content;
  const int n = lin->n, m = lin->m;
  int info       = 0;
  lin->rank      = 0;
  lin->dependent = -1;
  if (m == 0) return 0;
  cpLinScatter(lin, q->QR);
  for (int k = 0; k < m; k++) q->pivot[k] = pivoting ? 0 : k + 1;
  if (pivoting) F77(dgeqp3)(&n, &m, q->QR, &n, q->pivot, q->tau, q->work, &q->lwork, &info);
  else F77(dgeqrf)(&n, &m, q->QR, &n, q->tau, q->work, &q->lwork, &info);
  if (info) return CP_LINSOL_FAIL;
  for (int k = 0; k < m; k++) q->pivot[k]--; /* LAPACK counts from 1 */
  lin->rank = independentColumns(lin, q);
  if (lin->rank < m) lin->dependent = q->pivot[lin->rank];
  lin->sine = 1.0;
  for (int k = 0; k < lin->rank; k++)
    lin->sine = fmin(lin->sine, fabs(q->QR[(size_t)k * (size_t)(n + 1)]));
  for (int k = 0; k < m; k++) lin->is_dependent[q->pivot[k]] = k >= lin->rank;
  return 0;
}

static int qrFactor(CPLin lin) {
  int flag = factor(lin, 0);
  return flag ? flag : lin->rank < lin->m ? CP_LIN_DEPENDENT : 0;
}

static int qrpFactor(CPLin lin) { return factor(lin, 1); }

static int qrSolve(CPLin lin, const double *r, double *x) {
  QR *q       = lin->content;
  const int n = lin->n, k = lin->rank, one = 1;
  int info;
  for (int i = 0; i < n; i++) x[i] = 0.0;
  if (k == 0) return 0;
  for (int i = 0; i < k; i++) x[i] = r[q->pivot[i]];
  F77(dtrsv)("U", "T", "N", &k, q->QR, &n, x, &one); /* R11' z = r1 */
  F77(dormqr)
  ("L", "N", &n, &one, &k, q->QR, &n, q->tau, x, &n, q->work, &q->lwork, &info); /* Q1 z */
  return info ? CP_LINSOL_FAIL : 0;
}

static int qrSolveT(CPLin lin, const double *x, double *mu) {
  QR *q       = lin->content;
  const int n = lin->n, k = lin->rank, one = 1;
  int info;
  for (int i = 0; i < lin->m; i++) mu[i] = 0.0;
  if (k == 0) return 0;
  memcpy(q->x, x, (size_t)n * sizeof *x);
  F77(dormqr)
  ("L", "T", &n, &one, &k, q->QR, &n, q->tau, q->x, &n, q->work, &q->lwork, &info); /* Q'x */
  if (info) return CP_LINSOL_FAIL;
  F77(dtrsv)("U", "N", "N", &k, q->QR, &n, q->x, &one); /* R11 z = Q1'x */
  for (int i = 0; i < k; i++) mu[q->pivot[i]] = q->x[i];
  return 0;
}

const CPLinOps cpQROps = {.name    = "QR",
                          .type    = CP_LINSOL_QR,
                          .create  = qrCreate,
                          .factor  = qrFactor,
                          .solve   = qrSolve,
                          .solve_t = qrSolveT,
                          .destroy = qrDestroy};

const CPLinOps cpQRPOps = {.name    = "QR with column pivoting",
                           .type    = CP_LINSOL_QRP,
                           .create  = qrCreate,
                           .factor  = qrpFactor,
                           .solve   = qrSolve,
                           .solve_t = qrSolveT,
                           .destroy = qrDestroy};
