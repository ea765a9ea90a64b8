/* Parameters of a file as parameters of the mechanism, p_k, for gradients. All numbers x_i that a file's expressions make of them, masses,
 * lengths, placements, directions, starts, move with them along their tangents,
 *
 *   x_i = x_i(p0) + sum_k dx_i/dp_k (p_k - p0_k),
 *
 * so that a derivative with respect to p_k is that of the mechanism of the file, by the chain rule. dx_i/dp_k are differences of
 * sixth order of what the reader makes of the file, which includes all that it computes of its numbers. Functions become
 * f + sum_k df/dp_k (p_k - p0_k) in the same way. */
#include "following.h"

#include "cpodes/base/differences.h"
#include "files.h"
#include "formulas.h"
#include "language/language.h"
#include "polyhedra.h"
#include "sources.h"
#include "tree.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDES = 6, OF_PAIR = 2 * OF_SIDE, OF_BODY = 16 };

struct Follow_ {
  int first;         /* the index of p_0 among the parameters, which all come before it */
  int count, nnames; /* of numbers, of parameters */
  int nformulas;
  sunrealtype *base, *step; /* [nnames] p0, and the step of differences */
  int *number;              /* [count] the numbers that follow (numberOf) */
  sunrealtype *slope;       /* [count nnames] */
  CPFunction *f; /* [nformulas nnames SIDES 3] functions of the files with p_k - 3 e ... p_k + 3 e, or NULL */
};

/* Numbers are those of parameters, then of pairs, bodies, terms and laws. */
static int pairsEnd(const Mechanism *m, int first) { return first + OF_PAIR * m->npairs; }
static int numbersEnd(const Mechanism *m, int first) {
  return pairsEnd(m, first) + OF_BODY * m->nbodies + m->nterms + m->nlaws;
}

/* A joint that a latch has closed keeps its frame; where it is open again, that has followed the parameters. */
static Side *sideOf(const Mechanism *m, int pair, int b) {
  for (int i = 0; i < m->nreleases && m->latch && b; i++)
    if (m->latch[i].is_closed && m->latch[i].pair == pair) return &m->latch[i].open;
  return &m->pair[pair].side[b];
}

static Number placeOf(const Mechanism *m, int first, int i) {
  if (i < first) return (Number){.at = &m->param[i], .of = OF_PARAMETERS, .index = i};
  i -= first;
  if (i < OF_PAIR * m->npairs) {
    Pair *pair  = &m->pair[i / OF_PAIR];
    const int b = i % OF_PAIR / OF_SIDE, k = i % OF_SIDE;
    Side *side = sideOf(m, i / OF_PAIR, b);
    Solid *own = &pair->solid[b];
    return (Number){.at    = k < 3       ? &side->point[k]
                             : k < RIGID ? &side->axis[k / 3 - 1][k % 3]
                             : k < 15    ? &own->half[k - RIGID]
                                         : &own->skin,
                    .of    = k < RIGID && side != &pair->side[b] ? OF_REST
                             : b                                 ? OF_SIDE_B
                                                                 : OF_SIDE_A,
                    .index = i / OF_PAIR,
                    .part  = k};
  }
  i -= OF_PAIR * m->npairs;
  if (i < OF_BODY * m->nbodies) {
    Body *body  = &m->body[i / OF_BODY];
    const int k = i % OF_BODY;
    return (Number){.at = k < 3 ? &body->centre[k] : &body->guess[k - 3], .of = OF_REST};
  }
  i -= OF_BODY * m->nbodies;
  if (i < m->nterms) return (Number){.at = &m->term[i].coef, .of = OF_TERMS, .index = i};
  return (Number){.at = &m->law[i - m->nterms].start, .of = OF_REST};
}
static sunrealtype *numberOf(const Mechanism *m, int first, int i) {
  return placeOf(m, first, i).at;
}

/* The displacement of file s of the SIDES, in steps, and its weight in a difference with step 1 */
static int stepsOf(int s) { return s < 3 ? s - 3 : s - 2; }
static sunrealtype weightOf(int s) { return cpCentralWeight(cpSixthOrder, stepsOf(s)); }

/* Moves those of the numbers low ... end - 1 that follow, from these values of the parameters to those. */
static void moveNumbers(Mechanism *m, int low, int end, const sunrealtype *from,
                        const sunrealtype *to) {
  const Follow *f = m->follow;
  for (int i = 0; i < f->count; i++)
    for (int k = 0; k < f->nnames && f->number[i] >= low && f->number[i] < end; k++)
      *numberOf(m, f->first, f->number[i]) += f->slope[i * f->nnames + k] * (to[k] - from[k]);
}

