/* Files with mechanisms: errors are named by file, line, column and rule; broken files of all kinds
 * are refused without harm. */
#define _POSIX_C_SOURCE 200809L /* mkfifo */
#include "reading.h"

#include "support/support.h"
#include "support/things.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static CPBodies read_text(const char *text, size_t size) { return read_as("my.yaml", text, size); }

#define BODY "bodies:\n  - {name: a, mass: 1, inertia: [1, 1, 1]}\n"

static const struct {
  const char *text, *place, *rule;
} bad[] = {
    {"", "my.yaml:1:1:", "empty"},
    {"- 1\n- 2\n", "my.yaml:1:1:", "the file must be a mapping"},
    {"3", "my.yaml:1:1:", "the file must be a mapping"},
    {"gravity: [0, 0, 1]\n", "my.yaml:1:1:", "needs bodies"},
    {"bodies: []\n", "my.yaml:1:1:", "there must be a body"},
    {"bodies: 3\n", "my.yaml:1:9:", "bodies must be a list"},
    {"bodies: [3]\n", "my.yaml:1:10:", "a body must be a mapping"},
    {"bodies:\n  - {mass: 1, inertia: [1, 1, 1]}\n", "my.yaml:2:5:", "a body needs name"},
    {"bodies:\n  - {name: lamp, inertia: [1, 1, 1]}\n",
     "my.yaml:2:5:", "a body needs mass; \"lamp\" has none"},
    {"bodies:\n  - {name: lamp, mass: 1}\n",
     "my.yaml:2:5:", "a body needs inertia; \"lamp\" has none"},
    {"bodies:\n  - {name: a, mass: heavy, inertia: [1, 1, 1]}\n",
     "my.yaml:2:21:", "there is no \"heavy\""},
    {"bodies:\n  - {name: a, mass: .nan, inertia: [1, 1, 1]}\n",
     "my.yaml:2:21:", "expected a number"},
    {"bodies:\n  - {name: a, mass: nan, inertia: [1, 1, 1]}\n", "my.yaml:2:21:", "finite"},
    {"bodies:\n  - {name: a, mass: 1e999, inertia: [1, 1, 1]}\n", "my.yaml:2:21:", "finite"},
    {"bodies:\n  - {name: a, mass: 1x, inertia: [1, 1, 1]}\n", "my.yaml:2:22:", "no unit \"x\""},
    {"bodies:\n  - {name: a, mass: [1], inertia: [1, 1, 1]}\n", "my.yaml:2:21:", "finite"},
    {"bodies:\n  - {name: a, mass: 1, inertia: [1, 1]}\n",
     "my.yaml:2:33:", "list of 3 or 6 numbers, and has 2"},
    {"bodies:\n  - {name: a, mass: 1, inertia: 1}\n",
     "my.yaml:2:33:", "list of 3 or 6 numbers, and is 1"},
    {"bodies:\n  - {name: a, mass: 1, inertia: [1, 1, 9]}\n", "my.yaml:2:5:", "at most the sum"},
    {"bodies:\n  - {name: a, mass: -1, inertia: [1, 1, 1]}\n",
     "my.yaml:2:5:", "mass must not be negative"},
    {"bodies:\n  - {name: a, mass: 1, inertia: [1, 1, 1], colour: red}\n",
     "my.yaml:2:44:", "a body has no key \"colour\"; it may have name, mass, inertia"},
    {"bodies:\n  - {name: a, mass: 1, mass: 2, inertia: [1, 1, 1]}\n",
     "my.yaml:2:24:", "mass is given twice"},
    {BODY "bodies: []\n", "my.yaml:3:1:", "bodies is given twice"},
    {"bodies:\n  - {name: a, mas: 1, inertia: [1, 1, 1]}\n", "my.yaml:2:15:", "; did you mean mass?"},
    {BODY "wheels: 4\n", "my.yaml:3:1:",
     "the file has no key \"wheels\"; it may have dimension, gravity, robot, bodies"},
    {BODY "? [a]\n: 4\n", "my.yaml:3:3:", "a key must be a name"},
    {BODY "dimension: 4\n", "my.yaml:3:12:", "dimension must be 2 or 3"},
    {BODY "gravity: 9.81\n", "my.yaml:3:10:", "gravity must be a list of 3 numbers, and is 9.81"},
    {BODY "gravity: {x: 1}\n", "my.yaml:3:10:", "gravity must be a list of 3 numbers"},
    {"dimension: 2\ngravity: [1]\n" BODY,
     "my.yaml:2:10:", "gravity must be a list of 2 or 3 numbers, and has 1"},
    {BODY "gravity: [1, 2, 3, 4]\n", "my.yaml:3:10:", "gravity must be a list of 3 numbers"},
    {BODY "run: {t_end: 0}\n", "my.yaml:3:6:", "t_end must be positive"},
    {BODY "run: fast\n", "my.yaml:3:6:", "run must be a mapping"},
    {BODY "run: {assemble: maybe}\n", "my.yaml:3:17:", "true or false"},
    {BODY "joints: [{name: j, kind: glue, b: a}]\n",
     "my.yaml:3:26:", "no kind of joint \"glue\", but ball, revolute"},
    {BODY "joints: [{name: j, kind: revolut, b: a}]\n",
     "my.yaml:3:26:", "custom; did you mean revolute?"},
    {BODY "joints: [{name: j, kind: revolute, b: a, axis: [0, 0, 0]}]\n",
     "my.yaml:3:48:", "axis must be a direction, and is zero"},
    {BODY "joints: [{name: j, kind: ball, b: wheel}]\n", "my.yaml:3:10:", "no body \"wheel\""},
    {BODY "joints: [{name: j, kind: ball, a: a, b: a}]\n", "my.yaml:3:10:", "must differ"},
    {BODY "joints: [{name: j, kind: ball, b: a, in: frames}]\n", "my.yaml:3:42:", "space or bodies"},
    {BODY "joints: [{name: a, kind: ball, b: a}]\n", "my.yaml:3:10:", "already"},
    {BODY "springs: [{name: s, of: [j, 0, 1]}]\n", "my.yaml:3:25:", "of must be a joint's name"},
    {BODY "springs: [{name: s, of: [j, 0.5]}]\n", "my.yaml:3:29:", "coordinate must be 0, 1 or 2"},
    {BODY "springs: [{name: s, of: j}]\n", "my.yaml:3:25:", "no joint \"j\""},
    {BODY "couplers: [{name: c, of: [j], ratio: [1, 2]}]\n",
     "my.yaml:3:12:", "of must have two coordinates or more"},
    {BODY "joints: [{name: j, kind: revolute, b: a}]\ndrives: [{name: d, of: j, rate: [1]}]\n",
     "my.yaml:4:33:", "finite"},
    {BODY "contacts: [{name: c, b: a, friction: much}]\n", "my.yaml:3:38:", "there is no \"much\""},
    {BODY "contacts: [{name: c, b: a, at_b: [0, 0, 0], friction: -1}]\n",
     "my.yaml:3:12:", "not negative"},
    {BODY "contacts: [{name: c, b: a, kind: point}]\n", "my.yaml:3:28:", "a contact has no key"},
    {BODY "contacts: [{name: c, b: a, poisson: 1}]\n", "my.yaml:3:37:", "true or false"},
    {BODY "contacts: [{name: c, b: a, on: surface}]\n", "my.yaml:3:32:", "no surface of contacts"},
    {BODY "contacts: [{name: c, b: a, touch: cone}]\n",
     "my.yaml:3:35:", "no kind of contact \"cone\""},
    {BODY "contacts: [{name: c, b: a, at_b: [0, 0, 0], touch: box}]\n",
     "my.yaml:3:12:", "all sizes must be positive"},
    {BODY "shapes: [{name: s, body: a, kind: cone}]\n", "my.yaml:3:35:", "no kind of shape \"cone\""},
    {BODY "shapes: [{name: s, body: a, kind: box, size: [1, 2]}]\n", "my.yaml:3:46:", "list of 3"},
    {BODY "shapes: [{name: s, body: a, kind: wheel, radius: 1}]\n",
     "my.yaml:3:10:", "must be positive"},
    {BODY "shapes: [{name: s, kind: box, size: [1, 2, 3]}]\n", "my.yaml:3:10:", "a shape needs body"},
    {"bodies: [{name: a, mass: 1, inertia: [1, 1, 1], omega: [0, 0, 1], omega_body: [0, 0, 1]}]\n",
     "my.yaml:1:56:", "a body has no omega beside omega_body"},
    {BODY "joints: [{name: j, kind: rod, b: a, at: [1, 0, 0]}]\n",
     "my.yaml:3:10:", "a joint rod with in: space needs at_b"},
    {BODY "joints: [{name: j, kind: rolling, b: a, radius: 1}]\n",
     "my.yaml:3:10:", "a joint rolling with in: space needs at_b"},
    {BODY "joints: [{name: j, kind: universal, b: a, axis: [1, 0, 0]}]\n",
     "my.yaml:3:10:", "a joint universal with in: space needs axis_b"},
    {BODY "joints: [{name: j, kind: ball, b: a, at_b: [1, 0, 0]}]\n",
     "my.yaml:3:44:", "a joint ball has no at_b with in: space"},
    {BODY "joints: [{name: j, kind: revolute, b: a, axis_b: [1, 0, 0]}]\n",
     "my.yaml:3:50:", "a joint revolute has no axis_b with in: space"},
    {BODY "joints: [{name: j, kind: fixed, b: a, across_b: [1, 0, 0]}]\n",
     "my.yaml:3:49:", "a joint fixed has no across_b with in: space"},
    {BODY "contacts: [{name: c, b: a, radius: 1}]\n",
     "my.yaml:3:12:", "a contact with in: space needs at_b"},
    {BODY "springs: [{name: s, b: a, at: [1, 0, 0]}]\n",
     "my.yaml:3:11:", "a spring with in: space needs at_b"},
    {BODY "joints: [{name: j, kind: revolute, b: a}]\nsprings: [{name: s, of: j, a: a}]\n",
     "my.yaml:4:31:", "a spring has no a beside of"},
    {BODY "bushings: [{name: s, b: a, at_b: [1, 0, 0]}]\n",
     "my.yaml:3:34:", "a bushing has no at_b with in: space"},
    {BODY "forces: [{name: f, body: a, force: [1, 0, 0]}]\n",
     "my.yaml:3:10:", "a force with in: space needs at"},
    {"bodies: [\n", "my.yaml:2:1:", "no YAML"},
    {"bodies:\n  - {name: \"a\n", "my.yaml:3:1:", "no YAML"},
    {"bodies: *nobody\n", "my.yaml:1:9:", "there is no anchor nobody"},
    {"bodies: [&x {name: a}, &x {name: b}]\n", "my.yaml:1:24:", "there is an anchor x already"},
    {"\tbodies: 1\n", "my.yaml:1:1:", "a tab; lines are indented by blanks"},
    {"bodies:\n\t- {name: a}\n", "my.yaml:2:1:", "a tab; lines are indented by blanks"},
    {"bodies: @\n", "my.yaml:1:9:", "no YAML: found character that cannot start any token"},
    {"bodies: &x [*x]\n", "my.yaml:1:9:", "a body must be a mapping"},
    {"bodies:\n  - &x {name: a, mass: *x, inertia: [1, 1, 1]}\n", "my.yaml:2:5:", "finite"},
    {"title\xff: 1\n", "my.yaml:1:6:", "not a text in UTF-8"},
    {BODY "title: \xc3\xa4\xff\n", "my.yaml:3:9:", "not a text in UTF-8"},
    {BODY "title: a\001\n", "my.yaml:3:9:", "control characters"},
    {"bodies: [{name: \"a\\x1b[31m\", mass: 1, inertia: [1, 1, 1]}]\n",
     "my.yaml:1:17:", "name must not contain control characters"},
    {"bodies: [{name: \"a\\x85b\", mass: 1, inertia: [1, 1, 1]}]\n",
     "my.yaml:1:17:", "name must not contain control characters"},
    {BODY "run: {title: \"a\\rb\"}\n", "my.yaml:3:14:", "title must not contain control characters"},
    {BODY "run: {held: a b}\n", "my.yaml:3:13:", "there is no body \"b\""},
    {BODY "run: {sensors: j}\n", "my.yaml:3:16:", "there is no quantity \"j\""},
    {BODY
     "joints: [{name: j, kind: revolute, b: a}]\nlimits: [{name: s, of: j, lower: 0, upper: 1}]\n"
     "run: {sensors: s.torque}\n",
     "my.yaml:5:16:", "as \"s\" has none; its stops have: \"s_lower\" and \"s_upper\""},
    {BODY "joints: [{name: j, kind: revolute, b: a}]\nrun: {sensors: j j.0 j.1}\n",
     "my.yaml:4:16:", "the joint has fewer coordinates"},
    {BODY "joints: [{name: j, kind: revolute, b: a}]\nrun: {sensors: j.00}\n",
     "my.yaml:4:16:", "there is no quantity \"j.00\"; j has angle, rate"},
    {BODY "joints: [{name: j, kind: revolute, b: a}]\n"
          "couplers: [{name: c, of: [j, j], ratio: [1, 2]}]\n",
     "my.yaml:4:12:", "c: the two coordinates must differ"},
    {BODY "---\nbodies: 3\n", "my.yaml:3:1:", "a file is one document"},
    {BODY "...\n%&\n", "my.yaml:4:2:", "no YAML"},
};

