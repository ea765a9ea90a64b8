/* The methods: order conditions, orders of convergence on the manifold at the ends of steps and
 * between them, counts. */
#include "cpodes/stepping/onestep/onestep_impl.h"
#include "stepping/onestep/fixture.h"

#include <arkode/arkode_butcher_erk.h>
#include <float.h>
#include <math.h>
#include <string.h>

static OneRun run;

static int order_of(const OneRun *of) {
  int order;
  ck_assert_done(of, CPIntegratorGetMethod(of->mem, NULL, &order, NULL, NULL));
  return order;
}

/* ---- order conditions (Hairer, Norsett, Wanner I, II.2) ---- */

/* Rooted trees: sum_i b_i Phi_i(tau) = 1 / gamma(tau), Phi_i(tau) = prod over its branches of
 * sum_j a_ij Phi_j(branch), gamma(tau) = order prod gamma(branch). There are 1, 1, 2, 4, 9, 20, 48, 115. */
enum { MAX_ORDER = 8, TREES = 200, STAGES = 12 };
typedef struct {
  int order;
  double gamma, phi[STAGES], size[STAGES]; /* size: of the terms that phi sums up */
} Tree;
static Tree tree[TREES];
static int n_trees;

/* The tree so far has its branches among the first `upto` trees; `left` nodes remain. */
static void add_branches(const ARKodeButcherTable B, Tree so_far, int left, int upto) {
  if (left == 0) {
    ck_assert_int_lt(n_trees, TREES);
    so_far.gamma *= so_far.order;
    tree[n_trees++] = so_far;
    return;
  }
  for (int k = 0; k < upto; k++) {
    if (tree[k].order > left) continue;
    Tree more = so_far;
    more.gamma *= tree[k].gamma;
    for (int i = 0; i < B->stages; i++) {
      double sum = 0.0, size = 0.0;
      for (int j = 0; j < i; j++) {
        sum += B->A[i][j] * tree[k].phi[j];
        size += fabs(B->A[i][j]) * tree[k].size[j];
      }
      more.phi[i] *= sum;
      more.size[i] *= size;
    }
    add_branches(B, more, left - tree[k].order, k + 1);
  }
}

/* At most 40 roundings of products and sums in a row */
#define ROUNDINGS 40.0

static void check_weights(const ARKodeButcherTable B, const sunrealtype *b, int order) {
  for (int k = 0; k < n_trees && tree[k].order <= order; k++) {
    double sum = 0.0, size = 0.0;
    for (int i = 0; i < B->stages; i++) {
      sum += b[i] * tree[k].phi[i];
      size += fabs(b[i]) * tree[k].size[i];
    }
    ck_assert_double_le(fabs(sum - 1.0 / tree[k].gamma), ROUNDINGS * DBL_EPSILON * size);
  }
}

/* DOP853, BS54 and BS32, whose embedded methods are one in its own form, and one of order 4 */
START_TEST(own_tables_satisfy_all_order_conditions) {
  const int orders[] = {MAX_ORDER, 5, 3}, stages[] = {STAGES, 8, 4}, trees[] = {TREES, 17, 4};
  one_open(&run, one_methods[_i], 1.0e-6);
  const ARKodeButcherTable B = ((CPOneStep)run.mem)->table;
  ck_assert_int_eq(B->stages, stages[_i]);
  ck_assert_int_eq(B->q, orders[_i]);
  n_trees = 0;
  for (int order = 1; order <= B->q; order++) {
    Tree root = {.order = order, .gamma = 1.0};
    for (int i = 0; i < B->stages; i++) root.phi[i] = root.size[i] = 1.0;
    add_branches(B, root, order - 1, n_trees);
  }
  ck_assert_int_eq(n_trees, trees[_i]);
  check_weights(B, B->b, B->q);
  if (B->d) check_weights(B, B->d, B->p);
  one_close(&run);
}
END_TEST

/* ---- convergence ---- */

