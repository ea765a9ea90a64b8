/* Constraints that come and go along a motion: a bead on a rod in a plane.
 *
 *   x'' = -tau x,  y'' = -tau y - g,  z'' = -tau z - g_z + lambda        tau: the rod, lambda: the plane
 *
 *   0 = (|r|^2 - L^2) / 2,  0 = r . v        rod      [rows 0, 1]
 *   0 = z,                  0 = v_z          plane    [rows 2, 3]
 *
 * A row that is switched off has no force either. With both the bead is a pendulum (closed form), with the
 * plane alone it falls along a parabola in it, with none along one in space. */
#include "reference.h"

#include <cpodes/cpodes_matrixfree.h>
#include <math.h>
#include <models/counters.h>
#include <string.h>
#include <sunmatrix/sunmatrix_sparse.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

enum { N = 6, M = 4 };

typedef struct {
  sunrealtype L, g, gz;
  int rod, plane; /* active? */
} Bead;

static int bead_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *data) {
  const Bead *b        = data;
  const sunrealtype *r = entries(y), *v = r + 3;
  sunrealtype *f        = entries(ydot);
  const sunrealtype gz  = b->plane ? 0 : b->gz;
  const sunrealtype r2  = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
  const sunrealtype v2  = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
  const sunrealtype tau = b->rod ? (v2 - b->g * r[1] - gz * r[2]) / r2 : 0;
  (void)t;
  for (int k = 0; k < 3; k++) {
    f[k]     = v[k];
    f[3 + k] = -tau * r[k];
  }
  f[4] -= b->g;
  f[5] = b->plane ? 0 : f[5] - gz;
  return 0;
}

static int bead_c(sunrealtype t, N_Vector y, N_Vector c, void *data) {
  const Bead *b        = data;
  const sunrealtype *r = entries(y), *v = r + 3;
  (void)t;
  entries(c)[0] = (r[0] * r[0] + r[1] * r[1] + r[2] * r[2] - b->L * b->L) / 2;
  entries(c)[1] = r[0] * v[0] + r[1] * v[1] + r[2] * v[2];
  entries(c)[2] = r[2];
  entries(c)[3] = v[2];
  return 0;
}

static void dense_G(const sunrealtype *r, sunrealtype G[M][N]) {
  for (int k = 0; k < 3; k++) {
    G[0][k] = G[1][3 + k] = r[k];
    G[1][k]               = r[3 + k];
    G[2][k] = G[3][3 + k] = k == 2;
  }
}

static int bead_jac(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix A, void *data) {
  sunrealtype G[M][N] = {{0}};
  (void)t;
  (void)c;
  (void)data;
  dense_G(entries(y), G);
  for (int j = 0; j < N; j++) {
    if (SUNMatGetID(A) == SUNMATRIX_DENSE)
      for (int i = 0; i < M; i++) SM_ELEMENT_D(A, i, j) = G[i][j];
    else
      for (sunindextype k = SM_INDEXPTRS_S(A)[j]; k < SM_INDEXPTRS_S(A)[j + 1]; k++)
        SM_DATA_S(A)[k] = G[SM_INDEXVALS_S(A)[k]][j];
  }
  return 0;
}

static int bead_Gv(sunrealtype t, N_Vector y, N_Vector v, N_Vector Gv, void *data) {
  sunrealtype G[M][N] = {{0}};
  (void)t;
  (void)data;
  dense_G(entries(y), G);
  N_VConst(0, Gv);
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) entries(Gv)[i] += G[i][j] * entries(v)[j];
  return 0;
}

static int bead_GTw(sunrealtype t, N_Vector y, N_Vector w, N_Vector GTw, void *data) {
  sunrealtype G[M][N] = {{0}};
  (void)t;
  (void)data;
  dense_G(entries(y), G);
  N_VConst(0, GTw);
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) entries(GTw)[j] += G[i][j] * entries(w)[i];
  return 0;
}

/* The entries that are not zero at a state of no zeros */
static SUNMatrix bead_template(int sparse) {
  const sunrealtype ones[N] = {1, 1, 1, 1, 1, 1};
  sunrealtype G[M][N]       = {{0}};
  SUNMatrix A               = SUNDenseMatrix(M, N, test_context);
  dense_G(ones, G);
  for (int j = 0; j < N; j++)
    for (int i = 0; i < M; i++) SM_ELEMENT_D(A, i, j) = G[i][j];
  if (!sparse) return A;
  SUNMatrix S = SUNSparseFromDenseMatrix(A, 0, CSC_MAT);
  SUNMatDestroy(A);
  return S;
}

