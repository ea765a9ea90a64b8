/* What the explicit Runge-Kutta methods share: DOP853 and Butcher tables.
 *
 *   Y_i = y + h sum_j a_ij k_j,  k_i = f(t + c_i h, Y_i),  y1 = y + h sum_i b_i k_i, projected
 *
 * The vectors k [nk] are those of the stages, f(t1, y1) at the place last, and those for interpolation after it. If the
 * last stage is y1 (FSAL), its place is that of f(t1, y1): evaluated at the projected state it serves the error estimate,
 * the interpolation and the next step. */
#ifndef CPODES_ONESTEP_EXPLICIT_H
#define CPODES_ONESTEP_EXPLICIT_H

#include "onestep_impl.h"

/* Highest degree of an interpolant. */
#define CP_MAX_DEGREE 9

/* A polynomial in theta = (t - tlast) / h, by rising powers. */
typedef struct {
  sunrealtype a[CP_MAX_DEGREE + 1];
} CPPolynomial;

/* y(tlast + theta h) = ylast + difference(theta) (y - ylast) + h sum_j p_j(theta) k_place_j */
#define CP_MAX_TERMS 12
typedef struct {
  int degree, terms;
  CPPolynomial difference, p[CP_MAX_TERMS];
  int place[CP_MAX_TERMS];
} CPInterpolant;

/* Functions of a kind of method. They return 0, a positive code if the failure is recoverable, or a negative one if it is
 * fatal, with the reason in base.text. */
typedef struct {
  /* Requests data in mem->memory, and fills the fields below that depend on the kind. */
  int (*create)(CPOneStepMem mem);
  /* Sets base.err, the error estimate at (tnew, ynew) of a step h, and its norm. */
  int (*estimate)(CPOneStepMem mem, sunrealtype h, sunrealtype *norm);
  /* Sets theta, and ynew to the state there, where interpolation in the last step needs f at the given place. */
  int (*state)(CPOneStepMem mem, int place, sunrealtype *theta);
  sunrealtype shrink, grow; /* bounds on the ratio of successive step sizes */
} CPExplicitKind;

typedef struct {
  const CPExplicitKind *kind;
  int fsal, last, nk;
  N_Vector *k;        /* [nk] */
  N_Vector *x;        /* [nk + 2] and their factors: a linear combination */
  sunrealtype *w;     /* [nk + 2] */
  sunrealtype *error; /* [stages] weights of the error estimate of a table */
  int k_is_last;      /* a step has been made, and f(t, y) is at the place last */
  int is_prepared;    /* k is complete for interpolation in the last step */
  int error_order;    /* the estimate is O(h^error_order) */
  sunrealtype norm;   /* of the last accepted step's error */
  CPInterpolant *ip;  /* by rising order */
  const CPInterpolant *highest;
} * CPExplicit;

extern const CPExplicitKind cpTableKind, cpDop853Kind;

/* z = y + h sum_{j < n} a_j k_j. If y is NULL, its term is missing. */
int cpExplicitSum(CPOneStepMem mem, N_Vector y, sunrealtype h, const sunrealtype *a, int n,
                  N_Vector z);
/* base.err = h sum_j w_j k_j over the stages, projected if that is asked for, with its norm. */
int cpExplicitError(CPOneStepMem mem, sunrealtype h, const sunrealtype *w, sunrealtype *norm);
/* Returns the k-th derivative of p. */
sunrealtype cpPolynomialValue(const CPPolynomial *p, int degree, sunrealtype theta, int k);
/* dky = the k-th derivative of the interpolant at theta in the last step. */
int cpInterpolate(CPOneStepMem mem, const CPInterpolant *ip, sunrealtype theta, int k, N_Vector dky);
/* Hermite's cubic, by f(tlast, ylast) and f(t, y). */
void cpInterpolantHermite(CPInterpolant *ip, int last);

#endif
