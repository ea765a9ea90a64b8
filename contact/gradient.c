/* Sensitivities of motions with contacts. Between events the integrator computes them. An event at
 * tau(p), where g(t, y, p) = 0, takes y- to y+ = R(t, y-, p). With the right-hand sides f- before
 * it and f+ after it,
 *
 *   dtau = -(g_y S- + g_p) / (g_t + g_y f-)
 *   S+   = R_y (S- + f- dtau) + R_t dtau + R_p - f+ dtau                                     (saltation)
 *
 * (M. A. Aizerman, F. R. Gantmacher, Quart. J. Mech. Appl. Math. 11, 1958; S. Galan, W. F. Feehery,
 * P. I. Barton, Appl. Numer. Math. 31, 1999). R is the impact, or the identity. Where the
 * infinitely many flights of an accumulation are skipped, R is the plastic impact: the mean of
 * their normal impulses equals the force of the contact that is closed afterwards. */
#include "contact_impl.h"
#include "cpodes/base/differences.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Differences of sixth order, which reach up to three steps away, have the relative step CP_SIXTH_ORDER_STEP: relative
 * to the sizes of coordinates, velocities and parameters; to the integrator's step and, since this grows at rest, the
 * time since the newest event; and to the normal velocities of an impact, so that its contacts stay the same. */

int contactMarginValues(CPContact c, sunrealtype t, N_Vector y, sunrealtype *value,
                        const char *function) {
  const int flag = contactMargins(c, t, y, 0, function);
  for (int i = 0; i < c->npoints && !flag; i++) {
    const Point *point = &c->point[i];
    const int has_second =
        point->phase != CP_CONTACT_OPEN && point->ntangents > 0 && !contactIsImplied(point);
    value[2 * i]     = contactMargin(c, point, 0, t);
    value[2 * i + 1] = has_second ? contactMargin(c, point, 1, t) : 0.0;
  }
  return flag;
}

int contactImpactValue(CPContact c, sunrealtype t, N_Vector y, sunrealtype *value,
                       const char *function) {
  N_VScale(1.0, y, c->sens.y);
  const int flag = contactRepeatImpact(c, t, c->sens.y, function);
  memset(value, 0, (size_t)c->n * sizeof *value);
  for (int j = 0; j < c->nu; j++) value[c->nq + j] = c->udot[j];
  return flag;
}

/* The largest |d_j| over the largest |y_j|, or over `least` if that is larger, j = first ... last - 1 */
static sunrealtype relativeSize(CPContact c, N_Vector y, N_Vector d, int first, int last,
                                sunrealtype least) {
  const sunrealtype *Y = N_VGetArrayPointer(y), *D = N_VGetArrayPointer(d);
  sunrealtype size = least, change = 0;
  for (int j = first; j < last; j++)
    size = fmax(size, fabs(Y[j])), change = fmax(change, fabs(D[j]));
  if (size == 0.0) size = c->rtol > 0.0 && c->atol > 0.0 ? c->atol / c->rtol : 1.0;
  return change / size;
}

/* The step of a difference at (t, y) along d and, if i >= 0, parameter i. Returns 0 if that direction is
 * zero. All coordinates may be zero where a body strikes the origin: they are at least as large as the way since the
 * newest event. */
static sunrealtype stepOf(CPContact c, sunrealtype t, N_Vector y, N_Vector d, int i) {
  const sunrealtype *u = N_VGetArrayPointer(y) + c->nq;
  sunrealtype rate = i >= 0 ? 1.0 / c->sens.size[i] : 0.0, fastest = 0;
  for (int j = 0; j < c->nu; j++) fastest = fmax(fastest, fabs(u[j]));
  rate = fmax(rate, relativeSize(c, y, d, 0, c->nq, fastest * fabs(t - c->t)));
  rate = fmax(rate, relativeSize(c, y, d, c->nq, c->nq + c->nu, 0));
  rate = fmax(rate, relativeSize(c, y, d, c->nq + c->nu, c->n, 0));
  return rate > 0.0 && isfinite(CP_SIXTH_ORDER_STEP / rate) ? CP_SIXTH_ORDER_STEP / rate : 0.0;
}

/* Sets the parameter of sensitivity i to value, and notifies the mechanical system. */
static void setParameter(CPContact c, int i, sunrealtype value) {
  c->sens.p[c->sens.which[i]] = value;
  CPMechSetUserData(c->mech, CPMechGetUserData(c->mech));
}

/* Reduces the step h, along dt or else d, so that the normal velocities of the newest impact change
 * only by a small fraction. */
