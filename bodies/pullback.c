/* The functions of the CPMech in joint coordinates. With the velocities J u and the accelerations J u' + c of the bodies, whose
 * mass matrix, forces and constraint matrix in absolute coordinates are M_b, f_b and A_b,
 *
 *   M = J^T M_b J,   f = J^T (f_b - M_b c),   A = A_b J,   b = b_b - A_b c,
 *
 * where M comes from composite bodies, u' from articulated ones (articulated.c), and the rest from the elements, evaluated
 * at the poses of the bodies. Partial derivatives along velocity k follow from those of the bodies' motions (J e_k, D_k J u,
 * D_k (J u' + c), and d(J u' + c)/du_k; Carpentier and Mansard, Robotics: Science and Systems 14, 2018):
 *
 *   K e_k = J^T (K_b J e_k + C_b D_k (J u) - M_b D_k (J u' + c)) + (D_k J)^T F,   F = f_b - M_b (J u' + c) - A_b^T lambda,
 *   C e_k = J^T (C_b J e_k - M_b d(J u' + c)/du_k),
 *   Bq e_k = B_q J e_k + B_u D_k (J u) - A_b D_k (J u' + c),   Bu e_k = B_u J e_k - A_b d(J u' + c)/du_k */
#include "blocks.h"
#include "tree.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

int bodiesCoordinates(const Mechanism *m) {
  return m->tree ? m->tree->nq : m->nbodies * m->space.nq;
}
int bodiesVelocities(const Mechanism *m) {
  return m->tree ? m->tree->nu : m->nbodies * m->space.nu;
}

/* ------------------------------------------------------------------------------------ forces -- */

/* Splits entry i of a vector of forces on bodies into force and moment. */
static void forceOn(const Space *s, const sunrealtype *force, int body, sunrealtype *F,
                    sunrealtype *N) {
  const sunrealtype *f = force + s->nu * body;
  F[2] = N[0] = N[1] = 0;
  F[0] = f[0], F[1] = f[1];
  if (s->dimension == 2) N[2] = f[2];
  else F[2] = f[2], memcpy(N, f + 3, 3 * sizeof *f);
}

/* Sets the wrenches of nodes low ... high from forces on their bodies. */
static void gather(const Mechanism *b, const sunrealtype *force, int low, int high) {
  const Tree *tree = b->tree;
  sunrealtype F[3], N[3];
  memset(tree->wrench + low, 0, (size_t)(high + 1 - low) * sizeof *tree->wrench);
  for (int n = low; n <= high; n++) {
    const int body = tree->node[n].body;
    if (body == NONE) continue;
    forceOn(&b->space, force, body, F, N);
    treeAddWrench(b, tree, body, F, N, tree->wrench);
  }
}

/* tau += J^T force, for forces on the bodies of nodes low ... high; the nodes outside get none. */
static void pull(const Mechanism *b, const sunrealtype *force, int low, int high, sunrealtype *tau) {
  gather(b, force, low, high);
  treePull(b->tree, low, high, b->tree->wrench, tau);
}

/* The laws on sums of coordinates of the tree: tau += their forces, armature: their inertances. They may be NULL. Returns
 * what a user's function returned. */
static int addOnVelocities(const Mechanism *b, sunrealtype t, const sunrealtype *q,
                           const sunrealtype *u, sunrealtype *tau, sunrealtype *armature) {
  int flag = 0;
  if (armature) memset(armature, 0, (size_t)b->tree->nu * sizeof *armature);
  for (int i = 0; i < b->nlaws && !flag; i++) {
    const Law *law   = &b->law[i];
    sunrealtype T[3] = {0}, x, rate;
    if (!law->on_tree) continue;
    if (tau) {
      bodiesLawAt(b, i, q, u, &x, &rate);
      flag = bodiesLaw(b, law, t, x, rate, 0, T);
    }
    for (int k = 0; k < law->nterms; k++) {
      const Term *term        = bodiesLawTerm(b, law, k);
      const sunrealtype share = bodiesShare(b, term);
      if (tau) tau[term->velocity] += share * T[0];
      if (armature && law->inertance != NONE)
        armature[term->velocity] += share * share * b->param[law->inertance];
    }
  }
  return flag;
}

int treeStart(Mechanism *b, sunrealtype *q, sunrealtype *u) {
  const Space *s = &b->space;
  Pose *own = b->pose, *pose = calloc((size_t)b->nbodies, sizeof *pose);
  if (!pose) return -1;
  for (int i = 0; i < b->nbodies; i++)
    bodiesPoseAt(s, b->body[i].guess, b->body[i].guess + s->nq, NULL, &pose[i]);
  b->pose = pose;
  treeRead(b, b->tree, q, u);
  b->tree->level = 0;
  b->pose        = own;
  free(pose);
  return 0;
}

/* force: out, f_b - M_b times the accelerations of the poses. Returns what a user's function returned. */
static int forcesOnBodies(Mechanism *b, sunrealtype t, sunrealtype *force) {
  memset(force, 0, b->tree->length * sizeof *force);
  bodiesAddWeights(b, b->tree->twist, force);
  bodiesAddInertial(b, force);
  return bodiesAddForces(b, t, force);
}

static int forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *bodies) {
  Mechanism *b     = bodies;
  const Tree *tree = b->tree;
  b->z             = z;
  bodiesPoses(b, q, u, NULL);
  int flag = forcesOnBodies(b, t, tree->force);
  if (!flag) flag = addOnVelocities(b, t, q, u, f, NULL);
  pull(b, tree->force, 0, tree->nnodes - 1, f);
  return flag;
}

static int frictions(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                     const sunrealtype *z, const sunrealtype *lambda, sunrealtype *f, void *bodies) {
  (void)z;
  Mechanism *b     = bodies;
  const Tree *tree = b->tree;
  bodiesPoses(b, q, u, NULL);
  memset(tree->force, 0, tree->length * sizeof *tree->force);
  const int flag = bodiesAddLaws(b, 1, t, lambda, tree->force);
  pull(b, tree->force, 0, tree->nnodes - 1, f);
  return flag;
}

