/* Derivatives of a motion (CPSessionGradient) at kinks of functions. They jump where f does and the time of the event depends on the state or
 * on parameters: the margin is how far the arguments are inside the piece that ends. Where the slope of a motion jumps, so do the velocities,
 * by the plastic impact of strike.c. */
#include "following.h"
#include "kinks_impl.h"
#include "laws.h"
#include "sources.h"
#include "tree.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An event in a run that is differentiated */
typedef struct {
  Strike *strike;  /* of velocities that jump, or NULL */
  int acted;       /* it is one of this source */
  int place, side; /* the margin is `inside` of this place, on this side */
  int held[];      /* [2 n] the pieces before and, from n on, after it */
} Passage;

/* The pieces are these from now on. */
static void hold(Kinks *all, const int *pieces) {
  memcpy(all->held, pieces, (size_t)all->n * sizeof *all->held);
  kinksForget(all);
}

/* f <- f at the newest event, in the state y, with the pieces that are held now. Returns 0 or a code that has been reported. */
static int evaluate(Kinks *all, N_Vector y, N_Vector f) {
  kinksForget(all);
  CPMechSetUserData(all->mech, CPMechGetUserData(all->mech)); /* It may have been evaluated there. */
  return CPMechRhs(all->t_met, y, f, all->mech);
}

/* Do the two right-hand sides differ by more than they change within half of the digits? A jump that is smaller changes derivatives by
 * less than differences resolve. */
static int differ(N_Vector f, N_Vector g) {
  const sunrealtype *a = N_VGetArrayPointer(f), *b = N_VGetArrayPointer(g),
                    least = sqrt(DBL_EPSILON) * DBL_EPSILON +
                            DBL_EPSILON * (N_VMaxNorm(f) + N_VMaxNorm(g)) * 100;
  int found = 0;
  for (sunindextype i = 0; i < N_VGetLength(f); i++)
    found |= !(fabs(a[i] - b[i]) <= sqrt(DBL_EPSILON) * (fabs(a[i]) + fabs(b[i])) + least);
  return found;
}

static int endsAbove(const Kinks *all, int i) {
  return fabs(all->inside[2 * i + 1]) < fabs(all->inside[2 * i]);
}

/* Where no piece of place i is held since the event, jumps |= does f jump between both pieces at the end? Returns 0 or a code. */
static int judgeFree(Kinks *all, int i, int *jumps) {
  all->held[i] = all->left[i];
  kinksWatch(all, all->t_met, all->met);
  const int above = endsAbove(all, i);
  int flag        = evaluate(all, all->met, all->ydot);
  all->held[i] += above ? 1 : -1; /* of two pieces, all numbers but 0 stand for the other one */
  if (!flag) flag = evaluate(all, all->met, all->bend);
  all->held[i] = ANY_PIECE;
  kinksForget(all);
  *jumps |= !flag && differ(all->ydot, all->bend);
  return flag;
}

/* How far place i is inside its piece on a side, at a time and a state */
static sunrealtype distance(Kinks *all, int i, int above, sunrealtype t, N_Vector y) {
  kinksWatch(all, t, y);
  return all->inside[2 * i + above];
}

/* The same at the event, where the parameter of the file with this index is larger by d */
static sunrealtype moved(Kinks *all, int i, int above, int parameter, sunrealtype d) {
  sunrealtype *p         = &all->m->param[parameter];
  const sunrealtype kept = *p;
  *p += d;
  bodiesUpdate(all->m);
  const sunrealtype x = distance(all, i, above, all->t_met, all->from);
  *p                  = kept;
  bodiesUpdate(all->m);
  return x;
}

/* Have two ends the same margin, up to a factor? If so, they stay together where the components of the state change, each by another
 * part, and where the parameters of the file do. */
