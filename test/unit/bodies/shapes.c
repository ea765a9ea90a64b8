/* Contacts of shapes: their derivatives, and their gaps against closed forms and other programs. */
#include "support/support.h"
#include "support/things.h"
#include <cpodes/cpodes_bodies.h>
#include <math.h>
#include <stdio.h>

enum { STATES = 3, KINDS = CP_SHAPE_PLANE + 1 };

static const sunrealtype sizes[KINDS][3] = {
    [CP_SHAPE_BOX] = {0.5, 0.7, 0.9},   [CP_SHAPE_CYLINDER] = {0.3, 0, 0.8},
    [CP_SHAPE_SPHERE] = {0.4},          [CP_SHAPE_WHEEL] = {0.3, 0, 0.2},
    [CP_SHAPE_CAPSULE] = {0.2, 0, 0.7}, [CP_SHAPE_ELLIPSOID] = {0.3, 0.4, 0.6},
    [CP_SHAPE_PLANE] = {1, 1}};

static CPShape shape_of(const char *name, CPShapeKind kind, const char *body) {
  return (CPShape){
      CP_NEW_SHAPE(name),
      .kind = kind,
      .body = body,
      .in   = CP_IN_BODIES,
      .on   = {.point = {0.1, -0.2, 0.15}, .axis = {0.3, 0.5, 1}, .across = {1, 0.2, -0.1}},
      .size = {sizes[kind][0], sizes[kind][1], sizes[kind][2]}};
}

static void add(CPBodies bodies, const CPElement *element) {
  ck_assert_msg(CPBodiesAdd(bodies, element, NULL) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(bodies)));
}

/* Two bodies with a shape each, apart */
static CPBodies pair_of(CPShapeKind a, CPShapeKind b) {
  const CPBody one    = {CP_NEW_BODY("one"), .mass = 1.3,
                         .inertia = {0.4, 0.5, 0.6, 0.05, -0.04, 0.03}, .centre = {0.1, -0.2, 0.3}};
  const CPBody two    = {CP_NEW_BODY("two"), .mass = 0.7, .inertia = {0.2, 0.3, 0.35},
                         .position = {1.1, 0.9, 1.8}, .quaternion = {0.9, 0.2, -0.3, 0.1}};
  const CPShape first = shape_of("first", a, "one"), second = shape_of("second", b, "two");
  const CPBodyContact contact = {CP_NEW_CONTACT("contact"), .a = "first", .b = "second",
                                 .on = CP_ON_SHAPE};
  CPBodies bodies             = CPBodiesCreate(3, NULL);
  ck_assert_ptr_nonnull(bodies);
  add(bodies, &one.head), add(bodies, &two.head), add(bodies, &first.head),
      add(bodies, &second.head);
  add(bodies, &contact.head);
  return bodies;
}

static int touches(int a, int b) {
  if (b == CP_SHAPE_PLANE) return 0;
  if (a == CP_SHAPE_BOX) return b == CP_SHAPE_SPHERE;
  return b != CP_SHAPE_BOX || a == CP_SHAPE_SPHERE || a == CP_SHAPE_PLANE;
}

/* A about 1e-8: sixth-order differences */
START_TEST(every_pair_of_shapes_has_exact_derivatives) {
  const int a = _i / KINDS, b = _i % KINDS;
  if (!touches(a, b)) return;
  for (int formulation = CP_ABSOLUTE; formulation <= CP_JOINT_COORDINATES; formulation++) {
    CPBodies bodies = pair_of((CPShapeKind)a, (CPShapeKind)b);
    CPMech mech;
    unsigned long long seed = 3;
    ck_assert_int_eq(CPBodiesSetFormulation(bodies, (CPFormulation)formulation), CP_SUCCESS);
    ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
    N_Vector y = CPBodiesState(bodies, test_context), dy = N_VClone(y);
    for (int state = 0; state < STATES; state++) {
      CPMechReport r = CP_INIT(CPMechReport);
      random_fill(dy, &seed);
      N_VLinearSum(1, y, state > 0 ? 0.3 : 0, dy, dy);
      const int flag = CPMechCheck(mech, 0.3, dy, &r);
      ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, CPObjectGetLastMessage(CP_OBJECT(mech)));
      const double errors[] = {r.A_p, r.A_v, r.v_p, r.b_v, r.K, r.C, r.Bq, r.Bu, r.udot};
      for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        ck_assert_msg(errors[i] <= 1e-8,
                      "shapes %d and %d, formulation %d, state %d: entry %zu of the report is %g",
                      a, b, formulation, state, i, errors[i]);
    }
    N_VDestroy(y), N_VDestroy(dy);
    CPMechFree(&mech);
    CPBodiesFree(&bodies);
  }
}
END_TEST

TEST_SUITE(shapes) {
  Suite *suite = suite_create("bodies/shapes");
  TCase *tc    = tcase_create("shapes");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, every_pair_of_shapes_has_exact_derivatives, 0, KINDS * KINDS);
  suite_add_tcase(suite, tc);
  return suite;
}
