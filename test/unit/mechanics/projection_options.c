/* What can be changed in a mechanical system's projector between two steps, what cannot, what it
 * factors, and that its users do not disturb each other. */
#include "mechanics/cases.h"
#include "support/mech_run.h"

#include <cpodes/cpodes.h>
#include <float.h>
#include <math.h>
#include <models/counters.h>
#include <nvector/nvector_serial.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

/* ---- rows that are switched off ---- */

/* The first rows of A, among those that are on. */
static int rows_that_are_on(const System *s, const int *mask, int rows, double *A) {
  int count = 0;
  for (int i = 0; i < rows; i++) {
    if (mask[i] == 0) continue;
    for (int j = 0; j < s->nu; j++) A[count + j * s->nv] = A[i + j * s->nv];
    count++;
  }
  return count;
}

/* Rows that are on are satisfied, and the correction is along their normals alone. Roundoff: as in
 * projection.c. */
static void is_projected(const Case *c, const int *mask, N_Vector start, N_Vector y) {
  const System *s = c->s;
  double A[MAX_ROWS * MAX_U], K[MAX_ROWS * MAX_U], W[MAX_U * MAX_U], unit[MAX_ROWS], r[MAX_ROWS];
  double w[MAX_U], rest[MAX_U];
  system_normalise(s, entries(start));
  for (int velocities = 0; velocities < 2; velocities++) {
    const int rows = velocities ? s->nv : s->np;
    system_A(s, entries(velocities && !case_is_shared(c) ? y : start), A);
    system_units(s, velocities, A, unit);
    if (velocities) system_v(s, entries(y), entries(y) + s->nq, r);
    else system_p(s, entries(y), r);
    for (int i = 0; i < rows; i++)
      if (mask[i]) case_no_larger(c, "row", i, r[i], 1.4 * CP_EPS_DEFAULT * unit[i]);
    const int on = rows_that_are_on(s, mask, rows, A);
    system_metric(s, c->metric, velocities, entries(velocities && !case_is_shared(c) ? y : start),
                  W);
    const double condition = system_lift(s, on, A, W, K);
    if (!velocities) system_displacement(s, entries(start), entries(y), w);
    else
      for (int j = 0; j < s->nu; j++) w[j] = entries(y)[s->nq + j] - entries(start)[s->nq + j];
    memcpy(rest, w, sizeof rest);
    for (int i = 0; i < on; i++)
      for (int k = 0; k < s->nu; k++)
        for (int j = 0; j < s->nu; j++) rest[j] -= K[j + i * s->nu] * A[i + k * s->nv] * w[k];
    for (int j = 0; j < s->nu; j++)
      case_no_larger(c, "tangential part", j, rest[j],
                     1000 * DBL_EPSILON * condition * (1 + N_VMaxNorm(y)));
  }
}

static const SystemName switched[] = {PENDULUM, FOUR_BAR,        FOUR_BAR_SPARSE, KNIFE_EDGE,
                                      BODIES,   OPERATORS_CHAIN, BENDING_CHAIN};
enum { SWITCHED = sizeof switched / sizeof switched[0] };

START_TEST(rows_that_are_off_take_no_part) {
  unsigned long long state = 7;
  FOR_CASES(c, (int)switched[_i], 4) {
    int mask[MAX_ROWS];
    for (int round = 0; round < 6; round++) {
      for (int i = 0; i < c.s->nv; i++) mask[i] = random_number(&state) > 0;
      if (round == 5) memset(mask, 0, sizeof mask);
      ck_assert_int_eq(CPMechSetActive(c.s->mech, mask), CP_SUCCESS);
      N_Vector y = case_disturbed(c.s, 1e-6), start = vector_copy(y);
      case_project(&c, y);
      is_projected(&c, mask, start, y);
      N_VDestroy(start);
      N_VDestroy(y);
    }
    ck_assert_int_eq(CPMechSetActive(c.s->mech, NULL), CP_SUCCESS);
    N_Vector y = case_disturbed(c.s, 1e-6), start = vector_copy(y);
    for (int i = 0; i < c.s->nv; i++) mask[i] = 1;
    case_project(&c, y);
    is_projected(&c, mask, start, y);
    N_VDestroy(start);
    N_VDestroy(y);
  }
}
END_TEST

