/* The summary for programs. Numbers that are unknown or not finite are null. */
#include "files.h"
#include "judge.h"
#include "writers.h"

#include <math.h>
#include <string.h>
#include <sundials/sundials_config.h>

static json_t *numbers(const double *x, long count) {
  json_t *array = json_array();
  for (long i = 0; i < count; i++) json_array_append_new(array, json_number(x[i]));
  return array;
}

/* Users' texts may not be UTF-8. */
static json_t *text(const char *string) {
  json_t *value = string ? json_string(string) : json_null();
  return value ? value : json_string("(not UTF-8)");
}

static json_t *describe_model(const RunInfo *info) {
  const ModelChoice *choice = &info->settings->model;
  json_t *parameters        = json_object();
  for (int i = 0; i < choice->type->nparameters; i++)
    json_object_set_new(parameters, choice->type->parameters[i].name,
                        json_number(choice->values[i]));
  return json_pack("{s:o,s:o,s:o,s:o,s:I,s:I,s:I,s:I,s:I}", "name", text(choice->type->name),
                   "title", text(choice->type->title), "source", text(choice->type->source),
                   "parameters", parameters, "n", (json_int_t)info->n, "nq", (json_int_t)info->nq,
                   "nu", (json_int_t)info->nu, "multipliers", (json_int_t)info->nlambda, "compared",
                   (json_int_t)info->ncompared);
}

static json_t *describe_settings(const RunInfo *info) {
  const RunSettings *s = info->settings;
  return json_pack("{s:o,s:o,s:o,s:o,s:I,s:s,s:o,s:o}", "method", text(info->method), "rtol",
                   json_number(s->rtol), "atol", json_number(s->atol), "t_end",
                   json_number(s->t_end), "outputs", (json_int_t)s->outputs, "form",
                   s->form == FORM_MECH ? "mech" : "ode", "linsol", text(s->linsol), "norm",
                   text(s->norm));
}

static json_t *describe_end_state(const History *h) {
  json_t *names = json_array(), *units = json_array();
  for (long i = 0; i < h->info->n; i++) {
    char name[RUN_TEXT], unit[RUN_TEXT];
    component_name(h->info, i, name, sizeof name);
    json_array_append_new(names, text(name));
    json_array_append_new(units, text(component_unit(h->info, i, unit, sizeof unit)));
  }
  return json_pack("{s:o,s:o,s:o,s:o}", "t", json_number(h->last_t), "names", names, "units", units,
                   "y", numbers(h->last, h->info->n));
}

static json_t *describe_quantities(const History *h) {
  const RunInfo *info      = h->info;
  const CPPluginType *type = info->settings->model.type;
  json_t *array            = json_array();
  for (int k = 0; k < 2 * info->nquantities; k++) { /* outputs first */
    const int i = k % info->nquantities;
    if (is_output(info, i) != (k < info->nquantities)) continue;
    const CPPluginQuantity *q = &type->quantities[i];
    json_t *object =
        json_pack("{s:o,s:o,s:b,s:b,s:o,s:o,s:o,s:o,s:o,s:o}", "name", text(q->name), "unit",
                  text(q->unit), "conserved", is_conserved(info, i), "output", is_output(info, i),
                  "scale", json_number(h->scales.quantity[i]), "first",
                  json_number(h->first_quantity[i]), "last", json_number(h->last_quantity[i]),
                  "drift", json_number(h->most_drift[i]), "rise", json_number(h->most_rise[i]),
                  "tighter", json_number(h->scales.tighter[i] * h->scales.quantity[i]));
    if (object && is_output(info, i)) {
      json_object_set_new(object, "least", json_number(h->least_quantity[i]));
      json_object_set_new(object, "least_t", json_number(h->least_at[i]));
      json_object_set_new(object, "most", json_number(h->least_quantity[i] + h->most_spread[i]));
      json_object_set_new(object, "most_t", json_number(h->most_at[i]));
    }
    json_array_append_new(array, object);
  }
  return array;
}

