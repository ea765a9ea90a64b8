/* The joints' rows. With x_i = R_i s_i and omega in space, d = r_b + x_b - r_a - x_a,
 *
 *   p   = r_a + x_a - r_b - x_b                               n . h,   n = R_a n_k, h = R_b axis_b
 *   p'  = v_a + omega_a x x_a - v_b - omega_b x x_b           (omega_a - omega_b) . (n x h)
 *   p'' = A u' - b,   b = -omega_a x (omega_a x x_a) + omega_b x (omega_b x x_b)
 *                     b = -(omega_a - omega_b) . ((omega_a x n) x h + n x (omega_b x h))
 *
 *   prismatic, n = R_a n_k:   p = n . d,   p' = n . d' + (omega_a x n) . d
 *                     b = -n . (omega_b x (omega_b x x_b) - omega_a x (omega_a x x_a))
 *                         - 2 (omega_a x n) . d' - (omega_a x (omega_a x n)) . d
 *
 * also with omega in body axes, since the derivatives of both have the same components there.
 */
#include "rigid_body_impl.h"

#include <math.h>

/* A joint at one state */
typedef struct {
  Pose a, b;
  sunrealtype xa[3], xb[3], d[3];
  int npairs;
  sunrealtype n[3][3], h[3][3]; /* the pairs, in space */
} State;

/* Two unit vectors perpendicular to the unit vector `axis` and to each other */
static void normals(const sunrealtype axis[3], sunrealtype n[2][3]) {
  int least = 0; /* the coordinate direction from which the axis is farthest */
  for (int k = 1; k < 3; k++)
    if (fabs(axis[k]) < fabs(axis[least])) least = k;
  sunrealtype e[3] = {0, 0, 0};
  e[least]         = 1;
  cross3(axis, e, n[0]);
  const sunrealtype size = sqrt(dot3(n[0], n[0]));
  for (int k = 0; k < 3; k++) n[0][k] /= size;
  cross3(axis, n[0], n[1]);
}

Pairs joint_pairs(const Joint *joint) {
  Pairs pairs = {.n = joint->kind == JOINT_BALL ? 0 : joint->kind == JOINT_REVOLUTE ? 2 : 3};
  sunrealtype across[2][3];
  if (pairs.n == 0) return pairs;
  normals(joint->axis_a, pairs.a);
  normals(joint->axis_b, across);
  for (int i = 0; i < 3; i++) {
    pairs.a[2][i] = pairs.a[0][i];
    pairs.b[0][i] = pairs.b[1][i] = joint->axis_b[i];
    pairs.b[2][i]                 = across[1][i];
  }
  return pairs;
}

static State state_of(const RigidBodies *bodies, const Joint *joint, const sunrealtype *q,
                      const sunrealtype *u) {
  State s = {.a = rigid_body_pose(bodies, joint->a, q, u),
             .b = rigid_body_pose(bodies, joint->b, q, u)};
  to_space(&s.a, joint->point_a, s.xa);
  to_space(&s.b, joint->point_b, s.xb);
  for (int k = 0; k < 3; k++) s.d[k] = s.b.r[k] + s.xb[k] - s.a.r[k] - s.xa[k];
  const Pairs pairs = joint_pairs(joint);
  s.npairs          = pairs.n;
  for (int k = 0; k < pairs.n; k++) {
    to_space(&s.a, pairs.a[k], s.n[k]);
    to_space(&s.b, pairs.b[k], s.h[k]);
  }
  return s;
}

int rigid_body_positions(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t;
  const RigidBodies *bodies = user_data;
  for (int j = 0; j < bodies->njoints; j++) {
    const Joint *joint = &bodies->joint[j];
    const State s      = state_of(bodies, joint, q, NULL);
    for (int k = 0; k < joint_points(joint); k++)
      *p++ = joint->kind == JOINT_PRISMATIC ? dot3(s.n[k], s.d) : -s.d[k];
    for (int k = 0; k < s.npairs; k++) *p++ = dot3(s.n[k], s.h[k]);
  }
  return 0;
}

