/* Runs every mechanism of the catalogue to its end, over a ladder of tolerances, and checks errors
 * against its reference, multipliers and reaction forces, violations, and conserved quantities.
 *
 * The bound on the error after N steps is that of trajectories.c, in the norm that is scaled with
 * 1 + |y_i|:
 *
 *   N * condition * sqrt(n) * tol / 6 */
#include "model_run.h"

#include <math.h>
#include <models/plugin.h>
#include <stdlib.h>
#include <string.h>

/* The condition was measured: every component was perturbed by 1e-5 of its scale, at 4 times (2 for
 * long runs), made consistent and followed to the end at tol 1e-11. It is the largest change of a
 * compared component over the largest scaled perturbation, rounded up. The cradle's is 16 in the
 * largest norm (newton_cradle.c), with speeds up to 3. For linkages with singular positions,
 * roundoff ends some runs below 1e-9 (guide, "Redundancy and rank"). Adams' methods and DOP853 run
 * where springs are not stiff; at the singular positions of the linkages they stop with an error at
 * some tolerances (singular.c). */
typedef struct {
  const char *name;
  sunrealtype condition; /* of the compared components */
  int adams;
  int rungs; /* of the ladder, from the top; 0: all */
} Known;

static const Known known[] = {
    {"pendulum", 10, 1, 0},     {"slider_crank", 6, 1, 0},     {"andrews", 800, 1, 0},
    {"car_axis", 2, 1, 0},      {"flexible_crank", 2.5, 0, 0}, {"four_bar", 800, 0, 3},
    {"bushing_crank", 9, 0, 0}, {"knife_edge", 65, 1, 0},      {"chain", 7, 1, 0},
    {"bending_chain", 4, 0, 0}, {"newton_cradle", 64, 1, 0},   {"spatial_chain", 3, 1, 0},
    {"bricard", 2, 1, 0},       {"heavy_top", 120, 1, 0},      {"flyball_governor", 32, 0, 0},
};
enum { NUM_KNOWN = sizeof known / sizeof known[0], LADDER = 4, OUTPUTS = 10 };

static const sunrealtype ladder[LADDER] = {1e-4, 1e-6, 1e-8, 1e-10};

/* A model that has a reference is in the table, except models with contacts, whose motion is a
 * CPContact's. */
START_TEST(every_reference_is_used) {
  for (int i = 0; model_type(i); i++) {
    CPPlugin *model = model_with(model_type(i)->name, NULL, 0);
    int found       = 0;
    const int used  = model->known && model->ncontacts == 0;
    for (int k = 0; k < NUM_KNOWN; k++) found |= !strcmp(known[k].name, model_type(i)->name);
    ck_assert_msg(found == used, "%s: known %d, in the table %d", model_type(i)->name, used, found);
    CPPluginFree(&model);
  }
}
END_TEST

/* ---- multipliers and reaction forces ---- */

static int num_forces(const ModelRun *run) {
  return (int)(CPMechGetNumMultipliers(run->mech) + run->model->mech.nu);
}

/* Multipliers, then reaction forces, at (t, y): a new array, the caller's */
static sunrealtype *forces_at(ModelRun *run, N_Vector y) {
  sunrealtype *x = calloc((size_t)num_forces(run), sizeof *x);
  ck_assert_ptr_nonnull(x);
  CPMechOutput out = {CP_SIZED(CPMechOutput), .lambda = x,
                      .reaction = x + CPMechGetNumMultipliers(run->mech)};
  ck_assert_msg(CPMechEvaluate(run->mech, run->t, y, &out) == CP_SUCCESS, "%s", run->log.text);
  return x;
}

/* sum_j |dx_i/dy_j| |y_j - exact_j|, the part that the error of the state explains; base: the
 * forces at exact. */
static sunrealtype *explained_forces(ModelRun *run, N_Vector exact, const sunrealtype *base) {
  const int m            = num_forces(run);
  sunrealtype *explained = calloc((size_t)m, sizeof *explained);
  ck_assert_ptr_nonnull(explained);
  N_Vector y = vector_copy(exact);
  for (sunindextype j = 0; j < run->model->n; j++) {
    const sunrealtype step = 1e-7 * (1 + fabs(entries(exact)[j]));
    const sunrealtype off  = fabs(entries(run->y)[j] - entries(exact)[j]);
    entries(y)[j] += step;
    sunrealtype *moved = forces_at(run, y);
    entries(y)[j]      = entries(exact)[j];
    for (int i = 0; i < m; i++) explained[i] += fabs(moved[i] - base[i]) / step * off;
    free(moved);
  }
  N_VDestroy(y);
  return explained;
}

