/* Example: a robot arm speaks of its angles. A column turns about the vertical, an upper arm and a forearm lift, and a spring
 * holds the elbow; released, the arm falls.
 *
 * In joint coordinates (CPBodiesSetFormulation) the joints of this tree are no constraints: the state has three angles and
 * three rates, where absolute coordinates have 39 components and 15 constraints. Angles that are set are exact, whatever the
 * placement of the bodies was. Reactions, energies and points of bodies are the same in both; a robot's control also asks for
 * the Jacobian of a frame, here of the tip, and for the mass matrix.
 *
 * Run:       arm
 * Expected:  the names of the state, the tip after 1 s and the reaction of the shoulder in both formulations, which agree up
 *            to 1e-7 m and 1e-5 N, and "ok". The exit code is 1 if they do not, and 2 if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes_bodies.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COLUMN, UPPER, FOREARM };

static CPBodies describe(void) {
  static const char *const names[]    = {"column", "upper", "forearm"};
  static const sunrealtype axes[3][3] = {{0, 0, 1}, {0, 1, 0}, {0, 1, 0}};
  static const sunrealtype lengths[]  = {0.3, 0.5, 0.4};
  static const char *const joints[]   = {"waist", "shoulder", "elbow"};
  const sunrealtype gravity[]         = {0, 0, -9.81};
  CPBodies bodies                     = CPBodiesCreate(3, gravity);
  CHECK_NEW(bodies);
  for (int i = 0; i < 3; i++) { /* each link points upwards from its joint */
    const sunrealtype l = lengths[i], m = 4 - i, J = m * l * l / 12;
    const CPBody link   = {CP_NEW_BODY(names[i]), .mass = m, .inertia = {J, J, J / 20},
                           .centre   = {0, 0, l / 2},
                           .position = {0, 0,
                                      i == 0   ? 0
                                        : i == 1 ? 0.3
                                                 : 0.8}};
    const CPJoint hinge = {CP_NEW_JOINT(joints[i]),
                           .kind = CP_JOINT_REVOLUTE,
                           .a    = i > 0 ? names[i - 1] : "ground",
                           .b    = names[i],
                           .in   = CP_IN_BODIES,
                           .on_a = {.point = {0, 0, i > 0 ? lengths[i - 1] : 0},
                                    .axis  = {axes[i][0], axes[i][1], axes[i][2]}},
                           .on_b = {.axis = {axes[i][0], axes[i][1], axes[i][2]}}};
    CHECK(CPBodiesAdd(bodies, &link.head, NULL));
    CHECK(CPBodiesAdd(bodies, &hinge.head, NULL));
  }
  const CPSpring spring = {CP_NEW_SPRING("spring"), .of = {"elbow", 0}, .stiffness = 8,
                           .damping   = 0.3,
                           .inertance = 0.02}; /* the motor's rotor, seen through its gear */
  CHECK(CPBodiesAdd(bodies, &spring.head, NULL));
  return bodies;
}

