/* The unit of length has no meaning: a ball whose lengths are all multiplied by L, in units of 1/L (micrometres,
 * kilometres), bounces alike. L is a power of two, so that roundoff is the same, and the absolute tolerance is that of the
 * unit. Masses and times do not change: gravity has the factor L, and inertias have L^2. */
#include "fixture.h"
#include <cpodes/cpodes_contact.h>
#include <math.h>
#include <models/counters.h>

typedef struct {
  int nevents;
  CPContactEvent event[64];
  sunrealtype x, height; /* at the end, in units of length */
  long int steps;
} Motion;

static Motion m;

static int note(const CPContactEvent *event, void *bodies) {
  (void)bodies;
  if (m.nevents < 64) m.event[m.nevents] = *event;
  m.nevents++;
  return 0;
}

/* The ball falls on the plane z = 0, with a velocity along it: bounces, whose friction makes it spin, and then rolls. */
static Motion run(int method, sunrealtype tol, sunrealtype L, sunrealtype mu) {
  const sunrealtype J = 0.1 * L * L;
  m                   = (Motion){0};
  CPMech mech;
  IntegratorCounters stats;
  sunrealtype t;
  CPBodies bodies     = CPBodiesCreate(3, NULL);
  const CPBody ball   = {CP_NEW_BODY("ball"), .mass = 1, .inertia = {J, J, J},
                         .position = {0, 0, 1.5 * L}, .velocity = {L, 0, 0}};
  const CPJoint table = {
      CP_NEW_JOINT("table"),       .kind = CP_JOINT_ROLLING,           .b = "ball",
      .on_a = {.axis = {0, 0, 1}}, .on_b = {.point = {0, 0, 1.5 * L}}, .length = 0.5 * L};
  CPContactPoint point = {
      CP_SIZED(CPContactPoint), .name = "table", .normal = 0,           .tangent = 1,
      .ntangents = 2,           .law.mu = mu,    .law.restitution = 0.5};
  ck_assert_int_eq(set_gravity(bodies, (sunrealtype[]){0, 0, -8 * L}), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesAdd(bodies, &ball.head, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesAdd(bodies, &table.head, NULL), CP_SUCCESS);
  N_Vector y        = CPBodiesState(bodies, test_context);
  CPContact contact = contact_of(bodies, &mech, 1, &point);
  ck_assert_ptr_nonnull(contact);
  ck_assert_int_eq(CPContactSetEventFn(contact, note, NULL), CP_SUCCESS);
  CPSession session = session_of(contact, method, tol, tol * L);
  int flag          = CPSessionStart(session, 0, y, INFINITY);
  if (!flag) flag = CPSessionRun(session, 3, y, &t);
  ck_assert_msg(flag == CP_SUCCESS, "L = %g: %d, %s", L, flag,
                CPObjectGetLastMessage(CP_OBJECT(contact)));
  m.height = entries(y)[2] / L;
  m.x      = entries(y)[0] / L;
  ck_assert_int_eq(session_counters(session, &stats), CP_SUCCESS);
  m.steps = stats.nst;
  CPSessionFree(&session);
  CPContactFree(&contact);
  CPMechFree(&mech);
  CPBodiesFree(&bodies);
  N_VDestroy(y);
  return m;
}

/* Loop index: method; friction. The size of quaternions, 1, used to be that of lengths, so that a gap of 1e-8 counted as
 * closed, and angular velocities were compared with velocities, so that a ball which spins did not bounce. The absolute
 * tolerance is that of angles, too: steps are alike if the ball does not spin. */
START_TEST(a_ball_bounces_alike_in_every_unit_of_length) {
  const sunrealtype tol = 1e-7, mu = _i / METHODS ? 0.25 : 0;
  const int lengths[] = {-40, -30, -10, 20};
  const Motion one    = run(_i % METHODS, tol, 1, mu);
  ck_assert_int_gt(one.nevents, 5);
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
    const Motion other = run(_i % METHODS, tol, ldexp(1, lengths[k]), mu);
    ck_assert_msg(other.nevents == one.nevents, "L = 2^%d: %d events, %d for L = 1", lengths[k],
                  other.nevents, one.nevents);
    for (int i = 0; i < one.nevents && i < 64; i++) {
      const CPContactEvent *a = &one.event[i], *b = &other.event[i];
      ck_assert_int_eq(b->before, a->before);
      ck_assert_int_eq(b->after, a->after);
      ck_assert_int_eq(b->struck, a->struck);
      ck_assert_int_eq(b->accumulated, a->accumulated);
      ck_assert_double_eq_tol(b->t, a->t, 100 * tol);
    }
    ck_assert_double_eq_tol(other.x, one.x, 100 * tol);
    ck_assert_double_eq_tol(other.height, one.height, 100 * tol);
    ck_assert_msg(mu > 0 || fabs((double)(other.steps - one.steps)) <= 0.05 * (double)one.steps,
                  "L = 2^%d: %ld steps, %ld for L = 1", lengths[k], other.steps, one.steps);
  }
}
END_TEST

TEST_SUITE(units) {
  Suite *suite = suite_create("contact/units");
  TCase *tc    = tcase_create("units");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, a_ball_bounces_alike_in_every_unit_of_length, 0, 2 * METHODS);
  suite_add_tcase(suite, tc);
  return suite;
}
