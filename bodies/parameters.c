/* Partial derivatives of F = f - M u' - A^T lambda, B = b - A u', z', p and v with respect to parameters, at (q, u, z), u' and lambda.
 *
 * A parameter moves numbers: masses, coefficients, and the sides of pairs, which move rigidly on their bodies. The side's move is
 * one of its body as far as a measure s is concerned, by xi in its own directions, with eta and zeta for what velocities and accelerations
 * change by, and in joint coordinates the bodies move as well, since q, u and u' are held (variations.c). With the jet of the measure,
 *
 *   ds = g . xi,   ds' = s'_q . xi + g . eta,   ds'' = s''_q . xi + s''_u . eta + g . zeta,   dg = H xi,
 *
 * and forces T g on the bodies, those of rows with T = -lambda, change by dT g + T dg; so do M u' and weights. All of it is linear in the
 * number of elements and nodes, for each parameter.
 *
 * Where a number is neither, such as the radius of a pulley or the half axes of a shape, and for tyres, elastic spheres and paths that wrap, differences
 * of sixth order of the one term or force are taken, along the moves of its bodies and its numbers. */
#include "parameters.h"

#include "cpodes/base/differences.h"
#include "following.h"
#include "laws.h"
#include "muscles.h"
#include "ropes.h"
#include "variations.h"
#include "wrench.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BODIES = 4, SHIFTED = 1, ROUGH };

/* One parameter */
typedef struct {
  Number *number;    /* [count] that move with it */
  sunrealtype *base; /* [count] where they are */
  int count;
  sunrealtype step;          /* of differences */
  sunrealtype *param, *coef; /* [nparams], [nterms] slopes */
  Shift *side;               /* [2 npairs] */
  char *shifts;       /* [npairs] SHIFTED: its sides move on their bodies; ROUGH: not rigidly */
  int moves;          /* does some body or side move? */
  Variation *body;    /* [nbodies] */
  Varied *varied;     /* [nnodes] */
  sunrealtype *df;    /* [6 nbodies] */
  sunrealtype sum[3]; /* of the row at hand: those of s, s', s'' */
  sunrealtype *F, *B, *p, *v, *Z;
  sunrealtype *memory; /* of all of these but the first ones and shifts */
} Direction;

/* All of them at one state */
typedef struct {
  Mechanism *b;
  sunrealtype t;
  const sunrealtype *q, *u, *udot, *lambda;
  Direction *direction; /* [n] */
  int n, moves;         /* moves: does a parameter move a body or a side? */
  sunrealtype *force;   /* [6 nbodies] on bodies */
} Work;

/* A term at the state: its value, rate, acceleration and gradient. If it is tied, it acts on a velocity of the tree, with the factor
 * `share`; if it is exact, `own` is the jet of its measure, of which f [4] are the function and its derivatives. */
typedef struct {
  const Term *term;
  int tied, exact;
  sunrealtype s, rate, acc, g[LOCAL], share, f[4];
  Mask mask;
  Jet own; /* last, as only what the mask has is set */
} TermAt;
typedef struct {
  sunrealtype s, rate, acc, g[LOCAL];
} Change;

/* -------------------------------------------------------------------------------- differences -- */

/* What moves while differences are taken */
typedef struct {
  int count, body[MOST_BODIES];
  Pose pose[MOST_BODIES];
} Bodies;

static void takeBody(const Mechanism *b, int body, Bodies *all) {
  for (int k = 0; k < all->count; k++)
    if (all->body[k] == body) return;
  if (body == GROUND || all->count == MOST_BODIES) return;
  all->body[all->count]   = body;
  all->pose[all->count++] = b->pose[body];
}

static void movePose(Pose *pose, const Variation *by, sunrealtype x) {
  const sunrealtype size = length3(by->turn), angle = size * x;
  sunrealtype e[4] = {cos(angle / 2)}, R[3][3], axis[3];
  add3(x, by->move, pose->r);
  add3(x, by->w, pose->w), add3(x, by->v, pose->v);
  add3(x, by->alpha, pose->alpha), add3(x, by->acc, pose->acc);
  pose->phi += x * by->turn[2];
  if (!(size > 0)) return;
  for (int k = 0; k < 3; k++) e[1 + k] = sin(angle / 2) * by->turn[k] / size;
  bodiesRotation(e, R);
  for (int k = 0; k < 3; k++) {
    rotate3(R, pose->axis[k], axis);
    memcpy(pose->axis[k], axis, sizeof axis);
  }
}

/* all: or NULL, then placements and coefficients stay where they are as well, and only parameters move. */
static void moveTo(Mechanism *b, const Direction *d, const Bodies *all, sunrealtype x) {
  for (int i = 0; i < d->count; i++)
    if (all || d->number[i].of == OF_PARAMETERS)
      *d->number[i].at = d->base[i] + x * d->number[i].slope;
  for (int k = 0; all && k < all->count; k++) {
    b->pose[all->body[k]] = all->pose[k];
    if (x != 0) movePose(&b->pose[all->body[k]], &d->body[all->body[k]], x);
  }
}

/* An element's function of the numbers and the poses. Returns what a user's function returned. */
typedef int (*OfElement)(const Work *w, const void *element, sunrealtype *value);
enum { MOST_VALUES = 3 + LOCAL };

typedef struct {
  const Work *w;
  const Direction *d;
  const Bodies *all;
  OfElement f;
  const void *element;
  int count;
} Moved;

static int movedElement(double e, double *value, void *data) {
  const Moved *m = data;
  moveTo(m->w->b, m->d, m->all, e);
  memset(value, 0, (size_t)m->count * sizeof *value);
  return m->f(m->w, m->element, value);
}

/* slope [count]: out. all: as of moveTo */
static int differ(const Work *w, const Direction *d, const Bodies *all, OfElement f,
                  const void *element, int count, sunrealtype *slope) {
  sunrealtype room[4 * MOST_VALUES];
  Moved moved    = {w, d, all, f, element, count};
  const int flag = cpDifferentiate(movedElement, &moved, count, d->step, 0, slope, room);
  moveTo(w->b, d, all, 0);
  return flag;
}

