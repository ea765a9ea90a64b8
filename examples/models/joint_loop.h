/* A closed loop of n rods in joint coordinates: rod i turns about the axis e_z (even i) or e_y (odd i) of rod
 * i - 1 by the angle q_i, relative to it; rod 0 hangs from the origin, and the tip of the last one is pinned
 * to the point `pin`. Joints have springs and dampers:
 *
 *   R_i = R_{i-1} rot(axis_i, q_i),   w_i = R_i axis_i,   r_{i+1} = r_i + l R_i e_x
 *   p = r_n - pin,   A x = sum_i w_i x (r_n - r_i) x_i
 *   torques about the joints: -k q - d u + tau e_0
 *
 * M is dense. The inverse dynamics are the recursion of Newton and Euler in the axes of space: velocities and
 * accelerations from rod to rod, then forces and moments back, 2 n steps in all. The matrices for comparison
 * are computed in another way: M from the inertias of the composite bodies, which consist of all rods beyond a
 * joint, f = -inverse(0).
 *
 * Rods are homogeneous, of length l and mass m; moments of inertia are m l^2 / 12 across and a hundredth of
 * that about their axes.
 *
 * Source: R. Featherstone, Rigid Body Dynamics Algorithms, Springer 2008, sections 5.3, 6.2. */
#ifndef CPODES_EXAMPLES_JOINT_LOOP_H
#define CPODES_EXAMPLES_JOINT_LOOP_H

#include <cpodes/cpodes_mechanics.h>

typedef struct {
  int n;               /* rods */
  sunrealtype l, m;    /* length [m], mass [kg] */
  sunrealtype k, d;    /* of the joints [N m], [N m s] */
  sunrealtype tau;     /* torque that drives the first joint [N m] */
  sunrealtype g[3];    /* gravity [m/s^2] */
  sunrealtype pin[3];  /* [m] */
  long int recursions; /* calls of functions that go through all rods */
  double *room;        /* positions, axes, ... of the newest call */
} JointLoop;

/* By inverse and products with A; by M, f, A; by udot, Au and ATl, where udot eliminates with the matrices */
typedef enum { JOINT_LOOP_INVERSE, JOINT_LOOP_MATRICES, JOINT_LOOP_UDOT } JointLoopForm;

/* n >= 6 rods of length 1/n; NULL if out of memory. */
JointLoop *joint_loop_create(int n);
void joint_loop_free(JointLoop **loop);
/* user_data of its functions is the loop. */
CPEquations joint_loop_model(const JointLoop *loop, JointLoopForm form);
/* y [2 n]: out, at rest, near the manifold: an arc, for CPMechCalcIC */
void joint_loop_guess(const JointLoop *loop, N_Vector y);
/* Kinetic and potential energy [J] at y [2 n] */
sunrealtype joint_loop_energy(JointLoop *loop, N_Vector y);

#endif
