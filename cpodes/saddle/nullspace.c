/* Null-space method by QR with column pivoting. In coordinates x / s, s_j = 1 /
 * sqrt(w_jj), in which W has unit diagonal,
 *
 *   A^T D Pi = Q [R11 R12; 0 ~0],   D: unit columns,   Q = [Q1 Q2],   A Q2 = 0
 *
 *   R11^T y1 = (Pi^T D b)_1,   (Q2^T W Q2) y2 = Q2^T (f - W Q1 y1),   x = Q1 y1 + Q2 y2
 *   R11 (Pi^T D^{-1} mu)_1 = Q1^T (f - W x)
 *
 * The shortest mu is this one minus its part in the null space of A^T.
 *
 * If W is factored (weight.c, W^{-1} = F F^T: W is diagonal, or must be definite), the coordinates
 * are F^{-1} x instead, in which W is I; S below then stands for F.
 *
 * Only the first reflectors of Q are used, as many as the rank, in compact form (Schreiber, Van
 * Loan, SIAM J. Sci. Stat. Comput. 10, 1989): Q = I - V T V^T = I - B V^T, with T^{-1} + T^{-T} =
 * V^T V (Puglisi, same journal 13, 1992). */
#include "saddle_impl.h"

#include <math.h>
#include <string.h>

/* r: rank, p: rows in use */
typedef struct {
  double *QR;     /* n x p: reflectors and R */
  double *V, *B;  /* n x r */
  double *T;      /* r x r: T^{-1}, upper triangle */
  double *tau;    /* [p] */
  double *scale;  /* [p] diagonal of D */
  double *length; /* [p] lengths of the columns of A^T D */
  double *s;      /* [n] scales of the coordinates: diagonal of S */
  int *pivot;     /* [p] column k of A^T D Pi is row pivot[k] of the rows in use */
  /* p x (p - r): orthonormal basis of the null space of A^T, for the shortest mu */
  double *N;
  double *work; /* [lwork] */
  int lwork;
  double *y, *g, *w; /* [max(n, m)], [n], [m] */
  double *x;         /* [n] */
  int has_factors;   /* 1: W is factored, and I in the coordinates */
  CPWeightFactors W;
  /* if has_factors is 0: */
  double *SB, *Y; /* n x r: S B; S W S B, then Y */
  double *Z;      /* r x r: B^T (S W S B) */
  CPCholesky H;   /* Q2^T S W S Q2 */
} Nullspace;

/* Largest block of columns in LAPACK's routines. They fail for illegal arguments only, so their
 * info is not checked. */
#define BLOCK 64

static int create(CPSaddle s) {
  CPArena *arena = &s->used.arena;
  const size_t n = (size_t)s->n, m = (size_t)s->m, longest = n > m ? n : m;
  Nullspace *c;
  s->used.content = CP_NEW(arena, c, 1);
  if (!c) return CP_MEM_FAIL;
  c->lwork = 2 * s->m + (s->m + 1) * BLOCK; /* dgeqp3 needs the most */
  CP_ARRAYS(arena, n * m, &c->QR, &c->V, &c->B);
  CP_NEW(arena, c->T, m * m);
  CP_ARRAYS(arena, m, &c->tau, &c->scale, &c->length, &c->w);
  CP_ARRAYS(arena, n, &c->s, &c->g, &c->x);
  CP_NEW(arena, c->pivot, m);
  CP_NEW(arena, c->N, s->options.shortest ? m * m : 0);
  CP_NEW(arena, c->work, c->lwork);
  CP_NEW(arena, c->y, longest);
  c->has_factors = !s->has_matrix || s->options.definite;
  if (c->has_factors) return cpWeightCreate(&c->W, s);
  CP_ARRAYS(arena, n * m, &c->SB, &c->Y);
  CP_NEW(arena, c->Z, m * m);
  return cpCholeskyCreate(&c->H, arena, s->n);
}

/* ---- Q ---- */

/* x <- S^T x */
static void scaleForward(const Nullspace *c, double *x, int n) {
  if (c->has_factors) cpWeightForward(&c->W, x);
  else
    for (int j = 0; j < n; j++) x[j] *= c->s[j];
}

