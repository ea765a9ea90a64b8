/* Radau IIA collocation (E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 2nd ed.,
 * sections IV.5 and IV.8): declarations shared by the method (radau.c), Newton's iteration for its
 * stages (radau_newton.c), the polynomial of a step (radau_polynomial.c), the coefficients
 * (radau_coefficients.c) and the plain equations y' = f (radau_ode.c). */
#ifndef CPODES_ONESTEP_RADAU_H
#define CPODES_ONESTEP_RADAU_H

#include "onestep_impl.h"

#include "cpodes/lu/lu.h"

enum { CP_RADAU_STAGES = 7, CP_RADAU_PAIRS = 3, CP_RADAU_TABLES = 3 };

/* The method of s stages and order 2 s - 1,
 *
 *   Y_i = y + h sum_j a_ij k_j   at t + c_i h,   A = T D T^-1,
 *
 * where D consists of the real eigenvalue `real` and of blocks ((re, im), (-im, re)). A step ends
 * at the last stage, c_s = 1. */
typedef struct {
  int s, pairs;
  double c[CP_RADAU_STAGES];
  double A[CP_RADAU_STAGES][CP_RADAU_STAGES];
  double T[CP_RADAU_STAGES][CP_RADAU_STAGES], T_inv[CP_RADAU_STAGES][CP_RADAU_STAGES];
  double real, re[CP_RADAU_PAIRS], im[CP_RADAU_PAIRS];
  /* The embedded formula of order s differs from the method by h (real k_0 + sum_j d_j k_j), with
   * k_0 = y' at the start of the step. Since sum_j d_j c_j^p is -real for p = 0, and 0 for p = 1
   * ... s - 1, this is h `constant` times the divided difference of order s of k. */
  double d[CP_RADAU_STAGES], constant;
} CPRadauTable;

extern const CPRadauTable cpRadauTables[CP_RADAU_TABLES]; /* of 3, 5 and 7 stages */

/* The bound on Newton's iterations with variable steps (RADAU's NIT), and the largest contraction that step
 * sizes should lead to */
#define CP_RADAU_ITERATIONS 10
#define CP_RADAU_FAST       0.2
/* Its iteration, and that of sensitivities, ends when the estimated error is this part of the tolerance. */
#define CP_RADAU_KAPPA 0.005

typedef struct {
  CPArena arena;   /* owns the arrays below; empty before the first start */
  int least, most; /* bounds on the number of stages: indices of cpRadauTables */
  CPImplicitSystem system;
  int n, N;                         /* lengths of k_i and of x_i */
  const CPRadauTable *table, *last; /* of the next attempt; of the last step, or NULL */
  sunrealtype hlast;
  /* theta of the last step at the start of the next one: 1, or 0 if the last one was taken back */
  sunrealtype origin;
  /* states and unknowns of the stages */
  sunrealtype *Y;     /* [s n] */
  sunrealtype *x;     /* [s N] */
  sunrealtype *r, *w; /* [s N] residuals, and T^-1 r */
  sunrealtype *v;     /* [s N] the previous w */
  /* [s N], [MOST_ACCELERATED][2][s N] of the acceleration (radau_newton.c); NULL until needed */
  sunrealtype *step, *pair;
  sunrealtype *x0;   /* [N] x at the start of the step */
  sunrealtype *zero; /* [N] */
  sunrealtype *unit; /* [n] error weights over the diagonal of -dr/dk, at the partial derivatives */
  sunrealtype *e;    /* [n] the term of k_0 in the error estimate */
  sunrealtype tol;   /* relative tolerance in the newest error estimate */
  /* the norms of the estimate, of order s, of the last step and of the newest attempt, in tolerances */
  sunrealtype error, estimate;
  /* The polynomial of a step for x, by divided differences: sum_p D_p prod_{l < p} (theta - node_l)
   * with the nodes c_s, ..., c_1, 0. D and size belong to the last step, D_new and size_new to the
   * newest attempt. size_p = |h| |D_p|, for the components k. n components follow in D and D_new:
   * the correction by the projection. */
  sunrealtype *D, *D_new; /* [(s + 1) N + n] */
  sunrealtype size[CP_RADAU_STAGES + 1], size_new[CP_RADAU_STAGES + 1];
  /* Multipliers that are not unique have jumped: in the last step, and in attempts since then. */
  int jump, jumps;
  int jumped; /* since the start */
  /* Newton's iteration */
  int have_partials, fresh;   /* there are partial derivatives; they belong to this step */
  int by_stages, have_stages; /* stages are to have derivatives of their own; they have them */
  sunrealtype plain;          /* step size that the contraction admits without these */
  /* Step size and table of the factors; h_factors is 0 if there are none. */
  sunrealtype h_factors;
  const CPRadauTable *table_factors;
  sunrealtype eta, theta; /* contraction theta; eta = theta / (1 - theta), kept between steps */
  sunrealtype eta_quad;   /* eta of quadratures, by their own contraction */
  sunrealtype known; /* a residual that one iteration with these derivatives is known to solve */
  sunrealtype *first_r; /* [n] residual of the last stage before the first iteration (plain equations) */
  int iterations, accelerated; /* of the newest iteration */
  sunrealtype moved; /* correction of the newest attempt that was rejected for it; INFINITY if none */
  int failures;      /* successive attempts whose iteration failed */
  int since;         /* steps with this number of stages */
  int stages;        /* the number chosen for the next step: index of cpRadauTables */
  int first;         /* no step has been made since the start */
} * CPRadau;

