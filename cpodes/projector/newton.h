/* How a projector is implemented: what each kind does (CPProjectorKind), and what Newton's iteration and the damped
 * iteration need of a problem (CPNewtonParts). Kinds inside of this room are matrix.c, krylov.c and user.c; another
 * room may add its own.
 *
 * Functions that return a code return 0, a positive recoverable or a negative fatal one, with the reason in
 * cpWorkText(work); vectors that they change are then as they came. */
#ifndef CPODES_NEWTON_H
#define CPODES_NEWTON_H

#include "cpodes/base/arena.h"
#include "cpodes/matrix/matrix.h"
#include "projection.h"

#include <stddef.h>

/* ---- what Newton's iteration needs ---- */

/* Results of a factorisation. */
typedef struct {
  sunindextype rank;       /* of the rows; -1 if it is not known */
  sunindextype ndependent; /* rows that depend on others */
  double sine; /* smallest sine of an angle between independent rows; 1 if it is not known */
} CPRank;

typedef struct CPNewton_ CPNewton;

typedef struct {
  /* c <- c(t, y), the residuals that the others use */
  int (*residuals)(CPNewton *newton, sunrealtype t, N_Vector y);
  /* G, D, their factors and the sizes of residuals at (t, y), whose residuals are known. damped: 0 in Newton's
   * iteration; in the damped one the number of the iteration from 1. There the state may be far off, so that all rows
   * count, and merit keeps the sizes of number 1. */
  int (*renew)(CPNewton *newton, sunrealtype t, N_Vector y, N_Vector ewt, int damped, CPRank *rank);
  /* max |c_i| / size_i, the violation. worst: its row; residual: c there. Both are handed on only. */
  double (*measure)(CPNewton *newton, int *worst, double *residual /* may be NULL */);
  /* max |c_i| / unit_i, in units of the state's tolerance */
  double (*distance)(CPNewton *newton);
  /* x <- K c */
  int (*direction)(CPNewton *newton, N_Vector x);
  /* sum (c_i / size_i)^2 */
  double (*merit)(CPNewton *newton);
  /* Are all residuals at y above eps nothing but noise? 1, 0, or a fatal code. thorough: 0 for what the roundoff of the
   * terms of c tells without an evaluation (0 if that is not known), 1 for second differences of c, too. */
  int (*is_noise)(CPNewton *newton, sunrealtype t, N_Vector y, double eps, int thorough);
  /* Why there is no convergence: the code. damped: 1 in the damped iteration */
  int (*explain)(CPNewton *newton, sunrealtype t, N_Vector y, int damped);
  /* What the functions of rows.c need, where residuals are arrays:
   * terms_i <- sum_j |G_ij y_j|, or 0 if the entries of G are not known, */
  int (*terms)(CPNewton *newton, N_Vector y, double *terms);
  /* x <- K r with the factors, */
  int (*lift)(CPNewton *newton, const double *r, double *x);
  /* r <- G x, */
  int (*times)(CPNewton *newton, N_Vector x, double *r);
  /* mu, such that row i is sum_k mu_k times row k of those that are independent, 0 for others, */
  int (*combination)(CPNewton *newton, int i, double *mu);
  /* and whether G is the derivative of c: 0, or the code, with the reason. */
  int (*compare)(CPNewton *newton, sunrealtype t, N_Vector y);
} CPNewtonParts;

/* Residuals that are arrays, and what they are measured by (rows.c). Rows without a gradient are satisfied within their
 * size, because no correction can do better; those that are switched off have the size INFINITY. */
typedef struct {
  int m, n;
  double *c;    /* [m] the newest residuals */
  double *size; /* [m] |c_i| / size_i is the violation of row i; 0 counts as 1e-12 */
  double *unit; /* [m] |c_i| / unit_i is the distance to surface i in units of the tolerance; 0 does not count */
  double *frozen;       /* [m] the sizes of the damped iteration */
  double *w;            /* [n] weights that these were measured with; 1/w_j is the unit of y_j */
  char *is_idle;        /* [m] 1: no component moves this row, which is off or has no gradient */
  const int *number;    /* [m] for messages, the numbers of the rows; their own if NULL */
  double *a, *b, *kept; /* [m] workspace */
  double *K; /* [n x m] by rows, the right inverse of the factors made, if nlifts exceeds m; NULL if it is large */
  long int made;
  int nlifts; /* right-hand sides since these factors were made */
} CPRows;

