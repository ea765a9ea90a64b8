/* Writes a dense or CSC matrix column by column, with ascending rows. The index arrays are written with
 * the values, so that the function that fills a matrix also makes its template.
 */
#ifndef CPODES_EXAMPLES_COLUMNS_H
#define CPODES_EXAMPLES_COLUMNS_H

#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

typedef struct {
  sunrealtype *data;
  sunindextype *index, *pointer; /* NULL for a dense matrix */
  sunindextype rows, col, count; /* column being written, entries so far */
} Columns;

/* A writer at column 0 of S */
static inline Columns columns_of(SUNMatrix S) {
  if (SUNMatGetID(S) != SUNMATRIX_SPARSE)
    return (Columns){.data = SM_DATA_D(S), .rows = SM_ROWS_D(S)};
  SM_INDEXPTRS_S(S)[0] = 0;
  return (Columns){.data = SM_DATA_S(S), .index = SM_INDEXVALS_S(S), .pointer = SM_INDEXPTRS_S(S)};
}

/* The next entry of the column; in a dense matrix the rows may come in any order, and add up */
static inline void put_entry(Columns *c, sunindextype row, sunrealtype value) {
  if (c->index) {
    c->index[c->count]  = row;
    c->data[c->count++] = value;
  } else {
    c->data[c->col * c->rows + row] += value;
  }
}

static inline void next_column(Columns *c) {
  c->col++;
  if (c->pointer) c->pointer[c->col] = c->count;
}

#endif
