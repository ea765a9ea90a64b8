#include "newton_cradle.h"
#include "plugin.h"
#include "types.h"

#include <stdlib.h>

enum { CASE, LENGTH, RADIUS, MASS, GRAVITY, SPEED };

static const CPPluginParameter parameters[] = {
    [CASE]    = {"case", "", "1: ball 1 has a speed; 2: both at rest, a force acts", 1, 1, 2},
    [LENGTH]  = {"L", "m", "length of the rods", 1, 1e-2, 1e2},
    [RADIUS]  = {"R", "m", "radius of the balls", 0.1, 1e-3, 1e2},
    [MASS]    = {"m", "kg", "mass of a ball", 1, 1e-3, 1e3},
    [GRAVITY] = {"g", "m/s^2", "gravity along -y", 9.8, 1e-2, 1e2},
    [SPEED]   = {"V", "m/s", "speed of ball 1 at the start (case 1)", 3, 1e-2, 1e2},
};

static const CPPluginCoordinate coordinates[] = {
    {"x1", "m", "ball 1, to the right"},
    {"y1", "m", "ball 1, upwards"},
    {"x2", "m", "ball 2, to the right"},
    {"y2", "m", "ball 2, upwards"},
};

/* In case 2 minus the work of the force */
static sunrealtype energy(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i, (void)t;
  const NewtonCradle *c = model->data;
  return newton_cradle_energy(c, y) - (c->driven ? N_VGetArrayPointer(y)[2 * NEWTON_CRADLE_NQ] : 0);
}

/* Kinetic energy at the lowest point; in case 2 about 3.7 J per kg */
static sunrealtype largest_kinetic(const CPPlugin *model) {
  const NewtonCradle *c = model->data;
  return c->driven ? c->m * SUN_RCONST(3.7) : c->m * c->V * c->V / 2;
}

static const CPPluginQuantity quantities[] = {
    {.name      = "energy",
     .unit      = "J",
     .value     = energy,
     .conserved = 1,
     .scale     = 4.5,
     .scale_of  = largest_kinetic},
};

static int reference(const CPPlugin *model, sunrealtype t, N_Vector y) {
  return newton_cradle_exact(model->data, t, N_VGetArrayPointer(y), NULL);
}

static int reference_lambda(const CPPlugin *model, sunrealtype t, sunrealtype *lambda) {
  return newton_cradle_exact(model->data, t, NULL, lambda);
}

/* SIZE: points on both balls */
enum { PIVOT_1, PIVOT_2, BALL_1, BALL_2, SIZE, POINTS = SIZE + 4 };

static void points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  (void)t;
  const NewtonCradle *c = model->data;
  const sunrealtype *q  = N_VGetArrayPointer(y);
  for (int i = 0; i < 3 * POINTS; i++) xyz[i] = 0;
  xyz[3 * PIVOT_1] = c->R;
  xyz[3 * PIVOT_2] = -c->R;
  for (int k = 0; k < 2; k++) {
    xyz[3 * BALL_1 + k] = q[k];
    xyz[3 * BALL_2 + k] = q[2 + k];
  }
  for (int i = 0; i < 4; i++) {
    sunrealtype *x = xyz + 3 * (SIZE + i);
    for (int k = 0; k < 2; k++) x[k] = q[2 * (i / 2) + k] + (k == i % 2 ? c->R : 0);
  }
}

static int contact(sunrealtype t, N_Vector y, sunrealtype *gap, void *user_data) {
  (void)t;
  gap[0] = newton_cradle_gap(CPMechGetUserData(user_data), y);
  return 0;
}

static int strike(const CPPlugin *model, CPMech mech, sunrealtype t, N_Vector y, const int *found) {
  (void)mech, (void)t;
  if (found[0]) newton_cradle_impact(model->data, y);
  return 0;
}

static int create(CPPlugin *model) {
  static const CPPluginPointKind kind[POINTS] = {CP_POINT_GROUND, CP_POINT_GROUND, CP_POINT_MASS,
                                                 CP_POINT_MASS,   CP_POINT_PLAIN,  CP_POINT_PLAIN,
                                                 CP_POINT_PLAIN,  CP_POINT_PLAIN};
  static const CPPluginShape balls[] = {{CP_SHAPE_SPHERE, {BALL_1, SIZE, SIZE + 1, BALL_1}},
                                        {CP_SHAPE_SPHERE, {BALL_2, SIZE + 2, SIZE + 3, BALL_2}}};
  static const int rods[][2]         = {{PIVOT_1, BALL_1}, {PIVOT_2, BALL_2}};
  const sunrealtype *p               = model->parameter;
  NewtonCradle *c                    = malloc(sizeof *c);
  model->data                        = c;
  const int driven                   = p[CASE] > SUN_RCONST(1.5);
  if (!c || plugin_start(model, 2 * NEWTON_CRADLE_NQ + driven) ||
      CPPluginDraw(model, POINTS, kind, 2, rods, 2, balls))
    return -1;
  *c = (NewtonCradle){
      .driven = driven, .L = p[LENGTH], .R = p[RADIUS], .m = p[MASS], .g = p[GRAVITY], .V = p[SPEED]};
  newton_cradle_initial(c, model->y0);
  model->mech            = newton_cradle_model(c);
  model->known           = newton_cradle_is_known(c);
  model->reference_error = 1e-13 * c->L;
  model->nroots          = 1;
  model->direction[0]    = -1;
  if (driven) model->stop[model->nstops++] = newton_cradle_force_end(c);
  return 0;
}

const CPPluginType newton_cradle_type = {
    .name             = "newton_cradle",
    .title            = "Newton's cradle of two balls",
    .source           = "SUNDIALS 2.7, CPODES example cpsNewtCrd_dns; closed form",
    .t_end            = 6,
    .parameters       = parameters,
    .nparameters      = sizeof parameters / sizeof parameters[0],
    .whole            = "case",
    .quantities       = quantities,
    .nquantities      = sizeof quantities / sizeof quantities[0],
    .coordinates      = coordinates,
    .ncoordinates     = sizeof coordinates / sizeof coordinates[0],
    .create           = create,
    .reference        = reference,
    .reference_lambda = reference_lambda,
    .points           = points,
    .roots            = contact,
    .event            = strike,
};
