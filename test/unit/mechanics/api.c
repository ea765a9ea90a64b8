/* Wrong use of the functions of cpodes_mechanics.h: NULL, wrong lengths, wrong choices, calls that
 * are too late; models that break a rule; integrators that come and go. Each error is named, and
 * nothing is changed. */
#include <cpodes/cpodes_integrator.h>
#include <cpodes/cpodes_mechanics.h>
#include <cpodes/cpodes_sens.h>
#include <math.h>
#include <string.h>
#include <sunmatrix/sunmatrix_sparse.h>

#include "models/chain_mechanism.h"
#include "models/pendulum.h"
#include "support/mech_run.h"
#include "support/support.h"

#include <models/counters.h>
#include <sunlinsol/sunlinsol_dense.h>

enum { N = PENDULUM_N };

static Pendulum pendulum;
static CPMech mech;
static N_Vector y, shorter, no_data, bad;
static MessageLog messages;

static N_Vector_ID in_pieces(N_Vector x) {
  (void)x;
  return SUNDIALS_NVEC_MANYVECTOR;
}

static CPMech system_of(const CPEquations *model, N_Vector state, void *user_data) {
  CPMech result = create_mech(model, state, test_context);
  ck_assert_ptr_nonnull(result);
  ck_assert_int_eq(CPMechSetUserData(result, user_data), CP_SUCCESS);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(result), message_log, &messages), CP_SUCCESS);
  return result;
}

static void setup(void) {
  const CPEquations model     = pendulum_model();
  pendulum                    = (Pendulum){.L = 1, .g = 9.81};
  messages                    = (MessageLog){0};
  y                           = VECTOR(0.6, -0.8, 0.8, 0.6);
  bad                         = VECTOR(0.6, -0.8, NAN, 0.6);
  shorter                     = vector_of(N - 1, NULL);
  no_data                     = vector_of(N, NULL);
  no_data->ops->nvgetvectorid = in_pieces;
  mech                        = system_of(&model, y, &pendulum);
}

static void teardown(void) {
  CPMechFree(&mech);
  N_VDestroy(y);
  N_VDestroy(bad);
  N_VDestroy(shorter);
  N_VDestroy(no_data);
}

static void expect(int flag, int code, const char *text, int line) {
  ck_assert_msg(flag == code && messages.code == code, "line %d: %d, not %d: %s", line, flag, code,
                messages.text);
  ck_assert_msg(strstr(messages.text, text) != NULL, "line %d: \"%s\" does not mention \"%s\"",
                line, messages.text, text);
  messages = (MessageLog){0};
}
#define EXPECT(call, code, text) expect((call), (code), (text), __LINE__)

/* ---- NULL ---- */

START_TEST(no_system_is_named) {
  CPMechReport report = CP_INIT(CPMechReport);
  MechCounters stats;
  CPMechOutput out  = CP_INIT(CPMechOutput);
  SUNMatrix S       = SUNDenseMatrix(1, 1, test_context);
  sunrealtype x[2]  = {0, 0};
  const int flags[] = {CPMechSetUserData(NULL, NULL),
                       CPObjectSetErrHandlerFn(NULL, NULL, NULL),
                       CPMechSetActive(NULL, NULL),
                       CPMechSetMetric(NULL, CP_METRIC_L2),
                       CPMechSetLinearSolver(NULL, CP_LINSOL_AUTO),
                       CPMechSetNewton(NULL, CP_NEWTON_AUTO),
                       CPMechSetErrorTimeScale(NULL, 0),
                       CPMechSetGroupNorms(NULL, SUNTRUE),
                       CPMechAttach(NULL, NULL, 0, y),
                       (int)CPMechGetNumMultipliers(NULL),
                       CPMechCalcIC(NULL, 0, y, NULL, NULL, NULL, NULL),
                       CPMechAccelerations(NULL, 0, y, x, NULL),
                       CPMechRhs(0, y, y, NULL),
                       CPMechJvp(NULL, 0, y, NULL, y, NULL, y, NULL),
                       CPMechVjp(NULL, 0, y, NULL, y, y, NULL),
                       CPMechEvaluate(NULL, 0, y, &out),
                       CPMechProject(NULL, CP_TANGENT, 0, y, x),
                       CPMechProject(NULL, CP_NORMAL, 0, y, x),
                       CPMechProject(NULL, CP_COTANGENT, 0, y, x),
                       CPMechDelassus(NULL, 0, y, S, NULL),
                       CPMechDelassus(NULL, 0, y, NULL, S),
                       CPMechImpact(NULL, 0, y, NULL, 0, NULL),
                       CPMechCheck(NULL, 0, y, &report),
                       mech_counters(NULL, &stats)};
  const void *P     = CPMechGetProjector(NULL);
  for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
    ck_assert_msg(flags[i] == CP_MEM_NULL, "call %zu: %d", i, flags[i]);
  ck_assert_mentions(CPObjectGetLastMessage(NULL), "mech must not be NULL");
  ck_assert_ptr_null(P);
  CPMechFree(NULL);
  CPMech none = NULL;
  CPMechFree(&none);
  SUNMatDestroy(S);
}
END_TEST

/* ---- states ---- */

