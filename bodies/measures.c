/* The primitives. A vector x that is fixed in a body has, with the body's axis t_j = R e_j,
 *
 *   x' = w x x,   x'' = alpha x x + w x x',   D_j x = t_j x x,   D_j x' = t_j x x',   D_j x'' = t_j x x'',
 *   d x''/d u_j = t_j x x' + w x (t_j x x),   D_j D_i x = t_j x (t_i x x)
 *
 * where D_j holds the velocities in the body's axes. All measures are products s = X . Y of such
 * vectors, or a function of one or two of them: |d| = sqrt(d . d), and an angle is atan2(Y . V, X .
 * V). In the plane the only axis is z.
 *
 * A disc with the axis k stands on the plane with the normal n and axes x, y in it. With c = n . k
 * and s = sqrt(1 - c^2) its lowest point is at rho = -(n - c k)/s from the centre, for the radius
 * 1. Since (k x x) . omega = (x . k)' for the relative angular velocity omega, this point moves
 * relative to the centre by
 *
 *   x . (omega x rho) = (c/s) (x . k)' - (1/s) y . omega,   y . (omega x rho) = (c/s) (y . k)' + (1/s) x . omega */
#include "measures.h"

#include <string.h>

const Pose bodies_ground = {.axis = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};

/* ---- vectors that move ---- */

/* Do its accelerations count? */
static inline int isAccelerated(Order order, const Pose *pose) {
  return (order >= ACCELERATION) | pose->accelerating;
}

/* Sets the arm of one side to sign times the vector `fixed` of its body. Locals stay in registers, which sums in place do not. */
static void addArm(Moving *m, int side, const Pose *pose, sunrealtype sign,
                   const sunrealtype *fixed, int accelerated) {
  sunrealtype arm[3], rate[3], acc[3], turned[3];
  toSpace(pose, fixed, arm);
  for (int k = 0; k < 3; k++) arm[k] *= sign;
  cross3(pose->w, arm, rate);
  cross3(pose->w, rate, acc);
  if (accelerated) {
    cross3(pose->alpha, arm, turned);
    add3(1, turned, acc);
  }
  m->pose[side] = pose;
  for (int k = 0; k < 3; k++) {
    m->side[side].arm[k] = arm[k], m->side[side].rate[k] = rate[k], m->side[side].acc[k] = acc[k];
    m->x[k] += arm[k], m->rate[k] += rate[k], m->acc[k] += acc[k];
  }
}

void bodiesSpan(const Pair *pair, const Pose *a, const Pose *b, Order order, Moving *d) {
  memset(d, 0, sizeof *d);
  for (int side = 0; side < 2; side++) {
    const Pose *pose       = side ? b : a;
    const sunrealtype sign = side ? 1 : -1;
    d->side[side].move     = sign;
    add3(sign, pose->r, d->x);
    add3(sign, pose->v, d->rate);
    const int accelerated = isAccelerated(order, pose);
    if (accelerated) add3(sign, pose->acc, d->acc);
    addArm(d, side, pose, sign, pair->side[side].point, accelerated);
  }
}

/* Makes a vector that is fixed in the body of one side. */
static void fixedIn(const Pose *pose[2], int side, const sunrealtype *fixed, Order order, Moving *n) {
  memset(n, 0, sizeof *n);
  n->pose[!side] = pose[!side];
  addArm(n, side, pose[side], 1, fixed, isAccelerated(order, pose[side]));
}

static void movingRate(const Moving *d, int j, sunrealtype *D) {
  if (j % 6 < 3) D[0] = D[1] = D[2] = 0;
  else cross3(d->pose[j / 6]->axis[j % 3], d->side[j / 6].rate, D);
}

void bodiesMovingAcc(const Moving *d, int j, sunrealtype *D) {
  if (j % 6 < 3) D[0] = D[1] = D[2] = 0;
  else cross3(d->pose[j / 6]->axis[j % 3], d->side[j / 6].acc, D);
}

void bodiesMovingAccU(const Moving *d, int j, sunrealtype *D) {
  sunrealtype turned[3], swung[3];
  D[0] = D[1] = D[2] = 0;
  if (j % 6 < 3) return;
  const Pose *pose = d->pose[j / 6];
  cross3(pose->axis[j % 3], d->side[j / 6].arm, turned);
  cross3(pose->w, turned, swung);
  cross3(pose->axis[j % 3], d->side[j / 6].rate, D);
  add3(1, swung, D);
}

sunrealtype bodiesMovingHessian(const Moving *d, int i, int j, const sunrealtype *y) {
  sunrealtype inner[3], outer[3];
  if (i / 3 != j / 3 || i % 6 < 3) return 0;
  const Pose *pose = d->pose[i / 6];
  cross3(pose->axis[i % 3], d->side[i / 6].arm, inner);
  cross3(pose->axis[j % 3], inner, outer);
  return dot3(outer, y);
}

/* ---- masks ---- */

enum { TURNS = 0xA, ALL = 0xF }; /* groups: bits 1 and 3; all four */

