/* The N-four-bar mechanism, apart from the library: the exact motion against constraints, f and
 * energy, f against the descriptor form, and what happens at the singular position. */
#include "jacobians.h"
#include "reference.h"

#include "cpodes/matrix/lapack.h"
#include "models/four_bar.h"
#include <math.h>
#include <stdio.h>

void F77(dormqr)(const char *side, const char *trans, const int *m, const int *n, const int *k,
                 const double *a, const int *lda, const double *tau, double *c, const int *ldc,
                 double *work, const int *lwork, int *info);

static const sunrealtype gravity = 9.81;
static const int windows[]       = {1, 2, 40}; /* of the table; loop index */
enum { TABLES = sizeof windows / sizeof *windows };

/* theta'' / sin theta on the regular branch */
static sunrealtype stiffness(int N) { return gravity * ((N + 1) / 2.0 + N) / ((N + 1) / 3.0 + N); }

/* -------------------------------------------------------------------------- the exact motion -- */

/* Angles up to 63 with their rounding, in y of up to N + 1 */
START_TEST(exact_motion_satisfies_the_constraints) {
  const int N = windows[_i];
  char rows[8];
  Sample samples[MAX_SAMPLES];
  snprintf(rows, sizeof rows, "%d", N);
  const int nsamples = read_table("four_bar.csv", rows, 6, samples, MAX_SAMPLES);
  FourBar *mech      = four_bar_create(N, gravity);
  ck_assert_ptr_nonnull(mech);
  N_Vector y = vector_of(four_bar_n(N), NULL), c = vector_of(four_bar_m(N), NULL);
  const sunrealtype start = gravity * ((N + 1) / 2.0 + N) + ((N + 1) / 3.0 + N) / 2;
  ck_assert_int_eq(nsamples, 41);

  for (int i = 0; i < nsamples; i++) {
    const sunrealtype *s = samples[i].y, turned = ROUNDOFF * (1 + fabs(s[0]));
    four_bar_state(mech, s[0], s[1], y);
    for (int k = 0; k < 2; k++) { /* B_0 is twice the centre of v_0 */
      ck_assert_double_le(fabs(2 * entries(y)[k] - s[2 + k]), 4 * turned);
      const sunrealtype rate = 2 * entries(y)[four_bar_n(N) / 2 + k];
      ck_assert_double_le(fabs(rate - s[4 + k]), 4 * turned * (1 + s[1]));
    }
    ck_assert_int_eq(four_bar_constraints(samples[i].t, y, c, mech), 0);
    ck_assert_double_le(N_VMaxNorm(c), 4 * (turned * (1 + s[1]) + N * ROUNDOFF));
    /* d/dtheta of the energy is below g (2N+1), of 2N+1 terms; theta' is exact to its rounding */
    ck_assert_double_le(fabs(four_bar_energy(mech, y) - start),
                        10 * turned * (2 * N + 1) * (gravity + s[1] * s[1]));
    ck_assert_double_eq(four_bar_branch(mech, y), 0);
  }
  four_bar_free(&mech);
  N_VDestroy(y);
  N_VDestroy(c);
}
END_TEST

/* u' of the regular branch from theta'' against f. The loop closures, differences along the chain
   of N with factors |cos theta|, have a condition below 4 N / |cos theta|; accelerations are of
   size 2 g + theta'^2, and a dozen operations go into each number. */
static void compare_with_regular_branch(FourBar *mech, sunrealtype theta, sunrealtype theta_d) {
  const int n = (int)four_bar_n(mech->N);
  N_Vector y = vector_of(n, NULL), f = vector_of(n, NULL), rate = vector_of(n, NULL);
  const sunrealtype theta_dd = stiffness(mech->N) * sin(theta), c = cos(theta), s = sin(theta);
  four_bar_state(mech, theta, theta_d, y);
  four_bar_state(mech, theta, theta_dd, rate); /* u: the part of u' with theta'' */
  ck_assert_int_eq(four_bar_rhs(0, y, f, mech), 0);

  const sunrealtype size  = 2 * gravity + theta_d * theta_d;
  const sunrealtype bound = 12 * ROUNDOFF * (1 + fabs(theta)) * size * 4 * mech->N / fabs(c);
  for (int k = 0; k < n / 2; k++) {
    const int horizontal      = k / 3 % 2;
    const sunrealtype inward  = theta_d * theta_d * (horizontal ? 1 : 0.5);
    const sunrealtype bent[3] = {-inward * s, -inward * c, 0};
    const sunrealtype exact   = entries(rate)[n / 2 + k] + bent[k % 3];
    ck_assert_double_le(fabs(entries(f)[n / 2 + k] - exact), bound);
    ck_assert_double_eq(entries(f)[k], entries(y)[n / 2 + k]);
  }
  N_VDestroy(y);
  N_VDestroy(f);
  N_VDestroy(rate);
}

