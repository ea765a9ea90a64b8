/* The joints' rows. With x_i = R_i s_i and omega in space,
 *
 *   p   = r_a + x_a - r_b - x_b                               n . h,   n = R_a n_k, h = R_b axis_b
 *   p'  = v_a + omega_a x x_a - v_b - omega_b x x_b           (omega_a - omega_b) . (n x h)
 *   p'' = A u' - b,   b = -omega_a x (omega_a x x_a) + omega_b x (omega_b x x_b)
 *                     b = -(omega_a - omega_b) . ((omega_a x n) x h + n x (omega_b x h))
 *
 * also with omega in body axes, since the derivatives of both have the same components there.
 */
#include "rigid_body_impl.h"

#include <math.h>

/* A joint at one state */
typedef struct {
  Pose a, b;
  sunrealtype xa[3], xb[3];
  sunrealtype n[2][3], h[3];
} State;

/* Two unit vectors perpendicular to the unit vector `axis` and to each other */
static void normals(const sunrealtype axis[3], sunrealtype n[2][3]) {
  int least = 0; /* the direction that the axis is farthest from */
  for (int k = 1; k < 3; k++)
    if (fabs(axis[k]) < fabs(axis[least])) least = k;
  sunrealtype e[3] = {0, 0, 0};
  e[least]         = 1;
  cross3(axis, e, n[0]);
  const sunrealtype size = sqrt(dot3(n[0], n[0]));
  for (int k = 0; k < 3; k++) n[0][k] /= size;
  cross3(axis, n[0], n[1]);
}

static State state_of(const RigidBodies *bodies, const Joint *joint, const sunrealtype *q,
                      const sunrealtype *u) {
  State s = {.a = rigid_body_pose(bodies, joint->a, q, u),
             .b = rigid_body_pose(bodies, joint->b, q, u)};
  to_space(&s.a, joint->point_a, s.xa);
  to_space(&s.b, joint->point_b, s.xb);
  if (joint->kind != JOINT_REVOLUTE) return s;
  sunrealtype n[2][3];
  normals(joint->axis_a, n);
  for (int k = 0; k < 2; k++) to_space(&s.a, n[k], s.n[k]);
  to_space(&s.b, joint->axis_b, s.h);
  return s;
}

int rigid_body_positions(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t;
  const RigidBodies *bodies = user_data;
  for (int j = 0; j < bodies->njoints; j++) {
    const State s = state_of(bodies, &bodies->joint[j], q, NULL);
    for (int k = 0; k < 3; k++) *p++ = s.a.r[k] + s.xa[k] - s.b.r[k] - s.xb[k];
    for (int k = 0; k < 2 && bodies->joint[j].kind == JOINT_REVOLUTE; k++) *p++ = dot3(s.n[k], s.h);
  }
  return 0;
}

int rigid_body_velocities(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                          void *user_data) {
  (void)t;
  const RigidBodies *bodies = user_data;
  sunrealtype from_a[3], from_b[3], c[3];
  for (int j = 0; j < bodies->njoints; j++) {
    const State s = state_of(bodies, &bodies->joint[j], q, u);
    cross3(s.a.w, s.xa, from_a);
    cross3(s.b.w, s.xb, from_b);
    for (int k = 0; k < 3; k++) *v++ = s.a.v[k] + from_a[k] - s.b.v[k] - from_b[k];
    for (int k = 0; k < 2 && bodies->joint[j].kind == JOINT_REVOLUTE; k++) {
      cross3(s.n[k], s.h, c);
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
  sunrealtype from_a[3], from_b[3], n_rate[3], h_rate[3];
  for (int j = 0; j < bodies->njoints; j++) {
    const State s = state_of(bodies, &bodies->joint[j], q, u);
    centripetal(s.a.w, s.xa, from_a);
    centripetal(s.b.w, s.xb, from_b);
    for (int k = 0; k < 3; k++) *b++ = from_b[k] - from_a[k];
    for (int k = 0; k < 2 && bodies->joint[j].kind == JOINT_REVOLUTE; k++) {
      cross3(s.a.w, s.n[k], n_rate);
      cross3(s.b.w, s.h, h_rate);
      cross3(n_rate, s.h, from_a);
      cross3(s.n[k], h_rate, from_b);
      *b = 0;
      for (int i = 0; i < 3; i++) *b -= (s.a.w[i] - s.b.w[i]) * (from_a[i] + from_b[i]);
      b++;
    }
  }
  return 0;
}

/* Column k of one of the joint's bodies, a or b, in the joint's rows, from `row` on: 0 ... 2 its
   centre's, 3 ... 5 its rotation's */
static void put_joint(const RigidBodies *bodies, const Joint *joint, const State *s, int of_a,
                      int k, sunindextype row, Columns *col) {
  const Pose *pose       = of_a ? &s->a : &s->b;
  const sunrealtype sign = of_a ? 1 : -1;
  if (k < 3) {
    put_entry(col, row + k, sign);
    return;
  }
  sunrealtype turn[3] = {0, 0, 0}, c[3]; /* the rotation's direction in space */
  for (int i = 0; i < 3; i++)
    turn[i] = bodies->frame == CP_FRAME_BODY ? pose->R[i][k - 3] : (i == k - 3);
  cross3(turn, of_a ? s->xa : s->xb, c);
  for (int i = 0; i < 3; i++) put_entry(col, row + i, sign * c[i]);
  for (int i = 0; i < 2 && joint->kind == JOINT_REVOLUTE; i++) {
    cross3(s->n[i], s->h, c);
    put_entry(col, row + 3 + i, sign * dot3(turn, c));
  }
}

int rigid_body_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t;
  const RigidBodies *bodies = user_data;
  Columns col               = columns_of(A);
  for (int body = 0; body < bodies->nbodies; body++)
    for (int k = 0; k < 6; k++, next_column(&col)) {
      sunindextype row = 0;
      for (int j = 0; j < bodies->njoints; j++) {
        const Joint *joint = &bodies->joint[j];
        if (joint->a == body || joint->b == body) {
          const State s = state_of(bodies, joint, q, NULL);
          put_joint(bodies, joint, &s, joint->a == body, k, row, &col);
        }
        row += joint->kind == JOINT_REVOLUTE ? 5 : 3;
      }
    }
  return 0;
}
