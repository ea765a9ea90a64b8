#include "bricard.h"
#include "plugin.h"
#include "types.h"

#include <math.h>
#include <stdlib.h>

enum { GRAVITY, GIVEN };

static const CPPluginParameter parameters[] = {
    [GRAVITY] = {"g", "m/s^2", "gravity along -y", 9.81, 1e-3, 1e2},
    [GIVEN]   = {"b", "", "1: accelerations of the joints by formulas; 0: by differences", 1, 0, 1},
};

static const CPPluginCoordinate coordinates[] = {
    {"x1", "m", "centre of rod 1"},
    {"y1", "m", "the same, upwards"},
    {"z1", "m", "the same"},
    {"e1_0", "1", "quaternion of rod 1"},
    {"e1_1", "1", "the same"},
    {"e1_2", "1", "the same"},
    {"e1_3", "1", "the same"},
    {"x2", "m", "centre of rod 2"},
    {"y2", "m", "the same, upwards"},
    {"z2", "m", "the same"},
    {"e2_0", "1", "quaternion of rod 2"},
    {"e2_1", "1", "the same"},
    {"e2_2", "1", "the same"},
    {"e2_3", "1", "the same"},
    {"x3", "m", "centre of rod 3"},
    {"y3", "m", "the same, upwards"},
    {"z3", "m", "the same"},
    {"e3_0", "1", "quaternion of rod 3"},
    {"e3_1", "1", "the same"},
    {"e3_2", "1", "the same"},
    {"e3_3", "1", "the same"},
    {"x4", "m", "centre of rod 4"},
    {"y4", "m", "the same, upwards"},
    {"z4", "m", "the same"},
    {"e4_0", "1", "quaternion of rod 4"},
    {"e4_1", "1", "the same"},
    {"e4_2", "1", "the same"},
    {"e4_3", "1", "the same"},
    {"x5", "m", "centre of rod 5"},
    {"y5", "m", "the same, upwards"},
    {"z5", "m", "the same"},
    {"e5_0", "1", "quaternion of rod 5"},
    {"e5_1", "1", "the same"},
    {"e5_2", "1", "the same"},
    {"e5_3", "1", "the same"},
};

static const CPPluginCoordinate velocities[] = {
    {"x1'", "m/s", "velocity of the centre of rod 1"},
    {"y1'", "m/s", "the same"},
    {"z1'", "m/s", "the same"},
    {"w1_x", "rad/s", "angular velocity of rod 1 about its axis x"},
    {"w1_y", "rad/s", "the same, axis y"},
    {"w1_z", "rad/s", "the same, axis z"},
    {"x2'", "m/s", "velocity of the centre of rod 2"},
    {"y2'", "m/s", "the same"},
    {"z2'", "m/s", "the same"},
    {"w2_x", "rad/s", "angular velocity of rod 2 about its axis x"},
    {"w2_y", "rad/s", "the same, axis y"},
    {"w2_z", "rad/s", "the same, axis z"},
    {"x3'", "m/s", "velocity of the centre of rod 3"},
    {"y3'", "m/s", "the same"},
    {"z3'", "m/s", "the same"},
    {"w3_x", "rad/s", "angular velocity of rod 3 about its axis x"},
    {"w3_y", "rad/s", "the same, axis y"},
    {"w3_z", "rad/s", "the same, axis z"},
    {"x4'", "m/s", "velocity of the centre of rod 4"},
    {"y4'", "m/s", "the same"},
    {"z4'", "m/s", "the same"},
    {"w4_x", "rad/s", "angular velocity of rod 4 about its axis x"},
    {"w4_y", "rad/s", "the same, axis y"},
    {"w4_z", "rad/s", "the same, axis z"},
    {"x5'", "m/s", "velocity of the centre of rod 5"},
    {"y5'", "m/s", "the same"},
    {"z5'", "m/s", "the same"},
    {"w5_x", "rad/s", "angular velocity of rod 5 about its axis x"},
    {"w5_y", "rad/s", "the same, axis y"},
    {"w5_z", "rad/s", "the same, axis z"},
};

static sunrealtype energy(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i, (void)t;
  return rigid_body_energy(model->data, y);
}

/* All rods fall by half their length, at most */
static sunrealtype fall(const CPPlugin *model) {
  return model->parameter[GRAVITY] * BRICARD_RODS / 2;
}

static const CPPluginQuantity quantities[] = {
    {.name = "energy", .unit = "J", .value = energy, .conserved = 1, .scale = 24.525, .scale_of = fall},
};

static int reference(const CPPlugin *model, sunrealtype t, N_Vector y) {
  return bricard_motion(model->data, t, y) ? 1 : 0;
}

enum { NPOINTS = BRICARD_RODS + 1 };

/* The joints: the beginning of rod i, and the end of the last one */
static void points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  (void)t;
  const SpatialLoop *loop = model->data;
  const sunrealtype *q    = N_VGetArrayPointer(y);
  for (int i = 0; i < NPOINTS; i++) {
    const int rod          = i < BRICARD_RODS ? i : BRICARD_RODS - 1;
    const sunrealtype *end = i < BRICARD_RODS ? loop->joint[i].point_b : loop->joint[i].point_a;
    sunrealtype arm[3]     = {end[0], end[1], end[2]};
    rigid_body_direction(&loop->bodies, rod, y, arm);
    for (int k = 0; k < 3; k++) xyz[3 * i + k] = q[7 * rod + k] + arm[k];
  }
}

static int create(CPPlugin *model) {
  static const CPPluginPointKind kind[NPOINTS] = {CP_POINT_JOINT, CP_POINT_JOINT, CP_POINT_JOINT,
                                                  CP_POINT_JOINT, CP_POINT_JOINT, CP_POINT_JOINT};
  static const int segment[][2]                = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}};
  SpatialLoop *loop                            = malloc(sizeof *loop);
  model->data                                  = loop;
  if (!loop || plugin_start(model, BRICARD_N) ||
      CPPluginDraw(model, NPOINTS, kind, BRICARD_RODS, segment, 0, NULL))
    return -1;
  bricard_create(loop, model->parameter[GRAVITY]);
  if (bricard_motion(loop, 0, model->y0)) return -1;
  if (rigid_body_model(&loop->bodies, 0, model->ctx, &model->mech)) return -1;
  if (model->parameter[GIVEN] < SUN_RCONST(0.5)) model->mech.b = NULL;
  model->known           = 1;
  model->reference_error = 3e-13 * (1 + sqrt(model->parameter[GRAVITY]));
  return 0;
}

const CPPluginType bricard_type = {
    .name   = "bricard",
    .title  = "Bricard's mechanism, one constraint redundant everywhere",
    .source = "IFToMM library of computational benchmark problems, A04; one angle by extrapolation",
    .t_end  = 10,
    .parameters   = parameters,
    .nparameters  = sizeof parameters / sizeof parameters[0],
    .whole        = "b",
    .quantities   = quantities,
    .nquantities  = sizeof quantities / sizeof quantities[0],
    .coordinates  = coordinates,
    .ncoordinates = sizeof coordinates / sizeof coordinates[0],
    .velocities   = velocities,
    .nvelocities  = sizeof velocities / sizeof velocities[0],
    .create       = create,
    .reference    = reference,
    .points       = points,
};
