/* A mechanical system: what changes. Its model, which does not, is in model.h; the other headers of this folder declare
 * what the files of these names do.
 *
 * Constraints are numbered as the rows of A: rows 0 ... na - 1 are the model's, and one row follows
 * for each motion prescribed by DIRECT or RATE, m rows in all. p, v and b are arrays of length m;
 * entries of rows that do not exist at that level (at_position, at_velocity) are zero.
 *
 * Letters: q [nq], u [nu], z [nz], a = u' [nu], lambda [m]; s is a state with its time. */
#ifndef CPODES_MECHANICS_MECH_H
#define CPODES_MECHANICS_MECH_H

#include "cpodes/base/compat.h"
#include "cpodes/saddle/saddle.h"
#include "cpodes/stepping/system.h"
#include "model.h"

/* A row that is dependent on others contradicts them if its residual exceeds this part of the largest terms
 * of all rows: states, and with them the residuals, are off by the tolerance, of which 1e-3 is a loose one. */
#define CP_CONTRADICTION 1.0e-3
/* Ratio by which what factors were made for may change while these are kept: the narrowest angle of A, gamma, the
 * length of a row. */
#define CP_CHANGES 2.0

typedef struct CPMechNewton_ *CPMechNewtonMem; /* newton/ */

/* A state (q, u, z) at time t. Coordinates of FULL motions have their prescribed values. */
typedef struct {
  sunrealtype t;
  const sunrealtype *q, *u, *z;
} CPMechState;

/* g, g', g'' at the newest evaluation */
typedef struct {
  double value, rate, curvature;
} CPMotionValue;

/* Arrays of a derivative by central differences of sixth order. centre is for second derivatives only. */
typedef struct {
  double *plus, *minus, *fourth, *sixth, *centre;
  double time;   /* of which the step was a part */
  double noise;  /* the effect of roundoff on the result */
  int quadratic; /* second order is as good as fourth, up to that */
} CPMechDifferences;

typedef struct {
  CPMat M, A; /* M and A after cpMatFix for FULL motions; empty if there are none */
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
  double *rhs, *rhs_b, *residual, *a, *lambda;
  double *known;   /* [nu], or [0] without FULL motions */
  const char *off; /* the rows.off that kkt was given; NULL if it may have changed since */
} CPMechSolveRoom;

/* multipliers.c: forces that depend on multipliers; all are NULL if there are none */
typedef struct {
  CPUserMat Fl; /* nu x na, of one force; */
  CPMat sum;    /* of all; both are empty unless all derivatives are given */
  double *f, *before, *next, *step, *response;
  int *on;   /* the multipliers on which forces depend */
  double *J; /* rows and columns of I - L' Fl for these, and its LU factors; allocated [most most] */
  int *order;     /* [most] its pivots */
  int most;       /* the largest number of these so far */
  CPArena memory; /* of J and order */
} CPMechMultipliers;

/* rhs.c: the states at which accelerations are evaluated; work, y and w are NULL before the first
 * projection */
typedef struct {
  double *lambda;
  double t, *q; /* the newest state; q is [0] unless the model has udot */
  int left_out; /* quadratures that an evaluation leaves out (CPSystem.leave_out) */
  double start; /* a run starts there, and the accelerations have not been evaluated; or NaN */
  /* [m] maxima so far of the squared lengths that are a by-product of factorisations (CPSaddle_), and
   * that of all; it and the next three arrays are NULL before the first call of CPMechRhs */
  double *longest, longest_of_all;
  double *largest;                 /* maxima so far of the entries of A */
  double *largest_of_row, *square; /* [m] those of its rows; workspace */
  CPArena memory;                  /* of these four */
  double part; /* the least ratio of a row of A to its maximum, at factorisation nkkt */
  long int nkkt;
  /* the narrowest angle between constraints at the end of the last step was, or may soon be, too narrow; its sine, for models
   * with udot */
  int narrows;
  double last_sine;
  CPWork work;
  N_Vector y, w;
  int all_on_manifold;             /* the argument of the last call of cpMechOnManifold */
  int was_needed;                  /* f on the manifold, since that call */
  double least_sine, largest_sine; /* of the narrowest angles since that call */
} CPMechStage;

/* Differences and products, each with memory of its own, which is allocated at the first use: of columns and rows
 * of M and A, along the motion, of rates dp/dt; of groups of columns of A */
typedef enum {
  CP_ROOM_OF_COLUMNS,
  CP_ROOM_OF_MOTION,
  CP_ROOM_OF_RATES,
  CP_ROOM_OF_GROUPS,
  CP_ROOMS
} CPMechRoom;

