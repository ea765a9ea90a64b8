/* Evaluates a state: quantities, multipliers, violations, drawing. The evaluations are the
 * observer's own, so that they neither count nor change the run. */
#ifndef CPODES_RUNNER_OBSERVE_H
#define CPODES_RUNNER_OBSERVE_H

#include "problem.h"

typedef struct {
  const Problem *problem;
  /* NULL in ODE form. With contacts it is the run's own, whose phases matter. */
  CPMech mech;
  bool shares;            /* it is the run's own, as well as where a source may switch its rows */
  RunContact *contact;    /* [ncontacts] for info */
  CPContactPhase *acting; /* [ncontacts] workspace */
  int *conserved;         /* [nquantities] for info */
  double *force;          /* [3 ncontacts] */
  long observed;          /* its evaluations of f that the run has counted */
  N_Vector residual;      /* of the invariants */
  double *numbers;        /* [total length of the following arrays] */
  double *quantity, *lambda, *points, *arrows, *gap, *phase;
  double *udot,
      *acting_lambda; /* for CPPluginType.observe: u', multipliers with the signs of all rows */
  double *frame;      /* [12 narrows] of CPPluginType.contact_frames */
  int narrows;
  long nlambda, rank;
  bool unique;
} Observer;

/* info: out, everything except the method's name. Returns 0, or -1 with a message [RUN_TEXT]. Call
 * observer_free in any case. */
int observer_create(Observer *observer, const Problem *problem, RunInfo *info, char *message);
void observer_free(Observer *observer);

/* Returns a counter of an object by its name. */
long count_of(CPObject object, const char *counter);
/* Does contact, which may be NULL, take steps of its own? */
bool is_time_stepping(CPContact contact);

/* sample: out; its pointers belong to the observer and to y. */
void observe(Observer *observer, sunrealtype t, N_Vector y, Sample *sample);

#endif
