/* Contacts of shapes in motion: a ball that rolls and slips on a capsule, ellipsoids that collide, and boxes on boxes. */
#include "acting.h"

/* Runs from 0 to t_end, with an event function. */
static void run_to_end(const char *method, sunrealtype tol, sunrealtype t_end, CPContactEventFn fn,
                       void *data) {
  ck_assert_int_eq(CPContactSetEventFn(contact, fn, data), CP_SUCCESS);
  ck_assert_int_eq(run_with(method, tol, t_end), CP_SUCCESS);
}

typedef struct {
  CPContactPhase phase[4];
  sunrealtype t[4];
  int n;
} Phases;

static int keep(const CPContactEvent *event, void *data) {
  Phases *p = data;
  if (event->t > 0 && p->n < 4) p->phase[p->n] = event->after, p->t[p->n++] = event->t;
  return 0;
}

/* A ball of radius r starts at rest at the angle start from the top of a log of radius R and rolls: with s = R + r,
 *
 *   angle'' = 5/7 g/s sin angle,   N = m g (17/7 cos angle - 10/7 cos start),   F = 2/7 m g sin angle,
 *
 * until F = mu N. _i: formulation, method, and a log that is a capsule, a cylinder, or an ellipsoid of revolution about the ball's
 * path, which is as round. */
START_TEST(a_ball_rolls_on_a_log_until_it_slips) {
  static const CPShapeKind kinds[] = {CP_SHAPE_CAPSULE, CP_SHAPE_CYLINDER, CP_SHAPE_ELLIPSOID};
  const sunrealtype R = 0.5, r = 0.1, start = 0.3, mu = 0.5, g = 9.81, s = R + r, J = 0.4 * r * r;
  const CPShapeKind kind  = kinds[_i / 4];
  const sunrealtype at[3] = {s * sin(start), 0, s * cos(start)};
  const CPBody ball       = {CP_NEW_BODY("ball"), .mass = 1, .inertia = {J, J, J},
                             .position = {at[0], at[1], at[2]}};
  CPShape log = {CP_NEW_SHAPE("log"), .kind = kind, .body = "ground", .on = {.axis = {0, 1, 0}},
                 .size = {R, 0, 1}};
  const CPShape shell       = {CP_NEW_SHAPE("shell"), .kind = CP_SHAPE_SPHERE, .body = "ball",
                               .in = CP_IN_BODIES, .size = {r}};
  const CPBodyContact touch = {CP_NEW_CONTACT("contact"), .a = "log", .b = "shell",
                               .on = CP_ON_SHAPE, .law = {.mu = mu}};
  if (kind == CP_SHAPE_ELLIPSOID) log.size[1] = R;
  bodies = CPBodiesCreate(3, (sunrealtype[]){0, 0, -g});
  add_element(bodies, &ball.head), add_element(bodies, &log.head), add_element(bodies, &shell.head),
      add_element(bodies, &touch.head);
  act((CPFormulation)(_i % 2));
  Phases p = {.n = 0};
  run_to_end(methods[_i / 2 % 2], 1e-10, 0.55, keep, &p);
  /* the angle of slip by bisection, and its time by the integral of d angle / angle' with angle = start + x^2, which is smooth */
  sunrealtype low = start, high = 1.5, t = 0;
  for (int i = 0; i < 60; i++) {
    const sunrealtype a                                                 = (low + high) / 2;
    *(2 * sin(a) < mu * (17 * cos(a) - 10 * cos(start)) ? &low : &high) = a;
  }
  enum { PIECES = 2000 };
  const sunrealtype h = sqrt(low - start) / PIECES;
  for (int i = 0; i < PIECES;
       i++) /* Simpson's rule would need 1/x at 0: midpoints of Gauss, two in each piece */
    for (int k = -1; k <= 1; k += 2) {
      const sunrealtype x = h * (i + (1 + k / sqrt(SUN_RCONST(3.0))) / 2), a = start + x * x,
                        drop = 2 * sin((a + start) / 2) * sin((a - start) / 2);
      t += h / 2 * 2 * x / sqrt(SUN_RCONST(10.0) / 7 * g / s * drop);
    }
  ck_assert_int_ge(p.n, 1);
  ck_assert_int_eq(p.phase[0], CP_CONTACT_SLIDING);
  ck_assert_double_eq_tol(p.t[0], t, 1e-8);
  release();
}
END_TEST

/* Total momentum, angular momentum about the origin, and kinetic energy; in absolute coordinates, where body k has the inertia J */
static void totals(const sunrealtype *mass, const sunrealtype (*J)[3], sunrealtype *sum) {
  memset(sum, 0, 7 * sizeof *sum);
  for (int k = 0; k < 2; k++) {
    char name[40];
    static const char *const names[] = {"one", "two"};
    sunrealtype x[3], v[3];
    CPSensor omega = CP_INIT(CPSensor);
    ck_assert_int_eq(body_point(mech, k, (sunrealtype[]){0, 0, 0}, y, x, v), CP_SUCCESS);
    snprintf(name, sizeof name, "%s.omega.in(%s)", names[k], names[k]);
    ck_assert_int_eq(CPMechGetSensor(mech, name, 0, y, &omega), CP_SUCCESS);
    for (int i = 0; i < 3; i++) {
      sunrealtype e[3] = {0, 0, 0}, end[3];
      const int j = (i + 1) % 3, l = (i + 2) % 3;
      e[i] = 1;
      ck_assert_int_eq(body_point(mech, k, e, y, end, NULL), CP_SUCCESS);
      sum[i] += mass[k] * v[i];
      sum[3 + i] += mass[k] * (x[j] * v[l] - x[l] * v[j]);
      for (int o = 0; o < 3; o++) sum[3 + o] += J[k][i] * omega.value[i] * (end[o] - x[o]);
      sum[6] += (mass[k] * v[i] * v[i] + J[k][i] * omega.value[i] * omega.value[i]) / 2;
    }
  }
}

static int count(const CPContactEvent *event, void *data) {
  *(int *)data += event->struck;
  return 0;
}

/* Without friction and with e = 1 both momenta and the energy are conserved; with friction the momenta. _i: formulation, friction */
START_TEST(momentum_is_conserved_where_ellipsoids_collide) {
  static const sunrealtype mass[] = {1, 0.6}, J[2][3] = {{0.02, 0.03, 0.04}, {0.015, 0.01, 0.02}};
  const CPBody one = {CP_NEW_BODY("one"), .mass = mass[0], .inertia = {J[0][0], J[0][1], J[0][2]},
                      .omega = {0.4, -1, 2}};
  const CPBody two = {CP_NEW_BODY("two"),
                      .mass     = mass[1],
                      .inertia  = {J[1][0], J[1][1], J[1][2]},
                      .position = {1.3, 0.15, -0.1},
                      .velocity = {-2, 0, 0.1},
                      .omega    = {-1, 3, 0.5}};
  const CPShape first       = {CP_NEW_SHAPE("first"), .kind = CP_SHAPE_ELLIPSOID, .body = "one",
                               .in = CP_IN_BODIES, .size = {0.2, 0.3, 0.4}},
                second      = {CP_NEW_SHAPE("second"), .kind = CP_SHAPE_ELLIPSOID, .body = "two",
                               .in = CP_IN_BODIES, .size = {0.4, 0.2, 0.3}};
  const CPBodyContact touch = {CP_NEW_CONTACT("contact"), .a = "first", .b = "second",
                               .on = CP_ON_SHAPE, .law = {.mu = _i / 2 ? 0.4 : 0, .restitution = 1}};
  bodies                    = CPBodiesCreate(3, NULL);
  add_element(bodies, &one.head), add_element(bodies, &two.head), add_element(bodies, &first.head),
      add_element(bodies, &second.head), add_element(bodies, &touch.head);
  act((CPFormulation)(_i % 2));
  sunrealtype before[7], after[7];
  int impacts = 0;
  totals(mass, J, before);
  run_to_end("DOP853", 1e-11, 1.5, count, &impacts);
  totals(mass, J, after);
  ck_assert_int_ge(impacts, 1);
  for (int i = 0; i < 6; i++) ck_assert_double_eq_tol(after[i], before[i], 1e-9);
  if (_i / 2) ck_assert_double_lt(after[6], before[6] - 1e-3);
  else ck_assert_double_eq_tol(after[6], before[6], 1e-9);
  release();
}
END_TEST

