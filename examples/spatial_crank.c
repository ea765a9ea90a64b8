/* Example: a closed loop in space, a slider-crank with a crank that turns about x and a slider that moves along x. The
 * guide's tutorial "Your first mechanism" explains it; examples/mechanisms/spatial_crank.yaml describes the same
 * mechanism.
 *
 *   crank 0.08 m, 0.12 kg     turns about x through (0, 0.1, 0.12)
 *   rod 0.3 m, 0.5 kg         from a ball joint at the end of the crank to a universal joint at the slider; uniform and
 *                             thin: inertia m L^2/12 (I - d d^T), d = (2, -1, -2)/3, and 1e-6 kg m^2 about d
 *   slider 2 kg               moves along the x axis
 *
 * The crank starts upright with 6 rad/s, and the weights of crank and rod act on the mechanism. If theta is the angle of
 * the crank, the slider is at x = sqrt(0.3^2 - (0.1 - 0.08 sin theta)^2 - (0.12 + 0.08 cos theta)^2).
 *
 * Run:       spatial_crank
 * Expected:  eleven lines with the angle, the slider's position, and the force in the ball joint, then the errors of the
 *            position and of the energy, and "ok". The exit code is 1 if an error is too large, and 2 if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_integrator.h>
#include <math.h>

static const sunrealtype gravity[] = {0, 0, -9.81};
static const CPBody crank          = {CP_NEW_BODY("crank"),          .mass = 0.12,
                                      .inertia = {1e-4, 1e-4, 1e-5}, .position = {0, 0.1, 0.12},
                                      .centre = {0, 0, 0.04},        .omega = {6, 0, 0}};
static const CPBody rod            = {
               CP_NEW_BODY("rod"),
               .mass     = 0.5,
               .inertia  = {2.0837778e-3, 3.3334444e-3, 2.0837778e-3, 8.331111e-4, 1.6662222e-3, -8.331111e-4},
               .position = {0.1, 0.05, 0.1},
               .velocity = {0.12, -0.24, 0},
               .omega    = {0, 0, 2.4}};
static const CPBody slider   = {CP_NEW_BODY("slider"), .mass = 2, .inertia = {1e-4, 1e-4, 1e-4},
                                .position = {0.2, 0, 0}, .velocity = {0.24, 0, 0}};
static const CPJoint joint[] = {
    {CP_NEW_JOINT("bearing"), CP_JOINT_REVOLUTE, NULL, "crank", .on_a = {{0, 0.1, 0.12}, {1, 0, 0}}},
    {CP_NEW_JOINT("pin"), CP_JOINT_BALL, "crank", "rod", .on_a.point = {0, 0.1, 0.2}},
    {CP_NEW_JOINT("cross"), CP_JOINT_UNIVERSAL, "rod", "slider", .on_a = {{0.2, 0, 0}, {1, 2, 0}},
     .on_b.axis = {0, 0, 1}},
    {CP_NEW_JOINT("guide"), CP_JOINT_PRISMATIC, NULL, "slider", .on_a = {{0.2, 0, 0}, {1, 0, 0}}}};

/* x of the slider at the angle theta of the crank, by the theorem of Pythagoras */
static sunrealtype slider_at(sunrealtype theta) {
  const sunrealtype y = 0.1 - 0.08 * sin(theta), z = 0.12 + 0.08 * cos(theta);
  return sqrt(0.09 - y * y - z * z);
}

int main(void) {
  int bearing, guide, pin; /* coordinates, and a joint */
  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  CPBodies loop = CPBodiesCreate(3, gravity);
  CPModel model;
  CHECK_NEW(loop);
  CHECK(CPBodiesAdd(loop, &crank.head, NULL));
  CHECK(CPBodiesAdd(loop, &rod.head, NULL));
  CHECK(CPBodiesAdd(loop, &slider.head, NULL));
  for (int i = 0; i < 4; i++) CHECK(CPBodiesAdd(loop, &joint[i].head, NULL));
  CHECK(CPBodiesBuild(loop, &model));
  N_Vector y = CPBodiesState(loop, ctx);
  CHECK_NEW(y);
  CPMech mech = CPMechCreate(model, y, ctx);
  CHECK_NEW(mech);
  CPModelFree(&model);
  CHECK(CPMechAssemble(mech, 0, y, NULL));
  CHECK(CPBodiesFind(loop, CP_COORDINATE, "bearing", &bearing));
  CHECK(CPBodiesFind(loop, CP_COORDINATE, "guide", &guide));
  CHECK(CPBodiesFind(loop, CP_JOINT, "pin", &pin));

  CPIntegrator mem = CPIntegratorCreate("DOP853", ctx);
  CHECK_NEW(mem);
  CHECK(CPMechAttach(mech, mem, 0, y));
  CHECK(CPIntegratorSStolerances(mem, 1e-9, 1e-9));
  sunrealtype t = 0, E0 = 0, position_error = 0, energy_error = 0, lambda[17];
  printf("t [s]  theta [rad]  x [m]     force in the pin [N]\n");
  for (int i = 0; i <= 10; i++) {
    CPMechOutput now = {CP_SIZED(CPMechOutput), .lambda = lambda};
    CPPowers E       = CP_INIT(CPPowers);
    CPSensor force   = {CP_SIZED(CPSensor), .lambda = lambda};
    sunrealtype theta, x;
    if (i > 0) CHECK(CPIntegratorEvolve(mem, 0.2 * i, y, &t, CV_NORMAL));
    CHECK(CPMechEvaluate(mech, t, y, &now));
    CHECK(CPMechGetSensor(mech, "pin.force", t, y, &force));
    CHECK(CPMechGetCoordinate(mech, bearing, y, &theta, NULL));
    CHECK(CPMechGetCoordinate(mech, guide, y, &x, NULL));
    CHECK(CPMechGetPowers(mech, t, y, lambda, &E));
    x += 0.2; /* from the placement to the origin */
    const sunrealtype *F = force.value;
    printf("%5.1f  %11.6f  %.6f  %9.4f\n", t, theta, x,
           sqrt(F[0] * F[0] + F[1] * F[1] + F[2] * F[2]));
    if (i == 0) E0 = E.kinetic + E.potential;
    energy_error   = fmax(energy_error, fabs(E.kinetic + E.potential - E0));
    position_error = fmax(position_error, fabs(x - slider_at(theta)));
  }

  /* The joints are closed to a few tolerances. Each of about a hundred steps has an error of one tolerance in the energy of about 1 J. */
  const int ok = position_error <= 1e-8 && energy_error <= 1e-6;
  printf("largest errors: position %.1e m, energy %.1e J\n%s\n", position_error, energy_error,
         ok ? "ok" : "WRONG");
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  CPBodiesFree(&loop);
  N_VDestroy(y);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
