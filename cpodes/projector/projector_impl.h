/* Inside of CPProjector: the problem (P) apart from the state of its solution (CPWork), of which
 * the projector itself, the integrator and its output each have one, so that none changes what
 * another one computes.
 *
 * Three methods share one table (method.c): constraints with a matrix G, constraints with products
 * only (krylov.c), and the user's own functions (user.c).
 *
 * Letters: y [n] state, c [m] constraints (mc of the user's function, then the unit norms), G =
 * dc/dy [m x n], w [n] weights that measure (1/w_j is the unit of y_j), D the inverse metric, on a
 * level D = F F^T, K = D G^T (G D G^T)^+ the right inverse of G. */
#ifndef CPODES_PROJECTOR_IMPL_H
#define CPODES_PROJECTOR_IMPL_H

#include "cpodes/base/compat.h"
#include "cpodes/base/errors.h"
#include "cpodes/base/random.h"
#include "cpodes/base/vectors.h"
#include "cpodes/matrix/matrix.h"
#include "cpodes/saddle/saddle.h"
#include "newton.h"

#define CP_MAX_LEVELS 16

typedef struct CPMatrixFree_ *CPMatrixFree; /* matrix_free.h */

/* How norms lie in the state: some share components, or have those of other levels; each has its
 * own; all are quaternions of one size, one after another. */
typedef enum { CP_NORMS_COUPLED, CP_NORMS_APART, CP_NORMS_ROW } CPNormsLayout;

/* A level: rows that are satisfied by moving the columns of the same level (level.c). */
typedef struct {
  int nrows, ncols;
  int *rows;       /* [nrows] constraints of this level */
  int *cols;       /* [ncols] components that they move */
  CPMat A;         /* G on the level */
  size_t *from;    /* [entries of A] its entry of g, unless g is compact */
  CPMat W;         /* the metric's matrix on the level, if it is not diagonal */
  size_t *W_from;  /* [entries of W] its entry of M */
  double *root;    /* [ncols] sqrtd on the level */
  char *off;       /* [nrows] 1: without a gradient, or switched off */
  double *f, *x;   /* [ncols] */
  CPSaddle saddle; /* NULL without rows */
  CPArena arena;
} CPLevel;