START_TEST(exact_motion_satisfies_the_equations) {
  const int N = windows[_i];
  char rows[8];
  Sample samples[MAX_SAMPLES];
  snprintf(rows, sizeof rows, "%d", N);
  const int nsamples = read_table("four_bar.csv", rows, 6, samples, MAX_SAMPLES);
  FourBar *mech      = four_bar_create(N, gravity);
  for (int i = 0; i < nsamples; i++)
    compare_with_regular_branch(mech, samples[i].y[0], samples[i].y[1]);
  four_bar_free(&mech);
}
END_TEST

/* Down to 1e-9 rad from the singular position, f is still that of the regular branch, to the
 * accuracy that the condition permits. */
START_TEST(accelerations_follow_the_regular_branch_towards_the_singular_position) {
  const int N         = windows[_i];
  FourBar *mech       = four_bar_create(N, gravity);
  const sunrealtype w = stiffness(N), right_angle = acos(SUN_RCONST(0.0));
  for (sunrealtype off = 0.1; off > 0.5e-9; off /= 10)
    for (int side = -1; side <= 1; side += 2) {
      const sunrealtype theta = right_angle + side * off;
      compare_with_regular_branch(mech, theta, sqrt(1 + 2 * w * (1 - cos(theta))));
    }
  four_bar_free(&mech);
}
END_TEST

/* ----------------------------------------------------------------- Jacobian, descriptor form -- */

START_TEST(jacobian_is_the_derivative_and_the_sparse_one) {
  const int N       = _i;
  FourBar *mech     = four_bar_create(N, gravity);
  SUNMatrix pattern = four_bar_pattern(N, test_context);
  ck_assert_ptr_nonnull(pattern);
  compare_jacobian(four_bar_constraints, four_bar_jacobian, (int)four_bar_n(N), (int)four_bar_m(N),
                   0, mech);
  compare_sparse(four_bar_jacobian, four_bar_jacobian, pattern, mech);
  SUNMatDestroy(pattern);
  four_bar_free(&mech);
}
END_TEST

/* r = Q - M u' of the accelerations in f */
static void forces_left(int nq, N_Vector f, sunrealtype *r) {
  for (int k = 0; k < nq; k++) {
    const sunrealtype mass = k % 3 == 2 ? 1 / 12.0 : 1, Q = k % 3 == 1 ? -gravity : 0;
    r[k] = Q - mass * entries(f)[nq + k];
  }
}

/* r = A^T lambda for some lambda? nq = nc + 1: Householder's Q of A^T has one column normal to its
   range. Its error is that of a perturbation of A, and so is the one of f: the normal part of r is
   at most roundoff times |A| |lambda|, for each of about 10 operations on nc numbers. */
static void check_that_joints_give(SUNMatrix G, int nq, int nc, sunrealtype *r) {
  enum { MAX = 64 };
  sunrealtype AT[MAX * MAX], tau[MAX], work[MAX], largest = 0;
  const int one = 1, lwork = MAX;
  int info;
  ck_assert_int_le(nq, MAX);
  for (int i = 0; i < nc; i++)
    for (int j = 0; j < nq; j++) AT[j + i * nq] = SM_ELEMENT_D(G, i, j);
  F77(dgeqrf)(&nq, &nc, AT, &nq, tau, work, &lwork, &info);
  ck_assert_int_eq(info, 0);
  F77(dormqr)("L", "T", &nq, &one, &nc, AT, &nq, tau, r, &nq, work, &lwork, &info);
  ck_assert_int_eq(info, 0);
  const sunrealtype normal = fabs(r[nq - 1]);
  F77(dtrsv)("U", "N", "N", &nc, AT, &nq, r, &one);
  for (int i = 0; i < nc; i++) largest = fmax(largest, fabs(r[i]));
  ck_assert_double_gt(largest, 1); /* there are forces */
  ck_assert_double_le(normal, 10 * nc * ROUNDOFF * largest);
}

