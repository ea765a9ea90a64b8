/* Example: five balls fall onto each other and come to rest as a column: impacts that are too many to be located one by one.
 *
 *   m q_i'' = -m g + N_i - N_{i+1}                     heights q_0 < q_1 < ... of the centres, radius r
 *   0 <= q_0 - r,  0 <= q_i - q_{i-1} - 2 r            the gaps, each perpendicular to its force N_i >= 0
 *   impacts: the rate of a gap -> -e times that
 *
 *   m = 0.1 kg, r = 0.03 m, g = 9.81 m/s^2, e = 0.6; from rest with gaps of 0.2, 0.05, 0.02, 0.03 and 0.06 m
 *
 * The impacts of one ball drive those of its neighbours, so that their number grows without limit before the column rests. Where
 * more than 40 of them happen within 0.05 s, time stepping takes over: contacts then act by impulses at the ends of steps, and
 * what is lost is the place of single impacts, not the end of the motion. The message handler is told where that begins and ends.
 *
 * Run:       column
 * Expected:  the first impacts, both ends of each interval of time stepping with the energy there, the forces in the contacts at
 *            rest, 5 m g at the floor and m g at the top, and "ok". The exit code is 1 if the column does not rest, or a
 *            force is wrong by 1e-9, and 2 if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes_contact.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <sunmatrix/sunmatrix_dense.h>

enum { N = 5 };
static const sunrealtype m = 0.1, r = 0.03, g = 9.81, e = 0.6, tol = 1e-8;
static const sunrealtype gaps[N] = {0.2, 0.05, 0.02, 0.03, 0.06};

static int masses(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  for (int i = 0; i < N; i++) SM_ELEMENT_D(M, i, i) = m;
  return 0;
}

static int weights(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)user_data;
  for (int i = 0; i < N; i++) f[i] = -m * g;
  return 0;
}

static int gap(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  p[0] = q[0] - r;
  for (int i = 1; i < N; i++) p[i] = q[i] - q[i - 1] - 2 * r;
  return 0;
}

static int gap_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)q, (void)user_data;
  for (int i = 0; i < N; i++) SM_ELEMENT_D(A, i, i) = 1;
  for (int i = 1; i < N; i++) SM_ELEMENT_D(A, i, i - 1) = -1;
  return 0;
}

static int no_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                void *user_data) {
  (void)t, (void)q, (void)u, (void)b, (void)user_data;
  return 0;
}

typedef struct {
  CPMech mech;
  N_Vector y; /* the newest state */
  int ends;   /* of intervals of time stepping, both ends counted */
} Watch;

/* Energy above the column at rest [J] */
static sunrealtype energy(N_Vector y) {
  const sunrealtype *q = N_VGetArrayPointer(y), *u = q + N;
  sunrealtype E = 0;
  for (int i = 0; i < N; i++) E += m * (u[i] * u[i] / 2 + g * (q[i] - (2 * i + 1) * r));
  return E;
}

/* Messages: warnings at both ends of an interval. One may come while a function of the mechanism works, where nothing can be
   evaluated. */
static void message(int code, const char *function, const char *text, void *data) {
  Watch *w = data;
  (void)function;
  printf("%s", text);
  if (code == CV_WARNING && !(CPMechGetUse(w->mech) & CP_MECH_BUSY)) {
    printf("; energy %.6f J", energy(w->y));
    w->ends++;
  }
  printf("\n");
}

int main(void) {
  const CPEquations model          = {CP_SIZED(CPEquations), .nu = N,      .np = N,  .M = masses,
                                      .A = gap_matrix,       .f = weights, .p = gap, .b = no_b};
  static const char *const name[N] = {"floor", "ball 1", "ball 2", "ball 3", "ball 4"};
  CPContactPoint point[N];
  CPContactPhase phase[N];
  sunrealtype force[3 * N], gaps_now[N], t = 0;
  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector y = N_VNew_Serial(2 * N, ctx);
  CHECK_NEW(y);
  N_VConst(0, y);
  sunrealtype *q = N_VGetArrayPointer(y);
  for (int i = 0; i < N; i++) {
    q[i]     = gaps[i] + (i ? q[i - 1] + 2 * r : r);
    point[i] = (CPContactPoint){CP_SIZED(CPContactPoint), .name = name[i], .normal = i,
                                .law.restitution = e};
  }
  Watch w = {.y = y};

  CPModel made = CPModelCreate(&model);
  CHECK_NEW(made);
  CHECK_NEW(w.mech = CPMechCreate(made, y, ctx));
  CPModelFree(&made);
  CPContact contact = CPContactCreate(w.mech, N, point);
  CPSession session = CPSessionCreate("DOP853", ctx);
  CHECK_NEW(contact);
  CHECK_NEW(session);
  CHECK(CPObjectSetErrHandlerFn(CP_OBJECT(contact), message, &w));
  CHECK(CPContactSetTimeStepping(contact, 40, 0.05));
  CHECK(CPContactAttach(contact, session));
  CHECK(CPSessionSetTolerances(session, tol, tol, NULL));
  CHECK(CPSessionStart(session, 0, y, 3));
  /* A step that ends at an event is followed by a call that handles it, at the same time. */
  int flag, impacts = 0;
  for (sunrealtype before = -1; (flag = CPSessionStep(session, 3, y, &t)) != CV_TSTOP_RETURN;
       before             = t) {
    CHECK(flag);
    for (int i = 0; i < N && t == before; i++) {
      CPContactEvent event = CP_INIT(CPContactEvent);
      CHECK(CPContactGetEvent(contact, i, &event));
      if (event.struck && ++impacts <= 6)
        printf("t = %.6f: %s strikes with %.4f m/s\n", t, name[i], -event.velocity[0][0]);
    }
  }
  printf("%ld events, %d impacts\n", COUNT(contact, "events"), impacts);
  CHECK(CPContactEvaluate(contact, t, y, NULL, force, gaps_now, phase));
  int ok = w.ends >= 2;
  for (int i = 0; i < N; i++) {
    printf("%-6s: %.6f N, gap %.0e m\n", name[i], force[3 * i], fabs(gaps_now[i]));
    ok &= phase[i] == CP_CONTACT_CLOSED && fabs(force[3 * i] - (N - i) * m * g) <= 1e-9 &&
          fabs(gaps_now[i]) <= tol;
  }
  printf("%s\n", ok ? "ok" : "WRONG: the column does not rest, or not with its weight on the floor");

  CPSessionFree(&session);
  CPContactFree(&contact);
  CPMechFree(&w.mech);
  N_VDestroy(y);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
