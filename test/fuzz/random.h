/* Repeatable random choices: one sequence of API calls is one seed. */
#ifndef CPODES_FUZZ_RANDOM_H
#define CPODES_FUZZ_RANDOM_H

#include <math.h>
#include <stdint.h>

typedef struct {
  uint64_t state;
} Random;

/* SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, OOPSLA 2014), which suits any seeds, also
 * consecutive ones. */
static inline uint64_t random_bits(Random *r) {
  uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
  z          = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z          = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* 0 ... n - 1 */
static inline int random_below(Random *r, int n) { return (int)(random_bits(r) % (uint64_t)n); }

/* Uniform in [low, high) */
static inline double random_between(Random *r, double low, double high) {
  return low + (high - low) * ((double)(random_bits(r) >> 11) / 9007199254740992.0);
}

/* Log-uniform in [low, high), 0 < low < high. */
static inline double random_magnitude(Random *r, double low, double high) {
  return exp(random_between(r, log(low), log(high)));
}

static inline int random_chance(Random *r, double probability) {
  return random_between(r, 0.0, 1.0) < probability;
}

#endif