Mask bodiesMask(const Space *space, const Pair *pair, const Measure *m) {
  const unsigned own = m->from ? 3 : 1, each_turn = 1u << 5 | 1u << 15,
                 own_turn = 15u << 4 * own | 0x1111u << own;
  const unsigned there =
      (pair->side[0].body != GROUND ? 3u : 0) | (pair->side[1].body != GROUND ? 12u : 0);
  const int of_points = m->kind == POINT || m->kind == ALONG || m->kind == LENGTH ||
                        m->kind == TANGENT || m->kind == WRAP ||
                        (m->kind >= LEVEL && m->kind <= SLIP);
  const unsigned g = (m->kind == WRENCH ? 0xCu : of_points ? ALL : TURNS) & there;
  const unsigned pairs =
      g * ((g & 1) | (g & 2) << 3 | (g & 4) << 6 | (g & 8) << 9); /* g at each of its groups */
  switch (m->kind) {
  case POINT: return (Mask){g, pairs & each_turn};
  case ALONG: return (Mask){g, pairs & (each_turn | own_turn)};
  case WRENCH: return (Mask){g, pairs & 1u << 11};
  case LENGTH:
  case DOT:
  case SINE:
  case ROLL:
  case LEVEL:
  case GLIDE:
  case TWIST:
  case NEAR:
  case SLIP:
  case TANGENT:
  case WRAP: break;
  case OWN: return (Mask){0, 0}; /* Only rows of the tree have it. */
  case ANGLE:
  case SPIN: return (Mask){g, space->dimension == 3 ? pairs : 0};
  }
  return (Mask){g, pairs};
}

/* ---- jets ---- */

/* s = X . Y */
static void product(const Space *space, const Moving *X, const Moving *Y, Mask mask, Order order,
                    Jet *jet) {
  sunrealtype DX[LOCAL][3], DY[LOCAL][3];
  jet->s    = dot3(X->x, Y->x);
  jet->rate = dot3(X->rate, Y->x) + dot3(X->x, Y->rate);
  jet->acc  = dot3(X->acc, Y->x) + 2 * dot3(X->rate, Y->rate) + dot3(X->x, Y->acc);
  if (order <= VALUES) return;
  /* D_j s = D_j X . Y + X . D_j Y, where (t_j x x) . y = t_j . (x x y) */
  for (int group = 0; group < 4; group++) {
    const int side   = group / 2;
    sunrealtype c[3] = {0, 0, 0}, first[3], second[3];
    if (!(mask.g & (1u << group))) continue;
    if (group % 2 == 0) {
      add3(X->side[side].move, Y->x, c);
      add3(Y->side[side].move, X->x, c);
    } else {
      cross3(X->side[side].arm, Y->x, first);
      cross3(Y->side[side].arm, X->x, second);
      add3(1, first, second);
      for (int k = 0; k < 3; k++) c[k] = dot3(X->pose[side]->axis[k], second);
    }
    for (int k = 0; k < 3; k++) jet->g[3 * group + k] = c[k];
  }
  if (order == GRADIENT) return;
  EACH_DIRECTION(space, mask.g, j) {
    bodiesMovingX(X, j, DX[j]);
    bodiesMovingX(Y, j, DY[j]);
    sunrealtype Xr[3], Yr[3], Xa[3], Ya[3];
    movingRate(X, j, Xr);
    movingRate(Y, j, Yr);
    jet->rate_q[j] = dot3(Xr, Y->x) + dot3(DX[j], Y->rate) + dot3(X->rate, DY[j]) + dot3(X->x, Yr);
    if (order == HESSIAN) continue;
    bodiesMovingAcc(X, j, Xa);
    bodiesMovingAcc(Y, j, Ya);
    jet->acc_q[j] = dot3(Xa, Y->x) + dot3(X->acc, DY[j]) + 2 * dot3(Xr, Y->rate) +
                    2 * dot3(X->rate, Yr) + dot3(DX[j], Y->acc) + dot3(X->x, Ya);
    bodiesMovingAccU(X, j, Xa);
    bodiesMovingAccU(Y, j, Ya);
    jet->acc_u[j] =
        dot3(Xa, Y->x) + 2 * dot3(DX[j], Y->rate) + 2 * dot3(X->rate, DY[j]) + dot3(X->x, Ya);
  }
  if (order == ACCELERATION) return;
  EACH_DIRECTION(space, mask.g, i)
  EACH_DIRECTION(space, mask.g, j)
  if (mask.H & (1u << (4 * (i / 3) + j / 3)))
    jet->H[i][j] = dot3(DX[i], DY[j]) + dot3(DX[j], DY[i]) + bodiesMovingHessian(X, i, j, Y->x) +
                   bodiesMovingHessian(Y, i, j, X->x);
}

void bodiesCompose(const Space *space, const Function *F, const Jet *C, Mask mask, Order order,
                   Jet *jet) {
  const Jet S = *jet;
  jet->rate   = F->S * S.rate + F->C * C->rate;
  jet->acc = F->S * S.acc + F->C * C->acc + F->SS * S.rate * S.rate + 2 * F->SC * S.rate * C->rate +
             F->CC * C->rate * C->rate;
  if (order <= VALUES) return;
  EACH_DIRECTION(space, mask.g, j) {
    const sunrealtype s = S.g[j], c = C->g[j];
    jet->g[j] = F->S * s + F->C * c;
    if (order == GRADIENT) continue;
    const sunrealtype FS = F->SS * s + F->SC * c, FC = F->SC * s + F->CC * c; /* D_j F_S, D_j F_C */
    jet->rate_q[j] = F->S * S.rate_q[j] + F->C * C->rate_q[j] + FS * S.rate + FC * C->rate;
    if (order == HESSIAN) continue;
    const sunrealtype FSS = F->SSS * s + F->SSC * c, FSC = F->SSC * s + F->SCC * c,
                      FCC  = F->SCC * s + F->CCC * c;
    const sunrealtype half = F->SS * S.rate + F->SC * C->rate,
                      rest = F->SC * S.rate + F->CC * C->rate;
    jet->acc_q[j]          = F->S * S.acc_q[j] + F->C * C->acc_q[j] + FS * S.acc + FC * C->acc +
                    FSS * S.rate * S.rate + 2 * FSC * S.rate * C->rate + FCC * C->rate * C->rate +
                    2 * half * S.rate_q[j] + 2 * rest * C->rate_q[j];
    jet->acc_u[j] = F->S * S.acc_u[j] + F->C * C->acc_u[j] + 2 * half * s + 2 * rest * c;
  }
  if (order == ACCELERATION) return;
  EACH_DIRECTION(space, mask.g, i)
  EACH_DIRECTION(space, mask.g, j)
  if (mask.H & (1u << (4 * (i / 3) + j / 3)))
    jet->H[i][j] = F->S * S.H[i][j] + F->C * C->H[i][j] + F->SS * S.g[i] * S.g[j] +
                   F->SC * (S.g[i] * C->g[j] + C->g[i] * S.g[j]) + F->CC * C->g[i] * C->g[j];
}

