/* The motions of the nodes and the poses of the bodies: positions, velocities and accelerations from the root outwards, and
 * forces from the bodies to the velocities of the tree. With the distance r of a node's origin from that of its parent p,
 *
 *   w = w_p + S_w u,             v = v_p + w_p x r + S_v u
 *   alpha = alpha_p + c_w + S_w u',   a = a_p + alpha_p x r + c_v + S_v u'
 *   c_w = w_p x S_w u,                c_v = w_p x (w_p x r) + 2 w_p x S_v u */
#include "tree.h"

#include <float.h>
#include <string.h>

/* s, c [n]: out, the sines and cosines of x [n], where n is a multiple of TREE_LANES, to about an ulp: Taylor series about the nearest
 * multiple of pi/2. It is subtracted in three parts, two of which have 33 bits, so that multiples up to 2^20 are exact. Beyond them,
 * for what is not finite, and where sums have more digits than their type, the functions of the library take over; they have no lanes. */
static CP_WIDE void sinesCosines(int n, const sunrealtype *x, sunrealtype *s, sunrealtype *c) {
  static const sunrealtype most     = FLT_EVAL_METHOD == 0 ? 0x1.8p+20 : 0,
                           part[]   = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e037073p-69},
                           quarters = 0x1.45f306dc9c883p-1, /* 2 / pi */
      integers                      = 0x1.8p+52; /* Numbers of this size have no fractions. */
  static const sunrealtype
      S[] = {-1. / 6,        1. / 120,        -1. / 5040,          1. / 362880,
             -1. / 39916800, 1. / 6227020800, -1. / 1307674368000, 1. / 355687428096000},
      C[] = {1. / 24,        -1. / 720,         1. / 40320,          -1. / 3628800,
             1. / 479001600, -1. / 87178291200, 1. / 20922789888000, -1. / 6402373705728000};
  int far = 0;
  for (int first = 0; first < n; first += TREE_LANES)
    for (int i = first; i < first + TREE_LANES; i++) {
      const int is_near = fabs(x[i]) < most;
      const sunrealtype
          y = is_near ? x[i] : 0,
          k = (y * quarters + integers) - integers,
          r = ((y - k * part[0]) - k * part[1]) - k * part[2], z = r * r,
          sine =
              r +
              r * (z * (S[0] +
                        z * (S[1] +
                             z * (S[2] +
                                  z * (S[3] + z * (S[4] + z * (S[5] + z * (S[6] + z * S[7])))))))),
          cosine =
              1 -
              (z / 2 -
               z * (z * (C[0] +
                         z * (C[1] +
                              z * (C[2] +
                                   z * (C[3] + z * (C[4] + z * (C[5] + z * (C[6] + z * C[7])))))))));
      const int quarter   = (int)k;
      const sunrealtype a = quarter & 1 ? cosine : sine, b = quarter & 1 ? sine : cosine;
      s[i] = quarter & 2 ? -a : a;
      c[i] = (quarter + 1) & 2 ? -b : b;
      far |= !is_near;
    }
  for (int i = 0; i < n && far; i++)
    if (!(fabs(x[i]) < most)) s[i] = sin(x[i]), c[i] = cos(x[i]);
}

/* The node moves by x and rate along or about its z, if it does; s, c: the sine and cosine of x */
CP_WIDE_PART void moveBy(const Motion *up, sunrealtype x, sunrealtype s, sunrealtype c,
                         sunrealtype rate, const Node *node, Motion *at) {
  Column R[3], own[3], w, v, P, r, swing, turned, cw = {0};
  axes3(up->R, R);
  load3(up->w, &w), load3(up->v, &v), load3(up->P, &P);
  for (int j = 0; j < 3; j++) times3(R, node->R[j], &own[j]);
  times3(R, node->p, &r);
  if (node->kind == HINGE) {
    const Column first = own[0];
    own[0]             = c * first + s * own[1];
    own[1]             = c * own[1] - s * first;
  } else if (node->kind == SLIDE) r += x * own[2];
  vector3(&w, &r, &swing);
  vector3(&w, &swing, &turned);
  v += swing;
  P += r;
  vector3(&w, &own[2], &swing);
  if (node->kind == HINGE) w += rate * own[2], cw = rate * swing;
  else if (node->kind == SLIDE) v += rate * own[2], turned += 2 * rate * swing;
  for (int j = 0; j < 3; j++) store4(&own[j], at->R[j]);
  store4(&P, at->P), store4(&r, at->r);
  store4(&w, at->w), store4(&v, at->v);
  store4(&cw, at->cw), store4(&turned, at->cv);
}

