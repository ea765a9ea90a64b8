/* End terms at many times, taken together at few: nodes. Between them sensitivities are
 * interpolated by Hermite's formula from their values and rates at the nodes,
 *
 *   s(t) = sum_i (H_i(t) s_i + K_i(t) s'_i),   s' = J s + f_p,
 *
 * so that g_y s at t is the sum of jumps H_i g_y + J_i^T K_i g_y of l at the nodes, and of K_i g_y f_p. */
#ifndef CPODES_SAMPLES_H
#define CPODES_SAMPLES_H

#include "tape.h"

/* Nodes of one formula, whose degree is 2 CP_STENCIL - 1 */
enum { CP_STENCIL = 6 };

typedef struct {
  int count;      /* of nodes; 0: the times themselves are better */
  sunrealtype *t; /* [count] in the direction of the run */
  sunrealtype *sum; /* [count][ng][2][n] sums of H_i g_y and of K_i g_y of each functional, zero at first */
  size_t room_t, room_sum;
} CPNodes;

typedef struct {
  int first, count;                                /* nodes first ... first + count - 1 */
  sunrealtype value[CP_STENCIL], rate[CP_STENCIL]; /* H_i and K_i */
} CPStencil;

/* Chooses nodes for these times, in the segment of the tape that is in memory, by halves of equal distances: about the fewest with
 * which the state itself is interpolated as accurately as `accuracy` times its error weights. ng: number of functionals;
 * ewt [n], y [n]: workspace. Returns 0 or CP_MEM_FAIL. */
int cpNodesChoose(CPNodes *nodes, CPTape *tape, const sunrealtype *times, int ntimes, int ng,
                  sunrealtype accuracy, N_Vector ewt, N_Vector y);
CPStencil cpNodesAround(const CPNodes *nodes, sunrealtype t);
void cpNodesFree(CPNodes *nodes);

#endif