/* s' = n . (omega_o - omega_f), where n is an axis of `from` and o the other body, relative to
 * which n turns. */
static void spin(const Space *space, const Moving *n, int from, Mask mask, Order order, Jet *jet) {
  const Pose *own = n->pose[from], *other = n->pose[!from];
  sunrealtype alpha[3] = {0, 0, 0}, w[3] = {0, 0, 0}, turned[3];
  add3(1, other->w, w);
  add3(-1, own->w, w);
  if (isAccelerated(order, own) || isAccelerated(order, other)) {
    add3(1, other->alpha, alpha);
    add3(-1, own->alpha, alpha);
  }
  /* n . omega_f is constant times an angular velocity in body axes, so its rate has no term n' .
   * omega_f. */
  jet->s    = 0;
  jet->rate = dot3(n->x, w);
  jet->acc  = dot3(n->x, alpha) + dot3(n->rate, other->w);
  if (order <= VALUES) return;
  EACH_DIRECTION(space, mask.g, j) {
    const sunrealtype *t = n->pose[j / 6]->axis[j % 3];
    const int is_own     = j / 6 == from;
    sunrealtype nq[3], nrq[3];
    jet->g[j] = (is_own ? -1 : 1) * dot3(n->x, t);
    if (order <= GRADIENT) continue;
    if (is_own) { /* n turns together with the own angular velocity and acceleration */
      cross3(t, n->x, nq);
      cross3(t, n->rate, nrq);
      jet->rate_q[j] = dot3(nq, other->w);
      jet->acc_q[j]  = dot3(nq, other->alpha) + dot3(nrq, other->w);
      jet->acc_u[j]  = dot3(nq, other->w);
    } else {
      cross3(t, other->w, turned);
      jet->rate_q[j] = dot3(n->x, turned);
      jet->acc_q[j]  = dot3(n->rate, turned);
      jet->acc_u[j]  = dot3(n->rate, t);
      cross3(t, other->alpha, turned);
      jet->acc_q[j] += dot3(n->x, turned);
    }
  }
  if (order == ACCELERATION) return;
  EACH_DIRECTION(space, mask.g, i)
  EACH_DIRECTION(space, mask.g, j) {
    const sunrealtype *ti = n->pose[i / 6]->axis[i % 3], *tj = n->pose[j / 6]->axis[j % 3];
    jet->H[i][j] = 0; /* D_j (n . t_i) */
    if (i / 6 == from) continue;
    if (j / 6 == from) {
      cross3(tj, n->x, turned);
      jet->H[i][j] = dot3(turned, ti);
    } else {
      cross3(tj, ti, turned);
      jet->H[i][j] = dot3(n->x, turned);
    }
  }
}

/* s' = F . v + c . omega, with the force F in space and c = N + P x F in the axes of the body, where P leads from its centre to the
 * point */
static void wrench(const Side *side, const Pose *pose, Order order, Jet *jet) {
  sunrealtype F[3], c[3], w[3], alpha[3], swing[3];
  toSpace(pose, side->axis[0], F);
  cross3(side->point, side->axis[0], c);
  add3(1, side->axis[1], c);
  toBody(pose, pose->w, w);
  toBody(pose, pose->alpha, alpha);
  cross3(pose->w, F, swing);
  memset(jet, 0, sizeof *jet);
  jet->rate = dot3(F, pose->v) + dot3(c, w);
  jet->acc  = dot3(swing, pose->v);
  if (isAccelerated(order, pose)) jet->acc += dot3(F, pose->acc) + dot3(c, alpha);
  if (order <= VALUES) return;
  for (int k = 0; k < 3; k++) jet->g[6 + k] = F[k], jet->g[9 + k] = c[k];
  if (order == GRADIENT) return;
  for (int j = 0; j < 3; j++) { /* D_j F = t_j x F */
    sunrealtype turned[3], later[3];
    cross3(pose->axis[j], F, turned);
    cross3(pose->axis[j], swing, later);
    jet->rate_q[9 + j] = dot3(turned, pose->v);
    jet->acc_q[9 + j]  = dot3(later, pose->v) + dot3(turned, pose->acc);
    jet->acc_u[9 + j]  = dot3(turned, pose->v);
    jet->acc_u[6 + j]  = swing[j];
    for (int i = 0; i < 3; i++) jet->H[6 + i][9 + j] = turned[i];
  }
}

/* s = X . Y, for axis i of `from` and axis j of the other side. */
static void cosine(const Space *space, const Pair *pair, const Pose *pose[2], int from, int i,
                   int j, Mask mask, Order order, Jet *jet) {
  Moving X, Y;
  fixedIn(pose, from, pair->side[from].axis[i], order, &X);
  fixedIn(pose, !from, pair->side[!from].axis[j], order, &Y);
  product(space, &X, &Y, mask, order, jet);
}

