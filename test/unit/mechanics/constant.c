#include "constant.h"
#include "support/mech_run.h"

#include <math.h>
#include <sunmatrix/sunmatrix_sparse.h>

/* ---- the model ---- */

/* Entry (i, j) into any matrix; all entries are in the patterns of sparse ones. */
static void put(SUNMatrix S, int i, int j, int cols, sunrealtype value) {
  if (SUNMatGetID(S) == SUNMATRIX_DENSE) SM_ELEMENT_D(S, i, j) = value;
  else if (SM_SPARSETYPE_S(S) == CSC_MAT) SM_DATA_S(S)[SM_INDEXPTRS_S(S)[j] + i] = value;
  else SM_DATA_S(S)[i * cols + j] = value;
}

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  const Constant *c = data;
  (void)t, (void)q;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) put(M, i, j, N, c->M[i][j]);
  return 0;
}

static int constraints(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  const Constant *c = data;
  (void)t, (void)q;
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < N; j++) put(A, i, j, N, c->A[i][j]);
  return 0;
}

static int positions(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  const Constant *c = data;
  for (int i = 0; i < POSITIONS; i++) p[i] = constant_row(c, i, q) + c->drift[i] * t;
  return 0;
}

static int velocities(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                      void *data) {
  const Constant *c = data;
  (void)t, (void)q;
  for (int i = 0; i < VELOCITIES; i++) v[i] = constant_row(c, i, u) + c->drift[i];
  return 0;
}

static int zero_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                  void *data) {
  (void)t, (void)q, (void)u, (void)b, (void)data;
  return 0;
}

/* ---- operators ---- */

static int A_times(sunrealtype t, const sunrealtype *q, const sunrealtype *x, sunrealtype *y,
                   void *data) {
  (void)t, (void)q;
  for (int i = 0; i < ROWS; i++) y[i] = constant_row(data, i, x);
  return 0;
}

static int AT_times(sunrealtype t, const sunrealtype *q, const sunrealtype *x, sunrealtype *y,
                    void *data) {
  const Constant *c = data;
  (void)t, (void)q;
  for (int j = 0; j < N; j++)
    for (int i = 0; i < ROWS; i++) y[j] += c->A[i][j] * x[i];
  y[2] += c->wrong_ATl * x[1];
  return 0;
}

static int M_times(sunrealtype t, const sunrealtype *q, const sunrealtype *x, sunrealtype *y,
                   void *data) {
  const Constant *c = data;
  (void)t, (void)q;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) y[i] += c->M[i][j] * x[j];
  return 0;
}

/* The free block of M (or all of it), by elimination; M is definite, so no pivoting is needed. */
static void solve_mass(const Constant *c, int without_driven, long double x[N]) {
  long double M[N][N];
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      M[i][j] = without_driven && (i == DRIVEN || j == DRIVEN) ? i == j : c->M[i][j];
  if (without_driven) x[DRIVEN] = 0;
  for (int k = 0; k < N; k++)
    for (int i = k + 1; i < N; i++) {
      const long double factor = M[i][k] / M[k][k];
      for (int j = k; j < N; j++) M[i][j] -= factor * M[k][j];
      x[i] -= factor * x[k];
    }
  for (int i = N - 1; i >= 0; i--) {
    for (int j = i + 1; j < N; j++) x[i] -= M[i][j] * x[j];
    x[i] /= M[i][i];
  }
}

static int M_solve(sunrealtype t, const sunrealtype *q, const sunrealtype *x, sunrealtype *y,
                   void *data) {
  const Constant *c = data;
  long double z[N];
  (void)t, (void)q;
  for (int j = 0; j < N; j++) z[j] = x[j];
  solve_mass(c, 0, z);
  for (int j = 0; j < N; j++) y[j] = (sunrealtype)z[j];
  y[1] += c->wrong_Minv * x[2];
  y[2] += c->wrong_Minv * x[1]; /* symmetric */
  return 0;
}

static int no_accelerations(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                            const sunrealtype *z, sunrealtype *udot, sunrealtype *lambda,
                            void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)udot, (void)lambda, (void)data;
  return 0;
}

/* ---- life cycle ---- */

static SUNMatrix full_pattern(int rows, int type) {
  SUNMatrix S     = SUNSparseMatrix(rows, N, rows * N, type, test_context);
  const int outer = type == CSC_MAT ? N : rows, inner = type == CSC_MAT ? rows : N;
  for (int k = 0; k <= outer; k++) SM_INDEXPTRS_S(S)[k] = k * inner;
  for (int k = 0; k < outer * inner; k++) SM_INDEXVALS_S(S)[k] = k % inner;
  return S;
}

static int driven_position(sunrealtype t, sunrealtype *g, void *data) {
  (void)data;
  *g = DRIVEN_RATE * t;
  return 0;
}

static int driven_velocity(sunrealtype t, sunrealtype *g, void *data) {
  (void)t, (void)data;
  *g = DRIVEN_RATE;
  return 0;
}

static int driven_acceleration(sunrealtype t, sunrealtype *g, void *data) {
  (void)t, (void)data;
  *g = 0;
  return 0;
}

