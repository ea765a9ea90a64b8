/* u' by the articulated-body recursion (R. Featherstone, Rigid Body Dynamics Algorithms, 2008, table 7.1), and M by composite
 * rigid bodies (table 6.2). Each node has its own origin, so that transport to the parent is a shift by r:
 *
 *   H_p = H + [r] M,   J_p = J + Z + Z^T,   Z = [r] (H + [r] M / 2)^T,   N_p = N + r x F
 *
 * for the inertia F = M a + H^T alpha, N = H a + J alpha. A node that turns freely about its axis passes on what is left,
 * I^A - U D^-1 U^T with U = I^A S and D = S^T U. The accelerations at u' = 0 come first, with gravity as one of the ground
 * upwards, so that the recursion itself has neither velocities nor weights. */
#include "tree.h"

#include <string.h>

enum { XX, YY, ZZ, XY, XZ, YZ };
static const int row[] = {0, 1, 2, 0, 0, 1}, col[] = {0, 1, 2, 1, 2, 2};

/* y = S x for a symmetric S */
CP_WIDE_PART void symmetric(const sunrealtype *S, const sunrealtype *x, sunrealtype *y) {
  y[0] = S[XX] * x[0] + S[XY] * x[1] + S[XZ] * x[2];
  y[1] = S[XY] * x[0] + S[YY] * x[1] + S[YZ] * x[2];
  y[2] = S[XZ] * x[0] + S[YZ] * x[1] + S[ZZ] * x[2];
}

/* y = H x; y = H^T x */
CP_WIDE_PART void general(const sunrealtype *H, const sunrealtype *x, sunrealtype *y) {
  for (int i = 0; i < 3; i++) y[i] = H[3 * i] * x[0] + H[3 * i + 1] * x[1] + H[3 * i + 2] * x[2];
}
CP_WIDE_PART void transposed(const sunrealtype *H, const sunrealtype *x, sunrealtype *y) {
  for (int i = 0; i < 3; i++) y[i] = H[i] * x[0] + H[3 + i] * x[1] + H[6 + i] * x[2];
}

/* S -= d x x^T */
CP_WIDE_PART void reduce(sunrealtype *S, sunrealtype d, const sunrealtype *x) {
  const sunrealtype a = d * x[0], b = d * x[1];
  S[XX] -= a * x[0];
  S[XY] -= a * x[1];
  S[XZ] -= a * x[2];
  S[YY] -= b * x[1];
  S[YZ] -= b * x[2];
  S[ZZ] -= d * x[2] * x[2];
}

/* J [6] = R I R^T */
CP_WIDE_PART void turnInertia(sunrealtype (*R)[3], const sunrealtype *I, sunrealtype *J) {
  sunrealtype P[3][3]; /* R I, by columns */
  for (int i = 0; i < 3; i++) {
    P[0][i] = R[0][i] * I[XX] + R[1][i] * I[XY] + R[2][i] * I[XZ];
    P[1][i] = R[0][i] * I[XY] + R[1][i] * I[YY] + R[2][i] * I[YZ];
    P[2][i] = R[0][i] * I[XZ] + R[1][i] * I[YZ] + R[2][i] * I[ZZ];
  }
  for (int k = 0; k < 6; k++) {
    const int i = row[k], j = col[k];
    J[k] = P[0][i] * R[0][j] + P[1][i] * R[1][j] + P[2][i] * R[2][j];
  }
}

/* The inertia of a node's body in the axes of space; h: out, m c */
CP_WIDE_PART void rigid(const Node *node, Motion *at, Inertia *I, sunrealtype *h) {
  rotate3(at->R, node->h, h);
  *I = (Inertia){
      {node->m, node->m, node->m, 0, 0, 0}, {0, -h[2], h[1], h[2], 0, -h[0], -h[1], h[0], 0}, {0}};
  turnInertia(at->R, node->I, I->J);
}