START_TEST(what_is_wrong_is_named_with_its_place) {
  assert_refused(read_text(bad[_i].text, strlen(bad[_i].text)), bad[_i].place, bad[_i].rule);
}
END_TEST

static const char *const names[] = {"double_wishbone", "andrews", "slider_crank",
                                    "spatial_four_bar", "bricard"};
enum { NFILES = sizeof names / sizeof *names };

static char *load(const char *name, size_t *size) {
  char path[500];
  snprintf(path, sizeof path, "%s/%s.yaml", CPODES_MECHANISMS, name);
  FILE *f    = fopen(path, "rb");
  char *text = malloc(20000);
  ck_assert_msg(f && text, "%s", path);
  *size = fread(text, 1, 20000, f);
  fclose(f);
  return text;
}

START_TEST(files_are_read_and_their_derivatives_are_right) {
  size_t size;
  char *text = load(names[_i], &size);
  CPBodies b = read_text(text, size);
  MessageLog log;
  CPMech mech;
  CPMechReport report = CP_INIT(CPMechReport);
  ck_assert_msg(b != NULL, "%s", message);
  ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &log), CP_SUCCESS);
  N_Vector y = CPBodiesState(b, test_context);
  ck_assert_msg(CPMechAssemble(mech, 0, y, &(CPAssembly){CP_SIZED(CPAssembly), .held = file.held}) ==
                    CP_SUCCESS,
                "%s", CPObjectGetLastMessage(CP_OBJECT(mech)));
  ck_assert_msg(CPMechCheck(mech, 0, y, &report) == CP_SUCCESS, "%s", log.text);
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&b);
  free(text);
}
END_TEST

