/* Order of elimination and structures of the sparse solver, determined once per structure of A. */
#include "sparse_impl.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* Workspace of the analysis. */
typedef struct {
  CPArena arena;
  int nkept;
  char *is_kept; /* [n] */
  CPMat A;       /* structure of A by columns */
  size_t *entry; /* [entries] place of A's entries in A^T */
  size_t *fill;  /* [n + m] cursors */
  size_t *mark;  /* [n + m] k + 1: the entry has been counted in column k */
} Plan;

/* Number of entries in the lower triangle of S without the kept components. mark: workspace, zero
 * before and after. */
static double productEntries(const CPMat *a, Plan *p) {
  double count = 0.0;
  for (int i = 0; i < a->rows; i++)
    for (size_t e = p->A.start[i]; e < p->A.start[i + 1]; e++) {
      const int j = p->A.row[e];
      for (size_t k = a->start[j]; !p->is_kept[j] && k < a->start[j + 1]; k++) {
        if (a->row[k] < i || p->mark[a->row[k]] == (size_t)i + 1) continue;
        p->mark[a->row[k]] = (size_t)i + 1;
        count += 1.0;
      }
    }
  memset(p->mark, 0, (size_t)a->rows * sizeof *p->mark);
  return count;
}

/* Analyses B B^T in the natural order if that has no fill, as in chains and trees numbered from
 * their tips; otherwise in the better of this order and minimum degree, which takes as long as the
 * rest of the analysis. Returns NULL after a failure: see s->common. */
static cholmod_factor *analyseProduct(const CPMat *a, Sparse *s, Plan *p, cholmod_sparse *B) {
  cholmod_common *chol     = &s->common;
  chol->nmethods           = 1; /* METIS may end the program if memory runs out */
  chol->method[0].ordering = CHOLMOD_NATURAL;
  chol->method[1].ordering = CHOLMOD_AMD;
  chol->postorder          = 1;
  chol->supernodal         = CPODES_GPL && !p->nkept ? CHOLMOD_AUTO : CHOLMOD_SIMPLICIAL;
  cholmod_factor *L        = cholmod_l_analyze(B, chol);
  if (!L || chol->lnz <= productEntries(a, p)) return L;
  cholmod_l_free_factor(&L, chol);
  chol->nmethods = 2;
  return cholmod_l_analyze(B, chol);
}

/* Orders the constraints first, with little fill; the kept components after the constraints that
 * also involve other components, so that no pivot is structurally zero; then the constraints on
 * kept components alone. */
static int chooseOrder(const CPMat *a, Sparse *s, Plan *p) {
  cholmod_common *chol = &s->common;
  const size_t m = (size_t)a->rows, n = (size_t)a->cols;
  char *is_reached  = CP_NEW(&p->arena, is_reached, m); /* 1: involves a component not kept */
  cholmod_sparse *B = cholmod_l_allocate_sparse(m, n, a->start[n], 1, 1, 0, CHOLMOD_PATTERN, chol);
  if (!B || !is_reached) {
    cholmod_l_free_sparse(&B, chol);
    return CP_MEM_FAIL;
  }
  Index *start = B->p, *row = B->i, count = 0;
  for (size_t j = 0; j < n; j++) { /* B: A^T without the kept components */
    start[j] = count;
    for (size_t k = a->start[j]; !p->is_kept[j] && k < a->start[j + 1]; k++)
      is_reached[row[count++] = a->row[k]] = 1;
  }
  start[n]              = count;
  cholmod_factor *L     = analyseProduct(a, s, p, B);
  const Index *permuted = L ? L->Perm : NULL;
  for (int pass = 0; L && pass < 2; pass++) {
    for (size_t k = 0; k < m; k++)
      if (is_reached[permuted[k]] == !pass) {
        s->component[s->order]    = -1;
        s->constraint[s->order++] = (int)permuted[k];
      }
    for (int j = 0; !pass && j < a->cols; j++)
      if (p->is_kept[j]) {
        s->component[s->order]    = j;
        s->constraint[s->order++] = -1;
      }
  }
  if (L) s->is_lower = L->is_super;
  const int flag = L ? CP_SUCCESS : cpCholmodFailure(&s->common);
  cholmod_l_free_factor(&L, chol);
  cholmod_l_free_sparse(&B, chol);
  return flag;
}