/* All functions that need a state, with the same wrong one */
static void wrong_state(N_Vector state, const char *text) {
  CPMechReport report = CP_INIT(CPMechReport);
  CPMechOutput out    = CP_INIT(CPMechOutput);
  CPIntegrator mem    = CPIntegratorCreate("BDF", test_context);
  SUNMatrix S         = SUNDenseMatrix(1, 1, test_context);
  sunrealtype x[2]    = {0, 0};
  EXPECT(CPMechCalcIC(mech, 0, state, NULL, NULL, NULL, NULL), CP_ILL_INPUT, text);
  EXPECT(CPMechAccelerations(mech, 0, state, x, NULL), CP_ILL_INPUT, text);
  EXPECT(CPMechRhs(0, state, y, mech), CP_ILL_INPUT, text);
  EXPECT(CPMechVjp(mech, 0, state, NULL, y, y, NULL), CP_ILL_INPUT, text);
  EXPECT(CPMechEvaluate(mech, 0, state, &out), CP_ILL_INPUT, text);
  EXPECT(CPMechProject(mech, CP_TANGENT, 0, state, x), CP_ILL_INPUT, text);
  EXPECT(CPMechProject(mech, CP_NORMAL, 0, state, x), CP_ILL_INPUT, text);
  EXPECT(CPMechProject(mech, CP_COTANGENT, 0, state, x), CP_ILL_INPUT, text);
  EXPECT(CPMechDelassus(mech, 0, state, S, NULL), CP_ILL_INPUT, text);
  EXPECT(CPMechDelassus(mech, 0, state, NULL, S), CP_ILL_INPUT, text);
  EXPECT(CPMechImpact(mech, 0, state, NULL, 0, NULL), CP_ILL_INPUT, text);
  EXPECT(CPMechCheck(mech, 0, state, &report), CP_ILL_INPUT, text);
  EXPECT(CPMechAttach(mech, mem, 0, state), CP_ILL_INPUT, text);
  SUNMatDestroy(S);
  CPIntegratorFree(&mem);
}

START_TEST(wrong_states_are_named) {
  switch (_i) {
  case 0: wrong_state(NULL, "must not be NULL"); break;
  case 1: wrong_state(shorter, "must have length nq + nu + nz = 4, has 3"); break;
  case 2: wrong_state(no_data, "one memory"); break;
  default: wrong_state(bad, "must be finite");
  }
}
END_TEST

/* y' may be the first that is asked of a system. */
START_TEST(rates_need_no_integrator) {
  const CPEquations model = pendulum_model();
  CPMech other            = system_of(&model, y, &pendulum);
  N_Vector ydot           = vector_of(N, NULL);
  sunrealtype a[2];
  ck_assert_int_eq(CPMechRhs(0, y, ydot, mech), CP_SUCCESS);
  ck_assert_int_eq(CPMechAccelerations(other, 0, y, a, NULL), CP_SUCCESS);
  for (int j = 0; j < 2; j++) {
    ck_assert(entries(ydot)[j] == entries(y)[2 + j]);
    ck_assert(entries(ydot)[2 + j] == a[j]);
  }
  CPMechFree(&other);
  N_VDestroy(ydot);
}
END_TEST

START_TEST(missing_arrays_are_named) {
  SUNMatrix large  = SUNDenseMatrix(2, 2, test_context),
            sparse = SUNSparseMatrix(1, 1, 1, CSC_MAT, test_context);
  N_Vector zeros   = vector_of(N, NULL);
  EXPECT(CPMechEvaluate(mech, 0, y, NULL), CP_ILL_INPUT, "out must not be NULL");
  EXPECT(CPMechProject(mech, CP_TANGENT, 0, y, NULL), CP_ILL_INPUT, "x must not be NULL");
  EXPECT(CPMechProject(mech, CP_NORMAL, 0, y, NULL), CP_ILL_INPUT, "x must not be NULL");
  EXPECT(CPMechProject(mech, CP_COTANGENT, 0, y, NULL), CP_ILL_INPUT, "x must not be NULL");
  EXPECT(CPMechDelassus(mech, 0, y, NULL, NULL), CP_ILL_INPUT, "S and W must not both be NULL");
  EXPECT(CPMechDelassus(mech, 0, y, large, NULL), CP_ILL_INPUT, "dense, 1 x 1");
  EXPECT(CPMechDelassus(mech, 0, y, sparse, NULL), CP_ILL_INPUT, "dense, 1 x 1");
  EXPECT(CPMechDelassus(mech, 0, y, NULL, large), CP_ILL_INPUT, "dense, 1 x 1");
  EXPECT(CPMechCheck(mech, 0, y, NULL), CP_ILL_INPUT, "report must not be NULL");
  EXPECT(CPMechAttach(mech, NULL, 0, y), CP_ILL_INPUT, "mem must not be NULL");
  EXPECT(CPMechCalcIC(mech, 0, y, shorter, NULL, NULL, NULL), CP_ILL_INPUT, "weights");
  EXPECT(CPMechCalcIC(mech, 0, y, zeros, NULL, NULL, NULL), CP_ILL_INPUT,
         "weights must be positive");
  EXPECT(CPMechCalcIC(mech, 0, y, NULL, shorter, NULL, NULL), CP_ILL_INPUT, "id");
  EXPECT(CPMechCalcIC(mech, 0, y, NULL, bad, NULL, NULL), CP_ILL_INPUT, "id must be finite");
  EXPECT(CPMechImpact(mech, 0, y, NULL, 1.5, NULL), CP_ILL_INPUT, "e = 1.5");
  EXPECT(CPMechImpact(mech, 0, y, NULL, NAN, NULL), CP_ILL_INPUT, "from 0 to 1");
  N_VDestroy(zeros);
  SUNMatDestroy(large);
  SUNMatDestroy(sparse);
}
END_TEST

/* ---- options ---- */

static int at_time(sunrealtype t, sunrealtype *g, void *data) {
  (void)data;
  *g = t;
  return 0;
}

START_TEST(wrong_options_are_named) {
  EXPECT(CPMechSetMetric(mech, (CPMechMetric)5), CP_ILL_INPUT, "is 5");
  EXPECT(CPMechSetMetric(mech, (CPMechMetric)-1), CP_ILL_INPUT, "is -1");
  EXPECT(CPMechSetLinearSolver(mech, (CPLinSol)5), CP_ILL_INPUT, "is 5");
  EXPECT(CPMechSetNewton(mech, (CPMechNewton)4), CP_ILL_INPUT, "is 4");
  EXPECT(CPMechSetErrorTimeScale(mech, -2), CP_ILL_INPUT, "tau = -2");
  EXPECT(CPMechSetErrorTimeScale(mech, INFINITY), CP_ILL_INPUT, "tau = inf");
}
END_TEST

