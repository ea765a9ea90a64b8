/* Example: Hohmann's transfer of a satellite from a low orbit to the geostationary one, by two burns.
 *
 *   r' = v,   v' = -mu r / |r|^3                                   y = (x, y, x', y') [km, km/s]
 *   0 = |v|^2 / 2 - mu / |r| - E,   0 = x y' - y x' - h           energy and angular momentum, constant between burns
 *
 *   mu = 398600.4418 km^3/s^2 (WGS 84),   from a circle of r_1 = 7000 km to one of r_2 = 42164.17 km
 *
 * Closed form (W. Hohmann 1925): the first burn, at 1000 s, adds sqrt(mu (2/r_1 - 1/a)) - sqrt(mu/r_1) to the speed, a = (r_1 +
 * r_2) / 2. The satellite is at its highest point pi sqrt(a^3/mu) later, where the second burn adds sqrt(mu/r_2) - sqrt(mu (2/r_2
 * - 1/a)).
 *
 * The loop is one as around CVODES. It stops at the first burn, whose time is known, and at the second one, which is a root of
 * r . v. Outputs are interpolated, and so take no steps of their own. The error of a vector is judged by its length, not by its
 * components, which change their signs.
 *
 * Run:       orbit
 * Expected:  the distance every 5,000 s, both burns, how well the time of the second is known, the largest errors of distances
 *            and interpolated velocities in units of the tolerance, and "ok". The exit code is 1 if the second burn comes at
 *            a wrong time, or the last orbit is no circle of r_2, and 2 if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes_integrator.h>
#include <math.h>
#include <nvector/nvector_serial.h>

static const sunrealtype mu = 398600.4418, r1 = 7000, r2 = 42164.17, burn = 1000, t_end = 60000,
                         tol = 1e-9;

typedef struct {
  sunrealtype E, h;
} Orbit;

static int motion(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype *s = N_VGetArrayPointer(y), r = hypot(s[0], s[1]);
  sunrealtype *sd = N_VGetArrayPointer(ydot);
  sd[0] = s[2], sd[1] = s[3];
  sd[2] = -mu * s[0] / (r * r * r), sd[3] = -mu * s[1] / (r * r * r);
  return 0;
}

static Orbit orbit_of(N_Vector y) {
  const sunrealtype *s = N_VGetArrayPointer(y);
  return (Orbit){.E = (s[2] * s[2] + s[3] * s[3]) / 2 - mu / hypot(s[0], s[1]),
                 .h = s[0] * s[3] - s[1] * s[2]};
}

static int invariants(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  (void)t;
  const Orbit now = orbit_of(y), *orbit = user_data;
  N_VGetArrayPointer(c)[0] = now.E - orbit->E;
  N_VGetArrayPointer(c)[1] = now.h - orbit->h;
  return 0;
}

static int weights(N_Vector y, N_Vector ewt, void *user_data) {
  (void)user_data;
  const sunrealtype *s = N_VGetArrayPointer(y);
  sunrealtype *w       = N_VGetArrayPointer(ewt);
  w[0] = w[1] = 1 / (tol * hypot(s[0], s[1]));
  w[2] = w[3] = 1 / (tol * hypot(s[2], s[3]));
  return 0;
}

/* Changes its sign, falling, at the highest point. */
static int rise(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype *s = N_VGetArrayPointer(y);
  g[0]                 = s[0] * s[2] + s[1] * s[3];
  return 0;
}

/* Adds dv along the velocity, and starts again on the new orbit. */
static void fire(CPIntegrator mem, CPProjector P, sunrealtype t, N_Vector y, sunrealtype dv,
                 Orbit *orbit) {
  sunrealtype *s = N_VGetArrayPointer(y), more = 1 + dv / hypot(s[2], s[3]);
  s[2] *= more, s[3] *= more;
  *orbit = orbit_of(y);
  CHECK(CPIntegratorReInit(mem, t, y));
  CHECK(CPIntegratorSetProjector(mem, P)); /* The data of its function have changed. */
  printf("t = %8.1f s: burn of %.4f km/s\n", t, dv);
}

