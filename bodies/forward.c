/* The partial derivatives of u' of a tree. With those of the forces that are left at u' and lambda (pullback.c), K by q and C by u, and with Bq,
 * Bu of the rows,
 *
 *   M du' + A^T dlambda = K dq + C du,   A du' = Bq dq + Bu du,
 *
 * for all directions at once: the articulated-body recursion, which has eliminated the velocities for u', takes the columns in panels of
 * lanes. With S of a node's velocities, D = (S^T I^A S + armature)^-1 and V = I^A S D, where p and a are about the origin of the node,
 *
 *   inwards    e = tau - S^T p,   p += V e,   p_parent += p
 *   outwards   x = D e - V^T a,   a += S x,   from a_parent
 *
 * Where nodes have few others above them, products with G = L^-1 of M = L^T D^-1 L (R. Featherstone, Rigid Body Dynamics Algorithms, 2008,
 * 6.5) replace p and a: G_kj is what velocity k below j does as j changes and the joints between them are free,
 *
 *   e_j = tau_j + G_kj tau_k   for all k below j,     x_k = D e_k + G_kj D e_j   for all j above k.
 *
 * V_k, carried inwards by the recursion, gives G_kj = -S_j^T p, without the cancellation by which the elimination of M loses digits in long
 * chains. Columns k of K and C have entries at what velocity k moves and at what moves it; the way inwards visits nothing else. */
#include "columns.h"
#include "tree.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

/* What the recursion keeps of a velocity: columns of S and V, forces before moments, and a row of D */
typedef struct {
  sunrealtype S[6], V[6], D[6];
} Released;

/* Row k of G: the entries from start[k] on belong to velocities[] above, from the root on; that of velocity j is start[k] + rank[j] in the
 * rows of all that it moves. */
typedef struct {
  int *start, *above, *rank;
  sunrealtype *value;
} Factor;

/* The number of neighbouring panels whose products follow each other, since the loops over rows are the same */
enum { GROUP = 4 };
enum { NOT_REACHED, BY_TAU, BY_WRENCHES };

typedef struct Forward_ {
  void *panels;        /* the memory of x, b and w */
  Released *of;        /* [nu] */
  int npanels, stride; /* in use, and from one row to the next */
  Panel *x;            /* [nu][stride] tau, e, then u' */
  Panel *b;            /* [na][stride] of the rows */
  char *reached;       /* [nnodes] has a node a tau, or a wrench as well, of the panel? */
  Panel (*w)[6];       /* [nnodes] wrenches p, then accelerations, of one panel */
  /* The rows of the columns of K and C in a group of panels are rows[], from start[group] on, in rising order; in list nlists are all. */
  int nlists, *rows, *start;
  Factor G;                   /* NULL if the tree is deep */
  sunrealtype *udot, *lambda; /* [nu], [na] */
  sunrealtype *Bq, *Bu;       /* the entries of their patterns */
  size_t entries_of_rows;     /* their number */
} Forward;

void treeFreeForward(Forward *f) {
  if (!f) return;
  free(f->of);
  free(f->panels);
  free(f->G.start);
  free(f->G.value);
  free(f->start);
  free(f->reached);
  free(f->udot);
  free(f);
}

/* The number of entries of a matrix; dense if there is no pattern */
static size_t entriesIn(SUNMatrix pattern, size_t rows, size_t columns) {
  return pattern ? (size_t)SM_NNZ_S(pattern) : rows * columns;
}

