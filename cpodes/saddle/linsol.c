/* Life cycle of the linear solvers, and the list of them. */
#include "linsol.h"

#include "cpodes/base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const CPLinOps *const solvers[] = {&cpSchurOps, &cpQROps, &cpQRPOps, &cpSparseOps,
                                          &cpBlockOps};

static const CPLinOps *findSolver(CPLinSol type) {
  for (size_t i = 0; i < sizeof solvers / sizeof solvers[0]; i++)
    if (solvers[i]->type == type) return solvers[i];
  return NULL;
}

int cpLinKeepsPattern(CPLinSol type) {
  const CPLinOps *ops = findSolver(type);
  return ops && ops->keeps_pattern;
}

static int createSolver(CPLin *result, const CPLinOps *ops, const struct CPMat_ *W, int n, int mmax,
                        const CPEntries *AT) {
  CPLin lin = ops ? calloc(1, sizeof *lin) : NULL;
  *result   = NULL;
  if (!ops) return CP_ILL_INPUT;
  if (!lin) return CP_MEM_FAIL;
  lin->ops          = ops;
  lin->W            = W;
  lin->n            = n;
  lin->m            = mmax;
  lin->mmax         = mmax;
  lin->AT           = AT;
  lin->dependent    = -1;
  lin->sine         = 1.0;
  lin->is_dependent = calloc((size_t)mmax, sizeof *lin->is_dependent);
  int flag          = lin->is_dependent ? ops->create(lin) : CP_MEM_FAIL;
  if (!flag && ops->analyse) flag = ops->analyse(lin);
  if (flag) cpLinFree(&lin);
  else *result = lin;
  return flag;
}

int cpLinCreate(CPLin *lin, CPLinSol type, int n, int mmax, const CPEntries *AT) {
  return createSolver(lin, findSolver(type), NULL, n, mmax, AT);
}

int cpLinCreateInMetric(CPLin *lin, const struct CPMat_ *W, int n, int mmax, const CPEntries *AT) {
  return createSolver(lin, &cpKktLinOps, W, n, mmax, AT);
}

void cpLinFree(CPLin *lin) {
  if (!lin || !*lin) return;
  if ((*lin)->content) (*lin)->ops->destroy(*lin);
  free((*lin)->is_dependent);
  free(*lin);
  *lin = NULL;
}

void cpLinScatter(const CPLin lin, double *A) {
  const CPEntries *a = lin->AT;
  const size_t n     = (size_t)lin->n;
  memset(A, 0, n * (size_t)lin->m * sizeof *A);
  for (size_t j = 0; j < n; j++)
    for (size_t k = a->start[j]; k < a->start[j + 1]; k++)
      A[j + n * (size_t)a->row[k]] = a->value[k];
}

void cpLinRandom(double *v, int length) {
  unsigned state = 1;
  for (int j = 0; j < length; j++) v[j] = 1.5 + 0.5 * cpUniform(&state);
}

/* Least eigenvalue of S that counts: roundoff leaves some 1e-15 of zero, and two columns at the
 * angle 1e-6, the least that Cholesky resolves, make one of 5e-13. */
#define LEAST_EIGENVALUE 1.0e-13
/* A first solution below this comes from an S that is regular, unless the part of the random vector
 * along the least eigenvector is below 1e-5. */
#define SUSPECT 1.0e8

/* inf or nan if an entry is */
static double lengthOf(const double *x, int length) {
  double square = 0.0;
  for (int k = 0; k < length; k++) square += x[k] * x[k];
  return sqrt(square);
}

/* A random vector may miss the least eigenvector by a factor of 100; its solution, in which that
 * eigenvector prevails, does not. */
int cpLinJudge(CPLinSolveFn solve, void *factors, double *x, int length) {
  cpLinRandom(x, length);
  int flag = solve(factors, x);
  if (flag) return flag;
  const double size = lengthOf(x, length);
  if (size < SUSPECT) return 0;
  if (!isfinite(size)) return CP_LIN_SINGULAR;
  for (int k = 0; k < length; k++) x[k] /= size;
  flag = solve(factors, x);
  if (flag) return flag;
  return lengthOf(x, length) * LEAST_EIGENVALUE < 1.0 ? 0 : CP_LIN_SINGULAR;
}
