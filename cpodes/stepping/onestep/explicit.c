/* The step of explicit Runge-Kutta methods: stages, projection, error test, step size. */
#include "explicit.h"

#include <math.h>

typedef struct {
  N_Vector **k;    /* [count][nk] */
  int have_first;  /* k_0 are the slopes at (t, y, s) */
  int is_prepared; /* k contains the vectors for interpolation in the last step */
} CPExplicitBeside;

/* ---- life cycle ---- */

static int create(CPOneStep mem) {
  CPExplicit e;
  if (!CP_NEW(&mem->memory, e, 1)) return CP_MEM_FAIL;
  mem->own       = e;
  e->kind        = mem->table ? &cpTableKind : &cpDop853Kind;
  const int flag = e->kind->create(mem);
  if (flag) return flag;
  mem->order  = mem->table->q;
  mem->stages = mem->table->stages;
  return CP_SUCCESS;
}

static int init(CPOneStep mem) {
  CPExplicit e    = mem->own;
  CPArena *memory = &mem->base.memory;
  CP_NEW(memory, e->k, e->nk);
  CP_NEW(memory, e->x, e->nk + 2);
  CP_NEW(memory, e->w, e->nk + 2);
  for (int i = 0; e->k && i < e->nk; i++) e->k[i] = cpArenaVector(memory, mem->base.y0);
  return cpArenaStatus(memory);
}

static int start(CPOneStep mem) {
  CPExplicit e     = mem->own;
  e->k_is_last     = 0;
  e->is_prepared   = 0;
  mem->on_manifold = 0;
  e->norm          = 1.0e-4; /* a small value makes the first growth cautious */
  const int flag   = cpOneStepRhs(mem, mem->base.t, mem->base.y, e->k[0], 0);
  if (flag == -CV_REPTD_RHSFUNC_ERR) return CV_FIRST_RHSFUNC_ERR;
  return flag > 0 ? -flag : flag;
}

/* ---- step sizes (E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I,
 * 2nd ed., section II.4) ---- */

/* Lower bound on the previous error in the controller (DOP853): smaller errors predict nothing. */
#define LEAST_NORM 1.0e-4
/* The exponent of the previous error in the PI controller. Relative to this value, at equal error
 * and in the geometric mean over nine mechanisms, DOP853 takes 0.96 times the steps and 1.05 times
 * the evaluations with 0 (its authors' value), and 1.05 and 0.98 times with 0.05 (guide). */
#define BETA 0.03

static sunrealtype ratio(CPOneStep mem, sunrealtype norm, int accepted) {
  const CPExplicit e     = mem->own;
  const sunrealtype expo = 1.0 / e->error_order - 0.75 * BETA;
  sunrealtype factor     = CP_SAFETY * pow(norm, -expo);
  if (accepted) {
    factor *= pow(e->norm, BETA);
    e->norm = fmax(norm, LEAST_NORM);
  }
  return fmin(fmax(factor, e->kind->shrink), e->kind->grow); /* also an infinite factor */
}

static int firstRhs(CPIntegrator s, sunrealtype t, N_Vector y, N_Vector ydot) {
  return cpOneStepRhs((CPOneStep)s, t, y, ydot, 0);
}

int cpInitialStep(CPOneStep mem, N_Vector f0, N_Vector f1, sunrealtype *h) {
  sunrealtype longest = fabs(mem->tlimit - mem->base.t);
  if (mem->base.hmax > 0.0) longest = fmin(longest, mem->base.hmax);
  *h = mem->dir * longest;
  return cpStepperFirstStep(&mem->base, firstRhs, mem->order, f0, f1, mem->ynew, h);
}

/* ---- an attempt ---- */

/* z = sum_i w_i x_i, i < terms */
static int combine(CPOneStep mem, int terms, N_Vector z) {
  const CPExplicit e = mem->own;
  if (cpLinearCombination(terms, e->w, e->x, z) == 0) return CP_SUCCESS;
  return cpReason(mem->base.text, CP_VECTOROP_ERR, "N_VLinearCombination failed");
}