/* With half the step errors are 2^-order as large, except for terms of higher order, which are
 * within 2^0.3 at these steps. Roundoff, 1e-14, is far below all of them. */
#define HIGHER_TERMS 0.3

START_TEST(errors_on_the_manifold_are_of_the_order_at_steps_and_between) {
  one_open(&run, one_methods[_i], 1.0e-13);
  const int order = order_of(&run), n = order < 8 ? 80 : 20;
  const OneErrors one = one_errors(&run, n), half = one_errors(&run, 2 * n);
  const double end    = log2(one.end / half.end);
  const double inside = log2(one.inside / half.inside);
  const double rate   = log2(one.rate / half.rate);
  ck_assert_msg(end >= order - HIGHER_TERMS, "%s: %g", run.method, end);
  ck_assert_msg(inside >= order - HIGHER_TERMS, "%s: %g between steps", run.method, inside);
  ck_assert_msg(rate >= order - 1 - HIGHER_TERMS, "%s: %g of the derivative", run.method, rate);
  one_close(&run);
}
END_TEST

/* The norm of the error estimate of one step of size h from t = 0.1 */
static sunrealtype estimate_of(sunrealtype h) {
  N_Vector e = vector_of(PENDULUM_N, NULL);
  one_restart(&run, 0.1);
  ck_assert_done(&run, CPIntegratorSetInitStep(run.mem, h));
  ck_assert_done(&run, one_step(&run));
  ck_assert_double_eq(one_stats(&run).hlast, h);
  ck_assert_done(&run, CPIntegratorGetEstLocalErrors(run.mem, e));
  const sunrealtype norm = N_VMaxNorm(e);
  N_VDestroy(e);
  return norm;
}

/* The estimate of two solutions of orders p and q is O(h^(min(p, q) + 1)); DOP853's is O(h^8). */
START_TEST(error_estimates_are_of_their_order) {
  int order, embedded;
  one_open(&run, one_methods[_i], 1.0); /* all steps are accepted */
  CPIntegratorGetMethod(run.mem, NULL, &order, &embedded, NULL);
  CPProjectorSetEps(run.P, 1.0e-12);
  const sunrealtype h   = order < 8 ? 0.01 : 0.03;
  const int expected    = _i == 0 ? 8 : (order < embedded ? order : embedded) + 1;
  const double observed = log2(estimate_of(h) / estimate_of(h / 2.0));
  ck_assert_msg(fabs(observed - expected) <= HIGHER_TERMS, "%s: %g, not %d", run.method, observed,
                expected);
  one_close(&run);
}
END_TEST

/* ---- counts ---- */

/* If the last stage is at the end of the step, it is also the first stage of the next step. */
static int is_fsal(const char *name) {
  return !strcmp(name, "BS54") || !strcmp(name, "BS32") ||
         !strcmp(name, "ARKODE_BOGACKI_SHAMPINE_4_2_3") ||
         !strcmp(name, "ARKODE_DORMAND_PRINCE_7_4_5");
}

START_TEST(a_step_takes_as_many_evaluations_as_it_has_stages) {
  int stages;
  one_open(&run, one_methods[_i], 1.0e-6);
  CPIntegratorGetMethod(run.mem, NULL, NULL, NULL, &stages);
  CPIntegratorSetFixedStep(run.mem, 0.001);
  for (int i = 0; i < 10; i++) ck_assert_done(&run, one_step(&run));
  ck_assert_int_eq(run.world.f_calls, 1 + 10 * (stages - is_fsal(run.method)));
  ck_assert_int_eq(one_stats(&run).nfe, run.world.f_calls);
  one_close(&run);
}
END_TEST

