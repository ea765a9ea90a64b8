/* The cost of libcpodes_bodies: a hanging chain of n rods in space, from bodies and joints, and by
 * functions written by hand (examples/models/rigid_body.h), with ball joints and with hinges whose
 * axes are across the rods. The rods fall from an angle of 0.8 below the horizontal, by BDF and by
 * DOP853 at 1e-6 for 0.1 s. Both have the same equations, and matrices with the same patterns.
 *
 *   Usage:  bodies [n [repetitions]]      default: 1000 5
 *   Output: CPU seconds of each, the smallest of the repetitions, which alternate; their ratio; the
 *           difference of the end states. The exit code is 1 if these differ by more than 1e-4 rod
 *           lengths. */
#include "check.h"

#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_integrator.h>
#include <math.h>
#include <models/rigid_body.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const sunrealtype gravity[3] = {0, -9.81, 0}, angle = -0.8,
                         J[3] = {0.00125, 0.0839583, 0.0839583};

typedef struct {
  RigidBodies hand;
  RigidBody *body;
  Joint *joint;
  CPQuaternion *quaternion;
  N_Vector y;
} Chain;

/* Rod i, from its joint on, along its x axis; z is the axis of the hinges */
static void build_by_hand(Chain *chain, int n, JointKind kind, SUNContext ctx) {
  chain->body       = calloc((size_t)n, sizeof *chain->body);
  chain->joint      = calloc((size_t)n, sizeof *chain->joint);
  chain->y          = N_VNew_Serial(13 * (sunindextype)n, ctx);
  chain->quaternion = calloc((size_t)n, sizeof *chain->quaternion);
  if (!chain->body || !chain->joint || !chain->quaternion || !chain->y) exit(2);
  N_VConst(0, chain->y);
  chain->hand = (RigidBodies){.nbodies    = n,
                              .njoints    = n,
                              .body       = chain->body,
                              .joint      = chain->joint,
                              .frame      = CP_FRAME_BODY,
                              .quaternion = chain->quaternion};
  memcpy(chain->hand.g, gravity, sizeof gravity);
  for (int i = 0; i < n; i++) {
    const sunrealtype along = i + 0.5, r[3] = {along * cos(angle), along * sin(angle), 0},
                      turn[3] = {0, 0, angle}, none[3] = {0, 0, 0};
    chain->body[i]  = (RigidBody){.m = 1, .J = {J[0], J[1], J[2]}};
    chain->joint[i] = (Joint){.kind    = kind,
                              .a       = i ? i - 1 : GROUND,
                              .b       = i,
                              .point_a = {i ? 0.5 : 0, 0, 0},
                              .point_b = {-0.5, 0, 0},
                              .axis_a  = {0, 0, 1},
                              .axis_b  = {0, 0, 1}};
    rigid_body_place(&chain->hand, i, r, turn, none, none, chain->y);
  }
}

static CPMech mech_by_hand(Chain *chain, SUNContext ctx) {
  CPEquations model;
  if (rigid_body_model(&chain->hand, 1, ctx, &model)) exit(2);
  CPModel made = CPModelCreate(&model);
  CPMech mech  = CPMechCreate(made, chain->y, ctx);
  CPModelFree(&made);
  rigid_body_model_free(&model);
  if (!mech || CPMechSetUserData(mech, &chain->hand)) exit(2);
  return mech;
}

static CPBodies build_of_bodies(int n, JointKind kind) {
  CPBodies b = CPBodiesCreate(3, gravity);
  for (int i = 0; i < n; i++) {
    char name[16], before[16], joint[16];
    snprintf(name, sizeof name, "b%d", i);
    snprintf(before, sizeof before, "b%d", i - 1);
    snprintf(joint, sizeof joint, "j%d", i);
    const CPBody body = {CP_NEW_BODY(name), .mass = 1, .inertia = {J[0], J[1], J[2]}};
    const CPJoint at  = {
         CP_NEW_JOINT(joint),    .kind = kind == JOINT_BALL ? CP_JOINT_BALL : CP_JOINT_REVOLUTE,
         .a = i ? before : NULL, .b = name,
         .in = CP_IN_BODIES,     .on_a.point = {i ? 0.5 : 0},
         .on_b.point = {-0.5}};
    CHECK(CPBodiesAdd(b, &body.head, NULL));
    CHECK(CPBodiesAdd(b, &at.head, NULL));
  }
  return b;
}