struct CPWork_ {
  CPProjector P;
  long int revision; /* of P's options at set-up; -1: never set up */
  long int contents; /* of what P's options make of the values; other: factors are not valid */
  long int shape;    /* of P's templates and norms; other: the storage is made anew */
  CPNorm norm;       /* P's, or L2 where a caller has no weights   */
  CPArena arena;     /* of what P's options do not change          */
  CPArena storage;   /* matrices and vectors of P's sizes and templates */
  CPNewton newton;   /* the iteration, and its factors' validity   */
  N_Vector v;        /* perturbed states; free between calls       */
  N_Vector uc;       /* [mc] residuals as the user's functions see them */
  double *c, *c2;    /* [m] residuals; those at a perturbed state  */
  /* G */
  SUNMatrix G;         /* mc x n, as the user or the differences gave it, of the template's type */
  CPMat g;             /* m x n, its entries and those of the norms: the whole pattern, or (compact)
                          what is not zero at present */
  size_t *source;      /* [nnz] place of the entry in G's data; CP_NORM_ENTRY: of a norm */
  int lent;            /* g.value is G's own data */
  int pattern_is_kept; /* G has the index arrays of its template */
  int levels_may_fail; /* the pattern has entries in columns above the level of their row */
  int compact;         /* zeros of a dense G are left out of g */
  CPMat norms;         /* pattern of the norms' rows, by columns (no values) */
  CPNormsLayout norms_layout; /* how they lie: found at set-up */
  int norms_near;             /* cpNormsAreNear of the y that is projected next */
  CPColoring colors;          /* of the user's columns */
  /* levels */
  int nlevels;
  CPLevel levels[CP_MAX_LEVELS];
  CPLinSol linsol; /* chosen */
  SUNMatrix M;     /* n x n: metric, as the user gave it; D by columns with an operator */
  double *sqrtd; /* [n] root of the diagonal D, the factors' own; 0: held; other metrics: 1 or 0 */
  double *w;     /* [n] weights the rows were measured with    */
  double *rowscale;  /* [m] 1 / ||F^T g_i||; 0 for a row without gradient, or switched off */
  double *size;      /* [m] |c_i| / size_i is the violation of row i */
  double *frozen;    /* [m] sizes of the damped iteration */
  double *unit;      /* [m] |c_i| / unit_i is the distance to surface i in units of the tolerance */
  double *x, *r;     /* [n], [m] vectors of the callers            */
  double *z, *s;     /* [n], [m] of the right inverse              */
  double *xl, *rl;   /* [n], [m] the same of one level             */
  int *rowpos;       /* [m] place within its level; -1: absent     */
  char *left;        /* [m] marks of rows */
  CPMatrixFree free; /* NULL with another kind                    */
  int damped;        /* the iteration under way is damped         */
  const CPProjectorKind *kind; /* P's, if it is of another room */
  void *self;                  /* of a kind of another room: what it made; else this work itself */
  CPProjected newest;          /* result of the newest projection */
  double ranktol; /* sine of an angle that counts as zero, at the newest factorisation */
  int assembling; /* far from the manifold, where all rows count */
  /* of accepted steps, for warnings */
  CPFloor floor_accepted;
  sunindextype rank_fell; /* the rank fell below this, since it was last set to 0 */
  int jac_is_right;       /* the user's G has been compared with differences           */
  CPProjectorStats stats;
  char text[CP_TEXT_LENGTH]; /* reason of the newest failure */
};

#define CP_NORM_ENTRY SIZE_MAX

struct CPProjector_ {
  SUNContext ctx;
  int user_kind;
  int in_memory; /* y and c give access to their data, in one memory: n, m, mc are set */
  int n, m, mc;
  N_Vector y_tmpl, c_tmpl; /* c_tmpl NULL: norms only */
  /* the user's functions */
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
  CPViolationFn violation;
  void *user_data;
  /* options; each change raises contents (values are renewed), and revision if levels and solvers
   * must be set up again, and shape if the storage must */
  long int revision, contents, shape;
  CPLinSol linsol;
  CPNorm norm;
  sunrealtype eps;
  int maxiters;
  long int jacfreq;
  SUNMatrix G_tmpl; /* sparse; NULL: dense */
  SUNMatrix M_tmpl;
  int nnorms;
  CPUnitNorm *norms;                 /* [nnorms] */
  N_Vector ctol, id, active;         /* [mc], [n], [mc]; NULL: not given */
  N_Vector row_level_v, col_level_v; /* [mc], [n]; NULL: not given */
  int nlevels;                       /* 0: to be detected */
  int *row_level, *col_level;        /* [m], [n] */
  const CPProjectorKind *kind;       /* of another room; NULL: by what was given (cpKindOf) */
  void *model;                       /* its */
  CPWork work;                       /* for the public calls */
  sunindextype ndependent;           /* rows that depend on others, at the newest factorisation: */
  char *is_dependent;                /* [mc] 1 for these, of the user's */
  char reason[CP_TEXT_LENGTH];       /* why stats.linsol is in use */
  CPProjectorStats stats;            /* of all works together */
  CPLog log;
};

/* Of smaller weights the inverse metric 1 / ewt^2 overflows, and Inf times a zero of G is NaN. */
#define CP_LEAST_WEIGHT  1.0e-153
#define CP_EWT_TOO_SMALL "ewt must be positive and at least %g: ewt[%d] = %g"

/* projector.c: the arguments that all actions share; 0, or a code, reported. */
int cpCheckState(CPProjector P, N_Vector y, N_Vector ewt, const char *function);