static CP_WIDE void moveAll(const Mechanism *b, Tree *tree, const sunrealtype *q,
                            const sunrealtype *u) {
  static const sunrealtype still[6] = {0};
  treeRefresh(b, tree);
  memcpy(tree->x, q, (size_t)tree->nq * sizeof *q);
  sinesCosines(treePadded(tree->nq), tree->x, tree->sine, tree->cosine);
  for (int i = 0; i < tree->nnodes; i++) {
    const int n          = tree->order[i];
    Node *node           = &tree->node[n];
    const Motion *up     = &tree->motion[node->parent + 1];
    Motion *at           = &tree->motion[n + 1];
    const sunrealtype *x = q + node->q, *rate = u ? u + node->u : still;
    sunrealtype own[3][3], turned[3][3], spin[3];
    at->phi   = up->phi + node->phi;
    at->turns = up->turns;
    switch (node->kind) {
    case AFLOAT:
      bodiesRotation(x + 3, own);
      for (int k = 0; k < 3; k++) memcpy(at->R[k], own[k], sizeof own[k]);
      memcpy(at->P, x, 3 * sizeof *x);
      memcpy(at->r, x, 3 * sizeof *x);
      memcpy(at->v, rate, 3 * sizeof *x);
      nodeToSpace(at, rate + 3, at->w);
      memset(at->cw, 0, sizeof at->cw);
      memset(at->cv, 0, sizeof at->cv);
      break;
    case SWIVEL:
      moveBy(up, 0, 0, 1, 0, node, at);
      bodiesRotation(x, own);
      for (int k = 0; k < 3; k++) nodeToSpace(at, own[k], turned[k]);
      for (int k = 0; k < 3; k++) memcpy(at->R[k], turned[k], sizeof own[k]);
      nodeToSpace(at, rate, spin);
      add3(1, spin, at->w);
      cross3(up->w, spin, at->cw);
      break;
    case WELD: moveBy(up, 0, 0, 1, 0, node, at); break;
    case CUSTOM:
      moveBy(up, 0, 0, 1, 0, node, at);
      customMove(up, x, rate, node, at);
      break;
    case HINGE:
      at->phi += node->turn * x[0];
      if (b->turns) at->turns += node->turn * b->turns[node->q]; /* fall through */
    case SLIDE: moveBy(up, x[0], tree->sine[node->q], tree->cosine[node->q], rate[0], node, at);
    }
  }
}

void treeMove(const Mechanism *b, Tree *tree, const sunrealtype *q, const sunrealtype *u) {
  moveAll(b, tree, q, u);
}

void treeAccelerate(Tree *tree, const sunrealtype *udot, const sunrealtype *gravity) {
  Motion *ground = &tree->motion[0];
  for (int k = 0; k < 3; k++) ground->a[k] = gravity ? -gravity[k] : 0;
  for (int n = 0; n < tree->nnodes; n++) {
    const Node *node     = &tree->node[n];
    const Motion *up     = &tree->motion[node->parent + 1];
    Motion *at           = &tree->motion[n + 1];
    const sunrealtype *x = udot ? udot + node->u : NULL;
    sunrealtype swing[3];
    treeCarryOn(up, at);
    if (node->kind == CUSTOM) customAccelerate(node, x, at);
    if (!x) continue;
    if (node->kind == HINGE) add3(x[0], at->R[2], at->alpha);
    if (node->kind == SLIDE) add3(x[0], at->R[2], at->a);
    if (node->kind == AFLOAT) add3(1, x, at->a), x += 3;
    if (node->kind == AFLOAT || node->kind == SWIVEL) {
      nodeToSpace(at, x, swing);
      add3(1, swing, at->alpha);
    }
  }
}

