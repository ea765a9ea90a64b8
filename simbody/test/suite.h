/* What the test programs share: the run of a suite, and reporters. */
#ifndef CPODES_SIMBODY_TEST_SUITE_H
#define CPODES_SIMBODY_TEST_SUITE_H

#include <Simbody.h>
#include <check.h>
#include <initializer_list>
#include <vector>

/* Runs the suite and frees it. Returns the exit status of the program. */
inline int runSuite(Suite *s) {
  SRunner *runner = srunner_create(s);
  srunner_run_all(runner, CK_NORMAL);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}

/* The same with a suite of these tests, which have no loops */
inline int runTests(const char *name, std::initializer_list<const TTest *> tests) {
  Suite *s  = suite_create(name);
  TCase *tc = tcase_create("tests");
  for (const TTest *test : tests) tcase_add_test(tc, test);
  suite_add_tcase(s, tc);
  return runSuite(s);
}

/* A trigger that depends only on time, and records the times at which it occurs. */
struct OfTime : SimTK::TriggeredEventReporter {
  double (*const value)(double t);
  std::vector<double> &times;
  OfTime(double (*f)(double), std::vector<double> &seen)
      : TriggeredEventReporter(SimTK::Stage::Time), value(f), times(seen) {}
  SimTK::Real getValue(const SimTK::State &s) const override { return value(s.getTime()); }
  void handleEvent(const SimTK::State &s) const override { times.push_back(s.getTime()); }
};

/* Records the times at which it is called, at fixed intervals. */
struct Clock : SimTK::PeriodicEventReporter {
  std::vector<double> &times;
  Clock(double interval, std::vector<double> &seen)
      : PeriodicEventReporter(interval), times(seen) {}
  void handleEvent(const SimTK::State &s) const override { times.push_back(s.getTime()); }
};

#endif
