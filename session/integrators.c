/* The session's integrators: their starts and restarts, and the choice of the method. */
#include "session_impl.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The number of steps after which the method is judged again, which costs about one step of DOP853. */
#define STEPS_BETWEEN 50
/* Up to h rho = 6, rho the spectral radius, DOP853 is stable: its steps are limited by stability if h rho is near 6, and
 * RADAU's are no longer than DOP853's could be if it is small. */
#define LIMITED 3.0
/* Without a CPMech a power iteration gives rho with EVALUATIONS calls of f. The fixed-point iteration of Adams converges up to
 * h rho = 1 in place of 6. One rate could be an accident of this state: the method changes at the second in a row. */
#define EVALUATIONS 6
/* The difference quotients of the power iteration, in units of the tolerance */
#define DISPLACEMENT 0.01

/* An explicit method that reaches the end of a segment in one step is more than is needed there. RADAU stays, since the estimate of BS32
 * is 0 for a filter as fast as its step. */
#define SHORT "BS32"
/* Evaluations in a step of these methods */
enum { OF_BS32 = 3, OF_BS54 = 7, OF_DOP853 = 12 };

/* ---- starts ---- */

static int roots(sunrealtype t, N_Vector y, sunrealtype *g, void *session) {
  const CPSession s = session;
  int flag          = 0;
  for (int i = 0; i < s->nsources && !flag; i++) {
    const Source *source = &s->source[i];
    if (source->is.nroots > 0) flag = source->is.roots(t, y, g + source->first, source->is.data);
    if (flag) s->failed = source;
  }
  return flag;
}

int sessionTolerances(CPSession s) {
  return s->vatol ? CPIntegratorSVtolerances(s->mem, s->rtol, s->vatol)
                  : CPIntegratorSStolerances(s->mem, s->rtol, s->atol);
}

static int initialise(CPSession s) {
  if (s->mech) return CPMechAttach(s->mech, s->mem, s->t, s->y);
  if (s->given && s->initialised) return CPIntegratorReInit(s->mem, s->t, s->y);
  const int flag = CPIntegratorInit(s->mem, s->f, s->t, s->y);
  return flag ? flag : CPIntegratorSetUserData(s->mem, s->f_data);
}

/* The sources' part of a start. */
static int tellSources(CPSession s, int again, const char *function) {
  int action = CP_CONTINUE;
  for (int i = 0; i < s->nsources; i++) {
    const CPEventSource *is = &s->source[i].is;
    const int asked         = is->started ? is->started(s, s->t, s->y, again, is->data) : 0;
    if (asked < 0) return sessionOfSource(s, &s->source[i], asked, function);
    action |= asked;
  }
  return action;
}

int sessionCreateIntegrator(CPSession s, const char *function) {
  if (!s->given) s->mem = CPIntegratorCreate(s->now, s->ctx);
  if (!s->mem)
    return cpReport(&s->log, CP_ILL_INPUT, function, "the method \"%s\" cannot be used: %s", s->now,
                    CPObjectGetLastMessage(NULL));
  int flag = s->given ? CP_SUCCESS
                      : CPObjectSetErrHandlerFn(CP_OBJECT(s->mem), s->log.handler, s->log.data);
  if (!flag) flag = initialise(s);
  if (!flag) s->initialised = 1;
  if (!flag) flag = sessionTolerances(s);
  if (!flag && s->nroots > 0) flag = CPIntegratorRootInit(s->mem, s->nroots, roots);
  if (!flag && s->nroots > 0) flag = CPIntegratorSetRootData(s->mem, s);
  if (!flag && s->nroots > 0) flag = CPIntegratorSetRootDirection(s->mem, s->direction);
  if (flag) return sessionOfIntegrator(s, flag);
  flag = s->config ? s->config(s->mem, s->now, s->config_data) : CP_SUCCESS;
  if (flag) {
    const char *text = CPObjectGetLastMessage(CP_OBJECT(s->mem));
    return text[0] ? sessionPassOn(s, flag, text)
                   : cpReport(&s->log, flag, function,
                              "the function of CPSessionSetConfigFn failed (%d)", flag);
  }
  s->stop = NAN;
  return tellSources(s, 0, function);
}

void sessionFreeIntegrator(CPSession s) {
  if (!s->given) CPIntegratorFree(&s->mem);
}

/* Goes on with another method from (t, y). */
static int change(CPSession s, const char *method, const char *function) {
  sessionCount(s);
  sessionFreeIntegrator(s);
  snprintf(s->now, sizeof s->now, "%s", method);
  const int flag = sessionCreateIntegrator(s, function);
  if (flag < 0) s->started = 0; /* The mechanical system belongs to neither integrator. */
  return flag;
}

/* The number of attempts since the start or restart */
static int attempts(CPSession s) {
  sunrealtype n = 0.0;
  CPObjectGetStat(CP_OBJECT(s->mem), "step_attempts", &n);
  return (int)fmin(n, 1000.0);
}

static int isMultistep(const char *method) {
  return !strcmp(method, "BDF") || !strcmp(method, "ADAMS");
}

