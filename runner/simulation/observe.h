/* What is seen of a state: quantities, multipliers, violations, drawing. The evaluations are an observer's own, so that
 * they neither count nor change the run. */
#ifndef CPODES_RUNNER_OBSERVE_H
#define CPODES_RUNNER_OBSERVE_H

#include "problem.h"

typedef struct {
  const Problem *problem;
  CPMech mech;         /* NULL: ODE form. With contacts it is the run's, whose phases decide. */
  RunContact *contact; /* [ncontacts] what info tells of them */
  double *force;       /* [3 ncontacts] */
  long observed;       /* its evaluations of f in the run's */
  N_Vector residual;   /* of the invariants */
  double *numbers;     /* [all of those below] */
  double *quantity, *lambda, *points, *arrows, *gap, *phase;
  double *frame; /* [12 narrows] of CPModelType.contact_frames */
  int narrows;
  long nlambda, rank;
  bool unique;
} Observer;

/* info: out, all but the method's name. 0, or -1 with a message [RUN_TEXT]; observer_free in any case */
int observer_create(Observer *observer, const Problem *problem, RunInfo *info, char *message);
void observer_free(Observer *observer);

/* sample: out; its pointers are the observer's and y's */
void observe(Observer *observer, sunrealtype t, N_Vector y, Sample *sample);

#endif
