/* Solves each connected component of the pattern of X by itself: S = X^T X is block-diagonal.
 *
 *   a single column   x_j = a_j mu,  mu = r / |a|^2, for all of them in one pass over the entries
 *   several columns   S_b = U^T U by Cholesky, or QR with column pivoting if columns are dependent
 *
 * There may be very many components (parts): their arrays lie in common pools, and a part allocates
 * memory of its own only when its columns are first found dependent. */
#include "saddle_impl.h"

#include <math.h>
#include <string.h>

/* ---- connected components ----
 *
 * Disjoint sets (Tarjan, J. ACM 22, 1975, with path halving), one pass over the entries. The first
 * column of a set is its root, whose entry in `parent` is minus the number of columns. */

static int root(int *parent, int i) {
  while (parent[i] >= 0) {
    if (parent[parent[i]] >= 0) parent[i] = parent[parent[i]];
    i = parent[i];
  }
  return i;
}

int cpComponents(const CPMat *AT, int n, int m, int *component, int *largest) {
  int count = 0, *parent = component;
  for (int i = 0; i < m; i++) parent[i] = -1;
  for (int j = 0; j < n; j++)
    for (size_t k = AT->start[j] + 1; k < AT->start[j + 1]; k++) {
      const int i = root(parent, AT->row[k - 1]), l = root(parent, AT->row[k]);
      const int first = i < l ? i : l, other = i < l ? l : i;
      if (i == l) continue;
      parent[first] += parent[other];
      parent[other] = first;
    }
  if (largest) *largest = 0;
  for (int i = 0; i < m; i++) { /* a parent is numbered before its children */
    if (largest && -parent[i] > *largest) *largest = -parent[i];
    component[i] = parent[i] < 0 ? count++ : component[parent[i]];
  }
  return count;
}

/* ---- the solver ---- */

/* Angles that Cholesky barely resolves are left to QR, which is cheap for one part and more
 * accurate. */
#define LEAST_PIVOT (1.001 * CP_CHOLESKY_LEAST)

/* A connected component with several columns. */
typedef struct {
  int m, n;     /* numbers of columns of X and of components of the state */
  int *column;  /* [m] its columns of X, ascending */
  int *row;     /* [n] its components of the state, ascending */
  CPMat XT;     /* m x n */
  char *off;    /* [m] 1: absent column; in S, a unit row and column: u_kk = 1 */
  CPCholesky S; /* m x m */
  int pivoted;  /* 1: the factors are those of qr */
  CPSaddle qr;  /* W = I, A = XT; NULL before its first use */
} Part;

typedef struct {
  int nparts;
  Part *parts;    /* [nparts] */
  int *local;     /* [m] place of each column in its part; -1: a single column */
  double *square; /* [m] |a|^2; 0: the column is absent */
  double *x, *r;  /* [max(n, m)], [m] workspace */
} Block;

static void destroy(void *content) {
  Block *b = content;
  for (int p = 0; p < b->nparts; p++) cpSaddleFree(&b->parts[p].qr);
}

