/* Rows that are off may be left out of A, b and u' (CPEquations.skip_rows): A and b are then those of all rows, bit by bit, without
 * them, and nothing of them is evaluated. A of all rows is compared with differences elsewhere (partials.c). */
#include "support/support.h"
#include "support/things.h"
#include <cpodes/cpodes_bodies.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

enum { MOST_ROWS = 40, DRAWS = 20 };

/* The floor z = -3 - x^2, or y in the plane; data counts its evaluations. */
static int hollow(const sunrealtype *x, sunrealtype *phi, sunrealtype *g, sunrealtype *H,
                  sunrealtype *T, void *data) {
  (void)T;
  *phi = x[1] + 3 + x[0] * x[0];
  g[0] = 2 * x[0], g[1] = 1;
  H[0] = 2;
  ++*(int *)data;
  return 0;
}

/* Two links on hinges whose end is held, with a stop at the first hinge, and two contacts with friction */
static CPBodies linkage(int dimension, int *count) {
  const sunrealtype tilt = dimension == 2 ? 0 : 0.3;
  CPBodies b             = CPBodiesCreate(dimension, (sunrealtype[]){0, -9.81, 0});
  const CPMarker front   = {.point = {0.5, 0.1, 0}, .axis = {tilt, 0, 1}, .across = {0, 1, 0}},
                 back    = {.point = {-0.5, 0, tilt}, .axis = {0, tilt, 1}, .across = {1, 0, 0}},
                 floor   = {.point = {0, -2, 0}, .axis = {0, 1, 0}};
  const CPBody one       = {CP_NEW_BODY("one"), .mass = 1, .inertia = {0.4, 0.5, 0.6}},
               two   = {CP_NEW_BODY("two"), .mass = 2, .inertia = {0.4, 0.5, 0.6}, .position = {1}};
  const CPJoint root = {CP_NEW_JOINT("root"), .kind = CP_JOINT_REVOLUTE,
                        .b = "one",           .in = CP_IN_BODIES,
                        .on_a = back,         .on_b = back},
                knee = {CP_NEW_JOINT("knee"), .kind = CP_JOINT_REVOLUTE, .a = "one",
                        .b = "two",           .in = CP_IN_BODIES,        .on_a = front,
                        .on_b = back},
                end  = {
                     CP_NEW_JOINT("end"), .kind = dimension == 2 ? CP_JOINT_REVOLUTE : CP_JOINT_BALL,
                     .b = "two",          .in = CP_IN_BODIES,
                     .on_a = front,       .on_b = front};
  const CPLimit stop = {CP_NEW_LIMIT("stop"), .of = {{"root", 0}}, .lower = -1, .upper = 1};
  const CPBodyContact on_floor  = {CP_NEW_CONTACT("on_floor"),
                                   .b      = "two",
                                   .in     = CP_IN_BODIES,
                                   .on_a   = floor,
                                   .on_b   = {.point = {0.1, 0.1, 0}},
                                   .radius = 0.1,
                                   .law.mu = 0.3},
                      in_hollow = {CP_NEW_CONTACT("in_hollow"),
                                   .a       = "one",
                                   .b       = "two",
                                   .in      = CP_IN_BODIES,
                                   .on_a    = floor,
                                   .on_b    = {.point = {0.2, 0.3, 0}},
                                   .on      = CP_ON_SURFACE,
                                   .surface = hollow,
                                   .data    = count,
                                   .law.mu  = 0.3};
  const CPElement *all[]        = {&one.head, &two.head,  &root.head,     &knee.head,
                                   &end.head, &stop.head, &on_floor.head, &in_hollow.head};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    ck_assert_msg(CPBodiesAdd(b, all[k], NULL) >= 0, "%s", CPObjectGetLastMessage(CP_OBJECT(b)));
  return b;
}

/* out [na nu] <- A, dense, by rows */
static void rows_of(const CPEquations *e, const sunrealtype *q, void *data, SUNMatrix A,
                    sunrealtype *out) {
  const int is_dense = SUNMatGetID(A) == SUNMATRIX_DENSE;
  if (is_dense) SUNMatZero(A);
  else memset(SM_DATA_S(A), 0, (size_t)SM_NNZ_S(A) * sizeof(sunrealtype));
  ck_assert_int_eq(e->A(0, q, A, data), 0);
  memset(out, 0, (size_t)(e->na * e->nu) * sizeof *out);
  for (int j = 0; j < e->nu; j++)
    if (is_dense)
      for (int i = 0; i < e->na; i++) out[i * e->nu + j] = SM_ELEMENT_D(A, i, j);
    else
      for (sunindextype k = SM_INDEXPTRS_S(A)[j]; k < SM_INDEXPTRS_S(A)[j + 1]; k++)
        out[SM_INDEXVALS_S(A)[k] * e->nu + j] = SM_DATA_S(A)[k];
}