int treeNodeOf(const Tree *tree, const Pair *pair, int side) {
  return pair->side[side].body == GROUND ? GROUND : tree->node_of_body[pair->side[side].body];
}

/* P_b - P_a in space changes with all nodes. */
int treeCommon(const Tree *tree, const Pair *pair, MeasureKind kind) {
  int n           = treeNodeOf(tree, pair, 0);
  const int other = treeNodeOf(tree, pair, 1);
  if (kind == POINT || other == GROUND) return GROUND;
  while (n != GROUND && (n > other || tree->node[n].last < other)) n = tree->node[n].parent;
  return n;
}

/* The same for one side */
static void addSide(const Mechanism *b, const Term *term, int side, Mask mask, const sunrealtype *g,
                    sunrealtype scale, Wrench *wrench) {
  const int body = b->pair[term->pair].side[side].body;
  if (body == GROUND) return;
  sunrealtype F[3] = {0, 0, 0}, N[3] = {0, 0, 0};
  EACH_DIRECTION(&b->space, mask.g & (side ? 0xCu : 0x3u), j)
  (j % 6 < 3 ? F : N)[j % 3] = scale * g[j];
  treeAddWrench(b, b->tree, body, F, N, wrench);
}

void treeAddGradient(const Mechanism *b, const Term *term, Mask mask, const sunrealtype *g,
                     sunrealtype scale, Wrench *wrench) {
  for (int side = 0; side < 2; side++) addSide(b, term, side, mask, g, scale, wrench);
}

/* tau += scale J^T g, for a gradient g [LOCAL] of a measure */
static void pullGradient(const Mechanism *b, const Term *term, Mask mask, const sunrealtype *g,
                         sunrealtype scale, sunrealtype *tau) {
  const Tree *tree = b->tree;
  const Pair *pair = &b->pair[term->pair];
  const int common = treeCommon(tree, pair, term->m.kind);
  for (int side = 0; side < 2; side++) {
    const int n = treeNodeOf(tree, pair, side);
    if (n == GROUND) continue;
    memset(&tree->wrench[n], 0, sizeof *tree->wrench);
    addSide(b, term, side, mask, g, scale, tree->wrench);
    treeAlongPath(tree, n, common, tree->wrench[n], tau);
  }
}

static int frictionsJac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *lambda, SUNMatrix Fl, void *bodies) {
  (void)z;
  Mechanism *b     = bodies;
  const Tree *tree = b->tree;
  bodiesPoses(b, q, u, NULL);
  for (int i = 0; i < b->nlaws; i++) {
    const Law *law   = &b->law[i];
    const Term *term = bodiesLawTerm(b, law, 0);
    sunrealtype T[3];
    Jet jet;
    int first, count;
    if (law->kind != FRICTION) continue;
    const sunrealtype N = bodiesReactionSize(b, law->joint, lambda, &first, &count);
    const Mask mask     = bodiesTermMask(b, term);
    bodiesTermJet(b, term, GRADIENT, &jet);
    bodiesLaw(b, law, t, term->coef * jet.s, term->coef * jet.rate, 1, T);
    pullGradient(b, term, mask, jet.g, term->coef * T[0], tree->tau);
    for (int k = first; k < first + count && N > 0; k++)
      for (int j = 0; j < tree->nu; j++) SM_ELEMENT_D(Fl, j, k) += tree->tau[j] * lambda[k] / N;
    memset(tree->tau, 0, (size_t)tree->nu * sizeof *tree->tau);
  }
  return 0;
}

int treeAccelerations(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                      const sunrealtype *z, sunrealtype *udot, sunrealtype *lambda, void *bodies) {
  Mechanism *b          = bodies;
  Tree *tree            = b->tree;
  const int pushed      = tree->nothers + b->nforces > 0;
  sunrealtype *targets  = treeTargets(tree);
  const Wrench *applied = NULL;
  int flag = 0, unclear = 0;
  b->z = z;
  bodiesUpdate(b);
  if (pushed || (targets && !tree->bare)) {
    treePose(b, q, u, NULL);
  } else {
    tree->level = 0;
    treeMove(b, tree, q, u);
  }
  if (pushed) {
    memset(tree->force, 0, tree->length * sizeof *tree->force);
    flag = bodiesAddForces(b, t, tree->force);
    gather(b, tree->force, 0, tree->nnodes - 1);
    applied = tree->wrench;
  }
  if (!flag && targets) flag = bodiesFillRows(b, t, q, u, 2, targets);
  if (!flag) flag = addOnVelocities(b, t, q, u, tree->tau, tree->armature);
  /* Rows may hold what has no inertia of its own. */
  if (!flag && treeEliminate(b, tree, tree->tau, tree->armature, applied))
    flag = b->nv > 0 ? 1 : -1;
  if (!flag && targets) unclear = treeCloseLoops(b, tree->tau, lambda);
  if (!flag && treeOutwards(tree, tree->tau, udot)) flag = -1;
  memset(tree->tau, 0, (size_t)tree->nu * sizeof *tree->tau);
  return flag ? flag : unclear;
}

/* ---------------------------------------------------------------------------------- matrices -- */

/* Puts a column, or the part of it that the pattern has. */
static void putColumn(SUNMatrix S, int k, const sunrealtype *column) {
  if (SUNMatGetID(S) == SUNMATRIX_SPARSE) {
    const sunindextype *start = SM_INDEXPTRS_S(S), *row = SM_INDEXVALS_S(S);
    for (sunindextype p = start[k]; p < start[k + 1]; p++) SM_DATA_S(S)[p] = column[row[p]];
  } else memcpy(SM_COLUMN_D(S, k), column, (size_t)SM_ROWS_D(S) * sizeof *column);
}

static Entries entriesOf(const Tree *tree, SUNMatrix S) {
  if (SUNMatGetID(S) == SUNMATRIX_SPARSE)
    return (Entries){SM_DATA_S(S), (int)SM_ROWS_S(S), SM_INDEXVALS_S(S), tree->diagonal};
  return (Entries){SM_DATA_D(S), (int)SM_ROWS_D(S), NULL, NULL};
}
/* Entry (i, j), which the pattern must have. Its rows ascend. */
static sunrealtype *entryOf(const Entries *e, int i, int j) {
  if (!e->row) return e->data + (sunindextype)j * e->n + i;
  sunindextype at = e->diagonal[j];
  while (e->row[at] < i) at++;
  while (e->row[at] > i) at--;
  return e->data + at;
}

