/* CPProjectorProject: closed forms, scaling, accuracy, held components. properties.c has the
 * properties of every projection with every solver.
 *
 * The tests' weights have 1/ewt of about 1e-5, and eps is 1e-6 (fixture.h): a projected state is
 * accurate to 1e-11, far above roundoff. States are h = 1e-4 off the manifold unless a test says
 * otherwise. */
#include "projector/fixture.h"

#include <math.h>
#include <models/counters.h>
#include <string.h>

static const sunrealtype h = 1.0e-4;

/* A loop over settings x manifolds, as the index of a loop test. */
static Case k;

static void open_pair(int i) {
  case_open(&k, equations_of(manifolds[i / n_settings]), settings[i % n_settings]);
}

/* ---- measures ---- */

/* Residuals of eps in weighted units are at most sqrt(m) eps / apart from the manifold in the norm
 * of D^-1, by the definition of `apart`, and the rms norm divides by sqrt(n). Velocities follow the
 * positions, with at most 3 times their move in these units. In L2 the correction may be along the
 * components with the smallest tolerance: times the ratio of the tolerances. */
static sunrealtype repeated_move(void) {
  const Manifold *mf       = k.eq.mf;
  const sunrealtype spread = k.setting.norm == CP_NORM_L2 ? N_VMaxNorm(k.ewt) / N_VMin(k.ewt) : 1.0;
  const sunrealtype moves  = mf->nlevels > 1 ? 4.0 : 1.0;
  return moves * spread * k.eps * sqrt((sunrealtype)mf->m / mf->n) / mf->apart;
}

/* The distance to surface i, |c_i| / |D^(1/2) g_i|, with D in the weights' units whatever the
 * norm. To first order the max norm over j of ewt_j |change of y_j| is at most that: the bound
 * below takes the smallest such gradient. */
static sunrealtype scaled_residual(void) {
  const Manifold *mf = k.eq.mf;
  long double z[MAX_STATES], c[MAX_ROWS] = {0.0L}, G[MAX_ROWS][MAX_STATES] = {{0.0L}}, worst = 0.0L;
  for (int j = 0; j < mf->n; j++) z[j] = entries(k.y)[j];
  mf->eval((long double)mf->time, z, c, G);
  for (int i = 0; i < mf->m; i++) {
    long double size2 = 0.0L;
    for (int j = 0; j < mf->n; j++) {
      long double g = G[i][j] / entries(k.ewt)[j];
      size2 += g * g;
    }
    worst = fmaxl(worst, fabsl(c[i]) / sqrtl(size2));
  }
  return (sunrealtype)worst;
}

/* ---- closed forms ---- */

/* Difference quotients of these quadratic and linear functions have relative errors of 1e-7. */
static sunrealtype jacobian_error(void) { return k.setting.user_jac ? 0.0 : 1.0e-7; }

START_TEST(linear_constraints_are_projected_exactly) {
  long double D[MAX_STATES];
  case_open(&k, equations_of(&planes), settings[_i]);
  case_perturb(&k, 1.0e-2, 4);
  N_Vector start = vector_copy(k.y), expected = vector_copy(k.y);
  inverse_metric(k.setting.norm, k.ewt, D);
  reference_project(&planes, 0, D,
                    expected); /* y - D A' (A D A')^-1 (A y - b): linear, one step is exact */
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  /* 1e-14 allows for a few roundings of y, |y| < 2, times the condition of A D A', below 10 */
  ck_assert_bound(&k, max_distance(k.y, expected), 1.0e-14 + 10.0 * jacobian_error() * 1.0e-2);
  /* the correction lies in range(D A'): D^-1-orthogonal to each vector of the null space of A */
  for (unsigned long long seed = 1; seed <= 3; seed++) {
    unsigned long long state = seed;
    N_Vector v               = vector_of(planes.n, NULL);
    long double sum = 0.0L, size = 0.0L;
    random_fill(v, &state);
    reference_tangent(&planes, 0, D, start, v);
    for (int j = 0; j < planes.n; j++) {
      long double term = entries(v)[j] / D[j] * (entries(k.y)[j] - entries(start)[j]);
      sum += term;
      size += fabsl(entries(v)[j] / D[j]);
    }
    ck_assert_bound(&k, (sunrealtype)(fabsl(sum) / size),
                    1.0e-14 + 10.0 * jacobian_error() * 1.0e-2);
    N_VDestroy(v);
  }
  N_VDestroy(start);
  N_VDestroy(expected);
  case_close(&k);
}
END_TEST

