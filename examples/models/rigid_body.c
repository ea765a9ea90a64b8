#include "rigid_body_impl.h"

#include <math.h>
#include <stdlib.h>

/* ------------------------------------------------------------------------------------- poses -- */

/* R = 1 + 2 (e_0 [e]x + [e]x [e]x) / |e|^2 */
static void rotation(const sunrealtype e[4], sunrealtype R[3][3]) {
  const sunrealtype s = 2 / (e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3]);
  for (int i = 0; i < 3; i++) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    R[i][i] = 1 - s * (e[j + 1] * e[j + 1] + e[k + 1] * e[k + 1]);
    R[i][j] = s * (e[i + 1] * e[j + 1] - e[0] * e[k + 1]);
    R[j][i] = s * (e[i + 1] * e[j + 1] + e[0] * e[k + 1]);
  }
}

Pose rigid_body_pose(const RigidBodies *bodies, int i, const sunrealtype *q, const sunrealtype *u) {
  Pose pose = {.R = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  if (i == GROUND) return pose;
  rotation(q + 7 * i + 3, pose.R);
  for (int k = 0; k < 3; k++) {
    pose.r[k] = q[7 * i + k];
    pose.v[k] = u ? u[6 * i + k] : 0;
    pose.w[k] = u ? u[6 * i + 3 + k] : 0;
  }
  if (bodies->frame == CP_FRAME_BODY && u) to_space(&pose, u + 6 * i + 3, pose.w);
  return pose;
}

static Pose pose_in(const RigidBodies *bodies, int i, N_Vector y) {
  const sunrealtype *q = N_VGetArrayPointer(y);
  return rigid_body_pose(bodies, i, q, q + 7 * bodies->nbodies);
}

void rigid_body_place(const RigidBodies *bodies, int i, const sunrealtype r[3],
                      const sunrealtype turn[3], const sunrealtype v[3], const sunrealtype omega[3],
                      N_Vector y) {
  sunrealtype *q = N_VGetArrayPointer(y) + 7 * i, *u = N_VGetArrayPointer(y) + 7 * bodies->nbodies;
  const sunrealtype angle = sqrt(dot3(turn, turn)), along = angle > 0 ? sin(angle / 2) / angle : 0;
  u += 6 * i;
  q[3] = cos(angle / 2);
  for (int k = 0; k < 3; k++) {
    q[k]     = r[k];
    q[k + 4] = along * turn[k];
    u[k]     = v[k];
    u[k + 3] = omega[k];
  }
  const Pose pose = pose_in(bodies, i, y);
  if (bodies->frame == CP_FRAME_BODY) to_body(&pose, omega, u + 3);
}

void rigid_body_omega(const RigidBodies *bodies, int i, N_Vector y, sunrealtype omega[3]) {
  const Pose pose = pose_in(bodies, i, y);
  for (int k = 0; k < 3; k++) omega[k] = pose.w[k];
}

void rigid_body_direction(const RigidBodies *bodies, int i, N_Vector y, sunrealtype x[3]) {
  const Pose pose        = pose_in(bodies, i, y);
  const sunrealtype in[] = {x[0], x[1], x[2]};
  to_space(&pose, in, x);
}

/* -------------------------------------------------------------------------------- invariants -- */

/* spin = J omega in body axes, omega in body axes */
static void spin_of(const RigidBody *body, const Pose *pose, sunrealtype omega[3],
                    sunrealtype spin[3]) {
  to_body(pose, pose->w, omega);
  for (int k = 0; k < 3; k++) spin[k] = body->J[k] * omega[k];
}

sunrealtype rigid_body_energy(const RigidBodies *bodies, N_Vector y) {
  sunrealtype energy = 0, omega[3], spin[3];
  for (int i = 0; i < bodies->nbodies; i++) {
    const RigidBody *body = &bodies->body[i];
    const Pose pose       = pose_in(bodies, i, y);
    spin_of(body, &pose, omega, spin);
    energy += body->m * (dot3(pose.v, pose.v) / 2 - dot3(bodies->g, pose.r));
    energy += dot3(omega, spin) / 2;
  }
  return energy + rigid_body_bending_energy(bodies, N_VGetArrayPointer(y)) +
         rigid_body_spring_energy(bodies, N_VGetArrayPointer(y));
}

sunrealtype rigid_body_dissipation(const RigidBodies *bodies, N_Vector y) {
  const sunrealtype *q = N_VGetArrayPointer(y), *u = q + 7 * bodies->nbodies;
  return rigid_body_bending_power(bodies, q, u) + rigid_body_spring_power(bodies, q, u);
}

void rigid_body_momentum(const RigidBodies *bodies, N_Vector y, sunrealtype L[3]) {
  sunrealtype omega[3], spin[3], own[3], orbital[3];
  L[0] = L[1] = L[2] = 0;
  for (int i = 0; i < bodies->nbodies; i++) {
    const Pose pose = pose_in(bodies, i, y);
    spin_of(&bodies->body[i], &pose, omega, spin);
    to_space(&pose, spin, own);
    cross3(pose.r, pose.v, orbital);
    for (int k = 0; k < 3; k++) L[k] += own[k] + bodies->body[i].m * orbital[k];
  }
}

/* ---------------------------------------------------------------------------------- dynamics -- */

/* J in the axes of the angular velocity: entry (k, l) */
static sunrealtype inertia(const RigidBodies *bodies, int i, const Pose *pose, int k, int l) {
  const sunrealtype *J = bodies->body[i].J;
  if (bodies->frame == CP_FRAME_BODY) return k == l ? J[k] : 0;
  sunrealtype sum = 0;
  for (int j = 0; j < 3; j++) sum += pose->R[k][j] * J[j] * pose->R[l][j];
  return sum;
}

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t;
  const RigidBodies *bodies = user_data;
  Columns col               = columns_of(M);
  for (int i = 0; i < bodies->nbodies; i++) {
    const Pose pose = rigid_body_pose(bodies, i, q, NULL);
    for (int l = 0; l < 3; l++, next_column(&col)) put_entry(&col, 6 * i + l, bodies->body[i].m);
    for (int l = 0; l < 3; l++, next_column(&col))
      for (int k = 0; k < 3; k++)
        if (bodies->frame == CP_FRAME_WORLD || k == l)
          put_entry(&col, 6 * i + 3 + k, inertia(bodies, i, &pose, k, l));
  }
  return 0;
}