void bodiesAddScaled(const Space *space, const Taylor *F, int n, const Jet *C, const Jet *m,
                     Mask mask, Order order, Jet *jet) {
  sunrealtype rate = 0, bent[VARIABLES] = {0}; /* F', and F'' c' */
  for (int k = 0; k < n && F->degree > 0; k++) {
    rate += F->d[k] * C[k].rate;
    for (int l = 0; l < n && F->degree > 1; l++) bent[l] += F->dd[k][l] * C[k].rate;
  }
  jet->rate += F->v * m->rate;
  jet->acc += F->v * m->acc + rate * m->rate;
  if (order <= VALUES) return;
  EACH_DIRECTION(space, mask.g, j) {
    sunrealtype Fj = 0, rate_j = 0;
    jet->g[j] += F->v * m->g[j];
    if (order == GRADIENT) continue;
    for (int k = 0; k < n; k++) Fj += F->d[k] * C[k].g[j];
    jet->rate_q[j] += F->v * m->rate_q[j] + Fj * m->rate;
    if (order == HESSIAN) continue;
    for (int k = 0; k < n; k++) rate_j += bent[k] * C[k].g[j] + F->d[k] * C[k].rate_q[j];
    jet->acc_q[j] += F->v * m->acc_q[j] + Fj * m->acc + rate * m->rate_q[j] + rate_j * m->rate;
    jet->acc_u[j] += F->v * m->acc_u[j] + Fj * m->rate + rate * m->g[j];
  }
  if (order == ACCELERATION) return;
  EACH_DIRECTION(space, mask.g, j) {
    sunrealtype Fj = 0;
    for (int k = 0; k < n; k++) Fj += F->d[k] * C[k].g[j];
    EACH_DIRECTION(space, mask.g, i)
    jet->H[i][j] += F->v * m->H[i][j] + Fj * m->g[i];
  }
}

static void roll(const Space *space, const Pair *pair, const Measure *m, const Pose *pose[2],
                 Mask mask, Order order, Jet *jet) {
  Jet C, along, about;
  Moving n;
  cosine(space, pair, pose, m->from, 2, m->j, mask, order, &C);
  cosine(space, pair, pose, m->from, m->i, m->j, mask, order, &along);
  fixedIn(pose, m->from, pair->side[m->from].axis[1 - m->i], order, &n);
  spin(space, &n, m->from, mask, order, &about);
  const sunrealtype c = C.s, r = 1 / sqrt(1 - c * c), r3 = r * r * r, r5 = r3 * r * r;
  const sunrealtype sign = m->i == 0 ? -1 : 1;
  const Taylor cot       = {1, 2, c * r, {r3}, {{3 * c * r5}}},
               cosec     = {1, 2, sign * r, {sign * c * r3}, {{sign * (1 + 2 * c * c) * r5}}};
  memset(jet, 0, sizeof *jet);
  bodiesAddScaled(space, &cot, 1, &C, &along, mask, order, jet);
  bodiesAddScaled(space, &cosec, 1, &C, &about, mask, order, jet);
}

/* ---- surfaces ---- */

/* With x = (x_a . d, y_a . d, z_a . d), a surface of body a is phi(x) = 0. With its gradient g, a
 * ball of radius r about P_b, which touches at P_b - r g/|g|, has
 *
 *   the gap phi(x),   the sliding velocities t_i . x' -+ r t_j . omega, where t_j is the other tangent.
 *
 * All rows have the length |g|, so that multipliers are forces divided by |g|, and the friction
 * cone is as with |g| = 1. With a right-handed frame a_1, a_2, e, the tangents are the images of |g| a_1 and |g| a_2 under the
 * reflection that maps g to -|g| e (A. S. Householder, J. ACM 5, 1958), so that (g, t_1, t_2) is right-handed. They are smooth but
 * at g = -|g| e: no field of tangents is smooth on a whole sphere. Motions cross planes of symmetry, axes and diagonals of their
 * bodies, and rest there, so that in space e is the direction that is farthest from the planes of symmetry of a cube, the
 * incentre of the triangle between three of them, (1, 1 + sqrt 2, 1 + 2 sqrt 2). In the plane e changes its sign, and a_1 with it,
 * where g does, by which the tangents do not change. */

/* At the gradient g [3] of a surface: t, out, two tangents of its length */
static void tangents(const Space *space, const Taylor *g, Taylor t[2][3]) {
  /* The last row is e, and the others are where the shortest turn from e_z to e takes e_x and e_y. */
  static const sunrealtype in_space[3][3] = {
      {0.9745098826128992, -0.0615385871024211, -0.21573940527226648},
      {-0.0615385871024211, 0.851432708408057, -0.5208409981466113},
      {0.21573940527226648, 0.5208409981466113, 0.8259425910209562}};
  const sunrealtype s = g[2].v < 0 ? -1 : 1, in_plane[3][3] = {{s, 0, 0}, {0, 1, 0}, {0, 0, s}};
  const sunrealtype(*frame)[3] = space->dimension == 3 ? in_space : in_plane, *e = frame[2];
  Taylor square, sum, along, part, middle[3];
  taylorSet(g->n, g->degree, 0, &square);
  for (int k = 0; k < 3; k++) taylorAddProduct(1, &g[k], &g[k], &square);
  const sunrealtype l = sqrt(square.v), r = l > 0 ? 1 / l : 0; /* undefined at g = 0 */
  const Taylor length = taylorOf(&square, l, r / 2, -r * r * r / 4);
  taylorCopy(&length, &sum);
  for (int k = 0; k < 3; k++) {
    taylorCopy(&g[k], &middle[k]);
    taylorAdd(e[k], &length, &middle[k]); /* g + |g| e */
    taylorAdd(e[k], &g[k], &sum);         /* |g| + e . g */
  }
  const sunrealtype w  = sum.v > 0 ? 1 / sum.v : 0;
  const Taylor inverse = taylorOf(&sum, w, -w * w, 2 * w * w * w);
  for (int i = 0; i < 2; i++) {
    taylorSet(g->n, g->degree, 0, &along), taylorSet(g->n, g->degree, 0, &part);
    for (int k = 0; k < 3; k++) taylorAdd(frame[i][k], &g[k], &along);
    taylorAddProduct(1, &along, &inverse, &part);
    for (int k = 0; k < 3; k++) {
      taylorSet(g->n, g->degree, 0, &t[i][k]);
      taylorAdd(frame[i][k], &length, &t[i][k]);
      taylorAddProduct(-1, &part, &middle[k], &t[i][k]);
    }
  }
}

