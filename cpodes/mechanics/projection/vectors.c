/* Tangent and cotangent projections of a mechanical system, in the space of velocities. The
 * projection
 *
 *   w   <- P w,  w = N^+ e_q           P = I - K A,  K = W^-1 A^T (A W^-1 A^T)^+
 *   e_u <- P e_u - K V w               V = (dv/dq) N
 *
 * makes (N w, e_u) tangential to {p = 0, v = 0}. Its transpose takes the steps in reverse order,
 *
 *   x   <- P^T (N^T x_q - V^T K^T x_u),   x_u <- P^T x_u,   x_q = N^+^T x.
 *
 * If the vector is to satisfy equations with residuals r, w <- w - K (A w + r_p), and e_u likewise.
 * Components of FULL motions are 0 without r.
 *
 * Products with V are central differences of v, of sixth order; V^T takes nu of them.
 *
 * Projections of error estimates omit the term with V, which needs evaluations of v: with it, on
 * the ladders of bench/metrics.c, BDF takes 1.02 times as many steps in the mean (0.95 to 1.11),
 * with errors 0.8 times as large (0.09 to 2.8), a scatter as large as between tolerances. */
#include "cpodes/base/differences.h"
#include "cpodes/mechanics/kinematics.h"
#include "projection.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <string.h>

static void clearFull(const CPMech mech, double *eu) {
  for (int j = 0; mech->motions->nfull > 0 && j < mech->nu; j++)
    if (mech->motions->is_full[j]) eu[j] = 0.0;
}

/* Sets problem `which` to y, with factors for vectors: those that gave the state, if they still
 * exist. Returns NULL if the problem has no rows, or after a failure, whose code is *flag. */
static CPMechProblem *prepare(CPMechProjection *own, int which, sunrealtype t, const sunrealtype *y,
                              N_Vector ewt, int *flag) {
  CPMechProblem *p = &own->problem[which];
  if (*flag || p->nactive == 0) return NULL;
  CPNewton *newton = cpMechPlace(own, which, y);
  *flag            = cpNewtonPrepare(newton, t, p->x, ewt);
  return *flag ? NULL : p;
}

/* e <- e - K (A e + r + Vw). r: residuals of all rows, by their numbers; Vw [m]; both may be
 * NULL. */
static int projectVector(CPMechProblem *p, double *e, const double *r, const double *Vw) {
  CPMechProjection *own = p->own;
  const CPMech mech     = own->mech;
  const int *number     = mech->model->rows.number[p->which];
  int flag              = cpMechRowsTimes(p, e, own->r);
  for (int i = 0; i < mech->m; i++)
    if (!p->off[i]) own->r[i] += (r ? r[number[i]] : 0.0) + (Vw ? Vw[i] : 0.0);
  if (!flag && p->factors->saddle) flag = cpRowsLift(&p->factors->newton, own->r, own->correction);
  else if (!flag) flag = cpMechLift(p, own->r, own->correction, CP_CG_RTOL_OF_VECTOR);
  for (int j = 0; !flag && j < mech->nu; j++) e[j] -= own->correction[j];
  return flag;
}

/* ---- products with V = (dv/dq) N ---- */

/* v at positions along a direction */
typedef struct {
  CPMechProjection *own;
  sunrealtype t;
  const sunrealtype *y;
  const double *d;
} Along;

static int velocitiesAt(double e, double *v, void *data) {
  const Along *along    = data;
  CPMechProjection *own = along->own;
  const CPMech mech     = own->mech;
  for (int i = 0; i < mech->nq; i++) own->moved[i] = along->y[i] + e * along->d[i];
  const int flag = cpMechVelocities(mech, along->t, own->moved, along->y + mech->nq, v);
  for (int i = 0; i < mech->m; i++)
    if (own->problem[CP_VELOCITIES].off[i]) v[i] = 0.0;
  return flag ? cpMechFailed(own, flag) : CP_SUCCESS;
}

/* r [m] = dv/dq d. The step is a part of the size of positions, or of one radian if that is smaller. Rows of bodies in space are rational
 * functions of quaternions, of which 7! h^6 / 140 is left: with steps for other functions 4e-11, which no tolerance makes smaller. */
