/* A chain of rods on ball joints in space (models/spatial_chain.h): the closed form of one rod, the
 * planar motion in minimal coordinates, conserved quantities, and the size of its matrices. */
#include "model_run.h"

#include "models/extrapolation.h"
#include "models/spatial_chain.h"
#include "support/mech_run.h"
#include <math.h>
#include <models/plugin.h>
#include <stdlib.h>
#include <sunmatrix/sunmatrix_sparse.h>

enum { LADDER = 4 };
static const sunrealtype ladder[LADDER] = {1e-4, 1e-6, 1e-8, 1e-10};

static int method_of(int index) { return index % 2 ? CV_ADAMS : CV_BDF; }

static sunrealtype quantity(const CPPlugin *model, int i, N_Vector y) {
  return model->type->quantities[i].value(model, i, 0, y);
}

/* Errors over the ladder. Those of single runs scatter by a factor of a few; from a tolerance to
 * the next but one, a factor of 1e-4, errors of the order tol^0.75 fall by 1e-3. */
static void assert_falling(const sunrealtype *error) {
  for (int k = 2; k < LADDER; k++) ck_assert_double_le(error[k], error[k - 2] / 100);
}

/* ----------------------------------------------------------------------------- the equations -- */

static const SpatialChainData soft = {.l = 0.7, .radius = 0.1, .m = 2, .g = 9.81, .k = 30, .d = 0.4};

/* A chain that is bent and moves in all directions; y [13 n]: out, not yet consistent, freed by the
 * caller. With springs, the first joint has one as well, against the ground. */
static SpatialChain *bent_chain(int n, int springs, N_Vector *y) {
  SpatialChainData data = soft;
  if (!springs) data.k = data.d = 0;
  SpatialChain *chain = spatial_chain_create(n, &data);
  ck_assert_ptr_nonnull(chain);
  chain->joint[0].k        = data.k;
  chain->joint[0].d        = data.d;
  *y                       = vector_of(13 * (sunindextype)n, NULL);
  unsigned long long state = 7;
  spatial_chain_initial(chain, &(SpatialChainStart){.angle = -0.8, .spin = 1}, *y);
  for (sunindextype i = 0; i < 13 * n; i++) entries(*y)[i] += 0.3 * random_number(&state);
  return chain;
}

static MechRun *run_of(SpatialChain *chain, int sparse, N_Vector y) {
  CPEquations model;
  ck_assert_int_eq(rigid_body_model(&chain->bodies, sparse, test_context, &model), 0);
  MechRun *run = mech_run_create(&model, chain, entries(y));
  rigid_body_model_free(&model);
  return run;
}

/* Loop index: number of rods, storage, springs. All partial derivatives, p, v, b and A against each other */
START_TEST(equations_agree_with_each_other) {
  static const int rods[3] = {1, 2, 5};
  N_Vector y;
  SpatialChain *chain = bent_chain(rods[_i % 3], _i / 6, &y);
  MechRun *run        = run_of(chain, _i / 3 % 2, y);
  ck_assert_int_eq(CPMechCalcIC(run->mech, 0, run->y, NULL, NULL, NULL, NULL), CP_SUCCESS);
  CPMechReport report = CP_INIT(CPMechReport);
  ck_assert_msg(CPMechCheck(run->mech, 0, run->y, &report) == CP_SUCCESS, "%s", run->log.text);
  const sunrealtype errors[] = {report.A_p, report.A_v, report.v_p, report.b_v, report.M,
                                report.K,   report.C,   report.Bq,  report.Bu};
  for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
    ck_assert_double_le(errors[i], 1e-8);
  mech_run_free(&run);
  N_VDestroy(y);
  spatial_chain_free(&chain);
}
END_TEST

/* The same state with angular velocities in body axes, dense and sparse, and in those of space:
 * joint forces of about 100 N, and the digits that they lose in A M^{-1} A^T. */
