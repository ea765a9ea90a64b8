/* Structured Newton solves (I - gamma J) (dq, du, dz) = (r_q, r_u, r_z), where J is the Jacobian of
 * y' = f(t, y), y = (q, u, z), without forming J. The unknowns are the changes a', lambda', zeta'
 * of u', lambda and z'. With
 *
 *   du = r_u + gamma a',   dz = r_z + gamma zeta',   dq = (1 - gamma E)^-1 (r_q + gamma N du),
 *   E = d(N u)/dq,   s = N^+ (1 - gamma E)^-1 (r_q + gamma N r_u),   T = N^+ (1 - gamma E)^-1 N
 *
 * (E = 0 and T = 1 if q' = u) and a real or complex gamma, the three linearised equations for u',
 * lambda and z' are
 *
 *   [ M - gamma C  - gamma^2 K T    A^T - Fl   - gamma Fz  ] [ a'      ]   [ K s + C r_u + Fz r_z   ]
 *   [ A - gamma Bu - gamma^2 Bq T       0           0      ] [ lambda' ] = [ Bq s + Bu r_u          ]
 *   [   - gamma Zu - gamma^2 Zq T     - Zl     1 - gamma Zz] [ zeta'   ]   [ Zq s + Zu r_u + Zz r_z ]
 *
 *   K, C, Fz, Fl   derivatives of F = f + f_lambda - M a - A^T lambda, with a and lambda held
 *   Bq, Bu         of B = b - A a
 *   Zq, Zu, Zz, Zl of zdot
 *
 * with respect to positions (along N e_j), velocities, z and lambda. The rows of q' are never
 * factored. With CP_NEWTON_HALF, M is 1, F is u' and zdot is taken with its lambda, both as
 * functions of the state, and there are no rows of A.
 *
 * Rows that are off or dependent have lambda' = 0, and velocities of FULL motions have a' = 0:
 * their rows and columns are those of the identity ("fixed").
 *
 * Quadratures, auxiliary states that no function depends on, would be a dense row below a triangular
 * matrix. They have no rows and columns. Solutions contain them: once the rest is known, their zeta' is
 * the derivative of their rates along (dq, du, dz, lambda'), by one difference whatever the size of the
 * system. Corrections leave them out.
 *
 * The partial derivatives (CPPartials) do not depend on gamma, and the matrix (CPNewtonMatrix) does
 * not depend on the integrator: any method that needs (I - gamma J)^-1, or a block of it, uses both
 * at states of its own. */
#ifndef CPODES_NEWTON_IMPL_H
#define CPODES_NEWTON_IMPL_H

#include "cpodes/lu/lu.h"
#include "cpodes/mechanics/mech.h"

#include <sundials/sundials_linearsolver.h>

/* ---- partial derivatives ---- */

/* Outputs, and what they are differentiated with respect to */
typedef enum { CP_OF_F, CP_OF_B, CP_OF_Z, CP_OUTPUTS } CPOutput;
typedef enum { CP_BY_Q, CP_BY_U, CP_BY_Z, CP_BY_LAMBDA, CP_DIRECTIONS } CPDirection;

/* One of K, C, ..., Zl */
typedef struct {
  int exists;
  int given;      /* 1: by the user's function; 0: by differences */
  CPMat J;        /* rows of the output x columns of the direction */
  CPUserMat user; /* what the user's function fills, and the template of a pattern */
} CPBlock;
/* y += alpha J x, if the block exists */
static inline void cpBlockTimes(const CPBlock *block, double alpha, const double *x, double *y) {
  if (block->exists) cpMatTimes(&block->J, alpha, x, 1.0, y);
}

/* Blocks of one direction that are differentiated together */
typedef struct {
  CPDirection by;
  int whole;          /* 1: outputs have all their terms, also those that do not depend on it */
  int forces;         /* 1: only the forces that cpForcesDisplaced evaluates; they are added to F */
  int stands_in;      /* 1: for udot_jac where that is of no use */
  int of[CP_OUTPUTS]; /* 1: takes part */
  double root;        /* relative increment: square root of the noise of the outputs */
  /* if start is NULL, there are no groups, and columns are perturbed one by one */
  CPColoring colors;
} CPPass;
enum { CP_PASS_KINDS = 6, CP_MAX_PASSES = CP_PASS_KINDS * CP_DIRECTIONS };

