/* Example: projections of a slider-crank without an integrator, by matrices, by products, and by the user.
 *
 *   y = (a, b, a', b')     the crank pin a and the slider b in the plane [m, m/s]
 *
 *   0 = |a|^2 - r^2,  0 = |b - a|^2 - l^2,  0 = b_2,  0 = b_2 / 2       the last row is redundant
 *   0 = a.a',  0 = (b - a).(b' - a'),  0 = b'_2,  0 = b'_2 / 2           their rates
 *
 *   r = 1 m   crank       l = 2 m   rod       m_a = 2 kg, m_b = 1 kg   masses of pin and slider
 *
 * Run:       projections
 * Expected:  for each projection what it should have done, and by how much it is off, and "ok". The exit
 *            code is 1 if something is off by more than the tolerance, and 2 if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes.h>
#include <cpodes/cpodes_matrixfree.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <sunmatrix/sunmatrix_dense.h>

enum { N = 8, M = 8 };
static const sunrealtype r = 1, l = 2, eps = 1e-3, tol = 1e-6;
static const sunrealtype mass[N] = {2, 2, 1, 1, 2, 2, 1, 1};

static int wrong; /* a result is off by more than the tolerance */

static void report(const char *what, sunrealtype error, sunrealtype most) {
  printf("%-66s %8.1e\n", what, error);
  if (!(error <= most)) wrong = 1;
}

/* ---- constraints and their Jacobian ---- */

static int c(sunrealtype t, N_Vector yvec, N_Vector cvec, void *user_data) {
  const sunrealtype *a = N_VGetArrayPointer(yvec), *b = a + 2, *av = a + 4, *bv = a + 6;
  const sunrealtype d[2] = {b[0] - a[0], b[1] - a[1]};
  sunrealtype *res       = N_VGetArrayPointer(cvec);
  (void)t, (void)user_data;
  res[0] = a[0] * a[0] + a[1] * a[1] - r * r;
  res[1] = d[0] * d[0] + d[1] * d[1] - l * l;
  res[2] = b[1], res[3] = b[1] / 2;
  res[4] = a[0] * av[0] + a[1] * av[1];
  res[5] = d[0] * (bv[0] - av[0]) + d[1] * (bv[1] - av[1]);
  res[6] = bv[1], res[7] = bv[1] / 2;
  return 0;
}

static void gradients(const sunrealtype *y, sunrealtype g[M][N]) {
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) g[i][j] = 0;
  for (int k = 0; k < 2; k++) {
    const sunrealtype d = y[2 + k] - y[k], dv = y[6 + k] - y[4 + k];
    g[0][k] = 2 * y[k];
    g[1][k] = -2 * d, g[1][2 + k] = 2 * d;
    g[4][k] = y[4 + k], g[4][4 + k] = y[k];
    g[5][k] = -dv, g[5][2 + k] = dv, g[5][4 + k] = -d, g[5][6 + k] = d;
  }
  g[2][3] = g[6][7] = 1, g[3][3] = g[7][7] = 0.5;
}

static int jac(sunrealtype t, N_Vector y, N_Vector cvec, SUNMatrix G, void *user_data) {
  sunrealtype g[M][N];
  (void)t, (void)cvec, (void)user_data;
  gradients(N_VGetArrayPointer(y), g);
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) SM_ELEMENT_D(G, i, j) = g[i][j];
  return 0;
}

/* The metric of kinetic energy */
static int metric(sunrealtype t, N_Vector y, SUNMatrix W, void *user_data) {
  (void)t, (void)y, (void)user_data;
  for (int j = 0; j < N; j++) SM_ELEMENT_D(W, j, j) = mass[j];
  return 0;
}

/* ---- the same as products ---- */

static int Gv(sunrealtype t, N_Vector y, N_Vector v, N_Vector out, void *user_data) {
  sunrealtype g[M][N];
  (void)t, (void)user_data;
  gradients(N_VGetArrayPointer(y), g);
  N_VConst(0, out);
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) N_VGetArrayPointer(out)[i] += g[i][j] * N_VGetArrayPointer(v)[j];
  return 0;
}

static int GTw(sunrealtype t, N_Vector y, N_Vector w, N_Vector out, void *user_data) {
  sunrealtype g[M][N];
  (void)t, (void)user_data;
  gradients(N_VGetArrayPointer(y), g);
  N_VConst(0, out);
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) N_VGetArrayPointer(out)[j] += g[i][j] * N_VGetArrayPointer(w)[i];
  return 0;
}

static int inverse_mass(sunrealtype t, N_Vector y, N_Vector x, N_Vector out, void *user_data) {
  (void)t, (void)y, (void)user_data;
  for (int j = 0; j < N; j++) N_VGetArrayPointer(out)[j] = N_VGetArrayPointer(x)[j] / mass[j];
  return 0;
}

