/* Radau IIA collocation (E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 2nd ed., sections IV.5 and
 * IV.8): what its method (radau.c), Newton's iteration for its stages (radau_newton.c), the polynomial of a step
 * (radau_polynomial.c), its coefficients (radau_coefficients.c) and the plain equations y' = f (radau_ode.c) know of each
 * other. */
#ifndef CPODES_ONESTEP_RADAU_H
#define CPODES_ONESTEP_RADAU_H

#include "onestep_impl.h"

#include "cpodes/lu/lu.h"

enum { CP_RADAU_STAGES = 7, CP_RADAU_PAIRS = 3, CP_RADAU_TABLES = 3 };

/* The method of s stages and order 2 s - 1,
 *
 *   Y_i = y + h sum_j a_ij k_j   at t + c_i h,   A = T D T^-1,
 *
 * D consists of the real eigenvalue `real` and of blocks ((re, im), (-im, re)). The method ends at its last stage. */
typedef struct {
  int s, pairs;
  double c[CP_RADAU_STAGES];
  double A[CP_RADAU_STAGES][CP_RADAU_STAGES];
  double T[CP_RADAU_STAGES][CP_RADAU_STAGES], T_inv[CP_RADAU_STAGES][CP_RADAU_STAGES];
  double real, re[CP_RADAU_PAIRS], im[CP_RADAU_PAIRS];
  /* The embedded formula of order s differs by h (real k_0 + sum_j d_j k_j), which is h `constant` times the divided
   * difference of order s of k, with k_0 = y' at the start of the step: sum_j d_j c_j^p is -real for p = 0, and 0 for
   * p = 1 ... s - 1. */
  double d[CP_RADAU_STAGES], constant;
} CPRadauTable;

extern const CPRadauTable cpRadauTables[CP_RADAU_TABLES]; /* of 3, 5 and 7 stages */

/* Most iterations of Newton's method, but with fixed steps, and its contraction to which steps are to lead at most */
#define CP_RADAU_ITERATIONS 10
#define CP_RADAU_FAST       0.2

typedef struct {
  CPArena arena;   /* of all below; empty before the first start */
  int least, most; /* numbers of stages: indices of cpRadauTables */
  CPImplicitSystem system;
  int n, N; /* lengths of k and of x */
  const CPRadauTable *table,
      *last; /* of the next attempt; of the last step, or NULL if there is none */
  sunrealtype hlast;
  sunrealtype origin; /* theta of the last step at the start of the next one: 1, or 0 if it has been taken back */
  /* states and unknowns of the stages */
  sunrealtype *Y;     /* [s n] */
  sunrealtype *x;     /* [s N] */
  sunrealtype *r, *w; /* [s N] residuals, and T^-1 r */
  sunrealtype *v;     /* [s N] the w before, or the direction that is taken out of it */
  sunrealtype *x0;    /* [N] at the start of the step */
  sunrealtype *zero;  /* [N] */
  sunrealtype *e;     /* [n] estimate */
  sunrealtype tol;    /* tolerance relative to the state, where it was estimated */
  /* The polynomial k of a step by divided differences: k = sum_p D_p prod_{l < p} (theta - node_l), nodes c_s, ..., c_1,
   * 0; of the last step, and of the newest attempt; [s + 1] sizes h |D_p|. moved [n]: correction by the projection */
  sunrealtype *D, *D_new; /* [(s + 1) N + n] */
  sunrealtype size[CP_RADAU_STAGES + 1], size_new[CP_RADAU_STAGES + 1];
  /* Multipliers of the last step do not continue those at its start; the same of the attempts since then */
  int jump, jumps;
  int jumped; /* since the start */
  /* Newton's iteration */
  int have_partials, fresh;   /* There are partial derivatives; they are of this step. */
  int by_stages, have_stages; /* Stages are to have derivatives of their own; they have them. */
  sunrealtype plain;          /* step size to which the contraction without these leads */
  sunrealtype h_factors; /* the factors belong to this step size and these stages; 0: there are none */
  const CPRadauTable *table_factors;
  sunrealtype eta,
      theta; /* contraction: theta / (1 - theta), kept from step to step, and theta itself */
  sunrealtype deflation; /* v is the direction of the factor mu: mu / (1 - mu); 0: there is none */
  int iterations;
  int failures; /* successive attempts whose iteration failed */
  int since;    /* steps with this number of stages */
  int stages;   /* chosen for the next step: index of cpRadauTables */
  int first;    /* no step has been made since the start */
} * CPRadau;

/* radau_newton.c: solves for the stages of a step of size h with the partial derivatives that there are, and once more with
 * new ones if that fails. Returns 0, a code of the system's functions, or -CV_CONV_FAILURE, each with its reason in
 * base.text. */
int cpRadauStages(CPOneStepMem mem, sunrealtype h);
/* flag, with the reason of the system in base.text */
int cpRadauBecause(CPOneStepMem mem, int flag);

/* radau_polynomial.c: the differences of the attempt, with their sizes */
void cpRadauDifferences(CPOneStepMem mem, sunrealtype h);
/* x_i of the new step by the polynomial of the last one, if there is one */
void cpRadauPredict(CPOneStepMem mem, sunrealtype h);
/* x [N] <- the unknowns where the last step began */
void cpRadauStart(CPRadau R, sunrealtype *x);
/* CPOneStepMethod */
int cpRadauDegree(CPOneStepMem mem);
int cpRadauInterpolate(CPOneStepMem mem, sunrealtype t, int k, N_Vector dky);
/* y = y0 + sum_k w_k Z_k, rows of length n and distance `stride`; y0 NULL: 0 */
void cpRadauSum(int n, const double *y0, int terms, const double *w, const double *Z, int stride,
                double *restrict y);
/* sum_j (x_j ewt_j)^2 */
sunrealtype cpRadauSquares(int n, const sunrealtype *x, const sunrealtype *ewt);

/* radau_ode.c: y' = f(t, y) as an implicit system, r = f(t, y) - k. J = df/dy by the user's function or by difference
 * quotients. Requests its memory in *arena, and returns 0 or CP_MEM_FAIL. */
int cpRadauOde(CPOneStepMem mem, CPArena *arena, CPImplicitSystem *system);

#endif
