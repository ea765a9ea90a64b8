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
 * velocity moves its subtree, and T = psi + v x S; S_k x* f only for j above. All are about the origins of their nodes. */
#include "spatial.h"

#include <stdlib.h>

typedef struct {
  Padded w, v;
} Twist;

struct Along_ {
  Twist S, psi, psi_rate, T;
};

/* y += (w, v) x x */
CP_WIDE_PART void addCross(const sunrealtype *w, const sunrealtype *v, const Twist *x, Twist *y) {
  sunrealtype z[3];
  cross3(w, x->w, z), add3(1, z, y->w);
  cross3(w, x->v, z), add3(1, z, y->v);
  cross3(v, x->w, z), add3(1, z, y->v);
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
  *out                             = (struct Along_){.S = {{0}, {0}}};
  memcpy(s.turns ? out->S.w : out->S.v, s.a, sizeof s.a);
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
}

/* Entry (k, j), where k belongs to j or to what is below it: the pattern of column j has all of these, one after the other. */
static sunindextype below(const Entries *e, int k, int j) {
  return e->row ? e->diagonal[j] + (k - j) : (sunindextype)j * e->n + k;
}
/* Entry (j, k), where j belongs to what is above k, or to its node; at: in, out: the place in column k where the last one was, at first the
 * diagonal */
static sunindextype above(const Entries *e, int j, int k, sunindextype *at) {
  if (!e->row) return (sunindextype)k * e->n + j;
  if (j > k) return e->diagonal[k] + (j - k);
  while (e->row[*at] > j) --*at;
  return *at;
}
static sunindextype diagonal(const Entries *e, int k) { return e->row ? e->diagonal[k] : 0; }

/* A wrench in registers */
typedef struct {
  Column F, N;
} Force;

CP_WIDE_PART void pushed(const Inertia *I, const Twist *x, Force *out) {
  Column v;
  load3(x->v, &v);
  times3(I->M, x->v, &out->F), addTimes3(I->G, x->w, &out->F);
  times3(I->J, x->w, &out->N);
  for (int l = 0; l < 3; l++) out->N[l] += inner3(&I->G[l], &v);
}
/* out += 2 B x */
CP_WIDE_PART void addTwisted(sunrealtype (*Q)[3], const sunrealtype *p, const sunrealtype *w,
                             Force *out) {
  const sunrealtype trace = Q[0][0] + Q[1][1] + Q[2][2];
  sunrealtype F[3];
  cross3(w, p, F);
  for (int l = 0; l < 3; l++) {
    out->F[l] += 2 * F[l];
    out->N[l] += 2 * (trace * w[l] - Q[0][l] * w[0] - Q[1][l] * w[1] - Q[2][l] * w[2]);
  }
}
/* out: 2 B^T x */
CP_WIDE_PART void twistedBack(sunrealtype (*Q)[3], const sunrealtype *p, const Twist *x, Force *out) {
  const sunrealtype trace = Q[0][0] + Q[1][1] + Q[2][2];
  sunrealtype N[3];
  cross3(p, x->v, N);
  out->F = out->N = (Column){0, 0, 0, 0};
  for (int l = 0; l < 3; l++) out->N[l] = 2 * (N[l] + trace * x->w[l] - dot3(Q[l], x->w));
}
/* out += x x* (F, N) */
CP_WIDE_PART void addTurned(const Twist *x, const Column *F, const Column *N, Force *out) {
  sunrealtype f[4], m[4], z[3];
  store4(F, f), store4(N, m);
  cross3(x->w, f, z);
  for (int l = 0; l < 3; l++) out->F[l] += z[l];
  cross3(x->w, m, z);
  for (int l = 0; l < 3; l++) out->N[l] += z[l];
  cross3(x->v, f, z);
  for (int l = 0; l < 3; l++) out->N[l] += z[l];
}
CP_WIDE_PART sunrealtype work(const Force *f, const Twist *x) {
  return f->F[0] * x->v[0] + f->F[1] * x->v[1] + f->F[2] * x->v[2] + f->N[0] * x->w[0] +
         f->N[1] * x->w[1] + f->N[2] * x->w[2];
}
CP_WIDE_PART void toParent(const Column *r, Force *f) {
  Column lever;
  vector3(r, &f->F, &lever);
  f->N += lever;
}

/* The inertias of composite bodies; if moving, also the forces of their motions, Q and p */
static CP_WIDE void compose(Tree *tree, int moving) {
  Column h = {0}, r;
  for (int n = 0; n < tree->nnodes; n++) {
    const Node *node   = &tree->node[n];
    const Motion *at   = &tree->motion[n + 1];
    Articulated *own   = &tree->articulated[n];
    sunrealtype(*Q)[3] = tree->moments[n], *p = tree->sum[n].F, x[3];
    if (node->body == NONE) memset(own, 0, sizeof *own);
    else rigid(node, at, &own->I, &h);
    if (!moving) continue;
    memset(Q, 0, sizeof *tree->moments), memset(p, 0, 3 * sizeof *p);
    if (node->body == NONE) continue;
    bodyForce(node, at, &h, own);
    const Column *J = own->I.J;
    for (int l = 0; l < 3; l++) { /* v h^T + w x E with the second moments E = tr J / 2 - J */
      sunrealtype E[3] = {-J[l][0], -J[l][1], -J[l][2]};
      E[l] += (J[0][0] + J[1][1] + J[2][2]) / 2;
      cross3(at->w, E, Q[l]);
      add3(h[l], at->v, Q[l]);
    }
    const sunrealtype mc[3] = {h[0], h[1], h[2]};
    cross3(at->w, mc, x);
    for (int l = 0; l < 3; l++) p[l] = node->m * at->v[l] + x[l];
  }
  for (int n = tree->nnodes - 1; n >= 0; n--) {
    const int parent = tree->node[n].parent;
    Articulated *own = &tree->articulated[n], *up = &tree->articulated[parent];
    if (parent == GROUND) continue;
    load3(tree->motion[n + 1].r, &r);
    shift(&own->I, &r, &up->I);
    if (!moving) continue;
    Force f = {own->F, own->N};
    toParent(&r, &f);
    up->F += f.F, up->N += f.N;
    for (int l = 0; l < 3; l++) {
      add3(1, tree->moments[n][l], tree->moments[parent][l]);
      add3(r[l], tree->sum[n].F, tree->moments[parent][l]);
    }
    add3(1, tree->sum[n].F, tree->sum[parent].F);
  }
}

