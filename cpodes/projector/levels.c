/* Detection of levels from the sparsity and values of G at several perturbed states.
 *
 * Index reduction gives v = d/dt p(t, q) = G_p(q) u + p_t, so with q' = u the gradient of a
 * velocity constraint in u is that of its position constraint in q. Candidates for (q, u) are the
 * usual orders of a state: (q, u, z), (u, q, z) and the same in equal blocks. A candidate is
 * accepted if at every probe
 *   - the rows separate into those with no entry outside q (positions), and those with an entry in
 *     u (velocities);
 *   - every position row has a rate: a velocity row with a constant multiple of its gradient.
 * Velocity rows that are no rate are nonholonomic constraints. Unit norms are positions, and need
 * no rate. One state is not enough: at rest, or at a symmetric position, entries vanish that are
 * present later.
 *
 * Rows have few entries, but there may be 10^5 rows: splits of the whole state are judged by the
 * first and the last column of each row, and a rate is searched for in one column only. */
#include "projector_impl.h"

#include <math.h>

#define PROBES       3
#define PERTURBATION 1.0e-2
/* An entry counts as zero below this fraction of the largest in its row, and two gradients count as
 * parallel within it. The largest is taken over all probes: where a gradient happens to be small,
 * its differences are worthless. */
#define SAME    1.0e-7
#define SAME_DQ 1.0e-4
/* For states above LARGE_STATE, only blocks up to LARGEST_BLOCK are tried, since no body has more
 * coordinates. */
#define LARGE_STATE   512
#define LARGEST_BLOCK 32

/* Blocks of 2 k components, whose first (or last) k are positions. The rest of the state is z. */
typedef struct {
  int k, blocks, velocities_first;
  size_t id; /* number of the candidate, from 1 */
} Layout;

/* Properties of a row in u. */
typedef struct {
  size_t layout;      /* id of the candidate to which they belong */
  int velocity;       /* 1: the row has an entry in u */
  double uu;          /* squared gradient in u: the largest over the probes */
  size_t big[PROBES]; /* number of entries in u that do not count as zero */
} RowView;

typedef struct {
  int n, m, mc;
  double same;       /* SAME or SAME_DQ */
  CPMat G[PROBES];   /* by rows, each scaled to a largest entry of 1 */
  const CPMat *g;    /* the newest probe by columns */
  double *square;    /* [m] squared norm of the row: the largest over the probes */
  int *first, *last; /* [m] first and last column of row i; of a norm its components */
  int end;           /* 1 + the last column of all rows */
  /* the user's rows by their first and last column: row[0 ... start[j] - 1] have it below j */
  CPMat by_first, by_last;
  Layout at;     /* the candidate */
  RowView *view; /* [m] properties of the rows in the candidate */
  CPArena arena;
} Search;

/* ---- G at perturbed states, by rows ---- */

/* Takes the rows of the newest G, whose structure is that of the previous probe unless zeros are
 * omitted from it. */
static int takeRows(CPWork work, Search *p, int s, size_t **from) {
  CPMat *G = &p->G[s];
  int flag = CP_SUCCESS;
  if (s == 0 || work->compact) flag = cpMatTransposed(&p->arena, &work->g, G, from);
  else *G = p->G[s - 1];
  if (flag || !CP_NEW(&p->arena, G->value, cpMatEntries(&work->g))) return CP_MEM_FAIL;
  for (size_t e = 0; e < G->start[p->m]; e++) G->value[e] = work->g.value[(*from)[e]];
  return CP_SUCCESS;
}

/* Evaluates G at all probes around y, and scales the rows. Returns 0, or a code if c or G fails
 * there. */
