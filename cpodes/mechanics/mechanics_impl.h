/* Inside of CPMech.
 *
 * Rows of constraints have one numbering, that of A: 0 ... na - 1 the model's, then a row for each
 * motion prescribed by DIRECT or RATE; m rows in all. p, v and b are arrays of length m; entries of
 * rows that do not exist at that level (at_position, at_velocity) are zero.
 *
 * Letters: q [nq], u [nu], z [nz], a = u' [nu], lambda [m]; s: a state with its time. */
#ifndef CPODES_MECHANICS_IMPL_H
#define CPODES_MECHANICS_IMPL_H

#include "cpodes/base/compat.h"
#include "cpodes/base/differences.h"
#include "cpodes/base/random.h"
#include "cpodes/projector/projection.h"
#include "cpodes/saddle/saddle.h"
#include "cpodes/stepping/system.h"

#include <cpodes/cpodes_mechanics.h>

typedef struct CPMechNewton_ *CPMechNewtonMem; /* newton/ */
typedef struct CPMechLinear_ *CPMechLinear;    /* linear.c */

/* Defaults of CPMechSetMultiplierTol. */
#define CP_LAMBDA_RTOL     1.0e-12
#define CP_LAMBDA_ATOL     1.0e-14
#define CP_LAMBDA_MAXITERS 50

/* A state (q, u, z) at time t. Coordinates of FULL motions have their prescribed values. */
typedef struct {
  sunrealtype t;
  const sunrealtype *q, *u, *z;
} CPMechState;

typedef struct {
  int first_q, first_u;
  CPFrame frame;
} CPQuaternion;

/* q_i(t) = g(t) */
typedef struct {
  int i, j; /* coordinate, and its velocity */
  CPMotion how;
  CPMotionFn g, gd, gdd;
  double step;
  void *data;
  int row;                       /* of A; -1: FULL */
  double value, rate, curvature; /* g, g', g'' at the time asked for last */
} CPPrescribed;

/* Arrays of a derivative by central differences of sixth order. */
typedef struct {
  double *plus, *minus, *fourth, *sixth;
} CPMechDifferences;

typedef struct {
  CPMat M, A; /* with the identity in rows and columns of FULL motions; empty if there are none */
} CPMechReduced;

/* functions.c: what the model's functions filled last */
typedef struct {
  double *f, *b; /* [nu], [m] */
  int is_block;  /* M and A are dense and lie behind b, so that one loop clears all. */
  size_t length; /* of f with all that lies behind it */
} CPMechTerms;

typedef struct {
  double *rhs, *rhs_b, *known, *residual, *a, *lambda;
  const char *off; /* rows.off as kkt knows it; NULL if that may have changed */
} CPMechSolveRoom;

/* multipliers.c: forces that depend on multipliers */
typedef struct {
  double rtol, atol;
  int maxiters;
  CPUserMat Fl; /* nu x na */
  double *f, *before, *a, *next, *step, *zero, *J;
  int *pivot;
} CPMechMultipliers;

/* rhs.c: states where accelerations are taken; work and vectors are NULL before the first projection */
typedef struct {
  double *lambda;
  double t, *q; /* the newest state */
  /* lengths of the rows of A, squared, at the factors number nkkt and at most; the least ratio of lengths */
  double *length, *longest, greatest, part; /* greatest: of longest */
  long int nkkt;
  int narrows; /* an angle between constraints was narrower than usual where the last step ended */
  CPWork work;
  N_Vector y, w;
  int all_on_manifold;             /* as cpMechOnManifold was told */
  double least_sine, largest_sine; /* of the saddle since then */
} CPMechStage;

/* functions.c, kinematics.c */
typedef struct {
  double *q_full, *u_full, *f_lambda, *q_moved, *qdot;
  double *unit; /* [nu] zeros between calls */
  double *q_near, *column,
      *one; /* of differences that make A: [nq], [nq], [nu] zeros between calls */
  CPMechDifferences dp, dv, dA;
} CPMechFunctionRoom;

