/* Sensors: forces by name balance the motion of each body, in both formulations; derivatives against differences; what is wrong. */
#include "support/support.h"
#include "support/things.h"
#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_integrator.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static CPBodies bodies;
static CPMech mech;
static N_Vector y;
static sunrealtype now;

/* A file, the laws and drives on coordinates with the joint of each, and in which direction the force acts; the time up to which it
 * moves */
typedef struct {
  const char *name;
  const char *on[6][2];
  sunrealtype axis[3];
  sunrealtype t;
  int sliding;              /* the first ones of `on` act along the axis, the rest about z */
  const char *forces[2][2]; /* forces on points, with their bodies */
} File;
static const File files[] = {
    {"engine",
     {{"c1_gas", "c1_bore"},
      {"c2_gas", "c2_bore"},
      {"c3_gas", "c3_bore"},
      {"c4_gas", "c4_bore"},
      {"motor", "main"}},
     {0, 1, 0},
     0.013,
     4,
     {{NULL}}},
    {"wiper", {{"motor", "motor_axis"}, {"glass", "arm_axis"}}, {0, 0, 1}, 0.5, 0, {{NULL}}},
    {"double_wishbone", {{NULL}}, {0, 0, 1}, 0.2, 0, {{"road", "upright"}}},
    {"axle",
     {{"lane", "body"}},
     {0, 1, 0},
     0.3,
     1,
     {{"left_wheel", "left_upright"}, {"right_wheel", "right_upright"}}},
    /* the cylinders push along the line between their pins */
    {"excavator",
     {{"boom_ram", "boom_slide"}, {"arm_ram", "arm_slide"}, {"bucket_ram", "bucket_slide"}},
     {0, 0, 0},
     3.1,
     3,
     {{"dig", "bucket"}}},
};
enum { FILES = sizeof files / sizeof files[0], BODIES = 16 };

static void read_file(const char *name, int joints) {
  char path[500];
  snprintf(path, sizeof path, "%s/%s.yaml", CPODES_MECHANISMS, name);
  ck_assert_msg(CPBodiesRead(path, NULL, 0, &bodies, NULL) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(NULL));
  CPBodiesSetFormulation(bodies, joints ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
  ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
  y = CPBodiesState(bodies, test_context);
  ck_assert_msg(CPMechAssemble(mech, 0, y, NULL) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(mech)));
  now = 0;
}

static void move(sunrealtype t_end) {
  CPIntegrator mem = CPIntegratorCreate("DOP853", test_context);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-10, 1e-10), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetMaxNumSteps(mem, -1), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, t_end, y, &now, CV_NORMAL), CP_SUCCESS);
  CPIntegratorFree(&mem);
}

static void done(void) {
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&bodies);
}

/* x [3]: out, the value of a quantity, whose name is a format */
static void sense(sunrealtype *x, const char *format, const char *element) {
  char name[200];
  CPSensor s = CP_INIT(CPSensor);
  snprintf(name, sizeof name, "%s.%s", element, format);
  ck_assert_msg(CPMechGetSensor(mech, name, now, y, &s) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(mech)));
  memcpy(x, s.value, sizeof s.value);
}

static CPDescription thing(CPThing kind, int i) {
  CPDescription d = CP_INIT(CPDescription);
  ck_assert_int_eq(CPBodiesDescribe(bodies, kind, i, &d), CP_SUCCESS);
  return d;
}

