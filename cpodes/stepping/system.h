/* A system of equations of the library's own, such as a mechanical system, and the integrator that it is attached to,
 * a CPode or a CPOneStep: what each knows of the other. */
#ifndef CPODES_SYSTEM_H
#define CPODES_SYSTEM_H

#include <cpodes/cpodes_types.h>
#include <cvodes/cvodes.h>
#include <stdio.h>

/* ---- the integrator, as its system sees it (stepper.c) ---- */

typedef struct CPStepper_ *CPStepper;

/* The newest accepted state, with its time, or NULL before the integrator is initialised. */
N_Vector cpStepperNewest(CPStepper s, sunrealtype *t);
/* The system is freed before its integrator, which refuses to step from now on. */
void cpStepperSystemFreed(CPStepper s);

/* A figure that an integrator prints, and its system after it: a text, a value with so many digits, or a count. It is not
 * printed if its name is NULL. */
typedef struct {
  const char *name, *text;
  double value;
  int digits;
  long int count;
} CPFigure;
/* Returns whether writing failed. */
int cpPrintFigures(FILE *out, SUNOutputFormat fmt, const CPFigure *figures, size_t count);

/* ---- equations in implicit form, as an implicit one-step method sees them ----
 *
 *   0 = r(t, y, x),   x = (k, lambda),  k = y' [n], lambda [m] multipliers;   r [n + m]
 *
 * of index 1: k and lambda follow from (t, y). With y = y_0 + g k, where g is a step size times a real or complex
 * number, the Newton matrix is D(g) = -dr/dx - g dr/dy (dk, dlambda columns), such that D(g) dx = r. Arrays are those of
 * the method.
 *
 * Functions return 0, a positive code if a smaller step may help, or a negative one if the failure is fatal, with the
 * reason in *text. Those marked as optional may be NULL. */
enum {
  CP_REAL_FACTORS,
  CP_COMPLEX_FACTORS,
  CP_STAGE_FACTORS = CP_COMPLEX_FACTORS + 3, /* real ones with partial derivatives of their own */
  CP_FACTORS       = CP_STAGE_FACTORS + 6
};
typedef struct {
  void *data;
  const char *text;
  int m;
  int counts_f; /* its evaluations of f are counted as those of the integrator */
  sunrealtype growth; /* the ratio of step sizes up to which keeping the factors costs less than a longer step saves */
  /* x = (k, lambda) at (t, y), where a run starts. */
  int (*start)(sunrealtype t, const sunrealtype *y, sunrealtype *x, void *data);
  int (*residual)(sunrealtype t, const sunrealtype *y, const sunrealtype *x, sunrealtype *r,
                  void *data);
  /* The same at s points: t [s], Y [s n], x, r [s (n + m)] (optional). */
  int (*residuals)(int s, const sunrealtype *t, const sunrealtype *Y, const sunrealtype *x,
                   sunrealtype *r, void *data);
  /* Computes the partial derivatives of r at (t, y, x). which: CP_REAL_FACTORS, for the real and the complex factors, or, after
   * those, CP_STAGE_FACTORS + k. ewt [n]: error weights. *jump becomes 1 if multipliers are not unique, and will not
   * continue smoothly from now on. */
  int (*partials)(int which, sunrealtype t, const sunrealtype *y, const sunrealtype *x,
                  const sunrealtype *ewt, int *jump, void *data);
  /* Factors D(g + i gi). gi is 0 with real factors. */
  int (*factor)(int which, sunrealtype g, sunrealtype gi, void *data);
  /* Solves D dx = r. re, im [n + m]: real and imaginary parts of r, then of dx. Real factors do not use im. */
  int (*solve)(int which, sunrealtype *re, sunrealtype *im, void *data);
  /* x [n + m] becomes D(0) x, with the partial derivatives of CP_REAL_FACTORS. If NULL, there are no CP_STAGE_FACTORS. */
  void (*leading)(sunrealtype *x, void *data);
  /* Of the multipliers in x that have the same effect, x keeps the shortest (optional). */
  void (*settle)(sunrealtype *x, void *data);
  /* e [n] becomes (I - g J)^-1 e, with the real factors, where J is the Jacobian of y' = k(t, y). */
  int (*filter)(sunrealtype *e, void *data);
  /* y [n], the end of a step, moves to the manifold of invariants, with the real factors, until corrections are below tol
   * in the norm of ewt. Returns 1 if that does not converge, or the negative code of a function of the user's (optional). */
  int (*project)(sunrealtype t, sunrealtype *y, const sunrealtype *ewt, sunrealtype tol, void *data);
  /* The number of first components of y whose derivatives are the same number of next ones, q' = u (optional). */
  int (*velocities)(void *data);
  /* Are the equations others than those of the newest partial derivatives (optional)? */
  int (*changed)(void *data);
} CPImplicitSystem;

/* Growth of steps that is not worth new factors: with a dense system of 1,000 unknowns, 3 takes three quarters of the
 * time that 1.2 takes. */
#define CP_GROWTH       1.2
#define CP_GROWTH_DENSE 3.0
#define CP_LARGE_DENSE  100

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
  int (*transposes)(
      void *data); /* Are there these two? Else differences of the right-hand side take their place. */
  const CPParams *(*params)(void *data);
} CPSensSystem;

/* All functions get data, which becomes the integrator's user_data: a struct whose first member is its CPStepper. Those
 * marked with (optional) may be NULL. The right-hand side fails where y' is not finite. */
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
   * at the newest evaluation of the right-hand side (optional). Returns as a right-hand side does; after a failure *sine is as it was. */
  int (*sine)(void *data, double *sine);
  /* The newest failure of its functions: 0, or a code of either sign, with the reason. */
  int (*cause)(const char **reason, void *data);
  /* Prints its figures after those of the integrator. Non-zero if writing failed. */
  int (*print)(FILE *out, SUNOutputFormat fmt, void *data);
  /* The integrator is being freed. */
  void (*detach)(void *data);
  const CPSensSystem *sens;
  const CPImplicitSystem *implicit; /* for implicit one-step methods; NULL if it has none */
} CPSystem;

#endif