/* On circle and sphere in the L2 norm the gradient at yhat points to the nearest point, yhat /
 * |yhat|, and simplified Newton never leaves that line: the closed form holds for large
 * distances too. */
START_TEST(circle_and_sphere_are_projected_radially_in_L2) {
  const Manifold *const round[] = {&circle, &sphere};
  for (int s = 0; s < 2; s++)
    for (int jac = 0; jac < 2; jac++) {
      const Setting setting = setting_of((CPLinSol)_i, CP_NORM_L2, jac);
      case_open(&k, equations_of(round[s]), setting);
      case_perturb(&k, 0.1, 5);
      N_Vector expected = vector_copy(k.y);
      N_VScale(1.0 / sqrt(dot(k.y, k.y)), k.y, expected);
      ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
      ck_assert_bound(&k, max_distance(k.y, expected), 2.0e-5 * k.eps + jacobian_error() * 0.1);
      N_VDestroy(expected);
      case_close(&k);
    }
}
END_TEST

START_TEST(L2_needs_no_weights) {
  const Setting setting = setting_of(CP_LINSOL_AUTO, CP_NORM_L2, 1);
  case_open(&k, equations_of(&circle), setting);
  case_perturb(&k, 1.0e-2, 5);
  N_Vector expected = vector_copy(k.y);
  N_VScale(1.0 / sqrt(dot(k.y, k.y)), k.y, expected);
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, NULL));
  ck_assert_bound(&k, max_distance(k.y, expected), 1.0e-12);
  N_VDestroy(expected);
  case_close(&k);
}
END_TEST

START_TEST(the_time_reaches_the_constraints) {
  case_open(&k, equations_of(&pivot_moving), solvers[0]);
  ck_assert_success(&k, CPProjectorProject(k.P, 0.5, k.y, k.ewt));
  const sunrealtype t = 0.5001;
  ck_assert_success(&k, CPProjectorProject(k.P, t, k.y, k.ewt));
  const sunrealtype rx = entries(k.y)[0] - sin(t), ry = entries(k.y)[1];
  ck_assert_bound(&k, fabs(rx * rx + ry * ry - 1.0),
                  1.0e-10); /* gradient 2, 1/ewt at most 2e-5, eps 1e-6 */
  case_close(&k);
}
END_TEST

/* ---- scaling ---- */

/* Rows times 1e-12 ... 1e12: the same manifold. */
START_TEST(row_scales_do_not_change_the_projected_point) {
  const sunrealtype scale[MAX_ROWS] = {1.0e12, 3.0e-12, 1.0e-5, -7.0e8, 1.0e-9, 1.0e3};
  for (int p = 0; p < n_manifolds; p++) {
    case_open(&k, equations_of(manifolds[p]), settings[_i]);
    case_perturb(&k, h, 6);
    ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
    N_Vector expected = vector_copy(k.y);
    case_close(&k);

    Equations scaled = equations_of(manifolds[p]);
    scaled.scale     = scale;
    case_open(&k, scaled, settings[_i]);
    case_perturb(&k, h, 6);
    ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
    ck_assert_bound(&k, wrms_distance(k.y, expected, k.ewt), repeated_move());
    N_VDestroy(expected);
    case_close(&k);
  }
}
END_TEST

START_TEST(with_given_tolerances_the_residual_is_measured_by_them) {
  case_open(&k, equations_of(&planes), settings[_i]);
  case_perturb(&k, h, 7);
  N_Vector ctol = VECTOR(1.0e-3, 1.0e-5), c = vector_of(2, NULL);
  sunrealtype norm;
  sunindextype worst = -7;
  ck_assert_int_eq(equations_c(k.t, k.y, c, &k.eq), 0);
  const sunrealtype first = fabs(entries(c)[0]) / 1.0e-3, second = fabs(entries(c)[1]) / 1.0e-5;
  ck_assert_success(&k, CPProjectorSetConstraintTol(k.P, ctol));
  entries(ctol)[0] = 1.0e9; /* the projector has a copy */
  ck_assert_success(&k, CPProjectorGetViolation(k.P, k.t, k.y, k.ewt, &norm, &worst));
  ck_assert_double_eq_tol(norm, fmax(first, second), 1.0e-12 * norm);
  ck_assert_int_eq(worst, first > second ? 0 : 1);
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  ck_assert_int_eq(equations_c(k.t, k.y, c, &k.eq), 0);
  ck_assert_bound(&k, fabs(entries(c)[0]), 1.0e-3 * k.eps);
  ck_assert_bound(&k, fabs(entries(c)[1]), 1.0e-5 * k.eps);
  N_VDestroy(c);
  N_VDestroy(ctol);
  case_close(&k);
}
END_TEST