/* It is refused at the first use, where the system is set up. */
START_TEST(a_sparse_solver_of_dense_matrices_is_named) {
  sunrealtype udot[2];
  ck_assert_int_eq(CPMechSetLinearSolver(mech, CP_LINSOL_SPARSE), CP_SUCCESS);
  EXPECT(CPMechAccelerations(mech, 0, y, udot, NULL), CP_ILL_INPUT,
         "CP_LINSOL_KKT need sparse M and A");
  ck_assert_int_eq(CPMechSetLinearSolver(mech, CP_LINSOL_AUTO), CP_SUCCESS);
  ck_assert_int_eq(CPMechAccelerations(mech, 0, y, udot, NULL), CP_SUCCESS);
}
END_TEST

/* After the first use the set-up cannot be changed, and after attaching, not the options of CVODES. */
START_TEST(late_options_are_named) {
  CPIntegrator mem = CPIntegratorCreate("BDF", test_context);
  sunrealtype udot[2];
  ck_assert_int_eq(CPMechAccelerations(mech, 0, y, udot, NULL), CP_SUCCESS);
  EXPECT(CPMechSetLinearSolver(mech, CP_LINSOL_SCHUR), CP_TOO_LATE, "first use");
  ck_assert_int_eq(CPMechSetNewton(mech, CP_NEWTON_HALF), CP_SUCCESS);
  ck_assert_int_eq(CPMechSetErrorTimeScale(mech, CP_TAU_STEP), CP_SUCCESS);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0, y), CP_SUCCESS);
  EXPECT(CPMechSetNewton(mech, CP_NEWTON_KKT), CP_TOO_LATE, "CPMechAttach");
  EXPECT(CPMechSetErrorTimeScale(mech, 1), CP_TOO_LATE, "CPMechAttach");
  EXPECT(CPMechSetGroupNorms(mech, SUNTRUE), CP_TOO_LATE, "CPMechAttach");
  ck_assert_int_eq(CPMechSetMetric(mech, CP_METRIC_L2), CP_SUCCESS);
  ck_assert_int_eq(CPMechSetActive(mech, NULL), CP_SUCCESS);
  CPIntegratorFree(&mem);
}
END_TEST

/* ---- wrong products are detected at the first step ---- */

static CPEquations right_products;
static int au_by_two(sunrealtype t, const sunrealtype *q, const sunrealtype *x, sunrealtype *result,
                     void *data) {
  const int flag = right_products.Au(t, q, x, result, data);
  result[0] *= 2.0;
  return flag;
}
static int atl_by_two(sunrealtype t, const sunrealtype *q, const sunrealtype *x,
                      sunrealtype *result, void *data) {
  const int flag = right_products.ATl(t, q, x, result, data);
  result[0] *= 2.0;
  return flag;
}

START_TEST(wrong_products_of_operators_are_told_apart) {
  Chain *chain      = chain_create(2, 9.81);
  N_Vector state    = vector_of(8, NULL);
  CPEquations model = right_products = chain_mechanism(chain);
  sunrealtype t;
  if (_i) model.ATl = atl_by_two;
  else model.Au = au_by_two;
  chain_initial(chain, state);
  CPMech m         = system_of(&model, state, chain);
  CPIntegrator mem = CPIntegratorCreate("ADAMS", test_context);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &messages), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-8, 1e-8), CP_SUCCESS);
  ck_assert_int_eq(CPMechAttach(m, mem, 0, state), CP_SUCCESS);
  EXPECT(CPIntegratorEvolve(mem, 1, state, &t, CV_NORMAL), CP_CNSTRJAC_WRONG,
         _i ? "ATl is not the transpose of Au" : "Au is not the derivative");
  CPIntegratorFree(&mem);
  CPMechFree(&m);
  chain_free(&chain);
  N_VDestroy(state);
}
END_TEST

START_TEST(options_that_need_matrices_are_refused_to_operators) {
  Chain *chain      = chain_create(2, 9.81);
  CPEquations model = chain_mechanism(chain);
  N_Vector state    = vector_of(8, NULL);
  chain_initial(chain, state);
  CPMech m = system_of(&model, state, chain);
  EXPECT(CPMechSetLinearSolver(m, CP_LINSOL_SCHUR), CP_NOT_SUPPORTED, "udot");
  EXPECT(CPMechSetNewton(m, CP_NEWTON_KKT), CP_NOT_SUPPORTED, "M and A");
  EXPECT(CPMechSetMetric(m, CP_METRIC_NEWTON), CP_NOT_SUPPORTED, "M and A");
  CPMechFree(&m);
  model.Minv = NULL;
  m          = system_of(&model, state, chain);
  EXPECT(CPMechSetMetric(m, CP_METRIC_KINETIC), CP_NOT_SUPPORTED, "Minv");
  EXPECT(CPMechImpact(m, 0, state, NULL, 0, NULL), CP_NOT_SUPPORTED, "Minv");
  CPMechFree(&m);
  chain_free(&chain);
  N_VDestroy(state);
}
END_TEST

/* ---- models ---- */

static int any_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q, (void)M, (void)data;
  return 0;
}
static int any_position(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  (void)t, (void)q, (void)p, (void)data;
  return 0;
}
static int any_velocity(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                        void *data) {
  (void)t, (void)q, (void)u, (void)v, (void)data;
  return 0;
}
static int any_zdot(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                    const sunrealtype *lambda, sunrealtype *zdot, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)lambda, (void)zdot, (void)data;
  return 0;
}
static int any_force(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                     const sunrealtype *z, sunrealtype *f, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)f, (void)data;
  return 0;
}
static int any_udot(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                    sunrealtype *a, sunrealtype *lambda, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)a, (void)lambda, (void)data;
  return 0;
}
static int any_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   const sunrealtype *lambda, SUNMatrix F, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)lambda, (void)F, (void)data;
  return 0;
}

static int any_f_lambda(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *lambda, sunrealtype *f, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)lambda, (void)f, (void)data;
  return 0;
}
static int any_product(sunrealtype t, const sunrealtype *q, const sunrealtype *x,
                       sunrealtype *result, void *data) {
  (void)t, (void)q, (void)x, (void)result, (void)data;
  return 0;
}

typedef struct {
  CPEquations model;
  sunindextype length; /* of the state */
  const char *text;
} Broken;