/* Lists the velocities above each one, unless they are so many that the recursion takes less time. Returns 0, or 1 if out of memory. */
static int listAbove(const Tree *tree, Factor *G) {
  enum {
    MANY = 20
  }; /* on average: a node of the recursion takes about the time of so many products */
  const int nu   = tree->nu;
  size_t entries = 0;
  for (int n = 0; n < tree->nnodes; n++)
    for (int i = tree->node[n].parent; i != GROUND; i = tree->node[i].parent)
      entries += (size_t)(tree->node[n].nu * tree->node[i].nu);
  if (entries > (size_t)MANY * (size_t)nu) return 0;
  G->start = malloc((2 * (size_t)nu + entries + 2) * sizeof *G->start);
  G->value = malloc((entries + 1) * sizeof *G->value);
  if (!G->start || !G->value) return 1;
  G->rank     = G->start + nu + 1;
  G->above    = G->rank + nu;
  G->start[0] = 0;
  for (int k = 0; k < nu; k++) {
    const int n = tree->node_of_velocity[k];
    int count   = 0;
    for (int i = tree->node[n].parent; i != GROUND; i = tree->node[i].parent)
      count += tree->node[i].nu;
    G->rank[k]      = count + k - tree->node[n].u;
    G->start[k + 1] = G->start[k] + count;
    for (int i = tree->node[n].parent; i != GROUND; i = tree->node[i].parent)
      for (int j = tree->node[i].u; j < tree->node[i].u + tree->node[i].nu; j++)
        G->above[G->start[k] + G->rank[j]] = j;
  }
  return 0;
}

/* Lists the rows of the columns of each group of panels: those of the pattern of K and C, and those above them, which the way inwards fills. Returns 0, or
 * 1 if out of memory. */
static int listRows(const Tree *tree, Forward *f) {
  const SUNMatrix S = tree->square.tmpl;
  const int nu = tree->nu, each = GROUP * HALF, count = f->nlists = (nu + each - 1) / each;
  int *mark = calloc((size_t)nu + 1, sizeof *mark), at = 0;
  for (int twice = 0; mark && twice < 2; twice++) { /* to count them, and to list them */
    if (twice && !(f->start = malloc(((size_t)count + (size_t)at + 3) * sizeof *f->start))) break;
    if (twice) f->rows = f->start + count + 2;
    at = 0;
    for (int list = 0; list <= count; list++) {
      if (twice) f->start[list] = at;
      for (int k = each * list; k < nu && k < each * (list + 1); k++)
        for (sunindextype p = S ? SM_INDEXPTRS_S(S)[k] : 0; p < (S ? SM_INDEXPTRS_S(S)[k + 1] : nu);
             p++)
          for (int n = tree->node_of_velocity[S ? SM_INDEXVALS_S(S)[p] : p]; n != GROUND;
               n     = tree->node[n].parent)
            for (int i = 0; i < tree->node[n].nu; i++) mark[tree->node[n].u + i] = 1;
      for (int i = 0; i < nu; i++) {
        mark[i] |= list == count;
        if (mark[i] && twice) f->rows[at] = i;
        at += mark[i];
        mark[i] = 0;
      }
    }
    if (twice) f->start[count + 1] = at;
  }
  free(mark);
  return !f->start;
}

static Forward *forwardOf(const Mechanism *b, int nz) {
  const Tree *tree = b->tree;
  const size_t nn = (size_t)tree->nnodes, nu = (size_t)tree->nu, na = (size_t)b->nv;
  Forward *f = calloc(1, sizeof *f);
  if (!f) return NULL;
  const size_t rows  = entriesIn(tree->rows.tmpl, na, nu);
  f->entries_of_rows = rows;
  f->of              = malloc((nu + 1) * sizeof *f->of);
  f->npanels         = (tree->nu + HALF - 1) / HALF + (nz + TREE_PANEL - 1) / TREE_PANEL;
  f->stride = f->npanels | 1; /* Rows of a power of two would be in the same places of the cache. */
  const size_t stride = (size_t)f->stride;
  f->panels           = malloc(((nu + na) * stride + 6 * nn + 1) * sizeof(Panel));
  f->reached          = malloc(nn + 1);
  f->udot             = malloc((nu + na + 2 * rows + 1) * sizeof *f->udot);
  if (!f->of || !f->panels || !f->reached || !f->udot || listAbove(tree, &f->G) || listRows(tree, f))
    return treeFreeForward(f), NULL;
  /* A register that is stored across two cache lines would be waited for when it is loaded. */
  const size_t over = (uintptr_t)f->panels % sizeof(Panel);
  f->x              = (Panel *)((char *)f->panels + (over > 0 ? sizeof(Panel) - over : 0));
  f->b = f->x + nu * stride, f->w = (Panel(*)[6])(f->b + na * stride);
  f->lambda = f->udot + nu, f->Bq = f->lambda + na, f->Bu = f->Bq + rows;
  return f;
}

