/* u' of a tree with rows by their Delassus operator S = A M^-1 A^T. The elimination of the velocities factors M^-1: a wrench that
 * is carried inwards from the bodies of a row gives that row of A in the eliminated velocities, E (treeCarry), in which M^-1 is
 * the block diagonal D. So, with tau - S^T p^A in them, where b and E are those at u' = 0,
 *
 *   S = E D E^T,   S lambda = E D (tau - S^T p^A) - b,   u' is that of tau - S^T p^A - E^T lambda
 *
 * (R. Featherstone, Int. J. Robotics Research 29 (2010) 1353, for what is sparse). S is factored by pivots, in the order of the
 * newest evaluation as long as they are large; rows that are left depend on these, and multipliers have minimum norm, as those
 * of the KKT system.
 *
 * The components of rows are in blocks of LANE, which are carried together; lanes that are left over are rows of zeros. */
#include "cpodes/base/compat.h"
#include "tree.h"

#include <stdlib.h>
#include <string.h>

/* A row is kept if the square of the sine of its angle to those before it is at least KEPT, and depends on them where that is
 * below LEFT, its square. Between them the KKT system decides, which knows how far off the manifold the state may be. */
#define KEPT 1e-6
#define LEFT (KEPT * KEPT)
/* A row without a part along the freedoms of the tree, of the wrench that it carries, squared: no more than roundoff */
#define ABSENT (LEFT * LEFT)
enum { LANE = TREE_LOADS };

typedef sunrealtype Lanes[LANE];
/* The same in a register: loops over arrays that might overlap are not done at once. */
typedef sunrealtype Vector __attribute__((vector_size(sizeof(Lanes))));
CP_WIDE_PART void load(const sunrealtype *from, Vector *to) { memcpy(to, from, sizeof *to); }
CP_WIDE_PART void store(const Vector *from, sunrealtype *to) { memcpy(to, from, sizeof *from); }

typedef struct {
  int count, component[LANE]; /* its rows */
  int path, length;           /* the nodes that move its bodies, from the leaves to the root */
} Strip;                      /* of rows, a block */

typedef struct Delassus_ {
  int nblocks, m, count, rank; /* m = LANE nblocks, lanes; count: number of rows among them */
  Strip *block;                /* [nblocks], of at most na */
  const Row **row;             /* [na] of each component */
  int *path;                   /* of all blocks */
  char *marked;                /* [nnodes] 0 */
  int *order, *left;           /* [count] of pivots; rows that depend on others */
  sunrealtype *b;              /* [na] */
  /* as large as the rows that are on need: E^T and (E D)^T [nu][m]; S, its Cholesky factor, whose columns are in the order of
   * pivots, and that of spread [m][m]; for each row b, the right-hand side, the entry of the diagonal of S, that which its wrench
   * could have, and that which is left, and its multiplier [m] */
  sunrealtype *E, *X, *S, *L, *gram, *rhs, *w, *size, *most, *rest, *lambda;
  Panel *panel;       /* [m] the multipliers of treeCloseColumns */
  Lanes (*wrench)[6]; /* [nnodes] forces and moments */
} Delassus;

/* Marks the nodes that move the bodies of a row with 1, and returns how many had no mark. */
static int mark(const Mechanism *b, const Row *row, char *marked) {
  const Tree *tree = b->tree;
  int count        = 0;
  for (int k = 0; k < 2 * row->nterms; k++)
    for (int n = treeNodeOf(tree, &b->pair[bodiesRowTerm(b, row, k / 2)->pair], k % 2);
         n != GROUND && !marked[n]; n = tree->node[n].parent)
      marked[n] = 1, count++;
  return count;
}

void treeFreeDelassus(Delassus *d) {
  if (!d) return;
  free(d->block);
  free(d->row);
  free(d->path);
  free(d->marked);
  free(d->order);
  free(d->b);
  free(d->E);
  free(d->wrench);
  free(d);
}

