/* Names of the race: problems with parameters as on its command line, and what is said of wrong ones. */
#include <math.h>
#include <string.h>

#include "bench/race/problem.h"
#include "models/names.h"
#include "support/support.h"

static sunrealtype values[CP_MODEL_MAX_PARAMETERS], t_end;
static char message[PROBLEM_MESSAGE];

static sunrealtype value_of(const CPModelType *type, const char *name) {
  return values[CPModelFindParameter(type, name)];
}

START_TEST(a_name_alone_means_the_defaults) {
  const CPModelType *type = problem_parse("pendulum", values, &t_end, message);
  ck_assert_ptr_nonnull(type);
  ck_assert_double_eq(t_end, type->t_end);
  for (int i = 0; i < type->nparameters; i++)
    ck_assert_double_eq(values[i], type->parameters[i].value);
}
END_TEST

START_TEST(parameters_and_the_end_are_taken_and_the_rest_stays) {
  const CPModelType *type = problem_parse("pendulum:L=2.5e-1,t_end=3", values, &t_end, message);
  ck_assert_ptr_nonnull(type);
  ck_assert_double_eq(value_of(type, "L"), 0.25);
  ck_assert_double_eq(value_of(type, "g"), 9.81);
  ck_assert_double_eq(t_end, 3);
}
END_TEST

/* What is wrong, and what the message has to say */
static const struct {
  const char *text, *says;
} wrong[] = {
    {"pendulm", "\"pendulm\"; did you mean \"pendulum\"?"},
    {"", "there is no problem \"\""},
    {":L=1", "there is no problem \"\""},
    {"pendulum:", "nothing after the colon"},
    {"pendulum:l=1", "no parameter \"l\"; did you mean \"L\"?"},
    {"pendulum:tend=1", "did you mean \"t_end\"?"},
    {"pendulum:L", "\"L\" is not PARAMETER=VALUE"},
    {"pendulum:=1", "\"=1\" is not PARAMETER=VALUE"},
    {"pendulum:L=", "L = \"\" is no number"},
    {"pendulum:L=1x", "L = \"1x\" is no number"},
    {"pendulum:L=nan", "L = \"nan\" is no number"},
    {"pendulum:L=inf", "L = \"inf\" is no number"},
    {"pendulum:L=1=2", "L = \"1=2\" is no number"},
    {"pendulum:t_end=-1", "t_end = \"-1\" is no positive number"},
    {"pendulum:t_end=0", "t_end = \"0\" is no positive number"},
    {"pendulum:g=9.81000,g=9.81000,g=9.81000,g=9.81000,g=9.81000,g=9.81000,g=9.81000,g=9.81000,g=9."
     "81000,g=9.81,g=9.81,g=9.81,"
     "g=9.81,g=9.81",
     "too long"},
};
enum { WRONG = sizeof wrong / sizeof *wrong };

START_TEST(a_wrong_problem_is_refused_with_its_reason) {
  ck_assert_ptr_null(problem_parse(wrong[_i].text, values, &t_end, message));
  ck_assert_msg(strstr(message, wrong[_i].says) != NULL, "\"%s\": %s", wrong[_i].text, message);
}
END_TEST

START_TEST(a_value_out_of_range_is_refused_with_its_rule) {
  Problem problem;
  ck_assert_int_eq(problem_create("pendulum:L=-1", test_context, &problem, message), -1);
  ck_assert_ptr_nonnull(strstr(message, "parameter L"));
  ck_assert_ptr_nonnull(strstr(message, "-1"));
  problem_free(&problem);
}
END_TEST

START_TEST(every_default_problem_is_one) {
  for (int i = 0; problem_default(i); i++)
    ck_assert_msg(problem_parse(problem_default(i), values, &t_end, message) != NULL, "%s", message);
}
END_TEST

START_TEST(a_known_reference_is_the_models) {
  Problem problem;
  ck_assert_int_eq(problem_create("pendulum:t_end=1.5", test_context, &problem, message), 0);
  ck_assert_ptr_nonnull(problem.reference);
  ck_assert_double_eq(problem_error(&problem, problem.reference), 0);
  entries(problem.reference)[1] += 0.25; /* y */
  N_Vector moved = vector_copy(problem.reference);
  entries(moved)[1] -= 0.25;
  ck_assert_double_eq_tol(problem_error(&problem, moved), 0.25, 1e-15);
  entries(moved)[0] = NAN;
  ck_assert(isnan(problem_error(&problem, moved)));
  N_VDestroy(moved);
  problem_free(&problem);
}
END_TEST

START_TEST(the_violation_is_that_of_positions_and_velocities) {
  Problem problem;
  ck_assert_int_eq(problem_create("pendulum", test_context, &problem, message), 0);
  N_Vector y = vector_copy(problem.model->y0); /* at rest */
  ck_assert_double_le(problem_violation(&problem, 0, y), 1e-15);
  entries(y)[2] += 0.5 * entries(y)[0]; /* velocity along the rod of length 1: v = 0.5 */
  entries(y)[3] += 0.5 * entries(y)[1];
  ck_assert_double_eq_tol(problem_violation(&problem, 0, y), 0.5, 1e-15);
  N_VDestroy(y);
  problem_free(&problem);
}
END_TEST

START_TEST(the_nearest_name_has_the_fewest_edits) {
  const char *const names[] = {"cpodes-bdf", "cpodes-adams", "ida-klu"};
  ck_assert_str_eq(nearest_name("cpode-adams", names, 3), "cpodes-adams");
  ck_assert_str_eq(nearest_name("idaklu", names, 3), "ida-klu");
  ck_assert_str_eq(nearest_name("cpodes-bdf", names, 3), "cpodes-bdf");
  ck_assert_str_eq(nearest_name("", names, 3), "ida-klu");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("problem");
  TCase *tcase = tcase_create("problem");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_test(tcase, a_name_alone_means_the_defaults);
  tcase_add_test(tcase, parameters_and_the_end_are_taken_and_the_rest_stays);
  tcase_add_loop_test(tcase, a_wrong_problem_is_refused_with_its_reason, 0, WRONG);
  tcase_add_test(tcase, a_value_out_of_range_is_refused_with_its_rule);
  tcase_add_test(tcase, every_default_problem_is_one);
  tcase_add_test(tcase, a_known_reference_is_the_models);
  tcase_add_test(tcase, the_violation_is_that_of_positions_and_velocities);
  tcase_add_test(tcase, the_nearest_name_has_the_fewest_edits);
  suite_add_tcase(suite, tcase);
  return run_suite(suite);
}
