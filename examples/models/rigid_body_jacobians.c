/* Partial derivatives, for angular velocities in body axes. A rotation by the small vector phi, in the
 * body's axes, turns a vector x that is fixed in the body, R x in space, by R (phi x x), and one that is
 * fixed in space, R^T x in the body, by -phi x R^T x. Of each body,
 *
 *   f - M u' - A^T lambda:   C += (J e_k) x omega + (J omega) x e_k                         gyroscopic
 *   ball joint:              K += sign s x (e_k x R^T lambda)                               own
 *   n . h with the weight w: K += w own x (e_k x other),   K += -w own x Q (e_k x h_0)      own, other
 *   damper d:                K += d (Q omega_o) x e_k,     K += d Q (e_k x omega_o)
 *                            C -= d,                       C += d Q
 *
 * for the column k, Q from the other body's axes to the own, n . h a row of a revolute joint with its
 * multiplier w or a spring with w = -k; and with x, x', x'' of a vector fixed in a body, t = R e_k,
 *
 *   b - A u' = -(x_a'' - x_b''):                      Bq -= sign t x x'',  Bu -= sign (t x x' + w x (t x x))
 *   b - A u' = -(n'' . h + 2 n' . h' + n . h''):      the same of n and of h
 */
#include "rigid_body_impl.h"

#include "scatter.h"

/* Column of the rotation of body i, and row */
static sunindextype turn_of(int i) { return 6 * (sunindextype)i + 3; }

/* column k of the block at the bodies `row` and `col`: B += scale x */
static void add_column(Scatter *B, int row, int col, int k, sunrealtype scale,
                       const sunrealtype x[3]) {
  for (int i = 0; i < 3; i++) add_entry(B, turn_of(row) + i, turn_of(col) + k, scale * x[i]);
}

static void unit(int k, sunrealtype e[3]) {
  for (int i = 0; i < 3; i++) e[i] = i == k;
}

/* One body of a joint as seen from itself, and the other one */
typedef struct {
  int body, other;           /* GROUND: none */
  const Pose *own, *partner; /* their poses */
  sunrealtype sign;          /* of the own columns in A */
} Side;

/* y = Q x, from the other body's axes to the own; x is not y */
static void from_partner(const Side *s, const sunrealtype x[3], sunrealtype y[3]) {
  sunrealtype in_space[3];
  to_space(s->partner, x, in_space);
  to_body(s->own, in_space, y);
}

/* -------------------------------------------------------------------------------- K and C -- */

/* The torque -sign s x R^T lambda of a ball joint at s */
static void ball_stiffness(const Side *side, const sunrealtype s[3], const sunrealtype *lambda,
                           Scatter *K) {
  sunrealtype force[3], e[3], turned[3], column[3];
  to_body(side->own, lambda, force);
  for (int k = 0; k < 3; k++) {
    unit(k, e);
    cross3(e, force, turned);
    cross3(s, turned, column);
    add_column(K, side->body, side->body, k, side->sign, column);
  }
}

/* The torque -w n_0 x (h_0 of the other body) */
static void pair_stiffness(const Side *side, sunrealtype w, const sunrealtype own[3],
                           const sunrealtype fixed[3], Scatter *K) {
  sunrealtype other[3], e[3], turned[3], seen[3], column[3];
  from_partner(side, fixed, other);
  for (int k = 0; k < 3; k++) {
    unit(k, e);
    cross3(e, other, turned);
    cross3(own, turned, column);
    add_column(K, side->body, side->body, k, w, column);
    if (side->other == GROUND) continue;
    cross3(e, fixed, turned);
    from_partner(side, turned, seen);
    cross3(own, seen, column);
    add_column(K, side->body, side->other, k, -w, column);
  }
}

/* The torque -d (omega - Q omega_o) */
static void damping(const Side *side, sunrealtype d, Scatter *K, Scatter *C) {
  sunrealtype rate[3], omega[3], e[3], turned[3], column[3];
  to_body(side->partner, side->partner->w, rate); /* omega_o in its own axes */
  from_partner(side, rate, omega);
  for (int k = 0; k < 3; k++) {
    unit(k, e);
    cross3(omega, e, column);
    add_column(K, side->body, side->body, k, d, column);
    add_column(C, side->body, side->body, k, -d, e);
    if (side->other == GROUND) continue;
    cross3(e, rate, turned);
    from_partner(side, turned, column);
    add_column(K, side->body, side->other, k, d, column);
    from_partner(side, e, column);
    add_column(C, side->body, side->other, k, d, column);
  }
}

