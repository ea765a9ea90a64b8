/* Linear problems of one state with a choice of rows. */
#include "actions.h"

#include <math.h>
#include <string.h>

/* ---- life cycle ---- */

int cpActionOpen(CPAction *act, CPMech mech, sunrealtype t, N_Vector y, const char *function) {
  *act     = (CPAction){.mech = NULL};
  int flag = cpMechCheckState(mech, y, function);
  if (flag) return flag;
  if (mech->operators && !mech->model.Minv)
    return cpReport(&mech->log, CP_NOT_SUPPORTED, function,
                    "the operators lack M^{-1} x (Minv of the model)");
  act->mech   = mech;
  act->off    = mech->rows.off;
  act->rank   = mech->stats.rank;
  act->unique = mech->stats.unique;
  CP_ARRAYS(&act->arena, mech->nu, &act->w, &act->d, &act->f, &act->known, &act->s_cg, &act->dir);
  CP_ARRAYS(&act->arena, mech->m, &act->x, &act->r, &act->mu, &act->b, &act->p, &act->Ad, &act->rcg);
  CP_NEW(&act->arena, act->out, 2 * mech->m);
  if (!act->out) return cpReport(&mech->log, CP_MEM_FAIL, function, "out of memory");
  act->factored = act->out + mech->m;
  memset(act->out, 1, 2 * (size_t)mech->m);
  act->u = N_VGetArrayPointer(y) + mech->nq;
  flag   = cpMechRead(mech, t, N_VGetArrayPointer(y), &act->s);
  return flag ? cpMechReport(mech, flag, function) : CP_SUCCESS;
}

void cpActionClose(CPAction *act) {
  if (act->mech) {
    act->mech->rows.off     = act->off;
    act->mech->stats.rank   = act->rank;
    act->mech->stats.unique = act->unique;
  }
  cpArenaFree(&act->arena);
}

void cpActionRows(CPAction *act, int velocity_level) {
  const CPMech mech = act->mech;
  for (int i = 0; i < mech->m; i++)
    act->out[i] = (char)(act->off[i] || (velocity_level && !mech->rows.at_velocity[i]));
}

int cpActionFactor(CPAction *act) {
  if (act->mech->operators) return CP_SUCCESS;
  memcpy(act->factored, act->out, (size_t)act->mech->m);
  act->mech->rows.off = act->factored;
  return cpMechFactor(act->mech, act->s.t, act->s.q);
}

/* ---- products ---- */

int cpActionTimes(CPAction *act, const double *x, double *y) {
  const CPMech mech = act->mech;
  int flag          = CP_SUCCESS;
  if (mech->operators) flag = cpMechATimes(mech, act->s.t, act->s.q, x, y);
  else cpMatTimes(&mech->A, 1.0, x, 0.0, y);
  for (int i = 0; i < mech->m; i++)
    if (act->out[i]) y[i] = 0.0;
  return flag;
}

int cpActionTransposedTimes(CPAction *act, const double *x, double *y) {
  const CPMech mech = act->mech;
  for (int i = 0; i < mech->m; i++) act->b[i] = act->out[i] ? 0.0 : x[i];
  if (mech->operators) return cpMechATransposedTimes(mech, act->s.t, act->s.q, act->b, y);
  cpMatTransposedTimes(&mech->A, 1.0, act->b, 0.0, y);
  return CP_SUCCESS;
}

int cpActionMass(CPAction *act, const double *x, double *y) {
  const CPMech mech = act->mech;
  if (!mech->operators) {
    cpMatTimes(&mech->userM.A, 1.0, x, 0.0, y);
    return CP_SUCCESS;
  }
  if (!mech->model.Mu)
    return cpReason(mech->text, CP_NOT_SUPPORTED, "the operators lack M x (Mu of the model)");
  return cpMechOperator(mech, mech->model.Mu, "Mu", act->s.t, act->s.q, x, y, mech->nu);
}

int cpActionInverseMass(CPAction *act, const double *x, double *y) {
  const CPMech mech = act->mech;
  return cpMechOperator(mech, mech->model.Minv, "Minv", act->s.t, act->s.q, x, y, mech->nu);
}

/* ---- conjugate gradients in least-squares form (CGLS: Bjorck, Numerical Methods for Least Squares Problems, 1996,
 * 7.4). From mu = 0 on they minimise |r - A d| over d = M^{-1} A^T mu; where rows depend on each other, what
 * contradicts stays in r. ---- */

/* Reduction of the residual at which only roundoff is left. */
#define GOAL 1.0e-14
/* Least eigenvalue of A M^{-1} A^T, as part of the largest, that counts as one: below, r is orthogonal to the
 * range of A but for roundoff, and what remains of it contradicts. */
#define ZERO_EIGENVALUE 1.0e-14

