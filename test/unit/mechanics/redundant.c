/* Constraints that repeat or contradict each other, exactly or nearly: a pendulum that hangs twice,
 * from one point or from two neighbouring points, and the spatial four-bar linkage. */
#include "support/mech_run.h"

#include "models/spatial_four_bar.h"
#include <cpodes/cpodes_integrator.h>
#include <math.h>
#include <models/counters.h>
#include <string.h>
#include <sunmatrix/sunmatrix_sparse.h>

#define ROUNDOFF SUN_RCONST(1.2e-16) /* of one operation */

/* -------------------------------------------------------- a pendulum, its second row doubled -- */

/* m = L = 1; rows p and 2 p: of all lambda with lambda_0 + 2 lambda_1 = tension, the shortest is
 * tension (1, 2) / 5; tension = |u|^2 - g y. */
typedef struct {
  sunrealtype g;
  sunrealtype wrong; /* added to b of the second row, */
  sunrealtype from;  /* from this time on */
  int vanish;        /* 1: A is zero from that time on */
  int exponent;      /* All rows are 2^exponent times as long. */
} Twice;

/* A pattern of all entries, by columns */
static void fill_sparse(SUNMatrix S) {
  sunindextype e = 0;
  for (sunindextype j = 0; j <= SM_COLUMNS_S(S); j++) {
    SM_INDEXPTRS_S(S)[j] = e;
    for (sunindextype i = 0; i < SM_ROWS_S(S) && j < SM_COLUMNS_S(S); i++)
      SM_INDEXVALS_S(S)[e++] = i;
  }
}

static sunrealtype *entry(SUNMatrix S, int i, int j) {
  if (SUNMatGetID(S) == SUNMATRIX_DENSE) return &SM_ELEMENT_D(S, i, j);
  return &SM_DATA_S(S)[2 * j + i];
}

static int unit_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  *entry(M, 0, 0) = *entry(M, 1, 1) = 1;
  return 0;
}

static int both_rods(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  const Twice *twice = user_data;
  const int gone     = twice->vanish && t >= twice->from;
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++) *entry(A, i, j) = gone ? 0 : ldexp((i + 1) * q[j], twice->exponent);
  return 0;
}

static int weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z;
  f[1] = -((const Twice *)user_data)->g;
  return 0;
}

static int lengths(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t;
  for (int i = 0; i < 2; i++)
    p[i] =
        ldexp((i + 1) * (q[0] * q[0] + q[1] * q[1] - 1) / 2, ((const Twice *)user_data)->exponent);
  return 0;
}

static int centripetal(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                       void *user_data) {
  const Twice *twice = user_data;
  (void)q;
  for (int i = 0; i < 2; i++) b[i] = ldexp(-(i + 1) * (u[0] * u[0] + u[1] * u[1]), twice->exponent);
  if (t >= twice->from) b[1] += twice->wrong;
  return 0;
}

/* Dense, or with sparse templates of all entries */
static MechRun *twice_run(Twice *twice, int sparse, CPLinSol linsol) {
  CPEquations model = {CP_SIZED(CPEquations), .nu = 2,     .np = 2,      .M = unit_mass,
                       .A = both_rods,        .f = weight, .p = lengths, .b = centripetal};
  if (sparse) {
    model.M_tmpl = SUNSparseMatrix(2, 2, 4, CSC_MAT, test_context);
    model.A_tmpl = SUNSparseMatrix(2, 2, 4, CSC_MAT, test_context);
    fill_sparse(model.M_tmpl);
    fill_sparse(model.A_tmpl);
  }
  MechRun *run = mech_run_create(&model, twice, (sunrealtype[]){0.6, -0.8, 1.6, 1.2});
  ck_assert_int_eq(CPMechSetLinearSolver(run->mech, linsol), CP_SUCCESS);
  if (model.M_tmpl) SUNMatDestroy(model.M_tmpl);
  if (model.A_tmpl) SUNMatDestroy(model.A_tmpl);
  return run;
}

static const struct {
  int sparse;
  CPLinSol linsol, in_use;
} SOLVERS[] = {{0, CP_LINSOL_AUTO, CP_LINSOL_QR},
               {0, CP_LINSOL_QR, CP_LINSOL_QR},
               {1, CP_LINSOL_AUTO, CP_LINSOL_KKT},
               {1, CP_LINSOL_KKT, CP_LINSOL_KKT}};
enum { NUM_SOLVERS = sizeof SOLVERS / sizeof *SOLVERS };

START_TEST(doubled_rows_share_the_tension) {
  Twice twice               = {.g = 9.81};
  MechRun *run              = twice_run(&twice, SOLVERS[_i].sparse, SOLVERS[_i].linsol);
  const sunrealtype tension = 4 + twice.g * 0.8, bound = 50 * ROUNDOFF * tension;
  sunrealtype udot[2], lambda[2], reaction[2];
  CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = udot, .lambda = lambda, .reaction = reaction};
  MechCounters stats;
  ck_assert_int_eq(CPMechEvaluate(run->mech, 0, run->y, &out), CP_SUCCESS);
  ck_assert_double_le(fabs(lambda[0] - tension / 5), bound);
  ck_assert_double_le(fabs(lambda[1] - tension * 2 / 5), bound);
  ck_assert_double_le(fabs(reaction[0] + tension * 0.6), bound);
  ck_assert_double_le(fabs(reaction[1] - tension * 0.8), bound);
  ck_assert_double_le(fabs(udot[0] + tension * 0.6), bound);
  ck_assert_int_eq(out.rank, 1);
  ck_assert(!out.unique);
  ck_assert_int_eq(mech_counters(run->mech, &stats), CP_SUCCESS);
  ck_assert_int_eq(stats.linsol, SOLVERS[_i].in_use);

  /* the pendulum swings: energy 2 - 0.8 g; a step changes it by at most |u| <= 3 times its error */
  mech_run_start(run, CV_BDF, 1e-7);
  mech_run_to(run, 5);
  const sunrealtype *s     = entries(run->y);
  const sunrealtype energy = (s[2] * s[2] + s[3] * s[3]) / 2 + twice.g * s[1];
  ck_assert_double_le(fabs(energy - (2 - 0.8 * twice.g)), mech_run_bound(run, 3, 3 + twice.g));
  ck_assert_double_le(fabs(hypot(s[0], s[1]) - 1), run->tol);
  mech_run_free(&run);
}
END_TEST

