#include "mechanisms.h"
#include "check.h"

#include <math.h>
#include <models/plugin.h>
#include <stdbool.h>
#include <string.h>

/* Mechanisms that are not run as in the catalogue; n 0: with their number of masses */
typedef struct {
  const char *name, *type;
  int n;
  sunrealtype t_end;
} Special;

static const Special specials[] = {
    {"chain1", "chain", 1, 20.0},    {"chain2", "chain", 2, 5.0},
    {"chain3", "chain", 3, 3.0},     {"chain10", "chain", 10, 2.0},
    {"chain100", "chain", 100, 0.5}, {"bending_chain", "bending_chain", 0, 2.0}};
enum { NSPECIALS = sizeof specials / sizeof specials[0] };

static const Special *find_special(const char *name) {
  for (int i = 0; i < NSPECIALS; i++)
    if (!strcmp(specials[i].name, name)) return &specials[i];
  return NULL;
}

static const CPPluginType *find_type(const char *name) {
  const CPPluginType *type = model_find(name);
  if (type) return type;
  fprintf(stderr, "there is no mechanism \"%s\"; did you mean \"%s\"?\n", name, model_nearest(name));
  exit(EXIT_FAILURE);
}

static CPPlugin *create_model(const CPPluginType *type, int n, SUNContext ctx) {
  char message[200];
  sunrealtype values[MODEL_MOST_PARAMETERS];
  for (int i = 0; i < type->nparameters; i++) values[i] = type->parameters[i].value;
  if (n) values[plugin_find_parameter(type, "n")] = n;
  CPPlugin *model = CPPluginCreate(type, values, ctx, message, sizeof message);
  if (model) return model;
  fprintf(stderr, "%s\n", message);
  exit(EXIT_FAILURE);
}

/* y_end [n]: the model's reference if that is more accurate than the compared errors, otherwise
 * zero */
static void find_end(const CPPlugin *model, sunrealtype t_end, N_Vector y_end) {
  const sunrealtype required = 5.0e-11;
  N_VConst(0.0, y_end);
  if (!model->known || !model->type->reference || model->reference_error > required) return;
  CHECK(model->type->reference(model, t_end, y_end));
}

Mechanism *mechanism_create(const char *name, SUNContext ctx) {
  const Special *special   = find_special(name);
  const CPPluginType *type = find_type(special ? special->type : name);
  Mechanism *s             = CHECK_POINTER(calloc(1, sizeof *s));
  s->model                 = create_model(type, special ? special->n : 0, ctx);
  s->name                  = special ? special->name : type->name;
  s->t_end                 = special ? special->t_end : type->t_end;
  s->G                     = s->model->G;
  s->y_end                 = CHECK_POINTER(N_VClone(s->model->y0));
  if (!strcmp(type->name, "chain")) {
    s->chain = s->model->data;
    s->G     = chain_jacobian; /* the model's own is sparse for long chains */
  }
  find_end(s->model, s->t_end, s->y_end);
  return s;
}

void mechanism_free(Mechanism **mechanism) {
  Mechanism *s = *mechanism;
  N_VDestroy(s->y_end);
  CPPluginFree(&s->model);
  free(s);
  *mechanism = NULL;
}

static sunrealtype largest_difference(N_Vector y, N_Vector reference, sunindextype length) {
  const sunrealtype *a = N_VGetArrayPointer(y), *b = N_VGetArrayPointer(reference);
  sunrealtype error = 0.0;
  for (sunindextype i = 0; i < length; i++) error = fmax(error, fabs(a[i] - b[i]));
  return error;
}

sunrealtype mechanism_error(const Mechanism *s, N_Vector y) {
  const CPPlugin *model = s->model;
  const bool all        = model->f && !model->stiff;
  return largest_difference(y, s->y_end, all ? model->n : plugin_num_compared(model));
}

sunrealtype mechanism_position_error(const Mechanism *s, N_Vector y) {
  return largest_difference(y, s->y_end, s->model->n / 2);
}
