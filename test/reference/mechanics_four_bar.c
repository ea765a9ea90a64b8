/* The N-four-bar linkages as CPMechs: accelerations and reactions on the regular branch, where all
 * rods are horizontal and the constraints lose rank, and when passing such positions; constraints
 * that are dependent everywhere. */
#include "jacobians.h"
#include "mechanics_support.h"
#include "model_run.h"
#include "support/mech_run.h"

#include "models/four_bar.h"
#include <math.h>
#include <models/plugin.h>
#include <stdio.h>
#include <string.h>

static const sunrealtype gravity = 9.81;

typedef struct {
  FourBar *mech;
  MechRun *run;
} Bars;

/* The state of the regular branch with all rods at theta. linsol SPARSE: with sparse matrices. */
static Bars bars_create(int N, CPLinSol linsol, sunrealtype theta, sunrealtype theta_d) {
  Bars b            = {.mech = four_bar_create(N, gravity)};
  CPEquations model = four_bar_model(b.mech);
  N_Vector y        = vector_of(four_bar_n(N), NULL);
  if (linsol == CP_LINSOL_KKT)
    ck_assert_int_eq(four_bar_matrices(N, test_context, &model.M_tmpl, &model.A_tmpl), 0);
  four_bar_state(b.mech, theta, theta_d, y);
  b.run = mech_run_create(&model, b.mech, entries(y));
  ck_assert_int_eq(CPMechSetLinearSolver(b.run->mech, linsol), CP_SUCCESS);
  SUNMatDestroy(model.M_tmpl);
  SUNMatDestroy(model.A_tmpl);
  N_VDestroy(y);
  return b;
}

static void bars_free(Bars *b) {
  mech_run_free(&b->run);
  four_bar_free(&b->mech);
}

/* ---- accelerations and reactions ---- */

/* The joints exert on the rods what masses and weights lack: M u' - f. Sums of at most 5
 * multipliers up to the size of the largest. */
static void check_reactions(const Bars *b, const CPMechOutput *out) {
  const int nu     = (int)four_bar_n(b->mech->N) / 2;
  sunrealtype size = gravity;
  for (int k = 0; k < nu; k++) size = fmax(size, fabs(out->reaction[k]) + fabs(out->udot[k]));
  for (sunindextype i = 0; i < CPMechGetNumMultipliers(b->run->mech); i++)
    size = fmax(size, fabs(out->lambda[i]));
  for (int k = 0; k < nu; k++) {
    const sunrealtype mass = k % 3 == 2 ? 1 / 12.0 : 1, weight = k % 3 == 1 ? -gravity : 0;
    ck_assert_double_le(fabs(mass * out->udot[k] - weight - out->reaction[k]),
                        100 * ROUNDOFF * nu * size);
  }
}

/* Loop index: windows, linear solver. The bound is that of models_four_bar.c for the accelerations
 * of the f/c form, which has the same. */
START_TEST(accelerations_are_those_of_the_f_c_form) {
  static const int windows[]           = {1, 2, 40};
  static const CPLinSol solvers[]      = {CP_LINSOL_SCHUR, CP_LINSOL_QR, CP_LINSOL_KKT};
  static const sunrealtype angles[][2] = {{0, 1}, {0.7, 2}, {1.5, -3}, {2.5, 4}, {4, 0}};
  const int N = windows[_i / 3], nu = (int)four_bar_n(N) / 2;
  enum { MAX_NU_40 = 3 * 81, MAX_NA_40 = 2 * 121 };
  static sunrealtype udot[MAX_NU_40], lambda[MAX_NA_40], reaction[MAX_NU_40];
  CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = udot, .lambda = lambda, .reaction = reaction};
  for (size_t k = 0; k < sizeof angles / sizeof *angles; k++) {
    const sunrealtype theta = angles[k][0], rate = angles[k][1];
    Bars b         = bars_create(N, solvers[_i % 3], theta, rate);
    N_Vector exact = vector_copy(b.run->y);
    ck_assert_int_eq(four_bar_rhs(0, b.run->y, exact, b.mech), 0);
    ck_assert_int_eq(CPMechEvaluate(b.run->mech, 0, b.run->y, &out), CP_SUCCESS);
    const sunrealtype size  = 2 * gravity + rate * rate;
    const sunrealtype bound = 2 * 12 * ROUNDOFF * (1 + theta) * size * 4 * N / fabs(cos(theta));
    for (int i = 0; i < nu; i++) ck_assert_double_le(fabs(udot[i] - entries(exact)[nu + i]), bound);
    ck_assert_int_eq(out.rank, CPMechGetNumMultipliers(b.run->mech));
    ck_assert(out.unique);
    check_reactions(&b, &out);
    N_VDestroy(exact);
    bars_free(&b);
  }
}
END_TEST

