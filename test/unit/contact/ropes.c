/* Ropes over pulleys against closed forms: in the plane, and in space with all axes along z. */
#include "acting.h"

#include <cpodes/cpodes_language.h>

static const sunrealtype g = 9.81;
static const double tols[] = {1e-4, 1e-6, 1e-9};
enum { NMETHODS = 3, NTOLS = 3, CASES = 2 * 2 * NMETHODS * NTOLS };

/* Case i: dimension, formulation, tolerance and method */
typedef struct {
  int dimension;
  CPFormulation formulation;
  sunrealtype tol;
  const char *method;
} Case;

static Case case_of(int i) {
  return (Case){2 + i / (CASES / 2), (CPFormulation)(i / (NMETHODS * NTOLS) % 2),
                tols[i / NMETHODS % NTOLS], methods[i % NMETHODS]};
}

static void create(const Case *c) {
  const sunrealtype down[] = {0, -g, 0};
  bodies                   = CPBodiesCreate(c->dimension, down);
}

static void mass(const char *name, sunrealtype m, sunrealtype x, sunrealtype y_) {
  const CPBody body = {CP_NEW_BODY(name), .mass = m, .inertia = {0.1, 0.1, 0.1},
                       .position = {x, y_, 0}};
  add_element(bodies, &body.head);
}

static sunrealtype quantity(const char *name, sunrealtype t) {
  CPSensor s = CP_INIT(CPSensor);
  ck_assert_msg(CPMechGetSensor(mech, name, t, y, &s) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(mech)));
  return s.value[0];
}

static void run(const Case *c, sunrealtype t) {
  ck_assert_msg(run_with(c->method, c->tol, t) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(contact)));
}

/* The position and velocity of a body along y within 10 tolerances */
static void expect(const Case *c, const char *body, sunrealtype x, sunrealtype v, sunrealtype t) {
  char name[40];
  snprintf(name, sizeof name, "%s.position.y", body);
  ck_assert_double_eq_tol(quantity(name, t), x, 10 * c->tol * (1 + fabs(x)));
  snprintf(name, sizeof name, "%s.velocity.y", body);
  ck_assert_double_eq_tol(quantity(name, t), v, 10 * c->tol * (1 + fabs(v)));
}

#define POINT(body, x, y) \
  { body, {x, y, 0}, 0, {0, 0, 0}, 0, 0, 0 }
#define DRUM(body, x, y, radius, turns, friction) \
  { body, {x, y, 0}, radius, {0, 0, 1}, turns, friction, 0 }
#define PULLEY(body, x, y, radius) DRUM(body, x, y, radius, 0, 0)

/* ---- the rope stays taut ---- */

/* The rope turns clockwise, from the left to the right. */
START_TEST(atwood) {
  const Case c           = case_of(_i);
  const sunrealtype m[2] = {1.3, 2.1}, r = 0.2, t = 0.9, a = (m[1] - m[0]) / (m[0] + m[1]) * g;
  create(&c);
  mass("left", m[0], -r, -3), mass("right", m[1], r, -1);
  const CPRopeNode nodes[] = {POINT("left", -r, -3), PULLEY(NULL, 0, 0, -r), POINT("right", r, -1)};
  const CPRope rope        = {CP_NEW_ROPE("rope"), .nnodes = 3, .node = nodes};
  add_element(bodies, &rope.head);
  act(c.formulation);
  run(&c, t);
  expect(&c, "left", -3 + a * t * t / 2, a * t, t);
  expect(&c, "right", -1 - a * t * t / 2, -a * t, t);
  ck_assert_double_eq_tol(quantity("rope.length", t), 4 + r * acos(-1.0), 10 * c.tol);
  release();
}
END_TEST

