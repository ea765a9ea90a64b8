/* Projection of a state: minimise 1/2 delta^T D^-1 delta subject to c(t, y + delta) = 0, by
 * simplified Newton,
 *
 *   delta <- delta - K c(t, y + delta),   K = D G^T (G D G^T)^+ with kept factors (or products).
 *
 * Since K c lies in range(D G^T), the limit is the minimiser, up to the error of a stale G (Eich
 * 1993). From a poor guess the iteration is damped (Gauss-Newton),
 *
 *   y <- y - lambda K(y) c(t, y),   lambda in {1, 1/2, 1/4, ...}
 *
 * with the first lambda that gives phi = sum (c_i / size_i)^2 a sufficient decrease (Armijo), and a
 * new G in each iteration; the sizes are those of the first iteration, so that phi is one function
 * throughout. */
#include "newton.h"

#include "cpodes/base/vectors.h"

#include <math.h>

/* Ratio of successive violations above which factors are renewed: those of an earlier projection before the next
 * one. If the normals have turned by an angle, the ratio is 1 - cos(angle): 0.2 for 37 degrees. */
#define SLOW 0.2
/* Corrections that factors of an earlier projection are worth: they are renewed as soon as the rate shows
 * that more would be needed (guide, "Age of the Jacobian"). */
#define MOST_KEPT 4
/* Distance from the manifold, in units of the tolerance, above which kept factors are not used:
 * they would move the state along the normals of another state. */
#define KEEP_DISTANCE 10.0
/* Number of projections after which factors are renewed although they converge: until then the sizes
 * of the constraints, the metric and the tangents are those of the error weights and of G at an
 * earlier state. Without a limit 0.4 of the evaluations of G remain, and violations are above eps by
 * more than half where weights change (test/reference/violation.c). */
#define MOST_PROJECTIONS 10

void cpNewtonInit(CPNewton *newton, CPArena *arena, const CPNewtonParts *parts, void *self,
                  CPWork work, N_Vector tmpl) {
  *newton              = (CPNewton){.parts = parts, .self = self, .work = work, .uses = 1};
  newton->rank         = (CPRank){.rank = -1, .sine = 1.0};
  newton->bound_factor = 1.0;
  if (tmpl) cpNewtonVectors(newton, arena, tmpl);
}

void cpNewtonVectors(CPNewton *newton, CPArena *arena, N_Vector tmpl) {
  CP_VECTORS(arena, tmpl, &newton->y, &newton->x, &newton->trial, &newton->near);
}

void cpNewtonForget(CPNewton *newton) { newton->valid = 0; }

void cpNewtonReset(CPNewton *newton) {
  newton->valid        = 0;
  newton->highest_rank = 0;
}

/* Fixes the sizes of the damped iteration. They must be positive, because a row without a gradient
 * at the start may get one during the iteration. */
static void freeze(CPRows *rows) {
  double smallest = INFINITY;
  for (int i = 0; i < rows->m; i++)
    if (rows->size[i] > 0.0) smallest = fmin(smallest, rows->size[i]);
  if (!isfinite(smallest)) smallest = 1.0;
  for (int i = 0; i < rows->m; i++)
    rows->frozen[i] = rows->size[i] > 0.0 ? rows->size[i] : smallest;
}

static int renew(CPNewton *newton, sunrealtype t, N_Vector y, N_Vector ewt, int damped) {
  CPRank rank    = newton->rank;
  newton->valid  = 0;
  const int flag = newton->parts->renew(newton, t, y, ewt, damped, &rank);
  if (flag) return flag;
  newton->rank     = rank;
  newton->valid    = 1;
  newton->accepted = 0;
  newton->age      = 0;
  newton->made++;
  if (damped == 1 && newton->rows) freeze(newton->rows);
  return CP_SUCCESS;
}

/* Residuals of eps leave position errors up to eps over the sine of the narrowest angle between
 * constraints, and velocity errors, whose constraints turn with the positions, up to eps over its
 * square: near a singular position these are large, in a direction along which the state could
 * continue. The bound is therefore reduced if the sine is below NARROW; where it cannot be reached,
 * eps is enough. */
