/* What the multistep methods, DOP853 and RADAU have to achieve over ladders of tolerances: no
 * failure, no false warning, and errors of a limited number of tolerances. The bounds are those
 * that the guide's chapter on defaults promises.
 *
 * CPODES_TEST_CAMPAIGN=full runs all tolerances, otherwise some of each ladder.
 * CPODES_TEST_FIGURES=1 prints the runs. */
#include "campaign.h"
#include "mechanisms.h"

#include "models/four_bar.h"
#include <cvodes/cvodes.h>
#include <math.h>
#include <models/plugin.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>

/* Each stride-th of n tolerances from one to the other. A root function that changes its sign twice
 * in a step goes unnoticed, as where the balls of the cradle overlap, so DOP853's long steps are
 * bounded there. */
static Tally climb(const CPPlugin *model, int method, int n, int stride, sunrealtype from,
                   sunrealtype to) {
  const CampaignOptions options = {.max_step = model->nroots > 0 ? model->type->t_end / 100 : 0};
  const int step = stride > 1 && method == RADAU ? 2 * stride : stride; /* it costs more */
  Tally tally    = {0};
  for (int i = 0; i < n; i += step) {
    const sunrealtype tol = ladder(i, n, from, to);
    const Outcome run     = campaign_run(model, method, tol, &options, NULL);
    tally_run(&tally, model, method, tol, &run);
  }
  if (wants_figures())
    printf("%-17s %-6s: %d runs, %d failed, %d warned, error/tol %.3g on average, %.3g at most, at "
           "most %ld steps, %ld f\n",
           model->type->name, campaign_method_name(method), tally.runs, tally.failed, tally.warned,
           (double)tally_mean(&tally), (double)tally.worst, tally.most_steps, tally.most_f);
  return tally;
}

#define assert_no_failure(model, method, tally)                                             \
  ck_assert_msg((tally).failed == 0 && (tally).warned == 0,                                 \
                "%s by %s: %d of %d runs fail, %d warn; %s", (model)->type->name,           \
                campaign_method_name(method), (tally).failed, (tally).runs, (tally).warned, \
                (tally).first)

#define assert_mean(model, method, tally, bound)                                                  \
  ck_assert_msg(tally_mean(&(tally)) <= (bound),                                                  \
                "%s by %s: errors are %.3g tolerances on average, bound %g", (model)->type->name, \
                campaign_method_name(method), (double)tally_mean(&(tally)), (double)(bound))

/* ------------------------------------------------------------------------ redundant constraints -- */

static const CPPluginType *const linkage_types[] = {&bennett_type, &goldberg_type, &sarrus_type,
                                                    &cranks_type};
enum { LINKAGES = sizeof linkage_types / sizeof linkage_types[0], VARIANTS = 3 };

/* BDF at all tolerances, as below, with b by formulas. Loop index: linkage, method; for linkages in space also b by
 * differences, and sparse matrices. */
START_TEST(overconstrained_linkages_neither_fail_nor_warn) {
  static const Setting variant[VARIANTS] = {{"b", 1}, {"b", 0}, {"sparse", 1}};
  const CPPluginType *type               = linkage_types[_i / (VARIANTS * NUM_METHODS)];
  const int method = campaign_method(_i / VARIANTS % NUM_METHODS), planar = type == &cranks_type;
  if (planar && _i % VARIANTS > 0) return;
  CPPlugin *model = model_of(type, &variant[_i % VARIANTS], !planar);
  const Tally tally =
      climb(model, method, 40, method == CV_BDF && _i % VARIANTS == 0 ? 1 : campaign_stride(5),
            1e-3, 1e-9);
  assert_no_failure(model, method, tally);
  ck_assert_msg(tally.worst <= 1e4, "%s by %s: an error of %.3g tolerances", type->name,
                campaign_method_name(method), (double)tally.worst);
  /* three times the evaluations of the tightest tolerance: no stall */
  ck_assert_int_le(tally.most_f, 10000);
  CPPluginFree(&model);
}
END_TEST

/* A stall of BDF is one at one tolerance in fifty, and at others after each change of roundoff: with b by formulas it runs at
 * all of them. Loop index: method; b by differences, by formulas. */