/* options.c: Is v finite, or positive, too? Is v like tmpl? 0, or a code, reported. */
int cpCheckEntries(CPProjector P, N_Vector v, int positive, const char *name, const char *function);
int cpCheckLike(CPProjector P, N_Vector v, N_Vector tmpl, const char *name, const char *function);

/* method.c */
extern const CPProjectorKind cpMatrixKind, cpKrylovKind, cpUserKind;
const CPProjectorKind *cpKindOf(const CPProjector P);
/* The iteration of a work of this room's kinds. */
int cpOwnIteration(void *work, CPNewton *list[2]);
/* work.c: workspace */
/* Brings the workspace in line with P's options; detects levels at (t, y) if needed. */
int cpWorkUpdate(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt);
/* Rank of G at the newest factorisation, over all levels. */
sunindextype cpWorkRank(CPWork work);
/* A matrix of zeros like tmpl, or, if that is NULL, a dense one [rows x n], of the storage. */
SUNMatrix cpStorageMatrix(CPWork work, SUNMatrix tmpl, int rows);
void cpStorageFree(CPWork work);

/* Is row i switched on? */
int cpIsActive(const CPProjector P, int i);

/* constraint.c: c, checked; jacobian.c: G, checked, into work->G. Each returns 0 or a code with the
 * reason in work->text. */
int cpConstraint(CPWork work, sunrealtype t, N_Vector y, double *c);
/* ... counted as one for difference quotients. */
int cpConstraintForDifference(CPWork work, sunrealtype t, N_Vector y, double *c);
/* ... the same without data access or norms, for products only; c [m] like c_tmpl. */
int cpUserConstraint(CPWork work, sunrealtype t, N_Vector y, N_Vector c);
int cpJacobian(CPWork work, sunrealtype t, N_Vector y, const double *c);
/* work->c2 <- c(t, y + sum h_j e_j) - c(t, y) over the given columns, h_j in work->z: c2_i / h_j is
 * entry (i, j) if no other of them is in row i. y is perturbed and put back. uneven: steps in other
 * ratios. */
int cpDifference(CPWork work, sunrealtype t, N_Vector y, const double *c, const int *cols,
                 int ncols, double typical, int uneven);

/* jaccheck.c */
/* Largest weighted difference between the user's G in work->G and difference quotients. */
int cpJacobianError(CPWork work, sunrealtype t, N_Vector y, double *err, int *row, int *col);
/* Smallest such error that a user cannot mean. Differences are good to about 1e-7. */
#define CP_WRONG_JACOBIAN 1.0e-2
/* The same along one direction, for two evaluations of c: is G that of c? Factors that are valid
 * must be those of (t, y). */
int cpMatrixProbe(void *self, sunrealtype t, N_Vector y, N_Vector ewt);

/* norms.c: the unit norms, rows mc ... m - 1 */
void cpNormResiduals(const CPProjector P, const double *y, double *c /* [m] */);
/* Their gradients y / |y| into the entries of g (source CP_NORM_ENTRY; row >= mc); 0, or the code
 * of a norm that is zero, named. */
int cpNormGradients(CPWork work, sunrealtype t, const double *y);
CPNormsLayout cpNormsLayout(const CPWork work);
/* If there is nothing else to be projected: the nearest point in the diagonal metric, norm by norm.
 */
int cpNormsAlone(const CPWork work);
/* Norms alone: is y known to be finite, and near enough to all spheres for none to fail? For the
 * projection of y that follows, which need not ask again. */
int cpNormsAreNear(CPWork work, N_Vector y);
int cpNormsProject(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, int only_if_needed,
                   CPProjected *result);