/* diag(G D G^T), and as a preconditioner its inverse */
static int diagonal(sunrealtype t, N_Vector y, N_Vector D, N_Vector out, void *user_data) {
  sunrealtype g[M][N];
  (void)t, (void)user_data;
  gradients(N_VGetArrayPointer(y), g);
  N_VConst(0, out);
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++)
      N_VGetArrayPointer(out)[i] += g[i][j] * g[i][j] * N_VGetArrayPointer(D)[j];
  return 0;
}

static int precondition(sunrealtype t, N_Vector y, N_Vector residual, N_Vector out, void *inverse) {
  N_Vector D = N_VClone(y), one = N_VClone(y);
  if (!D || !one) return -1;
  N_VConst(1, one);
  int flag = inverse_mass(t, y, one, D, inverse);
  if (!flag) flag = diagonal(t, y, D, out, inverse);
  N_VDiv(residual, out, out);
  N_VDestroy(D);
  N_VDestroy(one);
  return flag;
}

/* ---- a projection by the user: the crank angle stays, all else follows from it ---- */

static void close_loop(sunrealtype angle, sunrealtype rate, sunrealtype *y) {
  const sunrealtype a[2] = {r * cos(angle), r * sin(angle)}, x = sqrt(l * l - a[1] * a[1]);
  y[0] = a[0], y[1] = a[1], y[2] = a[0] + x, y[3] = 0;
  y[4] = -rate * a[1], y[5] = rate * a[0], y[6] = y[4] - a[1] * y[5] / x, y[7] = 0;
}

static int by_angle(sunrealtype t, N_Vector from, N_Vector to, sunrealtype accuracy,
                    void *user_data) {
  const sunrealtype *y = N_VGetArrayPointer(from);
  (void)t, (void)accuracy, (void)user_data;
  close_loop(atan2(y[1], y[0]), (y[0] * y[5] - y[1] * y[4]) / (y[0] * y[0] + y[1] * y[1]),
             N_VGetArrayPointer(to));
  return 0;
}

/* ---- the program ---- */

static sunrealtype distance(N_Vector a, N_Vector b, N_Vector work) {
  N_VLinearSum(1, a, -1, b, work);
  return N_VMaxNorm(work);
}

/* From a guess with the crank held: the loop is closed at this angle. */
static void assemble(CPProjector P, N_Vector y, N_Vector ewt, N_Vector work) {
  const int only_slider[N] = {0, 0, 1, 1, 0, 0, 1, 1};
  const sunrealtype angle  = 1;
  sunindextype worst;
  sunrealtype violation;
  close_loop(angle, 1, N_VGetArrayPointer(y));
  N_VScale(1, y, work);
  N_VGetArrayPointer(y)[2] = 1, N_VGetArrayPointer(y)[3] = 0.5, N_VGetArrayPointer(y)[6] = 0;
  CHECK(CPProjectorGetViolation(P, 0, y, ewt, &violation, &worst));
  printf("The guess is %.1e tolerances off; most in constraint %ld.\n", violation, (long)worst);
  CHECK(CPProjectorSetFree(P, only_slider));
  CHECK(CPProjectorAssemble(P, 0, y, ewt));
  CHECK(CPProjectorSetFree(P, NULL));
  report("assembled with the crank held: distance from the closed form", distance(y, work, work),
         tol);
  CHECK(CPProjectorGetViolation(P, 0, y, ewt, &violation, NULL));
  report("the violation in units of its tolerance", violation, 2 * eps);
}

/* x = P x + (x - P x), G P x = 0, and w.(P x) = (P^T w).x */
static void project_vectors(CPProjector P, N_Vector y, N_Vector ewt, N_Vector rows) {
  N_Vector x = N_VClone(y), tangent = N_VClone(y), normal = N_VClone(y), w = N_VClone(y);
  N_Vector cotangent = N_VClone(y);
  for (int j = 0; j < N; j++)
    N_VGetArrayPointer(x)[j] = sin(j + 1.0), N_VGetArrayPointer(w)[j] = cos(j + 1.0);
  N_VScale(1, x, tangent), N_VScale(1, x, normal), N_VScale(1, w, cotangent);
  CHECK(CPProjectorProjectVector(P, CP_TANGENT, 0, y, ewt, tangent));
  CHECK(CPProjectorProjectVector(P, CP_NORMAL, 0, y, ewt, normal));
  CHECK(CPProjectorProjectVector(P, CP_COTANGENT, 0, y, ewt, cotangent));
  CHECK(Gv(0, y, tangent, rows, NULL));
  report("G v of a tangent vector v", N_VMaxNorm(rows), 1e-12);
  report("w.(P x) - (P^T w).x", fabs(N_VDotProd(w, tangent) - N_VDotProd(cotangent, x)), 1e-12);
  N_VLinearSum(1, tangent, 1, normal, tangent);
  report("P x + (x - P x) - x", distance(tangent, x, tangent), 1e-12);
  N_VDestroy(x), N_VDestroy(tangent), N_VDestroy(normal), N_VDestroy(w), N_VDestroy(cotangent);
}