static json_t *describe_violations(const History *h) {
  json_t *object = json_object();
  for (int i = 0; i < NUM_LEVELS; i++)
    if (level_exists(h->info, i))
      json_object_set_new(object, level_name(i),
                          json_pack("{s:o,s:o}", "largest", json_number(h->most_violation[i]), "t",
                                    json_number(h->when[i])));
  return object;
}

static json_t *describe_counts(const History *h) {
  const RunResult *r = &h->result;
  return json_pack(
      "{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "steps", (json_int_t)r->steps, "rhs",
      (json_int_t)r->rhs, "jacobians", (json_int_t)r->jacobians, "factorisations",
      (json_int_t)r->factorisations, "projections", (json_int_t)r->projections,
      "rejected_error_test", (json_int_t)r->rejected_error, "rejected_projection",
      (json_int_t)r->rejected_projection, "rejected_iteration", (json_int_t)r->rejected_solve,
      "rejected_rhs", (json_int_t)r->rejected_rhs, "samples", (json_int_t)r->samples, "unevaluated",
      (json_int_t)h->unevaluated, "work", (json_int_t)r->work);
}

static json_t *describe_contact(const RunEvent *e) {
  return json_pack("{s:s,s:o,s:o,s:i,s:s,s:s,s:b,s:b}", "kind", "contact", "t", json_number(e->t),
                   "contact", text(e->contact), "number", e->root, "before", phase_name(e->before),
                   "after", phase_name(e->after), "impact", e->struck, "accumulated",
                   e->accumulated);
}

static json_t *describe_time_stepping(const RunEvent *e) {
  return json_pack("{s:s,s:o,s:s}", "kind", "time stepping", "t", json_number(e->t), "end",
                   e->direction > 0 ? "begins" : "ends");
}

static json_t *describe_events(const History *h) {
  json_t *array = json_array();
  for (long i = 0; i < h->events && i < HISTORY_EVENTS; i++) {
    const RunEvent *e = &h->event[i];
    json_array_append_new(
        array, e->kind == EVENT_CONTACT         ? describe_contact(e)
               : e->kind == EVENT_TIME_STEPPING ? describe_time_stepping(e)
               : e->kind == EVENT_NAMED
                   ? json_pack("{s:s,s:o,s:o}", "kind", "named", "t", json_number(e->t), "name",
                               text(e->name))
                   : json_pack("{s:s,s:o,s:i,s:i}", "kind", e->kind == EVENT_ROOT ? "root" : "stop",
                               "t", json_number(e->t), "root", e->root, "direction", e->direction));
  }
  return array;
}

/* From when on which method was used, after that of the settings */
static json_t *describe_changes(const History *h) {
  json_t *array = json_array();
  for (long i = 0; i < h->changes && i < HISTORY_CHANGES; i++)
    json_array_append_new(array,
                          json_pack("{s:o,s:s,s:b}", "t", json_number(h->change[i].t), "method",
                                    h->change[i].method, "stiff", h->change[i].reason == IS_STIFF));
  return array;
}

/* What acts on the motion in the model's source and is missing: an array of lines */
static json_t *describe_left_out(const History *h) {
  json_t *array = json_array();
  for (const char *line = h->info->settings->model.type->left_out; line && *line;) {
    const size_t length = strcspn(line, "\n");
    json_t *value       = json_stringn(line, length);
    json_array_append_new(array, value ? value : json_string("(not UTF-8)"));
    line += length + (line[length] == '\n');
  }
  return array;
}

/* The sizes by which errors are judged, by unit */
static json_t *describe_scales(const History *h) {
  json_t *object = json_object();
  for (int i = 0; i < h->scales.nunits; i++)
    json_object_set_new(object, *h->scales.unit[i].name ? h->scales.unit[i].name : "unknown",
                        json_number(h->scales.unit[i].scale));
  return object;
}