START_TEST(doubled_rows_are_too_many_for_schur) {
  Twice twice  = {.g = 9.81};
  MechRun *run = twice_run(&twice, 0, CP_LINSOL_SCHUR);
  sunrealtype udot[2];
  ck_assert_int_eq(CPMechAccelerations(run->mech, 0, run->y, udot, NULL), CP_KKT_RANK);
  ck_assert_int_eq(run->log.code, CP_KKT_RANK);
  mech_run_free(&run);
}
END_TEST

START_TEST(doubled_rows_that_disagree_are_named) {
  Twice twice  = {.g = 9.81, .wrong = 1};
  MechRun *run = twice_run(&twice, SOLVERS[_i].sparse, SOLVERS[_i].linsol);
  sunrealtype udot[2];
  ck_assert_int_eq(CPMechAccelerations(run->mech, 0, run->y, udot, NULL), CP_KKT_INCONSISTENT);
  ck_assert_int_eq(run->log.code, CP_KKT_INCONSISTENT);
  ck_assert_mentions(run->log.text, "constraint ");
  ck_assert_mentions(run->log.text, "are p, v and b right?"); /* the state is on the manifold */
  mech_run_free(&run);
}
END_TEST

/* Contradictions that arise on the way end the run there. RADAU went on to the end with the wrong b,
 * and crept to the step limit with the A of zeros. */
static const char *const onesteps[] = {"RADAU5", "RADAU", "RADAU13", "DOP853"};
enum { ONESTEPS = sizeof onesteps / sizeof *onesteps };

START_TEST(rows_that_contradict_others_on_the_way_are_named) {
  const int vanish = _i / ONESTEPS % 2, sparse = _i / ONESTEPS / 2;
  for (sunrealtype tol = 1e-3; tol > (test_is_short() ? 5e-4 : 1e-10); tol /= 10) {
    Twice twice      = {.g = 9.81, .wrong = vanish ? 0 : 1, .from = 0.3, .vanish = vanish};
    MechRun *run     = twice_run(&twice, sparse, CP_LINSOL_AUTO);
    CPIntegrator mem = CPIntegratorCreate(onesteps[_i % ONESTEPS], test_context);
    IntegratorCounters stats;
    CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &run->log);
    ck_assert_int_eq(CPMechAttach(run->mech, mem, 0, run->y), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSStolerances(mem, tol, tol), CP_SUCCESS);
    const int flag = CPIntegratorEvolve(mem, 2, run->y, &run->t, CV_NORMAL);
    /* A step may pass the time before its end violates p, which nothing can change any more. */
    const int known = flag == CP_KKT_INCONSISTENT || (vanish && flag == CP_PROJ_INCONSISTENT);
    ck_assert_msg(known, "%d at t = %g with tol = %g: %s", flag, run->t, tol, run->log.text);
    ck_assert_mentions(run->log.text, "constraint ");
    ck_assert_double_le(fabs(run->t - twice.from), 0.02);
    ck_assert_int_eq(integrator_counters(mem, &stats), CP_SUCCESS);
    ck_assert_int_le(stats.nattempts, 400);
    CPIntegratorFree(&mem);
    mech_run_free(&run);
  }
}
END_TEST

/* Squares of these rows overflow or underflow. */
START_TEST(doubled_rows_may_have_any_length) {
  const int sparse = _i / ONESTEPS % 2, exponents[3] = {0, -570, 570};
  const sunrealtype tol = 1e-6;
  sunrealtype expected[4];
  for (int k = 0; k < 3; k++) {
    Twice twice      = {.g = 9.81, .exponent = exponents[k]};
    MechRun *run     = twice_run(&twice, sparse, CP_LINSOL_AUTO);
    CPIntegrator mem = CPIntegratorCreate(onesteps[_i % ONESTEPS], test_context);
    CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &run->log);
    ck_assert_int_eq(CPMechAttach(run->mech, mem, 0, run->y), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSStolerances(mem, tol, tol), CP_SUCCESS);
    ck_assert_msg(!CPIntegratorEvolve(mem, 2, run->y, &run->t, CV_NORMAL), "%d: %s", twice.exponent,
                  run->log.text);
    if (k == 0) memcpy(expected, entries(run->y), sizeof expected);
    const sunrealtype error = mech_run_error(run, 4, expected);
    ck_assert_msg(error <= 10 * tol, "%d: %g", twice.exponent, error);
    CPIntegratorFree(&mem);
    mech_run_free(&run);
  }
}
END_TEST

/* ----------------------- a pendulum with two rows, whose multipliers act on the motion -- */

