/* Releases: what becomes positive, and what they must not be. Runs with them are those of test/runner/mechanism_test.py. */
#include "reading.h"
#include "support/support.h"
#include <cpodes/cpodes_bodies.h>
#include <math.h>
#include <string.h>

static const sunrealtype g = 9.81, m = 2;
static CPBodies bodies;

static int add(CPRelease release) { return CPBodiesAdd(bodies, &release.head, NULL); }

/* A rod of length 1 m about a pin, whose frame is at its middle */
static void start(void) {
  const CPBody rod  = {CP_NEW_BODY("rod"), .mass = m, .inertia = {0, 0, m / 12},
                       .position = {0.5, 0}};
  const CPJoint pin = {CP_NEW_JOINT("pin"), .kind = CP_JOINT_REVOLUTE, .b = "rod"};
  test_context_setup();
  bodies = CPBodiesCreate(2, (sunrealtype[]){0, -g, 0});
  ck_assert_int_eq(CPBodiesAdd(bodies, &rod.head, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesAdd(bodies, &pin.head, NULL), CP_SUCCESS);
}

static void stop(void) {
  CPBodiesFree(&bodies);
  test_context_teardown();
}

/* At the angle x below the horizontal the force on the pin of a rod that has fallen from there is m g (5/2 sin x, 1/4 cos x), along and
 * across it. With rows off, the joint bears nothing. */
START_TEST(triggers_are_loads_functions_and_times) {
  const sunrealtype x = 0.7;
  const struct {
    CPRelease release;
    sunrealtype value;
  } kinds[] = {{{.load = 3}, m * g * hypot(2.5 * sin(x), 0.25 * cos(x)) - 3}, {{.at = 0.5}, -0.2}};
  for (int k = 0; k < 4; k++) {
    CPRelease release    = kinds[k / 2].release;
    const CPElement head = CP_NEW_RELEASE("snap");
    CPMech mech;
    CPSensor s = {CP_SIZED(CPSensor)};
    start();
    release.head  = head;
    release.joint = "pin";
    ck_assert_int_eq(add(release), CP_SUCCESS);
    const CPDescription d = thing_at(bodies, CP_RELEASE, thing_named(bodies, CP_RELEASE, "snap"));
    ck_assert_str_eq(d.name, "snap");
    ck_assert_int_eq(d.joint, thing_named(bodies, CP_JOINT, "pin"));
    ck_assert(k < 2 ? isinf(d.begin) : d.begin == 0.5);
    const int formulation = k % 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE;
    ck_assert_int_eq(CPBodiesSetFormulation(bodies, formulation), CP_SUCCESS);
    ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
    N_Vector y              = CPBodiesState(bodies, test_context);
    const sunrealtype omega = -sqrt(3 * g * sin(x)), r = 0.5;
    const sunrealtype state[] = {r * cos(x),         -r * sin(x),        -x,
                                 omega * r * sin(x), omega * r * cos(x), omega};
    ck_assert_int_eq(N_VGetLength(y), 6); /* the joint keeps its rows in joint coordinates */
    memcpy(entries(y), state, sizeof state);
    ck_assert_int_eq(CPMechGetSensor(mech, "snap.trigger", 0.3, y, &s), CP_SUCCESS);
    ck_assert_double_eq_tol(s.value[0], kinds[k / 2].value, 1e-12);
    ck_assert_int_eq(CPMechSetActive(mech, (int[]){0, 0}), CP_SUCCESS);
    ck_assert_int_eq(CPMechGetSensor(mech, "snap.trigger", 0.3, y, &s), CP_SUCCESS);
    ck_assert_double_eq_tol(s.value[0], k < 2 ? -3 : kinds[1].value, 1e-12);
    N_VDestroy(y);
    CPMechFree(&mech);
    stop();
  }
}
END_TEST

START_TEST(wrong_releases_are_named) {
  const struct {
    CPRelease release;
    const char *says;
  } bad[]              = {{{.joint = NULL}, "snap: joint must not be NULL"},
                          {{.joint = "rod"}, "snap: there is no joint \"rod\" to release"},
                          {{.joint = "pin", .load = -1}, "snap: load must not be negative, and is -1"},
                          {{.joint = "pin", .at = NAN}, "snap: at must be finite"},
                          {{.joint = "pin", .load = 1, .closes = 1}, "snap: a latch has no load"},
                          {{.joint = "bar", .closes = 1}, "a rod or a joint that rolls, bar, cannot be a latch"},
                          {{.joint = "pin", .load = 1, .at = 2},
                           "snap: a release has one of load, function and at, and has 2"}};
  const CPElement head = CP_NEW_RELEASE("snap"), second = CP_NEW_RELEASE("again");
  const CPJoint bar = {CP_NEW_JOINT("bar"), .kind = CP_JOINT_ROD, .b = "rod", .on_a = {{0, 1}}};
  start();
  ck_assert_int_eq(CPBodiesAdd(bodies, &bar.head, NULL), CP_SUCCESS);
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    CPRelease release = bad[k].release;
    release.head      = head;
    ck_assert_int_eq(add(release), CP_ILL_INPUT);
    ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(bodies)), bad[k].says);
    ck_assert_int_eq(CPBodiesCount(bodies, CP_RELEASE), 0);
  }
  ck_assert_int_eq(add((CPRelease){.head = head, .joint = "pin"}), CP_SUCCESS);
  ck_assert_int_eq(add((CPRelease){.head = second, .joint = "pin"}), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(bodies)),
                     "again: the joint pin is released by snap already");
  stop();
}
END_TEST

START_TEST(allocations_for_releases_may_fail) {
  static const char text[] =
      "dimension: 2\nbodies: [{name: rod, mass: 1, inertia: 1}]\n"
      "joints: [{name: pin, kind: revolute, b: rod}]\n"
      "releases: [{name: snap, joint: pin, when: pin.force.y/(1 N) + t/(1 s)}]\n";
  assert_allocations_may_fail("pin.yaml", text, sizeof text - 1, 10);
}
END_TEST

TEST_SUITE(releases) {
  Suite *suite = suite_create("bodies/releases");
  TCase *tc    = tcase_create("releases");
  tcase_add_test(tc, triggers_are_loads_functions_and_times);
  tcase_add_test(tc, wrong_releases_are_named);
  tcase_add_test(tc, allocations_for_releases_may_fail);
  suite_add_tcase(suite, tc);
  return suite;
}
