/* Interfaces between the files of mechanics/.
 *
 * Constraints are numbered as the rows of A: rows 0 ... na - 1 are the model's, and one row follows
 * for each motion prescribed by DIRECT or RATE, m rows in all. p, v and b are arrays of length m;
 * entries of rows that do not exist at that level (at_position, at_velocity) are zero.
 *
 * Letters: q [nq], u [nu], z [nz], a = u' [nu], lambda [m]; s is a state with its time. */
#ifndef CPODES_MECHANICS_IMPL_H
#define CPODES_MECHANICS_IMPL_H

#include "cpodes/base/compat.h"
#include "cpodes/base/differences.h"
#include "cpodes/base/memo.h"
#include "cpodes/base/random.h"
#include "cpodes/projector/projection.h"
#include "cpodes/saddle/saddle.h"
#include "cpodes/stepping/system.h"

#include <cpodes/cpodes_mechanics.h>
#include <stdatomic.h>

typedef struct CPMechNewton_ *CPMechNewtonMem; /* newton/ */

/* A state (q, u, z) at time t. Coordinates of FULL motions have their prescribed values. */
typedef struct {
  sunrealtype t;
  const sunrealtype *q, *u, *z;
} CPMechState;

typedef struct {
  int first_q, first_u;
  CPFrame frame;
} CPMechQuaternion;

/* q_i(t) = g(t) */
typedef struct {
  int i, j; /* coordinate, and its velocity */
  CPMotionKind how;
  CPMotionFn g, gd, gdd;
  double step;
  void *data;
  int row; /* row of A, or -1 if FULL */
} CPPrescribed;

/* g, g', g'' at the newest evaluation */
typedef struct {
  double value, rate, curvature;
} CPMotionValue;

/* Arrays of a derivative by central differences of sixth order. centre is for second derivatives only. */
typedef struct {
  double *plus, *minus, *fourth, *sixth, *centre;
  double time; /* of which the step was a part */
} CPMechDifferences;

typedef struct {
  CPMat M, A; /* M and A after cpMatHold for FULL motions; empty if there are none */
} CPMechReduced;

/* functions.c: values of the newest evaluation */
typedef struct {
  double *f, *b; /* [nu], [m] */
  int is_block;  /* M and A are dense and follow b in memory, so that one loop clears all. */
  size_t length; /* of f and all that follows it in memory */
  /* M and A are such a block, the model has f, b and A and no udot, and there are no motions and no
   * forces that depend on multipliers. */
  int are_plain;
} CPMechTerms;

typedef struct {
  double *rhs, *rhs_b, *known, *residual, *a, *lambda;
  const char *off; /* the rows.off that kkt was given; NULL if it may have changed since */
} CPMechSolveRoom;

/* multipliers.c: forces that depend on multipliers */
typedef struct {
  CPUserMat Fl; /* nu x na, of one force; */
  CPMat sum;    /* of all; both are empty unless all derivatives are given */
  double *f, *before, *a, *next, *step, *zero, *J;
  int *pivot;
} CPMechMultipliers;

/* rhs.c: the states at which accelerations are evaluated; work, y and w are NULL before the first
 * projection */
typedef struct {
  double *lambda;
  double t, *q; /* the newest state */
  int left_out; /* quadratures that Newton's iteration leaves out, while it runs */
  double start; /* a run starts there, and the accelerations have not been evaluated; or NaN */
  /* [m] maxima so far of the squared lengths that are a by-product of factorisations (CPSaddle_), and
   * that of all */
  double *longest, longest_of_all;
  double *largest;                 /* maxima so far of the entries of A */
  double *largest_of_row, *square; /* [m] those of its rows; workspace */
  double part; /* the least ratio of a row of A to its maximum, at factorisation nkkt */
  long int nkkt;
  /* an angle between constraints was narrower than usual at the end of the last step */
  int narrows;
  CPWork work;
  N_Vector y, w;
  int all_on_manifold;             /* the argument of the last call of cpMechOnManifold */
  int was_needed;                  /* f on the manifold, since that call */
  double least_sine, largest_sine; /* of the narrowest angles since that call */
} CPMechStage;