int cpExplicitSum(CPOneStep mem, N_Vector *k, N_Vector y, sunrealtype h, const sunrealtype *a,
                  int n, N_Vector z) {
  CPExplicit e = mem->own;
  int terms    = 0;
  if (y) e->x[terms] = y, e->w[terms++] = 1.0;
  for (int j = 0; j < n; j++)
    if (a[j] != 0.0) e->x[terms] = k[j], e->w[terms++] = h * a[j];
  return combine(mem, terms, z);
}

/* Is the error estimate projected? Next to a singular position, one of the directions that count as
 * normal is one in which a state off the manifold keeps moving; a projected estimate would hide the
 * error in that direction. */
static int errorIsProjected(CPOneStep mem) {
  return mem->base.P && mem->base.errest == CP_ERREST_PROJECTED && !mem->on_manifold;
}

int cpExplicitError(CPOneStep mem, const CPCourse *c, sunrealtype h, const sunrealtype *w,
                    sunrealtype *norm) {
  const CPIntegrator s = &mem->base;
  int flag             = cpExplicitSum(mem, c->k, NULL, h, w, mem->table->stages, c->err);
  if (!flag && errorIsProjected(mem))
    flag = cpStepperProjectError(s, mem->tnew, mem->ynew, s->ewt, c->err);
  if (!flag) *norm = cpWrmsNorm(c->err, c->ewt);
  return flag;
}

/* k_i = f(t, y). A recoverable failure fails the attempt, and is counted. */
static int evaluate(CPOneStep mem, sunrealtype t, N_Vector y, int i) {
  const CPExplicit e = mem->own;
  const int flag     = cpOneStepRhs(mem, t, y, e->k[i], 0);
  if (flag > 0) mem->stats.nrhsfails++;
  return flag;
}

/* Nothing depends on quadratures, and so they are left out of idle stages. The states of an attached system there are not touched: its
 * tolerances for them depend on all components. */
static void leaveOut(CPOneStep mem, int i) {
  const CPSystem *system = &mem->base.system;
  const int idle         = i > 0 && i <= ((CPExplicit)mem->own)->kind->idle;
  if (system->leave_out) system->leave_out(idle ? 2 : 0, cpOneStepUserData(&mem->base));
}

/* Computes k_1, k_2, ... and ynew before its projection; k_0 = f(t, y) is known. */
static int evaluateStages(CPOneStep mem, sunrealtype h) {
  const CPIntegrator s       = &mem->base;
  const CPExplicit e         = mem->own;
  const ARKodeButcherTable B = mem->table;
  const int n                = B->stages - e->fsal;
  int flag                   = CP_SUCCESS;
  for (int i = 1; i < n && !flag; i++) {
    flag = cpExplicitSum(mem, e->k, s->y, h, B->A[i], i,
                         mem->ynew); /* Y_i = y + h sum_j a_ij k_j     */
    if (!s->system.data) leaveOut(mem, i);
    if (!flag) flag = evaluate(mem, s->t + B->c[i] * h, mem->ynew, i); /* k_i = f(t + c_i h, Y_i) */
  }
  if (!s->system.data) leaveOut(mem, 0);
  return flag ? flag
              : cpExplicitSum(mem, e->k, s->y, h, B->b, n, mem->ynew); /* y1 = y + h sum_i b_i k_i */
}

/* Computes all stages with the same right-hand side. Next to a singular position it is f on the
 * manifold (CPSystem.on_manifold): as soon as one stage needs it, all stages are computed again in
 * this way, and the next attempt starts with it. The first step is an exception: its size is a
 * guess, and stages that are far apart mean that it is too long, not that a singular position is
 * near. */
static int stages(CPOneStep mem, sunrealtype h) {
  const CPSystem *system = &mem->base.system;
  if (!system->on_manifold) return evaluateStages(mem, h);
  system->on_manifold(system->data, mem->on_manifold);
  int flag = evaluateStages(mem, h);
  if (mem->stats.nst == 0) return flag;
  const int needed    = system->on_manifold(system->data, mem->on_manifold);
  const int once_more = needed && !mem->on_manifold && flag >= 0;
  mem->on_manifold    = needed;
  if (!once_more) return flag;
  system->on_manifold(system->data, 1);
  return evaluateStages(mem, h);
}

