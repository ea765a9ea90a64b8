/* Mechanisms whose drives turn and turn: a shaft, a Cardan line, a screw, a pair of gears, and a press on a crank. Their
 * motions are those of the driven angle, in closed form, and no number of turns is too large: not at the start, in the
 * angle or in time, and not in one run. The digits of the angle and of the time that turns use up are roundoff, which ends
 * no run and gives no warning that repeats.
 *
 * CPODES_TEST_CAMPAIGN=full runs all offsets and tolerances, and in one run a million turns, or 100,000 of the Cardan line,
 * whose rows are dependent: a million of these take DOP853, RADAU and BDF more than an hour each, in proportion to the
 * turns. CK_RUN_CASE=BDF and so on runs one method, which takes at most an hour; CPODES_TEST_FIGURES=1 prints the runs. */
#include "campaign.h"
#include "support/things.h"

#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_integrator.h>
#include <cvodes/cvodes.h>
#include <math.h>
#include <models/counters.h>

typedef enum { SHAFT, CARDAN, SCREW, GEARS, PRESS, NUM_KINDS } Kind;
static const char *const kind_name[] = {"shaft", "Cardan line", "screw", "gears", "press"};

static const sunrealtype rate = SUN_RCONST(314.15926535897931); /* 3,000 rpm */
static const sunrealtype bend = SUN_RCONST(0.5), lead = SUN_RCONST(3.183098861837907e-4);
static const sunrealtype crank = SUN_RCONST(0.1), rod = SUN_RCONST(0.4);
static const long double turn = 6.283185307179586476925286766559005768L;

/* Where the turns before the start are counted */
typedef enum { NOWHERE, IN_ANGLE, IN_TIME, NUM_PLACES } Place;

typedef struct {
  Kind kind;
  int method, closed; /* closed: loops close to 3e-13, as in files */
  Place place;
  double before, turns; /* whole turns before the start, and those of the run */
  sunrealtype tol;
  int by_function; /* the drive is a function g(t), which rounds */
} Case;

typedef struct {
  CPBodies bodies;
  CPMech mech;
  N_Vector y;
  sunrealtype start, offset, t0; /* offset: of the gears, which counts all turns of the shaft */
  MessageLog log;
} Machine;

static sunrealtype start_of(const Case *c) {
  return c->place == IN_ANGLE ? (sunrealtype)(c->before * turn) : 0;
}

/* g of a drive by a function, whose data is the case */
static int turning(sunrealtype t, sunrealtype *g, void *data) {
  const Case *c = data;
  g[0]          = start_of(c) + rate * t;
  g[1]          = rate;
  g[2]          = 0;
  return 0;
}

#define ADD(call) ck_assert_msg((call) >= 0, "%s", CPObjectGetLastMessage(CP_OBJECT(b)))

static void add_body(CPBodies b, const char *name, sunrealtype x, sunrealtype y, sunrealtype angle) {
  const CPBody body = {CP_NEW_BODY(name), .mass = 2, .inertia = {0.01, 0.02, 0.02},
                       .position = {x, y, 0}, .quaternion = {cos(angle / 2), 0, 0, sin(angle / 2)}};
  ADD(CPBodiesAdd(b, &body.head, NULL));
}

/* In the axes of space: point (x, y) of body b, axis z_a (and z_b), x_a across it */
static void add_joint(CPBodies b, const char *name, CPJointKind kind, const char *from,
                      const char *to, sunrealtype x, sunrealtype y, CPMarker on_a, CPMarker on_b) {
  CPJoint joint = {CP_NEW_JOINT(name), .kind = kind, .a = from, .b = to,
                   .on_a = on_a,       .on_b = on_b};
  joint.on_a.point[0] += x, joint.on_a.point[1] += y;
  joint.on_b.point[0] = x, joint.on_b.point[1] = y;
  ADD(CPBodiesAdd(b, &joint.head, NULL));
}