/* functions.c, kinematics.c */
typedef struct {
  double *q_full, *u_full, *force, *q_moved, *qdot;
  double *unit; /* [nu] zeros between calls */
  double *rest; /* [nu] */
  double *q_near, *column,
      *one;      /* for differences that form A: [nq], [nq], [nu] zeros between calls */
  int is_moving; /* p depends on t, at the newest b */
  double *reach; /* [nu] how far columns of A move positions, relative to a part; 0: not known yet */
  CPMechDifferences dp, dv, dA, dN;
} CPMechFunctionRoom;

/* ---- the model, which does not change ---- */

/* The kinematic equations q' = N u: pairs and quaternions without the model's N, norms with it */
typedef struct {
  int *pair;    /* [nu] the coordinate i with q_i' = u_j; -1 if there is none */
  int in_order; /* q' = u */
  int are_all;  /* in_order, and there are no z and no motions */
  int nquaternions, nnorms;
  CPMechQuaternion *quaternions; /* ascending */
  CPUnitNorm *norms;
} CPMechCoordinates;

/* Prescribed motions */
typedef struct {
  int count;
  CPPrescribed *list;
  char *is_full; /* [nu] 1: u_j is prescribed by FULL */
  int nfull;
} CPMechMotionList;

/* Rows of A, whether they are on or off */
typedef struct {
  char *at_position, *at_velocity; /* [m] 1: row exists there */
  int count[2];                    /* rows of positions and of velocities */
  /* [m] numbers of the rows in a projection: positions, then velocities; -1: none */
  int *number[2];
} CPModelRows;

struct CPModel_ {
  atomic_int references;
  SUNContext ctx; /* of the matrices below */
  CPArena memory;
  CPEquations eq; /* sizes are complete; arrays and templates are copies, quaternions in the order of coordinates */
  int m;                              /* rows of A in all */
  int constant;                       /* M is `mass` */
  int operators;                      /* The model has udot instead of M and A. */
  CPUserMat mass, stiffness, damping; /* constants; empty if they are not given */
  CPMechCoordinates coords;
  CPMechMotionList motions;
  CPModelRows rows;
  CPMemo memo; /* what systems find out once */
};

/* ---- what changes ---- */

/* forces.c: the forces of CPMechAddForce */
typedef struct {
  CPMechForce *list; /* f is NULL after CPMechRemoveForce */
  int count, on_lambda;
  int own; /* number of those of the model's constant stiffness and damping, which come first: 0 or 1 */
} CPMechForceList;

/* Rows of A */
typedef struct {
  char *off;       /* [m] 1: switched off */
  long int layout; /* changes when rows are switched */
  size_t *place;   /* [entries of userA.A] indices of these entries in A; NULL if A is userA.A */
} CPMechRows;

typedef struct {
  CPKktLinSol linsol;
  CPMechMetric metric;
  long int metric_changes; /* calls of CPMechSetMetric */
  CPMechNewton newton_type;
  double tau;
  int group_norms;
} CPMechOptions;

/* attach/: the connection to the integrator */
typedef struct {
  int installed;                  /* 1: all functions and objects have been set in the integrator */
  SUNNonlinearSolver fixed_point; /* the solver for Adams methods, or NULL if another one is used */
  int cause; /* newest failure in a callback of CVODES: 0, or a code of either sign */
} CPMechAttached;

