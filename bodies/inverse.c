/* M by composite rigid bodies (R. Featherstone, Rigid Body Dynamics Algorithms, 2008, table 6.2), and the derivatives of the
 * inverse dynamics tau = M u' + h of a tree (S. Singh, R. P. Russell, P. M. Wensing, IEEE Robotics and Automation Letters 7
 * (2022) 1776): with the composite inertia I, the force f of the motion on the composite body, and
 *
 *   2 B x = sum over the mass of a wrench by 2 w_x cross its velocity:  F = 2 w_x x p,   N = 2 (tr Q 1 - Q) w_x,
 *   p = sum v dm,   Q = sum v d^T dm,
 *
 * velocity k at node n, and j at the same node or above, with a dot for the product of a wrench with a motion,
 *
 *   dtau_j/dq_k = S_j . (2 B psi_k + I psi'_k + S_k x* f),   dtau_k/dq_j = S_k . (2 B psi_j + I psi'_j),
 *   dtau_j/du_k = S_j . (2 B S_k + I T_k),                   dtau_k/du_j = S_k . (2 B S_j + I T_j),
 *
 * where psi = v_p x S and psi' = a_p x S + v_p x psi with the spatial velocity and acceleration of the frame in which the
 * velocity moves its subtree, and T = psi + v x S; S_k x* f only for j above. All are about the origins of their nodes.
 *
 * psi is the change of the velocities of the subtree as it turns with S. So forces on bodies, whose changes in the axes of the
 * body on which they act are K_i S_k + C_i psi_k, and C_i S_k with u_k, add their sums over the subtree to f, I psi' and 2 B in
 * the same way, and between two bodies they act below the last node that moves both. */
#include "blocks.h"
#include "spatial.h"

#include <stdlib.h>
#include <sunmatrix/sunmatrix_sparse.h>

typedef struct {
  Padded w, v;
} Twist;

/* What is known of a velocity; the components of (S, S, S, psi') and of (0, 0, psi, T), linear ones first, for products in lanes */
struct Along_ {
  Twist S, psi, psi_rate, T;
  Padded by_first[6], by_second[6];
};

/* The body of a node with all that is below it, beside J, F and N, which are where the articulated body has its own: mass, m c, p, and Q, or
 * 2 (tr Q 1 - Q) when it is complete */
struct Composite_ {
  sunrealtype m;
  Column h, p, Q[3];
};

/* y += (w, v) x x */
CP_WIDE_PART void addCross(const sunrealtype *w, const sunrealtype *v, const Twist *x, Twist *y) {
  sunrealtype z[3];
  cross3(w, x->w, z), add3(1, z, y->w);
  cross3(w, x->v, z), add3(1, z, y->v);
  cross3(v, x->w, z), add3(1, z, y->v);
}

static void twistOf(const Axis *s, Twist *S) {
  *S = (Twist){{0}, {0}};
  memcpy(s->turns ? S->w : S->v, s->a, sizeof s->a);
  if (s->screws) memcpy(S->v, s->v, sizeof s->v);
}

/* What the changes of a joint by functions add, where (w, v) is the velocity of the parent at the origin of the node */
static void addChanges(const Node *node, const Motion *at, int k, const sunrealtype *w,
                       const sunrealtype *v, struct Along_ *out) {
  sunrealtype dV[6], dA[6], dS[6], sum_w[3], sum_v[3];
  Twist d = {{0}, {0}};
  customChange(node, k - node->u, dV, dA, dS);
  memcpy(d.w, dV, sizeof sum_w), memcpy(d.v, dV + 3, sizeof sum_v);
  for (int l = 0; l < 3; l++) {
    sum_w[l] = w[l] + at->w[l], sum_v[l] = v[l] + at->v[l];
    out->T.w[l] = 2 * out->psi.w[l] + dV[l] + dS[l];
    out->T.v[l] = 2 * out->psi.v[l] + dV[3 + l] + dS[3 + l];
  }
  addCross(sum_w, sum_v, &d, &out->psi_rate);
  add3(1, dA, out->psi_rate.w), add3(1, dA + 3, out->psi_rate.v);
  add3(1, dV, out->psi.w), add3(1, dV + 3, out->psi.v);
}

