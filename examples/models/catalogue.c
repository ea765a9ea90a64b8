#include "model.h"
#include "names.h"
#include "types.h"

#include <string.h>

/* clang-format off */
static const CPPluginType *const catalogue[] = {
    &pendulum_type,
    &slider_crank_type,
    &andrews_type,
    &car_axis_type,
    &flexible_crank_type,
    &four_bar_type,
    &bushing_crank_type,
    &spatial_four_bar_type,
    &knife_edge_type,
    &chain_type,
    &bending_chain_type,
    &newton_cradle_type,
    &spatial_chain_type,
    &spatial_bending_chain_type,
    &bricard_type,
    &heavy_top_type,
    &flyball_governor_type,
    &bouncing_ball_type,
    &sliding_block_type,
    &woodpecker_type,
    &rolling_ball_type,
    &impacting_stick_type,
    &rocking_block_type,
    &painleve_rod_type,
    &slider_crank_clearance_type,
};
/* clang-format on */

enum { NUM_TYPES = sizeof catalogue / sizeof catalogue[0] };

const CPPluginType *model_type(int i) { return i >= 0 && i < NUM_TYPES ? catalogue[i] : NULL; }

const CPPluginType *model_find(const char *name) {
  for (int i = 0; i < NUM_TYPES; i++)
    if (!strcmp(catalogue[i]->name, name)) return catalogue[i];
  return NULL;
}

const char *model_nearest(const char *name) {
  const char *names[NUM_TYPES];
  for (int i = 0; i < NUM_TYPES; i++) names[i] = catalogue[i]->name;
  return nearest_name(name, names, NUM_TYPES);
}
