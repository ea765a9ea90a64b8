/* Planar chain that resists bending: the chain of chain.h, n unit point masses on massless rods of
 * length 1 that hang from the origin, with a spring-damper across each joint.
 *
 *   M u' + A^T lambda = f,   M = I,  A = dp/dq:  row i is (d_i at r_i, -d_i at r_{i-1})
 *   f = (0, -g) for each mass - D^T (k D q + d D u)
 *   (D q)_i = r_{i-1} - 2 r_i + r_{i+1}                                        i = 1..n-1
 *
 *   p_i = (|d_i|^2 - 1) / 2 = 0,   v_i = d_i . w_i = 0,   b_i = -|w_i|^2        i = 1..n
 *   d_i = r_i - r_{i-1},  w_i = v_i - v_{i-1},  r_0 = v_0 = 0
 *
 *   q = (r_1, ..., r_n)   positions [m],   u = q'   [m/s],   y = (q, u)
 *   g  gravity along -y [m/s^2],  k  stiffness [N/m],  d  damping [N s/m]
 *
 * K = d(f - A^T lambda)/dq = -k D^T D - (lambda_i + lambda_{i+1} on the diagonal, -lambda_i next to it)
 * and C = df/du = -d D^T D couple five masses, separately in x and in y. Joint i is bent by |(D q)_i|
 * rad if that is small. The fastest springs, 16 k, are overdamped if 4 d^2 > k; k = 1e5 with
 * d = 1e3 or 1e4 is stiff. Rods of another length l are the same system with g / l for g.
 *
 * E = |u|^2 / 2 + g sum y_i + k |D q|^2 / 2 falls by d |D u|^2 per second. Source: Newton's law and
 * Rayleigh's dissipation function; no published numbers belong to it.
 */
#ifndef CPODES_EXAMPLES_BENDING_CHAIN_H
#define CPODES_EXAMPLES_BENDING_CHAIN_H

#include "chain.h"
#include <cpodes/cpodes_mechanics.h>

typedef struct {
  Chain *rods;       /* n, g, and work: user_data of chain_constraints and its Jacobians */
  sunrealtype k, d;  /* of each joint's spring-damper */
  sunrealtype *work; /* [n] */
} BendingChain;      /* the user_data of the functions below */

/* Returns NULL if out of memory. */
BendingChain *bending_chain_create(sunindextype n, sunrealtype g, sunrealtype k, sunrealtype d);
void bending_chain_free(BendingChain **chain); /* *chain may be NULL */

/* The index-3 system, with b, all partial derivatives, the accelerations and their derivatives. If sparse is
   set, M, A, K, C, Bq and Bu are CSC matrices, else dense. model: out; its templates belong to the caller, who
   frees them with bending_chain_model_free after CPModelCreate, and gives the CPMech the chain as user data.
   Returns 0, or -1 if out of memory. */
int bending_chain_model(BendingChain *chain, int sparse, SUNContext ctx, CPEquations *model);
void bending_chain_model_free(CPEquations *model);

/* The ODE y' = f(t, y), with the tensions by elimination in the tridiagonal A A^T, and its dense Jacobian J
   [4 n x 4 n], with the signature of CVLsJacFn. The invariants are those of chain_constraints. */
int bending_chain_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data);
int bending_chain_jacobian(sunrealtype t, N_Vector y, N_Vector ydot, SUNMatrix J, void *user_data,
                           N_Vector tmp1, N_Vector tmp2, N_Vector tmp3);
/* The invariants with this chain as user data, and G [2 n x 4 n], dense or with the pattern of chain_pattern */
int bending_chain_constraints(sunrealtype t, N_Vector y, N_Vector c, void *user_data);
int bending_chain_constraint_jacobian(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G,
                                      void *user_data);
/* lambda [n]: out, the tensions. Returns 1 if A A^T is not positive definite. */
int bending_chain_tensions(BendingChain *chain, N_Vector y, sunrealtype *lambda);

/* y [4 n]: out, at rest and straight, the angle (rad) above +x */
void bending_chain_initial(const BendingChain *chain, sunrealtype angle, N_Vector y);

/* E [J] */
sunrealtype bending_chain_energy(const BendingChain *chain, N_Vector y);

#endif
