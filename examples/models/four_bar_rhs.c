#include "four_bar.h"

#include <math.h>
#include <stdlib.h>

void dgelsy_(const int *m, const int *n, const int *nrhs, double *a, const int *lda, double *b,
             const int *ldb, int *jpvt, const double *rcond, int *rank, double *work,
             const int *lwork, int *info);

#define INERTIA (1 / SUN_RCONST(12.0)) /* of a rod about its centre [kg m^2] */
#define THIRD   (1 / SUN_RCONST(3.0))  /* of a rod about its end [kg m^2] */

/* ----------------------------------------------------------------------------- accelerations -- */

/* The accelerations a of the centres follow from alpha = phi'' of the rods if all joints except B_k on h_k
   are satisfied. With omega = phi', e = (cos phi, sin phi), n = (-sin phi, cos phi), and v and h the rods
   that meet in B_{k-1}:

     a_v = (alpha_v n_v - omega_v^2 e_v) / 2
     a_h = alpha_v n_v - omega_v^2 e_v + (alpha_h n_h - omega_h^2 e_h) / 2

   Gauss' function, the sum over the rods of |a - (0, -g)|^2 / 2 + alpha^2 / 24, is then

     (w - w_0)^T H (w - w_0) / 2 + const,   w = (alpha),   H w_0 = b

   H = L L^T has blocks of two, for (v_{k-1}, h_k), and the last rod's. It is to be minimised subject
   to the loop closures R w = rho: where h = h_k meets the rod v_k, here z,

     alpha_v n_v + alpha_h n_h - alpha_z n_z = omega_v^2 e_v + omega_h^2 e_h - omega_z^2 e_z

   In x = L^T w that is the point of R L^-T x = rho nearest to x_0 = L^-1 b. */

typedef struct {
  sunrealtype e[2], n[2];
  sunrealtype rate2; /* omega^2 */
} Direction;

static Direction direction(const FourBar *f, const sunrealtype *y, sunindextype rod) {
  const sunrealtype phi = y[3 * rod + 2], phi_d = y[four_bar_n(f->N) / 2 + 3 * rod + 2];
  const sunrealtype c = cos(phi), s = sin(phi);
  return (Direction){.e = {c, s}, .n = {-s, c}, .rate2 = phi_d * phi_d};
}

static sunrealtype dot2(const sunrealtype a[2], const sunrealtype b[2]) {
  return a[0] * b[0] + a[1] * b[1];
}

/* Factor L = (l11, l21, l22) of the block (v_{k-1}, h_k) of H, and L^-1 b */
static void mass_block(sunrealtype g, const Direction *v, const Direction *h, sunrealtype L[3],
                       sunrealtype x[2]) {
  sunrealtype force[2]; /* on h, with the centrifugal ones */
  for (int k = 0; k < 2; k++) force[k] = (k ? -g : 0) + v->rate2 * v->e[k] + h->rate2 * h->e[k] / 2;

  L[0] = sqrt(THIRD + 1);
  L[1] = dot2(v->n, h->n) / 2 / L[0];
  L[2] = sqrt(THIRD - L[1] * L[1]);
  x[0] = (-g * v->n[1] / 2 + dot2(v->n, force)) / L[0];
  x[1] = (dot2(h->n, force) / 2 - L[1] * x[0]) / L[2];
}

/* Rows 2 (k - 1) and the next of rho - R w */
static void closure(const FourBar *f, const sunrealtype *y, int k, const sunrealtype *w,
                    sunrealtype rho[2]) {
  const int sign[3] = {1, 1, -1}; /* of v_{k-1}, h_k and v_k */
  rho[0] = rho[1] = 0;
  for (int i = 0; i < 3; i++) {
    const sunindextype rod = 2 * (k - 1) + i;
    const Direction d      = direction(f, y, rod);
    for (int j = 0; j < 2; j++) rho[j] += sign[i] * (d.rate2 * d.e[j] - w[rod] * d.n[j]);
  }
}

/* x <- L^-T x */
static void to_angles(const FourBar *f, sunrealtype *x) {
  for (int k = 0; k < f->N; k++) {
    const sunrealtype *L = f->chol + 3 * k;
    x[2 * k + 1] /= L[2];
    x[2 * k] = (x[2 * k] - L[1] * x[2 * k + 1]) / L[0];
  }
  x[2 * f->N] /= sqrt(THIRD);
}

/* f->R <- R L^-T, f->acc <- L^-1 b, f->chol <- L */
static void assemble(FourBar *f, const sunrealtype *y) {
  const int N = f->N, ld = 2 * N;
  for (int i = 0; i < ld * (ld + 1); i++) f->R[i] = 0;

  for (int k = 1; k <= N; k++) {
    const Direction v = direction(f, y, 2 * k - 2), h = direction(f, y, 2 * k - 1);
    sunrealtype *L = f->chol + 3 * (k - 1);
    mass_block(f->g, &v, &h, L, f->acc + 2 * k - 2);
    for (int j = 0; j < 2; j++) { /* v_{k-1} closes loop k - 1 on the right, h_k and it loop k */
      sunrealtype *row = f->R + 2 * (k - 1) + j, *col_v = row + (2 * k - 2) * ld;
      col_v[0]  = v.n[j] / L[0];
      col_v[ld] = (h.n[j] - L[1] * col_v[0]) / L[2];
      if (k == 1) continue;
      col_v[-2]     = -v.n[j] / L[0];
      col_v[ld - 2] = -L[1] * col_v[-2] / L[2];
    }
  }
  const Direction last = direction(f, y, 2 * N);
  for (int j = 0; j < 2; j++) f->R[2 * (N - 1) + j + 2 * N * ld] = -last.n[j] / sqrt(THIRD);
  f->acc[2 * N] = -f->g * last.n[1] / 2 / sqrt(THIRD);
}

