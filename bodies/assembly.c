/* The assembly of a mechanism at a state that is a guess.
 *
 * Positions are closed first, at rest, by a CPMech of their own whose messages nobody sees. CPMechCalcIC
 * solves p(t, q) = 0; but p(t, q) vanishes also where axes are opposite to each other, and from far off
 * the iteration may end elsewhere. Attempts are made in this order, each with all joints verified by
 * their definitions:
 *
 *   1. from the guess;
 *   2. rows that align axes are rotation vectors (bodiesTilt), which do not vanish for opposite axes;
 *   3. these rows, with p(t, q) = (1 - s) p(t, guess), while s grows from 0 to 1.
 *
 * Loops that are redundant but for rounding are mended (mendLoops, redundant.c).
 *
 * Rows that depend on others cannot be closed if the data are rounded. If the attempts fail, they are
 * repeated with a tolerance of 1e-5 of the mechanism's extent, and then such a row gets an offset
 * (fitRows). The CPMech of the caller makes the state consistent from there. */
#include "bodies_impl.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Largest offset of a redundant row, as a part of the extent (in radians: of 1), and the tolerance with
 * which loops are closed before rows get offsets. */
static const sunrealtype largest_offset = SUN_RCONST(1e-6), loose = SUN_RCONST(1e-5);
/* What misses by more has not been rounded. */
static const sunrealtype rounded = SUN_RCONST(1e-2);
/* The tolerance of CPMechCalcIC is 1e-10 divided by weights up to 1. */
static const sunrealtype calc_ic = SUN_RCONST(1e-10);
/* Projections of the trials end at 1e-3 of that tolerance, so that an offset of more is noticed. */
static const sunrealtype trial_eps = SUN_RCONST(1e-3);

typedef struct {
  CPBodies b;
  CPMech trial;
  sunrealtype t, extent;
  /* y: the guess; x: the newest state; keep: a copy; probe: workspace; id: as for CPMechCalcIC; weights: for `loose` */
  N_Vector y, x, keep, id, weights, probe;
  sunrealtype *mask;      /* [nv] rows of trial */
  sunrealtype *p, *begin; /* [np] */
  int opposite;           /* a joint that an attempt has closed with opposite axes, or NONE */
  int redundant;     /* number of dependent rows along the motion of loops that have been mended */
  char meeting[220]; /* joints that move in the branches that meet at the start, or "" */
  char coarse[TEXT]; /* loops whose frames would have to be moved by more than rounding, or "" */
} Assembly;

/* -------------------------------------------------------------------------------- notes -- */

/* Appends a line to the notes of the assembly, or "..." if there is no room. */
static void note(CPBodies b, const char *line) {
  static const char more[] = "...\n";
  const size_t used = strlen(b->changed), room = NOTES - used - sizeof more;
  if (used >= sizeof more && !strcmp(b->changed + used + 1 - sizeof more, more)) return;
  snprintf(b->changed + used, NOTES - used, strlen(line) + 1 < room ? "%s\n" : "%.0s...\n", line);
}

const char *CPBodiesAssemblyNotes(CPBodies b, sunrealtype *change) {
  if (change) *change = b ? b->velocity_change : 0;
  return b && b->changed ? b->changed : "";
}

const sunrealtype *CPBodiesOffsets(CPBodies b, int *count) {
  if (count) *count = b && b->shift ? b->np + 6 * b->njoints : 0;
  return b ? b->shift : NULL;
}

int CPBodiesSetOffsets(CPBodies b, const sunrealtype *offsets) {
  if (!b || !offsets) return CP_MEM_NULL;
  if (!b->shift)
    return cpReport(&b->log, CP_ILL_INPUT, __func__,
                    "CPBodiesModel or CPBodiesMech must come before");
  const int n       = 6 * b->njoints;
  sunrealtype *move = malloc((size_t)(n + 1) * sizeof *move);
  if (!move) return cpReport(&b->log, CP_MEM_FAIL, __func__, "no memory for %d offsets", n);
  for (int i = 0; i < n; i++) move[i] = offsets[b->np + i] - b->shift[b->np + i];
  bodiesMoveFrames(b, move);
  memcpy(b->shift, offsets, (size_t)(b->np + n) * sizeof *b->shift);
  free(move);
  return CP_SUCCESS;
}

/* ------------------------------------------------------------------------------ verdicts -- */

static sunrealtype *positionsOf(N_Vector y) { return N_VGetArrayPointer(y); }
static sunrealtype *velocitiesOf(const struct CPBodies_ *b, N_Vector y) {
  return N_VGetArrayPointer(y) + (sunindextype)b->nbodies * b->space.nq;
}

/* Returns a joint whose axes are opposite to each other at x, where its rows are satisfied, or NONE. */
static int oppositeJoint(const Assembly *a) {
  CPBodies b = a->b;
  bodiesPoses(b, positionsOf(a->x), NULL, NULL);
  for (int i = 0; i < b->njoints; i++) {
    const Joint *joint = &b->joint[i];
    for (int r = joint->first; r < joint->first + joint->nrows; r++) {
      const Pair *pair = &b->pair[joint->pair];
      const int n      = b->row[r].aligns;
      sunrealtype tilt[3], D[3][3];
      if (n == 0) continue;
      bodiesTilt(pair, bodiesPose(b, pair->side[0].body), bodiesPose(b, pair->side[1].body),
                 b->space.dimension == 2 ? 3 : n, tilt, D);
      if (length3(tilt) > 1) return i; /* 0 or half a turn */
      break;
    }
  }
  return NONE;
}

