/* Tangent and cotangent projections of a mechanical system, in the space of velocities:
 *
 *   w   <- P w,  w = N^+ e_q           P = I - K A,  K = D A^T (A D A^T)^+
 *   e_u <- P e_u - K V w               V = (dv/dq) N
 *
 * makes (N w, e_u) tangential to {p = 0, v = 0}, and its transpose is, backwards,
 *
 *   x   <- P^T (N^T x_q - V^T K^T x_u),   x_u <- P^T x_u,   x_q = N^+^T x.
 *
 * and with residuals r of what the vector is to satisfy, w <- w - K (A w + r_p) and e_u likewise.
 *
 * Products with V are central differences of v, of sixth order; V^T takes nu of them.
 *
 * Error estimates go without the term with V, which takes two evaluations of v: with it, on the ladders
 * of bench/metrics.c, BDF makes 1.02 times as many steps in the mean (0.95 to 1.11) and errors of 0.8
 * times the size (0.09 to 2.8), a scatter as large as between tolerances. */
#include "projection.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <string.h>

/* A vector of the level, and what is added to it. */
typedef struct {
  N_Vector v;
  N_Vector r; /* [nrows] v -= K (A v + r); NULL: 0 */
  double *mu; /* [nrows] out, K^T v; NULL: not wanted */
} Vector;

/* Vectors are projected with the factors that gave the state, where these are still there. */
static int tangentOfLevel(CPWork inner, sunrealtype t, N_Vector x, N_Vector ewt, void *arg) {
  const Vector *w = arg;
  return cpTangentTo(inner, t, x, ewt, w->v, w->r);
}

static int cotangentOfLevel(CPWork inner, sunrealtype t, N_Vector x, N_Vector ewt, void *arg) {
  const Vector *w = arg;
  int flag        = CP_SUCCESS;
  if (w->mu) { flag = cpMultipliersOf(inner, t, x, ewt, w->v, w->mu); }
  return flag ? flag : cpCotangent(inner, t, x, ewt, w->v);
}

/* The vector e [nu] at y, in place. */
static int projectVector(CPWork work, int which, sunrealtype t, const sunrealtype *y, N_Vector ewt,
                         CPMechLevelFn call, double *e, double *r, double *mu) {
  const CPMech mech = work->P->model;
  double *x         = N_VGetArrayPointer(cpMechOwn(work)->x);
  if (!cpMechLevelIsOn(work, which)) return CP_SUCCESS;
  Vector w = {.v = cpMechOwn(work)->vector, .mu = mu};
  N_VSetArrayPointer(e, w.v);
  if (r) {
    w.r = cpMechOwn(work)->rows[which];
    N_VSetArrayPointer(r, w.r);
  }
  if (which == CP_POSITIONS) cpMechSpaceStart(mech, y, x);
  else memcpy(x, y + mech->nq, (size_t)mech->nu * sizeof *x);
  return cpMechLevelCall(work, which, t, y, call, ewt, &w);
}

static void clearFull(CPMech mech, double *eu) {
  for (int j = 0; mech->nfull > 0 && j < mech->nu; j++)
    if (mech->is_full[j]) eu[j] = 0.0;
}

static int failed(CPWork work, int flag) {
  return cpReason(work->text, flag, "%s", ((CPMech)work->P->model)->text);
}

/* ---- products with V = (dv/dq) N ---- */

/* result [m] = v(t, q + h d, u), d [nq] */
static int displaced(CPWork work, sunrealtype t, const sunrealtype *y, const double *d, double h,
                     double *result) {
  const CPMech mech = work->P->model;
  double *q         = cpMechOwn(work)->moved;
  for (int i = 0; i < mech->nq; i++) q[i] = y[i] + h * d[i];
  return cpMechVelocities(mech, t, q, y + mech->nq, result);
}

/* Step of the differences, as a part of the positions, or of one radian where these are larger:
 * truncation (0.01)^6 / 140 and roundoff DBL_EPSILON / 0.01 are of one size. */
#define REACH 1.0e-2

/* r [nrows] = dv/dq d */
static int velocityAlong(CPWork work, sunrealtype t, const sunrealtype *y, const double *d,
                         double *r) {
  const CPMech mech        = work->P->model;
  const CPMechLevel *level = &mech->space->level[CP_VELOCITIES];
  const double size = cpLargest(d, mech->nq), largest = cpLargest(y, mech->nq);
  const double scale = largest > 0.0 ? fmin(1.0, largest) : 1.0;
  double *plus = cpMechOwn(work)->plus, *minus = cpMechOwn(work)->minus;
  memset(r, 0, (size_t)level->nrows * sizeof *r);
  if (!(size > 0.0)) return CP_SUCCESS;
  const double h = REACH * scale / size;
  for (int p = 0; p < 3; p++) {
    int flag = displaced(work, t, y, d, (p + 1) * h, plus);
    if (!flag) flag = displaced(work, t, y, d, -(p + 1) * h, minus);
    if (flag) return failed(work, flag);
    for (int k = 0; k < level->nrows; k++) {
      const int i = level->row[k];
      if (!mech->off[i]) r[k] += cpSixthOrder[p] * (plus[i] - minus[i]) / h;
    }
  }
  return CP_SUCCESS;
}