/* y <- alpha x + beta y */
static void combine(double alpha, const double *x, double beta, double *y, int length) {
  for (int i = 0; i < length; i++) y[i] = alpha * x[i] + beta * y[i];
}

/* s = M^{-1} g, g = A^T r, gamma = g.s */
static int steepest(CPAction *act, const double *r, double *gamma) {
  int flag = cpActionTransposedTimes(act, r, act->f);
  if (!flag) flag = cpActionInverseMass(act, act->f, act->s_cg);
  if (flag) return flag;
  *gamma = cpDot(act->f, act->s_cg, act->mech->nu);
  if (*gamma >= 0.0) return CP_SUCCESS;
  return cpReason(act->mech->text, -CP_MASS_INDEFINITE,
                  "at t = %.15g: M^{-1} must be positive definite, and is not: x.M^{-1} x = %g",
                  act->s.t, *gamma);
}

int cpActionCG(CPAction *act, double *r, double *d, double *mu) {
  const int nu = act->mech->nu, m = act->mech->m;
  const double first = cpDot(r, r, m);
  double *dir = act->dir, *p = act->p, *Ad = act->Ad, *s = act->s_cg, gamma, next, largest = 0.0;
  memset(d, 0, (size_t)nu * sizeof *d);
  memset(mu, 0, (size_t)m * sizeof *mu);
  if (first == 0.0) return CP_SUCCESS;
  int flag = steepest(act, r, &gamma);
  memcpy(dir, s, (size_t)nu * sizeof *dir);
  memcpy(p, r, (size_t)m * sizeof *p);
  for (long int i = 0; !flag && i < 10L * m + 100; i++) { /* m without roundoff */
    const double rr = cpDot(r, r, m);
    largest         = fmax(largest, gamma / rr);
    if (rr <= GOAL * GOAL * first || gamma <= ZERO_EIGENVALUE * largest * rr) return CP_SUCCESS;
    flag = cpActionTimes(act, dir, Ad);
    if (flag) return flag;
    const double curvature = cpDot(Ad, Ad, m); /* |A dir|^2 */
    if (curvature <= ZERO_EIGENVALUE * largest * gamma) return CP_SUCCESS;
    largest            = fmax(largest, curvature / gamma);
    const double alpha = gamma / curvature;
    combine(alpha, dir, 1.0, d, nu); /* d += alpha dir                */
    combine(alpha, p, 1.0, mu, m);   /* mu += alpha p                 */
    combine(-alpha, Ad, 1.0, r, m);  /* r -= alpha A dir              */
    flag = steepest(act, r, &next);  /* s = M^-1 A^T r, gamma' = r.As */
    if (flag) return flag;
    combine(1.0, s, next / gamma, dir, nu); /* dir = s + gamma'/gamma dir    */
    combine(1.0, r, next / gamma, p, m);    /* p = r + gamma'/gamma p        */
    gamma = next;
  }
  if (flag) return flag;
  return cpReason(act->mech->text, -CP_PROJ_CONV_FAILURE,
                  "at t = %.15g: conjugate gradients on A M^{-1} A^T do not converge: are Au and "
                  "ATl each other's transpose (CPMechCheck)?",
                  act->s.t);
}

/* ---- solution ---- */

int cpActionSolve(CPAction *act, const double *f_given, const double *r_given, double *d,
                  double *mu) {
  const CPMech mech = act->mech;
  const int nu = mech->nu, m = mech->m;
  double *f = act->f, *b = act->b, *known = act->known;
  for (int j = 0; j < nu; j++) f[j] = f_given ? f_given[j] : 0.0;
  for (int i = 0; i < m; i++) b[i] = r_given ? r_given[i] : 0.0;
  if (mech->operators) { /* A M^-1 A^T mu = A M^-1 f - b, d = M^-1 f - M^-1 A^T mu */
    double *free_d = known, *r = act->rcg;
    int flag = cpActionInverseMass(act, f, free_d);
    if (!flag) flag = cpActionTimes(act, free_d, r);
    for (int i = 0; i < m; i++) r[i] -= act->out[i] ? 0.0 : b[i];
    if (!flag) flag = cpActionCG(act, r, d, mu);
    for (int j = 0; !flag && j < nu; j++) d[j] = free_d[j] - d[j];
    return flag;
  }
  /* Velocities of FULL motions are known: their columns go to the right, their rows are the identity's. */
  for (int j = 0; j < nu; j++) known[j] = mech->motions.is_full[j] ? d[j] : 0.0;
  if (mech->motions.nfull > 0) cpMechMoveKnown(mech, known, f, b);
  int flag = cpSaddleSolve(mech->kkt, f, b, d, mu);
  if (flag) return cpSaddleFailed(mech->kkt, flag, act->s.t, NULL, mech->text);
  flag = cpMechFinite(mech, act->s.t, "velocity", d, nu);
  return flag ? flag : cpMechFinite(mech, act->s.t, "impulse", mu, m);
}
