/* Functionals of a trajectory and their gradients, G_k = g_k(t1, y(t1)) + int h_k dt. */
#ifndef CPODES_FUNCTIONAL_IMPL_H
#define CPODES_FUNCTIONAL_IMPL_H

#include "tape.h"

#include <limits.h>

/* A run that sums the functional, and its gradient if the run has sensitivities. */
typedef struct {
  CPArena arena;
  CPIntegrator mem;
  const char *function; /* the public function, for messages */
  const CPFunctional *F;
  const CPParams *params; /* NULL if there are none */
  int Np;                 /* parameters, or 1, since CVODES needs vectors that are not empty */
  sunrealtype *G;         /* [ng] the values */
  sunrealtype *dG;        /* [ng x Np] their gradients, or NULL without sensitivities */
  N_Vector y1, y, *yS;    /* state at t1; state and [Np] sensitivities where F is evaluated */
  N_Vector gy;            /* [n] gradient of one value of F; gp [Np]: its parameter derivatives */
  sunrealtype *gp;
  N_Vector moved;        /* [n] workspace */
  N_Vector value, along; /* [ng] values as a vector, and derivatives */
} CPFunctionalRun;

/* functional.c */
/* Returns the largest number of steps of a run, forward or backward. */
long int cpFunctionalMaxSteps(const CPFunctional *F);
/* Allocates the memory of a run, whose first seven fields are set; cpArenaFree frees it. Returns 0
 * or an error code that has been reported. */
int cpFunctionalOpen(CPFunctionalRun *w);
/* Steps to t1, sums G and dG, and records the steps on a tape unless that is NULL. Returns 0 or an error code that has been
 * reported. */
int cpFunctionalMarch(CPFunctionalRun *w, sunrealtype t1, CPTape *tape);
/* Calls a gradient of F's, whose results, in w->gy and w->gp, are zero before. Returns its code, or CP_FUNCTIONAL_NONFINITE. */
int cpFunctionalDerivatives(const CPFunctionalRun *w, CPFunctionalGradFn grad, sunrealtype t, int k);
/* The code of NaN or Inf, as if a user's function had returned it */
#define CP_FUNCTIONAL_NONFINITE INT_MIN
/* Reports flag, the result of a user's function of that name, or of its gradient. Returns 0 or an error code that has been reported. */
int cpFunctionalResult(const CPFunctionalRun *w, int flag, sunrealtype t, int in_gradient,
                       const char *name);
/* Evaluates one of F's functions as a right-hand side, with its values in `value` [ng]. data:
 * CPFunctionalCalled. */
typedef struct {
  CPFunctionalFn fn;
  void *user_data;
} CPFunctionalCalled;
int cpFunctionalAsRhs(sunrealtype t, N_Vector y, N_Vector value, void *data);

/* functional_adjoint.c: the gradient by backward problems. run: its first seven fields, with dG = NULL. Returns 0 or an error
 * code that has been reported. */
int cpGradientAdjoint(CPFunctionalRun *run, sunrealtype t1, const CPGradientOptions *options,
                      N_Vector *y0S, sunrealtype *dG, N_Vector *gradients);

#endif