struct CPMech_ {
  CPIntegrator host; /* the integrator that it is attached to, or NULL; the first member (CPSystem) */
  SUNContext ctx;
  CPArena memory, set_up; /* what lives as long as the system; what cpMechSetUp allocates */
  CPModel model;          /* and, of it, in short: */
  const CPEquations *eq;
  const CPMechCoordinates *coords;
  const CPMechMotionList *motions;
  int nq, nu, nz, n; /* n: length of y */
  int np, nv, na;    /* rows of the equations */
  int m;             /* rows of A in all */
  int operators;
  int ready; /* set up: matrices and workspace exist */
  N_Vector y_tmpl;
  void *user_data; /* CPMechSetUserData's, or the model's */
  void *data;      /* passed to the functions of the model (cpMechData) */
  CPLog log;
  CPMotionValue *motion; /* [motions->count] */
  CPMechForceList forces;
  CPMechRows rows;
  /* f, b and matrices of the newest evaluation */
  CPMechTerms terms;
  CPUserMat userM, userA; /* as the user gives them: nu x nu, na x nu */
  /* m x nu: userA.A and the rows of motions; shares the memory of userA.A if there are none */
  CPMat A;
  CPMechOptions options;
  /* accelerations.c: [M A^T; A 0] */
  CPSaddle kkt;
  CPMechReduced reduced;
  CPMechSolveRoom solve;
  CPMechMultipliers multipliers;
  CPMechStage stage;
  CPMechFunctionRoom room;
  const CPMechState *base; /* around which partial derivatives are being formed, or NULL */
  int base_asked;          /* a function has asked for it */
  /* users of the system */
  CPProjector P;
  /* M is not positive definite: the default metric is that of the error weights. */
  int not_definite;
  CPMechNewtonMem newton;
  struct CPMechShaky_ *shaky; /* shaky.c; NULL if no loop is known to rest in such a position */
  struct CPMechNear_ *near;   /* near.c; NULL if u' is not expected */
  struct CPMechImplicit_ *implicit; /* attach/implicit.c; NULL if no method needs it */
  struct CPMechSens_ *sens;         /* sensitivity/; NULL if there are none */
  CPMechAttached attached;
  char text[CP_TEXT_LENGTH]; /* the reason for the newest failure */
  CPMechStats stats;
};

/* Norm k: the norms of the quaternions come first, then the others. */
static inline int cpMechNumNorms(const CPMech mech) {
  return mech->coords->nquaternions + mech->coords->nnorms;
}
static inline CPUnitNorm cpMechNorm(const CPMech mech, int k) {
  if (k < mech->coords->nquaternions)
    return (CPUnitNorm){mech->coords->quaternions[k].first_q, 4, 1.0};
  return mech->coords->norms[k - mech->coords->nquaternions];
}

/* Finds the pointer that the functions of the model get now. Returns 0, or another value if there is none. */
static inline int cpMechData(CPMech mech) {
  if (mech->eq->current_data) return mech->eq->current_data(mech->user_data, &mech->data);
  mech->data = mech->user_data;
  return 0;
}
/* Calls a function of the model's with these arguments and the pointer: cpMechCall(mech, f, s->t, ...). */
#define cpMechCallFunction(mech, function, ...) \
  cpCallUser(&(mech)->log, cpMechData(mech) ? -1 : (function)(__VA_ARGS__, (mech)->data))
#define cpMechCall(mech, member, ...) cpMechCallFunction(mech, (mech)->eq->member, __VA_ARGS__)

/* ---- model.c ---- */
/* Takes a reference to the model. */
CPModel cpModelKeep(CPModel model);

/* ---- system.c ---- */
/* Replaces a template, which has been checked and stays the caller's, by a copy in mech's memory. Returns 0, or a code
 * that has been reported. */
int cpMechKeepTemplate(CPMech mech, SUNMatrix *tmpl, const char *name, const char *function);
/* Checks that mech is not NULL, and that none of its functions is being called. Returns 0, or a code
 * that has been reported. */
int cpMechUsable(CPMech mech, const char *function);
/* Checks in addition that a setter is called early enough, and not while the integrator steps. */
typedef enum { CP_MECH_ANYTIME, CP_MECH_BEFORE_USE, CP_MECH_BEFORE_ATTACH } CPMechWhen;
int cpMechOption(CPMech mech, CPMechWhen when, const char *function);
/* Returns a copy of array [count] in mech's memory with room for one more entry, or array itself if
 * it has that room. Without memory, this is reported and NULL is returned. */
void *cpMechGrow(CPMech mech, void *array, int count, size_t size, const char *function);
/* Reports a failure, whose reason is in mech->text, and returns its negative code; returns 0 if
 * flag is 0. */
int cpMechReport(CPMech mech, int flag, const char *function);
/* Creates rows, matrices and workspace according to the options, once, before the first use.
 * Returns 0, or a code that has been reported. */
int cpMechSetUp(CPMech mech, const char *function);
void cpMechTearDown(CPMech mech);
/* Checks that v, which messages call `name`, is a finite vector of the length of y with accessible
 * data. Returns 0, or a code that has been reported. */
int cpMechCheckVector(CPMech mech, N_Vector v, const char *name, const char *function);
/* The same for a state y, and sets the system up if that has not been done. */
int cpMechCheckState(CPMech mech, N_Vector y, const char *function);

/* ---- functions.c: calls the user's functions and checks their results. Functions return 0, or a
 * code (positive if recoverable) with the reason in mech->text. ---- */
