/* Contacts of shapes: their derivatives, and their gaps against closed forms and other programs. */
#include "support/support.h"
#include "support/things.h"
#include <cpodes/cpodes_bodies.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STATES = 3, KINDS = CP_SHAPE_PLANE + 1 };

static const sunrealtype sizes[KINDS][3] = {
    [CP_SHAPE_BOX] = {0.5, 0.7, 0.9},   [CP_SHAPE_CYLINDER] = {0.3, 0, 0.8},
    [CP_SHAPE_SPHERE] = {0.4},          [CP_SHAPE_WHEEL] = {0.3, 0, 0.2},
    [CP_SHAPE_CAPSULE] = {0.2, 0, 0.7}, [CP_SHAPE_ELLIPSOID] = {0.3, 0.4, 0.6},
    [CP_SHAPE_PLANE] = {1, 1}};

static CPShape shape_of(const char *name, CPShapeKind kind, const char *body) {
  return (CPShape){
      CP_NEW_SHAPE(name),
      .kind = kind,
      .body = body,
      .in   = CP_IN_BODIES,
      .on   = {.point = {0.1, -0.2, 0.15}, .axis = {0.3, 0.5, 1}, .across = {1, 0.2, -0.1}},
      .size = {sizes[kind][0], sizes[kind][1], sizes[kind][2]}};
}

/* Two bodies with a shape each, apart */
static CPBodies pair_of(CPShapeKind a, CPShapeKind b) {
  const CPBody one    = {CP_NEW_BODY("one"), .mass = 1.3,
                         .inertia = {0.4, 0.5, 0.6, 0.05, -0.04, 0.03}, .centre = {0.1, -0.2, 0.3}};
  const CPBody two    = {CP_NEW_BODY("two"), .mass = 0.7, .inertia = {0.2, 0.3, 0.35},
                         .position = {1.1, 0.9, 1.8}, .quaternion = {0.9, 0.2, -0.3, 0.1}};
  const CPShape first = shape_of("first", a, "one"), second = shape_of("second", b, "two");
  const CPBodyContact contact = {CP_NEW_CONTACT("contact"), .a = "first", .b = "second",
                                 .on = CP_ON_SHAPE};
  CPBodies bodies             = CPBodiesCreate(3, NULL);
  ck_assert_ptr_nonnull(bodies);
  add_element(bodies, &one.head), add_element(bodies, &two.head), add_element(bodies, &first.head),
      add_element(bodies, &second.head);
  add_element(bodies, &contact.head);
  return bodies;
}

static int touches(int a, int b) {
  if (b == CP_SHAPE_PLANE) return 0;
  if (a == CP_SHAPE_BOX) return b == CP_SHAPE_SPHERE;
  return b != CP_SHAPE_BOX || a == CP_SHAPE_SPHERE || a == CP_SHAPE_PLANE;
}

/* 1e-8: the accuracy of differences of sixth order */
START_TEST(every_pair_of_shapes_has_exact_derivatives) {
  const int a = _i / KINDS, b = _i % KINDS;
  if (!touches(a, b)) return;
  for (int formulation = CP_ABSOLUTE; formulation <= CP_JOINT_COORDINATES; formulation++) {
    CPBodies bodies = pair_of((CPShapeKind)a, (CPShapeKind)b);
    CPMech mech;
    unsigned long long seed = 3;
    ck_assert_int_eq(CPBodiesSetFormulation(bodies, (CPFormulation)formulation), CP_SUCCESS);
    ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
    N_Vector y = CPBodiesState(bodies, test_context), dy = N_VClone(y);
    for (int state = 0; state < (test_is_short() ? 2 : STATES); state++) {
      CPMechReport r = CP_INIT(CPMechReport);
      random_fill(dy, &seed);
      N_VLinearSum(1, y, state > 0 ? 0.3 : 0, dy, dy);
      const int flag = CPMechCheck(mech, 0.3, dy, &r);
      ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, CPObjectGetLastMessage(CP_OBJECT(mech)));
      const double errors[] = {r.A_p, r.A_v, r.v_p, r.b_v, r.K, r.C, r.Bq, r.Bu, r.udot};
      for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        ck_assert_msg(errors[i] <= 1e-8,
                      "shapes %d and %d, formulation %d, state %d: entry %zu of the report is %g",
                      a, b, formulation, state, i, errors[i]);
    }
    N_VDestroy(y), N_VDestroy(dy);
    CPMechFree(&mech);
    CPBodiesFree(&bodies);
  }
}
END_TEST