#define WHOLE .M = any_matrix, .A = any_matrix, .p = any_position

static int any_kinematics(const sunrealtype *q, CPMechKinematics what, const sunrealtype *x,
                          sunrealtype *v, void *data) {
  (void)q, (void)what, (void)x, (void)v, (void)data;
  return 0;
}
static void any_free(void *data) { (void)data; }

static const CPQuaternion overlapping[] = {
    {0, 0, CP_FRAME_BODY}, {3, 3, CP_FRAME_BODY}, {4, 2, CP_FRAME_BODY}};
static const CPMotion twice[] = {{.g = at_time, .step = 1}, {.g = at_time, .step = 1}};
#define QUATERNION(q, u, frame)    .quaternions = &(const CPQuaternion){q, u, frame}, .nquaternions = 1
#define NORM(first, length, value) .norms = &(const CPFixedNorm){first, length, value}, .nnorms = 1
#define MOTION(i, kind, g, step) \
  .motions = &(const CPMotion){i, kind, g, NULL, NULL, step, NULL}, .nmotions = 1

static const Broken broken[] = {
    {{CP_SIZED(CPEquations), .nu = 0, WHOLE}, 4, "nu must be positive: nu = 0"},
    {{CP_SIZED(CPEquations), .nu = -1, WHOLE}, 4, "nu = -1"},
    {{CP_SIZED(CPEquations), .nu = 2, .nz = -1, WHOLE}, 4, "nz = -1"},
    {{CP_SIZED(CPEquations), .nu = 2, .nz = 1, .nquad = 2, WHOLE},
     5,
     "nquad must be from 0 to nz: nquad = 2, nz = 1"},
    {{CP_SIZED(CPEquations), .nu = 2, .nz = 1, .work = 2, WHOLE},
     5,
     "work must be from 0 to nz: work = 2, nz = 1"},
    {{CP_SIZED(CPEquations), .nu = 2, .np = -1, WHOLE}, 4, "np = -1"},
    {{CP_SIZED(CPEquations), .nu = 2, .nv = -2, WHOLE}, 4, "nv = -2"},
    {{CP_SIZED(CPEquations), .nu = 2, .na = -3, WHOLE}, 4, "na = -3"},
    {{CP_SIZED(CPEquations), .nu = 2, .nq = -1, WHOLE}, 4, "nq = -1"},
    {{CP_SIZED(CPEquations), .nu = 2, .nq = 1, WHOLE}, 3, "nq must be at least nu: nq = 1, nu = 2"},
    {{CP_SIZED(CPEquations), .nu = 2, .np = 1, WHOLE}, 5, "length nq + nu + nz = 4, has 5"},
    {{CP_SIZED(CPEquations), .nu = 2, .nz = 1, WHOLE}, 5, "zdot must be given"},
    {{CP_SIZED(CPEquations), .nu = 2, .A = any_matrix},
     4,
     "M, a constant M_tmpl, inverse or udot must be given"},
    {{CP_SIZED(CPEquations), .nu = 2, .np = 1, .na = 2, .M = any_matrix, .p = any_position,
      .b = any_velocity},
     4,
     "A must be given if na > nv"},
    {{CP_SIZED(CPEquations), .nu = 2, .np = 1, .nv = 2, .M = any_matrix, .p = any_position},
     4,
     "A or v must be given if nv > np"},
    {{CP_SIZED(CPEquations), .nu = 2, .np = 1, .M = any_matrix, .A = any_matrix},
     4,
     "p must be given"},
    {{CP_SIZED(CPEquations), .nu = 2, .na = 1, WHOLE}, 4, "b must be given"},
    {{CP_SIZED(CPEquations), .nu = 2, .udot = any_udot, .f = any_force},
     4,
     "without M and inverse, udot must not be given together"},
    {{CP_SIZED(CPEquations), .nu = 2, .udot = any_udot, .A = any_matrix},
     4,
     "without M and inverse, udot must not be given together"},
    {{CP_SIZED(CPEquations), .nu = 2, .udot = any_udot, .f_lambda = any_f_lambda},
     4,
     "without M and inverse, udot must not be given together"},
    {{CP_SIZED(CPEquations), .nu = 2, .np = 1, .udot = any_udot, .p = any_position,
      .Au = any_product},
     4,
     "Au and ATl must be given"},
    {{CP_SIZED(CPEquations), .nu = 2, .M = any_matrix, .b = any_velocity},
     4,
     "A, b, Au, ATl must not be given if np"},
    {{CP_SIZED(CPEquations), .nu = 2, .M = any_matrix, .Au = any_product},
     4,
     "A, b, Au, ATl must not be given if np"},
    {{CP_SIZED(CPEquations), .nu = 2, .M = any_matrix, .ATl = any_product},
     4,
     "A, b, Au, ATl must not be given if np"},
    {{CP_SIZED(CPEquations), .nu = 1000000000, WHOLE}, 4, "nu = 1000000000"},
    {{CP_SIZED(CPEquations), .nu = 2, .np = 1, .udot = any_udot, .p = any_position},
     4,
     "Au and ATl must be given"},
    {{CP_SIZED(CPEquations), .nu = 2, .lambda_jac = any_jac, WHOLE},
     4,
     "lambda_jac must not be given without f_lambda"},
    {{CP_SIZED(CPEquations), .nu = 2, WHOLE}, 4, "p must not be given if np = 0"},
    {{CP_SIZED(CPEquations), .nu = 2, .M = any_matrix, .v = any_velocity},
     4,
     "v must not be given if np = nv = 0"},
    {{CP_SIZED(CPEquations), .nu = 2, .M = any_matrix, .A = any_matrix},
     4,
     "A, b, Au, ATl must not be given if np"},
    {{CP_SIZED(CPEquations), .nu = 2, .M = any_matrix, .zdot = any_zdot},
     4,
     "zdot must not be given if nz = 0"},
    {{CP_SIZED(CPEquations), .nu = 2, .M = any_matrix, .time = -1}, 4, "time = -1"},
    {{CP_SIZED(CPEquations), .nu = 2, .M = any_matrix, .time = INFINITY}, 4, "time = inf"},
    {{CP_SIZED(CPEquations), .nu = 2, .nq = 3, .M = any_matrix}, 5, "3, nu = 2, 0 quaternions"},
    {{CP_SIZED(CPEquations), .nu = 3, .nq = 4, .M = any_matrix, .nquaternions = 1},
     7,
     "quaternions must not be NULL"},
    {{CP_SIZED(CPEquations), .nu = 3, .nq = 4, .M = any_matrix, QUATERNION(0, 0, (CPFrame)7)},
     7,
     "is 7"},
    {{CP_SIZED(CPEquations), .nu = 3, .nq = 4, .M = any_matrix, QUATERNION(1, 0, CP_FRAME_BODY)},
     7,
     "first_q = 1"},
    {{CP_SIZED(CPEquations), .nu = 3, .nq = 4, .M = any_matrix, QUATERNION(-1, 0, CP_FRAME_BODY)},
     7,
     "first_q = -1"},
    {{CP_SIZED(CPEquations), .nu = 3, .nq = 4, .M = any_matrix, QUATERNION(0, 1, CP_FRAME_BODY)},
     7,
     "first_u = 1"},
    {{CP_SIZED(CPEquations), .nu = 3, .nq = 4, .M = any_matrix, QUATERNION(0, -1, CP_FRAME_BODY)},
     7,
     "first_u = -1"},
    {{CP_SIZED(CPEquations), .nu = 6, .nq = 8, .M = any_matrix, .quaternions = overlapping,
      .nquaternions = 2},
     14,
     "overlap: first_q = 3, first_u = 3, and there is one with 0, 0"},
    {{CP_SIZED(CPEquations), .nu = 6, .nq = 8, .M = any_matrix, .quaternions = overlapping + 1,
      .nquaternions = 2},
     14,
     "overlap: first_q = 3, first_u = 3, and there is one with 4, 2"},
    {{CP_SIZED(CPEquations), .nu = 3, .nq = 4, .M = any_matrix, .N = any_kinematics,
      QUATERNION(0, 0, CP_FRAME_BODY)},
     7,
     "function N of its own"},
    {{CP_SIZED(CPEquations), .nu = 4, .M = any_matrix, NORM(0, 2, 1)}, 8, "belong to a function N"},
    {{CP_SIZED(CPEquations), .nu = 4, .M = any_matrix, .N = any_kinematics, .nnorms = 1},
     8,
     "norms must not be NULL"},
    {{CP_SIZED(CPEquations), .nu = 4, .M = any_matrix, .N = any_kinematics, NORM(-1, 4, 1)},
     8,
     "first = -1"},
    {{CP_SIZED(CPEquations), .nu = 4, .M = any_matrix, .N = any_kinematics, NORM(1, 4, 1)},
     8,
     "length = 4"},
    {{CP_SIZED(CPEquations), .nu = 4, .M = any_matrix, .N = any_kinematics, NORM(0, 0, 1)},
     8,
     "length = 0"},
    {{CP_SIZED(CPEquations), .nu = 4, .M = any_matrix, .N = any_kinematics, NORM(0, 4, 0)},
     8,
     "value = 0"},
    {{CP_SIZED(CPEquations), .nu = 4, .M = any_matrix, .N = any_kinematics, NORM(0, 4, INFINITY)},
     8,
     "value = inf"},
    {{CP_SIZED(CPEquations), .nu = 2, .M = any_matrix, .nmotions = 1}, 4, "motions must not be NULL"},
    {{CP_SIZED(CPEquations), .nu = 2, .M = any_matrix, MOTION(2, CP_MOTION_FULL, at_time, 1)},
     4,
     "from 0 to 1, is 2"},
    {{CP_SIZED(CPEquations), .nu = 2, .M = any_matrix, MOTION(-1, CP_MOTION_FULL, at_time, 1)},
     4,
     "is -1"},
    {{CP_SIZED(CPEquations), .nu = 2, .M = any_matrix, MOTION(0, (CPMotionKind)3, at_time, 1)},
     4,
     "is 3"},
    {{CP_SIZED(CPEquations), .nu = 2, .M = any_matrix, MOTION(0, CP_MOTION_RATE, NULL, 1)},
     4,
     "g must not be NULL"},
    {{CP_SIZED(CPEquations), .nu = 2, .M = any_matrix, MOTION(0, CP_MOTION_RATE, at_time, 0)},
     4,
     "step"},
    {{CP_SIZED(CPEquations), .nu = 2, .M = any_matrix, .motions = twice, .nmotions = 2},
     4,
     "prescribed already"},
    {{CP_SIZED(CPEquations), .nu = 2, .udot = any_udot, MOTION(0, CP_MOTION_FULL, at_time, 1)},
     4,
     "matrices M and A"},
    {{CP_SIZED(CPEquations), .nu = 2, .M = any_matrix, .free_data = any_free},
     4,
     "free_data and free_model_data"},
    {{CP_SIZED(CPEquations), .nu = 2, .M = any_matrix, .free_model_data = any_free},
     4,
     "free_data and free_model_data"},
};
enum { BROKEN = sizeof broken / sizeof broken[0] };