/* Largest |a_i|; NaN if there is one */
static sunrealtype max_norm(int n, const sunrealtype *a) {
  sunrealtype norm = 0;
  for (int i = 0; i < n; i++)
    if (!(fabs(a[i]) <= norm)) norm = fabs(a[i]);
  return norm;
}

/* f->rest <- rho - R w at w = f->acc */
static void close_loops(FourBar *f, const sunrealtype *y) {
  for (int k = 1; k <= f->N; k++) closure(f, y, k, f->acc, f->rest + 2 * (k - 1));
}

/* Velocities with errors of a thousandth, more than those of an integration, cause residuals of this size in
   dependent closures. If residuals are larger, the velocities belong to no branch. */
#define INCONSISTENT SUN_RCONST(1e-3)

/* f->acc <- alpha of the rods. Returns 0, or 1 if there is none */
static int accelerations(FourBar *f, const sunrealtype *y) {
  const int rows = 2 * f->N, cols = rows + 1, one = 1;
  int rank, info;
  assemble(f, y);
  to_angles(f, f->acc); /* w_0 */
  const sunrealtype free_acc = max_norm(cols, f->acc);
  if (!isfinite(free_acc)) return 1;

  close_loops(f, y); /* R L^-T dx = rho - R w_0, |dx| minimal */
  const sunrealtype size = free_acc + max_norm(rows, f->rest);
  for (int i = 0; i < cols; i++) f->jpvt[i] = 0;
  dgelsy_(&rows, &cols, &one, f->R, &rows, f->rest, &cols, f->jpvt, &f->rcond, &rank, f->work,
          &f->lwork, &info);
  if (info) return 1;
  to_angles(f, f->rest);
  for (int i = 0; i < cols; i++) f->acc[i] += f->rest[i];

  close_loops(f, y);
  return !(max_norm(rows, f->rest) <= INCONSISTENT * size);
}

int four_bar_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t;
  FourBar *f            = user_data;
  const sunindextype nq = four_bar_n(f->N) / 2;
  const sunrealtype *s  = N_VGetArrayPointer(y);
  sunrealtype *q_dot = N_VGetArrayPointer(ydot), *u_dot = q_dot + nq;
  if (accelerations(f, s)) return 1;

  sunrealtype pin[2] = {0, 0}; /* acceleration of the rod's lower or left end */
  for (sunindextype i = 0; i < nq; i++) q_dot[i] = s[nq + i];
  for (sunindextype rod = 0; rod < 2 * f->N + 1; rod++, u_dot += 3) {
    const Direction d = direction(f, s, rod);
    for (int k = 0; k < 2; k++) {
      const sunrealtype across = f->acc[rod] * d.n[k] - d.rate2 * d.e[k];
      u_dot[k]                 = (rod % 2 ? pin[k] : 0) + across / 2;
      pin[k]                   = across; /* of B_k, where the next rod begins if this is v_k */
    }
    u_dot[2] = f->acc[rod];
  }
  return 0;
}

/* -------------------------------------------------------------------------------- life cycle -- */

FourBar *four_bar_create(int N, sunrealtype g) {
  if (N < 1 || N > FOUR_BAR_MAX) return NULL;
  FourBar *f = calloc(1, sizeof *f);
  if (!f) return NULL;
  f->N     = N;
  f->g     = g;
  f->rcond = SUN_RCONST(1e-12);

  const int rows = 2 * N, cols = rows + 1, one = 1, query = -1;
  int rank, info;
  double best = 0;
  dgelsy_(&rows, &cols, &one, NULL, &rows, NULL, &cols, NULL, &f->rcond, &rank, &best, &query,
          &info);
  f->lwork = (int)best;
  f->R     = calloc((size_t)rows * (size_t)cols, sizeof *f->R);
  f->chol  = calloc(3 * (size_t)N, sizeof *f->chol);
  f->acc   = calloc((size_t)cols, sizeof *f->acc);
  f->rest  = calloc((size_t)cols, sizeof *f->rest);
  f->jpvt  = calloc((size_t)cols, sizeof *f->jpvt);
  f->work  = calloc((size_t)f->lwork, sizeof *f->work);
  if (info || !f->R || !f->chol || !f->acc || !f->rest || !f->jpvt || !f->work) four_bar_free(&f);
  return f;
}

void four_bar_free(FourBar **four_bar) {
  FourBar *f = *four_bar;
  if (!f) return;
  free(f->R);
  free(f->chol);
  free(f->acc);
  free(f->rest);
  free(f->jpvt);
  free(f->work);
  free(f);
  *four_bar = NULL;
}
