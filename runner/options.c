#include "options.h"

#include "command.h"
#include "mechanism.h"
#include "module.h"
#include "output/files.h"

#include <cpodes/cpodes_language.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <models/model.h>
#include <models/names.h>
#include <models/plugin.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_OPTIONS = 64, NAME_LENGTH = 80, LINE_LENGTH = 8192, WHY = 200 };

/* The number of bytes of the control character at c, those from U+0080 to U+009F in UTF-8 included, or 0 */
static int control(const char *c) {
  const unsigned char *byte = (const unsigned char *)c;
  return iscntrl(*byte) ? 1 : *byte == 0xC2 && byte[1] >= 0x80 && byte[1] < 0xA0 ? 2 : 0;
}

int complain(const char *format, ...) {
  char line[LINE_LENGTH];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  for (char *c = line; *c; c++) {
    const int bytes = control(c);
    if (bytes > 0) memset(c, '?', (size_t)bytes);
  }
  fprintf(stderr, "cpodes: %s\n", line);
  return -1;
}

void print_plain(FILE *out, const char *text) {
  for (int bytes; *text; text += bytes > 0 ? bytes : 1) {
    bytes = *text == '\n' ? 0 : control(text);
    fputc(bytes > 0 ? '?' : *text, out);
  }
}

const char *suggest(const char *name, const char *const *names, int count, const char *elsewhere,
                    char *text) {
  const char *nearest = nearest_name(name, names, count);
  if (is_near_name(name, nearest)) snprintf(text, SUGGESTION, "did you mean \"%s\"?", nearest);
  else snprintf(text, SUGGESTION, "%s", elsewhere);
  return text;
}

int wider(int width, const char *text) {
  const int length = (int)strlen(text);
  return length > width ? length : width;
}

/* ------------------------------------------------------------------------------------- options -- */

/* argp's own complaints have two lines each and no suggestions, so wrong options are detected
 * before argp sees them. */

/* argp's own options, which take no values */
static const struct argp_option always[] = {
    {.name = "help", .key = '?'}, {.name = "usage", .key = -1}, {0}};

static int is_last(const struct argp_option *o) { return !o->name && !o->key && !o->doc; }

/* Finds the options that begin with the text; an exact match counts alone. count: out, their
 * number. Returns the first, or NULL. */
static const struct argp_option *find_long(const struct argp *argp, const char *text, size_t length,
                                           int *count) {
  const struct argp_option *const lists[] = {argp->options, always};
  const struct argp_option *found         = NULL;
  *count                                  = 0;
  for (int k = 0; k < 2; k++)
    for (const struct argp_option *o = lists[k]; o && !is_last(o); o++) {
      if (!o->name || strncmp(text, o->name, length)) continue;
      if (!found) found = o;
      ++*count;
      if (o->name[length]) continue;
      *count = 1; /* an exact match */
      return o;
    }
  return found;
}

static const struct argp_option *find_short(const struct argp *argp, char key) {
  if (key == '?') return always;
  for (const struct argp_option *o = argp->options; o && !is_last(o); o++)
    if (o->key == key) return o;
  return NULL;
}

static void suggest_long(const struct argp *argp, const char *text) {
  const char *names[MOST_OPTIONS] = {"help", "usage"};
  int count                       = 2;
  for (const struct argp_option *o = argp->options; o && !is_last(o) && count < MOST_OPTIONS; o++)
    if (o->name) names[count++] = o->name;
  const char *nearest = nearest_name(text, names, count);
  if (is_near_name(text, nearest))
    complain("there is no option --%s; did you mean --%s?", text, nearest);
  else complain("there is no option --%s; `--help` names them all", text);
}

/* text: "name" or "name=value"; next: the following argument, or NULL. Returns how many arguments
 * the option uses, or 0 after a complaint. */
static int check_long(const struct argp *argp, const char *text, const char *next) {
  char name[NAME_LENGTH];
  int count;
  const size_t length         = strcspn(text, "=");
  const struct argp_option *o = find_long(argp, text, length, &count);
  snprintf(name, sizeof name, "%.*s", (int)length, text);
  if (!o) suggest_long(argp, name);
  else if (count > 1) complain("--%s is short for several options, --%s among them", name, o->name);
  else if (!o->arg && text[length])
    complain("--%s takes no value, and is given \"%s\"", o->name, text + length + 1);
  else if (o->arg && !text[length] && !next) complain("--%s wants a value", o->name);
  else return o->arg && !text[length] ? 2 : 1;
  return 0;
}

/* letters: one option each; the last one may be followed by its value. */
static int check_short(const struct argp *argp, const char *letters, const char *next) {
  for (; *letters; letters++) {
    const struct argp_option *o = find_short(argp, *letters);
    if (!o) {
      complain("there is no option -%c; `--help` names them all", *letters);
      return 0;
    }
    if (!o->arg) continue;
    if (letters[1] || next) return letters[1] ? 1 : 2;
    complain("-%c wants a value", *letters);
    return 0;
  }
  return 1;
}