START_TEST(broken_models_are_named) {
  N_Vector state = vector_of(broken[_i].length, NULL);
  CPMech m       = create_mech(&broken[_i].model, state, test_context);
  ck_assert_ptr_null(m);
  ck_assert_mentions(CPObjectGetLastMessage(NULL), broken[_i].text);
  N_VDestroy(state);
}
END_TEST

/* A program that was built with an earlier version allocates less: what it lacks is 0, and what lies behind it is left
 * alone. */
START_TEST(structs_of_an_earlier_version_are_read_and_written_up_to_their_size) {
  const CPEquations now = pendulum_model();
  CPEquations before    = now;
  before.size           = offsetof(CPEquations, b);
  memset((char *)&before + before.size, 0xff, sizeof before - before.size);
  CPModel model               = CPModelCreate(&before);
  const CPEquations *received = CPModelGetEquations(model);
  ck_assert_ptr_nonnull(received);
  ck_assert_uint_eq(received->size, sizeof *received);
  ck_assert(received->p == now.p && received->v == now.v && !received->b && !received->row_name);
  Pendulum p     = {1, 9.81};
  N_Vector start = vector_of(4, NULL);
  sunrealtype udot[2];
  pendulum_initial(&p, start);
  CPMech m = CPMechCreate(model, start, test_context);
  CPModelFree(&model);
  ck_assert_int_eq(CPMechSetUserData(m, &p), CP_SUCCESS);
  CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = udot, .position = -1, .rank = -7};
  out.size         = offsetof(CPMechOutput, position);
  ck_assert_int_eq(CPMechEvaluate(m, 0, start, &out), CP_SUCCESS);
  ck_assert(out.position == -1 && out.rank == -7 && isfinite(udot[0]) && out.kinetic >= 0);
  CPMechReport report = {CP_SIZED(CPMechReport), .v_p = -1, .freedom = -7};
  report.size         = offsetof(CPMechReport, v_p);
  ck_assert_int_eq(CPMechCheck(m, 0, start, &report), CP_SUCCESS);
  ck_assert(report.v_p == -1 && report.freedom == -7 && report.A_p >= 0);
  CPMechSuggestion found = {CP_SIZED(CPMechSuggestion), .radius = -1, .reason = "kept"};
  found.size             = offsetof(CPMechSuggestion, radius);
  ck_assert_int_eq(CPMechSuggestMethod(m, 0, start, 1, 1e-6, &found), CP_SUCCESS);
  ck_assert(found.radius == -1 && !strcmp(found.reason, "kept") && found.method);
  out.size = report.size = found.size = 0;
  ck_assert_int_eq(CPMechEvaluate(m, 0, start, &out), CP_OLD_STRUCT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(m)), "size of out");
  ck_assert_int_eq(CPMechCheck(m, 0, start, &report), CP_OLD_STRUCT);
  ck_assert_int_eq(CPMechSuggestMethod(m, 0, start, 1, 1e-6, &found), CP_OLD_STRUCT);
  ck_assert_int_eq(CPMechAddForce(m, &(CPMechForce){.f = any_f_lambda}, NULL), CP_OLD_STRUCT);
  ck_assert_ptr_null(CPModelCreate(&(CPEquations){.nu = 1}));
  ck_assert_mentions(CPObjectGetLastMessage(NULL), "size of equations");
  CPMechFree(&m);
  N_VDestroy(start);
}
END_TEST

