/* Sparse Schur complement for a W that is diagonal or has small blocks (bodies in absolute
 * coordinates): D = F F^T (weight.c), and S is factored by sparse.c,
 *
 *   X = F^T A^T E,   S = X^T X = E A D A^T E,   E = diag(e): unit columns of X
 *
 *   x2 = X S^+ E b,   mu = E S^+ X^T (F^T f - x2),   x = F (F^T f - X E^{-1} mu)
 *
 * S is of order m, while the KKT matrix is of order n + m. */
#include "cpodes/base/compat.h"
#include "sparse_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  CPWeightFactors W;
  /* S and X. The pattern of each row of X covers the constraints of this and the preceding rows of
   * its block. */
  Sparse S;
  double *e;      /* [m] 0: the row is off, or zero */
  double *w;      /* [m] workspace for a row of X; zero between uses */
  double *r;      /* [m] */
  double *y;      /* [n] */
  double *x;      /* [n], allocated when columns are dropped first */
  double *square; /* [m] see CPSaddle_ */
  /* for a diagonal W: [entries] root of the column of each entry of X, when s->weights was scaled_for; NULL before
   * expectQuick */
  double *scale;
  long int scaled_for;
  int was_factored; /* 1: quick solutions may follow, of accelerations */
} SparseSchur;

/* Returns *array, which is allocated at the first call. NULL: there is no memory for it now. */
static double *spare(CPSaddle s, double **array, size_t length) {
  if (*array) return *array;
  CP_NEW(&s->used.arena, *array, length);
  s->used.arena.failed = 0; /* The solver remains usable as it is. */
  return *array;
}

/* ---- structure ---- */

static void freeStructure(void *X) { cpMatFree(X); }

/* Plans the solver for the structures of A and of the blocks of W, which are those of the argument. */
static int plan(CPArena *arena, void *saddle, void **object) {
  const CPSaddle s         = saddle;
  const SparseSchur *c     = s->used.content;
  const CPMat *A           = &s->A;
  const CPWeightFactors *W = &c->W;
  Sparse *S                = CP_NEW(arena, S, 1);
  if (!S) return CP_MEM_FAIL;
  S->n = s->n, S->m = s->m;
  CPPlaces places = {0};
  for (int j = 0, b = 0; b < W->nblocks && j < s->n; j++) {
    while (W->first[b + 1] <= j) b++;
    for (int i = W->first[b]; i <= j; i++)
      for (size_t k = A->start[i]; k < A->start[i + 1]; k++) cpPlacesAdd(&places, A->row[k], j);
  }
  if (W->nblocks == 0 ? cpMatClone(&S->XT, A) : cpMatFromPlaces(&S->XT, s->m, s->n, &places))
    return CP_MEM_FAIL;
  free(S->XT.value); /* each solver has its own */
  S->XT.value = NULL;
  if (!cpArenaOwn(arena, &S->XT, freeStructure)) return CP_MEM_FAIL;
  if (!CP_NEW(arena, S->from, S->XT.start[s->n])) return CP_MEM_FAIL;
  for (size_t l = 0; l < S->XT.start[s->n]; l++) S->from[l] = l;
  *object        = S;
  const int flag = cpSparsePlan(S, arena);
  S->in_order    = 1;
  for (size_t l = 0; !flag && l < S->XT.start[s->n]; l++) S->in_order &= S->from[l] == l;
  return flag;
}

static int create(CPSaddle s) {
  CPArena *arena = &s->used.arena;
  const CPMat *A = &s->A;
  SparseSchur *c;
  void *shared = NULL;
  if (!A->start && s->m > 0) return CP_ILL_INPUT;
  if (s->has_matrix && !s->M.start) return CP_ILL_INPUT; /* W may couple all rows */
  s->used.content = CP_NEW(arena, c, 1);
  if (!c || cpWeightCreate(&c->W, s)) return CP_MEM_FAIL;
  c->S = (Sparse){.n = s->n, .m = s->m, .sine = 1.0};
  CP_ARRAYS(arena, s->n, &c->y);
  if (s->m == 0) return cpArenaStatus(arena);
  const int sizes[]     = {s->n, s->m, c->W.nblocks};
  const CPMemoKey key[] = {
      {sizes, sizeof sizes},
      {c->W.first, c->W.nblocks > 0 ? ((size_t)c->W.nblocks + 1) * sizeof *c->W.first : 0},
      {A->start, ((size_t)s->n + 1) * sizeof *A->start},
      {A->row, A->start[s->n] * sizeof *A->row}};
  const int flag = cpMemoGet(s->options.memo, arena, plan, key, 4, s, &shared);
  if (flag) return flag;
  CP_ARRAYS(arena, s->m, &c->e, &c->w, &c->r, &c->square);
  if (cpArenaStatus(arena)) return CP_MEM_FAIL;
  return cpSparseCreate(&c->S, shared, arena);
}

