/* Matrices of the user's with the pattern of a template: checks, entries, and what keeps the pattern. */
#ifndef CPODES_TEMPLATE_H
#define CPODES_TEMPLATE_H

#include "cpodes/base/errors.h"

#include <stddef.h>
#include <sundials/sundials_matrix.h>

/* Sparse SUNMatrix templates. 0, or CP_ILL_INPUT, reported. */
int cpCheckPattern(CPLog *log, SUNMatrix A, int rows, int cols, const char *name,
                   const char *function);
/* ... and no row is empty. */
int cpCheckTemplate(CPLog *log, SUNMatrix A, int rows, int cols, const char *name,
                    const char *function);
/* More of a metric's, n x n: symmetric pattern with its whole diagonal. */
int cpCheckMetricTemplate(CPLog *log, SUNMatrix M, int n, const char *function);
size_t cpMatrixEntries(SUNMatrix A); /* places in its data (dense: all of them) */
sunrealtype *cpMatrixData(SUNMatrix A);
/* Pattern of A [rows x cols] by columns; source [nnz]: the place of each entry in A's data. start
 * [cols + 1], row and source [cpMatrixEntries]: out. A dense matrix has all entries. */
void cpMatrixPattern(SUNMatrix A, int rows, int cols, size_t *start, int *row, size_t *source);
/* Zeros the values, and restores the index arrays of the template. */
void cpMatrixZero(SUNMatrix A, SUNMatrix tmpl);
void cpMatrixZeroValues(SUNMatrix A);
/* Has A still the index arrays of its template? */
int cpMatrixSamePattern(SUNMatrix A, SUNMatrix tmpl);

#endif