/* metric.c: weights, and the user's metric */
static inline int cpHasDiagonalMetric(const CPProjector P) {
  return !P->metric && !P->metric_matrix;
}
int cpWeights(CPWork work, N_Vector y, N_Vector ewt);
/* The user's metric at (t, y) into work->M, as a matrix, checked: finite, symmetric. */
int cpMetricEvaluate(CPWork work, sunrealtype t, N_Vector y);
/* -CP_METRIC_INDEFINITE, the reason written, after a factorisation that says so. */
int cpMetricIndefinite(CPWork work, sunrealtype t, const CPLevel *level);

/* level.c */
void cpLevelsFree(CPWork work);
/* Structure of level l, of the whole pattern of g; row_level NULL: without rows, for products with D alone. */
int cpLevelCreate(CPWork work, int l, const int *row_level, const int *col_level);
int cpLevelOpen(CPWork work, int l);  /* its solver, of work->linsol */
void cpLevelRows(CPWork work, int l); /* level->off */
/* Factors of the values of g, sqrtd and M; results of cpSaddleFactor. */
int cpLevelFactor(CPWork work, int l, double ranktol);
static inline int cpLevelIsEmpty(const CPLevel *level) {
  return level->nrows == 0 || level->saddle->nrows == 0;
}
int cpLevelHasSmallBlocks(const CPLevel *level);
/* As cpSaddleSolve; f and x [n] of the whole state, of which the level's columns count, b and mu [nrows]. */
int cpLevelSolve(CPLevel *level, const double *f, const double *b, double *x, double *mu);

/* gradient.c: the entries of G, and products with them */
int cpGradientCreate(CPWork work);   /* work->g, source, norms */
void cpGradientPattern(CPWork work); /* the whole pattern, after compact ones */
/* Values of g from work->G and the norms at y; 0, or that an entry is not finite. */
int cpGradientGather(CPWork work, sunrealtype t, const double *y);
void cpGradientTimes(const CPWork work, const double *v, double *r); /* r  = G v     [m] */
void cpGradientTransposedTimes(const CPWork work, const double *mu, double *w); /* w -= G^T mu  [n] */

double cpGradientEntry(const CPWork work, int i, int j);

/* choose.c: work->linsol, and P->stats.linsol with P->reason, from P->linsol, size and pattern. */
int cpChooseSolver(CPWork work);
/* Name of a solver, as in the statistics. */
const char *cpSolverName(CPLinSol type);

/* factor.c */
/* Has the pattern entries in columns above the level of their row, where levels may prove wrong? */
int cpLevelsMayFail(const CPWork work);
/* G and its factors at (t, y), c = c(t, y) in work->c */
int cpFactor(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt);
int cpRightInverse(CPWork work, const double *r, double *x);            /* x  = K r,   [m] -> [n] */
int cpRightInverseTransposed(CPWork work, const double *x, double *mu); /* mu = K^T x, [n] -> [m] */

/* violation.c */
/* rowscale, unit and size of all rows from the entries of G. */
void cpScaleRows(CPWork work);
/* A row that no component can move is satisfied within one tolerance: no correction can do better.
 */
int cpIsLeftAlone(const CPWork work, const double *c, int i);
/* Largest violation of the residuals c; *worst the constraint. */
double cpViolation(CPWork work, const double *c, int *worst);
/* Distance to the farthest surface, in units of the state's tolerance. */
double cpDistance(const CPWork work, const double *c);
/* Are all residuals above eps within the roundoff of evaluating them? */
int cpAtRoundoffFloor(CPWork work, const double *y, const double *c, double eps);

/* redundancy.c */
/* Do the residuals c contradict each other? Then their constraints are named in text. */
int cpContradiction(CPWork work, const double *c, char *text, size_t length);

/* levels.c: sets P->nlevels, row_level, col_level from G at perturbed states. */
int cpDetectLevels(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt);

/* user.c */
int cpUserViolation(CPWork work, sunrealtype t, N_Vector y, sunrealtype *norm);

/* matrix_free_problem.c */
void cpMatrixFreeFree(CPMatrixFree *address);

#endif