/* The diagonal of the box around all bodies and joints at y. */
static sunrealtype extentOf(CPBodies b, N_Vector y) {
  sunrealtype least[3], most[3], x[3], sum = 0;
  int any = 0;
  bodiesPoses(b, positionsOf(y), NULL, NULL);
  for (int i = -b->nbodies; i < 2 * b->njoints; i++) {
    if (i < 0) memcpy(x, b->pose[i + b->nbodies].r, sizeof x);
    else {
      const Side *side = &b->pair[b->joint[i / 2].pair].side[i % 2];
      toSpace(bodiesPose(b, side->body), side->point, x);
      add3(1, bodiesPose(b, side->body)->r, x);
    }
    for (int k = 0; k < 3; k++) {
      least[k] = any ? fmin(least[k], x[k]) : x[k];
      most[k]  = any ? fmax(most[k], x[k]) : x[k];
    }
    any = 1;
  }
  for (int k = 0; k < 3 && any; k++) sum += (most[k] - least[k]) * (most[k] - least[k]);
  return sqrt(sum);
}

/* p <- the position rows at y, in the present form */
static int positionRows(const Assembly *a, N_Vector y, sunrealtype *p) {
  CPBodies b = a->b;
  memset(p, 0, (size_t)b->np * sizeof *p);
  return b->np > 0 ? b->model.p(a->t, positionsOf(y), p, b) : 0;
}

static sunrealtype largestOf(const sunrealtype *x, int n) {
  sunrealtype largest = 0;
  for (int i = 0; i < n; i++) largest = fmax(largest, fabs(x[i]));
  return largest;
}

/* Returns the joint, coupler or drive whose rows are violated most at the guess. size: out. */
static const Joint *mostOpen(const Assembly *a, sunrealtype *size) {
  const struct CPBodies_ *b = a->b;
  const Joint *worst        = NULL;
  *size                     = 0;
  if (positionRows(a, a->y, a->p)) return NULL;
  for (int i = 0; i < b->njoints; i++)
    for (int r = b->joint[i].first; r < b->joint[i].first + b->joint[i].nrows; r++) {
      const int n         = b->row[r].term[0].m.kind == POINT ? b->space.dimension : 1;
      const int first     = b->row[r].first;
      const sunrealtype x = a->mask[first] != 0 ? largestOf(a->p + first, n) : 0;
      if (x > *size) *size = x, worst = &b->joint[i];
    }
  return worst;
}

/* ------------------------------------------------------------------------------- attempts -- */

/* Closes positions from x, in place, with the rows in this form. Returns 1 if they are closed, 0 if
 * not, or CP_MEM_FAIL. */
static int closeRows(Assembly *a, Assembling form, int loosely) {
  CPBodies b = a->b;
  memset(velocitiesOf(b, a->x), 0,
         (size_t)(N_VGetLength(a->x) - (sunindextype)b->nbodies * b->space.nq) * sizeof(sunrealtype));
  CPProjectorSetEps(CPMechGetProjector(a->trial), loosely ? CP_EPS_DEFAULT : trial_eps);
  b->assembling = form;
  const int flag =
      CPMechCalcIC(a->trial, a->t, a->x, loosely ? a->weights : NULL, a->id, NULL, NULL);
  b->assembling = AS_IN_MOTION;
  return flag == CP_MEM_FAIL ? flag : flag == CP_SUCCESS;
}

/* Closes x from the guess in steps: p(t, q) = (1 - s) p(t, guess). Returns as closeRows. */
static int continueRows(Assembly *a, int loosely) {
  static const sunrealtype shortest = SUN_RCONST(1.0) / 256;
  CPBodies b                        = a->b;
  sunrealtype s = 0, ds = SUN_RCONST(0.25);
  int closed     = 1;
  b->assembling  = ALIGNING;
  const int flag = positionRows(a, a->y, a->begin);
  b->assembling  = AS_IN_MOTION;
  if (flag) return 0;
  N_VScale(1, a->y, a->x);
  while (closed >= 0 && s < 1 && ds >= shortest) {
    const sunrealtype next = fmin(1, s + ds);
    for (int i = 0; i < b->np; i++) b->shift[i] = (1 - next) * a->begin[i];
    N_VScale(1, a->x, a->keep);
    closed = closeRows(a, ALIGNING, loosely || next < 1);
    if (closed > 0) s = next, ds *= 2;
    else N_VScale(1, a->keep, a->x), ds /= 4;
  }
  memset(b->shift, 0, (size_t)b->np * sizeof *b->shift);
  return closed < 0 ? closed : s >= 1;
}

/* Makes all attempts. Returns as closeRows; x is the state if it is 1. */
static int attempt(Assembly *a, int loosely) {
  enum { GUESS, ALIGNED, CONTINUED, WAYS };
  int closed = 0;
  for (int way = GUESS; way < WAYS && closed == 0; way++) {
    N_VScale(1, a->y, a->x);
    closed = way == GUESS     ? 1
             : way == ALIGNED ? closeRows(a, ALIGNING, loosely)
                              : continueRows(a, loosely);
    if (closed > 0) closed = closeRows(a, AT_REST, loosely);
    const int opposite = closed > 0 ? oppositeJoint(a) : NONE;
    if (opposite != NONE) a->opposite = opposite, closed = 0;
  }
  return closed;
}

/* ----------------------------------------------------------------------- redundant rows -- */

/* Switches the position rows of joints from `first` on: those that take part have value 1. Rates are
 * switched with them. */
static void switchJoints(Assembly *a, int first, int end, sunrealtype value) {
  const struct CPBodies_ *b = a->b;
  for (int i = first; i < end; i++)
    for (int r = b->joint[i].first; r < b->joint[i].first + b->joint[i].nrows; r++) {
      const int n = b->row[r].term[0].m.kind == POINT ? b->space.dimension : 1;
      for (int k = 0; k < n; k++) a->mask[b->row[r].first + k] = value;
    }
}

static int isContact(const struct CPBodies_ *b, int joint) {
  for (int k = 0; k < b->ncontacts; k++)
    if (b->contact[k].joint == joint) return 1;
  return 0;
}

