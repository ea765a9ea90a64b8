/* A Newton matrix that is not finite: no run ends in success with a state that stands still. */
#include "stepping/multistep/fixture.h"

#include <cvodes/cvodes_bandpre.h>
#include <cvodes/cvodes_ls.h>
#include <math.h>

#include <sunlinsol/sunlinsol_band.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunlinsol/sunlinsol_spgmr.h>
#include <sunmatrix/sunmatrix_band.h>

static Run run;

/* ---- f is Inf at one call, in one component ---- */

static long int calls, bad_call;
static int bad_component;
static sunrealtype bad_value;

static int rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  const int flag = world_rhs(t, y, ydot, user_data);
  if (calls++ == bad_call) entries(ydot)[bad_component] = bad_value;
  return flag;
}

typedef enum { DENSE, BAND, BANDED_PRECONDITIONER, SOLVERS } Solver;

static void add_solver(Solver solver) {
  const sunindextype n = PENDULUM_N;
  if (solver == DENSE) run_add_linear_solver(&run);
  if (solver == BAND) {
    run.A  = SUNBandMatrix(n, n - 1, n - 1, test_context);
    run.LS = SUNLinSol_Band(run.y, run.A, test_context);
  }
  if (solver == BANDED_PRECONDITIONER)
    run.LS = SUNLinSol_SPGMR(run.y, SUN_PREC_LEFT, 0, test_context);
  if (solver != DENSE) ck_assert_success(&run, CVodeSetLinearSolver(run.cvode_mem, run.LS, run.A));
  if (solver == BANDED_PRECONDITIONER)
    ck_assert_success(&run, CVBandPrecInit(run.cvode_mem, n, n - 1, n - 1));
}

static void open_run(int lmm, Solver solver, int projected) {
  run_create(&run, (Method){lmm, SUNNONLINEARSOLVER_ROOTFIND, "Newton"}, 1.0e-6);
  ck_assert_success(&run, CPIntegratorInit(run.mem, rhs, 0.0, run.y));
  ck_assert_success(&run, CPIntegratorSStolerances(run.mem, run.tol, run.tol));
  ck_assert_success(&run, CVodeSetUserData(run.cvode_mem, &run.world));
  if (projected) ck_assert_success(&run, CPIntegratorSetProjector(run.mem, run.P));
  add_solver(solver);
}

enum { CALLS = 60 };

/* Calls 1 ... 60 include those of the first matrices. The bound also holds without a projector:
 * drift is the accumulated error of the steps. */
START_TEST(a_run_with_one_inf_is_as_accurate_as_another) {
  const int lmm = _i % 2 ? CV_ADAMS : CV_BDF, projected = _i / 2 % 2;
  const Solver solver         = (Solver)(_i / 4);
  const sunrealtype values[2] = {INFINITY, -INFINITY};
  for (int n = 1; n <= CALLS; n++)
    for (int k = 0; k < 2 * PENDULUM_N; k++) {
      calls         = 0;
      bad_call      = n;
      bad_component = k / 2;
      bad_value     = values[k % 2];
      open_run(lmm, solver, projected);
      ck_assert_success(&run, run_to(&run, 0.5));
      ck_assert_bound(&run, error_of(&run), error_bound(&run));
      run_close(&run);
    }
}
END_TEST

/* ---- Jacobians by the user ---- */

static sunrealtype jacobian_after; /* from then on one entry is Inf */

static int jacobian(sunrealtype t, N_Vector y, N_Vector fy, SUNMatrix J, void *user_data,
                    N_Vector tmp1, N_Vector tmp2, N_Vector tmp3) {
  const sunrealtype e = 1.0e-7;
  World *world        = user_data;
  (void)tmp2, (void)tmp3;
  for (int j = 0; j < PENDULUM_N; j++) {
    const sunrealtype kept = entries(y)[j];
    entries(y)[j] += e;
    pendulum_rhs(t, y, tmp1, &world->p);
    entries(y)[j] = kept;
    for (int i = 0; i < PENDULUM_N; i++)
      SM_ELEMENT_D(J, i, j) = (entries(tmp1)[i] - entries(fy)[i]) / e;
  }
  /* If pivoting chooses it, the rest is regular: a singular matrix is a separate failure. */
  if (t > jacobian_after) SM_ELEMENT_D(J, 2, 2) = INFINITY;
  return 0;
}