/* Does it move a parameter first ... first + count - 1? */
static int moves(const Direction *d, int first, int count) {
  for (int i = 0; i < d->count; i++)
    if (d->number[i].of == OF_PARAMETERS && d->number[i].index >= first &&
        d->number[i].index < first + count)
      return 1;
  return 0;
}

/* Adds to the rate of the balance of energy, if there is one. */
static void addPower(const Work *w, const Direction *d, sunrealtype change) {
  if (w->b->balance) d->Z[w->b->nactivations] += change;
}

static sunrealtype slopeOf(const Direction *d, int param) {
  return param == NONE ? 0 : d->param[param];
}

/* ------------------------------------------------------------------------------------ terms -- */

/* The jets of the three components of P_b - P_a; bends: those of their gradients as well */
static void pointJets(const Space *s, const Pair *pair, const Pose *const pose[2], int bends,
                      TermAt *at) {
  sunrealtype D[3], r[3], a[3], v[3], turned[3];
  Moving d;
  bodiesSpan(pair, pose[0], pose[1], ACCELERATION, &d);
  for (int i = 0; i < 3; i++)
    at[i].own.s = d.x[i], at[i].own.rate = d.rate[i], at[i].own.acc = d.acc[i];
  EACH_DIRECTION(s, at->mask.g, j) {
    const sunrealtype *axis = d.pose[j / 6]->axis[j % 3];
    bodiesMovingX(&d, j, D), bodiesMovingAcc(&d, j, a), bodiesMovingAccU(&d, j, v);
    memset(r, 0, sizeof r);
    if (j % 6 >= 3) cross3(axis, d.side[j / 6].rate, r);
    for (int i = 0; i < 3; i++) {
      Jet *own  = &at[i].own;
      own->g[j] = D[i], own->rate_q[j] = r[i], own->acc_q[j] = a[i], own->acc_u[j] = v[i];
    }
    for (int l = 3 + j / 6 * 6; l < 6 + j / 6 * 6 && j % 6 >= 3 && bends;
         l++) { /* D_j D_l x = t_j x D_l x */
      bodiesMovingX(&d, l, D), cross3(axis, D, turned);
      for (int i = 0; i < 3; i++) at[i].own.H[l][j] = turned[i];
    }
  }
}

/* A coordinate of the tree, or a function of an own one. It depends on q, u, u' alone. */
static void evaluateTied(const Work *w, TermAt *at) {
  const Term *term = at->term;
  const int k      = term->velocity;
  sunrealtype bend[3];
  at->tied = 1, at->share = term->sign;
  if (term->m.kind == OWN) {
    treeOwnJet(w->b, term, VALUES, &at->own);
    at->share = treeOwnBend(w->b, term, bend) ? bend[0] : 1;
    at->s = at->own.s, at->rate = at->own.rate, at->acc = at->own.acc;
    return;
  }
  at->s    = term->sign * bodiesWhole(w->b, w->q, term->coordinate);
  at->rate = term->sign * w->u[k], at->acc = term->sign * w->udot[k];
}

/* Does a parameter move its bodies or its sides? */
static int isMoved(const Work *w, const Term *term) {
  for (int n = 0; n < w->n; n++)
    if (w->direction[n].moves && (w->b->tree || w->direction[n].shifts[term->pair])) return 1;
  return 0;
}

/* bare: the sum of which it is a term is one of coordinates. at: out, [3] for a vector */
static int evaluateTerm(const Work *w, const Term *term, int bare, TermAt *at) {
  const Mechanism *b = w->b;
  Pair pair          = b->pair[term->pair];
  int flag           = 0;
  memset(at, 0, offsetof(TermAt, own));
  at->term = term, at->f[1] = 1;
  if (b->tree && (bare || term->m.kind == OWN)) {
    evaluateTied(w, at);
    return 0;
  }
  if (term->m.kind == WRAP) {
    bodiesTermJet(b, term, ACCELERATION, &at->own);
    const Mask mask = bodiesTermMask(b, term);
    at->s = at->own.s, at->rate = at->own.rate, at->acc = at->own.acc;
    EACH_DIRECTION(&b->space, mask.g, j) at->g[j] = at->own.g[j];
    return 0;
  }
  /* Placements on the ground move as well, so that it is as good as a body here. */
  const Pose *const pose[2] = {bodiesPose(b, pair.side[0].body), bodiesPose(b, pair.side[1].body)};
  for (int k = 0; k < 2; k++)
    if (pair.side[k].body == GROUND) pair.side[k].body = 0;
  const int count = term->m.kind == POINT ? 3 : 1, bends = isMoved(w, term);
  at->exact = 1;
  at->mask  = bodiesMask(&b->space, &pair, &term->m);
  for (int i = 1; i < count; i++) memcpy(&at[i], at, offsetof(TermAt, own));
  if (term->m.kind == POINT) pointJets(&b->space, &pair, pose, bends, at);
  else
    bodiesJet(&b->space, b->param, &pair, &term->m, pose[0], pose[1],
              bends ? COMPLETE : ACCELERATION, &at->own);
  if (term->counts && b->tree) at->own.s = term->sign * bodiesWhole(b, w->q, term->coordinate);
  if (term->f) flag = bodiesTermFunction(b, term, at->own.s, ACCELERATION, at->f);
  for (int i = 0; i < count; i++) {
    TermAt *own          = &at[i];
    const sunrealtype *f = own->f;
    if (!term->f) own->f[0] = own->own.s;
    own->s = f[0], own->rate = f[1] * own->own.rate;
    own->acc = f[2] * own->own.rate * own->own.rate + f[1] * own->own.acc;
    EACH_DIRECTION(&b->space, own->mask.g, j) own->g[j] = f[1] * own->own.g[j];
  }
  return flag;
}

static int jetOf(const Work *w, const void *element, sunrealtype *value) {
  const Mechanism *b = w->b;
  const Term *term   = element;
  const Mask mask    = bodiesTermMask(b, term);
  Jet jet;
  memset(&jet, 0, sizeof jet);
  bodiesTermJet(b, term, ACCELERATION, &jet);
  value[0] = jet.s, value[1] = jet.rate, value[2] = jet.acc;
  EACH_DIRECTION(&b->space, mask.g, j) value[3 + j] = jet.g[j];
  return 0;
}

