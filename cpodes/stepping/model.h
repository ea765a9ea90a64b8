/* What a model of the library's own, a mechanical system, and the integrator that it is attached to,
 * a CPode or a CPOneStep, need of each other. Neither knows more of the other than these two tables.
 */
#ifndef CPODES_MODEL_H
#define CPODES_MODEL_H

#include "sens_model.h"

#include <cpodes/cpodes_types.h>

#include <stdio.h>
#include <sundials/sundials_linearsolver.h>
#include <sundials/sundials_nvector.h>

/* ---- the integrator, as its model sees it ---- */

/* All take the integrator's memory. */
typedef struct {
  /* Newest step size, 0 before the first step. */
  sunrealtype (*step)(void *mem);
  /* The error weights of the newest step, into ewt. 0, or a code. */
  int (*weights)(void *mem, N_Vector ewt);
  /* The newest good state, with its time; NULL: there is none. */
  N_Vector (*newest)(void *mem, sunrealtype *t);
  /* Linear solver of the implicit method, whose matrix the model's linsys makes. 0, or a code. */
  int (*setLinearSolver)(void *mem, SUNLinearSolver LS, SUNMatrix S);
  /* The model is being freed before its integrator. */
  void (*lose)(void *mem);
} CPHostOps;

typedef struct {
  const CPHostOps *ops;
  void *mem; /* NULL: there is none */
} CPHost;

/* ---- the model, as its integrator sees it ---- */

/* All functions take data, the integrator's user_data from now on: a struct whose first member is its
 * CPHost. */
typedef struct {
  void *data; /* NULL: there is no model */
  /* Scales the error weights, which follow from the tolerances; NULL: they are as they are. */
  int (*scale)(N_Vector ewt, void *data);
  /* Iteration matrix I - gamma J at (t, y); with jok the Jacobian of another state may serve, *jcur:
   * it has been renewed. 0, positive recoverable, negative fatal. */
  int (*linsys)(sunrealtype t, N_Vector y, sunbooleantype jok, sunbooleantype *jcur,
                sunrealtype gamma, void *data);
  /* The right-hand side at states off the manifold of invariants: with all, that of the nearest state on it; else only
   * where that is needed. Returns whether it has been needed since the last call. NULL: it never is. */
  int (*on_manifold)(void *data, int all);
  /* The sine of the narrowest angle between constraints that count as independent, as part of what it was at the first
   * state, at the newest evaluation of the right-hand side. NULL: not known. */
  double (*sine)(void *data);
  /* Newest failure of its functions: 0, or a code of either sign, with the reason. */
  int (*cause)(const char **reason, void *data);
  /* Its figures, after those of the integrator. Non-zero: writing failed. */
  int (*print)(FILE *out, SUNOutputFormat fmt, void *data);
  /* The integrator is gone. */
  void (*detach)(void *data);
  const CPSensModel *sens;
} CPModel;

#endif