START_TEST(joint_forces_do_not_depend_on_frame_and_storage) {
  enum { N = 4 };
  N_Vector y;
  SpatialChain *chain = bent_chain(N, 1, &y);
  sunrealtype udot[6 * N], lambda[3][3 * N];
  MechRun *body = run_of(chain, 0, y);
  ck_assert_int_eq(CPMechCalcIC(body->mech, 0, body->y, NULL, NULL, udot, lambda[0]), CP_SUCCESS);
  for (int k = 1; k < 3; k++) { /* sparse, in space */
    N_VScale(1, body->y, y);
    for (int i = 0; i < N && k == 2; i++) {
      chain->bodies.frame = CP_FRAME_BODY;
      rigid_body_omega(&chain->bodies, i, body->y, entries(y) + 7 * N + 6 * i + 3);
    }
    chain->bodies.frame = k == 2 ? CP_FRAME_WORLD : CP_FRAME_BODY;
    MechRun *run        = run_of(chain, 1, y);
    ck_assert_int_eq(CPMechAccelerations(run->mech, 0, run->y, udot, lambda[k]), CP_SUCCESS);
    for (int i = 0; i < 3 * N; i++) ck_assert_double_le(fabs(lambda[k][i] - lambda[0][i]), 1e-10);
    mech_run_free(&run);
  }
  mech_run_free(&body);
  N_VDestroy(y);
  spatial_chain_free(&chain);
}
END_TEST

/* ---------------------------------------------------------------------------------- one rod -- */

/* The condition of the physical pendulum, perturbed in angle and in rate at 40 times until t = 2 (fourth-order
   Runge-Kutta method): 43.2, the sum of both, rounded up; |y_i| is at most 6.95. */
START_TEST(single_rod_is_a_pendulum) {
  const Setting settings[]    = {{"n", 1}, {"spin", 0}, {"angle", 0.7}};
  const sunrealtype condition = 45, fastest = 7;
  CPPlugin *model = model_with("spatial_chain", settings, 3);
  ck_assert(model->known);
  sunrealtype error[LADDER], exact[3], lambda[3];
  for (int k = 0; k < LADDER; k++) {
    ModelRun *run = model_run_create(model, method_of(_i), ladder[k]);
    model_run_to(run, model->type->t_end);
    error[k]                = plugin_error(model, run->t, run->y);
    const sunrealtype bound = model_run_bound(run, condition, fastest);
    CPMechOutput out        = {CP_SIZED(CPMechOutput), .lambda = lambda};
    ck_assert_int_eq(CPMechEvaluate(run->mech, run->t, run->y, &out), CP_SUCCESS);
    ck_assert_int_eq(model->type->reference_lambda(model, run->t, exact), 0);
    sunrealtype force = 0;
    for (int i = 0; i < 3; i++) force = fmax(force, fabs(lambda[i] - exact[i]));
    if (wants_figures())
      printf("one rod, %-5s tol %.0e: %4ld steps, error %.1e, force %.1e, bound %.1e\n",
             method_name(method_of(_i)), ladder[k], model_run_steps(run), error[k], force, bound);
    ck_assert_double_le(error[k], bound);
    /* m l / 2 (w^2 psi + psi'^2): derivatives by the angle about 3 g, by its rate 2 psi' */
    ck_assert_double_le(force, 50 * bound);
    model_run_free(&run);
  }
  assert_falling(error);
  CPPluginFree(&model);
}
END_TEST

/* ---------------------------------------------------------------------- in a vertical plane -- */

/* The same chain by the rods' angles theta_i above +x and their rates; from the joint at the origin,
 *
 *   r_b = sum_i a_bi (cos theta_i, sin theta_i),  a_bi = l for i < b, l / 2 for i = b, 0 beyond
 *
 *   sum_j (J delta_ij + S_ij cos(theta_i - theta_j)) theta_j'' = -sum_j S_ij sin(theta_i - theta_j) theta_j'^2
 *     - m g cos theta_i sum_b a_bi + sum over neighbours (k sin(theta_o - theta_i) + d (theta_o' - theta_i'))
 *
 * with S_ij = m sum_b a_bi a_bj. y = (theta, theta'). */