START_TEST(bricards_mechanism_costs_little_at_every_tolerance) {
  const Setting given = {"b", _i % 2};
  const int method    = campaign_method(_i / 2);
  CPPlugin *model     = model_with("bricard", &given, 1);
  const Tally tally =
      climb(model, method, 100, method == CV_BDF && _i % 2 ? 1 : campaign_stride(3), 1e-3, 1e-6);
  assert_no_failure(model, method, tally);
  assert_mean(model, method, tally, 150);
  ck_assert_int_le(tally.most_f, 3000);
  CPPluginFree(&model);
}
END_TEST

/* The redundant row adds no information. Geometric mean over the ladder; loop index: method. */
START_TEST(a_redundant_row_does_not_change_the_number_of_steps) {
  enum { RUNGS = 15 };
  const Setting redundant = {"redundant", 1}, independent = {"redundant", 0};
  const int method        = campaign_method(_i);
  CPPlugin *all           = model_of(&cranks_type, &redundant, 1),
           *enough        = model_of(&cranks_type, &independent, 1);
  sunrealtype sum_of_logs = 0;
  for (int i = 0; i < RUNGS; i++) {
    const sunrealtype tol = ladder(i, RUNGS, 1e-4, 1e-9);
    const Outcome a       = campaign_run(all, method, tol, NULL, NULL),
                  b       = campaign_run(enough, method, tol, NULL, NULL);
    ck_assert_msg(a.flag >= 0, "redundant, tol %g: %s", (double)tol, a.text);
    ck_assert_msg(b.flag >= 0, "independent, tol %g: %s", (double)tol, b.text);
    if (wants_figures())
      printf("cranks %-6s tol %.2e: %ld steps, independent rows %ld\n",
             campaign_method_name(method), (double)tol, a.steps, b.steps);
    sum_of_logs += log((sunrealtype)a.steps / (sunrealtype)b.steps);
  }
  ck_assert_double_le(fabs(exp(sum_of_logs / RUNGS) - 1), 0.05);
  CPPluginFree(&all);
  CPPluginFree(&enough);
}
END_TEST

/* ---------------------------------------------------------------------------- singular positions -- */

/* The error falls as tol^slope or faster from the loosest tolerance to the tightest. The slope is
 * 0.775 minus twice the standard deviation of a slope between two errors that scatter by half a
 * decade each (catalogue.c). Loop index: N = 1, 40; method. */
START_TEST(singular_positions_are_passed_on_the_regular_branch) {
  enum { RUNGS = 33 };
  const Setting windows = {"N", _i / NUM_METHODS ? 40 : 1};
  const int method      = campaign_method(_i % NUM_METHODS);
  const int stride  = campaign_stride(method == RADAU ? 4 : 16); /* RADAU has stalled at 3.16e-8 */
  CPPlugin *model   = model_with("four_bar", &windows, 1);
  N_Vector y        = vector_copy(model->y0);
  Tally tally       = {0};
  sunrealtype first = 0, last = 0;
  for (int i = 0; i < RUNGS; i += stride) {
    const sunrealtype tol = ladder(i, RUNGS, 1e-4, 1e-8);
    const Outcome run     = campaign_run(model, method, tol, NULL, y);
    tally_run(&tally, model, method, tol, &run);
    if (run.flag < 0) continue;
    ck_assert_msg(four_bar_branch(model->data, y) < 0.1, "tol %g: on another branch", (double)tol);
    if (i == 0) first = run.error;
    last = run.error;
  }
  ck_assert_msg(tally.failed == 0, "%s by %s: %d of %d runs fail; %s", model->type->name,
                campaign_method_name(method), tally.failed, tally.runs, tally.first);
  ck_assert_double_le(last, first * pow(1e-4, 0.775 - 2 * 0.5 * sqrt(2) / 4));
  N_VDestroy(y);
  CPPluginFree(&model);
}
END_TEST

/* ----------------------------------------------------------------------------------- no freedom -- */

