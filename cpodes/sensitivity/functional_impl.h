/* Functionals of a trajectory and their gradients, G_k = g_k(t1, y(t1)) + int h_k dt. */
#ifndef CPODES_FUNCTIONAL_IMPL_H
#define CPODES_FUNCTIONAL_IMPL_H

#include "sens_impl.h"

/* functional.c */
/* Arguments that all calls share: 0, or a code, reported. */
int cpFunctionalCheck(CPodeMem mem, const CPFunctional *F, const sunrealtype *G,
                      const char *function);
/* Steps to t1 and calls `node` at the nodes of each step, with weights of a Gauss formula. ncheck: by
 * CPodeF; NULL: by CPode. y [n]: out, the state at t1. 0, or a code, reported. */
typedef int (*CPAtNode)(void *data, sunrealtype t, sunrealtype weight);
int cpMarch(CPodeMem mem, sunrealtype t1, N_Vector y, int *ncheck, CPAtNode node, void *data);
/* CVODES has no stop time any more, or one that no run comes to. towards: on the way of the run */
void cpClearStopTime(CPodeMem mem, sunrealtype towards);
/* One of F's functions as a right-hand side: its values into `value` [ng]. data: CPFunctionalCalled */
typedef struct {
  CPFunctionalFn fn;
  void *user_data;
} CPFunctionalCalled;
int cpFunctionalAsRhs(sunrealtype t, N_Vector y, N_Vector value, void *data);
/* G += weight times the values of fn, one of F's, at (t, y); values [ng]: work. What fn returned. */
int cpFunctionalAdd(const CPFunctional *F, CPFunctionalFn fn, sunrealtype t, N_Vector y,
                    sunrealtype weight, sunrealtype *values, sunrealtype *G);
/* What a function of the user's returned: 0, or a code, reported. */
int cpFunctionalResult(CPodeMem mem, int flag, sunrealtype t, const char *name,
                       const char *function);

#endif
