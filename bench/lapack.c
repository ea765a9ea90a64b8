/* Dense LU factors of order 6 ... 1100, real and complex, by the LAPACK that the loader finds.
 * Processor time of a factorisation and of a solution, the least of five rounds.
 *
 *   build/release/bench/lapack
 *   OPENBLAS_NUM_THREADS=1 LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu/openblas-pthread build/release/bench/lapack */
#include "cpodes/matrix/lapack.h"
#include "cpodes/base/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int orders[] = {6, 10, 20, 30, 50, 100, 200, 500, 1100};
enum { ORDERS = sizeof orders / sizeof orders[0], ROUNDS = 5, LARGEST = 1100 };
/* A round takes a few milliseconds. */
static const double operations = 1e7;

typedef struct {
  int n, parts; /* parts: 2 if complex */
  double *A, *LU, *x;
  int *pivot;
} System;

static int factor(System *s) {
  int info       = 0;
  const size_t n = (size_t)s->n;
  memcpy(s->LU, s->A, (size_t)s->parts * n * n * sizeof *s->A);
  if (s->parts == 1) F77(dgetrf)(&s->n, &s->n, s->LU, &s->n, s->pivot, &info);
  else F77(zgetrf)(&s->n, &s->n, s->LU, &s->n, s->pivot, &info);
  return info;
}

static int solve(System *s) {
  const int one = 1;
  int info      = 0;
  for (int i = 0; i < s->parts * s->n; i++) s->x[i] = 1.0;
  if (s->parts == 1) F77(dgetrs)("N", &s->n, &one, s->LU, &s->n, s->pivot, s->x, &s->n, &info);
  else F77(zgetrs)("N", &s->n, &one, s->LU, &s->n, s->pivot, s->x, &s->n, &info);
  return info;
}

/* Microseconds of one run, or -1 if it fails */
static double microseconds(System *s, int (*run)(System *s), double cost) {
  const int runs = (int)fmax(1.0, operations / cost);
  double least   = INFINITY;
  for (int round = 0; round < ROUNDS; round++) {
    const clock_t start = clock();
    for (int k = 0; k < runs; k++)
      if (run(s)) return -1.0;
    least = fmin(least, 1e6 * (double)(clock() - start) / CLOCKS_PER_SEC / runs);
  }
  return least;
}

int main(void) {
  const size_t most = 2 * (size_t)LARGEST * LARGEST;
  unsigned state    = 1;
  System s          = {.A = malloc(most * sizeof *s.A), .LU = malloc(most * sizeof *s.LU)};
  s.x               = malloc((size_t)2 * LARGEST * sizeof *s.x);
  s.pivot           = malloc(LARGEST * sizeof *s.pivot);
  int failed        = !s.A || !s.LU || !s.x || !s.pivot;
  for (size_t k = 0; !failed && k < most; k++) s.A[k] = cpUniform(&state);
  printf("order      real: LU   solution   complex: LU   solution   [us]\n");
  for (int i = 0; !failed && i < ORDERS; i++) {
    const double n = s.n = orders[i];
    printf("%5d", s.n);
    for (s.parts = 1; s.parts <= 2; s.parts++) {
      const double lu  = microseconds(&s, factor, s.parts * n * n * n),
                   one = microseconds(&s, solve, s.parts * n * n);
      failed |= lu < 0.0 || one < 0.0;
      printf("   %11.2f %10.2f", lu, one);
    }
    printf("\n");
  }
  free(s.A);
  free(s.LU);
  free(s.x);
  free(s.pivot);
  return failed;
}
