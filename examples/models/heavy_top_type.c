#include "heavy_top.h"
#include "plugin.h"
#include "types.h"

#include <math.h>
#include <stdlib.h>

enum { CASE, SPIN, THETA, PRECESSION, GRAVITY };

static const CPPluginParameter parameters[] = {
    [CASE]       = {"case", "", "1: fast spin, horizontal at first; 2: steady precession", 1, 1, 2},
    [SPIN]       = {"spin", "rad/s", "about the axis at first (case 1)", 150, -1e3, 1e3},
    [THETA]      = {"theta", "rad", "of the axis from the vertical (case 2)", 1.0471975511965976, 0,
                    3.1415926535897931},
    [PRECESSION] = {"w", "rad/s", "rate of precession (case 2)", 2, 0.5, 50},
    [GRAVITY]    = {"g", "m/s^2", "gravity along -z", 9.81, 0, 1e3},
};

static const CPPluginCoordinate coordinates[] = {
    {"x", "m", "centre of mass"}, {"y", "m", "the same"},  {"z", "m", "the same, upwards"},
    {"e0", "1", "quaternion"},    {"e1", "1", "the same"}, {"e2", "1", "the same"},
    {"e3", "1", "the same"},
};

static const CPPluginCoordinate velocities[] = {
    {"x'", "m/s", "velocity of the centre"},
    {"y'", "m/s", "the same"},
    {"z'", "m/s", "the same"},
    {"wx", "rad/s", "angular velocity of the top about its axis x"},
    {"wy", "rad/s", "the same, axis y"},
    {"wz", "rad/s", "the same, axis z"},
};

static sunrealtype energy(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i, (void)t;
  return rigid_body_energy(model->data, y);
}

static sunrealtype momentum(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i, (void)t;
  return heavy_top_momentum(model->data, y);
}

static sunrealtype axial_rate(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i;
  (void)model, (void)t;
  return N_VGetArrayPointer(y)[11];
}

/* Scales of the energies of spin and fall at the start. g or the spin may be 0, but not both scales */
static sunrealtype largest_rate(const CPPlugin *model) {
  const HeavyTop *top = model->data;
  return 1 + fabs(top->steady ? heavy_top_axial_spin(top) : top->spin);
}

static sunrealtype largest_energy(const CPPlugin *model) {
  const HeavyTop *top = model->data;
  const sunrealtype s = largest_rate(model);
  return top->body.J[1] * s * s / 2 + 2 * top->body.m * top->g * top->l;
}

static sunrealtype largest_momentum(const CPPlugin *model) {
  const HeavyTop *top = model->data;
  return top->body.J[1] * largest_rate(model) + top->body.m * top->l * top->l;
}

static const CPPluginQuantity quantities[] = {
    {"energy", "J", energy, 1, 5638.4, largest_energy},
    {"angular momentum about z", "kg m^2/s", momentum, 1, 85.78, largest_momentum},
    {"angular velocity about the axis", "rad/s", axial_rate, 1, 151, largest_rate},
};

static int reference(const CPPlugin *model, sunrealtype t, N_Vector y) {
  sunrealtype lambda[HEAVY_TOP_NP];
  return heavy_top_motion(model->data, t, y, lambda) ? 1 : 0;
}

static int reference_lambda(const CPPlugin *model, sunrealtype t, sunrealtype *lambda) {
  N_Vector y = N_VClone(model->y0);
  if (!y) return 1;
  const int flag = heavy_top_motion(model->data, t, y, lambda);
  N_VDestroy(y);
  return flag ? 1 : 0;
}

/* The rod from the origin to the centre of a thin disc, with two radii of it; m R^2 / 2 = J_2 */
enum { ORIGIN, CENTRE, RIM, NPOINTS = RIM + 2 };

static void points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  (void)t;
  const HeavyTop *top   = model->data;
  const sunrealtype *r  = N_VGetArrayPointer(y);
  const sunrealtype rim = sqrt(2 * top->body.J[1] / top->body.m);
  for (int k = 0; k < 3; k++) {
    xyz[k]              = 0;
    xyz[3 * CENTRE + k] = r[k];
  }
  for (int i = 0; i < 2; i++) {
    sunrealtype spoke[3] = {i ? 0 : rim, 0, i ? rim : 0};
    rigid_body_direction(&top->bodies, 0, y, spoke);
    for (int k = 0; k < 3; k++) xyz[3 * (RIM + i) + k] = r[k] + spoke[k];
  }
}

static int create(CPPlugin *model) {
  static const CPPluginPointKind kind[NPOINTS] = {CP_POINT_GROUND, CP_POINT_MASS, CP_POINT_PLAIN,
                                                  CP_POINT_PLAIN};
  static const int segment[][2]                = {{ORIGIN, CENTRE}};
  static const CPPluginShape disc              = {CP_SHAPE_WHEEL, {CENTRE, RIM, RIM + 1, CENTRE}};
  const sunrealtype *p                         = model->parameter;
  sunrealtype lambda[HEAVY_TOP_NP];
  HeavyTop *top = malloc(sizeof *top);
  model->data   = top;
  if (!top || plugin_start(model, HEAVY_TOP_N)) return -1;
  if (CPPluginDraw(model, NPOINTS, kind, 1, segment, 1, &disc)) return -1;
  heavy_top_create(top, p[GRAVITY]);
  top->steady = p[CASE] > SUN_RCONST(1.5);
  top->spin   = p[SPIN];
  top->theta  = p[THETA];
  top->w      = p[PRECESSION];
  if (heavy_top_motion(top, 0, model->y0, lambda)) return -1;
  if (rigid_body_model(&top->bodies, 0, model->ctx, &model->mech)) return -1;
  model->known           = 1;
  model->reference_error = top->steady ? 1e-12 : 5e-13 + 1e-14 * fabs(top->spin);
  return 0;
}

const CPPluginType heavy_top_type = {
    .name   = "heavy_top",
    .title  = "Heavy top with a fast spin",
    .source = "Bruels, Cardona, Arnold, Mechanism and Machine Theory 48 (2012); Euler's equations "
              "by extrapolation; steady precession: closed form",
    .t_end  = 2,
    .parameters       = parameters,
    .nparameters      = sizeof parameters / sizeof parameters[0],
    .whole            = "case",
    .quantities       = quantities,
    .nquantities      = sizeof quantities / sizeof quantities[0],
    .coordinates      = coordinates,
    .ncoordinates     = sizeof coordinates / sizeof coordinates[0],
    .velocities       = velocities,
    .nvelocities      = sizeof velocities / sizeof velocities[0],
    .create           = create,
    .reference        = reference,
    .reference_lambda = reference_lambda,
    .points           = points,
    .z_is_up          = 1,
};
