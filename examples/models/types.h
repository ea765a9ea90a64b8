/* The tables of the mechanisms, for catalogue.c. Each is defined at the end of its <name>_type.c. */
#ifndef CPODES_EXAMPLES_TYPES_H
#define CPODES_EXAMPLES_TYPES_H

#include "model.h"

extern const CPModelType pendulum_type;
extern const CPModelType slider_crank_type;
extern const CPModelType andrews_type;
extern const CPModelType car_axis_type;
extern const CPModelType flexible_crank_type;
extern const CPModelType four_bar_type;
extern const CPModelType bushing_crank_type;
extern const CPModelType spatial_four_bar_type;
extern const CPModelType knife_edge_type;
extern const CPModelType chain_type;
extern const CPModelType bending_chain_type;
extern const CPModelType newton_cradle_type;
extern const CPModelType spatial_chain_type;
extern const CPModelType spatial_bending_chain_type;
extern const CPModelType bricard_type;
extern const CPModelType heavy_top_type;
extern const CPModelType flyball_governor_type;
extern const CPModelType bouncing_ball_type;
extern const CPModelType sliding_block_type;
extern const CPModelType woodpecker_type;
extern const CPModelType rolling_ball_type;
extern const CPModelType impacting_stick_type;
extern const CPModelType rocking_block_type;
extern const CPModelType painleve_rod_type;
extern const CPModelType slider_crank_clearance_type;

#endif
