/* Sparse LU factors (CPLu) of the scaled KKT matrix K = diag(s, e) [W A^T; A I0] diag(s, e), where
 * I0 is 1 for rows that are left out. A trial system with a right-hand side of known size assesses
 * the factors by its residual, and K by its solution, which is large if K is singular. Dependent
 * rows are determined only if K is singular, or if they are expected (factor). */
#include "cpodes/lu/lu.h"
#include "sparse_impl.h"

#include <math.h>
#include <string.h>

typedef struct {
  int order; /* n + m */
  /* the sparse parts of K: scaled W and A, with full structures if dense; I0, diagonal */
  CPMat M, A, I0;
  CPLu K;
  int has_factors;   /* K has been factored, and x solves the trial system */
  double *scale;     /* [order] s and e; e_i = 0: row i is left out */
  double norm;       /* largest column sum of |K| */
  double *b, *x, *r; /* [order] */
  /* dependent rows */
  int found;         /* 1: the newest factorisation has dependent rows */
  double *f;         /* [n] */
  double *g, *p, *q; /* [m] gradient and directions of conjugate gradients for mu */
  /* is W definite on the null space of A? */
  int is_started; /* 1: the following fields are in use */
  cholmod_common chol;
  /* W, of which the upper triangle is used, and A, as scaled in K */
  cholmod_sparse *W, *rows_A;
  cholmod_factor *L;
} CPKkt;

/* Angles between rows that are too narrow have sines below 1e-6. If they make K singular, x in the
 * trial solution is smaller than the multipliers by that factor; if K is singular for another
 * reason, it is not. Roundoff may widen such an angle up to the sine
 * CP_LEAST_SINE_OF_PART. */

/* Positive results of a factorisation. */
enum { SINGULAR = CP_SINGULAR, UNSTABLE };

/* ---- is W definite on the null space of A? ----
 *
 * K is regular, so W is definite there if W is positive semidefinite, or if W + rho A^T A is for
 * some rho (Debreu, Definite and semidefinite quadratic forms, Econometrica 20, 1952). Cholesky
 * factorisations (CHOLMOD) decide. */

/* Values of rho for the scaled W and A. A larger rho recognises more matrices, but the roundoff of
 * rho A^T A also hides more. */
static const double rhos[] = {1.0e2, 1.0e5};

/* *copy <- X; allocated with this stype at the first call. Returns 0 or a negative code. */
static int copyTo(cholmod_sparse **copy, const CPMat *X, int stype, CPKkt *c) {
  const size_t cols = (size_t)X->cols, entries = X->start[cols];
  if (!*copy) {
    *copy = cholmod_l_allocate_sparse((size_t)X->rows, cols, entries, 1, 1, stype, CHOLMOD_REAL,
                                      &c->chol);
    if (!*copy) return cpCholmodFailure(&c->chol);
    SuiteSparse_long *start = (*copy)->p, *row = (*copy)->i;
    for (size_t j = 0; j <= cols; j++) start[j] = (SuiteSparse_long)X->start[j];
    for (size_t e = 0; e < entries; e++) row[e] = X->row[e];
  }
  memcpy((*copy)->x, X->value, entries * sizeof *X->value);
  return CP_SUCCESS;
}

/* Is S positive semidefinite? Returns 0, CP_SADDLE_NOT_DEFINITE or a negative code. */
static int factorDefinite(CPKkt *c, cholmod_sparse *S, cholmod_factor *L) {
  double shift[2] = {CP_FUZZ, 0.0};
  if (!S || !L) return cpCholmodFailure(&c->chol);
  cholmod_l_factorize_p(S, shift, NULL, 0, L, &c->chol);
  if (c->chol.status < CHOLMOD_OK) return cpCholmodFailure(&c->chol);
  return c->chol.status == CHOLMOD_NOT_POSDEF ? CP_SADDLE_NOT_DEFINITE : 0;
}

