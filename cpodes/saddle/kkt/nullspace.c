/* Null-space method by QR with column pivoting. In coordinates a / s, s_j = 1 / sqrt(m_jj), so that M
 * has unit diagonal,
 *
 *   A^T D Pi = Q [R11 R12; 0 ~0],   D: unit columns,   Q = [Q1 Q2],   A Q2 = 0
 *
 *   R11^T y1 = (Pi^T D b)_1,   (Q2^T M Q2) y2 = Q2^T (f - M Q1 y1),   a = Q1 y1 + Q2 y2
 *   R11 (Pi^T D^{-1} lambda)_1 = Q1^T (f - M a),   less its part in the null space of A^T.
 *
 * Q of the first reflectors, as many as the rank, in compact form (Schreiber, Van Loan, SIAM J. Sci.
 * Stat. Comput. 10, 1989): Q = I - V T V^T = I - B V^T, with T^{-1} + T^{-T} = V^T V (Puglisi, the
 * same 13, 1992). */
#include "cpodes/saddle/lapack.h"
#include "nullspace_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void nullspaceDestroy(CPKkt kkt) {
  Nullspace *s = kkt->content;
  cpCholeskyFree(&s->H);
  free(s->QR);
  free(s->V);
  free(s->B);
  free(s->W);
  free(s->T);
  free(s->Z);
  free(s->N);
  free(s->tau);
  free(s->scale);
  free(s->s);
  free(s->SB);
  free(s->pivot);
  free(s->work);
  free(s->x);
  free(s->g);
  free(s->w);
  free(s);
  kkt->content = NULL;
}

/* Best workspace for all routines at full size. */
static int workspaceSize(int n, int m) {
  double best     = 1.0, size;
  const int query = -1;
  int info, pivot = 0;
  F77(dgeqp3)(&n, &m, &size, &n, &pivot, &size, &size, &query, &info);
  if (!info) best = fmax(best, size);
  F77(dgeqrf)(&m, &m, &size, &m, &size, &size, &query, &info);
  if (!info) best = fmax(best, size);
  F77(dorgqr)(&m, &m, &m, &size, &m, &size, &size, &query, &info);
  if (!info) best = fmax(best, size);
  return (int)fmax(best, 3.0 * m + 1.0);
}

static int nullspaceCreate(CPKkt kkt) {
  Nullspace *s = kkt->content = calloc(1, sizeof *s);
  const size_t n = (size_t)kkt->n + 1, m = (size_t)kkt->m + 1, longest = n > m ? n : m;
  if (!s) return CP_MEM_FAIL;
  s->lwork = workspaceSize(kkt->n, kkt->m > 0 ? kkt->m : 1);
  s->QR    = malloc(n * m * sizeof *s->QR);
  s->V     = malloc(n * m * sizeof *s->V);
  s->B     = malloc(n * m * sizeof *s->B);
  s->W     = malloc(n * m * sizeof *s->W);
  s->T     = malloc(m * m * sizeof *s->T);
  s->Z     = malloc(m * m * sizeof *s->Z);
  s->N     = malloc(m * m * sizeof *s->N);
  s->tau   = malloc(m * sizeof *s->tau);
  s->scale = malloc(m * sizeof *s->scale);
  s->s     = malloc(n * sizeof *s->s);
  s->SB    = malloc(n * m * sizeof *s->SB);
  s->pivot = malloc(m * sizeof *s->pivot);
  s->work  = malloc((size_t)s->lwork * sizeof *s->work);
  s->x     = malloc(longest * sizeof *s->x);
  s->g     = malloc(longest * sizeof *s->g);
  s->w     = malloc(m * sizeof *s->w);
  return s->QR && s->V && s->B && s->W && s->T && s->Z && s->N && s->tau && s->scale && s->s &&
                 s->SB && s->pivot && s->work && s->x && s->g && s->w
             ? cpCholeskyCreate(&s->H, kkt->n)
             : CP_MEM_FAIL;
}

/* ---- Q ---- */

