/* Order of elimination and structure of the sparse solver: once per structure of A. */
#include "sparse_impl.h"

#include <stdlib.h>
#include <string.h>

/* A component in more constraints than this is kept as an unknown, unless so many are that nothing
 * is won. */
#define KEPT_ABOVE    50
#define KEPT_FRACTION 0.1
/* Operations per entry of L above which supernodes are faster. */
#define SUPERNODES_ABOVE 150.0

/* What only the analysis needs. */
typedef struct {
  int nkept;
  char *is_kept;    /* [n]                                         */
  char *is_reached; /* [m] moves a component that is not kept      */
  int *position;    /* [m] of constraints                          */
  int *component;   /* [n + m] kept component at position k, or -1 */
  size_t *start;    /* [m + 1] columns of A                        */
  int *row;         /* [entries] components                        */
  size_t *entry;    /* [entries] place in A^T                      */
  size_t *fill;     /* [n + m] cursors                             */
  size_t *mark;     /* [n + m] k + 1: counted in column k          */
} Plan;

static void freePlan(Plan *p) {
  free(p->is_kept);
  free(p->is_reached);
  free(p->position);
  free(p->component);
  free(p->start);
  free(p->row);
  free(p->entry);
  free(p->fill);
  free(p->mark);
}

static int createPlan(const CPLin lin, Plan *p) {
  const size_t n = (size_t)lin->n, m = (size_t)lin->m, entries = lin->AT->start[n];
  p->is_kept    = cpSparseAllocate(n, sizeof *p->is_kept);
  p->is_reached = cpSparseAllocate(m, sizeof *p->is_reached);
  p->position   = cpSparseAllocate(m, sizeof *p->position);
  p->component  = cpSparseAllocate(n + m, sizeof *p->component);
  p->start      = cpSparseAllocate(m + 1, sizeof *p->start);
  p->row        = cpSparseAllocate(entries, sizeof *p->row);
  p->entry      = cpSparseAllocate(entries, sizeof *p->entry);
  p->fill       = cpSparseAllocate(n + m, sizeof *p->fill);
  p->mark       = cpSparseAllocate(n + m, sizeof *p->mark);
  return p->is_kept && p->is_reached && p->position && p->component && p->start && p->row &&
                 p->entry && p->fill && p->mark
             ? CP_SUCCESS
             : CP_MEM_FAIL;
}

static void chooseKept(const CPLin lin, Plan *p) {
  const CPEntries *a = lin->AT;
  for (int j = 0; j < lin->n; j++) {
    p->is_kept[j] = a->start[j + 1] - a->start[j] > KEPT_ABOVE;
    p->nkept += p->is_kept[j];
  }
  const int too_many = p->nkept > KEPT_FRACTION * lin->m;
  for (int j = 0; j < lin->n; j++) {
    if (too_many) p->is_kept[j] = 0;
    for (size_t k = a->start[j]; !p->is_kept[j] && k < a->start[j + 1]; k++)
      p->is_reached[a->row[k]] = 1;
  }
  if (too_many) p->nkept = 0;
}

/* Columns of A from those of A^T. */
static void transpose(const CPLin lin, Plan *p) {
  const CPEntries *a = lin->AT;
  for (size_t k = 0; k < a->start[lin->n]; k++) p->start[a->row[k] + 1]++;
  for (int i = 0; i < lin->m; i++) p->start[i + 1] += p->start[i];
  for (int i = 0; i < lin->m; i++) p->fill[i] = p->start[i];
  for (int j = 0; j < lin->n; j++)
    for (size_t k = a->start[j]; k < a->start[j + 1]; k++) {
      const size_t q = p->fill[a->row[k]]++;
      p->row[q]      = j;
      p->entry[q]    = k;
    }
}

/* A^T without the kept components. */
static cholmod_sparse *unkeptPart(const CPLin lin, Sparse *s, const Plan *p) {
  const CPEntries *a = lin->AT;
  const size_t n     = (size_t)lin->n;
  cholmod_sparse *B  = cholmod_l_allocate_sparse((size_t)lin->m, n, a->start[n], 1, 1, 0,
                                                 CHOLMOD_PATTERN, &s->common);
  if (!B) return NULL;
  Index *start = B->p, *row = B->i, count = 0;
  for (size_t j = 0; j < n; j++) {
    start[j] = count;
    for (size_t k = a->start[j]; !p->is_kept[j] && k < a->start[j + 1]; k++)
      row[count++] = a->row[k];
  }
  start[n] = count;
  return B;
}

