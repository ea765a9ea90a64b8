/* The functions of the CPMech in joint coordinates. With the velocities J u and the accelerations J u' + c of the bodies, whose
 * mass matrix, forces and constraint matrix in absolute coordinates are M_b, f_b and A_b,
 *
 *   M = J^T M_b J,   f = J^T (f_b - M_b c),   A = A_b J,   b = b_b - A_b c,
 *
 * where M comes from composite bodies, u' from articulated ones (articulated.c), and the rest from the elements, evaluated
 * at the poses of the bodies. Partial derivatives along velocity k follow from those of the bodies' motions (J e_k, D_k J u,
 * D_k (J u' + c), and d(J u' + c)/du_k; Carpentier and Mansard, Robotics: Science and Systems 14, 2018): those of M u', weights and
 * forces on bodies over composite bodies (inverse.c), and those of a row with the derivatives B_q, B_u of its s'' as
 *
 *   Bq e_k = -(B_q J e_k + B_u D_k (J u) + A_b D_k (J u' + c)),   Bu e_k = -(B_u J e_k + A_b d(J u' + c)/du_k) */
#include "blocks.h"
#include "laws.h"
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
  const Tree *tree = b->tree;
  int flag         = 0;
  if (armature) memset(armature, 0, (size_t)tree->nu * sizeof *armature);
  for (const Line *line = tree->line; line < tree->line + tree->nlines; line++) {
    const sunrealtype share = bodiesShare(b, &b->term[line->term]);
    sunrealtype stretch, rate, force;
    if (tau) {
      lineAt(b, line, q, u, &stretch, &rate, &force);
      tau[line->u] += share * (force + lawSpring(b->param + line->param, stretch, rate));
    }
    if (armature && line->inertance != NONE)
      armature[line->u] += share * share * b->param[line->inertance];
  }
  for (int i = 0; i < tree->nfull && !flag; i++) {
    const Law *law   = &b->law[tree->full[i]];
    sunrealtype T[3] = {0}, x, rate;
    if (!law->on_tree) continue;
    if (tau) {
      lawAtTree(b, law, q, u, &x, &rate);
      flag = lawForce(b, law, t, x, rate, 0, VALUES, T);
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

/* The last node that moves both bodies of a pair, with which measures of this kind do not change. P_b - P_a in space changes with all
 * nodes, and so does a part of a path between three bodies. */
static int commonNode(const Tree *tree, const Pair *pair, MeasureKind kind) {
  if (kind == POINT || kind == WRAP) return GROUND;
  return treeJoin(tree, treeNodeOf(tree, pair, 0), treeNodeOf(tree, pair, 1));
}

/* Adds scale times the part of a gradient g [LOCAL] that acts on one side of a pair, as a force on its body, to the wrench of its node. */
static void addSide(const Mechanism *b, const Pair *pair, int side, Mask mask, const sunrealtype *g,
                    sunrealtype scale, Wrench *wrench) {
  const int body = pair->side[side].body;
  if (body == GROUND) return;
  sunrealtype F[3] = {0, 0, 0}, N[3] = {0, 0, 0};
  EACH_DIRECTION(&b->space, mask.g & (side ? 0xCu : 0x3u), j)
  (j % 6 < 3 ? F : N)[j % 3] = scale * g[j];
  treeAddWrench(b, b->tree, body, F, N, wrench);
}

void treeAddGradient(const Mechanism *b, const Pair *pair, int common, Mask mask,
                     const sunrealtype *g, sunrealtype scale, sunrealtype *tau) {
  const Tree *tree = b->tree;
  for (int side = 0; side < 2; side++) {
    const int n = treeNodeOf(tree, pair, side);
    if (n == GROUND) continue;
    memset(&tree->wrench[n], 0, sizeof *tree->wrench);
    addSide(b, pair, side, mask, g, scale, tree->wrench);
    treeAlongPath(tree, n, common, tree->wrench[n], tau);
  }
}

/* The same for a gradient of a measure */
static void pullGradient(const Mechanism *b, const Term *term, Mask mask, const sunrealtype *g,
                         sunrealtype scale, sunrealtype *tau) {
  const Pair *pair = &b->pair[term->pair];
  treeAddGradient(b, pair, commonNode(b->tree, pair, term->m.kind), mask, g, scale, tau);
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
  if (!flag && targets) flag = bodiesFillTargets(b, t, q, u, targets);
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

static Entries entriesOf(const Tree *tree, SUNMatrix S) {
  if (SUNMatGetID(S) == SUNMATRIX_SPARSE)
    return (Entries){SM_DATA_S(S), (int)SM_ROWS_S(S), SM_INDEXVALS_S(S), tree->diagonal, 0};
  return (Entries){SM_DATA_D(S), (int)SM_ROWS_D(S), NULL, NULL, 0};
}
static sunrealtype *entryOf(const Entries *e, int i, int j) {
  sunindextype at = e->row ? e->diagonal[j] : 0;
  return e->data + treeEntry(e, i, j, &at);
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
    flag = bodiesLaw(b, law, t, x, rate, 0, GRADIENT, T);
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

/* ------------------------------------------------------------------------------- constraints -- */

/* Entries of A below this part of their terms are roundoff. */
#define ROUNDING (16 * DBL_EPSILON)

/* |F| and |N| of the force and the moment that the gradient g makes on one side */
static void strengthOf(const Mechanism *b, int side, Mask mask, const sunrealtype *g,
                       sunrealtype strength[2]) {
  strength[0] = strength[1] = 0;
  EACH_DIRECTION(&b->space, mask.g & (side ? 0xCu : 0x3u), j)
  strength[j % 6 >= 3] += g[j] * g[j];
  for (int k = 0; k < 2; k++) strength[k] = sqrt(strength[k]);
}

/* size [nu] += what terms of the entries of a row could amount to: the moments |N| + |d| |F|, or forces |F|, that the gradient g
 * makes on the nodes from both bodies on. */
static void addSizes(const Mechanism *b, const Pair *pair, int common, Mask mask,
                     const sunrealtype *g, sunrealtype *size) {
  const Tree *tree = b->tree;
  for (int side = 0; side < 2; side++) {
    sunrealtype strength[2], d[3];
    strengthOf(b, side, mask, g, strength);
    for (int n = treeNodeOf(tree, pair, side); n != common; n = tree->node[n].parent) {
      const Node *node = &tree->node[n];
      for (int k = 0; k < 3; k++)
        d[k] = b->pose[pair->side[side].body].r[k] - tree->motion[n + 1].P[k];
      const sunrealtype F = strength[0], moment = strength[1] + sqrt(dot3(d, d)) * F;
      for (int j = 0; j < node->nu; j++) {
        const Axis s = treeAxis(tree, node->u + j);
        size[node->u + j] += s.screws  ? length3(s.a) * moment + length3(s.v) * F
                             : s.turns ? moment
                                       : F;
      }
    }
  }
}

/* Is an entry of a row, in tau, so small, but not 0, that it takes its size to know whether it is roundoff? No size exceeds
 * |N| + (1 + |d|) |F|, except of custom joints. */
static int areSmall(const Mechanism *b, const Pair *pair, int common, Mask mask,
                    const sunrealtype *g, const sunrealtype *tau) {
  const Tree *tree  = b->tree;
  sunrealtype least = INFINITY, bound = 0;
  for (int side = 0; side < 2; side++) {
    sunrealtype strength[2], longest = 0;
    const int first = treeNodeOf(tree, pair, side);
    if (first == common) continue;
    const sunrealtype *r = b->pose[pair->side[side].body].r;
    for (int n = first; n != common; n = tree->node[n].parent) {
      const Node *node     = &tree->node[n];
      const sunrealtype *P = tree->motion[n + 1].P;
      if (node->kind == CUSTOM) return 1;
      longest = fmax(longest, fabs(r[0] - P[0]) + fabs(r[1] - P[1]) + fabs(r[2] - P[2]));
      for (int j = node->u; j < node->u + node->nu; j++)
        if (tau[j] != 0) least = fmin(least, fabs(tau[j]));
    }
    strengthOf(b, side, mask, g, strength);
    bound += strength[1] + (1 + longest) * strength[0];
  }
  return least <= ROUNDING * bound;
}

/* The number of velocities on the paths from both bodies of a pair to the node that moves both */
static int velocitiesOn(const Tree *tree, const Pair *pair, int common) {
  int count = 0;
  for (int side = 0; side < 2; side++)
    for (int n = treeNodeOf(tree, pair, side); n != common; n = tree->node[n].parent)
      count += tree->node[n].nu;
  return count;
}

/* The jet of term k of component i of a row: its gradient and the derivatives of s'', with the term's factor; 0 where they have none */
static void curvature(const Mechanism *b, const Row *row, int k, int i, Jet *jet) {
  const Term *term    = bodiesRowTerm(b, row, k);
  const Mask mask     = bodiesTermMask(b, term);
  const sunrealtype c = bodiesWeight(b, term);
  Jet own;
  memset(jet, 0, sizeof *jet);
  bodiesGradient(b, row, k, i, jet);
  memset(jet->acc_q, 0, sizeof jet->acc_q);
  memset(jet->acc_u, 0, sizeof jet->acc_u);
  if (term->m.kind == POINT) {
    const Pair *pair = &b->pair[term->pair];
    Moving d;
    sunrealtype D[3];
    bodiesSpan(pair, bodiesPose(b, pair->side[0].body), bodiesPose(b, pair->side[1].body),
               ACCELERATION, &d);
    EACH_DIRECTION(&b->space, mask.g & 0xA, j) {
      bodiesMovingAcc(&d, j, D), jet->acc_q[j]  = -D[i];
      bodiesMovingAccU(&d, j, D), jet->acc_u[j] = -D[i];
    }
  } else if (mask.H) {
    bodiesTermJet(b, term, ACCELERATION, &own);
    EACH_DIRECTION(&b->space, mask.g, j)
    jet->acc_q[j] = c * own.acc_q[j], jet->acc_u[j] = c * own.acc_u[j];
  }
}

/* by_q, by_u [nu] += scale times the derivatives along the velocities below `common` of a function of the motions of the bodies of a pair,
 * of s'' if the jet is that of a measure (treeAddSlopes). In axes that turn with S the acceleration of a body changes by psi', by
 * 2 psi_w x v at its centre, and by psi_w x w in its axes; vectors of space turn as well:
 *
 *   acc_q . S + acc_u . (psi + S_w x v) + g . (psi' + S_w x a + 2 psi_w x v),   psi_w x w */
static void addCurvature(const Mechanism *b, const Pair *pair, int common, const Jet *jet,
                         sunrealtype scale, sunrealtype *by_q, sunrealtype *by_u) {
  const Tree *tree = b->tree;
  const Mask all   = {0xF, 0};
  for (int side = 0; side < 2; side++) {
    const int n = treeNodeOf(tree, pair, side);
    if (n == GROUND) continue;
    const Pose *pose = &b->pose[pair->side[side].body];
    sunrealtype of[3][LOCAL], x[3], N[3];
    Wrench wrench[3];
    memcpy(of[0], jet->acc_q, sizeof of[0]);
    memcpy(of[1], jet->acc_u, sizeof of[1]);
    memcpy(of[2], jet->g, sizeof of[2]);
    cross3(pose->v, of[1] + 6 * side, x), toBody(pose, x, N);
    add3(1, N, of[0] + 6 * side + 3);
    cross3(pose->acc, of[2] + 6 * side, x), toBody(pose, x, N);
    add3(1, N, of[0] + 6 * side + 3);
    cross3(pose->v, of[2] + 6 * side, x), toBody(pose, x, N);
    add3(2, N, of[1] + 6 * side + 3);
    toBody(pose, pose->w, x), cross3(x, of[2] + 6 * side + 3, N);
    add3(1, N, of[1] + 6 * side + 3);
    for (int l = 0; l < 3; l++) {
      memset(&tree->wrench[n], 0, sizeof *tree->wrench);
      addSide(b, pair, side, all, of[l], scale, tree->wrench);
      wrench[l] = tree->wrench[n];
    }
    treeAlongMotions(tree, n, common, wrench, by_q, by_u);
  }
}

void treeAddSlopes(const Mechanism *b, const Pair *pair, const Jet *jet, sunrealtype scale,
                   sunrealtype *by_q, sunrealtype *by_u) {
  addCurvature(b, pair, GROUND, jet, scale, by_q, by_u);
}

/* by_q, by_u [nu] -= the derivatives of f'' x'^2 + f' x'' of a function f of an own coordinate x */
static void addOwnBend(const Mechanism *b, const Term *term, const sunrealtype *u,
                       const sunrealtype *udot, sunrealtype *by_q, sunrealtype *by_u) {
  const int k         = term->velocity;
  const sunrealtype c = bodiesWeight(b, term);
  sunrealtype bend[3];
  if (!treeOwnBend(b, term, bend)) return;
  by_q[k] -= c * (bend[2] * u[k] * u[k] + (udot ? bend[1] * udot[k] : 0));
  by_u[k] -= c * 2 * bend[1] * u[k];
}

/* Two components of a point, by the places of their n entries */
static sunrealtype product(const Writer *w, sunindextype x, sunindextype y, int n) {
  sunrealtype sum = 0;
  for (int e = 0; e < n; e++) sum += w->data[w->place[x + e]] * w->data[w->place[y + e]];
  return sum;
}

/* The length of what remains of component x without its parts along p and, unless that is nearly parallel to p, along q */
static sunrealtype restOf(const Writer *w, sunindextype x, sunindextype p, sunindextype q, int n,
                          sunrealtype shortest) {
  const sunrealtype pp = product(w, p, p, n), xp = product(w, x, p, n) / pp,
                    qp = product(w, q, p, n) / pp, qq = product(w, q, q, n) - qp * qp * pp;
  const int spans      = qq > shortest * shortest;
  const sunrealtype xq = spans ? (product(w, x, q, n) - xp * qp * pp) / qq : 0;
  sunrealtype sum      = 0;
  for (int e = 0; e < n; e++) {
    const sunrealtype rest = w->data[w->place[x + e]] - (xp - xq * qp) * w->data[w->place[p + e]] -
                             xq * w->data[w->place[q + e]];
    sum += rest * rest;
  }
  return sqrt(sum);
}

/* The length of what terms of the entries of component i could amount to, at those where the one at `longest` is not 0 */
static sunrealtype termsOf(const Mechanism *b, const Row *row, int i, const Writer *w,
                           sunindextype longest) {
  const Tree *tree = b->tree;
  const Pair *pair = &b->pair[bodiesRowTerm(b, row, 0)->pair];
  const int common = commonNode(tree, pair, POINT);
  sunrealtype sum  = 0;
  Jet jet;
  const Mask mask = bodiesGradient(b, row, 0, i, &jet);
  addSizes(b, pair, common, mask, jet.g, tree->size);
  for (int side = 0; side < 2; side++)
    for (int n = treeNodeOf(tree, pair, side); n != common; n = tree->node[n].parent)
      for (int j = tree->node[n].u; j < tree->node[n].u + tree->node[n].nu; j++, longest++) {
        if (w->data[w->place[longest]] != 0) sum += tree->size[j] * tree->size[j];
        tree->size[j] = 0;
      }
  return sqrt(sum);
}

/* The distance of the two points of a pair */
static sunrealtype openingOf(const Mechanism *b, const Pair *pair) {
  Moving d;
  bodiesSpan(pair, bodiesPose(b, pair->side[0].body), bodiesPose(b, pair->side[1].body), VALUES, &d);
  return length3(d.x);
}

/* The components of a point along the axes of space, whose entries begin at `first`. If it can move in a plane that is nearly across an
 * axis, the component along that depends on the others, as far as the points meet, and but for the roundoff of levers; divided by
 * its length, the sine of the tilt, that looks like an angle to them, and roundoff of its residual like a violation. Where it
 * could, the others close it, and it gets the entries of a plane that is exactly across: 0, which are off by the tilt, 4e-4 at most. */
static void leaveToOthers(const Mechanism *b, const Row *row, int count, const Writer *w,
                          sunindextype first) {
  static const sunrealtype apparent =
      SUN_RCONST(1e-11); /* a tenth of the least sine of independent rows */
  const Pair *pair = &b->pair[bodiesRowTerm(b, row, 0)->pair];
  const int n      = (int)(w->count - first) / count;
  sunrealtype most = 0, square[3];
  int longest      = 0;
  for (int i = 0; i < count; i++) {
    square[i] = product(w, first + i * n, first + i * n, n);
    if (square[i] > most) most = square[i], longest = i;
  }
  for (int i = 0; i < count; i++) {
    if (square[i] == 0 || square[i] > SUN_RCONST(1e-6) * most) continue;
    const sunindextype x = first + i * n, p = first + longest * n,
                       q       = first + (3 - i - longest) % count * n;
    const sunrealtype rounding = ROUNDING *
                                 termsOf(b, row, i, w, p), /* of entries that are kept, or are 0 */
        shortest = rounding / apparent;
    if (square[i] > shortest * shortest ||
        restOf(w, x, p, q, n, shortest) > 2 * (rounding + openingOf(b, pair)))
      continue;
    for (int e = 0; e < n; e++) w->data[w->place[x + e]] = 0;
  }
}

/* Adds the components of P_a - P_b to A, all at once: a x d for a node that turns about a, where d leads from its origin to the point
 * that moves with it or, if both do, from P_b to P_a. */
static void fillPoint(const Mechanism *b, const Row *row, int count, Writer *w) {
  const Tree *tree          = b->tree;
  const Pair *pair          = &b->pair[bodiesRowTerm(b, row, 0)->pair];
  const int n               = velocitiesOn(tree, pair, GROUND),
            from[2]         = {treeNodeOf(tree, pair, 0), treeNodeOf(tree, pair, 1)},
            join            = treeJoin(tree, from[0], from[1]);
  const sunindextype *place = w->place + w->count;
  sunrealtype point[2][3],
      moment[2][3]; /* |N| of unit forces at the points about the bodies' centres */
  for (int side = 0; side < 2; side++) {
    const Pose *pose = bodiesPose(b, pair->side[side].body);
    sunrealtype *x   = point[side];
    toSpace(pose, pair->side[side].point, x);
    for (int c = 0; c < 3; c++) {
      const sunrealtype y = x[(c + 1) % 3], z = x[(c + 2) % 3];
      moment[side][c] = sqrt(y * y + z * z);
    }
    add3(1, pose->r, x);
  }
  for (int side = 0; side < 2; side++)
    for (int k = from[side], both = k == join; k != GROUND;
         k = tree->node[k].parent, both |= k == join) {
      const Node *node     = &tree->node[k];
      const sunrealtype *P = tree->motion[k + 1].P, sign = side ? -1 : 1;
      sunrealtype d[3], most[3] = {0, 0, 0}; /* most: the largest possible entries */
      for (int c = 0; c < 3; c++)
        d[c] = both ? point[0][c] - point[1][c] : sign * (point[side][c] - P[c]);
      for (int s = side; s < (both ? 2 : side + 1); s++) {
        sunrealtype x[3];
        for (int c = 0; c < 3; c++) x[c] = b->pose[pair->side[s].body].r[c] - P[c];
        const sunrealtype length = length3(x);
        for (int c = 0; c < 3; c++) most[c] += moment[s][c] + length;
      }
      for (int j = 0; j < node->nu && !(side && both); j++) {
        const Axis s     = treeAxis(tree, node->u + j);
        sunrealtype x[3] = {0, 0, 0};
        if (s.turns) cross3(s.a, d, x);
        if (!both && (s.screws || !s.turns)) add3(sign, s.screws ? s.v : s.a, x);
        for (int c = 0; c < count; c++) {
          const sunrealtype size = s.screws  ? length3(s.a) * most[c] + length3(s.v) * (1 + both)
                                   : s.turns ? most[c]
                                             : 1;
          if (fabs(x[c]) > ROUNDING * size && !bodiesIsOff(b, row, c))
            w->data[place[c * n + j]] += x[c];
        }
      }
      place += node->nu;
    }
  w->count += count * (n > 0 ? n : 1); /* A row that nothing moves has a place all the same. */
}

/* Adds one row of A, or lists its blocks; or, where Bu is not NULL, one row of Bq and of Bu, at u and u'. Entries of A that are no more
 * than the roundoff of their terms are 0: a row to which no freedom of the tree contributes, as those across the plane of a planar
 * loop, must not get a direction from it. */
static void fillRow(const Mechanism *b, const Row *row, const sunrealtype *u,
                    const sunrealtype *udot, Writer *w, sunrealtype *Bu) {
  const Tree *tree  = b->tree;
  const int count   = bodiesComponents(b, row);
  const int bare    = bodiesIsBare(b, row);
  sunrealtype *size = tree->size, *x = tree->tau; /* 0 before and after */
  const sunindextype first = w->count;
  if (w->data && !bare && !Bu && count > 1) { /* of a point */
    fillPoint(b, row, count, w);
    leaveToOthers(b, row, count, w, first);
    return;
  }
  if (bare && Bu) w->count += row->nterms;
  for (int k = 0; k < row->nterms && bare && !Bu; k++)
    *next(w, row->first, bodiesRowTerm(b, row, k)->velocity, 1) +=
        bodiesWeight(b, bodiesRowTerm(b, row, k)) * bodiesRowTerm(b, row, k)->sign;
  for (int i = 0; i < count && !bare; i++) {
    int entries = 0;
    for (int k = 0; k < row->nterms; k++) {
      const Term *term = bodiesRowTerm(b, row, k);
      const Pair *pair = &b->pair[term->pair];
      const int common = commonNode(tree, pair, term->m.kind);
      Jet jet;
      if (bodiesIsOff(b, row, i)) { /* Its entries remain 0. */
        const int places = velocitiesOn(tree, pair, common);
        entries += places;
        w->count += places;
        continue;
      }
      if (Bu && term->m.kind == OWN) addOwnBend(b, term, u, udot, x, size);
      else if (Bu) {
        curvature(b, row, k, i, &jet);
        addCurvature(b, pair, common, &jet, -1, x, size);
      } else {
        const Mask mask = bodiesGradient(b, row, k, i, &jet);
        pullGradient(b, term, mask, jet.g, 1, x);
        if (areSmall(b, pair, common, mask, jet.g, x)) addSizes(b, pair, common, mask, jet.g, size);
      }
      for (int side = 0; side < 2; side++)
        for (int n = treeNodeOf(tree, pair, side); n != common; n = tree->node[n].parent)
          for (int j = tree->node[n].u; j < tree->node[n].u + tree->node[n].nu; j++) {
            if (Bu) Bu[w->place[w->count]] += size[j];
            *next(w, row->first + i, j, 1) += Bu || fabs(x[j]) > ROUNDING * size[j] ? x[j] : 0;
            x[j] = size[j] = 0; /* the paths of both sides meet */
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
    Jet jet;
    const Mask mask = bodiesGradient(b, row, k, i, &jet);
    pullGradient(b, bodiesRowTerm(b, row, k), mask, jet.g, 1, gradient);
  }
}

static void fillRows(const Mechanism *b, const sunrealtype *u, const sunrealtype *udot, Writer *w,
                     sunrealtype *Bu) {
  memset(b->tree->size, 0, (size_t)b->tree->nu * sizeof *b->tree->size);
  for (int i = 0; i < b->nrows + b->nrolls; i++) fillRow(b, bodiesRow(b, i), u, udot, w, Bu);
}

static sunrealtype *dataOf(SUNMatrix S) {
  return SUNMatGetID(S) == SUNMATRIX_SPARSE ? SM_DATA_S(S) : SM_DATA_D(S);
}

static int constraintMatrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *bodies) {
  (void)t;
  Mechanism *b = bodies;
  Writer w     = {.place = b->tree->rows.place, .data = dataOf(A)};
  bodiesUpdate(b);
  if (!b->tree->bare) bodiesPoses(b, q, NULL, NULL);
  fillRows(b, NULL, NULL, &w, NULL);
  return 0;
}

int treeDifferentiateRows(Mechanism *b, const sunrealtype *q, const sunrealtype *u,
                          const sunrealtype *udot, sunrealtype *Bq, sunrealtype *Bu) {
  Writer w = {.place = b->tree->rows.place, .data = Bq};
  if (b->tree->bare) return 0;
  bodiesPoses(b, q, u, udot);
  if (treeMotions(b->tree)) return -1;
  fillRows(b, u, udot, &w, Bu);
  return 0;
}

static int constraintJac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                         const sunrealtype *udot, SUNMatrix Bq, SUNMatrix Bu, void *bodies) {
  (void)t;
  return treeDifferentiateRows(bodies, q, u, udot, dataOf(Bq), dataOf(Bu));
}

/* ----------------------------------------------------------------------------- M and derivatives -- */

/* M += I g g^T for the inertances I of sums of measures, or K and C -= I g times the derivatives of g (J u' + c) */
static void addInertances(const Mechanism *b, const Entries *MK, const Entries *C) {
  const Tree *tree = b->tree;
  const int nu     = tree->nu;
  sunrealtype *g = tree->tau, *by_q = tree->column, *by_u = tree->size;
  for (int i = 0; i < b->nlaws; i++) {
    const Law *law = &b->law[i];
    const Row of   = {.term = law->term, .nterms = law->nterms};
    if (law->inertance == NONE || law->on_tree) continue;
    const sunrealtype I = b->param[law->inertance];
    memset(by_q, 0, (size_t)nu * sizeof *by_q);
    memset(by_u, 0, (size_t)nu * sizeof *by_u);
    for (int k = 0; k < law->nterms; k++) {
      const Term *term = bodiesLawTerm(b, law, k);
      Jet jet          = {0};
      if (term->m.kind == OWN) continue;
      const Mask mask = bodiesGradient(b, &of, k, 0, &jet);
      pullGradient(b, term, mask, jet.g, 1, g);
      if (C) addCurvature(b, &b->pair[term->pair], GROUND, &jet, -1, by_q, by_u);
    }
    if (!C) memcpy(by_q, g, (size_t)nu * sizeof *g);
    for (int k = 0; k < nu; k++)
      for (int l = 0; l < nu && g[k] != 0; l++) {
        if (by_q[l] != 0) *entryOf(MK, k, l) += I * g[k] * by_q[l];
        if (C && by_u[l] != 0) *entryOf(C, k, l) += I * g[k] * by_u[l];
      }
    memset(g, 0, (size_t)nu * sizeof *g);
  }
}

int treeMassMatrix(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *bodies) {
  Mechanism *b = bodies;
  Tree *tree   = b->tree;
  bodiesPoses(b, q, NULL, NULL);
  addOnVelocities(b, t, q, NULL, NULL, tree->armature);
  const Entries entries = entriesOf(tree, M);
  if (treeMass(tree, &entries)) return -1;
  for (int k = 0; k < tree->nu; k++) *entryOf(&entries, k, k) += tree->armature[k];
  if (!tree->recursive) addInertances(b, &entries, NULL);
  return 0;
}

void treeMomenta(const Mechanism *b, sunrealtype *momenta) {
  const Space *s = &b->space;
  memset(momenta, 0, b->tree->length * sizeof *momenta);
  for (int i = 0; i < b->nbodies; i++) {
    const sunrealtype *mass = b->param + b->body[i].param;
    sunrealtype w[3], N[3], *own = momenta + s->nu * i;
    toBody(&b->pose[i], b->pose[i].w, w);
    bodiesTimesInertia(&b->body[i], mass, w, N);
    for (int k = 0; k < s->last[0]; k++) own[k] = mass[0] * b->pose[i].v[k];
    for (int k = s->first[1]; k < 3; k++) own[s->last[0] + k - s->first[1]] = N[k];
  }
  for (int i = 0; i < b->nlaws; i++) { /* I g s' */
    const Law *law = &b->law[i];
    const Row of   = {.term = law->term, .nterms = law->nterms};
    sunrealtype x, rate;
    if (law->inertance == NONE || law->on_tree) continue;
    bodiesLawSum(b, law, VALUES, &x, &rate, NULL);
    for (int k = 0; k < law->nterms; k++) {
      const Term *term = bodiesLawTerm(b, law, k);
      Jet jet          = {0};
      if (term->m.kind == OWN) continue;
      const Mask mask = bodiesGradient(b, &of, k, 0, &jet);
      EACH_DIRECTION(s, mask.g, j)
      momenta[bodiesColumnOf(s, &b->pair[term->pair], j)] +=
          b->param[law->inertance] * rate * jet.g[j];
    }
  }
}

void treePullMomenta(const Mechanism *b, sunrealtype t, const sunrealtype *momenta,
                     const sunrealtype *u, sunrealtype *p) {
  const Tree *tree = b->tree;
  memset(p, 0, (size_t)tree->nu * sizeof *p);
  pull(b, momenta, 0, tree->nnodes - 1, p);
  addOnVelocities(b, t, NULL, NULL, NULL, tree->armature);
  for (int k = 0; k < tree->nu; k++) p[k] += tree->armature[k] * u[k];
}

/* force += the forces of elements and rows on the bodies. Returns what a user's function returned. */
static int addElements(Mechanism *b, sunrealtype t, const sunrealtype *lambda, sunrealtype *force) {
  int flag = bodiesAddForces(b, t, force);
  if (!flag) flag = bodiesAddLaws(b, 1, t, lambda, force);
  for (int r = 0; r < b->nrows + b->nrolls; r++) {
    const Row *row  = bodiesRow(b, r);
    const int count = bodiesComponents(b, row);
    for (int i = 0; i < count; i++)
      for (int k = 0; k < row->nterms && lambda[row->first + i] != 0; k++) {
        Jet jet;
        /* a coordinate of the tree: what it does to the bodies depends on none */
        if (bodiesRowTerm(b, row, k)->m.kind == OWN) continue;
        const Mask mask = bodiesGradient(b, row, k, i, &jet);
        EACH_DIRECTION(&b->space, mask.g, j)
        force[bodiesColumnOf(&b->space, &b->pair[bodiesRowTerm(b, row, k)->pair], j)] -=
            lambda[row->first + i] * jet.g[j];
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
  sunrealtype *of  = tree->force, N[3];
  memset(of, 0, tree->length * sizeof *of);
  bodiesAddWeights(b, tree->twist, of);
  bodiesAddInertial(b, of);
  const int flag = addElements(b, t, lambda, of);
  if (flag) return flag;
  memset(tree->column, 0, (size_t)tree->nu * sizeof *tree->column);
  pull(b, of, 0, tree->nnodes - 1, tree->column); /* which sums the wrenches of subtrees */
  memcpy(F, tree->wrench[n].F, sizeof N);
  memcpy(N, tree->wrench[n].N, sizeof N);
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

static int frictionsJac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *lambda, SUNMatrix Fl, void *bodies) {
  ((Mechanism *)bodies)->z = z;
  bodiesPoses(bodies, q, u, NULL);
  return bodiesFillFl(bodies, t, lambda, addOnTree, Fl);
}

/* Do forces act on bodies, by elements, or by rows that are no sums of coordinates? */
static int areActing(const Mechanism *b, const sunrealtype *lambda) {
  int acting = b->tree->nothers + b->nforces + b->nfrictions > 0;
  for (int i = 0; i < b->nrows + b->nrolls && !b->tree->bare && !acting; i++) {
    const Row *row  = bodiesRow(b, i);
    const int count = bodiesComponents(b, row);
    for (int k = 0; k < count && !bodiesIsBare(b, row); k++) acting |= lambda[row->first + k] != 0;
  }
  return acting;
}

/* Computes the forces on bodies, with their wrenches on the nodes, and their derivatives. Returns what a user's function returned, or
 * -1 if out of memory. */
static int differentiateForces(Mechanism *b, sunrealtype t, const sunrealtype *q,
                               const sunrealtype *u, const sunrealtype *udot,
                               const sunrealtype *lambda, const Entries *K, const Entries *C) {
  Tree *tree = b->tree;
  bodiesPoses(b, q, u, udot);
  memset(tree->force, 0, tree->length * sizeof *tree->force);
  Writer to_K = matrixOf(b, PLAN_K), to_C = matrixOf(b, PLAN_C);
  if (!to_K.data || !to_C.data) return -1;
  int flag = bodiesFillDynamics(b, t, tree->twist, lambda, &to_K, &to_C);
  if (!flag) flag = addElements(b, t, lambda, tree->force);
  if (!flag && !tree->recursive) {
    if (treeMotions(tree)) return -1;
    addInertances(b, K, C);
  }
  gather(b, tree->force, 0, tree->nnodes - 1);
  return flag;
}

int treeDifferentiate(Mechanism *b, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                      const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                      const Entries *K, const Entries *C, SUNMatrix Fz) {
  Tree *tree       = b->tree;
  const int acting = areActing(b, lambda);
  b->z             = z;
  bodiesUpdate(b);
  int flag = acting ? differentiateForces(b, t, q, u, udot, lambda, K, C) : 0;
  if (!flag) flag = treeSubtractDerivatives(b, udot, acting ? tree->wrench : NULL, K, C);
  if (!flag) flag = addSlopes(b, t, q, u, lambda, K, C);
  return flag ? flag : bodiesFillFz(b, t, q, u, addOnTree, Fz);
}

static int dynamicsJac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                       SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *bodies) {
  Mechanism *b       = bodies;
  const Entries to[] = {entriesOf(b->tree, K), entriesOf(b->tree, C)};
  bodiesUpdate(b);
  b->tree->level = 0;
  treeMove(b, b->tree, q, u);
  return treeDifferentiate(b, t, q, u, z, udot, lambda, &to[0], &to[1], Fz);
}

/* ------------------------------------------------------------------------------------- model -- */

/* Marks the velocities on the way from a node to the root, up to one that is marked already, and lists entries for them in column k, and,
 * if mirrored, in row k as well. */
static void markPath(const Tree *tree, int n, int mirrored, int *mark, int k, Writer *w) {
  for (; n != GROUND; n = tree->node[n].parent) {
    const Node *node = &tree->node[n];
    if (mark[n] == k) return;
    mark[n] = k;
    for (int j = node->u; j < node->u + node->nu; j++) {
      *next(w, j, k, 1) += 0;
      if (mirrored) *next(w, k, j, 1) += 0;
    }
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

/* Returns 0, or 1 if out of memory. */
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
  static const int plans[] = {PLAN_K, PLAN_C};
  Tree *tree               = b->tree;
  const int sparse = tree->nu >= SPARSE_FROM, nu = b->space.nu;
  Writer square = {0}, rows = {0};
  if (!treeHasMatrices(b)) return 0;
  int *mark = malloc(((size_t)tree->nnodes + 1) * sizeof *mark);
  if (!mark) return -1;
  const int apart = isApart(b, PLAN_K) && isApart(b, PLAN_C);
  for (int n = 0; n < tree->nnodes; n++) mark[n] = NONE;
  for (int k = 0; k < tree->nu; k++) {
    const int n = tree->node_of_velocity[k];
    for (int i = n; i <= tree->node[n].last; i++) {
      const int body = tree->node[i].body;
      markPath(tree, i, 0, mark, k, &square);
      for (int l = 0; body != NONE && !apart && l < 2; l++) {
        const SUNMatrix S = b->plan[plans[l]].tmpl;
        for (sunindextype p = SM_INDEXPTRS_S(S)[nu * body]; p < SM_INDEXPTRS_S(S)[nu * (body + 1)];
             p++) /* M must have a symmetric pattern, also where a force depends on the motion of another branch. */
          markPath(tree, tree->node_of_body[SM_INDEXVALS_S(S)[p] / nu], 1, mark, k, &square);
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
      fillRows(b, NULL, NULL, &rows, NULL);
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
  if (treeIsRecursive(b)) {
    e->udot     = treeAccelerations;
    e->udot_jac = treeAccelerationsJac;
    e->use_rows = b->nv > 0 ? treeUseRows : NULL;
  }
  if (b->nfrictions > 0) {
    e->f_lambda   = frictions;
    e->lambda_jac = frictionsJac;
  }
}
