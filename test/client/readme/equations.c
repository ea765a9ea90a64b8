/* The README's lines in C for y' = f(t, y), 0 = c(t, y), which readme_2.h contains: a pendulum of length 1 m, 1 s after its
 * release from the horizontal. client.cmake copies the lines and compiles this by the README's command. */
#include <cpodes/cpodes.h>
#include <math.h>
#include <nvector/nvector_serial.h>

#ifndef SUN_COMM_NULL
#define SUN_COMM_NULL NULL /* before SUNDIALS 7 */
#endif

static int rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  const sunrealtype *x = N_VGetArrayPointer(y);
  sunrealtype *xdot    = N_VGetArrayPointer(ydot);
  const sunrealtype T  = x[2] * x[2] + x[3] * x[3] - 9.81 * x[1];
  (void)t, (void)user_data;
  xdot[0] = x[2], xdot[1] = x[3], xdot[2] = -T * x[0], xdot[3] = -T * x[1] - 9.81;
  return 0;
}

static int rod(sunrealtype t, N_Vector y, N_Vector cvec, void *user_data) {
  const sunrealtype *x = N_VGetArrayPointer(y);
  sunrealtype *c       = N_VGetArrayPointer(cvec);
  (void)t, (void)user_data;
  c[0] = x[0] * x[0] + x[1] * x[1] - 1, c[1] = x[0] * x[2] + x[1] * x[3];
  return 0;
}

int main(void) {
  SUNContext ctx;
  sunrealtype t = 0;
  if (SUNContext_Create(SUN_COMM_NULL, &ctx)) return 2;
  N_Vector y     = N_VNew_Serial(4, ctx);
  N_Vector c     = N_VNew_Serial(2, ctx);
  sunrealtype *x = N_VGetArrayPointer(y);
  x[0] = 1, x[1] = x[2] = x[3] = 0;
  {
#include "readme_2.h"
  }
  const double length = hypot(x[0], x[1]), energy = (x[2] * x[2] + x[3] * x[3]) / 2 + 9.81 * x[1];
  N_VDestroy(y);
  N_VDestroy(c);
  SUNContext_Free(&ctx);
  return !(t == 1 && fabs(length - 1) < 1e-8 && fabs(energy) < 1e-5);
}