/* x [nu] -= V^T mu */
static int subtractTransposed(CPWork work, sunrealtype t, const sunrealtype *y, const double *mu,
                              double *x) {
  const CPMech mech = work->P->model;
  const int nrows   = mech->space->level[CP_VELOCITIES].nrows;
  double *d = cpMechOwn(work)->d, *r = cpMechOwn(work)->r;
  for (int j = 0; j < mech->nu; j++) {
    int flag = cpMechColumn(mech, y, j, d);
    flag     = flag ? failed(work, flag) : velocityAlong(work, t, y, d, r);
    if (flag) return flag;
    for (int k = 0; k < nrows; k++) x[j] -= r[k] * mu[k];
  }
  return CP_SUCCESS;
}

/* ---- vectors of the state ---- */

/* coupled: with the term of V. rows: r of both levels, NULL: 0 */
static int tangent(CPWork work, sunrealtype t, N_Vector yv, N_Vector ewt, N_Vector vv, int coupled,
                   double *rows) {
  const CPMech mech    = work->P->model;
  const sunrealtype *y = N_VGetArrayPointer(yv);
  sunrealtype *v       = N_VGetArrayPointer(vv);
  int flag             = cpMechProjectionUpdate(work);
  if (flag) return flag;
  double *e = cpMechOwn(work)->e, *eu = e + mech->nq, *w = cpMechOwn(work)->w, *r = NULL;
  memcpy(e, v, (size_t)mech->n * sizeof *e);
  flag = cpMechKinematics(mech, y, CP_N_INVERSE, e, w);
  if (flag) return failed(work, flag);
  if (!rows) clearFull(mech, w);
  if (!rows)
    clearFull(mech, eu); /* motions that depend on parameters have sensitivities of their own */
  flag = projectVector(work, CP_POSITIONS, t, y, ewt, tangentOfLevel, w, rows, NULL);
  if (!flag && (flag = cpMechKinematics(mech, y, CP_N, w, e))) flag = failed(work, flag);
  if (!flag && coupled && cpMechLevelIsOn(work, CP_VELOCITIES))
    flag = velocityAlong(work, t, y, e, r = cpMechOwn(work)->r);
  for (int k = 0; !flag && r && rows && k < mech->space->level[CP_VELOCITIES].nrows; k++)
    r[k] += rows[mech->space->level[CP_POSITIONS].nrows + k];
  if (!flag) flag = projectVector(work, CP_VELOCITIES, t, y, ewt, tangentOfLevel, eu, r, NULL);
  if (!flag) memcpy(v, e, (size_t)mech->n * sizeof *e);
  return flag;
}

int cpMechTangent(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v, N_Vector r) {
  const CPWork work = self;
  return tangent(work, t, y, ewt, v, 1, r ? N_VGetArrayPointer(r) : NULL);
}

int cpMechError(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v) {
  const CPWork work = self;
  return tangent(work, t, y, ewt, v, 0, NULL);
}

int cpMechCotangent(void *self, sunrealtype t, N_Vector yv, N_Vector ewt, N_Vector xv) {
  const CPWork work    = self;
  const CPMech mech    = work->P->model;
  const sunrealtype *y = N_VGetArrayPointer(yv);
  sunrealtype *out     = N_VGetArrayPointer(xv);
  int flag             = cpMechProjectionUpdate(work);
  if (flag) return flag;
  double *e = cpMechOwn(work)->e, *eu = e + mech->nq, *w = cpMechOwn(work)->w,
         *mu = cpMechOwn(work)->mu;
  memcpy(e, out, (size_t)mech->n * sizeof *e);
  flag = cpMechKinematics(mech, y, CP_N_TRANSPOSE, e, w);
  if (flag) return failed(work, flag);
  clearFull(mech, eu);
  flag = projectVector(work, CP_VELOCITIES, t, y, ewt, cotangentOfLevel, eu, NULL, mu);
  if (!flag && cpMechLevelIsOn(work, CP_VELOCITIES)) flag = subtractTransposed(work, t, y, mu, w);
  clearFull(mech, w);
  clearFull(mech, eu);
  if (!flag) flag = projectVector(work, CP_POSITIONS, t, y, ewt, cotangentOfLevel, w, NULL, NULL);
  clearFull(mech, w);
  if (!flag && (flag = cpMechKinematics(mech, y, CP_N_INVERSE_TRANSPOSE, w, e)))
    flag = failed(work, flag);
  if (!flag) memcpy(out, e, (size_t)mech->n * sizeof *e);
  return flag;
}

/* ---- the rows: positions, then velocities ---- */

N_Vector cpMechRowsVector(void *self) {
  const CPWork work = self;
  const CPMech mech = work->P->model;
  if (cpMechProjectionUpdate(work)) return NULL;
  const CPMechLevel *level = mech->space->level;
  return N_VNew_Serial(level[CP_POSITIONS].nrows + level[CP_VELOCITIES].nrows, mech->ctx);
}

int cpMechRowsAt(void *self, sunrealtype t, N_Vector yv, N_Vector cv) {
  const CPWork work    = self;
  const CPMech mech    = work->P->model;
  const sunrealtype *y = N_VGetArrayPointer(yv);
  sunrealtype *c       = N_VGetArrayPointer(cv);
  double *values       = cpMechOwn(work)->plus;
  int flag             = mech->nprescribed > 0 ? cpMechMotions(mech, t) : CP_SUCCESS;
  for (int which = 0; !flag && which < 2; which++) {
    const CPMechLevel *level = &mech->space->level[which];
    flag                     = which == CP_POSITIONS ? cpMechPositions(mech, t, y, values)
                                                     : cpMechVelocities(mech, t, y, y + mech->nq, values);
    for (int k = 0; k < level->nrows; k++)
      *c++ = mech->off[level->row[k]] ? 0.0 : values[level->row[k]];
  }
  return flag ? failed(work, flag) : CP_SUCCESS;
}
