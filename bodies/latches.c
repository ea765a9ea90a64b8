/* Latches: a joint closes where the bodies are. */
#include "elements.h"
#include "sources.h"

#include <string.h>

/* x <- its part across the unit vector z, of length 1 */
static void across(const sunrealtype *z, sunrealtype *x) {
  add3(-dot3(x, z), z, x);
  const sunrealtype length = length3(x);
  for (int k = 0; k < 3; k++) x[k] /= length;
}

void bodiesCloseHere(Mechanism *m, int i) {
  const Joint *joint = &m->joint[i];
  Pair *pair         = &m->pair[joint->pair];
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
  toBody(b, miss, own);
  add3(-1, own, pair->side[1].point);
  if (crosses) across(A[Z], B[Z]);
  if (along_z) memcpy(B[Z], A[Z], sizeof *B);
  if (along_x) memcpy(B[X], A[X], sizeof *B);
  across(B[Z], B[X]);
  cross3(B[Z], B[X], B[Y]);
  for (int k = 0; k < 3; k++) toBody(b, B[k], pair->side[1].axis[k]);
}
