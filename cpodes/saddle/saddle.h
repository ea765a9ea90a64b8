/* Saddle-point systems,
 *
 *   [ W  A^T ] [ x  ]   [ f ]      W n x n symmetric, positive definite on the null space of A
 *   [ A   0  ] [ mu ] = [ b ]      A m x n; rows may be linearly dependent, or switched off
 *
 * Accelerations (W = M), projections (W = the metric), impacts, multipliers and the Delassus
 * operator all solve this system, with different right-hand sides. With D = W^{-1} and (.)^+ the
 * inverse on an independent subset of the rows,
 *
 *   f = 0:   x  = K b,     K   = D A^T (A D A^T)^+     the right inverse of A
 *   b = 0:   mu = K^T f,   x = D (f - A^T mu)          tangent projection of D f
 *
 * One object holds the factors. There is one solver for each kind of matrix, in a file of its own
 * with a table of functions (saddle_impl.h); a new solver is a new file and a line in saddle.c. */
#ifndef CPODES_SADDLE_H
#define CPODES_SADDLE_H

#include "cpodes/base/memo.h"
#include "cpodes/matrix/matrix.h"

#include <cpodes/cpodes_types.h>

typedef struct CPSaddle_ *CPSaddle;

/* W: root or matrix; the identity if both are NULL. */
typedef struct {
  /* [n] for a diagonal W = D^{-1}: square roots of D_jj; 0: component j is fixed, x_j = 0 */
  const double *root;
  /* [m] lengths of the rows of A D^(1/2), with D diagonal, if they are known; else NULL */
  const double *length;
  const CPMat *matrix; /* n x n, both triangles */
} CPWeight;

typedef struct {
  CPLinSol type;
  /* 1: where the solver of this type refuses the values, a more general one replaces it (implied by
   * AUTO): QR replaces SCHUR, and KKT replaces SPARSE if W is a matrix */
  int may_change;
  /* 1: with dependent rows, mu has minimum norm among all that give the same A^T mu (SPARSE then
   * needs independent rows); 0: mu may be zero in dependent rows instead */
  int shortest;
  /* 1: a W that the first solver finds indefinite is refused, even if it is definite on the null
   * space of A */
  int definite;
  /* 1: rows have the roundoff of entries that cancel, as in coordinates of joints, and so a row that is short beside others is known to
   * fewer digits */
  int cancels;
  /* lower bound of ranktol: the sine of an angle between rows that may be roundoff alone */
  double finest;
  int whole; /* 1: most rows are in use at any time, even if they are more than twice as many as the coordinates */
  CPMemo memo; /* where the analysis of structures is shared; NULL: it is not */
} CPSaddleOptions;

/* Positive results of cpSaddleFactor. Entries of W and A are checked only if W is a matrix. */
enum {
  CP_SADDLE_NOT_DEFINITE =
      1, /* W is not positive definite on the null space of A (or at all, if that is needed) */
  CP_SADDLE_DEPENDENT, /* rows are dependent (saddle->dependent), and this solver needs full rank */
  CP_SADDLE_NONFINITE, /* an entry of W or A is NaN or infinite */
  CP_SADDLE_JUDGED     /* the dependent rows have been determined (saddle_impl.h) */
};

/* A solver (saddle_impl.h) and its data. */
typedef struct {
  CPLinSol type; /* AUTO until it is created */
  const struct CPSaddleOps_ *ops;
  void *content;
  CPArena arena; /* memory of the content */
} CPSaddleSolver;

/* Creates a solver for the structures of W (NULL if diagonal) and A, which belong to the caller and
 * must outlive it. With a diagonal W, SCHUR and QR accept an A of another structure at
 * each factorisation (cpSaddleKeepsPattern). Returns CP_SUCCESS, CP_MEM_FAIL, CP_LINSOL_FAIL, or
 * CP_ILL_INPUT if the type does not support these matrices; after a failure *saddle is NULL. */
int cpSaddleCreate(CPSaddle *saddle, CPSaddleOptions options, const CPMat *W, const CPMat *A);
void cpSaddleFree(CPSaddle *saddle);
/* Does W consist of successive diagonal blocks of at most this many rows, as those of bodies and pairs of bodies?
 * Their factors make A D A^T no denser, and AUTO takes SPARSE. */
