/* Connected components by disjoint sets (Tarjan, J. ACM 22, 1975, with paths halved): one pass
 * over the entries. */
#include "components.h"

#include <stdlib.h>

/* The first column of i's set; parents come before their children. */
static int root(int *parent, int i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

static void join(int *parent, int i, int k) {
  i = root(parent, i);
  k = root(parent, k);
  if (i < k) parent[k] = i;
  else parent[i] = k;
}

/* Numbers in the place of parents: a parent has got its number before its children. */
static int number(int *parent, int m) {
  int count = 0;
  for (int i = 0; i < m; i++) parent[i] = parent[i] == i ? count++ : parent[parent[i]];
  return count;
}

static int largestSize(const int *component, int m, int ncomponents, int *largest) {
  int *size = calloc((size_t)ncomponents + 1, sizeof *size);
  if (!size) return CP_MEM_FAIL;
  *largest = 0;
  for (int i = 0; i < m; i++)
    if (++size[component[i]] > *largest) *largest = size[component[i]];
  free(size);
  return CP_SUCCESS;
}

int cpComponents(const CPMat *AT, int n, int m, int *component, int *ncomponents, int *largest) {
  for (int i = 0; i < m; i++) component[i] = i;
  for (int j = 0; j < n; j++)
    for (size_t k = AT->start[j] + 1; k < AT->start[j + 1]; k++)
      join(component, AT->row[k - 1], AT->row[k]);
  *ncomponents = number(component, m);
  return largest ? largestSize(component, m, *ncomponents, largest) : CP_SUCCESS;
}
