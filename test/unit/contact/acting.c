/* Mechanisms in which something comes to rest, breaks or is cut, against references that do not come from cpodes. */
#include "acting.h"

static const sunrealtype g = SUN_RCONST(9.81);

/* One method of each kind */
static const char *const kinds[] = {"DOP853", "RADAU", "BDF", "Adams"};

/* ---- a pendulum with dry friction ---- */

/* (J + m l^2) theta'' = -m g l sin theta - F sign(theta') from 60 degrees comes to rest after 16 half swings. The turning points are
 * roots of the energy, m g l (cos theta - cos theta_0) = F |theta - theta_0|, and the times integrals of d theta / theta' between them
 * (scipy 1.17.1: brentq, and quad with theta = c - h cos a); solve_ivp's DOP853 at 1e-13 agrees to 2e-11. */
START_TEST(a_pendulum_with_dry_friction_comes_to_rest) {
  const sunrealtype tol = pow(10, -4 - _i), t = SUN_RCONST(16.49920087049),
                    angle = SUN_RCONST(0.00674708985786), third = SUN_RCONST(1.0471975511965976);
  for (int n = 0; n < 6; n++) {
    sunrealtype t_rest        = 0;
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
    ck_assert_int_eq(CPContactSetEventFn(contact, takes_rest, &t_rest), CP_SUCCESS);
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
  sunrealtype t, y[16];
} Pin;

static int breaks(CPSession session, const CPEvent *event, N_Vector state, void *data) {
  Pin *pin = data;
  (void)session;
  ck_assert_str_eq(event->name, "pin released");
  ck_assert(event->is_named && event->restarted);
  pin->t = event->t;
  memcpy(pin->y, entries(state), (size_t)N_VGetLength(state) * sizeof *pin->y);
  return 0;
}

/* Starts a session of mech, which brings its event sources. */
static CPSession start_of(const char *method, sunrealtype tol, sunrealtype t_end) {
  CPSession session = CPSessionCreate(method, test_context);
  ck_assert_int_eq(CPSessionSetMech(session, mech), CP_SUCCESS);
  ck_assert_int_eq(CPSessionSetTolerances(session, tol, tol, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionStart(session, 0, y, t_end), CP_SUCCESS);
  return session;
}

/* A rod of mass m hangs on a pin at one end, at the distance l from its centre, which breaks at a load or at a time. */
static void hang_rod(CPFormulation formulation, sunrealtype m, sunrealtype l, sunrealtype load,
                     sunrealtype at) {
  const CPBody rod = {CP_NEW_BODY("rod"), .mass = m, .inertia = {0, 0, m / 12}, .centre = {l, 0, 0}};
  const CPJoint hold   = {CP_NEW_JOINT("pin"), .kind = CP_JOINT_REVOLUTE, .b = "rod"};
  const CPRelease snap = {CP_NEW_RELEASE("snap"), .joint = "pin", .load = load, .at = at};
  bodies               = CPBodiesCreate(2, (sunrealtype[]){0, -g, 0});
  add_element(bodies, &rod.head);
  add_element(bodies, &hold.head);
  add_element(bodies, &snap.head);
  ck_assert_int_eq(CPBodiesSetFormulation(bodies, formulation), CP_SUCCESS);
}

/* A rod falls from the horizontal about a pin. At the angle x below it, with I = J + m l^2, omega^2 = 2 m g l sin x / I, and the
 * force on the pin is m g (1 + 2 m l^2 / I) sin x along the rod and m g (1 - m l^2 / I) cos x across it. The pin breaks at 1.8 m g, where
 * x = 0.79894, at t = integral of dx / omega (scipy 1.17.1: quad with x = v^2); then the rod flies freely. */
START_TEST(a_pin_breaks_at_its_load) {
  const sunrealtype tol = pow(10, -4 - _i), m = 2, l = 0.5, t_end = 1,
                    t_break = SUN_RCONST(0.33312902505489), x = SUN_RCONST(0.79893517064835),
                    omega = SUN_RCONST(4.59237895276600);
  for (int n = 0; n < 6; n++) {
    Pin pin = {0};
    sunrealtype t;
    hang_rod(n % 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE, m, l, 1.8 * m * g, 0);
    ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
    y                 = CPBodiesState(bodies, test_context);
    CPSession session = start_of(methods[n / 2], tol, t_end);
    ck_assert_int_eq(CPSessionSetEventFn(session, breaks, &pin), CP_SUCCESS);
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
    release();
  }
}
END_TEST

static int place_at_end(sunrealtype t, N_Vector state, sunrealtype *values, void *data) {
  const sunrealtype *q = entries(state);
  (void)t, (void)data;
  values[0] = q[0], values[1] = q[1], values[2] = q[2], values[3] = 0;
  return 0;
}
static int angle_alone(sunrealtype t, N_Vector state, sunrealtype *values, void *data) {
  (void)t, (void)data;
  values[0] = values[1] = values[2] = 0, values[3] = entries(state)[2];
  return 0;
}

/* The same pin with respect to its load F = m g sqrt(k^2 sin^2 x + (3 - k)^2 cos^2 x / 4), k = 1 + 2 m l^2 / I, which determines x: since dt =
 * dx / omega, with s = t_end - t and omega' = d omega / dx
 *
 *   d(q)/dx = -((omega' sin x + omega cos x) l s, (omega' cos x - omega sin x) l s - g s / omega, omega' s),
 *
 * and the integral of the angle changes by -omega' s^2 / 2. The time of a release at a given time may be a parameter, too, with the
 * same derivatives over omega. Loop index: the way, and load or time */
START_TEST(gradients_pass_releases) {
  const sunrealtype m = 2, l = 0.5, J = m / 12, t_end = 1, I = J + m * l * l,
                    t_break = SUN_RCONST(0.33312902505489), x = SUN_RCONST(0.79893517064835),
                    omega = SUN_RCONST(4.59237895276600), rise = m * g * l * cos(x) / (I * omega),
                    k = 1 + 2 * m * l * l / I, F = SUN_RCONST(1.8) * m * g, s = t_end - t_break;
  const sunrealtype slope =
      m * g * m * g * (k * k - (3 - k) * (3 - k) / 4) * sin(x) * cos(x) / F; /* dF/dx */
  const sunrealtype by_x[] = {-(rise * sin(x) + omega * cos(x)) * l * s,
                              -(rise * cos(x) - omega * sin(x)) * l * s + g * s / omega, -rise * s,
                              -rise * s * s / 2};
  const int timed          = _i / 2;
  for (int n = 0; n < 6; n++) {
    const CPFunctional G = {CP_SIZED(CPFunctional), .ng = 4, .end = place_at_end,
                            .integrand = angle_alone};
    sunrealtype values[4], dG[4], *parameters;
    int which;
    hang_rod(n % 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE, m, l, timed ? 0 : F, timed ? t_break : 0);
    ck_assert_int_eq(CPBodiesFind(bodies, CP_PARAMETER, timed ? "snap.at" : "snap.load", &which),
                     CP_SUCCESS);
    ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
    ck_assert_int_eq(CPMechGetParameters(mech, &parameters, NULL), CP_SUCCESS);
    y                     = CPBodiesState(bodies, test_context);
    CPSession session     = start_of(methods[n / 2], 1e-10, t_end);
    const CPParameters by = {CP_SIZED(CPParameters), .n = 1, .values = parameters, .plist = &which};
    const int flag =
        CPSessionGradient(session, t_end, &G, &by,
                          &(CPGradientOptions){CP_SIZED(CPGradientOptions),
                                               .mode = (CPGradientMode)(_i % 2), .reltol = 1e-10},
                          values, dG, NULL);
    ck_assert_msg(!flag, "%d: %s", n, CPObjectGetLastMessage(CP_OBJECT(session)));
    for (int j = 0; j < 4; j++) {
      const sunrealtype exact = by_x[j] * (timed ? omega : 1 / slope);
      ck_assert_msg(fabs(dG[j] - exact) <= 1e-8 * fmax(1, fabs(exact)),
                    "%d: value %d: %.12g for %.12g", n, j, dG[j], exact);
    }
    CPSessionFree(&session);
    release();
  }
}
END_TEST

/* Evaluations of the mass matrix of a chain of six rods, some of whose pins would break at a load that is not reached */
static sunrealtype evaluations(int releases) {
  sunrealtype t, count = 0;
  bodies = CPBodiesCreate(2, (sunrealtype[]){0, -SUN_RCONST(9.81), 0});
  for (int i = 0; i < 6; i++) {
    char rod[20], before[20], pin[20], snap[20];
    snprintf(rod, sizeof rod, "rod%d", i), snprintf(before, sizeof before, "rod%d", i - 1);
    snprintf(pin, sizeof pin, "pin%d", i), snprintf(snap, sizeof snap, "snap%d", i);
    const CPBody body   = {CP_NEW_BODY(rod), .mass = 1, .inertia = {0, 0, 0.1},
                           .position = {i + SUN_RCONST(0.5), 0, 0}};
    const CPJoint joint = {CP_NEW_JOINT(pin), .kind = CP_JOINT_REVOLUTE, .a = i ? before : NULL,
                           .b = rod, .on_a = {.point = {i, 0, 0}}};
    const CPRelease breaks_at = {CP_NEW_RELEASE(snap), .joint = pin, .load = 1e6};
    add_element(bodies, &body.head), add_element(bodies, &joint.head);
    if (i < releases) add_element(bodies, &breaks_at.head);
  }
  y                 = build_as(bodies, CP_ABSOLUTE, &mech);
  CPSession session = start_of("DOP853", 1e-6, 1);
  ck_assert_int_eq(CPSessionRun(session, 1, y, &t), CP_SUCCESS);
  ck_assert_int_eq(CPObjectGetStat(CP_OBJECT(mech), "mass_evals", &count), CP_SUCCESS);
  CPSessionFree(&session);
  release();
  return count;
}

START_TEST(loads_on_many_pins_are_those_of_the_same_accelerations) {
  ck_assert_double_le(evaluations(6), 1.1 * evaluations(1));
}
END_TEST

/* ---- a controller with a delay ---- */

static int angle_of(sunrealtype t, N_Vector state, sunrealtype *value, void *data) {
  (void)t, (void)data;
  *value = entries(state)[0];
  return 0;
}

/* J x'' = the motor's torque, which is that of a PD controller two samples ago: exactly, from sample to sample. Each run begins with the
 * control as it was before, also after another run, and an integrator, which knows nothing of it, refuses derivatives. */
START_TEST(a_session_brings_the_controllers_of_its_mechanism) {
  static const char text[] =
      "dimension: 2\nrun: {coordinates: joint}\nbodies: [{name: rod, mass: 1, inertia: 0.1}]\n"
      "joints: [{name: hinge, kind: revolute, b: rod}]\n"
      "actuators: [{name: motor, of: hinge, gain: [1, 0, 0], control: 0.05}]\n"
      "controllers: [{name: hold, of: motor, every: 10 ms, delay: 20 ms,\n"
      "               control: \"-4*(hinge.angle/(1 rad) - 1) - 0.8*hinge.rate/(1 rad/s)\"}]\n";
  const sunrealtype h = SUN_RCONST(0.01), J = SUN_RCONST(0.1);
  sunrealtype held[102] = {0.05, 0.05}, x = 0, v = 0, t, value, dvalue;
  for (int k = 0; k < 100; k++) {
    held[k + 2]         = -4 * (x - 1) - 0.8 * v;
    const sunrealtype a = held[k] / J;
    x += h * v + h * h / 2 * a, v += h * a;
  }
  ck_assert_int_eq(CPBodiesRead("loop.yaml", text, sizeof text - 1, &bodies, NULL), CP_SUCCESS);
  ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
  for (int run = 0; run < 2; run++) {
    y                 = CPBodiesState(bodies, test_context);
    CPSession session = start_of("DOP853", 1e-10, 1);
    ck_assert_int_eq(CPSessionRun(session, 1, y, &t), CP_SUCCESS);
    ck_assert_double_eq_tol(entries(y)[0], x, 1e-9);
    ck_assert_double_eq_tol(entries(y)[1], v, 1e-9);
    ck_assert_int_eq(CPSessionSetMech(session, NULL), CP_TOO_LATE);
    CPSessionFree(&session);
    N_VDestroy(y);
  }
  y                       = CPBodiesState(bodies, test_context);
  CPIntegrator mem        = CPIntegratorCreate("DOP853", test_context);
  sunrealtype *parameters = NULL;
  ck_assert_int_eq(CPMechGetParameters(mech, &parameters, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-8, 1e-8), CP_SUCCESS);
  const CPParameters p = {CP_SIZED(CPParameters), .n = 1, .values = parameters, .plist = (int[]){3}};
  const CPFunctional F = {CP_SIZED(CPFunctional), .ng = 1, .end = angle_of};
  ck_assert_int_eq(CPIntegratorGradient(mem, 1, &F, &p, NULL, &value, &dvalue, NULL),
                   CP_NOT_SUPPORTED);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mem)),
                     "derivatives pass samples in CPSessionGradient");
  CPIntegratorFree(&mem);
  release();
}
END_TEST

