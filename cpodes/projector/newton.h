/* The interface between a projector and its kinds: the functions of a kind (CPProjectorKind), and
 * what Newton's iteration and the damped iteration need of a problem (CPNewtonParts). The kinds of
 * this room are in matrix.c and user.c; other rooms add their own.
 *
 * Functions that return a code return 0, a positive code if the failure is recoverable, or a
 * negative one if it is fatal, with the reason in cpWorkText(work); after a failure, vectors that
 * they change have their old values. */
#ifndef CPODES_NEWTON_H
#define CPODES_NEWTON_H

#include "cpodes/base/arena.h"
#include "cpodes/matrix/matrix.h"
#include "projection.h"

#include <math.h>
#include <stddef.h>

/* ---- what Newton's iteration needs ---- */

/* Results of a factorisation. */
typedef struct {
  sunindextype rank;       /* rank of the rows; -1 if it is not known */
  sunindextype ndependent; /* number of rows that depend on others */
  /* smallest sine of an angle between independent rows; 1 if it is not known */
  double sine;
  int is_doubtful; /* 1: that sine is too small to tell independent rows (cpSaddleIsClear) */
} CPRank;

typedef struct CPNewton_ CPNewton;

typedef struct {
  /* c <- c(t, y), the residuals that the following functions use */
  int (*residuals)(CPNewton *newton, sunrealtype t, N_Vector y);
  /* Computes G, D, their factors and the sizes of the residuals at (t, y), where the residuals are
   * known. damped: 0 in Newton's iteration; in the damped one the number of the iteration, from 1.
   * There the state may be far from the manifold, so that no row is dropped as dependent because of
   * its distance, and merit keeps the sizes of iteration 1. */
  int (*renew)(CPNewton *newton, sunrealtype t, N_Vector y, N_Vector ewt, int damped, CPRank *rank);
  /* max |c_i| / size_i, the violation. worst: out, the row with the maximum; residual: out, its c.
   * Both serve messages and results only. */
  double (*measure)(CPNewton *newton, int *worst, double *residual /* may be NULL */);
  /* max |c_i| / unit_i, the distance from the manifold in units of the state's tolerance */
  double (*distance)(CPNewton *newton);
  /* x <- K c */
  int (*direction)(CPNewton *newton, N_Vector x);
  /* sum (c_i / size_i)^2 */
  double (*merit)(CPNewton *newton);
  /* Are all residuals above eps at y noise only? Returns 1, 0, or a fatal code. thorough = 0: only
   * what the roundoff of the terms of c shows without an evaluation (0 if the terms are not known);
   * 1: second differences of c, too. */
  int (*is_noise)(CPNewton *newton, sunrealtype t, N_Vector y, double eps, int thorough);
  /* Returns the code, with the reason, for an iteration that does not converge. damped: 1 for the
   * damped iteration */
  int (*explain)(CPNewton *newton, sunrealtype t, N_Vector y, int damped);
  /* For residuals that are arrays, rows.c also needs the following functions. terms: terms_i <-
   * sum_j |G_ij y_j|; returns 0 if the entries of G are not known */
  int (*terms)(CPNewton *newton, N_Vector y, double *terms);
  /* x <- K r with the factors */
  int (*lift)(CPNewton *newton, const double *r, double *x);
  /* r <- G x */
  int (*times)(CPNewton *newton, N_Vector x, double *r);
  /* mu such that row i = sum_k mu_k (row k) over the independent rows; mu_k = 0 for others */
  int (*combination)(CPNewton *newton, int i, double *mu);
  /* Is G the derivative of c? Returns 0, or a code with the reason. */
  int (*compare)(CPNewton *newton, sunrealtype t, N_Vector y);
} CPNewtonParts;

/* Residuals that are arrays, and their scales (rows.c). Rows without a gradient count as satisfied
 * within their size, because no correction can do better; rows that are switched off have the size
 * INFINITY. */
