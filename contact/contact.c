/* The contact object: friction as a force of the mechanical system, options, and quantities. */
#include "contact_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

int contactIdle(CPContact c, const char *function) {
  if (!c) return cpReport(NULL, CP_MEM_NULL, function, "contact must not be NULL");
  if (!c->running && !c->calling && !c->log.handling && !(CPMechGetUse(c->mech) & CP_MECH_BUSY))
    return CP_SUCCESS;
  return cpReport(&c->log, CP_REENTERED, function,
                  "it must not be called by a function of yours that works for the same contacts");
}

/* ---------------------------------------------------------------------------------- friction -- */

sunrealtype contactLength(int n, const sunrealtype *x) {
  return n == 0 ? 0.0 : n == 1 ? fabs(x[0]) : hypot(x[0], x[1]);
}

/* |lambda_L| */
static sunrealtype loadOf(const Point *point, const sunrealtype *lambda) {
  sunrealtype size = 0.0;
  for (int k = 0; k < point->law.nloads; k++) size = hypot(size, lambda[point->law.load + k]);
  return size;
}

sunrealtype contactNormal(const Point *point, const sunrealtype *lambda) {
  return point->is_held ? point->law.force + loadOf(point, lambda) : -lambda[point->normal];
}

sunrealtype contactZeroVelocity(const CPContact c, int i) { return 0.5 * c->small_v * c->scale[i]; }

#define NEAR_END 5.0

sunrealtype contactSlow(const CPContact c, const Point *point) {
  return 2.0 * NEAR_END * c->error[point->tangent];
}

sunrealtype contactNearEnd(const CPContact c, const Point *point, sunrealtype speed,
                           const Sliding *before) {
  const sunrealtype zero = contactZeroVelocity(c, point->tangent);
  if (before && before->near > zero && speed > NEAR_END * c->error[point->tangent])
    return NEAR_END * c->error[point->tangent];
  return speed <= contactSlow(c, point) ? zero : fmax(zero, NEAR_END * c->error[point->tangent]);
}

int contactIsImplied(const Point *point) {
  return point->implied == (1 << point->ntangents) - 1 && point->wedged[0] == 0.0 &&
         point->wedged[1] == 0.0;
}

int contactSlidesInSpace(const Point *point) {
  return point->phase == CP_CONTACT_SLIDING && point->ntangents == 2;
}

const Sliding *contactSliding(const Point *point, sunrealtype t) {
  return &point->sliding[t > point->sliding[1].t];
}

void contactTurned(const Sliding *sliding, sunrealtype t, sunrealtype *s) {
  const sunrealtype angle = sliding->turn * (t - sliding->t), x = cos(angle), y = sin(angle);
  s[0] = x * sliding->s[0] - y * sliding->s[1], s[1] = x * sliding->s[1] + y * sliding->s[0];
}

int contactIsGuided(const Point *point, sunrealtype t, const sunrealtype *v, sunrealtype *along) {
  const Sliding *start = contactSliding(point, t);
  sunrealtype s[2];
  *along = 0.0;
  if (point->ntangents != 2) return 0; /* v has one entry, or none. */
  contactTurned(start, t, s);
  *along = v[0] * s[0] + v[1] * s[1];
  return contactSlidesInSpace(point) && start->slow > 0.0 && *along < start->slow;
}

sunrealtype contactSpeed(const Point *point, sunrealtype t, const sunrealtype *v) {
  sunrealtype along;
  if (contactIsGuided(point, t, v, &along)) return along;
  const sunrealtype speed = hypot(v[0], v[1]);
  /* No step is accepted in which sliding turns to within 45 degrees of the way back. */
  const int is_back = t >= contactSliding(point, t)->t_half || 2.0 * along * along > speed * speed;
  return along < 0.0 && is_back ? -speed : speed;
}

/* w <- v or, where sliding is guided, v with the component start->slow along n */
static void effective(const Sliding *start, int is_guided, const sunrealtype *n,
                      const sunrealtype *v, sunrealtype *w) {
  const sunrealtype missing = is_guided ? start->slow - v[0] * n[0] - v[1] * n[1] : 0.0;
  for (int k = 0; k < 2; k++) w[k] = v[k] + missing * n[k];
}

/* The direction of friction: that of v_T in c->v or, if v_T is zero or beyond the end of sliding, the
 * one before it. */