/* At 200 outputs, also within the steps. Loop index: method. */
START_TEST(a_driven_platform_follows_within_ten_tolerances) {
  enum { RUNGS = 7 };
  const CampaignOptions options = {.outputs = 200};
  const int method              = campaign_method(_i);
  CPPlugin *model               = model_of(&platform_type, NULL, 0);
  Tally tally                   = {0};
  for (int i = 0; i < RUNGS; i++) {
    const sunrealtype tol = ladder(i, RUNGS, 1e-4, 1e-10);
    const Outcome run     = campaign_run(model, method, tol, &options, NULL);
    tally_run(&tally, model, method, tol, &run);
  }
  assert_no_failure(model, method, tally);
  ck_assert_msg(tally.worst <= 10, "an error of %.3g tolerances", (double)tally.worst);
  CPPluginFree(&model);
}
END_TEST

/* ------------------------------------------------------------------------------- fast rotation -- */

enum { SPINS = 3 };

/* CVODES without any projection, with its own defaults */
static Outcome plain_bdf(const CPPlugin *model, sunrealtype tol) {
  Outcome run        = {0};
  N_Vector y         = vector_copy(model->y0);
  void *mem          = CVodeCreate(CV_BDF, test_context);
  SUNMatrix A        = SUNDenseMatrix(model->n, model->n, test_context);
  SUNLinearSolver LS = SUNLinSol_Dense(y, A, test_context);
  ck_assert(mem && A && LS);
  ck_assert_int_eq(CVodeInit(mem, model->f, 0, y), CV_SUCCESS);
  ck_assert_int_eq(CVodeSStolerances(mem, tol, tol), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetLinearSolver(mem, LS, A), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetMaxNumSteps(mem, 1000000), CV_SUCCESS);
  ck_assert_int_eq(CVode(mem, model->type->t_end, y, &run.t, CV_NORMAL), CV_SUCCESS);
  ck_assert_int_eq(CVodeGetNumSteps(mem, &run.steps), CV_SUCCESS);
  run.error = plugin_error(model, run.t, y);
  CVodeFree(&mem);
  SUNLinSolFree(LS);
  SUNMatDestroy(A);
  N_VDestroy(y);
  return run;
}

/* Loop index: angular velocity */
START_TEST(a_spinning_ball_takes_the_steps_of_plain_bdf) {
  enum { RUNGS = 13 };
  static const sunrealtype spins[SPINS] = {100, 250, 400};
  const Setting spin                    = {"spin", spins[_i]};
  CPPlugin *model                       = model_of(&ball_type, &spin, 1);
  int slow = 0, wrong = 0;
  for (int i = 0; i < RUNGS; i += campaign_stride(2)) {
    const sunrealtype tol = ladder(i, RUNGS, 1e-4, 1e-10);
    const Outcome run = campaign_run(model, CV_BDF, tol, NULL, NULL), plain = plain_bdf(model, tol);
    ck_assert_msg(run.flag >= 0, "tol %g: %s", (double)tol, run.text);
    if (wants_figures())
      printf("ball   BDF    spin %g tol %.2e: %ld steps, error %.2e, plain CVODES %ld, %.2e\n",
             (double)spin.value, (double)tol, run.steps, (double)run.error, plain.steps,
             (double)plain.error);
    slow += (double)run.steps > 1.3 * (double)plain.steps;
    wrong += !(run.error <= 30 * plain.error); /* projected estimates leave out normal errors */
  }
  ck_assert_msg(
      slow == 0 && wrong == 0,
      "more than 1.3 times the steps at %d tolerances, more than 30 times the error at %d", slow,
      wrong);
  CPPluginFree(&model);
}
END_TEST

/* Loop index: method */
START_TEST(the_heavy_top_is_right_by_a_number_of_tolerances) {
  static const struct {
    sunrealtype mean;
    long int steps; /* on average; 0: no bound */
  } bound[NUM_METHODS] = {{1500, 3000}, {100, 0}, {2000, 0}, {500, 0}};
  const int method     = campaign_method(_i);
  CPPlugin *model      = model_with("heavy_top", NULL, 0);
  const Tally tally    = climb(model, method, 15, campaign_stride(2), 1e-4, 1e-9);
  assert_no_failure(model, method, tally);
  assert_mean(model, method, tally, bound[_i].mean);
  if (bound[_i].steps) ck_assert_int_le(tally.steps / tally.runs, bound[_i].steps);
  CPPluginFree(&model);
}
END_TEST