/* N = 2, all rods along +x exactly: the accelerations of Gauss' principle, by hand
   (models_four_bar.c), and reactions although the multipliers are not unique. Loop index: linear
   solver */
START_TEST(singular_position_has_the_accelerations_of_gauss) {
  static const CPLinSol solvers[] = {CP_LINSOL_AUTO, CP_LINSOL_QR, CP_LINSOL_KKT};
  enum { N = 2, NU = 3 * (2 * N + 1), NA = 2 * (3 * N + 1) };
  const sunrealtype alpha[N + 1] = {-27 * gravity / 22, -12 * gravity / 11, -27 * gravity / 22};
  sunrealtype udot[NU], lambda[NA], reaction[NU];
  CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = udot, .lambda = lambda, .reaction = reaction};
  Bars b           = bars_create(N, solvers[_i], acos(0.0), 3);
  sunrealtype *q   = entries(b.run->y);
  for (int rod = 0; rod < 2 * N + 1; rod++) { /* avoids the rounding of pi / 2 */
    q[3 * rod]     = rod / 2.0 + (rod % 2 ? 1 : 0.5);
    q[3 * rod + 1] = q[3 * rod + 2] = q[NU + 3 * rod] = 0;
  }
  for (int k = 0; k <= N; k++) q[3 * 2 * k] = k + 0.5;
  for (int k = 0; k < N; k++) q[3 * (2 * k + 1)] = k + 1.5;
  ck_assert_int_eq(CPMechEvaluate(b.run->mech, 0, b.run->y, &out), CP_SUCCESS);
  ck_assert_double_eq(out.position, 0);
  ck_assert_double_eq(out.velocity, 0);
  ck_assert_int_eq(out.rank, NA - N);
  ck_assert(!out.unique);
  for (int k = 0; k <= N; k++)
    ck_assert_double_le(fabs(udot[6 * k + 2] - alpha[k]), 100 * ROUNDOFF * 2 * gravity);
  check_reactions(&b, &out);
  bars_free(&b);
}
END_TEST

/* ---- over the passages ---- */

static int table_of(int N, Sample *samples) {
  char rows[8];
  snprintf(rows, sizeof rows, "%d", N);
  return read_table("four_bar.csv", rows, 6, samples, MAX_SAMPLES);
}

/* Of B_0, which is twice the centre of v_0 */
static sunrealtype position_error(const Bars *b, const Sample *s) {
  const sunrealtype *q = entries(b->run->y);
  return hypot(2 * q[0] - s->y[2], 2 * q[1] - s->y[3]);
}

/* Up to t = 0.5, before the first passage at 0.71 s, where |cos theta| > 0.7. The motion is that of
 * theta'' = w2 sin theta with w2 < 11.8: away from the upright position, small deviations grow by
 * at most cosh(sqrt(w2) t) + sinh(...) / sqrt(w2) < 4, and by sqrt(w2) times that when velocities
 * become positions and back: 14. The states' error in the other coordinates is projected. */
START_TEST(error_before_the_first_passage_is_that_of_the_steps) {
  Sample samples[MAX_SAMPLES];
  const int N = _i % 2 + 1, lmm = _i / 2 % 2 ? CV_ADAMS : CV_BDF;
  const CPLinSol linsol = _i / 4 ? CP_LINSOL_KKT : CP_LINSOL_AUTO;
  const sunrealtype tol = 1e-8;
  table_of(N, samples);
  Bars b = bars_create(N, linsol, 0, 1);
  mech_run_start(b.run, lmm, tol);
  mech_run_to(b.run, samples[1].t);
  const sunrealtype largest_y = 3.5, n = (sunrealtype)four_bar_n(N); /* theta' below 2.8; N + 1/2 */
  const sunrealtype bound =
      (sunrealtype)mech_run_steps(b.run) * 14 * sqrt(n) * (1 + largest_y) * tol / 6;
  if (wants_figures())
    printf("N = %d %-5s linsol %d: %ld steps, error %.1e, bound %.1e\n", N, method_name(lmm),
           (int)linsol, mech_run_steps(b.run), position_error(&b, &samples[1]), bound);
  ck_assert_double_le(position_error(&b, &samples[1]), bound);
  bars_free(&b);
}
END_TEST

