/* The four-bar linkages as functions for a CPMech. */
#include "columns.h"
#include "four_bar_impl.h"

#include <math.h>
#include <stdlib.h>

static int window_number(void *user_data) { return ((const FourBar *)user_data)->N; }

/* M = diag(1, 1, 1/12) for each rod */
static int mass_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q;
  for (sunindextype j = 0; j < four_bar_n(window_number(user_data)) / 2; j++) {
    const sunrealtype mass = j % 3 == 2 ? FOUR_BAR_INERTIA : 1;
    if (SUNMatGetID(M) == SUNMATRIX_SPARSE) SM_DATA_S(M)[j] = mass;
    else SM_ELEMENT_D(M, j, j) = mass;
  }
  return 0;
}

static int weights(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z;
  const FourBar *four_bar = user_data;
  for (sunindextype j = 1; j < four_bar_n(four_bar->N) / 2; j += 3) f[j] = -four_bar->g;
  return 0;
}

/* Entry of A in the row of coordinate k of a joint, for the rod's centre (column k) or angle */
static sunrealtype angle_entry(const FourBarEnd *end, sunrealtype phi, int k) {
  const sunrealtype half = end->sign * end->side / SUN_RCONST(2.0);
  return half * (k ? cos(phi) : -sin(phi));
}

/* Sparse: entries of a column follow each other, by ascending joints, as in four_bar_matrices */
static int joint_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t;
  const int N        = window_number(user_data);
  const int sparse   = SUNMatGetID(A) == SUNMATRIX_SPARSE;
  sunrealtype *value = sparse ? SM_DATA_S(A) : NULL;

  for (sunindextype j = 0; j < four_bar_n(N) / 2; j++) {
    FourBarEnd end[3];
    const int nends = four_bar_ends(N, j / 3, end), column = (int)(j % 3);
    for (int i = 0; i < nends; i++)
      for (int k = 0; k < 2; k++) {
        if (column < 2 && column != k) continue;
        const sunrealtype entry = column == k ? end[i].sign : angle_entry(&end[i], q[j], k);
        if (sparse) *value++ = entry;
        else SM_ELEMENT_D(A, 2 * end[i].joint + k, j) = entry;
      }
  }
  return 0;
}

static int joint_position(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t;
  const int N = window_number(user_data);
  for (int k = 0; k <= N; k++) p[2 * (3 * k)] = -k; /* grounds */
  for (sunindextype rod = 0; rod < 2 * N + 1; rod++, q += 3) {
    const sunrealtype e[2] = {cos(q[2]), sin(q[2])};
    FourBarEnd end[3];
    const int nends = four_bar_ends(N, rod, end);
    for (int i = 0; i < nends; i++)
      for (int k = 0; k < 2; k++)
        p[2 * end[i].joint + k] += end[i].sign * (q[k] + end[i].side * e[k] / 2);
  }
  return 0;
}

/* b = - A' u: the joints' centripetal accelerations */
static int joint_acceleration(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                              sunrealtype *b, void *user_data) {
  (void)t;
  const int N = window_number(user_data);
  for (sunindextype rod = 0; rod < 2 * N + 1; rod++, q += 3, u += 3) {
    const sunrealtype inward[2] = {u[2] * u[2] * cos(q[2]), u[2] * u[2] * sin(q[2])};
    FourBarEnd end[3];
    const int nends = four_bar_ends(N, rod, end);
    for (int i = 0; i < nends; i++)
      for (int k = 0; k < 2; k++)
        b[2 * end[i].joint + k] += end[i].sign * end[i].side * inward[k] / 2;
  }
  return 0;
}

/* K = -d(A^T lambda)/dq, which is not zero only for the angles */
static int dynamics_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                        SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *user_data) {
  (void)t, (void)u, (void)z, (void)udot, (void)C, (void)Fz;
  const int N = window_number(user_data);
  Columns col = columns_of(K);
  for (sunindextype rod = 0; rod < 2 * N + 1; rod++, q += 3) {
    FourBarEnd end[3];
    const int nends  = four_bar_ends(N, rod, end);
    sunrealtype pull = 0;
    for (int i = 0; i < nends; i++) {
      const sunrealtype *force = lambda + 2 * end[i].joint;
      pull += end[i].sign * end[i].side * (cos(q[2]) * force[0] + sin(q[2]) * force[1]) / 2;
    }
    next_column(&col);
    next_column(&col);
    put_entry(&col, 3 * rod + 2, pull);
    next_column(&col);
  }
  return 0;
}

/* In the columns of the angles, rows of the rod's joints: sign side / 2 of the vector x (cos phi, sin phi)
   + y (-sin phi, cos phi) */
