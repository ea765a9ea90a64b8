#include <cpodes/cpodes_plugin.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------- life cycle -- */

int CPPluginIsWhole(const CPPluginType *type, int i) {
  const char *name = type->parameters[i].name, *listed = type->whole ? type->whole : "";
  for (size_t length; *(listed += strspn(listed, " ")); listed += length) {
    length = strcspn(listed, " ");
    if (length == strlen(name) && !memcmp(listed, name, length)) return 1;
  }
  return 0;
}

/* Takes the values, or the defaults if values is NULL. Returns 0, or 1 with a message about the
 * first invalid one. */
static int takeParameters(CPPlugin *model, const sunrealtype *values, char *message, size_t length) {
  const CPPluginType *type = model->type;
  for (int i = 0; i < type->nparameters; i++) {
    const CPPluginParameter *p = &type->parameters[i];
    const sunrealtype value    = values ? values[i] : p->value;
    const int whole            = CPPluginIsWhole(type, i);
    model->parameter[i]        = value;
    if (value >= p->least && value <= p->most && !(whole && value != floor(value))) continue;
    /* NaN is refused here, too. */
    snprintf(message, length, "%s: parameter %s (%s) must be %sfrom %g to %g, and is %g",
             type->name, p->name, p->meaning, whole ? "a whole number " : "", (double)p->least,
             (double)p->most, (double)value);
    return 1;
  }
  return 0;
}

CPPlugin *CPPluginCreate(const CPPluginType *type, const sunrealtype *values, SUNContext ctx,
                         char *message, size_t length) {
  if (length > 0) message[0] = '\0';
  CPPlugin *model = calloc(1, sizeof *model);
  if (!model) {
    snprintf(message, length, "%s: no memory", type->name);
    return NULL;
  }
  model->type      = type;
  model->ctx       = ctx;
  model->parameter = calloc((size_t)type->nparameters + 1, sizeof *model->parameter);
  if (!model->parameter) snprintf(message, length, "%s: no memory", type->name);
  if (!model->parameter || takeParameters(model, values, message, length)) {
    free(model->parameter); /* type->create has not been called */
    free(model);
    return NULL;
  }
  if (type->create(model)) {
    snprintf(message, length, "%s: %s", type->name, *model->refusal ? model->refusal : "no memory");
    CPPluginFree(&model);
  }
  return model;
}

static void freeMatrices(CPEquations *mech) {
  SUNMatrix matrices[] = {mech->M_tmpl,  mech->A_tmpl,  mech->K_tmpl,  mech->C_tmpl,
                          mech->Fz_tmpl, mech->Bq_tmpl, mech->Bu_tmpl, mech->Zq_tmpl,
                          mech->Zu_tmpl, mech->Zz_tmpl};
  for (size_t i = 0; i < sizeof matrices / sizeof matrices[0]; i++)
    if (matrices[i]) SUNMatDestroy(matrices[i]);
}

void CPPluginFree(CPPlugin **model) {
  CPPlugin *m = model ? *model : NULL;
  if (!m) return;
  if (m->type->destroy) {
    m->type->destroy(m);
  } else {
    free(m->data);
  }
  freeMatrices(&m->mech);
  if (m->G_tmpl) SUNMatDestroy(m->G_tmpl);
  if (m->y0) N_VDestroy(m->y0);
  free(m->drawing.kind);
  free(m->drawing.segment);
  free(m->drawing.segment_kind);
  free(m->drawing.shape);
  free(m->parameter);
  free(m);
  *model = NULL;
}

/* Returns 0 or an error code. */
static int switchContactsOff(const CPPlugin *model, CPMech mech) {
  const sunindextype na = CPMechGetNumMultipliers(mech);
  if (model->ncontacts == 0) return 0;
  int *mask = malloc((size_t)(na + 1) * sizeof *mask);
  if (!mask) return CP_MEM_FAIL;
  for (sunindextype i = 0; i < na; i++) mask[i] = 1;
  for (int k = 0; k < model->ncontacts; k++) {
    const CPContactPoint *contact = &model->contact[k];
    if (contact->normal >= 0 && contact->normal < na) mask[contact->normal] = 0;
    for (sunindextype i = contact->tangent; i < contact->tangent + contact->ntangents; i++)
      if (i >= 0 && i < na) mask[i] = 0;
  }
  const int flag = CPMechSetActive(mech, mask);
  free(mask);
  return flag;
}

CPMech CPPluginMech(const CPPlugin *model) {
  if (model->mech.nu == 0) return NULL;
  CPModel made = CPModelCreate(&model->mech);
  CPMech mech  = made ? CPMechCreate(made, model->y0, model->ctx) : NULL;
  CPModelFree(&made);
  if (!mech) return NULL;
  if (CPMechSetUserData(mech, model->data) || switchContactsOff(model, mech)) CPMechFree(&mech);
  return mech;
}

/* ------------------------------------------------------------------------- for type->create -- */

int CPPluginRefuse(CPPlugin *model, const char *format, ...) {
  if (*model->refusal) return -1;
  va_list args;
  va_start(args, format);
  vsnprintf(model->refusal, sizeof model->refusal, format, args);
  va_end(args);
  return -1;
}

int CPPluginDraw(CPPlugin *model, int npoints, const CPPluginPointKind *kind, int nsegments,
                 const int (*segment)[2], int nshapes, const CPPluginShape *shape) {
  CPPluginDrawing *d = &model->drawing;
  d->npoints         = npoints;
  d->nsegments       = nsegments;
  d->nshapes         = nshapes;
  d->kind            = calloc(npoints, sizeof *d->kind);
  d->segment         = calloc(nsegments, sizeof *d->segment);
  d->segment_kind    = calloc(nsegments, sizeof *d->segment_kind);
  d->shape           = calloc((size_t)nshapes + 1, sizeof *d->shape);
  if (!d->kind || !d->segment || !d->segment_kind || !d->shape) return -1;
  if (kind) memcpy(d->kind, kind, npoints * sizeof *kind);
  if (segment) memcpy(d->segment, segment, nsegments * sizeof *segment);
  if (shape) memcpy(d->shape, shape, nshapes * sizeof *shape);
  return 0;
}
