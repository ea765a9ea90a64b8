/* Failures of products, preconditioners, metrics and vectors: the right code, a message that names
 * the place, y and v unchanged, and a projector that continues once the cause is gone. */
#include "projector/fixture.h"
#include "support/alloc.h"

#include <cpodes/cpodes.h>
#include <cvodes/cvodes.h>
#include <math.h>

enum { FOREVER = 1000000 };

typedef enum { GV, GTW, DIAGONAL, SETUP, SOLVE, METRIC, CONSTRAINT, N_CALLBACKS } Callback;

/* The equations, which are the user_data of the fixture's callbacks, and the faults of the other
 * functions. */
typedef struct {
  Equations eq;
  Callback faulty;
  long int calls[N_CALLBACKS];
  long int from;       /* number of the first failing call of the faulty function */
  int flag;            /* the value that it returns from then on */
  sunrealtype bad;     /* its first entry from then on, if this is not 0 */
  sunrealtype factor;  /* of entry 0 of G^T w */
  sunrealtype product; /* of entry 0 of G v */
  sunrealtype prec[2]; /* diagonal of the preconditioner, rows 0 and the others */
  sunrealtype metric;  /* D = metric * 1e-10 */
  sunrealtype skew;    /* z_0 += skew r_1, z_1 -= skew r_0 */
} Problem;

static Case k;
static Problem problem;

static int outcome(Problem *p, Callback callback, N_Vector out) {
  const int strikes = ++p->calls[callback] >= p->from && callback == p->faulty;
  if (strikes && out && p->bad != 0.0) entries(out)[0] = p->bad;
  return strikes ? p->flag : 0;
}

static int Gv(sunrealtype t, N_Vector y, N_Vector v, N_Vector out, void *user_data) {
  Problem *p = user_data;
  equations_Gv(t, y, v, out, &p->eq);
  entries(out)[0] *= p->product;
  return outcome(p, GV, out);
}

static int GTw(sunrealtype t, N_Vector y, N_Vector w, N_Vector out, void *user_data) {
  Problem *p = user_data;
  equations_GTw(t, y, w, out, &p->eq);
  entries(out)[0] *= p->factor;
  return outcome(p, GTW, out);
}

static int diagonal(sunrealtype t, N_Vector y, N_Vector D, N_Vector out, void *user_data) {
  Problem *p = user_data;
  equations_diagonal(t, y, D, out, &p->eq);
  return outcome(p, DIAGONAL, out);
}

static int set_up(sunrealtype t, N_Vector y, N_Vector D, void *user_data) {
  (void)t;
  (void)y;
  (void)D;
  return outcome(user_data, SETUP, NULL);
}

static int solve(sunrealtype t, N_Vector y, N_Vector r, N_Vector z, void *user_data) {
  Problem *p = user_data;
  (void)t;
  (void)y;
  for (int i = 0; i < equations_rows(&p->eq); i++) entries(z)[i] = p->prec[i > 0] * entries(r)[i];
  if (p->skew != 0.0) {
    entries(z)[0] += p->skew * entries(r)[1];
    entries(z)[1] -= p->skew * entries(r)[0];
  }
  return outcome(p, SOLVE, z);
}

static int metric(sunrealtype t, N_Vector y, N_Vector x, N_Vector Dx, void *user_data) {
  Problem *p = user_data;
  (void)t;
  (void)y;
  N_VScale(p->metric * 1.0e-10, x, Dx); /* about a squared tolerance */
  return outcome(p, METRIC, Dx);
}

