/* Reference solutions that use neither a multistep method nor a projection. */
#ifndef CPODES_EXAMPLES_EXTRAPOLATION_H
#define CPODES_EXAMPLES_EXTRAPOLATION_H

#include <cvodes/cvodes.h>
#include <sundials/sundials_nvector.h>

/* y' = f(t, y) from t0 to t1 in nsteps equal steps of the Gragg-Bulirsch-Stoer method of order 16 (modified
   midpoint rule with 2, 4, ..., 16 substeps; Hairer, Norsett, Wanner, Solving ODEs I, section II.9).
   y: in, y(t0); out, y(t1). Returns 0, or what f returned, or -1 if out of memory. */
int extrapolate(CVRhsFn f, void *user_data, sunrealtype t0, sunrealtype t1, int nsteps, N_Vector y);

#endif
