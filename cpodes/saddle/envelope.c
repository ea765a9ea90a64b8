/* L D L^T in an envelope, row by row: with l_k. and d of the rows before,
 *
 *   v_i = k_ki - sum_{j < i} l_ij v_j,   l_ki = v_i / d_i,   d_k = k_kk - sum_i l_ki v_i.
 *
 * (A. George, J. W. Liu, Computer Solution of Large Sparse Positive Definite Systems, 1981, chapter 4.) */
#include "envelope.h"

#include "small.h"

#include <math.h>
#include <string.h>

int cpEnvelopeCreate(CPEnvelope *e, CPArena *arena, int n, int m) {
  e->n    = n;
  e->room = n + m;
  CP_NEW(arena, e->first, e->room);
  CP_NEW(arena, e->L, (size_t)e->room * (size_t)e->room);
  CP_ARRAYS(arena, e->room, &e->inverse, &e->size, &e->work);
  return cpArenaStatus(arena);
}

static double *rowOf(const CPEnvelope *e, int k) { return e->L + (size_t)k * (size_t)e->room; }

/* l, a row below those before `to` with the entries from first on, becomes v. */
static void eliminate(const CPEnvelope *e, int first, int to, double *l) {
  const double *before = rowOf(e, first);
  for (int i = first + 1; i < to; i++) {
    before += e->room;
    double v = l[i];
    for (int j = first > e->first[i] ? first : e->first[i]; j < i; j++) v -= before[j] * l[j];
    l[i] = v;
  }
}

/* sum_i v_i^2 / d_i over the entries from `from` to `to`, which become l_ki */
static double divide(const CPEnvelope *e, double *l, int from, int to) {
  double sum = 0.0;
  for (int i = from; i < to; i++) {
    const double v = l[i];
    l[i]           = v * e->inverse[i];
    sum += v * l[i];
  }
  return sum;
}

/* ---- singular matrices: rows from `from` to `to` are those of W, or of S ---- */

typedef struct {
  const CPEnvelope *e;
  int from, to;
} Part;

static void substitute(const CPEnvelope *e, int first, int to, int last, double *z) {
  eliminate(e, first, to, z);
  for (int k = first; k < to; k++) z[k] *= e->inverse[k];
  const double *l = rowOf(e, to);
  for (int k = to - 1; k > last; k--) {
    const double zk = z[k];
    l -= e->room;
    for (int j = last > e->first[k] ? last : e->first[k]; j < k; j++) z[j] -= l[j] * zk;
  }
}

static int trialSolve(void *factors, double *x) {
  const Part *part    = factors;
  const CPEnvelope *e = part->e;
  double *z           = e->work;
  memset(z, 0, (size_t)part->from * sizeof *z);
  for (int k = part->from; k < part->to; k++) z[k] = x[k - part->from] * sqrt(e->size[k]);
  substitute(e, part->from, part->to, part->from, z);
  for (int k = part->from; k < part->to; k++) x[k - part->from] = z[k] * sqrt(e->size[k]);
  return 0;
}

static int isSingular(const CPEnvelope *e, int from, int to) {
  double x[CP_SMALL];
  Part part = {e, from, to};
  return cpJudge(trialSolve, &part, x, to - from);
}

/* ---- factors ---- */

int cpEnvelopeFactorWeight(CPEnvelope *e, const double *W, double least) {
  double smallest = 1.0;
  int worst       = 0;
  for (int k = 0; k < e->n; k++, W += e->n) {
    double *l = rowOf(e, k);
    int first = 0;
    while (first < k && W[first] == 0.0) first++;
    for (int i = first; i < k; i++) l[i] = W[i];
    e->first[k] = first;
    eliminate(e, first, k, l);
    const double size = W[k], pivot = size - divide(e, l, first, k);
    if (!(size > 0.0 && pivot > least * least * size)) return k + 1;
    e->size[k]    = size;
    e->inverse[k] = 1.0 / pivot;
    if (pivot < smallest * size) smallest = pivot / size, worst = k;
  }
  return smallest < CP_SMALL_PIVOT && isSingular(e, 0, e->n) ? worst + 1 : 0;
}

int cpEnvelopeFactorRows(CPEnvelope *e, const CPMat *A, const int *row, int nrows, double least,
                         double *sine) {
  const int n     = e->n;
  const size_t m  = (size_t)A->rows;
  double smallest = 1.0;
  int worst       = n;
  e->order        = n + nrows;
  for (int k = n; k < e->order; k++) {
    const double *a = A->value + row[k - n];
    double *l       = rowOf(e, k);
    int first       = 0;
    for (int j = 0; j < n; j++, a += m) l[j] = *a;
    while (first < n && l[first] == 0.0) first++;
    for (int i = n; i < k; i++) l[i] = 0.0;
    e->first[k] = first;
    eliminate(e, first, k, l);
    const double size = divide(e, l, first, n), pivot = size + divide(e, l, n, k); /* s_kk, |d_k| */
    if (!(size > 0.0 && pivot > least * least * size)) return k - n + 1;
    e->size[k]    = size;
    e->inverse[k] = -1.0 / pivot;
    if (pivot < smallest * size) smallest = pivot / size, worst = k;
  }
  *sine = sqrt(smallest);
  return smallest < CP_SMALL_PIVOT && isSingular(e, n, e->order) ? worst - n + 1 : 0;
}

void cpEnvelopeSolve(const CPEnvelope *e, int first, int last, double *z) {
  substitute(e, first, e->order, last, z);
}