/* Each beginning of a file, and each file with one byte changed, is a mechanism or has a message. */
START_TEST(broken_files_do_no_harm) {
  size_t size;
  unsigned long long seed = 5;
  char *text              = load(names[_i], &size);
  for (size_t i = 0; i < size; i += 7) assert_harmless(read_text(text, i));
  for (int i = 0; i < 600; i++) {
    const size_t at   = (size_t)((random_number(&seed) + 1) / 2 * (sunrealtype)(size - 1));
    const char before = text[at];
    text[at]          = i % 2 ? (char)(random_number(&seed) * 127) : " {}[]:,-&*\n\"#"[i / 2 % 13];
    assert_harmless(read_text(text, size));
    text[at] = before;
  }
  free(text);
}
END_TEST

START_TEST(deep_files_are_refused) {
  enum { DEPTH = 100 };
  char text[2 * DEPTH + 20] = "bodies: ";
  for (int i = 0; i < DEPTH; i++) strcat(text, "[");
  for (int i = 0; i < DEPTH; i++) strcat(text, "]");
  ck_assert_ptr_null(read_text(text, strlen(text)));
  ck_assert_mentions(message, "my.yaml:1:16: a mechanism has at most 8 levels");
}
END_TEST

/* The time of a hundred thousand bodies is proportional to their number; the last one is wrong. */
START_TEST(many_bodies_are_read) {
  enum { BODIES = 100000, LINE = 60 };
  char *text = malloc(BODIES * LINE + 100);
  ck_assert_ptr_nonnull(text);
  size_t size = (size_t)sprintf(text, "bodies:\n");
  for (int i = 0; i < BODIES; i++)
    size += (size_t)sprintf(text + size, "- {name: b%d, mass: %d, inertia: [1, 1, 1]}\n", i,
                            i < BODIES - 1 ? 1 : -1);
  ck_assert_ptr_null(read_text(text, size));
  ck_assert_mentions(message, "my.yaml:100001:3: b99999: mass must not be negative");
  free(text);
}
END_TEST

