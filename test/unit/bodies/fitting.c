/* Assemblies from starts that are far off: by forward kinematics, and by least squares in joint angles. */
#include "support/alloc.h"
#include "support/support.h"
#include "support/things.h"
#include <cpodes/cpodes_bodies.h>
#include <math.h>

/* An arm of hinges in space, with any axes, straight in the guess */
enum { HINGES = 7 };
typedef struct {
  double at[3], axis[3],
      angle; /* of the hinge in its parent's frame; the angle that it is to have */
} Hinge;

static const char *const links[]  = {"l1", "l2", "l3", "l4", "l5", "l6", "l7"};
static const char *const joints[] = {"j1", "j2", "j3", "j4", "j5", "j6", "j7"};
static const char *const drives[] = {"d1", "d2", "d3", "d4", "d5", "d6", "d7"};

static CPBodies arm(Hinge *hinge, int count, double most, unsigned long long *seed) {
  CPBodies b   = CPBodiesCreate(3, NULL);
  double at[3] = {0, 0, 0};
  for (int i = 0; i < count; i++) {
    Hinge *h = &hinge[i];
    for (int k = 0; k < 3; k++) {
      h->axis[k] = random_number(seed);
      h->at[k]   = 0.5 * random_number(seed);
      at[k] += h->at[k];
    }
    h->angle            = most * random_number(seed);
    const CPBody body   = {CP_NEW_BODY(links[i]), .mass = 1, .inertia = {0.1, 0.1, 0.1},
                           .position = {at[0], at[1], at[2]}};
    const CPMarker axis = {.axis = {h->axis[0], h->axis[1], h->axis[2]}};
    CPJoint joint       = {CP_NEW_JOINT(joints[i]),
                           .kind = CP_JOINT_REVOLUTE,
                           .a    = i ? links[i - 1] : NULL,
                           .b    = links[i],
                           .in   = CP_IN_BODIES,
                           .on_a = axis,
                           .on_b = axis};
    for (int k = 0; k < 3; k++) joint.on_a.point[k] = h->at[k];
    add_element(b, &body.head);
    add_element(b, &joint.head);
  }
  return b;
}

/* x: out, a point of the last link in space where all hinges have their angles (Rodrigues) */
static void forward(const Hinge *hinge, int count, const double *point, double *x) {
  memcpy(x, point, 3 * sizeof *x);
  for (int i = count - 1; i >= 0; i--) {
    const double *z = hinge[i].axis, size = sqrt(z[0] * z[0] + z[1] * z[1] + z[2] * z[2]),
                 c = cos(hinge[i].angle), s = sin(hinge[i].angle),
                 along = (z[0] * x[0] + z[1] * x[1] + z[2] * x[2]) / (size * size);
    double y[3];
    for (int k = 0; k < 3; k++)
      y[k] = hinge[i].at[k] + c * x[k] + (1 - c) * along * z[k] +
             s * (z[(k + 1) % 3] * x[(k + 2) % 3] - z[(k + 2) % 3] * x[(k + 1) % 3]) / size;
    memcpy(x, y, sizeof y);
  }
}

/* The largest distance of points of the last link from where forward kinematics puts them */
static double apart(CPMech mech, N_Vector y, const Hinge *hinge, int count) {
  double worst = 0;
  for (int k = 0; k < 4; k++) {
    const sunrealtype point[3] = {k == 1, k == 2, k == 3};
    sunrealtype x[3], to[3];
    ck_assert_int_eq(body_point(mech, count - 1, point, y, x, NULL), CP_SUCCESS);
    forward(hinge, count, point, to);
    for (int l = 0; l < 3; l++) worst = fmax(worst, fabs(x[l] - to[l]));
  }
  return worst;
}

static void drive_all(CPBodies b, const Hinge *hinge, int count) {
  for (int i = 0; i < count; i++) {
    const CPDrive drive = {CP_NEW_DRIVE(drives[i]), .of = {joints[i], 0}, .start = hinge[i].angle};
    add_element(b, &drive.head);
  }
}