static const struct {
  const char *word;
  int fatal, recoverable, nonfinite;
} expected[N_CALLBACKS] = {
    {"G v", CP_USERFUNC_FAIL, -CP_REPTD_USERFUNC_ERR, -CP_CNSTRJAC_NONFINITE},
    {"G^T w", CP_USERFUNC_FAIL, -CP_REPTD_USERFUNC_ERR, -CP_CNSTRJAC_NONFINITE},
    {"diagonal", CP_USERFUNC_FAIL, -CP_REPTD_USERFUNC_ERR, -CP_REPTD_USERFUNC_ERR},
    {"preconditioner", CP_USERFUNC_FAIL, -CP_REPTD_USERFUNC_ERR, 0},
    {"preconditioner", CP_USERFUNC_FAIL, -CP_REPTD_USERFUNC_ERR, -CP_REPTD_USERFUNC_ERR},
    {"metric", CP_USERFUNC_FAIL, -CP_REPTD_USERFUNC_ERR, -CP_REPTD_USERFUNC_ERR},
    {"constraint", CP_USERFUNC_FAIL, -CP_REPTD_USERFUNC_ERR, -CP_CNSTR_NONFINITE}};

/* A projector 1e-4 off the manifold, without faults. with: callbacks in addition to the products. */
static void open_case(const Manifold *mf, Callback with) {
  case_open(&k, equations_of(mf),
            (Setting){CP_LINSOL_PRODUCTS, CP_NORM_ERROR, 1, PRODUCTS, OF_NORM});
  case_use_products(&k, Gv, GTw);
  case_set_levels(&k, 0);
  case_perturb(&k, 1.0e-4, 1);
  problem = (Problem){
      .eq = k.eq, .from = FOREVER, .factor = 1.0, .product = 1.0, .metric = 1.0, .prec = {1.0, 1.0}};
  ck_assert_success(&k, CPProjectorSetUserData(k.P, &problem));
  if (with == DIAGONAL) ck_assert_success(&k, CPProjectorSetSchurDiag(k.P, diagonal));
  if (with == SETUP || with == SOLVE)
    ck_assert_success(&k, CPProjectorSetPreconditioner(k.P, set_up, solve));
  if (with == METRIC) ck_assert_success(&k, CPProjectorSetMetricProduct(k.P, metric));
}

static void repair(void) {
  problem.from           = FOREVER;
  problem.eq.c_flag_from = problem.eq.c_bad_from = FOREVER;
  problem.factor = problem.product = problem.metric = 1.0;
  problem.prec[0] = problem.prec[1] = 1.0;
  problem.skew                      = 0.0;
  ck_assert_success(&k, CPProjectorSetUserData(k.P, &problem)); /* discards everything stored */
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  ck_assert_bound(&k, largest_residual(k.eq.mf, k.y), 1.0e-9);
}

/* Projecting fails with the code, one message with the word, and an unchanged y to the last bit. */
static void expect_failure(int code, const char *word) {
  N_Vector start      = vector_copy(k.y);
  const int messages  = k.log.count;
  const long int fail = case_stats(&k).nfails;
  const int flag      = CPProjectorProject(k.P, k.t, k.y, k.ewt);
  ck_assert_msg(flag == code, CASE_FORMAT ": %d instead of %d: %s", CASE_VALUES(&k), flag, code,
                k.log.text);
  ck_assert_int_eq(k.log.count, messages + 1);
  ck_assert_mentions(k.log.text, word);
  ck_assert_mentions(k.log.text, "t = ");
  ck_assert(same_bits(k.y, start));
  ck_assert_int_eq(case_stats(&k).nfails, fail + 1);
  N_VDestroy(start);
}

/* ---- callbacks that fail ---- */

/* One of the actions on y, v. */
enum { ACTIONS = 6 };
static int act(int which, N_Vector v) {
  sunrealtype norm;
  if (which == 0) return CPProjectorProject(k.P, k.t, k.y, k.ewt);
  if (which == 1) return CPProjectorProjectVector(k.P, CP_TANGENT, k.t, k.y, k.ewt, v);
  if (which == 2) return CPProjectorProjectVector(k.P, CP_COTANGENT, k.t, k.y, k.ewt, v);
  if (which == 3) return CPProjectorGetViolation(k.P, k.t, k.y, k.ewt, &norm, NULL);
  if (which == 4) return CPProjectorAssemble(k.P, k.t, k.y, k.ewt);
  return CPProjectorCheckJac(k.P, k.t, k.y, k.ewt, &norm, NULL, NULL);
}

