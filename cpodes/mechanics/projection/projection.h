/* Inside of a mechanical system's projector.
 *
 * Positions and velocities are two problems x in the space of velocities, with the same Jacobian A:
 *
 *   positions    0 = p(t, q(x)),  q(x) = q0 + N(q0) x, normalised      (q_i = x_j where q_i' = u_j)
 *   velocities   0 = v(t, q, x)
 *
 * Each is solved by the projector's Newton iteration, whose parts are here, with the factors of the saddle point
 * [W A^T; A 0]. One set of factors serves both problems where their rows and the metric W are the same. */
#ifndef CPODES_MECHANICS_PROJECTION_H
#define CPODES_MECHANICS_PROJECTION_H

#include "cpodes/mechanics/mechanics_impl.h"
#include "cpodes/projector/newton.h"
#include "cpodes/saddle/krylov.h"

enum { CP_POSITIONS, CP_VELOCITIES };

typedef struct CPMechProjection_ CPMechProjection;

/* Factors of [W A^T; A 0] at (t, q); with operators, the state where products are taken. */
typedef struct {
  CPMechProjection *own;
  CPNewton newton; /* validity and age of the factors; newton.self is the problem that is solved */
  long int made;   /* number of these factors */
  CPMechMetric metric; /* that saddle was created for; DEFAULT: there is none */
  int use_mass;        /* Newton's matrix is not definite: M in its place */
  long int nnewton;    /* Newton matrices made when the factors were */
  sunrealtype t;
  double *q;       /* [nq] */
  double *root;    /* [nu] roots of the diagonal of D, where that is diagonal; 0: held */
  CPSaddle saddle; /* NULL with operators */
  CPMat A;         /* m x nu */
  CPMat A_held; /* with FULL motions and W a matrix: A without the columns that are held; else empty */
  CPMat W;      /* NEWTON, or with FULL motions; else empty, and M is the system's */
  /* with operators */
  CPKrylov krylov;
  N_Vector jacobi, weight;             /* [m] 1 / diag(A D A^T); 1 / size^2 */
  N_Vector rhs, multipliers, solution; /* [m], [m], [nu] */
} CPMechFactors;

/* One of the two problems. Rows have the numbers of A. */
typedef struct {
  CPMechProjection *own;
  int which; /* CP_POSITIONS or CP_VELOCITIES */
  CPMechFactors *factors;
  int nactive;     /* rows that are there and on */
  char *off;       /* [m] 1: row does not exist here, or is switched off */
  char *held;      /* [nu] 1: x_j does not move */
  const double *q; /* [nq] positions: q0; velocities: q */
  N_Vector x;      /* [nu] the unknown */
  CPRows rows; /* residuals, 0 in rows that are off, and their sizes in units of the tolerance */
  long int measured;       /* factors whose rows these sizes are of */
  double *rates;           /* [m] velocities without u, at q, if */
  int rates_are_known;     /* they are, with A at q in mech->A */
  int derivative_is_right; /* A has been compared with differences. */
} CPMechProblem;

/* The workspace of one user of the projector. */
struct CPMechProjection_ {
  CPMech mech;
  CPWork work;
  CPArena arena;
  int is_created;
  int initial; /* for initial states: The metric is that of the error weights, whatever the system's is. */
  long int layout, contents; /* of rows and of options, that the problems are in line with */
  long int metric_changes;
  CPMechMetric metric;
  double sine; /* of the accelerations' saddle when it last made factors useless */
  CPMechProblem problem[2];
  CPMechFactors factors[2];
  N_Vector y;               /* [n] trial state */
  double *q;                /* [nq] q(x) of the positions */
  double *e, *w;            /* vectors.c: [n], [nu] the vector */
  double *d, *moved;        /* [nq] */
  N_Vector trial;           /* [nu] */
  double *z, *correction;   /* [nu] */
  double *r, *r2, *r3, *mu; /* [m] */
};

/* ---- problem.c ---- */
/* x <- the unknown at y: displacement (x_j = q_i for pairs, else 0), or velocities. */
void cpMechStart(CPMechProblem *p, const sunrealtype *y);
/* own->q <- q(x); the reason of a failure is in mech->text. */
int cpMechPositionsOf(CPMechProblem *p, sunrealtype t, const double *x);
/* The residuals at x, of CPNewtonParts */
int cpMechResiduals(CPNewton *newton, sunrealtype t, N_Vector x);
/* w [nu] <- weights of x, of the whole state's ewt, which may be NULL. */
int cpMechWeights(CPMechProblem *p, const sunrealtype *ewt, double *w);
/* A function that failed has its reason in mech->text, which becomes the projection's. Returns flag. */
int cpMechFailed(CPMechProjection *own, int flag);

/* ---- factors.c ---- */
/* In line with the options of system and projector. */
int cpMechFactorsUpdate(CPMechProjection *own);
/* Frees what cpMechFactorsUpdate made. */
void cpMechProjectionClear(CPMechProjection *own);
/* New factors at (t, x), of CPNewtonParts. */
int cpMechRenew(CPMechProblem *p, sunrealtype t, const double *x, N_Vector ewt, int damped,
                CPRank *rank);
/* Sizes of p's rows, unless these are of its factors. */
int cpMechMeasureRows(CPMechProblem *p, N_Vector ewt);
/* r <- A v, zero in rows that are off; w <- w - A^T mu */
int cpMechRowsTimes(CPMechProblem *p, const double *v, double *r);
int cpMechSubtractRows(CPMechProblem *p, const double *mu, double *w);
/* x <- K r, mu <- K^T w. goal: residual where products are all that there is */
#define CP_GOAL_OF_STATE  1.0e-4
#define CP_GOAL_OF_VECTOR 1.0e-10
int cpMechLift(CPMechProblem *p, const double *r, double *x, double goal);
int cpMechLiftTransposed(CPMechProblem *p, const double *w, double *mu);

/* ---- violation.c ---- */
extern const CPNewtonParts cpMechNewtonParts;
/* Is A the derivative of the residuals at x? 0, -CP_CNSTRJAC_WRONG with the reason after `before`, or a code. */
int cpMechCompareDerivative(CPMechProblem *p, sunrealtype t, N_Vector x, const char *before);

/* ---- projection.c ---- */
/* The problem at y, and the iteration that solves it. */
CPNewton *cpMechPlace(CPMechProjection *own, int which, const sunrealtype *y);
/* Row i of all: positions, velocities, FULL motions, norms. */
const char *cpMechNameRow(void *model, int i, char name[CP_ROW_NAME]);

/* ---- vectors.c ---- */
int cpMechError(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v);
int cpMechTangent(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v, N_Vector r);
int cpMechCotangent(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector w);
N_Vector cpMechRowsVector(void *self);
int cpMechRowsAt(void *self, sunrealtype t, N_Vector y, N_Vector c);

#endif