void contactDirection(const CPContact c, const Point *point, sunrealtype t, sunrealtype *s) {
  const Sliding *start = contactSliding(point, t);
  const sunrealtype *v = (c->is_linear ? c->base : c->v) + point->tangent;
  sunrealtype w[2], w1[2], speed = 0.0;
  contactTurned(start, t, s);
  if (!contactSlidesInSpace(point)) return;
  const int is_guided = contactIsGuided(point, t, v, &speed);
  effective(start, is_guided, s, v, w);
  effective(start, is_guided, s, c->v + point->tangent, w1);
  speed = is_guided ? hypot(w[0], w[1]) : contactSpeed(point, t, v);
  if (!(fabs(speed) > contactZeroVelocity(c, point->tangent))) return;
  for (int k = 0; k < 2; k++) s[k] = w[k] / speed;
  if (!c->is_linear) return;
  const sunrealtype turn = (s[0] * w1[1] - s[1] * w1[0]) / speed; /* ds = n (n^T dv) / speed */
  s[0] -= turn * w[1] / speed, s[1] += turn * w[0] / speed;
}

/* Is the friction an applied force, and not a reaction? */
static int isForce(const Point *point) {
  return point->ntangents > 0 && (point->phase == CP_CONTACT_SLIDING ||
                                  (point->phase == CP_CONTACT_STICKING && point->implied));
}

static sunrealtype coefficient(const Point *point) {
  return point->implied ? point->law.mu_static : point->law.mu;
}

/* Does a contact slide in space, so that the direction of its friction depends on velocities? */
static int turns(const CPContact c) {
  int any = 0;
  if (c->frictionless) return 0;
  EACH_NEAR(c, i) any |= contactSlidesInSpace(&c->point[i]);
  return any;
}

/* Linearizes the directions of friction (CPMechForce). */
static int linearize(sunrealtype t, const sunrealtype *q, const sunrealtype *u, void *data) {
  const CPContact c = data;
  c->is_linear      = 0;
  if (!q || !turns(c)) return 0;
  int flag = c->model->v ? 0 : contactRows(c, t, q, contactOff(c));
  if (!flag) flag = contactVelocities(c, t, q, u, contactOff(c));
  if (flag) return -1;
  memcpy(c->base, c->v, (size_t)c->na * sizeof *c->v);
  return c->is_linear = 1;
}

/* Finds whether some friction is a force, and then evaluates the laws, rows and velocities that it
 * needs. any: out. Returns 0 or the failure of a function. */
static int prepareFriction(CPContact c, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                           int *any) {
  *any = 0;
  if (c->frictionless) return 0;
  EACH_NEAR(c, i) {
    if (!isForce(&c->point[i])) continue;
    const int flag = contactLawOf(c, i, t, q, 0, "CPSessionRun");
    if (flag) return flag;
    *any = 1;
  }
  if (!*any) return 0;
  memset(c->skipped, 1, (size_t)c->na);
  EACH_NEAR(c, i)
    if (isForce(&c->point[i]))
      memset(c->skipped + c->point[i].tangent, 0, (size_t)c->point[i].ntangents);
  return contactSome(c, t, q, u, turns(c) ? c->v : NULL);
}

/* c->impulse <- F_T = -mu N s of one contact, whose entries are 0. */
static void frictionOf(CPContact c, const Point *point, sunrealtype t, sunrealtype N) {
  sunrealtype s[2];
  contactDirection(c, point, isnan(c->own) ? t : c->own, s);
  for (int k = 0; k < point->ntangents; k++)
    c->impulse[point->tangent + k] = -coefficient(point) * N * s[k];
}

/* Has an attempt of an explicit step crossed the end of sliding? Where the friction is larger than the load, sliding does not
 * turn by 45 degrees: in a stage that does, the friction has any direction, and the estimate of the error may be small
 * by accident. */
static int isAside(CPContact c, const Point *point, sunrealtype t) {
  const Sliding *start = &point->sliding[1];
  if (!c->is_explicit || !isnan(c->own) || !contactSlidesInSpace(point) || !start->ends) return 0;
  if (!(t > start->t && start->t == c->end[1])) return 0; /* It is no attempt of the next step. */
  const sunrealtype *v = c->v + point->tangent, along = v[0] * start->s[0] + v[1] * start->s[1];
  const sunrealtype speed = hypot(v[0], v[1]);
  /* Where the velocity counts as zero, friction keeps the direction of the start (contactDirection), however short the step. */
  return speed > contactZeroVelocity(c, point->tangent) && 2.0 * along * along < speed * speed;
}