/* Is it a parameter of the file? These move its functions. */
static int movesFunctions(const Work *w, const Direction *d) {
  return d->number[0].index >= w->b->nparams - bodiesFollowers(w->b);
}

/* May a term change, apart from its weight? */
static int concerns(const Work *w, const Direction *d, const Term *term) {
  const Mechanism *b     = w->b;
  const Surface *surface = &b->pair[term->pair].surface;
  return d->shifts[term->pair] || (d->moves && (b->tree || term->m.kind == WRAP)) ||
         (term->f && movesFunctions(w, d)) || slopeOf(d, surface->radius[0]) != 0 ||
         slopeOf(d, surface->radius[1]) != 0;
}

/* Must differences of the term be taken? */
static int isRough(const Mechanism *b, const Direction *d, const TermAt *at) {
  const Term *term = at->term;
  const Pair *pair = &b->pair[term->pair];
  if (!at->exact) return d->moves;
  return d->shifts[term->pair] == ROUGH || slopeOf(d, pair->surface.radius[0]) != 0 ||
         slopeOf(d, pair->surface.radius[1]) != 0;
}

/* y <- the change of the components in the axes of a body, which turn, of a vector x of space that changes by dx */
static void changeInBody(const Pose *pose, const sunrealtype *turn, const sunrealtype *x,
                         const sunrealtype *dx, sunrealtype *y) {
  sunrealtype z[3], turned[3];
  memcpy(z, dx, sizeof z), cross3(turn, x, turned), add3(-1, turned, z);
  toBody(pose, z, y);
}

/* x [3]: out, xi, eta and zeta of the measure of a pair. Returns 0 if they are 0. */
static int motionOf(const Mechanism *b, const Direction *d, int pair, sunrealtype x[3][LOCAL]) {
  int moving = 0;
  for (int s = 0; s < 2 && d->moves; s++) {
    const int body   = b->pair[pair].side[s].body;
    const Pose *pose = bodiesPose(b, body);
    Variation by     = {{0}, {0}, {0}, {0}, {0}, {0}};
    if (body != GROUND) by = d->body[body];
    bodiesShift(pose, &d->side[2 * pair + s], &by);
    memcpy(x[0] + 6 * s, by.move, sizeof by.move), memcpy(x[1] + 6 * s, by.v, sizeof by.v);
    memcpy(x[2] + 6 * s, by.acc, sizeof by.acc);
    toBody(pose, by.turn, x[0] + 6 * s + 3);
    changeInBody(pose, by.turn, pose->w, by.w, x[1] + 6 * s + 3);
    changeInBody(pose, by.turn, pose->alpha, by.alpha, x[2] + 6 * s + 3);
    for (int k = 6 * s; k < 6 * s + 6; k++) moving |= x[0][k] != 0 || x[1][k] != 0 || x[2][k] != 0;
  }
  return moving;
}

/* Does a parameter move the function of a term, which is linear in its own move? Then f [3] <- its change and that of its derivatives. */
static int functionMoves(const Work *w, const Direction *d, const TermAt *at, sunrealtype *f) {
  const Term *term = at->term;
  sunrealtype x    = term->sense * at->own.s, moved[2][3];
  if (!term->f || !movesFunctions(w, d)) return 0;
  Pieces own;
  const Pieces *of_run = bodiesPieces(w->b, term->f, 0, &own);
  own.inside           = NULL; /* It stays that of the place itself. */
  for (int s = 0; s < 2; s++) {
    memset(moved[s], 0, sizeof moved[s]);
    moveTo(w->b, d, NULL, s * d->step);
    bodiesAddMoved(w->b, term->f->number, 0, &x, of_run, &moved[s][0], &moved[s][1], &moved[s][2]);
  }
  moveTo(w->b, d, NULL, 0);
  for (int k = 0; k < 3; k++) f[k] = (moved[1][k] - moved[0][k]) / d->step;
  f[1] *= term->sense;
  return 1;
}

/* Returns 1 if the term changes. */
static int changeOf(const Work *w, const Direction *d, const TermAt *at, Change *c) {
  const Mechanism *b = w->b;
  const Term *term   = at->term;
  const Jet *own     = &at->own;
  sunrealtype x[3][LOCAL], ds = 0, rate = 0, acc = 0, dg[LOCAL] = {0}, df[3] = {0};
  memset(c, 0, sizeof *c);
  if (at->tied || !concerns(w, d, term)) return 0;
  if (isRough(b, d, at)) {
    Bodies all      = {0};
    const int first = term->pair - (term->m.kind == WRAP ? term->m.i : 0),
              count = term->m.kind == WRAP ? 3 + term->m.j : 1;
    sunrealtype value[MOST_VALUES];
    for (int k = 0; k < 2 * count; k++) takeBody(b, b->pair[first + k / 2].side[k % 2].body, &all);
    differ(w, d, &all, jetOf, term, MOST_VALUES, value);
    c->s = value[0], c->rate = value[1], c->acc = value[2];
    memcpy(c->g, value + 3, sizeof c->g);
    return 1;
  }
  const int bends = functionMoves(w, d, at, df);
  if (!at->exact || (!motionOf(b, d, term->pair, x) && !bends)) return 0;
  const sunrealtype *f = at->f;
  if (d->moves) {
    EACH_DIRECTION(&b->space, at->mask.g, j) {
      ds += own->g[j] * x[0][j];
      rate += own->rate_q[j] * x[0][j] + own->g[j] * x[1][j];
      acc += own->acc_q[j] * x[0][j] + own->acc_u[j] * x[1][j] + own->g[j] * x[2][j];
      if (x[0][j] == 0) continue;
      EACH_DIRECTION(&b->space, at->mask.g, i)
      if (at->mask.H & 1u << (4 * (i / 3) + j / 3)) dg[i] += own->H[i][j] * x[0][j];
    }
  }
  if (term->counts && b->tree) ds = 0;
  c->s    = df[0] + f[1] * ds;
  c->rate = (df[1] + f[2] * ds) * own->rate + f[1] * rate;
  c->acc  = (df[2] + f[3] * ds) * own->rate * own->rate + 2 * f[2] * own->rate * rate +
           (df[1] + f[2] * ds) * own->acc + f[1] * acc;
  EACH_DIRECTION(&b->space, at->mask.g, j)
  c->g[j] = (df[1] + f[2] * ds) * own->g[j] + f[1] * dg[j];
  return 1;
}