/* radau_newton.c: solves for the stages of a step of size h with the present partial derivatives,
 * and again with new ones if that fails. Returns 0, a code of the system's functions, or
 * -CV_CONV_FAILURE, each with its reason in base.text. */
int cpRadauStages(CPOneStep mem, sunrealtype h);
/* Returns flag, and copies the system's reason to base.text. */
int cpRadauBecause(CPOneStep mem, int flag);

/* Y_i = y + h sum_j a_ij k_j, i < s. k: rows with the distance N; Y [s n] */
void cpRadauStates(const CPRadau R, sunrealtype h, const sunrealtype *y, const sunrealtype *k,
                   sunrealtype *Y);
/* For a linear iteration with the derivatives and factors of the newest attempt: r [s N] (in, out), the residuals of y' = J y + b
 * with multipliers 0, becomes their corrections x. *norm <- the norm, in ewt, of the changes to the states. */
int cpRadauCorrect(CPOneStep mem, sunrealtype h, sunrealtype *r, N_Vector ewt, sunrealtype *norm);

/* radau.c: err <- the error estimate of slopes x [s N], x0 [N] from a state of this size (a norm in ewt), and *norm its norm, both
 * without the factor that raises it after a surprise. *ratio: the factor of the estimate of order s, by the tolerance *tol */
int cpRadauError(CPOneStep mem, sunrealtype h, const sunrealtype *x, const sunrealtype *x0,
                 sunrealtype size, N_Vector ewt, N_Vector err, sunrealtype *tol, sunrealtype *ratio,
                 sunrealtype *norm);

/* radau_polynomial.c: D [(s + 1) N] <- the divided differences of x [s N] and x0 [N]. */
void cpRadauDivide(const CPRadau R, const sunrealtype *x, const sunrealtype *x0, sunrealtype *D);
/* Computes D_new and size_new from the stages of the attempt. */
void cpRadauDifferences(CPOneStep mem, sunrealtype h);
/* Predicts x [s N] in the new step by the polynomial D of the last one or, without a last step, by x0. */
void cpRadauPredict(CPOneStep mem, sunrealtype h, const sunrealtype *D, const sunrealtype *x0,
                    sunrealtype *x);
/* x [N] <- x at the start of the last step, by the polynomial D of that step */
void cpRadauStart(CPRadau R, const sunrealtype *D, sunrealtype *x);
/* dky <- the k-th derivative at t of the integral of D from ylast, with the correction at the end of D */
int cpRadauValue(CPOneStep mem, const sunrealtype *D, N_Vector ylast, sunrealtype t, int k,
                 N_Vector dky);
/* For CPOneStepMethod. */
int cpRadauDegree(CPOneStep mem);
int cpRadauInterpolate(CPOneStep mem, sunrealtype t, int k, N_Vector dky);

/* radau_sensitivities.c: for CPOneStepMethod; sensitivities follow the state after an accepted step, and one taken back. */
int cpRadauVaryInit(CPOneStep mem);
int cpRadauVaryStart(CPOneStep mem);
int cpRadauVary(CPOneStep mem, sunrealtype h, sunrealtype *norm);
int cpRadauVaryInterpolate(CPOneStep mem, int p, sunrealtype t, int k, N_Vector dky);
void cpRadauVaryAccepted(CPOneStep mem);
void cpRadauVaryTakenBack(CPOneStep mem);
/* y = y0 + sum_k w_k Z_k. Rows have length n and the distance `stride`. If y0 is NULL, it counts as
 * 0. */
void cpRadauSum(int n, const double *y0, int terms, const double *w, const double *Z, int stride,
                double *restrict y);
/* sum_j (x_j ewt_j)^2 */
sunrealtype cpRadauSquares(int n, const sunrealtype *x, const sunrealtype *ewt);

/* radau_ode.c: y' = f(t, y) as an implicit system, r = f(t, y) - k, with J = df/dy by the user's
 * function or by difference quotients. Allocates in *arena, and returns 0 or CP_MEM_FAIL. */
int cpRadauOde(CPOneStep mem, CPArena *arena, CPImplicitSystem *system);

#endif