/* Adds the derivatives of the laws on sums of coordinates of the tree, and of rows by functions of own coordinates, which do not go
 * by way of the bodies. */
static int addSlopes(const Mechanism *b, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                     const sunrealtype *lambda, const Entries *K, const Entries *C) {
  int flag = 0;
  for (int i = 0; i < b->nlaws && !flag; i++) {
    const Law *law = &b->law[i];
    sunrealtype T[3], x, rate;
    if (!law->on_tree) continue;
    bodiesLawAt(b, i, q, u, &x, &rate);
    flag = bodiesLaw(b, law, t, x, rate, 0, T);
    for (int k = 0; k < law->nterms; k++)
      for (int l = 0; l < law->nterms; l++) {
        const Term *of = bodiesLawTerm(b, law, k), *by = bodiesLawTerm(b, law, l);
        const sunrealtype share = bodiesShare(b, of) * bodiesShare(b, by);
        *entryOf(K, of->velocity, by->velocity) += share * T[1];
        *entryOf(C, of->velocity, by->velocity) += share * T[2];
      }
  }
  for (int i = 0; i < b->nrows + b->nrolls; i++) /* -lambda f'' of a function of an own coordinate */
    for (int k = 0; k < bodiesRow(b, i)->nterms; k++) {
      const Row *row   = bodiesRow(b, i);
      const Term *term = bodiesRowTerm(b, row, k);
      sunrealtype bend[3];
      if (treeOwnBend(b, term, bend))
        *entryOf(K, term->velocity, term->velocity) -=
            lambda[row->first] * bodiesWeight(b, term) * bend[1];
    }
  return flag;
}

/* The matrix of a plan of the bodies, zero, or one without data if there is no memory */
static Writer matrixOf(Mechanism *b, int plan) {
  const Plan *p        = &b->plan[plan];
  const size_t n       = (size_t)SM_NNZ_S(p->tmpl);
  sunrealtype **values = &b->tree->value[plan];
  if (!*values) *values = malloc(n * sizeof **values);
  if (*values) memset(*values, 0, n * sizeof **values);
  return (Writer){.data = *values, .place = p->place};
}

/* y += scale S x, where x has entries for the bodies of nodes low ... high only */
static void multiply(const Mechanism *b, int plan, int low, int high, sunrealtype scale,
                     const sunrealtype *x, sunrealtype *y) {
  const Plan *p             = &b->plan[plan];
  const sunrealtype *values = b->tree->value[plan];
  const sunindextype *start = SM_INDEXPTRS_S(p->tmpl), *row = SM_INDEXVALS_S(p->tmpl);
  const int nu = b->space.nu;
  for (int n = low; n <= high; n++) {
    const int body = b->tree->node[n].body;
    if (body == NONE) continue;
    for (int j = nu * body; j < nu * (body + 1); j++)
      for (sunindextype i = start[j]; i < start[j + 1]; i++) y[row[i]] += scale * values[i] * x[j];
  }
}

/* ------------------------------------------------------------------------------- constraints -- */

/* size [nu] += what terms of the entries of a row could amount to: the moments |N| + |d| |F|, or forces |F|, that the gradient g
 * makes on the nodes from both bodies on. */
static void addSizes(const Mechanism *b, const Pair *pair, int common, Mask mask,
                     const sunrealtype *g, sunrealtype *size) {
  const Tree *tree = b->tree;
  for (int side = 0; side < 2; side++) {
    sunrealtype square[2] = {0, 0}, d[3];
    EACH_DIRECTION(&b->space, mask.g & (side ? 0xCu : 0x3u), j) square[j % 6 >= 3] += g[j] * g[j];
    const sunrealtype F = sqrt(square[0]), N = sqrt(square[1]);
    for (int n = treeNodeOf(tree, pair, side); n != common; n = tree->node[n].parent) {
      const Node *node = &tree->node[n];
      for (int k = 0; k < 3; k++)
        d[k] = b->pose[pair->side[side].body].r[k] - tree->motion[n + 1].P[k];
      const sunrealtype moment = N + sqrt(dot3(d, d)) * F;
      for (int j = 0; j < node->nu; j++) {
        const Axis s = treeAxis(tree, node->u + j);
        size[node->u + j] += s.screws  ? length3(s.a) * moment + length3(s.v) * F
                             : s.turns ? moment
                                       : F;
      }
    }
  }
}

/* The number of velocities on the paths from both bodies of a pair to the node that moves both */
static int velocitiesOn(const Tree *tree, const Pair *pair, int common) {
  int count = 0;
  for (int side = 0; side < 2; side++)
    for (int n = treeNodeOf(tree, pair, side); n != common; n = tree->node[n].parent)
      count += tree->node[n].nu;
  return count;
}

/* Adds one row of A, or lists its blocks. Entries that are no more than the roundoff of their terms are 0: a row to which no freedom
 * of the tree contributes, as those across the plane of a planar loop, must not get a direction from it. */
