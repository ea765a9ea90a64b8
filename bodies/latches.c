/* Latches: a joint closes where the bodies are, so that its frame depends on the state of the event. */
#include "elements.h"
#include "sources.h"

#include <string.h>

/* x <- its part across the unit vector z, of length 1 */
static void across(const sunrealtype *z, sunrealtype *x) {
  add3(-dot3(x, z), z, x);
  const sunrealtype length = length3(x);
  for (int k = 0; k < 3; k++) x[k] /= length;
}

void bodiesCloseHere(const Mechanism *m, int i, Side *closed) {
  const Joint *joint = &m->joint[i];
  const Pair *pair   = &m->pair[joint->pair];
  const Pose *a = bodiesPose(m, pair->side[0].body), *b = bodiesPose(m, pair->side[1].body);
  sunrealtype A[3][3], B[3][3], miss[3] = {0, 0, 0}, own[3];
  int along_z = 0, along_x = 0, crosses = 0; /* which axes of b are tied to those of a */
  Moving d;
  bodiesSpan(pair, a, b, VALUES, &d);
  for (int k = 0; k < 3; k++)
    toSpace(a, pair->side[0].axis[k], A[k]), toSpace(b, pair->side[1].axis[k], B[k]);
  for (int r = 0; r < joint->nrows; r++) {
    const Measure *row = &bodiesRowTerm(m, &m->row[joint->first + r], 0)->m;
    if (row->kind == POINT) memcpy(miss, d.x, sizeof miss);
    if (row->kind == ALONG) add3(dot3(A[row->i], d.x), A[row->i], miss);
    if (row->kind != DOT) continue;
    if (row->i == Z && row->j == Z) crosses = 1;
    else if (row->i == Z || row->j == Z) along_z = 1;
    else along_x = 1;
  }
  *closed = pair->side[1];
  toBody(b, miss, own);
  add3(-1, own, closed->point);
  if (crosses) across(A[Z], B[Z]);
  if (along_z) memcpy(B[Z], A[Z], sizeof *B);
  if (along_x) memcpy(B[X], A[X], sizeof *B);
  across(B[Z], B[X]);
  cross3(B[Z], B[X], B[Y]);
  for (int k = 0; k < 3; k++) toBody(b, B[k], closed->axis[k]);
}

void bodiesSetLatch(Mechanism *m, int i, int is_closed) {
  Latch *latch = &m->latch[i];
  Side *side   = &m->pair[latch->pair].side[1];
  if (is_closed && !latch->is_closed) latch->open = *side;
  if (!is_closed && latch->is_closed) *side = latch->open;
  latch->is_closed = is_closed;
}

void bodiesPlaceLatches(Mechanism *m) {
  for (int i = 0; i < m->nreleases; i++) {
    const Latch *latch       = &m->latch[i];
    const sunrealtype *moves = m->moved + OF_LATCH * i;
    Side *side               = &m->pair[latch->pair].side[1];
    sunrealtype x[3];
    if (!latch->is_closed) continue;
    *side = latch->closed;
    add3(1, moves, side->point);
    for (int k = 0; k < 3; k++)
      cross3(moves + 3, latch->closed.axis[k], x), add3(1, x, side->axis[k]);
  }
}

void bodiesLatchMoves(const Latch *latch, const Side *side, sunrealtype *moves) {
  sunrealtype x[3];
  memset(moves, 0, OF_LATCH * sizeof *moves);
  add3(1, side->point, moves), add3(-1, latch->closed.point, moves);
  for (int k = 0; k < 3; k++)
    cross3(latch->closed.axis[k], side->axis[k], x), add3(SUN_RCONST(0.5), x, moves + 3);
}
