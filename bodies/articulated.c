/* u' by the articulated-body recursion (R. Featherstone, Rigid Body Dynamics Algorithms, 2008, table 7.1), with inertias that are
 * shifted from origin to origin (spatial.h). A node that turns freely about its axis passes on what is left,
 * I^A - U D^-1 U^T with U = I^A S and D = S^T U. The accelerations at u' = 0 come first, with gravity as one of the ground
 * upwards, so that the recursion itself has neither velocities nor weights. */
#include "spatial.h"

/* Solves A x = y for n columns of x [n][3], y in place; A symmetric. Returns 0, or 1 if A is not definite. */
static int solve3(const Column *A, int n, sunrealtype (*x)[3]) {
  if (!(A[0][0] > 0)) return 1;
  const sunrealtype l1 = A[0][1] / A[0][0], l2 = A[0][2] / A[0][0], d = A[1][1] - l1 * A[0][1],
                    e = A[1][2] - l2 * A[0][1];
  if (!(d > 0)) return 1;
  const sunrealtype l3 = e / d, f = A[2][2] - l2 * A[0][2] - l3 * e;
  if (!(f > 0)) return 1;
  for (int k = 0; k < n; k++) {
    sunrealtype *v = x[k];
    v[1] -= l1 * v[0];
    v[2] -= l2 * v[0] + l3 * v[1];
    v[2] /= f;
    v[1] = v[1] / d - l3 * v[2];
    v[0] = v[0] / A[0][0] - l1 * v[1] - l2 * v[2];
  }
  return 0;
}

/* ------------------------------------------------------------------- from the leaves to the root -- */

/* Eliminates the one velocity of a hinge or slide: I and p become what the parent feels, and tau less S^T p. */
CP_WIDE_PART int eliminate(const Node *node, const Motion *at, sunrealtype armature,
                           sunrealtype *tau, Articulated *own) {
  Column U, V, z;
  Inertia *I = &own->I;
  load3(at->R[2], &z);
  if (node->kind == HINGE) times3(I->G, at->R[2], &U), times3(I->J, at->R[2], &V);
  else {
    times3(I->M, at->R[2], &U);
    V = (Column){inner3(&I->G[0], &z), inner3(&I->G[1], &z), inner3(&I->G[2], &z), 0};
  }
  const sunrealtype S = armature + (node->kind == HINGE ? inner3(&z, &V) : inner3(&z, &U));
  if (!(S > 0)) return 1;
  const sunrealtype D = own->D = 1 / S;
  *tau -= node->kind == HINGE ? inner3(&z, &own->N) : inner3(&z, &own->F);
  const Column u = D * U, v = D * V;
  for (int j = 0; j < 3; j++) {
    I->M[j] -= U * u[j];
    I->G[j] -= U * v[j];
    I->J[j] -= V * v[j];
  }
  own->F += *tau * u;
  own->N += *tau * v;
  store3(&U, own->U), store3(&V, own->U + 3);
  return 0;
}

/* The same for a swivel, which passes on a force but no moment except the given one. X = J^-1 G^T, x = J^-1 (tau - N) */
static int eliminateSwivel(Motion *at, sunrealtype *tau, Articulated *own) {
  Inertia *I = &own->I;
  sunrealtype X[4][3], torque[3];
  nodeToSpace(at, tau, torque);
  for (int k = 0; k < 3; k++) {
    for (int i = 0; i < 3; i++) X[k][i] = I->G[i][k];
    X[3][k] = torque[k] - own->N[k];
    for (int i = 0; i < 3; i++) tau[k] -= at->R[k][i] * own->N[i];
  }
  if (solve3(I->J, 4, X)) return 1;
  for (int j = 0; j < 3; j++)
    for (int k = 0; k < 3; k++) I->M[j] -= I->G[k] * X[j][k];
  addTimes3(I->G, X[3], &own->F);
  own->N = (Column){torque[0], torque[1], torque[2], 0};
  return 0;
}

