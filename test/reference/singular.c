/* The N-four-bar mechanism passing its singular position, where all rods are horizontal: the rank
 * of the constraints falls by N on each level, and N other motions start there. A run follows the
 * regular motion to the end, or stops with an error that reports this; it never continues along
 * another motion.
 *
 * Figures: CPODES_TEST_FIGURES=1. */
#include "reference.h"

#include "models/four_bar.h"
#include "models/model.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

static const sunrealtype gravity = 9.81;

/* ------------------------------------------------------------------------------------------- runs -- */

typedef struct {
  FourBar *mech;
  CPProjector P;
  CPIntegrator mem;
  N_Vector y;
  sunrealtype t, tol;
  SUNMatrix A;
  SUNLinearSolver LS;
  SUNNonlinearSolver fixed_point;
  MessageLog log;
} Going;

static CPProjector projector_of(FourBar *mech, N_Vector y, int sparse) {
  const int N   = mech->N;
  N_Vector c    = vector_of(four_bar_m(N), NULL);
  CPProjector P = CPProjectorCreate(four_bar_constraints, y, c, test_context);
  SUNMatrix G   = sparse ? four_bar_pattern(N, test_context)
                         : SUNDenseMatrix(four_bar_m(N), four_bar_n(N), test_context);
  ck_assert_ptr_nonnull(P);
  ck_assert_ptr_nonnull(G);
  ck_assert_int_eq(CPProjectorSetUserData(P, mech), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetJacFn(P, four_bar_jacobian, G), CP_SUCCESS);
  if (sparse) ck_assert_int_eq(CPProjectorSetLinearSolver(P, CP_LINSOL_SPARSE), CP_SUCCESS);
  SUNMatDestroy(G);
  N_VDestroy(c);
  return P;
}

static void set_solver(Going *g, int lmm) {
  void *cvode_mem      = CPIntegratorGetCVodeMem(g->mem);
  const sunindextype n = four_bar_n(g->mech->N);
  if (lmm == CV_ADAMS) {
    g->fixed_point = SUNNonlinSol_FixedPoint(g->y, 0, test_context);
    ck_assert_int_eq(CPIntegratorSetNonlinearSolver(g->mem, g->fixed_point), CP_SUCCESS);
  } else {
    g->A  = SUNDenseMatrix(n, n, test_context);
    g->LS = SUNLinSol_Dense(g->y, g->A, test_context);
    ck_assert_int_eq(CVodeSetLinearSolver(cvode_mem, g->LS, g->A), CV_SUCCESS);
  }
  ck_assert_int_eq(CVodeSetUserData(cvode_mem, g->mech), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetMaxNumSteps(cvode_mem, 1000000), CV_SUCCESS);
}

static void begin(Going *g, int N, int lmm, sunrealtype tol, int sparse) {
  memset(g, 0, sizeof *g);
  g->tol  = tol;
  g->mech = four_bar_create(N, gravity);
  ck_assert_ptr_nonnull(g->mech);
  g->y = vector_of(four_bar_n(N), NULL);
  four_bar_initial(g->mech, g->y);
  g->P   = projector_of(g->mech, g->y, sparse);
  g->mem = CPIntegratorCreate(lmm == CV_BDF ? "BDF" : "ADAMS", test_context);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(g->mem), message_log, &g->log), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorInit(g->mem, four_bar_rhs, 0, g->y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(g->mem, tol, tol), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetProjector(g->mem, g->P), CP_SUCCESS);
  set_solver(g, lmm);
}

static void end(Going *g) {
  CPIntegratorFree(&g->mem);
  CPProjectorFree(&g->P);
  four_bar_free(&g->mech);
  if (g->LS) SUNLinSolFree(g->LS);
  if (g->A) SUNMatDestroy(g->A);
  if (g->fixed_point) SUNNonlinSolFree(g->fixed_point);
  N_VDestroy(g->y);
}

static int table_of(int N, Sample *samples) {
  char rows[8];
  snprintf(rows, sizeof rows, "%d", N);
  return read_table("four_bar.csv", rows, 6, samples, MAX_SAMPLES);
}

/* Of B_0, which is twice the centre of v_0 */
static sunrealtype position_error(const Going *g, const Sample *s) {
  return hypot(2 * entries(g->y)[0] - s->y[2], 2 * entries(g->y)[1] - s->y[3]);
}

/* ------------------------------------------------------------------------- the ladder of tolerances -- */

/* theta'' = w2 sin theta: the same motion in its one coordinate, which has no singular position */
static int minimal_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *w2) {
  (void)t;
  entries(ydot)[0] = entries(y)[1];
  entries(ydot)[1] = *(const sunrealtype *)w2 * sin(entries(y)[0]);
  return 0;
}

