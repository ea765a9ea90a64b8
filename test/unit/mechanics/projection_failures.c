/* Projections of mechanical systems that fail: the code, the name of the culprit, and the unchanged
 * state. Source of the system: made up.
 *
 *   q = (x, y, z, w),  M = diag(1, 2, 3, 4)
 *   p = ( (x^2 + y^2 - 1) / 2,  z ),   v = ( x x' + y y',  z',  w' - x )          nv > np
 *
 * optionally with p_1 (and v_1) that repeat p_0, or contradict it. */
#include "mechanics/systems.h"
#include "support/mech_run.h"

#include <cpodes/cpodes_mechanics.h>
#include <math.h>

enum { NU = 4, NV = 3, NP = 2, LENGTH = 2 * NU };

typedef enum { SOUND, FATAL, RECOVERABLE, NOT_A_NUMBER, INDEFINITE, WRONG } Fault;

/* user_data */
typedef struct {
  char function; /* the function with the fault: p, v, A, M */
  Fault fault;
  int repeated;             /* p_1 is p_0 + offset */
  sunrealtype offset, slip; /* v_1 is v_0 + slip */
  sunrealtype radius;       /* squared; negative: no state satisfies p_0 */
  int calls_before;         /* number of sound calls of the function */
} Plane;

static Plane plane;
static CPMech mech;
static CPProjector P;
static N_Vector y, before, ewt, v;
static MessageLog messages;

/* The return value of the function of that name */
static int fault_of(Plane *s, char function, sunrealtype *value) {
  if (s->function != function || s->fault == SOUND || s->calls_before-- > 0) return 0;
  if (s->fault == NOT_A_NUMBER) *value = NAN;
  return s->fault == FATAL ? -1 : s->fault == RECOVERABLE ? 1 : 0;
}

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q;
  Plane *s = data;
  for (int j = 0; j < NU; j++) SM_ELEMENT_D(M, j, j) = j + 1;
  if (s->function == 'M' && s->fault == INDEFINITE) SM_ELEMENT_D(M, 1, 1) = -1;
  return fault_of(s, 'M', &SM_ELEMENT_D(M, 1, 0));
}

static int constraint_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  (void)t;
  Plane *s = data;
  for (int i = 0; i <= (s->repeated ? 1 : 0); i++)
    SM_ELEMENT_D(A, i, 0) = q[0], SM_ELEMENT_D(A, i, 1) = q[1];
  if (!s->repeated) SM_ELEMENT_D(A, 1, 2) = 1;
  SM_ELEMENT_D(A, 2, 3) = 1;
  if (s->function == 'A' && s->fault == WRONG) SM_ELEMENT_D(A, 0, 1) = -q[1];
  return fault_of(s, 'A', &SM_ELEMENT_D(A, 1, 2));
}

static int positions(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  (void)t;
  Plane *s = data;
  p[0]     = (q[0] * q[0] + q[1] * q[1] - s->radius) / 2;
  p[1]     = s->repeated ? p[0] + s->offset : q[2];
  return fault_of(s, 'p', &p[1]);
}

static int velocities(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *r,
                      void *data) {
  (void)t;
  Plane *s = data;
  r[0]     = q[0] * u[0] + q[1] * u[1];
  r[1]     = s->repeated ? r[0] + s->slip : u[2];
  r[2]     = u[3] - q[0];
  return fault_of(s, 'v', &r[2]);
}

