/* Calls of cpodes_mechanics.h. */
#include "world.h"

#include <math.h>
#include <models/counters.h>
#include <sunmatrix/sunmatrix_dense.h>

static void prescribe(World *w, CPMotion *by) {
  const int i            = chance(w, w->odd) ? whole(w, 0, w->m.nq) : w->m.x;
  const sunrealtype step = number(w, 1e-4, 1e-2);
  if (step > 1e-2 || step < 1e-4 || i != w->m.x) w->another_solution = 1;
  *by = (CPMotion){.coordinate = i,
                   .kind       = (CPMotionKind)below(w, 3),
                   .g          = mechanism_motion,
                   .gd         = chance(w, 0.5) ? mechanism_motion_rate : NULL,
                   .gdd        = chance(w, 0.5) ? mechanism_motion_acceleration : NULL,
                   .step       = step,
                   .data       = w};
}

/* Coordinates, motions and differences, some of them odd */
static void vary(World *w, CPEquations *model, CPMotion *by, int order[1]) {
  order[0] = whole(w, 0, 2);
  mechanism_coordinates(&w->m, model);
  if (model->nmotions > 0) {
    prescribe(w, by);
    model->motions = by;
  }
  if (chance(w, w->odd * 0.3)) {
    model->nquaternions = model->nnorms = 0;
    if (w->m.features & KINEMATICS) w->off_manifold = 1;
  }
  if (chance(w, 0.2)) {
    const sunrealtype time = number(w, 1e-3, 1.0);
    if (!(time >= 1e-3 && time <= 1.0)) w->another_solution = 1;
    model->time = time;
  }
  if (w->m.nz && chance(w, 0.5)) model->z_order = order;
}

static void ready(World *w) {
  if (!w->mech) return;
  w->mech_freed = 0;
  CALL(w, MECHANICS, CPObjectSetErrHandlerFn(CP_OBJECT(w->mech), world_message, w));
}

int mechanics_spoil(World *w, CPEquations *model) {
  sunindextype *const sizes[] = {&model->nu, &model->nq, &model->nz,
                                 &model->np, &model->nv, &model->na};
  if (chance(w, 0.5)) *sizes[below(w, 6)] += below(w, 5) - 2;
  else if (chance(w, 0.5)) model->A = NULL;
  else if (chance(w, 0.5)) model->p = NULL;
  else return 0;
  return 1;
}

/* A model with wrong sizes must be refused. */
void mechanics_create(World *w) {
  if (w->mech) return;
  CPEquations model;
  CPMotion by;
  int order[1];
  const int spoilt = chance(w, w->odd * 0.3);
  if (!mechanism_model(&w->m, below(w, 3), below(w, 2), below(w, 2), w->ctx, &model)) no_memory();
  SUNMatrix M = model.M_tmpl, A = model.A_tmpl;
  if (spoilt && !mechanics_spoil(w, &model)) model.f = NULL;
  vary(w, &model, &by, order);
  CPModel made = CREATE(w, CPModelCreate(&model));
  if (made) w->mech = CREATE(w, CPMechCreate(made, w->start, w->ctx));
  if (w->mech && CPMechGetModel(w->mech) != made)
    complain(w, "a CPMech of another model", "CPMechGetModel");
  FREE(w, CPModelFree(&made));
  SUNMatDestroy(M);
  SUNMatDestroy(A);
  if (spoilt) FREE(w, CPMechFree(&w->mech));
  else ready(w);
}

/* "Free the integrator first": after this message nothing else is possible. */
static void mechanics_free(World *w) {
  if (w->mech_of_mem) cpode_free(w);
  if (w->mech_of_one) onestep_free(w);
  FREE(w, CPMechFree(&w->mech));
  if (w->mech) complain(w, "a free function that leaves its pointer", "CPMechFree");
}

void mechanics_attach(World *w) {
  N_Vector y0          = start_state(w);
  const sunrealtype t0 = w->t;
  const int one        = w->one && (!w->mem || chance(w, 0.5));
  const int flag       = one ? CALL(w, MECHANICS, CPMechAttach(w->mech, w->one, t0, y0))
                             : CALL(w, MECHANICS, CPMechAttach(w->mech, w->mem, t0, y0));
  if (flag != CP_SUCCESS) return;
  Promise *k = &w->promise[one];
  if (one) w->mech_of_one = 1;
  else w->mech_of_mem = 1;
  k->projected = k->projected || !k->attached; /* the projector may have been taken away since */
  k->attached  = 1;
  promise_start(w, k, t0, y0);
}

