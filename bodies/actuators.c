/* Actuators with a control (laws.h), and their activations */
#include "elements.h"
#include "laws.h"
#include "muscles.h"

#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

int lawOwnForce(const Mechanism *b, const Law *law, sunrealtype t, sunrealtype s, sunrealtype rate,
                sunrealtype w, Order order, sunrealtype F[4]) {
  if (law->muscle != NONE) muscleForce(b->param + law->muscle, s, rate, w, F);
  if (!law->formula) return 0;
  const sunrealtype own[3] = {s, rate, w};
  sunrealtype value, g[CP_MOST_VARIABLES] = {0};
  const int flag = bodiesFormula(b, law->formula, 0, t, 3, own, &value, order > VALUES ? g : NULL);
  F[0] += value;
  for (int k = 1; k < 4; k++) F[k] += g[k];
  return flag;
}

/* The number of times that an activation has */
static int countTimes(CPActivation kind) {
  return kind == CP_ACTIVATION_FILTER ? 1 : kind == CP_ACTIVATION_MUSCLE ? 3 : 0;
}

void bodiesActivations(const Mechanism *b, sunrealtype *zdot, SUNMatrix Zz, const sunrealtype *dp,
                       sunrealtype *change) {
  for (int i = 0; i < b->nlaws && b->nactivations > 0; i++) {
    const Law *law = &b->law[i];
    const int k    = law->activation - 1;
    if (k < 0) continue;
    const sunrealtype *range = law->clamp[OF_ACTIVATION] == NONE
                                   ? NULL
                                   : b->param + law->clamp[OF_ACTIVATION],
                      z      = b->z[k];
    ActivationSlopes slope;
    int off;
    const int control = law->param + CONTROL, limits = law->clamp[OF_CONTROL];
    const sunrealtype w = lawClamped(b, limits, NONE, b->param[control], &off);
    sunrealtype rate    = activationRate(law->dynamics, b->param + law->times, w, z, &slope);
    if (range) {
      const int own = z >= range[1] && rate > 0 ? 1 : z <= range[0] && rate < 0 ? -1 : 0;
      /* Beyond an end it may come back. */
      const sunrealtype inside[3][2] = {{-rate, INFINITY},
                                        {z < range[0] && rate > 0 ? INFINITY : z - range[0],
                                         z > range[1] && rate < 0 ? INFINITY : range[1] - z},
                                        {rate, INFINITY}};
      if (bodiesPieceOf(b, lawPlace(law, AT_RATE), own, inside))
        rate = 0, slope = (ActivationSlopes){0};
    }
    if (zdot) zdot[k] = rate;
    if (Zz) SM_ELEMENT_D(Zz, k, k) = slope.z;
    if (!change) continue;
    change[k] += slope.w * dp[off ? limits + (w == b->param[limits + 1]) : control];
    for (int j = 0; j < countTimes(law->dynamics); j++)
      change[k] += slope.time[j] * dp[law->times + j];
  }
}

int bodiesFillFz(const Mechanism *b, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                 AddLaw *addOn, SUNMatrix Fz) {
  int flag = 0;
  for (int i = 0; i < b->nlaws && Fz && !flag; i++) {
    const Law *law = &b->law[i];
    sunrealtype x, rate, T[4];
    if (law->activation == 0) continue;
    bodiesLawAt(b, i, q, u, &x, &rate);
    flag = lawActuator(b, law, t, x, rate, GRADIENT, T);
    addOn(b, law, T[3], SM_COLUMN_D(Fz, law->activation - 1));
  }
  return flag;
}

/* ---- checks ---- */

/* Checks a range, whose ends are equal if there is none. Returns 0 or an error code that has been reported. */
static int checkRange(CPBodies b, const char *name, const char *what, const sunrealtype *range) {
  if (range[0] <= range[1]) return CP_SUCCESS;
  return refused(b, CP_ILL_INPUT, "%s: %s must begin below its end, and is %g to %g", name, what,
                 (double)range[0], (double)range[1]);
}

static int checkActivation(CPBodies b, const char *name, const CPActuator *a) {
  const sunrealtype *range = a->activation_range;
  int flag                 = bodiesCheckFinite(b, name, "activation", &a->activation, 1);
  if ((int)a->dynamics < 0 || a->dynamics > CP_ACTIVATION_MUSCLE)
    return refused(b, CP_ILL_INPUT, "%s: dynamics must be one of CPActivation's, and is %d", name,
                   (int)a->dynamics);
  if (!flag) flag = checkRange(b, name, "activation_range", range);
  for (int k = 0; k < countTimes(a->dynamics) && !flag; k++)
    flag = bodiesCheckSign(b, name, "times", a->times[k], k < 2);
  if (flag || a->dynamics != CP_ACTIVATION_NONE) return flag;
  if (a->activation != 0 || range[0] != range[1])
    return refused(b, CP_ILL_INPUT, "%s: activation needs dynamics", name);
  return CP_SUCCESS;
}

