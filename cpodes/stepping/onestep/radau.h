/* Radau IIA collocation (E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 2nd ed., sections IV.5 and
 * IV.8): what its method (radau.c), its coefficients (radau_coefficients.c) and the plain equations y' = f (radau_ode.c)
 * know of each other. */
#ifndef CPODES_ONESTEP_RADAU_H
#define CPODES_ONESTEP_RADAU_H

#include "onestep_impl.h"

#include "cpodes/lu/lu.h"

enum { CP_RADAU_STAGES = 5, CP_RADAU_PAIRS = 2, CP_RADAU_TABLES = 2 };

/* The method of s stages and order 2 s - 1,
 *
 *   Y_i = y + h sum_j a_ij k_j   at t + c_i h,   A = T D T^-1,
 *
 * D consists of the real eigenvalue `real` and of blocks ((re, im), (-im, re)). The method ends at its last stage. */
typedef struct {
  int s, pairs;
  double c[CP_RADAU_STAGES];
  double A[CP_RADAU_STAGES][CP_RADAU_STAGES];
  double T[CP_RADAU_STAGES][CP_RADAU_STAGES], T_inv[CP_RADAU_STAGES][CP_RADAU_STAGES];
  double real, re[CP_RADAU_PAIRS], im[CP_RADAU_PAIRS];
  /* The embedded formula of order s differs by h (real k_0 + sum_j d_j k_j), which is h `constant` times the divided
   * difference of order s of k, with k_0 = y' at the start of the step: sum_j d_j c_j^p is -real for p = 0, and 0 for
   * p = 1 ... s - 1. */
  double d[CP_RADAU_STAGES], constant;
} CPRadauTable;

extern const CPRadauTable cpRadauTables[CP_RADAU_TABLES]; /* of 3 and of 5 stages */

/* radau_ode.c: y' = f(t, y) as an implicit system, r = f(t, y) - k. J = df/dy by the user's function or by difference
 * quotients. Requests its memory in *arena, and returns 0 or CP_MEM_FAIL. */
int cpRadauOde(CPOneStepMem mem, CPArena *arena, CPImplicitSystem *system);

#endif