/* Sets base.err and its norm. With fixed steps there is no estimate, and norm is 0. */
static int estimate(CPOneStep mem, sunrealtype h, sunrealtype *norm) {
  const CPExplicit e      = mem->own;
  const CPIntegrator s    = &mem->base;
  const CPCourse of_state = {e->k, s->y, mem->ynew, s->err, s->ewt};
  *norm                   = 0.0;
  mem->have_err           = mem->hfixed == 0.0;
  if (!mem->have_err) return CP_SUCCESS;
  const int flag = e->kind->estimate(mem, &of_state, h, norm);
  if (isnan(*norm)) *norm = INFINITY; /* overflow */
  return flag;
}

/* An estimate that neither is projected nor uses f at the projected state (FSAL) is tested first,
 * so that a rejected attempt costs no projection. */
static int attempt(CPOneStep mem, sunrealtype h, sunrealtype *norm) {
  const CPExplicit e = mem->own;
  int flag           = stages(mem, h); /* sets on_manifold, which errorIsProjected reads */
  const int early    = !e->fsal && !errorIsProjected(mem);
  if (!flag && early) flag = estimate(mem, h, norm);
  if (flag || (early && *norm > 1.0)) return flag;
  flag = cpOneStepProject(mem, mem->tnew, mem->ynew);
  if (!flag && e->fsal) flag = evaluate(mem, mem->tnew, mem->ynew, e->last);
  if (!flag && !early) flag = estimate(mem, h, norm);
  if (flag || e->fsal || *norm > 1.0) return flag;
  return evaluate(mem, mem->tnew, mem->ynew, e->last);
}

static void exchange(N_Vector *a, N_Vector *b) {
  N_Vector kept = *a;
  *a = *b, *b = kept;
}

/* k_last = f(t, y) of the accepted step becomes k_0. */
static int begin(CPOneStep mem) {
  const CPExplicit e = mem->own;
  e->is_prepared     = 0;
  if (e->k_is_last) exchange(&e->k[0], &e->k[e->last]);
  CPExplicitBeside *b = mem->beside.own;
  for (int p = 0; e->k_is_last && p < mem->beside.of.count; p++)
    exchange(&b->k[p][0], &b->k[p][e->last]);
  if (b) b->is_prepared = 0;
  e->k_is_last = 0;
  if (mem->h != 0.0 || mem->hfixed > 0.0) return CP_SUCCESS;
  return cpInitialStep(mem, e->k[0], mem->base.tmp, &mem->h);
}

static void accepted(CPOneStep mem) { ((CPExplicit)mem->own)->k_is_last = 1; }

static void takenBack(CPOneStep mem) { ((CPExplicit)mem->own)->k_is_last = 0; }

/* ---- interpolation ---- */

sunrealtype cpPolynomialValue(const CPPolynomial *p, int degree, sunrealtype theta, int k) {
  sunrealtype value = 0.0;
  for (int i = degree; i >= k; i--) {
    sunrealtype factor = 1.0; /* i! / (i - k)! */
    for (int j = 0; j < k; j++) factor *= i - j;
    value = value * theta + factor * p->a[i];
  }
  return value;
}

int cpInterpolate(CPOneStep mem, const CPCourse *c, const CPInterpolant *ip, sunrealtype theta,
                  int k, N_Vector dky) {
  CPExplicit e        = mem->own;
  const sunrealtype h = mem->hlast, scale = pow(h, -k);
  const sunrealtype change = scale * cpPolynomialValue(&ip->difference, ip->degree, theta, k);
  int terms                = 0;
  e->x[terms] = c->from, e->w[terms++] = (k == 0) - change;
  e->x[terms] = c->to, e->w[terms++] = change;
  for (int j = 0; j < ip->terms; j++)
    e->x[terms]   = c->k[ip->place[j]],
    e->w[terms++] = h * scale * cpPolynomialValue(&ip->p[j], ip->degree, theta, k);
  return combine(mem, terms, dky);
}

