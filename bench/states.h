/* States in general position, of any size, to project from. */
#ifndef CPODES_BENCH_STATES_H
#define CPODES_BENCH_STATES_H

#include <sundials/sundials_nvector.h>

/* The chain of examples/models/chain.h wound up, so that its coordinates do not grow with its length: rod i
   (from 1) points to the angle 0.9 i and turns with the rate cos 1.7 i. r, v [2]: out, position and velocity
   of mass i, counted from 0 */
void coil_mass(sunindextype i, sunrealtype r[2], sunrealtype v[2]);
/* y [4 n]: out, for NVECTOR_SERIAL */
void coil_state(sunindextype n, N_Vector y);

/* ewt: out, 1 / (tol |y_i| + tol) */
void error_weights(N_Vector y, sunrealtype tol, N_Vector ewt);

/* Pseudo-random numbers, evenly in [-1, 1), the same for the same seed; *seed: in, out */
sunrealtype random_number(unsigned *seed);
/* y: in, out; each of its n (local) components by up to size / ewt_i off */
void disturb(sunindextype n, N_Vector y, N_Vector ewt, sunrealtype size);

#endif