/* ------------------------------------------------------------------------------------------- runs -- */

static const CPLinSol solvers[] = {CP_LINSOL_AUTO, CP_LINSOL_SCHUR, CP_LINSOL_QR, CP_LINSOL_SPARSE,
                                   CP_LINSOL_PRODUCTS};
enum { N_SOLVERS = sizeof solvers / sizeof solvers[0] };

static const sunrealtype tol = 1e-8;

static Bead bead;
static CPProjector P;
static CPIntegrator mem;
static N_Vector y;
static sunrealtype t;
static MessageLog messages;
static SUNNonlinearSolver fixed_point;

/* At rest at (1, 0, 0) */
static void open_run(CPLinSol type) {
  N_Vector c = vector_of(M, NULL);
  bead       = (Bead){1, SUN_RCONST(9.81), 2, 1, 1};
  t          = 0;
  y          = VECTOR(1, 0, 0, 0, 0, 0);
  messages   = (MessageLog){0};
  P          = type == CP_LINSOL_PRODUCTS
                   ? CPProjectorCreateProducts(bead_c, bead_Gv, bead_GTw, y, c, test_context)
                   : CPProjectorCreate(bead_c, y, c, test_context);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &messages), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetUserData(P, &bead), CP_SUCCESS);
  if (type == CP_LINSOL_PRODUCTS) {
    const int row[] = {0, 1, 0, 1};
    const int col[] = {0, 0, 0, 1, 1, 1};
    ck_assert_int_eq(CPProjectorSetLevels(P, row, col), CP_SUCCESS);
  } else {
    ck_assert_int_eq(CPProjectorSetLinearSolver(P, type), CP_SUCCESS);
    SUNMatrix G = bead_template(type == CP_LINSOL_SPARSE);
    ck_assert_int_eq(CPProjectorSetJacFn(P, bead_jac, G), CP_SUCCESS);
    SUNMatDestroy(G);
  }
  mem = CPIntegratorCreate("ADAMS", test_context);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &messages), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorInit(mem, bead_rhs, 0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, tol, tol), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetProjector(mem, P), CP_SUCCESS);
  fixed_point = SUNNonlinSol_FixedPoint(y, 0, test_context);
  ck_assert_int_eq(CPIntegratorSetNonlinearSolver(mem, fixed_point), CP_SUCCESS);
  ck_assert_int_eq(CVodeSetUserData(CPIntegratorGetCVodeMem(mem), &bead), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetMaxNumSteps(CPIntegratorGetCVodeMem(mem), 100000), CV_SUCCESS);
  /* a parabola is integrated exactly in one step of any length */
  ck_assert_int_eq(CVodeSetMaxStep(CPIntegratorGetCVodeMem(mem), 0.02), CV_SUCCESS);
  N_VDestroy(c);
}

static void close_run(void) {
  CPIntegratorFree(&mem);
  CPProjectorFree(&P);
  SUNNonlinSolFree(fixed_point);
  N_VDestroy(y);
}

/* The state with the forces that belong to it, before CVODES knows it */
static void switch_to(int rod, int plane) {
  const int mask[] = {rod, rod, plane, plane};
  bead.rod         = rod;
  bead.plane       = plane;
  ck_assert_int_eq(CPProjectorSetActive(P, rod && plane ? NULL : mask), CP_SUCCESS);
}

static void restart(void) { ck_assert_int_eq(CPIntegratorReInit(mem, t, y), CP_SUCCESS); }

static void go_to(sunrealtype tout) {
  const int flag = CPIntegratorEvolve(mem, tout, y, &t, CV_NORMAL);
  ck_assert_msg(flag == CP_SUCCESS, "%d at t = %g: %s", flag, t, messages.text);
}

static ProjectorCounters stats(void) {
  ProjectorCounters s;
  ck_assert_int_eq(projector_counters(P, &s), CP_SUCCESS);
  return s;
}

/* About 100 steps in each part of the motion, each with an error of tol (1 + |y|), |y| < 10; errors
 * of pendulum and parabola grow linearly, at most tenfold in a second. */
static sunrealtype bound(void) { return 100 * tol * 10 * 10; }