typedef struct {
  int reached, stopped;
} Outcomes;

/* Over the table, or to where the run stops. It then stops next to the singular position, with
 * closed joints, and with a message. It is never on another branch: away from the singular position
 * the angles of the regular branch differ by at most 4 N times the joints' residuals (singular.c). */
static void march(Bars *b, sunrealtype tol, const Sample *samples, int nsamples, Outcomes *o) {
  MechRun *run = b->run;
  int flag     = CP_SUCCESS;
  for (int i = 1; !flag && i < nsamples; i++)
    flag = CPIntegratorEvolve(run->cpode, samples[i].t, run->y, &run->t, CV_NORMAL);
  CPMechOutput out = CP_INIT(CPMechOutput);
  if (flag) {
    if (wants_figures()) printf("  stopped at %.4f: %s\n", run->t, run->log.text);
    const int singular =
        (flag == CP_PROJ_CORRECTION || flag == CV_ERR_FAILURE) && /* as in singular.c */
        strstr(run->log.text, "singular");
    const int kkt = (flag == CP_KKT_INCONSISTENT || flag == CP_KKT_RANK) && /* SPARSE */
                    strstr(run->log.text, "depends on");
    ck_assert_msg(singular || kkt, "%d: %s", flag, run->log.text);
    ck_assert_double_lt(fabs(sin(entries(run->y)[2])), 1e-2);
    o->stopped++;
    return;
  }
  ck_assert_int_eq(CPMechEvaluate(run->mech, run->t, run->y, &out), CP_SUCCESS);
  ck_assert_double_le(out.position, 20 * tol);
  ck_assert_double_le(four_bar_branch(b->mech, run->y), 4 * b->mech->N * 20 * tol / 0.85);
  o->reached++;
}

START_TEST(runs_follow_the_regular_branch_or_stop_and_say_so) {
  Sample samples[MAX_SAMPLES];
  const int N = _i % 2 + 1, lmm = _i / 2 % 2 ? CV_ADAMS : CV_BDF;
  const CPLinSol linsol = _i / 4 ? CP_LINSOL_KKT : CP_LINSOL_AUTO;
  const int nsamples    = table_of(N, samples);
  Outcomes outcomes     = {0, 0};
  for (int i = 0; i <= 20; i++) { /* 1e-4 ... 1e-9 */
    const sunrealtype tol = pow(10, -4 - i / 4.0);
    Bars b                = bars_create(N, linsol, 0, 1);
    mech_run_start(b.run, lmm, tol);
    march(&b, tol, samples, nsamples, &outcomes);
    bars_free(&b);
  }
  if (wants_figures())
    printf("N = %d, %s, linsol %d: %d runs to t = 20, %d stopped at a singular position\n", N,
           method_name(lmm), (int)linsol, outcomes.reached, outcomes.stopped);
  /* Whether a step ends where roundoff decides is a matter of chance: 168 of 168 reach the end. */
  ck_assert_int_ge(outcomes.reached, 20);
}
END_TEST

/* The least-squares slope of log(error) over log(tol), for tolerances at equal intervals of a
 * decade. */
static double slope(const double *error, int n, double decades) {
  double sum = 0, squares = 0;
  for (int i = 0; i < n; i++) {
    const double x = i - (n - 1) / 2.0;
    sum -= x * log10(error[i]);
    squares += x * x;
  }
  return sum / squares * (n - 1) / decades;
}

/* Nine tolerances, 1e-4 ... 1e-8; outputs each half second, also next to singular positions. A run
 * along another branch is off by radians. Errors scatter, since the mechanism almost stands still
 * when upright, and are those of the integration of the motion's one coordinate (bench/singular.c).
 * Loop index: method, windows. */
