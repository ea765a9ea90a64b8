/* The user's own projector on N_Vectors other than the serial one: the pendulum with vectors of
 * OpenMP and of pthreads. */
#include "stepping/onestep/fixture.h"

#include <math.h>
#include <nvector/nvector_openmp.h>
#include <nvector/nvector_pthreads.h>
#include <string.h>

static Pendulum rod = {1.0, 9.81};

static N_Vector openmp(void) { return N_VNew_OpenMP(PENDULUM_N, 2, test_context); }
static N_Vector pthreads(void) { return N_VNew_Pthreads(PENDULUM_N, 2, test_context); }
static N_Vector serial(void) { return vector_of(PENDULUM_N, NULL); }
static N_Vector (*const kinds[])(void) = {serial, openmp, pthreads};

static CPProjector users(N_Vector y) {
  return projector_of_user(rod_projection, rod_error_projection, y);
}

static CPProjector without_error(N_Vector y) { return projector_of_user(rod_projection, NULL, y); }

static CPProjector by_constraints(N_Vector y) {
  N_Vector c    = VECTOR(0.0, 0.0);
  CPProjector P = CPProjectorCreate(pendulum_constraints, y, c, test_context);
  CPProjectorSetUserData(P, &rod);
  N_VDestroy(c);
  return P;
}
static CPProjector (*const projectors[])(N_Vector) = {users, without_error, by_constraints};

#define END 0.3

/* From rest to t = END, with output between steps; the final state in z */
static void integrate(const char *method, N_Vector (*kind)(void),
                      CPProjector (*projector)(N_Vector), sunrealtype z[PENDULUM_N]) {
  sunrealtype t;
  MessageLog log = {0};
  N_Vector y     = kind();
  N_VConst(0.0, y);
  N_VGetArrayPointer(y)[0] = rod.L;
  CPProjector P            = projector(y);
  CPIntegrator mem         = CPIntegratorCreate(method, test_context);
  ck_assert_ptr_nonnull(P);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &log), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorInit(mem, pendulum_rhs, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-6, 1.0e-6), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetUserData(mem, &rod), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetProjector(mem, P), CP_SUCCESS);
  for (int i = 1; i <= 3; i++) {
    const int flag = CPIntegratorEvolve(mem, END / 3.0 * i, y, &t, CV_NORMAL);
    ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, log.text);
  }
  memcpy(z, N_VGetArrayPointer(y), PENDULUM_N * sizeof *z);
  CPIntegratorFree(&mem);
  CPProjectorFree(&P);
  N_VDestroy(y);
}

/* Sums over parts are rounded differently: 4 numbers, a few units in each of about 10 steps. */
#define ROUNDED 1.0e-11

/* One of each kind of explicit method. Few steps are taken, since threads wait for each other on
 * busy processors. */
static const char *const ways[] = {"DOP853", "ARKODE_DORMAND_PRINCE_7_4_5"};

START_TEST(other_vectors_give_the_serial_result) {
  sunrealtype z[2][PENDULUM_N], exact[PENDULUM_N];
  integrate(ways[_i % 2], serial, projectors[_i / 2], z[0]);
  pendulum_exact(&rod, END, exact);
  for (int i = 0; i < PENDULUM_N; i++) ck_assert_double_le(fabs(z[0][i] - exact[i]), 1.0e-4);
  for (int kind = 1; kind < 3; kind++) {
    integrate(ways[_i % 2], kinds[kind], projectors[_i / 2], z[1]);
    for (int i = 0; i < PENDULUM_N; i++) ck_assert_double_le(fabs(z[0][i] - z[1][i]), ROUNDED);
  }
}
END_TEST

TEST_SUITE(vectors) {
  Suite *suite = suite_create("vectors of one-step methods");
  TCase *tc    = tcase_create("vectors");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, other_vectors_give_the_serial_result, 0, 6);
  suite_add_tcase(suite, tc);
  return suite;
}
