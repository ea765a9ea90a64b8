#include "records.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const names[NUM_LEVELS] = {"position", "velocity", "norm", "invariant"};

const char *level_name(RunLevel level) { return names[level]; }

bool level_exists(const RunInfo *info, RunLevel level) {
  const bool mech = info->settings->form == FORM_MECH;
  switch (level) {
  case LEVEL_POSITION: return mech && info->np > 0;
  case LEVEL_VELOCITY: return mech && info->nv > 0;
  case LEVEL_NORM: return mech && info->has_norms;
  default: return !mech && info->nv > 0;
  }
}

const char *ending_name(RunEnding ending) {
  static const char *const endings[] = {[RUN_DONE]        = "done",
                                        [RUN_FAILED]      = "failed",
                                        [RUN_CRASHED]     = "crashed",
                                        [RUN_INTERRUPTED] = "interrupted",
                                        [RUN_UNWRITTEN]   = "unwritten"};
  return endings[ending];
}

long rejections(const RunResult *r) {
  return r->rejected_error + r->rejected_projection + r->rejected_rhs + r->rejected_solve;
}

void describe_rejections(const RunResult *result, char *text, size_t length) {
  const struct {
    const char *reason;
    long count;
  } rejected[] = {{"error test", result->rejected_error},
                  {"projection", result->rejected_projection},
                  {"iteration", result->rejected_solve},
                  {"right-hand side", result->rejected_rhs}};
  size_t used  = 0;
  text[0]      = '\0';
  for (size_t i = 0; i < sizeof rejected / sizeof rejected[0] && used < length; i++)
    if (rejected[i].count > 0)
      used += (size_t)snprintf(text + used, length - used, "%s%s: %ld", used ? ", " : "",
                               rejected[i].reason, rejected[i].count);
  if (!used) snprintf(text, length, "none");
}

/* ---- names of the state's components ---- */

/* The model's name for component i, a velocity, or NULL. */
static const CPPluginCoordinate *velocity_of(const RunInfo *info, long i) {
  const CPPluginType *type = info->settings->model.type;
  const long u             = i - info->nq;
  return type->velocities && u >= 0 && u < info->nu && u < type->nvelocities ? &type->velocities[u]
                                                                             : NULL;
}

/* The model's name for component i, an auxiliary state, or NULL. */
static const CPPluginCoordinate *auxiliary_of(const RunInfo *info, long i) {
  const CPPluginType *type = info->settings->model.type;
  const long z             = i - info->nq - info->nu;
  return type->auxiliaries && z >= 0 && z < type->nauxiliaries ? &type->auxiliaries[z] : NULL;
}

/* Do the names say that u_i is the rate of q_i? */
static bool is_rate(const RunInfo *info, long i) {
  return i >= info->nq && i < info->nq + info->nu && info->nq == info->nu;
}

/* The coordinate that component i is, or whose rate it is; NULL if it has no name. */
static const CPPluginCoordinate *coordinate_of(const RunInfo *info, long i) {
  const CPPluginType *type = info->settings->model.type;
  const long q             = is_rate(info, i) ? i - info->nq : i;
  return type->coordinates && q < info->nq && q < type->ncoordinates ? &type->coordinates[q] : NULL;
}

void component_name(const RunInfo *info, long i, char *text, size_t length) {
  const bool rate             = is_rate(info, i);
  const CPPluginCoordinate *c = coordinate_of(info, i), *v = velocity_of(info, i);
  if (!v) v = auxiliary_of(info, i);
  if (i >= info->n) {
    char of[RUN_TEXT];
    velocity_name(info, i - info->n, of, sizeof of);
    snprintf(text, length, "the reaction on %.500s", of);
  } else if (v) snprintf(text, length, "%s", v->name);
  else if (c) snprintf(text, length, "%s%s", c->name, rate ? "'" : "");
  else if (i < info->nq) snprintf(text, length, "q%ld", i);
  else if (i < info->nq + info->nu) snprintf(text, length, "u%ld", i - info->nq);
  else snprintf(text, length, "z%ld", i - info->nq - info->nu);
}

void velocity_name(const RunInfo *info, long i, char *text, size_t length) {
  component_name(info, info->nq + i, text, length);
}

/* Writes word i of a list that repeats. */
static void repeated_word(const char *words, long i, char *text, size_t length) {
  long count = 1;
  for (const char *at = words; (at = strchr(at, ' ')); at++) count++;
  for (i %= count; i > 0; i--) words = strchr(words, ' ') + 1;
  snprintf(text, length, "%.*s", (int)strcspn(words, " "), words);
}

/* The unit of a rate. */
static void write_rate(const char *unit, char *text, size_t length) {
  if (!*unit_text(unit)) snprintf(text, length, "1/s");
  else snprintf(text, length, "%s/s", unit);
}

