#include "problem.h"

#include "dense.h"
#include "support.h"

#include <math.h>
#include <models/names.h>
#include <models/plugin.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const defaults[] = {
    "pendulum",
    "slider_crank",
    "andrews",
    "car_axis",
    "flexible_crank",
    "chain:n=10,t_end=2",
    "chain:n=100,t_end=0.5",
    "chain:n=1000,t_end=0.5",
    "chain:n=10000,t_end=0.1",
    "bending_chain:n=20,d=1e3",
    "bending_chain:n=20,d=1e4",
    "bending_chain:n=100,d=1e3",
    "bending_chain:n=100,d=1e4",
    "bending_chain:n=1000,d=1e3",
    "bending_chain:n=1000,d=1e4",
    "four_bar",
    "bushing_crank",
    "dense",
};

const char *problem_default(int i) {
  return i < (int)(sizeof defaults / sizeof *defaults) ? defaults[i] : NULL;
}

static const CPPluginType *const own[] = {&dense_type};
enum { NOWN = sizeof own / sizeof *own };

const CPPluginType *problem_type(int i) { return i < NOWN ? own[i] : model_type(i - NOWN); }

static const CPPluginType *find_type(const char *name) {
  for (int i = 0; problem_type(i); i++)
    if (!strcmp(problem_type(i)->name, name)) return problem_type(i);
  return NULL;
}

/* ------------------------------------------------------------------------------------- parsing -- */

enum { MOST_NAMES = 100 };

static const CPPluginType *unknown_type(const char *name, char *message) {
  const char *names[MOST_NAMES];
  int count = 0;
  for (; count < MOST_NAMES && problem_type(count); count++)
    names[count] = problem_type(count)->name;
  snprintf(message, PROBLEM_MESSAGE, "there is no problem \"%s\"; did you mean \"%s\"?", name,
           nearest_name(name, names, count));
  return NULL;
}

static int unknown_parameter(const CPPluginType *type, const char *name, char *message) {
  const char *names[MODEL_MOST_PARAMETERS + 1] = {"t_end"};
  int count                                    = 1;
  for (; count <= type->nparameters; count++) names[count] = type->parameters[count - 1].name;
  snprintf(message, PROBLEM_MESSAGE, "%s has no parameter \"%s\"; did you mean \"%s\"?", type->name,
           name, nearest_name(name, names, count));
  return -1;
}

/* item: "parameter=value" */
static int parse_item(const CPPluginType *type, char *item, sunrealtype *values, sunrealtype *t_end,
                      char *message) {
  char *sign = strchr(item, '='), *end;
  if (!sign || sign == item) {
    snprintf(message, PROBLEM_MESSAGE, "%s: \"%s\" is not PARAMETER=VALUE", type->name, item);
    return -1;
  }
  *sign                   = '\0';
  const int index         = plugin_find_parameter(type, item);
  const bool is_end       = index < 0 && !strcmp(item, "t_end");
  const sunrealtype value = strtod(sign + 1, &end);
  if (index < 0 && !is_end) return unknown_parameter(type, item, message);
  if (end == sign + 1 || *end || !isfinite(value) || (is_end && value <= 0)) {
    snprintf(message, PROBLEM_MESSAGE, "%s: %s = \"%s\" is no %s", type->name, item, sign + 1,
             is_end ? "positive number" : "number");
    return -1;
  }
  *(is_end ? t_end : &values[index]) = value;
  return 0;
}

const CPPluginType *problem_parse(const char *text, sunrealtype *values, sunrealtype *t_end,
                                  char *message) {
  char copy[PROBLEM_NAME];
  if (strlen(text) >= sizeof copy) {
    snprintf(message, PROBLEM_MESSAGE, "\"%.40s...\" is too long for a problem", text);
    return NULL;
  }
  strcpy(copy, text);
  char *items = strchr(copy, ':'), *place = NULL;
  if (items) *items++ = '\0';
  const CPPluginType *type = find_type(copy);
  if (!type) return unknown_type(copy, message);
  for (int i = 0; i < type->nparameters; i++) values[i] = type->parameters[i].value;
  *t_end = type->t_end;
  if (items && !*items) {
    snprintf(message, PROBLEM_MESSAGE, "%s: there is nothing after the colon", type->name);
    return NULL;
  }
  for (char *item = items ? strtok_r(items, ",", &place) : NULL; item;
       item       = strtok_r(NULL, ",", &place))
    if (parse_item(type, item, values, t_end, message)) return NULL;
  return type;
}

/* --------------------------------------------------------------------------------- life cycle -- */

/* The model's own reference */
static int take_reference(Problem *p) {
  const CPPlugin *model = p->model;
  if (!model->known || !model->type->reference) return 0;
  p->reference = N_VClone(model->y0);
  if (!p->reference) return -1;
  if (model->type->reference(model, p->t_end, p->reference)) {
    N_VDestroy(p->reference); /* it is not for this time */
    p->reference = NULL;
    return 0;
  }
  p->reference_error = model->reference_error;
  snprintf(p->origin, sizeof p->origin, "%s", model->type->source);
  return 0;
}

int problem_create(const char *text, SUNContext ctx, Problem *p, char *message) {
  sunrealtype values[MODEL_MOST_PARAMETERS];
  *p                       = (Problem){.model = NULL};
  const CPPluginType *type = problem_parse(text, values, &p->t_end, message);
  if (!type) return -1;
  snprintf(p->name, sizeof p->name, "%s", text);
  p->model = CPPluginCreate(type, values, ctx, message, PROBLEM_MESSAGE);
  if (!p->model) return -1;
  if (!take_reference(p)) return 0;
  snprintf(message, PROBLEM_MESSAGE, "%s: no memory", text);
  return -1;
}

void problem_free(Problem *p) {
  if (p->reference) N_VDestroy(p->reference);
  CPPluginFree(&p->model);
  *p = (Problem){.model = NULL};
}

/* ------------------------------------------------------------------------------------- errors -- */

sunrealtype problem_error(const Problem *p, N_Vector y) {
  if (!p->reference) return NAN;
  const sunrealtype *a = N_VGetArrayPointer(y), *b = N_VGetArrayPointer(p->reference);
  sunrealtype error = 0;
  for (sunindextype i = 0; i < plugin_num_compared(p->model); i++) {
    if (isnan(a[i])) return NAN; /* fmax would ignore it */
    error = fmax(error, fabs(a[i] - b[i]));
  }
  return error;
}

static sunrealtype mech_violation(const CPPlugin *model, sunrealtype t, N_Vector y) {
  CPMech mech           = CPPluginMech(model);
  CPMechOutput out      = {CP_SIZED(CPMechOutput), .udot = NULL};
  sunrealtype violation = NAN;
  if (mech) CPObjectSetErrHandlerFn(CP_OBJECT(mech), race_quiet, NULL);
  if (mech && !CPMechEvaluate(mech, t, y, &out))
    violation = fmax(out.position, fmax(out.velocity, out.norms));
  if (mech) CPMechFree(&mech);
  return violation;
}

sunrealtype problem_violation(const Problem *p, sunrealtype t, N_Vector y) {
  const CPPlugin *model = p->model;
  if (!model->c) return mech_violation(model, t, y);
  N_Vector c = N_VNew_Serial(model->m, model->ctx);
  if (!c) return NAN;
  const sunrealtype violation = model->c(t, y, c, model->data) ? NAN : N_VMaxNorm(c);
  N_VDestroy(c);
  return violation;
}
