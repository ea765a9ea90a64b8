/* Internals of the matrix-free kind: constraints of which only products G v and G^T w are known, on
 * any N_Vector. Every decision follows from global reductions (N_VDotProd, N_VMaxNorm, N_VMin), so
 * that all processes of a parallel vector take the same one; to that end the user's functions must
 * return the same flag on all of them.
 *
 * The sizes of the rows enter by their squares, since N_Vectors have no square root:
 *
 *   violation^2 = max_i weight_i c_i^2,   weight_i = 1/size_i^2 */
#ifndef CPODES_MATRIXFREE_IMPL_H
#define CPODES_MATRIXFREE_IMPL_H

#include "cpodes/projector/projector_impl.h"
#include "cpodes/saddle/krylov.h"

#include <cpodes/cpodes_matrixfree.h>

typedef struct CPMatrixFree_ *CPMatrixFree;

/* The user's products; diag, psetup, psolve and metric may be NULL. */
typedef struct {
  CPProductFn Gv, GTw, diag, psolve, metric;
  CPPrecSetupFn psetup;
} CPProducts;

/* G_l and D_l for conjugate gradients. */
typedef struct {
  CPMatrixFree k;
  int l;
  CPKrylov cg;
  N_Vector D;    /* [n] D of the norm on the level's free columns, else 0 */
  N_Vector rows; /* [m] 1: the row is of this level, switched on, and has a gradient; else 0 */
} CPFreeLevel;

struct CPMatrixFree_ {
  CPWork work;
  const CPProducts *given;
  CPArena base; /* of newton */
  CPNewton newton;
  long int revision, contents; /* of P at the last update */
  int products_are_right;      /* 1: they have agreed with differences */
  int damped;                  /* 1: in the damped iteration */
  CPArena arena;               /* of all that follows */
  unsigned seed; /* seed of pseudo-random vectors on this process; 0 before the first one */
  int nlevels;   /* number of levels */
  CPFreeLevel level[CP_MAX_LEVELS];
  /* the kept problem: products at (t, y), with measuring weights w */
  sunrealtype t;
  N_Vector y, w;     /* [n] */
  int masked;        /* 1: a level's rows have an entry 0 */
  int has_dead;      /* 1: some rows are switched on, but have no gradient */
  N_Vector dead;     /* [m] 1: such a row */
  N_Vector weight;   /* [m] 1 / size^2; 0: switched off */
  N_Vector distance; /* [m] like weight, with sizes in units of the state's tolerance */
  N_Vector jacobi;   /* [m] without psolve: 1 / diag(G D G^T), or weight */
  N_Vector frozen;   /* [m] weights of the damped iteration */
  N_Vector c, c2;    /* [m] residuals, and at a perturbed state */
  N_Vector r, mu;    /* [m] right-hand side and multipliers of a solve */
  N_Vector x;        /* [n] its solution */
  N_Vector m1, m2;   /* [m] workspace; the following is shared with conjugate gradients */
  N_Vector z, q, Bq, p, d, g, s;
};

/* iteration.c */
extern const CPNewtonParts cpFreeParts;
int cpFreeTangent(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v, N_Vector r);
int cpFreeCotangent(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector w);

/* products.c: the kept problem */
/* Keeps t, y and the weights only. */
int cpFreePlace(CPMatrixFree k, sunrealtype t, N_Vector y, N_Vector ewt);
/* Keeps (t, y), and computes metric, sizes and preconditioner there. */
int cpFreeRenew(CPMatrixFree k, sunrealtype t, N_Vector y, N_Vector ewt);
/* Call the user's functions at the kept state, count the calls, and check that the results are
 * finite. */
int cpFreeTimes(CPMatrixFree k, N_Vector v, N_Vector Gv);
int cpFreeTransposed(CPMatrixFree k, N_Vector w, N_Vector GTw);
int cpFreeMetric(CPMatrixFree k, int l, N_Vector x, N_Vector Dx); /* D of level l */
int cpFreeSchurDiag(CPMatrixFree k, N_Vector D, N_Vector diag);
/* k->x += D_l G_l^T (G_l D_l G_l^T)^+ k->r, where k->r is zero outside the rows of level l. On
 * return k->r is the residual: its violation is at most rtol times the initial one, unless the
 * remainder is a contradiction. mu as in cpKrylovSolve. */
int cpFreeSolve(CPMatrixFree k, int l, double rtol, N_Vector mu);
/* x_i <- 0 outside the rows of level l */
void cpFreeMask(const CPMatrixFree k, int l, N_Vector x);

/* rows.c: sizes of the rows, violations, checks of the products. */
int cpFreeMeasure(CPMatrixFree k);
/* Returns CP_ILL_INPUT if a row depends on components of a higher level. */
int cpFreeCheckLevels(CPMatrixFree k);
/* squares <- the squared violations of c, 0 in rows that count as satisfied */
void cpFreeSquares(CPMatrixFree k, N_Vector c, N_Vector squares);
/* Largest violation of c; *worst: out, its constraint if this process knows and holds it, else
 * -1. */
double cpFreeViolation(CPMatrixFree k, N_Vector c, int *worst);
/* c_i; with i = -1 the absolute value of the residual with the largest violation, on whichever
 * process it is. */
double cpFreeWorstResidual(CPMatrixFree k, N_Vector c, int i);
/* As cpRowsTimeRoundoff; k->c2, m1 and m2 are overwritten. */
int cpFreeTimeRoundoff(CPMatrixFree k, sunrealtype t, N_Vector y, N_Vector roundoff);
/* Are the products wrong at (t, y)? Returns 0, -CP_CNSTRJAC_WRONG (`before` precedes the reason),
 * or a fatal code. */
int cpFreeProductsWrong(CPMatrixFree k, sunrealtype t, N_Vector y, const char *before);
/* Are they? As CPProjectorKind.check and probe. */
int cpFreeCheck(void *self, sunrealtype t, N_Vector y, N_Vector ewt, double *err, int *row,
                int *col);
int cpFreeProbe(void *self, sunrealtype t, N_Vector y, N_Vector ewt);

#endif
