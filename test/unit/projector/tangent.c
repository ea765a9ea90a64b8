/* CPProjectorProjectVector: P = I - D G'(G D G')^+ G, level by level, and P': by
 * hand, and what a call leaves unchanged. properties.c has the general properties of P. */
#include "projector/fixture.h"

#include <math.h>

/* Roundoff of one projection: about 10 operations per entry, amplified by the condition of the
 * scaled gradients (below 25 for these manifolds) and by the spread of the weights (below 50): 1e4
 * roundings, 2e-12. Difference quotients with increments of 1.5e-10 (a state near zero) and
 * constraints rounded to 1e-16 are accurate to 1e-6; in L2 that may be an error of the component
 * with the largest weight, in units of the one with the smallest. */
static const sunrealtype roundoff = 2.0e-12;
static const sunrealtype quotient = 1.0e-6;

static Case k;
static int levels;

/* Index: manifold x setting x (coupled, levels). At a state on the manifold, where the tangent
 * space is requested. */
static void open_triple(int i) {
  levels = i % 2;
  case_open(&k, equations_of(manifolds[i / 2 / n_settings]), settings[i / 2 % n_settings]);
  case_set_levels(&k, levels);
}

static sunrealtype jacobian_error(void) {
  if (k.setting.user_jac) return roundoff;
  return k.setting.norm == CP_NORM_L2 ? quotient * N_VMaxNorm(k.ewt) / N_VMin(k.ewt) : quotient;
}

static N_Vector random_vector(unsigned long long seed) {
  N_Vector v = vector_copy(k.y);
  random_fill(v, &seed);
  for (int j = 0; j < k.eq.mf->n; j++)
    entries(v)[j] /= entries(k.ewt)[j]; /* errors come in such units */
  return v;
}

static void tangent(N_Vector v) {
  ck_assert_success(&k, CPProjectorProjectVector(k.P, CP_TANGENT, k.t, k.y, k.ewt, v));
}

static void cotangent(N_Vector w) {
  ck_assert_success(&k, CPProjectorProjectVector(k.P, CP_COTANGENT, k.t, k.y, k.ewt, w));
}

/* v = D G'mu has no tangential part: P v = 0. On the circle by hand. */
START_TEST(a_vector_along_D_G_vanishes) {
  case_open(&k, equations_of(&circle), settings[_i]);
  N_Vector v = vector_copy(k.y);
  for (int j = 0; j < 2; j++)
    if (k.setting.norm == CP_NORM_ERROR) entries(v)[j] /= entries(k.ewt)[j] * entries(k.ewt)[j];
  const sunrealtype size = N_VMaxNorm(v);
  tangent(v);
  ck_assert_bound(&k, N_VMaxNorm(v), size * jacobian_error());
  N_VDestroy(v);
  case_close(&k);
}
END_TEST

/* Only in L2 is the transpose the same operator. */
START_TEST(in_the_error_norm_P_is_not_its_transpose) {
  case_open(&k, equations_of(&circle), setting_of(CP_LINSOL_AUTO, CP_NORM_ERROR, 1));
  entries(k.ewt)[0] = 10.0;
  entries(k.ewt)[1] = 1.0;
  N_Vector v = VECTOR(1.0, 0.0), w = VECTOR(1.0, 0.0);
  tangent(v);
  cotangent(w);
  /* by hand, with d = (1/100, 1), g = (0.8, 0.6), g'Dg = 0.3664: P e1 = e1 - D g g_1 / g'Dg */
  const sunrealtype gDg = 0.0064 + 0.36;
  ck_assert_double_eq_tol(entries(v)[0], 1.0 - 0.01 * 0.64 / gDg, roundoff);
  ck_assert_double_eq_tol(entries(v)[1], -0.48 / gDg, roundoff);
  ck_assert_double_eq_tol(entries(w)[0], 1.0 - 0.01 * 0.64 / gDg, roundoff);
  ck_assert_double_eq_tol(entries(w)[1], -0.01 * 0.48 / gDg, roundoff);
  N_VDestroy(v);
  N_VDestroy(w);
  case_close(&k);
}
END_TEST

/* Far from the state of the previous call: the tangent space is that of the given state. */
START_TEST(the_tangent_space_is_that_of_the_state_given) {
  case_open(&k, equations_of(&circle), settings[_i]);
  N_Vector v = VECTOR(1.0, 1.0);
  for (int step = 0; step < 20; step++) {
    entries(k.y)[0] = cos(0.3 * step);
    entries(k.y)[1] = sin(0.3 * step);
    entries(v)[0] = entries(v)[1] = 1.0;
    N_Vector v0                   = vector_copy(v);
    tangent(v);
    ck_assert_bound(&k, tangent_defect(&circle, k.y, v0, v), jacobian_error());
    N_VDestroy(v0);
  }
  N_VDestroy(v);
  case_close(&k);
}
END_TEST

START_TEST(a_tangent_projection_leaves_the_state_alone) {
  open_triple(_i);
  case_perturb(&k, 1.0e-4, 3);
  N_Vector y0 = vector_copy(k.y), v = random_vector(1);
  tangent(v);
  cotangent(v);
  ck_assert(same_bits(k.y, y0));
  ck_assert_int_eq(case_stats(&k).ntangent, 2);
  N_VDestroy(y0);
  N_VDestroy(v);
  case_close(&k);
}
END_TEST

TEST_SUITE(tangent) {
  Suite *suite      = suite_create("tangent");
  TCase *tc         = tcase_create("tangent");
  const int pairs   = n_manifolds * n_settings;
  const int triples = 2 * pairs;
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, a_vector_along_D_G_vanishes, 0, n_settings);
  tcase_add_test(tc, in_the_error_norm_P_is_not_its_transpose);
  tcase_add_loop_test(tc, the_tangent_space_is_that_of_the_state_given, 0, n_settings);
  tcase_add_loop_test(tc, a_tangent_projection_leaves_the_state_alone, 0, triples);
  suite_add_tcase(suite, tc);
  return suite;
}
