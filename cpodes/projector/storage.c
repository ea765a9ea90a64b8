/* Storage of the matrix method: G of the template's type, its entries, and vectors of n and m. */
#include "projector_impl.h"

#include <stdlib.h>
#include <sunmatrix/sunmatrix_dense.h>

static int allocateArrays(CPWork work, size_t n, size_t m) {
  double **ofN[] = {&work->sqrtd, &work->w, &work->x, &work->z, &work->xl};
  double **ofM[] = {&work->rowscale, &work->size, &work->unit, &work->r,     &work->s,
                    &work->rl,       &work->c,    &work->c2,   &work->frozen};
  for (size_t i = 0; i < sizeof ofN / sizeof ofN[0]; i++)
    if (!(*ofN[i] = calloc(n, sizeof **ofN[i]))) return 0;
  for (size_t i = 0; i < sizeof ofM / sizeof ofM[0]; i++)
    if (!(*ofM[i] = calloc(m, sizeof **ofM[i]))) return 0;
  work->rowpos = calloc(m, sizeof *work->rowpos);
  work->left   = calloc(m, sizeof *work->left);
  return work->rowpos && work->left;
}

static void freeArrays(CPWork work) {
  double **all[] = {&work->sqrtd,    &work->w,    &work->x,    &work->z,     &work->xl,
                    &work->rowscale, &work->size, &work->unit, &work->r,     &work->s,
                    &work->rl,       &work->c,    &work->c2,   &work->frozen};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    free(*all[i]);
    *all[i] = NULL;
  }
  free(work->rowpos);
  work->rowpos = NULL;
  free(work->left);
  work->left = NULL;
}

static SUNMatrix likeTemplate(CPProjector P, SUNMatrix tmpl, int rows) {
  SUNMatrix A = tmpl ? SUNMatClone(tmpl) : SUNDenseMatrix(rows, P->n, P->ctx);
  if (A && tmpl) cpMatrixZero(A, tmpl);
  return A;
}

int cpStorageCreate(CPWork work) {
  CPProjector P = work->P;
  if (!allocateArrays(work, (size_t)P->n, (size_t)P->m)) return CP_MEM_FAIL;
  if (P->mc > 0) {
    work->uc = N_VClone(P->c_tmpl);
    work->G  = likeTemplate(P, P->G_tmpl, P->mc);
    if (!work->uc || !work->G) return CP_MEM_FAIL;
  }
  if (!cpHasDiagonalMetric(P) && !(work->M = likeTemplate(P, P->M_tmpl, P->n))) return CP_MEM_FAIL;
  return cpGradientCreate(work);
}

void cpStorageFree(CPWork work) {
  freeArrays(work);
  if (work->uc) N_VDestroy(work->uc);
  if (work->G) SUNMatDestroy(work->G);
  if (work->M) SUNMatDestroy(work->M);
  work->uc = NULL;
  work->G = work->M = NULL;
  if (work->lent) work->g.value = NULL; /* it was G's */
  work->lent             = 0;
  CPMat *const entries[] = {&work->g, &work->norms};
  for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
    free(entries[i]->start);
    free(entries[i]->row);
    free(entries[i]->value);
    *entries[i] = (CPMat){0};
  }
  free(work->source);
  work->source = NULL;
  cpColoringFree(&work->colors);
  work->pattern_is_kept = 0;
  work->shape           = -1;
}
