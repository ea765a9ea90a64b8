/* Conjugate gradients: the same projections as by factors of a matrix, with any preconditioner, in
 * as many iterations as theory permits. krylov_failures.c covers failures of products and
 * preconditioners. */
#include "projector/fixture.h"

#include <cpodes/cpodes.h>
#include <cvodes/cvodes.h>
#include <math.h>
#include <models/chain.h>
#include <models/counters.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

/* Exact: the inverse of G D G^T on each level; LUMPED: of G D G^T plus half of its diagonal. */
typedef enum { NONE, EXACT, LUMPED, N_PRECONDITIONERS } Preconditioner;

/* The equations, which are the user_data of the fixture's callbacks, with a preconditioner. */
typedef struct {
  Equations eq;
  Preconditioner kind;
  int levels;
  long double S[MAX_ROWS][MAX_STATES];
  int setups;
} Problem;

static Case k;
static Problem problem;

static int set_up(sunrealtype t, N_Vector y, N_Vector D, void *user_data) {
  Problem *p         = user_data;
  const Manifold *mf = p->eq.mf;
  long double z[MAX_STATES], c[MAX_ROWS] = {0.0L}, G[MAX_ROWS][MAX_STATES] = {{0.0L}};
  for (int j = 0; j < mf->n; j++) z[j] = entries(y)[j];
  mf->eval((long double)t, z, c, G);
  memset(p->S, 0, sizeof p->S);
  for (int a = 0; a < mf->m; a++)
    for (int b = 0; b < mf->m; b++)
      for (int j = 0; j < mf->n; j++) {
        const int level = p->levels ? mf->row_level[a] : 0;
        if (p->levels && (mf->row_level[b] != level || mf->col_level[j] != level)) continue;
        p->S[a][b] += G[a][j] * entries(D)[j] * G[b][j];
      }
  for (int a = 0; p->kind == LUMPED && a < mf->m; a++) p->S[a][a] *= 1.5L;
  p->setups++;
  return 0;
}

static int solve(sunrealtype t, N_Vector y, N_Vector r, N_Vector z, void *user_data) {
  Problem *p = user_data;
  long double S[MAX_ROWS][MAX_STATES], b[MAX_ROWS];
  (void)t;
  (void)y;
  memcpy(S, p->S, sizeof S);
  for (int i = 0; i < p->eq.mf->m; i++) b[i] = entries(r)[i];
  solve_dense(p->eq.mf->m, S, b);
  for (int i = 0; i < p->eq.mf->m; i++) entries(z)[i] = (sunrealtype)b[i];
  return 0;
}

static void open_case(const Manifold *mf, Setting setting, int levels, Preconditioner kind) {
  case_open(&k, equations_of(mf), setting);
  case_set_levels(&k, levels);
  if (setting.solver != CP_LINSOL_PRODUCTS) return;
  problem = (Problem){.eq = k.eq, .kind = kind, .levels = levels};
  ck_assert_success(&k, CPProjectorSetUserData(k.P, &problem));
  if (kind != NONE) ck_assert_success(&k, CPProjectorSetPreconditioner(k.P, set_up, solve));
}

static Setting krylov(CPNorm norm, Storage storage, MetricKind metric) {
  return (Setting){CP_LINSOL_PRODUCTS, norm, 1, storage, metric};
}

static Setting pivoted(CPNorm norm, MetricKind metric) {
  return (Setting){CP_LINSOL_QR, norm, 1, DENSE, metric == OPERATOR ? INVERSE : metric};
}

/* The spread of the weights: the ratio of errors along different components. */
static sunrealtype spread(void) {
  return k.setting.norm == CP_NORM_L2 ? N_VMaxNorm(k.ewt) / N_VMin(k.ewt) : 1.0;
}

/* The distance in the rms norm of two solutions with residuals of at most target, in weighted units:
 * sqrt(m) target / apart each in the norm of D^-1, and velocities follow the positions with at most 3
 * times their move. */
static sunrealtype accuracy(sunrealtype target) {
  const Manifold *mf = k.eq.mf;
  return 2.0 * 4.0 * spread() * target * sqrt((sunrealtype)mf->m / mf->n) / mf->apart;
}

/* ---- the projections ---- */

typedef struct {
  N_Vector y, v, w;
} Result;