/* The pose of a node's body */
CP_WIDE_PART void placeBody(const Node *node, const Motion *at, Pose *pose) {
  Column R[3], P, v, w, a, alpha, d, axis, swing, turned, moved;
  axes3(at->R, R);
  load3(at->P, &P), load3(at->v, &v), load3(at->w, &w);
  load3(at->a, &a), load3(at->alpha, &alpha);
  for (int k = 0; k < 3; k++) times3(R, node->B[k], &axis), store3(&axis, pose->axis[k]);
  times3(R, node->c, &d);
  vector3(&w, &d, &swing);
  vector3(&w, &swing, &turned);
  vector3(&alpha, &d, &moved);
  P += d, v += swing, a += moved + turned;
  store3(&P, pose->r), store3(&v, pose->v), store3(&w, pose->w);
  store3(&a, pose->acc), store3(&alpha, pose->alpha);
  pose->phi          = at->phi;
  pose->turns        = at->turns;
  pose->accelerating = 1;
}

/* Sets the poses of all bodies from the motions of the nodes. */
static CP_WIDE void placeAll(Mechanism *b, const Tree *tree) {
  for (int i = 0; i < b->nbodies; i++) {
    const int n       = tree->node_of_body[i];
    Pose *pose        = &b->pose[i];
    sunrealtype *body = tree->twist + b->space.nu * i;
    placeBody(&tree->node[n], &tree->motion[n + 1], pose);
    memcpy(body, pose->v, sizeof pose->v);
    if (b->space.dimension == 2) body[2] = pose->w[2];
    else toBody(pose, pose->w, body + 3);
  }
}

/* All functions of the CPMech are called at one state. Those without u take it as it is. */
void treePose(Mechanism *b, const sunrealtype *q, const sunrealtype *u, const sunrealtype *udot) {
  Tree *tree          = b->tree;
  const size_t size_q = (size_t)tree->nq * sizeof *q, size_u = (size_t)tree->nu * sizeof *q;
  const int there = tree->level > 0 && !memcmp(q, tree->known, size_q);
  if (!udot && there && (!u || (tree->level > 1 && !memcmp(u, tree->known + tree->nq, size_u)))) {
    treeRefresh(b, tree);
    return;
  }
  treeMove(b, tree, q, u);
  treeAccelerate(tree, udot, NULL);
  placeAll(b, tree);
  tree->level = udot ? 0 : u ? 2 : 1;
  memcpy(tree->known, q, size_q);
  if (u) memcpy(tree->known + tree->nq, u, size_u);
}

void treeAddWrench(const Mechanism *b, const Tree *tree, int body, const sunrealtype *F,
                   const sunrealtype *moment, Wrench *wrench) {
  const int n      = tree->node_of_body[body];
  Wrench *w        = &wrench[n];
  const Pose *pose = &b->pose[body];
  sunrealtype d[3], lever[3];
  for (int k = 0; k < 3; k++) d[k] = pose->r[k] - tree->motion[n + 1].P[k];
  cross3(d, F, lever);
  add3(1, F, w->F);
  add3(1, lever, w->N);
  toSpace(pose, moment, lever);
  add3(1, lever, w->N);
}

void treeOnVelocities(const Node *node, const Motion *at, const Wrench *w, sunrealtype *tau) {
  switch (node->kind) {
  case WELD: break;
  case HINGE: tau[0] += dot3(at->R[2], w->N); break;
  case SLIDE: tau[0] += dot3(at->R[2], w->F); break;
  case CUSTOM: customOnVelocities(node, w, tau); break;
  case AFLOAT: add3(1, w->F, tau), tau += 3; /* fall through */
  case SWIVEL:
    for (int k = 0; k < 3; k++) tau[k] += dot3(at->R[k], w->N);
  }
}