/* Evaluates the motions at s->t. With FULL motions, s->q and s->u become copies with the prescribed
 * values, in workspace that lasts until the next call. */
int cpMechReadMotions(CPMech mech, CPMechState *s);
static inline int cpMechRead(CPMech mech, sunrealtype t, const sunrealtype *y, CPMechState *s) {
  *s = (CPMechState){.t = t, .q = y, .u = y + mech->nq, .z = y + mech->nq + mech->nu};
  return mech->motions->count > 0 ? cpMechReadMotions(mech, s) : CP_SUCCESS;
}
/* Converts what a user's function returned to a code. */
int cpMechResult(CPMech mech, int flag, sunrealtype t, const char *name);
/* As cpMechResult; if flag is 0, an entry of x is not finite, and -CP_MECH_NONFINITE is
 * returned. */
int cpMechWrong(CPMech mech, int flag, sunrealtype t, const char *name, const double *x);
/* Checks a user's function that returned flag and filled x [length]. Returns 0, a code, or
 * -CP_MECH_NONFINITE. */
static inline int cpMechChecked(CPMech mech, int flag, sunrealtype t, const char *name,
                                const double *x, int length) {
  return !flag && cpAllFinite(x, length) ? CP_SUCCESS : cpMechWrong(mech, flag, t, name, x);
}
/* Checks a user's function that returned flag and filled a matrix, and takes the matrix over into
 * U->A. Returns 0 or a code. */
int cpMechTake(CPMech mech, CPUserMat *U, int flag, sunrealtype t, const char *name);
/* Evaluate M into userM.A, and A into mech->A. */
int cpMechMass(CPMech mech, sunrealtype t, const sunrealtype *q);
int cpMechA(CPMech mech, sunrealtype t, const sunrealtype *q);
int cpMechForces(CPMech mech, const CPMechState *s, double *f);
/* r <- M a - f by the model's inverse dynamics */
int cpMechInverse(CPMech mech, const CPMechState *s, const double *a, double *r);
int cpMechPositions(CPMech mech, sunrealtype t, const sunrealtype *q, double *p);
/* Without a function v, but with A, v = A u + dp/dt evaluates mech->A at q. */
int cpMechVelocities(CPMech mech, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                     double *v);
/* rates [m] <- v - A u, which does not depend on u; evaluates mech->A at q. For models with
 * matrices and without a function v. p: p(t, q) if it is known, which saves evaluations, or NULL */
int cpMechRates(CPMech mech, sunrealtype t, const sunrealtype *q, const double *p, double *rates);
/* Without a function b, differences may overwrite mech->A with values near q. */
int cpMechB(CPMech mech, const CPMechState *s, double *b);
/* Evaluates f and b into mech->terms, and M and A as above, whose entries are not tested. If one is not
 * finite, u' or the multipliers are not finite, or the factorisation fails, and cpMechTestTerms finds
 * the function at fault. */
int cpMechEvaluate(CPMech mech, const CPMechState *s);
int cpMechTestTerms(CPMech mech, sunrealtype t);
/* 1 and an entry of M that differs from its mirror image by more than tolerance times the largest entry; or 0. */
int cpMechAsymmetric(const CPMat *M, double tolerance, int *i, int *j);
/* Is the newest userM, of which factors use one triangle, symmetric? It is tested at the factorisations 1, 2, 4,
 * 8, ..., since entries may vanish at the start. */
static inline int cpMechIsMassTested(const CPMech mech) {
  return !(mech->stats.nkkt & (mech->stats.nkkt + 1));
}
int cpMechTestMass(CPMech mech, sunrealtype t);
int cpMechAuxiliary(CPMech mech, const CPMechState *s, const double *lambda, double *zdot);
/* Sets the entries of FULL motions, which are not unknowns, in q and u to their prescribed values.
 * Returns whether an entry has changed. */
int cpMechPutFull(CPMech mech, sunrealtype *q, sunrealtype *u);
/* Sets the entries of FULL motions in q' and u' to g' and g''. */
void cpMechPutFullRates(const CPMech mech, sunrealtype *qdot, sunrealtype *udot);
/* y += c A x, or c A^T x if transposed. A has been evaluated, unless the model has products. */
int cpMechAddTimes(CPMech mech, const CPMechState *s, int transposed, double c, const double *x,
                   double *y);