/* The same as alongOf for hinges and slides */
static CP_WIDE void alongAxis(const Node *node, const Motion *up, const Motion *at,
                              struct Along_ *out) {
  static const Column none = {0};
  Column w, v, alpha, a, r, z, x, own, psi[2], rate[2], T[2];
  load3(up->w, &w), load3(up->v, &v), load3(up->alpha, &alpha), load3(up->a, &a);
  load3(at->r, &r), load3(at->R[2], &z), load3(at->w, &own);
  vector3(&w, &v, &x), a -= x; /* spatial accelerations are less by w x v */
  vector3(&alpha, &r, &x), a += x;
  vector3(&w, &r, &x), v += x;
  const int turns = node->kind == HINGE;
  vector3(&w, &z, &psi[turns]), vector3(&alpha, &z, &rate[turns]), vector3(&own, &z, &T[turns]);
  if (turns) { /* psi = (w x z, v x z) */
    Column speed;
    load3(at->v, &speed);
    vector3(&v, &z, &psi[0]), vector3(&a, &z, &rate[0]), vector3(&speed, &z, &T[0]);
    vector3(&w, &psi[1], &x), rate[1] += x;
    vector3(&v, &psi[1], &x), rate[0] += x;
  } else psi[1] = rate[1] = T[1] = none; /* psi = (0, w x z) */
  vector3(&w, &psi[0], &x), rate[0] += x;
  T[0] += psi[0], T[1] += psi[1];
  store4(turns ? &z : &none, out->S.w), store4(turns ? &none : &z, out->S.v);
  store4(&psi[1], out->psi.w), store4(&psi[0], out->psi.v);
  store4(&rate[1], out->psi_rate.w), store4(&rate[0], out->psi_rate.v);
  store4(&T[1], out->T.w), store4(&T[0], out->T.v);
}

/* Velocities of a body afloat are those of its centre of mass in space, and then those about it. */
static void alongOf(const Tree *tree, int k, struct Along_ *out) {
  const int n      = tree->node_of_velocity[k];
  const Node *node = &tree->node[n];
  const Motion *at = &tree->motion[n + 1], *up = &tree->motion[node->parent + 1];
  const Axis s     = treeAxis(tree, k);
  const int afloat = node->kind == AFLOAT;
  sunrealtype w[3] = {0}, v[3] = {0}, alpha[3] = {0}, a[3] = {0}, x[3];
  static const sunrealtype none[3] = {0};
  memset(out, 0, sizeof *out);
  twistOf(&s, &out->S);
  if (!afloat) { /* at the origin; spatial accelerations are less by w x v */
    memcpy(w, up->w, sizeof w), memcpy(alpha, up->alpha, sizeof alpha);
    cross3(w, at->r, v), add3(1, up->v, v);
    cross3(w, up->v, x), add3(-1, x, a);
    cross3(alpha, at->r, x), add3(1, x, a), add3(1, up->a, a);
  } else memcpy(v, at->v, sizeof v), memcpy(a, at->a, sizeof a);
  addCross(w, v, &out->S, &out->psi);
  addCross(alpha, a, &out->S, &out->psi_rate);
  addCross(w, v, &out->psi, &out->psi_rate);
  out->T = out->psi;
  addCross(afloat && !s.turns ? none : at->w, at->v, &out->S, &out->T);
  if (s.screws) addChanges(node, at, k, w, v, out);
}

/* Entry (k, j), where k belongs to j or to what is below it: the pattern of column j has all of these, one after the other. */
static sunindextype below(const Entries *e, int k, int j) {
  return e->row ? e->diagonal[j] + (k - j) : treePlace(e, k, j);
}
static sunindextype diagonal(const Entries *e, int k) { return e->row ? e->diagonal[k] : 0; }

/* A wrench in registers */
typedef struct {
  Column F, N;
} Force;

