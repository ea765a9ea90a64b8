/* What the test programs share: the run of a suite, and a reporter. */
#ifndef CPODES_SIMBODY_TEST_SUITE_H
#define CPODES_SIMBODY_TEST_SUITE_H

#include <Simbody.h>
#include <check.h>
#include <vector>

/* Runs the suite and frees it. Returns the exit status of the program. */
inline int runSuite(Suite *s) {
  SRunner *runner = srunner_create(s);
  srunner_run_all(runner, CK_NORMAL);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}

/* Records the times at which it is called, at fixed intervals. */
struct Clock : SimTK::PeriodicEventReporter {
  std::vector<double> &times;
  Clock(double interval, std::vector<double> &seen)
      : PeriodicEventReporter(interval), times(seen) {}
  void handleEvent(const SimTK::State &s) const override { times.push_back(s.getTime()); }
};

#endif
