/* Actuators with a control: F = (gain + gain_x x + gain_v x') w + bias + bias_x x + bias_v x' for x = gear times a coordinate, on
 * which the force is gear F. The control w and the force F may be clamped. */
#include "elements.h"

enum { CONTROL, GEAR, GAIN, BIAS = GAIN + 3, NUM_PARAMS = BIAS + 3 };

static sunrealtype clamped(const Mechanism *b, int range, sunrealtype x, int *is_clamped) {
  const sunrealtype *p = range == NONE ? NULL : b->param + range;
  *is_clamped          = p && !(x > p[0] && x < p[1]);
  return p ? fmin(fmax(x, p[0]), p[1]) : x;
}

void bodiesActuator(const Mechanism *b, const Law *law, sunrealtype x, sunrealtype rate,
                    sunrealtype *T) {
  const sunrealtype *p = b->param + law->param, gear = p[GEAR], *gain = p + GAIN, *bias = p + BIAS;
  int off;
  const sunrealtype w = clamped(b, law->clamp[0], p[CONTROL], &off), s = gear * x, v = gear * rate;
  const sunrealtype F =
      (gain[0] + gain[1] * s + gain[2] * v) * w + bias[0] + bias[1] * s + bias[2] * v;
  T[0] = gear * clamped(b, law->clamp[1], F, &off);
  T[1] = off ? 0 : gear * gear * (gain[1] * w + bias[1]);
  T[2] = off ? 0 : gear * gear * (gain[2] * w + bias[2]);
}

/* Checks a range, whose ends are equal if there is none. Returns 0 or an error code that has been reported. */
static int checkRange(CPBodies b, const char *name, const char *what, const sunrealtype *range) {
  if (range[0] <= range[1]) return CP_SUCCESS;
  return refused(b, CP_ILL_INPUT, "%s: %s must begin below its end, and is %g to %g", name, what,
                 (double)range[0], (double)range[1]);
}

int bodiesAddActuator(CPBodies b, const CPActuator *actuator) {
  static const char *const fields[NUM_PARAMS] = {"control", "gear", "gain",   "gain_x",
                                                 "gain_v",  "bias", "bias_x", "bias_v"};
  static const char *const ends[2][2] = {{"control_min", "control_max"}, {"force_min", "force_max"}};
  const char *name                    = actuator->head.name;
  const sunrealtype *ranges[2]        = {actuator->control_range, actuator->force_range};
  const sunrealtype gear              = actuator->gear == 0 ? 1 : actuator->gear;
  int flag                            = bodiesCheckName(b, name, NUM_PARAMS + 4);
  Term term;
  if (flag) return flag;
  if ((flag = bodiesNamedCoordinate(b, name, actuator->of, &term)) < 0) return flag;
  if ((flag = bodiesCheckFinite(b, name, "gear", &gear, 1))) return flag;
  if ((flag = bodiesCheckFinite(b, name, "control", &actuator->control, 1))) return flag;
  if ((flag = bodiesCheckFinite(b, name, "gain", actuator->gain, 3))) return flag;
  if ((flag = bodiesCheckFinite(b, name, "bias", actuator->bias, 3))) return flag;
  if ((flag = checkRange(b, name, "control_range", ranges[0]))) return flag;
  if ((flag = checkRange(b, name, "force_range", ranges[1]))) return flag;
  if (ROOM(b->m.law, b->m.nlaws, 1) || ROOM(b->m.term, b->m.nterms, 1))
    return bodiesNoMemory(b, name);
  const int i = b->m.nlaws++, text = bodiesTakeName(b, name, NAME_LAW, i);
  Law *law = &b->m.law[i];
  *law     = (Law){.kind      = MOTOR,
                   .name      = text,
                   .term      = bodiesTakeTerms(b, &term, 1),
                   .nterms    = 1,
                   .param     = b->m.nparams,
                   .force     = NONE,
                   .joint     = NONE,
                   .inertance = NONE,
                   .clamp     = {NONE, NONE}};
  for (int k = 0; k < NUM_PARAMS; k++)
    bodiesTakeParam(b, text, fields[k],
                    k == CONTROL ? actuator->control
                    : k == GEAR  ? gear
                    : k < BIAS   ? actuator->gain[k - GAIN]
                                 : actuator->bias[k - BIAS]);
  for (int k = 0; k < 2; k++) {
    if (!(ranges[k][0] < ranges[k][1])) continue;
    law->clamp[k] = bodiesTakeParam(b, text, ends[k][0], ranges[k][0]);
    bodiesTakeParam(b, text, ends[k][1], ranges[k][1]);
  }
  return NONE;
}