/* Computes the vectors k for interpolation in the last step. */
static int prepare(CPOneStep mem) {
  const CPExplicit e = mem->own;
  const CPCourse c   = {.k = e->k, .from = mem->ylast, .to = mem->base.y};
  sunrealtype theta;
  int flag = CP_SUCCESS;
  if (e->is_prepared) return CP_SUCCESS;
  for (int i = e->last + 1; i < e->nk && !flag; i++) {
    flag = e->kind->state(mem, &c, i, &theta, mem->ynew);
    if (!flag) flag = cpOneStepRhs(mem, mem->tlast + theta * mem->hlast, mem->ynew, e->k[i], 1);
  }
  e->is_prepared = !flag;
  mem->is_blind  = flag > 0;
  return flag > 0 ? -flag : flag;
}

static int interpolate(CPOneStep mem, sunrealtype t, int k, N_Vector dky) {
  CPExplicit e     = mem->own;
  const CPCourse c = {.k = e->k, .from = mem->ylast, .to = mem->base.y};
  const int at_end = t == mem->base.t;
  if (k == 1 && (at_end || t == mem->tlast)) { /* the slope f of every interpolant there */
    N_VScale(1.0, e->k[at_end ? e->last : 0], dky);
    return CP_SUCCESS;
  }
  const int flag = prepare(mem);
  if (flag) return flag;
  return cpInterpolate(mem, &c, e->highest, (t - mem->tlast) / mem->hlast, k, dky);
}

static int degree(CPOneStep mem) { return ((CPExplicit)mem->own)->highest->degree; }

void cpInterpolantHermite(CPInterpolant *ip, int last) {
  *ip = (CPInterpolant){.degree     = 3,
                        .terms      = 2,
                        .difference = {{0, 0, 3, -2}},
                        .p          = {{{0, 1, -2, 1}}, {{0, 0, -1, 1}}},
                        .place      = {0, last}};
}

/* ---- sensitivities: the same step, whose slopes are J S + df/dp at the stages of the state ---- */

static int varyInit(CPOneStep mem) {
  const CPExplicit e = mem->own;
  CPArena *memory    = &mem->beside.memory;
  CPExplicitBeside *b;
  if (!CP_NEW(memory, b, 1) || !CP_NEW(memory, b->k, mem->beside.of.count)) return CP_MEM_FAIL;
  mem->beside.own = b;
  for (int p = 0; p < mem->beside.of.count; p++) {
    CP_NEW(memory, b->k[p], e->nk);
    for (int i = 0; b->k[p] && i < e->nk; i++) b->k[p][i] = cpArenaVector(memory, mem->base.y0);
  }
  return cpArenaStatus(memory);
}

static int varyStart(CPOneStep mem) {
  CPExplicitBeside *b = mem->beside.own;
  b->have_first = b->is_prepared = 0;
  return CP_SUCCESS;
}

/* The sensitivity p in the newest attempt, or in the last step */
static CPCourse courseOf(CPOneStep mem, int p, int is_last) {
  const CPOneStepBeside *b = &mem->beside;
  return (CPCourse){((CPExplicitBeside *)b->own)->k[p], is_last ? b->slast[p] : b->s[p],
                    is_last ? b->s[p] : b->snew[p], b->err, b->ewt};
}

/* k_i of all sensitivities, at the stage (t, Y_i) of the state; their own stages are S = s + h sum_j a_j k_j. */
static int varyStage(CPOneStep mem, sunrealtype t, N_Vector Y, sunrealtype h, const sunrealtype *a,
                     int i) {
  const CPOneStepBeside *b = &mem->beside;
  const N_Vector f         = ((CPExplicit)mem->own)->k[i];
  int flag                 = CP_SUCCESS;
  for (int p = 0; p < b->of.count && !flag; p++) {
    const CPCourse c = courseOf(mem, p, 0);
    if (i > 0) flag = cpExplicitSum(mem, c.k, c.from, h, a, i, b->moved);
    if (!flag) flag = cpOneStepVariation(mem, t, Y, f, p, i > 0 ? b->moved : c.from, c.k[i]);
  }
  return flag;
}

