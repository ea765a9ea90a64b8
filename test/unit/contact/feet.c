/* A box that slides on two feet in the plane, or on four in space, comes to rest, and is pushed until it
 * slips. Its loads are indeterminate, its motion is not: all feet stop at |v| / (mu g), and slip
 * where the push exceeds mu_static m g. */
#include "fixture.h"

#include <math.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

enum { FEET = 4, POSITIONS = 6 };
static const sunrealtype mass_of_box = 2, inertia[] = {0.1, 0.2, 0.3}, gravity = 9.81, rate = 3,
                         push_begins = 3;

typedef struct {
  int feet, ntangents;
  sunrealtype x[FEET], y[FEET], height; /* of the feet; the centre lies at this height */
  sunrealtype push[2];                  /* direction */
} Box;

static const Box *box_of(void *run) { return ((Run *)run)->user_data; }

/* q = (x, y, z), and small angles about these axes. */
static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *run) {
  (void)t, (void)q, (void)run;
  for (int i = 0; i < POSITIONS; i++) SM_ELEMENT_D(M, i, i) = i < 3 ? mass_of_box : inertia[i - 3];
  return 0;
}
static int rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *run) {
  const Box *box = box_of(run);
  (void)t, (void)q;
  for (int i = 0; i < box->feet; i++) {
    const int x = box->feet + 2 * i, y = x + 1;
    SM_ELEMENT_D(A, i, 2) = 1, SM_ELEMENT_D(A, i, 3) = box->y[i], SM_ELEMENT_D(A, i, 4) = -box->x[i];
    SM_ELEMENT_D(A, x, 0) = 1, SM_ELEMENT_D(A, x, 4) = -box->height;
    SM_ELEMENT_D(A, x, 5) = -box->y[i];
    SM_ELEMENT_D(A, y, 1) = 1, SM_ELEMENT_D(A, y, 3) = box->height,
                       SM_ELEMENT_D(A, y, 5) = box->x[i];
  }
  return 0;
}
static int gaps(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *run) {
  const Box *box = box_of(run);
  (void)t;
  for (int i = 0; i < box->feet; i++) p[i] = q[2] + box->y[i] * q[3] - box->x[i] * q[4];
  return 0;
}
static int forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *run) {
  (void)q, (void)u, (void)z;
  for (int i = 0; i < 2; i++) f[i] = rate * fmax(0, t - push_begins) * box_of(run)->push[i];
  f[2] = -mass_of_box * gravity;
  return 0;
}
static int no_bias(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                   void *run) {
  (void)t, (void)q, (void)u, (void)b, (void)run;
  return 0;
}

/* All feet change from SLIDING or STICKING to the other phase, in one event at t. */
static void all_change(const Run *run, int first, int feet, CPContactPhase after, sunrealtype t,
                       sunrealtype error) {
  for (int i = 0; i < feet; i++) {
    const CPContactEvent *event = &run->event[first + i];
    ck_assert_int_eq(event->contact, i);
    ck_assert_int_eq(event->after, after);
    ck_assert_double_eq(event->t, run->event[first].t);
    ck_assert_msg(fabs(event->t - t) <= error, "foot %d at %.10g, not %.10g", i, event->t, t);
  }
}

START_TEST(all_feet_of_a_box_stop_and_slip_together) {
  static const Box boxes[] = {
      {2, 1, {-0.3, 0.5}, {0, 0}, 0.4, {1, 0}},
      {4, 2, {-0.3, 0.3, -0.3, 0.3}, {-0.2, -0.2, 0.2, 0.2}, 0.2, {0.8, 0.6}}};
  static const sunrealtype ways[][2] = {{1, 0}, {0.6, 0.8}, {0, 0}},
                           laws[][2] = {{0.2, 0}, {0.2, 0.3}};
  static const char *const names[]   = {"a", "b", "c", "d"};
  for (int k = 0; k < 2; k++)
    for (int w = test_is_short(); w < 3; w += 1 + test_is_short())
      for (int l = test_is_short(); l < 2; l++) {
        Box box        = boxes[k];
        const int feet = box.feet, moves = w < 2;
        const sunrealtype tol = _i % 2 ? 1e-8 : 1e-5, mu = laws[l][0], most = fmax(mu, laws[l][1]),
                          slip  = push_begins + most * mass_of_box * gravity / rate;
        const CPMechModel model = {.nu = POSITIONS,
                                   .np = feet,
                                   .nv = 3 * feet,
                                   .M  = mass,
                                   .A  = rows,
                                   .f  = forces,
                                   .p  = gaps,
                                   .b  = no_bias};
        CPContactPoint points[FEET];
        sunrealtype y0[2 * POSITIONS] = {0};
        y0[POSITIONS] = k ? ways[w][0] : moves, y0[POSITIONS + 1] = k ? ways[w][1] : 0;
        for (int i = 0; i < feet; i++)
          points[i] = (CPContactPoint){.name      = names[i],
                                       .normal    = i,
                                       .tangent   = feet + 2 * i,
                                       .ntangents = box.ntangents,
                                       .mu        = mu,
                                       .mu_static = laws[l][1]};
        Run *run = run_start(&model, &box, feet, points, y0, _i / 2, tol);
        run_to(run, slip + 0.01);
        ck_assert_int_eq(run->nevents, feet * (1 + moves));
        if (moves) all_change(run, 0, feet, CP_CONTACT_STICKING, 1 / (mu * gravity), tol);
        all_change(run, feet * moves, feet, CP_CONTACT_SLIDING, slip, 1e-5 * (slip - push_begins));
        CPContactStats stats;
        ck_assert_int_eq(CPContactGetStats(run->contact, &stats), CP_SUCCESS);
        ck_assert_int_le(stats.nevents, 40); /* The load is distributed anew on the way. */
        run_free(&run);
      }
}
END_TEST

TEST_SUITE(feet) {
  Suite *suite = suite_create("contact/feet");
  TCase *tc    = tcase_create("feet");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, all_feet_of_a_box_stop_and_slip_together, 0, 2 * METHODS);
  suite_add_tcase(suite, tc);
  return suite;
}
