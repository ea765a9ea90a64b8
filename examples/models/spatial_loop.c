#include "spatial_loop.h"

#include "extrapolation.h"
#include "quaternions.h"
#include "rigid_body_impl.h"

#include <nvector/nvector_serial.h>

void spatial_loop_create(SpatialLoop *loop, const LoopShape *shape) {
  const int n = shape->n;
  *loop       = (SpatialLoop){.shape = *shape};
  for (int i = 0; i < n; i++) {
    loop->body[i].m = shape->m[i];
    for (int k = 0; k < 3; k++) loop->body[i].J[k] = shape->J[i][k];
  }
  for (int j = 0; j <= n; j++) {
    Joint *joint = &loop->joint[j];
    joint->kind  = JOINT_REVOLUTE;
    joint->a     = j == 0 ? GROUND : j - 1;
    joint->b     = j == n ? GROUND : j;
    for (int k = 0; k < 3; k++) {
      const sunrealtype at = shape->point[j][k];
      joint->axis_a[k] = joint->axis_b[k] = shape->axis[j][k];
      joint->point_a[k]                   = j == 0 ? at : (at - shape->point[j - 1][k]) / 2;
      joint->point_b[k]                   = j == n ? at : (at - shape->point[j + 1][k]) / 2;
    }
  }
  loop->bodies = (RigidBodies){.nbodies    = n,
                               .njoints    = n + 1,
                               .body       = loop->body,
                               .joint      = loop->joint,
                               .g          = {shape->g[0], shape->g[1], shape->g[2]},
                               .frame      = CP_FRAME_BODY,
                               .quaternion = loop->quaternion};
}

/* A body at s: attitude, and derivatives with respect to s of angle and centre */
typedef struct {
  sunrealtype e[4];
  Pose pose; /* r, R; v = dr/ds, w = dphi/ds */
  sunrealtype w_s[3], r_ss[3];
} Link;

/* Adds an arm that is fixed in the body, and its derivatives, to x, x_s, x_ss */
static void add_arm(const Link *link, const sunrealtype arm[3], sunrealtype x[3],
                    sunrealtype x_s[3], sunrealtype x_ss[3]) {
  sunrealtype c[3], tangent[3], turned[3], centripetal[3];
  to_space(&link->pose, arm, c);
  cross3(link->pose.w, c, tangent);
  cross3(link->w_s, c, turned);
  cross3(link->pose.w, tangent, centripetal);
  for (int k = 0; k < 3; k++) {
    x[k] += c[k];
    x_s[k] += tangent[k];
    x_ss[k] += turned[k] + centripetal[k];
  }
}

/* Body j turns about its joint with the body before */
static void turn(const LoopShape *shape, int j, sunrealtype s, const Link *before, Link *link) {
  sunrealtype alpha[3], h[3], h_s[3];
  shape->angles(shape->data, j, s, alpha);
  quaternion_turned(before->e, shape->axis[j], alpha[0], link->e);
  to_space(&before->pose, shape->axis[j], h);
  cross3(before->pose.w, h, h_s);
  for (int k = 0; k < 3; k++) {
    link->pose.w[k] = before->pose.w[k] + h[k] * alpha[1];
    link->w_s[k]    = before->w_s[k] + h_s[k] * alpha[1] + h[k] * alpha[2];
  }
  const sunrealtype q[7] = {0, 0, 0, link->e[0], link->e[1], link->e[2], link->e[3]};
  const RigidBodies one  = {.nbodies = 1};
  const Pose turned      = rigid_body_pose(&one, 0, q, NULL);
  for (int k = 0; k < 9; k++) link->pose.R[k / 3][k % 3] = turned.R[k / 3][k % 3];
}

static void all_links(const SpatialLoop *loop, sunrealtype s, Link *link) {
  const LoopShape *shape = &loop->shape;
  const Link ground      = {.e = {1}, .pose = {.R = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}};
  sunrealtype P[3], P_s[3] = {0, 0, 0}, P_ss[3] = {0, 0, 0};
  for (int k = 0; k < 3; k++) P[k] = shape->point[0][k];
  for (int j = 0; j < shape->n; j++) {
    turn(shape, j, s, j ? &link[j - 1] : &ground, &link[j]);
    for (int half = 0; half < 2; half++) { /* to the centre, then to the next joint */
      add_arm(&link[j], loop->joint[j + 1].point_a, P, P_s, P_ss);
      if (half) break;
      for (int k = 0; k < 3; k++) {
        link[j].pose.r[k] = P[k];
        link[j].pose.v[k] = P_s[k];
        link[j].r_ss[k]   = P_ss[k];
      }
    }
  }
}

/* state (s, s') */
static int loop_rhs(sunrealtype t, N_Vector state, N_Vector rate, void *user_data) {
  (void)t;
  const SpatialLoop *loop = user_data;
  const sunrealtype s = N_VGetArrayPointer(state)[0], ds = N_VGetArrayPointer(state)[1];
  sunrealtype mass = 0, force = 0;
  Link link[LOOP_BODIES];
  all_links(loop, s, link);
  for (int i = 0; i < loop->shape.n; i++) {
    const RigidBody *body = &loop->body[i];
    const Pose *pose      = &link[i].pose;
    sunrealtype w[3], w_s[3];
    to_body(pose, pose->w, w);
    to_body(pose, link[i].w_s, w_s);
    for (int k = 0; k < 3; k++) {
      mass += body->m * pose->v[k] * pose->v[k] + body->J[k] * w[k] * w[k];
      force += body->m * pose->v[k] * (loop->shape.g[k] - ds * ds * link[i].r_ss[k]) -
               ds * ds * body->J[k] * w[k] * w_s[k];
    }
  }
  N_VGetArrayPointer(rate)[0] = ds;
  N_VGetArrayPointer(rate)[1] = force / mass;
  return 0;
}

void spatial_loop_place(const SpatialLoop *loop, sunrealtype s, sunrealtype rate, N_Vector y) {
  const int n    = loop->shape.n;
  sunrealtype *q = N_VGetArrayPointer(y), *u = q + 7 * n;
  Link link[LOOP_BODIES];
  all_links(loop, s, link);
  for (int i = 0; i < n; i++) {
    sunrealtype w[3];
    to_body(&link[i].pose, link[i].pose.w, w);
    for (int k = 0; k < 4; k++) q[7 * i + 3 + k] = link[i].e[k];
    for (int k = 0; k < 3; k++) {
      q[7 * i + k]     = link[i].pose.r[k];
      u[6 * i + k]     = rate * link[i].pose.v[k];
      u[6 * i + 3 + k] = rate * w[k];
    }
  }
}

int spatial_loop_motion(const SpatialLoop *loop, sunrealtype t, int nsteps, SUNContext ctx,
                        sunrealtype s[2]) {
  if (t == 0) return 0;
  N_Vector state = N_VMake_Serial(2, s, ctx);
  const int flag = state ? extrapolate(loop_rhs, (void *)loop, 0, t, nsteps, state) : -1;
  if (state) N_VDestroy(state);
  return flag ? -1 : 0;
}
