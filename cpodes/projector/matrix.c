/* The matrix method: residuals, G and its factors as arrays. */
#include "projector_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Residuals above eps that no correction reduces: are they noise? The terms of c may be larger
 * than G and y tell (states that are displacements). Then second differences of c along the next
 * correction x are as large as c; those of a smooth c vanish at such distances, also when G is
 * wrong. 1, 0, or a fatal code of c. */
static int isNoise(CPWork work, sunrealtype t, double eps) {
  const int m = work->P->m, n = work->P->n;
  const sunrealtype *y = N_VGetArrayPointer(work->y);
  const double *c = work->c, *c2 = work->c2;
  sunrealtype *trial = N_VGetArrayPointer(work->v);
  double *second = work->r, *largest = work->s;
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

/* Why the iteration did not converge. A Jacobian is compared with differences once. */
static int explainFailure(CPWork work, sunrealtype t) {
  const int i = work->worst;
  char name[CP_ROW_NAME], what[CP_TEXT_LENGTH / 4], others[CP_TEXT_LENGTH / 2];
  snprintf(what, sizeof what, "%s is violated by %.3e (%.3g times its tolerance, eps = %g)",
           cpRowName(work->P, i, name), work->c[i], work->violation, work->P->eps);
  if (work->rowscale[i] == 0.0)
    return cpReason(work->text, -CP_PROJ_INCONSISTENT,
                    "at t = %.15g: %s, and no free component can change it", t, what);
  if (cpContradiction(work, work->c, others, sizeof others))
    return cpReason(work->text, -CP_PROJ_INCONSISTENT, "at t = %.15g: %s, and %s", t, what, others);
  double err = 0.0;
  int row = -1, col = -1;
  if (!work->jac_is_right && !cpJacobianError(work, t, work->y, &err, &row, &col))
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

static int residuals(CPWork work, sunrealtype t, N_Vector y) {
  return cpConstraint(work, t, y, work->c);
}

static double measure(CPWork work, int *worst) { return cpViolation(work, work->c, worst); }

static double distance(CPWork work) { return cpDistance(work, work->c); }

static double residualOf(CPWork work, int i) { return work->c[i]; }

static int direction(CPWork work) { return cpRightInverse(work, work->c, work->x); }

static int correct(CPWork work) {
  sunrealtype *z = N_VGetArrayPointer(work->y);
  const int flag = direction(work);
  for (int j = 0; !flag && j < work->P->n; j++) z[j] -= work->x[j];
  return flag;
}

static int isAtFloor(CPWork work, double eps) {
  return cpAtRoundoffFloor(work, N_VGetArrayPointer(work->y), work->c, eps);
}

/* ---- parts of the damped iteration (assemble.c) ---- */

/* Sizes that stay positive: a row without gradient at the start may get one on the way. */
static void freeze(CPWork work) {
  double smallest = INFINITY;
  for (int i = 0; i < work->P->m; i++)
    if (work->size[i] > 0.0) smallest = fmin(smallest, work->size[i]);
  if (!isfinite(smallest)) smallest = 1.0;
  for (int i = 0; i < work->P->m; i++)
    work->frozen[i] = work->size[i] > 0.0 ? work->size[i] : smallest;
}

static double merit(CPWork work, int at_trial) {
  const double *c = at_trial ? work->c2 : work->c, *size = work->frozen;
  double phi = 0.0;
  for (int i = 0; i < work->P->m; i++) phi += (c[i] / size[i]) * (c[i] / size[i]);
  return phi;
}

static int trial(CPWork work, sunrealtype t, double lambda) {
  const sunrealtype *y = N_VGetArrayPointer(work->y);
  sunrealtype *z       = N_VGetArrayPointer(work->v);
  for (int j = 0; j < work->P->n; j++) z[j] = y[j] - lambda * work->x[j];
  return cpConstraint(work, t, work->v, work->c2);
}

static void accept(CPWork work) {
  cpCopy(work->y, work->v);
  memcpy(work->c, work->c2, (size_t)work->P->m * sizeof *work->c);
}

/* Violations that a message names. */
#define NAMED 3

static void nameViolated(CPWork work, char *text, size_t length) {
  const double *c = work->c, *size = work->frozen;
  int best[NAMED] = {-1, -1, -1};
  char name[CP_ROW_NAME];
  text[0] = '\0';
  for (int rank = 0; rank < NAMED; rank++) {
    double largest = 0.0;
    for (int i = 0; i < work->P->m; i++) {
      if (i == best[0] || i == best[1] || !(fabs(c[i]) / size[i] > largest)) continue;
      largest    = fabs(c[i]) / size[i];
      best[rank] = i;
    }
    if (best[rank] < 0) return; /* all others are satisfied */
    const size_t used = strlen(text);
    snprintf(text + used, length - used, "%s%s (%.3e)", rank ? ", " : "",
             cpRowName(work->P, best[rank], name), c[best[rank]]);
  }
}

/* ---- the actions ---- */

static int project(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, int only_if_needed,
                   int *moved) {
  const int flag = cpWorkUpdate(work, t, y, ewt);
  if (flag) return flag;
  return cpNormsAlone(work) ? cpNormsProject(work, t, y, ewt, only_if_needed, moved)
                            : cpNewtonProject(work, t, y, ewt, only_if_needed, moved);
}

static int tangent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v, N_Vector r) {
  sunrealtype *vd       = N_VGetArrayPointer(v);
  const sunrealtype *rd = r ? N_VGetArrayPointer(r) : NULL;
  int flag              = cpNewtonPrepare(work, t, y, ewt);
  if (flag) return flag;
  cpGradientTimes(work, vd, work->r);
  for (int i = 0; rd && i < work->P->mc; i++) work->r[i] += rd[i];
  flag = cpRightInverse(work, work->r, work->x);
  for (int j = 0; !flag && j < work->P->n; j++) vd[j] -= work->x[j];
  return flag;
}

static int cotangent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector w) {
  sunrealtype *wd = N_VGetArrayPointer(w);
  int flag        = cpNewtonPrepare(work, t, y, ewt);
  if (!flag) flag = cpRightInverseTransposed(work, wd, work->r); /* mu = K' w    */
  if (!flag) cpGradientTransposedTimes(work, work->r, wd);       /* w  - G' mu   */
  return flag;
}

const CPMethod cpMatrixMethod = {.project       = project,
                                 .tangent       = tangent,
                                 .cotangent     = cotangent,
                                 .violation     = cpNewtonViolation,
                                 .assemble      = cpGaussNewton,
                                 .probe         = cpMatrixProbe,
                                 .update        = cpWorkUpdate,
                                 .residuals     = residuals,
                                 .renew         = cpFactor,
                                 .measure       = measure,
                                 .distance      = distance,
                                 .residual_of   = residualOf,
                                 .correct       = correct,
                                 .lift          = cpRightInverse,
                                 .lift_t        = cpRightInverseTransposed,
                                 .is_at_floor   = isAtFloor,
                                 .is_noise      = isNoise,
                                 .explain       = explainFailure,
                                 .freeze        = freeze,
                                 .merit         = merit,
                                 .direction     = direction,
                                 .trial         = trial,
                                 .accept        = accept,
                                 .name_violated = nameViolated};