/* Is W definite on the null space of A? Returns 0, CP_SADDLE_NOT_DEFINITE or a negative code. */
static int checkWeight(CPSaddle s) {
  CPKkt *c          = s->used.content;
  cholmod_common *l = &c->chol;
  if (!c->is_started) {
    cholmod_l_start(l);
    c->is_started                 = 1;
    l->print                      = 0;
    l->quick_return_if_not_posdef = 1;
    l->final_ll                   = 1; /* an L D L^T factor may have pivots of any sign */
    l->supernodal                 = CPODES_GPL ? CHOLMOD_AUTO : CHOLMOD_SIMPLICIAL;
    l->nmethods                   = 1; /* METIS may end the program if memory runs out */
    l->method[0].ordering         = CHOLMOD_AMD;
  }
  int flag = copyTo(&c->W, &c->M, 1, c);
  if (!flag && !c->L) c->L = cholmod_l_analyze(c->W, l);
  if (!flag) flag = factorDefinite(c, c->W, c->L);
  if (flag <= 0 || s->rank == 0) return flag;
  /* A^T A of the scaled rows that are kept, both triangles */
  cholmod_sparse *AT = copyTo(&c->rows_A, &c->A, 0, c) ? NULL : cholmod_l_transpose(c->rows_A, 1, l);
  cholmod_sparse *normal = AT ? cholmod_l_aat(AT, NULL, 0, 1, l) : NULL;
  cholmod_l_free_sparse(&AT, l);
  if (!normal) flag = cpCholmodFailure(&c->chol);
  for (size_t k = 0; flag > 0 && k < sizeof rhos / sizeof rhos[0]; k++) {
    double alpha[2] = {1.0, 0.0}, beta[2] = {rhos[k], 0.0};
    c->W->stype       = 0; /* W and A^T A store both triangles */
    cholmod_sparse *S = cholmod_l_add(c->W, normal, alpha, beta, 1, 1, l);
    c->W->stype       = 1;
    if (S) S->stype = 1;
    cholmod_factor *L = S ? cholmod_l_analyze(S, l) : NULL;
    flag              = factorDefinite(c, S, L);
    cholmod_l_free_factor(&L, l);
    cholmod_l_free_sparse(&S, l);
  }
  cholmod_l_free_sparse(&normal, l);
  return flag;
}

/* ---- dependent rows ---- */

/* Dependent rows, which the judge finds, and the multipliers of minimum norm.
 *
 * With A_d = C A_k, where A_k are the rows kept, the multipliers that change no force are N w =
 * (-C^T w, w). The product N w and its transpose take one solution each of that saddle point,
 *
 *   C^T w = K^T (A_d^T w),   C y = A_d K y,
 *
 * where K is its right inverse. Conjugate gradients for min |mu + N w| converge fast, since the
 * singular values of N lie between 1 and sqrt(1 + |C|^2). */

static int findRows(CPSaddle s, double sine) {
  CPKkt *c             = s->used.content;
  const double ranktol = s->ranktol;
  s->ranktol           = fmax(ranktol, sine);
  const int flag       = cpSaddleJudge(s);
  s->ranktol           = ranktol;
  c->found             = s->dependent >= 0;
  return flag;
}

/* ---- minimum norm ---- */

/* mu <- the multipliers of minimum norm. The gradient g bounds the distance from the minimum, since
 * no singular value of N is below 1. Its roundoff is u |N| |mu|, where |N| is estimated from the
 * directions. Each step goes to the minimum along its direction, so that mu does not grow even if
 * roundoff has determined the direction. */
