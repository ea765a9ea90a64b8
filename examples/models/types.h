/* The tables of the mechanisms, for catalogue.c: each is the last thing in its <name>_type.c. */
#ifndef CPODES_EXAMPLES_TYPES_H
#define CPODES_EXAMPLES_TYPES_H

#include "model.h"

extern const ModelType pendulum_type;
extern const ModelType slider_crank_type;
extern const ModelType andrews_type;
extern const ModelType car_axis_type;
extern const ModelType flexible_crank_type;
extern const ModelType four_bar_type;
extern const ModelType bushing_crank_type;
extern const ModelType spatial_four_bar_type;
extern const ModelType knife_edge_type;
extern const ModelType chain_type;
extern const ModelType bending_chain_type;
extern const ModelType newton_cradle_type;
extern const ModelType spatial_chain_type;
extern const ModelType spatial_bending_chain_type;

#endif
