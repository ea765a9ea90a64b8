/* The phases of contacts over time, in bounded memory. */
#include <math.h>

#include "runner/output/phases.h"
#include "support/alloc.h"
#include "support/support.h"

static Phases of_one(void) {
  Phases phases;
  ck_assert_int_eq(phases_create(&phases, 1), 0);
  return phases;
}

START_TEST(an_interval_lasts_until_the_phase_changes) {
  Phases phases = of_one();
  double time[NUM_PHASES];
  phases_note(&phases, 0, 0, PHASE_SLIDING);
  phases_note(&phases, 0, 1, PHASE_SLIDING);
  phases_note(&phases, 0, 2, PHASE_STICKING);
  phases_note(&phases, 0, 5, PHASE_OPEN);
  ck_assert_int_eq(phases.bar[0].count, 3);
  ck_assert_double_eq(phases.bar[0].change[1].t, 2);
  ck_assert_double_eq(phases.shortest, 0);
  phases_times(&phases, 0, 6, time);
  ck_assert_double_eq(time[PHASE_SLIDING], 2);
  ck_assert_double_eq(time[PHASE_STICKING], 3);
  ck_assert_double_eq(time[PHASE_OPEN], 1);
  ck_assert_double_eq(time[PHASE_STEPPED], 0);
  phases_free(&phases);
}
END_TEST

START_TEST(an_interval_of_no_length_is_none) {
  Phases phases = of_one();
  phases_note(&phases, 0, 0, PHASE_OPEN);
  phases_note(&phases, 0, 1, PHASE_STEPPED);
  phases_note(&phases, 0, 1, PHASE_OPEN);
  ck_assert_int_eq(phases.bar[0].count, 1);
  phases_note(&phases, 0, 1, PHASE_STICKING);
  ck_assert_int_eq(phases.bar[0].count, 2);
  ck_assert_int_eq(phases.bar[0].change[1].phase, PHASE_STICKING);
  phases_free(&phases);
}
END_TEST

/* A contact that rattles, open for 0.6 of the time and sliding for 0.4, between two long phases */
enum { RATTLES = 10 * PHASE_CHANGES };

START_TEST(a_contact_that_rattles_takes_bounded_memory) {
  Phases phases       = of_one();
  int most            = 0;
  const double period = 1e-4, begin = 2, end = begin + RATTLES * period;
  phases_note(&phases, 0, 0, PHASE_STICKING);
  for (int i = 0; i < RATTLES; i++) {
    phases_note(&phases, 0, begin + i * period, PHASE_OPEN);
    if (phases.bar[0].count > most) most = phases.bar[0].count;
    phases_note(&phases, 0, begin + (i + 0.6) * period, PHASE_SLIDING);
    if (phases.bar[0].count > most) most = phases.bar[0].count;
  }
  ck_assert_int_lt(most, PHASE_CHANGES);
  phases_note(&phases, 0, end, PHASE_STICKING);
  double time[NUM_PHASES];
  phases_times(&phases, 0, end + 1, time);
  /* long phases are unchanged, and while it rattles the prevailing phase is shown */
  ck_assert_double_gt(phases.shortest, 0);
  ck_assert_double_le(fabs(time[PHASE_STICKING] - 3), 2 * phases.shortest);
  ck_assert_double_gt(time[PHASE_OPEN], time[PHASE_SLIDING]);
  ck_assert_double_eq_tol(time[PHASE_STICKING] + time[PHASE_OPEN] + time[PHASE_SLIDING], end + 1,
                          1e-12 * end);
  ck_assert_double_eq(phases.bar[0].change[0].t, 0);
  phases_free(&phases);
}
END_TEST

START_TEST(a_short_phase_between_long_ones_is_kept) {
  Phases phases = of_one();
  for (int i = 0; i < PHASE_CHANGES / 4; i++) {
    phases_note(&phases, 0, i, PHASE_OPEN);
    phases_note(&phases, 0, i + 0.999, PHASE_SLIDING);
  }
  ck_assert_int_eq(phases.bar[0].count, PHASE_CHANGES / 2);
  phases_free(&phases);
}
END_TEST

START_TEST(without_memory_there_are_no_phases) {
  int failed = 1;
  for (long nth = 1; failed; nth++) {
    Phases phases;
    alloc_watch_failing(nth);
    const int flag = phases_create(&phases, 3);
    failed         = alloc_has_failed();
    ck_assert_int_eq(flag, failed ? -1 : 0);
    phases_free(&phases);
    alloc_unwatch();
    ck_assert_int_eq(alloc_live(), 0);
  }
}
END_TEST

TEST_SUITE(phases) {
  Suite *suite = suite_create("phases");
  TCase *tc    = tcase_create("phases");
  tcase_add_test(tc, an_interval_lasts_until_the_phase_changes);
  tcase_add_test(tc, an_interval_of_no_length_is_none);
  tcase_add_test(tc, a_contact_that_rattles_takes_bounded_memory);
  tcase_add_test(tc, a_short_phase_between_long_ones_is_kept);
  tcase_add_test(tc, without_memory_there_are_no_phases);
  suite_add_tcase(suite, tc);
  return suite;
}
