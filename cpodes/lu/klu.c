/* Sparse LU factors by KLU (T. A. Davis & E. Palamadai Natarajan, ACM Trans. Math. Softw. 37, 2010,
 * 36). A pattern is analysed once. New values are refactored with the existing pivots as long as
 * these are good enough. */
#include "lu_impl.h"

#include <klu.h>
#include <stdlib.h>

/* A diagonal entry becomes the pivot if it is at least this fraction of the largest entry of its
 * column. A smaller bound loses digits, a larger one causes fill: the factors of a cloth of 1,600
 * masses and 3,120 rods have 1.5e5 entries for bounds up to 0.1, and 6.6e5 for 1. KLU's block
 * triangular form (BTF) is off: its matching moves the diagonal, and the factors then have up to
 * 9e5 entries, or, with KLU's default bound of 0.001, errors of 1e-6. */
#define PIVOT 0.01

/* A refactorisation is good enough if its reciprocal pivot growth, max |a| / max |u|, is at least
 * this: the errors are roundoff divided by it, and Newton's iteration needs few digits. */
#define GOOD_GROWTH 1.0e-6

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

typedef struct {
  const Functions *use;
  int64_t *start, *row; /* the pattern of S in KLU's integers */
  klu_l_common common;
  klu_l_symbolic *symbolic;
  klu_l_numeric *numeric;
  int is_ordered; /* 1: symbolic is that of the order chosen, 0: of AMD's */
} Klu;

static void freeFactors(Klu *k) {
  k->use->free(&k->numeric, &k->common);
  klu_l_free_symbolic(&k->symbolic, &k->common);
  free(k->start);
  free(k->row);
  k->start = k->row = NULL;
}

static void kluDestroy(void *content) { freeFactors(content); }

static int kluCreate(CPLu lu) {
  Klu *k = lu->content = cpArenaAlloc(&lu->arena, 1, sizeof *k);
  if (!k) return CP_MEM_FAIL;
  k->use = &functions[lu->parts - 1];
  if (!cpArenaOwn(&lu->arena, k, kluDestroy)) return CP_MEM_FAIL;
  if (!klu_l_defaults(&k->common)) return CP_LINSOL_FAIL;
  k->common.btf = 0;
  k->common.tol = PIVOT;
  return CP_SUCCESS;
}

/* Translates KLU's status into the result of CPLuOps' factor. */
static int outcome(const Klu *k) {
  if (k->common.status == KLU_OK) return CP_SUCCESS;
  if (k->common.status == KLU_SINGULAR) return 1;
  return k->common.status == KLU_OUT_OF_MEMORY ? CP_MEM_FAIL : CP_LINSOL_FAIL;
}

static int analyse(const CPMat *S, Klu *k) {
  const size_t entries = cpMatEntries(S), cols = (size_t)S->cols;
  freeFactors(k);
  k->start = malloc((cols + 1) * sizeof *k->start);
  k->row   = malloc((entries + 1) * sizeof *k->row);
  if (!k->start || !k->row) return CP_MEM_FAIL;
  for (size_t j = 0; j <= cols; j++) k->start[j] = (int64_t)S->start[j];
  for (size_t e = 0; e < entries; e++) k->row[e] = S->row[e];
  k->is_ordered      = S->cols < LARGE;
  k->common.ordering = AMD;
  k->symbolic        = klu_l_analyze(S->cols, k->start, k->row, &k->common);
  return k->symbolic ? CP_SUCCESS : outcome(k);
}

/* Refactors with the existing pivots. Returns 1 if they are good enough. */
static int keepPivots(double *value, Klu *k) {
  if (!k->use->refactor(k->start, k->row, value, k->symbolic, k->numeric, &k->common)) return 0;
  if (k->common.status != KLU_OK) return 0;
  k->use->growth(k->start, k->row, value, k->symbolic, k->numeric, &k->common);
  return k->common.status == KLU_OK && k->common.rgrowth >= GOOD_GROWTH;
}

static int factor(const CPLu lu, Klu *k) {
  k->numeric = k->use->factor(k->start, k->row, lu->S.value, k->symbolic, &k->common);
  return outcome(k);
}

static double entries(const Klu *k) { return (double)k->numeric->lnz + (double)k->numeric->unz; }

/* Factors by the order that has fewer entries. */
static int order(const CPLu lu, Klu *k) {
  Klu other             = *k;
  other.common.ordering = COLAMD;
  other.symbolic        = klu_l_analyze(lu->order, k->start, k->row, &other.common);
  int flag              = other.symbolic ? factor(lu, &other) : outcome(&other);
  if (!flag && entries(&other) > FILLED * (k->symbolic->lnz + k->symbolic->unz))
    flag = factor(lu, k);
  const int serves = !flag && (!k->numeric || entries(&other) < entries(k));
  Klu *left        = serves ? k : &other;
  k->use->free(&left->numeric, &left->common);
  klu_l_free_symbolic(&left->symbolic, &left->common);
  if (serves) *k = other;
  k->is_ordered = !flag;
  return flag;
}

static int kluFactor(CPLu lu) {
  Klu *k         = lu->content;
  const int flag = lu->is_new || !k->symbolic ? analyse(&lu->S, k) : CP_SUCCESS;
  if (flag) return flag;
  lu->is_new = 0;
  lu->kept   = k->numeric && !lu->renew && keepPivots(lu->S.value, k);
  lu->renew  = 0;
  if (lu->kept) return CP_SUCCESS;
  k->use->free(&k->numeric, &k->common);
  return k->is_ordered ? factor(lu, k) : order(lu, k);
}

static int kluSolve(CPLu lu, double *re, double *im) {
  Klu *k    = lu->content;
  double *x = lu->parts == 1 ? re : lu->work;
  if (lu->parts == 2) cpLuJoin(lu->order, re, im, x);
  k->use->solve(k->symbolic, k->numeric, lu->order, 1, x, &k->common);
  if (lu->parts == 2) cpLuPart(lu->order, x, re, im);
  return outcome(k);
}

const CPLuOps cpLuKluOps = {kluCreate, kluFactor, kluSolve};