/* Rows of A in the coordinates, with unit length; rows of zeros stay. */
static void scaleRows(const CPKkt kkt, Nullspace *s) {
  const size_t n = (size_t)kkt->n;
  cpKktGather(kkt, s->QR);
  for (int k = 0; k < kkt->nrows; k++) {
    double *row = s->QR + (size_t)k * n, largest = 0.0, sum = 0.0;
    for (size_t j = 0; j < n; j++) row[j] *= s->s[j];
    for (size_t j = 0; j < n; j++) largest = fmax(largest, fabs(row[j]));
    for (size_t j = 0; j < n && largest > 0.0; j++) sum += (row[j] / largest) * (row[j] / largest);
    s->scale[k] = largest > 0.0 ? 1.0 / (largest * sqrt(sum)) : 1.0;
    for (size_t j = 0; j < n; j++) row[j] *= s->scale[k];
  }
}

/* |R_kk| with unit columns is the sine of column k's angle to the columns before it. */
static int factorRows(CPKkt kkt, Nullspace *s) {
  const int n = kkt->n, m = kkt->nrows, kmax = m < n ? m : n;
  int info = 0, k = 0;
  scaleRows(kkt, s);
  for (int i = 0; i < m; i++) s->pivot[i] = 0;
  F77(dgeqp3)(&n, &m, s->QR, &n, s->pivot, s->tau, s->work, &s->lwork, &info);
  if (info) return CP_LINSOL_FAIL;
  for (; k < kmax && fabs(s->QR[(size_t)k * (size_t)(n + 1)]) > kkt->ranktol; k++)
    kkt->sine = fmin(kkt->sine, fabs(s->QR[(size_t)k * (size_t)(n + 1)]));
  for (int i = 0; i < m; i++) s->pivot[i]--; /* LAPACK counts from 1 */
  for (int i = k; i < m; i++) cpKktMarkDependent(kkt, kkt->row[s->pivot[i]]);
  return 0;
}

/* V, T^{-1} and B = V T. A reflector that is I (tau = 0) has no vector. */
static void formReflectors(const CPKkt kkt, Nullspace *s) {
  const int n = kkt->n, r = kkt->rank;
  const double one = 1.0, zero = 0.0;
  for (int k = 0; k < r; k++) {
    double *v = s->V + (size_t)k * (size_t)n;
    memcpy(v, s->QR + (size_t)k * (size_t)n, (size_t)n * sizeof *v);
    for (int i = 0; i < k; i++) v[i] = 0.0;
    v[k] = 1.0;
    if (s->tau[k] == 0.0) memset(v, 0, (size_t)n * sizeof *v);
  }
  F77(dsyrk)("U", "T", &r, &n, &one, s->V, &n, &zero, s->T, &r); /* T^-1 + T^-T = V'V */
  for (int k = 0; k < r; k++)
    s->T[(size_t)k * (size_t)(r + 1)] = s->tau[k] == 0.0 ? 1.0 : 1.0 / s->tau[k];
  memcpy(s->B, s->V, (size_t)n * (size_t)r * sizeof *s->B);
  F77(dtrsm)("R", "U", "N", "N", &n, &r, &one, s->T, &r, s->B, &n); /* B = V T */
}

/* x -= X (Y^T x), X and Y n x rank: with X = B, Y = V it is Q x, the other way round Q^T x. */
static void reflect(const CPKkt kkt, Nullspace *s, const double *X, const double *Y, double *x) {
  const int n = kkt->n, r = kkt->rank, one = 1;
  const double plus = 1.0, minus = -1.0, zero = 0.0;
  if (r == 0) return;
  F77(dgemv)("T", &n, &r, &plus, Y, &n, x, &one, &zero, s->w, &one);
  F77(dgemv)("N", &n, &r, &minus, X, &n, s->w, &one, &plus, x, &one);
}

/* ---- M on the null space ---- */

/* W = S M S B */
static void multiplyMass(const CPKkt kkt, Nullspace *s) {
  const int n = kkt->n, r = kkt->rank;
  const size_t entries = (size_t)n * (size_t)r;
  const double one = 1.0, zero = 0.0;
  for (size_t k = 0; k < entries; k++) s->SB[k] = s->s[k % (size_t)n] * s->B[k];
  if (!kkt->M->start)
    F77(dsymm)("L", "U", &n, &r, &one, kkt->M->value, &n, s->SB, &n, &zero, s->W, &n);
  for (size_t k = 0; kkt->M->start && k < (size_t)r; k++)
    cpMatTimes(kkt->M, 1.0, s->SB + k * (size_t)n, 0.0, s->W + k * (size_t)n);
  for (size_t k = 0; k < entries; k++) s->W[k] *= s->s[k % (size_t)n];
}

