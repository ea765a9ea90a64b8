/* The back-end of CVODES' methods, as integrator.c creates it. */
#ifndef CPODES_MULTISTEP_H
#define CPODES_MULTISTEP_H

#include "cpodes/stepping/stepper.h"

/* Returns CV_BDF or CV_ADAMS, or 0 for another method. */
int cpMultistepMethod(const char *method);
/* These return NULL after an error that has been reported for function. */
CPIntegrator cpMultistepCreate(int lmm, SUNContext ctx, const char *function);
CPIntegrator cpMultistepAttach(void *cvode_mem, int lmm, SUNNonlinearSolver inner, N_Vector y_tmpl,
                               SUNContext ctx, const char *function);
/* Returns CVODES' memory, or NULL if s belongs to another back-end. */
void *cpMultistepCVodeMem(CPIntegrator s);

#endif