/* component: of a quaternion the first one */
static json_t *describe_distance(const History *h, const Distance *d) {
  char name[RUN_TEXT];
  if (d->component < 0 || isnan(d->part)) return json_null();
  component_name(h->info, d->component, name, sizeof name);
  return json_pack("{s:o,s:o,s:o,s:o,s:o}", "part", json_number(d->part), "error",
                   json_number(d->error), "unit", text(distance_unit(h->info, &h->scales, d)),
                   "component", text(name), "t", json_number(d->t));
}

static json_t *describe_contacts(const RunResult *r) {
  if (r->ncontacts == 0) return json_null();
  return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I}", "number", (json_int_t)r->ncontacts, "events",
                   (json_int_t)r->contact_events, "impacts", (json_int_t)r->impacts,
                   "accumulations", (json_int_t)r->accumulations, "reduced_restitutions",
                   (json_int_t)r->reduced, "intervals", (json_int_t)r->intervals);
}

static json_t *describe_command(int argc, char **argv) {
  json_t *array = json_array();
  for (int i = 0; i < argc; i++) json_array_append_new(array, text(argv[i]));
  return array;
}

static json_t *describe_estimate_of(const History *h) {
  const RunResult *r = &h->result;
  const Estimate *e  = &r->estimate;
  if (!e->wanted || r->ending != RUN_DONE) return json_null();
  return json_pack("{s:o,s:o,s:o,s:o,s:b,s:o,s:b,s:o,s:o,s:o,s:o,s:o,s:o}", "error",
                   json_number(e->error), "part", json_number(e->part), "worst",
                   describe_distance(h, &e->worst), "apart", json_number(e->apart), "chaotic",
                   e->chaotic, "digits_lost_after", json_number(e->lost), "stopped", e->stopped,
                   "reached", json_number(e->reached), "method", text(e->method), "rtol",
                   json_number(e->rtol), "cost", json_number(e->work / r->work), "seconds",
                   json_number(e->seconds), "message", text(e->message));
}

static void add_reason(void *array, const char *reason) {
  json_array_append_new(array, text(reason));
}

static json_t *describe_run(const History *h, int argc, char **argv) {
  const RunResult *r = &h->result;
  json_t *reasons    = json_array();
  char text_of[VERDICT_TEXT];
  const Verdict verdict = judge(h, add_reason, reasons);
  return json_pack(
      "{s:s,s:s,s:o,s:o,s:o,s:s,s:o,s:s,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:I,s:o,s:o,s:o,s:o,s:o,s:{s:I,"
      "s:"
      "I,s:b},s:o,s:o,s:o,s:o,s:o,s:o}",
      "cpodes", CPGetVersion(NULL, NULL, NULL), "sundials", SUNDIALS_VERSION, "command",
      describe_command(argc, argv), "model", describe_model(h->info), "settings",
      describe_settings(h->info), "ending", ending_name(r->ending), "message", text(r->message),
      "verdict", verdict_text(h, verdict, text_of), "reasons", reasons, "t", json_number(r->t),
      "end", describe_end_state(h), "quantities", describe_quantities(h), "violations",
      describe_violations(h), "counts", describe_counts(h), "events", describe_events(h),
      "events_seen", (json_int_t)h->events, "methods", describe_changes(h), "left_out",
      describe_left_out(h), "scales", describe_scales(h), "off", describe_distance(h, &r->off),
      "seconds", json_number(r->seconds), "rank", "rank", (json_int_t)r->rank, "constraints",
      (json_int_t)r->constraints, "unique", r->unique, "error", json_number(r->error),
      "reference_error", json_number(h->info->known ? h->info->reference_error : NAN), "flag",
      json_integer(r->flag), "reference_late", json_number(r->late), "estimate",
      describe_estimate_of(h), "contacts", describe_contacts(r));
}

int json_write(const History *history, int argc, char **argv, const char *path) {
  return json_save(describe_run(history, argc, argv), path);
}
