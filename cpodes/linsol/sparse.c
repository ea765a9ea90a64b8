/* Sparse Schur complement S = A^T A = L D L^T (CHOLMOD): x = A S^{-1} r, mu = S^{-1} A^T x; of
 * dependent columns a rank-revealing sparse QR (sparse_qr.c).
 *
 * S is formed here, in its order of elimination, and factored in place: a third of the time that
 * CHOLMOD takes for A^T itself (bench/README.md has the figures of the choice). */
#include "sparse_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void *cpSparseAllocate(size_t count, size_t size) { return calloc(count ? count : 1, size); }

int cpSparseFailure(const Sparse *s) {
  const int status = s->common.status;
  return status == CHOLMOD_OUT_OF_MEMORY || status == CHOLMOD_TOO_LARGE ? CP_MEM_FAIL
                                                                        : CP_LINSOL_FAIL;
}

static void sparseDestroy(CPLin lin) {
  Sparse *s         = lin->content;
  cholmod_common *c = &s->common;
  cpSparseQRFree(s);
  cholmod_l_free_factor(&s->L, c);
  cholmod_l_free_sparse(&s->K, c);
  cholmod_l_free_dense(&s->b, c);
  cholmod_l_free_dense(&s->x, c);
  cholmod_l_free_dense(&s->y, c);
  cholmod_l_free_dense(&s->e, c);
  cholmod_l_finish(c);
  free(s->constraint);
  free(s->present);
  free(s->position);
  free(s->from);
  free(s->value);
  free(s->column);
  free(s->first);
  free(s->last);
  free(s->border_to);
  free(s->border_from);
  free(s->product_end);
  free(s->w);
  free(s);
  lin->content = NULL;
}

static int sparseCreate(CPLin lin) {
  Sparse *s = lin->content = calloc(1, sizeof *s);
  if (!s) return CP_MEM_FAIL;
  cholmod_l_start(&s->common);
  s->common.print                      = 0;
  s->common.error_handler              = NULL;
  s->common.quick_return_if_not_posdef = 1;
  return CP_SUCCESS;
}

/* Values in the order of elimination; which columns are there, and how many. */
static int gather(const CPLin lin, Sparse *s) {
  const double *value = lin->AT->value;
  int count           = 0;
  memset(s->present, 0, (size_t)s->order);
  for (size_t l = 0; l < lin->AT->start[lin->n]; l++) {
    s->value[l] = value[s->from[l]];
    if (s->value[l] != 0.0) s->present[s->position[l]] = 1;
  }
  for (int k = 0; k < s->order; k++) count += s->present[k];
  return count;
}

/* K; a column that is absent gets 1 on the diagonal. */
static void formMatrix(Sparse *s) {
  const Index *start = s->K->p, *row = s->K->i;
  double *K = s->K->x, *w = s->w;
  for (int k = 0; k < s->order; k++) {
    if (s->constraint[k] < 0) continue;
    for (size_t e = s->column[k]; e < s->column[k + 1]; e++) {
      const double v = s->value[s->is_lower ? s->first[e] : s->last[e]];
      for (size_t l = s->first[e]; l <= s->last[e]; l++) w[s->position[l]] += v * s->value[l];
    }
    for (Index q = start[k]; q < s->product_end[k]; q++) K[q] = w[row[q]], w[row[q]] = 0.0;
    if (!s->present[k]) K[start[k]] = 1.0;
  }
  for (size_t l = 0; l < s->nborder; l++) K[s->border_to[l]] = s->value[s->border_from[l]];
}

/* Pivots d_k of K at position k: diagonals of D, or squares of those of L in supernodes. */
static void pivots(const Sparse *s, double *d) {
  const cholmod_factor *L = s->L;
  const Index *p = L->p, *super = L->super, *rows = L->pi, *values = L->px;
  const double *x = L->x;
  if (!L->is_super)
    for (int k = 0; k < s->order; k++) d[k] = x[p[k]];
  else
    for (size_t b = 0; b < L->nsuper; b++)
      for (Index k = super[b], length = rows[b + 1] - rows[b]; k < super[b + 1]; k++) {
        const double u = x[values[b] + (k - super[b]) * (length + 1)];
        d[k]           = u * u;
      }
}

/* Sine of a column's angle to others below which Cholesky, which squares it, cannot tell it from
 * dependence. */
#define LEAST_SINE 1.0e-6
/* Roundoff in the pivot of a column near the span of two others grows with one over their pivot: a
 * multiple of it, to which the product of the two least pivots is compared. */
#define PIVOT_ROUNDOFF 1.0e-14

