/* Projectors from the user's own functions: y = g(t, yhat), e = g_eps(t, y, ehat), and a
 * violation norm. */
#include <cpodes/cpodes_projector.h>
#include <math.h>
#include <models/counters.h>
#include <stdlib.h>

#include "support/support.h"

/* What the functions received, and what they shall return. */
typedef struct {
  int g_calls, g_eps_calls;
  sunrealtype t, eps, yhat[2], y_at[2];
  int aliased;     /* y and yhat were the same vector */
  int flag;        /* of g, g_eps and the norm         */
  sunrealtype bad; /* put into y[1], err[1] and the norm, if not 0 */
} Record;

static Record record;
static MessageLog log_;
static N_Vector y, v;
static CPProjector P;

/* The unit circle: y = yhat / |yhat|. */
static int radial(sunrealtype t, N_Vector yhat, N_Vector out, sunrealtype eps, void *user_data) {
  Record *r           = user_data;
  const sunrealtype d = hypot(entries(yhat)[0], entries(yhat)[1]);
  r->g_calls++;
  r->t       = t;
  r->eps     = eps;
  r->aliased = yhat == out || entries(yhat) == entries(out);
  for (int j = 0; j < 2; j++) {
    r->yhat[j]      = entries(yhat)[j];
    entries(out)[j] = r->yhat[j] / d;
  }
  if (r->bad != 0.0) entries(out)[1] = r->bad;
  return r->flag;
}

/* Removes the radial part of the error. */
static int tangential(sunrealtype t, N_Vector at, N_Vector err, void *user_data) {
  Record *r              = user_data;
  const sunrealtype *n   = entries(at);
  const sunrealtype dot_ = n[0] * entries(err)[0] + n[1] * entries(err)[1];
  (void)t;
  r->g_eps_calls++;
  for (int j = 0; j < 2; j++) {
    r->y_at[j] = n[j];
    entries(err)[j] -= dot_ * n[j];
  }
  if (r->bad != 0.0) entries(err)[1] = r->bad;
  return r->flag;
}

static int distance(sunrealtype t, N_Vector at, sunrealtype *norm, void *user_data) {
  const Record *r = user_data;
  (void)t;
  *norm = r->bad != 0.0 ? r->bad : fabs(hypot(entries(at)[0], entries(at)[1]) - 1.0);
  return r->flag;
}

static int (*violation)(sunrealtype t, N_Vector at, sunrealtype *norm, void *user_data);

static void open_with(ErrorProjection g_eps) {
  record                      = (Record){0};
  log_                        = (MessageLog){0};
  y                           = VECTOR(3.0, 4.0);
  v                           = VECTOR(1.0, 2.0);
  const CPUserProjection user = {sizeof user, radial, g_eps, NULL, violation};
  P                           = CPProjectorCreateUser(&user, y, test_context);
  ck_assert_ptr_nonnull(P);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &log_), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetUserData(P, &record), CP_SUCCESS);
}

/* The same with a violation function */
static void open_measured(void) {
  CPProjectorFree(&P);
  N_VDestroy(y);
  N_VDestroy(v);
  violation = distance;
  open_with(tangential);
}

static void setup(void) {
  test_context_setup();
  violation = NULL;
  open_with(tangential);
}

static void teardown(void) {
  CPProjectorFree(&P);
  N_VDestroy(y);
  N_VDestroy(v);
  test_context_teardown();
}

START_TEST(the_state_becomes_what_g_returns) {
  ck_assert_int_eq(CPProjectorSetEps(P, 1.0e-3), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorProject(P, 1.25, y, NULL), CP_SUCCESS);
  ck_assert_double_eq(entries(y)[0], 3.0 / 5.0);
  ck_assert_double_eq(entries(y)[1], 4.0 / 5.0);
  ck_assert_int_eq(record.g_calls, 1);
  ck_assert_double_eq(record.t, 1.25);
  ck_assert_double_eq(record.eps, 1.0e-3);
  ck_assert_double_eq(record.yhat[0], 3.0);
  ck_assert_double_eq(record.yhat[1], 4.0);
  ck_assert(!record.aliased);
}
END_TEST

