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
 * Where nodes have few others above them, products of V with S of these replace p and a: L_kj = V_k . S_j is the factor of M = L^T D^-1 L
 * (R. Featherstone, Rigid Body Dynamics Algorithms, 2008, 6.5), without the cancellation by which the elimination of M loses digits in
 * long chains,
 *
 *   inwards    e_j -= L_kj e_k   for all k below j,     outwards    x_k = D e_k - L_kj x_j   for all j above k.
 * Columns k of K and C have entries at what velocity k moves and at what moves
 * it; the way inwards visits nothing else. */
#include "columns.h"
#include "tree.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

/* Of the lanes of a panel, half are columns by q, and half those by u of the same velocities, whose entries are in the same places. */
enum { HALF = TREE_PANEL / 2 };
typedef sunrealtype Lanes
    __attribute__((vector_size(TREE_PANEL * sizeof(sunrealtype)), aligned(sizeof(sunrealtype))));

typedef sunrealtype Two __attribute__((vector_size(2 * sizeof(sunrealtype))));

/* What the recursion keeps of a velocity: columns of S and V, forces before moments, and a row of D */
typedef struct {
  sunrealtype S[6], V[6], D[6];
} Released;

/* Row k of L: the entries from start[k] on belong to velocities[] above */
typedef struct {
  int *start, *above;
  sunrealtype *value;
} Factor;

enum { NOT_REACHED, BY_TAU, BY_WRENCHES };

typedef struct Forward_ {
  void *panels;        /* the memory of x, b and w */
  Released *of;        /* [nu] */
  int npanels, stride; /* in use, and from one row to the next */
  Panel *x;            /* [nu][stride] tau, e, then u' */
  Panel *b;            /* [na][stride] of the rows */
  char *reached;       /* [nnodes] has a node a tau, or a wrench as well, of the panel? */
  Panel (*w)[6];       /* [nnodes] wrenches p, then accelerations, of one panel */
  /* The rows of column k of K and of C, which belong to what is above k, or below, in falling order: rows[], from start[k] on, or, if start
   * is NULL, all [nu] */
  int *rows, *start, *all;
  Two *column;                     /* [nu] of K and C; 0 between calls */
  Factor L;                        /* NULL if the tree is deep */
  sunrealtype *udot, *lambda;      /* [nu], [na] */
  sunrealtype *K, *C, *Bq, *Bu;    /* the entries of their patterns */
  size_t entries, entries_of_rows; /* their numbers */
} Forward;

void treeFreeForward(Forward *f) {
  if (!f) return;
  free(f->of);
  free(f->panels);
  free(f->L.start);
  free(f->L.value);
  free(f->all);
  free(f->column);
  free(f->reached);
  free(f->udot);
  free(f);
}

/* The number of entries of a matrix; dense if there is no pattern */
static size_t entriesIn(SUNMatrix pattern, size_t rows, size_t columns) {
  return pattern ? (size_t)SM_NNZ_S(pattern) : rows * columns;
}

/* Lists the velocities above each one, unless they are so many that the recursion takes less time. Returns 0, or 1 if out of memory. */
static int listAbove(const Tree *tree, Factor *L) {
  enum {
    MANY = 7
  }; /* on average: a node of the recursion takes about the time of so many products */
  const int nu   = tree->nu;
  size_t entries = 0;
  for (int n = 0; n < tree->nnodes; n++)
    for (int i = tree->node[n].parent; i != GROUND; i = tree->node[i].parent)
      entries += (size_t)(tree->node[n].nu * tree->node[i].nu);
  if (entries > (size_t)MANY * (size_t)nu) return 0;
  L->start = malloc(((size_t)nu + entries + 2) * sizeof *L->start);
  L->value = malloc((entries + 1) * sizeof *L->value);
  if (!L->start || !L->value) return 1;
  L->above    = L->start + nu + 1;
  L->start[0] = 0;
  for (int k = 0; k < nu; k++) {
    int at = L->start[k];
    for (int i = tree->node[tree->node_of_velocity[k]].parent; i != GROUND; i = tree->node[i].parent)
      for (int j = tree->node[i].u; j < tree->node[i].u + tree->node[i].nu; j++) L->above[at++] = j;
    L->start[k + 1] = at;
  }
  return 0;
}