/* The axes of driven bodies are x; the press lies in the plane. */
static CPBodies build(Kind kind, sunrealtype offset) {
  CPBodies b           = CPBodiesCreate(kind == PRESS ? 2 : 3, NULL);
  const CPMarker along = {.axis = {1, 0, 0}, .across = {0, 1, 0}}, plain = {.axis = {0, 0, 1}};
  const sunrealtype c = cos(bend), s = sin(bend);
  ck_assert_ptr_nonnull(b);
  ADD(set_gravity(b, (sunrealtype[]){0, -9.81, 0}));
  if (kind == PRESS) {
    add_body(b, "wheel", 0, 0, 0);
    add_body(b, "rod", crank + rod / 2, 0, 0);
    add_body(b, "ram", crank + rod, 0, 0);
    add_joint(b, "bearing", CP_JOINT_REVOLUTE, NULL, "wheel", 0, 0, plain, plain);
    add_joint(b, "pin", CP_JOINT_REVOLUTE, "wheel", "rod", crank, 0, plain, plain);
    add_joint(b, "wrist", CP_JOINT_REVOLUTE, "rod", "ram", crank + rod, 0, plain, plain);
    add_joint(b, "guide", CP_JOINT_PRISMATIC, NULL, "ram", 0, 0, along, along);
    return b;
  }
  add_body(b, "shaft", 0, 0, 0);
  add_joint(b, "bearing", kind == SCREW ? CP_JOINT_CYLINDRICAL : CP_JOINT_REVOLUTE, NULL, "shaft",
            0, 0, along, along);
  if (kind == CARDAN) { /* The second shaft makes the angle `bend`, and a sleeve holds its end. */
    const CPMarker cross = {.axis = {0, 1, 0}}, other = {.axis = {0, 0, 1}},
                   bent = {.axis = {c, s, 0}, .across = {0, 0, 1}};
    add_body(b, "second", 0, 0, bend);
    add_joint(b, "joint", CP_JOINT_UNIVERSAL, "shaft", "second", 0, 0, cross, other);
    add_joint(b, "sleeve", CP_JOINT_CYLINDRICAL, NULL, "second", 0, 0, bent, bent);
  }
  if (kind == GEARS) {
    const CPCoupler mesh = {CP_NEW_COUPLER("mesh"), .of = {{"bearing", 0}, {"second", 0}},
                            .ratio = {20, 31}, .offset = offset};
    add_body(b, "wheel", 0, 1, 0);
    add_joint(b, "second", CP_JOINT_REVOLUTE, NULL, "wheel", 0, 1, along, along);
    ADD(CPBodiesAdd(b, &mesh.head, NULL));
  }
  if (kind == SCREW) {
    const CPCoupler thread = {CP_NEW_COUPLER("thread"), .of = {{"bearing", 0}, {"bearing", 1}},
                              .ratio = {1, -lead}};
    ADD(CPBodiesAdd(b, &thread.head, NULL));
  }
  return b;
}

static Machine machine(Case *c) {
  Machine m     = {.start = start_of(c)};
  m.offset      = 20 * m.start;
  m.bodies      = build(c->kind, m.offset);
  CPBodies b    = m.bodies;
  m.t0          = c->place == IN_TIME ? (sunrealtype)(c->before * turn / rate) : 0;
  CPDrive motor = {CP_NEW_DRIVE("motor"), .of = {"bearing", c->kind == SCREW}, .rate = rate,
                   .start = m.start, .data = c};
  if (c->by_function) motor.g = turning;
  ADD(CPBodiesAdd(b, &motor.head, NULL));
  return m;
}

/* The driven angle up to whole turns, from exact products */
static long double angle_at(const Machine *m, sunrealtype t) {
  const sunrealtype product = rate * t, lost = fma(rate, t, -product);
  return remainderl(remainderl((long double)product, turn) + (long double)m->start + lost, turn);
}

typedef struct {
  int flag, warnings;
  sunrealtype t, drive, output; /* errors of the driven angle and of the motion that it causes */
  long int steps;
  char text[300];
} Result;