static void expect_state(const sunrealtype *exact) {
  ck_assert_double_le(error_against(y, exact), bound());
}

static const sunrealtype t_cut = 0.4, t_fall = 0.3;

/* y after the pendulum's motion up to t_cut. pendulum: its closed form */
static void swing(void) {
  const Pendulum pendulum = {1, bead.g};
  sunrealtype q[PENDULUM_N];
  pendulum_exact(&pendulum, t_cut, q);
  go_to(t_cut);
  const sunrealtype exact[N] = {q[0], q[1], 0, q[2], q[3], 0};
  expect_state(exact);
}

/* The parabola of t_fall from y */
static void fall(sunrealtype *exact) {
  const sunrealtype *s   = entries(y);
  const sunrealtype a[3] = {0, -bead.g, bead.plane ? 0 : -bead.gz};
  for (int k = 0; k < 3; k++) {
    exact[k]     = s[k] + t_fall * s[3 + k] + t_fall * t_fall * a[k] / 2;
    exact[3 + k] = s[3 + k] + t_fall * a[k];
  }
}

START_TEST(a_cut_rod_leaves_a_parabola_in_the_plane) {
  sunrealtype exact[N];
  open_run(solvers[_i]);
  swing();
  switch_to(0, 1);
  restart();
  fall(exact);
  go_to(t_cut + t_fall);
  expect_state(exact);
  ck_assert_double_le(fabs(entries(y)[2]) + fabs(entries(y)[5]), 2 * tol); /* in the plane */
  ck_assert_int_eq(messages.count, 0);
  close_run();
}
END_TEST

/* The rod is switched on again, with a length equal to the present distance of the bead, and keeps
 * the bead's tangential velocity. From there the angle's equation, theta'' = -g / L sin theta, is
 * solved by the classical Runge-Kutta method, in steps of 1e-5. */
static void pendulum_from(const sunrealtype *s, sunrealtype duration, sunrealtype *exact) {
  const sunrealtype L = hypot(s[0], s[1]), w2 = bead.g / L;
  sunrealtype a = atan2(s[0], -s[1]), w = (-s[1] * s[3] + s[0] * s[4]) / (L * L);
  const int steps     = 100000;
  const sunrealtype h = duration / steps;
  for (int i = 0; i < steps; i++) {
    const sunrealtype a1 = w, w1 = -w2 * sin(a);
    const sunrealtype a2 = w + h / 2 * w1, w2_ = -w2 * sin(a + h / 2 * a1);
    const sunrealtype a3 = w + h / 2 * w2_, w3 = -w2 * sin(a + h / 2 * a2);
    const sunrealtype a4 = w + h * w3, w4 = -w2 * sin(a + h * a3);
    a += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4);
    w += h / 6 * (w1 + 2 * w2_ + 2 * w3 + w4);
  }
  const sunrealtype end[N] = {L * sin(a), -L * cos(a), 0, L * w * cos(a), L * w * sin(a), 0};
  for (int j = 0; j < N; j++) exact[j] = end[j];
}

START_TEST(a_rod_that_is_put_back_swings_on) {
  sunrealtype exact[N];
  open_run(solvers[_i]);
  swing();
  switch_to(0, 1);
  restart();
  go_to(t_cut + t_fall);

  sunrealtype *s           = entries(y);
  bead.L                   = sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]);
  const sunrealtype radial = (s[0] * s[3] + s[1] * s[4] + s[2] * s[5]) / (bead.L * bead.L);
  for (int k = 0; k < 3; k++) s[3 + k] -= radial * s[k];
  switch_to(1, 1);
  restart();
  pendulum_from(s, 1, exact);
  go_to(t + 1);
  expect_state(exact);
  ck_assert_int_eq(messages.count, 0);
  close_run();
}
END_TEST

/* Only values are recomputed: G and its factors once, without levels and differences. */
START_TEST(nothing_is_analysed_again) {
  open_run(solvers[_i]);
  swing();
  for (int i = 0; i < 4; i++) {
    const ProjectorCounters before = stats();
    N_Vector ewt                   = vector_of(N, NULL);
    N_VConst(1 / tol, ewt);
    switch_to(i % 2, 1);
    ck_assert_int_eq(CPProjectorProject(P, t, y, ewt), CP_SUCCESS);
    ck_assert_int_eq(stats().nje - before.nje, 1);
    ck_assert_int_eq(stats().nceDQ, before.nceDQ);
    ck_assert_int_eq(stats().nlevels, before.nlevels);
    if (solvers[_i] != CP_LINSOL_PRODUCTS) {
      ck_assert_int_eq(stats().nsetups - before.nsetups, 2); /* levels */
      ck_assert_int_eq(stats().rank, i % 2 ? 4 : 2);
    }
    N_VDestroy(ewt);
  }
  close_run();
}
END_TEST

