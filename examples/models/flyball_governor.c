#include "flyball_governor.h"

#include "extrapolation.h"
#include "quaternions.h"

#include <math.h>
#include <nvector/nvector_serial.h>

/* Lengths [m] and masses [kg]; the hinges are at the distance OFFSET from the axis of the shaft and the height TOP */
#define OFFSET  SUN_RCONST(0.05)
#define TOP     SUN_RCONST(1.0)
#define LENGTH  SUN_RCONST(0.5) /* free length of the springs */
#define ROD     SUN_RCONST(0.3)
#define BALL    SUN_RCONST(5.0)
#define SLIDING SUN_RCONST(3.0)

/* Moments of inertia of a rod along and across; distance from the hinge to the centre of mass of rod and ball */
#define ALONG  (ROD * SUN_RCONST(2e-4) / 12)
#define ACROSS (ROD * SUN_RCONST(1.0001) / 12)
#define CENTRE ((ROD / 2 + BALL) / (ROD + BALL))

void flyball_governor_create(FlyballGovernor *governor, sunrealtype K, sunrealtype C,
                             sunrealtype speed, sunrealtype g) {
  const sunrealtype cube = SLIDING * SUN_RCONST(0.02) / 12, in = CENTRE - SUN_RCONST(0.5),
                    out = 1 - CENTRE, arm = ACROSS + ROD * in * in + BALL * out * out;
  *governor = (FlyballGovernor){.body  = {[SHAFT]     = {.m = ROD, .J = {ACROSS, ACROSS, ALONG}},
                                          [SLIDER]    = {.m = SLIDING, .J = {cube, cube, cube}},
                                          [RIGHT_ROD] = {.m = ROD + BALL, .J = {ALONG, arm, arm}},
                                          [LEFT_ROD]  = {.m = ROD + BALL, .J = {ALONG, arm, arm}}},
                                .joint = {{.kind    = JOINT_REVOLUTE,
                                           .a       = GROUND,
                                           .b       = SHAFT,
                                           .point_b = {0, 0, -TOP / 2},
                                           .axis_a  = {0, 0, 1},
                                           .axis_b  = {0, 0, 1}},
                                          {.kind   = JOINT_PRISMATIC,
                                           .a      = SHAFT,
                                           .b      = SLIDER,
                                           .axis_a = {0, 0, 1},
                                           .axis_b = {0, 0, 1}}},
                                .K     = K,
                                .C     = C,
                                .speed = speed,
                                .g     = g};
  for (int side = 0; side < 2; side++) {
    const sunrealtype sign    = side ? -1 : 1;
    const int rod             = side ? LEFT_ROD : RIGHT_ROD;
    governor->joint[2 + side] = (Joint){.kind    = JOINT_REVOLUTE,
                                        .a       = SHAFT,
                                        .b       = rod,
                                        .point_a = {sign * OFFSET, 0, TOP / 2},
                                        .point_b = {-sign * CENTRE, 0, 0},
                                        .axis_a  = {0, 1, 0},
                                        .axis_b  = {0, 1, 0}};
    governor->spring[side]    = (SpringDamper){.a       = SLIDER,
                                               .b       = rod,
                                               .point_a = {sign * OFFSET, 0, 0},
                                               .point_b = {-sign * in, 0, 0},
                                               .k       = K,
                                               .d       = C,
                                               .length  = LENGTH};
  }
  governor->bodies = (RigidBodies){.nbodies    = GOVERNOR_BODIES,
                                   .njoints    = 4,
                                   .nsprings   = 2,
                                   .body       = governor->body,
                                   .joint      = governor->joint,
                                   .spring     = governor->spring,
                                   .g          = {0, 0, -g},
                                   .frame      = CP_FRAME_BODY,
                                   .quaternion = governor->quaternion};
}

/* ----------------------------------------------------------------------------- symmetric motion -- */

/* Jz, or its derivative with respect to alpha */
static sunrealtype axial_moment(sunrealtype alpha) {
  const sunrealtype c = cos(alpha), s = sin(alpha), rod = OFFSET + c / 2, ball = OFFSET + c;
  return ALONG + SLIDING * SUN_RCONST(0.02) / 12 +
         2 * (ROD * rod * rod + ALONG * s * s + ACROSS * c * c + BALL * ball * ball);
}
static sunrealtype axial_moment_slope(sunrealtype alpha) {
  const sunrealtype c = cos(alpha), s = sin(alpha), rod = OFFSET + c / 2, ball = OFFSET + c;
  return 2 * s * (-ROD * rod + 2 * (ALONG - ACROSS) * c - 2 * BALL * ball);
}

/* z = (phi, alpha, s, alpha', s') */
enum { PHI, ALPHA, HEIGHT, ALPHA_RATE, HEIGHT_RATE, NZ };

static const sunrealtype start[NZ] = {0, 0.52359877559829887, 0.5, 0, 0}; /* 30 degrees */

static sunrealtype turning_rate(const FlyballGovernor *governor, sunrealtype alpha) {
  return governor->speed * axial_moment(start[ALPHA]) / axial_moment(alpha);
}