static int shorten(CPSaddle s, double *mu) {
  CPKkt *c         = s->used.content;
  const int m      = s->m;
  const CPMat *A   = &s->A;
  double largest_N = 1.0, before = INFINITY; /* |N|^2, |g|^2 */
  const double roundoff = 4.0 * CP_UROUND;   /* of four operations, relative to |N| |mu| */
  for (int k = 0; k < CP_MOST_ITERATIONS; k++) {
    int flag = cpSaddleSolve(s->judge, NULL, mu, c->f, NULL);
    if (flag) return flag;
    memcpy(c->g, mu, (size_t)m * sizeof *mu);
    cpMatTimes(A, -1.0, c->f, 1.0, c->g);
    for (int i = 0; i < m; i++) c->g[i] = s->is_dependent[i] ? c->g[i] : 0.0; /* g = N^T mu */
    const double gamma = cpDot(c->g, c->g, m);
    if (gamma <= roundoff * roundoff * largest_N * cpDot(mu, mu, m)) return 0;
    for (int i = 0; i < m; i++) c->p[i] = (k ? gamma / before * c->p[i] : 0.0) - c->g[i];
    cpMatTransposedTimes(A, 1.0, c->p, 0.0, c->f); /* q = N p; p is zero in kept rows */
    flag = cpSaddleMultipliers(s->judge, c->f, c->q);
    if (flag) return flag;
    for (int i = 0; i < m; i++) c->q[i] = s->is_dependent[i] ? c->p[i] : -c->q[i];
    const double square = cpDot(c->q, c->q, m), size = cpDot(c->p, c->p, m);
    const double slope = -cpDot(c->p, c->g, m); /* -mu^T N p */
    for (int i = 0; i < m; i++) mu[i] += slope / square * c->q[i];
    largest_N = fmax(largest_N, square / size);
    before    = gamma;
  }
  return 0;
}

/* ---- the solver ---- */

static void destroy(void *content) {
  CPKkt *c = content;
  cpLuFree(&c->K);
  if (!c->is_started) return;
  cholmod_l_free_sparse(&c->W, &c->chol);
  cholmod_l_free_sparse(&c->rows_A, &c->chol);
  cholmod_l_free_factor(&c->L, &c->chol);
  cholmod_l_finish(&c->chol);
}

/* ---- structure ---- */

/* *S <- the structure of A, with all entries in the same order if A is dense, and with values of
 * its own. */
static void takeStructure(CPArena *arena, CPMat *S, const CPMat *A) {
  const size_t entries = cpMatEntries(A);
  *S                   = *A;
  CP_NEW(arena, S->value, entries);
  if (A->start) return;
  CP_NEW(arena, S->start, A->cols + 1);
  CP_NEW(arena, S->row, entries);
  for (int j = 0; S->row && j <= A->cols; j++) S->start[j] = (size_t)j * (size_t)A->rows;
  for (size_t e = 0; S->row && e < entries; e++) S->row[e] = (int)(e % (size_t)A->rows);
}

static int create(CPSaddle s) {
  CPArena *arena = &s->used.arena;
  const int n = s->n, m = s->m;
  CPKkt *c;
  if (!s->has_matrix) return CP_ILL_INPUT;
  s->used.content = CP_NEW(arena, c, 1);
  if (!cpArenaOwn(arena, c, destroy)) return CP_MEM_FAIL;
  c->order = n + m;
  c->I0    = (CPMat){.rows = m, .cols = m};
  takeStructure(arena, &c->M, &s->M);
  takeStructure(arena, &c->A, &s->A);
  CP_NEW(arena, c->I0.start, m + 1);
  CP_NEW(arena, c->I0.row, m);
  CP_ARRAYS(arena, c->order, &c->scale, &c->b, &c->x, &c->r);
  CP_NEW(arena, c->f, n);
  CP_ARRAYS(arena, m, &c->g, &c->p, &c->q, &c->I0.value);
  if (cpArenaStatus(arena)) return CP_MEM_FAIL;
  for (int i = 0; i < m; i++) c->I0.row[i] = i, c->I0.start[i + 1] = (size_t)i + 1;
  int flag = cpLuCreate(&c->K, c->order, 1, 0, NULL, c->order);
  if (!flag) cpLuShare(c->K, s->options.memo);
  if (!flag) flag = cpLuTerm(c->K, &c->M, 0, 0, 0);
  if (!flag) flag = cpLuTerm(c->K, &c->A, n, 0, 0);
  if (!flag) flag = cpLuTerm(c->K, &c->A, 0, n, 1);
  if (!flag) flag = cpLuTerm(c->K, &c->I0, n, n, 0);
  return flag;
}

