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

TEST_SUITE(skipped) {
  Suite *suite = suite_create("bodies/skipped");
  TCase *tc    = tcase_create("skipped");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, rows_that_are_on_are_as_with_all_rows, 0, 4);
  suite_add_tcase(suite, tc);
  return suite;
}