/* From the ground under the movable pulley M and over a fixed one to m: (M + 4 m) s'' = (M - 2 m) g */
START_TEST(a_movable_pulley_halves_the_force) {
  const Case c        = case_of(_i);
  const sunrealtype M = 3, m = 1.1, r = 0.15, t = 0.8, a = (M - 2 * m) / (M + 4 * m) * g;
  create(&c);
  mass("block", M, r, -2), mass("weight", m, 4 * r, -3);
  const CPRopeNode nodes[] = {POINT(NULL, 0, 0), PULLEY("block", r, -2, r),
                              PULLEY(NULL, 3 * r, 0, -r), POINT("weight", 4 * r, -3)};
  const CPRope rope        = {CP_NEW_ROPE("rope"), .nnodes = 4, .node = nodes, .taut = _i % 2};
  add_element(bodies, &rope.head);
  if (_i % 2) { /* without contacts a CPMech is enough, but the session is the same */
    const CPRopeNode loose[] = {POINT(NULL, 0, 1), POINT("weight", 4 * r, -3)};
    const CPRope slack       = {CP_NEW_ROPE("slack"), .nnodes = 2, .node = loose, .length = 20};
    add_element(bodies, &slack.head);
  }
  act(c.formulation);
  run(&c, t);
  expect(&c, "block", -2 - a * t * t / 2, -a * t, t);
  expect(&c, "weight", -3 + a * t * t, 2 * a * t, t);
  release();
}
END_TEST

/* m_1 against a pulley m_p, over which m_2 and m_3 hang: with mu = 4 m_2 m_3 / (m_2 + m_3) the pulley falls with
 * a = g (m_p + mu - m_1) / (m_p + mu + m_1), and m_2 relative to it with (m_2 - m_3) / (m_2 + m_3) (g - a). */
START_TEST(atwood_on_atwood) {
  const Case c         = case_of(_i);
  const sunrealtype m1 = 2, m2 = 1.5, m3 = 0.7, mp = 0.4, r = 0.2, s = 0.1, t = 0.7,
                    mu = 4 * m2 * m3 / (m2 + m3), a = g * (mp + mu - m1) / (mp + mu + m1),
                    rel = (m2 - m3) / (m2 + m3) * (g - a);
  create(&c);
  mass("one", m1, -r, -2), mass("pulley", mp, r, -1), mass("two", m2, r - s, -3),
      mass("three", m3, r + s, -3);
  const CPRopeNode upper[] = {POINT("one", -r, -2), PULLEY(NULL, 0, 0, -r), POINT("pulley", r, -1)},
                   lower[] = {POINT("two", r - s, -3), PULLEY("pulley", r, -1, -s),
                              POINT("three", r + s, -3)};
  const CPRope first       = {CP_NEW_ROPE("upper"), .nnodes = 3, .node = upper},
               second      = {CP_NEW_ROPE("lower"), .nnodes = 3, .node = lower};
  add_element(bodies, &first.head), add_element(bodies, &second.head);
  act(c.formulation);
  run(&c, t);
  const sunrealtype h = t * t / 2;
  expect(&c, "one", -2 + a * h, a * t, t);
  expect(&c, "two", -3 - (a + rel) * h, -(a + rel) * t, t);
  expect(&c, "three", -3 - (a - rel) * h, -(a - rel) * t, t);
  release();
}
END_TEST

/* A winch takes rope in and gives some: y = -(1 + l(t)), and the tension is m (g - l''). Its work is the change of energy. */
START_TEST(a_winch_lifts_by_its_motion) {
  const Case c        = case_of(_i);
  const sunrealtype m = 1.7, t = 1.3, w = 3, A = 0.2, l = A * sin(w * t), v = A * w * cos(w * t);
  static const char *const variable[] = {"t"};
  CPFunctionOptions options           = CP_INIT(CPFunctionOptions);
  options.text = "0.2*sin(3*t)", options.nvariables = 1, options.variable = variable;
  create(&c);
  ck_assert_int_eq(CPBodiesSetBalance(bodies), CP_SUCCESS);
  mass("load", m, 0, -1);
  const CPBody start = {CP_NEW_BODY("other"), .mass = m, .inertia = {0.1, 0.1, 0.1},
                        .position = {1, -1, 0}, .velocity = {0, -A * w, 0}};
  add_element(bodies, &start.head);
  const CPRopeNode nodes[] = {POINT(NULL, 1, 0), POINT("other", 1, -1)},
                   hangs[] = {POINT(NULL, 0, 0), POINT("load", 0, -1)};
  const CPRope rests       = {CP_NEW_ROPE("rests"), .nnodes = 2, .node = hangs};
  CPRope rope              = {CP_NEW_ROPE("rope"), .nnodes = 2, .node = nodes};
  ck_assert_int_eq(CPFunctionCreate(&options, &rope.function), CP_SUCCESS);
  add_element(bodies, &rests.head), add_element(bodies, &rope.head);
  CPFunctionFree(&rope.function);
  act(c.formulation);
  run(&c, t);
  expect(&c, "other", -1 - l, -v, t);
  expect(&c, "load", -1, 0, t);
  /* 1/2 m v^2 + m g y - W is as at the start */
  const sunrealtype W      = N_VGetArrayPointer(y)[N_VGetLength(y) - 1],
                    energy = m * (v * v - A * w * A * w) / 2 - m * g * l;
  ck_assert_double_eq_tol(W, energy, 10 * c.tol * (1 + fabs(energy)) * m * g);
  release();
}
END_TEST

