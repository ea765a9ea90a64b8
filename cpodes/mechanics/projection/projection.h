/* The workspace of a mechanical system's projector, and what its files share. */
#ifndef CPODES_MECHANICS_PROJECTION_H
#define CPODES_MECHANICS_PROJECTION_H

#include "space.h"

/* Of each user of the projector. */
typedef struct CPMechWork_ {
  CPWork level[2]; /* of the inner projectors; NULL without rows */
  N_Vector x, weights;
  N_Vector vector;       /* vectors.c: its entries are one of the arrays below */
  N_Vector rows[2];      /* vectors.c: the same, as residuals of a level; NULL without rows */
  double sine;           /* of mech->kkt, when the factors were made */
  long int nnewton;      /* Newton matrices made when the factors were; -1: none */
  double *q, *e;         /* [nq], [n] */
  double *w, *moved, *d; /* vectors.c: [nu], [nq], [nq] */
  double *plus, *minus, *r, *mu; /* vectors.c: [m] */
} * CPMechWork;

static inline CPMechWork cpMechOwn(const CPWork work) { return work->own; }
/* CPProjectorKind.iterations: those of the levels. */
int cpMechIterations(void *self, CPNewton *list[2]);

/* For the table of functions (work.c) */
void cpMechFreeOwn(void *work);

/* In line with the options; creates work->own. 0, or a code with the reason in work->text. */
int cpMechProjectionUpdate(CPWork work);
CPWork cpMechLevelWork(CPWork work, int which);
int cpMechLevelIsOn(CPWork work, int which);
/* call(inner work, t, cpMechOwn(work)->x, weights, arg) for one level with q (positions: to start from);
 * ewt: of the whole state, or NULL. 0, or a code with the reason in work->text. (level.c) */
typedef int (*CPMechLevelFn)(CPWork inner, sunrealtype t, N_Vector x, N_Vector ewt, void *arg);
int cpMechLevelCall(CPWork work, int which, sunrealtype t, const double *q, CPMechLevelFn call,
                    N_Vector ewt, void *arg);
/* For a call that asks for violations: where both levels share factors, the sizes of residuals are
 * those of the other one. */
void cpMechLevelMeasure(CPWork inner, N_Vector x, N_Vector ewt);

/* violation.c */
int cpMechViolation(void *self, sunrealtype t, N_Vector y, N_Vector ewt, CPViolation *violation);
int cpMechProbe(void *self, sunrealtype t, N_Vector y, N_Vector ewt);
/* Number of a FULL motion, the k-th of all, among the rows: behind them. */
int cpMechMotionRow(const CPMech mech, int k);
/* ... and after those norm k, for messages only. */
int cpMechNormRow(const CPMech mech, int k);
/* Distance of FULL coordinates and velocities from their prescribed values, in units of the state's
 * tolerance; *worst: row, *residual: in its own unit. */
double cpMechMotionsViolation(const CPMech mech, const double *y, const double *ewt, int *worst,
                              double *residual);

/* vectors.c */
int cpMechError(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v);
int cpMechTangent(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v, N_Vector r);
int cpMechCotangent(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector w);
N_Vector cpMechRowsVector(void *self);
int cpMechRowsAt(void *self, sunrealtype t, N_Vector y, N_Vector c);

#endif
