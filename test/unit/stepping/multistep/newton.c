/* Newton's iteration where the stiff direction turns: a mass on a stiff, damped spring, in uniform rotation,
 *
 *   x'' = - (K (r - 1) + C r') x / r,   r = |x|,   r = K / (K - w^2),   x = r (cos w t, sin w t). */
#include "support/support.h"

#include "cpodes/stepping/multistep/multistep_impl.h"

#include <cpodes/cpodes.h>
#include <cvodes/cvodes_ls.h>
#include <math.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_newton.h>

#define K     1.0e6
#define C     2.0e4
#define W     5.0
#define T_END 6.0
static const sunrealtype radius = K / (K - W * W);

/* part: the share of the derivatives' stiff rows that the user's Jacobian includes; lacking: the
 * number of these rows that it omits */
typedef struct {
  sunrealtype part;
  int lacking;
  long int jacobians;
} World;

static int rhs(sunrealtype t, N_Vector yvec, N_Vector ydot, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype *y = entries(yvec);
  const sunrealtype r = hypot(y[0], y[1]), r_dot = (y[0] * y[2] + y[1] * y[3]) / r;
  const sunrealtype tension = K * (r - 1) + C * r_dot;
  entries(ydot)[0]          = y[2];
  entries(ydot)[1]          = y[3];
  entries(ydot)[2]          = -tension * y[0] / r;
  entries(ydot)[3]          = -tension * y[1] / r;
  return 0;
}

static int jacobian(sunrealtype t, N_Vector yvec, N_Vector fy, SUNMatrix J, void *user_data,
                    N_Vector tmp1, N_Vector tmp2, N_Vector tmp3) {
  World *world            = user_data;
  const sunrealtype *y    = entries(yvec);
  const sunrealtype r     = hypot(y[0], y[1]);
  const sunrealtype n[2]  = {y[0] / r, y[1] / r};
  const sunrealtype r_dot = n[0] * y[2] + n[1] * y[3];
  const sunrealtype T     = K * (r - 1) + C * r_dot;
  (void)t, (void)fy, (void)tmp1, (void)tmp2, (void)tmp3;
  const sunrealtype part = world->lacking > 0 ? 0.0 : world->part;
  world->lacking--;
  world->jacobians++;
  for (int i = 0; i < 2; i++) {
    SM_ELEMENT_D(J, i, i + 2) = 1.0;
    for (int j = 0; j < 2; j++) {
      const sunrealtype across  = (i == j) - n[i] * n[j]; /* dn_i/dx_j r */
      const sunrealtype dr_dot  = (y[j + 2] - r_dot * n[j]) / r;
      SM_ELEMENT_D(J, i + 2, j) = -part * (K * n[i] * n[j] + C * dr_dot * n[i] + T * across / r);
      SM_ELEMENT_D(J, i + 2, j + 2) = -part * C * n[i] * n[j];
    }
  }
  return 0;
}

typedef struct {
  World world;
  CPIntegrator mem;
  void *cvode_mem;
  N_Vector y;
  SUNMatrix J;
  SUNLinearSolver LS;
} Rotation;
static Rotation run;

static void open_run(sunrealtype tol, sunrealtype part) {
  run.world     = (World){.part = part};
  run.y         = vector_of(4, (sunrealtype[]){radius, 0.0, 0.0, radius * W});
  run.mem       = CPIntegratorCreate("BDF", test_context);
  run.cvode_mem = CPIntegratorGetCVodeMem(run.mem);
  run.J         = SUNDenseMatrix(4, 4, test_context);
  run.LS        = SUNLinSol_Dense(run.y, run.J, test_context);
  ck_assert_int_eq(CPIntegratorInit(run.mem, rhs, 0.0, run.y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(run.mem, tol, tol), CP_SUCCESS);
  ck_assert_int_eq(CVodeSetUserData(run.cvode_mem, &run.world), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetLinearSolver(run.cvode_mem, run.LS, run.J), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetJacFn(run.cvode_mem, jacobian), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetMaxNumSteps(run.cvode_mem, 100000), CV_SUCCESS);
}

static void close_run(void) {
  CPIntegratorFree(&run.mem);
  SUNLinSolFree(run.LS);
  SUNMatDestroy(run.J);
  N_VDestroy(run.y);
}

static void integrate(void) {
  sunrealtype t;
  ck_assert_int_eq(CPIntegratorEvolve(run.mem, T_END, run.y, &t, CV_NORMAL), CV_SUCCESS);
}

static long int steps(void) {
  long int n;
  ck_assert_int_eq(CVodeGetNumSteps(run.cvode_mem, &n), CV_SUCCESS);
  return n;
}

static sunrealtype error(void) {
  const sunrealtype *y = entries(run.y);
  return hypot(y[0] - radius * cos(W * T_END), y[1] - radius * sin(W * T_END));
}

/* With exact solutions of the nonlinear systems: 470 steps on average, and an error of 2,100
 * tolerances. With CVODES' test: 1,700 steps, and 40,000 tolerances. */
START_TEST(bdf_follows_a_stiff_direction_that_turns) {
  double log_steps = 0.0, log_error = 0.0;
  enum { RUNGS = 9 };
  for (int k = 0; k < RUNGS; k++) {
    const sunrealtype tol = pow(10.0, -7.0 - 0.125 * k);
    open_run(tol, 1.0);
    integrate();
    log_steps += log((double)steps()) / RUNGS;
    log_error += log(error() / tol) / RUNGS;
    close_run();
  }
  ck_assert_double_le(exp(log_steps), 700.0);
  ck_assert_double_le(exp(log_error), 8000.0);
}
END_TEST

static long int tests;
static int test_of_the_user(SUNNonlinearSolver NLS, N_Vector y, N_Vector delta, sunrealtype tol,
                            N_Vector ewt, void *data) {
  (void)NLS, (void)y, (void)data;
  tests++;
  return N_VWrmsNorm(delta, ewt) <= 1.0e-3 * tol ? 0 : SUN_NLS_CONTINUE;
}

START_TEST(a_convergence_test_that_the_user_gives_the_newton_solver_is_used) {
  open_run(1.0e-6, 1.0);
  SUNNonlinearSolver inner = SUNNonlinSol_Newton(run.y, test_context);
  sunrealtype t;
  long int iterations;
  tests = 0;
  ck_assert_int_eq(CPIntegratorSetNonlinearSolver(run.mem, inner), CP_SUCCESS);
  ck_assert_int_eq(SUNNonlinSolSetConvTestFn(inner, test_of_the_user, NULL), 0);
  ck_assert_int_eq(SUNNonlinSolSetMaxIters(inner, 20), 0);
  ck_assert_int_eq(CPIntegratorEvolve(run.mem, 0.1, run.y, &t, CV_NORMAL), CP_SUCCESS);
  ck_assert_int_eq(CVodeGetNumNonlinSolvIters(run.cvode_mem, &iterations), CV_SUCCESS);
  ck_assert_int_eq(tests, iterations);
  close_run();
  SUNNonlinSolFree(inner);
}
END_TEST

TEST_SUITE(newton) {
  Suite *suite = suite_create("Newton's iteration");
  TCase *tc    = tcase_create("newton");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_test(tc, bdf_follows_a_stiff_direction_that_turns);
  tcase_add_test(tc, a_convergence_test_that_the_user_gives_the_newton_solver_is_used);
  suite_add_tcase(suite, tc);
  return suite;
}