/* Each of these took from seconds to hours while time grew with the square of the length. */
START_TEST(time_is_proportional_to_the_length) {
  enum { MANY = 100000, LONGEST = 30 };
  static const struct {
    const char *begin, *each, *end, *rule;
  } texts[]  = {{"", "[", "", "levels"},
                {"", "{", "", "levels"},
                {"", "- ", "", "levels"},
                {"bodies: [", "&a# {}, ", "]", "a body needs name"},
                {"bodies: [&x {}, ", "*x, ", "]", "a body needs name"},
                {"", "%TAG !a#! tag:b\n", "--- {}", "directives"}};
  char *text = malloc(MANY * LONGEST);
  ck_assert_ptr_nonnull(text);
  size_t size = (size_t)sprintf(text, "%s", texts[_i].begin);
  for (int i = 0; i < MANY; i++)
    for (const char *c = texts[_i].each; *c; c++)
      if (*c == '#') size += (size_t)sprintf(text + size, "%d", i);
      else text[size++] = *c;
  size += (size_t)sprintf(text + size, "%s", texts[_i].end);
  ck_assert_ptr_null(read_text(text, size));
  ck_assert_mentions(message, texts[_i].rule);
  free(text);
}
END_TEST

/* The point of b is `at` unless at_b is given, so that the joint is closed at the placement. */
START_TEST(a_point_on_a_line_or_plane_is_at_its_place) {
  static const char *const kinds[] = {"point_on_line", "point_on_plane"};
  for (int i = 0; i < 4; i++) {
    char text[300];
    sunrealtype P[12];
    CPMech mech;
    const int given = i / 2;
    sprintf(text, BODY "joints: [{name: j, kind: %s, b: a, at: [1, 2, 3], axis: [0, 1, 0]%s}]",
            kinds[i % 2], given ? ", at_b: [1, 5, 3]" : "");
    CPBodies b = read_text(text, strlen(text));
    ck_assert_msg(b != NULL, "%s", message);
    ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
    N_Vector y = CPBodiesState(b, test_context);
    ck_assert_int_eq(CPMechGetPoints(mech, CP_JOINT, 0, y, P), 0);
    for (int k = 0; k < 3; k++) ck_assert_double_eq(P[3 + k], k == 1 && given ? 5 : k + 1);
    N_VDestroy(y);
    CPMechFree(&mech);
    CPBodiesFree(&b);
  }
}
END_TEST