static sunrealtype weightSlope(const Work *w, const Direction *d, const Term *term) {
  const Mechanism *b = w->b;
  const sunrealtype coef =
      term >= b->term && term < b->term + b->nterms ? d->coef[term - b->term] : 0;
  return term->ratio == NONE ? coef
                             : coef * b->param[term->ratio] + term->coef * d->param[term->ratio];
}

/* The force T g of a term on its bodies, or T on its velocity, changes by dT g + T dg. A side that is shifted on its body has its
 * force elsewhere, and in other axes. */
static void addForce(const Work *w, Direction *d, const TermAt *at, sunrealtype T, sunrealtype dT,
                     const Change *c) {
  const Mechanism *b = w->b;
  const int pair = at->term->pair, shifted = at->exact && d->moves && !isRough(b, d, at);
  if (at->tied) {
    d->F[at->term->velocity] += dT * at->share;
    return;
  }
  for (int s = 0; s < 2; s++) {
    const int body = b->pair[pair].side[s].body;
    if (body == GROUND) continue;
    sunrealtype *df = d->df + 6 * body, F[3], x[3];
    for (int k = 0; k < 6; k++) df[k] += dT * at->g[6 * s + k] + T * c->g[6 * s + k];
    if (!shifted) continue;
    const Shift *shift = &d->side[2 * pair + s];
    toBody(&b->pose[body], at->g + 6 * s, F);
    cross3(shift->turn, at->g + 6 * s + 3, x), add3(T, x, df + 3);
    cross3(shift->move, F, x), add3(T, x, df + 3);
  }
}

/* The force itself, which changes its own share of those in the joints of a tree */
static void addOwnForce(const Work *w, const TermAt *at, sunrealtype T) {
  for (int s = 0; s < 2 && w->b->tree && !at->tied; s++) {
    const int body = w->b->pair[at->term->pair].side[s].body;
    for (int k = 0; k < 6 && body != GROUND; k++) w->force[6 * body + k] += T * at->g[6 * s + k];
  }
}

/* ------------------------------------------------------------------------------------- rows -- */

static int driveOf(const Work *w, const void *element, sunrealtype *value) {
  const Row *row = element;
  DriveAt at;
  const int flag = bodiesDrive(w->b, row->drive, w->t, &at);
  value[0] = at.g + at.rest, value[1] = at.rate, value[2] = at.acc;
  return flag;
}

static int ropeTurnsOf(const Work *w, const void *element, sunrealtype *value) {
  const Row *row = element;
  value[0]       = bodiesRopeTurns(w->b, row->term, row->nterms);
  return 0;
}

/* slope [3]: out, that of a drive and of its derivatives. A frequency acts for a long time, over which differences are no use. */
static int driveSlope(const Work *w, const Direction *d, const Row *row, sunrealtype *slope) {
  const Drive *drive  = &w->b->drive[row->drive];
  const sunrealtype t = w->t;
  memset(slope, 0, 3 * sizeof *slope);
  if (drive->g) return differ(w, d, NULL, driveOf, row, 3, slope);
  const sunrealtype *p = w->b->param + drive->param, *dp = d->param + drive->param, a = p[2],
                    f = p[3], s = sin(f * t), c = cos(f * t);
  slope[0] = dp[0] + dp[1] * t + dp[2] * s + dp[3] * a * t * c;
  slope[1] = dp[1] + dp[2] * f * c + dp[3] * a * (c - f * t * s);
  slope[2] = -dp[2] * f * f * s - dp[3] * a * f * (2 * s + f * t * c);
  return 0;
}

/* A row whose angles do not count turns is violated by its sum x up to whole turns of its only angle: the change of these, where its
 * ratio changes, so that p has the slope of the nearest one. Of several angles only common multiples count, whose ratios are fixed. */
static sunrealtype turnsSlope(const Work *w, const Direction *d, const Row *row, sunrealtype x) {
  const Mechanism *b       = w->b;
  const sunrealtype period = bodiesPeriod(b, row), turn = 8 * atan(SUN_RCONST(1.0));
  const Term *only = NULL;
  int count        = 0;
  for (int k = 0; k < row->nterms && period > 0; k++) {
    const Term *term = bodiesRowTerm(b, row, k);
    if (term->m.kind == ANGLE && !term->f) only = term, count++;
  }
  if (count != 1) return 0;
  const sunrealtype sign = bodiesWeight(b, only) < 0 ? -1 : 1;
  return -nearbyint(x / period) * turn * sign * weightSlope(w, d, only);
}

/* Does a parameter change a term of the row, or its weight? */
static int movesTerms(const Work *w, const Row *row) {
  for (int n = 0; n < w->n; n++)
    for (int k = 0; k < row->nterms; k++) {
      const Term *term = bodiesRowTerm(w->b, row, k);
      if (concerns(w, &w->direction[n], term) || weightSlope(w, &w->direction[n], term) != 0)
        return 1;
    }
  return 0;
}

/* Component i of a row: its changes, and those of the forces of its multiplier. at [3]: the newest term; the only one of a vector is that
 * of all of its components. */
