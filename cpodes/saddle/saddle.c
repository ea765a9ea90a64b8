/* Life cycle, table and choice of the solvers of saddle-point systems; the rank that stands. */
#include "saddle_impl.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows count as known to be independent if their sines exceed ranktol by this factor. */
#define CLEARLY 30.0

static const struct {
  const CPSaddleOps *ops;
  const char *name;
  int keeps_pattern; /* the structure of A is analysed at creation */
} solvers[] = {[CP_LINSOL_AUTO]   = {NULL, NULL, 0},
               [CP_LINSOL_SCHUR]  = {&cpSaddleSchurOps, "Schur complement", 0},
               [CP_LINSOL_QR]     = {&cpSaddleNullspaceOps, "QR", 0},
               [CP_LINSOL_SPARSE] = {&cpSaddleSparseOps, "sparse Schur complement", 1},
               [CP_LINSOL_KKT]    = {&cpSaddleKktOps, "sparse KKT matrix", 1}};

int cpSaddleKeepsPattern(CPLinSol type) { return solvers[type].keeps_pattern; }

const char *cpSaddleName(const CPSaddle s) { return solvers[cpSaddleTypeOf(s)].name; }

int cpSaddleFailed(const CPSaddle s, int flag, sunrealtype t, const char *row, char *text) {
  if (flag == CP_SADDLE_DEPENDENT)
    return cpReason(text, -CP_PROJ_RANK,
                    "at t = %.10g: %s depends on others, and the linear solver '%s' needs "
                    "independent ones (CP_LINSOL_AUTO, QR and KKT do not)",
                    t, row, cpSaddleName(s));
  const char *what = flag == CP_MEM_FAIL ? "no memory" : "LAPACK or SuiteSparse failed";
  if (flag == CP_SADDLE_NONFINITE) what = "a matrix that is not finite", flag = -CP_MECH_NONFINITE;
  if (isnan(t)) return cpReason(text, flag, "%s in the linear solver '%s'", what, cpSaddleName(s));
  return cpReason(text, flag, "at t = %.10g: %s in the linear solver '%s'", t, what,
                  cpSaddleName(s));
}

CPLinSol cpSaddleTypeOf(const CPSaddle s) { return s->few ? s->few->used.type : s->used.type; }

/* ---- the object ---- */

/* Has it more than two rows for each coordinate, of a structure that is analysed once, so that few of them can be in use? Redundant
 * loops, whose rows are all in use, have fewer than twice as many as coordinates. */
static int hasFew(const CPSaddle s) {
  return !s->options.whole && s->A.start && s->m > 2 * s->n && cpSaddleKeepsPattern(s->first);
}

/* Sets the first solver, and the general one, which takes over what the first refuses. */
static void choose(CPSaddle s) {
  s->first = s->options.type;
  if (s->first == CP_LINSOL_AUTO) {
    s->options.may_change = 1;
    s->first              = CP_LINSOL_SCHUR;
    if (!s->has_matrix && s->A.start) s->first = CP_LINSOL_SPARSE;
    if (s->has_matrix && s->M.start && (s->A.start || s->m == 0))
      s->first = cpSaddleHasSmallBlocks(&s->M) ? CP_LINSOL_SPARSE : CP_LINSOL_KKT;
  }
  s->general = CP_LINSOL_AUTO;
  if (!s->options.may_change || hasFew(s)) return;
  if (s->first == CP_LINSOL_SCHUR) s->general = CP_LINSOL_QR;
  if (s->first == CP_LINSOL_SPARSE && s->has_matrix) s->general = CP_LINSOL_KKT;
}

