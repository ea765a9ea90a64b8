/* Life cycle of the KKT solvers, the list of them, and the choice among them. */
#include "blocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Factorisations for which AUTO does not try its first solver again, at the most */
#define MOST_PATIENT 63

static const CPKktOps *const solvers[] = {&cpKktSchurOps, &cpKktNullspaceOps, &cpKktSparseOps,
                                          &cpKktSparseSchurOps};

static const CPKktOps *findSolver(CPKktLinSol type) {
  for (size_t i = 0; i < sizeof solvers / sizeof solvers[0]; i++)
    if (solvers[i]->type == type) return solvers[i];
  return NULL;
}

/* 0 or CP_MEM_FAIL */
static int choose(const CPMat *M, const CPMat *A, CPKktLinSol *type) {
  *type = CP_KKT_SCHUR;
  if (!M->start || (!A->start && A->rows > 0)) return CP_SUCCESS;
  int *first = malloc(((size_t)M->rows + 2) * sizeof *first);
  if (!first) return CP_MEM_FAIL;
  *type = cpKktBlocksAreSmall(M, first) ? CP_KKT_SPARSE_SCHUR : CP_KKT_SPARSE;
  free(first);
  return CP_SUCCESS;
}

static void closeSolver(CPKkt kkt) {
  if (kkt->content) kkt->ops->destroy(kkt);
  kkt->content = NULL;
}

static void exchange(CPKkt kkt) {
  const CPKktOps *ops = kkt->ops;
  void *content       = kkt->content;
  kkt->ops            = kkt->spare_ops;
  kkt->content        = kkt->spare;
  kkt->spare_ops      = ops;
  kkt->spare          = content;
}

static int openSolver(CPKkt kkt, CPKktLinSol type) {
  kkt->ops       = findSolver(type);
  const int flag = kkt->ops ? kkt->ops->create(kkt) : CP_ILL_INPUT;
  if (flag) closeSolver(kkt);
  return flag;
}

/* The values of M and A, and the rows that are off, one after the other. */
static size_t problemSize(const CPKkt kkt) {
  return (cpMatEntries(kkt->M) + cpMatEntries(kkt->A)) * sizeof(double) + (size_t)kkt->m;
}

/* Linear systems, and constraints that are linear, give the same problem again and again. */
static int isSame(const CPKkt kkt) {
  const size_t M   = cpMatEntries(kkt->M) * sizeof(double);
  const size_t A   = cpMatEntries(kkt->A) * sizeof(double);
  const char *kept = kkt->problem;
  if (!kkt->valid || kkt->kept_ranktol != kkt->ranktol) return 0;
  if (memcmp(kept, kkt->M->value, M) || memcmp(kept + M, kkt->A->value, A)) return 0;
  for (int i = 0; i < kkt->m; i++)
    if (kept[M + A + (size_t)i] != (kkt->off && kkt->off[i])) return 0;
  return 1;
}

static void keepProblem(CPKkt kkt) {
  const size_t M = cpMatEntries(kkt->M) * sizeof(double);
  const size_t A = cpMatEntries(kkt->A) * sizeof(double);
  char *kept     = kkt->problem;
  memcpy(kept, kkt->M->value, M);
  memcpy(kept + M, kkt->A->value, A);
  for (int i = 0; i < kkt->m; i++) kept[M + A + (size_t)i] = kkt->off && kkt->off[i];
  kkt->kept_ranktol = kkt->ranktol;
  kkt->valid        = 1;
}

int cpKktCreate(CPKkt *result, CPKktLinSol type, const CPMat *M, const CPMat *A) {
  CPKkt kkt      = calloc(1, sizeof *kkt);
  const size_t m = (size_t)A->rows;
  *result        = NULL;
  if (!kkt) return CP_MEM_FAIL;
  kkt->asked        = type;
  kkt->n            = M->rows;
  kkt->m            = A->rows;
  kkt->M            = M;
  kkt->A            = A;
  kkt->ranktol      = CP_KKT_RANKTOL;
  kkt->dependent    = -1;
  kkt->sine         = 1.0;
  kkt->is_dependent = calloc(m + 1, sizeof *kkt->is_dependent);
  kkt->row          = malloc((m + 1) * sizeof *kkt->row);
  kkt->problem      = malloc(problemSize(kkt) + 1);
  int flag          = kkt->is_dependent && kkt->row && kkt->problem ? CP_SUCCESS : CP_MEM_FAIL;
  if (!flag && type == CP_KKT_AUTO) flag = choose(M, A, &type);
  kkt->first = type;
  if (!flag) flag = openSolver(kkt, type);
  if (flag) cpKktFree(&kkt);
  else *result = kkt;
  return flag;
}

void cpKktFree(CPKkt *kkt) {
  if (!kkt || !*kkt) return;
  closeSolver(*kkt);
  exchange(*kkt);
  closeSolver(*kkt);
  free((*kkt)->is_dependent);
  free((*kkt)->row);
  free((*kkt)->problem);
  free(*kkt);
  *kkt = NULL;
}

