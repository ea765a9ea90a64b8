/* Loops that are redundant but for rounding, and redundant rows that get offsets */
#include "assembly_impl.h"
#include "following.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------------- redundant rows -- */

void bodiesSwitchAll(Assembly *a) {
  bodiesWithoutContacts(a->b, a->mask);
  CPMechSetActive(a->trial, a->mask);
}

void bodiesMoveAlong(const Assembly *a, N_Vector q, const sunrealtype *w, sunrealtype h, N_Vector x) {
  const Mechanism *b = a->b;
  const Space *s     = &b->space;
  N_VScale(1, q, x);
  for (int i = 0; i < b->nbodies; i++) {
    sunrealtype *y       = positionsOf(x) + s->nq * i;
    const sunrealtype *v = w + s->nu * i;
    for (int k = 0; k < s->last[0]; k++) y[k] += h * v[k];
    if (s->dimension == 2) {
      y[2] += h * v[2];
      continue;
    }
    const sunrealtype e[4] = {y[3], y[4], y[5], y[6]}, *o = v + 3;
    y[3] -= h / 2 * (e[1] * o[0] + e[2] * o[1] + e[3] * o[2]);
    y[4] += h / 2 * (e[0] * o[0] + e[2] * o[2] - e[3] * o[1]);
    y[5] += h / 2 * (e[0] * o[1] + e[3] * o[0] - e[1] * o[2]);
    y[6] += h / 2 * (e[0] * o[2] + e[1] * o[1] - e[2] * o[0]);
  }
}

/* Makes velocities w at q possible and the largest one 1, in units of the extent or rad. Returns 1, or 0 if
 * there are none, or the projection fails. */
static int possible(const Assembly *a, N_Vector q, sunrealtype *w) {
  const Mechanism *b    = a->b;
  const sunindextype nu = (sunindextype)b->nbodies * b->space.nu;
  sunrealtype largest   = 0;
  if (CPMechProject(a->trial, CP_TANGENT, a->t, q, w)) return 0;
  for (sunindextype j = 0; j < nu; j++)
    largest = fmax(largest, fabs(w[j]) / (j % b->space.nu < b->space.last[0] ? a->extent : 1));
  for (sunindextype j = 0; j < nu && largest > 0; j++) w[j] /= largest;
  return largest > SUN_RCONST(1e-9);
}

int bodiesAnyVelocity(const Assembly *a, N_Vector q, unsigned *state, sunrealtype *w) {
  const Mechanism *b = a->b;
  for (sunindextype j = 0; j < (sunindextype)b->nbodies * b->space.nu; j++) {
    w[j] = uniform(state);
    if (j % b->space.nu < b->space.last[0]) w[j] *= a->extent;
  }
  return possible(a, q, w);
}

void bodiesTellMoving(Mechanism *b, sunrealtype part, char *text, size_t length) {
  enum { MOST = 8 };
  static const sunrealtype still = SUN_RCONST(1e-6);
  sunrealtype most               = 0;
  int listed                     = 0;
  for (int list = 0; list < 2; list++) /* the largest rate, then the names */
    for (int i = 0; i < b->njoints && listed <= MOST; i++) {
      sunrealtype rate = 0;
      Term term;
      for (int k = 0; !bodiesCoordinateTerm(b, i, k, &term); k++) {
        Jet jet;
        bodiesTermJet(b, &term, VALUES, &jet);
        rate = fmax(rate, fabs(jet.rate));
      }
      if (list == 0) most = fmax(most, rate);
      else if (rate > fmax(still, part) * most) {
        const size_t used = strlen(text);
        const char *name  = listed == MOST ? "..." : b->text + b->joint[i].name;
        snprintf(text + used, length - used, "%s%.40s", listed++ ? ", " : "", name);
      }
    }
}

/* Rows at smaller angles with the others are dependent but for rounding. */
static const sunrealtype narrow = SUN_RCONST(1e-4);

static int isDrive(const Mechanism *b, int joint) {
  return bodiesIsCoupling(b, joint) && b->row[b->joint[joint].first].drive != NONE;
}

