/* Saddle-point systems,
 *
 *   [ W  A^T ] [ x  ]   [ f ]      W n x n symmetric, positive definite on the null space of A
 *   [ A   0  ] [ mu ] = [ b ]      A m x n; rows may depend on each other, or be switched off
 *
 * Accelerations (W = M), projections (W = the metric), impacts, multipliers and the Delassus operator are
 * right-hand sides of it. With D = W^{-1} and (.)^+ the inverse on an independent subset of the rows,
 *
 *   f = 0:   x  = K b,     K   = D A^T (A D A^T)^+     the right inverse of A
 *   b = 0:   mu = K^T f,   x = D (f - A^T mu)          tangent projection of D f
 *
 * One object holds the factors. Solvers differ by the kind of matrix, one file each with a table of functions
 * (saddle_impl.h); a new one is a new file and a line in saddle.c. */
#ifndef CPODES_SADDLE_H
#define CPODES_SADDLE_H

#include "cpodes/matrix/matrix.h"

#include <cpodes/cpodes_mechanics.h>

typedef struct CPSaddle_ *CPSaddle;

/* The public enumerations CPLinSol and CPKktLinSol name some of these (cpSaddleOfLin, cpSaddleOfKkt). */
typedef enum {
  CP_SADDLE_AUTO,      /* by the structures of W and A, with the more general solver in reserve */
  CP_SADDLE_SCHUR,     /* dense A D A^T, Cholesky; wants independent rows, definite W */
  CP_SADDLE_QR,        /* null-space method by QR of A^T; wants independent rows */
  CP_SADDLE_NULLSPACE, /* the same by QR with column pivoting */
  CP_SADDLE_SPARSE,    /* sparse A D A^T where W is diagonal or has small blocks */
  CP_SADDLE_BLOCK,     /* the connected components of A D A^T, each by itself */
  CP_SADDLE_KKT        /* sparse indefinite matrix [W A^T; A 0] */
} CPSaddleType;

/* W: root or matrix; the identity if both are NULL. */
typedef struct {
  const double *root; /* [n] of a diagonal W = D^{-1}: roots of D_jj; 0: component j is held, x_j = 0 */
  const double *length; /* [m] of the rows of A D^(1/2), D diagonal, if these are known; else NULL */
  const CPMat *matrix;  /* n x n, both triangles */
} CPWeight;

typedef struct {
  CPSaddleType type;
  int may_change; /* 1: where type does not take the values, a more general solver does (AUTO implies it):
                     NULLSPACE for SCHUR, KKT for SPARSE with a matrix W and shortest */
  int shortest; /* 1: with dependent rows, mu has minimum norm among all that give the same A^T mu (SPARSE and
                     BLOCK then want independent rows); 0: mu may be zero in dependent rows instead */
  int definite; /* 1: a W that the first solver finds indefinite is refused, though it may be definite on the null
                   space of A. */
  double finest; /* The sine of an angle between rows that roundoff leaves: ranktol is at least this. */
} CPSaddleOptions;

/* The finest where entries of A are exact. Solvers that square the angle (Cholesky, KLU) take 1e-6 at least. */
#define CP_SADDLE_FINEST 1.0e-10

/* Positive results of cpSaddleFactor. Entries of W and A are tested where W is a matrix. */
#define CP_SADDLE_NOT_DEFINITE \
  1 /* W is not positive definite on the null space of A (or at all, if that is needed) */
#define CP_SADDLE_DEPENDENT \
  2 /* rows are dependent (saddle->dependent), and this solver wants full rank */
#define CP_SADDLE_NONFINITE 3 /* an entry of W or A is NaN or infinite */

/* A solver (saddle_impl.h) with what it has here. */
typedef struct {
  CPSaddleType type; /* AUTO until it is created */
  const struct CPSaddleOps_ *ops;
  void *content;
  CPArena arena; /* of the content */
} CPSaddleSolver;

/* Creates a solver for the structures of W (NULL if diagonal) and A, which are the caller's and stay. With a
 * diagonal W, SCHUR, QR and NULLSPACE take an A of another structure at each factorisation (cpSaddleKeepsPattern).
 * CP_SUCCESS, CP_MEM_FAIL, CP_LINSOL_FAIL, or CP_ILL_INPUT where the type does not take these matrices; *saddle is
 * NULL then. */
int cpSaddleCreate(CPSaddle *saddle, CPSaddleOptions options, const CPMat *W, const CPMat *A);
void cpSaddleFree(CPSaddle *saddle);
/* Is W made of successive diagonal blocks of at most so many rows? AUTO then takes SPARSE. */
#define CP_SADDLE_SMALL_BLOCKS 32
int cpSaddleHasSmallBlocks(const CPMat *W, int most);
/* Does this type analyse the structure of A once, at creation? */
int cpSaddleKeepsPattern(CPSaddleType type);

/* The rows in use are those with off [m] of 0, all if it is NULL, as they are at first. Have they been noted as independent
 * (cpSaddleNoteRank)? Then ranktol may be finest. cpSaddleSetRows does not ask whether they are other ones. */
static inline int cpSaddleUseRows(CPSaddle saddle, const char *off);
int cpSaddleSetRows(CPSaddle saddle, const char *off);

