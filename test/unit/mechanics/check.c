/* CPMechCheck: good models pass, and each wrong function is detected by its name. */
#include "support/alloc.h"
#include "support/mech_run.h"
#include "support/support.h"
#include <cpodes/cpodes_mechanics.h>

#include <complex.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <sunmatrix/sunmatrix_sparse.h>

/* Errors of good models are below this, those of wrong ones above. */
#define GOOD  SUN_RCONST(1e-8)
#define WRONG SUN_RCONST(1e-4)

/* ---- a mechanism that has everything, in complex arithmetic ---- */

/* Velocities u_0, u_1 in a frame turned by q_2:
 *   q' = (cos q_2 u_0 - sin q_2 u_1, sin q_2 u_0 + cos q_2 u_1, u_2, u_3)
 * The rows of A: 0 position, rheonomic; 1 nonholonomic; 2 acceleration only. Derivatives are by the
 * complex step, Im f(x + i h) / h with h = 1e-30: exact to roundoff, without differences. Source:
 * made up. */
enum { NU = 4, NP = 1, NV = 2, NA = 3, NZ = 2 };
typedef double complex number;

typedef struct {
  number t, q[NU], u[NU], z[NZ], lambda[NA];
} State;

static void kinematics(const State *s, const number *u, number *qdot) {
  const number c = ccos(s->q[2]), d = csin(s->q[2]);
  qdot[0] = c * u[0] - d * u[1];
  qdot[1] = d * u[0] + c * u[1];
  qdot[2] = u[2];
  qdot[3] = u[3];
}

static void mass(const State *s, number M[NU][NU]) {
  memset(M, 0, NU * sizeof M[0]);
  M[0][0] = 3 + csin(s->q[0]);
  M[1][1] = 2 + s->q[3] * s->q[3];
  M[2][2] = 1.5;
  M[3][3] = 2 + ccos(s->q[1]);
  M[0][1] = M[1][0] = 0.3 * ccos(s->q[2]);
  M[2][3] = M[3][2] = 0.2 * s->q[0];
}

static void constraints(const State *s, number A[NA][NU]) {
  const number c = ccos(s->q[2]), d = csin(s->q[2]);
  memset(A, 0, NA * sizeof A[0]);
  A[0][0] = 2 * (s->q[0] * c + s->q[1] * d);
  A[0][1] = 2 * (s->q[1] * c - s->q[0] * d);
  A[1][1] = 1;
  A[1][2] = 0.2 * d;
  A[2][0] = 0.5 * s->q[3];
  A[2][3] = 1;
}

static void positions(const State *s, number *p) {
  p[0] = s->q[0] * s->q[0] + s->q[1] * s->q[1] - 4 - 0.3 * csin(s->t);
}

static void velocities(const State *s, number *v) {
  number A[NA][NU];
  constraints(s, A);
  for (int i = 0; i < NV; i++) {
    v[i] = i == 0 ? -0.3 * ccos(s->t) : -0.1 * s->t * s->t;
    for (int j = 0; j < NU; j++) v[i] += A[i][j] * s->u[j];
  }
}

static const double H = 1e-30;

/* b = -dv/dt along the motion; row 2 separately */
static void right_hand_side(const State *s, number *b) {
  State moved = *s;
  number qdot[NU], v[NV];
  b[2] = -s->u[3] * s->q[1] - csin(s->t);
  kinematics(s, s->u, qdot);
  moved.t += I * H;
  for (int i = 0; i < NU; i++) moved.q[i] += I * H * qdot[i];
  velocities(&moved, v);
  for (int i = 0; i < NV; i++) b[i] = -cimag(v[i]) / H;
}

/* The same in closed form, so that b itself can be differentiated by a complex step:
 *   v_0 = 2 (q_0 q_0' + q_1 q_1') + ...,  with u held q_0'' = -u_2 q_1',  q_1'' = u_2 q_0' */
static void closed_b(const State *s, number *b) {
  number x[NU];
  kinematics(s, s->u, x);
  b[0] = -2 * (x[0] * x[0] + x[1] * x[1] + s->u[2] * (s->q[1] * x[0] - s->q[0] * x[1])) -
         0.3 * csin(s->t);
  b[1] = -0.2 * ccos(s->q[2]) * s->u[2] * s->u[2] + 0.2 * s->t;
  b[2] = -s->u[3] * s->q[1] - csin(s->t);
}

