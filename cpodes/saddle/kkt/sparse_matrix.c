/* The scaled KKT matrix K = D [M A^T; A I0] D by columns; I0: 1 for rows that are left out. */
#include "sparse_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A itself, or its structure with all entries of a dense matrix, which has them in the same order. */
static int takeStructure(CPMat *S, int *owns, const CPMat *A) {
  *S = *A;
  if (A->start) return CP_SUCCESS;
  *owns    = 1;
  S->start = malloc(((size_t)A->cols + 1) * sizeof *S->start);
  S->row   = malloc((cpMatEntries(A) + 1) * sizeof *S->row);
  if (!S->start || !S->row) return CP_MEM_FAIL;
  for (int j = 0; j <= A->cols; j++) S->start[j] = (size_t)j * (size_t)A->rows;
  for (size_t e = 0; e < S->start[A->cols]; e++) S->row[e] = (int)(e % (size_t)A->rows);
  return CP_SUCCESS;
}

static size_t columnLength(const CPMat *A, int j) { return A->start[j + 1] - A->start[j]; }

/* Columns of K: lengths, then starts, then rows. */
static void buildStructure(CPKkt kkt) {
  CPKktSparse *s = kkt->content;
  const int n = kkt->n, m = kkt->m;
  Index *start = s->start, *row = s->row;
  for (int j = 0; j < n; j++)
    start[j + 1] = (Index)(columnLength(&s->M, j) + columnLength(&s->A, j));
  for (int i = 0; i < m; i++) start[n + i + 1] = 1;
  for (size_t e = 0; e < s->A.start[n]; e++) start[n + s->A.row[e] + 1]++;
  start[0] = 0;
  for (int k = 0; k < s->order; k++) start[k + 1] += start[k];
  for (int j = 0; j < n; j++) {
    Index q = start[j];
    for (size_t e = s->M.start[j]; e < s->M.start[j + 1]; e++) row[q++] = s->M.row[e];
    for (size_t e = s->A.start[j]; e < s->A.start[j + 1]; e++) {
      const int i      = s->A.row[e];
      const Index at   = start[n + i]++; /* moves on, and back below */
      row[q++]         = n + i;
      row[at]          = j;
      s->transposed[e] = (size_t)at;
    }
  }
  for (int i = 0; i < m; i++) row[start[n + i]] = n + i;
  for (int i = m; i > 0; i--) start[n + i] = start[n + i - 1] + 1;
  start[n] = (Index)(s->M.start[n] + s->A.start[n]);
}

int cpKktSparseCreateMatrix(CPKkt kkt) {
  CPKktSparse *s = kkt->content;
  s->order       = kkt->n + kkt->m;
  if (takeStructure(&s->M, &s->owns_M, kkt->M) || takeStructure(&s->A, &s->owns_A, kkt->A))
    return CP_MEM_FAIL;
  const size_t order = (size_t)s->order, entries_A = s->A.start[kkt->n];
  const size_t entries = s->M.start[kkt->n] + 2 * entries_A + (size_t)kkt->m;
  s->start             = malloc((order + 1) * sizeof *s->start);
  s->row               = malloc((entries + 1) * sizeof *s->row);
  s->value             = calloc(entries + 1, sizeof *s->value);
  s->transposed        = malloc((entries_A + 1) * sizeof *s->transposed);
  s->scale             = malloc((order + 1) * sizeof *s->scale);
  s->b                 = malloc((order + 1) * sizeof *s->b);
  s->x                 = calloc(order + 1, sizeof *s->x);
  s->r                 = malloc((order + 1) * sizeof *s->r);
  if (!s->start || !s->row || !s->value || !s->transposed || !s->scale || !s->b || !s->x || !s->r)
    return CP_MEM_FAIL;
  buildStructure(kkt);
  return CP_SUCCESS;
}

void cpKktSparseFreeMatrix(CPKktSparse *s) {
  if (s->owns_M) free(s->M.start), free(s->M.row);
  if (s->owns_A) free(s->A.start), free(s->A.row);
  free(s->start);
  free(s->row);
  free(s->value);
  free(s->transposed);
  free(s->scale);
  free(s->b);
  free(s->x);
  free(s->r);
}

/* ---- values ---- */

static void scaleRows(CPKkt kkt) {
  CPKktSparse *s = kkt->content;
  double *e      = s->scale + kkt->n;
  memset(e, 0, (size_t)kkt->m * sizeof *e);
  for (int j = 0; j < kkt->n; j++)
    for (size_t k = s->A.start[j]; k < s->A.start[j + 1]; k++) {
      const double v = s->A.value[k] * s->scale[j];
      e[s->A.row[k]] += v * v;
    }
  for (int k = 0, i = 0; i < kkt->m; i++) {
    const int in_use = k < kkt->nrows && kkt->row[k] == i;
    k += in_use;
    if (in_use && !(e[i] > 0.0) && !kkt->is_dependent[i]) cpKktMarkDependent(kkt, i);
    e[i] = in_use && !kkt->is_dependent[i] ? 1.0 / sqrt(e[i]) : 0.0;
  }
}

void cpKktSparseForm(CPKkt kkt) {
  CPKktSparse *s      = kkt->content;
  const double *scale = s->scale, *e = s->scale + kkt->n;
  s->M.value = kkt->M->value;
  s->A.value = kkt->A->value;
  cpKktScaleCoordinates(&s->M, s->scale);
  scaleRows(kkt);
  for (int j = 0; j < kkt->n; j++) {
    double *K = s->value + s->start[j];
    for (size_t k = s->M.start[j]; k < s->M.start[j + 1]; k++)
      *K++ = scale[j] * scale[s->M.row[k]] * s->M.value[k];
    for (size_t k = s->A.start[j]; k < s->A.start[j + 1]; k++)
      *K++ = s->value[s->transposed[k]] = scale[j] * e[s->A.row[k]] * s->A.value[k];
  }
  for (int i = 0; i < kkt->m; i++) s->value[s->start[kkt->n + i + 1] - 1] = e[i] == 0.0;
  s->norm = 0.0;
  for (int k = 0; k < s->order; k++) {
    double sum = 0.0;
    for (Index q = s->start[k]; q < s->start[k + 1]; q++) sum += fabs(s->value[q]);
    s->norm = fmax(s->norm, sum);
  }
}

void cpKktSparseResidual(const CPKktSparse *s, const double *b, const double *x, double *r) {
  memcpy(r, b, (size_t)s->order * sizeof *r);
  for (int k = 0; k < s->order; k++)
    for (Index q = s->start[k]; q < s->start[k + 1]; q++) r[s->row[q]] -= s->value[q] * x[k];
}