Delassus *treeDelassus(const Mechanism *b) {
  const size_t nn = (size_t)b->tree->nnodes, na = (size_t)b->nv;
  Delassus *d  = calloc(1, sizeof *d);
  size_t steps = 0;
  if (!d) return NULL;
  d->block  = malloc((na + 1) * sizeof *d->block);
  d->row    = malloc((na + 1) * sizeof *d->row);
  d->marked = calloc(nn + 1, 1);
  d->order  = malloc((2 * LANE * na + 1) * sizeof *d->order);
  d->b      = malloc((na + 1) * sizeof *d->b);
  d->wrench = calloc(nn + 1, sizeof *d->wrench);
  int full  = d->block && d->row && d->marked && d->order && d->b && d->wrench;
  if (full) {
    d->left = d->order + LANE * na;
    for (int i = 0; i < b->nrows + b->nrolls; i++) {
      const Row *row = bodiesRow(b, i);
      const int n    = bodiesComponents(b, row);
      for (int k = 0; k < n; k++) d->row[row->first + k] = row;
      steps += (size_t)n * (size_t)mark(b, row, d->marked);
      memset(d->marked, 0, nn);
    }
    full = (d->path = malloc((steps + 1) * sizeof *d->path)) != NULL;
  }
  if (!full) treeFreeDelassus(d), d = NULL;
  return d;
}

/* The number of components that are on of the rows of one pair of which r is the first, up to *end */
static int countOn(const Mechanism *b, const Delassus *d, const char *off, int r, int *end) {
  const Row *first = d->row[r];
  int count        = 0;
  for (*end = r; *end < b->nv; (*end)++) {
    const Row *row = d->row[*end];
    if (row != first && (row->nterms != 1 || first->nterms != 1 ||
                         bodiesRowTerm(b, row, 0)->pair != bodiesRowTerm(b, first, 0)->pair))
      break;
    count += !off[*end];
  }
  return count;
}

/* Makes the blocks of the rows that are on. Those of one pair are together, with those of the pair before if there is room. */
static void makeBlocks(const Mechanism *b, Delassus *d, const char *off) {
  const size_t nnodes = (size_t)b->tree->nnodes;
  int steps           = 0;
  d->nblocks          = 0;
  for (int r = 0, end; r < b->nv; r = end) {
    const int count = countOn(b, d, off, r, &end);
    Strip *strip    = d->nblocks > 0 ? &d->block[d->nblocks - 1] : NULL;
    if (strip && strip->count + count > LANE) strip = NULL;
    for (int i = r; i < end; i++) {
      if (off[i]) continue;
      if (!strip || strip->count == LANE) strip = &d->block[d->nblocks++], strip->count = 0;
      strip->component[strip->count++] = i;
    }
  }
  for (int i = 0; i < d->nblocks; i++) {
    Strip *strip = &d->block[i];
    strip->path = steps, strip->length = 0;
    for (int lane = 0; lane < strip->count; lane++)
      strip->length += mark(b, d->row[strip->component[lane]], d->marked);
    for (int n = b->tree->nnodes - 1, left = strip->length; left > 0; n--)
      if (d->marked[n]) d->path[steps++] = n, left--;
    memset(d->marked, 0, nnodes);
  }
  d->m = LANE * d->nblocks;
}

int treeUseRows(const char *off, void *bodies) {
  enum { MANY = 512 }; /* whose matrices take 6 MB */
  const Mechanism *b = bodies;
  Delassus *d        = b->tree->delassus;
  if (!d) return 0;
  makeBlocks(b, d, off);
  free(d->E);
  d->E = NULL;
  if (d->m > MANY) return 1;
  const size_t m = (size_t)d->m, nu = (size_t)b->tree->nu;
  if (!(d->E = calloc(2 * m * nu + 3 * m * m + (6 + TREE_PANEL) * m + 1, sizeof *d->E))) return 1;
  d->count = 0;
  for (int r = 0; r < d->m; r++)
    if (r % LANE < d->block[r / LANE].count) d->order[d->count++] = r;
  d->X = d->E + m * nu, d->S = d->X + m * nu, d->L = d->S + m * m, d->gram = d->L + m * m;
  d->rhs = d->gram + m * m, d->w = d->rhs + m, d->size = d->w + m, d->most = d->size + m;
  d->rest = d->most + m, d->lambda = d->rest + m, d->panel = (Panel *)(d->lambda + m);
  return 0;
}

/* ------------------------------------------------------------------------------- the operator -- */

