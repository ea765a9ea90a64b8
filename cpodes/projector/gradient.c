/* The entries of G by columns: those of the user's matrix, then those of the unit norms.
 * Constraints of mechanisms touch few components each, so that products with G cost little next to
 * a pass over the whole matrix.
 *
 * The whole pattern is that of the template. A dense matrix says nothing of its pattern: unless a
 * solver needs one that stays, its zeros are left out of the entries (compact). */
#include "projector_impl.h"

#include <math.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

/* ---- the pattern ---- */

/* g <- user's columns [mc x n], each followed by the norms that contain it; in place, from the last
 * column on: g holds the user's own at its beginning. */
static void mergeNorms(CPWork work) {
  CPMat *g = &work->g;
  for (int j = work->P->n; j > 0; j--) {
    const size_t first = g->start[j - 1], length = g->start[j] - first;
    const size_t shift = work->norms.start[j - 1], norms = work->norms.start[j] - shift;
    memmove(g->row + first + shift, g->row + first, length * sizeof *g->row);
    memmove(work->source + first + shift, work->source + first, length * sizeof *work->source);
    for (size_t k = 0; k < norms; k++) {
      g->row[first + shift + length + k]       = work->norms.row[shift + k];
      work->source[first + shift + length + k] = CP_NORM_ENTRY;
    }
    g->start[j] += work->norms.start[j];
  }
}

void cpGradientPattern(CPWork work) {
  CPProjector P = work->P;
  CPMat *g      = &work->g;
  if (P->mc > 0) cpMatrixPattern(work->G, P->mc, P->n, g->start, g->row, work->source);
  else memset(g->start, 0, ((size_t)P->n + 1) * sizeof *g->start);
  mergeNorms(work);
}

static void freeColoring(void *colors) { cpColoringFree(colors); }

int cpGradientCreate(CPWork work) {
  CPProjector P  = work->P;
  CPArena *arena = &work->storage;
  CPMat *g = &work->g, *s = &work->norms;
  size_t length = P->mc > 0 ? cpMatrixEntries(work->G) : 0, of_norms = 0;
  for (int k = 0; k < P->nnorms; k++) of_norms += (size_t)P->norms[k].length;
  length += of_norms;
  CP_NEW(arena, s->start, P->n + 2);
  CP_NEW(arena, s->row, of_norms);
  CP_NEW(arena, g->start, P->n + 1);
  CP_NEW(arena, g->row, length);
  CP_NEW(arena, work->source, length);
  /* A matrix that is stored as g is lends its values. */
  work->lent = P->nnorms == 0 && P->G_tmpl && SUNSparseMatrix_SparseType(P->G_tmpl) == CSC_MAT;
  if (work->lent) g->value = cpMatrixData(work->G);
  else CP_NEW(arena, g->value, length);
  if (cpArenaStatus(arena)) return CP_MEM_FAIL;
  /* the rows of the norms by columns, by counting */
  for (int k = 0; k < P->nnorms; k++)
    for (int j = 0; j < P->norms[k].length; j++) s->start[P->norms[k].first + j + 2]++;
  for (int j = 0; j < P->n; j++) s->start[j + 2] += s->start[j + 1];
  for (int k = 0; k < P->nnorms; k++)
    for (int j = 0; j < P->norms[k].length; j++)
      s->row[s->start[P->norms[k].first + j + 1]++] = P->mc + k;
  if (P->mc > 0) {
    cpMatrixPattern(work->G, P->mc, P->n, g->start, g->row, work->source);
    if (cpColoringCreate(&work->colors, g->start, g->row, P->mc, P->n)) return CP_MEM_FAIL;
    if (!cpArenaOwn(arena, &work->colors, freeColoring)) return CP_MEM_FAIL;
  }
  cpGradientPattern(work);
  return CP_SUCCESS;
}

/* ---- the values ---- */

static int notFinite(CPWork work, sunrealtype t, int i, int j, double value) {
  return cpReason(work->text, -CP_CNSTRJAC_NONFINITE,
                  "at t = %.15g: entry (%d, %d) of the constraint Jacobian is %g", t, i, j, value);
}

/* Entries that are not zero, of a dense G. */
static int gatherCompact(CPWork work, sunrealtype t) {
  const int mc = work->P->mc, n = work->P->n;
  CPMat *g       = &work->g;
  const CPMat *s = &work->norms;
  size_t k       = 0;
  for (int j = 0; j < n; j++) {
    const sunrealtype *column = mc > 0 ? SUNDenseMatrix_Column(work->G, j) : NULL;
    g->start[j]               = k;
    for (int i = 0; i < mc; i++) {
      if (column[i] == 0.0) continue;
      if (!isfinite(column[i])) return notFinite(work, t, i, j, column[i]);
      work->source[k] = (size_t)j * (size_t)mc + (size_t)i;
      g->row[k]       = i;
      g->value[k++]   = column[i];
    }
    for (size_t p = s->start[j]; p < s->start[j + 1]; p++) {
      work->source[k] = CP_NORM_ENTRY;
      g->row[k++]     = s->row[p];
    }
  }
  g->start[n] = k;
  return CP_SUCCESS;
}

/* The column of entry k. */
static int columnOf(const CPMat *g, size_t k) {
  int j = 0;
  while (g->start[j + 1] <= k) j++;
  return j;
}

static int gatherPattern(CPWork work, sunrealtype t) {
  CPMat *g                = &work->g;
  const size_t nnz        = g->start[work->P->n];
  const sunrealtype *data = work->G ? cpMatrixData(work->G) : NULL;
  if (work->lent) g->value = cpMatrixData(work->G); /* which the user may have moved */
  for (size_t k = 0; !work->lent && data && k < nnz; k++)
    g->value[k] = work->source[k] == CP_NORM_ENTRY ? 0.0 : data[work->source[k]];
  if (!data || cpAllFinite(g->value, (sunindextype)nnz)) return CP_SUCCESS;
  size_t k = 0;
  while (isfinite(g->value[k])) k++;
  return notFinite(work, t, g->row[k], columnOf(g, k), g->value[k]);
}

int cpGradientGather(CPWork work, sunrealtype t, const double *y) {
  const int flag = work->compact ? gatherCompact(work, t) : gatherPattern(work, t);
  return !flag && work->P->nnorms > 0 ? cpNormGradients(work, t, y) : flag;
}

/* ---- products ---- */

void cpGradientTimes(const CPWork work, const double *v, double *r) {
  const CPMat *g = &work->g;
  for (int i = 0; i < work->P->m; i++) r[i] = 0.0;
  for (int j = 0; j < work->P->n; j++)
    for (size_t k = g->start[j]; k < g->start[j + 1]; k++) r[g->row[k]] += g->value[k] * v[j];
}

void cpGradientTransposedTimes(const CPWork work, const double *mu, double *w) {
  const CPMat *g = &work->g;
  for (int j = 0; j < work->P->n; j++) {
    double sum = 0.0;
    for (size_t k = g->start[j]; k < g->start[j + 1]; k++) sum += g->value[k] * mu[g->row[k]];
    w[j] -= sum;
  }
}

double cpGradientEntry(const CPWork work, int i, int j) {
  const CPMat *g = &work->g;
  for (size_t k = g->start[j]; k < g->start[j + 1]; k++)
    if (g->row[k] == i) return g->value[k];
  return 0.0;
}