START_TEST(sparse_templates_want_the_function_A) {
  CPEquations model = {CP_SIZED(CPEquations), .nu = 2, .np = 1, .M = any_matrix, .p = any_position};
  SUNMatrix M       = SUNSparseMatrix(2, 2, 2, CSC_MAT, test_context),
            A       = SUNSparseMatrix(1, 2, 2, CSC_MAT, test_context);
  N_Vector state    = vector_of(4, NULL);
  for (int which = 0; which < 2; which++) {
    model.M_tmpl = which ? NULL : M;
    model.A_tmpl = which ? A : NULL;
    CPMech m     = create_mech(&model, state, test_context);
    ck_assert_ptr_null(m);
    ck_assert_mentions(CPObjectGetLastMessage(NULL), "A must be given with sparse templates");
  }
  SUNMatDestroy(M);
  SUNMatDestroy(A);
  N_VDestroy(state);
}
END_TEST

START_TEST(missing_arguments_of_create_are_named) {
  const CPEquations model   = pendulum_model();
  const char *const texts[] = {"equations must not be NULL", "y_tmpl must not be NULL",
                               "ctx must not be NULL", "one memory"};
  for (int i = 0; i < 4; i++) {
    ck_assert_ptr_null(create_mech(i == 0 ? NULL : &model,
                                   i == 1   ? NULL
                                   : i == 3 ? no_data
                                            : y,
                                   i == 2 ? NULL : test_context));
    ck_assert_mentions(CPObjectGetLastMessage(NULL), texts[i]);
  }
}
END_TEST

/* Templates of the wrong size, type or pattern: each is named. */
START_TEST(wrong_templates_are_named) {
  const char *const names[] = {"M_tmpl",  "A_tmpl",  "K_tmpl",  "C_tmpl",  "Fz_tmpl",
                               "Bq_tmpl", "Bu_tmpl", "Zq_tmpl", "Zu_tmpl", "Zz_tmpl"};
  CPEquations model         = pendulum_model();
  SUNMatrix *const tmpl[]   = {&model.M_tmpl,  &model.A_tmpl,  &model.K_tmpl,  &model.C_tmpl,
                               &model.Fz_tmpl, &model.Bq_tmpl, &model.Bu_tmpl, &model.Zq_tmpl,
                               &model.Zu_tmpl, &model.Zz_tmpl};
  SUNMatrix wrong           = SUNDenseMatrix(3, 5, test_context);
  SUNMatrix had             = *tmpl[_i];
  *tmpl[_i]                 = wrong;
  CPMech m                  = create_mech(&model, y, test_context);
  ck_assert_ptr_null(m);
  ck_assert_mentions(CPObjectGetLastMessage(NULL), names[_i]);
  *tmpl[_i] = had;
  SUNMatDestroy(wrong);
}
END_TEST

/* ---- integrators ---- */

static int any_rhs(sunrealtype t, N_Vector state, N_Vector rate, void *data) {
  (void)t, (void)state, (void)data;
  N_VConst(0, rate);
  return 0;
}

static CPIntegrator new_integrator(int lmm) {
  CPIntegrator mem = CPIntegratorCreate(lmm == CV_BDF ? "BDF" : "ADAMS", test_context);
  ck_assert_ptr_nonnull(mem);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &messages), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-8, 1e-8), CP_SUCCESS);
  return mem;
}

/* Integrates from y to t = 1; result: out. */
static void integrate(CPIntegrator mem, N_Vector result) {
  sunrealtype t;
  const int flag = CPIntegratorEvolve(mem, 1, result, &t, CV_NORMAL);
  ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, messages.text);
}

