/* Sparse LU factors by KLU (T. A. Davis & E. Palamadai Natarajan, ACM Trans. Math. Softw. 37, 2010,
 * 36). A pattern is analysed once. New values are refactored with the existing pivots as long as
 * these are good enough. */
#include "lu_impl.h"

#include <klu.h>

/* A diagonal entry becomes the pivot if it is at least this fraction of the largest entry of its
 * column. A smaller bound loses digits, a larger one causes fill: the factors of a cloth of 1,600
 * masses and 3,120 rods have 1.5e5 entries for bounds up to 0.1, and 6.6e5 for 1. KLU's block
 * triangular form (BTF) is off: its matching moves the diagonal, and the factors then have up to
 * 9e5 entries, or, with KLU's default bound of 0.001, errors of 1e-6. */
#define PIVOT 0.01

/* A refactorisation is good enough if its reciprocal pivot growth, max |a| / max |u|, is at least
 * this: the errors are roundoff divided by it, and Newton's iteration needs few digits. */
#define GOOD_GROWTH CP_INEXACT

/* AMD predicts the fill of pivots on the diagonal, where multipliers have none. If rows are exchanged for them over
 * the whole matrix, as in a chain of 1,000 hinges in space, its factors have 60 to 180 times the entries predicted.
 * COLAMD's order bounds the fill for all exchanges of rows (A. George & E. Ng, SIAM J. Sci. Stat. Comput. 8, 1987,
 * 877). From the order LARGE on its factors are tried first. They serve if they have at most FILLED times the
 * entries that AMD predicts, else the smaller ones do. */
#define LARGE  1000
#define FILLED 1.5
enum { AMD, COLAMD }; /* KLU's numbers */

/* KLU's functions for real or complex numbers. They return int64_t up to SuiteSparse 6 and int
 * since, so their types are taken from KLU's header. */
typedef struct {
  __typeof__(klu_l_factor) *factor;
  __typeof__(klu_l_refactor) *refactor;
  __typeof__(klu_l_rgrowth) *growth;
  __typeof__(klu_l_solve) *solve;
  __typeof__(klu_l_free_numeric) *free;
} Functions;

static const Functions functions[] = {
    {klu_l_factor, klu_l_refactor, klu_l_rgrowth, klu_l_solve, klu_l_free_numeric},
    {klu_zl_factor, klu_zl_refactor, klu_zl_rgrowth, klu_zl_solve, klu_zl_free_numeric}};

/* The pattern of S in KLU's integers, and an order of elimination; shared, and constant. */
typedef struct {
  int64_t *start, *row;
  klu_l_common common;
  klu_l_symbolic *symbolic;
} Analysis;

typedef struct {
  const Functions *use;
  CPArena own;              /* memory of the analyses without a memo */
  const Analysis *analysis; /* NULL if there is none yet */
  klu_l_common common;
  klu_l_numeric *numeric;
  int is_ordered; /* 1: the analysis is that of the order chosen, 0: of AMD's */
} Klu;

static void kluDestroy(void *content) {
  Klu *k = content;
  k->use->free(&k->numeric, &k->common);
  cpArenaFree(&k->own);
}

static void setOptions(klu_l_common *common) {
  klu_l_defaults(common);
  common->btf = 0;
  common->tol = PIVOT;
}

static int kluCreate(CPLu lu) {
  Klu *k = lu->content = cpArenaAlloc(&lu->arena, 1, sizeof *k);
  if (!k) return CP_MEM_FAIL;
  k->use = &functions[lu->parts - 1];
  if (!cpArenaOwn(&lu->arena, k, kluDestroy)) return CP_MEM_FAIL;
  setOptions(&k->common);
  return CP_SUCCESS;
}

/* Translates KLU's status into the result of CPLuOps' factor. */
static int outcome(const klu_l_common *common) {
  if (common->status == KLU_OK) return CP_SUCCESS;
  if (common->status == KLU_SINGULAR) return 1;
  return common->status == KLU_OUT_OF_MEMORY ? CP_MEM_FAIL : CP_LINSOL_FAIL;
}

static void freeAnalysis(void *analysis) {
  Analysis *a = analysis;
  klu_l_free_symbolic(&a->symbolic, &a->common);
}

typedef struct {
  const CPMat *S;
  int ordering;
} Problem;