static void cross(const sunrealtype *a, const sunrealtype *b, sunrealtype *c) {
  for (int k = 0; k < 3; k++)
    c[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

static sunrealtype force[BODIES][3], moment[BODIES][3],
    size; /* force: on bodies; moment: about the centres */

/* A force at the point P, and a torque, act on body b, and the opposite ones on a. */
static void act(int a, int b, const sunrealtype *P, const sunrealtype *F, const sunrealtype *T,
                sunrealtype centre[BODIES][3]) {
  for (int side = 0; side < 2; side++) {
    const int i            = side ? b : a;
    const sunrealtype sign = side ? 1 : -1;
    sunrealtype arm[3], M[3];
    if (i < 0) continue;
    for (int k = 0; k < 3; k++) arm[k] = P[k] - centre[i][k];
    cross(arm, F, M);
    for (int k = 0; k < 3; k++) {
      force[i][k] += sign * F[k], moment[i][k] += sign * (T[k] + M[k]);
      size = fmax(size, fmax(fabs(F[k]), fabs(T[k])));
    }
  }
}

START_TEST(forces_by_name_balance_the_motion_of_each_body) {
  static const sunrealtype none[3];
  const File *f = &files[_i / 2];
  sunrealtype centre[BODIES][3], P[12], F[3], T[3], x[3];
  read_file(f->name, _i % 2);
  move(f->t);
  const int n = CPBodiesCount(bodies, CP_BODY);
  memset(force, 0, sizeof force), memset(moment, 0, sizeof moment), size = 0;
  ck_assert_int_le(n, BODIES);
  for (int i = 0; i < n; i++) sense(centre[i], "centre.position", thing(CP_BODY, i).name);
  for (int i = 0; i < CPBodiesCount(bodies, CP_JOINT); i++) {
    const CPDescription d = thing(CP_JOINT, i);
    char name[100];
    snprintf(name, sizeof name, "%s", d.name);
    if (d.kind == CP_JOINT_NONE) continue;
    ck_assert_int_eq(CPMechGetPoints(mech, CP_JOINT, i, y, P), CP_SUCCESS);
    sense(F, "force", name), sense(T, "torque", name);
    act(d.a, d.b, P + 3, F, T, centre);
  }
  for (int i = 0; i < CPBodiesCount(bodies, CP_SPRING); i++) {
    const CPDescription d = thing(CP_SPRING, i);
    ck_assert_int_eq(CPMechGetPoints(mech, CP_SPRING, i, y, P), CP_SUCCESS);
    sunrealtype length[3];
    char name[100];
    snprintf(name, sizeof name, "%s", d.name);
    sense(x, "force", name), sense(length, "length", name);
    for (int k = 0; k < 3; k++) F[k] = x[0] * (P[3 + k] - P[k]) / length[0];
    act(d.a, d.b, P, F, none, centre);
  }
  for (int i = 0; i < 6 && f->on[i][0]; i++) {
    const CPDescription d = thing(CP_JOINT, thing_named(bodies, CP_JOINT, f->on[i][1]));
    sunrealtype axis[3] = {f->axis[0], f->axis[1], f->axis[2]}, ends[2][12], length = 0;
    const char *slide = strstr(f->on[i][1], "_slide");
    for (int side = 0; side < 2 && slide; side++) {
      char pin[100];
      snprintf(pin, sizeof pin, "%.*s_%s_pin", (int)(slide - f->on[i][1]), f->on[i][1],
               side ? "head" : "foot");
      ck_assert_int_eq(
          CPMechGetPoints(mech, CP_JOINT, thing_named(bodies, CP_JOINT, pin), y, ends[side]),
          CP_SUCCESS);
    }
    for (int k = 0; k < 3 && slide; k++) length = hypot(length, ends[1][k] - ends[0][k]);
    for (int k = 0; k < 3 && slide; k++) axis[k] = (ends[1][k] - ends[0][k]) / length;
    sense(x, i < f->sliding ? "force" : "torque", f->on[i][0]);
    for (int k = 0; k < 3; k++) {
      F[k] = i < f->sliding ? x[0] * axis[k] : 0;
      T[k] = i < f->sliding ? 0 : x[0] * (k == 2);
    }
    act(d.a, d.b, slide ? ends[0] : centre[d.b], F, T, centre);
  }
  for (int i = 0; i < 2 && f->forces[i][0]; i++) {
    sense(F, "force", f->forces[i][0]), sense(P, "position", f->forces[i][0]);
    act(-1, thing_named(bodies, CP_BODY, f->forces[i][1]), P, F, none, centre);
  }
  const sunrealtype *param = CPBodiesParameters(bodies);
  for (int i = 0; i < n; i++) {
    char name[100], own[220];
    int at;
    sunrealtype a[3], alpha[3], omega[3], M[3], spin[3] = {0}, turning[3];
    snprintf(name, sizeof name, "%s", thing(CP_BODY, i).name);
    snprintf(own, sizeof own, "%s.mass", name);
    ck_assert_int_eq(CPBodiesFind(bodies, CP_PARAMETER, own, &at), CP_SUCCESS);
    sense(a, "centre.acceleration", name);
    for (int k = 0; k < 3; k++)
      ck_assert_double_eq_tol(param[at] * (a[k] - param[k]), force[i][k], 1e-10 * size);
    snprintf(own, sizeof own, "omega.in(%s)", name), sense(omega, own, name);
    snprintf(own, sizeof own, "alpha.in(%s)", name), sense(alpha, own, name);
    for (int k = 0; k < 3; k++) spin[k] = param[at + 1 + k] * omega[k];
    cross(omega, spin, turning);
    for (int k = 0; k < 3; k++) { /* in the axes of the body: those of the moment are turned there */
      char point[220];
      sunrealtype tip[3], axis[3];
      snprintf(point, sizeof point, "point([%d, %d, %d]).position", k == 0, k == 1, k == 2);
      sense(tip, point, name), sense(axis, "position", name);
      M[k] = 0;
      for (int l = 0; l < 3; l++) M[k] += moment[i][l] * (tip[l] - axis[l]);
      ck_assert_double_eq_tol(param[at + 1 + k] * alpha[k] + turning[k], M[k], 1e-10 * size);
    }
  }
  done();
}
END_TEST

START_TEST(derivatives_are_those_of_the_value) {
  static const char *const names[] = {"lower_axis.angle",
                                      "lower_axis.rate",
                                      "spring.length",
                                      "spring.rate",
                                      "upright.point([0.1, 2 cm, 0]).velocity.z",
                                      "upright.centre.position.x",
                                      "upright.omega.y",
                                      "upper_axis"};
  enum { NU = 18 };
  const sunrealtype h = 1e-6;
  read_file("double_wishbone", 0);
  move(0.1);
  sunrealtype g[2 * NU], *q = N_VGetArrayPointer(y), before[39], value[2];
  memcpy(before, q, sizeof before);
  CPSensor s = {CP_SIZED(CPSensor), .gradient = g};
  ck_assert_msg(CPMechGetSensor(mech, names[_i], now, y, &s) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(mech)));
  s.gradient = NULL;
  for (int j = 0; j < 2 * NU; j++) {
    for (int side = 0; side < 2; side++) {
      const sunrealtype d = side ? h : -h;
      memcpy(q, before, sizeof before);
      const int body = (j % NU) / 6, k = j % 6;
      if (j >= NU) q[21 + j - NU] += d;
      else if (k < 3) q[7 * body + k] += d;
      else { /* e' = e * (0, w) / 2 */
        sunrealtype *e = q + 7 * body + 3, w[3] = {k == 3, k == 4, k == 5}, turned[4];
        turned[0] = e[0] - d / 2 * (e[1] * w[0] + e[2] * w[1] + e[3] * w[2]);
        turned[1] = e[1] + d / 2 * (e[0] * w[0] + e[2] * w[2] - e[3] * w[1]);
        turned[2] = e[2] + d / 2 * (e[0] * w[1] + e[3] * w[0] - e[1] * w[2]);
        turned[3] = e[3] + d / 2 * (e[0] * w[2] + e[1] * w[1] - e[2] * w[0]);
        memcpy(e, turned, sizeof turned);
      }
      ck_assert_int_eq(CPMechGetSensor(mech, names[_i], now, y, &s), CP_SUCCESS);
      value[side] = s.value[0];
    }
    ck_assert_double_eq_tol((value[1] - value[0]) / (2 * h), g[j], 1e-8);
  }
  memcpy(q, before, sizeof before);
  done();
}
END_TEST

/* The difference of sixth order of component k of a quantity along a direction d [nu] of the velocities, of positions (level 0) or of
 * velocities. For N d, u becomes d for once. */
static sunrealtype difference_along(const char *name, const sunrealtype *d, int level) {
  const CPEquations e = equations_of(mech);
  const int nq = (int)e.nq, nu = (int)e.nu;
  const sunrealtype h = 1e-3;
  N_Vector moved = N_VClone(y), rate = N_VClone(y);
  sunrealtype sum = 0;
  N_VScale(1, y, moved);
  memcpy(entries(moved) + nq, d, (size_t)nu * sizeof *d);
  ck_assert_int_eq(CPMechRhs(now, moved, rate, mech), CP_SUCCESS);
  for (int k = -3; k <= 3; k++) {
    if (k == 0) continue;
    N_VScale(1, y, moved);
    for (int i = 0; i < nq && !level; i++) entries(moved)[i] += k * h * entries(rate)[i];
    for (int i = 0; i < nu && level; i++) entries(moved)[nq + i] += k * h * d[i];
    sum += sixth_order(k) * quantity_at(mech, name, now, moved, 0) / h;
  }
  N_VDestroy(moved);
  N_VDestroy(rate);
  return sum;
}

/* Of each quantity that does not depend on accelerations or reactions, and of some that do: components in space and in the axes of a
 * body */
START_TEST(gradients_of_all_quantities_are_those_of_their_values) {
  static const sunrealtype turning[] = {0.3, -0.7, 0.5, 1, -0.4, 0.2, 0.9, -0.6, 0.8, -0.1, 0.35};
  const File *file                   = &files[_i / 2];
  read_file(file->name, _i % 2);
  move(file->t / 2);
  const int n = CPBodiesCount(bodies, CP_SENSOR), nu = (int)equations_of(mech).nu;
  sunrealtype *g = malloc(3 * (size_t)nu * sizeof *g), *d = g + 2 * nu;
  const char *body = thing(CP_BODY, 0).name;
  ck_assert_ptr_nonnull(g);
  for (int i = 0; i < n; i += test_is_short() ? 11 : 1) {
    const CPDescription sensor = thing(CP_SENSOR, i);
    for (int form = 0; form < (sensor.kind ? 4 : 1); form++) {
      static const char *const forms[] = {"", ".y", ".in(", ".in("};
      char name[300], end[100];
      snprintf(end, sizeof end, "%s%s%s", forms[form], form < 2 ? "" : body,
               form < 2    ? ""
               : form == 2 ? ").x"
                           : ").y");
      if (sensor.kind && form == 0) continue;
      snprintf(name, sizeof name, "%s%s", sensor.name, end);
      CPSensor s = {CP_SIZED(CPSensor), .gradient = g};
      ck_assert_msg(CPMechGetSensor(mech, name, now, y, &s) == CP_SUCCESS, "%s: %s", name,
                    CPObjectGetLastMessage(CP_OBJECT(mech)));
      for (int level = 0; level < 2; level++) {
        sunrealtype found = 0, scale = 1;
        for (int k = 0; k < nu; k++) {
          d[k] = turning[(k + i) % 11];
          found += g[level * nu + k] * d[k], scale += fabs(g[level * nu + k] * d[k]);
        }
        const sunrealtype wanted = difference_along(name, d, level);
        ck_assert_msg(fabs(found - wanted) <= 1e-8 * scale, "%s, %d: %.15g and %.15g, of %g", name,
                      level, found, wanted, scale);
      }
    }
  }
  free(g);
  done();
}
END_TEST

/* A pendulum at theta = asin(0.6) from the vertical, theta'' = -9.81 sin(theta) / 1.5: derivatives of accelerations are exact, to more digits
 * than differences would have. Its centre is at (0.6, -0.8), a'' = theta'' (0.8, 0.6) at rest. */
START_TEST(gradients_of_accelerations_are_exact) {
  static const char text[] = "dimension: 2\ngravity: [0, -9.81]\n"
                             "bodies: [{name: b, mass: 1, inertia: 0.5, at: [0.6, -0.8]}]\n"
                             "joints: [{name: j, kind: revolute, b: b}]\n";
  const sunrealtype turn[] = {0.8, 0.6, 1}, slope = -6.54 * 0.8, now_a = -6.54 * 0.6;
  const struct {
    const char *name;
    sunrealtype slope;
  } of[] = {{"j.acceleration", slope},
            {"b.alpha.z", slope},
            {"b.acceleration.x", slope * 0.8 - now_a * 0.6},
            {"b.acceleration.y", slope * 0.6 + now_a * 0.8}};
  for (int f = 0; f < 2; f++) {
    ck_assert_int_eq(CPBodiesRead("p.yaml", text, strlen(text), &bodies, NULL), CP_SUCCESS);
    y   = build_as(bodies, f ? CP_JOINT_COORDINATES : CP_ABSOLUTE, &mech);
    now = 0;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
      sunrealtype g[6], along = 0;
      CPSensor s = {CP_SIZED(CPSensor), .gradient = g};
      ck_assert_int_eq(CPMechGetSensor(mech, of[i].name, now, y, &s), CP_SUCCESS);
      for (int k = 0; k < (f ? 1 : 3); k++) along += g[k] * (f ? 1 : turn[k]);
      ck_assert_double_eq_tol(along, of[i].slope, 2e-14);
    }
    done();
  }
}
END_TEST