static void put_ends(Columns *col, int N, sunindextype rod, sunrealtype phi, sunrealtype x,
                     sunrealtype y) {
  FourBarEnd end[3];
  const int nends             = four_bar_ends(N, rod, end);
  const sunrealtype vector[2] = {x * cos(phi) - y * sin(phi), x * sin(phi) + y * cos(phi)};
  next_column(col);
  next_column(col);
  for (int i = 0; i < nends; i++)
    for (int k = 0; k < 2; k++)
      put_entry(col, 2 * end[i].joint + k, end[i].sign * end[i].side * vector[k] / 2);
  next_column(col);
}

/* b - A u' = sum sign side / 2 ((cos phi, sin phi) phi'^2 - (-sin phi, cos phi) phi'') - ... */
static int constraint_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                          const sunrealtype *udot, SUNMatrix Bq, SUNMatrix Bu, void *user_data) {
  (void)t;
  const int N  = window_number(user_data);
  Columns by_q = columns_of(Bq), by_u = columns_of(Bu);
  for (sunindextype rod = 0; rod < 2 * N + 1; rod++) {
    const sunindextype j = 3 * rod + 2;
    put_ends(&by_q, N, rod, q[j], udot[j], u[j] * u[j]);
    put_ends(&by_u, N, rod, q[j], 2 * u[j], 0);
  }
  return 0;
}

CPEquations four_bar_model(const FourBar *f) {
  return (CPEquations){CP_SIZED(CPEquations),
                       .nu             = four_bar_n(f->N) / 2,
                       .np             = four_bar_m(f->N) / 2,
                       .M              = mass_matrix,
                       .A              = joint_matrix,
                       .f              = weights,
                       .p              = joint_position,
                       .b              = joint_acceleration,
                       .dynamics_jac   = dynamics_jac,
                       .constraint_jac = constraint_jac};
}

/* Each end of a rod has 1 + 1 + 2 entries in A; there are 5N+1 ends. */
int four_bar_matrices(int N, SUNContext ctx, SUNMatrix *M, SUNMatrix *A) {
  const sunindextype nq = four_bar_n(N) / 2, nnz = 4 * (5 * (sunindextype)N + 1);
  *M = SUNSparseMatrix(nq, nq, nq, CSC_MAT, ctx);
  *A = SUNSparseMatrix(four_bar_m(N) / 2, nq, nnz, CSC_MAT, ctx);
  if (!*M || !*A) {
    SUNMatDestroy(*M);
    SUNMatDestroy(*A);
    *M = *A = NULL;
    return 1;
  }
  sunindextype *start = SUNSparseMatrix_IndexPointers(*A);
  sunindextype *rows = SUNSparseMatrix_IndexValues(*A), *next = rows;
  for (sunindextype j = 0; j < nq; j++) {
    FourBarEnd end[3];
    const int nends = four_bar_ends(N, j / 3, end), column = (int)(j % 3);
    start[j] = (sunindextype)(next - rows);
    for (int i = 0; i < nends; i++)
      for (int k = 0; k < 2; k++)
        if (column == 2 || column == k) *next++ = 2 * end[i].joint + k;
  }
  start[nq] = nnz;
  for (sunindextype j = 0; j <= nq; j++) SUNSparseMatrix_IndexPointers(*M)[j] = j;
  for (sunindextype j = 0; j < nq; j++) SUNSparseMatrix_IndexValues(*M)[j] = j;
  return 0;
}

/* The patterns, by filling the matrices for any state, here of zeros; 5N+1 ends as above */
int four_bar_partials(int N, SUNContext ctx, CPEquations *model) {
  const sunindextype nq = four_bar_n(N) / 2, nc = four_bar_m(N) / 2,
                     nnz = 2 * (5 * (sunindextype)N + 1);
  FourBar of             = {.N = N};
  sunrealtype *zero      = calloc((size_t)(nq > nc ? nq : nc), sizeof *zero);
  model->K_tmpl          = SUNSparseMatrix(nq, nq, 2 * N + 1, CSC_MAT, ctx);
  model->Bq_tmpl         = SUNSparseMatrix(nc, nq, nnz, CSC_MAT, ctx);
  model->Bu_tmpl         = SUNSparseMatrix(nc, nq, nnz, CSC_MAT, ctx);
  const int failed       = !zero || !model->K_tmpl || !model->Bq_tmpl || !model->Bu_tmpl;
  if (!failed) {
    dynamics_jac(0, zero, zero, NULL, zero, zero, model->K_tmpl, NULL, NULL, &of);
    constraint_jac(0, zero, zero, zero, model->Bq_tmpl, model->Bu_tmpl, &of);
  }
  free(zero);
  return failed;
}
