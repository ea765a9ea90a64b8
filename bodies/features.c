/* Features of solids (closest.c): those that are nearest to a point, and the first guess of the nearest points by alternating projections
 * on both cores. */
#include "closest_impl.h"

#include <float.h>
#include <string.h>

static sunrealtype clamp(sunrealtype y, sunrealtype most) { return fmax(-most, fmin(most, y)); }

/* The nearest point of an ellipsoid to y, outside: q_k = a_k^2 y_k / (a_k^2 + t), where sum (q_k / a_k)^2 = 1 has one solution t > 0,
 * which Newton's method approaches from 0 on without passing it, as the sum is convex. Returns 1 if y is inside. */
static int onEllipsoid(const sunrealtype *half, const sunrealtype *y, sunrealtype *q) {
  sunrealtype t = 0;
  for (int iteration = 0;; iteration++) {
    sunrealtype sum = -1, slope = 0;
    for (int k = 0; k < 3; k++) {
      const sunrealtype d = half[k] * half[k] + t, part = half[k] * y[k] / d;
      sum += part * part;
      slope -= 2 * part * part / d;
      q[k] = half[k] * part;
    }
    if (iteration == 0 && sum <= 0) return 1;
    if (!(sum > 4 * DBL_EPSILON) || iteration == 60) return 0;
    t -= sum / slope;
  }
}

int closestProject(const Solid *s, sunrealtype less, const sunrealtype *y, sunrealtype *q,
                   Feature *f) {
  const sunrealtype off =
      s->core >= CYLINDER_CORE ? less * fmin(s->half[0], fmin(s->half[1], s->half[2])) : 0;
  const sunrealtype half[3] = {s->half[0] - off, s->half[1] - off, s->half[2] - off};
  int inside                = 0;
  *f                        = (Feature){.curved = 0};
  memset(q, 0, 3 * sizeof *q);
  switch (s->core) {
  case ELLIPSOID_CORE: f->curved = ROUND; return onEllipsoid(half, y, q);
  case SEGMENT:
    q[2]       = clamp(y[2], half[2]);
    f->end[2]  = q[2] == y[2] ? 0 : y[2] > 0 ? 1 : -1;
    f->line[2] = !f->end[2];
    return 0;
  case CYLINDER_CORE: {
    const sunrealtype r = hypot(y[0], y[1]), out[2] = {r - half[0], fabs(y[2]) - half[2]};
    inside            = out[0] <= 0 && out[1] <= 0;
    const int at_side = out[0] > 0 || (inside && out[0] > out[1]),
              at_end  = out[1] > 0 || (inside && !at_side);
    f->curved         = at_side ? RING : 0;
    f->end[2]         = at_end ? (y[2] > 0 ? 1 : -1) : 0;
    f->line[2]        = !at_end;
    f->line[0] = f->line[1] = !at_side;
    for (int k = 0; k < 2; k++) q[k] = at_side && r > 0 ? y[k] * half[0] / r : y[k];
    q[2] = at_end ? f->end[2] * half[2] : y[2];
    return inside;
  }
  case BOX_CORE: {
    int nearest = 0;
    inside      = 1;
    for (int k = 0; k < 3; k++) {
      inside &= fabs(y[k]) <= half[k];
      if (fabs(y[k]) - half[k] > fabs(y[nearest]) - half[nearest]) nearest = k;
    }
    for (int k = 0; k < 3; k++) {
      const int at_end = fabs(y[k]) > half[k] || (inside && k == nearest);
      f->end[k]        = at_end ? (y[k] > 0 ? 1 : -1) : 0;
      f->line[k]       = !at_end;
      q[k]             = at_end ? f->end[k] * half[k] : y[k];
    }
    return inside;
  }
  default: return 0;
  }
}

