/* Shared by the models of both planar chains: their drawing, and the reference at the newest t, which takes
 * long to compute. */
#ifndef CPODES_EXAMPLES_CHAIN_TYPE_H
#define CPODES_EXAMPLES_CHAIN_TYPE_H

#include "chain_reference.h"
#include "model.h"

/* Makes the drawing of the ground and n masses. Returns 0, or -1 if out of memory */
int chain_draw(CPPlugin *model, sunindextype n);
/* Its points, for CPPluginType.points */
void chain_points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz);

/* Allocates model->own for one state. Returns 0, or -1 if out of memory */
int chain_cache(CPPlugin *model);
void chain_cache_free(CPPlugin *model);

/* y: out, the reference at t, computed with nsteps unless it is the newest one. Returns 1 if its error exceeds
   model->reference_error */
int chain_known(const CPPlugin *model, const ChainOf *chain, int nsteps, sunrealtype t, N_Vector y);

#endif