/* Evaluates phi, and its gradient g [3] with two derivatives. Returns what the user's function
 * returned; if it failed, phi is NaN. */
static int level(const sunrealtype *param, const Surface *surface, const sunrealtype *x,
                 sunrealtype *phi, Taylor *g) {
  sunrealtype d[3] = {0}, H[9] = {0}, T[27] = {0};
  int flag = 0;
  *phi     = 0;
  if (surface->fn) flag = surface->fn(x, phi, d, H, T, surface->data);
  /* phi = (x . x - rho^2) / (2 rho) is the distance up to its square; a hollow sphere has rho < 0. */
  else {
    const sunrealtype rho = param[surface->radius[0]] + param[surface->radius[1]];
    *phi                  = (dot3(x, x) / rho - rho) / 2;
    for (int k = 0; k < 3; k++) d[k] = x[k] / rho, H[4 * k] = 1 / rho;
  }
  for (int k = 0; k < 3; k++) {
    g[k] = taylorConstant(3, 2, d[k]);
    for (int l = 0; l < 3; l++) {
      g[k].d[l] = H[3 * k + l];
      memcpy(g[k].dd[l], T + 9 * k + 3 * l, 3 * sizeof *T);
    }
  }
  if (flag) *phi = g[0].v = NAN;
  return flag;
}

static void surfaceJet(const Space *space, const sunrealtype *param, const Pair *pair,
                       const Measure *m, const Pose *pose[2], Mask mask, Order order, Jet *jet) {
  const Mask turns = {mask.g & TURNS, 0};
  Jet x[3], turn[3];
  Moving axis, d;
  Taylor g[3], t[2][3];
  memset(turn, 0, sizeof turn);
  bodiesSpan(pair, pose[0], pose[1], order, &d);
  for (int k = 0; k < 3; k++) {
    fixedIn(pose, 0, pair->side[0].axis[k], order, &axis);
    product(space, &axis, &d, mask, order, &x[k]);
    if (m->kind == TWIST) spin(space, &axis, 0, turns, order, &turn[k]);
  }
  memset(jet, 0, sizeof *jet);
  level(param, &pair->surface, (sunrealtype[]){x[0].s, x[1].s, x[2].s}, &jet->s, g);
  if (m->kind != LEVEL) tangents(space, g, t);
  for (int k = 0; k < 3; k++)
    bodiesAddScaled(space, m->kind == LEVEL ? &g[k] : &t[m->i][k], 3, x,
                    m->kind == TWIST ? &turn[k] : &x[k], mask, order, jet);
}

int bodiesLevel(const Space *space, const sunrealtype *param, const Pair *pair, const Pose *a,
                const Pose *b, sunrealtype *g, sunrealtype t[2][3]) {
  Moving d;
  sunrealtype x[3], phi;
  Taylor of_g[3], of_t[2][3];
  bodiesSpan(pair, a, b, VALUES, &d);
  for (int k = 0; k < 3; k++) {
    sunrealtype axis[3];
    toSpace(a, pair->side[0].axis[k], axis);
    x[k] = dot3(axis, d.x);
  }
  const int flag = level(param, &pair->surface, x, &phi, of_g);
  tangents(space, of_g, of_t);
  for (int k = 0; k < 3; k++) g[k] = of_g[k].v, t[0][k] = of_t[0][k].v, t[1][k] = of_t[1][k].v;
  return flag;
}

/* ---- solids ---- */

/* The place of solid b relative to a: x, R (closest.h) */
static void placeOf(const Pair *pair, const Pose *pose[2], sunrealtype *x, sunrealtype (*R)[3]) {
  Moving d;
  sunrealtype axis[2][3][3];
  bodiesSpan(pair, pose[0], pose[1], VALUES, &d);
  for (int side = 0; side < 2; side++)
    for (int k = 0; k < 3; k++) toSpace(pose[side], pair->side[side].axis[k], axis[side][k]);
  for (int i = 0; i < 3; i++) {
    x[i] = dot3(axis[0][i], d.x);
    for (int k = 0; k < 3; k++) R[i][k] = dot3(axis[0][i], axis[1][k]);
  }
}

/* F: out, for each component of w the factors of the rates of the six variables, in w . (x' + omega x at): w, and at x w. The second
 * derivative of F in the directions k, then l, is that of its Taylor series, and half of its derivative along e_k x e_l. */
static void factorsOf(const Taylor *w, const Taylor *at, Taylor *F) {
  for (int k = 0; k < 3; k++) {
    const int i = (k + 1) % 3, j = (k + 2) % 3;
    taylorCopy(&w[k], &F[k]);
    taylorSet(w->n, w->degree, 0, &F[3 + k]);
    taylorAddProduct(1, &at[i], &w[j], &F[3 + k]);
    taylorAddProduct(-1, &at[j], &w[i], &F[3 + k]);
  }
  for (int f = 0; f < VARIABLES && w->degree > 1; f++)
    for (int k = 0; k < 3; k++) {
      const int i = (k + 1) % 3, j = (k + 2) % 3;
      F[f].dd[3 + i][3 + j] += F[f].d[3 + k] / 2;
      F[f].dd[3 + j][3 + i] -= F[f].d[3 + k] / 2;
    }
}

