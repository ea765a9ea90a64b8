/* A system of equations of the library's own, such as a mechanical system, and the integrator that it is attached to,
 * a CPode or a CPOneStep: what each knows of the other. */
#ifndef CPODES_SYSTEM_H
#define CPODES_SYSTEM_H

#include <cpodes/cpodes_types.h>
#include <cvodes/cvodes.h>
#include <stdio.h>
#include <sundials/sundials_linearsolver.h>

/* ---- the integrator, as its system sees it (stepper.c) ---- */

typedef struct CPStepper_ *CPStepper;

/* The size of the newest step; 0 before the first one. */
sunrealtype cpStepperSize(CPStepper s);
/* The error weights of the newest step, into ewt. 0, or a code. */
int cpStepperNewestWeights(CPStepper s, N_Vector ewt);
/* The newest accepted state, with its time, or NULL before the integrator is initialised. */
N_Vector cpStepperNewest(CPStepper s, sunrealtype *t);
/* The linear solver of an implicit method, whose matrix S the system makes. 0, or a code. */
int cpStepperSetLinearSolver(CPStepper s, SUNLinearSolver LS, SUNMatrix S);
/* The system is freed before its integrator, which refuses to step from now on. */
void cpStepperSystemFreed(CPStepper s);

/* ---- the system, as its integrator sees it ---- */

/* Parameters with respect to which sensitivities are taken. */
typedef struct {
  sunrealtype *p;    /* the user's array, or NULL if it is not known */
  sunrealtype *pbar; /* [Ns] */
  sunrealtype *kept; /* [Ns] values before CVODES' differences move them */
  int *plist, Ns;    /* [Ns] */
} CPParams;

/* What the system knows of its sensitivities. data is that of CPSystem.
 *
 * start: its parameters from now on, or NULL if there are none any more.
 * rows: dc/dp, into r, a vector of the kind of cpRowsVector; *given is 0 where they have to come from differences. */
typedef struct {
  CVSensRhs1Fn rhs;
  int (*start)(void *data, const CPParams *params);
  int (*rows)(sunrealtype t, N_Vector y, int iS, N_Vector r, int *given, void *data);
  CVRhsFnB adjoint;        /* -J^T l */
  CVQuadRhsFnB quadrature; /* -l^T df/dp */
  const CPParams *(*params)(void *data);
} CPSensSystem;

/* All functions get data, which becomes the integrator's user_data: a struct whose first member is its CPStepper. Those
 * marked with (optional) may be NULL. */
typedef struct {
  void *data; /* NULL if no system is attached */
  /* Scales the error weights, which follow from the tolerances (optional). */
  int (*scale)(N_Vector ewt, void *data);
  /* The iteration matrix I - gamma J at (t, y). If jok, the Jacobian of another state may serve; *jcur tells whether it
   * has been renewed. 0, positive if recoverable, negative if fatal. */
  int (*linsys)(sunrealtype t, N_Vector y, sunbooleantype jok, sunbooleantype *jcur,
                sunrealtype gamma, void *data);
  /* At states off the manifold of invariants the right-hand side is that of the nearest state on it: always if all is
   * set, else only where that is needed. Returns whether it has been needed since the last call (optional). */
  int (*on_manifold)(void *data, int all);
  /* The sine of the narrowest angle between constraints that count as independent, relative to that at the first state,
   * at the newest evaluation of the right-hand side (optional). */
  double (*sine)(void *data);
  /* The newest failure of its functions: 0, or a code of either sign, with the reason. */
  int (*cause)(const char **reason, void *data);
  /* Prints its figures after those of the integrator. Non-zero if writing failed. */
  int (*print)(FILE *out, SUNOutputFormat fmt, void *data);
  /* The integrator is being freed. */
  void (*detach)(void *data);
  const CPSensSystem *sens;
} CPSystem;

#endif
