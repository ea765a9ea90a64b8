/* Internals of CPProjector. The problem (P) is separate from the state of its solution (CPWork), of
 * which the projector itself, the integrator and its output have one each, so that none changes
 * what another computes.
 *
 * The kinds share one table of functions (method.c): constraints with a matrix G (matrix.c), the user's
 * own functions (user.c), and those of other rooms.
 *
 * Letters: y [n] state, c [m] constraints (mc of the user's function, then the unit norms), G =
 * dc/dy [m x n], w [n] measuring weights (1/w_j is the unit of y_j), D the inverse metric, on a
 * level D = F F^T, K = D G^T (G D G^T)^+ the right inverse of G. */
#ifndef CPODES_PROJECTOR_IMPL_H
#define CPODES_PROJECTOR_IMPL_H

#include "cpodes/base/compat.h"
#include "cpodes/base/random.h"
#include "cpodes/saddle/saddle.h"
#include "newton.h"

#include <float.h>
#include <math.h>

enum { CP_MAX_LEVELS = 16 };

/* A level: rows, and the columns that move to satisfy them (level.c). */
typedef struct {
  int nrows, ncols;
  int *rows;      /* [nrows] constraints of this level */
  int *cols;      /* [ncols] components that satisfy them */
  int *row_place; /* [m] place of a constraint in rows; -1: it is of another level */
  int *col_place; /* [n] place of a component in cols; -1: it is of another level */
  CPMat A;        /* G on the level */
  /* [entries] places of A's entries in g, if the pattern of g is constant; NULL if A is g itself */
  size_t *entry;
  CPMat W;      /* the metric's matrix on the level, if it is not diagonal */
  double *root; /* [ncols] work->sqrtd on the level */
  /* [nrows] lengths of A's rows in units of the tolerances (which are root in the error norm) */
  double *length;
  char *off;       /* [nrows] 1: the row has no gradient, or is switched off */
  char *fixed;     /* [ncols] 1: root is 0 (only with a metric that is a matrix) */
  double *f, *x;   /* [ncols] */
  CPSaddle saddle; /* NULL without rows, and before the first factors */
  CPArena arena;
} CPLevel;

/* Workspace of the callers, and of the right inverse: z [n], s [m], and rl [m] for one level */
typedef struct {
  double *x, *r, *z, *s, *rl;
  double *c2; /* [m] residuals at a perturbed state */
} CPRoom;

/* What is reported about accepted steps */
typedef struct {
  CPFloor floor;
  sunindextype rank_fell; /* the rank has fallen below this since the last report; 0: no */
} CPWarnings;

struct CPWork_ {
  CPProjector P;
  void *lent;        /* data for the user's functions if P has none (cpWorkLend) */
  long int revision; /* P->revision at the last set-up; -1: never set up */
  /* P->options.contents at the last update; if it differs, the factors are not valid */
  long int contents;
  long int shape;  /* P->shape at the last set-up; if it differs, the storage is created anew */
  CPNorm norm;     /* P's norm, or L2 if a caller has no weights */
  CPArena arena;   /* memory that does not depend on P's options */
  CPArena storage; /* matrices and vectors of P's sizes and templates */
  CPNewton newton; /* the iteration, with the validity of its factors */
  CPNewton *iteration[2]; /* &newton, or the iterations of a kind from another room */
  int niterations;
  CPRows rows; /* residuals, their sizes and the measuring weights */
  CPRoom room;
  N_Vector v;  /* perturbed states; free between calls */
  N_Vector uc; /* [mc] residuals passed to and from the user's functions */
  CPUserMat G; /* mc x n, from the user's function or from differences */
  /* m x n, entries of G and of the norms: the whole pattern, or (compact) its present nonzeros */
  CPMat g;
  int compact;       /* 1: zeros of a dense G are omitted from g */
  CPMat norms;       /* pattern of the rows of the unit norms, mc ... m - 1, by columns */
  CPColoring colors; /* colouring of the user's columns */
  /* 1: the only constraints are unit norms, which share no component, in a diagonal metric */
  int norms_apart;
  /* 1: all of them have four components and the same value, and follow each other in the state */
  int norms_in_row;
  /* levels */
  int nlevels;
  int is_open; /* 1: they have solvers */
  /* 1: in the pattern of g no row depends on a column of a higher level */
  int levels_fit;
  CPLevel levels[CP_MAX_LEVELS];
  CPLinSol linsol; /* the solver in use */
  CPUserMat M;     /* n x n: the metric as the user gave it */
  /* [n] square root of a diagonal D, with other metrics 1; 0: the component is fixed */
  double *sqrtd;
  /* 1: the factors are those of the damped iteration, where no row is dropped because of its
   * distance from the manifold */
  int damped;
  const CPProjectorKind *kind; /* P->kind */
  void *self;                  /* the kind's object; this work itself for the kinds of this room */
  CPProjected newest;          /* result of the newest projection */
  /* error estimate for the user's function that projects state and error; NULL: none */
  N_Vector error;
  CPWarnings warn;
  int jac_is_right; /* 1: the user's G has agreed with differences */
  CPProjectorStats stats;
  char text[CP_TEXT_LENGTH]; /* reason of the newest failure */
};

