/* Sparse LU factors (KLU) of the scaled KKT matrix K = diag(s, e) [W A^T; A I0] diag(s, e), I0: 1 for rows that are left
 * out, in an order of little fill of K + K^T, and then with the pivots of the factorisation before for as long as these
 * are good. A system with known solution size judges the factors: by its residual, and K by its solution, which is
 * large if K is singular. Only then dependent rows are looked for. */
#include "kkt_impl.h"

#include "cholesky.h"
#include "linsol.h"

#include <math.h>
#include <string.h>

/* Residual of the trial system, relative to |K| |x| + |b|, above which the pivots are renewed; one
 * step of refinement takes what is below to roundoff. */
#define STABLE 1.0e-10

/* Angles that are too narrow are below 1e-6; the shares of accelerations without rows are not. */
#define NARROW      1.0e-5
#define LESS_NARROW 1.0e-4

/* What factors may be, beside a negative code. */
#define SINGULAR CP_LIN_SINGULAR
#define UNSTABLE 2

static void destroy(void *content) {
  CPKkt *c = content;
  klu_l_free_numeric(&c->numeric, &c->common);
  klu_l_free_symbolic(&c->symbolic, &c->common);
  cpSaddleFree(&c->rows);
  cpKktFreeMass(c);
}

/* ---- structure ---- */

/* A itself, or its structure with all entries of a dense matrix, which has them in the same order. */
static void takeStructure(CPArena *arena, CPMat *S, const CPMat *A) {
  *S = *A;
  if (A->start) return;
  const size_t entries = cpMatEntries(A);
  CP_NEW(arena, S->start, A->cols + 1);
  CP_NEW(arena, S->row, entries);
  for (int j = 0; S->row && j <= A->cols; j++) S->start[j] = (size_t)j * (size_t)A->rows;
  for (size_t e = 0; S->row && e < entries; e++) S->row[e] = (int)(e % (size_t)A->rows);
}

/* Columns of K: lengths, then starts, then rows. */
static void buildStructure(CPKkt *c) {
  const int n = c->A.cols, m = c->A.rows;
  Index *start = c->start, *row = c->row;
  for (int j = 0; j < n; j++)
    start[j + 1] = (Index)(c->M.start[j + 1] - c->M.start[j] + c->A.start[j + 1] - c->A.start[j]);
  for (int i = 0; i < m; i++) start[n + i + 1] = 1;
  for (size_t e = 0; e < c->A.start[n]; e++) start[n + c->A.row[e] + 1]++;
  start[0] = 0;
  for (int k = 0; k < c->order; k++) start[k + 1] += start[k];
  for (int j = 0; j < n; j++) {
    Index q = start[j];
    for (size_t e = c->M.start[j]; e < c->M.start[j + 1]; e++) row[q++] = c->M.row[e];
    for (size_t e = c->A.start[j]; e < c->A.start[j + 1]; e++) {
      const int i      = c->A.row[e];
      const Index at   = start[n + i]++; /* moves on, and back below */
      row[q++]         = n + i;
      row[at]          = j;
      c->transposed[e] = (size_t)at;
    }
  }
  for (int i = 0; i < m; i++) row[start[n + i]] = n + i;
  for (int i = m; i > 0; i--) start[n + i] = start[n + i - 1] + 1;
  start[n] = (Index)(c->M.start[n] + c->A.start[n]);
}

static int failure(const CPKkt *c) {
  return c->common.status == KLU_OUT_OF_MEMORY || c->common.status == KLU_TOO_LARGE ? CP_MEM_FAIL
                                                                                    : CP_LINSOL_FAIL;
}

/* Blocks of KLU's own are not asked for: the search for them loses the symmetry of the structure, and
 * may take long. The matrix is scaled already. */
