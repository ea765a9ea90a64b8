/* The interface between a system of equations of the library's own, such as a mechanical system,
 * and the integrator that it is attached to. */
#ifndef CPODES_SYSTEM_H
#define CPODES_SYSTEM_H

#include "cpodes/base/arena.h"

#include <cpodes/cpodes_integrator.h>
#include <cvodes/cvodes.h>
#include <math.h>
#include <stdio.h>

/* ---- the integrator, as its system sees it (stepper.c) ---- */

/* Is a call of the integrator under way, which calls functions of the user's? */
int cpStepperIsRunning(CPIntegrator s);
/* To be called if the system is freed before its integrator, which refuses to step from then on. */
void cpStepperSystemFreed(CPIntegrator s);

/* ---- equations in implicit form, for implicit one-step methods ----
 *
 *   0 = r(t, y, x),   x = (k, lambda),  k = y' [n], lambda [m] multipliers;   r [n + m]
 *
 * They have index 1: k and lambda follow from (t, y). With y = y_0 + g k, where g is a step size
 * times a real or complex number, the Newton matrix is D(g) = -dr/dx - g dr/dy (dk, dlambda
 * columns), such that D(g) dx = r. The method owns the arrays.
 *
 * Functions return 0, a positive code if a smaller step may help, or a negative code if the failure
 * is fatal, with the reason in *text. Functions marked as optional may be NULL. */
enum {
  CP_REAL_FACTORS,
  CP_COMPLEX_FACTORS,
  CP_STAGE_FACTORS = CP_COMPLEX_FACTORS + 3, /* real, with their own partial derivatives */
  CP_FACTORS       = CP_STAGE_FACTORS + 6
};
typedef struct {
  void *data;
  const char *text;
  int m;
  int nquad; /* the last components of y that are quadratures: the functions do not depend on them */
  int counts_f;       /* the system's evaluations of f are counted as the integrator's */
  sunrealtype growth; /* h is kept up to this ratio of step sizes: new factors would cost more */
  /* Computes x = (k, lambda) at (t, y), the start of a run. */
  int (*start)(sunrealtype t, const sunrealtype *y, sunrealtype *x, void *data);
  int (*residual)(sunrealtype t, const sunrealtype *y, const sunrealtype *x, sunrealtype *r,
                  void *data);
  /* Computes the derivatives of quadratures in x at (t, y, x), a stage that the iteration has solved for. Their
   * residuals and corrections are 0 (NULL if nquad is 0). */
  int (*quadratures)(sunrealtype t, const sunrealtype *y, sunrealtype *x, void *data);
  /* residual at s points: t [s], Y [s n], x, r [s (n + m)] (optional). */
  int (*residuals)(int s, const sunrealtype *t, const sunrealtype *Y, const sunrealtype *x,
                   sunrealtype *r, void *data);
  /* Computes the partial derivatives of r at (t, y, x). which: CP_REAL_FACTORS for the real and the
   * complex factors, or afterwards CP_STAGE_FACTORS + k. ewt [n]: error weights. h: the step size.
   * That a function of the user is grossly wrong is fatal. Sets *jump to 1 if the multipliers are not
   * unique, and so will not continue smoothly. */
  int (*partials)(int which, sunrealtype t, const sunrealtype *y, const sunrealtype *x,
                  const sunrealtype *ewt, sunrealtype h, int *jump, void *data);
  /* diagonal [n] <- the diagonal of -dr/dk, with the partial derivatives of CP_REAL_FACTORS
   * (NULL: 1). */
  void (*diagonal)(sunrealtype *diagonal, void *data);
  /* Factors D(g + i gi). For real factors gi is 0. */
  int (*factor)(int which, sunrealtype g, sunrealtype gi, void *data);
  /* Solves D dx = r. re, im [n + m]: real and imaginary parts, in of r, out of dx. Real factors do
   * not use im. */
  int (*solve)(int which, sunrealtype *re, sunrealtype *im, void *data);
  /* x [n + m] becomes D(0) x, with the partial derivatives of CP_REAL_FACTORS. If NULL, there are
   * no CP_STAGE_FACTORS. */
  int (*leading)(sunrealtype *x, void *data);
  /* Replaces the multipliers in x by the shortest ones with the same effect (optional). */
  void (*shortest)(sunrealtype *x, void *data);
  /* e [n] becomes (I - g J)^-1 e by the real factors, where J is the Jacobian of y' = k(t, y). */
  int (*filter)(sunrealtype *e, void *data);
  /* Do equations that depend on others contradict them at (t, y), the end of a step, where the
   * newest residual was evaluated (optional)? */
  int (*verify)(sunrealtype t, const sunrealtype *y, void *data);
  /* Projects y [n], the end of a step, onto the manifold of invariants by the real factors, until
   * corrections are below tol in the norm of ewt. violation: out, a bound on what remains, in units of
   * the tolerance. Returns 1 if that does not converge, or the negative code of a user's function
   * (optional). */
  int (*project)(sunrealtype t, sunrealtype *y, const sunrealtype *ewt, sunrealtype tol,
                 double *violation, void *data);
  /* Returns the number of leading components q of y whose derivatives are the components u that
   * follow, q' = u (optional). */
  int (*velocities)(void *data);
  /* Have the equations changed since the latest partial derivatives (optional)? */
  int (*changed)(void *data);
  /* Do the partial derivatives change fast, so that each step needs new ones (optional)? With old ones that
   * are too large corrections are small although the equations are not satisfied. */
  int (*fleeting)(void *data);
} CPImplicitSystem;