/* Sorts the entries of A^T by ascending position, and sets the columns of A that run over them. */
static void sortEntries(const CPMat *a, Sparse *s, Plan *p, size_t *from) {
  size_t count = 0;
  for (int j = 0; j < a->cols; j++) p->fill[j] = a->start[j];
  for (int k = 0; k < s->order; k++) {
    const int i  = s->constraint[k];
    s->column[k] = count;
    for (size_t q = i < 0 ? 0 : p->A.start[i]; i >= 0 && q < p->A.start[i + 1]; q++) {
      const int j         = p->A.row[q];
      const size_t sorted = p->fill[j]++;
      s->position[sorted] = k;
      a->row[sorted]      = i;
      from[sorted]        = p->entry[q];
      if (p->is_kept[j]) continue;
      s->entry[count++] = (Entry){.first = (int)(s->is_lower ? sorted : a->start[j]),
                                  .last  = (int)(s->is_lower ? a->start[j + 1] - 1 : sorted)};
    }
  }
  s->column[s->order] = count;
}

/* Finds the entries of S0 in the column at position k, the diagonal first. Returns their number;
 * rows [number] may be NULL. mark [order]: k + 1 where an entry has been counted. */
static Index productColumn(const Sparse *s, int k, Index *rows, size_t *mark) {
  Index count = 0;
  if (rows) rows[count] = k;
  count++;
  mark[k] = (size_t)k + 1;
  for (size_t e = s->column[k]; e < s->column[k + 1]; e++)
    for (int l = s->entry[e].first; l <= s->entry[e].last; l++) {
      const int row = s->position[l];
      if (mark[row] == (size_t)k + 1) continue;
      mark[row] = (size_t)k + 1;
      if (rows) rows[count] = row;
      count++;
    }
  return count;
}

/* Creates the structure of K. Its upper triangle holds an entry of U in the row of a constraint and
 * the column of a kept component, or transposed, whichever position is first. */