/* Whichever call fails, the result is success if it is not reached, else the code, with y and v
 * unchanged. A violation that has been measured is not lost because it cannot be distinguished from
 * noise. */
static void every_call(Callback callback, int which, int flag, sunrealtype bad, int code) {
  int reached = 1;
  for (long int call = 1; reached; call++) {
    open_case(&planes, callback);
    N_Vector y = vector_copy(k.y), v = vector_copy(k.ewt), v0 = vector_copy(v);
    problem.faulty = callback;
    problem.from   = call;
    problem.flag   = flag;
    problem.bad    = bad;
    if (callback == CONSTRAINT) {
      const long int before  = problem.eq.c_calls;
      problem.eq.c_flag_from = problem.eq.c_bad_from = FOREVER;
      if (flag) problem.eq.c_flag_from = before + call;
      else problem.eq.c_bad_from = before + call;
      problem.eq.c_flag_until = problem.eq.c_bad_until = FOREVER;
      problem.eq.c_flag = flag, problem.eq.c_bad = bad;
    }
    const long int c_calls = problem.eq.c_calls;
    const int got          = act(which, v);
    if (callback == CONSTRAINT) problem.calls[CONSTRAINT] = problem.eq.c_calls - c_calls;
    reached = problem.calls[callback] >= call;
    const int want =
        reached ? which > 2 && code > 0 ? -code : code : CP_SUCCESS; /* no step to shorten */
    const int later = callback == GV ? call > 8 : callback != DIAGONAL && callback != SETUP;
    /* Nor is it a failure if c is undefined in the range in which noise is measured. */
    const int measured = code > 0 && got == CP_SUCCESS &&
                         ((which == 3 && later) || (callback == CONSTRAINT && call > 1));
    ck_assert_msg(got == want || measured, "callback %d, action %d, call %ld: %d instead of %d: %s",
                  (int)callback, which, call, got, want, k.log.text);
    if (reached && !measured) {
      ck_assert_mentions(k.log.text, expected[callback].word);
      ck_assert(same_bits(k.y, y));
      ck_assert(same_bits(v, v0));
      if (call == 1) repair();
    }
    N_VDestroy(y);
    N_VDestroy(v);
    N_VDestroy(v0);
    case_close(&k);
  }
}

START_TEST(a_failure_at_any_call_leaves_all_as_it_came) {
  const Callback callback = (Callback)(_i / ACTIONS);
  every_call(callback, _i % ACTIONS, -1, 0.0, expected[callback].fatal);
  every_call(callback, _i % ACTIONS, 1, 0.0, expected[callback].recoverable);
}
END_TEST

START_TEST(nan_and_inf_at_any_call_leave_all_as_it_came) {
  const Callback callback = (Callback)(_i / ACTIONS);
  if (expected[callback].nonfinite == 0) return; /* the set-up returns no numbers */
  every_call(callback, _i % ACTIONS, 0, NAN, expected[callback].nonfinite);
  every_call(callback, _i % ACTIONS, 0, INFINITY, expected[callback].nonfinite);
}
END_TEST

/* ---- wrong functions ---- */

/* A diagonal of squares cannot be like this. */
START_TEST(a_negative_diagonal_is_refused) {
  open_case(&planes, DIAGONAL);
  problem.faulty = DIAGONAL;
  problem.from   = 1;
  problem.bad    = -1.0e-10;
  expect_failure(CP_USERFUNC_FAIL, "sum of squares");
  repair();
  case_close(&k);
}
END_TEST