void treeAlongPath(const Tree *tree, int n, int end, Wrench w, sunrealtype *tau) {
  for (; n != end; n = tree->node[n].parent) {
    const Node *node = &tree->node[n];
    const Motion *at = &tree->motion[n + 1];
    sunrealtype lever[3];
    treeOnVelocities(node, at, &w, tau + node->u);
    cross3(at->r, w.F, lever);
    add3(1, lever, w.N);
  }
}

void treePull(const Tree *tree, int low, int high, Wrench *wrench, sunrealtype *tau) {
  for (int n = high; n >= low; n--) {
    const Node *node = &tree->node[n];
    const Motion *at = &tree->motion[n + 1];
    const Wrench *w  = &wrench[n];
    treeOnVelocities(node, at, w, tau + node->u);
    if (node->parent == GROUND) continue;
    if (node->parent < low) { /* the rest of the path to the root */
      Wrench up = {{0}, {0}};
      treeAddToParent(at, w, &up);
      treeAlongPath(tree, node->parent, GROUND, up, tau);
    } else treeAddToParent(at, w, &wrench[node->parent]);
  }
}

Axis treeAxis(const Tree *tree, int k) {
  const int n      = tree->node_of_velocity[k];
  const Node *node = &tree->node[n];
  const Motion *at = &tree->motion[n + 1];
  const int own = k - node->u, moves = node->kind == SLIDE || (node->kind == AFLOAT && own < 3);
  Axis s = {.turns = !moves, .screws = node->kind == CUSTOM};
  if (s.screws) {
    memcpy(s.a, node->own->S[own], sizeof s.a);
    memcpy(s.v, node->own->S[own] + 3, sizeof s.v);
    return s;
  }
  if (node->kind == AFLOAT && moves) s.a[own] = 1;
  else memcpy(s.a, at->R[node->kind == HINGE || node->kind == SLIDE ? 2 : own % 3], sizeof s.a);
  return s;
}

/* The coordinates of hinges and slides are those of their joints. */
void treeRead(Mechanism *b, const Tree *tree, sunrealtype *q, sunrealtype *u) {
  for (int n = 0; n < tree->nnodes; n++) {
    const Node *node = &tree->node[n];
    const int up     = node->parent == GROUND ? GROUND : tree->node[node->parent].body;
    const Pose *own  = node->body == NONE ? NULL : &b->pose[node->body];
    sunrealtype *x = q + node->q, *rate = u + node->u, R[3][3], w[3];
    if (node->kind == WELD) continue;
    if (node->kind == CUSTOM) {
      customRead(b, node, bodiesPose(b, up), own, x, rate);
      continue;
    }
    if (node->joint == NONE) {
      int last = n; /* of a chain in the plane */
      while (tree->node[last].body == NONE) last++;
      own = &b->pose[tree->node[last].body];
      if (node->kind == SLIDE) x[0] = own->r[node->coordinate], rate[0] = own->v[node->coordinate];
      else if (node->kind == HINGE) x[0] = own->phi, rate[0] = own->w[2];
      else {
        memcpy(x, own->r, sizeof own->r);
        memcpy(rate, own->v, sizeof own->v);
        x += 3, rate += 3;
      }
    }
    if (node->kind == AFLOAT || node->kind == SWIVEL) {
      const Pose *parent = bodiesPose(b, up);
      for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) R[i][j] = dot3(parent->axis[i], own->axis[j]);
      bodiesQuaternion(R, x);
      for (int k = 0; k < 3; k++) w[k] = own->w[k] - parent->w[k];
      toBody(own, w, rate);
    } else if (node->joint != NONE) {
      Term term;
      Jet jet;
      bodiesCoordinateTerm(b, node->joint, node->coordinate, &term);
      bodiesTermJet(b, &term, VALUES, &jet);
      const sunrealtype now = term.coef * jet.s, turns = 8 * atan(SUN_RCONST(1.0));
      x[0]    = term.m.kind == ANGLE ? x[0] + remainder(now - x[0], turns) : now;
      rate[0] = term.coef * jet.rate;
    }
  }
}