START_TEST(without_tolerances_the_violation_is_the_distance_in_weighted_units) {
  for (int p = 0; p < n_manifolds; p++) {
    if (manifolds[p]->nlevels > 1) continue;
    sunrealtype norm;
    case_open(&k, equations_of(manifolds[p]), settings[_i]);
    case_perturb(&k, h, 8);
    ck_assert_success(&k, CPProjectorGetViolation(k.P, k.t, k.y, k.ewt, &norm, NULL));
    const sunrealtype expected =
        scaled_residual(); /* to 1e-7: G may come from difference quotients */
    ck_assert_msg(fabs(norm - expected) <= 1.0e-6 * expected, "%s: %g, expected %g", k.eq.mf->name,
                  norm, expected);
    case_close(&k);
  }
}
END_TEST

/* D over 18 orders of magnitude, as from absolute tolerances of 1e-12 to 1e-3. The two largest
 * columns span the rows, so that the scaled problem is well conditioned. */
START_TEST(widely_spread_weights_lose_no_digits) {
  const sunrealtype weights[5] = {1.0e12, 1.0e7, 1.0e9, 1.0e3, 1.0e3};
  long double D[MAX_STATES];
  case_open(&k, equations_of(&planes), settings[_i]);
  memcpy(entries(k.ewt), weights, sizeof weights);
  case_perturb(&k, 1.0e-2, 9);
  N_Vector expected = vector_copy(k.y);
  inverse_metric(k.setting.norm, k.ewt, D);
  reference_project(&planes, 0, D, expected);
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  ck_assert_bound(&k, max_distance(k.y, expected), 1.0e-14 + 10.0 * jacobian_error() * 1.0e-2);
  N_VDestroy(expected);
  case_close(&k);
}
END_TEST

/* ---- accuracy ---- */

START_TEST(residuals_of_1e_13_are_reached_when_asked_for) {
  for (int p = 0; p < n_manifolds; p++) {
    case_open(&k, equations_of(manifolds[p]), settings[_i]);
    case_perturb(&k, h, 10);
    N_Vector ctol = vector_of(manifolds[p]->m, NULL);
    N_VConst(1.0, ctol);
    N_VConst(1.0, k.ewt);
    ck_assert_success(&k, CPProjectorSetConstraintTol(k.P, ctol));
    ck_assert_success(&k, CPProjectorSetEps(k.P, 1.0e-13));
    ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
    ck_assert_bound(&k, largest_residual(k.eq.mf, k.y), 1.0e-13);
    N_VDestroy(ctol);
    case_close(&k);
  }
}
END_TEST

/* A circle of radius 1e6: the spacing of doubles in y is 1e-10, and 1e-15 is required. */
static int big_circle(sunrealtype t, N_Vector y, N_Vector c, void *calls) {
  const sunrealtype *z = entries(y);
  (void)t;
  ++*(int *)calls;
  entries(c)[0] = z[0] * z[0] + z[1] * z[1] - 1.0e12;
  return 0;
}