/* The forces of the run may differ from those of the reference by what the error of the state
 * explains, by as much again for nonlinearity, and by the roundoff of forces and differences.
 * Returns the largest difference. */
static sunrealtype check_forces(ModelRun *run) {
  const CPPluginType *type = run->model->type;
  const int m              = num_forces(run);
  N_Vector exact           = vector_copy(run->y);
  ck_assert_int_eq(type->reference(run->model, run->t, exact), 0);
  sunrealtype *base = forces_at(run, exact), *here = forces_at(run, run->y);
  sunrealtype *explained = explained_forces(run, exact, base), size = 1, largest = 0;
  for (int i = 0; i < m; i++) size = fmax(size, fabs(base[i]));
  if (type->reference_lambda) ck_assert_int_eq(type->reference_lambda(run->model, run->t, base), 0);
  for (int i = 0; i < m; i++) {
    const sunrealtype off = fabs(here[i] - base[i]);
    ck_assert_msg(off <= 2 * explained[i] + 1e-8 * size,
                  "%s, tol %.0e: force %d is %g, but %g of the reference, of which %g is explained",
                  type->name, run->tol, i, here[i], base[i], explained[i]);
    largest = fmax(largest, off);
  }
  free(explained);
  free(here);
  free(base);
  N_VDestroy(exact);
  return largest;
}

/* ---- conserved quantities ---- */

enum { MAX_QUANTITIES = 3 };

/* Largest sum_j |dQ/dy_j| (1 + |y_j|) of quantity i at the newest state */
static sunrealtype gradient(const ModelRun *run, int i) {
  const CPPluginQuantity *q = &run->model->type->quantities[i];
  const sunrealtype Q       = plugin_value(run->model, q, run->t, run->y);
  N_Vector y                = vector_copy(run->y);
  sunrealtype sum           = 0;
  for (sunindextype j = 0; j < run->model->n; j++) {
    const sunrealtype scale = 1 + fabs(entries(run->y)[j]);
    entries(y)[j] += 1e-6 * scale;
    sum += fabs(plugin_value(run->model, q, run->t, y) - Q) / 1e-6;
    entries(y)[j] = entries(run->y)[j];
  }
  N_VDestroy(y);
  return sum;
}

/* Runs to the end in OUTPUTS pieces. drift [quantities]: out, the largest change of conserved
 * quantities or the largest rise of dissipated ones. It is checked against what the local errors
 * explain: they add up but do not grow, so the bound is that on the error with the condition 1,
 * times the gradient. */
static void run_to_end(ModelRun *run, sunrealtype *drift) {
  const CPPlugin *model                = run->model;
  const int nq                         = model->type->nquantities;
  sunrealtype steepest[MAX_QUANTITIES] = {0}, least[MAX_QUANTITIES];
  ck_assert_int_le(nq, MAX_QUANTITIES);
  for (int i = 0; i < nq; i++) {
    least[i] = model->type->quantities[i].value(model, i, 0, model->y0);
    drift[i] = 0;
  }
  for (int k = 1; k <= OUTPUTS; k++) {
    model_run_to(run, k * model->type->t_end / OUTPUTS);
    ck_assert_double_le(model_run_violation(run), run->tol);
    for (int i = 0; i < nq; i++) {
      const CPPluginQuantity *q = &model->type->quantities[i];
      const sunrealtype change  = plugin_value(model, q, run->t, run->y) - least[i];
      drift[i]    = fmax(drift[i], plugin_conserves(model, i) ? fabs(change) : change);
      steepest[i] = fmax(steepest[i], gradient(run, i));
      if (!plugin_conserves(model, i) && change < 0) least[i] += change;
    }
  }
  for (int i = 0; i < nq; i++)
    ck_assert_msg(drift[i] <= steepest[i] * model_run_bound(run, 1, 0),
                  "%s, tol %.0e: %s is off by %g, bound %g", model->type->name, run->tol,
                  model->type->quantities[i].name, drift[i],
                  steepest[i] * model_run_bound(run, 1, 0));
}