static int takeProbes(CPWork work, sunrealtype t, N_Vector y, Search *p) {
  const double typical  = cpTypicalSize(y);
  const sunrealtype *y0 = N_VGetArrayPointer(y);
  sunrealtype *z        = N_VGetArrayPointer(work->newton.y);
  unsigned state        = 2463534242u;
  size_t *from          = NULL;
  for (int s = 0; s < PROBES; s++) {
    for (int j = 0; j < p->n; j++)
      z[j] = y0[j] + PERTURBATION * fmax(fabs(y0[j]), typical) * cpUniform(&state);
    int flag = cpJacobianAt(work, t, work->newton.y);
    if (!flag) flag = takeRows(work, p, s, &from);
    if (flag) return flag;
  }
  for (int i = 0; i < p->m; i++) {
    double top = 0.0;
    for (int s = 0; s < PROBES; s++)
      for (size_t e = p->G[s].start[i]; e < p->G[s].start[i + 1]; e++)
        if (fabs(p->G[s].value[e]) > top) top = fabs(p->G[s].value[e]);
    for (int s = 0; s < PROBES; s++) {
      double square = 0.0;
      for (size_t e = p->G[s].start[i]; top > 0.0 && e < p->G[s].start[i + 1]; e++) {
        p->G[s].value[e] /= top;
        square += p->G[s].value[e] * p->G[s].value[e];
      }
      p->square[i] = fmax(p->square[i], square);
    }
  }
  return CP_SUCCESS;
}

/* ---- a row in the candidate ---- */

static char kindOf(const Search *p, int j) {
  const Layout *at = &p->at;
  if (j >= 2 * at->k * at->blocks) return 'z';
  const int first_half = (at->blocks == 1 ? j : j % (2 * at->k)) < at->k;
  return first_half == at->velocities_first ? 'u' : 'q';
}

/* Index of the velocity that belongs to position j */
static int velocityOf(const Search *p, int j) {
  return p->at.velocities_first ? j - p->at.k : j + p->at.k;
}

/* Has row i an entry in u at any probe? */
static int touchesU(const Search *p, int i) {
  for (int s = 0; s < PROBES; s++) {
    const CPMat *G = &p->G[s];
    for (size_t e = G->start[i]; e < G->start[i + 1]; e++)
      if (fabs(G->value[e]) > p->same && kindOf(p, G->row[e]) == 'u') return 1;
  }
  return 0;
}

/* The size below which an entry of a gradient with square uu counts as zero. */
static double negligible(const Search *p, double uu) { return p->same * sqrt(uu) * 10.0; }

/* Returns the properties of row k in the candidate, computed only once because the row may be
 * long. */
static const RowView *viewOf(Search *p, int k) {
  RowView *view = &p->view[k];
  if (view->layout == p->at.id) return view;
  *view = (RowView){.layout = p->at.id};
  for (int s = 0; s < PROBES; s++) {
    const CPMat *G = &p->G[s];
    double uu      = 0.0;
    for (size_t e = G->start[k]; e < G->start[k + 1]; e++) {
      if (kindOf(p, G->row[e]) != 'u') continue;
      view->velocity |= fabs(G->value[e]) > p->same;
      uu += G->value[e] * G->value[e];
    }
    view->uu = fmax(view->uu, uu);
  }
  const double small = negligible(p, view->uu);
  for (int s = 0; s < PROBES; s++) {
    const CPMat *G = &p->G[s];
    for (size_t e = G->start[k]; e < G->start[k + 1]; e++)
      view->big[s] += fabs(G->value[e]) > small && kindOf(p, G->row[e]) == 'u';
  }
  return view;
}

/* Entry of row k in column j of the state. The columns of successive calls ascend, so that j is
 * mostly the column of the next entry of row k, *next. */
static double entryOf(const CPMat *G, int j, int k, size_t *next) {
  if (*next >= G->start[k + 1] || G->row[*next] != j) {
    const double *entry = cpMatAt(G, j, k);
    if (!entry) return 0.0;
    *next = (size_t)(entry - G->value);
  }
  return G->value[(*next)++];
}

/* Is the gradient of row k in u a multiple of the gradient of row i in q, on the columns of i?
 * Entries of k up to small count as zero; *big: out, the number of the others. */
