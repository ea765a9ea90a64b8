/* Inside of CPMechCheck: the functions of the model against each other and against differences, at a state whose
 * velocities, accelerations and multipliers have been moved away from special values: at rest, or where symmetry makes
 * terms zero, most errors do not show.
 *
 * Whatever is compared is a CPComparison (comparisons.c lists them all), and one function compares (compare.c). */
#ifndef CPODES_CHECK_IMPL_H
#define CPODES_CHECK_IMPL_H

#include "cpodes/mechanics/mechanics_impl.h"

/* Errors above it are reported. */
#define CP_CHECK_LIMIT 1.0e-4

/* The variables of all functions, or a direction in their space */
typedef struct {
  double t, *q, *u, *z, *lambda; /* [nq], [nu], [nz], [m] */
} CPCheckPoint;

/* A row of the matrices that are compared: its largest entry, the size below which it counts as zero, and its entry
 * with the largest error, in column `where`. */
typedef struct {
  double largest, floor, error, given, expected;
  int where;
} CPCheckRow;

typedef struct {
  CPArena arena;
  CPMech mech;
  CPMechReport *report;
  CPCheckPoint at, near,
      along; /* where functions are compared; a point near it; the direction to that */
  double *a; /* [nu] held in partial derivatives */
  CPMat A;   /* m x nu at the point; empty with operators */
  int moved; /* positions are not those of the state */
  double *q_state, *u_state; /* which are these */
  /* [most] of functions in compare.c: the columns compared, with derivatives by steps of two sizes; a function, the size
   * of its terms, and the largest that they get */
  double *given, *expected[2], *value, *terms, *largest_terms;
  double *e, *w, *x; /* [most] workspace of what fills a column */
  char *skipped;     /* [most] */
  CPCheckRow *row;   /* [most] */
  /* the first error */
  int code;
  char text[CP_TEXT_LENGTH];
} CPCheck;

static inline CPMechState cpCheckStateOf(const CPCheckPoint *p) {
  return (CPMechState){p->t, p->q, p->u, p->z};
}

/* What is differentiated: p, v, -v, g and g' of all motions, f + f_lambda, F = f + f_lambda - M a - A^T lambda,
 * B = b - A a, zdot, u' */
typedef enum {
  CP_VALUE_P,
  CP_VALUE_V,
  CP_VALUE_MINUS_V,
  CP_VALUE_G,
  CP_VALUE_GD,
  CP_VALUE_FORCES,
  CP_VALUE_F,
  CP_VALUE_B,
  CP_VALUE_Z,
  CP_VALUE_UDOT
} CPCheckValue;

/* In which direction: N e_j, u_j, z_j, lambda_j; along the motion, q' = N u with u held; time alone */
typedef enum {
  CP_ALONG_Q,
  CP_ALONG_U,
  CP_ALONG_Z,
  CP_ALONG_LAMBDA,
  CP_ALONG_MOTION,
  CP_ALONG_TIME
} CPCheckAlong;

/* A matrix or a vector that is given, and what it should be: another vector, the mirror image of the matrix, or the
 * derivatives of `value` along the directions j. */
typedef struct {
  const char *given, *expected; /* "<given>(i, j) is 1, and <expected> 2" */
  int code;                     /* if it is wrong */
  int rows, cols;
  const double *given_vector, *expected_vector; /* [rows]; both NULL for a matrix */
  const CPMat *matrix; /* The matrix. If this and `pattern` are NULL, it is A, by the products of the model. */
  const CPMat *pattern; /* or the entries outside of which derivatives should be zero */
  int is_symmetric;     /* 1: the mirror image is expected */
  CPCheckValue value;
  CPCheckAlong along;
  const char *skipped; /* [rows] or NULL; 1: nothing is known of this row */
  sunrealtype *result; /* becomes the largest relative error, if that is larger */
} CPComparison;

/* Where the largest error of a comparison is; row is -1 if there is none. */
typedef struct {
  double error;
  int row, col;
} CPCheckWorst;
/* 0, or the code of a function that failed. worst may be NULL. */
int cpCompare(CPCheck *check, const CPComparison *c, CPCheckWorst *worst);

/* comparisons.c: each compares what there is to compare. 0, or the code of a function that failed. */
int cpCheckStructure(CPCheck *check); /* N, A, M: inverses, transposes, symmetry */
int cpCheckJacobians(CPCheck *check); /* A */
int cpCheckRates(CPCheck *check);     /* v, b, motions */
int cpCheckUdot(CPCheck *check);      /* udot beside M; a and lambda are those of the KKT system */
int cpCheckPartials(CPCheck *check); /* of the iteration matrix: given ones, and patterns of others */
/* Is there a sparse iteration matrix, or may there be one? */
int cpHasPatterns(const CPMech mech);

#endif
