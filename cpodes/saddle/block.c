/* The connected components of A's pattern, each by itself: S = A^T A is block-diagonal.
 *
 *   a single column   x_j = a_j mu,  mu = r / |a|^2, for all of them in one pass over the entries
 *   a part of more    S_b = U^T U by Cholesky; by QR with column pivoting where that finds columns
 *                     dependent
 *
 * All factors lie in one pool, and only dependent parts allocate, when they prove so. */
#include "components.h"
#include "lapack.h"
#include "linsol.h"
#include "small.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Cholesky of S squares the condition: an angle below cannot be told from dependence. */
#define LEAST_PIVOT 1.0e-6

/* A component of several columns. */
typedef struct {
  int m, n;      /* columns, components of the state                        */
  int *column;   /* [m] of A, ascending                                     */
  int *row;      /* [n] components of the state, ascending                  */
  double *U;     /* m x m, upper triangle                                   */
  int pivoted;   /* 1: the factors are lin's                                */
  CPLin lin;     /* NULL until it is needed                                 */
  CPEntries AT;  /* of lin: without absent columns                          */
  int *present;  /* [m] lin's column of each of these, -1: absent           */
  double *x, *r; /* [n], [m] vectors of lin                                 */
} Part;

typedef struct {
  int nparts;
  Part *parts;       /* [nparts]                                                */
  int *local;        /* [m] place of each column in its part; -1: it is single  */
  int *column, *row; /* of all parts                                            */
  double *pool;      /* the U of all parts                                      */
  double *inverse;   /* [m] single: 1 / |a|^2, else 1 / u_kk; absent: 0         */
  double *mu, *z;    /* [m], [m of the largest part]                            */
} Block;

static void freeFallback(Part *part) {
  cpLinFree(&part->lin);
  free(part->AT.start);
  free(part->AT.row);
  free(part->AT.value);
  free(part->present);
  free(part->x);
  free(part->r);
}

static void blockDestroy(CPLin lin) {
  Block *b = lin->content;
  for (int p = 0; p < b->nparts; p++) freeFallback(&b->parts[p]);
  free(b->parts);
  free(b->local);
  free(b->column);
  free(b->row);
  free(b->pool);
  free(b->inverse);
  free(b->mu);
  free(b->z);
  free(b);
  lin->content = NULL;
}

static int blockCreate(CPLin lin) {
  Block *b = lin->content = calloc(1, sizeof *b);
  const size_t m = (size_t)lin->mmax, n = (size_t)lin->n;
  if (!b) return CP_MEM_FAIL;
  b->local   = malloc((m + 1) * sizeof *b->local);
  b->column  = malloc((m + 1) * sizeof *b->column);
  b->row     = malloc((n + 1) * sizeof *b->row);
  b->inverse = malloc((m + 1) * sizeof *b->inverse);
  b->mu      = malloc((m + 1) * sizeof *b->mu);
  return b->local && b->column && b->row && b->inverse && b->mu ? CP_SUCCESS : CP_MEM_FAIL;
}

/* ---- analysis ---- */

/* Numbers the components of several columns, in place: part of each component, -1 for a single
 * column. size: in, columns of each component. */
static int numberParts(int *size, int ncomponents) {
  int count = 0;
  for (int c = 0; c < ncomponents; c++) size[c] = size[c] > 1 ? count++ : -1;
  return count;
}

/* The part of state component j, -1 without one; part [m] of the columns. */
static int partOfRow(const CPEntries *AT, const int *part, int j) {
  return AT->start[j] < AT->start[j + 1] ? part[AT->row[AT->start[j]]] : -1;
}

/* Sizes of the parts, and the place of each column in its part; part [m] of each column. */
static void measureParts(CPLin lin, const int *part) {
  Block *b = lin->content;
  for (int i = 0; i < lin->mmax; i++) b->local[i] = part[i] < 0 ? -1 : b->parts[part[i]].m++;
  for (int j = 0; j < lin->n; j++) {
    const int p = partOfRow(lin->AT, part, j);
    if (p >= 0) b->parts[p].n++;
  }
}

/* Shares of the parts in the pool and in the lists. */
static int sharePool(Block *b) {
  size_t pool = 0, largest = 0;
  int *column = b->column, *row = b->row;
  for (int p = 0; p < b->nparts; p++) {
    const size_t m = (size_t)b->parts[p].m;
    if (m > largest) largest = m;
    pool += m * m;
  }
  b->pool = malloc((pool + 1) * sizeof *b->pool);
  b->z    = malloc((largest + 1) * sizeof *b->z);
  if (!b->pool || !b->z) return CP_MEM_FAIL;
  pool = 0;
  for (int p = 0; p < b->nparts; p++) {
    Part *part   = &b->parts[p];
    part->U      = b->pool + pool;
    part->column = column;
    part->row    = row;
    column += part->m;
    row += part->n;
    pool += (size_t)part->m * (size_t)part->m;
  }
  return CP_SUCCESS;
}

