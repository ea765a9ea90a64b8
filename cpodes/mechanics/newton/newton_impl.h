/* Structured Newton: solves (I - gamma J) (dq, du, dz) = (r_q, r_u, r_z), J the Jacobian of
 * y' = f(t, y), y = (q, u, z), without forming J. The unknowns are the changes a', lambda', zeta' of
 * u', lambda and z'. With
 *
 *   du = r_u + gamma a',   dz = r_z + gamma zeta',   dq = (1 - gamma E)^-1 (r_q + gamma N du),
 *   E = d(N u)/dq,   s = N^+ (1 - gamma E)^-1 (r_q + gamma N r_u),   T = N^+ (1 - gamma E)^-1 N
 *
 * (q' = u: E = 0, T = 1) the derivatives of the three equations for u', lambda and z' are
 *
 *   [ M - gamma C  - gamma^2 K T    A^T - Fl   - gamma Fz  ] [ a'      ]   [ K s + C r_u + Fz r_z   ]
 *   [ A - gamma Bu - gamma^2 Bq T       0           0      ] [ lambda' ] = [ Bq s + Bu r_u          ]
 *   [   - gamma Zu - gamma^2 Zq T     - Zl     1 - gamma Zz] [ zeta'   ]   [ Zq s + Zu r_u + Zz r_z ]
 *
 *   K, C, Fz, Fl   derivatives of F = f + f_lambda - M a - A^T lambda, a and lambda held
 *   Bq, Bu         of B = b - A a
 *   Zq, Zu, Zz, Zl of zdot
 *
 * to positions (along N e_j), velocities, z and lambda. The rows of q' are never factored. HALF: M = 1,
 * F = u' as a function of the state, zdot with lambda a function of the state, and no rows of A.
 *
 * Rows that are off or dependent have lambda' = 0, velocities of FULL motions a' = 0: rows and columns
 * of the identity ("fixed"). */
#ifndef CPODES_NEWTON_IMPL_H
#define CPODES_NEWTON_IMPL_H

#include "cpodes/mechanics/mechanics_impl.h"

#include <stdint.h>
#include <sundials/sundials_linearsolver.h>

/* Outputs and what they are differentiated to */
typedef enum { CP_OF_F, CP_OF_B, CP_OF_Z, CP_OUTPUTS } CPOutput;
typedef enum { CP_BY_Q, CP_BY_U, CP_BY_Z, CP_BY_LAMBDA, CP_DIRECTIONS } CPDirection;

/* One of K, C, ..., Zl */
typedef struct {
  int exists;
  int given;      /* by the user's function; else by differences */
  CPMat J;        /* rows of the output x columns of the direction */
  CPUserMat user; /* given: what that function fills */
} CPBlock;

/* Blocks of one direction that are differentiated together. */
typedef struct {
  CPDirection by;
  int of[CP_OUTPUTS]; /* 1: takes part */
  double root;        /* relative increment: root of the outputs' noise */
  CPColoring colors;  /* start NULL: each column by itself */
} CPPass;
#define CP_MAX_PASSES (4 * CP_DIRECTIONS)

/* What is added to the matrix: J, or its transpose, with its first entry at (row, col). place: in the
 * values of a sparse matrix; NULL: not known yet. */
typedef struct {
  const CPMat *J;
  int row, col, transposed;
  size_t *place;
} CPTerm;
#define CP_MAX_TERMS (3 + CP_OUTPUTS * CP_DIRECTIONS)
#define CP_NO_PLACE  SIZE_MAX

/* A square matrix with its LU factors. Like a CPMat: start NULL: dense, else compressed columns. */
typedef struct CPLu_ *CPLu;
typedef struct {
  int (*create)(CPLu lu);           /* 0 or CP_MEM_FAIL */
  int (*factor)(CPLu lu);           /* 0; 1: singular; negative: a code. Spoils dense values. */
  int (*solve)(CPLu lu, double *x); /* x [order]: right-hand side, solution. 0 or a code */
  void (*destroy)(CPLu lu);
} CPLuOps;
struct CPLu_ {
  const CPLuOps *ops;
  int order;
  int64_t *start, *row; /* [order + 1], [start[order]] */
  double *value;
  int is_new; /* start and row have changed since the newest factor */
  void *content;
};
extern const CPLuOps cpLuDenseOps, cpLuKluOps;