typedef struct {
  int m, n;
  double *c;    /* [m] the newest residuals */
  double *size; /* [m] |c_i| / size_i is the violation of row i; a size of 0 counts as 1e-12 */
  /* [m] |c_i| / unit_i is the distance to c_i = 0 in units of the tolerance; 0: row i is ignored */
  double *unit;
  double *frozen;    /* [m] the sizes of the damped iteration */
  double *w;         /* [n] weights used for size and unit; 1/w_j is the unit of y_j */
  char *is_idle;     /* [m] 1: no component moves this row, because it is off or has no gradient */
  const int *number; /* [m] numbers of the rows in messages; NULL: 0 ... m - 1 */
  double *a, *b, *d, *kept; /* [m] workspace */
  /* [n x m] by rows: the right inverse, once nlifts has reached m (cpRowsLift); NULL if large */
  double *K;
  long int made;
  int nlifts; /* right-hand sides with these factors; m + 1: K has been formed */
} CPRows;

/* The state of an iteration with one set of factors. newton.c and method.c write it; a kind sets
 * parts, self, rows, uses and bound_factor, and norms.c sets rank where it replaces the iteration. */
struct CPNewton_ {
  const CPNewtonParts *parts;
  void *self;   /* the problem that is solved */
  CPRows *rows; /* its residuals if they are arrays, else NULL */
  CPWork work;  /* options and counters */
  /* number of problems with these factors: projections per step, and how often their rank counts */
  int uses;
  N_Vector y, x, trial; /* state, correction, trial state */
  N_Vector near;        /* perturbed state for differences of c */
  int valid;            /* 1: there are factors that serve */
  int age;              /* projections since they were computed */
  int accepted;         /* 1: a step has been accepted since */
  long int made;        /* serial number of the factors */
  CPRank rank;
  /* factor applied to the bound of the next projections, where that can be reached; usually 1 */
  double bound_factor;
  sunindextype highest_rank; /* highest rank in accepted steps */
  /* results of the newest projection */
  double violation;
  int worst, worst_start; /* row violated most, after and before the projection */
  CPFloor floor;          /* floor found in the newest attempt of a step */
};

/* Clones tmpl into the arena, whose status the caller checks. If tmpl is NULL, the iteration has no vectors before
 * cpNewtonVectors. */
void cpNewtonInit(CPNewton *newton, CPArena *arena, const CPNewtonParts *parts, void *self,
                  CPWork work, N_Vector tmpl);
void cpNewtonVectors(CPNewton *newton, CPArena *arena, N_Vector tmpl);
/* Projects y (in, out) to the nearest point of the manifold, with the kept factors as long as they
 * serve. */
int cpNewtonProject(CPNewton *newton, sunrealtype t, N_Vector y, N_Vector ewt, int only_if_needed,
                    CPProjected *result);
/* Projects y from a poor guess: the damped iteration, then cpNewtonProject. */
int cpNewtonDamped(CPNewton *newton, sunrealtype t, N_Vector y, N_Vector ewt);
int cpNewtonViolation(CPNewton *newton, sunrealtype t, N_Vector y, N_Vector ewt,
                      CPViolation *violation);
/* Provides factors for vectors at (t, y), unless those of the projection that gave y serve. */
int cpNewtonPrepare(CPNewton *newton, sunrealtype t, N_Vector y, N_Vector ewt);
/* Discards the factors. */
void cpNewtonForget(CPNewton *newton);
/* Discards the factors and the highest rank, because the rows, or what their values depend on, have
 * changed. */
void cpNewtonReset(CPNewton *newton);

/* ---- a kind of projector ---- */

