/* Names, ranges, sizes. */
#include "model_check_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

enum { MAX_LISTED = 4 }; /* roots and stops in CPModel */

/* ----------------------------------------------------------------------------------- metadata -- */

static int is_name(const char *name) {
  return name && *name && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

static int is_text(const char *text) { return text && *text; }

static int parameters_are_true(const ModelCheck *c) {
  for (int i = 0; i < c->type->nparameters; i++) {
    const CPModelParameter *p = &c->type->parameters[i];
    if (!is_text(p->name) || !p->unit || !is_text(p->meaning))
      return model_contradicts(c, "parameter %d has no name, unit or meaning", i);
    if (CPModelFindParameter(c->type, p->name) != i)
      return model_contradicts(c, "there are two parameters %s", p->name);
    if (!(p->value >= p->least && p->value <= p->most))
      return model_contradicts(c, "the default %g of parameter %s is not from %g to %g",
                               (double)p->value, p->name, (double)p->least, (double)p->most);
    const sunrealtype value = c->model->parameter[i];
    if (!(value >= p->least && value <= p->most))
      return model_contradicts(c, "parameter %s = %g is not from %g to %g", p->name, (double)value,
                               (double)p->least, (double)p->most);
  }
  return 1;
}

static int quantities_are_described(const ModelCheck *c) {
  for (int i = 0; i < c->type->nquantities; i++) {
    const CPModelQuantity *q = &c->type->quantities[i];
    if (!is_text(q->name) || !q->unit || !q->value)
      return model_contradicts(c, "quantity %d has no name, unit or value", i);
    const sunrealtype scale = CPModelScale(c->model, i);
    if (!(scale > 0 && isfinite(scale)))
      return model_contradicts(c, "the scale of %s must be > 0, and is %g", q->name, (double)scale);
  }
  return 1;
}

static int events_are_true(const ModelCheck *c) {
  const CPModel *model = c->model;
  if (model->nroots < 0 || model->nroots > MAX_LISTED)
    return model_contradicts(c, "%d roots, 0 to %d are possible", model->nroots, MAX_LISTED);
  if (model->nroots > 0 && (!c->type->roots || !c->type->event))
    return model_contradicts(c, "%d roots, but no function roots or event", model->nroots);
  for (int i = 0; i < model->nroots; i++)
    if (abs(model->direction[i]) > 1)
      return model_contradicts(c, "direction of root %d must be -1, 0 or 1, and is %d", i,
                               model->direction[i]);
  if (model->nstops < 0 || model->nstops > MAX_LISTED)
    return model_contradicts(c, "%d stops, 0 to %d are possible", model->nstops, MAX_LISTED);
  for (int i = 0; i < model->nstops; i++)
    if (!(model->stop[i] > (i ? model->stop[i - 1] : 0) && model->stop[i] < c->type->t_end))
      return model_contradicts(
          c, "stop %d at t = %g is not behind the one before and before t_end = %g", i,
          (double)model->stop[i], (double)c->type->t_end);
  return 1;
}

static int drawing_is_true(const ModelCheck *c) {
  const CPModelDrawing *d = &c->model->drawing;
  if (d->npoints < 1 || d->nsegments < 0 || !d->kind || (d->nsegments > 0 && !d->segment) ||
      !c->type->points)
    return model_contradicts(c, "there is no drawing");
  for (int i = 0; i < d->nsegments; i++)
    for (int k = 0; k < 2; k++)
      if (d->segment[i][k] < 0 || d->segment[i][k] >= d->npoints)
        return model_contradicts(c, "segment %d of the drawing ends at point %d, but there are %d",
                                 i, d->segment[i][k], d->npoints);
  return 1;
}

int model_metadata_are_true(const ModelCheck *c) {
  const CPModelType *type = c->type;
  if (!is_name(type->name))
    return model_contradicts(c, "the name \"%s\" is not made of a-z, 0-9 and _",
                             type->name ? type->name : "");
  if (!is_text(type->title) || !is_text(type->source))
    return model_contradicts(c, "there is no title or no source");
  if (!(type->t_end > 0 && isfinite(type->t_end)))
    return model_contradicts(c, "t_end must be > 0, and is %g", (double)type->t_end);
  return parameters_are_true(c) && quantities_are_described(c) && events_are_true(c) &&
         drawing_is_true(c);
}

/* -------------------------------------------------------------------------------------- sizes -- */

int model_sizes_agree(const ModelCheck *c) {
  const CPModel *model    = c->model;
  const CPMechModel *mech = &model->mech;
  const long n            = (long)model->n;
  if (n < 1 || !model->y0 || N_VGetLength(model->y0) != n)
    return model_contradicts(c, "n is %ld, but y0 has %ld components", n,
                             model->y0 ? (long)N_VGetLength(model->y0) : 0);
  if (mech->nu == 0 && !model->f) return model_contradicts(c, "neither a CPMech nor f is given");
  const sunindextype nq = mech->nq ? mech->nq : mech->nu;
  if (mech->nu > 0 && nq + mech->nu + mech->nz != n)
    return model_contradicts(c, "n is %ld, but nq + nu + nz = %ld", n,
                             (long)(nq + mech->nu + mech->nz));
  if ((model->m > 0) != (model->c != NULL))
    return model_contradicts(c, "m is %ld, but c is %s", (long)model->m,
                             model->c ? "given" : "NULL");
  if (model->c && !model->f) return model_contradicts(c, "c is given, but not f");
  if (model->G_tmpl &&
      (SUNMatGetID(model->G_tmpl) == SUNMATRIX_SPARSE
           ? SM_ROWS_S(model->G_tmpl) != model->m || SM_COLUMNS_S(model->G_tmpl) != n
           : SM_ROWS_D(model->G_tmpl) != model->m || SM_COLUMNS_D(model->G_tmpl) != n))
    return model_contradicts(c, "G_tmpl is not m x n = %ld x %ld", (long)model->m, n);
  if (model->ncompared < 0 || model->ncompared > n)
    return model_contradicts(c, "ncompared is %ld, but n is %ld", (long)model->ncompared, n);
  if (model->known && !c->type->reference)
    return model_contradicts(c, "known, but there is no reference");
  if (model->known && !(model->reference_error > 0 && isfinite(model->reference_error)))
    return model_contradicts(c, "reference_error must be > 0, and is %g",
                             (double)model->reference_error);
  return 1;
}
