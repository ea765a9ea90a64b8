/* Example: a planar pendulum in Cartesian coordinates, released horizontally, over ten periods.
 *
 *   x'' = -x tau,  y'' = -y tau - g,   tau = (x'^2 + y'^2 - g y) / L^2
 *
 *   0 = x^2 + y^2 - L^2,   0 = x x' + y y'
 *
 *   L = 1 m    rod length         g = 9.81 m/s^2    gravity along -y
 *
 * Adams' method with fixed-point iteration suits smooth motion without stiffness and needs no
 * matrix. The pendulum must return to its initial position with its initial energy (per mass).
 *
 * Run:       pendulum
 * Expected:  ten lines, with the state, energy and violation at the end of each period. Up to
 *            roundoff and version, the last one is
 *
 *            t = 23.678 s   (x, y) = (1.00000, 3e-08) m   energy 3e-07 J/kg   violation 1e-16
 *
 *            "ok" follows. The exit code is 1 if the physics is wrong, and 2 if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

typedef struct {
  sunrealtype L, g;
} Pendulum;

/* ydot = f(t, y), y = (x, y, x', y') */
static int motion(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t;
  const Pendulum *p     = user_data;
  const sunrealtype *s  = N_VGetArrayPointer(y);
  sunrealtype *sd       = N_VGetArrayPointer(ydot);
  const sunrealtype tau = (s[2] * s[2] + s[3] * s[3] - p->g * s[1]) / (p->L * p->L);

  sd[0] = s[2];
  sd[1] = s[3];
  sd[2] = -s[0] * tau;
  sd[3] = -s[1] * tau - p->g;
  return 0;
}

/* 0 = c(t, y): the length of the rod, and its rate */
static int rod_length(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  (void)t;
  const Pendulum *p    = user_data;
  const sunrealtype *s = N_VGetArrayPointer(y);
  sunrealtype *r       = N_VGetArrayPointer(c);

  r[0] = s[0] * s[0] + s[1] * s[1] - p->L * p->L;
  r[1] = s[0] * s[2] + s[1] * s[3];
  return 0;
}

static sunrealtype energy(const Pendulum *p, const sunrealtype *s) {
  return (s[2] * s[2] + s[3] * s[3]) / 2 + p->g * s[1];
}

/* Period for the amplitude 90 degrees by the arithmetic-geometric mean (Gauss):
   2 pi sqrt(L/g) / agm(1, cos 45) */
static sunrealtype period(const Pendulum *p) {
  const sunrealtype pi = acos(-1.0);
  sunrealtype a = 1, b = cos(pi / 4);
  for (int i = 0; i < 5; i++) {
    const sunrealtype mean = (a + b) / 2;
    b                      = sqrt(a * b);
    a                      = mean;
  }
  return 2 * pi * sqrt(p->L / p->g) / a;
}

int main(void) {
  const sunrealtype tol = 1e-9; /* of each step, relative and absolute */
  Pendulum p            = {.L = 1, .g = 9.81};

  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector y = N_VNew_Serial(4, ctx), c = N_VNew_Serial(2, ctx);
  CHECK_NEW(y);
  CHECK_NEW(c);
  sunrealtype *s = N_VGetArrayPointer(y), *violation = N_VGetArrayPointer(c);
  N_VConst(0, y);
  s[0] = p.L;

  CPProjector P = CPProjectorCreate(rod_length, y, c, ctx);
  CHECK_NEW(P);
  CHECK(CPProjectorSetUserData(P, &p));

  CPIntegrator mem      = CPIntegratorCreate("ADAMS", ctx);
  SUNNonlinearSolver fp = SUNNonlinSol_FixedPoint(y, 0, ctx);
  CHECK_NEW(mem);
  CHECK_NEW(fp);
  CHECK(CPIntegratorInit(mem, motion, 0, y));
  CHECK(CPIntegratorSStolerances(mem, tol, tol));
  CHECK(CPIntegratorSetNonlinearSolver(mem, fp));
  CHECK(CPIntegratorSetProjector(mem, P));
  CHECK(CVodeSetUserData(CPIntegratorGetCVodeMem(mem), &p)); /* all of CVODES' functions apply */
  CHECK(CVodeSetMaxNumSteps(CPIntegratorGetCVodeMem(mem), 100000));

  sunrealtype t = 0, worst_violation = 0, worst_energy = 0;
  for (int turn = 1; turn <= 10; turn++) {
    CHECK(CPIntegratorEvolve(mem, turn * period(&p), y, &t, CV_NORMAL));
    CHECK(rod_length(t, y, c, &p));
    worst_violation = fmax(worst_violation, fmax(fabs(violation[0]), fabs(violation[1])));
    worst_energy    = fmax(worst_energy, fabs(energy(&p, s)));
    printf("t = %6.3f s   (x, y) = (%.5f, %9.1e) m   energy %9.1e J/kg   violation %7.1e\n", t,
           s[0], s[1], energy(&p, s), fmax(fabs(violation[0]), fabs(violation[1])));
  }

  /* A step changes the constraints by less than its tolerance. The energy accumulates the errors of about
     2000 steps, |v| (1 + |v|) tol < 2.4e-8 J/kg each, of which CVODES aims at a sixth. The error of the
     height is that of the energy divided by g. */
  const int ok = worst_violation <= tol && worst_energy <= 1e-5 && fabs(s[1]) <= 1e-5;
  printf("%s\n",
         ok ? "ok" : "WRONG: the pendulum is off its rod, has changed its energy or is late");

  CPIntegratorFree(&mem);
  CPProjectorFree(&P);
  SUNNonlinSolFree(fp);
  N_VDestroy(y);
  N_VDestroy(c);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