/* Rows q, w q, w q, ... with w = 2 + q_0, from p_0 = (|q|^2 - 1) / 2 and p_i = w p_0. Friction
 * -mu |lambda_0| tanh(u), and z' = lambda_1. Of all lambda with lambda_0 + w sum_i lambda_i =
 * tension, the shortest is tension (1, w, w, ...) / s, s = 1 + (rows - 1) w^2, so that
 *
 *   tension (1 + mu q^T tanh(u) / s) = |u|^2 - g y. */
typedef struct {
  Twice twice; /* first, for weight */
  sunrealtype mu;
  int rows;
} Shared;

static int shared_rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  const sunrealtype w = 2 + q[0];
  (void)t;
  for (int j = 0; j < 2; j++)
    for (int i = 0; i < ((const Shared *)user_data)->rows; i++)
      *entry(A, i, j) = i == 0 ? q[j] : w * q[j] + (j == 0) * (q[0] * q[0] + q[1] * q[1] - 1) / 2;
  return 0;
}

static int shared_lengths(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t;
  for (int i = 0; i < ((const Shared *)user_data)->rows; i++)
    p[i] = (i == 0 ? 1 : 2 + q[0]) * (q[0] * q[0] + q[1] * q[1] - 1) / 2;
  return 0;
}

static int shared_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                    void *user_data) {
  (void)t;
  b[0] = -(u[0] * u[0] + u[1] * u[1]);
  for (int i = 1; i < ((const Shared *)user_data)->rows; i++)
    b[i] = (2 + q[0]) * b[0] - 2 * u[0] * (q[0] * u[0] + q[1] * u[1]);
  return 0;
}

static int shared_friction(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                           const sunrealtype *z, const sunrealtype *lambda, sunrealtype *f,
                           void *user_data) {
  const Shared *shared = user_data;
  (void)t, (void)q, (void)z;
  for (int j = 0; j < 2; j++) f[j] = -shared->mu * fabs(lambda[0]) * tanh(u[j]);
  return 0;
}

static int shared_friction_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                               const sunrealtype *z, const sunrealtype *lambda, SUNMatrix Fl,
                               void *user_data) {
  const Shared *shared = user_data;
  (void)t, (void)q, (void)z;
  for (int j = 0; j < 2; j++)
    SM_ELEMENT_D(Fl, j, 0) = -shared->mu * copysign(1, lambda[0]) * tanh(u[j]);
  return 0;
}

static int shared_wear(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       const sunrealtype *z, const sunrealtype *lambda, sunrealtype *zdot,
                       void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)user_data;
  zdot[0] = lambda[1];
  return 0;
}

static void shared_multipliers(const Shared *shared, const sunrealtype *q, const sunrealtype *u,
                               sunrealtype *lambda) {
  const sunrealtype w = 2 + q[0], square = 1 + (shared->rows - 1) * w * w;
  const sunrealtype slope = q[0] * tanh(u[0]) + q[1] * tanh(u[1]);
  const sunrealtype tension =
      (u[0] * u[0] + u[1] * u[1] - shared->twice.g * q[1]) / (1 + shared->mu * slope / square);
  lambda[0] = tension / square;
  lambda[1] = w * lambda[0];
}

/* x = (angle, rate, z), q = (sin angle, -cos angle) */
static void shared_state(const sunrealtype *x, sunrealtype *y) {
  y[0] = sin(x[0]), y[1] = -cos(x[0]);
  y[2] = -y[1] * x[1], y[3] = y[0] * x[1];
  y[4] = x[2];
}

static void shared_slope(const Shared *shared, const sunrealtype *x, sunrealtype *xdot) {
  sunrealtype y[5], lambda[2];
  shared_state(x, y);
  shared_multipliers(shared, y, y + 2, lambda);
  const sunrealtype along = -y[1] * tanh(y[2]) + y[0] * tanh(y[3]);
  xdot[0]                 = x[1];
  xdot[1]                 = -shared->twice.g * y[0] - shared->mu * lambda[0] * along;
  xdot[2]                 = lambda[1];
}

/* x <- x(t) by the classical Runge-Kutta method, with errors of some 1e-13 */
static void shared_reference(const Shared *shared, sunrealtype t, sunrealtype *x) {
  enum { STEPS = 4000 };
  const sunrealtype h = t / STEPS, part[4] = {0, h / 2, h / 2, h};
  for (int n = 0; n < STEPS; n++) {
    sunrealtype k[4][3], at[3];
    for (int stage = 0; stage < 4; stage++) {
      for (int i = 0; i < 3; i++) at[i] = x[i] + (stage ? part[stage] * k[stage - 1][i] : 0);
      shared_slope(shared, at, k[stage]);
    }
    for (int i = 0; i < 3; i++) x[i] += h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
  }
}

/* The motion depends on how the rows share the load, and all methods use the multipliers of minimum
 * norm. RADAU used those of its predictions, which depend on its steps. */
static const char *const shared_methods[] = {"RADAU5", "RADAU9", "RADAU13", "RADAU",
                                             "DOP853", "BDF",    "ADAMS"};
enum { SHARED_METHODS = sizeof shared_methods / sizeof *shared_methods };
static const struct {
  int rows, sparse, jac; /* jac: with lambda_jac */
  sunrealtype mu, tightest;
} shared_cases[] = {{2, 0, 0, 0.5, 1e-9},
                    {2, 1, 0, 0.5, 1e-9},
                    {2, 0, 1, 0.5, 1e-9},
                    {5, 0, 0, 2, 1e-9},
                    {52, 0, 0, 17, 1e-4}};
enum { SHARED_CASES = sizeof shared_cases / sizeof *shared_cases };