/* The axes of the body are those of space turned by 90 degrees about x; the state is in its axes. */
START_TEST(an_angular_velocity_is_in_space_or_in_the_body) {
  static const struct {
    const char *key;
    double wy, wz;
  } keys[] = {{"omega", 3, -2}, {"omega_body", 2, 3}};
  for (int i = 0; i < 2; i++) {
    char text[200];
    sprintf(
        text,
        "bodies: [{name: a, mass: 1, inertia: [1, 1, 1], quaternion: [2, 2, 0, 0], %s: [1, 2, 3]}]",
        keys[i].key);
    CPBodies b = read_text(text, strlen(text));
    ck_assert_msg(b != NULL, "%s", message);
    N_Vector y = CPBodiesState(b, test_context);
    ck_assert_double_eq_tol(entries(y)[10], 1, 1e-14);
    ck_assert_double_eq_tol(entries(y)[11], keys[i].wy, 1e-14);
    ck_assert_double_eq_tol(entries(y)[12], keys[i].wz, 1e-14);
    N_VDestroy(y);
    CPBodiesFree(&b);
  }
}
END_TEST

START_TEST(an_alias_repeats_its_anchor) {
  enum { PLACES = 40 };
  char text[4000];
  size_t size = (size_t)sprintf(text, "run: {title: &t0 first}\nbodies:\n");
  for (int i = 0; i < PLACES; i++)
    size +=
        (size_t)sprintf(text + size, "- {name: b%d, mass: &m%d %d, inertia: [*m%d, *m%d, *m%d]}\n",
                        i, i, i + 1, i, i / 2, i);
  CPBodies b = read_text(text, size);
  ck_assert_msg(b != NULL, "%s", message);
  const int at = thing_named(b, CP_PARAMETER, "b39.mass");
  for (int k = 0; k < 4; k++) ck_assert_double_eq(CPBodiesParameters(b)[at + k], k == 2 ? 20 : 40);
  CPBodiesFree(&b);
}
END_TEST