static int checkMuscle(CPBodies b, const char *name, CPActuator *a) {
  if (a->muscle.force == 0) return CP_SUCCESS;
  const char *wrong = muscleWrong(&a->muscle);
  if (wrong) return refused(b, CP_ILL_INPUT, "%s: of a muscle %s", name, wrong);
  for (int k = 0; k < 3; k++)
    if (a->gain[k] != 0 || a->bias[k] != 0)
      return refused(b, CP_ILL_INPUT, "%s: a muscle has neither gain nor bias", name);
  return CP_SUCCESS;
}

/* Makes the pair and the measure of an actuator without coordinate. Returns 0 or an error code that has been reported. */
static int makeMeasure(CPBodies b, const char *name, const CPActuator *a, Pair *pair, Term *term) {
  CPMarker ends[2]                 = {{.axis = {0, 0, 1}}, {.axis = {0, 0, 1}}};
  const sunrealtype *directions[3] = {a->along, a->push, a->about};
  const int along = length3(a->along) != 0, push = length3(a->push) != 0,
            wrench  = push || length3(a->about) != 0;
  const int between = wrench && a->a && strcmp(a->a, "ground");
  int flag          = bodiesFindSides(b, name, a->a, a->b, pair);
  for (int k = 0; k < 3 && !flag; k++)
    flag = bodiesCheckFinite(b, name, "along, push, about", directions[k], 3);
  if (!flag) flag = bodiesCheckFinite(b, name, "point_a", a->point_a, 3);
  if (!flag) flag = bodiesCheckFinite(b, name, "point_b", a->point_b, 3);
  if (flag) return flag;
  if (along && wrench)
    return refused(b, CP_ILL_INPUT, "%s: along must be 0 beside push and about", name);
  if (between && push)
    return refused(b, CP_NOT_SUPPORTED, "%s: push has no counterpart on body a", name);
  if (wrench && pair->side[1].body == GROUND)
    return refused(b, CP_ILL_INPUT, "%s: b must be a body that moves", name);
  memcpy(ends[0].point, a->point_a, sizeof ends[0].point);
  memcpy(ends[1].point, a->point_b, sizeof ends[1].point);
  if ((flag = bodiesMakePair(b, name, a->in, 0, &ends[0], &ends[1], pair))) return flag;
  Pose pose[2];
  bodiesPlaced(&b->m, pair, pose);
  Side *side = &pair->side[!along];
  for (int k = 0; k < 2 && (along || wrench); k++) {
    const sunrealtype *x = along ? a->along : k == between ? a->push : a->about;
    if (a->in == CP_IN_SPACE) toBody(&pose[!along], x, side->axis[k]);
    else memcpy(side->axis[k], x, sizeof side->axis[k]);
  }
  if (along) term->m = (Measure){ALONG, 0, 0, 0};
  else if (between) term->m = (Measure){SPIN, 1, 0, 0}, term->coef = -1;
  else if (wrench) term->m = (Measure){WRENCH, 0, 0, 0};
  else if (!(bodiesDistance(&b->m, pair) > 0))
    return refused(b, CP_ILL_INPUT, "%s: the points must not meet", name);
  return CP_SUCCESS;
}

/* ---- the element ---- */

static int checkActuator(CPBodies b, const char *name, CPActuator *a) {
  if (a->gear == 0) a->gear = 1;
  int flag = bodiesCheckFinite(b, name, "gear", &a->gear, 1);
  if (!flag) flag = bodiesCheckFinite(b, name, "control", &a->control, 1);
  if (!flag) flag = bodiesCheckFinite(b, name, "gain", a->gain, 3);
  if (!flag) flag = bodiesCheckFinite(b, name, "bias", a->bias, 3);
  if (!flag) flag = checkRange(b, name, "control_range", a->control_range);
  if (!flag) flag = checkRange(b, name, "force_range", a->force_range);
  if (!flag) flag = checkActivation(b, name, a);
  return flag ? flag : checkMuscle(b, name, a);
}