static void setup(void) {
  const CPEquations model = {
      CP_SIZED(CPEquations),  .nu = NU,       .np = NP,       .nv = NV, .M = mass,
      .A = constraint_matrix, .p = positions, .v = velocities};
  plane  = (Plane){.radius = 1};
  y      = VECTOR(0.6 + 1e-4, 0.8, 2e-4, 0.3, 0.8 + 1e-4, -0.6, 1e-4, 0.6 + 2e-4);
  before = vector_copy(y);
  v      = VECTOR(1, 2, 3, 4, 5, 6, 7, 8);
  ewt    = vector_of(LENGTH, NULL);
  N_VConst(1e6, ewt);
  messages = (MessageLog){0};
  mech     = create_mech(&model, y, test_context);
  ck_assert_ptr_nonnull(mech);
  ck_assert_int_eq(CPMechSetUserData(mech, &plane), CP_SUCCESS);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &messages), CP_SUCCESS);
  P = CPMechGetProjector(mech);
}

static void teardown(void) {
  CPMechFree(&mech);
  N_VDestroy(y);
  N_VDestroy(before);
  N_VDestroy(v);
  N_VDestroy(ewt);
}

/* ---- functions that fail ---- */

typedef struct {
  char function;
  Fault fault;
  int code; /* of Project */
  const char *text;
} Failure;

static const Failure failures[] = {
    {'p', FATAL, CP_USERFUNC_FAIL, "the function p failed (-1)"},
    {'p', RECOVERABLE, -CP_REPTD_USERFUNC_ERR, "the function p failed recoverably (1)"},
    {'p', NOT_A_NUMBER, -CP_MECH_NONFINITE, "p[1] is "},
    {'v', FATAL, CP_USERFUNC_FAIL, "the function v failed (-1)"},
    {'v', RECOVERABLE, -CP_REPTD_USERFUNC_ERR, "the function v failed recoverably (1)"},
    {'v', NOT_A_NUMBER, -CP_MECH_NONFINITE, "v[2] is "},
    {'A', FATAL, CP_USERFUNC_FAIL, "the function A failed (-1)"},
    {'A', RECOVERABLE, -CP_REPTD_USERFUNC_ERR, "the function A failed recoverably (1)"},
    {'A', NOT_A_NUMBER, -CP_MECH_NONFINITE, "entry (1, 2) of A is "},
    {'M', FATAL, CP_USERFUNC_FAIL, "the function M failed (-1)"},
    {'M', RECOVERABLE, -CP_REPTD_USERFUNC_ERR, "the function M failed recoverably (1)"},
    {'M', NOT_A_NUMBER, -CP_MECH_NONFINITE, "entry (1, 0) of M is "},
    {'M', INDEFINITE, -CP_METRIC_INDEFINITE, "not positive definite"},
};
enum { FAILURES = sizeof failures / sizeof failures[0] };

static void expect(int flag, int code, const char *text) {
  ck_assert_msg(flag == code, "%d, not %d: %s", flag, code, messages.text);
  ck_assert_int_eq(messages.code, code);
  ck_assert_mentions(messages.text, text);
  ck_assert(same_bits(y, before));
}

static int negative(int code) { return code > 0 ? -code : code; }

static void begin(int i) {
  const Failure *f = &failures[i];
  ck_assert_int_eq(CPMechSetMetric(mech, CP_METRIC_KINETIC), CP_SUCCESS);
  plane.function = f->function;
  plane.fault    = f->fault;
}

START_TEST(failures_of_functions_leave_the_state) {
  const Failure *f = &failures[_i];
  begin(_i);
  expect(CPProjectorProject(P, 0, y, ewt), f->code, f->text);
  ck_assert_str_eq(CPObjectGetLastMessage(CP_OBJECT(P)), messages.text);
  expect(CPProjectorAssemble(P, 0, y, ewt), negative(f->code), f->text);
  plane.fault = SOUND;
  ck_assert_int_eq(CPProjectorProject(P, 0, y, ewt), CP_SUCCESS);
  ck_assert_double_le(fabs(entries(y)[2]), 0.1e-6);
}
END_TEST

/* A later call fails, not the first. */
START_TEST(failures_on_the_way_leave_the_state) {
  const Failure *f = &failures[_i];
  if (f->fault == INDEFINITE) return;
  begin(_i);
  plane.calls_before = 1;
  const int flag     = CPProjectorProject(P, 0, y, ewt);
  if (plane.calls_before >= 0) return; /* the function is called once */
  expect(flag, f->code, f->text);
}
END_TEST

