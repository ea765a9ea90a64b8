/* Angles th_i of the rods from +x, d_i = (cos th_i, sin th_i); masses at r_i = d_1 + ... + d_i:
 *
 *   sum_j a_ij cos(th_i - th_j) th_j'' = -sum_j a_ij sin(th_i - th_j) th_j'^2 - a_ii g cos th_i,
 *
 *   a_ij = n + 1 - max(i, j), the number of masses that both rods carry
 *
 * Hairer and Wanner, Solving ODEs II, section VII.1, use the same as an ordinary differential equation.
 */
#include "chain_reference.h"
#include "check.h"
#include "extrapolation.h"
#include <math.h>
#include <nvector/nvector_serial.h>
#include <sundials/sundials_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

typedef struct {
  sunindextype n;
  sunrealtype g;
  SUNMatrix M; /* a_ij cos(th_i - th_j), and its Cholesky factor */
} Angles;

/* z = (th, th') */
static int angles_rhs(sunrealtype t, N_Vector z, N_Vector zdot, void *user_data) {
  (void)t;
  Angles *s             = user_data;
  sunindextype n        = s->n;
  const sunrealtype *th = N_VGetArrayPointer(z), *om = th + n;
  sunrealtype *rate = N_VGetArrayPointer(zdot), *acceleration = rate + n;
  for (sunindextype i = 0; i < n; i++) {
    rate[i]         = om[i];
    acceleration[i] = -(sunrealtype)(n - i) * s->g * cos(th[i]);
    for (sunindextype j = 0; j < n; j++) {
      sunrealtype carried      = (sunrealtype)(n - (i > j ? i : j));
      SM_ELEMENT_D(s->M, i, j) = carried * cos(th[i] - th[j]);
      acceleration[i] -= carried * sin(th[i] - th[j]) * om[j] * om[j];
    }
  }
  if (SUNDlsMat_densePOTRF(SM_COLS_D(s->M), n)) return -1;
  SUNDlsMat_densePOTRS(SM_COLS_D(s->M), n, acceleration);
  return 0;
}

static void to_positions(sunindextype n, N_Vector z, N_Vector y) {
  const sunrealtype *th = N_VGetArrayPointer(z), *om = th + n;
  sunrealtype *r = N_VGetArrayPointer(y), *v = r + 2 * n;
  sunrealtype position[2] = {0.0, 0.0}, velocity[2] = {0.0, 0.0};
  for (sunindextype i = 0; i < n; i++) {
    position[0] += cos(th[i]);
    position[1] += sin(th[i]);
    velocity[0] -= sin(th[i]) * om[i];
    velocity[1] += cos(th[i]) * om[i];
    for (int k = 0; k < 2; k++) r[2 * i + k] = position[k];
    for (int k = 0; k < 2; k++) v[2 * i + k] = velocity[k];
  }
}

static void integrate(Angles *s, sunrealtype t, int nsteps, N_Vector z) {
  N_VConst(0.0, z);
  CHECK(extrapolate(angles_rhs, s, 0.0, t, nsteps, z));
}

sunrealtype chain_reference(sunindextype n, sunrealtype g, sunrealtype t, N_Vector y) {
  const int nsteps = 100 * (int)ceil(t);
  Angles s         = {n, g, CHECK_POINTER(SUNDenseMatrix(n, n, y->sunctx))};
  N_Vector z       = CHECK_POINTER(N_VNew_Serial(2 * n, y->sunctx));
  N_Vector coarse  = CHECK_POINTER(N_VClone(y));
  integrate(&s, t, nsteps / 2, z);
  to_positions(n, z, coarse);
  integrate(&s, t, nsteps, z);
  to_positions(n, z, y);
  N_VLinearSum(1.0, y, -1.0, coarse, coarse);
  sunrealtype difference = N_VMaxNorm(coarse);
  N_VDestroy(coarse);
  N_VDestroy(z);
  SUNMatDestroy(s.M);
  return difference;
}
