/* Levels found from the sparsity and values of G at several perturbed states.
 *
 * Index reduction gives v = d/dt p(t, q) = G_p(q) u + p_t, so with q' = u the velocity constraints'
 * gradient in u is the position constraints' gradient in q. Candidates for (q, u) are the usual
 * orders of a state: (q, u, z), (u, q, z) and the same in equal blocks. A candidate is taken if at
 * every probe
 *   - the rows fall apart: those with nothing outside q (positions), those with something in u
 *     (velocities);
 *   - every position row has a velocity row with a constant multiple of its gradient, a rate.
 * Velocity rows that are no rate are nonholonomic constraints. Unit norms are positions, and need
 * no rate. One state is not enough: at rest, or at a symmetric position, entries vanish that are
 * there later.
 *
 * Rows have few entries and there may be 10^5 of them: the splits of the whole state are judged by
 * the first and the last column of each row, and a rate is looked for in one column only. */
#include "levels_impl.h"

#include <math.h>
#include <string.h>

/* Larger states are not tried in all sizes of blocks: no body has more coordinates. */
#define LARGE_STATE   512
#define LARGEST_BLOCK 32

static void layOut(CPProbes *p, int k, int blocks, int velocities_first) {
  p->at = (CPLayout){k, blocks, velocities_first, p->at.id + 1};
}

/* All components of all norms. */
static int normsArePositions(const CPProbes *p) {
  for (int i = p->mc; i < p->m; i++)
    for (int j = p->first[i]; j <= p->last[i]; j++)
      if (cpKind(p, j) != 'q') return 0;
  return 1;
}

/* Position rows of a split of the whole state: those that end before u, or start behind it. */
static int positionsOf(const CPProbes *p, int nq, int reverse) {
  return reverse ? p->mc - p->by_first.below[nq] : p->by_last.below[nq];
}

/* The position next to u comes first: if the split is wrong, its rate is most likely to be missing.
 */
static int splitFits(CPProbes *p) {
  const int nq = p->at.k, reverse = p->at.velocities_first, npos = positionsOf(p, nq, reverse);
  if (npos == 0 || p->mc - npos < npos) return 0;
  const int *row = reverse ? p->by_first.row + p->mc - npos : p->by_last.row;
  for (int r = 0; r < npos; r++)
    if (!cpHasRate(p, row[reverse ? r : npos - 1 - r])) return 0;
  return normsArePositions(p);
}

static int blocksFit(CPProbes *p) {
  int npos = 0, nvel = 0;
  for (int i = 0; i < p->mc; i++) {
    if (cpTouchesU(p, i)) nvel++;
    else if (cpHasRate(p, i)) npos++;
    else return 0;
  }
  return npos > 0 && nvel >= npos && normsArePositions(p);
}

/* z must not be touched. Splits with more positions first: linear constraints fit, by the likeness
 * of their rows, others that take most positions for velocities. Positions of (q, u) increase with
 * nq, those of (u, q) decrease. */
static int searchSplits(CPProbes *p) {
  const int largest = p->n / 2, smallest = (p->end + 1) / 2;
  int forward = largest, reverse = smallest;
  for (int tried = 0; tried < 2 * (largest - smallest + 1); tried++) {
    const int more = forward < smallest ? -1 : positionsOf(p, forward, 0);
    const int take = reverse <= largest && positionsOf(p, reverse, 1) > more;
    layOut(p, take ? reverse++ : forward--, 1, take);
    if (splitFits(p)) return 1;
  }
  return 0;
}

static int searchBlocks(CPProbes *p) {
  const int largest = p->n > LARGE_STATE ? LARGEST_BLOCK : p->n / 4;
  for (int k = 1; k <= largest; k++)
    for (int reverse = 0; reverse <= 1; reverse++) {
      layOut(p, k, p->n / (2 * k), reverse);
      if (p->end <= 2 * k * p->at.blocks && blocksFit(p)) return 1;
    }
  return 0;
}

/* The columns that each row of the user's touches at any probe. 0: it touches none. */
static int findEnds(CPProbes *p) {
  for (int i = 0; i < p->mc; i++) {
    p->first[i] = p->n, p->last[i] = -1;
    for (int s = 0; s < CP_PROBES; s++)
      for (size_t e = p->G[s].start[i]; e < p->G[s].start[i + 1]; e++) {
        if (fabs(p->G[s].value[e]) <= p->same) continue;
        if (p->G[s].col[e] < p->first[i]) p->first[i] = p->G[s].col[e];
        if (p->G[s].col[e] > p->last[i]) p->last[i] = p->G[s].col[e];
      }
    if (p->last[i] < 0) return 0;
  }
  return 1;
}

/* Sorts the user's rows by their column key[i], by counting. */
static void sortRows(CPOrder *order, const int *key, int mc, int n) {
  int *below = order->below;
  memset(below, 0, ((size_t)n + 2) * sizeof *below);
  for (int i = 0; i < mc; i++) below[key[i] + 2]++;
  for (int j = 1; j <= n; j++) below[j + 1] += below[j];
  for (int i = 0; i < mc; i++) order->row[below[key[i] + 1]++] = i;
}

static int detect(CPProbes *p) {
  if (!findEnds(p)) return 0;
  for (int i = 0; i < p->m; i++)
    if (p->last[i] >= p->end) p->end = p->last[i] + 1;
  sortRows(&p->by_first, p->first, p->mc, p->n);
  sortRows(&p->by_last, p->last, p->mc, p->n);
  return searchSplits(p) || searchBlocks(p);
}

/* found: p->at is the layout. */
static void setLevels(CPProjector P, const CPProbes *p, int found) {
  for (int i = 0; i < P->m; i++) P->row_level[i] = found && i < P->mc && cpTouchesU(p, i);
  for (int j = 0; j < P->n; j++) P->col_level[j] = found && cpKind(p, j) == 'u';
  P->nlevels = found ? 2 : 1;
}

int cpDetectLevels(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  CPProjector P = work->P;
  CPProbes p;
  if (P->mc == 0) { /* norms alone */
    setLevels(P, NULL, 0);
    return CP_SUCCESS;
  }
  int flag = cpProbesCreate(&p, work) ? cpWeights(work, y, ewt)
                                      : cpReason(work->text, CP_MEM_FAIL, "no memory");
  if (!flag) flag = cpProbesTake(work, t, y, &p);
  const int found = !flag && detect(&p);
  if (flag >= 0) setLevels(P, &p, found); /* c failed off its range: coupled */
  cpProbesFree(&p);
  return flag > 0 ? CP_SUCCESS : flag;
}
