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

/* The number of neighbouring panels whose products follow each other, since the loops over rows are the same; and of velocities in them */
enum { GROUP = 8, EACH = GROUP / 2 * TREE_PANEL };
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
  int *reach; /* [nlists + 1][nu] of the velocities above each one, the number of those in the list: the first ones */
  Factor G;   /* NULL if the tree is deep */
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
  free(f->reach);
  free(f->reached);
  free(f->udot);
  free(f);
}

/* The number of panels of the columns by q and u of n velocities */
static int panelsOf(int n) { return (n + TREE_PANEL - 1) / TREE_PANEL * 2; }
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
  const int nu = tree->nu, count = f->nlists = (nu + EACH - 1) / EACH;
  int *mark = calloc((size_t)nu + 1, sizeof *mark), at = 0;
  f->reach = calloc((size_t)(count + 1) * (size_t)nu + 1, sizeof *f->reach);
  for (int twice = 0; mark && f->reach && twice < 2; twice++) { /* to count them, and to list them */
    if (twice && !(f->start = malloc(((size_t)count + (size_t)at + 3) * sizeof *f->start))) break;
    if (twice) f->rows = f->start + count + 2;
    at = 0;
    for (int list = 0; list <= count; list++) {
      if (twice) f->start[list] = at;
      for (int k = EACH * list; k < nu && k < EACH * (list + 1); k++)
        for (sunindextype p = S ? SM_INDEXPTRS_S(S)[k] : 0; p < (S ? SM_INDEXPTRS_S(S)[k + 1] : nu);
             p++)
          for (int n = tree->node_of_velocity[S ? SM_INDEXVALS_S(S)[p] : p]; n != GROUND;
               n     = tree->node[n].parent)
            for (int i = 0; i < tree->node[n].nu; i++) mark[tree->node[n].u + i] = 1;
      for (int i = 0; i < nu; i++) {
        mark[i] |= list == count;
        if (mark[i] && twice) f->rows[at] = i;
        at += mark[i];
      }
      for (int k = 0; k < nu && twice && f->G.start; k++)
        for (int i = f->G.start[k]; i < f->G.start[k + 1]; i++)
          f->reach[list * nu + k] += mark[f->G.above[i]];
      memset(mark, 0, (size_t)nu * sizeof *mark);
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
  f->npanels         = panelsOf(tree->nu) + panelsOf((nz + 1) / 2);
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

/* A row of 2, 4 or 8 neighbouring panels, in registers: to = from, to += c from, and the other way round to = c from */
CP_WIDE_PART void loadRow(int panels, Panel *from, PanelRow *to) {
  loadPanelRow(from[0], &to[0]), loadPanelRow(from[1], &to[1]);
  if (panels > 2) loadPanelRow(from[2], &to[2]), loadPanelRow(from[3], &to[3]);
  if (panels > 4) loadPanelRow(from[4], &to[4]), loadPanelRow(from[5], &to[5]);
  if (panels > 4) loadPanelRow(from[6], &to[6]), loadPanelRow(from[7], &to[7]);
}
CP_WIDE_PART void addTo(const sunrealtype *from, sunrealtype c, PanelRow *to) {
  PanelRow x;
  loadPanelRow(from, &x);
  *to += c * x;
}
CP_WIDE_PART void addRow(int panels, Panel *from, sunrealtype c, PanelRow *to) {
  addTo(from[0], c, &to[0]), addTo(from[1], c, &to[1]);
  if (panels > 2) addTo(from[2], c, &to[2]), addTo(from[3], c, &to[3]);
  if (panels > 4) addTo(from[4], c, &to[4]), addTo(from[5], c, &to[5]);
  if (panels > 4) addTo(from[6], c, &to[6]), addTo(from[7], c, &to[7]);
}
CP_WIDE_PART void storeTimes(const PanelRow *from, sunrealtype c, sunrealtype *to) {
  const PanelRow x = c * *from;
  storePanelRow(&x, to);
}
CP_WIDE_PART void storeRow(int panels, const PanelRow *from, sunrealtype c, Panel *to) {
  storeTimes(&from[0], c, to[0]), storeTimes(&from[1], c, to[1]);
  if (panels > 2) storeTimes(&from[2], c, to[2]), storeTimes(&from[3], c, to[3]);
  if (panels > 4) storeTimes(&from[4], c, to[4]), storeTimes(&from[5], c, to[5]);
  if (panels > 4) storeTimes(&from[6], c, to[6]), storeTimes(&from[7], c, to[7]);
}

/* e of one velocity in the place of tau, or D e, if D is to be applied; n rows below it are listed. */
CP_WIDE_PART void takeBelow(const Forward *f, int u, int scaled, int n, const int *row, int panels,
                            Panel *x) {
  const Factor *G = &f->G;
  const int rank  = G->rank[u];
  PanelRow e[GROUP];
  loadRow(panels, x + u * f->stride, e);
  for (int i = 0; i < n; i++)
    addRow(panels, x + row[i] * f->stride, G->value[G->start[row[i]] + rank], e);
  storeRow(panels, e, scaled ? f->of[u].D[0] : 1, x + u * f->stride);
}

/* The same for the nu velocities of a node, and two panels */
CP_WIDE_PART void takeBelowMore(const Forward *f, int u, int nu, int scaled, int n, const int *row,
                                Panel *x) {
  const Factor *G = &f->G;
  PanelRow e[2][6], tau[2];
  for (int k = 0; k < nu; k++)
    for (int p = 0; p < 2; p++) loadPanelRow(x[(u + k) * f->stride + p], &e[p][k]);
  for (int i = 0; i < n; i++) {
    const sunrealtype *g = G->value + G->start[row[i]] + G->rank[u];
    loadRow(2, x + row[i] * f->stride, tau);
    for (int k = 0; k < nu; k++) e[0][k] += g[k] * tau[0], e[1][k] += g[k] * tau[1];
  }
  for (int p = 0; p < 2; p++) {
    if (scaled) storeScaled(f, u, nu, e[p], x + p);
    else
      for (int k = 0; k < nu; k++) storePanelRow(&e[p][k], x[(u + k) * f->stride + p]);
  }
}

/* The same for all nodes from the root on, in n rows of a group of panels, which are those of whole nodes and include all that moves any of them */
static CP_WIDE void productsInwards(const Tree *tree, const Forward *f, int scaled, int n,
                                    const int *row, int panels, Panel *x) {
  for (int r = 0; r < n;) {
    const Node *node = &tree->node[tree->node_of_velocity[row[r]]], *last = &tree->node[node->last];
    const int u = node->u, nu = node->nu, end = last->u + last->nu, *first = row + (r += nu);
    int below = 0;
    while (r + below < n && first[below] < end) below++;
    if (nu == 1 && panels == 8) takeBelow(f, u, scaled, below, first, 8, x);
    else if (nu == 1 && panels == 4) takeBelow(f, u, scaled, below, first, 4, x);
    else
      for (int p = 0; p < panels; p += 2) {
        if (nu == 1) takeBelow(f, u, scaled, below, first, 2, x + p);
        else if (nu == 6) takeBelowMore(f, u, 6, scaled, below, first, x + p);
        else takeBelowMore(f, u, nu, scaled, below, first, x + p);
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

/* x_k += G_kj x_j for the first `count` velocities j above k */
CP_WIDE_PART void addAbove(const Factor *G, int k, int count, int stride, int panels, Panel *x) {
  const int *above         = G->above + G->start[k];
  const sunrealtype *value = G->value + G->start[k];
  PanelRow y[GROUP];
  loadRow(panels, x + k * stride, y);
  for (int i = 0; i < count; i++) addRow(panels, x + above[i] * stride, value[i], y);
  storeRow(panels, y, 1, x + k * stride);
}

/* The same for all rows, where x_j is 0 beyond the first count[k] velocities above k */
static CP_WIDE void productsOutwards(const Tree *tree, const Forward *f, const int *count,
                                     int panels, Panel *x) {
  const Factor G = f->G;
  for (int k = tree->nu - 1; k >= 0; k--) {
    if (panels == 8) addAbove(&G, k, count[k], f->stride, 8, x);
    else if (panels == 4) addAbove(&G, k, count[k], f->stride, 4, x);
    else addAbove(&G, k, count[k], f->stride, 2, x);
  }
}

/* ----------------------------------------------------------------------------------- columns -- */

/* The place of column k of K, that of C is TREE_PANEL behind it, or of that of Uz, among the lanes of a row */
static int laneOf(int k) { return (int)treeLane(k); }
static int laneOfZ(const Tree *tree, int k) { return panelsOf(tree->nu) * TREE_PANEL + k; }

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

/* Puts the n columns of a panel, from `lane` on, into those of a matrix [nu x n]. */
static CP_WIDE void gather(const Tree *tree, const Forward *f, int lane, int n, sunrealtype *to) {
  const size_t length = (size_t)f->stride * TREE_PANEL, nu = (size_t)tree->nu;
  const sunrealtype *x = (const sunrealtype *)f->x + lane;
  size_t i             = 0;
  for (; i + TREE_PANEL <= nu && n == TREE_PANEL; i += TREE_PANEL, x += TREE_PANEL * length) {
    Column A[TREE_PANEL], B[TREE_PANEL] = {{0}};
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
    spreadRows(b, f, f->Bu, TREE_PANEL);
  }
  const int of_K = panelsOf(nu);
  for (int panel = 0, count; panel < f->npanels; panel += count) {
    const int left = (panel < of_K ? of_K : f->npanels) - panel,
              list = panel < of_K ? panel / GROUP : f->nlists, *row = f->rows + f->start[list],
              n = f->start[list + 1] - f->start[list];
    count       = left >= 8 ? 8 : left >= 4 ? 4 : 2;
    if (f->G.start) productsInwards(tree, f, !closed, n, row, count, f->x + panel);
    for (int p = panel; p < panel + count; p++) {
      Panel *x = f->x + p;
      if (!f->G.start) inwards(tree, f, p, n, row);
      if (closed) treeCloseColumns(tree, f->stride, x, f->b + p);
      if (!f->G.start) outwards(tree, f, p);
      else if (closed) scale(tree, f, x);
    }
    if (f->G.start)
      productsOutwards(tree, f, f->reach + (closed ? f->nlists : list) * nu, count, f->x + panel);
  }
  for (int k = 0; k < nu; k += TREE_PANEL) {
    const int n = nu - k < TREE_PANEL ? nu - k : TREE_PANEL;
    gather(tree, f, laneOf(k), n, SM_COLUMN_D(Uq, k));
    gather(tree, f, laneOf(k) + TREE_PANEL, n, SM_COLUMN_D(Uu, k));
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
                C  = {.data = (sunrealtype *)f->x + TREE_PANEL, .n = length, .in_lanes = 1};
  memset(f->x, 0, (size_t)(tree->nu + b->nv) * (size_t)f->stride * sizeof *f->x);
  memset(f->Bq, 0, 2 * f->entries_of_rows * sizeof *f->Bq);
  flag = treeDifferentiate(b, t, q, u, z, f->udot, f->lambda, &K, &C, Uz);
  if (!flag && treeTargets(tree)) flag = treeDifferentiateRows(b, q, u, f->udot, f->Bq, f->Bu);
  if (!flag) solve(b, f, Uq, Uu, Uz);
  return flag;
}
