#include "coupled.h"

#include <cpodes/base/random.h>
#include <cpodes/matrix/lapack.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

/* -------------------------------------------------------------------------------- life cycle -- */

void coupled_free(Coupled **address) {
  Coupled *c = *address;
  if (!c) return;
  double *all[] = {c->M, c->S, c->D, c->B, c->g, c->L, c->work};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) free(all[i]);
  free(c);
  *address = NULL;
}

/* X [n x n] = H diag(d) H, H = I - 2 w w^T / w^T w: with e = d w 2 / w^T w (entry by entry)
 *
 *   diag(d) - w e^T - e w^T + w w^T (e^T w) 2 / w^T w */
static void reflected(int n, const double *w, const double *d, double *e, double *X) {
  double square = 0, product = 0;
  for (int i = 0; i < n; i++) square += w[i] * w[i];
  for (int i = 0; i < n; i++) e[i] = 2 * d[i] * w[i] / square;
  for (int i = 0; i < n; i++) product += 2 * e[i] * w[i] / square;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++)
      X[(size_t)i + (size_t)j * (size_t)n] =
          (i == j ? d[i] : 0) - w[i] * e[j] - e[i] * w[j] + product * w[i] * w[j];
}

static void fill(Coupled *c, double *w, double *e, double *mu, double *kappa, double *delta) {
  const int n   = c->n;
  unsigned seed = 1;
  for (int j = 0; j < n; j++) {
    const double part = (double)j / (n > 1 ? n - 1 : 1);
    mu[j]             = 1 + 2 * part;
    kappa[j]          = pow(1e8, part);
    delta[j]          = 20 * sqrt(kappa[j] * mu[j]);
    w[j]              = cpUniformAwayFromZero(&seed);
    c->g[j]           = 10 * cpUniformAwayFromZero(&seed);
  }
  for (size_t k = 0; k < (size_t)c->m * (size_t)n; k++) c->B[k] = cpUniformAwayFromZero(&seed);
  reflected(n, w, mu, e, c->M);
  reflected(n, w, kappa, e, c->S);
  reflected(n, w, delta, e, c->D);
}

Coupled *coupled_create(int n, int m) {
  const size_t N = (size_t)n, rows = (size_t)m;
  int info   = 0;
  Coupled *c = calloc(1, sizeof *c);
  double *w  = malloc(5 * N * sizeof *w);
  if (!c || !w) goto fail;
  c->n    = n;
  c->m    = m;
  c->M    = malloc(N * N * sizeof(double));
  c->S    = malloc(N * N * sizeof(double));
  c->D    = malloc(N * N * sizeof(double));
  c->L    = malloc(N * N * sizeof(double));
  c->B    = malloc(rows * N * sizeof(double));
  c->g    = malloc(N * sizeof(double));
  c->work = malloc((2 * rows * N + rows * rows + N * N) * sizeof(double));
  if (!c->M || !c->S || !c->D || !c->L || !c->B || !c->g || !c->work) goto fail;
  fill(c, w, w + N, w + 2 * N, w + 3 * N, w + 4 * N);
  memcpy(c->L, c->M, N * N * sizeof(double));
  F77(dpotrf)("L", &n, c->L, &n, &info);
  if (info) goto fail;
  free(w);
  return c;
fail:
  free(w);
  coupled_free(&c);
  return NULL;
}

/* -------------------------------------------------------------------------------- the system -- */

static const double *column(const double *X, int rows, sunindextype j) {
  return X + (size_t)j * (size_t)rows;
}

/* y += alpha X x, X rows x cols */
static void times(const double *X, int rows, int cols, double alpha, const double *x, double *y) {
  for (int j = 0; j < cols; j++)
    for (int i = 0; i < rows; i++) y[i] += alpha * column(X, rows, j)[i] * x[j];
}

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  const Coupled *c = data;
  (void)t, (void)q;
  memcpy(SUNDenseMatrix_Data(M), c->M, (size_t)c->n * (size_t)c->n * sizeof(double));
  return 0;
}

/* Column j of X is factor_j B_j, factor = offset + slope x_j. */
static void scaled_columns(const Coupled *c, double offset, double slope, const double *x,
                           double *X) {
  for (int j = 0; j < c->n; j++)
    for (int i = 0; i < c->m; i++)
      X[(size_t)i + (size_t)j * (size_t)c->m] = (offset + slope * x[j]) * column(c->B, c->m, j)[i];
}

static int constraint_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  (void)t;
  scaled_columns(data, 1, 1, q, SUNDenseMatrix_Data(A));
  return 0;
}

static int forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *data) {
  const Coupled *c = data;
  (void)z;
  for (int i = 0; i < c->n; i++) f[i] = c->g[i] * cos(t);
  times(c->S, c->n, c->n, -1, q, f);
  times(c->D, c->n, c->n, -1, u, f);
  return 0;
}

static int positions(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  const Coupled *c = data;
  (void)t;
  for (int j = 0; j < c->n; j++)
    for (int i = 0; i < c->m; i++) p[i] += column(c->B, c->m, j)[i] * q[j] * (1 + q[j] / 2);
  return 0;
}

static int velocities(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                      void *data) {
  const Coupled *c = data;
  (void)t;
  for (int j = 0; j < c->n; j++)
    for (int i = 0; i < c->m; i++) v[i] += column(c->B, c->m, j)[i] * (1 + q[j]) * u[j];
  return 0;
}