START_TEST(integrators_that_cannot_be_attached_to_are_named) {
  CPIntegrator started = new_integrator(CV_BDF), mem = new_integrator(CV_BDF),
               other      = new_integrator(CV_BDF);
  void *cvode_mem         = CVodeCreate(CV_BDF, test_context);
  const CPEquations model = pendulum_model();
  ck_assert_int_eq(CPIntegratorInit(started, any_rhs, 0, y), CP_SUCCESS);
  EXPECT(CPMechAttach(mech, started, 0, y), CP_ILL_INPUT, "right-hand side already");
  ck_assert_int_eq(CPMechGetUse(mech) & CP_MECH_ATTACHED, 0);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0, y), CP_SUCCESS);
  EXPECT(CPMechAttach(mech, other, 0, y), CP_ILL_INPUT, "attached to another integrator");
  CPMech second = system_of(&model, y, &pendulum);
  ck_assert_int_eq(CVodeInit(cvode_mem, any_rhs, 0, y), CV_SUCCESS);
  CPIntegrator users = CPIntegratorAttach(cvode_mem, "BDF", NULL, y, test_context);
  ck_assert_ptr_nonnull(users);
  EXPECT(CPMechAttach(second, users, 0, y), CP_NOT_SUPPORTED, "CPIntegratorAttach");
  CPIntegratorFree(&users);
  CPIntegrator radau = CPIntegratorCreate("RADAU", test_context);
  ck_assert_int_eq(CPMechSetNewton(second, CP_NEWTON_HALF), CP_SUCCESS);
  ck_assert_int_lt(CPMechAttach(second, radau, 0, y), 0);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(second)), "CP_NEWTON_");
  CPIntegratorFree(&radau);
  CPMechFree(&second);
  ck_assert_int_eq(CPMechGetUse(mech) & CP_MECH_ATTACHED, 1);
  CPIntegratorFree(&started);
  CPIntegratorFree(&mem);
  ck_assert_int_eq(CPMechGetUse(mech) & CP_MECH_ATTACHED, 0);
  ck_assert_int_eq(CPMechGetUse(NULL) & CP_MECH_ATTACHED, 0);
  CPIntegratorFree(&other);
  CVodeFree(&cvode_mem);
}
END_TEST

static int attach_wrongly(int how, CPMech system, CPIntegrator mem, CPIntegrator one) {
  N_Vector start = how == 0 ? NULL : how == 1 ? shorter : how == 2 ? bad : y;
  return mem ? CPMechAttach(system, mem, 0, start) : CPMechAttach(system, one, 0, start);
}

/* The same from whichever of the two objects is asked. */
START_TEST(a_refused_attachment_leaves_its_message_with_both_objects) {
  const int how    = _i / 2;
  CPIntegrator mem = _i % 2 ? NULL : new_integrator(CV_BDF), user = new_integrator(CV_BDF);
  CPIntegrator one = _i % 2 ? CPIntegratorCreate("DOP853", test_context) : NULL;
  CPMech system    = how == 4 ? NULL : mech;
  if (how == 3) ck_assert_int_eq(CPMechAttach(mech, user, 0, y), CP_SUCCESS);
  if (how == 5 && mem) ck_assert_int_eq(CPIntegratorInit(mem, any_rhs, 0, y), CP_SUCCESS);
  if (how == 5 && one) ck_assert_int_eq(CPIntegratorInit(one, any_rhs, 0, y), CP_SUCCESS);
  ck_assert_int_lt(attach_wrongly(how, system, mem, one), 0);
  const char *text =
      mem ? CPObjectGetLastMessage(CP_OBJECT(mem)) : CPObjectGetLastMessage(CP_OBJECT(one));
  ck_assert_int_gt(strlen(text), 10);
  if (system) ck_assert_str_eq(text, CPObjectGetLastMessage(CP_OBJECT(mech)));
  CPIntegratorFree(&mem);
  CPIntegratorFree(&user);
  CPIntegratorFree(&one);
}
END_TEST

/* Attaching again restarts; so do CPIntegratorReInit and another integrator: the same trajectory, to the
 * last bit. */
START_TEST(integrators_come_and_go) {
  const int lmm  = _i ? CV_ADAMS : CV_BDF;
  N_Vector first = vector_copy(y), again = vector_copy(y);
  CPIntegrator mem = new_integrator(lmm);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0, y), CP_SUCCESS);
  integrate(mem, first);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0, y), CP_SUCCESS);
  integrate(mem, again);
  ck_assert(same_bits(first, again));
  ck_assert_int_eq(CPIntegratorReInit(mem, 0, y), CP_SUCCESS);
  integrate(mem, again);
  ck_assert(same_bits(first, again));
  CPIntegratorFree(&mem);
  mem = new_integrator(lmm);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0, y), CP_SUCCESS);
  integrate(mem, again);
  ck_assert(same_bits(first, again));
  CPIntegratorFree(&mem);
  ck_assert_int_eq(CPMechAccelerations(mech, 0, y, entries(again), NULL), CP_SUCCESS);
  N_VDestroy(first);
  N_VDestroy(again);
}
END_TEST

/* The integrator before the system; options, tolerances and state in any order. */
START_TEST(the_order_in_which_system_and_options_are_set_changes_no_bit) {
  const CPEquations model = pendulum_model();
  N_Vector first = vector_copy(y), again = vector_copy(y);
  CPIntegrator mem = new_integrator(CV_BDF);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0, y), CP_SUCCESS);
  integrate(mem, first);
  CPIntegratorFree(&mem);

  mem         = CPIntegratorCreate("BDF", test_context);
  CPMech late = create_mech(&model, y, test_context);
  ck_assert_int_eq(CPMechSetUserData(late, &pendulum), CP_SUCCESS);
  ck_assert_int_eq(CPMechAttach(late, mem, 0, y), CP_SUCCESS);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(late), message_log, &messages), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-8, 1e-8), CP_SUCCESS);
  integrate(mem, again);
  ck_assert(same_bits(first, again));
  CPIntegratorFree(&mem);
  CPMechFree(&late);
  ck_assert_ptr_null(late);
  N_VDestroy(first);
  N_VDestroy(again);
}
END_TEST

