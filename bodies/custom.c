/* Joints by functions: a node moves by a sequence of motions about or along axes, each by a function z_m(x) of one coordinate.
 * Motion m has the twist s_m, which moves with all motions before it, so that with the cross product x of twists
 *
 *   S_k = sum of z_m' s_m over the motions of coordinate k,        d s_m / dx_k = (sum of z_i' s_i, i < m, of coordinate k) x s_m
 *   V = sum s_m dz_m/dt,      A = sum s_m d^2z_m/dt^2 + sum of s_i x s_m dz_i/dt dz_m/dt over i < m
 *
 * (product of exponentials; R. Brockett, Lecture Notes in Control and Information Sciences 58, 1984). All twists are taken about
 * the origin of the node, in the axes of space, relative to the parent. */
#include "formulas.h"
#include "tree.h"

#include <float.h>
#include <string.h>

/* y = a x b of twists (w, v); y must be neither a nor b */
static void crossTwists(const sunrealtype *a, const sunrealtype *b, sunrealtype *y) {
  sunrealtype x[3];
  cross3(a, b, y);
  cross3(a, b + 3, y + 3);
  cross3(a + 3, b, x), add3(1, x, y + 3);
}
static void addTwist(sunrealtype scale, const sunrealtype *x, sunrealtype *y) {
  for (int k = 0; k < 6; k++) y[k] += scale * x[k];
}

/* z [3]: out, z(x) and its two derivatives; not finite outside the domain of its function */
static void evaluate(const Mechanism *b, const JointMotion *m, const sunrealtype *x, sunrealtype *z) {
  const sunrealtype at = m->of == NONE ? 0 : x[m->of];
  z[0] = m->offset, z[1] = z[2] = 0;
  if (m->of == NONE) return;
  if (!m->f) {
    z[0] += m->ratio * at, z[1] = m->ratio;
    return;
  }
  if (bodiesMotion(b, m->f, at, z)) z[0] = z[1] = z[2] = NAN;
  z[0] += m->offset;
}

static sunrealtype third(const Mechanism *b, const JointMotion *m, sunrealtype x) {
  sunrealtype d = 0;
  return m->f && !bodiesThird(b, m->f, x, &d) ? d : 0;
}

/* R, t: out, the pose; the twists are those about the origin of the frame, in its axes at first. back: the inverse motions */
static void moveThrough(const Custom *c, int back, const sunrealtype *x, OwnMotion *own,
                        sunrealtype R[3][3], sunrealtype *t) {
  const sunrealtype sign = back ? -1 : 1;
  memset(R, 0, 9 * sizeof(sunrealtype));
  for (int k = 0; k < 3; k++) R[k][k] = 1, t[k] = 0;
  for (int i = 0; i < c->nmotions; i++) {
    const JointMotion *m = &c->motion[back ? c->nmotions - 1 - i : i];
    sunrealtype *s = own->s[i], *z = own->z[i], axis[3];
    evaluate(own->m, m, x, z);
    for (int k = 0; k < 3; k++) z[k] *= sign;
    rotate3(R, m->axis, axis);
    memset(s, 0, sizeof own->s[i]);
    if (!m->about) {
      memcpy(s + 3, axis, sizeof axis);
      add3(z[0], axis, t);
      continue;
    }
    memcpy(s, axis, sizeof axis);
    cross3(t, axis, s + 3);
    const sunrealtype cosine = cos(z[0]), sine = sin(z[0]);
    for (int k = 0; k < 3; k++) { /* column k turns about the axis */
      sunrealtype across[3];
      const sunrealtype along = dot3(axis, R[k]);
      cross3(axis, R[k], across);
      for (int l = 0; l < 3; l++)
        R[k][l] = cosine * R[k][l] + sine * across[l] + (1 - cosine) * along * axis[l];
    }
  }
}

/* The coordinate of motion i of a node, or NONE */
static int coordinateOf(const Node *node, int i) {
  const Custom *c = node->custom;
  return c->motion[node->back ? c->nmotions - 1 - i : i].of;
}