/* Lists the rows of the pattern of K and C, and those above them, which the way inwards fills. Returns 0, or 1 if out of memory. */
static int listRows(const Tree *tree, Forward *f) {
  const SUNMatrix S = tree->square.tmpl;
  const int nu      = tree->nu;
  size_t entries    = 0;
  int *mark         = calloc((size_t)nu + 1, sizeof *mark);
  for (int twice = 0; mark && twice < 2; twice++) { /* to count them, and to list them */
    if (twice && !(f->all = malloc(((size_t)nu * 2 + entries + 2) * sizeof *f->all))) break;
    if (twice) f->start = S ? f->all + nu : NULL, f->rows = f->all + 2 * nu + 1;
    int at = 0;
    for (int k = 0; k < nu && S; k++) {
      if (twice) f->start[k] = at;
      for (sunindextype p = SM_INDEXPTRS_S(S)[k]; p < SM_INDEXPTRS_S(S)[k + 1]; p++)
        for (int n = tree->node_of_velocity[SM_INDEXVALS_S(S)[p]]; n != GROUND;
             n     = tree->node[n].parent)
          for (int i = 0; i < tree->node[n].nu; i++) mark[tree->node[n].u + i] = 1;
      for (int i = nu - 1; i >= 0; i--) {
        if (mark[i] && twice) f->rows[at++] = i;
        entries += (size_t)mark[i];
        mark[i] = 0;
      }
    }
    if (twice && S) f->start[nu] = at;
  }
  free(mark);
  for (int i = 0; f->all && i < nu; i++) f->all[i] = nu - 1 - i;
  return !f->all;
}

