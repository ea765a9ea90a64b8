/* Example: a pendulum in Cartesian coordinates that bounces off a stop until it rests there.
 *
 *   m (x'', y'') + A^T lambda = (0, -m g)                      (x, y) = L (sin theta, -cos theta)
 *   0  = (x^2 + y^2 - L^2) / (2 L)                             rod
 *   0 <= x cos beta + y sin beta  =  L sin(theta - beta)       stop at the angle beta: inactive while open
 *
 *   L = 1 m    rod length      g = 9.81 m/s^2    gravity along -y
 *   m = 2 kg   mass            e = 0.6           coefficient of restitution of the stop
 *   beta = 30 degrees          released at rest at 120 degrees
 *
 * CVODES finds where the gap closes, CPMechImpact computes the velocity after the impact, and the
 * integrator restarts. Infinitely many impacts would follow in finite time. When the mass arrives with
 * less than 1 % of its first speed, the contact therefore closes (e = 0), and its row becomes active.
 *
 * Closed form: the motion from the stop with speed v up to the amplitude alpha, and back, takes
 *
 *   2 sqrt(L/g) (K(k) - F(phi, k)),   k = sin(alpha/2),  sin(phi) = sin(beta/2) / k,
 *   cos(alpha) = cos(beta) - v^2 / (2 g L),
 *
 * and v decreases by the factor e. At rest the rod pulls with m g cos beta, the stop pushes with
 * m g sin beta.
 *
 * Run:       bouncing
 * Expected:  11 lines, of which, up to roundoff and version, the first and the last begin with
 *
 *              impact  1 at t = 0.5904937 s (error 2e-09)   speed 5.1770 m/s
 *              impact 11 at t = 3.0134250 s (error 1e-07)   speed 0.0313 m/s
 *
 *            and end with the loss of kinetic energy, 17.2 J and 0.00098 J. Then
 *            "at rest at 30.000 degrees: rod 16.991 N, stop 9.810 N" and "ok". The exit code is 1 if
 *            the physics is wrong, and 2 if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes_mechanics.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <sunmatrix/sunmatrix_dense.h>

enum { ROD, STOP, ROWS };

#define PI 3.14159265358979323846

typedef struct {
  sunrealtype L, g, m, e, beta, start;
} Pendulum;

/* ---- the mechanism ---- */

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = ((const Pendulum *)user_data)->m;
  return 0;
}

static int weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z;
  const Pendulum *s = user_data;
  f[1]              = -s->m * s->g;
  return 0;
}

static int rod_and_stop(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t;
  const Pendulum *s = user_data;
  p[ROD]            = (q[0] * q[0] + q[1] * q[1] - s->L * s->L) / (2 * s->L);
  p[STOP]           = q[0] * cos(s->beta) + q[1] * sin(s->beta);
  return 0;
}

static int directions(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t;
  const Pendulum *s        = user_data;
  SM_ELEMENT_D(A, ROD, 0)  = q[0] / s->L;
  SM_ELEMENT_D(A, ROD, 1)  = q[1] / s->L;
  SM_ELEMENT_D(A, STOP, 0) = cos(s->beta);
  SM_ELEMENT_D(A, STOP, 1) = sin(s->beta);
  return 0;
}

/* Zero where the contact closes. CVODES calls it with the CPMech as user_data. */
static int gap(sunrealtype t, N_Vector y, sunrealtype *g, void *mech) {
  sunrealtype p[ROWS];
  rod_and_stop(t, N_VGetArrayPointer(y), p, CPMechGetUserData(mech));
  *g = p[STOP];
  return 0;
}

/* ---- the closed form ---- */

/* Carlson's R_F by duplication (B. C. Carlson, Numerical Algorithms 10, 1995) */
static sunrealtype carlson(sunrealtype x, sunrealtype y, sunrealtype z) {
  for (int i = 0; i < 40; i++) {
    const sunrealtype d = sqrt(x * y) + sqrt(x * z) + sqrt(y * z);
    x = (x + d) / 4, y = (y + d) / 4, z = (z + d) / 4;
  }
  return 1 / sqrt((x + y + z) / 3);
}

/* Time from angle beta up to the amplitude alpha. */
static sunrealtype rise_time(const Pendulum *s, sunrealtype alpha) {
  const sunrealtype k = sin(alpha / 2), sin_phi = sin(s->beta / 2) / k;
  const sunrealtype K = carlson(0, 1 - k * k, 1);
  const sunrealtype F = sin_phi * carlson(1 - sin_phi * sin_phi, 1 - k * k * sin_phi * sin_phi, 1);
  return sqrt(s->L / s->g) * (K - F);
}

static sunrealtype amplitude(const Pendulum *s, sunrealtype speed) {
  return acos(cos(s->beta) - speed * speed / (2 * s->g * s->L));
}

