/* The user's own projector, on N_Vectors other than the serial one: the pendulum in OpenMP's and pthreads' vectors. */
#include "onestep/fixture.h"

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
  return CPProjectorCreateUser(rod_projection, rod_error_projection, y, test_context);
}

static CPProjector without_error(N_Vector y) {
  return CPProjectorCreateUser(rod_projection, NULL, y, test_context);
}

static CPProjector by_constraints(N_Vector y) {
  N_Vector c    = VECTOR(0.0, 0.0);
  CPProjector P = CPProjectorCreate(pendulum_constraints, y, c, test_context);
  CPProjectorSetUserData(P, &rod);
  N_VDestroy(c);
  return P;
}
static CPProjector (*const projectors[])(N_Vector) = {users, without_error, by_constraints};

/* From rest to t = 0.7, with output between steps; the end in z. */
static void integrate(const char *method, N_Vector (*kind)(void),
                      CPProjector (*projector)(N_Vector), sunrealtype z[PENDULUM_N]) {
  sunrealtype t;
  MessageLog log = {0};
  N_Vector y     = kind();
  N_VConst(0.0, y);
  N_VGetArrayPointer(y)[0] = rod.L;
  CPProjector P            = projector(y);
  CPOneStepMem mem         = CPOneStepCreate(method, test_context);
  ck_assert_ptr_nonnull(P);
  ck_assert_int_eq(CPOneStepSetErrHandlerFn(mem, message_log, &log), CP_SUCCESS);
  ck_assert_int_eq(CPOneStepInit(mem, pendulum_rhs, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CPOneStepSStolerances(mem, 1.0e-8, 1.0e-8), CP_SUCCESS);
  ck_assert_int_eq(CPOneStepSetUserData(mem, &rod), CP_SUCCESS);
  ck_assert_int_eq(CPOneStepSetProjector(mem, P), CP_SUCCESS);
  for (int i = 1; i <= 7; i++) {
    const int flag = CPOneStepEvolve(mem, 0.1 * i, y, &t, CV_NORMAL);
    ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, log.text);
  }
  memcpy(z, N_VGetArrayPointer(y), PENDULUM_N * sizeof *z);
  CPOneStepFree(&mem);
  CPProjectorFree(&P);
  N_VDestroy(y);
}

/* Sums over parts are rounded differently: 4 numbers, a few units in each of some 50 steps. */
#define ROUNDED 1.0e-11

START_TEST(other_vectors_give_the_serial_result) {
  sunrealtype z[2][PENDULUM_N], exact[PENDULUM_N];
  const char *method                 = explicit_methods[_i % n_explicit_methods];
  CPProjector (*projector)(N_Vector) = projectors[_i / n_explicit_methods];
  if (!strcmp(method, "ARKODE_HEUN_EULER_2_1_2")) return; /* some 20,000 steps */
  integrate(method, serial, projector, z[0]);
  pendulum_exact(&rod, 0.7, exact);
  for (int i = 0; i < PENDULUM_N; i++) ck_assert_double_le(fabs(z[0][i] - exact[i]), 1.0e-4);
  for (int kind = 1; kind < 3; kind++) {
    integrate(method, kinds[kind], projector, z[1]);
    for (int i = 0; i < PENDULUM_N; i++) ck_assert_double_le(fabs(z[0][i] - z[1][i]), ROUNDED);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("vectors of one-step methods");
  TCase *tc    = tcase_create("vectors");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, other_vectors_give_the_serial_result, 0, 3 * n_explicit_methods);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