/* The rod above under a PD controller, whose angle after a second depends on p = (inertia, gains, control at the start). x: out, angle and
 * rate at 0.5 s and at 1 s */
static void hinge(const sunrealtype *p, int late, sunrealtype *x) {
  const sunrealtype h   = SUN_RCONST(0.01);
  sunrealtype held[102] = {p[3], p[3]}, angle = 0, rate = 0;
  for (int k = 0; k < 100; k++) {
    held[k + late]      = -p[1] * (angle - 1) - p[2] * rate;
    const sunrealtype a = held[k] / p[0];
    angle += h * rate + h * h / 2 * a, rate += h * a;
    if (k == 49) x[0] = angle, x[1] = rate;
  }
  x[2] = angle, x[3] = rate;
}

static int angle_and_rate(sunrealtype t, N_Vector state, sunrealtype *values, void *places) {
  const int *at = places;
  (void)t;
  values[0] = entries(state)[at[0]], values[1] = entries(state)[at[1]];
  return 0;
}

/* Sums over two times, by all methods, forward and adjoint, against differences of the solution from sample to sample. Loop index: the
 * delay in samples, and the way. */
START_TEST(gradients_pass_the_samples_of_controllers) {
  static const char text[] =
      "dimension: 2\nrun: {coordinates: %s}\nparameters: {J: 0.1, kp: 4, kd: 0.8}\n"
      "bodies: [{name: rod, mass: 1, inertia: J}]\n"
      "joints: [{name: hinge, kind: revolute, b: rod}]\n"
      "actuators: [{name: motor, of: hinge, gain: [1, 0, 0], control: 0.05}]\n"
      "controllers: [{name: hold, of: motor, every: 10 ms, delay: %d ms,\n"
      "               control: \"-kp*(hinge.angle/(1 rad) - 1) - kd*hinge.rate/(1 rad/s)\"}]\n";
  static const char *const names[] = {"J", "kp", "kd", "motor.control"};
  const sunrealtype times[]        = {0.5, 1};
  const int late = _i % 2 * 2, forward = _i / 2;
  for (int n = 0; n < (int)(sizeof methods / sizeof *methods) * 2; n++) {
    sunrealtype p[] = {0.1, 4, 0.8, 0.05}, x[4], G[2], dG[8], *values;
    int plist[4], joint[] = {0, 1}, absolute[] = {2, 5};
    char filled[900];
    CPBodiesFile file = {CP_SIZED(CPBodiesFile), .named = "J kp kd"};
    const int length =
        snprintf(filled, sizeof filled, text, n % 2 ? "joint" : "absolute", 10 * late);
    ck_assert_int_eq(CPBodiesRead("loop.yaml", filled, (size_t)length, &bodies, &file), CP_SUCCESS);
    for (int i = 0; i < 4; i++)
      ck_assert_msg(!CPBodiesFind(bodies, CP_PARAMETER, names[i], &plist[i]), "%s", names[i]);
    ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
    ck_assert_int_eq(CPMechGetParameters(mech, &values, NULL), CP_SUCCESS);
    y                     = CPBodiesState(bodies, test_context);
    CPSession session     = start_of(methods[n / 2], 1e-10, 1);
    const CPFunctional F  = {CP_SIZED(CPFunctional), .ng = 2,
                             .end = angle_and_rate,  .user_data = n % 2 ? joint : absolute,
                             .times = times,         .ntimes = 2};
    const CPParameters by = {CP_SIZED(CPParameters), .n = 4, .values = values, .plist = plist};
    const int flag =
        CPSessionGradient(session, 1, &F, &by,
                          &(CPGradientOptions){CP_SIZED(CPGradientOptions),
                                               .mode = (CPGradientMode)forward, .reltol = 1e-10},
                          G, dG, NULL);
    ck_assert_msg(!flag, "%d: %s", n, CPObjectGetLastMessage(CP_OBJECT(session)));
    for (int i = 0; i < 4; i++) {
      sunrealtype d[2] = {0};
      for (int k = -3; k <= 3; k++) {
        const sunrealtype kept = p[i], e = 1e-2 * kept;
        p[i] = kept + k * e;
        hinge(p, late, x);
        p[i] = kept;
        for (int j = 0; j < 2; j++) d[j] += sixth_order(k) / e * (x[j] + x[2 + j]);
      }
      for (int j = 0; j < 2; j++)
        ck_assert_msg(fabs(dG[4 * j + i] - d[j]) <= 1e-8 * fmax(1, fabs(d[j])),
                      "%d: %s of value %d: %.12g for %.12g", n, names[i], j, dG[4 * j + i], d[j]);
    }
    for (int i = 0; i < 4; i++) ck_assert_double_eq(values[plist[i]], p[i]);
    CPSessionFree(&session);
    release();
  }
}
END_TEST

