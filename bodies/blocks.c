/* The patterns of matrices that consist of blocks */
#include "blocks.h"

#include <stdlib.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

void bodiesListBlock(Writer *w, sunindextype row, sunindextype col, int rows) {
  if (w->count == w->capacity && !w->failed) {
    Block *more = realloc(w->block, (size_t)(2 * w->capacity + 64) * sizeof *more);
    w->failed   = !more;
    if (more) w->block = more, w->capacity = 2 * w->capacity + 64;
  }
  if (!w->failed) w->block[w->count++] = (Block){row, col, rows};
}

static int compareBlocks(const void *a, const void *b) {
  const Block *p = a, *q = b;
  if (p->col != q->col) return p->col < q->col ? -1 : 1;
  return p->row < q->row ? -1 : p->row > q->row;
}

/* Returns the pattern of all listed blocks: sorted, each entry once, as a block of one row. count:
 * out. Returns NULL if out of memory. */
static Block *entriesOf(const Writer *w, sunindextype *count) {
  sunindextype n = 0, kept = 0;
  for (sunindextype k = 0; k < w->count; k++) n += w->block[k].rows;
  Block *entry = malloc((size_t)n * sizeof *entry);
  if (!entry) return NULL;
  n = 0;
  for (sunindextype k = 0; k < w->count; k++)
    for (int i = 0; i < w->block[k].rows; i++)
      entry[n++] = (Block){w->block[k].row + i, w->block[k].col, 1};
  qsort(entry, (size_t)n, sizeof *entry, compareBlocks);
  for (sunindextype k = 0; k < n; k++)
    if (kept == 0 || compareBlocks(&entry[k], &entry[kept - 1])) entry[kept++] = entry[k];
  *count = kept;
  return entry;
}

int bodiesMakePlan(Writer *w, sunindextype rows, sunindextype cols, int sparse, SUNContext ctx,
                   Plan *plan) {
  sunindextype n = 0;
  Block *entry   = w->failed ? NULL : entriesOf(w, &n);
  plan->place    = w->failed ? NULL : malloc((size_t)w->count * sizeof *plan->place);
  if (entry && sparse) plan->tmpl = SUNSparseMatrix(rows, cols, n, CSC_MAT, ctx);
  const int failed = !entry || !plan->place || (sparse && !plan->tmpl);
  if (plan->tmpl) {
    sunindextype col = 0, *start = SM_INDEXPTRS_S(plan->tmpl);
    for (sunindextype k = 0; k < n; k++) {
      while (col <= entry[k].col) start[col++] = k;
      SM_INDEXVALS_S(plan->tmpl)[k] = entry[k].row;
      SM_DATA_S(plan->tmpl)[k]      = 0;
    }
    while (col <= cols) start[col++] = n;
  }
  for (sunindextype k = 0; !failed && k < w->count; k++) {
    const Block *at = &w->block[k];
    if (sparse)
      plan->place[k] =
          (sunindextype)((Block *)bsearch(at, entry, (size_t)n, sizeof *entry, compareBlocks) -
                         entry);
    else plan->place[k] = at->col * rows + at->row;
  }
  free(entry);
  free(w->block);
  return failed ? -1 : 0;
}

Writer bodiesWriter(Mechanism *b, int plan, SUNMatrix S) {
  Writer w = {.place = b->plan[plan].place};
  if (S) w.data = SUNMatGetID(S) == SUNMATRIX_SPARSE ? SM_DATA_S(S) : SM_DATA_D(S);
  return w;
}
