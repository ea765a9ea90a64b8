/* Memory: every allocation fails in turn, nothing leaks, and repeated projections allocate nothing. */
#include "projector/fixture.h"
#include "support/alloc.h"

#include <string.h>

/* A user's calls from creation to the first results, with every option that copies something. Each
 * step returns its code; the first failure ends it. All vectors exist before, so that only the
 * library allocates. */
typedef struct {
  Equations eq;
  MessageLog log;
  N_Vector y, y0, v, ewt, c, ctol;
  SUNMatrix G;
} Script;

static Script s;
static Setting setting;

static void setup(void) {
  test_context_setup();
  memset(&s, 0, sizeof s);
  s.eq   = equations_of(&pendulum_qu);
  s.y    = VECTOR(0.6001, -0.8, 1.6001, 1.2);
  s.y0   = vector_copy(s.y);
  s.v    = VECTOR(1.0, 2.0, 3.0, 4.0);
  s.ewt  = VECTOR(1.0e5, 1.0e5, 1.0e5, 1.0e5);
  s.c    = VECTOR(0.0, 0.0);
  s.ctol = VECTOR(1.0e-5, 1.0e-5);
  s.G    = SUNDenseMatrix(2, 4, test_context);
  ck_assert_ptr_nonnull(s.G);
}

static void teardown(void) {
  N_Vector const all[] = {s.y, s.y0, s.v, s.ewt, s.c, s.ctol};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) N_VDestroy(all[i]);
  SUNMatDestroy(s.G);
  test_context_teardown();
}

static int run_options(CPProjector P, int given_levels) {
  sunrealtype err;
  int flag = CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &s.log);
  if (!flag) flag = CPProjectorSetUserData(P, &s.eq);
  if (!flag) flag = CPProjectorSetLinearSolver(P, setting.solver);
  if (!flag) flag = CPProjectorSetNorm(P, setting.norm, NULL, NULL);
  if (!flag && setting.user_jac) flag = CPProjectorSetJacFn(P, equations_jac, s.G);
  if (!flag && given_levels) flag = CPProjectorSetLevels(P, (int[]){0, 1}, (int[]){0, 0, 1, 1});
  if (!flag) flag = CPProjectorSetConstraintTol(P, s.ctol);
  if (!flag) flag = CPProjectorSetFree(P, (int[]){1, 1, 1, 1});
  if (!flag) flag = CPProjectorProject(P, 0.0, s.y, s.ewt);
  if (!flag) flag = CPProjectorProjectVector(P, CP_TANGENT, 0.0, s.y, s.ewt, s.v);
  if (!flag) flag = CPProjectorCheckJac(P, 0.0, s.y, s.ewt, &err, NULL, NULL);
  if (!flag) flag = CPProjectorAssemble(P, 0.0, s.y, s.ewt);
  return flag;
}

START_TEST(every_allocation_may_fail) {
  const int given_levels = _i % 2;
  setting                = settings[_i / 2];
  long n                 = 0;
  for (int denied = 1; denied; n++) {
    s.log = (MessageLog){0};
    N_VScale(1.0, s.y0, s.y);
    alloc_watch_failing(n + 1);
    CPProjector P = CPProjectorCreate(equations_c, s.y, s.c, test_context);
    int flag      = P ? run_options(P, given_levels) : CP_MEM_FAIL;
    denied        = alloc_has_failed();
    if (!denied || !P || flag == CP_SUCCESS) { /* nothing to check */
    } else {
      ck_assert_int_eq(s.log.count, 1);
      ck_assert_int_eq(s.log.code, CP_MEM_FAIL);
      ck_assert_mentions(s.log.text, "memory");
    }
    ck_assert_int_eq(flag, denied ? CP_MEM_FAIL : CP_SUCCESS);
    if (P && denied) { /* with memory again, the same object works */
      N_VScale(1.0, s.y0, s.y);
      ck_assert_int_eq(run_options(P, given_levels), CP_SUCCESS);
    }
    CPProjectorFree(&P);
    alloc_unwatch();
    ck_assert_msg(alloc_live() == 0, "%ld blocks are left after allocation %ld failed",
                  alloc_live(), n + 1);
    ck_assert_int_lt(n, 1000);
  }
  ck_assert_int_gt(n, 10); /* checks the counting: a projector cannot do with fewer */
}
END_TEST

