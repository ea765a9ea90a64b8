/* Partial derivatives, for angular velocities in body axes. A rotation by the small vector phi, in the body's axes,
 * changes a vector that is fixed in the body, R x in space, by R (phi x x), and a vector that is fixed in space,
 * R^T x in the body, by -phi x R^T x. The contributions of each body are
 *
 *   f - M u' - A^T lambda:   C += (J e_k) x omega + (J omega) x e_k                         gyroscopic
 *   ball joint:              K += sign s x (e_k x R^T lambda)                               own
 *   n . h with the weight w: K += w own x (e_k x other),   K += -w own x Q (e_k x h_0)      own, other
 *   prismatic joint: F = n_1 lambda_1 + n_2 lambda_2 on a where it meets b, at c = r_b + x_b - r_a, and -F on b: each
 *                    force, and torques c x F and -x_b x F, turn with a and with b, and c grows with r_b - r_a
 *   damper d:                K += d (Q omega_o) x e_k,     K += d Q (e_k x omega_o)
 *                            C -= d,                       C += d Q
 *
 * for the column k, where Q transforms from the other body's axes to its own, and n . h is a row of a revolute joint
 * with its multiplier w, or a spring with w = -k; and with x, x', x'' of a vector fixed in a body, t = R e_k,
 *
 *   b - A u' = -(x_a'' - x_b''):                      Bq -= sign t x x'',  Bu -= sign (t x x' + w x (t x x))
 *   b - A u' = -(n'' . h + 2 n' . h' + n . h''):      the same of n and of h; in prismatic joints h = d, which also
 *                                                     moves with the centres
 */
#include "rigid_body_impl.h"

/* B(row ..., col) += scale x */
static void add_vector(Scatter *B, sunindextype row, sunindextype col, sunrealtype scale,
                       const sunrealtype x[3]) {
  for (int i = 0; i < 3; i++) add_entry(B, row + i, col, scale * x[i]);
}