static int addRow(Work *w, int r, int i, TermAt *at) {
  const Mechanism *b = w->b;
  const Row *row     = bodiesRow(b, r);
  const int bare = bodiesIsBare(b, row), of_positions = r < b->nrows, at_row = row->first + i,
            moves          = movesTerms(w, row);
  const sunrealtype lambda = w->lambda[at_row], sign = row->limit < 0 ? -1 : 1;
  sunrealtype x = 0;
  int flag      = 0;
  if (!moves && row->drive == NONE && row->offset == NONE && !row->rope) return 0;
  for (int k = 0; k < w->n; k++) memset(w->direction[k].sum, 0, sizeof w->direction[k].sum);
  for (int k = 0; k < row->nterms && !flag && moves; k++) {
    const Term *term    = bodiesRowTerm(b, row, k);
    const sunrealtype c = term->m.kind == POINT ? -1 : bodiesWeight(b, term);
    if (i == 0) flag = evaluateTerm(w, term, bare, at);
    x += c * at[i].s;
    if (lambda != 0) addOwnForce(w, &at[i], -lambda * c);
    for (int n = 0; n < w->n && !flag; n++) {
      Direction *d         = &w->direction[n];
      const sunrealtype dc = term->m.kind == POINT ? 0 : weightSlope(w, d, term);
      Change change;
      if (!changeOf(w, d, &at[i], &change) && dc == 0) continue;
      d->sum[0] += dc * at[i].s + c * change.s;
      d->sum[1] += dc * at[i].rate + c * change.rate;
      d->sum[2] += dc * at[i].acc + c * change.acc;
      if (lambda != 0) addForce(w, d, &at[i], -lambda * c, -lambda * dc, &change);
    }
  }
  DriveAt drive_at = {0};
  if (row->drive != NONE && !flag) flag = bodiesDrive(b, row->drive, w->t, &drive_at);
  x -= sign * (drive_at.g + drive_at.rest);
  if (row->offset != NONE) x -= (row->limit ? row->limit : 1) * b->param[row->offset];
  for (int n = 0; n < w->n && !flag; n++) {
    Direction *d             = &w->direction[n];
    const sunrealtype offset = (row->limit ? row->limit : 1) * slopeOf(d, row->offset);
    sunrealtype drive[3] = {0}, turns = 0;
    if (row->drive != NONE) flag = driveSlope(w, d, row, drive);
    if (row->rope && !flag) flag = differ(w, d, NULL, ropeTurnsOf, row, 1, &turns);
    if (of_positions)
      d->p[at_row] = d->sum[0] - offset + sign * (turns - drive[0]) + turnsSlope(w, d, row, x);
    d->v[at_row] = d->sum[1] - sign * drive[1];
    addPower(w, d, -sign * lambda * drive[1]);
    d->B[at_row] = sign * drive[2] - d->sum[2];
  }
  return flag;
}

/* ------------------------------------------------------------------------------------- laws -- */

/* A law at x and x' */
typedef struct {
  const Law *law;
  sunrealtype x, rate;
} LawAt;

static int lawOf(const Work *w, const void *element, sunrealtype *value) {
  const LawAt *at = element;
  sunrealtype T[3];
  const int flag = at->law->kind == SPRING
                       ? bodiesLawFunction(w->b, at->law, w->t, at->x, at->rate, VALUES, T)
                       : bodiesLaw(w->b, at->law, w->t, at->x, at->rate, 0, VALUES, T);
  value[0]       = T[0];
  return flag;
}

/* The change of T with the numbers of the law itself, and with what a formula depends on. Differences are taken of actuators and
 * functions. by: the derivatives of the formula */
static int lawSlope(const Work *w, const Direction *d, const LawAt *at, const TermAt *input,
                    const sunrealtype *by, sunrealtype *slope) {
  enum { MOST_OWN_NUMBERS = 8 + 6 + 3 + NUM_MUSCLE }; /* of an actuator */
  const Law *law        = at->law;
  const sunrealtype *dp = d->param + law->param, *p = w->b->param + law->param;
  int flag = 0;
  *slope   = 0;
  if ((law->formula && movesFunctions(w, d)) ||
      (law->kind == MOTOR && moves(d, law->param, MOST_OWN_NUMBERS)))
    flag = differ(w, d, NULL, lawOf, at, 1, slope);
  if (law->kind == DRAG) *slope -= dp[0] * at->rate;
  if (law->kind == SPRING)
    *slope += slopeOf(d, law->force) - dp[0] * lawStretch(w->b, law, at->x) + p[0] * dp[2] -
              dp[1] * at->rate;
  for (int i = 0; law->formula && i < law->formula->ninputs && !flag; i++) {
    const Input *of = &law->formula->input[i];
    Change c;
    if (!changeOf(w, d, &input[i], &c)) continue;
    *slope += by[3 + i] * of->term.coef * (of->level ? c.rate : c.s);
  }
  return flag;
}

/* The inputs of a formula at the state */
static int evaluateInputs(const Work *w, const Formula *formula, TermAt *input) {
  int flag = 0;
  for (int i = 0; formula && i < formula->ninputs && !flag; i++)
    flag = evaluateTerm(w, &formula->input[i].term, 0, &input[i]);
  return flag;
}

/* The change of the power T x' of a law, without that of the elastic part -k (x - free) of a spring. dx [2]: of x and x' */
static sunrealtype lawPower(const Work *w, const Direction *d, const LawAt *at, sunrealtype T,
                            sunrealtype dT, const sunrealtype *dx) {
  const Law *law  = at->law;
  sunrealtype sum = dT * at->rate + T * dx[1];
  if (law->kind != SPRING) return sum;
  const sunrealtype k = w->b->param[law->param], x = lawStretch(w->b, law, at->x);
  sum += k * ((dx[0] - d->param[law->param + 2]) * at->rate + x * dx[1]);
  return sum + d->param[law->param] * x * at->rate;
}