/* out: I x */
CP_WIDE_PART void pushed(const Column *J, const struct Composite_ *of, const Twist *x, Force *out) {
  Column v, w;
  load3(x->v, &v), load3(x->w, &w);
  vector3(&w, &of->h, &out->F), out->F += of->m * v;
  vector3(&of->h, &v, &out->N), addTimes3(J, x->w, &out->N);
}
/* out += 2 B x */
CP_WIDE_PART void addTwisted(const struct Composite_ *of, const Twist *x, Force *out) {
  Column w, F;
  load3(x->w, &w);
  vector3(&w, &of->p, &F), out->F += 2 * F;
  addTimes3(of->Q, x->w, &out->N);
}
/* out: 2 B^T x */
CP_WIDE_PART void twistedBack(const struct Composite_ *of, const Twist *x, Force *out) {
  Column v, w, N;
  load3(x->v, &v), load3(x->w, &w);
  out->F = (Column){0, 0, 0, 0};
  transposedTimes3(of->Q, &w, &out->N);
  vector3(&of->p, &v, &N), out->N += 2 * N;
}
/* out += x x* (F, N) */
CP_WIDE_PART void addTurned(const Twist *x, const Column *F, const Column *N, Force *out) {
  Column v, w, z;
  load3(x->v, &v), load3(x->w, &w);
  vector3(&w, F, &z), out->F += z;
  vector3(&w, N, &z), out->N += z;
  vector3(&v, F, &z), out->N += z;
}
CP_WIDE_PART sunrealtype work(const Force *f, const Twist *x) {
  Column v, w;
  load3(x->v, &v), load3(x->w, &w);
  v = f->F * v + f->N * w;
  return v[0] + v[1] + v[2];
}
CP_WIDE_PART void toParent(const Column *r, Force *f) {
  Column lever;
  vector3(r, &f->F, &lever);
  f->N += lever;
}

/* The inertias of composite bodies; if moving, also the forces of their motions less those that are applied, p, and 2 (tr Q 1 - Q). Those
 * of the parent are about its origin, from which r leads to that of the node: with s = h + m r / 2, J_p = J + 2 s . r - s r^T - r s^T. */
static CP_WIDE void compose(Tree *tree, int moving, const Wrench *applied) {
  for (int n = 0; n < tree->nnodes; n++) {
    const Node *node      = &tree->node[n];
    const Motion *at      = &tree->motion[n + 1];
    Articulated *own      = &tree->articulated[n];
    struct Composite_ *of = &tree->composite[n];
    const Column *J       = own->I.J;
    Column w, v;
    if (node->body == NONE) memset(own, 0, sizeof *own), memset(of, 0, sizeof *of);
    if (node->body == NONE) continue;
    of->m = node->m;
    rigid(node, at, &own->I, &of->h);
    if (!moving) continue;
    bodyForce(node, at, &of->h, own);
    if (applied) {
      const sunrealtype *F = applied[n].F, *N = applied[n].N;
      own->F -= (Column){F[0], F[1], F[2], 0};
      own->N -= (Column){N[0], N[1], N[2], 0};
    }
    load3(at->w, &w), load3(at->v, &v);
    vector3(&w, &of->h, &of->p), of->p += node->m * v;
    for (int l = 0; l < 3; l++) { /* v h^T + w x E with the second moments E = tr J / 2 - J */
      Column E = -J[l];
      E[l] += (J[0][0] + J[1][1] + J[2][2]) / 2;
      vector3(&w, &E, &of->Q[l]), of->Q[l] += of->h[l] * v;
    }
  }
  for (int n = tree->nnodes - 1; n >= 0; n--) {
    const int parent = tree->node[n].parent;
    Articulated *own = &tree->articulated[n], *up = &tree->articulated[parent];
    struct Composite_ *of = &tree->composite[n], *all = &tree->composite[parent];
    Column r;
    if (parent != GROUND) {
      load3(tree->motion[n + 1].r, &r);
      const Column s          = of->h + of->m / 2 * r;
      const sunrealtype twice = 2 * inner3(&s, &r);
      for (int l = 0; l < 3; l++) {
        up->I.J[l] += own->I.J[l] - s[l] * r - r[l] * s;
        up->I.J[l][l] += twice;
      }
      all->m += of->m, all->h += of->h + of->m * r;
    }
    if (!moving) continue;
    if (parent != GROUND) {
      Force f = {own->F, own->N};
      toParent(&r, &f);
      up->F += f.F, up->N += f.N, all->p += of->p;
      for (int l = 0; l < 3; l++) all->Q[l] += of->Q[l] + r[l] * of->p;
    }
    const sunrealtype trace = of->Q[0][0] + of->Q[1][1] + of->Q[2][2];
    for (int l = 0; l < 3; l++) of->Q[l] *= -2, of->Q[l][l] += 2 * trace;
  }
}