/* The state of an iteration with one set of factors. Only newton.c writes it, except for self, rows, and rank
 * where norms.c projects in its place. */
struct CPNewton_ {
  const CPNewtonParts *parts;
  void *self;           /* the problem that is solved, */
  CPRows *rows;         /* and its residuals, if they are arrays */
  CPWork work;          /* options and counters */
  int uses;             /* projections of a step by these factors: they may be uses * jacfreq old */
  N_Vector y, x, trial; /* state, correction, state under trial */
  N_Vector near;        /* state for differences of c */
  int valid;            /* There are factors. */
  long int made;        /* the number of these factors */
  int stale;            /* They converge too slowly. */
  long int age;         /* projections since they were made */
  CPRank rank;
  double finer; /* usually 1: factor of the goal of the next projections, as far as that can be reached */
  sunindextype highest_rank; /* of accepted steps */
  /* results of the newest projection */
  double violation, rate;
  int worst, worst_start; /* row violated most, and before the projection */
  CPFloor floor;          /* of the newest attempt of a step */
};

/* Vectors like tmpl, from the arena, whose status the caller checks. */
void cpNewtonInit(CPNewton *newton, CPArena *arena, const CPNewtonParts *parts, void *self,
                  CPWork work, N_Vector tmpl);
/* y (in, out) to the nearest point of the manifold by the kept factors, as far as they serve. */
int cpNewtonProject(CPNewton *newton, sunrealtype t, N_Vector y, N_Vector ewt, int only_if_needed,
                    CPProjected *result);
/* The same from a poor guess: the damped iteration, then cpNewtonProject. */
int cpNewtonDamped(CPNewton *newton, sunrealtype t, N_Vector y, N_Vector ewt);
int cpNewtonViolation(CPNewton *newton, sunrealtype t, N_Vector y, N_Vector ewt,
                      CPViolation *violation);
/* Factors for vectors at (t, y), unless those of the projection that gave y serve. */
int cpNewtonPrepare(CPNewton *newton, sunrealtype t, N_Vector y, N_Vector ewt);
/* The factors do not serve any more. */
void cpNewtonForget(CPNewton *newton);
/* Nor does the rank seen so far: the rows, or what makes their values, are others. */
void cpNewtonReset(CPNewton *newton);

/* ---- a kind of projector ---- */

/* self: what create made. */
typedef struct {
  void *(*create)(void *model, CPWork work); /* NULL without memory */
  void (*free)(void *self);
  /* Brings self in line with the options; before each of the actions. NULL if there is nothing to do. */
  int (*update)(void *self, sunrealtype t, N_Vector y, N_Vector ewt);
  /* As cpProject etc. in projection.h, which count calls and failures. Where project, assemble or violation are NULL, they
   * are those of its one iteration; the user's kind has none, refuses what it lacks, and has no derivative to probe. */
  int (*project)(void *self, sunrealtype t, N_Vector y, N_Vector ewt, int only_if_needed,
                 CPProjected *result);
  int (*assemble)(void *self, sunrealtype t, N_Vector y, N_Vector ewt);
  int (*tangent)(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v,
                 N_Vector r /* may be NULL */);
  int (*error)(void *self, sunrealtype t, N_Vector y, N_Vector ewt,
               N_Vector v); /* if NULL, tangent */
  int (*cotangent)(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector w);
  int (*violation)(void *self, sunrealtype t, N_Vector y, N_Vector ewt, CPViolation *violation);
  int (*probe)(void *self, sunrealtype t, N_Vector y, N_Vector ewt);
  N_Vector (*rows_vector)(void *self);
  int (*rows_at)(void *self, sunrealtype t, N_Vector y, N_Vector c);
  const char *(*name_row)(void *model, int i, char name[CP_ROW_NAME]);
} CPProjectorKind;

/* A projector of a kind of another room; model outlives it. NULL without memory. */
CPProjector cpProjectorCreateKind(const CPProjectorKind *kind, void *model, N_Vector y_tmpl,
                                  SUNContext ctx);

