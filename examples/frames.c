/* Example: the frames of an animation, taken from a run step by step. A ball bounces until it rests.
 *
 *   y'' = -g,   y = 0: y' -> -e y'                 g = 9.81 m/s^2, e = 0.7, from rest at the height h = 1 m
 *
 * A program with a loop of its own, such as a window system, asks a session for one step at a time (CPSessionStep), draws the
 * frames within that step (CPSessionGetDky), and learns of an event before it is handled (CPSessionGetEvent), here to play
 * the sound of the impact. The integrator is the program's: a method of ARKODE, with an option of its own.
 *
 * The floor is an event source. It ends the run when the ball would rise by less than the session's tolerance.
 *
 * Closed form: impact k + 1 happens sqrt(2 h/g) (1 + 2 e + ... + 2 e^k) after the start, and between two of them the height is a
 * parabola.
 *
 * Run:       frames
 * Expected:  a picture with a column for each of the first 60 frames, 40 a second; the number of impacts, the largest errors
 *            of their times and of the heights in all frames, and "ok". The exit code is 1 if an error is above 1e-8, and 2 if
 *            a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes_session.h>
#include <math.h>
#include <nvector/nvector_serial.h>

enum { FRAMES = 60, ROWS = 12 };
static const sunrealtype g = 9.81, e = 0.7, h = 1, frame = 0.025, t_end = 10;

static int fall(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t, (void)user_data;
  N_VGetArrayPointer(ydot)[0] = N_VGetArrayPointer(y)[1];
  N_VGetArrayPointer(ydot)[1] = -g;
  return 0;
}

static int height(sunrealtype t, N_Vector y, sunrealtype *gap, void *data) {
  (void)t, (void)data;
  gap[0] = N_VGetArrayPointer(y)[0];
  return 0;
}

static int bounce(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  (void)event, (void)data;
  sunrealtype *v = N_VGetArrayPointer(y) + 1, atol;
  v[0] *= -e;
  CHECK(CPSessionGetTolerances(session, NULL, &atol));
  return v[0] * v[0] / (2 * g) < atol ? CP_STOP : CP_RESTART;
}

/* The closed form: time of impact k = 0, 1, ..., and height at t */
static sunrealtype impact(int k) {
  return sqrt(2 * h / g) * (1 + 2 * e * (1 - pow(e, k)) / (1 - e));
}

static sunrealtype exact(sunrealtype t) {
  const sunrealtype first = impact(0);
  if (t < first) return h - g * t * t / 2;
  int k = 0;
  while (t >= impact(k + 1)) k++;
  const sunrealtype since = t - impact(k);
  return pow(e, k + 1) * g * first * since - g * since * since / 2;
}

int main(void) {
  const int falling          = -1;
  const CPEventSource ground = {CP_SIZED(CPEventSource), .name = "ground",      .nroots = 1,
                                .roots = height,         .direction = &falling, .handle = bounce};
  char picture[ROWS][FRAMES + 1];
  sunrealtype t = 0, worst = 0, off = 0;
  int source, flag, impacts = 0, next = 0;
  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector y = N_VNew_Serial(2, ctx), now = N_VNew_Serial(2, ctx);
  CHECK_NEW(y);
  CHECK_NEW(now);
  N_VGetArrayPointer(y)[0] = h;
  N_VGetArrayPointer(y)[1] = 0;

  CPIntegrator mem = CPIntegratorCreate("ARKODE_DORMAND_PRINCE_7_4_5", ctx);
  CHECK_NEW(mem);
  CHECK(CPIntegratorSetMaxStep(mem, 10 * frame)); /* so that no drawing waits for a long step */
  CPSession session = CPSessionCreate(NULL, ctx);
  CHECK_NEW(session);
  CHECK(CPSessionSetIntegrator(session, mem));
  CHECK(CPSessionSetRhsFn(session, fall, NULL));
  CHECK(CPSessionSetTolerances(session, 1e-10, 1e-10, NULL));
  CHECK(CPSessionAddSource(session, &ground, &source));
  CHECK(CPSessionStart(session, t, y, t_end));

  for (int row = 0; row < ROWS; row++)
    snprintf(picture[row], sizeof picture[row], "%*s", FRAMES, "");
  sunrealtype before = t;
  while ((flag = CPSessionStep(session, t_end, y, &t)) != CP_STOPPED && flag != CV_TSTOP_RETURN) {
    CHECK(flag);
    if (t == before) continue; /* an event has been handled */
    before = t;
    for (; next * frame <= t; next++) {
      CHECK(CPSessionGetDky(session, next * frame, 0, now));
      const sunrealtype z = N_VGetArrayPointer(now)[0];
      worst               = fmax(worst, fabs(z - exact(next * frame)));
      const int row       = (int)(ROWS * fmax(0, fmin(z, 0.999 * h)) / h);
      if (next < FRAMES) picture[row][next] = 'o';
    }
    if (flag == CV_ROOT_RETURN) { /* The next call handles it. */
      CPEvent event = CP_INIT(CPEvent);
      CHECK(CPSessionGetEvent(session, source, &event));
      off = fmax(off, fabs(event.t - impact(impacts++)));
    }
  }
  for (int row = ROWS - 1; row >= 0; row--) printf("%s\n", picture[row]);
  for (int i = 0; i < FRAMES; i++) printf("-");
  printf("\n%d impacts in %.6f s, off by at most %.0e s; %d frames, off by at most %.0e m\n",
         impacts, t, off, next, worst);
  /* Impact k leaves e^2k of the height. Each of about a hundred steps has a tolerance of 1e-10. */
  const int last = (int)ceil(log(1e-10 / h) / (2 * log(e)));
  const int ok   = flag == CP_STOPPED && impacts == last && off <= 1e-8 && worst <= 1e-8;
  printf("%s\n", ok ? "ok" : "WRONG: the ball is elsewhere, or does not come to rest");

  CPSessionFree(&session);
  CPIntegratorFree(&mem);
  N_VDestroy(now);
  N_VDestroy(y);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