static void shared_run(MechRun *run, const char *method, sunrealtype tol, sunrealtype t) {
  if (!strcmp(method, "BDF") || !strcmp(method, "ADAMS")) {
    mech_run_start(run, method[0] == 'B' ? CV_BDF : CV_ADAMS, tol);
    mech_run_to(run, t);
    return;
  }
  CPIntegrator mem = CPIntegratorCreate(method, test_context);
  CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &run->log);
  ck_assert_int_eq(CPMechAttach(run->mech, mem, 0, run->y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, tol, tol), CP_SUCCESS);
  const int flag = CPIntegratorEvolve(mem, t, run->y, &run->t, CV_NORMAL);
  ck_assert_msg(flag == CP_SUCCESS, "%d at t = %g: %s", flag, run->t, run->log.text);
  CPIntegratorFree(&mem);
}

START_TEST(methods_agree_where_the_motion_depends_on_shared_multipliers) {
  const char *method  = shared_methods[_i % SHARED_METHODS];
  const int which     = _i / SHARED_METHODS;
  const sunrealtype t = 2;
  Shared shared       = {
            .twice = {.g = 9.81}, .mu = shared_cases[which].mu, .rows = shared_cases[which].rows};
  CPEquations model = {
      CP_SIZED(CPEquations), .nu = 2,
      .np = shared.rows,     .nz = 1,
      .M = unit_mass,        .A = shared_rows,
      .f = weight,           .p = shared_lengths,
      .b = shared_b,         .f_lambda = shared_friction,
      .zdot = shared_wear,   .lambda_jac = shared_cases[which].jac ? shared_friction_jac : NULL};
  sunrealtype x[3] = {asin(SUN_RCONST(0.6)), 2, 0}, start[5], end[5];
  sunrealtype lambda[52], again[52], shortest[2];
  if (shared_cases[which].sparse) {
    model.M_tmpl = SUNSparseMatrix(2, 2, 4, CSC_MAT, test_context);
    model.A_tmpl = SUNSparseMatrix(2, 2, 4, CSC_MAT, test_context);
    fill_sparse(model.M_tmpl);
    fill_sparse(model.A_tmpl);
  }
  shared_state(x, start);
  shared_reference(&shared, t, x);
  shared_state(x, end);
  const sunrealtype tightest = test_is_short() ? 1e-4 : shared_cases[which].tightest;
  for (sunrealtype tol = 1e-4; tol > tightest / 2; tol /= 10) {
    MechRun *run     = mech_run_create(&model, &shared, start);
    CPMechOutput out = {CP_SIZED(CPMechOutput), .lambda = lambda};
    shared_run(run, method, tol, t);
    const sunrealtype error = mech_run_error(run, 5, end);
    /* Explicit methods are as accurate as with independent rows if all stages leave out the same one. */
    ck_assert_msg(error <= (strcmp(method, "DOP853") ? 300 : 10) * tol, "%s, tol = %g: error %g",
                  method, tol, error);
    ck_assert_int_eq(CPMechEvaluate(run->mech, t, run->y, &out), CP_SUCCESS);
    ck_assert_int_eq(CPMechAccelerations(run->mech, t, run->y, NULL, again), CP_SUCCESS);
    shared_multipliers(&shared, entries(run->y), entries(run->y) + 2, shortest);
    for (int i = 0; i < shared.rows; i++) { /* The state is on the manifold up to tol. */
      ck_assert_double_le(fabs(lambda[i] - shortest[i > 0]), 30 * tol);
      ck_assert_double_eq(again[i], lambda[i]);
    }
    mech_run_free(&run);
  }
  if (model.M_tmpl) SUNMatDestroy(model.M_tmpl);
  if (model.A_tmpl) SUNMatDestroy(model.A_tmpl);
}
END_TEST

/* -------------------------------------------------------------- the spatial four-bar linkage -- */

enum { N = SPATIAL_FOUR_BAR_N };
static const sunrealtype G = 9.81, UNIT[3] = {1, 1, 1};

/* Upright or at the angle theta from it, turning clockwise with the given rate */
static MechRun *linkage_run(SpatialFourBar *linkage, int sparse, sunrealtype theta,
                            sunrealtype rate) {
  const sunrealtype angle = acos(SUN_RCONST(0.0)) - theta;
  CPEquations model;
  N_Vector y = vector_of(N, NULL);
  spatial_four_bar_place(linkage, (sunrealtype[]){angle, 0, angle},
                         (sunrealtype[]){-rate, 0, -rate}, y);
  ck_assert_int_eq(rigid_body_model(&linkage->bodies, sparse, test_context, &model), 0);
  MechRun *run = mech_run_create(&model, &linkage->bodies, entries(y));
  rigid_body_model_free(&model);
  N_VDestroy(y);
  return run;
}

/* The rocker's ground is out of the plane, so the redundant rows now contradict the others. */
START_TEST(torn_loop_is_refused) {
  SpatialFourBar linkage;
  spatial_four_bar_create(&linkage, UNIT, 1, G, CP_FRAME_BODY);
  linkage.joint[3].point_a[2] = 0.01;
  MechRun *run                = linkage_run(&linkage, _i, 0.5, 1);
  mech_run_start(run, CV_BDF, 1e-6);
  ck_assert_int_eq(CPIntegratorEvolve(run->cpode, 1, run->y, &run->t, CV_NORMAL),
                   CP_INCONSISTENT_IC);
  ck_assert_mentions(run->log.text, "position constraint 17");
  ck_assert_int_eq(CPMechCalcIC(run->mech, 0, run->y, NULL, NULL, NULL, NULL), CP_IC_FAIL);
  ck_assert_int_eq(CPIntegratorCalcIC(run->cpode, NULL), CP_IC_FAIL);
  mech_run_free(&run);
}
END_TEST