/* y off the manifold, v and w at the point. */
static Result project_all(const Manifold *mf, Setting setting, int levels, Preconditioner kind) {
  unsigned long long seed = 7;
  Result result;
  open_case(mf, setting, levels, kind);
  result.v = vector_copy(k.y);
  result.w = vector_copy(k.y);
  random_fill(result.v, &seed);
  N_VDiv(result.v, k.ewt, result.v);
  random_fill(result.w, &seed);
  N_VProd(result.w, k.ewt, result.w);
  ck_assert_success(&k, CPProjectorProjectVector(k.P, CP_TANGENT, k.t, k.y, k.ewt, result.v));
  ck_assert_success(&k, CPProjectorProjectVector(k.P, CP_COTANGENT, k.t, k.y, k.ewt, result.w));
  case_perturb(&k, 1.0e-4, 1);
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  result.y = vector_copy(k.y);
  return result;
}

static void result_free(Result *result) {
  N_VDestroy(result->y);
  N_VDestroy(result->v);
  N_VDestroy(result->w);
}

/* Residuals of vectors fall by 1e-10 (krylov.c); v has entries of at most 1 in its units, so |G v|
 * is at most sqrt(n) times the row's size. */
static void expect_agreement(const Manifold *mf, Setting setting, int levels, Preconditioner kind) {
  Result expected = project_all(mf, pivoted(setting.norm, setting.metric), levels, NONE);
  case_close(&k);
  Result got               = project_all(mf, setting, levels, kind);
  const sunrealtype vector = 1.0e-10 * sqrt((sunrealtype)mf->n);
  ck_assert_bound(&k, wrms_distance(got.y, expected.y, k.ewt), accuracy(k.eps));
  ck_assert_bound(&k, wrms_distance(got.v, expected.v, k.ewt), accuracy(vector));
  N_VInv(k.ewt, k.ewt); /* units of gradients */
  ck_assert_bound(&k, wrms_distance(got.w, expected.w, k.ewt), accuracy(vector));
  result_free(&expected);
  result_free(&got);
  case_close(&k);
}

START_TEST(factors_and_conjugate_gradients_agree_whatever_the_preconditioner) {
  const Preconditioner kind = _i % N_PRECONDITIONERS;
  const Storage storage     = _i / N_PRECONDITIONERS % 2 ? PRODUCTS_AND_DIAGONAL : PRODUCTS;
  const CPNorm norm         = _i / N_PRECONDITIONERS / 2 ? CP_NORM_L2 : CP_NORM_ERROR;
  for (int i = 0; i < n_manifolds; i++)
    for (int levels = 0; levels < 2; levels++)
      expect_agreement(manifolds[i], krylov(norm, storage, OF_NORM), levels, kind);
}
END_TEST

START_TEST(four_levels_one_after_the_other) {
  expect_agreement(&bodies_one_by_one, krylov(CP_NORM_ERROR, PRODUCTS, OF_NORM), 1, NONE);
  expect_agreement(&bodies_one_by_one, krylov(CP_NORM_ERROR, PRODUCTS_AND_DIAGONAL, OF_NORM), 1,
                   EXACT);
}
END_TEST

/* Other metrics measure in units of one: the ratio of the largest and the smallest eigenvalue of D
 * adds to the spread, and the weights are arbitrary. The factors use the inverse of the operator as
 * a matrix. */
START_TEST(an_operator_agrees_with_its_inverse_as_a_matrix) {
  for (int i = 0; i < n_manifolds; i++)
    expect_agreement(manifolds[i], krylov(CP_NORM_L2, PRODUCTS_AND_DIAGONAL, OPERATOR), 0, NONE);
}
END_TEST

START_TEST(held_components_stay_bit_for_bit) {
  case_open(&k, equations_of(&planes), krylov(CP_NORM_ERROR, PRODUCTS, OF_NORM));
  case_hold(&k, 5u); /* components 0 and 2 */
  case_perturb(&k, 1.0e-4, 1);
  N_Vector start = vector_copy(k.y);
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  ck_assert_bound(&k, largest_residual(&planes, k.y), 1.0e-9);
  ck_assert_double_eq(entries(k.y)[0], entries(start)[0]);
  ck_assert_double_eq(entries(k.y)[2], entries(start)[2]);
  ck_assert_double_ne(entries(k.y)[1], entries(start)[1]);
  N_VDestroy(start);
  case_close(&k);
}
END_TEST

START_TEST(rows_that_are_switched_off_are_not_looked_at) {
  sunrealtype norm;
  case_open(&k, equations_of(&planes),
            krylov(CP_NORM_ERROR, _i ? PRODUCTS_AND_DIAGONAL : PRODUCTS, OF_NORM));
  case_switch_off(&k, 1u);
  case_perturb(&k, 1.0e-4, 1);
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  ck_assert_success(&k, CPProjectorGetViolation(k.P, k.t, k.y, k.ewt, &norm, NULL));
  ck_assert_bound(&k, norm, k.eps);
  ck_assert_double_gt(largest_residual(&planes, k.y), 1.0e-6); /* row 0 is where it was */
  case_switch_off(&k, 0u);
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  ck_assert_bound(&k, largest_residual(&planes, k.y), 1.0e-9);
  case_close(&k);
}
END_TEST