/* up += I, shifted by r */
CP_WIDE_PART void shift(const Inertia *I, const sunrealtype *r, Inertia *up) {
  const sunrealtype *M = I->M, *H = I->H;
  const sunrealtype N[9] = {
      /* [r] M by rows */
      r[1] * M[XZ] - r[2] * M[XY], r[1] * M[YZ] - r[2] * M[YY], r[1] * M[ZZ] - r[2] * M[YZ],
      r[2] * M[XX] - r[0] * M[XZ], r[2] * M[XY] - r[0] * M[YZ], r[2] * M[XZ] - r[0] * M[ZZ],
      r[0] * M[XY] - r[1] * M[XX], r[0] * M[YY] - r[1] * M[XY], r[0] * M[YZ] - r[1] * M[XZ]};
  sunrealtype Z[9]; /* H + N / 2 */
  for (int k = 0; k < 6; k++) up->M[k] += M[k];
  for (int k = 0; k < 9; k++) {
    Z[k] = H[k] + N[k] / 2;
    up->H[k] += H[k] + N[k];
  }
  /* Row j of Z as a vector z_j: Z^T has the columns z_j, and [r] Z^T the columns r x z_j. */
  sunrealtype c[3][3];
  for (int j = 0; j < 3; j++) cross3(r, Z + 3 * j, c[j]);
  up->J[XX] += I->J[XX] + 2 * c[0][0];
  up->J[YY] += I->J[YY] + 2 * c[1][1];
  up->J[ZZ] += I->J[ZZ] + 2 * c[2][2];
  up->J[XY] += I->J[XY] + c[1][0] + c[0][1];
  up->J[XZ] += I->J[XZ] + c[2][0] + c[0][2];
  up->J[YZ] += I->J[YZ] + c[2][1] + c[1][2];
}

/* Solves A x = y for n columns of x [n][3], y in place; A symmetric. Returns 0, or 1 if A is not definite. */
static int solve3(const sunrealtype *A, int n, sunrealtype (*x)[3]) {
  if (!(A[XX] > 0)) return 1;
  const sunrealtype l1 = A[XY] / A[XX], l2 = A[XZ] / A[XX], d = A[YY] - l1 * A[XY],
                    e = A[YZ] - l2 * A[XY];
  if (!(d > 0)) return 1;
  const sunrealtype l3 = e / d, f = A[ZZ] - l2 * A[XZ] - l3 * e;
  if (!(f > 0)) return 1;
  for (int k = 0; k < n; k++) {
    sunrealtype *v = x[k];
    v[1] -= l1 * v[0];
    v[2] -= l2 * v[0] + l3 * v[1];
    v[2] /= f;
    v[1] = v[1] / d - l3 * v[2];
    v[0] = v[0] / A[XX] - l1 * v[1] - l2 * v[2];
  }
  return 0;
}

/* ------------------------------------------------------------------- from the leaves to the root -- */

/* F = m a + alpha x h + w x (w x h),   N = h x a + J alpha + w x J w, at the accelerations of u' = 0 */
CP_WIDE_PART void bodyForce(const Node *node, const Motion *at, const sunrealtype *J,
                            const sunrealtype *h, Wrench *p) {
  sunrealtype swing[3], turned[3], spin[3], x[3];
  cross3(at->w, h, swing);
  cross3(at->w, swing, turned);
  cross3(at->alpha, h, x);
  for (int k = 0; k < 3; k++) p->F[k] = node->m * at->a[k] + x[k] + turned[k];
  symmetric(J, at->w, spin);
  cross3(at->w, spin, turned);
  cross3(h, at->a, x);
  symmetric(J, at->alpha, swing);
  for (int k = 0; k < 3; k++) p->N[k] = x[k] + swing[k] + turned[k];
}

/* p -= (F, N) */
CP_WIDE_PART void apply(const Wrench *w, Wrench *p) {
  add3(-1, w->F, p->F);
  add3(-1, w->N, p->N);
}

/* Eliminates the one velocity of a hinge or slide: I and p become what the parent feels, and tau less S^T p. */
CP_WIDE_PART int eliminate(const Node *node, const Motion *at, sunrealtype armature,
                           sunrealtype *tau, Articulated *own) {
  const sunrealtype *z = at->R[2];
  sunrealtype *U = own->U, *V = own->U + 3;
  if (node->kind == HINGE) transposed(own->I.H, z, U), symmetric(own->I.J, z, V);
  else symmetric(own->I.M, z, U), general(own->I.H, z, V);
  const sunrealtype D = armature + (node->kind == HINGE ? dot3(z, V) : dot3(z, U));
  if (!(D > 0)) return 1;
  own->D = 1 / D;
  *tau -= node->kind == HINGE ? dot3(z, own->p.N) : dot3(z, own->p.F);
  reduce(own->I.M, own->D, U);
  reduce(own->I.J, own->D, V);
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++) own->I.H[3 * i + k] -= own->D * V[i] * U[k];
  add3(own->D * *tau, U, own->p.F);
  add3(own->D * *tau, V, own->p.N);
  return 0;
}

