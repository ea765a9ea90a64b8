/* A consistent state from a poor guess: damped Gauss-Newton,
 *
 *   y <- y - lambda K(y) c(t, y),   lambda in {1, 1/2, 1/4, ...}
 *
 * the first lambda that lets phi = sum (c_i / size_i)^2 decrease sufficiently (Armijo),
 * with a new G in each iteration; the sizes are those of the first one, so that phi stays one
 * function. Residuals and directions are the method's (matrix.c, krylov/assemble.c).
 */
#include "projector_impl.h"

#define MAX_ITERATIONS 200
#define MIN_DAMPING    1.0e-6
/* Sufficient decrease (Armijo). */
#define DECREASE 1.0e-4

/* work->y <- work->y - lambda x with the first lambda that lets phi decrease. 0, NO_DECREASE, or a
 * fatal code of c. */
#define NO_DECREASE 1

static int lineSearch(CPWork work, const CPMethod *method, sunrealtype t, double *phi) {
  for (double lambda = 1.0; lambda >= MIN_DAMPING; lambda *= 0.5) {
    const int flag = method->trial(work, t, lambda);
    if (flag < 0) return flag;
    if (flag > 0) continue; /* c does not reach that far */
    const double next = method->merit(work, 1);
    if (!(next <= (1.0 - 2.0 * DECREASE * lambda) * *phi)) continue;
    method->accept(work);
    *phi = next;
    return CP_SUCCESS;
  }
  return NO_DECREASE;
}

static int explain(CPWork work, const CPMethod *method, sunrealtype t) {
  char worst[CP_TEXT_LENGTH / 2];
  method->name_violated(work, worst, sizeof worst);
  return cpReason(work->text, CP_IC_FAIL,
                  "at t = %.15g: no consistent state found near the one given; violated most: %s",
                  t, worst);
}

static int gaussNewton(CPWork work, const CPMethod *method, sunrealtype t, N_Vector ewt) {
  double phi = 0.0;
  for (int k = 0; k < MAX_ITERATIONS; k++) {
    int flag = method->renew(work, t, work->y, ewt);
    if (flag) return flag;
    if (k == 0) {
      method->freeze(work);
      phi = method->merit(work, 0);
    }
    work->violation = method->measure(work, &work->worst);
    if (work->violation <= 1.0) return CP_SUCCESS; /* Project does the rest */
    if (method->is_at_floor && method->is_at_floor(work, 1.0)) return CP_SUCCESS;
    flag = method->direction(work);
    if (flag) return flag;
    CP_COUNT(work, niters);
    flag = lineSearch(work, method, t, &phi);
    if (flag < 0) return flag;
    if (flag == NO_DECREASE) break;
  }
  const int noise = method->is_at_floor ? 0 : method->is_noise(work, t, 1.0);
  if (noise) return noise > 0 ? CP_SUCCESS : noise;
  return explain(work, method, t);
}

/* y -> consistent; start: what it was. */
static int assemble(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector start) {
  const CPMethod *method = cpMethodOf(work->P);
  cpCopy(start, y);
  cpCopy(work->y, y);
  int flag         = method->residuals(work, t, y);
  work->assembling = 1;
  if (!flag) flag = gaussNewton(work, method, t, ewt);
  work->assembling = 0;
  work->valid      = 0;
  if (flag) return flag;
  cpCopy(y, work->y);
  flag = cpProject(work, t, y, ewt, 0, &(CPProjected){0});
  if (flag) cpCopy(y, start);
  return flag;
}

int cpGaussNewton(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  int flag = cpMethodOf(work->P)->update(work, t, y, ewt);
  if (flag) return flag;
  N_Vector start = N_VClone(y);
  if (!start) return cpReason(work->text, CP_MEM_FAIL, "no memory");
  flag        = assemble(work, t, y, ewt, start);
  work->valid = 0;
  N_VDestroy(start);
  return flag;
}