/* ---- dependent rows ---- */

static const sunrealtype scales[MAX_ROWS] = {1.0, 1.0, 1.0e4, -2.5, 3.0e-6, 7.0};

/* The rows of one copy, or of three with the scales; the second copy is shifted by offset. */
static void open_copies(const Manifold *mf, int copies, Storage storage) {
  Equations eq = equations_of(mf);
  eq.copies    = copies;
  eq.scale     = copies > 1 ? scales : NULL;
  case_open(&k, eq, krylov(CP_NORM_ERROR, storage, OF_NORM));
  case_set_levels(&k, 0);
  case_perturb(&k, 1.0e-4, 1);
}

/* Scaled to unit gradients, S has the null space of the copies; all its other eigenvalues grow with
 * their number. */
START_TEST(rows_given_three_times_project_to_the_same_point) {
  const Manifold *const loops[] = {&circle,     &sphere,      &planes,
                                   &crank_loop, &pendulum_qu, &pivot_moving};
  for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++) {
    open_copies(loops[i], 1, PRODUCTS_AND_DIAGONAL);
    ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
    N_Vector single = vector_copy(k.y), v = VECTOR(0), once = NULL;
    N_VDestroy(v);
    v = vector_copy(k.ewt);
    N_VInv(v, v);
    once = vector_copy(v);
    ck_assert_success(&k, CPProjectorProjectVector(k.P, CP_TANGENT, k.t, single, k.ewt, once));
    case_close(&k);
    open_copies(loops[i], 3, _i ? PRODUCTS_AND_DIAGONAL : PRODUCTS);
    ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
    ck_assert_bound(&k, wrms_distance(k.y, single, k.ewt), accuracy(k.eps));
    ck_assert_success(&k, CPProjectorProjectVector(k.P, CP_TANGENT, k.t, single, k.ewt, v));
    ck_assert_bound(&k, wrms_distance(v, once, k.ewt), accuracy(1.0e-10));
    ck_assert_int_eq(case_stats(&k).rank, -1);
    N_VDestroy(single);
    N_VDestroy(v);
    N_VDestroy(once);
    case_close(&k);
  }
}
END_TEST

/* Two copies a thousand tolerances apart: at the best compromise half of that remains in each. */
START_TEST(contradictory_copies_are_named) {
  const sunrealtype offset[MAX_ROWS] = {0.0, 1.0e-2};
  Equations eq                       = equations_of(&circle);
  eq.copies                          = 2;
  eq.offset                          = offset;
  case_open(&k, eq, krylov(CP_NORM_ERROR, _i ? PRODUCTS_AND_DIAGONAL : PRODUCTS, OF_NORM));
  case_set_levels(&k, 0);
  N_Vector start = vector_copy(k.y);
  ck_assert_int_eq(CPProjectorProject(k.P, k.t, k.y, k.ewt), -CP_PROJ_INCONSISTENT);
  ck_assert_mentions(k.log.text, "contradict");
  ck_assert_mentions(k.log.text, "constraint ");
  ck_assert_mentions(k.log.text, "5.0"); /* 5.0..e-03 */
  ck_assert(same_bits(k.y, start));
  N_VDestroy(start);
  case_close(&k);
}
END_TEST

/* Offsets that no correction changes, up to roundoff: 2 and -0.4 times the scaled residuals of rows
 * with the scales 1 and 5 cancel in G^T B r. */
START_TEST(contradictions_alone_are_no_wrong_products) {
  const sunrealtype offset[MAX_ROWS] = {0.02, -0.1}, scale[MAX_ROWS] = {1.0, 5.0};
  Equations eq = equations_of(&circle);
  eq.copies    = 2;
  eq.scale     = scale;
  eq.offset    = offset;
  case_open(&k, eq, krylov(CP_NORM_ERROR, PRODUCTS_AND_DIAGONAL, OF_NORM));
  case_set_levels(&k, 0);
  ck_assert_int_eq(CPProjectorProject(k.P, k.t, k.y, k.ewt), -CP_PROJ_INCONSISTENT);
  ck_assert_mentions(k.log.text, "contradict");
  case_close(&k);
}
END_TEST