/* Friction A_T^T F_T, F_T = -mu N s, N = -lambda_N */
static int frictionForce(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                         const sunrealtype *z, const sunrealtype *lambda, sunrealtype *f,
                         void *data) {
  const CPContact c = data;
  int any, flag = prepareFriction(c, t, q, u, &any);
  (void)z;
  if (flag || !any) return flag;
  memset(c->impulse, 0, (size_t)c->na * sizeof *c->impulse);
  EACH_NEAR(c, i) {
    if (isAside(c, &c->point[i], t)) return 1; /* The step becomes shorter. */
    const Point *point = &c->point[i];
    if (!isForce(point)) continue;
    frictionOf(c, point, t, contactNormal(point, lambda));
    for (int k = 0; k < point->ntangents; k++) c->impulse[point->tangent + k] += point->wedged[k];
  }
  contactTransposedTimes(c, c->some, c->impulse, f);
  return 0;
}

/* The friction is linear in N, whose derivative is -1 for lambda_N, and lambda_i / |lambda_L| for a multiplier that loads the contact. */
static int frictionJac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       const sunrealtype *z, const sunrealtype *lambda, SUNMatrix Fl, void *data) {
  const CPContact c = data;
  int any, flag = prepareFriction(c, t, q, u, &any);
  (void)z;
  if (flag || !any) return flag;
  for (int k = 0, more = 1; more;
       k++) { /* the multiplier number k of each contact, for all at once */
    more = 0;
    memset(c->impulse, 0, (size_t)c->na * sizeof *c->impulse);
    EACH_NEAR(c, i) {
      const Point *point     = &c->point[i];
      const int n            = point->is_held ? point->law.nloads : 1;
      const sunindextype row = point->is_held ? point->law.load + k : point->normal;
      const sunrealtype size = loadOf(point, lambda);
      if (!isForce(point) || k >= n) continue;
      more |= k + 1 < n;
      frictionOf(c, point, t, !point->is_held ? -1.0 : size > 0.0 ? lambda[row] / size : 0.0);
      for (int l = 0; l < point->ntangents; l++) c->column[point->tangent + l] = (int)row;
    }
    contactSpread(c, c->some, c->impulse, c->column, Fl);
  }
  return 0;
}

/* ------------------------------------------------------------------------------ life cycle -- */

/* Checks that the model has what contacts need. Returns 0, or 1 after a report. */
static int checkModel(const CPEquations *m) {
  const char *problem = !m               ? "mech must not be NULL"
                        : !m->M || !m->A ? "the equations of mech need M and A"
                        : !m->b ? "the equations of mech need b, for the accelerations of contacts"
                        : m->f_lambda ? "f_lambda must be NULL: contacts add friction to the forces"
                                      : NULL;
  if (problem) cpReport(NULL, m ? CP_ILL_INPUT : CP_MEM_NULL, "CPContactCreate", "%s", problem);
  return problem != NULL;
}

#define RULE(condition, text, number) \
  if (!rule && !(condition)) rule = text, *value = (sunrealtype)(number)

/* Returns the rule that a law violates, and sets value, or returns NULL. */
static const char *brokenLaw(const CPContactLaw *law, sunrealtype *value) {
  const char *rule = NULL;
  RULE(law->mu >= 0.0 && isfinite(law->mu), "mu must be >= 0", law->mu);
  RULE(law->mu_static >= 0.0 && isfinite(law->mu_static), "mu_static must be >= 0", law->mu_static);
  RULE(law->restitution >= 0.0 && law->restitution <= 1.0, "restitution must be from 0 to 1",
       law->restitution);
  RULE(law->tangential >= 0.0 && law->tangential <= 1.0, "tangential must be from 0 to 1",
       law->tangential);
  RULE(law->kind == CP_RESTITUTION_NEWTON || law->kind == CP_RESTITUTION_POISSON,
       "kind must be CP_RESTITUTION_NEWTON or CP_RESTITUTION_POISSON", law->kind);
  RULE(law->stiffness >= 0.0 && isfinite(law->stiffness), "stiffness must be >= 0", law->stiffness);
  RULE(law->damping >= 0.0 && isfinite(law->damping), "damping must be >= 0", law->damping);
  RULE(law->stiffness > 0.0 || law->damping == 0.0, "damping needs a stiffness > 0", law->damping);
  RULE(law->stiffness == 0.0 || (law->mu == 0.0 && law->mu_static == 0.0 && law->restitution == 0.0),
       "friction and restitution must be 0 with a stiffness", law->stiffness);
  RULE(law->kind != CP_RESTITUTION_POISSON || law->tangential == 0.0,
       "tangential must be 0 with Poisson's law", law->tangential);
  return rule;
}

static void takeLaw(Point *point, const CPContactLaw *law) {
  point->law           = *law;
  point->law.mu_static = fmax(law->mu, law->mu_static);
}

