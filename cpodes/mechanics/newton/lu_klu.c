/* Sparse LU factors by KLU (T. A. Davis & E. Palamadai Natarajan, ACM Trans. Math. Softw. 37, 2010,
 * 36). The structure is analysed once; new values are factored with the pivots of the old ones as long
 * as these do. */
#include "newton_impl.h"

#include <klu.h>
#include <stdlib.h>

/* A diagonal entry is the pivot down to this part of its column's largest. Less loses digits, more costs
 * fill: a cloth of 1,600 masses and 3,120 rods has 1.5e5 entries in its factors up to 0.1, 6.6e5 with 1.
 * Blocks of KLU's own (BTF) are not asked for: the matching moves the diagonal, and these
 * factors then have up to 9e5 entries, or, with KLU's default of 0.001, errors of 1e-6. */
#define PIVOT 0.01

/* Least growth factor, max |a| / max |u|, of factors with old pivots: their errors are some roundoff
 * over it, and Newton's iteration needs few digits. */
#define GOOD_GROWTH 1.0e-6

typedef struct {
  klu_l_common common;
  klu_l_symbolic *symbolic;
  klu_l_numeric *numeric;
} Klu;

static void kluDestroy(CPLu lu) {
  Klu *k = lu->content;
  if (!k) return;
  klu_l_free_numeric(&k->numeric, &k->common);
  klu_l_free_symbolic(&k->symbolic, &k->common);
  free(k);
  lu->content = NULL;
}

static int kluCreate(CPLu lu) {
  Klu *k = lu->content = calloc(1, sizeof *k);
  if (!k) return CP_MEM_FAIL;
  if (!klu_l_defaults(&k->common)) return CP_LINSOL_FAIL;
  k->common.btf = 0;
  k->common.tol = PIVOT;
  return CP_SUCCESS;
}

/* What KLU has to say: 0, 1: singular, a code. */
static int outcome(const Klu *k) {
  if (k->common.status == KLU_OK) return CP_SUCCESS;
  if (k->common.status == KLU_SINGULAR) return 1;
  return k->common.status == KLU_OUT_OF_MEMORY ? CP_MEM_FAIL : CP_LINSOL_FAIL;
}

static int analyse(CPLu lu, Klu *k) {
  klu_l_free_numeric(&k->numeric, &k->common);
  klu_l_free_symbolic(&k->symbolic, &k->common);
  k->symbolic = klu_l_analyze(lu->order, lu->start, lu->row, &k->common);
  return k->symbolic ? CP_SUCCESS : outcome(k);
}

static int keepPivots(CPLu lu, Klu *k) {
  if (!klu_l_refactor(lu->start, lu->row, lu->value, k->symbolic, k->numeric, &k->common)) return 0;
  if (k->common.status != KLU_OK) return 0;
  klu_l_rgrowth(lu->start, lu->row, lu->value, k->symbolic, k->numeric, &k->common);
  return k->common.status == KLU_OK && k->common.rgrowth >= GOOD_GROWTH;
}

static int kluFactor(CPLu lu) {
  Klu *k   = lu->content;
  int flag = CP_SUCCESS;
  if (lu->is_new || !k->symbolic) flag = analyse(lu, k);
  if (flag) return flag;
  lu->is_new = 0;
  if (k->numeric && keepPivots(lu, k)) return CP_SUCCESS;
  klu_l_free_numeric(&k->numeric, &k->common);
  k->numeric = klu_l_factor(lu->start, lu->row, lu->value, k->symbolic, &k->common);
  return outcome(k);
}

static int kluSolve(CPLu lu, double *x) {
  Klu *k = lu->content;
  klu_l_solve(k->symbolic, k->numeric, lu->order, 1, x, &k->common);
  return outcome(k);
}

const CPLuOps cpLuKluOps = {
    .create = kluCreate, .factor = kluFactor, .solve = kluSolve, .destroy = kluDestroy};