static void fillRow(const Mechanism *b, const Row *row, Writer *w) {
  const Tree *tree           = b->tree;
  const int count            = bodiesComponents(b, row);
  const int bare             = bodiesIsBare(b, row);
  const sunrealtype rounding = 16 * DBL_EPSILON;
  sunrealtype *size          = tree->size; /* 0 before and after */
  for (int k = 0; k < row->nterms && bare; k++)
    *next(w, row->first, bodiesRowTerm(b, row, k)->velocity, 1) +=
        bodiesWeight(b, bodiesRowTerm(b, row, k)) * bodiesRowTerm(b, row, k)->sign;
  for (int i = 0; i < count && !bare; i++) {
    int entries = 0;
    for (int k = 0; k < row->nterms; k++) {
      const Pair *pair = &b->pair[bodiesRowTerm(b, row, k)->pair];
      const int common = treeCommon(tree, pair, bodiesRowTerm(b, row, k)->m.kind);
      if (bodiesIsOff(b, row, i)) { /* Its entries remain 0. */
        const int places = velocitiesOn(tree, pair, common);
        entries += places;
        w->count += places;
        continue;
      }
      sunrealtype g[LOCAL];
      const Mask mask = bodiesGradient(b, row, k, i, g);
      pullGradient(b, bodiesRowTerm(b, row, k), mask, g, 1, tree->tau);
      addSizes(b, pair, common, mask, g, size);
      for (int side = 0; side < 2; side++)
        for (int n = treeNodeOf(tree, pair, side); n != common; n = tree->node[n].parent)
          for (int j = tree->node[n].u; j < tree->node[n].u + tree->node[n].nu; j++) {
            *next(w, row->first + i, j, 1) +=
                fabs(tree->tau[j]) > rounding * size[j] ? tree->tau[j] : 0;
            tree->tau[j] = size[j] = 0; /* the paths of both sides meet */
            entries++;
          }
    }
    if (!entries)
      *next(w, row->first + i, 0, 1) +=
          0; /* Nothing moves the row, which has a place all the same. */
  }
}

void treeGradient(const Mechanism *b, const Row *row, int i, sunrealtype *gradient) {
  for (int k = 0; k < row->nterms; k++) {
    sunrealtype g[LOCAL];
    const Mask mask = bodiesGradient(b, row, k, i, g);
    pullGradient(b, bodiesRowTerm(b, row, k), mask, g, 1, gradient);
  }
}

static void fillRows(const Mechanism *b, Writer *w) {
  memset(b->tree->size, 0, (size_t)b->tree->nu * sizeof *b->tree->size);
  for (int i = 0; i < b->nrows; i++) fillRow(b, &b->row[i], w);
  for (int i = 0; i < b->nrolls; i++) fillRow(b, &b->roll[i], w);
}

static int constraintMatrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *bodies) {
  (void)t;
  Mechanism *b = bodies;
  Writer w     = {.place = b->tree->rows.place};
  w.data       = SUNMatGetID(A) == SUNMATRIX_SPARSE ? SM_DATA_S(A) : SM_DATA_D(A);
  bodiesUpdate(b);
  if (!b->tree->bare) bodiesPoses(b, q, NULL, NULL);
  fillRows(b, &w);
  return 0;
}

/* ------------------------------------------------------------------------------- derivatives -- */

/* Puts a motion of a body, (v, w) in space, among the velocities of all bodies. */
static void putMotion(const Mechanism *b, int body, const sunrealtype *v, const sunrealtype *w,
                      sunrealtype *x) {
  x += b->space.nu * body;
  x[0] = v[0], x[1] = v[1];
  if (b->space.dimension == 2) x[2] = w[2];
  else x[2] = v[2], toBody(&b->pose[body], w, x + 3);
}

/* The motion of the frame in which velocity k of a node turns or moves its subtree: that of the parent, or, of a body
 * afloat, the motion of its centre of mass without rotation */
static Motion frameOf(const Tree *tree, int n) {
  const Node *node = &tree->node[n];
  Motion frame     = tree->motion[node->parent + 1];
  if (node->kind != AFLOAT) return frame;
  frame = tree->motion[n + 1];
  memset(frame.w, 0, sizeof frame.w);
  memset(frame.alpha, 0, sizeof frame.alpha);
  return frame;
}

/* Sets the motions J e_k, D_k (J u), D_k (J u' + c), d(J u' + c)/du_k of the bodies below velocity k, or the first one only if
 * all is 0. In the frame in which it turns its subtree about a, vectors x relative to it become a x x; those of bodies are
 * kept in their axes, which turn as well. */