/* The crank also turns about its own axis, which no joint permits */
START_TEST(velocities_that_contradict_are_named) {
  SpatialFourBar linkage;
  spatial_four_bar_create(&linkage, UNIT, 1, G, CP_FRAME_BODY);
  MechRun *run = linkage_run(&linkage, _i, 0.5, 1);
  sunrealtype udot[18];
  entries(run->y)[21 + 6 * CRANK + 3] = 1;
  ck_assert_int_eq(CPMechAccelerations(run->mech, 0, run->y, udot, NULL), CP_KKT_INCONSISTENT);
  ck_assert_mentions(run->log.text, "constraint ");
  ck_assert_mentions(run->log.text, "off the manifold by");
  ck_assert_mentions(run->log.text, "of those of v, which may be why");
  /* and made consistent */
  ck_assert_int_eq(CPMechCalcIC(run->mech, 0, run->y, NULL, NULL, udot, NULL), CP_SUCCESS);
  ck_assert_double_le(fabs(entries(run->y)[21 + 6 * CRANK + 3]), 1e-9);
  mech_run_free(&run);
}
END_TEST

/* Where all rods lie in line, one more row is redundant; the motion continues on one branch or
 * another, and keeps its energy: a step changes that by 3 kg times (g + |u|) times its error,
 * |u| < 8. Where steps of Adams' methods end there is a matter of chance: of 360 runs with
 * tolerances near this one 8 stop there, of 320 with CVODES' own settings 3. */
START_TEST(loop_passes_where_the_rank_falls) {
  SpatialFourBar linkage;
  spatial_four_bar_create(&linkage, UNIT, 1, G, CP_FRAME_BODY);
  MechRun *run             = linkage_run(&linkage, _i / 2, 0, 1);
  const sunrealtype energy = rigid_body_energy(&linkage.bodies, run->y);
  mech_run_start(run, _i % 2 ? CV_ADAMS : CV_BDF, 1e-8);
  if (_i % 2) cvodes_defaults(CPIntegratorGetCVodeMem(run->cpode));
  mech_run_to(run, 10);
  ck_assert_double_le(fabs(rigid_body_energy(&linkage.bodies, run->y) - energy),
                      mech_run_bound(run, 8, 3 * (G + 8)));
  mech_run_free(&run);

  run              = linkage_run(&linkage, _i / 2, acos(SUN_RCONST(0.0)), 1);
  CPMechOutput out = CP_INIT(CPMechOutput);
  ck_assert_int_eq(CPMechEvaluate(run->mech, 0, run->y, &out), CP_SUCCESS);
  ck_assert_int_eq(out.rank, 16);
  mech_run_free(&run);
}
END_TEST

/* ------------------------------------------------------ a pendulum in space, at two rods -- */

/* The rods have length 1 and sqrt(1 + d^2), and hang from the origin and from (0, 0, -d). The angle
 * between them has the sine d / sqrt(1 + d^2), and the motion is that of a pendulum in the plane
 * z = 0. */
static int unit_mass_in_space(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  for (int i = 0; i < 3; i++) SM_ELEMENT_D(M, i, i) = 1;
  return 0;
}

static int two_rods(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *distance) {
  (void)t;
  for (int j = 0; j < 3; j++) SM_ELEMENT_D(A, 0, j) = SM_ELEMENT_D(A, 1, j) = q[j];
  SM_ELEMENT_D(A, 1, 2) += *(const sunrealtype *)distance;
  return 0;
}

static int weight_in_space(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                           const sunrealtype *z, sunrealtype *f, void *distance) {
  (void)t, (void)q, (void)u, (void)z, (void)distance;
  f[1] = -G;
  return 0;
}

static int two_lengths(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *distance) {
  (void)t;
  p[0] = (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] - 1) / 2;
  p[1] = p[0] + *(const sunrealtype *)distance * q[2];
  return 0;
}

