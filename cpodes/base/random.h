/* Pseudo-random numbers. The same state gives the same sequence, so that runs are repeatable. */
#ifndef CPODES_RANDOM_H
#define CPODES_RANDOM_H

/* Uniform in [-1, 1). */
static inline double cpUniform(unsigned *state) {
  *state = *state * 1664525u + 1013904223u; /* Knuth, Lewis: Numerical Recipes, section 7.1 */
  return *state / 2147483648.0 - 1.0;
}

/* Uniform in [-1, -0.5) and [0.5, 1): for directions without components near zero. CP_SECOND_MOMENT
 * is the mean of the squares. */
#define CP_SECOND_MOMENT (7.0 / 12.0)
/* This number of directions gives the size of a row from products alone to a quarter, whatever the number of rows. */
enum { CP_SIZE_DIRECTIONS = 8 };
static inline double cpUniformAwayFromZero(unsigned *state) {
  const double u = cpUniform(state);
  return u < 0.0 ? 0.5 * u - 0.5 : 0.5 * u + 0.5;
}

#endif
