/* Spring-dampers between points P_i = r_i + x_i of two bodies. With d = P_b - P_a, l = |d|, e = d / l, the force on a
 * and its change with d and d' are
 *
 *   F  = T e,   T = k (l - length) + damping l',   l' = e . d'
 *   dF = dT e + T de,   de = (dd - e (e . dd)) / l,   dT = k e . dd + damping (de . d' + e . dd')
 *
 * A body's rotation by the small vector t, in space, moves its point by t x x and its velocity by t x (omega x x).
 */
#include "rigid_body_impl.h"

#include <math.h>

/* The two ends: those of a and b; d, d', e; T, l, l' */
typedef struct {
  const SpringDamper *spring;
  int body[2];
  const sunrealtype *point[2];
  Pose pose[2];
  sunrealtype x[2][3], d[3], rate[3], e[3], l, l_rate, tension;
} Stretch;

static Stretch stretch_of(const RigidBodies *bodies, const SpringDamper *spring,
                          const sunrealtype *q, const sunrealtype *u) {
  Stretch s = {
      .spring = spring, .body = {spring->a, spring->b}, .point = {spring->point_a, spring->point_b}};
  for (int side = 0; side < 2; side++) {
    const int sign = side ? 1 : -1;
    Pose *pose     = &s.pose[side];
    sunrealtype turning[3];
    *pose = rigid_body_pose(bodies, s.body[side], q, u);
    to_space(pose, s.point[side], s.x[side]);
    cross3(pose->w, s.x[side], turning);
    for (int k = 0; k < 3; k++) {
      s.d[k] += sign * (pose->r[k] + s.x[side][k]);
      s.rate[k] += sign * (pose->v[k] + turning[k]);
    }
  }
  s.l = sqrt(dot3(s.d, s.d));
  for (int k = 0; k < 3; k++) s.e[k] = s.d[k] / s.l;
  s.l_rate  = dot3(s.e, s.rate);
  s.tension = spring->k * (s.l - spring->length) + spring->d * s.l_rate;
  return s;
}

/* Adds the force scale F (in space) at the point of body `side` to f, or to a column */
static void pull(const RigidBodies *bodies, const Stretch *s, int side, const sunrealtype F[3],
                 sunrealtype f[6]) {
  const sunrealtype sign = side ? -1 : 1;
  sunrealtype torque[3], own[3];
  cross3(s->x[side], F, torque);
  if (bodies->frame == CP_FRAME_BODY) to_body(&s->pose[side], torque, own);
  else
    for (int k = 0; k < 3; k++) own[k] = torque[k];
  for (int k = 0; k < 3; k++) {
    f[k] += sign * F[k];
    f[3 + k] += sign * own[k];
  }
}

void rigid_body_spring_forces(const RigidBodies *bodies, const sunrealtype *q, const sunrealtype *u,
                              sunrealtype *f) {
  for (int i = 0; i < bodies->nsprings; i++) {
    const Stretch s = stretch_of(bodies, &bodies->spring[i], q, u);
    sunrealtype F[3];
    for (int k = 0; k < 3; k++) F[k] = s.tension * s.e[k];
    for (int side = 0; side < 2; side++)
      if (s.body[side] != GROUND) pull(bodies, &s, side, F, f + 6 * s.body[side]);
  }
}

sunrealtype rigid_body_spring_energy(const RigidBodies *bodies, const sunrealtype *q) {
  sunrealtype energy = 0;
  for (int i = 0; i < bodies->nsprings; i++) {
    const SpringDamper *spring = &bodies->spring[i];
    const Stretch s            = stretch_of(bodies, spring, q, NULL);
    energy += spring->k * (s.l - spring->length) * (s.l - spring->length) / 2;
  }
  return energy;
}

sunrealtype rigid_body_spring_power(const RigidBodies *bodies, const sunrealtype *q,
                                    const sunrealtype *u) {
  sunrealtype power = 0;
  for (int i = 0; i < bodies->nsprings; i++) {
    const Stretch s = stretch_of(bodies, &bodies->spring[i], q, u);
    power += bodies->spring[i].d * s.l_rate * s.l_rate;
  }
  return power;
}

/* Column `col` of B: the change of the forces with dd and dd' */
static void put_change(const RigidBodies *bodies, const Stretch *s, const sunrealtype dd[3],
                       const sunrealtype dd_rate[3], sunindextype col, Scatter *B) {
  const sunrealtype longer = dot3(s->e, dd);
  sunrealtype de[3], dF[3];
  for (int k = 0; k < 3; k++) de[k] = (dd[k] - s->e[k] * longer) / s->l;
  const sunrealtype dT =
      s->spring->k * longer + s->spring->d * (dot3(de, s->rate) + dot3(s->e, dd_rate));
  for (int k = 0; k < 3; k++) dF[k] = dT * s->e[k] + s->tension * de[k];
  for (int side = 0; side < 2; side++) {
    sunrealtype column[6] = {0, 0, 0, 0, 0, 0};
    if (s->body[side] == GROUND) continue;
    pull(bodies, s, side, dF, column);
    for (int k = 0; k < 6; k++) add_entry(B, 6 * (sunindextype)s->body[side] + k, col, column[k]);
  }
}

/* Change of the torque point x R^T F, with a constant force, if the body turns about its axis k */
static void put_turn(const Stretch *s, int side, int k, Scatter *K) {
  const int sign         = side ? -1 : 1;
  const sunindextype row = turn_of(s->body[side]);
  sunrealtype e[3]       = {0, 0, 0}, F[3], turned[3], column[3];
  e[k]                   = 1;
  to_body(&s->pose[side], s->e, F);
  cross3(e, F, turned);
  cross3(s->point[side], turned, column);
  for (int i = 0; i < 3; i++) add_entry(K, row + i, row + k, -sign * s->tension * column[i]);
}

void rigid_body_spring_jac(const RigidBodies *bodies, const sunrealtype *q, const sunrealtype *u,
                           Scatter *K, Scatter *C) {
  static const sunrealtype none[3];
  for (int i = 0; i < 2 * bodies->nsprings; i++) {
    const Stretch s = stretch_of(bodies, &bodies->spring[i / 2], q, u);
    const int side = i % 2, sign = side ? 1 : -1;
    const Pose *pose = &s.pose[side];
    if (s.body[side] == GROUND) continue;
    for (int k = 0; k < 3; k++) {
      const sunindextype centre = turn_of(s.body[side]) - 3 + k, turn = centre + 3;
      sunrealtype t[3], about[3], moved[3], swung[3], turning[3];
      for (int l = 0; l < 3; l++) {
        t[l]     = sign * (l == k);
        about[l] = sign * pose->R[l][k];
      }
      cross3(about, s.x[side], moved);
      cross3(pose->w, s.x[side], turning);
      cross3(about, turning, swung);
      put_change(bodies, &s, t, none, centre, K);
      put_change(bodies, &s, none, t, centre, C);
      put_change(bodies, &s, moved, swung, turn, K);
      put_change(bodies, &s, none, moved, turn, C);
      put_turn(&s, side, k, K);
    }
  }
}