/* column k of the block at the bodies' rotations `row` and `col`: B += scale x */
static void add_column(Scatter *B, int row, int col, int k, sunrealtype scale,
                       const sunrealtype x[3]) {
  add_vector(B, turn_of(row), turn_of(col) + k, scale, x);
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

/* The forces F and -F of a prismatic joint, fixed in a, in the columns of one of its bodies, with all rows */
static void slide_stiffness(const Joint *joint, const Pose *a, const Pose *b, int of_a,
                            const Pairs *pairs, const sunrealtype *lambda, Scatter *K) {
  const sunindextype left_a = 6 * (sunindextype)joint->a, left_b = 6 * (sunindextype)joint->b,
                     left = of_a ? left_a : left_b;
  sunrealtype F_a[3], F[3], F_b[3], xb[3], c[3], c_a[3];
  for (int k = 0; k < 3; k++) F_a[k] = lambda[0] * pairs->a[0][k] + lambda[1] * pairs->a[1][k];
  to_space(a, F_a, F);
  to_body(b, F, F_b);
  to_space(b, joint->point_b, xb);
  for (int k = 0; k < 3; k++) c[k] = b->r[k] + xb[k] - a->r[k];
  to_body(a, c, c_a);
  for (int k = 0; k < 3; k++) {
    sunrealtype e[3], turned[3], change[3], moved[3], column[3];
    unit(k, e);
    to_body(a, e, moved); /* the body is shifted along e: c and, seen from a, c_a */
    cross3(moved, F_a, column);
    if (joint->a != GROUND) add_vector(K, left_a + 3, left + k, of_a ? -1 : 1, column);
    if (of_a) { /* turned about its axis e */
      cross3(e, F_a, turned);
      to_space(a, turned, change);
      add_vector(K, left_a, left + 3 + k, 1, change);
      cross3(c_a, e, turned);
      cross3(turned, F_a, column);
      add_vector(K, left_a + 3, left + 3 + k, 1, column);
      if (joint->b == GROUND) continue;
      add_vector(K, left_b, left + 3 + k, -1, change);
      to_body(b, change, turned);
      cross3(joint->point_b, turned, column);
      add_vector(K, left_b + 3, left + 3 + k, -1, column);
    } else {
      cross3(e, F_b, turned);
      cross3(joint->point_b, turned, column);
      add_vector(K, left_b + 3, left + 3 + k, 1, column);
      if (joint->a == GROUND) continue;
      cross3(e, joint->point_b, turned);
      to_space(b, turned, change);
      to_body(a, change, moved);
      cross3(moved, F_a, column);
      add_vector(K, left_a + 3, left + 3 + k, 1, column);
    }
  }
}

static void joint_side(const Joint *joint, const Side *side, int is_a, const sunrealtype *lambda,
                       Scatter *K, Scatter *C) {
  const Pairs pairs = joint_pairs(joint);
  if (joint->kind == JOINT_PRISMATIC)
    slide_stiffness(joint, is_a ? side->own : side->partner, is_a ? side->partner : side->own, is_a,
                    &pairs, lambda, K);
  else ball_stiffness(side, is_a ? joint->point_a : joint->point_b, lambda, K);
  for (int k = 0; k < pairs.n; k++)
    pair_stiffness(side, lambda[joint_points(joint) + k], is_a ? pairs.a[k] : pairs.b[k],
                   is_a ? pairs.b[k] : pairs.a[k], K);
  if (joint->kind == JOINT_BALL && joint->k != 0)
    pair_stiffness(side, -joint->k, is_a ? joint->axis_a : joint->axis_b,
                   is_a ? joint->axis_b : joint->axis_a, K);
  if (joint->kind == JOINT_BALL && joint->d != 0) damping(side, joint->d, K, C);
}

static void fill_dynamics(const RigidBodies *bodies, const sunrealtype *q, const sunrealtype *u,
                          const sunrealtype *lambda, Scatter *K, Scatter *C) {
  for (int i = 0; i < bodies->nbodies; i++) {
    gyroscopic(&bodies->body[i], i, u + turn_of(i), C);
    add_entry(K, turn_of(i), turn_of(i), 0); /* without joints the pattern would be empty */
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
  rigid_body_spring_jac(bodies, q, u, K, C);
}

int rigid_body_dynamics_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                            const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                            SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *user_data) {
  (void)t, (void)z, (void)udot, (void)Fz;
  Scatter to_K = scatter_to(K), to_C = scatter_to(C);
  fill_dynamics(user_data, q, u, lambda, &to_K, &to_C);
  return 0;
}

/* ------------------------------------------------------------------------------ Bq and Bu -- */

/* x, x' and x'' in space of a vector that is fixed in a body */
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

/* The bodies' accelerations in space */
typedef struct {
  sunrealtype linear[3], angular[3];
} Acceleration;

/* The rows n . d of a prismatic joint, in all columns of one side */
static void slide_columns(const Joint *joint, const Side *side, int is_a, const Acceleration *acc,
                          const Acceleration *acc_o, sunindextype row, Scatter *Bq, Scatter *Bu) {
  const Pairs pairs        = joint_pairs(joint);
  const Pose *a            = is_a ? side->own : side->partner;
  const Acceleration *of_a = is_a ? acc : acc_o;
  const Moving own = moving(side->own, acc->angular, is_a ? joint->point_a : joint->point_b),
               far = moving(side->partner, acc_o->angular, is_a ? joint->point_b : joint->point_a);
  const sunindextype left = 6 * (sunindextype)side->body;
  const sunrealtype away  = -side->sign; /* d is from a to b */
  Moving d;
  for (int k = 0; k < 3; k++) {
    d.x[k]    = away * (side->own->r[k] + own.x[k] - side->partner->r[k] - far.x[k]);
    d.rate[k] = away * (side->own->v[k] + own.rate[k] - side->partner->v[k] - far.rate[k]);
    d.acc[k]  = away * (acc->linear[k] + own.acc[k] - acc_o->linear[k] - far.acc[k]);
  }
  for (int i = 0; i < 2; i++) {
    const Moving n = moving(a, of_a->angular, pairs.a[i]);
    for (int k = 0; k < 3; k++) {
      sunrealtype e[3], t[3];
      Moving arm_q, arm_u, n_q, n_u;
      add_entry(Bq, row + i, left + k, -away * n.acc[k]);
      add_entry(Bu, row + i, left + k, -away * 2 * n.rate[k]);
      unit(k, e);
      to_space(side->own, e, t);
      derivatives(&own, side->own->w, t, &arm_q, &arm_u);
      add_entry(Bq, row + i, left + 3 + k, -away * second_rate(&n, &arm_q));
      add_entry(Bu, row + i, left + 3 + k, -away * second_rate(&n, &arm_u));
      if (!is_a) continue;
      derivatives(&n, side->own->w, t, &n_q, &n_u);
      add_entry(Bq, row + i, left + 3 + k, -second_rate(&n_q, &d));
      add_entry(Bu, row + i, left + 3 + k, -second_rate(&n_u, &d));
    }
  }
}

/* The rows from `row` on, in the columns of one side: of points, then of pairs n . h with the own vectors n and
   the other's h */
static void side_columns(const Joint *joint, const Side *side, int is_a, const Acceleration *acc,
                         const Acceleration *acc_o, sunindextype row, Scatter *Bq, Scatter *Bu) {
  const Pairs pairs = joint_pairs(joint);
  const Moving arm  = moving(side->own, acc->angular, is_a ? joint->point_a : joint->point_b);
  Moving n[3], h[3], by_q, by_u;
  for (int k = 0; k < pairs.n; k++) {
    n[k] = moving(side->own, acc->angular, is_a ? pairs.a[k] : pairs.b[k]);
    h[k] = moving(side->partner, acc_o->angular, is_a ? pairs.b[k] : pairs.a[k]);
  }
  if (joint->kind == JOINT_PRISMATIC) slide_columns(joint, side, is_a, acc, acc_o, row, Bq, Bu);
  for (int k = 0; k < 3; k++) {
    const sunindextype col = turn_of(side->body) + k;
    sunrealtype e[3], t[3];
    unit(k, e);
    to_space(side->own, e, t);
    derivatives(&arm, side->own->w, t, &by_q, &by_u);
    for (int i = 0; i < 3 && joint->kind != JOINT_PRISMATIC; i++) {
      add_entry(Bq, row + i, col, -side->sign * by_q.acc[i]);
      add_entry(Bu, row + i, col, -side->sign * by_u.acc[i]);
    }
    for (int i = 0; i < pairs.n; i++) {
      derivatives(&n[i], side->own->w, t, &by_q, &by_u);
      add_entry(Bq, row + joint_points(joint) + i, col, -second_rate(&by_q, &h[i]));
      add_entry(Bu, row + joint_points(joint) + i, col, -second_rate(&by_u, &h[i]));
    }
  }
}

/* In space; 0 for the ground */
static Acceleration acceleration(const Pose *pose, int i, const sunrealtype *udot) {
  Acceleration acc = {{0, 0, 0}, {0, 0, 0}};
  if (i == GROUND) return acc;
  for (int k = 0; k < 3; k++) acc.linear[k] = udot[6 * i + k];
  to_space(pose, udot + turn_of(i), acc.angular);
  return acc;
}

static void fill_constraints(const RigidBodies *bodies, const sunrealtype *q, const sunrealtype *u,
                             const sunrealtype *udot, Scatter *Bq, Scatter *Bu) {
  sunindextype row = 0;
  for (int j = 0; j < bodies->njoints; j++) {
    const Joint *joint = &bodies->joint[j];
    const Pose a       = rigid_body_pose(bodies, joint->a, q, u),
               b       = rigid_body_pose(bodies, joint->b, q, u);
    const Side of_a = {joint->a, joint->b, &a, &b, 1}, of_b = {joint->b, joint->a, &b, &a, -1};
    const Acceleration acc_a = acceleration(&a, joint->a, udot),
                       acc_b = acceleration(&b, joint->b, udot);
    if (joint->a != GROUND) side_columns(joint, &of_a, 1, &acc_a, &acc_b, row, Bq, Bu);
    if (joint->b != GROUND) side_columns(joint, &of_b, 0, &acc_b, &acc_a, row, Bq, Bu);
    row += joint_rows(joint);
  }
}

int rigid_body_constraint_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                              const sunrealtype *udot, SUNMatrix Bq, SUNMatrix Bu, void *user_data) {
  (void)t;
  Scatter to_Bq = scatter_to(Bq), to_Bu = scatter_to(Bu);
  fill_constraints(user_data, q, u, udot, &to_Bq, &to_Bu);
  return 0;
}

/* -------------------------------------------------------------------------------- templates -- */

int rigid_body_jac_templates(const RigidBodies *bodies, const sunrealtype *q,
                             const sunrealtype *zero, SUNContext ctx, CPEquations *model) {
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
