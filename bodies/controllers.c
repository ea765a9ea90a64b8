/* Sampled controllers: functions of quantities that programs evaluate at their times, as the quantity NAME.output, and whose values
 * they hold in a parameter. */
#include "formulas.h"

#include <stdio.h>
#include <string.h>

/* The parameter that a controller sets: that of this name, or the control of the actuator of this name. Returns its index, or an
 * error code that has been reported. */
static int parameterOf(CPBodies b, const char *name, const char *of) {
  char text[TEXT];
  int i;
  if (!of) return refused(b, CP_ILL_INPUT, "%s: of must name an actuator or a parameter", name);
  snprintf(text, sizeof text, "%.400s%s", of, strchr(of, '.') ? "" : ".control");
  const CPLog before = b->log;
  const int flag     = CPBodiesFind(b, CP_PARAMETER, text, &i);
  if (!flag) return i;
  b->log = before;
  return refused(b, CP_ILL_INPUT, "%s: there is no parameter \"%.200s\" to set", name, text);
}

int bodiesTakeInputs(CPBodies b, const char *name, const char *inputs, int any, Sensor *input,
                     int *ninputs) {
  char rule[RULE_TEXT], word[TEXT];
  for (const char *at = bodiesNextWord(inputs ? inputs : "", word); *word;
       at             = bodiesNextWord(at, word)) {
    Sensor *s = &input[*ninputs];
    if (1 + *ninputs == CP_MOST_VARIABLES)
      return refused(b, CP_ILL_INPUT, "%s: a function has at most %d variables", name,
                     CP_MOST_VARIABLES);
    if (bodiesSensor(&b->m, NULL, word, s, rule))
      return refused(b, CP_ILL_INPUT, "%s: %s", name, rule);
    if (s->vector && s->component == NONE)
      return refused(b, CP_ILL_INPUT, "%s: %.100s is a vector; it needs a component", name, word);
    if (any && (s->kind == NAME_CONTROLLER || s->kind == NAME_RELEASE))
      return refused(b, CP_NOT_SUPPORTED, "%s: %.100s belongs to a controller or a release", name,
                     word);
    if (!any &&
        (s->kind == NAME_CONTROLLER || s->kind == NAME_RELEASE || bodiesSensorNeeds(&b->m, s)))
      return refused(
          b, CP_NOT_SUPPORTED,
          "%s: %.100s depends on accelerations, reactions or controllers, which depend on "
          "controls",
          name, word);
    ++*ninputs;
  }
  return CP_SUCCESS;
}

int bodiesAddController(CPBodies b, const CPController *controller) {
  const char *name = controller->head.name;
  Controller c     = {
          .period = controller->period, .first = controller->first, .delay = controller->delay};
  int flag = bodiesCheckName(b, name, 0);
  if (!flag) flag = bodiesCheckSign(b, name, "period", c.period, 1);
  if (!flag) flag = bodiesCheckSign(b, name, "delay", c.delay, 0);
  if (!flag) flag = bodiesCheckFinite(b, name, "first", &c.first, 1);
  if (flag) return flag;
  if (!controller->function)
    return refused(b, CP_ILL_INPUT, "%s: a controller must have a function", name);
  if ((c.param = parameterOf(b, name, controller->of)) < 0) return c.param;
  if ((flag = bodiesTakeInputs(b, name, controller->inputs, 0, c.input, &c.ninputs))) return flag;
  if (ROOM(b->m.controller, b->m.ncontrollers, 1)) return bodiesNoMemory(b, name);
  if ((flag = bodiesTakeFormula(b, name, FOR_SAMPLES, 1, &controller->function, c.ninputs, NULL,
                                &c.formula)))
    return flag;
  const int i        = b->m.ncontrollers++;
  c.name             = bodiesTakeName(b, name, NAME_CONTROLLER, i);
  b->m.controller[i] = c;
  return i;
}
