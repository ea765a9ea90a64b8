/* Pseudo-random numbers, the same sequence for the same state: a run must be repeatable. */
#ifndef CPODES_RANDOM_H
#define CPODES_RANDOM_H

/* Uniform in [-1, 1). */
static inline double cpUniform(unsigned *state) {
  *state = *state * 1664525u + 1013904223u; /* Knuth, Lewis: Numerical Recipes, section 7.1 */
  return *state / 2147483648.0 - 1.0;
}

/* The same with sizes in [0.5, 1]: a direction without zeros. */
static inline double cpUniformAwayFromZero(unsigned *state) {
  const double u = cpUniform(state);
  return u < 0.0 ? 0.5 * u - 0.5 : 0.5 * u + 0.5;
}

#endif