/* ------------------------------------------------------------------------------- the recursion -- */

/* S of velocity k of a node, forces before moments */
static void spanOf(const Node *node, const Motion *at, int k, sunrealtype *S) {
  memset(S, 0, 6 * sizeof *S);
  switch (node->kind) {
  case WELD: break;
  case HINGE: memcpy(S + 3, at->R[2], 3 * sizeof *S); break;
  case SLIDE: memcpy(S, at->R[2], 3 * sizeof *S); break;
  case SWIVEL: memcpy(S + 3, at->R[k], 3 * sizeof *S); break;
  case AFLOAT:
    if (k < 3) S[k] = 1;
    else memcpy(S + 3, at->R[k - 3], 3 * sizeof *S);
    break;
  case CUSTOM:
    memcpy(S, node->own->S[k] + 3, 3 * sizeof *S);
    memcpy(S + 3, node->own->S[k], 3 * sizeof *S);
  }
}

/* What treeEliminate has left in the nodes. A wrench with S^T w = e_k, which the node does not pass on as it is but as w - V_k, or none and
 * e_k itself, gives it column k of D as its acceleration. */
static void release(const Tree *tree, Released *of) {
  for (int n = 0; n < tree->nnodes; n++) {
    const Node *node       = &tree->node[n];
    const Motion *at       = &tree->motion[n + 1];
    const Articulated *own = &tree->articulated[n];
    for (int k = 0; k < node->nu; k++) {
      Released *to = &of[node->u + k];
      spanOf(node, at, k, to->S);
      if (node->kind == HINGE || node->kind == SLIDE) {
        for (int l = 0; l < 6; l++) to->V[l] = own->D * own->U[l];
        to->D[0] = own->D;
        continue;
      }
      Wrench w            = {{0}, {0}};
      sunrealtype e[1][6] = {{0}}, x[1][6];
      if (node->kind == SWIVEL) memcpy(w.N, at->R[k], sizeof w.N);
      else e[0][k] = 1;
      treeCarry(tree, n, 1, &w, e, x);
      for (int l = 0; l < 3; l++) to->V[l] = -w.F[l], to->V[3 + l] = -w.N[l];
      if (node->kind == SWIVEL) add3(1, at->R[k], to->V + 3);
      memcpy(to->D, x[0], sizeof to->D);
    }
  }
}

/* Loops of three and six are written out: arrays with a variable index are not kept in registers. */
CP_WIDE_PART void load6(Panel *from, PanelRow *to) {
  loadPanelRow(from[0], &to[0]), loadPanelRow(from[1], &to[1]), loadPanelRow(from[2], &to[2]);
  loadPanelRow(from[3], &to[3]), loadPanelRow(from[4], &to[4]), loadPanelRow(from[5], &to[5]);
}
CP_WIDE_PART void store6(const PanelRow *from, Panel *to) {
  storePanelRow(&from[0], to[0]), storePanelRow(&from[1], to[1]), storePanelRow(&from[2], to[2]);
  storePanelRow(&from[3], to[3]), storePanelRow(&from[4], to[4]), storePanelRow(&from[5], to[5]);
}
CP_WIDE_PART void add6(Panel *from, PanelRow *to) {
  PanelRow x[6];
  load6(from, x);
  to[0] += x[0], to[1] += x[1], to[2] += x[2], to[3] += x[3], to[4] += x[4], to[5] += x[5];
}
/* y -= c . x */
CP_WIDE_PART void subtract3(const sunrealtype *c, const PanelRow *x, PanelRow *y) {
  *y -= c[0] * x[0] + c[1] * x[1] + c[2] * x[2];
}
/* y += c x */
CP_WIDE_PART void along3(const sunrealtype *c, const PanelRow *x, PanelRow *y) {
  y[0] += c[0] * *x, y[1] += c[1] * *x, y[2] += c[2] * *x;
}
/* z += x cross y, or with y and x exchanged, - x cross y */
CP_WIDE_PART void addCross3(const sunrealtype *x, const PanelRow *y, PanelRow *z) {
  z[0] += x[1] * y[2] - x[2] * y[1];
  z[1] += x[2] * y[0] - x[0] * y[2];
  z[2] += x[0] * y[1] - x[1] * y[0];
}
CP_WIDE_PART void subtractCross3(const sunrealtype *x, const PanelRow *y, PanelRow *z) {
  z[0] -= x[1] * y[2] - x[2] * y[1];
  z[1] -= x[2] * y[0] - x[0] * y[2];
  z[2] -= x[0] * y[1] - x[1] * y[0];
}