static CP_WIDE void fillMass(const Tree *tree, const Entries *M) {
  for (int k = 0; k < tree->nu; k++) {
    const int n     = tree->node_of_velocity[k];
    sunindextype at = diagonal(M, k);
    Force f;
    Column r;
    pushed(tree->articulated[n].I.J, &tree->composite[n], &tree->along[k].S, &f);
    for (int i = n; i != GROUND; i = tree->node[i].parent) {
      const Node *node = &tree->node[i];
      for (int j = node->u + node->nu - 1; j >= node->u; j--) {
        const sunrealtype x              = work(&f, &tree->along[j].S);
        M->data[treeEntry(M, j, k, &at)] = x;
        if (i != n) M->data[below(M, k, j)] = x;
      }
      load3(tree->motion[i + 1].r, &r);
      toParent(&r, &f);
    }
  }
}

/* ---------------------------------------------------------------------------- forces on bodies -- */

/* How forces on a node change with the motion of a node, by columns: the wrench for a unit of S (K) and of psi (C), first of w, then
 * of v, in axes that turn with the node on which it acts */
typedef struct {
  Force K[6], C[6];
} Response;
struct Response_ {
  Response of;
  int acts;
};

/* out += sign map x */
CP_WIDE_PART void respond(const Force *map, const Twist *x, sunrealtype sign, Force *out) {
  for (int l = 0; l < 3; l++) {
    const sunrealtype w = sign * x->w[l], v = sign * x->v[l];
    out->F += w * map[l].F + v * map[3 + l].F;
    out->N += w * map[l].N + v * map[3 + l].N;
  }
}
/* out += sign map^T x */
CP_WIDE_PART void respondBack(const Force *map, const Twist *x, sunrealtype sign, Force *out) {
  for (int l = 0; l < 3; l++) {
    out->N[l] += sign * work(&map[l], x);
    out->F[l] += sign * work(&map[3 + l], x);
  }
}
/* The motion is that of a place from which this one is r away. */
CP_WIDE_PART void movedFrom(const sunrealtype *r, Force *map) {
  for (int l = 0; l < 3; l++) { /* e_l x r */
    const int i = (l + 1) % 3, j = (l + 2) % 3;
    map[l].F += r[i] * map[3 + j].F - r[j] * map[3 + i].F;
    map[l].N += r[i] * map[3 + j].N - r[j] * map[3 + i].N;
  }
}
/* The wrench is about such a place. */
CP_WIDE_PART void actsFrom(const sunrealtype *r, Force *map) {
  Column d;
  load3(r, &d);
  for (int l = 0; l < 6; l++) toParent(&d, &map[l]);
}
CP_WIDE_PART void addResponse(const Response *from, struct Response_ *to) {
  to->acts = 1;
  for (int l = 0; l < 6; l++) {
    to->of.K[l].F += from->K[l].F, to->of.K[l].N += from->K[l].N;
    to->of.C[l].F += from->C[l].F, to->of.C[l].N += from->C[l].N;
  }
}

/* Column k += the power of forces on node i, and on what is above it */
CP_WIDE_PART void addColumn(const Tree *tree, int i, int k, Force *by_q, Force *by_u,
                            const Entries *K, const Entries *C) {
  sunindextype at = diagonal(K, k);
  Column r;
  for (; i != GROUND; i = tree->node[i].parent) {
    const Node *node = &tree->node[i];
    for (int j = node->u + node->nu - 1; j >= node->u; j--) {
      const sunindextype to = treeEntry(K, j, k, &at);
      K->data[to] += work(by_q, &tree->along[j].S);
      C->data[to] += work(by_u, &tree->along[j].S);
    }
    load3(tree->motion[i + 1].r, &r);
    toParent(&r, by_q), toParent(&r, by_u);
  }
}

/* Adds the response of node i to the motion of node j: entries of which one is below the last node that moves both, to whose own
 * response the rest is added. */
