/* Inside of CPProjector: the problem (P) apart from the state of its solution (CPWork), of which
 * the projector itself, the integrator and its output each have one, so that none changes what
 * another one computes.
 *
 * Letters: y [n] state, c [m] constraints, G = dc/dy [m x n], w [n] weights that measure (1/w_j is
 * the unit of y_j), D the diagonal inverse metric, zero where a component is held,
 * K = D G^T (G D G^T)^+ the right inverse of G. */
#ifndef CPODES_PROJECTOR_IMPL_H
#define CPODES_PROJECTOR_IMPL_H

#include "../compat.h"
#include "../errors.h"
#include "../linsol/linsol.h"

#include <cpodes/cpodes_projector.h>

#define CP_MAX_LEVELS 16

/* A level: rows that are satisfied by moving the columns of the same level. */
typedef struct {
  int nrows, ncols;
  int *rows;    /* [nrows] constraints of this level                    */
  int *cols;    /* [ncols] components that they move                    */
  int nact;     /* rows with a gradient: the columns of A               */
  int *act;     /* [nact] constraint that column k of A belongs to */
  CPEntries AT; /* A^T, A = D^(1/2) G^T R on this level, R makes the columns units */
  CPLin lin;    /* of A                                                */
  CPLin spare;  /* AUTO: the pivoted solver, swapped in when rows prove dependent */
} CPLevel;

typedef struct CPWork_ {
  CPProjector P;
  long int revision; /* of P's options at set-up; -1: never set up */
  int valid;         /* factors present                            */
  int stale;         /* ... but their convergence rate calls for new ones */
  long int age;      /* projections since G was evaluated          */
  N_Vector y;        /* trial state                                */
  N_Vector v;        /* trial vector, perturbed states             */
  N_Vector c, c2;    /* residuals; those at a perturbed state      */
  SUNMatrix G;       /* m x n, as the user or the differences gave it */
  CPEntries g;       /* its entries                                */
  int nlevels;
  CPLevel levels[CP_MAX_LEVELS];
  double *sqrtd;    /* [n] root of D, the factors' own; 0: held        */
  double *w;        /* [n] weights the rows were measured with    */
  double *rowscale; /* [m] 1 / ||D^(1/2) g_i||; 0 for a row without gradient */
  double *size;     /* [m] |c_i| / size_i is the violation of row i */
  double *unit;     /* [m] |c_i| / unit_i is the distance to surface i in units of the tolerance */
  double *x, *r;    /* [n], [m] vectors of the callers            */
  double *z, *s;    /* [n], [m] of the right inverse              */
  double *xl, *rl;  /* [n], [m] the same of one level             */
  int *rowpos;      /* [m] place within its level; -1: no gradient */
  /* results of the newest projection */
  double violation, rate;
  int worst;              /* constraint violated most               */
  int worst_start;        /* ... before the projection */
  double floor_violation; /* of the newest projection that ended at the roundoff floor */
  int floor_worst;        /* and its constraint                                        */
  int jac_is_right;       /* the user's G has been compared with differences           */
  CPProjectorStats stats;
  char text[CP_TEXT_LENGTH]; /* reason of the newest failure */
} * CPWork;

struct CPProjector_ {
  SUNContext ctx;
  int user_kind;
  int n, m; /* user kind: both 0 */
  N_Vector y_tmpl, c_tmpl;
  /* the user's functions */
  CPConstraintFn c;
  CPConstraintJacFn jac;
  CPProjFn g;
  CPErrProjFn g_eps;
  CPViolationFn violation;
  void *user_data;
  /* options; each change raises revision */
  long int revision;
  CPLinSol linsol;
  CPNorm norm;
  sunrealtype eps;
  int maxiters;
  long int jacfreq;
  double *ctol; /* [m] or NULL */
  double *free; /* [n] 0: held; or NULL */
  int nlevels;  /* 0: to be detected */
  int levels_given;
  int *row_level, *col_level; /* [m], [n] */
  CPWork work;                /* for the public calls */
  CPProjectorStats stats;     /* of all works together */
  CPLog log;
};

