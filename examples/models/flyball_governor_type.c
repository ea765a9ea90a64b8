#include "flyball_governor.h"
#include "plugin.h"
#include "types.h"

#include <math.h>
#include <stdlib.h>

enum { STIFFNESS, DAMPING, SPEED, GRAVITY };

static const CPPluginParameter parameters[] = {
    [STIFFNESS] = {"K", "N/m", "stiffness of each spring", 8e5, 0, 1e9},
    [DAMPING]   = {"C", "N s/m", "damping of each spring", 4e4, 0, 1e9},
    [SPEED] = {"speed", "rad/s", "of the whole about the shaft at first", 6.2831853071795865, 0, 20},
    [GRAVITY] = {"g", "m/s^2", "gravity along -z", 9.81, 1e-3, 20},
};

static const CPPluginCoordinate coordinates[] = {
    {"x1", "m", "centre of the shaft"},
    {"y1", "m", "the same"},
    {"z1", "m", "the same, upwards"},
    {"e1_0", "1", "quaternion of the shaft"},
    {"e1_1", "1", "the same"},
    {"e1_2", "1", "the same"},
    {"e1_3", "1", "the same"},
    {"x2", "m", "centre of the slider"},
    {"y2", "m", "the same"},
    {"s", "m", "the same, upwards"},
    {"e2_0", "1", "quaternion of the slider"},
    {"e2_1", "1", "the same"},
    {"e2_2", "1", "the same"},
    {"e2_3", "1", "the same"},
    {"x3", "m", "centre of the right rod and its ball"},
    {"y3", "m", "the same"},
    {"z3", "m", "the same, upwards"},
    {"e3_0", "1", "quaternion of the right rod"},
    {"e3_1", "1", "the same"},
    {"e3_2", "1", "the same"},
    {"e3_3", "1", "the same"},
    {"x4", "m", "centre of the left rod and its ball"},
    {"y4", "m", "the same"},
    {"z4", "m", "the same, upwards"},
    {"e4_0", "1", "quaternion of the left rod"},
    {"e4_1", "1", "the same"},
    {"e4_2", "1", "the same"},
    {"e4_3", "1", "the same"},
};

static const CPPluginCoordinate velocities[] = {
    {"x1'", "m/s", "velocity of the centre of the shaft"},
    {"y1'", "m/s", "the same"},
    {"z1'", "m/s", "the same"},
    {"w1_x", "rad/s", "angular velocity of the shaft about its axis x"},
    {"w1_y", "rad/s", "the same, axis y"},
    {"w1_z", "rad/s", "the same, axis z"},
    {"x2'", "m/s", "velocity of the centre of the slider"},
    {"y2'", "m/s", "the same"},
    {"s'", "m/s", "the same"},
    {"w2_x", "rad/s", "angular velocity of the slider about its axis x"},
    {"w2_y", "rad/s", "the same, axis y"},
    {"w2_z", "rad/s", "the same, axis z"},
    {"x3'", "m/s", "velocity of the centre of the right rod and its ball"},
    {"y3'", "m/s", "the same"},
    {"z3'", "m/s", "the same"},
    {"w3_x", "rad/s", "angular velocity of the right rod and its ball about its axis x"},
    {"w3_y", "rad/s", "the same, axis y"},
    {"w3_z", "rad/s", "the same, axis z"},
    {"x4'", "m/s", "velocity of the centre of the left rod and its ball"},
    {"y4'", "m/s", "the same"},
    {"z4'", "m/s", "the same"},
    {"w4_x", "rad/s", "angular velocity of the left rod and its ball about its axis x"},
    {"w4_y", "rad/s", "the same, axis y"},
    {"w4_z", "rad/s", "the same, axis z"},
};

static sunrealtype energy(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i, (void)t;
  return rigid_body_energy(model->data, y);
}

static sunrealtype momentum(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i, (void)t;
  sunrealtype L[3];
  rigid_body_momentum(model->data, y, L);
  return L[2];
}

/* Initial angular momentum, with 8.57 kg m^2 about the shaft; at rest that of one turn per second */
static sunrealtype largest_momentum(const CPPlugin *model) {
  return SUN_RCONST(8.57) * (1 + model->parameter[SPEED]);
}

/* The initial kinetic energy, and the energy of a fall of the balls by half a metre */
static sunrealtype largest_energy(const CPPlugin *model) {
  const sunrealtype *p = model->parameter;
  return SUN_RCONST(8.57) * p[SPEED] * p[SPEED] / 2 + 5 * p[GRAVITY];
}

static const CPPluginQuantity quantities[] = {
    {"energy", "J", energy, 0, 218.2, largest_energy},
    {"angular momentum about z", "kg m^2/s", momentum, 1, 62.4, largest_momentum},
};

/* The dampers dissipate energy. */
static int conserves(const CPPlugin *model, int i) {
  return quantities[i].conserved || model->parameter[DAMPING] == 0;
}

static int reference(const CPPlugin *model, sunrealtype t, N_Vector y) {
  GovernorMotion motion;
  if (flyball_governor_motion(model->data, t, y->sunctx, &motion)) return 1;
  flyball_governor_place(model->data, &motion, y);
  return 0;
}