START_TEST(all_methods_pass_singular_positions_with_errors_that_fall_with_the_tolerance) {
  static const int methods[] = {CV_BDF, CV_ADAMS, ONE_STEP}, windows[] = {1, 2, 40};
  enum { TOLERANCES = 9 };
  const Setting N = {"N", windows[_i / 3]};
  CPPlugin *model = model_with("four_bar", &N, 1);
  double error[TOLERANCES];
  for (int k = 0; k < TOLERANCES; k++) {
    const sunrealtype tol = pow(10, -4 - k / 2.0);
    ModelRun *run         = model_run_create(model, methods[_i % 3], tol);
    for (int i = 1; i <= 40; i++) model_run_to(run, 0.5 * i);
    ck_assert_double_le(four_bar_branch(model->data, run->y), 4 * N.value * 20 * tol / 0.85);
    error[k] = plugin_error(model, run->t, run->y);
    if (wants_figures())
      printf("N = %g, method %d, tol %.1e: %ld steps, error %.1e\n", N.value, methods[_i % 3], tol,
             model_run_steps(run), error[k]);
    model_run_free(&run);
  }
  /* Errors scatter by a factor of 3 about tol^0.9, so that the slope over nine tolerances has a standard deviation of
   * 0.13; three of these below it. */
  ck_assert_double_ge(slope(error, TOLERANCES, 4), 0.5);
  ck_assert_double_le(error[TOLERANCES - 1], 1e-2);
  CPPluginFree(&model);
}
END_TEST

/* At tight tolerances stages are projected as accurately as these require: errors are 440 and 250 times
 * the tolerance on average, and 4,000 and 1,500 times with violations of 1e-10. Loop index: windows */
START_TEST(stages_next_to_singular_positions_are_as_accurate_as_the_tolerance) {
  enum { TOLERANCES = 9 };
  const Setting N = {"N", _i + 1};
  CPPlugin *model = model_with("four_bar", &N, 1);
  double sum      = 0;
  for (int k = 0; k < TOLERANCES; k++) { /* 1e-10 ... 3e-11 */
    ModelRun *run = model_run_create(model, ONE_STEP, pow(10, -10 - k / 16.0));
    model_run_to(run, model->type->t_end);
    sum += log(plugin_error(model, run->t, run->y) / run->tol);
    model_run_free(&run);
  }
  if (wants_figures()) printf("N = %g: %.0f tolerances\n", N.value, exp(sum / TOLERANCES));
  ck_assert_double_le(exp(sum / TOLERANCES), 800);
  CPPluginFree(&model);
}
END_TEST

/* The roundoff of the joints' coordinates and of angles up to 40 rad, of 1e-15, moves velocities by 1e-15 over the
 * square of the sine of the angle between constraints, 1e-9 for 1e-3: thousands of such tolerances. Steps that
 * this moves, or whose error estimates contain it, used to end runs ("the projection moved the state by ... times
 * the tolerance"). Errors are those of the passages, which the motion past its upright position, where it almost
 * stands still, enlarges a thousandfold; on another branch they are radians. Loop index: method, windows */