static void forces(const State *s, number *f) {
  f[0] = -50 * s->q[0] - 0.3 * s->u[0] + s->z[0];
  f[1] = -9.81 + s->u[0] * s->u[2] * csin(s->q[1]);
  f[2] = 4 * s->q[3] * s->q[1] - s->u[1] * s->u[1] + 0.5 * s->z[0] * s->z[1];
  f[3] = 10 * csin(s->q[2]) + 0.7 * s->u[3];
}

static void lambda_forces(const State *s, number *f) {
  f[0] = -0.1 * ctanh(s->lambda[0]) * s->u[0];
  f[1] = 0.05 * s->lambda[1] * s->q[3];
  f[2] = 0.02 * s->lambda[2] * s->lambda[0];
  f[3] = 0;
}

static void auxiliary(const State *s, number *zdot) {
  zdot[0] = -3 * s->z[0] + s->q[0] * s->u[3] + 0.2 * s->lambda[1];
  zdot[1] = csin(s->z[0]) - s->z[1] * s->u[1] + s->q[2];
}

/* ---- faults ---- */

typedef enum {
  NOTHING,
  WRONG_A_P,
  WRONG_A_V,
  WRONG_V,
  WRONG_B,
  WRONG_M,
  WRONG_N_INVERSE,
  WRONG_N_TRANSPOSE,
  WRONG_N_INVERSE_TRANSPOSE,
  WRONG_K,
  WRONG_C,
  WRONG_FZ,
  WRONG_BQ,
  WRONG_BU,
  WRONG_ZQ,
  WRONG_ZU,
  WRONG_ZZ,
  WRONG_FL,
  WRONGS
} Wrong;

/* A change by a few parts in 1000 of the neighbouring entries */
static const double OFFSET = 0.02;

typedef struct {
  Wrong wrong;
  int sparse;
  CPMech mech;
  N_Vector y;
  MessageLog log;
} Model;
static Model m;

static double offset(Wrong wrong) { return m.wrong == wrong ? OFFSET : 0; }

/* ---- the model's functions ---- */

static State state_of(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                      const sunrealtype *z, const sunrealtype *lambda) {
  State s = {.t = t};
  for (int i = 0; i < NU; i++) s.q[i] = q[i], s.u[i] = u ? u[i] : 0;
  for (int i = 0; i < NZ && z; i++) s.z[i] = z[i];
  for (int i = 0; i < NA && lambda; i++) s.lambda[i] = lambda[i];
  return s;
}

static void put(SUNMatrix S, int i, int j, sunrealtype value) {
  if (SUNMatGetID(S) == SUNMATRIX_DENSE) {
    SM_ELEMENT_D(S, i, j) = value;
    return;
  }
  for (sunindextype k = SM_INDEXPTRS_S(S)[j]; k < SM_INDEXPTRS_S(S)[j + 1]; k++)
    if (SM_INDEXVALS_S(S)[k] == i) SM_DATA_S(S)[k] = value;
}

static int M_fn(sunrealtype t, const sunrealtype *q, SUNMatrix S, void *data) {
  const State s = state_of(t, q, NULL, NULL, NULL);
  number M[NU][NU];
  (void)data;
  mass(&s, M);
  for (int i = 0; i < NU; i++)
    for (int j = 0; j < NU; j++)
      put(S, i, j, creal(M[i][j]) + (i == 2 && j == 3 ? offset(WRONG_M) : 0));
  return 0;
}

static int A_fn(sunrealtype t, const sunrealtype *q, SUNMatrix S, void *data) {
  const State s = state_of(t, q, NULL, NULL, NULL);
  number A[NA][NU];
  (void)data;
  constraints(&s, A);
  for (int i = 0; i < NA; i++)
    for (int j = 0; j < NU; j++) put(S, i, j, creal(A[i][j]));
  put(S, 0, 1, creal(A[0][1]) + offset(WRONG_A_P));
  put(S, 1, 2, creal(A[1][2]) + offset(WRONG_A_V));
  return 0;
}

static int f_fn(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                sunrealtype *f, void *data) {
  const State s = state_of(t, q, u, z, NULL);
  number value[NU];
  (void)data;
  forces(&s, value);
  for (int i = 0; i < NU; i++) f[i] = creal(value[i]);
  return 0;
}

