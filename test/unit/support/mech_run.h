/* Runs of a mechanical system in the tests. If set-up fails, the running test fails. */
#ifndef CPODES_TEST_MECH_RUN_H
#define CPODES_TEST_MECH_RUN_H

#include "support/support.h"
#include <cpodes/cpodes_mechanics.h>

typedef struct {
  CPMech mech;
  N_Vector y;    /* newest state */
  sunrealtype t; /* of y */
  sunrealtype tol;
  CPIntegrator cpode; /* NULL before mech_run_start */
  MessageLog log;     /* messages of mech and cpode */
} MechRun;

/* A CPMech with a model of its own; NULL if either is refused. */
CPMech create_mech(const CPEquations *equations, N_Vector y, SUNContext ctx);

/* M x'' + C x' + K x = 0, of matrices n x n; C may be NULL */
CPEquations linear_equations(sunindextype n, SUNMatrix M, SUNMatrix C, SUNMatrix K);

/* The system is in the state y0 [nq + nu + nz] at t = 0 and not yet integrated: options can be set. */
MechRun *mech_run_create(const CPEquations *model, void *user_data, const sunrealtype *y0);
void mech_run_free(MechRun **run);

/* Attaches an integrator with the solver that CPMechAttach chooses. tol: relative and absolute. */
void mech_run_start(MechRun *run, int lmm, sunrealtype tol);
/* Integrates to t; fails the test on an error. */
void mech_run_to(MechRun *run, sunrealtype t);
long int mech_run_steps(const MechRun *run);

/* max_i |y_i - exact_i| over the first n components */
sunrealtype mech_run_error(const MechRun *run, int n, const sunrealtype *exact);

/* A bound on the error of components of size `size`, after steps with an error of at most tol
 * (1 + size) each (CVODES aims at a sixth of it), whose effect grows `growth` times until the end. */
sunrealtype mech_run_bound(const MechRun *run, sunrealtype size, sunrealtype growth);

#endif
