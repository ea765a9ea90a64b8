#include "records.h"

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

static const CPModelCoordinate *coordinate(const RunInfo *info, long i) {
  const CPModelType *type = info->settings->model.type;
  return type->coordinates && i < type->ncoordinates ? &type->coordinates[i] : NULL;
}

/* u_i is the velocity of q_i, as far as the names go */
static bool is_rate(const RunInfo *info, long i) {
  return i >= info->nq && i < info->nq + info->nu && info->nq == info->nu;
}

void component_name(const RunInfo *info, long i, char *text, size_t length) {
  const bool rate            = is_rate(info, i);
  const CPModelCoordinate *c = i < info->nq ? coordinate(info, i)
                               : rate       ? coordinate(info, i - info->nq)
                                            : NULL;
  if (c) snprintf(text, length, "%s%s", c->name, rate ? "'" : "");
  else if (i < info->nq) snprintf(text, length, "q%ld", i);
  else if (i < info->nq + info->nu) snprintf(text, length, "u%ld", i - info->nq);
  else snprintf(text, length, "z%ld", i - info->nq - info->nu);
}

const char *component_unit(const RunInfo *info, long i, char *text, size_t length) {
  const bool rate            = is_rate(info, i);
  const CPModelCoordinate *c = i < info->nq ? coordinate(info, i)
                               : rate       ? coordinate(info, i - info->nq)
                                            : NULL;
  text[0]                    = '\0';
  if (!c || !c->unit || !c->unit[0]) return text;
  if (!rate) snprintf(text, length, "%s", c->unit);
  else if (c->unit[0] == '1' && !c->unit[1]) snprintf(text, length, "1/s");
  else snprintf(text, length, "%s/s", c->unit);
  return text;
}

void describe_ending(const char *whom, bool begun, const RunResult *r, char *text, size_t length) {
  const bool crashed = r->ending == RUN_CRASHED;
  if (r->flag == RUN_FLAG_USAGE || (!begun && !crashed)) snprintf(text, length, "%s", r->message);
  else if (!begun) snprintf(text, length, "%s: %s, before the start", whom, r->message);
  else if (strstr(r->message, "t = ")) snprintf(text, length, "%s: %s", whom, r->message);
  else snprintf(text, length, "%s: %s, at t = %.10g", whom, r->message, r->t);
}
