/* Checks of names, ranges and sizes. */
#include "model_check_impl.h"
#include "plugin.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

/* ----------------------------------------------------------------------------------- the table -- */

/* The error in a table, for a message */
typedef struct {
  const CPPluginType *type;
  char *message;
  size_t length;
} Table;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static int
contradicts(const Table *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(t->message, t->length, format, args);
  va_end(args);
  return 0;
}

static int is_name(const char *name) {
  return name && *name && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

/* One line without control characters, which files and terminals would take for something else */
static int is_text(const char *text) {
  for (const unsigned char *c = (const unsigned char *)text; c && *c; c++)
    if (*c < ' ' || *c == 0x7F || (*c == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0)) return 0;
  return text && *text;
}

/* A valid name in NAME=VALUE on a command line, and as the head of a column */
static int is_word(const char *text) { return is_text(text) && !text[strcspn(text, "=, \"")]; }

/* Each of type->whole is a parameter, whose default is a whole number. */
static int has_whole_parameters(const Table *t) {
  const char *name = t->type->whole ? t->type->whole : "";
  for (size_t length; *(name += strspn(name, " ")); name += length) {
    const CPPluginParameter *p = NULL;
    length                     = strcspn(name, " ");
    for (int i = 0; i < t->type->nparameters && !p; i++)
      if (!strncmp(t->type->parameters[i].name, name, length) && !t->type->parameters[i].name[length])
        p = &t->type->parameters[i];
    if (!p) return contradicts(t, "whole names no parameter: \"%.*s\"", (int)length, name);
    if (p->value != floor(p->value))
      return contradicts(t, "the default %g of parameter %s is no whole number", (double)p->value,
                         p->name);
  }
  return 1;
}

/* One line for an axis, "[kg m^2/s]": "" or "1" where there is none, else symbols with one operator at most between two of them,
   short, and without brackets of its own */
static int is_unit(const char *unit) {
  enum { LONGEST = 23 };
  int depth = 0, symbols = 0;
  char last = '/'; /* the newest character that is no space: an operator stands between symbols */
  if (!unit || strlen(unit) > LONGEST || unit[strcspn(unit, "[],\n\r\t")]) return 0;
  if (!*unit || !strcmp(unit, "1")) return 1;
  if (*unit == ' ' || unit[strlen(unit) - 1] == ' ') return 0;
  for (const char *c = unit; *c; c++) {
    if (*c == ' ') continue;
    if (strchr("*/^)", *c) && strchr("*/^(", last)) return 0;
    depth += (*c == '(') - (*c == ')');
    if (depth < 0) return 0;
    symbols += isalpha((unsigned char)*c) || *c == '%' || (unsigned char)*c > 127; /* or UTF-8's */
    last = *c;
  }
  return depth == 0 && symbols > 0 && !strchr("*/^", last);
}

static int has_parameters(const Table *t) {
  const CPPluginType *type = t->type;
  if (type->nparameters < 0 || (type->nparameters > 0 && !type->parameters))
    return contradicts(t, "%d parameters, but parameters is %s", type->nparameters,
                       type->parameters ? "given" : "NULL");
  for (int i = 0; i < type->nparameters; i++) {
    const CPPluginParameter *p = &type->parameters[i];
    if (!is_word(p->name) || !p->unit || !is_text(p->meaning))
      return contradicts(t, "parameter %d has no name, unit or meaning", i);
    if (!is_unit(p->unit))
      return contradicts(t, "\"%.40s\", of parameter %s, is no unit", p->unit, p->name);
    if (plugin_find_parameter(type, p->name) != i)
      return contradicts(t, "there are two parameters %s", p->name);
    if (!(p->value >= p->least && p->value <= p->most))
      return contradicts(t, "the default %g of parameter %s is not from %g to %g", (double)p->value,
                         p->name, (double)p->least, (double)p->most);
  }
  return has_whole_parameters(t);
}

/* Returns 1 if another column of the tables already has this name, either before it or among those that cpodes names itself */
static int is_taken(const CPPluginType *type, int i, const char *name) {
  static const char *const own[] = {"t", "position violation", "velocity violation",
                                    "norm violation", "invariant violation"};
  for (size_t k = 0; k < sizeof own / sizeof own[0]; k++)
    if (!strcmp(name, own[k])) return 1;
  for (int k = 0; k < i; k++)
    if (!strcmp(type->quantities[k].name, name)) return 1;
  for (int k = 0; k < type->ncoordinates; k++) {
    const char *q       = type->coordinates[k].name;
    const size_t length = q ? strlen(q) : 0;
    if (q && !strncmp(name, q, length) && (!name[length] || !strcmp(name + length, "'"))) return 1;
  }
  for (int k = 0; k < type->nvelocities; k++)
    if (type->velocities[k].name && !strcmp(type->velocities[k].name, name)) return 1;
  return 0;
}

static int has_multipliers(const Table *t) {
  const CPPluginType *type = t->type;
  if (type->nmultipliers < 0 || (type->nmultipliers > 0) != (type->multipliers != NULL))
    return contradicts(t, "%d multipliers have names, but multipliers is %s", type->nmultipliers,
                       type->multipliers ? "given" : "NULL");
  for (int i = 0; i < type->nmultipliers; i++) {
    const CPPluginCoordinate *m = &type->multipliers[i];
    if (!m->name) continue; /* that of its contact */
    if (!is_text(m->name) || !is_text(m->meaning))
      return contradicts(t, "multiplier %d has no name or meaning", i);
    if (!m->unit) return contradicts(t, "multiplier %s has no unit", m->name);
    if (!is_unit(m->unit))
      return contradicts(t, "\"%.40s\", of multiplier %s, is no unit", m->unit, m->name);
    for (int k = 0; k < i; k++)
      if (type->multipliers[k].name && !strcmp(type->multipliers[k].name, m->name))
        return contradicts(t, "there are two multipliers %s", m->name);
    if (is_taken(type, type->nquantities, m->name))
      return contradicts(t, "multiplier %s has the name of a coordinate or quantity", m->name);
  }
  return 1;
}

static int has_quantities(const Table *t) {
  const CPPluginType *type = t->type;
  if (type->nquantities < 0 || (type->nquantities > 0 && !type->quantities))
    return contradicts(t, "%d quantities, but quantities is %s", type->nquantities,
                       type->quantities ? "given" : "NULL");
  for (int i = 0; i < type->nquantities; i++) {
    const CPPluginQuantity *q = &type->quantities[i];
    if (!is_text(q->name) || !q->unit || !q->value)
      return contradicts(t, "quantity %d has no name, unit or value", i);
    if (!is_unit(q->unit))
      return contradicts(t, "\"%.40s\", of quantity %s, is no unit", q->unit, q->name);
    if (q->conserved < CP_QUANTITY_FREE || q->conserved > CP_QUANTITY_CONSERVED)
      return contradicts(t, "conserved of quantity %s is %d, and must be from -1 to 1", q->name,
                         q->conserved);
  }
  return 1;
}

/* Names of coordinates or velocities: kind is one of them, kinds several */
static int has_components(const Table *t, const CPPluginCoordinate *c, int count, const char *kind,
                          const char *kinds) {
  if (count < 0 || (count > 0) != (c != NULL))
    return contradicts(t, "%d %s have names, but %s is %s", count, kinds, kinds,
                       c ? "given" : "NULL");
  for (int i = 0; i < count; i++) {
    if (!is_word(c[i].name) || !c[i].unit || !is_text(c[i].meaning))
      return contradicts(t, "%s %d has no name, unit or meaning", kind, i);
    if (!is_unit(c[i].unit))
      return contradicts(t, "\"%.40s\", of %s %s, is no unit", c[i].unit, kind, c[i].name);
    for (int k = 0; k < i; k++)
      if (!strcmp(c[k].name, c[i].name))
        return contradicts(t, "there are two %s %s", kinds, c[i].name);
  }
  return 1;
}

static int has_coordinates(const Table *t) {
  const CPPluginType *type = t->type;
  if (!has_components(t, type->coordinates, type->ncoordinates, "coordinate", "coordinates") ||
      !has_components(t, type->velocities, type->nvelocities, "velocity", "velocities"))
    return 0;
  for (int i = 0; i < type->nvelocities; i++)
    for (int k = 0; k < type->ncoordinates; k++)
      if (!strcmp(type->velocities[i].name, type->coordinates[k].name))
        return contradicts(t, "velocity %s has the name of a coordinate", type->velocities[i].name);
  return 1;
}

int model_check_type(const CPPluginType *type, char *message, size_t length) {
  const Table t = {type, message, length};
  if (length > 0) message[0] = '\0';
  if (!is_name(type->name))
    return !contradicts(&t, "the name \"%s\" is not made of a-z, 0-9 and _",
                        type->name ? type->name : "");
  if (!is_text(type->title)) return !contradicts(&t, "there is no title in one line");
  if (!(type->t_end > 0 && isfinite(type->t_end)))
    return !contradicts(&t, "t_end must be > 0, and is %g", (double)type->t_end);
  if (!type->create) return !contradicts(&t, "there is no function create");
  if (!has_parameters(&t) || !has_quantities(&t) || !has_coordinates(&t)) return 1;
  for (int i = 0; i < type->nquantities; i++)
    if (is_taken(type, i, type->quantities[i].name))
      return !contradicts(
          &t,
          "the name of quantity %s is that of another quantity, a coordinate or velocity, t or a "
          "violation",
          type->quantities[i].name);
  return !has_multipliers(&t);
}

/* ------------------------------------------------------------------------------------ the model -- */

int model_table_is_true(ModelCheck *c) {
  if (model_check_type(c->type, c->message, c->length)) return 0;
  for (int i = 0; i < c->type->nparameters; i++) {
    const CPPluginParameter *p = &c->type->parameters[i];
    const sunrealtype value    = c->model->parameter[i];
    if (!(value >= p->least && value <= p->most))
      return model_contradicts(c, "parameter %s = %g is not from %g to %g", p->name, (double)value,
                               (double)p->least, (double)p->most);
  }
  for (int i = 0; i < c->type->nquantities; i++) {
    const sunrealtype scale = plugin_scale(c->model, i);
    if (c->type->quantities[i].conserved != CP_QUANTITY_FREE && !(scale > 0 && isfinite(scale)))
      return model_contradicts(c, "the scale of %s must be > 0, and is %g",
                               c->type->quantities[i].name, (double)scale);
  }
  return 1;
}

int model_events_are_true(ModelCheck *c) {
  const CPPlugin *model = c->model;
  if (model->nroots < 0 || model->nroots > CP_PLUGIN_MAX_ROOTS)
    return model_contradicts(c, "%d roots, 0 to %d are possible", model->nroots,
                             CP_PLUGIN_MAX_ROOTS);
  if (model->nroots > 0 && (!c->type->roots || !c->type->event))
    return model_contradicts(c, "%d roots, but no function roots or event", model->nroots);
  for (int i = 0; i < model->nroots; i++)
    if (abs(model->direction[i]) > 1)
      return model_contradicts(c, "direction of root %d must be -1, 0 or 1, and is %d", i,
                               model->direction[i]);
  if (model->nstops < 0 || model->nstops > CP_PLUGIN_MAX_STOPS)
    return model_contradicts(c, "%d stops, 0 to %d are possible", model->nstops,
                             CP_PLUGIN_MAX_STOPS);
  for (int i = 0; i < model->nstops; i++)
    if (!(model->stop[i] > (i ? model->stop[i - 1] : 0) && model->stop[i] < c->type->t_end))
      return model_contradicts(
          c, "stop %d at t = %g is not behind the one before and before t_end = %g", i,
          (double)model->stop[i], (double)c->type->t_end);
  return 1;
}

/* -------------------------------------------------------------------------------------- sizes -- */

/* CPContactCreate checks each contact in more detail; these checks are those on which the runner relies. */
static int contacts_agree(const ModelCheck *c) {
  const CPPlugin *model   = c->model;
  const CPEquations *mech = &model->mech;
  const long np = (long)mech->np, nv = (long)(mech->nv > mech->np ? mech->nv : mech->np);
  if (model->ncontacts < 0 || (model->ncontacts > 0) != (model->contact != NULL))
    return model_contradicts(c, "%d contacts, but contact is %s", model->ncontacts,
                             model->contact ? "given" : "NULL");
  if (model->ncontacts == 0) return 1;
  if (mech->nu == 0 || !mech->M || !mech->A || !mech->b || mech->f_lambda)
    return model_contradicts(c, "contacts need a CPMech with M, A and b, and without f_lambda");
  if (model->f || model->nroots > 0 || model->nstops > 0)
    return model_contradicts(c, "contacts exclude f, roots and stops, but %s",
                             model->f            ? "f is given"
                             : model->nroots > 0 ? "there are roots"
                                                 : "there are stops");
  const int dense = model->dense_events;
  if (dense < 0 || dense == 1 ||
      (dense > 0 && !(model->dense_time > 0 && isfinite(model->dense_time))))
    return model_contradicts(
        c, "dense_events must be 0 or at least 2, and dense_time positive: %d, %g", dense,
        (double)model->dense_time);
  if (model->ncompared > plugin_num_positions(model))
    return model_contradicts(c, "ncompared is %ld, beyond the %ld positions: velocities jump",
                             (long)model->ncompared, (long)plugin_num_positions(model));
  for (int i = 0; i < model->ncontacts; i++) {
    const CPContactPoint *contact = &model->contact[i];
    const long first = (long)contact->tangent, end = first + contact->ntangents;
    const int dry = contact->normal == -1 && contact->ntangents == 1; /* a known force closes it */
    if (!dry && (contact->normal < 0 || contact->normal >= np))
      return model_contradicts(c, "row %ld of contact %d is not from 0 to np - 1 = %ld",
                               (long)contact->normal, i, np - 1);
    if (contact->ntangents < 0 || (contact->ntangents > 0 && (first < np || end > nv)))
      return model_contradicts(
          c, "tangential rows %ld ... %ld of contact %d are not from np = %ld to nv - 1 = %ld",
          first, end - 1, i, np, nv - 1);
  }
  return 1;
}

int model_sizes_agree(ModelCheck *c) {
  const CPPlugin *model   = c->model;
  const CPEquations *mech = &model->mech;
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
  if (c->type->ncoordinates > plugin_num_positions(model))
    return model_contradicts(c, "%d coordinates have names, but there are %ld",
                             c->type->ncoordinates, (long)plugin_num_positions(model));
  if (c->type->nvelocities > mech->nu)
    return model_contradicts(c, "%d velocities have names, but there are %ld", c->type->nvelocities,
                             (long)mech->nu);
  if (model->ncompared < 0 || model->ncompared > n)
    return model_contradicts(c, "ncompared is %ld, but n is %ld", (long)model->ncompared, n);
  if (model->known && !c->type->reference)
    return model_contradicts(c, "known, but there is no reference");
  if (model->known && !(model->reference_error > 0 && isfinite(model->reference_error)))
    return model_contradicts(c, "reference_error must be > 0, and is %g",
                             (double)model->reference_error);
  if (!(model->closure >= 0 && isfinite(model->closure)))
    return model_contradicts(c, "closure must be 0 or positive, and is %g", (double)model->closure);
  return contacts_agree(c);
}

/* ------------------------------------------------------------------------------------ together -- */

int model_check_created(const CPPlugin *model, char *message, size_t length) {
  sunrealtype error = 0;
  char text[MODEL_MESSAGE];
  ModelCheck c = {
      .model = model, .type = model->type, .error = &error, .message = text, .length = sizeof text};
  if (length > 0) message[0] = '\0';
  if (model_sizes_agree(&c) && model_events_are_true(&c) &&
      (!model->type->points || model_drawing_is_possible(&c)))
    return 0;
  snprintf(message, length, "%s: %s", model->type->name, text);
  return 1;
}