/* For accelerations, later columns are shorter, by at most this part, so that roundoff does not choose
 * between rows of equal angles. Off the manifold accelerations depend on the choice: explicit methods
 * lost their order where it changed from stage to stage. */
#define LATER 0.1

/* If entries cancel, rows below this part of the longest one come after others on which they may depend: in coordinates of joints the
 * gradient of a row of a closed loop passes through zero as the loop turns, and its roundoff, that of the poses, does not. What is left of
 * the digits is more than half of them. That part is the sine of the angle between the row and those of the joints of the tree: rows below the
 * finest one depend on these. */
static const double SHORT = 0x1p-6;

/* A^T D Pi = Q R for the rows in these coordinates; rows of zeros are not scaled. |R_kk| over the length of column k, 1 or a little less,
 * but for short rows, is the sine of its angle to the columns before it. If it is
 * known which rows are independent, their columns come first. */
static void factorRows(CPSaddle s, Nullspace *c) {
  const int n = s->n, m = s->nrows, kmax = m < n ? m : n;
  const double later = s->options.shortest ? LATER / m : 0.0;
  double longest     = 0.0;
  int info = 0, k = 0;
  cpSaddleGather(s, c->QR, (size_t)n, 1);
  for (int i = 0; i < m; i++) {
    double *row = c->QR + (size_t)i * (size_t)n, sum = 0.0;
    scaleForward(c, row, n);
    const double largest = cpLargest(row, n);
    for (int j = 0; j < n && largest > 0.0; j++) sum += (row[j] / largest) * (row[j] / largest);
    c->length[i] = largest * sqrt(sum);
    longest      = fmax(longest, c->length[i]);
  }
  for (int i = 0; i < m; i++) {
    double *row = c->QR + (size_t)i * (size_t)n;
    const double part =
        s->options.cancels ? fmin(1.0, fmax(c->length[i] / (SHORT * longest), SHORT)) : 1.0;
    if (s->options.cancels && c->length[i] <= s->options.finest * longest) {
      memset(row, 0, (size_t)n * sizeof *row);
      c->length[i] = 0.0;
    }
    c->scale[i] = c->length[i] > 0.0 ? (1.0 - later * i) * part / c->length[i] : 1.0;
    for (int j = 0; j < n; j++) row[j] *= c->scale[i];
    c->length[i] *= c->scale[i];
  }
  for (int i = 0; i < m; i++) c->pivot[i] = s->is_judged && !s->is_dependent[s->row[i]];
  F77(dgeqp3)(&n, &m, c->QR, &n, c->pivot, c->tau, c->work, &c->lwork, &info);
  for (int i = 0; i < m; i++) c->pivot[i]--; /* LAPACK counts from 1 */
  for (const int most = s->is_judged ? s->rank : kmax; k < most; k++) {
    const double sine = fabs(c->QR[(size_t)k * (size_t)(n + 1)]) / c->length[c->pivot[k]];
    if (!(sine > s->ranktol)) break;
    s->sine = fmin(s->sine, sine);
  }
  for (int i = k; i < m; i++)
    if (!s->is_dependent[s->row[c->pivot[i]]]) cpSaddleMarkDependent(s, s->row[c->pivot[i]]);
}

/* Forms V, T^{-1} and B = V T. A reflector that is I (tau = 0) gets v = 0. */
static void formReflectors(const CPSaddle s, Nullspace *c) {
  const int n = s->n, r = s->rank;
  const double one = 1.0, zero = 0.0;
  for (int k = 0; k < r; k++) {
    double *v = c->V + (size_t)k * (size_t)n;
    memcpy(v, c->QR + (size_t)k * (size_t)n, (size_t)n * sizeof *v);
    for (int i = 0; i < k; i++) v[i] = 0.0;
    v[k] = 1.0;
    if (c->tau[k] == 0.0) memset(v, 0, (size_t)n * sizeof *v);
  }
  F77(dsyrk)("U", "T", &r, &n, &one, c->V, &n, &zero, c->T, &r); /* T^-1 + T^-T = V'V */
  for (int k = 0; k < r; k++)
    c->T[(size_t)k * (size_t)(r + 1)] = c->tau[k] == 0.0 ? 1.0 : 1.0 / c->tau[k];
  memcpy(c->B, c->V, (size_t)n * (size_t)r * sizeof *c->B);
  F77(dtrsm)("R", "U", "N", "N", &n, &r, &one, c->T, &r, c->B, &n); /* B = V T */
}