/* dz_m/dt and d^2z_m/dt^2 */
static sunrealtype rateOf(const Node *node, int m) {
  const int k = coordinateOf(node, m);
  return k == NONE ? 0 : node->own->z[m][1] * node->own->u[k];
}
static sunrealtype accelerationOf(const Node *node, int m) {
  const OwnMotion *own = node->own;
  const int k          = coordinateOf(node, m);
  return k == NONE ? 0 : own->z[m][1] * own->udot[k] + own->z[m][2] * own->u[k] * own->u[k];
}

/* The velocity of the node relative to its parent */
static void velocityOf(const Node *node, sunrealtype *V) {
  memset(V, 0, sizeof(Screw));
  for (int m = 0; m < node->custom->nmotions; m++) addTwist(rateOf(node, m), node->own->s[m], V);
}

/* The acceleration A */
static void acceleration(const Node *node, sunrealtype *A) {
  Screw before = {0}, x; /* the velocity by the motions before */
  memset(A, 0, sizeof(Screw));
  for (int m = 0; m < node->custom->nmotions; m++) {
    const sunrealtype *s = node->own->s[m], rate = rateOf(node, m);
    addTwist(accelerationOf(node, m), s, A);
    crossTwists(before, s, x), addTwist(rate, x, A);
    addTwist(rate, s, before);
  }
}

void customMove(const Motion *up, const sunrealtype *x, const sunrealtype *u, Node *node,
                Motion *at) {
  const Custom *c = node->custom;
  OwnMotion *own  = node->own;
  sunrealtype R[3][3], F[3][3], t[3], shift[3], swing[3], part[3];
  Screw V, A;
  memcpy(own->x, x, (size_t)c->n * sizeof *x);
  memcpy(own->u, u, (size_t)c->n * sizeof *u);
  memset(own->udot, 0, sizeof own->udot);
  memset(own->S, 0, sizeof own->S);
  moveThrough(c, node->back, x, own, R, t);
  for (int k = 0; k < 3; k++) memcpy(F[k], at->R[k], sizeof F[k]);
  for (int k = 0; k < 3; k++) rotate3(F, R[k], at->R[k]);
  rotate3(F, t, shift);
  for (int m = 0; m < c->nmotions; m++) { /* about the origin of the node, in the axes of space */
    Screw s;
    memcpy(s, own->s[m], sizeof s);
    cross3(s, t, part), add3(1, part, s + 3);
    rotate3(F, s, own->s[m]);
    rotate3(F, s + 3, own->s[m] + 3);
    const int k = coordinateOf(node, m);
    if (k != NONE) addTwist(own->z[m][1], own->s[m], own->S[k]);
  }
  velocityOf(node, V);
  acceleration(node, A);
  add3(1, shift, at->r);
  add3(1, shift, at->P);
  cross3(up->w, at->r, swing);
  cross3(up->w, swing, at->cv);
  for (int k = 0; k < 3; k++) at->v[k] = up->v[k] + swing[k] + V[3 + k], at->w[k] = up->w[k] + V[k];
  cross3(up->w, V, at->cw), add3(1, A, at->cw);
  cross3(up->w, V + 3, part), add3(2, part, at->cv);
  cross3(V, V + 3, part), add3(1, part, at->cv);
  add3(1, A + 3, at->cv);
}

/* (alpha, a) += S x */
static void moveAlong(const Node *node, const sunrealtype *x, Motion *at) {
  for (int k = 0; k < node->nu; k++) {
    add3(x[k], node->own->S[k], at->alpha);
    add3(x[k], node->own->S[k] + 3, at->a);
  }
}

void customAccelerate(const Node *node, const sunrealtype *udot, Motion *at) {
  for (int k = 0; k < node->nu; k++) node->own->udot[k] = udot ? udot[k] : 0;
  moveAlong(node, node->own->udot, at);
}

static sunrealtype power(const sunrealtype *S, const Wrench *w) {
  return dot3(S, w->N) + dot3(S + 3, w->F);
}

void customOnVelocities(const Node *node, const Wrench *w, sunrealtype *tau) {
  for (int k = 0; k < node->nu; k++) tau[k] += power(node->own->S[k], w);
}

/* ------------------------------------------------------------------------------- the recursion -- */

/* x: L x = x, or L^T x = x */
static void substitute(const Node *node, int transposed, sunrealtype *x) {
  const OwnMotion *own = node->own;
  for (int i = 0; i < node->nu; i++) {
    const int k = transposed ? node->nu - 1 - i : i;
    for (int j = transposed ? k + 1 : 0; j < (transposed ? node->nu : k); j++)
      x[k] -= (transposed ? own->L[j][k] : own->L[k][j]) * x[j];
    x[k] /= own->L[k][k];
  }
}