/* Is this the force that presses a contact without a normal row? */
static int isPress(const CPContactLaw *law) {
  return isfinite(law->force) && (law->nloads > 0 ? law->force >= 0.0 : law->force > 0.0);
}

/* Checks a contact's members. Returns 0, or 1 after a report. */
static int checkPoint(CPContact c, int i, const CPContactPoint *point) {
  const char *name = point->name && *point->name ? point->name : "?", *rule = NULL;
  sunrealtype number = 0, *value = &number;
  RULE(point->name && *point->name, "name must not be empty, of contact", i);
  RULE(point->normal >= -1 && point->normal < c->np, "normal must be a row of p, or -1",
       point->normal);
  RULE(point->normal >= 0 || point->ntangents == 1, "ntangents must be 1 without a normal row",
       point->ntangents);
  RULE(point->normal >= 0 || isPress(&point->law), "force must be > 0 without a normal row",
       point->law.force);
  RULE(point->law.nloads >= 0 && point->law.nloads <= CP_MOST_LOADS, "nloads must be from 0 to 3",
       point->law.nloads);
  RULE(point->law.nloads == 0 || point->normal < 0, "nloads must be 0 with a normal row",
       point->law.nloads);
  RULE(point->law.nloads == 0 ||
           (point->law.load >= 0 && point->law.load <= c->na - point->law.nloads),
       "load must be a row of A", point->law.load);
  RULE(point->normal >= 0 || point->law.stiffness == 0.0,
       "stiffness must be 0 without a normal row", point->law.stiffness);
  RULE(point->ntangents >= 0 && point->ntangents <= 2, "ntangents must be 0, 1 or 2",
       point->ntangents);
  RULE(point->ntangents == 0 ||
           (point->tangent >= c->np && point->tangent <= c->nv - point->ntangents),
       "tangent must be a row of v below those of p", point->tangent);
  RULE(point->period >= 0.0 && isfinite(point->period), "period must be >= 0", point->period);
  RULE(isfinite(point->nearest), "nearest must be finite", point->nearest);
  if (!rule) rule = brokenLaw(&point->law, value);
  for (int k = 0; !rule && k <= point->ntangents; k++) {
    const int row = (int)(k == 0 ? point->normal : point->tangent + k - 1);
    if (row < 0) continue;
    RULE(!c->is_contact[row], "another contact has the row", row);
    c->is_contact[row] = 1;
  }
  if (rule)
    cpReport(NULL, CP_ILL_INPUT, "CPContactCreate", "contact \"%s\": %s: %g", name, rule, number);
  return rule != NULL;
}
#undef RULE

/* Loads are reactions of the model, and not forces of contacts. Returns 0, or 1 after a report. */
static int checkLoads(const CPContact c) {
  for (int i = 0; i < c->npoints; i++)
    for (int k = 0; k < c->point[i].law.nloads; k++) {
      const int row = (int)c->point[i].law.load + k;
      if (!c->is_contact[row]) continue;
      cpReport(NULL, CP_ILL_INPUT, "CPContactCreate",
               "contact \"%s\": a contact has the row that loads it: %d", c->point[i].name, row);
      return 1;
    }
  return 0;
}

int contactSizeMultipliers(CPContact c, int m) {
  char *is_contact    = calloc((size_t)m, sizeof *is_contact);
  sunrealtype *lambda = calloc((size_t)m, sizeof *lambda);
  if (!is_contact || !lambda) {
    free(is_contact), free(lambda);
    return 1;
  }
  if (c->is_contact) memcpy(is_contact, c->is_contact, (size_t)c->na);
  free(c->is_contact), free(c->lambda);
  c->is_contact = is_contact, c->lambda = lambda, c->m = m;
  return 0;
}

