/* A metric W that is sparse, but couples the components (masses of structures, Newton's matrix):
 * W^{-1} and the Schur complement A^T W^{-1} A are dense, the KKT matrix is not. With its factors,
 *
 *   [ W    A ] [ x  ]   [ z ]     r given, z = 0:  x  = W^{-1} A (A^T W^{-1} A)^+ r        (solve)
 *   [ A^T  0 ] [ mu ] = [ r ]     z given, r = 0:  mu = (A^T W^{-1} A)^+ A^T W^{-1} z      (solve_t)
 *
 * the metric is the solver's own, F = I (metric/whole.c). */
#include "cpodes/saddle/linsol.h"

#include "cpodes/saddle/saddle.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  CPSaddle kkt;
  CPMat A;      /* lin->AT: rows of constraints, columns of components */
  char *off;    /* [m] rows of zeros */
  double *zero; /* [n + m] */
  double *x, *mu;
} Content;

static int create(CPLin lin) {
  const size_t n = (size_t)lin->n, m = (size_t)lin->mmax;
  Content *c = lin->content = calloc(1, sizeof *c);
  if (!c) return CP_MEM_FAIL;
  c->off  = calloc(m + 1, 1);
  c->zero = calloc(2 * (n + m), sizeof *c->zero);
  if (!c->off || !c->zero) return CP_MEM_FAIL;
  c->x  = c->zero + n + m;
  c->mu = c->x + n;
  return CP_SUCCESS;
}

static int analyse(CPLin lin) {
  Content *c = lin->content;
  c->A       = (CPMat){.rows  = lin->mmax,
                       .cols  = lin->n,
                       .start = lin->AT->start,
                       .row   = lin->AT->row,
                       .value = lin->AT->value};
  return cpSaddleCreate(&c->kkt, (CPSaddleOptions){.type = CP_SADDLE_KKT, .finest = 1.0e-10},
                        lin->W, &c->A);
}

static void findRowsOfZeros(CPLin lin) {
  Content *c         = lin->content;
  const CPEntries *a = lin->AT;
  memset(c->off, 1, (size_t)lin->mmax);
  for (size_t k = 0; k < a->start[lin->n]; k++)
    if (a->value[k] != 0.0) c->off[a->row[k]] = 0;
}

static int factor(CPLin lin) {
  Content *c = lin->content;
  c->A.value = lin->AT->value;
  findRowsOfZeros(lin);
  const int flag = cpSaddleFactor(c->kkt, (CPWeight){.matrix = lin->W}, &c->A, c->off, lin->ranktol);
  if (flag == CP_SADDLE_NOT_DEFINITE) return CP_LIN_INDEFINITE;
  if (flag) return flag > 0 ? CP_LINSOL_FAIL : flag;
  lin->rank      = c->kkt->rank;
  lin->dependent = c->kkt->dependent;
  for (int i = 0; i < lin->mmax; i++)
    lin->is_dependent[i] = (char)(c->kkt->is_dependent[i] && !c->off[i]);
  return CP_SUCCESS;
}

static int solve(CPLin lin, const double *r, double *x) {
  Content *c = lin->content;
  return cpSaddleSolve(c->kkt, c->zero, r, x, c->mu);
}

static int solveTransposed(CPLin lin, const double *x, double *mu) {
  Content *c = lin->content;
  return cpSaddleSolve(c->kkt, x, c->zero, c->x, mu);
}

static void destroy(CPLin lin) {
  Content *c = lin->content;
  if (!c) return;
  cpSaddleFree(&c->kkt);
  free(c->off);
  free(c->zero);
  free(c);
}

const CPLinOps cpKktLinOps = {.name          = "KKT",
                              .type          = CP_LINSOL_SPARSE,
                              .keeps_pattern = 1,
                              .create        = create,
                              .analyse       = analyse,
                              .factor        = factor,
                              .solve         = solve,
                              .solve_t       = solveTransposed,
                              .destroy       = destroy};