static void place(Sparse *s, Plan *p, int constraint, int component) {
  s->constraint[s->order] = constraint;
  p->component[s->order]  = component;
  if (constraint >= 0) p->position[constraint] = s->order;
  s->order++;
}

/* Constraints first, in an order of little fill; the kept components after those that move anything
 * else, so that no pivot is zero by structure; then the constraints on kept components alone. */
static int chooseOrder(const CPLin lin, Sparse *s, Plan *p) {
  cholmod_common *c     = &s->common;
  cholmod_sparse *B     = unkeptPart(lin, s, p);
  c->nmethods           = 2; /* METIS may end the program for want of memory */
  c->method[0].ordering = CHOLMOD_NATURAL;
  c->method[1].ordering = CHOLMOD_AMD;
  c->postorder          = 1;
  c->supernodal         = p->nkept ? CHOLMOD_SIMPLICIAL : CHOLMOD_AUTO;
  c->supernodal_switch  = SUPERNODES_ABOVE;
  cholmod_factor *L     = B ? cholmod_l_analyze(B, c) : NULL;
  const Index *permuted = L ? L->Perm : NULL;
  for (int pass = 0; L && pass < 2; pass++) {
    for (int k = 0; k < lin->m; k++)
      if (p->is_reached[permuted[k]] == !pass) place(s, p, (int)permuted[k], -1);
    for (int j = 0; !pass && j < lin->n; j++)
      if (p->is_kept[j]) place(s, p, -1, j);
  }
  if (L) s->is_lower = L->is_super;
  const int flag = L ? CP_SUCCESS : cpSparseFailure(s);
  cholmod_l_free_factor(&L, c);
  cholmod_l_free_sparse(&B, c);
  return flag;
}

/* Entries of A^T by ascending position, and the columns of A that run over them. */
static void sortEntries(const CPLin lin, Sparse *s, Plan *p) {
  const CPEntries *a = lin->AT;
  size_t count       = 0;
  for (int j = 0; j < lin->n; j++) p->fill[j] = a->start[j];
  for (int k = 0; k < s->order; k++) {
    const int i  = s->constraint[k];
    s->column[k] = count;
    for (size_t q = i < 0 ? 0 : p->start[i]; i >= 0 && q < p->start[i + 1]; q++) {
      const int j         = p->row[q];
      const size_t sorted = p->fill[j]++;
      s->position[sorted] = k;
      s->from[sorted]     = p->entry[q];
      if (p->is_kept[j]) continue;
      s->first[count]  = s->is_lower ? sorted : a->start[j];
      s->last[count++] = s->is_lower ? a->start[j + 1] - 1 : sorted;
    }
  }
  s->column[s->order] = count;
}

/* Entries of S0 in the column at position k, the diagonal first: their number; rows [number] unless
 * NULL. mark [order]: k + 1 where counted. */
static Index productColumn(const Sparse *s, int k, Index *rows, size_t *mark) {
  Index count = 0;
  if (rows) rows[count] = k;
  count++;
  mark[k] = (size_t)k + 1;
  for (size_t e = s->column[k]; e < s->column[k + 1]; e++)
    for (size_t l = s->first[e]; l <= s->last[e]; l++) {
      const int row = s->position[l];
      if (mark[row] == (size_t)k + 1) continue;
      mark[row] = (size_t)k + 1;
      if (rows) rows[count] = row;
      count++;
    }
  return count;
}

/* Lengths of K's columns to start[1 ... order], then their starts. U has the row of a kept
 * component and the column of a constraint, or the other way round: K's upper triangle. */
static void countColumns(const CPLin lin, Sparse *s, Plan *p, Index *start) {
  const CPEntries *a = lin->AT;
  for (int k = 0; k < s->order; k++) {
    start[k + 1] += productColumn(s, k, NULL, p->mark);
    const int j = p->component[k];
    for (size_t l = j < 0 ? 0 : a->start[j]; j >= 0 && l < a->start[j + 1]; l++, s->nborder++)
      start[(k > s->position[l] ? k : s->position[l]) + 1]++;
  }
  for (int k = 0; k < s->order; k++) start[k + 1] += start[k], p->mark[k] = 0;
}

static void fillColumns(const CPLin lin, Sparse *s, Plan *p) {
  const CPEntries *a = lin->AT;
  Index *start = s->K->p, *row = s->K->i;
  size_t count = 0;
  for (int k = 0; k < s->order; k++) {
    s->product_end[k] = start[k] + productColumn(s, k, row + start[k], p->mark);
    p->fill[k]        = (size_t)s->product_end[k];
  }
  for (int k = 0; k < s->order; k++) {
    const int j = p->component[k];
    if (j < 0) continue;
    ((double *)s->K->x)[start[k]] = -1.0;
    for (size_t l = a->start[j]; l < a->start[j + 1]; l++) {
      const int i              = s->position[l];
      s->border_to[count]      = p->fill[i > k ? i : k]++;
      s->border_from[count]    = l;
      row[s->border_to[count]] = i > k ? k : i;
      count++;
    }
  }
}