static void moveAlong(const Mechanism *b, int k, int all) {
  const Tree *tree   = b->tree;
  const int n        = tree->node_of_velocity[k];
  const Axis s       = treeAxis(tree, k);
  const Motion *at   = &tree->motion[n + 1];
  const Motion frame = frameOf(tree, n);
  const Node *node   = &tree->node[n];
  sunrealtype across[3], turned[3], swung[3], a_rate[3], x[3], y[3], z[3];
  static const sunrealtype none[3] = {0, 0, 0};
  cross3(frame.w, s.a, across);
  /* the rate of a: of a swivel and a body afloat it turns with the node itself */
  if (node->kind == SWIVEL || (node->kind == AFLOAT && s.turns)) cross3(at->w, s.a, a_rate);
  else if (node->kind == AFLOAT) memset(a_rate, 0, sizeof a_rate);
  else memcpy(a_rate, across, sizeof a_rate);
  sunrealtype dV[6], dA[6], dS[6], own[6];
  if (s.screws && all) {
    customChange(node, k - node->u, dV, dA, dS);
    customVelocity(node, own);
    add3(1, dS, a_rate);
  }
  for (int i = n; i <= node->last; i++) {
    const int body = tree->node[i].body;
    if (body == NONE) continue;
    const Pose *pose = &b->pose[body];
    sunrealtype d[3], v[3], w[3], V[3] = {0, 0, 0}, W[3] = {0, 0, 0};
    for (int l = 0; l < 3; l++) d[l] = pose->r[l] - at->P[l];
    if (s.turns) {
      cross3(s.a, d, v), memcpy(w, s.a, sizeof w);
      if (s.screws) add3(1, s.v, v);
    } else memcpy(v, s.a, sizeof v), memset(w, 0, sizeof w);
    putMotion(b, body, v, w, tree->motion_k[0]);
    if (!all) continue;
    /* a x (v - v_f - w_f x (r - P_f)) + w_f x (a x d), and in the body's axes w_f x a */
    sunrealtype from[3], rel_v[3], rel_a[3], rel_w[3];
    for (int l = 0; l < 3; l++) from[l] = pose->r[l] - frame.P[l];
    cross3(frame.w, from, x);
    cross3(frame.w, x, y);
    cross3(frame.alpha, from, z);
    for (int l = 0; l < 3; l++) {
      rel_v[l] = pose->v[l] - frame.v[l] - x[l];
      rel_w[l] = pose->w[l] - frame.w[l];
      rel_a[l] = pose->acc[l] - frame.a[l] - z[l] - y[l];
    }
    cross3(frame.w, rel_v, x);
    add3(-2, x, rel_a);
    cross3(frame.w, v, turned);
    memcpy(V, turned, sizeof V);
    if (s.turns) {
      cross3(s.a, rel_v, x), add3(1, x, V);
      add3(1, across, W);
    }
    sunrealtype more[3], swing[3]; /* of a joint by functions: dV and dA at the body */
    if (s.screws) {
      cross3(dV, d, more), add3(1, dV + 3, more);
      add3(1, more, V), add3(1, dV, W);
    }
    putMotion(b, body, V, s.turns ? W : none, tree->motion_k[1]);
    /* alpha_f x (a x d) + w_f x (w_f x (a x d)) + 2 w_f x (a x rel_v) + a x rel_a */
    sunrealtype A[3], B[3] = {0, 0, 0};
    cross3(frame.alpha, v, A);
    cross3(frame.w, turned, x), add3(1, x, A);
    if (s.turns) {
      cross3(s.a, rel_v, x);
      cross3(frame.w, x, y), add3(2, y, A);
      cross3(s.a, rel_a, x), add3(1, x, A);
      /* w_f x (a x rel_w) - a x (alpha_f + w_f x rel_w) */
      cross3(s.a, rel_w, x);
      cross3(frame.w, x, y), add3(1, y, B);
      cross3(frame.w, rel_w, x);
      add3(1, frame.alpha, x);
      cross3(s.a, x, y), add3(-1, y, B);
    }
    if (s.screws) { /* dA + dV x (the velocity relative to the node) */
      sunrealtype eta[6];
      cross3(rel_w, d, x);
      for (int l = 0; l < 3; l++)
        eta[l] = rel_w[l] - own[l], eta[3 + l] = rel_v[l] - x[l] - own[3 + l];
      cross3(dV, eta, x), add3(1, dA, x); /* of the angular acceleration */
      add3(1, x, B);
      cross3(x, d, y), add3(1, y, A);
      add3(1, dA + 3, A);
      cross3(dV, eta + 3, y), add3(1, y, A);
      cross3(dV + 3, eta, y), add3(1, y, A);
      cross3(dV, rel_v, y), add3(1, y, A);
      cross3(rel_w, more, y), add3(1, y, A);
      cross3(frame.w, more, swing), add3(2, swing, A);
      cross3(frame.w, dV, swing), add3(1, swing, B);
    }
    putMotion(b, body, A, B, tree->motion_k[2]);
    /* the rate of (a x d, a), in the axes of the body, plus D_k (J u) */
    if (s.turns) {
      sunrealtype d_rate[3];
      for (int l = 0; l < 3; l++) d_rate[l] = pose->v[l] - at->v[l];
      cross3(a_rate, d, x), add3(1, x, V);
      cross3(s.a, d_rate, x), add3(1, x, V);
      cross3(pose->w, s.a, swung);
      for (int l = 0; l < 3; l++) W[l] += a_rate[l] - swung[l];
      if (s.screws) { /* the rate of its v */
        cross3(frame.w, s.v, x), add3(1, x, V);
        cross3(s.a, own + 3, x), add3(1, x, V);
        add3(1, dS + 3, V);
      }
    } else add3(1, a_rate, V);
    putMotion(b, body, V, W, tree->motion_k[3]);
  }
}

/* column: out, column k of J^T M_b J, where M_b has inertances between bodies */
static void coupledColumn(const Mechanism *b, int k, sunrealtype *column) {
  const Tree *tree = b->tree;
  const int n      = tree->node_of_velocity[k];
  memset(column, 0, (size_t)tree->nu * sizeof *column);
  memset(tree->product[0], 0, tree->length * sizeof *tree->product[0]);
  moveAlong(b, k, 0);
  multiply(b, PLAN_M, n, tree->node[n].last, 1, tree->motion_k[0], tree->product[0]);
  pull(b, tree->product[0], 0, tree->nnodes - 1, column);
}

int treeMassMatrix(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *bodies) {
  Mechanism *b = bodies;
  Tree *tree   = b->tree;
  bodiesPoses(b, q, NULL, NULL);
  addOnVelocities(b, t, q, NULL, NULL, tree->armature);
  if (tree->recursive) {
    const Entries entries = entriesOf(tree, M);
    if (treeMass(tree, &entries)) return -1;
    for (int k = 0; k < tree->nu; k++) *entryOf(&entries, k, k) += tree->armature[k];
    return 0;
  }
  Writer w = matrixOf(b, PLAN_M);
  if (!w.data) return -1;
  bodiesFillM(b, &w);
  for (int k = 0; k < tree->nu; k++) {
    coupledColumn(b, k, tree->column);
    tree->column[k] += tree->armature[k];
    putColumn(M, k, tree->column);
  }
  return 0;
}

/* The sums over each subtree of what acts on its bodies: F, the moments about their centres of mass, and F d^T with the
 * distances d from the origin of the node, from forces on bodies */
static void sumMoments(const Mechanism *b, const sunrealtype *force) {
  const Tree *tree = b->tree;
  memset(tree->moments, 0, (size_t)tree->nnodes * sizeof *tree->moments);
  memset(tree->sum, 0, (size_t)tree->nnodes * sizeof *tree->sum);
  for (int n = tree->nnodes - 1; n >= 0; n--) {
    const Node *node   = &tree->node[n];
    Wrench *own        = &tree->sum[n];
    sunrealtype(*T)[3] = tree->moments[n];
    if (node->body != NONE) {
      const Pose *pose = &b->pose[node->body];
      sunrealtype F[3], N[3], moment[3];
      forceOn(&b->space, force, node->body, F, N);
      toSpace(pose, N, moment);
      add3(1, F, own->F);
      add3(1, moment, own->N);
      for (int l = 0; l < 3; l++) add3(pose->r[l] - tree->motion[n + 1].P[l], F, T[l]);
    }
    if (node->parent == GROUND) continue;
    Wrench *up = &tree->sum[node->parent];
    add3(1, own->F, up->F);
    add3(1, own->N, up->N);
    for (int l = 0; l < 3; l++) {
      add3(1, T[l], tree->moments[node->parent][l]);
      add3(tree->motion[n + 1].r[l], own->F, tree->moments[node->parent][l]);
    }
  }
}

