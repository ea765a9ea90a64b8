/* The catalogue of mechanisms: names, parameters, and the internal consistency of all of them. */
#include "models/model.h"
#include "models/names.h"
#include "support/support.h"

#include <math.h>
#include <models/plugin.h>
#include <stdio.h>
#include <string.h>

static char message[500];

static int ntypes(void) {
  int n = 0;
  while (model_type(n)) n++;
  return n;
}

static CPPlugin *create(const CPPluginType *type, const sunrealtype *values) {
  return CPPluginCreate(type, values, test_context, message, sizeof message);
}

/* ---------------------------------------------------------------------------------- agreement -- */

static void agrees(const CPPluginType *type, const sunrealtype *values) {
  CPPlugin *model = create(type, values);
  ck_assert_msg(model != NULL, "%s", message);
  ck_assert_str_eq(message, "");
  ck_assert_msg(model_check(model, message, sizeof message) == 0, "%s", message);
  ck_assert_str_eq(message, "");
  CPPluginFree(&model);
  ck_assert_ptr_null(model);
}

START_TEST(every_mechanism_agrees_with_itself) { agrees(model_type(_i), NULL); }
END_TEST

/* Each parameter moves half way, logarithmically if possible, from its default to its largest
 * value, or to ten times the default if that is less: no function may have a default built in.
 * Integers change by one. */
START_TEST(every_mechanism_agrees_with_other_parameters) {
  const CPPluginType *type = model_type(_i);
  for (int i = 0; i < type->nparameters; i++) {
    sunrealtype values[MODEL_MOST_PARAMETERS];
    for (int k = 0; k < type->nparameters; k++) values[k] = type->parameters[k].value;
    const CPPluginParameter *p = &type->parameters[i];
    const int count            = CPPluginIsWhole(type, i);
    const sunrealtype other    = p->value > 0 ? sqrt(p->value * p->most) : fmin(p->most, 1) / 2;
    values[i] = count ? p->value + 1 : fmin(other, fmax(1.5 * p->value, p->value + 0.1));
    values[i] = fmin(values[i], p->most);
    agrees(type, values);
  }
}
END_TEST

/* Mechanisms of any size are made large enough to have sparse matrices. */
static const struct {
  const char *name, *size;
  sunrealtype value;
} large[] = {{"four_bar", "N", 9}, {"chain", "n", 60}, {"bending_chain", "n", 30}};
enum { NLARGE = sizeof large / sizeof large[0] };

START_TEST(large_mechanisms_are_sparse_and_agree) {
  const CPPluginType *type = model_find(large[_i].name);
  sunrealtype values[MODEL_MOST_PARAMETERS];
  for (int k = 0; k < type->nparameters; k++) values[k] = type->parameters[k].value;
  values[plugin_find_parameter(type, large[_i].size)] = large[_i].value;
  CPPlugin *model                                     = create(type, values);
  ck_assert_ptr_nonnull(model);
  ck_assert_int_ge(model->mech.nu, MODEL_SPARSE);
  ck_assert_int_eq(SUNMatGetID(model->mech.M_tmpl), SUNMATRIX_SPARSE);
  ck_assert_int_eq(SUNMatGetID(model->mech.A_tmpl), SUNMATRIX_SPARSE);
  ck_assert_int_eq(SUNMatGetID(model->G_tmpl), SUNMATRIX_SPARSE);
  CPPluginFree(&model);
  agrees(type, values);
}
END_TEST

/* --------------------------------------------------------------------------------- references -- */

/* Is it among the components that are compared? */
START_TEST(error_is_the_largest_difference_to_the_reference) {
  CPPlugin *model = create(model_type(_i), NULL);
  N_Vector y      = vector_copy(model->y0);
  if (model->known) {
    ck_assert_double_le(plugin_error(model, 0, y), model->reference_error + 1e-14);
    entries(y)[0] += 0.25;
    ck_assert_double_eq_tol(plugin_error(model, 0, y), 0.25, 1e-12);
    entries(y)[plugin_num_compared(model) - 1] += 0.5;
    if (plugin_num_compared(model) > 1)
      ck_assert_double_eq_tol(plugin_error(model, 0, y), 0.5, 1e-12);
    entries(y)[0] = NAN;
    ck_assert_double_nan(plugin_error(model, 0, y));
  } else {
    ck_assert_double_nan(plugin_error(model, 0, y));
  }
  N_VDestroy(y);
  CPPluginFree(&model);
}
END_TEST

