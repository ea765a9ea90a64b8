/* Inside of the null-space method: the letters are those of nullspace.c. r: rank, p: rows in use. */
#ifndef CPODES_KKT_NULLSPACE_IMPL_H
#define CPODES_KKT_NULLSPACE_IMPL_H

#include "blocks.h"

typedef struct {
  double *QR;    /* n x p: reflectors and R */
  double *V, *B; /* n x r */
  double *W;     /* n x r: S M S B, then Y */
  double *T, *Z; /* r x r: T^{-1}, upper triangle; B^T W */
  double *tau;   /* [min(n, p)] */
  double *scale; /* [p] diagonal of D */
  double *s;     /* [n] scales of the coordinates, diagonal of S */
  double *SB;    /* n x r: S B */
  int *pivot;    /* [p] column k of A^T D Pi is row pivot[k] of those in use */
  CPCholesky H;  /* Q2^T S M S Q2 */
  double *N;     /* p x (p - r): orthonormal basis of the null space of A^T */
  double *work;  /* [lwork] */
  int lwork;
  double *x, *g, *w; /* [max(n, m)], [max(n, m)], [m] */
} Nullspace;

/* nullspace_dependent.c: N for dependent rows; 0 or a negative code. */
int cpNullspaceDependent(CPKkt kkt);
/* lambda of minimum norm from y = (Pi^T D^{-1} lambda)_1, y [max(n, m)], changed. */
void cpNullspaceMultipliers(CPKkt kkt, double *y, double *lambda);

#endif
