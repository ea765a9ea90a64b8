/* Stops of joint coordinates, play between two coordinates, and dry friction, against closed forms. */
#include "acting.h"

/* ---- a wheel between two stops, without gravity ---- */

static void wheel(int dimension, const char *name, const char *joint, sunrealtype J,
                  sunrealtype omega) {
  const sunrealtype axis[3] = {0, dimension == 3 ? 0.6 : 0, dimension == 3 ? 0.8 : 1};
  CPBody body               = {CP_NEW_BODY(name), .mass = 2, .inertia = {J, J, J}};
  CPJoint hinge = {CP_NEW_JOINT(joint), .kind = CP_JOINT_REVOLUTE, .b = name, .in = CP_IN_BODIES};
  for (int k = 0; k < 3; k++)
    body.omega[k] = omega * axis[k], hinge.on_a.axis[k] = hinge.on_b.axis[k] = axis[k];
  add_element(bodies, &body.head);
  add_element(bodies, &hinge.head);
}

/* x and x' at t of a point that starts at 0 with the velocity v between stops, each of which takes the part 1 - e of
 * its velocity */
static sunrealtype zigzag(sunrealtype t, sunrealtype v, sunrealtype lower, sunrealtype upper,
                          sunrealtype e, sunrealtype *rate) {
  sunrealtype x = 0;
  for (;;) {
    const sunrealtype left = ((v > 0 ? upper : lower) - x) / v;
    *rate                  = v;
    if (left >= t) return x + v * t;
    t -= left, x += v * left, v *= -e;
  }
}

