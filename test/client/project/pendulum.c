/* A pendulum of length 1 m, released horizontally: y = (x, z, x', z'), after 1 s.
 *
 *   x'' = -T x,  z'' = -T z - g,  T = x'^2 + z'^2 - g z      0 = x^2 + z^2 - 1,  0 = x x' + z z'
 */
#include <cpodes/cpodes_integrator.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

#ifndef SUN_COMM_NULL
#define SUN_COMM_NULL NULL /* before SUNDIALS 7 */
#endif

static const double g = 9.81; /* m/s^2 */

static int rhs(sunrealtype t, N_Vector yvec, N_Vector ydotvec, void *user_data) {
  const sunrealtype *y = N_VGetArrayPointer(yvec);
  sunrealtype *ydot    = N_VGetArrayPointer(ydotvec);
  const sunrealtype T  = y[2] * y[2] + y[3] * y[3] - g * y[1];
  (void)t, (void)user_data;
  ydot[0] = y[2], ydot[1] = y[3];
  ydot[2] = -T * y[0], ydot[3] = -T * y[1] - g;
  return 0;
}

static int rod(sunrealtype t, N_Vector yvec, N_Vector cvec, void *user_data) {
  const sunrealtype *y = N_VGetArrayPointer(yvec);
  sunrealtype *c       = N_VGetArrayPointer(cvec);
  (void)t, (void)user_data;
  c[0] = y[0] * y[0] + y[1] * y[1] - 1;
  c[1] = y[0] * y[2] + y[1] * y[3];
  return 0;
}

/* Computes the same motion by DOP853: x and z in xz. */
static int by_dop853(CPProjector P, N_Vector y, SUNContext ctx, double xz[2]) {
  sunrealtype t    = 0;
  CPIntegrator mem = CPIntegratorCreate("DOP853", ctx);
  int flag         = CPIntegratorInit(mem, rhs, t, y);
  if (!flag) flag = CPIntegratorSStolerances(mem, 1e-8, 1e-8);
  if (!flag) flag = CPIntegratorSetProjector(mem, P);
  if (!flag) flag = CPIntegratorEvolve(mem, 1, y, &t, CV_NORMAL);
  CPIntegratorFree(&mem);
  xz[0] = N_VGetArrayPointer(y)[0], xz[1] = N_VGetArrayPointer(y)[1];
  return flag;
}

int main(void) {
  SUNContext ctx;
  sunrealtype t = 0;
  if (SUNContext_Create(SUN_COMM_NULL, &ctx)) return 1;
  N_Vector y     = N_VNew_Serial(4, ctx);
  N_Vector c     = N_VNew_Serial(2, ctx);
  sunrealtype *x = N_VGetArrayPointer(y);
  x[0] = 1, x[1] = x[2] = x[3] = 0;

  SUNMatrix A        = SUNDenseMatrix(4, 4, ctx);
  SUNLinearSolver LS = SUNLinSol_Dense(y, A, ctx);
  CPProjector P      = CPProjectorCreate(rod, y, c, ctx);
  CPIntegrator mem   = CPIntegratorCreate("BDF", ctx);
  int flag           = CPIntegratorInit(mem, rhs, t, y);
  if (!flag) flag = CVodeSetLinearSolver(CPIntegratorGetCVodeMem(mem), LS, A);
  if (!flag) flag = CPIntegratorSStolerances(mem, 1e-8, 1e-8);
  if (!flag) flag = CPIntegratorSetProjector(mem, P);
  if (!flag) flag = CPIntegratorEvolve(mem, 1, y, &t, CV_NORMAL);

  const double length = hypot(x[0], x[1]), energy = (x[2] * x[2] + x[3] * x[3]) / 2 + g * x[1];
  printf("t = %g s: x = %.9f m, z = %.9f m, length - 1 = %.1e m, energy = %.1e J/kg\n", t, x[0],
         x[1], length - 1, energy);

  const double end[2] = {x[0], x[1]};
  double xz[2]        = {0, 0};
  x[0] = 1, x[1] = x[2] = x[3] = 0;
  if (!flag) flag = by_dop853(P, y, ctx, xz);
  printf("and by DOP853: x = %.9f m, z = %.9f m\n", xz[0], xz[1]);
  const double difference = hypot(xz[0] - end[0], xz[1] - end[1]);

  CPIntegratorFree(&mem);
  CPProjectorFree(&P);
  SUNLinSolFree(LS);
  SUNMatDestroy(A);
  N_VDestroy(y);
  N_VDestroy(c);
  SUNContext_Free(&ctx);
  return flag || !(fabs(length - 1) < 1e-8) || !(fabs(energy) < 1e-5) || !(difference < 1e-5);
}
