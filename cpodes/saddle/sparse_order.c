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
  CPArena arena;
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

static int createPlan(const CPComplement *c, Plan *p) {
  const size_t entries = c->XT.start[c->n];
  CPArena *arena       = &p->arena;
  CP_NEW(arena, p->is_kept, c->n);
  CP_NEW(arena, p->is_reached, c->m);
  CP_NEW(arena, p->position, c->m);
  CP_NEW(arena, p->component, c->n + c->m);
  CP_NEW(arena, p->start, c->m + 1);
  CP_NEW(arena, p->row, entries);
  CP_NEW(arena, p->entry, entries);
  CP_NEW(arena, p->fill, c->n + c->m);
  CP_NEW(arena, p->mark, c->n + c->m);
  return cpArenaStatus(arena);
}

static void chooseKept(const CPComplement *c, Plan *p) {
  const CPMat *a = &c->XT;
  for (int j = 0; j < c->n; j++) {
    p->is_kept[j] = a->start[j + 1] - a->start[j] > KEPT_ABOVE;
    p->nkept += p->is_kept[j];
  }
  const int too_many = p->nkept > KEPT_FRACTION * c->m;
  for (int j = 0; j < c->n; j++) {
    if (too_many) p->is_kept[j] = 0;
    for (size_t k = a->start[j]; !p->is_kept[j] && k < a->start[j + 1]; k++)
      p->is_reached[a->row[k]] = 1;
  }
  if (too_many) p->nkept = 0;
}

/* Columns of A from those of A^T. */
static void transpose(const CPComplement *c, Plan *p) {
  const CPMat *a = &c->XT;
  for (size_t k = 0; k < a->start[c->n]; k++) p->start[a->row[k] + 1]++;
  for (int i = 0; i < c->m; i++) p->start[i + 1] += p->start[i];
  for (int i = 0; i < c->m; i++) p->fill[i] = p->start[i];
  for (int j = 0; j < c->n; j++)
    for (size_t k = a->start[j]; k < a->start[j + 1]; k++) {
      const size_t q = p->fill[a->row[k]]++;
      p->row[q]      = j;
      p->entry[q]    = k;
    }
}