/* Marks all rows but those of contacts and drives. */
static void maskJoints(Assembly *a) {
  bodiesWithoutContacts(a->b, a->mask);
  for (int i = 0; i < a->b->njoints; i++)
    if (isDrive(a->b, i)) bodiesMaskJoint(a->b, i, 0, a->mask);
}

/* Switches them on, and the others off. */
static void switchJoints(Assembly *a) {
  maskJoints(a);
  CPMechSetActive(a->trial, a->mask);
}

/* Examines loops at a->x, and switches rows off that are narrow there, and drives. Returns as
 * bodiesLoopsAt. */
static int examine(Assembly *a, Loops l, sunrealtype below, sunrealtype *sine) {
  maskJoints(a);
  if (bodiesPositionRows(a, a->x, a->p)) return 0;
  const int count = bodiesLoopsAt(l, a->t, positionsOf(a->x), a->p, below, a->mask, sine);
  CPMechSetActive(a->trial, a->mask);
  return count;
}

int bodiesCountNarrow(Assembly *a, Loops l, sunrealtype part) {
  sunrealtype sine;
  const int count = examine(a, l, part * narrow, &sine);
  bodiesForgetEquations(l, 0);
  return count;
}

sunrealtype bodiesOpenBy(Assembly *a, int drives) {
  const Mechanism *b = a->b;
  if (drives) bodiesWithoutContacts(b, a->mask);
  else maskJoints(a);
  if (bodiesPositionRows(a, a->x, a->p)) return INFINITY;
  for (int i = 0; i < b->np; i++) a->p[i] *= a->mask[i];
  return largestOf(a->p, b->np) / a->extent;
}

int bodiesCloseOthers(Assembly *a, Loops l) {
  enum { PASSES = 3 };
  static const sunrealtype factor = 100, most = SUN_RCONST(0.05);
  sunrealtype sine;
  int closed = 1;
  for (int pass = 0; pass < PASSES && closed > 0; pass++) {
    const sunrealtype open = bodiesOpenBy(a, 0);
    if (isinf(open)) return 0;
    const int count = examine(a, l, fmin(most, fmax(narrow, factor * open)), &sine);
    bodiesForgetEquations(l, 0);
    closed = count < 0 ? count : bodiesCloseRows(a, AT_REST, 0);
  }
  return closed;
}

/* Looks for a singular position next to a->x, where rows are at small angles with others. There the gradients of these
 * rows, without their components along the other rows, vanish, but for rounding: a->x moves there by Gauss and Newton,
 * along w and at random, with the other rows closed. If these rows miss by no more than rounding, the loop passes through that
 * position, and their equations are added. is_start: 1 if it must be as near as roundoff; w [3 nu]: a motion, room; at: out, that
 * position; sine: out, of the rows there. Returns 1 if equations are added, 0, or CP_MEM_FAIL. */
static int collectSingular(Assembly *a, Loops l, int is_start, sunrealtype *w, N_Vector at,
                           sunrealtype *sine) {
  enum { PASSES = 10 };
  static const sunrealtype h = SUN_RCONST(1e-5), far = SUN_RCONST(0.5);
  const sunrealtype near = is_start ? SUN_RCONST(1e-13) : SUN_RCONST(1e-8);
  const size_t nu        = (size_t)a->b->nbodies * (size_t)a->b->space.nu;
  const int first        = bodiesEquations(l);
  sunrealtype y[2], *v = w + nu, *turn = v + nu;
  unsigned state = 1;
  int count = examine(a, l, bodiesSharp, sine), found = 0;
  for (int pass = 0; pass < PASSES && count > 0; pass++) {
    bodiesForgetEquations(l, first);
    if ((count = bodiesCloseRows(a, AT_REST, 0)) <= 0) break;
    N_VScale(1, a->x, at);
    if (!possible(a, at, w) || !bodiesAnyVelocity(a, at, &state, v)) break;
    for (int k = 0; k < 3 && count > 0; k++) {
      if (k) bodiesMoveAlong(a, at, k == 1 ? w : v, h, a->x);
      count = bodiesPositionRows(a, a->x, a->p)
                  ? 0
                  : bodiesLoopsAt(l, a->t, positionsOf(a->x), a->p, 0, a->mask, k ? y : sine);
    }
    if (count <= 0 || !bodiesTurn(l, first, h, w, y) || !(hypot(y[0], y[1]) < far)) break;
    found = *sine < narrow && bodiesOpen(l, first) < largest_offset && hypot(y[0], y[1]) < near;
    if (found) break;
    for (size_t j = 0; j < nu; j++) turn[j] = y[0] * w[j] + y[1] * v[j];
    bodiesMoveAlong(a, at, turn, 1, a->x);
  }
  if (!found) bodiesForgetEquations(l, first);
  return count < 0 ? count : found;
}

