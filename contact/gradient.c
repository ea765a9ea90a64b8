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
#include <stdlib.h>
#include <string.h>

/* Relative difference up to which several contacts have the same derivative of the event's time */
#define SAME_TIME 1.0e-4

/* Differences of sixth order, which reach up to three steps away, have the relative step CP_SIXTH_ORDER_STEP: relative
 * to the sizes of coordinates, velocities and parameters; and to the integrator's step and, since this grows at rest, the
 * time since the newest event. */

/* A quantity to be differentiated at (t, y); value: out. Returns 0 or an error code that has been
 * reported. */
typedef int (*Quantity)(CPContact c, sunrealtype t, N_Vector y, sunrealtype *value,
                        const char *function);

/* The margins of all contacts, [2 npoints]; 0 where a contact has none. */
static int margins(CPContact c, sunrealtype t, N_Vector y, sunrealtype *value, const char *function) {
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

/* The change of the state by the newest impact, [n]. It is not the new state, so that the
 * error of a small change is in proportion to it. */
static int impact(CPContact c, sunrealtype t, N_Vector y, sunrealtype *value, const char *function) {
  N_VScale(1.0, y, c->sens.y);
  const int flag = contactRepeatImpact(c, t, c->sens.y, function);
  memset(value, 0, (size_t)c->n * sizeof *value);
  for (int j = 0; j < c->nu; j++) value[c->nq + j] = c->udot[j];
  if (c->model->work) value[c->nq + c->nu + c->model->work - 1] = c->impact.work;
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

/* The parameter of sensitivity i, or NULL if that or i has none */
static sunrealtype *parameterOf(CPContact c, int i) {
  return i >= 0 && c->sens.which[i] >= 0 ? &c->sens.p[c->sens.which[i]] : NULL;
}

/* The size of the direction d and the parameter of sensitivity i, relative to that of y and of the parameter. All coordinates may
 * be zero where a body strikes the origin: they are at least as large as the way since the newest event. Nothing depends on
 * quadratures, such as a work. */
static sunrealtype rateOf(CPContact c, sunrealtype t, N_Vector y, N_Vector d, int i) {
  const sunrealtype *u  = N_VGetArrayPointer(y) + c->nq;
  const sunrealtype way = contactLargest(c->nu, u) * fabs(t - c->t);
  sunrealtype rate      = parameterOf(c, i) ? 1.0 / c->sens.size[i] : 0.0;
  rate                  = fmax(rate, relativeSize(c, y, d, 0, c->nq, way));
  rate                  = fmax(rate, relativeSize(c, y, d, c->nq, c->nq + c->nu, 0));
  return fmax(rate, relativeSize(c, y, d, c->nq + c->nu, c->n - (int)c->model->nquad, 0));
}

/* Sets a parameter, unless it is NULL, and notifies the mechanical system. */
static void setParameter(CPContact c, sunrealtype *p, sunrealtype value) {
  if (!p) return;
  *p = value;
  CPMechSetUserData(c->mech, CPMechGetUserData(c->mech));
}

/* A direction: of t alone, or of states and, unless p is NULL, a parameter whose value was p0 */
typedef struct {
  sunrealtype dt;
  N_Vector d;
  sunrealtype *p, p0;
} Along;

/* A quantity along a direction from (t, y) */
typedef struct {
  CPContact c;
  Quantity quantity;
  sunrealtype t;
  N_Vector y;
  Along along;
  const char *function;
} Moving;

/* Reports a failure of the mechanism's projector, which reports those with negative codes itself. */
static int projectionFailed(CPContact c, sunrealtype t, int flag, const char *function) {
  if (flag < 0) return contactPassOn(c, flag);
  return cpReport(&c->log, -flag, function,
                  "at t = %.10g: a state or a direction beside an event cannot be projected (%d)",
                  t, flag);
}

/* y <- the nearest state; the weights are equal, and so large that the projection converges to roundoff */
static int project(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  N_VConst(1.0 / CP_FUZZ, c->sens.weight);
  const int flag = CPProjectorProject(CPMechGetProjector(c->mech), t, y, c->sens.weight);
  return flag ? projectionFailed(c, t, flag, function) : CP_SUCCESS;
}

/* A direction is tangent to the manifold, which the state leaves with the square of e. Rows that depend on others contradict them there, and
 * impulses have no value; at the nearest state of the other constraints they have, and the same derivative. */
static int moved(sunrealtype e, sunrealtype *value, void *data) {
  const Moving *m    = data;
  const Along *along = &m->along;
  setParameter(m->c, along->p, along->p0 + e);
  N_VLinearSum(1.0, m->y, along->dt == 0.0 ? e : 0.0, along->d, m->c->sens.moved);
  if (m->c->sens.dependent && m->quantity == impact && along->dt == 0.0) {
    const int failed = contactActivateRows(m->c, 0);
    const int flag =
        failed ? contactPassOn(m->c, failed) : project(m->c, m->t, m->c->sens.moved, m->function);
    if (flag) return flag;
  }
  return m->quantity(m->c, m->t + e * along->dt, m->c->sens.moved, value, m->function);
}

/* Of each contact of the newest impact: does it carry an impulse, and does that lie on the cone of friction, on which side? With
 * Poisson's law the same of compression */
static void findCases(CPContact c, char *cases) {
  const ContactProblem *P   = &c->problem;
  const sunrealtype most[2] = {contactLargest(P->n, P->x), contactLargest(P->n, c->compression)};
  memset(cases, 0, (size_t)c->npoints);
  for (int k = 0; k < P->ncontacts; k++) {
    const ContactLaw *law  = &P->law[k];
    const int two          = c->point[law->contact].law.kind == CP_RESTITUTION_POISSON;
    const sunrealtype *x[] = {P->x + law->first, c->compression + law->first};
    for (int i = 0; i <= two; i++) {
      const sunrealtype T = contactLength(law->ntangents, x[i] + 1);
      const int loaded    = x[i][0] > CP_ROUNDED * most[i],
                slips     = loaded && T >= (1.0 - CP_ROUNDED) * law->mu * x[i][0],
                side      = slips && law->ntangents == 1 && x[i][1] > 0.0;
      cases[k]            = (char)(8 * cases[k] + loaded + 2 * slips + 4 * side);
    }
  }
}

/* Halves the step h until the newest impact has the same cases at its farthest points: it is not smooth beyond them. */
static int boundByImpact(Moving *m, sunrealtype *h) {
  enum { MOST_HALVINGS = 40 };
  CPContact c = m->c;
  char *cases = c->sens.decided + 2 * c->npoints, *now = cases + c->npoints;
  int same = 0, flag = moved(0.0, c->sens.room, m);
  findCases(c, cases);
  for (int n = 0; n < MOST_HALVINGS && !same && !flag; n++) {
    same = 1;
    if (n > 0) *h /= 2.0;
    for (int side = -3; side <= 3 && same && !flag; side += 6) {
      flag = moved(side * *h, c->sens.room, m);
      findCases(c, now);
      same = !memcmp(now, cases, (size_t)c->npoints);
    }
  }
  return flag || same ? flag
                      : cpReport(&c->log, CP_CONTACT_NO_GRADIENT, m->function,
                                 "at t = %.10g: an impact is at the limit between sticking and "
                                 "slipping, or of a contact that takes no part",
                                 m->t);
}

/* result [n] <- the derivative of m, by steps h */
static int differentiate(Moving *m, int n, sunrealtype h, sunrealtype *result) {
  if (m->along.p) m->along.p0 = *m->along.p;
  int flag = m->quantity == impact ? boundByImpact(m, &h) : CP_SUCCESS;
  if (!flag) flag = cpDifferentiate(moved, m, n, h, 0.0, result, m->c->sens.room);
  setParameter(m->c, m->along.p, m->along.p0);
  return flag;
}

/* result [n] <- d/dh of a quantity at (t + h dt, y + h d), with the parameter of sensitivity i, if it has one, changed by
 * h, by differences of sixth order. Differences along t are taken separately: their steps have to be short, which causes much
 * roundoff, but most systems do not depend on t. Returns 0 or an error code that has been reported, as all functions below. */
static int derivative(CPContact c, Quantity quantity, int n, sunrealtype t, sunrealtype dt,
                      N_Vector y, N_Vector d, int i, sunrealtype *result, const char *function) {
  const sunrealtype rate = rateOf(c, t, y, d, i), step = CP_SIXTH_ORDER_STEP / rate,
                    h = rate > 0.0 && isfinite(step) ? step : 0.0;
  sunrealtype newest  = 0;
  int flag            = CP_SUCCESS;
  CPObjectGetStat(CP_OBJECT(c->integrator), "last_step", &newest);
  const sunrealtype most = CP_SIXTH_ORDER_STEP * fmin(fabs(newest), t - c->t);
  const sunrealtype h_t  = dt != 0.0 && most > 0.0 ? most / fabs(dt) : h;
  Moving m               = {c, quantity, t, y, {.d = d, .p = parameterOf(c, i)}, function},
         by_time         = {c, quantity, t, y, {.dt = dt, .d = d}, function};
  memset(result, 0, (size_t)n * sizeof *result);
  memset(c->sens.part, 0, (size_t)n * sizeof *result);
  if (dt != 0.0 && h_t > 0.0) flag = differentiate(&by_time, n, h_t, result);
  if (!flag && h > 0.0) flag = differentiate(&m, n, h, c->sens.part);
  for (int j = 0; j < n && !flag; j++) result[j] += c->sens.part[j];
  return flag;
}

/* f <- y' at (t, y) in the present phases */
static int rightHandSide(CPContact c, sunrealtype t, N_Vector y, N_Vector f, const char *function) {
  const int flag = CPMechRhs(t, y, f, c->mech);
  if (!flag) return CP_SUCCESS;
  /* CPMechRhs leaves messages to the integrator; CPMechAccelerations reports its message if it
   * fails as well. */
  const int known = CPMechAccelerations(c->mech, t, y, c->udot, c->lambda);
  return known ? contactPassOn(c, known)
               : contactUserFailed(c, function, "the right-hand side", t, flag);
}

/* c->sens.before <- y' at (t, y), c->sens.rate <- the derivatives of the margins along the motion */
static int marginRates(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  int flag = rightHandSide(c, t, y, c->sens.before, function);
  if (!flag)
    flag = derivative(c, margins, 2 * c->npoints, t, 1.0, y, c->sens.before, -1, c->sens.rate,
                      function);
  if (!flag) flag = contactMeasure(c, t, y, function);
  for (int i = 0; i < c->npoints && !flag; i++) /* The rate of a gap is known without differences. */
    if (c->point[i].phase == CP_CONTACT_OPEN) c->sens.rate[2 * i] = c->v[c->point[i].normal];
  return flag;
}

/* The state nearest to y, [n] */
static int nearest(CPContact c, sunrealtype t, N_Vector y, sunrealtype *value, const char *function) {
  N_VScale(1.0, y, c->sens.y);
  const int flag = project(c, t, c->sens.y, function);
  memcpy(value, N_VGetArrayPointer(c->sens.y), (size_t)c->n * sizeof *value);
  return flag;
}

int contactDirections(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  int flag = CP_SUCCESS;
  for (int i = 0, j = 0; i < c->sens.count && !flag; i++) {
    N_Vector d = c->sens.minus[i];
    N_VConst(0.0, d);
    if (parameterOf(c, i)) {
      flag = derivative(c, nearest, c->n, t, 0.0, y, d, i, c->sens.change, function);
      memcpy(N_VGetArrayPointer(d), c->sens.change, (size_t)c->n * sizeof *c->sens.change);
    } else {
      N_VGetArrayPointer(d)[j++] = 1.0;
      N_VConst(1.0, c->sens.after);
      flag =
          CPProjectorProjectVector(CPMechGetProjector(c->mech), CP_TANGENT, t, y, c->sens.after, d);
      if (flag) return projectionFailed(c, t, flag, function);
      /* Where nothing moves along e_j, the projection is roundoff, and not tangent. */
      if (N_VMaxNorm(d) <= CP_ROUNDED) N_VConst(0.0, d);
    }
  }
  return flag;
}

int contactSensBefore(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  CPMechOutput out  = CP_INIT(CPMechOutput);
  const int n       = 2 * c->npoints;
  int flag          = CPMechEvaluate(c->mech, t, y, &out);
  c->sens.dependent = !flag && out.rank >= 0 && !out.unique;
  flag              = flag ? contactPassOn(c, flag) : marginRates(c, t, y, function);
  for (int i = 0; i < c->sens.count && !flag; i++)
    flag =
        derivative(c, margins, n, t, 0.0, y, c->sens.minus[i], i, c->sens.slope + i * n, function);
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

/* Is the rate of the deciding margin k clearly not zero? */
static int checkRate(CPContact c, int k, sunrealtype t, const char *function) {
  const Point *point      = &c->before[k / 2];
  const int is_gap        = point->phase == CP_CONTACT_OPEN;
  const sunrealtype least = is_gap ? c->tol_v * c->scale[point->normal] : 0.0;
  if (fabs(c->sens.rate[k]) > least) return CP_SUCCESS;
  return cpReport(&c->log, CP_CONTACT_NO_GRADIENT, function,
                  "at t = %.10g: contact \"%s\" has no time of its event that can be "
                  "differentiated: its %s touches zero with the rate %g",
                  t, point->name, is_gap ? "gap" : "force or velocity", c->sens.rate[k]);
}

/* The derivative of margin k's time along column i */
static sunrealtype timeOf(CPContact c, int k, int i) {
  return -c->sens.slope[i * 2 * c->npoints + k] / c->sens.rate[k];
}

/* Do margins k and l give the same derivatives of the event's time? The motion's own errors, rtol of the change along a sensitivity, are
 * none. Those with respect to states are compared in their largest one. */
static int agree(CPContact c, int k, int l, sunrealtype t, const char *function) {
  int i = 0, differ = 0;
  for (; i < c->sens.count && c->sens.which[i] >= 0; i++) {
    const sunrealtype one = timeOf(c, k, i), other = timeOf(c, l, i),
                      rate = rateOf(c, t, c->saved, c->sens.minus[i], i),
                      most = SAME_TIME * fmax(fabs(one), fabs(other)) +
                             c->rtol * fabs(t - c->t_first) * rate;
    differ |= !(fabs(one - other) <= most);
  }
  for (sunrealtype size = 0.0, most = 0.0; i < c->sens.count; i++) {
    size = fmax(size, fabs(timeOf(c, k, i)));
    most = fmax(most, fabs(timeOf(c, k, i) - timeOf(c, l, i)));
    if (i + 1 == c->sens.count) differ |= !(most <= SAME_TIME * size);
  }
  return differ ? cpReport(&c->log, CP_CONTACT_NO_GRADIENT, function,
                           "at t = %.10g: contacts \"%s\" and \"%s\" have events at one time, "
                           "which do not stay together",
                           t, c->before[k / 2].name, c->before[l / 2].name)
                : CP_SUCCESS;
}

int contactEventTimes(CPContact c, sunrealtype t, const char *function) {
  int first = -1;
  memset(c->sens.dtau, 0, (size_t)c->sens.count * sizeof *c->sens.dtau);
  for (int k = 0; k < 2 * c->npoints; k++) {
    if (!c->sens.decided[k]) continue;
    int flag = checkRate(c, k, t, function);
    if (!flag && first >= 0) flag = agree(c, first, k, t, function);
    if (flag) return flag;
    for (int i = 0; i < c->sens.count && first < 0; i++) c->sens.dtau[i] = timeOf(c, k, i);
    if (first < 0) first = k;
  }
  return CP_SUCCESS;
}

/* S_i <- R_y (S- + f- dtau) + R_t dtau + R_p - f+ dtau, from S- = c->sens.minus[i] and y- = c->saved */
static int saltation(CPContact c, int i, sunrealtype t, const char *function) {
  const sunrealtype dtau = c->sens.dtau[i];
  N_Vector S             = c->sens.S[i];
  N_VLinearSum(1.0, c->sens.minus[i], dtau, c->sens.before, c->sens.direction);
  N_VLinearSum(1.0, c->sens.direction, -dtau, c->sens.after, S);
  if (!c->impact.any) return CP_SUCCESS;
  const int flag = derivative(c, impact, c->n, t, dtau, c->saved, c->sens.direction, i,
                              c->sens.change, function);
  for (int j = 0; j < c->n && !flag; j++) N_VGetArrayPointer(S)[j] += c->sens.change[j];
  return flag;
}

int contactSensAfter(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  const CPContactStats stats = c->stats;
  const int moves            = memchr(c->sens.decided, 1, 2 * (size_t)c->npoints) != NULL;
  int flag                   = moves ? rightHandSide(c, t, y, c->sens.after, function) : CP_SUCCESS;
  if (!moves) N_VConst(0.0, c->sens.before), N_VConst(0.0, c->sens.after);
  for (int i = 0; i < c->sens.count && !flag; i++) flag = saltation(c, i, t, function);
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
  free(c->sens.size), free(c->sens.which), free(c->sens.slope), free(c->sens.room),
      free(c->sens.decided);
  if (c->sens.S) N_VDestroyVectorArray(c->sens.S, c->sens.count);
  if (c->sens.minus) N_VDestroyVectorArray(c->sens.minus, c->sens.count);
  N_Vector vectors[] = {c->sens.before, c->sens.after, c->sens.direction,
                        c->sens.moved,  c->sens.y,     c->sens.weight};
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++)
    if (vectors[k]) N_VDestroy(vectors[k]);
  memset(&c->sens, 0, sizeof c->sens);
}

int contactSensAllocate(CPContact c, int Ns) {
  const size_t n = (size_t)Ns, m = 2 * (size_t)c->npoints,
               length = m > (size_t)c->n ? m : (size_t)c->n;
  contactSensFree(c);
  c->sens.count       = Ns;
  c->sens.size        = calloc(n, sizeof *c->sens.size);
  c->sens.which       = calloc(n, sizeof *c->sens.which);
  c->sens.slope       = calloc((n + 1) * m + n, sizeof *c->sens.slope);
  c->sens.room        = calloc(6 * length, sizeof *c->sens.room);
  c->sens.decided     = calloc(2 * m, sizeof *c->sens.decided);
  c->sens.S           = N_VCloneVectorArray(Ns, c->newest);
  c->sens.minus       = N_VCloneVectorArray(Ns, c->newest);
  N_Vector *vectors[] = {&c->sens.before, &c->sens.after, &c->sens.direction,
                         &c->sens.moved,  &c->sens.y,     &c->sens.weight};
  int failed          = !c->sens.size || !c->sens.which || !c->sens.slope || !c->sens.room ||
               !c->sens.decided || !c->sens.S || !c->sens.minus;
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors && !failed; k++)
    failed = !(*vectors[k] = N_VClone(c->newest));
  if (failed) {
    contactSensFree(c);
    return 1;
  }
  for (int i = 0; i < Ns; i++) c->sens.which[i] = -1;
  c->sens.rate = c->sens.slope + n * m, c->sens.dtau = c->sens.rate + m;
  c->sens.change = c->sens.room + 4 * length;
  c->sens.part   = c->sens.change + length;
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
  if (c->sens.count != Ns && contactSensAllocate(c, Ns))
    return cpReport(&c->log, CP_MEM_FAIL, function, "no memory for %d sensitivities", Ns);
  c->sens.object = S;
  int flag       = contactSensParameters(c, &given, function);
  memset(c->sens.decided, 0, 2 * (size_t)c->npoints);
  for (int i = 0; i < Ns; i++) N_VScale(1.0, given.y0S[i], c->sens.minus[i]);
  if (!flag) flag = contactEventTimes(c, t, function);
  if (!flag) flag = contactSensAfter(c, t, c->newest, function);
  if (!flag) flag = contactOfIntegrator(c, contactSensRestart(c));
  if (!flag) c->sens.Ns = Ns;
  return flag;
}
