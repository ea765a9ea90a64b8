/* Structure of a sparse iteration matrix: the union of its terms' patterns, without the rows and columns
 * that are fixed, which have their diagonal entry only. */
#include "newton_impl.h"

#include <stdlib.h>
#include <string.h>

/* Entries of all terms by columns of the matrix, doubles included. */
typedef struct {
  size_t *start; /* [order + 1] */
  int *row;      /* [start[order]] */
  int *mark;     /* [order] */
} Gathered;

/* Calls for each entry k of a term that belongs into the matrix, at (i, j) of it. */
typedef void (*Visit)(CPMechNewtonMem newton, CPTerm *term, size_t k, int i, int j, void *data);

/* Has a dense block been other than zero here, or had a place? */
static int counts(const CPTerm *term, size_t k) {
  if (term->J->start || term->J->value[k] != 0.0) return 1;
  return term->place && term->place[k] != CP_NO_PLACE;
}

static void visitTerm(CPMechNewtonMem newton, CPTerm *term, Visit visit, void *data) {
  for (int c = 0; c < term->J->cols; c++)
    for (size_t k = cpMatFirst(term->J, c); k < cpMatFirst(term->J, c + 1); k++) {
      const int r = cpMatRow(term->J, c, k);
      const int i = term->row + (term->transposed ? c : r),
                j = term->col + (term->transposed ? r : c);
      if (!newton->fixed[i] && !newton->fixed[j] && counts(term, k))
        visit(newton, term, k, i, j, data);
    }
}

static void visitAll(CPMechNewtonMem newton, Visit visit, void *data) {
  for (int t = 0; t < newton->nterms; t++) visitTerm(newton, &newton->term[t], visit, data);
}

static int hasUnit(const CPMechNewtonMem newton, int i) {
  return newton->fixed[i] || i >= newton->nu + newton->m;
}

static void count(CPMechNewtonMem newton, CPTerm *term, size_t k, int i, int j, void *data) {
  Gathered *g = data;
  (void)newton, (void)term, (void)k, (void)i;
  g->start[j + 1]++;
}

static void list(CPMechNewtonMem newton, CPTerm *term, size_t k, int i, int j, void *data) {
  Gathered *g = data;
  (void)newton, (void)term, (void)k;
  g->row[g->start[j]++] = i; /* moves start[j] to start[j + 1] */
}

static int gather(CPMechNewtonMem newton, Gathered *g) {
  const int order = newton->order;
  g->start        = calloc((size_t)order + 2, sizeof *g->start);
  g->mark         = calloc((size_t)order + 1, sizeof *g->mark);
  if (!g->start || !g->mark) return CP_MEM_FAIL;
  visitAll(newton, count, g);
  for (int j = 0; j < order; j++) g->start[j + 1] += (size_t)hasUnit(newton, j);
  for (int j = 0; j < order; j++) g->start[j + 1] += g->start[j];
  g->row = malloc((g->start[order] + 1) * sizeof *g->row);
  if (!g->row) return CP_MEM_FAIL;
  visitAll(newton, list, g);
  for (int j = 0; j < order; j++)
    if (hasUnit(newton, j)) g->row[g->start[j]++] = j;
  memmove(g->start + 1, g->start, (size_t)order * sizeof *g->start);
  g->start[0] = 0;
  return CP_SUCCESS;
}

static int ascending(const void *a, const void *b) {
  const int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
  return (i > j) - (i < j);
}

/* The matrix' columns: gathered ones without doubles, ascending. */
static int compress(CPMechNewtonMem newton, Gathered *g) {
  struct CPLu_ *lu = &newton->lu;
  const int order  = newton->order;
  free(lu->start);
  free(lu->row);
  free(lu->value);
  lu->start = calloc((size_t)order + 1, sizeof *lu->start);
  lu->row   = malloc((g->start[order] + 1) * sizeof *lu->row);
  lu->value = malloc((g->start[order] + 1) * sizeof *lu->value);
  if (!lu->start || !lu->row || !lu->value) return CP_MEM_FAIL;
  for (int j = 0; j < order; j++) {
    int64_t end = lu->start[j];
    for (size_t k = g->start[j]; k < g->start[j + 1]; k++) {
      if (g->mark[g->row[k]] == j + 1) continue;
      g->mark[g->row[k]] = j + 1;
      lu->row[end++]     = g->row[k];
    }
    qsort(lu->row + lu->start[j], (size_t)(end - lu->start[j]), sizeof *lu->row, ascending);
    lu->start[j + 1] = end;
  }
  lu->is_new = 1;
  return CP_SUCCESS;
}

static size_t placeOf(const struct CPLu_ *lu, int64_t i, int j) {
  int64_t first = lu->start[j], last = lu->start[j + 1];
  while (first < last) {
    const int64_t middle = first + (last - first) / 2;
    if (lu->row[middle] < i) first = middle + 1;
    else last = middle;
  }
  return first < lu->start[j + 1] && lu->row[first] == i ? (size_t)first : CP_NO_PLACE;
}

static void place(CPMechNewtonMem newton, CPTerm *term, size_t k, int i, int j, void *data) {
  size_t *found = data;
  (void)term;
  found[k] = placeOf(&newton->lu, i, j);
}

static int placeTerms(CPMechNewtonMem newton) {
  for (int t = 0; t < newton->nterms; t++) {
    CPTerm *term         = &newton->term[t];
    const size_t entries = cpMatEntries(term->J);
    size_t *found        = malloc((entries + 1) * sizeof *found);
    if (!found) return CP_MEM_FAIL;
    for (size_t k = 0; k < entries; k++) found[k] = CP_NO_PLACE;
    visitTerm(newton, term, place, found);
    free(term->place);
    term->place = found;
  }
  for (int i = 0; i < newton->order; i++) newton->diagonal[i] = placeOf(&newton->lu, i, i);
  memcpy(newton->placed, newton->fixed, (size_t)newton->order);
  return CP_SUCCESS;
}

/* Without memory the next call starts again. */
int cpPlacesCreate(CPMechNewtonMem newton) {
  Gathered g = {0};
  int flag   = gather(newton, &g);
  if (!flag) flag = compress(newton, &g);
  if (!flag) flag = placeTerms(newton);
  free(g.start);
  free(g.row);
  free(g.mark);
  if (flag) {
    free(newton->lu.start);
    newton->lu.start = NULL;
  }
  return flag;
}