#define CP_SADDLE_SMALL_BLOCKS 16
int cpSaddleHasSmallBlocks(const CPMat *W);
/* Fraction of nonzeros in X or in A^T A above which sparse factors do not pay (bench/solvers). */
#define CP_SPARSE_UP_TO 0.5
/* Does this type analyse the structure of A once, at creation? */
int cpSaddleKeepsPattern(CPLinSol type);

/* Selects the rows i with off[i] = 0; off = NULL selects all, as at creation. Returns whether the
 * selected rows have been recorded as independent of each other (cpSaddleRecordRank); ranktol may then
 * be finest. cpSaddleUseRows keeps the factors if off (not NULL) names the same rows as before;
 * cpSaddleSetRows discards them without comparing. */
static inline int cpSaddleUseRows(CPSaddle saddle, const char *off);
int cpSaddleSetRows(CPSaddle saddle, const char *off);

/* Factors the matrix for the values of W and of the rows in use; values that are needed later are
 * copied. Rows at angles whose sine is below ranktol count as dependent, unless W alone makes the angles that
 * narrow (judge.c). A rank that has been recorded
 * (cpSaddleRecordRank) stands, however: if fewer rows are found independent, ranktol is lowered, at
 * most to finest, until that rank is found again, because leaving out an independent row would
 * permit a motion that does not exist. Returns 0, a positive result, or a negative code; unless it
 * is 0, there are no factors. If the values are the same as before, a call costs a comparison only
 * (W a matrix), so that all users at one state can share an object. */
int cpSaddleFactor(CPSaddle saddle, CPWeight W, const CPMat *A, double ranktol);

/* If NULL, f [n] and b [m] are zero, and x [n] and mu [m] are not computed. No two arrays may
 * overlap. Entries of b in rows that are off or dependent are ignored: the caller must check
 * whether dependent rows contradict the others. mu is zero in rows that are off. Returns 0 or a
 * negative code. */
int cpSaddleSolve(CPSaddle saddle, const double *f, const double *b, double *x, double *mu);
/* mu <- multipliers for f and b = 0, of minimum norm or not */
int cpSaddleMultipliers(CPSaddle saddle, const double *f, double *mu);

/* Are the independent rows of the newest factorisation far enough from ranktol? Otherwise some of them may
 * depend on others at a state on the manifold. */
int cpSaddleIsClear(const CPSaddle saddle);
/* Notes that the newest rank is the true rank of the caller's rows, so that it stands, if it
 * is clear. */
static inline void cpSaddleRecordRank(CPSaddle saddle);
void cpSaddleSetRank(CPSaddle saddle); /* called by cpSaddleRecordRank if there is something to record */
/* Forgets the recorded rank, because the rows have changed. */
void cpSaddleForgetRank(CPSaddle saddle);
/* Returns ranktol for a state at the given distance from the manifold, relative to the terms of the
 * constraints. Closed spatial loops have rows that are dependent on the manifold only. At a
 * distance from it, rows at angles of that size contradict each other: satisfying all of them moves
 * the state along the manifold by as much as it was off, and gives accelerations with errors of
 * their own size. */
double cpSaddleZeroAngle(const CPSaddle saddle, double distance);

/* s_j = 1 / sqrt(w_jj) for a matrix W, so that units do not matter; rounded to a power of two, so
 * that scaling is exact. For a coordinate without mass the largest entry of its column, or else of
 * W, replaces w_jj. */
void cpSaddleScaleCoordinates(const CPSaddle s, double *scale);

/* Writes to text [CP_TEXT_LENGTH] why the factorisation of a projection's matrix at t, or a
 * solution with it (t is NaN), failed: dependent rows (row is the name of row saddle->dependent),
 * memory, or a library. Returns the projection's error code. */
int cpSaddleFailed(const CPSaddle saddle, int flag, sunrealtype t, const char *row, char *text);
/* Name and type of the solver in use. */
const char *cpSaddleName(const CPSaddle saddle);
CPLinSol cpSaddleTypeOf(const CPSaddle saddle);

