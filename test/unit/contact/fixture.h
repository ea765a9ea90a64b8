/* Runs of systems with contacts, and the systems that several tests use. A failure of the set-up
 * fails the running test. */
#ifndef CPODES_TEST_CONTACT_FIXTURE_H
#define CPODES_TEST_CONTACT_FIXTURE_H

#include "models/floor_body.h"
#include "models/rolling_ball.h"
#include "models/slider_crank_clearance.h"
#include "support/things.h"

/* ---- systems ---- */

typedef FloorBody Body;

/* A prescribed motion (CPMotionFn) that stays at 0, like its derivatives. */
int at_rest(sunrealtype t, sunrealtype *g, void *data);

/* ---- runs ---- */

/* The methods over which the tests loop */
enum { DOP853, RADAU, BDF, ADAMS, METHODS };

enum { MAX_EVENTS = 4096 };

typedef struct {
  CPMech mech;
  CPContact contact;
  CPSession session; /* of the newest run_attach; its roots are those of run_watch, if there are any */
  int nroots, *direction, found[2];
  CVRootFn roots;
  CPSens sens; /* of run_differentiate, or NULL */
  N_Vector y;
  sunrealtype t;
  MessageLog log;
  void *user_data; /* the model's; events get the run */
  int nevents;     /* number of events that are kept, and of all */
  long int all;
  CPContactEvent event[MAX_EVENTS];
} Run;

/* A system at t = 0 in the state y0, not attached. */
Run *run_create(const CPEquations *model, void *user_data, int n, const CPContactPoint *points,
                const sunrealtype *y0);
/* The present phase of contact i */
enum { MAX_CONTACTS = 128 };
CPContactPhase phase_of(CPContact contact, int i);
/* The tolerance with which errors of this method are within bounds in units of tol that are the same for
 * all methods. Errors of multistep methods add up over the tens of steps of a flight, whose number grows
 * as tol^(-1/6) at order 5, and those of BDF are three times as large as those of Adams. */
sunrealtype asked_of(int method, sunrealtype tol);
/* A session with this contact and method, not started; the run's messages */
CPSession session_of(CPContact contact, int method, sunrealtype rtol, sunrealtype atol);
/* Sessions to come compute sensitivities, with tests of their errors. */
void run_differentiate(Run *run, const CPParameters *parameters);
/* The sensitivities now */
void run_sensitivities(const Run *run, N_Vector *S);
/* A function for CPSessionSetConfigFn; data: the sensitivities */
int with_sens(CPIntegrator integrator, const char *method, void *sens);
/* Starts a session of the method; returns what CPSessionStart does. */
int run_attach(Run *run, int method, sunrealtype tol);
/* The sessions to come stop at roots of g; run->found: which. direction may be NULL. */
void run_watch(Run *run, int n, CVRootFn g, int *direction);
/* Does both, and fails the test on an error. */
Run *run_start(const CPEquations *model, void *user_data, int n, const CPContactPoint *points,
               const sunrealtype *y0, int method, sunrealtype tol);
/* To tout; returns what CPSessionRun does. */
int run_solve(Run *run, sunrealtype tout);
/* A step towards tout; returns what CPSessionStep does. */
int run_step(Run *run, sunrealtype tout);
/* The integrator */
CPIntegrator run_integrator(const Run *run);
/* The same, and fails the test on an error. */
void run_to(Run *run, sunrealtype tout);
/* Fails the test if the states differ by more than bound tol. what, number: the case, for the message */
void run_compare(const Run *run, const Run *precise, sunrealtype bound, sunrealtype tol,
                 const char *what, int number);
void run_free(Run **run);

/* Contacts with the rows of bodies; mech: out, is freed after them */
static inline CPContact contact_of(CPBodies b, CPMech *mech, int n, const CPContactPoint *points) {
  ck_assert_int_eq(build_mech(b, mech), CP_SUCCESS);
  return CPContactCreate(*mech, n, points);
}

#endif