/* self is the result of create. */
typedef struct {
  /* What options it takes, bits: the choice of a linear solver; c, its rows and the norm; G, unit norms
   * and metrics as matrices */
  enum { CP_TAKES_SOLVER = 1, CP_TAKES_ROWS = 2, CP_TAKES_MATRICES = 4 } takes;
  const char *refusal;                       /* if it does not take rows: why */
  void *(*create)(void *model, CPWork work); /* NULL if memory runs out */
  void (*free)(void *self);
  void (*release)(void *model); /* frees the model, if the projector owns it; else NULL */
  /* Brings self in line with the options; called before each action. NULL if there is nothing to
   * do. */
  int (*update)(void *self, sunrealtype t, N_Vector y, N_Vector ewt);
  /* As cpProject etc. in projection.h, which count calls and failures. If project, assemble or
   * violation is NULL, the first iteration of the work is used. The user's kind has no iteration,
   * refuses what the user has not supplied, and has no derivative to probe. */
  int (*project)(void *self, sunrealtype t, N_Vector y, N_Vector ewt, int only_if_needed,
                 CPProjected *result);
  int (*assemble)(void *self, sunrealtype t, N_Vector y, N_Vector ewt);
  int (*tangent)(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v,
                 N_Vector r /* may be NULL */);
  int (*error)(void *self, sunrealtype t, N_Vector y, N_Vector ewt,
               N_Vector v); /* if NULL, tangent is used */
  int (*cotangent)(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector w);
  int (*violation)(void *self, sunrealtype t, N_Vector y, N_Vector ewt, CPViolation *violation);
  int (*roundoff)(void *self, sunrealtype t, N_Vector y, N_Vector ewt, double *norm); /* optional */
  int (*probe)(void *self, sunrealtype t, N_Vector y, N_Vector ewt);
  /* *err <- the largest relative error of the user's Jacobian, in entry (row, col); optional */
  int (*check)(void *self, sunrealtype t, N_Vector y, N_Vector ewt, double *err, int *row, int *col);
  N_Vector (*rows_vector)(void *self);
  int (*rows_at)(void *self, sunrealtype t, N_Vector y, N_Vector c);
  const char *(*name_row)(void *model, int i, char name[CP_ROW_NAME]);
  /* 1: work->v and P->result, which functions of this kind do not use, are created when they are needed first */
  int spares_vectors;
} CPProjectorKind;

/* Creates a projector of this kind for the constraints c, which may be NULL (then c_tmpl is, too), with a
 * model that must outlive it, or is released with it. Returns NULL if memory runs out. */
CPProjector cpProjectorCreateKind(const CPProjectorKind *kind, void *model, CPConstraintFn c,
                                  N_Vector y_tmpl, N_Vector c_tmpl, SUNContext ctx);
/* Checks the templates of constraints. Returns 0, or a code that has been reported. */
int cpCheckTemplates(CPConstraintFn c, N_Vector y_tmpl, N_Vector c_tmpl, SUNContext ctx,
                     const char *function);

/* Options set by the user of the projector. */
typedef struct {
  double eps;
  CPLinSol linsol;
  long int contents; /* changes with each change of an option or of user data */
} CPProjectorOptions;

const CPProjectorOptions *cpWorkOptions(CPWork work);
/* Sets the iterations of the work: their factors are discarded with the work's own, and warnings
 * concern their ranks and floors. second may be NULL. */
void cpWorkSetIterations(CPWork work, CPNewton *first, CPNewton *second);
/* Adds n to a counter of the work, and of the projector for all its works together. */
#define CP_COUNTER(name) offsetof(CPProjectorStats, name)
void cpWorkCount(CPWork work, size_t counter, long int n);
#define CP_COUNT(work, name) cpWorkCount(work, CP_COUNTER(name), 1)
/* Sets the solver in use and the number of levels in the statistics. */
void cpWorkSetSolver(CPWork work, CPLinSol linsol, int nlevels);
/* The result of CPProjectorKind.create. */
void *cpWorkSelf(CPWork work);

/* ---- residuals that are arrays (rows.c): parts of the iteration ---- */

/* Allocates the arrays from the arena, whose status the caller checks. */
void cpRowsCreate(CPRows *rows, CPArena *arena, int m, int n);
double cpRowsMeasure(CPNewton *newton, int *worst, double *residual);
double cpRowsDistance(CPNewton *newton);
int cpRowsDirection(CPNewton *newton, N_Vector x);
/* x <- K r; with K itself if a small problem has many right-hand sides for one set of factors */
int cpRowsLift(CPNewton *newton, const double *r, double *x);
double cpRowsMerit(CPNewton *newton);
/* r_i <- the roundoff of evaluating c_i at y, as far as G and y show it, with these signs, or a random part
 * of it if signs is NULL */
void cpRowsRoundoff(CPNewton *newton, N_Vector y, const double *signs, double *r);
int cpRowsAreNoise(CPNewton *newton, sunrealtype t, N_Vector y, double eps, int thorough);
/* These in CPNewtonParts */
#define CP_ROWS_PARTS                                                                 \
  .measure = cpRowsMeasure, .distance = cpRowsDistance, .direction = cpRowsDirection, \
  .merit = cpRowsMerit, .is_noise = cpRowsAreNoise