static CP_WIDE int inwards(Tree *tree, sunrealtype *tau, const sunrealtype *armature,
                           const Wrench *wrench) {
  for (int i = 0; i < tree->nnodes; i++) {
    const int n      = tree->order[i];
    const Node *node = &tree->node[n];
    Motion *at       = &tree->motion[n + 1];
    Articulated *own = &tree->articulated[n];
    Column h;
    treeCarryOn(&tree->motion[node->parent + 1], at);
    if (node->body == NONE) {
      memset(own, 0, sizeof *own);
    } else {
      rigid(node, at, &own->I, &h);
      bodyForce(node, at, &h, own);
    }
    if (!wrench) continue;
    const sunrealtype *F = wrench[n].F, *N = wrench[n].N;
    own->F -= (Column){F[0], F[1], F[2], 0};
    own->N -= (Column){N[0], N[1], N[2], 0};
  }
  for (int i = tree->nnodes - 1; i >= 0; i--) {
    const int n      = tree->order[i];
    const Node *node = &tree->node[n];
    Motion *at       = &tree->motion[n + 1];
    Articulated *own = &tree->articulated[n];
    sunrealtype *of  = tau + node->u;
    Column r, lever;
    int flag = 0;
    switch (node->kind) {
    case HINGE:
    case SLIDE: flag = eliminate(node, at, armature[node->u], of, own); break;
    case WELD: break;
    case CUSTOM: flag = customEliminate(node, armature + node->u, of, own); break;
    case SWIVEL: flag = eliminateSwivel(at, of, own); break;
    case AFLOAT:
      for (int k = 0; k < 3; k++) {
        of[k] -= own->F[k];
        for (int j = 0; j < 3; j++) of[3 + k] -= at->R[k][j] * own->N[j];
      }
      continue;
    }
    if (flag) return n + 1;
    if (node->parent == GROUND) continue;
    Articulated *up = &tree->articulated[node->parent];
    load3(at->r, &r);
    if (node->kind == SWIVEL) { /* It keeps G and J for the way outwards. */
      Inertia left = {{{0}}, {{0}}, {{0}}};
      memcpy(left.M, own->I.M, sizeof left.M);
      shift(&left, &r, &up->I);
    } else shift(&own->I, &r, &up->I);
    vector3(&r, &own->F, &lever);
    up->F += own->F;
    up->N += own->N + lever;
  }
  return 0;
}

int treeEliminate(const Mechanism *b, Tree *tree, sunrealtype *tau, const sunrealtype *armature,
                  const Wrench *wrench) {
  Motion *ground = &tree->motion[0];
  for (int k = 0; k < 3; k++) ground->a[k] = -b->param[k];
  const int flag = inwards(tree, tau, armature, wrench);
  memset(ground->a, 0, sizeof ground->a);
  return flag;
}

/* ------------------------------------------------------------------- from the root to the leaves -- */

/* x [n][6]: out, the velocities (a, alpha) of a body afloat that each tau [n][6] gives it, n <= TREE_LOADS, where moments and alpha are in
 * its axes. Returns 0, or 1 if its inertia is not definite. */
static int moveAfloat(Motion *at, const Inertia *I, int n, sunrealtype (*tau)[6],
                      sunrealtype (*x)[6]) {
  /* a = M^-1 (F - G alpha), (J - G^T M^-1 G) alpha = N - G^T M^-1 F */
  sunrealtype X[3 + TREE_LOADS][3], alpha[TREE_LOADS][3];
  Column S[3];
  for (int j = 0; j < 3; j++) store3(&I->G[j], X[j]);
  for (int l = 0; l < n; l++) memcpy(X[3 + l], tau[l], sizeof X[0]);
  if (solve3(I->M, 3 + n, X)) return 1;
  for (int j = 0; j < 3; j++) {
    S[j] = I->J[j];
    for (int i = 0; i < 3; i++)
      for (int k = 0; k < 3; k++) S[j][i] -= I->G[i][k] * X[j][k];
  }
  for (int l = 0; l < n; l++) {
    nodeToSpace(at, tau[l] + 3, alpha[l]);
    for (int j = 0; j < 3; j++)
      for (int i = 0; i < 3; i++) alpha[l][j] -= I->G[j][i] * X[3 + l][i];
  }
  if (solve3(S, n, alpha)) return 1;
  for (int l = 0; l < n; l++) {
    memcpy(x[l], X[3 + l], sizeof X[0]);
    for (int k = 0; k < 3; k++) add3(-alpha[l][k], X[k], x[l]);
    for (int k = 0; k < 3; k++) x[l][3 + k] = dot3(at->R[k], alpha[l]);
  }
  return 0;
}