/* At the placement, from scipy 1.17: the maximum over unit vectors n of n . d - h_a(n) - h_b(-n), where d is the vector between the
 * centres and h are support functions, by Nelder and Mead from 12 starts. mj_geomDistance of MuJoCo 4.0 agrees to 3e-13. */
static const sunrealtype distances[KINDS][KINDS] = {
    {0, 0, 1.3336726917407},
    {0, 1.2988798187989, 1.3787884966692, 1.4857555588141, 1.3796821880279, 1.3551172914637},
    {1.3592953931972, 1.3640022655729, 1.4267039601877, 1.5230023744099, 1.4546947942301,
     1.4291131057994},
    {0, 1.5937447567605, 1.6768160151829, 1.7851787235689, 1.6698486045993, 1.6451308386562},
    {0, 1.2362113243634, 1.2881529529602, 1.3813914288314, 1.3324865685853, 1.3045320832928},
    {0, 1.1940091300218, 1.2418188278359, 1.3339984251590, 1.2917978916968, 1.2626962743615},
    {1.5975331681034, 1.6703221835208, 1.7651270750623, 1.8819482636465, 1.7182299815824,
     1.6873039452802}};

/* The least gap of the parts of the contact; frame: out, where it is (CPMechGetPoints) */
static sunrealtype gap_at(CPBodies bodies, CPMech mech, N_Vector y, sunrealtype *frame) {
  sunrealtype least = INFINITY;
  for (int i = 0; i < CPBodiesCount(bodies, CP_CONTACT); i++) {
    char name[80];
    CPSensor gap = CP_INIT(CPSensor);
    snprintf(name, sizeof name, "%s.gap", thing_at(bodies, CP_CONTACT, i).name);
    ck_assert_int_eq(CPMechGetSensor(mech, name, 0, y, &gap), CP_SUCCESS);
    if (gap.value[0] >= least) continue;
    least = gap.value[0];
    ck_assert_int_eq(CPMechGetPoints(mech, CP_CONTACT, i, y, frame), CP_SUCCESS);
  }
  return least;
}

START_TEST(gaps_are_those_of_other_programs) {
  const int a = _i / KINDS, b = _i % KINDS;
  if (!touches(a, b)) return;
  CPBodies bodies = pair_of((CPShapeKind)a, (CPShapeKind)b);
  CPMech mech;
  sunrealtype frame[12];
  ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
  N_Vector y = CPBodiesState(bodies, test_context);
  ck_assert_double_eq_tol(gap_at(bodies, mech, y, frame), distances[a][b], 1e-12);
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&bodies);
}
END_TEST

/* The support function of a shape along n in space; xyz [12]: its centre and the ends of its half axes */
static sunrealtype support(CPShapeKind kind, const sunrealtype *xyz, const sunrealtype *n) {
  sunrealtype along[3], centre = 0, radius = 0;
  for (int k = 0; k < 3; k++) {
    along[k] = 0;
    for (int i = 0; i < 3; i++) along[k] += n[i] * (xyz[3 + 3 * k + i] - xyz[i]);
    centre += n[k] * xyz[k];
    radius += pow(xyz[3 + k] - xyz[k], 2);
  }
  radius = sqrt(radius);
  switch (kind) {
  case CP_SHAPE_BOX: return centre + fabs(along[0]) + fabs(along[1]) + fabs(along[2]);
  case CP_SHAPE_CYLINDER:
  case CP_SHAPE_WHEEL: return centre + hypot(along[0], along[1]) + fabs(along[2]);
  case CP_SHAPE_CAPSULE: return centre + radius + fabs(along[2]);
  default: return centre + hypot(hypot(along[0], along[1]), along[2]);
  }
}

/* For any unit vector n, n . d - h_a(n) - h_b(-n) is at most the distance, and where it is equal, n is the normal and no other pair of
 * points is nearer (Fenchel). _i: the pair. Bodies move towards each other along their normal, down to a thousandth of the distance, and
 * then up to 0.02 into each other, a tenth of what the thinnest shape is thick. */