enum { RODS = 4, ANGLES = 2 * RODS };

static sunrealtype arm(const SpatialChain *c, int b, int i) {
  return i > b ? 0 : (i < b ? 1 : SUN_RCONST(0.5)) * c->data.l;
}

/* sum_b a_bi a_bj; j = -1: sum_b a_bi */
static sunrealtype arms(const SpatialChain *c, int i, int j) {
  sunrealtype sum = 0;
  for (int b = 0; b < RODS; b++) sum += arm(c, b, i) * (j < 0 ? 1 : arm(c, b, j));
  return sum;
}

/* The torque of the spring-damper between i and its neighbour o on i */
static sunrealtype bending(const SpatialChain *c, const sunrealtype *y, int i, int o) {
  if (o < 0 || o >= RODS) return 0;
  return c->data.k * sin(y[o] - y[i]) + c->data.d * (y[RODS + o] - y[RODS + i]);
}

/* x <- M^{-1} x, M symmetric, positive definite: Gaussian elimination */
static void solve(sunrealtype M[RODS][RODS], sunrealtype *x) {
  for (int k = 0; k < RODS; k++)
    for (int i = k + 1; i < RODS; i++) {
      const sunrealtype factor = M[i][k] / M[k][k];
      for (int j = k; j < RODS; j++) M[i][j] -= factor * M[k][j];
      x[i] -= factor * x[k];
    }
  for (int i = RODS - 1; i >= 0; i--) {
    for (int j = i + 1; j < RODS; j++) x[i] -= M[i][j] * x[j];
    x[i] /= M[i][i];
  }
}

static int planar_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *chain) {
  (void)t;
  const SpatialChain *c    = chain;
  const sunrealtype *theta = entries(y), *rate = theta + RODS, m = c->data.m;
  sunrealtype *acc = entries(ydot) + RODS, M[RODS][RODS];
  for (int i = 0; i < RODS; i++) {
    entries(ydot)[i] = rate[i];
    acc[i]           = bending(c, theta, i, i - 1) + bending(c, theta, i, i + 1) -
             m * c->data.g * cos(theta[i]) * arms(c, i, -1);
    for (int j = 0; j < RODS; j++) {
      const sunrealtype S = m * arms(c, i, j), turned = theta[i] - theta[j];
      M[i][j] = S * cos(turned) + (i == j ? c->body[0].J[2] : 0);
      acc[i] -= S * sin(turned) * rate[j] * rate[j];
    }
  }
  solve(M, acc);
  return 0;
}

/* The state of the chain in space, y [13 RODS]: out */
static void place_planar(const SpatialChain *c, N_Vector angles, N_Vector y) {
  const sunrealtype *theta = entries(angles), *rate = theta + RODS;
  for (int b = 0; b < RODS; b++) {
    sunrealtype r[3] = {0, 0, 0}, v[3] = {0, 0, 0};
    for (int i = 0; i <= b; i++) {
      r[0] += arm(c, b, i) * cos(theta[i]);
      r[1] += arm(c, b, i) * sin(theta[i]);
      v[0] -= arm(c, b, i) * sin(theta[i]) * rate[i];
      v[1] += arm(c, b, i) * cos(theta[i]) * rate[i];
    }
    rigid_body_place(&c->bodies, b, r, (sunrealtype[]){0, 0, theta[b]}, v,
                     (sunrealtype[]){0, 0, rate[b]}, y);
  }
}

