/* Interfaces between the files of a mechanical system's projector.
 *
 * Positions and velocities are two problems with unknowns x in the space of velocities and the same
 * Jacobian A:
 *
 *   positions    0 = p(t, q(x)),  q(x) = q0 + N(q0) x, normalised      (q_i = x_j where q_i' = u_j)
 *   velocities   0 = v(t, q, x)
 *
 * The projector's Newton iteration solves each of them with the parts that are defined here and the
 * factors of the saddle point [W A^T; A 0]. One set of factors serves both problems if their rows
 * and the metric W are the same. */
#ifndef CPODES_MECHANICS_PROJECTION_H
#define CPODES_MECHANICS_PROJECTION_H

#include "cpodes/mechanics/mech.h"
#include "cpodes/projector/newton.h"
#include "cpodes/saddle/krylov.h"

enum { CP_POSITIONS, CP_VELOCITIES };

typedef struct CPMechProjection_ CPMechProjection;

/* Factors of [W A^T; A 0] at (t, q). With operators there are no factors, and products are
 * evaluated at (t, q). */
typedef struct {
  CPMechProjection *own;
  CPNewton newton; /* validity and age of the factors; newton.self is the problem being solved */
  long int made;   /* number of these factors */
  CPMechMetric metric; /* metric for which saddle was created; DEFAULT if there is none */
  int use_mass;        /* 1: the Newton matrix is not definite, and M replaces it */
  /* when the factors were made: the number of Newton matrices so far, gamma of the newest one, and
   * the time of its partial derivatives */
  long int nnewton;
  double gamma;
  sunrealtype t_partials;
  sunrealtype t;
  double *q;       /* [nq] */
  double *root;    /* [nu] roots of a diagonal D; 0: fixed */
  CPSaddle saddle; /* NULL with operators */
  CPMat A;         /* m x nu */
  /* A without the columns that are fixed, for FULL motions and a matrix W; else empty */
  CPMat A_fixed;
  CPMat W; /* W of NEWTON or with FULL motions; else empty, and W is userM.A */
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
  int nactive;     /* number of rows that exist here and are on */
  char *off;       /* [m] 1: row does not exist here, or is switched off */
  char *fixed;     /* [nu] 1: x_j does not move */
  const double *q; /* [nq] positions: q0; velocities: q */
  N_Vector x;      /* [nu] the unknown */
  /* residuals, 0 in rows that are off, and the sizes that correspond to the tolerance */
  CPRows rows;
  long int measured;       /* number of the factors whose rows have these sizes */
  const double *positions; /* velocities: [m] residuals of the positions at q, or NULL */
  double open; /* velocities: the largest of these where q is as near as roundoff permits, else 0 */
  double *rates; /* [m] v - A u at q and rates_t */
  sunrealtype rates_t;
  int rates_are_known;     /* 1: rates are those of q, and so is mech->A */
  int derivative_is_right; /* 1: A has been compared with differences */
} CPMechProblem;

/* The workspace of one user of the projector. */
struct CPMechProjection_ {
  CPMech mech;
  CPWork work;
  CPArena arena;
  int is_created;
  int initial; /* 1: for initial states, for which the metric is that of the error weights */
  long int layout, contents; /* versions of rows and options to which the problems correspond */
  long int metric_changes;
  CPMechMetric metric;
  double sine; /* of the accelerations' saddle when the factors were last discarded because of it */
  CPMechProblem problem[2];
  CPMechFactors factors[2]; /* [1] is empty as long as both problems share [0] */
  N_Vector y;               /* [n] trial state */
  double *q;                /* [nq] q(x) of the positions */
  double *x_of_q;           /* [nu] this x, for the present q0, if q_is_known */
  int q_is_known;
  double *e, *w;            /* vectors.c: [n], [nu] the vector */
  double *d, *moved;        /* [nq] */
  N_Vector trial;           /* [nu] */
  double *z, *correction;   /* [nu] */
  double *r, *r2, *r3, *mu; /* [m] */
  double *room;             /* [4 m] */
};

/* ---- problem.c ---- */
/* own->q <- q(x), unless it is that already: the first x is needed for residuals and factors, the last
 * one for residuals and the result. The reason for a failure is in mech->text. */
int cpMechPositionsOf(CPMechProblem *p, sunrealtype t, const double *x);
/* The residuals at x (CPNewtonParts). */
int cpMechResiduals(CPNewton *newton, sunrealtype t, N_Vector x);
/* w [nu] <- weights of x that follow from the ewt of the state, which may be NULL. */
int cpMechWeights(CPMechProblem *p, const sunrealtype *ewt, double *w);
/* If a function failed, copies its reason from mech->text to the projection's text. Returns
 * flag. */
int cpMechFailed(CPMechProjection *own, int flag);

/* ---- factors.c ---- */
/* Brings own in line with the options of system and projector. */
int cpMechFactorsUpdate(CPMechProjection *own);
/* Frees what cpMechFactorsUpdate has created. */
void cpMechProjectionClear(CPMechProjection *own);
/* size [nu] <- |x_j| of positions, but no less than their typical size, or 1 (radian) of displacements without a coordinate:
 * residuals have the roundoff of poses even where coordinates of joints are 0. Velocities are left as they are. */
void cpMechSizes(const CPMechProblem *p, const double *x, double *size);
/* Makes new factors at (t, x) (CPNewtonParts). */
int cpMechRenew(CPNewton *newton, sunrealtype t, N_Vector x, N_Vector ewt, int damped, CPRank *rank);
/* Computes the sizes of p's rows, unless they belong to its present factors. */
int cpMechMeasureRows(CPMechProblem *p, N_Vector ewt);
/* r <- A v, zero in rows that are off; w <- w - A^T mu */
int cpMechRowsTimes(CPMechProblem *p, const double *v, double *r);
int cpMechSubtractRows(CPMechProblem *p, const double *mu, double *w);
/* x <- K r, mu <- K^T w. rtol: with operators, relative residual of conjugate gradients */
#define CP_CG_RTOL_OF_VECTOR CP_ROUNDED
int cpMechLift(CPMechProblem *p, const double *r, double *x, double rtol);
int cpMechLiftTransposed(CPMechProblem *p, const double *w, double *mu);

/* ---- violation.c ---- */
extern const CPNewtonParts cpMechNewtonParts;
/* Checks that A is the derivative of the residuals at x. Returns 0, -CP_CNSTRJAC_WRONG with a
 * reason that contains `before`, or another code. */
int cpMechCompareDerivative(CPMechProblem *p, sunrealtype t, N_Vector x, const char *before);

/* ---- projection.c ---- */
/* Sets problem `which` and its unknown to y. Returns the iteration that solves it. */
CPNewton *cpMechPlace(CPMechProjection *own, int which, const sunrealtype *y);
/* The name of row i; rows are those of positions, velocities, motions (FULL ones only), norms. */
const char *cpMechNameRow(void *model, int i, char name[CP_ROW_NAME]);

/* ---- vectors.c ---- */
int cpMechError(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v);
int cpMechTangent(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v, N_Vector r);
int cpMechRoundoff(void *self, sunrealtype t, N_Vector y, N_Vector ewt, double *norm);
int cpMechCotangent(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector w);
N_Vector cpMechRowsVector(void *self);
int cpMechRowsAt(void *self, sunrealtype t, N_Vector y, N_Vector c);

#endif
