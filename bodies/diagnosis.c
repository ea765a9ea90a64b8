/* What is wrong with a position: it is singular, or drives and couplers contradict each other */
#include "assembly_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------------- singular positions -- */

/* Probes of the neighbourhood of a position, and their distance, as a part of the extent or in rad */
enum { PROBES = 24 };
static const sunrealtype probe_distance = SUN_RCONST(1e-3);
/* Violations of closed rows, as a part of the extent: far below the square of that distance */
static const sunrealtype fits = SUN_RCONST(1e-10);

/* v [nu] <- the velocities that lead from x0 to x in the time 1 */
static void velocitiesTo(const Assembly *a, N_Vector x0, N_Vector x, sunrealtype *v) {
  const Space *s = &a->b->space;
  N_VLinearSum(1, x, -1, x0, a->keep);
  for (int i = 0; i < a->b->nbodies; i++, v += s->nu) {
    const sunrealtype *d = positionsOf(a->keep) + s->nq * i, *e = positionsOf(x0) + s->nq * i + 3;
    for (int k = 0; k < s->last[0]; k++) v[k] = d[k];
    if (s->dimension == 2) v[2] = d[2];
    else
      for (int k = 0; k < 3; k++) { /* omega = 2 conj(e) o e' */
        const int l = (k + 1) % 3, m = (k + 2) % 3;
        v[3 + k] =
            2 * (e[0] * d[4 + k] - e[1 + k] * d[3] - e[1 + l] * d[4 + m] + e[1 + m] * d[4 + l]);
      }
  }
}

/* The motions that probes have found. A loop that is shaky on a frame that moves stays in its position, where the rank is
 * what roundoff makes of it; then the motions count. */
typedef struct {
  int lost;           /* 1: some were not those of first order that were asked for */
  int count;          /* of the independent ones */
  sunrealtype *basis; /* [PROBES x nu] orthonormal, with lengths as parts of the extent */
} Found;

/* v: the motion that was found where w was asked for, by Gram and Schmidt's method */
static void takeMotion(const Assembly *a, const sunrealtype *w, const sunrealtype *v, Found *f) {
  const sunrealtype part = probe_distance / 4;
  const int nu           = a->b->nbodies * a->b->space.nu;
  sunrealtype *own       = f->basis + (size_t)f->count * (size_t)nu, size;
  for (int j = 0; j < nu; j++) {
    const sunrealtype unit = j % a->b->space.nu < a->b->space.last[0] ? a->extent : 1;
    f->lost |= fabs(v[j] - probe_distance * w[j]) > part * unit;
    own[j] = v[j] / unit;
  }
  for (const sunrealtype *one = f->basis; one < own; one += nu) {
    sunrealtype along = 0;
    for (int j = 0; j < nu; j++) along += one[j] * own[j];
    for (int j = 0; j < nu; j++) own[j] -= along * one[j];
  }
  size = 0;
  for (int j = 0; j < nu; j++) size += own[j] * own[j];
  if (!(sqrt(size) > part)) return;
  for (int j = 0; j < nu; j++) own[j] /= sqrt(size);
  f->count++;
}

