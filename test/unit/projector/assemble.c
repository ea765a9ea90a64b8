/* CPProjectorAssemble: consistent states from poor guesses. */
#include "projector/fixture.h"

#include <math.h>

static Case k;

enum { FOREVER = 1000000 };

/* The tests' accuracy (fixture.h) is 1e-6 x 1e-5 x gradient; 1e-9 leaves room for gradients of 100. */
static const sunrealtype residual_bound = 1.0e-9;

static void check_assembled(void) {
  sunrealtype norm;
  ck_assert_success(&k, CPProjectorAssemble(k.P, k.t, k.y, k.ewt));
  ck_assert_bound(&k, largest_residual(k.eq.mf, k.y), residual_bound);
  ck_assert_success(&k, CPProjectorGetViolation(k.P, k.t, k.y, k.ewt, &norm, NULL));
  ck_assert_bound(&k, norm, k.eps);
}

/* Guesses 0.3 off in each component, of size 1: a sketch of the mechanism. */
START_TEST(poor_guesses_are_assembled_on_every_manifold) {
  const Manifold *mf = manifolds[_i / n_settings];
  for (unsigned long long seed = 1; seed <= 5; seed++) {
    case_open(&k, equations_of(mf), settings[_i % n_settings]);
    case_perturb(&k, 0.3, seed);
    check_assembled();
    case_close(&k);
  }
}
END_TEST

/* The loop closes for every crank angle, from the same sketch. */
START_TEST(a_slider_crank_closes_at_every_prescribed_angle) {
  for (int degrees = 0; degrees < 360; degrees += 10) {
    const sunrealtype angle = degrees * acos(-1.0) / 180.0;
    case_open(&k, equations_of(&crank_loop), settings[_i]);
    const int id[]  = {0, 1, 1};
    entries(k.y)[0] = angle;
    entries(k.y)[1] = 1.0;
    entries(k.y)[2] = 0.0;
    ck_assert_success(&k, CPProjectorSetFree(k.P, id));
    check_assembled();
    ck_assert_double_eq(entries(k.y)[0], angle);
    /* by hand: sin(rod) = -sin(angle)/2, slider = cos(rod) + cos(angle)/2, the branch with
       cos(rod) > 0 */
    const sunrealtype rod = -asin(0.5 * sin(angle));
    ck_assert_bound(&k, fabs(entries(k.y)[2] - rod), residual_bound);
    ck_assert_bound(&k, fabs(entries(k.y)[1] - cos(rod) - 0.5 * cos(angle)), residual_bound);
    case_close(&k);
  }
}
END_TEST

/* A four-bar: two cranks of lengths 1 and 2 on a base of 3 joined by a coupler of 2.5; state:
 * tips (x1, y1, x2, y2). */
static void eval_four_bar(long double t, const long double *y, long double *c,
                          long double G[][MAX_STATES]) {
  const long double x1 = y[0], y1 = y[1], x2 = y[2] - 3.0L, y2 = y[3];
  const long double dx = y[2] - y[0], dy = y[3] - y[1];
  (void)t;
  c[0]    = x1 * x1 + y1 * y1 - 1.0L;
  c[1]    = x2 * x2 + y2 * y2 - 4.0L;
  c[2]    = dx * dx + dy * dy - 6.25L;
  G[0][0] = 2.0L * x1;
  G[0][1] = 2.0L * y1;
  G[1][2] = 2.0L * x2;
  G[1][3] = 2.0L * y2;
  G[2][0] = -2.0L * dx;
  G[2][1] = -2.0L * dy;
  G[2][2] = 2.0L * dx;
  G[2][3] = 2.0L * dy;
}

static const Manifold four_bar = {.name    = "four_bar",
                                  .n       = 4,
                                  .m       = 3,
                                  .eval    = eval_four_bar,
                                  .point   = {0.0, 1.0, 2.5, 2.0},
                                  .nlevels = 1};

