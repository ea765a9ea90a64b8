/* Inside of CPMechCheck: the functions of the model against each other and against differences, at a
 * state whose velocities, accelerations and multipliers have been moved away from special values: at
 * rest, or where symmetry makes terms zero, most errors do not show. */
#ifndef CPODES_CHECK_IMPL_H
#define CPODES_CHECK_IMPL_H

#include "cpodes/mechanics/mechanics_impl.h"

/* Errors above it are reported. */
#define CP_CHECK_LIMIT 1.0e-4

typedef struct {
  CPMech mech;
  CPMechReport *report;
  CPMechState s;        /* where functions are compared */
  double *a, *lambda;   /* [nu], [m] held in partial derivatives */
  CPMat A;              /* m x nu at s; empty with operators */
  double *memory;       /* of all arrays */
  double *q, *u, *z;    /* [nq], [nu], [nz] of s */
  int moved;            /* positions are not those of the state */
  double *q_state;      /* [nq] which are these ... */
  double *u_state;      /* [nu] ... and velocities of the state */
  double *q2, *u2, *z2; /* [nq], [nu], [nz] near it */
  /* direction in which functions are differentiated: d/dtau at (t + dt tau, q + dq tau, ...) */
  double dt, *dq, *du, *dz, *dl; /* [nq], [nu], [nz], [m] */
  double *lambda2;               /* [m] */
  double *e;                     /* [most] unit vector */
  double *column;                /* [most] what is compared */
  double *w, *x;                 /* [most] of the functions that check */
  double *difference[2];         /* [most] derivatives by steps of two sizes */
  double *f, *terms, *largest_f; /* [most] a function, the size of its terms, their largest */
  /* the comparison in progress, for each row [most] */
  double *largest, *floor, *error, *given, *expected;
  int *where;
  /* the first error */
  int code;
  char text[CP_TEXT_LENGTH];
} CPCheck;

/* A function of the state that is differentiated: value [rows], and the size of its terms. A, M of
 * mech may be those of s then. Returns 0, or a code with the reason in mech->text. */
typedef struct {
  int rows;
  int (*evaluate)(CPCheck *check, const CPMechState *s, const double *lambda, double *value,
                  double *terms);
} CPFunction;

/* functions.c */
int cpForcesOf(CPCheck *check, const CPMechState *s, const double *lambda, double *value,
               double *terms);
int cpDynamicsOf(CPCheck *check, const CPMechState *s, const double *lambda, double *value,
                 double *terms);
int cpConstraintsOf(CPCheck *check, const CPMechState *s, const double *lambda, double *value,
                    double *terms);
int cpAuxiliaryOf(CPCheck *check, const CPMechState *s, const double *lambda, double *value,
                  double *terms);
int cpAccelerationsOf(CPCheck *check, const CPMechState *s, const double *lambda, double *value,
                      double *terms);

/* compare.c */
/* Directions: N e_j, velocity u_j, z_j, lambda_j, or along the motion, q' = N u with u held;
 * time alone. */
int cpAlongPosition(CPCheck *check, int j);
int cpAlongVelocity(CPCheck *check, int j);
int cpAlongAuxiliary(CPCheck *check, int j);
int cpAlongMultiplier(CPCheck *check, int j);
int cpAlongMotion(CPCheck *check);
void cpAlongTime(CPCheck *check);

/* A comparison: begin; entries, or columns against the derivative of f in the direction chosen; end. */
void cpCompareBegin(CPCheck *check, int rows);
void cpCompareEntry(CPCheck *check, int i, int j, double given, double expected);
int cpCompareColumn(CPCheck *check, const CPFunction *f, int j, const double *given);
/* The same, of a column of which differences know only what lies in the pattern. */
int cpCompareOutside(CPCheck *check, const CPFunction *f, int j, const CPMat *pattern);
/* What is wrong if it is: "<given>(i, j) is ..., and <expected> ...". single: there is one column only. */
typedef struct {
  int code;
  const char *given, *expected;
  int single;
} CPVerdict;
/* Largest relative error into *result, its place into *row and *col (each may be NULL). */
void cpCompareEnd(CPCheck *check, int rows, const CPVerdict *verdict, sunrealtype *result, int *row,
                  int *col);

/* Column j of J. */
void cpColumnOf(const CPMat *J, int j, double *column);

/* Each compares what there is to compare: 0, or the code of a function that failed. */
int cpCheckKinematics(CPCheck *check); /* structure.c: N */
int cpCheckMass(CPCheck *check);       /* ... M, or Mu and Minv */
int cpCheckUdot(CPCheck *check);       /* ... udot beside M; a, lambda: of the KKT system */
int cpCheckTransposed(CPCheck *check); /* ... Au and ATl */
int cpCheckJacobians(CPCheck *check);  /* constraints.c: A */
int cpCheckRates(CPCheck *check);      /* ... v, b, motions */
int cpCheckPartials(CPCheck *check);   /* partials.c; a, lambda are known then */
int cpCheckPatterns(CPCheck *check);   /* patterns.c; the same */
/* Is there a sparse iteration matrix, or may there be one? */
int cpHasPatterns(const CPMech mech);

#endif