/* T g for the sum of terms, less I s'' g of an inertance; at, c [nterms], input: room */
static int addLaw(Work *w, const Law *law, TermAt *at, Change *c, TermAt *input) {
  const Mechanism *b  = w->b;
  const int on_tree   = b->tree && law->on_tree;
  const sunrealtype I = law->inertance == NONE ? 0 : b->param[law->inertance];
  sunrealtype acc = 0, T[3], by[CP_MOST_VARIABLES] = {0}, value;
  LawAt own = {law, 0, 0};
  int flag  = evaluateInputs(w, law->formula, input);
  for (int k = 0; k < law->nterms && !flag; k++) {
    const sunrealtype weight = bodiesWeight(b, bodiesLawTerm(b, law, k));
    flag                     = evaluateTerm(w, bodiesLawTerm(b, law, k), on_tree, &at[k]);
    own.x += weight * at[k].s, own.rate += weight * at[k].rate, acc += weight * at[k].acc;
  }
  if (!flag) flag = bodiesLaw(b, law, w->t, own.x, own.rate, 0, GRADIENT, T);
  if (!flag && law->formula)
    flag = bodiesFormula(b, law->formula, 0, w->t, 2, (sunrealtype[]){own.x, own.rate}, &value, by);
  T[0] -= I * acc;
  for (int k = 0; k < law->nterms && !flag; k++)
    addOwnForce(w, &at[k], bodiesWeight(b, at[k].term) * T[0]);
  for (int n = 0; n < w->n && !flag; n++) {
    Direction *d      = &w->direction[n];
    sunrealtype dx[3] = {0}, dT;
    for (int k = 0; k < law->nterms; k++) {
      const sunrealtype weight = bodiesWeight(b, at[k].term), dc = weightSlope(w, d, at[k].term);
      changeOf(w, d, &at[k], &c[k]);
      dx[0] += dc * at[k].s + weight * c[k].s, dx[1] += dc * at[k].rate + weight * c[k].rate;
      dx[2] += dc * at[k].acc + weight * c[k].acc;
    }
    flag = lawSlope(w, d, &own, input, by, &dT);
    dT += T[1] * dx[0] + T[2] * dx[1];
    addPower(w, d, lawPower(w, d, &own, T[0] + I * acc, dT, dx));
    dT -= I * dx[2] + slopeOf(d, law->inertance) * acc;
    for (int k = 0; k < law->nterms; k++) {
      const sunrealtype weight = bodiesWeight(b, at[k].term), dc = weightSlope(w, d, at[k].term);
      addForce(w, d, &at[k], weight * T[0], dc * T[0] + weight * dT, &c[k]);
    }
  }
  return flag;
}

static int addLaws(Work *w) {
  const Mechanism *b = w->b;
  int most = 1, flag = 0;
  for (int i = 0; i < b->nlaws; i++) most = b->law[i].nterms > most ? b->law[i].nterms : most;
  TermAt *at = malloc((size_t)(most + CP_MOST_VARIABLES) * sizeof *at);
  Change *c  = malloc((size_t)most * sizeof *c);
  if (!at || !c) flag = -1;
  for (int i = 0; i < b->nlaws && !flag; i++) flag = addLaw(w, &b->law[i], at, c, at + most);
  free(at);
  free(c);
  return flag;
}

/* --------------------------------------------------------------------------------- points -- */

typedef struct {
  const PointForce *force;
  Moving d;
} PointAt;

static int pointForceOf(const Work *w, const void *element, sunrealtype *F) {
  const PointAt *at = element;
  return bodiesPointForce(w->b, at->force, w->t, &at->d, F, NULL, NULL);
}

/* F . (v of the point): F changes with the position and the velocity of the point, with its inputs and its numbers. */
static int addPointForce(Work *w, const PointForce *force) {
  const Mechanism *b = w->b;
  const Pair *pair   = &b->pair[force->pair];
  const Pose *pose   = bodiesPose(b, pair->side[1].body);
  const Term term    = {.coef = 1, .ratio = NONE, .pair = force->pair, .m = {.kind = POINT}};
  const Formula *f   = force->formula;
  sunrealtype F[3], Fx[9], Fv[9], by[3][CP_MOST_VARIABLES] = {{0}}, value, turned[3], own[3];
  PointAt here = {.force = force};
  TermAt at[3], input[CP_MOST_VARIABLES];
  bodiesSpan(pair, &bodies_ground, pose, VALUES, &here.d);
  const sunrealtype *x = here.d.x, *v = here.d.rate, xv[6] = {x[0], x[1], x[2], v[0], v[1], v[2]};
  int flag = bodiesPointForce(b, force, w->t, &here.d, F, Fx, Fv);
  if (!flag) flag = evaluateInputs(w, f, input);
  if (!flag) flag = evaluateTerm(w, &term, 0, at);
  for (int k = 0; k < 3 && !flag; k++) {
    if (f) flag = bodiesFormula(b, f, k, w->t, 6, xv, &value, by[k]);
    addOwnForce(w, &at[k], F[k]);
  }
  for (int n = 0; n < w->n && !flag; n++) {
    Direction *d = &w->direction[n];
    Change c[3];
    sunrealtype dF[3] = {0, 0, 0};
    if ((f && movesFunctions(w, d)) || moves(d, force->param, 3))
      flag = differ(w, d, NULL, pointForceOf, &here, 3, dF);
    if (force->follows && d->moves) {
      toSpace(pose, b->param + force->param, own);
      cross3(d->body[pair->side[1].body].turn, own, turned), add3(1, turned, dF);
    }
    for (int k = 0; k < 3; k++) changeOf(w, d, &at[k], &c[k]);
    for (int k = 0; k < 9; k++) dF[k / 3] += Fx[k] * c[k % 3].s + Fv[k] * c[k % 3].rate;
    for (int i = 0; f && i < f->ninputs; i++) {
      Change of;
      if (!changeOf(w, d, &input[i], &of)) continue;
      for (int k = 0; k < 3; k++)
        dF[k] += by[k][7 + i] * f->input[i].term.coef * (f->input[i].level ? of.rate : of.s);
    }
    for (int k = 0; k < 3; k++) {
      addForce(w, d, &at[k], F[k], dF[k], &c[k]);
      addPower(w, d, dF[k] * v[k] + F[k] * c[k].rate);
    }
  }
  return flag;
}