static int factor(CPKkt kkt) {
  kkt->nrows = 0;
  for (int i = 0; i < kkt->m; i++)
    if (!kkt->off || !kkt->off[i]) kkt->row[kkt->nrows++] = i;
  kkt->rank      = kkt->nrows;
  kkt->sine      = 1.0;
  kkt->dependent = -1;
  memset(kkt->is_dependent, 0, (size_t)kkt->m);
  return kkt->ops->factor(kkt);
}

/* What takes masses and rows that `type` does not; AUTO: nothing. */
static CPKktLinSol moreGeneral(CPKktLinSol type) {
  switch (type) {
  case CP_KKT_SCHUR: return CP_KKT_NULLSPACE;
  case CP_KKT_SPARSE_SCHUR: return CP_KKT_SPARSE;
  default: return CP_KKT_AUTO;
  }
}

/* Factors by the solver of this type, which becomes the one in use. */
static int factorBy(CPKkt kkt, CPKktLinSol type) {
  if (kkt->ops->type != type) exchange(kkt);
  const int flag = kkt->content ? CP_SUCCESS : openSolver(kkt, type);
  return flag ? flag : factor(kkt);
}

/* The first solver refuses what only looks dependent in a trial stage as well as what always is, and its
 * attempt should not be paid for each time. The general one stays as long as it finds dependent rows.
 * Where it finds none (masses that are not definite, rows at angles between the two solvers' limits) it
 * stays for 1, 3, 7, ... factorisations after each refusal in turn. */
static int factorByEither(CPKkt kkt) {
  const CPKktLinSol general = kkt->asked == CP_KKT_AUTO ? moreGeneral(kkt->first) : CP_KKT_AUTO;
  if (!kkt->stays && kkt->wait == 0) {
    const int flag = factorBy(kkt, kkt->first);
    if (!flag) kkt->patience = 0;
    if (flag <= 0 || general == CP_KKT_AUTO) return flag;
    kkt->patience = kkt->patience < MOST_PATIENT ? 2 * kkt->patience + 1 : MOST_PATIENT;
    kkt->wait     = kkt->patience;
  } else if (!kkt->stays) kkt->wait--;
  const int flag = factorBy(kkt, general);
  kkt->stays     = !flag && kkt->rank < kkt->nrows;
  return flag;
}

int cpKktFactor(CPKkt kkt) {
  if (isSame(kkt)) return CP_SUCCESS;
  kkt->valid     = 0;
  const int flag = factorByEither(kkt);
  if (!flag) keepProblem(kkt);
  return flag;
}

int cpKktSolve(CPKkt kkt, const double *f, const double *b, double *a, double *lambda) {
  if (kkt->m > 0) memset(lambda, 0, (size_t)kkt->m * sizeof *lambda);
  return kkt->ops->solve(kkt, f, b, a, lambda);
}

/* Column j of A goes to row j of X. */
void cpKktGather(const CPKkt kkt, double *X) {
  const CPMat *A = kkt->A;
  const size_t n = (size_t)kkt->n, m = (size_t)kkt->m;
  if (!A->start) {
    for (int k = 0; k < kkt->nrows; k++)
      for (size_t j = 0; j < n; j++) X[(size_t)k * n + j] = A->value[j * m + (size_t)kkt->row[k]];
    return;
  }
  memset(X, 0, n * (size_t)kkt->nrows * sizeof *X);
  for (size_t j = 0; j < n; j++) {
    int k = 0; /* rows ascend, in both */
    for (size_t e = A->start[j]; e < A->start[j + 1]; e++) {
      while (k < kkt->nrows && kkt->row[k] < A->row[e]) k++;
      if (k < kkt->nrows && kkt->row[k] == A->row[e]) X[(size_t)k * n + j] = A->value[e];
    }
  }
}

void cpKktMarkDependent(CPKkt kkt, int i) {
  kkt->is_dependent[i] = 1;
  kkt->rank--;
  if (kkt->dependent < 0 || i < kkt->dependent) kkt->dependent = i;
}

void cpKktScaleCoordinates(const CPMat *M, double *s) {
  const size_t entries = cpMatEntries(M);
  double largest       = 0.0;
  for (size_t e = 0; e < entries; e++) largest = fmax(largest, fabs(M->value[e]));
  if (!(largest > 0.0)) largest = 1.0;
  for (int j = 0; j < M->cols; j++) {
    const double *diagonal = cpMatAt(M, j, j);
    double size            = diagonal ? *diagonal : 0.0;
    if (!(size > 0.0)) {
      size = 0.0;
      for (size_t e = cpMatFirst(M, j); e < cpMatFirst(M, j + 1); e++)
        size = fmax(size, fabs(M->value[e]));
    }
    int exponent;
    frexp(size > 0.0 ? size : largest, &exponent);
    s[j] = ldexp(1.0, -(exponent / 2));
  }
}