/* Evaluations in a step of the method whose place BS32 has taken; 0 if it is DOP853 that has that of a multistep method, for one step */
static int ofLonger(CPSession s) {
  return isMultistep(s->longer) ? 0 : strcmp(s->longer, "BS54") ? OF_DOP853 : OF_BS54;
}

/* What BS32 has taken for segments beyond one step each of that method, in evaluations. A part of the motion may take more than the
 * rest. */
static int excess(CPSession s) {
  return s->longer[0] ? s->excess + attempts(s) * OF_BS32 - ofLonger(s) : 0;
}

/* Is this more than one such step? */
static int isTooLong(CPSession s) { return excess(s) > ofLonger(s); }

/* Decides at the end of a segment whether BS32 takes the place of the method, before the next step. */
static void judgeSegment(CPSession s) {
  const sunrealtype length = fabs(s->t - s->t_start);
  const int is_explicit    = !strcmp(s->now, "DOP853") || !strcmp(s->now, "BS54");
  s->shortens = s->suggests && is_explicit && attempts(s) == 1 && length <= 0.5 * s->too_long &&
                !CPIntegratorGetSens(s->mem, NULL);
  s->lengthens = isTooLong(s);
  if (s->lengthens) s->too_long = length;
  s->excess  = excess(s) > 0 ? excess(s) : 0;
  s->t_start = s->t;
}

int sessionRestart(CPSession s, const char *function) {
  const CPIntegratorStats before = s->before;
  judgeSegment(s);
  sessionCount(s);
  const int flag = CPIntegratorReInit(s->mem, s->t, s->y);
  s->stop        = NAN;
  if (!flag) return tellSources(s, 1, function);
  s->before = before;
  return sessionOfIntegrator(s, flag);
}

/* ---- the method ---- */

static int rightHandSide(CPSession s, N_Vector y, N_Vector ydot) {
  return s->mech ? CPMechRhs(s->t, y, ydot, s->mech) : s->f(s->t, y, ydot, s->f_data);
}

/* s->work[0] <- what the tolerances allow as the error of each component; and the other vectors, if they are not there yet. */
static int scaleOf(CPSession s) {
  N_Vector *w = s->work;
  for (int k = 0; k < 4; k++)
    if (!w[k] && !(w[k] = N_VClone(s->y))) return CP_MEM_FAIL;
  N_VAbs(s->y, w[0]);
  N_VScale(s->rtol, w[0], w[0]);
  if (s->vatol) N_VLinearSum(1.0, w[0], 1.0, s->vatol, w[0]);
  else N_VAddConst(w[0], s->atol, w[0]);
  if (!(N_VMin(w[0]) > 0.0)) N_VAddConst(w[0], DBL_EPSILON, w[0]);
  return CP_SUCCESS;
}

/* The norm of the tolerances; z: workspace */
static sunrealtype sizeOf(CPSession s, N_Vector x, N_Vector z) {
  N_VDiv(x, s->work[0], z);
  return sqrt(N_VDotProd(z, z));
}

/* Does stability limit steps of this size? Estimates the spectral radius of df/dy by power iteration in the norm of the
 * tolerances. Returns 1 if it does, 0 if not or if f fails on the way, or CP_MEM_FAIL. */
static int isLimited(CPSession s, sunrealtype h) {
  if (scaleOf(s)) return CP_MEM_FAIL;
  const N_Vector scale = s->work[0], f0 = s->work[1], v = s->work[2], x = s->work[3];
  sunrealtype size = 0.0;
  if (rightHandSide(s, s->y, f0)) return 0;
  N_VDiv(f0, scale, v);
  for (int k = 0; k < EVALUATIONS; k++) {
    const sunrealtype norm = sqrt(N_VDotProd(v, v));
    if (!(norm > 0.0) || !isfinite(norm)) return 0;
    N_VProd(scale, v, x);
    N_VLinearSum(1.0, s->y, DISPLACEMENT / norm, x, x);
    if (rightHandSide(s, x, v)) return 0;
    N_VLinearSum(1.0 / DISPLACEMENT, v, -1.0 / DISPLACEMENT, f0, v);
    size = sizeOf(s, v, v);
  }
  const int multistep = CPIntegratorGetCVodeMem(s->mem) != NULL;
  return h * size > (multistep ? LIMITED / 6.0 : LIMITED);
}

/* Is the rank of A lower at the start than beside it? There the angle between constraints is as narrow as the first step is short, and
 * multistep methods, which begin with order one, need very short ones: DOP853 begins, and gives way to them as BS32 does. Beside: at a
 * distance whose square is roundoff, and so is the violation of the constraints on the straight way to there; or where rows that
 * are redundant hide such narrow angles, at one that is its root. Returns a negative code if a function of the model fails. */
