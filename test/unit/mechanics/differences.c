/* Systems whose model has no matrix A, which is then formed from v, exactly, or by differences of
 * p. Accelerations and reactions agree with those of the same systems with their own A and b. */
#include "mechanics/systems.h"
#include "support/mech_run.h"

#include <cpodes/cpodes_integrator.h>
#include <math.h>
#include <models/counters.h>

static const SystemName names[] = {PENDULUM,   SLIDER_CRANK, CAR_AXIS,      ANDREWS,     FOUR_BAR,
                                   KNIFE_EDGE, BODIES,       BUSHING_CRANK, SPATIAL_LOOP};
enum { NAMES = sizeof names / sizeof names[0] };

/* The same system with fewer functions */
static CPMech reduced(const System *s, int with_v, int with_b) {
  CPEquations model = s->model;
  model.A           = NULL;
  if (!with_v) model.v = NULL;
  if (!with_b) model.b = NULL;
  CPMech mech = create_mech(&model, s->y, test_context);
  ck_assert_ptr_nonnull(mech);
  ck_assert_int_eq(CPMechSetUserData(mech, s->user_data), CP_SUCCESS);
  return mech;
}

/* A by differences is accurate to 1e-12 of the size of its entries and of q, and b, the second difference
 * of p in steps of about 0.03, to 1e-11; the KKT systems here amplify by less than 100. */
static void assert_the_same(const System *s, CPMech other, double tolerance) {
  sunrealtype udot[2][MAX_U], lambda[MAX_ROWS], reaction[2][MAX_U];
  CPMechOutput out[2] = {
      {CP_SIZED(CPMechOutput), .udot = udot[0], .lambda = lambda, .reaction = reaction[0]},
      {CP_SIZED(CPMechOutput), .udot = udot[1], .lambda = lambda, .reaction = reaction[1]}};
  ck_assert_int_eq(CPMechEvaluate(s->mech, s->t, s->y, &out[0]), CP_SUCCESS);
  ck_assert_int_eq(CPMechEvaluate(other, s->t, s->y, &out[1]), CP_SUCCESS);
  double size[2] = {0, 0}, error[2] = {0, 0};
  for (int j = 0; j < s->nu; j++) {
    size[0]  = fmax(size[0], fabs(udot[0][j]));
    error[0] = fmax(error[0], fabs(udot[0][j] - udot[1][j]));
    size[1]  = fmax(size[1], fabs(reaction[0][j]));
    error[1] = fmax(error[1], fabs(reaction[0][j] - reaction[1][j]));
  }
  for (int k = 0; k < 2; k++)
    ck_assert_msg(error[k] <= tolerance * size[k], "%s: %s differs by %g of %g", s->name,
                  k ? "the reaction" : "u'", error[k], size[k]);
  ck_assert_int_eq((int)out[0].rank, (int)out[1].rank);
}

START_TEST(a_system_needs_no_matrix_beside_its_constraints) {
  System *s = system_create(names[_i]);
  if (s->nv == s->np) { /* without nonholonomic rows */
    CPMech of_p = reduced(s, 0, 0);
    assert_the_same(s, of_p, 1e-9);
    CPMechFree(&of_p);
  }
  if (s->model.v) {
    CPMech of_v = reduced(s, 1, 1);
    assert_the_same(s, of_v, 1e-12);
    CPMechFree(&of_v);
  }
  system_free(&s);
}
END_TEST

/* Dependent rows, 20 of rank 17, remain dependent up to the noise of the differences, which must
 * not make them count as independent. */
START_TEST(dependent_rows_by_differences_move_as_those_of_the_model) {
  static const char *const methods[] = {"DOP853", "RADAU"};
  System *s                          = system_create(SPATIAL_LOOP);
  CPMech mech[2]                     = {s->mech, reduced(s, 0, 0)};
  N_Vector y[2]                      = {vector_copy(s->y), vector_copy(s->y)};
  for (int k = 0; k < 2; k++) {
    CPIntegrator mem = CPIntegratorCreate(methods[_i], test_context);
    sunrealtype t;
    ck_assert_int_eq(CPMechAttach(mech[k], mem, s->t, y[k]), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-8, 1e-8), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorEvolve(mem, s->t + 0.5, y[k], &t, CV_NORMAL), CP_SUCCESS);
    CPIntegratorFree(&mem);
  }
  /* the errors of both runs */
  ck_assert_double_le(max_distance(y[0], y[1]), 1e-6);
  for (int k = 0; k < 2; k++) N_VDestroy(y[k]);
  CPMechFree(&mech[1]);
  system_free(&s);
}
END_TEST

static MechCounters stats_of(CPMech mech) {
  MechCounters stats;
  ck_assert_int_eq(mech_counters(mech, &stats), CP_SUCCESS);
  return stats;
}

/* Columns of A take six evaluations of p, or four if p is a quadratic; b takes seven along the motion, at any
 * n. The first evaluation may take more, until it knows how far positions may move. */
START_TEST(positions_alone_take_few_evaluations) {
  System *s = system_create(names[_i]);
  if (s->nv == s->np) {
    CPMech mech = reduced(s, 0, 0);
    ck_assert_int_eq(CPMechAccelerations(mech, s->t, s->y, NULL, NULL), CP_SUCCESS);
    const long int before = stats_of(mech).np;
    ck_assert_int_eq(CPMechAccelerations(mech, s->t, s->y, NULL, NULL), CP_SUCCESS);
    const long int calls = stats_of(mech).np - before;
    ck_assert_msg(calls <= 6 * s->nu + 7, "%s: %ld calls for n = %d", s->name, calls, (int)s->nu);
    if (names[_i] == PENDULUM) ck_assert_int_eq(calls, 4 * 2 + 5);
    CPMechFree(&mech);
  }
  system_free(&s);
}
END_TEST