static Forward *forwardOf(const Mechanism *b, int nz) {
  const Tree *tree = b->tree;
  const size_t nn = (size_t)tree->nnodes, nu = (size_t)tree->nu, na = (size_t)b->nv;
  Forward *f = calloc(1, sizeof *f);
  if (!f) return NULL;
  const size_t square = entriesIn(tree->square.tmpl, nu, nu),
               rows   = entriesIn(tree->rows.tmpl, na, nu);
  f->entries = square, f->entries_of_rows = rows;
  f->of      = malloc((nu + 1) * sizeof *f->of);
  f->npanels = (tree->nu + HALF - 1) / HALF + (nz + TREE_PANEL - 1) / TREE_PANEL;
  f->stride = f->npanels | 1; /* Rows of a power of two would be in the same places of the cache. */
  const size_t stride = (size_t)f->stride;
  f->panels           = malloc(((nu + na) * stride + 6 * nn + 1) * sizeof(Panel));
  f->reached          = malloc(nn + 1);
  f->column           = calloc(nu + 1, sizeof *f->column);
  f->udot             = malloc((nu + na + 2 * square + 2 * rows + 1) * sizeof *f->udot);
  if (!f->of || !f->panels || !f->column || !f->reached || !f->udot || listAbove(tree, &f->L) ||
      listRows(tree, f))
    return treeFreeForward(f), NULL;
  /* A register that is stored across two cache lines would be waited for when it is loaded. */
  const size_t over = (uintptr_t)f->panels % sizeof(Panel);
  f->x              = (Panel *)((char *)f->panels + (over > 0 ? sizeof(Panel) - over : 0));
  f->b = f->x + nu * stride, f->w = (Panel(*)[6])(f->b + na * stride);
  f->lambda = f->udot + nu, f->K = f->lambda + na, f->C = f->K + square;
  f->Bq = f->C + square, f->Bu = f->Bq + rows;
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

CP_WIDE_PART void loadLanes(const sunrealtype *from, Lanes *to) { memcpy(to, from, sizeof *to); }
CP_WIDE_PART void storeLanes(const Lanes *from, sunrealtype *to) { memcpy(to, from, sizeof *from); }

/* Loops of three and six are written out: arrays with a variable index are not kept in registers. */
CP_WIDE_PART void load6(Panel *from, Lanes *to) {
  loadLanes(from[0], &to[0]), loadLanes(from[1], &to[1]), loadLanes(from[2], &to[2]);
  loadLanes(from[3], &to[3]), loadLanes(from[4], &to[4]), loadLanes(from[5], &to[5]);
}
CP_WIDE_PART void store6(const Lanes *from, Panel *to) {
  storeLanes(&from[0], to[0]), storeLanes(&from[1], to[1]), storeLanes(&from[2], to[2]);
  storeLanes(&from[3], to[3]), storeLanes(&from[4], to[4]), storeLanes(&from[5], to[5]);
}
CP_WIDE_PART void add6(Panel *from, Lanes *to) {
  Lanes x[6];
  load6(from, x);
  to[0] += x[0], to[1] += x[1], to[2] += x[2], to[3] += x[3], to[4] += x[4], to[5] += x[5];
}
/* y -= c . x */
CP_WIDE_PART void subtract3(const sunrealtype *c, const Lanes *x, Lanes *y) {
  *y -= c[0] * x[0] + c[1] * x[1] + c[2] * x[2];
}
/* y += c x */
CP_WIDE_PART void along3(const sunrealtype *c, const Lanes *x, Lanes *y) {
  y[0] += c[0] * *x, y[1] += c[1] * *x, y[2] += c[2] * *x;
}
/* z += x cross y, or with y and x exchanged, - x cross y */
CP_WIDE_PART void addCross3(const sunrealtype *x, const Lanes *y, Lanes *z) {
  z[0] += x[1] * y[2] - x[2] * y[1];
  z[1] += x[2] * y[0] - x[0] * y[2];
  z[2] += x[0] * y[1] - x[1] * y[0];
}
CP_WIDE_PART void subtractCross3(const sunrealtype *x, const Lanes *y, Lanes *z) {
  z[0] -= x[1] * y[2] - x[2] * y[1];
  z[1] -= x[2] * y[0] - x[0] * y[2];
  z[2] -= x[0] * y[1] - x[1] * y[0];
}

/* e = tau - S^T p of a hinge or slide, in the place of tau; p += V e */
CP_WIDE_PART void carryOne(const Released *of, int turns, sunrealtype *x, Lanes *p) {
  Lanes e;
  loadLanes(x, &e);
  subtract3(of->S + 3 * turns, p + 3 * turns, &e);
  storeLanes(&e, x);
  along3(of->V, &e, p), along3(of->V + 3, &e, p + 3);
}
/* The same for several velocities */
CP_WIDE_PART void carryMore(const Released *of, int nu, int stride, Panel *x, Lanes *p) {
  Lanes e;
  for (int k = 0; k < nu; k++) {
    loadLanes(x[k * stride], &e);
    subtract3(of[k].S, p, &e), subtract3(of[k].S + 3, p + 3, &e);
    storeLanes(&e, x[k * stride]);
  }
  for (int k = 0; k < nu; k++) {
    loadLanes(x[k * stride], &e);
    along3(of[k].V, &e, p), along3(of[k].V + 3, &e, p + 3);
  }
}

/* The wrenches of all nodes that are reached, on their way to the root; tau of a panel become e. */
static CP_WIDE void inwards(const Tree *tree, const Forward *f, int panel) {
  static const Lanes none = {0};
  for (int i = tree->nnodes - 1; i >= 0; i--) {
    const int n        = tree->order[i];
    const Node *node   = &tree->node[n];
    const Released *of = &f->of[node->u];
    Panel *x           = f->x + node->u * f->stride + panel;
    Lanes p[6]         = {none, none, none, none, none, none};
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
CP_WIDE_PART void moveOne(const Released *of, int turns, sunrealtype *at, Lanes *a) {
  const sunrealtype *V = of->V;
  Lanes x;
  loadLanes(at, &x);
  x = of->D[0] * x - (V[0] * a[0] + V[1] * a[1] + V[2] * a[2]) -
      (V[3] * a[3] + V[4] * a[4] + V[5] * a[5]);
  storeLanes(&x, at);
  along3(of->S + 3 * turns, &x, a + 3 * turns);
}
/* The same for several velocities */
CP_WIDE_PART void moveMore(const Released *of, int nu, int stride, Panel *at, Lanes *a) {
  Lanes x[6], e;
  for (int k = 0; k < nu; k++) {
    x[k] = (Lanes){0};
    for (int l = 0; l < nu; l++) loadLanes(at[l * stride], &e), x[k] += of[k].D[l] * e;
    subtract3(of[k].V, a, &x[k]), subtract3(of[k].V + 3, a + 3, &x[k]);
  }
  for (int k = 0; k < nu; k++) {
    storeLanes(&x[k], at[k * stride]);
    along3(of[k].S, &x[k], a), along3(of[k].S + 3, &x[k], a + 3);
  }
}

/* The accelerations of all nodes from e, which become those of the velocities. A leaf has nothing to pass on. */
static CP_WIDE void outwards(const Tree *tree, const Forward *f, int panel) {
  static const Lanes none = {0};
  for (int i = 0; i < tree->nnodes; i++) {
    const int n        = tree->order[i];
    const Node *node   = &tree->node[n];
    const Released *of = &f->of[node->u];
    Panel *x           = f->x + node->u * f->stride + panel;
    Lanes a[6]         = {none, none, none, none, none, none};
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

/* L_kj = V_k . S_j: V_k is carried towards the root like a wrench. */
static CP_WIDE void multiplyOut(const Tree *tree, const Forward *f) {
  for (int k = 0; k < tree->nu; k++) {
    sunrealtype V[6], lever[3], *value = f->L.value + f->L.start[k];
    memcpy(V, f->of[k].V, sizeof V);
    for (int n = tree->node_of_velocity[k]; tree->node[n].parent != GROUND;) {
      cross3(tree->motion[n + 1].r, V, lever);
      add3(1, lever, V + 3);
      n = tree->node[n].parent;
      for (int j = tree->node[n].u; j < tree->node[n].u + tree->node[n].nu; j++)
        *value++ = dot3(V, f->of[j].S) + dot3(V + 3, f->of[j].S + 3);
    }
  }
}

/* e of two columns, of K and of C, in the place of tau, in the n rows that are listed in falling order */
static void productsInwards(const Factor *L, int n, const int *row, Two *x) {
  for (int r = 0; r < n; r++) {
    const Two e = x[row[r]];
    for (int i = L->start[row[r]]; i < L->start[row[r] + 1]; i++) x[L->above[i]] -= L->value[i] * e;
  }
}

/* x of velocity k = D e - L_kj x_j for all j above k, of four neighbouring panels, or one: all panels of a row follow each other, since
 * the loops over what is above it are as long for each of them. */
CP_WIDE_PART void moveFour(const Factor *L, int k, int stride, sunrealtype D, Panel *x) {
  Lanes y[4], above;
  loadLanes(x[k * stride], &y[0]), loadLanes(x[k * stride + 1], &y[1]);
  loadLanes(x[k * stride + 2], &y[2]), loadLanes(x[k * stride + 3], &y[3]);
  y[0] *= D, y[1] *= D, y[2] *= D, y[3] *= D;
  for (int i = L->start[k]; i < L->start[k + 1]; i++) {
    Panel *from           = x + L->above[i] * stride;
    const sunrealtype L_k = L->value[i];
    loadLanes(from[0], &above), y[0] -= L_k * above;
    loadLanes(from[1], &above), y[1] -= L_k * above;
    loadLanes(from[2], &above), y[2] -= L_k * above;
    loadLanes(from[3], &above), y[3] -= L_k * above;
  }
  storeLanes(&y[0], x[k * stride]), storeLanes(&y[1], x[k * stride + 1]);
  storeLanes(&y[2], x[k * stride + 2]), storeLanes(&y[3], x[k * stride + 3]);
}
CP_WIDE_PART void subtractAbove(const Factor *L, int k, int stride, Panel *x, Lanes *y) {
  Lanes above;
  for (int i = L->start[k]; i < L->start[k + 1]; i++) {
    loadLanes(x[L->above[i] * stride], &above);
    *y -= L->value[i] * above;
  }
}

static CP_WIDE void productsOutwards(const Tree *tree, const Forward *f) {
  const Factor L   = f->L;
  const int stride = f->stride;
  for (int n = 0; n < tree->nnodes; n++) {
    const int u = tree->node[n].u, nu = tree->node[n].nu;
    const Released *of = &f->of[u];
    int panel          = 0;
    for (; panel + 4 <= f->npanels && nu == 1; panel += 4)
      moveFour(&L, u, stride, of->D[0], f->x + panel);
    for (; panel < f->npanels; panel++) {
      Panel *x = f->x + panel;
      Lanes y[6], e;
      for (int k = 0; k < nu; k++) {
        y[k] = (Lanes){0};
        for (int l = 0; l < nu; l++) loadLanes(x[(u + l) * stride], &e), y[k] += of[k].D[l] * e;
        subtractAbove(&L, u + k, stride, x, &y[k]);
      }
      for (int k = 0; k < nu; k++) storeLanes(&y[k], x[(u + k) * stride]);
    }
  }
}

/* ----------------------------------------------------------------------------------- columns -- */

/* The place of column k of K, or of that of Uz, among the lanes of a row */
static int laneOf(int k) { return k / HALF * TREE_PANEL + k % HALF; }
static int laneOfZ(const Tree *tree, int k) {
  return (tree->nu + HALF - 1) / HALF * TREE_PANEL + k;
}

/* Column k of two matrices of forces; of one, if C is NULL */
static void takeColumns(const Tree *tree, SUNMatrix pattern, int k, const sunrealtype *K,
                        const sunrealtype *C, Two *column) {
  const sunindextype first = pattern ? SM_INDEXPTRS_S(pattern)[k] : (sunindextype)k * tree->nu,
                     end   = pattern ? SM_INDEXPTRS_S(pattern)[k + 1] : first + tree->nu;
  for (sunindextype p = first; p < end; p++) {
    column[pattern ? SM_INDEXVALS_S(pattern)[p] : p - first] = (Two){K[p], C ? C[p] : 0};
  }
}

/* Moves two columns, which have n rows, to a lane of x, and another one behind it, which are their places, and clears them. */
static void spread(const Forward *f, int n, const int *row, int lane, int apart) {
  for (int r = 0; r < n; r++) {
    sunrealtype *to   = f->x[row[r] * f->stride] + lane;
    to[apart]         = f->column[row[r]][1];
    to[0]             = f->column[row[r]][0];
    f->column[row[r]] = (Two){0};
  }
}

/* The same of the rows: all columns of Bq, or of Bu with a lane that many behind */
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

/* Fills all panels, with e if there is L, else with tau. */
static void fill(const Mechanism *b, const Forward *f, SUNMatrix Uz) {
  const Tree *tree = b->tree;
  const int nu = tree->nu, nz = Uz ? (int)SM_COLUMNS_D(Uz) : 0;
  memset(f->x, 0, (size_t)(nu + b->nv) * (size_t)f->stride * sizeof *f->x);
  for (int k = 0; k < nu; k++) {
    const int n    = f->start ? f->start[k + 1] - f->start[k] : nu;
    const int *row = f->start ? f->rows + f->start[k] : f->all;
    takeColumns(tree, tree->square.tmpl, k, f->K, f->C, f->column);
    if (f->L.start) productsInwards(&f->L, n, row, f->column);
    spread(f, n, row, laneOf(k), HALF);
  }
  for (int k = 0; k < nz; k++) {
    takeColumns(tree, NULL, k, SM_DATA_D(Uz), NULL, f->column);
    if (f->L.start) productsInwards(&f->L, nu, f->all, f->column);
    spread(f, nu, f->all, laneOfZ(tree, k), 0);
  }
  if (b->nv == 0 || tree->bare) return;
  spreadRows(b, f, f->Bq, 0);
  spreadRows(b, f, f->Bu, HALF);
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

/* Marks the nodes at which columns of a panel have entries. */
static void reach(const Tree *tree, const Forward *f, int panel) {
  const int first = HALF * panel, end = first + HALF < tree->nu ? first + HALF : tree->nu;
  memset(f->reached, f->start && first < end ? NOT_REACHED : BY_TAU, (size_t)tree->nnodes);
  for (int k = first; k < end && f->start; k++)
    for (int r = f->start[k]; r < f->start[k + 1]; r++)
      f->reached[tree->node_of_velocity[f->rows[r]]] = BY_TAU;
}

static void solve(const Mechanism *b, const Forward *f, SUNMatrix Uq, SUNMatrix Uu, SUNMatrix Uz) {
  const Tree *tree = b->tree;
  const int closed = treeTargets(tree) != NULL, nz = Uz ? (int)SM_COLUMNS_D(Uz) : 0;
  fill(b, f, Uz);
  for (int panel = 0; panel < f->npanels; panel++) {
    if (!f->L.start) reach(tree, f, panel), inwards(tree, f, panel);
    if (closed) treeCloseColumns(tree, f->stride, f->x + panel, f->b + panel);
    if (!f->L.start) outwards(tree, f, panel);
  }
  if (f->L.start) productsOutwards(tree, f);
  for (int k = 0; k < tree->nu; k += HALF) {
    const int n = tree->nu - k < HALF ? tree->nu - k : HALF;
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
  if (f->L.start) multiplyOut(tree, f);
  memset(f->K, 0, 2 * (f->entries + f->entries_of_rows) * sizeof *f->K);
  flag = treeDifferentiate(b, t, q, u, z, f->udot, f->lambda, f->K, f->C, Uz);
  if (!flag && b->nv > 0) flag = treeDifferentiateRows(b, q, u, f->udot, f->Bq, f->Bu);
  if (!flag) solve(b, f, Uq, Uu, Uz);
  return flag;
}