/* The angle at 0.5 s of the rod under the controller without delay, which bounces off a stop. p = (inertia, stop, restitution) */
static sunrealtype bouncing(const sunrealtype *p) {
  const sunrealtype h = SUN_RCONST(0.01);
  sunrealtype angle = 0, rate = 0;
  for (int k = 0; k < 50; k++) {
    const sunrealtype a = (-4 * (angle - 1) - SUN_RCONST(0.8) * rate) / p[0];
    for (sunrealtype left = h; left > 0;) {
      const sunrealtype root = sqrt(fmax(0, rate * rate + 2 * a * (p[1] - angle))),
                        hit  = 2 * (p[1] - angle) / (rate + root),
                        s    = rate + root > 0 && root > 0 && hit > 0 && hit < left ? hit : left;
      angle += s * rate + s * s / 2 * a, rate += s * a;
      if (s == hit) angle = p[1], rate *= -p[2];
      left -= s;
    }
  }
  return angle;
}

/* A mechanism whose only coordinate has a closed form at t_end, as a function of three parameters */
typedef struct {
  const char *text, *names[3];
  sunrealtype p[3], t_end, (*closed_form)(const sunrealtype *p);
  int place[2];      /* that of the coordinate in absolute and in joint coordinates */
  const char *named; /* parameters of the text that are parameters of the mechanism, or NULL */
} Closed;

static int component(sunrealtype t, N_Vector state, sunrealtype *value, void *place) {
  (void)t;
  *value = entries(state)[*(const int *)place];
  return 0;
}