/* Residuals of the implicit form at s with u' = a and lambda. F, B and Z may each be NULL.
 * F = f + f_lambda - M a - A^T lambda,  B = b - A a,  Z = zdot */
int cpMechForm(CPMech mech, const CPMechState *s, const double *a, const double *lambda, double *F,
               double *B, double *Z);
/* y [length] <- the product of x with the user's operator `function`, checked. */
int cpMechOperator(CPMech mech, CPMechTimesFn function, const char *name, sunrealtype t,
                   const sunrealtype *q, const double *x, double *y, int length);
/* Are products with A those of the user's operators? */
static inline int cpMechMultiplies(const CPMech mech) {
  return mech->operators || (mech->eq->inverse && mech->eq->Au);
}
/* y <- A x, or A^T x if transposed, by matrices or by the user's operators. */
int cpMechTimes(CPMech mech, sunrealtype t, const sunrealtype *q, int transposed, const double *x,
                double *y);

/* ---- differences.c ---- */
/* Evaluates g [rows] at e. s is the state at e = 0. */
typedef int (*CPMechAlong)(CPMech mech, const CPMechState *s, double e, double *g);
typedef enum { CP_FIRST, CP_SECOND } CPMechDerivative;
/* d->sixth <- dg/de, or d^2g/de^2. During a run the step depends on s alone, so that f is a function of (t, y): it is
 * first a part of `time`, and shrinks until both orders agree. It is a power of two, so that t + e is exact. size:
 * the size of the terms of g, which determines their roundoff. */
int cpMechDifferentiate(CPMech mech, const CPMechState *s, CPMechAlong g, int rows, double size,
                        double time, CPMechDerivative which, CPMechDifferences *d);

/* ---- forces.c ---- */
static inline int cpMechHasLambdaForces(const CPMech mech) {
  return mech->eq->f_lambda || mech->forces.on_lambda > 0;
}
/* f += the forces that depend on lambda, or those of CPMechAddForce that do not */
int cpMechAddForces(CPMech mech, const CPMechState *s, int on_lambda, const double *lambda,
                    double *f);
/* Adds the springs and dampers of the model. Returns 0 or CP_MEM_FAIL. */
int cpMechTakeSprings(CPMech mech);
/* Are they, with a constant M, all terms of the equations that depend on the state? */
int cpMechIsLinear(const CPMech mech);
/* Is there a force of CPMechAddForce without partial derivatives? */
int cpMechForcesByDifference(const CPMech mech);
/* f += one of CPMechAddForce's */
int cpMechAddForce(CPMech mech, const CPMechForce *force, const CPMechState *s,
                   const double *lambda, double *f);
/* Are the derivatives of all forces that depend on lambda given? Then Fl [nu x na, dense] <- their sum. */
int cpMechKnowsLambdaJac(const CPMech mech);
int cpMechLambdaJac(CPMech mech, const CPMechState *s, const double *lambda, CPMat *Fl);

/* ---- kinematics.c ---- */
int cpMechAnyKinematics(CPMech mech, const sunrealtype *q, CPMechKinematics what, const double *x,
                        double *y);
static inline int cpMechKinematics(CPMech mech, const sunrealtype *q, CPMechKinematics what,
                                   const double *x, double *y) {
  if (!mech->coords->in_order) return cpMechAnyKinematics(mech, q, what, x, y);
  for (int j = 0; j < mech->nu; j++) y[j] = x[j]; /* q' = u, as in most small systems */
  return CP_SUCCESS;
}
/* yd [n] contains u'; sets the rest of y': q', z', and the prescribed rates. */
static inline int cpMechOtherRates(CPMech mech, const CPMechState *s, const double *lambda,
                                   sunrealtype *yd) {
  sunrealtype *udot = yd + mech->nq;
  int flag          = cpMechKinematics(mech, s->q, CP_N, s->u, yd);
  if (!flag && mech->nz > mech->stage.left_out)
    flag = cpMechAuxiliary(mech, s, lambda, udot + mech->nu);
  for (int k = mech->nz - mech->stage.left_out; k < mech->nz; k++) udot[mech->nu + k] = 0.0;
  if (!flag && mech->motions->nfull > 0) cpMechPutFullRates(mech, yd, udot);
  return flag;
}
/* column [nq] <- N(q) e_j */
int cpMechColumn(CPMech mech, const sunrealtype *q, int j, double *column);
/* result <- q + N(q) w, not normalised. result must not overlap q or w. */
int cpMechMove(CPMech mech, const sunrealtype *q, const double *w, double *result);
/* Returns the largest |q_i| that is not in a quaternion, whose size 1 says nothing about lengths, which may be
 * micrometres. */
