#include "samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void cpNodesFree(CPNodes *nodes) {
  free(nodes->t), free(nodes->sum);
  *nodes = (CPNodes){0};
}

/* Makes room for count numbers at *array. Returns 0 or CP_MEM_FAIL. */
static int grow(sunrealtype **array, size_t *room, size_t count) {
  if (count <= *room) return CP_SUCCESS;
  sunrealtype *more = realloc(*array, count * sizeof *more);
  if (!more) return CP_MEM_FAIL;
  *array = more, *room = count;
  return CP_SUCCESS;
}

/* Hermite's formula on the nodes around t: with Lagrange's L_i, H_i = (1 - 2 (t - t_i) L_i'(t_i)) L_i^2, K_i = (t - t_i) L_i^2. */
CPStencil cpNodesAround(const CPNodes *nodes, sunrealtype t) {
  CPStencil s           = {0, nodes->count < CP_STENCIL ? nodes->count : CP_STENCIL, {0}, {0}};
  const sunrealtype dir = nodes->t[nodes->count - 1] > nodes->t[0] ? 1.0 : -1.0;
  int low = 0, high = nodes->count - 1; /* t is between these */
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if ((t - nodes->t[middle]) * dir >= 0.0) low = middle;
    else high = middle;
  }
  s.first = low - (s.count / 2 - 1);
  if (s.first > nodes->count - s.count) s.first = nodes->count - s.count;
  if (s.first < 0) s.first = 0;
  const sunrealtype *x = nodes->t + s.first;
  for (int i = 0; i < s.count; i++) {
    sunrealtype L = 1.0, slope = 0.0;
    for (int j = 0; j < s.count; j++)
      if (j != i) L *= (t - x[j]) / (x[i] - x[j]), slope += 1.0 / (x[i] - x[j]);
    s.value[i] = (1.0 - 2.0 * (t - x[i]) * slope) * L * L;
    s.rate[i]  = (t - x[i]) * L * L;
  }
  return s;
}

/* Computes the state and its rate at all nodes, in `sum`. Returns 0 or CP_MEM_FAIL. */
static int evaluate(CPNodes *nodes, CPTape *tape, int ng, N_Vector y) {
  const size_t n = tape->n, more = 2 * n * (size_t)ng;
  const int flag = grow(&nodes->sum, &nodes->room_sum, (size_t)nodes->count * more);
  for (int i = 0; i < nodes->count && !flag; i++) {
    cpTapeState(tape, nodes->t[i], y);
    memcpy(nodes->sum + more * (size_t)i, N_VGetArrayPointer(y), n * sizeof *nodes->sum);
    cpTapeRate(tape, nodes->t[i], nodes->sum + more * (size_t)i + n);
  }
  return flag;
}

/* Is the state interpolated accurately at t? */
static int fits(const CPNodes *nodes, CPTape *tape, sunrealtype t, int ng, sunrealtype accuracy,
                N_Vector ewt, N_Vector y) {
  const CPStencil s = cpNodesAround(nodes, t);
  const size_t n    = tape->n;
  cpTapeState(tape, t, y);
  if (cpStepperWeights(tape->mem, y, ewt)) return 0;
  sunrealtype *off = N_VGetArrayPointer(y);
  for (int i = 0; i < s.count; i++) {
    const sunrealtype *own = nodes->sum + 2 * n * (size_t)ng * (size_t)(s.first + i);
    for (size_t k = 0; k < n; k++) off[k] -= s.value[i] * own[k] + s.rate[i] * own[n + k];
  }
  return N_VWrmsNorm(y, ewt) <= accuracy;
}

/* Halves those of `cells` equal distances at which there are times where the state is not interpolated accurately, again and again.
 * finer [room]: workspace. Without success there are room nodes. */
static int refine(CPNodes *nodes, CPTape *tape, int cells, const sunrealtype *times, int ntimes,
                  int ng, sunrealtype accuracy, N_Vector ewt, N_Vector y, int room,
                  sunrealtype *finer) {
  const sunrealtype from = tape->t[0], to = tape->t[tape->nsteps], dir = to > from ? 1.0 : -1.0;
  int flag = CP_SUCCESS;
  for (nodes->count = 0; nodes->count <= cells; nodes->count++)
    nodes->t[nodes->count] = from + (to - from) * nodes->count / cells;
  nodes->t[cells] = to;
  for (int halved = 1; halved && nodes->count < room && !flag;) {
    int count = 0, j = 0;
    halved = 0;
    flag   = evaluate(nodes, tape, ng, y);
    for (int i = 0; i + 1 < nodes->count && !flag; i++) {
      const sunrealtype next = nodes->t[i + 1];
      int all                = 1;
      finer[count++]         = nodes->t[i];
      for (; j < ntimes && ((next - times[j]) * dir >= 0.0 || i + 2 == nodes->count); j++)
        all = all && fits(nodes, tape, times[j], ng, accuracy, ewt, y);
      if (!all && count + nodes->count - i < room) finer[count++] = (nodes->t[i] + next) / 2;
      halved |= !all;
    }
    finer[count++] = to;
    if (halved) memcpy(nodes->t, finer, (size_t)count * sizeof *finer), nodes->count = count;
    if (halved && count + 1 >= room) nodes->count = room;
  }
  return flag;
}

int cpNodesChoose(CPNodes *nodes, CPTape *tape, const sunrealtype *times, int ntimes, int ng,
                  sunrealtype accuracy, N_Vector ewt, N_Vector y) {
  const int cells   = CP_STENCIL - 1;
  const size_t room = (size_t)ntimes + 2 * CP_STENCIL;
  int flag = grow(&nodes->t, &nodes->room_t, 3 * room), count = ntimes;
  sunrealtype *best = flag ? NULL : nodes->t + 2 * room;
  for (int k = cells; k < 2 * cells && tape->nsteps > 0 && !flag; k++) {
    flag = refine(nodes, tape, k, times, ntimes, ng, accuracy, ewt, y, (int)room, nodes->t + room);
    if (!flag && nodes->count < count)
      memcpy(best, nodes->t, (size_t)(count = nodes->count) * sizeof *best);
  }
  nodes->count = flag || count == ntimes ? 0 : count;
  if (nodes->count == 0) return flag;
  memcpy(nodes->t, best, (size_t)count * sizeof *best);
  memset(nodes->sum, 0, (size_t)count * 2 * tape->n * (size_t)ng * sizeof *nodes->sum);
  return CP_SUCCESS;
}