static int openSolver(CPSaddle s, CPLinSol type) {
  CPSaddleSolver *used   = &s->used;
  const CPSaddleOps *ops = (unsigned)type <= CP_LINSOL_KKT ? solvers[type].ops : NULL;
  if (type == CP_LINSOL_SCHUR && s->has_matrix && !s->M.start && !s->A.start &&
      s->n + s->m <= CP_SMALL)
    ops = &cpSaddleEnvelopeOps;
  if (hasFew(s)) ops = &cpSaddleFewOps;
  used->type     = type;
  used->ops      = ops;
  const int flag = ops ? ops->create(s) : CP_ILL_INPUT;
  if (!flag) return CP_SUCCESS;
  cpArenaFree(&used->arena);
  used->content = NULL;
  return flag;
}

int cpSaddleCreate(CPSaddle *result, CPSaddleOptions options, const CPMat *W, const CPMat *A) {
  CPSaddle s = *result = calloc(1, sizeof *s);
  if (!s) return CP_MEM_FAIL;
  s->options    = options;
  s->n          = A->cols;
  s->m          = A->rows;
  s->has_matrix = W != NULL;
  s->A          = *A;
  s->sine       = 1.0;
  s->dependent = s->indefinite = -1;
  s->asked = s->ranktol = options.finest;
  s->judged_sine        = 1.0;
  CP_NEW(&s->arena, s->row, s->m);
  CP_NEW(&s->arena, s->is_dependent, s->m);
  CP_NEW(&s->arena, s->off, s->m);
  CP_NEW(&s->arena, s->known, s->m);
  CP_NEW(&s->arena, s->root, W ? 0 : s->n);
  if (W) s->entries[0] = cpMatEntries(W), s->entries[1] = cpMatEntries(A);
  CP_NEW(&s->arena, s->problem, s->entries[0] + s->entries[1]);
  int flag = cpArenaStatus(&s->arena);
  if (!flag) cpSaddleSetRows(s, NULL);
  if (!flag && W) { /* the caller's structures, with values of our own */
    s->M       = *W;
    s->M.value = s->problem;
    s->A.value = s->problem + s->entries[0];
  }
  choose(s);
  if (!flag) flag = openSolver(s, s->first);
  if (flag) cpSaddleFree(result);
  return flag;
}

void cpSaddleFree(CPSaddle *saddle) {
  if (!saddle || !*saddle) return;
  cpSaddleFree(&(*saddle)->judge);
  cpArenaFree(&(*saddle)->used.arena);
  cpArenaFree(&(*saddle)->reserve.arena);
  cpArenaFree(&(*saddle)->late);
  cpArenaFree(&(*saddle)->arena);
  free(*saddle);
  *saddle = NULL;
}

/* ---- factors ---- */

int cpSaddleSetRows(CPSaddle s, const char *off) {
  s->nrows = s->valid = 0;
  s->quick            = NULL;
  s->knows_rows       = 1;
  for (int i = 0; i < s->m; i++) {
    s->off[i] = off && off[i];
    if (s->off[i]) continue;
    s->row[s->nrows++] = i;
    s->knows_rows &= s->known[i];
  }
  return s->knows_rows;
}

/* Copies the values. Returns whether all are finite; if not, the copy may be incomplete. */
static inline int keepValues(double *kept, const double *value, size_t entries) {
  size_t k = 0;
  while (entries < CP_MANY && k < entries && fabs(kept[k] = value[k]) <= DBL_MAX) k++;
  if (entries < CP_MANY) return k == entries;
  memcpy(kept, value, entries * sizeof *kept);
  return cpAllFinite(kept, (sunindextype)entries);
}

int cpSaddleKeepWeight(CPSaddle s, const double *W) {
  s->weights++;
  s->valid             = 0;
  return s->has_weight = keepValues(s->M.value, W, s->entries[0]);
}

/* Takes over W and A. Returns CP_SADDLE_SAME if the factors are still valid, as in linear problems
 * and for several users at one state; else 0 or CP_SADDLE_NONFINITE. */
