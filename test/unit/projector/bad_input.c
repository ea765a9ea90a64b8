/* Bad input to every function of the projector: its code, a message that names argument and value,
 * and an unchanged object. */
#include "projector/fixture.h"

#include <float.h>
#include <math.h>
#include <models/counters.h>
#include <string.h>
#include <sunmatrix/sunmatrix_band.h>

static Case k;

static void setup(void) {
  test_context_setup();
  case_open(&k, equations_of(&pendulum_qu), solvers[0]);
  case_perturb(&k, 1.0e-4, 1);
}

static void teardown(void) {
  case_close(&k);
  test_context_teardown();
}

/* The call is refused, with one message to the handler that contains code, argument and value. */
#define ck_assert_refused(call, expected_code, argument, value)                \
  do {                                                                         \
    const int count_ = k.log.count;                                            \
    ck_assert_int_eq((call), (expected_code));                                 \
    ck_assert_int_eq(k.log.count, count_ + 1);                                 \
    ck_assert_int_eq(k.log.code, (expected_code));                             \
    ck_assert_mentions(k.log.text, (argument));                                \
    ck_assert_mentions(k.log.text, (value));                                   \
    ck_assert_str_eq(CPObjectGetLastMessage(CP_OBJECT(k.P)), k.log.text);      \
    ck_assert_msg(strncmp(k.log.function, #call, strlen(k.log.function)) == 0, \
                  "message of %s in %s", k.log.function, #call);               \
  } while (0)

/* ---- creation: NULL, and a message ---- */

static struct {
  CPConstraintFn c;
  N_Vector y, c_tmpl;
  SUNContext ctx;
  CPProjector P;
} create;

static void create_it(void) {
  create.P = CPProjectorCreate(create.c, create.y, create.c_tmpl, create.ctx);
}

static void expect_no_projector(void (*make)(void), const char *argument, const char *value) {
  create.P = NULL;
  make();
  ck_assert_ptr_null(create.P);
  ck_assert_mentions(CPObjectGetLastMessage(NULL), argument);
  ck_assert_mentions(CPObjectGetLastMessage(NULL), value);
}

START_TEST(Create_refuses_missing_arguments_and_wrong_sizes) {
  N_Vector two = VECTOR(1.0, 2.0), three = VECTOR(1.0, 2.0, 3.0), none = vector_of(0, NULL);
  create.c      = equations_c;
  create.y      = three;
  create.c_tmpl = two;
  create.ctx    = test_context;

  create.c = NULL;
  expect_no_projector(create_it, "c must not", "NULL");
  create.c = equations_c;
  create.y = NULL;
  expect_no_projector(create_it, "y_tmpl", "NULL");
  create.y      = three;
  create.c_tmpl = NULL;
  expect_no_projector(create_it, "c_tmpl", "NULL");
  create.c_tmpl = two;
  create.ctx    = NULL;
  expect_no_projector(create_it, "ctx", "NULL");
  create.ctx = test_context;

  create.y      = three; /* no constraint */
  create.c_tmpl = none;
  expect_no_projector(create_it, "c_tmpl", "0");
  create.y      = none; /* no state */
  create.c_tmpl = none;
  expect_no_projector(create_it, "y_tmpl", "0");

  create.y      = three;
  create.c_tmpl = two;
  create_it();
  ck_assert_ptr_nonnull(create.P);
  CPProjectorFree(&create.P);
  N_VDestroy(two);
  N_VDestroy(three);
  N_VDestroy(none);
}
END_TEST

/* A vector without direct access to its entries, as on a GPU or over several processes. */
static N_Vector_ID custom_id(N_Vector v) {
  (void)v;
  return SUNDIALS_NVEC_CUSTOM;
}

START_TEST(a_matrix_needs_direct_access) {
  N_Vector opaque = VECTOR(1.0, 2.0), two = VECTOR(1.0, 2.0);
  SUNMatrix G                    = SUNDenseMatrix(2, 2, test_context);
  MessageLog log                 = {0};
  opaque->ops->nvgetvectorid     = custom_id;
  opaque->ops->nvgetarraypointer = NULL;
  for (int which = 0; which < 2; which++) {
    CPProjector P =
        CPProjectorCreate(equations_c, which ? two : opaque, which ? opaque : two, test_context);
    ck_assert_ptr_nonnull(P);
    ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &log), CP_SUCCESS);
    ck_assert_int_eq(CPProjectorSetJacFn(P, equations_jac, G), CP_NOT_SUPPORTED);
    ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(P)), "CPProjectorCreateProducts");
    ck_assert_int_eq(CPProjectorAddUnitNorm(P, 0, 2, 1.0), CP_NOT_SUPPORTED);
    ck_assert_int_eq(CPProjectorProject(P, 0.0, which ? two : opaque, which ? two : opaque),
                     CP_NOT_SUPPORTED);
    ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(P)), "CPProjectorCreateProducts");
    CPProjectorFree(&P);
  }
  SUNMatDestroy(G);
  N_VDestroy(opaque);
  N_VDestroy(two);
}
END_TEST

