/* Rigid bodies in space, coupled by ball, revolute and prismatic joints and by spring-dampers, under gravity;
 * attitudes as unit quaternions. For each body, with R(q) its rotation from body to space,
 *
 *   m r'' = m g + joint forces,   J omega' = (J omega) x omega + joint torques      body axes
 *
 *   q = (r, e) for each body: centre [m], quaternion, scalar first    [7 nbodies]
 *   u = (r', omega) for each body   [m/s, rad/s]                       [6 nbodies]
 *   omega in body axes (CP_FRAME_BODY: M is constant and diagonal), or in those of space
 *   (CP_FRAME_WORLD: M has R J R^T, forces -omega x (R J R^T) omega)
 *
 * Joint between bodies a and b, x_i = R_i s_i its point as seen from the centre of body i:
 *
 *   p = r_a + x_a - r_b - x_b                                         3 rows      [m]
 *   p = n_1 . h,  n_2 . h    n_1, n_2 perpendicular to the axis in a, h = R_b axis_b
 *                                                                     2 rows more if revolute  [1]
 *   prismatic:  p = n_1 . d,  n_2 . d,  d = r_b + x_b - r_a - x_a       2 rows      [m]
 *               p = n_1 . h,  n_2 . h,  n_1 . m                         3 rows      [1]
 *
 * with m perpendicular to the axis in b as n_2 is in a, so that bodies stay parallel if the joint's axis has the same
 * components in both. A spring-damper between two points pulls with k (|d| - length) + damping |d|'.
 *
 * R does not depend on |e|. Source: R. E. Roberson, R. Schwertassek, Dynamics of Multibody Systems,
 * Springer 1988; H. Goldstein, C. Poole, J. Safko, Classical Mechanics, 2002, chapter 5.
 */
#ifndef CPODES_EXAMPLES_RIGID_BODY_H
#define CPODES_EXAMPLES_RIGID_BODY_H

#include <cpodes/cpodes_mechanics.h>

typedef struct {
  sunrealtype m, J[3]; /* mass [kg], principal moments about the centre [kg m^2]; > 0 */
} RigidBody;

enum { GROUND = -1 }; /* the ground as a body: at rest at the origin, with the axes of space */

typedef enum { JOINT_BALL, JOINT_REVOLUTE, JOINT_PRISMATIC } JointKind;

typedef struct {
  JointKind kind;
  int a, b;                           /* bodies; GROUND: space */
  sunrealtype point_a[3], point_b[3]; /* s_a, s_b: the joint in body axes [m] */
  sunrealtype axis_a[3], axis_b[3]; /* unit vectors in body axes; in ball joints for springs only */
  sunrealtype k, d;                 /* spring [N m] and damper [N m s]; ball joints only */
} Joint;

typedef struct {
  int a, b;                           /* bodies, or GROUND */
  sunrealtype point_a[3], point_b[3]; /* in body axes [m]; never at the same place */
  sunrealtype k, d, length;           /* [N/m], [N s/m], without force [m] */
} SpringDamper;

typedef struct {
  int nbodies, njoints, nsprings;
  const RigidBody *body;      /* [nbodies] */
  const Joint *joint;         /* [njoints] */
  const SpringDamper *spring; /* [nsprings] */
  sunrealtype g[3];           /* gravity [m/s^2] */
  CPFrame frame;              /* of the angular velocities */
  CPQuaternion *quaternion; /* [nbodies] room for rigid_body_model, which has to last as long as its equations */
} RigidBodies;              /* the user_data of the model's functions */

/* Rows of A: 3 for each ball joint, 5 for each other one, in the joints' order */
sunindextype rigid_body_rows(const RigidBodies *bodies);

/* The index-3 system with b, and with all partial derivatives if the frame is CP_FRAME_BODY. If sparse is set, all
   matrices are CSC, else dense. model: out; its templates belong to the caller, who frees them with
   rigid_body_model_free after CPModelCreate, and gives the CPMech the bodies as user data. Returns 0, or -1 if out of
   memory. */
int rigid_body_model(RigidBodies *bodies, int sparse, SUNContext ctx, CPEquations *model);
void rigid_body_model_free(CPEquations *model);

/* Sets body i in the state y [13 nbodies]: centre r, rotation from the axes of space by the vector `turn` (axis
   times angle [rad]), velocity v of the centre, angular velocity omega in space */
void rigid_body_place(const RigidBodies *bodies, int i, const sunrealtype r[3],
                      const sunrealtype turn[3], const sunrealtype v[3], const sunrealtype omega[3],
                      N_Vector y);

/* Angular velocity of body i in space; and the vector x [3] of the body: in, in body axes; out, in space */
void rigid_body_omega(const RigidBodies *bodies, int i, N_Vector y, sunrealtype omega[3]);
void rigid_body_direction(const RigidBodies *bodies, int i, N_Vector y, sunrealtype x[3]);

/* Kinetic and potential energy including that of the springs [J]; power lost in the dampers [W] */
sunrealtype rigid_body_energy(const RigidBodies *bodies, N_Vector y);
sunrealtype rigid_body_dissipation(const RigidBodies *bodies, N_Vector y);
/* Angular momentum of all about the origin, in space [kg m^2/s]; L [3]: out */
void rigid_body_momentum(const RigidBodies *bodies, N_Vector y, sunrealtype L[3]);

#endif