static int keepProblem(CPSaddle s, CPWeight W, const CPMat *A, double ranktol) {
  if (!s->has_matrix) {
    double one     = 0.0;
    s->is_identity = 1;
    for (int j = 0; j < s->n; j++) {
      s->root[j] = W.root ? W.root[j] : 1.0;
      if (one == 0.0) one = s->root[j];
      s->is_identity &= s->root[j] == 0.0 || s->root[j] == one;
    }
    s->length = W.length;
    s->A      = *A;
    return 0;
  }
  /* Without rows in use A does not matter. */
  if (s->nrows == 0 && s->valid && s->asked == ranktol && s->has_weight &&
      !memcmp(s->M.value, W.matrix->value, s->entries[0] * sizeof *s->M.value))
    return CP_SADDLE_SAME;
  const int flag = cpSaddleTake(s, W.matrix->value, A->value);
  if (flag > 0 || (flag == CP_SADDLE_SAME && s->asked == ranktol)) return flag;
  return keepValues(s->A.value, A->value, s->entries[1]) ? 0 : CP_SADDLE_NONFINITE;
}

/* Exchanges the solvers in use and in reserve (unless the one in use already has this type, but
 * failed to open), and opens the new one if necessary. */
CP_RARE static int changeSolver(CPSaddle s, CPLinSol type) {
  if (s->used.type != type) {
    const CPSaddleSolver other = s->used;
    s->used                    = s->reserve;
    s->reserve                 = other;
  }
  return s->used.content ? CP_SUCCESS : openSolver(s, type);
}

/* Factors with the solver of this type. */
static inline int factorBy(CPSaddle s, CPLinSol type) {
  const int open = s->used.content && s->used.type == type;
  const int flag = open ? CP_SUCCESS : changeSolver(s, type);
  s->sine        = 1.0;
  s->indefinite  = -1;
  s->square      = NULL;
  s->rank        = s->nrows;
  if (s->dependent >= 0) memset(s->is_dependent, 0, (size_t)s->m);
  s->dependent = -1;
  if (s->is_judged) cpSaddleTakeJudged(s);
  return flag ? flag : s->used.ops->factor(s);
}

/* Factors with the first solver, or the general one where the first refuses the values. In
 * projections (not `shortest`), the general solver stays for good once the first has failed.
 * Accelerations are evaluated at trial states, too, where the first solver refuses rows that only
 * look dependent in a trial stage as well as rows that always are, and the cost of its failed
 * attempt should not recur. The general solver stays as long as it finds dependent rows. Where it
 * finds none (an indefinite W, or rows at angles between the limits of the two solvers), it stays
 * for 1, 3, 7, ... factorisations after successive refusals. */
static int factorByEither(CPSaddle s) {
  if (!s->stays && s->wait == 0) {
    const int flag = factorBy(s, s->first);
    if (!flag) s->patience = 0;
    if (flag <= 0 || s->general == CP_LINSOL_AUTO) return flag;
    if (flag == CP_SADDLE_NOT_DEFINITE && s->options.definite) return flag;
    if (!s->options.shortest) s->stays_for_good = 1;
    s->patience = s->patience < CP_MOST_ITERATIONS ? 2 * s->patience + 1 : s->patience;
    s->wait     = s->patience;
  } else if (!s->stays) s->wait--;
  const int flag = factorBy(s, s->general);
  s->stays       = s->stays_for_good || (!flag && s->rank < s->nrows);
  return flag;
}

