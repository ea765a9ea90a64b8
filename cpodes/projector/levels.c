/* Levels found from the sparsity and values of G at several perturbed states.
 *
 * Index reduction gives v = d/dt p(t, q) = G_p(q) u + p_t, so with q' = u the velocity constraints'
 * gradient in u is the position constraints' gradient in q. Candidates for (q, u) are the usual
 * orders of a state: (q, u, z), (u, q, z) and the same in equal blocks. A candidate is taken if at
 * every probe
 *   - the rows fall apart: those with nothing outside q (positions), those with something in u
 *     (velocities);
 *   - every position row has a velocity row with a constant multiple of its gradient, a rate.
 * Velocity rows that are no rate are nonholonomic constraints. Unit norms are positions, and need no
 * rate. One state is not enough: at rest, or at a symmetric position, entries vanish that are there
 * later.
 *
 * Rows have few entries and there may be 10^5 of them: the splits of the whole state are judged by the
 * first and the last column of each row, and a rate is looked for in one column only. */
#include "projector_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PROBES       3
#define PERTURBATION 1.0e-2
/* An entry counts as zero below this part of its row's largest; two gradients as parallel within it. The
 * largest at any probe: where a gradient happens to be small, its differences are good for nothing. */
#define SAME    1.0e-7
#define SAME_DQ 1.0e-4
/* Larger states are not tried in all sizes of blocks: no body has more coordinates. */
#define LARGE_STATE   512
#define LARGEST_BLOCK 32

/* Blocks of 2 k components, the first (or last) k of each positions; what is left of the state is z. */
typedef struct {
  int k, blocks, velocities_first;
  size_t id; /* of the candidates, counted from 1 */
} Layout;

/* Compressed rows of a matrix, in ascending order of the columns, without zeros. */
typedef struct {
  size_t *start; /* [m + 2] */
  int *col;
  double *value;
} Rows;

/* Rows sorted by a column of theirs: row[0 ... below[j] - 1] have it below j. */
typedef struct {
  int *below; /* [n + 2]  */
  int *row;   /* [mc]     */
} Order;

/* What a row looks like in u. */
typedef struct {
  size_t layout;      /* id of the candidate that this is for              */
  int velocity;       /* touches u                                         */
  double uu;          /* its gradient in u, squared, at the largest probe  */
  size_t big[PROBES]; /* entries there that are not as good as zero        */
} View;

typedef struct {
  int n, m, mc;
  double same;
  Rows G[PROBES];     /* rows scaled to a largest entry of 1 at any probe */
  const CPEntries *g; /* the newest probe by columns             */
  int *first, *last;  /* [m] columns that row i touches; of a norm: its components */
  double *square;     /* [m] of the row's norm, at the largest probe */
  int end;            /* behind the last column that is touched  */
  Order by_first, by_last;
  View *view; /* [m]                                     */
  Layout at;  /* the candidate                           */
} Probe;

/* ---- the candidate ---- */

static char kind(const Probe *p, int j) {
  const Layout *at = &p->at;
  if (j >= 2 * at->k * at->blocks) return 'z';
  const int first_half = (at->blocks == 1 ? j : j % (2 * at->k)) < at->k;
  return first_half == at->velocities_first ? 'u' : 'q';
}

/* The velocity that belongs to position j. */
static int velocityOf(const Probe *p, int j) {
  return p->at.velocities_first ? j - p->at.k : j + p->at.k;
}

static void layOut(Probe *p, int k, int blocks, int velocities_first) {
  p->at = (Layout){k, blocks, velocities_first, p->at.id + 1};
}

static int touchesU(const Probe *p, int i) {
  for (int s = 0; s < PROBES; s++) {
    const Rows *G = &p->G[s];
    for (size_t e = G->start[i]; e < G->start[i + 1]; e++)
      if (fabs(G->value[e]) > p->same && kind(p, G->col[e]) == 'u') return 1;
  }
  return 0;
}

/* ---- rates ---- */

static double entry(const Rows *G, int i, int j) {
  size_t low = G->start[i], high = G->start[i + 1];
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (G->col[middle] < j) low = middle + 1;
    else high = middle;
  }
  return low < G->start[i + 1] && G->col[low] == j ? G->value[low] : 0.0;
}

/* Of a gradient with square uu. */
static double negligible(const Probe *p, double uu) { return p->same * sqrt(uu) * 10.0; }

static double squareInU(const Probe *p, int s, int k) {
  const Rows *G = &p->G[s];
  double uu     = 0.0;
  for (size_t e = G->start[k]; e < G->start[k + 1]; e++)
    if (kind(p, G->col[e]) == 'u') uu += G->value[e] * G->value[e];
  return uu;
}

static size_t countInU(const Probe *p, int s, int k, double small) {
  const Rows *G = &p->G[s];
  size_t big    = 0;
  for (size_t e = G->start[k]; e < G->start[k + 1]; e++)
    big += fabs(G->value[e]) > small && kind(p, G->col[e]) == 'u';
  return big;
}