int parse_options(const struct argp *argp, int argc, char **argv, void *input) {
  for (int i = 1, taken; i < argc && strcmp(argv[i], "--"); i += taken) {
    const char *next = i + 1 < argc ? argv[i + 1] : NULL;
    taken            = 1;
    if (!strncmp(argv[i], "--", 2)) taken = check_long(argp, argv[i] + 2, next);
    else if (argv[i][0] == '-' && argv[i][1]) taken = check_short(argp, argv[i] + 1, next);
    if (!taken) return STATUS_USAGE;
  }
  argp_err_exit_status = STATUS_USAGE;
  const error_t error  = argp_parse(argp, argc, argv, 0, NULL, input);
  return error == 0        ? STATUS_DONE
         : error == EIO    ? STATUS_OUTPUT
         : error == ECHILD ? STATUS_CRASHED
                           : STATUS_USAGE;
}

int read_number(const char *text, const char *unit, double *value) {
  const CPFunctionOptions options = {CP_SIZED(CPFunctionOptions), .text = text, .result = unit};
  CPFunction f                    = NULL;
  sunrealtype x                   = 0;
  const int wrong = CPFunctionCreate(&options, &f) || CPFunctionEvaluate(f, &x, &x, NULL, NULL);
  CPFunctionFree(&f);
  *value = wrong ? NAN : (double)x;
  return wrong ? -1 : 0;
}

/* After read_number: why the text is no number, for the end of a message */
static const char *why(double value, char text[WHY]) {
  const char *message = CPObjectGetLastMessage(NULL), *at = strstr(message, ": ");
  snprintf(text, WHY, "%s%.190s", isnan(value) ? ": " : "",
           isnan(value) ? (at ? at + 2 : message) : "");
  return text;
}

int parse_number(const char *option, const char *text, double least, double most, double *value) {
  char reason[WHY];
  if (!read_number(text, "1", value) && *value >= least && *value <= most) return 0;
  return complain("%s must be a number from %g to %g, and is \"%s\"%s", option, least, most, text,
                  why(*value, reason));
}

int parse_positive(const char *option, const char *text, const char *unit, double most,
                   double *value) {
  char reason[WHY];
  if (!read_number(text, unit, value) && *value > 0 && *value <= most) return 0;
  return complain("%s must be a number above 0, at most %g, and is \"%s\"%s", option, most, text,
                  why(*value, reason));
}

int parse_whole(const char *option, const char *text, long least, long most, long *value) {
  char *end;
  errno  = 0;
  *value = strtol(text, &end, 10);
  if (end != text && !*end && !errno && *value >= least && *value <= most) return 0;
  return complain("%s must be a whole number from %ld to %ld, and is \"%s\"", option, least, most,
                  text);
}

int parse_choice(const char *option, const char *text, const char *const *names, int count,
                 int *index) {
  char suggestion[SUGGESTION];
  for (*index = 0; *index < count; ++*index)
    if (!strcmp(text, names[*index])) return 0;
  return complain("%s: there is no \"%s\"; %s", option, text,
                  suggest(text, names, count, "`--help` names them all", suggestion));
}

/* -------------------------------------------------------------------------------------- models -- */

static int unknown_parameter(const CPPluginType *type, const char *name) {
  const char **names = calloc((size_t)type->nparameters + 1, sizeof *names);
  char suggestion[SUGGESTION];
  for (int i = 0; names && i < type->nparameters; i++) names[i] = type->parameters[i].name;
  if (!names) complain("no memory");
  else if (type->nparameters == 0)
    complain("%s has no parameters, and \"%s\" is given", type->name, name);
  else
    complain("%s has no parameter \"%s\"; %s", type->name, name,
             suggest(name, names, type->nparameters, "`cpodes describe` names them all", suggestion));
  free(names);
  return -1;
}

/* The unit of a parameter, or NULL, any, if the language has none of this name, as a plug-in's own */
static const char *unit_of(const CPPluginParameter *p) {
  double one;
  char text[NAME_LENGTH];
  const char *unit = p->unit && *p->unit ? p->unit : "1";
  snprintf(text, sizeof text, "1%s%s", strcmp(unit, "1") ? " " : "", strcmp(unit, "1") ? unit : "");
  return read_number(text, unit, &one) ? NULL : unit;
}

static int set_parameter(ModelChoice *choice, const char *setting) {
  const CPPluginType *type = choice->type;
  const char *sign         = strchr(setting, '=');
  char name[NAME_LENGTH], reason[WHY];
  double value = NAN;
  if (!sign || sign == setting) return complain("--param wants NAME=VALUE, and is \"%s\"", setting);
  snprintf(name, sizeof name, "%.*s", (int)(sign - setting), setting);
  const int index = plugin_find_parameter(type, name);
  if (index < 0) return unknown_parameter(type, name);
  const CPPluginParameter *p = &type->parameters[index];
  const int whole            = CPPluginIsWhole(type, index);
  const int wrong            = read_number(sign + 1, unit_of(p), &value);
  choice->values[index]      = value;
  if (!wrong && value >= p->least && value <= p->most && !(whole && value != floor(value)))
    return 0;
  return complain("--param: %s (%s) must be a %snumber from %g to %g, and is \"%s\"%s", name,
                  p->meaning, whole ? "whole " : "", (double)p->least, (double)p->most, sign + 1,
                  why(value, reason));
}