/* x . (T y - y tr T) for the moments T of node n */
static sunrealtype bend(const Tree *tree, int n, const sunrealtype *x, const sunrealtype *y) {
  sunrealtype(*T)[3] = tree->moments[n], z[3] = {0, 0, 0};
  for (int l = 0; l < 3; l++) add3(y[l], T[l], z);
  return dot3(x, z) - (T[0][0] + T[1][1] + T[2][2]) * dot3(x, y);
}

/* N: out, the moment about the origin of node n of all that acts on its subtree */
static void momentOf(const Tree *tree, int n, sunrealtype *N) {
  sunrealtype(*m)[3] = tree->moments[n]; /* its antisymmetric part is the moment of the forces */
  for (int k = 0; k < 3; k++) {
    const int i = (k + 1) % 3, j = (k + 2) % 3;
    N[k] = tree->sum[n].N[k] + m[i][j] - m[j][i];
  }
}

/* column += (D_k J)^T F: entry j is the change of S_j . (the sum over its subtree), where k moves the axis or the bodies. */
static void addTurned(const Tree *tree, int k, sunrealtype *column) {
  const int n    = tree->node_of_velocity[k];
  const Axis s   = treeAxis(tree, k);
  const Wrench w = tree->sum[n];
  sunrealtype x[3];
  for (int i = n; s.turns && i <= tree->node[n].last; i++) /* axes that turn with k */
    for (int j = tree->node[i].u; j < tree->node[i].u + tree->node[i].nu; j++) {
      const Axis of = treeAxis(tree, j);
      if (of.turns) column[j] += bend(tree, i, of.a, s.a);
      if (of.screws || tree->node[i].kind == SLIDE) {
        cross3(s.a, of.screws ? of.v : of.a, x);
        column[j] += dot3(x, tree->sum[i].F);
      }
    }
  for (int j = 0; s.screws && j < tree->node[n].nu; j++) {
    Screw d;
    customChangeOf(&tree->node[n], k - tree->node[n].u, j, d);
    sunrealtype N[3];
    momentOf(tree, n, N);
    column[tree->node[n].u + j] += dot3(d, N) + dot3(d + 3, w.F);
  }
  for (int i = tree->node[n].parent; i != GROUND; i = tree->node[i].parent)
    for (int j = tree->node[i].u; j < tree->node[i].u + tree->node[i].nu; j++) {
      const Axis of = treeAxis(tree, j);
      if (!of.turns) continue;
      cross3(of.a, s.a, x);
      column[j] += s.turns ? bend(tree, n, s.a, of.a) + dot3(w.N, x) : dot3(w.F, x);
      if (s.screws) cross3(of.a, s.v, x), column[j] += dot3(w.F, x);
    }
}

/* force: out, f_b - M_b (J u' + c) - A_b^T lambda. Returns what a user's function returned. */
static int residual(Mechanism *b, sunrealtype t, const sunrealtype *lambda, sunrealtype *force) {
  int flag = forcesOnBodies(b, t, force);
  if (!flag) flag = bodiesAddLaws(b, 1, t, lambda, force);
  for (int r = 0; r < b->nrows + b->nrolls; r++) {
    const Row *row  = bodiesRow(b, r);
    const int count = bodiesComponents(b, row);
    for (int i = 0; i < count; i++)
      for (int k = 0; k < row->nterms && lambda[row->first + i] != 0; k++) {
        sunrealtype g[LOCAL];
        /* a coordinate of the tree: what it does to the bodies depends on none */
        if (bodiesRowTerm(b, row, k)->m.kind == OWN) continue;
        const Mask mask = bodiesGradient(b, row, k, i, g);
        EACH_DIRECTION(&b->space, mask.g, j)
        force[bodiesColumnOf(&b->space, &b->pair[bodiesRowTerm(b, row, k)->pair], j)] -=
            lambda[row->first + i] * g[j];
      }
  }
  return flag;
}

/* What passes the joint balances the rest of the forces on the bodies behind it, in the directions in which it does not move. */
int treeReaction(Mechanism *b, sunrealtype t, const sunrealtype *lambda, int joint, sunrealtype *F,
                 sunrealtype *T) {
  const Tree *tree = b->tree;
  const Pair *pair = &b->pair[b->joint[joint].pair];
  const int side   = treeSide(tree, b, joint);
  const int n      = tree->node_of_body[pair->side[side].body];
  const int flag   = residual(b, t, lambda, tree->force);
  sunrealtype N[3];
  if (flag) return flag;
  sumMoments(b, tree->force);
  memcpy(F, tree->sum[n].F, sizeof tree->sum[n].F);
  momentOf(tree, n, N);
  for (int k = n; k != GROUND && tree->node[k].joint == joint; k = tree->node[k].parent) {
    const sunrealtype *z = tree->motion[k + 1].R[2];
    if (tree->node[k].kind == HINGE) add3(-dot3(z, N), z, N);
    if (tree->node[k].kind == SLIDE) add3(-dot3(z, F), z, F);
    if (tree->node[k].kind == SWIVEL) memset(N, 0, sizeof N);
    if (tree->node[k].kind == CUSTOM) {
      Wrench w;
      memcpy(w.F, F, sizeof w.F), memcpy(w.N, N, sizeof w.N);
      customConstrain(&tree->node[k], &w);
      memcpy(F, w.F, sizeof w.F), memcpy(N, w.N, sizeof w.N);
    }
  }
  const sunrealtype sign = side ? -1 : 1;
  for (int k = 0; k < 3; k++) F[k] *= sign, T[k] = sign * N[k];
  if (side == 0) { /* about P_b */
    Moving d;
    sunrealtype lever[3];
    bodiesSpan(pair, bodiesPose(b, pair->side[0].body), bodiesPose(b, pair->side[1].body), VALUES,
               &d);
    cross3(d.x, F, lever);
    add3(-1, lever, T);
  }
  return 0;
}