/* A dense matrix and differences, both of SUNDIALS: the default uses M and A, and gives the same
 * motion. */
START_TEST(the_linear_solver_may_be_the_users) {
  N_Vector ours = vector_copy(y), theirs = vector_copy(y);
  CPIntegrator mem = new_integrator(CV_BDF);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0, y), CP_SUCCESS);
  integrate(mem, ours);
  CPIntegratorFree(&mem);
  const CPEquations model = pendulum_model();
  CPMech own              = system_of(&model, y, &pendulum);
  SUNMatrix J             = SUNDenseMatrix(N, N, test_context);
  SUNLinearSolver LS      = SUNLinSol_Dense(y, J, test_context);
  ck_assert_int_eq(CPMechSetNewton(own, CP_NEWTON_NONE), CP_SUCCESS);
  mem = new_integrator(CV_BDF);
  ck_assert_int_eq(CPMechAttach(own, mem, 0, y), CP_SUCCESS);
  ck_assert_int_eq(CVodeSetLinearSolver(CPIntegratorGetCVodeMem(mem), LS, J), CV_SUCCESS);
  integrate(mem, theirs);
  for (int i = 0; i < N; i++) /* 1e-8 a step, about 100 steps */
    ck_assert_double_le(fabs(entries(ours)[i] - entries(theirs)[i]), 1e-6);
  ck_assert(!same_bits(ours, theirs));
  CPIntegratorFree(&mem);
  CPMechFree(&own);
  SUNLinSolFree(LS);
  SUNMatDestroy(J);
  N_VDestroy(ours);
  N_VDestroy(theirs);
}
END_TEST

/* Norms of groups alone: with nq = nu = 2 components of 4, each weighs sqrt(4 / 2) more. A refusal
 * of the integrator is reported. */
START_TEST(norms_of_groups_scale_the_weights) {
  CPIntegrator mem = new_integrator(CV_BDF), refused = new_integrator(CV_BDF);
  N_Vector ewt = vector_of(N, NULL), out = vector_copy(y), three = vector_of(3, NULL);
  N_VConst(1e-8, three);
  ck_assert_int_eq(CPIntegratorSVtolerances(refused, 1e-8, three), CP_SUCCESS);
  EXPECT(CPMechAttach(mech, refused, 0, y), CP_ILL_INPUT, "abstol, set before");
  CPIntegratorFree(&refused);
  ck_assert_int_eq(CPMechSetGroupNorms(mech, SUNTRUE), CP_SUCCESS);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0, y), CP_SUCCESS);
  sunrealtype t;
  ck_assert_int_ge(CPIntegratorEvolve(mem, 1e-3, out, &t, CV_ONE_STEP), 0);
  ck_assert_int_eq(CVodeGetErrWeights(CPIntegratorGetCVodeMem(mem), ewt), CV_SUCCESS);
  for (int i = 0; i < N; i++) /* of the start */
    ck_assert_double_eq_tol(entries(ewt)[i], sqrt(2.0) / (1e-8 * (1.0 + fabs(entries(y)[i]))),
                            1e-2 * entries(ewt)[i]);
  CPIntegratorFree(&mem);
  N_VDestroy(ewt);
  N_VDestroy(out);
  N_VDestroy(three);
}
END_TEST

/* The wrong order: the integrator reports it, and can be freed. */
START_TEST(an_integrator_outlives_its_system) {
  const CPEquations model = pendulum_model();
  CPIntegrator mem        = new_integrator(_i ? CV_ADAMS : CV_BDF);
  CPMech brief            = create_mech(&model, y, test_context);
  N_Vector out            = vector_copy(y);
  sunrealtype t;
  ck_assert_int_eq(CPMechSetUserData(brief, &pendulum), CP_SUCCESS);
  ck_assert_int_eq(CPMechAttach(brief, mem, 0, y), CP_SUCCESS);
  integrate(mem, out);
  CPMechFree(&brief);
  EXPECT(CPIntegratorEvolve(mem, 2, out, &t, CV_NORMAL), CP_ILL_INPUT, "has been freed");
  CPIntegratorFree(&mem);
  N_VDestroy(out);
}
END_TEST

/* ---- statistics ---- */

TEST_SUITE(api) {
  Suite *suite = suite_create("api");
  TCase *tcase = tcase_create("api");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_checked_fixture(tcase, setup, teardown);
  tcase_add_test(tcase, no_system_is_named);
  tcase_add_loop_test(tcase, wrong_states_are_named, 0, 4);
  tcase_add_test(tcase, rates_need_no_integrator);
  tcase_add_test(tcase, missing_arrays_are_named);
  tcase_add_test(tcase, wrong_options_are_named);
  tcase_add_test(tcase, a_sparse_solver_of_dense_matrices_is_named);
  tcase_add_test(tcase, late_options_are_named);
  tcase_add_test(tcase, options_that_need_matrices_are_refused_to_operators);
  tcase_add_test(tcase, structs_of_an_earlier_version_are_read_and_written_up_to_their_size);
  tcase_add_loop_test(tcase, broken_models_are_named, 0, BROKEN);
  tcase_add_test(tcase, missing_arguments_of_create_are_named);
  tcase_add_loop_test(tcase, wrong_templates_are_named, 0, 10);
  tcase_add_test(tcase, integrators_that_cannot_be_attached_to_are_named);
  tcase_add_loop_test(tcase, a_refused_attachment_leaves_its_message_with_both_objects, 0, 12);
  tcase_add_loop_test(tcase, integrators_come_and_go, 0, 2);
  tcase_add_test(tcase, sparse_templates_want_the_function_A);
  tcase_add_loop_test(tcase, wrong_products_of_operators_are_told_apart, 0, 2);
  tcase_add_test(tcase, norms_of_groups_scale_the_weights);
  tcase_add_test(tcase, the_order_in_which_system_and_options_are_set_changes_no_bit);
  tcase_add_test(tcase, the_linear_solver_may_be_the_users);
  tcase_add_loop_test(tcase, an_integrator_outlives_its_system, 0, 2);
  suite_add_tcase(suite, tcase);
  return suite;
}