/* Without gravity, a mass that moves across the end of a rope keeps its speed v while the rope unwinds from a pulley:
 * L L' = r v, so that L^2 = L_0^2 + 2 r v t. The far end is fixed beyond the pulley. */
START_TEST(a_rope_unwinds_along_an_involute) {
  const Case c        = case_of(_i);
  const sunrealtype r = 0.3, v = 1.1, L0 = 0.5, t = 1.2, L = sqrt(L0 * L0 + 2 * r * v * t);
  bodies            = CPBodiesCreate(c.dimension, NULL);
  const CPBody body = {CP_NEW_BODY("end"), .mass = 1, .inertia = {0.1, 0.1, 0.1},
                       .position = {L0, r, 0}, .velocity = {0, v, 0}};
  add_element(bodies, &body.head);
  /* from the left below the pulley, which is at the origin, clockwise over its top, half a turn, to the right */
  const CPRopeNode nodes[] = {POINT(NULL, 2, -r), PULLEY(NULL, 0, 0, -r), POINT("end", L0, r)};
  const CPRope rope        = {CP_NEW_ROPE("rope"), .nnodes = 3, .node = nodes};
  add_element(bodies, &rope.head);
  act(c.formulation);
  run(&c, t);
  /* the tangent point has turned by (L - L0) / r counterclockwise from the top */
  const sunrealtype turn = (L - L0) / r;
  ck_assert_double_eq_tol(quantity("end.position.x", t), -r * sin(turn) + L * cos(turn), 10 * c.tol);
  ck_assert_double_eq_tol(quantity("end.position.y", t), r * cos(turn) + L * sin(turn), 10 * c.tol);
  release();
}
END_TEST

/* ---- the rope rubs on a drum ---- */

/* Two masses on a rope over a drum, which may turn about its axis on the ground */
static void capstan(const Case *c, sunrealtype m1, sunrealtype m2, sunrealtype friction, int turns,
                    const char *drum) {
  const CPRopeNode nodes[] = {POINT("left", -0.2, -3), DRUM(drum, 0, 0, -0.2, turns, friction),
                              POINT("right", 0.2, -1)};
  const CPRope rope        = {CP_NEW_ROPE("rope"), .nnodes = 3, .node = nodes};
  create(c);
  mass("left", m1, -0.2, -3), mass("right", m2, 0.2, -1);
  if (drum) {
    const CPJoint axle = {CP_NEW_JOINT("axle"), .kind = CP_JOINT_REVOLUTE, .b = drum,
                          .on_a = {.axis = {0, 0, 1}}};
    mass(drum, 1, 0, 0);
    add_element(bodies, &axle.head);
  }
  add_element(bodies, &rope.head);
}