START_TEST(roundoff_at_singular_positions_ends_no_run) {
  static const char *const methods[]     = {"BDF", "ADAMS", "DOP853", "RADAU"};
  static const int windows[]             = {1, 2, 40};
  static const sunrealtype tolerances[3] = {1e-12, 1e-12, 1e-11}, most[4] = {1e-5, 1e-5, 1e-8, 1e-8};
  const int N = windows[_i / 4], many = N == 40;
  const Setting setting = {"N", N};
  const sunrealtype tol = tolerances[_i / 4], scale = gravity * (3 * N + 1);
  CPPlugin *model  = model_with("four_bar", &setting, 1);
  N_Vector y       = vector_copy(model->y0);
  MessageLog log   = {0};
  CPMech mech      = create_mech(&model->mech, y, test_context);
  CPIntegrator mem = CPIntegratorCreate(methods[_i % 4], test_context);
  sunrealtype t = 0, energy = four_bar_energy(model->data, y), error = 0, drift = 0;
  ck_assert_int_eq(CPMechSetUserData(mech, model->data), CP_SUCCESS);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &log), CP_SUCCESS);
  ck_assert_int_eq(CPMechAttach(mech, mem, t, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, tol, tol), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetMaxNumSteps(mem, 20000), CP_SUCCESS);
  for (int i = 1; i <= (many ? 50 : 200); i++) { /* also next to singular positions */
    const int flag = CPIntegratorEvolve(mem, 0.1 * i, y, &t, CV_NORMAL);
    ck_assert_msg(flag == CP_SUCCESS, "%s, N = %d: %d, %s", methods[_i % 4], N, flag, log.text);
    error = fmax(error, plugin_error(model, t, y));
    drift = fmax(drift, fabs(four_bar_energy(model->data, y) - energy));
  }
  if (wants_figures())
    printf("N = %d, %s: error %.1e, energy %.1e\n", N, methods[_i % 4], error, drift / scale);
  ck_assert_double_le(error, most[_i % 4]);
  ck_assert_double_le(drift, 1e-2 * most[_i % 4] * scale);
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  N_VDestroy(y);
  CPPluginFree(&model);
}
END_TEST

/* Next to the singular position, at an angle eps, with velocities off by d, A u' = b requires
 * accelerations that are wrong by d / eps; the f that explicit methods get does not. */
START_TEST(f_next_to_a_singular_position_is_that_of_the_manifold) {
  const sunrealtype eps = 1e-3, d = 1e-7, rate = 3;
  Bars b       = bars_create(1, CP_LINSOL_AUTO, 0, 1);
  const int nu = (int)four_bar_n(1) / 2;
  N_Vector y = vector_copy(b.run->y), exact = vector_copy(y), f = vector_copy(y);
  sunrealtype udot[9];
  ck_assert_int_eq(CPMechAccelerations(b.run->mech, 0, y, udot, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPMechRhs(0, y, f, b.run->mech), 0); /* it has seen the usual angles then */
  four_bar_state(b.mech, acos(0.0) - eps, rate, y);
  ck_assert_int_eq(four_bar_rhs(0, y, exact, b.mech), 0);
  for (int rod = 1; rod < 3; rod++) /* the other branch: the horizontal rod and the right one turn */
    entries(y)[nu + 3 * rod + 1] += d / 2, entries(y)[nu + 3 * rod + 2] += d;
  ck_assert_int_eq(CPMechRhs(0, y, f, b.run->mech), 0);
  ck_assert_int_eq(CPMechAccelerations(b.run->mech, 0, y, udot, NULL), CP_SUCCESS);
  sunrealtype worst = 0, worst_udot = 0;
  for (int j = 0; j < nu; j++) {
    worst      = fmax(worst, fabs(entries(f)[nu + j] - entries(exact)[nu + j]));
    worst_udot = fmax(worst_udot, fabs(udot[j] - entries(exact)[nu + j]));
  }
  ck_assert_double_gt(worst_udot, 100 * rate * d);
  ck_assert_double_le(worst, 100 * rate * d);
  N_VDestroy(y);
  N_VDestroy(exact);
  N_VDestroy(f);
  bars_free(&b);
}
END_TEST

/* A row that is dependent on the manifold contradicts the others off it. When this made evaluations
 * fail, while constraints were satisfied up to eps over an angle, 2 of these runs took 10,399 and
 * 68,028 steps, and 4 reported that the rank fell. */
START_TEST(contradictions_that_come_with_the_distance_do_not_stall_bdf) {
  CPPlugin *model = model_with("bricard", NULL, 0);
  for (int k = 0; k < 50; k++) {
    ModelRun *run = model_run_create(model, CV_BDF, pow(10, -3 - 3 * k / 49.0));
    model_run_to(run, model->type->t_end);
    ck_assert_int_le(model_run_steps(run), 1000);
    ck_assert_msg(run->log.code == 0, "tol %g: %s", run->tol, run->log.text);
    ck_assert_double_le(plugin_error(model, run->t, run->y), 1000 * run->tol);
    model_run_free(&run);
  }
  CPPluginFree(&model);
}
END_TEST

/* ---- dependent everywhere ---- */

/* The slider-crank with a third row, the sum of the two others */
static int three_rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  const int flag = slider_crank_model().A(t, q, A, user_data);
  for (int j = 0; j < 3; j++) SM_ELEMENT_D(A, 2, j) = SM_ELEMENT_D(A, 0, j) + SM_ELEMENT_D(A, 1, j);
  return flag;
}

