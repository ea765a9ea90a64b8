/* Solvers of the KKT system of accelerations and multipliers,
 *
 *   [ M  A^T ] [ a      ]   [ f ]        M n x n symmetric, positive definite on the null space of A
 *   [ A   0  ] [ lambda ] = [ b ]        A m x n, rows may be dependent or switched off
 *
 * One table of functions, one file per solver; a new one is a new file and a line in kkt.c. With
 * dependent rows lambda has minimum (Euclidean) norm among all that give the same A^T lambda, and a
 * satisfies an independent subset of the rows of A a = b; whether the others contradict them is the
 * caller's to see. */
#ifndef CPODES_KKT_H
#define CPODES_KKT_H

#include "cpodes/matrix/matrix.h"

#include <cpodes/cpodes_mechanics.h>

typedef struct CPKkt_ *CPKkt;

/* ranktol at creation. A larger one says that rows may be dependent up to that angle: SPARSE then looks
 * for them. */
#define CP_KKT_RANKTOL 1.0e-10

/* Positive results of factor. */
#define CP_KKT_NOT_DEFINITE 1 /* M is not positive definite on the null space of A */
#define CP_KKT_DEPENDENT \
  2 /* rows are dependent (kkt->dependent), and this solver wants full rank */

typedef struct {
  const char *name;
  CPKktLinSol type;
  int (*create)(CPKkt kkt); /* CP_SUCCESS, CP_MEM_FAIL, CP_LINSOL_FAIL */
  /* Factors of the values in kkt->M and kkt->A, of the rows in use. 0, a
   * positive result, or a negative code. Sets rank, is_dependent, dependent, which say full rank
   * before. */
  int (*factor)(CPKkt kkt);
  /* f [n], b [m] -> a [n], lambda [m], zero before; all apart from each other; entries of b in rows
   * that are off or dependent are not looked at. 0, or a negative code. */
  int (*solve)(CPKkt kkt, const double *f, const double *b, double *a, double *lambda);
  void (*destroy)(CPKkt kkt); /* accepts what a failed create leaves */
} CPKktOps;

struct CPKkt_ {
  const CPKktOps *ops;
  CPKktLinSol asked;         /* AUTO: ops may change at a factorisation */
  CPKktLinSol first;         /* the solver that is tried first; AUTO: chosen by structure */
  const CPKktOps *spare_ops; /* AUTO: the solver that is not in use at present ... */
  void *spare;               /* ... and its content; NULL: not needed yet */
  int stays, wait, patience; /* AUTO: see factorByEither in kkt.c */
  int n, m;
  const CPMat *M, *A; /* the caller's: structure fixed at creation, values at factor */
  const char *off;    /* [m] the caller's: 1: row is switched off; NULL: none is */
  double ranktol;  /* a row is dependent below this sine of its angle to the others, in the metric
                         of M (SCHUR) or of its diagonal; Cholesky and KLU, which square it, take 1e-6
                         where this is less */
  int nrows, *row; /* [nrows] the rows in use: those that are not off, ascending */
  int rank;        /* at the newest factorisation */
  double sine;     /* the smallest sine of a row that counts as independent (estimate), there */
  char *is_dependent;  /* [m] 1: row depends on those that are neither dependent nor off; so do rows
                         of zeros */
  int dependent;       /* first of these, -1 if there is none: then lambda is unique */
  double kept_ranktol; /* that of problem */
  int valid;           /* factors are there, of the values in problem */
  char *problem;       /* values of M and A and the rows that are off, at the newest success */
  void *content;       /* the solver's own */
};

/* type AUTO: if M and A are sparse SPARSE_SCHUR where the blocks of M are small, and SPARSE where they
 * are not; else SCHUR. What these find indefinite or with dependent rows is factored by SPARSE in place of
 * SPARSE_SCHUR, by NULLSPACE in place of SCHUR, and so are those after it, while rows are dependent.
 * SPARSE takes dense matrices, too, SPARSE_SCHUR does not (CP_ILL_INPUT). */
int cpKktCreate(CPKkt *kkt, CPKktLinSol type, const CPMat *M, const CPMat *A);
void cpKktFree(CPKkt *kkt);
/* Of the same values again: nothing to do. After a positive result or a failure there are no factors
 * until the next one that succeeds. */
int cpKktFactor(CPKkt kkt);
int cpKktSolve(CPKkt kkt, const double *f, const double *b, double *a, double *lambda);

/* For the solvers: the rows in use as columns, X [n x nrows]. */
void cpKktGather(const CPKkt kkt, double *X);
/* s_j = 1 / sqrt(m_jj), so that units do not matter; to a power of two, which rounds nothing. A
 * coordinate without mass: by the largest entry of its column, else of M. */
void cpKktScaleCoordinates(const CPMat *M, double *s);
/* Row i depends on others. */
void cpKktMarkDependent(CPKkt kkt, int i);

extern const CPKktOps cpKktSchurOps, cpKktNullspaceOps, cpKktSparseOps, cpKktSparseSchurOps;

#endif