static int two_centripetal(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                           sunrealtype *b, void *distance) {
  (void)t, (void)q, (void)distance;
  b[0] = b[1] = -(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
  return 0;
}

/* Angles that are always narrow, as in overconstrained linkages, are no singular position. */
START_TEST(adams_projects_estimates_at_any_angle) {
  sunrealtype distance    = _i ? 0.05 : 1;
  const CPEquations model = {CP_SIZED(CPEquations),
                             .nu = 3,
                             .np = 2,
                             .M  = unit_mass_in_space,
                             .A  = two_rods,
                             .f  = weight_in_space,
                             .p  = two_lengths,
                             .b  = two_centripetal};
  IntegratorCounters stats;
  MechRun *run = mech_run_create(&model, &distance, (sunrealtype[]){0.6, -0.8, 0, 0, 0, 0});
  mech_run_start(run, CV_ADAMS, 1e-6);
  mech_run_to(run, 5);
  ck_assert_int_eq(integrator_counters(run->cpode, &stats), CP_SUCCESS);
  ck_assert_int_gt(stats.nproj, 50);
  ck_assert_int_ge(stats.nerrproj, stats.nproj);
  mech_run_free(&run);
}
END_TEST

/* ----------------------------------------------------------------- a quaternion of norm zero -- */

/* On the manifold 20 rows have rank 17. At a state that is off by d, also in directions that break
 * the parallel axes, they are independent, at angles of size d, and accelerations that satisfied
 * all of them would be off by their own size. Those of the mechanism change by O(d): by about 10 g
 * d for lengths and masses of 1, and by 100 times that about the rods, whose inertia is a
 * hundredth. */
START_TEST(accelerations_of_a_loop_depend_smoothly_on_its_state) {
  SpatialFourBar linkage;
  sunrealtype exact[18], udot[18];
  spatial_four_bar_create(&linkage, UNIT, 1, G, CP_FRAME_BODY);
  MechRun *run = linkage_run(&linkage, _i, 0.5, 1);
  ck_assert_int_eq(CPMechAccelerations(run->mech, 0, run->y, exact, NULL), CP_SUCCESS);
  for (sunrealtype d = 1e-5; d > 1e-11; d /= 10) {
    N_Vector y = vector_copy(run->y);
    for (int i = 0; i < 21; i++) entries(y)[i] += d * sin(1 + 7 * i);
    ck_assert_int_eq(CPMechAccelerations(run->mech, 0, y, udot, NULL), CP_SUCCESS);
    for (int j = 0; j < 18; j++)
      ck_assert_double_le(fabs(udot[j] - exact[j]), 1000 * G * d + 1e-11 * G);
    N_VDestroy(y);
  }
  mech_run_free(&run);
}
END_TEST

/* ------------------------------------------- rows that depend on each other on the manifold only -- */

/* q = (x, s), M = 1, p = (g, (1 + BEND s) g) with g = x + x^2 / 2. Off the manifold the rates
 * contradict each other by BEND g s', which neither x' nor s' should compensate. */
enum { BEND = 30 };

static int bent(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  p[0] = q[0] + q[0] * q[0] / 2;
  p[1] = (1 + BEND * q[1]) * p[0];
  return 0;
}

static int bent_rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  sunrealtype p[2];
  bent(t, q, p, user_data);
  *entry(A, 0, 0) = 1 + q[0];
  *entry(A, 0, 1) = 0;
  *entry(A, 1, 0) = (1 + BEND * q[1]) * (1 + q[0]);
  *entry(A, 1, 1) = BEND * p[0];
  return 0;
}

static int bent_rates(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                      void *user_data) {
  (void)t, (void)user_data;
  b[0] = -u[0] * u[0];
  b[1] = (1 + BEND * q[1]) * b[0] - 2 * BEND * (1 + q[0]) * u[0] * u[1];
  return 0;
}

/* Newton's first step leaves x = h^2 / 2 = 5e-11, half of what eps = 0.1 permits for positions, and
 * rates that contradict each other by 15 times what it permits for them. Loop index: dense, sparse. */
START_TEST(positions_are_as_near_as_the_velocities_need_them) {
  CPEquations model = {CP_SIZED(CPEquations), .nu = 2,   .np = 2,        .M = unit_mass,
                       .A = bent_rows,        .p = bent, .b = bent_rates};
  if (_i) {
    model.M_tmpl = SUNSparseMatrix(2, 2, 4, CSC_MAT, test_context);
    model.A_tmpl = SUNSparseMatrix(2, 2, 4, CSC_MAT, test_context);
    fill_sparse(model.M_tmpl);
    fill_sparse(model.A_tmpl);
  }
  MechRun *run = mech_run_create(&model, NULL, (sunrealtype[]){1e-5, 0, 1e-5, 1});
  N_Vector ewt = vector_of(4, NULL);
  N_VConst(1e9, ewt);
  ck_assert_msg(CPProjectorProject(CPMechGetProjector(run->mech), 0, run->y, ewt) == CP_SUCCESS,
                "%s", run->log.text);
  const sunrealtype *y = entries(run->y);
  ck_assert_double_le(fabs(y[2]), 1e-10);
  ck_assert_double_le(fabs((1 + BEND * y[1]) * y[2] + BEND * y[0] * y[3]), 1e-10);
  ck_assert_double_eq_tol(y[1], 0, 1e-8); /* a component that does not violate them stays */
  ck_assert_double_eq_tol(y[3], 1, 1e-8);
  N_VDestroy(ewt);
  if (_i) {
    SUNMatDestroy(model.M_tmpl);
    SUNMatDestroy(model.A_tmpl);
  }
  mech_run_free(&run);
}
END_TEST

START_TEST(quaternion_of_norm_zero_is_named) {
  const RigidBody body = {.m = 1, .J = {1, 2, 3}};
  CPQuaternion quaternion;
  RigidBodies bodies = {
      .nbodies = 1, .body = &body, .frame = CP_FRAME_BODY, .quaternion = &quaternion};
  CPEquations model;
  sunrealtype udot[6];
  ck_assert_int_eq(rigid_body_model(&bodies, 0, test_context, &model), 0);
  N_Vector zero = vector_of(13, NULL);
  MechRun *run  = mech_run_create(&model, &bodies, entries(zero));
  ck_assert_int_eq(CPMechAccelerations(run->mech, 0, run->y, udot, NULL), CP_QUATERNION_ZERO);
  ck_assert_mentions(run->log.text, "3 to 6");
  ck_assert_int_eq(CPMechCalcIC(run->mech, 0, run->y, NULL, NULL, NULL, NULL), CP_QUATERNION_ZERO);
  mech_run_free(&run);
  N_VDestroy(zero);
}
END_TEST

/* ------------------------------------------------------------ rows at a narrow angle, one of them twice -- */

/* q = (a, b, s): 0 = a,  0 = a + s (b + 10 b^2), which make the angle s, and 0 = a (1 + b), which
 * depends on the first; or only their rates */