/* Looks for a position beside x0, which may be singular, with fewer narrow rows, but as many as possible, and others at
 * large angles. x0: out, that position. room: a vector. Returns 1, 0 or CP_MEM_FAIL. */
static int leaveSingular(Assembly *a, Loops l, N_Vector x0, sunrealtype *w, N_Vector room) {
  enum { TRIALS = 12 };
  static const sunrealtype distance = SUN_RCONST(0.4);
  unsigned state                    = 1;
  sunrealtype sine, clear = bodiesSharp / 10;
  N_VScale(1, x0, a->x);
  const int singular = examine(a, l, narrow, &sine);
  int most           = 0;
  for (int trial = 0; trial < TRIALS; trial++) {
    N_VScale(1, x0, a->x);
    int here = examine(a, l, bodiesSharp, &sine);
    if (here > 0) here = bodiesCloseRows(a, AT_REST, 0);
    if (here < 0) return here;
    N_VScale(1, a->x, a->keep);
    if (here == 0 || !bodiesAnyVelocity(a, a->keep, &state, w)) return 0;
    bodiesMoveAlong(a, a->keep, w, distance, a->x);
    if ((here = bodiesCloseOthers(a, l)) > 0) here = examine(a, l, narrow, &sine);
    bodiesForgetEquations(l, 0);
    if (here < 0) return here;
    if (here == 0 || here < most || (singular > 0 && here >= singular) || bodiesClear(l) < clear)
      continue;
    N_VScale(1, a->x, room);
    most  = here;
    clear = bodiesClear(l);
  }
  if (most > 0) N_VScale(1, room, x0);
  return most > 0;
}

/* Collects equations in positions along a motion of the loops from x0 on, in both directions. Rows at narrow
 * angles only in a singular position have none. Returns 1, 0 if there is nothing to mend, or CP_MEM_FAIL. near: out, 1
 * if x0 may be singular. */
static int collect(Assembly *a, Loops l, N_Vector x0, sunrealtype exact, sunrealtype *w,
                   N_Vector at, int *near) {
  enum { STOPS = 40 };
  static const sunrealtype step = SUN_RCONST(0.15);
  const size_t nu               = (size_t)a->b->nbodies * (size_t)a->b->space.nu;
  unsigned state                = 1;
  sunrealtype sine;
  int regular = 0;
  bodiesForgetEquations(l, 0);
  N_VScale(1, x0, a->x);
  const int count = examine(a, l, narrow, &sine);
  bodiesForgetEquations(l, 0);
  *near = count == 0 && bodiesClear(l) < bodiesSharp;
  if (count <= 0 || !(sine > exact)) return count < 0 ? count : 0;
  int closed = bodiesCloseRows(a, AT_REST, 0);
  if (closed <= 0) return closed;
  *near = 1;
  if ((closed = examine(a, l, narrow, &sine)) != count) return closed < 0 ? closed : 0;
  N_VScale(1, a->x, a->probe);
  for (int sign = 1; sign >= -1; sign -= 2) {
    N_VScale(1, a->probe, a->x);
    if (sign < 0) {
      const int first = bodiesEquations(l);
      if ((closed = examine(a, l, narrow, &sine)) < 0) return closed;
      bodiesForgetEquations(l, first);
    }
    int free = sign > 0 ? bodiesAnyVelocity(a, a->x, &state, w) : 1;
    if (sign > 0) memcpy(w + nu, w, nu * sizeof *w);
    for (size_t j = 0; j < nu && sign < 0; j++) w[j] = -w[j + nu];
    for (int stop = 0; stop < STOPS && free; stop++) {
      const int first = bodiesEquations(l);
      N_VScale(1, a->x, a->keep);
      bodiesMoveAlong(a, a->keep, w, step, a->x);
      if ((closed = bodiesCloseRows(a, AT_REST, 0)) < 0) return closed;
      if (closed == 0) break;
      const int here = examine(a, l, narrow, &sine);
      if (here < 0) return here;
      if (here != count) bodiesForgetEquations(l, first);
      if (here != count || bodiesClear(l) < bodiesSharp) {
        N_VScale(1, a->x, a->keep);
        memcpy(w + 2 * nu, w, nu * sizeof *w);
        const int found = collectSingular(a, l, 0, w + 2 * nu, at, &sine), last = bodiesEquations(l);
        if (found < 0 || (here < count && found == 0)) return found;
        if (here != count) break;
        N_VScale(1, a->keep, a->x);
        if (examine(a, l, narrow, &sine) < 0) return CP_MEM_FAIL;
        bodiesForgetEquations(l, last);
      }
      regular++;
      free = possible(a, a->x, w);
    }
  }
  if (regular > 0) a->redundant = count;
  return regular > 0;
}