static void listParts(CPLin lin, const int *part) {
  Block *b = lin->content;
  for (int i = 0; i < lin->mmax; i++)
    if (part[i] >= 0) b->parts[part[i]].column[b->local[i]] = i;
  for (int p = 0; p < b->nparts; p++) b->parts[p].n = 0; /* counts again */
  for (int j = 0; j < lin->n; j++) {
    const int p = partOfRow(lin->AT, part, j);
    if (p >= 0) b->parts[p].row[b->parts[p].n++] = j;
  }
}

/* part [m], size [m], zero: workspace */
static int findParts(CPLin lin, int *part, int *size) {
  Block *b    = lin->content;
  const int m = lin->mmax;
  int ncomponents, flag = cpComponents(lin->AT, lin->n, m, part, &ncomponents, NULL);
  if (flag) return flag;
  for (int i = 0; i < m; i++) size[part[i]]++;
  const int nparts = numberParts(size, ncomponents);
  for (int i = 0; i < m; i++) part[i] = size[part[i]];
  b->parts = calloc((size_t)nparts + 1, sizeof *b->parts);
  if (!b->parts) return CP_MEM_FAIL;
  b->nparts = nparts;
  measureParts(lin, part);
  flag = sharePool(b);
  if (!flag) listParts(lin, part);
  return flag;
}

static int blockAnalyse(CPLin lin) {
  int *part      = malloc(((size_t)lin->mmax + 1) * sizeof *part);
  int *size      = calloc((size_t)lin->mmax + 1, sizeof *size);
  const int flag = part && size ? findParts(lin, part, size) : CP_MEM_FAIL;
  free(part);
  free(size);
  return flag;
}

/* ---- dependent parts ---- */

static size_t entriesOf(const CPLin lin, const Part *part) {
  size_t count = 0;
  for (int q = 0; q < part->n; q++)
    count += lin->AT->start[part->row[q] + 1] - lin->AT->start[part->row[q]];
  return count;
}

static int createFallback(const CPLin lin, Part *part) {
  const size_t m = (size_t)part->m, n = (size_t)part->n, nnz = entriesOf(lin, part);
  if (part->lin) return CP_SUCCESS;
  freeFallback(part); /* what an earlier attempt may have left */
  part->AT.start = malloc((n + 1) * sizeof *part->AT.start);
  part->AT.row   = malloc((nnz + 1) * sizeof *part->AT.row);
  part->AT.value = malloc((nnz + 1) * sizeof *part->AT.value);
  part->present  = malloc(m * sizeof *part->present);
  part->x        = malloc(n * sizeof *part->x);
  part->r        = malloc(m * sizeof *part->r);
  if (part->AT.start && part->AT.row && part->AT.value && part->present && part->x && part->r)
    return cpLinCreate(&part->lin, CP_LINSOL_QRP, part->n, part->m, NULL);
  return CP_MEM_FAIL;
}

/* A^T of the part, without absent columns: those with inverse 0. */
static void gatherPart(const CPLin lin, Part *part) {
  const Block *b      = lin->content;
  const CPEntries *AT = lin->AT;
  size_t count        = 0;
  part->lin->m        = 0;
  for (int k = 0; k < part->m; k++)
    part->present[k] = b->inverse[part->column[k]] > 0.0 ? part->lin->m++ : -1;
  for (int q = 0; q < part->n; q++) {
    part->AT.start[q] = count;
    for (size_t k = AT->start[part->row[q]]; k < AT->start[part->row[q] + 1]; k++) {
      const int at = part->present[b->local[AT->row[k]]];
      if (at < 0) continue;
      part->AT.row[count]     = at;
      part->AT.value[count++] = AT->value[k];
    }
  }
  part->AT.start[part->n] = count;
  part->lin->AT           = &part->AT;
}

static int factorPivoted(CPLin lin, Part *part) {
  int flag = createFallback(lin, part);
  if (flag) return flag;
  gatherPart(lin, part);
  part->lin->ranktol = lin->ranktol;
  flag               = part->lin->ops->factor(part->lin);
  if (flag) return flag;
  part->pivoted = 1;
  lin->rank += part->lin->rank;
  lin->sine = fmin(lin->sine, part->lin->sine);
  for (int k = 0; k < part->m; k++) {
    const int at = part->present[k];
    if (at < 0 || !part->lin->is_dependent[at]) continue;
    lin->is_dependent[part->column[k]] = 1;
    if (lin->dependent < 0) lin->dependent = part->column[k];
  }
  return CP_SUCCESS;
}

