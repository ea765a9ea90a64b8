/* The features of polyhedra that touch in a run, an event source of the model. Two polyhedra have a few contacts, each of which stands for
 * a feature (polyhedra.h) or is off, with a gap that is constant. So all rows are smooth while they live. Features are chosen where
 * polyhedra are, and stay right
 *
 *   while they are apart               until points have moved by their distance relative to each other
 *   while they are near                until points have moved by `reach`, or a margin of a feature changes its sign:
 *                                      a vertex leaves its face, the crossing of two edges one of them, or others come
 *
 * The root function of two polyhedra is what is left of that. Where it is 0, features are chosen anew. Those that end have, if they are
 * closed, the gap 0, as have those that take their place.
 *
 * Points of b have moved, relative to a, by at most |x - x_0| + r_b |R - R_0|, and relative to space by |x - x_0| if balls around
 * both are meant. Contacts begin anew after a change. */
#include "polyhedra.h"

#include <cpodes/cpodes_session.h>
#include <stdlib.h>
#include <string.h>

/* How near two polyhedra are: their balls are apart; they are apart; features near each other are known */
typedef enum { BALLS_APART, APART, NEAR_BY } Nearness;

/* Two polyhedra in a run. Of the features touch [n] those of contact k have the number k + 1 as their `slot`, and 0 is none. */
typedef struct {
  Nearness nearness;
  sunrealtype left; /* the distance that points may move from where features were chosen */
  sunrealtype error; /* by which positions are wrong there: gaps above minus this are taken as not negative */
  Placed at; /* b there, relative to a; of balls, x alone, in space */
  int n;
  Touch *touch;
  char *slot;
} Chosen;

typedef struct {
  const Meeting *is;
  sunrealtype reach;
  Chosen now, before;
  int place; /* of its two root functions, the one in use: integrators expect one that has had a root to be zero */
  int handled; /* `before` is what was chosen before the newest event */
} Meet;

typedef struct Meetings_ {
  Mechanism *m;
  CPMech mech;
  Polyhedron *polyhedron; /* [nshapes], of those that meet */
  Placed *at;             /* [nshapes] in space */
  Meet *meet;             /* [nmeetings] */
  int *direction;         /* [2 nmeetings] -1 */
  int acts; /* 1: a root function is not positive where another source has restarted */
} Meetings;

/* ---- places ---- */

static const Side *sideOf(const Meetings *all, int shape) {
  return &all->m->pair[all->m->shape[shape].pair].side[1];
}

/* Places all polyhedra at the state y. */
static void place(Meetings *all, N_Vector y) {
  Mechanism *m         = all->m;
  const sunrealtype *q = N_VGetArrayPointer(y);
  bodiesUpdate(m);
  bodiesPoses(m, q, q + bodiesCoordinates(m), NULL);
  for (int i = 0; i < m->nshapes; i++) {
    const Side *side = sideOf(all, i);
    if (all->polyhedron[i].nvertices > 0)
      all->at[i] = polyhedronPlaced(&all->polyhedron[i], side, bodiesPose(m, side->body));
  }
}