static CP_WIDE void fillMass(const Tree *tree, const Entries *M) {
  for (int k = 0; k < tree->nu; k++) {
    const int n     = tree->node_of_velocity[k];
    sunindextype at = diagonal(M, k);
    Force f;
    Column r;
    pushed(&tree->articulated[n].I, &tree->along[k].S, &f);
    for (int i = n; i != GROUND; i = tree->node[i].parent) {
      const Node *node = &tree->node[i];
      for (int j = node->u + node->nu - 1; j >= node->u; j--) {
        const sunrealtype x          = work(&f, &tree->along[j].S);
        M->data[above(M, j, k, &at)] = x;
        if (i != n) M->data[below(M, k, j)] = x;
      }
      load3(tree->motion[i + 1].r, &r);
      toParent(&r, &f);
    }
  }
}

/* Room for what is known of velocities. Returns 0, or -1 without memory. */
static int makeRoom(Tree *tree) {
  if (!tree->along) tree->along = malloc((size_t)tree->nu * sizeof *tree->along);
  return tree->along ? 0 : -1;
}

int treeMass(Tree *tree, const Entries *M) {
  if (makeRoom(tree)) return -1;
  for (int k = 0; k < tree->nu; k++) {
    const Axis s = treeAxis(tree, k);
    Twist *S     = &tree->along[k].S;
    *S           = (Twist){{0}, {0}};
    memcpy(s.turns ? S->w : S->v, s.a, sizeof s.a);
    if (s.screws) memcpy(S->v, s.v, sizeof s.v);
  }
  compose(tree, 0);
  fillMass(tree, M);
  return 0;
}

static CP_WIDE void subtract(const Tree *tree, const Entries *K, const Entries *C) {
  for (int k = 0; k < tree->nu; k++) {
    const int n             = tree->node_of_velocity[k];
    const Node *node        = &tree->node[n];
    const Articulated *own  = &tree->articulated[n];
    const struct Along_ *of = &tree->along[k];
    sunrealtype(*Q)[3]      = tree->moments[n];
    const sunrealtype *p    = tree->sum[n].F;
    Force by_q, turned, by_u, back, mass;
    Column r;
    pushed(&own->I, &of->psi_rate, &by_q), addTwisted(Q, p, of->psi.w, &by_q);
    pushed(&own->I, &of->T, &by_u), addTwisted(Q, p, of->S.w, &by_u);
    pushed(&own->I, &of->S, &mass), twistedBack(Q, p, &of->S, &back);
    turned          = by_q, addTurned(&of->S, &own->F, &own->N, &turned);
    sunindextype at = diagonal(K, k);
    for (int j = node->u + node->nu - 1; j >= node->u;
         j--) { /* the centre of a body afloat is above */
      const Twist *S        = &tree->along[j].S;
      const int apart       = node->kind == AFLOAT && j < node->u + 3 && k >= node->u + 3;
      const sunindextype to = above(K, j, k, &at);
      K->data[to] -= work(apart ? &turned : &by_q, S);
      C->data[to] -= work(&by_u, S);
    }
    for (int i = n; tree->node[i].parent != GROUND;) {
      Force *all[] = {&turned, &by_u, &back, &mass};
      load3(tree->motion[i + 1].r, &r);
      for (int l = 0; l < 4; l++) toParent(&r, all[l]);
      i = tree->node[i].parent;
      for (int j = tree->node[i].u + tree->node[i].nu - 1; j >= tree->node[i].u; j--) {
        const struct Along_ *up = &tree->along[j];
        const sunindextype to = above(K, j, k, &at), across = below(K, k, j);
        K->data[to] -= work(&turned, &up->S);
        C->data[to] -= work(&by_u, &up->S);
        K->data[across] -= work(&back, &up->psi) + work(&mass, &up->psi_rate);
        C->data[across] -= work(&back, &up->S) + work(&mass, &up->T);
      }
    }
  }
}

int treeSubtractDerivatives(const Mechanism *b, const sunrealtype *q, const sunrealtype *u,
                            const sunrealtype *udot, const Entries *K, const Entries *C) {
  Tree *tree = b->tree;
  if (makeRoom(tree)) return -1;
  tree->level = 0;
  treeMove(b, tree, q, u);
  treeAccelerate(tree, udot, b->param);
  compose(tree, 1);
  for (int k = 0; k < tree->nu; k++) alongOf(tree, k, &tree->along[k]);
  memset(tree->motion[0].a, 0, sizeof tree->motion[0].a);
  subtract(tree, K, C);
  return 0;
}