/* A^T without the kept components. */
static cholmod_sparse *unkeptPart(const CPComplement *c, Sparse *s, const Plan *p) {
  const CPMat *a = &c->XT;
  const size_t n = (size_t)c->n;
  cholmod_sparse *B =
      cholmod_l_allocate_sparse((size_t)c->m, n, a->start[n], 1, 1, 0, CHOLMOD_PATTERN, &s->common);
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
static int chooseOrder(const CPComplement *c, Sparse *s, Plan *p) {
  cholmod_common *chol     = &s->common;
  cholmod_sparse *B        = unkeptPart(c, s, p);
  chol->nmethods           = 2; /* METIS may end the program for want of memory */
  chol->method[0].ordering = CHOLMOD_NATURAL;
  chol->method[1].ordering = CHOLMOD_AMD;
  chol->postorder          = 1;
  chol->supernodal         = p->nkept ? CHOLMOD_SIMPLICIAL : CHOLMOD_AUTO;
  chol->supernodal_switch  = SUPERNODES_ABOVE;
  cholmod_factor *L        = B ? cholmod_l_analyze(B, chol) : NULL;
  const Index *permuted    = L ? L->Perm : NULL;
  for (int pass = 0; L && pass < 2; pass++) {
    for (int k = 0; k < c->m; k++)
      if (p->is_reached[permuted[k]] == !pass) place(s, p, (int)permuted[k], -1);
    for (int j = 0; !pass && j < c->n; j++)
      if (p->is_kept[j]) place(s, p, -1, j);
  }
  if (L) s->is_lower = L->is_super;
  const int flag = L ? CP_SUCCESS : cpSparseFailure(s);
  cholmod_l_free_factor(&L, chol);
  cholmod_l_free_sparse(&B, chol);
  return flag;
}

/* Entries of A^T by ascending position, and the columns of A that run over them. */
static void sortEntries(const CPComplement *c, Sparse *s, Plan *p) {
  const CPMat *a = &c->XT;
  size_t count   = 0;
  for (int j = 0; j < c->n; j++) p->fill[j] = a->start[j];
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
static void countColumns(const CPComplement *c, Sparse *s, Plan *p, Index *start) {
  const CPMat *a = &c->XT;
  for (int k = 0; k < s->order; k++) {
    start[k + 1] += productColumn(s, k, NULL, p->mark);
    const int j = p->component[k];
    for (size_t l = j < 0 ? 0 : a->start[j]; j >= 0 && l < a->start[j + 1]; l++, s->nborder++)
      start[(k > s->position[l] ? k : s->position[l]) + 1]++;
  }
  for (int k = 0; k < s->order; k++) start[k + 1] += start[k], p->mark[k] = 0;
}

static void fillColumns(const CPComplement *c, Sparse *s, Plan *p) {
  const CPMat *a = &c->XT;
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

static int createMatrix(const CPComplement *c, Sparse *s, Plan *p, CPArena *arena) {
  const size_t order = (size_t)s->order;
  Index *start       = CP_NEW(&p->arena, start, order + 1);
  if (!start) return CP_MEM_FAIL;
  countColumns(c, s, p, start);
  s->K = cholmod_l_allocate_sparse(order, order, (size_t)start[order], 0, 1, s->is_lower ? -1 : 1,
                                   CHOLMOD_REAL, &s->common);
  CP_NEW(arena, s->border_to, s->nborder);
  CP_NEW(arena, s->border_from, s->nborder);
  if (!s->K || cpArenaStatus(arena)) return CP_MEM_FAIL;
  memcpy(s->K->p, start, (order + 1) * sizeof *start);
  fillColumns(c, s, p);
  return CP_SUCCESS;
}

/* Vectors of the solution, the workspace as CHOLMOD makes it: four right-hand sides at a time
 * without supernodes. (It would make it by itself, but crashes when only some of it fits into
 * memory.) */
static int createVectors(Sparse *s) {
  const size_t order = (size_t)s->order, block = s->is_lower ? order : 4;
  cholmod_common *chol = &s->common;
  s->b                 = cholmod_l_zeros(order, 1, CHOLMOD_REAL, chol);
  s->x                 = cholmod_l_zeros(order, 1, CHOLMOD_REAL, chol);
  s->y                 = cholmod_l_zeros(block, s->is_lower ? 1 : order, CHOLMOD_REAL, chol);
  s->e = s->is_lower ? cholmod_l_zeros(1, s->L->maxesize, CHOLMOD_REAL, chol) : NULL;
  return s->b && s->x && s->y && (s->e || !s->is_lower) ? CP_SUCCESS : CP_MEM_FAIL;
}

/* K is in its order of elimination already, so that CHOLMOD need not permute it each time. */
static int analyse(Sparse *s) {
  cholmod_common *chol = &s->common;
  chol->nmethods       = 1;
  chol->postorder      = 0;
  chol->supernodal     = s->is_lower ? CHOLMOD_SUPERNODAL : CHOLMOD_SIMPLICIAL;
  s->L                 = cholmod_l_analyze(s->K, chol);
  return s->L ? createVectors(s) : cpSparseFailure(s);
}

static int createArrays(const CPComplement *c, Sparse *s, const Plan *p, CPArena *arena) {
  const size_t order = (size_t)c->m + (size_t)p->nkept, entries = c->XT.start[c->n];
  CP_NEW(arena, s->constraint, order);
  CP_NEW(arena, s->present, order);
  CP_NEW(arena, s->dropped, order);
  CP_NEW(arena, s->z, c->n);
  CP_NEW(arena, s->coefficient, c->m);
  CP_NEW(arena, s->position, entries);
  CP_NEW(arena, s->from, entries);
  CP_NEW(arena, s->value, entries);
  CP_NEW(arena, s->column, order + 1);
  CP_NEW(arena, s->first, entries);
  CP_NEW(arena, s->last, entries);
  CP_NEW(arena, s->product_end, order);
  CP_NEW(arena, s->w, order);
  return cpArenaStatus(arena);
}

int cpSparseOrder(CPComplement *c, CPArena *arena) {
  Sparse *s = c->content;
  Plan p    = {0};
  int flag  = createPlan(c, &p);
  if (!flag) {
    chooseKept(c, &p);
    transpose(c, &p);
    flag = createArrays(c, s, &p, arena);
  }
  if (!flag) flag = chooseOrder(c, s, &p);
  if (!flag) {
    sortEntries(c, s, &p);
    flag = createMatrix(c, s, &p, arena);
  }
  if (!flag) flag = analyse(s);
  cpArenaFree(&p.arena);
  return flag;
}
