/* Matrices of the user: checks of a template, entries by columns, and matrices that keep the template's pattern. */
#ifndef CPODES_TEMPLATE_H
#define CPODES_TEMPLATE_H

#include "cpodes/base/errors.h"

#include <stddef.h>
#include <sundials/sundials_matrix.h>

/* Is A dense, or sparse with sound index arrays? 0, or CP_ILL_INPUT, reported for the matrix of that name. */
int cpCheckPattern(CPLog *log, SUNMatrix A, int rows, int cols, const char *name,
                   const char *function);
/* The same, and no row is empty. */
int cpCheckTemplate(CPLog *log, SUNMatrix A, int rows, int cols, const char *name,
                    const char *function);
/* The same of a metric M_tmpl, n x n, whose pattern is to be symmetric and to have its whole diagonal. */
int cpCheckMetricTemplate(CPLog *log, SUNMatrix M, int n, const char *function);
/* The places in its data. */
size_t cpMatrixEntries(SUNMatrix A);
sunrealtype *cpMatrixData(SUNMatrix A);
/* The pattern of A [rows x cols] by columns: start [cols + 1], row [cpMatrixEntries], and the place of each entry in A's
 * data, source [cpMatrixEntries]. A dense matrix has all entries. */
void cpMatrixPattern(SUNMatrix A, int rows, int cols, size_t *start, int *row, size_t *source);
/* Zeros the values, and restores the index arrays of the template; or only the former. */
void cpMatrixZero(SUNMatrix A, SUNMatrix tmpl);
void cpMatrixZeroValues(SUNMatrix A);
/* Does A still have the index arrays of its template? */
int cpMatrixSamePattern(SUNMatrix A, SUNMatrix tmpl);

#endif
