/* The features of polyhedra that touch in a run, an event source of the model. Two polyhedra have a few contacts, each of which stands for
 * a feature (polyhedra.h) or is off, with a gap that is constant. So all rows are smooth while they live. Features are chosen where
 * polyhedra are, and stay right
 *
 *   while they are apart               until points have moved by their distance relative to each other
 *   while they are near                until points have moved by `reach`, or a margin of a feature changes its sign:
 *                                      a vertex leaves its face, the crossing of two edges one of them, or others come
 *
 * The root function of two polyhedra is what is left of that: the least of these quantities, each as a part of what it was where features
 * were chosen. Where it is 0, features are chosen anew. Those that end have, if they are closed, the gap 0, as have those that take their
 * place. Of bodies that lie flush some margins are rounding, and stay so while another one goes from its size to 0: the least of the
 * quantities themselves would then be constant up to its root, and secants say nothing about that.
 *
 * Points of b have moved, relative to a, by at most |x - x_0| + r_b |R - R_0|, and relative to space by |x - x_0| if balls around
 * both are meant. Contacts begin anew after a change. */
#include "elements.h"
#include "polyhedra.h"

#include <cpodes/cpodes_session.h>
#include <stdlib.h>
#include <string.h>

/* How near two polyhedra are: their balls are apart; they are apart; features near each other are known */
typedef enum { BALLS_APART, APART, NEAR_BY } Nearness;

/* Two polyhedra in a run. Of the features touch [n] those of contact k have the number k + 1 as their `slot`; 0 is none, as they do not
 * touch. FARTHER, SPARE: they may touch, but others are nearer, or stand for them, as long as their gap is not below `floor`. */
enum { SPARE = 100, FARTHER };
typedef struct {
  Nearness nearness;
  sunrealtype left; /* the distance that points may move from where features were chosen */
  sunrealtype error; /* by which positions are wrong there: gaps above minus this are taken as not negative */
  Placed at; /* b there, relative to a; of balls, x alone, in space */
  sunrealtype floor;
  int n, room; /* room: of touch, in number */
  Touch *touch;
  signed char *slot;  /* [room] */
  sunrealtype *whole; /* [room] what was left of each where features were chosen */
} Chosen;

/* A feature that may touch, where features are chosen */
typedef struct {
  sunrealtype gap, point[3];
  int touch, taken;
} Choice;

typedef struct {
  const Meeting *is;
  sunrealtype reach;
  Chosen now, before;
  int place; /* of its two root functions, the one in use: integrators expect one that has had a root to be zero */
  int handled; /* `before` is what was chosen before the newest event */
  int nchoices, room;
  Choice *choice; /* [room] of the newest choice */
} Meet;

typedef struct Meetings_ {
  Mechanism *m;
  CPMech mech;
  Polyhedron *polyhedron; /* [nshapes], of those that meet */
  Placed *at;             /* [nshapes] in space */
  Meet *meet;             /* [nmeetings] */
  int *direction;         /* [2 nmeetings] -1 */
  int failed;             /* 1: there was no memory for a choice */
  sunrealtype t;          /* of the newest start or event */
  int acts;               /* 1: features must be chosen where another source has restarted */
} Meetings;

/* ---- places ---- */

static const Side *sideOf(const Meetings *all, int shape) {
  return &all->m->pair[all->m->shape[shape].pair].side[1];
}