static CP_WIDE void addBetween(Tree *tree, int i, int j, Response *of, const Entries *K,
                               const Entries *C) {
  const int common = treeJoin(tree, i, j);
  for (int n = j; n != common; n = tree->node[n].parent) {
    const Node *node = &tree->node[n];
    for (int k = node->u; k < node->u + node->nu; k++) {
      const struct Along_ *x = &tree->along[k];
      Force by_q = {{0}, {0}}, by_u = {{0}, {0}};
      respond(of->K, &x->S, 1, &by_q), respond(of->C, &x->psi, 1, &by_q);
      respond(of->C, &x->S, 1, &by_u);
      addColumn(tree, i, k, &by_q, &by_u, K, C);
    }
    movedFrom(tree->motion[n + 1].r, of->K), movedFrom(tree->motion[n + 1].r, of->C);
  }
  for (int n = i; n != common; n = tree->node[n].parent) {
    const Node *node = &tree->node[n];
    for (int k = node->u; k < node->u + node->nu; k++) {
      Force by_S = {{0}, {0}}, by_psi = {{0}, {0}};
      Column r;
      respondBack(of->K, &tree->along[k].S, 1, &by_S);
      respondBack(of->C, &tree->along[k].S, 1, &by_psi);
      for (int p = common; p != GROUND; p = tree->node[p].parent) {
        for (int l = tree->node[p].u; l < tree->node[p].u + tree->node[p].nu; l++) {
          const struct Along_ *x = &tree->along[l];
          const sunindextype to  = below(K, k, l);
          K->data[to] += work(&by_S, &x->S) + work(&by_psi, &x->psi);
          C->data[to] += work(&by_psi, &x->S);
        }
        load3(tree->motion[p + 1].r, &r);
        toParent(&r, &by_S), toParent(&r, &by_psi);
      }
    }
    actsFrom(tree->motion[n + 1].r, of->K), actsFrom(tree->motion[n + 1].r, of->C);
  }
  if (common != GROUND) addResponse(of, &tree->response[common]);
}

/* local: a block of K or C of the bodies, by columns: forces and moments on body i in the directions of motions of body j, which for
 * rotations are their own axes; map: out, the same in the axes of space */
static void turnBlock(const Pose *i, const Pose *j, sunrealtype (*local)[6], Force *map) {
  for (int l = 0; l < 3; l++) {
    sunrealtype turned[6] = {0}, N[3];
    for (int c = 0; c < 6; c++)
      for (int m = 0; m < 3; m++) turned[c] += j->axis[m][l] * local[3 + m][c];
    toSpace(i, turned + 3, N);
    map[l] = (Force){{turned[0], turned[1], turned[2], 0}, {N[0], N[1], N[2], 0}};
    toSpace(i, local[l] + 3, N);
    map[3 + l] = (Force){{local[l][0], local[l][1], local[l][2], 0}, {N[0], N[1], N[2], 0}};
  }
}

/* The response of body i to the motion of body j. The velocity of its centre turns with it. */
static void addBlock(const Mechanism *b, int i, int j, sunrealtype (*block)[6][6], const Entries *K,
                     const Entries *C) {
  Tree *tree     = b->tree;
  const int at_i = tree->node_of_body[i], at_j = tree->node_of_body[j];
  const sunrealtype *v = b->pose[j].v;
  sunrealtype d_i[4]   = {0}, d_j[3];
  Response of;
  turnBlock(&b->pose[i], &b->pose[j], block[0], of.K);
  turnBlock(&b->pose[i], &b->pose[j], block[1], of.C);
  for (int l = 0; l < 3; l++) {
    const int m = (l + 1) % 3, n = (l + 2) % 3; /* e_l x v */
    of.K[l].F += v[m] * of.C[3 + n].F - v[n] * of.C[3 + m].F;
    of.K[l].N += v[m] * of.C[3 + n].N - v[n] * of.C[3 + m].N;
    d_i[l] = b->pose[i].r[l] - tree->motion[at_i + 1].P[l];
    d_j[l] = b->pose[j].r[l] - tree->motion[at_j + 1].P[l];
  }
  movedFrom(d_j, of.K), movedFrom(d_j, of.C);
  actsFrom(d_i, of.K), actsFrom(d_i, of.C);
  addBetween(tree, at_i, at_j, &of, K, C);
}

