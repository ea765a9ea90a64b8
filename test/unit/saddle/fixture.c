#include "saddle/fixture.h"

#include <check.h>
#include <math.h>
#include <string.h>

#include "support/support.h"

void dgelsd_(const int *m, const int *n, const int *nrhs, double *a, const int *lda, double *b,
             const int *ldb, double *s, const double *rcond, int *rank, double *work,
             const int *lwork, int *iwork, int *info);

enum { ORDER = KKT_N + KKT_M, LWORK = 60 * ORDER + ORDER * ORDER };

double kkt_norm(const double *v, int length) {
  double sum = 0.0;
  for (int i = 0; i < length; i++) sum += v[i] * v[i];
  return sqrt(sum);
}

double kkt_distance(const double *v, const double *w, int length) {
  double sum = 0.0;
  for (int i = 0; i < length; i++) sum += (v[i] - w[i]) * (v[i] - w[i]);
  return sqrt(sum);
}

/* ---- reference ---- */

/* Least squares A x = b, rows x cols; A and b are destroyed: x in b of length max(rows, cols);
 * singular values descending. Returns their number above rcond times the largest. */
static int least_squares(double *A, int rows, int cols, double *b, double rcond, double *singular) {
  static double work[LWORK];
  static int iwork[40 * ORDER];
  const int one = 1, lwork = LWORK, ldb = rows > cols ? rows : cols;
  int rank, info;
  dgelsd_(&rows, &cols, &one, A, &rows, b, &ldb, singular, &rcond, &rank, work, &lwork, iwork,
          &info);
  ck_assert_int_eq(info, 0);
  return rank;
}

double kkt_reference(const KktProblem *p, double *a, double *lambda) {
  static double K[ORDER * ORDER], x[ORDER], singular[ORDER];
  const int n = p->n, m = p->m, order = n + m;
  memset(K, 0, sizeof K);
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < n; i++) K[i + j * order] = p->M[i + j * n];
    for (int i = 0; i < m; i++)
      K[n + i + j * order] = K[j + (n + i) * order] = p->off[i] ? 0.0 : p->A[i + j * m];
    x[j] = p->f[j];
  }
  for (int i = 0; i < m; i++) x[n + i] = p->off[i] ? 0.0 : p->b[i];
  const int rank = least_squares(K, order, order, x, 1.0e-11, singular);
  memcpy(a, x, (size_t)n * sizeof *a);
  memcpy(lambda, x + n, (size_t)m * sizeof *lambda);
  return singular[0] / singular[rank - 1];
}

int kkt_rank(const KktProblem *p, const char *which) {
  static double R[KKT_M * KKT_N], x[ORDER], singular[ORDER];
  int rank = 0;
  memset(R, 0, sizeof R);
  for (int i = 0; i < p->m; i++) {
    double square = 0.0;
    for (int j = 0; j < p->n; j++) square += p->A[i + j * p->m] * p->A[i + j * p->m];
    for (int j = 0; which[i] && square > 0.0 && j < p->n; j++)
      R[i + j * p->m] = p->A[i + j * p->m] / sqrt(square);
  }
  memset(x, 0, sizeof x);
  least_squares(R, p->m, p->n, x, 0.0, singular);
  while (rank < p->m && rank < p->n && singular[rank] > 1.0e-9) rank++;
  return rank;
}

/* ---- A ---- */

static unsigned long long state;

static double uniform(double from, double to) {
  return from + 0.5 * (random_number(&state) + 1.0) * (to - from);
}

static int below(int count) { return (int)uniform(0.0, count - 1.0e-9); }

/* Row i gets 4 at coordinate i, among entries up to 1, so that the rows are well separated. */
static void make_rows(KktProblem *p, const KktCase *c) {
  const int m = p->m, r = c->independent;
  memset(p->A, 0, sizeof p->A);
  for (int i = 0; i < r; i++)
    for (int j = 0; j < p->n; j++) {
      const double entry = random_number(&state);
      p->A[i + j * m]    = (uniform(0.0, 1.0) < c->density ? entry : 0.0) + (i == j ? 4.0 : 0.0);
    }
  for (int i = r; i < r + c->combined + c->doubled; i++) {
    const int parts = i < r + c->combined ? 3 : 1;
    for (int k = 0; k < parts; k++) {
      const int other     = below(r);
      const double factor = uniform(0.5, 2.0);
      for (int j = 0; j < p->n; j++) p->A[i + j * m] += factor * p->A[other + j * m];
    }
  }
  for (int i = 0; i < m; i++) {
    const double length = pow(10.0, uniform(-c->spread, c->spread));
    for (int j = 0; j < p->n; j++) p->A[i + j * m] *= length;
  }
}