/* U: out, I^A S_k */
static void timesInertia(const Inertia *I, const sunrealtype *S, sunrealtype *U) {
  const sunrealtype *w = S, *v = S + 3;
  for (int i = 0; i < 3; i++) {
    U[i] = U[3 + i] = 0;
    for (int j = 0; j < 3; j++) {
      U[i] += I->G[i][j] * v[j] + I->J[j][i] * w[j];
      U[3 + i] += I->M[j][i] * v[j] + I->G[j][i] * w[j];
    }
  }
}

/* What the parent feels is I^A - Y^T Y, with Y = L^-1 U^T, and p^A + Y^T L^-1 (tau - S^T p^A). */
int customEliminate(const Node *node, const sunrealtype *armature, sunrealtype *tau,
                    Articulated *at) {
  OwnMotion *own = node->own;
  Inertia *I     = &at->I;
  Wrench p;
  sunrealtype x[MOST_OWN];
  Screw U[MOST_OWN];
  store3(&at->F, p.F), store3(&at->N, p.N);
  for (int k = 0; k < node->nu; k++) {
    timesInertia(I, own->S[k], U[k]);
    memcpy(own->Y[k], U[k], sizeof U[k]);
    x[k] = tau[k] -= power(own->S[k], &p);
  }
  for (int i = 0; i < node->nu; i++)
    for (int j = 0; j <= i; j++) {
      sunrealtype sum = i == j ? armature[i] : 0;
      for (int k = 0; k < 6; k++) sum += own->S[i][k] * U[j][k];
      for (int k = 0; k < j; k++) sum -= own->L[i][k] * own->L[j][k];
      if (i == j && !(sum > 0)) return 1;
      own->L[i][j] = i == j ? sqrt(sum) : sum / own->L[j][j];
      if (i > j) addTwist(-own->L[i][j], own->Y[j], own->Y[i]);
      else
        for (int k = 0; k < 6; k++) own->Y[i][k] /= own->L[i][i];
    }
  substitute(node, 0, x);
  for (int k = 0; k < node->nu; k++) {
    const sunrealtype *y = own->Y[k];
    const Column N = {y[0], y[1], y[2], 0}, F = {y[3], y[4], y[5], 0};
    for (int j = 0; j < 3; j++) {
      I->M[j] -= F * F[j];
      I->G[j] -= F * N[j];
      I->J[j] -= N * N[j];
    }
    at->F += x[k] * F;
    at->N += x[k] * N;
  }
  return 0;
}

/* L^-T (L^-1 tau - Y a_p) */
void customOutwards(const Node *node, const sunrealtype *tau, Motion *at, sunrealtype *x) {
  memcpy(x, tau, (size_t)node->nu * sizeof *x);
  substitute(node, 0, x);
  for (int k = 0; k < node->nu; k++)
    x[k] -= dot3(node->own->Y[k], at->alpha) + dot3(node->own->Y[k] + 3, at->a);
  substitute(node, 1, x);
  moveAlong(node, x, at);
}

void customCarry(const Node *node, Wrench *w, const sunrealtype *e, sunrealtype *x) {
  memcpy(x, e, (size_t)node->nu * sizeof *x);
  substitute(node, 0, x);
  for (int k = 0; k < node->nu; k++) {
    add3(-x[k], node->own->Y[k], w->N);
    add3(-x[k], node->own->Y[k] + 3, w->F);
  }
  substitute(node, 1, x);
}

/* --------------------------------------------------------------------------------- derivatives -- */

/* d: out, the changes of all s_m with coordinate k */
static void turnTwists(const Node *node, int k, Screw *d) {
  Screw before = {0};
  for (int m = 0; m < node->custom->nmotions; m++) {
    crossTwists(before, node->own->s[m], d[m]);
    if (coordinateOf(node, m) == k) addTwist(node->own->z[m][1], node->own->s[m], before);
  }
}

