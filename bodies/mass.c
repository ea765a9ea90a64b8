/* Do all motions move some mass? Bodies may be without it: then the mass matrix in joint coordinates must be definite on the motions
 * that the rows A allow, which is
 *
 *   K = C (M + A^T A) C > 0,   C = diag(1 / sqrt(diag(M + A^T A))),
 *
 * and where Cholesky's factorisation with pivoting ends, a motion is left that moves none. This is examined beside the placement,
 * where all joints are turned a little, since positions in which motions are lost are not typical. */
#include "elements.h"
#include "tree.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Larger mechanisms are not examined: the cost grows with the third power. */
enum { MOST_VELOCITIES = 500 };

static int isLight(const Mechanism *b, int i) {
  const sunrealtype *p = b->param + b->body[i].param, *J = p + 1;
  if (b->space.dimension == 2) return p[0] == 0 || J[2] == 0;
  const sunrealtype det = J[0] * (J[1] * J[2] - J[5] * J[5]) - J[3] * (J[3] * J[2] - J[5] * J[4]) +
                          J[4] * (J[3] * J[5] - J[1] * J[4]);
  const sunrealtype trace = J[0] + J[1] + J[2];
  return p[0] == 0 || !(det > SUN_RCONST(1e-12) * trace * trace * trace);
}

int bodiesAreLight(const Mechanism *b) {
  for (int i = 0; i < b->nbodies; i++)
    if (isLight(b, i)) return 1;
  return 0;
}

/* Turns joints and bodies by up to 0.1 rad. */
static void turnAll(const Tree *tree, sunrealtype *q) {
  unsigned state = 1;
  for (int n = 0; n < tree->nnodes; n++) {
    const Node *node = &tree->node[n];
    for (int k = node->kind == AFLOAT ? 3 : 0; k < node->nq && node->kind != SLIDE; k++) {
      state = 1664525u * state + 1013904223u;
      q[node->q + k] += SUN_RCONST(0.1) * ((sunrealtype)(state >> 8) / (1 << 24));
    }
  }
}

/* K [n n] += c x x^T */
static void addSquare(sunrealtype *K, int n, sunrealtype c, const sunrealtype *x) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n && x[i] != 0; j++) K[i * n + j] += c * x[i] * x[j];
}

/* K: out, M + A^T A at q without the rows of contacts; row [n]: room. Returns 0, or -1 if out of memory. */
static int fill(Mechanism *b, const sunrealtype *q, const int *mask, sunrealtype *K,
                sunrealtype *row) {
  Tree *tree          = b->tree;
  const int n         = tree->nu;
  const size_t length = (size_t)n * sizeof *row;
  bodiesPoses(b, q, NULL, NULL);
  const Entries M = {.data = K, .n = n};
  memset(K, 0, (size_t)n * (size_t)n * sizeof *K);
  if (treeMass(tree, &M)) return -1;
  for (int i = 0; i < b->nlaws; i++) {
    const Law *law = &b->law[i];
    const Row of   = {.term = law->term, .nterms = law->nterms};
    if (law->inertance == NONE) continue;
    memset(row, 0, length);
    treeGradient(b, &of, 0, row);
    addSquare(K, n, b->param[law->inertance], row);
  }
  for (int i = 0; i < b->nrows + b->nrolls; i++) {
    const Row *of   = bodiesRow(b, i);
    const int count = bodiesComponents(b, of);
    for (int c = 0; c < count && of->first != NONE && mask[of->first]; c++) {
      memset(row, 0, length);
      treeGradient(b, of, c, row);
      addSquare(K, n, 1, row);
    }
  }
  return 0;
}

/* Factors K [n n] in place, with unit diagonal first; order [n]: out, pivots first. Returns the rank. */
static int factor(sunrealtype *K, int n, sunrealtype *scale, int *order) {
  for (int i = 0; i < n; i++)
    scale[i] = K[i * n + i] > 0 ? 1 / sqrt(K[i * n + i]) : 0, order[i] = i;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) K[i * n + j] *= scale[i] * scale[j];
  for (int k = 0; k < n; k++) {
    int best = k;
    for (int i = k + 1; i < n; i++)
      if (K[order[i] * n + order[i]] > K[order[best] * n + order[best]]) best = i;
    const int p = order[best];
    order[best] = order[k], order[k] = p;
    if (!(K[p * n + p] > 64 * n * DBL_EPSILON)) return k;
    for (int i = k + 1; i < n; i++) {
      sunrealtype *row    = K + order[i] * n;
      const sunrealtype l = row[p] / K[p * n + p];
      for (int j = k + 1; j < n; j++) row[order[j]] -= l * K[p * n + order[j]];
    }
  }
  return n;
}

/* A body without mass, or inertia, that node n moves, or else that a node does on the way to it; or NONE */
static int lightAt(const Mechanism *b, int n) {
  const Node *node = b->tree->node;
  for (int i = n; i <= node[n].last; i++)
    if (node[i].body != NONE && isLight(b, node[i].body)) return node[i].body;
  for (int i = node[n].parent; i != GROUND; i = node[i].parent)
    if (node[i].body != NONE && isLight(b, node[i].body)) return node[i].body;
  return NONE;
}

int bodiesCheckMass(CPBodies bodies) {
  Mechanism *b = &bodies->m;
  Tree *tree   = b->tree;
  const int n  = tree ? tree->nu : 0;
  if (n == 0 || n > MOST_VELOCITIES) return CP_SUCCESS;
  int flag = CP_SUCCESS, *order = malloc(((size_t)(n + b->nv) + 1) * sizeof *order);
  sunrealtype *K     = calloc((size_t)n * (size_t)(n + 3) + (size_t)tree->nq, sizeof *K);
  Pose *pose         = b->pose;
  b->pose            = calloc((size_t)b->nbodies, sizeof *b->pose);
  int *mask          = order ? order + n : NULL;
  sunrealtype *scale = K ? K + n * n : NULL, *row = K ? scale + n : NULL, *q = K ? row + n : NULL;
  int full = order && K && b->pose;
  if (full) {
    treeStart(b, q, row);
    turnAll(tree, q);
    bodiesWithoutContacts(b, mask);
    full = !fill(b, q, mask, K, row);
  }
  if (!full) {
    flag =
        cpReport(&bodies->log, CP_MEM_FAIL, "CPBodiesBuild", "no memory for %d bodies", b->nbodies);
  } else {
    const int rank = factor(K, n, scale, order);
    if (rank < n) {
      const int node = tree->node_of_velocity[order[rank]], light = lightAt(b, node),
                joint = tree->node[node].joint;
      char body[TEXT] = "";
      if (light != NONE)
        snprintf(body, sizeof body, ", as body \"%.100s\" has no mass or inertia",
                 b->text + b->body[light].name);
      flag =
          joint == NONE
              ? cpRefuse(&bodies->log, "CPBodiesBuild",
                         "nothing holds body \"%s\": it must have mass and inertia, or joints",
                         b->text + b->body[light].name)
              : cpRefuse(&bodies->log, "CPBodiesBuild",
                         "joint \"%s\" has a motion that moves no mass%s: give it mass, or weld it",
                         b->text + b->joint[joint].name, body);
    }
  }
  free(order);
  free(K);
  free(b->pose);
  b->pose = pose;
  return flag;
}