/* e = tau - S^T p of a hinge or slide, in the place of tau; p += V e */
CP_WIDE_PART void carryOne(const Released *of, int turns, sunrealtype *x, PanelRow *p) {
  PanelRow e;
  loadPanelRow(x, &e);
  subtract3(of->S + 3 * turns, p + 3 * turns, &e);
  storePanelRow(&e, x);
  along3(of->V, &e, p), along3(of->V + 3, &e, p + 3);
}
/* The same for several velocities */
CP_WIDE_PART void carryMore(const Released *of, int nu, int stride, Panel *x, PanelRow *p) {
  PanelRow e;
  for (int k = 0; k < nu; k++) {
    loadPanelRow(x[k * stride], &e);
    subtract3(of[k].S, p, &e), subtract3(of[k].S + 3, p + 3, &e);
    storePanelRow(&e, x[k * stride]);
  }
  for (int k = 0; k < nu; k++) {
    loadPanelRow(x[k * stride], &e);
    along3(of[k].V, &e, p), along3(of[k].V + 3, &e, p + 3);
  }
}

/* The wrenches of all nodes that are reached, on their way to the root; tau of a panel become e. */
static CP_WIDE void inwards(const Tree *tree, const Forward *f, int panel, int count,
                            const int *row) {
  static const PanelRow none = {0};
  memset(f->reached, NOT_REACHED, (size_t)tree->nnodes);
  for (int r = 0; r < count; r++) f->reached[tree->node_of_velocity[row[r]]] = BY_TAU;
  for (int i = tree->nnodes - 1; i >= 0; i--) {
    const int n        = tree->order[i];
    const Node *node   = &tree->node[n];
    const Released *of = &f->of[node->u];
    Panel *x           = f->x + node->u * f->stride + panel;
    PanelRow p[6]      = {none, none, none, none, none, none};
    if (f->reached[n] == NOT_REACHED) continue;
    if (f->reached[n] == BY_WRENCHES) load6(f->w[n], p);
    if (node->kind == HINGE) carryOne(of, 1, *x, p);
    else if (node->kind == SLIDE) carryOne(of, 0, *x, p);
    else carryMore(of, node->nu, f->stride, x, p);
    if (node->parent == GROUND) continue;
    addCross3(tree->motion[n + 1].r, p, p + 3);
    if (f->reached[node->parent] == BY_WRENCHES) add6(f->w[node->parent], p);
    store6(p, f->w[node->parent]);
    f->reached[node->parent] = BY_WRENCHES;
  }
}

