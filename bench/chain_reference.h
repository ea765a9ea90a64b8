/* The motion of a planar chain in minimal coordinates: no constraint, no drift, no projection. */
#ifndef CPODES_BENCH_CHAIN_REFERENCE_H
#define CPODES_BENCH_CHAIN_REFERENCE_H

#include <sundials/sundials_nvector.h>

/* The chain of examples/models/chain.h, from rest stretched along +x, after the time t.
   n: number of masses; g: gravity [m/s^2]; y [4 n]: out, positions and velocities. Returns an estimate of its
   error, the largest difference to the result with twice the step. */
sunrealtype chain_reference(sunindextype n, sunrealtype g, sunrealtype t, N_Vector y);

#endif
