/* A pendulum by BDF or Adams, with counted callbacks that can be made to fail. */
#ifndef CPODES_TEST_INTEGRATOR_FIXTURE_H
#define CPODES_TEST_INTEGRATOR_FIXTURE_H

#include "support/support.h"

#include <cpodes/cpodes.h>
#include <models/counters.h>
#include <models/pendulum.h>
#include <sundials/sundials_linearsolver.h>
#include <sundials/sundials_nonlinearsolver.h>

/* Integration formula and inner nonlinear solver, or lmm = 0 and the name of a one-step method */
typedef struct {
  int lmm;
  SUNNonlinearSolver_Type inner;
  const char *name;
} Method;
extern const Method methods[];
extern const int n_methods; /* of CVODES, which come first */
enum { ALL_METHODS = 9 };
extern const Method BDF_NEWTON, ADAMS_FIXED_POINT;

/* A fault of a callback: at its calls with t > after, `times` times (negative: always), it returns
 * flag, and writes value into its first entry unless value is 0. */
typedef struct {
  sunrealtype after;
  long int times;
  int flag;
  sunrealtype value;
} Fault;
/* Counts the fault down. Does it occur at time t? */
int fault_strikes(Fault *fault, sunrealtype t);

/* The data that CVODES shows a nonlinear solver at an attempt */
typedef struct {
  sunrealtype t, h;
  N_Vector ypred, zn1; /* predicted state and first derivative; the vectors belong to CVODES */
  long int nst;
} Attempt;

/* Called around each solve of the inner solver. before: if its result is not 0, it is the solve's
 * result, and the solve is skipped. after: gets the solve's result and may change it and the
 * correction. */
typedef struct Run_ Run;
typedef int (*BeforeSolve)(Run *run, const Attempt *a);
typedef int (*AfterSolve)(Run *run, const Attempt *a, N_Vector ycor, int flag);

/* The user_data of all callbacks below */
typedef struct {
  Pendulum p;
  Fault f, c, jac;
  long int f_calls, c_calls, jac_calls;
  /* for run_intercept */
  Run *run;
  int (*solve)(SUNNonlinearSolver, N_Vector, N_Vector, N_Vector, sunrealtype, sunbooleantype,
               void *);
  BeforeSolve before;
  AfterSolve after;
  long int solves;
} World;

/* An integration, which owns all its members */
struct Run_ {
  Method method;
  sunrealtype tol; /* relative and absolute */
  World world;
  CPIntegrator mem;
  void *cvode_mem; /* of mem */
  CPProjector P;
  SUNNonlinearSolver inner; /* NULL: cpodes' own Newton solver */
  SUNMatrix A;
  SUNLinearSolver LS;
  N_Vector y; /* state */
  sunrealtype t;
  MessageLog log; /* messages of mem */
};

/* Callbacks of the pendulum; user_data is a World. */
int world_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data);
int world_constraints(sunrealtype t, N_Vector y, N_Vector c, void *user_data);
int world_jacobian(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data);

/* CPProjFn: nearest point on the circle of radius 1, then the velocity without its radial part. */
int rod_projection(sunrealtype t, N_Vector yhat, N_Vector y, sunrealtype eps, void *user_data);

/* CPErrProjFn: the tangent projector in the Euclidean norm, positions first. */
int rod_error_projection(sunrealtype t, N_Vector y, N_Vector err, void *user_data);

/* Projector onto the pendulum's manifold with user_data world. */
CPProjector world_projector(World *world, N_Vector y);

/* L = 1, g = 9.81, from rest at (L, 0), with projector, rtol = atol = tol, ready for the first step. */
void run_open(Run *run, Method method, sunrealtype tol);
/* The same in two parts: the run is created, with everything except CPIntegratorInit; then the rest. */
void run_create(Run *run, Method method, sunrealtype tol);
void run_start(Run *run);
void run_close(Run *run);

/* The inner solver of a method, owned by the caller. */
SUNNonlinearSolver inner_solver(Method method, N_Vector y);
/* Sets a dense linear solver for the run's CVODES memory, as Newton's method needs. */
void run_add_linear_solver(Run *run);

/* From now on before and after (either may be NULL) are called around the inner solver's solves. */
void run_intercept(Run *run, BeforeSolve before, AfterSolve after);

/* One call of CPIntegratorEvolve, with the result in run->y and run->t */
int run_step(Run *run);                 /* CV_ONE_STEP towards t = 1000 */
int run_to(Run *run, sunrealtype tout); /* CV_NORMAL */
/* Steps until t >= tend; every step must succeed. */
void run_until(Run *run, sunrealtype tend);

IntegratorCounters run_stats(Run *run);
long int run_steps(Run *run); /* of run->cvode_mem, if there is one */
/* The largest |c_i| */
sunrealtype violation_of(const World *world, N_Vector y);
/* The violation that a projected state may have: eps times the scale of the constraints (fixture.c) */
sunrealtype violation_bound(const Run *run);
/* The error that the pendulum may have at run->t after run_steps() steps (fixture.c) */
sunrealtype error_bound(Run *run);
/* The largest distance of run->y from the exact solution at run->t */
sunrealtype error_of(Run *run);

#define ck_assert_flag(run, call, expected)                                                    \
  do {                                                                                         \
    int flag_ = (call);                                                                        \
    ck_assert_msg(flag_ == (expected), "%s, t = %g: %s is %d, not %s: %s", (run)->method.name, \
                  (run)->t, #call, flag_, #expected,                                           \
                  CPObjectGetLastMessage(CP_OBJECT((run)->mem)));                              \
  } while (0)
#define ck_assert_success(run, call) ck_assert_flag(run, call, CP_SUCCESS)

/* Asserts value <= bound, naming the run. */
#define ck_assert_bound(run, value, bound)                                                    \
  do {                                                                                        \
    sunrealtype value_ = (value), bound_ = (bound);                                           \
    ck_assert_msg(value_ <= bound_, "%s, t = %g: %s = %g, bound %s = %g", (run)->method.name, \
                  (run)->t, #value, value_, #bound, bound_);                                  \
  } while (0)

/* Asserts that the run is accurate and on the manifold. */
#define ck_assert_good(run)                                                            \
  do {                                                                                 \
    ck_assert_bound(run, error_of(run), error_bound(run));                             \
    ck_assert_bound(run, violation_of(&(run)->world, (run)->y), violation_bound(run)); \
  } while (0)

/* Asserts that the newest message mentions each word of a list that ends with NULL. */
void assert_message(const Run *run, const char *const *words);
#define ck_assert_message(run, ...) assert_message(run, (const char *const[]){__VA_ARGS__, NULL})

#endif