/* How coordinates follow from velocities, beside the model's N */
typedef struct {
  int *pair;     /* [nu] the coordinate i with q_i' = u_j; -1 if there is none */
  int is_paired; /* pair belongs to the quaternions that there are */
  int in_order;  /* q' = u */
  int nquaternions, nnorms;
  CPQuaternion *quaternions; /* ascending */
  int end_q, end_u;          /* the first components behind all of them */
  CPUnitNorm *norms;
} CPMechCoordinates;

/* Prescribed motions */
typedef struct {
  int count;
  CPPrescribed *list;
  char *is_full; /* [nu] 1: u_j is prescribed by FULL */
  int nfull;
} CPMechMotionList;

/* Rows of A */
typedef struct {
  char *off;                       /* [m] 1: switched off */
  char *at_position, *at_velocity; /* [m] 1: row exists there, and is on or off */
  long int layout;                 /* changes when rows are switched */
  int count[2];                    /* rows of positions and of velocities */
  int *number[2]; /* [m] their numbers among all rows of a projection: positions, then velocities; -1: none */
  size_t *place; /* [entries of userA.A] their place in A, or NULL if that is userA.A */
} CPMechRows;

typedef struct {
  CPKktLinSol linsol;
  CPMechMetric metric;
  long int metric_changes; /* calls of CPMechSetMetric */
  CPMechNewton newton_type;
  double tau, difference_time;
  int *z_order; /* [nz] or NULL */
  int group_norms;
  int maxord;
} CPMechOptions;

/* attach/: with the integrator */
typedef struct {
  int installed;                  /* everything of ours is in the integrator's memory */
  SUNNonlinearSolver fixed_point; /* the solver for Adams methods; NULL with another one */
  int cause; /* newest failure inside a callback of CVODES': 0 or a code, either sign */
} CPMechAttached;

struct CPMech_ {
  CPStepper host; /* the integrator that it is attached to, or NULL; the first member (CPSystem) */
  SUNContext ctx;
  CPArena memory, set_up; /* what lives as long as the system; what cpMechSetUp makes */
  CPMechModel model;      /* its templates are copies */
  int nq, nu, nz, n;      /* n: length of y */
  int np, nv, na;         /* rows of the model */
  int m;                  /* rows of A in all */
  int ready;              /* set up: sizes, rows and matrices are final */
  int operators;          /* The model has udot instead of M and A. */
  N_Vector y_tmpl;
  void *user_data;     /* handed to the functions of the model */
  CPMechLinear linear; /* If not NULL, user_data is this object, and the user's pointer is in it. */
  CPLog log;
  CPMechCoordinates coords;
  CPMechMotionList motions;
  CPMechRows rows;
  /* f, b and matrices of the newest evaluation */
  CPMechTerms terms;
  CPUserMat userM, userA; /* as the user gives them: nu x nu, na x nu */
  CPMat A; /* m x nu: userA.A and the rows of motions; with its memory if there are none */
  CPMechOptions options;
  /* accelerations.c: [M A^T; A 0] */
  CPSaddle kkt;
  CPMechReduced reduced;
  CPMechSolveRoom solve;
  CPMechMultipliers multipliers;
  CPMechStage stage;
  CPMechFunctionRoom room;
  /* use */
  CPProjector P;
  int not_definite; /* M is not: the default metric is that of the error weights. */
  CPMechNewtonMem newton;
  struct CPMechImplicit_ *implicit; /* attach/implicit.c; NULL if no method asks for it */
  struct CPMechSens_ *sens;         /* sensitivity/; NULL if none are taken */
  CPMechAttached attached;
  char text[CP_TEXT_LENGTH]; /* the reason of the newest failure */
  CPMechStats stats;
};

/* Norm k of all: those of the quaternions, then the others. */
static inline int cpMechNumNorms(const CPMech mech) {
  return mech->coords.nquaternions + mech->coords.nnorms;
}
static inline CPUnitNorm cpMechNorm(const CPMech mech, int k) {
  if (k < mech->coords.nquaternions)
    return (CPUnitNorm){mech->coords.quaternions[k].first_q, 4, 1.0};
  return mech->coords.norms[k - mech->coords.nquaternions];
}