static int motion_rhs(sunrealtype t, N_Vector state, N_Vector rate, void *user_data) {
  (void)t;
  const FlyballGovernor *governor = user_data;
  const sunrealtype *z            = N_VGetArrayPointer(state);
  sunrealtype *zdot               = N_VGetArrayPointer(rate);
  const sunrealtype c = cos(z[ALPHA]), s = sin(z[ALPHA]),
                    phi_rate = turning_rate(governor, z[ALPHA]);
  const sunrealtype out = c / 2, up = TOP - s / 2 - z[HEIGHT], l = sqrt(out * out + up * up);
  const sunrealtype l_alpha = (-out * s - up * c) / (2 * l), l_s = -up / l;
  const sunrealtype tension =
      governor->K * (l - LENGTH) + governor->C * (l_alpha * z[ALPHA_RATE] + l_s * z[HEIGHT_RATE]);
  const sunrealtype Ja = 2 * (ROD / 4 + ACROSS + BALL);
  zdot[PHI]            = phi_rate;
  zdot[ALPHA]          = z[ALPHA_RATE];
  zdot[HEIGHT]         = z[HEIGHT_RATE];
  zdot[ALPHA_RATE]     = (axial_moment_slope(z[ALPHA]) * phi_rate * phi_rate / 2 -
                      2 * tension * l_alpha + 2 * governor->g * (ROD / 2 + BALL) * c) /
                     Ja;
  zdot[HEIGHT_RATE] = -2 * tension * l_s / SLIDING - governor->g;
  return 0;
}

/* The springs act on about 2 kg together, with rates of C / 5 kg and sqrt(K / 1 kg) */
sunrealtype flyball_governor_steps(const FlyballGovernor *governor, sunrealtype t) {
  return ceil(t * (50 + fabs(governor->speed) + governor->C / 20 + sqrt(governor->K) / 4));
}

int flyball_governor_motion(const FlyballGovernor *governor, sunrealtype t, SUNContext ctx,
                            GovernorMotion *motion) {
  sunrealtype z[NZ];
  int flag = 0;
  for (int i = 0; i < NZ; i++) z[i] = start[i];
  if (t > 0) {
    N_Vector state  = N_VMake_Serial(NZ, z, ctx);
    const int steps = (int)flyball_governor_steps(governor, t);
    flag            = state ? extrapolate(motion_rhs, (void *)governor, 0, t, steps, state) : -1;
    if (state) N_VDestroy(state);
  }
  *motion = (GovernorMotion){
      z[PHI], z[ALPHA], z[HEIGHT], turning_rate(governor, z[ALPHA]), z[ALPHA_RATE], z[HEIGHT_RATE]};
  return flag ? -1 : 0;
}

/* Body i, at (out, 0, up) in the axes that turn with the shaft, where it is tilted about y; the rates of these */
static void place(const FlyballGovernor *governor, int i, const GovernorMotion *m, sunrealtype out,
                  sunrealtype up, sunrealtype tilt, const sunrealtype rate[3], N_Vector y) {
  static const sunrealtype identity[4] = {1, 0, 0, 0},
                           axis[3][3]  = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  sunrealtype *q                       = N_VGetArrayPointer(y) + 7 * i;
  sunrealtype *u      = N_VGetArrayPointer(y) + 7 * governor->bodies.nbodies + 6 * i;
  const sunrealtype c = cos(m->phi), s = sin(m->phi), across = out * m->phi_rate;
  sunrealtype turned[4];
  quaternion_turned(identity, axis[2], m->phi, turned);
  quaternion_turned(turned, axis[1], tilt, q + 3);
  q[0] = out * c;
  q[1] = out * s;
  q[2] = up;
  u[0] = rate[0] * c - across * s;
  u[1] = rate[0] * s + across * c;
  u[2] = rate[1];
  u[3] = -m->phi_rate * sin(tilt); /* of the vertical and of y, seen from the body */
  u[4] = rate[2];
  u[5] = m->phi_rate * cos(tilt);
}

void flyball_governor_place(const FlyballGovernor *governor, const GovernorMotion *m, N_Vector y) {
  const sunrealtype c = cos(m->alpha), s = sin(m->alpha), at_rest[3] = {0, 0, 0};
  const sunrealtype sliding[3] = {0, m->s_rate, 0};
  place(governor, SHAFT, m, 0, TOP / 2, 0, at_rest, y);
  place(governor, SLIDER, m, 0, m->s, 0, sliding, y);
  for (int side = 0; side < 2; side++) {
    const sunrealtype sign = side ? -1 : 1, out = OFFSET + CENTRE * c, up = TOP - CENTRE * s;
    const sunrealtype swing[3] = {-sign * CENTRE * s * m->alpha_rate, -CENTRE * c * m->alpha_rate,
                                  sign * m->alpha_rate};
    place(governor, side ? LEFT_ROD : RIGHT_ROD, m, sign * out, up, sign * m->alpha, swing, y);
  }
}