/* The same of reactions and of the torque of a drive, F = m (x'' - g) and T = J theta'' + m g l sin(theta) */
START_TEST(gradients_of_reactions_are_exact) {
  static const char body[]  = "dimension: 2\ngravity: [0, -9.81]\n"
                              "bodies: [{name: b, mass: 1, inertia: 0.5, at: [0.6, -0.8]}]\n"
                              "joints: [{name: j, kind: revolute, b: b}]\n",
                    motor[] = "drives: [{name: m, of: j, motion: 0*t/(1 s)}]\n",
                    rod[]   = "dimension: 2\ngravity: [0, -9.81]\n"
                              "bodies: [{name: b, mass: 1, inertia: 0.5, at: [0.6, -0.8]}]\n"
                              "joints: [{name: r, kind: rod, b: b, at: [0, 0], at_b: [0.6, -0.8]}]\n";
  const sunrealtype turn[] = {0.8, 0.6, 1}, slope = -6.54 * 0.8, now_a = -6.54 * 0.6;
  const struct {
    const char *with, *name;
    sunrealtype slope;
  } of[] = {
      {"", "j.force.x", slope * 0.8 - now_a * 0.6},
      {"", "j.force.y", slope * 0.6 + now_a * 0.8},
      /* in its own axes, theta = 0 at the placement: it turns by dtheta, and its force with it */
      {"", "j.force.in(b).x", slope * 0.8 - now_a * 0.6 + now_a * 0.6 + 9.81},
      {motor, "m.torque", 9.81 * 0.8},
      {rod, "r.axial", -9.81 * 0.6}}; /* m g cos(theta) */
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    char text[1000];
    sunrealtype g[6], along = 0;
    CPSensor s = {CP_SIZED(CPSensor), .gradient = g};
    snprintf(text, sizeof text, "%s%s", of[i].with == rod ? "" : body, of[i].with);
    ck_assert_int_eq(CPBodiesRead("p.yaml", text, strlen(text), &bodies, NULL), CP_SUCCESS);
    y   = build_as(bodies, CP_ABSOLUTE, &mech);
    now = 0;
    ck_assert_int_eq(CPMechGetSensor(mech, of[i].name, now, y, &s), CP_SUCCESS);
    for (int k = 0; k < 3; k++) along += g[k] * turn[k];
    ck_assert_msg(fabs(along - of[i].slope) < 3e-14, "%s: %.17g and %.17g", of[i].name, along,
                  of[i].slope);
    done();
  }
}
END_TEST