START_TEST(asking_for_more_than_roundoff_allows_succeeds_at_the_floor) {
  for (unsigned long long seed = 1; seed <= 20; seed++) {
    unsigned long long state = seed;
    int calls                = 0;
    MessageLog log           = {0};
    N_Vector y = VECTOR(6.0e5, -8.0e5), c = VECTOR(0.0), ewt = VECTOR(1.0e3, 1.0e3);
    entries(y)[0] += random_number(&state);
    entries(y)[1] += random_number(&state);
    CPProjector P = CPProjectorCreate(big_circle, y, c, test_context);
    ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &log), CP_SUCCESS);
    ck_assert_int_eq(CPProjectorSetUserData(P, &calls), CP_SUCCESS);
    ck_assert_int_eq(CPProjectorSetLinearSolver(P, (CPLinSol)_i), CP_SUCCESS);
    ck_assert_int_eq(CPProjectorSetEps(P, 1.0e-12), CP_SUCCESS);
    ck_assert_int_eq(CPProjectorProject(P, 0.0, y, ewt), CP_SUCCESS);
    /* Newton needs 3; level detection and difference quotients need a few */
    ck_assert_int_lt(calls, 60);
    /* c is accurate to 3 roundings of 1e12, 3.3e-4, that is 1.7e-10 along the radius, compared with
     * two units in the last place of y, 2.3e-10 */
    const long double r = hypotl((long double)entries(y)[0], (long double)entries(y)[1]);
    ck_assert_double_le((sunrealtype)fabsl(r - 1.0e6L), 4.0e-10);
    ProjectorCounters stats;
    ck_assert_int_eq(projector_counters(P, &stats), CP_SUCCESS);
    /* if c is exactly 0, the floor was not needed */
    ck_assert_int_eq(big_circle(0.0, y, c, &calls), 0);
    if (entries(c)[0] != 0.0) ck_assert_int_eq(stats.nfloor, 1);
    ck_assert_int_eq(stats.nfails, 0);
    CPProjectorFree(&P);
    N_VDestroy(y);
    N_VDestroy(c);
    N_VDestroy(ewt);
  }
}
END_TEST

START_TEST(a_state_on_the_manifold_is_corrected_once_and_stays) {
  open_pair(_i);
  case_perturb(&k, 0.0, 1);
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  const long int before = case_stats(&k).niters;
  N_Vector once         = vector_copy(k.y);
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  const long int corrections = case_stats(&k).niters - before;
  ck_assert_int_ge(corrections, 1);
  ck_assert_int_le(corrections, case_stats(&k).nlevels); /* one for each level */
  ck_assert_bound(&k, wrms_distance(k.y, once, k.ewt), repeated_move());
  N_VDestroy(once);
  case_close(&k);
}
END_TEST

/* ---- difference quotients ---- */

/* A rod of length 1 in displacements from its reference position: states near zero, terms of
 * size 1. */
static int displaced_rod(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  const sunrealtype x = 1.0 + entries(y)[0], z = entries(y)[1];
  (void)t;
  (void)user_data;
  entries(c)[0] = x * x + z * z - 1.0;
  return 0;
}

/* With G = (0, 0) or noise nothing converges; an increment below the roundoff of 1 would give that. */
START_TEST(difference_quotients_are_good_however_near_to_zero_the_state_is) {
  const sunrealtype size[] = {0.0, 1.0e-14, 1.0e-12, 1.0e-10, 1.0e-8, 1.0e-6, 1.0e-4, 1.0e-2};
  const sunrealtype atol[] = {1.0e-12, 1.0e-9, 1.0e-6};
  for (size_t i = 0; i < sizeof size / sizeof size[0]; i++)
    for (size_t a = 0; a < sizeof atol / sizeof atol[0]; a++) {
      MessageLog log = {0};
      N_Vector y = VECTOR(size[i], size[i]), c = VECTOR(0.0),
               ewt  = VECTOR(1.0 / atol[a], 1.0 / atol[a]);
      CPProjector P = CPProjectorCreate(displaced_rod, y, c, test_context);
      ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &log), CP_SUCCESS);
      ck_assert_int_eq(CPProjectorSetLinearSolver(P, (CPLinSol)_i), CP_SUCCESS);
      N_Vector v = VECTOR(1.0, 1.0);
      /* P v = v - n (n'v), n = (x, z)/|(x, z)|, by hand; a simplified Newton iteration needs 1e-3
       * of it to gain three digits with each correction */
      const sunrealtype x = 1.0 + size[i], r2 = x * x + size[i] * size[i];
      ck_assert_msg(CPProjectorProjectVector(P, CP_TANGENT, 0.0, y, ewt, v) == CP_SUCCESS, "%s",
                    log.text);
      ck_assert_double_eq_tol(entries(v)[0], 1.0 - x * (x + size[i]) / r2, 1.0e-3);
      ck_assert_double_eq_tol(entries(v)[1], 1.0 - size[i] * (x + size[i]) / r2, 1.0e-3);
      ck_assert_msg(CPProjectorProject(P, 0.0, y, ewt) == CP_SUCCESS, "state %g, tolerance %g: %s",
                    size[i], atol[a], log.text);
      CPProjectorFree(&P);
      N_VDestroy(y);
      N_VDestroy(c);
      N_VDestroy(v);
      N_VDestroy(ewt);
    }
}
END_TEST