int cpSaddleFactor(CPSaddle s, CPWeight W, const CPMat *A, double ranktol) {
  const double finest = s->options.finest;
  if (ranktol < finest) ranktol = finest;
  int flag = keepProblem(s, W, A, ranktol);
  if (flag == CP_SADDLE_SAME) return 0;
  s->valid = 0;
  s->quick = NULL;
  if (flag) return flag;
  s->asked = s->ranktol = ranktol;
  s->is_judged = s->refines = 0;
  /* Accelerations are evaluated so often that a rank that is known is not decided again. */
  const int known = s->knows_rows && ranktol <= finest && s->options.shortest;
  flag            = s->uneven && !known && !hasFew(s) ? CP_SADDLE_DEPENDENT : factorByEither(s);
  if (cpSaddleIsDoubtful(s, flag)) flag = cpSaddleDecide(s, flag);
  if (flag == CP_SADDLE_JUDGED) { /* The rows that are left are independent. */
    const double angle = s->ranktol;
    s->ranktol         = finest;
    flag               = factorByEither(s);
    s->ranktol         = angle;
  }
  while (!flag && !s->is_judged && s->rank < s->known_rank && s->ranktol > finest) {
    s->ranktol = fmax(s->ranktol / CP_LESS_ANGLE, finest);
    flag       = factorByEither(s);
  }
  if (flag) return flag;
  s->refines = s->has_matrix && cpSaddleIsRefined(s);
  s->widest  = s->few ? s->few->widest : s->uneven && s->is_judged ? s->judge->sine : 0.0;
  if (!s->options.shortest) s->sine = fmax(s->sine, s->widest);
  if (s->refines && !s->room) CP_NEW(&s->late, s->room, 3 * (size_t)(s->n + s->m));
  if (cpArenaStatus(&s->late)) {
    cpArenaFree(&s->late); /* Memory may be found the next time. */
    return CP_MEM_FAIL;
  }
  s->valid           = 1;
  const int is_usual = s->knows_rows && s->rank == s->nrows && s->rank <= s->known_rank &&
                       s->usual_sine > 0.0 && s->asked <= finest && s->wait == 0 && !s->stays &&
                       !s->refines;
  if (is_usual) s->quick = s->used.ops->quick;
  return 0;
}

int cpSaddleExpectQuick(CPSaddle s) {
  return s->used.ops->expect_quick ? s->used.ops->expect_quick(s) : CP_SUCCESS;
}

/* ---- solutions ---- */

enum { MOST_REFINEMENTS = 5 };

/* x, mu <- x, mu + the correction from the residuals of the saddle point, as long as corrections
 * decrease. */
static int refine(CPSaddle s, const double *f, const double *b, double *x, double *mu) {
  const int n = s->n, m = s->m;
  double *r = s->room, *rb = r + n, *d = rb + m, *dmu = d + n, before = INFINITY;
  for (int k = 0; k < MOST_REFINEMENTS; k++) {
    for (int j = 0; j < n; j++) r[j] = f ? f[j] : 0.0;
    for (int i = 0; i < m; i++) rb[i] = b ? b[i] : 0.0;
    cpMatTimes(&s->M, -1.0, x, 1.0, r);
    cpMatTransposedTimes(&s->A, -1.0, mu, 1.0, r);
    cpMatTimes(&s->A, -1.0, x, 1.0, rb);
    memset(dmu, 0, (size_t)m * sizeof *dmu);
    const int flag = s->used.ops->solve(s, r, rb, d, dmu);
    if (flag) return flag;
    const double of_x = cpLargest(x, n), of_mu = cpLargest(mu, m);
    const double size = fmax(of_x > 0.0 ? cpLargest(d, n) / of_x : 0.0,
                             of_mu > 0.0 ? cpLargest(dmu, m) / of_mu : 0.0);
    if (!(size < 0.5 * before)) return 0;
    for (int j = 0; j < n; j++) x[j] += d[j];
    for (int i = 0; i < m; i++) mu[i] += dmu[i];
    if (size < 4.0 * DBL_EPSILON) return 0;
    before = size;
  }
  return 0;
}

int cpSaddleSolve(CPSaddle s, const double *f, const double *b, double *x, double *mu) {
  if (!x && !mu) return 0;
  if (s->refines) { /* Both are needed. */
    double *spare = s->room + 2 * (s->n + s->m);
    if (!x) x = spare;
    if (!mu) mu = spare + s->n;
  }
  if (mu && s->nrows < s->m) memset(mu, 0, (size_t)s->m * sizeof *mu);
  const int flag = s->used.ops->solve(s, f, b, x, mu);
  return flag || !s->refines ? flag : refine(s, f, b, x, mu);
}