START_TEST(every_listed_quantity_has_a_value_and_is_found) {
  read_file(files[_i / 2].name, _i % 2);
  const int n = CPBodiesCount(bodies, CP_SENSOR);
  ck_assert_int_gt(n, 20);
  for (int i = 0; i < n; i++) {
    const CPDescription d = thing(CP_SENSOR, i);
    CPSensor s            = CP_INIT(CPSensor);
    int found;
    ck_assert_msg(CPMechGetSensor(mech, d.name, 0, y, &s) == CP_SUCCESS, "%s: %s", d.name,
                  CPObjectGetLastMessage(CP_OBJECT(mech)));
    ck_assert_str_eq(s.unit, d.unit);
    ck_assert_int_eq(s.count, d.kind ? 3 : 1);
    for (int k = 0; k < s.count; k++) ck_assert_msg(isfinite(s.value[k]), "%s", d.name);
    char name[200];
    snprintf(name, sizeof name, "%s", d.name);
    ck_assert_int_eq(CPBodiesFind(bodies, CP_SENSOR, name, &found), CP_SUCCESS);
    ck_assert_int_eq(found, i);
  }
  done();
}
END_TEST

START_TEST(frames_turn_vectors_and_move_positions) {
  sunrealtype x[3], P[3], a, b;
  read_file("double_wishbone", 0);
  move(0.1);
  sense(x, "point([0.1, 20 mm, -0.3]).position.in(upright)", "upright");
  ck_assert_double_eq_tol(x[0], 0.1, 1e-15);
  ck_assert_double_eq_tol(x[1], 0.02, 1e-15);
  ck_assert_double_eq_tol(x[2], -0.3, 1e-15);
  sense(x, "force", "lower_ball"), sense(P, "force.in(lower)", "lower_ball");
  a = x[0] * x[0] + x[1] * x[1] + x[2] * x[2], b = P[0] * P[0] + P[1] * P[1] + P[2] * P[2];
  ck_assert_double_eq_tol(a / b, 1, 1e-14);
  sense(x, "force.in(ground).y", "lower_ball"), sense(P, "force", "lower_ball");
  ck_assert(x[0] == P[1]);
  sense(x, "omega.in(upright)", "upright");
  for (int k = 0; k < 3; k++)
    ck_assert_double_eq_tol(x[k], N_VGetArrayPointer(y)[21 + 15 + k], 1e-14);
  done();
}
END_TEST