START_TEST(a_failed_allocation_in_the_first_projection_leaves_y_as_it_came) {
  setting       = settings[_i];
  CPProjector P = NULL;
  for (long n = 1;; n++) {
    N_VScale(1.0, s.y0, s.y);
    P = CPProjectorCreate(equations_c, s.y, s.c, test_context);
    ck_assert_ptr_nonnull(P);
    ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &s.log), CP_SUCCESS);
    ck_assert_int_eq(CPProjectorSetUserData(P, &s.eq), CP_SUCCESS);
    ck_assert_int_eq(CPProjectorSetLinearSolver(P, setting.solver), CP_SUCCESS);
    alloc_watch_failing(n);
    const int flag = CPProjectorProject(P, 0.0, s.y, s.ewt);
    alloc_unwatch();
    CPProjectorFree(&P);
    if (!alloc_has_failed()) break;
    ck_assert_int_eq(flag, CP_MEM_FAIL);
    ck_assert(same_bits(s.y, s.y0));
    ck_assert_int_lt(n, 1000);
  }
}
END_TEST

static int some_g(sunrealtype t, N_Vector yhat, N_Vector y, sunrealtype eps, void *user_data) {
  (void)t;
  (void)eps;
  (void)user_data;
  N_VScale(1.0, yhat, y);
  return 0;
}

START_TEST(every_allocation_of_a_user_projector_may_fail) {
  long n = 0;
  for (int denied = 1; denied; n++) {
    alloc_watch_failing(n + 1);
    CPProjector P = projector_of_user(some_g, NULL, s.y);
    denied        = alloc_has_failed();
    int flag      = P ? CPProjectorProject(P, 0.0, s.y, NULL) : CP_MEM_FAIL;
    denied        = alloc_has_failed();
    ck_assert_int_eq(flag, denied ? CP_MEM_FAIL : CP_SUCCESS);
    CPProjectorFree(&P);
    alloc_unwatch();
    ck_assert_int_eq(alloc_live(), 0);
    ck_assert_int_lt(n, 1000);
  }
  ck_assert_int_gt(n, 2);
}
END_TEST

START_TEST(after_the_first_projection_nothing_is_allocated) {
  setting       = settings[_i];
  CPProjector P = CPProjectorCreate(equations_c, s.y, s.c, test_context);
  sunrealtype norm;
  ck_assert_ptr_nonnull(P);
  ck_assert_int_eq(run_options(P, 0), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorProject(P, 0.0, s.y, s.ewt), CP_SUCCESS);
  alloc_watch();
  int flag = 0;
  for (int step = 0; !flag && step < 50; step++) {
    N_VScale(1.0, s.y0, s.y);
    entries(s.y)[0] += 1.0e-4 * step;
    flag = CPProjectorProject(P, 0.0, s.y, s.ewt);
    if (!flag) flag = CPProjectorProjectVector(P, CP_TANGENT, 0.0, s.y, s.ewt, s.v);
    if (!flag) flag = CPProjectorProjectVector(P, CP_COTANGENT, 0.0, s.y, s.ewt, s.v);
    if (!flag) flag = CPProjectorGetViolation(P, 0.0, s.y, s.ewt, &norm, NULL);
  }
  alloc_unwatch();
  ck_assert_int_eq(flag, CP_SUCCESS);
  ck_assert_int_eq(alloc_count(), 0);
  CPProjectorFree(&P);
}
END_TEST

TEST_SUITE(memory) {
  Suite *suite = suite_create("memory");
  TCase *tc    = tcase_create("memory");
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_loop_test(tc, every_allocation_may_fail, 0, 2 * n_settings);
  tcase_add_loop_test(tc, a_failed_allocation_in_the_first_projection_leaves_y_as_it_came, 0,
                      n_settings);
  tcase_add_test(tc, every_allocation_of_a_user_projector_may_fail);
  tcase_add_loop_test(tc, after_the_first_projection_nothing_is_allocated, 0, n_settings);
  suite_add_tcase(suite, tc);
  return suite;
}