static inline size_t cpLuEntries(const struct CPLu_ *lu) {
  return lu->start ? (size_t)lu->start[lu->order] : (size_t)lu->order * (size_t)lu->order;
}

struct CPMechNewton_ {
  CPMech mech;
  CPMechNewton type; /* KKT or HALF */
  int sparse;
  int sixth_order;          /* differences are results, not parts of an iteration: of high order */
  int nu, m, na, nz, order; /* m, na: 0 with HALF; order = nu + m + nz */
  SUNMatrix S;
  SUNLinearSolver LS;
  N_Vector ewt;
  /* partial derivatives, and the state they belong to */
  int valid;
  long int layout; /* mech->layout then */
  CPBlock block[CP_OUTPUTS][CP_DIRECTIONS];
  CPMat M, A; /* nu x nu, m x nu */
  int npasses;
  CPPass pass[CP_MAX_PASSES];
  double t, *q, *u, *z, *a, *lambda;
  char *fixed; /* [order] */
  /* the matrix */
  double gamma;
  int assembled, factored;
  CPMat turned[CP_OUTPUTS]; /* K T, Bq T, Zq T where there are quaternions */
  int nterms;
  CPTerm term[CP_MAX_TERMS];
  struct CPLu_ lu;
  char *placed;     /* [order] sparse: the fixed rows that the structure was made for */
  size_t *diagonal; /* [order] sparse: places of diagonal entries, CP_NO_PLACE: there is none */
  /* workspace */
  double *q2, *u2, *z2, *lambda2; /* perturbed state, and what follows from it */
  double *step[CP_DIRECTIONS];    /* increments */
  double *value[CP_OUTPUTS], *perturbed[CP_OUTPUTS], *opposite[CP_OUTPUTS]; /* F, B, zdot */
  double *bm;                                                               /* [m] */
  double *x, *s, *v, *rq; /* [order], [nu], [nu], [nq] */
};

static inline int cpIsKkt(const CPMechNewtonMem newton) { return newton->type == CP_NEWTON_KKT; }

/* blocks.c: blocks, patterns and passes from the model. 0 or CP_MEM_FAIL. */
int cpBlocksCreate(CPMechNewtonMem newton);
void cpBlocksFree(CPMechNewtonMem newton);
int cpRowsOf(const CPMechNewtonMem newton, CPOutput of);
int cpColsOf(const CPMechNewtonMem newton, CPDirection by);

/* passes.c */
int cpPassesCreate(CPMechNewtonMem newton);
void cpPassesFree(CPMechNewtonMem newton);

/* differences.c: all blocks that are not given, at the state kept. 0, or a code with the reason in
 * mech->text; ewt [n] or NULL. */
int cpNewtonDifferences(CPMechNewtonMem newton, const double *ewt);

/* partials.c: everything that does not depend on gamma, at (t, y). Returns as above. */
int cpNewtonPartials(CPMechNewtonMem newton, sunrealtype t, const sunrealtype *y, const double *ewt);

/* matrix.c: the matrix for this gamma, into newton->lu. 0 or CP_MEM_FAIL. */
int cpNewtonAssemble(CPMechNewtonMem newton, double gamma);
void cpTermsCreate(CPMechNewtonMem newton);
void cpTermsFree(CPMechNewtonMem newton);

/* places.c: structure of the sparse matrix, and the terms' places in it. 0 or CP_MEM_FAIL. */
int cpPlacesCreate(CPMechNewtonMem newton);

/* solve.c: r [n] -> x [n]. 0, or a code with the reason in mech->text. */
int cpNewtonSolve(CPMechNewtonMem newton, const double *r, double *x);
/* JT <- J T with T at the kept state and this gamma. */
void cpTurn(const CPMechNewtonMem newton, double gamma, const CPMat *J, CPMat *JT);

/* objects.c: SUNMatrix and SUNLinearSolver, whose content is newton. 0 or CP_MEM_FAIL. */
int cpNewtonObjects(CPMechNewtonMem newton);

/* newton.c: partial derivatives (unless jok and there are some) and matrix at (t, y). Returns as
 * partials; *jcur: new partial derivatives. */
int cpNewtonSystem(CPMechNewtonMem newton, sunrealtype t, const sunrealtype *y, const double *ewt,
                   int jok, double gamma, int *jcur);
/* Creates what mech asks for; *newton NULL: nothing (NONE, or AUTO without matrices and udot_jac). */
int cpNewtonCreate(CPMechNewtonMem *newton, CPMech mech);

#endif