/* p: out, two polyhedra in the axes of the first one */
static void relative(const Meetings *all, const Meeting *is, Placed p[2]) {
  const Placed *a = &all->at[is->shape[0]], *b = &all->at[is->shape[1]];
  const sunrealtype d[3] = {b->x[0] - a->x[0], b->x[1] - a->x[1], b->x[2] - a->x[2]};
  p[0] = (Placed){&all->polyhedron[is->shape[0]], {0}, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  p[1] = (Placed){.is = &all->polyhedron[is->shape[1]]};
  for (int i = 0; i < 3; i++)
    for (int l = 0; l < 3; l++) {
      p[1].x[i] += a->R[l][i] * d[l];
      for (int k = 0; k < 3; k++) p[1].R[i][k] += a->R[l][i] * b->R[l][k];
    }
}

/* By how much points of b may have moved relative to a since the choice; |R - R_0| of a turn is its Frobenius norm / sqrt(2). */
static sunrealtype moved(const Chosen *c, const Placed *b) {
  sunrealtype turn = 0, d[3];
  for (int i = 0; i < 3; i++) {
    d[i] = b->x[i] - c->at.x[i];
    for (int k = 0; k < 3; k++) turn += pow(b->R[i][k] - c->at.R[i][k], 2);
  }
  return length3(d) + b->is->radius * sqrt(turn / 2);
}

/* The vector between the centres, in space */
static void between(const Meetings *all, const Meeting *is, sunrealtype *d) {
  for (int k = 0; k < 3; k++) d[k] = all->at[is->shape[1]].x[k] - all->at[is->shape[0]].x[k];
}

/* ---- margins ---- */

/* Margins differ by this from 0 without being counted: features on the borders of others, such as those of boxes that are stacked
 * flush, would change all the time by rounding. */
static sunrealtype rounding(const Placed p[2]) {
  return SUN_RCONST(1e-10) * (p[0].is->radius + p[1].is->radius);
}

/* What is left until features must be chosen anew: the root function */
static sunrealtype left(const Meetings *all, const Meet *meet) {
  const Chosen *c = &meet->now;
  Placed p[2];
  sunrealtype d[3];
  if (c->nearness == BALLS_APART) {
    between(all, meet->is, d);
    add3(-1, c->at.x, d);
    return c->left - length3(d);
  }
  relative(all, meet->is, p);
  const sunrealtype by = rounding(p);
  sunrealtype rest     = c->left - moved(c, &p[1]);
  for (int i = 0; i < c->n; i++) {
    sunrealtype gap, margin, point[3];
    polyhedraTouch(p, &c->touch[i], &gap, &margin, point);
    rest = fmin(rest, c->slot[i] ? margin + 2 * by : -fmin(margin + by, gap + c->error));
  }
  return rest;
}

/* ---- choices ---- */

static Pair *pairOf(const Meetings *all, const Meeting *is, int slot) {
  const Mechanism *m = all->m;
  return &m->pair[m->joint[m->contact[is->contact + slot].joint].pair];
}

static int isSame(const Touch *a, const Touch *b) {
  return a->kind == b->kind && a->i == b->i && a->j == b->j && a->sense == b->sense;
}

/* Makes contact k that of a feature, or if that is NULL, turns it off. */
static void setContact(Meetings *all, const Meet *meet, int k, const Touch *touch) {
  const Meeting *is         = meet->is;
  Pair *pair                = pairOf(all, is, k);
  const Polyhedron *both[2] = {&all->polyhedron[is->shape[0]], &all->polyhedron[is->shape[1]]};
  const Side *own[2]        = {sideOf(all, is->shape[0]), sideOf(all, is->shape[1])};
  if (touch) polyhedraPair(both, touch, own, pair);
  for (int side = 0; side < 2 && !touch; side++) {
    pair->side[side]  = *own[side];
    pair->solid[side] = (Solid){NO_SOLID, {meet->reach, 0, 0}, 0};
  }
}

/* Marks with `slot` the features that contacts are to stand for, at most MEETING_CONTACTS: the nearest ones of those that are where their
 * polyhedra are nearest, and of several at the same point one. Others are dropped from the list: they come again at the next choice. */
static void choosePoints(const Placed p[2], Chosen *c) {
  sunrealtype gap[MEETING_CONTACTS + 1], point[MEETING_CONTACTS + 1][3];
  int taken[MEETING_CONTACTS + 1], count = 0, n = 0;
  const sunrealtype by = rounding(p);
  memset(c->slot, 0, (size_t)c->n);
  for (int i = 0; i < c->n; i++) {
    sunrealtype own, margin, at[3];
    int k = 0, same = 0;
    polyhedraTouch(p, &c->touch[i], &own, &margin, at);
    if (!(margin > -1.5 * by && own > -1.5 * c->error)) continue;
    for (int l = 0; l < count && !same; l++) {
      const sunrealtype d[3] = {at[0] - point[l][0], at[1] - point[l][1], at[2] - point[l][2]};
      same                   = length3(d) <= 2 * by && fabs(own - gap[l]) <= 2 * by;
    }
    c->slot[i] = -1; /* for now: it is not counted among those that may come */
    if (same) continue;
    while (k < MEETING_CONTACTS && k < count && gap[k] <= own) k++;
    for (int l = count; l > k; l--)
      gap[l] = gap[l - 1], taken[l] = taken[l - 1], memcpy(point[l], point[l - 1], sizeof at);
    gap[k] = own, taken[k] = i, memcpy(point[k], at, sizeof at);
    if (count < MEETING_CONTACTS) count++;
    else c->left = fmin(c->left, fmax(gap[count], by)); /* until the ninth one may touch */
  }
  for (int l = 0; l < count; l++) c->slot[taken[l]] = 1;
  for (int i = 0; i < c->n; i++)
    if (c->slot[i] >= 0) c->touch[n] = c->touch[i], c->slot[n++] = c->slot[i];
  c->n = n;
}

/* Gives the selected features their contacts: the same ones as before, if they had some. Returns 1 if a contact has changed. */
static int assign(Meetings *all, Meet *meet) {
  Chosen *now = &meet->now, *before = &meet->before;
  const Touch *of[MEETING_CONTACTS] = {NULL};
  int changed                       = 0;
  char had[MEETING_CONTACTS]        = {0};
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < now->n; i++) {
      if (!now->slot[i] || (pass && now->slot[i] < 0)) continue;
      int k = pass ? 0 : -1;
      for (int l = 0; l < before->n && !pass; l++)
        if (before->slot[l] && isSame(&before->touch[l], &now->touch[i])) k = before->slot[l] - 1;
      while (pass && of[k]) k++;
      if (k >= 0) of[k] = &now->touch[i], now->slot[i] = (char)-(k + 1), changed |= pass;
    }
  for (int i = 0; i < now->n; i++) now->slot[i] = (char)abs(now->slot[i]);
  for (int l = 0; l < before->n; l++)
    if (before->slot[l]) had[before->slot[l] - 1] = 1;
  for (int k = 0; k < MEETING_CONTACTS; k++) {
    changed |= had[k] && !of[k];
    if (of[k] || had[k]) setContact(all, meet, k, of[k]);
  }
  return changed;
}