/* _i: the tolerance 10^-(4 + _i) */
START_TEST(a_wheel_bounces_between_its_stops) {
  const sunrealtype tol = pow(10, -4 - _i), lower = -2.9, upper = SUN_RCONST(2.7), e = 0.8, v = 3;
  for (int k = 0; k < 12; k++) {
    const CPLimit limit = {CP_NEW_LIMIT("stops"), .of = {{"hinge", 0}}, .lower = lower,
                           .upper = upper, .restitution = e};
    sunrealtype rate, now;
    bodies = CPBodiesCreate(2 + k % 2, NULL);
    wheel(2 + k % 2, "wheel", "hinge", 0.7, v);
    add_element(bodies, &limit.head);
    act(k / 2 % 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
    ck_assert_int_eq(run_with(methods[k / 4], tol, 8), CP_SUCCESS);
    const sunrealtype x = coordinate_of("hinge", &now), want = zigzag(8, v, lower, upper, e, &rate);
    ck_assert_msg(fabs(x - want) <= 10 * tol && fabs(now - rate) <= 10 * tol, "%d: %g %g", k,
                  (double)((x - want) / tol), (double)((now - rate) / tol));
    release();
  }
}
END_TEST

/* A pendulum falls from the horizontal, where its coordinates are 0 as joint coordinates, and does not reach its stop. Tolerances are
 * those of flights that begin with an event, even though this one begins with none: they were roundoff once, or 0. */
START_TEST(flights_from_an_open_start_have_the_tolerance) {
  static const char *const by[] = {"BDF", "Adams"};
  for (int k = 0; k < 4; k++) {
    double steps[2];
    for (int tight = 0; tight < 2; tight++) {
      const CPBody rod      = {CP_NEW_BODY("rod"), .mass = 1, .inertia = {1, 1, 1},
                               .position = {1, 0, 0}};
      const CPJoint hinge   = {CP_NEW_JOINT("hinge"), .kind = CP_JOINT_REVOLUTE, .b = "rod"};
      const CPLimit limit   = {CP_NEW_LIMIT("stop"), .of = {{"hinge", 0}}, .lower = -4, .upper = 1};
      const sunrealtype tol = tight ? 1e-9 : 1e-4;
      CPSession session     = CPSessionCreate(by[k / 2], test_context);
      sunrealtype t;
      bodies = CPBodiesCreate(2, (sunrealtype[]){0, SUN_RCONST(-9.81), 0});
      add_element(bodies, &rod.head);
      add_element(bodies, &hinge.head);
      add_element(bodies, &limit.head);
      act(k % 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
      ck_assert_int_eq(CPContactAttach(contact, session), CP_SUCCESS);
      ck_assert_int_eq(CPSessionSetTolerances(session, tol, tol, NULL), CP_SUCCESS);
      ck_assert_int_eq(CPSessionStart(session, 0, y, 2), CP_SUCCESS);
      ck_assert_int_eq(CPSessionRun(session, 2, y, &t), CP_SUCCESS);
      ck_assert_int_eq(CPObjectGetStat(CP_OBJECT(session), "steps", &steps[tight]), CP_SUCCESS);
      CPSessionFree(&session);
      release();
    }
    /* BDF of order 5 at most takes 10^(5/6) = 6.8 times the steps. */
    ck_assert_double_lt(2 * steps[0], steps[1]);
  }
}
END_TEST

/* x_1 - x_2 has play: the velocities change by impacts with J_1 v_1 + J_2 v_2 constant. */
START_TEST(two_wheels_meet_at_the_ends_of_their_play) {
  const sunrealtype tol = 1e-9, play = 0.2, J[2] = {0.7, 0.3}, e = 0.5, t = 2;
  for (int k = 0; k < 8; k++) {
    const int dimension = 2 + k % 2;
    CPLimit limit       = {CP_NEW_LIMIT("play"), .of = {{"one", 0}, {"two", 0}},
                           .ratio = {2, -1},     .lower = -play,
                           .upper = play,        .restitution = e};
    sunrealtype rate, v[2];
    bodies = CPBodiesCreate(dimension, NULL);
    wheel(dimension, "a", "one", J[0], 1);
    wheel(dimension, "b", "two", J[1], 0);
    add_element(bodies, &limit.head);
    act(k / 2 % 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
    ck_assert_int_eq(run_with(k / 4 ? "RADAU" : "DOP853", tol, t), CP_SUCCESS);
    const sunrealtype gap = 2 * coordinate_of("one", &v[0]) - coordinate_of("two", &v[1]);
    ck_assert_double_eq_tol(gap, zigzag(t, 2, -play, play, e, &rate), 20 * tol);
    ck_assert_double_eq_tol(2 * v[0] - v[1], rate, 20 * tol);
    /* impulses 2 P and -P */
    ck_assert_double_eq_tol(J[0] * v[0] + 2 * J[1] * v[1], J[0], 20 * tol);
    release();
  }
}
END_TEST

/* A mass falls on the lower stop of its slider, and rests there after infinitely many bounces: the stop carries its weight. */
START_TEST(a_stop_carries_the_weight_after_all_bounces) {
  const sunrealtype g = 9.81, m = 2, h = 1, e = 0.6, tol = 1e-8;
  const sunrealtype bounces = sqrt(2 * h / g) * (1 + 2 * e / (1 - e));
  for (int k = 0; k < 4; k++) {
    const int dimension     = 2 + k % 2;
    const sunrealtype up[3] = {0, dimension == 2, dimension == 3};
    const CPBody body       = {CP_NEW_BODY("mass"), .mass = m, .inertia = {1, 1, 1}};
    CPJoint slider          = {CP_NEW_JOINT("slider"), .kind = CP_JOINT_PRISMATIC, .b = "mass"};
    const CPLimit limit     = {CP_NEW_LIMIT("stop"), .of = {{"slider", 0}}, .lower = -h,
                               .upper = INFINITY, .restitution = e};
    sunrealtype force[3], rate;
    for (int i = 0; i < 3; i++) slider.on_a.axis[i] = up[i];
    bodies = CPBodiesCreate(dimension, (sunrealtype[]){-g * up[0], -g * up[1], -g * up[2]});
    add_element(bodies, &body.head);
    add_element(bodies, &slider.head);
    add_element(bodies, &limit.head);
    ck_assert_int_eq(CPBodiesCount(bodies, CP_CONTACT), 1);
    ck_assert_str_eq(thing_at(bodies, CP_CONTACT, 0).name, "stop_lower");
    ck_assert_int_eq(thing_at(bodies, CP_CONTACT, 0).kind, CP_ON_STOP);
    act(k / 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
    ck_assert_int_eq(run_with("DOP853", tol, bounces + 0.1), CP_SUCCESS);
    ck_assert_int_eq(phase_of(contact, 0), CP_CONTACT_CLOSED);
    ck_assert_double_eq_tol(coordinate_of("slider", &rate), -h, tol);
    ck_assert_double_eq_tol(rate, 0, tol);
    ck_assert_int_eq(CPContactEvaluate(contact, 0, y, NULL, force, NULL, NULL), CP_SUCCESS);
    ck_assert_double_eq_tol(force[0], m * g, 1e-9);
    release();
  }
}
END_TEST

/* A mass falls on another one, which lies on the stop of its own slider: it bounces as on the ground, though without contact forces both
 * would fall alike, and rests there after infinitely many bounces. _i: formulation */
START_TEST(a_mass_comes_to_rest_on_another_that_lies_on_its_stop) {
  const sunrealtype g = 9.81, m = 2, h = 1, e = 0.6, tol = 1e-6;
  const sunrealtype bounces = sqrt(2 * h / g) * (1 + 2 * e / (1 - e));
  const char *const names[] = {"low", "high"}, *const sliders[] = {"slide_low", "slide_high"};
  sunrealtype force[6], rate;
  bodies = CPBodiesCreate(2, (sunrealtype[]){0, -g, 0});
  for (int k = 0; k < 2; k++) {
    const CPBody body    = {CP_NEW_BODY(names[k]), .mass = m, .inertia = {1, 1, 1}};
    const CPJoint slider = {CP_NEW_JOINT(sliders[k]), .kind = CP_JOINT_PRISMATIC, .b = names[k],
                            .on_a = {.axis = {0, 1, 0}}};
    add_element(bodies, &body.head), add_element(bodies, &slider.head);
  }
  const CPLimit floor = {CP_NEW_LIMIT("floor"), .of = {{"slide_low", 0}}, .lower = 0,
                         .upper = INFINITY},
                stop  = {CP_NEW_LIMIT("stop"), .of = {{"slide_high", 0}, {"slide_low", 0}},
                         .ratio = {1, -1},     .lower = -h,
                         .upper = INFINITY,    .restitution = e};
  add_element(bodies, &floor.head), add_element(bodies, &stop.head);
  act((CPFormulation)_i);
  ck_assert_int_eq(run_with("DOP853", tol, bounces + 0.1), CP_SUCCESS);
  for (int k = 0; k < 2; k++) {
    ck_assert_int_eq(phase_of(contact, k), CP_CONTACT_CLOSED);
    ck_assert_double_eq_tol(coordinate_of(sliders[k], &rate), -h * k, tol);
    ck_assert_double_eq_tol(rate, 0, tol);
  }
  ck_assert_int_eq(CPContactEvaluate(contact, 0, y, NULL, force, NULL, NULL), CP_SUCCESS);
  ck_assert_double_eq_tol(force[0], 2 * m * g, 1e-9);
  ck_assert_double_eq_tol(force[3], m * g, 1e-9);
  release();
}
END_TEST

/* ---- dry friction ---- */

/* A mass m on a slider along x, with a spring of the stiffness k that is free at x = 0 */
static void oscillator(int dimension, sunrealtype m, sunrealtype k, CPLawFn law) {
  const CPBody body     = {CP_NEW_BODY("mass"), .mass = m, .inertia = {1, 1, 1}};
  const CPJoint slider  = {CP_NEW_JOINT("slider"), .kind = CP_JOINT_PRISMATIC, .b = "mass",
                           .on_a = {.axis = {1, 0, 0}}};
  const CPSpring spring = {CP_NEW_SPRING("spring"), .of = {"slider", 0}, .stiffness = k, .law = law};
  bodies                = CPBodiesCreate(dimension, NULL);
  add_element(bodies, &body.head);
  add_element(bodies, &slider.head);
  add_element(bodies, &spring.head);
}

static void add_friction(sunrealtype force, sunrealtype sticking) {
  int i                     = -1;
  const CPFriction friction = {CP_NEW_FRICTION("rub"), .of = {"slider", 0}, .force = force,
                               .sticking = sticking};
  ck_assert_int_eq(CPBodiesAdd(bodies, &friction.head, &i), CP_SUCCESS);
  ck_assert_int_eq(i, 0);
  ck_assert_str_eq(thing_at(bodies, CP_CONTACT, 0).name, "rub");
  ck_assert_int_eq(thing_at(bodies, CP_CONTACT, 0).kind, CP_ON_JOINT);
}

/* x at t of x'' = -k/m x - F/m sign(x'), x(0) = x0, x'(0) = 0: half a period about x = +-F/k, until the spring cannot overcome
 * the friction (Feynman lectures 12-2; Timoshenko, Vibration Problems in Engineering, 1937, 10) */
static sunrealtype rubbed(sunrealtype t, sunrealtype x0, sunrealtype m, sunrealtype k,
                          sunrealtype F, sunrealtype *rate) {
  const sunrealtype omega = sqrt(k / m), half = 4 * atan(SUN_RCONST(1.0)) / omega;
  sunrealtype x = x0;
  *rate         = 0;
  while (fabs(k * x) > F) {
    const sunrealtype centre = x > 0 ? F / k : -F / k;
    if (t < half) {
      *rate = -omega * (x - centre) * sin(omega * t);
      return centre + (x - centre) * cos(omega * t);
    }
    t -= half, x = 2 * centre - x;
  }
  return x;
}

START_TEST(a_spring_comes_to_rest_by_dry_friction) {
  const sunrealtype tol = pow(10, -4 - _i), m = 0.8, k = 30, F = 2.1, x0 = 1;
  const sunrealtype times[] = {1.7, 12};
  for (int n = 0; n < 24; n++) {
    sunrealtype rate, now, force[3], gap;
    const sunrealtype t = times[n / 12];
    oscillator(2 + n % 2, m, k, NULL);
    add_friction(F, 0);
    act(n / 2 % 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
    entries(y)[0] = x0;
    ck_assert_int_eq(run_with(methods[n / 4 % 3], tol, t), CP_SUCCESS);
    const sunrealtype x = coordinate_of("slider", &now), want = rubbed(t, x0, m, k, F, &rate);
    ck_assert_msg(fabs(x - want) <= 10 * tol && fabs(now - rate) <= 10 * tol, "%d: %g %g", n,
                  (double)((x - want) / tol), (double)((now - rate) / tol));
    ck_assert_int_eq(phase_of(contact, 0), n < 12 ? CP_CONTACT_SLIDING : CP_CONTACT_STICKING);
    ck_assert_int_eq(CPContactEvaluate(contact, t, y, NULL, force, &gap, NULL), CP_SUCCESS);
    ck_assert_double_eq(force[0], F);
    ck_assert_double_eq(gap, 0);
    ck_assert_double_eq_tol(force[1], n < 12 ? copysign(F, -rate) : k * x, 1e-10);
    release();
  }
}
END_TEST

/* A load that grows with t sets the mass in motion when it reaches the friction at rest. */
static int growing(sunrealtype t, sunrealtype x, sunrealtype rate, sunrealtype *T, void *data) {
  (void)x, (void)rate, (void)data;
  T[0] = 3 * t;
  return 0;
}

START_TEST(a_growing_load_breaks_away_at_the_friction_of_rest) {
  const sunrealtype tol = 1e-8, m = 0.8, F = 2.1, rest = 4.2, begins = rest / 3, t = 2.5,
                    s = t - begins;
  for (int n = 0; n < 4; n++) {
    sunrealtype rate;
    oscillator(2 + n % 2, m, 0, growing);
    add_friction(F, rest);
    act(n / 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
    ck_assert_int_eq(run_with("DOP853", tol, t), CP_SUCCESS);
    ck_assert_double_eq_tol(coordinate_of("slider", &rate),
                            ((rest - F) * s * s / 2 + 3 * s * s * s / 6) / m, 10 * tol);
    ck_assert_double_eq_tol(rate, ((rest - F) * s + 3 * s * s / 2) / m, 10 * tol);
    release();
  }
}
END_TEST

/* A rubbing mass that strikes a stop: the friction has no part in the impact. */
START_TEST(dry_friction_acts_beside_stops) {
  const sunrealtype tol = 1e-8, m = 2, F = 1.5, a = F / m, v0 = 3, e = 0.5, stop = 1.1;
  for (int n = 0; n < 8; n++) {
    const CPLimit limit      = {CP_NEW_LIMIT("wall"), .of = {{"slider", 0}}, .lower = -INFINITY,
                                .upper = stop, .restitution = e};
    const sunrealtype struck = sqrt(v0 * v0 - 2 * a * stop), back = e * struck;
    sunrealtype rate;
    oscillator(2 + n % 2, m, 0, NULL);
    add_friction(F, 0);
    add_element(bodies, &limit.head);
    act(n / 2 % 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
    const int nq                                         = (int)equations_of(mech).nq;
    entries(y)[nq > 0 ? nq : (int)equations_of(mech).nu] = v0;
    ck_assert_int_eq(run_with(n / 4 ? "RADAU" : "DOP853", tol, 5), CP_SUCCESS);
    ck_assert_double_eq_tol(coordinate_of("slider", &rate), stop - back * back / (2 * a), 10 * tol);
    ck_assert_double_eq_tol(rate, 0, 10 * tol);
    ck_assert_int_eq(phase_of(contact, 0), CP_CONTACT_STICKING);
    ck_assert_int_eq(phase_of(contact, 1), CP_CONTACT_OPEN);
    release();
  }
}
END_TEST

/* Friction holds two coupled fingers, each at its stop, against their weight. A stop without a load has a gap that is zero up to
 * roundoff for the whole run, which is no event. */
START_TEST(stops_at_which_friction_holds_fingers_have_no_events) {
#define FINGER(name)                                                                          \
  "<link name='" name "'><inertial><origin xyz='0.1 0 0'/><mass value='0.1'/><inertia "       \
  "ixx='1e-4' iyy='1e-4' izz='1e-4' ixy='0' ixz='0' iyz='0'/></inertial></link><joint name='" \
  "of " name "' type='revolute'><parent link='palm'/><child link='" name "'/>"                \
  "<axis xyz='0 1 0'/><limit lower='0' upper='1'/>"
  static const char text[] = "<robot name='gripper'><link name='palm'/>" FINGER(
      "a") "<dynamics friction='1' "
           "damping='1'/></joint>" FINGER("b") "<mimic joint='of a'/></joint></robot>";
  for (int n = 0; n < 4; n++) {
    sunrealtype events;
    ck_assert_int_eq(CPBodiesRead("gripper.urdf", text, sizeof text - 1, &bodies, NULL), CP_SUCCESS);
    act(n / 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
    ck_assert_int_eq(run_with(n % 2 ? "RADAU" : "DOP853", 1e-6, 0.1), CP_SUCCESS);
    ck_assert_int_eq(CPObjectGetStat(CP_OBJECT(contact), "events", &events), CP_SUCCESS);
    /* that of the start, and one if roundoff takes the gap below what projections leave */
    ck_assert_double_le(events, 2);
    const int nq = (int)equations_of(mech).nq, first = nq > 0 ? nq : (int)equations_of(mech).nu;
    for (int i = 0; i < (int)equations_of(mech).nu; i++)
      ck_assert_double_eq_tol(entries(y)[first + i], 0, 1e-6);
    release();
  }
#undef FINGER
}
END_TEST

static int count(const CPContactEvent *event, void *n) {
  (void)event, ++*(int *)n;
  return 0;
}

/* A palm that a spring moves as a mass m on it, since friction holds its fingers at their stops. Their loads change sign with the
 * acceleration: each stop loses its load once, and takes no part of it again. */
START_TEST(stops_open_once_where_friction_holds_what_swings) {
#define FINGER(name)                                                                            \
  "<body><joint name='" name "' axis='0 1 0' range='-1 0' limited='true' frictionloss='1." name \
  "'/>"                                                                                         \
  "<geom type='sphere' size='.01' pos='0 0 .1" name "' mass='." name "'/></body>"
  static const char text[] =
      "<mujoco><option gravity='0 0 0'/><default><geom contype='0' "
      "conaffinity='0'/></default><worldbody>"
      "<body><joint name='way' type='slide' axis='1 0 0' stiffness='400' springref='-0.1'/>"
      "<geom size='.05' mass='1'/>" FINGER("1") FINGER("2") FINGER("3") FINGER("4") FINGER("5")
          FINGER("6") FINGER("7") FINGER("8") "</body></worldbody></mujoco>";
  for (int n = 0; n < 4; n++) {
    sunrealtype rate;
    int events          = 0;
    const sunrealtype t = 1, omega = sqrt(400 / 4.6);
    ck_assert_int_eq(CPBodiesRead("hand.xml", text, sizeof text - 1, &bodies, NULL), CP_SUCCESS);
    act(n / 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
    CPContactSetEventFn(contact, count, &events);
    ck_assert_int_eq(run_with(n % 2 ? "RADAU" : "DOP853", 1e-6, t), CP_SUCCESS);
    ck_assert_double_eq_tol(coordinate_of("way", &rate), 0.1 * (cos(omega * t) - 1), 1e-5);
    ck_assert_double_eq_tol(rate, -0.1 * omega * sin(omega * t), 1e-5 * omega);
    ck_assert_double_eq_tol(coordinate_of("3", &rate), 0, 1e-10);
    ck_assert_double_eq_tol(rate, 0, 1e-10);
    ck_assert_int_eq(events, 8);
    release();
  }
#undef FINGER
}
END_TEST

/* m v0^2 / 2 - F x is left at x, and nothing at rest: W = -F x. */
START_TEST(the_loss_of_dry_friction_is_in_the_balance) {
  const sunrealtype tol = 1e-8, m = 2, F = 1.5, a = F / m, v0 = 3, times[] = {1, 5};
  for (int n = 0; n < 24; n++) {
    const sunrealtype t = times[n % 2], end = fmin(t, v0 / a), x = v0 * end - a * end * end / 2;
    CPSensor power = CP_INIT(CPSensor);
    sunrealtype force[3], udot[8], lambda[16];
    CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = udot, .lambda = lambda};
    oscillator(2 + n / 2 % 2, m, 0, NULL);
    add_friction(F, 0);
    ck_assert_int_eq(CPBodiesSetBalance(bodies), CP_SUCCESS);
    act(n / 4 % 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
    const int nq                                         = (int)equations_of(mech).nq;
    entries(y)[nq > 0 ? nq : (int)equations_of(mech).nu] = v0;
    ck_assert_int_eq(run_with(methods[n / 8], tol, t), CP_SUCCESS);
    ck_assert_double_eq_tol(entries(y)[N_VGetLength(y) - 1], -F * x, 20 * tol);
    ck_assert_int_eq(CPContactEvaluate(contact, t, y, &out, force, NULL, NULL), CP_SUCCESS);
    power.udot = udot, power.lambda = lambda;
    lambda[thing_at(bodies, CP_CONTACT, 0).first_rate] = -force[1];
    ck_assert_msg(CPMechGetSensor(mech, "rub.power", t, y, &power) == CP_SUCCESS, "%s",
                  CPObjectGetLastMessage(CP_OBJECT(mech)));
    ck_assert_double_eq_tol(power.value[0], -F * (v0 - a * end), 20 * tol);
    release();
  }
}
END_TEST

START_TEST(wrong_frictions_are_refused_by_name) {
  const struct {
    CPFriction friction;
    const char *message;
  } bad[] = {{{CP_NEW_FRICTION("rub"), .of = {"slider", 0}}, "rub: force must be positive, and is 0"},
             {{CP_NEW_FRICTION("rub"), .of = {"slider", 0}, .force = 1, .sticking = -1},
              "rub: sticking must not be negative, and is -1"},
             {{CP_NEW_FRICTION("rub"), .of = {"slider", 0}, .force = 1, .factor = 1, .speed = 1},
              "rub: force and sticking must be 0 beside speed"}};
  oscillator(2, 1, 1, NULL);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    ck_assert_int_lt(CPBodiesAdd(bodies, &bad[i].friction.head, NULL), 0);
    ck_assert_str_eq(CPObjectGetLastMessage(CP_OBJECT(bodies)), bad[i].message);
  }
  CPBodiesFree(&bodies);
}
END_TEST

/* ---- joints that are released ---- */

/* Switches the rows of a joint off at the first root of its angle - release; those of contacts stay. */
typedef struct {
  sunrealtype release, t;
} Latch;

static int angle_left(sunrealtype t, N_Vector state, sunrealtype *g, void *data) {
  sunrealtype x;
  (void)t;
  const int flag =
      CPMechGetCoordinate(mech, thing_named(bodies, CP_COORDINATE, "pin"), state, &x, NULL);
  g[0] = x - ((Latch *)data)->release;
  return flag;
}

static int release_pin(CPSession session, const CPEvent *event, N_Vector state, void *data) {
  const CPDescription pin = thing_at(bodies, CP_JOINT, thing_named(bodies, CP_JOINT, "pin"));
  Latch *latch            = data;
  int mask[16];
  (void)session, (void)state;
  if (latch->t > 0) return CP_CONTINUE;
  for (int i = 0; i < 16; i++) mask[i] = -1;
  for (int i = 0; i < (int)pin.count; i++) mask[pin.first + i] = 0;
  ck_assert_int_eq(CPMechSetActive(mech, mask), CP_SUCCESS);
  latch->t = event->t;
  return CP_RESTART;
}

/* A rod falls from the horizontal about a pin that lets go at 60 degrees: (J + m l^2) omega^2 = 2 m g l sin 60. It then flies, with its
 * spin, bounces on a floor, on which its centre moves as a point, and comes to rest there. */
START_TEST(a_pin_lets_go_beside_contacts) {
  const sunrealtype m = 2, J = 0.3, l = 0.8, g = 9.81, tol = 1e-9, t_end = 4,
                    third = acos(SUN_RCONST(0.5));
  const sunrealtype omega = -sqrt(2 * m * g * l * sin(third) / (J + m * l * l));
  for (int k = 0; k < 4; k++) {
    const CPBody rod = {CP_NEW_BODY("rod"), .mass = m, .inertia = {1, 1, J}, .position = {l, 0, 0}};
    const CPJoint pin = {CP_NEW_JOINT("pin"), .kind = CP_JOINT_REVOLUTE, .b = "rod", .switched = 1};
    const CPBodyContact floor  = {CP_NEW_CONTACT("floor"), .b = "rod", .in = CP_IN_BODIES,
                                  .on_a = {.point = {0, -3, 0}, .axis = {0, 1, 0}}};
    Latch latch                = {-third, 0};
    const int falling          = -1;
    const CPEventSource source = {
        CP_SIZED(CPEventSource), .name = "latch",       .data = &latch,       .nroots = 1,
        .roots = angle_left,     .direction = &falling, .handle = release_pin};
    CPSession session = CPSessionCreate(k / 2 ? "RADAU" : "DOP853", test_context);
    sunrealtype t;
    bodies = CPBodiesCreate(2, (sunrealtype[]){0, -g, 0});
    add_element(bodies, &rod.head);
    add_element(bodies, &pin.head);
    add_element(bodies, &floor.head);
    act(k % 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
    ck_assert_int_eq(CPContactAttach(contact, session), CP_SUCCESS);
    ck_assert_int_eq(CPSessionAddSource(session, &source, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPSessionSetTolerances(session, tol, tol, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPSessionStart(session, 0, y, t_end), CP_SUCCESS);
    ck_assert_int_eq(CPSessionRun(session, t_end, y, &t), CP_SUCCESS);
    ck_assert_double_gt(latch.t, 0.3);
    const sunrealtype *q = entries(y), s = t_end - latch.t;
    const sunrealtype x = l * cos(third), vx = omega * l * sin(third);
    ck_assert_double_eq_tol(q[0], x + vx * s, 50 * tol);
    ck_assert_double_eq_tol(q[1], -3, 50 * tol);
    ck_assert_double_eq_tol(q[2], -third + omega * s, 50 * tol);
    ck_assert_double_eq_tol(q[3], vx, 50 * tol);
    ck_assert_int_eq(phase_of(contact, 0), CP_CONTACT_CLOSED);
    CPSessionFree(&session);
    release();
  }
}
END_TEST

/* ---- derivatives ---- */

START_TEST(rows_of_limits_have_exact_derivatives) {
  const CPBody far        = {CP_NEW_BODY("far"), .mass = 1, .inertia = {1, 2, 2.5, 0.1, 0.2, 0.3},
                             .position = {1, 0.5, 0}, .omega = {0.3, 0.5, 0.2}};
  const CPJoint joint     = {CP_NEW_JOINT("cardan"),
                             .kind = CP_JOINT_UNIVERSAL,
                             .a    = "wheel",
                             .b    = "far",
                             .on_a = {.point = {1, 0, 0}, .axis = {1, 0, 0}},
                             .on_b = {.axis = {0, 1, 0}}};
  const CPLimit limits[2] = {{CP_NEW_LIMIT("second"), .of = {{"cardan", 1}}, .lower = -1, .upper = 1},
                             {CP_NEW_LIMIT("sum"), .of = {{"hinge", 0}, {"cardan", 1}},
                              .ratio = {1, 3}, .lower = -1, .upper = 2}};
  for (int k = 0; k < 2; k++) {
    CPMechReport r = CP_INIT(CPMechReport);
    bodies         = CPBodiesCreate(3, (sunrealtype[]){1, 2, 3});
    wheel(3, "wheel", "hinge", 0.7, 2);
    add_element(bodies, &far.head);
    ck_assert_msg(CPBodiesAdd(bodies, &joint.head, NULL) == CP_SUCCESS, "%s",
                  CPObjectGetLastMessage(CP_OBJECT(bodies)));
    for (int i = 0; i < 2; i++)
      ck_assert_int_eq(CPBodiesAdd(bodies, &limits[i].head, NULL), CP_SUCCESS);
    act(k ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
    int all[32];
    for (int i = 0; i < 32; i++) all[i] = 1;
    ck_assert_int_eq(CPMechSetActive(mech, all), CP_SUCCESS);
    for (sunindextype i = 0; i < N_VGetLength(y); i++)
      entries(y)[i] += 0.1 * sin(1 + 2 * (sunrealtype)i);
    const int flag = CPMechCheck(mech, 0.3, y, &r);
    ck_assert_msg(flag == CP_SUCCESS, "%s", CPObjectGetLastMessage(CP_OBJECT(mech)));
    const double errors[] = {r.A_p, r.A_v, r.v_p, r.b_v, r.K, r.C, r.Bq, r.Bu};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
      ck_assert_msg(errors[i] <= 1e-8, "%d: entry %zu is %g", k, i, errors[i]);
    release();
  }
}
END_TEST

/* ---- turns ---- */

/* In joint coordinates stops may be several turns apart, and uniform motions are exact with all methods; absolute ones in space leave
 * turns open. */
START_TEST(a_run_counts_turns) {
  const struct {
    CPFormulation formulation;
    sunrealtype upper;
  } cases[]                = {{CP_ABSOLUTE, 9},
                              {CP_JOINT_COORDINATES, 9},
                              {CP_ABSOLUTE, 3.1},
                              {CP_JOINT_COORDINATES, 3.1},
                              {CP_JOINT_COORDINATES, 23}};
  const char *const with[] = {"DOP853", "RADAU", "BDF", "ADAMS"};
  for (int k = 0; k < 20; k++) {
    const sunrealtype upper = cases[k % 5].upper;
    sunrealtype rate, now;
    if (k >= 10 && cases[k % 5].formulation == CP_ABSOLUTE) continue;
    bodies              = CPBodiesCreate(3, NULL);
    const CPLimit limit = {CP_NEW_LIMIT("turns"), .of = {{"hinge", 0}}, .lower = -3, .upper = upper,
                           .restitution = 1};
    wheel(3, "wheel", "hinge", 0.7, 5);
    add_element(bodies, &limit.head);
    act(cases[k % 5].formulation);
    ck_assert_int_eq(run_with(with[k / 5], 1e-8, 6.9), CP_SUCCESS);
    const sunrealtype off  = coordinate_of("hinge", &now) - zigzag(6.9, 5, -3, upper, 1, &rate),
                      open = cases[k % 5].formulation == CP_ABSOLUTE ? remainder(off, 8 * atan(1))
                                                                     : off;
    ck_assert_double_eq_tol(now, rate, 1e-7);
    ck_assert_msg(fabs(open) < 1e-7, "%d: %g", k, (double)open);
    release();
  }
}
END_TEST

/* ---- bad input ---- */

START_TEST(limits_that_cannot_be_are_refused_by_name) {
  const struct {
    CPLimit limit;
    const char *message;
  } bad[] = {
      {{CP_NEW_LIMIT("knee"), .of = {{"hinge", 0}}, .lower = 1, .upper = 1},
       "knee: lower must be less than upper, and they are 1 and 1"},
      {{CP_NEW_LIMIT("knee"), .of = {{"hinge", 0}}, .lower = -INFINITY, .upper = INFINITY},
       "knee: lower or upper must be finite, and they are -inf and inf"},
      {{CP_NEW_LIMIT("knee"), .of = {{"hinge", 0}}, .lower = 0, .upper = 1, .restitution = 2},
       "knee: restitution must be from 0 to 1, and is 2"},
      {{CP_NEW_LIMIT("knee"), .of = {{"hinge", 1}}, .lower = 0, .upper = 1},
       "knee: joint \"hinge\" has no coordinate 1"},
      {{CP_NEW_LIMIT("knee"), .of = {{"hinge", 0}, {"hinge", 0}}, .ratio = {1, 1}, .upper = 1},
       "knee: the two coordinates must differ"},
      {{CP_NEW_LIMIT("knee"), .of = {{"hinge", 0}, {"other", 0}}, .ratio = {1, 0}, .upper = 1},
       "knee: ratios must not be 0, and one is 0"},
      {{CP_NEW_LIMIT("taken"), .of = {{"hinge", 0}}, .upper = 1},
       "name must be new: there is a \"taken_upper\" already"}};
  bodies = CPBodiesCreate(2, NULL);
  wheel(2, "wheel", "hinge", 1, 1);
  wheel(2, "taken_upper", "other", 1, 1);
  const int n = CPBodiesCount(bodies, CP_PARAMETER), joints = CPBodiesCount(bodies, CP_JOINT);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    ck_assert_int_eq(CPBodiesAdd(bodies, &bad[i].limit.head, NULL), CP_ILL_INPUT);
    ck_assert_str_eq(CPObjectGetLastMessage(CP_OBJECT(bodies)), bad[i].message);
    ck_assert_int_eq(CPBodiesCount(bodies, CP_PARAMETER), n);
    ck_assert_int_eq(CPBodiesCount(bodies, CP_JOINT), joints);
    ck_assert_int_eq(CPBodiesCount(bodies, CP_CONTACT), 0);
    ck_assert_int_eq(thing_named(bodies, CP_JOINT, "taken_lower"), CP_ILL_INPUT);
  }
  CPBodiesFree(&bodies);
}
END_TEST

START_TEST(a_start_outside_of_the_stops_is_refused_by_name) {
  const CPLimit limit = {CP_NEW_LIMIT("knee"), .of = {{"hinge", 0}}, .lower = 0.1, .upper = 1};
  bodies              = CPBodiesCreate(2, NULL);
  wheel(2, "wheel", "hinge", 1, 1);
  add_element(bodies, &limit.head);
  act(CP_ABSOLUTE);
  ck_assert_int_eq(run_with("DOP853", 1e-8, 2), CP_CONTACT_PENETRATION);
  ck_assert_str_eq(CPObjectGetLastMessage(CP_OBJECT(contact)),
                   "at t = 0: contact \"knee_lower\" penetrates: its gap is -1.000e-01");
  release();
}
END_TEST

/* ---- gradients ---- */

static int give_sens(CPIntegrator integrator, const char *method, void *sens) {
  (void)method;
  return CPIntegratorSetSens(integrator, *(CPSens *)sens);
}

static int angle_at_end(sunrealtype t, N_Vector state, sunrealtype *values, void *data) {
  (void)t, (void)data;
  return CPMechGetCoordinate(mech, 0, state, &values[0], &values[1]);
}

/* With a = T / J a wheel that starts at 0 with v strikes its stop at X after (w - v) / a with w^2 = v^2 + 2 a X, and is at
 * X - e w s + a s^2 / 2 after the rest s of the time. The derivatives with respect to T, J, X and e are those of this formula, by differences
 * of sixth order. */
static sunrealtype after_bounce(const sunrealtype *p, sunrealtype t, sunrealtype v,
                                sunrealtype *rate) {
  const sunrealtype a = p[0] / p[1], e = p[3], w = sqrt(v * v + 2 * a * p[2]), s = t - (w - v) / a;
  *rate = a * s - e * w;
  return p[2] - e * w * s + a * s * s / 2;
}

START_TEST(gradients_pass_stops) {
  static const char *const names[] = {"turn.force", "wheel.J_zz", "stops.upper",
                                      "stops.restitution"};
  const sunrealtype p[] = {0.5, 0.7, 0.9, 0.6}, v = 1, t_end = 1.2, tol = 1e-10;
  sunrealtype d[4][2] = {{0}}, G[2], dG[8];
  for (int i = 0; i < 4; i++)
    for (int k = -3; k <= 3; k++) {
      sunrealtype moved[4] = {p[0], p[1], p[2], p[3]}, rate;
      moved[i] += 1e-3 * k * p[i];
      const sunrealtype factor = sixth_order(k) / (1e-3 * p[i]);
      d[i][0] += factor * after_bounce(moved, t_end, v, &rate);
      d[i][1] += factor * rate;
    }
  for (int k = 0; k < 8; k++) {
    const CPLimit limit = {CP_NEW_LIMIT("stops"), .of = {{"hinge", 0}}, .lower = -9, .upper = p[2],
                           .restitution = p[3]};
    const CPSpring torque = {CP_NEW_SPRING("turn"), .of = {"hinge", 0}, .force = p[0]};
    const CPFunctional F  = {CP_SIZED(CPFunctional), .ng = 2, .end = angle_at_end};
    sunrealtype *values = NULL, t = 0, rate;
    int plist[4];
    bodies = CPBodiesCreate(2, NULL);
    wheel(2, "wheel", "hinge", p[1], v);
    add_element(bodies, &limit.head);
    add_element(bodies, &torque.head);
    for (int i = 0; i < 4; i++) plist[i] = thing_named(bodies, CP_PARAMETER, names[i]);
    act(k % 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
    ck_assert_int_eq(CPMechGetParameters(mech, &values, NULL), CP_SUCCESS);
    N_Vector *S = N_VCloneVectorArray(4, y);
    for (int i = 0; i < 4; i++) N_VConst(0, S[i]);
    const CPParameters parameters = {CP_SIZED(CPParameters), .n = 4, .values = values,
                                     .plist = plist, .y0S = S};
    CPSens sens                   = CPSensCreate(&parameters, y, test_context);
    CPSession session             = CPSessionCreate(methods[k / 2 % 2], test_context);
    ck_assert_int_eq(CPContactAttach(contact, session), CP_SUCCESS);
    ck_assert_int_eq(CPSessionSetTolerances(session, tol, tol, NULL), CP_SUCCESS);
    if (k / 4) ck_assert_int_eq(CPSessionSetConfigFn(session, give_sens, &sens), CP_SUCCESS);
    ck_assert_int_eq(CPSessionStart(session, 0, y, t_end), CP_SUCCESS);
    if (k / 4) {
      ck_assert_msg(!CPSessionRun(session, t_end, y, &t), "%s",
                    CPObjectGetLastMessage(CP_OBJECT(session)));
      ck_assert_int_eq(CPSensGetDky(sens, t_end, 0, S), CP_SUCCESS);
      angle_at_end(t, y, G, NULL);
      const int at = k % 2 ? 0 : 2, n = k % 2 ? 1 : 3; /* the angle, and the distance of its rate */
      for (int i = 0; i < 4; i++) dG[i] = entries(S[i])[at], dG[4 + i] = entries(S[i])[at + n];
    } else
      ck_assert_msg(!CPSessionGradient(session, t_end, &F, &parameters, NULL, G, dG, NULL), "%s",
                    CPObjectGetLastMessage(CP_OBJECT(contact)));
    ck_assert_double_eq_tol(G[0], after_bounce(p, t_end, v, &rate), 1e-8);
    for (int i = 0; i < 4; i++)
      for (int j = 0; j < 2; j++)
        ck_assert_msg(fabs(dG[4 * j + i] - d[i][j]) <= 1e-7 * (1 + fabs(d[i][j])),
                      "%d: %s, %d: %.12g for %.12g", k, names[i], j, (double)dG[4 * j + i],
                      (double)d[i][j]);
    CPSessionFree(&session);
    CPSensFree(&sens);
    N_VDestroyVectorArray(S, 4);
    release();
  }
}
END_TEST

/* A planar four-bar in space: 20 rows for 18 velocities of rank 17, and most components of its states do not move. */
static const char loop[] =
    "dimension: 3\ngravity: [0, -9.81, 0]\nparameters: {r: 0.7}\nbodies:\n"
    "- {name: a, mass: 1, inertia: [0.01, 0.01, 0.01], at: [0, 0.05, 0]}\n"
    "- {name: c, mass: 1, inertia: [0.1, 0.1, 0.1], at: [0.15, 0.175, 0]}\n"
    "- {name: b, mass: 1, inertia: [0.1, 0.1, 0.1], at: [0.35, 0.125, 0]}\njoints:\n"
    "- {name: s, kind: revolute, b: a, at: [0, 0, 0], axis: [0, 0, 1]}\n"
    "- {name: B, kind: revolute, a: a, b: c, at: [0, 0.1, 0], axis: [0, 0, 1]}\n"
    "- {name: C, kind: revolute, a: c, b: b, at: [0.3, 0.25, 0], axis: [0, 0, 1]}\n"
    "- {name: o, kind: revolute, b: b, at: [0.4, 0, 0], axis: [0, 0, 1]}\n"
    "limits: [{name: l, of: o, lower: -0.3, upper: 0.3, restitution: r}]\n";

static int height_at_end(sunrealtype t, N_Vector state, sunrealtype *values, void *data) {
  (void)data;
  values[0] = quantity_at(mech, "c.position.y", t, state, 0);
  return 0;
}

static void read_loop(const char *values) {
  CPBodiesFile file = {CP_SIZED(CPBodiesFile), .named = values ? NULL : "r", .parameters = values};
  ck_assert_msg(!CPBodiesRead("loop.yaml", loop, strlen(loop), &bodies, &file), "%s",
                CPObjectGetLastMessage(NULL));
  act(CP_ABSOLUTE);
}

START_TEST(adjoints_pass_stops_of_loops_whose_rows_depend_on_each_other) {
  const sunrealtype r = 0.7, t_end = 0.55;
  sunrealtype d = 0, G, dG, *p, t;
  for (int k = -3; k <= 3; k++) {
    char text[40];
    if (k == 0) continue;
    snprintf(text, sizeof text, "r=%.17g", (double)(r * (1 + 1e-3 * k)));
    read_loop(text);
    CPSession session = CPSessionCreate("DOP853", test_context);
    ck_assert_int_eq(CPContactAttach(contact, session), CP_SUCCESS);
    ck_assert_int_eq(CPSessionSetTolerances(session, 1e-13, 1e-13, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPSessionStart(session, 0, y, t_end), CP_SUCCESS);
    ck_assert_int_eq(CPSessionRun(session, t_end, y, &t), CP_SUCCESS);
    height_at_end(t, y, &G, NULL);
    d += sixth_order(k) / (1e-3 * r) * G;
    CPSessionFree(&session);
    release();
  }
  for (int digits = 5; digits <= 10; digits++) {
    const sunrealtype tol = pow(10, -digits);
    int plist;
    read_loop(NULL);
    plist = thing_named(bodies, CP_PARAMETER, "r");
    ck_assert_int_eq(CPMechGetParameters(mech, &p, NULL), CP_SUCCESS);
    const CPParameters by  = {CP_SIZED(CPParameters), .n = 1, .values = p, .plist = &plist};
    const CPFunctional F   = {CP_SIZED(CPFunctional), .ng = 1, .end = height_at_end};
    CPSession session      = CPSessionCreate("DOP853", test_context);
    CPGradientOptions with = {CP_SIZED(CPGradientOptions), .reltol = tol};
    ck_assert_int_eq(CPContactAttach(contact, session), CP_SUCCESS);
    ck_assert_int_eq(CPSessionSetTolerances(session, tol, tol, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPSessionStart(session, 0, y, t_end), CP_SUCCESS);
    ck_assert_msg(!CPSessionGradient(session, t_end, &F, &by, &with, &G, &dG, NULL), "%s",
                  CPObjectGetLastMessage(CP_OBJECT(session)));
    ck_assert_msg(fabs(dG - d) <= 10 * tol, "1e-%d: %.12g for %.12g", digits, (double)dG, (double)d);
    CPSessionFree(&session);
    release();
  }
}
END_TEST

TEST_SUITE(limits) {
  Suite *suite = suite_create("contact/limits");
  TCase *tc    = tcase_create("limits");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, a_wheel_bounces_between_its_stops, 0, 6);
  tcase_add_test(tc, flights_from_an_open_start_have_the_tolerance);
  tcase_add_test(tc, two_wheels_meet_at_the_ends_of_their_play);
  tcase_add_test(tc, a_stop_carries_the_weight_after_all_bounces);
  tcase_add_loop_test(tc, a_mass_comes_to_rest_on_another_that_lies_on_its_stop, 0, 2);
  tcase_add_loop_test(tc, a_spring_comes_to_rest_by_dry_friction, 0, 6);
  tcase_add_test(tc, a_growing_load_breaks_away_at_the_friction_of_rest);
  tcase_add_test(tc, dry_friction_acts_beside_stops);
  tcase_add_test(tc, stops_at_which_friction_holds_fingers_have_no_events);
  tcase_add_test(tc, stops_open_once_where_friction_holds_what_swings);
  tcase_add_test(tc, the_loss_of_dry_friction_is_in_the_balance);
  tcase_add_test(tc, wrong_frictions_are_refused_by_name);
  tcase_add_test(tc, a_pin_lets_go_beside_contacts);
  tcase_add_test(tc, rows_of_limits_have_exact_derivatives);
  tcase_add_test(tc, a_run_counts_turns);
  tcase_add_test(tc, limits_that_cannot_be_are_refused_by_name);
  tcase_add_test(tc, a_start_outside_of_the_stops_is_refused_by_name);
  tcase_add_test(tc, gradients_pass_stops);
  tcase_add_test(tc, adjoints_pass_stops_of_loops_whose_rows_depend_on_each_other);
  suite_add_tcase(suite, tc);
  return suite;
}
