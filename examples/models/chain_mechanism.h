/* The chain of chain.h for a CPMech by operators only, as a code with a recursion of its own has
 * it: accelerations and tensions by elimination in the tridiagonal A A^T, products with A and A^T,
 * and no matrix; or with matrices. M = I, q = (r_1, ..., r_n), u = q'; rows of A and signs of lambda
 * as in chain.h.
 */
#ifndef CPODES_EXAMPLES_CHAIN_MECHANISM_H
#define CPODES_EXAMPLES_CHAIN_MECHANISM_H

#include "chain.h"
#include <cpodes/cpodes_mechanics.h>

/* The operators of a chain of n masses. The CPMech's user data is to be the Chain. */
CPMechModel chain_mechanism(const Chain *chain);

/* The same with matrices, b and all partial derivatives. sparse: by columns (CSC), else dense. model:
   out; its templates belong to the caller. Returns 0, or -1 without memory: what is there is in the model. */
int chain_matrices(Chain *chain, int sparse, SUNContext ctx, CPMechModel *model);

/* Their p, v and b, for relatives */
int chain_lengths(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data);
int chain_rates(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                void *user_data);
int chain_centripetal(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                      void *user_data);
/* Rows i of scale (x_i - x_{i-1})^T at the masses i and i-1: A for x = q; M = I. Also make templates. */
void chain_put_rods(sunindextype n, sunrealtype scale, const sunrealtype *x, SUNMatrix A);
void chain_put_masses(sunindextype n, SUNMatrix M);

#endif