static int f_lambda_fn(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       const sunrealtype *z, const sunrealtype *lambda, sunrealtype *f, void *data) {
  const State s = state_of(t, q, u, z, lambda);
  number value[NU];
  (void)data;
  lambda_forces(&s, value);
  for (int i = 0; i < NU; i++) f[i] = creal(value[i]);
  return 0;
}

static int p_fn(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  const State s = state_of(t, q, NULL, NULL, NULL);
  number value[NP];
  (void)data;
  positions(&s, value);
  p[0] = creal(value[0]);
  return 0;
}

static int v_fn(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                void *data) {
  const State s = state_of(t, q, u, NULL, NULL);
  number value[NV];
  (void)data;
  velocities(&s, value);
  for (int i = 0; i < NV; i++) v[i] = creal(value[i]);
  v[0] += offset(WRONG_V);
  return 0;
}

static int b_fn(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                void *data) {
  const State s = state_of(t, q, u, NULL, NULL);
  number value[NA];
  (void)data;
  right_hand_side(&s, value);
  for (int i = 0; i < NA; i++) b[i] = creal(value[i]);
  b[1] += offset(WRONG_B);
  return 0;
}

static int zdot_fn(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   const sunrealtype *lambda, sunrealtype *zdot, void *data) {
  const State s = state_of(t, q, u, z, lambda);
  number value[NZ];
  (void)data;
  auxiliary(&s, value);
  for (int i = 0; i < NZ; i++) zdot[i] = creal(value[i]);
  return 0;
}

static int N_fn(const sunrealtype *q, CPMechKinematics what, const sunrealtype *x, sunrealtype *y,
                void *data) {
  const double c = cos(q[2]), d = sin(q[2]);
  (void)data;
  memcpy(y, x, NU * sizeof *y); /* a rotation: N^-1 = N^T */
  const int back = what == CP_N_INVERSE || what == CP_N_TRANSPOSE;
  y[0]           = back ? c * x[0] + d * x[1] : c * x[0] - d * x[1];
  y[1]           = back ? c * x[1] - d * x[0] : d * x[0] + c * x[1];
  if (what == CP_N_INVERSE) y[3] *= 1 + offset(WRONG_N_INVERSE);
  if (what == CP_N_TRANSPOSE) y[1] += offset(WRONG_N_TRANSPOSE) * x[2];
  if (what == CP_N_INVERSE_TRANSPOSE) y[2] += offset(WRONG_N_INVERSE_TRANSPOSE) * x[0];
  return 0;
}

/* ---- derivatives by complex steps ---- */

/* The function that is differentiated; udot is real. */
typedef void (*Function)(const State *s, const sunrealtype *udot, number *value);

static void F_of(const State *s, const sunrealtype *udot, number *value) {
  number M[NU][NU], A[NA][NU], more[NU];
  forces(s, value);
  lambda_forces(s, more);
  mass(s, M);
  constraints(s, A);
  for (int i = 0; i < NU; i++) {
    value[i] += more[i];
    for (int j = 0; j < NU; j++) value[i] -= M[i][j] * udot[j];
    for (int j = 0; j < NA; j++) value[i] -= A[j][i] * s->lambda[j];
  }
}

static void f_of(const State *s, const sunrealtype *udot, number *value) {
  number more[NU];
  (void)udot;
  forces(s, value);
  lambda_forces(s, more);
  for (int i = 0; i < NU; i++) value[i] += more[i];
}

static void B_of(const State *s, const sunrealtype *udot, number *value) {
  number A[NA][NU];
  closed_b(s, value);
  constraints(s, A);
  for (int i = 0; i < NA; i++)
    for (int j = 0; j < NU; j++) value[i] -= A[i][j] * udot[j];
}

static void z_of(const State *s, const sunrealtype *udot, number *value) {
  (void)udot;
  auxiliary(s, value);
}

typedef enum { BY_Q, BY_U, BY_Z, BY_LAMBDA } By;

static void step(State *s, By by, int j) {
  number e[NU] = {0}, qdot[NU];
  e[j]         = 1;
  switch (by) {
  case BY_Q:
    kinematics(s, e, qdot);
    for (int i = 0; i < NU; i++) s->q[i] += I * H * qdot[i];
    break;
  case BY_U: s->u[j] += I * H; break;
  case BY_Z: s->z[j] += I * H; break;
  case BY_LAMBDA: s->lambda[j] += I * H; break;
  }
}