typedef struct CPPartials_ *CPPartials;
struct CPPartials_ {
  CPArena arena;
  CPMech mech;
  int kkt;    /* 0: CP_NEWTON_HALF */
  int sparse; /* K, C, Bq, Bu by differences are sparse, as M and A are */
  int leaves_udot; /* HALF: udot_jac has left the derivatives of u' to M and A, or does not know which rows are off */
  int keep_rank;   /* 1: with a given a, the dependent rows are not determined anew */
  int has_factors; /* 1: with keep_rank, mech->kkt has the factors of the state, of M and A in mech->userM and mech->A */
  /* > 0: differences are results, not parts of an iteration, and are of sixth order, with increments of this part of the
   * sizes of variables */
  double sixth_order;
  int nu, m, nz; /* m: rows of A, 0 with HALF; nz: auxiliary states that are not left out */
  int nquad;     /* quadratures that are left out, the last auxiliary states */
  int rows[CP_OUTPUTS], cols[CP_DIRECTIONS];
  /* the state, and the partial derivatives at it */
  int valid;
  int fleeting; /* They change fast (linearize of CPMechForce), and each factorisation evaluates them anew. */
  long int layout; /* mech->rows.layout at that state */
  double t, *q, *u, *z, *a, *lambda;
  double *zdot; /* [mech->nz] at that state, if quadratures are left out */
  double *room; /* [4 nquad] for their differences */
  /* the part of a change of lambda that zdot sees; all of it if NULL */
  const double *(*seen)(CPMech mech, const double *lambda);
  char *fixed; /* [nu + m + nz] */
  CPMat M, A;  /* nu x nu, m x nu */
  CPBlock block[CP_OUTPUTS][CP_DIRECTIONS];
  CPUserMat (*force)[CP_BY_LAMBDA]; /* what the functions jac of CPMechAddForce fill */
  /* differences */
  int npasses;
  CPPass pass[CP_MAX_PASSES];
  double *x2[CP_DIRECTIONS],
      *q2;                     /* displaced variables, where positions are q2 = q + N x2[CP_BY_Q] */
  double *step[CP_DIRECTIONS]; /* increments */
  CPGross gross[CP_BY_LAMBDA]; /* comparisons of given blocks */
  double *value[CP_OUTPUTS], *perturbed[CP_OUTPUTS], *opposite[CP_OUTPUTS]; /* F, B, zdot */
};

/* Creates the partial derivatives for a matrix of this type, CP_NEWTON_KKT or CP_NEWTON_HALF. mech
 * must be set up. leaves_out: 1 leaves out the model's quadratures (cpPartialsAlong), unless auxiliary_jac gives their derivatives. Returns 0 or CP_MEM_FAIL. */
int cpPartialsCreate(CPPartials *P, CPMech mech, CPMechNewton type, int leaves_out);
void cpPartialsFree(CPPartials *P);
/* Evaluates all blocks, M and A at (t, y) with u' = a and lambda, for which it solves if a is NULL.
 * With weights ewt [n], which may be NULL, increments of differences take account of the
 * tolerances. Returns 0, or a code with the reason in mech->text; or 1, without one, where differences are results and udot_jac leaves the
 * derivatives of u' to M and A. */
int cpPartialsAt(CPPartials P, sunrealtype t, const sunrealtype *y, const double *a,
                 const double *lambda, const double *ewt);
/* cpPartialsGiven evaluates only the blocks of the user's functions, at the state that
 * cpPartialsKeep has copied. */
void cpPartialsKeep(CPPartials P, const CPMechState *s, const double *a, const double *lambda);
int cpPartialsGiven(CPPartials P);
/* Are there forces of CPMechAddForce whose derivatives in this direction are found by differences, while those
 * of the model are given? F <- these forces. */
int cpForcesAreDisplaced(const CPPartials P, CPDirection by);
int cpForcesDisplaced(CPPartials P, CPDirection by, const CPMechState *s, double *F);

/* differences.c: creates the passes for the blocks that are not given, and returns 0 or
 * CP_MEM_FAIL; evaluates these blocks, or only adds those forces, and returns as cpPartialsAt. */
int cpPassesCreate(CPPartials P);
int cpPartialsDifferences(CPPartials P, int forces, const double *ewt);
/* change [nquad] <- the derivative of the rates of quadratures along changes of the positions (N w, w
 * [nu]), velocities [nu], other auxiliary states [nz] and multipliers [m], each of which may be NULL; by
 * one difference, or by those of sixth order that cpDifferentiate takes, at the state of the partial derivatives. Returns as
 * cpPartialsAt. */