static void solidJet(const Space *space, const Pair *pair, const Measure *m, const Pose *pose[2],
                     Mask mask, Order order, Jet *jet) {
  const Mask turns = {mask.g & TURNS, 0};
  const int degree = order == RATES || order == GRADIENT ? 0 : order >= ACCELERATION ? 2 : 1;
  Jet rate[VARIABLES];
  Moving axis, d;
  sunrealtype x[3], R[3][3];
  Taylor gap, n[3], at[3], t[2][3], F[VARIABLES];
  if (order > VALUES) memset(jet, 0, sizeof *jet), memset(rate, 0, sizeof rate);
  jet->s = jet->rate = jet->acc = 0;
  placeOf(pair, pose, x, R);
  closestPoints(&pair->solid[0], &pair->solid[1], x, R, degree, &gap, n, at);
  if (m->kind == NEAR) jet->s = gap.v;
  if (pair->solid[0].core == NO_SOLID) return; /* Nothing moves a gap that is constant. */
  bodiesSpan(pair, pose[0], pose[1], order, &d);
  for (int k = 0; k < 3; k++) {
    fixedIn(pose, 0, pair->side[0].axis[k], order, &axis);
    product(space, &axis, &d, mask, order, &rate[k]);
    spin(space, &axis, 0, turns, order, &rate[3 + k]);
  }
  if (m->kind == SLIP) tangents(space, n, t);
  factorsOf(m->kind == SLIP ? t[m->i] : n, at, F);
  for (int k = 0; k < VARIABLES; k++)
    bodiesAddScaled(space, &F[k], VARIABLES, rate, &rate[k], mask, order, jet);
}

int bodiesNearest(const Space *space, const Pair *pair, const Pose *a, const Pose *b,
                  sunrealtype *gap, sunrealtype *point, sunrealtype *g, sunrealtype t[2][3]) {
  const Pose *pose[2] = {a, b};
  sunrealtype x[3], R[3][3], axis[3];
  Taylor of_gap, n[3], at[3], of_t[2][3];
  placeOf(pair, pose, x, R);
  const int none = closestPoints(&pair->solid[0], &pair->solid[1], x, R, 0, &of_gap, n, at);
  tangents(space, n, of_t);
  if (gap) *gap = of_gap.v;
  toSpace(b, pair->side[1].point, point);
  add3(1, b->r, point);
  for (int k = 0; k < 3; k++) {
    g[k] = n[k].v, t[0][k] = of_t[0][k].v, t[1][k] = of_t[1][k].v;
    toSpace(a, pair->side[0].axis[k], axis);
    add3(at[k].v, axis, point);
  }
  return none;
}

/* In the plane both bodies turn about the same axis: the angle is phi_b - phi_a plus a constant. */
static void planarAngle(const Pair *pair, const Measure *m, const Pose *a, const Pose *b,
                        Order order, Mask mask, Jet *jet) {
  const sunrealtype sign = m->from ? -1 : 1, *x = pair->side[m->from].axis[m->i],
                    *y = pair->side[m->from].axis[(m->i + 1) % 3],
                    *v = pair->side[!m->from].axis[m->j];
  jet->s = sign * (b->phi - a->phi) + atan2(dot3(y, v), dot3(x, v)) - sign * pair->turns;
  if (a->turns != b->turns) jet->s += sign * 8 * atan(SUN_RCONST(1.0)) * (b->turns - a->turns);
  jet->rate = sign * (b->w[2] - a->w[2]);
  jet->acc =
      isAccelerated(order, a) || isAccelerated(order, b) ? sign * (b->alpha[2] - a->alpha[2]) : 0;
  for (int j = 5; j < LOCAL; j += 6)
    if (mask.g & (1u << j / 3)) {
      jet->g[j]      = (j / 6) == m->from ? -1 : 1;
      jet->rate_q[j] = jet->acc_q[j] = jet->acc_u[j] = 0;
    }
}

/* With X and Y turned by the current angle, held fixed, S = Y . V is 0 and C = X . V is positive. */
static void spatialAngle(const Space *space, const Pair *pair, const Measure *m,
                         const Pose *pose[2], Order order, Mask mask, Jet *jet) {
  const sunrealtype *x = pair->side[m->from].axis[m->i],
                    *y = pair->side[m->from].axis[(m->i + 1) % 3];
  Moving X, Y, V;
  Jet C;
  fixedIn(pose, !m->from, pair->side[!m->from].axis[m->j], order, &V);
  fixedIn(pose, m->from, x, VALUES, &X);
  fixedIn(pose, m->from, y, VALUES, &Y);
  const sunrealtype angle = atan2(dot3(Y.x, V.x), dot3(X.x, V.x)), c = cos(angle), s = sin(angle);
  sunrealtype ahead[3], aside[3];
  for (int k = 0; k < 3; k++) {
    ahead[k] = c * x[k] + s * y[k];
    aside[k] = c * y[k] - s * x[k];
  }
  fixedIn(pose, m->from, ahead, order, &X);
  fixedIn(pose, m->from, aside, order, &Y);
  product(space, &Y, &V, mask, order, jet);
  product(space, &X, &V, mask, order, &C);
  const sunrealtype r = 1 / C.s;
  const Function atan = {.S = r, .SC = -r * r, .SSS = -2 * r * r * r, .SCC = 2 * r * r * r};
  bodiesCompose(space, &atan, &C, mask, order, jet);
  jet->s = angle;
}