START_TEST(failures_of_functions_leave_vectors) {
  const Failure *f = &failures[_i];
  N_Vector w       = vector_copy(v);
  begin(_i);
  if (f->function != 'p') { /* not needed for vectors */
    expect(CPProjectorProjectVector(P, CP_TANGENT, 0, y, ewt, v), f->code, f->text);
    ck_assert(same_bits(v, w));
    expect(CPProjectorProjectVector(P, CP_COTANGENT, 0, y, ewt, v), f->code, f->text);
    ck_assert(same_bits(v, w));
  }
  plane.fault = SOUND;
  ck_assert_int_eq(CPProjectorProjectVector(P, CP_TANGENT, 0, y, ewt, v), CP_SUCCESS);
  ck_assert_double_le(fabs(entries(v)[2]), 1e-14); /* w_z: tangential to p_1 */
  N_VDestroy(w);
}
END_TEST

/* The initial state is computed in the metric of the weights, so M is not evaluated. */
START_TEST(failures_of_functions_fail_initial_states) {
  const Failure *f = &failures[_i];
  begin(_i);
  if (f->function == 'M') return;
  expect(CPMechCalcIC(mech, 0, y, NULL, NULL, NULL, NULL), negative(f->code), f->text);
  ck_assert_str_eq(CPObjectGetLastMessage(CP_OBJECT(mech)), messages.text);
}
END_TEST

START_TEST(failures_of_functions_fail_the_violation) {
  const Failure *f = &failures[_i];
  sunrealtype norm;
  begin(_i);
  if (f->function == 'M') return;
  expect(CPProjectorGetViolation(P, 0, y, ewt, &norm, NULL), negative(f->code), f->text);
}
END_TEST

/* If M was not requested, it is abandoned where it is not definite. */
START_TEST(default_metric_gives_up_an_indefinite_mass) {
  plane.function = 'M';
  plane.fault    = INDEFINITE;
  ck_assert_int_eq(CPProjectorProject(P, 0, y, ewt), CP_SUCCESS);
  ck_assert_double_le(fabs(entries(y)[2]), 0.1e-6);
  ck_assert_int_eq(CPProjectorProject(P, 0, y, ewt), CP_SUCCESS);
}
END_TEST

/* ---- constraints that fail ---- */

static const CPLinSol with_rank[] = {CP_LINSOL_AUTO, CP_LINSOL_QR, CP_LINSOL_SPARSE};

START_TEST(contradicting_positions_are_named) {
  plane.repeated = 1;
  plane.offset   = 1e-2;
  ck_assert_int_eq(CPProjectorSetLinearSolver(P, with_rank[_i]), CP_SUCCESS);
  expect(CPProjectorProject(P, 0, y, ewt), -CP_PROJ_INCONSISTENT, "position constraint 0");
  ck_assert_mentions(messages.text, "position constraint 1");
  expect(CPProjectorAssemble(P, 0, y, ewt), CP_IC_FAIL, "position constraint ");
  expect(CPMechCalcIC(mech, 0, y, NULL, NULL, NULL, NULL), CP_IC_FAIL, "position constraint ");
}
END_TEST

START_TEST(contradicting_velocities_are_named) {
  plane.repeated = 1;
  plane.slip     = 1e-2;
  ck_assert_int_eq(CPProjectorSetLinearSolver(P, with_rank[_i]), CP_SUCCESS);
  expect(CPProjectorProject(P, 0, y, ewt), -CP_PROJ_INCONSISTENT, "velocity constraint 0");
  ck_assert_mentions(messages.text, "velocity constraint 1");
  expect(CPMechCalcIC(mech, 0, y, NULL, NULL, NULL, NULL), CP_IC_FAIL, "velocity constraint ");
}
END_TEST