const char *component_unit(const RunInfo *info, long i, char *text, size_t length) {
  const CPPluginType *type = info->settings->model.type;
  char unit[RUN_TEXT];
  const bool rate             = is_rate(info, i);
  const CPPluginCoordinate *c = coordinate_of(info, i), *v = velocity_of(info, i);
  if (!v) v = auxiliary_of(info, i);
  text[0] = '\0';
  if (v) snprintf(text, length, "%s", unit_text(v->unit));
  if (!v && !c && i < info->nq + info->nu && (i < info->nq || rate) && type->units) {
    repeated_word(type->units, rate ? i - info->nq : i, unit, sizeof unit);
    if (rate) write_rate(unit, text, length);
    else snprintf(text, length, "%s", unit_text(unit));
  } else if (!v && !c && i >= info->nq && i < info->nq + info->nu && type->velocity_units) {
    repeated_word(type->velocity_units, i - info->nq, text, length);
  }
  if (v || !c || !c->unit || !c->unit[0]) return text;
  if (rate) write_rate(c->unit, text, length);
  else snprintf(text, length, "%s", unit_text(c->unit));
  return text;
}

const char *unit_text(const char *unit) { return unit && strcmp(unit, "1") != 0 ? unit : ""; }

const char *unit_space(const char *unit) { return *unit_text(unit) ? " " : ""; }

const char *distance_unit(const RunInfo *info, const Scales *scales, const Distance *d) {
  char unit[RUN_TEXT];
  if (d->unit >= 0) return scales->unit[d->unit].name;
  component_unit(info, info->nq + d->component - info->n, unit, sizeof unit);
  return !strcmp(unit, "m/s") ? "N" : !strcmp(unit, "rad/s") ? "N m" : "";
}

const char *component_meaning(const RunInfo *info, long i) {
  const CPPluginType *type    = info->settings->model.type;
  const bool named            = i < info->nq && i < type->ncoordinates;
  const CPPluginCoordinate *c = named                  ? &type->coordinates[i]
                                : velocity_of(info, i) ? velocity_of(info, i)
                                                       : auxiliary_of(info, i);
  return c && c->meaning ? c->meaning : "";
}

bool is_conserved(const RunInfo *info, int i) { return info->conserved[i] != 0; }

bool is_output(const RunInfo *info, int i) {
  return info->settings->model.type->quantities[i].conserved == CP_QUANTITY_FREE;
}

/* The contact whose row is multiplier i, or NULL. */
static const RunContact *contact_of(const RunInfo *info, long i) {
  for (int k = 0; k < info->ncontacts; k++) {
    const RunContact *c = &info->contact[k];
    if (i == c->normal || (i >= c->tangent && i < c->tangent + c->ntangents)) return c;
  }
  return NULL;
}

void multiplier_name(const RunInfo *info, long i, char *text, size_t length) {
  const CPPluginType *type = info->settings->model.type;
  const RunContact *c      = contact_of(info, i);
  if (i < type->nmultipliers && type->multipliers[i].name)
    snprintf(text, length, "%s", type->multipliers[i].name);
  else if (!c) snprintf(text, length, "lambda%ld", i);
  else if (i == c->normal) snprintf(text, length, "N %s", c->name);
  else if (c->ntangents == 1) snprintf(text, length, "F %s", c->name);
  else snprintf(text, length, "F%ld %s", 1 + i - c->tangent, c->name);
}

const char *multiplier_unit(const RunInfo *info, long i) {
  const CPPluginType *type = info->settings->model.type;
  if (i < type->nmultipliers && type->multipliers[i].name)
    return unit_text(type->multipliers[i].unit);
  return contact_of(info, i) && has_units(info) ? "N" : "";
}

void gap_name(const RunInfo *info, long i, char *text, size_t length) {
  snprintf(text, length, "gap %s", info->contact[i].name);
}

void contact_phase_name(const RunInfo *info, long i, char *text, size_t length) {
  snprintf(text, length, "phase %s", info->contact[i].name);
}

const char *gap_unit(const RunInfo *info) { return has_units(info) ? "m" : ""; }

bool has_units(const RunInfo *info) {
  const CPPluginType *type = info->settings->model.type;
  bool has                 = !type->coordinates; /* without coordinates: SI, as in most models */
  for (int i = 0; type->coordinates && i < type->ncoordinates; i++)
    has = has || *unit_text(type->coordinates[i].unit);
  return has;
}

bool is_selected(const char *list, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
    if (!strncmp(at, name, length) && (at[length] == ',' || !at[length])) return true;
  return !list;
}

const char *number_text(char *text, double value, int digits) {
  if (isnan(value)) return "not known";
  if (isinf(value)) return value > 0 ? "infinite" : "-infinite";
  snprintf(text, NUMBER_TEXT, "%.*g", digits, value);
  char *exponent = strchr(text, 'e');
  if (!exponent) return text;
  exponent += exponent[1] == '-' ? 2 : 1; /* past "e-", or at the plus of "e+" */
  const size_t zeros = strspn(exponent, "+0");
  memmove(exponent, exponent + zeros, strlen(exponent + zeros) + 1);
  return text;
}