/* d: out, dS_j / dx_k, where d_m are the changes of s_m with coordinate k */
static void changeOf(const Node *node, int k, int j, Screw *d_m, sunrealtype *d) {
  const OwnMotion *own = node->own;
  memset(d, 0, sizeof(Screw));
  for (int m = 0; m < node->custom->nmotions; m++) {
    if (coordinateOf(node, m) != j) continue;
    addTwist(own->z[m][1], d_m[m], d);
    if (j == k) addTwist(own->z[m][2], own->s[m], d);
  }
}

void customChangeOf(const Node *node, int k, int j, sunrealtype *d) {
  Screw d_m[MOST_MOTIONS], x;
  turnTwists(node, k, d_m);
  changeOf(node, k, j, d_m, d);
  crossTwists(node->own->S[k], node->own->S[j], x), addTwist(-1, x, d);
}

void customChange(const Node *node, int k, sunrealtype *dV, sunrealtype *dA, sunrealtype *dS) {
  const OwnMotion *own = node->own;
  const Custom *c      = node->custom;
  Screw d[MOST_MOTIONS], x, V, A, before = {0}, d_before = {0};
  turnTwists(node, k, d);
  memset(dV, 0, sizeof(Screw));
  memset(dA, 0, sizeof(Screw));
  for (int m = 0; m < c->nmotions; m++) {
    const sunrealtype *s = own->s[m], rate = rateOf(node, m), acc = accelerationOf(node, m);
    sunrealtype d_rate = 0, d_acc = 0;
    if (coordinateOf(node, m) == k) {
      const JointMotion *of   = &c->motion[node->back ? c->nmotions - 1 - m : m];
      const sunrealtype z_xxx = (node->back ? -1 : 1) * third(own->m, of, own->x[k]), u = own->u[k];
      d_rate = own->z[m][2] * u;
      d_acc  = own->z[m][2] * own->udot[k] + z_xxx * u * u;
    }
    addTwist(rate, d[m], dV), addTwist(d_rate, s, dV);
    addTwist(acc, d[m], dA), addTwist(d_acc, s, dA);
    crossTwists(d_before, s, x), addTwist(rate, x, dA);
    crossTwists(before, d[m], x), addTwist(rate, x, dA);
    crossTwists(before, s, x), addTwist(d_rate, x, dA);
    addTwist(rate, s, before);
    addTwist(rate, d[m], d_before), addTwist(d_rate, s, d_before);
  }
  velocityOf(node, V);
  acceleration(node, A);
  crossTwists(own->S[k], V, x), addTwist(-1, x, dV);
  crossTwists(own->S[k], A, x), addTwist(-1, x, dA);
  memset(dS, 0, sizeof(Screw));
  for (int l = 0; l < node->nu; l++) {
    turnTwists(node, l, d);
    changeOf(node, l, k, d, x);
    addTwist(own->u[l], x, dS);
  }
}

/* ------------------------------------------------------------------------- coordinates from poses -- */

/* S = Q R with orthonormal columns of Q; a direction that S does not have is 0 in both. */
typedef struct {
  int n;
  Screw Q[MOST_OWN];
  sunrealtype R[MOST_OWN][MOST_OWN];
} Orthogonal;

static Orthogonal orthogonal(const Node *node) {
  Orthogonal S = {.n = node->nu};
  Screw *Q     = S.Q;
  for (int k = 0; k < S.n; k++) {
    sunrealtype before = 0, after = 0;
    memcpy(Q[k], node->own->S[k], sizeof Q[k]);
    for (int l = 0; l < 6; l++) before += Q[k][l] * Q[k][l];
    for (int twice = 0; twice < 2; twice++)
      for (int j = 0; j < k; j++) {
        sunrealtype part = 0;
        for (int l = 0; l < 6; l++) part += Q[j][l] * Q[k][l];
        S.R[j][k] += part;
        addTwist(-part, Q[j], Q[k]);
      }
    for (int l = 0; l < 6; l++) after += Q[k][l] * Q[k][l];
    S.R[k][k] = after > 64 * DBL_EPSILON * DBL_EPSILON * before ? sqrt(after) : 0;
    for (int l = 0; l < 6; l++) Q[k][l] = S.R[k][k] > 0 ? Q[k][l] / S.R[k][k] : 0;
  }
  return S;
}