/* With all rows off, only the norms of quaternions remain; vectors lose only what changes a norm. */
START_TEST(without_rows_nothing_moves) {
  FOR_CASES(c, (int)switched[_i], 1) {
    const System *s    = c.s;
    const int mask[30] = {0};
    sunrealtype norm;
    sunindextype worst;
    N_Vector y = case_disturbed(s, 1e-3), start = vector_copy(y), v = case_disturbed(s, 1);
    ck_assert_int_eq(CPMechSetActive(s->mech, mask), CP_SUCCESS);
    ck_assert_int_eq(CPProjectorGetViolation(c.P, s->t, y, s->ewt, &norm, &worst), CP_SUCCESS);
    ck_assert(s->nquaternions > 0 ? norm > 1 && worst >= 0 : norm == 0 && worst == -1);
    case_project(&c, y);
    system_normalise(s, entries(start));
    ck_assert_double_le(max_distance(y, start), 2 * DBL_EPSILON);
    N_Vector w = vector_copy(v);
    ck_assert_int_eq(CPProjectorProjectVector(c.P, CP_TANGENT, s->t, y, s->ewt, v), CP_SUCCESS);
    for (int i = 0; s->nquaternions == 0 && i < s->n; i++)
      ck_assert_double_eq(entries(v)[i], entries(w)[i]);
    ck_assert_int_eq(CPMechCalcIC(s->mech, s->t, y, NULL, NULL, NULL, NULL), CP_SUCCESS);
    ck_assert_double_le(max_distance(y, start), 4 * DBL_EPSILON);
    N_VDestroy(y);
    N_VDestroy(start);
    N_VDestroy(v);
    N_VDestroy(w);
  }
}
END_TEST

/* ---- the metric ---- */

/* A projector that has worked in another metric gives the same result as a new one, to the last
 * bit. */
START_TEST(metrics_can_be_changed) {
  for (int from = CP_METRIC_DEFAULT; from <= CP_METRIC_L2; from++) FOR_CASES(c, _i, 1) {
      System *s = c.s, *other = system_create((SystemName)_i);
      N_Vector expected = case_disturbed(s, 1e-4), y = vector_copy(expected);
      case_project(&c, expected);
      CPProjector P = CPMechGetProjector(other->mech);
      if (CPMechSetMetric(other->mech, (CPMechMetric)from) == CP_SUCCESS) {
        N_Vector first = case_disturbed(s, 2e-4);
        ck_assert_int_eq(CPProjectorProject(P, s->t, first, s->ewt), CP_SUCCESS);
        ck_assert_int_eq(CPMechSetMetric(other->mech, c.metric), CP_SUCCESS);
        ck_assert_int_eq(CPProjectorProject(P, s->t, y, s->ewt), CP_SUCCESS);
        ck_assert_msg(same_bits(y, expected), "%s, after metric %d: %g", c.name, from,
                      max_distance(y, expected));
        N_VDestroy(first);
      }
      N_VDestroy(expected);
      N_VDestroy(y);
      system_free(&other);
    }
}
END_TEST

/* ---- with an integrator ---- */

typedef struct {
  System *s;
  CPIntegrator mem;
  N_Vector y;
  sunrealtype t;
} Run;

static Run start(SystemName name, CPMechMetric metric, int lmm) {
  Run r = {.s = system_create(name)};
  r.t   = r.s->t;
  r.y   = vector_copy(r.s->y);
  r.mem = CPIntegratorCreate(lmm == CV_BDF ? "BDF" : "ADAMS", test_context);
  ck_assert_ptr_nonnull(r.mem);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(r.mem), message_log, &r.s->log), CP_SUCCESS);
  ck_assert_int_eq(CPMechSetMetric(r.s->mech, metric), CP_SUCCESS);
  if (!r.s->model.M) ck_assert_int_eq(CPMechSetNewton(r.s->mech, CP_NEWTON_HALF), CP_SUCCESS);
  ck_assert_msg(CPMechAttach(r.s->mech, r.mem, r.t, r.y) == CP_SUCCESS, "%s", r.s->log.text);
  ck_assert_int_eq(CPIntegratorSStolerances(r.mem, 1e-6, 1e-6), CP_SUCCESS);
  return r;
}

