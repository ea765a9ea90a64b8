/* Runs of the race in processes of their own: one that crashes, gives up or never ends is a figure, and its state comes
 * back where it does end. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "bench/race/forked.h"
#include "support/support.h"

static CPModel model;
static N_Vector y;
static RaceFigures figures;

static void setup(void) {
  y     = vector_of(20000, NULL); /* more than a pipe holds */
  model = (CPModel){.n = 20000, .ctx = test_context};
}

static void teardown(void) { N_VDestroy(y); }

static void run(void (*solve)(const CPModel *, sunrealtype, sunrealtype, N_Vector, RaceFigures *),
                double limit) {
  const Contestant contestant = {.name = "test", .solve = solve};
  run_forked(&contestant, &model, 2.0, 1e-3, limit, NULL, y, &figures);
}

static void finishes(const CPModel *m, sunrealtype end, sunrealtype tol, N_Vector state,
                     RaceFigures *f) {
  for (sunindextype i = 0; i < m->n; i++) entries(state)[i] = end + tol * (sunrealtype)i;
  f->steps   = 17;
  f->seconds = 1;
  strcpy(f->message, "fine");
}

START_TEST(figures_and_state_come_back) {
  run(finishes, 60);
  ck_assert_int_eq(figures.flag, 0);
  ck_assert_int_eq(figures.steps, 17);
  ck_assert_str_eq(figures.message, "fine");
  for (sunindextype i = 0; i < model.n; i++)
    ck_assert_double_eq(entries(y)[i], 2.0 + 1e-3 * (sunrealtype)i);
}
END_TEST

static void dies(const CPModel *m, sunrealtype end, sunrealtype tol, N_Vector state, RaceFigures *f) {
  (void)m, (void)end, (void)tol, (void)state, (void)f;
  raise(SIGKILL);
}

static void leaves(const CPModel *m, sunrealtype end, sunrealtype tol, N_Vector state,
                   RaceFigures *f) {
  (void)m, (void)end, (void)tol, (void)state, (void)f;
  _Exit(3);
}

START_TEST(a_crash_is_a_figure_and_the_next_run_is_fine) {
  run(dies, 60);
  ck_assert_int_eq(figures.flag, RACE_CRASHED);
  ck_assert_ptr_nonnull(strstr(figures.message, "Killed"));
  run(leaves, 60);
  ck_assert_int_eq(figures.flag, RACE_CRASHED);
  ck_assert_ptr_nonnull(strstr(figures.message, "exit status 3"));
  run(finishes, 60);
  ck_assert_int_eq(figures.flag, 0);
}
END_TEST

static void never_ends(const CPModel *m, sunrealtype end, sunrealtype tol, N_Vector state,
                       RaceFigures *f) {
  (void)m, (void)end, (void)tol, (void)state, (void)f;
  for (volatile int i = 0;; i++) {}
}

START_TEST(a_run_that_does_not_end_is_stopped) {
  run(never_ends, 0.1);
  ck_assert_int_eq(figures.flag, RACE_TIME_LIMIT);
  ck_assert_ptr_nonnull(strstr(figures.message, "0.1 s"));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("forked");
  TCase *tcase = tcase_create("forked");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_checked_fixture(tcase, setup, teardown);
  tcase_add_test(tcase, figures_and_state_come_back);
  tcase_add_test(tcase, a_crash_is_a_figure_and_the_next_run_is_fine);
  tcase_add_test(tcase, a_run_that_does_not_end_is_stopped);
  suite_add_tcase(suite, tcase);
  return run_suite(suite);
}