/* Allocates all arrays. Returns 0, or 1 if out of memory. */
static int build(CPContact c) {
  const int is_sparse = c->model->A_tmpl && SUNMatGetID(c->model->A_tmpl) == SUNMATRIX_SPARSE;
  c->problem.direct   = is_sparse ? CONTACT_DIRECT : 0;
  c->stored           = is_sparse && c->nrows > CONTACT_STORED ? CONTACT_STORED : c->nrows;
  const size_t na = (size_t)c->nrows, n = (size_t)c->npoints;
  struct {
    void *address;
    size_t count, size;
  } arrays[] = {{&c->point, n, sizeof *c->point},
                {&c->before, n, sizeof *c->before},
                {&c->earlier, n, sizeof *c->earlier},
                {&c->elastic.p, na, sizeof *c->elastic.p},
                {&c->elastic.v, na, sizeof *c->elastic.v},
                {&c->elastic.N, na, sizeof *c->elastic.N},
                {&c->kept.point, n, sizeof *c->point},
                {&c->kept.event, n, sizeof *c->event},
                {&c->event_own, n, sizeof *c->event},
                {&c->near, n + 1, sizeof *c->near},
                {&c->first_root, n + 1, sizeof *c->first_root},
                {&c->no_root, ROOTS * n, sizeof *c->no_root},
                {&c->gap, n, sizeof *c->gap},
                {&c->is_far, n, sizeof *c->is_far},
                {&c->off, na, sizeof *c->off},
                {&c->found, na, sizeof *c->found},
                {&c->live, na + 1, sizeof *c->live},
                {&c->start_y, (size_t)c->n, sizeof *c->start_y},
                {&c->fired, ROOTS * n, sizeof *c->fired},
                {&c->onset, n, sizeof *c->onset},
                {&c->event, n, sizeof *c->event},
                {&c->event_before, n, sizeof *c->event},
                {&c->carries, n, sizeof *c->carries},
                {&c->trial_carries, n, sizeof *c->carries},
                {&c->lifted, n, sizeof *c->carries},
                {&c->approach, na, sizeof *c->approach},
                {&c->load, na, sizeof *c->load},
                {&c->push, (size_t)c->nu, sizeof *c->push},
                {&c->before_v, na, sizeof *c->before_v},
                {&c->keep, n, sizeof *c->keep},
                {&c->skipped, na, sizeof *c->skipped},
                {&c->known.skipped, na, sizeof *c->known.skipped},
                {&c->known.q, (size_t)c->nq, sizeof *c->known.q},
                {&c->known.u, (size_t)c->nu, sizeof *c->known.u},
                {&c->known.v, na, sizeof *c->known.v},
                {&c->end_y, (size_t)c->n, sizeof *c->end_y},
                {&c->turns.u, (size_t)c->nu, sizeof *c->turns.u},
                {&c->impact.keep, n, sizeof *c->keep},
                {&c->impact.pull, n, sizeof *c->impact.pull},
                {&c->impact.glued, n, sizeof *c->keep},
                {&c->impact.plastic, n, sizeof *c->keep},
                {&c->row, na, sizeof *c->row},
                {&c->scale, na, sizeof *c->scale},
                {&c->error, na, sizeof *c->error},
                {&c->order, na, sizeof *c->order},
                {&c->problem.law, 2 * n, sizeof *c->problem.law},
                {&c->mask, na, sizeof *c->mask},
                {&c->column, na, sizeof *c->column},
                {&c->p, na, sizeof *c->p},
                {&c->v, na, sizeof *c->v},
                {&c->base, na, sizeof *c->base},
                {&c->b, na, sizeof *c->b},
                {&c->a, na, sizeof *c->a},
                {&c->impulse, na, sizeof *c->impulse},
                {&c->velocity, na, sizeof *c->velocity},
                {&c->e, na, sizeof *c->e},
                {&c->compression, na, sizeof *c->compression},
                {&c->udot, (size_t)c->nu, sizeof *c->udot},
                {&c->force, (size_t)c->nu, sizeof *c->force},
                {&c->problem.block, 9 * n, sizeof *c->W},
                {&c->problem.c, na, sizeof *c->W},
                {&c->problem.x, na, sizeof *c->W},
                {&c->problem.w, na, sizeof *c->W}};
  _Static_assert(sizeof arrays / sizeof *arrays <= CONTACT_ARRAYS, "owned is too short");
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) {
    void *array = calloc(arrays[k].count, arrays[k].size);
    if (!array) return 1;
    c->owned[c->nowned++] = array;
    memcpy(arrays[k].address, &array, sizeof array);
  }
  return contactSizeMultipliers(c, c->na);
}

/* ------------------------------------------------------------------------------- counters -- */

static const CPCounter table[] = {CP_STAT(CPContactStats, nevents, "events"),
                                  CP_STAT(CPContactStats, nimpacts, "impacts"),
                                  CP_STAT(CPContactStats, naccumulations, "accumulations"),
                                  CP_STAT(CPContactStats, nreduced, "reduced_impacts"),
                                  CP_STAT(CPContactStats, nsolved, "problems"),
                                  CP_STAT(CPContactStats, nnewton, "newton_problems"),
                                  CP_STAT(CPContactStats, residual, "residual"),
                                  CP_STAT(CPContactStats, nintervals, "intervals"),
                                  CP_STAT(CPContactStats, ninterval_steps, "interval_steps"),
                                  CP_STAT(CPContactStats, interval_begin, "interval_begin"),
                                  CP_STAT(CPContactStats, interval_end, "interval_end"),
                                  CP_STAT(CPContactStats, time_stepping, "time_stepping"),
                                  {NULL, 0, CP_OF_INT}};