static int accelerations(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                         void *data) {
  const Coupled *c = data;
  (void)t, (void)q;
  for (int j = 0; j < c->n; j++)
    for (int i = 0; i < c->m; i++) b[i] -= column(c->B, c->m, j)[i] * u[j] * u[j];
  return 0;
}

/* ------------------------------------------------------------------------------- derivatives -- */

/* K [n x n], leading dimension ld */
static void stiffness(const Coupled *c, const double *lambda, double *K, size_t ld) {
  for (int j = 0; j < c->n; j++) {
    const double *S = column(c->S, c->n, j), *B = column(c->B, c->m, j);
    for (int i = 0; i < c->n; i++) K[(size_t)j * ld + (size_t)i] = -S[i];
    for (int i = 0; i < c->m; i++) K[(size_t)j * ld + (size_t)j] -= lambda[i] * B[i];
  }
}

static void damping(const Coupled *c, double *C, size_t ld) {
  for (int j = 0; j < c->n; j++)
    for (int i = 0; i < c->n; i++) C[(size_t)j * ld + (size_t)i] = -column(c->D, c->n, j)[i];
}

static int dynamics_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                        SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *data) {
  const Coupled *c = data;
  (void)t, (void)q, (void)u, (void)z, (void)udot, (void)Fz;
  stiffness(c, lambda, SUNDenseMatrix_Data(K), (size_t)c->n);
  damping(c, SUNDenseMatrix_Data(C), (size_t)c->n);
  return 0;
}

static int constraint_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                          const sunrealtype *udot, SUNMatrix Bq, SUNMatrix Bu, void *data) {
  (void)t, (void)q;
  scaled_columns(data, 0, -1, udot, SUNDenseMatrix_Data(Bq));
  scaled_columns(data, 0, -2, u, SUNDenseMatrix_Data(Bu));
  return 0;
}

CPEquations coupled_model(const Coupled *c) {
  return (CPEquations){CP_SIZED(CPEquations),
                       .nu             = c->n,
                       .np             = c->m,
                       .M              = mass,
                       .A              = constraint_matrix,
                       .f              = forces,
                       .p              = positions,
                       .v              = velocities,
                       .b              = accelerations,
                       .dynamics_jac   = dynamics_jac,
                       .constraint_jac = constraint_jac};
}

/* ------------------------------------------------------------------------------ the full J -- */

/* X [n x n, leading dimension ld]: K or C on input, du'/dx on output. G = M^-1 A^T [n x m], U:
 * Cholesky factor of A G [m x m]; Y [m x n]: Bx on input, then work. */
static void project(const Coupled *c, const double *A, const double *G, const double *U, double *Y,
                    double *X, int ld) {
  const double one = 1, minus = -1;
  const int n = c->n, m = c->m;
  F77(dtrsm)("L", "L", "N", "N", &n, &n, &one, c->L, &n, X, &ld);
  F77(dtrsm)("L", "L", "T", "N", &n, &n, &one, c->L, &n, X, &ld);       /* X = M^-1 K          */
  F77(dgemm)("N", "N", &m, &n, &n, &one, A, &m, X, &ld, &minus, Y, &m); /* Y = A X - Bx        */
  F77(dtrsm)("L", "U", "T", "N", &m, &n, &one, U, &m, Y, &m);
  F77(dtrsm)("L", "U", "N", "N", &m, &n, &one, U, &m, Y, &m);           /* Y = (A G)^-1 Y      */
  F77(dgemm)("N", "N", &n, &n, &m, &minus, G, &n, Y, &m, &one, X, &ld); /* X = X - G Y         */
}

int coupled_jacobian(Coupled *c, N_Vector y, const double *udot, const double *lambda, SUNMatrix J) {
  const size_t N = (size_t)c->n, rows = (size_t)c->m;
  const double *q = N_VGetArrayPointer(y), *u = q + N;
  double *A = c->work, *G = A + rows * N, *U = G + rows * N, *Y = U + rows * rows;
  /* du'/dq; du'/du is n columns further to the right */
  double *block    = SUNDenseMatrix_Data(J) + N;
  const double one = 1, zero = 0;
  const int n = c->n, m = c->m, ld = 2 * n;
  int info = 0;
  scaled_columns(c, 1, 1, q, A);
  for (size_t j = 0; j < N; j++)
    for (size_t i = 0; i < rows; i++) G[j + i * N] = A[i + j * rows];
  F77(dtrsm)("L", "L", "N", "N", &n, &m, &one, c->L, &n, G, &n);
  F77(dtrsm)("L", "L", "T", "N", &n, &m, &one, c->L, &n, G, &n);
  F77(dgemm)("N", "N", &m, &m, &n, &one, A, &m, G, &n, &zero, U, &m);
  F77(dpotrf)("U", &m, U, &m, &info);
  if (info) return 1;
  SUNMatZero(J);
  for (size_t j = 0; j < N; j++) SM_ELEMENT_D(J, j, j + N) = 1;
  stiffness(c, lambda, block, 2 * N);
  scaled_columns(c, 0, -1, udot, Y);
  project(c, A, G, U, Y, block, ld);
  damping(c, block + 2 * N * N, 2 * N);
  scaled_columns(c, 0, -2, u, Y);
  project(c, A, G, U, Y, block + 2 * N * N, ld);
  return 0;
}