/* Forces that do not turn with their bodies: in axes that turn, F changes by -w x F. */
static void addStanding(const Mechanism *b) {
  const Tree *tree = b->tree;
  for (int i = 0; i < b->nbodies; i++) {
    const sunrealtype *f   = tree->force + b->space.nu * i;
    const sunrealtype F[3] = {f[0], f[1], b->space.dimension == 3 ? f[2] : 0};
    const int n            = tree->node_of_body[i];
    sunrealtype d[3], N[3];
    if (F[0] == 0 && F[1] == 0 && F[2] == 0) continue;
    tree->response[n].acts = 1;
    for (int l = 0; l < 3; l++) d[l] = b->pose[i].r[l] - tree->motion[n + 1].P[l];
    for (int l = 0; l < 3; l++) {
      const sunrealtype e[3] = {l == 0, l == 1, l == 2};
      sunrealtype turned[3];
      cross3(F, e, turned);
      cross3(d, turned, N);
      tree->response[n].of.K[l].F += (Column){turned[0], turned[1], turned[2], 0};
      tree->response[n].of.K[l].N += (Column){N[0], N[1], N[2], 0};
    }
  }
}

/* The responses of nodes to their own motion, and the entries of those to the motions of others: the blocks of K and C of the bodies,
 * one after the other in each body's columns */
static void takeBlocks(const Mechanism *b, const Entries *K, const Entries *C) {
  static const int place[2][6] = {{0, 1, 5}, {0, 1, 2, 3, 4, 5}};
  Tree *tree                   = b->tree;
  const int nu = b->space.nu, *at = place[b->space.dimension == 3];
  memset(tree->response, 0, (size_t)tree->nnodes * sizeof *tree->response);
  addStanding(b);
  for (int j = 0; j < b->nbodies; j++) {
    sunindextype next[2][6], end[2][6];
    for (int p = 0; p < 2; p++)
      for (int l = 0; l < nu; l++) {
        const SUNMatrix S = b->plan[p ? PLAN_C : PLAN_K].tmpl;
        next[p][l]        = SM_INDEXPTRS_S(S)[nu * j + l];
        end[p][l]         = SM_INDEXPTRS_S(S)[nu * j + l + 1];
      }
    for (;;) {
      sunrealtype block[2][6][6] = {{{0}}};
      sunindextype first         = (sunindextype)nu * b->nbodies;
      int acts                   = 0;
      for (int p = 0; p < 2; p++)
        for (int l = 0; l < nu; l++) {
          const sunindextype *row = SM_INDEXVALS_S(b->plan[p ? PLAN_C : PLAN_K].tmpl);
          if (next[p][l] < end[p][l] && row[next[p][l]] < first) first = row[next[p][l]];
        }
      const int i = (int)(first / nu);
      if (i == b->nbodies) break;
      for (int p = 0; p < 2; p++)
        for (int l = 0; l < nu; l++) {
          const sunindextype *row = SM_INDEXVALS_S(b->plan[p ? PLAN_C : PLAN_K].tmpl);
          for (; next[p][l] < end[p][l] && row[next[p][l]] < nu * (i + 1); next[p][l]++) {
            const sunrealtype x = tree->value[p ? PLAN_C : PLAN_K][next[p][l]];
            block[p][at[l]][at[row[next[p][l]] - nu * i]] = x;
            acts |= x != 0;
          }
        }
      if (acts) addBlock(b, i, j, block, K, C);
    }
  }
}

/* Row k of K += the change of the forces on the subtree of node n, which k moves, with the positions of what is above it */
CP_WIDE_PART void addRow(const Tree *tree, int n, int k, const Entries *K) {
  Force by_S = {{0}, {0}};
  Column r;
  respondBack(tree->response[n].of.K, &tree->along[k].S, 1, &by_S);
  while (tree->node[n].parent != GROUND) {
    load3(tree->motion[n + 1].r, &r);
    toParent(&r, &by_S);
    n = tree->node[n].parent;
    for (int j = tree->node[n].u; j < tree->node[n].u + tree->node[n].nu; j++)
      K->data[below(K, k, j)] += work(&by_S, &tree->along[j].S);
  }
}

static CP_WIDE void composeResponses(Tree *tree) {
  for (int n = tree->nnodes - 1; n >= 0; n--) {
    const int parent     = tree->node[n].parent;
    const sunrealtype *r = tree->motion[n + 1].r;
    if (parent == GROUND || !tree->response[n].acts) continue;
    Response of = tree->response[n].of;
    movedFrom(r, of.K), movedFrom(r, of.C);
    actsFrom(r, of.K), actsFrom(r, of.C);
    addResponse(&of, &tree->response[parent]);
  }
}