START_TEST(pipes_and_devices_are_refused_at_once) {
  static const char *const paths[] = {"/dev/zero", "a_pipe.yaml", "."};
  static const char by_robot[]     = "robot: a_pipe.yaml\n";
  ck_assert(mkfifo("a_pipe.yaml", 0600) == 0 || errno == EEXIST);
  for (int i = 0; i < 3; i++) {
    ck_assert_ptr_null(read_bodies(paths[i], NULL, 0, &file, message));
    ck_assert_mentions(message, "it is not a regular file");
  }
  ck_assert_ptr_null(read_text(by_robot, strlen(by_robot)));
  ck_assert_mentions(message,
                     "my.yaml:1:8: the file \"a_pipe.yaml\" cannot be read: it is not a regular");
  unlink("a_pipe.yaml");
}
END_TEST

START_TEST(markup_with_another_name_is_no_yaml) {
  static const char text[] = "\n<sdf version=\"1.7\"/>";
  ck_assert_ptr_null(read_as("scene.usda", text, strlen(text)));
  ck_assert_mentions(message, "scene.usda: this format is not read");
  CPBodies b = read_as("MY.YAML", BODY, strlen(BODY));
  ck_assert_msg(b != NULL, "%s", message);
  CPBodiesFree(&b);
}
END_TEST

START_TEST(other_encodings_are_read) {
  const char *plain = BODY;
  char wide[200];
  CPBodies b = read_text(wide, widen(plain, wide));
  ck_assert_msg(b != NULL, "%s", message);
  ck_assert_str_eq(thing_at(b, CP_BODY, 0).name, "a");
  CPBodiesFree(&b);
}
END_TEST

START_TEST(a_missing_file_is_named) {
  ck_assert_ptr_null(read_bodies("/nowhere/x.yaml", NULL, 0, &file, message));
  ck_assert_mentions(message, "/nowhere/x.yaml: it cannot be opened");
}
END_TEST

#define SCREW(motions)                                                                             \
  "gravity: [0, 0, -9.81]\nrun: {coordinates: joint}\nbodies:\n"                                   \
  "- {name: nut, mass: 2 kg, inertia: [0.01, 0.01, 0.02]}\njoints:\n- {name: j, kind: custom, b: " \
  "nut, " motions "}\n"

