/* G at perturbed states, by rows. */
#include "levels_impl.h"

#include <math.h>
#include <stdlib.h>

#define PERTURBATION 1.0e-2
/* An entry counts as zero below this part of its row's largest; two gradients as parallel within
 * it. The largest at any probe: where a gradient happens to be small, its differences are good for
 * nothing. */
#define SAME    1.0e-7
#define SAME_DQ 1.0e-4

/* Transposes the entries of g that are not zero. */
static int gatherRows(const CPEntries *g, int m, int n, CPRows *G) {
  size_t nnz = 0;
  G->start   = calloc((size_t)m + 2, sizeof *G->start);
  if (!G->start) return 0;
  for (size_t e = 0; e < g->start[n]; e++)
    if (g->value[e] != 0.0) G->start[g->row[e] + 2]++, nnz++;
  for (int i = 0; i < m; i++) G->start[i + 2] += G->start[i + 1];
  G->col   = malloc((nnz + 1) * sizeof *G->col);
  G->value = malloc((nnz + 1) * sizeof *G->value);
  if (!G->col || !G->value) return 0;
  for (int j = 0; j < n; j++)
    for (size_t e = g->start[j]; e < g->start[j + 1]; e++) {
      if (g->value[e] == 0.0) continue;
      const size_t to = G->start[g->row[e] + 1]++; /* ends up as the start of the next row */
      G->col[to] = j, G->value[to] = g->value[e];
    }
  return 1;
}

/* Row i at all probes, to a largest entry of 1. */
static void scaleRow(CPProbes *p, int i) {
  double top = 0.0;
  for (int s = 0; s < CP_PROBES; s++)
    for (size_t e = p->G[s].start[i]; e < p->G[s].start[i + 1]; e++)
      top = fmax(top, fabs(p->G[s].value[e]));
  p->square[i] = 0.0;
  for (int s = 0; s < CP_PROBES; s++) {
    double square = 0.0;
    for (size_t e = p->G[s].start[i]; e < p->G[s].start[i + 1]; e++) {
      p->G[s].value[e] /= top;
      square += p->G[s].value[e] * p->G[s].value[e];
    }
    p->square[i] = fmax(p->square[i], square);
  }
}

/* G at a perturbed state. 0, or a code when c or G fails there. */
static int probe(CPWork work, sunrealtype t, N_Vector y, CPProbes *p, int s, unsigned *state) {
  const double typical  = cpTypicalSize(y);
  const sunrealtype *y0 = N_VGetArrayPointer(y);
  sunrealtype *z        = N_VGetArrayPointer(work->newton.y);
  for (int j = 0; j < p->n; j++)
    z[j] = y0[j] + PERTURBATION * fmax(fabs(y0[j]), typical) * cpUniform(state);
  int flag = cpConstraint(work, t, work->newton.y, work->c);
  if (!flag) flag = cpJacobian(work, t, work->newton.y, work->c);
  if (!flag) flag = cpGradientGather(work, t, z);
  if (flag) return flag;
  if (!gatherRows(&work->g, p->m, p->n, &p->G[s]))
    return cpReason(work->text, CP_MEM_FAIL, "no memory");
  return CP_SUCCESS;
}

int cpProbesTake(CPWork work, sunrealtype t, N_Vector y, CPProbes *p) {
  unsigned state = 2463534242u;
  int flag       = CP_SUCCESS;
  for (int s = 0; !flag && s < CP_PROBES; s++) flag = probe(work, t, y, p, s, &state);
  for (int i = 0; !flag && i < p->m; i++) scaleRow(p, i);
  return flag;
}

int cpProbesCreate(CPProbes *p, const CPWork work) {
  CPProjector P  = work->P;
  const size_t m = (size_t)P->m, n = (size_t)P->n, mc = (size_t)P->mc;
  *p                = (CPProbes){.n = P->n, .m = P->m, .mc = P->mc, .g = &work->g};
  p->same           = P->jac ? SAME : SAME_DQ;
  p->first          = malloc(m * sizeof *p->first);
  p->last           = malloc(m * sizeof *p->last);
  p->square         = malloc(m * sizeof *p->square);
  p->view           = calloc(m, sizeof *p->view);
  p->by_first.below = malloc((n + 2) * sizeof *p->by_first.below);
  p->by_first.row   = malloc((mc + 1) * sizeof *p->by_first.row);
  p->by_last.below  = malloc((n + 2) * sizeof *p->by_last.below);
  p->by_last.row    = malloc((mc + 1) * sizeof *p->by_last.row);
  for (int k = 0; k < P->nnorms && p->first && p->last; k++) {
    p->first[mc + k] = P->norms[k].first;
    p->last[mc + k]  = P->norms[k].first + P->norms[k].length - 1;
  }
  return p->first && p->last && p->square && p->view && p->by_first.below && p->by_first.row &&
         p->by_last.below && p->by_last.row;
}

void cpProbesFree(CPProbes *p) {
  for (int s = 0; s < CP_PROBES; s++) {
    free(p->G[s].start);
    free(p->G[s].col);
    free(p->G[s].value);
  }
  free(p->first);
  free(p->last);
  free(p->square);
  free(p->view);
  free(p->by_first.below);
  free(p->by_first.row);
  free(p->by_last.below);
  free(p->by_last.row);
}
