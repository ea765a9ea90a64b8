/* A run in bounded memory: rows are halved when they are full, and keep the ends and the extreme
 * values. */
#include <math.h>

#include "runner/output/history.h"
#include "support/alloc.h"
#include "support/support.h"

enum { WIDTH = 2, CAPACITY = 16 };

/* Stands in for the runner's options.c, which writes to stderr */
static int complaints;
int complain(const char *format, ...) {
  (void)format;
  complaints++;
  return -1;
}

/* ---- rows ---- */

/* count rows (i, value_i), ended */
static void fill(Rows *rows, long count, double (*value)(long i), RowsMerge merge) {
  long most = 0;
  ck_assert_int_eq(rows_create(rows, WIDTH, CAPACITY), 0);
  for (long i = 0; i < count; i++) {
    rows_next(rows)[0] = (double)i;
    rows_next(rows)[1] = value(i);
    rows_put(rows, 1, merge);
    if (rows->rows > most) most = rows->rows;
  }
  ck_assert_int_lt(most, rows->capacity);
}

static double one(long i) { return i >= 0; }
static double add(double a, double b) { return a + b; }

static const long counts[] = {1, 2, 3, 15, 16, 17, 31, 32, 33, 100, 1000, 4097};
enum { COUNTS = sizeof counts / sizeof *counts };

START_TEST(rows_never_exceed_their_capacity_and_never_waste_more_than_half) {
  Rows rows;
  fill(&rows, counts[_i], one, NULL);
  rows_end(&rows);
  ck_assert_int_le(rows.rows, CAPACITY);
  ck_assert_int_ge(rows.rows, counts[_i] < CAPACITY ? counts[_i] : CAPACITY / 2);
  rows_free(&rows);
}
END_TEST

START_TEST(the_first_and_the_newest_row_are_kept) {
  Rows rows;
  fill(&rows, counts[_i], one, NULL);
  rows_end(&rows);
  ck_assert_double_eq(rows.data[0], 0);
  ck_assert_double_eq(rows.data[WIDTH * (rows.rows - 1)], (double)(counts[_i] - 1));
  rows_free(&rows);
}
END_TEST

START_TEST(rows_are_evenly_spaced_but_for_the_newest) {
  Rows rows;
  fill(&rows, counts[_i], one, NULL);
  rows_end(&rows);
  for (long i = 0; i + 1 < rows.rows; i++)
    ck_assert_double_eq(rows.data[WIDTH * i], (double)(i * rows.stride));
  rows_free(&rows);
}
END_TEST

START_TEST(sums_of_merged_rows_are_those_of_all) {
  Rows rows;
  double sum = 0;
  fill(&rows, counts[_i], one, add);
  for (long i = 0; i < rows.rows; i++) sum += rows.data[WIDTH * i + 1];
  ck_assert_double_eq(sum, (double)counts[_i]);
  rows_free(&rows);
}
END_TEST

static long peak_at;
static double peak(long i) { return i == peak_at ? 7 : 1; }

START_TEST(a_peak_in_any_row_survives_when_rows_are_merged) {
  for (peak_at = 0; peak_at<counts[_i]; peak_at += counts[_i]> 200 ? 97 : 1) {
    Rows rows;
    double most = 0;
    fill(&rows, counts[_i], peak, fmax);
    rows_end(&rows);
    long where = 0;
    for (long i = 0; i < rows.rows; i++) {
      if (rows.data[WIDTH * i + 1] > most) where = i;
      most = fmax(most, rows.data[WIDTH * i + 1]);
    }
    ck_assert_double_eq(most, 7);
    /* in the row that it was merged into, not far from where it was */
    ck_assert(fabs(rows.data[WIDTH * where] - (double)peak_at) < (double)rows.stride);
    rows_free(&rows);
  }
}
END_TEST

/* ---- the listener ---- */

enum { NQ = 20, NPOINTS = 2, NQUANTITIES = 2 };

static RunSettings settings     = {.form = FORM_MECH};
static const RunContact contact = {.name = "floor", .normal = 2};
static const RunInfo info       = {.settings    = &settings,
                                   .n           = 2 * NQ,
                                   .nq          = NQ,
                                   .nu          = NQ,
                                   .np          = 1,
                                   .nv          = 1,
                                   .nlambda     = 3,
                                   .nquantities = NQUANTITIES,
                                   .npoints     = NPOINTS,
                                   .ncontacts   = 1,
                                   .contact     = &contact};