/* Positions are held: their row has no effective gradient. */
START_TEST(a_row_that_nothing_can_change_is_satisfied_within_one_tolerance_or_named) {
  const Setting setting = krylov(CP_NORM_ERROR, _i ? PRODUCTS_AND_DIAGONAL : PRODUCTS, OF_NORM);
  case_open(&k, equations_of(&pendulum_qu), setting);
  case_set_levels(&k, 0);
  case_hold(&k, 3u);
  entries(k.y)[0] += 1.0e-6; /* about a tenth of its tolerance */
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  entries(k.y)[0] += 1.0e-3;
  N_Vector start = vector_copy(k.y);
  ck_assert_int_eq(CPProjectorProject(k.P, k.t, k.y, k.ewt), -CP_PROJ_INCONSISTENT);
  ck_assert_mentions(k.log.text, "constraint 0");
  ck_assert_mentions(k.log.text, "no free component");
  ck_assert(same_bits(k.y, start));
  N_VDestroy(start);
  case_close(&k);
}
END_TEST

/* ---- iterations ---- */

START_TEST(an_exact_preconditioner_takes_one_iteration) {
  for (int i = 0; i < n_manifolds; i++)
    for (int levels = 0; levels < 2; levels++) {
      Result result = project_all(
          manifolds[i], krylov(CP_NORM_ERROR, PRODUCTS_AND_DIAGONAL, OF_NORM), levels, EXACT);
      const ProjectorCounters s = case_stats(&k);
      ck_assert_int_gt(s.nlinsolves, 0);
      ck_assert_int_eq(s.nli, s.nlinsolves);
      ck_assert_int_eq(s.npsolves, 2 * s.nlinsolves);
      ck_assert_int_eq(s.nsetups, problem.setups);
      ck_assert_int_eq(s.nje, problem.setups);
      result_free(&result);
      case_close(&k);
    }
}
END_TEST

/* In exact arithmetic, the number of iterations is the number of different eigenvalues of S; these
 * are too few for roundoff to matter. */
START_TEST(without_preconditioner_there_are_as_many_iterations_as_rows) {
  for (int i = 0; i < n_manifolds; i++) {
    Result result =
        project_all(manifolds[i],
                    krylov(CP_NORM_ERROR, _i ? PRODUCTS_AND_DIAGONAL : PRODUCTS, OF_NORM), 0, NONE);
    const ProjectorCounters s = case_stats(&k);
    ck_assert_int_ge(s.nli, s.nlinsolves);
    ck_assert_bound(&k, (sunrealtype)s.nli, (sunrealtype)(s.nlinsolves * manifolds[i]->m));
    ck_assert_int_eq(s.npsolves, 0);
    result_free(&result);
    case_close(&k);
  }
}
END_TEST

/* 0 = y_0 - 1, 0 = 2 y_1: G D G^T is diagonal. */
static void eval_single(long double t, const long double *y, long double *c,
                        long double G[][MAX_STATES]) {
  (void)t;
  c[0]    = y[0] - 1.0L;
  c[1]    = 2.0L * y[1];
  G[0][0] = 1.0L;
  G[1][1] = 2.0L;
}

static const Manifold single = {.name    = "single",
                                .n       = 3,
                                .m       = 2,
                                .eval    = eval_single,
                                .point   = {1.0, 0.0, 3.0},
                                .apart   = 1.0,
                                .nlevels = 1};

/* If S is diagonal, the diagonal gives its inverse, in the norm's metric. */
START_TEST(the_diagonal_preconditions_in_the_metric_of_the_norm) {
  case_open(&k, equations_of(&single),
            krylov(_i ? CP_NORM_L2 : CP_NORM_ERROR, PRODUCTS_AND_DIAGONAL, OF_NORM));
  case_perturb(&k, 1.0e-3, 1);
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  ck_assert_int_gt(case_stats(&k).nlinsolves, 0);
  ck_assert_int_eq(case_stats(&k).nli, case_stats(&k).nlinsolves);
  case_close(&k);
}
END_TEST

/* Products per solve: G^T z and G d in each iteration; with levels also G x for each but the first.
 * A tangent needs one more G v, a cotangent G D w and G^T mu. */
START_TEST(products_are_counted) {
  open_case(&planes, krylov(CP_NORM_ERROR, PRODUCTS_AND_DIAGONAL, OF_NORM), 0, EXACT);
  N_Vector v = vector_copy(k.ewt);
  ck_assert_success(&k, CPProjectorProjectVector(k.P, CP_TANGENT, k.t, k.y, k.ewt, v));
  ck_assert_int_eq(case_stats(&k).nprods, 3);
  ck_assert_success(&k, CPProjectorProjectVector(k.P, CP_COTANGENT, k.t, k.y, k.ewt, v));
  ck_assert_int_eq(case_stats(&k).nprods, 3 + 4);
  N_VDestroy(v);
  case_close(&k);
}
END_TEST

