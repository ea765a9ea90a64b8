/* Laws of a force and a torque between two bodies: of tyres, of elastic spheres and of fluids. Each is written once, with values that carry derivatives
 * with respect to the six motions of one of the bodies (taylor.h). */
#ifndef CPODES_BODIES_WRENCH_H
#define CPODES_BODIES_WRENCH_H

#include "blocks.h"
#include "taylor.h"

/* What moves, in space: d = P_b - P_a and its rate, and of both sides the axis z of the pair, the angular velocity of the body and, if this is not
 * the ground, the arm from its centre of mass to P and its axes; frame: for laws of a fluid the axes x, y, z of the pair on side b */
typedef struct {
  int n, degree;
  TaylorVector d, rate, z[2], w[2], arm[2], axis[2][3], frame[3];
} Places;

/* The normal force, of a tyre its slips along and across the wheel, the force F on b and -F on a, and the torques on both about their points */
typedef struct {
  Taylor load, slip[2];
  TaylorVector F, T[2];
} Loads;

/* A law of the numbers p. out: 0 on entry. Returns 0, or 1 where it is not defined. */
typedef int WrenchLaw(const sunrealtype *p, const Places *at, Loads *out);
WrenchLaw tyreLaw, sphereLaw, boxLaw, ellipsoidLaw;

static inline Taylor wrenchConstant(const Places *at, sunrealtype v) {
  return taylorConstant(at->n, at->degree, v);
}
static inline void wrenchZero(const Places *at, TaylorVector x) {
  for (int k = 0; k < 3; k++) x[k] = wrenchConstant(at, 0);
}

/* What the law gives at one state: its values, with the torque about the point of b, and the power of what acts on both bodies */
typedef struct {
  sunrealtype load, slip[2], force[3], torque[3], power;
} WrenchState;

/* These three return 0, or 1 where the law is not defined. */
/* At the current poses */
int bodiesWrench(const Mechanism *b, const PointForce *force, WrenchState *state);
/* f += the forces on both bodies */
int bodiesAddWrench(const Mechanism *b, const PointForce *force, sunrealtype *f);
/* K and C += their derivatives */
int bodiesFillWrench(const Mechanism *b, const PointForce *force, Writer *K, Writer *C);

#endif