static CPUserProjection *create_functions;

static int some_g(sunrealtype t, N_Vector yhat, N_Vector y, sunrealtype eps, void *user_data) {
  (void)t;
  (void)eps;
  (void)user_data;
  N_VScale(1.0, yhat, y);
  return 0;
}

static void create_user(void) {
  create.P = CPProjectorCreateUser(create_functions, create.y, create.ctx);
}

START_TEST(CreateUser_refuses_missing_arguments) {
  CPUserProjection functions = {sizeof functions, NULL, NULL, NULL, NULL};
  N_Vector two               = VECTOR(1.0, 2.0);
  create.y                   = two;
  create.ctx                 = test_context;
  create_functions           = NULL;
  expect_no_projector(create_user, "user must not", "NULL");
  create_functions = &functions;
  expect_no_projector(create_user, "user->state", "set");
  functions.state = some_g;
  functions.size  = 0;
  expect_no_projector(create_user, "size of user", "set");
  functions.size = sizeof functions;
  create.y       = NULL;
  expect_no_projector(create_user, "y_tmpl", "NULL");
  create.y   = two;
  create.ctx = NULL;
  expect_no_projector(create_user, "ctx", "NULL");
  N_VDestroy(two);
}
END_TEST

START_TEST(freeing_nothing_is_harmless) {
  CPProjector none = NULL;
  CPProjectorFree(NULL);
  CPProjectorFree(&none);
  ck_assert_ptr_null(none);
  CPProjectorFree(&k.P);
  ck_assert_ptr_null(k.P);
  CPProjectorFree(&k.P);
}
END_TEST

/* ---- no object ---- */