/* y_i = t + i, energy 5 + t (1 - t), the other one constant */
static void tell(History *h, double t, double violation) {
  double y[2 * NQ], quantity[NQUANTITIES] = {5 + t * (1 - t), 3}, lambda[3] = {t, 2 * t, 3 * t};
  double points[3 * NPOINTS] = {t, 1, 2, 3, 4, 5};
  for (int i = 0; i < 2 * NQ; i++) y[i] = t + i;
  const double gap = 7 * t, phase = t < 1 ? PHASE_OPEN : PHASE_STICKING;
  const Sample sample = {.t         = t,
                         .y         = y,
                         .quantity  = quantity,
                         .lambda    = lambda,
                         .points    = points,
                         .gap       = &gap,
                         .phase     = &phase,
                         .violation = {violation, 0, NAN, NAN}};
  ck_assert_int_eq(h->listener.sample(&h->listener, &sample), 0);
}

static void start(History *h) {
  history_create(h);
  ck_assert_int_eq(h->listener.begin(&h->listener, &info), 0);
}

static void finish(History *h) {
  const RunResult result = {.ending = RUN_DONE, .steps = 7};
  ck_assert_int_eq(h->listener.end(&h->listener, &result), 0);
}

static double most_of_column(const Rows *rows, long column) {
  double most = 0;
  for (long i = 0; i < rows->rows; i++) most = fmax(most, rows->data[i * rows->width + column]);
  return most;
}

START_TEST(a_row_has_the_parts_in_the_columns_that_are_told) {
  History h;
  start(&h);
  tell(&h, 0.25, 1e-9);
  finish(&h);
  const double *row = h.curves.data;
  ck_assert_int_eq(h.curves.rows, 1);
  ck_assert_double_eq(row[0], 0.25);
  for (int i = 0; i < h.nq; i++) ck_assert_double_eq(row[1 + i], 0.25 + (double)h.q[i]);
  for (int i = 0; i < h.nu; i++)
    ck_assert_double_eq(row[history_column_u(&h) + i], 0.25 + NQ + (double)h.u[i]);
  for (int i = 0; i < 3; i++)
    ck_assert_double_eq(row[history_column_lambda(&h) + i], 0.25 * (i + 1));
  ck_assert_double_eq(row[history_column_quantity(&h) + 1], 3);
  ck_assert_double_eq(row[history_column_gap(&h)], 7 * 0.25);
  ck_assert_double_eq(row[history_column_violation(&h) + LEVEL_POSITION], 1e-9);
  ck_assert_int_eq(history_column_violation(&h) + NUM_LEVELS, h.curves.width);
  history_free(&h);
}
END_TEST

START_TEST(of_many_components_the_first_and_the_last_are_drawn) {
  History h;
  start(&h);
  ck_assert_int_eq(h.nq, RUN_CURVES);
  ck_assert_int_eq(h.q[0], 0);
  ck_assert_int_eq(h.q[RUN_CURVES - 1], NQ - 1);
  for (int i = 1; i < h.nq; i++) ck_assert_int_gt(h.q[i], h.q[i - 1]);
  ck_assert_int_eq(h.nlambda, 3);
  for (int i = 0; i < h.nlambda; i++) ck_assert_int_eq(h.lambda[i], i);
  history_free(&h);
}
END_TEST

START_TEST(extremes_are_those_of_all_samples) {
  enum { SAMPLES = 10001 };
  History h;
  start(&h);
  for (int i = 0; i < SAMPLES; i++) tell(&h, i / (SAMPLES - 1.), i == 3333 ? 1e-6 : 1e-12);
  finish(&h);
  ck_assert_double_eq(h.most_violation[LEVEL_POSITION], 1e-6);
  ck_assert_double_eq(h.when[LEVEL_POSITION], 3333 / (SAMPLES - 1.));
  ck_assert_double_eq(most_of_column(&h.curves, history_column_violation(&h)), 1e-6);
  ck_assert(isnan(h.most_violation[LEVEL_INVARIANT]) && isnan(h.most_violation[LEVEL_NORM]));
  ck_assert_double_eq(h.most_drift[0], 0.25); /* t (1 - t) at 1/2 */
  ck_assert_double_eq(h.last_quantity[0], h.first_quantity[0]);
  ck_assert_double_eq(h.last_t, 1);
  ck_assert_double_eq(h.last[3], 4);
  ck_assert_int_eq(h.result.steps, 7);
  history_free(&h);
}
END_TEST