/* ---- sizes ---- */

/* Estimated from eight directions: (exact/estimate)^2 has the mean 1 and a standard deviation of at
 * most sqrt(2/8) (for normal numbers; sums of few terms spread less). The mean over the manifolds
 * is accurate to three times 0.5/sqrt(11). */
START_TEST(estimated_sizes_are_good_to_a_factor) {
  sunrealtype mean = 0.0;
  for (int i = 0; i < n_manifolds; i++) {
    sunrealtype exact, estimate;
    case_open(&k, equations_of(manifolds[i]), krylov(CP_NORM_ERROR, PRODUCTS_AND_DIAGONAL, OF_NORM));
    case_perturb(&k, 1.0e-3, 1);
    ck_assert_success(&k, CPProjectorGetViolation(k.P, k.t, k.y, k.ewt, &exact, NULL));
    case_close(&k);
    case_open(&k, equations_of(manifolds[i]), krylov(CP_NORM_ERROR, PRODUCTS, OF_NORM));
    case_perturb(&k, 1.0e-3, 1);
    ck_assert_success(&k, CPProjectorGetViolation(k.P, k.t, k.y, k.ewt, &estimate, NULL));
    ck_assert_bound(&k, estimate, 2.5 * exact);
    ck_assert_bound(&k, exact, 2.5 * estimate);
    mean += exact * exact / (estimate * estimate) / n_manifolds;
    case_close(&k);
  }
  ck_assert_double_eq_tol(mean, 1.0, 0.45);
}
END_TEST

START_TEST(the_violation_is_that_of_the_matrix) {
  for (int i = 0; i < n_manifolds; i++)
    for (int norm = 0; norm < 2; norm++) {
      sunrealtype by_matrix, by_products;
      sunindextype worst, also;
      case_open(&k, equations_of(manifolds[i]), pivoted((CPNorm)norm, OF_NORM));
      case_set_levels(&k, 1);
      case_perturb(&k, 1.0e-3, 1);
      ck_assert_success(&k, CPProjectorGetViolation(k.P, k.t, k.y, k.ewt, &by_matrix, &worst));
      case_close(&k);
      case_open(&k, equations_of(manifolds[i]),
                krylov((CPNorm)norm, PRODUCTS_AND_DIAGONAL, OF_NORM));
      case_set_levels(&k, 1);
      case_perturb(&k, 1.0e-3, 1);
      ck_assert_success(&k, CPProjectorGetViolation(k.P, k.t, k.y, k.ewt, &by_products, &also));
      ck_assert_bound(&k, fabs(by_products - by_matrix), 1.0e-12 * by_matrix);
      ck_assert_int_eq(worst, also);
      case_close(&k);
    }
}
END_TEST

START_TEST(violations_are_measured_in_units_of_the_constraint_tolerances) {
  sunrealtype norm;
  sunindextype worst;
  case_open(&k, equations_of(&planes),
            krylov(CP_NORM_ERROR, _i ? PRODUCTS_AND_DIAGONAL : PRODUCTS, OF_NORM));
  N_Vector ctol = VECTOR(1.0e-3, 2.0e-7);
  ck_assert_success(&k, CPProjectorSetConstraintTol(k.P, ctol));
  entries(k.y)[3] += 1.0e-4; /* row 1 changes by -2e-4, row 0 does not */
  ck_assert_success(&k, CPProjectorGetViolation(k.P, k.t, k.y, k.ewt, &norm, &worst));
  ck_assert_double_eq_tol(norm, 1.0e3, 1.0e-6);
  ck_assert_int_eq(worst, 1);
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  ck_assert_bound(&k, largest_residual(&planes, k.y), k.eps * 1.0e-3);
  N_VDestroy(ctol);
  case_close(&k);
}
END_TEST

/* ---- limits of the iteration ---- */

/* eps/ewt below roundoff in y. */
START_TEST(an_eps_beyond_roundoff_ends_at_the_floor) {
  for (int i = 0; i < n_manifolds; i++) {
    sunrealtype norm;
    case_open(&k, equations_of(manifolds[i]), krylov(CP_NORM_ERROR, PRODUCTS_AND_DIAGONAL, OF_NORM));
    ck_assert_success(&k, CPProjectorSetEps(k.P, 1.0e-13));
    case_perturb(&k, 1.0e-4, 3);
    ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
    ck_assert_bound(&k, largest_residual(k.eq.mf, k.y), 1.0e-14);
    ck_assert_success(&k, CPProjectorGetViolation(k.P, k.t, k.y, k.ewt, &norm, NULL));
    if (norm > 1.0e-13) ck_assert_int_eq(case_stats(&k).nfloor, 1);
    case_close(&k);
  }
}
END_TEST

