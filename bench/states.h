/* States in general position, of any size, as starts of projections. */
#ifndef CPODES_BENCH_STATES_H
#define CPODES_BENCH_STATES_H

#include <sundials/sundials_nvector.h>

/* The chain of examples/models/chain.h in a coil, so that its coordinates do not grow with its
 * length: rod i (from 1) points to the angle 0.9 i and turns with the rate cos 1.7 i. r, v [2]:
 * position and velocity of mass i, counted from 0 */
void coil_mass(sunindextype i, sunrealtype r[2], sunrealtype v[2]);
/* y [4 n]: the state, for NVECTOR_SERIAL */
void coil_state(sunindextype n, N_Vector y);

/* ewt = 1 / (tol |y_i| + tol) */
void error_weights(N_Vector y, sunrealtype tol, N_Vector ewt);

/* Pseudo-random numbers, uniform in [-1, 1), the same for the same seed, which is updated */
sunrealtype random_number(unsigned *seed);
/* Changes each of the n (local) components of y by up to size / ewt_i. */
void disturb(sunindextype n, N_Vector y, N_Vector ewt, sunrealtype size);

#endif