static void readCounters(CPObject object, void *to) {
  const CPContact c     = (CPContact)object;
  CPContactStats *stats = to;
  *stats                = c->stats;
  stats->time_stepping  = c->time_stepping;
}

static const CPKind objects = {table, readCounters, NULL};

int contactObjects(CPContact c, N_Vector y) {
  const SUNMatrix tmpl = c->model->A_tmpl;
  N_Vector *vector[]   = {&c->saved, &c->newest, &c->trial, &c->rate};
  for (size_t k = 0; k < sizeof vector / sizeof *vector; k++)
    if (!*vector[k] && !(*vector[k] = N_VClone(y))) return 1;
  if (c->A) return 0;
  SUNMatrix *const matrix[] = {&c->some, &c->A};
  for (int k = 0; k < 2; k++) {
    if (*matrix[k]) continue;
    SUNMatrix A = tmpl ? SUNMatClone(tmpl) : SUNDenseMatrix(c->na, c->nu, y->sunctx);
    if (A && tmpl && SUNMatCopy(tmpl, A)) SUNMatDestroy(A), A = NULL;
    if (!(*matrix[k] = A)) return 1;
  }
  if (!contactIndexRows(c)) return 0;
  contactForgetRows(c);
  SUNMatDestroy(c->A), c->A = NULL; /* The next call tries again. */
  return 1;
}

/* Does point i have no normal row? Its size is checked later. */
static int hasNoNormal(const CPContactPoint *points, int i) {
  return ((const CPContactPoint *)cpElement(points, i))->normal < 0;
}

CPContact CPContactCreate(CPMech mech, int n, const CPContactPoint *points) {
  const CPEquations *model   = CPModelGetEquations(CPMechGetModel(mech));
  const CPMechForce friction = {CP_SIZED(CPMechForce), .f = frictionForce, .on_lambda = 1,
                                .lambda_jac = frictionJac, .linearize = linearize};
  int with_friction = 0, elastic = 0, held = 0, flag = checkModel(model);
  if (flag) return NULL;
  if (n < 1 || !points) {
    cpReport(NULL, CP_ILL_INPUT, __func__, "n must be > 0, and points not NULL: n = %d", n);
    return NULL;
  }
  CPContact c = calloc(1, sizeof *c);
  if (c) {
    c->log.kind = &objects;
    c->known.t = c->own = NAN;
    c->mech = mech, c->model = model, c->npoints = n, c->friction = c->elastic.force = -1;
    c->nu = (int)model->nu, c->nq = (int)(model->nq ? model->nq : model->nu);
    c->n  = c->nq + c->nu + (int)model->nz;
    c->np = (int)model->np;
    c->nv = (int)(model->nv > model->np ? model->nv : model->np);
    c->na = c->nrows = model->na > c->nv ? (int)model->na : c->nv;
    for (int i = 0; i < n; i++) c->nrows += hasNoNormal(points, i);
  }
  if (!c || build(c)) {
    cpReport(NULL, CP_MEM_FAIL, __func__, "no memory for %d contacts", n);
    CPContactFree(&c);
    return NULL;
  }
  held = c->na;
  for (int i = 0; i < n && !flag; i++) {
    Point *point = &c->point[i];
    CPContactPoint given;
    flag = cpTakeStruct(NULL, &given, sizeof given, cpElement(points, i), "points[0]", __func__);
    if (!flag) flag = checkPoint(c, i, &given);
    if (flag) break;
    snprintf(point->name, sizeof point->name, "%s", given.name);
    point->given       = given.law;
    point->turn.period = given.period, point->turn.nearest = point->turn.gap = given.nearest;
    point->turn.t = NAN;
    takeLaw(point, &given.law);
    point->is_held = given.normal < 0;
    c->nloaded += given.law.nloads > 0;
    point->normal     = point->is_held ? held++ : (int)given.normal;
    c->gap[i]         = point->normal;
    point->is_elastic = given.law.stiffness > 0.0;
    elastic |= point->is_elastic;
    point->smooth    = given.ntangents > 0 && !(point->law.mu_static > 0.0);
    point->ntangents = point->smooth ? 0 : given.ntangents;
    point->tangent   = point->ntangents > 0 ? (int)given.tangent : point->normal;
    with_friction |= point->ntangents > 0;
    c->first_root[i + 1] = c->first_root[i] + (point->ntangents > 0 ? ROOTS : ROOTS - 2);
    for (int k = c->first_root[i]; k < c->first_root[i + 1]; k++)
      c->no_root[k] = k + 1 < c->first_root[i + 1] ? 1.0 : -1.0;
  }
  contactAllNear(c);
  if (!flag) flag = checkLoads(c);
  CPMechForce force = friction;
  force.data        = c;
  if (!flag) flag = contactActivate(c);
  if (!flag && with_friction) flag = CPMechAddForce(mech, &force, &c->friction);
  if (!flag && elastic) flag = contactAddElasticForce(c);
  if (flag) CPContactFree(&c);
  return c;
}