/* Adds a force and a moment about the centre of mass, both in space, on a body to one lane of its node. */
static void push(const Mechanism *b, const Delassus *d, int body, int lane, const sunrealtype *F,
                 const sunrealtype *N) {
  const int n = b->tree->node_of_body[body];
  sunrealtype arm[3], lever[3];
  for (int k = 0; k < 3; k++) arm[k] = b->pose[body].r[k] - b->tree->motion[n + 1].P[k];
  cross3(arm, F, lever);
  for (int k = 0; k < 3; k++) {
    d->wrench[n][k][lane % LANE] += F[k];
    d->wrench[n][3 + k][lane % LANE] += N[k] + lever[k];
  }
}

/* The same for n components of P_a - P_b, each in the next lane, which are forces along axes of space at each point */
static void pushPoint(const Mechanism *b, const Delassus *d, const Row *row, const int *component,
                      int n, int lane) {
  const Pair *pair = &b->pair[bodiesRowTerm(b, row, 0)->pair];
  for (int side = 0; side < 2; side++) {
    const int body = pair->side[side].body;
    if (body == GROUND) continue;
    const int node      = b->tree->node_of_body[body];
    const Pose *pose    = &b->pose[body];
    const sunrealtype F = side ? -1 : 1, *P = b->tree->motion[node + 1].P;
    Lanes *w = d->wrench[node];
    sunrealtype arm[3];
    toSpace(pose, pair->side[side].point, arm);
    for (int k = 0; k < 3; k++) arm[k] += pose->r[k] - P[k];
    for (int l = lane; l < lane + n; l++) {
      const int c = component[l] - row->first, y = (c + 1) % 3, z = (c + 2) % 3;
      w[c][l] += F;
      w[3 + y][l] += F * arm[z];
      w[3 + z][l] -= F * arm[y];
    }
  }
}

/* The same for term k of another row, whose gradient is a force on each side */
static void pushTerm(const Mechanism *b, Delassus *d, const Row *row, int k, int lane) {
  const Term *term = bodiesRowTerm(b, row, k);
  const Pair *pair = &b->pair[term->pair];
  Jet jet;
  if (bodiesIsBare(b, row)) {
    d->E[(size_t)term->velocity * d->m + lane] += bodiesWeight(b, term) * term->sign;
    return;
  }
  const Mask mask = bodiesGradient(b, row, k, 0, &jet);
  for (int side = 0; side < 2; side++) {
    const int body = pair->side[side].body;
    if (body == GROUND) continue;
    sunrealtype F[3] = {0, 0, 0}, own[3] = {0, 0, 0}, N[3];
    EACH_DIRECTION(&b->space, mask.g & (side ? 0xCu : 0x3u), j)
    (j % 6 < 3 ? F : own)[j % 3] = jet.g[j];
    toSpace(&b->pose[body], own, N);
    push(b, d, body, lane, F, N);
  }
}

/* e = S^T w, x = D e of a hinge or slide, which turns about z or moves along it, and what it passes on; in E is what the rows have
 * of its own coordinate. */
CP_WIDE_PART void carryOne(const Articulated *own, const sunrealtype *z, int turns, Vector *w,
                           sunrealtype *E, sunrealtype *X, sunrealtype *most) {
  const sunrealtype *U = own->U, D = own->D;
  const Vector *s = w + 3 * turns;
  Vector e, x, all;
  load(E, &e), load(most, &all);
  all += D * (s[0] * s[0] + s[1] * s[1] + s[2] * s[2] + e * e);
  e += z[0] * s[0] + z[1] * s[1] + z[2] * s[2];
  x = D * e;
  w[0] -= U[0] * x, w[1] -= U[1] * x, w[2] -= U[2] * x;
  w[3] -= U[3] * x, w[4] -= U[4] * x, w[5] -= U[5] * x;
  store(&all, most), store(&e, E), store(&x, X);
}

/* The same for other nodes */
static void carryMore(const Tree *tree, int n, int m, Lanes *w, sunrealtype *E, sunrealtype *X,
                      sunrealtype *most) {
  const int nu = tree->node[n].nu;
  Wrench own[LANE];
  sunrealtype e[LANE][6], x[LANE][6];
  for (int l = 0; l < LANE; l++) {
    for (int k = 0; k < 3; k++) own[l].F[k] = w[k][l], own[l].N[k] = w[3 + k][l];
    for (int k = 0; k < nu; k++) e[l][k] = E[k * m + l]; /* of the rows themselves */
  }
  treeCarry(tree, n, LANE, own, e, x);
  for (int l = 0; l < LANE; l++) {
    for (int k = 0; k < 3; k++) w[k][l] = own[l].F[k], w[3 + k][l] = own[l].N[k];
    for (int k = 0; k < nu; k++) {
      E[k * m + l] = e[l][k], X[k * m + l] = x[l][k];
      most[l] += e[l][k] * x[l][k];
    }
  }
}

