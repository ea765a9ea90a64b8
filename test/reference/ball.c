/* A ball that falls and spins; J is a power of 2, so that (J omega) x omega is exactly 0. With gravity along -z, from the height h of its lowest point,
 *
 *   z = R + h - g t^2 / 2,   omega constant,   e = (cos |omega| t/2; sin |omega| t/2 omega/|omega|)
 *
 * and if it bounces, with the restitution e on a floor without friction, the impacts are at
 *
 *   t_1 = sqrt(2 h / g),   t_{n+1} = t_n + 2 e^n t_1
 */
#include "mechanisms.h"

#include "models/quaternions.h"
#include "models/rigid_body.h"
#include <math.h>
#include <models/plugin.h>
#include <stdlib.h>

enum { SPIN, RESTITUTION, FLOOR, N = 13 };

typedef struct {
  RigidBodies bodies; /* first: user_data of the functions of rigid_body.h */
  CPQuaternion quaternion;
  RigidBody body;
  sunrealtype spin;
} Ball;

static const sunrealtype RADIUS = 0.1, HEIGHT = 1, G = 9.81,
                         AXIS[3] = {SUN_RCONST(1.0) / 3, SUN_RCONST(2.0) / 3, SUN_RCONST(2.0) / 3};

static const CPPluginParameter parameters[] = {
    [SPIN]        = {"spin", "rad/s", "angular velocity", 100, 0, 1e4},
    [RESTITUTION] = {"e", "", "restitution of an impact", 0.9, 0, 1},
    [FLOOR]       = {"floor", "", "1: it bounces; 0: it falls for ever", 0, 0, 1},
};

sunrealtype ball_impact(const CPPlugin *model, int n) {
  const sunrealtype first = sqrt(2 * HEIGHT / G);
  sunrealtype t = first, flight = 2 * first;
  for (int k = 1; k < n; k++) t += flight *= model->parameter[RESTITUTION];
  return t;
}

/* After the newest impact before t, of n, which is at `since`: the speed upwards is g e^n t_1 */
static int reference(const CPPlugin *model, sunrealtype t, N_Vector y) {
  static const sunrealtype identity[4] = {1, 0, 0, 0};
  const Ball *ball                     = model->data;
  sunrealtype *q = N_VGetArrayPointer(y), *u = q + 7;
  sunrealtype since = 0, height = HEIGHT, speed = 0;
  for (int n = 1; model->nroots > 0 && n <= 200 && t > ball_impact(model, n); n++) {
    since  = ball_impact(model, n);
    height = 0;
    speed  = G * pow(model->parameter[RESTITUTION], n) * ball_impact(model, 1);
  }
  const sunrealtype s = t - since;
  N_VConst(0, y);
  q[2] = RADIUS + height + s * (speed - G * s / 2);
  u[2] = speed - G * s;
  quaternion_turned(identity, AXIS, ball->spin * t, q + 3);
  for (int k = 0; k < 3; k++) u[3 + k] = ball->spin * AXIS[k];
  return 0;
}

/* As an ODE: r' = v, e' = e (0, omega) / 2, v' = -g, omega' = 0 */
static int rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  const sunrealtype *q = N_VGetArrayPointer(y), *u = q + 7;
  sunrealtype *d = N_VGetArrayPointer(ydot);
  (void)t, (void)user_data;
  N_VConst(0, ydot);
  for (int k = 0; k < 3; k++) d[k] = u[k];
  quaternion_times(q + 3, 0, u + 3, d + 3);
  for (int k = 3; k < 7; k++) d[k] /= 2;
  d[9] = -G;
  return 0;
}

static int gap(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)user_data;
  g[0] = N_VGetArrayPointer(y)[2] - RADIUS;
  return 0;
}

static int strike(const CPPlugin *model, CPMech mech, sunrealtype t, N_Vector y, const int *found) {
  (void)mech, (void)t;
  if (found[0]) N_VGetArrayPointer(y)[9] *= -model->parameter[RESTITUTION];
  return 0;
}

static int create(CPPlugin *model) {
  const sunrealtype J = SUN_RCONST(1.0) / 256;
  Ball *ball          = calloc(1, sizeof *ball);
  model->data         = ball;
  if (!ball || plugin_start(model, N)) return -1;
  ball->spin   = model->parameter[SPIN];
  ball->body   = (RigidBody){.m = 1, .J = {J, J, J}};
  ball->bodies = (RigidBodies){.nbodies    = 1,
                               .body       = &ball->body,
                               .g          = {0, 0, -G},
                               .frame      = CP_FRAME_BODY,
                               .quaternion = &ball->quaternion};
  if (rigid_body_model(&ball->bodies, 0, model->ctx, &model->mech)) return -1;
  model->f               = rhs;
  model->known           = 1;
  model->reference_error = 1e-13;
  model->nroots          = model->parameter[FLOOR] > 0.5;
  model->direction[0]    = -1;
  return reference(model, 0, model->y0) ? -1 : 0;
}

const CPPluginType ball_type = {
    .name        = "ball",
    .title       = "Spinning ball that falls, or bounces",
    .source      = "ball.c",
    .t_end       = 0.4,
    .parameters  = parameters,
    .nparameters = 3,
    .create      = create,
    .reference   = reference,
    .roots       = gap,
    .event       = strike,
};
