#include "stepping/multistep/fixture.h"

#include <math.h>
#include <models/counters.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>
#include <sunnonlinsol/sunnonlinsol_newton.h>

const Method BDF_NEWTON        = {CV_BDF, SUNNONLINEARSOLVER_ROOTFIND, "BDF, Newton"};
const Method ADAMS_FIXED_POINT = {CV_ADAMS, SUNNONLINEARSOLVER_FIXEDPOINT, "Adams, fixed point"};
const Method methods[]         = {{CV_BDF, SUNNONLINEARSOLVER_ROOTFIND, "BDF, Newton"},
                                  {CV_ADAMS, SUNNONLINEARSOLVER_FIXEDPOINT, "Adams, fixed point"},
                                  {CV_BDF, SUNNONLINEARSOLVER_FIXEDPOINT, "BDF, fixed point"},
                                  {CV_ADAMS, SUNNONLINEARSOLVER_ROOTFIND, "Adams, Newton"},
                                  {0, SUNNONLINEARSOLVER_FIXEDPOINT, "DOP853"},
                                  {0, SUNNONLINEARSOLVER_FIXEDPOINT, "ARKODE_DORMAND_PRINCE_7_4_5"},
                                  {0, SUNNONLINEARSOLVER_FIXEDPOINT, "ARKODE_VERNER_8_5_6"},
                                  {0, SUNNONLINEARSOLVER_FIXEDPOINT, "RADAU"},
                                  {0, SUNNONLINEARSOLVER_FIXEDPOINT, "RADAU13"}};
const int n_methods            = 4;

int fault_strikes(Fault *fault, sunrealtype t) {
  if (fault->times == 0 || t <= fault->after) return 0;
  if (fault->times > 0) fault->times--;
  return 1;
}

/* The callback's result, and its first entry, with the fault. */
static int spoiled(Fault *fault, sunrealtype t, sunrealtype *first) {
  if (!fault_strikes(fault, t)) return 0;
  if (fault->value != 0.0) *first = fault->value; /* also a NaN */
  return fault->flag;
}

int world_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  World *world = user_data;
  world->f_calls++;
  pendulum_rhs(t, y, ydot, &world->p);
  return spoiled(&world->f, t, N_VGetArrayPointer(ydot));
}

int world_constraints(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  World *world = user_data;
  world->c_calls++;
  pendulum_constraints(t, y, c, &world->p);
  return spoiled(&world->c, t, N_VGetArrayPointer(c));
}

int world_jacobian(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data) {
  World *world = user_data;
  world->jac_calls++;
  pendulum_jacobian(t, y, c, G, &world->p);
  return spoiled(&world->jac, t, SUNDenseMatrix_Data(G));
}

int rod_projection(sunrealtype t, N_Vector yhat, N_Vector y, sunrealtype eps, void *user_data) {
  (void)t, (void)eps, (void)user_data;
  const sunrealtype *s = N_VGetArrayPointer(yhat);
  sunrealtype *z       = N_VGetArrayPointer(y);
  const sunrealtype r  = hypot(s[0], s[1]);
  z[0]                 = s[0] / r;
  z[1]                 = s[1] / r;
  const sunrealtype v  = z[0] * s[2] + z[1] * s[3];
  z[2]                 = s[2] - v * z[0];
  z[3]                 = s[3] - v * z[1];
  return 0;
}

/* P = I - G^T (G G^T)^-1 G level by level, for |x| = 1: radial parts out, positions first:
 *   e_q <- e_q - x (x.e_q),   e_v <- e_v - x (x.e_v + v.e_q)   with e_q projected */
int rod_error_projection(sunrealtype t, N_Vector y, N_Vector err, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype *z = N_VGetArrayPointer(y);
  sunrealtype *e       = N_VGetArrayPointer(err);
  const sunrealtype r2 = z[0] * z[0] + z[1] * z[1];
  const sunrealtype a  = (z[0] * e[0] + z[1] * e[1]) / r2;
  e[0] -= a * z[0];
  e[1] -= a * z[1];
  const sunrealtype b = (z[0] * e[2] + z[1] * e[3] + z[2] * e[0] + z[3] * e[1]) / r2;
  e[2] -= b * z[0];
  e[3] -= b * z[1];
  return 0;
}

