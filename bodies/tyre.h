/* The force of a tyre on its wheel */
#ifndef CPODES_BODIES_TYRE_H
#define CPODES_BODIES_TYRE_H

#include "blocks.h"

/* What a tyre does at one state: its load, its slips along and across the wheel, the force on the wheel where it touches the ground, the
 * torque about the wheel's centre, and their power */
typedef struct {
  sunrealtype load, slip[2], force[3], torque[3], power;
} TyreState;

/* These three return 0, or 1 if the wheel's centre is below the ground. */
/* At the current poses */
int bodiesTyre(const Mechanism *b, const PointForce *tyre, TyreState *state);
/* f += the force on the body */
int bodiesAddTyreForce(const Mechanism *b, const PointForce *tyre, sunrealtype *f);
/* K and C += its derivatives */
int bodiesFillTyre(const Mechanism *b, const PointForce *tyre, Writer *K, Writer *C);

#endif