static sunrealtype coordinate(const Machine *m, const char *joint, int k) {
  sunrealtype x, r;
  char name[40];
  snprintf(name, sizeof name, k ? "%s.%d" : "%s", joint, k);
  ck_assert_int_eq(
      CPMechGetCoordinate(m->mech, thing_named(m->bodies, CP_COORDINATE, name), m->y, &x, &r),
      CP_SUCCESS);
  return x;
}

/* The error of what the mechanism drives, in the output's unit */
static sunrealtype output_error(const Case *c, const Machine *m, long double angle) {
  const sunrealtype a = (sunrealtype)angle;
  switch (c->kind) {
  case CARDAN: /* tan(first) cos(bend) = tan(second), whichever of the pins the angles start from */
  {
    const sunrealtype x = coordinate(m, "sleeve", 1);
    return fabs(remainder(x - atan2(sin(a), cos(a) * cos(bend)), acos(-1.0)));
  }
  case SCREW: return fabs(remainder(coordinate(m, "bearing", 0) - lead * a, (double)(lead * turn)));
  case GEARS: {
    const long double offset = remainderl((long double)m->offset, turn);
    return fabs(remainder(31 * coordinate(m, "second", 0) + 20 * a - (sunrealtype)offset,
                          (double)turn)) /
           31;
  }
  case PRESS: {
    const sunrealtype h = crank * sin(a);
    return fabs(coordinate(m, "guide", 0) - (crank * cos(a) + sqrt(rod * rod - h * h) - crank - rod));
  }
  default: return 0;
  }
}

static Result run(Case *c) {
  Machine m               = machine(c);
  CPBodies b              = m.bodies;
  Result r                = {0};
  const int one           = c->method == ONE_STEP || c->method == RADAU;
  CPIntegrator cpode      = NULL;
  CPIntegrator onestep    = NULL;
  const sunrealtype t_end = (sunrealtype)(m.t0 + c->turns * turn / rate);
  ck_assert_msg(build_mech(b, &m.mech) == CP_SUCCESS, "%s", CPObjectGetLastMessage(CP_OBJECT(b)));
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(m.mech), message_log, &m.log), CP_SUCCESS);
  m.y = CPBodiesState(b, test_context);
  r.t = m.t0;
  if (c->closed)
    ck_assert_int_eq(CPProjectorSetEps(CPMechGetProjector(m.mech), fmin(1, 3e-13 / (2 * c->tol))),
                     CP_SUCCESS);
  r.flag = CPMechAssemble(m.mech, m.t0, m.y, NULL);
  if (r.flag) {
    snprintf(r.text, sizeof r.text, "assembly: %.250s", CPObjectGetLastMessage(CP_OBJECT(m.mech)));
  } else if (one) {
    onestep = CPIntegratorCreate(campaign_method_name(c->method), test_context);
    ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(onestep), message_log, &m.log), CP_SUCCESS);
    ck_assert_int_eq(CPMechAttach(m.mech, onestep, m.t0, m.y), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSStolerances(onestep, c->tol, c->tol), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSetMaxNumSteps(onestep, -1), CP_SUCCESS);
  } else {
    cpode = CPIntegratorCreate(campaign_method_name(c->method), test_context);
    ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(cpode), message_log, &m.log), CP_SUCCESS);
    ck_assert_int_eq(CPMechAttach(m.mech, cpode, m.t0, m.y), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSStolerances(cpode, c->tol, c->tol), CP_SUCCESS);
    ck_assert_int_eq(CVodeSetMaxNumSteps(CPIntegratorGetCVodeMem(cpode), 1000000000), CV_SUCCESS);
  }
  enum { OUTPUTS = 41 }; /* no whole part of the run's turns */
  for (int k = 0; k <= OUTPUTS && r.flag == CP_SUCCESS; k++) {
    const sunrealtype to = m.t0 + (t_end - m.t0) * k / OUTPUTS;
    if (k > 0)
      r.flag = one ? CPIntegratorEvolve(onestep, to, m.y, &r.t, CV_NORMAL)
                   : CPIntegratorEvolve(cpode, to, m.y, &r.t, CV_NORMAL);
    const long double angle = angle_at(&m, r.t);
    r.drive =
        fmax(r.drive,
             fabs((double)remainderl(coordinate(&m, "bearing", c->kind == SCREW) - angle, turn)));
    r.output = fmax(r.output, output_error(c, &m, angle));
  }
  if (r.flag && !r.text[0]) snprintf(r.text, sizeof r.text, "%.299s", m.log.text);
  else if (m.log.count) snprintf(r.text, sizeof r.text, "warned: %.280s", m.log.text);
  r.warnings = r.flag ? 0 : m.log.count;
  if (one && onestep) {
    IntegratorCounters stats;
    if (!integrator_counters(onestep, &stats)) r.steps = stats.nst;
  } else if (cpode) CVodeGetNumSteps(CPIntegratorGetCVodeMem(cpode), &r.steps);
  CPIntegratorFree(&cpode);
  CPIntegratorFree(&onestep);
  CPMechFree(&m.mech);
  CPBodiesFree(&m.bodies);
  N_VDestroy(m.y);
  if (wants_figures())
    printf("%-11s %-6s tol %.0e %s%s %5g turns after %7g in %s: %6ld steps, drive %.1e, output "
           "%.1e, %d warnings%s%s\n",
           kind_name[c->kind], campaign_method_name(c->method), (double)c->tol,
           c->closed ? "closed" : "open", c->by_function ? " g(t)" : "", c->turns, c->before,
           c->place == IN_TIME ? "time" : "angle", r.steps, (double)r.drive, (double)r.output,
           r.warnings, r.flag ? " FAILED " : "", r.text);
  fflush(stdout);
  return r;
}