void bodiesMove(Mechanism *m) {
  const Follow *f           = m->follow;
  const sunrealtype *target = m->param + f->first;
  const size_t size         = (size_t)f->nnames * sizeof *target;
  if (!memcmp(target, m->known, size)) return;
  moveNumbers(m, 0, numbersEnd(m, f->first), m->known, target);
  memcpy(m->known, target, size);
  if (m->tree) treeSetFrames(m, m->tree);
}

void bodiesTakeParameters(Mechanism *m, const Mechanism *from) {
  const Follow *f = m->follow;
  memcpy(m->param, from->param, (size_t)from->nparams * sizeof *m->param);
  if (!f) return;
  moveNumbers(m, f->first, numbersEnd(m, f->first), m->known, from->known);
  memcpy(m->known, from->known, (size_t)f->nnames * sizeof *m->known);
}

void bodiesFollowBuilt(Mechanism *m) {
  const int first = m->follow->first;
  moveNumbers(m, first, pairsEnd(m, first), m->built_known, m->known);
}

int bodiesFollowers(const Mechanism *m) { return m->follow ? m->follow->nnames : 0; }
int bodiesFirstFollower(const Mechanism *m) { return m->follow ? m->follow->first : m->nparams; }

/* Of number `part` of those that move latch l: the coordinates of the point, or of the axes, which turn. The first one is the number itself. */
static int movedByLatch(const Mechanism *m, int l, int part, int i, Number *n) {
  const Latch *latch = &m->latch[l];
  Side *side         = &m->pair[latch->pair].side[1];
  if (i > 0 && (!latch->is_closed || i > (part < 3 ? 1 : 9))) return 0;
  *n = (Number){.at = &m->moved[OF_LATCH * l + part], .slope = 1, .of = OF_REST};
  if (i == 0) return 1;
  n->of = OF_SIDE_B, n->index = latch->pair, n->part = part < 3 ? part : 3 + (i - 1);
  n->at = part < 3 ? &side->point[part] : &side->axis[(i - 1) / 3][(i - 1) % 3];
  if (part < 3) return 1;
  sunrealtype about[3] = {part == 3, part == 4, part == 5}, x[3];
  cross3(about, latch->closed.axis[(i - 1) / 3], x);
  n->slope = x[(i - 1) % 3];
  return 1;
}

int bodiesMovesLatch(const Mechanism *m, int parameter) {
  const int first = m->latch ? (int)(m->moved - m->param) : 0;
  return m->latch && parameter >= first && parameter < first + OF_LATCH * m->nreleases;
}

int bodiesMovedNumber(const Mechanism *m, int parameter, int i, Number *n) {
  if (bodiesMovesLatch(m, parameter)) {
    const int moves = parameter - (int)(m->moved - m->param);
    return movedByLatch(m, moves / OF_LATCH, moves % OF_LATCH, i, n);
  }
  const Follow *f = m->follow;
  const int k     = f && parameter >= f->first ? parameter - f->first : NONE;
  if (i > 0 && (k == NONE || i > f->count)) return 0;
  *n       = placeOf(m, i ? f->first : m->nparams, i ? f->number[i - 1] : parameter);
  n->slope = i ? f->slope[(i - 1) * f->nnames + k] : 1;
  return 1;
}

int bodiesAddMoved(const Mechanism *m, int formula, int k, const sunrealtype *x,
                   const Pieces *pieces, sunrealtype *value, sunrealtype *g, sunrealtype *H) {
  /* the pieces of the file's function */
  const Pieces held = {pieces ? pieces->held : NULL, NULL,
                       pieces && pieces->inside ? pieces->inside + 2 * m->nplaces : NULL, 1};
  const Follow *f   = m->follow;
  sunrealtype own, slope[CP_MOST_VARIABLES], second[CP_MOST_VARIABLES * CP_MOST_VARIABLES];
  for (int n = 0; n < f->nnames; n++) {
    const sunrealtype moved = m->param[f->first + n] - f->base[n];
    for (int s = 0; s < SIDES && moved != 0; s++) {
      const CPFunction at      = f->f[((formula * f->nnames + n) * SIDES + s) * 3 + k];
      const sunrealtype weight = weightOf(s) * moved / f->step[n];
      if (!at) continue;
      const int flag = cpFunctionEvaluate(at, x, pieces ? &held : NULL, &own, g ? slope : NULL,
                                          H ? second : NULL),
                nx   = cpFunctionCount(at);
      if (flag) return flag;
      *value += weight * own;
      for (int i = 0; held.inside && i < 2 * cpFunctionPieces(at); i++)
        if (isfinite(pieces->inside[i]) && isfinite(held.inside[i]))
          pieces->inside[i] += weight * held.inside[i];
      for (int i = 0; i < nx && g; i++) g[i] += weight * slope[i];
      for (int i = 0; i < nx * nx && H; i++) H[i] += weight * second[i];
    }
  }
  return 0;
}

