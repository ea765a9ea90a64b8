/* Example: derivatives of a pendulum's motion with respect to its length and to gravity.
 *
 *   x'' = -x tau,  y'' = -y tau - g,   tau = (x'^2 + y'^2 - g y) / L^2,   0 = c = x^2 + y^2 - L^2
 *
 *   s = d(x, y, x', y')/dp,  p = L [m] or g [m/s^2];   G s + dc/dp = 0
 *
 * The constraint depends on the rod's length: dc/dL = -2 L. The motion from rest at (L, 0) depends
 * only on sqrt(g/L) t and the scale L, which implies the equations that the program checks:
 *
 *   y(t; L, g) = L Y(sqrt(g/L) t):   L y_L + g y_g = y,   g y_g = t y'/2   for both coordinates.
 *
 * Run:       pendulum_sensitivity [method, such as RADAU; default DOP853]
 * Expected:  ten lines, one for each second, with sensitivities that grow with time, errors below 1e-6 of
 *            their size, G s + dc/dp below 1e-11, and "ok". The exit code is 1 if the sensitivities
 *            are wrong, and 2 if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes_sens.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <sunmatrix/sunmatrix_dense.h>

enum { BY_L, BY_G };

static int motion(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t;
  const sunrealtype *p  = user_data;
  const sunrealtype *s  = N_VGetArrayPointer(y);
  sunrealtype *sd       = N_VGetArrayPointer(ydot);
  const sunrealtype tau = (s[2] * s[2] + s[3] * s[3] - p[1] * s[1]) / (p[0] * p[0]);

  sd[0] = s[2];
  sd[1] = s[3];
  sd[2] = -s[0] * tau;
  sd[3] = -s[1] * tau - p[1];
  return 0;
}

/* 0 = c(t, y, p): the length of the rod, and its rate */
static int rod_length(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  (void)t;
  const sunrealtype *p = user_data;
  const sunrealtype *s = N_VGetArrayPointer(y);
  sunrealtype *r       = N_VGetArrayPointer(c);

  r[0] = s[0] * s[0] + s[1] * s[1] - p[0] * p[0];
  r[1] = s[0] * s[2] + s[1] * s[3];
  return 0;
}

/* G = dc/dy */
static int rod_jacobian(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data) {
  (void)t, (void)c, (void)user_data;
  const sunrealtype *s = N_VGetArrayPointer(y);

  SM_ELEMENT_D(G, 0, 0) = 2 * s[0];
  SM_ELEMENT_D(G, 0, 1) = 2 * s[1];
  SM_ELEMENT_D(G, 1, 0) = s[2];
  SM_ELEMENT_D(G, 1, 1) = s[3];
  SM_ELEMENT_D(G, 1, 2) = s[0];
  SM_ELEMENT_D(G, 1, 3) = s[1];
  return 0;
}

/* dc/dp */
static int rod_parameters(sunrealtype t, N_Vector y, int iS, N_Vector cp, void *user_data) {
  (void)t, (void)y;
  if (iS == BY_L) N_VGetArrayPointer(cp)[0] = -2 * *(sunrealtype *)user_data;
  return 0;
}

/* Largest |G s + dc/dL| */
static sunrealtype residual(const sunrealtype *p, const sunrealtype *y, const sunrealtype *s) {
  return fmax(fabs(2 * (y[0] * s[0] + y[1] * s[1] - p[0])),
              fabs(y[2] * s[0] + y[3] * s[1] + y[0] * s[2] + y[1] * s[3]));
}

/* Largest deviation from L y_L + g y_g = y and g y_g = t y'/2, relative to the largest term */
static sunrealtype error(const sunrealtype *p, sunrealtype t, const sunrealtype *y,
                         const sunrealtype *yL, const sunrealtype *yg) {
  sunrealtype worst = 0, size = 0;
  for (int i = 0; i < 2; i++) {
    worst = fmax(worst, fabs(p[0] * yL[i] + p[1] * yg[i] - y[i]));
    worst = fmax(worst, fabs(p[1] * yg[i] - t * y[2 + i] / 2));
    size  = fmax(size, fabs(p[1] * yg[i]));
  }
  return worst / size;
}