static int boundByImpact(CPContact c, sunrealtype t, sunrealtype dt, N_Vector y, N_Vector d,
                         sunrealtype *h, const char *function) {
  int flag = contactMeasure(c, t, y, function);
  memcpy(c->approach, c->v, (size_t)c->na * sizeof *c->v);
  N_VLinearSum(1.0, y, dt == 0.0 ? *h : 0.0, d, c->sens.moved);
  if (!flag) flag = contactMeasure(c, t + *h * dt, c->sens.moved, function);
  sunrealtype most = *h;
  for (int i = 0; i < c->npoints && !flag; i++) {
    const int row            = c->point[i].normal;
    const sunrealtype before = c->approach[row], change = fabs(c->v[row] - before);
    if (!c->impact.keep[i] || !(before < -c->small_v * c->scale[row])) continue;
    if (change > 0.0) most = fmin(most, *h * CP_SIXTH_ORDER_STEP * fabs(before) / change);
  }
  *h = most;
  return flag;
}

/* result [n] += the derivative along dt, by steps h of t, or, if dt = 0, along d and parameter i. */
static int addDifferences(CPContact c, ContactQuantity quantity, int n, sunrealtype t,
                          sunrealtype dt, N_Vector y, N_Vector d, int i, sunrealtype h,
                          sunrealtype *result, const char *function) {
  const sunrealtype kept = i >= 0 ? c->sens.p[c->sens.which[i]] : 0.0;
  int flag               = CP_SUCCESS;
  if (quantity == contactImpactValue) flag = boundByImpact(c, t, dt, y, d, &h, function);
  for (int l = 0; l < 6 && !flag; l++) { /* Pairs of equal values cancel without roundoff. */
    const int k = (l % 2 ? -1 : 1) * (1 + l / 2);
    if (i >= 0) setParameter(c, i, kept + k * h);
    N_VLinearSum(1.0, y, dt == 0.0 ? k * h : 0.0, d, c->sens.moved);
    flag = quantity(c, t + k * h * dt, c->sens.moved, c->sens.value, function);
    for (int j = 0; j < n && !flag; j++)
      result[j] += (k > 0 ? 1 : -1) * cpSixthOrder[abs(k) - 1] / h * c->sens.value[j];
  }
  if (i >= 0) setParameter(c, i, kept);
  return flag;
}

/* Differences along t are taken separately: their steps have to be short, which causes much
 * roundoff, but most systems do not depend on t. */
int contactDerivative(CPContact c, ContactQuantity quantity, int n, sunrealtype t, sunrealtype dt,
                      N_Vector y, N_Vector d, int i, sunrealtype *result, const char *function) {
  const sunrealtype h = stepOf(c, t, y, d, i);
  sunrealtype newest  = 0;
  int flag            = CP_SUCCESS;
  CPObjectGetStat(CP_OBJECT(c->integrator), "last_step", &newest);
  const sunrealtype most = CP_SIXTH_ORDER_STEP * fmin(fabs(newest), t - c->t);
  const sunrealtype h_t  = dt != 0.0 && most > 0.0 ? most / fabs(dt) : h;
  memset(result, 0, (size_t)n * sizeof *result);
  if (dt != 0.0 && h_t > 0.0)
    flag = addDifferences(c, quantity, n, t, dt, y, d, -1, h_t, result, function);
  if (!flag && h > 0.0) flag = addDifferences(c, quantity, n, t, 0.0, y, d, i, h, result, function);
  return flag;
}

int contactMarginRates(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  int flag = contactRightHandSide(c, t, y, c->sens.before, function);
  if (!flag)
    flag = contactDerivative(c, contactMarginValues, 2 * c->npoints, t, 1.0, y, c->sens.before, -1,
                             c->sens.rate, function);
  if (!flag) flag = contactMeasure(c, t, y, function);
  for (int i = 0; i < c->npoints && !flag; i++) /* The rate of a gap is known without differences. */
    if (c->point[i].phase == CP_CONTACT_OPEN) c->sens.rate[2 * i] = c->v[c->point[i].normal];
  return flag;
}

int contactRightHandSide(CPContact c, sunrealtype t, N_Vector y, N_Vector f, const char *function) {
  const int flag = CPMechRhs(t, y, f, c->mech);
  if (!flag) return CP_SUCCESS;
  /* CPMechRhs leaves messages to the integrator; CPMechAccelerations reports its message if it
   * fails as well. */
  const int known = CPMechAccelerations(c->mech, t, y, c->udot, c->lambda);
  return known ? contactPassOn(c, known)
               : contactUserFailed(c, function, "the right-hand side", t, flag);
}

int contactSensBefore(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  const int n = 2 * c->npoints;
  int flag    = contactMarginRates(c, t, y, function);
  for (int i = 0; i < c->sens.Ns && !flag; i++)
    flag = contactDerivative(c, contactMarginValues, n, t, 0.0, y, c->sens.minus[i], i,
                             c->sens.slope + i * n, function);
  return flag;
}