/* ---- the ladder ---- */

/* Errors fall as tol^slope or faster, down to the accuracy of the reference, between two runs. The
 * first is the loosest one whose error is below one half, and whose step size the tolerance
 * determines, and not a bound; the second is the last one. The slope is 0.775 (trajectories.c)
 * minus twice the standard deviation of the slope between two errors that scatter by half a decade
 * each. */
static void assert_falling(const sunrealtype *error, const long int *steps, int rungs,
                           sunrealtype reference_error) {
  int first = 0;
  while (first < rungs - 2 && (error[first] >= 0.5 || steps[first + 1] == steps[first])) first++;
  /* of the run above which the last one lies least, since the first one may be small by chance */
  sunrealtype bound = 0;
  for (int k = first; k < rungs - 1; k++) {
    const sunrealtype ratio = ladder[rungs - 1] / ladder[k];
    const sunrealtype slope = 0.775 - 2 * 0.5 * sqrt(2) / fabs(log10(ratio));
    bound                   = fmax(bound, error[k] * pow(ratio, slope));
  }
  ck_assert_double_le(error[rungs - 1], bound + 2 * reference_error);
}

/* Loop index: mechanism, method */
START_TEST(errors_fall_with_the_tolerance_below_the_bound) {
  const int methods[] = {CV_BDF, CV_ADAMS, ONE_STEP};
  const Known *entry  = &known[_i / 3];
  const int method    = methods[_i % 3];
  CPPlugin *model     = model_with(entry->name, NULL, 0);
  if (!entry->adams && (method == CV_ADAMS || (method == ONE_STEP && !model->stiff))) {
    CPPluginFree(&model);
    return;
  }
  sunrealtype error[LADDER], drift[MAX_QUANTITIES] = {0};
  long int steps[LADDER];
  const int rungs = entry->rungs ? entry->rungs : LADDER;
  for (int k = 0; k < rungs; k++) {
    ModelRun *run = model_run_create(model, method, ladder[k]);
    run_to_end(run, drift);
    error[k]                 = plugin_error(model, run->t, run->y);
    steps[k]                 = model_run_steps(run);
    const sunrealtype bound  = model_run_bound(run, entry->condition, 0);
    const sunrealtype forces = ladder[k] <= 1e-8 ? check_forces(run) : NAN;
    if (wants_figures())
      printf(
          "%-15s %-5s tol %.0e: %6ld steps, error %.1e, bound %.1e, forces %.1e, violation %.1e, "
          "drift %.1e\n",
          entry->name, method == ONE_STEP ? "1step" : method_name(method), ladder[k],
          model_run_steps(run), error[k], bound, forces, model_run_violation(run), drift[0]);
    ck_assert_double_le(error[k], bound + model->reference_error);
    model_run_free(&run);
  }
  assert_falling(error, steps, rungs, model->reference_error);
  CPPluginFree(&model);
}
END_TEST

/* 20 s, in which all rods become horizontal repeatedly */
START_TEST(forty_linkages_pass_all_singular_positions) {
  const Setting windows = {"N", 40};
  CPPlugin *model       = model_with("four_bar", &windows, 1);
  ModelRun *run         = model_run_create(model, CV_BDF, 1e-8);
  sunrealtype drift;
  run_to_end(run, &drift);
  const sunrealtype error = plugin_error(model, run->t, run->y);
  const sunrealtype scale = model->type->quantities[0].scale_of(model);
  if (wants_figures())
    printf("40 linkages: %ld steps, error %.1e, energy %.1e of %.0f J, violation %.1e\n",
           model_run_steps(run), error, drift, scale, model_run_violation(run));
  ck_assert_double_le(error, 1e-3);
  ck_assert_double_le(drift, 1e-4 * scale);
  model_run_free(&run);
  CPPluginFree(&model);
}
END_TEST

TEST_SUITE(catalogue) {
  Suite *suite = suite_create("catalogue");
  TCase *tcase = tcase_create("catalogue");
  tcase_set_timeout(tcase, 120);
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_test(tcase, every_reference_is_used);
  tcase_add_loop_test(tcase, errors_fall_with_the_tolerance_below_the_bound, 0, 3 * NUM_KNOWN);
  tcase_add_test(tcase, forty_linkages_pass_all_singular_positions);
  suite_add_tcase(suite, tcase);
  return suite;
}