/* f [13]: forces on both bodies, of the ground 0, and their power */
static int wrenchOf(const Work *w, const void *element, sunrealtype *f) {
  const PointForce *force = element;
  const Pair *pair        = &w->b->pair[force->pair];
  WrenchState at;
  memset(f, 0, 12 * sizeof *f);
  for (int k = 0; k < 2; k++)
    if (pair->side[k].body != GROUND)
      memcpy(f + 6 * k, w->force + 6 * pair->side[k].body, 6 * sizeof *f);
  if (bodiesAddWrench(w->b, force, w->force) || bodiesWrench(w->b, force, &at)) return 1;
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < 6 && pair->side[k].body != GROUND; i++) {
      sunrealtype *own = &w->force[6 * pair->side[k].body + i], before = f[6 * k + i];
      f[6 * k + i] = *own - before;
      *own         = before;
    }
  f[12] = at.power;
  return 0;
}

static int addWrench(Work *w, const PointForce *force) {
  const Pair *pair = &w->b->pair[force->pair];
  sunrealtype f[13];
  int flag = 0;
  for (int n = 0; n < w->n && !flag; n++) {
    Direction *d = &w->direction[n];
    Bodies all   = {0};
    for (int k = 0; k < 2; k++) takeBody(w->b, pair->side[k].body, &all);
    flag = differ(w, d, &all, wrenchOf, force, 13, f);
    for (int i = 0; i < 12; i++)
      if (pair->side[i / 6].body != GROUND) d->df[6 * pair->side[i / 6].body + i % 6] += f[i];
    addPower(w, d, f[12]);
  }
  return flag ? flag : bodiesAddWrench(w->b, force, w->force);
}

/* ------------------------------------------------------------------------------------ masses -- */

/* N -= J alpha + w x J v for the numbers p of a body, or for their slopes, in the axes of the body; in the plane there is no second part. */
static void addSpin(const Mechanism *b, int body, const sunrealtype *p, const sunrealtype *alpha,
                    const sunrealtype *w, const sunrealtype *v, sunrealtype *N) {
  sunrealtype x[3], y[3];
  bodiesTimesInertia(&b->body[body], p, alpha, x), add3(-1, x, N);
  bodiesTimesInertia(&b->body[body], p, v, x), cross3(w, x, y);
  if (b->space.dimension == 3) add3(-1, y, N);
}

/* The weight of a body, less what its acceleration takes: F = m (g - a), N = -(J alpha + w x J w) */
static void addMass(Work *w, int body) {
  static const sunrealtype zero[3] = {0, 0, 0};
  const Mechanism *b               = w->b;
  const Pose *pose                 = &b->pose[body];
  const int at                     = b->body[body].param;
  const sunrealtype *p             = b->param + at;
  sunrealtype *F                   = w->force + 6 * body, omega[3], alpha[3];
  toBody(pose, pose->w, omega), toBody(pose, pose->alpha, alpha);
  add3(p[0], b->param, F), add3(-p[0], pose->acc, F);
  addSpin(b, body, p, alpha, omega, omega, F + 3);
  for (int n = 0; n < w->n; n++) {
    const Direction *d    = &w->direction[n];
    const Variation *by   = &d->body[body];
    const sunrealtype *dp = d->param + at;
    sunrealtype *df       = d->df + 6 * body, dw[3], dalpha[3];
    const int is_varied   = b->tree && d->moves;
    if (!is_varied && !moves(d, at, 7) && !moves(d, 0, 3)) continue;
    add3(dp[0], b->param, df), add3(-dp[0], pose->acc, df), add3(p[0], d->param, df);
    addSpin(b, body, dp, alpha, omega, omega, df + 3);
    if (!is_varied) continue;
    changeInBody(pose, by->turn, pose->w, by->w, dw);
    changeInBody(pose, by->turn, pose->alpha, by->alpha, dalpha);
    add3(-p[0], by->acc, df);
    addSpin(b, body, p, dalpha, dw, omega, df + 3);
    addSpin(b, body, p, zero, omega, dw, df + 3);
  }
}

/* --------------------------------------------------------------------------------- parameters -- */

/* The shifts of the sides of a pair. An axis a moves by turn x a, or the sides are not rigid. */
static void takeSides(const Mechanism *b, int pair, Direction *d) {
  static const sunrealtype rounding = SUN_RCONST(1e-9); /* of the slopes, which are differences */
  for (int s = 0; s < 2; s++) {
    sunrealtype slope[OF_SIDE] = {0};
    for (const Number *n = d->number; n < d->number + d->count; n++)
      if (n->of == (s ? OF_SIDE_B : OF_SIDE_A) && n->index == pair) slope[n->part] = n->slope;
    const Side *side = &b->pair[pair].side[s];
    Shift *shift     = &d->side[2 * pair + s];
    sunrealtype size = 0, off = 0, x[3];
    int rigid = 1;
    for (int k = 3; k < RIGID; k++) size = fmax(size, fabs(slope[k]));
    for (int k = 0; k < 3; k++)
      cross3(side->axis[k], slope + 3 + 3 * k, x), add3(SUN_RCONST(0.5), x, shift->turn);
    for (int k = 0; k < 3; k++) {
      cross3(shift->turn, side->axis[k], x);
      for (int i = 0; i < 3; i++) off = fmax(off, fabs(slope[3 + 3 * k + i] - x[i]));
    }
    cross3(shift->turn, side->point, x);
    for (int k = 0; k < 3; k++) shift->move[k] = slope[k] - x[k];
    for (int k = RIGID; k < OF_SIDE; k++) rigid &= slope[k] == 0;
    if (!rigid || off > rounding * size) d->shifts[pair] = ROUGH;
  }
}

/* count: of numbers, at most. Returns 0, or -1 if out of memory. */
static int takeRoom(const Mechanism *b, size_t count, Direction *d) {
  enum {
    OF_SHIFT     = sizeof(Shift) / sizeof(sunrealtype),
    OF_VARIATION = sizeof(Variation) / sizeof(sunrealtype),
    OF_VARIED    = sizeof(Varied) / sizeof(sunrealtype)
  };
  const size_t nb = (size_t)b->nbodies, np = (size_t)b->npairs,
               nn = b->tree ? (size_t)b->tree->nnodes : 0;
  sunrealtype *at = d->memory = calloc(count + (size_t)(b->nparams + b->nterms) + 2 * np * OF_SHIFT +
                                           nb * (OF_VARIATION + 6) + nn * OF_VARIED + 1,
                                       sizeof *at);
  d->number                   = malloc(count * sizeof *d->number);
  d->shifts                   = calloc(np + 1, 1);
  if (!at || !d->number || !d->shifts) return -1;
  d->base   = at, at += count;
  d->param  = at, at += b->nparams;
  d->coef   = at, at += b->nterms;
  d->df     = at, at += 6 * nb;
  d->side   = (Shift *)at, at += 2 * np * OF_SHIFT;
  d->body   = (Variation *)at, at += nb * OF_VARIATION;
  d->varied = (Varied *)at;
  return 0;
}