/* E, E D and the largest possible entries of S, of one block whose wrenches are on the nodes of its path */
static CP_WIDE void carry(const Tree *tree, Delassus *d, int block) {
  const Strip *strip = &d->block[block];
  const int first    = LANE * block;
  memset(d->most + first, 0, sizeof(Lanes));
  for (int i = strip->path; i < strip->path + strip->length; i++) {
    const int n            = d->path[i];
    const Node *node       = &tree->node[n];
    const Motion *at       = &tree->motion[n + 1];
    const Articulated *own = &tree->articulated[n];
    const sunrealtype *r   = at->r;
    sunrealtype *from = d->wrench[n][0], *E = d->E + (size_t)node->u * d->m + first,
                *X = d->X + (E - d->E), *most = d->most + first;
    Vector w[6], up;
    if (node->kind != HINGE && node->kind != SLIDE && node->kind != WELD)
      carryMore(tree, n, d->m, d->wrench[n], E, X, most);
    load(from, &w[0]), load(from + LANE, &w[1]), load(from + 2 * LANE, &w[2]);
    load(from + 3 * LANE, &w[3]), load(from + 4 * LANE, &w[4]), load(from + 5 * LANE, &w[5]);
    memset(from, 0, 6 * sizeof(Lanes));
    if (node->kind == HINGE) carryOne(own, at->R[2], 1, w, E, X, most);
    else if (node->kind == SLIDE) carryOne(own, at->R[2], 0, w, E, X, most);
    if (node->parent == GROUND) continue;
    w[3] = w[3] + r[1] * w[2] - r[2] * w[1];
    w[4] = w[4] + r[2] * w[0] - r[0] * w[2];
    w[5] = w[5] + r[0] * w[1] - r[1] * w[0];
    for (int k = 0; k < 6; k++) {
      sunrealtype *to = d->wrench[node->parent][k];
      load(to, &up), up += w[k], store(&up, to);
    }
  }
}

/* tile: out, the products of a block's rows with those of the block whose X is given, over the velocities of the path of one of
 * them. */
CP_WIDE_PART void products(const Tree *tree, const Delassus *d, const Strip *strip,
                           const sunrealtype *E, const sunrealtype *X, Lanes *tile) {
  Vector sum[LANE] = {{0}}, x;
  for (int i = strip->path; i < strip->path + strip->length; i++) {
    const Node *node = &tree->node[d->path[i]];
    for (int k = node->u; k < node->u + node->nu; k++) {
      const sunrealtype *e = E + (size_t)k * d->m;
      load(X + (size_t)k * d->m, &x);
      sum[0] += e[0] * x, sum[1] += e[1] * x, sum[2] += e[2] * x, sum[3] += e[3] * x;
    }
  }
  memcpy(tile, sum, sizeof sum);
}

/* The rows of S of one block, below the diagonal and on it, and its right-hand sides */
static CP_WIDE void multiply(const Tree *tree, Delassus *d, int block, const sunrealtype *tau) {
  const Strip *strip = &d->block[block];
  const int first    = LANE * block;
  Vector w, x;
  for (int s = 0; s <= first; s += LANE) {
    const Strip *other = &d->block[s / LANE]; /* Its X is 0 away from its path. */
    Lanes tile[LANE];
    products(tree, d, other->length < strip->length ? other : strip, d->E + first, d->X + s, tile);
    for (int r = 0; r < LANE; r++)
      memcpy(d->S + (size_t)(first + r) * d->m + s, tile[r], sizeof tile[r]);
    for (int r = 0; s == first && r < LANE; r++) d->size[first + r] = tile[r][r];
  }
  load(d->rhs + first, &w);
  w = -w;
  for (int i = strip->path; i < strip->path + strip->length; i++) {
    const Node *node = &tree->node[d->path[i]];
    for (int k = node->u; k < node->u + node->nu; k++)
      load(d->X + (size_t)k * d->m + first, &x), w += tau[k] * x;
  }
  store(&w, d->w + first);
}