/* Switching on the rod with the old length, after the fall, is an error that names it, both at a
 * new start and during the run, and the state is that from before. Without the rod the run
 * continues. */
static void expect_violation(int code, N_Vector good, sunrealtype t_good) {
  const int flag = CPIntegratorEvolve(mem, t_good + 1, y, &t, CV_NORMAL);
  ck_assert_msg(flag == code, "%d: %s", flag, messages.text);
  ck_assert_int_eq(messages.code, code);
  ck_assert_msg(strstr(messages.text, "constraint 0") || strstr(messages.text, "constraint 1"),
                "%s", messages.text);
  ck_assert_double_eq(t, t_good);
  ck_assert(same_bits(y, good));
}

START_TEST(switching_on_what_is_violated_is_refused) {
  sunrealtype exact[N];
  open_run(solvers[_i]);
  swing();
  switch_to(0, 1);
  restart();
  ck_assert_int_eq(CPIntegratorEvolve(mem, t_cut + t_fall / 2, y, &t, CV_ONE_STEP), CP_SUCCESS);
  while (t < t_cut + t_fall / 2)
    ck_assert_int_eq(CPIntegratorEvolve(mem, t_cut + t_fall, y, &t, CV_ONE_STEP), CP_SUCCESS);
  N_Vector good            = vector_copy(y);
  const sunrealtype t_good = t;

  switch_to(1, 1); /* during the run: no step is short enough */
  expect_violation(CP_PROJ_CORRECTION, good, t_good);
  restart(); /* at a new start */
  expect_violation(CP_INCONSISTENT_IC, good, t_good);

  switch_to(0, 1);
  restart();
  fall(exact);
  go_to(t_good + t_fall);
  expect_state(exact);
  N_VDestroy(good);
  close_run();
}
END_TEST

/* Within the step that CVODES has already taken, the motion is the old one. If it were moved to the
 * new constraints, a thousandth of the rod away, it would be neither motion: the unprojected state
 * is returned, with a code. */
START_TEST(output_of_the_step_before_the_switch_stays_raw) {
  sunrealtype h;
  open_run(solvers[_i]);
  swing();
  ck_assert_int_eq(CPIntegratorEvolve(mem, t + 1, y, &t, CV_ONE_STEP), CP_SUCCESS);
  ck_assert_int_eq(CVodeGetLastStep(CPIntegratorGetCVodeMem(mem), &h), CV_SUCCESS);
  const sunrealtype between = t - h / 2;
  bead.L *= 1.001;
  switch_to(1, 1);
  N_Vector raw = vector_copy(y);
  ck_assert_int_eq(CVodeGetDky(CPIntegratorGetCVodeMem(mem), between, 0, raw), CV_SUCCESS);
  ck_assert_int_eq(CPIntegratorGetDky(mem, between, 0, y), CP_OUTPUT_PROJ_FAIL);
  ck_assert_msg(strstr(messages.text, "CPIntegratorReInit") != NULL, "%s", messages.text);
  ck_assert(same_bits(y, raw));
  N_VDestroy(raw);
  close_run();
}
END_TEST

TEST_SUITE(switched) {
  Suite *suite = suite_create("switched");
  TCase *tcase = tcase_create("reference");
  tcase_set_timeout(tcase, 60);
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, a_cut_rod_leaves_a_parabola_in_the_plane, 0, N_SOLVERS);
  tcase_add_loop_test(tcase, a_rod_that_is_put_back_swings_on, 0, N_SOLVERS);
  tcase_add_loop_test(tcase, nothing_is_analysed_again, 0, N_SOLVERS);
  tcase_add_loop_test(tcase, switching_on_what_is_violated_is_refused, 0, N_SOLVERS);
  tcase_add_loop_test(tcase, output_of_the_step_before_the_switch_stays_raw, 0, N_SOLVERS);
  suite_add_tcase(suite, tcase);
  return suite;
}
