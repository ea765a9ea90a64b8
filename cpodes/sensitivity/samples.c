#include "samples.h"

#include <math.h>
#include <string.h>

void cpNodesCreate(CPNodes *nodes, CPArena *arena, size_t n, size_t ng) {
  *nodes = (CPNodes){.n = n, .all = 2 * n * ng, .part = 1.0};
  CP_ARRAYS(arena, 2 * n * CP_NODES, &nodes->state);
  CP_ARRAYS(arena, nodes->all * CP_NODES, &nodes->sum);
}

/* Moves the nodes from number `from` on to number `to`. */
static void shift(CPNodes *nodes, int from, int to) {
  const size_t left = (size_t)(nodes->count - from), first = (size_t)from, then = (size_t)to;
  memmove(nodes->t + to, nodes->t + from, left * sizeof *nodes->t);
  memmove(nodes->state + 2 * nodes->n * then, nodes->state + 2 * nodes->n * first,
          2 * nodes->n * left * sizeof *nodes->state);
  memmove(nodes->sum + nodes->all * then, nodes->sum + nodes->all * first,
          nodes->all * left * sizeof *nodes->sum);
  nodes->count += to - from;
}

void cpNodesDrop(CPNodes *nodes) {
  shift(nodes, 1, 0);
  if (nodes->used > 0) nodes->used--;
}

/* Adds node number i at t. */
static void add(CPNodes *nodes, CPTape *tape, int i, sunrealtype t) {
  const size_t n     = nodes->n;
  sunrealtype *state = nodes->state + 2 * n * (size_t)i;
  shift(nodes, i, i + 1);
  nodes->t[i] = t;
  cpTapeState(tape, t, tape->y);
  memcpy(state, N_VGetArrayPointer(tape->y), n * sizeof *state);
  cpTapeRate(tape, t, state + n);
  memset(nodes->sum + nodes->all * (size_t)i, 0, nodes->all * sizeof *nodes->sum);
}

/* The forward run's own steps tell where steps become shorter: nodes are as many of them apart as a step from t takes. That number may
 * grow by CP_GROWTH only, as two steps between nodes cost more than nodes that are close. */
void cpNodesFill(CPNodes *nodes, CPTape *tape, sunrealtype t, sunrealtype h, sunrealtype last) {
  const sunrealtype now   = cpTapeIndex(tape, t) - cpTapeIndex(tape, t + h);
  nodes->step             = nodes->step > 0.0 ? fmin(now, CP_GROWTH * nodes->step) : now;
  const sunrealtype apart = nodes->part * nodes->step;
  if (nodes->count == 0) add(nodes, tape, 0, t);
  for (int i = nodes->count; i < CP_STENCIL && nodes->t[i - 1] != last; i++) {
    const sunrealtype before = nodes->t[i - 1], left = cpTapeIndex(tape, before),
                      cells = ceil(left / apart), most = nodes->part * fabs(h);
    sunrealtype next = cells > 1.0 ? cpTapeTime(tape, left - left / cells) : last;
    if (fabs(last - before) <= most) next = last;
    else if (fabs(next - before) > most) next = before + nodes->part * h;
    add(nodes, tape, i, next);
  }
}

/* Returns the number of the node that follows t. */
static int following(const CPNodes *nodes, sunrealtype t) {
  const sunrealtype dir = nodes->t[nodes->count - 1] > nodes->t[0] ? 1.0 : -1.0;
  int i                 = 1;
  while (i + 1 < nodes->count && (t - nodes->t[i]) * dir > 0.0) i++;
  return i;
}

int cpNodesRefine(CPNodes *nodes, CPTape *tape, sunrealtype t) {
  if (nodes->count < 2 || nodes->count == CP_NODES) return 0;
  const int i              = following(nodes, t);
  const sunrealtype before = cpTapeIndex(tape, nodes->t[i - 1]),
                    after  = cpTapeIndex(tape, nodes->t[i]);
  add(nodes, tape, i, cpTapeTime(tape, (before + after) / 2));
  if (i < nodes->used) nodes->used++;
  return 1;
}

/* With Lagrange's L_i, H_i = (1 - 2 (t - t_i) L_i'(t_i)) L_i^2 and K_i = (t - t_i) L_i^2. */
CPStencil cpNodesAround(const CPNodes *nodes, sunrealtype t) {
  CPStencil s = {.count = nodes->count < CP_STENCIL ? nodes->count : CP_STENCIL};
  s.first     = nodes->count > s.count ? following(nodes, t) - s.count / 2 : 0;
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

sunrealtype cpNodesError(const CPNodes *nodes, CPTape *tape, sunrealtype t, N_Vector ewt,
                         N_Vector y) {
  const CPStencil s = cpNodesAround(nodes, t);
  const size_t n    = nodes->n;
  cpTapeState(tape, t, y);
  if (cpStepperWeights(tape->mem, y, ewt)) return INFINITY;
  sunrealtype *off = N_VGetArrayPointer(y);
  for (int i = 0; i < s.count; i++) {
    const sunrealtype *own = nodes->state + 2 * n * (size_t)(s.first + i);
    for (size_t k = 0; k < n; k++) off[k] -= s.value[i] * own[k] + s.rate[i] * own[n + k];
  }
  return N_VWrmsNorm(y, ewt);
}
