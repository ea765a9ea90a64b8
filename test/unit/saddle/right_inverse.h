/* The saddle point with W = I as the right inverse of A and its transpose,
 *   x = A' (A A')^+ b,   mu = (A A')^+ A f;
 * rows of A without a nonzero entry are off. */
#ifndef CPODES_TEST_RIGHT_INVERSE_H
#define CPODES_TEST_RIGHT_INVERSE_H

#include <cpodes/saddle/saddle.h>

enum { RI_ROWS = 4096 };

/* A [m x n] by columns: start, row, value of a matrix, whose sizes are not used. */
static inline int ri_create(CPSaddle *saddle, CPLinSol type, int n, int m, const CPMat *A) {
  const CPMat sized = {.rows = m, .cols = n, .start = A->start, .row = A->row, .value = A->value};
  return cpSaddleCreate(saddle, (CPSaddleOptions){.type = type}, NULL, &sized);
}

static inline int ri_factor(CPSaddle s, const CPMat *A, double ranktol) {
  static char off[RI_ROWS];
  const CPMat sized = {
      .rows = s->m, .cols = s->n, .start = A->start, .row = A->row, .value = A->value};
  for (int i = 0; i < s->m; i++) off[i] = 1;
  for (size_t k = 0; k < A->start[s->n]; k++)
    if (A->value[k] != 0.0) off[A->row[k]] = 0;
  cpSaddleUseRows(s, off);
  return cpSaddleFactor(s, (CPWeight){0}, &sized, ranktol);
}

static inline int ri_solve(CPSaddle s, const double *b, double *x) {
  return cpSaddleSolve(s, NULL, b, x, NULL);
}

static inline int ri_solve_t(CPSaddle s, const double *f, double *mu) {
  return cpSaddleSolve(s, f, NULL, NULL, mu);
}

#endif
