/* A chain of hinged rods in the plane, with the torque -3 sin x - v sqrt(v^2 + 0.01) / 2 + cos(5 t) / 5 at each hinge, as an expression or as
 * compiled C with the same derivatives.
 *
 *   Usage:  expressions [n [method [absolute]]]      default: 6 DOP853, in joint coordinates
 *   Output: the last angle both ways, and by how much they differ. For instructions:
 *
 *             valgrind --tool=callgrind --toggle-collect=by_expressions build/release/bench/expressions 6
 *             valgrind --tool=callgrind --toggle-collect=by_functions build/release/bench/expressions 6
 *
 *           The exit code is 1 if the angles differ by more than 1e-3, the tolerance being 1e-6. */
#include "check.h"

#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_language.h>
#include <cpodes/cpodes_session.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *method = "DOP853";
static CPFormulation form = CP_JOINT_COORDINATES;

static int torque(sunrealtype t, sunrealtype x, sunrealtype v, sunrealtype *T, void *data) {
  const sunrealtype s = sqrt(v * v + 0.01);
  (void)data;
  T[0] = -3 * sin(x) - 0.5 * v * s + 0.2 * cos(5 * t);
  T[1] = -3 * cos(x);
  T[2] = -0.5 * (s + v * v / s);
  return 0;
}

static void add(CPBodies b, const CPElement *element) { CHECK(CPBodiesAdd(b, element, NULL)); }

static sunrealtype march(CPSession session, N_Vector y) {
  sunrealtype t;
  CHECK(CPSessionRun(session, 3, y, &t));
  return N_VGetArrayPointer(y)[N_VGetLength(y) / 2 - 1];
}

/* Which run it is, for callgrind */
static sunrealtype by_functions(CPSession session, N_Vector y) { return march(session, y); }
static sunrealtype by_expressions(CPSession session, N_Vector y) { return march(session, y); }
static sunrealtype (*const runs[])(CPSession, N_Vector) = {by_functions, by_expressions};

/* The last coordinate at t = 3 */
static sunrealtype angle(int n, CPFunction f, SUNContext ctx) {
  const sunrealtype gravity[] = {0, -9.81, 0};
  CPBodies b                  = CHECK_POINTER(CPBodiesCreate(2, gravity));
  for (int i = 0; i < n; i++) {
    char rod[24], before[24], hinge[24], spring[24];
    snprintf(rod, sizeof rod, "rod%d", i), snprintf(before, sizeof before, "rod%d", i - 1);
    snprintf(hinge, sizeof hinge, "hinge%d", i), snprintf(spring, sizeof spring, "spring%d", i);
    const CPBody body = {CP_NEW_BODY(rod), .mass = 1, .inertia = {0, 0, 0.1}, .position = {i + 0.5}};
    const CPJoint pin  = {CP_NEW_JOINT(hinge), .kind = CP_JOINT_REVOLUTE, .a = i ? before : NULL,
                          .b = rod, .on_a = {.point = {i}}};
    const CPSpring law = {CP_NEW_SPRING(spring), .of = {hinge, 0}, .function = f,
                          .law = f ? NULL : torque};
    add(b, &body.head), add(b, &pin.head), add(b, &law.head);
  }
  CPModel model;
  CHECK(CPBodiesSetFormulation(b, form));
  CHECK(CPBodiesBuild(b, &model));
  N_Vector y        = CHECK_POINTER(CPBodiesState(b, ctx));
  CPMech mech       = CHECK_POINTER(CPMechCreate(model, y, ctx));
  CPSession session = CHECK_POINTER(CPSessionCreate(method, ctx));
  CHECK(CPSessionSetMech(session, mech));
  CHECK(CPSessionSetTolerances(session, 1e-6, 1e-6, NULL));
  CHECK(CPSessionStart(session, 0, y, 3));
  const sunrealtype x = runs[f != NULL](session, y);
  CPSessionFree(&session);
  CPMechFree(&mech);
  N_VDestroy(y);
  CPModelFree(&model);
  CPBodiesFree(&b);
  return x;
}

int main(int argc, char **argv) {
  const int n                     = argc > 1 ? atoi(argv[1]) : 6;
  const char *const names[]       = {"t", "x", "v"};
  const CPFunctionOptions options = {CP_SIZED(CPFunctionOptions),
                                     .text = "-3*sin(x) - 0.5*v*sqrt(v^2 + 0.01) + 0.2*cos(5*t)",
                                     .nvariables = 3, .variable = names};
  CPFunction f;
  SUNContext ctx = check_context();
  if (argc > 2) method = argv[2];
  if (argc > 3) form = CP_ABSOLUTE;
  CHECK(CPFunctionCreate(&options, &f));
  const sunrealtype x = angle(n, f, ctx), y = angle(n, NULL, ctx);
  CPFunctionFree(&f);
  SUNContext_Free(&ctx);
  printf("%s, %d rods: %.10f by expressions, %.10f by functions, %.1e apart\n", method, n,
         (double)x, (double)y, (double)fabs(x - y));
  return !(fabs(x - y) <= 1e-3);
}