START_TEST(there_is_no_error_without_a_reference) {
  const CPPluginType *type = model_find("andrews");
  CPPlugin *model          = create(type, NULL);
  ck_assert_double_nan(plugin_error(model, type->t_end / 2, model->y0));
  model->known = 0;
  ck_assert_double_nan(plugin_error(model, 0, model->y0));
  CPPluginFree(&model);
}
END_TEST

/* -------------------------------------------------------------------------------------- names -- */

START_TEST(every_name_is_unique_and_finds_its_mechanism) {
  ck_assert_ptr_null(model_type(-1));
  ck_assert_int_gt(ntypes(), 1);
  for (int i = 0; i < ntypes(); i++) {
    ck_assert_ptr_eq(model_find(model_type(i)->name), model_type(i));
    ck_assert_str_eq(model_nearest(model_type(i)->name), model_type(i)->name);
  }
  ck_assert_ptr_null(model_find("pendel"));
  ck_assert_ptr_null(model_find(""));
}
END_TEST

START_TEST(names_are_near_up_to_half_of_the_longer_one) {
  ck_assert(is_near_name("pendlum", "pendulum"));
  ck_assert(is_near_name("rnu", "run"));
  ck_assert(is_near_name("l", "L"));
  ck_assert(is_near_name("abcd", "abxy"));
  ck_assert(!is_near_name("abcde", "axyzw"));
  ck_assert(!is_near_name("nope", "andrews"));
  ck_assert(!is_near_name("x", "L"));
  ck_assert(!is_near_name("", "andrews"));
}
END_TEST

START_TEST(nearest_name_repairs_a_slip) {
  ck_assert_str_eq(model_nearest("pendlum"), "pendulum");
  ck_assert_str_eq(model_nearest("andrew"), "andrews");
  ck_assert_str_eq(model_nearest("caraxis"), "car_axis");
  ck_assert_str_eq(model_nearest("four-bar"), "four_bar");
  ck_assert_str_eq(model_nearest("flexible_krank"), "flexible_crank");
  ck_assert_ptr_nonnull(model_nearest(""));
  char long_name[1000];
  memset(long_name, 'x', sizeof long_name - 1);
  long_name[sizeof long_name - 1] = '\0';
  ck_assert_ptr_nonnull(model_nearest(long_name));
}
END_TEST

/* --------------------------------------------------------------------------------- parameters -- */

START_TEST(parameters_are_found_by_their_names) {
  const CPPluginType *pendulum = model_find("pendulum");
  ck_assert_int_eq(plugin_find_parameter(pendulum, "L"), 0);
  ck_assert_int_eq(plugin_find_parameter(pendulum, "g"), 1);
  ck_assert_int_eq(plugin_find_parameter(pendulum, "l"), -1);
  ck_assert_int_eq(plugin_find_parameter(model_find("andrews"), "g"), -1);
}
END_TEST

START_TEST(bad_parameters_are_refused_by_name_rule_and_value) {
  const CPPluginType *type  = model_find("pendulum");
  const sunrealtype bad[]   = {-2.5, 0, 1e6, INFINITY, -INFINITY, NAN};
  const char *const value[] = {"-2.5", "is 0", "1e+06", "inf", "-inf", "nan"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    const sunrealtype values[] = {1, bad[i]};
    ck_assert_ptr_null(create(type, values));
    ck_assert_mentions(message, "pendulum");
    ck_assert_mentions(message, "parameter g");
    ck_assert_mentions(message, "from 0.001 to 1000");
    ck_assert_mentions(message, value[i]);
  }
}
END_TEST

