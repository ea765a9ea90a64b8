/* Stick that falls on a floor, turning, and strikes it with both of its ends. Without friction and with e = 1 its energy is
 * conserved; with friction it never grows. Equations: floor_rod.h. */
#include "floor_rod.h"
#include "types.h"

enum { MASS, LENGTH, GRAVITY, TILT, FRICTION, RESTITUTION };

static const CPPluginParameter parameters[] = {
    [MASS]        = {"m", "kg", "mass", 1, 1e-3, 1e3},
    [LENGTH]      = {"l", "m", "length", 1, 1e-3, 1e3},
    [GRAVITY]     = {"g", "m/s^2", "gravity", 10, 1e-3, 1e3},
    [TILT]        = {"theta0", "rad", "angle at the start", 0.78539816339744831, -1.5, 1.5},
    [FRICTION]    = {"mu", "1", "friction on the floor", 0.01, 0, 10},
    [RESTITUTION] = {"e", "1", "restitution of both ends", 1, 0, 1},
};

static const CPPluginCoordinate coordinates[] = {
    {"x", "m", "centre, along the floor"},
    {"y", "m", "centre, above the floor"},
    {"theta", "rad", "angle to the floor"},
};

static const CPPluginCoordinate multipliers[] = {
    {"N left", "N", "force of the floor on the left end"},
    {"N right", "N", "force of the floor on the right end"},
    {"F left", "N", "friction at the left end"},
    {"F right", "N", "friction at the right end"},
};

static sunrealtype fall(const CPPlugin *model) {
  const FloorBody *stick = model->data;
  return stick->m * stick->g * N_VGetArrayPointer(model->y0)[1];
}

static int conserves(const CPPlugin *model, int i) {
  (void)i;
  return model->parameter[FRICTION] == 0 && model->parameter[RESTITUTION] == 1;
}

static const CPPluginQuantity quantities[] = {
    {.name      = "energy",
     .unit      = "J",
     .value     = floor_body_model_energy,
     .conserved = 0,
     .scale     = 10,
     .scale_of  = fall},
};

static void points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  (void)t;
  floor_rod_points(model, y, model->parameter[LENGTH], xyz);
}

static int create(CPPlugin *model) {
  static const char *const names[] = {"left end", "right end"};
  const sunrealtype *p = model->parameter, l = p[LENGTH];
  if (floor_rod_create(model, p[MASS], l, p[GRAVITY], p[FRICTION], names)) return -1;
  for (int i = 0; i < 2; i++) ((FloorRod *)model->data)->end[i].law.restitution = p[RESTITUTION];
  const sunrealtype start[] = {0, l, p[TILT], -0.5, 0.1, 0.1};
  for (int i = 0; i < 6; i++) N_VGetArrayPointer(model->y0)[i] = start[i];
  return 0;
}

const CPPluginType impacting_stick_type = {
    .name           = "impacting_stick",
    .title          = "Stick that strikes the floor with both ends",
    .source         = "V. Acary et al., siconos-tutorials, examples/mechanics/ImpactingStick",
    .t_end          = 2,
    .method         = "dop853",
    .parameters     = parameters,
    .nparameters    = sizeof parameters / sizeof parameters[0],
    .quantities     = quantities,
    .nquantities    = sizeof quantities / sizeof quantities[0],
    .conserves      = conserves,
    .coordinates    = coordinates,
    .ncoordinates   = sizeof coordinates / sizeof coordinates[0],
    .multipliers    = multipliers,
    .nmultipliers   = sizeof multipliers / sizeof multipliers[0],
    .create         = create,
    .points         = points,
    .contact_frames = floor_body_frames,
};