/* ---- factors ---- */

/* d_i = |a_i|^2 for all columns, in one pass. */
static void squareColumns(const CPLin lin, double *d) {
  const CPEntries *AT = lin->AT;
  const size_t nnz    = AT->start[lin->n];
  memset(d, 0, (size_t)lin->mmax * sizeof *d);
  for (size_t k = 0; k < nnz; k++) d[AT->row[k]] += AT->value[k] * AT->value[k];
}

/* Upper triangle of S_b = sum_j a_j a_j^T. */
static void blockComplement(const CPLin lin, const Part *part) {
  const Block *b      = lin->content;
  const CPEntries *AT = lin->AT;
  const size_t m      = (size_t)part->m;
  memset(part->U, 0, m * m * sizeof *part->U);
  for (int q = 0; q < part->n; q++) {
    const size_t first = AT->start[part->row[q]], last = AT->start[part->row[q] + 1];
    for (size_t l = first; l < last; l++) {
      double *column = part->U + (size_t)b->local[AT->row[l]] * m;
      for (size_t k = first; k <= l; k++)
        column[b->local[AT->row[k]]] += AT->value[k] * AT->value[l];
    }
  }
}

/* S = U^T U by columns of U, in place; 0 if S is not positive definite. */
static int choleskySmall(double *U, int m) {
  for (int k = 0; k < m; k++) {
    double *u = U + k * m, square = u[k];
    for (int i = 0; i < k; i++) {
      const double *v = U + i * m;
      for (int l = 0; l < i; l++) u[i] -= v[l] * u[l];
      u[i] /= v[i];
      square -= u[i] * u[i];
    }
    if (!(square > 0.0)) return 0;
    u[k] = sqrt(square);
  }
  return 1;
}

static int cholesky(double *U, int m) {
  int info;
  if (m <= CP_SMALL) return choleskySmall(U, m);
  F77(dpotrf)("U", &m, U, &m, &info);
  return info == 0;
}

/* U^T U z = z */
static void backSolve(const Block *b, const Part *part, double *z) {
  const int m = part->m;
  for (int k = 0; k < m; k++) { /* U^T w = z */
    const double *u = part->U + (size_t)k * (size_t)m;
    for (int i = 0; i < k; i++) z[k] -= u[i] * z[i];
    z[k] *= b->inverse[part->column[k]];
  }
  for (int k = m - 1; k >= 0; k--) { /* U z = w */
    const double *u = part->U + (size_t)k * (size_t)m;
    z[k] *= b->inverse[part->column[k]];
    for (int i = 0; i < k; i++) z[i] -= u[i] * z[k];
  }
}

typedef struct {
  const Block *b;
  const Part *part;
} Trial;

static int trialSolve(void *factors, double *z) {
  const Trial *trial = factors;
  backSolve(trial->b, trial->part, z);
  return 0;
}

/* A column in the span of others may have a pivot that is not small. */
static int isSingular(const Block *b, const Part *part) {
  Trial trial = {b, part};
  return cpLinJudge(trialSolve, &trial, b->z, part->m);
}

/* u_kk^2 is the squared sine of column k's angle to the columns before it. An absent column is one
 * of its own: u_kk = 1, but its multiplier is 0. */
static int factorPart(CPLin lin, Part *part) {
  Block *b           = lin->content;
  const double limit = fmax(lin->ranktol, LEAST_PIVOT);
  double least       = 1.0;
  int rank           = 0;
  part->pivoted      = 0;
  blockComplement(lin, part);
  for (int k = 0; k < part->m; k++)
    if (b->inverse[part->column[k]] == 0.0) part->U[(size_t)k * (size_t)(part->m + 1)] = 1.0;
  int fine = cholesky(part->U, part->m);
  for (int k = 0; fine && k < part->m; k++)
    fine = part->U[(size_t)k * (size_t)(part->m + 1)] > limit;
  if (!fine) return factorPivoted(lin, part);
  for (int k = 0; k < part->m; k++) {
    const double pivot = part->U[(size_t)k * (size_t)(part->m + 1)];
    double *inverse    = &b->inverse[part->column[k]];
    if (*inverse == 0.0) continue;
    least    = fmin(least, pivot);
    *inverse = 1.0 / pivot;
    rank++;
  }
  if (least * least < CP_LIN_SMALL_PIVOT && isSingular(b, part)) return factorPivoted(lin, part);
  lin->sine = fmin(lin->sine, least);
  lin->rank += rank;
  return CP_SUCCESS;
}

