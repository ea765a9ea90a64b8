/* What the two kinds of integrators have in common: one step at a time, output within the newest one. */
#ifndef CPODES_RUNNER_INTEGRATOR_H
#define CPODES_RUNNER_INTEGRATOR_H

#include "problem.h"

typedef struct {
  /* Its objects, at the start of the model. *self: out; 0, or a flag, of which message(*self) says the reason; where *self
     stays NULL it is in message [RUN_TEXT] */
  int (*create)(Problem *problem, void **self, char *message);
  void (*destroy)(void *self);
  /* No step goes beyond t */
  int (*stop_at)(void *self, sunrealtype t);
  /* As CPode with CV_ONE_STEP */
  int (*step)(void *self, sunrealtype t_end, N_Vector y, sunrealtype *t);
  /* State at t within the newest step */
  int (*interpolate)(void *self, sunrealtype t, N_Vector y);
  int (*roots)(void *self, int *found);
  /* A new start; its counters begin anew, too */
  int (*restart)(void *self, sunrealtype t, N_Vector y);
  /* Of the newest step */
  void (*newest)(void *self, sunrealtype *h, int *order);
  /* steps ... factorisations since the newest start */
  void (*count)(void *self, RunResult *result);
  const char *(*message)(void *self);
} IntegratorKind;

extern const IntegratorKind multistep_kind;
extern const IntegratorKind onestep_kind;

/* Adds the counters of b to those of a */
void result_add_counts(RunResult *a, const RunResult *b);
/* Those that the CPMech knows better: evaluations of forces, those for differences too; partial derivatives,
   factorisations */
void result_count_mech(CPMech mech, RunResult *result);

/* Receives the messages of integrators: the first warnings go to stderr, errors are kept by GetLastMessage. data: the Problem */
void integrator_message(int code, const char *function, const char *text, void *data);

#endif