/* Joint forces [3 RODS] in that state: on rod i and those below it, sum m (r'' + g) */
static void planar_forces(SpatialChain *c, N_Vector angles, sunrealtype *lambda) {
  N_Vector ydot            = vector_of(ANGLES, NULL);
  const sunrealtype *theta = entries(angles), *rate = theta + RODS, *acc = entries(ydot) + RODS;
  planar_rhs(0, angles, ydot, c);
  sunrealtype force[2] = {0, 0};
  for (int b = RODS - 1; b >= 0; b--) {
    force[1] += c->data.m * c->data.g;
    for (int i = 0; i <= b; i++) {
      const sunrealtype along = arm(c, b, i) * c->data.m;
      force[0] -= along * (sin(theta[i]) * acc[i] + cos(theta[i]) * rate[i] * rate[i]);
      force[1] += along * (cos(theta[i]) * acc[i] - sin(theta[i]) * rate[i] * rate[i]);
    }
    lambda[3 * b]     = force[0];
    lambda[3 * b + 1] = force[1];
    lambda[3 * b + 2] = 0;
  }
  N_VDestroy(ydot);
}

/* From t0 to t_end; y: in, angles and rates; out: at the end. steps: over the whole [0, t_end] */
static const sunrealtype planar_end = 2;
static void planar_motion(SpatialChain *c, sunrealtype t0, int steps, N_Vector y) {
  const int count = (int)lround(steps * (planar_end - t0) / planar_end);
  ck_assert_int_eq(extrapolate(planar_rhs, c, t0, planar_end, count, y), 0);
}

/* Growth of perturbations until the end, in the largest component of the chain in space: the sum
 * over all angles and rates, at the worst of four times. */
static sunrealtype planar_condition(SpatialChain *c, N_Vector start, int steps) {
  enum { TIMES = 4 };
  const sunrealtype delta = 1e-6;
  N_Vector base = vector_copy(start), end = vector_copy(start), y = vector_copy(start);
  N_Vector in_space = vector_of(13 * RODS, NULL), moved = vector_of(13 * RODS, NULL);
  sunrealtype worst = 0;
  planar_motion(c, 0, steps, end);
  for (int k = 0; k < TIMES; k++) {
    const sunrealtype t = k * planar_end / TIMES;
    sunrealtype sum     = 0;
    if (k > 0)
      ck_assert_int_eq(extrapolate(planar_rhs, c, t - planar_end / TIMES, t, steps / TIMES, base),
                       0);
    for (int i = 0; i < ANGLES; i++) {
      N_VScale(1, base, y);
      entries(y)[i] += delta;
      place_planar(c, base, in_space);
      place_planar(c, y, moved);
      const sunrealtype before = max_distance(in_space, moved);
      planar_motion(c, t, steps, y);
      place_planar(c, end, in_space);
      place_planar(c, y, moved);
      sum += max_distance(in_space, moved) / before;
    }
    worst = fmax(worst, sum);
  }
  N_Vector all[] = {base, end, y, in_space, moved};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) N_VDestroy(all[i]);
  return worst;
}

static const struct {
  sunrealtype k, d;
  int steps; /* of the extrapolation */
} planar_cases[] = {{0, 0, 200}, {20, 0.5, 200}, {1000, 10, 1600}};
enum { PLANAR_CASES = sizeof planar_cases / sizeof planar_cases[0] };

static CPPlugin *planar_model(int index) {
  const Setting settings[] = {
      {"n", RODS}, {"spin", 0}, {"k", planar_cases[index].k}, {"d", planar_cases[index].d}};
  return model_with("spatial_bending_chain", settings, 4);
}

/* Straight and at rest, as the model */
static N_Vector planar_start(const CPPlugin *model) {
  N_Vector angles = vector_of(ANGLES, NULL);
  for (int i = 0; i < RODS; i++)
    entries(angles)[i] = model->parameter[plugin_find_parameter(model->type, "angle")];
  return angles;
}

/* Loop index: method, springs. Against extrapolation of order 16 in the angles, whose own error,
 * from a run with half the steps, is below the finest tolerance. */