/* What was chosen before becomes what is chosen, with the other root function, and the other way round. */
static void swap(Meet *meet) {
  const Chosen other = meet->before;
  meet->before = meet->now, meet->now = other, meet->place = !meet->place;
}

/* Chooses the features of two polyhedra where they are. Returns 1 if a contact has changed. */
static int choose(Meetings *all, Meet *meet) {
  Chosen *c = &meet->now;
  Placed p[2];
  sunrealtype d[3];
  swap(meet), meet->handled = 1;
  relative(all, meet->is, p);
  between(all, meet->is, d);
  const sunrealtype balls = length3(d) - p[0].is->radius - p[1].is->radius;
  c->n                    = 0;
  c->nearness = BALLS_APART, c->left = balls;
  memcpy(c->at.x, d, sizeof d);
  if (balls < meet->reach) {
    c->nearness = APART, c->left = polyhedraSeparation(p);
    c->at = p[1];
  }
  if (c->left < meet->reach) {
    c->nearness = NEAR_BY, c->error = 4 * rounding(p) + 2 * fmax(0, -c->left);
    c->left = meet->reach;
    c->n    = polyhedraCandidates(p, meet->reach, c->touch);
    choosePoints(p, c);
  }
  return assign(all, meet);
}

/* ---- the source ---- */

static int tellMech(Meetings *all) { return CPMechSetUserData(all->mech, all->m); }

static int roots(sunrealtype t, N_Vector y, sunrealtype *g, void *data) {
  Meetings *all = data;
  (void)t;
  place(all, y);
  for (int i = 0; i < all->m->nmeetings; i++) {
    const Meet *meet        = &all->meet[i];
    g[2 * i + meet->place]  = left(all, meet);
    g[2 * i + !meet->place] = 1;
  }
  return 0;
}

static int takeMech(CPMech mech, void *data) {
  Meetings *all = data;
  if (!mech) return CP_ILL_INPUT;
  all->mech = mech;
  for (int i = 0; i < all->m->nmeetings; i++) {
    Meet *meet  = &all->meet[i];
    meet->now.n = meet->before.n = meet->handled = 0;
    for (int k = 0; k < MEETING_CONTACTS; k++) setContact(all, meet, k, NULL);
  }
  return 0;
}

static int begin(CPSession session, sunrealtype t, sunrealtype t_end, N_Vector y, int again,
                 void *data) {
  Meetings *all = data;
  int changed   = 0;
  (void)session, (void)t, (void)t_end;
  place(all, y);
  all->acts = 0;
  for (int i = 0; i < all->m->nmeetings; i++) {
    all->meet[i].handled = 0;
    if (!again) changed |= choose(all, &all->meet[i]);
    else all->acts |= !(left(all, &all->meet[i]) > 0);
  }
  return changed ? tellMech(all) : 0;
}