static int isParallel(const Search *p, int s, int i, int k, double small, size_t *big) {
  const CPMat *G     = &p->G[s];
  const size_t first = G->start[i], end = G->start[i + 1];
  size_t next = G->start[k];
  double qq = 0.0, qu = 0.0;
  if (first == end) return 0;
  if (kindOf(p, G->row[first]) == 'q' && kindOf(p, G->row[end - 1]) == 'q') {
    /* The first and the last column alone exclude most rows that are not parallel. */
    const double qa = G->value[first], ua = cpMatEntry(G, velocityOf(p, G->row[first]), k);
    const double qb = G->value[end - 1], ub = cpMatEntry(G, velocityOf(p, G->row[end - 1]), k);
    if (!(fabs(ua * qb - ub * qa) <= small * (fabs(qa) + fabs(qb)))) return 0;
  }
  for (size_t e = first; e < end; e++) {
    if (kindOf(p, G->row[e]) != 'q') continue;
    qq += G->value[e] * G->value[e];
    qu += G->value[e] * entryOf(G, velocityOf(p, G->row[e]), k, &next);
  }
  *big = 0;
  next = G->start[k];
  for (size_t e = first; e < end && qq > 0.0; e++) {
    if (kindOf(p, G->row[e]) != 'q') continue;
    const double u = entryOf(G, velocityOf(p, G->row[e]), k, &next);
    if (fabs(u - qu / qq * G->value[e]) > small) return 0;
    *big += fabs(u) > small;
  }
  return qq > 0.0;
}

/* Is velocity row k the rate of position row i? Row k may be long, and be met by many rows i and
 * candidates: its properties are determined only if it may be parallel on the few columns of i at
 * one probe, judged by its whole gradient, which bounds the gradient in u. All its large entries
 * must then be in these columns. */
static int isRate(Search *p, int i, int k) {
  size_t big;
  double small = negligible(p, p->square[k]);
  if (!isParallel(p, PROBES - 1, i, k, small, &big)) return 0;
  const RowView *view = viewOf(p, k);
  small               = negligible(p, view->uu);
  for (int s = 0; s < PROBES; s++)
    if (!isParallel(p, s, i, k, small, &big) || big != view->big[s]) return 0;
  return view->velocity;
}

/* Has position row i a rate? A rate has an entry in each column of u where row i has a large one in
 * q; of these columns the one with fewest entries is searched. */
static int hasRate(Search *p, int i) {
  const CPMat *G = &p->G[PROBES - 1];
  const CPMat *g = p->g;
  int best       = -1;
  size_t fewest  = SIZE_MAX;
  double top     = 0.0;
  for (size_t e = G->start[i]; e < G->start[i + 1]; e++) top = fmax(top, fabs(G->value[e]));
  for (size_t e = G->start[i]; e < G->start[i + 1]; e++) {
    if (fabs(G->value[e]) < 0.5 * top || kindOf(p, G->row[e]) != 'q') continue;
    const int j         = velocityOf(p, G->row[e]);
    const size_t length = g->start[j + 1] - g->start[j];
    if (length < fewest) fewest = length, best = j;
  }
  for (size_t e = best < 0 ? 0 : g->start[best]; best >= 0 && e < g->start[best + 1]; e++)
    if (g->row[e] < p->mc && isRate(p, i, g->row[e])) return 1;
  return 0;
}

/* Are all components of all norms positions? */
static int normsArePositions(const Search *p) {
  for (int i = p->mc; i < p->m; i++)
    for (int j = p->first[i]; j <= p->last[i]; j++)
      if (kindOf(p, j) != 'q') return 0;
  return 1;
}

/* ---- the candidates ---- */

/* Number of position rows in a split of the whole state: those that end before u, or start after
 * it. */
static int positionsOf(const Search *p, int nq, int reverse) {
  return reverse ? p->mc - (int)p->by_first.start[nq] : (int)p->by_last.start[nq];
}

/* Searches the splits of the whole state, in which no row may have an entry in z. Splits with more
 * positions come first: linear constraints, whose rows are alike, also fit other splits, which
 * mistake most positions for velocities. The number of position rows increases with nq for (q, u),
 * and decreases for (u, q). */