/* A ball on an arm that turns about a vertical axis touches the floor, but for roundoff. The axis carries the weight, and no motion
 * presses the contact: the arm turns on at its speed. _i: formulation, sign of the gap */
START_TEST(a_contact_that_nothing_can_press_has_no_friction) {
  const CPBody arm    = {CP_NEW_BODY("arm"),         .mass = 1,
                         .inertia = {0.1, 0.1, 0.1}, .position = {0.3, 0, 0.1},
                         .velocity = {0, 0.6, 0},    .omega = {0, 0, 2}};
  const CPJoint axis  = {CP_NEW_JOINT("axis"), .kind = CP_JOINT_REVOLUTE, .b = "arm",
                         .on_a = {.axis = {0, 0, 1}}};
  const CPShape ball  = {CP_NEW_SHAPE("ball"), .kind = CP_SHAPE_SPHERE, .body = "arm",
                         .in = CP_IN_BODIES, .size = {0.1}},
                floor = {
                    CP_NEW_SHAPE("floor"), .kind = CP_SHAPE_PLANE, .body = "ground",
                    .on = {.point = {0, 0, (_i / 2 - 1) * SUN_RCONST(1e-16)}, .axis = {0, 0, 1}}};
  const CPBodyContact touch = {CP_NEW_CONTACT("contact"), .a = "floor", .b = "ball",
                               .on = CP_ON_SHAPE, .law = {.mu = 1}};
  int impacts               = 0;
  bodies                    = CPBodiesCreate(3, (sunrealtype[]){0, 0, -10});
  add_element(bodies, &arm.head), add_element(bodies, &axis.head), add_element(bodies, &ball.head),
      add_element(bodies, &floor.head), add_element(bodies, &touch.head);
  act((CPFormulation)(_i % 2));
  run_to_end("DOP853", 1e-8, 1.5, count, &impacts);
  ck_assert_int_eq(impacts, 0);
  ck_assert_double_eq_tol(quantity_at(mech, "axis.angle", 1.5, y, 0), 3, 1e-7);
  ck_assert_double_eq_tol(quantity_at(mech, "axis.rate", 1.5, y, 0), 2, 1e-7);
  release();
}
END_TEST

static int count_event(CPSession session, const CPEvent *event, N_Vector state, void *data) {
  (void)session, (void)event, (void)state;
  ++*(int *)data;
  return 0;
}

