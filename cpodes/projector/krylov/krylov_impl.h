/* Inside of the Krylov method: constraints of which only products G v and G^T w are known, on any
 * N_Vector. Every decision comes out of global reductions (N_VDotProd, N_VMaxNorm, N_VMin), so that
 * all processes of a parallel vector take the same one; for that the user's functions must return
 * the same flag on all of them.
 *
 * Sizes of the rows enter by their squares, since N_Vectors have no root:
 *
 *   violation^2 = max_i weight_i c_i^2,   weight_i = 1/size_i^2 */
#ifndef CPODES_KRYLOV_IMPL_H
#define CPODES_KRYLOV_IMPL_H

#include "cpodes/projector/projector_impl.h"

struct CPKrylov_ {
  long int revision; /* of P's options at set-up */
  int nlevels;       /* that have rows */
  unsigned seed;     /* of pseudo-random vectors on this process, 0: not yet drawn */
  /* the kept problem: products at (t, y), D */
  sunrealtype t;
  N_Vector y;                   /* [n] */
  N_Vector w;                   /* [n] weights that measure */
  N_Vector D[CP_MAX_LEVELS];    /* [n] the norm's D on the level's free columns, else 0 */
  N_Vector rows[CP_MAX_LEVELS]; /* [m] 1: row of this level, switched on, with a gradient; else 0 */
  int masked;                   /* some row is 0 in them */
  double largest[CP_MAX_LEVELS]; /* Rayleigh quotient of B S so far, of each level */
  int has_dead;                  /* rows without gradient, although switched on: */
  N_Vector dead;                 /* [m] 1 for these */
  N_Vector weight;               /* [m] 1 / size^2, 0: switched off */
  N_Vector distance;             /* [m] the same in units of the state's tolerance */
  N_Vector jacobi;               /* [m] without psolve: 1 / diag(G D G^T), or weight */
  /* residuals of the projection, and at a perturbed state */
  N_Vector c, c2; /* [m] */
  /* workspace of cpKrylovSolve: its residual r, z = B r, q = G d, B q; multipliers mu and their
   * direction p; x, direction d, and g = G^T z */
  N_Vector r, z, q, Bq, mu, p; /* [m] */
  N_Vector x, d, g;            /* [n]; d and g are free otherwise */
  N_Vector s;                  /* [n] D g; free otherwise */
  N_Vector m1, m2;             /* [m] free */
  N_Vector frozen;             /* [m] weights of assemble */
};

/* krylov/products.c: the user's functions, counted; flags mapped, reasons in work->text. Values
 * that are not finite show in the first scalar made of them. */
int cpKrylovTimes(CPWork work, sunrealtype t, N_Vector y, N_Vector v, N_Vector Gv);
int cpKrylovTransTimes(CPWork work, sunrealtype t, N_Vector y, N_Vector w, N_Vector GTw);
int cpKrylovMetric(CPWork work, int l, N_Vector x, N_Vector Dx); /* of level l */
/* The same at the kept state, and finite. */
int cpKrylovTimesChecked(CPWork work, N_Vector v, N_Vector Gv);
int cpKrylovTransTimesChecked(CPWork work, N_Vector w, N_Vector GTw);
int cpKrylovMetricChecked(CPWork work, int l, N_Vector x, N_Vector Dx);
/* z = B r on the rows of level l */
int cpKrylovPrecondition(CPWork work, int l, N_Vector r, N_Vector z);
int cpKrylovSchurDiag(CPWork work, N_Vector D, N_Vector diag);
int cpKrylovPrecSetup(CPWork work);
/* x o the rows of level l */
void cpKrylovMask(const CPWork work, int l, N_Vector x);

/* krylov/metric.c: a metric matrix, if there is one */
int cpKrylovMetricCreate(CPWork work);
int cpKrylovMetricRenew(CPWork work);
int cpKrylovMetricTimes(CPWork work, int l, N_Vector x, N_Vector Dx);

/* krylov/cg.c: k->x += D_l G_l^T (G_l D_l G_l^T)^+ k->r; k->r: in, on the rows of level l only;
 * out, what remains of it, at most goal times as much, measured as violation, or what contradicts.
 * with_mu: also the multipliers k->mu. 0, or a code. */
int cpKrylovSolve(CPWork work, int l, double goal, int with_mu);

/* krylov/setup.c */
/* Products, metric, sizes and preconditioner at (t, y). */
int cpKrylovRenew(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt);
/* The vectors alone; CP_ILL_INPUT without products. */
int cpKrylovStorage(CPWork work);
/* t, y and w only; what was kept is not valid any more. */
int cpKrylovPlace(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt);

/* krylov/measure.c: sizes of the rows, violations */
int cpKrylovMeasure(CPWork work);
/* CP_ILL_INPUT: a row depends on components of a higher level. */
int cpKrylovCheckLevels(CPWork work);
/* squares <- those of the violations of c, 0 where a row counts as satisfied */
void cpKrylovSquares(CPWork work, N_Vector c, N_Vector squares);
/* Largest violation of c; *worst its constraint if this process knows and holds it, else -1. */
double cpKrylovViolation(CPWork work, N_Vector c, int *worst);
/* ... without the rules for rows that have no gradient. */
double cpKrylovNorm(CPWork work, N_Vector weight, N_Vector c);
/* c_i, or with i = -1 the absolute value of the one that measures most, wherever it is. */
double cpKrylovWorstResidual(CPWork work, N_Vector c, int i);

/* krylov.c: x = K c into k->x, level by level */
int cpKrylovRightInverse(CPWork work, N_Vector c, double goal);
/* Are the residuals k->c at work->y above eps nothing but noise? 1, 0, or a fatal code. */
int cpKrylovIsNoise(CPWork work, sunrealtype t, double eps);

/* krylov/check.c */
/* v in +-[0.5, 1), the same for the same number; all ones where a vector gives no access to its
 * data (0 is returned then). */
int cpKrylovRandom(CPWork work, int number, N_Vector v);
/* Entries that this process holds and can be accessed; -1: none can. */
sunindextype cpLocalLength(N_Vector v);
/* Are the products wrong? 0, or -CP_CNSTRJAC_WRONG (its reason after the text given) or a fatal
 * code. */
int cpKrylovProductsWrong(CPWork work, sunrealtype t, N_Vector y, const char *before);
int cpKrylovProbe(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt);
/* krylov/assemble.c */
double cpKrylovMerit(CPWork work, int at_trial);
void cpKrylovFreeze(CPWork work);
int cpKrylovDirection(CPWork work);
int cpKrylovTrial(CPWork work, sunrealtype t, double lambda);
void cpKrylovAccept(CPWork work);
void cpKrylovNameViolated(CPWork work, char *text, size_t length);

#endif