/* (J + m p^2) x'' = -m g p */
START_TEST(motions_of_a_joint_are_functions) {
  static const char text[] = SCREW("motions: [{about: [0, 0, 1], by: x}, {along: [0, 0, 2], by: 50 "
                                   "mm * x}, {along: [1, 0, 0], by: 3 mm}]");
  CPBodies b               = read_as("my.yaml", text, sizeof text - 1);
  CPMech mech;
  ck_assert_msg(b != NULL, "%s", message);
  ck_assert_int_eq(CPBodiesSetFormulation(b, CP_JOINT_COORDINATES), CP_SUCCESS);
  ck_assert_msg(build_mech(b, &mech) == CP_SUCCESS, "%s", CPObjectGetLastMessage(CP_OBJECT(b)));
  N_Vector y = CPBodiesState(b, test_context), ydot = N_VClone(y);
  ck_assert_int_eq(CPMechRhs(0, y, ydot, mech), 0);
  const double p = 0.05, expected = -2 * 9.81 * p / (0.02 + 2 * p * p + 2 * 0.003 * 0.003);
  ck_assert_double_eq_tol(N_VGetArrayPointer(ydot)[1], expected, 1e-14 * fabs(expected));
  N_VDestroy(y);
  N_VDestroy(ydot);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

START_TEST(motions_that_are_none_are_refused_at_their_place) {
  static const struct {
    const char *text, *rule;
  } wrong[] = {
      {SCREW("length: 1"), "a joint custom needs motions"},
      {SCREW("motions: 3"), "motions must be a list"},
      {SCREW("motions: []"), "motions must have 1 to 6 motions, and has 0"},
      {SCREW("motions: [{by: x}]"), "needs either about or along"},
      {SCREW("motions: [{about: [0, 0, 1], along: [0, 0, 1], by: x}]"),
       "needs either about or along"},
      {SCREW("motions: [{about: [0, 0, 1]}]"), "a motion of a joint needs by"},
      {SCREW("motions: [{about: [0, 0, 1], by: x, of: 1}]"), "no motion depends on coordinate 0"},
      {SCREW("motions: [{along: [0, 0, 1], by: 2 kg * x}]"), "by"}};
  assert_refused(read_as("my.yaml", wrong[_i].text, strlen(wrong[_i].text)),
                 "my.yaml:6:", wrong[_i].rule);
}
END_TEST

START_TEST(the_nth_allocation_may_fail) {
  size_t size;
  char *text = load("double_wishbone", &size);
  assert_allocations_may_fail("my.yaml", text, size, 5);
  free(text);
}
END_TEST

/* A quantity that a force names, of more characters than any line of a message has */
START_TEST(names_of_quantities_may_not_have_any_length) {
  char text[3000];
  int at = snprintf(text, sizeof text,
                    "bodies:\n- {name: p, mass: 1, inertia: [1, 1, 1]}\njoints:\n"
                    "- {name: j, kind: prismatic, b: p}\nsprings:\n"
                    "- {name: s, of: j, force: p.");
  memset(text + at, 'a', 2000);
  at += 2000;
  at += snprintf(text + at, sizeof text - (size_t)at, "}\n");
  assert_refused(read_as("my.yaml", text, (size_t)at), "my.yaml:6:", "is too long");
}
END_TEST

TEST_SUITE(yaml) {
  Suite *suite = suite_create("bodies/yaml");
  TCase *tc    = tcase_create("yaml");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, what_is_wrong_is_named_with_its_place, 0, sizeof bad / sizeof *bad);
  tcase_add_loop_test(tc, files_are_read_and_their_derivatives_are_right, 0, NFILES);
  tcase_add_loop_test(tc, broken_files_do_no_harm, 0, NFILES);
  tcase_add_test(tc, deep_files_are_refused);
  tcase_add_test(tc, many_bodies_are_read);
  tcase_add_loop_test(tc, time_is_proportional_to_the_length, 0, 6);
  tcase_add_test(tc, a_point_on_a_line_or_plane_is_at_its_place);
  tcase_add_test(tc, an_angular_velocity_is_in_space_or_in_the_body);
  tcase_add_test(tc, an_alias_repeats_its_anchor);
  tcase_add_test(tc, pipes_and_devices_are_refused_at_once);
  tcase_add_test(tc, markup_with_another_name_is_no_yaml);
  tcase_add_test(tc, other_encodings_are_read);
  tcase_add_test(tc, a_missing_file_is_named);
  tcase_add_test(tc, motions_of_a_joint_are_functions);
  tcase_add_test(tc, names_of_quantities_may_not_have_any_length);
  tcase_add_loop_test(tc, motions_that_are_none_are_refused_at_their_place, 0, 8);
  tcase_add_test(tc, the_nth_allocation_may_fail);
  suite_add_tcase(suite, tc);
  return suite;
}
