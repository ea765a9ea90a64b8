/* Short forms for tests of bodies: things by name, and mechanisms from files. */
#ifndef CPODES_TEST_THINGS_H
#define CPODES_TEST_THINGS_H

#include "support.h"
#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_integrator.h>
#include <stdio.h>
#include <string.h>

enum { READ_MESSAGE = 600 };

/* The index of the thing of this name, or the error code */
static inline int thing_named(CPBodies b, CPThing thing, const char *name) {
  int i;
  const int flag = CPBodiesFind(b, thing, name, &i);
  return flag ? flag : i;
}

static inline CPDescription thing_at(CPBodies b, CPThing thing, int i) {
  CPDescription d = CP_INIT(CPDescription);
  ck_assert_int_eq(CPBodiesDescribe(b, thing, i, &d), CP_SUCCESS);
  return d;
}

/* Sets the first three parameters. */
static inline int set_gravity(CPBodies b, const sunrealtype *g) {
  memcpy(CPBodiesParameters(b), g, 3 * sizeof *g);
  return CP_SUCCESS;
}

static inline void add_element(CPBodies b, const CPElement *element) {
  ck_assert_msg(CPBodiesAdd(b, element, NULL) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(b)));
}

/* Builds the model and a CPMech of it. Returns what CPBodiesBuild returns, or CP_MEM_FAIL. */
static inline int build_mech(CPBodies b, CPMech *mech) {
  CPModel model;
  *mech    = NULL;
  int flag = CPBodiesBuild(b, &model);
  if (flag) return flag;
  N_Vector y = CPBodiesState(b, test_context);
  if (y) *mech = CPMechCreate(model, y, test_context);
  if (y) N_VDestroy(y);
  CPModelFree(&model);
  return *mech ? CP_SUCCESS : CP_MEM_FAIL;
}

/* The same in a formulation, where nothing may fail. Returns the state at the placement. */
static inline N_Vector build_as(CPBodies b, CPFormulation formulation, CPMech *mech) {
  ck_assert_int_eq(CPBodiesSetFormulation(b, formulation), CP_SUCCESS);
  ck_assert_msg(build_mech(b, mech) == CP_SUCCESS, "%s", CPObjectGetLastMessage(CP_OBJECT(b)));
  N_Vector y = CPBodiesState(b, test_context);
  ck_assert_ptr_nonnull(y);
  return y;
}

/* The position x [3] and the velocity v [3] of a point in the frame of a body; they may be NULL. Returns what CPMechGetFrame returns. */
static inline int body_point(CPMech mech, int body, const sunrealtype *point, N_Vector y,
                             sunrealtype *x, sunrealtype *v) {
  CPBodyFrame frame = CP_INIT(CPBodyFrame);
  const int flag    = CPMechGetFrame(mech, body, point, y, &frame);
  if (x) memcpy(x, frame.position, sizeof frame.position);
  if (v) memcpy(v, frame.velocity, sizeof frame.velocity);
  return flag;
}

/* The equations of mech */
static inline CPEquations equations_of(CPMech mech) {
  return *CPModelGetEquations(CPMechGetModel(mech));
}

/* Component k of a quantity */
static inline sunrealtype quantity_at(CPMech mech, const char *name, sunrealtype t, N_Vector y,
                                      int k) {
  CPSensor sensor = CP_INIT(CPSensor);
  ck_assert_msg(CPMechGetSensor(mech, name, t, y, &sensor) == CP_SUCCESS, "%s: %s", name,
                CPObjectGetLastMessage(CP_OBJECT(mech)));
  return sensor.value[k];
}

/* Moves the state y of mech from t = 0 to t_end. */
static inline void evolve_mech(CPMech mech, N_Vector y, const char *method, double tol,
                               double t_end) {
  sunrealtype t;
  CPIntegrator mem = CPIntegratorCreate(method, test_context);
  ck_assert_msg(CPMechAttach(mech, mem, 0, y) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(mech)));
  ck_assert_int_eq(CPIntegratorSStolerances(mem, tol, tol), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetMaxNumSteps(mem, 20000), CP_SUCCESS);
  const int flag = CPIntegratorEvolve(mem, t_end, y, &t, CV_NORMAL);
  ck_assert_msg(flag == CP_SUCCESS, "%s: %d: %s", method, flag,
                CPObjectGetLastMessage(CP_OBJECT(mem)));
  CPIntegratorFree(&mem);
}

/* As CPBodiesRead. why [READ_MESSAGE]: out, the message of a failure, or "" */
static inline CPBodies read_bodies(const char *path, const char *text, size_t length,
                                   CPBodiesFile *says, char *why) {
  CPBodies b;
  *says          = (CPBodiesFile)CP_INIT(CPBodiesFile);
  const int flag = CPBodiesRead(path, text, length, &b, says);
  ck_assert_int_eq(flag == CP_SUCCESS, b != NULL);
  snprintf(why, READ_MESSAGE, "%s", flag ? CPObjectGetLastMessage(NULL) : "");
  return b;
}

#endif