/* Values of growth: for a dense system of 1,000 unknowns, 3 takes three quarters of the time of
 * 1.2. */
#define CP_GROWTH       1.2
#define CP_GROWTH_DENSE 3.0
#define CP_LARGE_DENSE  100

/* ---- the system, as its integrator sees it ---- */

/* Parameters with respect to which sensitivities are taken. */
typedef struct {
  sunrealtype *p;    /* the user's array, or NULL if unknown */
  sunrealtype *pbar; /* [Ns] */
  sunrealtype *kept; /* [Ns] the values before CVODES' difference quotients change them */
  int *plist, Ns;    /* [Ns] */
  CPArena arena;     /* owns pbar, kept, plist */
} CPParams;

/* The sensitivities of the system. data is that of CPSystem.
 *
 * start: sets the parameters from now on, which must stay, or NULL if there are none any more.
 * rows: writes dc/dp to r, a vector of the kind of cpRowsVector. Sets *given to 0 if dc/dp has to
 * be approximated by differences. */
typedef struct {
  CVSensRhs1Fn rhs;
  int (*start)(void *data, const CPParams *params);
  int (*rows)(sunrealtype t, N_Vector y, int iS, N_Vector r, int *given, void *data);
  /* Jl <- J^T l and lfp [Ns] <- l^T df/dp; either may be NULL. */
  int (*products)(sunrealtype t, N_Vector y, N_Vector l, N_Vector Jl, sunrealtype *lfp, void *data);
  int (*transposes)(
      void *data); /* Do they exist? Otherwise differences of the right-hand side replace them. */
  /* size [n] <- the sizes of the components of y for increments of differences, infinite where nothing depends on one. */
  void (*sizes)(N_Vector y, N_Vector size, void *data);
} CPSensSystem;

/* x + 2 pi n for a whole n, by 2 pi as the sum of two numbers: no digit of x is lost if the result is small. */
static const sunrealtype cp_turn = SUN_RCONST(6.283185307179586);
static inline sunrealtype cpTurnedBy(sunrealtype n, sunrealtype x) {
  return n == 0 ? x : fma(n, cp_turn, x + n * SUN_RCONST(2.4492935982947064e-16));
}
/* The whole turns that are put aside of an angle x: none up to one, so that an angle near pi does not change its turn again and again */
static inline sunrealtype cpWholeTurns(sunrealtype x) {
  return fabs(x) > cp_turn && isfinite(x) ? nearbyint(x / cp_turn) : 0;
}

/* Puts aside whole turns of the angles of x that exceed one, also those of `also`, which may be NULL, and adds them to turns. Returns
 * whether there are some. */
static inline int cpPutTurnsAside(int nangles, const sunindextype *angles, sunrealtype *x,
                                  sunrealtype *also, sunrealtype *turns) {
  int some = 0;
  for (int k = 0; k < nangles; k++) {
    const sunindextype i = angles[k];
    const sunrealtype n  = cpWholeTurns(x[i]);
    if (n == 0) continue;
    x[i] = cpTurnedBy(-n, x[i]);
    if (also) also[i] = cpTurnedBy(-n, also[i]);
    turns[i] += n;
    some = 1;
  }
  return some;
}