/* Largest position error at the samples when CVODES integrates this coordinate */
static sunrealtype minimal_error(int N, int lmm, sunrealtype tol, const Sample *samples,
                                 int nsamples) {
  sunrealtype w2 = gravity * ((N + 1) / 2.0 + N) / ((N + 1) / 3.0 + N), error = 0, t;
  N_Vector y                    = VECTOR(0, 1);
  SUNMatrix A                   = SUNDenseMatrix(2, 2, test_context);
  SUNLinearSolver LS            = SUNLinSol_Dense(y, A, test_context);
  SUNNonlinearSolver functional = SUNNonlinSol_FixedPoint(y, 0, test_context);
  void *mem                     = CVodeCreate(lmm, test_context);
  ck_assert_int_eq(CVodeInit(mem, minimal_rhs, 0, y), CV_SUCCESS);
  ck_assert_int_eq(CVodeSStolerances(mem, tol, tol), CV_SUCCESS);
  ck_assert_int_eq(lmm == CV_ADAMS ? CVodeSetNonlinearSolver(mem, functional)
                                   : CVodeSetLinearSolver(mem, LS, A),
                   CV_SUCCESS);
  ck_assert_int_eq(CVodeSetUserData(mem, &w2), CV_SUCCESS);
  for (int i = 1; i < nsamples; i++) {
    ck_assert_int_eq(CVode(mem, samples[i].t, y, &t, CV_NORMAL), CV_SUCCESS);
    const sunrealtype theta = entries(y)[0];
    error = fmax(error, hypot(sin(theta) - samples[i].y[2], cos(theta) - samples[i].y[3]));
  }
  CVodeFree(&mem);
  SUNNonlinSolFree(functional);
  SUNLinSolFree(LS);
  SUNMatDestroy(A);
  N_VDestroy(y);
  return error;
}

typedef struct {
  int reached, stopped;
  /* of the ratios between the errors of runs that reached the end and those of the one coordinate */
  sunrealtype sum_of_logs;
} Outcomes;

/* The joints are closed to eps = 0.1 tolerances of at most 3 coordinates, (1 + |y|) tol with angles of up to
 * 63: 20 tol. Away from the singular position, |cos theta| > 0.85 at t = 10 and 0.97 at 20, the angles of
 * the regular branch differ by at most 4 N times that. */
static sunrealtype branch_bound(const Going *g) { return 4 * g->mech->N * 20 * g->tol / 0.85; }

/* A run that ends early reports why, next to the singular position, and its state is good: its
 * joints are closed. Below that angle the remaining residuals move the state by more than 1e3
 * tolerances (CPIntegratorSetMaxCorrection), or so far that no step is short enough for the error
 * test. */
static void check_stop(Going *g, int flag) {
  N_Vector c = vector_of(four_bar_m(g->mech->N), NULL);
  ck_assert_msg((flag == CP_PROJ_CORRECTION || flag == CV_ERR_FAILURE) &&
                    strstr(g->log.text, "singular"),
                "%d: %s", flag, g->log.text);
  ck_assert_int_eq(g->log.code, flag);
  ck_assert_double_lt(fabs(sin(entries(g->y)[2])), 1e-2);
  ck_assert_int_eq(four_bar_constraints(g->t, g->y, c, g->mech), 0);
  ck_assert_double_le(N_VMaxNorm(c), 20 * g->tol);
  N_VDestroy(c);
}

/* Over the table, or to where the run stops */
static void march(Going *g, int lmm, const Sample *samples, int nsamples, Outcomes *outcomes) {
  sunrealtype error = 0;
  int flag          = CP_SUCCESS;
  for (int i = 1; !flag && i < nsamples; i++) {
    flag = CPIntegratorEvolve(g->mem, samples[i].t, g->y, &g->t, CV_NORMAL);
    if (!flag) error = fmax(error, position_error(g, &samples[i]));
  }
  if (flag) {
    check_stop(g, flag);
    outcomes->stopped++;
    return;
  }
  ck_assert_double_le(four_bar_branch(g->mech, g->y), branch_bound(g));
  outcomes->reached++;
  outcomes->sum_of_logs += log(error / minimal_error(g->mech->N, lmm, g->tol, samples, nsamples));
}

/* The errors are due to the integration, not to the passages: the geometric mean is at most 10
 * times the error of CVODES at the same tolerances in the one coordinate. */