/* work.c: workspace */
int cpWorkCreate(CPWork *work, CPProjector P);
void cpWorkFree(CPWork *work);
/* Brings the workspace in line with P's options; detects levels at (t, y) if needed. */
int cpWorkUpdate(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt);
/* Rank of G at the newest factorisation, over all levels. */
sunindextype cpWorkRank(CPWork work);

/* Counts in the workspace, and in the projector for all its workspaces. */
#define CP_COUNT(work, counter) ((work)->stats.counter++, (work)->P->stats.counter++)
/* Counts a failed projection; returns flag. */
int cpCountFailure(CPWork work, int flag);

/* constraint.c: the user's functions, checked. Each returns 0 or a code with the reason in
 * work->text. */
int cpConstraint(CPWork work, sunrealtype t, N_Vector y, N_Vector c);
int cpJacobian(CPWork work, sunrealtype t, N_Vector y, N_Vector c);
/* Largest weighted difference between the user's G in work->G and difference quotients. */
int cpJacobianError(CPWork work, sunrealtype t, N_Vector y, double *err, int *row, int *col);
/* Smallest such error that a user cannot mean. Differences are good to about 1e-7. */
#define CP_WRONG_JACOBIAN 1.0e-2
/* The same along one direction, for two evaluations of c: is G that of c? 0, or
 * +-CP_CNSTRJAC_WRONG. Factors that are valid must be those of (t, y). */
int cpJacobianProbe(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt);

/* metric.c: weights and D */
int cpWeights(CPWork work, N_Vector y, N_Vector ewt);

/* gradient.c: products with G */
int cpGradientGather(CPWork work, sunrealtype t); /* 0, or that an entry is not finite */
void cpGradientTimes(const CPWork work, const double *v, double *r); /* r  = G v     [m] */
void cpGradientTransposedTimes(const CPWork work, const double *mu, double *w); /* w -= G^T mu  [n] */

/* factor.c: G and its factors at (t, y), c = c(t, y) in work->c */
int cpFactor(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt);
void cpRightInverse(CPWork work, const double *r, double *x); /* x  = K r,   [m] -> [n] */
void cpRightInverseTransposed(CPWork work, const double *x, double *mu); /* mu = K^T x, [n] -> [m] */
/* Are all residuals above eps within the roundoff of evaluating them? */
int cpAtRoundoffFloor(CPWork work, const double *y, const double *c, double eps);
/* Largest violation of the residuals c; *worst the constraint. */
double cpViolation(CPWork work, const double *c, int *worst);

/* newton.c, tangent.c, assemble.c: both kinds of projector. 0, positive recoverable, negative
 * fatal. y and v are in and out, untouched on failure; the reason is in work->text. */
int cpProject(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, int only_if_needed, int *moved);
int cpTangent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v);
int cpCotangent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector w);
int cpAssemble(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt);
int cpStateViolation(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, sunrealtype *norm,
                     int *worst);

/* user.c: the user kind */
int cpUserProject(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, int only_if_needed,
                  int *moved);
int cpUserTangent(CPWork work, sunrealtype t, N_Vector y, N_Vector v);
int cpUserViolation(CPWork work, sunrealtype t, N_Vector y, sunrealtype *norm);

/* levels.c: sets P->nlevels, row_level, col_level from G at perturbed states. */
int cpDetectLevels(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt);

/* vectors.c */
int cpVectorFinite(N_Vector v);
int cpFirstNonFinite(N_Vector v); /* index, or -1 */
int cpHasData(N_Vector v);        /* direct access to all entries */
/* Size below which a component counts as zero when it is perturbed: the tolerance alone may be far
 * below what the other terms of a constraint can resolve; components of large units say nothing of
 * the others. */
double cpTypicalSize(N_Vector y);
/* Uniform in [-1, 1), the same sequence for the same state: a run must be repeatable. */
double cpUniform(unsigned *state);

#endif
