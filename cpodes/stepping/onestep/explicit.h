/* Explicit Runge-Kutta methods: what DOP853 and Butcher tables share.
 *
 *   Y_i = y + h sum_j a_ij k_j,  k_i = f(t + c_i h, Y_i),  y1 = y + h sum_i b_i k_i, projected
 *
 * k [nk] are the vectors: those of the stages, f(t1, y1) at place last, and then those for
 * interpolation. Where the last stage is y1 (FSAL) its place is that of f(t1, y1): evaluated at the
 * projected state it serves the error estimate, the interpolation and the next step.
 */
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

/* What a kind of method has of its own.
 *
 * create: its data, and nk; 0 or CP_MEM_FAIL. estimate: into mem->err, and its norm, at (tnew, ynew) of a
 * step h, projected if so wanted. prepare: evaluates what its interpolant needs in the last step.
 * interpolant: for which prepare has been called. Those that return int: 0, positive recoverable,
 * negative fatal, with the reason in mem->text. */
typedef struct {
  int (*create)(CPOneStepMem mem);
  int (*estimate)(CPOneStepMem mem, sunrealtype h, sunrealtype *norm);
  int (*prepare)(CPOneStepMem mem);
  const CPInterpolant *(*interpolant)(CPOneStepMem mem);
  sunrealtype shrink, grow; /* bounds on the ratio of successive step sizes */
} CPExplicitKind;

typedef struct {
  const CPExplicitKind *kind;
  int fsal, last, nk;
  N_Vector *k;       /* [nk] */
  N_Vector *x;       /* [nk + 2] and their factors: a linear combination */
  sunrealtype *w;    /* [nk + 2] */
  int k_is_last;     /* a step has been made: f(t, y) is at place last */
  int is_prepared;   /* for interpolation in the last step */
  int error_order;   /* of the estimate: ~ h^error_order */
  sunrealtype norm;  /* of the last accepted step's error */
  CPInterpolant *ip; /* of the kind */
} * CPExplicit;

extern const CPExplicitKind cpTableKind, cpDop853Kind;

/* z = y + h sum_j a_j k_j over the first n. y NULL: none. */
int cpExplicitSum(CPOneStepMem mem, N_Vector y, sunrealtype h, const sunrealtype *a, int n,
                  N_Vector z);

/* z = the combination of the first terms of e->x with the factors e->w. */
int cpExplicitCombine(CPOneStepMem mem, int terms, N_Vector z);

/* k-th derivative of p. */
sunrealtype cpPolynomialValue(const CPPolynomial *p, int degree, sunrealtype theta, int k);
/* k-th derivative of the interpolant at theta, in a step of size h. */
int cpInterpolate(CPOneStepMem mem, const CPInterpolant *ip, sunrealtype theta, int k, N_Vector dky);
/* The cubic of Hermite, by f(tlast, ylast) and f(t, y). */
void cpInterpolantHermite(CPInterpolant *ip, int last);

/* control.c: the ratio of the next size to that of a step whose error has this norm. */
sunrealtype cpStepRatio(CPOneStepMem mem, sunrealtype norm, int accepted);

#endif
