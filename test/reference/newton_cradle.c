/* Newton's cradle: impacts as events. The exact times of the impacts are a closed form by the
 * complete elliptic integral K; those of case 2 come from the motion under its force, by a Taylor
 * integrator with 18 digits.
 *
 * The condition, in the largest component of the state: a perturbation at any time grows at most 16
 * times until t = 6, and shifts an impact by at most 1.7 s per unit. (Measured for the pendulum
 * that both balls form: with the fourth-order Runge-Kutta method, perturbed in angle or in speed at
 * 40 times; the two figures are the sums of both.) */
#include "model_run.h"

#include "models/newton_cradle.h"
#include "support/mech_run.h"
#include <math.h>
#include <models/plugin.h>

enum { IMPACTS = 5, LADDER = 4 };
static const sunrealtype t_end = 6, fastest = 3, condition = 16, condition_of_times = 1.7;

static const sunrealtype impacts[2][IMPACTS] = {
    {1.07002800946292, 2.14005601892584, 3.21008402838876, 4.28011203785168, 5.35014004731460},
    {1.66074269060055, 2.71700713210695, 3.77327157361334, 4.82953601511974, 5.88580045662613}};

static CPPlugin *cradle_case(int which) {
  return model_with("newton_cradle", &(Setting){"case", which + 1}, 1);
}

/* Times are printed with 15 digits: half a unit of the last one, and roundoff of their sum */
START_TEST(closed_form_has_the_known_times) {
  CPPlugin *model = cradle_case(_i);
  for (int i = 0; i < IMPACTS; i++)
    ck_assert_double_le(fabs(newton_cradle_impact_time(model->data, i + 1) - impacts[_i][i]), 2e-14);
  CPPluginFree(&model);
}
END_TEST

/* The distance of the balls from their rest positions */
static sunrealtype off_the_lowest(const NewtonCradle *c, N_Vector y) {
  const sunrealtype *q = entries(y);
  return fmax(fmax(fabs(q[0] - c->R), fabs(q[2] + c->R)),
              fmax(fabs(q[1] + c->L), fabs(q[3] + c->L)));
}

typedef struct {
  sunrealtype late, lowest, error, drift, violation, bound;
  long int steps;
} Figures;

/* Over all impacts to t_end: the positions of the balls at the exact times, and the times of the
 * events. */
static Figures figures_of(const CPPlugin *model, const sunrealtype *exact, int lmm, sunrealtype tol) {
  const CPPluginQuantity *energy = &model->type->quantities[0];
  Figures f                      = {0};
  ModelRun *run                  = model_run_create(model, lmm, tol);
  for (int i = 0; i < IMPACTS; i++) {
    model_run_to(run, exact[i]);
    f.lowest = fmax(f.lowest, off_the_lowest(model->data, run->y));
  }
  model_run_to(run, t_end);
  ck_assert_int_eq(run->nevents, IMPACTS); /* no impact is missed, none is spurious */
  for (int i = 0; i < IMPACTS; i++) f.late = fmax(f.late, fabs(run->event[i] - exact[i]));
  f.error = plugin_error(model, t_end, run->y);
  f.drift =
      fabs(plugin_value(model, energy, t_end, run->y) - plugin_value(model, energy, 0, model->y0));
  f.violation = model_run_violation(run);
  f.bound     = model_run_bound(run, 1, fastest);
  f.steps     = model_run_steps(run);
  model_run_free(&run);
  return f;
}

/* Loop index: case, method. At the exact times the ball that strikes and the one that is struck are
 * at the lowest point. Energy: dE = (m u, m g) . dy, whose largest factor is g = 9.8. Errors of
 * single runs scatter by a factor of a few; from a tolerance to the next but one, a factor of 1e-4,
 * errors of the order tol^0.75 fall by 1e-3. */
