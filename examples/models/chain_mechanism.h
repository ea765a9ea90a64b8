/* The chain of chain.h for a CPMech by operators only, as a code with a recursion of its own has
 * it: accelerations and tensions by elimination in the tridiagonal A A^T, products with A and A^T,
 * and no matrix. M = I, q = (r_1, ..., r_n), u = q'; rows of A and signs of lambda as in chain.h.
 */
#ifndef CPODES_EXAMPLES_CHAIN_MECHANISM_H
#define CPODES_EXAMPLES_CHAIN_MECHANISM_H

#include "chain.h"
#include <cpodes/cpodes_mechanics.h>

/* The operators of a chain of n masses. The CPMech's user data is to be the Chain. */
CPMechModel chain_mechanism(const Chain *chain);

#endif
