/* End terms at many times, taken together at few: nodes. Between them sensitivities are
 * interpolated by Hermite's formula from their values and rates at the nodes,
 *
 *   s(t) = sum_i (H_i(t) s_i + K_i(t) s'_i),   s' = J s + f_p,
 *
 * so that g_y s at t is the sum of jumps H_i g_y + J_i^T K_i g_y of l at the nodes, and of K_i g_y f_p. Nodes are the ends of coming
 * steps of the backward run, which so remain whole. */
#ifndef CPODES_SAMPLES_H
#define CPODES_SAMPLES_H

#include "tape.h"

/* Nodes of a formula, whose degree is 2 CP_STENCIL - 1, and the largest number of them */
enum { CP_STENCIL = 6, CP_NODES = 2 * CP_STENCIL };

typedef struct {
  size_t n, all;           /* components of a state; 2 n for each functional */
  int count, used;         /* of the coming nodes; those from there on have no end terms yet */
  sunrealtype t[CP_NODES]; /* [count] in the direction of the backward run */
  sunrealtype *state;      /* [CP_NODES][2][n] y and y' at the nodes */
  sunrealtype *sum; /* [CP_NODES][ng][2][n] sums of H_i g_y and of K_i g_y of each functional */
  sunrealtype step; /* size of a step, in steps of the forward run; 0 at first */
  sunrealtype part; /* distance of new nodes, over the size of a step: less than 1 where motions are not as smooth as steps */
} CPNodes;

typedef struct {
  int first, count;                                /* nodes first ... first + count - 1 */
  sunrealtype value[CP_STENCIL], rate[CP_STENCIL]; /* H_i and K_i */
} CPStencil;

/* Allocates the nodes of ng functionals, of which there are none at first. */
void cpNodesCreate(CPNodes *nodes, CPArena *arena, size_t n, size_t ng);
/* Adds nodes from t on at distances like the step h from there, up to the time `last`, where the segment in memory begins. */
void cpNodesFill(CPNodes *nodes, CPTape *tape, sunrealtype t, sunrealtype h, sunrealtype last);
/* Adds one in the middle of those around t. Returns 0 if there are too many. */
int cpNodesRefine(CPNodes *nodes, CPTape *tape, sunrealtype t);
/* Hermite's formula on the nodes around t */
CPStencil cpNodesAround(const CPNodes *nodes, sunrealtype t);
/* Returns the norm of the error of the state itself at t. ewt [n]: its weights, out; y [n]: workspace. */
sunrealtype cpNodesError(const CPNodes *nodes, CPTape *tape, sunrealtype t, N_Vector ewt,
                         N_Vector y);
/* Drops the first node. */
void cpNodesDrop(CPNodes *nodes);

#endif
