/* Example: a heavy symmetric top on its tip precesses steadily (Lagrange's top). It is a rigid body
 * with a quaternion and a ball joint, computed with the angular velocity in both frames.
 *
 *   m r'' = m g + F,   J omega' = (J omega) x omega - s x F      F: force of the ground on the tip
 *   r = R(q) s                                                  the tip stays at the origin
 *
 *   m = 1 kg   s = (0, 0, l), l = 0.1 m   J = diag(0.02, 0.02, 0.01) kg m^2   g = 9.81 m/s^2
 *   tilt theta = 0.5 rad   precession Omega = 2 rad/s
 *
 * Closed form: with A = J_1 + m l^2 and C = J_3 the tilt is constant if the spin about the axis is
 *
 *   omega_3 = (m g l + A Omega^2 cos(theta)) / (C Omega)
 *
 * The axis then revolves with Omega, and F = m (-Omega^2 l sin(theta) along r, g along z): H.
 * Goldstein, C. Poole, J. Safko, Classical Mechanics, 2002, 5.7.
 *
 * Run:       top
 * Expected:  for both frames a table of the angle between the axis and the closed form, the error of F
 *            and the gain of energy, and "ok". The exit code is 1 if the physics is wrong, and 2 if a
 *            call failed.
 */
#include "check_flag.h"
#include "models/rigid_body.h"
#include <math.h>
#include <nvector/nvector_serial.h>

static const sunrealtype l = 0.1, g = 9.81, theta = 0.5, Omega = 2;
static const RigidBody body = {.m = 1, .J = {0.02, 0.02, 0.01}};

/* Axis of the top in the closed form */
static void axis_at(sunrealtype t, sunrealtype axis[3]) {
  axis[0] = sin(theta) * sin(Omega * t);
  axis[1] = -sin(theta) * cos(Omega * t);
  axis[2] = cos(theta);
}

static sunrealtype distance(const sunrealtype a[3], const sunrealtype b[3]) {
  return sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2));
}

/* y: out, tilted about the x axis, with the steady spin */
static void start(const RigidBodies *top, N_Vector y) {
  const sunrealtype A = body.J[0] + body.m * l * l, C = body.J[2];
  const sunrealtype spin    = (body.m * g * l + A * Omega * Omega * cos(theta)) / (C * Omega);
  const sunrealtype turn[3] = {theta, 0, 0}, more = spin - Omega * cos(theta);
  sunrealtype r[3], v[3], omega[3];
  axis_at(0, r);
  for (int i = 0; i < 3; i++) {
    omega[i] = (i == 2 ? Omega : 0) + more * r[i]; /* precession, and spin about the axis */
    r[i] *= l;
  }
  v[0] = -Omega * r[1], v[1] = Omega * r[0], v[2] = 0;
  rigid_body_place(top, 0, r, turn, v, omega, y);
}

/* Integrates and reports. Returns 0 if all errors are small enough */
static int precess(CPFrame frame, SUNContext ctx) {
  const sunrealtype tol = 1e-9;
  const Joint tip       = {.kind = JOINT_BALL, .a = 0, .b = GROUND, .point_a = {0, 0, -l}};
  CPQuaternion quaternion;
  RigidBodies top = {.nbodies    = 1,
                     .njoints    = 1,
                     .body       = &body,
                     .joint      = &tip,
                     .g          = {0, 0, -g},
                     .frame      = frame,
                     .quaternion = &quaternion};

  N_Vector y = N_VNew_Serial(13, ctx);
  CHECK_NEW(y);
  start(&top, y);
  const sunrealtype energy = rigid_body_energy(&top, y);

  CPEquations model;
  CHECK(rigid_body_model(&top, 0, ctx, &model));
  CPModel made = CPModelCreate(&model);
  CHECK_NEW(made);
  CPMech mech = CPMechCreate(made, y, ctx);
  CPModelFree(&made);
  CHECK_NEW(mech);
  CHECK(CPMechSetUserData(mech, &top));

  CPIntegrator mem = CPIntegratorCreate("ADAMS", ctx);
  CHECK_NEW(mem);
  CHECK(CPMechAttach(mech, mem, 0, y));
  CHECK(CPIntegratorSStolerances(mem, tol, tol));
  CHECK(CVodeSetMaxNumSteps(CPIntegratorGetCVodeMem(mem), 100000));

  printf("omega in %s axes\n", frame == CP_FRAME_BODY ? "body" : "space");
  sunrealtype t = 0, worst_axis = 0, worst_force = 0, worst_energy = 0;
  for (int i = 1; i <= 10; i++) {
    sunrealtype axis[3] = {0, 0, 1}, exact[3], reaction[6], F[3];
    CPMechOutput out    = {CP_SIZED(CPMechOutput), .reaction = reaction};
    CHECK(CPIntegratorEvolve(mem, i, y, &t, CV_NORMAL));
    CHECK(CPMechEvaluate(mech, t, y, &out));
    rigid_body_direction(&top, 0, y, axis);
    axis_at(t, exact);
    for (int k = 0; k < 3; k++) F[k] = body.m * (k == 2 ? g : -Omega * Omega * l * exact[k]);
    const sunrealtype off = distance(axis, exact), gained = rigid_body_energy(&top, y) - energy;
    worst_axis   = fmax(worst_axis, off);
    worst_force  = fmax(worst_force, distance(reaction, F));
    worst_energy = fmax(worst_energy, fabs(gained));
    printf(
        "t = %4.1f s   axis off by %7.1e rad   F by %7.1e N   energy %8.1e J   |q| - 1 = %7.1e\n",
        t, off, distance(reaction, F), gained, out.norms);
  }

  /* A step has an error of at most dw = tol (1 + w) in the spin of w = 55 rad/s, of which CVODES aims at a
     sixth. A wrong spin makes the tilt oscillate by dw / w, and with it the rate of precession, so that
     the error of the axis is Omega t times that. The error of F is m g times the error of the axis, and
     that of the energy C w dw. */
  long int steps;
  CHECK(CVodeGetNumSteps(CPIntegratorGetCVodeMem(mem), &steps));
  sunrealtype omega[3];
  rigid_body_omega(&top, 0, y, omega);
  const sunrealtype zero[3] = {0, 0, 0}, w = distance(omega, zero);
  const sunrealtype dw = (sunrealtype)steps * tol * (1 + w), angle = Omega * t * dw / w;
  const int ok = worst_axis <= angle && worst_force <= body.m * g * angle &&
                 worst_energy <= body.J[2] * w * dw;
  printf("%s\n", ok ? "ok" : "WRONG: the precession, the force on the tip or the energy is off");

  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  rigid_body_model_free(&model);
  N_VDestroy(y);
  return !ok;
}

int main(void) {
  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  const int wrong = precess(CP_FRAME_BODY, ctx) + precess(CP_FRAME_WORLD, ctx);
  CHECK(SUNContext_Free(&ctx));
  return wrong ? 1 : 0;
}