/* The angle of a drive by start and rate is right to 1e-12 where loops are closed as in files; what it drives follows
 * within a hundred tolerances, and where the state counts a million turns, within their roundoff. */
static Result assert_right(Case *c) {
  const Result r       = run(c);
  const double counted = c->kind == PRESS ? c->turns * 2 * 3.15 : 0, reached = c->before * 2 * 3.15;
  const double roundoff = 4 * 2.3e-16 * (counted + (c->by_function ? reached : 0));
  ck_assert_msg(r.flag == CP_SUCCESS && r.warnings <= 1,
                "%s by %s at %g, %g turns after %g: %d after %ld steps at t = %g, %d warnings: %s",
                kind_name[c->kind], campaign_method_name(c->method), (double)c->tol, c->turns,
                c->before, r.flag, r.steps, (double)r.t, r.warnings, r.text);
  if (c->closed) ck_assert_double_le(r.drive, 1e-12 + roundoff);
  ck_assert_double_le(r.output, 100 * c->tol + 31 * (1e-12 + roundoff));
  return r;
}

/* All tolerances of a ladder, or those of a quick test. After a million turns in time, velocities of the press change by
 * 2e-8 m/s in the last digit of t: no size of a step reduces that error. */
static void climb(Kind kind, int method, Place place, double before, double turns) {
  const int full = campaign_stride(2) == 1;
  for (int k = 3; k <= 10; k += full ? 1 : 7)
    for (int closed = full ? 0 : 1; closed < 2; closed++) {
      Case c = {kind, method, closed, place, before, turns, pow(10, -k), 0};
      assert_right(&c);
    }
}

/* Loop index: mechanism; method */
START_TEST(turns_before_the_start_change_nothing) {
  const int method = campaign_method(_i / NUM_KINDS), full = campaign_stride(2) == 1;
  const Kind kind = (Kind)(_i % NUM_KINDS);
  climb(kind, method, NOWHERE, 0, full ? 100 : 2);
  for (double before = full ? 1e3 : 1e6; before <= 1e6; before *= 1e3) {
    climb(kind, method, IN_ANGLE, before, full ? 100 : 2);
    climb(kind, method, IN_TIME, before, full ? 100 : 2);
  }
}
END_TEST

