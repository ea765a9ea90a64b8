/* Schur complement of small dense W and A: [W A^T; A 0] = L D L^T without pivoting, in one pass. The first n pivots are
 * those of W; the others are those of -S, S = A W^{-1} A^T. Rows of L begin with the first entry of the matrix that is
 * not zero, which keeps diagonal and block-diagonal W as cheap as they are. With l_k. and d of the rows before,
 *
 *   v_i = k_ki - sum_{j < i} l_ij v_j,   l_ki = v_i / d_i,   d_k = k_kk - sum_i l_ki v_i.
 *
 * (A. George, J. W. Liu, Computer Solution of Large Sparse Positive Definite Systems, 1981, chapter 4.) */
#include "saddle_impl.h"

#include <math.h>
#include <string.h>

typedef struct {
  int n, order, room; /* of W; of W and the rows in use; most rows */
  int *first;         /* [room] */
  double *L;          /* [room x room] by rows, below the diagonal */
  double *inverse;    /* [room] 1 / d_k */
  double *size;       /* [room] w_kk, or s_kk: a pivot is this times the squared sine of an angle */
  double *v, *z;      /* [room] */
  long int of;        /* s->weights that the rows of W belong to */
} Envelope;

static int create(CPSaddle s) {
  CPArena *arena = &s->used.arena;
  Envelope *e;
  s->used.content = CP_NEW(arena, e, 1);
  if (!e) return CP_MEM_FAIL;
  e->n    = s->n;
  e->room = s->n + s->m;
  CP_NEW(arena, e->first, e->room);
  CP_NEW(arena, e->L, (size_t)e->room * (size_t)e->room);
  CP_ARRAYS(arena, e->room, &e->inverse, &e->size, &e->v, &e->z);
  return cpArenaStatus(arena);
}

static inline double *rowOf(const Envelope *e, int k) { return e->L + (size_t)k * (size_t)e->room; }

/* v_i and l_ki for i = from ... to - 1 of a row that begins at `first`; its entries k_ki are k[i stride].
 * Returns sum_i l_ki v_i. */
static inline double eliminate(const Envelope *e, int first, int from, int to, const double *k,
                               size_t stride, double *v, double *l) {
  const double *before = rowOf(e, from);
  double sum           = 0.0;
  for (int i = from; i < to; i++, before += e->room) {
    double vi = k[(size_t)i * stride];
    for (int j = first > e->first[i] ? first : e->first[i]; j < i; j++) vi -= before[j] * v[j];
    v[i] = vi;
    l[i] = vi * e->inverse[i];
    sum += vi * l[i];
  }
  return sum;
}

/* z <- L^{-T} z in the rows before `to`; entries before `last` are not computed. */
static inline void substituteBack(const Envelope *e, int to, int last, double *z) {
  const double *l = rowOf(e, to);
  for (int k = to - 1; k > last; k--) {
    const double zk = z[k];
    l -= e->room;
    for (int j = last > e->first[k] ? last : e->first[k]; j < k; j++) z[j] -= l[j] * zk;
  }
}

/* ---- singular matrices: rows from `from` to `to` are those of W, or of S ---- */

typedef struct {
  const Envelope *e;
  int from, to;
} Part;

static int trialSolve(void *factors, double *x) {
  const Part *part  = factors;
  const Envelope *e = part->e;
  double *v = e->v, *z = e->z;
  for (int k = part->from; k < part->to; k++) v[k] = x[k - part->from] * sqrt(e->size[k]);
  eliminate(e, part->from, part->from, part->to, v, 1, v, z);
  substituteBack(e, part->to, part->from, z);
  for (int k = part->from; k < part->to; k++) x[k - part->from] = z[k] * sqrt(e->size[k]);
  return 0;
}

static int isSingular(const Envelope *e, int from, int to) {
  double x[CP_SMALL];
  Part part = {e, from, to};
  return cpJudge(trialSolve, &part, x, to - from);
}

/* ---- factors, as cpCholeskyFactor makes them with scaling to unit diagonal: 0, or k + 1 for the row that fails ---- */

/* The upper triangle of W counts. */
static int factorWeight(Envelope *e, const double *W) {
  const double least = CP_CHOLESKY_LEAST;
  double smallest    = 1.0;
  int worst          = 0;
  for (int k = 0; k < e->n; k++, W += e->n) {
    double *l = rowOf(e, k);
    int first = 0;
    while (first < k && W[first] == 0.0) first++;
    e->first[k]       = first;
    const double size = W[k], pivot = size - eliminate(e, first, first, k, W, 1, e->v, l);
    if (!(size > 0.0 && pivot > least * least * size)) return k + 1;
    e->size[k]    = size;
    e->inverse[k] = 1.0 / pivot;
    if (pivot < smallest * size) smallest = pivot / size, worst = k;
  }
  return smallest < CP_SMALL_PIVOT && isSingular(e, 0, e->n) ? worst + 1 : 0;
}

static int factorRows(Envelope *e, CPSaddle s) {
  const int n = e->n, order = e->order = n + s->nrows;
  const size_t m     = (size_t)s->m;
  const double least = s->ranktol > CP_CHOLESKY_LEAST ? s->ranktol : CP_CHOLESKY_LEAST, zero = 0.0;
  double smallest = 1.0;
  int worst       = n;
  for (int k = n; k < order; k++) {
    const double *a = s->A.value + s->row[k - n];
    double *l       = rowOf(e, k);
    int first       = 0;
    while (first < n && a[(size_t)first * m] == 0.0) first++;
    e->first[k]        = first;
    const double size  = eliminate(e, first, first, n, a, m, e->v, l);        /* s_kk */
    const double pivot = size + eliminate(e, first, n, k, &zero, 0, e->v, l); /* |d_k| */
    if (!(size > 0.0 && pivot > least * least * size)) return k - n + 1;
    e->size[k]    = size;
    e->inverse[k] = -1.0 / pivot;
    if (pivot < smallest * size) smallest = pivot / size, worst = k;
  }
  s->sine = sqrt(smallest);
  return smallest < CP_SMALL_PIVOT && isSingular(e, n, order) ? worst - n + 1 : 0;
}

static int factor(CPSaddle s) {
  Envelope *e = s->used.content;
  if (e->of != s->weights) {
    e->of         = 0;
    s->indefinite = factorWeight(e, s->M.value) - 1;
    if (s->indefinite >= 0) return CP_SADDLE_NOT_DEFINITE;
    e->of = s->weights;
  }
  const int bad = factorRows(e, s);
  if (!bad) return 0;
  cpSaddleMarkDependent(s, s->row[bad - 1]);
  return CP_SADDLE_DEPENDENT;
}

static int solve(CPSaddle s, const double *f, const double *b, double *x, double *mu) {
  const Envelope *e = s->used.content;
  const int n = e->n, order = e->order, first = f ? 0 : n, *row = s->row;
  double *v = e->v, *z = e->z;
  for (int j = 0; j < first; j++) z[j] = 0.0;
  for (int k = n; k < order; k++) v[k] = b ? b[row[k - n]] : 0.0;
  eliminate(e, first, first, n, f, 1, v, z);
  eliminate(e, first, n, order, v, 1, v, z);
  substituteBack(e, order, x ? 0 : n, z);
  for (int j = 0; x && j < n; j++) x[j] = z[j];
  for (int k = n; mu && k < order; k++) mu[row[k - n]] = z[k];
  return 0;
}

const CPSaddleOps cpSaddleEnvelopeOps = {create, factor, solve};
