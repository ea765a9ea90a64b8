#include "options.h"

#include "command.h"
#include "models/module.h"

#include <errno.h>
#include <math.h>
#include <models/model.h>
#include <models/names.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPTIONS = 64, NAME_LENGTH = 80 };

void complain(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("cpodes: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
}

/* ------------------------------------------------------------------------------------- options -- */

/* The long options of a parser; returns their number */
static int option_names(const struct argp *argp, const char **names) {
  int count      = 0;
  names[count++] = "help";
  names[count++] = "usage";
  for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc); o++)
    if (o->name && count < MOST_OPTIONS) names[count++] = o->name;
  return count;
}

/* Is there an option that begins with the given text? */
static int option_begins(const char *text, size_t length, const char *const *names, int count) {
  for (int i = 0; i < count; i++)
    if (!strncmp(text, names[i], length)) return 1;
  return 0;
}

int parse_options(const struct argp *argp, int argc, char **argv, void *input) {
  const char *names[MOST_OPTIONS];
  const int count = option_names(argp, names);
  for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
    if (strncmp(argv[i], "--", 2)) continue;
    char name[NAME_LENGTH];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(argv[i] + 2, "="), argv[i] + 2);
    if (option_begins(name, strlen(name), names, count)) continue;
    complain("there is no option --%s; did you mean --%s?", name, nearest_name(name, names, count));
    return -1;
  }
  argp_err_exit_status = STATUS_USAGE;
  return argp_parse(argp, argc, argv, 0, NULL, input) ? -1 : 0;
}

int parse_number(const char *option, const char *text, double least, double most, double *value) {
  char *end;
  *value = strtod(text, &end);
  if (end != text && !*end && *value >= least && *value <= most) return 0;
  complain("%s must be a number from %g to %g, and is \"%s\"", option, least, most, text);
  return -1;
}

int parse_whole(const char *option, const char *text, long least, long most, long *value) {
  char *end;
  errno  = 0;
  *value = strtol(text, &end, 10);
  if (end != text && !*end && !errno && *value >= least && *value <= most) return 0;
  complain("%s must be a whole number from %ld to %ld, and is \"%s\"", option, least, most, text);
  return -1;
}

int parse_choice(const char *option, const char *text, const char *const *names, int count,
                 int *index) {
  for (*index = 0; *index < count; ++*index)
    if (!strcmp(text, names[*index])) return 0;
  complain("%s: there is no \"%s\"; did you mean \"%s\"?", option, text,
           nearest_name(text, names, count));
  return -1;
}

/* -------------------------------------------------------------------------------------- models -- */

static int unknown_parameter(const CPModelType *type, const char *name) {
  const char *names[CP_MODEL_MAX_PARAMETERS];
  if (type->nparameters == 0) {
    complain("%s has no parameters, and \"%s\" is given", type->name, name);
    return -1;
  }
  for (int i = 0; i < type->nparameters; i++) names[i] = type->parameters[i].name;
  complain("%s has no parameter \"%s\"; did you mean \"%s\"?", type->name, name,
           nearest_name(name, names, type->nparameters));
  return -1;
}

static int set_parameter(ModelChoice *choice, const char *setting) {
  const CPModelType *type = choice->type;
  const char *sign        = strchr(setting, '=');
  char name[NAME_LENGTH], *end;
  if (!sign || sign == setting) {
    complain("--param wants NAME=VALUE, and is \"%s\"", setting);
    return -1;
  }
  snprintf(name, sizeof name, "%.*s", (int)(sign - setting), setting);
  const int index = CPModelFindParameter(type, name);
  if (index < 0) return unknown_parameter(type, name);
  const CPModelParameter *p = &type->parameters[index];
  const double value        = strtod(sign + 1, &end);
  choice->values[index]     = value;
  if (end != sign + 1 && !*end && value >= p->least && value <= p->most) return 0;
  complain("--param: %s (%s) must be a number from %g to %g, and is \"%s\"", name, p->meaning,
           (double)p->least, (double)p->most, sign + 1);
  return -1;
}

static const CPModelType *find_model(const char *name) {
  const size_t length = strlen(name);
  if (strchr(name, '/') || (length > 3 && !strcmp(name + length - 3, ".so")))
    return module_load(name);
  const CPModelType *type = model_find(name);
  if (!type) complain("there is no model \"%s\"; did you mean \"%s\"?", name, model_nearest(name));
  return type;
}

int choose_model(const char *name, const char *const *settings, int count, ModelChoice *choice) {
  choice->type = find_model(name);
  if (!choice->type) return -1;
  for (int i = 0; i < choice->type->nparameters; i++)
    choice->values[i] = choice->type->parameters[i].value;
  for (int i = 0; i < count; i++)
    if (set_parameter(choice, settings[i])) return -1;
  return 0;
}