static int createMatrix(const CPLin lin, Sparse *s, Plan *p) {
  const size_t order = (size_t)s->order;
  Index *start       = cpSparseAllocate(order + 1, sizeof *start);
  if (!start) return CP_MEM_FAIL;
  countColumns(lin, s, p, start);
  s->K = cholmod_l_allocate_sparse(order, order, (size_t)start[order], 0, 1, s->is_lower ? -1 : 1,
                                   CHOLMOD_REAL, &s->common);
  s->border_to   = cpSparseAllocate(s->nborder, sizeof *s->border_to);
  s->border_from = cpSparseAllocate(s->nborder, sizeof *s->border_from);
  const int fine = s->K && s->border_to && s->border_from;
  if (fine) {
    memcpy(s->K->p, start, (order + 1) * sizeof *start);
    fillColumns(lin, s, p);
  }
  free(start);
  return fine ? CP_SUCCESS : CP_MEM_FAIL;
}

/* Vectors of the solution, the workspace as CHOLMOD makes it: four right-hand sides at a time
 * without supernodes. (It would make it by itself, but crashes when only some of it fits into
 * memory.) */
static int createVectors(Sparse *s) {
  const size_t order = (size_t)s->order, block = s->is_lower ? order : 4;
  cholmod_common *c = &s->common;
  s->b              = cholmod_l_zeros(order, 1, CHOLMOD_REAL, c);
  s->x              = cholmod_l_zeros(order, 1, CHOLMOD_REAL, c);
  s->y              = cholmod_l_zeros(block, s->is_lower ? 1 : order, CHOLMOD_REAL, c);
  s->e              = s->is_lower ? cholmod_l_zeros(1, s->L->maxesize, CHOLMOD_REAL, c) : NULL;
  return s->b && s->x && s->y && (s->e || !s->is_lower) ? CP_SUCCESS : CP_MEM_FAIL;
}

/* K is in its order of elimination already, so that CHOLMOD need not permute it each time. */
static int analyse(Sparse *s) {
  cholmod_common *c = &s->common;
  c->nmethods       = 1;
  c->postorder      = 0;
  c->supernodal     = s->is_lower ? CHOLMOD_SUPERNODAL : CHOLMOD_SIMPLICIAL;
  s->L              = cholmod_l_analyze(s->K, c);
  return s->L ? createVectors(s) : cpSparseFailure(s);
}

static int createArrays(const CPLin lin, Sparse *s, const Plan *p) {
  const size_t order = (size_t)lin->m + (size_t)p->nkept, entries = lin->AT->start[lin->n];
  s->constraint  = cpSparseAllocate(order, sizeof *s->constraint);
  s->present     = cpSparseAllocate(order, sizeof *s->present);
  s->dropped     = cpSparseAllocate(order, sizeof *s->dropped);
  s->z           = cpSparseAllocate((size_t)lin->n, sizeof *s->z);
  s->position    = cpSparseAllocate(entries, sizeof *s->position);
  s->from        = cpSparseAllocate(entries, sizeof *s->from);
  s->value       = cpSparseAllocate(entries, sizeof *s->value);
  s->column      = cpSparseAllocate(order + 1, sizeof *s->column);
  s->first       = cpSparseAllocate(entries, sizeof *s->first);
  s->last        = cpSparseAllocate(entries, sizeof *s->last);
  s->product_end = cpSparseAllocate(order, sizeof *s->product_end);
  s->w           = cpSparseAllocate(order, sizeof *s->w);
  return s->constraint && s->present && s->dropped && s->z && s->position && s->from && s->value &&
                 s->column && s->first && s->last && s->product_end && s->w
             ? CP_SUCCESS
             : CP_MEM_FAIL;
}

int cpSparseOrder(CPLin lin) {
  Sparse *s = lin->content;
  Plan p    = {0};
  int flag  = createPlan(lin, &p);
  if (!flag) {
    chooseKept(lin, &p);
    transpose(lin, &p);
    flag = createArrays(lin, s, &p);
  }
  if (!flag) flag = chooseOrder(lin, s, &p);
  if (!flag) {
    sortEntries(lin, s, &p);
    flag = createMatrix(lin, s, &p);
  }
  if (!flag) flag = analyse(s);
  freePlan(&p);
  return flag;
}