START_TEST(an_indefinite_metric_is_named) {
  open_case(&planes, METRIC);
  problem.metric = -1.0;
  expect_failure(-CP_METRIC_INDEFINITE, "not positive definite");
  repair();
  case_close(&k);
}
END_TEST

START_TEST(preconditioners_that_are_none_are_named) {
  const struct { sunrealtype first, others; } wrong[] = {{-1.0, -1.0}, {0.0, 0.0}, {1.0, -30.0}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    open_case(&planes, SOLVE);
    problem.prec[0] = wrong[i].first;
    problem.prec[1] = wrong[i].others;
    expect_failure(-CP_REPTD_USERFUNC_ERR, "not positive definite");
    repair();
    case_close(&k);
  }
}
END_TEST

/* (r, B r) > 0 nevertheless. */
START_TEST(a_preconditioner_that_is_not_symmetric_is_named) {
  open_case(&planes, SOLVE);
  problem.skew = 30.0;
  expect_failure(-CP_REPTD_USERFUNC_ERR, "not symmetric");
  repair();
  case_close(&k);
}
END_TEST

/* Zero for row 1 alone: that row is never corrected, but the constraints do not contradict each
 * other. */
START_TEST(a_singular_preconditioner_is_no_silent_success) {
  open_case(&planes, SOLVE);
  problem.prec[1] = 0.0;
  N_Vector start  = vector_copy(k.y);
  const int flag  = CPProjectorProject(k.P, k.t, k.y, k.ewt);
  ck_assert_int_gt(flag, 0);
  ck_assert(same_bits(k.y, start));
  N_VDestroy(start);
  repair();
  case_close(&k);
}
END_TEST

/* Random rows of G. */
enum { FULL_N = 6, FULL_M = 3 };
static sunrealtype full[FULL_M][FULL_N];

static int full_Gv(sunrealtype t, N_Vector y, N_Vector v, N_Vector out, void *user_data) {
  (void)t, (void)y, (void)user_data;
  N_VConst(0.0, out);
  for (int i = 0; i < FULL_M; i++)
    for (int j = 0; j < FULL_N; j++) entries(out)[i] += full[i][j] * entries(v)[j];
  return 0;
}

static int full_GTw(sunrealtype t, N_Vector y, N_Vector w, N_Vector out, void *user_data) {
  (void)t, (void)y, (void)user_data;
  N_VConst(0.0, out);
  for (int i = 0; i < FULL_M; i++)
    for (int j = 0; j < FULL_N; j++) entries(out)[j] += full[i][j] * entries(w)[i];
  return 0;
}

static int full_c(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  return full_Gv(t, y, y, c, user_data);
}

/* With the norm L2 and weights 16 decades apart, residuals fall to roundoff in one measure and not
 * in the other. There is no preconditioner to blame: conjugate gradients converge or do not. */
START_TEST(roundoff_is_not_blamed_on_the_preconditioner) {
  unsigned long long seed = (unsigned long long)_i + 1;
  N_Vector y = vector_of(FULL_N, NULL), v = vector_of(FULL_N, NULL), ewt = vector_of(FULL_N, NULL);
  N_Vector c          = vector_of(FULL_M, NULL);
  CPProjector P       = CPProjectorCreateProducts(full_c, full_Gv, full_GTw, y, c, test_context);
  MessageLog messages = {0};
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &messages), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetNorm(P, CP_NORM_L2, NULL, NULL), CP_SUCCESS);
  for (int trial = 0; trial < 50; trial++) {
    for (int i = 0; i < FULL_M; i++)
      for (int j = 0; j < FULL_N; j++) full[i][j] = fmax(random_number(&seed), 0.0);
    N_VConst(0.0, y);
    random_fill(v, &seed);
    for (int j = 0; j < FULL_N; j++) entries(ewt)[j] = pow(10.0, 6.0 + 8.0 * random_number(&seed));
    N_VDiv(v, ewt, v);
    ck_assert_int_eq(CPProjectorSetUserData(P, NULL), CP_SUCCESS); /* discards everything stored */
    const int flag = CPProjectorProjectVector(P, CP_TANGENT, 0.0, y, ewt, v);
    ck_assert_msg(flag != -CP_REPTD_USERFUNC_ERR && flag != CP_REPTD_USERFUNC_ERR, "trial %d",
                  trial);
  }
  CPProjectorFree(&P);
  N_VDestroy(y);
  N_VDestroy(v);
  N_VDestroy(ewt);
  N_VDestroy(c);
}
END_TEST