START_TEST(no_other_points_are_nearer) {
  const int a = _i / KINDS, b = _i % KINDS, cases = test_is_short() ? 3 : 60;
  if (!touches(a, b) || a == CP_SHAPE_PLANE) return;
  CPBodies bodies = pair_of((CPShapeKind)a, (CPShapeKind)b);
  CPMech mech;
  sunrealtype frame[12], xyz[2][12], back[3], unused[12];
  static const sunrealtype depths[] = {1e-3, 5e-3, 0.01, 0.02};
  static const int is_round[KINDS]  = {[CP_SHAPE_CYLINDER] = 1, [CP_SHAPE_WHEEL] = 1};
  enum { DEPTHS = sizeof depths / sizeof *depths };
  unsigned long long seed = 11;
  ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
  N_Vector y = CPBodiesState(bodies, test_context), start = N_VClone(y);
  N_VScale(1, y, start);
  for (int i = 0; i < cases; i++) {
    random_fill(y, &seed);
    sunrealtype *q = N_VGetArrayPointer(y), gap;
    for (int body = 0; body < 2; body++) {
      sunrealtype size = 0;
      for (int k = 3; k < 7; k++) size += q[7 * body + k] * q[7 * body + k];
      for (int k = 3; k < 7; k++) q[7 * body + k] /= sqrt(size);
    }
    for (int k = 0; k < 3; k++) q[7 + k] = q[k] + 3 * (k == i % 3 ? 1 : q[7 + k]);
    for (int nearer = 0; nearer < 4; nearer++) { /* sooner or later they nearly touch */
      gap = gap_at(bodies, mech, y, frame);
      for (int k = 0; k < 2; k++)
        ck_assert_int_eq(CPMechGetPoints(mech, CP_SHAPE, k, y, xyz[k]), CP_SUCCESS);
      for (int k = 0; k < 3; k++) back[k] = -frame[3 + k];
      const sunrealtype bound =
          -support((CPShapeKind)b, xyz[1], back) - support((CPShapeKind)a, xyz[0], frame + 3);
      ck_assert_msg(fabs(gap - bound) < 1e-12,
                    "shapes %d and %d, case %d, %d: gap %.15g, bound %.15g", a, b, i, nearer, gap,
                    bound);
      for (int k = 0; k < 3; k++) q[7 + k] -= 0.9 * gap * frame[3 + k];
    }
    /* Where b moves along the normal, the nearest points stay, unless others are less deep. */
    gap = gap_at(bodies, mech, y, frame);
    for (int l = 0; l < DEPTHS; l++) {
      for (int k = 0; k < 3; k++) q[7 + k] -= (gap + depths[l]) * frame[3 + k];
      gap                   = -depths[l];
      const sunrealtype now = gap_at(bodies, mech, y, unused);
      /* Edges of two cylinders meet in several ways, of which it is not always the least deep one. */
      ck_assert_msg(now < 0 && (now >= gap - 1e-12 || (is_round[a] && is_round[b])),
                    "shapes %d and %d, case %d, %g deep: gap %.15g", a, b, i, -gap, now);
    }
  }
  N_VDestroy(y), N_VDestroy(start);
  CPMechFree(&mech);
  CPBodiesFree(&bodies);
}
END_TEST

/* Rows of contacts that are off are evaluated, too, wherever bodies pass through each other, and must not end a motion there. */
/* The distance of a point from the segment from a to b, in a plane */
static double distance_from(const double *p, const double *a, const double *b) {
  const double d[] = {b[0] - a[0], b[1] - a[1]}, e[] = {p[0] - a[0], p[1] - a[1]};
  const double s = fmin(1, fmax(0, (d[0] * e[0] + d[1] * e[1]) / (d[0] * d[0] + d[1] * d[1])));
  return hypot(e[0] - s * d[0], e[1] - s * d[1]);
}