/* Returns the place of the next pivot, from place k on, or NONE if no row is to be kept. */
static int pivot(const Delassus *d, int k) {
  int best            = NONE;
  sunrealtype largest = 0;
  for (int i = k; i < d->count; i++) {
    const int r            = d->order[i];
    const sunrealtype part = d->size[r] > ABSENT * d->most[r] ? d->rest[r] / d->size[r] : 0;
    if (part >= KEPT && i == k) return i;
    if (part >= KEPT && part > largest) largest = part, best = i;
  }
  return best;
}

/* y -= c x, of m entries, whole lanes */
CP_WIDE_PART void subtract(int m, sunrealtype c, const sunrealtype *x, sunrealtype *y) {
  Vector from, to;
  for (int r = 0; r < m; r += LANE) {
    load(x + r, &from), load(y + r, &to);
    to -= c * from;
    store(&to, y + r);
  }
}

/* Factors S. Column k of L has an entry for each row; those of earlier pivots are roundoff, which nothing reads. Returns 0, or 1
 * if it is not clear which rows depend on others. */
static CP_WIDE int factor(Delassus *d) {
  const int n = d->count, m = d->m;
  memcpy(d->rest, d->size, (size_t)m * sizeof *d->rest);
  for (d->rank = 0; d->rank < n; d->rank++) {
    const int k = d->rank, at = pivot(d, k);
    if (at == NONE) break;
    const int p  = d->order[at];
    d->order[at] = d->order[k], d->order[k] = p;
    sunrealtype *own = d->L + (size_t)k * d->m;
    const int end    = (p / LANE + 1) * LANE; /* of the blocks of row p of S */
    memcpy(own, d->S + (size_t)p * d->m, (size_t)end * sizeof *own);
    for (int r = end; r < m; r++) own[r] = d->S[(size_t)r * d->m + p];
    for (int j = 0; j < k; j++) {
      const sunrealtype *before = d->L + (size_t)j * d->m;
      subtract(m, before[p], before, own);
    }
    const sunrealtype root = sqrt(d->rest[p]), per = 1 / root;
    for (int r = 0; r < m; r += LANE) {
      Vector x, rest;
      load(own + r, &x), load(d->rest + r, &rest);
      x *= per;
      rest -= x * x;
      store(&x, own + r), store(&rest, d->rest + r);
    }
    own[p] = root;
  }
  for (int i = d->rank; i < n; i++) {
    const int r = d->order[i];
    if (d->size[r] > ABSENT * d->most[r] && d->rest[r] > LEFT * d->size[r]) return 1;
  }
  return 0;
}

/* x [rank] <- L^-1 w of the rows that are kept; of the others, w becomes what is left of it: w - L x. */
static CP_WIDE void substitute(Delassus *d, sunrealtype *x) {
  for (int k = 0; k < d->rank; k++) {
    const sunrealtype *own = d->L + (size_t)k * d->m;
    x[k]                   = d->w[d->order[k]] / own[d->order[k]];
    subtract(d->m, x[k], own, d->w);
  }
}

/* x: L^T x = x */
static void substituteBack(const Delassus *d, sunrealtype *x) {
  for (int k = d->rank - 1; k >= 0; k--) {
    const sunrealtype *own = d->L + (size_t)k * d->m;
    for (int j = k + 1; j < d->rank; j++) x[k] -= own[d->order[j]] * x[j];
    x[k] /= own[d->order[k]];
  }
}

/* The largest terms of the rows, on both sides */
static sunrealtype largestTerms(const Delassus *d) {
  sunrealtype terms = 0;
  for (int r = 0; r < d->m; r++)
    for (int k = 0; k < 2; k++) {
      const sunrealtype term = fabs(k ? d->w[r] + d->rhs[r] : d->rhs[r]);
      if (term > terms) terms = term;
    }
  return terms;
}

/* Do the rows that are left ask for the accelerations that the others give them? */
static int agree(const Delassus *d, sunrealtype terms) {
  enum { PART = 1000 }; /* of the largest terms */
  for (int i = d->rank; i < d->count; i++)
    if (PART * fabs(d->w[d->order[i]]) > terms) return 0;
  return 1;
}