/* ---- values ---- */

/* Forms K without the rows that are dependent or off, and marks rows of zeros as dependent. Returns 0,
 * CP_MEM_FAIL, or CP_SADDLE_DEPENDENT for a row whose length is not representable. */
static int formMatrix(CPSaddle s) {
  static const double complex ones[4] = {1.0, 1.0, 1.0, 1.0};
  CPKkt *c                            = s->used.content;
  const CPMat *A = &c->A, *M = &c->M;
  const int n   = s->n;
  double *scale = c->scale, *e = c->scale + n, *sum = c->r;
  cpSaddleScaleCoordinates(s, scale);
  memset(sum, 0, (size_t)c->order * sizeof *sum);
  cpMatRowLengths(&s->A, scale, c->g, e);
  for (int i = 0; i < s->m; i++) {
    const int is_used = !s->off[i] && !s->is_dependent[i];
    if (is_used && !isnormal(e[i])) cpSaddleMarkDependent(s, i);
    if (is_used && !isnormal(e[i]) && e[i] != 0.0) return CP_SADDLE_DEPENDENT;
    e[i]       = is_used && e[i] > 0.0 ? 1.0 / e[i] : 0.0;
    sum[n + i] = c->I0.value[i] = e[i] == 0.0;
  }
  for (int j = 0; j < n; j++) {
    for (size_t k = M->start[j]; k < M->start[j + 1]; k++) {
      M->value[k] = scale[j] * scale[M->row[k]] * s->M.value[k];
      sum[j] += fabs(M->value[k]);
    }
    for (size_t k = A->start[j]; k < A->start[j + 1]; k++) {
      A->value[k] = s->A.value[k] * scale[j] * e[A->row[k]];
      sum[j] += fabs(A->value[k]);
      sum[n + A->row[k]] += fabs(A->value[k]);
    }
  }
  c->norm = cpLargest(sum, c->order);
  return cpLuAssemble(c->K, ones);
}

/* ---- factors ---- */

/* c->x = K^{-1} b and its residual, c->r = b - K x */
static int solveWithResidual(CPKkt *c, const double *b) {
  double *mu = c->x + c->A.cols, *r_mu = c->r + c->A.cols;
  memcpy(c->x, b, (size_t)c->order * sizeof *b);
  memcpy(c->r, b, (size_t)c->order * sizeof *b);
  const int flag = cpLuSolve(c->K, c->x, NULL);
  if (flag) return flag;
  cpMatTimes(&c->M, -1.0, c->x, 1.0, c->r);
  cpMatTransposedTimes(&c->A, -1.0, mu, 1.0, c->r);
  cpMatTimes(&c->A, -1.0, c->x, 1.0, r_mu);
  cpMatTimes(&c->I0, -1.0, mu, 1.0, r_mu);
  return CP_SUCCESS;
}

/* Sets b = c->x = K^{-1} b and its residual c->r. Returns 0, UNSTABLE, SINGULAR or a negative
 * code. */
static int trialSolve(void *factors, double *b) {
  CPKkt *c    = factors;
  double size = 0.0, largest_r = 0.0;
  const int flag = solveWithResidual(c, b);
  if (flag) return flag;
  for (int k = 0; k < c->order; k++) {
    if (!isfinite(c->x[k])) return SINGULAR;
    size      = fmax(size, fabs(c->x[k]));
    largest_r = fmax(largest_r, fabs(c->r[k]));
    b[k]      = c->x[k];
  }
  return largest_r <= CP_ROUNDED * (c->norm * size + 1.0) ? 0 : UNSTABLE;
}

/* Factors K; if the pivots kept from an earlier factorisation fail, once more with new ones.
 * Returns 0, SINGULAR, CP_SADDLE_DEPENDENT or a negative code. */
static int factorMatrix(CPSaddle s) {
  CPKkt *c = s->used.content;
  int flag = formMatrix(s);
  if (flag) return flag;
  do {
    flag           = cpLuFactor(c->K);
    c->has_factors = !flag;
    if (!flag) flag = cpJudge(trialSolve, c, c->b, c->order);
  } while (flag > 0 && cpLuRenew(c->K));
  return flag > 0 ? SINGULAR : flag;
}

