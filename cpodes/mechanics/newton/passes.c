/* Which blocks are differentiated together: those of one direction, unless one is sparse and the other
 * is not (its groups of columns would be lost), or one is noisier (its increments are longer). */
#include "newton_impl.h"

#include <math.h>
#include <stdlib.h>

/* Relative errors of outputs that are differences themselves: b by those of v. */
#define NOISE_OF_B 1.0e-12

static int isNoisy(const CPMechNewtonMem newton, CPOutput of) {
  const CPMech mech = newton->mech;
  if (mech->na == 0 || mech->model.b || mech->operators) return 0;
  return cpIsKkt(newton) ? of == CP_OF_B : 1; /* HALF: u' and lambda follow from b */
}

static int addBlock(CPMat *all, const CPMat *J, size_t *count, int row0, int j) {
  for (size_t k = J->start[j]; k < J->start[j + 1]; k++) all->row[(*count)++] = row0 + J->row[k];
  return J->rows;
}

/* Groups of the columns of the pass's blocks, one below the other. */
static int color(const CPMechNewtonMem newton, CPPass *pass) {
  CPMat all      = {0};
  size_t entries = 0, count = 0;
  int rows = 0;
  for (int of = 0; of < CP_OUTPUTS; of++) {
    if (!pass->of[of]) continue;
    entries += cpMatEntries(&newton->block[of][pass->by].J);
    rows += cpRowsOf(newton, (CPOutput)of);
  }
  int flag = cpMatCreateSparse(&all, rows, cpColsOf(newton, pass->by), entries);
  for (int j = 0; !flag && j < all.cols; j++) {
    int row0 = 0;
    for (int of = 0; of < CP_OUTPUTS; of++)
      if (pass->of[of]) row0 += addBlock(&all, &newton->block[of][pass->by].J, &count, row0, j);
    all.start[j + 1] = count;
  }
  if (!flag) flag = cpColoringCreate(&pass->colors, all.start, all.row, rows, all.cols);
  cpMatFree(&all);
  return flag;
}

static int createPass(CPMechNewtonMem newton, CPDirection by, int sparse, int noisy) {
  CPPass *pass = &newton->pass[newton->npasses];
  int any      = 0;
  *pass        = (CPPass){.by = by, .root = sqrt(noisy ? NOISE_OF_B : CP_UROUND)};
  for (int of = 0; of < CP_OUTPUTS; of++) {
    const CPBlock *block = &newton->block[of][by];
    pass->of[of]         = block->exists && !block->given && (block->J.start != NULL) == sparse &&
                   isNoisy(newton, (CPOutput)of) == noisy;
    any |= pass->of[of];
  }
  if (!any) return CP_SUCCESS;
  newton->npasses++;
  return sparse ? color(newton, pass) : CP_SUCCESS;
}

int cpPassesCreate(CPMechNewtonMem newton) {
  int flag = CP_SUCCESS;
  for (int by = 0; by < CP_DIRECTIONS; by++)
    for (int kind = 0; !flag && kind < 4; kind++)
      flag = createPass(newton, (CPDirection)by, kind & 1, kind >> 1);
  return flag;
}

void cpPassesFree(CPMechNewtonMem newton) {
  for (int k = 0; k < newton->npasses; k++) cpColoringFree(&newton->pass[k].colors);
}
