/* Connected components of a sparsity pattern. */
#ifndef CPODES_COMPONENTS_H
#define CPODES_COMPONENTS_H

#include "cpodes/matrix/matrix.h"

/* Columns of A [n x m] that have an entry in the same component of the state belong together; so
 * do those that are linked by others. AT: structure of A^T by components. component [m]: out,
 * number of each column, counted from 0 by the first column of each. ncomponents: out. largest:
 * out, columns of the largest one; may be NULL. CP_SUCCESS or CP_MEM_FAIL. */
int cpComponents(const CPMat *AT, int n, int m, int *component, int *ncomponents, int *largest);

#endif