/* Factors W and A, given by their values, and solves, in as few passes as possible. Nothing may be
 * NULL. Returns 0 if anything is unusual, or x is not finite: cpSaddleFactor then tells what. */
typedef int (*CPSaddleQuickFn)(CPSaddle s, const double *W, const double *A, const double *f,
                               const double *b, double *x, double *mu);
/* To be called before runs, so that s->quick serves from the second factorisation on. Returns 0 or CP_MEM_FAIL. */
int cpSaddleExpectQuick(CPSaddle s);

/* The fields up to usual_sine are results of the newest factorisation, for all users; those below
 * are for the solvers. */
struct CPSaddle_ {
  int n, m;
  int nrows, *row; /* [nrows] the rows in use: those that are not off, ascending */
  int rank;        /* rows in use that are independent */
  /* the smallest sine of a row that counts as independent (an estimate): in the metric of W, or, unless
   * `shortest`, in that of the identity if W makes angles narrow */
  double sine;
  int dependent; /* first row that depends on others; -1: none, mu is unique */
  /* [m] 1: the row depends on rows that are neither dependent nor off; so do rows of zeros */
  char *is_dependent;
  double ranktol; /* smaller sines counted as zero */
  /* component at which the factorisation of W failed; -1: it did not fail, or the component is
   * unknown */
  int indefinite;
  double usual_sine; /* the first sine that was recorded; 0: none yet */
  /* [m] squared lengths of all rows, in the metric of W if that is sparse, if they are a by-product;
   * else NULL */
  double *square;

  CPSaddleOptions options;
  CPSaddleSolver used;                       /* the solver in use: first or general */
  CPSaddleSolver reserve;                    /* the other one, if it has been needed */
  CPSaddle few;                              /* few.c: of the rows in use, NULL: there is none */
  CPLinSol first, general;                   /* general = AUTO: there is none */
  int stays, stays_for_good, wait, patience; /* see factorByEither in saddle.c */
  int has_matrix;                            /* W is a matrix, not diagonal */
  int is_identity;                           /* W is a multiple of 1 in all that is not fixed */
  /* W, if it is a matrix, and A: structures of the caller, values of the newest factorisation */
  CPMat M, A;
  double *root; /* [n] for a diagonal W: CPWeight.root of the newest factorisation, copied */
  const double *length;  /* CPWeight.length of the newest factorisation, the caller's */
  char *off;             /* [m] 1: not in use */
  double *problem;       /* if W is a matrix: memory of M.value and A.value */
  size_t entries[2];     /* number of entries of M and A */
  int has_weight;        /* M.value is that of the newest factorisation, and finite */
  long int weights;      /* number of different matrices W so far */
  int valid;             /* there are factors */
  CPSaddleQuickFn quick; /* NULL, unless the rows are independent and there is no rank to note */
  double asked;          /* ranktol requested at the newest factorisation */
  /* judge.c: A alone, in a diagonal metric [n]; both are created when they are needed */
  CPSaddle judge;
  double *metric;
  int is_judge;    /* 1: this is the judge of another object */
  int is_judged;   /* 1: rank, is_dependent and dependent are those of judge */
  int uneven;      /* 1: angles are wider in the metric of the identity than in that of W */
  double widest;   /* narrowest angle in the metric of the identity, if that has decided, else 0 */
  int agreed_rank; /* rank that both metrics have shown */
  double judged_sine; /* sine in the metric of W at the newest comparison of both */
  double *room;   /* [3 (n + m)] workspace for iterative refinement, allocated when it is needed */
  CPArena late;   /* its memory */
  int refines;    /* 1: solutions are refined */
  int known_rank; /* the highest rank recorded */
  char *known;    /* [m] 1: the row has been recorded as independent of the others recorded */
  int knows_rows; /* all rows in use have been recorded */
  CPArena arena;
};

static inline int cpSaddleUseRows(CPSaddle s, const char *off) {
  int i = 0;
  while (off && i < s->m && s->off[i] == off[i]) i++;
  return off && i == s->m ? s->knows_rows : cpSaddleSetRows(s, off);
}

static inline void cpSaddleRecordRank(CPSaddle s) {
  if (!s->knows_rows || s->rank > s->known_rank || s->usual_sine == 0.0) cpSaddleSetRank(s);
}

#endif