/* G^T w with a wrong entry: either G^T w is detected as wrong, or the iteration does not converge. */
START_TEST(products_that_are_no_transposes_are_found) {
  sunrealtype err;
  open_case(&planes, GV);
  problem.factor = _i ? -1.0 : 0.0;
  ck_assert_success(&k, CPProjectorCheckJac(k.P, k.t, k.y, k.ewt, &err, NULL, NULL));
  ck_assert_double_gt(err, 1.0e-3);
  problem.factor = -40.0; /* no convergence either */
  expect_failure(-CP_CNSTRJAC_WRONG, "transpose");
  repair();
  case_close(&k);
}
END_TEST

START_TEST(a_product_that_is_no_derivative_is_found) {
  sunrealtype err;
  open_case(&planes, GV);
  problem.product = -1.0;
  ck_assert_success(&k, CPProjectorCheckJac(k.P, k.t, k.y, k.ewt, &err, NULL, NULL));
  ck_assert_double_gt(err, 0.1);
  expect_failure(-CP_CNSTRJAC_WRONG, "CPProjectorCheckJac");
  repair();
  case_close(&k);
}
END_TEST

/* Central differences with steps of 6e-6 (1 + |y|) of functions of size 1: third order, 1e-10, and
 * roundoff, 1e-10; transposes to some roundings. */
START_TEST(right_products_pass_the_check) {
  for (int i = 0; i < n_manifolds; i++) {
    sunrealtype err;
    open_case(manifolds[i], GV);
    ck_assert_success(&k, CPProjectorCheckJac(k.P, k.t, k.y, k.ewt, &err, NULL, NULL));
    ck_assert_bound(&k, err, 1.0e-8);
    case_close(&k);
  }
}
END_TEST

static int at_rest(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t;
  (void)y;
  (void)user_data;
  N_VConst(0.0, ydot);
  return 0;
}

/* The check that the integrator makes before its first step. */
START_TEST(wrong_products_are_found_at_the_start_of_an_integration) {
  sunrealtype t;
  open_case(&planes, GV);
  repair();
  if (_i) problem.factor = 0.5;
  else problem.product = 0.5;
  CPIntegrator mem = CPIntegratorCreate("BDF", test_context);
  MessageLog log   = {0};
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &log), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorInit(mem, at_rest, k.t, k.y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-5, 1.0e-6), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetProjector(mem, k.P), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, k.t + 1.0, k.y, &t, CV_NORMAL), CP_CNSTRJAC_WRONG);
  ck_assert_mentions(log.text, _i ? "not the transpose" : "not the derivative");
  CPIntegratorFree(&mem);
  case_close(&k);
}
END_TEST

/* Velocities before positions: the position row would need a product with a higher level's columns. */
START_TEST(levels_that_are_upside_down_are_refused) {
  const int row[] = {1, 0};
  const int col[] = {1, 1, 0, 0};
  open_case(&pendulum_qu, GV);
  ck_assert_success(&k, CPProjectorSetLevels(k.P, row, col));
  expect_failure(CP_ILL_INPUT, "CPProjectorSetLevels");
  ck_assert_mentions(k.log.text, "level 0");
  ck_assert_mentions(k.log.text, "level 1");
  case_close(&k);
}
END_TEST

