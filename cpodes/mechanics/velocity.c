/* Velocity constraints and the right-hand side b of the acceleration constraints, where the user
 * gives them, and by differences where not:
 *
 *   v = A u + dp/dt,       b = -d/de v(t + e, q + e N u, u) at e = 0
 *
 * (the derivative of v along the motion with u held is dv/dt + (dv/dq) N u, and A u' = b makes
 * dv/dt zero). Central differences of sixth order, sum_k w_k (g(ke) - g(-ke)) / e, k = 1, 2, 3. */
#include "mechanics_impl.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double SIXTH[3]  = {45.0 / 60.0, -9.0 / 60.0, 1.0 / 60.0};
static const double FOURTH[3] = {40.0 / 60.0, -5.0 / 60.0, 0.0};

/* Steps are this part of the time in which the motion changes: truncation (0.02)^6 / 140 and
 * roundoff DBL_EPSILON / 0.02 are then of one size. */
#define STEP_PART 0.02
/* Difference of the fourth and the sixth order, relative, at which the latter is good to some
 * 1e-13. */
#define GOOD_MATCH 1.0e-8
#define MAX_TRIES  4

/* out += weight p over the rows of the model at position level */
static int addPositions(CPMech mech, sunrealtype t, const sunrealtype *q, double weight, double *p,
                        double *out) {
  const int flag = cpMechModelPositions(mech, t, q, p);
  for (int i = 0; !flag && i < mech->np; i++) out[i] += weight * p[i];
  return flag;
}

/* v += dp/dt. Scleronomic constraints show by p(t + e) = p(t - e), to the last bit. */
static int addRate(CPMech mech, sunrealtype t, const sunrealtype *q, double *v) {
  const double e = STEP_PART * mech->difference_time;
  double *plus = mech->p_plus, *minus = mech->p_minus;
  int flag = cpMechModelPositions(mech, t + e, q, plus);
  if (!flag) flag = cpMechModelPositions(mech, t - e, q, minus);
  if (flag) return flag;
  const size_t length = (size_t)mech->np * sizeof *plus;
  if (!memcmp(plus, minus, length)) return CP_SUCCESS;
  for (int i = 0; i < mech->np; i++) v[i] += SIXTH[0] / e * (plus[i] - minus[i]);
  for (int k = 2; !flag && k <= 3; k++) {
    flag = addPositions(mech, t + k * e, q, SIXTH[k - 1] / e, plus, v);
    if (!flag) flag = addPositions(mech, t - k * e, q, -SIXTH[k - 1] / e, minus, v);
  }
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

static double largest(const double *x, int length) {
  double size = 0.0;
  for (int i = 0; i < length; i++) size = fmax(size, fabs(x[i]));
  return size;
}

/* v at (t + e, q + e qdot, u) */
static int alongMotion(CPMech mech, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       double e, double *v) {
  for (int i = 0; i < mech->nq; i++) mech->q_moved[i] = q[i] + e * mech->qdot[i];
  memset(v, 0, (size_t)mech->m * sizeof *v);
  return modelVelocities(mech, t + e, mech->q_moved, u, v);
}

/* b by the differences of step e; b4: of fourth order. *noise: size of roundoff in them. */
static int differences(CPMech mech, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       double e, double *b, double *b4, double *noise) {
  int flag = CP_SUCCESS;
  memset(b, 0, (size_t)mech->m * sizeof *b);
  memset(b4, 0, (size_t)mech->m * sizeof *b4);
  *noise = DBL_EPSILON * largest(u, mech->nu) / e;
  for (int k = 1; !flag && k <= 3; k++) {
    flag = alongMotion(mech, t, q, u, k * e, mech->v_plus);
    if (!flag) flag = alongMotion(mech, t, q, u, -k * e, mech->v_minus);
    for (int i = 0; !flag && i < mech->nv; i++) {
      const double difference = (mech->v_plus[i] - mech->v_minus[i]) / e;
      b[i] -= SIXTH[k - 1] * difference;
      b4[i] -= FOURTH[k - 1] * difference;
    }
  }
  return flag;
}

/* The step follows from the state alone, so that f is a function of (t, y). */
static int byDifferences(CPMech mech, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                         double *b) {
  int flag = cpMechKinematics(mech, q, CP_N, u, mech->qdot);
  if (flag) return flag;
  const double speed = largest(mech->qdot, mech->nq), size = fmax(1.0, largest(q, mech->nq));
  double time = mech->difference_time;
  if (speed * time > size) time = size / speed;
  for (int k = 0; k < MAX_TRIES; k++) {
    double noise = 0.0, mismatch = 0.0;
    flag = differences(mech, t, q, u, STEP_PART * time, b, mech->b4, &noise);
    if (flag) return flag;
    for (int i = 0; i < mech->nv; i++) mismatch = fmax(mismatch, fabs(b[i] - mech->b4[i]));
    const double good = fmax(GOOD_MATCH * largest(b, mech->nv), 100.0 * noise);
    if (mismatch <= good) break;
    time *= fmax(0.5 * pow(good / mismatch, 0.25), 0.01); /* their difference falls as e^4 */
  }
  return CP_SUCCESS;
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