START_TEST(limits_of_parameters_are_allowed) {
  const CPPluginType *type = model_find("pendulum");
  for (int i = 0; i < type->nparameters; i++)
    for (int most = 0; most < 2; most++) {
      sunrealtype values[] = {1, 9.81};
      values[i]            = most ? type->parameters[i].most : type->parameters[i].least;
      CPPlugin *model      = create(type, values);
      ck_assert_msg(model != NULL, "%s", message);
      ck_assert_double_eq(model->parameter[i], values[i]);
      CPPluginFree(&model);
    }
}
END_TEST

START_TEST(numbers_of_bodies_are_whole) {
  const CPPluginType *type = model_find("chain");
  sunrealtype values[]     = {2.6, 9.81};
  ck_assert_ptr_null(create(type, values));
  ck_assert_mentions(message, "n (number of masses)");
  ck_assert_mentions(message, "a whole number from 1 to 1e+06, and is 2.6");
  values[0]       = 3;
  CPPlugin *model = create(type, values);
  ck_assert_ptr_nonnull(model);
  ck_assert_int_eq(model->n, 12);
  CPPluginFree(&model);
}
END_TEST

START_TEST(a_message_that_does_not_fit_is_cut) {
  char text[8]               = "xxxxxxx";
  const sunrealtype values[] = {1, -1};
  ck_assert_ptr_null(CPPluginCreate(model_find("pendulum"), values, test_context, text, 5));
  ck_assert_str_eq(text, "pend");
  ck_assert_ptr_null(CPPluginCreate(model_find("pendulum"), values, test_context, NULL, 0));
}
END_TEST

static int refuses(CPPlugin *model) {
  ck_assert_int_eq(CPPluginRefuse(model, "a rod of %g m is too short", model->parameter[0]), -1);
  return CPPluginRefuse(model, "another reason");
}

START_TEST(a_model_that_cannot_be_created_says_why) {
  CPPluginType type = *model_find("pendulum");
  char expected[sizeof message];
  type.create  = refuses;
  type.destroy = NULL;
  ck_assert_ptr_null(CPPluginCreate(&type, NULL, test_context, message, sizeof message));
  snprintf(expected, sizeof expected, "pendulum: a rod of %g m is too short",
           type.parameters[0].value);
  ck_assert_str_eq(message, expected);
}
END_TEST

/* ---------------------------------------------------------------------------------- mechanism -- */

START_TEST(a_mechanism_takes_its_model_and_user_data) {
  CPPlugin *model = create(model_find("pendulum"), NULL);
  CPMech mech     = CPPluginMech(model);
  ck_assert_ptr_nonnull(mech);
  ck_assert_ptr_eq(CPMechGetUserData(mech), model->data);
  CPMechFree(&mech);
  model->mech.nu = 0;
  ck_assert_ptr_null(CPPluginMech(model));
  CPPluginFree(&model);
  CPPluginFree(&model);
}
END_TEST

TEST_SUITE(catalogue) {
  Suite *suite = suite_create("models/catalogue");
  TCase *tc    = tcase_create("catalogue");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, every_mechanism_agrees_with_itself, 0, ntypes());
  tcase_add_loop_test(tc, every_mechanism_agrees_with_other_parameters, 0, ntypes());
  tcase_add_loop_test(tc, large_mechanisms_are_sparse_and_agree, 0, NLARGE);
  tcase_add_loop_test(tc, error_is_the_largest_difference_to_the_reference, 0, ntypes());
  tcase_add_test(tc, there_is_no_error_without_a_reference);
  tcase_add_test(tc, every_name_is_unique_and_finds_its_mechanism);
  tcase_add_test(tc, nearest_name_repairs_a_slip);
  tcase_add_test(tc, names_are_near_up_to_half_of_the_longer_one);
  tcase_add_test(tc, parameters_are_found_by_their_names);
  tcase_add_test(tc, bad_parameters_are_refused_by_name_rule_and_value);
  tcase_add_test(tc, limits_of_parameters_are_allowed);
  tcase_add_test(tc, numbers_of_bodies_are_whole);
  tcase_add_test(tc, a_message_that_does_not_fit_is_cut);
  tcase_add_test(tc, a_model_that_cannot_be_created_says_why);
  tcase_add_test(tc, a_mechanism_takes_its_model_and_user_data);
  suite_add_tcase(suite, tc);
  return suite;
}