/* ---- events ---- */

static sunrealtype kinetic_energy(const Pendulum *s, N_Vector y) {
  const sunrealtype *u = N_VGetArrayPointer(y) + 2;
  return s->m * (u[0] * u[0] + u[1] * u[1]) / 2;
}

/* The mass strikes the stop: y in, out. */
static void strike(CPMech mech, sunrealtype t, N_Vector y, sunrealtype e) {
  const int named[ROWS] = {[STOP] = 1};
  CHECK(CPMechImpact(mech, t, y, named, e, NULL));
}

/* From now on the contact is a constraint like the rod, and no longer an event. */
static void close_contact(CPMech mech, void *cvode_mem) {
  CHECK(CPMechSetActive(mech, NULL));
  CHECK(CVodeRootInit(cvode_mem, 0, NULL));
}

int main(void) {
  Pendulum s           = {.L = 1, .g = 9.81, .m = 2, .e = 0.6, .beta = PI / 6, .start = 2 * PI / 3};
  const int open[ROWS] = {[ROD] = 1};
  const sunrealtype tol = 1e-10, first = sqrt(2 * s.g * s.L * (cos(s.beta) - cos(s.start)));
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 2,     .np = ROWS,       .M = mass,
                             .A = directions,       .f = weight, .p = rod_and_stop};

  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector y = N_VNew_Serial(4, ctx);
  CHECK_NEW(y);
  sunrealtype *q = N_VGetArrayPointer(y), *u = q + 2;
  q[0] = s.L * sin(s.start), q[1] = -s.L * cos(s.start), u[0] = u[1] = 0;

  CPModel made = CPModelCreate(&model);
  CHECK_NEW(made);
  CPMech mech = CPMechCreate(made, y, ctx);
  CPModelFree(&made);
  CPIntegrator mem = CPIntegratorCreate("BDF", ctx);
  CHECK_NEW(mech);
  CHECK_NEW(mem);
  CHECK(CPMechSetUserData(mech, &s));
  CHECK(CPMechSetActive(mech, open));
  CHECK(CPMechAttach(mech, mem, 0, y));
  CHECK(CPIntegratorSStolerances(mem, tol, tol));
  void *cvode_mem = CPIntegratorGetCVodeMem(mem);
  CHECK(CVodeRootInit(cvode_mem, 1, gap));
  CHECK(CVodeSetRootDirection(cvode_mem, (int[]){-1})); /* closing only */

  int impacts = 0, closed = 0;
  sunrealtype t = 0, speed = first, exact = rise_time(&s, s.start), worst = 0;
  while (!closed) {
    CHECK(CPIntegratorEvolve(mem, 10, y, &t, CV_NORMAL)); /* returns at the impact */
    const sunrealtype error = fabs(t - exact), arriving = kinetic_energy(&s, y);
    worst  = fmax(worst, error);
    closed = speed < 0.01 * first;
    strike(mech, t, y, closed ? 0 : s.e);
    printf("impact %2d at t = %.7f s (error %.1e)   speed %.4f m/s   kinetic energy lost %.3g J\n",
           ++impacts, t, error, sqrt(2 * arriving / s.m), arriving - kinetic_energy(&s, y));
    if (closed) close_contact(mech, cvode_mem);
    CHECK(CPIntegratorReInit(mem, t, y));
    speed *= s.e;
    exact += 2 * rise_time(&s, amplitude(&s, speed));
  }

  CPMechOutput out = CP_INIT(CPMechOutput);
  sunrealtype lambda[ROWS];
  out.lambda = lambda;
  CHECK(CPIntegratorEvolve(mem, 10, y, &t, CV_NORMAL));
  CHECK(CPMechEvaluate(mech, t, y, &out));
  printf("at rest at %.3f degrees: rod %.3f N, stop %.3f N, kinetic energy %.1e J\n",
         atan2(q[0], -q[1]) * 180 / PI, lambda[ROD], -lambda[STOP], out.kinetic);

  /* Before an impact each of about 100 steps shifts the mass by tol. It arrives with 3 cm/s or more, so the
     error of the time is up to 100 tol / 0.03 = 3e-7 s. After the contact has closed nothing moves. The
     position is accurate to tol, and the forces, about 20 N, are functions of it. */
  const int ok = impacts == 11 && worst <= 1e-6 && out.kinetic <= tol &&
                 fabs(atan2(q[0], -q[1]) - s.beta) <= tol &&
                 fabs(lambda[ROD] - s.m * s.g * cos(s.beta)) <= 100 * tol &&
                 fabs(lambda[STOP] + s.m * s.g * sin(s.beta)) <= 100 * tol;
  printf("%s\n", ok ? "ok" : "WRONG: impacts come late, or the rest is none");

  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  N_VDestroy(y);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
