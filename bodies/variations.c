/* The derivative of the motions of a tree in the direction in which the placements of its joints on their bodies move. With motions and
 * their changes as fields of space (w, v) and the product (w, v) x (w', v') = (w x w', w x v' + v x w'), let X_p be the move of the
 * place of a joint on the parent, W = V - V_p the relative velocity and A the spatial acceleration. As q, u and u' are held,
 * W and the relative acceleration W' = A - A_p - V_p x W move with the place:
 *
 *   dV = dV_p + X_p x W,   dA = dA_p + X_p x W' + dV_p x W + V_p x (X_p x W),
 *
 * and the body moves by X_p, less the move of the place that it has on the other side of its joint. Forces on the body and
 * below, with the sum f, do the power S . f in the motion S of the joint, which changes by X_p x S:
 *
 *   d(S . f) = S . (df - X_p x* f). */
#include "variations.h"

#include <string.h>

/* The field x at the origin of a node, r away from where it is known */
static Field fieldAt(const Field *x, const sunrealtype *r) {
  Field y = *x;
  sunrealtype swing[3];
  cross3(x->turn, r, swing);
  add3(1, swing, y.move);
  return y;
}
/* y += sign a x b, as motions */
static void addProduct(sunrealtype sign, const Field *a, const Field *b, Field *y) {
  sunrealtype z[3];
  cross3(a->turn, b->turn, z), add3(sign, z, y->turn);
  cross3(a->turn, b->move, z), add3(sign, z, y->move);
  cross3(a->move, b->turn, z), add3(sign, z, y->move);
}
static void addField(sunrealtype sign, const Field *x, Field *y) {
  add3(sign, x->turn, y->turn), add3(sign, x->move, y->move);
}

void bodiesShift(const Pose *pose, const Shift *shift, Variation *change) {
  sunrealtype turn[3], move[3], swing[3], turned[3];
  toSpace(pose, shift->turn, turn), toSpace(pose, shift->move, move);
  add3(1, turn, change->turn), add3(1, move, change->move);
  cross3(pose->w, move, swing), add3(1, swing, change->v);
  cross3(pose->w, swing, turned), add3(1, turned, change->acc);
  cross3(pose->alpha, move, swing), add3(1, swing, change->acc);
}

/* x += sign times the move of a side of the joint of node n, at P. The angles of a ball are those between the bodies themselves, whatever
 * the axes of its sides. */
static void addShift(const Mechanism *b, const Shift *side, int n, int of, sunrealtype sign,
                     const sunrealtype *P, Field *x) {
  const Node *node      = &b->tree->node[n];
  const sunrealtype *at = b->tree->motion[n + 1].P;
  const int pair        = b->joint[node->joint].pair;
  const Pose *pose      = bodiesPose(b, b->pair[pair].side[of].body);
  const Shift *shift    = &side[2 * pair + of];
  sunrealtype r[3];
  Field own;
  toSpace(pose, shift->turn, own.turn), toSpace(pose, shift->move, own.move);
  for (int k = 0; k < 3; k++) r[k] = at[k] - pose->r[k];
  own = fieldAt(&own, r);
  if (node->kind == SWIVEL) memset(own.turn, 0, sizeof own.turn);
  for (int k = 0; k < 3; k++) r[k] = P[k] - at[k];
  own = fieldAt(&own, r);
  addField(sign, &own, x);
}

/* The velocity of a node, and its spatial acceleration, at a point r away from its origin */
static void motionAt(const Motion *at, const sunrealtype *r, Field *V, Field *A) {
  Field v, a;
  sunrealtype x[3];
  memcpy(v.turn, at->w, sizeof v.turn), memcpy(v.move, at->v, sizeof v.move);
  memcpy(a.turn, at->alpha, sizeof a.turn), memcpy(a.move, at->a, sizeof a.move);
  cross3(at->w, at->v, x), add3(-1, x, a.move);
  *V = fieldAt(&v, r), *A = fieldAt(&a, r);
}

/* The change of the motion of a body with this pose, where it moves by x, at P */
static void toBodyChange(const Pose *pose, const Varied *varied, const Field *x,
                         const sunrealtype *P, Variation *out) {
  sunrealtype d[3], z[3];
  for (int k = 0; k < 3; k++) d[k] = pose->r[k] - P[k];
  const Field moved = fieldAt(x, d), v = fieldAt(&varied->velocity, d),
              a = fieldAt(&varied->acceleration, d);
  memcpy(out->turn, moved.turn, sizeof z), memcpy(out->move, moved.move, sizeof z);
  memcpy(out->w, v.turn, sizeof z), memcpy(out->v, v.move, sizeof z);
  memcpy(out->alpha, a.turn, sizeof z), memcpy(out->acc, a.move, sizeof z);
  cross3(pose->w, out->move, z), add3(1, z, out->v);       /* v at the moved centre */
  cross3(pose->alpha, out->move, z), add3(1, z, out->acc); /* a = A + w x v there */
  cross3(out->w, pose->v, z), add3(1, z, out->acc);
  cross3(pose->w, out->v, z), add3(1, z, out->acc);
}

