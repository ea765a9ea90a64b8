/* Actions at one state: velocities d and impulses mu of
 *
 *   M d + A^T mu = f    in the velocities that are free; d is given in those of FULL motions
 *   A d          = r    in the rows that take part; mu = 0 in the others
 *
 * solved with the factors of the KKT matrix, or with operators by conjugate gradients on
 * A M^{-1} A^T. Rows may depend on each other: mu then has minimum norm. */
#ifndef CPODES_ACTIONS_H
#define CPODES_ACTIONS_H

#include "cpodes/mechanics/mech.h"
#include "cpodes/saddle/krylov.h"

#include <stdio.h>

typedef struct {
  CPArena arena;
  CPMech mech;
  CPMechState s;
  const sunrealtype *u; /* [nu] velocities as in y, those of FULL motions included */
  char *out;            /* [m] 1: the row takes no part */
  char *factored;       /* [m] 1: the row took no part in the newest factors */
  char *off;            /* mech->rows.off and the rank in mech->stats, to be restored */
  sunindextype rank;
  sunbooleantype unique;
  double *w, *d, *x, *r, *mu; /* [nu], [nu], [m], [m], [m]: workspace of the callers */
  double *f, *b, *known;      /* [nu], [m], [nu]: workspace of the functions below */
  /* with operators: conjugate gradients */
  CPKrylov krylov;
  N_Vector right, multipliers, solution, ones; /* [m], [m], [nu], [m] */
  double *rest;                                /* [m] */
} CPAction;

/* Opens the state, with no row taking part. Returns 0, or a code that has been reported for
 * function. act must be closed in either case. */
int cpActionOpen(CPAction *act, CPMech mech, sunrealtype t, N_Vector y, const char *function);
void cpActionClose(CPAction *act);
/* From now on the active rows take part: those of the velocity level, or all rows of A. */
void cpActionRows(CPAction *act, int velocity_level);

/* The others return 0 or a code, with the reason in mech->text. */
/* Makes factors for cpActionSolve, with the rows that take part now. */
int cpActionFactor(CPAction *act);
/* Solves for d [nu] and mu [m]. f [nu] and r [m] are zero if NULL. d: in, entries of FULL motions;
 * out, all entries. */
int cpActionSolve(CPAction *act, const double *f, const double *r, double *d, double *mu);
/* y [m] = A x, 0 in rows that take no part; y [nu] = A^T x, where x counts as 0 in such rows. */
int cpActionTimes(CPAction *act, const double *x, double *y);
int cpActionTransposedTimes(CPAction *act, const double *x, double *y);
/* y = M x (CP_NOT_SUPPORTED if there is no such product); y = M^{-1} x, with operators. */
int cpActionMass(CPAction *act, const double *x, double *y);
int cpActionInverseMass(CPAction *act, const double *x, double *y);
/* With operators: solves A M^{-1} A^T mu = r in the least-squares sense; d = M^{-1} A^T mu. r [m]:
 * in, right-hand side; out, its residual. */
int cpActionCG(CPAction *act, double *r, double *d, double *mu);

#endif
