/* The connected components of X's pattern, each by itself: S = X^T X is block-diagonal.
 *
 *   a single column   x_j = a_j mu,  mu = r / |a|^2, for all of them in one pass over the entries
 *   a part of more    S_b = U^T U by Cholesky; by QR with column pivoting where that finds columns
 *                     dependent
 *
 * All factors lie in one pool, and only dependent parts allocate, when they prove so. */
#include "saddle_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- connected components: disjoint sets (Tarjan, J. ACM 22, 1975, with paths halved), one pass over the entries ---- */

/* The first column of i's set; parents come before their children. */
static int root(int *parent, int i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

static void join(int *parent, int i, int k) {
  i = root(parent, i);
  k = root(parent, k);
  if (i < k) parent[k] = i;
  else parent[i] = k;
}

/* Numbers in the place of parents: a parent has got its number before its children. */
static int number(int *parent, int m) {
  int count = 0;
  for (int i = 0; i < m; i++) parent[i] = parent[i] == i ? count++ : parent[parent[i]];
  return count;
}

static int largestSize(const int *component, int m, int ncomponents, int *largest) {
  int *size = calloc((size_t)ncomponents + 1, sizeof *size);
  if (!size) return CP_MEM_FAIL;
  *largest = 0;
  for (int i = 0; i < m; i++)
    if (++size[component[i]] > *largest) *largest = size[component[i]];
  free(size);
  return CP_SUCCESS;
}

int cpComponents(const CPMat *AT, int n, int m, int *component, int *ncomponents, int *largest) {
  for (int i = 0; i < m; i++) component[i] = i;
  for (int j = 0; j < n; j++)
    for (size_t k = AT->start[j] + 1; k < AT->start[j + 1]; k++)
      join(component, AT->row[k - 1], AT->row[k]);
  *ncomponents = number(component, m);
  return largest ? largestSize(component, m, *ncomponents, largest) : CP_SUCCESS;
}

/* ---- the solver ---- */

/* Angles that Cholesky just resolves are left to QR, which is cheap for a part and more accurate. */
#define LEAST_PIVOT (1.001 * CP_CHOLESKY_LEAST)

/* A component of several columns. */
typedef struct {
  int m, n;     /* columns, components of the state                        */
  int *column;  /* [m] of X, ascending                                     */
  int *row;     /* [n] components of the state, ascending                  */
  CPCholesky S; /* m x m; an absent column is one of its own: u_kk = 1     */
  int pivoted;  /* 1: the factors are those of qr                          */
  /* once they are needed: */
  CPArena arena;
  CPSaddle qr;   /* W = I                      */
  CPMat XT;      /* m x n: its A                */
  char *off;     /* [m] 1: absent column       */
  double *x, *r; /* [n], [m] vectors of qr     */
} Part;

typedef struct {
  int nparts;
  Part *parts;    /* [nparts]                                                */
  int *local;     /* [m] place of each column in its part; -1: it is single  */
  double *square; /* [m] |a|^2; 0: absent                                    */
  double *mu, *z; /* [m], [m of the largest part]                            */
} Block;

static void freeQR(Part *part) {
  cpSaddleFree(&part->qr);
  cpArenaFree(&part->arena);
}

static void destroy(void *content) {
  Block *b = content;
  for (int p = 0; p < b->nparts; p++) freeQR(&b->parts[p]);
}

/* ---- analysis ---- */

/* The part of state component j, -1 without one; part [m] of the columns. */
static int partOfRow(const CPMat *XT, const int *part, int j) {
  return XT->start[j] < XT->start[j + 1] ? part[XT->row[XT->start[j]]] : -1;
}

/* Shares of the parts in the pool and in the lists: their sizes are known. */
static int sharePool(Block *b, CPArena *arena, int m, int n) {
  size_t pool = 0, largest = 0;
  int *column = CP_NEW(arena, column, m), *row = CP_NEW(arena, row, n);
  double *U, *ones, *inverse = CP_NEW(arena, inverse, m);
  for (int p = 0; p < b->nparts; p++) {
    const size_t size = (size_t)b->parts[p].m;
    if (size > largest) largest = size;
    pool += size * size;
  }
  CP_NEW(arena, U, pool);
  CP_NEW(arena, b->z, largest);
  CP_NEW(arena, ones, largest);
  if (cpArenaStatus(arena)) return CP_MEM_FAIL;
  for (size_t k = 0; k < largest; k++) ones[k] = 1.0;
  for (int p = 0; p < b->nparts; p++) {
    Part *part   = &b->parts[p];
    part->S      = (CPCholesky){.n = part->m, .U = U, .d = ones, .inverse = inverse, .work = b->z};
    part->column = column;
    part->row    = row;
    column += part->m;
    row += part->n;
    inverse += part->m;
    U += (size_t)part->m * (size_t)part->m;
  }
  return CP_SUCCESS;
}

/* part [m], size [m], zero: workspace */
static int findParts(CPComplement *c, CPArena *arena, int *part, int *size) {
  Block *b    = c->content;
  const int m = c->m;
  int ncomponents, nparts = 0, flag = cpComponents(&c->XT, c->n, m, part, &ncomponents, NULL);
  if (flag) return flag;
  for (int i = 0; i < m; i++) size[part[i]]++;
  for (int k = 0; k < ncomponents; k++)
    size[k] = size[k] > 1 ? nparts++ : -1; /* part of each component */
  for (int i = 0; i < m; i++) part[i] = size[part[i]];
  if (!CP_NEW(arena, b->parts, nparts)) return CP_MEM_FAIL;
  b->nparts = nparts;
  for (int i = 0; i < m; i++) b->local[i] = part[i] < 0 ? -1 : b->parts[part[i]].m++;
  for (int j = 0; j < c->n; j++) {
    const int p = partOfRow(&c->XT, part, j);
    if (p >= 0) b->parts[p].n++;
  }
  if ((flag = sharePool(b, arena, m, c->n))) return flag;
  for (int i = 0; i < m; i++)
    if (part[i] >= 0) b->parts[part[i]].column[b->local[i]] = i;
  for (int p = 0; p < nparts; p++) b->parts[p].n = 0; /* counts again */
  for (int j = 0; j < c->n; j++) {
    const int p = partOfRow(&c->XT, part, j);
    if (p >= 0) b->parts[p].row[b->parts[p].n++] = j;
  }
  return CP_SUCCESS;
}

/* The arena frees in reverse order: what destroy looks at is older than its entry. */
static int create(CPComplement *c, CPArena *arena) {
  CPArena scratch = {0};
  Block *b;
  int *part = CP_NEW(&scratch, part, c->m), *size = CP_NEW(&scratch, size, c->m);
  c->content = CP_NEW(arena, b, 1);
  int flag   = b && !cpArenaStatus(&scratch) ? CP_SUCCESS : CP_MEM_FAIL;
  if (!flag) {
    CP_NEW(arena, b->local, c->m);
    CP_NEW(arena, b->square, c->m);
    CP_NEW(arena, b->mu, c->m);
    flag = cpArenaStatus(arena);
  }
  if (!flag) flag = findParts(c, arena, part, size);
  if (!flag && !cpArenaOwn(arena, b, destroy)) flag = CP_MEM_FAIL;
  cpArenaFree(&scratch);
  return flag;
}

/* ---- dependent parts ---- */

static int createQR(const CPComplement *c, Part *part) {
  const CPSaddleOptions options = {.type = CP_SADDLE_NULLSPACE};
  CPArena *arena                = &part->arena;
  size_t entries                = 0;
  if (part->qr) return CP_SUCCESS;
  freeQR(part); /* what an earlier attempt may have left */
  for (int q = 0; q < part->n; q++)
    entries += c->XT.start[part->row[q] + 1] - c->XT.start[part->row[q]];
  part->XT = (CPMat){.rows = part->m, .cols = part->n};
  CP_NEW(arena, part->XT.start, part->n + 1);
  CP_NEW(arena, part->XT.row, entries);
  CP_NEW(arena, part->XT.value, entries);
  CP_NEW(arena, part->off, part->m);
  CP_NEW(arena, part->x, part->n);
  CP_NEW(arena, part->r, part->m);
  return cpArenaStatus(arena) ? CP_MEM_FAIL : cpSaddleCreate(&part->qr, options, NULL, &part->XT);
}

static int factorPivoted(CPComplement *c, Part *part) {
  const Block *b = c->content;
  size_t count   = 0;
  int flag       = createQR(c, part);
  if (flag) return flag;
  for (int q = 0; q < part->n; q++) {
    part->XT.start[q] = count;
    for (size_t k = c->XT.start[part->row[q]]; k < c->XT.start[part->row[q] + 1]; k++) {
      part->XT.row[count]     = b->local[c->XT.row[k]];
      part->XT.value[count++] = c->XT.value[k];
    }
  }
  part->XT.start[part->n] = count;
  for (int k = 0; k < part->m; k++) part->off[k] = b->square[part->column[k]] == 0.0;
  flag = cpSaddleFactor(part->qr, (CPWeight){NULL, NULL}, &part->XT, part->off, c->ranktol);
  if (flag) return flag;
  part->pivoted = 1;
  c->rank += part->qr->rank;
  c->sine = fmin(c->sine, part->qr->sine);
  for (int k = 0; k < part->m; k++) {
    if (!part->qr->is_dependent[k]) continue;
    c->is_dependent[part->column[k]] = 1;
    if (c->dependent < 0) c->dependent = part->column[k];
  }
  return CP_SUCCESS;
}

/* ---- factors ---- */

/* S_b = sum_j a_j a_j^T; u_kk^2 is the squared sine of column k's angle to the columns before it. */
static int factorPart(CPComplement *c, Part *part) {
  Block *b        = c->content;
  const CPMat *XT = &c->XT;
  const size_t m  = (size_t)part->m;
  memset(part->S.U, 0, m * m * sizeof *part->S.U);
  for (int q = 0; q < part->n; q++) {
    const size_t first = XT->start[part->row[q]], last = XT->start[part->row[q] + 1];
    for (size_t l = first; l < last; l++) {
      double *column = part->S.U + (size_t)b->local[XT->row[l]] * m;
      for (size_t k = first; k <= l; k++)
        column[b->local[XT->row[k]]] += XT->value[k] * XT->value[l];
    }
  }
  for (size_t k = 0; k < m; k++)
    if (b->square[part->column[k]] == 0.0) part->S.U[k * (m + 1)] = 1.0;
  part->pivoted = 0;
  if (cpCholeskyFactor(&part->S, fmax(c->ranktol, LEAST_PIVOT))) return factorPivoted(c, part);
  for (size_t k = 0; k < m; k++) {
    c->sine = fmin(c->sine, 1.0 / part->S.inverse[k]);
    c->rank += b->square[part->column[k]] > 0.0;
  }
  return CP_SUCCESS;
}

static int factor(CPComplement *c) {
  Block *b     = c->content;
  int flag     = CP_SUCCESS;
  c->rank      = 0;
  c->dependent = -1;
  c->sine      = 1.0;
  memset(c->is_dependent, 0, (size_t)c->m);
  memset(b->square, 0, (size_t)c->m * sizeof *b->square);
  for (size_t k = 0; k < c->XT.start[c->n]; k++)
    b->square[c->XT.row[k]] += c->XT.value[k] * c->XT.value[k];
  for (int i = 0; i < c->m; i++) c->rank += b->local[i] < 0 && b->square[i] > 0.0;
  for (int p = 0; !flag && p < b->nparts; p++) flag = factorPart(c, &b->parts[p]);
  return flag;
}

/* ---- solutions ---- */

/* mu = S^{-1} mu: absent and single columns, and parts that are not pivoted */
static void solveColumns(const CPComplement *c, double *mu) {
  const Block *b = c->content;
  for (int i = 0; i < c->m; i++) {
    if (b->square[i] == 0.0) mu[i] = 0.0;
    else if (b->local[i] < 0) mu[i] /= b->square[i];
  }
  for (int p = 0; p < b->nparts; p++) {
    const Part *part = &b->parts[p];
    if (part->pivoted) continue;
    for (int k = 0; k < part->m; k++) b->z[k] = mu[part->column[k]];
    cpCholeskySolve(&part->S, b->z);
    for (int k = 0; k < part->m; k++)
      mu[part->column[k]] = b->square[part->column[k]] > 0.0 ? b->z[k] : 0.0;
  }
}

static int solve(CPComplement *c, const double *r, double *x) {
  Block *b = c->content;
  int flag = CP_SUCCESS;
  memcpy(b->mu, r, (size_t)c->m * sizeof *r);
  solveColumns(c, b->mu);                           /* mu = S^-1 r */
  cpMatTransposedTimes(&c->XT, 1.0, b->mu, 0.0, x); /* x  = X mu   */
  for (int p = 0; !flag && p < b->nparts; p++) {
    const Part *part = &b->parts[p];
    if (!part->pivoted) continue;
    for (int k = 0; k < part->m; k++) part->r[k] = r[part->column[k]];
    flag = cpSaddleSolve(part->qr, NULL, part->r, part->x, NULL);
    for (int q = 0; q < part->n; q++) x[part->row[q]] = part->x[q];
  }
  return flag;
}

static int solveTransposed(CPComplement *c, const double *x, double *mu) {
  const Block *b = c->content;
  int flag       = CP_SUCCESS;
  cpMatTimes(&c->XT, 1.0, x, 0.0, mu); /* mu = X' x      */
  solveColumns(c, mu);                 /* mu = S^-1 X' x */
  for (int p = 0; !flag && p < b->nparts; p++) {
    const Part *part = &b->parts[p];
    if (!part->pivoted) continue;
    for (int q = 0; q < part->n; q++) part->x[q] = x[part->row[q]];
    flag = cpSaddleSolve(part->qr, part->x, NULL, NULL, part->r);
    for (int k = 0; k < part->m; k++) mu[part->column[k]] = part->r[k];
  }
  return flag;
}

const CPComplementOps cpBlockComplementOps = {
    .create = create, .factor = factor, .solve = solve, .solveTransposed = solveTransposed};