static int areOne(Kinks *all, int i, int k) {
  const sunrealtype d = cbrt(DBL_EPSILON), *y = N_VGetArrayPointer(all->from), t = all->t_met;
  const int which[] = {i, k}, first = bodiesFirstFollower(all->m), n = bodiesFollowers(all->m);
  sunrealtype *x = N_VGetArrayPointer(all->ahead), rate[2], by, from[2];
  int above[2], one = 1;
  for (int s = 0; s < 2; s++) {
    const sunrealtype e = d * kinksTimeOf(all, t, all->from);
    kinksWatch(all, t, all->from);
    above[s] = endsAbove(all, which[s]);
    from[s]  = all->inside[2 * which[s] + above[s]];
    N_VLinearSum(1, all->from, e, all->ydot, all->ahead);
    rate[s] = distance(all, which[s], above[s], t + e, all->ahead) - from[s];
  }
  for (sunindextype j = 0; j < N_VGetLength(all->from); j++)
    x[j] = y[j] + d * (1 + fabs(y[j])) * (1 + modf(sqrt((double)(2 + j)), &by));
  for (int p = -1; p < n && one; p++) {
    sunrealtype change[2];
    for (int s = 0; s < 2; s++)
      change[s] = (p < 0 ? distance(all, which[s], above[s], t, all->ahead)
                         : moved(all, which[s], above[s], first + p,
                                 d * fmax(1, fabs(all->m->param[first + p])))) -
                  from[s];
    one = fabs(rate[0] * change[1] - rate[1] * change[0]) <=
          sqrt(d) * (fabs(rate[0] * change[1]) + fabs(rate[1] * change[0]));
  }
  return one;
}

/* Does the time of the end of place i depend on the state or on parameters? */
static int isMoving(const Kinks *all, int i) {
  return all->ends[i] == ROOT || bodiesFollowers(all->m) > 0;
}

/* e->place, e->side: out, one of the ends at which f or velocities jump at an event whose time depends on the state or on parameters, or NONE. Returns 0, a code that has been
 * reported, or CP_NOT_SUPPORTED if they jump at several of them. */
static int findEnd(Kinks *all, Passage *e) {
  const size_t size = (size_t)all->n * sizeof *all->held;
  int flag, end = NONE, others = 0, known = 0;
  for (int i = 0; i < all->n; i++)
    if (isMoving(all, i)) all->held[i] = e->held[i];
    else known |= e->held[i] != e->held[all->n + i]; /* which velocities may jump at, too */
  flag = evaluate(all, all->from, all->ydot);
  memcpy(all->held, e->held + all->n, size);
  if (!flag) flag = evaluate(all, all->met, all->bend);
  if (flag || (!all->strikes && !differ(all->ydot, all->bend))) return kinksForget(all), flag;
  memcpy(all->held, e->held, size);
  for (int i = 0; i < all->n; i++) {
    if (e->held[i] == e->held[all->n + i] || !isMoving(all, i)) continue;
    if ((all->ends[i] == ROOT && !all->ended[i]) || (all->strikes && known)) others = 1;
    else if (end == NONE) end = i;
    else others |= !areOne(all, end, i);
  }
  kinksWatch(all, all->t_met, all->from);
  if (end != NONE) e->side = endsAbove(all, end);
  memcpy(all->held, e->held + all->n, size);
  kinksForget(all);
  e->place = end;
  return others || (end == NONE && !(all->strikes && known)) ? CP_NOT_SUPPORTED : 0;
}

/* *p: out, the momenta of bodies at the state y before the event that the motions of joints after it take, or NULL if they are M u. *T: out, the
 * kinetic energy before it, or NAN if it is u . M u / 2. The pieces are then those after the event. */
static int findMomenta(Kinks *all, const Passage *e, sunrealtype t, N_Vector y,
                       const sunrealtype **p, sunrealtype *T) {
  Mechanism *m         = all->m;
  const sunrealtype *q = N_VGetArrayPointer(y), *u = q + bodiesCoordinates(m);
  CPPowers before = CP_INIT(CPPowers);
  *p = NULL, *T = NAN;
  hold(all, e->held + (all->momenta ? 0 : all->n));
  if (!all->momenta) return 0;
  const int flag = CPMechGetPowers(all->mech, t, y, NULL, &before);
  bodiesPoses(m, q, u, NULL);
  treeMomenta(m, all->momenta);
  hold(all, e->held + all->n);
  bodiesPoses(m, q, u, NULL);
  treePullMomenta(m, t, all->momenta, u, all->pulled);
  *p = all->pulled, *T = before.kinetic;
  return flag;
}

static int keepStrike(Kinks *all, Passage *e) {
  const sunrealtype *p, *u = N_VGetArrayPointer(all->from) + bodiesCoordinates(all->m);
  sunrealtype T;
  int flag = findMomenta(all, e, all->t_met, all->from, &p, &T);
  if (!flag) flag = bodiesKeepStrike(all->m, all->mech, all->t_met, all->met, u, p, &e->strike);
  return flag;
}