static int blockFactor(CPLin lin) {
  Block *b       = lin->content;
  int flag       = CP_SUCCESS;
  lin->m         = lin->mmax;
  lin->rank      = 0;
  lin->dependent = -1;
  lin->sine      = 1.0;
  memset(lin->is_dependent, 0, (size_t)lin->mmax);
  squareColumns(lin, b->inverse);
  for (int i = 0; i < lin->mmax; i++) {
    if (b->inverse[i] == 0.0) continue;
    b->inverse[i] = 1.0 / b->inverse[i];
    lin->rank += b->local[i] < 0;
  }
  for (int p = 0; !flag && p < b->nparts; p++) flag = factorPart(lin, &b->parts[p]);
  return flag;
}

/* ---- solutions ---- */

/* mu = S_b^-1 mu for the columns of the part. */
static void solvePart(const Block *b, const Part *part, double *mu) {
  for (int k = 0; k < part->m; k++) b->z[k] = mu[part->column[k]];
  backSolve(b, part, b->z);
  for (int k = 0; k < part->m; k++) mu[part->column[k]] = b->z[k];
}

static int solvePivoted(const Part *part, const double *r, double *x) {
  for (int k = 0; k < part->m; k++)
    if (part->present[k] >= 0) part->r[part->present[k]] = r[part->column[k]];
  const int flag = part->lin->ops->solve(part->lin, part->r, part->x);
  for (int q = 0; q < part->n; q++) x[part->row[q]] = part->x[q];
  return flag;
}

static int solvePivotedT(const Part *part, const double *x, double *mu) {
  for (int q = 0; q < part->n; q++) part->x[q] = x[part->row[q]];
  const int flag = part->lin->ops->solve_t(part->lin, part->x, part->r);
  for (int k = 0; k < part->m; k++)
    mu[part->column[k]] = part->present[k] >= 0 ? part->r[part->present[k]] : 0.0;
  return flag;
}

static int blockSolve(CPLin lin, const double *r, double *x) {
  Block *b            = lin->content;
  const CPEntries *AT = lin->AT;
  int flag            = CP_SUCCESS;
  for (int i = 0; i < lin->mmax; i++) { /* mu = S^-1 r: single and absent ones */
    if (b->inverse[i] == 0.0) b->mu[i] = 0.0;
    else b->mu[i] = b->local[i] < 0 ? r[i] * b->inverse[i] : r[i];
  }
  for (int p = 0; p < b->nparts; p++) /* ... and parts */
    if (!b->parts[p].pivoted) solvePart(b, &b->parts[p], b->mu);
  for (int j = 0; j < lin->n; j++) { /* x = A mu */
    double sum = 0.0;
    for (size_t k = AT->start[j]; k < AT->start[j + 1]; k++)
      sum += AT->value[k] * b->mu[AT->row[k]];
    x[j] = sum;
  }
  for (int p = 0; !flag && p < b->nparts; p++)
    if (b->parts[p].pivoted) flag = solvePivoted(&b->parts[p], r, x);
  return flag;
}

static int blockSolveT(CPLin lin, const double *x, double *mu) {
  const Block *b      = lin->content;
  const CPEntries *AT = lin->AT;
  int flag            = CP_SUCCESS;
  memset(mu, 0, (size_t)lin->mmax * sizeof *mu);
  for (int j = 0; j < lin->n; j++) /* mu = A' x */
    for (size_t k = AT->start[j]; k < AT->start[j + 1]; k++) mu[AT->row[k]] += AT->value[k] * x[j];
  for (int i = 0; i < lin->mmax; i++) /* mu = S^-1 A' x */
    if (b->local[i] < 0) mu[i] *= b->inverse[i];
  for (int p = 0; !flag && p < b->nparts; p++) {
    const Part *part = &b->parts[p];
    if (part->pivoted) flag = solvePivotedT(part, x, mu);
    else solvePart(b, part, mu);
  }
  return flag;
}

const CPLinOps cpBlockOps = {.name          = "blocks",
                             .type          = CP_LINSOL_BLOCK,
                             .keeps_pattern = 1,
                             .create        = blockCreate,
                             .analyse       = blockAnalyse,
                             .factor        = blockFactor,
                             .solve         = blockSolve,
                             .solve_t       = blockSolveT,
                             .destroy       = blockDestroy};
