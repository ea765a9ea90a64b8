#include "options.h"
#include <argp.h>
#include <stdlib.h>
#include <string.h>

static const struct argp_option keys[] = {
    {"csv", 'c', "FILE", 0, "write every run as a line of FILE", 0},
    {"repeat", 'r', "N", 0, "repetitions of each timed run; 0: no timing", 0},
    {0}};

static error_t parse_key(int key, char *argument, struct argp_state *state) {
  Options *options = state->input;
  char *end;
  switch (key) {
  case 'c':
    options->csv = fopen(argument, "w");
    if (!options->csv) argp_failure(state, EXIT_FAILURE, 0, "cannot write %s", argument);
    return 0;
  case 'r':
    options->repeat = (int)strtol(argument, &end, 10);
    if (*end || options->repeat < 0) argp_error(state, "%s repetitions", argument);
    return 0;
  case ARGP_KEY_ARGS:
    options->nnames = state->argc - state->next;
    options->names  = state->argv + state->next;
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

Options options_parse(int argc, char **argv, const char *what, const char *names, int repeat) {
  Options options    = {.repeat = repeat};
  struct argp parser = {keys, parse_key, names, what, NULL, NULL, NULL};
  if (argp_parse(&parser, argc, argv, 0, NULL, &options)) exit(EXIT_FAILURE);
  return options;
}

void options_close(Options *options) {
  if (options->csv) fclose(options->csv);
  options->csv = NULL;
}

bool options_select(const Options *options, const char *name) {
  for (int i = 0; i < options->nnames; i++)
    if (!strcmp(options->names[i], name)) return true;
  return options->nnames == 0;
}

bool options_select_number(const Options *options, long number) {
  char name[24];
  snprintf(name, sizeof name, "%ld", number);
  return options_select(options, name);
}
