/* Positions and velocities as two problems in the space of velocities, x [nu]:
 *
 *   positions    0 = p(t, q(x)),  q(x) = q0 + N(q0) x, normalised      (q_i = x_j where q_i' = u_j)
 *   velocities   0 = v(t, q, x)
 *
 * Both have the Jacobian A, so that one factorisation serves both, and the vectors' projections,
 * where rows and metric are the same. Each is a CPProjector of the matrix or the Krylov method. */
#ifndef CPODES_MECHANICS_SPACE_H
#define CPODES_MECHANICS_SPACE_H

#include "cpodes/mechanics/mechanics_impl.h"
#include "cpodes/projector/projector_impl.h"

enum { CP_POSITIONS, CP_VELOCITIES };

typedef struct {
  CPMech mech;
  int which;     /* CP_POSITIONS or CP_VELOCITIES */
  int nrows;     /* 0: nothing to satisfy, P is NULL */
  int *row;      /* [nrows] of A */
  int nactive;   /* rows that are switched on */
  size_t *place; /* [entries of G] in A */
  CPProjector P;
} CPMechLevel;

struct CPMechSpace_ {
  CPMechLevel level[2];
  int shared; /* velocities use the projector of the positions */
  /* where the problems are: set by the caller of a projector */
  int which;
  sunrealtype t;
  const double *q0; /* positions: q(0); velocities: q */
  double *q;        /* [nq] q(x) */
  double *r;        /* [m] */
  /* metric in use; the default one gives up M where it is not definite */
  CPMechMetric metric;
  int not_definite;
  /* that of Newton's matrix */
  CPMat W;
  long int nnewton; /* matrices made when it was last looked at; -1: never */
  int use_mass;     /* W is not definite: M in its place */
  long int layout;  /* of rows, as the projectors know it */
};

/* Creates the problems; 0 or CP_MEM_FAIL. */
int cpMechSpaceCreate(CPMech mech);
void cpMechSpaceFree(CPMechSpace *space);
/* The metric (metric.c) and the rows that are on, as mech has them now; 0, or a code, reported. */
int cpMechSpaceMetric(CPMech mech);
int cpMechSpaceRows(CPMech mech);
/* For what the projectors call: a failure keeps its reason in mech->text and its code in
 * mech->space_flag; they hear its sign. Returns flag. */
int cpMechSpaceAnswer(CPMech mech, int flag);
/* *q: where A is wanted. */
int cpMechSpacePlace(CPMech mech, const double *x, const double **q);

/* coordinates.c */
/* space->q <- q(x) */
int cpMechSpacePositions(CPMech mech, const double *x);
/* x <- the displacement of q0, that is x_j = q_i for pairs and 0 else */
void cpMechSpaceStart(CPMech mech, const double *q, double *x);
/* Weights of x [nu] from those of q (positions) or of u. */
int cpMechSpaceWeights(CPMech mech, int which, const double *q, const double *ewt, double *w);

#endif
