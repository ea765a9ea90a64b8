/* The catalogue of mechanisms, and what is known about each of them. */
#include "models/model.h"
#include "support/support.h"

#include <math.h>
#include <string.h>

static int ntypes(void) {
  int n = 0;
  while (model_type(n)) n++;
  return n;
}

START_TEST(every_mechanism_agrees_with_itself) {
  char message[500];
  Model *model = model_create(model_type(_i), NULL, test_context, message, sizeof message);
  ck_assert_msg(model != NULL, "%s", message);
  const int flag = model_check(model, message, sizeof message);
  ck_assert_msg(flag == 0, "%s", message);
  model_free(&model);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("models/catalogue");
  TCase *tc    = tcase_create("catalogue");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, every_mechanism_agrees_with_itself, 0, ntypes());
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