static sunrealtype nextTime(sunrealtype t, void *data) {
  return ((const Meetings *)data)->acts ? t : INFINITY;
}

static int handle(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  Meetings *all = data;
  int changed   = 0;
  (void)session;
  place(all, y);
  all->acts = 0;
  for (int i = 0; i < all->m->nmeetings; i++) {
    Meet *meet    = &all->meet[i];
    meet->handled = 0;
    if ((event->roots && (event->roots[2 * i] || event->roots[2 * i + 1])) || !(left(all, meet) > 0))
      changed |= choose(all, meet);
  }
  if (!changed) return CP_CONTINUE;
  const int flag = tellMech(all);
  return flag ? flag : CP_RESTART;
}

static void undo(CPSession session, N_Vector y, void *data) {
  Meetings *all = data;
  (void)session, (void)y;
  for (int i = 0; i < all->m->nmeetings; i++) {
    Meet *meet = &all->meet[i];
    if (!meet->handled) continue;
    swap(meet), meet->handled = 0;
    for (int k = 0; k < MEETING_CONTACTS; k++) setContact(all, meet, k, NULL);
    for (int l = 0; l < meet->now.n; l++)
      if (meet->now.slot[l]) setContact(all, meet, meet->now.slot[l] - 1, &meet->now.touch[l]);
  }
  tellMech(all);
}

/* ---- life ---- */

static void freeChosen(Chosen *c) {
  free(c->touch);
  free(c->slot);
}

void touchingFree(Mechanism *m) {
  Meetings *all = m->meetings;
  if (!all) return;
  for (int i = 0; i < m->nmeetings && all->meet; i++)
    freeChosen(&all->meet[i].now), freeChosen(&all->meet[i].before);
  free(all->polyhedron);
  free(all->at);
  free(all->meet);
  free(all->direction);
  free(all);
  m->meetings = NULL;
}

static int makeChosen(int most, Chosen *c) {
  c->touch = malloc((size_t)most * sizeof *c->touch);
  c->slot  = malloc((size_t)most);
  return !c->touch || !c->slot;
}

static int makeMeet(Meetings *all, int i) {
  Meet *meet = &all->meet[i];
  meet->is   = &all->m->meeting[i];
  Polyhedron *p[2];
  for (int side = 0; side < 2; side++) {
    p[side]  = &all->polyhedron[meet->is->shape[side]];
    *p[side] = polyhedronOf(&all->m->shape[meet->is->shape[side]]);
  }
  const int most = polyhedraMost(p[0], p[1]);
  /* Less finds features more often, more has more of them in the list. */
  meet->reach           = fmin(p[0]->inner, p[1]->inner) / 4;
  all->direction[2 * i] = all->direction[2 * i + 1] = -1;
  return makeChosen(most, &meet->now) || makeChosen(most, &meet->before);
}

static int make(Mechanism *m) {
  const size_t n = (size_t)m->nmeetings, shapes = (size_t)m->nshapes;
  Meetings *all = m->meetings = calloc(1, sizeof *all);
  if (!all) return CP_MEM_FAIL;
  all->m          = m;
  all->polyhedron = calloc(shapes, sizeof *all->polyhedron);
  all->at         = calloc(shapes, sizeof *all->at);
  all->meet       = calloc(n, sizeof *all->meet);
  all->direction  = malloc(2 * n * sizeof *all->direction);
  int failed      = !all->polyhedron || !all->at || !all->meet || !all->direction;
  for (int i = 0; i < m->nmeetings && !failed; i++) failed = makeMeet(all, i);
  if (failed) touchingFree(m);
  return failed ? CP_MEM_FAIL : 0;
}

/* Features are no events of the motion. */
static const char *nameOfEvent(void *data) { return (void)data, ""; }

int touchingSource(Mechanism *m, CPEventSource *source) {
  if (!m->meetings && make(m)) return CP_MEM_FAIL;
  *source = (CPEventSource){.name       = "features",
                            .data       = m->meetings,
                            .nroots     = 2 * m->nmeetings,
                            .roots      = roots,
                            .direction  = m->meetings->direction,
                            .next_time  = nextTime,
                            .start      = begin,
                            .handle     = handle,
                            .undo       = undo,
                            .take_mech  = takeMech,
                            .event_name = nameOfEvent};
  return 0;
}