/* If p does not depend on t, which two evaluations tell, b is the derivative of A u alone. */
START_TEST(a_matrix_without_b_takes_few_evaluations) {
  static const SystemName still[] = {PENDULUM, SLIDER_CRANK, ANDREWS};
  System *s                       = system_create(still[_i]);
  CPEquations model               = s->model;
  model.v = model.b = NULL;
  CPMech mech       = create_mech(&model, s->y, test_context);
  ck_assert_int_eq(CPMechSetUserData(mech, s->user_data), CP_SUCCESS);
  ck_assert_int_eq(CPMechAccelerations(mech, s->t, s->y, NULL, NULL), CP_SUCCESS);
  const long int before = stats_of(mech).np;
  ck_assert_int_eq(CPMechAccelerations(mech, s->t, s->y, NULL, NULL), CP_SUCCESS);
  ck_assert_int_eq(stats_of(mech).np - before, 2);
  assert_the_same(s, mech, 1e-9);
  CPMechFree(&mech);
  system_free(&s);
}
END_TEST

/* A chain of ROD rods of unit masses in the plane, where each position depends on four of the 2 ROD coordinates: quadratic, or with
 * a sine of its residual; and the last one, where the first mass is beyond x = 1, on its x as well. */
enum { ROD = 8, CHAIN = 2 * ROD };
static int unit_masses(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q, (void)data;
  for (int i = 0; i < CHAIN; i++) SM_ELEMENT_D(M, i, i) = 1;
  return 0;
}
static int weights(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   sunrealtype *f, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)data;
  for (int i = 1; i < CHAIN; i += 2) f[i] = -9.81;
  return 0;
}
static int rods(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  const int kind = *(const int *)data;
  (void)t;
  for (int i = 0; i < ROD; i++) {
    const sunrealtype x = q[2 * i] - (i ? q[2 * i - 2] : 0),
                      y = q[2 * i + 1] - (i ? q[2 * i - 1] : 0);
    p[i]                = 0.5 * (x * x + y * y - 1);
    if (kind == 1) p[i] = sin(p[i]);
  }
  if (kind == 2 && q[0] > 1) p[ROD - 1] += (q[0] - 1) * (q[0] - 1);
  return 0;
}

static void chain_at(N_Vector y, sunrealtype angle) {
  for (int i = 0; i < ROD; i++) {
    entries(y)[2 * i] = (i + 1) * cos(angle), entries(y)[2 * i + 1] = (i + 1) * sin(angle);
    entries(y)[CHAIN + 2 * i]     = -entries(y)[2 * i + 1];
    entries(y)[CHAIN + 2 * i + 1] = entries(y)[2 * i];
  }
}

/* Four groups of columns take two evaluations each, the direction that confirms them four, and b five; if p is no quadratic, six, six and
 * seven, the last two again if their step has to shrink. What they give is what columns give, with which a new system begins, also where p has begun to depend on another
 * coordinate; and the horizontal chain, where half of the entries of A are zero, hides none. */
START_TEST(columns_that_share_no_row_are_found_together) {
  static const sunrealtype angles[] = {0, -0.7, 0.3};
  int kind                          = _i;
  const CPEquations model           = {CP_SIZED(CPEquations), .nu = CHAIN,  .np = ROD,
                                       .M = unit_masses,      .f = weights, .p = rods};
  N_Vector y                        = N_VNew_Serial(2 * CHAIN, test_context);
  CPMech mech                       = NULL;
  long int most                     = 0;
  for (int k = 0; k < 3; k++) {
    sunrealtype udot[2][CHAIN];
    chain_at(y, angles[k]);
    if (kind == 2) entries(y)[0] += 0.5 * k - 0.4; /* to 0.6, 0.86 and 1.56 */
    for (int fresh = 0; fresh < 2; fresh++) {
      CPMech other = fresh || !mech ? create_mech(&model, y, test_context) : mech;
      ck_assert_int_eq(CPMechSetUserData(other, &kind), CP_SUCCESS);
      const long int before = stats_of(other).np;
      ck_assert_int_eq(CPMechAccelerations(other, 0, y, udot[fresh], NULL), CP_SUCCESS);
      if (!fresh && mech) most = stats_of(other).np - before;
      if (fresh) CPMechFree(&other);
      else mech = other;
    }
    sunrealtype size = 0;
    for (int j = 0; j < CHAIN; j++) size = fmax(size, fabs(udot[1][j]));
    for (int j = 0; j < CHAIN; j++) ck_assert_double_eq_tol(udot[0][j], udot[1][j], 1e-8 * size);
  }
  if (kind == 0) ck_assert_int_eq(most, 4 * 2 + 4 + 5);
  if (kind == 1) ck_assert_int_le(most, 4 * 6 + 2 * (6 + 7)); /* by columns 16 * 6 + 7 */
  CPMechFree(&mech);
  N_VDestroy(y);
}
END_TEST

TEST_SUITE(differences) {
  Suite *suite = suite_create("mechanics/differences");
  TCase *tc    = tcase_create("differences");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, a_system_needs_no_matrix_beside_its_constraints, 0, NAMES);
  tcase_add_loop_test(tc, positions_alone_take_few_evaluations, 0, NAMES);
  tcase_add_loop_test(tc, columns_that_share_no_row_are_found_together, 0, 3);
  tcase_add_loop_test(tc, a_matrix_without_b_takes_few_evaluations, 0, 3);
  tcase_add_loop_test(tc, dependent_rows_by_differences_move_as_those_of_the_model, 0, 2);
  suite_add_tcase(suite, tc);
  return suite;
}