/* A rod of length 0.3 from (0.18, 0.24), in displacements: its residual is a multiple of about
 * 1e-17 that is never exactly zero, and 1e-18 is required. */
static int inclined_rod(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  const sunrealtype x = 0.18 + entries(y)[0], z = 0.24 + entries(y)[1];
  (void)t;
  (void)user_data;
  entries(c)[0] = x * x + z * z - 0.09;
  return 0;
}

START_TEST(the_floor_is_that_of_the_constraint_where_states_are_small_next_to_its_constants) {
  for (unsigned long long seed = 1; seed <= 20; seed++) {
    unsigned long long state = seed;
    MessageLog log           = {0};
    N_Vector y = VECTOR(0.0, 0.0), c = VECTOR(0.0), ewt = VECTOR(1.0e12, 1.0e12);
    entries(y)[0] = 1.0e-11 * random_number(&state);
    entries(y)[1] = 1.0e-11 * random_number(&state);
    CPProjector P = CPProjectorCreate(inclined_rod, y, c, test_context);
    ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &log), CP_SUCCESS);
    ck_assert_int_eq(CPProjectorSetLinearSolver(P, (CPLinSol)_i), CP_SUCCESS);
    ck_assert_int_eq(CPProjectorSetEps(P, 1.0e-6), CP_SUCCESS);
    ck_assert_msg(CPProjectorProject(P, 0.0, y, ewt) == CP_SUCCESS, "%s", log.text);
    /* three terms of at most 0.09 and their sum, each accurate to 7e-18 after squaring coordinates
     * that are */
    /* machine numbers to 1.4e-17: 4 roundings of 0.1 */
    ck_assert_int_eq(inclined_rod(0.0, y, c, NULL), 0);
    ck_assert_double_le(fabs(entries(c)[0]), 4.0 * 1.4e-17);
    CPProjectorFree(&P);
    N_VDestroy(y);
    N_VDestroy(c);
    N_VDestroy(ewt);
  }
}
END_TEST

/* ---- fixed components ---- */

START_TEST(fixed_components_keep_every_bit) {
  const Manifold *const loops[] = {&sphere,      &planes,   &crank_loop,
                                   &pendulum_qu, &crank_qu, &bodies_blocked};
  for (size_t p = 0; p < sizeof loops / sizeof loops[0]; p++) {
    long double D[MAX_STATES];
    case_open(&k, equations_of(loops[p]), settings[_i]);
    case_set_levels(&k, 1);
    case_perturb(&k, h, 11);
    N_Vector start = vector_copy(k.y), expected = vector_copy(k.y);
    int id[MAX_STATES];
    for (int j = 0; j < MAX_STATES; j++) id[j] = j > 0;
    ck_assert_success(&k, CPProjectorSetFree(k.P, id));
    id[1] = 0; /* the projector has a copy */
    ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
    ck_assert_mem_eq(entries(k.y), entries(start), sizeof(sunrealtype));
    ck_assert_double_ne(entries(k.y)[1], entries(start)[1]);
    inverse_metric(k.setting.norm, k.ewt, D);
    D[0] = 0.0L;
    reference_project(loops[p], 1, D, expected);
    /* second order in h, curvatures and condition below 50 */
    ck_assert_bound(&k, max_distance(k.y, expected), 50.0 * h * h);
    ck_assert_bound(&k, largest_residual(loops[p], k.y), 1.0e-9);

    ck_assert_success(&k, CPProjectorSetFree(k.P, NULL)); /* free again */
    entries(k.y)[0] += h;
    const sunrealtype moved = entries(k.y)[0];
    ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
    ck_assert_double_ne(entries(k.y)[0], moved);
    N_VDestroy(start);
    N_VDestroy(expected);
    case_close(&k);
  }
}
END_TEST

