/* A consistent state from a poor guess with products only: the damped Gauss-Newton iteration of
 * assemble.c on vectors,
 *
 *   y <- y - lambda K(y) c(t, y),   lambda in {1, 1/2, 1/4, ...}
 *
 * the first lambda that lets phi = sum (c_i / size_i)^2 decrease sufficiently (Armijo), with the
 * sizes of the first iteration. */
#include "krylov_impl.h"

#include <math.h>

/* As in assemble.c. */
#define MAX_ITERATIONS 200
#define MIN_DAMPING    1.0e-6
#define DECREASE       1.0e-4
/* Residual of conjugate gradients: a correction that is good to a tenth descends as well; the last
 * ones are Project's. */
#define GOAL 1.0e-2

static double merit(const CPKrylov k, N_Vector c) {
  N_VProd(c, k->frozen, k->p);
  return N_VDotProd(c, k->p);
}

/* Weights that stay finite: a row without gradient at the start may get one on the way. */
static void freezeSizes(CPWork work) {
  const CPKrylov k = work->krylov;
  N_VProd(k->weight, k->dead, k->frozen);
  N_VLinearSum(1.0, k->weight, -1.0, k->frozen, k->frozen);
  const double largest = N_VMaxNorm(k->frozen);
  N_VLinearSum(1.0, k->frozen, largest > 0.0 ? largest : 1.0, k->dead, k->frozen);
}

/* work->y <- work->y - lambda x with the first lambda that lets phi decrease. 0, NO_DECREASE, or a
 * fatal code of c. */
#define NO_DECREASE 1

static int lineSearch(CPWork work, sunrealtype t, double *phi) {
  const CPKrylov k = work->krylov;
  for (double lambda = 1.0; lambda >= MIN_DAMPING; lambda *= 0.5) {
    N_VLinearSum(1.0, work->y, -lambda, k->x, work->v);
    const int flag = cpUserConstraint(work, t, work->v, k->c2);
    if (flag < 0) return flag;
    if (flag > 0) continue; /* c does not reach that far */
    const double next = merit(k, k->c2);
    if (!(next <= (1.0 - 2.0 * DECREASE * lambda) * *phi)) continue;
    N_VScale(1.0, work->v, work->y);
    N_VScale(1.0, k->c2, k->c);
    *phi = next;
    return CP_SUCCESS;
  }
  return NO_DECREASE;
}

static int gaussNewton(CPWork work, sunrealtype t, N_Vector ewt) {
  const CPKrylov k = work->krylov;
  double phi       = 0.0;
  for (int i = 0; i < MAX_ITERATIONS; i++) {
    int flag = cpKrylovRenew(work, t, work->y, ewt);
    if (flag) return flag;
    if (i == 0) {
      freezeSizes(work);
      phi = merit(k, k->c);
    }
    work->violation = cpKrylovViolation(work, k->c, &work->worst);
    if (work->violation <= 1.0) return CP_SUCCESS; /* Project does the rest */
    flag = cpKrylovRightInverse(work, k->c, GOAL);
    if (flag) return flag;
    CP_COUNT(work, niters);
    flag = lineSearch(work, t, &phi);
    if (flag < 0) return flag;
    if (flag == NO_DECREASE) break;
  }
  const int noise = cpKrylovIsNoise(work, t, 1.0);
  if (noise) return noise > 0 ? CP_SUCCESS : noise;
  char name[CP_ROW_NAME];
  return cpReason(
      work->text, CP_IC_FAIL,
      "at t = %.15g: no consistent state found near the one given; violated most: %s (%.3e)", t,
      cpRowName(work->P, work->worst, name), cpKrylovWorstResidual(work, k->c, work->worst));
}

/* From y to a consistent state, by way of start. */
static int assemble(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector start) {
  int moved;
  N_VScale(1.0, y, start);
  N_VScale(1.0, y, work->y);
  int flag = cpUserConstraint(work, t, y, work->krylov->c);
  if (!flag) flag = gaussNewton(work, t, ewt);
  work->valid = 0;
  if (flag) return flag;
  N_VScale(1.0, work->y, y);
  flag = cpProject(work, t, y, ewt, 0, &moved);
  if (flag) N_VScale(1.0, start, y);
  return flag;
}

int cpKrylovAssemble(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  int flag = cpKrylovUpdate(work);
  if (flag) return flag;
  N_Vector start = N_VClone(y);
  if (!start) return cpReason(work->text, CP_MEM_FAIL, "no memory");
  flag        = assemble(work, t, y, ewt, start);
  work->valid = 0;
  N_VDestroy(start);
  return flag;
}