/* part [m]: the part of each column, or -1; of_row [n]: workspace */
static int createParts(CPComplement *c, CPArena *arena, const int *part, int *of_row) {
  const CPMat *XT      = &c->XT;
  const size_t entries = XT->start[c->n];
  Block *b             = c->content;
  size_t pool          = 0;
  CPMat columns, rows;
  for (int j = 0; j < c->n; j++) /* all columns with an entry in row j belong to one part */
    of_row[j] = XT->start[j] < XT->start[j + 1] ? part[XT->row[XT->start[j]]] : -1;
  if (cpListByClass(arena, part, c->m, b->nparts, &columns) ||
      cpListByClass(arena, of_row, c->n, b->nparts, &rows))
    return CP_MEM_FAIL;
  for (int p = 0; p < b->nparts; p++) {
    b->parts[p].m = (int)(columns.start[p + 1] - columns.start[p]);
    b->parts[p].n = (int)(rows.start[p + 1] - rows.start[p]);
    pool += (size_t)b->parts[p].m * (size_t)b->parts[p].m;
  }
  size_t *start = CP_NEW(arena, start, c->n + b->nparts);
  int *index    = CP_NEW(arena, index, entries);
  char *off     = CP_NEW(arena, off, c->m);
  double *U = CP_NEW(arena, U, pool), *inverse = CP_NEW(arena, inverse, c->m),
         *ones = CP_NEW(arena, ones, c->m), *value = CP_NEW(arena, value, entries);
  if (cpArenaStatus(arena)) return CP_MEM_FAIL;
  for (int i = 0; i < c->m; i++) ones[i] = 1.0, b->local[i] = -1;
  for (int p = 0; p < b->nparts; p++) {
    Part *now    = &b->parts[p];
    size_t count = 0;
    now->column  = columns.row + columns.start[p];
    now->row     = rows.row + rows.start[p];
    now->off     = off + columns.start[p];
    now->S       = (CPCholesky){
              .n = now->m, .U = U, .d = ones, .inverse = inverse + columns.start[p], .work = b->r};
    now->XT = (CPMat){now->m, now->n, start, index, value};
    for (int k = 0; k < now->m; k++) b->local[now->column[k]] = k;
    for (int q = 0; q < now->n; q++) {
      for (size_t k = XT->start[now->row[q]]; k < XT->start[now->row[q] + 1]; k++)
        index[count++] = b->local[XT->row[k]];
      start[q + 1] = count;
    }
    U += (size_t)now->m * (size_t)now->m;
    start += now->n + 1;
    index += count;
    value += count;
  }
  return CP_SUCCESS;
}

/* The arena frees in reverse order, so destroy is registered after the arrays that it reads. */
static int create(CPComplement *c, CPArena *arena) {
  CPArena scratch = {0};
  Block *b;
  int *part = CP_NEW(&scratch, part, c->m), *size = CP_NEW(&scratch, size, c->m),
      *of_row = CP_NEW(&scratch, of_row, c->n);
  c->content  = CP_NEW(arena, b, 1);
  int flag    = b && !cpArenaStatus(&scratch) ? CP_SUCCESS : CP_MEM_FAIL;
  if (!flag) {
    const int count = cpComponents(&c->XT, c->n, c->m, part, NULL);
    for (int i = 0; i < c->m; i++) size[part[i]]++;
    for (int k = 0; k < count; k++) size[k] = size[k] > 1 ? b->nparts++ : -1; /* its part, or -1 */
    for (int i = 0; i < c->m; i++) part[i] = size[part[i]];
    CP_NEW(arena, b->parts, b->nparts);
    CP_NEW(arena, b->local, c->m);
    CP_ARRAYS(arena, c->m, &b->square, &b->r);
    CP_NEW(arena, b->x, c->n > c->m ? c->n : c->m);
    flag = cpArenaStatus(arena);
  }
  if (!flag) flag = createParts(c, arena, part, of_row);
  if (!flag && !cpArenaOwn(arena, b, destroy)) flag = CP_MEM_FAIL;
  cpArenaFree(&scratch);
  return flag;
}

/* ---- factors ---- */

static int factorPivoted(CPComplement *c, Part *part) {
  const CPSaddleOptions options = {.type = CP_SADDLE_NULLSPACE};
  int flag = part->qr ? CP_SUCCESS : cpSaddleCreate(&part->qr, options, NULL, &part->XT);
  if (!flag) cpSaddleUseRows(part->qr, part->off);
  if (!flag) flag = cpSaddleFactor(part->qr, (CPWeight){0}, &part->XT, c->ranktol);
  if (flag) return flag;
  part->pivoted = 1;
  c->sine       = fmin(c->sine, part->qr->sine);
  for (int k = 0; k < part->m; k++)
    if (part->qr->is_dependent[k]) c->is_dependent[part->column[k]] = 1;
  return CP_SUCCESS;
}

