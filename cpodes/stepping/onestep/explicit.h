/* Declarations shared by the explicit Runge-Kutta methods, DOP853 and Butcher tables:
 *
 *   Y_i = y + h sum_j a_ij k_j,  k_i = f(t + c_i h, Y_i),  y1 = y + h sum_i b_i k_i, projected
 *
 * The vectors k [nk] are those of the stages, then k_last = f(t1, y1), then those for
 * interpolation. If the last stage is y1 (FSAL), last is the index of that stage: f is evaluated
 * there at the projected state, and serves the error estimate, interpolation and the next step. */
#ifndef CPODES_ONESTEP_EXPLICIT_H
#define CPODES_ONESTEP_EXPLICIT_H

#include "onestep_impl.h"

/* Highest degree of an interpolant. */
enum { CP_MAX_DEGREE = 9 };

/* The polynomial sum_i a_i theta^i, theta = (t - tlast) / h. */
typedef struct {
  sunrealtype a[CP_MAX_DEGREE + 1];
} CPPolynomial;

/* y(tlast + theta h) = ylast + difference(theta) (y - ylast) + h sum_j p_j(theta) k_place_j */
enum { CP_MAX_TERMS = 12 };
typedef struct {
  int degree, terms;
  CPPolynomial difference, p[CP_MAX_TERMS];
  int place[CP_MAX_TERMS];
} CPInterpolant;

/* What moves through a step, the state or a sensitivity: its slopes k [nk] in the stages, its values at both ends, and its
 * error estimate with the weights. */
typedef struct {
  N_Vector *k, from, to, err, ewt;
} CPCourse;

/* Functions of a kind of method. They return 0, a positive code if the failure is recoverable, or a
 * negative one if it is fatal, with the reason in base.text. */
typedef struct {
  /* Allocates in mem->memory, and sets the fields of CPExplicit, and of mem, that depend on the
   * kind. */
  int (*create)(CPOneStep mem);
  /* Sets c->err, the error estimate of a step of size h to (tnew, ynew), and its norm. */
  int (*estimate)(CPOneStep mem, const CPCourse *c, sunrealtype h, sunrealtype *norm);
  /* Sets theta, and z to the value at tlast + theta h, where interpolation in the last step
   * needs the slope as k_place. */
  int (*state)(CPOneStep mem, const CPCourse *c, int place, sunrealtype *theta, N_Vector z);
  sunrealtype shrink, grow; /* bounds on the ratio of successive step sizes */
  int idle; /* stages 1 ... idle serve other stages alone: their slopes enter neither y1, nor an estimate, nor interpolation */
} CPExplicitKind;

typedef struct {
  const CPExplicitKind *kind;
  int fsal, last, nk;
  N_Vector *k;        /* [nk] */
  N_Vector *x;        /* [nk + 2] the terms of a linear combination */
  sunrealtype *w;     /* [nk + 2] their factors */
  sunrealtype *error; /* [stages] weights of a table's error estimate */
  int k_is_last;      /* a step has been accepted, and f(t, y) is still k_last */
  int is_prepared;    /* k contains the vectors for interpolation in the last step */
  int error_order;    /* the estimate is O(h^error_order) */
  sunrealtype norm;   /* error norm of the last accepted step */
  CPInterpolant *ip;  /* interpolants by rising order */
  const CPInterpolant *highest;
} * CPExplicit;

extern const CPExplicitKind cpTableKind, cpDop853Kind;

/* z = y + h sum_{j < n} a_j k_j. If y is NULL, it counts as 0. */
int cpExplicitSum(CPOneStep mem, N_Vector *k, N_Vector y, sunrealtype h, const sunrealtype *a,
                  int n, N_Vector z);
/* c->err = h sum_j w_j k_j over the stages, and its norm. The estimate is projected with
 * CP_ERREST_PROJECTED, except next to a singular position. */
int cpExplicitError(CPOneStep mem, const CPCourse *c, sunrealtype h, const sunrealtype *w,
                    sunrealtype *norm);
/* Returns the k-th derivative of p at theta. */
sunrealtype cpPolynomialValue(const CPPolynomial *p, int degree, sunrealtype theta, int k);
/* dky = the k-th derivative of the interpolant at theta in the last step. */
int cpInterpolate(CPOneStep mem, const CPCourse *c, const CPInterpolant *ip, sunrealtype theta,
                  int k, N_Vector dky);
/* Sets ip to Hermite's cubic, with the slopes k_0 = f(tlast, ylast) and k_last = f(t, y). */
void cpInterpolantHermite(CPInterpolant *ip, int last);

#endif
