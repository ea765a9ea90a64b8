/* Wall times of functions to be compared, which run alternately, so that disturbances affect all of
 * them. */
#ifndef CPODES_BENCH_TIMING_H
#define CPODES_BENCH_TIMING_H

#include <stddef.h>

typedef struct {
  void (*prepare)(void *data); /* before each run, not timed; may be NULL */
  void (*run)(void *data);
  void *data;
  double seconds; /* result: of one run, the least of the rounds' means */
  long int batch; /* result: runs in each round */
} Timed;

/* rounds: > 0. In each, every function runs for some milliseconds, one after another: other
 * processes make times longer, never shorter, and the caches are those of a program that does
 * nothing else. */
void time_in_turns(Timed *timed, size_t count, int rounds);

double seconds_now(void);
/* values [n > 0] are sorted in place */
double median(double *values, int n);

/* Bytes that the program holds from malloc and its relatives */
size_t heap_in_use(void);

#endif