static int factor(CPComplement *c) {
  Block *b        = c->content;
  const CPMat *XT = &c->XT;
  int flag        = CP_SUCCESS;
  c->sine         = 1.0;
  memset(c->is_dependent, 0, (size_t)c->m);
  cpMatSquareRows(XT, b->square);
  for (int p = 0; !flag && p < b->nparts; p++) {
    Part *part     = &b->parts[p];
    const size_t m = (size_t)part->m;
    for (int q = 0; q < part->n; q++)
      memcpy(part->XT.value + part->XT.start[q], XT->value + XT->start[part->row[q]],
             (part->XT.start[q + 1] - part->XT.start[q]) * sizeof *XT->value);
    cpMatGram(&part->XT, part->S.U);
    for (size_t k = 0; k < m; k++) {
      part->off[k] = b->square[part->column[k]] == 0.0;
      if (part->off[k]) part->S.U[k * (m + 1)] = 1.0;
    }
    part->pivoted = 0;
    if (cpCholeskyFactor(&part->S, fmax(c->ranktol, LEAST_PIVOT))) flag = factorPivoted(c, part);
    for (size_t k = 0; !part->pivoted && k < m; k++) /* 1 / inverse: sine to the preceding columns */
      c->sine = fmin(c->sine, 1.0 / part->S.inverse[k]);
  }
  return flag;
}

/* ---- solutions ---- */

/* mu <- S^{-1} mu for absent and single columns, and for parts without pivoting */
static void solveColumns(const CPComplement *c, double *mu) {
  const Block *b = c->content;
  for (int i = 0; i < c->m; i++) {
    if (b->square[i] == 0.0) mu[i] = 0.0;
    else if (b->local[i] < 0) mu[i] /= b->square[i];
  }
  for (int p = 0; p < b->nparts; p++) {
    const Part *part = &b->parts[p];
    if (part->pivoted) continue;
    for (int k = 0; k < part->m; k++) b->x[k] = mu[part->column[k]];
    cpCholeskySolve(&part->S, b->x);
    for (int k = 0; k < part->m; k++) mu[part->column[k]] = part->off[k] ? 0.0 : b->x[k];
  }
}

static int solve(CPComplement *c, const double *r, double *x) {
  const Block *b = c->content;
  int flag       = CP_SUCCESS;
  memcpy(b->r, r, (size_t)c->m * sizeof *r);
  solveColumns(c, b->r);                           /* mu = S^-1 r */
  cpMatTransposedTimes(&c->XT, 1.0, b->r, 0.0, x); /* x  = X mu */
  for (int p = 0; !flag && p < b->nparts; p++) {
    const Part *part = &b->parts[p];
    if (!part->pivoted) continue;
    for (int k = 0; k < part->m; k++) b->r[k] = r[part->column[k]];
    flag = cpSaddleSolve(part->qr, NULL, b->r, b->x, NULL);
    for (int q = 0; q < part->n; q++) x[part->row[q]] = b->x[q];
  }
  return flag;
}

static int solveTransposed(CPComplement *c, const double *x, const double *r, double *mu) {
  const Block *b = c->content;
  int flag       = CP_SUCCESS;
  (void)r;
  cpMatTimes(&c->XT, 1.0, x, 0.0, mu); /* mu = X' x */
  solveColumns(c, mu);                 /* mu = S^-1 X' x */
  for (int p = 0; !flag && p < b->nparts; p++) {
    const Part *part = &b->parts[p];
    if (!part->pivoted) continue;
    for (int q = 0; q < part->n; q++) b->x[q] = x[part->row[q]];
    flag = cpSaddleSolve(part->qr, b->x, NULL, NULL, b->r);
    for (int k = 0; k < part->m; k++) mu[part->column[k]] = b->r[k];
  }
  return flag;
}

const CPComplementOps cpBlockComplementOps = {
    .create = create, .factor = factor, .solve = solve, .solveTransposed = solveTransposed};