/* Upper triangle of H = Q2^T M Q2, the last rows and columns of Q^T M Q, by a symmetric update,
 * with S M S for M:
 *   Q^T M Q = M - Y V^T - V Y^T,   Y = W - 1/2 V (B^T W),   W = M B */
static void projectMass(const CPKkt kkt, Nullspace *s) {
  const int n = kkt->n, r = kkt->rank, nh = s->H.n;
  const double one = 1.0, zero = 0.0, minus = -1.0, half = -0.5;
  cpKktBlocksGather(kkt->M, r, nh, s->H.U);
  for (int k = 0; k < nh; k++) {
    double *column = s->H.U + (size_t)k * (size_t)nh;
    for (int i = 0; i <= k; i++) column[i] *= s->s[r + i] * s->s[r + k];
    s->H.d[k] = 1.0; /* all entries carry roundoff of order u */
  }
  if (r == 0 || nh == 0) return;
  multiplyMass(kkt, s);
  F77(dgemm)("T", "N", &r, &r, &n, &one, s->B, &n, s->W, &n, &zero, s->Z, &r);
  F77(dgemm)("N", "N", &nh, &r, &r, &half, s->V + r, &n, s->Z, &r, &one, s->W + r, &n);
  F77(dsyr2k)
  ("U", "N", &nh, &r, &minus, s->W + r, &n, s->V + r, &n, &one, s->H.U, &nh);
}

static int nullspaceFactor(CPKkt kkt) {
  Nullspace *s = kkt->content;
  cpKktScaleCoordinates(kkt->M, s->s);
  const int flag = kkt->nrows > 0 ? factorRows(kkt, s) : 0;
  if (flag) return flag;
  s->H.n = kkt->n - kkt->rank;
  if (kkt->rank > 0) formReflectors(kkt, s);
  projectMass(kkt, s);
  if (cpCholeskyFactor(&s->H, CP_CHOLESKY_LEAST)) return CP_KKT_NOT_DEFINITE;
  return cpNullspaceDependent(kkt);
}

/* ---- solution ---- */

/* a = S Q y; z = Q^T S (f - M a), in s->g */
static const double *residual(const CPKkt kkt, Nullspace *s, const double *f, const double *y,
                              double *a) {
  const int n = kkt->n;
  memcpy(a, y, (size_t)n * sizeof *a);
  reflect(kkt, s, s->B, s->V, a);
  for (int j = 0; j < n; j++) a[j] *= s->s[j];
  memcpy(s->g, f, (size_t)n * sizeof *f);
  cpMatTimes(kkt->M, -1.0, a, 1.0, s->g);
  for (int j = 0; j < n; j++) s->g[j] *= s->s[j];
  reflect(kkt, s, s->V, s->B, s->g);
  return s->g;
}

static int nullspaceSolve(CPKkt kkt, const double *f, const double *b, double *a, double *lambda) {
  Nullspace *s = kkt->content;
  const int n = kkt->n, r = kkt->rank, one = 1;
  double *y = s->x;
  memset(y, 0, (size_t)n * sizeof *y);
  for (int k = 0; k < r; k++) y[k] = b[kkt->row[s->pivot[k]]] * s->scale[s->pivot[k]];
  if (r > 0) F77(dtrsv)("U", "T", "N", &r, s->QR, &n, y, &one); /* y1 */
  const double *z = residual(kkt, s, f, y, a);
  memcpy(y + r, z + r, (size_t)(n - r) * sizeof *y);
  cpCholeskySolve(&s->H, y + r); /* y2 */
  z = residual(kkt, s, f, y, a);
  memcpy(y, z, (size_t)r * sizeof *y);
  if (r > 0) F77(dtrsv)("U", "N", "N", &r, s->QR, &n, y, &one);
  cpNullspaceMultipliers(kkt, y, lambda);
  return 0;
}

const CPKktOps cpKktNullspaceOps = {.name    = "null space",
                                    .type    = CP_KKT_NULLSPACE,
                                    .create  = nullspaceCreate,
                                    .factor  = nullspaceFactor,
                                    .solve   = nullspaceSolve,
                                    .destroy = nullspaceDestroy};