static void call_without_object(void) {
  sunrealtype x;
  sunindextype i;
  ProjectorCounters stats;
  ck_assert_int_eq(CPProjectorSetUserData(NULL, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(NULL, NULL, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPProjectorSetJacFn(NULL, NULL, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPProjectorSetLevels(NULL, NULL, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPProjectorSetLinearSolver(NULL, CP_LINSOL_QR), CP_MEM_NULL);
  ck_assert_int_eq(CPProjectorSetNorm(NULL, CP_NORM_L2, NULL, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPProjectorSetConstraintTol(NULL, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPProjectorSetEps(NULL, 0.1), CP_MEM_NULL);
  ck_assert_int_eq(CPProjectorSetFree(NULL, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPProjectorProject(NULL, 0.0, k.y, k.ewt), CP_MEM_NULL);
  ck_assert_int_eq(CPProjectorAssemble(NULL, 0.0, k.y, k.ewt), CP_MEM_NULL);
  ck_assert_int_eq(CPProjectorProjectVector(NULL, CP_TANGENT, 0.0, k.y, k.ewt, k.y), CP_MEM_NULL);
  ck_assert_int_eq(CPProjectorProjectVector(NULL, CP_COTANGENT, 0.0, k.y, k.ewt, k.y), CP_MEM_NULL);
  ck_assert_int_eq(CPProjectorGetViolation(NULL, 0.0, k.y, k.ewt, &x, &i), CP_MEM_NULL);
  ck_assert_int_eq(CPProjectorCheckJac(NULL, 0.0, k.y, k.ewt, &x, &i, &i), CP_MEM_NULL);
  ck_assert_int_eq(CPProjectorGetRank(NULL, &i, NULL), CP_MEM_NULL);
  ck_assert_int_eq(projector_counters(NULL, &stats), CP_MEM_NULL);
}

static void call_more_without_object(void) {
  CPLinSol type;
  ck_assert_int_eq(CPProjectorSetSchurDiag(NULL, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPProjectorSetPreconditioner(NULL, NULL, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPProjectorAddUnitNorm(NULL, 0, 1, 1.0), CP_MEM_NULL);
  ck_assert_int_eq(CPProjectorSetActive(NULL, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPProjectorSetMetricProduct(NULL, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPProjectorSetNorm(NULL, CP_NORM_MATRIX, NULL, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPProjectorGetLinearSolver(NULL, &type, NULL), CP_MEM_NULL);
}

START_TEST(every_function_refuses_a_missing_projector) {
  call_more_without_object();
  call_without_object();
  ck_assert_int_eq(CPProjectorSetEps(NULL, 0.1), CP_MEM_NULL);
  ck_assert_mentions(CPObjectGetLastMessage(NULL), "P must not be NULL");
}
END_TEST

START_TEST(the_last_message_is_never_NULL) {
  ck_assert_str_eq(CPObjectGetLastMessage(CP_OBJECT(k.P)), "");
  ck_assert_ptr_nonnull(CPObjectGetLastMessage(NULL));
}
END_TEST

/* ---- options ---- */

START_TEST(SetJacFn_refuses_templates_that_do_not_fit) {
  SUNMatrix transposed = SUNDenseMatrix(4, 2, test_context),
            band       = SUNBandMatrix(4, 1, 1, test_context);
  ck_assert_refused(CPProjectorSetJacFn(k.P, equations_jac, NULL), CP_ILL_INPUT, "G_tmpl", "NULL");
  ck_assert_refused(CPProjectorSetJacFn(k.P, equations_jac, transposed), CP_ILL_INPUT, "G_tmpl",
                    "4 x 2");
  ck_assert_refused(CPProjectorSetJacFn(k.P, equations_jac, band), CP_ILL_INPUT, "G_tmpl", "dense");
  ck_assert_refused(CPProjectorSetJacFn(k.P, NULL, transposed), CP_ILL_INPUT, "G_tmpl", "4 x 2");
  ck_assert_success(&k, CPProjectorSetJacFn(k.P, NULL, NULL));
  SUNMatDestroy(transposed);
  SUNMatDestroy(band);
}
END_TEST

START_TEST(SetLevels_refuses_one_array_or_a_wrong_level) {
  int two[] = {0, 1}, four[] = {0, 0, 1, 1};
  ck_assert_refused(CPProjectorSetLevels(k.P, two, NULL), CP_ILL_INPUT, "col_level", "NULL");
  ck_assert_refused(CPProjectorSetLevels(k.P, NULL, four), CP_ILL_INPUT, "row_level", "NULL");
  two[1] = 16;
  ck_assert_refused(CPProjectorSetLevels(k.P, two, four), CP_ILL_INPUT, "row_level", "16");
  two[1]  = 1;
  four[3] = -2;
  ck_assert_refused(CPProjectorSetLevels(k.P, two, four), CP_ILL_INPUT, "col_level", "-2");
}
END_TEST

START_TEST(enums_out_of_range_are_refused) {
  ck_assert_refused(CPProjectorSetLinearSolver(k.P, (CPLinSol)17), CP_ILL_INPUT, "type", "17");
  ck_assert_refused(CPProjectorSetLinearSolver(k.P, CP_LINSOL_PRODUCTS), CP_ILL_INPUT, "type", "5");
  ck_assert_refused(CPProjectorSetLinearSolver(k.P, (CPLinSol)-1), CP_ILL_INPUT, "type", "-1");
  ck_assert_refused(CPProjectorSetNorm(k.P, (CPNorm)3, NULL, NULL), CP_ILL_INPUT, "norm", "3");
  ck_assert_refused(CPProjectorSetNorm(k.P, (CPNorm)-1, NULL, NULL), CP_ILL_INPUT, "norm", "-1");
}
END_TEST

START_TEST(SetConstraintTol_refuses_what_is_not_positive_and_finite) {
  const sunrealtype bad[]  = {0.0, -0.25, NAN, INFINITY};
  const char *const name[] = {"0", "-0.25", "nan", "inf"};
  N_Vector ctol = VECTOR(1.0, 1.0), three = VECTOR(1.0, 1.0, 1.0);
  ck_assert_refused(CPProjectorSetConstraintTol(k.P, three), CP_ILL_INPUT, "ctol", "3");
  for (int b = 0; b < 4; b++) {
    entries(ctol)[1] = bad[b];
    ck_assert_refused(CPProjectorSetConstraintTol(k.P, ctol), CP_ILL_INPUT, "ctol[1]", name[b]);
  }
  N_VDestroy(ctol);
  N_VDestroy(three);
}
END_TEST

START_TEST(SetEps_refuses_what_is_not_between_0_and_1) {
  ck_assert_refused(CPProjectorSetEps(k.P, -1.0e-9), CP_ILL_INPUT, "eps", "-1e-09");
  ck_assert_refused(CPProjectorSetEps(k.P, 1.5), CP_ILL_INPUT, "eps", "1.5");
  ck_assert_refused(CPProjectorSetEps(k.P, NAN), CP_ILL_INPUT, "eps", "nan");
  ck_assert_refused(CPProjectorSetEps(k.P, INFINITY), CP_ILL_INPUT, "eps", "inf");
  ck_assert_success(&k, CPProjectorSetEps(k.P, 1.0));
  ck_assert_success(&k, CPProjectorSetEps(k.P, 0.0));
}
END_TEST

static int some_matrix(sunrealtype t, N_Vector y, SUNMatrix M, void *user_data) {
  (void)t;
  (void)y;
  (void)user_data;
  for (int j = 0; j < 4; j++) SM_ELEMENT_D(M, j, j) = 1.0;
  return 0;
}

static int some_psetup(sunrealtype t, N_Vector y, N_Vector D, void *user_data) {
  (void)t;
  (void)y;
  (void)D;
  (void)user_data;
  return 0;
}

START_TEST(products_have_their_own_options_and_no_matrices) {
  CPProjector P =
      CPProjectorCreateProducts(equations_c, equations_Gv, equations_GTw, k.y, k.y, test_context);
  SUNMatrix G    = SUNDenseMatrix(4, 4, test_context);
  MessageLog log = {0};
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &log), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetPreconditioner(P, some_psetup, NULL), CP_ILL_INPUT);
  ck_assert_mentions(log.text, "psolve must not be NULL");
  ck_assert_int_eq(CPProjectorSetPreconditioner(P, NULL, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetJacFn(P, equations_jac, G), CP_NOT_SUPPORTED);
  ck_assert_mentions(log.text, "CPProjectorCreateProducts");
  ck_assert_int_eq(CPProjectorAddUnitNorm(P, 0, 2, 1.0), CP_NOT_SUPPORTED);
  ck_assert_int_eq(CPProjectorSetLinearSolver(P, CP_LINSOL_SCHUR), CP_NOT_SUPPORTED);
  ck_assert_int_eq(CPProjectorSetNorm(P, CP_NORM_MATRIX, some_matrix, G), CP_NOT_SUPPORTED);
  ck_assert_refused(CPProjectorSetPreconditioner(k.P, NULL, NULL), CP_NOT_SUPPORTED,
                    "CPProjectorCreateProducts", "");
  ck_assert_refused(CPProjectorSetSchurDiag(k.P, NULL), CP_NOT_SUPPORTED,
                    "CPProjectorCreateProducts", "");
  ck_assert_refused(CPProjectorSetMetricProduct(k.P, NULL), CP_NOT_SUPPORTED,
                    "CPProjectorCreateProducts", "");
  CPProjectorFree(&P);
  SUNMatDestroy(G);
}
END_TEST

START_TEST(SetActive_refuses_a_mask_that_removes_all) {
  int none[] = {0, 0};
  ck_assert_refused(CPProjectorSetActive(k.P, none), CP_ILL_INPUT, "mask",
                    "CPIntegratorSetProjector(mem, NULL)");
  none[1] = -1; /* anything but 0 is on */
  ck_assert_success(&k, CPProjectorSetActive(k.P, none));
  ck_assert_success(&k, CPProjectorSetActive(k.P, NULL));
}
END_TEST

START_TEST(AddUnitNorm_refuses_components_that_are_not_there_and_bad_values) {
  const sunindextype huge = (sunindextype)1 << (8 * sizeof(sunindextype) - 2); /* twice overflows */
  ck_assert_refused(CPProjectorAddUnitNorm(k.P, -1, 2, 1.0), CP_ILL_INPUT, "first", "-1");
  ck_assert_refused(CPProjectorAddUnitNorm(k.P, 4, 1, 1.0), CP_ILL_INPUT, "first", "4");
  ck_assert_refused(CPProjectorAddUnitNorm(k.P, 0, 0, 1.0), CP_ILL_INPUT, "length", "0");
  ck_assert_refused(CPProjectorAddUnitNorm(k.P, 0, 5, 1.0), CP_ILL_INPUT, "length", "5");
  ck_assert_refused(CPProjectorAddUnitNorm(k.P, huge, huge, 1.0), CP_ILL_INPUT, "length",
                    "first = ");
  ck_assert_refused(CPProjectorAddUnitNorm(k.P, huge, 2, 1.0), CP_ILL_INPUT, "first", "length = 2");
  ck_assert_refused(CPProjectorAddUnitNorm(k.P, 0, 2, 0.0), CP_ILL_INPUT, "value", "0");
  ck_assert_refused(CPProjectorAddUnitNorm(k.P, 0, 2, -0.5), CP_ILL_INPUT, "value", "-0.5");
  ck_assert_refused(CPProjectorAddUnitNorm(k.P, 0, 2, NAN), CP_ILL_INPUT, "value", "nan");
  ck_assert_refused(CPProjectorAddUnitNorm(k.P, 0, 2, INFINITY), CP_ILL_INPUT, "value", "inf");
  ck_assert_refused(CPProjectorAddUnitNorm(k.P, 0, 2, 1e200), CP_ILL_INPUT, "square", "1e+200");
  ck_assert_refused(CPProjectorAddUnitNorm(k.P, 0, 2, 1e-200), CP_ILL_INPUT, "square", "1e-200");
  case_set_levels(&k, 1); /* (0, 0, 1, 1) */
  ck_assert_refused(CPProjectorAddUnitNorm(k.P, 1, 2, 1.0), CP_ILL_INPUT, "col_level[2]", "1");
}
END_TEST

/* Patterns: template.c */
START_TEST(SetNorm_refuses_templates_that_do_not_fit) {
  SUNMatrix wide = SUNDenseMatrix(4, 5, test_context), band = SUNBandMatrix(4, 1, 1, test_context);
  ck_assert_refused(CPProjectorSetNorm(k.P, CP_NORM_MATRIX, some_matrix, NULL), CP_ILL_INPUT,
                    "M_tmpl", "NULL");
  ck_assert_refused(CPProjectorSetNorm(k.P, CP_NORM_MATRIX, some_matrix, wide), CP_ILL_INPUT,
                    "M_tmpl", "4 x 5");
  ck_assert_refused(CPProjectorSetNorm(k.P, CP_NORM_MATRIX, some_matrix, band), CP_ILL_INPUT,
                    "M_tmpl", "dense");
  ck_assert_refused(CPProjectorSetNorm(k.P, CP_NORM_L2, some_matrix, NULL), CP_ILL_INPUT,
                    "M must be", "NULL");
  SUNMatDestroy(wide);
  SUNMatDestroy(band);
}
END_TEST

/* ---- nothing to project onto ---- */

START_TEST(without_function_and_norms_there_is_no_constraint) {
  MessageLog log = {0};
  N_Vector y = VECTOR(3.0, 4.0), y0 = vector_copy(y), ewt = VECTOR(1.0, 1.0);
  CPProjector P = CPProjectorCreate(NULL, y, NULL, test_context);
  ck_assert_ptr_nonnull(P);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &log), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorProject(P, 0.0, y, ewt), CP_ILL_INPUT);
  ck_assert_mentions(log.text, "no constraint");
  ck_assert_mentions(log.text, "CPProjectorAddUnitNorm");
  ck_assert_int_eq(CPProjectorProjectVector(P, CP_TANGENT, 0.0, y0, ewt, y), CP_ILL_INPUT);
  ck_assert_int_eq(CPProjectorAssemble(P, 0.0, y, ewt), CP_ILL_INPUT);
  ck_assert(same_bits(y, y0));
  /* functions for the rows of c find no rows */
  SUNMatrix G = SUNDenseMatrix(1, 2, test_context);
  ck_assert_int_eq(CPProjectorSetJacFn(P, equations_jac, G), CP_NOT_SUPPORTED);
  ck_assert_int_eq(CPProjectorSetActive(P, (int[]){1}), CP_NOT_SUPPORTED);
  ck_assert_int_eq(CPProjectorSetConstraintTol(P, ewt), CP_NOT_SUPPORTED);
  SUNMatDestroy(G);
  /* and it can still get one: (3, 4) / 5 */
  ck_assert_int_eq(CPProjectorAddUnitNorm(P, 0, 2, 1.0), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorProject(P, 0.0, y, ewt), CP_SUCCESS);
  ck_assert_double_eq_tol(entries(y)[0], 0.6, 1.0e-12);
  ck_assert_double_eq_tol(entries(y)[1], 0.8, 1.0e-12);
  CPProjectorFree(&P);
  N_VDestroy(y);
  N_VDestroy(y0);
  N_VDestroy(ewt);
}
END_TEST

/* ---- actions ---- */

typedef int (*Action)(N_Vector y, N_Vector ewt);

static sunrealtype result;

static int act_project(N_Vector y, N_Vector ewt) { return CPProjectorProject(k.P, 0.0, y, ewt); }
static int act_assemble(N_Vector y, N_Vector ewt) { return CPProjectorAssemble(k.P, 0.0, y, ewt); }
static int act_violation(N_Vector y, N_Vector ewt) {
  return CPProjectorGetViolation(k.P, 0.0, y, ewt, &result, NULL);
}
static int act_check(N_Vector y, N_Vector ewt) {
  return CPProjectorCheckJac(k.P, 0.0, y, ewt, &result, NULL, NULL);
}
static int act_tangent(N_Vector y, N_Vector ewt) {
  return CPProjectorProjectVector(k.P, CP_TANGENT, 0.0, y, ewt, k.ewt);
}
static int act_cotangent(N_Vector y, N_Vector ewt) {
  return CPProjectorProjectVector(k.P, CP_COTANGENT, 0.0, y, ewt, k.ewt);
}

static const Action actions[] = {act_project, act_assemble, act_violation,
                                 act_check,   act_tangent,  act_cotangent};

static void expect_refusal(Action act, N_Vector y, N_Vector ewt, const char *argument,
                           const char *value) {
  N_Vector y0      = y ? vector_copy(y) : NULL;
  const int count  = k.log.count;
  const long calls = k.eq.c_calls;
  ck_assert_int_eq(act(y, ewt), CP_ILL_INPUT);
  ck_assert_int_eq(k.log.count, count + 1);
  ck_assert_mentions(k.log.text, argument);
  ck_assert_mentions(k.log.text, value);
  ck_assert_int_eq(k.eq.c_calls, calls); /* found before anything was evaluated */
  if (y) ck_assert(same_bits(y, y0));
  if (y) N_VDestroy(y0);
}

START_TEST(actions_refuse_bad_states_and_weights) {
  const Action act = actions[_i];
  N_Vector three = VECTOR(1.0, 1.0, 1.0), five = VECTOR(1.0, 1.0, 1.0, 1.0, 1.0);
  N_Vector bad = vector_copy(k.y), weights = vector_copy(k.ewt);
  expect_refusal(act, NULL, k.ewt, "y must not", "NULL");
  expect_refusal(act, k.y, NULL, "ewt", "NULL");
  expect_refusal(act, three, k.ewt, "y ", "3");
  expect_refusal(act, five, k.ewt, "y ", "5");
  expect_refusal(act, k.y, three, "ewt", "3");
  entries(bad)[2] = NAN;
  expect_refusal(act, bad, k.ewt, "y[2]", "nan");
  entries(bad)[2] = -INFINITY;
  expect_refusal(act, bad, k.ewt, "y[2]", "-inf");
  entries(weights)[1] = 0.0;
  expect_refusal(act, k.y, weights, "ewt[1]", "0");
  entries(weights)[1] = -2.5;
  expect_refusal(act, k.y, weights, "ewt[1]", "-2.5");
  entries(weights)[1] = 1.0e-160; /* 1 / ewt^2 overflows */
  expect_refusal(act, k.y, weights, "ewt[1]", "1e-160");
  entries(weights)[1] = NAN;
  expect_refusal(act, k.y, weights, "ewt[1]", "nan");
  entries(weights)[1] = INFINITY;
  expect_refusal(act, k.y, weights, "ewt[1]", "inf");
  N_VDestroy(three);
  N_VDestroy(five);
  N_VDestroy(bad);
  N_VDestroy(weights);
}
END_TEST

START_TEST(tangent_and_cotangent_refuse_bad_vectors) {
  N_Vector three = VECTOR(1.0, 1.0, 1.0), bad = VECTOR(1.0, 1.0, 1.0, NAN), bad0 = vector_copy(bad);
  ck_assert_refused(CPProjectorProjectVector(k.P, CP_TANGENT, 0.0, k.y, k.ewt, NULL), CP_ILL_INPUT,
                    "x must not", "NULL");
  ck_assert_refused(CPProjectorProjectVector(k.P, CP_TANGENT, 0.0, k.y, k.ewt, three), CP_ILL_INPUT,
                    "x ", "3");
  ck_assert_refused(CPProjectorProjectVector(k.P, CP_TANGENT, 0.0, k.y, k.ewt, bad), CP_ILL_INPUT,
                    "x[3]", "nan");
  ck_assert(same_bits(bad, bad0));
  ck_assert_refused(CPProjectorProjectVector(k.P, CP_COTANGENT, 0.0, k.y, k.ewt, NULL),
                    CP_ILL_INPUT, "x must not", "NULL");
  ck_assert_refused(CPProjectorProjectVector(k.P, CP_COTANGENT, 0.0, k.y, k.ewt, three),
                    CP_ILL_INPUT, "x ", "3");
  ck_assert_refused(CPProjectorProjectVector(k.P, CP_COTANGENT, 0.0, k.y, k.ewt, bad), CP_ILL_INPUT,
                    "x[3]", "nan");
  ck_assert(same_bits(bad, bad0));
  N_VDestroy(three);
  N_VDestroy(bad);
  N_VDestroy(bad0);
}
END_TEST

START_TEST(results_without_a_place_are_refused) {
  ck_assert_refused(CPProjectorGetViolation(k.P, 0.0, k.y, k.ewt, NULL, NULL), CP_ILL_INPUT, "norm",
                    "NULL");
  ck_assert_refused(CPProjectorCheckJac(k.P, 0.0, k.y, k.ewt, NULL, NULL, NULL), CP_ILL_INPUT,
                    "err", "NULL");
  ck_assert_refused(CPProjectorGetRank(k.P, NULL, NULL), CP_ILL_INPUT, "rank", "NULL");
  ck_assert_refused(CPProjectorGetLinearSolver(k.P, NULL, NULL), CP_ILL_INPUT, "type", "NULL");
}
END_TEST

START_TEST(results_that_are_not_there_yet_are_refused) {
  sunindextype rank = -7;
  CPLinSol type     = CP_LINSOL_AUTO;
  ck_assert_refused(CPProjectorGetRank(k.P, &rank, NULL), CP_NO_INIT, "factored", "yet");
  ck_assert_refused(CPProjectorGetLinearSolver(k.P, &type, NULL), CP_NO_INIT, "projected", "yet");
  ck_assert_int_eq(rank, -7);
  ck_assert_int_eq(type, CP_LINSOL_AUTO);
}
END_TEST

/* ---- a user's own projection supports none of it ---- */

START_TEST(a_user_supplied_projection_refuses_what_it_cannot_do) {
  MessageLog log = {0};
  N_Vector y     = VECTOR(1.0, 2.0);
  sunindextype count;
  CPLinSol type;
  CPProjector P = projector_of_user(some_g, NULL, y);
  ck_assert_ptr_nonnull(P);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &log), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetSchurDiag(P, equations_diagonal), CP_NOT_SUPPORTED);
  ck_assert_int_eq(CPProjectorAddUnitNorm(P, 0, 2, 1.0), CP_NOT_SUPPORTED);
  ck_assert_int_eq(CPProjectorSetActive(P, NULL), CP_NOT_SUPPORTED);
  ck_assert_int_eq(CPProjectorSetNorm(P, CP_NORM_L2, NULL, NULL), CP_NOT_SUPPORTED);
  ck_assert_int_eq(log.count, 4);
  sunrealtype err;
  ck_assert_int_eq(CPProjectorCheckJac(P, 0.0, y, y, &err, NULL, NULL), CP_NOT_SUPPORTED);
  ck_assert_mentions(log.text, "has no Jacobian");
  ck_assert_int_eq(CPProjectorGetRank(P, &count, NULL), CP_NOT_SUPPORTED);
  ck_assert_int_eq(CPProjectorGetLinearSolver(P, &type, NULL), CP_NOT_SUPPORTED);
  CPProjectorFree(&P);
  N_VDestroy(y);
}
END_TEST

/* Products have no entries, and norms are no function. */
START_TEST(what_has_no_jacobian_has_none_to_check) {
  MessageLog log = {0};
  N_Vector y = VECTOR(0.8, 0.6), ewt = VECTOR(1.0e5, 1.0e5), c = VECTOR(0.0);
  Equations eq = equations_of(&circle);
  SUNMatrix G  = SUNDenseMatrix(1, 2, test_context);
  sunrealtype err;
  sunindextype rank;
  sunindextype row, col;
  CPProjector P =
      CPProjectorCreateProducts(equations_c, equations_Gv, equations_GTw, y, c, test_context);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &log), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetUserData(P, &eq), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorCheckJac(P, 0.0, y, ewt, &err, &row, &col), CP_SUCCESS);
  ck_assert_double_le(err, 1.0e-7);
  ck_assert_int_eq(row, -1);
  ck_assert_int_eq(col, -1);
  ck_assert_int_eq(CPProjectorProject(P, 0.0, y, ewt), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorGetRank(P, &rank, NULL), CP_NOT_SUPPORTED);
  CPProjectorFree(&P);
  P = CPProjectorCreate(NULL, y, NULL, test_context);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &log), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorAddUnitNorm(P, 0, 2, 1.0), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetJacFn(P, equations_jac, G), CP_NOT_SUPPORTED);
  ck_assert_int_eq(CPProjectorSetJacFn(P, NULL, G), CP_NOT_SUPPORTED);
  ck_assert_int_eq(CPProjectorSetJacFn(P, NULL, NULL), CP_SUCCESS);
  CPProjectorFree(&P);
  SUNMatDestroy(G);
  N_VDestroy(y);
  N_VDestroy(ewt);
  N_VDestroy(c);
}
END_TEST

/* After all these refusals, a projector works as if they had not happened. */
START_TEST(refused_calls_change_nothing) {
  const int none[] = {0, 0}, high[] = {16, 16, 16, 16};
  N_Vector three = VECTOR(1.0, -1.0, NAN), expected = vector_copy(k.y);
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, expected, k.ewt));
  case_close(&k);
  case_open(&k, equations_of(&pendulum_qu), solvers[0]);
  case_perturb(&k, 1.0e-4, 1);
  ck_assert_int_ne(CPProjectorSetLevels(k.P, high, high), CP_SUCCESS);
  ck_assert_int_ne(CPProjectorSetConstraintTol(k.P, three), CP_SUCCESS);
  ck_assert_int_ne(CPProjectorSetEps(k.P, NAN), CP_SUCCESS);
  ck_assert_int_ne(CPProjectorSetLinearSolver(k.P, (CPLinSol)99), CP_SUCCESS);
  ck_assert_int_ne(CPProjectorSetNorm(k.P, (CPNorm)99, NULL, NULL), CP_SUCCESS);
  ck_assert_int_ne(CPProjectorSetPreconditioner(k.P, some_psetup, NULL), CP_SUCCESS);
  ck_assert_int_ne(CPProjectorAddUnitNorm(k.P, 2, 3, 1.0), CP_SUCCESS);
  ck_assert_int_ne(CPProjectorSetActive(k.P, none), CP_SUCCESS);
  ck_assert_int_ne(CPProjectorSetNorm(k.P, CP_NORM_MATRIX, some_matrix, NULL), CP_SUCCESS);
  ck_assert_int_ne(CPProjectorGetLinearSolver(k.P, NULL, NULL), CP_SUCCESS);
  ck_assert_int_ne(CPProjectorProject(k.P, k.t, three, k.ewt), CP_SUCCESS);
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  ck_assert(same_bits(k.y, expected));
  N_VDestroy(three);
  N_VDestroy(expected);
}
END_TEST

START_TEST(without_a_handler_the_message_is_kept) {
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(k.P), NULL, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetEps(k.P, 2.0), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(k.P)), "eps");
  ck_assert_str_eq(CPObjectGetLastMessage(CP_OBJECT(k.P)), CPObjectGetLastMessage(NULL));
  ck_assert_int_eq(k.log.count, 0);
}
END_TEST