/* --------------------------------------------------------------------------------------- impacts -- */

enum { IMPACTS = 60 };

/* The times of the impacts, and the upward speeds after them */
typedef struct {
  int n;
  sunrealtype t[IMPACTS], speed[IMPACTS];
} Bounces;

static void note_bounce(void *data, sunrealtype t, N_Vector y) {
  Bounces *b = data;
  ck_assert_int_lt(b->n, IMPACTS);
  b->t[b->n]       = t;
  b->speed[b->n++] = entries(y)[9];
}

/* The index of the first impact that deviates from the flight time 2 v / g after the previous one
 * by more than a tenth of it, which errors of the flight do not explain: an earlier impact is
 * spurious, a later one follows a missed impact. IMPACTS: there is none. */
static int first_wrong(const Bounces *b, sunrealtype first) {
  for (int k = 0; k < b->n; k++) {
    const sunrealtype flight = k ? 2 * b->speed[k - 1] / SUN_RCONST(9.81) : first;
    const sunrealtype since  = b->t[k] - (k ? b->t[k - 1] : 0);
    if (!(fabs(since - flight) <= flight / 10)) return k;
  }
  return b->n;
}

/* Allows twice the time that it should take. Loop index: elastic or not, method. */
START_TEST(a_ball_bounces_sixty_times) {
  enum { RUNGS = 7 };
  const Setting settings[] = {{"floor", 1}, {"e", _i / NUM_METHODS ? 1 : 0.95}, {"spin", 5}};
  const int method         = campaign_method(_i % NUM_METHODS);
  CPPlugin *model          = model_of(&ball_type, settings, 3);
  char wrong[500]          = "";
  int nwrong               = 0;
  for (int i = 0; i < RUNGS; i++) {
    const sunrealtype tol         = ladder(i, RUNGS, 1e-4, 1e-10);
    Bounces bounces               = {0};
    const CampaignOptions options = {.t_end       = 2 * ball_impact(model, IMPACTS),
                                     .most_events = IMPACTS,
                                     .event       = note_bounce,
                                     .data        = &bounces};
    const Outcome run             = campaign_run(model, method, tol, &options, NULL);
    const int right               = first_wrong(&bounces, ball_impact(model, 1));
    if (wants_figures())
      printf("ball   %-6s e %.2f tol %.0e: flag %d, %d impacts, %d of them right, %ld steps, the "
             "last one %.1e "
             "off at t = %.4f\n",
             campaign_method_name(method), (double)model->parameter[1], (double)tol, run.flag,
             run.events, right, run.steps, (double)(run.t - ball_impact(model, IMPACTS)),
             (double)run.t);
    if (run.flag >= 0 && right == IMPACTS) continue;
    if (nwrong++ == 0)
      snprintf(wrong, sizeof wrong,
               "tol %g, flag %d at t = %g: %d impacts, number %d is lost or invented; %s",
               (double)tol, run.flag, (double)run.t, run.events, right + 1, run.text);
  }
  ck_assert_msg(nwrong == 0, "%d of %d runs are wrong; %s", nwrong, RUNGS, wrong);
  CPPluginFree(&model);
}
END_TEST

/* ------------------------------------------------------------------------------------- stiffness -- */

START_TEST(the_governor_is_right_by_a_number_of_tolerances) {
  CPPlugin *model   = model_with("flyball_governor", NULL, 0);
  const Tally tally = climb(model, CV_BDF, 9, campaign_stride(2), 1e-4, 1e-8);
  assert_no_failure(model, CV_BDF, tally);
  assert_mean(model, CV_BDF, tally, 2000);
  CPPluginFree(&model);
}
END_TEST

/* The rows are independent throughout, although a trial stage of an attempt that is rejected may
 * look dependent. */