START_TEST(planar_motion_is_that_of_minimal_coordinates) {
  CPPlugin *model     = planar_model(_i / 2);
  SpatialChain *chain = model->data;
  const int steps     = planar_cases[_i / 2].steps;
  N_Vector start = planar_start(model), angles = vector_copy(start), coarse = vector_copy(start);
  N_Vector exact = vector_copy(model->y0);
  place_planar(chain, start, exact);
  ck_assert_double_le(max_distance(exact, model->y0), 1e-14);
  planar_motion(chain, 0, steps, angles);
  planar_motion(chain, 0, steps / 2, coarse);
  ck_assert_double_le(max_distance(angles, coarse), 1e-10);
  place_planar(chain, angles, exact);

  const sunrealtype condition = planar_condition(chain, start, steps / 2);
  const sunrealtype size      = N_VMaxNorm(exact);
  sunrealtype error[LADDER];
  for (int k = 0; k < LADDER; k++) {
    ModelRun *run = model_run_create(model, method_of(_i), ladder[k]);
    model_run_to(run, planar_end);
    error[k]                = max_distance(run->y, exact);
    const sunrealtype bound = model_run_bound(run, condition, size);
    if (wants_figures())
      printf("planar, k = %g, %-5s tol %.0e: %5ld steps, error %.1e, bound %.1e, violation %.1e, "
             "condition %.0f\n",
             chain->data.k, method_name(method_of(_i)), ladder[k], model_run_steps(run), error[k],
             bound, model_run_violation(run), condition);
    ck_assert_double_le(error[k], bound);
    ck_assert_double_le(model_run_violation(run), ladder[k]);
    model_run_free(&run);
  }
  assert_falling(error);
  N_Vector all[] = {start, angles, coarse, exact};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) N_VDestroy(all[i]);
  CPPluginFree(&model);
}
END_TEST

/* At the end of that motion; forces of about 100 N, roundoff times the condition of A M^{-1} A^T */
START_TEST(planar_forces_are_those_of_minimal_coordinates) {
  CPPlugin *model     = planar_model(_i);
  SpatialChain *chain = model->data;
  N_Vector angles = planar_start(model), y = vector_copy(model->y0);
  planar_motion(chain, 0, planar_cases[_i].steps, angles);
  place_planar(chain, angles, y);
  sunrealtype udot[6 * RODS], lambda[3 * RODS], exact[3 * RODS];
  CPMech mech = CPPluginMech(model);
  ck_assert_int_eq(CPMechAccelerations(mech, 0, y, udot, lambda), CP_SUCCESS);
  planar_forces(chain, angles, exact);
  for (int i = 0; i < 3 * RODS; i++) ck_assert_double_le(fabs(lambda[i] - exact[i]), 1e-10);
  CPMechFree(&mech);
  N_VDestroy(y);
  N_VDestroy(angles);
  CPPluginFree(&model);
}
END_TEST

/* -------------------------------------------------------------------------------- in space -- */

/* Largest sum of |derivatives| of the energy or an angular momentum by the state's entries, with
   |y_i| <= size: m v, J omega, m g; m r for the momentum */
static sunrealtype sensitivity(const CPPlugin *model, sunrealtype size) {
  const SpatialChain *c = model->data;
  return c->bodies.nbodies * (c->data.m * (3 * size + c->data.g) + c->body[0].J[2] * 3 * size);
}

/* The motion in minimal coordinates, models/spatial_chain_reference.c: which is the planar one, at rest */
START_TEST(reference_in_space_is_planar_where_the_motion_is) {
  CPPlugin *model = planar_model(_i);
  N_Vector angles = planar_start(model), exact = vector_copy(model->y0), y = vector_copy(exact);
  planar_motion(model->data, 0, planar_cases[_i].steps, angles);
  place_planar(model->data, angles, exact);
  ck_assert(model->known);
  ck_assert_int_eq(model->type->reference(model, planar_end, y), 0);
  ck_assert_double_le(max_distance(y, exact), model->reference_error);
  N_Vector all[] = {angles, exact, y};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) N_VDestroy(all[i]);
  CPPluginFree(&model);
}
END_TEST

/* The condition of the chain of 5: every rotation and rate of a rod was perturbed at four times;
 * the sum of the resulting perturbations in the worst entry of y at the end is 41.4, rounded up. */
