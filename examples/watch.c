/* Example: a mechanical watch: a balance wheel that a hairspring drives back, a damper slows, and an escapement kicks.
 *
 *   J1 a'' + d a' + k a = moment of the gear,   J2 b'' = its reaction,   0 = r a - b        y = (a, b, a', b')
 *   a' jumps by D in its direction when the balance passes a = 0: the escapement, a tick
 *
 *   J1 = 1e-9 kg m^2, J2 = 2e-11 kg m^2, r = 5, d = 8e-9 N m s, k = 4e-7 N m, D = 6 rad/s
 *
 * The escapement is an event source of a session: its root is the angle, and it handles the passage by the kick, which the
 * integrator takes up from the restart on.
 *
 * Closed form: with J = J1 + r^2 J2, s = d / (2 J), w = sqrt(k/J - s^2) the balance passes zero every pi / w, whatever the kicks
 * are, since they happen there (G. B. Airy 1830). From one tick to the next its speed falls by exp(-s pi/w): so the
 * speeds just after a tick tend to D / (1 - exp(-s pi/w)).
 *
 * Run:       watch
 * Expected:  the speed after some ticks, the time of the last tick and the limit of the speed with their closed forms, the
 *            method with its steps, and "ok". The exit code is 1 if the watch is wrong, and 2 if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes_session.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <sunmatrix/sunmatrix_dense.h>

static const sunrealtype J1 = 1e-9, J2 = 2e-11, ratio = 5, damping = 8e-9, spring = 4e-7, kick = 6,
                         tol = 1e-10;

static int masses(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(M, 0, 0) = J1;
  SM_ELEMENT_D(M, 1, 1) = J2;
  return 0;
}

static int moments(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   sunrealtype *f, void *user_data) {
  (void)t, (void)z, (void)user_data;
  f[0] = -spring * q[0] - damping * u[0];
  return 0;
}

static int gear(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  p[0] = ratio * q[0] - q[1];
  return 0;
}

static int gear_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(A, 0, 0) = ratio;
  SM_ELEMENT_D(A, 0, 1) = -1;
  return 0;
}

/* -------------------------------------------------------------------------- the escapement -- */

static int angle(sunrealtype t, N_Vector y, sunrealtype *g, void *data) {
  (void)t, (void)data;
  g[0] = N_VGetArrayPointer(y)[0];
  return 0;
}

static int tick(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  (void)session, (void)data;
  sunrealtype *u = N_VGetArrayPointer(y) + 2;
  u[0] += event->roots[0] * kick; /* 1: the angle rises */
  u[1] = ratio * u[0];
  return CP_RESTART;
}

/* ------------------------------------------------------------------- what the session reports -- */

typedef struct {
  int ticks;
  sunrealtype t, speed; /* of the newest tick */
  sunrealtype open;     /* the largest error of the gear at the end of a step [rad] */
  int limit;            /* 1: the speed has reached its limit */
} Record;

/* After each tick; 1 ends the run. */
static int report(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  (void)session;
  Record *r               = data;
  const sunrealtype speed = fabs(N_VGetArrayPointer(y)[2]);
  if (++r->ticks % 5 == 1) printf("tick %3d at %.6f s: %.6f rad/s\n", r->ticks, event->t, speed);
  r->limit = fabs(speed - r->speed) <= 10 * tol * speed;
  r->speed = speed;
  r->t     = event->t;
  return r->limit;
}

/* After each step: is the gear closed? */
static int observe(CPSession session, sunrealtype t, N_Vector y, void *data) {
  (void)session, (void)t;
  Record *r            = data;
  const sunrealtype *q = N_VGetArrayPointer(y);
  r->open              = fmax(r->open, fabs(ratio * q[0] - q[1]));
  return 0;
}

/* Options of the integrator, which the session creates: no step passes zero twice. */
static int configure(CPIntegrator mem, const char *method, void *data) {
  (void)method;
  return CPIntegratorSetMaxStep(mem, *(const sunrealtype *)data);
}

int main(void) {
  const sunrealtype J = J1 + ratio * ratio * J2, s = damping / (2 * J),
                    half         = acos(-1.0) / sqrt(spring / J - s * s); /* period / 2 */
  const CPEquations model        = {CP_SIZED(CPEquations), .nu = 2,      .np = 1,  .M = masses,
                                    .A = gear_matrix,      .f = moments, .p = gear};
  const CPEventSource escapement = {CP_SIZED(CPEventSource), .name = "escapement", .nroots = 1,
                                    .roots = angle, .handle = tick};
  Record r                       = {0};
  sunrealtype t = 0, longest = half / 2;
  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector y = N_VNew_Serial(4, ctx);
  CHECK_NEW(y);
  N_VConst(0, y); /* wound up: at zero, with the speed of one kick */
  N_VGetArrayPointer(y)[2] = kick;
  N_VGetArrayPointer(y)[3] = ratio * kick;

  CPModel made = CPModelCreate(&model);
  CHECK_NEW(made);
  CPMech mech = CPMechCreate(made, y, ctx);
  CHECK_NEW(mech);
  CPModelFree(&made);
  CPSession session = CPSessionCreate("DOP853", ctx);
  CHECK_NEW(session);
  CHECK(CPSessionSetMech(session, mech));
  CHECK(CPSessionSetTolerances(session, tol, tol, NULL));
  CHECK(CPSessionAddSource(session, &escapement, NULL));
  CHECK(CPSessionSetConfigFn(session, configure, &longest));
  CHECK(CPSessionSetStepFn(session, observe, &r));
  CHECK(CPSessionSetEventFn(session, report, &r));
  CHECK(CPSessionSetMaxEvents(session, 1000)); /* a watch that ticks more often has no limit */
  CHECK(CPSessionStart(session, t, y, 1000 * half));
  CHECK(CPSessionRun(session, 1000 * half, y, &t)); /* CP_STOPPED, by report */

  const sunrealtype limit = kick / (1 - exp(-s * half)), late = r.t - r.ticks * half;
  const char *method;
  CHECK(CPIntegratorGetMethod(CPSessionGetIntegrator(session), &method, NULL, NULL, NULL));
  printf("tick %3d at %.6f s, expected %.6f s: %.6f rad/s, expected %.6f rad/s\n", r.ticks, r.t,
         r.ticks * half, r.speed, limit);
  printf("%s, %ld steps; the gear is open by at most %.0e rad\n", method, COUNT(session, "steps"),
         r.open);
  /* A step may be wrong by a tolerance of the speed, and so by a tolerance of 1 rad, which takes the time tol / speed; between
     ticks errors fall as the speed does. */
  const sunrealtype steps = (sunrealtype)COUNT(session, "steps");
  const int ok =
      r.limit && fabs(late) <= steps * tol * half && fabs(r.speed - limit) <= steps * tol * limit;
  printf("%s\n", ok ? "ok" : "WRONG: the watch ticks at other times, or does not reach its limit");

  CPSessionFree(&session);
  CPMechFree(&mech);
  N_VDestroy(y);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