START_TEST(g_gets_the_default_eps_if_none_was_set) {
  ck_assert_int_eq(CPProjectorProject(P, 0.0, y, NULL), CP_SUCCESS);
  ck_assert_double_eq(record.eps, CP_EPS_DEFAULT);
  ck_assert_int_eq(CPProjectorSetEps(P, 1.0e-3), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetEps(P, 0.0), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorProject(P, 0.0, y, NULL), CP_SUCCESS);
  ck_assert_double_eq(record.eps, CP_EPS_DEFAULT);
}
END_TEST

START_TEST(weights_are_not_needed_and_not_looked_at) {
  N_Vector ewt = VECTOR(-1.0, NAN);
  ck_assert_int_eq(CPProjectorProject(P, 0.0, y, ewt), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorProjectVector(P, CP_TANGENT, 0.0, y, ewt, v), CP_SUCCESS);
  N_VDestroy(ewt);
}
END_TEST

START_TEST(errors_become_what_g_eps_makes_of_them) {
  ck_assert_int_eq(CPProjectorProject(P, 0.0, y, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorProjectVector(P, CP_TANGENT, 0.0, y, NULL, v), CP_SUCCESS);
  ck_assert_int_eq(record.g_eps_calls, 1);
  ck_assert_double_eq(record.y_at[0], 0.6);
  /* (1, 2) - 2.2 (0.6, 0.8) */
  ck_assert_double_eq_tol(entries(v)[0], -0.32, 1.0e-15);
  ck_assert_double_eq_tol(entries(v)[1], 0.24, 1.0e-15);
}
END_TEST

START_TEST(without_g_eps_errors_stay_as_they_are) {
  CPProjectorFree(&P);
  N_VDestroy(y);
  N_VDestroy(v);
  open_with(NULL);
  N_Vector v0 = vector_copy(v);
  ck_assert_int_eq(CPProjectorProjectVector(P, CP_TANGENT, 0.0, y, NULL, v), CP_SUCCESS);
  ck_assert(same_bits(v, v0));
  N_VDestroy(v0);
}
END_TEST

typedef struct {
  int flag;
  sunrealtype bad;
  int g_code, g_eps_code;
} Fault;

static const Fault faults[] = {{1, 0.0, -CP_REPTD_USERFUNC_ERR, -CP_REPTD_USERFUNC_ERR},
                               {7, 0.0, -CP_REPTD_USERFUNC_ERR, -CP_REPTD_USERFUNC_ERR},
                               {-1, 0.0, CP_USERFUNC_FAIL, CP_USERFUNC_FAIL},
                               {-9, 0.0, CP_USERFUNC_FAIL, CP_USERFUNC_FAIL},
                               {0, NAN, -CP_PROJ_NONFINITE, -CP_PROJ_NONFINITE},
                               {0, INFINITY, -CP_PROJ_NONFINITE, -CP_PROJ_NONFINITE},
                               {0, -INFINITY, -CP_PROJ_NONFINITE, -CP_PROJ_NONFINITE}};

START_TEST(failures_of_the_users_functions_have_codes_and_change_nothing) {
  const Fault *f = &faults[_i];
  N_Vector y0 = vector_copy(y), v0 = vector_copy(v);
  ProjectorCounters stats;
  record.flag = f->flag;
  record.bad  = f->bad;
  ck_assert_int_eq(CPProjectorProject(P, 2.5, y, NULL), f->g_code);
  ck_assert_int_eq(log_.code, f->g_code);
  ck_assert_mentions(log_.text, "t = 2.5");
  ck_assert(same_bits(y, y0));
  ck_assert_int_eq(CPProjectorProjectVector(P, CP_TANGENT, 2.5, y, NULL, v), f->g_eps_code);
  ck_assert_int_eq(log_.code, f->g_eps_code);
  ck_assert_mentions(log_.text, "t = 2.5");
  ck_assert(same_bits(v, v0));
  ck_assert_int_eq(CPProjectorAssemble(P, 2.5, y, NULL),
                   -abs(f->g_code)); /* no smaller step to try */
  ck_assert(same_bits(y, y0));
  ck_assert_int_eq(projector_counters(P, &stats), CP_SUCCESS);
  ck_assert_int_eq(stats.nfails, 3);
  ck_assert_int_eq(log_.count, 3);
  record.flag = 0;
  record.bad  = 0.0;
  ck_assert_int_eq(CPProjectorProject(P, 2.5, y, NULL), CP_SUCCESS); /* goes on */
  N_VDestroy(y0);
  N_VDestroy(v0);
}
END_TEST

START_TEST(assembling_is_one_call_of_g) {
  ck_assert_int_eq(CPProjectorAssemble(P, 0.0, y, NULL), CP_SUCCESS);
  ck_assert_int_eq(record.g_calls, 1);
  ck_assert_double_eq(entries(y)[0], 0.6);
}
END_TEST

START_TEST(the_violation_is_the_users_and_names_no_constraint) {
  sunrealtype norm   = -1.0;
  sunindextype worst = 5;
  open_measured();
  ck_assert_int_eq(CPProjectorGetViolation(P, 0.0, y, NULL, &norm, &worst), CP_SUCCESS);
  ck_assert_double_eq(norm, 4.0);
  ck_assert_int_eq(worst, -1);
  record.flag = 1;
  ck_assert_int_eq(CPProjectorGetViolation(P, 0.0, y, NULL, &norm, NULL), CP_USERFUNC_FAIL);
  record.flag = -1;
  ck_assert_int_eq(CPProjectorGetViolation(P, 0.0, y, NULL, &norm, NULL), CP_USERFUNC_FAIL);
  record.flag             = 0;
  const sunrealtype bad[] = {NAN, INFINITY, -1.0};
  for (int b = 0; b < 3; b++) {
    record.bad = bad[b];
    ck_assert_int_eq(CPProjectorGetViolation(P, 0.0, y, NULL, &norm, NULL), CP_USERFUNC_FAIL);
  }
}
END_TEST

START_TEST(without_a_violation_function_there_is_no_violation_to_get) {
  sunrealtype norm = -1.0;
  ck_assert_int_lt(CPProjectorGetViolation(P, 0.0, y, NULL, &norm, NULL), 0);
  ck_assert_double_eq(norm, -1.0);
}
END_TEST

START_TEST(a_transpose_of_the_users_projection_is_not_supported) {
  N_Vector v0 = vector_copy(v);
  ck_assert_int_eq(CPProjectorProjectVector(P, CP_COTANGENT, 0.0, y, NULL, v), CP_NOT_SUPPORTED);
  ck_assert(same_bits(v, v0));
  N_VDestroy(v0);
}
END_TEST

/* The copy of the result must not run over the end of a shorter y. */
START_TEST(vectors_of_another_length_are_refused) {
  N_Vector shorter = VECTOR(1.0), longer = VECTOR(3.0, 4.0, 5.0);
  ck_assert_int_eq(CPProjectorProject(P, 0.0, shorter, NULL), CP_ILL_INPUT);
  ck_assert_mentions(log_.text, "y");
  ck_assert_mentions(log_.text, "1");
  ck_assert_int_eq(CPProjectorProject(P, 0.0, longer, NULL), CP_ILL_INPUT);
  ck_assert_int_eq(CPProjectorProjectVector(P, CP_TANGENT, 0.0, y, NULL, shorter), CP_ILL_INPUT);
  ck_assert_int_eq(record.g_calls + record.g_eps_calls, 0);
  N_VDestroy(shorter);
  N_VDestroy(longer);
}
END_TEST

static int some_jac(sunrealtype t, N_Vector at, N_Vector c, SUNMatrix G, void *user_data) {
  (void)t;
  (void)at;
  (void)c;
  (void)G;
  (void)user_data;
  return 0;
}

START_TEST(options_that_concern_constraints_are_refused) {
  N_Vector two = VECTOR(1.0, 1.0);
  SUNMatrix G  = SUNDenseMatrix(1, 2, test_context);
  ck_assert_int_eq(CPProjectorSetJacFn(P, some_jac, G), CP_NOT_SUPPORTED);
  ck_assert_int_eq(CPProjectorSetLevels(P, NULL, NULL), CP_NOT_SUPPORTED);
  ck_assert_int_eq(CPProjectorSetLinearSolver(P, CP_LINSOL_QR), CP_NOT_SUPPORTED);
  ck_assert_int_eq(CPProjectorSetNorm(P, CP_NORM_L2, NULL, NULL), CP_NOT_SUPPORTED);
  ck_assert_int_eq(CPProjectorSetConstraintTol(P, two), CP_NOT_SUPPORTED);
  ck_assert_int_eq(CPProjectorSetFree(P, NULL), CP_NOT_SUPPORTED);
  ck_assert_int_eq(log_.count, 6);
  SUNMatDestroy(G);
  N_VDestroy(two);
}
END_TEST

START_TEST(errors_that_are_not_finite_are_refused_with_g_eps_and_without) {
  if (_i) {
    teardown();
    test_context_setup();
    open_with(NULL);
  }
  entries(v)[1] = NAN;
  ck_assert_int_eq(CPProjectorProjectVector(P, CP_TANGENT, 0.0, y, NULL, v), -CP_PROJ_NONFINITE);
  ck_assert_int_eq(log_.count, 1);
}
END_TEST

START_TEST(projections_of_each_kind_are_counted) {
  ProjectorCounters s;
  for (int i = 0; i < 3; i++) ck_assert_int_eq(CPProjectorProject(P, 0.0, y, NULL), CP_SUCCESS);
  for (int i = 0; i < 2; i++)
    ck_assert_int_eq(CPProjectorProjectVector(P, CP_TANGENT, 0.0, y, NULL, v), CP_SUCCESS);
  ck_assert_int_eq(projector_counters(P, &s), CP_SUCCESS);
  ck_assert_int_eq(s.nproj, 3);
  ck_assert_int_eq(s.ntangent, 2);
  ck_assert_int_eq(s.nfails + s.nce + s.nceDQ + s.nje + s.nsetups + s.niters, 0);
}
END_TEST

TEST_SUITE(user_kind) {
  Suite *suite = suite_create("user_kind");
  TCase *tc    = tcase_create("user_kind");
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_test(tc, the_state_becomes_what_g_returns);
  tcase_add_test(tc, g_gets_the_default_eps_if_none_was_set);
  tcase_add_test(tc, weights_are_not_needed_and_not_looked_at);
  tcase_add_test(tc, errors_become_what_g_eps_makes_of_them);
  tcase_add_test(tc, without_g_eps_errors_stay_as_they_are);
  tcase_add_loop_test(tc, failures_of_the_users_functions_have_codes_and_change_nothing, 0,
                      sizeof faults / sizeof faults[0]);
  tcase_add_test(tc, assembling_is_one_call_of_g);
  tcase_add_test(tc, the_violation_is_the_users_and_names_no_constraint);
  tcase_add_test(tc, without_a_violation_function_there_is_no_violation_to_get);
  tcase_add_test(tc, a_transpose_of_the_users_projection_is_not_supported);
  tcase_add_test(tc, vectors_of_another_length_are_refused);
  tcase_add_test(tc, options_that_concern_constraints_are_refused);
  tcase_add_loop_test(tc, errors_that_are_not_finite_are_refused_with_g_eps_and_without, 0, 2);
  tcase_add_test(tc, projections_of_each_kind_are_counted);
  suite_add_tcase(suite, tc);
  return suite;
}
