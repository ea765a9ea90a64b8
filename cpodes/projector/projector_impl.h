/* Inside of CPProjector: the problem (P) apart from the state of its solution (CPWork), of which
 * the projector itself, the integrator and its output each have one, so that none changes what
 * another one computes.
 *
 * Three methods share one table (method.c): constraints with a matrix G, constraints with products
 * only (matrix_free.c), and the user's own functions (user.c).
 *
 * Letters: y [n] state, c [m] constraints (mc of the user's function, then the unit norms), G =
 * dc/dy [m x n], w [n] weights that measure (1/w_j is the unit of y_j), D the inverse metric, on a
 * level D = F F^T, K = D G^T (G D G^T)^+ the right inverse of G. */
#ifndef CPODES_PROJECTOR_IMPL_H
#define CPODES_PROJECTOR_IMPL_H

#include "cpodes/base/compat.h"
#include "cpodes/base/random.h"
#include "cpodes/saddle/saddle.h"
#include "newton.h"

#include <float.h>
#include <math.h>

#define CP_MAX_LEVELS 16

typedef struct CPMatrixFree_ *CPMatrixFree; /* matrix_free.h */

/* A level: rows that are satisfied by moving the columns of the same level (level.c). */
typedef struct {
  int nrows, ncols;
  int *rows;      /* [nrows] constraints of this level */
  int *cols;      /* [ncols] components that they move */
  int *row_place; /* [m] the place of a constraint among rows, */
  int *col_place; /* [n] and of a component among cols; -1: it is of another level */
  CPMat A;        /* G on the level */
  size_t *entry;  /* [entries] their places in g, if these stay; NULL: A is g */
  CPMat W;        /* the metric's matrix on the level, if it is not diagonal */
  double *root;   /* [ncols] sqrtd on the level */
  double *length; /* [nrows] of the rows of A in units of the tolerances, which root has in the error norm */
  char *off;       /* [nrows] 1: without a gradient, or switched off */
  char *held;      /* [ncols] 1: root is 0, with a metric that is a matrix */
  double *f, *x;   /* [ncols] */
  CPSaddle saddle; /* NULL without rows */
  CPArena arena;
} CPLevel;

/* Vectors of the callers, and of the right inverse: z [n] and s [m], of one level rl [m] */
typedef struct {
  double *x, *r, *z, *s, *rl;
  double *c2; /* [m] residuals at a perturbed state */
} CPRoom;

/* Of accepted steps */
typedef struct {
  CPFloor floor;
  sunindextype rank_fell; /* the rank fell below this, since it was last set to 0 */
} CPWarnings;

struct CPWork_ {
  CPProjector P;
  long int revision;      /* of P's options at set-up; -1: never set up */
  long int contents;      /* of what P's options make of the values; other: factors are not valid */
  long int shape;         /* of P's templates and norms; other: the storage is made anew */
  CPNorm norm;            /* P's, or L2 where a caller has no weights   */
  CPArena arena;          /* of what P's options do not change          */
  CPArena storage;        /* matrices and vectors of P's sizes and templates */
  CPNewton newton;        /* the iteration, and its factors' validity   */
  CPNewton *iteration[2]; /* that, or those of a kind of another room */
  int niterations;
  CPRows rows; /* residuals, their sizes and the weights that measure */
  CPRoom room;
  N_Vector v;  /* perturbed states; free between calls       */
  N_Vector uc; /* [mc] residuals as the user's functions see them */
  CPUserMat G; /* mc x n, as the user or the differences gave it */
  CPMat g; /* m x n, the entries of G and of the norms: the whole pattern, or (compact) what is not zero at present */
  int compact;       /* zeros of a dense G are left out of g */
  CPMat norms;       /* pattern of the rows of the unit norms, mc ... m - 1, by columns */
  CPColoring colors; /* of the user's columns */
  int norms_apart;  /* There are unit norms only, which share no component, in a diagonal metric, */
  int norms_in_row; /* all of four components and one value, one after another. */
  /* levels */
  int nlevels;
  int levels_fit; /* No entry of the pattern of g is in a row of a lower level than its column's. */
  CPLevel levels[CP_MAX_LEVELS];
  CPLinSol linsol; /* chosen */
  CPUserMat M;     /* n x n: metric, as the user gave it */
  double *sqrtd; /* [n] root of the diagonal D, the factors' own; 0: held; other metrics: 1 or 0 */
  CPMatrixFree free; /* NULL with another kind                    */
  int damped; /* the factors are those of the damped iteration: far from the manifold, all rows count */
  const CPProjectorKind *kind; /* P's, if it is of another room */
  void *self;                  /* of a kind of another room: what it made; else this work itself */
  CPProjected newest;          /* result of the newest projection */
  N_Vector error; /* an error estimate for the user's function that projects both; or NULL: nothing to be done, or it has been */
  CPWarnings warn;
  int jac_is_right; /* the user's G has been compared with differences           */
  CPProjectorStats stats;
  char text[CP_TEXT_LENGTH]; /* reason of the newest failure */
};

