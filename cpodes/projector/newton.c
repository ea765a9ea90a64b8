/* Projection of a state: minimise 1/2 delta' D^-1 delta subject to c(t, y + delta) = 0, by
 * simplified Newton,
 *
 *   delta <- delta - K c(t, y + delta),   K = D G' (G D G')^+ and its factors kept.
 *
 * Since K c lies in range(D G'), the limit is the minimum's point up to the age of G (Eich 1993).
 */
#include "projector_impl.h"

#include <math.h>
#include <stdio.h>

/* Ratio of successive violations above which kept factors are renewed before the next
 * projection. */
#define RATE_RENEW 0.2
/* ... above which the iteration counts as diverging. */
#define RATE_DIVERGED 0.9
/* Distance from the manifold, in units of the tolerance, above which kept factors are not used:
 * they would move the state there along the normals of another state. */
#define KEEP_DISTANCE 10.0
/* Moves below this part of the tolerance show no curvature of c. */
#define NOISE_REACH 1.0e-2
/* Second difference, as part of the residual, that only noise makes at such distances. */
#define NOISE_PART 0.25

/* Residuals above eps that no correction reduces: are they noise? The terms of c may be larger
 * than G and y tell (states that are displacements). Then second differences of c along the next
 * correction x are as large as c; those of a smooth c vanish at such distances, also when G is
 * wrong. 1, 0, or a fatal code of c. */
static int isNoise(CPWork work, sunrealtype t) {
  const int m = work->P->m, n = work->P->n;
  const sunrealtype *y = N_VGetArrayPointer(work->y);
  const double *c = work->c, *c2 = work->c2;
  sunrealtype *trial = N_VGetArrayPointer(work->v);
  double *second = work->r, *largest = work->s;
  int flag = cpRightInverse(work, c, work->x);
  if (flag) return flag;
  for (int j = 0; j < n; j++)
    if (fabs(work->x[j]) * work->w[j] > NOISE_REACH) return 0;
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
    if (fabs(c[i]) > work->P->eps * work->size[i] && largest[i] < NOISE_PART * fabs(c[i])) return 0;
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
        "not the derivative of constraint %d (relative error %.1e)",
        t, row, col, cpGradientEntry(work, row, col), row, err);
  return cpReason(work->text, -CP_PROJ_CONV_FAILURE,
                  "at t = %.15g: the projection does not converge; %s", t, what);
}

/* The iteration ends at the roundoff of c, above eps. */
static int endAtFloor(CPWork work) {
  CP_COUNT(work, nfloor);
  work->floor_violation = work->violation;
  work->floor_worst     = work->worst;
  return CP_SUCCESS;
}

/* Corrections with the factors at hand, until the violation is at most eps. A bound on the last
 * correction as well would double the number of corrections and gains nothing (guide, "Defaults").
 * work->y: in, out; work->c, work->violation: in, c(t, y) and what it amounts to. Returns 0, a
 * code, or DIVERGED. */
#define DIVERGED 1
#define SLOW     2 /* contracting, but not within the number of corrections */

static int iterate(CPWork work, sunrealtype t) {
  CPProjector P   = work->P;
  sunrealtype *z  = N_VGetArrayPointer(work->y);
  const double *c = work->c;
  double previous = work->violation;
  int failure     = SLOW;
  work->rate      = 0.0;
  for (int k = 0; k < P->maxiters; k++) {
    int flag = cpRightInverse(work, c, work->x); /* x = K c */
    if (flag) return flag;
    for (int j = 0; j < P->n; j++) z[j] -= work->x[j];
    CP_COUNT(work, niters);
    flag = cpConstraint(work, t, work->y, work->c);
    if (flag) return flag;
    work->violation    = cpViolation(work, c, &work->worst);
    const double theta = previous > 0.0 ? work->violation / previous : 0.0;
    if (work->violation <= P->eps) return CP_SUCCESS;
    work->rate = fmax(work->rate, theta);
    if (cpAtRoundoffFloor(work, z, c, P->eps)) return endAtFloor(work);
    previous = work->violation;
    if (theta > RATE_DIVERGED) {
      failure = DIVERGED;
      break;
    }
  }
  const int noise = isNoise(work, t);
  if (noise > 0) return endAtFloor(work);
  return noise < 0 ? noise : failure;
}

