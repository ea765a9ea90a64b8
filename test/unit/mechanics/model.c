/* A model is constant: it is freed with the last system that uses it, keeps copies of what it was made from, and makes
 * the data of each system. */
#include <cpodes/cpodes_mechanics.h>
#include <stdlib.h>

#include "models/pendulum.h"
#include "support/mech_run.h"

/* The pendulum's length and gravity as data of the model, which are copied for each system. */
typedef struct {
  Pendulum pendulum;
  int made, freed; /* numbers of data */
  int fails;
} Data;

static int models_freed;
static Data *owner;

static int new_data(void *model_data, SUNContext ctx, void **data) {
  Data *own      = model_data;
  Pendulum *copy = malloc(sizeof *copy);
  ck_assert_ptr_eq(ctx, test_context);
  if (own->fails) {
    free(copy);
    return -1;
  }
  *copy = own->pendulum;
  *data = copy;
  own->made++;
  return 0;
}

static void free_data(void *data) {
  owner->freed++;
  free(data);
}

static void free_model_data(void *data) {
  (void)data;
  models_freed++;
}

static CPModel model_of(Data *data) {
  CPEquations equations     = pendulum_model();
  equations.model_data      = data;
  equations.new_data        = new_data;
  equations.free_data       = free_data;
  equations.free_model_data = free_model_data;
  models_freed              = 0;
  owner                     = data;
  return CPModelCreate(&equations);
}

static sunrealtype multiplier(CPMech mech, N_Vector y) {
  sunrealtype udot[2], lambda = 0;
  ck_assert_int_eq(CPMechAccelerations(mech, 0, y, udot, &lambda), CP_SUCCESS);
  return lambda;
}

/* Hanging at rest: L lambda = g */
START_TEST(each_system_has_data_of_its_own) {
  Data data     = {.pendulum = {.L = 1, .g = 9}};
  CPModel model = model_of(&data);
  N_Vector y    = VECTOR(0, -1, 0, 0);
  CPMech a = CPMechCreate(model, y, test_context), b = CPMechCreate(model, y, test_context);
  Pendulum *of_b = CPMechGetUserData(b);
  ck_assert_ptr_ne(CPMechGetUserData(a), of_b);
  of_b->g = 3;
  ck_assert_int_eq(CPMechSetUserData(b, of_b), CP_SUCCESS); /* its data have changed */
  ck_assert_double_eq_tol(multiplier(a, y), 9, 1e-14);
  ck_assert_double_eq_tol(multiplier(b, y), 3, 1e-14);
  ck_assert_int_eq(data.made, 2);
  CPMechFree(&a);
  ck_assert_int_eq(data.freed, 1);
  CPMechFree(&b);
  ck_assert_int_eq(data.freed, 2);
  ck_assert_int_eq(models_freed, 0);
  CPModelFree(&model);
  ck_assert_ptr_null(model);
  ck_assert_int_eq(models_freed, 1);
  N_VDestroy(y);
}
END_TEST

START_TEST(a_model_lives_as_long_as_a_system_of_it) {
  Data data     = {.pendulum = {.L = 1, .g = 9}};
  CPModel model = model_of(&data), same = model;
  N_Vector y  = VECTOR(0, -1, 0, 0);
  CPMech mech = CPMechCreate(model, y, test_context);
  CPModelFree(&model);
  ck_assert_int_eq(models_freed, 0);
  ck_assert_ptr_eq(CPMechGetModel(mech), same);
  ck_assert_double_eq_tol(multiplier(mech, y), 9, 1e-14);
  CPMechFree(&mech);
  ck_assert_int_eq(models_freed, 1);
  CPModelFree(&model); /* does nothing */
  CPModelFree(NULL);
  N_VDestroy(y);
}
END_TEST

START_TEST(data_that_cannot_be_made_refuse_the_system) {
  Data data     = {.fails = 1};
  CPModel model = model_of(&data);
  N_Vector y    = VECTOR(0, -1, 0, 0);
  ck_assert_ptr_null(CPMechCreate(model, y, test_context)); /* the reason is printed */
  ck_assert_int_eq(data.freed, 0);
  CPModelFree(&model);
  ck_assert_int_eq(models_freed, 1);
  N_VDestroy(y);
}
END_TEST