/* constraints.c, functions.c, kinematics.c */
typedef struct {
  double *q_full, *u_full; /* [nq], [nu], or [0] without FULL motions */
  double *force;           /* [nu], or NULL without forces beside f */
  double *unit;            /* [nu] zeros between calls */
  CPArena memory[CP_ROOMS];
  /* columns */
  double *rest;         /* [nu] */
  double *q_near, *one; /* [nq]; [nu] zeros between calls */
  double *column;       /* [nq] */
  CPMechDifferences dA;
  /* groups of columns of A that share no row; grouped = 1: they are known, 0: not yet, -1: they save nothing */
  int grouped, quadratic; /* columns are those of a quadratic p, up to roundoff */
  CPMat depends;          /* the pattern: the positions that depend on each coordinate */
  CPColoring groups;
  double *direction; /* [nu] */
  /* motion */
  double *q_moved, *qdot; /* [nq] */
  int is_moving;          /* p depends on t, at the newest b */
  double *reach; /* [nu] how far columns of A move positions, relative to a part; 0: not known yet */
  CPMechDifferences dv, dN;
  /* rates */
  CPMechDifferences dp;
} CPMechFunctionRoom;

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
  long int told;   /* 1 + the layout that use_rows was told, or 0 */
  int answer;      /* what it returned */
  int all;         /* 1: functions set the rows that are off, too (CPMechCheck) */
  size_t *place;   /* [entries of userA.A] indices of these entries in A; NULL if A is userA.A */
} CPMechRows;

typedef struct {
  CPLinSol linsol;
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

/* Counters since creation. */
typedef struct {
  long int nM;           /* evaluations of M */
  long int nA;           /* evaluations of A */
  long int nf;           /* evaluations of f, or of inverse */
  long int nb;           /* evaluations of b, by the user's function or by differences */
  long int nv;           /* evaluations of v, including those for b */
  long int np;           /* evaluations of p */
  long int nudot;        /* solutions for accelerations */
  long int nkkt;         /* factorisations of KKT systems */
  long int nlambda;      /* iterations of forces that depend on multipliers */
  long int npartials;    /* evaluations of partial derivatives, one for all blocks */
  long int nDQ;          /* evaluations of forces, matrices or u' for differences */
  long int nnewton;      /* factorisations of iteration matrices */
  long int nprojfact;    /* factorisations of A for projections */
  sunindextype rank;     /* rank of A at the newest solution, -1 before the first one */
  sunbooleantype unique; /* whether the multipliers are unique at the newest solution */
  CPLinSol linsol;       /* solver in use for accelerations */
  CPMechNewton newton;   /* solver in use for implicit methods */
  CPMechOutput last;     /* values at the newest state of CPMechEvaluate; its
                          pointers are NULL */
} CPMechStats;

struct CPMech_ {
  CPLog log;
  CPIntegrator host; /* the integrator that it is attached to, or NULL; after log (CPSystemHead) */
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
  void *user_data;       /* CPMechSetUserData's, or the model's */
  void *data;            /* passed to the functions of the model (cpMechData) */
  CPMotionValue *motion; /* [motions->count] */
  /* [nq] whole turns that angles lack while an integrator works, or NULL if they never do; complete positions, workspace */
  double *turns, *whole;
  int turned; /* Do the positions that functions get lack them now? */
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
  /* users of the system */
  CPProjector P;
  /* M is not positive definite: the default metric is that of the error weights. */
  int not_definite;
  CPMechNewtonMem newton;
  struct CPMechShaky_ *shaky; /* shaky.c; NULL if no loop is known to rest in such a position */
  struct CPMechExpected_ *expected; /* expected.c; NULL if u' is not expected */
  struct CPMechImplicit_ *implicit; /* attach/implicit.c; NULL if no method needs it */
  struct CPMechSens_ *sens;         /* sensitivity/; NULL if there are none */
  CPMechAttached attached;
  char text[CP_TEXT_LENGTH]; /* the reason for the newest failure */
  CPMechStats stats;
};

extern const CPKind cpMechKind; /* actions/output.c */

/* In coordinates of joints, where terms cancel, a row is none up to this length, the finest angle of solvers times the longest one. */
static inline double cpMechLeastRow(const CPMech mech, double longest) {
  return mech->eq->typical > 0.0 ? CP_ROUNDED * longest : 0.0;
}

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

/* ---- mech.c ---- */
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
 * it has that room. If memory runs out, this is reported and NULL is returned. */
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

/* ---- functions.c: whole turns of angles ---- */
/* Positions lack mech->turns from now on (on), or nothing (CPSystem.turned). */
void cpMechTurned(int on, void *mech);
/* Returns q [nq], which may be NULL, or if it lacks turns, the complete positions in workspace; then functions of the model get such
 * ones until cpMechEndWhole. */
const double *cpMechWhole(CPMech mech, const double *q);
/* whole: what cpMechWhole returned */
void cpMechEndWhole(CPMech mech, const double *whole);

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
/* The forces have changed. */
void cpMechSensForget(CPMech mech);
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