START_TEST(a_jacobian_that_stays_inf_ends_the_run_and_is_named) {
  bad_call       = -1;
  jacobian_after = 0.3;
  open_run(_i % 2 ? CV_ADAMS : CV_BDF, DENSE, _i / 2);
  ck_assert_success(&run, CVodeSetJacFn(run.cvode_mem, jacobian));
  ck_assert_flag(&run, run_to(&run, 2.0), CP_RHS_NONFINITE);
  ck_assert_message(&run, "matrix of Newton's iteration");
  ck_assert_bound(&run, error_of(&run), error_bound(&run)); /* the last good state */
  jacobian_after = INFINITY;
  ck_assert_success(&run, run_to(&run, 2.0));
  ck_assert_bound(&run, error_of(&run), error_bound(&run));
  run_close(&run);
}
END_TEST

/* ---- finite matrices ---- */

/* Two equal oscillators, one between them that depends on their difference, and one at rest:
 * corrections are exactly zero in two components. */
static int symmetric(sunrealtype t, N_Vector yv, N_Vector ydotv, void *user_data) {
  const sunrealtype *y = entries(yv);
  sunrealtype *ydot    = entries(ydotv);
  (void)t, (void)user_data;
  for (int k = 0; k < 2; k++) {
    ydot[2 * k]     = y[2 * k + 1];
    ydot[2 * k + 1] = -100.0 * y[2 * k] - y[2 * k + 1];
  }
  ydot[4] = (y[0] - y[2]) - y[4];
  ydot[5] = 0.0;
  return 0;
}

START_TEST(corrections_that_are_zero_are_no_sign_of_a_matrix_with_inf) {
  const sunrealtype y0[] = {1.0, 0.0, 1.0, 0.0, 0.0, 3.0};
  MessageLog log         = {0};
  N_Vector y             = vector_of(6, y0);
  CPIntegrator mem       = CPIntegratorCreate(_i ? "ADAMS" : "BDF", test_context);
  SUNMatrix A            = SUNDenseMatrix(6, 6, test_context);
  SUNLinearSolver LS     = SUNLinSol_Dense(y, A, test_context);
  sunrealtype t          = 0.0;
  long int failures      = -1;
  CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &log);
  ck_assert_int_eq(CPIntegratorInit(mem, symmetric, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-6, 1.0e-6), CP_SUCCESS);
  ck_assert_int_eq(CVodeSetLinearSolver(CPIntegratorGetCVodeMem(mem), LS, A), CV_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 5.0, y, &t, CV_NORMAL), CV_SUCCESS);
  ck_assert_int_eq(CVodeGetNumStepSolveFails(CPIntegratorGetCVodeMem(mem), &failures), CV_SUCCESS);
  ck_assert_int_eq(failures, 0);
  CPIntegratorFree(&mem);
  SUNLinSolFree(LS);
  SUNMatDestroy(A);
  N_VDestroy(y);
}
END_TEST

TEST_SUITE(newton_matrix) {
  Suite *suite = suite_create("Newton matrices");
  TCase *tc    = tcase_create("newton_matrix");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, a_run_with_one_inf_is_as_accurate_as_another, 0, 4 * SOLVERS);
  tcase_add_loop_test(tc, a_jacobian_that_stays_inf_ends_the_run_and_is_named, 0, 4);
  tcase_add_loop_test(tc, corrections_that_are_zero_are_no_sign_of_a_matrix_with_inf, 0, 2);
  suite_add_tcase(suite, tc);
  return suite;
}