/* Gravity, (J omega) x omega in body axes or in those of space, springs and dampers */
static int forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  (void)t, (void)z;
  const RigidBodies *bodies = user_data;
  sunrealtype omega[3], spin[3], gyro[3];
  rigid_body_torques(bodies, q, u, f);
  rigid_body_spring_forces(bodies, q, u, f);
  for (int i = 0; i < bodies->nbodies; i++, f += 6) {
    const Pose pose = rigid_body_pose(bodies, i, q, u);
    spin_of(&bodies->body[i], &pose, omega, spin);
    cross3(spin, omega, gyro);
    if (bodies->frame == CP_FRAME_WORLD) {
      const sunrealtype own[3] = {gyro[0], gyro[1], gyro[2]};
      to_space(&pose, own, gyro);
    }
    for (int k = 0; k < 3; k++) {
      f[k] += bodies->body[i].m * bodies->g[k];
      f[3 + k] += gyro[k];
    }
  }
  return 0;
}

/* ------------------------------------------------------------------------------------- model -- */

sunindextype rigid_body_rows(const RigidBodies *bodies) {
  sunindextype rows = 0;
  for (int j = 0; j < bodies->njoints; j++) rows += joint_rows(&bodies->joint[j]);
  return rows;
}

void rigid_body_model_free(CPEquations *model) {
  SUNMatrix *tmpl[] = {&model->M_tmpl, &model->A_tmpl,  &model->K_tmpl,
                       &model->C_tmpl, &model->Bq_tmpl, &model->Bu_tmpl};
  for (size_t i = 0; i < sizeof tmpl / sizeof *tmpl; i++) {
    if (*tmpl[i]) SUNMatDestroy(*tmpl[i]);
    *tmpl[i] = NULL;
  }
}

static SUNMatrix mass_template(RigidBodies *bodies, const sunrealtype *q, SUNContext ctx) {
  const int in_block    = bodies->frame == CP_FRAME_WORLD ? 12 : 6;
  const sunindextype nu = 6 * (sunindextype)bodies->nbodies;
  SUNMatrix M           = SUNSparseMatrix(nu, nu, in_block * nu / 6, CSC_MAT, ctx);
  if (M) mass(0, q, M, bodies);
  return M;
}

/* The patterns, by filling the matrices for any state, here all bodies at the origin */
static int create_templates(RigidBodies *bodies, SUNContext ctx, CPEquations *model) {
  sunrealtype *q    = calloc((size_t)model->nq, sizeof *q),
              *zero = calloc((size_t)model->nq, sizeof *q);
  int failed        = !q || !zero;
  for (int i = 0; i < bodies->nbodies && !failed; i++) q[7 * i + 3] = 1;
  if (!failed) failed = !(model->M_tmpl = mass_template(bodies, q, ctx));
  if (!failed && model->np > 0)
    failed = !(model->A_tmpl = rigid_body_matrix_template(bodies, q, ctx));
  if (!failed && model->dynamics_jac)
    failed = rigid_body_jac_templates(bodies, q, zero, ctx, model);
  free(q);
  free(zero);
  if (failed) rigid_body_model_free(model);
  return failed ? -1 : 0;
}

int rigid_body_model(RigidBodies *bodies, int sparse, SUNContext ctx, CPEquations *model) {
  *model = (CPEquations){CP_SIZED(CPEquations),
                         .nu           = 6 * (sunindextype)bodies->nbodies,
                         .nq           = 7 * (sunindextype)bodies->nbodies,
                         .np           = rigid_body_rows(bodies),
                         .M            = mass,
                         .f            = forces,
                         .quaternions  = bodies->quaternion,
                         .nquaternions = bodies->nbodies};
  for (int i = 0; i < bodies->nbodies; i++)
    bodies->quaternion[i] = (CPQuaternion){7 * i + 3, 6 * i + 3, bodies->frame};
  if (bodies->frame == CP_FRAME_BODY) model->dynamics_jac = rigid_body_dynamics_jac;
  if (bodies->njoints > 0) {
    model->A = rigid_body_matrix;
    model->p = rigid_body_positions;
    model->v = rigid_body_velocities;
    model->b = rigid_body_accelerations;
    if (bodies->frame == CP_FRAME_BODY) model->constraint_jac = rigid_body_constraint_jac;
  }
  return sparse ? create_templates(bodies, ctx, model) : 0;
}