/* Its value has the roundoff 5e-10: tolerances below make no sense, but must not cost more steps than those of the
 * exact drive, by which the angle has no such noise. */
START_TEST(a_function_of_a_million_turns_is_a_drive) {
  const int full = campaign_stride(2) == 1;
  for (Place place = IN_ANGLE; place < NUM_PLACES; place++)
    for (int k = full ? 3 : 4; k <= 10; k += full ? 1 : 3) {
      Case c         = {(Kind)(_i % NUM_KINDS),
                        campaign_method(_i / NUM_KINDS),
                        1,
                        place,
                        1e6,
                        2,
                        pow(10, -k),
                        1};
      const Result r = assert_right(&c);
      c.by_function  = 0;
      ck_assert_double_le((double)r.steps, 1.5 * (double)assert_right(&c).steps);
    }
}
END_TEST

/* Differences that rates are compared with must not contain the roundoff of t times the rate. */
START_TEST(a_check_takes_no_roundoff_of_time_for_an_error) {
  for (double before = 1e4; before <= 1e9; before *= 1e5) {
    Case c              = {.kind = (Kind)_i, .place = IN_TIME, .before = before + 0.3};
    Machine m           = machine(&c);
    CPMechReport report = CP_INIT(CPMechReport);
    ck_assert_int_eq(build_mech(m.bodies, &m.mech), CP_SUCCESS);
    ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(m.mech), message_log, &m.log), CP_SUCCESS);
    m.y = CPBodiesState(m.bodies, test_context);
    ck_assert_int_eq(CPMechAssemble(m.mech, m.t0, m.y, NULL), CP_SUCCESS);
    ck_assert_msg(CPMechCheck(m.mech, m.t0, m.y, &report) == CP_SUCCESS, "%s: %s",
                  kind_name[c.kind], m.log.text);
    ck_assert_double_le(report.v_p, 1e-8);
    CPMechFree(&m.mech);
    CPBodiesFree(&m.bodies);
    N_VDestroy(m.y);
  }
}
END_TEST

/* Loop index: mechanism; method. The shaft at 3,000 rpm used to stop after 27 s. */
START_TEST(a_drive_turns_as_long_as_one_likes) {
  const int method = campaign_method(_i / NUM_KINDS), full = campaign_stride(2) == 1;
  const Kind kind = (Kind)(_i % NUM_KINDS);
  Case c          = {kind, method, 1, NOWHERE, 0, 2500, full ? 1e-6 : 1e-3, 0};
  if (full && method != CV_ADAMS) c.turns = kind == CARDAN ? 1e5 : 1e6;
  if (full || kind == SHAFT) assert_right(&c);
}
END_TEST

TEST_SUITE(turns) {
  setvbuf(stdout, NULL, _IOLBF, 0); /* so that figures of failing tests appear, too */
  Suite *suite = suite_create("turns");
  for (int m = 0; m <= NUM_METHODS;
       m++) { /* a case for each method, and one for what all have in common */
    const int from = m * NUM_KINDS, to = from + NUM_KINDS;
    TCase *tcase = tcase_create(m < NUM_METHODS ? campaign_method_name(campaign_method(m)) : "all");
    tcase_set_timeout(tcase, campaign_stride(60) == 1 ? 3600 : 60);
    tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
    if (m < NUM_METHODS) {
      tcase_add_loop_test(tcase, turns_before_the_start_change_nothing, from, to);
      tcase_add_loop_test(tcase, a_function_of_a_million_turns_is_a_drive, from, to);
      tcase_add_loop_test(tcase, a_drive_turns_as_long_as_one_likes, from, to);
    } else tcase_add_loop_test(tcase, a_check_takes_no_roundoff_of_time_for_an_error, 0, NUM_KINDS);
    suite_add_tcase(suite, tcase);
  }
  return suite;
}