static int searchSplits(Search *p) {
  const int largest = p->n / 2, smallest = (p->end + 1) / 2;
  int forward = largest, reverse = smallest;
  for (int tried = 0; tried < 2 * (largest - smallest + 1); tried++) {
    const int more = forward < smallest ? -1 : positionsOf(p, forward, 0);
    const int take = reverse <= largest && positionsOf(p, reverse, 1) > more;
    p->at          = (Layout){take ? reverse++ : forward--, 1, take, p->at.id + 1};
    const int npos = positionsOf(p, p->at.k, take);
    const int *row = take ? p->by_first.row + p->mc - npos : p->by_last.row;
    int fits       = npos > 0 && p->mc - npos >= npos;
    /* The position next to u comes first: if the split is wrong, this one most probably has no
     * rate. */
    for (int r = 0; fits && r < npos; r++) fits = hasRate(p, row[take ? r : npos - 1 - r]);
    if (fits && normsArePositions(p)) return 1;
  }
  return 0;
}

/* Equal blocks (q, u) or (u, q), each of 2 k components. */
static int searchBlocks(Search *p) {
  const int largest = p->n > LARGE_STATE ? LARGEST_BLOCK : p->n / 4;
  for (int candidate = 0; candidate < 2 * largest; candidate++) {
    const int k = 1 + candidate / 2, blocks = p->n / (2 * k);
    int npos = 0, nvel = 0;
    p->at = (Layout){k, blocks, candidate % 2, p->at.id + 1};
    if (p->end > 2 * k * blocks) continue;
    for (int i = 0; i < p->mc && npos >= 0; i++) {
      if (touchesU(p, i)) nvel++;
      else npos = hasRate(p, i) ? npos + 1 : -1;
    }
    if (npos > 0 && nvel >= npos && normsArePositions(p)) return 1;
  }
  return 0;
}

/* Finds a layout, p->at. Returns 1, or 0 if there is none, as with a row that has no entry, or if the
 * arena has failed. */
static int search(Search *p, const CPUnitNorm *norms) {
  for (int i = 0; i < p->mc; i++) {
    p->first[i] = p->n, p->last[i] = -1;
    for (int s = 0; s < PROBES; s++)
      for (size_t e = p->G[s].start[i]; e < p->G[s].start[i + 1]; e++) {
        if (fabs(p->G[s].value[e]) <= p->same) continue;
        if (p->G[s].row[e] < p->first[i]) p->first[i] = p->G[s].row[e];
        if (p->G[s].row[e] > p->last[i]) p->last[i] = p->G[s].row[e];
      }
    if (p->last[i] < 0) return 0;
  }
  for (int i = p->mc; i < p->m; i++) {
    p->first[i] = norms[i - p->mc].first;
    p->last[i]  = p->first[i] + norms[i - p->mc].length - 1;
  }
  for (int i = 0; i < p->m; i++)
    if (p->last[i] >= p->end) p->end = p->last[i] + 1;
  if (cpListByClass(&p->arena, p->first, p->mc, p->n, &p->by_first) ||
      cpListByClass(&p->arena, p->last, p->mc, p->n, &p->by_last))
    return 0;
  return searchSplits(p) || searchBlocks(p);
}

int cpDetectLevels(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  CPProjector P = work->P;
  Search p = {.n = P->n, .m = P->m, .mc = P->mc, .same = P->user.jac ? SAME : SAME_DQ, .g = &work->g};
  int flag = CP_SUCCESS, found = 0;
  if (P->mc > 0) { /* norms alone have one level */
    CP_NEW(&p.arena, p.first, p.m), CP_NEW(&p.arena, p.last, p.m);
    CP_NEW(&p.arena, p.square, p.m), CP_NEW(&p.arena, p.view, p.m);
    flag = cpWeights(work, y, ewt);
    if (!flag && !cpArenaStatus(&p.arena)) flag = takeProbes(work, t, y, &p);
    found = !flag && !cpArenaStatus(&p.arena) && search(&p, P->norms);
    if (cpArenaStatus(&p.arena)) flag = cpReason(work->text, CP_MEM_FAIL, "no memory");
  }
  if (flag >= 0) { /* if c cannot be evaluated near y, there is one level */
    for (int i = 0; i < P->m; i++) P->row_level[i] = found && i < P->mc && touchesU(&p, i);
    for (int j = 0; j < P->n; j++) P->col_level[j] = found && kindOf(&p, j) == 'u';
    P->nlevels = found ? 2 : 1;
  }
  cpArenaFree(&p.arena);
  return flag > 0 ? CP_SUCCESS : flag;
}