static int three_positions(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  const int flag = slider_crank_model().p(t, q, p, user_data);
  p[2]           = p[0] + p[1];
  return flag;
}

static int three_accelerations(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                               sunrealtype *b, void *user_data) {
  const int flag = slider_crank_model().b(t, q, u, b, user_data);
  b[2]           = b[0] + b[1];
  return flag;
}

/* Along the table the reactions are those of two rows, and multipliers have minimum norm: they are
 * normal to (1, 1, -1), which exerts no force. The condition of the KKT matrix is below 10
 * (mechanics_multipliers.c), times sqrt(3) for the third row. Loop index: method. */
START_TEST(dependent_rows_give_the_reactions_of_independent_ones) {
  const PlanarOptions options = {.lmm = _i ? CV_ADAMS : CV_BDF, .tol = 1e-8};
  MechCase c                  = mech_case(SLIDER_CRANK);
  CPEquations model           = c.model;
  model.np = 3, model.A = three_rows, model.p = three_positions, model.b = three_accelerations;
  MechRun *run = planar_run_of(&model, &c.par, c.samples[0].y, &options);
  MechRun *two = planar_run_create(&c, &options);
  for (int i = 1; i < c.nsamples; i++) {
    sunrealtype lambda[3], reaction[3], exact[3];
    CPMechOutput out     = {CP_SIZED(CPMechOutput), .lambda = lambda, .reaction = reaction},
                 out_two = {CP_SIZED(CPMechOutput), .reaction = exact};
    mech_run_to(run, c.samples[i].t);
    ck_assert_double_le(scaled_error(&c, c.n, run->y, c.samples[i].y),
                        mech_error_bound(&c, c.condition, options.tol, mech_run_steps(run)));
    ck_assert_int_eq(CPMechEvaluate(run->mech, run->t, run->y, &out), CP_SUCCESS);
    ck_assert_int_eq(CPMechEvaluate(two->mech, run->t, run->y, &out_two), CP_SUCCESS);
    ck_assert_int_eq(out.rank, 2);
    ck_assert(!out.unique);
    ck_assert(out_two.unique);
    const sunrealtype allowed = 2 * 12 * ROUNDOFF * 10 * sqrt(3) * 5; /* of forces below 5 N */
    for (int k = 0; k < 3; k++) ck_assert_double_le(fabs(reaction[k] - exact[k]), allowed);
    ck_assert_double_le(fabs(lambda[0] + lambda[1] - lambda[2]), allowed);
  }
  mech_run_free(&run);
  mech_run_free(&two);
}
END_TEST

TEST_SUITE(mechanics_four_bar) {
  Suite *suite = suite_create("mechanics_four_bar");
  TCase *tcase = tcase_create("reference");
  tcase_set_timeout(tcase, 60);
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, accelerations_are_those_of_the_f_c_form, 0, 9);
  tcase_add_loop_test(tcase, singular_position_has_the_accelerations_of_gauss, 0, 3);
  tcase_add_loop_test(tcase, error_before_the_first_passage_is_that_of_the_steps, 0, 8);
  tcase_add_loop_test(tcase, runs_follow_the_regular_branch_or_stop_and_say_so, 0, 8);
  tcase_add_loop_test(
      tcase, all_methods_pass_singular_positions_with_errors_that_fall_with_the_tolerance, 0, 9);
  tcase_add_loop_test(tcase, stages_next_to_singular_positions_are_as_accurate_as_the_tolerance, 0,
                      2);
  tcase_add_loop_test(tcase, roundoff_at_singular_positions_ends_no_run, 0, 12);
  tcase_add_test(tcase, f_next_to_a_singular_position_is_that_of_the_manifold);
  tcase_add_test(tcase, contradictions_that_come_with_the_distance_do_not_stall_bdf);
  tcase_add_loop_test(tcase, dependent_rows_give_the_reactions_of_independent_ones, 0, 2);
  suite_add_tcase(suite, tcase);
  return suite;
}