/* The same for a swivel, which passes on a force but no moment except the given one. G = J^-1 H, x = J^-1 (tau - N) */
static int eliminateSwivel(Motion *at, sunrealtype *tau, Articulated *own) {
  Inertia *I = &own->I;
  sunrealtype G[4][3], x[3], torque[3];
  rotate3(at->R, tau, torque);
  for (int k = 0; k < 3; k++) {
    for (int i = 0; i < 3; i++) G[k][i] = I->H[3 * i + k];
    G[3][k] = torque[k] - own->p.N[k];
    tau[k] -= dot3(at->R[k], own->p.N);
  }
  if (solve3(I->J, 4, G)) return 1;
  /* M - H^T J^-1 H, and F + H^T x */
  for (int k = 0; k < 6; k++)
    for (int i = 0; i < 3; i++) I->M[k] -= I->H[3 * i + row[k]] * G[col[k]][i];
  transposed(I->H, G[3], x), add3(1, x, own->p.F);
  memcpy(own->p.N, torque, sizeof own->p.N);
  return 0;
}

static CP_WIDE int inwards(Tree *tree, sunrealtype *tau, const sunrealtype *armature,
                           const Wrench *wrench) {
  for (int n = 0; n < tree->nnodes; n++) {
    const Node *node = &tree->node[n];
    Motion *at       = &tree->motion[n + 1];
    Articulated *own = &tree->articulated[n];
    sunrealtype h[3];
    if (node->body == NONE) {
      memset(own, 0, sizeof *own);
    } else {
      rigid(node, at, &own->I, h);
      bodyForce(node, at, own->I.J, h, &own->p);
    }
    if (wrench) apply(&wrench[n], &own->p);
  }
  for (int n = tree->nnodes - 1; n >= 0; n--) {
    const Node *node = &tree->node[n];
    Motion *at       = &tree->motion[n + 1];
    Articulated *own = &tree->articulated[n];
    sunrealtype *of  = tau + node->u, lever[3];
    int flag         = 0;
    switch (node->kind) {
    case HINGE:
    case SLIDE: flag = eliminate(node, at, armature[node->u], of, own); break;
    case WELD: break;
    case SWIVEL: flag = eliminateSwivel(at, of, own); break;
    case AFLOAT:
      add3(-1, own->p.F, of);
      for (int k = 0; k < 3; k++) of[3 + k] -= dot3(at->R[k], own->p.N);
      continue;
    }
    if (flag) return n + 1;
    if (node->parent == GROUND) continue;
    Articulated *up = &tree->articulated[node->parent];
    Inertia left    = {{0}, {0}, {0}};
    if (node->kind == SWIVEL) memcpy(left.M, own->I.M, sizeof left.M);
    shift(node->kind == SWIVEL ? &left : &own->I, at->r, &up->I);
    cross3(at->r, own->p.F, lever);
    add3(1, own->p.F, up->p.F);
    add3(1, own->p.N, up->p.N);
    add3(1, lever, up->p.N);
  }
  return 0;
}

int treeEliminate(const Mechanism *b, Tree *tree, sunrealtype *tau, const sunrealtype *armature,
                  const Wrench *wrench) {
  treeAccelerate(tree, NULL, b->param);
  const int flag = inwards(tree, tau, armature, wrench);
  memset(tree->motion[0].a, 0, sizeof tree->motion[0].a);
  return flag;
}

/* ------------------------------------------------------------------- from the root to the leaves -- */

/* (a, alpha): out, of a body afloat on which (F, N) act. Returns 0, or 1 if its inertia is not definite. */
static int solveAfloat(const Inertia *I, const sunrealtype *F, const sunrealtype *N, sunrealtype *a,
                       sunrealtype *alpha) {
  /* a = M^-1 (F - H^T alpha), (J - H M^-1 H^T) alpha = N - H M^-1 F */
  sunrealtype X[4][3], S[6], y[1][3], part[3];
  memcpy(X, I->H, 9 * sizeof(sunrealtype)); /* row j of H is column j of H^T */
  memcpy(X[3], F, sizeof X[3]);
  if (solve3(I->M, 4, X)) return 1;
  for (int k = 0; k < 6; k++) S[k] = I->J[k] - dot3(I->H + 3 * row[k], X[col[k]]);
  general(I->H, X[3], part);
  for (int k = 0; k < 3; k++) y[0][k] = N[k] - part[k];
  if (solve3(S, 1, y)) return 1;
  memcpy(alpha, y[0], sizeof y[0]);
  memcpy(a, X[3], sizeof X[3]);
  for (int k = 0; k < 3; k++) add3(-alpha[k], X[k], a);
  return 0;
}

/* x [6]: out, the velocities of a body afloat that tau [6] gives it. Returns 0, or 1 if its inertia is not definite. */
static int moveAfloat(Motion *at, const Inertia *I, const sunrealtype *tau, sunrealtype *x) {
  sunrealtype torque[3], alpha[3];
  rotate3(at->R, tau + 3, torque);
  if (solveAfloat(I, tau, torque, x, alpha)) return 1;
  for (int k = 0; k < 3; k++) x[3 + k] = dot3(at->R[k], alpha);
  return 0;
}

