/* Actions at one state: velocities d and impulses mu of
 *
 *   M d + A^T mu = f    in the velocities that are free; d is given in those of FULL motions
 *   A d          = r    in the rows that take part; mu = 0 in the others
 *
 * by the factors of the KKT matrix, or with operators by conjugate gradients on A M^{-1} A^T. Rows may depend on each
 * other: mu then has minimum norm. */
#ifndef CPODES_ACTIONS_H
#define CPODES_ACTIONS_H

#include "cpodes/mechanics/mechanics_impl.h"
#include "cpodes/saddle/krylov.h"

#include <stdio.h>

typedef struct {
  CPArena arena;
  CPMech mech;
  CPMechState s;
  const sunrealtype *u; /* [nu] as they are in y, even those of FULL motions */
  char *out;            /* [m] 1: the row takes no part ... */
  char *factored;       /* [m] ... and took none in the newest factors */
  char *off;            /* mech->rows.off and the rank as they were */
  sunindextype rank;
  sunbooleantype unique;
  double *w, *d, *x, *r, *mu; /* [nu], [nu], [m], [m], [m]: the callers' */
  double *f, *b, *known;      /* [nu], [m], [nu]: of the functions below */
  /* with operators, of conjugate gradients */
  CPKrylov krylov;
  N_Vector right, multipliers, solution, ones; /* [m], [m], [nu], [m] */
  double *rest;                                /* [m] */
} CPAction;

/* Opens the state, with no row taking part. 0, or a code, reported for function. In any case it is to be closed. */
int cpActionOpen(CPAction *act, CPMech mech, sunrealtype t, N_Vector y, const char *function);
void cpActionClose(CPAction *act);
/* Those rows take part that are active, at the level of velocities or in all of A. */
void cpActionRows(CPAction *act, int velocity_level);

/* The others return 0 or a code, with the reason in mech->text. */
/* Factors for cpActionSolve, with the rows that take part now. */
int cpActionFactor(CPAction *act);
/* f [nu] and r [m]; NULL stands for zero. d [nu]: in, entries of FULL motions; out. mu [m]: out. */
int cpActionSolve(CPAction *act, const double *f, const double *r, double *d, double *mu);
/* y [m] = A x in the rows that take part, else 0; y [nu] = A^T x, x being 0 in the others. */
int cpActionTimes(CPAction *act, const double *x, double *y);
int cpActionTransposedTimes(CPAction *act, const double *x, double *y);
/* y = M x (CP_NOT_SUPPORTED if there is no such product); y = M^{-1} x, with operators. */
int cpActionMass(CPAction *act, const double *x, double *y);
int cpActionInverseMass(CPAction *act, const double *x, double *y);
/* A M^{-1} A^T mu = r in the sense of least squares, d = M^{-1} A^T mu, with operators. r [m]: in, right-hand side; out,
 * what contradicts. */
int cpActionCG(CPAction *act, double *r, double *d, double *mu);

/* output.c: the values of out, kept as stats.last, too. 0, or a code with the reason in mech->text; out
 * is then untouched. */
int cpMechEvaluateAt(CPMech mech, sunrealtype t, N_Vector y, CPMechOutput *out);
/* Counters and the quantities of CPMechOutput, at the newest state of the integrator that mech is attached to.
 * 0, or 1 if writing has failed. */
int cpMechPrintStats(FILE *out, SUNOutputFormat fmt, void *data);

#endif