/* With E = exp(mu phi) the rope holds up to m_2 = E m_1, and slides with a = g (m_2 - E m_1) / (m_2 + E m_1). */
START_TEST(a_rope_on_a_drum_holds_or_slides) {
  const Case c = case_of(_i);
  for (int k = 0; k < 4; k++) {
    const int turns      = k / 2;
    const sunrealtype E  = exp(SUN_RCONST(0.3) * (1 + 2 * turns) * acos(-1.0)),
                      m2 = E * (k % 2 ? 1.1 : 0.999), t = 0.9,
                      a = k % 2 ? g * (m2 - E) / (m2 + E) : 0;
    capstan(&c, 1, m2, 0.3, turns, NULL);
    act(c.formulation);
    run(&c, t);
    ck_assert_int_eq(phase_of(contact, 0), k % 2 ? CP_CONTACT_SLIDING : CP_CONTACT_STICKING);
    expect(&c, "left", -3 + a * t * t / 2, a * t, t);
    expect(&c, "right", -1 - a * t * t / 2, -a * t, t);
    release();
  }
}
END_TEST

/* A pulley of the inertia J turns with the rope, a = g (m_2 - m_1) / (m_1 + m_2 + J / r^2), or, where the rope slides as above, with
 * J alpha = r (E - 1) T_1, T_1 = m_1 (g + a). */
START_TEST(a_rope_turns_its_pulley) {
  const Case c        = case_of(_i);
  const sunrealtype J = SUN_RCONST(0.1), r = SUN_RCONST(0.2), t = 0.9;
  for (int slides = 0; slides < 2; slides++) {
    const sunrealtype E     = exp(SUN_RCONST(0.1) * acos(-1.0)),
                      a     = slides ? g * (2 - E) / (2 + E) : g / (3 + J / (r * r)),
                      alpha = slides ? r * (E - 1) * (g + a) / J : a / r;
    sunrealtype rate;
    capstan(&c, 1, 2, slides ? 0.1 : 1, 0, "pulley");
    act(c.formulation);
    run(&c, t);
    ck_assert_int_eq(phase_of(contact, 0), slides ? CP_CONTACT_SLIDING : CP_CONTACT_STICKING);
    expect(&c, "right", -1 - a * t * t / 2, -a * t, t);
    ck_assert_double_eq_tol(
        remainder(coordinate_of("axle", &rate) + alpha * t * t / 2, 2 * acos(-1.0)), 0, 50 * c.tol);
    ck_assert_double_eq_tol(rate, -alpha * t, 50 * c.tol);
    release();
  }
}
END_TEST

/* Straight parts, and points that divide the arc over the drum into three */
START_TEST(a_rope_is_drawn_over_its_drum) {
  const Case c          = case_of(_i);
  const double want[24] = {-0.2, -3, 0, -0.2, 0,  0, -0.1, sqrt(0.03), 0, 0.1, sqrt(0.03), 0,
                           0.2,  0,  0, 0.2,  -1, 0, 0.2,  -1,         0, 0.2, -1,         0};
  sunrealtype xyz[24];
  capstan(&c, 1, 2, 0.3, 1, "drum");
  act(c.formulation);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_PATH), 2);
  for (int i = 0; i < 2; i++) {
    ck_assert_str_eq(thing_at(bodies, CP_PATH, i).name, "rope");
    ck_assert_int_eq(CPMechGetPoints(mech, CP_PATH, i, y, xyz + 12 * i), CP_SUCCESS);
  }
  for (int i = 0; i < 24; i++) ck_assert_double_eq_tol(xyz[i], want[i], 1e-15);
  release();
}
END_TEST

/* A capstan that is driven lifts m_2 with a = g (E m_1 - m_2) / (E m_1 + m_2), until the rope has its speed r omega. */
START_TEST(a_driven_capstan_lifts_by_friction) {
  const Case c        = case_of(_i);
  const sunrealtype E = exp(SUN_RCONST(0.3) * acos(-1.0)), a = g * (E - 2) / (E + 2), v = 1,
                    t1 = v / a, times[] = {0.5, 1.1};
  for (int k = 0; k < 2; k++) {
    const CPDrive motor = {CP_NEW_DRIVE("motor"), .of = {"axle", 0}, .rate = v / SUN_RCONST(0.2)};
    const sunrealtype t = times[k], y1 = k ? v * t1 / 2 + v * (t - t1) : a * t * t / 2;
    capstan(&c, 1, 2, 0.3, 0, "drum");
    add_element(bodies, &motor.head);
    act(c.formulation);
    ck_assert_int_eq(CPMechAssemble(mech, 0, y, NULL), CP_SUCCESS);
    run(&c, t);
    ck_assert_int_eq(phase_of(contact, 0), k ? CP_CONTACT_STICKING : CP_CONTACT_SLIDING);
    expect(&c, "right", -1 + y1, k ? v : a * t, t);
    release();
  }
}
END_TEST

