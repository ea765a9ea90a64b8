/* Closed loops in space of rigid bodies and revolute joints that have one degree of freedom, although there are at
 * least as many rows of the joints as velocities: overconstrained linkages. The joints' angles alpha_j are known
 * functions of one variable s, so that the motion follows without any constraint:
 *
 *   joint j from body j - 1 (or the ground) to body j, the last one from the last body to the ground; home position
 *   (all angles 0): joint j at the point P_j with the axis n_j, bodies in the axes of space
 *
 *   R_j = R_{j-1} rot(n_j, alpha_j(s)),   w_j = dphi/ds = w_{j-1} + R_{j-1} n_j dalpha_j/ds
 *
 *   s'' sum (m r_s . r_s + w . J w) = sum (m r_s . (g - s'^2 r_ss) - s'^2 w . J dw/ds)
 *
 * by d'Alembert's principle for the bodies' centres r(s), where the index s denotes the derivative and J is in the axes
 * of space. There is no term of w x J w, since w . (w x J w) = 0.
 *
 * Source: rigid_body.h; Y. Chen, Z. You, Motion Structures, Spon Press 2012, on overconstrained linkages.
 */
#ifndef CPODES_EXAMPLES_SPATIAL_LOOP_H
#define CPODES_EXAMPLES_SPATIAL_LOOP_H

#include "rigid_body.h"

enum { LOOP_BODIES = 5 };

/* Angle of joint j, counted from 0, at s: alpha [3]: out, alpha_j and its two derivatives */
typedef void (*LoopAngles)(const void *data, int j, sunrealtype s, sunrealtype alpha[3]);

typedef struct {
  int n;                                         /* bodies; n + 1 joints */
  sunrealtype point[LOOP_BODIES + 1][3];         /* P_j, home [m] */
  sunrealtype axis[LOOP_BODIES + 1][3];          /* n_j, home */
  sunrealtype m[LOOP_BODIES], J[LOOP_BODIES][3]; /* home, about the bodies' centres */
  sunrealtype g[3];                              /* gravity [m/s^2] */
  LoopAngles angles;
  const void *data; /* of angles */
} LoopShape;

typedef struct {
  RigidBodies bodies; /* first, so that the loop is user_data of rigid_body_model's functions */
  RigidBody body[LOOP_BODIES];
  Joint joint[LOOP_BODIES + 1];
  CPQuaternion quaternion[LOOP_BODIES];
  LoopShape shape;
} SpatialLoop;

/* Places the centres half way between the joints. The struct must not be moved */
void spatial_loop_create(SpatialLoop *loop, const LoopShape *shape);

/* y [13 n]: out, the state at s with the rate s' */
void spatial_loop_place(const SpatialLoop *loop, sunrealtype s, sunrealtype rate, N_Vector y);

/* s and its rate from time 0 to t, by extrapolation in nsteps steps. s [2]: in and out. Returns 0, or -1 if out of
   memory */
int spatial_loop_motion(const SpatialLoop *loop, sunrealtype t, int nsteps, SUNContext ctx,
                        sunrealtype s[2]);

#endif