/* Two capsules in one plane, which are parallel or nearly so: their segments do not cross, so that an end of one is nearest. */
START_TEST(nearly_parallel_capsules_touch_at_an_end) {
  static const double tilts[]  = {0, 1e-15, 1e-12, 1e-9, 2e-7, 1e-5, 1e-3, 0.1};
  static const double shifts[] = {0, 0.03, -0.4, 0.9};
  for (int k = 0; k < 64; k++) {
    const double tilt = (k % 2 ? 1 : -1) * tilts[k / 2 % 8], z = shifts[k / 16];
    CPBodies bodies = CPBodiesCreate(3, NULL);
    CPMech mech;
    double end[2][2][2], least = INFINITY;
    for (int i = 0; i < 2; i++) {
      const char *name    = i ? "second" : "first";
      const CPBody body   = {CP_NEW_BODY(i ? "two" : "one"), .mass = 1, .inertia = {1, 1, 1},
                             .position   = {i, 0, i * z},
                             .quaternion = {cos(i * tilt / 2), 0, sin(i * tilt / 2), 0}};
      const CPShape shape = {CP_NEW_SHAPE(name),        .kind = CP_SHAPE_CAPSULE,
                             .body = i ? "two" : "one", .in = CP_IN_BODIES,
                             .on = {.axis = {0, 0, 1}}, .size = {0.2, 0, 0.7}};
      add_element(bodies, &body.head);
      add_element(bodies, &shape.head);
      for (int side = 0; side < 2; side++) {
        end[i][side][0] = i + (side ? 0.35 : -0.35) * sin(i * tilt);
        end[i][side][1] = i * z + (side ? 0.35 : -0.35) * cos(i * tilt);
      }
    }
    const CPBodyContact contact = {CP_NEW_CONTACT("contact"), .a = "first", .b = "second",
                                   .on = CP_ON_SHAPE};
    add_element(bodies, &contact.head);
    ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
    N_Vector y      = CPBodiesState(bodies, test_context);
    CPSensor sensor = CP_INIT(CPSensor);
    ck_assert_int_eq(CPMechGetSensor(mech, "contact.gap", 0, y, &sensor), CP_SUCCESS);
    for (int i = 0; i < 2; i++)
      for (int side = 0; side < 2; side++)
        least = fmin(least, distance_from(end[i][side], end[!i][0], end[!i][1]));
    ck_assert_msg(fabs(sensor.value[0] - (least - 0.4)) <= 1e-14, "tilt %g, shift %g: %.17g, %.17g",
                  tilt, z, (double)sensor.value[0], least - 0.4);
    N_VDestroy(y);
    CPMechFree(&mech);
    CPBodiesFree(&bodies);
  }
}
END_TEST

/* Two cylinders, half as long as h, whose flat ends are parallel or nearly so, 0.6 m from each other: the lowest point of the rim of the
 * upper one is over the end of the lower one, or any point of its end is as near. Robots in their zero pose have such pairs. */
START_TEST(flat_ends_that_are_apart_have_their_distance) {
  static const double tilts[]  = {0, 1e-15, 1e-12, 1e-9, 2e-7, 1e-5, 1e-3, 0.1};
  static const double shifts[] = {0, 0.05, -0.15}, h = 0.2, r = 0.1;
  for (int k = 0; k < 96; k++) {
    const double tilt = (k % 2 ? 1 : -1) * tilts[k / 2 % 8], x = shifts[k / 16 % 3];
    const int upper = k / 48; /* the number of the upper one */
    CPBodies bodies = CPBodiesCreate(3, NULL);
    CPMech mech;
    for (int i = 0; i < 2; i++) {
      const int up        = i == upper;
      const char *name    = i ? "second" : "first";
      const CPBody body   = {CP_NEW_BODY(i ? "two" : "one"), .mass = 1, .inertia = {1, 1, 1},
                             .position   = {up * x, 0, up * (2 * h + 0.6)},
                             .quaternion = {cos(up * tilt / 2), 0, sin(up * tilt / 2), 0}};
      const CPShape shape = {CP_NEW_SHAPE(name),        .kind = CP_SHAPE_CYLINDER,
                             .body = i ? "two" : "one", .in = CP_IN_BODIES,
                             .on = {.axis = {0, 0, 1}}, .size = {up ? r : 3 * r, 0, 2 * h}};
      add_element(bodies, &body.head);
      add_element(bodies, &shape.head);
    }
    const CPBodyContact contact = {CP_NEW_CONTACT("contact"), .a = "first", .b = "second",
                                   .on = CP_ON_SHAPE};
    add_element(bodies, &contact.head);
    ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
    N_Vector y       = CPBodiesState(bodies, test_context);
    CPSensor sensor  = CP_INIT(CPSensor);
    const double gap = 0.6 + h - h * cos(tilt) - r * fabs(sin(tilt));
    ck_assert_int_eq(CPMechGetSensor(mech, "contact.gap", 0, y, &sensor), CP_SUCCESS);
    ck_assert_msg(fabs(sensor.value[0] - gap) <= 1e-14, "tilt %g, shift %g: %.17g, %.17g", tilt, x,
                  (double)sensor.value[0], gap);
    N_VDestroy(y);
    CPMechFree(&mech);
    CPBodiesFree(&bodies);
  }
}
END_TEST