/* x <- x - X (Y^T x), X and Y [n x rank]: Q x with X = B, Y = V, and Q^T x with X = V, Y = B. */
static void reflect(const CPSaddle s, Nullspace *c, double *X, double *Y, double *x) {
  cpMatTransposedTimes(&(CPMat){.rows = s->n, .cols = s->rank, .value = Y}, 1.0, x, 0.0, c->w);
  cpMatTimes(&(CPMat){.rows = s->n, .cols = s->rank, .value = X}, -1.0, c->w, 1.0, x);
}

/* ---- W on the null space ---- */

/* Forms the upper triangle of H = Q2^T W Q2, the last rows and columns of Q^T W Q, by a symmetric
 * update, where W stands for S W S:
 *
 *   Q^T W Q = W - Y V^T - V Y^T,   Y = W B - 1/2 V (B^T W B) */
static void projectWeight(const CPSaddle s, Nullspace *c) {
  const int n = s->n, r = s->rank, nh = c->H.n;
  const double one = 1.0, zero = 0.0, minus = -1.0, half = -0.5;
  cpWeightBlockGather(&s->M, r, nh, c->H.U);
  for (int k = 0; k < nh; k++) {
    double *column = c->H.U + (size_t)k * (size_t)nh;
    for (int i = 0; i <= k; i++) column[i] *= c->s[r + i] * c->s[r + k];
    c->H.d[k] = 1.0; /* all entries carry roundoff of order u */
  }
  if (r == 0 || nh == 0) return;
  const size_t entries = (size_t)n * (size_t)r;
  for (size_t k = 0; k < entries; k++) c->SB[k] = c->s[k % (size_t)n] * c->B[k];
  /* OpenBLAS wakes its threads in dsymm and dsyr2k whatever the size, and they go on spinning. */
  const int is_small = n <= CP_SMALL, by_columns = is_small || s->M.start;
  if (!by_columns) F77(dsymm)("L", "U", &n, &r, &one, s->M.value, &n, c->SB, &n, &zero, c->Y, &n);
  for (size_t k = 0; by_columns && k < (size_t)r; k++)
    cpMatTimes(&s->M, 1.0, c->SB + k * (size_t)n, 0.0, c->Y + k * (size_t)n);
  for (size_t k = 0; k < entries; k++) c->Y[k] *= c->s[k % (size_t)n]; /* S W S B */
  F77(dgemm)("T", "N", &r, &r, &n, &one, c->B, &n, c->Y, &n, &zero, c->Z, &r);
  F77(dgemm)("N", "N", &nh, &r, &r, &half, c->V + r, &n, c->Z, &r, &one, c->Y + r, &n);
  if (is_small) {
    for (int k = 0; k < r; k++) {
      const double *y = c->Y + r + (size_t)k * (size_t)n, *v = c->V + r + (size_t)k * (size_t)n;
      for (int j = 0; j < nh; j++)
        for (int i = 0; i <= j; i++) c->H.U[i + j * nh] -= y[i] * v[j] + v[i] * y[j];
    }
  } else F77(dsyr2k)("U", "N", &nh, &r, &minus, c->Y + r, &n, c->V + r, &n, &one, c->H.U, &nh);
}

/* ---- dependent rows ---- */

/* In the order of the pivots, the multipliers that change no force are D Pi [-R11^{-1} R12; I] w; N
 * becomes an orthonormal basis of them. Its rows have the scales of the multipliers; unit columns
 * would not improve its QR factors. */
static void formDependent(const CPSaddle s, Nullspace *c) {
  const double one = 1.0;
  const int n = s->n, p = s->nrows, r = s->rank, d = p - r;
  int info = 0;
  for (int k = 0; k < d; k++) { /* [R12; -I] */
    double *column = c->N + (size_t)k * (size_t)p;
    memset(column, 0, (size_t)p * sizeof *column);
    memcpy(column, c->QR + (size_t)(k + r) * (size_t)n, (size_t)r * sizeof *column);
    column[r + k] = -1.0;
  }
  if (r > 0) F77(dtrsm)("L", "U", "N", "N", &r, &d, &one, c->QR, &n, c->N, &p);
  for (int k = 0; k < d; k++)
    for (int i = 0; i < p; i++) c->N[(size_t)k * (size_t)p + (size_t)i] *= c->scale[c->pivot[i]];
  F77(dgeqrf)(&p, &d, c->N, &p, c->tau, c->work, &c->lwork, &info);
  F77(dorgqr)(&p, &d, &d, c->N, &p, c->tau, c->work, &c->lwork, &info);
}