/* x = D e - V^T a of a hinge or slide, in the place of e; a += S x */
CP_WIDE_PART void moveOne(const Released *of, int turns, sunrealtype *at, PanelRow *a) {
  const sunrealtype *V = of->V;
  PanelRow x;
  loadPanelRow(at, &x);
  x = of->D[0] * x - (V[0] * a[0] + V[1] * a[1] + V[2] * a[2]) -
      (V[3] * a[3] + V[4] * a[4] + V[5] * a[5]);
  storePanelRow(&x, at);
  along3(of->S + 3 * turns, &x, a + 3 * turns);
}
/* The same for several velocities */
CP_WIDE_PART void moveMore(const Released *of, int nu, int stride, Panel *at, PanelRow *a) {
  PanelRow x[6], e;
  for (int k = 0; k < nu; k++) {
    x[k] = (PanelRow){0};
    for (int l = 0; l < nu; l++) loadPanelRow(at[l * stride], &e), x[k] += of[k].D[l] * e;
    subtract3(of[k].V, a, &x[k]), subtract3(of[k].V + 3, a + 3, &x[k]);
  }
  for (int k = 0; k < nu; k++) {
    storePanelRow(&x[k], at[k * stride]);
    along3(of[k].S, &x[k], a), along3(of[k].S + 3, &x[k], a + 3);
  }
}

/* The accelerations of all nodes from e, which become those of the velocities. A leaf has nothing to pass on. */
static CP_WIDE void outwards(const Tree *tree, const Forward *f, int panel) {
  static const PanelRow none = {0};
  for (int i = 0; i < tree->nnodes; i++) {
    const int n        = tree->order[i];
    const Node *node   = &tree->node[n];
    const Released *of = &f->of[node->u];
    Panel *x           = f->x + node->u * f->stride + panel;
    PanelRow a[6]      = {none, none, none, none, none, none};
    if (node->parent != GROUND) {
      load6(f->w[node->parent], a);
      subtractCross3(tree->motion[n + 1].r, a + 3, a); /* alpha cross r */
    }
    if (node->kind == HINGE) moveOne(of, 1, *x, a);
    else if (node->kind == SLIDE) moveOne(of, 0, *x, a);
    else moveMore(of, node->nu, f->stride, x, a);
    if (node->last > n) store6(a, f->w[n]);
  }
}

/* ------------------------------------------------------------------------------- by products -- */

/* G, row by row: V_k on its way to the root, whose joints give way */
static CP_WIDE void multiplyOut(const Tree *tree, const Forward *f) {
  const Factor *G = &f->G;
  for (int k = 0; k < tree->nu; k++) {
    Column F, N, x, y, r;
    load3(f->of[k].V, &F), load3(f->of[k].V + 3, &N);
    for (int n = tree->node_of_velocity[k]; tree->node[n].parent != GROUND;) {
      load3(tree->motion[n + 1].r, &r);
      vector3(&r, &F, &x), N += x;
      n           = tree->node[n].parent;
      const int u = tree->node[n].u, nu = tree->node[n].nu;
      const Released *of = &f->of[u];
      sunrealtype *g     = nu > 0 ? G->value + G->start[k] + G->rank[u] : NULL;
      for (int j = 0; j < nu; j++) {
        load3(of[j].S, &x), load3(of[j].S + 3, &y);
        x    = F * x + N * y;
        g[j] = -(x[0] + x[1] + x[2]);
      }
      for (int j = 0; j < nu && tree->node[n].parent != GROUND; j++) {
        load3(of[j].V, &x), load3(of[j].V + 3, &y);
        F += g[j] * x, N += g[j] * y;
      }
    }
  }
}

/* D e of the nu velocities of a node in their place */
CP_WIDE_PART void storeScaled(const Forward *f, int u, int nu, const PanelRow *e, Panel *x) {
  for (int k = 0; k < nu; k++) {
    const sunrealtype *D = f->of[u + k].D;
    PanelRow y           = D[0] * e[0];
    for (int l = 1; l < nu; l++) y += D[l] * e[l];
    storePanelRow(&y, x[(u + k) * f->stride]);
  }
}