/* The end of the rope is driven aside, so that its arc grows: T_2 = exp(mu phi) T_1 at any time, where the rope's force is the mean, and
 * T_1 lifts a mass. */
START_TEST(the_arc_of_a_rope_changes_its_friction) {
  const Case c        = case_of(_i);
  const sunrealtype r = 0.2, h = 1, t = 0.7, x = 1 + 2 * t, L = sqrt(x * x + h * h - r * r);
  const CPRopeNode nodes[] = {POINT("left", -r, -3), DRUM(NULL, 0, 0, -r, 0, 0.3),
                              POINT("cart", 1, -h)};
  const CPRope rope        = {CP_NEW_ROPE("rope"), .nnodes = 3, .node = nodes};
  const CPJoint rail       = {CP_NEW_JOINT("rail"), .kind = CP_JOINT_PRISMATIC, .b = "cart",
                              .on_a = {.point = {1, -h, 0}, .axis = {1, 0, 0}}};
  const CPDrive pull       = {CP_NEW_DRIVE("pull"), .of = {"rail", 0}, .rate = 2};
  create(&c);
  mass("left", 1, -r, -3), mass("cart", 1, 1, -h);
  add_element(bodies, &rail.head), add_element(bodies, &pull.head), add_element(bodies, &rope.head);
  act(c.formulation);
  ck_assert_int_eq(CPMechAssemble(mech, 0, y, NULL), CP_SUCCESS);
  run(&c, t);
  sunrealtype udot[40], lambda[40], force[3];
  CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = udot, .lambda = lambda};
  CPSensor up = CP_INIT(CPSensor), tension = CP_INIT(CPSensor);
  ck_assert_int_eq(CPContactEvaluate(contact, t, y, &out, force, NULL, NULL), CP_SUCCESS);
  up.udot = tension.udot = udot, up.lambda = tension.lambda = lambda;
  ck_assert_int_eq(CPMechGetSensor(mech, "left.acceleration.y", t, y, &up), CP_SUCCESS);
  ck_assert_int_eq(CPMechGetSensor(mech, "rope.force", t, y, &tension), CP_SUCCESS);
  const sunrealtype phi = acos(0.0) - (atan2(-h, x) - atan2(r, L)), T1 = g + up.value[0];
  ck_assert_double_eq_tol(tension.value[0], T1 * (1 + exp(SUN_RCONST(0.3) * phi)) / 2,
                          1e-9 + 100 * c.tol);
  ck_assert_double_eq_tol(force[1], T1 * (exp(SUN_RCONST(0.3) * phi) - 1), 1e-9 + 100 * c.tol);
  const sunrealtype L0 = sqrt(1 + h * h - r * r), phi0 = acos(0.0) - (atan2(-h, 1) - atan2(r, L0));
  ck_assert_double_eq_tol(quantity("left.position.y", t), -3 + L + r * phi - L0 - r * phi0,
                          10 * c.tol);
  release();
}
END_TEST

/* ---- the rope becomes slack ---- */

/* Thrown up with v, it falls for 2 v / g each time, and rebounds with e times its velocity. */
START_TEST(a_rope_is_slack_until_it_jerks) {
  const Case c        = case_of(_i);
  const sunrealtype v = 3, e = 0.5, flight = 2 * v / g, t = 1.25 * flight, after = t - flight;
  create(&c);
  const CPBody body = {CP_NEW_BODY("ball"), .mass = 1, .inertia = {0.1, 0.1, 0.1},
                       .position = {0, -2, 0}, .velocity = {0, v, 0}};
  add_element(bodies, &body.head);
  const CPRopeNode nodes[] = {POINT(NULL, 0, 0), POINT("ball", 0, -2)};
  const CPRope rope        = {CP_NEW_ROPE("rope"), .nnodes = 2, .node = nodes, .restitution = e};
  add_element(bodies, &rope.head);
  act(c.formulation);
  run(&c, t);
  expect(&c, "ball", -2 + e * v * after - g * after * after / 2, e * v - g * after, t);
  release();
}
END_TEST

