/* Explicit Runge-Kutta methods: what DOP853 and Butcher tables share.
 *
 *   Y_i = y + h sum_j a_ij k_j,  k_i = f(t + c_i h, Y_i),  y1 = y + h sum_i b_i k_i, projected
 *
 * The vectors k [nk] are those of the stages, f(t1, y1) at place last, and those for interpolation. Where the last stage
 * is y1 (FSAL) its place is that of f(t1, y1): evaluated at the projected state it serves the error estimate, the
 * interpolation and the next step. */
#ifndef CPODES_ONESTEP_EXPLICIT_H
#define CPODES_ONESTEP_EXPLICIT_H

#include "onestep_impl.h"

/* Highest degree of an interpolant. */
#define CP_MAX_DEGREE 8

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

/* What a kind of method has of its own. Those that return int return 0, positive if recoverable, negative if fatal, with
 * the reason in base.text. */
typedef struct {
  /* Its data, in mem->memory. */
  int (*create)(CPOneStepMem mem);
  /* Into base.err, with its norm, at (tnew, ynew) of a step h. */
  int (*estimate)(CPOneStepMem mem, sunrealtype h, sunrealtype *norm);
  /* Evaluates what its interpolant needs in the last step. */
  int (*prepare)(CPOneStepMem mem);
  sunrealtype shrink, grow; /* bounds on the ratio of successive step sizes */
} CPExplicitKind;

typedef struct {
  const CPExplicitKind *kind;
  int fsal, last, nk;
  N_Vector *k;        /* [nk] */
  N_Vector *x;        /* [nk + 2] and their factors: a linear combination */
  sunrealtype *w;     /* [nk + 2] */
  sunrealtype *error; /* [stages] weights of the error estimate, of tables */
  int k_is_last;      /* a step has been made: f(t, y) is at place last */
  int is_prepared;    /* for interpolation in the last step */
  int error_order;    /* of the estimate: ~ h^error_order */
  sunrealtype norm;   /* of the last accepted step's error */
  CPInterpolant *ip;  /* by rising order; of the kind */
  const CPInterpolant *highest;
} * CPExplicit;

extern const CPExplicitKind cpTableKind, cpDop853Kind;

/* z = y + h sum_j a_j k_j over the first n; without y if it is NULL. */
int cpExplicitSum(CPOneStepMem mem, N_Vector y, sunrealtype h, const sunrealtype *a, int n,
                  N_Vector z);
/* base.err = h sum_j w_j k_j over the stages, projected if that is wanted, with its norm. */
int cpExplicitError(CPOneStepMem mem, sunrealtype h, const sunrealtype *w, sunrealtype *norm);
/* k-th derivative of p. */
sunrealtype cpPolynomialValue(const CPPolynomial *p, int degree, sunrealtype theta, int k);
/* k-th derivative of the interpolant at theta, in the last step. */
int cpInterpolate(CPOneStepMem mem, const CPInterpolant *ip, sunrealtype theta, int k, N_Vector dky);
/* Hermite's cubic, by f(tlast, ylast) and f(t, y). */
void cpInterpolantHermite(CPInterpolant *ip, int last);

#endif