static int makeAnalysis(CPArena *arena, void *problem, void **object) {
  const Problem *p     = problem;
  const CPMat *S       = p->S;
  const size_t entries = cpMatEntries(S), cols = (size_t)S->cols;
  Analysis *a = CP_NEW(arena, a, 1);
  if (!cpArenaOwn(arena, a, freeAnalysis)) return CP_MEM_FAIL;
  CP_NEW(arena, a->start, cols + 1);
  CP_NEW(arena, a->row, entries);
  if (cpArenaStatus(arena)) return CP_MEM_FAIL;
  for (size_t j = 0; j <= cols; j++) a->start[j] = (int64_t)S->start[j];
  for (size_t e = 0; e < entries; e++) a->row[e] = S->row[e];
  setOptions(&a->common);
  a->common.ordering = p->ordering;
  a->symbolic        = klu_l_analyze(S->cols, a->start, a->row, &a->common);
  *object            = a;
  return a->symbolic ? CP_SUCCESS : outcome(&a->common);
}

/* The analysis with this ordering */
static int find(const CPLu lu, int ordering, const Analysis **analysis) {
  Klu *k                = lu->content;
  const CPMat *S        = &lu->S;
  Problem p             = {S, ordering};
  void *object          = NULL;
  const CPMemoKey key[] = {{&ordering, sizeof ordering},
                           {S->start, ((size_t)S->cols + 1) * sizeof *S->start},
                           {S->row, cpMatEntries(S) * sizeof *S->row}};
  const int flag        = cpMemoGet(lu->memo, &k->own, makeAnalysis, key, 3, &p, &object);
  if (!flag) *analysis = object;
  return flag;
}

static int analyse(CPLu lu) {
  Klu *k = lu->content;
  k->use->free(&k->numeric, &k->common);
  k->analysis = NULL;
  cpArenaFree(&k->own);
  k->is_ordered = lu->order < LARGE;
  return find(lu, AMD, &k->analysis);
}

/* Refactors with the existing pivots. Returns 1 if they are good enough. */
static int keepPivots(double *value, Klu *k) {
  const Analysis *a = k->analysis;
  if (!k->use->refactor(a->start, a->row, value, a->symbolic, k->numeric, &k->common)) return 0;
  if (k->common.status != KLU_OK) return 0;
  k->use->growth(a->start, a->row, value, a->symbolic, k->numeric, &k->common);
  return k->common.status == KLU_OK && k->common.rgrowth >= GOOD_GROWTH;
}

static int factor(const CPLu lu, const Analysis *a, Klu *k, klu_l_numeric **numeric) {
  *numeric = k->use->factor(a->start, a->row, lu->S.value, a->symbolic, &k->common);
  return outcome(&k->common);
}

static double entries(const klu_l_numeric *numeric) {
  return (double)numeric->lnz + (double)numeric->unz;
}

/* Factors by the order that has fewer entries. */
static int order(const CPLu lu, Klu *k) {
  const Analysis *other   = NULL;
  klu_l_numeric *by_other = NULL;
  int flag                = find(lu, COLAMD, &other);
  if (!flag) flag = factor(lu, other, k, &by_other);
  if (!flag && entries(by_other) > FILLED * (k->analysis->symbolic->lnz + k->analysis->symbolic->unz))
    flag = factor(lu, k->analysis, k, &k->numeric);
  const int serves = !flag && (!k->numeric || entries(by_other) < entries(k->numeric));
  k->use->free(serves ? &k->numeric : &by_other, &k->common);
  if (serves) k->numeric = by_other, k->analysis = other;
  k->is_ordered = !flag;
  return flag;
}

static int kluFactor(CPLu lu) {
  Klu *k         = lu->content;
  const int flag = lu->is_new || !k->analysis ? analyse(lu) : CP_SUCCESS;
  if (flag) return flag;
  lu->is_new = 0;
  lu->kept   = k->numeric && !lu->renew && keepPivots(lu->S.value, k);
  lu->renew  = 0;
  if (lu->kept) return CP_SUCCESS;
  k->use->free(&k->numeric, &k->common);
  return k->is_ordered ? factor(lu, k->analysis, k, &k->numeric) : order(lu, k);
}

static int kluSolve(CPLu lu, double *re, double *im) {
  Klu *k    = lu->content;
  double *x = lu->parts == 1 ? re : lu->work;
  if (lu->parts == 2) cpLuJoin(lu->order, re, im, x);
  k->use->solve(k->analysis->symbolic, k->numeric, lu->order, 1, x, &k->common);
  if (lu->parts == 2) cpLuPart(lu->order, x, re, im);
  return outcome(&k->common);
}

const CPLuOps cpLuKluOps = {kluCreate, kluFactor, kluSolve};