static int factor(CPSaddle s) {
  Nullspace *c = s->used.content;
  int flag     = c->has_factors ? cpWeightFactor(&c->W, s) : 0;
  if (!c->has_factors) cpSaddleScaleCoordinates(s, c->s);
  if (flag) return flag;
  if (s->nrows > 0) factorRows(s, c);
  if (s->rank > 0) formReflectors(s, c);
  if (!c->has_factors) {
    c->H.n = s->n - s->rank;
    projectWeight(s, c);
    if (cpCholeskyFactor(&c->H, CP_CHOLESKY_LEAST)) return CP_SADDLE_NOT_DEFINITE;
  }
  if (s->options.shortest && s->rank < s->nrows) formDependent(s, c);
  return 0;
}

/* ---- solution ---- */

/* x = S Q y */
static void unproject(const CPSaddle s, Nullspace *c, const double *y, double *x) {
  memcpy(x, y, (size_t)s->n * sizeof *x);
  reflect(s, c, c->B, c->V, x);
  if (c->has_factors) cpWeightBackward(&c->W, x);
  else scaleForward(c, x, s->n); /* S is diagonal */
}

/* g = Q^T S^T (f - W x); f and x are zero if NULL */
static void residual(const CPSaddle s, Nullspace *c, const double *f, const double *x) {
  for (int j = 0; j < s->n; j++) c->g[j] = f ? f[j] : 0.0;
  if (x) cpMatTimes(&s->M, -1.0, x, 1.0, c->g);
  scaleForward(c, c->g, s->n);
  if (f || x) reflect(s, c, c->V, c->B, c->g);
}

static int solve(CPSaddle s, const double *f, const double *b, double *x, double *mu) {
  Nullspace *c = s->used.content;
  const int n = s->n, r = s->rank, p = s->nrows, one = 1, matrix = !c->has_factors;
  double *y = c->y, *z = x ? x : c->x;
  memset(y, 0, (size_t)n * sizeof *y);
  for (int k = 0; b && k < r; k++) y[k] = b[s->row[c->pivot[k]]] * c->scale[c->pivot[k]];
  if (b && r > 0) F77(dtrsv)("U", "T", "N", &r, c->QR, &n, y, &one); /* y1 */
  if (b && matrix) unproject(s, c, y, z);                            /* x  = S Q1 y1 */
  residual(s, c, f, b && matrix ? z : NULL);                         /* g  = Q^T S (f - W x) */
  memcpy(y + r, c->g + r, (size_t)(n - r) * sizeof *y);
  if (matrix) cpCholeskySolve(&c->H, y + r); /* y2 = H^-1 g2 */
  if (x || matrix) unproject(s, c, y, z);    /* x  = S Q y */
  if (!mu) return 0;
  if (matrix) residual(s, c, f, z);
  for (int k = 0; k < r; k++) y[k] = c->g[k] - (matrix ? 0.0 : y[k]); /* Q1^T S (f - W x) */
  if (r > 0) F77(dtrsv)("U", "N", "N", &r, c->QR, &n, y, &one);
  for (int k = 0; k < p; k++) y[k] = k < r ? y[k] * c->scale[c->pivot[k]] : 0.0;
  if (r < p && s->options.shortest) { /* y -= N N^T y */
    const CPMat N = {.rows = p, .cols = p - r, .value = c->N};
    cpMatTransposedTimes(&N, 1.0, y, 0.0, c->w);
    cpMatTimes(&N, -1.0, c->w, 1.0, y);
  }
  for (int k = 0; k < p; k++) mu[s->row[c->pivot[k]]] = y[k];
  return 0;
}

const CPSaddleOps cpSaddleNullspaceOps = {create, factor, solve, NULL, NULL};