static void step(Run *r) {
  const int flag = CPIntegratorEvolve(r->mem, r->t + 1, r->y, &r->t, CV_ONE_STEP);
  ck_assert_msg(flag == CP_SUCCESS, "%s: %d, %s", r->s->name, flag, r->s->log.text);
}

static void finish(Run *r) {
  CPIntegratorFree(&r->mem);
  N_VDestroy(r->y);
  system_free(&r->s);
}

/* All queries at a state, at a copy of it and at another one */
static void ask(Run *r) {
  System *s     = r->s;
  CPProjector P = CPMechGetProjector(s->mech);
  N_Vector y = vector_copy(r->y), off = case_disturbed(s, 1e-3), v = case_disturbed(s, 1);
  sunrealtype norm, udot[MAX_U], lambda[MAX_ROWS], x[MAX_U] = {1};
  CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = udot, .lambda = lambda};
  ck_assert_int_eq(CPProjectorProject(P, r->t, y, s->ewt), CP_SUCCESS);
  CPProjectorProject(P, s->t, off, s->ewt); /* the state may be far from the start */
  ck_assert_int_eq(CPProjectorProjectVector(P, CP_TANGENT, r->t, y, s->ewt, v), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorProjectVector(P, CP_COTANGENT, r->t, y, s->ewt, v), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorGetViolation(P, r->t, y, s->ewt, &norm, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPMechEvaluate(s->mech, r->t, y, &out), CP_SUCCESS);
  ck_assert_int_eq(CPMechAccelerations(s->mech, r->t, off, udot, lambda), CP_SUCCESS);
  ck_assert_int_eq(CPMechProject(s->mech, CP_TANGENT, r->t, y, x), CP_SUCCESS);
  ck_assert_int_eq(CPMechProject(s->mech, CP_COTANGENT, r->t, off, x), CP_SUCCESS);
  N_VDestroy(y);
  N_VDestroy(off);
  N_VDestroy(v);
}

enum { STEPS = 60 };

/* Two methods, then the metrics */
START_TEST(questions_do_not_change_the_trajectory) {
  const int lmm             = _i % 2 ? CV_ADAMS : CV_BDF;
  const CPMechMetric metric = metrics[_i / 2 % METRICS];
  const SystemName name     = (SystemName)(_i / 2 / METRICS);
  if (name == OPERATORS_CHAIN && metric == CP_METRIC_NEWTON) return;
  Run silent = start(name, metric, lmm), asked = start(name, metric, lmm);
  for (int k = 0; k < STEPS; k++) {
    step(&silent);
    step(&asked);
    ck_assert_msg(silent.t == asked.t && same_bits(silent.y, asked.y), "%s, metric %d: step %d",
                  silent.s->name, (int)metric, k);
    ask(&asked);
  }
  finish(&silent);
  finish(&asked);
}
END_TEST

/* Factors of positions, velocities and error estimates, renewed in every step: one for all of them
 * if the metric and the rows are the same for positions and velocities, otherwise two. If the error
 * had its own factors, there would be twice as many; it gets new ones only when those of the state
 * are too old. */
START_TEST(levels_share_their_factors) {
  const CPMechMetric metric = metrics[_i % METRICS];
  Run r                     = start(_i < METRICS ? PENDULUM : FOUR_BAR_SPARSE, metric, CV_ADAMS);
  MechCounters before, after;
  IntegratorCounters proj_before, proj_after;
  for (int k = 0; k < 20; k++) step(&r);
  mech_counters(r.s->mech, &before);
  integrator_counters(r.mem, &proj_before);
  for (int k = 0; k < STEPS; k++) {
    ck_assert_int_eq(CPProjectorSetUserData(CPMechGetProjector(r.s->mech), NULL),
                     CP_SUCCESS); /* new ones */
    step(&r);
  }
  mech_counters(r.s->mech, &after);
  integrator_counters(r.mem, &proj_after);
  const long int made = after.nprojfact - before.nprojfact;
  const long int each = metric == CP_METRIC_ERROR ? 2 : 1;
  const long int projections =
      proj_after.nproj + proj_after.nprojfails - proj_before.nproj - proj_before.nprojfails;
  ck_assert_int_ge(projections, STEPS);
  ck_assert_int_ge(made, each * projections);
  ck_assert_int_le(2 * made, 3 * each * projections);
  finish(&r);
}
END_TEST