/* e of the nu velocities of a node in the place of tau, or D e, if D is to be applied; n rows below it are listed. */
CP_WIDE_PART void takeBelow(const Forward *f, int u, int nu, int scaled, int n, const int *row,
                            Panel *x) {
  const Factor *G = &f->G;
  const int rank  = G->rank[u];
  PanelRow e[6], tau;
  for (int k = 0; k < nu; k++) loadPanelRow(x[(u + k) * f->stride], &e[k]);
  for (int i = 0; i < n; i++) {
    const sunrealtype *g = G->value + G->start[row[i]] + rank;
    loadPanelRow(x[row[i] * f->stride], &tau);
    for (int k = 0; k < nu; k++) e[k] += g[k] * tau;
  }
  if (scaled) storeScaled(f, u, nu, e, x);
  else
    for (int k = 0; k < nu; k++) storePanelRow(&e[k], x[(u + k) * f->stride]);
}

/* The same for one velocity, and four panels */
CP_WIDE_PART void takeFour(const Forward *f, int u, int scaled, int n, const int *row, Panel *x) {
  const Factor *G     = &f->G;
  const int rank      = G->rank[u];
  const sunrealtype D = scaled ? f->of[u].D[0] : 1;
  Panel *own          = x + u * f->stride;
  PanelRow e[4], tau;
  loadPanelRow(own[0], &e[0]), loadPanelRow(own[1], &e[1]);
  loadPanelRow(own[2], &e[2]), loadPanelRow(own[3], &e[3]);
  for (int i = 0; i < n; i++) {
    const sunrealtype g = G->value[G->start[row[i]] + rank];
    Panel *from         = x + row[i] * f->stride;
    loadPanelRow(from[0], &tau), e[0] += g * tau;
    loadPanelRow(from[1], &tau), e[1] += g * tau;
    loadPanelRow(from[2], &tau), e[2] += g * tau;
    loadPanelRow(from[3], &tau), e[3] += g * tau;
  }
  e[0] *= D, e[1] *= D, e[2] *= D, e[3] *= D;
  storePanelRow(&e[0], own[0]), storePanelRow(&e[1], own[1]);
  storePanelRow(&e[2], own[2]), storePanelRow(&e[3], own[3]);
}

/* The same for all nodes from the root on, in n rows of a group of panels, which are those of whole nodes and include all that moves any of them */
static CP_WIDE void productsInwards(const Tree *tree, const Forward *f, int scaled, int n,
                                    const int *row, int panels, Panel *x) {
  for (int r = 0; r < n;) {
    const Node *node = &tree->node[tree->node_of_velocity[row[r]]], *last = &tree->node[node->last];
    const int u = node->u, nu = node->nu, end = last->u + last->nu, first = r += nu;
    int below = 0;
    while (first + below < n && row[first + below] < end) below++;
    if (nu == 1 && panels == GROUP) takeFour(f, u, scaled, below, row + first, x);
    else
      for (int p = 0; p < panels; p++) {
        if (nu == 1) takeBelow(f, u, 1, scaled, below, row + first, x + p);
        else if (nu == 6) takeBelow(f, u, 6, scaled, below, row + first, x + p);
        else takeBelow(f, u, nu, scaled, below, row + first, x + p);
      }
  }
}

/* D e of one panel in the place of e */
static CP_WIDE void scale(const Tree *tree, const Forward *f, Panel *x) {
  for (int n = 0; n < tree->nnodes; n++) {
    const int u = tree->node[n].u, nu = tree->node[n].nu;
    PanelRow e[6];
    for (int k = 0; k < nu; k++) loadPanelRow(x[(u + k) * f->stride], &e[k]);
    storeScaled(f, u, nu, e, x);
  }
}

/* x_k += G_kj x_j for all j above k, of four neighbouring panels, or one: all panels of a row follow each other, since the loops over what is
 * above it are as long for each of them. */