/* The shaft; on each side the hinge, the ball, and the ends of the spring on the slider and on the rod */
enum { FOOT, HEAD, RIGHT, LEFT = RIGHT + 4, NPOINTS = LEFT + 4 };
enum { HINGE, BALL, ON_SLIDER, ON_ROD };

/* x: out, the point of a body with the body coordinates `at` */
static void put_point(const FlyballGovernor *governor, N_Vector y, int body,
                      const sunrealtype at[3], sunrealtype *x) {
  for (int k = 0; k < 3; k++) x[k] = at[k];
  rigid_body_direction(&governor->bodies, body, y, x);
  for (int k = 0; k < 3; k++) x[k] += N_VGetArrayPointer(y)[7 * body + k];
}

static void points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  (void)t;
  const FlyballGovernor *governor = model->data;
  const sunrealtype top[3]        = {0, 0, SUN_RCONST(0.5)};
  for (int k = 0; k < 3; k++) xyz[3 * FOOT + k] = 0;
  put_point(governor, y, SHAFT, top, xyz + 3 * HEAD);
  for (int side = 0; side < 2; side++) {
    const Joint *hinge         = &governor->joint[2 + side];
    const SpringDamper *spring = &governor->spring[side];
    const sunrealtype inwards  = hinge->point_b[0];
    const sunrealtype ball[3]  = {inwards - copysign(1, inwards), 0, 0}; /* rods of 1 m */
    sunrealtype *x             = xyz + 3 * (side ? LEFT : RIGHT);
    put_point(governor, y, hinge->b, hinge->point_b, x + 3 * HINGE);
    put_point(governor, y, hinge->b, ball, x + 3 * BALL);
    put_point(governor, y, SLIDER, spring->point_a, x + 3 * ON_SLIDER);
    put_point(governor, y, hinge->b, spring->point_b, x + 3 * ON_ROD);
  }
}

static int create(CPPlugin *model) {
  static const CPPluginPointKind kind[NPOINTS] = {[FOOT]              = CP_POINT_GROUND,
                                                  [HEAD]              = CP_POINT_JOINT,
                                                  [RIGHT + HINGE]     = CP_POINT_JOINT,
                                                  [RIGHT + BALL]      = CP_POINT_MASS,
                                                  [RIGHT + ON_SLIDER] = CP_POINT_MASS,
                                                  [RIGHT + ON_ROD]    = CP_POINT_PLAIN,
                                                  [LEFT + HINGE]      = CP_POINT_JOINT,
                                                  [LEFT + BALL]       = CP_POINT_MASS,
                                                  [LEFT + ON_SLIDER]  = CP_POINT_MASS,
                                                  [LEFT + ON_ROD]     = CP_POINT_PLAIN};
  /* Shaft, arm of the hinges, rods, slider; the springs last */
  static const int segment[][2] = {{FOOT, HEAD},
                                   {RIGHT + HINGE, LEFT + HINGE},
                                   {RIGHT + HINGE, RIGHT + BALL},
                                   {LEFT + HINGE, LEFT + BALL},
                                   {RIGHT + ON_SLIDER, LEFT + ON_SLIDER},
                                   {RIGHT + ON_SLIDER, RIGHT + ON_ROD},
                                   {LEFT + ON_SLIDER, LEFT + ON_ROD}};
  const sunrealtype *p          = model->parameter;
  GovernorMotion motion;
  FlyballGovernor *governor = malloc(sizeof *governor);
  model->data               = governor;
  if (!governor || plugin_start(model, GOVERNOR_N)) return -1;
  if (CPPluginDraw(model, NPOINTS, kind, sizeof segment / sizeof segment[0], segment, 0, NULL))
    return -1;
  for (int i = 5; i < 7; i++) model->drawing.segment_kind[i] = CP_SEGMENT_SPRING;
  flyball_governor_create(governor, p[STIFFNESS], p[DAMPING], p[SPEED], p[GRAVITY]);
  if (flyball_governor_motion(governor, 0, model->ctx, &motion)) return -1;
  flyball_governor_place(governor, &motion, model->y0);
  if (rigid_body_model(&governor->bodies, 0, model->ctx, &model->mech)) return -1;
  model->stiff           = 1;
  model->known           = flyball_governor_steps(governor, model->type->t_end) < 1e5;
  model->reference_error = 1e-10; /* 12 digits of the 56 radians of the shaft */
  return 0;
}

const CPPluginType flyball_governor_type = {
    .name         = "flyball_governor",
    .title        = "Flyball governor with stiff springs",
    .source       = "IFToMM library of computational benchmark problems, A05; three coordinates by "
                    "extrapolation",
    .t_end        = 10,
    .parameters   = parameters,
    .nparameters  = sizeof parameters / sizeof parameters[0],
    .quantities   = quantities,
    .nquantities  = sizeof quantities / sizeof quantities[0],
    .conserves    = conserves,
    .coordinates  = coordinates,
    .ncoordinates = sizeof coordinates / sizeof coordinates[0],
    .velocities   = velocities,
    .nvelocities  = sizeof velocities / sizeof velocities[0],
    .create       = create,
    .reference    = reference,
    .points       = points,
    .z_is_up      = 1,
};
