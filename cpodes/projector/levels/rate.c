/* Rates: velocity constraints whose gradient in u is that of a position constraint in q. */
#include "levels_impl.h"

#include <math.h>

int cpTouchesU(const CPProbes *p, int i) {
  for (int s = 0; s < CP_PROBES; s++) {
    const CPRows *G = &p->G[s];
    for (size_t e = G->start[i]; e < G->start[i + 1]; e++)
      if (fabs(G->value[e]) > p->same && cpKind(p, G->col[e]) == 'u') return 1;
  }
  return 0;
}

static double entry(const CPRows *G, int i, int j) {
  size_t low = G->start[i], high = G->start[i + 1];
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (G->col[middle] < j) low = middle + 1;
    else high = middle;
  }
  return low < G->start[i + 1] && G->col[low] == j ? G->value[low] : 0.0;
}

/* Of a gradient with square uu. */
static double negligible(const CPProbes *p, double uu) { return p->same * sqrt(uu) * 10.0; }

static double squareInU(const CPProbes *p, int s, int k) {
  const CPRows *G = &p->G[s];
  double uu       = 0.0;
  for (size_t e = G->start[k]; e < G->start[k + 1]; e++)
    if (cpKind(p, G->col[e]) == 'u') uu += G->value[e] * G->value[e];
  return uu;
}

static size_t countInU(const CPProbes *p, int s, int k, double small) {
  const CPRows *G = &p->G[s];
  size_t big      = 0;
  for (size_t e = G->start[k]; e < G->start[k + 1]; e++)
    big += fabs(G->value[e]) > small && cpKind(p, G->col[e]) == 'u';
  return big;
}

/* Once for each row and candidate: it may be a long one. */
static const CPRowView *viewOf(CPProbes *p, int k) {
  CPRowView *view = &p->view[k];
  if (view->layout == p->at.id) return view;
  view->layout   = p->at.id;
  view->velocity = cpTouchesU(p, k);
  view->uu       = 0.0;
  for (int s = 0; s < CP_PROBES; s++) view->uu = fmax(view->uu, squareInU(p, s, k));
  for (int s = 0; s < CP_PROBES; s++) view->big[s] = countInU(p, s, k, negligible(p, view->uu));
  return view;
}

/* Is the gradient of row k in u a multiple of that of row i in q, on the columns of i? small:
 * entries below are as good as zero; *big: how many of k are not. */
static int isParallel(const CPProbes *p, int s, int i, int k, double small, size_t *big) {
  const CPRows *G = &p->G[s];
  double qq = 0.0, qu = 0.0;
  for (size_t e = G->start[i]; e < G->start[i + 1]; e++) {
    if (cpKind(p, G->col[e]) != 'q') continue;
    qq += G->value[e] * G->value[e];
    qu += G->value[e] * entry(G, k, cpVelocityOf(p, G->col[e]));
  }
  *big = 0;
  for (size_t e = G->start[i]; e < G->start[i + 1] && qq > 0.0; e++) {
    if (cpKind(p, G->col[e]) != 'q') continue;
    const double u = entry(G, k, cpVelocityOf(p, G->col[e]));
    if (fabs(u - qu / qq * G->value[e]) > small) return 0;
    *big += fabs(u) > small;
  }
  return qq > 0.0;
}

/* ... on the first and the last column of i alone: tells most of those that are not at once. */
static int mayBeParallel(const CPProbes *p, int s, int i, int k, double small) {
  const CPRows *G = &p->G[s];
  if (G->start[i] == G->start[i + 1]) return 0;
  const size_t a = G->start[i], b = G->start[i + 1] - 1;
  if (cpKind(p, G->col[a]) != 'q' || cpKind(p, G->col[b]) != 'q') return 1;
  const double qa = G->value[a], ua = entry(G, k, cpVelocityOf(p, G->col[a]));
  const double qb = G->value[b], ub = entry(G, k, cpVelocityOf(p, G->col[b]));
  return fabs(ua * qb - ub * qa) <= small * (fabs(qa) + fabs(qb));
}

/* Row k may be a long one, met by many rows i and candidates: it is looked at only if it may be
 * parallel on the few columns of i, its gradient in u being at most its whole one. Then all its big
 * entries must be there. */
static int isRate(CPProbes *p, int i, int k) {
  size_t big;
  double small = negligible(p, p->square[k]);
  for (int s = 0; s < CP_PROBES; s++)
    if (!mayBeParallel(p, s, i, k, small) || !isParallel(p, s, i, k, small, &big)) return 0;
  const CPRowView *view = viewOf(p, k);
  small                 = negligible(p, view->uu);
  for (int s = 0; s < CP_PROBES; s++)
    if (!isParallel(p, s, i, k, small, &big) || big != view->big[s]) return 0;
  return view->velocity;
}

/* A rate of row i has an entry wherever row i has a large one: the column of u with fewest entries
 * of those where it must have one. */
static int searchColumn(const CPProbes *p, int i) {
  const CPRows *G = &p->G[CP_PROBES - 1];
  int best        = -1;
  size_t fewest   = SIZE_MAX;
  double top      = 0.0;
  for (size_t e = G->start[i]; e < G->start[i + 1]; e++) top = fmax(top, fabs(G->value[e]));
  for (size_t e = G->start[i]; e < G->start[i + 1]; e++) {
    if (fabs(G->value[e]) < 0.5 * top || cpKind(p, G->col[e]) != 'q') continue;
    const int j         = cpVelocityOf(p, G->col[e]);
    const size_t length = p->g->start[j + 1] - p->g->start[j];
    if (length < fewest) fewest = length, best = j;
  }
  return best;
}

int cpHasRate(CPProbes *p, int i) {
  const int j = searchColumn(p, i);
  if (j < 0) return 0;
  for (size_t e = p->g->start[j]; e < p->g->start[j + 1]; e++)
    if (p->g->row[e] < p->mc && isRate(p, i, p->g->row[e])) return 1;
  return 0;
}
