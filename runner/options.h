/* What the commands' options share. Wrong input is answered by one line on stderr that names the option, the rule and
 * the value; the functions then return -1 (or NULL). */
#ifndef CPODES_RUNNER_OPTIONS_H
#define CPODES_RUNNER_OPTIONS_H

#include <argp.h>
#include <cpodes/cpodes_model.h>

/* "cpodes: ..." and a line feed, on stderr: one line, whatever the names in it are */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void complain(const char *format, ...);

/* The rest of a complaint about a name that is none of names [count > 0]: which one may be meant, else what says more; text
   [SUGGESTION]: out, returned */
enum { SUGGESTION = 120 };
const char *suggest(const char *name, const char *const *names, int count, const char *elsewhere,
                    char *text);

/* argp_parse, and a long option that does not exist is answered by the nearest that does. A parser complains by itself
   and returns EINVAL, or EIO about a file that cannot be written. Returns the exit status, STATUS_DONE if all is well. */
int parse_options(const struct argp *argp, int argc, char **argv, void *input);

/* A number from least to most; a whole one */
int parse_number(const char *option, const char *text, double least, double most, double *value);
int parse_whole(const char *option, const char *text, long least, long most, long *value);
/* One of names [count]: its index */
int parse_choice(const char *option, const char *text, const char *const *names, int count,
                 int *index);

/* A model with values of its parameters, as named on the command line */
typedef struct {
  const CPModelType *type;
  sunrealtype *values; /* [type->nparameters] */
} ModelChoice;

enum { MOST_SETTINGS = 64 };

/* MODEL, of the catalogue or the path of a shared object, and --param NAME=VALUE, as several commands take them */
typedef struct {
  const char *model; /* NULL: not yet */
  const char *setting[MOST_SETTINGS];
  int nsettings;
  ModelChoice choice; /* at the end */
} ModelArguments;

/* The line of --param in a table of options; its key is 'p' */
/* What a model may be, for its help */
#define MODEL_KINDS                                                                            \
  "one of `cpodes list`, a shared object of your own (./NAME.so), a file with a mechanism of " \
  "bodies and joints (NAME.yaml), or a robot in MJCF (NAME.xml) or URDF (NAME.urdf)"
#define MODEL_PARAM_OPTION(group) \
  { "param", 'p', "NAME=VALUE", 0, "a parameter of the model; may be repeated", group }

/* For a parser of argp's: takes 'p', the arguments, and their end, where the model is looked for. Returns 0, EINVAL after a
   complaint, or ARGP_ERR_UNKNOWN */
error_t take_model_arguments(ModelArguments *arguments, int key, const char *text);
void free_model_arguments(ModelArguments *arguments);

#endif