/* The gradient by all methods, against differences of the closed form */
static void check_gradient(const Closed *c, CPGradientMode mode) {
  for (int n = 0; n < 6; n++) {
    sunrealtype p[] = {c->p[0], c->p[1], c->p[2]}, G, dG[3], *values;
    int plist[3], place = c->place[n % 2];
    CPBodiesFile file = {CP_SIZED(CPBodiesFile), .named = c->named};
    ck_assert_int_eq(CPBodiesRead("stop.yaml", c->text, strlen(c->text), &bodies, &file),
                     CP_SUCCESS);
    for (int i = 0; i < 3; i++)
      ck_assert_msg(!CPBodiesFind(bodies, CP_PARAMETER, c->names[i], &plist[i]), "%s", c->names[i]);
    act(n % 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
    ck_assert_int_eq(CPMechGetParameters(mech, &values, NULL), CP_SUCCESS);
    CPSession session = CPSessionCreate(methods[n / 2], test_context);
    ck_assert_int_eq(CPContactAttach(contact, session), CP_SUCCESS);
    ck_assert_int_eq(CPSessionSetTolerances(session, 1e-10, 1e-10, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPSessionStart(session, 0, y, c->t_end), CP_SUCCESS);
    const CPFunctional F = {CP_SIZED(CPFunctional), .ng = 1, .end = component, .user_data = &place};
    const CPParameters by = {CP_SIZED(CPParameters), .n = 3, .values = values, .plist = plist};
    const CPGradientOptions options = {CP_SIZED(CPGradientOptions), .mode = mode, .reltol = 1e-10};
    const int flag = CPSessionGradient(session, c->t_end, &F, &by, &options, &G, dG, NULL);
    ck_assert_msg(!flag, "%d: %s", n, CPObjectGetLastMessage(CP_OBJECT(session)));
    ck_assert_double_eq_tol(G, c->closed_form(p), 1e-8);
    for (int i = 0; i < 3; i++) {
      const sunrealtype kept = p[i], e = SUN_RCONST(1e-3) * kept;
      sunrealtype d = 0;
      for (int k = -3; k <= 3; k++) {
        p[i] = kept + k * e;
        d += sixth_order(k) / e * c->closed_form(p);
      }
      p[i] = kept;
      ck_assert_msg(fabs(dG[i] - d) <= 1e-7 * fmax(1, fabs(d)), "%d: %s: %.12g for %.12g", n,
                    c->names[i], dG[i], d);
    }
    CPSessionFree(&session);
    release();
  }
}

/* Four bounces among 51 samples. Loop index: the way */
START_TEST(gradients_pass_contacts_and_samples_together) {
  static const char text[] =
      "dimension: 2\nbodies: [{name: rod, mass: 1, inertia: 0.1}]\n"
      "joints: [{name: hinge, kind: revolute, b: rod}]\n"
      "actuators: [{name: motor, of: hinge, gain: [1, 0, 0]}]\n"
      "limits: [{name: stop, of: hinge, upper: 0.5, restitution: 0.6}]\n"
      "controllers: [{name: hold, of: motor, every: 10 ms,\n"
      "               control: \"-4*(hinge.angle/(1 rad) - 1) - 0.8*hinge.rate/(1 rad/s)\"}]\n";
  static const Closed rod = {
      text, {"rod.J_zz", "stop.upper", "stop.restitution"}, {0.1, 0.5, 0.6}, 0.5, bouncing, {2, 0},
      NULL};
  check_gradient(&rod, (CPGradientMode)_i);
}
END_TEST

/* The position at 1.2 s of a slider of mass p[0], under 3 N - 1 N sign(v), that bounces off a stop at p[1] with the restitution p[2]: the
 * force jumps with the velocity at each impact, and at each turn. */
static sunrealtype rubbing(const sunrealtype *p) {
  sunrealtype x = 0, v = 0, left = SUN_RCONST(1.2);
  while (left > 0) {
    const sunrealtype a = (v < 0 ? 4 : 2) / p[0], turn = v < 0 ? -v / a : INFINITY,
                      hit = v < 0 ? INFINITY
                                  : 2 * (p[1] - x) / (v + sqrt(v * v + 2 * a * (p[1] - x))),
                      s   = fmin(left, fmin(turn, hit));
    x += s * v + s * s / 2 * a, v += s * a, left -= s;
    if (s == turn) v = 0;
    if (s == hit) x = p[1], v *= -p[2];
  }
  return x;
}

/* The same with half of p[2] */
static sunrealtype rubbing_by_half(const sunrealtype *p) {
  return rubbing((const sunrealtype[]){p[0], p[1], p[2] / 2});
}

/* Loop index: the way */
START_TEST(gradients_pass_contacts_that_change_the_pieces_of_forces) {
  static const char text[]   = "dimension: 2\nbodies: [{name: b, mass: 1.5, inertia: 0.1}]\n"
                               "joints: [{name: s, kind: prismatic, b: b, axis: [1, 0]}]\n"
                               "springs: [{name: f, of: s, force: 3 N - 1 N*sign(v)}]\n"
                               "limits: [{name: stop, of: s, upper: 0.3, restitution: 0.7}]\n";
  static const Closed slider = {
      text, {"b.mass", "stop.upper", "stop.restitution"}, {1.5, 0.3, 0.7}, 1.2, rubbing, {0, 0},
      NULL};
  check_gradient(&slider, (CPGradientMode)_i);
}
END_TEST

/* The law of a contact follows parameters of a file where it is differentiated. */
START_TEST(gradients_pass_contacts_whose_laws_follow_a_file) {
  static const char text[]   = "dimension: 2\nparameters: {M: 1.5, at: 0.3, e: 1.4}\n"
                               "bodies: [{name: b, mass: M, inertia: 0.1}]\n"
                               "joints: [{name: s, kind: prismatic, b: b, axis: [1, 0]}]\n"
                               "springs: [{name: f, of: s, force: 3 N - 1 N*sign(v)}]\n"
                               "limits: [{name: stop, of: s, upper: at, restitution: e/2}]\n";
  static const Closed slider = {text,   {"M", "at", "e"}, {1.5, 0.3, 1.4}, 1.2, rubbing_by_half,
                                {0, 0}, "M at e"};
  check_gradient(&slider, (CPGradientMode)_i);
}
END_TEST

/* ---- latches ---- */

static sunrealtype t_named[2];
static int nnamed;

static int note_name(CPSession session, const CPEvent *event, N_Vector state, void *names) {
  (void)session, (void)state;
  ck_assert_str_eq(event->name, ((const char *const *)names)[nnamed]);
  t_named[nnamed++] = event->t;
  return 0;
}

/* Reads the mechanism, and runs it to t_end, twice in one session: it begins open each time. */
static void run_named(const char *text, const char *coordinates, const char *method,
                      sunrealtype tol, sunrealtype t_end, const char *const *names) {
  CPBodiesFile file = {CP_SIZED(CPBodiesFile)};
  sunrealtype t;
  ck_assert_msg(!CPBodiesRead("latch.yaml", text, strlen(text), &bodies, &file), "%s",
                CPObjectGetLastMessage(NULL));
  ck_assert_int_eq(CPBodiesSetFormulation(bodies, !strcmp(coordinates, "joint")), CP_SUCCESS);
  ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
  y              = CPBodiesState(bodies, test_context);
  N_Vector start = N_VClone(y);
  ck_assert_int_eq(CPMechAssemble(mech, 0, y, NULL), CP_SUCCESS); /* it does not close the joint */
  N_VScale(1, y, start);
  CPSession session = start_of(method, tol, t_end);
  ck_assert_int_eq(CPSessionSetEventFn(session, note_name, (void *)names), CP_SUCCESS);
  for (int run = 0; run < 2; run++) {
    nnamed = 0;
    N_VScale(1, start, y);
    ck_assert_int_eq(CPSessionStart(session, 0, y, t_end), CP_SUCCESS);
    ck_assert_msg(!CPSessionRun(session, t_end, y, &t), "%s",
                  CPObjectGetLastMessage(CP_OBJECT(session)));
  }
  CPSessionFree(&session);
  N_VDestroy(start);
}

static void point_of(const char *name, sunrealtype *x) {
  ck_assert_int_eq(
      body_point(mech, thing_named(bodies, CP_BODY, name), (sunrealtype[3]){0}, y, x, NULL),
      CP_SUCCESS);
}

/* A tug of 2 kg with 3 m/s meets a barge of 1 kg at rest, at d = (1, 0.4) from it, and holds it. Momentum is conserved, as is angular
 * momentum about the common centre, mu d x v = (J + mu d^2) omega with mu = 2/3 kg; then both turn about it. */
START_TEST(what_docks_keeps_its_momentum) {
  static const char *const names[] = {"dock closed"};
  const sunrealtype tol = 1e-9, t0 = 1 / SUN_RCONST(6.0), t_end = 1, mu = 2 / SUN_RCONST(3.0),
                    J = SUN_RCONST(0.5) + mu * SUN_RCONST(1.16), omega = mu * SUN_RCONST(1.2) / J,
                    angle = omega * (t_end - t0);
  char text[1000];
  for (int n = 0; n < 12; n++) {
    const int space = n % 2;
    sunrealtype x[3];
    snprintf(
        text, sizeof text,
        "dimension: %d\nrun: {balance: true}\nbodies:\n"
        "- {name: tug, mass: 2, inertia: %s, velocity: [3, 0%s]}\n"
        "- {name: barge, mass: 1, inertia: %s, at: [1.5, 0.4%s]}\n"
        "joints: [{name: dock, kind: fixed, a: tug, b: barge, at: [9, 8%s]}]\n"
        "latches: [{name: grip, joint: dock, when: 1 m - (barge.position.x - tug.position.x)}]\n",
        2 + space, space ? "[0.3, 0.3, 0.3]" : "0.3", space ? ", 0" : "",
        space ? "[0.2, 0.2, 0.2]" : "0.2", space ? ", 0" : "", space ? ", 7" : "");
    run_named(text, n / 2 % 2 ? "joint" : "absolute", methods[n / 4], tol, t_end, names);
    ck_assert_int_eq(nnamed, 1);
    ck_assert_double_eq_tol(t_named[0], t0, tol);
    point_of("tug", x); /* a third of d from the centre */
    const sunrealtype c = cos(angle), s = sin(angle), dx = c - SUN_RCONST(0.4) * s,
                      dy = s + SUN_RCONST(0.4) * c, X = 2.5 / SUN_RCONST(3.0) + 2 * (t_end - t0);
    ck_assert_double_eq_tol(x[0], X - dx / 3, 100 * tol);
    ck_assert_double_eq_tol(x[1], (SUN_RCONST(0.4) - dy) / 3, 100 * tol);
    point_of("barge", x);
    ck_assert_double_eq_tol(x[0], X + 2 * dx / 3, 100 * tol);
    ck_assert_double_eq_tol(x[1], SUN_RCONST(0.4) / 3 + 2 * dy / 3, 100 * tol);
    ck_assert_double_eq_tol(entries(y)[N_VGetLength(y) - 1], 6 + J * omega * omega / 2 - 9,
                            100 * tol);
    release();
  }
}
END_TEST

/* A rod of 1 m falls flat with 2 m/s, and its end is caught by a pin: the angular momentum about the pin, m v / 2 = m omega / 3, gives
 * omega = -3/s. It is let go 0.2 s later, and flies on. */
START_TEST(a_pin_catches_a_rod_and_lets_it_go) {
  static const char *const names[] = {"pin closed", "pin released"};
  static const char text[] = "dimension: 2\nbodies: [{name: rod, mass: 3, inertia: 3/12, at: [0.5, "
                             "1], velocity: [0, -2]}]\n"
                             "joints: [{name: pin, kind: revolute, b: rod, at: [0, 0]}]\n"
                             "latches: [{name: catch, joint: pin, at: 0.5 s}]\n"
                             "releases: [{name: throw, joint: pin, at: 0.7 s}]\n";
  const sunrealtype tol = 1e-9, angle = SUN_RCONST(-0.6), half = SUN_RCONST(0.5),
                    after = SUN_RCONST(0.3);
  for (int n = 0; n < 6; n++) {
    sunrealtype x[3];
    run_named(text, n % 2 ? "joint" : "absolute", methods[n / 2], tol, 1, names);
    ck_assert_int_eq(nnamed, 2);
    point_of("rod", x);
    ck_assert_double_eq_tol(x[0], half * cos(angle) + 3 * half * sin(angle) * after, 100 * tol);
    ck_assert_double_eq_tol(x[1], half * sin(angle) - 3 * half * cos(angle) * after, 100 * tol);
    release();
  }
}
END_TEST

/* ---- feet in line that bounce together ---- */

static int naccumulated;

static int accumulates(const CPContactEvent *event, void *data) {
  (void)data;
  naccumulated += event->accumulated && event->after != CP_CONTACT_OPEN;
  return 0;
}

/* A box on n feet in a line, at these places, under a gravity with the component `along` the floor */
static void stand(const CPBody *box, sunrealtype along, int n, const sunrealtype *at,
                  const sunrealtype *mu, const sunrealtype *e) {
  static const char *const names[] = {"f0", "f1", "f2", "f3", "f4", "f5"};
  bodies                           = CPBodiesCreate(2, (sunrealtype[]){along, -g, 0});
  add_element(bodies, &box->head);
  for (int i = 0; i < n; i++) {
    const CPBodyContact foot = {CP_NEW_CONTACT(names[i]),
                                .b    = "box",
                                .in   = CP_IN_BODIES,
                                .on_a = {.axis = {0, 1, 0}},
                                .on_b = {.point = {at[i], -box->position[1], 0}},
                                .law  = {.mu = mu[i], .mu_static = mu[i], .restitution = e[i]}};
    add_element(bodies, &foot.head);
  }
}

/* Feet of a box in a line touch the floor at once as it turns about one of them. When the returns of one that strikes are skipped,
 * another one strikes in its place, whose returns are skipped as well: otherwise flights go on that become lower than the roundoff of
 * their gaps, and a foot that sinks in ends the run. The box comes to rest flat. Loop index: tolerance. */
START_TEST(feet_that_strike_in_place_of_others_come_to_rest_with_them) {
  static const sunrealtype at[] = {-0.3, 0.4, 0.1, -0.2}, mu[] = {0.2, 0.5, 0.2, 0.5},
                           e[] = {0, 0, 0.4, 0.4}, height = SUN_RCONST(0.3);
  const sunrealtype tol = pow(10, -5 - _i);
  for (int n = 0; n < 6; n++) {
    const CPBody box = {CP_NEW_BODY("box"),         .mass = 2,
                        .inertia = {0.1, 0.1, 0.1}, .position = {0, height, 0},
                        .velocity = {-1.147, 0, 0}, .omega = {0, 0, 0.5}};
    sunrealtype x[3];
    stand(&box, SUN_RCONST(2.815), 4, at, mu, e);
    act(n % 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
    ck_assert_int_eq(CPContactSetEventFn(contact, accumulates, NULL), CP_SUCCESS);
    naccumulated = 0;
    ck_assert_msg(run_with(methods[n / 2], tol, 1) == CP_SUCCESS, "%d: %s", n,
                  CPObjectGetLastMessage(CP_OBJECT(contact)));
    ck_assert_int_gt(naccumulated, 1);
    point_of("box", x);
    ck_assert_double_eq_tol(x[1], height, 10 * tol);
    for (int i = 0; i < 4; i++) ck_assert_int_eq(phase_of(contact, i), CP_CONTACT_STICKING);
    const int nq = (int)N_VGetLength(y) / 2;
    for (int i = 0; i < nq; i++) ck_assert_double_eq_tol(entries(y)[nq + i], 0, 10 * tol);
    release();
  }
}
END_TEST

/* A foot that others lift, and which would return at once, stays on the floor, unless it is the pivot about which others would sink
 * in: a foot on its one side strikes, and one on its other side touches. Once a foot has closed within the tolerance the box lies
 * on it, by which others sink in as little, and their next impacts are seen all the same. Loop index: tolerance. */
START_TEST(a_foot_between_others_does_not_make_them_sink_in) {
  static const sunrealtype at[] = {-0.43, -0.231, -0.219, -0.047, 0.254, 0.368},
                           mu[] = {0.5, 0.5, 0.2, 0.2, 0, 0.2}, e[] = {0.3, 0.3, 0.3, 0.4, 0, 0.4},
                           height = SUN_RCONST(0.3);
  const sunrealtype tol           = pow(10, -3 - _i);
  for (int n = 0; n < 8; n++) {
    const CPBody box = {CP_NEW_BODY("box"),
                        .mass     = 2,
                        .inertia  = {0.02, 0.02, 0.02},
                        .position = {0, height, 0},
                        .velocity = {-0.979, 0, 0},
                        .omega    = {0, 0, 0.5}};
    sunrealtype x[3];
    stand(&box, SUN_RCONST(-1.678), 6, at, mu, e);
    act(n % 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
    ck_assert_msg(run_with(kinds[n / 2], tol, 1) == CP_SUCCESS, "%d: %s", n,
                  CPObjectGetLastMessage(CP_OBJECT(contact)));
    point_of("box", x);
    ck_assert_double_eq_tol(x[1], height, 10 * tol);
    const int nq = (int)N_VGetLength(y) / 2;
    for (int i = 1; i < 3; i++) ck_assert_double_eq_tol(entries(y)[nq + i], 0, 10 * tol);
    release();
  }
}
END_TEST

/* A rod on a hinge turns by a constant torque from rest, and its end strikes a floor below the hinge. In joint coordinates any method
 * integrates that exactly at any step size, and gaps within a step of a turn were not seen: a rod passed the floor, without a word. It
 * loses no energy, and so strikes every 2 t_1, t_1 = sqrt(2 angle J / torque). Loop index: the torque, 0.01, 1 and 30 N m. */
START_TEST(no_floor_is_passed_within_a_step) {
  static const sunrealtype torques[] = {0.01, 1, 30}, below[] = {0.9, 0.2};
  const sunrealtype t_end = 20, torque = torques[_i], mass = 1, J = SUN_RCONST(0.1);
  for (int n = 0; n < 32; n++) {
    const sunrealtype h = below[n / 4 % 2], tol = n / 8 ? 1e-6 : 1e-4;
    const CPBody rod           = {CP_NEW_BODY("rod"), .mass = mass, .inertia = {J, J, J},
                                  .position = {0.5, 0, 0}};
    const CPJoint hinge        = {CP_NEW_JOINT("hinge"), .kind = CP_JOINT_REVOLUTE, .b = "rod"};
    const CPSpring motor       = {CP_NEW_SPRING("motor"), .of = {"hinge", 0}, .force = torque};
    const CPBodyContact ground = {CP_NEW_CONTACT("floor"),
                                  .b    = "rod",
                                  .in   = CP_IN_BODIES,
                                  .on_a = {.point = {0, -h, 0}, .axis = {0, 1, 0}},
                                  .on_b = {.point = {0.5, 0, 0}},
                                  .law  = {.restitution = 1}};
    bodies                     = CPBodiesCreate(2, NULL);
    add_element(bodies, &rod.head);
    add_element(bodies, &hinge.head);
    add_element(bodies, &motor.head);
    add_element(bodies, &ground.head);
    act(CP_JOINT_COORDINATES);
    double impacts = 0;
    ck_assert_int_eq(run_with(kinds[n % 4], tol, t_end), CP_SUCCESS);
    ck_assert_int_eq(CPObjectGetStat(CP_OBJECT(contact), "impacts", &impacts), CP_SUCCESS);
    const sunrealtype angle = acos(-1.0) + asin(h), t_1 = sqrt(2 * angle * (J + mass / 4) / torque);
    ck_assert_msg(impacts == floor((t_end - t_1) / (2 * t_1)) + 1, "%s, %g: %g impacts",
                  kinds[n % 4], h, impacts);
    release();
  }
}
END_TEST

/* A heavy rod whose end slides on the floor hangs on a crank of 13 mg, which bounces at its stop; one of these impacts lifts the end at some
 * 1e-12 m/s, to less than the roundoff of the gap. The floor carries the end again. Loop index: tolerance. */
START_TEST(a_flight_lower_than_roundoff_ends_on_the_floor) {
  static const char text[] =
      "dimension: 2\ngravity: [0, -9.81]\nbodies:\n"
      "  - {name: crank, mass: 1.3181019e-05, inertia: 9.8917136e-08, at: [-0.14991, -0.006356]}\n"
      "  - {name: rod, mass: 1.1902019, inertia: 0.085780395, at: [-0.491722, 0.410834]}\njoints:\n"
      "  - {name: main, kind: revolute, b: crank, at: [0, 0]}\n"
      "  - {name: pin, kind: revolute, a: crank, b: rod, at: [-0.299821, -0.012711]}\nlimits:\n"
      "  - {name: stop, of: main, lower: -0.508855, upper: 0.550537, restitution: 0.373079}\n"
      "contacts:\n  - {name: floor, a: ground, b: rod, in: space, at: [0, -0.079958], axis: [0, "
      "1], "
      "at_b: [-0.683623, 0.834379]}\n";
  for (int n = 0; n < 4; n++) {
    CPBodiesFile file = {CP_SIZED(CPBodiesFile)};
    ck_assert_int_eq(CPBodiesRead("crank.yaml", text, strlen(text), &bodies, &file), CP_SUCCESS);
    act(CP_ABSOLUTE);
    ck_assert_msg(run_with(kinds[n], pow(10, -8 - _i), 1) == CP_SUCCESS, "%s: %s", kinds[n],
                  CPObjectGetLastMessage(CP_OBJECT(contact)));
    release();
  }
}
END_TEST

/* A drive rocks the crank of a slider crank, whose pivot rubs: where the drive turns back, friction would hold the crank, but has nothing
 * to move, and W is roundoff. phi(t) = a (1 - cos(w t)) by the drive. Loop index: tolerance. */
START_TEST(friction_leaves_a_crank_to_its_drive) {
  static const char text[] =
      "dimension: 2\ngravity: [0, -9.81]\nparameters: {w: 1 rad/s}\nbodies:\n"
      "  - {name: crank, mass: 2.23679, inertia: 0.0133108, at: [0.03452, 0.12908]}\n"
      "  - {name: rod, mass: 0.447696, inertia: 0.0150501, at: [0.35919, 0.12908]}\n"
      "  - {name: block, mass: 0.9132, inertia: 0.01, at: [0.64934, 0]}\njoints:\n"
      "  - {name: pivot, kind: revolute, b: crank, at: [0, 0]}\n"
      "  - {name: pin, kind: revolute, a: crank, b: rod, at: [0.06904, 0.25816]}\n"
      "  - {name: end, kind: revolute, a: rod, b: block, at: [0.64934, 0]}\n"
      "  - {name: rail, kind: prismatic, b: block, at: [0.64934, 0], axis: [1, 0]}\ndrives:\n"
      "  - {name: motor, of: pivot, motion: \"0.5286*(1 - cos(2.90125*w*t))\"}\nfrictions:\n"
      "  - {name: rub, of: pivot, force: 0.43893}\n";
  const sunrealtype t_end = 4, tol = pow(10, -3 - _i);
  for (int n = 0; n < 8; n++) {
    CPBodiesFile file = {CP_SIZED(CPBodiesFile)};
    CPSensor angle    = CP_INIT(CPSensor);
    ck_assert_int_eq(CPBodiesRead("crank.yaml", text, strlen(text), &bodies, &file), CP_SUCCESS);
    act(n / 4 ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
    ck_assert_msg(run_with(kinds[n % 4], tol, t_end) == CP_SUCCESS, "%s: %s", kinds[n % 4],
                  CPObjectGetLastMessage(CP_OBJECT(contact)));
    ck_assert_int_eq(CPMechGetSensor(mech, "pivot.angle", t_end, y, &angle), CP_SUCCESS);
    ck_assert_double_eq_tol(angle.value[0],
                            SUN_RCONST(0.5286) * (1 - cos(SUN_RCONST(2.90125) * t_end)), tol);
    release();
  }
}
END_TEST

/* A drive begins with vanishing acceleration in a four-bar linkage that rests, and whose joints rub: friction moves nothing there, and must not
 * hold what the drive is to move. phi(t) = (t / s)^n by the drive, n = 3, 4, and later friction opposes each joint's rate. Loop index:
 * tolerance. */
START_TEST(friction_lets_a_drive_begin_gently) {
  static const char format[] =
      "dimension: 2\ngravity: [0, -9.81]\nparameters: {w: 1 rad/s}\nbodies:\n"
      "  - {name: crank, mass: 0.5, inertia: 4.2e-4, at: [0, 0.05]}\n"
      "  - {name: coupler, mass: 1.5, inertia: 1.4e-2, at: [0.15, 0.175]}\n"
      "  - {name: rocker, mass: 1.2, inertia: 7.3e-3, at: [0.35, 0.125]}\njoints:\n"
      "  - {name: A, kind: revolute, b: crank, at: [0, 0]}\n"
      "  - {name: B, kind: revolute, a: crank, b: coupler, at: [0, 0.1]}\n"
      "  - {name: C, kind: revolute, a: coupler, b: rocker, at: [0.3, 0.25]}\n"
      "  - {name: D, kind: revolute, b: rocker, at: [0.4, 0]}\n"
      "drives: [{name: motor, of: A, motion: \"(w*t)^%d\"}]\nfrictions:\n"
      "  - {name: fA, of: A, force: 0.2}\n  - {name: fB, of: B, force: 0.2}\n"
      "  - {name: fC, of: C, force: 0.2}\n  - {name: fD, of: D, force: 0.2}\n";
  static const char *rates[] = {"A.rate", "B.rate", "C.rate", "D.rate"};
  const sunrealtype t_end = 1.2, tol = pow(10, -3 - _i);
  char text[sizeof format];
  for (int n = 0; n < 16; n++) {
    const int power = 3 + n / 8;
    CPSensor sensor = CP_INIT(CPSensor);
    sunrealtype force[12];
    snprintf(text, sizeof text, format, power);
    ck_assert_int_eq(CPBodiesRead("crank.yaml", text, strlen(text), &bodies, NULL), CP_SUCCESS);
    act(n / 4 % 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
    ck_assert_msg(run_with(kinds[n % 4], tol, t_end) == CP_SUCCESS, "%s: %s", kinds[n % 4],
                  CPObjectGetLastMessage(CP_OBJECT(contact)));
    ck_assert_int_eq(CPMechGetSensor(mech, "A.angle", t_end, y, &sensor), CP_SUCCESS);
    ck_assert_double_eq_tol(sensor.value[0], pow(t_end, power), tol);
    ck_assert_int_eq(CPContactEvaluate(contact, t_end, y, NULL, force, NULL, NULL), CP_SUCCESS);
    for (int k = 0; k < 4; k++) {
      ck_assert_int_eq(CPMechGetSensor(mech, rates[k], t_end, y, &sensor), CP_SUCCESS);
      ck_assert_double_eq_tol(force[3 * k + 1], -copysign(SUN_RCONST(0.2), sensor.value[0]), 1e-12);
    }
    release();
  }
}
END_TEST

/* A slider crank falls through the dead centre of its block, whose rail rubs: the gradient of that row vanishes there, and the block must not
 * stop the crank. Reference: phi'' from T and V as functions of the crank's angle, by DOP853 of SciPy at 1e-13 up to the dead centre
 * and on from there. Loop index: tolerance. */
START_TEST(friction_stops_no_crank_at_the_dead_centre_of_its_slide) {
  static const char text[] =
      "dimension: 2\ngravity: [0, -9.81]\nbodies:\n"
      "  - {name: crank, mass: 2.4685, inertia: 0.0304249, at: [-0.14527, 0.12598]}\n"
      "  - {name: rod, mass: 0.880184, inertia: 0.137989, at: [0.35304, 0.01507]}\n"
      "  - {name: block, mass: 8.97631e-06, inertia: 7.48026e-09, at: [1.04662, "
      "-0.22182]}\njoints:\n"
      "  - {name: pivot, kind: revolute, b: crank, at: [0, 0]}\n"
      "  - {name: pin, kind: revolute, a: crank, b: rod, at: [-0.29055, 0.25196]}\n"
      "  - {name: end, kind: revolute, a: rod, b: block, at: [0.99662, -0.22182]}\n"
      "  - {name: rail, kind: prismatic, b: block, at: [0.99662, -0.22182], axis: [0.95294, "
      "-0.30316]}\n"
      "frictions:\n  - {name: F, of: pin, force: 0.03}\n  - {name: G, of: rail, force: 0.01}\n";
  const sunrealtype t_end = 0.4, tol = pow(10, -4 - _i);
  for (int n = 0; n < 8; n++) {
    CPSensor angle = CP_INIT(CPSensor);
    ck_assert_int_eq(CPBodiesRead("crank.yaml", text, strlen(text), &bodies, NULL), CP_SUCCESS);
    act(n / 4 ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
    ck_assert_msg(run_with(kinds[n % 4], tol, t_end) == CP_SUCCESS, "%s: %s", kinds[n % 4],
                  CPObjectGetLastMessage(CP_OBJECT(contact)));
    ck_assert_int_eq(CPMechGetSensor(mech, "pivot.angle", t_end, y, &angle), CP_SUCCESS);
    ck_assert_double_eq_tol(angle.value[0], SUN_RCONST(2.2590210482185715), 50 * tol);
    release();
  }
}
END_TEST

/* A random linkage of one freedom, of whose joints two rub: these stop together, and W has the rank 1. Both formulations and all methods agree. */
START_TEST(joints_that_rub_stop_together) {
  static const char text[] =
      "dimension: 2\n"
      "gravity: [0, -9.81]\n"
      "parameters: {w: 1 rad/s}\n"
      "bodies:\n"
      "  - {name: b1, mass: 0.683219, inertia: 0.00507062, at: [0.11248, 0.09804]}\n"
      "  - {name: b2, mass: 0.000831655, inertia: 6.69949e-05, at: [0.71196, 0.26325]}\n"
      "  - {name: b3, mass: 1.82997, inertia: 0.0219465, at: [1.12238, 0.15687]}\n"
      "  - {name: b4, mass: 0.0277326, inertia: 0.000950911, at: [1.37179, 0.30406]}\n"
      "  - {name: b5, mass: 0.629433, inertia: 0.0154744, at: [1.76114, 0.24428]}\n"
      "  - {name: b6, mass: 2.11606, inertia: 0.310079, at: [2.43650, 0.13384]}\n"
      "  - {name: b7, mass: 1.12681, inertia: 0.000939007, at: [3.14496, 0.05608]}\n"
      "joints:\n"
      "  - {name: j1, kind: revolute, b: b1, at: [0.00000, 0.00000]}\n"
      "  - {name: j2, kind: revolute, a: b1, b: b2, at: [0.22497, 0.19609]}\n"
      "  - {name: j3, kind: revolute, a: b2, b: b3, at: [1.19894, 0.33042]}\n"
      "  - {name: j4, kind: revolute, b: b3, at: [1.04582, -0.01667]}\n"
      "  - {name: j5, kind: revolute, a: b3, b: b4, at: [1.10729, 0.12266]}\n"
      "  - {name: j6, kind: revolute, a: b4, b: b5, at: [1.63629, 0.48545]}\n"
      "  - {name: j7, kind: revolute, b: b5, at: [1.88598, 0.00310]}\n"
      "  - {name: j8, kind: revolute, a: b5, b: b6, at: [1.77805, 0.21160]}\n"
      "  - {name: j9, kind: revolute, a: b6, b: b7, at: [3.09496, 0.05608]}\n"
      "  - {name: j10, kind: prismatic, b: b7, at: [3.09496, 0.05608], axis: [0.99964, 0.02673]}\n"
      "springs:\n"
      "  - {name: sj4, of: j4, stiffness: 0.3905, damping: 0.004062}\n"
      "  - {name: sj8, of: j8, stiffness: 67.56, damping: 0.5245}\n"
      "frictions:\n"
      "  - {name: fj2, of: j2, force: 0.23577}\n"
      "  - {name: fj5, of: j5, force: 0.66178}\n"
      "limits:\n"
      "  - {name: lj3, of: j3, lower: -0.230, upper: 0.230, restitution: 0.3}\n"
      "  - {name: lj4, of: j4, lower: -0.424, upper: 0.424, restitution: 0.7}\n"
      "  - {name: lj7, of: j7, lower: -0.300, upper: 0.300, restitution: 0.3}\n";
  const sunrealtype t_end = 0.3, tol = 1e-6;
  sunrealtype first = 0;
  for (int n = 0; n < 8; n++) {
    CPSensor angle = CP_INIT(CPSensor);
    ck_assert_int_eq(CPBodiesRead("linkage.yaml", text, strlen(text), &bodies, NULL), CP_SUCCESS);
    act(n / 4 ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
    ck_assert_msg(run_with(kinds[n % 4], tol, t_end) == CP_SUCCESS, "%s: %s", kinds[n % 4],
                  CPObjectGetLastMessage(CP_OBJECT(contact)));
    ck_assert_int_eq(CPMechGetSensor(mech, "j1.angle", t_end, y, &angle), CP_SUCCESS);
    if (n == 0) first = angle.value[0];
    ck_assert_double_eq_tol(angle.value[0], first, 1e3 * tol);
    release();
  }
}
END_TEST

/* ---- a ball leaves a dome ---- */

/* From rest at 0.3 rad a ball of the radius 0.1 m rolls in the plane y = 0 off a dome of the radius 1 m, slides when
 * |F| = 2/7 m g sin theta > mu N, and leaves it at N = 0. Its place 0.2 s later is from solve_ivp (scipy 1.17.1, DOP853, 1e-13) with
 * theta'' = 5 g sin theta / (7 rho), then rho theta'' = g sin theta - mu (g cos theta - rho theta'^2), rho = 1.1 m. The normal stays in
 * a plane of symmetry, where tangents must not jump; with mu = 5 the friction vanishes with the load. */
START_TEST(a_ball_slides_off_a_dome_in_a_plane_of_symmetry) {
  if (test_is_short() && _i % 3) return; /* tolerances 1e-3, 1e-6, 1e-9 */
  static const struct {
    sunrealtype mu, t, x, z;
  } runs[]              = {{0.3, 0.9249595436169793, 1.1859469169812096, 0.0438252368583609},
                           {5.0, 0.9421832384679289, 1.18663151288209, 0.016679853439587194}};
  const sunrealtype tol = pow(10, -3 - _i % 7);
  for (int n = 0; n < 32; n++) {
    const int shapes = n / 2 % 2, k = n % 2;
    char text[800], at[60];
    snprintf(at, sizeof at, "[%.17g, 0, %.17g]", 1.1 * sin(0.3), 1.1 * cos(0.3));
    snprintf(text, sizeof text,
             "gravity: [0, 0, -9.81]\n"
             "bodies: [{name: ball, mass: 1, inertia: [0.004, 0.004, 0.004], at: %s}]\n"
             "shapes: [{name: small, kind: sphere, body: ball, at: %s, radius: 0.1}, "
             "{name: large, kind: sphere, body: ground, at: [0, 0, 0], radius: 1}]\n"
             "contacts: [{name: dome, %s, friction: %g}]\n",
             at, at,
             shapes ? "on: shape, a: large, b: small"
                    : "on: sphere, b: ball, in: bodies, radius_a: 1, touch: ball, radius: 0.1",
             (double)runs[k].mu);
    ck_assert_msg(!CPBodiesRead("dome.yaml", text, strlen(text), &bodies, NULL), "%s",
                  CPObjectGetLastMessage(NULL));
    act(n / 16 ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
    const char *method = kinds[n / 4 % 4];
    const int flag     = run_with(method, tol, runs[k].t);
    ck_assert_msg(flag == CP_SUCCESS, "%d, %s: %s", n, method,
                  CPObjectGetLastMessage(CP_OBJECT(contact)));
    const sunrealtype *r = entries(y), error = fmax(fabs(r[0] - runs[k].x), fabs(r[2] - runs[k].z));
    ck_assert_msg(error <= (n / 8 % 2 ? 20 : 10) * tol, "%d: %g", n, (double)(error / tol));
    release();
  }
}
END_TEST

/* ---- a puck that brakes across what carries it ---- */

/* m x'' = m g_x - mu m g x' / |v|,   (m + M) y'' = (m + M) g_y - mu m g y' / |v|. The puck brakes along x, but the load on the carriage, M
 * g_y, is more than its friction: it turns and never stops. An event that looks for the end of sliding finds none, and was met again after
 * each 1e-8 s. */
static void turning(const sunrealtype *u, sunrealtype *a) {
  const sunrealtype F = g / 2 / hypot(u[0], u[1]);
  a[0] = SUN_RCONST(4.4) - F * u[0], a[1] = SUN_RCONST(0.01) - F * u[1] / 1001;
}

START_TEST(sliding_that_turns_in_place_of_stopping_goes_on) {
  static const char text[] =
      "<mujoco><option gravity='4.4 .01 -9.81'/><worldbody><geom type='plane' size='1 1 1' "
      "friction='.5'/><body><inertial pos='0 0 0' mass='1000' diaginertia='1 1 1'/><joint name='y' "
      "type='slide' axis='0 1 0'/><body pos='0 0 .1'><joint name='x' type='slide' axis='1 0 0'/>"
      "<joint name='z' type='slide' axis='0 0 1'/><geom size='.1' mass='1' friction='.5'/></body>"
      "</body></worldbody></mujoco>";
  enum { STEPS = 10000 };
  const sunrealtype tol = 1e-6, t = 0.04, h = t / STEPS;
  sunrealtype u[2] = {0.01, 0}, x[2] = {0, 0}, a[2], middle[2];
  for (int i = 0; i < STEPS; i++) { /* the midpoint rule: h^2 g / |v|^2 < 1e-6 of the velocity */
    turning(u, a);
    for (int k = 0; k < 2; k++) middle[k] = u[k] + h / 2 * a[k];
    turning(middle, a);
    for (int k = 0; k < 2; k++) x[k] += h * middle[k], u[k] += h * a[k];
  }
  sunrealtype rate[2];
  ck_assert_int_eq(CPBodiesRead("puck.xml", text, sizeof text - 1, &bodies, NULL), CP_SUCCESS);
  act(CP_JOINT_COORDINATES);
  entries(y)[4] = 0.01;
  ck_assert_int_eq(run_with(kinds[_i], tol, t), CP_SUCCESS);
  ck_assert_double_eq_tol(coordinate_of("x", &rate[0]), x[0], 20 * tol);
  ck_assert_double_eq_tol(coordinate_of("y", &rate[1]), x[1], 20 * tol);
  for (int k = 0; k < 2; k++) ck_assert_double_eq_tol(rate[k], u[k], 20 * tol);
  release();
}
END_TEST

TEST_SUITE(acting) {
  Suite *suite = suite_create("contact/acting");
  TCase *tc    = tcase_create("acting");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, a_pendulum_with_dry_friction_comes_to_rest, 0, 6);
  tcase_add_loop_test(tc, a_pin_breaks_at_its_load, 0, 6);
  tcase_add_loop_test(tc, gradients_pass_releases, 0, 4);
  tcase_add_test(tc, loads_on_many_pins_are_those_of_the_same_accelerations);
  tcase_add_test(tc, a_session_brings_the_controllers_of_its_mechanism);
  tcase_add_loop_test(tc, gradients_pass_the_samples_of_controllers, 0, 4);
  tcase_add_loop_test(tc, gradients_pass_contacts_and_samples_together, 0, 2);
  tcase_add_loop_test(tc, gradients_pass_contacts_that_change_the_pieces_of_forces, 0, 2);
  tcase_add_loop_test(tc, gradients_pass_contacts_whose_laws_follow_a_file, 0, 2);
  tcase_add_loop_test(tc, a_ball_slides_off_a_dome_in_a_plane_of_symmetry, 0, 7);
  tcase_add_loop_test(tc, sliding_that_turns_in_place_of_stopping_goes_on, 0, 4);
  tcase_add_test(tc, what_docks_keeps_its_momentum);
  tcase_add_test(tc, a_pin_catches_a_rod_and_lets_it_go);
  tcase_add_loop_test(tc, a_flight_lower_than_roundoff_ends_on_the_floor, 0, 6);
  tcase_add_loop_test(tc, friction_leaves_a_crank_to_its_drive, 0, 6);
  tcase_add_loop_test(tc, friction_lets_a_drive_begin_gently, 0, 6);
  tcase_add_loop_test(tc, friction_stops_no_crank_at_the_dead_centre_of_its_slide, 0, 5);
  tcase_add_test(tc, joints_that_rub_stop_together);
  tcase_add_loop_test(tc, no_floor_is_passed_within_a_step, 0, 3);
  tcase_add_loop_test(tc, a_foot_between_others_does_not_make_them_sink_in, 0, 8);
  tcase_add_loop_test(tc, feet_that_strike_in_place_of_others_come_to_rest_with_them, 0, 7);
  suite_add_tcase(suite, tc);
  return suite;
}