/* Guesses 0.3 off in each component, of size 1. */
START_TEST(poor_guesses_are_assembled) {
  for (unsigned long long seed = 1; seed <= 5; seed++) {
    case_open(&k, equations_of(manifolds[_i / 2]),
              krylov(CP_NORM_ERROR, _i % 2 ? PRODUCTS_AND_DIAGONAL : PRODUCTS, OF_NORM));
    case_perturb(&k, 0.3, seed);
    ck_assert_success(&k, CPProjectorAssemble(k.P, k.t, k.y, k.ewt));
    ck_assert_bound(&k, largest_residual(k.eq.mf, k.y), 1.0e-9); /* as in assemble.c */
    case_close(&k);
  }
}
END_TEST

static void eval_arctan(long double t, const long double *y, long double *c,
                        long double G[][MAX_STATES]) {
  (void)t;
  c[0]    = atanl(y[0]);
  G[0][0] = 1.0L / (1.0L + y[0] * y[0]);
}

static const Manifold arctan = {
    .name = "arctan", .n = 1, .m = 1, .eval = eval_arctan, .point = {0.0}, .apart = 1.0, .nlevels = 1};

/* Newton's method diverges from beyond 1.392 (the root of 2 y = (1 + y^2) atan y). */
START_TEST(a_step_that_is_too_long_is_damped) {
  case_open(&k, equations_of(&arctan), krylov(CP_NORM_ERROR, PRODUCTS_AND_DIAGONAL, OF_NORM));
  entries(k.y)[0] = 10.0;
  ck_assert_success(&k, CPProjectorAssemble(k.P, k.t, k.y, k.ewt));
  ck_assert_bound(&k, fabs(entries(k.y)[0]), k.eps / entries(k.ewt)[0]);
  case_close(&k);
}
END_TEST

/* 0 = y_0^2 + 1 */
static void eval_nowhere(long double t, const long double *y, long double *c,
                         long double G[][MAX_STATES]) {
  (void)t;
  c[0]    = y[0] * y[0] + 1.0L;
  G[0][0] = 2.0L * y[0];
}

static const Manifold nowhere = {.name    = "nowhere",
                                 .n       = 1,
                                 .m       = 1,
                                 .eval    = eval_nowhere,
                                 .point   = {1.0},
                                 .apart   = 1.0,
                                 .nlevels = 1};

START_TEST(what_has_no_solution_is_not_assembled) {
  case_open(&k, equations_of(&nowhere), krylov(CP_NORM_ERROR, PRODUCTS_AND_DIAGONAL, OF_NORM));
  ck_assert_int_eq(CPProjectorAssemble(k.P, k.t, k.y, k.ewt), CP_IC_FAIL);
  ck_assert_mentions(k.log.text, "constraint 0");
  ck_assert_double_eq(entries(k.y)[0], 1.0);
  case_close(&k);
}
END_TEST

/* From three times the radius the products of the start contract by 2/3 only. */
START_TEST(products_are_renewed_on_the_way) {
  case_open(&k, equations_of(&circle), krylov(CP_NORM_ERROR, PRODUCTS_AND_DIAGONAL, OF_NORM));
  N_VScale(3.0, k.y, k.y);
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  ck_assert_int_gt(case_stats(&k).nje, 1);
  ck_assert_bound(&k, largest_residual(&circle, k.y), 1.0e-9);
  case_close(&k);
}
END_TEST

/* Stored products from a place where the curve has another direction: they do not converge within
 * the distance up to which they may be used, but new ones do. */
START_TEST(kept_products_that_fail_are_no_failure) {
  case_open(&k, equations_of(&circle), krylov(CP_NORM_ERROR, PRODUCTS_AND_DIAGONAL, OF_NORM));
  case_perturb(&k, 1.0e-4, 1);
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  entries(k.y)[0] = -0.6 + 1.0e-5; /* a quarter of the circle further */
  entries(k.y)[1] = 0.8;
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  ck_assert_int_eq(case_stats(&k).nje, 2);
  ck_assert_bound(&k, largest_residual(&circle, k.y), 1.0e-9);
  ck_assert_bound(&k, fabs(entries(k.y)[0] + 0.6), 2.0e-5); /* not at another point */
  case_close(&k);
}
END_TEST

