/* Velocity constraints and the right-hand side b of the acceleration constraints, where the user
 * gives them, and by differences where not:
 *
 *   v = A u + dp/dt,       b = -d/de v(t + e, q + e N u, u) at e = 0
 *
 * (the derivative of v along the motion with u held is dv/dt + (dv/dq) N u, and A u' = b makes
 * dv/dt zero). Central differences of sixth order, sum_k w_k (g(ke) - g(-ke)) / e, k = 1, 2, 3. */
#include "cpodes/mechanics/mechanics_impl.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double FOURTH[3] = {40.0 / 60.0, -5.0 / 60.0, 0.0};

/* Steps are this part of the time in which a function changes: truncation (0.02)^6 / 140 and
 * roundoff DBL_EPSILON / 0.02 are then of one size. */
#define STEP_PART 0.02
/* Difference of the fourth and the sixth order, relative, at which the latter is good to some
 * 1e-13. */
#define GOOD_MATCH 1.0e-8
#define MAX_TRIES  4

/* ---- dg/de at e = 0 ---- */

/* g [rows] at e; s: where e is 0. */
typedef int (*AtTime)(CPMech mech, const CPMechState *s, double e, double *g);

typedef struct {
  AtTime g;
  int rows;
  double size;                    /* of the terms of g, for roundoff in them */
  double *plus, *minus, *d6, *d4; /* [rows]; d6: the result */
} Derivative;

/* d6, d4 by steps e. constant: g(e) = g(-e) to the last bit, as where e does not matter: d6 = 0. */
static int differences(CPMech mech, const CPMechState *s, const Derivative *D, double e,
                       int *constant) {
  const size_t length = (size_t)D->rows * sizeof *D->d6;
  int flag            = CP_SUCCESS;
  memset(D->d6, 0, length);
  memset(D->d4, 0, length);
  for (int k = 1; !flag && k <= 3; k++) {
    flag = D->g(mech, s, k * e, D->plus);
    if (!flag) flag = D->g(mech, s, -k * e, D->minus);
    if (!flag && k == 1 && (*constant = !memcmp(D->plus, D->minus, length))) return CP_SUCCESS;
    for (int i = 0; !flag && i < D->rows; i++) {
      const double difference = (D->plus[i] - D->minus[i]) / e;
      D->d6[i] += cpSixthOrder[k - 1] * difference;
      D->d4[i] += FOURTH[k - 1] * difference;
    }
  }
  return flag;
}

/* D->d6. The step follows from s alone, so that f is a function of (t, y): it starts from time, and
 * shrinks until both orders agree. */
static int differentiate(CPMech mech, const CPMechState *s, const Derivative *D, double time) {
  int constant = 0;
  for (int k = 0; k < MAX_TRIES; k++) {
    const double e = STEP_PART * time;
    const int flag = differences(mech, s, D, e, &constant);
    if (flag || constant) return flag;
    double mismatch = 0.0;
    for (int i = 0; i < D->rows; i++) mismatch = fmax(mismatch, fabs(D->d6[i] - D->d4[i]));
    const double noise = 100.0 * DBL_EPSILON * D->size / e;
    const double good  = fmax(GOOD_MATCH * cpLargest(D->d6, D->rows), noise);
    if (mismatch <= good) break;
    time *= fmax(0.5 * pow(good / mismatch, 0.25), 0.01); /* their difference falls as e^4 */
  }
  return CP_SUCCESS;
}

/* ---- v ---- */

static int positionsLater(CPMech mech, const CPMechState *s, double e, double *p) {
  return cpMechModelPositions(mech, s->t + e, s->q, p);
}

