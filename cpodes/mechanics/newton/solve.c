/* One linear system: right-hand sides of the reduced one, its solution, and back. */
#include "newton_impl.h"

#include <string.h>

/* ---- quaternions: E is the multiplication by g / gamma = (0, omega / 2), from the right in the body's
 * frame (sign +1), from the left in the world's (-1). 1 / (1 - g) = (1 + g) / (1 + |g|^2), so that
 *
 *   (1 - gamma E)^-1 p = p o (1 + g) / (1 + |g|^2)     (body)
 *   T w = (w + sign w x g) / (1 + |g|^2)
 * ---- */

typedef struct {
  double sign, g[3], scale; /* scale = 1 / (1 + |g|^2) */
} Turn;

static Turn turnOf(const CPQuaternion *Q, const double *u, double gamma) {
  Turn turn     = {.sign = Q->frame == CP_FRAME_BODY ? 1.0 : -1.0};
  double square = 0.0;
  for (int d = 0; d < 3; d++) {
    turn.g[d] = 0.5 * gamma * u[Q->first_u + d];
    square += turn.g[d] * turn.g[d];
  }
  turn.scale = 1.0 / (1.0 + square);
  return turn;
}

static double cross(const double *a, const double *b, int d) {
  const int e = (d + 1) % 3, f = (d + 2) % 3;
  return a[e] * b[f] - a[f] * b[e];
}

/* w [3] <- T w */
static void turn(const Turn *turn, double *w) {
  double old[3];
  memcpy(old, w, sizeof old);
  for (int d = 0; d < 3; d++) w[d] = turn->scale * (old[d] + turn->sign * cross(old, turn->g, d));
}

/* p [4] <- (1 - gamma E)^-1 p */
static void resolve(const Turn *turn, double *p) {
  double old[4];
  memcpy(old, p, sizeof old);
  const double *v = old + 1;
  p[0] = turn->scale * (old[0] - v[0] * turn->g[0] - v[1] * turn->g[1] - v[2] * turn->g[2]);
  for (int d = 0; d < 3; d++)
    p[d + 1] = turn->scale * (v[d] + old[0] * turn->g[d] + turn->sign * cross(v, turn->g, d));
}

void cpTurn(const CPMechNewtonMem newton, double gamma, const CPMat *J, CPMat *JT) {
  const CPMech mech = newton->mech;
  memcpy(JT->value, J->value, cpMatEntries(J) * sizeof *J->value);
  for (int k = 0; k < mech->nquaternions; k++) {
    const CPQuaternion *Q = &mech->quaternions[k];
    const Turn T          = turnOf(Q, newton->u, gamma);
    const int j           = Q->first_u;
    const size_t count    = cpMatFirst(J, j + 1) - cpMatFirst(J, j);
    double *column        = JT->value + cpMatFirst(J, j);
    /* row (x, y, z) of the three columns, times T, is T^T (x, y, z): T with -g */
    const Turn transposed = {.sign = T.sign, .g = {-T.g[0], -T.g[1], -T.g[2]}, .scale = T.scale};
    for (size_t e = 0; e < count; e++) {
      double row[3] = {column[e], column[e + count], column[e + 2 * count]};
      turn(&transposed, row);
      for (size_t d = 0; d < 3; d++) column[e + d * count] = row[d];
    }
  }
}

/* ---- the system ---- */

/* rq <- (1 - gamma E)^-1 (r_q + gamma N v) */
static int positions(CPMechNewtonMem newton, const double *r, const double *v) {
  const CPMech mech = newton->mech;
  double *rq        = newton->rq;
  const int flag    = cpMechKinematics(mech, newton->q, CP_N, v, rq);
  for (int i = 0; !flag && i < mech->nq; i++) rq[i] = r[i] + newton->gamma * rq[i];
  for (int k = 0; !flag && k < mech->nquaternions; k++) {
    const Turn T = turnOf(&mech->quaternions[k], newton->u, newton->gamma);
    resolve(&T, rq + mech->quaternions[k].first_q);
  }
  return flag;
}

/* Velocities, without those that FULL motions prescribe: nothing depends on them. */
static void freeVelocities(const CPMechNewtonMem newton, const double *from, double *to) {
  for (int j = 0; j < newton->nu; j++) to[j] = newton->fixed[j] ? 0.0 : from[j];
}

/* x <- [K; Bq; Zq] s + [C; Bu; Zu] r_u + [Fz; 0; Zz] r_z */
static void rightHandSides(CPMechNewtonMem newton, const double *ru, const double *rz) {
  const double *along[CP_DIRECTIONS] = {newton->s, ru, rz, NULL};
  double *x[CP_OUTPUTS] = {newton->x, newton->x + newton->nu, newton->x + newton->nu + newton->m};
  memset(newton->x, 0, (size_t)newton->order * sizeof *newton->x);
  for (int of = 0; of < CP_OUTPUTS; of++)
    for (int by = 0; by < CP_BY_LAMBDA; by++)
      if (newton->block[of][by].exists)
        cpMatTimes(&newton->block[of][by].J, 1.0, along[by], 1.0, x[of]);
  for (int i = 0; i < newton->order; i++)
    if (newton->fixed[i]) newton->x[i] = 0.0;
}

int cpNewtonSolve(CPMechNewtonMem newton, const double *r, double *x) {
  CPMech mech      = newton->mech;
  const double *ru = r + mech->nq, *rz = ru + mech->nu;
  double *xu = x + mech->nq, *xz = xu + mech->nu;
  freeVelocities(newton, ru, newton->v);
  int flag = positions(newton, r, newton->v);
  if (!flag) flag = cpMechKinematics(mech, newton->q, CP_N_INVERSE, newton->rq, newton->s);
  if (flag) return flag;
  freeVelocities(newton, newton->s, newton->s);
  rightHandSides(newton, newton->v, rz);
  flag = newton->lu.ops->solve(&newton->lu, newton->x); /* a', lambda', zeta' */
  if (flag) return cpReason(mech->text, flag, "the factors of the iteration matrix failed");
  const double *da = newton->x, *dz = newton->x + newton->nu + newton->m;
  for (int j = 0; j < mech->nu; j++) xu[j] = ru[j] + newton->gamma * da[j];
  for (int j = 0; j < mech->nz; j++) xz[j] = rz[j] + newton->gamma * dz[j];
  freeVelocities(newton, xu, newton->v);
  flag = positions(newton, r, newton->v);
  memcpy(x, newton->rq, (size_t)mech->nq * sizeof *x);
  return flag;
}