static void addOnTree(const Mechanism *b, const Law *law, sunrealtype T_z, sunrealtype *column) {
  for (int k = 0; k < law->nterms; k++) {
    const Term *term = bodiesLawTerm(b, law, k);
    Jet jet;
    if (law->on_tree) {
      column[term->velocity] += bodiesShare(b, term) * T_z;
      continue;
    }
    bodiesTermJet(b, term, GRADIENT, &jet);
    pullGradient(b, term, bodiesTermMask(b, term), jet.g, bodiesWeight(b, term) * T_z, column);
  }
}

static int dynamicsJac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                       SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *bodies) {
  Mechanism *b       = bodies;
  Tree *tree         = b->tree;
  const Entries to[] = {entriesOf(tree, K), entriesOf(tree, C)};
  b->z               = z;
  /* Forces on bodies, and rows that are no sums of coordinates, are differentiated body by body, and their motions with them. */
  if (tree->plain && treeIsRecursive(b) && tree->nothers + b->nforces == 0 &&
      (b->nv == 0 || tree->bare)) {
    int failed = treeSubtractDerivatives(b, q, u, udot, &to[0], &to[1]);
    if (!failed) failed = addSlopes(b, t, q, u, lambda, &to[0], &to[1]);
    return failed ? failed : bodiesFillFz(b, t, q, u, addOnTree, Fz);
  }
  bodiesPoses(b, q, u, udot);
  Writer to_M = matrixOf(b, PLAN_M), to_K = matrixOf(b, PLAN_K), to_C = matrixOf(b, PLAN_C);
  if (!to_M.data || !to_K.data || !to_C.data) return -1;
  bodiesFillM(b, &to_M);
  int flag = bodiesFillDynamics(b, t, tree->twist, lambda, &to_K, &to_C);
  if (!flag) flag = residual(b, t, lambda, tree->force);
  if (flag) return flag;
  sumMoments(b, tree->force);
  for (int k = 0; k < tree->nu; k++) {
    const int n = tree->node_of_velocity[k], last = tree->node[n].last;
    const int low = tree->apart ? n : 0, high = tree->apart ? last : tree->nnodes - 1;
    sunrealtype *const *m = tree->motion_k, *of_K = tree->product[0], *of_C = tree->product[1];
    memset(of_K, 0, tree->length * sizeof *of_K);
    memset(of_C, 0, tree->length * sizeof *of_C);
    memset(tree->column, 0, (size_t)tree->nu * sizeof *tree->column);
    memset(tree->other, 0, (size_t)tree->nu * sizeof *tree->other);
    moveAlong(b, k, 1);
    multiply(b, PLAN_K, n, last, 1, m[0], of_K);
    multiply(b, PLAN_C, n, last, 1, m[1], of_K);
    multiply(b, PLAN_M, n, last, -1, m[2], of_K);
    multiply(b, PLAN_C, n, last, 1, m[0], of_C);
    multiply(b, PLAN_M, n, last, -1, m[3], of_C);
    pull(b, of_K, low, high, tree->column);
    pull(b, of_C, low, high, tree->other);
    addTurned(tree, k, tree->column);
    putColumn(K, k, tree->column);
    putColumn(C, k, tree->other);
  }
  flag = addSlopes(b, t, q, u, lambda, &to[0], &to[1]);
  return flag ? flag : bodiesFillFz(b, t, q, u, addOnTree, Fz);
}

/* of_q, of_u += the derivatives of b - A u' = ... - f'' x'^2 - f' x'' of functions f of own coordinates, of which velocity k is one */
static void addOwnBends(const Mechanism *b, int k, const sunrealtype *u, const sunrealtype *udot,
                        sunrealtype *of_q, sunrealtype *of_u) {
  for (int i = 0; i < b->nrows + b->nrolls; i++)
    for (int l = 0; l < bodiesRow(b, i)->nterms; l++) {
      const Row *row   = bodiesRow(b, i);
      const Term *term = bodiesRowTerm(b, row, l);
      sunrealtype bend[3];
      if (term->velocity != k || !treeOwnBend(b, term, bend)) continue;
      const sunrealtype c = bodiesWeight(b, term);
      of_q[row->first] -= c * (bend[2] * u[k] * u[k] + (udot ? bend[1] * udot[k] : 0));
      of_u[row->first] -= c * 2 * bend[1] * u[k];
    }
}

static int constraintJac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                         const sunrealtype *udot, SUNMatrix Bq, SUNMatrix Bu, void *bodies) {
  (void)t;
  Mechanism *b = bodies;
  Tree *tree   = b->tree;
  bodiesPoses(b, q, u, udot);
  Writer to_A = matrixOf(b, PLAN_A), to_q = matrixOf(b, PLAN_BQ), to_u = matrixOf(b, PLAN_BU);
  if (!to_A.data || !to_q.data || !to_u.data) return -1;
  bodiesFillA(b, &to_A);
  bodiesFillB(b, &to_q, &to_u);
  for (int k = 0; k < tree->nu; k++) {
    const int n = tree->node_of_velocity[k], last = tree->node[n].last;
    sunrealtype *const *m = tree->motion_k, *of_q = tree->product[0], *of_u = tree->product[1];
    memset(of_q, 0, (size_t)b->nv * sizeof *of_q);
    memset(of_u, 0, (size_t)b->nv * sizeof *of_u);
    moveAlong(b, k, 1);
    multiply(b, PLAN_BQ, n, last, 1, m[0], of_q);
    multiply(b, PLAN_BU, n, last, 1, m[1], of_q);
    multiply(b, PLAN_A, n, last, -1, m[2], of_q);
    multiply(b, PLAN_BU, n, last, 1, m[0], of_u);
    multiply(b, PLAN_A, n, last, -1, m[3], of_u);
    addOwnBends(b, k, u, udot, of_q, of_u);
    putColumn(Bq, k, of_q);
    putColumn(Bu, k, of_u);
  }
  return 0;
}

/* ------------------------------------------------------------------------------------- model -- */

