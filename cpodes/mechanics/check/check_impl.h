/* Interfaces between the files of CPMechCheck, which compares the functions of the model with each
 * other and with differences. Velocities, accelerations and multipliers are moved away from special
 * values, because at rest, or if symmetry makes terms zero, most errors do not show.
 *
 * Each comparison is a CPComparison (comparisons.c lists them all), and one function makes it
 * (compare.c). */
#ifndef CPODES_CHECK_IMPL_H
#define CPODES_CHECK_IMPL_H

#include "cpodes/mechanics/mech.h"

/* Relative errors above this limit are reported. */
#define CP_CHECK_LIMIT 1.0e-4

/* The variables of all functions, or a direction in their space */
typedef struct {
  double t, *q, *u, *z, *lambda; /* [nq], [nu], [nz], [m] */
} CPCheckPoint;

/* A row of the matrices that are compared: its largest entry, the size below which it counts as
 * zero, and its entry with the largest error, in column `where`. */
typedef struct {
  double largest, floor, error, given, expected;
  int where;
} CPCheckRow;

/* A column of derivatives by differences: central ones, and from either side */
enum { CP_CHECK_CENTRAL, CP_CHECK_ABOVE, CP_CHECK_BELOW, CP_CHECK_SIDES, CP_CHECK_STEPS = 2 };
typedef struct {
  double *from[CP_CHECK_SIDES]; /* [most] each */
} CPCheckDerivatives;

typedef struct {
  CPArena arena;
  CPMech mech;
  CPMechReport *report;
  CPCheckPoint at, near,
      along; /* where functions are compared; a point near it; the direction to that */
  double *a; /* [nu] u', held in partial derivatives */
  int rank;  /* of the rows of A, where u' is compared */
  CPMat A;   /* m x nu at the point; empty with operators */
  int moved; /* 1: positions are not those of the state */
  double *q_state, *u_state; /* [nq], [nu] of the state */
  /* [most] compare.c: given and expected are the columns compared; value is a function, centre that where it is differentiated, terms
   * the sizes of its terms, and largest_terms the largest of these */
  double *given, *expected, *value, *centre, *terms, *largest_terms;
  CPCheckDerivatives differences[CP_CHECK_STEPS];
  double *e, *w, *x; /* [most] workspace for filling a column */
  char *skipped;     /* [most] */
  char *left; /* [m] 1: the row of A is 0 at the point, since a model with use_rows leaves it to others; its multiplier is 0 */
  CPCheckRow *row; /* [most] */
  /* the first error */
  int code;
  char text[CP_TEXT_LENGTH];
} CPCheck;

static inline CPMechState cpCheckStateOf(const CPCheckPoint *p) {
  return (CPMechState){p->t, p->q, p->u, p->z};
}

/* The rank of the rows of A where they were factored last */
static inline int cpCheckRank(const CPMech mech) { return mech->kkt ? mech->kkt->rank : 0; }

/* The function that is differentiated: p, v, -v, g and g' of all motions, f + f_lambda,
 * F = f + f_lambda - M a - A^T lambda, B = b - A a, zdot, u' */
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

/* The direction: N e_j, u_j, z_j, lambda_j; along the motion, q' = N u with u held; time alone */
typedef enum {
  CP_ALONG_Q,
  CP_ALONG_U,
  CP_ALONG_Z,
  CP_ALONG_LAMBDA,
  CP_ALONG_MOTION,
  CP_ALONG_TIME
} CPCheckAlong;

/* A matrix or a vector that is given, and what it should be: another vector, the mirror image of
 * the matrix, or the derivatives of `value` along the directions j. */
typedef struct {
  const char *given, *expected; /* "<given>(i, j) is 1, and <expected> 2" */
  int code;                     /* the error code if they differ */
  int rows, cols;
  const double *given_vector, *expected_vector; /* [rows]; both NULL for a matrix */
  /* the matrix; if matrix and pattern are NULL, it is A, by the products of the model */
  const CPMat *matrix;
  const CPMat *pattern; /* if not NULL, the entries outside which derivatives should be zero */
  int is_symmetric;     /* 1: the mirror image is expected */
  CPCheckValue value;
  CPCheckAlong along;
  const char *skipped; /* [rows] or NULL; 1: this row is not compared */
  double terms;        /* the largest of those that may cancel in any row */
  sunrealtype *result; /* raised to the largest relative error */
} CPComparison;

/* The largest error of a comparison and its position; row is -1 if there is none. */
typedef struct {
  double error;
  int row, col;
} CPCheckWorst;
/* Returns 0, or the code of a function that failed. worst may be NULL. */
int cpCompare(CPCheck *check, const CPComparison *c, CPCheckWorst *worst);
/* The largest of |f_j| / M_jj at the newest M and f, and of products of velocities, which may cancel in u' with reactions */
double cpCheckAccelerationTerms(const CPCheck *check);

/* comparisons.c: each function makes those comparisons that apply to the model. Returns 0, or the
 * code of a function that failed. */
int cpCheckStructure(CPCheck *check); /* N, A, M: inverses, transposes, symmetry */
int cpCheckJacobians(CPCheck *check); /* A */
int cpCheckRates(CPCheck *check);     /* v, b, motions */
/* udot given with M; a and lambda are those of the KKT system */
int cpCheckUdot(CPCheck *check);
/* given blocks of the iteration matrix, and patterns of others */
int cpCheckPartials(CPCheck *check);
/* Is or may the iteration matrix be sparse? */
int cpHasPatterns(const CPMech mech);

#endif