int cpSaddleMultipliers(CPSaddle s, const double *f, double *mu) {
  const int shortest  = s->options.shortest;
  s->options.shortest = 0;
  const int flag      = cpSaddleSolve(s, f, NULL, NULL, mu);
  s->options.shortest = shortest;
  return flag;
}

/* ---- the rank that stands ---- */

/* A rank close to ranktol is not recorded, since dependent rows may look independent at trial states
 * far from the manifold. */
int cpSaddleIsClear(const CPSaddle s) {
  return s->valid && fmax(s->sine, s->widest) > CLEARLY * s->asked;
}

void cpSaddleSetRank(CPSaddle s) {
  if (!cpSaddleIsClear(s)) return;
  if (s->rank > s->known_rank) s->known_rank = s->rank;
  if (s->usual_sine == 0.0) s->usual_sine = s->sine;
  if (s->rank < s->nrows || s->knows_rows) return;
  for (int i = 0; i < s->m; i++) s->known[i] = !s->off[i];
  s->knows_rows = 1;
}

void cpSaddleForgetRank(CPSaddle s) {
  s->quick       = NULL;
  s->known_rank  = 0;
  s->usual_sine  = 0.0;
  s->agreed_rank = s->uneven = 0;
  s->judged_sine             = 1.0;
  s->knows_rows              = s->nrows == 0;
  memset(s->known, 0, (size_t)s->m);
}

double cpSaddleZeroAngle(const CPSaddle s, double distance) {
  return fmax(s->options.finest, fmin(100.0 * distance, 1.0e-2));
}

/* ---- for the solvers ---- */

void cpSaddleGather(const CPSaddle s, double *X, size_t row_stride, size_t column_stride) {
  const CPMat *A = &s->A;
  const size_t n = (size_t)s->n, m = (size_t)s->m, p = (size_t)s->nrows;
  if (A->start) memset(X, 0, n * p * sizeof *X);
  for (size_t j = 0; j < n; j++) {
    double *x = X + j * column_stride;
    if (!A->start) {
      for (size_t k = 0; k < p; k++) x[k * row_stride] = A->value[j * m + (size_t)s->row[k]];
      continue;
    }
    size_t k = 0; /* both lists of rows ascend */
    for (size_t e = A->start[j]; e < A->start[j + 1]; e++) {
      while (k < p && s->row[k] < A->row[e]) k++;
      if (k < p && s->row[k] == A->row[e]) x[k * row_stride] = A->value[e];
    }
  }
}

void cpSaddleMarkDependent(CPSaddle s, int i) {
  s->is_dependent[i] = 1;
  s->rank--;
  if (s->dependent < 0 || i < s->dependent) s->dependent = i;
}

void cpSaddleScaleCoordinates(const CPSaddle s, double *scale) {
  const CPMat *M       = &s->M;
  const double whole   = cpLargest(M->value, (int)cpMatEntries(M));
  const double largest = whole > 0.0 ? whole : 1.0;
  /* A diagonal entry that is a square of roundoff, as of a rotor's axis across the axes of a body without mass, is 0, and so are
   * entries beside it that are roundoff. */
  for (int j = 0; j < s->n; j++) {
    const size_t first = cpMatFirst(M, j);
    double size        = cpMatEntry(M, j, j);
    if (!(size > CP_UROUND * CP_UROUND * largest)) {
      size = cpLargest(M->value + first, (int)(cpMatFirst(M, j + 1) - first));
      if (!(size > CP_UROUND * largest)) size = largest;
    }
    int exponent;
    frexp(size, &exponent);
    scale[j] = ldexp(1.0, -(exponent / 2));
  }
}