/* A ball passes another one: nothing happens where their gap is least, unless it may close within the step. _i: formulation */
START_TEST(a_ball_that_passes_another_one_is_no_event) {
  const CPBody one = {CP_NEW_BODY("one"), .mass = 1, .inertia = {1, 1, 1}},
               two = {CP_NEW_BODY("two"), .mass = 1, .inertia = {1, 1, 1}, .position = {-3, 5, 0},
                      .velocity = {1, 0, 0}};
  const CPShape first       = {CP_NEW_SHAPE("first"), .kind = CP_SHAPE_SPHERE, .body = "one",
                               .in = CP_IN_BODIES, .size = {0.1}},
                second      = {CP_NEW_SHAPE("second"), .kind = CP_SHAPE_SPHERE, .body = "two",
                               .in = CP_IN_BODIES, .size = {0.1}};
  const CPBodyContact touch = {CP_NEW_CONTACT("contact"), .a = "first", .b = "second",
                               .on = CP_ON_SHAPE, .law = {.mu = 0.5}};
  int events                = 0;
  sunrealtype t             = 0;
  bodies                    = CPBodiesCreate(3, NULL);
  add_element(bodies, &one.head), add_element(bodies, &two.head), add_element(bodies, &first.head),
      add_element(bodies, &second.head), add_element(bodies, &touch.head);
  act((CPFormulation)_i);
  CPSession session = CPSessionCreate("DOP853", test_context);
  ck_assert_int_eq(CPContactAttach(contact, session), CP_SUCCESS);
  ck_assert_int_eq(CPSessionSetTolerances(session, 1e-8, 1e-8, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionSetEventFn(session, count_event, &events), CP_SUCCESS);
  ck_assert_int_eq(CPSessionStart(session, 0, y, 6), CP_SUCCESS);
  for (int k = 1; k <= 12; k++) ck_assert_int_eq(CPSessionRun(session, k / 2.0, y, &t), CP_SUCCESS);
  ck_assert_int_eq(events, 0);
  CPSessionFree(&session);
  release();
}
END_TEST

/* ---- boxes ---- */

/* A world of boxes: the first one may belong to the ground. All touch each other. */
typedef struct {
  sunrealtype size[3], at[3], quaternion[4], velocity[3], omega[3];
} Box;

static void add_box(const char *body, const char *shape, const Box *box) {
  const sunrealtype *s = box->size;
  const CPBody one     = {CP_NEW_BODY(body),
                          .mass     = 3,
                          .inertia  = {(s[1] * s[1] + s[2] * s[2]) / 4, (s[0] * s[0] + s[2] * s[2]) / 4,
                                       (s[0] * s[0] + s[1] * s[1]) / 4},
                          .position = {box->at[0], box->at[1], box->at[2]},
                          .quaternion = {box->quaternion[0], box->quaternion[1], box->quaternion[2],
                                         box->quaternion[3]},
                          .velocity   = {box->velocity[0], box->velocity[1], box->velocity[2]},
                          .omega      = {box->omega[0], box->omega[1], box->omega[2]}};
  const CPShape own = {CP_NEW_SHAPE(shape), .kind = CP_SHAPE_BOX, .body = body, .in = CP_IN_BODIES,
                       .size = {s[0], s[1], s[2]}};
  add_element(bodies, &one.head), add_element(bodies, &own.head);
}

static void add_touch(const char *name, const char *a, const char *b, CPContactLaw law) {
  const CPBodyContact touch = {CP_NEW_CONTACT(name), .a = a, .b = b, .on = CP_ON_SHAPE, .law = law};
  add_element(bodies, &touch.head);
}

/* The ground is a plane, or a box of this size with its upper face there, turned about y by the angle. */
static void add_ground(CPShapeKind kind, sunrealtype length, sunrealtype height, sunrealtype angle) {
  const sunrealtype n[3] = {sin(angle), 0, cos(angle)}, down = kind == CP_SHAPE_BOX ? height / 2 : 0;
  const CPShape ground = {CP_NEW_SHAPE("base"), .kind = kind, .body = "ground",
                          .on   = {.point  = {-down * n[0], 0, -down * n[2]},
                                   .axis   = {n[0], n[1], n[2]},
                                   .across = {cos(angle), 0, -sin(angle)}},
                          .size = {length, length, height}};
  bodies               = CPBodiesCreate(3, (sunrealtype[]){0, 0, -10});
  add_element(bodies, &ground.head);
}

/* From rest it slides down by 1/2 g t^2 (sin a - mu cos a), or stays where it is if mu > tan a. _i: formulation, mu */
START_TEST(a_box_slides_down_a_box_or_stays) {
  static const sunrealtype angle = SUN_RCONST(0.5), t_end[2] = {1, 100};
  const int stays      = _i / 2;
  const sunrealtype mu = stays ? 0.6 : 0.3, up[3] = {0.1 * sin(angle), 0, 0.1 * cos(angle)};
  const sunrealtype slide = stays ? 0 : 5 * (sin(angle) - mu * cos(angle));
  const Box box           = {.size       = {0.4, 0.3, 0.2},
                             .at         = {up[0], up[1], up[2]},
                             .quaternion = {cos(angle / 2), 0, sin(angle / 2), 0}};
  add_ground(CP_SHAPE_BOX, 9, 1, angle);
  add_box("box", "cube", &box);
  add_touch("touch", "base", "cube", (CPContactLaw){.mu = mu});
  act((CPFormulation)(_i % 2));
  run_to_end("DOP853", 1e-9, t_end[stays], NULL, NULL);
  for (int k = 0; k < 3; k++) {
    const sunrealtype own  = quantity_at(mech, "box.position", t_end[stays], y, k);
    const sunrealtype want = up[k] + slide * (k == 0 ? cos(angle) : k == 2 ? -sin(angle) : 0);
    ck_assert_double_eq_tol(own, want, stays ? 1e-15 : 1e-10);
  }
  release();
}
END_TEST

/* Far from the edges a box is as good as a plane. Both runs have the same impacts and slide alike. _i: formulation */
START_TEST(a_box_falls_on_a_box_as_on_a_plane) {
  const Box box = {.size       = {0.3, 0.2, 0.25},
                   .at         = {0.02, 0.01, 0.4},
                   .quaternion = {0.9, 0.3, 0.2, 0.1},
                   .omega      = {1, 2, 0.5}};
  N_Vector end[2];
  int impacts[2] = {0, 0};
  for (int plane = 0; plane < 2; plane++) {
    add_ground(plane ? CP_SHAPE_PLANE : CP_SHAPE_BOX, 4, 1, 0);
    add_box("box", "cube", &box);
    add_touch("touch", "base", "cube", (CPContactLaw){.mu = 0.4, .restitution = 0.3});
    act((CPFormulation)_i);
    run_to_end("DOP853", 1e-10, 0.4, count, &impacts[plane]);
    end[plane] = N_VClone(y);
    N_VScale(1, y, end[plane]);
    release();
  }
  ck_assert_int_ge(impacts[0], 4);
  ck_assert_int_eq(impacts[0], impacts[1]);
  N_VLinearSum(1, end[0], -1, end[1], end[1]);
  ck_assert_double_le(N_VMaxNorm(end[1]), 1e-7);
  N_VDestroy(end[0]), N_VDestroy(end[1]);
}
END_TEST

/* Two edges meet at right angles; as above, and the normal is along both edges' common perpendicular, x: without friction neither
 * momentum along y and z of a single body changes. _i: formulation, friction */
START_TEST(momentum_is_conserved_where_edges_collide) {
  static const sunrealtype mass[] = {3, 3};
  static const Box box[2]         = {
              {.size = {0.4, 0.8, 0.4}, .quaternion = {0.92387953251128674, 0, 0.38268343236508977, 0}},
              {.size       = {0.4, 0.4, 0.8},
               .at         = {0.9, 0.1, -0.05},
               .velocity   = {-2, 0.1, 0.3},
               .quaternion = {0.92387953251128674, 0, 0, 0.38268343236508977}}};
  /* (size_j^2 + size_k^2) / 4 */
  static const sunrealtype J[2][3] = {{0.2, 0.08, 0.2}, {0.2, 0.2, 0.08}};
  sunrealtype before[7], after[7];
  int impacts = 0;
  bodies      = CPBodiesCreate(3, NULL);
  add_box("one", "first", &box[0]), add_box("two", "second", &box[1]);
  add_touch("touch", "first", "second", (CPContactLaw){.mu = _i / 2 ? 0.4 : 0, .restitution = 1});
  act((CPFormulation)(_i % 2));
  totals(mass, J, before);
  run_to_end("DOP853", 1e-11, 0.4, count, &impacts);
  totals(mass, J, after);
  ck_assert_int_eq(impacts, 1);
  for (int i = 0; i < 6; i++) ck_assert_double_eq_tol(after[i], before[i], 1e-9);
  if (_i / 2) ck_assert_double_lt(after[6], before[6] - 1e-3);
  else ck_assert_double_eq_tol(after[6], before[6], 1e-9);
  for (int k = 1; k < 3 && _i < 2; k++) {
    const sunrealtype u = quantity_at(mech, "two.velocity", 0.4, y, k);
    ck_assert_double_eq_tol(u, box[1].velocity[k], 1e-9);
  }
  release();
}
END_TEST

/* Two plates meet flush, so that their short upright edges are parallel, and their crossing no feature, although their length is less than what
 * counts as rounding of the plates' size times the least angle of edges. _i: formulation */
START_TEST(thin_plates_collide_flush) {
  static const Box box[2] = {
      {.size = {0.2, 0.2, 0.001}},
      {.size = {0.2, 0.2, 0.001}, .at = {0.22, 0, 0}, .velocity = {-0.1, 0, 0}}};
  int impacts = 0;
  bodies      = CPBodiesCreate(3, NULL);
  add_box("one", "first", &box[0]), add_box("two", "second", &box[1]);
  add_touch("touch", "first", "second", (CPContactLaw){.mu = 0.1, .restitution = 0.5});
  act((CPFormulation)_i);
  run_to_end("DOP853", 1e-8, 1, count, &impacts);
  ck_assert_int_eq(impacts, 4);
  /* at t = 0.2 with -0.1 m/s; afterwards with -0.05 -+ 0.5 0.1 / 2 */
  ck_assert_double_eq_tol(quantity_at(mech, "one.position", 1, y, 0), -0.06, 1e-9);
  ck_assert_double_eq_tol(quantity_at(mech, "two.position", 1, y, 0), 0.18, 1e-9);
  release();
}
END_TEST

/* The derivatives of all constraints are exact at t. */
static void check_derivatives(sunrealtype t) {
  CPMechReport r = CP_INIT(CPMechReport);
  ck_assert_msg(CPMechCheck(mech, t, y, &r) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(mech)));
  const sunrealtype errors[] = {r.A_p, r.A_v, r.v_p, r.b_v, r.K, r.C, r.Bq, r.Bu, r.udot};
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) ck_assert_double_le(errors[i], 1e-8);
}

/* The body, 0.8 long and 0.2 high, whose centre was d beyond the edge of what it lies on, at x = 1, has tipped about that: with h, the height of
 * the centre, and the moment of inertia J about the edge, J w^2 / 2 = m g (d sin angle + h (1 - cos angle)). Before the edge it stays. */
static void check_tipped(sunrealtype d, sunrealtype h, sunrealtype t_end) {
  const sunrealtype x     = quantity_at(mech, "body.position", t_end, y, 0) - 1,
                    z     = quantity_at(mech, "body.position", t_end, y, 2),
                    w     = quantity_at(mech, "body.omega", t_end, y, 1);
  const sunrealtype J     = (0.8 * 0.8 + 0.2 * 0.2) / 4 + 3 * (d * d + h * h);
  const sunrealtype angle = atan2(h, d) - atan2(z, x);
  ck_assert_double_eq_tol(hypot(x, z), hypot(d, h), 1e-12);
  ck_assert_double_eq_tol(J * w * w / 2, 30 * (d * sin(angle) + h * (1 - cos(angle))), 1e-9);
  if (d > 0) {
    ck_assert_double_gt(angle, 0.1);
    check_derivatives(t_end);
  } else ck_assert_double_eq_tol(w, 0, 1e-14);
}