void closestFromB(const Closest *c, const sunrealtype *y, sunrealtype *x) {
  for (int i = 0; i < 3; i++)
    x[i] = c->x[i] + c->R[i][0] * y[0] + c->R[i][1] * y[1] + c->R[i][2] * y[2];
}
void closestToB(const Closest *c, int direction, const sunrealtype *x, sunrealtype *y) {
  for (int k = 0; k < 3; k++) {
    y[k] = 0;
    for (int i = 0; i < 3; i++) y[k] += c->R[i][k] * (x[i] - (direction ? 0 : c->x[i]));
  }
}

sunrealtype closestSize(const Solid *s) {
  return fmax(fmax(s->half[0], s->half[1]), s->half[2]) + s->skin;
}

sunrealtype closestRadius(const Solid *s) {
  return s->core == CYLINDER_CORE ? hypot(s->half[0], s->half[2]) + s->skin
         : s->core == BOX_CORE    ? closestLength(s->half)
                                  : closestSize(s);
}

Feature closestSupport(const Solid *s, const sunrealtype *m) {
  Feature f = {.curved = s->core == ELLIPSOID_CORE ? ROUND : 0};
  for (int k = 0; k < 3; k++) {
    const int end = m[k] > 0 ? 1 : m[k] < 0 ? -1 : 0;
    if (s->core == BOX_CORE || ((s->core == SEGMENT || s->core == CYLINDER_CORE) && k == 2))
      f.end[k] = end, f.line[k] = !end;
  }
  if (s->core != CYLINDER_CORE) return f;
  if (m[0] != 0 || m[1] != 0) f.curved = RING;
  else f.line[0] = f.line[1] = 1;
  return f;
}

/* A vector that points outwards at the point q of a feature */
static void outwards(const Solid *s, const Feature *f, const sunrealtype *q, sunrealtype *n) {
  for (int k = 0; k < 3; k++) {
    n[k] = f->end[k];
    if (f->curved == RING && k < 2) n[k] = q[k] / s->half[k];
    if (f->curved == ROUND) n[k] = q[k] / (s->half[k] * s->half[k]);
  }
}

int closestGuess(Closest *c, sunrealtype less) {
  enum { TURNS = 300 };
  static const sunrealtype touching = SUN_RCONST(1e-3);
  const Solid *a = c->solid[0], *b = c->solid[1];
  const sunrealtype size = closestSize(a) + closestSize(b);
  const int pointed      = a->core == POINT_CORE ? 0 : b->core == POINT_CORE ? 1 : -1;
  sunrealtype qa[3], qb[3], in_b[3] = {0, 0, 0}, n[3], m[3], y[3], far, before = INFINITY;
  int inside, l = 4;
  memset(c->z, 0, sizeof c->z);
  closestFromB(c, in_b, qb);
  for (int turn = 0;; turn++) {
    inside = closestProject(a, less, qb, qa, &c->feature[0]);
    closestToB(c, 0, qa, y);
    inside |= closestProject(b, less, y, in_b, &c->feature[1]);
    closestFromB(c, in_b, qb);
    for (int k = 0; k < 3; k++) n[k] = qb[k] - qa[k];
    far = closestLength(n);
    if (inside || pointed >= 0 || turn == TURNS || far > before * (1 - touching * touching)) break;
    before = far;
  }
  if (pointed < 0 && (inside || far < touching * less * size)) return 1;
  if (inside || far < touching * size) { /* normal to the other solid */
    if (pointed == 1) outwards(a, &c->feature[0], qa, n);
    if (pointed == 0) {
      outwards(b, &c->feature[1], in_b, m);
      for (int i = 0; i < 3; i++)
        n[i] = -(c->R[i][0] * m[0] + c->R[i][1] * m[1] + c->R[i][2] * m[2]);
    }
  }
  far = closestLength(n);
  for (int k = 0; k < 3; k++) c->z[k] = far > 0 ? n[k] / far : k == 2;
  for (int side = 0; side < 2; side++)
    for (int k = 0; k < 3; k++)
      if (c->feature[side].line[k] && l < MOST) c->z[l++] = (side ? in_b : qa)[k];
  return 0;
}