/* The largest motion of a frame, as a part of the extent or in rad. worst: out, its joint. */
static sunrealtype largestMotion(const Assembly *a, const sunrealtype *move, int *worst) {
  sunrealtype most = 0;
  for (int i = 0; i < a->b->njoints; i++) {
    const sunrealtype size = fmax(length3(move + 6 * i) / a->extent, length3(move + 6 * i + 3));
    if (size > most || !isfinite(size)) most = size, *worst = i;
  }
  return most;
}

void bodiesResetOffsets(Mechanism *b) {
  memset(b->shift, 0, (size_t)(b->np + 6 * b->njoints) * sizeof *b->shift);
  memcpy(b->pair, b->built, (size_t)b->npairs * sizeof *b->pair);
  if (b->follow) bodiesFollowBuilt(b);
}

/* Says by how much frames of the loop of joint `worst` have been moved or, if like is NULL, would have to be. like: what the loops are, but
 * for rounding */
static void tellMotion(Assembly *a, Loops l, int worst, const char *like) {
  Mechanism *b         = a->b;
  const sunrealtype *x = b->shift + b->np + 6 * worst;
  const char *noun = bodiesNoun(b, worst), *name = b->text + b->joint[worst].name;
  char line[TEXT], joints[220];
  bodiesTellLoop(l, worst, joints, sizeof joints);
  if (like) {
    snprintf(line, sizeof line,
             "loops are %s but for rounding: frames of their joints have been moved so that they "
             "fit, at most that of %s \"%.80s\", by %.2g m and %.2g rad",
             like, noun, name, (double)length3(x), (double)length3(x + 3));
  } else {
    snprintf(line, sizeof line,
             "the loop of joints %s is redundant but for more than rounding, and may be rigid: the "
             "frame of %s \"%.80s\" would have to be moved by %.2g m and %.2g rad; the limits are "
             "%.2g m and %.2g rad",
             joints, noun, name, (double)length3(x), (double)length3(x + 3),
             (double)(largest_offset * a->extent), (double)largest_offset);
    memcpy(a->coarse, line, sizeof line);
  }
  bodiesNote(b, line);
}