static void fill(SUNMatrix S, Function f, int rows, By by, int cols, const State *s,
                 const sunrealtype *udot, Wrong wrong) {
  for (int j = 0; j < cols; j++) {
    number value[NU];
    State moved = *s;
    step(&moved, by, j);
    f(&moved, udot, value);
    for (int i = 0; i < rows; i++)
      put(S, i, j, cimag(value[i]) / H + (i == 1 && j == 1 ? offset(wrong) : 0));
  }
}

static int dynamics_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                        SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *data) {
  const State s = state_of(t, q, u, z, lambda);
  (void)data;
  fill(K, F_of, NU, BY_Q, NU, &s, udot, WRONG_K);
  fill(C, f_of, NU, BY_U, NU, &s, udot, WRONG_C);
  fill(Fz, f_of, NU, BY_Z, NZ, &s, udot, WRONG_FZ);
  return 0;
}

static int constraint_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                          const sunrealtype *udot, SUNMatrix Bq, SUNMatrix Bu, void *data) {
  const State s = state_of(t, q, u, NULL, NULL);
  (void)data;
  fill(Bq, B_of, NA, BY_Q, NU, &s, udot, WRONG_BQ);
  fill(Bu, B_of, NA, BY_U, NU, &s, udot, WRONG_BU);
  return 0;
}

static int auxiliary_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                         const sunrealtype *z, const sunrealtype *lambda, SUNMatrix Zq,
                         SUNMatrix Zu, SUNMatrix Zz, void *data) {
  const State s = state_of(t, q, u, z, lambda);
  (void)data;
  fill(Zq, z_of, NZ, BY_Q, NU, &s, NULL, WRONG_ZQ);
  fill(Zu, z_of, NZ, BY_U, NU, &s, NULL, WRONG_ZU);
  fill(Zz, z_of, NZ, BY_Z, NZ, &s, NULL, WRONG_ZZ);
  return 0;
}

static int lambda_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                      const sunrealtype *z, const sunrealtype *lambda, SUNMatrix Fl, void *data) {
  const State s = state_of(t, q, u, z, lambda);
  (void)data;
  fill(Fl, f_of, NU, BY_LAMBDA, NA, &s, NULL, WRONG_FL);
  return 0;
}

/* ---- fixture ---- */

/* All entries but `missing` (-1: none) of the first row. */
static SUNMatrix pattern(int rows, int cols, int missing) {
  SUNMatrix S      = SUNSparseMatrix(rows, cols, rows * cols, CSC_MAT, test_context);
  sunindextype nnz = 0;
  for (int j = 0; j < cols; j++) {
    SM_INDEXPTRS_S(S)[j] = nnz;
    for (int i = 0; i < rows; i++)
      if (i > 0 || j != missing) SM_INDEXVALS_S(S)[nnz++] = i;
  }
  SM_INDEXPTRS_S(S)[cols] = nnz;
  return S;
}

static CPEquations functions(void) {
  return (CPEquations){CP_SIZED(CPEquations),
                       .nu             = NU,
                       .nz             = NZ,
                       .np             = NP,
                       .nv             = NV,
                       .na             = NA,
                       .M              = M_fn,
                       .A              = A_fn,
                       .f              = f_fn,
                       .f_lambda       = f_lambda_fn,
                       .p              = p_fn,
                       .v              = v_fn,
                       .b              = b_fn,
                       .N              = N_fn,
                       .zdot           = zdot_fn,
                       .dynamics_jac   = dynamics_jac,
                       .constraint_jac = constraint_jac,
                       .auxiliary_jac  = auxiliary_jac,
                       .lambda_jac     = lambda_jac};
}

static void create(CPEquations model) {
  const sunrealtype y0[] = {1.2, 1.5, 0.4, -0.7, 0, 0, 0, 0, 0.3, -0.6}; /* at rest */
  m.y                    = vector_of(2 * NU + NZ, y0);
  m.mech                 = create_mech(&model, m.y, test_context);
  ck_assert_ptr_nonnull(m.mech);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(m.mech), message_log, &m.log), CP_SUCCESS);
}

static void destroy(void) {
  CPMechFree(&m.mech);
  N_VDestroy(m.y);
}