/* Marks the velocities on the way from a node to the root, up to one that is marked already, and lists entries for them. */
static void markPath(const Tree *tree, int n, int *mark, int k, Writer *w) {
  for (; n != GROUND; n = tree->node[n].parent) {
    const Node *node = &tree->node[n];
    if (mark[n] == k) return;
    mark[n] = k;
    for (int j = 0; j < node->nu; j++) *next(w, node->u + j, k, 1) += 0;
  }
}

/* Does a matrix of the bodies have entries of two bodies? */
static int isApart(const Mechanism *b, int plan) {
  const SUNMatrix S = b->plan[plan].tmpl;
  const int nu      = b->space.nu;
  for (sunindextype j = 0; j < SM_COLUMNS_S(S); j++)
    for (sunindextype p = SM_INDEXPTRS_S(S)[j]; p < SM_INDEXPTRS_S(S)[j + 1]; p++)
      if (SM_INDEXVALS_S(S)[p] / nu != j / nu) return 0;
  return 1;
}

/* A tree without rows needs no matrices for u', and those of long branches are full: M of a chain of n bodies has n^2 entries. It
 * goes without where rows of M have more entries on average than take the memory of one body by the explicit methods. */
int treeHasMatrices(const Mechanism *b) {
  enum { MOST_IN_ROW = 256 };
  const Tree *tree = b->tree;
  double entries   = 0;
  if (!tree || b->nv > 0 || !tree->recursive) return 1;
  for (int n = 0; n < tree->nnodes;
       n++) { /* its subtree, and as many on the other side of the diagonal */
    const Node *last = &tree->node[tree->node[n].last];
    entries += 2.0 * tree->node[n].nu * (last->u + last->nu - tree->node[n].u);
  }
  return entries <= (double)MOST_IN_ROW * tree->nu;
}

/* Friction depends on multipliers. */
int treeIsRecursive(const Mechanism *b) { return b->tree->recursive && b->nfrictions == 0; }

/* Returns 0, or 1 without memory. */
static int listDiagonal(Tree *tree) {
  const sunindextype *start = SM_INDEXPTRS_S(tree->square.tmpl),
                     *row   = SM_INDEXVALS_S(tree->square.tmpl);
  free(tree->diagonal);
  tree->diagonal = malloc((size_t)tree->nu * sizeof *tree->diagonal);
  for (int k = 0; k < tree->nu && tree->diagonal; k++) {
    sunindextype p = start[k];
    while (row[p] < k) p++;
    tree->diagonal[k] = p;
  }
  return !tree->diagonal;
}

int treeMakePlans(Mechanism *b, SUNContext ctx) {
  static const int plans[] = {PLAN_M, PLAN_K, PLAN_C};
  Tree *tree               = b->tree;
  const int sparse = tree->nu >= SPARSE_FROM, nu = b->space.nu;
  Writer square = {0}, rows = {0};
  if (!treeHasMatrices(b)) return 0;
  int *mark = malloc(((size_t)tree->nnodes + 1) * sizeof *mark);
  if (!mark) return -1;
  tree->apart = isApart(b, PLAN_K) && isApart(b, PLAN_C) && isApart(b, PLAN_M);
  for (int n = 0; n < tree->nnodes; n++) mark[n] = NONE;
  for (int k = 0; k < tree->nu; k++) {
    const int n = tree->node_of_velocity[k];
    for (int i = n; i <= tree->node[n].last; i++) {
      const int body = tree->node[i].body;
      markPath(tree, i, mark, k, &square);
      for (int l = 0; body != NONE && !tree->apart && l < 3; l++) {
        const SUNMatrix S = b->plan[plans[l]].tmpl;
        for (sunindextype p = SM_INDEXPTRS_S(S)[nu * body]; p < SM_INDEXPTRS_S(S)[nu * (body + 1)];
             p++)
          markPath(tree, tree->node_of_body[SM_INDEXVALS_S(S)[p] / nu], mark, k, &square);
      }
    }
  }
  free(mark);
  for (int i = 0; i < b->nlaws; i++) /* sums couple their coordinates */
    for (int k = 0; k < b->law[i].nterms && b->law[i].on_tree; k++)
      for (int l = 0; l < b->law[i].nterms; l++)
        next(&square, bodiesLawTerm(b, &b->law[i], k)->velocity,
             bodiesLawTerm(b, &b->law[i], l)->velocity, 1);
  if (b->nv > 0) { /* at the placement, where surfaces are defined */
    sunrealtype *start = calloc((size_t)(tree->nq + tree->nu) + 1, sizeof *start);
    if (!start || treeStart(b, start, start + tree->nq)) square.failed = 1;
    else {
      bodiesPoses(b, start, NULL, NULL);
      fillRows(b, &rows);
    }
    free(start);
  }
  int failed = bodiesMakePlan(&square, tree->nu, tree->nu, sparse, ctx, &tree->square) != 0;
  if (!failed && sparse) failed = listDiagonal(tree);
  if (b->nv > 0) failed |= bodiesMakePlan(&rows, b->nv, tree->nu, sparse, ctx, &tree->rows) != 0;
  return failed ? -1 : 0;
}

void treeTakeFunctions(const Mechanism *b, CPEquations *e) {
  const Tree *tree = b->tree;
  e->typical       = 1;
  if (!treeHasMatrices(b)) {
    e->udot = treeAccelerations;
    return;
  }
  e->M            = treeMassMatrix;
  e->M_tmpl       = tree->square.tmpl;
  e->f            = forces;
  e->dynamics_jac = dynamicsJac;
  e->K_tmpl       = tree->square.tmpl;
  e->C_tmpl       = tree->square.tmpl;
  if (b->nv > 0) {
    e->A_tmpl         = tree->rows.tmpl;
    e->A              = constraintMatrix;
    e->constraint_jac = constraintJac;
    e->Bq_tmpl        = tree->rows.tmpl;
    e->Bu_tmpl        = tree->rows.tmpl;
  }
  if (treeIsRecursive(b)) e->udot = treeAccelerations, e->use_rows = b->nv > 0 ? treeUseRows : NULL;
  if (b->nfrictions > 0) {
    e->f_lambda   = frictions;
    e->lambda_jac = frictionsJac;
  }
}