START_TEST(the_L2_norm_needs_no_weights) {
  case_open(&k, equations_of(&planes), krylov(CP_NORM_L2, PRODUCTS, OF_NORM));
  case_perturb(&k, 1.0e-2, 1);
  N_Vector expected = vector_copy(k.y);
  long double D[MAX_STATES];
  inverse_metric(CP_NORM_L2, k.ewt, D);
  reference_project(&planes, 0, D, expected);
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, NULL));
  /* linear: residuals fall by 1e-4 a correction, until eps times half of the digits */
  ck_assert_bound(&k, max_distance(k.y, expected), 10.0 * k.eps * 1.0e-8 * 4.0);
  N_VDestroy(expected);
  case_close(&k);
}
END_TEST

START_TEST(products_serve_for_ten_projections) {
  case_open(&k, equations_of(&crank_qu), krylov(CP_NORM_ERROR, PRODUCTS_AND_DIAGONAL, OF_NORM));
  case_perturb(&k, 1.0e-4, 1);
  for (int i = 0; i < 10; i++) ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  ck_assert_int_eq(case_stats(&k).nje, 1); /* kept products */
  for (int i = 0; i < 10; i++) ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  ck_assert_int_eq(case_stats(&k).nje, 2);
  case_close(&k);
}
END_TEST

/* ---- integration ---- */

enum { LINKS = 20 };

typedef struct {
  N_Vector y, ewt;
  ProjectorCounters stats;
  long int steps;
} Trajectory;

static CPProjector chain_projector(Chain *chain, N_Vector y, CPLinSol solver, int preconditioned) {
  const int products = solver == CP_LINSOL_PRODUCTS;
  int row[2 * LINKS] = {0}, col[4 * LINKS] = {0};
  N_Vector c    = vector_of(2 * LINKS, NULL);
  SUNMatrix G   = SUNDenseMatrix(2 * LINKS, 4 * LINKS, test_context);
  CPProjector P = products ? CPProjectorCreateProducts(chain_constraints, chain_jac_times,
                                                       chain_jac_trans_times, y, c, test_context)
                           : CPProjectorCreate(chain_constraints, y, c, test_context);
  ck_assert_ptr_nonnull(P);
  for (int i = LINKS; i < 2 * LINKS; i++) row[i] = 1;
  for (int j = 2 * LINKS; j < 4 * LINKS; j++) col[j] = 1;
  int flag = CPProjectorSetUserData(P, chain);
  if (!flag && !products) flag = CPProjectorSetLinearSolver(P, solver);
  if (!flag) flag = CPProjectorSetLevels(P, row, col);
  if (!flag && products) flag = CPProjectorSetSchurDiag(P, chain_schur_diag);
  if (!flag && preconditioned)
    flag = CPProjectorSetPreconditioner(P, chain_prec_setup, chain_prec_solve);
  if (!flag && !products) flag = CPProjectorSetJacFn(P, chain_jacobian, G);
  ck_assert_int_eq(flag, CP_SUCCESS);
  SUNMatDestroy(G);
  N_VDestroy(c);
  return P;
}

static int if_needed;

static Trajectory swing(CPLinSol solver, int preconditioned) {
  Trajectory result;
  sunrealtype t;
  Chain *chain = chain_create(LINKS, 9.81);
  ck_assert_ptr_nonnull(chain);
  N_Vector y = vector_of(4 * LINKS, NULL);
  chain_initial(chain, y);
  CPProjector P            = chain_projector(chain, y, solver, preconditioned);
  CPIntegrator mem         = CPIntegratorCreate("ADAMS", test_context);
  SUNNonlinearSolver inner = SUNNonlinSol_FixedPoint(y, 0, test_context);
  ck_assert_int_eq(CPIntegratorInit(mem, chain_rhs, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-8, 1.0e-8), CP_SUCCESS);
  ck_assert_int_eq(CVodeSetUserData(CPIntegratorGetCVodeMem(mem), chain), CV_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetNonlinearSolver(mem, inner), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetProjector(mem, P), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetProjFrequency(mem, 1, if_needed), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 0.5, y, &t, CV_NORMAL), CP_SUCCESS);
  result.y   = y;
  result.ewt = vector_copy(y);
  ck_assert_int_eq(CVodeGetErrWeights(CPIntegratorGetCVodeMem(mem), result.ewt), CV_SUCCESS);
  ck_assert_int_eq(CVodeGetNumSteps(CPIntegratorGetCVodeMem(mem), &result.steps), CV_SUCCESS);
  ck_assert_int_eq(projector_counters(P, &result.stats), CP_SUCCESS);
  CPIntegratorFree(&mem);
  SUNNonlinSolFree(inner);
  CPProjectorFree(&P);
  chain_free(&chain);
  return result;
}