int rigid_body_velocities(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                          void *user_data) {
  (void)t;
  const RigidBodies *bodies = user_data;
  sunrealtype from_a[3], from_b[3], d_rate[3], c[3];
  for (int j = 0; j < bodies->njoints; j++) {
    const Joint *joint = &bodies->joint[j];
    const State s      = state_of(bodies, joint, q, u);
    cross3(s.a.w, s.xa, from_a);
    cross3(s.b.w, s.xb, from_b);
    for (int k = 0; k < 3; k++) d_rate[k] = s.b.v[k] + from_b[k] - s.a.v[k] - from_a[k];
    for (int k = 0; k < joint_points(joint); k++) {
      cross3(s.a.w, s.n[k], c);
      *v++ = joint->kind == JOINT_PRISMATIC ? dot3(s.n[k], d_rate) + dot3(c, s.d) : -d_rate[k];
    }
    for (int k = 0; k < s.npairs; k++) {
      cross3(s.n[k], s.h[k], c);
      *v++ = dot3(s.a.w, c) - dot3(s.b.w, c);
    }
  }
  return 0;
}

/* c = w x (w x x) */
static void centripetal(const sunrealtype w[3], const sunrealtype x[3], sunrealtype c[3]) {
  sunrealtype wx[3];
  cross3(w, x, wx);
  cross3(w, wx, c);
}

int rigid_body_accelerations(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                             sunrealtype *b, void *user_data) {
  (void)t;
  const RigidBodies *bodies = user_data;
  sunrealtype from_a[3], from_b[3], d_rate[3], n_rate[3], h_rate[3];
  for (int j = 0; j < bodies->njoints; j++) {
    const Joint *joint = &bodies->joint[j];
    const State s      = state_of(bodies, joint, q, u);
    cross3(s.a.w, s.xa, from_a);
    cross3(s.b.w, s.xb, from_b);
    for (int k = 0; k < 3; k++) d_rate[k] = s.b.v[k] + from_b[k] - s.a.v[k] - from_a[k];
    centripetal(s.a.w, s.xa, from_a);
    centripetal(s.b.w, s.xb, from_b);
    for (int k = 0; k < joint_points(joint); k++) {
      *b = from_b[k] - from_a[k];
      if (joint->kind == JOINT_PRISMATIC) {
        sunrealtype n_acc[3];
        cross3(s.a.w, s.n[k], n_rate);
        centripetal(s.a.w, s.n[k], n_acc);
        *b = dot3(s.n[k], from_a) - dot3(s.n[k], from_b) - 2 * dot3(n_rate, d_rate) -
             dot3(n_acc, s.d);
      }
      b++;
    }
    for (int k = 0; k < s.npairs; k++) {
      cross3(s.a.w, s.n[k], n_rate);
      cross3(s.b.w, s.h[k], h_rate);
      cross3(n_rate, s.h[k], from_a);
      cross3(s.n[k], h_rate, from_b);
      *b = 0;
      for (int i = 0; i < 3; i++) *b -= (s.a.w[i] - s.b.w[i]) * (from_a[i] + from_b[i]);
      b++;
    }
  }
  return 0;
}

/* The joint's rows, from `row` on, in the columns of one of its bodies: three of the centre, three of the
   rotation. A prismatic joint turns d with a: its arm there is x_a + d */
static void put_joint(const RigidBodies *bodies, const Joint *joint, const State *s, int of_a,
                      sunindextype row, Scatter *A) {
  const Pose *pose        = of_a ? &s->a : &s->b;
  const sunrealtype sign  = of_a ? 1 : -1;
  const sunindextype left = 6 * (sunindextype)(of_a ? joint->a : joint->b);
  const int slides = joint->kind == JOINT_PRISMATIC, npoints = joint_points(joint);
  sunrealtype arm[3];
  for (int k = 0; k < 3; k++) arm[k] = of_a ? s->xa[k] + (slides ? s->d[k] : 0) : s->xb[k];
  for (int k = 0; k < 3; k++) {
    sunrealtype turn[3], c[3]; /* the rotation's direction in space */
    for (int i = 0; i < 3; i++) turn[i] = bodies->frame == CP_FRAME_BODY ? pose->R[i][k] : i == k;
    cross3(turn, arm, c);
    for (int i = 0; i < npoints; i++) {
      if (slides) add_entry(A, row + i, left + k, -sign * s->n[i][k]);
      else if (i == k) add_entry(A, row + i, left + k, sign);
      add_entry(A, row + i, left + 3 + k, sign * (slides ? -dot3(s->n[i], c) : c[i]));
    }
    for (int i = 0; i < s->npairs; i++) {
      cross3(s->n[i], s->h[i], c);
      add_entry(A, row + npoints + i, left + 3 + k, sign * dot3(turn, c));
    }
  }
}

