/* Angles th_i of the rods from +x, d_i = (cos th_i, sin th_i), n_i = (-sin th_i, cos th_i); masses at
 * r_i = d_1 + ... + d_i. Differences of Newton's law for neighbours, along and across d_i, give the
 * tensions and the angles:
 *
 *   2 lambda_i - d_i . (lambda_{i-1} d_{i-1} + lambda_{i+1} d_{i+1}) = th_i'^2 + d_i . F_i
 *   th_i'' = n_i . (lambda_{i-1} d_{i-1} + lambda_{i+1} d_{i+1} + F_i),   lambda_0 = lambda_{n+1} = 0
 *
 * where for i = 1 lambda_1 takes the place of 2 lambda_1. F_i is the difference of the applied forces on the
 * masses i and i - 1: the weight for i = 1, and with the joints' s_i = k (d_{i+1} - d_i) + d (d_{i+1} - d_i)'
 *
 *   F_i = s_{i-2} - 3 s_{i-1} + 3 s_i - s_{i+1},   F_1 = 2 s_1 - s_2,   s_i = 0 unless 1 <= i < n
 */
#include "chain_reference.h"
#include "chain_impl.h"
#include "extrapolation.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdlib.h>

typedef struct {
  const ChainOf *chain;
  sunrealtype *diag, *sub, *lambda; /* work [n] each */
  sunrealtype (*e)[2];              /* work [n]: d_i */
  sunrealtype (*force)[2];          /* work [n + 4]: s_i of the joint after rod i is force[i + 2] */
} Angles;

/* s of all joints; rods count from 0 */
static void bend_joints(const Angles *s, const sunrealtype *om) {
  const ChainOf *c = s->chain;
  for (sunindextype i = 0; i + 1 < c->n; i++)
    for (int k = 0; k < 2; k++) {
      const int sign         = k ? 1 : -1; /* d' = om (-sin, cos) */
      const sunrealtype rate = sign * (om[i + 1] * s->e[i + 1][1 - k] - om[i] * s->e[i][1 - k]);
      s->force[i + 2][k]     = c->k * (s->e[i + 1][k] - s->e[i][k]) + c->d * rate;
    }
}

/* F_i */
static void applied(const Angles *s, sunindextype i, sunrealtype F[2]) {
  const sunrealtype(*joint)[2] = (const sunrealtype(*)[2])s->force + i + 2;
  for (int k = 0; k < 2; k++)
    F[k] = i ? joint[-2][k] - 3 * joint[-1][k] + 3 * joint[0][k] - joint[1][k]
             : 2 * joint[0][k] - joint[1][k];
  if (i == 0) F[1] -= s->chain->g;
}

/* z = (th, th') */
static int angles_rhs(sunrealtype t, N_Vector z, N_Vector zdot, void *user_data) {
  (void)t;
  Angles *s             = user_data;
  const sunindextype n  = s->chain->n;
  const sunrealtype *th = N_VGetArrayPointer(z), *om = th + n;
  sunrealtype *rate = N_VGetArrayPointer(zdot), *acceleration = rate + n;
  for (sunindextype i = 0; i < n; i++) {
    s->e[i][0] = cos(th[i]);
    s->e[i][1] = sin(th[i]);
  }
  if (s->chain->k > 0 || s->chain->d > 0) bend_joints(s, om);
  for (sunindextype i = 0; i < n; i++) {
    const sunrealtype *e = s->e[i];
    sunrealtype F[2];
    applied(s, i, F);
    rate[i]         = om[i];
    acceleration[i] = -e[1] * F[0] + e[0] * F[1];
    s->lambda[i]    = om[i] * om[i] + e[0] * F[0] + e[1] * F[1];
    s->diag[i]      = i ? 2 : 1;
    s->sub[i]       = i ? -cos(th[i] - th[i - 1]) : 0;
    if (ldl_step(s->diag, s->sub, i)) return -1;
  }
  ldl_solve(n, s->diag, s->sub, s->lambda);
  for (sunindextype i = 0; i + 1 < n; i++) {
    const sunrealtype across = sin(th[i + 1] - th[i]);
    acceleration[i] += s->lambda[i + 1] * across;
    acceleration[i + 1] -= s->lambda[i] * across;
  }
  return 0;
}

/* Sums of n terms in extended precision, since each term adds a rounding error */
static void to_positions(sunindextype n, N_Vector z, N_Vector y) {
  const sunrealtype *th = N_VGetArrayPointer(z), *om = th + n;
  sunrealtype *r = N_VGetArrayPointer(y), *v = r + 2 * n;
  long double position[2] = {0, 0}, velocity[2] = {0, 0};
  for (sunindextype i = 0; i < n; i++) {
    position[0] += cos(th[i]);
    position[1] += sin(th[i]);
    velocity[0] -= sin(th[i]) * om[i];
    velocity[1] += cos(th[i]) * om[i];
    for (int k = 0; k < 2; k++) r[2 * i + k] = (sunrealtype)position[k];
    for (int k = 0; k < 2; k++) v[2 * i + k] = (sunrealtype)velocity[k];
  }
}

static int create_work(Angles *s) {
  const size_t n = (size_t)s->chain->n;
  s->diag        = calloc(n, sizeof *s->diag);
  s->sub         = calloc(n, sizeof *s->sub);
  s->lambda      = calloc(n, sizeof *s->lambda);
  s->e           = calloc(n, sizeof *s->e);
  s->force       = calloc(n + 4, sizeof *s->force);
  return !s->diag || !s->sub || !s->lambda || !s->e || !s->force ? -1 : 0;
}

static void free_work(Angles *s) {
  free(s->diag);
  free(s->sub);
  free(s->lambda);
  free(s->e);
  free(s->force);
}

/* y: out, the motion at t by nsteps; z: work */
static int integrate(Angles *s, sunrealtype t, int nsteps, N_Vector z, N_Vector y) {
  N_VConst(0.0, z);
  if (extrapolate(angles_rhs, s, 0.0, t, nsteps, z)) return -1;
  to_positions(s->chain->n, z, y);
  return 0;
}

int chain_reference(const ChainOf *chain, sunrealtype t, int nsteps, N_Vector y, sunrealtype *error) {
  Angles s        = {.chain = chain};
  N_Vector z      = N_VNew_Serial(2 * chain->n, y->sunctx);
  N_Vector coarse = N_VClone(y);
  int flag        = create_work(&s) || !z || !coarse ? -1 : 0;
  if (!flag) flag = integrate(&s, t, (nsteps + 1) / 2, z, coarse);
  if (!flag) flag = integrate(&s, t, nsteps, z, y);
  if (!flag) {
    N_VLinearSum(1.0, y, -1.0, coarse, coarse);
    *error = N_VMaxNorm(coarse);
  }
  if (coarse) N_VDestroy(coarse);
  if (z) N_VDestroy(z);
  free_work(&s);
  return flag;
}