/* tip, F: out, the tip of the forearm and the force in the shoulder after 1 s */
static void fall(CPFormulation formulation, SUNContext ctx, sunrealtype *tip, sunrealtype *F) {
  static const char *const hinges[] = {"waist", "shoulder", "elbow"};
  static const sunrealtype angle[] = {0.5, 0.8, 0.6}, rate[] = {2, 0, 0}, end[] = {0, 0, 0.4};
  CPBodies bodies = describe();
  CPModel model;
  CHECK(CPBodiesSetFormulation(bodies, CP_JOINT_COORDINATES));
  N_Vector angles = CPBodiesState(bodies, ctx);
  CHECK_NEW(angles);
  CHECK(CPBodiesBuild(bodies, &model));
  CPMech arm = CPMechCreate(model, angles, ctx);
  CHECK_NEW(arm);
  for (int k = 0; k < 3; k++) {
    int i;
    CHECK(CPBodiesFind(bodies, CP_COORDINATE, hinges[k], &i));
    CHECK(CPMechSetCoordinate(arm, i, angles, angle[k], rate[k]));
  }
  N_Vector y = N_VClone(angles);
  N_VScale(1, angles, y);
  if (formulation == CP_ABSOLUTE) { /* the same start: the bodies where the angles put them */
    CPModel absolute;
    CHECK(CPBodiesSetFormulation(bodies, formulation));
    N_VDestroy(y);
    y = CPBodiesState(bodies, ctx);
    CHECK_NEW(y);
    for (int i = COLUMN; i <= FOREARM; i++) {
      sunrealtype *q = N_VGetArrayPointer(y) + 7 * i, *u = N_VGetArrayPointer(y) + 21 + 6 * i;
      const sunrealtype centre[] = {0, 0, i == 0 ? 0.15 : i == 1 ? 0.25 : 0.2};
      CPBodyFrame frame          = CP_INIT(CPBodyFrame);
      CHECK(CPMechGetFrame(arm, i, centre, angles, &frame));
      for (int k = 0; k < 3; k++) q[k] = frame.position[k], u[k] = frame.velocity[k];
      for (int k = 0; k < 4; k++) q[3 + k] = frame.quaternion[k];
      for (int k = 0; k < 3; k++) /* in the axes of the body */
        for (int l = 0; l < 3; l++) u[3 + k] += frame.axes[3 * k + l] * frame.omega[l];
    }
    CPMechFree(&arm);
    CHECK(CPBodiesBuild(bodies, &absolute));
    arm = CPMechCreate(absolute, y, ctx);
    CHECK_NEW(arm);
    CPModelFree(&absolute);
  } else {
    for (int i = 0; i < CPBodiesCount(bodies, CP_STATE); i++) {
      CPDescription d = CP_INIT(CPDescription);
      CHECK(CPBodiesDescribe(bodies, CP_STATE, i, &d));
      printf("%-16s %4g %s\n", d.name, (double)N_VGetArrayPointer(y)[i], d.unit);
    }
  }
  sunrealtype t, lambda[18] = {0}, T[3];
  int shoulder;
  CPIntegrator dop853 = CPIntegratorCreate("DOP853", ctx);
  CHECK(CPMechAttach(arm, dop853, 0, y));
  CHECK(CPIntegratorSStolerances(dop853, 1e-10, 1e-10));
  CHECK(CPIntegratorSetStopTime(dop853, 1));
  CHECK(CPIntegratorEvolve(dop853, 1, y, &t, CV_NORMAL));
  CPMechOutput out = CP_INIT(CPMechOutput);
  out.lambda       = lambda;
  CHECK(CPMechEvaluate(arm, t, y, &out));
  sunrealtype J[6 * 3], M[3 * 3]; /* in joint coordinates */
  const int is_tree = formulation == CP_JOINT_COORDINATES;
  CPBodyFrame frame = {CP_SIZED(CPBodyFrame), .jacobian = is_tree ? J : NULL};
  CHECK(CPMechGetFrame(arm, FOREARM, end, y, &frame));
  memcpy(tip, frame.position, sizeof frame.position);
  if (is_tree) { /* velocities of the tip, in a horizontal direction and upwards, per unit of a rate */
    CPMechOutput terms = {CP_SIZED(CPMechOutput), .M = M};
    CHECK(CPMechEvaluate(arm, t, y, &terms));
    for (int k = 0; k < 3; k++)
      printf("%-9s dx/dt = %8.5f, dz/dt = %8.5f m/rad, M = %.5f kg m^2\n", hinges[k],
             (double)J[6 * k], (double)J[6 * k + 2], (double)M[4 * k]);
  }
  CHECK(CPBodiesFind(bodies, CP_JOINT, "shoulder", &shoulder));
  CHECK(CPMechGetReaction(arm, shoulder, t, y, lambda, F, T));
  CPIntegratorFree(&dop853);
  CPMechFree(&arm);
  CPModelFree(&model);
  CPBodiesFree(&bodies);
  N_VDestroy(angles);
  N_VDestroy(y);
}

int main(void) {
  static const char *const name[] = {"absolute", "joint"};
  sunrealtype tip[2][3], F[2][3], moved = 0, pulled = 0;
  SUNContext ctx;
  CHECK(SUNContext_Create(NULL, &ctx));
  for (int k = 1; k >= 0; k--) {
    fall((CPFormulation)k, ctx, tip[k], F[k]);
    printf("%-9s tip (%.8f, %.8f, %.8f) m, shoulder (%.5f, %.5f, %.5f) N\n", name[k],
           (double)tip[k][0], (double)tip[k][1], (double)tip[k][2], (double)F[k][0],
           (double)F[k][1], (double)F[k][2]);
  }
  for (int k = 0; k < 3; k++) {
    moved  = fmax(moved, fabs(tip[0][k] - tip[1][k]));
    pulled = fmax(pulled, fabs(F[0][k] - F[1][k]));
  }
  SUNContext_Free(&ctx);
  puts(moved <= 1e-7 && pulled <= 1e-5 ? "ok" : "WRONG");
  return !(moved <= 1e-7 && pulled <= 1e-5);
}