int digits_apart(double a, double b) {
  enum { FEWEST = 6, MOST = 17 };
  char one[NUMBER_TEXT], other[NUMBER_TEXT];
  int digits = FEWEST;
  for (; digits < MOST && a != b; digits++) {
    snprintf(one, sizeof one, "%.*g", digits, a);
    snprintf(other, sizeof other, "%.*g", digits, b);
    if (strcmp(one, other) != 0) break;
  }
  return digits;
}

int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int refuse(char *message, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, RUN_TEXT, format, arguments);
  va_end(arguments);
  return -1;
}

void describe_ending(const char *whom, bool begun, const RunResult *r, char *text, size_t length) {
  const bool crashed = r->ending == RUN_CRASHED;
  if (r->flag == RUN_FLAG_USAGE || (!begun && !crashed)) snprintf(text, length, "%s", r->message);
  else if (!begun) snprintf(text, length, "%s: %s, before the start", whom, r->message);
  else if (strstr(r->message, "t = ")) snprintf(text, length, "%s: %s", whom, r->message);
  else snprintf(text, length, "%s: %s, at t = %.10g", whom, r->message, r->t);
}

const char *phase_name(int phase) {
  static const char *const phases[NUM_PHASES] = {[PHASE_OPEN]     = "open",
                                                 [PHASE_SLIDING]  = "sliding",
                                                 [PHASE_STICKING] = "sticking",
                                                 [PHASE_CLOSED]   = "closed",
                                                 [PHASE_STEPPED]  = "time stepping"};
  return phases[phase];
}

const char *reason_of_method(const RunEvent *e) {
  static const char *const reasons[] = {[IS_STIFF]        = "the motion has become stiff",
                                        [IS_NOT_STIFF]    = "the motion is no longer stiff",
                                        [STARTS_SINGULAR] = "the start is a singular position",
                                        [LEFT_SINGULAR]   = "the singular position is left"};
  if (e->reason != LONG_STEPS) return reasons[e->reason];
  return !strcmp(e->method, "bs32") ? "a step reaches each restart" : "bs32 takes more steps";
}

const char *describe_event(const RunEvent *e, char *text, size_t length) {
  if (e->kind == EVENT_STOP)
    snprintf(text, length, "a kink of the forces: the integration restarts");
  else if (e->kind == EVENT_ROOT)
    snprintf(text, length, "event function %d passes 0, %s", e->root,
             e->direction > 0 ? "rising" : "falling");
  else if (e->kind == EVENT_TIME_STEPPING)
    snprintf(text, length, "%s",
             e->direction > 0
                 ? "events can no longer be located one by one: time stepping from here"
                 : "the contacts are calm: time stepping ends");
  else if (e->kind == EVENT_NAMED) snprintf(text, length, "%s", e->name);
  else if (e->kind == EVENT_METHOD)
    snprintf(text, length, "%s: from here on by %s", reason_of_method(e), e->method);
  else if (e->accumulated)
    snprintf(text, length, "%s: the last of infinitely many impacts, from then on %s", e->contact,
             phase_name(e->after));
  else if (e->before == e->after) snprintf(text, length, "%s: an impact", e->contact);
  else
    snprintf(text, length, "%s: %s, then %s%s", e->contact, phase_name(e->before),
             phase_name(e->after), e->struck ? ", with an impact" : "");
  return text;
}

bool estimate_failed(const Estimate *e) { return e->wanted && e->message[0] && !e->stopped; }

void describe_estimate(const Estimate *e, char *text, size_t length) {
  char error[NUMBER_TEXT], rtol[NUMBER_TEXT], lost[NUMBER_TEXT], until[NUMBER_TEXT + 20] = "";
  const bool names_time = strstr(e->message, "t = ") != NULL;
  number_text(lost, e->lost, 3);
  if (e->stopped)
    snprintf(until, sizeof until, ", from t = 0 to %s", number_text(error, e->reached, 3));
  number_text(error, e->error, 1);
  if (e->chaotic && isnan(e->lost))
    snprintf(text, length, "chaotic: runs at rtol %s and %s differ by %s of a scale",
             number_text(rtol, e->tight[0], 1), number_text(until, e->tight[1], 1),
             number_text(error, e->apart, 1));
  else if (e->chaotic) snprintf(text, length, "chaotic: digits are lost after t = %s s", lost);
  else if (isnan(e->error) && !e->method[0])
    snprintf(text, length, "not estimated: the second run failed: %s", e->message);
  else if (isnan(e->error))
    snprintf(text, length, "not estimated: a second run, %s at rtol %s, failed%s%s: %s", e->method,
             number_text(rtol, e->rtol, 1),
             names_time ? "" : " at t = ", names_time ? "" : number_text(error, e->reached, 3),
             e->message);
  else if (!isnan(e->lost))
    snprintf(text, length, "about %s (estimated%s); digits are lost after t = %s s", error, until,
             lost);
  else snprintf(text, length, "about %s (estimated%s)", error, until);
}
