/* Calls of cpodes_projector.h. */
#include "world.h"

#include <models/counters.h>
#include <stdlib.h>
#include <string.h>
#include <sundials/sundials_matrix.h>

static void destroy_matrix(void *A) { SUNMatDestroy(A); }

/* A matrix of the mechanism, or with probability odd one of another size */
static SUNMatrix jacobian_template(World *w) {
  Mechanism other;
  mechanism_set_up(&other, chance(w, w->odd) ? (unsigned)below(w, 1024) : w->m.features, DENSE,
                   CP_FRAME_BODY);
  return keep(w, mechanism_jacobian_template(&other, (Form)below(w, 3), w->ctx), destroy_matrix);
}

static void ready(World *w) {
  if (!w->P) return;
  CALL(w, PROJECTOR, CPObjectSetErrHandlerFn(CP_OBJECT(w->P), world_message, w));
  if (w->m.quaternion >= 0 && !chance(w, w->odd)) /* [user kind: refused] */
    CALL(w, PROJECTOR, CPProjectorAddUnitNorm(w->P, w->m.quaternion, 4, 1.0));
}

void projector_create(World *w) {
  if (w->P) return;
  N_Vector y = vector(w, w->m.n), c = vector(w, w->m.m);
  /* templates of another length would mean another problem, for which there are no functions */
  if (y && N_VGetLength(y) != w->m.n) y = w->start;
  if (c && N_VGetLength(c) != w->m.m) c = w->like_c;
  if (chance(w, 0.8)) w->P = CREATE(w, CPProjectorCreate(mechanism_c, y, c, w->ctx));
  else
    w->P = CREATE(w, CPProjectorCreateProducts(mechanism_c, mechanism_jac_times,
                                               mechanism_jac_trans_times, y, c, w->ctx));
  ready(w);
}

void projector_create_user(World *w) {
  if (w->P) return;
  CPUserProjection user = {.size  = chance(w, w->odd) ? 0 : sizeof user,
                           .state = mechanism_projection};
  if (chance(w, 0.5)) user.error = mechanism_error_projection;
  if (chance(w, 0.3)) user.both = mechanism_state_and_error;
  if (chance(w, 0.3)) user.violation = mechanism_violation, w->off_manifold = 1;
  w->P = CREATE(w, CPProjectorCreateUser(&user, w->start, w->ctx));
  ready(w);
}

static void projector_free(World *w) {
  if (w->P_of_mem || w->P_of_one) return;
  FREE(w, CPProjectorFree(&w->P));
  if (w->P) complain(w, "a free function that leaves its pointer", "CPProjectorFree");
}

static void set_user_data(World *w) { CALL(w, PROJECTOR, CPProjectorSetUserData(w->P, w)); }

static void set_handler(World *w) {
  w->loud = 1;
  CALL(w, PROJECTOR, CPObjectSetErrHandlerFn(CP_OBJECT(w->P), NULL, NULL));
  if (chance(w, 0.8))
    CALL(w, PROJECTOR, CPObjectSetErrHandlerFn(CP_OBJECT(w->P), world_message, w));
}

void projector_jacobian(World *w) {
  const CPConstraintJacFn jac = chance(w, 0.8) ? mechanism_jacobian : NULL;
  SUNMatrix G                 = chance(w, 0.9) ? jacobian_template(w) : NULL;
  CALL(w, PROJECTOR, CPProjectorSetJacFn(w->P, jac, G));
}

static void schur_diag(World *w) {
  CALL(w, PROJECTOR, CPProjectorSetSchurDiag(w->P, chance(w, 0.8) ? mechanism_schur_diag : NULL));
}

static void preconditioner(World *w) {
  const CPProductFn solve = chance(w, 0.8) ? mechanism_prec_solve : NULL;
  CALL(w, PROJECTOR, CPProjectorSetPreconditioner(w->P, mechanism_prec_setup, solve));
}

static void unit_norm(World *w) {
  w->another_solution = 1;
  const int first = whole(w, 0, w->m.n - 1), length = whole(w, 1, 4);
  const sunrealtype value = number(w, 0.5, 2.0);
  CALL(w, PROJECTOR, CPProjectorAddUnitNorm(w->P, first, length, value));
}

