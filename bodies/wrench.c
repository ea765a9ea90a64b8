/* Which law a force has */
#include "wrench.h"

#include "sphere.h"
#include "tyre.h"

int bodiesWrench(const Mechanism *b, const PointForce *force, WrenchState *state) {
  return force->law == OF_A_TYRE ? bodiesTyre(b, force, state) : bodiesSphere(b, force, state);
}

int bodiesAddWrench(const Mechanism *b, const PointForce *force, sunrealtype *f) {
  return force->law == OF_A_TYRE ? bodiesAddTyreForce(b, force, f)
                                 : bodiesAddSphereForce(b, force, f);
}

int bodiesFillWrench(const Mechanism *b, const PointForce *force, Writer *K, Writer *C) {
  return force->law == OF_A_TYRE ? bodiesFillTyre(b, force, K, C) : bodiesFillSphere(b, force, K, C);
}