/* Is this the path of a file, and not a name of the catalogue? Names there have no dot. */
static int is_path(const char *name) {
  return strchr(name, '/') || has_end(name, ".so") || mechanism_is_file(name) ||
         (strchr(name, '.') && !access(name, F_OK));
}

/* The suffix with which the name is that of a file beside the user, or NULL */
static const char *suffix_here(const char *name) {
  static const char *const suffixes[] = {".yaml", ".yml",  ".xml", ".urdf",
                                         ".sdf",  ".osim", ".asmt"};
  char path[256];
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
    if (snprintf(path, sizeof path, "%s%s", name, suffixes[i]) < (int)sizeof path &&
        !access(path, F_OK))
      return suffixes[i];
  return NULL;
}

/* Returns 0, or EINVAL or ECHILD after a complaint. */
static error_t find_model(const char *name, const char *const *settings, int count,
                          const CPPluginType **type) {
  char suggestion[SUGGESTION];
  if (mechanism_is_file(name)) return (*type = mechanism_load(name, settings, count)) ? 0 : EINVAL;
  if (mechanism_is_placed())
    return complain("--start and --base are options of robots, which come from files"), EINVAL;
  if (is_path(name)) return module_load(name, type);
  *type = model_find(name);
  if (*type) return 0;
  const char *const here = suffix_here(name);
  if (here)
    return complain("there is no model \"%s\"; did you mean the file %s%s?", name, name, here),
           EINVAL;
  const char *near[] = {model_nearest(name), mechanism_near(name)};
  complain("there is no model \"%s\"; %s", name,
           suggest(name, near, near[1] ? 2 : 1, "`cpodes list` names them all", suggestion));
  return EINVAL;
}

static error_t choose_model(const char *name, const char *const *settings, int count,
                            ModelChoice *choice) {
  const error_t error = find_model(name, settings, count, &choice->type);
  if (error) return error;
  choice->values = calloc((size_t)choice->type->nparameters + 1, sizeof *choice->values);
  if (!choice->values) return complain("no memory"), EINVAL;
  for (int i = 0; i < choice->type->nparameters; i++)
    choice->values[i] = choice->type->parameters[i].value;
  for (int i = 0; i < count; i++)
    if (!(mechanism_is_file(name) && mechanism_names(settings[i])) &&
        set_parameter(choice, settings[i]))
      return EINVAL;
  return 0;
}

static error_t take_setting(ModelArguments *a, const char *text) {
  if (a->nsettings == MOST_SETTINGS)
    return complain("--param is given more than %d times", MOST_SETTINGS), EINVAL;
  a->setting[a->nsettings++] = text;
  return 0;
}

static error_t take_model(ModelArguments *a, const char *name) {
  if (a->model)
    return complain("there is one model too many: \"%s\" and \"%s\"", a->model, name), EINVAL;
  a->model = name;
  return 0;
}

static error_t find(ModelArguments *a) {
  if (a->model && !is_path(a->model) && !model_find(a->model)) {
    const char *example = mechanism_example(a->model);
    if (example) a->model = example;
  }
  if (a->model) return choose_model(a->model, a->setting, a->nsettings, &a->choice);
  complain("a model is missing; `cpodes list` names those there are");
  return EINVAL;
}

error_t take_model_arguments(ModelArguments *a, int key, const char *text) {
  switch (key) {
  case 'p': return take_setting(a, text);
  case KEY_COORDINATES: {
    static const char *const kinds[] = {"absolute", "joint"};
    int kind;
    if (parse_choice("--coordinates", text, kinds, 2, &kind)) return EINVAL;
    mechanism_use_joints(kind);
    return 0;
  }
  case KEY_START: return mechanism_start_at(text) ? EINVAL : 0;
  case KEY_BASE: mechanism_use_base(text); return 0;
  case ARGP_KEY_ARG: return take_model(a, text);
  case ARGP_KEY_END: return find(a);
  case ARGP_KEY_INIT:
  case ARGP_KEY_FINI:
  case ARGP_KEY_SUCCESS:
  case ARGP_KEY_ERROR:
  case ARGP_KEY_NO_ARGS: return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

int outputs_check(const ModelArguments *a, const char *const *paths, int count) {
  if (paths_differ(paths, count)) return -1;
  for (int i = 0; i < count; i++)
    if (paths[i] && !is_stdout(paths[i]) &&
        ((is_path(a->model) && is_same_file(a->model, paths[i])) || mechanism_reads(paths[i])))
      return complain("%s is a file of the model, and cannot be an output as well", paths[i]);
  return 0;
}

void free_model_arguments(ModelArguments *a) {
  free(a->choice.values);
  a->choice.values = NULL;
}