/* 3 with DOP853; 1 + 2 + ... with tables of order p > 4, until degree p - 1 is reached. */
START_TEST(interpolation_is_evaluated_once_in_a_step_where_it_is_asked_for) {
  static const int extra[] = {0, 0, 0, 0, 0, 1, 3, 6, 10};
  N_Vector y               = vector_of(PENDULUM_N, NULL);
  one_open(&run, one_methods[_i], 1.0e-6);
  const int expected = _i == 0 ? 3 : extra[order_of(&run)];
  CPIntegratorSetFixedStep(run.mem, 0.001);
  for (int i = 0; i < 3; i++) ck_assert_done(&run, one_step(&run));
  const long int before = run.world.f_calls;
  for (int k = 0; k < 3; k++) ck_assert_done(&run, CPIntegratorGetDky(run.mem, 0.0025, k, y));
  ck_assert_int_eq(run.world.f_calls, before + expected);
  ck_assert_int_eq(one_stats(&run).nfe_output, expected);
  ck_assert_int_eq(one_stats(&run).nfe, run.world.f_calls);
  N_VDestroy(y);
  one_close(&run);
}
END_TEST

/* ---- names and tables ---- */

START_TEST(the_default_method_is_dop853) {
  const char *name;
  int order, embedded, stages;
  CPIntegrator mem = CPIntegratorCreate(NULL, test_context);
  ck_assert_int_eq(CPIntegratorGetMethod(mem, &name, &order, &embedded, &stages), CP_SUCCESS);
  ck_assert_str_eq(name, "DOP853");
  ck_assert_int_eq(order, 8);
  ck_assert_int_eq(embedded, 5);
  ck_assert_int_eq(stages, 12);
  ck_assert_int_eq(CPIntegratorGetMethod(NULL, &name, NULL, NULL, NULL), CP_MEM_NULL);
  CPIntegratorFree(&mem);
  ck_assert_ptr_null(mem);
}
END_TEST

START_TEST(unknown_methods_and_those_without_error_estimate_are_refused) {
  ck_assert_ptr_null(CPIntegratorCreate("DOP854", test_context));
  ck_assert_ptr_null(CPIntegratorCreate("", test_context));
  ck_assert_ptr_null(CPIntegratorCreate("ARKODE_KNOTH_WOLKE_3_3", test_context)); /* no embedded one */
  ck_assert_ptr_null(CPIntegratorCreate("DOP853", NULL));
}
END_TEST

/* ARKODE prints messages about unknown names itself, without calling a message handler. */
START_TEST(a_name_that_cannot_be_a_tables_is_named) {
  ck_assert_ptr_null(CPIntegratorCreate("DOP999", test_context));
  ck_assert_mentions(CPObjectGetLastMessage(NULL), "\"DOP999\"");
}
END_TEST

/* The explicit midpoint rule, order 2, with Euler's method embedded, and a fault in one entry */
static ARKodeButcherTable midpoint(void) {
  ARKodeButcherTable B = ARKodeButcherTable_Alloc(2, SUNTRUE);
  ck_assert_ptr_nonnull(B);
  B->q       = 2;
  B->p       = 1;
  B->A[1][0] = B->c[1] = 0.5;
  B->b[1]              = 1.0;
  B->d[0]              = 1.0;
  return B;
}

START_TEST(contradictory_tables_are_refused) {
  ARKodeButcherTable B = midpoint();
  sunrealtype *spoil[] = {&B->A[0][1], &B->A[1][0], &B->b[0], &B->d[1], &B->c[1], &B->c[0]};
  for (size_t k = 0; k < sizeof spoil / sizeof spoil[0]; k++) {
    const sunrealtype right = *spoil[k];
    *spoil[k]               = right + 0.25;
    ck_assert_ptr_null(CPIntegratorCreateTable(B, test_context));
    *spoil[k] = NAN;
    ck_assert_ptr_null(CPIntegratorCreateTable(B, test_context));
    *spoil[k] = right;
  }
  B->q = 0;
  ck_assert_ptr_null(CPIntegratorCreateTable(B, test_context));
  B->q = 2;
  ck_assert_ptr_null(CPIntegratorCreateTable(NULL, test_context));
  ck_assert_ptr_null(CPIntegratorCreateTable(B, NULL));
  CPIntegrator mem = CPIntegratorCreateTable(B, test_context);
  ck_assert_ptr_nonnull(mem);
  ARKodeButcherTable_Free(B); /* it was copied */
  CPIntegratorFree(&mem);
}
END_TEST

