/* What the commands' options share. Wrong input causes one line on stderr that names the option,
 * the rule and the value; the functions then return -1 (or NULL). */
#ifndef CPODES_RUNNER_OPTIONS_H
#define CPODES_RUNNER_OPTIONS_H

#include <argp.h>
#include <cpodes/cpodes_plugin.h>
#include <stdio.h>

/* Prints "cpodes: ..." and a line feed on stderr, always as one line, whatever names it contains.
 * Returns -1. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
int complain(const char *format, ...);

/* The end of a complaint about a name that is not in names [count > 0]: a suggestion of the name
 * that may be meant, otherwise the string `elsewhere`. Returns text [SUGGESTION]. */
enum { SUGGESTION = 120 };
const char *suggest(const char *name, const char *const *names, int count, const char *elsewhere,
                    char *text);

/* The larger one of width and the length of text. */
int wider(int width, const char *text);

/* Prints a text whose names may come from anywhere, without control characters except line feeds. */
void print_plain(FILE *out, const char *text);

/* Like argp_parse, but answers an unknown long option with the nearest one. A parser complains by
 * itself and returns EINVAL, EIO for a file that cannot be written, or ECHILD for a model that crashes
 * when it is loaded. Returns the exit status, STATUS_DONE if all is well. */
int parse_options(const struct argp *argp, int argc, char **argv, void *input);

/* An expression of numbers with units, "1/3 rad", whose value must have this unit; a plain number means it. NULL: any. Returns 0,
 * or -1 without a complaint, and then the value is NAN. */
int read_number(const char *text, const char *unit, double *value);
/* Parses such a number without a unit, or an integer, from least to most; a positive one with a unit up to most. */
int parse_number(const char *option, const char *text, double least, double most, double *value);
int parse_positive(const char *option, const char *text, const char *unit, double most,
                   double *value);
int parse_whole(const char *option, const char *text, long least, long most, long *value);
/* Parses one of names [count]; index: out. */
int parse_choice(const char *option, const char *text, const char *const *names, int count,
                 int *index);

/* A model with values of its parameters, as given on the command line */
typedef struct {
  const CPPluginType *type;
  sunrealtype *values; /* [type->nparameters] */
} ModelChoice;

enum { MOST_SETTINGS = 64, KEY_COORDINATES = 2000, KEY_START, KEY_BASE };

/* MODEL, from the catalogue or as the path of a shared object, and --param NAME=VALUE, which
 * several commands take */
typedef struct {
  const char *model; /* NULL: not given yet */
  const char *setting[MOST_SETTINGS];
  int nsettings;
  ModelChoice choice; /* set at the end */
} ModelArguments;

/* The rows of --param and --coordinates in a table of options */
/* The kinds of models, for its help. */
#define MODEL_KINDS                                                                            \
  "one of `cpodes list`, a shared object of your own (./NAME.so), a file with a mechanism of " \
  "bodies and joints (NAME.yaml), a robot in MJCF (NAME.xml), URDF (NAME.urdf) or SDF "        \
  "(NAME.sdf), an assembly of FreeCAD (NAME.asmt), or a model of OpenSim (NAME.osim)"
#define MODEL_PARAM_OPTION(group)                                                           \
  {"param", 'p', "NAME=VALUE", 0, "a parameter of the model; may be repeated", group},      \
      {"coordinates",                                                                       \
       KEY_COORDINATES,                                                                     \
       "KIND",                                                                              \
       0,                                                                                   \
       "of a mechanism from a file: absolute, those of the bodies, or joint, those of the " \
       "joints of a tree (default: as the file says, or joint for robots)",                 \
       group},                                                                              \
      {"start",                                                                             \
       KEY_START,                                                                           \
       "START",                                                                             \
       0,                                                                                   \
       "of a robot: JOINT=VALUE, such as elbow=30deg, JOINT'=RATE, or a keyframe; may be "  \
       "repeated",                                                                          \
       group},                                                                              \
  {                                                                                         \
    "base", KEY_BASE, "KIND", 0, "of a robot in URDF: fixed (default) or free", group       \
  }

/* For an argp parser: handles these options, the arguments, and their end, where the model is looked up.
 * Returns 0, EINVAL or ECHILD after a complaint, or ARGP_ERR_UNKNOWN. */
error_t take_model_arguments(ModelArguments *arguments, int key, const char *text);
/* Checks that the paths of outputs [count], which may be NULL, differ from each other and from the files that
 * the model was read from. Returns 0, or -1 after a complaint. */
int outputs_check(const ModelArguments *arguments, const char *const *paths, int count);
void free_model_arguments(ModelArguments *arguments);

#endif