static double cpu_now(void) { return (double)clock() / CLOCKS_PER_SEC; }

/* CPU seconds of a run; y: the initial state on input, the final state on output */
static double run(CPMech mech, int bdf, N_Vector y, SUNContext ctx) {
  const sunrealtype tol = 1e-6, t_end = 0.1;
  sunrealtype t;
  const double start = cpu_now();
  if (bdf) {
    CPIntegrator mem = CPIntegratorCreate("BDF", ctx);
    CHECK(CPMechAttach(mech, mem, 0, y));
    CHECK(CPIntegratorSStolerances(mem, tol, tol));
    CHECK(CVodeSetMaxNumSteps(CPIntegratorGetCVodeMem(mem), 100000));
    CHECK(CPIntegratorEvolve(mem, t_end, y, &t, CV_NORMAL));
    CPIntegratorFree(&mem);
  } else {
    CPIntegrator mem = CPIntegratorCreate("DOP853", ctx);
    CHECK(CPMechAttach(mech, mem, 0, y));
    CHECK(CPIntegratorSStolerances(mem, tol, tol));
    CHECK(CPIntegratorEvolve(mem, t_end, y, &t, CV_NORMAL));
    CPIntegratorFree(&mem);
  }
  return cpu_now() - start;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000, repetitions = argc > 2 ? atoi(argv[2]) : 5;
  int wrong = n < 1 || repetitions < 1;
  if (wrong) return 2;
  SUNContext ctx = check_context();
  printf("%d rods\njoints     method   by hand [s]   bodies [s]   ratio   difference [m]\n", n);
  for (int which = 0; which < 4; which++) {
    const JointKind kind   = which / 2 ? JOINT_REVOLUTE : JOINT_BALL;
    double best[2]         = {INFINITY, INFINITY};
    sunrealtype difference = 0;
    Chain chain;
    build_by_hand(&chain, n, kind, ctx);
    N_Vector end[2] = {N_VClone(chain.y), N_VClone(chain.y)};
    if (!end[0] || !end[1]) return 2;
    for (int k = 0; k < 2 * repetitions; k++) {
      CPBodies b  = k % 2 ? build_of_bodies(n, kind) : NULL;
      CPMech mech = k % 2 ? NULL : mech_by_hand(&chain, ctx);
      if (b) {
        CPModel model;
        CHECK(CPBodiesBuild(b, &model));
        mech = CHECK_POINTER(CPMechCreate(model, chain.y, ctx));
        CPModelFree(&model);
      }
      N_VScale(1, chain.y, end[k % 2]);
      best[k % 2] = fmin(best[k % 2], run(mech, which % 2, end[k % 2], ctx));
      CPMechFree(&mech);
      CPBodiesFree(&b);
    }
    for (int i = 0; i < 13 * n; i++)
      difference =
          fmax(difference, fabs(N_VGetArrayPointer(end[0])[i] - N_VGetArrayPointer(end[1])[i]));
    printf("%-10s %-6s %12.3f %12.3f %8.3f %14.1e\n", which / 2 ? "hinges" : "balls",
           which % 2 ? "BDF" : "DOP853", best[0], best[1], best[1] / best[0], (double)difference);
    wrong = wrong || !(difference < 1e-4);
    N_VDestroy(end[0]);
    N_VDestroy(end[1]);
    N_VDestroy(chain.y);
    free(chain.body);
    free(chain.joint);
  }
  SUNContext_Free(&ctx);
  return wrong;
}
