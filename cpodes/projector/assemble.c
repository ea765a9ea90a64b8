/* A consistent state from a poor guess: damped Gauss-Newton,
 *
 *   y <- y - lambda K(y) c(t, y),   lambda in {1, 1/2, 1/4, ...}
 *
 * the first lambda that lets phi = sum (c_i / size_i)^2 decrease sufficiently (Armijo),
 * with a new G in each iteration; the sizes are those of the first one, so that phi stays one
 * function.
 */
#include "projector_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ITERATIONS 200
#define MIN_DAMPING    1.0e-6
/* Sufficient decrease (Armijo). */
#define DECREASE 1.0e-4

static double merit(const double *c, const double *size, int m) {
  double phi = 0.0;
  for (int i = 0; i < m; i++) phi += (c[i] / size[i]) * (c[i] / size[i]);
  return phi;
}

/* Violations that a message names. */
#define NAMED 3

/* The constraints violated most, for the message. */
static void nameWorst(CPWork work, const double *c, const double *size, char *text, size_t length) {
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

/* Sizes that stay positive: a row without gradient at the start may get one on the way. */
static void freezeSizes(CPWork work, double *size) {
  double smallest = INFINITY;
  for (int i = 0; i < work->P->m; i++)
    if (work->size[i] > 0.0) smallest = fmin(smallest, work->size[i]);
  if (!isfinite(smallest)) smallest = 1.0;
  for (int i = 0; i < work->P->m; i++) size[i] = work->size[i] > 0.0 ? work->size[i] : smallest;
}

/* work->y <- work->y - lambda x with the first lambda that lets phi decrease. 0, NO_DECREASE, or a
 * fatal code of c. */
#define NO_DECREASE 1

static int lineSearch(CPWork work, sunrealtype t, const double *size, double *phi) {
  const int n = work->P->n, m = work->P->m;
  sunrealtype *z = N_VGetArrayPointer(work->y), *trial = N_VGetArrayPointer(work->v);
  for (double lambda = 1.0; lambda >= MIN_DAMPING; lambda *= 0.5) {
    for (int j = 0; j < n; j++) trial[j] = z[j] - lambda * work->x[j];
    const int flag = cpConstraint(work, t, work->v, work->c2);
    if (flag < 0) return flag;
    if (flag > 0) continue; /* c does not reach that far */
    const double next = merit(work->c2, size, m);
    if (!(next <= (1.0 - 2.0 * DECREASE * lambda) * *phi)) continue;
    N_VScale(1.0, work->v, work->y);
    memcpy(work->c, work->c2, (size_t)m * sizeof *work->c);
    *phi = next;
    return CP_SUCCESS;
  }
  return NO_DECREASE;
}

static int gaussNewton(CPWork work, sunrealtype t, N_Vector ewt, double *size) {
  const int m     = work->P->m;
  const double *c = work->c;
  double phi      = 0.0;
  for (int k = 0; k < MAX_ITERATIONS; k++) {
    int flag = cpFactor(work, t, work->y, ewt);
    if (flag) return flag;
    if (k == 0) {
      freezeSizes(work, size);
      phi = merit(c, size, m);
    }
    if (cpViolation(work, c, &work->worst) <= 1.0) return CP_SUCCESS; /* Project does the rest */
    if (cpAtRoundoffFloor(work, N_VGetArrayPointer(work->y), c, 1.0)) return CP_SUCCESS;
    flag = cpRightInverse(work, c, work->x);
    if (flag) return flag;
    CP_COUNT(work, niters);
    flag = lineSearch(work, t, size, &phi);
    if (flag < 0) return flag;
    if (flag == NO_DECREASE) break;
  }
  char worst[NAMED * (CP_ROW_NAME + 32)];
  nameWorst(work, c, size, worst, sizeof worst);
  return cpReason(work->text, CP_IC_FAIL,
                  "at t = %.15g: no consistent state found near the one given; violated most: %s",
                  t, worst);
}

int cpMatrixAssemble(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  int moved;
  int flag = cpWorkUpdate(work, t, y, ewt);
  if (flag) return flag;
  double *size   = malloc((size_t)work->P->m * sizeof *size);
  N_Vector start = N_VClone(y);
  if (!size || !start) {
    flag = cpReason(work->text, CP_MEM_FAIL, "no memory");
  } else {
    N_VScale(1.0, y, start);
    N_VScale(1.0, y, work->y);
    flag = cpConstraint(work, t, y, work->c);
    if (!flag) flag = gaussNewton(work, t, ewt, size);
    work->valid = 0;
    if (!flag) {
      N_VScale(1.0, work->y, y);
      flag = cpProject(work, t, y, ewt, 0, &moved);
      if (flag) N_VScale(1.0, start, y);
    }
  }
  if (start) N_VDestroy(start);
  free(size);
  work->valid = 0;
  return flag;
}