static void user_data(World *w) {
  CALL(w, MECHANICS, CPMechSetUserData(w->mech, w));
  FREE(w, CPModelGetEquations(CPMechGetModel(w->mech)));
  FREE(w, CPMechGetUserData(w->mech));
  FREE(w, CPMechGetUse(w->mech));
}

static void set_handler(World *w) {
  w->loud = 1;
  CALL(w, MECHANICS, CPObjectSetErrHandlerFn(CP_OBJECT(w->mech), NULL, NULL));
  if (chance(w, 0.8))
    CALL(w, MECHANICS, CPObjectSetErrHandlerFn(CP_OBJECT(w->mech), world_message, w));
}

static void set_active(World *w) {
  int mask[2 * MOST_ROWS] = {1, 1, 1, 1, 1, 1, 1, 1};
  if (chance(w, 0.7)) mask[below(w, MOST_ROWS)] = 0, w->another_solution = 1;
  CALL(w, MECHANICS, CPMechSetActive(w->mech, chance(w, 0.3) ? NULL : mask));
}

static void set_metric(World *w) {
  CALL(w, MECHANICS, CPMechSetMetric(w->mech, (CPMechMetric)below(w, 5)));
}

static void set_linear_solver(World *w) {
  CALL(w, MECHANICS, CPMechSetLinearSolver(w->mech, (CPLinSol)below(w, 5)));
}

static void set_newton(World *w) {
  CALL(w, MECHANICS, CPMechSetNewton(w->mech, (CPMechNewton)below(w, 4)));
}

static void set_time_scale(World *w) {
  const sunrealtype tau = chance(w, 0.3) ? CP_TAU_STEP : number(w, 1e-3, 10.0);
  w->another_solution   = 1;
  CALL(w, MECHANICS, CPMechSetErrorTimeScale(w->mech, tau));
}

static void set_group_norms(World *w) {
  w->another_solution = 1;
  CALL(w, MECHANICS, CPMechSetGroupNorms(w->mech, chance(w, 0.5)));
}

/* ---- actions ---- */

static void calc_ic(World *w) {
  N_Vector y = nearby(w, chance(w, 0.3) ? 1.0 : 1e-2), weights = numbers(w, w->m.n, 0.1, 10.0),
           id = numbers(w, w->m.n, 1.0, 2.0);
  sunrealtype udot[MOST_U], lambda[MOST_ROWS + 1];
  if (id && chance(w, 0.3)) N_VGetArrayPointer(id)[below(w, (int)N_VGetLength(id))] = 0.0;
  CALL(w, MECHANICS,
       CPMechCalcIC(w->mech, w->t, y, chance(w, 0.5) ? weights : NULL, chance(w, 0.5) ? id : NULL,
                    udot, lambda));
}

/* Checks that accelerations are those of the mechanism. */
static void accelerations(World *w) {
  N_Vector y               = start_state(w);
  sunrealtype udot[MOST_U] = {0}, lambda[MOST_ROWS + 1], right[MOST_N];
  const int flag = CALL(w, MECHANICS, CPMechAccelerations(w->mech, w->t, y, udot, lambda));
  for (int i = 0; !flag && i < w->m.nu; i++)
    if (!isfinite(udot[i]))
      complain(w, "accelerations that are not finite", "component %d is %g", i, udot[i]);
  if (flag || !y || N_VGetLength(y) != w->m.n) return;
  mechanism_derivative(&w->m, w->t, N_VGetArrayPointer(y), right);
}

static void rates(World *w) {
  N_Vector y = start_state(w), ydot = vector(w, w->m.n);
  if (w->mech && ydot && N_VGetLength(ydot) == w->m.n && y && N_VGetLength(y) == w->m.n)
    CALL(w, NOBODY, CPMechRhs(w->t, y, ydot, w->mech));
}

static void evaluate(World *w) {
  sunrealtype udot[MOST_U], lambda[MOST_ROWS + 1], reaction[MOST_U];
  CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = udot, .lambda = lambda, .reaction = reaction};
  N_Vector y       = start_state(w);
  CALL(w, MECHANICS, CPMechEvaluate(w->mech, w->t, y, &out));
}