/* ---- ropes ---- */

/* R_b - R_a */
static sunrealtype radii(const sunrealtype *param, const Pair *pair) {
  const int *radius = pair->surface.radius;
  return (radius[1] < 0 ? 0 : param[radius[1]]) - (radius[0] < 0 ? 0 : param[radius[0]]);
}

/* Axis k of the plane of a rope: in the plane that of space */
static void planeAxis(const Space *space, const Pair *pair, int from, int k, const Pose *pose[2],
                      Order order, Moving *X) {
  if (space->dimension == 3) {
    fixedIn(pose, from, pair->side[from].axis[k], order, X);
    return;
  }
  memset(X, 0, sizeof *X);
  X->pose[0] = pose[0], X->pose[1] = pose[1];
  X->x[k] = 1;
}

/* With the distance d = (X, Y) of the centres, rho = R_b - R_a, the direction e = (cos psi, sin psi) of the tangent and the unit
 * vector p to its left, d = L e + rho p. */
static void direct(sunrealtype X, sunrealtype Y, sunrealtype rho, sunrealtype *L, sunrealtype *psi) {
  *L   = sqrt(X * X + Y * Y - rho * rho);
  *psi = remainder(atan2(Y, X) - atan2(rho, *L), 8 * atan(SUN_RCONST(1.0)));
}

sunrealtype bodiesHeading(const Space *space, const sunrealtype *param, const Pair *pair, int from,
                          const Pose *a, const Pose *b, sunrealtype *length) {
  const Pose *pose[2] = {a, b};
  sunrealtype x[2], psi;
  Moving d, X;
  bodiesSpan(pair, a, b, VALUES, &d);
  for (int k = 0; k < 2; k++) {
    planeAxis(space, pair, from, k, pose, VALUES, &X);
    x[k] = dot3(X.x, d.x);
  }
  direct(x[0], x[1], radii(param, pair), length, &psi);
  return psi;
}

/* W = L - rho psi has dW = e . dd and d psi = p . dd / L, since arcs grow by what the tangent unrolls:
 *   W_i = e_i,  W_ij = p_i p_j / L,  W_ijk = -(e_i p_j p_k + p_i e_j p_k + p_i p_j e_k) / L^2 - rho p_i p_j p_k / L^3 */
static void tangentJet(const Space *space, const sunrealtype *param, const Pair *pair,
                       const Measure *m, const Pose *pose[2], Mask mask, Order order, Jet *jet) {
  const sunrealtype rho = radii(param, pair);
  sunrealtype L, psi;
  Moving d, X;
  Jet C;
  bodiesSpan(pair, pose[0], pose[1], order, &d);
  planeAxis(space, pair, m->from, 0, pose, order, &X);
  product(space, &X, &d, mask, order, jet);
  planeAxis(space, pair, m->from, 1, pose, order, &X);
  product(space, &X, &d, mask, order, &C);
  direct(jet->s, C.s, rho, &L, &psi);
  const sunrealtype e = cos(psi), f = sin(psi), p = -f, q = e, r = 1 / L, c = -rho * r * r * r,
                    s = -r * r;
  const Function W    = {.S   = e,
                         .C   = f,
                         .SS  = p * p * r,
                         .SC  = p * q * r,
                         .CC  = q * q * r,
                         .SSS = 3 * s * e * p * p + c * p * p * p,
                         .SSC = s * (2 * e * p * q + f * p * p) + c * p * p * q,
                         .SCC = s * (2 * f * p * q + e * q * q) + c * p * q * q,
                         .CCC = 3 * s * f * q * q + c * q * q * q};
  bodiesCompose(space, &W, &C, mask, order, jet);
  jet->s = L - rho * psi;
}

void bodiesJet(const Space *space, const sunrealtype *param, const Pair *pair, const Measure *m,
               const Pose *a, const Pose *b, Order order, Jet *jet) {
  const Mask mask     = bodiesMask(space, pair, m);
  const Pose *pose[2] = {a, b};
  Moving X, Y;
  switch (m->kind) {
  case OWN:          /* the tree has it */
  case WRAP:         /* of three bodies, see bodiesWrapJet */
  case POINT: break; /* a vector, see bodiesSpan */
  case ALONG:
    fixedIn(pose, m->from, pair->side[m->from].axis[m->i], order, &X);
    bodiesSpan(pair, a, b, order, &Y);
    product(space, &X, &Y, mask, order, jet);
    break;
  case DOT: cosine(space, pair, pose, m->from, m->i, m->j, mask, order, jet); break;
  case LENGTH: {
    static const Jet none;
    bodiesSpan(pair, a, b, order, &Y);
    product(space, &Y, &Y, mask, order, jet);
    const sunrealtype l = sqrt(jet->s), r = 1 / l;
    const Function root = {.S = r / 2, .SS = -r * r * r / 4, .SSS = 3 * r * r * r * r * r / 8};
    bodiesCompose(space, &root, &none, mask, order, jet);
    jet->s = l;
    break;
  }
  case ANGLE:
    if (space->dimension == 2) planarAngle(pair, m, a, b, order, mask, jet);
    else spatialAngle(space, pair, m, pose, order, mask, jet);
    break;
  case SPIN:
    fixedIn(pose, m->from, pair->side[m->from].axis[m->i], order, &X);
    spin(space, &X, m->from, mask, order, jet);
    break;
  case SINE: { /* s = sqrt(1 - c^2) */
    static const Jet none;
    cosine(space, pair, pose, m->from, m->i, m->j, mask, order, jet);
    const sunrealtype c = jet->s, s = sqrt(1 - c * c), r = 1 / s;
    const Function sine = {.S = -c * r, .SS = -r * r * r, .SSS = -3 * c * r * r * r * r * r};
    bodiesCompose(space, &sine, &none, mask, order, jet);
    jet->s = s;
    break;
  }
  case ROLL: roll(space, pair, m, pose, mask, order, jet); break;
  case WRENCH: wrench(&pair->side[1], b, order, jet); break;
  case LEVEL:
  case GLIDE:
  case TWIST: surfaceJet(space, param, pair, m, pose, mask, order, jet); break;
  case NEAR:
  case SLIP: solidJet(space, pair, m, pose, mask, order, jet); break;
  case TANGENT: tangentJet(space, param, pair, m, pose, mask, order, jet); break;
  }
}