/* The last link is welded where its hinges can bring it. */
static void weld_last(CPBodies b, const Hinge *hinge, int count) {
  double at[4][3];
  CPJoint weld = {CP_NEW_JOINT("weld"), .kind = CP_JOINT_FIXED, .b = links[count - 1],
                  .in = CP_IN_BODIES, .on_b = {.axis = {0, 0, 1}, .across = {1, 0, 0}}};
  for (int k = 0; k < 4; k++) forward(hinge, count, (double[]){k == 1, k == 2, k == 3}, at[k]);
  for (int l = 0; l < 3; l++) {
    weld.on_a.point[l]  = at[0][l];
    weld.on_a.axis[l]   = at[3][l] - at[0][l];
    weld.on_a.across[l] = at[1][l] - at[0][l];
  }
  add_element(b, &weld.head);
}

/* Positions are closed to 1e-10; seven links of up to 0.9 m magnify that. */
static const double bound = 1e-8;

static void assembles(CPBodies b, CPFormulation formulation, const Hinge *hinge, int count) {
  CPMech mech;
  ck_assert_int_eq(CPBodiesSetFormulation(b, formulation), CP_SUCCESS);
  ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
  N_Vector y = CPBodiesState(b, test_context);
  ck_assert_msg(CPMechAssemble(mech, 0, y, NULL) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(mech)));
  ck_assert_double_le(apart(mech, y, hinge, count), bound);
  N_VDestroy(y);
  CPMechFree(&mech);
}

START_TEST(arms_whose_hinges_are_all_driven_have_their_angles) {
  unsigned long long seed = 11;
  for (int trial = 0; trial < (test_is_short() ? 2 : 20); trial++) {
    Hinge hinge[HINGES];
    CPBodies b = arm(hinge, HINGES, 3, &seed);
    drive_all(b, hinge, HINGES);
    assembles(b, (CPFormulation)_i, hinge, HINGES);
    CPBodiesFree(&b);
  }
}
END_TEST

START_TEST(loops_of_seven_hinges_close_from_any_start) {
  unsigned long long seed = 12;
  for (int trial = 0; trial < (test_is_short() ? 2 : 20); trial++) {
    Hinge hinge[HINGES];
    CPBodies b = arm(hinge, HINGES, 3, &seed);
    weld_last(b, hinge, HINGES);
    assembles(b, (CPFormulation)_i, hinge, HINGES);
    CPBodiesFree(&b);
  }
}
END_TEST

/* Builds the mechanism, and assembles it with these wishes. */
static CPAssembly wished(CPBodies b, CPFormulation formulation, CPMech *mech, N_Vector *y,
                         const CPRange *ranges, int nranges, const CPTarget *target) {
  CPAssembly a = {CP_SIZED(CPAssembly), .ranges = ranges, .nranges = nranges, .targets = target,
                  .ntargets = target != NULL};
  ck_assert_int_eq(CPBodiesSetFormulation(b, formulation), CP_SUCCESS);
  ck_assert_int_eq(build_mech(b, mech), CP_SUCCESS);
  *y = CPBodiesState(b, test_context);
  ck_assert_msg(CPMechAssemble(*mech, 0, *y, &a) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(*mech)));
  return a;
}

static void drop(CPBodies b, CPMech mech, N_Vector y) {
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}

START_TEST(coordinates_have_the_values_that_are_given) {
  unsigned long long seed = 14;
  for (int trial = 0; trial < (test_is_short() ? 2 : 20); trial++) {
    Hinge hinge[HINGES];
    CPRange range[HINGES];
    CPMech mech;
    N_Vector y;
    CPBodies b = arm(hinge, HINGES, 3, &seed);
    for (int i = 0; i < HINGES; i++) range[i] = (CPRange){i, hinge[i].angle, hinge[i].angle};
    wished(b, (CPFormulation)_i, &mech, &y, range, HINGES, NULL);
    ck_assert_double_le(apart(mech, y, hinge, HINGES), 1e-13);
    drop(b, mech, y);
  }
}
END_TEST