static void fill_matrix(const RigidBodies *bodies, const sunrealtype *q, Scatter *A) {
  sunindextype row = 0;
  for (int j = 0; j < bodies->njoints; j++) {
    const Joint *joint = &bodies->joint[j];
    const State s      = state_of(bodies, joint, q, NULL);
    if (joint->a != GROUND) put_joint(bodies, joint, &s, 1, row, A);
    if (joint->b != GROUND) put_joint(bodies, joint, &s, 0, row, A);
    row += joint_rows(joint);
  }
}

int rigid_body_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t;
  Scatter to_A = scatter_to(A);
  fill_matrix(user_data, q, &to_A);
  return 0;
}

SUNMatrix rigid_body_matrix_template(const RigidBodies *bodies, const sunrealtype *q,
                                     SUNContext ctx) {
  Scatter A = {0};
  fill_matrix(bodies, q, &A);
  return scatter_template(&A, rigid_body_rows(bodies), 6 * (sunindextype)bodies->nbodies, ctx);
}

/* ---------------------------------------------------------------------- springs and dampers -- */

/* f += sign torque on body i, in the axes of its angular velocity */
static void add_torque(const RigidBodies *bodies, int i, const Pose *pose, sunrealtype sign,
                       const sunrealtype torque[3], sunrealtype *f) {
  sunrealtype own[3] = {torque[0], torque[1], torque[2]};
  if (i == GROUND) return;
  if (bodies->frame == CP_FRAME_BODY) to_body(pose, torque, own);
  for (int k = 0; k < 3; k++) f[6 * i + 3 + k] += sign * own[k];
}

/* The joint's axis in both bodies, in space */
static void axes_of(const Joint *joint, const State *s, sunrealtype a[3], sunrealtype b[3]) {
  to_space(&s->a, joint->axis_a, a);
  to_space(&s->b, joint->axis_b, b);
}

static int has_spring(const Joint *joint) {
  return joint->kind == JOINT_BALL && (joint->k != 0 || joint->d != 0);
}

/* k a x b - d (omega_a - omega_b) on body a, the opposite on body b */
void rigid_body_torques(const RigidBodies *bodies, const sunrealtype *q, const sunrealtype *u,
                        sunrealtype *f) {
  for (int j = 0; j < bodies->njoints; j++) {
    const Joint *joint = &bodies->joint[j];
    if (!has_spring(joint)) continue;
    const State s = state_of(bodies, joint, q, u);
    sunrealtype a[3], b[3], torque[3];
    axes_of(joint, &s, a, b);
    cross3(a, b, torque);
    for (int k = 0; k < 3; k++) torque[k] = joint->k * torque[k] - joint->d * (s.a.w[k] - s.b.w[k]);
    add_torque(bodies, joint->a, &s.a, 1, torque, f);
    add_torque(bodies, joint->b, &s.b, -1, torque, f);
  }
}

/* |a - b|^2 / 2 = 1 - a . b, without cancellation */
sunrealtype rigid_body_bending_energy(const RigidBodies *bodies, const sunrealtype *q) {
  sunrealtype energy = 0;
  for (int j = 0; j < bodies->njoints; j++) {
    const Joint *joint = &bodies->joint[j];
    if (!has_spring(joint)) continue;
    const State s = state_of(bodies, joint, q, NULL);
    sunrealtype a[3], b[3];
    axes_of(joint, &s, a, b);
    for (int k = 0; k < 3; k++) energy += joint->k * (a[k] - b[k]) * (a[k] - b[k]) / 2;
  }
  return energy;
}

sunrealtype rigid_body_bending_power(const RigidBodies *bodies, const sunrealtype *q,
                                     const sunrealtype *u) {
  sunrealtype power = 0;
  for (int j = 0; j < bodies->njoints; j++) {
    const Joint *joint = &bodies->joint[j];
    if (!has_spring(joint)) continue;
    const State s = state_of(bodies, joint, q, u);
    for (int k = 0; k < 3; k++) power += joint->d * pow(s.a.w[k] - s.b.w[k], 2);
  }
  return power;
}