static void gyroscopic(const RigidBody *body, int i, const sunrealtype omega[3], Scatter *C) {
  sunrealtype e[3], spin[3], column[3];
  for (int k = 0; k < 3; k++) spin[k] = body->J[k] * omega[k];
  for (int k = 0; k < 3; k++) {
    unit(k, e);
    cross3(e, omega, column);
    add_column(C, i, i, k, body->J[k], column);
    cross3(spin, e, column);
    add_column(C, i, i, k, 1, column);
  }
}

static void joint_side(const Joint *joint, const Side *side, int is_a, const sunrealtype *lambda,
                       Scatter *K, Scatter *C) {
  const sunrealtype *own = is_a ? joint->axis_a : joint->axis_b,
                    *far = is_a ? joint->axis_b : joint->axis_a;
  ball_stiffness(side, is_a ? joint->point_a : joint->point_b, lambda, K);
  if (joint->kind == JOINT_REVOLUTE) {
    sunrealtype n[2][3];
    joint_normals(joint->axis_a, n);
    for (int k = 0; k < 2; k++)
      pair_stiffness(side, lambda[3 + k], is_a ? n[k] : own, is_a ? far : n[k], K);
  } else if (joint->k != 0) {
    pair_stiffness(side, -joint->k, own, far, K);
  }
  if (joint->kind == JOINT_BALL && joint->d != 0) damping(side, joint->d, K, C);
}

static void fill_dynamics(const RigidBodies *bodies, const sunrealtype *q, const sunrealtype *u,
                          const sunrealtype *lambda, Scatter *K, Scatter *C) {
  for (int i = 0; i < bodies->nbodies; i++) {
    gyroscopic(&bodies->body[i], i, u + turn_of(i), C);
    add_entry(K, turn_of(i), turn_of(i), 0); /* a pattern must not be empty, and is without joints */
  }
  for (int j = 0; j < bodies->njoints; j++) {
    const Joint *joint = &bodies->joint[j];
    const Pose a       = rigid_body_pose(bodies, joint->a, q, u),
               b       = rigid_body_pose(bodies, joint->b, q, u);
    const Side of_a = {joint->a, joint->b, &a, &b, 1}, of_b = {joint->b, joint->a, &b, &a, -1};
    if (joint->a != GROUND) joint_side(joint, &of_a, 1, lambda, K, C);
    if (joint->b != GROUND) joint_side(joint, &of_b, 0, lambda, K, C);
    lambda += joint_rows(joint);
  }
}

int rigid_body_dynamics_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                            const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                            SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *user_data) {
  (void)t, (void)z, (void)udot, (void)Fz;
  Scatter to_K = {.S = K}, to_C = {.S = C};
  fill_dynamics(user_data, q, u, lambda, &to_K, &to_C);
  return 0;
}

/* ------------------------------------------------------------------------------ Bq and Bu -- */

/* Of a vector that is fixed in a body, in space */
typedef struct {
  sunrealtype x[3], rate[3], acc[3];
} Moving;

static Moving moving(const Pose *pose, const sunrealtype alpha[3], const sunrealtype fixed[3]) {
  Moving m;
  sunrealtype tangential[3], normal[3];
  to_space(pose, fixed, m.x);
  cross3(pose->w, m.x, m.rate);
  cross3(alpha, m.x, tangential);
  cross3(pose->w, m.rate, normal);
  for (int k = 0; k < 3; k++) m.acc[k] = tangential[k] + normal[k];
  return m;
}

/* by_q: where the body is turned by t; by_u: where t is added to its angular velocity w */
static void derivatives(const Moving *m, const sunrealtype w[3], const sunrealtype t[3],
                        Moving *by_q, Moving *by_u) {
  sunrealtype first[3], second[3];
  cross3(t, m->x, by_q->x);
  cross3(t, m->rate, by_q->rate);
  cross3(t, m->acc, by_q->acc);
  cross3(t, m->rate, first);
  cross3(w, by_q->x, second);
  for (int k = 0; k < 3; k++) {
    by_u->x[k]    = 0;
    by_u->rate[k] = by_q->x[k];
    by_u->acc[k]  = first[k] + second[k];
  }
}

/* (n . h)'' for n, with h held, linear in n */
static sunrealtype second_rate(const Moving *n, const Moving *h) {
  return dot3(n->acc, h->x) + 2 * dot3(n->rate, h->rate) + dot3(n->x, h->acc);
}