/* x [n]: out, least squares of S x = y; those of directions that S does not have are 0 */
static void nearest(const Orthogonal *S, const Screw y, sunrealtype *x) {
  Screw rest;
  memcpy(rest, y, sizeof rest);
  for (int k = 0; k < S->n; k++) {
    x[k] = 0;
    for (int l = 0; l < 6; l++) x[k] += S->Q[k][l] * rest[l];
    addTwist(-x[k], S->Q[k], rest);
  }
  for (int k = S->n - 1; k >= 0; k--) {
    for (int j = k + 1; j < S->n; j++) x[k] -= S->R[k][j] * x[j];
    x[k] = S->R[k][k] > 0 ? x[k] / S->R[k][k] : 0;
  }
}

/* P [n]: out, the rows of S^+ */
static void pseudoInverse(const Node *node, Screw *P) {
  const Orthogonal S = orthogonal(node);
  for (int l = 0; l < 6; l++) {
    Screw unit = {0};
    sunrealtype x[MOST_OWN];
    unit[l] = 1;
    nearest(&S, unit, x);
    for (int k = 0; k < S.n; k++) P[k][l] = x[k];
  }
}

/* f [3]: out, the function of a term that is one of a joint's own coordinates, at this coordinate, and two derivatives. Returns the
 * node's motion, or NULL if it is no such term. */
static const OwnMotion *evaluateOwn(const Mechanism *b, const Term *term, sunrealtype *f) {
  if (!term->f || term->m.kind != OWN || !b->tree || term->velocity == NONE) return NULL;
  const OwnMotion *own = b->tree->node[b->tree->node_of_velocity[term->velocity]].own;
  evaluate(b, &(JointMotion){.of = term->m.i, .f = term->f}, own->x, f);
  return own;
}

int treeOwnBend(const Mechanism *b, const Term *term, sunrealtype *bend) {
  sunrealtype f[3];
  const OwnMotion *own = evaluateOwn(b, term, f);
  if (!own) return 0;
  bend[0] = f[1], bend[1] = f[2];
  bend[2] = third(b, &(JointMotion){.f = term->f}, own->x[term->m.i]);
  return 1;
}

/* The gradient of coordinate k is the force on the bodies that does the power x_k' in all motions of the joint. */
void treeOwnJet(const Mechanism *b, const Term *term, Order order, Jet *jet) {
  const Pair *pair = &b->pair[term->pair];
  const int k      = term->m.i;
  memset(jet, 0, sizeof *jet);
  if (!b->tree || term->velocity == NONE) return;
  const int n          = b->tree->node_of_velocity[term->velocity];
  const Node *node     = &b->tree->node[n];
  const OwnMotion *own = node->own;
  sunrealtype f[3]     = {own->x[k], 1, 0};
  evaluateOwn(b, term, f);
  jet->s = f[0], jet->rate = f[1] * own->u[k];
  jet->acc = f[1] * own->udot[k] + f[2] * own->u[k] * own->u[k];
  if (order <= VALUES) return;
  Screw P[MOST_OWN];
  const sunrealtype *g = P[k];
  pseudoInverse(node, P);
  for (int side = 0; side < 2; side++) {
    const Pose *pose       = bodiesPose(b, pair->side[side].body);
    const sunrealtype sign = side == !node->back ? f[1] : -f[1];
    sunrealtype arm[3], N[3];
    for (int l = 0; l < 3; l++) arm[l] = b->tree->motion[n + 1].P[l] - pose->r[l];
    cross3(arm, g + 3, N);
    add3(1, g, N);
    toBody(pose, N, jet->g + 6 * side + 3);
    for (int l = 0; l < 3; l++) {
      jet->g[6 * side + l] = sign * g[3 + l];
      jet->g[6 * side + 3 + l] *= sign;
    }
  }
}

void customConstrain(const Node *node, Wrench *w) {
  sunrealtype tau[MOST_OWN] = {0};
  Screw P[MOST_OWN];
  customOnVelocities(node, w, tau);
  pseudoInverse(node, P);
  for (int k = 0; k < node->nu; k++) { /* w - S^+T S^T w */
    add3(-tau[k], P[k], w->N);
    add3(-tau[k], P[k] + 3, w->F);
  }
}

