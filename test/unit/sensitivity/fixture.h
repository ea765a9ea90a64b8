/* The pendulum with its sensitivities to rod length L and gravity g, from (L, 0) at rest. */
#ifndef CPODES_TEST_SENSITIVITY_FIXTURE_H
#define CPODES_TEST_SENSITIVITY_FIXTURE_H

#include "stepping/multistep/fixture.h"

#include <cpodes/cpodes_sens.h>
#include <models/counters.h>

enum { BY_L, BY_G, NS };

/* Faults of the sensitivities' functions; iS: index of the sensitivity. */
typedef struct {
  Run run;
  CPSens sens;
  N_Vector *s; /* [NS] newest sensitivities */
  Fault fS, cS;
  int faulty_iS;
  long int fS_calls, cS_calls;
} SensRun;

/* With projector, dc/dp by differences, tolerances of the sensitivities by CVODES' estimate. */
void sens_open(SensRun *r, Method method, sunrealtype tol);
/* As run_open, without sensitivities; s holds the start of the sensitivities. */
void sens_open_states(SensRun *r, Method method, sunrealtype tol);
/* Sets its sensitivities, whose dc/dp are cS. error_control: also tests their errors. */
void sens_start(SensRun *r, int error_control);
void sens_start_with(SensRun *r, int error_control, CPConstraintSensFn cS);
/* As sens_open, with dc/dp in closed form */
void sens_open_rows(SensRun *r, Method method, sunrealtype tol);
/* L and g, from s */
CPParameters sens_parameters(SensRun *r);
void sens_close(SensRun *r);

/* fS1 by differences, dc/dp in closed form; with the faults. They find the run from its World. */
int sens_rhs(int Ns, sunrealtype t, N_Vector y, N_Vector ydot, int iS, N_Vector s, N_Vector sdot,
             void *user_data, N_Vector tmp1, N_Vector tmp2);
int sens_rows(sunrealtype t, N_Vector y, int iS, N_Vector cp, void *user_data);

/* One step towards t = 1000, and the sensitivities there */
int sens_step(SensRun *r);
/* The sensitivities at the newest output */
int sens_get(SensRun *r);
void sens_until(SensRun *r, sunrealtype tend);

/* The largest |G s_i + dc/dp_i| / (1 + |s_i|) at the state y, over i. G and dc/dp are written out
 * here. */
sunrealtype sens_residual(const SensRun *r, N_Vector y, N_Vector *s);
/* The same for the newest state. The bound is the roundoff of terms of the sizes L, g and |s|. */
sunrealtype residual_of(const SensRun *r);
#define SENS_ROUNDOFF 1.0e-13

/* Derivatives of the closed form at t by differences of sixth order. s [NS] */
void sens_exact(const Pendulum *p, sunrealtype t, N_Vector *s);
/* Largest |s_i - exact| / |exact|, in the largest norm, at run.t */
sunrealtype sens_error(const SensRun *r);

SensCounters sens_stats(const SensRun *r);

#endif