static int narrow_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  for (int j = 0; j < 3; j++) SM_ELEMENT_D(M, j, j) = 1;
  return 0;
}

static int narrow_rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  const sunrealtype a = q[0], b = q[1], s = q[2];
  (void)t, (void)user_data;
  SM_ELEMENT_D(A, 0, 0) = SM_ELEMENT_D(A, 1, 0) = 1;
  SM_ELEMENT_D(A, 1, 1) = s * (1 + 20 * b), SM_ELEMENT_D(A, 1, 2) = b + 10 * b * b;
  SM_ELEMENT_D(A, 2, 0) = 1 + b, SM_ELEMENT_D(A, 2, 1) = a;
  return 0;
}

static int narrow_positions(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  const sunrealtype a = q[0], b = q[1], s = q[2];
  (void)t, (void)user_data;
  p[0] = a, p[1] = a + s * (b + 10 * b * b), p[2] = a * (1 + b);
  return 0;
}

/* Coordinates that are zero up to errors say nothing about the distance from the manifold, which is
 * 1e-8, and small compared with the angle 0.005. */
START_TEST(narrow_rows_count_where_coordinates_are_zero_but_for_errors) {
  const CPEquations of_positions = {CP_SIZED(CPEquations), .nu = 3,          .np = 3,
                                    .M = narrow_mass,      .A = narrow_rows, .p = narrow_positions};
  const CPEquations of_rates     = {CP_SIZED(CPEquations), .nu = 3, .nv = 3, .M = narrow_mass,
                                    .A = narrow_rows};
  const sunrealtype y0[]         = {1e-8, 1e-8, 0.005, 1e-8, 1e-8, 0.3};
  MechRun *run                   = mech_run_create(_i ? &of_rates : &of_positions, NULL, y0);
  N_Vector ewt                   = N_VClone(run->y);
  CPMechOutput out               = {CP_SIZED(CPMechOutput), .udot = NULL};
  sunindextype rank;
  N_VConst(1e6, ewt);
  ck_assert_int_eq(CPMechEvaluate(run->mech, 0, run->y, &out), CP_SUCCESS);
  ck_assert_int_eq(out.rank, 2);
  const CPProjector P = CPMechGetProjector(run->mech);
  ck_assert_int_eq(CPProjectorProject(P, 0, run->y, ewt), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorGetRank(P, &rank, NULL), CP_SUCCESS);
  ck_assert_int_eq(rank, _i ? 2 : 2 + 2); /* of all levels */
  for (int j = _i ? 3 : 0; j < 6; j++)
    if (j % 3 < 2) ck_assert_double_le(fabs(entries(run->y)[j]), 1e-6); /* the tolerance */
  N_VDestroy(ewt);
  mech_run_free(&run);
}
END_TEST

/* ------------------------------------------------------ masses on a taut line between two points -- */

/* Two unit masses in the plane and three rods of length 1, from (0, 0) to (end, 0). With end = 3 the rods are in
 * line: to first order the masses move across it, but their distances do not let them. With end = 1 the rods lie
 * on each other, and motions branch. */
typedef struct {
  sunrealtype end, along, across, from; /* loads; that across the line begins at this time */
} Line;

static int unit_masses(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  for (int j = 0; j < 4; j++) SM_ELEMENT_D(M, j, j) = 1;
  return 0;
}

static void along_rods(const sunrealtype *q, sunrealtype end, sunrealtype d[3][2]) {
  for (int k = 0; k < 2; k++) {
    d[0][k] = q[k];
    d[1][k] = q[2 + k] - q[k];
    d[2][k] = q[2 + k] - (k ? 0 : end);
  }
}

static int rod_rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  sunrealtype d[3][2];
  (void)t;
  along_rods(q, ((const Line *)user_data)->end, d);
  for (int k = 0; k < 2; k++) {
    SM_ELEMENT_D(A, 0, k)     = d[0][k];
    SM_ELEMENT_D(A, 1, k)     = -d[1][k];
    SM_ELEMENT_D(A, 1, 2 + k) = d[1][k];
    SM_ELEMENT_D(A, 2, 2 + k) = d[2][k];
  }
  return 0;
}

static int rod_lengths(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  sunrealtype d[3][2];
  (void)t;
  along_rods(q, ((const Line *)user_data)->end, d);
  for (int i = 0; i < 3; i++) p[i] = (d[i][0] * d[i][0] + d[i][1] * d[i][1] - 1) / 2;
  return 0;
}

static int rod_rates(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                     void *user_data) {
  sunrealtype d[3][2];
  (void)t, (void)q, (void)user_data;
  along_rods(u, 0, d);
  for (int i = 0; i < 3; i++) b[i] = -(d[i][0] * d[i][0] + d[i][1] * d[i][1]);
  return 0;
}

static int loads(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                 sunrealtype *f, void *user_data) {
  const Line *line = user_data;
  (void)q, (void)u, (void)z;
  f[0] = line->along;
  f[1] = t < line->from ? 0 : line->across * (t - line->from + (line->from == 0));
  return 0;
}