/* x, own: in, out, moved towards the pose (R, t) in the axes of the frame. Returns the size of what is left. */
static sunrealtype approach(const Node *node, sunrealtype R[3][3], const sunrealtype *t,
                            sunrealtype *x) {
  enum { MOST_STEPS = 50 };
  const Motion still = {.R = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  Node copy          = *node;
  sunrealtype left = INFINITY, zero[MOST_OWN] = {0}, best[MOST_OWN], dx[MOST_OWN];
  memcpy(best, x, (size_t)node->nu * sizeof *x);
  for (int step = 0; step < MOST_STEPS; step++) {
    Motion at = still;
    Screw to  = {0};
    customMove(&still, x, zero, &copy, &at);
    for (int k = 0; k < 3;
         k++) { /* the rotation that is left, by a vector of the length 2 sin(angle / 2) */
      sunrealtype part[3];
      cross3(at.R[k], R[k], part);
      add3(SUN_RCONST(0.5), part, to);
      to[3 + k] = t[k] - at.P[k];
    }
    const sunrealtype trace = dot3(at.R[0], R[0]) + dot3(at.R[1], R[1]) + dot3(at.R[2], R[2]),
                      size  = hypot(hypot(length3(to), trace < 1 ? 1 : 0), length3(to + 3));
    if (!(size < left)) break;
    left = size;
    memcpy(best, x, (size_t)node->nu * sizeof *x);
    const Orthogonal S = orthogonal(node);
    nearest(&S, to, dx);
    for (int k = 0; k < node->nu; k++) x[k] += dx[k];
  }
  memcpy(x, best, (size_t)node->nu * sizeof *x);
  return left;
}

void customRead(const Mechanism *b, const Node *node, const Pose *parent, const Pose *body,
                sunrealtype *x, sunrealtype *u) {
  const Pair *pair = &b->pair[b->joint[node->joint].pair];
  const Side *from = &pair->side[node->back], *to = &pair->side[!node->back];
  const size_t size = (size_t)node->nu * sizeof *x;
  sunrealtype F[3][3], G[3][3], R[3][3], d[3], t[3], arm[3], swing[3], other[MOST_OWN];
  rotations3((sunrealtype(*)[3])parent->axis, (sunrealtype(*)[3])from->axis, F);
  rotations3((sunrealtype(*)[3])body->axis, (sunrealtype(*)[3])to->axis, G);
  toSpace(body, to->point, d);
  for (int k = 0; k < 3; k++) d[k] += body->r[k] - parent->r[k];
  Screw V; /* of the body relative to the parent at the origin of the node */
  for (int k = 0; k < 3; k++) V[k] = body->w[k] - parent->w[k];
  cross3(parent->w, d, swing);
  toSpace(body, to->point, arm);
  for (int k = 0; k < 3; k++) V[3 + k] = body->v[k] - parent->v[k] - swing[k];
  cross3(body->w, arm, swing), add3(1, swing, V + 3);
  toSpace(parent, from->point, arm), add3(-1, arm, d);
  for (int i = 0; i < 3; i++) {
    t[i] = dot3(F[i], d);
    for (int j = 0; j < 3; j++) R[j][i] = dot3(F[i], G[j]);
  }
  sunrealtype left = approach(node, R, t, x);
  /* Where more than a quarter of a turn is left, the pose may be half a turn from the start. */
  for (int k = -1; k < node->nu && (k < 0 || left >= 1); k++) {
    if (k >= 0 && !node->custom->angle[k]) continue;
    memcpy(other, node->custom->start, size);
    if (k >= 0) other[k] += acos(-SUN_RCONST(1.0));
    const sunrealtype there = approach(node, R, t, other);
    if (!(left <= there)) memcpy(x, other, size), left = there;
  }
  Motion at                  = {.R = {{0}}};
  const Motion still         = {.R = {{0}}};
  sunrealtype zero[MOST_OWN] = {0}, more[MOST_OWN];
  Node copy                  = *node;
  for (int k = 0; k < 3; k++) memcpy(at.R[k], F[k], sizeof F[k]);
  customMove(&still, x, zero, &copy, &at);
  const Orthogonal S = orthogonal(node);
  nearest(&S, V, u);
  for (int k = 0; k < node->nu; k++) addTwist(-u[k], node->own->S[k], V);
  nearest(&S, V, more); /* the error of what went before */
  for (int k = 0; k < node->nu; k++) u[k] += more[k];
}