/* At random states, on no manifold: M u' + A^T lambda = Q and d/dt (A u) = 0 */
START_TEST(accelerations_solve_the_descriptor_form) {
  enum { N = 2 };
  const int n = (int)four_bar_n(N), m = (int)four_bar_m(N);
  unsigned long long seed = 23;
  FourBar *mech           = four_bar_create(N, gravity);
  N_Vector y = vector_of(n, NULL), f = vector_of(n, NULL), c_dot = vector_of(m, NULL);
  sunrealtype r[3 * (2 * N + 1)];

  for (int trial = 0; trial < 30; trial++) {
    random_fill(y, &seed);
    N_VScale(3, y, y); /* angles all around */
    ck_assert_int_eq(four_bar_rhs(0, y, f, mech), 0);
    SUNMatrix G = dense_jacobian(four_bar_jacobian, m, y, mech);
    dense_times(G, f, c_dot); /* (A u, d/dt (A u)), sums of up to 6 terms */
    for (int i = m / 2; i < m; i++)
      ck_assert_double_le(fabs(entries(c_dot)[i]), 100 * ROUNDOFF * (9 + N_VMaxNorm(f)));
    forces_left(n / 2, f, r);
    check_that_joints_give(G, n / 2, m / 2, r);
    SUNMatDestroy(G);
  }
  four_bar_free(&mech);
  N_VDestroy(y);
  N_VDestroy(f);
  N_VDestroy(c_dot);
}
END_TEST

/* The energy is quadratic in y: its rate along f is the central difference of any step, 1 here. */
START_TEST(energy_is_conserved) {
  const int N = windows[_i], n = (int)four_bar_n(N);
  FourBar *mech = four_bar_create(N, gravity);
  N_Vector y = vector_of(n, NULL), f = vector_of(n, NULL);
  for (sunrealtype theta = 0.1; theta < 6; theta += 0.5) {
    four_bar_state(mech, theta, 2, y);
    ck_assert_int_eq(four_bar_rhs(0, y, f, mech), 0);
    N_VLinearSum(1, y, 1, f, y);
    const sunrealtype after = four_bar_energy(mech, y);
    N_VLinearSum(1, y, -2, f, y);
    const sunrealtype before = four_bar_energy(mech, y);
    /* sums of 8 N terms; f's own error, times velocities, by the condition as above */
    const sunrealtype error =
        12 * ROUNDOFF * (1 + theta) * (2 * gravity + 4) * 4 * N / fabs(cos(theta));
    ck_assert_double_le(fabs(after - before) / 2,
                        8 * N * ROUNDOFF * (after + fabs(before)) + 2 * (2 * N + 1) * error);
  }
  four_bar_free(&mech);
  N_VDestroy(y);
  N_VDestroy(f);
}
END_TEST

/* ------------------------------------------------------------------------- singular position -- */

/* All rods along +x exactly, with angular velocities of the vertical rods; the horizontal ones
   follow. */
static N_Vector horizontal(int N, const sunrealtype *omega) {
  N_Vector y     = vector_of(four_bar_n(N), NULL);
  sunrealtype *q = entries(y), *u = q + four_bar_n(N) / 2;
  for (int k = 0; k <= N; k++, q += 6, u += 6) { /* v_k, h_{k+1} */
    q[0] = k + 0.5, u[1] = omega[k] / 2, u[2] = omega[k];
    if (k == N) break;
    q[3] = k + 1.5, u[4] = (omega[k] + omega[k + 1]) / 2, u[5] = omega[k + 1] - omega[k];
  }
  return y;
}

/* N = 2, by hand: with alpha = phi'' of the vertical rods, alpha_0 = alpha_2, Gauss' function is
   stationary where 2/3 alpha_0 + alpha_1 / 6 = -g and alpha_0 / 3 + alpha_1 = -3/2 g. */