void CPContactFree(CPContact *contact) {
  if (!contact || !*contact || contactIdle(*contact, __func__)) return;
  CPContact c = *contact;
  if (c->friction >= 0) CPMechRemoveForce(c->mech, c->friction);
  if (c->elastic.force >= 0) CPMechRemoveForce(c->mech, c->elastic.force);
  for (int k = 0; k < c->nowned; k++) free(c->owned[k]);
  free(c->is_contact);
  free(c->W), free(c->problem.on);
  free(c->lambda);
  free(c->recent);
  contactSensFree(c);
  contactForgetRows(c);
  if (c->A) SUNMatDestroy(c->A);
  if (c->some) SUNMatDestroy(c->some);
  if (c->saved) N_VDestroy(c->saved);
  if (c->newest) N_VDestroy(c->newest);
  if (c->trial) N_VDestroy(c->trial);
  if (c->rate) N_VDestroy(c->rate);
  free(c);
  *contact = NULL;
}

/* --------------------------------------------------------------------------------- options -- */

int CPContactSetEventFn(CPContact c, CPContactEventFn fn, void *data) {
  if (!c) return cpReport(NULL, CP_MEM_NULL, __func__, "contact must not be NULL");
  c->event_fn = fn, c->event_data = data;
  return CP_SUCCESS;
}

int CPContactSetLawFn(CPContact c, CPContactLawFn fn, void *data) {
  const int flag = contactIdle(c, __func__);
  if (flag) return flag;
  c->law_fn = fn, c->law_data = data; /* Differences may have changed the constants. */
  for (int i = 0; i < c->npoints; i++) takeLaw(&c->point[i], &c->point[i].given);
  return CP_SUCCESS;
}

int contactLawOf(CPContact c, int i, sunrealtype t, const sunrealtype *q, int check,
                 const char *function) {
  Point *point = &c->point[i];
  if (!c->law_fn && !c->model->contact_law) return CP_SUCCESS;
  const int row      = point->is_held ? point->tangent : point->normal;
  CPContactLaw given = c->law_fn ? point->law : point->given;
  const int flag     = c->law_fn ? contactCalled(c, c->law_fn(i, &given, c->law_data))
                                 : contactCall(c, contact_law, t, q, i, row, &given);
  if (flag) return contactUserFailed(c, function, "the function of laws", t, flag);
  sunrealtype value = fmax(given.mu, given.mu_static);
  const char *rule  = !check ? NULL
                      : point->smooth && value > 0.0
                          ? "mu and mu_static must stay 0 as in CPContactCreate"
                          : brokenLaw(&given, &value);
  given.load = point->given.load, given.nloads = point->given.nloads;
  if (check && point->is_held && !isPress(&given))
    rule = "force must be > 0 without a normal row", value = given.force;
  if (check && point->is_elastic != (given.stiffness > 0.0))
    rule = "stiffness must stay > 0, or 0, as in CPContactCreate", value = given.stiffness;
  if (rule)
    return cpReport(&c->log, CP_ILL_INPUT, function, "at t = %.10g: contact \"%s\": %s: %g", t,
                    point->name, rule, value);
  takeLaw(point, &given);
  return CP_SUCCESS;
}

int contactLaws(CPContact c, sunrealtype t, const sunrealtype *q, int check, const char *function) {
  int flag = CP_SUCCESS;
  for (int i = 0; i < c->npoints && !flag; i++)
    if (!q || !c->is_far[i]) flag = contactLawOf(c, i, t, q, check, function);
  return flag;
}

