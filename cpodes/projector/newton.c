/* Projection of a state: minimise 1/2 delta' D^-1 delta subject to c(t, y + delta) = 0, by
 * simplified Newton,
 *
 *   delta <- delta - K c(t, y + delta),   K = D G' (G D G')^+ and its factors (or products) kept.
 *
 * Since K c lies in range(D G'), the limit is the minimum's point up to the age of G (Eich 1993).
 * What residuals, corrections and renewals are is the method's (matrix.c, krylov.c).
 */
#include "projector_impl.h"

#include <math.h>

/* Ratio of successive violations above which kept factors are renewed before the next
 * projection. */
#define RATE_RENEW 0.2
/* ... above which the iteration counts as diverging. */
#define RATE_DIVERGED 0.9
/* Distance from the manifold, in units of the tolerance, above which kept factors are not used:
 * they would move the state there along the normals of another state. */
#define KEEP_DISTANCE 10.0
/* New factors on the way, for a start too far away for those made there. */
#define MAX_RENEWALS 3

/* The iteration ends at the roundoff of c. That is told if it is above what the user asks for; next to a singular position
 * more is tried than that. */
static int endAtFloor(CPWork work) {
  if (work->violation <= work->P->eps) return CP_SUCCESS;
  CP_COUNT(work, nfloor);
  work->floor = (CPFloor){1, work->violation, work->worst};
  return CP_SUCCESS;
}

/* work->y <- work->y - K c, and what is left there. */
static int correct(CPWork work, const CPMethod *method, sunrealtype t) {
  int flag = method->correct(work);
  if (flag) return flag;
  CP_COUNT(work, niters);
  flag = method->residuals(work, t, work->y);
  if (!flag) work->violation = method->measure(work, &work->worst);
  return flag;
}

/* Residuals of eps leave positions within eps over the sine of the narrowest angle between constraints, and velocities,
 * whose constraints turn with the positions, within eps over its square: near a singular position that is far, along
 * a direction in which the state would go on. A sine from here on counts as that of a narrow angle; where the goal
 * cannot be reached, eps will do. */
#define NARROW 0.3

static double goal(const CPWork work) {
  const double part = fmin(1.0, cpWorkSine(work) / NARROW);
  return work->P->eps * part * part;
}

/* Corrections with the factors at hand, until the violation is at most eps. A bound on the last
 * correction as well would double the number of corrections and gains nothing (guide, "Defaults").
 * work->y: in, out; its residuals and work->violation, what they amount to: in, out. Returns 0, a
 * code, or DIVERGED. */
#define DIVERGED 1
#define SLOW     2 /* contracting, but not within the number of corrections */

static int iterate(CPWork work, const CPMethod *method, sunrealtype t) {
  const double eps = goal(work);
  int failure      = SLOW;
  work->rate       = 0.0;
  for (int k = 0; k < work->P->maxiters && failure == SLOW; k++) {
    const double previous = work->violation;
    const int flag        = correct(work, method, t);
    if (flag) return flag;
    const double theta = previous > 0.0 ? work->violation / previous : 0.0;
    if (work->violation <= eps) return CP_SUCCESS;
    work->rate = fmax(work->rate, theta);
    if (method->is_at_floor && method->is_at_floor(work, eps)) return endAtFloor(work);
    if (theta > RATE_DIVERGED) failure = DIVERGED;
  }
  const int noise = method->is_noise(work, t, eps);
  if (noise > 0) return endAtFloor(work);
  return noise < 0 ? noise : failure;
}

/* One attempt from the state y, whose residuals are known; here: the factors were made there. 0, a
 * code, or DIVERGED. */
static int attempt(CPWork work, const CPMethod *method, sunrealtype t, N_Vector y, N_Vector ewt,
                   int here) {
  cpCopy(work->y, y);
  work->violation = method->measure(work, &work->worst_start);
  int flag        = iterate(work, method, t);
  for (int k = 0; here && flag == SLOW && k < MAX_RENEWALS; k++) {
    flag = method->renew(work, t, work->y, ewt);
    if (flag) break;
    work->violation = method->measure(work, &work->worst);
    flag            = iterate(work, method, t);
  }
  return flag == SLOW ? DIVERGED : flag;
}