/* ---- system.c ---- */
/* Is a setter's argument there, and is it early enough? 0, or a code, reported. */
typedef enum { CP_MECH_ANYTIME, CP_MECH_BEFORE_USE, CP_MECH_BEFORE_ATTACH } CPMechWhen;
int cpMechOption(CPMech mech, CPMechWhen when, const char *function);
/* A copy of array [count] in mech's memory with room for one more entry, or array itself if it has that. If there is no
 * memory, this is reported, and the result is NULL. */
void *cpMechGrow(CPMech mech, void *array, int count, size_t size, const char *function);
/* Reports the failure flag, whose reason is in mech->text, and returns its code, which is negative. */
int cpMechReport(CPMech mech, int flag, const char *function);
/* Brings sizes, rows and matrices in line with the options; once, before the first use. Reported. */
int cpMechSetUp(CPMech mech, const char *function);
void cpMechTearDown(CPMech mech);
/* y: vector of the right length with data? set up? 0, or a code, reported. */
int cpMechCheckState(CPMech mech, N_Vector y, const char *function);

/* ---- functions.c: the user's functions, checked. 0, or a code (positive recoverable) with the
 * reason in mech->text. ---- */
/* The state in y; FULL motions put in (into workspace that lasts until the next call). */
int cpMechReadMotions(CPMech mech, CPMechState *s);
static inline int cpMechRead(CPMech mech, sunrealtype t, const sunrealtype *y, CPMechState *s) {
  *s = (CPMechState){.t = t, .q = y, .u = y + mech->nq, .z = y + mech->nq + mech->nu};
  return mech->motions.count > 0 ? cpMechReadMotions(mech, s) : CP_SUCCESS;
}
/* What a user's function returned, as a code. */
int cpMechResult(CPMech mech, int flag, sunrealtype t, const char *name);
/* The same where that is a success but x is not finite. */
int cpMechWrong(CPMech mech, int flag, sunrealtype t, const char *name, const double *x);
/* Of a user's function that returned flag and filled x [length]: 0, a code, or -CP_MECH_NONFINITE. */
static inline int cpMechChecked(CPMech mech, int flag, sunrealtype t, const char *name,
                                const double *x, int length) {
  return !flag && cpAllFinite(x, length) ? CP_SUCCESS : cpMechWrong(mech, flag, t, name, x);
}
/* The matrix that a user's function which returned flag has filled, into U->A: 0 or a code. */
int cpMechTake(CPMech mech, CPUserMat *U, int flag, sunrealtype t, const char *name);
/* M into userM.A; A into mech->A. */
int cpMechMass(CPMech mech, sunrealtype t, const sunrealtype *q);
int cpMechA(CPMech mech, sunrealtype t, const sunrealtype *q);
int cpMechForces(CPMech mech, const CPMechState *s, double *f);
/* f += the forces that depend on lambda */
int cpMechAddLambdaForces(CPMech mech, const CPMechState *s, const double *lambda, double *f);
int cpMechPositions(CPMech mech, sunrealtype t, const sunrealtype *q, double *p);
/* p of the model only, without rows of motions, which may be asked for at the time of the state alone. */
int cpMechModelPositions(CPMech mech, sunrealtype t, const sunrealtype *q, double *p);
/* May evaluate A (v = A u + dp/dt): mech->A is then that of q. */
int cpMechVelocities(CPMech mech, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                     double *v);
/* rates [m] <- v - A u, which u does not enter, and mech->A of q. For models with matrices and without v. */
int cpMechRates(CPMech mech, sunrealtype t, const sunrealtype *q, double *rates);
/* May evaluate A near q: mech->A is then of no use. */
int cpMechB(CPMech mech, const CPMechState *s, double *b);
/* f and b into mech->terms, M and A as above. Entries of f and b are not tested, nor those of dense M and A: what is not finite
 * makes u' or the multipliers so, or the factorisation tells, and cpMechTestTerms says which function it was. */
int cpMechEvaluate(CPMech mech, const CPMechState *s);
int cpMechTestTerms(CPMech mech, sunrealtype t);
int cpMechAuxiliary(CPMech mech, const CPMechState *s, const double *lambda, double *zdot);
/* FULL motions are no unknowns: whatever q, u hold, they get the prescribed values. Have they changed? */
int cpMechPutFull(CPMech mech, sunrealtype *q, sunrealtype *u);
/* The same of q' and u'. */
void cpMechPutFullRates(const CPMech mech, sunrealtype *qdot, sunrealtype *udot);
/* The residuals of the implicit form at s, with u' = a and lambda; each of them may be NULL:
 * F = f + f_lambda - M a - A^T lambda,  B = b - A a,  Z = zdot */
