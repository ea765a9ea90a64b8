/* Laws of a force and a torque between two bodies: of tyres and of elastic spheres */
#ifndef CPODES_BODIES_WRENCH_H
#define CPODES_BODIES_WRENCH_H

#include "blocks.h"

/* What the law gives at one state: the normal force, of a tyre its slips along and across the wheel, the force on body b, the torque
 * about its point of the pair, and the power of what acts on both bodies */
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