/* The quaternion of the last link where all hinges have their angles */
static void attitude(const Hinge *hinge, int count, double *e) {
  e[0] = 1, e[1] = e[2] = e[3] = 0;
  for (int i = 0; i < count; i++) {
    const double *z = hinge[i].axis, size = sqrt(z[0] * z[0] + z[1] * z[1] + z[2] * z[2]),
                 c = cos(hinge[i].angle / 2), s = sin(hinge[i].angle / 2) / size,
                 d[] = {e[0], e[1], e[2], e[3]};
    e[0]             = c * d[0] - s * (d[1] * z[0] + d[2] * z[1] + d[3] * z[2]);
    for (int k = 0; k < 3; k++)
      e[1 + k] = c * d[1 + k] + s * (d[0] * z[k] + d[1 + (k + 1) % 3] * z[(k + 2) % 3] -
                                     d[1 + (k + 2) % 3] * z[(k + 1) % 3]);
  }
}

/* Inverse kinematics: the last link of an arm has a pose that it can have. */
START_TEST(frames_reach_their_targets) {
  unsigned long long seed = 15;
  for (int trial = 0; trial < (test_is_short() ? 2 : 20); trial++) {
    Hinge hinge[HINGES];
    CPMech mech;
    N_Vector y;
    CPBodies b      = arm(hinge, HINGES, 0.5, &seed);
    CPTarget target = {HINGES - 1, .along = 1, .about = 1};
    double x[3];
    forward(hinge, HINGES, (double[]){0, 0, 0}, x);
    for (int k = 0; k < 3; k++) target.position[k] = x[k];
    attitude(hinge, HINGES, target.quaternion);
    const CPAssembly a = wished(b, (CPFormulation)_i, &mech, &y, NULL, 0, &target);
    ck_assert_double_le(a.miss, 1e-9);
    ck_assert_double_le(apart(mech, y, hinge, HINGES), bound);
    drop(b, mech, y);
  }
}
END_TEST

static double distance_to(CPMech mech, N_Vector y, const CPTarget *target) {
  sunrealtype x[3];
  double sum = 0;
  ck_assert_int_eq(body_point(mech, target->body, target->point, y, x, NULL), CP_SUCCESS);
  for (int k = 0; k < 3; k++) sum += pow(x[k] - target->position[k], 2);
  return sqrt(sum);
}

/* A target that is too far away: no neighbour within the limits is nearer to it, and some limits hold. */
START_TEST(targets_out_of_reach_are_approached_within_limits) {
  const double limit = 0.3, step = 1e-4;
  unsigned long long seed = 16;
  for (int trial = 0; trial < (test_is_short() ? 2 : 20); trial++) {
    Hinge hinge[HINGES];
    CPRange range[HINGES];
    CPMech mech;
    N_Vector y;
    CPBodies b      = arm(hinge, HINGES, 3, &seed);
    CPTarget target = {HINGES - 1, .point = {0.2, 0, 0}, .along = 1};
    int held        = 0;
    for (int k = 0; k < 3; k++) target.position[k] = 5 * random_number(&seed);
    for (int i = 0; i < HINGES; i++) range[i] = (CPRange){i, -limit, limit};
    wished(b, CP_JOINT_COORDINATES, &mech, &y, range, HINGES, &target);
    const double least = distance_to(mech, y, &target);
    for (int i = 0; i < HINGES; i++) {
      const sunrealtype q = entries(y)[i];
      ck_assert(fabs(q) <= limit);
      held += fabs(q) == limit;
      for (int sign = -1; sign <= 1; sign += 2) {
        entries(y)[i] = fmax(-limit, fmin(limit, q + sign * step));
        ck_assert_double_ge(distance_to(mech, y, &target), least - 1e-12);
      }
      entries(y)[i] = q;
    }
    ck_assert_int_gt(held, 0);
    drop(b, mech, y);
  }
}
END_TEST