int cpMechForm(CPMech mech, const CPMechState *s, const double *a, const double *lambda, double *F,
               double *B, double *Z);
/* y [length] = function x: a product of the user's, checked. */
int cpMechOperator(CPMech mech, CPMechTimesFn function, const char *name, sunrealtype t,
                   const sunrealtype *q, const double *x, double *y, int length);
/* Products, by matrices or by the user's operators. */
int cpMechATimes(CPMech mech, sunrealtype t, const sunrealtype *q, const double *x, double *y);
int cpMechATransposedTimes(CPMech mech, sunrealtype t, const sunrealtype *q, const double *x,
                           double *y);

/* ---- kinematics.c ---- */
int cpMechAnyKinematics(CPMech mech, const sunrealtype *q, CPMechKinematics what, const double *x,
                        double *y);
static inline int cpMechKinematics(CPMech mech, const sunrealtype *q, CPMechKinematics what,
                                   const double *x, double *y) {
  if (!mech->coords.in_order) return cpMechAnyKinematics(mech, q, what, x, y);
  for (int j = 0; j < mech->nu; j++) y[j] = x[j]; /* which is what most small systems have */
  return CP_SUCCESS;
}
/* yd [n] contains u' and gets the rest of y': q', z', and the prescribed rates. */
static inline int cpMechOtherRates(CPMech mech, const CPMechState *s, const double *lambda,
                                   sunrealtype *yd) {
  sunrealtype *udot = yd + mech->nq;
  int flag          = cpMechKinematics(mech, s->q, CP_N, s->u, yd);
  if (!flag && mech->nz > 0) flag = cpMechAuxiliary(mech, s, lambda, udot + mech->nu);
  if (!flag && mech->motions.nfull > 0) cpMechPutFullRates(mech, yd, udot);
  return flag;
}
/* column [nq] <- N(q) e_j */
int cpMechColumn(CPMech mech, const sunrealtype *q, int j, double *column);
/* result <- q + N(q) w, not normalised; apart. */
int cpMechMove(CPMech mech, const sunrealtype *q, const double *w, double *result);
/* mech->coords.pair, from the quaternions, unless it is. */
void cpMechPair(CPMech mech);
/* Normalises quaternions and norms in place; 0 or -CP_QUATERNION_ZERO. */
int cpMechNormalise(CPMech mech, sunrealtype t, double *q);

/* ---- accelerations.c ---- */
/* a [nu] and lambda [m] at s. */
int cpMechSolve(CPMech mech, const CPMechState *s, double *a, double *lambda);
/* Does the model's udot, beside M, know all there is: no row off, no motion? */
int cpMechKnowsUdot(const CPMech mech);
/* The same for y', by the model's udot where that knows all there is. */
int cpMechAccelerate(CPMech mech, const CPMechState *s, double *a, double *lambda);
/* u' by the model's function udot. Returns 0 or a code. */
int cpMechUdot(CPMech mech, const CPMechState *s, double *a, double *lambda);
/* Forces that depend on multipliers: iterates lambda and a; f the other forces, b: right-hand side.
 * (multipliers.c) */
int cpMechIterate(CPMech mech, const CPMechState *s, const double *f, const double *b, double *a,
                  double *lambda);
/* f, b less the columns of FULL motions, whose known [nu] is not zero; f_j = known_j there. A, M as
 * evaluated last. */
void cpMechMoveKnown(CPMech mech, const double *known, double *f, double *b);
/* M a + A^T lambda = f, A a = b with the factors at hand; FULL motions taken care of. Dependent rows
 * whose b contradicts the others': +CP_KKT_INCONSISTENT (as a positive code). */
int cpMechKkt(CPMech mech, sunrealtype t, const double *f, const double *b, double *a,
              double *lambda);
/* Factors of the KKT matrix at (t, q), for linear problems with given f and b: cpSaddleSolve(mech->kkt).
 * Columns of FULL motions are the identity's there. */