CP_WIDE_PART void addFour(const Factor *G, int k, int stride, Panel *x) {
  PanelRow y[4], above;
  loadPanelRow(x[k * stride], &y[0]), loadPanelRow(x[k * stride + 1], &y[1]);
  loadPanelRow(x[k * stride + 2], &y[2]), loadPanelRow(x[k * stride + 3], &y[3]);
  for (int i = G->start[k]; i < G->start[k + 1]; i++) {
    Panel *from           = x + G->above[i] * stride;
    const sunrealtype G_k = G->value[i];
    loadPanelRow(from[0], &above), y[0] += G_k * above;
    loadPanelRow(from[1], &above), y[1] += G_k * above;
    loadPanelRow(from[2], &above), y[2] += G_k * above;
    loadPanelRow(from[3], &above), y[3] += G_k * above;
  }
  storePanelRow(&y[0], x[k * stride]), storePanelRow(&y[1], x[k * stride + 1]);
  storePanelRow(&y[2], x[k * stride + 2]), storePanelRow(&y[3], x[k * stride + 3]);
}
CP_WIDE_PART void addOne(const Factor *G, int k, int stride, Panel *x) {
  PanelRow y, above;
  loadPanelRow(x[k * stride], &y);
  for (int i = G->start[k]; i < G->start[k + 1]; i++)
    loadPanelRow(x[G->above[i] * stride], &above), y += G->value[i] * above;
  storePanelRow(&y, x[k * stride]);
}

static CP_WIDE void productsOutwards(const Tree *tree, const Forward *f) {
  const Factor G = f->G;
  for (int k = tree->nu - 1; k >= 0; k--) {
    int panel = 0;
    for (; panel + 4 <= f->npanels; panel += 4) addFour(&G, k, f->stride, f->x + panel);
    for (; panel < f->npanels; panel++) addOne(&G, k, f->stride, f->x + panel);
  }
}

/* ----------------------------------------------------------------------------------- columns -- */

/* The place of column k of K, that of C is HALF behind it, or of that of Uz, among the lanes of a row */
static int laneOf(int k) { return (int)treeLane(k); }
static int laneOfZ(const Tree *tree, int k) {
  return (tree->nu + HALF - 1) / HALF * TREE_PANEL + k;
}

/* All columns of Bq, or of Bu with a lane that many behind, of the rows */
static void spreadRows(const Mechanism *b, const Forward *f, const sunrealtype *B, int behind) {
  const SUNMatrix S = b->tree->rows.tmpl;
  for (int k = 0; k < b->tree->nu; k++) {
    const sunindextype first = S ? SM_INDEXPTRS_S(S)[k] : (sunindextype)k * b->nv,
                       end   = S ? SM_INDEXPTRS_S(S)[k + 1] : first + b->nv;
    for (sunindextype p = first; p < end; p++) {
      sunrealtype *row        = f->b[(S ? SM_INDEXVALS_S(S)[p] : p - first) * f->stride];
      row[laneOf(k) + behind] = B[p];
    }
  }
}

/* B = A^T, of four rows */
CP_WIDE_PART void transpose4(const Column *A, Column *B) {
  const Column a = A[0], b = A[1], c = A[2], d = A[3], even = {a[0], b[0], a[2], b[2]},
               odd = {a[1], b[1], a[3], b[3]}, even_2 = {c[0], d[0], c[2], d[2]},
               odd_2 = {c[1], d[1], c[3], d[3]};
  B[0]               = (Column){even[0], even[1], even_2[0], even_2[1]};
  B[1]               = (Column){odd[0], odd[1], odd_2[0], odd_2[1]};
  B[2]               = (Column){even[2], even[3], even_2[2], even_2[3]};
  B[3]               = (Column){odd[2], odd[3], odd_2[2], odd_2[3]};
}

/* Puts n <= HALF neighbouring columns, from `lane` on, into those of a matrix [nu x n]. */
static CP_WIDE void gather(const Tree *tree, const Forward *f, int lane, int n, sunrealtype *to) {
  const size_t length = (size_t)f->stride * TREE_PANEL, nu = (size_t)tree->nu;
  const sunrealtype *x = (const sunrealtype *)f->x + lane;
  size_t i             = 0;
  for (; i + HALF <= nu && n == HALF; i += HALF, x += HALF * length) {
    Column A[HALF], B[HALF] = {{0}};
    load3(x, &A[0]), load3(x + length, &A[1]);
    load3(x + 2 * length, &A[2]), load3(x + 3 * length, &A[3]);
    transpose4(A, B);
    store4(&B[0], to + i), store4(&B[1], to + nu + i);
    store4(&B[2], to + 2 * nu + i), store4(&B[3], to + 3 * nu + i);
  }
  for (; i < nu; i++, x += length)
    for (int l = 0; l < n; l++) to[(size_t)l * nu + i] = x[l];
}