/* One sample: a quantity, a position violation and a multiplier; everything else is right */
static void tell_some(History *h, double t, double value, double violation, double multiplier) {
  const double y[2 * NQ] = {0}, quantity[NQUANTITIES] = {value, 3}, lambda[3] = {0, multiplier, 0},
                     points[3 * NPOINTS] = {0};
  const double gap = 7 * t, phase = t < 1 ? PHASE_OPEN : PHASE_STICKING;
  const Sample sample = {.t         = t,
                         .y         = y,
                         .quantity  = quantity,
                         .lambda    = lambda,
                         .points    = points,
                         .gap       = &gap,
                         .phase     = &phase,
                         .violation = {violation, 0, NAN, NAN}};
  ck_assert_int_eq(h->listener.sample(&h->listener, &sample), 0);
}

START_TEST(a_change_of_the_method_is_no_event) {
  History h;
  start(&h);
  const RunEvent change = {.kind = EVENT_METHOD, .t = 1, .reason = IS_STIFF},
                 stop   = {.kind = EVENT_STOP};
  ck_assert_int_eq(h.listener.event(&h.listener, &change), 0);
  ck_assert_int_eq(h.listener.event(&h.listener, &stop), 0);
  ck_assert_int_eq(h.events, 1);
  ck_assert_int_eq(h.event[0].kind, EVENT_STOP);
  ck_assert_int_eq(h.changes, 1);
  ck_assert_double_eq(h.change[0].t, 1);
  history_free(&h);
}
END_TEST

START_TEST(the_drift_of_a_quantity_that_was_nan_in_any_sample_is_nan) {
  enum { SAMPLES = 5 };
  History h;
  start(&h);
  for (int i = 0; i < SAMPLES; i++) tell_some(&h, i, i == _i ? NAN : 1, 0, 0);
  ck_assert(isnan(h.most_drift[0]) && isnan(h.most_rise[0]));
  ck_assert_double_eq(h.most_drift[1], 0);
  ck_assert_double_eq(h.most_rise[1], 0);
  ck_assert_int_eq(h.unevaluated, 0);
  history_free(&h);
}
END_TEST

START_TEST(samples_that_could_not_be_evaluated_are_counted_once_each) {
  History h;
  start(&h);
  tell_some(&h, 0, 1, NAN, 0);
  ck_assert(isnan(h.most_violation[LEVEL_POSITION])); /* not 0, since it is unknown */
  tell_some(&h, 1, 1, 1e-9, 0);
  tell_some(&h, 2, 1, 1e-8, NAN);
  tell_some(&h, 3, 1, NAN, NAN);
  ck_assert_int_eq(h.unevaluated, 3);
  ck_assert_double_eq(h.most_violation[LEVEL_POSITION], 1e-8);
  ck_assert_double_eq(h.when[LEVEL_POSITION], 2);
  history_free(&h);
}
END_TEST

START_TEST(curves_and_frames_end_with_the_newest_sample) {
  History h;
  start(&h);
  for (int i = 0; i <= 5001; i++) tell(&h, i, 0);
  finish(&h);
  ck_assert_double_eq(h.curves.data[(h.curves.rows - 1) * h.curves.width], 5001);
  ck_assert_double_eq(h.frames.data[(h.frames.rows - 1) * h.frames.width], 5001);
  ck_assert_double_eq(h.frames.data[(h.frames.rows - 1) * h.frames.width + 1], 5001);
  ck_assert_int_le(h.frames.rows, HISTORY_FRAMES);
  history_free(&h);
}
END_TEST

START_TEST(rejected_attempts_sum_up_to_those_of_all_steps) {
  enum { STEPS = 5 * HISTORY_STEPS + 3 };
  History h;
  double rejected = 0;
  start(&h);
  for (int i = 0; i < STEPS; i++) {
    const Step step = {i, 1, 5, i % 10 == 9 ? 3 : 1};
    ck_assert_int_eq(h.listener.step(&h.listener, &step), 0);
  }
  finish(&h);
  ck_assert_int_le(h.steps.rows, HISTORY_STEPS);
  for (long i = 0; i < h.steps.rows; i++) rejected += h.steps.data[i * h.steps.width + 3];
  ck_assert_double_eq(rejected, 2 * (STEPS / 10));
  history_free(&h);
}
END_TEST

