/* A model is constant: it is freed with the last system that uses it, keeps copies of what it was made from, and makes
 * the data of each system. */
#include <cpodes/cpodes_mechanics.h>
#include <malloc.h>
#include <stdlib.h>
#include <sunmatrix/sunmatrix_sparse.h>

#include "models/pendulum.h"
#include "models/spatial_chain.h"
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

/* ---- several systems ---- */

enum { RODS = 200 };

static SpatialChain *chain_of(int rods, CPEquations *equations, N_Vector *y) {
  const SpatialChainData data  = {.l = 1, .radius = 0.05, .m = 1, .g = 9.81};
  const SpatialChainStart from = {.angle = -0.5, .spin = 1};
  SpatialChain *chain          = spatial_chain_create(rods, &data);
  ck_assert_ptr_nonnull(chain);
  *y = vector_of(13 * rods, NULL);
  spatial_chain_initial(chain, &from, *y);
  ck_assert_int_eq(rigid_body_model(&chain->bodies, 1, test_context, equations), 0);
  equations->model_data = &chain->bodies;
  return chain;
}

/* What depends on the model alone exists once: a second system of a chain holds the values of M and A, 30 numbers for
 * each rod with 64-bit indices of the user's matrices, two copies of them and the factors, and some 50 numbers of
 * workspace, which together are below 2,000 bytes for each rod. Patterns, index maps and orders would be as much again. */
START_TEST(a_second_system_holds_values_and_no_structures) {
  CPEquations equations;
  N_Vector y;
  SpatialChain *chain = chain_of(RODS, &equations, &y);
  CPModel model       = CPModelCreate(&equations);
  CPMech mech[2]      = {NULL, NULL};
  size_t bytes[3]     = {0};
  for (int k = 0; k < 2; k++) {
    static sunrealtype udot[6 * RODS];
    bytes[k] = mallinfo2().uordblks + mallinfo2().hblkhd;
    mech[k]  = CPMechCreate(model, y, test_context);
    ck_assert_int_eq(CPMechAccelerations(mech[k], 0, y, udot, NULL), CP_SUCCESS);
    bytes[k + 1] = mallinfo2().uordblks + mallinfo2().hblkhd;
  }
  ck_assert_uint_le(bytes[2] - bytes[1],
                    2000 * RODS); /* 0 with a sanitizer, whose malloc does not count */
  for (int k = 0; k < 2; k++) CPMechFree(&mech[k]);
  CPModelFree(&model);
  rigid_body_model_free(&equations);
  N_VDestroy(y);
  spatial_chain_free(&chain);
}
END_TEST

static int (*given_A)(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data);

/* As given_A, in a storage that lies elsewhere at each call */
static int moving_A(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  static int larger;
  const sunindextype entries = SM_INDEXPTRS_S(A)[SM_NP_S(A)];
  larger                     = !larger;
  if (SUNSparseMatrix_Reallocate(A, larger ? 100 * entries : entries)) return -1;
  return given_A(t, q, A, data);
}

START_TEST(a_function_may_move_the_storage_of_its_matrix) {
  enum { FEW = 5 };
  sunrealtype udot[2][6 * FEW];
  N_Vector end[2];
  for (int k = 0; k < 2; k++) {
    CPEquations equations;
    sunrealtype t       = 0;
    SpatialChain *chain = chain_of(FEW, &equations, &end[k]);
    given_A             = equations.A;
    if (k) equations.A = moving_A;
    CPMech mech      = create_mech(&equations, end[k], test_context);
    CPIntegrator mem = CPIntegratorCreate("DOP853", test_context);
    for (int twice = 0; twice < 2; twice++)
      ck_assert_int_eq(CPMechAccelerations(mech, 0, end[k], udot[k], NULL), CP_SUCCESS);
    ck_assert_int_eq(CPMechAttach(mech, mem, 0, end[k]), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-6, 1e-6), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorEvolve(mem, 0.1, end[k], &t, CV_NORMAL), CP_SUCCESS);
    CPIntegratorFree(&mem);
    CPMechFree(&mech);
    rigid_body_model_free(&equations);
    spatial_chain_free(&chain);
  }
  ck_assert_mem_eq(udot[0], udot[1], sizeof udot[0]);
  ck_assert(same_bits(end[0], end[1]));
  for (int k = 0; k < 2; k++) N_VDestroy(end[k]);
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
  tcase_add_test(tc, a_second_system_holds_values_and_no_structures);
  tcase_add_test(tc, a_function_may_move_the_storage_of_its_matrix);
  suite_add_tcase(suite, tc);
  return suite;
}