static CP_WIDE int outwards(Tree *tree, const sunrealtype *tau, sunrealtype *udot) {
  for (int i = 0; i < tree->nnodes; i++) {
    const int n            = tree->order[i];
    const Node *node       = &tree->node[n];
    const Motion *up       = &tree->motion[node->parent + 1];
    Motion *at             = &tree->motion[n + 1];
    const Articulated *own = &tree->articulated[n];
    const sunrealtype *of  = tau + node->u;
    sunrealtype *x         = udot + node->u, torque[3];
    Column a, alpha, r, part, U;
    if (node->kind == AFLOAT) {
      sunrealtype all[1][6];
      memcpy(all[0], of, sizeof all);
      if (moveAfloat(at, &own->I, 1, all, all)) return n + 1;
      memcpy(x, all[0], sizeof all);
      memcpy(at->a, x, 3 * sizeof *x);
      nodeToSpace(at, x + 3, at->alpha);
      continue;
    }
    load3(up->a, &a), load3(up->alpha, &alpha), load3(at->r, &r);
    vector3(&alpha, &r, &part);
    a += part;
    if (node->kind == HINGE || node->kind == SLIDE) {
      load3(own->U, &part), U = part * a;
      load3(own->U + 3, &part), U += part * alpha;
      x[0] = own->D * (of[0] - (U[0] + U[1] + U[2]));
      load3(at->R[2], &part);
      if (node->kind == HINGE) alpha += x[0] * part;
      else a += x[0] * part;
    }
    store4(&a, at->a), store4(&alpha, at->alpha);
    if (node->kind == CUSTOM) customOutwards(node, of, at, x);
    if (node->kind == SWIVEL) { /* J^-1 (tau - G^T a) - alpha */
      nodeToSpace(at, of, torque);
      for (int k = 0; k < 3; k++)
        for (int j = 0; j < 3; j++) torque[k] -= own->I.G[k][j] * at->a[j];
      solve3(own->I.J, 1, &torque);
      add3(-1, at->alpha, torque);
      for (int k = 0; k < 3; k++) x[k] = dot3(at->R[k], torque);
      add3(1, torque, at->alpha);
    }
  }
  return 0;
}

int treeOutwards(Tree *tree, const sunrealtype *tau, sunrealtype *udot) {
  return outwards(tree, tau, udot);
}

void treeCarry(const Tree *tree, int n, int count, Wrench *w, sunrealtype (*e)[6],
               sunrealtype (*x)[6]) {
  const Node *node       = &tree->node[n];
  Motion *at             = &tree->motion[n + 1];
  const Articulated *own = &tree->articulated[n];
  sunrealtype turned[TREE_LOADS][3];
  for (int l = 0; l < count; l++) treeOnVelocities(node, at, &w[l], e[l]);
  switch (node->kind) {
  case WELD: break;
  case HINGE:
  case SLIDE:
    for (int l = 0; l < count; l++) {
      x[l][0] = own->D * e[l][0];
      add3(-x[l][0], own->U, w[l].F);
      add3(-x[l][0], own->U + 3, w[l].N);
    }
    break;
  case SWIVEL:
    for (int l = 0; l < count; l++) memcpy(turned[l], w[l].N, sizeof turned[l]);
    solve3(own->I.J, count, turned);
    for (int l = 0; l < count; l++) {
      for (int k = 0; k < 3; k++) x[l][k] = dot3(at->R[k], turned[l]);
      for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++) w[l].F[i] -= own->I.G[k][i] * turned[l][k];
      memset(w[l].N, 0, sizeof w[l].N);
    }
    break;
  case CUSTOM:
    for (int l = 0; l < count; l++) customCarry(node, &w[l], e[l], x[l]);
    break;
  case AFLOAT: moveAfloat(at, &own->I, count, e, x);
  }
}