int cpRowsExplain(CPNewton *newton, sunrealtype t, N_Vector y, int damped);
/* rows.c: roundoff_i <- the change of c_i while t changes by 8 of its last digits: a constraint that follows
 * a motion g(t) is known no better than g. It is twice the smaller change on both sides of t, since a jump is no
 * roundoff. c and rows->d are overwritten. Returns 0 or a code. */
int cpRowsTimeRoundoff(CPNewton *newton, sunrealtype t, N_Vector y, double *roundoff);
/* jaccheck.c: is G the derivative of the residuals at (t, y)? Components are measured by the
 * weights of rows; c is overwritten. Both functions return 0 or a code.
 *
 * cpDerivativeAlong takes a random vector v, which it leaves in newton->x, with G v in rows->b.
 * *err is the largest error of G v relative to its row. cpDerivativeEntries compares the entries:
 * *err is the largest error relative to its row. With is_given = 0 the entries are differences
 * themselves and correct, and only the pattern may lack some. off [m] or NULL: 1 for rows that are
 * not compared. */
typedef int (*CPTimesAt)(void *self, sunrealtype t, const double *v, double *Gv);
int cpDerivativeAlong(CPNewton *newton, sunrealtype t, N_Vector y, CPTimesAt times, const char *off,
                      unsigned *state, double *err);
int cpDerivativeEntries(CPNewton *newton, sunrealtype t, N_Vector y, const CPMat *G, int is_given,
                        const char *off, double *err, int *row, int *col);
/* The step of such a difference may be lost in a motion g(t) with many turns, and may turn an angle that counts
 * its turns by more than a radian. An error therefore has to exceed the roundoff of t, and to remain with
 * steps that are shorter by CP_SHORTER, up to CP_SHORTENED times. */
#define CP_SHORTER 0x1p-6
enum { CP_SHORTENED = 3 };
/* Roundoff of a difference, in units of roundoff of the residual */
#define CP_DIFFERENCE_NOISE 1.0e3
/* Smallest such error that counts as a mistake of the user. Differences are accurate to about
 * 1e-7. */
#define CP_WRONG_JACOBIAN 1.0e-2
/* The weight of component j of x, which is blind if no weights are known. */
static inline double cpWeightOf(const double *w, const double *x, int j) {
  return w ? w[j] : 1.0 / (CP_BLIND_TOLERANCE * (1.0 + fabs(x[j])));
}
/* Returns the largest |r_i| / sum_j |A_ij| size_j over the rows with out[i] = 0, where size_j is that of
 * component j of x (componentSizes; w as there): with r = c, the distance from the manifold relative to
 * the terms of the constraints. size [n], which may be x, and terms [m]: workspace */
double cpRelativeDistance(const CPMat *A, const double *r, const char *out, const double *x,
                          const double *w, double *size, double *terms);
/* metric.c: is W symmetric, with a positive diagonal? Returns 0, or -CP_METRIC_INDEFINITE with the
 * reason in text. */
int cpMetricCheck(const CPMat *W, sunrealtype t, char *text);
/* Returns -CP_METRIC_INDEFINITE, and writes the reason to text, after a factorisation that failed at a
 * component, or -1 if it is not known. */
int cpMetricIndefinite(char *text, sunrealtype t, int component);
/* Appends more to text [length]. */
void cpAppend(char *text, size_t length, const char *more);

/* Reduction of the residual of conjugate gradients when a state is projected. Measured with chains of 10 and
 * 40 links, BDF and Adams at 1e-6 and 1e-9: with 1e-4 steps and states are those of a direct solver, to
 * 0.02 tolerances; with 1e-2 there are up to 28 % more steps, and states are 2 to 2000 tolerances off. */
#define CP_CG_RTOL_OF_STATE 1.0e-4
/* Fraction of the residuals that can remain only if constraints contradict each other. */
#define CP_REMAINS 0.1
/* A smooth c shows no curvature over moves below this fraction of the tolerance. */
#define CP_NOISE_REACH 1.0e-2
/* Second difference, as a fraction of the residual, that only noise can cause over such moves. */
#define CP_NOISE_PART 0.25

#endif