/* New factors on the way, for a start too far away for those made there. */
#define MAX_RENEWALS 3

/* One attempt from the state y; fresh: with new factors. 0, a code, or DIVERGED. */
static int attempt(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, int fresh) {
  cpCopy(work->y, y);
  int flag = fresh ? cpFactor(work, t, y, ewt) : CP_SUCCESS;
  if (flag) return flag;
  work->violation = cpViolation(work, work->c, &work->worst_start);
  flag            = iterate(work, t);
  for (int k = 0; fresh && flag == SLOW && k < MAX_RENEWALS; k++) {
    flag = cpFactor(work, t, work->y, ewt);
    if (flag) break;
    work->violation = cpViolation(work, work->c, &work->worst);
    flag            = iterate(work, t);
  }
  return flag == SLOW ? DIVERGED : flag;
}

static int tooOld(CPWork work) {
  return !work->valid || work->stale || work->age >= work->P->jacfreq;
}

/* Does the violation of y, with c in work->c, call for no projection? It is measured with the sizes
 * at hand, which grow older with it. SATISFIED, 0, or a code. */
#define SATISFIED 1

static int isSatisfied(CPWork work, sunrealtype t, N_Vector y) {
  sunrealtype norm;
  const int flag = work->P->violation ? cpUserViolation(work, t, y, &norm) : CP_SUCCESS;
  if (flag) return flag;
  if (!work->P->violation) norm = cpViolation(work, work->c, &work->worst);
  work->violation = norm;
  return norm <= work->P->eps;
}

/* From y to work->y. */
static int projectFrom(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, int fresh) {
  int flag = attempt(work, t, y, ewt, fresh);
  if (flag > 0 && work->age > 0) { /* kept factors are no reason to give up */
    flag = cpConstraint(work, t, y, work->c);
    if (!flag) flag = attempt(work, t, y, ewt, 1);
  }
  return flag == DIVERGED ? explainFailure(work, t) : flag;
}

static int project(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, int only_if_needed,
                   int *moved) {
  int flag = cpWorkUpdate(work, t, y, ewt);
  if (!flag && cpNormsAlone(work)) return cpNormsProject(work, t, y, ewt, only_if_needed, moved);
  if (!flag) flag = cpConstraint(work, t, y, work->c);
  if (flag) return flag;

  int fresh = tooOld(work) || cpDistance(work, work->c) > KEEP_DISTANCE;
  if (only_if_needed) {
    if (fresh) flag = cpFactor(work, t, y, ewt);
    if (!flag) flag = isSatisfied(work, t, y);
    if (flag == SATISFIED) {
      work->age++;
      CP_COUNT(work, nskipped);
      return CP_SUCCESS;
    }
    fresh = 0;
  }
  if (!flag) flag = projectFrom(work, t, y, ewt, fresh);
  if (flag) return flag;
  work->age++;
  work->stale = work->rate > RATE_RENEW && work->age > 1;
  *moved      = 1;
  cpCopy(y, work->y);
  return CP_SUCCESS;
}

static int violation(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, sunrealtype *norm,
                     int *worst) {
  int flag = cpWorkUpdate(work, t, y, ewt);
  if (flag) return flag;
  if (work->P->violation) return cpUserViolation(work, t, y, norm);
  flag = cpConstraint(work, t, y, work->c);
  if (!flag) flag = cpFactor(work, t, y, ewt);
  if (flag == -CP_PROJ_RANK) flag = CP_SUCCESS; /* rows are measured all the same */
  if (flag) return flag;
  *norm                = cpViolation(work, work->c, worst);
  work->worst_residual = work->c[*worst];
  if (*norm > 1.0 && cpAtRoundoffFloor(work, N_VGetArrayPointer(y), work->c, 1.0)) *norm = 1.0;
  return CP_SUCCESS;
}

const CPMethod cpMatrixMethod = {.project   = project,
                                 .tangent   = cpMatrixTangent,
                                 .cotangent = cpMatrixCotangent,
                                 .violation = violation,
                                 .assemble  = cpMatrixAssemble,
                                 .probe     = cpMatrixProbe};