static const Setting whirl[]             = {{"n", 5}, {"angle", -0.3}, {"spin", 2}};
static const sunrealtype whirl_condition = 42;

/* Loop index: method */
START_TEST(motion_in_space_is_that_of_minimal_coordinates) {
  CPPlugin *model = model_with("spatial_chain", whirl, 3);
  sunrealtype error[LADDER];
  for (int k = 0; k < LADDER; k++) {
    ModelRun *run = model_run_create(model, method_of(_i), ladder[k]);
    model_run_to(run, model->type->t_end);
    error[k]                = plugin_error(model, run->t, run->y);
    const sunrealtype bound = model_run_bound(run, whirl_condition, N_VMaxNorm(run->y));
    if (wants_figures())
      printf("in space, %-5s tol %.0e: %5ld steps, error %.1e, bound %.1e, violation %.1e\n",
             method_name(method_of(_i)), ladder[k], model_run_steps(run), error[k], bound,
             model_run_violation(run));
    ck_assert_double_le(error[k], bound);
    ck_assert_double_le(model_run_violation(run), ladder[k]);
    model_run_free(&run);
  }
  assert_falling(error);
  CPPluginFree(&model);
}
END_TEST

/* Loop index: method. Only local errors change conserved quantities, and they do not grow: the
 * condition is 1, times the derivatives of the quantity. */
START_TEST(free_chain_keeps_energy_momentum_and_axial_rates) {
  CPPlugin *model = model_with("spatial_chain", whirl, 3);
  sunrealtype energy[LADDER];
  for (int k = 0; k < LADDER; k++) {
    ModelRun *run        = model_run_create(model, method_of(_i), ladder[k]);
    sunrealtype drift[3] = {0, 0, 0}, size = 0;
    for (int i = 1; i <= 10; i++) {
      model_run_to(run, i * model->type->t_end / 10);
      size = fmax(size, N_VMaxNorm(run->y));
      for (int j = 0; j < 3; j++)
        drift[j] = fmax(drift[j], fabs(quantity(model, j, run->y) - quantity(model, j, model->y0)));
    }
    const sunrealtype bound = model_run_bound(run, 1, size), factor = sensitivity(model, size);
    if (wants_figures())
      printf("free, %-5s tol %.0e: %5ld steps, energy %.1e, momentum %.1e, bound %.1e, axial rate "
             "%.1e, violation %.1e\n",
             method_name(method_of(_i)), ladder[k], model_run_steps(run), drift[0], drift[1],
             factor * bound, drift[2], model_run_violation(run));
    ck_assert_double_le(drift[0], factor * bound);
    ck_assert_double_le(drift[1], factor * bound);
    ck_assert_double_le(drift[2], bound);
    energy[k] = drift[0];
    model_run_free(&run);
  }
  assert_falling(energy);
  CPPluginFree(&model);
}
END_TEST

static int damper_power(sunrealtype t, N_Vector y, N_Vector power, void *mech) {
  (void)t;
  entries(power)[0] = rigid_body_dissipation(CPMechGetUserData(mech), y);
  return 0;
}

/* Loop index: springs; by BDF. The lost energy equals the dissipation of the dampers, by a
 * quadrature; the angular momentum about y is conserved. */