/* Places all polyhedra at the state y. */
static void place(Meetings *all, N_Vector y) {
  Mechanism *m         = all->m;
  const sunrealtype *q = N_VGetArrayPointer(y);
  bodiesPoses(m, q, q + bodiesCoordinates(m), NULL);
  for (int i = 0; i < m->nshapes; i++) {
    const Side *side = sideOf(all, i);
    if (all->polyhedron[i].vertex) /* one that meets others */
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
  return SUN_RCONST(1e-10) * (p[0].is->size + p[1].is->size);
}

static int hasContact(const Chosen *c, int i) { return c->slot[i] > 0 && c->slot[i] < SPARE; }

/* What is left of feature i */
static sunrealtype leftOf(const Chosen *c, int i, const Placed p[2], sunrealtype by) {
  sunrealtype gap, margin, point[3];
  polyhedraTouch(p, &c->touch[i], &gap, &margin, point);
  return hasContact(c, i) ? margin + 2 * by
         : c->slot[i]     ? -fmin(margin + by, c->floor - gap)
                          : -fmin(margin + by, gap + c->error);
}

/* How far points have moved since features were chosen. p: out, where the polyhedra are, unless the balls around them are apart */
static sunrealtype wayOf(const Meetings *all, const Meet *meet, Placed p[2]) {
  const Chosen *c = &meet->now;
  sunrealtype d[3];
  if (c->nearness == BALLS_APART) {
    between(all, meet->is, d);
    add3(-1, c->at.x, d);
    return length3(d);
  }
  relative(all, meet->is, p);
  return moved(c, &p[1]);
}

/* What is left until features must be chosen anew: the root function, 1 where they were chosen */
static sunrealtype left(const Meetings *all, const Meet *meet) {
  const Chosen *c = &meet->now;
  Placed p[2];
  sunrealtype rest = 1 - wayOf(all, meet, p) / c->left;
  if (c->nearness == BALLS_APART) return rest;
  const sunrealtype by = rounding(p);
  for (int i = 0; i < c->n; i++) rest = fmin(rest, leftOf(c, i, p, by) / c->whole[i]);
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

/* Lists the features that may touch: those that are where their polyhedra are nearest, and of several at the same point one; the others
 * there are dropped: they come again at the next choice. Returns 1 if out of memory. */
static int listChoices(const Placed p[2], const Chosen *c, Meet *meet) {
  const sunrealtype by = rounding(p);
  meet->nchoices       = 0;
  for (int i = 0; i < c->n; i++) {
    Choice new = {.touch = i};
    sunrealtype margin;
    int same = 0;
    polyhedraTouch(p, &c->touch[i], &new.gap, &margin, new.point);
    if (!(margin > -1.5 * by && new.gap > -1.5 * c->error)) continue;
    for (int l = 0; l < meet->nchoices && !same; l++) {
      const Choice *other    = &meet->choice[l];
      const sunrealtype d[3] = {new.point[0] - other->point[0], new.point[1] - other->point[1],
                                new.point[2] - other->point[2]};
      same                   = length3(d) <= 2 * by && fabs(new.gap - other->gap) <= 2 * by;
    }
    c->slot[i] = -1; /* for now: it is not counted among those that may come */
    if (same) continue;
    if (ROOM(meet->choice, meet->nchoices, 1)) return 1;
    meet->choice[meet->nchoices++] = new;
  }
  return 0;
}

/* Gaps below this are those of features that touch, for which any of them may stand, if the least is `low`. */
static sunrealtype touchingGap(sunrealtype low, sunrealtype by) { return fmax(low, 0) + 6 * by; }

/* The next one that a contact is to stand for: the nearest one; then of all that are not farther, or touch, that which is farthest from
 * those taken before, so that they are all around where flat faces touch in many points */
static Choice *nextChoice(const Meet *meet, sunrealtype by) {
  sunrealtype low = INFINITY, most = -1;
  Choice *best = NULL;
  int taken    = 0;
  for (int l = 0; l < meet->nchoices; l++) {
    Choice *own = &meet->choice[l];
    if (own->taken) taken = 1;
    else if (own->gap < low) low = own->gap, best = own;
  }
  for (int l = 0; l < meet->nchoices && taken; l++) {
    Choice *own     = &meet->choice[l];
    sunrealtype far = INFINITY, d[3];
    if (own->taken || own->gap > touchingGap(low, by)) continue;
    for (int k = 0; k < meet->nchoices; k++) {
      if (!meet->choice[k].taken) continue;
      for (int i = 0; i < 3; i++) d[i] = own->point[i] - meet->choice[k].point[i];
      far = fmin(far, length3(d));
    }
    if (far > most) most = far, best = own;
  }
  return best;
}

/* Marks with `slot` the features that contacts are to stand for. Returns 1 if out of memory. */
static int choosePoints(const Placed p[2], Chosen *c, Meet *meet) {
  const sunrealtype by = rounding(p);
  sunrealtype low      = INFINITY;
  int n                = 0;
  for (int i = 0; i < c->n; i++) c->slot[i] = 0;
  if (listChoices(p, c, meet)) return 1;
  for (int k = 0; k < meet->is->count && k < meet->nchoices; k++) {
    Choice *best = nextChoice(meet, by);
    best->taken = 1, c->slot[best->touch] = 1;
    low = fmin(low, best->gap);
  }
  c->floor = -2 * by;
  for (int l = 0; l < meet->nchoices; l++) {
    const Choice *own = &meet->choice[l];
    if (own->taken) continue;
    c->slot[own->touch] = own->gap > touchingGap(low, by) ? FARTHER : SPARE;
    c->floor            = fmin(c->floor, own->gap - 2 * by);
  }
  for (int i = 0; i < c->n; i++)
    if (c->slot[i] >= 0) c->touch[n] = c->touch[i], c->slot[n++] = c->slot[i];
  c->n = n;
  for (int i = 0; i < n; i++) {
    const sunrealtype rest = leftOf(c, i, p, by);
    c->whole[i]            = rest > 0 ? fmin(rest, c->left) : c->left; /* rest may be INFINITY */
  }
  return 0;
}

/* Does a feature touch now that was farther than those with contacts? Where flat faces meet, all do so at once, and an event of the
 * contacts comes before that of the others. */
static int hasCome(const Meetings *all, const Meet *meet) {
  const Chosen *c = &meet->now;
  Placed p[2];
  if (c->nearness != NEAR_BY) return 0;
  relative(all, meet->is, p);
  const sunrealtype by = rounding(p);
  for (int i = 0; i < c->n; i++) {
    sunrealtype gap, margin, point[3];
    if (c->slot[i] != FARTHER) continue;
    polyhedraTouch(p, &c->touch[i], &gap, &margin, point);
    if (margin > -by && gap < 4 * by) return 1;
  }
  return 0;
}

/* Gives the selected features their contacts: the same ones as before, if they had some. Returns 1 if a contact changes, which it does not
 * yet if `only` is set. */
static int assign(Meetings *all, Meet *meet, int only) {
  Chosen *now = &meet->now, *before = &meet->before;
  const Touch *of[MEETING_CONTACTS] = {NULL};
  int changed                       = 0;
  char had[MEETING_CONTACTS]        = {0};
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < now->n; i++) {
      if (!hasContact(now, i) || (pass && now->slot[i] < 0)) continue;
      int k = pass ? 0 : -1;
      for (int l = 0; l < before->n && !pass; l++)
        if (hasContact(before, l) && isSame(&before->touch[l], &now->touch[i]))
          k = before->slot[l] - 1;
      while (pass && of[k]) k++;
      if (k >= 0) of[k] = &now->touch[i], now->slot[i] = (signed char)-(k + 1), changed |= pass;
    }
  for (int i = 0; i < now->n; i++) now->slot[i] = (signed char)abs(now->slot[i]);
  for (int l = 0; l < before->n; l++)
    if (hasContact(before, l)) had[before->slot[l] - 1] = 1;
  for (int k = 0; k < meet->is->count; k++) changed |= had[k] && !of[k];
  for (int k = 0; k < meet->is->count && !(only && changed); k++)
    if (of[k] || had[k]) setContact(all, meet, k, of[k]);
  return changed;
}

/* What was chosen before becomes what is chosen, with the other root function, and the other way round. */
static void swap(Meet *meet) {
  const Chosen other = meet->before;
  meet->before = meet->now, meet->now = other, meet->place = !meet->place;
}

/* candidates, with room for them in `slot`. Returns 1 if out of memory. */
static int findCandidates(const Placed p[2], sunrealtype reach, Chosen *c) {
  int room = c->room;
  c->n     = polyhedraCandidates(p, reach, &c->touch, &room);
  if (c->n == NONE) return c->n = 0, 1;
  if (room == c->room) return 0;
  signed char *slot  = realloc(c->slot, (size_t)room);
  c->slot            = slot ? slot : c->slot;
  sunrealtype *whole = slot ? realloc(c->whole, (size_t)room * sizeof *whole) : NULL;
  if (!whole) return c->n = 0, 1;
  c->whole = whole, c->room = room;
  return 0;
}

/* Chooses the features of two polyhedra where they are, as assign. */
static int choose(Meetings *all, Meet *meet, int only) {
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
    c->nearness = APART, c->left = polyhedraSeparation(p, NULL);
    c->at = p[1];
  }
  if (c->left < meet->reach) {
    c->nearness = NEAR_BY, c->error = 4 * rounding(p) + 2 * fmax(0, -c->left);
    c->left = meet->reach;
    all->failed |= findCandidates(p, meet->reach, c) || choosePoints(p, c, meet);
  }
  return assign(all, meet, only);
}