/* From y to work->y. */
static int projectFrom(CPWork work, const CPMethod *method, sunrealtype t, N_Vector y, N_Vector ewt,
                       int here) {
  int flag = attempt(work, method, t, y, ewt, here);
  if (flag > 0 && !here) { /* factors of another state are no reason to give up */
    flag = method->residuals(work, t, y);
    if (!flag) flag = method->renew(work, t, y, ewt);
    if (!flag) flag = attempt(work, method, t, y, ewt, 1);
  }
  if (flag == DIVERGED && work->violation <= work->P->eps) return CP_SUCCESS;
  return flag == DIVERGED ? method->explain(work, t) : flag;
}

static int needsNew(CPWork work, const CPMethod *method) {
  if (!work->valid || work->stale || work->age >= work->P->jacfreq) return 1;
  return method->distance(work) > KEEP_DISTANCE;
}

/* Does the violation of y, whose residuals are known, call for no projection? It is measured with
 * the sizes at hand, which grow older with it. SATISFIED, 0, or a code. */
#define SATISFIED 1

static int isSatisfied(CPWork work, const CPMethod *method, sunrealtype t, N_Vector y) {
  sunrealtype norm;
  const int flag = work->P->violation ? cpUserViolation(work, t, y, &norm) : CP_SUCCESS;
  if (flag) return flag;
  if (!work->P->violation) norm = method->measure(work, &work->worst);
  work->violation = norm;
  return norm <= work->P->eps;
}

int cpNewtonProject(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, int only_if_needed,
                    int *moved) {
  const CPMethod *method = cpMethodOf(work->P);
  int flag               = method->update(work, t, y, ewt);
  if (!flag) flag = method->residuals(work, t, y);
  if (flag) return flag;

  const int here = needsNew(work, method);
  if (here) flag = method->renew(work, t, y, ewt);
  if (!flag && only_if_needed) {
    flag = isSatisfied(work, method, t, y);
    if (flag == SATISFIED) {
      work->age++;
      CP_COUNT(work, nskipped);
      return CP_SUCCESS;
    }
  }
  if (!flag) flag = projectFrom(work, method, t, y, ewt, here);
  if (flag) return flag;
  work->age++;
  work->stale = work->rate > RATE_RENEW && work->age > 1;
  *moved      = 1;
  cpCopy(y, work->y);
  return CP_SUCCESS;
}

/* Is the violation of work->y, above 1, nothing but noise? */
static int isNoise(CPWork work, const CPMethod *method, sunrealtype t) {
  return method->is_at_floor ? method->is_at_floor(work, 1.0) : method->is_noise(work, t, 1.0);
}

int cpNewtonViolation(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, CPViolation *violation) {
  const CPMethod *method = cpMethodOf(work->P);
  int flag               = method->update(work, t, y, ewt);
  if (flag) return flag;
  if (work->P->violation) return cpUserViolation(work, t, y, &violation->norm);
  flag = method->residuals(work, t, y);
  if (!flag) flag = method->renew(work, t, y, ewt);
  if (flag == -CP_PROJ_RANK) flag = CP_SUCCESS; /* rows are measured all the same */
  if (flag) return flag;
  violation->norm     = method->measure(work, &violation->worst);
  violation->residual = method->residual_of(work, violation->worst);
  if (!(violation->norm > 1.0)) return CP_SUCCESS;
  cpCopy(work->y, y);
  const int noise = isNoise(work, method, t);
  if (noise > 0) violation->norm = 1.0;
  return noise < 0 ? noise : CP_SUCCESS;
}

int cpNewtonPrepare(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  const CPMethod *method = cpMethodOf(work->P);
  int flag               = method->update(work, t, y, ewt);
  if (flag || (work->valid && !work->stale && work->age <= work->P->jacfreq)) return flag;
  flag = method->residuals(work, t, y);
  return flag ? flag : method->renew(work, t, y, ewt);
}