START_TEST(repeated_constraints_need_a_solver_that_finds_the_rank) {
  sunindextype rank;
  plane.repeated = 1;
  ck_assert_int_eq(CPProjectorSetLinearSolver(P, CP_LINSOL_SCHUR), CP_SUCCESS);
  expect(CPProjectorProject(P, 0, y, ewt), -CP_PROJ_RANK, "position constraint ");
  ck_assert_mentions(messages.text, "depends on others");
  ck_assert_int_eq(CPProjectorSetLinearSolver(P, CP_LINSOL_AUTO), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorProject(P, 0, y, ewt), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorGetRank(P, &rank, NULL), CP_SUCCESS);
  ck_assert_int_eq(rank, 1 + 2); /* of both levels */
  ck_assert_int_eq(CPProjectorGetRank(P, &rank, (int[]){0, 0}), CP_NOT_SUPPORTED);
}
END_TEST

START_TEST(operators_have_no_rank) {
  System *s     = system_create(OPERATORS_CHAIN);
  CPProjector Q = CPMechGetProjector(s->mech);
  sunindextype rank;
  ck_assert_int_eq(CPProjectorGetRank(Q, &rank, NULL), CP_NO_INIT);
  ck_assert_int_eq(CPProjectorProject(Q, 0, s->y, s->ewt), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorGetRank(Q, &rank, NULL), CP_NOT_SUPPORTED);
  system_free(&s);
}
END_TEST

START_TEST(constraints_that_no_state_satisfies_are_named) {
  plane.radius   = -1;
  const int flag = CPProjectorProject(P, 0, y, ewt);
  ck_assert_int_gt(flag, 0);
  expect(flag, -CP_PROJ_CONV_FAILURE, "position constraint 0");
  expect(CPProjectorAssemble(P, 0, y, ewt), CP_IC_FAIL, "position constraint 0");
  expect(CPMechCalcIC(mech, 0, y, NULL, NULL, NULL, NULL), CP_IC_FAIL, "position constraint 0");
}
END_TEST

START_TEST(wrong_constraint_matrices_are_told) {
  plane.function = 'A';
  plane.fault    = WRONG;
  expect(CPProjectorProject(P, 0, y, ewt), -CP_CNSTRJAC_WRONG, "entry (0, 1)");
  ck_assert_mentions(messages.text, "position constraint 0");
}
END_TEST

/* ---- arguments ---- */

START_TEST(bad_vectors_are_named) {
  N_Vector shorter = vector_of(LENGTH - 1, NULL);
  sunrealtype norm;
  expect(CPProjectorProject(P, 0, NULL, ewt), CP_ILL_INPUT, "y must not be NULL");
  expect(CPProjectorProject(P, 0, shorter, ewt), CP_ILL_INPUT, "y must have length 8, has 7");
  expect(CPProjectorProject(P, 0, y, shorter), CP_ILL_INPUT, "ewt must have length 8, has 7");
  expect(CPProjectorProjectVector(P, CP_TANGENT, 0, y, ewt, shorter), CP_ILL_INPUT,
         "x must have length");
  expect(CPProjectorProjectVector(P, CP_TANGENT, 0, y, ewt, NULL), CP_ILL_INPUT,
         "x must not be NULL");
  expect(CPProjectorProjectVector(P, CP_COTANGENT, 0, y, ewt, NULL), CP_ILL_INPUT,
         "x must not be NULL");
  expect(CPProjectorGetViolation(P, 0, y, ewt, NULL, NULL), CP_ILL_INPUT, "norm must not be NULL");
  entries(ewt)[3] = 0;
  expect(CPProjectorProject(P, 0, y, ewt), CP_ILL_INPUT, "ewt[3] = 0");
  entries(ewt)[3] = 1e-160; /* whose square is 0 */
  expect(CPProjectorProject(P, 0, y, ewt), CP_ILL_INPUT, "ewt[3] = 1e-160");
  expect(CPProjectorAssemble(P, 0, y, ewt), CP_ILL_INPUT, "ewt[3] = 1e-160");
  entries(ewt)[3] = 1e6;
  entries(y)[5] = entries(before)[5] = INFINITY;
  expect(CPProjectorProject(P, 0, y, ewt), CP_ILL_INPUT, "y[5] = inf");
  expect(CPProjectorGetViolation(P, 0, y, ewt, &norm, NULL), CP_ILL_INPUT, "y[5] = inf");
  N_VDestroy(shorter);
}
END_TEST

