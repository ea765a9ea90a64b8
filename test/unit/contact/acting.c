/* Mechanisms in which something comes to rest, breaks or is cut, against references that do not come from cpodes. */
#include "acting.h"

static const sunrealtype g = SUN_RCONST(9.81);

/* ---- a pendulum with dry friction ---- */

static sunrealtype t_rest;

static int rests(const CPContactEvent *event, void *data) {
  (void)data;
  if (event->after == CP_CONTACT_STICKING) t_rest = event->t;
  return 0;
}

/* (J + m l^2) theta'' = -m g l sin theta - F sign(theta') from 60 degrees comes to rest after 16 half swings. The turning points are
 * roots of the energy, m g l (cos theta - cos theta_0) = F |theta - theta_0|, and the times integrals of d theta / theta' between them
 * (scipy 1.17.1: brentq, and quad with theta = c - h cos a); solve_ivp's DOP853 at 1e-13 agrees to 2e-11. */
START_TEST(a_pendulum_with_dry_friction_comes_to_rest) {
  const sunrealtype tol = pow(10, -4 - _i), t = SUN_RCONST(16.49920087049),
                    angle = SUN_RCONST(0.00674708985786), third = SUN_RCONST(1.0471975511965976);
  for (int n = 0; n < 6; n++) {
    const CPBody arm          = {CP_NEW_BODY("arm"), .mass = 1, .inertia = {0, 0, 0.01},
                                 .centre = {0, -1, 0}, .angle = third};
    const CPJoint pin         = {CP_NEW_JOINT("pin"), .kind = CP_JOINT_REVOLUTE, .b = "arm",
                                 .in = CP_IN_BODIES};
    const CPFriction friction = {CP_NEW_FRICTION("rub"), .of = {"pin", 0}, .force = 0.3};
    sunrealtype rate;
    bodies = CPBodiesCreate(2, (sunrealtype[]){0, -g, 0});
    add_element(bodies, &arm.head);
    add_element(bodies, &pin.head);
    add_element(bodies, &friction.head);
    act(n % 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
    ck_assert_int_eq(CPContactSetEventFn(contact, rests, NULL), CP_SUCCESS);
    t_rest = 0;
    ck_assert_int_eq(run_with(methods[n / 2], tol, 20), CP_SUCCESS);
    const sunrealtype x = coordinate_of("pin", &rate);
    ck_assert_msg(fabs(x - angle) <= 10 * tol && fabs(t_rest - t) <= 10 * tol, "%d: %g %g", n,
                  (double)((x - angle) / tol), (double)((t_rest - t) / tol));
    ck_assert_double_eq_tol(rate, 0, tol);
    ck_assert_int_eq(phase_of(contact, 0), CP_CONTACT_STICKING);
    release();
  }
}
END_TEST

/* ---- a pin that breaks at a load ---- */

typedef struct {
  sunrealtype load, t, y[16];
} Pin;

static int load_left(sunrealtype t, N_Vector state, sunrealtype *left, void *data) {
  const Pin *pin = data;
  sunrealtype udot[16], lambda[16], F[3], T[3];
  left[0] = 1;
  if (pin->t > 0) return 0;
  const int flag = CPMechAccelerations(mech, t, state, udot, lambda);
  if (flag || CPMechGetReaction(mech, thing_named(bodies, CP_JOINT, "pin"), t, state, lambda, F, T))
    return -1;
  left[0] = pin->load - hypot(F[0], F[1]);
  return 0;
}

static int breaks(CPSession session, const CPEvent *event, N_Vector state, void *data) {
  const CPDescription joint = thing_at(bodies, CP_JOINT, thing_named(bodies, CP_JOINT, "pin"));
  Pin *pin                  = data;
  int mask[16];
  (void)session;
  for (int i = 0; i < 16; i++) mask[i] = -1;
  for (int i = 0; i < (int)joint.count; i++) mask[joint.first + i] = 0;
  ck_assert_int_eq(CPMechSetActive(mech, mask), CP_SUCCESS);
  pin->t = event->t;
  memcpy(pin->y, entries(state), (size_t)N_VGetLength(state) * sizeof *pin->y);
  return CP_RESTART;
}

/* A rod falls from the horizontal about a pin. At the angle x below it, with I = J + m l^2, omega^2 = 2 m g l sin x / I, and the
 * force on the pin is m g (1 + 2 m l^2 / I) sin x along the rod and m g (1 - m l^2 / I) cos x across it. The pin breaks at 1.8 m g, where
 * x = 0.79894, at t = integral of dx / omega (scipy 1.17.1: quad with x = v^2); then the rod flies freely. */
START_TEST(a_pin_breaks_at_its_load) {
  const sunrealtype tol = pow(10, -4 - _i), m = 2, l = 0.5, J = m / 12, t_end = 1,
                    t_break = SUN_RCONST(0.33312902505489), x = SUN_RCONST(0.79893517064835),
                    omega = SUN_RCONST(4.59237895276600);
  for (int n = 0; n < 6; n++) {
    const CPBody rod   = {CP_NEW_BODY("rod"), .mass = m, .inertia = {0, 0, J}, .centre = {l, 0, 0}};
    const CPJoint hold = {CP_NEW_JOINT("pin"), .kind = CP_JOINT_REVOLUTE, .b = "rod", .switched = 1};
    Pin pin            = {.load = 1.8 * m * g};
    const int falling  = -1;
    const CPEventSource source = {
        CP_SIZED(CPEventSource), .name = "pin",         .data = &pin,    .nroots = 1,
        .roots = load_left,      .direction = &falling, .handle = breaks};
    CPSession session = CPSessionCreate(methods[n / 2], test_context);
    sunrealtype t;
    bodies = CPBodiesCreate(2, (sunrealtype[]){0, -g, 0});
    add_element(bodies, &rod.head);
    add_element(bodies, &hold.head);
    ck_assert_int_eq(CPBodiesSetFormulation(bodies, n % 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE),
                     CP_SUCCESS);
    ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
    y = CPBodiesState(bodies, test_context);
    ck_assert_int_eq(CPSessionSetMech(session, mech), CP_SUCCESS);
    ck_assert_int_eq(CPSessionAddSource(session, &source, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPSessionSetTolerances(session, tol, tol, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPSessionStart(session, 0, y, t_end), CP_SUCCESS);
    ck_assert_int_eq(CPSessionRun(session, t_end, y, &t), CP_SUCCESS);
    const sunrealtype s = t_end - t_break, *q = entries(y);
    const sunrealtype vx = -omega * l * sin(x), vy = -omega * l * cos(x);
    ck_assert_msg(fabs(pin.t - t_break) <= 10 * tol && fabs(pin.y[2] + x) <= 10 * tol &&
                      fabs(pin.y[5] + omega) <= 10 * tol,
                  "%d: %g %g %g", n, (double)((pin.t - t_break) / tol),
                  (double)((pin.y[2] + x) / tol), (double)((pin.y[5] + omega) / tol));
    ck_assert_double_eq_tol(q[0], l * cos(x) + vx * s, 50 * tol);
    ck_assert_double_eq_tol(q[1], -l * sin(x) + vy * s - g * s * s / 2, 50 * tol);
    ck_assert_double_eq_tol(q[2], -x - omega * s, 50 * tol);
    CPSessionFree(&session);
    CPMechFree(&mech);
    CPBodiesFree(&bodies);
    N_VDestroy(y);
  }
}
END_TEST

TEST_SUITE(acting) {
  Suite *suite = suite_create("contact/acting");
  TCase *tc    = tcase_create("acting");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, a_pendulum_with_dry_friction_comes_to_rest, 0, 6);
  tcase_add_loop_test(tc, a_pin_breaks_at_its_load, 0, 6);
  suite_add_tcase(suite, tc);
  return suite;
}