static int setDirection(const Mechanism *b, int parameter, Direction *d) {
  /* One element is differentiated at a time, which has few digits to lose, but may have a kink nearby: the end of a range, or the
   * deflection at which a wheel leaves the ground. The roundoff of differences is then 1e-12 of the element. */
  static const sunrealtype near = SUN_RCONST(1e-4);
  Number number;
  int all = 0;
  while (bodiesMovedNumber(b, parameter, all, &number)) all++;
  if (takeRoom(b, (size_t)all, d)) return -1;
  for (int i = 0; i < all; i++) {
    Number *own = &d->number[d->count];
    bodiesMovedNumber(b, parameter, i, own);
    if (own->slope == 0) continue;
    d->base[d->count++] = *own->at;
    if (own->of == OF_PARAMETERS) d->param[own->index] += own->slope;
    else if (own->of == OF_TERMS) d->coef[own->index] = own->slope;
    else if (own->of != OF_REST) d->moves = 1, d->shifts[own->index] = SHIFTED;
  }
  const sunrealtype size = fabs(b->param[parameter]);
  d->step                = near * (size > 0 ? size : 1);
  for (int i = 0; i < b->npairs; i++)
    if (d->shifts[i]) takeSides(b, i, d);
  if (b->tree && d->moves) treeVary(b, d->side, d->varied, d->body);
  return 0;
}

/* F: the forces on the bodies have changed by df. Returns 0, or -1 if out of memory. */
static int finishForces(const Work *w) {
  const Mechanism *b = w->b;
  const Space *s     = &b->space;
  const size_t nodes = b->tree ? (size_t)b->tree->nnodes : 0;
  Wrench *own        = malloc(((size_t)b->nbodies + 2 * nodes) * sizeof *own), *sum;
  if (!own) return -1;
  sum = own + b->nbodies;
  if (b->tree) treeSumForces(b, w->force, own, sum);
  for (int n = 0; n < w->n; n++) {
    Direction *d = &w->direction[n];
    if (b->tree) treePullChange(b, d->varied, d->body, own, sum, d->df, sum + nodes, d->F);
    for (int i = 0; i < b->nbodies && !b->tree; i++)
      for (int g = 0; g < 2; g++)
        for (int k = s->first[g]; k < s->last[g]; k++)
          d->F[bodiesColumn(s, i, g) + k - s->first[g]] += d->df[6 * i + 3 * g + k];
  }
  free(own);
  return 0;
}

/* Are there elastic ropes, whose power is that of contacts? */
static int hasElasticRopes(const Mechanism *b) {
  for (int i = 0; i < b->ncontacts; i++)
    if (b->contact[i].elastic != NONE && bodiesRow(b, b->joint[b->contact[i].joint].first)->rope)
      return 1;
  return 0;
}

static int addElements(Work *w) {
  const Mechanism *b = w->b;
  TermAt at[3];
  int flag = 0;
  for (int i = 0; i < b->nbodies; i++) addMass(w, i);
  for (int r = 0; r < b->nrows + b->nrolls && !flag; r++) {
    const Row *row = bodiesRow(b, r);
    const int n    = bodiesIsRowOff(b, row) ? 0 : bodiesComponents(b, row);
    for (int i = 0; i < n && !flag; i++) flag = addRow(w, r, i, at);
  }
  if (!flag) flag = addLaws(w);
  for (int i = 0; i < b->nforces && !flag; i++)
    flag =
        b->force[i].law != AT_A_POINT ? addWrench(w, &b->force[i]) : addPointForce(w, &b->force[i]);
  return flag;
}

int bodiesParametersJac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                        const sunrealtype *values, int n, const int *plist,
                        const CPMechColumns *out, void *bodies) {
  Mechanism *b = bodies;
  /* Friction depends on multipliers, and a balance on tensions of elastic ropes, which are contacts. */
  if (values != b->param || b->nfrictions > 0 || (b->balance && hasElasticRopes(b)))
    return CP_PARAMETERS_UNKNOWN;
  for (int k = 0; k < n; k++)
    if (plist[k] >= b->nparams && !bodiesMovesLatch(b, plist[k])) return CP_PARAMETERS_UNKNOWN;
  b->z = z;
  bodiesPoses(b, q, u, udot);
  Direction *direction = calloc((size_t)n, sizeof *direction);
  sunrealtype *memory  = calloc((size_t)(6 * b->nbodies), sizeof *memory);
  Work w               = {b, t, q, u, udot, lambda, direction, n, 0, memory};
  int flag             = !direction || !memory ? -1 : 0;
  for (int k = 0; k < n && !flag; k++) {
    Direction *d       = &direction[k];
    const size_t first = (size_t)k * out->stride;
    d->F = out->F + first, d->Z = out->Z ? out->Z + first : NULL;
    d->B = out->B ? out->B + first : NULL;
    d->p = out->p ? out->p + first : NULL, d->v = out->v ? out->v + first : NULL;
    flag = setDirection(b, plist[k], d);
    w.moves |= d->moves;
  }
  if (!flag) flag = addElements(&w);
  if (!flag) flag = finishForces(&w);
  for (int k = 0; k < n && b->nactivations > 0 && !flag; k++)
    bodiesActivations(b, NULL, NULL, direction[k].param, direction[k].Z);
  for (int k = 0; k < n && direction; k++)
    free(direction[k].memory), free(direction[k].number), free(direction[k].shifts);
  free(direction);
  free(memory);
  return flag;
}
