/* A model in one of the two forms that integrators take. */
#ifndef CPODES_RUNNER_PROBLEM_H
#define CPODES_RUNNER_PROBLEM_H

#include "records.h"

#include <cpodes/cpodes_contact.h>
#include <sundials/sundials_linearsolver.h>
#include <sundials/sundials_nonlinearsolver.h>

typedef struct {
  RunSettings settings; /* with form and method resolved */
  SUNContext ctx;
  CPPlugin *model;
  int linsol, norm;  /* the meaning of the settings' names in this form */
  int warnings;      /* number of warnings shown */
  int stiff;         /* is the model stiff at the start? */
  bool chosen;       /* was the method chosen by stiffness, so that it may change on the way? */
  CPMech mech;       /* the integrator's; NULL in ODE form */
  CPContact contact; /* if the model has contacts; it then owns mech */
  CPProjector P;     /* in ODE form, if the model has invariants */
  /* owned in ODE form: templates, solvers */
  N_Vector residual;
  SUNMatrix G, J;
  SUNLinearSolver linear;
  SUNNonlinearSolver iteration;
} Problem;

/* A SUNDIALS context that prints nothing, since cpodes reports the messages. Returns NULL if it
 * could not be created. */
SUNContext context_create(void);

/* The names for --linsol and --norm in both forms; NULL after the last. */
const char *linsol_name(int i);
const char *norm_name(int i);

/* Creates the model and its objects. Returns 0, or -1 with the reason in message [RUN_TEXT]. Call
 * problem_free in any case. */
int problem_create(Problem *problem, const RunSettings *settings, char *message);
void problem_free(Problem *problem);
/* Sets the options of an integrator for it that has been started. Returns 0 or a code. */
int problem_configure(Problem *problem, CPIntegrator mem);

/* Returns a CPMech of the model with the settings, for outputs, whose evaluations count nowhere.
 * Returns NULL on failure. */
CPMech problem_mech(const Problem *problem);

#endif