/* ---- life cycle ---- */

void bodiesFreeFollow(Follow **address) {
  Follow *f = *address;
  if (!f) return;
  for (int i = 0; i < f->nformulas * f->nnames * SIDES * 3 && f->f; i++) CPFunctionFree(&f->f[i]);
  free(f->base), free(f->step), free(f->number), free(f->slope), free(f->f);
  free(f);
  *address = NULL;
}

int bodiesCopyFollow(Follow **address) {
  const Follow *from = *address;
  if (!from) return 0;
  const size_t functions = (size_t)(from->nformulas * from->nnames * SIDES * 3);
  Follow *f              = malloc(sizeof *f);
  *address               = f;
  if (!f) return 1;
  *f         = *from;
  int failed = bodiesCopyArray(&f->base, (size_t)f->nnames * sizeof *f->base) +
               bodiesCopyArray(&f->step, (size_t)f->nnames * sizeof *f->step) +
               bodiesCopyArray(&f->number, (size_t)f->count * sizeof *f->number) +
               bodiesCopyArray(&f->slope, (size_t)(f->count * f->nnames) * sizeof *f->slope) +
               bodiesCopyArray(&f->f, functions * sizeof *f->f);
  for (size_t i = 0; i < functions && f->f; i++) cpFunctionShare(f->f[i]);
  if (failed) bodiesFreeFollow(address);
  return failed;
}

/* ---- reading ---- */

static int wrong(char *message, const char *path, const char *name, const char *rule) {
  snprintf(message, TEXT, "%.200s: derivatives with respect to the parameter \"%.60s\": %s", path,
           name, rule);
  return 1;
}

/* Have two functions of one variable the same values at some places? */
static int areEqual(CPFunction f, CPFunction g) {
  if (!f || !g) return f == g;
  for (int k = -8; k <= 8; k++) {
    const sunrealtype x = SUN_RCONST(0.37) * k;
    sunrealtype v = 0, w = 0;
    if (CPFunctionEvaluate(f, &x, &v, NULL, NULL) != CPFunctionEvaluate(g, &x, &w, NULL, NULL) ||
        v != w)
      return 0;
  }
  return 1;
}

/* Are the motions of joints by functions, and functions of their coordinates, the same? They do not follow. */
static int moveAlike(const Mechanism *a, const Mechanism *b) {
  for (int i = 0; i < a->nterms; i++) {
    const Formula *f = a->term[i].f, *g = b->term[i].f;
    if (a->term[i].m.kind == OWN && !areEqual(f ? f->f[0] : NULL, g ? g->f[0] : NULL)) return 0;
  }
  for (int i = 0; i < a->njoints; i++) {
    const Custom *one = a->joint[i].custom, *other = b->joint[i].custom;
    if (!one || !other) {
      if (one != other) return 0;
      continue;
    }
    if (one->nmotions != other->nmotions || one->n != other->n) return 0;
    for (int k = 0; k < one->nmotions; k++) {
      const JointMotion *m = &one->motion[k], *n = &other->motion[k];
      if (m->about != n->about || m->of != n->of || m->ratio != n->ratio ||
          m->offset != n->offset || memcmp(m->axis, n->axis, sizeof m->axis) ||
          !areEqual(m->f ? m->f->f[0] : NULL, n->f ? n->f->f[0] : NULL))
        return 0;
    }
  }
  return 1;
}

/* Do both mechanisms have the same elements? */
static int areAlike(const Mechanism *a, const Mechanism *b) {
  int same = a->nparams == b->nparams && a->npairs == b->npairs && a->nbodies == b->nbodies &&
             a->nrows == b->nrows && a->nterms == b->nterms && a->nrolls == b->nrolls &&
             a->nlaws == b->nlaws && a->nforces == b->nforces && a->ncontacts == b->ncontacts &&
             a->nmeetings == b->nmeetings && a->ntext == b->ntext &&
             !memcmp(a->text, b->text, (size_t)a->ntext);
  for (int i = 0; i < a->npairs && same; i++) same = a->pair[i].turns == b->pair[i].turns;
  for (int i = 0; i < a->nrows && same; i++) same = a->row[i].nterms == b->row[i].nterms;
  return same;
}

