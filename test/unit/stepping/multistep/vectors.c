/* N_Vectors other than the serial one: the pendulum on vectors in pieces and on threaded ones. */
#include "stepping/multistep/fixture.h"

#include <math.h>
#include <nvector/nvector_manyvector.h>
#include <nvector/nvector_openmp.h>
#include <nvector/nvector_pthreads.h>
#include <string.h>

static Pendulum rod = {1.0, 9.81};

/* Four components of a vector of any of the kinds here */
static void get(N_Vector y, sunrealtype z[4]) {
  if (N_VGetVectorID(y) != SUNDIALS_NVEC_MANYVECTOR) {
    memcpy(z, N_VGetArrayPointer(y), 4 * sizeof *z);
    return;
  }
  memcpy(z, N_VGetArrayPointer(N_VGetSubvector_ManyVector(y, 0)), 2 * sizeof *z);
  memcpy(z + 2, N_VGetArrayPointer(N_VGetSubvector_ManyVector(y, 1)), 2 * sizeof *z);
}

static void put(const sunrealtype z[4], N_Vector y) {
  if (N_VGetVectorID(y) != SUNDIALS_NVEC_MANYVECTOR) {
    memcpy(N_VGetArrayPointer(y), z, 4 * sizeof *z);
    return;
  }
  memcpy(N_VGetArrayPointer(N_VGetSubvector_ManyVector(y, 0)), z, 2 * sizeof *z);
  memcpy(N_VGetArrayPointer(N_VGetSubvector_ManyVector(y, 1)), z + 2, 2 * sizeof *z);
}

/* The serial functions, on copies. */
static int any_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)user_data;
  sunrealtype z[4];
  N_Vector in = vector_of(4, NULL), out = vector_of(4, NULL);
  get(y, entries(in));
  pendulum_rhs(t, in, out, &rod);
  memcpy(z, entries(out), sizeof z);
  put(z, ydot);
  N_VDestroy(in);
  N_VDestroy(out);
  return 0;
}

static int any_projection(sunrealtype t, N_Vector yhat, N_Vector y, sunrealtype eps,
                          void *user_data) {
  N_Vector in = vector_of(4, NULL), out = vector_of(4, NULL);
  get(yhat, entries(in));
  rod_projection(t, in, out, eps, user_data);
  put(entries(out), y);
  N_VDestroy(in);
  N_VDestroy(out);
  return 0;
}

static int any_error_projection(sunrealtype t, N_Vector y, N_Vector err, void *user_data) {
  N_Vector in = vector_of(4, NULL), e = vector_of(4, NULL);
  get(y, entries(in));
  get(err, entries(e));
  rod_error_projection(t, in, e, user_data);
  put(entries(e), err);
  N_VDestroy(in);
  N_VDestroy(e);
  return 0;
}

static N_Vector parts[2];
static N_Vector many(void) {
  parts[0] = vector_of(2, NULL);
  parts[1] = vector_of(2, NULL);
  return N_VNew_ManyVector(2, parts, test_context);
}
static N_Vector openmp(void) { return N_VNew_OpenMP(4, 2, test_context); }
static N_Vector pthreads(void) { return N_VNew_Pthreads(4, 2, test_context); }
static N_Vector serial(void) { return vector_of(4, NULL); }

static N_Vector (*const kinds[])(void) = {serial, many, openmp, pthreads};

/* Integrates the pendulum to t = 0.3 on vectors of a kind; final state in z. */
static void integrate(Method method, CPProjector P, N_Vector y, sunrealtype z[4]) {
  sunrealtype t;
  MessageLog message = {0};
  CPIntegrator mem   = CPIntegratorCreate(method.lmm == CV_BDF ? "BDF" : "ADAMS", test_context);
  SUNNonlinearSolver inner = inner_solver(method, y);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &message), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetNonlinearSolver(mem, inner), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorInit(mem, any_rhs, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-6, 1.0e-6), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetProjector(mem, P), CP_SUCCESS);
  const int flag = CPIntegratorEvolve(mem, 0.3, y, &t, CV_NORMAL);
  ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, message.text);
  get(y, z);
  CPIntegratorFree(&mem);
  SUNNonlinSolFree(inner);
}

/* Sums over parts are rounded differently: 4 numbers, a few units in each of about 100 steps. */
#define ROUNDED 1.0e-11

static const sunrealtype start[4] = {1.0, 0.0, 0.0, 0.0};

static void compare_with_serial(int kind, int i_method, CPProjector (*projector)(N_Vector)) {
  sunrealtype z[2][4];
  for (int k = 0; k < 2; k++) {
    N_Vector y = k ? kinds[kind]() : serial();
    put(start, y);
    CPProjector P = projector(y);
    ck_assert_ptr_nonnull(P);
    integrate(methods[i_method], P, y, z[k]);
    CPProjectorFree(&P);
    N_VDestroy(y);
    if (k && kind == 1) {
      N_VDestroy(parts[0]);
      N_VDestroy(parts[1]);
    }
  }
  for (int i = 0; i < 4; i++) ck_assert_double_le(fabs(z[0][i] - z[1][i]), ROUNDED);
}

static CPProjector users(N_Vector y) {
  return projector_of_user(any_projection, any_error_projection, y);
}

static int any_constraints(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  (void)user_data;
  return pendulum_constraints(t, y, c, &rod);
}

static CPProjector internals(N_Vector y) {
  N_Vector c    = vector_of(PENDULUM_M, NULL);
  CPProjector P = CPProjectorCreate(any_constraints, y, c, test_context);
  N_VDestroy(c);
  return P;
}

START_TEST(a_user_projection_works_on_any_vector) {
  compare_with_serial(1 + _i / 2, 1 + _i % 2, users);
}
END_TEST

START_TEST(the_internal_projector_works_on_threaded_vectors) {
  compare_with_serial(2 + _i / 2, 1 + _i % 2, internals);
}
END_TEST

/* A user without a matrix can supply products: without them such vectors are refused, and the
 * message names this remedy. */
START_TEST(a_matrix_needs_vectors_in_one_memory) {
  N_Vector y = many(), c = vector_of(PENDULUM_M, NULL);
  CPProjector P  = CPProjectorCreate(any_constraints, y, c, test_context);
  MessageLog log = {0};
  ck_assert_ptr_nonnull(P);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &log), CP_SUCCESS);
  N_VConst(1.0, y);
  ck_assert_int_eq(CPProjectorProject(P, 0.0, y, y), CP_NOT_SUPPORTED);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(P)), "CPProjectorCreateProducts");
  CPProjectorFree(&P);
  N_VDestroy(y);
  N_VDestroy(c);
  N_VDestroy(parts[0]);
  N_VDestroy(parts[1]);
}
END_TEST

TEST_SUITE(vectors) {
  Suite *suite = suite_create("other vectors");
  TCase *tc    = tcase_create("vectors");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, a_user_projection_works_on_any_vector, 0, 6);
  tcase_add_loop_test(tc, the_internal_projector_works_on_threaded_vectors, 0, 4);
  tcase_add_test(tc, a_matrix_needs_vectors_in_one_memory);
  suite_add_tcase(suite, tc);
  return suite;
}