int bodiesMendLoops(Assembly *a, Closed how) {
  enum { ROUNDS = 6 };
  /* of least squares: well above the errors of the equations, whose singular values would count as motions else */
  static const sunrealtype damping = SUN_RCONST(1e-5), settled = SUN_RCONST(1e-10);
  /* Where the other rows are closed, rows that are exactly dependent are at angles of some 1e-16. */
  static const sunrealtype roundoff = SUN_RCONST(1e-13);
  Mechanism *b                      = a->b;
  const size_t n = 6 * (size_t)b->njoints, nu = (size_t)b->nbodies * (size_t)b->space.nu;
  Loops l;
  if (bodiesFindLoops(a->model, b, a->mask, a->extent, &l)) return CP_MEM_FAIL;
  if (!l) return 0;
  sunrealtype *move = calloc(n + 5 * nu, sizeof *move);
  N_Vector from = N_VClone(a->y), id = N_VClone(a->y), at = N_VClone(a->y), start = N_VClone(a->y);
  int flag = CP_MEM_FAIL, mended = 0, worst = 0;
  if (!move || !from || !id || !at || !start) goto done;
  const sunrealtype exact = how == OPEN ? -1 : roundoff;
  N_VScale(1, a->id, id);
  N_VScale(1, a->x, start);
  sunrealtype sine = 1; /* where all rows are closed up to their tolerances, it may be that large */
  if (how == STRICTLY && (flag = examine(a, l, narrow, &sine)) < 0) goto restore;
  bodiesForgetEquations(l, 0);
  if (sine > roundoff && (flag = bodiesCloseOthers(a, l)) <= 0) goto restore;
  N_VScale(1, a->x, from);
  N_VConst(1, a->id);
  for (int round = 0; round < ROUNDS && flag >= 0; round++) {
    int near;
    flag = collect(a, l, from, round ? -1 : exact, move + n, at, &near);
    if (flag == 0 && near && (flag = leaveSingular(a, l, from, move + n, at)) > 0)
      flag = collect(a, l, from, round ? -1 : exact, move + n, at, &near);
    if (flag > 0) flag = bodiesFitLoops(l, damping, move) ? CP_MEM_FAIL : 1;
    if (flag <= 0) break;
    bodiesMoveFrames(b, move);
    mended = largestMotion(a, b->shift + b->np, &worst) <= largest_offset;
    if (!mended || largestOf(move, (int)n) < settled * fmin(1, a->extent)) break;
  }
  const sunrealtype most = largestMotion(a, b->shift + b->np, &worst);
  if (flag >= 0 && most > 0 && most < rounded) tellMotion(a, l, worst, mended ? "redundant" : NULL);
  if (!mended) bodiesResetOffsets(b);
restore:
  N_VScale(1, start, a->x);
  N_VScale(1, id, a->id);
  /* With all rows on, those that were narrow would move x by their misfit over their angle, along the motion. */
  if (flag >= 0 && mended) flag = bodiesCloseOthers(a, l);
  bodiesSwitchAll(a);
done:
  free(move);
  if (from) N_VDestroy(from);
  if (id) N_VDestroy(id);
  if (at) N_VDestroy(at);
  if (start) N_VDestroy(start);
  bodiesFreeLoops(l);
  return flag < 0 ? flag : mended;
}

/* The largest distance of bodies from x to y, as a part of the extent, or difference of their angles or quaternions */
static sunrealtype distanceOf(const Assembly *a, N_Vector x, N_Vector y) {
  const Space *s   = &a->b->space;
  sunrealtype most = 0;
  for (int j = 0; j < a->b->nbodies * s->nq; j++)
    most = fmax(most, fabs(positionsOf(x)[j] - positionsOf(y)[j]) /
                          (j % s->nq < s->last[0] ? a->extent : 1));
  return most;
}

/* From the singular position a->probe, follows the branch of motions with the velocities u in both directions, with all rows closed,
 * and adds the equations of the other singular positions on it. w [3 nu]: room. Returns 0 or CP_MEM_FAIL. */
static int followBranch(Assembly *a, Loops l, const sunrealtype *u, sunrealtype *w, N_Vector at) {
  enum { STOPS = 40 };
  static const sunrealtype step = SUN_RCONST(0.15);
  const size_t nu               = (size_t)a->b->nbodies * (size_t)a->b->space.nu;
  for (int sign = 1; sign >= -1; sign -= 2) {
    N_VScale(1, a->probe, a->x);
    for (size_t j = 0; j < nu; j++) w[j] = sign * u[j];
    switchJoints(a);
    for (int stop = 0; stop < STOPS && possible(a, a->x, w); stop++) {
      sunrealtype sine;
      N_VScale(1, a->x, a->keep);
      bodiesMoveAlong(a, a->keep, w, step, a->x);
      const int closed = bodiesCloseRows(a, AT_REST, 0), first = bodiesEquations(l);
      if (closed <= 0) {
        if (closed < 0) return closed;
        break;
      }
      if (examine(a, l, narrow, &sine) < 0) return CP_MEM_FAIL;
      bodiesForgetEquations(l, first);
      if (bodiesClear(l) < bodiesSharp) {
        N_VScale(1, a->x, a->keep);
        memcpy(w + nu, w, nu * sizeof *w);
        if (collectSingular(a, l, 0, w + nu, at, &sine) < 0) return CP_MEM_FAIL;
        N_VScale(1, a->keep, a->x);
      }
      switchJoints(a);
    }
  }
  return 0;
}

