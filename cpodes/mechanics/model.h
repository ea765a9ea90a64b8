/* The model: what does not change. Threads share it. */
#ifndef CPODES_MECHANICS_MODEL_H
#define CPODES_MECHANICS_MODEL_H

#include "cpodes/base/memo.h"
#include "cpodes/matrix/matrix.h"
#include "cpodes/projector/projection.h"
#include <cpodes/cpodes_mechanics.h>
#include <stdatomic.h>

typedef struct {
  int first_q, first_u;
  CPFrame frame;
} CPMechQuaternion;

/* q_i(t) = g(t) */
typedef struct {
  int i, j; /* coordinate, and its velocity */
  CPMotionKind how;
  CPMotionFn g, gd, gdd;
  double step;
  void *data;
  int row; /* row of A, or -1 if FULL */
} CPPrescribed;

/* The kinematic equations q' = N u: pairs and quaternions without the model's N, norms with it */
typedef struct {
  int *pair;    /* [nu] the coordinate i with q_i' = u_j; -1 if there is none */
  int in_order; /* q' = u */
  int are_all;  /* in_order, and there are no z and no motions */
  int nquaternions, nnorms;
  CPMechQuaternion *quaternions; /* ascending */
  CPUnitNorm *norms;
} CPMechCoordinates;

/* Prescribed motions */
typedef struct {
  int count;
  CPPrescribed *list;
  char *is_full; /* [nu] 1: u_j is prescribed by FULL */
  int nfull;
} CPMechMotionList;

/* Rows of A, whether they are on or off */
typedef struct {
  char *at_position, *at_velocity; /* [m] 1: row exists there */
  int count[2];                    /* rows of positions and of velocities */
  /* [m] numbers of the rows in a projection: positions, then velocities; -1: none */
  int *number[2];
} CPModelRows;

struct CPModel_ {
  atomic_int references;
  SUNContext ctx; /* of the matrices below */
  CPArena memory;
  CPEquations eq; /* sizes are complete; arrays and templates are copies, quaternions in the order of coordinates */
  int m;                              /* rows of A in all */
  int constant;                       /* M is `mass` */
  int operators;                      /* The model has udot instead of M and A. */
  CPUserMat mass, stiffness, damping; /* constants; empty if they are not given */
  CPMechCoordinates coords;
  CPMechMotionList motions;
  CPModelRows rows;
  CPMemo memo; /* what systems find out once */
};

/* Takes a reference to the model. */
CPModel cpModelKeep(CPModel model);

#endif
