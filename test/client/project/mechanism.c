/* An installed libcpodes_bodies: a pendulum of one body, whose pivot carries its weight. */
#include <cpodes/cpodes_bodies.h>
#include <math.h>
#include <stddef.h>
#include <sundials/sundials_context.h>

#ifndef SUN_COMM_NULL
#define SUN_COMM_NULL NULL /* before SUNDIALS 7 */
#endif

int main(void) {
  static const sunrealtype gravity[] = {0, -10, 0};
  static const CPBody body           = {CP_NEW_BODY("bob"), .mass = 2, .inertia = {1, 1, 1},
                                        .position = {0, -1, 0}};
  static const CPJoint pivot         = {CP_NEW_JOINT("pivot"), .kind = CP_JOINT_BALL, .b = "bob"};
  sunrealtype udot[6], lambda[3], F[3], T[3];
  SUNContext ctx;
  CPModel model;
  if (SUNContext_Create(SUN_COMM_NULL, &ctx)) return 2;
  CPBodies b = CPBodiesCreate(3, gravity);
  if (CPBodiesAdd(b, &body.head, NULL) || CPBodiesAdd(b, &pivot.head, NULL) ||
      CPBodiesBuild(b, &model))
    return 2;
  N_Vector y  = CPBodiesState(b, ctx);
  CPMech mech = CPMechCreate(model, y, ctx);
  if (CPMechAccelerations(mech, 0, y, udot, lambda)) return 2;
  if (CPMechGetReaction(mech, 0, 0, y, lambda, F, T)) return 2;
  N_VDestroy(y);
  CPMechFree(&mech);
  CPModelFree(&model);
  CPBodiesFree(&b);
  SUNContext_Free(&ctx);
  return fabs(F[1] - 20) < 1e-12 ? 0 : 1;
}
