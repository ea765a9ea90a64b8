/* The README's lines in C for a mechanical system, which readme_3.h contains: a rod of 1 m and 1 kg on a pin at its end,
 * q = (x, y, phi) of its centre, 1 s after its release from the horizontal. */
#include <cpodes/cpodes.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <sunmatrix/sunmatrix_dense.h>

#ifndef SUN_COMM_NULL
#define SUN_COMM_NULL NULL /* before SUNDIALS 7 */
#endif

static const double l = 0.5, J = 1.0 / 12, g = 9.81; /* m, kg m^2, m/s^2 */

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = 1, SM_ELEMENT_D(M, 2, 2) = J;
  return 0;
}

static int pin(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  p[0] = q[0] - l * cos(q[2]), p[1] = q[1] - l * sin(q[2]);
  return 0;
}

static int pin_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)user_data;
  SM_ELEMENT_D(A, 0, 0) = 1, SM_ELEMENT_D(A, 0, 2) = l * sin(q[2]);
  SM_ELEMENT_D(A, 1, 1) = 1, SM_ELEMENT_D(A, 1, 2) = -l * cos(q[2]);
  return 0;
}

static int forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)user_data;
  f[0] = f[2] = 0, f[1] = -g;
  return 0;
}

int main(void) {
  SUNContext ctx;
  sunrealtype t = 0;
  if (SUNContext_Create(SUN_COMM_NULL, &ctx)) return 2;
  N_Vector y     = N_VNew_Serial(6, ctx);
  sunrealtype *x = N_VGetArrayPointer(y);
  N_VConst(0, y);
  x[0]             = l;
  CPIntegrator mem = CPIntegratorCreate("DOP853", ctx);
  int flag;
  {
#include "readme_3.h"
    flag = CPIntegratorSStolerances(mem, 1e-8, 1e-8);
    if (!flag) flag = CPIntegratorEvolve(mem, 1, y, &t, CV_NORMAL);
    CPIntegratorFree(&mem);
    CPMechFree(&mech);
  }
  const double gap    = hypot(x[0] - l * cos(x[2]), x[1] - l * sin(x[2]));
  const double energy = (x[3] * x[3] + x[4] * x[4] + J * x[5] * x[5]) / 2 + g * x[1];
  N_VDestroy(y);
  SUNContext_Free(&ctx);
  return flag || !(t == 1 && gap < 1e-8 && fabs(energy) < 1e-6);
}