/* lambda: out, of minimum norm, from x = L^-1 w of the rows that are kept. A row that is left is C = L_r L^-1 times these,
 * so that multipliers may change by multiples of (C, -1): lambda - (C, -1) mu is shortest where (1 + C^T C) mu = C^T lambda. */
static void spread(Delassus *d, sunrealtype *x) {
  const int m = d->m, rank = d->rank;
  sunrealtype *lambda = d->lambda;
  int n               = 0;
  substituteBack(d, x);
  memset(lambda, 0, (size_t)m * sizeof *lambda);
  for (int i = 0; i < rank; i++) lambda[d->order[i]] = x[i];
  for (int i = rank; i < d->count; i++) { /* C in the place of S, without rows that have no part */
    const int r    = d->order[i];
    sunrealtype *C = d->S + (size_t)n * d->m;
    if (!(d->size[r] > ABSENT * d->most[r])) continue;
    for (int k = 0; k < rank; k++) C[k] = d->L[(size_t)k * d->m + r];
    substituteBack(d, C);
    d->left[n++] = r;
  }
  for (int i = 0; i < n; i++) { /* Cholesky's factor of 1 + C^T C, and mu */
    const sunrealtype *Ci = d->S + (size_t)i * d->m;
    sunrealtype *G = d->gram + (size_t)i * d->m, *mu = d->w;
    mu[i] = 0;
    for (int k = 0; k < rank; k++) mu[i] += Ci[k] * x[k];
    for (int j = 0; j <= i; j++) {
      const sunrealtype *Cj = d->S + (size_t)j * d->m, *Gj = d->gram + (size_t)j * d->m;
      G[j] = i == j;
      for (int k = 0; k < rank; k++) G[j] += Ci[k] * Cj[k];
      for (int k = 0; k < j; k++) G[j] -= G[k] * Gj[k];
      G[j] = i == j ? sqrt(G[j]) : G[j] / Gj[j];
      mu[i] -= i == j ? 0 : G[j] * mu[j];
    }
    mu[i] /= G[i];
  }
  for (int i = n - 1; i >= 0; i--) {
    const sunrealtype *C = d->S + (size_t)i * d->m;
    sunrealtype *mu      = d->w;
    for (int j = i + 1; j < n; j++) mu[i] -= d->gram[(size_t)j * d->m + i] * mu[j];
    mu[i] /= d->gram[(size_t)i * d->m + i];
    lambda[d->left[i]] = mu[i];
    for (int k = 0; k < rank; k++) lambda[d->order[k]] -= mu[i] * C[k];
  }
}

sunrealtype *treeTargets(const Tree *tree) {
  return tree->delassus && tree->delassus->m > 0 ? tree->delassus->b : NULL;
}

/* The wrenches of one block, or the velocities on which its rows act themselves */
static void pushBlock(const Mechanism *b, Delassus *d, int block) {
  const Strip *strip = &d->block[block];
  for (int i = strip->path; i < strip->path + strip->length; i++) {
    const Node *node = &b->tree->node[d->path[i]];
    for (int k = node->u; k < node->u + node->nu; k++)
      memset(d->E + (size_t)k * d->m + LANE * block, 0, sizeof(Lanes));
  }
  for (int lane = 0, n; lane < strip->count; lane += n) {
    const Row *row = d->row[strip->component[lane]];
    for (n = 1; lane + n < strip->count && d->row[strip->component[lane + n]] == row;) n++;
    for (int k = 0; k < n; k++) d->rhs[LANE * block + lane + k] = d->b[strip->component[lane + k]];
    if (bodiesRowTerm(b, row, 0)->m.kind == POINT) pushPoint(b, d, row, strip->component, n, lane);
    else
      for (int k = 0; k < row->nterms; k++) pushTerm(b, d, row, k, LANE * block + lane);
  }
}

