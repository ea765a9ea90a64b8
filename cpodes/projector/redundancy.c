/* Constraints that depend on each other: which they are, and whether they contradict each other. */
#include "projector_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Part of the largest residual that a best correction must leave for it to be a contradiction. */
#define REMAINS 0.1
/* Smallest coefficient with which a constraint takes part in a dependence. */
#define INVOLVED 1.0e-6
/* Most constraints that a message names. */
#define NAMED 8

static void append(char *text, size_t length, const char *more) {
  const size_t used = strlen(text);
  if (used < length) snprintf(text + used, length - used, "%s", more);
}

/* Appends the names of the rows that row i depends on: those with coefficients mu = K^T g_i, of row i in the
 * independent rows of its level, all of unit length, that are not zero. */
static void namePartners(CPWork work, int i, char *text, size_t length) {
  CPLevel *level = &work->levels[work->P->row_level[i]];
  double *mu     = work->rl;
  char name[CP_ROW_NAME];
  int named = 0;
  for (int j = 0; j < work->P->n; j++) work->z[j] = cpGradientEntry(work, i, j);
  if (cpLevelIsEmpty(level) || cpLevelSolve(level, work->z, NULL, NULL, mu)) return;
  for (int k = 0; k < level->nrows; k++) {
    const double scale = work->rowscale[level->rows[k]];
    mu[k] *= scale > 0.0 ? work->rowscale[i] / scale : 0.0;
    if (level->rows[k] == i || fabs(mu[k]) < INVOLVED) continue;
    if (named == NAMED) {
      append(text, length, ", ...");
      return;
    }
    append(text, length, named++ ? ", " : " by ");
    append(text, length, cpRowName(work->P, level->rows[k], name));
  }
}

/* The residual that remains after the best correction, in the units of each row, is largest for the
 * constraint in *row: 1 if it is a contradiction. */
static int remaining(CPWork work, const double *c, int *row) {
  double largest = 0.0, remains = 0.0;
  if (cpRightInverse(work, c, work->x)) return 0;
  cpGradientTimes(work, work->x, work->r); /* G K c */
  for (int i = 0; i < work->P->m; i++) {
    const double size = work->size[i];
    if (!(size > 0.0) || work->rowscale[i] == 0.0) continue;
    largest = fmax(largest, fabs(c[i]) / size);
    if (fabs(c[i] - work->r[i]) > remains * size)
      remains = fabs(c[i] - work->r[i]) / size, *row = i;
  }
  return remains > REMAINS * largest;
}

int cpContradiction(CPWork work, const double *c, char *text, size_t length) {
  char name[CP_ROW_NAME];
  int i = -1;
  if (cpWorkRank(work) >= work->P->m || !remaining(work, c, &i)) return 0;
  snprintf(text, length, "others contradict it (rank %ld of %d): %s, whose gradient is given",
           (long)cpWorkRank(work), work->P->m, cpRowName(work->P, i, name));
  namePartners(work, i, text, length);
  const size_t used = strlen(text);
  if (used < length)
    snprintf(text + used, length - used, ", keeps a residual of %.3e%s", c[i] - work->r[i],
             work->nlevels > 1 && !work->P->row_level_v
                 ? " (in the levels that were detected, see CPProjectorSetLevels)"
                 : "");
  return 1;
}
