#include "timing.h"
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

/* The minimum time of a round for each function, unless one run takes longer [s] */
static const double round_seconds = 2.0e-3;

double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1.0e-9 * (double)now.tv_nsec;
}

/* Mean time of timed->batch runs */
static double time_batch(const Timed *timed) {
  double sum = 0.0;
  for (long int i = 0; i < timed->batch; i++) {
    if (timed->prepare) timed->prepare(timed->data);
    const double start = seconds_now();
    timed->run(timed->data);
    sum += seconds_now() - start;
  }
  return sum / (double)timed->batch;
}

void time_in_turns(Timed *timed, size_t count, int rounds) {
  for (size_t i = 0; i < count; i++) {
    timed[i].batch     = 1;
    const double first = fmin(time_batch(&timed[i]), time_batch(&timed[i]));
    timed[i].batch     = first < round_seconds ? (long int)ceil(round_seconds / first) : 1;
    timed[i].seconds   = INFINITY;
  }
  for (int k = 0; k < rounds; k++)
    for (size_t i = 0; i < count; i++)
      timed[i].seconds = fmin(timed[i].seconds, time_batch(&timed[i]));
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double median(double *values, int n) {
  qsort(values, (size_t)n, sizeof *values, ascending);
  return n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

size_t heap_in_use(void) {
  const struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}