/* ---- rotation vectors ---- */

/* The unit quaternion of a rotation matrix by rows, scalar >= 0 (S. W. Shepperd, J. Guid. Control 1,
 * 1978): the largest component comes from the diagonal, so that no digits are lost. */
void bodiesQuaternion(sunrealtype R[3][3], sunrealtype *e) {
  const sunrealtype trace = R[0][0] + R[1][1] + R[2][2];
  int k                   = 0; /* the largest: 0 for the scalar */
  sunrealtype most        = trace;
  for (int i = 0; i < 3; i++)
    if (R[i][i] > most) most = R[i][i], k = i + 1;
  e[k]                   = sqrt(fmax(0, 1 + 2 * most - trace)) / 2;
  const sunrealtype part = 1 / (4 * e[k]);
  if (k == 0) {
    for (int i = 0; i < 3; i++)
      e[i + 1] = part * (R[(i + 2) % 3][(i + 1) % 3] - R[(i + 1) % 3][(i + 2) % 3]);
    return;
  }
  const int i = k - 1, j = (i + 1) % 3, l = (i + 2) % 3;
  e[0]                   = part * (R[l][j] - R[j][l]);
  e[j + 1]               = part * (R[j][i] + R[i][j]);
  e[l + 1]               = part * (R[l][i] + R[i][l]);
  const sunrealtype sign = e[0] < 0 ? -1 : 1;
  for (int c = 0; c < 4; c++) e[c] *= sign;
}

/* n = 3: r = theta k with the quaternion (cos theta/2, k sin theta/2), and
 *   r' = w - r x w / 2 + (1 - theta/2 cot theta/2) k x (k x w),   w = omega_b - omega_a in the axes of a.
 * n = 2: with z_b = (sigma k_y, -sigma k_x, c) in the axes of a, r = theta k, tan theta = sigma / c;
 *   theta' = k . w,   k' = ((sigma z - c e) . w) / sigma (z x k),   e = k x z,
 * where at theta = 0 the limit counts, and at half a turn any k will do. */
void bodiesTilt(const Pair *pair, const Pose *a, const Pose *b, int n, sunrealtype r[3],
                sunrealtype D[3][3]) {
  static const sunrealtype least = SUN_RCONST(1e-6); /* below, the limit is exact to roundoff */
  sunrealtype axis[2][3][3], R[3][3], J[3][3], e[4];
  const Pose *pose[2] = {a, b};
  for (int side = 0; side < 2; side++)
    for (int k = 0; k < 3; k++) toSpace(pose[side], pair->side[side].axis[k], axis[side][k]);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) R[i][j] = dot3(axis[0][i], axis[1][j]);
  if (n == 3) {
    bodiesQuaternion(R, e);
    const sunrealtype size = length3(e + 1), theta = 2 * atan2(size, e[0]),
                      part = size > 0 ? theta / size : 2;
    for (int k = 0; k < 3; k++) r[k] = part * e[1 + k];
    /* (1 - theta/2 cot theta/2) / theta^2, which is 1/12 + O(theta^2) */
    const sunrealtype c = theta > 100 * least ? (1 - theta / 2 * e[0] / size) / (theta * theta)
                                              : SUN_RCONST(1.0) / 12;
    for (int l = 0; l < 3; l++) {
      const sunrealtype w[3] = {l == 0, l == 1, l == 2};
      sunrealtype first[3], second[3];
      cross3(r, w, first);
      cross3(r, first, second);
      for (int k = 0; k < 3; k++) J[k][l] = w[k] - first[k] / 2 + c * second[k];
    }
  } else {
    const sunrealtype sigma = hypot(R[0][2], R[1][2]), theta = atan2(sigma, R[2][2]);
    const int round        = !(sigma > least);
    const sunrealtype k[3] = {sigma > 0 ? -R[1][2] / sigma : 0, sigma > 0 ? R[0][2] / sigma : 1, 0},
                      across = round ? (theta < 1 ? 1 : theta / least) : theta / sigma;
    for (int i = 0; i < 3; i++) r[i] = theta * k[i];
    /* e = (k_y, -k_x, 0), z x k = -e */
    for (int l = 0; l < 3; l++) {
      const sunrealtype e_l  = l == 0   ? k[1]
                               : l == 1 ? -k[0]
                                        : 0,
                        turn = across * ((l == 2 ? sigma : 0) - R[2][2] * e_l);
      for (int i = 0; i < 3; i++)
        J[i][l] = k[i] * k[l] - turn * (i == 0 ? k[1] : i == 1 ? -k[0] : 0);
    }
  }
  for (int i = 0; i < 3; i++) {
    D[i][0] = D[i][1] = D[i][2] = 0;
    for (int l = 0; l < 3; l++) add3(J[i][l], axis[0][l], D[i]);
  }
}