/* Factors for the values of W and of the rows in use, which are copied as far as they are needed. Rows at angles whose sine is below ranktol count as dependent. But a rank that has been noted
 * (cpSaddleNoteRank) stands: where fewer rows are independent, ranktol is lowered until it is found again, at most to
 * finest, because leaving out a row that is independent sets a motion free that does not exist.
 * 0, a positive result, or a negative code; unless 0, there are no factors. The same values as before (with a matrix W)
 * cost a comparison only, so that all who work at one state can share an object. */
int cpSaddleFactor(CPSaddle saddle, CPWeight W, const CPMat *A, double ranktol);

/* f [n] and b [m] are zero if NULL; x [n] and mu [m] are not computed if NULL. None overlaps another. Entries of b in
 * rows that are off or dependent are not looked at: whether dependent rows contradict the others is the caller's to
 * see. mu is zero in rows that are off. 0 or a negative code. */
int cpSaddleSolve(CPSaddle saddle, const double *f, const double *b, double *x, double *mu);

/* The newest rank is that of the caller's rows and will stand, unless the rows are too near to ranktol to tell. */
static inline void cpSaddleNoteRank(CPSaddle saddle);
void cpSaddleSetRank(CPSaddle saddle); /* for cpSaddleNoteRank, where there is something to note */
/* The rows have changed: no rank has been noted. */
void cpSaddleForgetRank(CPSaddle saddle);
/* ranktol for a state whose distance from the manifold, relative to the terms of the constraints, is given.
 * Closed loops in space have rows that depend on each other on the manifold only. At a distance, rows at angles of its
 * size contradict each other: satisfying all of them moves the state along the manifold as far as it was off, and gives
 * accelerations that are wrong by their own size. */
double cpSaddleZeroAngle(const CPSaddle saddle, double distance);

/* Columns of A [n x m] that have an entry in the same component of the state belong together; so
 * do those that are linked by others. AT: structure of A^T by components. component [m]: out,
 * number of each column, counted from 0 by the first column of each. largest: out, columns of the largest one; may be
 * NULL. Returns how many there are. */
int cpComponents(const CPMat *AT, int n, int m, int *component, int *largest);

/* Writes to text [CP_TEXT_LENGTH] why a factorisation of a projection's matrix at t, or a solution (t is NaN), failed: rows that
 * depend on others (the name of row saddle->dependent is given), memory, or a library. Returns the projection's code. */
int cpSaddleFailed(const CPSaddle saddle, int flag, sunrealtype t, const char *row, char *text);
/* Of the solver in use. */
const char *cpSaddleName(const CPSaddle saddle);
CPSaddleType cpSaddleTypeOf(const CPSaddle saddle);
CPSaddleType cpSaddleOfLin(CPLinSol type);
CPLinSol cpSaddleAsLin(CPSaddleType type);
CPSaddleType cpSaddleOfKkt(CPKktLinSol type);
CPKktLinSol cpSaddleAsKkt(CPSaddleType type);

/* Results of the newest factorisation, for everybody to read; what follows them is for the solvers. */
struct CPSaddle_ {
  int n, m;
  int nrows, *row; /* [nrows] the rows in use: those that are not off, ascending */
  int rank;        /* rows in use that are independent */
  double sine;     /* the smallest sine of a row that counts as independent (an estimate) */
  int dependent;   /* first row that depends on others; -1: none, mu is unique */
  char *is_dependent; /* [m] 1: the row depends on those that are neither dependent nor off; so do rows of zeros */
  double ranktol; /* sine that counted as zero */
  int indefinite; /* component at which a factorisation of W ended, -1: none did, or it is not known */
  double usual_sine; /* the first sine that was noted; 0: none yet */

  CPSaddleOptions options;
  CPSaddleSolver used;                       /* of first and general the one in use */
  CPSaddleSolver reserve;                    /* the other one, if it has been needed */
  CPSaddleType first, general;               /* general AUTO: there is none */
  int stays, stays_for_good, wait, patience; /* see factorByEither in saddle.c */
  int has_matrix;                            /* W is a matrix, not diagonal */
  CPMat M, A;           /* W, if it is a matrix, and A: the caller's structures, values at factor */
  double *root;         /* [n] of a diagonal W, at factor */
  const double *length; /* that of the caller, at factor */
  char *off;            /* [m] 1: not in use */
  double *problem;      /* values of M and A, if W is a matrix: room of M.value and A.value */
  size_t entries[2];    /* of M and A */
  int has_weight;       /* M is that of the newest factorisation, and finite */
  long int weights;     /* how many matrices W there have been */
  int valid;            /* there are factors */
  double asked;         /* ranktol that was asked for at the newest factorisation */
  int known_rank;       /* the highest rank that was noted */
  char *known;          /* [m] rows that were noted as independent of each other */
  int knows_rows;       /* the rows in use are among them */
  CPArena arena;
};

static inline int cpSaddleUseRows(CPSaddle s, const char *off) {
  int i = 0;
  while (off && i < s->m && s->off[i] == off[i]) i++;
  return off && i == s->m ? s->knows_rows : cpSaddleSetRows(s, off);
}

static inline void cpSaddleNoteRank(CPSaddle s) {
  if (!s->knows_rows || s->rank > s->known_rank || s->usual_sine == 0.0) cpSaddleSetRank(s);
}

#endif
