/* The rigid bodies' kinematics and Euler's equations against closed forms, rotation matrices and
 * conserved quantities. */
#include "jacobians.h"

#include "models/quaternions.h"
#include <math.h>

enum { N = 5, LEN = 7 * N };

static Quaternions round_bodies(void) { return (Quaternions){.n = N, .J = {2, 2, 2}}; }
static Quaternions long_bodies(void) { return (Quaternions){.n = N, .J = {1, 2, 2.5}}; }

START_TEST(initial_state_is_on_the_manifold) {
  Quaternions bodies = long_bodies();
  N_Vector y = vector_of(LEN, NULL), c = vector_of(N, NULL);
  quaternions_initial(&bodies, y);
  ck_assert_int_eq(quaternions_constraints(0, y, c, &bodies), 0);
  ck_assert_double_le(N_VMaxNorm(c), 10 * ROUNDOFF);
  N_VDestroy(y);
  N_VDestroy(c);
}
END_TEST

START_TEST(jacobian_is_the_derivative_and_the_sparse_ones) {
  Quaternions bodies = long_bodies();
  compare_jacobian(quaternions_constraints, quaternions_jacobian, LEN, N, 0, &bodies);
  for (int type = 0; type < 2; type++) {
    SUNMatrix pattern = quaternions_pattern(N, type ? CSR_MAT : CSC_MAT, test_context);
    ck_assert_ptr_nonnull(pattern);
    compare_sparse(quaternions_jacobian, quaternions_jacobian, pattern, &bodies);
    SUNMatDestroy(pattern);
  }
}
END_TEST

/* d/dt of the closed form by central differences of step e: truncation e^2 |q'''| / 6, q''' =
   (|omega| / 2)^3 < 1, roundoff of ten operations / e */
START_TEST(closed_form_solves_the_equations) {
  const sunrealtype e = 1e-5, bound = e * e / 6 + 10 * ROUNDOFF / e;
  Quaternions bodies = round_bodies();
  N_Vector y0 = vector_of(LEN, NULL), y = vector_copy(y0), f = vector_copy(y0);
  N_Vector before = vector_copy(y0), after = vector_copy(y0), c = vector_of(N, NULL);
  quaternions_initial(&bodies, y0);
  quaternions_exact(&bodies, 0, y0, y);
  ck_assert_int_eq(same_bits(y, y0), 1);

  for (sunrealtype t = 0; t < 10; t += 0.7) {
    quaternions_exact(&bodies, t - e, y0, before);
    quaternions_exact(&bodies, t, y0, y);
    quaternions_exact(&bodies, t + e, y0, after);
    ck_assert_int_eq(quaternions_rhs(t, y, f, &bodies), 0);
    N_VLinearSum(1 / (2 * e), after, -1 / (2 * e), before, after);
    ck_assert_double_le(max_distance(f, after), bound);
    ck_assert_int_eq(quaternions_constraints(t, y, c, &bodies), 0);
    ck_assert_double_le(N_VMaxNorm(c), 20 * ROUNDOFF);
  }
  N_VDestroy(y0);
  N_VDestroy(y);
  N_VDestroy(f);
  N_VDestroy(before);
  N_VDestroy(after);
  N_VDestroy(c);
}
END_TEST

/* A body that turns about its own z axis, starting from the axes of space: its x axis is (cos wt,
 * sin wt, 0). The momentum of a body that spins about its x axis, J_1 = 1, shows the direction of
 * that axis. */
START_TEST(quaternions_turn_the_right_way) {
  Quaternions body = {.n = 1, .J = {1, 1, 1}};
  N_Vector y0 = VECTOR(1, 0, 0, 0, 0, 0, 2), y = vector_copy(y0);
  sunrealtype L[3];
  quaternions_exact(&body, 0.4, y0, y);
  entries(y)[4] = 1, entries(y)[6] = 0;
  quaternions_momentum(&body, y, 0, L);
  ck_assert_double_le(fabs(L[0] - cos(0.8)), 10 * ROUNDOFF);
  ck_assert_double_le(fabs(L[1] - sin(0.8)), 10 * ROUNDOFF);
  ck_assert_double_le(fabs(L[2]), 10 * ROUNDOFF);
  N_VDestroy(y0);
  N_VDestroy(y);
}
END_TEST

/* Rates along f by central differences of step e of L, of degree 3 in y, all terms and f below 5:
   truncation e^2 |f|^3 / 6 of about 20 terms, roundoff / e. */
START_TEST(energy_and_momentum_are_conserved) {
  const sunrealtype e = 1e-5, bound = 20 * e * e * 125 / 6 + 100 * ROUNDOFF * 5 / e;
  Quaternions bodies = long_bodies();
  N_Vector y = vector_of(LEN, NULL), f = vector_copy(y), after = vector_copy(y),
           before = vector_copy(y);
  quaternions_initial(&bodies, y);
  ck_assert_int_eq(quaternions_rhs(0, y, f, &bodies), 0);
  ck_assert_double_gt(fabs(entries(f)[4 * N]) + fabs(entries(f)[4 * N + 1]), 0.1); /* omega' */
  ck_assert_double_le(N_VMaxNorm(f), 5);
  N_VLinearSum(1, y, e, f, after);
  N_VLinearSum(1, y, -e, f, before);

  const sunrealtype gained =
      quaternions_energy(&bodies, after) - quaternions_energy(&bodies, before);
  ck_assert_double_le(fabs(gained) / (2 * e), bound);
  for (int i = 0; i < N; i++) {
    sunrealtype L1[3], L0[3];
    quaternions_momentum(&bodies, after, i, L1);
    quaternions_momentum(&bodies, before, i, L0);
    for (int k = 0; k < 3; k++) ck_assert_double_le(fabs(L1[k] - L0[k]) / (2 * e), bound);
  }
  N_VDestroy(y);
  N_VDestroy(f);
  N_VDestroy(after);
  N_VDestroy(before);
}
END_TEST

TEST_SUITE(models_quaternions) {
  Suite *suite = suite_create("models_quaternions");
  TCase *tcase = tcase_create("quaternions");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_test(tcase, initial_state_is_on_the_manifold);
  tcase_add_test(tcase, jacobian_is_the_derivative_and_the_sparse_ones);
  tcase_add_test(tcase, closed_form_solves_the_equations);
  tcase_add_test(tcase, quaternions_turn_the_right_way);
  tcase_add_test(tcase, energy_and_momentum_are_conserved);
  suite_add_tcase(suite, tcase);
  return suite;
}
