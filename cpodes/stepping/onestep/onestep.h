/* The back-end of one-step methods, as integrator.c creates it. Both functions return NULL after an error that has been
 * reported for function. */
#ifndef CPODES_ONESTEP_H
#define CPODES_ONESTEP_H

#include "cpodes/stepping/stepper.h"

CPIntegrator cpOneStepCreate(const char *method, SUNContext ctx, const char *function);
CPIntegrator cpOneStepCreateTable(ARKodeButcherTable B, SUNContext ctx, const char *function);

#endif
