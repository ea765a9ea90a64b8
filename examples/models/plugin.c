/* What the catalogue, the runner, tests and benchmarks ask of models. */
#include "plugin.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <string.h>

int plugin_start(CPPlugin *model, sunindextype n) {
  model->n  = n;
  model->y0 = N_VNew_Serial(n, model->ctx);
  if (!model->y0) return -1;
  N_VConst(0, model->y0);
  return 0;
}

void plugin_planar(int npoints, const sunrealtype (*x)[2], sunrealtype *xyz) {
  for (int i = 0; i < npoints; i++) {
    for (int k = 0; k < 2; k++) xyz[3 * i + k] = x[i][k];
    xyz[3 * i + 2] = 0;
  }
}

int plugin_find_parameter(const CPPluginType *type, const char *name) {
  for (int i = 0; i < type->nparameters; i++)
    if (!strcmp(type->parameters[i].name, name)) return i;
  return -1;
}

int plugin_is_default(const CPPlugin *model) {
  for (int i = 0; i < model->type->nparameters; i++)
    if (model->parameter[i] != model->type->parameters[i].value) return 0;
  return 1;
}

int plugin_ends(const CPPlugin *model, sunrealtype t, const sunrealtype *end, N_Vector y) {
  if (t != 0 && t != model->type->t_end) return 1;
  const sunrealtype *values = t == 0 ? N_VGetArrayPointer(model->y0) : end;
  memcpy(N_VGetArrayPointer(y), values, model->n * sizeof *values);
  return 0;
}

int plugin_ends_lambda(const CPPlugin *model, sunrealtype t, int na, const sunrealtype *start,
                       const sunrealtype *end, sunrealtype *lambda) {
  if (t != 0 && t != model->type->t_end) return 1;
  memcpy(lambda, t == 0 ? start : end, na * sizeof *lambda);
  return 0;
}

sunindextype plugin_num_positions(const CPPlugin *model) {
  if (model->mech.nu == 0) return model->n / 2;
  return model->mech.nq ? model->mech.nq : model->mech.nu;
}

sunindextype plugin_num_compared(const CPPlugin *model) {
  return model->ncompared ? model->ncompared : plugin_num_positions(model);
}

int plugin_conserves(const CPPlugin *model, int i) {
  const CPPluginType *type = model->type;
  if (type->quantities[i].conserved == CP_QUANTITY_FREE) return 0;
  return type->conserves ? type->conserves(model, i) : type->quantities[i].conserved;
}

sunrealtype plugin_scale(const CPPlugin *model, int i) {
  const CPPluginQuantity *quantity = &model->type->quantities[i];
  return quantity->scale_of ? quantity->scale_of(model) : quantity->scale;
}

sunrealtype plugin_error(const CPPlugin *model, sunrealtype t, N_Vector y) {
  if (!model->known || !model->type->reference) return NAN;
  N_Vector exact = N_VClone(y);
  if (!exact) return NAN;
  sunrealtype error = NAN;
  if (!model->type->reference(model, t, exact)) {
    const sunrealtype *a = N_VGetArrayPointer(y), *b = N_VGetArrayPointer(exact);
    error = 0;
    for (sunindextype i = 0; i < plugin_num_compared(model) && !isnan(error); i++) {
      const sunrealtype difference = fabs(a[i] - b[i]);
      if (!(difference <= error)) error = difference; /* also NaN */
    }
  }
  N_VDestroy(exact);
  return error;
}

sunrealtype plugin_value(const CPPlugin *model, const CPPluginQuantity *quantity, sunrealtype t,
                         N_Vector y) {
  return quantity->value(model, (int)(quantity - model->type->quantities), t, y);
}