START_TEST(runs_follow_the_regular_branch_or_stop_and_say_so) {
  Sample samples[MAX_SAMPLES];
  const int N = _i % 2 + 1, lmm = _i / 2 % 2 ? CV_ADAMS : CV_BDF, sparse = _i / 4;
  const int nsamples = table_of(N, samples);
  Outcomes outcomes  = {0, 0, 0};
  for (int i = 0; i <= 20; i++) { /* 1e-4 ... 1e-9 */
    Going g;
    begin(&g, N, lmm, pow(10, -4 - i / 4.0), sparse);
    march(&g, lmm, samples, nsamples, &outcomes);
    end(&g);
  }
  const sunrealtype mean = exp(outcomes.sum_of_logs / outcomes.reached);
  if (wants_figures())
    printf("N = %d, %s, %s: %d runs to t = 20, %d stopped at a singular position; error %.2g times "
           "that "
           "in minimal coordinates\n",
           N, method_name(lmm), sparse ? "SPARSE" : "AUTO", outcomes.reached, outcomes.stopped,
           mean);
  /* How many runs end a step next to a singular position is a matter of chance and roundoff, also of
   * that of sin, which depends on the processor. With 80 tolerances a decade, at least 396 of 401
   * runs of BDF and 293 of Adams reach the end; fewer than 19 and 9 of 21 then have probabilities of
   * 2e-3 and 1e-3. */
  ck_assert_int_ge(outcomes.reached, lmm == CV_BDF ? 19 : 9);
  ck_assert_double_le(mean, 10);
}
END_TEST

START_TEST(forty_windows_follow_the_regular_branch) {
  Sample samples[MAX_SAMPLES];
  Outcomes outcomes = {0, 0, 0};
  Going g;
  table_of(40, samples);
  begin(&g, 40, CV_ADAMS, 1e-6, 1);
  march(&g, CV_ADAMS, samples, 5, &outcomes); /* to t = 2: two passages */
  if (wants_figures())
    printf("N = 40: %d reached, %d stopped, %s\n", outcomes.reached, outcomes.stopped, g.log.text);
  end(&g);
}
END_TEST

/* Steps of order 3 are so short at these tolerances that some end next to each singular position, where what the projection of
 * the stages leaves is magnified in f. Reference: the motion of the catalogue, in its one coordinate. */
START_TEST(forty_windows_are_passed_by_steps_of_order_3) {
  const sunrealtype values[] = {40, gravity}, tol = pow(10, _i ? -8 : -7.5), t_end = _i ? 9 : 11;
  CPPlugin *model = CPPluginCreate(model_find("four_bar"), values, test_context, NULL, 0);
  ck_assert_ptr_nonnull(model);
  CPMech mech      = CPPluginMech(model);
  CPIntegrator mem = CPIntegratorCreate("BS32", test_context);
  N_Vector y = N_VClone(model->y0), expected = N_VClone(y);
  sunrealtype t = 0;
  N_VScale(1, model->y0, y);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, tol, tol), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetMaxNumSteps(mem, -1), CP_SUCCESS);
  const int flag = CPIntegratorEvolve(mem, t_end, y, &t, CV_NORMAL);
  ck_assert_msg(flag == CP_SUCCESS, "at %g: %s", t, CPObjectGetLastMessage(CP_OBJECT(mem)));
  ck_assert_int_eq(model->type->reference(model, t_end, expected), 0);
  N_VLinearSum(1, y, -1, expected, y);
  ck_assert_double_le(N_VMaxNorm(y), 0.1); /* another branch is off by radians */
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  CPPluginFree(&model);
  N_VDestroy(y);
  N_VDestroy(expected);
}
END_TEST

/* -------------------------------------------------------------------------- at the singular position -- */

static const int windows[] = {1, 2, 40};
enum { WINDOWS = sizeof windows / sizeof windows[0] };

/* On each level N constraints depend on the others. With centres off along the rods, and velocities
 * of the centres, residuals are compatible and no angle has to move: the position stays singular. */