/* ---- factors ---- */

/* The factor by which a row becomes a column of X of unit length, rounded to a power of two if any
 * length will do: no bit of the solution then depends on it. */
static double scaleOf(double length, int any_length) {
  int exponent;
  if (!any_length) return 1.0 / length;
  frexp(length, &exponent);
  return ldexp(1.0, -exponent);
}

/* Forms X and e; the rows of a block are x_k = (d_k a_k - sum_{i<k} u_ik x_i) / u_kk. Rows of zeros
 * in use are marked as dependent. Returns 0, or CP_SADDLE_DEPENDENT for a row whose length is not
 * representable. */
static int formMatrix(CPSaddle s, int any_length) {
  SparseSchur *c       = s->used.content;
  const CPMat *X       = &c->S.XT;
  const CPMat *A       = &s->A;
  const size_t entries = X->start[s->n], *from = c->S.from;
  double *e = c->e, *w = c->w;
  memset(e, 0, (size_t)s->m * sizeof *e);
  for (int b = 0; b < c->W.nblocks; b++)
    for (int k = 0, first = c->W.first[b]; k < c->W.block[b].n; k++) {
      const CPCholesky *block = &c->W.block[b];
      const double *u         = block->U + (size_t)k * (size_t)block->n;
      const int j             = first + k;
      for (size_t l = A->start[j]; l < A->start[j + 1]; l++)
        w[A->row[l]] = block->d[k] * A->value[l];
      for (int i = 0; i < k; i++)
        for (size_t l = X->start[first + i]; l < X->start[first + i + 1]; l++)
          w[X->row[l]] -= u[i] * X->value[l];
      for (size_t l = X->start[j]; l < X->start[j + 1]; l++) {
        X->value[l]  = w[X->row[l]] * block->inverse[k];
        w[X->row[l]] = 0.0;
      }
    }
  const double *length = s->length ? s->length : c->r;
  if (!s->length) cpMatRowLengths(c->W.root ? A : X, c->W.root, c->square, c->r);
  for (int k = 0; k < s->nrows; k++) {
    const int i = s->row[k];
    if (s->is_dependent[i]) continue;
    if (length[i] > 0.0) e[i] = scaleOf(length[i], any_length);
    else cpSaddleMarkDependent(s, i);
    if (length[i] == 0.0 || isnormal(length[i])) continue;
    cpSaddleMarkDependent(s, i);
    return CP_SADDLE_DEPENDENT;
  }
  memset(c->square, 0, (size_t)s->m * sizeof *c->square);
  for (int j = 0; c->W.root && j < s->n; j++) {
    const double root = c->W.root[j];
    for (size_t l = X->start[j], end = X->start[j + 1]; l < end; l++) {
      const double x = A->value[from[l]] * root;
      c->square[X->row[l]] += x * x;
      X->value[l] = x * e[X->row[l]];
    }
  }
  for (size_t l = 0; !c->W.root && l < entries; l++) X->value[l] *= e[X->row[l]];
  return 0;
}

/* Quick solutions follow if W and A are factored again, for other values. */
static int expectQuick(CPSaddle s) {
  SparseSchur *c   = s->used.content;
  const int needed = s->m > 0 && c->W.root;
  return !needed || spare(s, &c->scale, c->S.XT.start[s->n]) ? CP_SUCCESS : CP_MEM_FAIL;
}

/* Rows that are off become columns of zeros in X, which S omits. Which rows are dependent is decided
 * with columns of unit length. */
static int factor(CPSaddle s) {
  SparseSchur *c     = s->used.content;
  const int shortest = s->options.shortest;
  int any_length     = c->S.envelope && c->S.dependent < 0;
  int flag           = cpWeightFactor(&c->W, s);
  if (flag || s->m == 0) return flag;
  if (s->dependent >= 0 && shortest) return CP_SADDLE_DEPENDENT;
  c->S.ranktol = shortest && !cpSaddleIsLast(s) ? fmax(s->ranktol, CP_CHOLESKY_LEAST) : s->ranktol;
  for (int twice = 0; twice < 2; twice++, any_length = !any_length) {
    flag = formMatrix(s, any_length);
    if (flag || (s->dependent >= 0 && shortest)) return CP_SADDLE_DEPENDENT;
    flag = cpSparseFactor(&c->S);
    if (flag || !c->S.envelope || c->S.is_regular == any_length) break;
  }
  if (!flag && !c->S.is_regular && !spare(s, &c->x, (size_t)s->n)) flag = CP_MEM_FAIL;
  if (!flag && shortest && c->was_factored) flag = expectQuick(s);
  c->was_factored = 1;
  if (c->W.root && s->nrows == s->m && !flag) s->square = c->square;
  s->sine = c->S.sine;
  for (int i = 0; !flag && i < s->m; i++)
    if (c->S.is_dependent[i]) cpSaddleMarkDependent(s, i);
  return !flag && s->dependent >= 0 && shortest ? CP_SADDLE_DEPENDENT : flag;
}