static int velocityAlong(CPMechProjection *own, sunrealtype t, const sunrealtype *y,
                         const double *d, double *r) {
  const CPMech mech = own->mech;
  const double size = cpLargest(d, mech->nq), largest = cpLargest(y, mech->nq);
  const double scale = largest > 0.0 ? fmin(1.0, largest) : 1.0;
  memset(r, 0, (size_t)mech->m * sizeof *r);
  if (!(size > 0.0)) return CP_SUCCESS;
  Along along = {own, t, y, d};
  return cpDifferentiate(velocitiesAt, &along, mech->m,
                         CP_SIXTH_ORDER_STEP / CP_FINER * scale / size,
                         cpLargest(y + mech->nq, mech->nu), r, own->room);
}

/* x [nu] -= V^T mu */
static int subtractTransposed(CPMechProjection *own, sunrealtype t, const sunrealtype *y,
                              const double *mu, double *x) {
  const CPMech mech = own->mech;
  for (int j = 0; j < mech->nu; j++) {
    int flag = cpMechFailed(own, cpMechColumn(mech, y, j, own->d));
    if (!flag) flag = velocityAlong(own, t, y, own->d, own->r3);
    if (flag) return flag;
    x[j] -= cpDot(own->r3, mu, mech->m);
  }
  return CP_SUCCESS;
}

/* ---- vectors of the state ---- */

/* Projects vv, with the term V w if coupled. r: residuals of all rows, 0 if NULL. */
static int tangent(CPMechProjection *own, sunrealtype t, N_Vector yv, N_Vector ewt, N_Vector vv,
                   int coupled, const double *r) {
  const CPMech mech    = own->mech;
  const sunrealtype *y = cpData(yv);
  sunrealtype *v       = cpData(vv);
  double *e = own->e, *eu = e + mech->nq, *w = own->w;
  memcpy(e, v, (size_t)mech->n * sizeof *e);
  int flag = cpMechFailed(own, cpMechKinematics(mech, y, CP_N_INVERSE, e, w)); /* w = N^+ e_q */
  if (!r) { /* With r, motions that depend on parameters have sensitivities of their own. */
    clearFull(mech, w);
    clearFull(mech, eu);
  }
  CPMechProblem *p = prepare(own, CP_POSITIONS, t, y, ewt, &flag);
  if (p) flag = projectVector(p, w, r, NULL); /* w <- P w - K r_p     */
  if (!flag)
    flag = cpMechFailed(own, cpMechKinematics(mech, y, CP_N, w, e)); /* e_q = N w            */
  p = prepare(own, CP_VELOCITIES, t, y, ewt, &flag);
  if (p && coupled) flag = velocityAlong(own, t, y, e, own->mu); /* V w                  */
  if (p && !flag)
    flag = projectVector(p, eu, r, coupled ? own->mu : NULL); /* P e_u - K (V w + r_v) */
  if (!flag) memcpy(v, e, (size_t)mech->n * sizeof *e);
  return flag;
}

int cpMechTangent(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v, N_Vector r) {
  return tangent(self, t, y, ewt, v, 1, r ? N_VGetArrayPointer(r) : NULL);
}

int cpMechError(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v) {
  return tangent(self, t, y, ewt, v, 0, NULL);
}

/* w <- P^T w = w - A^T mu, mu = K^T w */
static int projectCovector(CPMechProblem *p, double *w, double *mu) {
  const int flag = cpMechLiftTransposed(p, w, mu);
  return flag ? flag : cpMechSubtractRows(p, mu, w);
}

int cpMechCotangent(void *self, sunrealtype t, N_Vector yv, N_Vector ewt, N_Vector xv) {
  CPMechProjection *own = self;
  const CPMech mech     = own->mech;
  const sunrealtype *y  = N_VGetArrayPointer(yv);
  sunrealtype *x        = N_VGetArrayPointer(xv);
  double *e = own->e, *eu = e + mech->nq, *w = own->w;
  memcpy(e, x, (size_t)mech->n * sizeof *e);
  int flag =
      cpMechFailed(own, cpMechKinematics(mech, y, CP_N_TRANSPOSE, e, w)); /* w = N^T x_q           */
  clearFull(mech, eu);
  CPMechProblem *p = prepare(own, CP_VELOCITIES, t, y, ewt, &flag);
  if (p) flag = projectCovector(p, eu, own->mu);                    /* x_u <- P^T x_u        */
  if (p && !flag) flag = subtractTransposed(own, t, y, own->mu, w); /* w <- w - V^T K^T x_u  */
  clearFull(mech, w);
  clearFull(mech, eu);
  p = prepare(own, CP_POSITIONS, t, y, ewt, &flag);
  if (p) flag = projectCovector(p, w, own->mu); /* w <- P^T w            */
  clearFull(mech, w);
  if (!flag) flag = cpMechFailed(own, cpMechKinematics(mech, y, CP_N_INVERSE_TRANSPOSE, w, e));
  if (!flag) memcpy(x, e, (size_t)mech->n * sizeof *e);
  return flag;
}