/* missing: column of the first row of K that its pattern lacks; -1: none */
static void create_sparse(int missing) {
  CPEquations model = functions();
  SUNMatrix nunu = pattern(NU, NU, -1), nanu = pattern(NA, NU, -1), K = pattern(NU, NU, missing);
  model.M_tmpl = model.C_tmpl = nunu;
  model.A_tmpl = model.Bq_tmpl = model.Bu_tmpl = nanu;
  model.K_tmpl                                 = K;
  create(model);
  SUNMatDestroy(nunu);
  SUNMatDestroy(nanu);
  SUNMatDestroy(K);
}

/* The largest error of the report, and its name. */
static sunrealtype largest(const CPMechReport *r, const char **name) {
  const struct {
    const char *name;
    sunrealtype value;
  } all[]   = {{"A_p", r->A_p}, {"A_v", r->A_v}, {"v_p", r->v_p}, {"b_v", r->b_v}, {"M", r->M},
               {"K", r->K},     {"C", r->C},     {"Fz", r->Fz},   {"Bq", r->Bq},   {"Bu", r->Bu},
               {"Zq", r->Zq},   {"Zu", r->Zu},   {"Zz", r->Zz},   {"Fl", r->Fl},   {"Uq", r->Uq},
               {"Uu", r->Uu},   {"Uz", r->Uz},   {"N", r->N},     {"ATl", r->ATl}};
  int worst = 0;
  for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
    if (all[k].value > all[worst].value) worst = (int)k;
  *name = all[worst].name;
  return all[worst].value;
}

static void assert_good(CPMech mech, N_Vector y, const char *what) {
  CPMechReport report = CP_INIT(CPMechReport);
  const char *name;
  const int flag = CPMechCheck(mech, 0, y, &report);
  ck_assert_msg(flag == CP_SUCCESS, "%s: %d, %s", what, flag,
                CPObjectGetLastMessage(CP_OBJECT(mech)));
  const sunrealtype error = largest(&report, &name);
  ck_assert_msg(error < GOOD, "%s: %s %g", what, name, error);
}

/* ---- tests ---- */

START_TEST(good_model_passes) {
  m = (Model){.wrong = NOTHING};
  if (_i) create_sparse(-1);
  else create(functions());
  assert_good(m.mech, m.y, "made up");
  destroy();
}
END_TEST

/* The name by which each wrong function must be detected */
static const struct {
  Wrong wrong;
  int code;
  size_t error; /* in the report */
  const char *words[2];
} FOUND[] = {
    {WRONG_A_P, CP_MECH_A_WRONG, offsetof(CPMechReport, A_p), {"A(0, 1)", "derivative of p"}},
    {WRONG_A_V, CP_MECH_A_WRONG, offsetof(CPMechReport, A_v), {"A(1, 2)", "derivative of v"}},
    {WRONG_V, CP_MECH_B_WRONG, offsetof(CPMechReport, v_p), {"v[0]", "derivative of p"}},
    {WRONG_B, CP_MECH_B_WRONG, offsetof(CPMechReport, b_v), {"b[1]", "derivative of v"}},
    {WRONG_M, CP_MECH_DERIV_WRONG, offsetof(CPMechReport, M), {"M(", "mirror"}},
    {WRONG_N_INVERSE, CP_MECH_DERIV_WRONG, offsetof(CPMechReport, N), {"CP_N_INVERSE", "[3]"}},
    {WRONG_N_TRANSPOSE, CP_MECH_DERIV_WRONG, offsetof(CPMechReport, N), {"CP_N_TRANSPOSE", "[1]"}},
    {WRONG_N_INVERSE_TRANSPOSE,
     CP_MECH_DERIV_WRONG,
     offsetof(CPMechReport, N),
     {"CP_N_INVERSE_TRANSPOSE", "[2]"}},
    {WRONG_K, CP_MECH_DERIV_WRONG, offsetof(CPMechReport, K), {"K(1, 1)", "dynamics_jac"}},
    {WRONG_C, CP_MECH_DERIV_WRONG, offsetof(CPMechReport, C), {"C(1, 1)", "dynamics_jac"}},
    {WRONG_FZ, CP_MECH_DERIV_WRONG, offsetof(CPMechReport, Fz), {"Fz(1, 1)", "dynamics_jac"}},
    {WRONG_BQ, CP_MECH_DERIV_WRONG, offsetof(CPMechReport, Bq), {"Bq(1, 1)", "constraint_jac"}},
    {WRONG_BU, CP_MECH_DERIV_WRONG, offsetof(CPMechReport, Bu), {"Bu(1, 1)", "constraint_jac"}},
    {WRONG_ZQ, CP_MECH_DERIV_WRONG, offsetof(CPMechReport, Zq), {"Zq(1, 1)", "auxiliary_jac"}},
    {WRONG_ZU, CP_MECH_DERIV_WRONG, offsetof(CPMechReport, Zu), {"Zu(1, 1)", "auxiliary_jac"}},
    {WRONG_ZZ, CP_MECH_DERIV_WRONG, offsetof(CPMechReport, Zz), {"Zz(1, 1)", "auxiliary_jac"}},
    {WRONG_FL, CP_MECH_DERIV_WRONG, offsetof(CPMechReport, Fl), {"Fl(1, 1)", "lambda_jac"}},
};
enum { FOUNDS = sizeof FOUND / sizeof FOUND[0] };
_Static_assert(FOUNDS == WRONGS - 1, "each wrong function has its line");