static void mix_rows(KktProblem *p) {
  for (int i = 1; i < p->m; i++) {
    const int k = 1 + below(i);
    for (int j = 0; j < p->n; j++) {
      const double entry = p->A[i + j * p->m];
      p->A[i + j * p->m] = p->A[k + j * p->m];
      p->A[k + j * p->m] = entry;
    }
  }
}

/* ---- M ---- */

/* S = 1/2 I + R R' scaled to row sums up to 4.5 */
static void make_full(KktProblem *p, int block) {
  const int n = p->n;
  static double R[KKT_N * KKT_N];
  double largest = 0.0;
  for (int k = 0; k < n * n; k++) R[k] = random_number(&state);
  memset(p->M, 0, sizeof p->M);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++)
      for (int k = 0; i / block == j / block && k < n; k++)
        if (k / block == i / block) p->M[i + j * n] += R[i + k * n] * R[j + k * n];
  for (int j = 0; j < n; j++) {
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += fabs(p->M[i + j * n]);
    largest = fmax(largest, sum);
  }
  for (int k = 0; k < n * n; k++) p->M[k] *= 4.5 / largest;
  for (int j = 0; j < n; j++) p->M[j + j * n] += 0.5;
}

static void make_diagonal(KktProblem *p) {
  memset(p->M, 0, sizeof p->M);
  for (int j = 0; j < p->n; j++) p->M[j + j * p->n] = uniform(0.5, 5.0);
}

/* x = 0 on the range of A': a random vector minus its projection. */
static void tangent(const KktProblem *p, double *x) {
  static double T[KKT_N * KKT_M], y[ORDER], singular[ORDER];
  const int n = p->n, m = p->m;
  for (int j = 0; j < n; j++) x[j] = y[j] = random_number(&state);
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) T[j + i * n] = p->A[i + j * m];
  least_squares(T, n, m, y, 1.0e-11, singular);
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) x[j] -= p->A[i + j * m] * y[i];
}

/* M -= factor u u' / (u' S^-1 u), symmetric to the last bit */
static void subtract(KktProblem *p, const double *u, double product, double factor) {
  for (int j = 0; j < p->n; j++)
    for (int i = 0; i < p->n; i++) p->M[i + j * p->n] -= factor / product * (u[i] * u[j]);
}

static void make_mass(KktProblem *p, Mass mass) {
  static double S[KKT_N * KKT_N], u[ORDER], y[ORDER], singular[ORDER];
  const int n    = p->n;
  double product = 0.0;
  if (mass == MASS_DIAGONAL || mass == MASS_MASSLESS) make_diagonal(p);
  else make_full(p, mass == MASS_BLOCKS ? 3 : n);
  memcpy(S, p->M, sizeof S);
  if (mass == MASS_MASSLESS) p->M[0] = 0.0;
  if (mass == MASS_SINGULAR || mass == MASS_INDEFINITE) { /* u = v, y = S^-1 v */
    for (int j = 0; j < n; j++) u[j] = y[j] = p->A[j * p->m];
    least_squares(S, n, n, y, 1.0e-11, singular);
  } else { /* y = x, u = S x */
    tangent(p, y);
    for (int i = 0; i < n; i++) {
      u[i] = 0.0;
      for (int j = 0; j < n; j++) u[i] += S[i + j * n] * y[j];
    }
  }
  for (int j = 0; j < n; j++) product += u[j] * y[j];
  static const double factors[] = {[MASS_SINGULAR]           = 1.0,
                                   [MASS_INDEFINITE]         = 2.0,
                                   [MASS_BARELY_DEFINITE]    = 0.999,
                                   [MASS_SINGULAR_TANGENT]   = 1.0,
                                   [MASS_BARELY_INDEFINITE]  = 1.001,
                                   [MASS_INDEFINITE_TANGENT] = 2.0};
  if (mass >= MASS_SINGULAR) subtract(p, u, product, factors[mass]);
}

/* ---- the problem ---- */

static void compress(CPMat *S, const double *D, int rows, int cols) {
  size_t count = 0;
  for (int k = 0; k < rows * cols; k++) count += D[k] != 0.0;
  ck_assert_int_eq(cpMatCreateSparse(S, rows, cols, count), CP_SUCCESS);
  count = 0;
  for (int j = 0; j < cols; j++) {
    for (int i = 0; i < rows; i++)
      if (D[i + j * rows] != 0.0) S->row[count++] = i;
    S->start[j + 1] = count;
  }
}