START_TEST(impacts_come_in_time_at_the_lowest_point) {
  static const sunrealtype tol[LADDER] = {1e-4, 1e-6, 1e-8, 1e-10};
  const int which = _i % 2, lmm = _i / 2 ? CV_ADAMS : CV_BDF;
  CPPlugin *model = cradle_case(which);
  Figures f[LADDER];
  for (int k = 0; k < LADDER; k++) {
    f[k] = figures_of(model, impacts[which], lmm, tol[k]);
    if (wants_figures())
      printf("case %d, %-5s tol %.0e: %5ld steps, times %.1e, lowest points %.1e, positions %.1e, "
             "energy %.1e, violation %.1e; bound %.1e\n",
             which + 1, method_name(lmm), tol[k], f[k].steps, f[k].late, f[k].lowest, f[k].error,
             f[k].drift, f[k].violation, f[k].bound);
    ck_assert_double_le(f[k].late, condition_of_times * f[k].bound);
    ck_assert_double_le(f[k].lowest, condition * f[k].bound);
    ck_assert_double_le(f[k].error, condition * f[k].bound);
    ck_assert_double_le(f[k].drift, SUN_RCONST(9.8) * f[k].bound);
    ck_assert_double_le(f[k].violation, tol[k]);
    if (k < 2) continue;
    ck_assert_double_le(f[k].late, f[k - 2].late / 100);
    ck_assert_double_le(f[k].error, f[k - 2].error / 100);
  }
  CPPluginFree(&model);
}
END_TEST

/* ---- the impact ---- */

/* The model's rods, and the contact as a third row, sqrt(d + 4 R^2) - 2 R */
static int rods_and_contact(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  const sunrealtype dx = q[0] - q[2], dy = q[1] - q[3], distance = sqrt(dx * dx + dy * dy);
  for (int side = 0; side < 2; side++) {
    SM_ELEMENT_D(A, 2, 2 * side)     = (side ? -1 : 1) * dx / distance;
    SM_ELEMENT_D(A, 2, 2 * side + 1) = (side ? -1 : 1) * dy / distance;
  }
  return newton_cradle_model(user_data).A(t, q, A, user_data);
}

static int stretch_and_gap(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  const NewtonCradle *c = user_data;
  p[2]                  = hypot(q[0] - q[2], q[1] - q[3]) - 2 * c->R;
  return newton_cradle_model(c).p(t, q, p, user_data);
}

/* CPMechImpact solves with all three rows at once, also where the rods are not parallel. */
START_TEST(impact_is_that_of_rods_and_contact) {
  static const sunrealtype psi[2][2] = {{0.3, 0.3}, {0.5, 0.3}}, rate[2] = {-1, 2};
  NewtonCradle c    = {.L = 1, .R = 0.1, .m = 2, .g = 9.8, .V = 3};
  CPEquations model = newton_cradle_model(&c);
  sunrealtype y0[2 * NEWTON_CRADLE_NQ];
  for (int i = 0; i < 2; i++) {
    const sunrealtype sine = sin(psi[_i][i]), cosine = cos(psi[_i][i]);
    y0[2 * i]     = sine + (i ? -c.R : c.R);
    y0[2 * i + 1] = -cosine;
    y0[2 * i + 4] = rate[i] * cosine;
    y0[2 * i + 5] = rate[i] * sine;
  }
  model.np     = 3;
  model.A      = rods_and_contact;
  model.p      = stretch_and_gap;
  model.b      = NULL;
  MechRun *run = mech_run_create(&model, &c, y0);
  N_Vector y   = vector_copy(run->y);
  newton_cradle_impact(&c, y);
  ck_assert_int_eq(CPMechImpact(run->mech, 0, run->y, (int[]){0, 0, 1}, 1, NULL), 0);
  ck_assert_double_gt(fabs(entries(y)[4] - y0[4]), 1); /* something happens */
  ck_assert_double_le(max_distance(y, run->y), 1e-14);
  ck_assert_double_le(fabs(newton_cradle_energy(&c, y) - newton_cradle_energy(&c, run->y)), 1e-13);
  N_VDestroy(y);
  mech_run_free(&run);
}
END_TEST

START_TEST(balls_that_part_are_left_alone) {
  CPPlugin *model = cradle_case(0);
  N_Vector y      = vector_copy(model->y0); /* they touch, and ball 1 goes to the right */
  newton_cradle_impact(model->data, y);
  ck_assert(same_bits(y, model->y0));
  N_VDestroy(y);
  CPPluginFree(&model);
}
END_TEST

TEST_SUITE(newton_cradle) {
  Suite *suite = suite_create("newton_cradle");
  TCase *tcase = tcase_create("cradle");
  tcase_set_timeout(tcase, 60);
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, closed_form_has_the_known_times, 0, 2);
  tcase_add_loop_test(tcase, impacts_come_in_time_at_the_lowest_point, 0, 4);
  tcase_add_loop_test(tcase, impact_is_that_of_rods_and_contact, 0, 2);
  tcase_add_test(tcase, balls_that_part_are_left_alone);
  suite_add_tcase(suite, tcase);
  return suite;
}
