/* Painleve's rod: one end slides to the left on a floor, and the rod leans to the right. Equations: floor_rod.h.
 *
 * The normal acceleration per normal force at the end that slides is (1 + 3 cos^2 - 3 mu sin cos)(theta) / m. Its least value over
 * theta is (5 - 3 sqrt(1 + mu^2)) / 2 / m, which is zero for mu = 4/3, at tan(theta) = 2. With more friction a rod may slide in a
 * position where no force of the floor supports it, and the run ends (CP_CONTACT_PAINLEVE). */
#include "floor_rod.h"
#include "types.h"

#include <math.h>

enum { MASS, LENGTH, GRAVITY, TILT, FRICTION, SPEED };

static const CPPluginParameter parameters[] = {
    [MASS]    = {"m", "kg", "mass", 1, 1e-3, 1e3},
    [LENGTH]  = {"l", "m", "length", 1, 1e-3, 1e3},
    [GRAVITY] = {"g", "m/s^2", "gravity", 9.81, 1e-3, 1e3},
    [TILT] = {"theta0", "rad", "angle to the floor at the start; atan 2 is the most critical one",
              1.1071487177940904, 0.01, 1.57},
    [FRICTION] = {"mu", "1", "friction; above 4/3 the rod may jam", 1.2, 0, 10},
    [SPEED]    = {"v", "m/s", "speed of the start, to the left", 1, 1e-3, 1e3},
};

static const CPPluginCoordinate coordinates[] = {
    {"x", "m", "centre, along the floor"},
    {"y", "m", "centre, above the floor"},
    {"theta", "rad", "angle to the floor"},
};

static const CPPluginCoordinate multipliers[] = {
    {"N foot", "N", "force of the floor on the lower end"},
    {"N head", "N", "force of the floor on the upper end"},
    {"F foot", "N", "friction at the lower end"},
    {"F head", "N", "friction at the upper end"},
};

static sunrealtype fall(const CPPlugin *model) {
  const FloorBody *rod = model->data;
  const sunrealtype *q = N_VGetArrayPointer(model->y0), v = model->parameter[SPEED];
  return rod->m * (rod->g * q[1] + v * v / 2);
}

/* The value of CPContactPainleve for the foot, if it slides to the left, in units of 1/m */
static sunrealtype criterion(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i;
  const sunrealtype theta = N_VGetArrayPointer(y)[2], s = sin(theta), c = cos(theta);
  (void)t;
  return 1 + 3 * c * c - 3 * model->parameter[FRICTION] * s * c;
}

enum { ENERGY, CRITERION };

static const CPPluginQuantity quantities[] = {
    [ENERGY] = {.name      = "energy",
                .unit      = "J",
                .value     = floor_body_model_energy,
                .conserved = CP_QUANTITY_FALLS,
                .scale     = 4.8871653718545875,
                .scale_of  = fall},
    [CRITERION] = {.name = "criterion", .unit = "1", .value = criterion, .conserved = CP_QUANTITY_FREE},
};

static void points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  (void)t;
  floor_rod_points(model, y, 1.5 * model->parameter[LENGTH], xyz);
}

static int create(CPPlugin *model) {
  static const char *const names[] = {"foot", "head"};
  const sunrealtype *p = model->parameter, l = p[LENGTH];
  if (floor_rod_create(model, p[MASS], l, p[GRAVITY], p[FRICTION], names)) return -1;
  sunrealtype *y0 = N_VGetArrayPointer(model->y0);
  y0[1]           = l / 2 * sin(p[TILT]);
  y0[2]           = p[TILT];
  y0[3]           = -p[SPEED];
  return 0;
}

const CPPluginType painleve_rod_type = {
    .name   = "painleve_rod",
    .title  = "Painleve's rod, which slides on a floor",
    .source = "P. Painleve, Comptes rendus 121, 1895; F. Genot, B. Brogliato, European Journal of "
              "Mechanics A/Solids 18, 1999",
    .t_end  = 1,
    .method = "dop853",
    .parameters     = parameters,
    .nparameters    = sizeof parameters / sizeof parameters[0],
    .quantities     = quantities,
    .nquantities    = sizeof quantities / sizeof quantities[0],
    .coordinates    = coordinates,
    .ncoordinates   = sizeof coordinates / sizeof coordinates[0],
    .multipliers    = multipliers,
    .nmultipliers   = sizeof multipliers / sizeof multipliers[0],
    .create         = create,
    .points         = points,
    .contact_frames = floor_body_frames,
};