void treeVary(const Mechanism *b, const Shift *side, Varied *varied, Variation *body) {
  static const sunrealtype here[3] = {0, 0, 0};
  const Tree *tree                 = b->tree;
  for (int n = 0; n < tree->nnodes; n++) {
    const Node *node = &tree->node[n],
               *up   = node->parent == GROUND ? NULL : &tree->node[node->parent];
    const Motion *at = &tree->motion[n + 1];
    Varied *own = &varied[n], above = {{{0}, {0}}, {{0}, {0}}, {{0}, {0}}};
    Field V, A, W, rate, V_p, A_p, turned = {{0}, {0}};
    if (up) {
      above.moved        = fieldAt(&varied[node->parent].moved, at->r);
      above.velocity     = fieldAt(&varied[node->parent].velocity, at->r);
      above.acceleration = fieldAt(&varied[node->parent].acceleration, at->r);
    }
    *own = above;
    if (node->joint != NONE && (!up || up->joint != node->joint)) { /* the first one of its joint */
      if (up && up->joint != NONE)
        addShift(b, side, node->parent, !up->back, -1, at->P, &own->moved);
      addShift(b, side, n, node->back, 1, at->P, &own->moved);
    }
    motionAt(at, here, &V, &A);
    motionAt(&tree->motion[node->parent + 1], at->r, &V_p, &A_p);
    W    = V, addField(-1, &V_p, &W);
    rate = A, addField(-1, &A_p, &rate), addProduct(-1, &V_p, &W, &rate);
    addProduct(1, &own->moved, &W, &turned);
    addField(1, &turned, &own->velocity);
    addProduct(1, &own->moved, &rate, &own->acceleration);
    addProduct(1, &above.velocity, &W, &own->acceleration);
    addProduct(1, &V_p, &turned, &own->acceleration);
    if (node->body == NONE) continue;
    Field moved = own->moved;
    if (node->joint != NONE) addShift(b, side, n, !node->back, -1, at->P, &moved);
    toBodyChange(&b->pose[node->body], own, &moved, at->P, &body[node->body]);
  }
}

static void addToParent(const Tree *tree, int n, Wrench *sum) {
  const int parent = tree->node[n].parent;
  if (parent != GROUND) treeAddToParent(&tree->motion[n + 1], &sum[n], &sum[parent]);
}

void treeSumForces(const Mechanism *b, const sunrealtype *force, Wrench *own, Wrench *sum) {
  const Tree *tree = b->tree;
  memset(sum, 0, (size_t)tree->nnodes * sizeof *sum);
  for (int i = 0; i < b->nbodies; i++) {
    memcpy(own[i].F, force + 6 * i, sizeof own[i].F);
    toSpace(&b->pose[i], force + 6 * i + 3, own[i].N);
    treeAddWrench(b, tree, i, force + 6 * i, force + 6 * i + 3, sum);
  }
  for (int n = tree->nnodes - 1; n >= 0; n--) addToParent(tree, n, sum);
}

void treePullChange(const Mechanism *b, const Varied *varied, const Variation *body,
                    const Wrench *own, const Wrench *sum, const sunrealtype *df, Wrench *work,
                    sunrealtype *tau) {
  const Tree *tree = b->tree;
  sunrealtype x[3];
  memset(work, 0, (size_t)tree->nnodes * sizeof *work);
  for (int i = 0; i < b->nbodies; i++) { /* dN = R dN_b + turn x N + move x F, about a fixed point */
    Wrench *w = &work[tree->node_of_body[i]];
    treeAddWrench(b, tree, i, df + 6 * i, df + 6 * i + 3, work);
    cross3(body[i].turn, own[i].N, x), add3(1, x, w->N);
    cross3(body[i].move, own[i].F, x), add3(1, x, w->N);
  }
  for (int n = tree->nnodes - 1; n >= 0; n--) {
    const Field *X  = &varied[n].moved;
    const Wrench *f = &sum[n];
    Wrench w        = work[n];
    cross3(X->turn, f->F, x), add3(-1, x, w.F);
    cross3(X->turn, f->N, x), add3(-1, x, w.N);
    cross3(X->move, f->F, x), add3(-1, x, w.N);
    treeOnVelocities(&tree->node[n], &tree->motion[n + 1], &w, tau + tree->node[n].u);
    addToParent(tree, n, work);
  }
}
