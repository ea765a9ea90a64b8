/* A body on six legs from points g_i of the ground to points s_i of the body, whose lengths L_i(t)
 * are given:
 *
 *   p_i = (|d_i|^2 - L_i^2) / 2,   d_i = r + R s_i - g_i
 *
 * Six independent rows for six velocities leave no freedom: all errors are normal to the
 * constraints, and masses affect only the legs' forces. The lengths are those of a motion that is
 * chosen first, and is the exact solution:
 *
 *   r*(t) = (0.1 sin 2t, 0.15 sin 3t, 1 + 0.1 sin 2.5t),   R*(t) a rotation by 0.4 sin 2t about (1, 2, 2)/3 */
#include "mechanisms.h"

#include "models/quaternions.h"
#include "models/rigid_body_impl.h"
#include <math.h>
#include <models/plugin.h>
#include <stdlib.h>

enum { LEGS = 6, N = 13 };

typedef struct {
  RigidBodies bodies; /* first: user_data of the functions of rigid_body.h, too */
  RigidBody body;
  CPQuaternion quaternion;
  sunrealtype ground[LEGS][3], top[LEGS][3];
} Platform;

static const sunrealtype AXIS[3] = {SUN_RCONST(1.0) / 3, SUN_RCONST(2.0) / 3, SUN_RCONST(2.0) / 3};

/* amplitude * sin(rate t) and its first two derivatives: x [3] */
static void oscillation(sunrealtype amplitude, sunrealtype rate, sunrealtype t, sunrealtype x[3]) {
  x[0] = amplitude * sin(rate * t);
  x[1] = amplitude * rate * cos(rate * t);
  x[2] = -rate * rate * x[0];
}

/* The chosen motion: q [7], velocities and accelerations of centre and rotation, in space */
typedef struct {
  sunrealtype q[7], v[3], w[3], acc[3], alpha[3];
} Chosen;

static Chosen chosen(sunrealtype t) {
  static const sunrealtype amplitude[3] = {0.1, 0.15, 0.1}, rate[3] = {2, 3, 2.5},
                           identity[4] = {1, 0, 0, 0};
  Chosen c;
  sunrealtype x[3];
  for (int k = 0; k < 3; k++) {
    oscillation(amplitude[k], rate[k], t, x);
    c.q[k]   = x[0] + (k == 2);
    c.v[k]   = x[1];
    c.acc[k] = x[2];
  }
  oscillation(0.4, 2, t, x);
  quaternion_turned(identity, AXIS, x[0], c.q + 3);
  for (int k = 0; k < 3; k++) {
    c.w[k]     = x[1] * AXIS[k];
    c.alpha[k] = x[2] * AXIS[k];
  }
  return c;
}

/* d and its rate; the terms of d'' other than v' and omega' x x */
typedef struct {
  sunrealtype d[3], rate[3], centripetal[3], x[3];
} Leg;

static Leg leg_of(const Platform *platform, int i, const Pose *pose) {
  Leg leg;
  sunrealtype turned[3];
  to_space(pose, platform->top[i], leg.x);
  cross3(pose->w, leg.x, turned);
  cross3(pose->w, turned, leg.centripetal);
  for (int k = 0; k < 3; k++) {
    leg.d[k]    = pose->r[k] + leg.x[k] - platform->ground[i][k];
    leg.rate[k] = pose->v[k] + turned[k];
  }
  return leg;
}

static Pose chosen_pose(const Platform *platform, const Chosen *c) {
  Pose pose = rigid_body_pose(&platform->bodies, 0, c->q, NULL);
  for (int k = 0; k < 3; k++) {
    pose.v[k] = c->v[k];
    pose.w[k] = c->w[k];
  }
  return pose;
}

/* L^2/2 of leg i and its first two derivatives: half [3] */
static void length_of(const Platform *platform, int i, sunrealtype t, sunrealtype half[3]) {
  const Chosen c  = chosen(t);
  const Pose pose = chosen_pose(platform, &c);
  const Leg leg   = leg_of(platform, i, &pose);
  sunrealtype turning[3];
  cross3(c.alpha, leg.x, turning);
  half[0] = dot3(leg.d, leg.d) / 2;
  half[1] = dot3(leg.d, leg.rate);
  half[2] = dot3(leg.rate, leg.rate) + dot3(leg.d, c.acc) + dot3(leg.d, turning) +
            dot3(leg.d, leg.centripetal);
}