START_TEST(events_beyond_those_that_are_kept_are_counted) {
  History h;
  start(&h);
  for (int i = 0; i < HISTORY_EVENTS + 5; i++)
    h.listener.event(&h.listener, &(RunEvent){.kind = EVENT_ROOT, .t = i, .direction = 1});
  ck_assert_int_eq(h.events, HISTORY_EVENTS + 5);
  ck_assert_double_eq(h.event[HISTORY_EVENTS - 1].t, HISTORY_EVENTS - 1);
  history_free(&h);
}
END_TEST

START_TEST(large_drawings_have_fewer_frames_but_enough_to_move) {
  static const RunInfo large = {.settings = &settings, .n = 2, .nq = 1, .nu = 1, .npoints = 100000};
  History h;
  history_create(&h);
  ck_assert_int_eq(h.listener.begin(&h.listener, &large), 0);
  ck_assert_int_eq(h.frames.capacity, 40);
  history_free(&h);
  history_create(&h);
  ck_assert_int_eq(h.listener.begin(&h.listener, &info), 0);
  ck_assert_int_eq(h.frames.capacity, HISTORY_FRAMES);
  history_free(&h);
}
END_TEST

START_TEST(without_a_sample_there_are_no_rows) {
  History h;
  start(&h);
  finish(&h);
  ck_assert_int_eq(h.curves.rows, 0);
  ck_assert_int_eq(h.frames.rows, 0);
  ck_assert_int_eq(h.steps.rows, 0);
  history_free(&h);
}
END_TEST

START_TEST(without_memory_begin_complains_and_fails) {
  int failed = 1;
  for (int nth = 1; failed; nth++) {
    History h;
    complaints = 0;
    alloc_watch_failing(nth);
    history_create(&h);
    const int flag = h.listener.begin(&h.listener, &info);
    failed         = alloc_has_failed();
    ck_assert_int_eq(flag, failed ? -1 : 0);
    ck_assert_int_eq(complaints, failed);
    finish(&h); /* it is called for each listener that has begun */
    history_free(&h);
    alloc_unwatch();
    ck_assert_int_eq(alloc_live(), 0);
  }
}
END_TEST

TEST_SUITE(history) {
  Suite *suite = suite_create("history");
  TCase *rows  = tcase_create("rows");
  tcase_add_loop_test(rows, rows_never_exceed_their_capacity_and_never_waste_more_than_half, 0,
                      COUNTS);
  tcase_add_loop_test(rows, the_first_and_the_newest_row_are_kept, 0, COUNTS);
  tcase_add_loop_test(rows, rows_are_evenly_spaced_but_for_the_newest, 0, COUNTS);
  tcase_add_loop_test(rows, sums_of_merged_rows_are_those_of_all, 0, COUNTS);
  tcase_add_loop_test(rows, a_peak_in_any_row_survives_when_rows_are_merged, 0, COUNTS);
  suite_add_tcase(suite, rows);
  TCase *listener = tcase_create("listener");
  tcase_add_test(listener, a_row_has_the_parts_in_the_columns_that_are_told);
  tcase_add_test(listener, of_many_components_the_first_and_the_last_are_drawn);
  tcase_add_test(listener, extremes_are_those_of_all_samples);
  tcase_add_test(listener, a_change_of_the_method_is_no_event);
  tcase_add_loop_test(listener, the_drift_of_a_quantity_that_was_nan_in_any_sample_is_nan, 0, 5);
  tcase_add_test(listener, samples_that_could_not_be_evaluated_are_counted_once_each);
  tcase_add_test(listener, curves_and_frames_end_with_the_newest_sample);
  tcase_add_test(listener, rejected_attempts_sum_up_to_those_of_all_steps);
  tcase_add_test(listener, events_beyond_those_that_are_kept_are_counted);
  tcase_add_test(listener, large_drawings_have_fewer_frames_but_enough_to_move);
  tcase_add_test(listener, without_a_sample_there_are_no_rows);
  tcase_add_test(listener, without_memory_begin_complains_and_fails);
  suite_add_tcase(suite, listener);
  return suite;
}