/* Where the newest step has used half of the distance that points may move, features are chosen anew, which takes no event if the contacts
 * are those of the same ones; if not, their root function finds when they change. */
static void renew(Meetings *all, Meet *meet) {
  const int place = meet->place;
  Placed p[2];
  if (2 * wayOf(all, meet, p) < meet->now.left) return;
  if (choose(all, meet, 1)) swap(meet);
  meet->place = place, meet->handled = 0;
}

/* ---- the source ---- */

static int tellMech(Meetings *all) { return CPMechSetUserData(all->mech, all->m); }

/* At a restart it is positive: contacts that have closed there may move bodies within their errors, and what has come by that has no other
 * root. */
static int roots(sunrealtype t, N_Vector y, sunrealtype *g, void *data) {
  static const sunrealtype located = SUN_RCONST(1e-13);
  Meetings *all                    = data;
  const int is_start               = fabs(t - all->t) <= located * fabs(t);
  place(all, y);
  for (int i = 0; i < all->m->nmeetings; i++) {
    const Meet *meet        = &all->meet[i];
    const sunrealtype rest  = left(all, meet);
    g[2 * i + meet->place]  = rest > 0 || !is_start ? rest : 1;
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
    for (int k = 0; k < meet->is->count; k++) setContact(all, meet, k, NULL);
  }
  return 0;
}