/* What the projector's user has set. */
typedef struct {
  double eps;
  int maxiters;
  long int jacfreq;
  CPLinSol linsol;
  long int contents; /* another number after each change of an option or of user data */
} CPProjectorOptions;

const CPProjectorOptions *cpWorkOptions(CPWork work);
/* The work's iterations, whose factors are forgotten with its own, and whose ranks and floors are warned of. The second may be NULL. */
void cpWorkSetIterations(CPWork work, CPNewton *first, CPNewton *second);
/* Counters of the work, and of the projector for all its works. */
#define CP_COUNTER(name) offsetof(CPProjectorStats, name)
void cpWorkCount(CPWork work, size_t counter, long int n);
#define CP_COUNT(work, name) cpWorkCount(work, CP_COUNTER(name), 1)
/* For the statistics: the solver in use, and the levels. */
void cpWorkSetSolver(CPWork work, CPLinSol linsol, int nlevels);
/* What create made. */
void *cpWorkSelf(CPWork work);

/* ---- residuals that are arrays (rows.c): parts of the iteration ---- */

/* Arrays of the arena, whose status the caller checks. */
void cpRowsCreate(CPRows *rows, CPArena *arena, int m, int n);
double cpRowsMeasure(CPNewton *newton, int *worst, double *residual);
double cpRowsDistance(CPNewton *newton);
int cpRowsDirection(CPNewton *newton, N_Vector x);
/* x <- K r, K itself where many right-hand sides come to one set of factors of a small problem */
int cpRowsLift(CPNewton *newton, const double *r, double *x);
double cpRowsMerit(CPNewton *newton);
int cpRowsAreNoise(CPNewton *newton, sunrealtype t, N_Vector y, double eps, int thorough);
int cpRowsExplain(CPNewton *newton, sunrealtype t, N_Vector y, int damped);
/* |g_i| = sqrt(sum_j (G_ij s_j)^2) [m], safe from under- and overflow. largest [m]: workspace */
void cpRowsLength(const CPMat *G, const double *s, double *largest, double *length);
/* Sizes of the components x [n] in the terms of constraints; w: their error weights, or NULL. size may be x. A component that is zero
 * but for errors, as in a motion that is planar or symmetric, has no size of its own; it counts as the largest of all, in units of
 * their tolerances, and as a hundred of these at least. Else |c_i| over its terms would be a ratio of errors. */
void cpComponentSizes(int n, const double *x, const double *w, double *size);
/* jaccheck.c: is G the derivative of the residuals at (t, y)? The weights of rows measure; c is overwritten. Each returns
 * 0 or a code. The first takes a vector v at random, which it leaves in newton->x, with G v in rows->b: *err is the largest
 * part of a row by which G v is wrong. The second compares the entries: *err is the largest error, as part of its row. Where
 * is_given is 0, entries are differences themselves, and right: it is the pattern that may lack some. off [m] or NULL: 1
 * for rows that do not count. */
typedef int (*CPTimesAt)(void *self, sunrealtype t, const double *v, double *Gv);
int cpDerivativeAlong(CPNewton *newton, sunrealtype t, N_Vector y, CPTimesAt times, const char *off,
                      unsigned *state, double *err);
int cpDerivativeEntries(CPNewton *newton, sunrealtype t, N_Vector y, const CPMat *G, int is_given,
                        const char *off, double *err, int *row, int *col);
/* Smallest such error that a user cannot mean. Differences are good to about 1e-7. */
#define CP_WRONG_JACOBIAN 1.0e-2
/* (A v, w) - (v, A^T w) next to the size of its terms: roundoff leaves 1e-15, products in single precision 1e-7. */
#define CP_NOT_TRANSPOSED 1.0e-6
/* The largest |c_i| / terms_i of the rows that are not idle. */
double cpRowsRelativeDistance(const CPRows *rows, const double *terms);
/* metric.c: is W symmetric, with a positive diagonal? 0, or -CP_METRIC_INDEFINITE with the reason in text. */
int cpMetricCheck(const CPMat *W, sunrealtype t, char *text);
/* text [length] += more */
void cpAppend(char *text, size_t length, const char *more);

/* Moves below this part of the tolerance show no curvature of c. */
#define CP_NOISE_REACH 1.0e-2
/* Second difference, as part of the residual, that only noise makes at such distances. */
#define CP_NOISE_PART 0.25

#endif