static int createMatrix(const CPMat *a, Sparse *s, Plan *p, CPArena *arena) {
  const size_t order = (size_t)s->order;
  size_t count       = 0;
  Index *start       = CP_NEW(&p->arena, start, order + 1);
  if (!start) return CP_MEM_FAIL;
  for (int k = 0; k < s->order; k++) { /* lengths of the columns, which become their starts */
    start[k + 1] += productColumn(s, k, NULL, p->mark);
    const int j = s->component[k];
    for (size_t l = j < 0 ? 0 : a->start[j]; j >= 0 && l < a->start[j + 1]; l++, s->nborder++)
      start[(k > s->position[l] ? k : s->position[l]) + 1]++;
  }
  for (int k = 0; k < s->order; k++) start[k + 1] += start[k], p->mark[k] = 0;
  s->K = cholmod_l_allocate_sparse(order, order, (size_t)start[order], 0, 1, s->is_lower ? -1 : 1,
                                   CHOLMOD_REAL, &s->common);
  CP_NEW(arena, s->border_to, s->nborder);
  CP_NEW(arena, s->border_from, s->nborder);
  if (!s->K || cpArenaStatus(arena)) return CP_MEM_FAIL;
  memcpy(s->K->p, start, (order + 1) * sizeof *start);
  Index *row = s->K->i;
  for (int k = 0; k < s->order; k++) {
    s->product_end[k] = start[k] + productColumn(s, k, row + start[k], p->mark);
    p->fill[k]        = (size_t)s->product_end[k];
  }
  for (int k = 0; k < s->order; k++) {
    const int j = s->component[k];
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
  return CP_SUCCESS;
}

/* If L has at least this fraction of the entries of its envelope, as in chains, loops over the
 * envelope replace CHOLMOD, whose calls take longer than the few operations in each row. */
#define FULL_ENVELOPE 0.7
/* Larger systems keep CHOLMOD: in the envelope a run of two steps on a chain of 10,000 takes 29,000
 * page faults in place of 19,000, and 1.4 times as long, for a reason in malloc that is not known. */
#define MOST_IN_ENVELOPE 5000

/* Sets the groups of components. */
static int findGroups(const CPMat *a, Sparse *s, CPArena *arena) {
  if (!CP_NEW(arena, s->group, a->cols)) return CP_MEM_FAIL;
  for (int j = 0; j < a->cols; j++) {
    const size_t first = a->start[j], length = a->start[j + 1] - first;
    Group *last = s->ngroups > 0 ? &s->group[s->ngroups - 1] : NULL;
    if (last && last->width < MOST_ALIKE && (size_t)last->length == length &&
        !memcmp(a->row + last->first, a->row + first, length * sizeof *a->row))
      last->width++;
    else
      s->group[s->ngroups++] =
          (Group){.component = j, .width = 1, .length = (int)length, .first = (int)first};
  }
  return CP_SUCCESS;
}

/* Sets the envelope of K (upper triangle) if L fills it, and then releases the analysis of L. */
static int tryEnvelope(const CPMat *a, Sparse *s, CPArena *arena) {
  const Index *start = s->K->p, *row = s->K->i;
  const size_t order = (size_t)s->order;
  size_t *end;
  if (order > MOST_IN_ENVELOPE || s->nborder > 0) return CP_SUCCESS;
  if (!CP_NEW(arena, end, order + 1)) return CP_MEM_FAIL;
  for (size_t k = 0; k < order; k++) {
    Index first = (Index)k;
    for (Index q = start[k]; q < start[k + 1]; q++) first = row[q] < first ? row[q] : first;
    end[k + 1] = end[k] + k - (size_t)first;
  }
  if (s->common.lnz - (double)order < FULL_ENVELOPE * (double)end[order]) return CP_SUCCESS;
  s->envelope = end;
  cholmod_l_free_factor(&s->L, &s->common);
  cholmod_l_free_sparse(&s->K, &s->common);
  return findGroups(a, s, arena);
}

/* Analyses K, which is in its order of elimination already, so that CHOLMOD need not permute it each time. */
static int analyse(const CPMat *a, Sparse *s, CPArena *arena) {
  cholmod_common *chol = &s->common;
  chol->nmethods       = 1;
  chol->postorder      = 0;
  chol->supernodal     = s->is_lower ? CHOLMOD_SUPERNODAL : CHOLMOD_SIMPLICIAL;
  s->L                 = cholmod_l_analyze(s->K, chol);
  if (!s->L) return cpCholmodFailure(&s->common);
  return s->is_lower ? CP_SUCCESS : tryEnvelope(a, s, arena);
}

static void destroy(void *plan) {
  Sparse *s = plan;
  cholmod_l_free_factor(&s->L, &s->common);
  cholmod_l_free_sparse(&s->K, &s->common);
  cholmod_l_finish(&s->common);
}

int cpSparsePlan(Sparse *s, CPArena *arena) {
  const CPMat *a       = &s->XT;
  const size_t entries = a->start[s->n];
  Plan p               = {0};
  if (entries > INT_MAX) return CP_LINSOL_FAIL; /* Entry has int */
  cholmod_l_start(&s->common);
  s->common.print         = 0;
  s->common.error_handler = NULL;
  if (!cpArenaOwn(arena, s, destroy)) return CP_MEM_FAIL;
  CP_NEW(&p.arena, p.is_kept, s->n);
  CP_NEW(&p.arena, p.fill, s->n + s->m);
  CP_NEW(&p.arena, p.mark, s->n + s->m);
  int flag = cpMatTransposed(&p.arena, a, &p.A, &p.entry);
  if (!flag) {
    /* Components are kept as unknowns if they are in as many constraints as AMD's dense rows have entries. */
    const double many = s->common.method[0].prune_dense * sqrt(a->rows);
    for (int j = 0; j < a->cols; j++)
      p.nkept += p.is_kept[j] = (double)(a->start[j + 1] - a->start[j]) > many;
    const size_t order = (size_t)s->m + (size_t)p.nkept;
    CP_NEW(arena, s->constraint, order);
    CP_NEW(arena, s->component, order);
    CP_NEW(arena, s->position, entries);
    CP_NEW(arena, s->column, order + 1);
    CP_NEW(arena, s->entry, entries);
    CP_NEW(arena, s->product_end, order);
    flag = cpArenaStatus(arena);
  }
  if (!flag) flag = chooseOrder(a, s, &p);
  if (!flag) {
    sortEntries(a, s, &p, s->from);
    flag = createMatrix(a, s, &p, arena);
  }
  if (!flag) flag = analyse(a, s, arena);
  cpArenaFree(&p.arena);
  return flag;
}