/* A box whose centre is beyond the edge of another one tips about it. The faces touch in a polygon with corners of one box and crossings of
 * edges; in the end only two crossings are left, whose derivatives are exact. _i: formulation, which */
START_TEST(a_box_tips_over_the_edge_of_a_box) {
  const sunrealtype d = _i / 2 ? -0.01 : 0.05, h = 0.1, t_end = _i / 2 ? 10 : 0.3;
  const Box box = {.size = {0.8, 0.4, 2 * h}, .at = {1 + d, 0.1, h}};
  add_ground(CP_SHAPE_BOX, 2, 1, 0);
  add_box("body", "cube", &box);
  add_touch("touch", "base", "cube", (CPContactLaw){.mu = 2});
  act((CPFormulation)(_i % 2));
  run_to_end("DOP853", 1e-10, t_end, NULL, NULL);
  check_tipped(d, h, t_end);
  release();
}
END_TEST

/* A box slides along the middle of another one, or flush with its edge, where some margins of its features are rounding all the time: both
 * runs are the same motion, with the same changes of features, and those are found by as many evaluations up to one more each. _i: method */
START_TEST(features_of_flush_boxes_are_found_as_fast_as_others) {
  sunrealtype evaluations[2];
  for (int flush = 0; flush < 2; flush++) {
    const Box box = {
        .size = {0.4, 0.4, 0.2}, .at = {-1, flush ? 1.8 : 0, 0.1}, .velocity = {1, 0, 0}};
    add_ground(CP_SHAPE_BOX, 4, 1, 0);
    add_box("box", "cube", &box);
    add_touch("touch", "base", "cube", (CPContactLaw){.mu = 0.02});
    act(CP_ABSOLUTE);
    run_to_end(methods[_i], 1e-6, 1, NULL, NULL);
    ck_assert_double_eq_tol(quantity_at(mech, "box.position", 1, y, 0), -0.1,
                            1e-6); /* v t - mu g t^2 / 2 */
    ck_assert_int_eq(CPObjectGetStat(CP_OBJECT(mech), "mass_evals", &evaluations[flush]),
                     CP_SUCCESS);
    release();
  }
  ck_assert_msg(evaluations[1] <= 1.2 * evaluations[0], "%g %g", (double)evaluations[0],
                (double)evaluations[1]);
}
END_TEST

/* Steps that are short beside the distance that points may move until features are chosen anew end with a choice, which locates no event if
 * it is the same one: a box slides over the middle of another one as over a plane, which has no features. _i: method */