/* With unit columns d_k is the squared sine of column k's angle to the columns before it. */
static int isFullRank(Sparse *s, double ranktol) {
  double *d = s->b->x, least = 1.0, second = 1.0;
  pivots(s, d);
  for (int k = 0; k < s->order; k++) {
    if (s->constraint[k] < 0) continue; /* d_k <= -1 */
    if (!(d[k] > 0.0)) return 0;
    if (d[k] < least) second = least, least = d[k];
    else if (d[k] < second) second = d[k];
  }
  const double sine = fmax(ranktol, LEAST_SINE);
  return least > sine * sine && least * second > PIVOT_ROUNDOFF;
}

/* 0, CP_LIN_DEPENDENT, or a negative code. */
static int factorCholesky(CPLin lin, Sparse *s) {
  formMatrix(s);
  cholmod_l_factorize(s->K, s->L, &s->common); /* K = L D L' */
  if (s->common.status < CHOLMOD_OK) return cpSparseFailure(s);
  return s->common.status == CHOLMOD_OK && isFullRank(s, lin->ranktol) ? 0 : CP_LIN_DEPENDENT;
}

/* While columns are dependent QR stays. */
static int sparseFactor(CPLin lin) {
  Sparse *s               = lin->content;
  const int was_dependent = s->is_qr && lin->dependent >= 0;
  memset(lin->is_dependent, 0, (size_t)lin->m);
  lin->dependent = -1;
  lin->rank      = gather(lin, s);
  s->is_qr       = 0;
  if (lin->rank == 0) return 0;
  int flag = was_dependent ? CP_LIN_DEPENDENT : factorCholesky(lin, s);
  return flag == CP_LIN_DEPENDENT ? cpSparseQRFactor(lin) : flag;
}

/* K s->x = s->b; mu at position k is x[k]. CHOLMOD leaves its workspace with the shape of the newest
 * block of right-hand sides, and would allocate a new one if that differs from its full shape. */
static int backSolve(Sparse *s) {
  if (!cholmod_l_solve2(CHOLMOD_A, s->L, s->b, NULL, &s->x, NULL, &s->y, &s->e, &s->common))
    return cpSparseFailure(s);
  if (s->y) s->y->nrow = s->y->d = s->y->nzmax / s->y->ncol;
  return 0;
}

static int sparseSolve(CPLin lin, const double *r, double *x) {
  Sparse *s           = lin->content;
  const size_t *start = lin->AT->start;
  memset(x, 0, (size_t)lin->n * sizeof *x);
  if (lin->rank == 0) return 0;
  if (s->is_qr) return cpSparseQRSolve(lin, r, x);
  double *b = s->b->x;
  for (int k = 0; k < s->order; k++) b[k] = s->constraint[k] < 0 ? 0.0 : r[s->constraint[k]];
  const int flag = backSolve(s); /* mu = S^-1 r */
  if (flag) return flag;
  const double *mu = s->x->x;
  for (int j = 0; j < lin->n; j++) { /* x = A mu */
    double sum = 0.0;
    for (size_t l = start[j]; l < start[j + 1]; l++) sum += s->value[l] * mu[s->position[l]];
    x[j] = sum;
  }
  return 0;
}

static int sparseSolveT(CPLin lin, const double *x, double *mu) {
  Sparse *s           = lin->content;
  const size_t *start = lin->AT->start;
  memset(mu, 0, (size_t)lin->m * sizeof *mu);
  if (lin->rank == 0) return 0;
  if (s->is_qr) return cpSparseQRSolveT(lin, x, mu);
  double *b = s->b->x;
  memset(b, 0, (size_t)s->order * sizeof *b);
  for (int j = 0; j < lin->n; j++) /* A'x */
    for (size_t l = start[j]; l < start[j + 1]; l++) b[s->position[l]] += s->value[l] * x[j];
  const int flag = backSolve(s); /* mu = S^-1 A'x */
  if (flag) return flag;
  const double *solution = s->x->x;
  for (int k = 0; k < s->order; k++)
    if (s->constraint[k] >= 0) mu[s->constraint[k]] = solution[k];
  return 0;
}

const CPLinOps cpSparseOps = {.name          = "sparse Cholesky and QR",
                              .type          = CP_LINSOL_SPARSE,
                              .keeps_pattern = 1,
                              .create        = sparseCreate,
                              .analyse       = cpSparseOrder,
                              .factor        = sparseFactor,
                              .solve         = sparseSolve,
                              .solve_t       = sparseSolveT,
                              .destroy       = sparseDestroy};
