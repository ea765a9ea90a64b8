/* Levels found from the sparsity and values of G at several perturbed states.
 *
 * Index reduction gives v = d/dt p(t, q) = G_p(q) u + p_t, so with q' = u the velocity constraints'
 * gradient in u is the position constraints' gradient in q. Candidates for (q, u) are the usual
 * orders of a state: (q, u, z), (u, q, z) and the same in equal blocks. A candidate is taken if at
 * every probe
 *   - the rows fall apart: those with nothing outside q (positions), those with something in u
 * (velocities);
 *   - every position row has a velocity row with a constant multiple of its gradient.
 * Velocity rows without such a partner are nonholonomic constraints. One state is not enough: at
 * rest, or at a symmetric position, entries vanish that are there later.
 */
#include "projector_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

#define PROBES       3
#define PERTURBATION 1.0e-2
/* An entry counts as zero below this part of its row's largest; two gradients as parallel within
 * it. */
#define SAME    1.0e-7
#define SAME_DQ 1.0e-4

typedef struct {
  int n, m;
  double same;
  double *G[PROBES]; /* [m x n] each, column-major, rows scaled to a largest entry of 1 */
  int *pos, *vel;    /* [n/2] the candidate's pairs */
  int npairs;
  char *kind;     /* [n] 'q', 'u', 'z' */
  int *row_level; /* [m] */
} Probe;

static double entry(const Probe *p, int s, int i, int j) {
  return p->G[s][(size_t)i + (size_t)j * (size_t)p->m];
}

static int rowTouches(const Probe *p, int i, char kind) {
  for (int s = 0; s < PROBES; s++)
    for (int j = 0; j < p->n; j++)
      if (p->kind[j] == kind && fabs(entry(p, s, i, j)) > p->same) return 1;
  return 0;
}

/* Is the gradient of row i in q a constant multiple of that of row k in u, at all probes? */
static int isDerivative(const Probe *p, int i, int k) {
  for (int s = 0; s < PROBES; s++) {
    double qq = 0.0, qu = 0.0, uu = 0.0;
    for (int l = 0; l < p->npairs; l++) {
      const double q = entry(p, s, i, p->pos[l]), u = entry(p, s, k, p->vel[l]);
      qq += q * q, qu += q * u, uu += u * u;
    }
    if (uu == 0.0 || qq == 0.0) return 0;
    double error = 0.0;
    for (int l = 0; l < p->npairs; l++)
      error = fmax(error, fabs(entry(p, s, k, p->vel[l]) - qu / qq * entry(p, s, i, p->pos[l])));
    if (error > p->same * sqrt(uu) * 10.0) return 0;
  }
  return 1;
}

/* Blocks of 2 k components, the first (or last) k of each positions; what is left of n is z. */
static void layOut(Probe *p, int k, int blocks, int velocities_first) {
  memset(p->kind, 'z', (size_t)p->n);
  p->npairs = 0;
  for (int b = 0; b < blocks; b++)
    for (int l = 0; l < k; l++) {
      const int first = 2 * k * b + l, second = first + k;
      const int q = velocities_first ? second : first, u = velocities_first ? first : second;
      p->pos[p->npairs] = q, p->vel[p->npairs++] = u;
      p->kind[q] = 'q', p->kind[u] = 'u';
    }
}

static int fits(Probe *p) {
  int npos = 0, nvel = 0;
  for (int i = 0; i < p->m; i++) {
    if (rowTouches(p, i, 'z')) return 0;
    p->row_level[i] = rowTouches(p, i, 'u');
    if (p->row_level[i]) nvel++;
    else npos++;
  }
  if (npos == 0 || nvel < npos) return 0;
  for (int i = 0; i < p->m; i++) {
    if (p->row_level[i]) continue;
    int k = 0;
    while (k < p->m && !(p->row_level[k] && isDerivative(p, i, k))) k++;
    if (k == p->m) return 0;
  }
  return 1;
}

/* Whole-state splits first, then blocks; for each size both orders. */
static int search(Probe *p) {
  for (int nq = p->n / 2; nq >= 1; nq--)
    for (int reverse = 0; reverse <= 1; reverse++) {
      layOut(p, nq, 1, reverse);
      if (fits(p)) return 1;
    }
  for (int k = 1; k <= p->n / 4; k++)
    for (int reverse = 0; reverse <= 1; reverse++) {
      layOut(p, k, p->n / (2 * k), reverse);
      if (fits(p)) return 1;
    }
  return 0;
}

/* G at a perturbed state, rows scaled. 0, or a code when c or G fails there. */
static int probe(CPWork work, sunrealtype t, N_Vector y, Probe *p, int s, unsigned *state) {
  const int n = p->n, m = p->m;
  const double typical  = cpTypicalSize(y);
  const sunrealtype *y0 = N_VGetArrayPointer(y);
  sunrealtype *z        = N_VGetArrayPointer(work->y);
  for (int j = 0; j < n; j++)
    z[j] = y0[j] + PERTURBATION * fmax(fabs(y0[j]), typical) * cpUniform(state);
  int flag = cpConstraint(work, t, work->y, work->c);
  if (!flag) flag = cpJacobian(work, t, work->y, work->c);
  if (flag) return flag;
  for (int i = 0; i < m; i++) {
    double top = 0.0;
    for (int j = 0; j < n; j++) top = fmax(top, fabs(SM_ELEMENT_D(work->G, i, j)));
    for (int j = 0; j < n; j++)
      p->G[s][(size_t)i + (size_t)j * (size_t)m] =
          top > 0.0 ? SM_ELEMENT_D(work->G, i, j) / top : 0.0;
  }
  return CP_SUCCESS;
}

static void setLevels(CPProjector P, const Probe *p, int found) {
  for (int i = 0; i < P->m; i++) P->row_level[i] = found ? p->row_level[i] : 0;
  for (int j = 0; j < P->n; j++) P->col_level[j] = found && p->kind[j] == 'u';
  P->nlevels = found ? 2 : 1;
}

static void freeProbe(Probe *p) {
  for (int s = 0; s < PROBES; s++) free(p->G[s]);
  free(p->pos);
  free(p->vel);
  free(p->kind);
  free(p->row_level);
}

int cpDetectLevels(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  CPProjector P = work->P;
  const int m = P->m, n = P->n;
  const size_t half = (size_t)n / 2 + 1;
  unsigned state    = 2463534242u;
  Probe p           = {.n = n, .m = m, .same = P->jac ? SAME : SAME_DQ};
  int memory        = 1;
  for (int s = 0; s < PROBES; s++)
    memory = memory && (p.G[s] = malloc((size_t)m * (size_t)n * sizeof *p.G[s]));
  p.pos       = malloc(half * sizeof *p.pos);
  p.vel       = malloc(half * sizeof *p.vel);
  p.kind      = malloc((size_t)n);
  p.row_level = malloc((size_t)m * sizeof *p.row_level);
  memory      = memory && p.pos && p.vel && p.kind && p.row_level;
  int flag    = memory ? cpWeights(work, y, ewt) : cpReason(work->text, CP_MEM_FAIL, "no memory");
  for (int s = 0; !flag && s < PROBES; s++) flag = probe(work, t, y, &p, s, &state);
  if (flag >= 0) setLevels(P, &p, !flag && search(&p)); /* c failed off its range: coupled */
  freeProbe(&p);
  return flag > 0 ? CP_SUCCESS : flag;
}