/* The rank, and what depends on what */
static void find_rank(CPProjector P) {
  int dependent[M], count = 0;
  sunindextype rank;
  CPLinSol solver;
  const char *reason;
  CHECK(CPProjectorGetRank(P, &rank, dependent));
  for (int i = 0; i < M; i++) count += dependent[i];
  CHECK(CPProjectorGetLinearSolver(P, &solver, &reason));
  printf("Rank %ld of %d, %d dependent; solver %d: %s.\n", (long)rank, M, count, (int)solver,
         reason);
  if (rank != 6 || count != 2 || solver != CP_LINSOL_QR) wrong = 1;
}

int main(void) {
  const int row_level[M] = {0, 0, 0, 0, 1, 1, 1, 1}, col_level[N] = {0, 0, 0, 0, 1, 1, 1, 1};
  const int without_rod[M]    = {1, 0, 1, 1, 1, 0, 1, 1};
  const CPUserProjection user = {sizeof user, by_angle, NULL, NULL, NULL};
  sunrealtype err;
  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector y = N_VNew_Serial(N, ctx), rows = N_VNew_Serial(M, ctx);
  SUNMatrix G = SUNDenseMatrix(M, N, ctx), W = SUNDenseMatrix(N, N, ctx);
  CHECK_NEW(y), CHECK_NEW(rows), CHECK_NEW(G), CHECK_NEW(W);
  N_Vector ewt = N_VClone(y), start = N_VClone(y), other = N_VClone(y);
  CHECK_NEW(ewt), CHECK_NEW(start), CHECK_NEW(other);
  N_VConst(1 / tol, ewt);

  /* by a matrix G, positions before velocities */
  CPProjector P = CPProjectorCreate(c, y, rows, ctx);
  CHECK_NEW(P);
  CHECK(CPProjectorSetJacFn(P, jac, G));
  CHECK(CPProjectorSetLevels(P, row_level, col_level));
  CHECK(CPProjectorSetLinearSolver(P, CP_LINSOL_QR)); /* for redundant rows */
  CHECK(CPProjectorSetEps(P, eps));
  assemble(P, y, ewt, other);
  CHECK(CPProjectorCheckJac(P, 0, y, ewt, &err, NULL, NULL));
  report("G compared with differences", err, 1e-4);
  project_vectors(P, y, ewt, rows);
  find_rank(P);

  /* without the rod the slider moves alone */
  CHECK(CPProjectorSetActive(P, without_rod));
  N_VGetArrayPointer(y)[2] += 0.5;
  N_VScale(1, y, start);
  CHECK(CPProjectorProject(P, 0, y, ewt));
  report("a projection while the rod is switched off", distance(y, start, other), tol);
  CHECK(CPProjectorSetActive(P, NULL));

  /* in the metric of kinetic energy, with residuals in units of 1e-9 m^2, as a matrix and as products */
  CHECK(CPProjectorSetLevels(P, NULL, NULL));
  for (int i = 0; i < N; i++) SM_ELEMENT_D(W, i, i) = 1;
  CHECK(CPProjectorSetNorm(P, CP_NORM_MATRIX, metric, W));
  N_VConst(1e-9, rows);
  CHECK(CPProjectorSetConstraintTol(P, rows));
  CPProjector Q = CPProjectorCreateProducts(c, Gv, GTw, y, rows, ctx);
  CHECK_NEW(Q);
  CHECK(CPProjectorSetConstraintTol(Q, rows));
  CHECK(CPProjectorSetMetricProduct(Q, inverse_mass));
  CHECK(CPProjectorSetSchurDiag(Q, diagonal));
  CHECK(CPProjectorSetPreconditioner(Q, NULL, precondition));
  CHECK(CPProjectorCheckJac(Q, 0, y, ewt, &err, NULL, NULL));
  report("products compared with differences", err, 1e-4);
  close_loop(1, 1, N_VGetArrayPointer(start));
  for (int j = 0; j < N; j++) N_VGetArrayPointer(start)[j] += 1e-4 * sin(3.0 * j);
  N_VScale(1, start, y), N_VScale(1, start, other);
  CHECK(CPProjectorSetLevels(P, (int[M]){0}, (int[N]){0}));
  CHECK(CPProjectorProject(P, 0, y, ewt));
  CHECK(CPProjectorProject(Q, 0, other, ewt));
  report("nearest points by a matrix and by products, in kinetic energy", distance(y, other, other),
         1e-8);

  /* by the user */
  CPProjector R = CPProjectorCreateUser(&user, y, ctx);
  CHECK_NEW(R);
  N_VScale(1, start, y);
  CHECK(CPProjectorProject(R, 0, y, NULL));
  CHECK(c(0, y, rows, NULL));
  report("constraints after the user's projection", N_VMaxNorm(rows), 1e-14);
  printf("%s\n", wrong ? "WRONG: a projection is off by more than its tolerance" : "ok");

  CPProjectorFree(&P), CPProjectorFree(&Q), CPProjectorFree(&R);
  SUNMatDestroy(G), SUNMatDestroy(W);
  N_VDestroy(y), N_VDestroy(rows), N_VDestroy(ewt), N_VDestroy(start), N_VDestroy(other);
  CHECK(SUNContext_Free(&ctx));
  return wrong;
}
