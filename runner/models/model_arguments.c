#include "model_arguments.h"

#include <errno.h>

static error_t take_setting(ModelArguments *a, const char *text) {
  if (a->nsettings == MOST_SETTINGS) {
    complain("--param is given more than %d times", MOST_SETTINGS);
    return EINVAL;
  }
  a->setting[a->nsettings++] = text;
  return 0;
}

static error_t take_model(ModelArguments *a, const char *name) {
  if (a->model) {
    complain("there is one model too many: \"%s\" and \"%s\"", a->model, name);
    return EINVAL;
  }
  a->model = name;
  return 0;
}

static error_t find(ModelArguments *a) {
  if (a->model) return choose_model(a->model, a->setting, a->nsettings, &a->choice) ? EINVAL : 0;
  complain("a model is missing; `cpodes list` names those there are");
  return EINVAL;
}

error_t take_model_arguments(ModelArguments *a, int key, const char *text) {
  switch (key) {
  case 'p': return take_setting(a, text);
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
