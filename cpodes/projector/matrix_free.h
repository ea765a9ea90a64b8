/* Inside of the matrix-free kind: constraints of which only products G v and G^T w are known, on any
 * N_Vector. Every decision comes out of global reductions (N_VDotProd, N_VMaxNorm, N_VMin), so that
 * all processes of a parallel vector take the same one; for that the user's functions must return
 * the same flag on all of them.
 *
 * Sizes of the rows enter by their squares, since N_Vectors have no root:
 *
 *   violation^2 = max_i weight_i c_i^2,   weight_i = 1/size_i^2 */
#ifndef CPODES_MATRIX_FREE_H
#define CPODES_MATRIX_FREE_H

#include "cpodes/saddle/krylov.h"
#include "projector_impl.h"

/* G_l and D_l, as conjugate gradients see them. */
typedef struct {
  CPWork work;
  int l;
  CPKrylov cg;
  N_Vector D;    /* [n] the norm's D on the level's free columns, else 0 */
  N_Vector rows; /* [m] 1: row of this level, switched on, with a gradient; else 0 */
} CPFreeLevel;

struct CPMatrixFree_ {
  CPArena arena;
  long int revision; /* of P's options at set-up */
  unsigned seed;     /* of pseudo-random vectors on this process; 0 before the first one */
  int nlevels;       /* that have rows */
  CPFreeLevel level[CP_MAX_LEVELS];
  /* the kept problem: products at (t, y), weights that measure */
  sunrealtype t;
  N_Vector y, w;     /* [n] */
  int masked;        /* A row is 0 in the levels' rows. */
  int has_dead;      /* There are rows without gradient, although switched on: */
  N_Vector dead;     /* [m] 1 for these */
  N_Vector weight;   /* [m] 1 / size^2; 0: switched off */
  N_Vector distance; /* [m] the same in units of the state's tolerance */
  N_Vector jacobi;   /* [m] without psolve: 1 / diag(G D G^T), or weight */
  N_Vector frozen;   /* [m] weights of the damped iteration */
  N_Vector c, c2;    /* [m] residuals, and at a perturbed state */
  N_Vector r, mu;    /* [m] right-hand side and multipliers of a solve */
  N_Vector x;        /* [n] its solution */
  N_Vector m1, m2;   /* [m] free, as are those that conjugate gradients use, too: */
  N_Vector z, q, Bq, p, d, g, s;
  double *xl; /* [n] of a metric matrix; else NULL */
};

/* matrix_free_problem.c: what is kept. */
/* In line with P's options; creates work->free. */
int cpFreeUpdate(CPWork work);
/* The vectors alone; CP_ILL_INPUT without products. */
int cpFreeStorage(CPWork work);
/* t, y and w only. */
int cpFreePlace(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt);
/* Products, metric, sizes and preconditioner at (t, y). */
int cpFreeRenew(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt);
/* The user's functions at the kept state, counted; their results are finite. */
int cpFreeTimes(CPWork work, N_Vector v, N_Vector Gv);
int cpFreeTransposed(CPWork work, N_Vector w, N_Vector GTw);
int cpFreeMetric(CPWork work, int l, N_Vector x, N_Vector Dx); /* of level l */
int cpFreeSchurDiag(CPWork work, N_Vector D, N_Vector diag);
/* k->x += D_l G_l^T (G_l D_l G_l^T)^+ k->r, k->r on the rows of level l; what remains of it is at most goal times as
 * much, measured as violation, or contradicts. mu as in cpKrylovSolve. */
int cpFreeSolve(CPWork work, int l, double goal, N_Vector mu);
/* x o the rows of level l */
void cpFreeMask(const CPWork work, int l, N_Vector x);

/* matrix_free_rows.c: sizes of the rows, violations, checks of the products. */
int cpFreeMeasure(CPWork work);
/* CP_ILL_INPUT: a row depends on components of a higher level. */
int cpFreeCheckLevels(CPWork work);
/* squares <- those of the violations of c, 0 where a row counts as satisfied */
void cpFreeSquares(CPWork work, N_Vector c, N_Vector squares);
/* Largest violation of c; *worst its constraint if this process knows and holds it, else -1. */
double cpFreeViolation(CPWork work, N_Vector c, int *worst);
/* c_i, or with i = -1 the absolute value of the one that measures most, wherever it is. */
double cpFreeWorstResidual(CPWork work, N_Vector c, int i);
/* Are the products wrong at (t, y)? 0, or -CP_CNSTRJAC_WRONG (its reason after the text given) or a fatal code. */
int cpFreeProductsWrong(CPWork work, sunrealtype t, N_Vector y, const char *before);

#endif
