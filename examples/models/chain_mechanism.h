/* The chain of chain.h for a CPMech, by matrices or only by operators, as a code with a recursion of its own
 * has it: accelerations and tensions by elimination in the tridiagonal A A^T, and products with A and A^T.
 * M = I, q = (r_1, ..., r_n), u = q'; rows of A and signs of lambda are as in chain.h.
 */
#ifndef CPODES_EXAMPLES_CHAIN_MECHANISM_H
#define CPODES_EXAMPLES_CHAIN_MECHANISM_H

#include "chain.h"
#include <cpodes/cpodes_mechanics.h>

/* The operators of a chain of n masses. The user data of the CPMech must be the Chain. */
CPEquations chain_mechanism(const Chain *chain);

/* The same with matrices, b and all partial derivatives. If sparse is set, the matrices are CSC, else dense.
   model: out; its templates belong to the caller. Returns 0, or -1 if out of memory, where the model contains the
   templates that have been allocated. */
int chain_matrices(Chain *chain, int sparse, SUNContext ctx, CPEquations *model);

/* p, v and b, also for other models of chains */
int chain_lengths(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data);
int chain_rates(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                void *user_data);
int chain_centripetal(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                      void *user_data);
/* Rows i of scale (x_i - x_{i-1})^T at the masses i and i-1, which are A for x = q; and M = I. Both functions also
   make templates. */
void chain_put_rods(sunindextype n, sunrealtype scale, const sunrealtype *x, SUNMatrix A);
void chain_put_masses(sunindextype n, SUNMatrix M);

#endif