static int map(const void *record, sunrealtype t, N_Vector y, void *data) {
  Kinks *all       = data;
  const Passage *e = record;
  const sunrealtype *p;
  sunrealtype T;
  bodiesUpdate(all->m); /* The parameters may be others. */
  int flag = findMomenta(all, e, t, y, &p, &T);
  if (!flag) flag = bodiesStrikeBeside(e->strike, all->m, all->mech, t, y, p, T);
  hold(all, e->held);
  return flag;
}

/* why: NULL: what the mech has reported */
static int refuse(Kinks *all, int flag, const char *why) {
  return bodiesRefuseEvent(all->message, all->t_met, all->mech, flag, why);
}

static int keepEvent(void **record, sunrealtype t, int is_start, int met, int *jumps, void *data) {
  Kinks *all     = data;
  const size_t n = (size_t)all->n, size = n * sizeof *all->held;
  const int noted = t == all->t_met;
  Passage *e      = calloc(1, sizeof *e + 2 * size);
  int flag = 0, unknown = 0;
  (void)met;
  if (!e) return CP_MEM_FAIL;
  *record = e, e->acted = noted && !is_start && all->acted, e->place = NONE;
  memcpy(e->held, noted && !is_start ? all->prior : all->held, size);
  memcpy(e->held + n, all->held, size);
  for (int i = 0; i < all->n && noted && !flag; i++)
    if (all->held[i] == ANY_PIECE && all->moved[i] == FREED) flag = judgeFree(all, i, &unknown);
  if (flag) return refuse(all, flag, NULL);
  if (unknown)
    return refuse(
        all, CP_NOT_SUPPORTED,
        "derivatives do not exist where a force jumps at the end of a piece, and the motion "
        "only touches that or stays there");
  all->strikes = e->acted && all->strikes && differ(all->from, all->met);
  if (e->acted && (flag = findEnd(all, e)))
    return refuse(
        all, flag,
        flag != CP_NOT_SUPPORTED
            ? NULL
            : "a force or a velocity jumps where several functions have ends of pieces, at one "
              "time by accident, and derivatives do not exist");
  if (all->strikes && (flag = keepStrike(all, e))) return refuse(all, flag, NULL);
  *jumps     = (e->place != NONE) + 2 * (e->strike != NULL);
  all->t_met = NAN; /* There may be another event at the same time. */
  return 0;
}

/* Beside an event of another source, the pieces that it has changed are those of the state. */
static int enter(const void *record, int after, sunrealtype t, N_Vector y, sunrealtype *part,
                 void *data) {
  Kinks *all       = data;
  const Passage *e = record;
  const size_t n   = (size_t)all->n;
  (void)t, (void)y, (void)part;
  memcpy(all->held, e->held + (after ? n : 0), n * sizeof *all->held);
  for (size_t i = 0; i < n && !after && !e->acted; i++)
    if (e->held[i] != e->held[n + i]) all->held[i] = ANY_PIECE;
  /* An activation that its range holds is at an end all the time. */
  for (int i = 0; i < all->m->nlaws; i++) {
    const Law *law = &all->m->law[i];
    if (law->place && all->held[lawPlace(law, AT_RATE)] != ANY_PIECE &&
        all->held[lawPlace(law, AT_RATE)] != 0)
      all->held[lawPlace(law, AT_ACTIVATION)] = 0;
  }
  all->locked = 1;
  kinksForget(all);
  return CPMechSetUserData(all->mech, CPMechGetUserData(all->mech));
}

static int margin(const void *record, sunrealtype t, N_Vector y, sunrealtype *value, void *data) {
  Kinks *all       = data;
  const Passage *e = record;
  bodiesUpdate(all->m); /* The parameters may be others. */
  kinksWatch(all, t, y);
  kinksForget(all);
  *value = all->inside[2 * e->place + e->side];
  return 0;
}

const CPEventDerivatives kinksDerivatives = {.size   = sizeof kinksDerivatives,
                                             .record = keepEvent,
                                             .drop   = bodiesDropEvent,
                                             .enter  = enter,
                                             .margin = margin,
                                             .map    = map};