int cpMechFactor(CPMech mech, sunrealtype t, const sunrealtype *q);

/* ---- motions.c: prescribed motions ---- */
/* Velocity and row of each motion, is_full, nfull: from cpMechSetUp, once the pairs are known. 0, or
 * CP_ILL_INPUT, reported for function. */
int cpMechMotionsSetUp(CPMech mech, const char *function);
/* value, rate, curvature of all motions at t. 0, or a code with the reason in mech->text. Not kept
 * from call to call: data of the user's functions may have changed at the same t (a kink). */
int cpMechMotions(CPMech mech, sunrealtype t);
/* "constraint 2", "the prescribed motion of coordinate 0": row i of A, for messages */
#define CP_MECH_ROW_NAME 64
const char *cpMechRowName(const CPMech mech, int i, char name[CP_MECH_ROW_NAME]);
/* "; prescribed are the coordinates 0, 3", or nothing: more for messages of contradictions, which rows
 * of A do not tell where a motion is FULL */
#define CP_MECH_MOTIONS 80
const char *cpMechMotionNames(const CPMech mech, char names[CP_MECH_MOTIONS]);

/* ---- linear.c: what CPMechCreateLinear's system hands to its own functions ---- */
/* CPMechSetUserData calls this if mech->linear is set; CPMechFree frees it. */
struct CPMechLinear_ {
  CPUserMat M, C, K; /* copies; C empty: there is none */
  CPMechForceFn f;   /* the user's, or NULL */
  void *user_data;   /* the user's */
};
void cpMechLinearFree(CPMechLinear *linear);

/* ---- rhs.c ---- */
int cpMechOnManifold(void *mech, int all);     /* CPSystem's on_manifold */
int cpMechStageSine(void *mech, double *sine); /* CPSystem's sine */
void cpMechStageFree(CPMech mech);

/* ---- projection/: the projector ---- */
int cpMechProjectorCreate(CPMech mech);
/* The metric that stands for DEFAULT, and for NEWTON without a matrix. */
CPMechMetric cpMechMetricInUse(const CPMech mech);
/* y from a poor guess, in the metric of ewt. id [n] is zero where y is held; if NULL, nothing is. 0, or a code with the
 * reason in mech->text. */
int cpMechAssemble(CPMech mech, sunrealtype t, N_Vector y, N_Vector ewt, const sunrealtype *id);

/* ---- attach/ ---- */
/* The integrator is gone. */
void cpMechDetach(void *mech);
/* The system in implicit form. 0, or a code with the reason in mech->text. */
int cpMechImplicitAttach(CPMech mech, const CPImplicitSystem **system);
void cpMechImplicitFree(struct CPMechImplicit_ **implicit);

/* ---- sensitivity/ ---- */
extern const CPSensSystem cpMechSensModel;
void cpMechSensFree(struct CPMechSens_ **sens);
/* The right-hand side has solved for udot [nu] and lambda [m] at (t, y): CVODES asks for sensitivities at the
 * same state next. */
void cpMechSensKeep(CPMech mech, sunrealtype t, const sunrealtype *y, const sunrealtype *udot,
                    const sunrealtype *lambda);

/* ---- newton/newton.c: the linear solver of Newton's iteration ---- */
/* Creates matrix and linear solver by mech->options.newton_type and gives them to the integrator. */
int cpMechNewtonAttach(CPMech mech, CPodeMem mem);
/* Its matrix (CPSystem). */
int cpMechLinearSystem(sunrealtype t, N_Vector y, sunbooleantype jok, sunbooleantype *jcur,
                       sunrealtype gamma, void *mech);
void cpMechNewtonFree(CPMechNewtonMem *newton);
/* Symmetric part of W = M - gamma C - gamma^2 K of the newest iteration matrix, into W, which has its
 * pattern (cpMechNewtonPattern). 1: there is none yet. */
int cpMechNewtonMetric(CPMech mech, CPMat *W);
/* Pattern of W, symmetrised: 0 or CP_MEM_FAIL; dense if there is no sparse Newton matrix. */
int cpMechNewtonPattern(CPMech mech, CPMat *W);

#endif
