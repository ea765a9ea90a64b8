/* Stops of joint coordinates that are far away or only just touched. */
#include "acting.h"

static const sunrealtype pi = SUN_RCONST(3.14159265358979323846);

/* ---- far away ---- */

enum { LINKS = 12 };

/* A chain of links that falls from the horizontal, with 2 LINKS stops that it never reaches, or with none */
static void hang_chain(int with_stops) {
  bodies = CPBodiesCreate(3, (sunrealtype[]){0, 0, -SUN_RCONST(9.81)});
  for (int i = 0; i < LINKS; i++) {
    char link[8], before[8], hinge[8], stop[8];
    snprintf(link, sizeof link, "l%d", i), snprintf(before, sizeof before, "l%d", i - 1);
    snprintf(hinge, sizeof hinge, "h%d", i), snprintf(stop, sizeof stop, "s%d", i);
    const CPBody body   = {CP_NEW_BODY(link), .mass = 1, .inertia = {0.1, 0.1, 0.1},
                           .centre = {0.1, 0, 0}, .position = {0.2 * i, 0, 0}};
    const CPJoint joint = {CP_NEW_JOINT(hinge), .kind = CP_JOINT_REVOLUTE,
                           .a = i > 0 ? before : NULL, .b = link,
                           .on_a = {.point = {0.2 * i, 0, 0}, .axis = {0, 1, 0}}};
    const CPLimit limit = {CP_NEW_LIMIT(stop), .of = {{hinge, 0}}, .lower = -90, .upper = 90};
    add_element(bodies, &body.head);
    add_element(bodies, &joint.head);
    if (with_stops) add_element(bodies, &limit.head);
  }
}

static sunrealtype count(CPSession session, const char *name) {
  sunrealtype value;
  const CPIntegrator integrator = CPSessionGetIntegrator(session);
  ck_assert_int_eq(CPObjectGetStat(CP_OBJECT(integrator), name, &value), CP_SUCCESS);
  return value;
}

/* Root functions are evaluated at the end of each step, next to it for their slopes, and at looks for what depends on time, of
 * which there are up to 100 (CP_WATCH_PARTS), beside the three of a start. */
