#include "plugin.h"
#include "spatial_four_bar.h"
#include "types.h"

#include <stdlib.h>

enum { ANGLE, GRAVITY };

static const CPPluginParameter parameters[] = {
    [ANGLE]   = {"angle", "rad", "of the crank above +x at first", 1, -3.1, 3.1},
    [GRAVITY] = {"g", "m/s^2", "gravity along -y", 9.81, 1e-3, 1e3},
};

static const CPPluginCoordinate coordinates[] = {
    {"x1", "m", "centre of the crank"},
    {"y1", "m", "the same, upwards"},
    {"z1", "m", "the same, along the axes"},
    {"e1_0", "1", "quaternion of the crank"},
    {"e1_1", "1", "the same"},
    {"e1_2", "1", "the same"},
    {"e1_3", "1", "the same"},
    {"x2", "m", "centre of the coupler"},
    {"y2", "m", "the same, upwards"},
    {"z2", "m", "the same, along the axes"},
    {"e2_0", "1", "quaternion of the coupler"},
    {"e2_1", "1", "the same"},
    {"e2_2", "1", "the same"},
    {"e2_3", "1", "the same"},
    {"x3", "m", "centre of the rocker"},
    {"y3", "m", "the same, upwards"},
    {"z3", "m", "the same, along the axes"},
    {"e3_0", "1", "quaternion of the rocker"},
    {"e3_1", "1", "the same"},
    {"e3_2", "1", "the same"},
    {"e3_3", "1", "the same"},
};

static const CPPluginCoordinate velocities[] = {
    {"x1'", "m/s", "velocity of the centre of the crank"},
    {"y1'", "m/s", "the same"},
    {"z1'", "m/s", "the same"},
    {"w1_x", "rad/s", "angular velocity of the crank about its axis x"},
    {"w1_y", "rad/s", "the same, axis y"},
    {"w1_z", "rad/s", "the same, axis z"},
    {"x2'", "m/s", "velocity of the centre of the coupler"},
    {"y2'", "m/s", "the same"},
    {"z2'", "m/s", "the same"},
    {"w2_x", "rad/s", "angular velocity of the coupler about its axis x"},
    {"w2_y", "rad/s", "the same, axis y"},
    {"w2_z", "rad/s", "the same, axis z"},
    {"x3'", "m/s", "velocity of the centre of the rocker"},
    {"y3'", "m/s", "the same"},
    {"z3'", "m/s", "the same"},
    {"w3_x", "rad/s", "angular velocity of the rocker about its axis x"},
    {"w3_y", "rad/s", "the same, axis y"},
    {"w3_z", "rad/s", "the same, axis z"},
};

/* Checks that the crank can turn fully (Grashof): its length plus the longest one is less than the sum of the two
   others */
static const sunrealtype length[3] = {[CRANK] = 0.5, [COUPLER] = 1.1, [ROCKER] = 1}, base = 1;

static sunrealtype energy(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i, (void)t;
  return rigid_body_energy(model->data, y);
}

/* All rods fall by the length of the crank */
static sunrealtype fall(const CPPlugin *model) {
  return model->parameter[GRAVITY] * length[CRANK] *
         (length[CRANK] + length[COUPLER] + length[ROCKER]);
}

static const CPPluginQuantity quantities[] = {
    {.name = "energy", .unit = "J", .value = energy, .conserved = 1, .scale = 12.75, .scale_of = fall},
};

enum { CRANK_GROUND, ROCKER_GROUND, B_0, B_1, NPOINTS };

/* Where a rod ends: centre and half its direction */
static void end_of(const SpatialFourBar *s, int rod, N_Vector y, sunrealtype *x) {
  const sunrealtype *r = N_VGetArrayPointer(y) + 7 * rod;
  sunrealtype along[3] = {s->length[rod] / 2, 0, 0};
  rigid_body_direction(&s->bodies, rod, y, along);
  for (int k = 0; k < 3; k++) x[k] = r[k] + along[k];
}

static void points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  (void)t;
  for (int i = 0; i < 6; i++) xyz[i] = 0;
  xyz[3 * ROCKER_GROUND] = base;
  end_of(model->own, CRANK, y, xyz + 3 * B_0);
  end_of(model->own, ROCKER, y, xyz + 3 * B_1);
}

static int create(CPPlugin *model) {
  static const CPPluginPointKind kind[] = {CP_POINT_GROUND, CP_POINT_GROUND, CP_POINT_JOINT,
                                           CP_POINT_JOINT};
  static const int segment[][2]         = {{CRANK_GROUND, B_0}, {B_0, B_1}, {ROCKER_GROUND, B_1}};
  static const sunrealtype at_rest[3];
  sunrealtype angle[3] = {[CRANK] = model->parameter[ANGLE]};
  SpatialFourBar *s    = malloc(sizeof *s);
  model->own           = s;
  if (!s || plugin_start(model, SPATIAL_FOUR_BAR_N) ||
      CPPluginDraw(model, NPOINTS, kind, 3, segment, 0, NULL))
    return -1;
  spatial_four_bar_create(s, length, base, model->parameter[GRAVITY], CP_FRAME_BODY);
  if (spatial_four_bar_close(s, angle)) return -1; /* does not happen with these lengths */
  spatial_four_bar_place(s, angle, at_rest, model->y0);
  if (rigid_body_model(&s->bodies, 0, model->ctx, &model->mech)) return -1;
  model->data = &s->bodies;
  return 0;
}

static void destroy(CPPlugin *model) { free(model->own); }

const CPPluginType spatial_four_bar_type = {
    .name         = "spatial_four_bar",
    .title        = "Four-bar linkage in space, with redundant constraints",
    .source       = "Newton's and Euler's laws (examples/models/rigid_body.h)",
    .t_end        = 5,
    .parameters   = parameters,
    .nparameters  = sizeof parameters / sizeof parameters[0],
    .quantities   = quantities,
    .nquantities  = sizeof quantities / sizeof quantities[0],
    .coordinates  = coordinates,
    .ncoordinates = sizeof coordinates / sizeof coordinates[0],
    .velocities   = velocities,
    .nvelocities  = sizeof velocities / sizeof velocities[0],
    .create       = create,
    .destroy      = destroy,
    .points       = points,
};
