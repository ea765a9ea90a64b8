/* Example: a controller holds an inverted pendulum upright by a torque that it sets every 20 ms.
 *
 *   theta'' = (g / l) sin theta + T,   T = -k theta - d theta' at the newest sample,   g / l = 9.81 s^-2
 *
 * The controller is an event source of a session with a period. The right-hand side jumps at its samples, so the integrator restarts, with its
 * step size. Outputs are independent of the samples.
 *
 * Run:       controlled
 * Expected:  five lines "t = ...", then "ok" if theta(2) is within 1e-8 of the reference, which scipy's DOP853 gives at
 *            rtol 1e-13, from sample to sample. The exit code is 1 otherwise, and 2 if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes_session.h>
#include <math.h>
#include <nvector/nvector_serial.h>

static const sunrealtype g_l = 9.81, k = 40, d = 8, period = 0.02;
static const sunrealtype reference = 4.92177084073e-05; /* theta(2) */

typedef struct {
  sunrealtype torque;
} Controller;

static int pendulum(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  const Controller *c  = user_data;
  const sunrealtype *x = N_VGetArrayPointer(y); /* theta, theta' */
  sunrealtype *rate    = N_VGetArrayPointer(ydot);
  (void)t;
  rate[0] = x[1];
  rate[1] = g_l * sin(x[0]) + c->torque;
  return 0;
}

static int sample(CPSession session, const CPEvent *event, N_Vector y, void *controller) {
  const sunrealtype *x = N_VGetArrayPointer(y);
  Controller *c        = controller;
  (void)session, (void)event;
  c->torque = -k * x[0] - d * x[1];
  return CP_RESTART; /* f has changed */
}

static int print(CPSession session, sunrealtype t, N_Vector y, void *data) {
  (void)session, (void)data;
  printf("t = %.1f  theta = %9.6f\n", t, N_VGetArrayPointer(y)[0]);
  return 0;
}

int main(void) {
  Controller controller       = {0};
  const CPEventSource source  = {.size   = sizeof source,
                                 .name   = "controller",
                                 .data   = &controller,
                                 .handle = sample,
                                 .period = period}; /* from t = 0 on */
  const sunrealtype outputs[] = {0, 0.5, 1, 1.5, 2};
  sunrealtype t;
  SUNContext ctx;
  CPSession session;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector y = N_VNew_Serial(2, ctx);
  CHECK_NEW(y);
  N_VGetArrayPointer(y)[0] = 0.2;
  N_VGetArrayPointer(y)[1] = 0;

  CHECK_NEW(session = CPSessionCreate("DOP853", ctx));
  CHECK(CPSessionSetRhsFn(session, pendulum, &controller));
  CHECK(CPSessionSetTolerances(session, 1e-10, 1e-10, NULL));
  CHECK(CPSessionAddSource(session, &source, NULL));
  CHECK(CPSessionSetOutputFn(session, 5, outputs, print, NULL));
  CHECK(CPSessionStart(session, 0, y, 2));
  CHECK(CPSessionRun(session, 2, y, &t));

  const int ok = fabs(N_VGetArrayPointer(y)[0] - reference) <= 1e-8;
  printf("%s\n", ok ? "ok" : "WRONG: not the angle of the reference");
  CPSessionFree(&session);
  N_VDestroy(y);
  SUNContext_Free(&ctx);
  return ok ? 0 : 1;
}
