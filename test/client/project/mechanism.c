/* An installed libcpodes_bodies: a pendulum of one body, whose pivot carries its weight. */
#include <cpodes/cpodes_bodies.h>
#include <math.h>
#include <stddef.h>

int main(void) {
  static const sunrealtype gravity[] = {0, -10, 0};
  static const CPBody body = {.name = "bob", .mass = 2, .inertia = {1, 1, 1}, .position = {0, -1, 0}};
  static const CPJoint pivot = {.name = "pivot", .kind = CP_JOINT_BALL, .b = "bob"};
  sunrealtype udot[6], lambda[3], F[3], T[3];
  SUNContext ctx;
  CPMech mech;
  if (SUNContext_Create(0, &ctx)) return 2;
  CPBodies b = CPBodiesCreate(3, ctx);
  if (CPBodiesSetGravity(b, gravity) || CPBodiesAddBody(b, &body) < 0 ||
      CPBodiesAddJoint(b, &pivot) < 0)
    return 2;
  if (CPBodiesMech(b, &mech)) return 2;
  N_Vector y = CPBodiesState(b);
  if (CPMechAccelerations(mech, 0, y, udot, lambda)) return 2;
  if (CPBodiesReaction(b, "pivot", 0, y, lambda, F, T)) return 2;
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&b);
  SUNContext_Free(&ctx);
  return fabs(F[1] - 20) < 1e-12 ? 0 : 1;
}