static int begin(CPSession session, sunrealtype t, sunrealtype t_end, N_Vector y, int again,
                 void *data) {
  Meetings *all = data;
  int changed   = 0;
  (void)session, (void)t_end;
  place(all, y);
  all->t = t, all->acts = 0;
  for (int i = 0; i < all->m->nmeetings; i++) {
    all->meet[i].handled = 0;
    if (!again) changed |= choose(all, &all->meet[i], 0);
    else all->acts |= !(left(all, &all->meet[i]) > 0) || hasCome(all, &all->meet[i]);
  }
  if (all->failed) return CP_MEM_FAIL;
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
  all->t = event->t, all->acts = 0;
  for (int i = 0; i < all->m->nmeetings; i++) {
    Meet *meet    = &all->meet[i];
    meet->handled = 0;
    if ((event->roots && (event->roots[2 * i] || event->roots[2 * i + 1])) ||
        !(left(all, meet) > 0) || hasCome(all, meet))
      changed |= choose(all, meet, 0);
  }
  if (all->failed) return CP_MEM_FAIL;
  if (!changed) return CP_CONTINUE;
  const int flag = tellMech(all);
  return flag ? flag : CP_RESTART;
}

static int accepted(CPSession session, sunrealtype t, N_Vector y, void *data) {
  Meetings *all = data;
  (void)session, (void)t;
  place(all, y);
  for (int i = 0; i < all->m->nmeetings; i++) renew(all, &all->meet[i]);
  return all->failed ? CP_MEM_FAIL : 0;
}

static void undo(CPSession session, N_Vector y, void *data) {
  Meetings *all = data;
  (void)session, (void)y;
  for (int i = 0; i < all->m->nmeetings; i++) {
    Meet *meet = &all->meet[i];
    if (!meet->handled) continue;
    swap(meet), meet->handled = 0;
    for (int k = 0; k < meet->is->count; k++) setContact(all, meet, k, NULL);
    for (int l = 0; l < meet->now.n; l++)
      if (hasContact(&meet->now, l))
        setContact(all, meet, meet->now.slot[l] - 1, &meet->now.touch[l]);
  }
  tellMech(all);
}

/* ---- life ---- */

static void freeChosen(Chosen *c) {
  free(c->touch);
  free(c->slot);
  free(c->whole);
}

void touchingFree(Mechanism *m) {
  Meetings *all = m->meetings;
  if (!all) return;
  for (int i = 0; i < m->nmeetings && all->meet; i++) {
    freeChosen(&all->meet[i].now), freeChosen(&all->meet[i].before);
    free(all->meet[i].choice);
  }
  for (int i = 0; i < m->nshapes && all->polyhedron; i++) polyhedronFree(&all->polyhedron[i]);
  free(all->polyhedron);
  free(all->at);
  free(all->meet);
  free(all->direction);
  free(all);
  m->meetings = NULL;
}

static int makeMeet(Meetings *all, int i) {
  Meet *meet = &all->meet[i];
  meet->is   = &all->m->meeting[i];
  const Polyhedron *p[2];
  for (int side = 0; side < 2; side++) {
    const int shape = meet->is->shape[side];
    Polyhedron *own = &all->polyhedron[shape];
    p[side]         = own;
    if (!own->vertex && polyhedronOf(&all->m->shape[shape], own)) return 1;
  }
  /* Less finds features more often, more has more of them in the list. */
  meet->reach           = fmin(p[0]->inner, p[1]->inner) / 4;
  all->direction[2 * i] = all->direction[2 * i + 1] = -1;
  return 0;
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
                            .accepted   = accepted,
                            .handle     = handle,
                            .undo       = undo,
                            .take_mech  = takeMech,
                            .event_name = nameOfEvent};
  return 0;
}