static void take_values(CPMat *S, const double *D) {
  for (int j = 0; j < S->cols; j++)
    for (size_t e = S->start[j]; e < S->start[j + 1]; e++) S->value[e] = D[S->row[e] + j * S->rows];
}

void kkt_refresh(KktProblem *p) {
  const int n = p->n, m = p->m;
  take_values(&p->Ms, p->M);
  take_values(&p->As, p->A);
  memset(p->f, 0, sizeof p->f);
  memset(p->b, 0, sizeof p->b);
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < n; i++) p->f[i] += p->M[i + j * n] * p->a0[j];
    for (int i = 0; i < m; i++) {
      p->f[j] += p->off[i] ? 0.0 : p->A[i + j * m] * p->lambda0[i];
      p->b[i] += p->A[i + j * m] * p->a0[j];
    }
  }
}

/* Also after changes of zeros. */
static void rebuild(KktProblem *p) {
  kkt_free(p);
  p->Md = (CPMat){.rows = p->n, .cols = p->n, .value = p->M};
  p->Ad = (CPMat){.rows = p->m, .cols = p->n, .value = p->A};
  compress(&p->Ms, p->M, p->n, p->n);
  compress(&p->As, p->A, p->m, p->n);
  kkt_refresh(p);
}

void kkt_make(KktProblem *p, const KktCase *c, unsigned long long seed) {
  memset(p, 0, sizeof *p);
  state   = 1000 * seed + 17;
  p->n    = c->n;
  p->m    = c->independent + c->combined + c->doubled + c->zero;
  p->rank = c->independent;
  ck_assert(p->n <= KKT_N && p->m <= KKT_M);
  make_rows(p, c);
  mix_rows(p);
  make_mass(p, c->mass);
  for (int j = 0; j < p->n; j++) p->a0[j] = random_number(&state);
  for (int i = 0; i < p->m; i++) p->lambda0[i] = random_number(&state);
  rebuild(p);
}

void kkt_free(KktProblem *p) {
  cpMatFree(&p->Ms);
  cpMatFree(&p->As);
}

/* ---- angles ---- */

static double product(const double *v, const double *w, int length) {
  double sum = 0.0;
  for (int j = 0; j < length; j++) sum += v[j] * w[j];
  return sum;
}

/* Row i of A = c v + t w */
static void set_row(KktProblem *p, int i, double c, const double *v, double t, const double *w) {
  for (int j = 0; j < p->n; j++) p->A[i + j * p->m] = c * v[j] + t * w[j];
}

/* A unit vector, orthogonal to the first `count` vectors of Q. */
static void next_direction(double Q[][KKT_N], int count, int n) {
  for (int j = 0; j < n; j++) Q[count][j] = random_number(&state);
  for (int pass = 0; pass < 2; pass++)
    for (int l = 0; l < count; l++) {
      const double part = product(Q[l], Q[count], n);
      for (int j = 0; j < n; j++) Q[count][j] -= part * Q[l][j];
    }
  const double length = kkt_norm(Q[count], n);
  for (int j = 0; j < n; j++) Q[count][j] /= length;
}

void kkt_nest(KktProblem *p, int dependent, unsigned long long seed) {
  static double Q[KKT_M][KKT_N], v[KKT_N];
  state   = 1000 * seed + 29;
  p->rank = p->m - dependent;
  for (int k = 0; k < p->m; k++) {
    const int known = k < p->rank ? k : p->rank;
    memset(v, 0, sizeof v);
    for (int l = 0; l < known; l++) {
      const double part = random_number(&state);
      for (int j = 0; j < p->n; j++) v[j] += part * Q[l][j];
    }
    const double length = kkt_norm(v, p->n), sine = k > 0 ? pow(10.0, uniform(-2.0, 0.0)) : 1.0;
    if (k < p->rank) next_direction(Q, k, p->n);
    set_row(p, k, length > 0.0 ? 1.0 / length : 0.0, v, k < p->rank ? sine : 0.0,
            Q[k < p->rank ? k : 0]);
  }
  mix_rows(p);
  rebuild(p);
}

void kkt_narrow(KktProblem *p, double sine) {
  static double Q[2][KKT_N];
  next_direction(Q, 0, p->n);
  next_direction(Q, 1, p->n);
  set_row(p, 0, 1.0, Q[0], 0.0, Q[1]);
  set_row(p, 1, sqrt(1.0 - sine * sine), Q[0], sine, Q[1]);
  rebuild(p);
}