int cpPartialsAlong(CPPartials P, const double *const along[CP_DIRECTIONS], double *change);
/* With KKT, compares the given blocks with differences, for steps of size h (matrix/gross.c): creates
 * the comparisons, and returns 0 or CP_MEM_FAIL; to be called after each cpPartialsAt that is not
 * stagePartials, and returns CP_MECH_DERIV_WRONG if one is grossly too large, or as cpPartialsAt. */
int cpComparisonsCreate(CPPartials P);
int cpPartialsCompare(CPPartials P, double h, const double *ewt);

/* ---- the matrix ---- */

/* three for M, A and A^T, and one for the real and one for the imaginary part of each block */
enum { CP_MAX_TERMS = 3 + 2 * CP_OUTPUTS * CP_DIRECTIONS };

/* (1 - gamma E)^-1 of a quaternion (matrix.c); real and imaginary parts */
typedef struct {
  double sign;              /* +1: in the body frame, -1: in the world frame */
  double g[2][3], scale[2]; /* g = gamma omega / 2, scale = 1 / (1 + g.g) */
} CPRotation;

typedef struct {
  CPArena arena;
  CPPartials P;
  int parts; /* 1, or 2 for a complex gamma: vectors have a real and an imaginary part */
  double complex gamma;
  CPRotation *rotation;    /* [number of quaternions] for this gamma, at the state of the matrix */
  CPMat JT[CP_OUTPUTS][2]; /* K T, Bq T, Zq T where there are quaternions: real and imaginary parts */
  int nterms;
  double complex factor[CP_MAX_TERMS]; /* The weight of term k is factor * gamma^power. */
  int power[CP_MAX_TERMS];
  CPLu lu;
  double *x[2], *s[2], *v[2], *rq[2], *Nv[2]; /* [order], [nu], [nu], [nq], [nq] */
  double *change;                             /* [nquad] */
} CPNewtonMatrix;

int cpNewtonMatrixCreate(CPNewtonMatrix *S, CPPartials P, int is_complex);
void cpNewtonMatrixFree(CPNewtonMatrix *S);
/* cpNewtonAssemble forms the matrix for gamma, which must be real if S is, at the state of the
 * partial derivatives. Several matrices may share these. cpNewtonFactor replaces the matrix by its
 * factors; a singular matrix is the recoverable -CP_LINSOL_FAIL, because another gamma may help.
 * All functions return 0, or a code with the reason in mech->text. */
int cpNewtonAssemble(CPNewtonMatrix *S, double complex gamma);
int cpNewtonFactor(CPNewtonMatrix *S);
/* x [n] = (I - gamma J)^-1 r, r [n], with a real gamma. */
int cpNewtonSolve(CPNewtonMatrix *S, const double *r, double *x);
/* Newton's correction of y' and lambda, where y changes by gamma times the correction of y':
 *
 *   re + i im [n + m]: in, the residuals (N u - q', F, zdot - z', b - A u') at some y' and lambda,
 *                      F as above; out, the corrections (q'', u'', z'', lambda')
 *
 * A real S does not use im, which may be NULL. Residuals of fixed rows are ignored, and their
 * corrections are 0. Quadratures that are left out keep their residuals. */
int cpNewtonCorrect(CPNewtonMatrix *S, double *re, double *im);

/* ---- the linear solver of an integrator ---- */

struct CPMechNewton_ {
  CPMech mech;
  CPMechNewton type;
  CPPartials P;
  CPNewtonMatrix S;
  int assembled, factored;
  /* matrix and LS are what the integrator sees; the content of both is this object */
  SUNMatrix matrix;
  SUNLinearSolver LS;
  N_Vector ewt;
};

/* Creates what mech's options ask for. *newton is NULL if that is nothing (NONE, or AUTO without
 * matrices and udot_jac). */
int cpNewtonCreate(CPMechNewtonMem *newton, CPMech mech);
/* Evaluates the partial derivatives at (t, y), unless jok is set and there are valid ones, and
 * forms the matrix. *jcur: out, 1 if the partial derivatives are new. Returns as cpPartialsAt. */
int cpNewtonSystem(CPMechNewtonMem newton, sunrealtype t, const sunrealtype *y, const double *ewt,
                   int jok, double gamma, int *jcur);

#endif