/* The user's functions */
typedef struct {
  CPConstraintFn c;
  CPConstraintJacFn jac;
  CPMetricMatrixFn metric;
  CPUserProjection own;
  void *data;
} CPUserFunctions;

struct CPProjector_ {
  CPLog log;
  SUNContext ctx;
  int in_memory; /* 1: y and c give access to their data, each in one memory of less than 2^31 entries */
  /* entries of y, of all rows and of c that this process has; -1: it has no access to them */
  int n, m, mc;
  N_Vector y_tmpl, c_tmpl; /* y_tmpl has no entries; c_tmpl is NULL if there are only unit norms */
  N_Vector result;         /* like y: workspace of actions; see CPProjectorKind.spares_vectors */
  CPUserFunctions user;
  /* options; each change increments contents (values are computed anew), and also revision if
   * levels and solvers must be set up anew, and shape if the storage must */
  CPProjectorOptions options;
  long int revision, shape;
  CPNorm norm;
  SUNMatrix G_tmpl; /* sparse; NULL: G is dense */
  SUNMatrix M_tmpl;
  int nnorms;
  CPUnitNorm *norms;          /* [nnorms] */
  N_Vector ctol;              /* [mc], or NULL */
  int *free, *active;         /* [n], [mc], or NULL: 0: fixed, off */
  int has_metric;             /* 1: the metric is the user's own, not that of the norm */
  int has_levels;             /* 1: levels are given */
  int nlevels;                /* 0: levels are yet to be detected */
  int *row_level, *col_level; /* [m], [n] */
  const CPProjectorKind *kind;
  void *model;                 /* what the kind works on */
  CPWork work;                 /* workspace of the public calls */
  char *is_dependent;          /* [mc] 1: this row of the user's is one of them */
  char reason[CP_TEXT_LENGTH]; /* why stats.linsol is in use */
  CPProjectorStats stats;      /* for all works together */
};

/* For smaller weights the inverse metric 1 / ewt^2 overflows, and Inf times a zero of G is NaN. */
#define CP_LEAST_WEIGHT 1.0e-153

/* options.c: is v finite, with entries of at least `least`? Is v like tmpl? Return 0, or a code
 * that has been reported. */
#define CP_POSITIVE DBL_TRUE_MIN
#define CP_ANY      (-INFINITY)
int cpCheckEntries(CPProjector P, N_Vector v, double least, const char *name, const char *function);
int cpCheckLike(CPProjector P, N_Vector v, N_Vector tmpl, const char *name, const char *function);

/* method.c */
extern const CPProjectorKind cpMatrixKind, cpUserKind;
/* work.c: brings the workspace in line with P's options; detects levels at (t, y) if needed. */
int cpWorkUpdate(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt);
/* Rank of G at the newest factorisation, over all levels. */
sunindextype cpWorkRank(CPWork work);

/* Is row i switched on? */
static inline int cpIsActive(const CPProjector P, int i) {
  return !P->active || i >= P->mc || P->active[i] != 0;
}

/* Calls a function of the user's, `call`, whose last argument is cpWorkData(work). */
#define cpCallProjector(work, call) cpCallUser(&(work)->P->log, call)
static inline void *cpWorkData(const CPWork work) {
  return work->P->user.data ? work->P->user.data : work->lent;
}