/* Returns the largest multiplier in the solution of the trial system. row: out, its row (unchanged
 * if all are zero); largest_x: out, the largest of the other unknowns. */
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

/* Is K singular because rows are at angles that are too narrow? Then the trial solution has large
 * multipliers, and x is smaller by a factor of the order of the angle. Otherwise K is singular
 * because x^T W x = 0 and A x = 0 for some x. */
static int isForRows(const CPSaddle s, int *row) {
  double largest_x;
  const double multiplier = largestMultiplier(s, row, &largest_x); /* 0 if all are NaN */
  return ((CPKkt *)s->used.content)->has_factors && multiplier > 0.0 &&
         multiplier * CP_LEAST_SINE_OF_PART >= largest_x;
}

/* Factors K without the rows whose sine to the others is below the given one. Returns the codes of
 * factorMatrix. */
static int factorWithout(CPSaddle s, double sine) {
  const int flag = findRows(s, sine);
  if (flag) return flag;
  return ((CPKkt *)s->used.content)->found ? factorMatrix(s) : SINGULAR;
}

/* If K is singular, dependent rows are determined and left out, unless this has been done at the
 * beginning: if rows were dependent last time, or ranktol asks for more than exact dependence. If K
 * is still singular, it is done once more with rows at less narrow angles, since the search may
 * miss a dependence hidden by roundoff. */
static int factor(CPSaddle s) {
  CPKkt *c         = s->used.content;
  const int search = !s->is_judged && (c->found || s->ranktol > s->options.finest);
  int row = -1, flag = search && s->nrows > 0 ? findRows(s, CP_CHOLESKY_LEAST) : 0;
  c->found = s->dependent >= 0;
  if (flag) return flag;
  flag = factorMatrix(s);
  if (flag == SINGULAR && s->nrows > 0 && !c->found) flag = factorWithout(s, CP_CHOLESKY_LEAST);
  if (flag == SINGULAR && isForRows(s, &row)) flag = factorWithout(s, CP_LEAST_SINE_OF_PART);
  if (flag == SINGULAR) flag = isForRows(s, &row) ? 0 : CP_SADDLE_NOT_DEFINITE;
  double largest_x;
  const double multiplier = largestMultiplier(s, &row, &largest_x);
  if (multiplier > 0.0) s->sine = fmin(1.0, largest_x / multiplier);
  return flag ? flag : checkWeight(s);
}

/* ---- solution ---- */

/* Solves with one step of iterative refinement. */
static int solve(CPSaddle s, const double *f, const double *b, double *x, double *mu) {
  CPKkt *c        = s->used.content;
  const int n     = s->n;
  const double *d = c->scale, *e = c->scale + n;
  for (int j = 0; j < n; j++) c->b[j] = f ? d[j] * f[j] : 0.0;
  for (int i = 0; i < s->m; i++) c->b[n + i] = b && e[i] > 0.0 ? e[i] * b[i] : 0.0;
  int flag = solveWithResidual(c, c->b);
  if (!flag) flag = cpLuSolve(c->K, c->r, NULL);
  if (flag) return flag;
  for (int j = 0; x && j < n; j++) x[j] = d[j] * (c->x[j] + c->r[j]);
  for (int i = 0; mu && i < s->m; i++) mu[i] = e[i] * (c->x[n + i] + c->r[n + i]);
  if (!mu || !c->found || !s->options.shortest) return 0;
  int exponent; /* Squares of mu must neither overflow nor underflow. */
  frexp(cpLargest(mu, s->m), &exponent);
  for (int i = 0; i < s->m; i++) mu[i] = ldexp(mu[i], -exponent);
  flag = shorten(s, mu);
  for (int i = 0; i < s->m; i++) mu[i] = ldexp(mu[i], exponent);
  return flag;
}

const CPSaddleOps cpSaddleKktOps = {create, factor, solve, NULL, NULL};