/* A perturbation of a swing grows by at most the number of periods, and each step has an error of
 * at most the tolerance (1 + |y|). */
START_TEST(metrics_can_be_changed_between_steps) {
  Run r       = start(PENDULUM, CP_METRIC_DEFAULT, _i ? CV_ADAMS : CV_BDF);
  Pendulum *p = r.s->user_data;
  sunrealtype exact[4];
  pendulum_initial(p, r.y);
  ck_assert_int_eq(CPIntegratorReInit(r.mem, 0, r.y), CP_SUCCESS);
  r.t = 0;
  int k;
  for (k = 0; r.t < 2; k++) {
    step(&r);
    ck_assert_int_eq(CPMechSetMetric(r.s->mech, metrics[k % METRICS]), CP_SUCCESS);
  }
  pendulum_exact(p, r.t, exact);
  for (int i = 0; i < 4; i++)
    ck_assert_double_le(fabs(entries(r.y)[i] - exact[i]), k * 1e-6 * (1 + sqrt(2 * 9.81)));
  finish(&r);
}
END_TEST

/* ---- the metric of Newton's matrix ---- */

static const sunrealtype STIFFNESS = 1e6;

static int unit_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q, (void)data;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = 1;
  return 0;
}

static int diagonal(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  (void)t, (void)q, (void)data;
  SM_ELEMENT_D(A, 0, 0) = SM_ELEMENT_D(A, 0, 1) = 1;
  return 0;
}

static int on_diagonal(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  (void)t, (void)data;
  p[0] = q[0] + q[1];
  return 0;
}

static int spring(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *data) {
  (void)t, (void)u, (void)z, (void)data;
  f[0] = -STIFFNESS * q[0];
  return 0;
}

/* x + y = 0 with a spring along x: W = diag(1 + gamma^2 k, 1), so that corrections have the
 * direction W^-1 (1, 1), which reveals gamma. CVODES renews the matrix when gamma has changed by 30
 * %. */
START_TEST(metric_of_newton_follows_gamma) {
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 2,          .np = 1,    .M = unit_mass,
                             .A = diagonal,         .p = on_diagonal, .f = spring};
  N_Vector y = VECTOR(1e-3, -1e-3, 0, 0), ewt = VECTOR(1e6, 1e6, 1e6, 1e6);
  CPMech mech      = create_mech(&model, y, test_context);
  CPIntegrator mem = CPIntegratorCreate("BDF", test_context);
  sunrealtype t    = 0, gamma;
  ck_assert_int_eq(CPMechSetMetric(mech, CP_METRIC_NEWTON), CP_SUCCESS);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-6, 1e-6), CP_SUCCESS);
  for (int k = 0; k < STEPS; k++) {
    ck_assert_int_eq(CPIntegratorEvolve(mem, 1, y, &t, CV_ONE_STEP), CP_SUCCESS);
    N_Vector off   = vector_copy(y);
    sunrealtype *q = entries(off);
    q[1] += 1e-3;
    const sunrealtype x0 = q[0], y0 = q[1];
    ck_assert_int_eq(CPProjectorProject(CPMechGetProjector(mech), t, off, ewt), CP_SUCCESS);
    const sunrealtype implied = sqrt(((q[1] - y0) / (q[0] - x0) - 1) / STIFFNESS);
    ck_assert_int_eq(CVodeGetCurrentGamma(CPIntegratorGetCVodeMem(mem), &gamma), CV_SUCCESS);
    ck_assert_double_le(fabs(gamma / implied - 1), 0.3 + 1e-6);
    N_VDestroy(off);
  }
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  N_VDestroy(y);
  N_VDestroy(ewt);
}
END_TEST

/* ---- options of projectors ---- */