/* Dense and sparse. A v that is wrong by a constant leaves A and b right, and so on: nothing else
 * is blamed, except that with a wrong A the rows of K, Bq and b have another meaning. */
START_TEST(wrong_function_is_found_by_name) {
  CPMechReport report = CP_INIT(CPMechReport);
  const int k         = _i / 2;
  m                   = (Model){.wrong = FOUND[k].wrong};
  if (_i % 2) create_sparse(-1);
  else create(functions());
  const int flag = CPMechCheck(m.mech, 0, m.y, &report);
  ck_assert_msg(flag == FOUND[k].code, "%d, %s", flag, m.log.text);
  ck_assert_int_eq(m.log.count, 1);
  ck_assert_mentions(m.log.text, FOUND[k].words[0]);
  ck_assert_mentions(m.log.text, FOUND[k].words[1]);
  sunrealtype *error = (sunrealtype *)((char *)&report + FOUND[k].error);
  const char *name;
  ck_assert_double_gt(*error, WRONG);
  *error = 0;
  if (FOUND[k].code != CP_MECH_A_WRONG) ck_assert_double_lt(largest(&report, &name), GOOD);
  else ck_assert(report.A_row == k && report.A_col == k + 1);
  destroy();
}
END_TEST

/* The factors use one triangle of M, so that another mechanism would move. */
START_TEST(unsymmetric_mass_gives_no_accelerations) {
  m = (Model){.wrong = WRONG_M};
  if (_i) create_sparse(-1);
  else create(functions());
  ck_assert_int_eq(CPMechAccelerations(m.mech, 0, m.y, NULL, NULL), CP_MECH_DERIV_WRONG);
  ck_assert_mentions(m.log.text, "M is not symmetric: M(");
  destroy();
}
END_TEST

START_TEST(entry_that_a_pattern_lacks_is_found) {
  CPMechReport report = CP_INIT(CPMechReport);
  m                   = (Model){.wrong = NOTHING};
  create_sparse(0); /* K(0, 0), the spring */
  ck_assert_int_eq(CPMechCheck(m.mech, 0, m.y, &report), CP_MECH_DERIV_WRONG);
  ck_assert_mentions(m.log.text, "K(0, 0) is 0");
  destroy();
}
END_TEST

/* ---- a function that bends at the state ---- */

/* M = 1 and v = (1 + |q_0|) u_1: at q_0 = 0 the rate of v is |u_0| u_1, with the sign of the side from which it is taken. */
static const double *slope_of_bend;

static int bend_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q, (void)data;
  for (int i = 0; i < 2; i++) SM_ELEMENT_D(M, i, i) = 1;
  return 0;
}

static int bend_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  (void)t, (void)data;
  SM_ELEMENT_D(A, 0, 1) = 1 + fabs(q[0]);
  return 0;
}

static int bend_forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       const sunrealtype *z, sunrealtype *f, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)data;
  f[0] = f[1] = 0;
  return 0;
}

static int bend_velocity(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                         void *data) {
  (void)t, (void)data;
  v[0] = (1 + fabs(q[0])) * u[1];
  return 0;
}