static int startsSingular(CPSession s) {
  CPMechOutput there = CP_INIT(CPMechOutput), beside = CP_INIT(CPMechOutput);
  int flag = CPMechEvaluate(s->mech, s->t, s->y, &there);
  if (!flag && there.unique) return 0; /* no row depends on others */
  if (!flag) flag = scaleOf(s);
  if (!flag) flag = rightHandSide(s, s->y, s->work[1]);
  if (flag) return flag < 0 ? flag : 0;
  const N_Vector f = s->work[1], x = s->work[3];
  const sunrealtype part = s->sign * sizeOf(s, s->y, x) / sizeOf(s, f, x);
  sunrealtype distance   = sqrt(DBL_EPSILON);
  beside.rank            = there.rank;
  for (int k = 0; k < 2 && isfinite(part) && beside.rank <= there.rank; k++) {
    N_VLinearSum(1.0, s->y, distance * part, f, x);
    flag = CPMechEvaluate(s->mech, s->t, x, &beside);
    if (flag) return flag < 0 ? flag : 0;
    distance = sqrt(distance);
  }
  return beside.rank > there.rank;
}

int sessionFirstMethod(CPSession s) {
  CPMechSuggestion found = CP_INIT(CPMechSuggestion);
  s->unjudged = s->looks_stiff = 0;
  s->longer[0] = '\0', s->shortens = s->lengthens = 0;
  s->too_long = INFINITY, s->t_start = s->t, s->excess = 0;
  snprintf(s->now, sizeof s->now, "%s", s->given ? "" : s->method);
  /* If this fails, so will the run, which then reports the reason. */
  if (s->chooses && s->mech && !CPMechSuggestMethod(s->mech, s->t, s->y, s->t_end, s->rtol, &found))
    snprintf(s->now, sizeof s->now, "%s", found.method);
  if (!s->mech || !isMultistep(s->now)) return CP_SUCCESS;
  const int singular = startsSingular(s);
  if (singular < 0) return sessionPassOn(s, singular, CPObjectGetLastMessage(CP_OBJECT(s->mech)));
  if (singular) strcpy(s->longer, s->now), strcpy(s->now, "DOP853");
  return CP_SUCCESS;
}

/* *method <- the method for the steps to come, or NULL if it does not change. Returns 0 or CP_MEM_FAIL: other failures
 * would be those of the next step as well, and concern states beside it. */
static int better(CPSession s, CPMechSuggestion *found, const char **method) {
  sunrealtype h = 0.0;
  *method       = NULL;
  if (CPObjectGetStat(CP_OBJECT(s->mem), "last_step", &h)) return CP_SUCCESS;
  h = fabs(h);
  if (s->suggests && s->mech) {
    const int flag   = CPMechSuggestMethod(s->mech, s->t, s->y, s->t_end, s->rtol, found);
    const int agrees = !flag && (h * found->radius > LIMITED) == (found->stiff != 0);
    if (agrees && strcmp(found->method, s->now)) *method = found->method;
    return flag == CP_MEM_FAIL ? flag : CP_SUCCESS;
  }
  if (strcmp(s->now, s->method) || !strcmp(s->method, s->stiff)) return CP_SUCCESS;
  const int limited = isLimited(s, h);
  if (limited < 0) return limited;
  if (limited && s->looks_stiff) *method = s->stiff;
  s->looks_stiff = limited;
  return CP_SUCCESS;
}

/* Between BS32 and the method whose place it takes where segments are short. */
static int judgeLength(CPSession s, const char *function) {
  char name[SESSION_NAME];
  const int within =
      isTooLong(s) && !CPIntegratorGetSens(s->mem, NULL); /* the segment has not ended */
  const int lengthens = s->lengthens || within, shortens = s->shortens;
  s->shortens = s->lengthens = 0;
  if (!lengthens && !shortens) return CP_SUCCESS;
  if (within) s->too_long = fabs(s->t - s->t_start);
  snprintf(name, sizeof name, "%s", lengthens ? s->longer : SHORT);
  snprintf(s->longer, sizeof s->longer, "%s", lengthens ? "" : s->now);
  return change(s, name, function);
}

int sessionJudge(CPSession s, const char *function) {
  CPMechSuggestion found = CP_INIT(CPMechSuggestion);
  const int changed      = judgeLength(s, function);
  if (changed < 0) return changed;
  if (!s->changes || s->unjudged++ < STEPS_BETWEEN) return CP_SUCCESS;
  if (CPIntegratorGetSens(s->mem, NULL)) return CP_SUCCESS; /* They do not survive a change. */
  s->unjudged = 1;                                          /* the coming one */
  const char *method;
  int flag = better(s, &found, &method);
  if (flag) return cpReport(&s->log, flag, function, "no memory to judge the method");
  if (!method || !strcmp(method, s->longer)) return CP_SUCCESS;
  if (s->longer[0] && !found.stiff) { /* It is the one that BS32 gives its place back to. */
    snprintf(s->longer, sizeof s->longer, "%s", method);
    return CP_SUCCESS;
  }
  s->longer[0] = '\0', s->too_long = INFINITY; /* another motion, in which BS32 may suffice */
  flag = change(s, method, function);
  return flag < 0 ? flag : CP_SUCCESS;
}