/* What the user has given to be called */
typedef struct {
  CPConstraintFn c;
  CPConstraintJacFn jac;
  CPJacTimesFn Gv;
  CPJacTransTimesFn GTw;
  CPSchurDiagFn schurdiag;
  CPPrecSetupFn psetup;
  CPPrecSolveFn psolve;
  CPMetricFn metric;
  CPMetricMatrixFn metric_matrix;
  CPProjFn g;
  CPErrProjFn g_eps;
  CPStateErrorProjFn both;
  CPViolationFn violation;
  void *data;
} CPUserFunctions;

struct CPProjector_ {
  SUNContext ctx;
  int user_kind;
  int in_memory; /* y and c give access to their data, in one memory: n, m, mc are set */
  int n, m, mc;
  N_Vector y_tmpl, c_tmpl; /* c_tmpl is NULL if there are norms only */
  CPUserFunctions user;
  /* options; each change raises contents (values are renewed), and revision if levels and solvers
   * must be set up again, and shape if the storage must */
  CPProjectorOptions options;
  long int revision, shape;
  CPNorm norm;
  SUNMatrix G_tmpl; /* sparse; NULL if G is dense */
  SUNMatrix M_tmpl;
  int nnorms;
  CPUnitNorm *norms;                 /* [nnorms] */
  N_Vector ctol, id, active;         /* [mc], [n], [mc], or NULL */
  N_Vector row_level_v, col_level_v; /* [mc], [n], or NULL */
  int nlevels;                       /* 0: to be detected */
  int *row_level, *col_level;        /* [m], [n] */
  const CPProjectorKind *kind; /* of another room; if NULL, it follows from what was given (cpKindOf) */
  void *model;                 /* what the kind works on */
  CPWork work;                 /* for the public calls */
  sunindextype ndependent;     /* rows that depend on others, at the newest factorisation: */
  char *is_dependent;          /* [mc] 1 for these, of the user's */
  char reason[CP_TEXT_LENGTH]; /* why stats.linsol is in use */
  CPProjectorStats stats;      /* of all works together */
  CPLog log;
};

/* Of smaller weights the inverse metric 1 / ewt^2 overflows, and Inf times a zero of G is NaN. */
#define CP_LEAST_WEIGHT 1.0e-153

/* projector.c: the arguments that all actions share; 0, or a code, reported. */
int cpCheckState(CPProjector P, N_Vector y, N_Vector ewt, const char *function);

/* options.c: Is v finite, with entries of at least `least`? Is v like tmpl? 0, or a code, reported. */
#define CP_POSITIVE DBL_TRUE_MIN
#define CP_ANY      (-INFINITY)
int cpCheckEntries(CPProjector P, N_Vector v, double least, const char *name, const char *function);
int cpCheckLike(CPProjector P, N_Vector v, N_Vector tmpl, const char *name, const char *function);

/* method.c */
extern const CPProjectorKind cpMatrixKind, cpKrylovKind, cpUserKind;
const CPProjectorKind *cpKindOf(const CPProjector P);
/* work.c: workspace */
/* Brings the workspace in line with P's options; detects levels at (t, y) if needed. */
int cpWorkUpdate(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt);
/* Rank of G at the newest factorisation, over all levels. */
sunindextype cpWorkRank(CPWork work);

/* Is row i switched on? */
static inline int cpIsActive(const CPProjector P, int i) {
  return !P->active || i >= P->mc || N_VGetArrayPointer(P->active)[i] != 0.0;
}

/* constraint.c: |q| of unit norm k, whose residual |q| - value is that of row mc + k */
double cpUnitNorm(const CPProjector P, int k, const double *y);
/* constraint.c: c, checked; jacobian.c: G, checked, into work->G, and with the norms into work->g. Each returns 0 or a
 * code with the reason in work->text. */