/* x <- q moved along the velocities w by the distance h, and at rest. The largest component of w is 1. */
static void moveAlong(const Assembly *a, N_Vector q, const sunrealtype *w, sunrealtype h,
                      N_Vector x) {
  const CPBodies b = a->b;
  const Space *s   = &b->space;
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
  const struct CPBodies_ *b = a->b;
  const sunindextype nu     = (sunindextype)b->nbodies * b->space.nu;
  sunrealtype largest       = 0;
  if (CPMechProject(a->trial, CP_TANGENT, a->t, q, w)) return 0;
  for (sunindextype j = 0; j < nu; j++)
    largest = fmax(largest, fabs(w[j]) / (j % b->space.nu < b->space.last[0] ? a->extent : 1));
  for (sunindextype j = 0; j < nu && largest > 0; j++) w[j] /= largest;
  return largest > SUN_RCONST(1e-9);
}

/* Chooses velocities at q at random. Returns as possible(). */
static int anyVelocity(const Assembly *a, N_Vector q, unsigned *state, sunrealtype *w) {
  const struct CPBodies_ *b = a->b;
  for (sunindextype j = 0; j < (sunindextype)b->nbodies * b->space.nu; j++) {
    *state = 1664525u * *state + 1013904223u; /* (Numerical Recipes) */
    w[j]   = (sunrealtype)(*state >> 8) / (1 << 23) - 1;
    if (j % b->space.nu < b->space.last[0]) w[j] *= a->extent;
  }
  return possible(a, q, w);
}

/* Names in text the joints whose coordinates change, given the rates of the poses. */
static void tellMoving(CPBodies b, char *text, size_t length) {
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
      else if (rate > still * most) {
        const size_t used = strlen(text);
        const char *name  = listed == MOST ? "..." : b->text + b->joint[i].name;
        snprintf(text + used, length - used, "%s%.40s", listed++ ? ", " : "", name);
      }
    }
}

/* Rows at smaller angles with the others are dependent but for rounding. */
static const sunrealtype narrow = SUN_RCONST(1e-4);

/* Examines loops at a->x, and switches rows off that are narrow there, and drives. Returns as
 * bodiesLoopsAt. */
static int examine(Assembly *a, Loops l, sunrealtype below, sunrealtype *sine) {
  CPBodies b = a->b;
  bodiesWithoutContacts(b, a->mask);
  for (int i = 0; i < b->njoints; i++)
    if (b->joint[i].kind == NONE && b->row[b->joint[i].first].drive != NONE)
      switchJoints(a, i, i + 1, 0);
  if (positionRows(a, a->x, a->p)) return 0;
  const int count = bodiesLoopsAt(l, a->t, positionsOf(a->x), a->p, below, a->mask, sine);
  CPMechSetActive(a->trial, a->mask);
  return count;
}

/* Closes a->x but for narrow rows. Off the manifold by a distance, dependent rows are at angles of that size.
 * Returns as closeRows. */
static int closeOthers(Assembly *a, Loops l) {
  enum { PASSES = 3 };
  static const sunrealtype factor = 100, most = SUN_RCONST(0.05);
  sunrealtype sine;
  int closed = 1;
  for (int pass = 0; pass < PASSES && closed > 0; pass++) {
    if (positionRows(a, a->x, a->p)) return 0;
    const sunrealtype open = largestOf(a->p, a->b->np) / a->extent;
    const int count        = examine(a, l, fmin(most, fmax(narrow, factor * open)), &sine);
    bodiesForgetEquations(l, 0);
    closed = count < 0 ? count : closeRows(a, AT_REST, 0);
  }
  return closed;
}

/* Looks for a singular position next to a->x, where rows are at small angles with others. There the gradients of these
 * rows, without their components along the other rows, vanish, but for rounding: a->x moves there by Gauss and Newton,
 * along w and at random, with the other rows closed. If these rows miss by no more than rounding, the loop passes
 * through that position, and their equations are added. w [3 nu]: a motion; room. Returns 1 if they are, 0, or
 * CP_MEM_FAIL. */