/* Residuals that fall by 1e-4 change a projected state by that fraction of a correction, which is a
 * few tolerances at most: the trajectories differ by far less than one tolerance, and therefore
 * take the same steps. */
START_TEST(a_chain_swings_as_with_factors) {
  if_needed           = 0;
  Trajectory factors  = swing(CP_LINSOL_SCHUR, 0);
  Trajectory products = swing(CP_LINSOL_PRODUCTS, _i);
  ck_assert_double_le(wrms_distance(factors.y, products.y, factors.ewt), 1.0);
  ck_assert_int_eq(factors.steps, products.steps);
  ck_assert_int_gt(products.stats.nlinsolves, 0);
  if (_i) ck_assert_int_le(products.stats.nli, 3 * products.stats.nlinsolves);
  N_VDestroy(factors.y);
  N_VDestroy(factors.ewt);
  N_VDestroy(products.y);
  N_VDestroy(products.ewt);
}
END_TEST

START_TEST(states_that_need_no_projection_are_left_alone_as_with_factors) {
  if_needed           = 1;
  Trajectory factors  = swing(CP_LINSOL_SCHUR, 0);
  Trajectory products = swing(CP_LINSOL_PRODUCTS, 1);
  ck_assert_int_gt(products.stats.nskipped, 0);
  ck_assert_int_eq(products.stats.nskipped, factors.stats.nskipped);
  ck_assert_double_le(wrms_distance(factors.y, products.y, factors.ewt), 1.0);
  N_VDestroy(factors.y);
  N_VDestroy(factors.ewt);
  N_VDestroy(products.y);
  N_VDestroy(products.ewt);
}
END_TEST

TEST_SUITE(krylov) {
  Suite *suite = suite_create("projector/krylov");
  TCase *tc    = tcase_create("krylov");
  tcase_set_timeout(tc, 60.0);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, factors_and_conjugate_gradients_agree_whatever_the_preconditioner, 0,
                      N_PRECONDITIONERS * 4);
  tcase_add_test(tc, four_levels_one_after_the_other);
  tcase_add_test(tc, an_operator_agrees_with_its_inverse_as_a_matrix);
  tcase_add_test(tc, held_components_stay_bit_for_bit);
  tcase_add_loop_test(tc, rows_that_are_switched_off_are_not_looked_at, 0, 2);
  tcase_add_loop_test(tc, rows_given_three_times_project_to_the_same_point, 0, 2);
  tcase_add_loop_test(tc, contradictory_copies_are_named, 0, 2);
  tcase_add_test(tc, contradictions_alone_are_no_wrong_products);
  tcase_add_loop_test(tc, a_row_that_nothing_can_change_is_satisfied_within_one_tolerance_or_named,
                      0, 2);
  tcase_add_test(tc, an_exact_preconditioner_takes_one_iteration);
  tcase_add_loop_test(tc, without_preconditioner_there_are_as_many_iterations_as_rows, 0, 2);
  tcase_add_loop_test(tc, the_diagonal_preconditions_in_the_metric_of_the_norm, 0, 2);
  tcase_add_test(tc, products_are_counted);
  tcase_add_test(tc, estimated_sizes_are_good_to_a_factor);
  tcase_add_test(tc, the_violation_is_that_of_the_matrix);
  tcase_add_loop_test(tc, violations_are_measured_in_units_of_the_constraint_tolerances, 0, 2);
  tcase_add_test(tc, an_eps_beyond_roundoff_ends_at_the_floor);
  tcase_add_loop_test(tc, poor_guesses_are_assembled, 0, 2 * n_manifolds);
  tcase_add_test(tc, a_step_that_is_too_long_is_damped);
  tcase_add_test(tc, what_has_no_solution_is_not_assembled);
  tcase_add_test(tc, products_are_renewed_on_the_way);
  tcase_add_test(tc, kept_products_that_fail_are_no_failure);
  tcase_add_test(tc, the_L2_norm_needs_no_weights);
  tcase_add_test(tc, products_serve_for_ten_projections);
  tcase_add_loop_test(tc, a_chain_swings_as_with_factors, 0, 2);
  tcase_add_test(tc, states_that_need_no_projection_are_left_alone_as_with_factors);
  suite_add_tcase(suite, tc);
  return suite;
}
