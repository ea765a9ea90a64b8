/* The force of an elastic sphere on a sphere or a plane */
#ifndef CPODES_BODIES_SPHERE_H
#define CPODES_BODIES_SPHERE_H

#include "wrench.h"

/* Those of wrench.h for an elastic sphere; 1: the centres coincide */
int bodiesSphere(const Mechanism *b, const PointForce *sphere, WrenchState *state);
int bodiesAddSphereForce(const Mechanism *b, const PointForce *sphere, sunrealtype *f);
int bodiesFillSphere(const Mechanism *b, const PointForce *sphere, Writer *K, Writer *C);

#endif
