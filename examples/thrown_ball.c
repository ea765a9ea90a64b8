/* Example: a solid ball, thrown without spin, bounces, comes to rest on the floor, slips, and finally rolls.
 *
 *   x'' = F / m,   y'' = -g + N / m,   2/5 r^2 phi'' = -r F / m
 *   0 <= y - r  perpendicular to  N >= 0       the gap above the floor, and the normal force
 *   v_T = x' - r phi',   |F| <= mu N            sliding velocity, Coulomb's law of friction; the same for impulses
 *   impacts: y' -> -e y'
 *
 *   m = 1 kg,   r = 0.1 m,   g = 9.81 m/s^2,   mu = 0.05,   e = 0.5;   from the height h = 1 m with x' = v = 4 m/s
 *
 * Closed form: the impacts end after sqrt(2 h / g) (1 + e) / (1 - e). Whatever the friction and the impacts are, the ball
 * rolls with 5/7 v, since the floor acts only at the point of contact, about which the angular momentum is conserved.
 *
 * Run:       thrown_ball
 * Expected:  lines "t = ...: ..." for the first impacts, for the end of bouncing at 1.354571 s, for the beginning of rolling
 *            with 2.857143 m/s and for the floor's force m g, then "ok". The exit code is 1 if one of these is wrong by 1e-9,
 *            and 2 if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes_contact.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <sunmatrix/sunmatrix_dense.h>

static const sunrealtype r = 0.1, g = 9.81, mu = 0.05, e = 0.5, h = 1, v = 4;

typedef struct {
  int impacts;
  sunrealtype rest, rolls; /* times */
} Log;

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = 1;
  SM_ELEMENT_D(M, 2, 2)                         = 0.4 * r * r;
  return 0;
}

static int weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)user_data;
  f[1] = -g;
  return 0;
}

static int gap(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  p[0] = q[1] - r;
  return 0;
}

/* Row 0: the rate of the gap; row 1: the sliding velocity. The rows are constant, so b = 0. */
static int rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(A, 0, 1) = 1;
  SM_ELEMENT_D(A, 1, 0) = 1;
  SM_ELEMENT_D(A, 1, 2) = -r;
  return 0;
}

static int no_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                void *user_data) {
  (void)t, (void)q, (void)u, (void)b, (void)user_data;
  return 0;
}

static int event(const CPContactEvent *ev, void *data) {
  Log *log = data;
  log->impacts += ev->struck;
  if (ev->struck && log->impacts <= 4)
    printf("t = %.6f: impact with %.6f m/s\n", ev->t, -ev->velocity[0][0]);
  if (ev->accumulated) {
    log->rest = ev->t_closed;
    printf("t = %.6f: rests on the floor after %d impacts\n", log->rest, log->impacts);
  }
  if (ev->after == CP_CONTACT_STICKING) {
    log->rolls = ev->t;
    printf("t = %.6f: rolls\n", log->rolls);
  }
  return 0;
}

int main(void) {
  const CPEquations model = {
      CP_SIZED(CPEquations), .nu = 3,  .np = 1,  .nv = 2, .M = mass, .A = rows,
      .f = weight,           .p = gap, .b = no_b};
  const CPContactPoint floor = {
      CP_SIZED(CPContactPoint), .name = "floor", .normal = 0,         .tangent = 1,
      .ntangents = 1,           .law.mu = mu,    .law.restitution = e};
  sunrealtype t;
  Log log = {0};
  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector y = N_VNew_Serial(6, ctx);
  CHECK_NEW(y);
  N_VConst(0, y);
  N_VGetArrayPointer(y)[1] = h + r;
  N_VGetArrayPointer(y)[3] = v;

  CPModel made = CPModelCreate(&model);
  CHECK_NEW(made);
  CPMech mech = CPMechCreate(made, y, ctx);
  CPModelFree(&made);
  CHECK_NEW(mech);
  CPContact contact = CPContactCreate(mech, 1, &floor);
  CHECK_NEW(contact);
  CPSession session;
  CHECK_NEW(session = CPSessionCreate("DOP853", ctx));
  CHECK(CPContactSetEventFn(contact, event, &log));
  CHECK(CPContactAttach(contact, session));
  CHECK(CPSessionSetTolerances(session, 1e-11, 1e-11, NULL));
  CHECK(CPSessionStart(session, 0, y, 4));
  CHECK(CPSessionRun(session, 4, y, &t));

  const sunrealtype speed = N_VGetArrayPointer(y)[3], rest = sqrt(2 * h / g) * (1 + e) / (1 - e);
  printf("rolls with %.6f m/s\n", speed);
  sunrealtype force[3]; /* normal, and tangential */
  CPContactPhase phase;
  CHECK(CPContactEvaluate(contact, t, y, NULL, force, NULL, &phase));
  printf("floor: %.6f N, friction %.0e N; %ld events, %ld problems of impacts and forces\n",
         force[0], fabs(force[1]), COUNT(contact, "events"), COUNT(contact, "problems"));
  const int rolls =
      phase == CP_CONTACT_STICKING && fabs(force[0] - g) <= 1e-9 && fabs(force[1]) <= 1e-9;
  const int ok = fabs(log.rest - rest) <= 1e-9 && fabs(speed - 5 * v / 7) <= 1e-9 && rolls;
  printf("%s\n", ok ? "ok" : "WRONG: the ball rests at another time, or rolls with another speed");

  CPSessionFree(&session);
  CPContactFree(&contact);
  CPMechFree(&mech);
  N_VDestroy(y);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
