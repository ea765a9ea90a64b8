/* The motion of a planar chain in minimal coordinates: no constraint, no drift, no projection. */
#ifndef CPODES_EXAMPLES_CHAIN_REFERENCE_H
#define CPODES_EXAMPLES_CHAIN_REFERENCE_H

#include <sundials/sundials_nvector.h>

typedef struct {
  sunindextype n; /* number of masses */
  sunrealtype g;  /* gravity [m/s^2] */
  sunrealtype k,
      d; /* of the spring-dampers of bending_chain.h [N/m, N s/m]; 0: the chain of chain.h */
} ChainOf;

/* The motion from rest, stretched along +x, at the time t >= 0, by extrapolation in nsteps equal steps. The
   method is explicit, so that fast motions limit the step size. y [4 n]: out, positions and velocities. error:
   out, the largest difference from the result with twice the step. Returns 0, or -1 if out of memory or if it
   diverged. */
int chain_reference(const ChainOf *chain, sunrealtype t, int nsteps, N_Vector y, sunrealtype *error);

#endif