START_TEST(a_four_bar_closes_from_sketches_that_are_half_a_length_off) {
  for (unsigned long long seed = 1; seed <= 20; seed++) {
    case_open(&k, equations_of(&four_bar), settings[_i]);
    case_perturb(&k, 0.5, seed);
    check_assembled();
    case_close(&k);
  }
}
END_TEST

/* Dependent rows: the same loop, closed twice. */
START_TEST(redundant_constraints_are_assembled) {
  const sunrealtype ones[MAX_ROWS] = {1.0, 1.0, 1.0, 1.0};
  Equations twice                  = equations_of(&crank_loop);
  twice.copies                     = 2;
  twice.scale                      = ones;
  twice.padding                    = 1;
  case_open(&k, twice, setting_of(_i ? CP_LINSOL_QR : CP_LINSOL_AUTO, CP_NORM_ERROR, 1));
  case_perturb(&k, 0.3, 3);
  check_assembled();
  case_close(&k);
}
END_TEST

/* ---- failure ---- */

/* Crank 2, rod 1: at a right angle the loop cannot close, since sin(rod) = -2. */
static void eval_long_crank(long double t, const long double *q, long double *c,
                            long double G[][MAX_STATES]) {
  (void)t;
  c[0]    = q[1] - cosl(q[2]) - 2.0L * cosl(q[0]);
  c[1]    = -sinl(q[2]) - 2.0L * sinl(q[0]);
  G[0][0] = 2.0L * sinl(q[0]);
  G[0][1] = 1.0L;
  G[0][2] = sinl(q[2]);
  G[1][0] = -2.0L * cosl(q[0]);
  G[1][2] = -cosl(q[2]);
}

static const Manifold long_crank = {.name    = "long_crank",
                                    .n       = 3,
                                    .m       = 2,
                                    .eval    = eval_long_crank,
                                    .point   = {1.5707963267948966, 0.5, -0.3},
                                    .nlevels = 1};

START_TEST(a_loop_that_cannot_close_fails_names_the_worst_constraint_and_returns_the_guess) {
  case_open(&k, equations_of(&long_crank), settings[_i]);
  const int id[] = {0, 1, 1};
  N_Vector start = vector_copy(k.y);
  ck_assert_success(&k, CPProjectorSetFree(k.P, id));
  ck_assert_int_eq(CPProjectorAssemble(k.P, k.t, k.y, k.ewt), CP_IC_FAIL);
  ck_assert(same_bits(k.y, start));
  ck_assert_int_eq(k.log.code, CP_IC_FAIL);
  ck_assert_int_eq(k.log.count, 1);
  ck_assert_str_eq(k.log.function, "CPProjectorAssemble");
  ck_assert_mentions(k.log.text, "1 ("); /* constraint 1 with its residual */
  /* once the crank is released, the loop closes */
  ck_assert_success(&k, CPProjectorSetFree(k.P, NULL));
  check_assembled();
  N_VDestroy(start);
  case_close(&k);
}
END_TEST

START_TEST(contradictory_constraints_cannot_be_assembled) {
  const sunrealtype offset[MAX_ROWS] = {0.0, 0.0, 0.0, 0.5}, ones[MAX_ROWS] = {1.0, 1.0, 1.0, 1.0};
  Equations eq = equations_of(&planes);
  eq.copies    = 2;
  eq.scale     = ones;
  eq.offset    = offset;
  case_open(&k, eq, setting_of(_i ? CP_LINSOL_QR : CP_LINSOL_AUTO, CP_NORM_ERROR, 1));
  case_perturb(&k, 0.3, 4);
  N_Vector start = vector_copy(k.y);
  ck_assert_int_eq(CPProjectorAssemble(k.P, k.t, k.y, k.ewt), CP_IC_FAIL);
  ck_assert(same_bits(k.y, start));
  N_VDestroy(start);
  case_close(&k);
}
END_TEST