/* v += dp/dt */
static int addRate(CPMech mech, sunrealtype t, const sunrealtype *q, double *v) {
  const CPMechState s = {.t = t, .q = q};
  const Derivative D  = {.g     = positionsLater,
                         .rows  = mech->np,
                         .size  = cpLargest(q, mech->nq),
                         .plus  = mech->p_plus,
                         .minus = mech->p_minus,
                         .d6    = mech->p6,
                         .d4    = mech->p4};
  const int flag      = differentiate(mech, &s, &D, mech->difference_time);
  for (int i = 0; !flag && i < mech->np; i++) v[i] += D.d6[i];
  return flag;
}

static int modelVelocities(CPMech mech, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                           double *v) {
  if (mech->nv == 0) return CP_SUCCESS;
  mech->stats.nv++;
  if (mech->model.v) {
    int flag = mech->model.v(t, q, u, v, mech->user_data);
    flag     = cpMechResult(mech, flag, t, "v");
    return flag ? flag : cpMechFinite(mech, t, "v", v, mech->nv);
  }
  int flag = cpMechATimes(mech, t, q, u, v);
  for (int i = mech->nv; !flag && i < mech->m; i++) v[i] = 0.0;
  return flag || mech->np == 0 ? flag : addRate(mech, t, q, v);
}

int cpMechVelocities(CPMech mech, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                     double *v) {
  memset(v, 0, (size_t)mech->m * sizeof *v);
  int flag = modelVelocities(mech, t, q, u, v);
  if (!flag && mech->nprescribed > 0) flag = cpMechMotions(mech, t);
  for (int k = 0; !flag && k < mech->nprescribed; k++) {
    const CPPrescribed *g = &mech->prescribed[k];
    if (g->row >= 0) v[g->row] = u[g->j] - g->rate;
  }
  return flag;
}

/* ---- b ---- */

/* v at (t + e, q + e qdot, u) */
static int alongMotion(CPMech mech, const CPMechState *s, double e, double *v) {
  for (int i = 0; i < mech->nq; i++) mech->q_moved[i] = s->q[i] + e * mech->qdot[i];
  memset(v, 0, (size_t)mech->m * sizeof *v);
  return modelVelocities(mech, s->t + e, mech->q_moved, s->u, v);
}

/* The time in which positions change by their own size, or by 1; at most that of the options. */
static int byDifferences(CPMech mech, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                         double *b) {
  const CPMechState s = {.t = t, .q = q, .u = u};
  const Derivative D  = {.g     = alongMotion,
                         .rows  = mech->nv,
                         .size  = cpLargest(u, mech->nu),
                         .plus  = mech->v_plus,
                         .minus = mech->v_minus,
                         .d6    = mech->b6,
                         .d4    = mech->b4};
  int flag            = cpMechKinematics(mech, q, CP_N, u, mech->qdot);
  if (flag) return flag;
  const double speed = cpLargest(mech->qdot, mech->nq), size = fmax(1.0, cpLargest(q, mech->nq));
  const double time = mech->difference_time;
  flag              = differentiate(mech, &s, &D, speed * time > size ? size / speed : time);
  for (int i = 0; !flag && i < mech->nv; i++) b[i] = -D.d6[i];
  return flag;
}

int cpMechB(CPMech mech, sunrealtype t, const sunrealtype *q, const sunrealtype *u, double *b) {
  int flag = CP_SUCCESS;
  memset(b, 0, (size_t)mech->m * sizeof *b);
  if (mech->na > 0) mech->stats.nb++;
  if (mech->na > 0 && mech->model.b) {
    flag = mech->model.b(t, q, u, b, mech->user_data);
    flag = cpMechResult(mech, flag, t, "b");
    if (!flag) flag = cpMechFinite(mech, t, "b", b, mech->na);
  } else if (mech->na > 0) {
    flag = byDifferences(mech, t, q, u, b);
  }
  if (!flag && mech->nprescribed > 0) flag = cpMechMotions(mech, t);
  for (int k = 0; !flag && k < mech->nprescribed; k++)
    if (mech->prescribed[k].row >= 0) b[mech->prescribed[k].row] = mech->prescribed[k].curvature;
  return flag;
}