START_TEST(a_rejected_attempt_does_not_change_the_linear_solver) {
  const CampaignOptions schur = {.t_end = 1, .linsol = CP_LINSOL_SCHUR}, by_itself = {.t_end = 1};
  CPPlugin *model      = model_with("flyball_governor", NULL, 0);
  const Outcome chosen = campaign_run(model, ONE_STEP, 1e-4, &schur, NULL),
                own    = campaign_run(model, ONE_STEP, 1e-4, &by_itself, NULL);
  if (wants_figures())
    printf("governor DOP853 to t = 1: SCHUR %.3f s, %ld steps; AUTO %.3f s, %ld steps, %d "
           "warnings, solver %d\n",
           chosen.seconds, chosen.steps, own.seconds, own.steps, own.warnings, (int)own.linsol);
  ck_assert_msg(own.flag >= 0 && chosen.flag >= 0, "%s; %s", own.text, chosen.text);
  ck_assert_int_eq(own.linsol, CP_LINSOL_SCHUR);
  ck_assert_msg(own.warnings == 0, "%s", own.text);
  CPPluginFree(&model);
}
END_TEST

/* ------------------------------------------------------------------------------------- catalogue -- */

/* Four_bar, heavy top and governor have their own tests above. Mechanisms with expensive steps,
 * without a reference, or with contacts have none. */
static int is_in_the_ladder(const CPPlugin *model) {
  static const char *const others[] = {"four_bar", "heavy_top", "flyball_governor"};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    if (!strcmp(model->type->name, others[i])) return 0;
  return model->known && model->ncontacts == 0;
}

/* Loop index: mechanism, method */
START_TEST(a_tolerance_means_something) {
  const int method = campaign_method(_i % NUM_METHODS);
  CPPlugin *model  = model_with(model_type(_i / NUM_METHODS)->name, NULL, 0);
  if (is_in_the_ladder(model) && (method == CV_BDF || method == RADAU || !model->stiff)) {
    const Tally tally = climb(model, method, 21, campaign_stride(4), 1e-4, 1e-9);
    ck_assert_msg(tally.failed == 0, "%s by %s: %d of %d runs fail; %s", model->type->name,
                  campaign_method_name(method), tally.failed, tally.runs, tally.first);
    /* BDF's errors are three times as large at the same tolerance. */
    const int times = method == CV_BDF ? 3 : 1;
    assert_mean(model, method, tally, times * 300);
    ck_assert_msg(tally.worst <= times * 2000, "%s by %s: an error of %.3g tolerances",
                  model->type->name, campaign_method_name(method), (double)tally.worst);
  }
  CPPluginFree(&model);
}
END_TEST

static int ntypes(void) {
  int n = 0;
  while (model_type(n)) n++;
  return n;
}

TEST_SUITE(campaign) {
  setvbuf(stdout, NULL, _IOLBF, 0); /* so that figures of failing tests appear, too */
  Suite *suite = suite_create("campaign");
  TCase *tcase = tcase_create("campaign");
  tcase_set_timeout(tcase,
                    120 * 5 / campaign_stride(5)); /* Full ladders are up to five times as long. */
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, overconstrained_linkages_neither_fail_nor_warn, 0,
                      LINKAGES * VARIANTS * NUM_METHODS);
  tcase_add_loop_test(tcase, bricards_mechanism_costs_little_at_every_tolerance, 0, 2 * NUM_METHODS);
  tcase_add_loop_test(tcase, a_redundant_row_does_not_change_the_number_of_steps, 0, NUM_METHODS);
  tcase_add_loop_test(tcase, singular_positions_are_passed_on_the_regular_branch, 0,
                      2 * NUM_METHODS);
  tcase_add_loop_test(tcase, a_driven_platform_follows_within_ten_tolerances, 0, NUM_METHODS);
  tcase_add_loop_test(tcase, a_spinning_ball_takes_the_steps_of_plain_bdf, 0, SPINS);
  tcase_add_loop_test(tcase, the_heavy_top_is_right_by_a_number_of_tolerances, 0, NUM_METHODS);
  tcase_add_loop_test(tcase, a_ball_bounces_sixty_times, 0, 2 * NUM_METHODS);
  tcase_add_test(tcase, the_governor_is_right_by_a_number_of_tolerances);
  tcase_add_test(tcase, a_rejected_attempt_does_not_change_the_linear_solver);
  tcase_add_loop_test(tcase, a_tolerance_means_something, 0, NUM_METHODS * ntypes());
  suite_add_tcase(suite, tcase);
  return suite;
}
