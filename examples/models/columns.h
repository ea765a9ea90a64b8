/* Writes a dense or CSC matrix column by column, with ascending rows. The index arrays are written with
 * the values, so that the function that fills a matrix also makes its template.
 */
#ifndef CPODES_EXAMPLES_COLUMNS_H
#define CPODES_EXAMPLES_COLUMNS_H

#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

typedef struct {
  SUNMatrix S;
  int sparse;
  sunindextype col, count; /* column being written, entries so far */
} Columns;

/* A writer at column 0 of S */
static inline Columns columns_of(SUNMatrix S) {
  const int sparse = SUNMatGetID(S) == SUNMATRIX_SPARSE;
  if (sparse) SM_INDEXPTRS_S(S)[0] = 0;
  return (Columns){.S = S, .sparse = sparse};
}

/* The next entry of the column; in a dense matrix the rows may come in any order, and add up */
static inline void put_entry(Columns *c, sunindextype row, sunrealtype value) {
  if (c->sparse) {
    SM_INDEXVALS_S(c->S)[c->count] = row;
    SM_DATA_S(c->S)[c->count++]    = value;
  } else {
    SM_ELEMENT_D(c->S, row, c->col) += value;
  }
}

static inline void next_column(Columns *c) {
  c->col++;
  if (c->sparse) SM_INDEXPTRS_S(c->S)[c->col] = c->count;
}

#endif