/* The diagonal indicates that there is a gradient. */
START_TEST(a_product_with_the_jacobian_that_returns_zeros_is_found) {
  open_case(&circle, DIAGONAL);
  problem.product = 0.0;
  expect_failure(-CP_CNSTRJAC_WRONG, "not each other's transpose");
  repair();
  case_close(&k);
}
END_TEST

/* ---- incompatible settings ---- */

static void expect_refusal(int code, const char *word) {
  N_Vector start = vector_copy(k.y);
  ck_assert_int_eq(CPProjectorProject(k.P, k.t, k.y, k.ewt), code);
  ck_assert_mentions(k.log.text, word);
  ck_assert(same_bits(k.y, start));
  N_VDestroy(start);
}

START_TEST(an_operator_goes_with_neither_levels_nor_fixed_components) {
  open_case(&pendulum_qu, METRIC);
  case_set_levels(&k, 1);
  expect_refusal(CP_NOT_SUPPORTED, "levels");
  case_set_levels(&k, 0);
  case_hold(&k, 1u);
  expect_refusal(CP_NOT_SUPPORTED, "fixed");
  ck_assert_success(&k, CPProjectorSetFree(k.P, NULL));
  repair();
  case_close(&k);
}
END_TEST

/* Templates that lack an operation, or access to their data. */
START_TEST(vectors_that_cannot_compute_are_refused) {
  N_Vector y = VECTOR(0.8, 0.6), c = VECTOR(0.0), ewt = VECTOR(1.0e5, 1.0e5);
  Equations eq      = equations_of(&circle);
  MessageLog log    = {0};
  c->ops->nvcompare = NULL;
  CPProjector P =
      CPProjectorCreateProducts(equations_c, equations_Gv, equations_GTw, y, c, test_context);
  ck_assert_ptr_nonnull(P);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &log), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetUserData(P, &eq), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorProject(P, 0.0, y, ewt), CP_VECTOROP_ERR);
  ck_assert_mentions(log.text, "N_VCompare");
  CPProjectorFree(&P);
  N_VDestroy(y);
  N_VDestroy(c);
  N_VDestroy(ewt);
}
END_TEST

/* Vectors in other memory, as on a device: only operations are available. */
static N_Vector_ID no_known_kind(N_Vector v) {
  (void)v;
  return SUNDIALS_NVEC_CUSTOM;
}

static N_Vector closed(N_Vector v) {
  v->ops->nvgetvectorid     = no_known_kind;
  v->ops->nvgetarraypointer = NULL;
  return v;
}

/* 0 = y_0 + y_1 - 1, 0 = y_2 - 5 */
static int closed_c(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  (void)user_data;
  NV_Ith_S(c, 0) = t < 0.0 ? NAN : NV_Ith_S(y, 0) + NV_Ith_S(y, 1) - 1.0;
  NV_Ith_S(c, 1) = NV_Ith_S(y, 2) - 5.0;
  return 0;
}

static int closed_Gv(sunrealtype t, N_Vector y, N_Vector v, N_Vector Gv_, void *user_data) {
  (void)t;
  (void)y;
  (void)user_data;
  NV_Ith_S(Gv_, 0) = NV_Ith_S(v, 0) + NV_Ith_S(v, 1);
  NV_Ith_S(Gv_, 1) = NV_Ith_S(v, 2);
  return 0;
}

static int closed_GTw(sunrealtype t, N_Vector y, N_Vector w, N_Vector GTw_, void *user_data) {
  (void)t;
  (void)y;
  (void)user_data;
  NV_Ith_S(GTw_, 0) = NV_Ith_S(GTw_, 1) = NV_Ith_S(w, 0);
  NV_Ith_S(GTw_, 2)                     = NV_Ith_S(w, 1);
  return 0;
}

