/* Example: a knife edge (an ice skate) on an inclined plane, a nonholonomic constraint.
 *
 *   x'' = g sin(alpha) + lambda sin(phi),   y'' = -lambda cos(phi),   phi'' = 0
 *
 *   0 = x' sin(phi) - y' cos(phi)           the blade does not slip sideways
 *
 *   g = 9.81 m/s^2      gravity                  omega = 1.5 rad/s    initial spin
 *   alpha = 0.3 rad     inclination              x down the slope, y along it [m]
 *                                                phi the blade's angle from x [rad]
 *
 * The constraint is not the rate of any function of the positions, so that the blade can reach
 * every place and angle, and only velocities are projected. Released with a spin but no velocity, the
 * skate does not slide down but drifts along the slope on a cycloid, by pi b = 2.02 m in each half
 * turn. The functions of the mechanism, with their source, are in models/knife_edge.c.
 *
 * Run:       knife_edge
 * Expected:  a table of t, x, y, phi, energy per mass, slip and error against the closed form, and
 *            "ok". The exit code is 1 if the physics is wrong, and 2 if a call failed.
 */
#include "models/knife_edge.h"
#include "check_flag.h"
#include <cpodes/cpodes.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

/* max_i |y_i - exact_i| */
static sunrealtype error_of(const KnifeEdge *k, sunrealtype t, const sunrealtype *y) {
  sunrealtype exact[KNIFE_EDGE_N], error = 0;
  knife_edge_exact(k, t, exact);
  for (int i = 0; i < KNIFE_EDGE_N; i++) error = fmax(error, fabs(y[i] - exact[i]));
  return error;
}

int main(void) {
  const sunrealtype tol = 1e-8;
  KnifeEdge k           = {.g = 9.81, .alpha = 0.3, .omega = 1.5};

  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector y = N_VNew_Serial(KNIFE_EDGE_N, ctx), c = N_VNew_Serial(KNIFE_EDGE_M, ctx);
  CHECK_NEW(y);
  CHECK_NEW(c);
  const sunrealtype *s = N_VGetArrayPointer(y), *slip = N_VGetArrayPointer(c);
  knife_edge_initial(&k, y);

  CPProjector P = CPProjectorCreate(knife_edge_constraints, y, c, ctx);
  CHECK_NEW(P);
  CHECK(CPProjectorSetUserData(P, &k));

  /* Holds the positions, which are determined by the velocities alone. */
  int free_components[KNIFE_EDGE_N];
  for (int i = 0; i < KNIFE_EDGE_N; i++) free_components[i] = i >= 3;
  CHECK(CPProjectorSetFree(P, free_components));

  CPIntegrator mem      = CPIntegratorCreate("ADAMS", ctx);
  SUNNonlinearSolver fp = SUNNonlinSol_FixedPoint(y, 0, ctx);
  CHECK_NEW(mem);
  CHECK_NEW(fp);
  CHECK(CPIntegratorInit(mem, knife_edge_rhs, 0, y));
  CHECK(CPIntegratorSStolerances(mem, tol, tol));
  CHECK(CPIntegratorSetNonlinearSolver(mem, fp));
  CHECK(CPIntegratorSetProjector(mem, P));
  CHECK(CVodeSetUserData(CPIntegratorGetCVodeMem(mem), &k));

  printf("   t [s]     x [m]     y [m]  phi [rad]  energy [J/kg]  slip [m/s]     error\n");
  sunrealtype t = 0, worst_slip = 0, worst_error = 0, worst_energy = 0;
  for (int i = 1; i <= 10; i++) {
    CHECK(CPIntegratorEvolve(mem, i, y, &t, CV_NORMAL));
    CHECK(knife_edge_constraints(t, y, c, &k));
    worst_slip   = fmax(worst_slip, fabs(slip[0]));
    worst_error  = fmax(worst_error, error_of(&k, t, s));
    worst_energy = fmax(worst_energy, fabs(knife_edge_energy(&k, y)));
    printf("%8.3f  %8.5f  %8.5f   %8.5f       %8.1e    %8.1e  %8.1e\n", t, s[0], s[1], s[2],
           knife_edge_energy(&k, y), slip[0], error_of(&k, t, s));
  }

  /* The slip is that of one step. Errors of the state add up without growing, since the solution depends
     linearly on initial values and time: about 300 steps of tol (1 + |y|) with |y| <= 15. The error of the
     energy is that of a step times speed and slope, which are below 6. */
  const int ok = worst_slip <= tol && worst_error <= 300 * 16 * tol && worst_energy <= 300 * 6 * tol;
  printf("%s\n", ok ? "ok" : "WRONG: the blade slips, leaves its cycloid or changes its energy");

  CPIntegratorFree(&mem);
  CPProjectorFree(&P);
  SUNNonlinSolFree(fp);
  N_VDestroy(y);
  N_VDestroy(c);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