/* A ball at the end of a rope of length 1 begins below with v^2 = 3.5 g. Its tension m (v^2 + g cos a) vanishes at cos a = -1/2, where
 * v_s^2 = g / 2, and from there it follows the parabola with the velocity v_s (cos a, sin a) until after 4 v_s sin a / g = 0.78 s. At that
 * root the forces on the ball cancel, and at each tolerance by another roundoff: the rope opens at all of them, and the gap, which then
 * grows as the cube of time, has no events. */
START_TEST(a_rope_becomes_slack_where_its_tension_vanishes) {
  static const char *const all[] = {"DOP853", "RADAU", "BDF", "ADAMS"};
  const sunrealtype vs = sqrt(g / 2), xs = sqrt(0.75), vx = -vs / 2, vy = vs * xs, t_end = 0.95;
  for (int k = 0; k < (test_is_short() ? 4 : 24); k++) {
    const sunrealtype tol = pow(10.0, -4.0 - k / 6.0);
    bodies                = CPBodiesCreate(2, (sunrealtype[]){0, -g, 0});
    mass("ball", 1.3, 0, -1);
    const CPRopeNode nodes[] = {POINT(NULL, 0, 0), POINT("ball", 0, -1)};
    const CPRope rope        = {CP_NEW_ROPE("rope"), .nnodes = 2, .node = nodes, .length = 1};
    add_element(bodies, &rope.head);
    act(CP_ABSOLUTE);
    entries(y)[3]     = sqrt(3.5 * g);
    CPSession session = CPSessionCreate(all[_i], test_context);
    sunrealtype t, steps;
    ck_assert_int_eq(CPContactAttach(contact, session), CP_SUCCESS);
    ck_assert_int_eq(CPSessionSetTolerances(session, tol, tol, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPSessionStart(session, 0, y, t_end), CP_SUCCESS);
    ck_assert_int_eq(CPSessionRun(session, t_end, y, &t), CP_SUCCESS);
    ck_assert_int_eq(CPObjectGetStat(CP_OBJECT(session), "steps", &steps), CP_SUCCESS);
    const sunrealtype x = entries(y)[0], s = (x - xs) / vx, height = 0.5 + vy * s - g * s * s / 2;
    ck_assert_double_gt(s, 0.2);
    ck_assert_double_le(fabs(entries(y)[1] - height), 0.05 * (1 - sqrt(x * x + height * height)));
    ck_assert_double_le(steps,
                        3000); /* Restarts at events of the gap took a hundred times as many. */
    CPSessionFree(&session);
    release();
  }
}
END_TEST

/* T + V - W, with the energies that elastic ropes store in V */
static sunrealtype balance(sunrealtype t) {
  CPPowers p = CP_INIT(CPPowers);
  ck_assert_int_eq(CPMechGetPowers(mech, t, y, NULL, &p), CP_SUCCESS);
  return p.kinetic + p.potential - N_VGetArrayPointer(y)[N_VGetLength(y) - 1];
}

/* Released at the stretch s_0 < 2 s_e, it vibrates about s_e = m g / k: s_e + (s_0 - s_e) cos(w t). */
START_TEST(an_elastic_rope_vibrates_as_a_spring) {
  const Case c        = case_of(_i);
  const sunrealtype m = 1.3, k = 80, w = sqrt(k / m), se = m * g / k, A = 0.9 * se, t = 0.9,
                    s = se + A * cos(w * t);
  create(&c);
  ck_assert_int_eq(CPBodiesSetBalance(bodies), CP_SUCCESS);
  mass("ball", m, 0, -1 - se - A);
  const CPRopeNode nodes[] = {POINT(NULL, 0, 0), POINT("ball", 0, -1 - se - A)},
                   loose[] = {POINT(NULL, 0, 1), POINT("ball", 0, -1 - se - A)};
  const CPRope rope = {CP_NEW_ROPE("rope"), .nnodes = 2, .node = nodes, .length = 1, .stiffness = k},
               slack = {CP_NEW_ROPE("slack"), .nnodes = 2, .node = loose, .length = 20};
  add_element(bodies, &rope.head), add_element(bodies, &slack.head);
  act(c.formulation);
  const sunrealtype before = balance(0);
  run(&c, t);
  ck_assert_double_eq_tol(balance(t), before, 100 * c.tol * m * g);
  expect(&c, "ball", -1 - s, A * w * sin(w * t), t);
  ck_assert_double_eq_tol(quantity("rope.force", t), k * s, 10 * c.tol * k);
  ck_assert_double_eq_tol(quantity("rope.power", t), k * s * A * w * sin(w * t), 10 * c.tol * k);
  ck_assert_double_eq_tol(quantity("rope.energy", t), k * s * s / 2, 10 * c.tol * k);
  ck_assert_double_eq(quantity("slack.force", t), 0);
  release();
}
END_TEST

/* Released at the stretch s_0 > 2 s_e: s_e + (s_0 - s_e) cos(w t) down to s = 0, free flight, and the mirror image */
START_TEST(an_elastic_rope_becomes_slack_and_taut_again) {
  const Case c        = case_of(_i);
  const sunrealtype m = 1.3, k = 80, w = sqrt(k / m), se = m * g / k, s0 = 4 * se, A = s0 - se,
                    quarter = acos(-se / A) / w, v = A * w * sin(w * quarter), flight = 2 * v / g,
                    t = quarter + flight + 0.6 * quarter, phase = w * (2 * quarter + flight - t),
                    s = se + A * cos(phase), rate = A * w * sin(phase);
  create(&c);
  ck_assert_int_eq(CPBodiesSetBalance(bodies), CP_SUCCESS);
  mass("ball", m, 0, -1 - s0);
  const CPRopeNode nodes[] = {POINT(NULL, 0, 0), POINT("ball", 0, -1 - s0)};
  const CPRope rope = {CP_NEW_ROPE("rope"), .nnodes = 2, .node = nodes, .length = 1, .stiffness = k};
  add_element(bodies, &rope.head);
  act(c.formulation);
  const sunrealtype before = balance(0);
  run(&c, t);
  ck_assert_double_eq_tol(balance(t), before, 100 * c.tol * k * s0);
  expect(&c, "ball", -1 - s, -rate, t);
  ck_assert_double_eq_tol(quantity("rope.force", t), k * s, 10 * c.tol * k);
  ck_assert_double_eq_tol(quantity("rope.energy", t), k * s * s / 2, 10 * c.tol * k);
  release();
}
END_TEST

/* A winch takes an elastic rope in and gives some, with damping: T + V - W stays, with the work of the winch and the loss of the damper in W. */
START_TEST(an_elastic_rope_on_a_winch_keeps_the_balance) {
  const Case c        = case_of(_i);
  const sunrealtype m = 1.3, k = 80, t = 1.7;
  create(&c);
  ck_assert_int_eq(CPBodiesSetBalance(bodies), CP_SUCCESS);
  mass("ball", m, 0, -1.3);
  const CPRopeNode nodes[] = {POINT(NULL, 0, 0), POINT("ball", 0, -1.3)};
  const CPRope rope        = {CP_NEW_ROPE("rope"), .nnodes = 2,    .node = nodes, .length = 1,
                              .rate = -0.4,        .stiffness = k, .damping = 1.5};
  add_element(bodies, &rope.head);
  act(c.formulation);
  const sunrealtype before = balance(0);
  run(&c, t);
  ck_assert_double_eq_tol(balance(t), before, 100 * c.tol * k);
  release();
}
END_TEST

/* ---- what is refused ---- */

static const struct {
  CPRopeNode node[4];
  int nnodes;
  sunrealtype length;
  const char *rule;
} wrong[] = {
    {{POINT(NULL, 0, 0), POINT("a", 0, -1)},
     2,
     0.9,
     "rope: the rope is too short for its nodes: 0.9, and 1"},
    {{POINT(NULL, 0, 0), POINT("a", 0, 0)}, 2, 0, "rope: node 1 and the next one are at one point"},
    {{POINT(NULL, 0, 0), PULLEY("a", 0, -1, 1.1), POINT(NULL, 3, 0)},
     3,
     0,
     "rope: node 1 lies within the next one"},
    {{POINT(NULL, 0, 0), PULLEY(NULL, 0, -2, 0.5), POINT("a", 0, -2.2)},
     3,
     0,
     "rope: node 2 is a pulley, and the next one lies within it"},
    {{POINT(NULL, 0, 0), PULLEY("a", 0, -1, 0.1), PULLEY("b", 0, -1, 0.3)},
     3,
     0,
     "rope: node 3 is an end"},
    {{POINT(NULL, 0, 0), PULLEY("a", 0, -1, 0.6), PULLEY("b", 1, -1, 0.6), POINT(NULL, 2, 0)},
     4,
     0,
     "rope: node 2 and the next one are pulleys that overlap"},
    {{POINT(NULL, 0, 0), POINT("c", 0, -1)}, 2, 0, "rope: there is no body \"c\""},
    {{POINT(NULL, 0, 0), POINT(NULL, 0, -1)}, 2, 0, "rope: its nodes must not all be on one body"},
    {{POINT(NULL, 0, 0), DRUM(NULL, 0, 0, 0, 0, 0.3), POINT("a", 0, -1)},
     3,
     0,
     "rope: node 2 has friction, and must be a pulley"},
    {{POINT(NULL, 0, 0)}, 1, 0, "rope: a rope has 2 to 16 nodes, and this one has 1"}};

START_TEST(wrong_ropes_are_refused_by_name) {
  const Case c = case_of(_i % 2 ? CASES - 1 : 0);
  create(&c);
  mass("a", 1, 0, -1), mass("b", 1, 1, -1);
  const CPRope rope = {CP_NEW_ROPE("rope"), .nnodes = wrong[_i / 2].nnodes,
                       .node = wrong[_i / 2].node, .length = wrong[_i / 2].length};
  const int before  = CPBodiesCount(bodies, CP_PARAMETER);
  ck_assert_int_eq(CPBodiesAdd(bodies, &rope.head, NULL), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(bodies)), wrong[_i / 2].rule);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_PARAMETER), before);
  CPBodiesFree(&bodies);
}
END_TEST