/* Room for what is known of velocities. Returns 0, or -1 if out of memory. */
static int makeRoom(Tree *tree) {
  if (!tree->along) tree->along = malloc((size_t)tree->nu * sizeof *tree->along);
  if (!tree->composite) tree->composite = malloc((size_t)tree->nnodes * sizeof *tree->composite);
  return tree->along && tree->composite ? 0 : -1;
}

int treeMass(Tree *tree, const Entries *M) {
  if (makeRoom(tree)) return -1;
  for (int k = 0; k < tree->nu; k++) {
    const Axis s = treeAxis(tree, k);
    twistOf(&s, &tree->along[k].S);
  }
  compose(tree, 0, NULL);
  fillMass(tree, M);
  return 0;
}

/* Entries of velocity k and those above its node, all of them at once: wrenches (turned, by_u, back, mass), in lanes, do work with
 * (S, S, S, psi'), and the last two with psi and T. place: where the search for entries of column k begins */
CP_WIDE_PART void subtractAbove(const Tree *tree, int k, const Force *turned, const Force *by_u,
                                const Force *back, const Force *mass, sunindextype place,
                                const Entries *K, const Entries *C) {
  Column w[4] = {turned->F, by_u->F, back->F, mass->F},
         m[4] = {turned->N, by_u->N, back->N, mass->N}, x, y;
  transpose4(w, w), transpose4(m, m); /* forces and moments, by components */
  for (int i = tree->node_of_velocity[k]; tree->node[i].parent != GROUND;) {
    const sunrealtype *r = tree->motion[i + 1].r;
    m[0] += r[1] * w[2] - r[2] * w[1];
    m[1] += r[2] * w[0] - r[0] * w[2];
    m[2] += r[0] * w[1] - r[1] * w[0];
    i           = tree->node[i].parent;
    const int u = tree->node[i].u, axes = tree->node[i].kind == AFLOAT ? 3 : 0;
    for (int j = u + tree->node[i].nu - 1; j >= u + axes; j--) {
      const struct Along_ *up = &tree->along[j];
      Column first = {0}, second = {0};
      for (int l = 0; l < 3; l++) {
        load3(up->by_first[l], &x), load3(up->by_first[3 + l], &y);
        first += w[l] * x + m[l] * y;
        load3(up->by_second[l], &x), load3(up->by_second[3 + l], &y);
        second += w[l] * x + m[l] * y;
      }
      const sunindextype to = treeEntry(K, j, k, &place), across = below(K, k, j);
      K->data[to] -= first[0], C->data[to] -= first[1];
      C->data[across] -= first[2] + second[3], K->data[across] -= first[3] + second[2];
    }
    for (int l = axes - 1; l >= 0; l--) { /* S = e_l of its centre; psi, psi' and T are 0 */
      const sunindextype to = treeEntry(K, u + l, k, &place);
      K->data[to] -= w[l][0], C->data[to] -= w[l][1];
      C->data[below(K, k, u + l)] -= w[l][2];
    }
  }
}