int main(void) {
  const sunrealtype a = (r1 + r2) / 2, coast = acos(-1.0) * sqrt(a * a * a / mu);
  const sunrealtype first  = sqrt(mu * (2 / r1 - 1 / a)) - sqrt(mu / r1),
                    second = sqrt(mu / r2) - sqrt(mu * (2 / r2 - 1 / a));
  Orbit orbit;
  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector y = N_VNew_Serial(4, ctx), c = N_VNew_Serial(2, ctx);
  CHECK_NEW(y);
  CHECK_NEW(c);
  N_Vector output = N_VClone(y), rate = N_VClone(y);
  CHECK_NEW(output);
  CHECK_NEW(rate);
  N_VConst(0, y);
  N_VGetArrayPointer(y)[0] = r1;
  N_VGetArrayPointer(y)[3] = sqrt(mu / r1);
  orbit                    = orbit_of(y);

  CPProjector P    = CPProjectorCreate(invariants, y, c, ctx);
  CPIntegrator mem = CPIntegratorCreate("DOP853", ctx);
  CHECK_NEW(P);
  CHECK_NEW(mem);
  CHECK(CPIntegratorInit(mem, motion, 0, y));
  CHECK(CPIntegratorSetUserData(mem, &orbit));
  CHECK(CPIntegratorWFtolerances(mem, weights));
  CHECK(CPIntegratorSetProjector(mem, P));
  CHECK(CPIntegratorSetInitStep(mem, 10)); /* s; a revolution takes an hour and a half */
  CHECK(CPIntegratorSetStopTime(mem, burn));

  sunrealtype t = 0, next = 0, low = 0, high = 0, arrival = 0, off = 0, interpolation = 0;
  int steps = 0; /* the counters of mem begin anew at each burn */
  for (; t < t_end; steps++) {
    const int flag = CPIntegratorEvolve(mem, t_end, y, &t, CV_ONE_STEP);
    CHECK(flag);
    for (; next <= t && next <= t_end; next += 1000) {
      CHECK(CPIntegratorGetDky(mem, next, 0, output));
      CHECK(CPIntegratorGetDky(mem, next, 1, rate)); /* r' of the interpolant should be v */
      const sunrealtype *s = N_VGetArrayPointer(output), *sd = N_VGetArrayPointer(rate);
      const sunrealtype r = hypot(s[0], s[1]), v = hypot(s[2], s[3]);
      interpolation = fmax(interpolation, hypot(sd[0] - s[2], sd[1] - s[3]) / (tol * v));
      if (next < burn) off = fmax(off, fabs(r - r1) / (tol * r1));
      if (arrival > 0 && next > arrival) off = fmax(off, fabs(r - r2) / (tol * r2));
      if (fmod(next, 5000) == 0) printf("t = %8.1f s: distance %10.3f km\n", next, r);
    }
    if (flag == CV_TSTOP_RETURN) {
      fire(mem, P, t, y, first, &orbit);
      CHECK(CPIntegratorRootInit(mem, 1, rise));
      CHECK(CPIntegratorSetRootDirection(mem, (int[]){-1}));
    } else if (flag == CV_ROOT_RETURN) {
      CHECK(CPIntegratorGetRootWindow(mem, &low, &high));
      arrival = t;
      CHECK(CPIntegratorRootInit(mem, 0, NULL)); /* On a circle r . v is always zero. */
      fire(mem, P, t, y, second, &orbit);
    }
  }
  const sunrealtype late = arrival - burn - coast;
  printf("second burn: off by %.0e s, its root known to %.0e s\n", fabs(late), high - low);
  printf("%d steps; largest errors in units of the tolerance: distance %.1f, interpolated "
         "velocity %.1f\n",
         steps, off, interpolation);
  /* Each step may add one tolerance to the state, and so to the time of its highest point in units of the revolution. */
  const int ok = fabs(late) <= steps * tol * coast && high - low <= tol * coast && off <= steps;
  printf("%s\n", ok ? "ok" : "WRONG: the satellite arrives at another time, or on another orbit");

  CPIntegratorFree(&mem);
  CPProjectorFree(&P);
  N_VDestroy(output);
  N_VDestroy(rate);
  N_VDestroy(y);
  N_VDestroy(c);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