TEST_SUITE(ropes) {
  Suite *suite = suite_create("contact/ropes");
  TCase *tc    = tcase_create("ropes");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, atwood, 0, CASES);
  tcase_add_loop_test(tc, a_movable_pulley_halves_the_force, 0, CASES);
  tcase_add_loop_test(tc, atwood_on_atwood, 0, CASES);
  tcase_add_loop_test(tc, a_winch_lifts_by_its_motion, 0, CASES);
  tcase_add_loop_test(tc, a_rope_unwinds_along_an_involute, 0, CASES);
  tcase_add_loop_test(tc, a_rope_on_a_drum_holds_or_slides, 0, CASES);
  tcase_add_loop_test(tc, a_rope_turns_its_pulley, 0, CASES);
  tcase_add_loop_test(tc, a_rope_is_drawn_over_its_drum, 0, CASES);
  tcase_add_loop_test(tc, a_driven_capstan_lifts_by_friction, 0, CASES);
  tcase_add_loop_test(tc, the_arc_of_a_rope_changes_its_friction, 0, CASES);
  tcase_add_loop_test(tc, a_rope_is_slack_until_it_jerks, 0, CASES);
  tcase_add_loop_test(tc, a_rope_becomes_slack_where_its_tension_vanishes, 0, 4);
  tcase_add_loop_test(tc, an_elastic_rope_vibrates_as_a_spring, 0, CASES);
  tcase_add_loop_test(tc, an_elastic_rope_becomes_slack_and_taut_again, 0, CASES);
  tcase_add_loop_test(tc, an_elastic_rope_on_a_winch_keeps_the_balance, 0, CASES);
  tcase_add_loop_test(tc, wrong_ropes_are_refused_by_name, 0, 2 * sizeof wrong / sizeof *wrong);
  suite_add_tcase(suite, tc);
  return suite;
}