START_TEST(stops_that_are_far_away_cost_no_steps_and_no_evaluations) {
  const char *method = _i ? "RADAU" : "DOP853";
  sunrealtype steps[2], evaluations[2];
  for (int k = 0; k < 2; k++) {
    sunrealtype t = 0, t_end = 1;
    hang_chain(k);
    CPSession session = CPSessionCreate(method, test_context);
    if (k) act(CP_JOINT_COORDINATES);
    else {
      ck_assert_int_eq(CPBodiesSetFormulation(bodies, CP_JOINT_COORDINATES), CP_SUCCESS);
      ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
      y = CPBodiesState(bodies, test_context);
    }
    ck_assert_int_eq(k ? CPContactAttach(contact, session) : CPSessionSetMech(session, mech),
                     CP_SUCCESS);
    ck_assert_int_eq(CPSessionSetTolerances(session, 1e-6, 1e-6, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPSessionStart(session, 0, y, t_end), CP_SUCCESS);
    ck_assert_int_eq(CPSessionRun(session, t_end, y, &t), CP_SUCCESS);
    steps[k] = count(session, "steps"), evaluations[k] = count(session, "rhs_evals");
    if (k) ck_assert_double_le(count(session, "root_evals"), 2 * steps[k] + 100 + 3);
    CPSessionFree(&session);
    release();
  }
  ck_assert_double_eq(steps[0], steps[1]);
  ck_assert_double_eq(evaluations[0], evaluations[1]);
}
END_TEST

/* ---- only just touched ---- */

static int nstruck;

static int struck(const CPContactEvent *event, void *data) {
  (void)data;
  nstruck += event->struck;
  return 0;
}

/* A mass on a spring starts at its rest with the velocity omega A, and a stop at A (1 - part) returns it as it came: it comes
 * back after the time T = 2 asin(1 - part) / omega, and is at x = A sin(omega t) until then; the other way takes it half a period. If
 * part < 0 it does not reach the stop. An error of the amplitude changes x at the end by that error divided by sqrt(2 part), since T
 * does. */
START_TEST(a_stop_is_touched_where_the_turning_point_lies_beyond_it) {
  static const sunrealtype parts[] = {1e-2, 1e-3, 1e-4, -1e-4, -1e-3, -1e-2};
  const sunrealtype tol = pow(10, -4 - _i), m = 0.8, k = 30, omega = sqrt(k / m), A = 1;
  for (int n = 0; n < (int)(sizeof parts / sizeof *parts) * 3; n++) {
    const sunrealtype part = parts[n / 3];
    if (fabs(part) * A < 100 * tol) continue; /* The error of the turning point may decide. */
    const sunrealtype reach = part < 0 ? pi / 2 : asin(1 - part),
                      turn  = 2 * reach / omega + pi / omega;
    const CPBody body       = {CP_NEW_BODY("mass"), .mass = m, .inertia = {1, 1, 1}};
    const CPJoint slider    = {CP_NEW_JOINT("slider"), .kind = CP_JOINT_PRISMATIC, .b = "mass",
                               .on_a = {.axis = {1, 0, 0}}};
    const CPSpring spring   = {CP_NEW_SPRING("spring"), .of = {"slider", 0}, .stiffness = k};
    const CPLimit limit     = {CP_NEW_LIMIT("stop"), .of = {{"slider", 0}}, .lower = -INFINITY,
                               .upper = A * (1 - part), .restitution = 1};
    sunrealtype rate;
    bodies = CPBodiesCreate(2, NULL);
    add_element(bodies, &body.head);
    add_element(bodies, &slider.head);
    add_element(bodies, &spring.head);
    add_element(bodies, &limit.head);
    act(CP_JOINT_COORDINATES);
    ck_assert_int_eq(CPContactSetEventFn(contact, struck, NULL), CP_SUCCESS);
    entries(y)[1] = omega * A;
    nstruck       = 0;
    ck_assert_int_eq(run_with(methods[n % 3], tol, 3 * turn), CP_SUCCESS);
    const sunrealtype x = coordinate_of("slider", &rate);
    ck_assert_msg(nstruck == (part < 0 ? 0 : 3), "%d: %d impacts", n, nstruck);
    const sunrealtype bound = part < 0 ? 10 * tol : 10 * tol / sqrt(2 * part);
    ck_assert_msg(fabs(x) <= bound && fabs(rate / omega - A) <= 10 * tol, "%d: %g %g", n,
                  (double)(x / tol), (double)((rate / omega - A) / tol));
    release();
  }
}
END_TEST

/* ---- elastic ---- */

/* A mass m on a slider along x with a stop at `stop`, and the velocity v0 at x = 0 */
static void slide_to(int dimension, sunrealtype m, const CPLimit *limit) {
  const CPBody body    = {CP_NEW_BODY("mass"), .mass = m, .inertia = {1, 1, 1}};
  const CPJoint slider = {CP_NEW_JOINT("slider"), .kind = CP_JOINT_PRISMATIC, .b = "mass",
                          .on_a = {.axis = {1, 0, 0}}};
  bodies               = CPBodiesCreate(dimension, NULL);
  add_element(bodies, &body.head);
  add_element(bodies, &slider.head);
  add_element(bodies, &limit->head);
  ck_assert_int_eq(CPBodiesSetBalance(bodies), CP_SUCCESS);
}

/* s and s' at t of m s'' + d s' + k s = 0, s(0) = 0, s'(0) = v, as long as k s + d s' > 0, which is up to
 * T = atan2(2 b w, b^2 - w^2) / w, b = d / (2 m), w^2 = k / m - b^2; then it leaves with s'(T) (K. H. Hunt, F. R. E. Crossley, Journal
 * of Applied Mechanics 42, 1975). */
static sunrealtype pressed(sunrealtype t, sunrealtype m, sunrealtype k, sunrealtype d,
                           sunrealtype v, sunrealtype *rate) {
  const sunrealtype b = d / (2 * m), w = sqrt(k / m - b * b),
                    T = atan2(2 * b * w, b * b - w * w) / w, in = fmin(t, T),
                    decay = v * exp(-b * in);
  *rate                   = decay * (cos(w * in) - b / w * sin(w * in));
  return decay * sin(w * in) / w + (t - in) * *rate;
}

START_TEST(an_elastic_stop_pushes_until_its_force_is_zero) {
  const sunrealtype tol = pow(10, -4 - _i), m = 2, k = 300, v0 = 3, stop = 1.2, damping[] = {0, 9};
  const sunrealtype times[] = {0.5, 2}; /* within the contact, and after it */
  for (int n = 0; n < 48; n++) {
    const sunrealtype d = damping[n % 2], t = times[n / 2 % 2], left = t - stop / v0;
    const CPLimit limit = {CP_NEW_LIMIT("pad"), .of = {{"slider", 0}}, .lower = -9,
                           .upper = stop,       .stiffness = k,        .damping = d};
    sunrealtype rate, now, force[6];
    slide_to(2 + n / 4 % 2, m, &limit);
    act(n / 8 % 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
    const int nq                                         = (int)equations_of(mech).nq;
    entries(y)[nq > 0 ? nq : (int)equations_of(mech).nu] = v0;
    ck_assert_int_eq(run_with(methods[n / 16], tol, t), CP_SUCCESS);
    const sunrealtype x = coordinate_of("slider", &now), s = pressed(left, m, k, d, v0, &rate);
    ck_assert_msg(fabs(x - stop - s) <= 10 * tol && fabs(now - rate) <= 10 * sqrt(k / m) * tol,
                  "%d: %g %g", n, (double)((x - stop - s) / tol), (double)((now - rate) / tol));
    ck_assert_int_eq(phase_of(contact, 1), n / 2 % 2 ? CP_CONTACT_OPEN : CP_CONTACT_CLOSED);
    ck_assert_int_eq(CPContactEvaluate(contact, t, y, NULL, force, NULL, NULL), CP_SUCCESS);
    ck_assert_double_eq_tol(force[3], n / 2 % 2 ? 0 : k * s + d * rate, 20 * k * tol);
    /* kinetic energy, with the work of the stop in W */
    ck_assert_double_eq_tol(m * now * now / 2 - entries(y)[N_VGetLength(y) - 1], m * v0 * v0 / 2,
                            100 * tol);
    release();
  }
}
END_TEST

/* It also carries a load at rest, and a start may press it. */
START_TEST(a_start_may_press_an_elastic_stop) {
  const sunrealtype m = 2, k = 300, deep = 0.1, tol = 1e-8, T = pi / 2 / sqrt(k / m);
  for (int n = 0; n < 6; n++) {
    const CPLimit limit = {CP_NEW_LIMIT("pad"), .of = {{"slider", 0}}, .lower = deep,
                           .upper = INFINITY, .stiffness = k};
    sunrealtype rate;
    slide_to(2, m, &limit);
    act(n % 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
    ck_assert_int_eq(run_with(methods[n / 2], tol, T + 1), CP_SUCCESS);
    /* half of a swing about the stop, then free */
    ck_assert_double_eq_tol(coordinate_of("slider", &rate), deep + deep * sqrt(k / m), 20 * tol);
    ck_assert_double_eq_tol(rate, deep * sqrt(k / m), 20 * tol);
    release();
  }
}
END_TEST

START_TEST(elastic_stops_that_cannot_be_are_refused_by_name) {
  const struct {
    sunrealtype stiffness, damping, restitution;
    const char *message;
  } bad[] = {
      {-1, 0, 0, "knee: stiffness and damping must be finite and not negative, and are -1 and 0"},
      {0, 2, 0, "knee: damping needs a stiffness > 0, and is 2"},
      {5, 2, 0.5, "knee: restitution must be 0 with a stiffness, and is 0.5"}};
  const CPLimit good = {CP_NEW_LIMIT("pad"), .of = {{"slider", 0}}, .lower = -1, .upper = 1};
  slide_to(2, 1, &good);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const CPLimit limit = {CP_NEW_LIMIT("knee"),
                           .of          = {{"slider", 0}},
                           .lower       = 0,
                           .upper       = 1,
                           .restitution = bad[i].restitution,
                           .stiffness   = bad[i].stiffness,
                           .damping     = bad[i].damping};
    ck_assert_int_eq(CPBodiesAdd(bodies, &limit.head, NULL), CP_ILL_INPUT);
    ck_assert_str_eq(CPObjectGetLastMessage(CP_OBJECT(bodies)), bad[i].message);
  }
  CPBodiesFree(&bodies);
}
END_TEST

/* ---- derivatives through an elastic stop: x'' = 0 for a point that meets it with the velocity v ---- */

enum { STIFFNESS, DAMPING, SPEED, STOP, PARAMETERS };

static int unit_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *p) {
  (void)t, (void)q, (void)p;
  SM_ELEMENT_D(M, 0, 0) = 1;
  return 0;
}
static int gap_row(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *p) {
  (void)t, (void)q, (void)p;
  SM_ELEMENT_D(A, 0, 0) = -1;
  return 0;
}
static int no_force(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                    sunrealtype *f, void *p) {
  (void)t, (void)q, (void)u, (void)z, (void)f, (void)p;
  return 0;
}
static int gap_left(sunrealtype t, const sunrealtype *q, sunrealtype *gap, void *p) {
  (void)t;
  gap[0] = ((const sunrealtype *)p)[STOP] - q[0];
  return 0;
}
static int no_bias(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                   void *p) {
  (void)t, (void)q, (void)u, (void)b, (void)p;
  return 0;
}
static int law_of(int i, CPContactLaw *law, void *p) {
  (void)i;
  law->stiffness = ((const sunrealtype *)p)[STIFFNESS];
  law->damping   = ((const sunrealtype *)p)[DAMPING];
  return 0;
}
static const CPEquations point_model = {
    CP_SIZED(CPEquations), .nu = 1,       .np = 1,       .nv = 1,     .M = unit_mass,
    .A = gap_row,          .f = no_force, .p = gap_left, .b = no_bias};

static void pushed(const sunrealtype *p, sunrealtype t, sunrealtype *y2) {
  y2[0] = p[STOP] + pressed(t - p[STOP] / p[SPEED], 1, p[STIFFNESS], p[DAMPING], p[SPEED], &y2[1]);
}

/* The derivatives of the closed form are its differences of fourth order, whose error is about 1e-12. */
START_TEST(derivatives_pass_both_ends_of_an_elastic_contact) {
  const sunrealtype times[] = {0.5, 1};
  for (int n = 0; n < 4; n++) {
    sunrealtype p[PARAMETERS] = {150, 4, 3, 1.2}, t = times[n % 2];
    const CPContactPoint point = {CP_SIZED(CPContactPoint), .name = "pad", .normal = 0,
                                  .law = {.stiffness = p[STIFFNESS], .damping = p[DAMPING]}};
    Run *run    = run_create(&point_model, p, 1, &point, (sunrealtype[]){0, p[SPEED]});
    N_Vector *S = N_VCloneVectorArray(PARAMETERS, run->y);
    for (int i = 0; i < PARAMETERS; i++) N_VConst(0.0, S[i]);
    entries(S[SPEED])[1]          = 1;
    const CPParameters parameters = {CP_SIZED(CPParameters), .n = PARAMETERS, .values = p, .y0S = S};
    ck_assert_int_eq(CPContactSetLawFn(run->contact, law_of, p), CP_SUCCESS);
    run_differentiate(run, &parameters);
    ck_assert_int_eq(run_attach(run, n / 2 ? RADAU : DOP853, 1e-10), CP_SUCCESS);
    run_to(run, t);
    ck_assert_int_eq(phase_of(run->contact, 0), n % 2 ? CP_CONTACT_OPEN : CP_CONTACT_CLOSED);
    run_sensitivities(run, S);
    for (int i = 0; i < PARAMETERS; i++) {
      sunrealtype want[2]    = {0, 0}, y2[2];
      const sunrealtype kept = p[i], h = 1e-3 * kept, weight[] = {1, -8, 8, -1};
      for (int k = 0; k < 4; k++) {
        p[i] = kept + (k < 2 ? k - 2 : k - 1) * h;
        pushed(p, t, y2);
        for (int j = 0; j < 2; j++) want[j] += weight[k] * y2[j] / (12 * h);
      }
      p[i] = kept;
      for (int j = 0; j < 2; j++)
        ck_assert_msg(fabs(entries(S[i])[j] - want[j]) <= 1e-7 * (1 + fabs(want[j])),
                      "%d: dy_%d/dp_%d = %g, not %g", n, j, i, (double)entries(S[i])[j],
                      (double)want[j]);
    }
    N_VDestroyVectorArray(S, PARAMETERS);
    run_free(&run);
  }
}
END_TEST

/* ---- work of drives at impacts ---- */

/* An arm that a drive turns at 3 rad/s, and a rod at its end with a stop, by the formulation and the restitution */
static void drive_arm(CPFormulation formulation, sunrealtype restitution) {
  const CPBody arm    = {CP_NEW_BODY("arm"), .mass = 2, .inertia = {0.1, 0.1, 0.1},
                         .centre = {0.25, 0, 0}, .omega = {0, 0, 3}},
               rod    = {CP_NEW_BODY("rod"),
                         .mass     = 1,
                         .inertia  = {0.05, 0.05, 0.05},
                         .position = {0.5, 0, 0},
                         .centre   = {0.3, 0, 0},
                         .velocity = {0, 1.5, 0},
                         .omega    = {0, 0, 1}};
  const CPJoint hub   = {CP_NEW_JOINT("hub"), .kind = CP_JOINT_REVOLUTE, .b = "arm"},
                elbow = {CP_NEW_JOINT("elbow"), .kind = CP_JOINT_REVOLUTE, .a = "arm", .b = "rod",
                         .on_a = {.point = {0.5, 0, 0}}};
  const CPDrive drive = {CP_NEW_DRIVE("motor"), .of = {"hub", 0}, .rate = 3};
  const CPLimit limit = {CP_NEW_LIMIT("stop"), .of = {{"elbow", 0}}, .lower = -0.4, .upper = 0.3,
                         .restitution = restitution};
  bodies              = CPBodiesCreate(2, (sunrealtype[]){0, -SUN_RCONST(9.81), 0});
  add_element(bodies, &arm.head), add_element(bodies, &rod.head);
  add_element(bodies, &hub.head), add_element(bodies, &elbow.head);
  add_element(bodies, &drive.head), add_element(bodies, &limit.head);
  ck_assert_int_eq(CPBodiesSetBalance(bodies), CP_SUCCESS);
  act(formulation);
}

/* T + V - W */
static sunrealtype balance(sunrealtype t) {
  CPPowers p = CP_INIT(CPPowers);
  ck_assert_int_eq(CPMechGetPowers(mech, t, y, NULL, &p), CP_SUCCESS);
  return p.kinetic + p.potential - entries(y)[N_VGetLength(y) - 1];
}

static sunrealtype lost; /* by impacts, P (v- + v+) / 2 */

static int loses(const CPContactEvent *event, void *data) {
  (void)data;
  nstruck += event->struck;
  lost -= event->impulse[0] * (event->velocity[0][0] + event->velocity[1][0]) / 2;
  return 0;
}

/* A drive goes on through an impact, which takes an impulse of it and so work, Lambda g'. The rest of the balance changes by what
 * the stop takes, and by nothing where it takes nothing. */
START_TEST(impacts_leave_the_balance_of_what_is_driven) {
  static const sunrealtype restitution[] = {1, 0.6, 0};
  const sunrealtype tol = pow(10, -4 - _i), size = 10; /* J that are exchanged */
  for (int n = 0; n < 18; n++) {
    drive_arm(n % 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE, restitution[n / 2 % 3]);
    ck_assert_int_eq(CPContactSetEventFn(contact, loses, NULL), CP_SUCCESS);
    nstruck = 0, lost = 0;
    const sunrealtype before = balance(0);
    ck_assert_int_eq(run_with(methods[n / 6], tol, 2), CP_SUCCESS);
    ck_assert_int_ge(nstruck, 2);
    ck_assert_msg(fabs(balance(2) + lost - before) <= 100 * tol * size,
                  "%d: %g after %d impacts, lost %g", n,
                  (double)((balance(2) + lost - before) / (tol * size)), nstruck, (double)lost);
    if (n / 2 % 3 == 0) ck_assert_double_eq_tol(lost, 0, 1e-12);
    else ck_assert_double_gt(lost, 0.01);
    release();
  }
}
END_TEST

/* The same of CPMechImpact at one state: T - W changes by -Lambda (v- + v+) / 2 of the stop. */
START_TEST(an_impact_adds_the_work_of_a_drive) {
  for (int n = 0; n < 4; n++) {
    const sunrealtype e = n / 2 ? 0.6 : 1;
    sunrealtype impulse[32], rate;
    int named[32] = {0};
    drive_arm(n % 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE, e);
    const int stop = (int)thing_at(bodies, CP_CONTACT, 0).first;
    ck_assert_int_le((int)CPMechGetNumMultipliers(mech), 32);
    named[stop] = 1;
    coordinate_of("elbow", &rate);
    const sunrealtype before = balance(0), W = entries(y)[N_VGetLength(y) - 1];
    ck_assert_msg(CPMechImpact(mech, 0, y, named, e, impulse) == CP_SUCCESS, "%s",
                  CPObjectGetLastMessage(CP_OBJECT(mech)));
    /* the rate of the stop's gap is that of the angle, of which it is the lower or the upper end */
    const sunrealtype P = fabs(impulse[stop]), loss = P * fabs(rate) * (1 - e) / 2;
    ck_assert_double_eq_tol(balance(0), before - loss, 1e-12);
    ck_assert_double_gt(fabs(entries(y)[N_VGetLength(y) - 1] - W), 0.1);
    release();
  }
}
END_TEST

TEST_SUITE(stops) {
  Suite *suite = suite_create("contact/stops");
  TCase *tc    = tcase_create("stops");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, stops_that_are_far_away_cost_no_steps_and_no_evaluations, 0, 2);
  tcase_add_loop_test(tc, a_stop_is_touched_where_the_turning_point_lies_beyond_it, 0, 6);
  tcase_add_loop_test(tc, an_elastic_stop_pushes_until_its_force_is_zero, 0, 6);
  tcase_add_test(tc, a_start_may_press_an_elastic_stop);
  tcase_add_test(tc, derivatives_pass_both_ends_of_an_elastic_contact);
  tcase_add_test(tc, elastic_stops_that_cannot_be_are_refused_by_name);
  tcase_add_loop_test(tc, impacts_leave_the_balance_of_what_is_driven, 0, 4);
  tcase_add_test(tc, an_impact_adds_the_work_of_a_drive);
  suite_add_tcase(suite, tc);
  return suite;
}