/* The rows of a joint are in several components, of which some may be off: those of a whole joint, or entries of one, at random. */
START_TEST(rows_that_are_on_are_as_with_all_rows) {
  unsigned long long seed = 3 + (unsigned long long)_i;
  int count               = 0;
  CPBodies bodies         = linkage(_i % 2 ? 2 : 3, &count);
  CPMech mech;
  ck_assert_int_eq(CPBodiesSetFormulation(bodies, _i / 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE),
                   CP_SUCCESS);
  ck_assert_msg(build_mech(bodies, &mech) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(bodies)));
  N_Vector y    = CPBodiesState(bodies, test_context);
  CPEquations e = equations_of(mech);
  const int na = (int)e.na, nu = (int)e.nu;
  ck_assert(e.skip_rows && na <= MOST_ROWS && nu <= MOST_ROWS);
  void *data;
  ck_assert_int_eq(e.new_data(e.model_data, test_context, &data), 0);
  SUNMatrix A = e.A_tmpl ? SUNMatClone(e.A_tmpl) : SUNDenseMatrix(na, nu, test_context);
  if (e.A_tmpl) ck_assert_int_eq(SUNMatCopy(e.A_tmpl, A), 0);
  sunrealtype all[MOST_ROWS * MOST_ROWS], some[MOST_ROWS * MOST_ROWS];
  for (int draw = 0; draw < DRAWS; draw++) {
    sunrealtype b[MOST_ROWS] = {0}, some_b[MOST_ROWS] = {0};
    char off[MOST_ROWS];
    random_fill(y, &seed);
    const sunrealtype *q = entries(y), *u = q + e.nq;
    for (int i = 0; i < na; i++) off[i] = random_number(&seed) > 0;
    rows_of(&e, q, data, A, all);
    ck_assert_int_eq(e.b(0, q, u, b, data), 0);
    e.skip_rows(off, data);
    rows_of(&e, q, data, A, some);
    ck_assert_int_eq(e.b(0, q, u, some_b, data), 0);
    e.skip_rows(NULL, data);
    for (int i = 0; i < na; i++) {
      sunrealtype size = 0;
      for (int j = 0; j < nu; j++) {
        size = fmax(size, fabs(all[i * nu + j]));
        if (!off[i]) ck_assert(some[i * nu + j] == all[i * nu + j]);
      }
      ck_assert_double_gt(size, 0);
      if (!off[i]) ck_assert(some_b[i] == b[i]);
    }
    if (draw > 0) continue;
    count = 0, memset(off, 1, sizeof off); /* of all rows that are off nothing is evaluated */
    e.skip_rows(off, data);
    rows_of(&e, q, data, A, some);
    ck_assert_int_eq(e.b(0, q, u, some_b, data), 0);
    e.skip_rows(NULL, data);
    ck_assert_int_eq(count, 0);
    rows_of(&e, q, data, A, some);
    ck_assert_int_gt(count, 0);
    ck_assert_int_eq(memcmp(some, all, (size_t)(na * nu) * sizeof *all), 0);
  }
  SUNMatDestroy(A);
  e.free_data(data);
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&bodies);
}
END_TEST