/* Sizes cannot be estimated then, so tolerances are needed; there are no masks and levels. */
START_TEST(vectors_without_access_to_their_data_need_tolerances) {
  N_Vector y = closed(VECTOR(1.0, 0.5, 4.0)), ewt = closed(VECTOR(1.0e5, 1.0e5, 1.0e5));
  N_Vector c     = closed(VECTOR(1.0e-8, 1.0e-8));
  MessageLog log = {0};
  sunrealtype norm, err;
  CPProjector P = CPProjectorCreateProducts(closed_c, closed_Gv, closed_GTw, y, c, test_context);
  ck_assert_ptr_nonnull(P);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &log), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorProject(P, 0.0, y, ewt), CP_NOT_SUPPORTED);
  ck_assert_mentions(log.text, "CPProjectorSetConstraintTol");
  ck_assert_int_eq(CPProjectorSetConstraintTol(P, c), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetActive(P, (int[]){1, 0}), CP_NOT_SUPPORTED);
  ck_assert_int_eq(CPProjectorSetFree(P, (int[]){1, 0, 1}), CP_NOT_SUPPORTED);
  ck_assert_int_eq(CPProjectorSetLevels(P, (int[]){0, 0}, (int[]){0, 0, 0}), CP_NOT_SUPPORTED);
  ck_assert_mentions(log.text, "no access");
  ck_assert_int_eq(CPProjectorGetViolation(P, 0.0, y, ewt, &norm, NULL), CP_SUCCESS);
  ck_assert_double_eq_tol(norm, 1.0e8, 1.0);
  ck_assert_int_eq(CPProjectorProject(P, 0.0, y, ewt), CP_SUCCESS);
  ck_assert_double_eq_tol(NV_Ith_S(y, 0), 0.75, 1.0e-9); /* by hand: both move alike */
  ck_assert_double_eq_tol(NV_Ith_S(y, 1), 0.25, 1.0e-9);
  ck_assert_double_eq_tol(NV_Ith_S(y, 2), 5.0, 1.0e-9);
  ck_assert_int_eq(CPProjectorCheckJac(P, 0.0, y, ewt, &err, NULL, NULL), CP_SUCCESS);
  ck_assert_double_le(err, 1.0e-8);
  /* Messages name no entries. */
  ck_assert_int_eq(CPProjectorProject(P, -1.0, y, ewt), -CP_CNSTR_NONFINITE);
  ck_assert_mentions(log.text, "a constraint is NaN or Inf");
  N_VConst(-1.0, c);
  ck_assert_int_eq(CPProjectorSetConstraintTol(P, c), CP_ILL_INPUT);
  ck_assert_mentions(log.text, "ctol must be positive and finite");
  NV_Ith_S(y, 1) = INFINITY;
  ck_assert_int_eq(CPProjectorProject(P, 0.0, y, ewt), CP_ILL_INPUT);
  ck_assert_mentions(log.text, "y must be finite");
  CPProjectorFree(&P);
  N_VDestroy(y);
  N_VDestroy(ewt);
  N_VDestroy(c);
}
END_TEST

/* ---- memory ---- */

static int script(CPProjector P, N_Vector y, N_Vector v, N_Vector ewt) {
  sunrealtype error, norm;
  int flag = CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &k.log);
  if (!flag) flag = CPProjectorSetUserData(P, &problem);
  if (!flag) flag = CPProjectorSetSchurDiag(P, diagonal);
  if (!flag) flag = CPProjectorProject(P, 0.0, y, ewt);
  if (!flag) flag = CPProjectorProjectVector(P, CP_TANGENT, 0.0, y, ewt, v);
  if (!flag) flag = CPProjectorProjectVector(P, CP_COTANGENT, 0.0, y, ewt, v);
  if (!flag) flag = CPProjectorGetViolation(P, 0.0, y, ewt, &norm, NULL);
  if (!flag) flag = CPProjectorCheckJac(P, 0.0, y, ewt, &error, NULL, NULL);
  if (!flag) flag = CPProjectorAssemble(P, 0.0, y, ewt);
  return flag;
}