void contactDecided(CPContact c, char *decided) {
  for (int i = 0; i < c->npoints; i++) {
    const int was_open = c->before[i].phase == CP_CONTACT_OPEN,
              closes   = c->point[i].phase != CP_CONTACT_OPEN;
    decided[2 * i] = (char)(c->fired[ROOTS * i] || (was_open && (c->event[i].struck || closes)));
    decided[2 * i + 1] = (char)(!was_open && c->fired[ROOTS * i + 1]);
  }
}

int contactCheckRate(CPContact c, int k, sunrealtype t, const char *function) {
  const Point *point      = &c->before[k / 2];
  const int is_gap        = point->phase == CP_CONTACT_OPEN;
  const sunrealtype least = is_gap ? c->tol_v * c->scale[point->normal] : 0.0;
  if (fabs(c->sens.rate[k]) > least) return CP_SUCCESS;
  return cpReport(&c->log, CP_CONTACT_NO_GRADIENT, function,
                  "at t = %.10g: contact \"%s\" has no time of its event that can be "
                  "differentiated: its %s touches zero with the rate %g",
                  t, point->name, is_gap ? "gap" : "force or velocity", c->sens.rate[k]);
}

int contactDiffer(CPContact c, int k, int l, sunrealtype t, const char *function) {
  return cpReport(
      &c->log, CP_CONTACT_NO_GRADIENT,
      function, "at t = %.10g: contacts \"%s\" and \"%s\" have events at one time, which do not stay together",
      t, c->before[k / 2].name, c->before[l / 2].name);
}

/* Computes dtau of sensitivity i, on which all deciding margins must agree. Returns 0 or an error
 * code that has been reported. */
static int timeOf(CPContact c, int i, sunrealtype t, sunrealtype *dtau, const char *function) {
  const sunrealtype *slope = c->sens.slope + (size_t)(2 * c->npoints) * (size_t)i;
  const sunrealtype unit   = fabs(t - c->t_first) / c->sens.size[i];
  int first                = -1;
  *dtau                    = 0.0;
  for (int k = 0; k < 2 * c->npoints; k++) {
    if (!c->sens.decided[k]) continue;
    const int flag = contactCheckRate(c, k, t, function);
    if (flag) return flag;
    const sunrealtype now = -slope[k] / c->sens.rate[k], size = fmax(fabs(now), fabs(*dtau));
    if (first >= 0 && !(fabs(now - *dtau) <= CONTACT_SAME_TIME * size + c->rtol * unit))
      return contactDiffer(c, first, k, t, function);
    if (first < 0) *dtau = now, first = k;
  }
  return CP_SUCCESS;
}

/* S_i <- R_y (S- + f- dtau) + R_t dtau + R_p - f+ dtau, from S- = minus and y- = c->saved */
static int saltation(CPContact c, int i, sunrealtype t, N_Vector minus, sunrealtype dtau,
                     const char *function) {
  sunrealtype *S = N_VGetArrayPointer(c->sens.S[i]), *D = N_VGetArrayPointer(c->sens.direction);
  const sunrealtype *after = N_VGetArrayPointer(c->sens.after);
  int flag                 = CP_SUCCESS;
  N_VLinearSum(1.0, minus, dtau, c->sens.before, c->sens.direction);
  if (c->impact.any)
    flag = contactDerivative(c, contactImpactValue, c->n, t, dtau, c->saved, c->sens.direction, i,
                             c->sens.change, function);
  for (int j = 0; j < c->n && !flag; j++)
    S[j] = D[j] + (c->impact.any ? c->sens.change[j] : 0.0) - after[j] * dtau;
  return flag;
}

int contactSensAfter(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  const CPContactStats stats = c->stats;
  int flag                   = contactRightHandSide(c, t, y, c->sens.after, function);
  contactDecided(c, c->sens.decided);
  for (int i = 0; i < c->sens.Ns && !flag; i++) {
    sunrealtype dtau = 0;
    flag             = timeOf(c, i, t, &dtau, function);
    if (!flag) flag = saltation(c, i, t, c->sens.minus[i], dtau, function);
  }
  c->stats           = stats;
  const int restored = contactActivate(c);
  return flag ? flag : restored ? contactPassOn(c, restored) : CP_SUCCESS;
}

int contactHasSens(CPContact c) {
  if (CPIntegratorGetSens(c->integrator, NULL) != c->sens.object) c->sens.Ns = 0;
  return c->sens.Ns > 0;
}

int contactSensRestart(CPContact c) {
  const int flag = CPSensReInit(c->sens.object, c->sens.S);
  return flag ? flag : CPSensCalcIC(c->sens.object, c->sens.S);
}