static int collectSingular(Assembly *a, Loops l, sunrealtype *w, N_Vector at) {
  enum { PASSES = 10 };
  static const sunrealtype h = SUN_RCONST(1e-5), far = SUN_RCONST(0.5), near = SUN_RCONST(1e-8);
  const size_t nu = (size_t)a->b->nbodies * (size_t)a->b->space.nu;
  const int first = bodiesEquations(l);
  sunrealtype sine, y[2], *v = w + nu, *turn = v + nu;
  unsigned state = 1;
  int count = examine(a, l, bodiesSharp, &sine), found = 0;
  for (int pass = 0; pass < PASSES && count > 0; pass++) {
    bodiesForgetEquations(l, first);
    if ((count = closeRows(a, AT_REST, 0)) <= 0) break;
    N_VScale(1, a->x, at);
    if (!possible(a, at, w) || !anyVelocity(a, at, &state, v)) break;
    for (int k = 0; k < 3 && count > 0; k++) {
      if (k) moveAlong(a, at, k == 1 ? w : v, h, a->x);
      count = positionRows(a, a->x, a->p)
                  ? 0
                  : bodiesLoopsAt(l, a->t, positionsOf(a->x), a->p, 0, a->mask, k ? y : &sine);
    }
    if (count <= 0 || !bodiesTurn(l, first, h, w, y) || !(hypot(y[0], y[1]) < far)) break;
    found = sine < narrow && bodiesOpen(l, first) < largest_offset && hypot(y[0], y[1]) < near;
    if (found) break;
    for (size_t j = 0; j < nu; j++) turn[j] = y[0] * w[j] + y[1] * v[j];
    moveAlong(a, at, turn, 1, a->x);
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
    if (here > 0) here = closeRows(a, AT_REST, 0);
    if (here < 0) return here;
    N_VScale(1, a->x, a->keep);
    if (here == 0 || !anyVelocity(a, a->keep, &state, w)) return 0;
    moveAlong(a, a->keep, w, distance, a->x);
    if ((here = closeOthers(a, l)) > 0) here = examine(a, l, narrow, &sine);
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
  int closed = closeRows(a, AT_REST, 0);
  if (closed <= 0) return closed;
  *near = 1;
  if ((closed = examine(a, l, narrow, &sine)) != count) return closed < 0 ? closed : 0;
  a->redundant = count;
  N_VScale(1, a->x, a->probe);
  for (int sign = 1; sign >= -1; sign -= 2) {
    N_VScale(1, a->probe, a->x);
    if (sign < 0) {
      const int first = bodiesEquations(l);
      if ((closed = examine(a, l, narrow, &sine)) < 0) return closed;
      bodiesForgetEquations(l, first);
    }
    int free = sign > 0 ? anyVelocity(a, a->x, &state, w) : 1;
    if (sign > 0) memcpy(w + nu, w, nu * sizeof *w);
    for (size_t j = 0; j < nu && sign < 0; j++) w[j] = -w[j + nu];
    for (int stop = 0; stop < STOPS && free; stop++) {
      const int first = bodiesEquations(l);
      N_VScale(1, a->x, a->keep);
      moveAlong(a, a->keep, w, step, a->x);
      if ((closed = closeRows(a, AT_REST, 0)) < 0) return closed;
      if (closed == 0) break;
      const int here = examine(a, l, narrow, &sine);
      if (here < 0) return here;
      if (here != count) bodiesForgetEquations(l, first);
      if (here != count || bodiesClear(l) < bodiesSharp) {
        N_VScale(1, a->x, a->keep);
        memcpy(w + 2 * nu, w, nu * sizeof *w);
        const int found = collectSingular(a, l, w + 2 * nu, at), last = bodiesEquations(l);
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

/* Moves the frames of all joints back. */
static int resetOffsets(CPBodies b) {
  const size_t n    = 6 * (size_t)b->njoints;
  sunrealtype *back = malloc((n + 1) * sizeof *back);
  if (!back) return CP_MEM_FAIL;
  for (size_t i = 0; i < n; i++) back[i] = -b->shift[(size_t)b->np + i];
  bodiesMoveFrames(b, back);
  memset(b->shift, 0, ((size_t)b->np + n) * sizeof *b->shift);
  free(back);
  return CP_SUCCESS;
}

/* Says by how much frames of the loop of joint `worst` have been moved, or would have to be. */
static void tellMotion(Assembly *a, Loops l, int worst, int mended) {
  CPBodies b           = a->b;
  const sunrealtype *x = b->shift + b->np + 6 * worst;
  const char *noun = bodiesNoun(b, worst), *name = b->text + b->joint[worst].name;
  char line[TEXT], joints[220];
  bodiesTellLoop(l, worst, joints, sizeof joints);
  if (mended) {
    snprintf(line, sizeof line,
             "loops are redundant but for rounding: frames of their joints have been moved so that "
             "they fit, at most that of %s \"%.80s\", by %.2g m and %.2g rad",
             noun, name, (double)length3(x), (double)length3(x + 3));
  } else {
    snprintf(line, sizeof line,
             "the loop of joints %s is redundant but for more than rounding, and may be rigid: the "
             "frame of %s \"%.80s\" would have to be moved by %.2g m and %.2g rad; the limits are "
             "%.2g m and %.2g rad",
             joints, noun, name, (double)length3(x), (double)length3(x + 3),
             (double)(largest_offset * a->extent), (double)largest_offset);
    memcpy(a->coarse, line, sizeof line);
  }
  note(b, line);
}

typedef enum { STRICTLY, LOOSELY, OPEN } Closed;

/* Moves the joints' frames of loops that are redundant but for rounding, from x on, which is closed like that. Returns 1 if it has, 0
 * if not, or CP_MEM_FAIL. */
static int mendLoops(Assembly *a, Closed how) {
  enum { ROUNDS = 6 };
  /* of least squares: well above the errors of the equations, whose singular values would count as motions else */
  static const sunrealtype damping = SUN_RCONST(1e-5), settled = SUN_RCONST(1e-10);
  /* Where the other rows are closed, rows that are exactly dependent are at angles of some 1e-16. */
  static const sunrealtype roundoff = SUN_RCONST(1e-13);
  CPBodies b                        = a->b;
  const size_t n = 6 * (size_t)b->njoints, nu = (size_t)b->nbodies * (size_t)b->space.nu;
  Loops l;
  if (bodiesFindLoops(b, a->mask, a->extent, &l)) return CP_MEM_FAIL;
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
  if (sine > roundoff && (flag = closeOthers(a, l)) <= 0) goto restore;
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
  if (flag >= 0 && most > 0 && most < rounded) tellMotion(a, l, worst, mended);
  if (!mended && resetOffsets(b)) flag = CP_MEM_FAIL;
restore:
  N_VScale(1, start, a->x);
  N_VScale(1, id, a->id);
  /* With all rows on, those that were narrow would move x by their misfit over their angle, along the motion. */
  if (flag >= 0 && mended) flag = closeOthers(a, l);
  bodiesWithoutContacts(b, a->mask);
  CPMechSetActive(a->trial, a->mask);
done:
  free(move);
  if (from) N_VDestroy(from);
  if (id) N_VDestroy(id);
  if (at) N_VDestroy(at);
  if (start) N_VDestroy(start);
  bodiesFreeLoops(l);
  return flag < 0 ? flag : mended;
}

/* a->x is closed after loops have been mended. If more rows are dependent there than along the motion, branches of motions
 * meet, and an error of the position as small as rounding decides between them: a->meeting names the joints. Returns 0 or
 * CP_MEM_FAIL. */
static int findMeeting(Assembly *a) {
  static const sunrealtype exact = SUN_RCONST(1e-11);
  CPBodies b                     = a->b;
  unsigned state                 = 1;
  sunrealtype sine, *w = calloc((size_t)b->nbodies * (size_t)b->space.nu, sizeof *w);
  Loops l  = NULL;
  int flag = !w || bodiesFindLoops(b, a->mask, a->extent, &l) ? CP_MEM_FAIL : 0;
  if (!flag && l) flag = examine(a, l, narrow, &sine);
  if (flag > a->redundant && sine > exact && anyVelocity(a, a->x, &state, w)) {
    bodiesPoses(b, positionsOf(a->x), w, NULL);
    tellMoving(b, a->meeting, sizeof a->meeting);
  }
  bodiesWithoutContacts(b, a->mask);
  CPMechSetActive(a->trial, a->mask);
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
  int closed = closeRows(a, AT_REST, 0);
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
  CPBodies b        = a->b;
  const int kind    = b->row[b->joint[joint].first].term[0].m.kind;
  const int angular = kind != POINT ? row->term[0].m.kind == DOT || row->term[0].m.kind == ANGLE : 0;
  char name[128], line[256];
  if (positionRows(a, a->x, a->p)) return 0;
  const sunrealtype offset = a->p[i];
  if (row->drive != NONE || !(fabs(offset) <= largest_offset * (angular ? 1 : a->extent))) return 0;
  b->shift[i] += offset;
  bodiesRowName(CP_NAME_ROW, i, a->t, name, sizeof name, b);
  snprintf(line, sizeof line,
           "%s: an offset of %.2g %s closes this row, which depends on others and does not fit by "
           "rounding",
           name, (double)fabs(offset), angular ? "rad" : "m");
  note(b, line);
  return 1;
}

/* x has been closed loosely. Finds rows that cannot be closed together with those of the joints before
 * them, and gives these rows offsets. Returns as closeRows. */
static int fitRows(Assembly *a) {
  CPBodies b = a->b;
  if (positionRows(a, a->x, a->p)) return 0;
  const sunrealtype open = largestOf(a->p, b->np);
  int closed = 1, first = 0;
  while (first < b->njoints) {
    /* The joints before `first` close; so do those before `low`; those before `high` do not. */
    int low = first, high = b->njoints + 1;
    for (int i = 0; i < b->njoints; i++)
      if (!isContact(b, i)) switchJoints(a, i, i + 1, i < first);
    for (int end = b->njoints; high - low > 1; end = low + (high - low) / 2) {
      for (int i = first; i < b->njoints; i++)
        if (!isContact(b, i)) switchJoints(a, i, i + 1, i < end);
      if ((closed = closesNearby(a, open)) < 0) return closed;
      if (closed > 0) low = end;
      else high = end;
      if (end == b->njoints && closed > 0) return 1;
    }
    for (int i = first; i < b->njoints; i++)
      if (!isContact(b, i)) switchJoints(a, i, i + 1, i < low);
    /* joint `low`, row by row */
    const Joint *joint = &b->joint[low];
    for (int r = joint->first; r < joint->first + joint->nrows; r++) {
      const Row *row = &b->row[r];
      const int n    = row->term[0].m.kind == POINT ? b->space.dimension : 1;
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

/* ---------------------------------------------------------------------- singular positions -- */

/* Probes of the neighbourhood of a position, and their distance, as a part of the extent or in rad */
enum { PROBES = 6 };
static const sunrealtype probe_distance = SUN_RCONST(1e-3);

/* Where rows are dependent at the closed position x0, their rank beside it tells whether it is singular.
 * Points beside it are found along velocities that the rows allow. Sets b->singular. Returns 0 or
 * CP_MEM_FAIL. */
static int findSingular(Assembly *a, N_Vector x0) {
  CPBodies b            = a->b;
  const sunindextype nu = (sunindextype)b->nbodies * b->space.nu;
  CPMechOutput out      = {0};
  char first[220] = "", finite[220] = "";
  b->singular[0] = '\0';
  b->assembled   = a->t;
  N_VConst(1, a->id); /* bodies that were held in the assembly may move */
  if (b->np == 0 || !(a->extent > 0) || CPMechEvaluate(a->trial, a->t, x0, &out) || out.unique ||
      out.rank < 0)
    return CP_SUCCESS;
  const sunindextype rank = out.rank;
  sunindextype beside     = -1;
  sunrealtype *w          = calloc((size_t)nu, sizeof *w);
  unsigned state          = 1;
  int flag                = w ? CP_SUCCESS : CP_MEM_FAIL;
  for (int probe = 0; probe < PROBES && !flag; probe++) {
    if (!anyVelocity(a, x0, &state, w)) break;
    if (!*first) {
      bodiesPoses(b, positionsOf(x0), w, NULL);
      tellMoving(b, first, sizeof first);
    }
    moveAlong(a, x0, w, probe_distance, a->x);
    const int closed = closeRows(a, AT_REST, 0);
    if (closed < 0) flag = closed;
    if (closed <= 0) continue;
    N_VLinearSum(1, a->x, -1, x0, a->keep);
    const sunrealtype moved = N_VMaxNorm(a->keep);
    if (moved < probe_distance / 10 * fmin(1, a->extent)) continue;
    if (CPMechEvaluate(a->trial, a->t, a->x, &out) || out.rank <= beside) continue;
    beside = out.rank;
    /* joints that move on the way there */
    const Space *s = &b->space;
    for (int i = 0; i < b->nbodies; i++) {
      const sunrealtype *d = positionsOf(a->keep) + s->nq * i, *e = positionsOf(x0) + s->nq * i + 3;
      sunrealtype *v = w + s->nu * i;
      for (int k = 0; k < s->last[0]; k++) v[k] = d[k];
      if (s->dimension == 2) v[2] = d[2];
      else
        for (int k = 0; k < 3; k++) { /* omega = 2 conj(e) o e' */
          const int l = (k + 1) % 3, m = (k + 2) % 3;
          v[3 + k] =
              2 * (e[0] * d[4 + k] - e[1 + k] * d[3] - e[1 + l] * d[4 + m] + e[1 + m] * d[4 + l]);
        }
    }
    finite[0] = '\0';
    bodiesPoses(b, positionsOf(x0), w, NULL);
    tellMoving(b, finite, sizeof finite);
  }
  free(w);
  if (flag || !*first || beside == rank) return flag;
  if (beside < 0)
    snprintf(b->singular, sizeof b->singular,
             "the mechanism is shaky in its start position: to first order it has %ld freedoms "
             "(joints %s), "
             "and no finite motion has been found, so that no finite reaction balances its load",
             (long)(nu - rank), first);
  else
    snprintf(
        b->singular, sizeof b->singular,
        "the start is a singular position: to first order it has %ld freedoms (joints %s), of "
        "which "
        "%ld lead to finite motions (joints %s); no finite reaction balances a load on the others",
        (long)(nu - rank), first, (long)(nu - beside), finite);
  note(b, b->singular);
  return flag;
}

/* ------------------------------------------------------------------------------ conflicts -- */

/* Can a consistent state be found from the guess with the rows that are on, velocities included? */
static int agrees(Assembly *a) {
  CPMechSetActive(a->trial, a->mask);
  N_VScale(1, a->x, a->keep);
  const int flag = CPMechCalcIC(a->trial, a->t, a->keep, NULL, a->id, NULL, NULL);
  return flag == CP_MEM_FAIL ? flag : flag == CP_SUCCESS;
}

/* Finds drives and couplers that contradict each other or the joints, from x. text [TEXT]: out, which ones,
 * or "". Returns 0 or CP_MEM_FAIL. */
static int findConflict(Assembly *a, char *text) {
  const struct CPBodies_ *b = a->b;
  int bad                   = NONE, flag;
  text[0]                   = '\0';
  for (int i = 0; i < b->njoints; i++)
    if (b->joint[i].kind == NONE) switchJoints(a, i, i + 1, 0);
  if ((flag = agrees(a)) <= 0) return flag;
  for (int i = 0; i < b->njoints && bad == NONE; i++) {
    if (b->joint[i].kind != NONE) continue;
    switchJoints(a, i, i + 1, 1);
    if ((flag = agrees(a)) < 0) return flag;
    if (flag == 0) bad = i;
  }
  if (bad == NONE) return 0;
  const char *noun = bodiesNoun(b, bad), *name = b->text + b->joint[bad].name;
  /* Which of those before it? */
  for (int i = 0; i < bad; i++)
    if (b->joint[i].kind == NONE) switchJoints(a, i, i + 1, 0);
  if ((flag = agrees(a)) < 0) return flag;
  if (flag == 0) {
    snprintf(text, TEXT, "%s \"%s\" contradicts the joints, which fit together without it: %.200s",
             noun, name, CPObjectGetLastMessage(CP_OBJECT(a->trial)));
    return 0;
  }
  snprintf(text, TEXT, "%s \"%s\" contradicts", noun, name);
  int listed = 0;
  for (int i = 0; i < bad; i++) {
    if (b->joint[i].kind != NONE) continue;
    switchJoints(a, i, i + 1, 1);
    if ((flag = agrees(a)) < 0) return flag;
    if (flag == 0) {
      const size_t used = strlen(text);
      snprintf(text + used, TEXT - used, "%s %s \"%.60s\"", listed++ ? "," : "", bodiesNoun(b, i),
               b->text + b->joint[i].name);
      switchJoints(a, i, i + 1, 0);
    }
  }
  if (listed == 0) snprintf(text + strlen(text), TEXT - strlen(text), " the other ones");
  const size_t used = strlen(text);
  snprintf(text + used, TEXT - used, " at t = %g", (double)a->t);
  return 0;
}

/* ----------------------------------------------------------------------- held components -- */

/* Sets id_j = 0 for the positions of the bodies that are named. Returns 0 or an error code that has
 * been reported. */
static int holdPositions(CPBodies b, const char *held, N_Vector id, const char *function) {
  const Space *s = &b->space;
  N_VConst(1, id);
  for (const char *name = held; *(name += strspn(name, " "));) {
    const size_t length = strcspn(name, " ");
    const int i         = bodiesFind(b, NAME_BODY, name, length);
    if (i < 0)
      return cpReport(&b->log, CP_ILL_INPUT, function, "held: there is no body \"%.*s\"",
                      (int)length, name);
    for (int k = 0; k < s->nq; k++) N_VGetArrayPointer(id)[s->nq * i + k] = 0;
    name += length;
  }
  return CP_SUCCESS;
}

typedef enum { ALL, TURNING, MOVING, NOTHING } Part;

/* Holds this part of the velocities of body i, id [nu], and releases the rest. */
static void holdPart(const Space *s, int i, Part part, sunrealtype *id) {
  const int turn = s->last[0]; /* the first rotational velocity */
  for (int k = 0; k < s->nu; k++)
    id[s->nu * i + k] =
        part == NOTHING || (part == TURNING && k < turn) || (part == MOVING && k >= turn);
}

/* Is there a state with the held components of start? work: a vector of its length. Returns 1, 0,
 * or an error code. */
static int canHold(CPMech trial, sunrealtype t, N_Vector start, N_Vector id, N_Vector work) {
  N_VScale(1, start, work);
  const int flag = CPMechCalcIC(trial, t, work, NULL, id, NULL, NULL);
  return flag == CP_SUCCESS ? 1 : flag == CP_IC_FAIL ? 0 : flag;
}

/* Adds velocities to the held components id, for moving bodies whose positions are held; start has
 * consistent positions. It holds all of these velocities if possible. Otherwise it tries one body
 * after the other: all its velocities, then the rotational ones, then the translational ones.
 * Returns 1 if it held any, 0, or an error code. */
static int holdVelocities(CPBodies b, CPMech trial, sunrealtype t, N_Vector start, N_Vector id,
                          N_Vector work) {
  const Space *s          = &b->space;
  const sunindextype nq   = (sunindextype)b->nbodies * s->nq;
  const sunrealtype *u    = N_VGetArrayPointer(start) + nq;
  const sunrealtype *id_q = N_VGetArrayPointer(id);
  sunrealtype *id_u       = N_VGetArrayPointer(id) + nq;
  int flag = 0, any = 0, wanted = 0;
  int *moves = calloc((size_t)b->nbodies, sizeof *moves);
  if (!moves) return CP_MEM_FAIL;
  for (int i = 0; i < b->nbodies; i++) {
    for (int k = 0; k < s->nu && id_q[s->nq * i] == 0; k++) moves[i] |= u[s->nu * i + k] != 0;
    wanted += moves[i];
    if (moves[i]) holdPart(s, i, ALL, id_u);
  }
  if (wanted == 0 || (any = flag = canHold(trial, t, start, id, work)) != 0) goto done;
  for (int i = 0; i < b->nbodies; i++)
    if (moves[i]) holdPart(s, i, NOTHING, id_u);
  for (int i = 0; i < b->nbodies; i++)
    for (Part part = ALL; part < NOTHING && moves[i]; part++) {
      holdPart(s, i, part, id_u);
      if ((flag = canHold(trial, t, start, id, work)) < 0) goto done;
      any |= flag;
      if (flag) break;
      holdPart(s, i, NOTHING, id_u);
    }
done:
  free(moves);
  return flag < 0 ? flag : any;
}

/* ------------------------------------------------------------------------------ the assembly -- */

/* Notes the largest change of a start velocity that was given: of the origin of a body's frame, or of its
 * angular velocity. */
static void noteVelocities(const Assembly *a, N_Vector x) {
  static const sunrealtype rounding = SUN_RCONST(1e-6);
  CPBodies b                        = a->b;
  const Space *s                    = &b->space;
  static const char *const what[]   = {"velocity of the origin", "angular velocity"};
  static const char *const unit[]   = {"m/s", "rad/s"};
  sunrealtype before[2][3], after[2][3], most = rounding;
  char line[300] = "";
  N_Vector at[]  = {a->y, x};
  for (int i = 0; i < b->nbodies; i++) {
    for (int k = 0; k < 2; k++) { /* v = v_c - omega x arm */
      sunrealtype(*v)[3] = k ? after : before;
      Pose pose;
      sunrealtype arm[3], swing[3];
      bodiesPoseAt(s, positionsOf(at[k]) + s->nq * i, velocitiesOf(b, at[k]) + s->nu * i, NULL,
                   &pose);
      toSpace(&pose, b->body[i].centre, arm);
      cross3(pose.w, arm, swing);
      for (int l = 0; l < 3; l++) v[0][l] = pose.v[l] - swing[l], v[1][l] = pose.w[l];
      if (s->dimension == 2) continue;
      toBody(&pose, pose.w, v[1]);
    }
    for (int turns = 0; turns < 2; turns++) {
      const sunrealtype size = length3(before[turns]);
      const sunrealtype floor =
          rounding * (turns ? 0 : length3(before[1]) * length3(b->body[i].centre));
      sunrealtype difference[3];
      if (!(size > floor)) continue; /* not given */
      for (int l = 0; l < 3; l++) difference[l] = after[turns][l] - before[turns][l];
      const sunrealtype change = length3(difference) / size;
      if (!(change > most)) continue;
      most = change;
      snprintf(line, sizeof line,
               "body \"%.100s\": the %s at the start becomes %.4g, not %.4g %s (changed by %.2g "
               "%s), since the "
               "joints do not allow it",
               b->text + b->body[i].name, what[turns], (double)length3(after[turns]), (double)size,
               unit[turns], (double)length3(difference), unit[turns]);
    }
  }
  b->velocity_change = *line ? most : 0;
  if (*line) note(b, line);
}

static int createAssembly(Assembly *a) {
  CPBodies b = a->b;
  a->x       = N_VClone(a->y);
  a->keep    = N_VClone(a->y);
  a->id      = N_VClone(a->y);
  a->weights = N_VClone(a->y);
  a->probe   = N_VClone(a->y);
  a->mask    = calloc((size_t)b->nv + 1, sizeof *a->mask);
  a->p       = calloc((size_t)b->np + 1, sizeof *a->p);
  a->begin   = calloc((size_t)b->np + 1, sizeof *a->begin);
  if (!b->changed) b->changed = calloc(NOTES, 1);
  if (!a->x || !a->keep || !a->id || !a->weights || !a->probe || !a->mask || !a->p || !a->begin ||
      !b->changed)
    return CP_MEM_FAIL;
  b->changed[0]      = '\0';
  b->velocity_change = 0;
  if (resetOffsets(b)) return CP_MEM_FAIL;
  a->extent = extentOf(b, a->y);
  N_VConst(a->extent > 0 ? fmin(1, calc_ic / (loose * a->extent)) : 1, a->weights);
  bodiesWithoutContacts(b, a->mask);
  a->trial = bodiesCreateMech(b, a->y);
  if (!a->trial) return CP_MEM_FAIL;
  const int flag = CPBodiesPrepare(b, a->trial);
  CPObjectSetErrHandlerFn(CP_OBJECT(a->trial), NULL, NULL);
  if (flag || b->np == 0) return flag;
  return CPMechSetActive(a->trial, a->mask);
}

static void freeAssembly(Assembly *a) {
  N_Vector vectors[] = {a->x, a->keep, a->id, a->weights, a->probe};
  CPMechFree(&a->trial);
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
    if (vectors[i]) N_VDestroy(vectors[i]);
  free(a->mask);
  free(a->p);
  free(a->begin);
}

/* Closes the positions. x: out, the state to begin with. Returns as closeRows. */
static int closePositions(Assembly *a) {
  N_VScale(1, a->y, a->x);
  CPBodies b = a->b;
  int closed = attempt(a, 0), mended = 0;
  if (closed >= 0 && a->extent > 0 && b->np > 0) {
    if (closed > 0) {
      mended = mendLoops(a, STRICTLY);
    } else if ((closed = attempt(a, 1)) > 0 && (mended = mendLoops(a, LOOSELY)) == 0) {
      closed = fitRows(a);
      bodiesWithoutContacts(b, a->mask);
      CPMechSetActive(a->trial, a->mask);
    }
    if (closed == 0 && mended == 0) { /* from the guess, which may be closer */
      b->changed[0] = '\0';
      if (resetOffsets(b)) return CP_MEM_FAIL;
      N_VScale(1, a->y, a->x);
      mended = mendLoops(a, OPEN);
    }
    if (closed < 0 || mended < 0) return CP_MEM_FAIL;
    if (mended > 0 && (closed = closeRows(a, AT_REST, 0)) == 0) closed = attempt(a, 0);
    if (mended > 0 &&
        closed == 0) { /* Frames in bodies that are held have moved, by as much as rounding. */
      N_VScale(1, a->id, a->probe);
      N_VConst(1, a->id);
      closed = attempt(a, 0);
      N_VScale(1, a->probe, a->id);
    }
    if (closed > 0 && oppositeJoint(a) != NONE) closed = 0;
    if (closed > 0 && mended > 0 && findMeeting(a)) return CP_MEM_FAIL;
  }
  if (closed <= 0) {
    a->b->changed[0] = '\0';
    if (resetOffsets(a->b)) return CP_MEM_FAIL;
  }
  return closed;
}

/* Reports why there is no consistent state, after the failure `flag` of mech, or of the positions. */
static int reportOpen(Assembly *a, int flag, int closed, const char *reason, const char *function) {
  CPBodies b = a->b;
  char conflict[TEXT];
  sunrealtype size;
  if (flag != CP_IC_FAIL) return cpReport(&b->log, flag, function, "%.400s", reason);
  if (findConflict(a, conflict))
    return cpReport(&b->log, CP_MEM_FAIL, function, "no memory for the assembly");
  if (*conflict) return cpReport(&b->log, flag, function, "%s", conflict);
  bodiesWithoutContacts(b, a->mask);
  if (closed) return cpReport(&b->log, flag, function, "%.400s", reason);
  if (a->opposite != NONE)
    return cpReport(
        &b->log, flag, function,
        "joint \"%s\" closes only with axes that are opposite to each other, and must have "
        "equal ones: %.300s",
        b->text + b->joint[a->opposite].name, reason);
  if (*a->coarse) return cpReport(&b->log, flag, function, "%s", a->coarse);
  const Joint *joint = mostOpen(a, &size);
  char limit[100]    = "";
  if (size < rounded * fmin(1, a->extent))
    snprintf(limit, sizeof limit, "; rounding in loops is closed up to %.2g m and %.2g rad",
             (double)(largest_offset * a->extent), (double)largest_offset);
  return cpReport(&b->log, flag, function, "%s \"%s\" stays open (by %g at the guess%s): %.300s",
                  joint ? bodiesNoun(b, (int)(joint - b->joint)) : "joint",
                  joint ? b->text + joint->name : "", (double)size, limit, reason);
}

int CPBodiesAssemble(CPBodies b, CPMech mech, sunrealtype t, N_Vector y, const char *held) {
  int flag = bodiesCheckState(b, y, __func__);
  if (flag) return flag;
  if (!mech) return cpReport(&b->log, CP_MEM_NULL, __func__, "mech must not be NULL");
  if (!held) held = "";
  Assembly a            = {.b = b, .t = t, .y = y, .opposite = NONE};
  const sunindextype nq = (sunindextype)b->nbodies * b->space.nq, nu = N_VGetLength(y) - nq;
  const size_t length  = (size_t)nu * sizeof(sunrealtype);
  const sunrealtype *u = N_VGetArrayPointer(y) + nq;
  int closed           = createAssembly(&a);
  if (closed == CP_SUCCESS && (flag = holdPositions(b, held, a.id, __func__))) goto done;
  if (closed == CP_SUCCESS) closed = closePositions(&a);
  if (closed < 0) {
    flag = cpReport(&b->log, CP_MEM_FAIL, __func__, "no memory for the assembly of %d bodies",
                    b->nbodies);
    goto done;
  }
  if (*a.meeting) {
    flag = cpReport(&b->log, CP_IC_FAIL, __func__,
                    "the start is a singular position of loops that are redundant but for "
                    "rounding: two branches of motions meet there (joints %s), and digits that "
                    "are missing decide between them: start beside it, or give all digits",
                    a.meeting);
    goto done;
  }
  /* from the closed positions, with the velocities of the guess */
  if (!closed) N_VScale(1, y, a.x);
  memcpy(velocitiesOf(b, a.x), u, length);
  flag = CPMechCalcIC(mech, t, a.x, NULL, a.id, NULL, NULL);
  if (flag == CP_SUCCESS && oppositeJoint(&a) != NONE) flag = CP_IC_FAIL, closed = 0;
  if (flag == CP_SUCCESS && *held) {
    memcpy(velocitiesOf(b, a.x), u, length);
    flag = holdVelocities(b, a.trial, t, a.x, a.id, a.keep);
    if (flag >= 0) flag = CPMechCalcIC(mech, t, a.x, NULL, a.id, NULL, NULL);
    if (flag == CP_IC_FAIL) { /* Motions that only mech has may make them impossible. */
      holdPositions(b, held, a.id, __func__);
      flag = CPMechCalcIC(mech, t, a.x, NULL, a.id, NULL, NULL);
    }
  }
  if (flag == CP_SUCCESS) {
    noteVelocities(&a, a.x);
    N_Vector x0 = a.x;
    a.x         = a.probe;
    flag        = findSingular(&a, x0);
    a.x         = x0;
    if (!flag) N_VScale(1, a.x, y);
    else flag = cpReport(&b->log, flag, __func__, "no memory for the assembly");
  } else if (flag == CP_MEM_FAIL) cpReport(&b->log, flag, __func__, "no memory for the assembly");
  else flag = reportOpen(&a, flag, closed, CPObjectGetLastMessage(CP_OBJECT(mech)), __func__);
done:
  freeAssembly(&a);
  return flag;
}