int bodiesSettleSingular(Assembly *a) {
  enum { ROUNDS = 6 };
  /* Rows at angles up to `exact` are dependent in a start whose data are exact; the fit converges to roundoff. */
  static const sunrealtype exact = SUN_RCONST(1e-11), still = SUN_RCONST(1e-12),
                           damping = SUN_RCONST(1e-5);
  Mechanism *b                     = a->b;
  const size_t nu = (size_t)b->nbodies * (size_t)b->space.nu, n = 6 * (size_t)b->njoints,
               shifts = (size_t)b->np + n;
  unsigned state      = 2; /* other directions than those of collectSingular */
  sunrealtype sine, *move = calloc(2 * shifts + 4 * nu, sizeof *move);
  sunrealtype *before = move + shifts, *w = before + shifts;
  N_Vector at = N_VClone(a->y), start = N_VClone(a->y), id = N_VClone(a->y);
  Loops l = NULL;
  int worst, settled = 0;
  int flag = !move || !at || !start || !id || bodiesFindLoops(a->model, b, a->mask, a->extent, &l)
                 ? CP_MEM_FAIL
                 : 0;
  if (flag || !l) goto done;
  flag = examine(a, l, narrow, &sine);
  bodiesForgetEquations(l, 0);
  if (flag <= 0 || !(sine > exact)) goto restore;
  memcpy(before, b->shift, shifts * sizeof *before);
  N_VScale(1, a->x, start);
  N_VScale(1, a->id, id);
  N_VConst(1, a->id);
  N_VScale(1, a->x, a->probe);
  for (int round = 0; round < ROUNDS && !settled; round++) {
    bodiesForgetEquations(l, 0);
    N_VScale(1, a->probe, a->x);
    flag = bodiesAnyVelocity(a, a->x, &state, w) ? collectSingular(a, l, 1, w, at, &sine) : 0;
    if (flag <= 0) break;
    N_VScale(1, at, a->probe);
    if ((flag = followBranch(a, l, velocitiesOf(b, a->y), w, at)) < 0 ||
        (flag = bodiesFitLoops(l, damping, move)) < 0)
      break;
    bodiesMoveFrames(b, move);
    settled = largestOf(move, (int)n) < still * fmin(1, a->extent);
  }
  const sunrealtype most = largestMotion(a, b->shift + b->np, &worst);
  const int moved        = most > still;
  settled                = settled && sine <= exact && most <= largest_offset;
  N_VScale(1, settled ? a->probe : start, a->x);
  if (settled && fmin(distanceOf(a, a->probe, a->y), distanceOf(a, a->probe, start)) > loose) {
    N_VScale(1, start, a->x); /* beside that position, by more than rounding */
    switchJoints(a);
    settled = moved && bodiesCloseRows(a, AT_REST, 0) > 0;
    if (!settled) N_VScale(1, start, a->x);
  }
  if (!settled) {
    bodiesResetOffsets(b);
    bodiesMoveFrames(b, before + b->np);
    memcpy(b->shift, before, shifts * sizeof *before);
  } else if (moved) tellMotion(a, l, worst, "singular at the start");
  N_VScale(1, id, a->id);
restore:
  bodiesSwitchAll(a);
done:
  bodiesFreeLoops(l);
  free(move);
  if (at) N_VDestroy(at);
  if (start) N_VDestroy(start);
  if (id) N_VDestroy(id);
  return flag < 0 ? CP_MEM_FAIL : settled;
}

int bodiesFindMeeting(Assembly *a) {
  static const sunrealtype exact = SUN_RCONST(1e-11);
  Mechanism *b                   = a->b;
  unsigned state                 = 1;
  sunrealtype sine, *w = calloc((size_t)b->nbodies * (size_t)b->space.nu, sizeof *w);
  Loops l  = NULL;
  int flag = !w || bodiesFindLoops(a->model, b, a->mask, a->extent, &l) ? CP_MEM_FAIL : 0;
  if (!flag && l) flag = examine(a, l, narrow, &sine);
  if (flag > a->redundant && sine > exact && bodiesAnyVelocity(a, a->x, &state, w)) {
    bodiesPoses(b, positionsOf(a->x), w, NULL);
    bodiesTellMoving(b, 0, a->meeting, sizeof a->meeting);
  }
  bodiesSwitchAll(a);
  bodiesFreeLoops(l);
  free(w);
  return flag < 0 ? flag : 0;
}

