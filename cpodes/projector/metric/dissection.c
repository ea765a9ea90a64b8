/* Nested dissection of a graph by layers: A. George, J. W.-H. Liu, An automatic nested dissection
 * algorithm for irregular finite element problems, SIAM J. Numer. Anal. 15 (1978) 1053-1069.
 *
 * A breadth-first search from an end of a connected part gives layers, of which each separates
 * those below from those above; the one with the best ratio of the smaller side to its own size is
 * taken out and numbered last, and what is left falls into parts, for which the same is done. On
 * chains, bands and grids paths in the elimination tree are as short as with METIS, which draws
 * from the process' rand() and seeds it anew.
 */
#include "metric_matrix.h"

#include <stdlib.h>
#include <string.h>

/* Parts of this size are not worth a separator. */
#define SMALL_PART 3
/* Halving ends before this depth; where layers do not halve, no order is much better than another.
 */
#define DEEPEST 64

typedef struct {
  const sunindextype *pointer, *index; /* neighbours of vertex j: index[pointer[j]] ... */
  int *depth;                          /* [n] layer; UNSEEN: not yet; REMOVED: not in the graph */
  int *queue;                          /* [count]                                   */
} Graph;

enum { UNSEEN = -1, REMOVED = -2 };

static void forget(Graph *g, const int *vertex, int count) {
  for (int k = 0; k < count; k++) g->depth[vertex[k]] = UNSEEN;
}

/* The connected part of a vertex into queue, layer by layer; returns its size. */
static int layers(Graph *g, int root, int *queue) {
  int count      = 1;
  queue[0]       = root;
  g->depth[root] = 0;
  for (int k = 0; k < count; k++)
    for (sunindextype e = g->pointer[queue[k]]; e < g->pointer[queue[k] + 1]; e++) {
      const int j = (int)g->index[e];
      if (g->depth[j] != UNSEEN) continue;
      g->depth[j]    = g->depth[queue[k]] + 1;
      queue[count++] = j;
    }
  return count;
}

/* Of the vertices in queue, by layers: the layer to separate at, -1 if none is worth it. */
static int bestLayer(const Graph *g, int count) {
  int best     = -1;
  double ratio = 1.0;
  for (int first = 0, end; first < count; first = end) {
    const int d = g->depth[g->queue[first]];
    for (end = first + 1; end < count && g->depth[g->queue[end]] == d; end++) continue;
    const int smaller = first < count - end ? first : count - end;
    if (smaller >= ratio * (end - first)) best = d, ratio = (double)smaller / (end - first);
  }
  return best;
}

/* A connected part, from one of its ends: its separator to its end and out of the graph; returns
 * how many vertices are left. */
static int separate(Graph *g, int *part, int count) {
  const int end = part[count - 1]; /* farthest from where it was found */
  int left = 0, last = count;
  forget(g, part, count);
  layers(g, end, g->queue);
  const int d = bestLayer(g, count);
  if (d < 0) return 0;
  for (int k = 0; k < count; k++) {
    const int j = g->queue[k];
    if (g->depth[j] == d) part[--last] = j;
    else part[left++] = j;
  }
  for (int k = last; k < count; k++) g->depth[part[k]] = REMOVED;
  return left;
}

static void dissect(Graph *g, int *vertex, int count, int deep) {
  int found = 0;
  forget(g, vertex, count);
  for (int k = 0; k < count; k++)
    if (g->depth[vertex[k]] == UNSEEN) found += layers(g, vertex[k], g->queue + found);
  memcpy(vertex, g->queue, (size_t)count * sizeof *vertex);
  for (int first = 0, end; first < count; first = end) { /* a part begins where the depth is 0 */
    for (end = first + 1; end < count && g->depth[vertex[end]] != 0; end++) continue;
    if (end - first <= SMALL_PART || deep == DEEPEST) continue;
    const int left = separate(g, vertex + first, end - first);
    if (left > 0) dissect(g, vertex + first, left, deep + 1);
  }
}

int cpNestedDissection(const sunindextype *pointer, const sunindextype *index, int n, int *vertex,
                       int count) {
  Graph g  = {.pointer = pointer, .index = index};
  g.depth  = malloc((size_t)n * sizeof *g.depth);
  g.queue  = malloc((size_t)count * sizeof *g.queue);
  int flag = g.depth && g.queue ? CP_SUCCESS : CP_MEM_FAIL;
  for (int j = 0; !flag && j < n; j++) g.depth[j] = REMOVED;
  if (!flag) dissect(&g, vertex, count, 0);
  free(g.depth);
  free(g.queue);
  return flag;
}
