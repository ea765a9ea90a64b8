/* Shared by the models of both planar chains: their drawing, and the reference at the newest t, which takes
 * long to compute. */
#ifndef CPODES_EXAMPLES_CHAIN_TYPE_H
#define CPODES_EXAMPLES_CHAIN_TYPE_H

#include "chain_reference.h"
#include "model.h"

/* Ground and n masses; 0, or -1 without memory. As CPModelType's: their points */
int chain_draw(CPModel *model, sunindextype n);
void chain_points(const CPModel *model, sunrealtype t, N_Vector y, sunrealtype *xyz);

/* model->own: room for one state; 0, or -1 without memory */
int chain_cache(CPModel *model);
void chain_cache_free(CPModel *model);

/* y: out, the reference at t, by nsteps if it is not the newest one; 1 if it is not good to
   model->reference_error */
int chain_known(const CPModel *model, const ChainOf *chain, int nsteps, sunrealtype t, N_Vector y);

#endif
