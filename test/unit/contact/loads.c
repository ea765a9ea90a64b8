/* Dry friction that grows with the load of its joint, against closed forms and scipy. */
#include "acting.h"

#include <string.h>

static const sunrealtype g = SUN_RCONST(9.81);

/* Reads a mechanism, and makes its model with all contacts. */
static void read_text(const char *text, CPFormulation formulation) {
  ck_assert_msg(!CPBodiesRead("loads.yaml", text, strlen(text), &bodies, NULL), "%s",
                CPObjectGetLastMessage(NULL));
  act(formulation);
}

/* Runs a text to t_end with each method in both formulations, and compares a coordinate and its rate. stuck: whether contact 0 is at
 * rest then. */
static void check_all(const char *text, sunrealtype tol, sunrealtype t_end, const char *coordinate,
                      sunrealtype want, sunrealtype want_rate, int stuck) {
  for (int n = 0; n < 6; n++) {
    sunrealtype rate;
    read_text(text, n % 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
    ck_assert_int_eq(run_with(methods[n / 2], tol, t_end), CP_SUCCESS);
    const sunrealtype x = coordinate_of(coordinate, &rate);
    ck_assert_msg(fabs(x - want) <= 10 * tol && fabs(rate - want_rate) <= 10 * tol, "%d: %g %g", n,
                  (double)((x - want) / tol), (double)((rate - want_rate) / tol));
    ck_assert_int_eq(phase_of(contact, 0), stuck ? CP_CONTACT_STICKING : CP_CONTACT_SLIDING);
    release();
  }
}

/* A wheel turns in a journal bearing of the radius r, whose load k t grows from 0 on: J omega' = -mu r k t, until
 * t = sqrt(2 J omega / (mu r k)); then it is at rest. mu r = 0.02 m, k = 30 N/s, J = 0.1 kg m^2 */
START_TEST(a_bearing_stops_its_wheel_by_the_load_that_presses_it) {
  static const char text[] =
      "dimension: 2\nbodies: [{name: wheel, mass: 3, inertia: 0.1, spin: 2}]\n"
      "joints: [{name: pin, kind: revolute, b: wheel, at: [0, 0]}]\n"
      "forces: [{name: press, body: wheel, at: [0, 0], force: [0, \"-30 N/s * t\"]}]\n"
      "frictions: [{name: bearing, of: pin, factor: 0.02}]\n";
  const sunrealtype tol = pow(10, -4 - _i), brake = SUN_RCONST(0.02) * 30 / SUN_RCONST(0.1),
                    rest = sqrt(2 * 2 / brake);
  check_all(text, tol, 0.5, "pin", 1 - brake / 48, 2 - brake / 8, 0);
  check_all(text, tol, 1, "pin", 2 * rest - brake * rest * rest * rest / 6, 0, 1);
}
END_TEST

/* A mass on an incline of 3 : 4, in a guide that it loads with m g 4/5: it slides with g (3/5 - 4/5 mu) from the start, or stays
 * where mu at rest is at least 3/4. */
START_TEST(a_mass_slides_on_an_incline_that_it_loads) {
  const sunrealtype tol = pow(10, -4 - _i), a = g * (0.6 - 0.8 * 0.4);
  for (int space = 0; space < 2; space++)
    for (int stays = 0; stays < 2; stays++) {
      char text[600];
      snprintf(
          text, sizeof text,
          "dimension: %d\ngravity: [0, -9.81%s]\nbodies: [{name: mass, mass: 2, inertia: %s}]\n"
          "joints: [{name: guide, kind: prismatic, b: mass, at: [0, 0%s], axis: [0.8, -0.6%s]}]\n"
          "frictions: [{name: rub, of: guide, factor: 0.4, sticking_factor: %s}]\n",
          2 + space, space ? ", 0" : "", space ? "[1, 1, 1]" : "1", space ? ", 0" : "",
          space ? ", 0" : "", stays ? "0.751" : "0.749");
      check_all(text, tol, 1, "guide", stays ? 0 : a / 2, stays ? 0 : a, stays);
    }
}
END_TEST

/* A weight slides down between vertical guides, with friction, on a frictionless incline of 45 degrees on a wedge, which slides aside
 * in a guide with friction: the friction of each changes the load of the other. With the force N across the incline, n = N / sqrt(2),
 *
 *   m_1 a = n - mu (m_1 g + n),   m_2 a = m_2 g - n - mu n
 *
 * With mu = 0.3, m_1 = 1 kg and m_2 = 3 kg it slides, and with mu = 0.3 and m_2 = 0.4 kg it stays. */
START_TEST(a_wedge_slides_under_a_weight_or_stays) {
  const sunrealtype tol = pow(10, -4 - _i), mu = 0.3, m1 = 1;
  for (int stays = 0; stays < 2; stays++) {
    const sunrealtype m2 = stays ? 0.4 : 3,
                      n  = (m2 * g + mu * m1 * g * m2 / m1) / (1 + mu + (1 - mu) * m2 / m1),
                      a = stays ? 0 : (n - mu * (m1 * g + n)) / m1, s = 0.5;
    char text[1000];
    snprintf(text, sizeof text,
             "dimension: 2\ngravity: [0, -9.81]\nbodies:\n- {name: wedge, mass: 1, inertia: 1}\n"
             "- {name: weight, mass: %s, inertia: 1, at: [0, 0]}\n"
             "joints:\n- {name: aside, kind: prismatic, b: wedge, at: [0, 0], axis: [1, 0]}\n"
             "- {name: down, kind: prismatic, b: weight, at: [0, 0], axis: [0, -1]}\n"
             "- {name: slope, kind: point_on_line, a: wedge, b: weight, at: [0, 0], axis: [1, 1]}\n"
             "frictions:\n- {name: rub, of: aside, factor: 0.3}\n- {name: rub2, of: down, factor: "
             "0.3}\n",
             stays ? "0.4" : "3");
    check_all(text, tol, s, "aside", a * s * s / 2, a * s, stays);
  }
}
END_TEST

/* (J + m l^2) theta'' = -m g l sin theta - mu r |F| sign(theta'), with the force F = m (a + g e_y) of the pin, which contains theta'' and
 * so the friction. From 60 degrees it comes to rest where m g l sin theta is below mu r m g. scipy 1.17.1: solve_ivp (DOP853, 1e-13), with
 * theta'' by iteration, to the roots of theta'. */
START_TEST(a_pendulum_in_a_journal_bearing_comes_to_rest) {
  static const char text[] =
      "dimension: 2\ngravity: [0, -9.81]\nbodies: [{name: arm, mass: 1, inertia: 0.01, centre: "
      "[0, -1], angle: 60 deg}]\njoints: [{name: pin, kind: revolute, b: arm, at: [0, 0]}]\n"
      "frictions: [{name: bearing, of: pin, factor: 0.1}]\n";
  const sunrealtype tol = pow(10, -4 - _i), t = SUN_RCONST(4.11179155569379),
                    angle = SUN_RCONST(0.06166059015953821), third = SUN_RCONST(1.0471975511965976);
  for (int n = 0; n < 6; n++) {
    sunrealtype t_rest = 0;
    sunrealtype rate;
    read_text(text, n % 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
    ck_assert_int_eq(CPContactSetEventFn(contact, takes_rest, &t_rest), CP_SUCCESS);
    ck_assert_int_eq(run_with(methods[n / 2], tol, 15), CP_SUCCESS);
    const sunrealtype x = coordinate_of("pin", &rate) + third; /* The start has the angle 0. */
    ck_assert_msg(fabs(x - angle) <= 10 * tol && fabs(t_rest - t) <= 10 * tol, "%d: %g %g", n,
                  (double)((x - angle) / tol), (double)((t_rest - t) / tol));
    ck_assert_double_eq_tol(rate, 0, tol);
    ck_assert_int_eq(phase_of(contact, 0), CP_CONTACT_STICKING);
    release();
  }
}
END_TEST

/* A rotor without weight in a bearing that nothing loads: a torque of 0.3 N m turns it as without friction. */
START_TEST(a_bearing_without_a_load_has_no_friction) {
  static const char text[] = "dimension: 2\nbodies: [{name: wheel, mass: 3, inertia: 0.1}]\n"
                             "joints: [{name: pin, kind: revolute, b: wheel, at: [0, 0]}]\n"
                             "springs: [{name: motor, of: pin, force: -0.3}]\n"
                             "frictions: [{name: bearing, of: pin, factor: 0.02}]\n";
  check_all(text, 1e-6, 1, "pin", -1.5, -3, 0);
}
END_TEST

START_TEST(frictions_that_depend_on_no_load_are_refused_by_name) {
  const struct {
    CPFriction friction;
    const char *message;
  } bad[]           = {{{CP_NEW_FRICTION("rub"), .of = {"pin", 0}, .factor = -1},
                        "rub: factor must not be negative, and is -1"},
                       {{CP_NEW_FRICTION("rub"), .of = {"pin", 0}, .factor = 1, .force = 1},
                        "rub: force and sticking must be 0 beside a factor"},
                       {{CP_NEW_FRICTION("rub"), .of = {"pin", 0}, .force = 1, .sticking_factor = 1},
                        "rub: sticking_factor needs a factor > 0"}};
  const CPBody body = {CP_NEW_BODY("wheel"), .mass = 1, .inertia = {1, 1, 1}};
  const CPJoint pin = {CP_NEW_JOINT("pin"), .kind = CP_JOINT_REVOLUTE, .b = "wheel"};
  const CPEquations *equations;
  bodies = CPBodiesCreate(2, NULL);
  add_element(bodies, &body.head), add_element(bodies, &pin.head);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    ck_assert_int_lt(CPBodiesAdd(bodies, &bad[i].friction.head, NULL), 0);
    ck_assert_str_eq(CPObjectGetLastMessage(CP_OBJECT(bodies)), bad[i].message);
  }
  const CPFriction good = {CP_NEW_FRICTION("rub"), .of = {"pin", 0}, .factor = 0.1};
  add_element(bodies, &good.head);
  act(CP_ABSOLUTE);
  ck_assert_int_eq(CPContactSetTimeStepping(contact, 10, 0.1), CP_NOT_SUPPORTED);
  equations            = CPModelGetEquations(CPMechGetModel(mech));
  CPContactPoint point = {CP_SIZED(CPContactPoint),
                          .name      = "rub",
                          .normal    = -1,
                          .tangent   = equations->np,
                          .ntangents = 1,
                          .law       = {.mu = 1, .load = equations->np - 1, .nloads = 2}};
  CPContactFree(&contact);
  ck_assert_ptr_null(CPContactCreate(mech, 1, &point));
  ck_assert_str_eq(CPObjectGetLastMessage(NULL),
                   "contact \"rub\": a contact has the row that loads it: 2");
  point.law.load = 5;
  ck_assert_ptr_null(CPContactCreate(mech, 1, &point));
  ck_assert_str_eq(CPObjectGetLastMessage(NULL), "contact \"rub\": load must be a row of A: 5");
  CPMechFree(&mech);
  CPBodiesFree(&bodies);
  N_VDestroy(y);
}
END_TEST

TEST_SUITE(loads) {
  Suite *suite = suite_create("contact/loads");
  TCase *tc    = tcase_create("loads");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, a_bearing_stops_its_wheel_by_the_load_that_presses_it, 0, 6);
  tcase_add_loop_test(tc, a_mass_slides_on_an_incline_that_it_loads, 0, 6);
  tcase_add_loop_test(tc, a_wedge_slides_under_a_weight_or_stays, 0, 6);
  tcase_add_loop_test(tc, a_pendulum_in_a_journal_bearing_comes_to_rest, 0, 6);
  tcase_add_test(tc, a_bearing_without_a_load_has_no_friction);
  tcase_add_test(tc, frictions_that_depend_on_no_load_are_refused_by_name);
  suite_add_tcase(suite, tc);
  return suite;
}
