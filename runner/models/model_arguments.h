/* MODEL and --param NAME=VALUE, as several commands take them. */
#ifndef CPODES_RUNNER_MODEL_ARGUMENTS_H
#define CPODES_RUNNER_MODEL_ARGUMENTS_H

#include "../options.h"

typedef struct {
  const char *model; /* NULL: not yet */
  const char *setting[MOST_SETTINGS];
  int nsettings;
  ModelChoice choice; /* by ..._end */
} ModelArguments;

/* The line of --param in a table of options; its key is 'p' */
#define MODEL_PARAM_OPTION(group) \
  { "param", 'p', "NAME=VALUE", 0, "a parameter of the model; may be repeated", group }

/* For a parser of argp's: takes 'p', the arguments, and their end, where the model is looked for. Returns 0, EINVAL after a
   complaint, or ARGP_ERR_UNKNOWN */
error_t take_model_arguments(ModelArguments *arguments, int key, const char *text);

#endif