START_TEST(rank_falls_by_N_on_each_level_and_states_are_projected_all_the_same) {
  const int N = windows[_i % WINDOWS], m = (int)four_bar_m(N), n = (int)four_bar_n(N);
  unsigned long long seed = 9;
  sunindextype rank       = -1;
  FourBar *mech           = four_bar_create(N, gravity);
  N_Vector y = vector_of(n, NULL), ewt = vector_of(n, NULL), c = vector_of(m, NULL);
  int *dependent = calloc((size_t)m, sizeof *dependent);
  N_VConst(1e6, ewt);
  four_bar_state(mech, acos(0.0), 3, y);
  for (int j = 0; j < n; j++)
    if (j % 3 == 0 || (j % 3 == 1 && j >= n / 2)) entries(y)[j] += 1e-4 * random_number(&seed);
  CPProjector P = projector_of(mech, y, _i / WINDOWS);
  ck_assert_int_eq(CPProjectorProject(P, 0, y, ewt), CP_SUCCESS);
  ck_assert_ptr_nonnull(dependent);
  ck_assert_int_eq(CPProjectorGetRank(P, &rank, dependent), CP_SUCCESS);
  ck_assert_int_eq(rank, m - 2 * N);
  sunrealtype positions = 0, velocities = 0;
  for (int i = 0; i < m; i++) *(i < m / 2 ? &positions : &velocities) += dependent[i];
  ck_assert_double_eq(positions, N);
  ck_assert_double_eq(velocities, N);
  /* eps = 0.1 tolerances of 1e-6, in rows of at most 5 entries up to 3 */
  ck_assert_int_eq(four_bar_constraints(0, y, c, mech), 0);
  ck_assert_double_le(N_VMaxNorm(c), 0.1 * 1e-6 * 3 * sqrt(5));
  CPProjectorFree(&P);
  four_bar_free(&mech);
  N_VDestroy(y);
  N_VDestroy(ewt);
  N_VDestroy(c);
  free(dependent);
}
END_TEST

/* The integration stops at the singular position itself, according to the table's source: t with
 * theta = pi / 2. G is formed by differences, for which sines below 1e-6 count as 0; at these tolerances
 * the angle is off by at most 1e-6. Whether the last G is one of that state is the iteration's affair,
 * which keeps it while it converges; if it is, the run says so. Within 1e-5 s of that position, a run may also end because the
 * projection would move the state too far, and says that the constraints are dependent there. */
START_TEST(a_rank_that_falls_on_the_way_is_told) {
  static const sunrealtype t_singular[2] = {0.708450008835758869, 0.714355529292960472};
  enum { TOLERANCES = 25 };
  const int N = _i + 1, m = (int)four_bar_m(N);
  int told = 0, ended = 0;
  for (int k = 0; k < TOLERANCES; k++) { /* 1e-9 ... 1e-10 */
    sunindextype rank = -1;
    Going g;
    begin(&g, N, CV_BDF, pow(10, -9 - k / 24.0), 0);
    ck_assert_int_eq(CPProjectorSetJacFn(g.P, NULL, NULL), CP_SUCCESS);
    ck_assert_int_eq(CVodeSetStopTime(CPIntegratorGetCVodeMem(g.mem), t_singular[_i]), CV_SUCCESS);
    const int flag = CPIntegratorEvolve(g.mem, 1, g.y, &g.t, CV_NORMAL);
    if (flag == CP_PROJ_CORRECTION) {
      ended++;
      ck_assert_double_le(t_singular[_i] - g.t, 1e-5);
      ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(g.mem)), "a singular position?");
      end(&g);
      continue;
    }
    ck_assert_int_eq(flag, CV_TSTOP_RETURN);
    ck_assert_double_le(fabs(sin(entries(g.y)[2])), 1e-6);
    ck_assert_int_eq(CPProjectorGetRank(g.P, &rank, NULL), CP_SUCCESS);
    ck_assert_int_eq(g.log.code, rank < m ? 99 : 0); /* CV_WARNING */
    if (rank < m) {
      told++;
      ck_assert_mentions(g.log.text, "rank");
      ck_assert_mentions(g.log.text, "fell");
      ck_assert_mentions(g.log.text, "singular");
    }
    end(&g);
  }
  if (wants_figures()) printf("N = %d: rank fell in %d of %d runs\n", N, told, TOLERANCES);
  ck_assert_int_gt(told, 0);
  ck_assert_int_le(ended, 1);
}
END_TEST

TEST_SUITE(singular) {
  Suite *suite = suite_create("singular");
  TCase *tcase = tcase_create("reference");
  tcase_set_timeout(tcase, 60);
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, runs_follow_the_regular_branch_or_stop_and_say_so, 0, 8);
  tcase_add_test(tcase, forty_windows_follow_the_regular_branch);
  tcase_add_loop_test(tcase, forty_windows_are_passed_by_steps_of_order_3, 0, 2);
  tcase_add_loop_test(tcase, rank_falls_by_N_on_each_level_and_states_are_projected_all_the_same, 0,
                      2 * WINDOWS);
  tcase_add_loop_test(tcase, a_rank_that_falls_on_the_way_is_told, 0, 2);
  suite_add_tcase(suite, tcase);
  return suite;
}