static int any_constraints(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *data) {
  (void)t, (void)y, (void)c, (void)G, (void)data;
  return 0;
}
static int any_product(sunrealtype t, N_Vector y, N_Vector x, N_Vector r, void *data) {
  (void)t, (void)y, (void)x, (void)r, (void)data;
  return 0;
}
static int any_matrix(sunrealtype t, N_Vector y, SUNMatrix M, void *data) {
  (void)t, (void)y, (void)M, (void)data;
  return 0;
}
static void is_refused(const System *s, int flag, int line) {
  ck_assert_msg(flag == CP_NOT_SUPPORTED, "line %d: %d, %s", line, flag, s->log.text);
  ck_assert_mentions(s->log.text, "mechanical system");
}
#define REFUSED(call) is_refused(s, (call), __LINE__)

START_TEST(options_of_constraints_are_refused) {
  System *s     = system_create(_i ? OPERATORS_CHAIN : PENDULUM);
  CPProjector P = CPMechGetProjector(s->mech);
  SUNMatrix G   = SUNDenseMatrix(s->np, s->n, test_context),
            M   = SUNDenseMatrix(s->n, s->n, test_context);
  N_Vector rows = vector_of(s->np + s->nv, NULL);
  sunrealtype err;
  for (int after = 0; after < 2; after++) { /* also the first use */
    REFUSED(CPProjectorSetJacFn(P, any_constraints, G));
    REFUSED(CPProjectorSetJacFn(P, NULL, NULL));
    REFUSED(CPProjectorSetSchurDiag(P, any_product));
    REFUSED(CPProjectorSetPreconditioner(P, NULL, any_product));
    REFUSED(CPProjectorAddUnitNorm(P, 0, 2, 1));
    REFUSED(CPProjectorSetActive(P, (int[]){1, 1}));
    REFUSED(CPProjectorSetLevels(P, NULL, NULL));
    REFUSED(CPProjectorSetLevels(P, (int[]){0}, (int[]){0}));
    REFUSED(CPProjectorSetNorm(P, CP_NORM_L2, NULL, NULL));
    REFUSED(CPProjectorSetMetricProduct(P, any_product));
    REFUSED(CPProjectorSetNorm(P, CP_NORM_MATRIX, any_matrix, M));
    REFUSED(CPProjectorSetConstraintTol(P, rows));
    REFUSED(CPProjectorSetFree(P, (int[]){1}));
    REFUSED(CPProjectorCheckJac(P, s->t, s->y, s->ewt, &err, NULL, NULL));
    ck_assert_int_eq(CPProjectorProject(P, s->t, s->y, s->ewt), CP_SUCCESS);
  }
  SUNMatDestroy(G);
  SUNMatDestroy(M);
  N_VDestroy(rows);
  system_free(&s);
}
END_TEST

/* eps and the solver are set by the user; factors serve for ten projections. */
START_TEST(options_of_the_iteration_are_heard) {
  System *s     = system_create(BODIES);
  CPProjector P = CPMechGetProjector(s->mech);
  ProjectorCounters stats;
  CPLinSol type;
  const char *reason;
  sunrealtype norm;
  N_Vector y = case_disturbed(s, 1e-2);
  ck_assert_int_eq(CPProjectorSetEps(P, 1e-6), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorProject(P, s->t, y, s->ewt), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorGetViolation(P, s->t, y, s->ewt, &norm, NULL), CP_SUCCESS);
  ck_assert_double_le(norm, 1.1e-6);
  ck_assert_int_eq(CPProjectorSetEps(P, 2), CP_ILL_INPUT);
  ck_assert_int_eq(CPProjectorSetLinearSolver(P, CP_LINSOL_QR), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorProject(P, s->t, y, s->ewt), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorGetLinearSolver(P, &type, &reason), CP_SUCCESS);
  ck_assert_int_eq(type, CP_LINSOL_QR);
  ck_assert_int_eq(projector_counters(P, &stats), CP_SUCCESS);
  const long int before = stats.nsetups;
  for (int k = 0; k < 10; k++) ck_assert_int_eq(CPProjectorProject(P, s->t, y, s->ewt), CP_SUCCESS);
  ck_assert_int_eq(projector_counters(P, &stats), CP_SUCCESS);
  ck_assert_int_eq(stats.nsetups - before, 1); /* with the tenth */
  ck_assert_int_eq(stats.nproj, 12);
  N_VDestroy(y);
  system_free(&s);
}
END_TEST

