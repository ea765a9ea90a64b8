/* Adds to entries in any order: of a dense matrix; of a CSC matrix whose pattern contains them; or of a list of
 * places, from which such a pattern is made. So the function that fills a matrix also makes its template, at a
 * cost proportional to the number of entries.
 */
#ifndef CPODES_EXAMPLES_SCATTER_H
#define CPODES_EXAMPLES_SCATTER_H

#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

typedef struct {
  sunindextype row, col;
} Place;

typedef struct {
  SUNMatrix S; /* if NULL, places are listed */
  int sparse;
  Place *place; /* [capacity], the first `count` are in use; some of them more than once */
  sunindextype count, capacity;
  int failed; /* no memory for the list */
} Scatter;

/* For add_entry without a matrix */
void scatter_list(Scatter *s, sunindextype row, sunindextype col);

/* The listed places as a CSC matrix [rows x cols] of zeros, which the caller frees; the list is freed.
   NULL if out of memory */
SUNMatrix scatter_template(Scatter *s, sunindextype rows, sunindextype cols, SUNContext ctx);

/* For additions to S */
static inline Scatter scatter_to(SUNMatrix S) {
  return (Scatter){.S = S, .sparse = S && SUNMatGetID(S) == SUNMATRIX_SPARSE};
}

/* S(row, col) += value */
static inline void add_entry(Scatter *s, sunindextype row, sunindextype col, sunrealtype value) {
  if (!s->S) {
    scatter_list(s, row, col);
  } else if (s->sparse) {
    const sunindextype *index = SM_INDEXVALS_S(s->S);
    sunindextype k            = SM_INDEXPTRS_S(s->S)[col];
    while (index[k] != row) k++;
    SM_DATA_S(s->S)[k] += value;
  } else {
    SM_ELEMENT_D(s->S, row, col) += value;
  }
}

#endif