/* The sum in (G D G')_ii is over free components: a fixed component does not bring the surface
 * nearer. */
START_TEST(the_violation_is_the_distance_that_free_components_have_to_go) {
  sunrealtype norm;
  case_open(&k, equations_of(&sphere), settings[_i]);
  case_perturb(&k, h, 13);
  const int id[] = {0, 1, 1};
  N_Vector c     = VECTOR(0.0);
  ck_assert_success(&k, CPProjectorSetFree(k.P, id));
  ck_assert_success(&k, CPProjectorGetViolation(k.P, k.t, k.y, k.ewt, &norm, NULL));
  ck_assert_int_eq(equations_c(k.t, k.y, c, &k.eq), 0);
  const sunrealtype g1       = 2.0 * entries(k.y)[1] / entries(k.ewt)[1];
  const sunrealtype g2       = 2.0 * entries(k.y)[2] / entries(k.ewt)[2];
  const sunrealtype expected = fabs(entries(c)[0]) / hypot(g1, g2);
  ck_assert_double_eq_tol(norm, expected, 1.0e-6 * expected); /* G may come from differences */
  N_VDestroy(c);
  case_close(&k);
}
END_TEST

START_TEST(fixing_all_that_a_violated_constraint_depends_on_fails_and_names_it) {
  case_open(&k, equations_of(&pendulum_qu), solvers[_i]);
  case_perturb(&k, h, 12);
  const int id[] = {0, 0, 1, 1};
  N_Vector start = vector_copy(k.y);
  ck_assert_success(&k, CPProjectorSetFree(k.P, id));
  ck_assert_int_eq(CPProjectorProject(k.P, k.t, k.y, k.ewt), -CP_PROJ_INCONSISTENT);
  ck_assert_int_eq(k.log.code, -CP_PROJ_INCONSISTENT);
  ck_assert_mentions(k.log.text, "constraint 0");
  ck_assert(same_bits(k.y, start));
  N_VDestroy(start);
  case_close(&k);
}
END_TEST

TEST_SUITE(projection) {
  Suite *suite    = suite_create("projection");
  TCase *tc       = tcase_create("projection");
  const int pairs = n_manifolds * n_settings;
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, linear_constraints_are_projected_exactly, 0, n_settings);
  tcase_add_loop_test(tc, circle_and_sphere_are_projected_radially_in_L2, CP_LINSOL_AUTO,
                      CP_LINSOL_QR + 1);
  tcase_add_test(tc, L2_needs_no_weights);
  tcase_add_test(tc, the_time_reaches_the_constraints);
  tcase_add_loop_test(tc, row_scales_do_not_change_the_projected_point, 0, n_settings);
  tcase_add_loop_test(tc, with_given_tolerances_the_residual_is_measured_by_them, 0, n_settings);
  tcase_add_loop_test(tc, without_tolerances_the_violation_is_the_distance_in_weighted_units, 0,
                      n_settings);
  tcase_add_loop_test(tc, widely_spread_weights_lose_no_digits, 0, n_settings);
  tcase_add_loop_test(tc, residuals_of_1e_13_are_reached_when_asked_for, 0, n_settings);
  tcase_add_loop_test(tc, asking_for_more_than_roundoff_allows_succeeds_at_the_floor,
                      CP_LINSOL_AUTO, CP_LINSOL_QR + 1);
  tcase_add_loop_test(tc, a_state_on_the_manifold_is_corrected_once_and_stays, 0, pairs);
  tcase_add_loop_test(tc, difference_quotients_are_good_however_near_to_zero_the_state_is,
                      CP_LINSOL_AUTO, CP_LINSOL_QR + 1);
  tcase_add_loop_test(
      tc, the_floor_is_that_of_the_constraint_where_states_are_small_next_to_its_constants,
      CP_LINSOL_AUTO, CP_LINSOL_QR + 1);
  tcase_add_loop_test(tc, the_violation_is_the_distance_that_free_components_have_to_go, 0,
                      n_settings);
  tcase_add_loop_test(tc, fixed_components_keep_every_bit, 0, n_settings);
  tcase_add_loop_test(tc, fixing_all_that_a_violated_constraint_depends_on_fails_and_names_it, 0,
                      n_solvers);
  suite_add_tcase(suite, tc);
  return suite;
}