/* Three coordinates that a dense M couples, and two constraints in different components of A. */
static int coupled_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  static const double entry[3] = {2.0, 1.0, 0.5};
  (void)t, (void)q, (void)data;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) SM_ELEMENT_D(M, i, j) = entry[abs(i - j)];
  return 0;
}

static int separate_rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  static const sunindextype start[] = {0, 1, 1, 2};
  (void)t, (void)data;
  memcpy(SM_INDEXPTRS_S(A), start, sizeof start);
  for (int i = 0; i < 2; i++) SM_INDEXVALS_S(A)[i] = i, SM_DATA_S(A)[i] = 2.0 * q[2 * i];
  return 0;
}

static int no_force(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                    sunrealtype *f, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)data;
  memset(f, 0, 3 * sizeof *f);
  return 0;
}

static int fixed_distances(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  (void)t, (void)data;
  for (int i = 0; i < 2; i++) p[i] = q[2 * i] * q[2 * i] - 1.0;
  return 0;
}

/* A dense M may couple all rows, which CP_LINSOL_SPARSE therefore does not solve. */
START_TEST(a_dense_mass_couples_the_blocks_of_sparse_rows) {
  const sunrealtype state[6] = {1.1, 0.0, 0.9, 1.0, 0.0, -1.0};
  sunrealtype by[2][6];
  SUNMatrix A       = SUNSparseMatrix(2, 3, 2, CSC_MAT, test_context);
  CPEquations model = {
      CP_SIZED(CPEquations), .nu = 3, .np = 2, .M = coupled_mass, .A = separate_rows, .f = no_force,
      .p = fixed_distances};
  separate_rows(0.0, state, A, NULL);
  model.A_tmpl = A;
  for (int k = 0; k < 2; k++) {
    N_Vector y = N_VMake_Serial(6, by[k], test_context), ewt = N_VClone(y);
    CPMech mech = create_mech(&model, y, test_context);
    memcpy(by[k], state, sizeof state);
    N_VConst(1e8, ewt);
    ck_assert_int_eq(CPMechSetMetric(mech, CP_METRIC_KINETIC), CP_SUCCESS);
    CPProjector P = CPMechGetProjector(mech);
    ck_assert_int_eq(CPProjectorSetLinearSolver(P, k ? CP_LINSOL_SPARSE : CP_LINSOL_QR), CP_SUCCESS);
    ck_assert_int_eq(CPProjectorProject(P, 0.0, y, ewt), CP_SUCCESS);
    CPMechFree(&mech);
    N_VDestroy(ewt);
    N_VDestroy(y);
  }
  /* Both end within 0.1 / 1e8 of the nearest state. */
  for (int i = 0; i < 6; i++) ck_assert_double_eq_tol(by[0][i], by[1][i], 1e-8);
  SUNMatDestroy(A);
}
END_TEST

TEST_SUITE(projection_options) {
  Suite *suite = suite_create("projection_options");
  TCase *tcase = tcase_create("options");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, rows_that_are_off_take_no_part, 0, SWITCHED);
  tcase_add_loop_test(tcase, without_rows_nothing_moves, 0, SWITCHED);
  tcase_add_loop_test(tcase, metrics_can_be_changed, 0, SYSTEMS);
  tcase_add_test(tcase, a_dense_mass_couples_the_blocks_of_sparse_rows);
  tcase_add_loop_test(tcase, questions_do_not_change_the_trajectory, 0, 2 * METRICS * SYSTEMS);
  tcase_add_loop_test(tcase, levels_share_their_factors, 0, 2 * METRICS);
  tcase_add_loop_test(tcase, metrics_can_be_changed_between_steps, 0, 2);
  tcase_add_test(tcase, metric_of_newton_follows_gamma);
  tcase_add_loop_test(tcase, options_of_constraints_are_refused, 0, 2);
  tcase_add_test(tcase, options_of_the_iteration_are_heard);
  suite_add_tcase(suite, tcase);
  return suite;
}