/* Products overflow: no success with Inf. */
START_TEST(a_vector_that_overflows_stays_as_it_was) {
  N_Vector heavy = vector_copy(k.y), v = vector_copy(k.y), before;
  N_VConst(DBL_MAX / 4, heavy);
  N_VConst(1.0e9, v);
  before = vector_copy(v);
  ck_assert_refused(CPProjectorProjectVector(k.P, CP_TANGENT, 0.0, k.y, heavy, v),
                    CP_PROJ_NONFINITE, "not finite", "overflow");
  ck_assert(same_bits(v, before));
  N_VDestroy(heavy), N_VDestroy(v), N_VDestroy(before);
}
END_TEST

TEST_SUITE(bad_input) {
  Suite *suite = suite_create("bad_input");
  TCase *tc    = tcase_create("bad_input");
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_test(tc, Create_refuses_missing_arguments_and_wrong_sizes);
  tcase_add_test(tc, a_matrix_needs_direct_access);
  tcase_add_test(tc, CreateUser_refuses_missing_arguments);
  tcase_add_test(tc, freeing_nothing_is_harmless);
  tcase_add_test(tc, every_function_refuses_a_missing_projector);
  tcase_add_test(tc, the_last_message_is_never_NULL);
  tcase_add_test(tc, SetJacFn_refuses_templates_that_do_not_fit);
  tcase_add_test(tc, SetLevels_refuses_one_array_or_a_wrong_level);
  tcase_add_test(tc, enums_out_of_range_are_refused);
  tcase_add_test(tc, SetConstraintTol_refuses_what_is_not_positive_and_finite);
  tcase_add_test(tc, SetEps_refuses_what_is_not_between_0_and_1);
  tcase_add_test(tc, SetActive_refuses_a_mask_that_removes_all);
  tcase_add_test(tc, products_have_their_own_options_and_no_matrices);
  tcase_add_test(tc, a_vector_that_overflows_stays_as_it_was);
  tcase_add_test(tc, AddUnitNorm_refuses_components_that_are_not_there_and_bad_values);
  tcase_add_test(tc, SetNorm_refuses_templates_that_do_not_fit);
  tcase_add_test(tc, without_function_and_norms_there_is_no_constraint);
  tcase_add_loop_test(tc, actions_refuse_bad_states_and_weights, 0,
                      sizeof actions / sizeof actions[0]);
  tcase_add_test(tc, tangent_and_cotangent_refuse_bad_vectors);
  tcase_add_test(tc, results_without_a_place_are_refused);
  tcase_add_test(tc, results_that_are_not_there_yet_are_refused);
  tcase_add_test(tc, a_user_supplied_projection_refuses_what_it_cannot_do);
  tcase_add_test(tc, what_has_no_jacobian_has_none_to_check);
  tcase_add_test(tc, refused_calls_change_nothing);
  tcase_add_test(tc, without_a_handler_the_message_is_kept);
  suite_add_tcase(suite, tc);
  return suite;
}