/* Weights are not needed: residuals are then measured as if half of the digits counted. */
START_TEST(projections_go_without_weights) {
  for (CPMechMetric metric = CP_METRIC_DEFAULT; metric <= CP_METRIC_L2; metric++) {
    N_VScale(1, before, y);
    ck_assert_int_eq(CPMechSetMetric(mech, metric), CP_SUCCESS);
    ck_assert_msg(CPProjectorProject(P, 0, y, NULL) == CP_SUCCESS, "%s", messages.text);
    ck_assert_double_le(fabs(entries(y)[2]), 1e-7);
  }
}
END_TEST

/* ---- quaternions ---- */

START_TEST(quaternions_of_norm_zero_are_named) {
  System *s = system_create(BODIES);
  for (int i = 10; i < 14; i++) entries(s->y)[i] = 0;
  N_Vector as_it_came = vector_copy(s->y);
  CPProjector Q       = CPMechGetProjector(s->mech);
  ck_assert_int_eq(CPProjectorProject(Q, 0, s->y, s->ewt), -CP_QUATERNION_ZERO);
  ck_assert_mentions(s->log.text, "coordinates 10 to 13");
  ck_assert_int_eq(CPProjectorAssemble(Q, 0, s->y, s->ewt), CP_QUATERNION_ZERO);
  ck_assert_int_eq(CPMechCalcIC(s->mech, 0, s->y, NULL, NULL, NULL, NULL), CP_QUATERNION_ZERO);
  ck_assert_mentions(s->log.text, "10 to 13");
  ck_assert(same_bits(s->y, as_it_came));
  N_VDestroy(as_it_came);
  system_free(&s);
}
END_TEST

TEST_SUITE(projection_failures) {
  Suite *suite = suite_create("projection_failures");
  TCase *tcase = tcase_create("failures");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_checked_fixture(tcase, setup, teardown);
  tcase_add_loop_test(tcase, failures_of_functions_leave_the_state, 0, FAILURES);
  tcase_add_loop_test(tcase, failures_on_the_way_leave_the_state, 0, FAILURES);
  tcase_add_loop_test(tcase, failures_of_functions_leave_vectors, 0, FAILURES);
  tcase_add_loop_test(tcase, failures_of_functions_fail_initial_states, 0, FAILURES);
  tcase_add_loop_test(tcase, failures_of_functions_fail_the_violation, 0, FAILURES);
  tcase_add_test(tcase, default_metric_gives_up_an_indefinite_mass);
  tcase_add_loop_test(tcase, contradicting_positions_are_named, 0, 3);
  tcase_add_loop_test(tcase, contradicting_velocities_are_named, 0, 3);
  tcase_add_test(tcase, repeated_constraints_need_a_solver_that_finds_the_rank);
  tcase_add_test(tcase, operators_have_no_rank);
  tcase_add_test(tcase, constraints_that_no_state_satisfies_are_named);
  tcase_add_test(tcase, wrong_constraint_matrices_are_told);
  tcase_add_test(tcase, bad_vectors_are_named);
  tcase_add_test(tcase, projections_go_without_weights);
  tcase_add_test(tcase, quaternions_of_norm_zero_are_named);
  suite_add_tcase(suite, tcase);
  return suite;
}