CPProjector world_projector(World *world, N_Vector y) {
  N_Vector c    = vector_of(PENDULUM_M, NULL);
  SUNMatrix G   = SUNDenseMatrix(PENDULUM_M, PENDULUM_N, test_context);
  CPProjector P = CPProjectorCreate(world_constraints, y, c, test_context);
  ck_assert_ptr_nonnull(P);
  ck_assert_int_eq(CPProjectorSetUserData(P, world), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetJacFn(P, world_jacobian, G), CP_SUCCESS);
  SUNMatDestroy(G);
  N_VDestroy(c);
  return P;
}

SUNNonlinearSolver inner_solver(Method method, N_Vector y) {
  SUNNonlinearSolver inner = method.inner == SUNNONLINEARSOLVER_ROOTFIND
                                 ? SUNNonlinSol_Newton(y, test_context)
                                 : SUNNonlinSol_FixedPoint(y, 0, test_context);
  ck_assert_ptr_nonnull(inner);
  return inner;
}

void run_create(Run *run, Method method, sunrealtype tol) {
  memset(run, 0, sizeof *run);
  run->method  = method;
  run->tol     = tol;
  run->world.p = (Pendulum){1.0, 9.81};
  run->y       = vector_of(PENDULUM_N, NULL);
  pendulum_initial(&run->world.p, run->y);
  run->mem = CPIntegratorCreate(method.lmm == CV_BDF     ? "BDF"
                                : method.lmm == CV_ADAMS ? "ADAMS"
                                                         : method.name,
                                test_context);
  ck_assert_ptr_nonnull(run->mem);
  run->cvode_mem = CPIntegratorGetCVodeMem(run->mem);
  run->P         = world_projector(&run->world, run->y);
  ck_assert_success(run, CPObjectSetErrHandlerFn(CP_OBJECT(run->mem), message_log, &run->log));
}

void run_add_linear_solver(Run *run) {
  run->A  = SUNDenseMatrix(PENDULUM_N, PENDULUM_N, test_context);
  run->LS = SUNLinSol_Dense(run->y, run->A, test_context);
  ck_assert_success(run, CVodeSetLinearSolver(run->cvode_mem, run->LS, run->A));
}

void run_start(Run *run) {
  if (run->method.lmm) {
    run->inner = inner_solver(run->method, run->y);
    ck_assert_success(run, CPIntegratorSetNonlinearSolver(run->mem, run->inner));
  }
  ck_assert_success(run, CPIntegratorInit(run->mem, world_rhs, 0.0, run->y));
  ck_assert_success(run, CPIntegratorSStolerances(run->mem, run->tol, run->tol));
  ck_assert_success(run, CPIntegratorSetProjector(run->mem, run->P));
  ck_assert_success(run, CPIntegratorSetUserData(run->mem, &run->world));
  ck_assert_success(run, CPIntegratorSetMaxNumSteps(run->mem, 100000));
  if (run->method.inner == SUNNONLINEARSOLVER_ROOTFIND) run_add_linear_solver(run);
}

void run_open(Run *run, Method method, sunrealtype tol) {
  run_create(run, method, tol);
  run_start(run);
}

void run_close(Run *run) {
  CPIntegratorFree(&run->mem);
  CPProjectorFree(&run->P);
  if (run->inner) SUNNonlinSolFree(run->inner);
  if (run->LS) SUNLinSolFree(run->LS);
  if (run->A) SUNMatDestroy(run->A);
  if (run->y) N_VDestroy(run->y);
}

static void read_attempt(void *cvode_mem, Attempt *a, World **world) {
  N_Vector yn, f;
  sunrealtype gamma, rl1;
  ck_assert_int_eq(CVodeGetNonlinearSystemData(cvode_mem, &a->t, &a->ypred, &yn, &f, &gamma, &rl1,
                                               &a->zn1, (void **)world),
                   CV_SUCCESS);
  ck_assert_int_eq(CVodeGetNumSteps(cvode_mem, &a->nst), CV_SUCCESS);
  a->h = gamma / rl1;
}