/* Bodies of some shapes and planes, all of which may touch, at a scale of 1 */
static CPBodies scattered(void) {
  static const struct {
    const char *body, *shape;
    CPShapeKind kind;
    sunrealtype size[3], at[3];
  } all[] = {{"one", "ball", CP_SHAPE_SPHERE, {0.1}, {0, 0, 0}},
             {"two", "log", CP_SHAPE_CAPSULE, {0.1, 0, 0.3}, {1, 0, 0}},
             {"three", "egg", CP_SHAPE_ELLIPSOID, {0.1, 0.2, 0.15}, {0, 1, 0}},
             {"four", "can", CP_SHAPE_CYLINDER, {0.1, 0, 0.2}, {0, 0, 1}},
             {"five", "box", CP_SHAPE_BOX, {0.2, 0.1, 0.3}, {1, 1, 1}}};
  enum { SHAPES = sizeof all / sizeof *all };
  CPBodies b          = CPBodiesCreate(3, NULL);
  const CPShape floor = {CP_NEW_SHAPE("floor"), .kind = CP_SHAPE_PLANE, .body = "ground",
                         .on = {.point = {0, 0, -1}}};
  ck_assert_int_ge(CPBodiesAdd(b, &floor.head, NULL), 0);
  for (int i = 0; i < SHAPES; i++) {
    const CPBody body = {CP_NEW_BODY(all[i].body), .mass = 1, .inertia = {0.4, 0.5, 0.6},
                         .position = {all[i].at[0], all[i].at[1], all[i].at[2]}};
    CPShape shape     = {CP_NEW_SHAPE(all[i].shape), .kind = all[i].kind, .body = all[i].body,
                         .in = CP_IN_BODIES, .on = {.point = {0.05, -0.1, 0.02}, .axis = {0.3, 0.4, 1}}};
    memcpy(shape.size, all[i].size, sizeof shape.size);
    ck_assert_int_ge(CPBodiesAdd(b, &body.head, NULL), 0);
    ck_assert_int_ge(CPBodiesAdd(b, &shape.head, NULL), 0);
    for (int k = -1; k < i; k++) {
      char name[20];
      snprintf(name, sizeof name, "touch_%d_%d", k + 1, i);
      const CPBodyContact touch = {CP_NEW_CONTACT(name), .a = k < 0 ? "floor" : all[k].shape,
                                   .b = all[i].shape, .on = CP_ON_SHAPE};
      CPBodiesAdd(b, &touch.head, NULL); /* A box has no contact with some of them. */
    }
  }
  return b;
}

/* Where far_rows finds gaps that stay above a margin during a step, they do so along motions whose coordinates are linear in time, and
 * there are such gaps and others. _i: formulation */
START_TEST(gaps_that_are_far_stay_open) {
  enum { ROWS = 128, TIMES = 16 };
  unsigned long long seed = 17;
  CPBodies bodies         = scattered();
  CPMech mech;
  int found = 0, others = 0;
  ck_assert_int_eq(CPBodiesSetFormulation(bodies, _i ? CP_JOINT_COORDINATES : CP_ABSOLUTE),
                   CP_SUCCESS);
  ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
  N_Vector y    = CPBodiesState(bodies, test_context);
  CPEquations e = equations_of(mech);
  ck_assert(e.far_rows && e.na <= ROWS && e.nq <= ROWS);
  void *data;
  ck_assert_int_eq(e.new_data(e.model_data, test_context, &data), 0);
  for (int draw = 0; draw < 20 * DRAWS; draw++) {
    const sunrealtype h = 2, margin = 1e-3;
    sunrealtype start[ROWS], end[ROWS], p[ROWS] = {0};
    char far[ROWS] = {0};
    random_fill(y, &seed);
    sunrealtype *q = entries(y), *u = q + e.nq;
    memcpy(start, q, (size_t)e.nq * sizeof *q);
    memcpy(end, q, (size_t)e.nq * sizeof *q);
    for (int i = 0, body = 0; body < (int)e.nq / 7;
         body++) /* only positions move; quaternions are constant */
      for (int k = 0; k < 7; k++, i++)
        if (k < 3) start[i] *= 3, end[i] = start[i] + h * u[6 * body + k];
        else if (k < 6) u[6 * body + k] = 0;
    const sunrealtype *const states[] = {start, end}, *const rates[] = {u, u};
    ck_assert_int_eq(e.far_rows(states, rates, h, margin, far, data), 0);
    for (int k = 0; k <= TIMES; k++) {
      for (int i = 0; i < e.nq; i++) q[i] = start[i] + (end[i] - start[i]) * k / TIMES;
      ck_assert_int_eq(e.p(0, q, p, data), 0);
      for (int i = 0; i < e.np; i++)
        if (far[i]) ck_assert_double_gt(p[i], margin);
    }
    for (int i = 0; i < e.np; i++) *(far[i] ? &found : &others) += 1;
  }
  ck_assert_int_gt(found, 500);
  ck_assert_int_gt(others, 500);
  e.free_data(data);
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&bodies);
}
END_TEST

TEST_SUITE(skipped) {
  Suite *suite = suite_create("bodies/skipped");
  TCase *tc    = tcase_create("skipped");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, rows_that_are_on_are_as_with_all_rows, 0, 4);
  tcase_add_loop_test(tc, gaps_that_are_far_stay_open, 0, 2);
  suite_add_tcase(suite, tc);
  return suite;
}