START_TEST(singular_position_has_the_accelerations_of_gauss) {
  enum { N = 2 };
  const sunrealtype omega[N + 1] = {-3, -3, -3};
  const sunrealtype alpha[N + 1] = {-27 * gravity / 22, -12 * gravity / 11, -27 * gravity / 22};
  FourBar *mech                  = four_bar_create(N, gravity);
  N_Vector y = horizontal(N, omega), f = vector_copy(y), c = vector_of(four_bar_m(N), NULL);
  ck_assert_int_eq(four_bar_constraints(0, y, c, mech), 0);
  ck_assert_double_eq(N_VMaxNorm(c), 0);
  ck_assert_int_eq(four_bar_rhs(0, y, f, mech), 0);
  const sunrealtype *u_dot = entries(f) + four_bar_n(N) / 2;
  for (int k = 0; k <= N; k++)
    ck_assert_double_le(fabs(u_dot[6 * k + 2] - alpha[k]), 100 * ROUNDOFF * 2 * gravity);
  four_bar_free(&mech);
  N_VDestroy(y);
  N_VDestroy(f);
  N_VDestroy(c);
}
END_TEST

/* N = 1: along +x the loop's closure requires omega_0^2 + (omega_1 - omega_0)^2 = omega_1^2: the
 * branches omega_0 = omega_1 and omega_0 = 0, between which there is no motion. */
START_TEST(velocities_between_the_branches_are_refused) {
  enum { N = 1 };
  const sunrealtype omega[3][N + 1] = {{-1, -1}, {0, 1}, {-1, 1}};
  FourBar *mech                     = four_bar_create(N, gravity);
  for (int i = 0; i < 3; i++) {
    N_Vector y = horizontal(N, omega[i]), f = vector_copy(y), c = vector_of(four_bar_m(N), NULL);
    ck_assert_int_eq(four_bar_constraints(0, y, c, mech), 0);
    ck_assert_double_eq(N_VMaxNorm(c), 0); /* all of them satisfy the velocity constraints */
    ck_assert_int_eq(four_bar_rhs(0, y, f, mech), i == 2);
    N_VDestroy(y);
    N_VDestroy(f);
    N_VDestroy(c);
  }
  four_bar_free(&mech);
}
END_TEST

START_TEST(bad_states_and_sizes_are_refused) {
  ck_assert_ptr_null(four_bar_create(0, gravity));
  ck_assert_ptr_null(four_bar_create(FOUR_BAR_MAX + 1, gravity));
  FourBar *mech = four_bar_create(2, gravity);
  N_Vector y = vector_of(four_bar_n(2), NULL), f = vector_copy(y);
  four_bar_initial(mech, y);
  ck_assert_int_eq(four_bar_rhs(0, y, f, mech), 0);
  entries(y)[3 * 4 + 2] = NAN; /* the angle of the last rod */
  ck_assert_int_gt(four_bar_rhs(0, y, f, mech), 0);
  four_bar_free(&mech);
  N_VDestroy(y);
  N_VDestroy(f);
}
END_TEST

START_TEST(branch_is_the_largest_difference_of_orientation) {
  FourBar *mech = four_bar_create(2, gravity);
  N_Vector y    = vector_of(four_bar_n(2), NULL);
  four_bar_state(mech, 0.4, 1, y);
  entries(y)[3 * 2 + 2] += 8 * atan(1.0) + 0.1; /* v_1, by more than a turn */
  entries(y)[3 * 4 + 2] -= 0.3;                 /* v_2 */
  ck_assert_double_le(fabs(four_bar_branch(mech, y) - 0.3), 10 * ROUNDOFF);
  four_bar_free(&mech);
  N_VDestroy(y);
}
END_TEST

TEST_SUITE(models_four_bar) {
  Suite *suite = suite_create("models_four_bar");
  TCase *tcase = tcase_create("four_bar");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, exact_motion_satisfies_the_constraints, 0, TABLES);
  tcase_add_loop_test(tcase, exact_motion_satisfies_the_equations, 0, TABLES);
  tcase_add_loop_test(tcase, accelerations_follow_the_regular_branch_towards_the_singular_position,
                      0, TABLES);
  tcase_add_loop_test(tcase, jacobian_is_the_derivative_and_the_sparse_one, 1, 4);
  tcase_add_test(tcase, accelerations_solve_the_descriptor_form);
  tcase_add_loop_test(tcase, energy_is_conserved, 0, TABLES);
  tcase_add_test(tcase, singular_position_has_the_accelerations_of_gauss);
  tcase_add_test(tcase, velocities_between_the_branches_are_refused);
  tcase_add_test(tcase, bad_states_and_sizes_are_refused);
  tcase_add_test(tcase, branch_is_the_largest_difference_of_orientation);
  suite_add_tcase(suite, tcase);
  return suite;
}
