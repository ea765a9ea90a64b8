/* The tables of the mechanisms, for catalogue.c. Each is defined at the end of its <name>_type.c. */
#ifndef CPODES_EXAMPLES_TYPES_H
#define CPODES_EXAMPLES_TYPES_H

#include "model.h"

extern const CPPluginType pendulum_type;
extern const CPPluginType slider_crank_type;
extern const CPPluginType andrews_type;
extern const CPPluginType car_axis_type;
extern const CPPluginType flexible_crank_type;
extern const CPPluginType four_bar_type;
extern const CPPluginType bushing_crank_type;
extern const CPPluginType spatial_four_bar_type;
extern const CPPluginType knife_edge_type;
extern const CPPluginType chain_type;
extern const CPPluginType bending_chain_type;
extern const CPPluginType newton_cradle_type;
extern const CPPluginType spatial_chain_type;
extern const CPPluginType spatial_bending_chain_type;
extern const CPPluginType bricard_type;
extern const CPPluginType heavy_top_type;
extern const CPPluginType flyball_governor_type;
extern const CPPluginType bouncing_ball_type;
extern const CPPluginType sliding_block_type;
extern const CPPluginType woodpecker_type;
extern const CPPluginType rolling_ball_type;
extern const CPPluginType impacting_stick_type;
extern const CPPluginType rocking_block_type;
extern const CPPluginType painleve_rod_type;
extern const CPPluginType slider_crank_clearance_type;

#endif