static int create(CPSaddle s) {
  CPArena *arena = &s->used.arena;
  CPKkt *c;
  if (!s->has_matrix) return CP_ILL_INPUT;
  s->used.content = CP_NEW(arena, c, 1);
  if (!cpArenaOwn(arena, c, destroy)) return CP_MEM_FAIL;
  klu_l_defaults(&c->common);
  c->common.btf   = 0;
  c->common.scale = -1;
  c->order        = s->n + s->m;
  takeStructure(arena, &c->M, &s->M);
  takeStructure(arena, &c->A, &s->A);
  if (cpArenaStatus(arena)) return CP_MEM_FAIL;
  const size_t entries_A = c->A.start[s->n],
               entries   = c->M.start[s->n] + 2 * entries_A + (size_t)s->m;
  CP_NEW(arena, c->start, c->order + 1);
  CP_NEW(arena, c->row, entries);
  CP_NEW(arena, c->value, entries);
  CP_NEW(arena, c->transposed, entries_A);
  CP_NEW(arena, c->scale, c->order);
  CP_NEW(arena, c->b, c->order);
  CP_NEW(arena, c->x, c->order);
  CP_NEW(arena, c->r, c->order);
  CP_NEW(arena, c->d, s->n);
  CP_NEW(arena, c->f, s->n);
  CP_NEW(arena, c->g, s->m);
  CP_NEW(arena, c->p, s->m);
  CP_NEW(arena, c->q, s->m);
  if (cpKktCreateMass(s)) return CP_MEM_FAIL;
  buildStructure(c);
  c->symbolic = klu_l_analyze(c->order, c->start, c->row, &c->common);
  return c->symbolic ? CP_SUCCESS : failure(c);
}

/* ---- values ---- */

/* Without the rows that are dependent or off; rows of zeros are marked as dependent. */
static void formMatrix(CPSaddle s) {
  CPKkt *c      = s->used.content;
  const int n   = s->n;
  double *scale = c->scale, *e = c->scale + n;
  c->M.value = s->M.value;
  c->A.value = s->A.value;
  cpSaddleScaleCoordinates(s, scale);
  memset(e, 0, (size_t)s->m * sizeof *e);
  for (int j = 0; j < n; j++)
    for (size_t k = c->A.start[j]; k < c->A.start[j + 1]; k++) {
      const double v = c->A.value[k] * scale[j];
      e[c->A.row[k]] += v * v;
    }
  for (int i = 0; i < s->m; i++) {
    if (!s->off[i] && !(e[i] > 0.0) && !s->is_dependent[i]) cpSaddleMarkDependent(s, i);
    e[i] = !s->off[i] && !s->is_dependent[i] ? 1.0 / sqrt(e[i]) : 0.0;
  }
  for (int j = 0; j < n; j++) {
    double *K = c->value + c->start[j];
    for (size_t k = c->M.start[j]; k < c->M.start[j + 1]; k++)
      *K++ = scale[j] * scale[c->M.row[k]] * c->M.value[k];
    for (size_t k = c->A.start[j]; k < c->A.start[j + 1]; k++)
      *K++ = c->value[c->transposed[k]] = scale[j] * e[c->A.row[k]] * c->A.value[k];
  }
  for (int i = 0; i < s->m; i++) c->value[c->start[n + i + 1] - 1] = e[i] == 0.0;
  c->norm = 0.0;
  for (int k = 0; k < c->order; k++) {
    double sum = 0.0;
    for (Index q = c->start[k]; q < c->start[k + 1]; q++) sum += fabs(c->value[q]);
    c->norm = fmax(c->norm, sum);
  }
}

/* r = b - K x */
static void residual(const CPKkt *c, const double *b, const double *x, double *r) {
  memcpy(r, b, (size_t)c->order * sizeof *r);
  for (int k = 0; k < c->order; k++)
    for (Index q = c->start[k]; q < c->start[k + 1]; q++) r[c->row[q]] -= c->value[q] * x[k];
}

/* ---- factors ---- */

static int backSolve(CPKkt *c, double *x) {
  return klu_l_solve(c->symbolic, c->numeric, c->order, 1, x, &c->common) ? 0 : failure(c);
}

/* b = c->x = K^{-1} b, c->r: its residual. 0, UNSTABLE, SINGULAR or a negative code. */
static int trialSolve(void *factors, double *b) {
  CPKkt *c    = factors;
  double size = 0.0, largest_r = 0.0;
  memcpy(c->x, b, (size_t)c->order * sizeof *c->x);
  const int flag = backSolve(c, c->x);
  if (flag) return flag;
  residual(c, b, c->x, c->r);
  for (int k = 0; k < c->order; k++) {
    if (!isfinite(c->x[k])) return SINGULAR;
    size      = fmax(size, fabs(c->x[k]));
    largest_r = fmax(largest_r, fabs(c->r[k]));
    b[k]      = c->x[k];
  }
  return largest_r <= STABLE * (c->norm * size + 1.0) ? 0 : UNSTABLE;
}

