/* A model as integrators take it, in one of its two forms. */
#ifndef CPODES_RUNNER_PROBLEM_H
#define CPODES_RUNNER_PROBLEM_H

#include "records.h"

#include <cpodes/cpodes_contact.h>
#include <sundials/sundials_linearsolver.h>
#include <sundials/sundials_nonlinearsolver.h>

typedef struct {
  RunSettings settings; /* form and method resolved */
  SUNContext ctx;
  CPModel *model;
  int linsol, norm;  /* what the names of the settings mean in this form */
  int warnings;      /* shown */
  int stiff;         /* is the motion's start? */
  CPMech mech;       /* of the integrator; NULL: ODE form */
  CPContact contact; /* if the model has contacts; it owns mech then */
  CPProjector P;     /* ODE form, if it has invariants */
  /* ODE form, owned here: templates, solvers */
  N_Vector residual;
  SUNMatrix G, J;
  SUNLinearSolver linear;
  SUNNonlinearSolver iteration;
} Problem;

/* SUNDIALS' context, which prints nothing: cpodes has the messages, and tells them. If NULL, it could not be created. */
SUNContext context_create(void);

/* Names for --linsol and --norm, of both forms; NULL beyond the last */
const char *linsol_name(int i);
const char *norm_name(int i);

/* Creates the model and its objects; 0, or -1 with the reason in message [RUN_TEXT]. problem_free in any case */
int problem_create(Problem *problem, const RunSettings *settings, char *message);
void problem_free(Problem *problem);

/* A CPMech of the model's with the settings, for outputs: evaluations then count nowhere. NULL: failed */
CPMech problem_mech(const Problem *problem);

#endif
