/* Example: gradient of a slider-crank's mean kinetic energy with respect to its lengths and its spring,
 * by forward and adjoint sensitivities.
 *
 *   G = int_0^10 1/2 (J1 q'^2 + m2 x'^2 + J2 p'^2) dt      [J s]
 *
 *   p = a    crank length [m]: the constraints and the initial state depend on it
 *       k    stiffness of the spring [N/m]
 *       c    its damping [N s/m]
 *       l0   its free length [m]
 *
 * The mechanism is that of models/slider_crank.h (Haug 1992), given by masses, forces and constraints.
 * cpodes differentiates these with respect to the parameters, which they read from one array.
 * CPIntegratorGradientCheck computes the gradient by forward and adjoint sensitivities and by finite
 * differences of whole runs.
 *
 * Run:       slider_crank_gradient
 * Expected:  G = 3.336607 J s, a table with three equal columns, and "ok". The exit code is 1 if they
 *            differ, and 2 if a call failed.
 * Source:    SUNDIALS, example idasSlCrank_dns: G = 3.3366160663 at tolerances 1e-6
 */
#include "check_flag.h"
#include "models/slider_crank.h"
#include <cpodes/cpodes_sens.h>
#include <math.h>
#include <nvector/nvector_serial.h>

static int kinetic_energy(sunrealtype t, N_Vector y, sunrealtype *h, void *user_data) {
  (void)t;
  const SliderCrank *s = user_data;
  const sunrealtype *u = N_VGetArrayPointer(y) + 3;

  h[0] = (s->J1 * u[0] * u[0] + s->m2 * u[1] * u[1] + s->J2 * u[2] * u[2]) / 2;
  return 0;
}

/* A consistent start for the present parameters */
static int start(sunrealtype t0, N_Vector y0, void *user_data) {
  (void)t0;
  slider_crank_initial(user_data, y0);
  return 0;
}

int main(void) {
  enum { NS = 4 };
  const sunrealtype tol       = 1e-9; /* of each step, relative and absolute */
  SliderCrank crank           = slider_crank_haug();
  sunrealtype *p              = &crank.a;     /* the struct is an array of parameters */
  const int plist[NS]         = {0, 4, 5, 6}; /* the sensitive ones: a, k, c, l0 */
  const sunrealtype published = 3.3366160663;

  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector y = N_VNew_Serial(SLIDER_CRANK_N, ctx);
  CHECK_NEW(y);
  slider_crank_initial(&crank, y);

  const CPEquations model = slider_crank_model();
  CPModel made            = CPModelCreate(&model);
  CHECK_NEW(made);
  CPMech mech = CPMechCreate(made, y, ctx);
  CPModelFree(&made);
  CPIntegrator mem = CPIntegratorCreate("DOP853", ctx);
  CHECK_NEW(mech);
  CHECK_NEW(mem);
  CHECK(CPMechSetUserData(mech, &crank));
  CHECK(CPMechAttach(mech, mem, 0, y));
  CHECK(CPIntegratorSStolerances(mem, tol, tol));

  const CPParameters parameters   = {CP_SIZED(CPParameters), .n = NS, .values = p, .plist = plist};
  const CPFunctional F            = {CP_SIZED(CPFunctional), .ng = 1, .integrand = kinetic_energy,
                                     .user_data = &crank};
  const CPGradientOptions options = {CP_SIZED(CPGradientOptions), .reltol = tol, .abstol = tol,
                                     .start = start};
  sunrealtype worst, G;
  CHECK(CPIntegratorGradientCheck(mem, 0, 10, &F, &parameters, &options, 1e-3, stdout, &worst));

  CHECK(start(0, y, &crank));
  CHECK(CPIntegratorReInit(mem, 0, y));
  CHECK(CPIntegratorGradient(mem, 10, &F, NULL, &options, &G, NULL, NULL)); /* G alone */
  printf("G = %.6f J s, forward and adjoint gradients differ by %.1e of their size\n", G, worst);

  /* The published value is accurate to about 1e-5. */
  const int ok = worst <= 1e-6 && fabs(G - published) <= 2e-5;
  printf("%s\n", ok ? "ok" : "WRONG: the gradients differ, or the functional is wrong");

  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  N_VDestroy(y);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