/* With the pivots of the factorisation before, if these are good, else with new ones. 0, SINGULAR or a negative code. */
static int factorMatrix(CPKkt *c) {
  if (c->numeric) {
    klu_l_refactor(c->start, c->row, c->value, c->symbolic, c->numeric, &c->common);
    if (c->common.status == KLU_OK && cpLinJudge(trialSolve, c, c->b, c->order) == 0) return 0;
  }
  klu_l_free_numeric(&c->numeric, &c->common);
  c->numeric = klu_l_factor(c->start, c->row, c->value, c->symbolic, &c->common);
  if (c->common.status == KLU_OK) {
    const int flag = cpLinJudge(trialSolve, c, c->b, c->order);
    return flag == UNSTABLE ? SINGULAR : flag;
  }
  klu_l_free_numeric(&c->numeric, &c->common);
  return c->common.status == KLU_SINGULAR ? SINGULAR : failure(c);
}

/* In the solution of the trial system: its largest multiplier and that row, and the largest of the other unknowns. */
static double largestMultiplier(const CPSaddle s, int *row, double *largest_x) {
  const CPKkt *c = s->used.content;
  double largest = *largest_x = 0.0;
  for (int j = 0; j < s->n; j++) *largest_x = fmax(*largest_x, fabs(c->x[j]));
  for (int k = 0; k < s->nrows; k++) {
    const double size = fabs(c->x[s->n + s->row[k]]);
    if (size > largest) largest = size, *row = s->row[k];
  }
  return largest;
}

/* Is K singular for rows at angles that are too narrow? Then the trial has large multipliers, at
 * x that are smaller by the angle; else x^T W x = 0 and A x = 0 for some x. */
static int isForRows(const CPSaddle s, int *row) {
  double largest_x;
  return ((CPKkt *)s->used.content)->numeric &&
         largestMultiplier(s, row, &largest_x) * NARROW >= largest_x;
}

/* Without the rows whose sine to the others is below the given one. Codes of factorMatrix. */
static int factorWithout(CPSaddle s, double sine) {
  CPKkt *c       = s->used.content;
  const int flag = cpKktFindRows(s, sine);
  if (flag) return flag;
  formMatrix(s);
  return c->found ? factorMatrix(c) : SINGULAR;
}

/* Dependent rows are left out where K is singular, if they have not been looked for; and once more with those at
 * less narrow angles, for the search may miss one that comes out of roundoff. */
static int factor(CPSaddle s) {
  CPKkt *c         = s->used.content;
  const int search = c->found || s->ranktol > s->options.finest; /* once, and again */
  int row = -1, flag = search && s->nrows > 0 ? cpKktFindRows(s, CP_CHOLESKY_LEAST) : 0;
  if (flag) return flag;
  formMatrix(s);
  flag = factorMatrix(c);
  if (flag == SINGULAR && s->nrows > 0 && !c->found) flag = factorWithout(s, CP_CHOLESKY_LEAST);
  if (flag == SINGULAR && isForRows(s, &row)) flag = factorWithout(s, LESS_NARROW);
  if (flag == SINGULAR && !isForRows(s, &row)) flag = CP_SADDLE_NOT_DEFINITE;
  else if (flag == SINGULAR) {
    cpSaddleMarkDependent(s, row);
    flag = CP_SADDLE_DEPENDENT;
  }
  double largest_x;
  const double multiplier = largestMultiplier(s, &row, &largest_x);
  if (multiplier > 0.0) s->sine = fmin(1.0, largest_x / multiplier);
  return flag ? flag : cpKktCheckMass(s);
}

/* ---- solution ---- */

/* With one step of refinement. */
static int solve(CPSaddle s, const double *f, const double *b, double *x, double *mu) {
  CPKkt *c        = s->used.content;
  const int n     = s->n;
  const double *d = c->scale, *e = c->scale + n;
  for (int j = 0; j < n; j++) c->b[j] = f ? d[j] * f[j] : 0.0;
  for (int i = 0; i < s->m; i++) c->b[n + i] = b && e[i] > 0.0 ? e[i] * b[i] : 0.0;
  memcpy(c->x, c->b, (size_t)c->order * sizeof *c->x);
  int flag = backSolve(c, c->x);
  if (flag) return flag;
  residual(c, c->b, c->x, c->r);
  if ((flag = backSolve(c, c->r))) return flag;
  for (int j = 0; x && j < n; j++) x[j] = d[j] * (c->x[j] + c->r[j]);
  for (int i = 0; mu && i < s->m; i++) mu[i] = e[i] * (c->x[n + i] + c->r[n + i]);
  return mu && c->found && s->options.shortest ? cpKktShorten(s, mu) : 0;
}

const CPSaddleOps cpSaddleKktOps = {.name          = "sparse KKT matrix",
                                    .type          = CP_SADDLE_KKT,
                                    .keeps_pattern = 1,
                                    .create        = create,
                                    .factor        = factor,
                                    .solve         = solve};
