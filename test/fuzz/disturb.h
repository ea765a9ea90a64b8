/* Faults in callbacks: every callback of the mechanism ends with disturb(), which counts it and may
 * make its result faulty. */
#ifndef CPODES_FUZZ_DISTURB_H
#define CPODES_FUZZ_DISTURB_H

#include <sundials/sundials_types.h>

typedef enum {
  ON_RHS,
  ON_CONSTRAINT,
  ON_JACOBIAN,
  ON_JAC_TIMES,
  ON_JAC_TRANS_TIMES,
  ON_SCHUR_DIAG,
  ON_PREC_SETUP,
  ON_PREC_SOLVE,
  ON_METRIC,
  ON_METRIC_MATRIX,
  ON_PROJECTION,
  ON_ERROR_PROJECTION,
  ON_VIOLATION,
  ON_WEIGHTS,
  ON_ROOT,
  ON_QUADRATURE,
  ON_MASS,
  ON_ROWS,
  ON_FORCE,
  ON_FRICTION,
  ON_POSITION,
  ON_VELOCITY,
  ON_B,
  ON_KINEMATICS,
  ON_AUXILIARY,
  ON_UDOT,
  ON_INVERSE,
  ON_TIMES,
  ON_PARTIALS,
  ON_MOTION,
  ON_CONSTRAINT_SENS,
  ON_SENS_RHS,
  ON_PARAM_JAC,
  ON_FUNCTIONAL,
  ON_FUNCTIONAL_GRAD,
  ON_START,
  CALLBACKS,
  ON_ANY = CALLBACKS
} Callback;

typedef enum { FAULT_RECOVERABLE, FAULT_FATAL, FAULT_NAN, FAULT_INF, FAULTS } Fault;

/* Arms a fault: from now on the n-th call (n = 1, 2, ...) of this kind (or ON_ANY) is faulty;
 * lasting: all later ones, too. */
void disturb_arm(Callback which, Fault fault, long n, int lasting);
void disturb_repair(void);
/* The number of faulty calls since disturb_arm, and the kind of the first one */
long disturb_struck(Callback *which);
/* Was a call of this kind faulty since disturb_forget? Then its results are worthless. */
int disturb_touched(Callback which);
void disturb_forget(void);

/* Calls of all kinds since disturb_restart_count. limit > 0: too_many is called beyond it. */
void disturb_restart_count(long limit, void (*too_many)(void));
long disturb_count(void);

/* The return value of a callback with the results out [n]. */
int disturb(Callback which, sunrealtype *out, long n);

extern const char *const callback_names[CALLBACKS + 1];
extern const char *const fault_names[FAULTS];

#endif