static int vary(CPOneStep mem, sunrealtype h, sunrealtype *norm) {
  const CPIntegrator s       = &mem->base;
  const CPExplicit e         = mem->own;
  const CPOneStepBeside *b   = &mem->beside;
  CPExplicitBeside *own      = b->own;
  const ARKodeButcherTable B = mem->table;
  const int n                = B->stages - e->fsal;
  sunrealtype error          = 0.0;
  int flag        = own->have_first ? CP_SUCCESS : varyStage(mem, s->t, s->y, h, NULL, 0);
  own->have_first = !flag;
  for (int i = 1; i < n && !flag; i++) {
    flag = cpExplicitSum(mem, e->k, s->y, h, B->A[i], i, b->y);
    leaveOut(mem, i);
    if (!flag) flag = varyStage(mem, s->t + B->c[i] * h, b->y, h, B->A[i], i);
  }
  leaveOut(mem, 0);
  for (int p = 0; p < b->of.count && !flag; p++) {
    const CPCourse c = courseOf(mem, p, 0);
    flag             = cpExplicitSum(mem, c.k, c.from, h, B->b, n, c.to);
    if (!flag) flag = b->of.project(mem->tnew, mem->ynew, p == 0, p, c.to, b->of.data);
    if (!flag)
      flag = cpOneStepVariation(mem, mem->tnew, mem->ynew, e->k[e->last], p, c.to, c.k[e->last]);
    if (flag || !*b->of.errcon || mem->hfixed > 0.0) continue;
    flag = b->of.weights(p, c.from, c.ewt, b->of.data);
    if (!flag) flag = e->kind->estimate(mem, &c, h, &error);
    *norm = isnan(error) ? INFINITY : fmax(*norm, error);
  }
  return flag;
}

/* Stages for interpolation follow those of the state, which are computed first. */
static int varyPrepare(CPOneStep mem) {
  const CPExplicit e       = mem->own;
  const CPOneStepBeside *b = &mem->beside;
  const CPCourse c         = {.k = e->k, .from = mem->ylast, .to = mem->base.y};
  sunrealtype theta;
  int flag = prepare(mem);
  for (int i = e->last + 1; i < e->nk && !flag; i++) {
    flag = e->kind->state(mem, &c, i, &theta, b->y);
    for (int p = 0; p < b->of.count && !flag; p++) {
      const CPCourse of_s = courseOf(mem, p, 1);
      flag                = e->kind->state(mem, &of_s, i, &theta, b->moved);
      if (!flag)
        flag = cpOneStepVariation(mem, mem->tlast + theta * mem->hlast, b->y, e->k[i], p, b->moved,
                                  of_s.k[i]);
    }
  }
  ((CPExplicitBeside *)b->own)->is_prepared = !flag;
  return flag > 0 ? -flag : flag;
}

static int varyInterpolate(CPOneStep mem, int p, sunrealtype t, int k, N_Vector dky) {
  const CPCourse c = courseOf(mem, p, 1);
  const int flag =
      ((CPExplicitBeside *)mem->beside.own)->is_prepared ? CP_SUCCESS : varyPrepare(mem);
  return flag ? flag
              : cpInterpolate(mem, &c, ((CPExplicit)mem->own)->highest,
                              (t - mem->tlast) / mem->hlast, k, dky);
}

const CPOneStepMethod cpExplicitMethod = {.create           = create,
                                          .init             = init,
                                          .start            = start,
                                          .begin            = begin,
                                          .attempt          = attempt,
                                          .ratio            = ratio,
                                          .accepted         = accepted,
                                          .taken_back       = takenBack,
                                          .interpolate      = interpolate,
                                          .degree           = degree,
                                          .vary_init        = varyInit,
                                          .vary_start       = varyStart,
                                          .vary             = vary,
                                          .vary_interpolate = varyInterpolate};
