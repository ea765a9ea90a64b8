/* Numbers in files have a decimal point, also in a program whose locale has a comma. */
#define _POSIX_C_SOURCE 200809L /* setenv, uselocale */
#include "reading.h"

#include "support/support.h"
#include "support/things.h"
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
/* setlocale of glibc does not free its copy of LOCPATH. */
const char *__lsan_default_suppressions(void) { return "leak:argz_add_sep"; }
#endif

static const char locale_name[] = "de_DE.UTF-8";

static void set_locale(void) {
  char text[20];
  test_context_setup();
  ck_assert_int_eq(setenv("LOCPATH", CPODES_LOCALES, 1), 0);
  ck_assert_ptr_nonnull(setlocale(LC_ALL, locale_name));
  snprintf(text, sizeof text, "%g", 1.5);
  ck_assert_str_eq(text, "1,5");
}

static CPBodies read_good(const char *name, const char *text) {
  CPBodies b = read_as(name, text, strlen(text));
  ck_assert_msg(b != NULL, "%s", message);
  return b;
}

static double parameter(CPBodies b, const char *name) {
  const int i = thing_named(b, CP_PARAMETER, name);
  ck_assert_int_ge(i, 0);
  return CPBodiesParameters(b)[i];
}

START_TEST(yaml_has_decimal_points) {
  CPBodies b = read_good(
      "a.yaml", "run: {t_end: 2.5}\nbodies: [{name: a, mass: 1.5, inertia: [1.25, 1, 1]}]");
  ck_assert_double_eq(file.t_end, 2.5);
  ck_assert_double_eq(parameter(b, "a.mass"), 1.5);
  ck_assert_double_eq(parameter(b, "a.J_xx"), 1.25);
  CPBodiesFree(&b);
}
END_TEST

START_TEST(robots_have_decimal_points) {
  CPBodies b =
      read_good("a.xml", "<mujoco><option gravity='0 0 -9.5'/><worldbody><body name='a'><joint/>"
                         "<inertial pos='0 0 0' mass='1.5' diaginertia='1.25 1 1'/></body>"
                         "</worldbody></mujoco>");
  ck_assert_double_eq(parameter(b, "gravity.z"), -9.5);
  ck_assert_double_eq(parameter(b, "a.J_xx"), 1.25);
  CPBodiesFree(&b);
  b = read_good(
      "a.urdf",
      "<robot name='r'><link name='l'/><link name='a'><inertial><mass value='1.5'/><inertia "
      "ixx='1.25' iyy='1' izz='1'/></inertial></link><joint name='j' type='continuous'>"
      "<parent link='l'/><child link='a'/></joint></robot>");
  ck_assert_double_eq(parameter(b, "a.mass"), 1.5);
  CPBodiesFree(&b);
}
END_TEST

/* A tetrahedron with edges of 0.5 along the axes has the volume 0.5^3 / 6. */
START_TEST(meshes_have_decimal_points) {
  static const char *const names[] = {"mesh.obj", "mesh.stl"};
  static const char *const texts[] = {
      "v 0 0 0\nv 0.5 0 0\nv 0 0.5 0\nv 0 0 0.5\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n",
      "solid a\n"
      "facet outer loop vertex 0 0 0 vertex 0 0.5 0 vertex 0.5 0 0 endloop endfacet\n"
      "facet outer loop vertex 0 0 0 vertex 0.5 0 0 vertex 0 0 0.5 endloop endfacet\n"
      "facet outer loop vertex 0 0 0 vertex 0 0 0.5 vertex 0 0.5 0 endloop endfacet\n"
      "facet outer loop vertex 0.5 0 0 vertex 0 0.5 0 vertex 0 0 0.5 endloop endfacet\n"};
  for (int i = 0; i < 2; i++) {
    char text[400];
    FILE *f = fopen(names[i], "w");
    ck_assert_ptr_nonnull(f);
    fputs(texts[i], f);
    fclose(f);
    snprintf(text, sizeof text,
             "<mujoco><asset><mesh name='m' file='%s'/></asset><worldbody><body name='a'><joint/>"
             "<geom type='mesh' mesh='m' density='6'/></body></worldbody></mujoco>",
             names[i]);
    CPBodies b = read_good("a.xml", text);
    ck_assert_double_eq_tol(parameter(b, "a.mass"), 0.125, 1e-15);
    ck_assert_str_eq(file.files, names[i]);
    ck_assert_str_eq(file.files + strlen(names[i]) + 1, "");
    CPBodiesFree(&b);
    remove(names[i]);
  }
}
END_TEST

/* The reader changes neither the program's locale nor that of its thread. */
START_TEST(the_locale_is_as_before) {
  char text[20];
  const locale_t mine = newlocale(LC_ALL_MASK, locale_name, (locale_t)0);
  ck_assert(mine != (locale_t)0);
  for (int own = 0; own < 2; own++) {
    const locale_t before = own ? mine : LC_GLOBAL_LOCALE;
    uselocale(before);
    CPBodies b = read_good("a.yaml", "bodies: [{name: a, mass: 1.5, inertia: [1.25, 1, 1]}]");
    CPBodiesFree(&b);
    ck_assert_ptr_null(read_as("a.yaml", "bodies: [", 9));
    ck_assert(uselocale((locale_t)0) == before);
    snprintf(text, sizeof text, "%g", 1.5);
    ck_assert_str_eq(text, "1,5");
  }
  uselocale(LC_GLOBAL_LOCALE);
  freelocale(mine);
}
END_TEST

START_TEST(messages_have_decimal_points) {
  static const char text[] = "bodies: [{name: a, mass: -1.5, inertia: [1.25, 1, 1]}]";
  ck_assert_ptr_null(read_as("a.yaml", text, strlen(text)));
  ck_assert_mentions(message, "mass must not be negative, and is -1.5");
}
END_TEST

TEST_SUITE(locale) {
  Suite *suite = suite_create("bodies/locale");
  TCase *tc    = tcase_create("locale");
  tcase_add_checked_fixture(tc, set_locale, test_context_teardown);
  tcase_add_test(tc, yaml_has_decimal_points);
  tcase_add_test(tc, robots_have_decimal_points);
  tcase_add_test(tc, meshes_have_decimal_points);
  tcase_add_test(tc, the_locale_is_as_before);
  tcase_add_test(tc, messages_have_decimal_points);
  suite_add_tcase(suite, tc);
  return suite;
}
