/* Attempts to close joints, with their verdicts by the definitions of the joints */
#include "assembly_impl.h"

#include <string.h>

/* ------------------------------------------------------------------------------ verdicts -- */

int bodiesOpposite(Mechanism *b, N_Vector y) {
  bodiesPoses(b, positionsOf(y), NULL, NULL);
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

sunrealtype bodiesExtent(Mechanism *b, N_Vector y) {
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

int bodiesRowsAt(const Assembly *a, Mechanism *b, const sunrealtype *q, sunrealtype *p) {
  if (b->np == 0) return 0;
  bodiesSkipRows(a->off, b);
  const int flag = CPModelGetEquations(a->model)->p(a->t, q, p, b);
  bodiesSkipRows(NULL, b);
  return flag;
}

int bodiesPositionRows(const Assembly *a, N_Vector y, sunrealtype *p) {
  memset(p, 0, (size_t)a->b->np * sizeof *p);
  return bodiesRowsAt(a, a->b, positionsOf(y), p);
}

const Joint *bodiesMostOpen(const Assembly *a, sunrealtype *size) {
  const Mechanism *b = a->b;
  const Joint *worst = NULL;
  *size              = 0;
  if (bodiesPositionRows(a, a->y, a->p)) return NULL;
  for (int i = 0; i < b->njoints; i++)
    for (int r = b->joint[i].first; r < b->joint[i].first + b->joint[i].nrows; r++) {
      const int n         = bodiesComponents(b, &b->row[r]);
      const int first     = b->row[r].first;
      const sunrealtype x = a->mask[first] ? largestOf(a->p + first, n) : 0;
      if (x > *size) *size = x, worst = &b->joint[i];
    }
  return worst;
}

/* ------------------------------------------------------------------------------- attempts -- */

int bodiesCloseRows(Assembly *a, Assembling form, int loosely) {
  Mechanism *b = a->b;
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
  Mechanism *b                      = a->b;
  sunrealtype s = 0, ds = SUN_RCONST(0.25);
  int closed     = 1;
  b->assembling  = ALIGNING;
  const int flag = bodiesPositionRows(a, a->y, a->begin);
  b->assembling  = AS_IN_MOTION;
  if (flag) return 0;
  N_VScale(1, a->y, a->x);
  while (closed >= 0 && s < 1 && ds >= shortest) {
    const sunrealtype next = fmin(1, s + ds);
    for (int i = 0; i < b->np; i++) b->shift[i] = (1 - next) * a->begin[i];
    N_VScale(1, a->x, a->keep);
    closed = bodiesCloseRows(a, ALIGNING, loosely || next < 1);
    if (closed > 0) s = next, ds *= 2;
    else N_VScale(1, a->keep, a->x), ds /= 4;
  }
  memset(b->shift, 0, (size_t)b->np * sizeof *b->shift);
  return closed < 0 ? closed : s >= 1;
}

int bodiesAttempt(Assembly *a, int loosely) {
  enum { GUESS, ALIGNED, CONTINUED, WAYS };
  int closed = 0;
  for (int way = GUESS; way < WAYS && closed == 0; way++) {
    N_VScale(1, a->y, a->x);
    closed = way == GUESS     ? 1
             : way == ALIGNED ? bodiesCloseRows(a, ALIGNING, loosely)
                              : continueRows(a, loosely);
    if (closed > 0) closed = bodiesCloseRows(a, AT_REST, loosely);
    const int opposite = closed > 0 ? bodiesOpposite(a->b, a->x) : NONE;
    if (opposite != NONE) a->opposite = opposite, closed = 0;
  }
  return closed;
}