static void solve(const Mechanism *b, const Forward *f, SUNMatrix Uq, SUNMatrix Uu, SUNMatrix Uz) {
  const Tree *tree = b->tree;
  const int closed = treeTargets(tree) != NULL, nu = tree->nu, nz = Uz ? (int)SM_COLUMNS_D(Uz) : 0;
  for (int k = 0; k < nz; k++)
    for (int i = 0; i < nu; i++)
      ((sunrealtype *)(f->x + i * f->stride))[laneOfZ(tree, k)] = SM_ELEMENT_D(Uz, i, k);
  if (closed && !tree->bare) {
    spreadRows(b, f, f->Bq, 0);
    spreadRows(b, f, f->Bu, HALF);
  }
  const int of_K = (nu + HALF - 1) / HALF;
  for (int panel = 0, next; panel < f->npanels; panel = next) {
    const int end  = panel < of_K ? of_K : f->npanels,
              list = panel < of_K ? panel / GROUP : f->nlists, *row = f->rows + f->start[list];
    const int n = f->start[list + 1] - f->start[list];
    next        = panel + GROUP < end ? panel + GROUP : end;
    if (f->G.start) productsInwards(tree, f, !closed, n, row, next - panel, f->x + panel);
    for (int p = panel; p < next; p++) {
      Panel *x = f->x + p;
      if (!f->G.start) inwards(tree, f, p, n, row);
      if (closed) treeCloseColumns(tree, f->stride, x, f->b + p);
      if (!f->G.start) outwards(tree, f, p);
      else if (closed) scale(tree, f, x);
    }
  }
  if (f->G.start) productsOutwards(tree, f);
  for (int k = 0; k < nu; k += HALF) {
    const int n = nu - k < HALF ? nu - k : HALF;
    gather(tree, f, laneOf(k), n, SM_COLUMN_D(Uq, k));
    gather(tree, f, laneOf(k) + HALF, n, SM_COLUMN_D(Uu, k));
  }
  for (int k = 0; k < nz; k++) gather(tree, f, laneOfZ(tree, k), 1, SM_COLUMN_D(Uz, k));
}

int treeAccelerationsJac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                         const sunrealtype *z, SUNMatrix Uq, SUNMatrix Uu, SUNMatrix Uz,
                         void *bodies) {
  Mechanism *b = bodies;
  Tree *tree   = b->tree;
  if (!tree->forward && !(tree->forward = forwardOf(b, Uz ? (int)SM_COLUMNS_D(Uz) : 0))) return -1;
  Forward *f = tree->forward;
  memset(f->lambda, 0, (size_t)b->nv * sizeof *f->lambda); /* of rows that are off */
  int flag = treeAccelerations(t, q, u, z, f->udot, f->lambda, b);
  if (flag) return flag;
  release(tree, f->of);
  if (f->G.start) multiplyOut(tree, f);
  const int length = f->stride * TREE_PANEL;
  const Entries K  = {.data = (sunrealtype *)f->x, .n = length, .in_lanes = 1},
                C  = {.data = (sunrealtype *)f->x + HALF, .n = length, .in_lanes = 1};
  memset(f->x, 0, (size_t)(tree->nu + b->nv) * (size_t)f->stride * sizeof *f->x);
  memset(f->Bq, 0, 2 * f->entries_of_rows * sizeof *f->Bq);
  flag = treeDifferentiate(b, t, q, u, z, f->udot, f->lambda, &K, &C, Uz);
  if (!flag && b->nv > 0) flag = treeDifferentiateRows(b, q, u, f->udot, f->Bq, f->Bu);
  if (!flag) solve(b, f, Uq, Uu, Uz);
  return flag;
}