/* ---- life cycle ---- */

void contactSensFree(CPContact c) {
  free(c->sens.size), free(c->sens.which), free(c->sens.slope), free(c->sens.value),
      free(c->sens.decided);
  if (c->sens.S) N_VDestroyVectorArray(c->sens.S, c->sens.allocated);
  if (c->sens.minus) N_VDestroyVectorArray(c->sens.minus, c->sens.allocated);
  N_Vector vectors[] = {c->sens.before, c->sens.after, c->sens.direction, c->sens.moved, c->sens.y};
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++)
    if (vectors[k]) N_VDestroy(vectors[k]);
  memset(&c->sens, 0, sizeof c->sens);
}

int contactSensAllocate(CPContact c, int Ns) {
  const size_t n = (size_t)Ns, m = 2 * (size_t)c->npoints,
               length = m > (size_t)c->n ? m : (size_t)c->n;
  contactSensFree(c);
  c->sens.allocated   = Ns;
  c->sens.size        = calloc(n, sizeof *c->sens.size);
  c->sens.which       = calloc(n, sizeof *c->sens.which);
  c->sens.slope       = calloc((n + 1) * m, sizeof *c->sens.slope);
  c->sens.value       = calloc(2 * length, sizeof *c->sens.value);
  c->sens.decided     = calloc(m, sizeof *c->sens.decided);
  c->sens.S           = N_VCloneVectorArray(Ns, c->newest);
  c->sens.minus       = N_VCloneVectorArray(Ns, c->newest);
  N_Vector *vectors[] = {&c->sens.before, &c->sens.after, &c->sens.direction, &c->sens.moved,
                         &c->sens.y};
  int failed          = !c->sens.size || !c->sens.which || !c->sens.slope || !c->sens.value ||
               !c->sens.decided || !c->sens.S || !c->sens.minus;
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors && !failed; k++)
    failed = !(*vectors[k] = N_VClone(c->newest));
  if (failed) {
    contactSensFree(c);
    return 1;
  }
  c->sens.rate = c->sens.slope + n * m, c->sens.change = c->sens.value + length;
  return 0;
}

int contactSensParameters(CPContact c, const CPParameters *given, const char *function) {
  c->sens.p = given->values;
  if (!c->sens.p)
    return cpReport(&c->log, CP_ILL_INPUT, function,
                    "the values of the parameters must not be NULL: events are differentiated "
                    "by differences");
  for (int i = 0; i < given->n; i++) {
    c->sens.which[i] = given->plist ? given->plist[i] : i;
    if (c->sens.which[i] < 0)
      return cpReport(&c->log, CP_ILL_INPUT, function, "plist[%d] must be >= 0: %d", i,
                      c->sens.which[i]);
    c->sens.size[i] = given->pbar ? given->pbar[i] : fabs(c->sens.p[c->sens.which[i]]);
    if (!(c->sens.size[i] > 0.0 && isfinite(c->sens.size[i])))
      return cpReport(&c->log, CP_ILL_INPUT, function,
                      "the size of parameter %d must be positive: %g%s", c->sens.which[i],
                      c->sens.size[i], given->pbar ? "" : " (pbar is NULL)");
  }
  return CP_SUCCESS;
}

/* Takes up the sensitivities that the new integrator has been given, after what has happened at the start. */
int contactSensStart(CPContact c, sunrealtype t, const char *function) {
  CPParameters given = CP_INIT(CPParameters);
  c->sens.Ns         = 0;
  c->sens.object     = CPIntegratorGetSens(c->integrator, &given);
  if (!c->sens.object) return CP_SUCCESS;
  if (c->dense > 0)
    return cpReport(&c->log, CP_NOT_SUPPORTED, function,
                    "time stepping (CPContactSetTimeStepping) has no sensitivities");
  const int Ns   = given.n;
  const CPSens S = c->sens.object;
  if (c->sens.allocated != Ns && contactSensAllocate(c, Ns))
    return cpReport(&c->log, CP_MEM_FAIL, function, "no memory for %d sensitivities", Ns);
  c->sens.object             = S;
  int flag                   = contactSensParameters(c, &given, function);
  const CPContactStats stats = c->stats;
  N_VConst(0.0, c->sens.before);
  N_VConst(0.0, c->sens.after);
  for (int i = 0; i < Ns && !flag; i++) flag = saltation(c, i, t, given.y0S[i], 0.0, function);
  c->stats           = stats;
  const int restored = contactActivate(c);
  if (!flag && restored) flag = contactPassOn(c, restored);
  if (!flag) flag = contactOfIntegrator(c, contactSensRestart(c));
  if (!flag) c->sens.Ns = Ns;
  return flag;
}
