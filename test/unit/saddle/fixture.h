/* KKT systems with known solutions, and LAPACK's least squares as a reference.
 *
 *   [ M  A' ] [ a      ]   [ f ]
 *   [ A  0  ] [ lambda ] = [ b ],   f = M a0 + A' lambda0,  b = A a0  with random a0 and lambda0
 *
 * so that dependent rows do not contradict each other and a = a0. The lambda of minimum norm is the
 * second part of the least-squares solution of minimum norm (dgelsd) of the whole system, since a
 * is unique. */
#ifndef CPODES_TEST_SADDLE_FIXTURE_H
#define CPODES_TEST_SADDLE_FIXTURE_H

#include <cpodes/saddle/saddle.h>

enum { KKT_N = 60, KKT_M = 40 }; /* largest n and m */

/* How M is formed from a matrix S with eigenvalues in [1/2, 5]; v = A_0, row 0 of A, and A x = 0. */
typedef enum {
  MASS_FULL,              /* S */
  MASS_DIAGONAL,          /* diagonal in [1/2, 5] */
  MASS_BLOCKS,            /* blocks of 3 */
  MASS_MASSLESS,          /* diagonal, zero at coordinate 0, which row 0 holds */
  MASS_SINGULAR,          /* S - v v' / (v' S^-1 v): semidefinite, definite where A x = 0 */
  MASS_INDEFINITE,        /* S - 2 v v' / (v' S^-1 v): indefinite, definite where A x = 0 */
  MASS_BARELY_DEFINITE,   /* S - 0.999 S x x' S / (x' S x): x' M x = 0.001 x' S x */
  MASS_SINGULAR_TANGENT,  /* with 1: semidefinite, singular where A x = 0 */
  MASS_BARELY_INDEFINITE, /* with 1.001: indefinite there */
  MASS_INDEFINITE_TANGENT /* with 2 */
} Mass;

/* m = independent + combined + doubled + zero rows, in mixed order except for row 0. */
typedef struct {
  const char *name;
  int n, independent, combined, doubled, zero;
  Mass mass;
  double density; /* fraction of nonzero entries of A, in addition to those that keep it regular */
  double spread;  /* lengths of rows from 10^-spread to 10^spread */
} KktCase;

typedef struct {
  int n, m, rank;
  double M[KKT_N * KKT_N], A[KKT_M * KKT_N]; /* by columns, n x n and m x n */
  double a0[KKT_N], lambda0[KKT_M], f[KKT_N], b[KKT_M];
  char off[KKT_M];
  CPMat Md, Ad, Ms, As; /* the same, dense and sparse */
} KktProblem;

/* seed: selects another problem of the same case. */
void kkt_make(KktProblem *p, const KktCase *c, unsigned long long seed);
/* Computes, after changes of M and A within their patterns, the matrices, and f and b from a0 and
 * lambda0. */
void kkt_refresh(KktProblem *p);
void kkt_free(KktProblem *p);
/* Replaces all rows of A by rows of unit length: each at an angle from 0.01 to 1 (sine) to the span
 * of those before, and `dependent` of them in that span, in any order; m is unchanged. */
void kkt_nest(KktProblem *p, int dependent, unsigned long long seed);
/* Row 1 at an angle of the given sine to row 0, both of unit length. */
void kkt_narrow(KktProblem *p, double sine);

/* The least-squares solution of minimum norm with the rows that are not off: a [n], lambda [m].
 * Returns the condition of the matrix on its range. */
double kkt_reference(const KktProblem *p, double *a, double *lambda);
/* The number of singular values above 1e-9 of the rows of A with unit length and which[i] != 0. */
int kkt_rank(const KktProblem *p, const char *which);

double kkt_norm(const double *v, int length);
double kkt_distance(const double *v, const double *w, int length);

#endif