/* ---- roundoff ---- */

static void addSquares(const CPMechProblem *p, const double *x, double *sum) {
  for (int j = 0; j < p->own->mech->nu; j++) *sum += x[j] * p->rows.w[j] * x[j] * p->rows.w[j];
}

/* x <- K r for roundoff r of the rows with the signs of K^T K r', r' random, a step of the power iteration
 * towards the r for which K r is largest */
static int lifted(CPMechProblem *p, double *x) {
  CPMechProjection *own = p->own;
  CPNewton *newton      = &p->factors->newton;
  cpRowsRoundoff(newton, p->x, NULL, own->r);
  int flag = cpMechLift(p, own->r, x, CP_CG_RTOL_OF_VECTOR);
  if (!flag) flag = cpMechLiftTransposed(p, x, own->r2);
  cpRowsRoundoff(newton, p->x, own->r2, own->r);
  return flag ? flag : cpMechLift(p, own->r, x, CP_CG_RTOL_OF_VECTOR);
}

/* The displacement K_p r of the positions, for the roundoff r of p, changes v at the same u. */
int cpMechRoundoff(void *self, sunrealtype t, N_Vector yv, N_Vector ewt, double *norm) {
  CPMechProjection *own = self;
  const CPMech mech     = own->mech;
  const sunrealtype *y = cpData(yv), *u = y + mech->nq;
  double *x = own->correction, *r = own->mu, *before = own->r3, sum = 0.0;
  int flag = CP_SUCCESS;
  if (mech->operators) return CP_SUCCESS;
  memset(r, 0, (size_t)mech->m * sizeof *r);
  CPMechProblem *p = prepare(own, CP_POSITIONS, t, y, ewt, &flag);
  if (p && !flag) flag = cpMechMeasureRows(p, ewt);
  if (p && !flag) flag = lifted(p, x);
  if (p && !flag) {
    addSquares(p, x, &sum);
    flag = cpMechFailed(own, cpMechMove(mech, y, x, own->moved));
    if (!flag) flag = cpMechFailed(own, cpMechVelocities(mech, t, y, u, before));
    if (!flag) flag = cpMechFailed(own, cpMechVelocities(mech, t, own->moved, u, r));
    for (int i = 0; !flag && i < mech->m; i++) r[i] -= before[i];
  }
  p = prepare(own, CP_VELOCITIES, t, y, ewt, &flag);
  if (p && !flag) flag = cpMechMeasureRows(p, ewt);
  if (p && !flag) flag = cpMechLift(p, r, x, CP_CG_RTOL_OF_VECTOR);
  if (p && !flag) addSquares(p, x, &sum);
  *norm = sqrt(sum / mech->n);
  return flag;
}

/* ---- the rows: positions, then velocities ---- */

N_Vector cpMechRowsVector(void *self) {
  CPMechProjection *own = self;
  if (cpMechFactorsUpdate(own)) return NULL;
  return N_VNew_Serial(own->mech->model->rows.count[CP_POSITIONS] +
                           own->mech->model->rows.count[CP_VELOCITIES],
                       own->mech->ctx);
}

int cpMechRowsAt(void *self, sunrealtype t, N_Vector yv, N_Vector cv) {
  CPMechProjection *own = self;
  const CPMech mech     = own->mech;
  const sunrealtype *y  = N_VGetArrayPointer(yv);
  int flag              = cpMechFactorsUpdate(own);
  for (int which = 0; !flag && which < 2; which++) {
    const int *number = mech->model->rows.number[which];
    flag              = cpMechFailed(own, which == CP_POSITIONS
                                              ? cpMechPositions(mech, t, y, own->r)
                                              : cpMechVelocities(mech, t, y, y + mech->nq, own->r));
    for (int i = 0; !flag && i < mech->m; i++)
      if (number[i] >= 0) N_VGetArrayPointer(cv)[number[i]] = mech->rows.off[i] ? 0.0 : own->r[i];
  }
  return flag;
}
