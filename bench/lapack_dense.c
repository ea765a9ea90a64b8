#include "lapack_dense.h"

#include <cpodes/matrix/lapack.h>
#include <stdlib.h>
#include <sunmatrix/sunmatrix_dense.h>

typedef struct {
  int n;
  int *pivot; /* [n] */
} Content;

static SUNLinearSolver_Type type(SUNLinearSolver S) {
  (void)S;
  return SUNLINEARSOLVER_DIRECT;
}

static int setup(SUNLinearSolver S, SUNMatrix A) {
  const Content *c = S->content;
  int info         = 0;
  F77(dgetrf)(&c->n, &c->n, SUNDenseMatrix_Data(A), &c->n, c->pivot, &info);
  return info == 0 ? 0 : SUNLS_LUFACT_FAIL;
}

static int solve(SUNLinearSolver S, SUNMatrix A, N_Vector x, N_Vector b, sunrealtype tol) {
  const Content *c = S->content;
  const int one    = 1;
  int info         = 0;
  (void)tol;
  N_VScale(1.0, b, x);
  F77(dgetrs)
  ("N", &c->n, &one, SUNDenseMatrix_Data(A), &c->n, c->pivot, N_VGetArrayPointer(x), &c->n, &info);
  return info == 0 ? 0 : SUNLS_LUFACT_FAIL;
}

static int destroy(SUNLinearSolver S) {
  Content *c = S->content;
  if (c) free(c->pivot);
  free(c);
  S->content = NULL;
  SUNLinSolFreeEmpty(S);
  return 0;
}

SUNLinearSolver lapack_dense(sunindextype n, SUNContext ctx) {
  SUNLinearSolver S = SUNLinSolNewEmpty(ctx);
  Content *c        = calloc(1, sizeof *c);
  if (!S || !c || !(c->pivot = calloc((size_t)n, sizeof *c->pivot))) {
    if (S) SUNLinSolFreeEmpty(S);
    free(c);
    return NULL;
  }
  c->n            = (int)n;
  S->content      = c;
  S->ops->gettype = type;
  S->ops->setup   = setup;
  S->ops->solve   = solve;
  S->ops->free    = destroy;
  return S;
}