START_TEST(other_data_than_the_models_are_refused) {
  Data data          = {.pendulum = {.L = 1, .g = 9}};
  CPModel model      = model_of(&data);
  N_Vector y         = VECTOR(0, -1, 0, 0);
  CPMech mech        = CPMechCreate(model, y, test_context);
  MessageLog message = {0};
  CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &message);
  ck_assert_int_eq(CPMechSetUserData(mech, &data), CP_NOT_SUPPORTED);
  ck_assert_mentions(message.text, "the data that it brings");
  CPMechFree(&mech);
  CPModelFree(&model);
  N_VDestroy(y);
}
END_TEST

/* The data of a model that is refused stay the caller's. */
START_TEST(a_refused_model_frees_nothing) {
  Data data                 = {.fails = 0};
  CPEquations equations     = pendulum_model();
  equations.model_data      = &data;
  equations.free_model_data = free_model_data;
  equations.nmotions        = 1;
  models_freed              = 0;
  ck_assert_ptr_null(CPModelCreate(&equations));
  ck_assert_int_eq(models_freed, 0);
}
END_TEST

/* Free fall: no multiplier */
START_TEST(rows_that_are_off_in_the_model_are_off_at_first) {
  Data data             = {.pendulum = {.L = 1, .g = 9}};
  int active[]          = {0};
  CPEquations equations = pendulum_model();
  equations.model_data  = &data.pendulum;
  equations.active      = active;
  CPModel model         = CPModelCreate(&equations);
  active[0]             = 1; /* the model has a copy */
  N_Vector y            = VECTOR(0, -1, 0, 0);
  CPMech mech           = CPMechCreate(model, y, test_context);
  ck_assert_double_eq(multiplier(mech, y), 0);
  ck_assert_int_eq(CPMechSetActive(mech, NULL), CP_SUCCESS);
  ck_assert_double_eq_tol(multiplier(mech, y), 9, 1e-14);
  CPMechFree(&mech);
  CPModelFree(&model);
  N_VDestroy(y);
}
END_TEST

START_TEST(a_model_tells_what_it_was_made_from) {
  CPQuaternion Q[]            = {{7, 6, CP_FRAME_WORLD}, {0, 0, CP_FRAME_BODY}};
  SUNMatrix M                 = SUNDenseMatrix(9, 9, test_context);
  const CPEquations equations = {CP_SIZED(CPEquations), .nu = 9,          .nq = 11,
                                 .M_tmpl = M,           .quaternions = Q, .nquaternions = 2};
  for (int i = 0; i < 9; i++) SM_ELEMENT_D(M, i, i) = 1;
  CPModel model = CPModelCreate(&equations);
  ck_assert_ptr_nonnull(model);
  Q[0].first_q = Q[1].first_q = 3;
  SUNMatDestroy(M);
  const CPEquations *own = CPModelGetEquations(model);
  ck_assert_int_eq(own->quaternions[0].first_q, 0);
  ck_assert_int_eq(own->quaternions[1].first_q, 7);
  ck_assert_int_eq(own->quaternions[1].frame, CP_FRAME_WORLD);
  ck_assert_double_eq(own->time, 1);
  ck_assert_ptr_null(CPModelGetEquations(NULL));
  ck_assert_ptr_null(CPMechGetModel(NULL));
  CPModelFree(&model);
}
END_TEST

TEST_SUITE(model) {
  Suite *suite = suite_create("mechanics/model");
  TCase *tc    = tcase_create("model");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_test(tc, each_system_has_data_of_its_own);
  tcase_add_test(tc, a_model_lives_as_long_as_a_system_of_it);
  tcase_add_test(tc, data_that_cannot_be_made_refuse_the_system);
  tcase_add_test(tc, other_data_than_the_models_are_refused);
  tcase_add_test(tc, a_refused_model_frees_nothing);
  tcase_add_test(tc, rows_that_are_off_in_the_model_are_off_at_first);
  tcase_add_test(tc, a_model_tells_what_it_was_made_from);
  suite_add_tcase(suite, tc);
  return suite;
}
