/* The matrix method: residuals, G and its factors as arrays. */
#include "projector_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the parts of Newton's iteration ---- */

static int residuals(void *self, sunrealtype t, N_Vector y) {
  CPWork work = self;
  return cpConstraint(work, t, y, work->c);
}

/* Sizes for the damped iteration stay positive: a row without gradient at the start may get one on the way. */
static void keepSizes(CPWork work) {
  double smallest = INFINITY;
  for (int i = 0; i < work->P->m; i++)
    if (work->size[i] > 0.0) smallest = fmin(smallest, work->size[i]);
  if (!isfinite(smallest)) smallest = 1.0;
  for (int i = 0; i < work->P->m; i++)
    work->frozen[i] = work->size[i] > 0.0 ? work->size[i] : smallest;
}

static int renew(void *self, sunrealtype t, N_Vector y, N_Vector ewt, int damped, CPRank *rank) {
  CPWork work      = self;
  work->assembling = damped > 0;
  const int flag   = cpFactor(work, t, y, ewt);
  if (damped == 1) keepSizes(work);
  if (flag) return flag; /* the rank stays that of the newest factorisation that there was */
  *rank = (CPRank){cpWorkRank(work), work->P->ndependent, 1.0};
  for (int l = 0; l < work->nlevels; l++)
    if (work->levels[l].saddle && work->levels[l].saddle->rank > 0)
      rank->sine = fmin(rank->sine, work->levels[l].saddle->sine);
  return CP_SUCCESS;
}

static double measure(void *self, int *worst, double *residual) {
  CPWork work            = self;
  const double violation = cpViolation(work, work->c, worst);
  if (residual) *residual = work->c[*worst];
  return violation;
}

static double distance(void *self) { return cpDistance(self, ((CPWork)self)->c); }

static int direction(void *self, N_Vector x) {
  return cpRightInverse(self, ((CPWork)self)->c, N_VGetArrayPointer(x));
}

static double merit(void *self) {
  const CPWork work = self;
  double phi        = 0.0;
  for (int i = 0; i < work->P->m; i++)
    phi += (work->c[i] / work->frozen[i]) * (work->c[i] / work->frozen[i]);
  return phi;
}

/* Residuals above eps that no correction reduces: are they noise? The terms of c may be larger
 * than G and y tell (states that are displacements). Then second differences of c along the next
 * correction x are as large as c; those of a smooth c vanish at such distances, also when G is
 * wrong. */
static int isNoise(void *self, sunrealtype t, N_Vector yv, double eps, int thorough) {
  CPWork work = self;
  const int m = work->P->m, n = work->P->n;
  const sunrealtype *y = N_VGetArrayPointer(yv);
  const double *c = work->c, *c2 = work->c2;
  sunrealtype *trial = N_VGetArrayPointer(work->v);
  double *second = work->r, *largest = work->s;
  if (cpAtRoundoffFloor(work, y, c, eps)) return 1;
  if (!thorough) return 0;
  int flag = cpRightInverse(work, c, work->x);
  if (flag) return flag;
  for (int j = 0; j < n; j++)
    if (fabs(work->x[j]) * work->w[j] > CP_NOISE_REACH) return 0;
  for (int i = 0; i < m; i++) largest[i] = 0.0;
  for (int multiple = 1; multiple <= 4; multiple *= 2) {
    for (int i = 0; i < m; i++) second[i] = -2.0 * c[i];
    for (int sign = -1; sign <= 1; sign += 2) {
      for (int j = 0; j < n; j++) trial[j] = y[j] + sign * multiple * work->x[j];
      flag = cpConstraint(work, t, work->v, work->c2);
      if (flag) return flag < 0 ? flag : 0;
      for (int i = 0; i < m; i++) second[i] += c2[i];
    }
    for (int i = 0; i < m; i++) largest[i] = fmax(largest[i], fabs(second[i]));
  }
  for (int i = 0; i < m; i++)
    if (fabs(c[i]) > eps * work->size[i] && largest[i] < CP_NOISE_PART * fabs(c[i]) &&
        !cpIsLeftAlone(work, c, i))
      return 0;
  return 1;
}

/* Violations that a message names. */
#define NAMED 3

static int explainDamped(CPWork work, sunrealtype t) {
  const double *c = work->c, *size = work->frozen;
  int best[NAMED] = {-1, -1, -1};
  char name[CP_ROW_NAME], text[CP_TEXT_LENGTH / 2] = "";
  for (int rank = 0; rank < NAMED; rank++) {
    double largest = 0.0;
    for (int i = 0; i < work->P->m; i++) {
      if (i == best[0] || i == best[1] || !(fabs(c[i]) / size[i] > largest)) continue;
      largest    = fabs(c[i]) / size[i];
      best[rank] = i;
    }
    if (best[rank] < 0) break; /* all others are satisfied */
    const size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, "%s%s (%.3e)", rank ? ", " : "",
             cpRowName(work->P, best[rank], name), c[best[rank]]);
  }
  return cpReason(work->text, CP_IC_FAIL,
                  "at t = %.15g: no consistent state found near the one given; violated most: %s",
                  t, text);
}