/* ---- solution ---- */

static int solve(CPSaddle s, const double *f, const double *b, double *x, double *mu) {
  SparseSchur *c = s->used.content;
  const CPMat *X = &c->S.XT;
  const int n    = s->n;
  const int once = c->S.is_regular || !b;
  double *y      = x ? x : c->y;
  int flag       = 0;
  for (int i = 0; b && i < s->m; i++) c->r[i] = c->e[i] > 0.0 ? c->e[i] * b[i] : 0.0;
  if (x && b && s->m > 0 && !f && !mu) { /* K b = F X S^+ E b */
    flag = cpSparseSolve(&c->S, c->r, x);
    cpWeightBackward(&c->W, x);
    return flag;
  }
  if (f) memcpy(y, f, (size_t)n * sizeof *y);
  else memset(y, 0, (size_t)n * sizeof *y);
  if (f) cpWeightForward(&c->W, y);
  if (s->m > 0) {
    const double *from = y; /* y - x2, x2 = X S^+ E b; not needed if S is regular */
    if (!once) flag = cpSparseSolve(&c->S, c->r, c->x);
    if (!once) from = c->x;
    for (int j = 0; !once && j < n; j++) c->x[j] = y[j] - c->x[j];
    if (!flag) flag = cpSparseSolveT(&c->S, from, once && b ? c->r : NULL, c->r);
    for (int i = 0; mu && i < s->m; i++) mu[i] = c->e[i] > 0.0 ? c->e[i] * c->r[i] : 0.0;
    if (x && (f || once)) /* y - X S^+ X^T (y - x2) */
      for (int j = 0; j < n; j++)
        for (size_t l = X->start[j], end = X->start[j + 1]; l < end; l++)
          y[j] -= X->value[l] * c->r[X->row[l]];
    else
      for (int j = 0; x && j < n; j++) y[j] = -c->x[j];
  }
  if (x) cpWeightBackward(&c->W, x);
  return flag;
}

/* X <- root A^T for a diagonal W. Without indices the loop is vectorised. */
CP_WIDE static void scaleRows(const CPSaddle s, const double *A) {
  SparseSchur *c       = s->used.content;
  const CPMat *X       = &c->S.XT;
  const size_t entries = X->start[s->n], *from = c->S.from;
  for (int j = 0; c->scaled_for != s->weights && j < s->n; j++)
    for (size_t l = X->start[j]; l < X->start[j + 1]; l++) c->scale[l] = c->W.root[j];
  c->scaled_for = s->weights;
  if (!c->S.in_order)
    for (size_t l = 0; l < entries; l++) X->value[l] = A[from[l]] * c->scale[l];
  else
    for (size_t l = 0; l < entries; l++) X->value[l] = A[l] * c->scale[l];
}

static int quick(CPSaddle s, const double *W, const double *A, const double *f, const double *b,
                 double *x, double *mu) {
  SparseSchur *c = s->used.content;
  const int flag = cpSaddleTake(s, W, A);
  if (flag) return flag == CP_SADDLE_SAME && !cpSaddleSolve(s, f, b, x, mu) && cpAllFinite(x, s->n);
  if (s->m == 0 || s->nrows < s->m) return 0; /* without rows there is no S */
  if (cpWeightFactor(&c->W, s) || !c->W.root) return 0;
  if (!c->scale) return 0;
  memcpy(s->A.value, A, s->entries[1] * sizeof *A);
  for (int i = 0; i < s->m; i++) c->e[i] = 1.0;
  s->square = c->square;
  scaleRows(s, A);
  s->valid = cpSparseQuick(&c->S, c->W.root, f, b, x, mu, c->square);
  s->sine  = c->S.sine;
  return s->valid;
}

const CPSaddleOps cpSaddleSparseOps = {create, factor, solve, quick, expectQuick};