/* The user's own table defines the method: the same bits as ARKODE's table of that name. */
START_TEST(a_users_table_is_the_same_method) {
  OneRun other;
  ARKodeButcherTable B = ARKodeButcherTable_LoadERK(ARKODE_DORMAND_PRINCE_7_4_5);
  one_open(&run, "ARKODE_DORMAND_PRINCE_7_4_5", 1.0e-6);
  one_open(&other, "ARKODE_DORMAND_PRINCE_7_4_5", 1.0e-6);
  CPIntegratorFree(&other.mem);
  other.mem = CPIntegratorCreateTable(B, test_context);
  pendulum_initial(&other.world.p, other.y);
  CPIntegratorInit(other.mem, world_rhs, 0.0, other.y);
  CPIntegratorSStolerances(other.mem, 1.0e-6, 1.0e-6);
  CPIntegratorSetProjector(other.mem, other.P);
  CPIntegratorSetUserData(other.mem, &other.world);
  ck_assert_done(&run, one_to(&run, 1.0));
  ck_assert_done(&other, one_to(&other, 1.0));
  ck_assert_int_eq(same_bits(run.y, other.y), 1);
  ARKodeButcherTable_Free(B);
  one_close(&run);
  one_close(&other);
}
END_TEST

START_TEST(a_table_without_embedded_method_takes_fixed_steps_only) {
  ARKodeButcherTable B = ARKodeButcherTable_LoadERK(ARKODE_KNOTH_WOLKE_3_3);
  one_open(&run, "DOP853", 1.0e-6);
  CPIntegratorFree(&run.mem);
  run.mem = CPIntegratorCreateTable(B, test_context);
  CPObjectSetErrHandlerFn(CP_OBJECT(run.mem), message_log, &run.log);
  CPIntegratorInit(run.mem, world_rhs, 0.0, run.y);
  CPIntegratorSStolerances(run.mem, 1.0e-6, 1.0e-6);
  CPIntegratorSetProjector(run.mem, run.P);
  CPIntegratorSetUserData(run.mem, &run.world);
  refused(&run, one_to(&run, 1.0), CV_ILL_INPUT, "embedded", "CPIntegratorSetFixedStep");
  ck_assert_done(&run, CPIntegratorSetFixedStep(run.mem, 0.01));
  ck_assert_done(&run, one_to(&run, 1.0));
  refused(&run, CPIntegratorGetEstLocalErrors(run.mem, run.y), CP_NO_INIT, "error test");
  ARKodeButcherTable_Free(B);
  one_close(&run);
}
END_TEST

TEST_SUITE(methods) {
  Suite *suite = suite_create("one-step methods");
  TCase *tc    = tcase_create("methods");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, own_tables_satisfy_all_order_conditions, 0, 3);
  tcase_add_loop_test(tc, errors_on_the_manifold_are_of_the_order_at_steps_and_between, 0,
                      n_explicit_methods);
  tcase_add_loop_test(tc, error_estimates_are_of_their_order, 0, n_explicit_methods);
  tcase_add_loop_test(tc, a_step_takes_as_many_evaluations_as_it_has_stages, 0, n_explicit_methods);
  tcase_add_loop_test(tc, interpolation_is_evaluated_once_in_a_step_where_it_is_asked_for, 0,
                      n_explicit_methods);
  tcase_add_test(tc, the_default_method_is_dop853);
  tcase_add_test(tc, a_name_that_cannot_be_a_tables_is_named);
  tcase_add_test(tc, unknown_methods_and_those_without_error_estimate_are_refused);
  tcase_add_test(tc, contradictory_tables_are_refused);
  tcase_add_test(tc, a_users_table_is_the_same_method);
  tcase_add_test(tc, a_table_without_embedded_method_takes_fixed_steps_only);
  suite_add_tcase(suite, tc);
  return suite;
}