START_TEST(shapes_that_are_deep_in_each_other_have_rows) {
  const int a = _i / KINDS, b = _i % KINDS;
  if (!touches(a, b)) return;
  CPBodies bodies = pair_of((CPShapeKind)a, (CPShapeKind)b);
  CPMech mech;
  sunrealtype frame[12], udot[12];
  CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = udot};
  ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
  N_Vector y = CPBodiesState(bodies, test_context);
  for (int k = 0; k < 7; k++)
    N_VGetArrayPointer(y)[7 + k] = N_VGetArrayPointer(y)[k]; /* the same place */
  for (int moved = 0; moved < 2; moved++) {
    const sunrealtype gap = gap_at(bodies, mech, y, frame);
    /* The centres of wheels are not those of the bodies: after the move their flat ends are apart, by 0.01. */
    const int may_be_apart = a == CP_SHAPE_PLANE || (a == CP_SHAPE_WHEEL && b == a && moved);
    ck_assert_msg(isfinite(gap) && (gap < 0 || may_be_apart), "shapes %d and %d: gap %g", a, b, gap);
    ck_assert_int_eq(CPMechEvaluate(mech, 0, y, &out), CP_SUCCESS);
    N_VGetArrayPointer(y)[7] += 0.05;
  }
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&bodies);
}
END_TEST

/* The lowest points of both rims of a wheel whose axis is parallel to the plane are unique. */
START_TEST(a_wheel_stands_upright_on_a_plane) {
  static const char text[] =
      "bodies: [{name: wheel, mass: 1, inertia: [1, 1, 1], at: [0, 0, 0.5]}]\nshapes:\n"
      "  - {name: floor, body: ground, kind: plane}\n"
      "  - {name: rim, body: wheel, in: bodies, kind: wheel, radius: 0.3, width: 0.1, axis: [0, 1, "
      "0]}\n"
      "contacts: [{name: contact, on: shape, a: floor, b: rim}]\n";
  CPBodies bodies;
  CPMech mech;
  sunrealtype frame[12];
  ck_assert_int_eq(CPBodiesRead("w.yaml", text, strlen(text), &bodies, NULL), CP_SUCCESS);
  ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
  N_Vector y = CPBodiesState(bodies, test_context);
  ck_assert_double_eq_tol(gap_at(bodies, mech, y, frame), 0.2, 1e-15);
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&bodies);
}
END_TEST

START_TEST(wrong_contacts_of_shapes_are_named) {
  CPBodies bodies      = pair_of(CP_SHAPE_CAPSULE, CP_SHAPE_ELLIPSOID);
  const CPShape more[] = {
      shape_of("block", CP_SHAPE_BOX, "one"), shape_of("brick", CP_SHAPE_BOX, "two"),
      shape_of("stone", CP_SHAPE_SPHERE, "ground"), shape_of("floor", CP_SHAPE_PLANE, "ground"),
      shape_of("roof", CP_SHAPE_PLANE, "one")};
  CPBodyContact contact = {CP_NEW_CONTACT("new"), .a = "first", .b = "second", .on = CP_ON_SHAPE};
  int code              = CP_ILL_INPUT;
  const char *word = "new", *rule = "there is no shape";
  for (int i = 0; i < 5; i++) add_element(bodies, &more[i].head);
  const int before = CPBodiesCount(bodies, CP_PARAMETER), joints = CPBodiesCount(bodies, CP_JOINT);
  switch (_i) {
  case 0: contact.a = NULL; break;
  case 1: contact.b = "two", word = "two"; break;
  case 2: contact.b = "block", rule = "the same body"; break;
  case 3:
    contact.a = "floor", contact.b = "roof", rule = "planes do not touch planes",
    code = CP_NOT_SUPPORTED;
    break;
  case 4:
    contact.a = "block", rule = "boxes and meshes touch each other", code = CP_NOT_SUPPORTED;
    break;
  case 5: contact.a = "first", contact.b = "stone", rule = "begin in each other"; break;
  case 6: contact.a = "floor", contact.b = "block", rule = "begin in each other"; break;
  case 7: contact.law.mu = -1, rule = "friction"; break;
  case 8: contact.head.name = "first", rule = "already", word = "first"; break;
  case 9: contact.head.name = NULL, rule = "name", word = "name"; break;
  }
  ck_assert_int_eq(CPBodiesAdd(bodies, &contact.head, NULL), code);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(bodies)), rule);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(bodies)), word);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_CONTACT), 1);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_JOINT), joints);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_PARAMETER), before);
  CPBodiesFree(&bodies);
}
END_TEST