#define NARROW 0.3

static double boundOf(const CPNewton *newton, double eps) {
  const double part = fmin(newton->rank.sine / NARROW, 1.0);
  return eps * newton->bound_factor * part * part;
}

/* y <- y - K c(t, y) with the present factors, then evaluates c and its norm at the new y. */
static int correct(CPNewton *newton, sunrealtype t, double *violation) {
  int flag = newton->parts->direction(newton, newton->x);
  if (flag) return flag;
  cpLinearSum(1.0, newton->y, -1.0, newton->x, newton->y);
  CP_COUNT(newton->work, niters);
  flag = newton->parts->residuals(newton, t, newton->y);
  if (!flag) *violation = newton->parts->measure(newton, &newton->worst, NULL);
  return flag;
}

/* An additional bound on the last correction would double the number of corrections without gain
 * (bench/defaults.rst). */
int cpNewtonProject(CPNewton *newton, sunrealtype t, N_Vector y, N_Vector ewt, int only_if_needed,
                    CPProjected *result) {
  const CPNewtonParts *parts        = newton->parts;
  const CPProjectorOptions *options = cpWorkOptions(newton->work);

  result->moved = 0;
  int flag      = parts->residuals(newton, t, y); /* c = c(t, y) */
  if (flag) return flag;
  int nrenewed = !newton->valid || newton->age >= MOST_PROJECTIONS * newton->uses ||
                 parts->distance(newton) > KEEP_DISTANCE;
  if (nrenewed && (flag = renew(newton, t, y, ewt, 0))) return flag;
  double violation = newton->violation = parts->measure(newton, &newton->worst_start, NULL);
  *result = (CPProjected){.violation = violation, .worst_start = newton->worst_start};
  newton->age++;
  if (only_if_needed && violation <= options->eps) {
    CP_COUNT(newton->work, nskipped);
    return CP_SUCCESS;
  }

  /* Next to a singular position, at a distance of the order of the sine, corrections of the roundoff u would move the state by u / sine,
   * and off the branch of its motion where that is no small part of the distance: 1e-3 of it at the sine 1e-6. */
  if (newton->rank.sine < CP_INEXACT && violation <= options->eps &&
      parts->is_noise(newton, t, y, 0.0, 0)) {
    CP_COUNT(newton->work, nskipped);
    return CP_SUCCESS;
  }

  double slowest = 0.0; /* ratio with factors of an earlier projection */
  cpCopy(newton->y, y);
  for (;;) { /* with the present factors */
    const double bound = boundOf(newton, options->eps);
    double ratio       = 0.0;
    int noise          = 0;
    for (int left = MOST_KEPT - 1; !noise; left--) {
      const double previous = violation;
      flag                  = correct(newton, t, &violation);
      if (flag || violation <= bound) break;
      ratio = previous > 0.0 ? violation / previous : 0.0;
      if (nrenewed == 0) slowest = fmax(slowest, ratio);
      noise = parts->is_noise(newton, t, newton->y, bound, 0);
      /* Also if the violation has overflowed, or is NaN */
      if (!(nrenewed > 0 ? ratio <= SLOW : left > 0 && violation * pow(ratio, left) <= bound))
        break;
    }
    newton->violation = violation;
    if (!flag && violation <= bound) break;
    /* With factors of another state they may be the cause, and new ones cost less than this. */
    if (!flag && !noise && nrenewed > 0) noise = parts->is_noise(newton, t, newton->y, bound, 1);
    if (flag < 0 || noise < 0) return flag < 0 ? flag : noise;
    if (noise && violation > options->eps) {
      CP_COUNT(newton->work, nfloor);
      newton->floor = (CPFloor){1, violation, newton->worst};
    }
    if (noise) break;
    if (nrenewed == 0) { /* factors of another state may be the cause */
      cpCopy(newton->y, y);
      flag = parts->residuals(newton, t, y);
    } else if (flag || !(ratio < 1.0) || nrenewed > CP_MOST_ATTEMPTS) {
      if (!flag && violation <= options->eps) break;
      return flag ? flag : parts->explain(newton, t, newton->y, 0);
    }
    if (flag || (flag = renew(newton, t, newton->y, ewt, 0))) return flag;
    violation = parts->measure(newton, &newton->worst, NULL);
    if (nrenewed++ == 0) newton->worst_start = newton->worst;
    newton->age++;
  }

  if (nrenewed == 0 && slowest > SLOW) newton->age = MOST_PROJECTIONS * newton->uses + 1;
  *result = (CPProjected){1, violation, newton->worst_start, 0};
  cpCopy(y, newton->y);
  return CP_SUCCESS;
}

