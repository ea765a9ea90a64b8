/* Dense Schur complement S = A^T A = U^T U by Cholesky: x = A S^{-1} r, mu = S^{-1} A^T x. */
#include "lapack.h"
#include "linsol.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
  double *U;  /* m x m, upper triangle: Cholesky factor of S */
  double *mu; /* [m] */
} Schur;

static void schurDestroy(CPLin lin) {
  Schur *s = lin->content;
  free(s->U);
  free(s->mu);
  free(s);
  lin->content = NULL;
}

static int schurCreate(CPLin lin) {
  Schur *s = lin->content = calloc(1, sizeof *s);
  size_t m                = (size_t)lin->mmax;
  if (!s) return CP_MEM_FAIL;
  s->U  = malloc(m * m * sizeof *s->U);
  s->mu = malloc(m * sizeof *s->mu);
  return s->U && s->mu ? CP_SUCCESS : CP_MEM_FAIL;
}

/* With unit columns the squared pivot u_kk^2 is the squared sine of column k's angle to the columns before it. Cholesky
 * of S squares the condition, so that an angle below the root of its roundoff cannot be told from dependence. */
static int schurFactor(CPLin lin) {
  Schur *s         = lin->content;
  const double one = 1.0, zero = 0.0;
  const int m = lin->m, n = lin->n;
  int info;
  lin->rank      = m;
  lin->dependent = -1;
  if (m == 0) return 0;
  F77(dsyrk)("U", "T", &m, &n, &one, lin->A, &n, &zero, s->U, &m); /* S = A' A */
  F77(dpotrf)("U", &m, s->U, &m, &info);                           /* S = U' U */
  if (info < 0) return CP_LINSOL_FAIL;
  if (info > 0) lin->dependent = info - 1;
  const double limit = fmax(lin->ranktol, 1.0e-6);
  for (int k = 0; !info && k < m; k++)
    if (!(s->U[(size_t)k * (size_t)(m + 1)] > limit)) {
      lin->dependent = k;
      break;
    }
  return lin->dependent < 0 ? 0 : CP_LIN_DEPENDENT;
}

static void schurBackSolve(const Schur *s, int m, double *mu) {
  const int one = 1;
  F77(dtrsv)("U", "T", "N", &m, s->U, &m, mu, &one); /* U' z  = mu */
  F77(dtrsv)("U", "N", "N", &m, s->U, &m, mu, &one); /* U  mu = z  */
}

static void schurSolve(CPLin lin, const double *r, double *x) {
  Schur *s          = lin->content;
  const double done = 1.0, zero = 0.0;
  const int m = lin->m, n = lin->n, one = 1;
  for (int j = 0; j < n; j++) x[j] = 0.0;
  if (m == 0) return; /* BLAS ends the program at a leading dimension of 0 */
  for (int k = 0; k < m; k++) s->mu[k] = r[k];
  schurBackSolve(s, m, s->mu);                                             /* mu = S^-1 r */
  F77(dgemv)("N", &n, &m, &done, lin->A, &n, s->mu, &one, &zero, x, &one); /* x  = A mu   */
}

static void schurSolveT(CPLin lin, const double *x, double *mu) {
  const double done = 1.0, zero = 0.0;
  const int m = lin->m, n = lin->n, one = 1;
  if (m == 0) return;
  F77(dgemv)("T", &n, &m, &done, lin->A, &n, x, &one, &zero, mu, &one); /* A' x          */
  schurBackSolve(lin->content, m, mu);                                  /* mu = S^-1 A'x */
}

const CPLinOps cpSchurOps = {.name    = "Schur complement, Cholesky",
                             .type    = CP_LINSOL_SCHUR,
                             .create  = schurCreate,
                             .factor  = schurFactor,
                             .solve   = schurSolve,
                             .solve_t = schurSolveT,
                             .destroy = schurDestroy};