static int intercepted_solve(SUNNonlinearSolver NLS, N_Vector y0, N_Vector ycor, N_Vector ewt,
                             sunrealtype tol, sunbooleantype setup, void *cvode_mem) {
  Attempt a;
  World *world;
  read_attempt(cvode_mem, &a, &world);
  world->solves++;
  int flag = world->before ? world->before(world->run, &a) : 0;
  if (flag) return flag;
  flag = world->solve(NLS, y0, ycor, ewt, tol, setup, cvode_mem);
  return world->after ? world->after(world->run, &a, ycor, flag) : flag;
}

void run_intercept(Run *run, BeforeSolve before, AfterSolve after) {
  World *world  = &run->world;
  world->run    = run;
  world->before = before;
  world->after  = after;
  if (run->inner->ops->solve != intercepted_solve) world->solve = run->inner->ops->solve;
  run->inner->ops->solve = intercepted_solve;
}

int run_step(Run *run) {
  return CPIntegratorEvolve(run->mem, 1000.0, run->y, &run->t, CV_ONE_STEP);
}

int run_to(Run *run, sunrealtype tout) {
  return CPIntegratorEvolve(run->mem, tout, run->y, &run->t, CV_NORMAL);
}

void run_until(Run *run, sunrealtype tend) {
  while (run->t < tend) ck_assert_success(run, run_step(run));
}

IntegratorCounters run_stats(Run *run) {
  IntegratorCounters stats;
  ck_assert_success(run, integrator_counters(run->mem, &stats));
  return stats;
}

long int run_steps(Run *run) {
  long int nst = 0;
  if (!run->cvode_mem) return run_stats(run).nst;
  ck_assert_success(run, CVodeGetNumSteps(run->cvode_mem, &nst)); /* perhaps not those of run->mem */
  return nst;
}

sunrealtype violation_of(const World *world, N_Vector y) {
  World w         = *world;
  N_Vector c      = vector_of(PENDULUM_M, NULL);
  sunrealtype sup = 0.0;
  pendulum_constraints(0.0, y, c, &w.p);
  for (int i = 0; i < PENDULUM_M; i++) sup = fmax(sup, fabs(entries(c)[i]));
  N_VDestroy(c);
  return sup;
}

/* |c_i| <= eps size_i with size_i^2 = sum_j (G_ij / w_j)^2, 1/w_j = tol (1 + |y_j|). On the orbit |x|, |y| <= L = 1 and the
 * speed is at most V = sqrt(2 g L): sum_j G_1j^2 = 4, sum_j G_2j^2 = V^2 + 1, all 1/w_j <= tol (1 + V). */
sunrealtype violation_bound(const Run *run) {
  const sunrealtype V = sqrt(2.0 * run->world.p.g * run->world.p.L);
  return CP_EPS_DEFAULT * run->tol * (1.0 + V) * fmax(2.0, sqrt(V * V + 1.0));
}

/* A step that passes the error test has an error of at most sqrt(n) tol (1 + V) in a component,
 * where V = sqrt(2 g L) is the largest speed. On a closed orbit such an error grows at most
 * linearly, at the rate w = sqrt(g/L) of the orbit, and an error in the angle is w times its size
 * in the velocity. */
sunrealtype error_bound(Run *run) {
  const Pendulum *p   = &run->world.p;
  const sunrealtype w = sqrt(p->g / p->L), V = sqrt(2.0 * p->g * p->L);
  return (sunrealtype)run_steps(run) * sqrt((double)PENDULUM_N) * run->tol * (1.0 + V) * w *
         (1.0 + w * fabs(run->t));
}

sunrealtype error_of(Run *run) {
  N_Vector exact = vector_of(PENDULUM_N, NULL);
  pendulum_exact(&run->world.p, run->t, entries(exact));
  const sunrealtype distance = max_distance(run->y, exact);
  N_VDestroy(exact);
  return distance;
}

void assert_message(const Run *run, const char *const *words) {
  const char *text = CPObjectGetLastMessage(CP_OBJECT(run->mem));
  for (; *words; words++) ck_assert_mentions(text, *words);
  ck_assert_ptr_null(strchr(text, '\n'));
  ck_assert_str_eq(text, run->log.text); /* the handler received the same */
}