/* The required decrease of phi as a fraction of that of its linear model (J. Nocedal, S. J. Wright, Numerical
 * Optimization, 2nd ed., section 3.1) */
#define DECREASE 1.0e-4

int cpNewtonDamped(CPNewton *newton, sunrealtype t, N_Vector y, N_Vector ewt) {
  const CPNewtonParts *parts = newton->parts;
  int noise = 0, stalled = 0;

  cpCopy(newton->y, y);
  int flag = parts->residuals(newton, t, y);
  for (int k = 1; !flag; k++) {
    flag = renew(newton, t, newton->y, ewt, k);
    if (flag) break;
    newton->violation = parts->measure(newton, &newton->worst, NULL);
    if (newton->violation <= 1.0) break; /* Newton's iteration does the rest */
    noise = parts->is_noise(newton, t, newton->y, 1.0, stalled || k > CP_MOST_ITERATIONS);
    if (noise < 0) flag = noise;
    else if (!noise && (stalled || k > CP_MOST_ITERATIONS))
      flag = parts->explain(newton, t, newton->y, 1);
    if (noise || flag) break;

    const double phi = parts->merit(newton);
    flag             = parts->direction(newton, newton->x);
    if (flag) break;
    CP_COUNT(newton->work, niters);
    stalled = 1;
    for (double lambda = 1.0; stalled && lambda >= CP_INEXACT; lambda *= 0.5) {
      N_VLinearSum(1.0, newton->y, -lambda, newton->x, newton->trial);
      flag = parts->residuals(newton, t, newton->trial);
      if (flag < 0) break;
      if (flag > 0) continue; /* c cannot be evaluated there */
      stalled = !(parts->merit(newton) <= (1.0 - 2.0 * DECREASE * lambda) * phi);
    }
    if (flag < 0) break;
    if (!stalled) cpCopy(newton->y, newton->trial);
    else flag = parts->residuals(newton, t, newton->y);
  }
  newton->valid = 0;
  if (flag) return flag;
  cpCopy(newton->trial, newton->y);
  flag          = cpNewtonProject(newton, t, newton->trial, ewt, 0, &(CPProjected){0});
  newton->valid = 0;
  if (!flag) cpCopy(y, newton->trial);
  return flag;
}

int cpNewtonViolation(CPNewton *newton, sunrealtype t, N_Vector y, N_Vector ewt,
                      CPViolation *violation) {
  const CPNewtonParts *parts = newton->parts;
  int flag                   = parts->residuals(newton, t, y);
  if (!flag) flag = renew(newton, t, y, ewt, 0);
  if (flag == -CP_PROJ_RANK) flag = CP_SUCCESS; /* rows can be measured without factors */
  if (flag) return flag;
  violation->norm = parts->measure(newton, &violation->worst, &violation->residual);
  if (!(violation->norm > 1.0)) return CP_SUCCESS;
  const int noise = parts->is_noise(newton, t, y, 1.0, newton->valid);
  if (noise > 0) violation->norm = 1.0;
  return noise < 0 ? noise : CP_SUCCESS;
}

int cpNewtonPrepare(CPNewton *newton, sunrealtype t, N_Vector y, N_Vector ewt) {
  if (newton->valid && newton->age <= MOST_PROJECTIONS * newton->uses) return CP_SUCCESS;
  const int flag = newton->parts->residuals(newton, t, y);
  return flag ? flag : renew(newton, t, y, ewt, 0);
}