/* constraint.c: |q| of unit norm k; its residual |q| - value is c_{mc + k}. */
double cpUnitNorm(const CPProjector P, int k, const double *y);
/* constraint.c: evaluates and checks c. jacobian.c: evaluates and checks G in work->G, and gathers
 * G and the gradients of the norms in work->g. Each returns 0 or a code with the reason in
 * work->text. */
int cpConstraint(CPWork work, size_t counter /* of nce or nceDQ */, sunrealtype t, N_Vector y,
                 double *c);
/* Evaluates the user's c alone; c is like c_tmpl. */
int cpUserConstraint(CPWork work, sunrealtype t, N_Vector y, N_Vector c);
int cpJacobian(CPWork work, sunrealtype t, N_Vector y, const double *c);
int cpJacobianAt(CPWork work, sunrealtype t, N_Vector y); /* evaluates c in work->rows.c first */
/* Takes the values that the user's function has filled in. In messages, name is the matrix, and
 * option the function that sets its template. code: returned if an entry is not finite. */
int cpTakeMatrix(CPWork work, sunrealtype t, CPUserMat *U, const char *name, const char *option,
                 int code);
int cpJacobianCreate(CPWork work);   /* work->G, g, norms, colors */
void cpJacobianPattern(CPWork work); /* sets g to the whole pattern, without values */
/* jaccheck.c */
/* Largest weighted difference between the user's G in work->G and difference quotients. */
int cpJacobianError(CPWork work, sunrealtype t, N_Vector y, double *err, int *row, int *col);
/* Is the newest G the derivative of c at (t, y)? Returns 0, or a code; `before` precedes the
 * reason. */
int cpJacobianWrong(CPWork work, sunrealtype t, N_Vector y, const char *before);

/* metric.c: measuring weights, and the user's metric */
static inline int cpHasDiagonalMetric(const CPProjector P) { return !P->has_metric; }
int cpWeights(CPWork work, N_Vector y, N_Vector ewt);
/* Evaluates the user's metric at (t, y) in work->M, as a matrix, and checks that it is finite and
 * symmetric. */
int cpMetricEvaluate(CPWork work, sunrealtype t, N_Vector y);

/* level.c */
void cpLevelsFree(CPWork work);
int cpLevelCreate(CPWork work, int l); /* structure of level l from the whole pattern of g */
int cpLevelOpen(CPWork work, int l);   /* its solver, of type work->linsol, if it has rows */
/* Sets the values of A and root from g and sqrtd. */
void cpLevelTake(CPWork work, int l);
/* Factors these and M without the rows that are off; returns the results of cpSaddleFactor. */
int cpLevelFactor(CPWork work, int l, double ranktol);
static inline int cpLevelIsEmpty(const CPLevel *level) {
  return level->nrows == 0 || level->saddle->nrows == 0;
}
/* As cpSaddleSolve; of f and x [n], over the whole state, only the level's columns are used; b and
 * mu [nrows]. */
int cpLevelSolve(CPLevel *level, const double *f, const double *b, double *x, double *mu);

/* choose.c: sets work->linsol, P->stats.linsol and P->reason from P->options.linsol, size and
 * pattern. */
int cpChooseSolver(CPWork work);

/* factor.c */
/* Computes G and its factors at (t, y), with c(t, y) given in work->rows.c. */
int cpFactor(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt);
int cpRightInverse(CPNewton *newton, const double *r, double *x);       /* x  = K r,   [m] -> [n] */
int cpRightInverseTransposed(CPWork work, const double *x, double *mu); /* mu = K^T x, [n] -> [m] */

/* norms.c: decides whether unit norms have closed forms: work->norms_apart, norms_in_row */
void cpNormsLayOut(CPWork work);
/* As the actions of matrix.c, by closed forms, if work->norms_apart. Return 1, or 0 with nothing
 * changed if the action is left to the iteration. */
int cpNormsProject(CPWork work, N_Vector y, N_Vector ewt, int only_if_needed, CPProjected *result);
int cpNormsViolation(CPWork work, N_Vector y, N_Vector ewt, CPViolation *violation);
int cpNormsTangent(CPWork work, N_Vector y, N_Vector ewt, N_Vector v, int transposed);

/* split.c: sets P->nlevels, row_level and col_level from G at y. */
int cpSplitLevels(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt);

/* user.c */
int cpUserViolation(CPWork work, sunrealtype t, N_Vector y, sunrealtype *norm);

#endif