static void project_vector(World *w) {
  sunrealtype x[MOST_U] = {1, -1, 2, 0.5, 0.2, 1};
  N_Vector y            = start_state(w);
  CALL(w, MECHANICS, CPMechProject(w->mech, (CPSpace)below(w, 3), w->t, y, x));
}

static void delassus(World *w) {
  const sunindextype n = CPMechGetNumMultipliers(w->mech);
  SUNMatrix S          = n > 0 ? SUNDenseMatrix(n, n, w->ctx) : NULL;
  N_Vector y           = start_state(w);
  if (chance(w, 0.5)) CALL(w, MECHANICS, CPMechDelassus(w->mech, w->t, y, S, NULL));
  else CALL(w, MECHANICS, CPMechDelassus(w->mech, w->t, y, NULL, S));
  SUNMatDestroy(S);
}

static void impact(World *w) {
  N_Vector y               = start_state(w);
  int named[MOST_ROWS + 1] = {1};
  sunrealtype impulse[MOST_ROWS + 1];
  const sunrealtype e = number(w, 1e-3, 1.0);
  CALL(w, MECHANICS, CPMechImpact(w->mech, w->t, y, chance(w, 0.5) ? named : NULL, e, impulse));
}

static void check(World *w) {
  CPMechReport report = CP_INIT(CPMechReport);
  N_Vector y          = start_state(w);
  const int flag      = CALL(w, MECHANICS, CPMechCheck(w->mech, w->t, y, &report));
  if ((flag == CP_MECH_A_WRONG || flag == CP_MECH_B_WRONG || flag == CP_MECH_DERIV_WRONG) &&
      !disturb_struck(NULL) && w->odd == 0.0 && !w->another_solution)
    complain(w, "a right model that is said to be wrong", "%d: %s", flag, w->text);
}

static void suggest(World *w) {
  CPMechSuggestion s  = CP_INIT(CPMechSuggestion);
  N_Vector y          = start_state(w);
  const int backwards = chance(w, 0.2);
  CALL(w, MECHANICS,
       CPMechSuggestMethod(w->mech, w->t, y, w->t + (backwards ? -1.0 : 1.0),
                           number(w, 1e-10, 1e-2), &s));
}

static void results(World *w) {
  MechCounters stats;
  CALL(w, MECHANICS, mech_counters(w->mech, &stats));
}

/* The projector that the mechanism owns; it is neither created nor freed here. */
static void own_projector(World *w) {
  if (!w->mech) return;
  CPProjector P  = w->P;
  const int used = w->P_of_mem;
  w->P           = CPMechGetProjector(w->mech);
  w->P_of_mem    = 1;
  if (w->P) act(w, projector_actions);
  w->P        = P;
  w->P_of_mem = used;
}

const Action mechanics_actions[] = {{"create a mechanical system", mechanics_create, 2},
                                    {"free the mechanical system", mechanics_free, 1},
                                    {"attach the mechanical system", mechanics_attach, 3},
                                    {"mechanics: user data", user_data, 1},
                                    {"mechanics: handler", set_handler, 1},
                                    {"mechanics: active rows", set_active, 3},
                                    {"mechanics: metric", set_metric, 3},
                                    {"mechanics: linear solver", set_linear_solver, 2},
                                    {"mechanics: Newton", set_newton, 2},
                                    {"mechanics: time scale", set_time_scale, 1},
                                    {"mechanics: norms of groups", set_group_norms, 1},
                                    {"mechanics: consistent start", calc_ic, 3},
                                    {"mechanics: accelerations", accelerations, 2},
                                    {"mechanics: rates", rates, 1},
                                    {"mechanics: outputs", evaluate, 2},
                                    {"mechanics: project a vector", project_vector, 2},
                                    {"mechanics: Delassus", delassus, 2},
                                    {"mechanics: impact", impact, 2},
                                    {"mechanics: check", check, 1},
                                    {"mechanics: choice of a method", suggest, 1},
                                    {"mechanics: results", results, 1},
                                    {"mechanics: own projector", own_projector, 3},
                                    {NULL, NULL, 0}};