/* Once for each row and candidate: it may be a long one. */
static const View *viewOf(Probe *p, int k) {
  View *view = &p->view[k];
  if (view->layout == p->at.id) return view;
  view->layout   = p->at.id;
  view->velocity = touchesU(p, k);
  view->uu       = 0.0;
  for (int s = 0; s < PROBES; s++) view->uu = fmax(view->uu, squareInU(p, s, k));
  for (int s = 0; s < PROBES; s++) view->big[s] = countInU(p, s, k, negligible(p, view->uu));
  return view;
}

/* Is the gradient of row k in u a multiple of that of row i in q, on the columns of i? small: entries
 * below are as good as zero; *big: how many of k are not. */
static int isParallel(const Probe *p, int s, int i, int k, double small, size_t *big) {
  const Rows *G = &p->G[s];
  double qq = 0.0, qu = 0.0;
  for (size_t e = G->start[i]; e < G->start[i + 1]; e++) {
    if (kind(p, G->col[e]) != 'q') continue;
    qq += G->value[e] * G->value[e];
    qu += G->value[e] * entry(G, k, velocityOf(p, G->col[e]));
  }
  *big = 0;
  for (size_t e = G->start[i]; e < G->start[i + 1] && qq > 0.0; e++) {
    if (kind(p, G->col[e]) != 'q') continue;
    const double u = entry(G, k, velocityOf(p, G->col[e]));
    if (fabs(u - qu / qq * G->value[e]) > small) return 0;
    *big += fabs(u) > small;
  }
  return qq > 0.0;
}

/* Row k may be a long one, met by many rows i and candidates: it is looked at only if it may be parallel
 * on the few columns of i, its gradient in u being at most its whole one. Then all its big entries must
 * be there. */
static int isRate(Probe *p, int i, int k) {
  size_t big;
  for (int s = 0; s < PROBES; s++)
    if (!isParallel(p, s, i, k, negligible(p, p->square[k]), &big)) return 0;
  const View *view   = viewOf(p, k);
  const double small = negligible(p, view->uu);
  for (int s = 0; s < PROBES; s++)
    if (!isParallel(p, s, i, k, small, &big) || big != view->big[s]) return 0;
  return view->velocity;
}

/* A rate of row i has an entry wherever row i has a large one: the column of u with fewest entries of
 * those where it must have one. */
static int searchColumn(const Probe *p, int i) {
  const Rows *G = &p->G[PROBES - 1];
  int best      = -1;
  size_t fewest = SIZE_MAX;
  double top    = 0.0;
  for (size_t e = G->start[i]; e < G->start[i + 1]; e++) top = fmax(top, fabs(G->value[e]));
  for (size_t e = G->start[i]; e < G->start[i + 1]; e++) {
    if (fabs(G->value[e]) < 0.5 * top || kind(p, G->col[e]) != 'q') continue;
    const int j         = velocityOf(p, G->col[e]);
    const size_t length = p->g->start[j + 1] - p->g->start[j];
    if (length < fewest) fewest = length, best = j;
  }
  return best;
}

static int hasRate(Probe *p, int i) {
  const int j = searchColumn(p, i);
  if (j < 0) return 0;
  for (size_t e = p->g->start[j]; e < p->g->start[j + 1]; e++)
    if (p->g->row[e] < p->mc && isRate(p, i, p->g->row[e])) return 1;
  return 0;
}

/* ---- does the candidate fit? ---- */

/* All components of all norms. */
static int normsArePositions(const Probe *p) {
  for (int i = p->mc; i < p->m; i++)
    for (int j = p->first[i]; j <= p->last[i]; j++)
      if (kind(p, j) != 'q') return 0;
  return 1;
}

/* Position rows of a split of the whole state: those that end before u, or start behind it. */
static int positionsOf(const Probe *p, int nq, int reverse) {
  return reverse ? p->mc - p->by_first.below[nq] : p->by_last.below[nq];
}

/* The position next to u comes first: if the split is wrong, its rate is most likely to be missing. */
static int splitFits(Probe *p) {
  const int nq = p->at.k, reverse = p->at.velocities_first, npos = positionsOf(p, nq, reverse);
  if (npos == 0 || p->mc - npos < npos) return 0;
  const int *row = reverse ? p->by_first.row + p->mc - npos : p->by_last.row;
  for (int r = 0; r < npos; r++)
    if (!hasRate(p, row[reverse ? r : npos - 1 - r])) return 0;
  return normsArePositions(p);
}

static int blocksFit(Probe *p) {
  int npos = 0, nvel = 0;
  for (int i = 0; i < p->mc; i++) {
    if (touchesU(p, i)) nvel++;
    else if (hasRate(p, i)) npos++;
    else return 0;
  }
  return npos > 0 && nvel >= npos && normsArePositions(p);
}

/* z must not be touched. Splits with more positions first: linear constraints fit, by the likeness of
 * their rows, others that take most positions for velocities. Positions of (q, u) increase with nq, those
 * of (u, q) decrease. */
