/* Each element adds blocks to the matrices, always in the same order. The first time, the places of the blocks are listed
 * and become the pattern; from then on they are known. */
#ifndef CPODES_BODIES_BLOCKS_H
#define CPODES_BODIES_BLOCKS_H

#include "bodies_impl.h"

/* A part of a column: `rows` entries from (row, col) on. */
typedef struct {
  sunindextype row, col;
  int rows;
} Block;

typedef struct {
  sunrealtype *data; /* of the matrix; if NULL, blocks are only listed */
  const sunindextype *place;
  Block *block;
  sunindextype count, capacity;
  int failed;
  sunrealtype ignored[LOCAL];
} Writer;

void bodiesListBlock(Writer *w, sunindextype row, sunindextype col, int rows);
/* Returns the next block: the address of its first entry, which the others follow. */
static inline sunrealtype *next(Writer *w, sunindextype row, sunindextype col, int rows) {
  if (w->data) return w->data + w->place[w->count++];
  bodiesListBlock(w, row, col, rows);
  return w->ignored;
}

/* Makes a plan from the listed blocks, which it frees; its template remains NULL if the matrix is dense. Returns 0, or -1
 * if out of memory. */
int bodiesMakePlan(Writer *w, sunindextype rows, sunindextype cols, int sparse, SUNContext ctx,
                   Plan *plan);
/* A writer of a matrix of a plan */
Writer bodiesWriter(Mechanism *b, int plan, SUNMatrix S);

/* The rows of b at the poses. Returns what a drive's function returned. */
int bodiesFillTargets(const Mechanism *b, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                      sunrealtype *out);
/* P_b - P_a of a pair at the poses */
void bodiesSpanOf(const Mechanism *b, int pair, Order order, Moving *d);
/* J_ij of a body. p: as of bodiesTimesInertia */
sunrealtype bodiesInertia(const Body *body, const sunrealtype *p, int i, int j);
/* torque [3] <- (J omega) x omega, spin [3] <- J omega, in the axes of body i. */
void bodiesGyroscopic(const Mechanism *b, int i, const sunrealtype *omega, sunrealtype *spin,
                      sunrealtype *torque);
/* Is a law one of the recursion over the tree, which M and the blocks leave out? */
static inline int bodiesIsOnTree(const Mechanism *b, int law) {
  return b->tree && b->law[law].on_tree;
}

/* ---- dynamics.c ---- */

/* K and C at forces that the multipliers lambda [na] make. Returns what a user's function returned. */
int bodiesFillDynamics(Mechanism *b, sunrealtype t, const sunrealtype *u, const sunrealtype *lambda,
                       Writer *K, Writer *C);

#endif