static int positions(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  const Platform *platform = user_data;
  const Pose pose          = rigid_body_pose(&platform->bodies, 0, q, NULL);
  for (int i = 0; i < LEGS; i++) {
    const Leg leg = leg_of(platform, i, &pose);
    sunrealtype half[3];
    length_of(platform, i, t, half);
    p[i] = dot3(leg.d, leg.d) / 2 - half[0];
  }
  return 0;
}

static int velocities(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                      void *user_data) {
  const Platform *platform = user_data;
  const Pose pose          = rigid_body_pose(&platform->bodies, 0, q, u);
  for (int i = 0; i < LEGS; i++) {
    const Leg leg = leg_of(platform, i, &pose);
    sunrealtype half[3];
    length_of(platform, i, t, half);
    v[i] = dot3(leg.d, leg.rate) - half[1];
  }
  return 0;
}

static int accelerations(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                         void *user_data) {
  const Platform *platform = user_data;
  const Pose pose          = rigid_body_pose(&platform->bodies, 0, q, u);
  for (int i = 0; i < LEGS; i++) {
    const Leg leg = leg_of(platform, i, &pose);
    sunrealtype half[3];
    length_of(platform, i, t, half);
    b[i] = half[2] - dot3(leg.rate, leg.rate) - dot3(leg.d, leg.centripetal);
  }
  return 0;
}

static int matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t;
  const Platform *platform = user_data;
  const Pose pose          = rigid_body_pose(&platform->bodies, 0, q, NULL);
  for (int i = 0; i < LEGS; i++) {
    const Leg leg = leg_of(platform, i, &pose);
    sunrealtype torque[3], own[3];
    cross3(leg.x, leg.d, torque);
    to_body(&pose, torque, own);
    for (int k = 0; k < 3; k++) {
      SM_ELEMENT_D(A, i, k)     = leg.d[k];
      SM_ELEMENT_D(A, i, 3 + k) = own[k];
    }
  }
  return 0;
}

static int reference(const CPPlugin *model, sunrealtype t, N_Vector y) {
  const Platform *platform = model->data;
  const Chosen c           = chosen(t);
  const Pose pose          = chosen_pose(platform, &c);
  sunrealtype *q = N_VGetArrayPointer(y), *u = q + 7;
  for (int k = 0; k < 7; k++) q[k] = c.q[k];
  for (int k = 0; k < 3; k++) u[k] = c.v[k];
  to_body(&pose, c.w, u + 3);
  return 0;
}

/* Pairs of legs from the circle 1 m below, 10 degrees beside each third of it, to the circle 0.5 m
 * above, 10 degrees beside thirds that are turned by 60 degrees */
static void place_legs(Platform *platform) {
  const sunrealtype degree = acos(SUN_RCONST(-1.0)) / 180;
  for (int i = 0; i < LEGS; i++) {
    const int side          = i % 2 ? 1 : -1;
    const sunrealtype below = (120 * (i / 2) + side * 10) * degree,
                      above = (120 * (i / 2) + side * 50) * degree;
    platform->ground[i][0]  = cos(below);
    platform->ground[i][1]  = sin(below);
    platform->top[i][0]     = SUN_RCONST(0.5) * cos(above);
    platform->top[i][1]     = SUN_RCONST(0.5) * sin(above);
    platform->top[i][2]     = SUN_RCONST(-0.05);
  }
}

static int create(CPPlugin *model) {
  Platform *platform = calloc(1, sizeof *platform);
  model->data        = platform;
  if (!platform || plugin_start(model, N)) return -1;
  platform->body   = (RigidBody){.m = 5, .J = {0.3, 0.4, 0.6}};
  platform->bodies = (RigidBodies){.nbodies    = 1,
                                   .body       = &platform->body,
                                   .g          = {0, 0, -9.81},
                                   .frame      = CP_FRAME_BODY,
                                   .quaternion = &platform->quaternion};
  place_legs(platform);
  if (reference(model, 0, model->y0) ||
      rigid_body_model(&platform->bodies, 0, model->ctx, &model->mech))
    return -1;
  model->mech.np           = LEGS;
  model->mech.A            = matrix;
  model->mech.p            = positions;
  model->mech.v            = velocities;
  model->mech.b            = accelerations;
  model->mech.dynamics_jac = NULL; /* that of a free body lacks the legs' forces */
  model->known             = 1;
  model->reference_error   = 1e-15;
  return 0;
}

const CPPluginType platform_type = {
    .name      = "platform",
    .title     = "Platform on six driven legs",
    .source    = "platform.c",
    .t_end     = 10,
    .create    = create,
    .reference = reference,
};