double cpMechLargestCoordinate(const CPMech mech, const double *q);
/* Normalises quaternions and norms in place. Returns 0 or -CP_QUATERNION_ZERO. */
int cpMechNormalise(CPMech mech, sunrealtype t, double *q);

/* ---- rhs.c ---- */
/* Solves for a [nu] and lambda [m] at s. */
int cpMechSolve(CPMech mech, const CPMechState *s, double *a, double *lambda);
int cpMechOnManifold(void *mech, int all);     /* CPSystem's on_manifold */
int cpMechStageSine(void *mech, double *sine); /* CPSystem's sine */
void cpMechStageFree(CPMech mech);

/* ---- accelerations.c ---- */
/* As cpMechSolve, with the newest f, b, M and A, which must be those at s. */
int cpMechSolveTerms(CPMech mech, const CPMechState *s, double *a, double *lambda);
/* Does udot, given in addition to M, describe the whole system, with no row off and no motion? */
int cpMechKnowsUdot(const CPMech mech);
/* As cpMechSolve, but by the model's udot if cpMechKnowsUdot. */
int cpMechAccelerate(CPMech mech, const CPMechState *s, double *a, double *lambda);
/* Evaluates u' and lambda by the model's function udot. Returns 0 or a code. */
int cpMechUdot(CPMech mech, const CPMechState *s, double *a, double *lambda);
/* multipliers.c: iterates a and lambda with forces that depend on lambda. f: the other forces; b:
 * right-hand side of A a = b. */
int cpMechIterate(CPMech mech, const CPMechState *s, const double *f, const double *b, double *a,
                  double *lambda);
/* f -= M known, b -= A known, where known [nu] is zero except in FULL motions; there f_j = known_j.
 * M and A are those of the newest evaluation. */
void cpMechMoveKnown(CPMech mech, const double *known, double *f, double *b);
/* Solves M a + A^T lambda = f, A a = b with the stored factors, and with the prescribed
 * accelerations of FULL motions. Returns the recoverable -CP_KKT_INCONSISTENT or
 * -CP_MOTION_CONFLICT if the b of a dependent row contradicts the other rows. */
int cpMechKkt(CPMech mech, sunrealtype t, const double *f, const double *b, double *a,
              double *lambda);
/* Factors the KKT matrix at (t, q) for problems with given f and b, to be solved by
 * cpSaddleSolve(mech->kkt). FULL motions are held as in CPMechReduced. */
int cpMechFactor(CPMech mech, sunrealtype t, const sunrealtype *q);

/* ---- near.c: accelerations near expected ones, by inverse dynamics ---- */
/* Returns 0, also if the model does not allow that, or CP_MEM_FAIL. */
int cpMechNearCreate(CPMech mech);
void cpMechExpect(N_Vector ydot, N_Vector ewt, sunrealtype gamma, sunrealtype tol,
                  void *mech); /* CPSystem's expect */
/* Is this evaluation of the right-hand side to be near expected accelerations? The next one is not, unless it is
 * expected, too. */
int cpMechTakeExpected(CPMech mech);
/* As cpMechSolve, with the accuracy that is expected. */
int cpMechAccelerateNear(CPMech mech, const CPMechState *s, double *a, double *lambda);
/* Factors M and A at a state with these multipliers, if such evaluations take place. */
void cpMechNearFactor(CPMech mech, const CPMat *M, const CPMat *A, const double *lambda);
void cpMechNearFree(CPMech mech);

/* ---- motions.c: prescribed motions ---- */
/* Evaluates value, rate and curvature of all motions at t. Returns 0, or a code with the reason in
 * mech->text. The values are not cached, because data of the user's functions may change at the
 * same t (a kink). */
int cpMechMotions(CPMech mech, sunrealtype t);
/* The name of row i of A in messages: the model's, "constraint 2", or "the prescribed motion of
 * coordinate 0". */