START_TEST(short_steps_over_a_face_are_those_over_a_plane) {
  const Box box = {.size = {0.4, 0.4, 0.2}, .at = {-1, 0, 0.1}, .velocity = {1, 0, 0}};
  sunrealtype evaluations[2];
  for (int plane = 0; plane < 2; plane++) {
    sunrealtype t = 0;
    add_ground(plane ? CP_SHAPE_PLANE : CP_SHAPE_BOX, 4, 1, 0);
    add_box("box", "cube", &box);
    add_touch("touch", "base", "cube", (CPContactLaw){.mu = 0.02});
    act(CP_ABSOLUTE);
    CPSession session = CPSessionCreate(methods[_i], test_context);
    ck_assert_int_eq(CPContactAttach(contact, session), CP_SUCCESS);
    ck_assert_int_eq(CPSessionSetTolerances(session, 1e-6, 1e-6, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPSessionStart(session, 0, y, 1), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSetMaxStep(CPSessionGetIntegrator(session), 0.01), CP_SUCCESS);
    ck_assert_int_eq(CPSessionRun(session, 1, y, &t), CP_SUCCESS);
    ck_assert_double_eq_tol(quantity_at(mech, "box.position", 1, y, 0), -0.1,
                            1e-6); /* v t - mu g t^2 / 2 */
    ck_assert_int_eq(CPObjectGetStat(CP_OBJECT(mech), "mass_evals", &evaluations[plane]),
                     CP_SUCCESS);
    CPSessionFree(&session);
    release();
  }
  ck_assert_msg(evaluations[0] <= 1.05 * evaluations[1], "%g %g", (double)evaluations[0],
                (double)evaluations[1]);
}
END_TEST

/* Boxes of one size that are stacked flush have all corners and edges on borders of the others' faces. They stay, and a blow moves the
 * upper one alone. _i: formulation */
START_TEST(boxes_stay_stacked_flush) {
  Box box[3] = {{.size = {0.4, 0.4, 0.2}, .at = {0, 0, 0.1}},
                {.size = {0.4, 0.4, 0.2}, .at = {0, 0, 0.3}},
                {.size = {0.4, 0.4, 0.2}, .at = {0, 0, 0.5}, .velocity = {1, 0, 0}}};
  add_ground(CP_SHAPE_BOX, 0.4, 1, 0);
  add_box("low", "a", &box[0]), add_box("middle", "b", &box[1]), add_box("high", "c", &box[2]);
  add_touch("one", "base", "a", (CPContactLaw){.mu = 0.5});
  add_touch("two", "a", "b", (CPContactLaw){.mu = 0.5});
  add_touch("three", "b", "c", (CPContactLaw){.mu = 0.5});
  act((CPFormulation)_i);
  run_to_end("DOP853", 1e-9, 2, NULL, NULL);
  const sunrealtype x[] = {quantity_at(mech, "low.position", 2, y, 0),
                           quantity_at(mech, "middle.position", 2, y, 0),
                           quantity_at(mech, "high.position", 2, y, 0)},
                    z[] = {quantity_at(mech, "low.position", 2, y, 2),
                           quantity_at(mech, "middle.position", 2, y, 2),
                           quantity_at(mech, "high.position", 2, y, 2)};
  ck_assert_double_eq_tol(x[0], 0, 1e-13);
  ck_assert_double_eq_tol(x[1], 0, 1e-13);
  ck_assert_double_eq_tol(x[2], 0.1, 1e-9); /* v^2 / (2 mu g) */
  for (int i = 0; i < 3; i++) ck_assert_double_eq_tol(z[i], box[i].at[2], 1e-12);
  release();
}
END_TEST

/* Boxes that fall on a plane: they bounce, tip and slide, some feet stop while others still slide, and each box lies at last. Nothing drives
 * them, so that the kinetic and potential energy never rises: the work of friction is never positive. The bound is 20
 * tolerances of the weight's energy. _i: box, tolerance */
START_TEST(boxes_that_fall_gain_no_energy_by_friction) {
  enum { OUTPUTS = 200 };
  static const struct {
    Box box;
    sunrealtype mu;
  } falls[]             = {{{.size       = {0.2, 0.2, 0.2},
                             .at         = {0, 0, 0.3},
                             .quaternion = {0.9659258262890683, 0.2588190451025207, 0, 0}},
                            0.5},
                           {{.size       = {0.2, 0.1, 0.2},
                             .at         = {0, 0, 0.21797765645561634},
                             .quaternion = {0.995620726277982, 0.05448672602916119, -0.0725716969629218,
                                            -0.02244804874033689}},
                            0.5467730456021426},
                           {{.size       = {0.15, 0.1, 0.2},
                             .at         = {0, 0, 0.15726725604702896},
                             .quaternion = {0.2800772384828199, -0.2789620544435011, -0.8745879114202557,
                                            -0.28077196772835755}},
                            0.3505789580625075},
                           {{.size       = {0.3, 0.1, 0.1},
                             .at         = {0, 0, 0.2773341461384181},
                             .quaternion = {0.9992966940684939, 0.037498229608596285, 0, 0}},
                            0.4905325681732735},
                           {{.size       = {0.3, 0.3, 0.3},
                             .at         = {0, 0, 0.30591729532305373},
                             .quaternion = {0.18155483037105546, -0.19526615717294407, 0.5819794793178431,
                                            0.7682505171392862}},
                            0.5736499369985706}};
  const sunrealtype tol = pow(10, -4 - _i % 5), t_end = 2, g = 9.81;
  const Box *box     = &falls[_i / 5].box;
  sunrealtype before = INFINITY, t = 0;
  const CPShape ground = {CP_NEW_SHAPE("base"), .kind = CP_SHAPE_PLANE, .body = "ground",
                          .on = {.axis = {0, 0, 1}}, .size = {1, 1}};
  bodies               = CPBodiesCreate(3, (sunrealtype[]){0, 0, -g});
  add_element(bodies, &ground.head);
  add_box("box", "cube", box);
  add_touch("touch", "base", "cube", (CPContactLaw){.mu = falls[_i / 5].mu, .restitution = 0.5});
  act(CP_ABSOLUTE);
  CPSession session = CPSessionCreate("DOP853", test_context);
  ck_assert_int_eq(CPContactAttach(contact, session), CP_SUCCESS);
  ck_assert_int_eq(CPSessionSetTolerances(session, tol, tol, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionStart(session, 0, y, t_end), CP_SUCCESS);
  for (int k = 1; k <= OUTPUTS; k++) {
    CPPowers now = CP_INIT(CPPowers);
    ck_assert_int_eq(CPSessionRun(session, k * t_end / OUTPUTS, y, &t), CP_SUCCESS);
    ck_assert_int_eq(CPMechGetPowers(mech, t, y, NULL, &now), CP_SUCCESS);
    const sunrealtype energy = now.kinetic + now.potential;
    ck_assert_msg(energy <= before + 20 * tol * 3 * g * box->at[2], "t = %g: energy rises by %g",
                  (double)t, (double)(energy - before));
    before = energy;
  }
  for (int i = 0; i < 6; i++) ck_assert_double_eq_tol(entries(y)[7 + i], 0, tol);
  CPSessionFree(&session);
  release();
}
END_TEST

/* ---- meshes and capsules ---- */

/* The corners of a box of this size */
static void corners_of(const sunrealtype *size, sunrealtype *points) {
  for (int i = 0; i < 24; i++) points[i] = (i / 3 >> i % 3 & 1 ? 0.5 : -0.5) * size[i % 3];
}

/* As add_ground with a box, or a mesh that is one */
static void add_base(int is_mesh, sunrealtype length, sunrealtype height) {
  const sunrealtype size[] = {length, length, height};
  sunrealtype points[24];
  corners_of(size, points);
  const CPShape ground = {CP_NEW_SHAPE("base"),
                          .kind    = is_mesh ? CP_SHAPE_MESH : CP_SHAPE_BOX,
                          .body    = "ground",
                          .on      = {.point = {0, 0, -height / 2}},
                          .size    = {length, length, height},
                          .points  = is_mesh ? points : NULL,
                          .npoints = is_mesh ? 8 : 0};
  bodies               = CPBodiesCreate(3, (sunrealtype[]){0, 0, -10});
  add_element(bodies, &ground.head);
}

/* A body of the size of a box with a shape of another kind */
static void add_solid(const Box *box, const CPShape *shape) {
  CPShape own = *shape;
  add_box("body", "unused", box);
  own.head = (CPElement)CP_NEW_SHAPE("solid");
  own.body = "body", own.in = CP_IN_BODIES;
  add_element(bodies, &own.head);
}

static const sunrealtype tetrahedron[] = {0.3,   0,     -0.1, -0.15, 0.26, -0.1,
                                          -0.15, -0.26, -0.1, 0,     0,    0.3};

/* What falls on a plane, a box or a mesh has the same impacts and ends at the same place, far from the edges. _i: formulation; a mesh
 * that is a box, a tetrahedron, a capsule, a ball */
START_TEST(all_bases_are_as_good_as_a_plane) {
  if (test_is_short() && _i != 3 && _i != 4 && _i != 7) return;
  const Box box     = {.size       = {0.3, 0.2, 0.25},
                       .at         = {0.02, 0.01, 0.6},
                       .quaternion = {0.9, 0.3, 0.2, 0.1},
                       .omega      = {1, 2, 0.5}};
  const double tol  = _i / 2 == 0 ? 1e-7 : 1e-8; /* 160 impacts, and 40 */
  CPShape shapes[4] = {{.kind = CP_SHAPE_MESH, .npoints = 8},
                       {.kind = CP_SHAPE_MESH, .points = tetrahedron, .npoints = 4},
                       {.kind = CP_SHAPE_CAPSULE, .size = {0.1, 0, 0.4}},
                       {.kind = CP_SHAPE_SPHERE, .size = {0.2}}};
  sunrealtype points[24], end[4][13];
  int impacts[4] = {0, 0, 0, 0};
  corners_of(box.size, points);
  shapes[0].points = points;
  /* A box on a plane has contacts of another kind, without features. */
  for (int base = _i / 2 ? 1 : 0; base < 4; base++) {
    if (base < 2) add_ground(CP_SHAPE_PLANE, 4, 1, 0);
    else add_base(base == 3, 4, 1);
    add_solid(&box, &shapes[_i / 2]);
    add_touch("touch", "base", base == 0 ? "unused" : "solid",
              (CPContactLaw){.mu = 0.4, .restitution = 0.3});
    act((CPFormulation)(_i % 2));
    run_to_end("DOP853", 1e-10, 1, count, &impacts[base]);
    memcpy(end[base], N_VGetArrayPointer(y), sizeof *end);
    release();
  }
  ck_assert_int_ge(impacts[3], _i / 2 == 3 ? 3 : 8);
  for (int base = _i / 2 ? 1 : 0; base < 3; base++) {
    ck_assert_int_eq(impacts[base], impacts[3]);
    for (int k = 0; k < 13; k++) ck_assert_double_eq_tol(end[base][k], end[3][k], tol);
  }
}
END_TEST

/* The time at which the first contact opens */
static int leaves(const CPContactEvent *event, void *data) {
  sunrealtype *at = data;
  if (event->after == CP_CONTACT_OPEN && event->before != CP_CONTACT_OPEN && isnan(*at))
    *at = event->t;
  return 0;
}

/* Without friction what is round with the radius r leaves the edge of a table where v^2 / r = g cos a; with the energy,
 * cos a = 2 / 3 + v_0^2 / (3 g r). Until then all contacts stay closed. _i: formulation; box or mesh; a ball, a capsule along the edge */
START_TEST(what_rolls_over_an_edge_leaves_it_in_time) {
  const sunrealtype r = 0.1, v_0 = 0.5, tol = 1e-9;
  const int is_capsule    = _i / 4 > 0;
  const sunrealtype angle = acos(SUN_RCONST(2.0) / 3 + v_0 * v_0 / (30 * r));
  const Box body          = {.size = {0.2, 0.2, 0.2}, .at = {0.4, 0.1, r}, .velocity = {v_0, 0, 0}};
  const CPShape shape     = {.kind = is_capsule ? CP_SHAPE_CAPSULE : CP_SHAPE_SPHERE,
                             .on   = {.axis = {0, 1, 0}},
                             .size = {r, 0, 0.4}};
  sunrealtype t           = NAN;
  add_base(_i / 2 % 2, 1, 1);
  add_solid(&body, &shape);
  add_touch("touch", "base", "solid", (CPContactLaw){.mu = 0});
  act((CPFormulation)(_i % 2));
  run_to_end("DOP853", tol, 0.6, leaves, &t);
  ck_assert(!isnan(t));
  const sunrealtype fall = 0.6 - t, x = 0.5 + r * sin(angle), z = r * cos(angle),
                    v = sqrt(10 * r * cos(angle));
  ck_assert_double_eq_tol(quantity_at(mech, "body.position", 0.6, y, 0), x + v * cos(angle) * fall,
                          100 * tol);
  ck_assert_double_eq_tol(quantity_at(mech, "body.position", 0.6, y, 2),
                          z - v * sin(angle) * fall - 5 * fall * fall, 100 * tol);
  release();
}
END_TEST

/* As a box does, a capsule across the edge tips about it if its centre is d beyond, with its radius as the height h, and stays otherwise.
 * In the end only the crossing with the edge is left, whose derivatives are exact. _i: formulation, box or mesh, which */
START_TEST(a_capsule_tips_over_the_edge_of_a_polyhedron) {
  const sunrealtype d = _i / 4 ? -0.01 : 0.05, h = 0.1, t_end = _i / 4 ? 10 : 0.3;
  const Box body = {
      .size       = {0.2, 0.2, 0.8},
      .at         = {1 + d, 0.1, h},
      .quaternion = {SUN_RCONST(0.70710678118654752440), 0, SUN_RCONST(0.70710678118654752440), 0}};
  const CPShape shape = {.kind = CP_SHAPE_CAPSULE, .size = {h, 0, 0.8}};
  add_base(_i / 2 % 2, 2, 1);
  add_solid(&body, &shape);
  add_touch("touch", "base", "solid", (CPContactLaw){.mu = 2});
  act((CPFormulation)(_i % 2));
  run_to_end("DOP853", 1e-10, t_end, NULL, NULL);
  check_tipped(d, h, t_end);
  release();
}
END_TEST

/* A ball or a capsule strikes a flying tetrahedron: both momenta and the energy are conserved. _i: formulation, which */
START_TEST(momentum_is_conserved_where_round_ends_strike_a_mesh) {
  static const sunrealtype mass[] = {3, 3}, J[2][3] = {{0.2, 0.2, 0.2}, {0.2, 0.2, 0.2}};
  static const Box box[2] = {
      {.size  = {0.63245553203367587, 0.63245553203367587, 0.63245553203367587},
       .omega = {0.2, -0.1, 0.3}},
      {.size     = {0.63245553203367587, 0.63245553203367587, 0.63245553203367587},
       .at       = {0.95, 0.02, -0.08},
       .velocity = {-2, 0.1, 0.3}}};
  const CPShape mesh = {CP_NEW_SHAPE("first"), .kind = CP_SHAPE_MESH, .body = "one",
                        .in = CP_IN_BODIES,    .points = tetrahedron, .npoints = 4},
                ball = {CP_NEW_SHAPE("second"),
                        .kind = _i / 2 == 0 ? CP_SHAPE_SPHERE : CP_SHAPE_CAPSULE,
                        .body = "two",
                        .in   = CP_IN_BODIES,
                        .on   = {.axis = {_i / 2 == 1 ? 1 : 0.2, 0.5, 1}},
                        .size = {0.1, 0, 0.4}};
  sunrealtype before[7], after[7];
  int impacts = 0;
  bodies      = CPBodiesCreate(3, NULL);
  add_box("one", "unused", &box[0]), add_box("two", "unused_2", &box[1]);
  add_element(bodies, &mesh.head), add_element(bodies, &ball.head);
  add_touch("touch", "first", "second", (CPContactLaw){.mu = 0, .restitution = 1});
  act((CPFormulation)(_i % 2));
  totals(mass, J, before);
  run_to_end("DOP853", 1e-11, 0.45, count, &impacts);
  totals(mass, J, after);
  ck_assert_int_eq(impacts, 1);
  for (int i = 0; i < 7; i++) ck_assert_double_eq_tol(after[i], before[i], 1e-9);
  release();
}
END_TEST

/* Near a tetrahedron: a ball over its vertex and its edge; a capsule with its side over a vertex and across an edge, with its end over a
 * vertex and an edge. A session finds the feature, whose derivatives are exact. _i: formulation, which */
START_TEST(features_of_round_shapes_have_exact_derivatives) {
  static const struct {
    sunrealtype at[3], axis[3]; /* axis 0: a ball */
  } near[]              = {{{0.03, 0.02, 0.402}, {0}},
                           {{0.236, 0.005, 0.164}, {0}},
                           {{0.03, 0.02, 0.405}, {1, 0.2, 0.05}},
                           {{0.236, 0.005, 0.164}, {0.1, 1, 0.2}},
                           {{0.01, 0.03, 0.605}, {0.1, 0.2, 1}},
                           {{0.396, 0.02, 0.284}, {0.8, 0.1, 0.6}}};
  const sunrealtype *at = near[_i / 2].at, *axis = near[_i / 2].axis;
  const int is_ball   = axis[0] == 0;
  const Box box[2]    = {{.size = {0.6, 0.7, 0.8}, .omega = {0.2, -0.1, 0.3}},
                         {.size = {0.5, 0.6, 0.3}, .at = {at[0], at[1], at[2]}, .omega = {0.3, 0.2, 1}}};
  const CPShape mesh  = {CP_NEW_SHAPE("first"), .kind = CP_SHAPE_MESH, .body = "one",
                         .in = CP_IN_BODIES,    .points = tetrahedron, .npoints = 4},
                round = {CP_NEW_SHAPE("second"),
                         .kind = is_ball ? CP_SHAPE_SPHERE : CP_SHAPE_CAPSULE,
                         .body = "two",
                         .in   = CP_IN_BODIES,
                         .on   = {.axis = {axis[0], axis[1], is_ball ? 1 : axis[2]}},
                         .size = {0.1, 0, 0.4}};
  sunrealtype least   = INFINITY;
  bodies              = CPBodiesCreate(3, (sunrealtype[]){1, 2, -10});
  add_box("one", "unused", &box[0]), add_box("two", "unused_2", &box[1]);
  add_element(bodies, &mesh.head), add_element(bodies, &round.head);
  add_touch("touch", "first", "second", (CPContactLaw){.mu = 0});
  act((CPFormulation)(_i % 2));
  run_to_end("DOP853", 1e-9, 1e-3, NULL, NULL);
  for (int i = 0; i < CPBodiesCount(bodies, CP_CONTACT); i++) {
    char name[40];
    snprintf(name, sizeof name, "%s.gap", thing_at(bodies, CP_CONTACT, i).name);
    const sunrealtype gap = quantity_at(mech, name, 1e-3, y, 0);
    if (gap != 0) least = fmin(least, gap);
  }
  ck_assert_double_gt(least, 0);
  ck_assert_double_lt(least, 0.012);
  check_derivatives(1e-3);
  release();
}
END_TEST

/* A coin of 64 sides: its end has more corners than contacts. It slides to a stop after v^2 / (2 mu g), flat, and over an edge of the table,
 * with its centre short of it by less than a corner that any eight have left out, it stays. _i: formulation, box or mesh, which */
START_TEST(a_flat_end_of_many_corners_lies_flat) {
  enum { SIDES = 64 };
  const sunrealtype R = 0.3, h = 0.1, v = _i / 4 ? 0 : 1, t_end = _i / 4 ? 5 : 1;
  const Box body = {
      .size = {2 * R, 2 * R, 2 * h}, .at = {_i / 4 ? 0.499 : 0, 0, h}, .velocity = {v, 0, 0}};
  sunrealtype points[6 * SIDES];
  for (int i = 0; i < 2 * SIDES; i++) {
    const sunrealtype angle = 8 * atan(1.0) * (i / 2) / SIDES;
    points[3 * i] = R * cos(angle), points[3 * i + 1] = R * sin(angle),
               points[3 * i + 2] = i % 2 ? h : -h;
  }
  const CPShape coin = {.kind = CP_SHAPE_MESH, .points = points, .npoints = 2 * SIDES};
  add_base(_i / 2 % 2, _i / 4 ? 1 : 4, 1);
  add_solid(&body, &coin);
  add_touch("touch", "base", "solid", (CPContactLaw){.mu = 0.5});
  act((CPFormulation)(_i % 2));
  run_to_end("DOP853", 1e-9, t_end, NULL, NULL);
  ck_assert_double_eq_tol(quantity_at(mech, "body.position", t_end, y, 0), body.at[0] + v * v / 10,
                          1e-9);
  ck_assert_double_eq_tol(quantity_at(mech, "body.position", t_end, y, 2), h, 1e-12);
  for (int k = 0; k < 3; k++)
    ck_assert_double_eq_tol(quantity_at(mech, "body.omega", t_end, y, k), 0, 1e-9);
  release();
}
END_TEST

enum { LINED_UP = 6 };
typedef struct {
  sunrealtype t[LINED_UP];
  int n;
} Passing;

static int passes(const CPContactEvent *event, void *data) {
  Passing *p = data;
  if (event->struck && p->n < LINED_UP) p->t[p->n] = event->t;
  p->n += event->struck;
  return 0;
}

/* Balls of equal masses and the radius r stand in a row, at distances d_k that grow, and the first one moves at the velocity v. With e = 1
 * each one stops at the next one, so that impact k is at sum_0^k (d_i - 2 r) / v, and the last one hits a wall. All pairs have contacts, nearly all of
 * which are far nearly always, and a step without events would pass through all balls. _i: formulation, method */
START_TEST(a_velocity_is_passed_on_by_balls_far_from_each_other) {
  const sunrealtype r = 0.1, v = 3, tol = 1e-9;
  const CPContactLaw law = {.restitution = 1};
  sunrealtype x[LINED_UP], t = 0, expected[LINED_UP];
  Passing p                     = {.n = 0};
  static const char *const as[] = {"a0", "a1", "a2", "a3", "a4", "a5"}, *const of[] = {"s0", "s1",
                                                                                       "s2", "s3",
                                                                                       "s4", "s5"};
  bodies             = CPBodiesCreate(3, NULL);
  const CPShape wall = {CP_NEW_SHAPE("wall"), .kind = CP_SHAPE_PLANE, .body = "ground",
                        .on = {.point = {12, 0, 0}, .axis = {-1, 0, 0}}};
  add_element(bodies, &wall.head);
  for (int i = 0; i < LINED_UP; i++) {
    x[i] = i == 0 ? 0 : x[i - 1] + 0.5 * (1 + i);
    if (i > 0) expected[i - 1] = t += (x[i] - x[i - 1] - 2 * r) / v;
    const CPBody ball   = {CP_NEW_BODY(as[i]), .mass = 2, .inertia = {0.01, 0.01, 0.01},
                           .position = {x[i], 0, 0}, .velocity = {i == 0 ? v : 0, 0, 0}};
    const CPShape shell = {CP_NEW_SHAPE(of[i]), .kind = CP_SHAPE_SPHERE, .body = as[i],
                           .in = CP_IN_BODIES, .size = {r}};
    add_element(bodies, &ball.head), add_element(bodies, &shell.head);
    for (int k = -1; k < i; k++) {
      char name[20];
      snprintf(name, sizeof name, "touch_%d_%d", k + 1, i);
      const CPBodyContact touch = {CP_NEW_CONTACT(name), .a = k < 0 ? "wall" : of[k], .b = of[i],
                                   .on = CP_ON_SHAPE, .law = law};
      add_element(bodies, &touch.head);
    }
  }
  expected[LINED_UP - 1] = t + (12 - r - x[LINED_UP - 1]) / v;
  act((CPFormulation)(_i % 2));
  run_to_end(methods[_i / 2], tol, 3.9, passes, &p);
  ck_assert_int_eq(p.n, LINED_UP);
  for (int k = 0; k < LINED_UP; k++) ck_assert_double_eq_tol(p.t[k], expected[k], 10 * tol);
  release();
}
END_TEST

static int at_walls(const CPContactEvent *event, void *data) {
  *(int *)data += event->t > 0 && !strncmp(event->name, "along", 5);
  return 0;
}

/* Balls of radius r roll on the floor along walls that they touch without a load: no force is larger than roundoff there, which at no
 * event of another ball, that bounces beside them, closes the gaps and opens them again. _i: formulation, method */
START_TEST(balls_that_roll_along_walls_without_load_have_no_events_there) {
  enum { ROLLING = 4 };
  const sunrealtype r = 0.1, v = 0.7, J = 0.4 * 3 * r * r;
  static const char *const balls[]         = {"b0", "b1", "b2", "b3", "b4"},
                           *const shells[] = {"s0", "s1", "s2", "s3", "s4"},
                           *const walls[]  = {"w0", "w1", "w2", "w3"};
  int events                               = 0;
  bodies                                   = CPBodiesCreate(3, (sunrealtype[]){0, 0, -9.81});
  const CPShape floor = {CP_NEW_SHAPE("floor"), .kind = CP_SHAPE_PLANE, .body = "ground"};
  add_element(bodies, &floor.head);
  for (int i = 0; i <= ROLLING; i++) {
    const sunrealtype a = 0.3 + 1.3 * i, n[] = {cos(a), sin(a), 0},
                      at[] = {3.1 * i, 0.2 * i, i < ROLLING ? r : 1};
    const int rolls        = i < ROLLING;
    const CPBody ball      = {CP_NEW_BODY(balls[i]),
                              .mass     = 3,
                              .inertia  = {J, J, J},
                              .position = {at[0], at[1], at[2]},
                              .velocity = {rolls ? -v * n[1] : 0, rolls ? v * n[0] : 0, 0},
                              .omega    = {rolls ? -v * n[0] / r : 0, rolls ? -v * n[1] / r : 0, 0}};
    const CPShape shell    = {CP_NEW_SHAPE(shells[i]), .kind = CP_SHAPE_SPHERE, .body = balls[i],
                              .in = CP_IN_BODIES, .size = {r}};
    char name[2][20];
    snprintf(name[0], sizeof name[0], "on_%d", i), snprintf(name[1], sizeof name[1], "along_%d", i);
    const CPBodyContact on = {CP_NEW_CONTACT(name[0]), .a = "floor", .b = shells[i],
                              .on = CP_ON_SHAPE, .law = {.mu = 0.4, .restitution = 0.7}};
    add_element(bodies, &ball.head), add_element(bodies, &shell.head), add_element(bodies, &on.head);
    if (!rolls) continue;
    const CPShape wall = {
        CP_NEW_SHAPE(walls[i]), .kind = CP_SHAPE_PLANE, .body = "ground",
        .on = {.point = {at[0] - r * n[0], at[1] - r * n[1], 0}, .axis = {n[0], n[1], 0}}};
    const CPBodyContact along = {CP_NEW_CONTACT(name[1]), .a = walls[i], .b = shells[i],
                                 .on = CP_ON_SHAPE, .law = {.mu = 0.4}};
    add_element(bodies, &wall.head), add_element(bodies, &along.head);
  }
  act((CPFormulation)(_i % 2));
  run_to_end(methods[_i / 2], 1e-6, 2, at_walls, &events);
  ck_assert_int_eq(events, 0);
  release();
}
END_TEST

static int count_struck(const CPContactEvent *event, void *data) {
  *(int *)data += event->struck;
  return 0;
}

/* Runs from 0 to t_end, and returns the least gap at `outputs` equidistant times. */
static sunrealtype least_gap(const char *method, sunrealtype tol, sunrealtype t_end, int outputs) {
  sunrealtype gap[32], least = INFINITY, t = 0;
  const int n       = CPBodiesCount(bodies, CP_CONTACT);
  CPSession session = CPSessionCreate(method, test_context);
  ck_assert_int_le(n, 32);
  ck_assert_int_eq(CPContactAttach(contact, session), CP_SUCCESS);
  ck_assert_int_eq(CPSessionSetTolerances(session, tol, tol, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionStart(session, 0, y, t_end), CP_SUCCESS);
  for (int k = 1; k <= outputs; k++) {
    ck_assert_int_eq(CPSessionRun(session, k * t_end / outputs, y, &t), CP_SUCCESS);
    ck_assert_int_eq(CPContactEvaluate(contact, t, y, NULL, NULL, gap, NULL), CP_SUCCESS);
    for (int i = 0; i < n; i++) least = fmin(least, gap[i]);
  }
  CPSessionFree(&session);
  return least;
}

/* Four balls of radius r lie in a bin that is d wider than two of them, and a fifth one falls between them, wedges them apart, rolls from
 * one to another and rests. Each ball falls as the one on it without contact forces, so that nothing brings the upper one back by itself.
 * All of them rest, after fewer impacts than MOST. No gap is below 0 by more than 1e-9, though the tolerance is 1e-4: those that
 * touch without a load, or open, are as exact as those that are closed. */
START_TEST(a_ball_among_four_in_a_bin_comes_to_rest) {
  enum { BALLS = 5, MOST = 400 };
  const sunrealtype r = 0.1, d = 0.01, J = 0.4 * r * r, side = r + d / 2;
  static const char *const balls[]         = {"b0", "b1", "b2", "b3", "b4"},
                           *const shells[] = {"s0", "s1", "s2", "s3", "s4"},
                           *const planes[] = {"floor", "w1", "w2", "w3", "w4"};
  int impacts                              = 0;
  bodies                                   = CPBodiesCreate(3, (sunrealtype[]){0, 0, -9.81});
  for (int k = 0; k < BALLS; k++) {
    const sunrealtype a = (k - 1) * acos(0.0), n[] = {k ? cos(a) : 0, k ? sin(a) : 0, !k};
    const CPShape plane = {CP_NEW_SHAPE(planes[k]), .kind = CP_SHAPE_PLANE, .body = "ground",
                           .on = {.point = {k ? -2 * side * n[0] : 0, k ? -2 * side * n[1] : 0, 0},
                                  .axis  = {n[0], n[1], n[2]}}};
    add_element(bodies, &plane.head);
  }
  for (int i = 0; i < BALLS; i++) {
    const int top           = i == BALLS - 1;
    const sunrealtype at[3] = {top ? 0.0025 : (i / 2 ? 1 : -1) * (r + d / 6),
                               top ? -0.0087 : (i % 2 ? 1 : -1) * (r + d / 6),
                               top ? 5 * r : 1.6 * r + 0.05 * r * i};
    const CPBody ball   = {CP_NEW_BODY(balls[i]), .mass = 1, .inertia = {J, J, J},
                           .position = {at[0], at[1], at[2]}};
    const CPShape shell = {CP_NEW_SHAPE(shells[i]), .kind = CP_SHAPE_SPHERE, .body = balls[i],
                           .in = CP_IN_BODIES, .size = {r}};
    add_element(bodies, &ball.head), add_element(bodies, &shell.head);
    /* The upper one stays above the floor, and between the walls. */
    for (int k = 0; k < BALLS + i; k++) {
      char name[20];
      const char *other = k < BALLS ? planes[k] : shells[k - BALLS];
      if (top && k < BALLS) continue;
      snprintf(name, sizeof name, "%s_%d", other, i);
      const CPBodyContact touch = {CP_NEW_CONTACT(name), .a = other, .b = shells[i],
                                   .on = CP_ON_SHAPE, .law = {.mu = 0.4}};
      add_element(bodies, &touch.head);
    }
  }
  act(CP_ABSOLUTE);
  ck_assert_int_eq(CPContactSetEventFn(contact, count_struck, &impacts), CP_SUCCESS);
  ck_assert_double_ge(least_gap("auto", 1e-4, test_is_short() ? 0.4 : 4, 1000), -1e-9);
  ck_assert_int_le(impacts, MOST);
  const sunrealtype *u = N_VGetArrayPointer(y) + 7 * BALLS;
  for (int i = 0; i < 6 * BALLS && !test_is_short(); i++) ck_assert_double_eq_tol(u[i], 0, 1e-12);
  release();
}
END_TEST

TEST_SUITE(shapes) {
  Suite *suite = suite_create("contact/shapes");
  TCase *tc    = tcase_create("shapes");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, a_ball_rolls_on_a_log_until_it_slips, 0, 12);
  tcase_add_loop_test(tc, momentum_is_conserved_where_ellipsoids_collide, 0, 4);
  tcase_add_loop_test(tc, a_contact_that_nothing_can_press_has_no_friction, 0, 6);
  tcase_add_loop_test(tc, a_ball_that_passes_another_one_is_no_event, 0, 2);
  tcase_add_loop_test(tc, a_box_slides_down_a_box_or_stays, 0, 4);
  tcase_add_loop_test(tc, a_box_falls_on_a_box_as_on_a_plane, 0, 2);
  tcase_add_loop_test(tc, momentum_is_conserved_where_edges_collide, 0, 4);
  tcase_add_loop_test(tc, thin_plates_collide_flush, 0, 2);
  tcase_add_loop_test(tc, a_box_tips_over_the_edge_of_a_box, 0, 4);
  tcase_add_loop_test(tc, features_of_flush_boxes_are_found_as_fast_as_others, 0, 2);
  tcase_add_loop_test(tc, short_steps_over_a_face_are_those_over_a_plane, 0, 2);
  tcase_add_loop_test(tc, boxes_stay_stacked_flush, 0, 2);
  tcase_add_loop_test(tc, boxes_that_fall_gain_no_energy_by_friction, 0, 25);
  tcase_add_loop_test(tc, all_bases_are_as_good_as_a_plane, 0, 8);
  tcase_add_loop_test(tc, what_rolls_over_an_edge_leaves_it_in_time, 0, 8);
  tcase_add_loop_test(tc, a_capsule_tips_over_the_edge_of_a_polyhedron, 0, 8);
  tcase_add_loop_test(tc, momentum_is_conserved_where_round_ends_strike_a_mesh, 0, 6);
  tcase_add_loop_test(tc, features_of_round_shapes_have_exact_derivatives, 0, 12);
  tcase_add_loop_test(tc, a_flat_end_of_many_corners_lies_flat, 0, 8);
  tcase_add_loop_test(tc, balls_that_roll_along_walls_without_load_have_no_events_there, 0, 4);
  tcase_add_loop_test(tc, a_velocity_is_passed_on_by_balls_far_from_each_other, 0, 6);
  tcase_add_test(tc, a_ball_among_four_in_a_bin_comes_to_rest);
  suite_add_tcase(suite, tc);
  return suite;
}