/* Can the rows that are on be closed from x by a small motion? x: out, the closed state, or as it was.
 * Rows that are dependent but for rounding could be closed by a large one. Returns as closeRows. */
static int closesNearby(Assembly *a, sunrealtype open) {
  static const sunrealtype nearby = SUN_RCONST(1e3);
  CPMechSetActive(a->trial, a->mask);
  N_VScale(1, a->x, a->keep);
  int closed = bodiesCloseRows(a, AT_REST, 0);
  if (closed > 0) {
    N_VLinearSum(1, a->x, -1, a->keep, a->weights);
    closed = N_VMaxNorm(a->weights) <= nearby * (open + DBL_EPSILON * N_VMaxNorm(a->x));
    N_VConst(calc_ic / (loose * a->extent), a->weights);
  }
  if (closed <= 0) N_VScale(1, a->keep, a->x);
  return closed;
}

/* Gives row i, which the rows that are on prevent from closing, an offset. Returns 1, or 0 if the offset
 * were too large. */
static int offsetRow(Assembly *a, const Row *row, int i, int joint) {
  Mechanism *b      = a->b;
  const int kind    = bodiesRowTerm(b, &b->row[b->joint[joint].first], 0)->m.kind;
  const int angular = kind != POINT ? bodiesRowTerm(b, row, 0)->m.kind == DOT ||
                                          bodiesRowTerm(b, row, 0)->m.kind == ANGLE
                                    : 0;
  char name[128], line[256];
  if (bodiesPositionRows(a, a->x, a->p)) return 0;
  const sunrealtype offset = a->p[i];
  if (row->drive != NONE || !(fabs(offset) <= largest_offset * (angular ? 1 : a->extent))) return 0;
  b->shift[i] += offset;
  bodiesRowName(CP_NAME_ROW, i, a->t, name, sizeof name, b);
  snprintf(line, sizeof line,
           "%s: an offset of %.2g %s closes this row, which depends on others and does not fit by "
           "rounding",
           name, (double)fabs(offset), angular ? "rad" : "m");
  bodiesNote(b, line);
  return 1;
}

/* Of the joints from `from` on, but for contacts and latches, those before `end` take part, and the others do not. */
static void maskFrom(Assembly *a, int from, int end) {
  for (int i = from; i < a->b->njoints; i++)
    if (a->b->joint[i].contact == NONE && !a->b->joint[i].latched)
      bodiesMaskJoint(a->b, i, i < end, a->mask);
}

int bodiesFitRows(Assembly *a) {
  Mechanism *b = a->b;
  if (bodiesPositionRows(a, a->x, a->p)) return 0;
  const sunrealtype open = largestOf(a->p, b->np);
  int closed = 1, first = 0;
  while (first < b->njoints) {
    /* The joints before `first` close; so do those before `low`; those before `high` do not. */
    int low = first, high = b->njoints + 1;
    maskFrom(a, 0, first);
    for (int end = b->njoints; high - low > 1; end = low + (high - low) / 2) {
      maskFrom(a, first, end);
      if ((closed = closesNearby(a, open)) < 0) return closed;
      if (closed > 0) low = end;
      else high = end;
      if (end == b->njoints && closed > 0) return 1;
    }
    maskFrom(a, first, low);
    /* joint `low`, row by row */
    const Joint *joint = &b->joint[low];
    for (int r = joint->first; r < joint->first + joint->nrows; r++) {
      const Row *row = &b->row[r];
      const int n    = bodiesComponents(b, row);
      for (int k = 0; k < n; k++) {
        a->mask[row->first + k] = 1;
        if ((closed = closesNearby(a, open)) < 0) return closed;
        if (closed == 0 && !offsetRow(a, row, row->first + k, low)) return 0;
      }
    }
    first = low + 1;
  }
  return 1;
}