/* M = N + B B^T */
void constant_fill(Constant *c) {
  sunrealtype B[N][N];
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) B[i][j] = random_number(&c->state);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      c->M[i][j] = i == j ? N : 0;
      for (int k = 0; k < N; k++) c->M[i][j] += B[i][k] * B[j][k];
    }
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < N; j++) c->A[i][j] = random_number(&c->state);
  for (int j = 0; j < N && c->dependent; j++) c->A[2][j] = c->A[0][j] - 2 * c->A[1][j];
}

void constant_build(Constant *c) {
  const int sparse  = c->form == CSC || c->form == CSR;
  CPEquations model = {CP_SIZED(CPEquations), .nu = N, .np = POSITIONS, .nv = VELOCITIES,
                       .na = ROWS};
  model.p           = positions;
  model.v           = c->velocity ? c->velocity : velocities;
  model.b           = zero_b;
  if (c->form == OPERATORS) {
    model.udot = no_accelerations;
    model.Au   = A_times;
    model.ATl  = AT_times;
    model.Mu   = M_times;
    model.Minv = M_solve;
  } else {
    model.M = mass;
    model.A = constraints;
  }
  if (sparse) {
    model.M_tmpl = full_pattern(N, c->form == CSC ? CSC_MAT : CSR_MAT);
    model.A_tmpl = full_pattern(ROWS, c->form == CSC ? CSC_MAT : CSR_MAT);
  }
  c->y = vector_of(2 * N, NULL);
  random_fill(c->y, &c->state);
  const CPMotion by = {.coordinate = DRIVEN,
                       .kind       = CP_MOTION_FULL,
                       .g          = driven_position,
                       .gd         = driven_velocity,
                       .gdd        = driven_acceleration};
  model.motions = &by, model.nmotions = c->driven ? 1 : 0;
  c->mech = create_mech(&model, c->y, test_context);
  ck_assert_ptr_nonnull(c->mech);
  if (sparse) SUNMatDestroy(model.M_tmpl), SUNMatDestroy(model.A_tmpl);
  ck_assert_int_eq(CPMechSetUserData(c->mech, c), CP_SUCCESS);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(c->mech), message_log, &c->log), CP_SUCCESS);
  if (c->linsol) ck_assert_int_eq(CPMechSetLinearSolver(c->mech, c->linsol), CP_SUCCESS);
  if (c->driven) {
    entries(c->y)[DRIVEN]     = 0;
    entries(c->y)[N + DRIVEN] = DRIVEN_RATE;
  }
  if (!c->off) return;
  int mask[ROWS] = {1, 1, 1, 1, 1};
  mask[OFF]      = 0;
  ck_assert_int_eq(CPMechSetActive(c->mech, mask), CP_SUCCESS);
}

/* 0 ... 23: three forms of matrices with eight combinations of the features, by the choice of AUTO;
 * from 24 on dense by NULLSPACE; the last two: operators. */
void constant_create(Constant *c, int index) {
  *c           = (Constant){.state = 1000 + (unsigned)index};
  c->form      = index < 24 ? (Form)(index / 8) : OPERATORS;
  c->dependent = index % 2;
  c->driven    = index < 24 && index / 2 % 2;
  c->off       = index < 24 ? index / 4 % 2 : 0;
  c->linsol    = index < 8 && !c->dependent && c->off ? CP_LINSOL_QR : CP_LINSOL_AUTO;
  constant_fill(c);
  constant_build(c);
}

void constant_free(Constant *c) {
  CPMechFree(&c->mech);
  N_VDestroy(c->y);
}

/* ---- reference ---- */

int constant_is_active(const Constant *c, int i, int velocity_level) {
  return !(c->off && i == OFF) && (!velocity_level || i < VELOCITIES);
}

/* Row 2 depends on 0 and 1, unless row 1 is off. */
int constant_rank(const Constant *c, int velocity_level) {
  return (velocity_level ? VELOCITIES : ROWS) - c->off - (c->dependent && !c->off);
}

void constant_delassus(const Constant *c, int velocity_level, sunrealtype S[ROWS][ROWS]) {
  for (int j = 0; j < ROWS; j++) {
    long double x[N];
    for (int k = 0; k < N; k++) x[k] = constant_is_active(c, j, velocity_level) ? c->A[j][k] : 0;
    solve_mass(c, c->driven, x);
    for (int i = 0; i < ROWS; i++) {
      long double sum = 0;
      for (int k = 0; k < N; k++) sum += c->A[i][k] * x[k];
      S[i][j] = constant_is_active(c, i, velocity_level) ? (sunrealtype)sum : 0;
    }
  }
}

sunrealtype constant_product(const Constant *c, const sunrealtype *x, const sunrealtype *y) {
  long double sum = 0;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) sum += (long double)x[i] * c->M[i][j] * y[j];
  return (sunrealtype)sum;
}

sunrealtype constant_row(const Constant *c, int i, const sunrealtype *x) {
  long double sum = 0;
  for (int j = 0; j < N; j++) sum += (long double)c->A[i][j] * x[j];
  return (sunrealtype)sum;
}
