/* Clocks in seconds. */
#ifndef CPODES_RUNNER_CLOCK_H
#define CPODES_RUNNER_CLOCK_H

#include <time.h>

static inline double clock_seconds(clockid_t clock) {
  struct timespec now = {0};
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
