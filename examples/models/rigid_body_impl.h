/* Shared by rigid_body.c, ..._joints.c, ..._springs.c and ..._jacobians.c: vectors in space, the pose of a body, and the
 * parts of the model. */
#ifndef CPODES_EXAMPLES_RIGID_BODY_IMPL_H
#define CPODES_EXAMPLES_RIGID_BODY_IMPL_H

#include "columns.h"
#include "rigid_body.h"
#include "scatter.h"

static inline sunrealtype dot3(const sunrealtype a[3], const sunrealtype b[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* c = a x b; c is neither of them */
static inline void cross3(const sunrealtype a[3], const sunrealtype b[3], sunrealtype c[3]) {
  for (int k = 0; k < 3; k++) {
    const int i = (k + 1) % 3, j = (k + 2) % 3;
    c[k] = a[i] * b[j] - a[j] * b[i];
  }
}

typedef struct {
  sunrealtype r[3], R[3][3]; /* centre, rotation from body to space */
  sunrealtype v[3], w[3];    /* velocities in space */
} Pose;

/* y = R x, from body to space; y = R^T x */
static inline void to_space(const Pose *pose, const sunrealtype x[3], sunrealtype y[3]) {
  for (int i = 0; i < 3; i++) y[i] = dot3(pose->R[i], x);
}
static inline void to_body(const Pose *pose, const sunrealtype x[3], sunrealtype y[3]) {
  for (int i = 0; i < 3; i++)
    y[i] = pose->R[0][i] * x[0] + pose->R[1][i] * x[1] + pose->R[2][i] * x[2];
}

/* The pose of body i, or of the ground; at rest if u is NULL */
Pose rigid_body_pose(const RigidBodies *bodies, int i, const sunrealtype *q, const sunrealtype *u);

/* Column of the rotation of body i, and row */
static inline sunindextype turn_of(int i) { return 6 * (sunindextype)i + 3; }

/* Rows of a joint in A; the first of them, of points, before those of directions */
static inline sunindextype joint_rows(const Joint *joint) {
  return joint->kind == JOINT_BALL ? 3 : 5;
}
static inline int joint_points(const Joint *joint) {
  return joint->kind == JOINT_PRISMATIC ? 2 : 3;
}

/* Pairs of directions, fixed in a and in b, that stay perpendicular; along a[0] and a[1] a prismatic joint does not
   move */
typedef struct {
  int n;
  sunrealtype a[3][3], b[3][3];
} Pairs;
Pairs joint_pairs(const Joint *joint);

/* Adds the torques of the joints' springs and dampers to f [nu]; their potential [J]; the power of the dampers [W] */
void rigid_body_torques(const RigidBodies *bodies, const sunrealtype *q, const sunrealtype *u,
                        sunrealtype *f);
sunrealtype rigid_body_bending_energy(const RigidBodies *bodies, const sunrealtype *q);
sunrealtype rigid_body_bending_power(const RigidBodies *bodies, const sunrealtype *q,
                                     const sunrealtype *u);

/* The same of the spring-dampers between points, and their K and C, added (CP_FRAME_BODY only) */
void rigid_body_spring_forces(const RigidBodies *bodies, const sunrealtype *q, const sunrealtype *u,
                              sunrealtype *f);
sunrealtype rigid_body_spring_energy(const RigidBodies *bodies, const sunrealtype *q);
sunrealtype rigid_body_spring_power(const RigidBodies *bodies, const sunrealtype *q,
                                    const sunrealtype *u);
void rigid_body_spring_jac(const RigidBodies *bodies, const sunrealtype *q, const sunrealtype *u,
                           Scatter *K, Scatter *C);

/* CPEquations's p, v, b and A */
int rigid_body_positions(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data);
int rigid_body_velocities(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                          void *user_data);
int rigid_body_accelerations(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                             sunrealtype *b, void *user_data);
int rigid_body_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data);
/* The pattern of A at any state q; NULL if out of memory */
SUNMatrix rigid_body_matrix_template(const RigidBodies *bodies, const sunrealtype *q,
                                     SUNContext ctx);

/* CPEquations's partial derivatives, for CP_FRAME_BODY only */
int rigid_body_dynamics_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                            const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                            SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *user_data);
int rigid_body_constraint_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                              const sunrealtype *udot, SUNMatrix Bq, SUNMatrix Bu, void *user_data);
/* Puts their patterns into the model. q: any state. zero [>= nu]: zeros. Returns 0, or -1 if out of memory */
int rigid_body_jac_templates(const RigidBodies *bodies, const sunrealtype *q,
                             const sunrealtype *zero, SUNContext ctx, CPEquations *model);

#endif