int treeCloseLoops(const Mechanism *b, sunrealtype *tau, sunrealtype *lambda) {
  const Tree *tree = b->tree;
  Delassus *d      = tree->delassus;
  for (int i = 0; i < d->nblocks; i++) {
    pushBlock(b, d, i);
    carry(tree, d, i);
    multiply(tree, d, i, tau);
  }
  if (factor(d)) return 1;
  sunrealtype *x = d->rest, terms = largestTerms(d);
  substitute(d, x);
  if (!agree(d, terms)) return 1;
  spread(d, x);
  for (int i = 0; i < d->nblocks; i++) {
    const Strip *strip   = &d->block[i];
    const sunrealtype *l = d->lambda + (size_t)LANE * i;
    for (int lane = 0; lane < strip->count; lane++) lambda[strip->component[lane]] = l[lane];
    for (int j = strip->path; j < strip->path + strip->length; j++) {
      const Node *node = &tree->node[d->path[j]];
      for (int k = node->u; k < node->u + node->nu; k++) {
        const sunrealtype *E = d->E + (size_t)k * d->m + (size_t)LANE * i;
        tau[k] -= l[0] * E[0] + l[1] * E[1] + l[2] * E[2] + l[3] * E[3];
      }
    }
  }
  return 0;
}

/* w: out, E D e - b of the rows, of a block at a time */
static CP_WIDE void multiplyColumns(const Tree *tree, const Delassus *d, int stride, Panel *e,
                                    Panel *b, Panel *w) {
  for (int i = 0; i < d->nblocks; i++) {
    const Strip *strip = &d->block[i];
    PanelRow sum[LANE] = {{0}}, x;
    for (int lane = 0; lane < strip->count; lane++) {
      loadPanelRow(b[strip->component[lane] * stride], &x);
      sum[lane] = -x;
    }
    for (int j = strip->path; j < strip->path + strip->length; j++) {
      const Node *node = &tree->node[d->path[j]];
      for (int k = node->u; k < node->u + node->nu; k++) {
        const sunrealtype *X = d->X + (size_t)k * d->m + LANE * i;
        loadPanelRow(e[k * stride], &x);
        sum[0] += X[0] * x, sum[1] += X[1] * x, sum[2] += X[2] * x, sum[3] += X[3] * x;
      }
    }
    for (int lane = 0; lane < LANE; lane++) storePanelRow(&sum[lane], w[LANE * i + lane]);
  }
}

/* S^-1 w, for the rows that are kept: both substitutions */
static CP_WIDE void substituteColumns(const Delassus *d, int transposed, Panel *w) {
  for (int i = 0; i < d->rank; i++) {
    const int k = transposed ? d->rank - 1 - i : i, p = d->order[k];
    const int end = transposed ? d->rank : k;
    PanelRow x, y;
    loadPanelRow(w[p], &y);
    for (int j = transposed ? k + 1 : 0; j < end; j++) {
      const int r = d->order[j];
      loadPanelRow(w[r], &x);
      y -= d->L[(size_t)(transposed ? k : j) * d->m + (transposed ? r : p)] * x;
    }
    y *= 1 / d->L[(size_t)k * d->m + p];
    storePanelRow(&y, w[p]);
  }
}

/* e -= E^T w; w of lanes without a row is 0. */
static CP_WIDE void reactColumns(const Tree *tree, const Delassus *d, int stride, Panel *w,
                                 Panel *e) {
  for (int i = 0; i < d->nblocks; i++) {
    const Strip *strip = &d->block[i];
    PanelRow of[LANE], x;
    for (int lane = 0; lane < LANE; lane++) loadPanelRow(w[LANE * i + lane], &of[lane]);
    for (int j = strip->path; j < strip->path + strip->length; j++) {
      const Node *node = &tree->node[d->path[j]];
      for (int k = node->u; k < node->u + node->nu; k++) {
        const sunrealtype *E = d->E + (size_t)k * d->m + LANE * i;
        loadPanelRow(e[k * stride], &x);
        x -= E[0] * of[0] + E[1] * of[1] + (E[2] * of[2] + E[3] * of[3]);
        storePanelRow(&x, e[k * stride]);
      }
    }
  }
}

void treeCloseColumns(const Tree *tree, int stride, Panel *e, Panel *b) {
  const Delassus *d = tree->delassus;
  multiplyColumns(tree, d, stride, e, b, d->panel);
  substituteColumns(d, 0, d->panel);
  substituteColumns(d, 1, d->panel);
  for (int i = d->rank; i < d->count; i++) memset(d->panel[d->order[i]], 0, sizeof(Panel));
  reactColumns(tree, d, stride, d->panel, e);
}
