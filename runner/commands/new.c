/* cpodes new NAME: a project with a model, made from runner/template, or a mechanism file NAME.yaml. */
#define _POSIX_C_SOURCE 200809L /* readlink, mkdir */
#include "../command.h"
#include "../options.h"
#include "../output/files.h"
#include "../shell.h"
#include "../template/template.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_DIRECTORY = 'd', LONGEST_NAME = 40, COMMAND = 3 * PATH_MAX };

static const struct argp_option options[] = {
    {"directory", KEY_DIRECTORY, "DIR", 0, "the folder to create, default: NAME", 0}, {0}};

typedef struct {
  const char *name, *directory;
  char configure[COMMAND + 60], cpodes[COMMAND]; /* commands that find this installation */
} NewOptions;

/* ------------------------------------------------------------------------------------- parsing -- */

static int is_identifier(const char *name) {
  return islower((unsigned char)name[0]) && strlen(name) <= LONGEST_NAME &&
         strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

static error_t take_name(NewOptions *o, const char *name) {
  if (o->name)
    return complain("there is one name too many: \"%s\" and \"%s\"", o->name, name), EINVAL;
  o->name = name;
  if (is_identifier(name) || has_end(name, ".yaml") || has_end(name, ".yml")) return 0;
  complain("NAME must begin with a letter and be made of a-z, 0-9 and _, at most %d of them, and "
           "is \"%s\"",
           LONGEST_NAME, name);
  return EINVAL;
}

static error_t take_directory(NewOptions *o, const char *directory) {
  o->directory = directory;
  if (directory[0]) return 0;
  complain("--directory wants the name of a folder, and is \"\"");
  return EINVAL;
}

static error_t parse(int key, char *text, struct argp_state *state) {
  NewOptions *o = state->input;
  switch (key) {
  case KEY_DIRECTORY: return take_directory(o, text);
  case ARGP_KEY_ARG: return take_name(o, text);
  case ARGP_KEY_END:
    if (!o->name) return complain("a name for the new model is missing"), EINVAL;
    if (o->directory && !is_identifier(o->name))
      return complain("--directory is for a project; %s is a file", o->name), EINVAL;
    if (!o->directory) o->directory = o->name;
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

/* ------------------------------------------------------------------- location of this program -- */

/* Removes the last part of a path. */
static void cut_last(char *path) {
  char *slash = strrchr(path, '/');
  if (slash) *slash = '\0';
}

/* program [PATH_MAX]: out, this program's own path, or "cpodes" if that is unknown. prefix
 * [PATH_MAX]: out, where CMake finds the package of cpodes: an installation or a tree in which it
 * was built; "" if it needs no help. */
static void find_program(char *program, char *prefix) {
  char package[PATH_MAX + 40];
  const ssize_t length             = readlink("/proc/self/exe", program, PATH_MAX - 1);
  program[length > 0 ? length : 0] = '\0';
  snprintf(prefix, PATH_MAX, "%s", program);
  if (length <= 0) snprintf(program, PATH_MAX, "cpodes");
  cut_last(prefix);
  cut_last(prefix);
  snprintf(package, sizeof package, "%s/cpodesConfig.cmake", prefix);
  const int built = !access(package, R_OK);
  if (built || (strcmp(prefix, "/usr") && strcmp(prefix, "/usr/local"))) return;
  prefix[0] = '\0';
  snprintf(program, PATH_MAX, "cpodes");
}

/* CMake uses make by default, and fails if there is none. */
static const char *generator(void) {
  const int chosen = getenv("CMAKE_GENERATOR") || shell_finds("make") || shell_finds("gmake");
  return !chosen && (shell_finds("ninja") || shell_finds("ninja-build")) ? " -G Ninja" : "";
}

static void find_commands(NewOptions *o) {
  char program[PATH_MAX], prefix[PATH_MAX], quoted[COMMAND] = "";
  find_program(program, prefix);
  shell_quote(program, o->cpodes, COMMAND);
  if (prefix[0]) shell_quote(prefix, quoted, COMMAND);
  snprintf(o->configure, sizeof o->configure, "cmake -B build%s%s%s", generator(),
           prefix[0] ? " -D CMAKE_PREFIX_PATH=" : "", quoted);
}

/* --------------------------------------------------------------------------------------- writing -- */

typedef struct {
  const char *mark, *text;
} Replacement;

/* Writes text with each mark replaced. Returns 0 or -1. */
static int write_replaced(FILE *file, const char *text, const Replacement *list, int count) {
  while (*text) {
    int k = 0;
    while (k < count && strncmp(text, list[k].mark, strlen(list[k].mark))) k++;
    if ((k < count ? fputs(list[k].text, file) : fputc(*text, file)) == EOF) return -1;
    text += k < count ? strlen(list[k].mark) : 1;
  }
  return 0;
}

static int write_new(const char *path, const unsigned char *text, const Replacement *list,
                     int count) {
  FILE *file = fopen(path, "wx"); /* never over another file */
  int failed = !file || write_replaced(file, (const char *)text, list, count);
  if (file) failed |= fclose(file) != 0;
  if (failed) complain("%s: %s", path, strerror(errno));
  return failed ? -1 : 0;
}

static int write_file(const NewOptions *o, const char *name, const unsigned char *text) {
  const Replacement list[] = {
      {"my_model", o->name}, {"@CONFIGURE@", o->configure}, {"@CPODES@", o->cpodes}};
  char path[2 * PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", o->directory, name);
  return write_new(path, text, list, 3);
}

/* Writes a mechanism file, and prints how to run it. Returns the exit status. */
static int write_mechanism(const NewOptions *o) {
  const Replacement list[] = {{"wiper.yaml", o->name}};
  char file[COMMAND];
  if (write_new(o->name, template_mechanism, list, 1)) return STATUS_OUTPUT;
  shell_quote(o->name, file, sizeof file);
  printf("%s is there: a windscreen wiper, with comments. Run it:\n\n  %s run %s%s --report "
         "wiper.html\n",
         o->name, o->cpodes, o->name[0] == '-' ? "./" : "", file);
  return STATUS_DONE;
}

static int write_project(const NewOptions *o) {
  char source[LONGEST_NAME + 3];
  snprintf(source, sizeof source, "%s.c", o->name);
  if (mkdir(o->directory, 0777)) return complain("%s: %s", o->directory, strerror(errno));
  return write_file(o, source, template_model) || write_file(o, "CMakeLists.txt", template_cmake) ||
                 write_file(o, "README.md", template_readme)
             ? -1
             : 0;
}

/* Prints the next commands. Returns the exit status. */
static int print_commands(const NewOptions *o) {
  char folder[COMMAND];
  shell_quote(o->directory, folder, sizeof folder);
  printf("%s is there: the model in %s.c. Build, check and run it:\n\n"
         "  cd %s%s\n  %s\n  cmake --build build\n"
         "  %s check build/%s.so\n  %s run build/%s.so --report %s.html\n",
         folder, o->name, o->directory[0] == '-' ? "./" : "", folder, o->configure, o->cpodes,
         o->name, o->cpodes, o->name, o->name);
  return STATUS_DONE;
}

static int new_main(int argc, char **argv) {
  static const struct argp argp = {
      .options  = options,
      .parser   = parse,
      .args_doc = "NAME",
      .doc      = "Writes a CMake project with a model, a double pendulum, "
                  "as a starting point for your own; or, if NAME ends in "
                  ".yaml, a mechanism file with comments, a windscreen wiper."};
  NewOptions o = {0};
  if (parse_options(&argp, argc, argv, &o)) return STATUS_USAGE;
  find_commands(&o);
  if (!is_identifier(o.name)) return write_mechanism(&o);
  return write_project(&o) ? STATUS_OUTPUT : print_commands(&o);
}

const Command new_command = {"new", "writes a project with a model of your own", new_main};