/* c is not defined everywhere: a recoverable failure in the line search shortens the step. */
static int half_plane(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  (void)t;
  (void)user_data;
  if (entries(y)[0] <= 0.0) return 1;
  entries(c)[0] = log(entries(y)[0]); /* undamped Newton from 3 goes to 3 - 3 log 3 < 0 */
  return 0;
}

START_TEST(a_recoverable_failure_of_c_shortens_the_step) {
  MessageLog log = {0};
  N_Vector y = VECTOR(3.0, 0.0), c = VECTOR(0.0), ewt = VECTOR(1.0e6, 1.0e6);
  CPProjector P = CPProjectorCreate(half_plane, y, c, test_context);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &log), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetLinearSolver(P, (CPLinSol)_i), CP_SUCCESS);
  ck_assert_msg(CPProjectorAssemble(P, 0.0, y, ewt) == CP_SUCCESS, "%s", log.text);
  ck_assert_double_eq_tol(entries(y)[0], 1.0, 1.0e-6 * CP_EPS_DEFAULT);
  CPProjectorFree(&P);
  N_VDestroy(y);
  N_VDestroy(c);
  N_VDestroy(ewt);
}
END_TEST

START_TEST(a_fatal_failure_at_any_call_of_c_ends_it) {
  for (long int call = 1;; call++) {
    case_open(&k, equations_of(&crank_qu), settings[_i]);
    case_perturb(&k, 0.3, 1);
    N_Vector start    = vector_copy(k.y);
    k.eq.c_flag       = -1;
    k.eq.c_flag_from  = call;
    k.eq.c_flag_until = FOREVER;
    const int flag    = CPProjectorAssemble(k.P, k.t, k.y, k.ewt);
    const int reached = k.eq.c_calls >= call;
    if (reached) {
      ck_assert_int_eq(flag, CP_USERFUNC_FAIL);
      ck_assert_int_eq(k.eq.c_calls, call);
      ck_assert(same_bits(k.y, start));
    }
    N_VDestroy(start);
    case_close(&k);
    if (!reached) break;
    ck_assert_int_lt(call, 500);
  }
}
END_TEST

START_TEST(nan_from_the_jacobian_ends_it_with_the_guess_as_it_came) {
  case_open(&k, equations_of(&crank_qu), solvers[_i]);
  case_perturb(&k, 0.3, 1);
  N_Vector start  = vector_copy(k.y);
  k.eq.jac_factor = NAN;
  ck_assert_int_eq(CPProjectorAssemble(k.P, k.t, k.y, k.ewt), CP_CNSTRJAC_NONFINITE);
  ck_assert(same_bits(k.y, start));
  k.eq.jac_factor = 1.0;
  check_assembled();
  N_VDestroy(start);
  case_close(&k);
}
END_TEST

TEST_SUITE(assemble) {
  Suite *suite = suite_create("assemble");
  TCase *tc    = tcase_create("assemble");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, poor_guesses_are_assembled_on_every_manifold, 0, n_manifolds * n_settings);
  tcase_add_loop_test(tc, a_slider_crank_closes_at_every_prescribed_angle, 0, n_settings);
  tcase_add_loop_test(tc, a_four_bar_closes_from_sketches_that_are_half_a_length_off, 0, n_settings);
  tcase_add_loop_test(tc, redundant_constraints_are_assembled, 0, 2);
  tcase_add_loop_test(
      tc, a_loop_that_cannot_close_fails_names_the_worst_constraint_and_returns_the_guess, 0,
      n_settings);
  tcase_add_loop_test(tc, contradictory_constraints_cannot_be_assembled, 0, 2);
  tcase_add_loop_test(tc, a_recoverable_failure_of_c_shortens_the_step, CP_LINSOL_AUTO,
                      CP_LINSOL_QR + 1);
  tcase_add_loop_test(tc, a_fatal_failure_at_any_call_of_c_ends_it, 0, n_settings);
  tcase_add_loop_test(tc, nan_from_the_jacobian_ends_it_with_the_guess_as_it_came, 0, n_solvers);
  suite_add_tcase(suite, tc);
  return suite;
}