int CPContactSetTimeStepping(CPContact c, int nevents, sunrealtype duration) {
  const int flag = contactIdle(c, __func__);
  if (flag) return flag;
  if (nevents < 0 || nevents == 1 || (nevents > 0 && !(duration > 0.0 && isfinite(duration))))
    return cpReport(&c->log, CP_ILL_INPUT, __func__,
                    "nevents must be 0 or at least 2, and duration > 0: nevents = %d, "
                    "duration = %g",
                    nevents, duration);
  if (c->time_stepping)
    return cpReport(&c->log, CP_TOO_LATE, __func__, "time stepping is under way, since t = %.15g",
                    c->stats.interval_begin);
  if (nevents > 0 && c->nloaded > 0)
    return cpReport(&c->log, CP_NOT_SUPPORTED, __func__,
                    "time stepping has no friction that depends on the load of a joint");
  if (nevents > 0 && c->sens.Ns > 0)
    return cpReport(&c->log, CP_NOT_SUPPORTED, __func__, "time stepping has no sensitivities");
  sunrealtype *recent = calloc((size_t)nevents + 1, sizeof *recent);
  if (!recent) return cpReport(&c->log, CP_MEM_FAIL, __func__, "no memory for %d events", nevents);
  free(c->recent);
  c->recent = recent, c->nrecent = 0, c->dense = nevents, c->dense_time = duration;
  return CP_SUCCESS;
}

/* ------------------------------------------------------------------------------ quantities -- */

/* (N, F_T) of all contacts, from c->lambda and, for sliding contacts, c->v. Returns 0 or an error
 * code that has been reported. */
static int takeForces(CPContact c, sunrealtype t, N_Vector y, sunrealtype *force,
                      const char *function) {
  const sunrealtype *q = N_VGetArrayPointer(y);
  const int flag       = turns(c) ? contactVelocities(c, t, q, q + c->nq, contactOff(c)) : 0;
  if (flag) return contactUserFailed(c, function, "v", t, flag);
  for (int i = 0; i < c->npoints; i++) {
    const Point *point = &c->point[i];
    const int is_force = isForce(point);
    sunrealtype *F = force + 3 * i, s[2] = {0, 0};
    F[0] = point->is_elastic
               ? contactElasticForce(c, point, c->p[point->normal], c->v[point->normal])
               : contactNormal(point, c->lambda);
    F[1] = F[2] = 0;
    if (is_force) contactDirection(c, point, t, s);
    for (int k = 0; k < point->ntangents && point->phase != CP_CONTACT_OPEN; k++)
      F[1 + k] = is_force && (!point->implied || point->implied >> k & 1)
                     ? point->wedged[k] - coefficient(point) * F[0] * s[k]
                     : -c->lambda[point->tangent + k];
  }
  return CP_SUCCESS;
}

int CPContactEvaluate(CPContact c, sunrealtype t, N_Vector y, CPMechOutput *out, sunrealtype *force,
                      sunrealtype *gap, CPContactPhase *phase) {
  if (!c) return cpReport(NULL, CP_MEM_NULL, __func__, "contact must not be NULL");
  for (int i = 0; i < c->npoints && phase; i++) phase[i] = c->point[i].phase;
  if (!out && !force && !gap) return CP_SUCCESS;
  int flag             = contactReady(c, y, __func__);
  const sunrealtype *q = flag ? NULL : N_VGetArrayPointer(y);
  memset(c->skipped, 0, (size_t)c->na);
  for (int i = 0; i < c->npoints; i++) /* Nothing depends on these velocities. */
    if (c->point[i].phase == CP_CONTACT_OPEN)
      memset(c->skipped + c->point[i].tangent, 1, (size_t)c->point[i].ntangents);
  if (!flag) flag = contactMeasureRows(c, t, q, q + c->nq, c->skipped, __func__);
  if (flag) return flag;
  for (int i = 0; i < c->npoints && gap; i++) gap[i] = c->p[c->point[i].normal];
  if (!out && !force) return CP_SUCCESS;
  flag = contactLaws(c, t, N_VGetArrayPointer(y), 1, __func__);
  if (flag) return flag;
  CPMechOutput all = CP_INIT(CPMechOutput);
  if (out) flag = cpTake(&c->log, &all, out, __func__);
  if (flag) return flag;
  sunrealtype *lambda = all.lambda;
  all.lambda          = c->lambda;
  flag                = CPMechEvaluate(c->mech, t, y, &all);
  if (flag) return contactPassOn(c, flag);
  if (force) flag = takeForces(c, t, y, force, __func__);
  if (flag || !out) return flag;
  all.lambda = lambda;
  cpGive(out, &all);
  if (lambda) memcpy(lambda, c->lambda, (size_t)c->m * sizeof *c->lambda);
  return CP_SUCCESS;
}
