/* Memory: every allocation fails in turn, nothing leaks, and repeated projections allocate nothing. */
#include "projector/fixture.h"
#include "support/alloc.h"

#include <stdio.h>
#include <string.h>

/* A user's calls from creation to the first results, with every option that copies something. Each
 * step returns its code; the first failure ends it. All vectors exist before, so that only the
 * library allocates. */
typedef struct {
  Equations eq;
  MessageLog log;
  N_Vector y, y0, v, ewt, c, row, col, ctol, id;
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
  s.row  = VECTOR(0.0, 1.0);
  s.col  = VECTOR(0.0, 0.0, 1.0, 1.0);
  s.ctol = VECTOR(1.0e-5, 1.0e-5);
  s.id   = VECTOR(1.0, 1.0, 1.0, 1.0);
  s.G    = SUNDenseMatrix(2, 4, test_context);
  ck_assert_ptr_nonnull(s.G);
}

static void teardown(void) {
  N_Vector const all[] = {s.y, s.y0, s.v, s.ewt, s.c, s.row, s.col, s.ctol, s.id};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) N_VDestroy(all[i]);
  SUNMatDestroy(s.G);
  test_context_teardown();
}

static int run_options(CPProjector P, int given_levels) {
  sunrealtype err;
  int flag = CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &s.log);
  if (!flag) flag = CPProjectorSetUserData(P, &s.eq);
  if (!flag) flag = CPProjectorSetLinearSolver(P, setting.solver);
  if (!flag) flag = CPProjectorSetNorm(P, setting.norm);
  if (!flag && setting.user_jac) flag = CPProjectorSetJacFn(P, equations_jac, s.G);
  if (!flag && given_levels) flag = CPProjectorSetLevels(P, s.row, s.col);
  if (!flag) flag = CPProjectorSetConstraintTol(P, s.ctol);
  if (!flag) flag = CPProjectorSetFixed(P, s.id);
  if (!flag) flag = CPProjectorProject(P, 0.0, s.y, s.ewt);
  if (!flag) flag = CPProjectorProjectTangent(P, 0.0, s.y, s.ewt, s.v);
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

/* A failure leaves the levels unchanged for the options and projections that follow. */
START_TEST(levels_that_cannot_be_copied_change_nothing) {
  N_Vector zeros[] = {VECTOR(0.0, 0.0), VECTOR(0.0, 0.0, 0.0, 0.0)};
  N_Vector row = vector_copy(s.row), col = vector_copy(s.col);
  CPProjector P = CPProjectorCreate(equations_c, s.y, s.c, test_context);
  ck_assert_ptr_nonnull(P);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &s.log), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetUserData(P, &s.eq), CP_SUCCESS);
  for (long n = 1; n <= 2; n++) {
    const int given = _i > 0;
    if (given) ck_assert_int_eq(CPProjectorSetLevels(P, s.row, s.col), CP_SUCCESS);
    alloc_watch_failing(n);
    ck_assert_int_eq(CPProjectorSetLevels(P, zeros[0], zeros[1]), CP_MEM_FAIL);
    alloc_unwatch();
    ck_assert(alloc_has_failed());
    ck_assert_int_eq(alloc_live(), 0);
    N_VScale(1.0, s.y0, s.y);
    ck_assert_msg(CPProjectorProject(P, 0.0, s.y, s.ewt) == CP_SUCCESS, "%s", s.log.text);
    /* detected unless they were given */
    ck_assert_int_eq(CPProjectorGetLevels(P, row, col), CP_SUCCESS);
    ck_assert_double_eq(max_distance(row, s.row) + max_distance(col, s.col), 0.0);
    /* with another G they are detected anew, unless they were given */
    ck_assert_int_eq(CPProjectorSetJacFn(P, equations_jac, s.G), CP_SUCCESS);
    ck_assert_int_eq(CPProjectorGetLevels(P, row, col), given ? CP_SUCCESS : CP_NO_INIT);
  }
  CPProjectorFree(&P);
  for (int i = 0; i < 2; i++) N_VDestroy(zeros[i]);
  N_VDestroy(row);
  N_VDestroy(col);
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
    CPProjector P = CPProjectorCreateUser(some_g, NULL, s.y, test_context);
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
  ck_assert_int_eq(CPProjectorSetJacFrequency(P, 2), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorProject(P, 0.0, s.y, s.ewt), CP_SUCCESS);
  alloc_watch();
  int flag = 0;
  for (int step = 0; !flag && step < 50; step++) {
    N_VScale(1.0, s.y0, s.y);
    entries(s.y)[0] += 1.0e-4 * step;
    flag = CPProjectorProject(P, 0.0, s.y, s.ewt);
    if (!flag) flag = CPProjectorProjectTangent(P, 0.0, s.y, s.ewt, s.v);
    if (!flag) flag = CPProjectorProjectCotangent(P, 0.0, s.y, s.ewt, s.v);
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
  tcase_add_loop_test(tc, levels_that_cannot_be_copied_change_nothing, 0, 2);
  tcase_add_test(tc, every_allocation_of_a_user_projector_may_fail);
  tcase_add_loop_test(tc, after_the_first_projection_nothing_is_allocated, 0, n_settings);
  suite_add_tcase(suite, tc);
  return suite;
}