/* n random bits, mostly 1, or NULL */
static int *mask_of(World *w, int n) {
  int *mask = chance(w, 0.4) ? NULL : keep(w, malloc((size_t)n * sizeof *mask), free);
  for (int i = 0; mask && i < n; i++) mask[i] = 1;
  if (mask && chance(w, 0.7)) mask[below(w, n)] = 0;
  return mask;
}

static void set_active(World *w) {
  int *mask = mask_of(w, w->m.m);
  if (!CALL(w, PROJECTOR, CPProjectorSetActive(w->P, mask)) && mask) w->off_manifold = 1;
}

static void set_levels(World *w) {
  const int sound = chance(w, 0.7);
  int *row        = chance(w, 0.2) ? NULL : keep(w, malloc((size_t)w->m.m * sizeof *row), free);
  int *col        = chance(w, 0.2) ? NULL : keep(w, malloc((size_t)w->m.n * sizeof *col), free);
  for (int i = 0; row && i < w->m.m; i++) row[i] = sound ? i >= w->m.np : whole(w, 0, 20);
  for (int i = 0; col && i < w->m.n; i++) col[i] = sound ? i >= w->m.nq : below(w, 3);
  CALL(w, PROJECTOR, CPProjectorSetLevels(w->P, row, col));
}

void projector_linear_solver(World *w) {
  const int type = whole(w, 0, 5);
  if (type < 0 || type > 5)
    return; /* not a value of the type: undefined behaviour in this program */
  CALL(w, PROJECTOR, CPProjectorSetLinearSolver(w->P, (CPLinSol)type));
}

static void set_norm(World *w) {
  CALL(w, PROJECTOR, CPProjectorSetNorm(w->P, (CPNorm)below(w, 2), NULL, NULL));
}

static void set_metric(World *w) {
  CALL(w, PROJECTOR, CPProjectorSetMetricProduct(w->P, chance(w, 0.7) ? mechanism_metric : NULL));
}

static void set_metric_matrix(World *w) {
  SUNMatrix M = keep(w, mechanism_metric_template(&w->m, (Form)below(w, 3), w->ctx), destroy_matrix);
  if (chance(w, w->odd)) M = jacobian_template(w);
  const CPMetricMatrixFn fn = chance(w, 0.8) ? mechanism_metric_matrix : NULL;
  CALL(w, PROJECTOR, CPProjectorSetNorm(w->P, CP_NORM_MATRIX, fn, M));
}

static void set_constraint_tol(World *w) {
  w->off_manifold = 1;
  N_Vector ctol   = chance(w, 0.3) ? NULL : numbers(w, w->m.m, 1e-9, 1e-3);
  CALL(w, PROJECTOR, CPProjectorSetConstraintTol(w->P, ctol));
}

static void set_eps(World *w) {
  const sunrealtype eps = number(w, 1e-6, 1.0);
  if (CALL(w, PROJECTOR, CPProjectorSetEps(w->P, eps))) return;
  for (int k = 0; k < 2; k++)
    if (eps > w->promise[k].eps) w->promise[k].eps = eps;
}

static void set_free(World *w) {
  w->another_solution = 1;
  int *mask           = mask_of(w, w->m.n); /* CALL may let allocations fail */
  CALL(w, PROJECTOR, CPProjectorSetFree(w->P, mask));
}

/* ---- actions ---- */

/* Faulty states are not made here, since functions may divide by their zeros. */
static void check_result(World *w, int flag, N_Vector y, N_Vector before, const char *what) {
  if (!y || N_VGetLength(y) != w->m.n || !before) return;
  const size_t size = (size_t)w->m.n * sizeof(sunrealtype);
  if (flag && memcmp(N_VGetArrayPointer(y), N_VGetArrayPointer(before), size))
    complain(w, "a failed projection that moved", "%s returned %d", what, flag);
  for (int i = 0; !flag && i < w->m.n; i++)
    if (!(N_VGetArrayPointer(y)[i] - N_VGetArrayPointer(y)[i] == 0.0))
      complain(w, "a projection that is not finite", "%s: component %d is %g", what, i,
               N_VGetArrayPointer(y)[i]);
}