START_TEST(wrong_meshes_are_named) {
  static const sunrealtype nan_[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, NAN},
                           flat[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 2, 3, 0},
                           few[]  = {0, 0, 0, 1, 0, 0, 0, 1, 0};
  CPBodies bodies                 = CPBodiesCreate(3, NULL);
  CPShape mesh     = {CP_NEW_SHAPE("stone"), .kind = CP_SHAPE_MESH, .body = "ground"};
  const char *rule = "four points";
  switch (_i) {
  case 0: break;
  case 1: mesh.points = few, mesh.npoints = 3; break;
  case 2: mesh.points = flat, mesh.npoints = 5, rule = "encloses no volume"; break;
  case 3: mesh.points = nan_, mesh.npoints = 4, rule = "finite"; break;
  case 4:
    mesh.kind = CP_SHAPE_BOX, mesh.points = flat, mesh.npoints = 5, rule = "only a mesh has points";
    for (int k = 0; k < 3; k++) mesh.size[k] = 1;
    break;
  }
  ck_assert_int_eq(CPBodiesAdd(bodies, &mesh.head, NULL), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(bodies)), rule);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(bodies)), "stone");
  ck_assert_int_eq(CPBodiesCount(bodies, CP_SHAPE), 0);
  CPBodiesFree(&bodies);
}
END_TEST

/* All points of a grid within a box, shifted: eight corners and twelve edges are left, with the middle of the extents as the centre. */
START_TEST(a_mesh_is_the_hull_of_its_points) {
  enum { SIDE = 4, POINTS = SIDE * SIDE * SIDE };
  static const sunrealtype size[] = {0.3, 0.5, 0.7}, at[] = {0.1, 0.2, -0.3};
  sunrealtype points[3 * POINTS], xyz[12];
  for (int i = 0; i < POINTS; i++)
    for (int k = 0, n = i; k < 3; k++, n /= SIDE)
      points[3 * i + k] = at[k] + size[k] * (n % SIDE) / (SIDE - 1);
  const CPBody body  = {CP_NEW_BODY("body"), .mass = 1, .inertia = {1, 1, 1}};
  const CPShape mesh = {CP_NEW_SHAPE("stone"), .kind = CP_SHAPE_MESH, .body = "body",
                        .points = points, .npoints = POINTS};
  CPBodies bodies    = CPBodiesCreate(3, NULL);
  CPMech mech;
  add_element(bodies, &body.head), add_element(bodies, &mesh.head);
  const CPDescription stone = thing_at(bodies, CP_SHAPE, 0);
  ck_assert_int_eq(stone.npoints, 8);
  ck_assert_int_eq(stone.nedges, 12);
  for (int e = 0; e < 12; e++) { /* along one axis each */
    int differ = 0;
    for (int k = 0; k < 3; k++)
      differ +=
          stone.points[3 * stone.edges[2 * e] + k] != stone.points[3 * stone.edges[2 * e + 1] + k];
    ck_assert_int_eq(differ, 1);
  }
  ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
  N_Vector y = CPBodiesState(bodies, test_context);
  ck_assert_int_eq(CPMechGetPoints(mech, CP_SHAPE, 0, y, xyz), CP_SUCCESS);
  for (int k = 0; k < 3; k++) {
    ck_assert_double_eq_tol(xyz[k], at[k] + size[k] / 2, 1e-15);
    ck_assert_double_eq_tol(xyz[3 + 4 * k] - xyz[k], size[k] / 2, 1e-15);
  }
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&bodies);
}
END_TEST

TEST_SUITE(shapes) {
  Suite *suite = suite_create("bodies/shapes");
  TCase *tc    = tcase_create("shapes");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, every_pair_of_shapes_has_exact_derivatives, 0, KINDS * KINDS);
  tcase_add_loop_test(tc, gaps_are_those_of_other_programs, 0, KINDS * KINDS);
  tcase_add_loop_test(tc, no_other_points_are_nearer, 0, KINDS * KINDS);
  tcase_add_test(tc, flat_ends_that_are_apart_have_their_distance);
  tcase_add_test(tc, nearly_parallel_capsules_touch_at_an_end);
  tcase_add_loop_test(tc, shapes_that_are_deep_in_each_other_have_rows, 0, KINDS * KINDS);
  if (CPODES_TEST_YAML) tcase_add_test(tc, a_wheel_stands_upright_on_a_plane);
  tcase_add_loop_test(tc, wrong_contacts_of_shapes_are_named, 0, 10);
  tcase_add_loop_test(tc, wrong_meshes_are_named, 0, 5);
  tcase_add_test(tc, a_mesh_is_the_hull_of_its_points);
  suite_add_tcase(suite, tc);
  return suite;
}