static int bend_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                  void *data) {
  (void)t, (void)data;
  b[0] = -(q[0] != 0 ? copysign(1, q[0]) : *slope_of_bend) * u[0] * u[1];
  return 0;
}

/* Such is the velocity of a ball along a capsule, beside the end of which it lies. */
START_TEST(derivative_from_one_side_is_right_where_a_function_bends) {
  static const double slopes[] = {1, -1, 2};
  CPMechReport report          = CP_INIT(CPMechReport);
  CPEquations equations        = {CP_SIZED(CPEquations), .nu = 2,          .nv = 1,
                                  .M = bend_mass,        .A = bend_matrix, .f = bend_forces,
                                  .v = bend_velocity,    .b = bend_b};
  N_Vector y                   = N_VNew_Serial(4, test_context);
  const int is_right           = fabs(slopes[_i]) == 1;
  slope_of_bend                = &slopes[_i];
  N_VConst(0, y);
  N_VGetArrayPointer(y)[2] = 1;
  CPModel model            = CPModelCreate(&equations);
  CPMech mech              = CPMechCreate(model, y, test_context);
  ck_assert_ptr_nonnull(mech);
  const int flag = CPMechCheck(mech, 0, y, &report);
  ck_assert_int_eq(flag, is_right ? CP_SUCCESS : CP_MECH_B_WRONG);
  if (is_right) ck_assert_double_lt(report.b_v, GOOD);
  CPMechFree(&mech);
  CPModelFree(&model);
  N_VDestroy(y);
}
END_TEST

/* ---- failures ---- */

START_TEST(bad_arguments_are_refused) {
  CPMechReport report = CP_INIT(CPMechReport);
  m                   = (Model){.wrong = NOTHING};
  create(functions());
  ck_assert_int_eq(CPMechCheck(NULL, 0, m.y, &report), CP_MEM_NULL);
  ck_assert_int_eq(CPMechCheck(m.mech, 0, m.y, NULL), CP_ILL_INPUT);
  ck_assert_mentions(m.log.text, "report");
  destroy();
}
END_TEST

static int failing(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   sunrealtype *f, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)f, (void)data;
  return -7;
}

START_TEST(failing_function_is_named) {
  CPMechReport report = CP_INIT(CPMechReport);
  m                   = (Model){.wrong = NOTHING};
  CPEquations model   = functions();
  model.f             = failing;
  create(model);
  ck_assert_int_eq(CPMechCheck(m.mech, 0, m.y, &report), CP_USERFUNC_FAIL);
  ck_assert_mentions(m.log.text, "function f failed (-7)");
  destroy();
}
END_TEST

START_TEST(every_allocation_may_fail) {
  CPMechReport report = CP_INIT(CPMechReport);
  int n = 0, done = 0;
  m = (Model){.wrong = NOTHING};
  if (_i) create_sparse(-1);
  else create(functions());
  ck_assert_int_eq(CPMechCheck(m.mech, 0, m.y, &report), CP_SUCCESS);
  for (n = 1; !done; n++) {
    alloc_watch_failing(n);
    const int flag = CPMechCheck(m.mech, 0, m.y, &report);
    alloc_unwatch();
    done = !alloc_has_failed();
    ck_assert_int_eq(alloc_live(), 0);
    ck_assert_int_eq(flag, done ? CP_SUCCESS : CP_MEM_FAIL);
    ck_assert_int_lt(n, 600);
  }
  ck_assert_int_gt(n, 10);
  destroy();
}
END_TEST

TEST_SUITE(check) {
  Suite *suite = suite_create("mechanics/check");
  TCase *tc    = tcase_create("check");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, good_model_passes, 0, 2);
  tcase_add_loop_test(tc, wrong_function_is_found_by_name, 0, 2 * FOUNDS);
  tcase_add_loop_test(tc, unsymmetric_mass_gives_no_accelerations, 0, 2);
  tcase_add_test(tc, entry_that_a_pattern_lacks_is_found);
  tcase_add_loop_test(tc, derivative_from_one_side_is_right_where_a_function_bends, 0, 3);
  tcase_add_test(tc, bad_arguments_are_refused);
  tcase_add_test(tc, failing_function_is_named);
  tcase_add_loop_test(tc, every_allocation_may_fail, 0, 2);
  suite_add_tcase(suite, tc);
  return suite;
}