static const struct {
  const char *name, *rule;
} bad[] = {{"lower_axes.force", "did you mean \"lower_axis\"?"},
           {"lower_axis.farce",
            "lower_axis has angle, rate, acceleration, force, torque; did you mean force?"},
           {"lower_axis.1", "fewer coordinates"},
           {"lower_axis.", "there is no quantity"},
           {"upright.point(1, 2).velocity", "point([x, y, z])"},
           {"upright.point([1, 2, 3 kg]).velocity", "point([x, y, z])"},
           {"upright.point([1, 2, 3]", "point([x, y, z])"},
           {"upright.velocity.in(upward)", "must name a body"},
           {"upright.velocity.w", "there is no quantity"},
           {"spring.length.x", "there is no quantity"},
           {"wheel.position", "there is no quantity"},
           {"", "there is no quantity"},
           {".", "there is no quantity"}};

START_TEST(what_is_wrong_is_named) {
  CPSensor s = CP_INIT(CPSensor);
  int i;
  read_file("double_wishbone", 0);
  ck_assert_int_eq(CPMechGetSensor(mech, bad[_i].name, 0, y, &s), CP_ILL_INPUT);
  const char *text = CPObjectGetLastMessage(CP_OBJECT(mech));
  ck_assert_msg(strstr(text, bad[_i].rule) != NULL, "%s", text);
  ck_assert_int_eq(CPBodiesFind(bodies, CP_SENSOR, bad[_i].name, &i), CP_ILL_INPUT);
  sunrealtype g[36];
  s.gradient = g;
  ck_assert_int_eq(CPMechGetSensor(mech, "upright.velocity", 0, y, &s), CP_NOT_SUPPORTED);
  done();
}
END_TEST

TEST_SUITE(sensors) {
  Suite *suite = suite_create("sensors");
  TCase *tcase = tcase_create("sensors");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_set_timeout(tcase, 60);
  tcase_add_loop_test(tcase, forces_by_name_balance_the_motion_of_each_body, 0, 2 * FILES);
  tcase_add_test(tcase, gradients_of_accelerations_are_exact);
  tcase_add_test(tcase, gradients_of_reactions_are_exact);
  tcase_add_loop_test(tcase, every_listed_quantity_has_a_value_and_is_found, 0, 2 * FILES);
  tcase_add_loop_test(tcase, gradients_of_all_quantities_are_those_of_their_values, 0, 2 * FILES);
  tcase_add_loop_test(tcase, derivatives_are_those_of_the_value, 0, 8);
  tcase_add_test(tcase, frames_turn_vectors_and_move_positions);
  tcase_add_loop_test(tcase, what_is_wrong_is_named, 0, sizeof bad / sizeof bad[0]);
  suite_add_tcase(suite, tcase);
  return suite;
}