int bodiesFindSingular(Assembly *a, N_Vector x0) {
  Mechanism *b          = a->b;
  const sunindextype nu = (sunindextype)b->nbodies * b->space.nu;
  CPMechOutput out      = CP_INIT(CPMechOutput);
  char first[220] = "", finite[220] = "";
  b->singular[0] = '\0';
  b->assembled   = a->t;
  N_VConst(1, a->id); /* bodies that were held in the assembly may move */
  if (b->np == 0 || !(a->extent > 0) || CPMechEvaluate(a->trial, a->t, x0, &out) || out.unique ||
      out.rank < 0)
    return CP_SUCCESS;
  const sunindextype rank = out.rank;
  sunindextype beside     = -1;
  sunrealtype *w = calloc((size_t)(2 + PROBES) * (size_t)nu, sizeof *w), *v = w + nu;
  Found found    = {.basis = v + nu};
  unsigned state = 1;
  Loops loops    = NULL;
  int flag =
      !w || bodiesFindLoops(a->model, b, a->mask, a->extent, &loops) ? CP_MEM_FAIL : CP_SUCCESS;
  N_VScale(1, x0, a->x);
  const int singular = loops ? bodiesCountNarrow(a, loops, 1) : 0; /* dependent rows there */
  if (singular < 0) flag = singular;
  if (singular == 0) bodiesFreeLoops(loops), loops = NULL; /* rows of others, or too many */
  for (int probe = 0; probe < PROBES && !flag; probe++) {
    bodiesSwitchAll(a);
    if (!bodiesAnyVelocity(a, x0, &state, w)) break;
    if (!*first) {
      bodiesPoses(b, positionsOf(x0), w, NULL);
      bodiesTellMoving(b, 0, first, sizeof first);
    }
    bodiesMoveAlong(a, x0, w, probe_distance, a->x);
    /* Rows that depend on others everywhere look independent where the others are not closed to the last bit. */
    const int closed = loops ? bodiesCloseOthers(a, loops) : bodiesCloseRows(a, AT_REST, 0);
    if (closed < 0) flag = closed;
    const sunrealtype open = closed > 0 ? bodiesOpenBy(a, 1) : INFINITY;
    if (!(open < fits)) continue;
    velocitiesTo(a, x0, a->x, v);
    if (largestOf(v, (int)nu) < probe_distance / 10 * fmin(1, a->extent)) continue;
    takeMotion(a, w, v, &found);
    sunindextype there = -1;
    if (loops) {
      const int count = bodiesCountNarrow(a, loops, probe_distance);
      if (count < 0) flag = count;
      else there = rank + singular - count;
    } else if (!CPMechEvaluate(a->trial, a->t, a->x, &out)) there = out.rank;
    if (there <= beside) continue;
    beside = there;
    /* joints that move on the way there. One that is closed up to x may be sqrt(x) off where it is shaky, times the ratio of the
     * extent and of links. */
    finite[0] = '\0';
    bodiesPoses(b, positionsOf(x0), v, NULL);
    bodiesTellMoving(b, 100 * sqrt(open) / probe_distance, finite, sizeof finite);
  }
  free(w);
  bodiesFreeLoops(loops);
  sunindextype freedoms = nu - beside;
  if (found.lost && nu - rank <= PROBES && found.count < freedoms) freedoms = found.count;
  if (flag || !*first || freedoms == nu - rank) return flag;
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
        (long)(nu - rank), first, (long)freedoms, finite);
  bodiesNote(b, b->singular);
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

int bodiesFindConflict(Assembly *a, char *text) {
  const Mechanism *b = a->b;
  int bad            = NONE, flag;
  text[0]            = '\0';
  for (int i = 0; i < b->njoints; i++)
    if (bodiesIsCoupling(b, i)) bodiesMaskJoint(b, i, 0, a->mask);
  if ((flag = agrees(a)) <= 0) return flag;
  for (int i = 0; i < b->njoints && bad == NONE; i++) {
    if (!bodiesIsCoupling(b, i)) continue;
    bodiesMaskJoint(b, i, 1, a->mask);
    if ((flag = agrees(a)) < 0) return flag;
    if (flag == 0) bad = i;
  }
  if (bad == NONE) return 0;
  const char *noun = bodiesNoun(b, bad), *name = b->text + b->joint[bad].name;
  /* Which of those before it? */
  for (int i = 0; i < bad; i++)
    if (bodiesIsCoupling(b, i)) bodiesMaskJoint(b, i, 0, a->mask);
  if ((flag = agrees(a)) < 0) return flag;
  if (flag == 0) {
    snprintf(text, TEXT, "%s \"%s\" contradicts the joints, which fit together without it: %.200s",
             noun, name, CPObjectGetLastMessage(CP_OBJECT(a->trial)));
    return 0;
  }
  snprintf(text, TEXT, "%s \"%s\" contradicts", noun, name);
  int listed = 0;
  for (int i = 0; i < bad; i++) {
    if (!bodiesIsCoupling(b, i)) continue;
    bodiesMaskJoint(b, i, 1, a->mask);
    if ((flag = agrees(a)) < 0) return flag;
    if (flag == 0) {
      const size_t used = strlen(text);
      snprintf(text + used, TEXT - used, "%s %s \"%.60s\"", listed++ ? "," : "", bodiesNoun(b, i),
               b->text + b->joint[i].name);
      bodiesMaskJoint(b, i, 0, a->mask);
    }
  }
  if (listed == 0) snprintf(text + strlen(text), TEXT - strlen(text), " the other ones");
  const size_t used = strlen(text);
  snprintf(text + used, TEXT - used, " at t = %g", (double)a->t);
  return 0;
}
