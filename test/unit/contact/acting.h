/* A mechanism with all the contacts that it has, and its runs */
#ifndef CPODES_TEST_CONTACT_ACTING_H
#define CPODES_TEST_CONTACT_ACTING_H

#include "fixture.h"
#include <cpodes/cpodes_contact.h>

#include <math.h>

static CPBodies bodies;
static CPMech mech;
static CPContact contact;
static N_Vector y;

/* Builds the mechanism, with all contacts that it has. */
static inline void act(CPFormulation formulation) {
  CPContactPoint points[32];
  const int n = CPBodiesCount(bodies, CP_CONTACT);
  ck_assert_int_le(n, 32);
  ck_assert_int_eq(CPBodiesSetFormulation(bodies, formulation), CP_SUCCESS);
  for (int i = 0; i < n; i++) {
    const CPDescription d = thing_at(bodies, CP_CONTACT, i);
    points[i]             = (CPContactPoint){CP_SIZED(CPContactPoint),   .name = d.name,
                                             .normal = d.first,          .tangent = d.first_rate,
                                             .ntangents = (int)d.nrates, .period = d.period,
                                             .nearest = d.nearest,       .law = *d.law};
  }
  contact = contact_of(bodies, &mech, n, points);
  ck_assert_msg(contact != NULL, "%s", CPObjectGetLastMessage(NULL));
  y = CPBodiesState(bodies, test_context);
}

static inline void release(void) {
  CPContactFree(&contact);
  CPMechFree(&mech);
  CPBodiesFree(&bodies);
  N_VDestroy(y);
}

static const char *const methods[] = {"DOP853", "RADAU", "auto"};

/* Runs from 0 to t with the tolerance tol. Returns what ends the run. */
static inline int run_with(const char *method, sunrealtype tol, sunrealtype t_end) {
  sunrealtype t     = 0;
  CPSession session = CPSessionCreate(method, test_context);
  ck_assert_int_eq(CPContactAttach(contact, session), CP_SUCCESS);
  ck_assert_int_eq(CPSessionSetTolerances(session, tol, tol, NULL), CP_SUCCESS);
  int flag = CPSessionStart(session, 0, y, t_end);
  if (!flag) flag = CPSessionRun(session, t_end, y, &t);
  if (flag == CP_SUCCESS) ck_assert_double_eq(t, t_end);
  CPSessionFree(&session);
  return flag;
}

/* CPContactEventFn: *t <- the time at which a contact begins to stick */
static inline int takes_rest(const CPContactEvent *event, void *t) {
  if (event->after == CP_CONTACT_STICKING) *(sunrealtype *)t = event->t;
  return 0;
}

static inline sunrealtype coordinate_of(const char *name, sunrealtype *rate) {
  sunrealtype x;
  ck_assert_int_eq(CPMechGetCoordinate(mech, thing_named(bodies, CP_COORDINATE, name), y, &x, rate),
                   CP_SUCCESS);
  return x;
}

#endif