/* A Jacobian is compared with differences once. */
static int explain(void *self, sunrealtype t, N_Vector y, int damped) {
  CPWork work = self;
  const int i = work->newton.worst;
  char name[CP_ROW_NAME], what[CP_TEXT_LENGTH / 4], others[CP_TEXT_LENGTH / 2];
  if (damped) return explainDamped(work, t);
  snprintf(what, sizeof what, "%s is violated by %.3e (%.3g times its tolerance, eps = %g)",
           cpRowName(work->P, i, name), work->c[i], work->newton.violation, work->P->eps);
  if (work->rowscale[i] == 0.0)
    return cpReason(work->text, -CP_PROJ_INCONSISTENT,
                    "at t = %.15g: %s, and no free component can change it", t, what);
  if (cpContradiction(work, work->c, others, sizeof others))
    return cpReason(work->text, -CP_PROJ_INCONSISTENT, "at t = %.15g: %s, and %s", t, what, others);
  double err = 0.0;
  int row = -1, col = -1;
  if (!work->jac_is_right && !cpJacobianError(work, t, y, &err, &row, &col))
    work->jac_is_right = err <= CP_WRONG_JACOBIAN;
  if (err > CP_WRONG_JACOBIAN)
    return cpReason(
        work->text, -CP_CNSTRJAC_WRONG,
        "at t = %.15g: no convergence, and entry (%d, %d) of the constraint Jacobian, %g, is "
        "not the derivative of %s (relative error %.1e)",
        t, row, col, cpGradientEntry(work, row, col), cpRowName(work->P, row, name), err);
  return cpReason(work->text, -CP_PROJ_CONV_FAILURE,
                  "at t = %.15g: the projection does not converge; %s", t, what);
}

static const CPNewtonParts parts = {residuals, renew, measure, distance,
                                    direction, merit, isNoise, explain};

/* ---- the actions ---- */

static int update(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  work->newton.parts = &parts;
  return cpWorkUpdate(work, t, y, ewt);
}

static int project(void *self, sunrealtype t, N_Vector y, N_Vector ewt, int only_if_needed,
                   CPProjected *result) {
  CPWork work    = self;
  const int flag = update(work, t, y, ewt);
  if (flag) return flag;
  return cpNormsAlone(work) ? cpNormsProject(work, t, y, ewt, only_if_needed, result)
                            : cpNewtonProject(&work->newton, t, y, ewt, only_if_needed, result);
}

static int assemble(void *self, sunrealtype t, N_Vector y, N_Vector ewt) {
  CPWork work    = self;
  const int flag = update(work, t, y, ewt);
  return flag ? flag : cpNewtonDamped(&work->newton, t, y, ewt);
}

static int violation(void *self, sunrealtype t, N_Vector y, N_Vector ewt, CPViolation *result) {
  CPWork work    = self;
  const int flag = update(work, t, y, ewt);
  return flag ? flag : cpNewtonViolation(&work->newton, t, y, ewt, result);
}

static int tangent(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v, N_Vector r) {
  CPWork work           = self;
  sunrealtype *vd       = N_VGetArrayPointer(v);
  const sunrealtype *rd = r ? N_VGetArrayPointer(r) : NULL;
  int flag              = update(work, t, y, ewt);
  if (!flag) flag = cpNewtonPrepare(&work->newton, t, y, ewt);
  if (flag) return flag;
  cpGradientTimes(work, vd, work->r);
  for (int i = 0; rd && i < work->P->mc; i++) work->r[i] += rd[i];
  flag = cpRightInverse(work, work->r, work->x);
  for (int j = 0; !flag && j < work->P->n; j++) vd[j] -= work->x[j];
  return flag;
}

static int cotangent(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector w) {
  CPWork work     = self;
  sunrealtype *wd = N_VGetArrayPointer(w);
  int flag        = update(work, t, y, ewt);
  if (!flag) flag = cpNewtonPrepare(&work->newton, t, y, ewt);
  if (!flag) flag = cpRightInverseTransposed(work, wd, work->r); /* mu = K' w    */
  if (!flag) cpGradientTransposedTimes(work, work->r, wd);       /* w  - G' mu   */
  return flag;
}

int cpOwnIteration(void *self, CPNewton *list[2]) {
  list[0] = &((CPWork)self)->newton;
  return 1;
}

const CPProjectorKind cpMatrixKind = {.project    = project,
                                      .assemble   = assemble,
                                      .tangent    = tangent,
                                      .cotangent  = cotangent,
                                      .violation  = violation,
                                      .probe      = cpMatrixProbe,
                                      .iterations = cpOwnIteration};
