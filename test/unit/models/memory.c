/* Models when memory runs out: every allocation fails in turn. */
#include "models/model.h"
#include "support/alloc.h"
#include "support/support.h"

static int ntypes(void) {
  int n = 0;
  while (model_type(n)) n++;
  return n;
}

START_TEST(a_model_that_cannot_be_created_leaves_nothing) {
  char message[200];
  long n = 0;
  for (int failed = 1; failed;) {
    alloc_watch_failing(++n);
    CPPlugin *model = CPPluginCreate(model_type(_i), NULL, test_context, message, sizeof message);
    failed          = alloc_has_failed();
    ck_assert_int_eq(model == NULL, failed);
    if (failed) ck_assert_mentions(message, "no memory");
    CPPluginFree(&model);
    alloc_unwatch();
    ck_assert_int_eq(alloc_live(), 0);
  }
  ck_assert_int_gt(n, 2);
}
END_TEST

/* The check of a correct model reports that it is correct, or that it lacks memory. */
START_TEST(a_check_without_memory_leaves_nothing) {
  char message[200];
  CPPlugin *model =
      CPPluginCreate(model_find("pendulum"), NULL, test_context, message, sizeof message);
  ck_assert_ptr_nonnull(model);
  long n = 0;
  for (int failed = 1; failed;) {
    alloc_watch_failing(++n);
    const int flag = model_check(model, message, sizeof message);
    failed         = alloc_has_failed();
    alloc_unwatch();
    ck_assert_int_eq(alloc_live(), 0);
    if (!failed) ck_assert_msg(flag == 0, "%s", message);
    if (flag) ck_assert_mentions(message, "pendulum");
  }
  CPPluginFree(&model);
}
END_TEST

TEST_SUITE(memory) {
  Suite *suite = suite_create("models/memory");
  TCase *tc    = tcase_create("memory");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, a_model_that_cannot_be_created_leaves_nothing, 0, ntypes());
  tcase_add_test(tc, a_check_without_memory_leaves_nothing);
  suite_add_tcase(suite, tc);
  return suite;
}