/* The rows from `row` on, in the rotation's columns of one side; n [2] (revolute joints) are the own
   vectors and h [2] the other's: alpha, alpha_o are the angular accelerations in space */
static void side_columns(const Joint *joint, const Side *side, int is_a, const sunrealtype alpha[3],
                         const sunrealtype alpha_o[3], sunindextype row, Scatter *Bq, Scatter *Bu) {
  const Moving arm = moving(side->own, alpha, is_a ? joint->point_a : joint->point_b);
  Moving n[2], h[2], by_q, by_u;
  if (joint->kind == JOINT_REVOLUTE) {
    sunrealtype normal[2][3];
    joint_normals(joint->axis_a, normal);
    for (int k = 0; k < 2; k++) {
      n[k] = moving(side->own, alpha, is_a ? normal[k] : joint->axis_b);
      h[k] = moving(side->partner, alpha_o, is_a ? joint->axis_b : normal[k]);
    }
  }
  for (int k = 0; k < 3; k++) {
    const sunindextype col = turn_of(side->body) + k;
    sunrealtype e[3], t[3];
    unit(k, e);
    to_space(side->own, e, t);
    derivatives(&arm, side->own->w, t, &by_q, &by_u);
    for (int i = 0; i < 3; i++) {
      add_entry(Bq, row + i, col, -side->sign * by_q.acc[i]);
      add_entry(Bu, row + i, col, -side->sign * by_u.acc[i]);
    }
    for (int i = 0; i < 2 && joint->kind == JOINT_REVOLUTE; i++) {
      derivatives(&n[i], side->own->w, t, &by_q, &by_u);
      add_entry(Bq, row + 3 + i, col, -second_rate(&by_q, &h[i]));
      add_entry(Bu, row + 3 + i, col, -second_rate(&by_u, &h[i]));
    }
  }
}

/* Angular acceleration in space; of the ground, 0 */
static void acceleration(const Pose *pose, int i, const sunrealtype *udot, sunrealtype alpha[3]) {
  const sunrealtype zero[3] = {0, 0, 0};
  to_space(pose, i == GROUND ? zero : udot + turn_of(i), alpha);
}

static void fill_constraints(const RigidBodies *bodies, const sunrealtype *q, const sunrealtype *u,
                             const sunrealtype *udot, Scatter *Bq, Scatter *Bu) {
  sunindextype row = 0;
  for (int j = 0; j < bodies->njoints; j++) {
    const Joint *joint = &bodies->joint[j];
    const Pose a       = rigid_body_pose(bodies, joint->a, q, u),
               b       = rigid_body_pose(bodies, joint->b, q, u);
    const Side of_a = {joint->a, joint->b, &a, &b, 1}, of_b = {joint->b, joint->a, &b, &a, -1};
    sunrealtype alpha_a[3], alpha_b[3];
    acceleration(&a, joint->a, udot, alpha_a);
    acceleration(&b, joint->b, udot, alpha_b);
    if (joint->a != GROUND) side_columns(joint, &of_a, 1, alpha_a, alpha_b, row, Bq, Bu);
    if (joint->b != GROUND) side_columns(joint, &of_b, 0, alpha_b, alpha_a, row, Bq, Bu);
    row += joint_rows(joint);
  }
}

int rigid_body_constraint_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                              const sunrealtype *udot, SUNMatrix Bq, SUNMatrix Bu, void *user_data) {
  (void)t;
  Scatter to_Bq = {.S = Bq}, to_Bu = {.S = Bu};
  fill_constraints(user_data, q, u, udot, &to_Bq, &to_Bu);
  return 0;
}

/* -------------------------------------------------------------------------------- templates -- */

int rigid_body_jac_templates(const RigidBodies *bodies, const sunrealtype *q,
                             const sunrealtype *zero, SUNContext ctx, CPMechModel *model) {
  Scatter K = {0}, C = {0}, Bq = {0}, Bu = {0};
  fill_dynamics(bodies, q, zero, zero, &K, &C);
  model->K_tmpl = scatter_template(&K, model->nu, model->nu, ctx);
  model->C_tmpl = scatter_template(&C, model->nu, model->nu, ctx);
  if (!model->K_tmpl || !model->C_tmpl) return -1;
  if (model->np == 0) return 0;
  fill_constraints(bodies, q, zero, zero, &Bq, &Bu);
  model->Bq_tmpl = scatter_template(&Bq, model->np, model->nu, ctx);
  model->Bu_tmpl = scatter_template(&Bu, model->np, model->nu, ctx);
  return model->Bq_tmpl && model->Bu_tmpl ? 0 : -1;
}