/* Adds the parameters of activation and muscle, which follow the others. */
static void takeRest(CPBodies b, int text, const CPActuator *a, Law *law) {
  static const char *const muscle[NUM_MUSCLE] = {"peak_force", "length_min", "length_max",
                                                 "range_min",  "range_max",  "lmin",
                                                 "lmax",       "vmax",       "fpmax",
                                                 "fvmax"},
                           *const times[3]    = {"time", "time_2", "time_3"};
  const CPMuscle *m                           = &a->muscle;
  const sunrealtype values[NUM_MUSCLE] = {m->force,    m->length[0], m->length[1], m->range[0],
                                          m->range[1], m->lmin,      m->lmax,      m->vmax,
                                          m->fpmax,    m->fvmax};
  law->times                           = b->m.nparams;
  for (int k = 0; k < countTimes(a->dynamics); k++) bodiesTakeParam(b, text, times[k], a->times[k]);
  if (m->force == 0) return;
  law->muscle = b->m.nparams;
  for (int k = 0; k < NUM_MUSCLE; k++) bodiesTakeParam(b, text, muscle[k], values[k]);
}

int bodiesAddActuator(CPBodies b, CPActuator *actuator) {
  static const char *const fields[NUM_ACTUATOR] = {"control", "gear", "gain",   "gain_x",
                                                   "gain_v",  "bias", "bias_x", "bias_v"};
  static const char *const ends[NUM_CLAMPS][2]  = {{"control_min", "control_max"},
                                                   {"force_min", "force_max"},
                                                   {"activation_min", "activation_max"}};
  const char *name                              = actuator->head.name;
  const sunrealtype *ranges[]                   = {actuator->control_range, actuator->force_range,
                                                   actuator->activation_range};
  const int has_pair                            = !actuator->of.joint;
  int first = NONE, n = 1;
  int flag         = bodiesCheckName(b, name, NUM_ACTUATOR + 2 * NUM_CLAMPS + 3 + NUM_MUSCLE);
  Pair pair        = {0};
  Term term        = {.coef = 1, .ratio = NONE, .pair = b->m.npairs, .m = {LENGTH, 0, 0, 0}};
  Formula *formula = NULL;
  if (!flag) flag = checkActuator(b, name, actuator);
  if (!flag && has_pair) flag = makeMeasure(b, name, actuator, &pair, &term);
  if (!flag && !has_pair) flag = n = bodiesNamedSum(b, name, actuator->of, &term, &first);
  if (flag < 0) return flag;
  if (ROOM(b->m.law, b->m.nlaws, 1) || ROOM(b->m.pair, b->m.npairs, 1) ||
      ROOM(b->m.term, b->m.nterms, n) || ROOM(b->m.length, b->m.nlengths, 1))
    return bodiesNoMemory(b, name);
  if ((flag = bodiesTakeFormula(b, name, FOR_FORCES, 1, &actuator->function, 3, NULL, &formula)))
    return flag;
  const int i = b->m.nlaws++, text = bodiesTakeName(b, name, NAME_LAW, i),
            number = has_pair && term.m.kind == LENGTH ? b->m.nlengths : NONE;
  if (has_pair) b->m.pair[b->m.npairs++] = pair;
  if (number != NONE) b->m.length[b->m.nlengths++] = i;
  Law *law = &b->m.law[i];
  *law     = (Law){.kind      = MOTOR,
                   .name      = text,
                   .term      = bodiesTakeSum(b, &term, first, n),
                   .nterms    = n,
                   .param     = b->m.nparams,
                   .force     = NONE,
                   .joint     = NONE,
                   .inertance = NONE,
                   .clamp     = {NONE, NONE, NONE},
                   .muscle    = NONE,
                   .dynamics  = actuator->dynamics,
                   .start     = actuator->activation,
                   .formula   = formula};
  if (actuator->dynamics != CP_ACTIVATION_NONE) law->activation = ++b->m.nactivations;
  for (int k = 0; k < NUM_ACTUATOR; k++)
    bodiesTakeParam(b, text, fields[k],
                    k == CONTROL ? actuator->control
                    : k == GEAR  ? actuator->gear
                    : k < BIAS   ? actuator->gain[k - GAIN]
                                 : actuator->bias[k - BIAS]);
  for (int k = 0; k < NUM_CLAMPS; k++) {
    if (!(ranges[k][0] < ranges[k][1])) continue;
    law->clamp[k] = bodiesTakeParam(b, text, ends[k][0], ranges[k][0]);
    bodiesTakeParam(b, text, ends[k][1], ranges[k][1]);
  }
  if (law->clamp[OF_FORCE] != NONE || law->clamp[OF_ACTIVATION] != NONE)
    law->place = 1 + b->m.nplaces, b->m.nplaces += RANGE_PLACES;
  takeRest(b, text, actuator, law);
  return number;
}
