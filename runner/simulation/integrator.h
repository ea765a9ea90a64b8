/* A run's integrator, one step at a time. */
#ifndef CPODES_RUNNER_INTEGRATOR_H
#define CPODES_RUNNER_INTEGRATOR_H

#include "problem.h"

typedef struct {
  Problem *problem;
  CPIntegrator mem;
} Integrator;

/* Creates the integrator at the start of the model. Returns 0, or a flag with the reason in message
 * [RUN_TEXT]. Call integrator_free in any case. */
int integrator_create(Integrator *integrator, Problem *problem, char *message);
/* Continues with another method from (t, y), with new counters. Returns as integrator_create. */
int integrator_change(Integrator *integrator, const Method *method, sunrealtype t, N_Vector y,
                      char *message);
void integrator_free(Integrator *integrator);

/* Steps do not pass t. */
int integrator_stop_at(Integrator *integrator, sunrealtype t);
/* As CPIntegratorEvolve with CV_ONE_STEP */
int integrator_step(Integrator *integrator, sunrealtype t_end, N_Vector y, sunrealtype *t);
/* Computes the state at t within the newest step. */
int integrator_interpolate(Integrator *integrator, sunrealtype t, N_Vector y);
int integrator_roots(Integrator *integrator, int *found);
/* Handles the contacts' event at the end of a step with CV_ROOT_RETURN. y: in, before; out, after
 * the event. *restarted: out, has the integrator been restarted, and its counters reset? Returns 0
 * or a flag. */
int integrator_pass_contacts(Integrator *integrator, sunrealtype t_end, N_Vector y, bool *restarted);
/* Restarts, which also resets the counters. */
int integrator_restart(Integrator *integrator, sunrealtype t, N_Vector y);
/* The size and order of the newest step. */
void integrator_newest(Integrator *integrator, sunrealtype *h, int *order);
/* Adds steps, rejections, evaluations, ..., projections since the newest start to those of total;
 * does nothing without an integrator. */
void integrator_add_counts(const Integrator *integrator, RunResult *total);
const char *integrator_message(const Integrator *integrator);

#endif