/* The name of a shape whose features touch (touching.c) and which has another size in `moved`, or NULL: its contacts have no numbers that
 * could follow. */
static const char *featuresThatMove(const Mechanism *m, const Mechanism *moved) {
  for (int i = 0; i < 2 * m->nmeetings; i++) {
    const int shape  = m->meeting[i / 2].shape[i % 2];
    const Shape *own = &m->shape[shape], *other = &moved->shape[shape];
    int same = !memcmp(own->half, other->half, sizeof own->half);
    if (own->mesh && same)
      same = own->mesh->is.nvertices == other->mesh->is.nvertices &&
             !memcmp(own->mesh->is.vertex, other->mesh->is.vertex,
                     (size_t)own->mesh->is.nvertices * sizeof *own->mesh->is.vertex);
    if (!same) return m->text + own->name;
  }
  return NULL;
}

/* slope [all nnames]: column k <- the differences of all numbers, of which none may jump or have a kink. The first differences of
 * sixth and of second order are then 0.62 and 0.5 times the jump over e; second differences at e and at 3 e, whose ratio is 9 for a
 * smooth number, have the ratio 3 at a kink. Roundoff of points and axes is that of the largest of them, as they are differences. */
static int differ(const Mechanism *m, CPBodies *at, int first, int all, sunrealtype e, int nnames,
                  int k, sunrealtype *slope) {
  static const sunrealtype apart = SUN_RCONST(0.1), roundoff = 100 * DBL_EPSILON;
  sunrealtype largest = 1; /* of axes */
  for (int i = first; i < all; i++) largest = fmax(largest, fabs(*numberOf(m, first, i)));
  for (int i = 0; i < all; i++) {
    sunrealtype x[SIDES], sum = 0;
    for (int s = 0; s < SIDES; s++) {
      x[s] = *numberOf(&at[s]->m, first, i);
      sum += weightOf(s) * x[s] / e;
    }
    const sunrealtype own = *numberOf(m, first, i), second = (x[3] - x[2]) / (2 * e);
    const sunrealtype noise = roundoff * (i < first ? fabs(own) : largest) / e;
    const sunrealtype size = fmax(fabs(sum), fabs(second)), bend = fabs(x[2] - 2 * own + x[3]);
    if (!(fabs(sum - second) <= apart * size + noise) ||
        (bend > noise * e && fabs(x[0] - 2 * own + x[5]) < 6 * bend))
      return 1;
    slope[i * nnames + k] = size > noise ? sum : 0;
  }
  return 0;
}

/* Takes the functions of one file. */
static int takeFunctions(const Mechanism *m, const Mechanism *moved, Follow *f, int k, int s) {
  const Formula *own = bodiesFirstFormula(m), *other = bodiesFirstFormula(moved);
  for (; own && other; own = own->next, other = other->next)
    for (int c = 0; c < 3; c++) {
      if (!own->f[c] != !other->f[c] || own->ninputs != other->ninputs) return 1;
      f->f[((own->number * f->nnames + k) * SIDES + s) * 3 + c] = cpFunctionShare(other->f[c]);
    }
  return own != NULL || other != NULL;
}

/* Reads the file with the parameter k, `name`, moved to the SIDES; at [SIDES]: out, to be freed in any case. */
static int readMoved(CPBodies b, const FileText *file, const char *name, Follow *f, int k,
                     CPBodies *at, char *message) {
  for (int s = 0; s < SIDES; s++) {
    Run run = {.parameters = file->parameters, .moved = name, .by = stepsOf(s) * f->step[k]};
    if (!(at[s] = bodiesReadText(file, &run, message))) return 1;
    at[s]->formulation = b->formulation;
    if (!areAlike(&b->m, &at[s]->m) || takeFunctions(&b->m, &at[s]->m, f, k, s))
      return wrong(message, file->path, name, "it changes which elements there are");
    if (!moveAlike(&b->m, &at[s]->m))
      return wrong(message, file->path, name, "motions of joints by functions depend on it");
    const char *shape = featuresThatMove(&b->m, &at[s]->m);
    if (shape) {
      char why[200]; /* Names longer than 100 characters are refused. */
      snprintf(why, sizeof why,
               "the size of \"%.100s\" depends on it, a shape whose vertices and edges touch",
               shape);
      return wrong(message, file->path, name, why);
    }
  }
  return 0;
}