/* A loop of seven hinges has one freedom, which the value of a hinge takes; the wrong values are refused by name. */
START_TEST(loops_close_with_a_given_angle) {
  unsigned long long seed = 17;
  for (int trial = 0; trial < (test_is_short() ? 2 : 20); trial++) {
    Hinge hinge[HINGES];
    CPMech mech;
    N_Vector y;
    CPBodies b          = arm(hinge, HINGES, 0.3, &seed);
    const CPRange range = {3, hinge[3].angle, hinge[3].angle};
    sunrealtype x;
    weld_last(b, hinge, HINGES);
    wished(b, (CPFormulation)_i, &mech, &y, &range, 1, NULL);
    ck_assert_double_le(apart(mech, y, hinge, HINGES), bound);
    ck_assert_int_eq(CPMechGetCoordinate(mech, 3, y, &x, NULL), CP_SUCCESS);
    ck_assert_double_le(fabs(x - hinge[3].angle), bound);
    const CPRange wrong = {3, 1, -1};
    ck_assert_int_eq(
        CPMechAssemble(mech, 0, y,
                       &(CPAssembly){CP_SIZED(CPAssembly), .ranges = &wrong, .nranges = 1}),
        CP_ILL_INPUT);
    ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mech)),
                       "joint \"j4\": low must not exceed high");
    drop(b, mech, y);
  }
}
END_TEST

/* The link of a hinge is welded. */
START_TEST(an_angle_that_a_loop_fixes_is_named) {
  unsigned long long seed = 18;
  Hinge hinge[HINGES];
  CPMech mech;
  CPBodies b = arm(hinge, 1, 0.3, &seed);
  weld_last(b, hinge, 1);
  ck_assert_int_eq(CPBodiesSetFormulation(b, (CPFormulation)_i), CP_SUCCESS);
  ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
  N_Vector y          = CPBodiesState(b, test_context);
  const CPRange range = {0, hinge[0].angle + 0.5, hinge[0].angle + 0.5};
  ck_assert_int_eq(
      CPMechAssemble(mech, 0, y, &(CPAssembly){CP_SIZED(CPAssembly), .ranges = &range, .nranges = 1}),
      CP_IC_FAIL);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mech)),
                     "cannot be closed with joint \"j1\" between");
  drop(b, mech, y);
}
END_TEST

START_TEST(each_allocation_of_a_fit_may_fail) {
  unsigned long long seed = 13;
  Hinge hinge[HINGES];
  CPMech mech;
  CPBodies b = arm(hinge, 3, 3, &seed);
  drive_all(b, hinge, 3);
  ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
  N_Vector y = CPBodiesState(b, test_context), guess = vector_copy(y);
  long n = 0;
  for (int flag = CP_MEM_FAIL; flag; n++) {
    N_VScale(1, guess, y);
    alloc_watch_failing(n + 1);
    flag             = CPMechAssemble(mech, 0, y, NULL);
    const int failed = alloc_has_failed();
    alloc_unwatch();
    ck_assert_msg(flag == CP_SUCCESS || (failed && flag == CP_MEM_FAIL), "allocation %ld: %d", n,
                  flag);
  }
  ck_assert_int_gt(n, 30);
  ck_assert_double_le(apart(mech, y, hinge, 3), bound);
  N_VDestroy(y);
  N_VDestroy(guess);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

TEST_SUITE(fitting) {
  Suite *suite = suite_create("bodies/fitting");
  TCase *tc    = tcase_create("fitting");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, arms_whose_hinges_are_all_driven_have_their_angles, 0, 2);
  tcase_add_loop_test(tc, loops_of_seven_hinges_close_from_any_start, 0, 2);
  tcase_add_loop_test(tc, coordinates_have_the_values_that_are_given, 0, 2);
  tcase_add_loop_test(tc, frames_reach_their_targets, 0, 2);
  tcase_add_test(tc, targets_out_of_reach_are_approached_within_limits);
  tcase_add_loop_test(tc, loops_close_with_a_given_angle, 0, 2);
  tcase_add_loop_test(tc, an_angle_that_a_loop_fixes_is_named, 0, 2);
  tcase_add_test(tc, each_allocation_of_a_fit_may_fail);
  suite_add_tcase(suite, tc);
  return suite;
}