#define CP_MECH_ROW_NAME 256 /* and for CP_NAME_STATE CP_TEXT_LENGTH */
const char *cpMechRowName(const CPMech mech, int i, char name[CP_MECH_ROW_NAME]);
/* The same for another question; name is empty if the model has no answer. */
void cpMechAskName(const CPMech mech, CPMechName what, int i, sunrealtype t,
                   char name[CP_MECH_ROW_NAME]);
/* limit.c: CPSystem's limit */
int cpMechLimit(sunrealtype t, N_Vector y, char *text, void *mech);
/* shaky.c: Are loops at rest at s, the start of a run, in a shaky position, where the accelerations a (of the newest
 * solution, which returned flag) lead to no motion? Returns 0, or CP_KKT_INCONSISTENT or CP_MEM_FAIL with the reason
 * in mech->text, or flag, with what the model knows about the state. */
int cpMechShakyStart(CPMech mech, const CPMechState *s, const double *a, int flag);
/* The same at the end of a step, for loops that have rested there since the start (CPSystem's accepted). */
int cpMechShakyStep(sunrealtype t, N_Vector y, void *mech);
void cpMechShakyFree(CPMech mech);
/* "; prescribed are the coordinates 0, 3", or an empty text without motions. Messages about
 * contradictions append it, because FULL motions have no row of A that could be named. */
#define CP_MECH_MOTIONS 80
const char *cpMechMotionNames(const CPMech mech, char names[CP_MECH_MOTIONS]);

/* ---- projection/: the projector ---- */
int cpMechProjectorCreate(CPMech mech);
/* Returns the metric in use, which replaces DEFAULT, and NEWTON as long as there is no matrix. */
CPMechMetric cpMechMetricInUse(const CPMech mech);
/* Projects y from a poor guess, in the metric of ewt. Components with id [n] = 0 are held; if id is
 * NULL, none is. Returns 0, or a code with the reason in mech->text. */
int cpMechAssemble(CPMech mech, sunrealtype t, N_Vector y, N_Vector ewt, const sunrealtype *id);

/* ---- attach/ ---- */
/* Detaches the system from its integrator; called when either of them is freed. */
void cpMechDetach(void *mech);
/* Creates the system in implicit form. Returns 0, or a code with the reason in mech->text. */
int cpMechImplicitAttach(CPMech mech, const CPImplicitSystem **system);
void cpMechImplicitFree(struct CPMechImplicit_ **implicit);

/* ---- sensitivity/ ---- */
extern const CPSensSystem cpMechSensModel;
void cpMechSensFree(struct CPMechSens_ **sens);
/* Keeps udot [nu] and lambda [m], for which the right-hand side has solved at (t, y), because
 * CVODES evaluates sensitivities at the same state next. */
void cpMechSensKeep(CPMech mech, sunrealtype t, const sunrealtype *y, const sunrealtype *udot,
                    const sunrealtype *lambda);

/* ---- newton/newton.c: the linear solver of Newton's iteration ---- */

/* For CPSystem. */
int cpMechLeaveQuadratures(int on, void *data);
int cpMechQuadratures(sunrealtype t, N_Vector y, void *data);
/* Creates matrix and linear solver by mech->options.newton_type, and passes them to the
 * integrator. */
int cpMechNewtonAttach(CPMech mech, CPIntegrator mem);
/* Forms the iteration matrix (linsys of CPSystem). */
int cpMechLinearSystem(sunrealtype t, N_Vector y, sunbooleantype jok, sunbooleantype *jcur,
                       sunrealtype gamma, void *mech);
void cpMechNewtonFree(CPMechNewtonMem *newton);
/* Returns gamma of the newest iteration matrix, or 0 if there is none. t: out, the time of its
 * partial derivatives. */
double cpMechNewtonGamma(const CPMech mech, sunrealtype *t);
/* W <- the symmetric part of M - gamma C - gamma^2 K T of the newest iteration matrix. W has the
 * pattern of cpMechNewtonPattern. Returns 1 if there is no matrix yet. */
int cpMechNewtonMetric(CPMech mech, CPMat *W);
/* Creates W with its symmetrised pattern, or dense if there is no sparse Newton matrix. Returns 0
 * or CP_MEM_FAIL. */
int cpMechNewtonPattern(CPMech mech, CPMat *W);

#endif