typedef struct {
  CPLog log;
  CPIntegrator host; /* to which the system is attached, or NULL */
} CPSystemHead;

/* All functions receive data, which becomes the integrator's user_data: a struct that begins with
 * CPSystemHead. Functions marked (optional) may be NULL. The right-hand side fails if y' is not
 * finite. */
typedef struct {
  void *data; /* NULL if no system is attached */
  /* [nangles] Components that are angles: reltol is a part of 1 rad, and not of the angle, which counts turns. */
  const sunindextype *angles;
  int nangles;
  /* Entry i: the whole turns that an angle y_i lacks, which the integrator writes (stepper.h). NULL: angles keep their turns */
  sunrealtype *turns;
  /* The states that functions of the system get lack these turns from now on if `on` is set, or none. */
  void (*turned)(int on, void *data);
  /* Scales the error weights, which follow from the tolerances, and bounds them by roundoff (optional). */
  int (*scale)(N_Vector ewt, void *data);
  /* Computes the iteration matrix I - gamma J at (t, y). If jok, the Jacobian of an earlier state
   * may be used; *jcur says whether it was evaluated anew. Returns 0, a positive code if
   * recoverable, a negative one if fatal. */
  int (*linsys)(sunrealtype t, N_Vector y, sunbooleantype jok, sunbooleantype *jcur,
                sunrealtype gamma, void *data);
  /* At the next evaluation, which follows immediately, y' is expected to be near ydot, and gamma y' need only
   * be accurate to a small part of tol in the norm of ewt. If ydot is NULL, the run starts again: nothing is
   * carried over from it (optional). */
  void (*expect)(N_Vector ydot, N_Vector ewt, sunrealtype gamma, sunrealtype tol, void *data);
  /* The last components of y may be quadratures, on which nothing depends. If `on` is 1, evaluations and linear solutions of Newton's
   * iteration leave them out from now on: y' is 0; if it is 2, those of a stage that enters no result. Returns their number (optional). */
  int (*leave_out)(int on, void *data);
  /* After the iteration: replaces quadratures in y by their derivatives at (t, y), which is the newest
   * state plus the newest linear solution. Returns the codes of a right-hand side. */
  int (*quadratures)(sunrealtype t, N_Vector y, void *data);
  /* A run starts, or starts again, at t, where the state is consistent (optional). */
  void (*begin)(sunrealtype t, void *data);
  /* At states off the manifold of invariants, evaluates the right-hand side at the nearest state on
   * it: always if `all` is set, otherwise only where necessary. Returns whether this has been
   * necessary since the last call (optional). */
  int (*on_manifold)(void *data, int all);
  /* The rank of the constraint Jacobian at the latest evaluation of the right-hand side, or -1; *rows: the
   * number of its rows in use (optional). NULL: no rows ever depend on others. */
  int (*rank)(void *data, int *rows);
  /* A step to (t, y) has been accepted. Returns 0, or a negative code, with the reason by `cause`, if the run must
   * not go on from there (optional). */
  int (*accepted)(sunrealtype t, N_Vector y, void *data);
  /* Do the equations end at (t, y): is there no motion beyond t, since a prescribed motion contradicts
   * the other constraints there? Then text [CP_TEXT_LENGTH] (out) says which one. Near such a state the
   * answer is the same (optional). */
  int (*limit)(sunrealtype t, N_Vector y, char *text, void *data);
  /* Says which velocity changes fastest at (t, y), "; ...", in text [length], which is empty before; for failures that have no other reason (optional). */
  void (*fastest)(sunrealtype t, N_Vector y, char *text, size_t length, void *data);
  /* The latest evaluation of the right-hand side was that at the end of a step of an explicit method
   * (optional). Returns the codes of a right-hand side. */
  int (*ends)(void *data);
  /* Returns the latest failure of the system's functions, 0 or a code of either sign, with the
   * reason. */
  int (*cause)(const char **reason, void *data);
  /* To be called when the integrator is freed. */
  void (*detach)(void *data);
  const CPSensSystem *sens;
  int acts; /* Has it event sources of its own, whose events derivatives do not pass? */
  const CPImplicitSystem *implicit; /* for implicit one-step methods, or NULL */
} CPSystem;

#endif