/* Keeps the numbers that follow. */
static int keep(Follow *f, const sunrealtype *slope, int all) {
  f->number = malloc(((size_t)all + 1) * sizeof *f->number);
  f->slope  = malloc(((size_t)(all * f->nnames) + 1) * sizeof *f->slope);
  if (!f->number || !f->slope) return 1;
  for (int i = 0; i < all; i++) {
    int follows = 0;
    for (int k = 0; k < f->nnames; k++) follows |= slope[i * f->nnames + k] != 0;
    if (!follows) continue;
    memcpy(f->slope + f->count * f->nnames, slope + i * f->nnames,
           (size_t)f->nnames * sizeof *slope);
    f->number[f->count++] = i;
  }
  return 0;
}

/* The parameter is the newest one, of this name. */
static int takeName(CPBodies b, const char *name, sunrealtype value) {
  const int length = (int)strlen(name) + 1;
  if (ROOM(b->m.text, b->m.ntext, length) || ROOM(b->m.param, b->m.nparams, 1) ||
      ROOM(b->label, b->m.nparams, 1))
    return 1;
  memcpy(b->m.text + b->m.ntext, name, (size_t)length);
  bodiesTakeParam(b, b->m.ntext, NULL, value);
  b->m.ntext += length;
  return 0;
}

/* Adds the parameters, of these names. */
static int takeNames(CPBodies b, const char *names, const Follow *f) {
  char name[TEXT];
  for (int k = 0; k < f->nnames; k++) {
    names = bodiesNextWord(names, name);
    if (takeName(b, name, f->base[k])) return 1;
    b->m.known[k] = f->base[k];
  }
  return 0;
}

static int isTwice(const char *names, const char *name) {
  char other[TEXT];
  int count = 0;
  for (names = bodiesNextWord(names, other); *other; names = bodiesNextWord(names, other))
    count += !strcmp(name, other);
  return count > 1;
}

int bodiesFollowFile(CPBodies b, const FileText *file, const char *names, char *message) {
  Mechanism *m    = &b->m;
  const int first = m->nparams, all = numbersEnd(m, first);
  Follow *f = m->follow = calloc(1, sizeof *f);
  CPBodies at[SIDES + 1]; /* the last one tells the value */
  sunrealtype *slope = NULL;
  const char *rest;
  char name[TEXT] = "";
  if (!f) return wrong(message, file->path, names, "no memory");
  for (rest = bodiesNextWord(names, name); *name; rest = bodiesNextWord(rest, name)) f->nnames++;
  for (const Formula *one = bodiesFirstFormula(m); one; one = one->next) f->nformulas++;
  const size_t n = (size_t)f->nnames;
  f->first       = first;
  f->base        = calloc(n + 1, sizeof *f->base);
  f->step        = calloc(n + 1, sizeof *f->step);
  f->f           = calloc((size_t)f->nformulas * n * SIDES * 3 + 1, sizeof *f->f);
  slope          = calloc((size_t)all * n + 1, sizeof *slope);
  m->known       = calloc(n + 1, sizeof *m->known);
  int failed     = !f->base || !f->step || !f->f || !slope || !m->known
                       ? wrong(message, file->path, names, "no memory")
                       : 0;
  rest           = names;
  for (int k = 0; !failed && k < f->nnames; k++) {
    Run run = {.parameters = file->parameters, .moved = name};
    rest    = bodiesNextWord(rest, name);
    memset(at, 0, sizeof at);
    if (isTwice(names, name)) failed = wrong(message, file->path, name, "it is named twice");
    else failed = !(at[SIDES] = bodiesReadText(file, &run, message));
    const sunrealtype size = run.value != 0 ? fabs(run.value) : 1;
    f->base[k]             = run.value;
    f->step[k] = size * pow(DBL_EPSILON, 1 / SUN_RCONST(7.0)); /* e^6 = DBL_EPSILON / e */
    if (!failed) failed = readMoved(b, file, name, f, k, at, message);
    if (!failed && differ(m, at, first, all, f->step[k], f->nnames, k, slope))
      failed = wrong(message, file->path, name,
                     "a number that depends on it jumps or has a kink near its value");
    for (int s = 0; s <= SIDES; s++) CPBodiesFree(&at[s]);
  }
  if (!failed && (keep(f, slope, all) || takeNames(b, names, f)))
    failed = wrong(message, file->path, name, "no memory");
  free(slope);
  return failed;
}
