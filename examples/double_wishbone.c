/* Example: a double wishbone, the wheel suspension of a car, described without equations: three bodies, two closed loops.
 *
 * The upper and the lower arm turn about axes of the car and end in ball joints at the upright, whose steering angle is
 * held by a tie rod. A spring-damper stands on the lower arm and carries a quarter of the car. A vertical force at the
 * contact point of the wheel represents a bump.
 *
 * Axes: x forwards, y to the left, z up [m]; left wheel. The state is (q, u) as described in cpodes_bodies.h.
 *
 * Run:       double_wishbone
 * Expected:  the travel of the wheel, which ends at 0.122 m, the force in the tie rod, and "ok". The exit code is 1 if
 *            the energy balance or the constraints are violated, and 2 if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes_bodies.h>
#include <math.h>

static const sunrealtype gravity[] = {0, 0, -9.81}, hub[] = {0, 0.03, 0};
static const CPBody body[] = {
    {CP_NEW_BODY("lower"), .mass = 4, .inertia = {0.05, 0.04, 0.08}, .position = {0, 0.5, 0.2}},
    {CP_NEW_BODY("upper"), .mass = 2, .inertia = {0.02, 0.02, 0.03}, .position = {0, 0.55, 0.5}},
    {CP_NEW_BODY("upright"), .mass = 20, .inertia = {0.9, 1.2, 0.9}, .position = {0, 0.75, 0.33}}};
static const CPJoint joint[] = {
    {CP_NEW_JOINT("lower_axis"), CP_JOINT_REVOLUTE, NULL, "lower",
     .on_a = {{0, 0.35, 0.2}, {1, 0, 0}}},
    {CP_NEW_JOINT("upper_axis"), CP_JOINT_REVOLUTE, NULL, "upper",
     .on_a = {{0, 0.42, 0.5}, {1, 0, 0.1}}},
    {CP_NEW_JOINT("lower_ball"), CP_JOINT_BALL, "lower", "upright", .on_a.point = {0.01, 0.7, 0.18}},
    {CP_NEW_JOINT("upper_ball"), CP_JOINT_BALL, "upper", "upright",
     .on_a.point = {-0.02, 0.66, 0.48}},
    {CP_NEW_JOINT("tie_rod"), CP_JOINT_ROD, NULL, "upright", .on_a.point = {-0.14, 0.4, 0.24},
     .on_b.point = {-0.13, 0.7, 0.24}}};
static const CPSpring spring = {CP_NEW_SPRING("spring"),
                                .b         = "lower",
                                .point_a   = {0, 0.48, 0.6},
                                .point_b   = {0, 0.55, 0.2},
                                .stiffness = 3e4,
                                .damping   = 2e3,
                                .free      = 0.5};
static const CPForce road    = {CP_NEW_FORCE("road"), .body = "upright", .point = {0, 0.78, 0},
                                .force = {0, 0, 3000}};

int main(void) {
  CPBodyFrame frame = CP_INIT(CPBodyFrame);
  sunrealtype t = 0, F[3], T[3], lambda[17], start = 0, drift = 0, violation = 0;
  int tie_rod, upright;
  SUNContext ctx;
  CPModel model;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  CPBodies car = CPBodiesCreate(3, gravity);
  CHECK_NEW(car);
  for (int i = 0; i < 3; i++) CHECK(CPBodiesAdd(car, &body[i].head, NULL));
  for (int i = 0; i < 5; i++) CHECK(CPBodiesAdd(car, &joint[i].head, NULL));
  CHECK(CPBodiesAdd(car, &spring.head, NULL));
  CHECK(CPBodiesAdd(car, &road.head, NULL));
  CHECK(CPBodiesSetBalance(car));
  CHECK(CPBodiesBuild(car, &model));

  N_Vector y       = CPBodiesState(car, ctx);
  CPIntegrator mem = CPIntegratorCreate("BDF", ctx);
  CHECK_NEW(y);
  CPMech mech = CPMechCreate(model, y, ctx);
  CHECK_NEW(mech);
  CPModelFree(&model);
  CHECK_NEW(mem);
  CHECK(CPMechAssemble(mech, 0, y, NULL));
  CHECK(CPBodiesFind(car, CP_JOINT, "tie_rod", &tie_rod));
  CHECK(CPBodiesFind(car, CP_BODY, "upright", &upright));
  CHECK(CPMechAttach(mech, mem, 0, y));
  CHECK(CPIntegratorSStolerances(mem, 1e-8, 1e-8));
  printf("t [s]  travel [m]  tie rod [N]\n");
  for (int row = 0; row <= 10; row++) {
    CPMechOutput now = {CP_SIZED(CPMechOutput), .lambda = lambda};
    CPPowers E       = CP_INIT(CPPowers);
    if (row > 0) CHECK(CPIntegratorEvolve(mem, row * 0.1, y, &t, CV_NORMAL));
    CHECK(CPMechEvaluate(mech, t, y, &now));
    CHECK(CPMechGetPowers(mech, t, y, lambda, &E));
    CHECK(CPMechGetReaction(mech, tie_rod, t, y, lambda, F, T));
    CHECK(CPMechGetFrame(mech, upright, hub, y, &frame));
    printf("%5.1f  %10.6f  %11.3f\n", t, frame.position[2] - 0.33,
           sqrt(F[0] * F[0] + F[1] * F[1] + F[2] * F[2]));
    const sunrealtype sum = E.kinetic + E.potential - N_VGetArrayPointer(y)[39]; /* work */
    if (row == 0) start = sum;
    drift     = fmax(drift, fabs(sum - start));
    violation = fmax(violation, now.position);
  }
  /* About a hundred steps each have an error of 1e-8 of the forces' work, 3 kN times a few centimetres. */
  const int ok = drift <= 1e-4 && violation <= 1e-8;
  printf("energy balance: %.1e J, joints closed to %.1e m\n%s\n", drift, violation,
         ok ? "ok" : "WRONG");
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  CPBodiesFree(&car);
  N_VDestroy(y);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