int main(int argc, char **argv) {
  const sunrealtype tol = 1e-10;     /* of each step, relative and absolute */
  sunrealtype p[2]      = {1, 9.81}; /* L, g, in an array as sensitivities require */

  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector y = N_VNew_Serial(4, ctx), c = N_VNew_Serial(2, ctx);
  CHECK_NEW(y);
  CHECK_NEW(c);
  N_VConst(0, y);
  N_VGetArrayPointer(y)[0] = p[0];

  SUNMatrix G   = SUNDenseMatrix(2, 4, ctx);
  CPProjector P = CPProjectorCreate(rod_length, y, c, ctx);
  CHECK_NEW(G);
  CHECK_NEW(P);
  CHECK(CPProjectorSetUserData(P, p));
  CHECK(CPProjectorSetJacFn(P, rod_jacobian, G));

  CPIntegrator mem = CPIntegratorCreate(argc > 1 ? argv[1] : "DOP853", ctx);
  CHECK_NEW(mem);
  CHECK(CPIntegratorInit(mem, motion, 0, y));
  CHECK(CPIntegratorSStolerances(mem, tol, tol));
  CHECK(CPIntegratorSetProjector(mem, P));
  CHECK(CPIntegratorSetUserData(mem, p));
  CHECK(CPIntegratorSetMaxNumSteps(mem, 100000));

  N_Vector *s = N_VCloneVectorArray(2, y);
  CHECK_NEW(s);
  const CPParameters parameters = {CP_SIZED(CPParameters), .n = 2, .values = p};
  CPSens sens;
  sens = CPSensCreate(&parameters, y, ctx);
  CHECK_NEW(sens);
  CHECK(CPSensSetRhsFn(sens, NULL, rod_parameters)); /* (df/dy) s + df/dp are differences of f */
  CHECK(CPSensSetErrCon(sens, SUNTRUE));
  CHECK(CPIntegratorSetSens(mem, sens));
  /* The shortest s with G s + dc/dp = 0 are (1, 0, 0, 0) and 0, because the start is (L, 0). */
  CHECK(CPSensCalcIC(sens, NULL));

  sunrealtype t = 0, worst_error = 0, worst_residual = 0;
  for (int second = 1; second <= 10; second++) {
    CHECK(CPIntegratorEvolve(mem, second, y, &t, CV_NORMAL));
    CHECK(CPSensGetDky(sens, t, 0, s));
    const sunrealtype *Y = N_VGetArrayPointer(y), *yL = N_VGetArrayPointer(s[BY_L]);
    const sunrealtype *yg = N_VGetArrayPointer(s[BY_G]);
    worst_error           = fmax(worst_error, error(p, t, Y, yL, yg));
    worst_residual        = fmax(worst_residual, residual(p, Y, yL));
    printf("t = %4.1f s   dx/dL = %9.5f   dx/dg = %9.5f s^2   error %7.1e   G s + dc/dL %7.1e\n", t,
           yL[0], yg[0], error(p, t, Y, yL, yg), residual(p, Y, yL));
  }

  printf("%ld sensitivities projected, with %ld factorisations of G\n",
         COUNT(mem, "sens_projections"), COUNT(mem, "sens_projection_setups"));
  const int ok = worst_error <= 1e-6 && worst_residual <= 1e-11;
  printf("%s\n", ok ? "ok" : "WRONG: the sensitivities are not those of a pendulum");

  CPIntegratorFree(&mem);
  CPSensFree(&sens);
  CPProjectorFree(&P);
  SUNMatDestroy(G);
  N_VDestroyVectorArray(s, 2);
  N_VDestroy(y);
  N_VDestroy(c);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
