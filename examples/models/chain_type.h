/* Shared by the models of both planar chains: their drawing, and the reference at the newest t, which takes
 * long to compute. */
#ifndef CPODES_EXAMPLES_CHAIN_TYPE_H
#define CPODES_EXAMPLES_CHAIN_TYPE_H

#include "chain_reference.h"
#include "model.h"

/* Makes the drawing of the ground and n masses. Returns 0, or -1 without memory */
int chain_draw(CPModel *model, sunindextype n);
/* Its points, for CPModelType.points */
void chain_points(const CPModel *model, sunrealtype t, N_Vector y, sunrealtype *xyz);

/* Allocates model->own for one state. Returns 0, or -1 without memory */
int chain_cache(CPModel *model);
void chain_cache_free(CPModel *model);

/* y: out, the reference at t, computed with nsteps unless it is the newest one. Returns 1 if its error exceeds
   model->reference_error */
int chain_known(const CPModel *model, const ChainOf *chain, int nsteps, sunrealtype t, N_Vector y);

#endif