int cpConstraint(CPWork work, size_t counter /* of nce or nceDQ */, sunrealtype t, N_Vector y,
                 double *c);
/* The user's c alone, for the method that has products only and no access to data; c is like c_tmpl. */
int cpUserConstraint(CPWork work, sunrealtype t, N_Vector y, N_Vector c);
int cpJacobian(CPWork work, sunrealtype t, N_Vector y, const double *c);
/* Takes the values that the user's function has filled in. name and option, for messages: of the matrix, and of the function
 * that sets its template; code: if an entry is not finite. */
int cpTakeMatrix(CPWork work, sunrealtype t, CPUserMat *U, const char *name, const char *option,
                 int code);
int cpJacobianCreate(CPWork work);   /* work->G, g, norms, colors */
void cpJacobianPattern(CPWork work); /* g becomes the whole pattern, without values. */
/* jaccheck.c */
/* Largest weighted difference between the user's G in work->G and difference quotients. */
int cpJacobianError(CPWork work, sunrealtype t, N_Vector y, double *err, int *row, int *col);
/* Is G, the newest one, that of c at (t, y)? 0, or the code, whose reason begins with `before`. */
int cpJacobianWrong(CPWork work, sunrealtype t, N_Vector y, const char *before);

/* metric.c: weights, and the user's metric */
static inline int cpHasDiagonalMetric(const CPProjector P) {
  return !P->user.metric && !P->user.metric_matrix;
}
int cpWeights(CPWork work, N_Vector y, N_Vector ewt);
/* The user's metric at (t, y) into work->M, as a matrix, checked: finite, symmetric. */
int cpMetricEvaluate(CPWork work, sunrealtype t, N_Vector y);
/* -CP_METRIC_INDEFINITE, the reason written, after a factorisation that ended at a component, -1 if it is not known. */
int cpMetricIndefinite(CPWork work, sunrealtype t, int component);

/* level.c */
void cpLevelsFree(CPWork work);
int cpLevelCreate(CPWork work, int l); /* structure of level l, of the whole pattern of g */
int cpLevelOpen(CPWork work, int l);   /* its solver, of work->linsol, if it has rows */
/* Values of A and root, from those of g and sqrtd. */
void cpLevelTake(CPWork work, int l);
/* Factors of these and of M, without the rows that are off; results of cpSaddleFactor. */
int cpLevelFactor(CPWork work, int l, double ranktol);
static inline int cpLevelIsEmpty(const CPLevel *level) {
  return level->nrows == 0 || level->saddle->nrows == 0;
}
int cpLevelHasSmallBlocks(const CPLevel *level);
/* As cpSaddleSolve; f and x [n] of the whole state, of which the level's columns count, b and mu [nrows]. */
int cpLevelSolve(CPLevel *level, const double *f, const double *b, double *x, double *mu);

/* choose.c: work->linsol, and P->stats.linsol with P->reason, from P->linsol, size and pattern. */
int cpChooseSolver(CPWork work);
/* Name of a solver, as in the statistics. */
const char *cpSolverName(CPLinSol type);

/* factor.c */
/* G and its factors at (t, y), c = c(t, y) in rows.c */
int cpFactor(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt);
int cpRightInverse(CPWork work, const double *r, double *x);            /* x  = K r,   [m] -> [n] */
int cpRightInverseTransposed(CPWork work, const double *x, double *mu); /* mu = K^T x, [n] -> [m] */

/* norms.c: unit norms that are for closed forms: work->norms_apart, norms_in_row */
void cpNormsLayOut(CPWork work);
/* As the actions of matrix.c, by closed forms: 1, or 0, and nothing has changed, where they are left to the iteration. */
int cpNormsProject(CPWork work, N_Vector y, N_Vector ewt, int only_if_needed, CPProjected *result);
int cpNormsViolation(CPWork work, N_Vector y, N_Vector ewt, CPViolation *violation);
int cpNormsTangent(CPWork work, N_Vector y, N_Vector ewt, N_Vector v, int transposed);

/* levels.c: sets P->nlevels, row_level, col_level from G at perturbed states. */
int cpDetectLevels(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt);

/* user.c */
int cpUserViolation(CPWork work, sunrealtype t, N_Vector y, sunrealtype *norm);

/* matrix_free_problem.c */
void cpMatrixFreeFree(CPMatrixFree *address);

#endif