static CP_WIDE int outwards(Tree *tree, const sunrealtype *tau, sunrealtype *udot) {
  for (int n = 0; n < tree->nnodes; n++) {
    const Node *node       = &tree->node[n];
    const Motion *up       = &tree->motion[node->parent + 1];
    Motion *at             = &tree->motion[n + 1];
    const Articulated *own = &tree->articulated[n];
    const sunrealtype *of = tau + node->u, *z = at->R[2];
    sunrealtype *x = udot + node->u, swing[3], torque[3];
    if (node->kind == AFLOAT) {
      if (moveAfloat(at, &own->I, of, x)) return n + 1;
      memcpy(at->a, x, sizeof at->a);
      rotate3(at->R, x + 3, at->alpha);
      continue;
    }
    cross3(up->alpha, at->r, swing);
    for (int k = 0; k < 3; k++) {
      at->a[k]     = up->a[k] + swing[k];
      at->alpha[k] = up->alpha[k];
    }
    if (node->kind == HINGE || node->kind == SLIDE) {
      x[0] = own->D * (of[0] - dot3(own->U, at->a) - dot3(own->U + 3, at->alpha));
      add3(x[0], z, node->kind == HINGE ? at->alpha : at->a);
    } else if (node->kind == SWIVEL) { /* J^-1 (tau - H a) - alpha */
      rotate3(at->R, of, torque);
      general(own->I.H, at->a, swing), add3(-1, swing, torque);
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

void treeCarry(const Tree *tree, int n, Wrench *w, sunrealtype *e, sunrealtype *x) {
  const Node *node       = &tree->node[n];
  Motion *at             = &tree->motion[n + 1];
  const Articulated *own = &tree->articulated[n];
  sunrealtype part[3], turned[3];
  memset(e, 0, (size_t)node->nu * sizeof *e);
  treeOnVelocities(node, at, w, e);
  switch (node->kind) {
  case WELD: break;
  case HINGE:
  case SLIDE:
    x[0] = own->D * e[0];
    add3(-x[0], own->U, w->F);
    add3(-x[0], own->U + 3, w->N);
    break;
  case SWIVEL:
    memcpy(turned, w->N, sizeof turned);
    solve3(own->I.J, 1, &turned);
    for (int k = 0; k < 3; k++) x[k] = dot3(at->R[k], turned);
    transposed(own->I.H, turned, part), add3(-1, part, w->F);
    memset(w->N, 0, sizeof w->N);
    break;
  case AFLOAT: moveAfloat(at, &own->I, e, x);
  }
}

/* --------------------------------------------------------------------------- composite bodies -- */

void treeComposite(Tree *tree) {
  for (int n = 0; n < tree->nnodes; n++) {
    sunrealtype h[3];
    if (tree->node[n].body == NONE) memset(&tree->articulated[n], 0, sizeof *tree->articulated);
    else rigid(&tree->node[n], &tree->motion[n + 1], &tree->articulated[n].I, h);
  }
  for (int n = tree->nnodes - 1; n >= 0; n--)
    if (tree->node[n].parent != GROUND)
      shift(&tree->articulated[n].I, tree->motion[n + 1].r,
            &tree->articulated[tree->node[n].parent].I);
}

void treeMassColumn(const Tree *tree, int k, sunrealtype *column) {
  const int n      = tree->node_of_velocity[k];
  const Motion *at = &tree->motion[n + 1];
  const Axis s     = treeAxis(tree, k);
  Wrench w;
  memset(column, 0, (size_t)tree->nu * sizeof *column);
  for (int i = n; i <= tree->node[n].last; i++) { /* as composite bodies that move with S e_k */
    const Inertia *I = &tree->articulated[i].I;
    sunrealtype d[3], v[3] = {0, 0, 0};
    memset(&w, 0, sizeof w);
    for (int l = 0; l < 3; l++) d[l] = tree->motion[i + 1].P[l] - at->P[l];
    if (s.turns) {
      cross3(s.a, d, v);
      transposed(I->H, s.a, w.F);
      symmetric(I->J, s.a, w.N);
    } else memcpy(v, s.a, sizeof v);
    sunrealtype x[3];
    symmetric(I->M, v, x), add3(1, x, w.F);
    general(I->H, v, x), add3(1, x, w.N);
    if (i == n) treeAlongPath(tree, n, GROUND, w, column);
    else treeOnVelocities(&tree->node[i], &tree->motion[i + 1], &w, column + tree->node[i].u);
  }
}