static int searchSplits(Probe *p) {
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

static int searchBlocks(Probe *p) {
  const int largest = p->n > LARGE_STATE ? LARGEST_BLOCK : p->n / 4;
  for (int k = 1; k <= largest; k++)
    for (int reverse = 0; reverse <= 1; reverse++) {
      layOut(p, k, p->n / (2 * k), reverse);
      if (p->end <= 2 * k * p->at.blocks && blocksFit(p)) return 1;
    }
  return 0;
}

/* ---- the probes ---- */

/* Transposes the entries of g that are not zero. */
static int gatherRows(const CPEntries *g, int m, int n, Rows *G) {
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
static void scaleRow(Probe *p, int i) {
  double top = 0.0;
  for (int s = 0; s < PROBES; s++)
    for (size_t e = p->G[s].start[i]; e < p->G[s].start[i + 1]; e++)
      top = fmax(top, fabs(p->G[s].value[e]));
  p->square[i] = 0.0;
  for (int s = 0; s < PROBES; s++) {
    double square = 0.0;
    for (size_t e = p->G[s].start[i]; e < p->G[s].start[i + 1]; e++) {
      p->G[s].value[e] /= top;
      square += p->G[s].value[e] * p->G[s].value[e];
    }
    p->square[i] = fmax(p->square[i], square);
  }
}

/* G at a perturbed state. 0, or a code when c or G fails there. */
static int probe(CPWork work, sunrealtype t, N_Vector y, Probe *p, int s, unsigned *state) {
  const double typical  = cpTypicalSize(y);
  const sunrealtype *y0 = N_VGetArrayPointer(y);
  sunrealtype *z        = N_VGetArrayPointer(work->y);
  for (int j = 0; j < p->n; j++)
    z[j] = y0[j] + PERTURBATION * fmax(fabs(y0[j]), typical) * cpUniform(state);
  int flag = cpConstraint(work, t, work->y, work->c);
  if (!flag) flag = cpJacobian(work, t, work->y, work->c);
  if (!flag) flag = cpGradientGather(work, t, z);
  if (flag) return flag;
  if (!gatherRows(&work->g, p->m, p->n, &p->G[s]))
    return cpReason(work->text, CP_MEM_FAIL, "no memory");
  return CP_SUCCESS;
}

/* The columns that each row of the user's touches at any probe. 0: it touches none. */
static int findEnds(Probe *p) {
  for (int i = 0; i < p->mc; i++) {
    p->first[i] = p->n, p->last[i] = -1;
    for (int s = 0; s < PROBES; s++)
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
static void sortRows(Order *order, const int *key, int mc, int n) {
  int *below = order->below;
  memset(below, 0, ((size_t)n + 2) * sizeof *below);
  for (int i = 0; i < mc; i++) below[key[i] + 2]++;
  for (int j = 1; j <= n; j++) below[j + 1] += below[j];
  for (int i = 0; i < mc; i++) order->row[below[key[i] + 1]++] = i;
}

static int detect(Probe *p) {
  for (int i = 0; i < p->m; i++) scaleRow(p, i);
  if (!findEnds(p)) return 0;
  for (int i = 0; i < p->m; i++)
    if (p->last[i] >= p->end) p->end = p->last[i] + 1;
  sortRows(&p->by_first, p->first, p->mc, p->n);
  sortRows(&p->by_last, p->last, p->mc, p->n);
  return searchSplits(p) || searchBlocks(p);
}

/* found: p->at is the layout. */
static void setLevels(CPProjector P, const Probe *p, int found) {
  for (int i = 0; i < P->m; i++) P->row_level[i] = found && i < P->mc && touchesU(p, i);
  for (int j = 0; j < P->n; j++) P->col_level[j] = found && kind(p, j) == 'u';
  P->nlevels = found ? 2 : 1;
}

static int createProbe(Probe *p, const CPWork work) {
  CPProjector P  = work->P;
  const size_t m = (size_t)P->m, n = (size_t)P->n, mc = (size_t)P->mc;
  *p                = (Probe){.n = P->n, .m = P->m, .mc = P->mc, .g = &work->g};
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

static void freeProbe(Probe *p) {
  for (int s = 0; s < PROBES; s++) {
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

int cpDetectLevels(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  CPProjector P  = work->P;
  unsigned state = 2463534242u;
  Probe p;
  int flag         = createProbe(&p, work) ? cpWeights(work, y, ewt)
                                           : cpReason(work->text, CP_MEM_FAIL, "no memory");
  const int probes = P->mc > 0 ? PROBES : 0; /* norms alone: one level */
  for (int s = 0; !flag && s < probes; s++) flag = probe(work, t, y, &p, s, &state);
  const int found = !flag && probes > 0 && detect(&p);
  if (flag >= 0) setLevels(P, &p, found); /* c failed off its range: coupled */
  freeProbe(&p);
  return flag > 0 ? CP_SUCCESS : flag;
}