START_TEST(every_allocation_may_fail) {
  long n = 0;
  open_case(&planes, DIAGONAL);
  N_Vector c = VECTOR(0.0, 0.0), v = vector_copy(k.ewt), y = vector_copy(k.y);
  for (int denied = 1; denied; n++) {
    N_VScale(1.0, k.y, y);
    alloc_watch_failing(n + 1);
    CPProjector P = CPProjectorCreateProducts(equations_c, Gv, GTw, y, c, test_context);
    int flag      = P ? script(P, y, v, k.ewt) : CP_MEM_FAIL;
    denied        = alloc_has_failed();
    CPProjectorFree(&P);
    alloc_unwatch();
    ck_assert_int_eq(flag, denied ? CP_MEM_FAIL : CP_SUCCESS);
    ck_assert_int_eq(alloc_live(), 0);
  }
  ck_assert_int_gt(n, 20); /* the vectors */
  N_VDestroy(c);
  N_VDestroy(v);
  N_VDestroy(y);
  case_close(&k);
}
END_TEST

START_TEST(a_projection_allocates_nothing) {
  open_case(&pendulum_qu, DIAGONAL);
  case_set_levels(&k, 1);
  N_Vector v = vector_copy(k.ewt);
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  int flag = 0;
  alloc_watch(); /* Check's own assertions allocate */
  for (int i = 0; i < 5; i++) {
    entries(k.y)[0] += 1.0e-4;
    flag |= CPProjectorProject(k.P, k.t, k.y, k.ewt);
    flag |= CPProjectorProjectVector(k.P, CP_TANGENT, k.t, k.y, k.ewt, v);
    flag |= CPProjectorProjectVector(k.P, CP_COTANGENT, k.t, k.y, k.ewt, v);
  }
  alloc_unwatch();
  ck_assert_int_eq(flag, CP_SUCCESS);
  ck_assert_int_eq(alloc_count(), 0);
  N_VDestroy(v);
  case_close(&k);
}
END_TEST

TEST_SUITE(krylov_failures) {
  Suite *suite = suite_create("projector/krylov_failures");
  TCase *tc    = tcase_create("failures");
  tcase_set_timeout(tc, 60.0);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, a_failure_at_any_call_leaves_all_as_it_came, 0, ACTIONS * N_CALLBACKS);
  tcase_add_loop_test(tc, nan_and_inf_at_any_call_leave_all_as_it_came, 0, ACTIONS * N_CALLBACKS);
  tcase_add_test(tc, a_negative_diagonal_is_refused);
  tcase_add_test(tc, an_indefinite_metric_is_named);
  tcase_add_test(tc, preconditioners_that_are_none_are_named);
  tcase_add_test(tc, a_preconditioner_that_is_not_symmetric_is_named);
  tcase_add_test(tc, a_singular_preconditioner_is_no_silent_success);
  tcase_add_loop_test(tc, roundoff_is_not_blamed_on_the_preconditioner, 0, 4);
  tcase_add_loop_test(tc, products_that_are_no_transposes_are_found, 0, 2);
  tcase_add_test(tc, a_product_that_is_no_derivative_is_found);
  tcase_add_test(tc, right_products_pass_the_check);
  tcase_add_loop_test(tc, wrong_products_are_found_at_the_start_of_an_integration, 0, 2);
  tcase_add_test(tc, levels_that_are_upside_down_are_refused);
  tcase_add_test(tc, a_product_with_the_jacobian_that_returns_zeros_is_found);
  tcase_add_test(tc, an_operator_goes_with_neither_levels_nor_fixed_components);
  tcase_add_test(tc, vectors_that_cannot_compute_are_refused);
  tcase_add_test(tc, vectors_without_access_to_their_data_need_tolerances);
  tcase_add_test(tc, every_allocation_may_fail);
  tcase_add_test(tc, a_projection_allocates_nothing);
  suite_add_tcase(suite, tc);
  return suite;
}