START_TEST(dampers_take_the_energy_that_is_lost) {
  const Setting settings[] = {
      {"n", 5}, {"angle", -0.3}, {"spin", 2}, {"k", planar_cases[_i].k}, {"d", planar_cases[_i].d}};
  CPPlugin *model = model_with("spatial_bending_chain", settings, 5);
  ModelRun *run   = model_run_create(model, CV_BDF, 1e-8);
  void *cvode_mem = CPIntegratorGetCVodeMem(run->cpode);
  N_Vector taken  = vector_of(1, NULL);
  sunrealtype t;
  ck_assert_int_eq(CVodeQuadInit(cvode_mem, damper_power, taken), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetQuadErrCon(cvode_mem, SUNTRUE), CV_SUCCESS);
  ck_assert_int_eq(CVodeQuadSStolerances(cvode_mem, 1e-8, 1e-8), CV_SUCCESS);
  model_run_to(run, model->type->t_end);
  ck_assert_int_eq(CVodeGetQuad(cvode_mem, &t, taken), CV_SUCCESS);
  const sunrealtype lost  = quantity(model, 0, model->y0) - quantity(model, 0, run->y);
  const sunrealtype moved = quantity(model, 1, run->y) - quantity(model, 1, model->y0);
  const sunrealtype size  = N_VMaxNorm(run->y);
  const sunrealtype bound = model_run_bound(run, sensitivity(model, size), size);
  if (wants_figures())
    printf("k = %g, d = %g: %ld steps, lost %.6g J, dampers %.1e less, momentum %.1e, bound %.1e\n",
           planar_cases[_i].k, planar_cases[_i].d, model_run_steps(run), lost,
           lost - entries(taken)[0], moved, bound);
  if (planar_cases[_i].d > 0) ck_assert_double_gt(lost, 5 * bound); /* there is something to see */
  ck_assert_double_le(fabs(lost - entries(taken)[0]), bound);
  ck_assert_double_le(fabs(moved), bound);
  N_VDestroy(taken);
  model_run_free(&run);
  CPPluginFree(&model);
}
END_TEST

/* ------------------------------------------------------------------------------------- size -- */

/* Entries of all matrices of a chain of n rods */
static sunindextype stored_entries(const char *type, int n) {
  const Setting settings[] = {{"n", n}};
  CPPlugin *model          = model_with(type, settings, 1);
  const SUNMatrix matrix[] = {model->mech.M_tmpl, model->mech.A_tmpl, model->mech.K_tmpl,
                              model->mech.C_tmpl};
  sunindextype sum         = 0;
  for (size_t i = 0; i < sizeof matrix / sizeof matrix[0]; i++)
    if (matrix[i]) sum += SM_NNZ_S(matrix[i]);
  CPPluginFree(&model);
  return sum;
}

/* Loop index: without and with springs. The time of steps: bench/rods.c */
START_TEST(each_further_rod_adds_as_many_entries) {
  const char *type           = _i ? "spatial_bending_chain" : "spatial_chain";
  const sunindextype hundred = stored_entries(type, 100);
  const sunindextype more    = stored_entries(type, 200) - hundred;
  ck_assert_int_gt(hundred, 0);
  ck_assert_int_eq(stored_entries(type, 1000) - hundred, 9 * more);
}
END_TEST

TEST_SUITE(spatial_chain) {
  Suite *suite = suite_create("spatial_chain");
  TCase *tcase = tcase_create("chain");
  tcase_set_timeout(tcase, 600);
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, equations_agree_with_each_other, 0, 12);
  tcase_add_test(tcase, joint_forces_do_not_depend_on_frame_and_storage);
  tcase_add_loop_test(tcase, single_rod_is_a_pendulum, 0, 2);
  tcase_add_loop_test(tcase, planar_motion_is_that_of_minimal_coordinates, 0, 2 * PLANAR_CASES);
  tcase_add_loop_test(tcase, planar_forces_are_those_of_minimal_coordinates, 0, PLANAR_CASES);
  tcase_add_loop_test(tcase, reference_in_space_is_planar_where_the_motion_is, 0, PLANAR_CASES);
  tcase_add_loop_test(tcase, motion_in_space_is_that_of_minimal_coordinates, 0, 2);
  tcase_add_loop_test(tcase, free_chain_keeps_energy_momentum_and_axial_rates, 0, 2);
  tcase_add_loop_test(tcase, dampers_take_the_energy_that_is_lost, 0, PLANAR_CASES);
  tcase_add_loop_test(tcase, each_further_rod_adds_as_many_entries, 0, 2);
  suite_add_tcase(suite, tcase);
  return suite;
}