static N_Vector copy(World *w, N_Vector y) {
  if (!y || N_VGetLength(y) != w->m.n) return NULL;
  N_Vector c = N_VClone(y);
  if (!c || w->nvectors == POOL) no_memory();
  N_VScale(1.0, y, c);
  return w->vectors[w->nvectors++] = c;
}

static void project(World *w) {
  N_Vector y = nearby(w, random_magnitude(&w->random, 1e-9, 0.3)), ewt = weights_at(w, y),
           before     = copy(w, y);
  const sunrealtype t = chance(w, w->odd) ? number(w, 1e-3, 1.0) : w->t;
  if (chance(w, 0.7)) {
    const int flag = CALL(w, PROJECTOR, CPProjectorProject(w->P, t, y, ewt));
    check_result(w, flag, y, before, w->call);
  } else {
    const int flag = CALL(w, PROJECTOR, CPProjectorAssemble(w->P, t, y, ewt));
    check_result(w, flag, y, before, w->call);
  }
}

static void project_vector(World *w) {
  N_Vector y = start_state(w), ewt = weights_at(w, y), v = numbers(w, w->m.n, 0.1, 2.0),
           before = copy(w, v);
  if (chance(w, 0.5)) {
    const int flag = CALL(w, PROJECTOR, CPProjectorProjectVector(w->P, CP_TANGENT, w->t, y, ewt, v));
    check_result(w, flag, v, before, w->call);
  } else {
    const int flag =
        CALL(w, PROJECTOR, CPProjectorProjectVector(w->P, CP_COTANGENT, w->t, y, ewt, v));
    check_result(w, flag, v, before, w->call);
  }
}

static void violation(World *w) {
  N_Vector y = start_state(w), ewt = weights_at(w, y);
  sunrealtype norm;
  sunindextype worst;
  CALL(w, PROJECTOR, CPProjectorGetViolation(w->P, w->t, y, ewt, &norm, &worst));
}

static void check_jacobian(World *w) {
  N_Vector y = start_state(w), ewt = weights_at(w, y);
  sunrealtype err = 0.0;
  sunindextype row, col;
  CALL(w, PROJECTOR, CPProjectorCheckJac(w->P, w->t, y, ewt, &err, &row, &col));
}

static void get_results(World *w) {
  sunindextype rank;
  CPLinSol type;
  const char *reason;
  ProjectorCounters stats;
  int *dependent = keep(w, malloc((size_t)w->m.m * sizeof *dependent), free);
  CALL(w, PROJECTOR, CPProjectorGetRank(w->P, &rank, chance(w, 0.5) ? dependent : NULL));
  CALL(w, PROJECTOR, CPProjectorGetLinearSolver(w->P, &type, &reason));
  CALL(w, PROJECTOR, projector_counters(w->P, &stats));
}

const Action projector_actions[] = {{"create a projector", projector_create, 2},
                                    {"create a user's projector", projector_create_user, 1},
                                    {"free the projector", projector_free, 1},
                                    {"projector: user data", set_user_data, 1},
                                    {"projector: handler", set_handler, 1},
                                    {"projector: Jacobian", projector_jacobian, 4},
                                    {"projector: Schur diagonal", schur_diag, 1},
                                    {"projector: preconditioner", preconditioner, 1},
                                    {"projector: unit norm", unit_norm, 1},
                                    {"projector: active rows", set_active, 2},
                                    {"projector: levels", set_levels, 2},
                                    {"projector: linear solver", projector_linear_solver, 5},
                                    {"projector: norm", set_norm, 2},
                                    {"projector: metric", set_metric, 2},
                                    {"projector: metric matrix", set_metric_matrix, 2},
                                    {"projector: constraint tolerances", set_constraint_tol, 1},
                                    {"projector: eps", set_eps, 2},
                                    {"projector: free", set_free, 1},
                                    {"project", project, 6},
                                    {"project a vector", project_vector, 3},
                                    {"projector: get violation", violation, 1},
                                    {"projector: check", check_jacobian, 1},
                                    {"projector: results", get_results, 2},
                                    {NULL, NULL, 0}};
