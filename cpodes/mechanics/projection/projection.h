/* The workspace of a mechanical system's projector, and what its files share. */
#ifndef CPODES_MECHANICS_PROJECTION_H
#define CPODES_MECHANICS_PROJECTION_H

#include "space.h"

/* Of each user of the projector. */
struct CPMechWork_ {
  CPWork level[2]; /* of the inner projectors; NULL without rows */
  N_Vector x, weights;
  double *q, *e;                 /* [nq], [n] */
  double *w, *moved, *d;         /* vectors.c: [nu], [nq], [nq] */
  double *plus, *minus, *r, *mu; /* vectors.c: [m] */
};

/* In line with the options; creates work->mech. 0, or a code with the reason in work->text. */
int cpMechProjectionUpdate(CPWork work);
CPWork cpMechLevelWork(CPWork work, int which);
int cpMechLevelIsOn(CPWork work, int which);
/* call(inner work, t, work->mech->x, weights, arg) for one level with q (positions: to start from);
 * ewt: of the whole state, or NULL. 0, or a code with the reason in work->text. */
int cpMechLevelCall(CPWork work, int which, sunrealtype t, const double *q,
                    int (*call)(CPWork, sunrealtype, N_Vector, N_Vector, void *), N_Vector ewt,
                    void *arg);

/* vectors.c */
int cpMechError(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v);
int cpMechTangent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v);
int cpMechCotangent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector w);

#endif