static CP_WIDE void subtract(const Tree *tree, const Entries *K, const Entries *C, int applied) {
  for (int k = 0; k < tree->nu; k++) {
    const int n                  = tree->node_of_velocity[k];
    const Node *node             = &tree->node[n];
    const Articulated *own       = &tree->articulated[n];
    const struct Composite_ *all = &tree->composite[n];
    const struct Along_ *of      = &tree->along[k];
    Force by_q, turned, by_u, back, mass;
    pushed(own->I.J, all, &of->psi_rate, &by_q), addTwisted(all, &of->psi, &by_q);
    pushed(own->I.J, all, &of->T, &by_u), addTwisted(all, &of->S, &by_u);
    pushed(own->I.J, all, &of->S, &mass), twistedBack(all, &of->S, &back);
    const int acts = applied && tree->response[n].acts;
    if (acts) {
      const Response *by = &tree->response[n].of;
      respond(by->K, &of->S, -1, &by_q), respond(by->C, &of->psi, -1, &by_q);
      respond(by->C, &of->S, -1, &by_u);
      respondBack(by->C, &of->S, -1, &back);
    }
    turned          = by_q, addTurned(&of->S, &own->F, &own->N, &turned);
    sunindextype at = diagonal(K, k);
    for (int j = node->u + node->nu - 1; j >= node->u;
         j--) { /* the centre of a body afloat is above */
      const Twist *S        = &tree->along[j].S;
      const int apart       = node->kind == AFLOAT && j < node->u + 3 && k >= node->u + 3;
      const sunindextype to = treeEntry(K, j, k, &at);
      K->data[to] -= work(apart ? &turned : &by_q, S);
      C->data[to] -= work(&by_u, S);
      if (node->kind == CUSTOM) {
        const Force f = {own->F, own->N};
        sunrealtype change[6];
        Twist d = {{0}, {0}};
        customChangeOf(node, k - node->u, j - node->u, change);
        memcpy(d.w, change, 3 * sizeof *change), memcpy(d.v, change + 3, 3 * sizeof *change);
        K->data[to] -= work(&f, &d);
      }
    }
    if (node->parent != GROUND) subtractAbove(tree, k, &turned, &by_u, &back, &mass, at, K, C);
    if (acts) addRow(tree, n, k, K);
  }
}

int treeMotions(Tree *tree) {
  if (makeRoom(tree)) return -1;
  for (int k = 0; k < tree->nu; k++) {
    const int n       = tree->node_of_velocity[k];
    const Node *node  = &tree->node[n];
    struct Along_ *to = &tree->along[k];
    if (node->kind == HINGE || node->kind == SLIDE)
      alongAxis(node, &tree->motion[node->parent + 1], &tree->motion[n + 1], to);
    else alongOf(tree, k, to);
    for (int l = 0; l < 3; l++) {
      const sunrealtype S[2] = {to->S.v[l], to->S.w[l]}, psi[2] = {to->psi.v[l], to->psi.w[l]},
                        T[2]    = {to->T.v[l], to->T.w[l]},
                        rate[2] = {to->psi_rate.v[l], to->psi_rate.w[l]};
      for (int h = 0; h < 2; h++) {
        const Column first = {S[h], S[h], S[h], rate[h]}, second = {0, 0, psi[h], T[h]};
        store4(&first, to->by_first[3 * h + l]);
        store4(&second, to->by_second[3 * h + l]);
      }
    }
  }
  return 0;
}

static CP_WIDE void alongMotions(const Tree *tree, int n, int end, Wrench *x, sunrealtype *by_q,
                                 sunrealtype *by_u) {
  Force f[3];
  Column r;
  for (int l = 0; l < 3; l++)
    f[l] = (Force){{x[l].F[0], x[l].F[1], x[l].F[2], 0}, {x[l].N[0], x[l].N[1], x[l].N[2], 0}};
  for (; n != end; n = tree->node[n].parent) {
    for (int k = tree->node[n].u; k < tree->node[n].u + tree->node[n].nu; k++) {
      const struct Along_ *of = &tree->along[k];
      by_q[k] += work(&f[0], &of->S) + work(&f[1], &of->psi) + work(&f[2], &of->psi_rate);
      by_u[k] += work(&f[1], &of->S) + work(&f[2], &of->T);
    }
    load3(tree->motion[n + 1].r, &r);
    for (int l = 0; l < 3; l++) toParent(&r, &f[l]);
  }
}

void treeAlongMotions(const Tree *tree, int n, int end, Wrench *x, sunrealtype *by_q,
                      sunrealtype *by_u) {
  alongMotions(tree, n, end, x, by_q, by_u);
}

int treeSubtractDerivatives(const Mechanism *b, const sunrealtype *udot, const Wrench *applied,
                            const Entries *K, const Entries *C) {
  Tree *tree = b->tree;
  if (applied && !tree->response)
    tree->response = malloc((size_t)tree->nnodes * sizeof *tree->response);
  if (applied && !tree->response) return -1;
  tree->level = 0;
  treeAccelerate(tree, udot, b->param);
  if (treeMotions(tree)) return -1;
  if (applied) takeBlocks(b, K, C), composeResponses(tree);
  compose(tree, 1, applied);
  memset(tree->motion[0].a, 0, sizeof tree->motion[0].a);
  subtract(tree, K, C, applied != NULL);
  return 0;
}
