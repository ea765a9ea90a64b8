#include "scatter.h"

#include <stdlib.h>

void scatter_list(Scatter *s, sunindextype row, sunindextype col) {
  if (s->failed) return;
  if (s->count == s->capacity) {
    const sunindextype capacity = 2 * s->capacity + 64;
    Place *more                 = realloc(s->place, (size_t)capacity * sizeof *more);
    if (!more) {
      s->failed = 1;
      return;
    }
    s->place    = more;
    s->capacity = capacity;
  }
  s->place[s->count++] = (Place){row, col};
}

/* By columns, then by rows */
static int compare(const void *a, const void *b) {
  const Place *p = a, *q = b;
  if (p->col != q->col) return p->col < q->col ? -1 : 1;
  return p->row < q->row ? -1 : p->row > q->row;
}

/* Sorts the places and removes duplicates */
static void sort_places(Scatter *s) {
  sunindextype kept = 0;
  if (s->count > 0) qsort(s->place, (size_t)s->count, sizeof *s->place, compare);
  for (sunindextype k = 0; k < s->count; k++)
    if (kept == 0 || compare(&s->place[k], &s->place[kept - 1])) s->place[kept++] = s->place[k];
  s->count = kept;
}

SUNMatrix scatter_template(Scatter *s, sunindextype rows, sunindextype cols, SUNContext ctx) {
  SUNMatrix S = NULL;
  if (!s->failed) {
    sort_places(s);
    S = SUNSparseMatrix(rows, cols, s->count, CSC_MAT, ctx);
  }
  if (S) {
    sunindextype k = 0;
    for (sunindextype col = 0; col < cols; col++) {
      SM_INDEXPTRS_S(S)[col] = k;
      for (; k < s->count && s->place[k].col == col; k++) {
        SM_INDEXVALS_S(S)[k] = s->place[k].row;
        SM_DATA_S(S)[k]      = 0;
      }
    }
    SM_INDEXPTRS_S(S)[cols] = k;
  }
  free(s->place);
  *s = (Scatter){0};
  return S;
}
