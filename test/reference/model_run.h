/* Shared by the reference tests: runs of the catalogue's mechanisms, with their stops and events. A
 * failure of the set-up fails the running test. */
#ifndef CPODES_TEST_MODEL_RUN_H
#define CPODES_TEST_MODEL_RUN_H

#include "models/model.h"
#include "reference.h"
#include <cpodes/cpodes_integrator.h>

enum { MODEL_RUN_EVENTS = 16 };

/* A method other than CV_ADAMS and CV_BDF: DOP853, or for stiff mechanisms RADAU */
enum { ONE_STEP = CV_BDF + 1 };

typedef struct {
  const CPPlugin *model;
  CPMech mech;
  CPIntegrator cpode;   /* NULL: by onestep */
  CPIntegrator onestep; /* NULL: by cpode */
  N_Vector y;           /* newest state */
  sunrealtype t;        /* of y */
  sunrealtype tol;
  int nevents;
  sunrealtype event[MODEL_RUN_EVENTS]; /* their times */
  long int steps_before;               /* in the runs before the newest start of the integrator */
  int next_stop;
  MessageLog log;
} ModelRun;

typedef struct {
  const char *name;
  sunrealtype value;
} Setting;

/* A model with the default parameters but for the given ones */
CPPlugin *model_with(const char *type, const Setting *settings, int nsettings);
CPPlugin *model_of(const CPPluginType *type, const Setting *settings, int nsettings);

/* A run from the model's start, as a CPMech with the solver that CPMechAttach chooses; the model
 * must outlive it. tol: relative and absolute. */
ModelRun *model_run_create(const CPPlugin *model, int method, sunrealtype tol);
void model_run_free(ModelRun **run);

/* Integrates to t, past stops and events */
void model_run_to(ModelRun *run, sunrealtype t);
long int model_run_steps(const ModelRun *run); /* since t = 0 */

/* Largest residual of the constraints of positions and velocities at the newest state */
sunrealtype model_run_violation(ModelRun *run);

/* Bound on the error after the steps taken, if a perturbation of a state, at any time, grows at
 * most `condition` times: steps condition sqrt(n) (1 + size) tol / 6 (trajectories.c),
 * |y_i| <= size. Error tests of one-step methods do not have the safety factor 6. */
sunrealtype model_run_bound(const ModelRun *run, sunrealtype condition, sunrealtype size);

#endif