/* Integrates to t = 1 from rest and returns the code. */
static int run_line(const char *method, Line *line, sunrealtype tol, MechRun **run) {
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 4,    .np = 3,          .M = unit_masses,
                             .A = rod_rows,         .f = loads, .p = rod_lengths, .b = rod_rates};
  *run                    = mech_run_create(&model, line, (sunrealtype[]){1, 0, 2, 0, 0, 0, 0, 0});
  CPIntegrator s          = CPIntegratorCreate(method, test_context);
  ck_assert_ptr_nonnull(s);
  memset(&(*run)->log, 0, sizeof(*run)->log);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(s), message_log, &(*run)->log), CP_SUCCESS);
  ck_assert_int_eq(CPMechAttach((*run)->mech, s, 0, (*run)->y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(s, tol, tol), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetMaxNumSteps(s, 10000), CP_SUCCESS);
  const int flag = CPIntegratorEvolve(s, 1, (*run)->y, &(*run)->t, CV_NORMAL);
  CPIntegratorFree(&s);
  return flag;
}

static const struct {
  const char *name;
  sunrealtype tol;
} LINE_RUNS[] = {{"DOP853", 1e-4},  {"DOP853", 1e-9}, {"RADAU", 1e-3}, {"RADAU", 1e-6},
                 {"RADAU5", 1e-10}, {"BDF", 1e-4},    {"BDF", 1e-8},   {"ADAMS", 1e-5}};
enum { NUM_LINE_RUNS = sizeof LINE_RUNS / sizeof *LINE_RUNS };

START_TEST(a_load_across_a_taut_line_is_refused) {
  MechRun *run;
  Line line = {.end = 3, .along = 1, .across = -1};
  ck_assert_int_eq(run_line(LINE_RUNS[_i].name, &line, LINE_RUNS[_i].tol, &run),
                   CP_KKT_INCONSISTENT);
  ck_assert_double_eq(run->t, 0);
  ck_assert_mentions(run->log.text, "shaky");
  ck_assert_mentions(run->log.text, "2 freedoms");
  ck_assert_mentions(run->log.text, "constraint 0, constraint 1, constraint 2");
  mech_run_free(&run);
}
END_TEST

/* The load begins at t = 1/2, where it grows from 0. */
START_TEST(a_load_across_a_taut_line_is_refused_when_it_begins) {
  MechRun *run;
  Line line = {.end = 3, .along = 1, .across = -1, .from = 0.5};
  ck_assert_int_eq(run_line(LINE_RUNS[_i].name, &line, LINE_RUNS[_i].tol, &run),
                   CP_KKT_INCONSISTENT);
  ck_assert_double_ge(run->t, 0.5);
  ck_assert_mentions(run->log.text, "shaky");
  mech_run_free(&run);
}
END_TEST

/* Rods balance a load along the line, where they stay: of all tensions the shortest ones, of which the first rod
 * pulls with 2/3 and the others push with 1/3. */
START_TEST(a_load_along_a_taut_line_is_balanced) {
  MechRun *run;
  Line line = {.end = 3, .along = 1};
  sunrealtype lambda[3];
  CPMechOutput out = {CP_SIZED(CPMechOutput), .lambda = lambda};
  ck_assert_int_ge(run_line(LINE_RUNS[_i].name, &line, LINE_RUNS[_i].tol, &run), 0);
  ck_assert_double_le(mech_run_error(run, 8, (sunrealtype[]){1, 0, 2, 0, 0, 0, 0, 0}), 1e-14);
  ck_assert_int_eq(CPMechEvaluate(run->mech, 1, run->y, &out), CP_SUCCESS);
  ck_assert_double_eq_tol(lambda[0], 2.0 / 3, 1e-13);
  ck_assert_double_eq_tol(lambda[1], -1.0 / 3, 1e-13);
  ck_assert_double_eq_tol(lambda[2], -1.0 / 3, 1e-13);
  mech_run_free(&run);
}
END_TEST

TEST_SUITE(redundant) {
  Suite *suite = suite_create("redundant");
  TCase *tcase = tcase_create("redundant");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, doubled_rows_share_the_tension, 0, NUM_SOLVERS);
  tcase_add_test(tcase, doubled_rows_are_too_many_for_schur);
  tcase_add_loop_test(tcase, doubled_rows_that_disagree_are_named, 0, NUM_SOLVERS);
  tcase_add_loop_test(tcase, rows_that_contradict_others_on_the_way_are_named, 0, 4 * ONESTEPS);
  tcase_add_loop_test(tcase, doubled_rows_may_have_any_length, 0, 2 * ONESTEPS);
  tcase_add_loop_test(tcase, methods_agree_where_the_motion_depends_on_shared_multipliers, 0,
                      (SHARED_CASES - test_is_short()) * SHARED_METHODS);
  tcase_add_loop_test(tcase, torn_loop_is_refused, 0, 2);
  tcase_add_loop_test(tcase, velocities_that_contradict_are_named, 0, 2);
  tcase_add_loop_test(tcase, loop_passes_where_the_rank_falls, 0, 4);
  tcase_add_loop_test(tcase, accelerations_of_a_loop_depend_smoothly_on_its_state, 0, 2);
  tcase_add_loop_test(tcase, adams_projects_estimates_at_any_angle, 0, 2);
  tcase_add_loop_test(tcase, positions_are_as_near_as_the_velocities_need_them, 0, 2);
  tcase_add_loop_test(tcase, narrow_rows_count_where_coordinates_are_zero_but_for_errors, 0, 2);
  tcase_add_loop_test(tcase, a_load_across_a_taut_line_is_refused, 0, NUM_LINE_RUNS);
  tcase_add_loop_test(tcase, a_load_across_a_taut_line_is_refused_when_it_begins, 0, NUM_LINE_RUNS);
  tcase_add_loop_test(tcase, a_load_along_a_taut_line_is_balanced, 0, NUM_LINE_RUNS);
  tcase_add_test(tcase, quaternion_of_norm_zero_is_named);
  suite_add_tcase(suite, tcase);
  return suite;
}
