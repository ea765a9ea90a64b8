/* Rare failures: after them the integrator reports what happened and continues from the last good
 * state, or it refuses beforehand. */
#include "stepping/multistep/fixture.h"
#include "support/alloc.h"

#include <math.h>
#include <models/counters.h>
#include <stdio.h>
#include <string.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

static Run run;

static void setup(void) { run_open(&run, ADAMS_FIXED_POINT, 1.0e-6); }

static void teardown(void) { run_close(&run); }

static void open_method(int i, sunrealtype tol) {
  run_close(&run);
  run_open(&run, methods[i], tol);
}

/* ---- f fails between a state and its staggered sensitivities ---- */

#define FAILING_STEP 60

/* The next call of f after this solve is the one for the sensitivities. */
static int flag_to_come; /* of f */
static int arm(Run *r, const Attempt *a, N_Vector ycor, int flag) {
  (void)ycor;
  if (a->nst == FAILING_STEP && flag_to_come) {
    r->world.f   = (Fault){-1.0, 1, flag_to_come, 0.0};
    flag_to_come = 0;
  }
  return flag;
}

static int unit_quadrature(sunrealtype t, N_Vector y, N_Vector q, void *user_data) {
  (void)t, (void)y, (void)user_data;
  entries(q)[0] = 1.0;
  return 0;
}

static int unit_sensitivity(int Ns, sunrealtype t, N_Vector y, N_Vector ydot, int iS, N_Vector yS,
                            N_Vector ySdot, void *user_data, N_Vector tmp1, N_Vector tmp2) {
  (void)Ns, (void)t, (void)y, (void)ydot, (void)iS, (void)yS, (void)user_data, (void)tmp1;
  (void)tmp2;
  N_VConst(1.0, ySdot);
  return 0;
}

/* A quadrature q' = 1 and a sensitivity s' = 1 along with the run: both equal t. */
typedef struct {
  SUNNonlinearSolver solver;
  N_Vector q, s, y; /* at the newest step, y the state */
  sunrealtype t, parameter;
} Along;

static void open_along(Along *along) {
  *along             = (Along){.parameter = 1.0};
  along->q           = vector_of(1, NULL);
  along->s           = vector_of(PENDULUM_N, NULL);
  along->y           = vector_copy(run.y);
  along->solver      = SUNNonlinSol_FixedPoint(run.y, 0, test_context);
  sunrealtype abstol = 1.0e-6;
  ck_assert_success(&run, CVodeQuadInit(run.cvode_mem, unit_quadrature, along->q));
  ck_assert_success(&run,
                    CVodeSensInit1(run.cvode_mem, 1, CV_STAGGERED1, unit_sensitivity, &along->s));
  ck_assert_success(&run, CVodeSensSStolerances(run.cvode_mem, abstol, &abstol));
  ck_assert_success(&run,
                    CVodeSetSensParams(run.cvode_mem, &along->parameter, &along->parameter, NULL));
  ck_assert_success(&run, CVodeSetNonlinearSolverSensStg1(run.cvode_mem, along->solver));
}

static void close_along(Along *along) {
  run_close(&run); /* before its solver */
  SUNNonlinSolFree(along->solver);
  N_VDestroy(along->q);
  N_VDestroy(along->s);
  N_VDestroy(along->y);
  run_open(&run, ADAMS_FIXED_POINT, 1.0e-6); /* for the teardown */
}

static void keep(Along *along) {
  sunrealtype t;
  along->t = run.t;
  N_VScale(1.0, run.y, along->y);
  ck_assert_success(&run, CVodeGetQuad(run.cvode_mem, &t, along->q));
  ck_assert_success(&run, CVodeGetSens(run.cvode_mem, &t, &along->s));
}

/* Steps until one fails; returns the flag of CPIntegratorEvolve for that step. */
static int step_to_the_failure(Along *along, int f_flag) {
  flag_to_come = f_flag;
  run_intercept(&run, NULL, arm);
  for (int k = 0; k < FAILING_STEP; k++) {
    ck_assert_success(&run, run_step(&run));
    keep(along);
  }
  return run_step(&run);
}

static void assert_last_good_state(const Along *along) {
  ck_assert_double_eq(run.t, along->t);
  ck_assert(same_bits(run.y, along->y));
  ck_assert_message(&run, "re-initialised", "CVodeQuadReInit", "CVodeSensReInit");
}

/* Every method integrates straight lines exactly: only roundoff remains, from some terms of the
 * history per step. */
static sunrealtype line_bound(long int steps) { return 100.0 * (double)steps * 2.3e-16 * run.t; }

static void go_on_and_compare(Along *along) {
  ck_assert_success(&run, CVodeQuadReInit(run.cvode_mem, along->q));
  ck_assert_success(&run, CVodeSensReInit(run.cvode_mem, CV_STAGGERED1, &along->s));
  ck_assert_success(&run, run_step(&run));
  ck_assert_double_gt(run.t, along->t);
  run_until(&run, 2.0);
  keep(along);
  const sunrealtype after = (double)run_steps(&run), all = after + FAILING_STEP;
  ck_assert_bound(&run, error_of(&run), error_bound(&run) * all / after);
  ck_assert_bound(&run, violation_of(&run.world, run.y), violation_bound(&run));
  ck_assert_bound(&run, fabs(entries(along->q)[0] - run.t), line_bound((long)all));
  ck_assert_bound(&run, fabs(entries(along->s)[0] - run.t), line_bound((long)all));
}

/* CVODES itself would continue from a state that is one step late. */
START_TEST(a_history_lost_before_sensitivities_ends_the_run_and_it_can_go_on) {
  Along along;
  open_method(_i, 1.0e-6);
  open_along(&along);
  ck_assert_flag(&run, step_to_the_failure(&along, 1), CV_UNREC_RHSFUNC_ERR);
  assert_last_good_state(&along);
  go_on_and_compare(&along);
  close_along(&along);
}
END_TEST

/* With a stop time that cuts the second prediction short, its step leads to neither of the two
 * starting points. */
START_TEST(a_history_lost_on_the_way_to_a_stop_time_ends_the_run) {
  const sunrealtype steps[] = {1.0, 1.3, 1.9}; /* to the stop time */
  Along along;
  sunrealtype h = 0.0;
  open_method(_i % n_methods, 1.0e-6);
  open_along(&along);
  run_intercept(&run, NULL, arm);
  flag_to_come = 1;
  for (int k = 0; k < FAILING_STEP; k++) ck_assert_success(&run, run_step(&run));
  keep(&along);
  CVodeGetCurrentStep(run.cvode_mem, &h);
  ck_assert_success(&run, CVodeSetStopTime(run.cvode_mem, run.t + steps[_i / n_methods] * h));
  ck_assert_flag(&run, run_step(&run), CV_UNREC_RHSFUNC_ERR);
  assert_last_good_state(&along);
  ck_assert_success(&run, CVodeSetStopTime(run.cvode_mem, 1.0e3));
  go_on_and_compare(&along);
  close_along(&along);
}
END_TEST

START_TEST(a_fatal_failure_before_sensitivities_moves_the_start) {
  Along along;
  open_method(_i, 1.0e-6);
  open_along(&along);
  ck_assert_flag(&run, step_to_the_failure(&along, -1), CV_RHSFUNC_FAIL);
  assert_last_good_state(&along);
  /* the last good state is consistent: a correction of at most some tolerances, while t = 0 is 1e5
   * of them away */
  N_Vector y0 = vector_copy(run.y);
  ck_assert_success(&run, CPIntegratorCalcIC(run.mem, y0));
  ck_assert_double_le(max_distance(y0, along.y), violation_bound(&run));
  N_VDestroy(y0);
  go_on_and_compare(&along);
  close_along(&along);
}
END_TEST

/* ---- a manifold that shrinks ---- */

/* y' = -y + (rotation by 90 degrees) y on 0 = |y|^2 - exp(-2t) */
static int spiral_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t, (void)user_data;
  entries(ydot)[0] = -entries(y)[0] - entries(y)[1];
  entries(ydot)[1] = entries(y)[0] - entries(y)[1];
  return 0;
}

static int spiral_c(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  (void)user_data;
  const sunrealtype *s = entries(y);
  entries(c)[0]        = s[0] * s[0] + s[1] * s[1] - exp(-2.0 * t);
  return 0;
}

#define SPIRAL_RTOL 1.0e-6
#define SPIRAL_ATOL 1.0e-30 /* relative tolerances down to exp(-20) */

typedef struct {
  SUNNonlinearSolver inner;
  CPIntegrator mem;
  CPProjector P;
  N_Vector y;
  sunrealtype t;
} Spiral;

static void spiral_open(Spiral *s) {
  N_Vector c = vector_of(1, NULL);
  s->y       = VECTOR(1.0, 0.0);
  s->t       = 0.0;
  s->inner   = SUNNonlinSol_FixedPoint(s->y, 0, test_context);
  s->P       = CPProjectorCreate(spiral_c, s->y, c, test_context);
  s->mem     = CPIntegratorCreate("ADAMS", test_context);
  ck_assert_int_eq(CPIntegratorInit(s->mem, spiral_rhs, 0.0, s->y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(s->mem, SPIRAL_RTOL, SPIRAL_ATOL), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetNonlinearSolver(s->mem, s->inner), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetProjector(s->mem, s->P), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetProjOutput(s->mem, SUNFALSE), CP_SUCCESS);
  N_VDestroy(c);
}

static void spiral_close(Spiral *s) {
  CPIntegratorFree(&s->mem);
  CPProjectorFree(&s->P);
  SUNNonlinSolFree(s->inner);
  N_VDestroy(s->y);
}

static void spiral_step(Spiral *s) {
  const int flag = CPIntegratorEvolve(s->mem, 1000.0, s->y, &s->t, CV_ONE_STEP);
  ck_assert_msg(flag == CP_SUCCESS, "t = %g: %s", s->t, CPObjectGetLastMessage(CP_OBJECT(s->mem)));
}

/* |c| / |grad c / ewt| with weights of the state itself. */
static sunrealtype spiral_violation(const Spiral *s) {
  const sunrealtype *y = entries(s->y);
  sunrealtype size2    = 0.0;
  for (int j = 0; j < 2; j++)
    size2 += pow(2.0 * y[j] * (SPIRAL_RTOL * fabs(y[j]) + SPIRAL_ATOL), 2);
  return fabs(y[0] * y[0] + y[1] * y[1] - exp(-2.0 * s->t)) / sqrt(size2);
}

/* A row that is measured with G of a state at t - a and tolerances of one at t - b has the size 2
 * rtol |(x_a x_b, y_a y_b)|, compared with 2 rtol |(x^2, y^2)| now. The first is at most 2 rtol r_a
 * r_b, the second at least 2 rtol r^2 / sqrt(2), and r shrinks like exp(-t): a violation of eps
 * then is at most this now. */
static sunrealtype aged_eps(sunrealtype a, sunrealtype b) {
  return CP_EPS_DEFAULT * sqrt(2.0) * exp(a + b);
}

enum { AGE = 10 }; /* of factors, in projections */

/* Sizes are kept for AGE steps; the error weights are those of the previous step. */
START_TEST(sizes_that_tell_whether_to_project_do_not_grow_older_than_factors) {
  enum { HISTORY = AGE + 2 };
  sunrealtype times[HISTORY] = {0.0}; /* of the newest steps, as a ring */
  Spiral s;
  spiral_open(&s);
  ck_assert_int_eq(CPIntegratorSetProjFrequency(s.mem, 1, 1), CP_SUCCESS);
  for (int k = 1; s.t < 20.0; k++) {
    spiral_step(&s);
    times[k % HISTORY]      = s.t;
    const sunrealtype age_G = s.t - (k < HISTORY - 2 ? 0.0 : times[(k - (HISTORY - 2)) % HISTORY]);
    const sunrealtype age_w = s.t - (k < HISTORY - 1 ? 0.0 : times[(k - (HISTORY - 1)) % HISTORY]);
    const sunrealtype violation = spiral_violation(&s), bound = aged_eps(age_G, age_w);
    ck_assert_msg(violation <= bound, "t = %g: violation %g, bound %g", s.t, violation, bound);
  }
  IntegratorCounters stats;
  ck_assert_int_eq(integrator_counters(s.mem, &stats), CP_SUCCESS);
  ck_assert_int_gt(stats.nskipped, stats.nproj); /* the test was made, and often negative */
  spiral_close(&s);
}
END_TEST

/* A frequency of ten sets the age limit: G is new at each projection, and the weights are one step
 * old. */
START_TEST(factors_grow_older_with_steps_that_are_left_alone) {
  Spiral s;
  IntegratorCounters stats;
  long int nproj = 0;
  spiral_open(&s);
  ck_assert_int_eq(CPIntegratorSetProjFrequency(s.mem, AGE, 0), CP_SUCCESS);
  while (s.t < 20.0) {
    const sunrealtype before = s.t;
    spiral_step(&s);
    ck_assert_int_eq(integrator_counters(s.mem, &stats), CP_SUCCESS);
    if (stats.nproj == nproj) continue;
    nproj                       = stats.nproj;
    const sunrealtype violation = spiral_violation(&s), bound = aged_eps(0.0, s.t - before);
    ck_assert_msg(violation <= bound, "t = %g: violation %g, bound %g", s.t, violation, bound);
  }
  ck_assert_int_gt(nproj, 10);
  spiral_close(&s);
}
END_TEST

/* ---- nonlinear solvers that cannot be used ---- */

static int refused_sysfn(SUNNonlinearSolver NLS, SUNNonlinSolSysFn fn) {
  (void)NLS, (void)fn;
  return -1;
}

static int refused_ctestfn(SUNNonlinearSolver NLS, SUNNonlinSolConvTestFn fn, void *data) {
  (void)NLS, (void)fn, (void)data;
  return -1;
}

static void make_refused(SUNNonlinearSolver NLS, int which) {
  if (which) NLS->ops->setctestfn = refused_ctestfn;
  else NLS->ops->setsysfn = refused_sysfn;
}

/* Memory without projection, on the pendulum. */
static void *program_memory(SUNNonlinearSolver inner) {
  void *cvode_mem = CVodeCreate(CV_ADAMS, test_context);
  ck_assert_success(&run, CVodeInit(cvode_mem, world_rhs, 0.0, run.y));
  ck_assert_success(&run, CVodeSStolerances(cvode_mem, run.tol, run.tol));
  ck_assert_success(&run, CVodeSetUserData(cvode_mem, &run.world));
  ck_assert_success(&run, CVodeSetNonlinearSolver(cvode_mem, inner));
  return cvode_mem;
}

/* The norm of the projected error reaches CVODES through the test of convergence. */
START_TEST(a_solver_without_a_convergence_test_is_not_attached) {
  SUNNonlinearSolver inner = inner_solver(ADAMS_FIXED_POINT, run.y);
  void *cvode_mem          = program_memory(inner);
  inner->ops->setctestfn   = NULL;
  ck_assert_ptr_null(CPIntegratorAttach(cvode_mem, "ADAMS", inner, run.y, test_context));
  CVodeFree(&cvode_mem);
  SUNNonlinSolFree(inner);
}
END_TEST

START_TEST(a_refused_solver_leaves_the_old_one) {
  SUNNonlinearSolver other = inner_solver(ADAMS_FIXED_POINT, run.y);
  make_refused(other, _i);
  const int flag = CPIntegratorSetNonlinearSolver(run.mem, other);
  ck_assert_int_lt(flag, 0);
  ck_assert_message(&run, "nonlinear solver");
  SUNNonlinSolFree(other);
  ck_assert_success(&run, run_to(&run, 1.0));
  ck_assert_good(&run);
}
END_TEST

START_TEST(attaching_a_refused_solver_leaves_the_memory_as_it_was) {
  SUNNonlinearSolver inner = inner_solver(ADAMS_FIXED_POINT, run.y);
  void *cvode_mem          = program_memory(inner);
  sunrealtype t;
  ck_assert_success(&run, CVode(cvode_mem, 0.1, run.y, &t, CV_NORMAL));
  make_refused(inner, _i);
  ck_assert_ptr_null(CPIntegratorAttach(cvode_mem, "ADAMS", inner, run.y, test_context));
  ck_assert_success(&run, CVode(cvode_mem, 1.0, run.y, &run.t, CV_NORMAL));
  /* without projection, but as accurate as the tolerance requires */
  void *own     = run.cvode_mem;
  run.cvode_mem = cvode_mem; /* error_bound counts its steps */
  ck_assert_bound(&run, error_of(&run), error_bound(&run));
  run.cvode_mem = own;
  CVodeFree(&cvode_mem);
  SUNNonlinSolFree(inner);
}
END_TEST

/* ---- vectors ---- */

static N_Vector_ID in_pieces(N_Vector v) {
  (void)v;
  return SUNDIALS_NVEC_MANYVECTOR;
}

/* Has the properties of a ManyVector, as do its clones. */
static N_Vector pieces_of(N_Vector y) {
  N_Vector v                = vector_copy(y);
  v->ops->nvgetvectorid     = in_pieces;
  v->ops->nvgetarraypointer = NULL;
  return v;
}

START_TEST(the_internal_projector_refuses_states_in_pieces_wherever_they_come) {
  N_Vector pieces = pieces_of(run.y);
  MessageLog log;
  /* the state first */
  CPIntegrator mem = CPIntegratorCreate("ADAMS", test_context);
  ck_assert_success(&run, CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &log));
  ck_assert_success(&run, CPIntegratorInit(mem, world_rhs, 0.0, pieces));
  ck_assert_int_eq(CPIntegratorSetProjector(mem, run.P), CP_ILL_INPUT);
  ck_assert_mentions(log.text, "one memory");
  CPIntegratorFree(&mem);
  /* the projector first */
  mem = CPIntegratorCreate("ADAMS", test_context);
  ck_assert_success(&run, CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &log));
  ck_assert_success(&run, CPIntegratorSetProjector(mem, run.P));
  ck_assert_int_eq(CPIntegratorInit(mem, world_rhs, 0.0, pieces), CP_ILL_INPUT);
  ck_assert_mentions(log.text, "one memory");
  CPIntegratorFree(&mem);
  /* attached */
  SUNNonlinearSolver inner = inner_solver(ADAMS_FIXED_POINT, run.y);
  void *cvode_mem          = CVodeCreate(CV_ADAMS, test_context);
  ck_assert_success(&run, CVodeInit(cvode_mem, world_rhs, 0.0, pieces));
  ck_assert_success(&run, CVodeSStolerances(cvode_mem, run.tol, run.tol));
  ck_assert_success(&run, CVodeSetNonlinearSolver(cvode_mem, inner));
  mem = CPIntegratorAttach(cvode_mem, "ADAMS", inner, pieces, test_context);
  ck_assert_ptr_nonnull(mem);
  ck_assert_success(&run, CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &log));
  ck_assert_int_eq(CPIntegratorSetProjector(mem, run.P), CP_ILL_INPUT);
  ck_assert_mentions(log.text, "one memory");
  CPIntegratorFree(&mem);
  CVodeFree(&cvode_mem);
  SUNNonlinSolFree(inner);
  N_VDestroy(pieces);
}
END_TEST

/* Clones of this vector start as NaN. */
static N_Vector spoilt_clone(N_Vector v) {
  N_Vector w = N_VClone_Serial(v);
  if (w) N_VConst(NAN, w);
  return w;
}

static int no_convergence(Run *r, const Attempt *a) {
  (void)r;
  return a->t > 0.3 ? SUN_NLS_CONV_RECVR : 0;
}

/* A vector that has not been written to is not mistaken for a NaN of f if f itself is finite. */
START_TEST(a_failure_of_the_solver_is_not_judged_by_memory_that_was_never_set) {
  run_close(&run);
  run_create(&run, methods[_i], 1.0e-6);
  run.y->ops->nvclone = spoilt_clone;
  run_start(&run);
  run_intercept(&run, no_convergence, NULL);
  ck_assert_flag(&run, run_to(&run, 1.0), CV_CONV_FAILURE);
  ck_assert_ptr_null(strstr(CPObjectGetLastMessage(CP_OBJECT(run.mem)), "NaN"));
}
END_TEST

/* ---- CPIntegratorInit fails half-way ---- */

START_TEST(after_an_init_that_failed_half_way_the_next_one_says_what_to_do) {
  MessageLog log;
  int half_way = 0, n = 1;
  for (;; n++) {
    CPIntegrator mem = CPIntegratorCreate("ADAMS", test_context);
    ck_assert_ptr_nonnull(mem);
    alloc_watch_failing(n);
    const int flag   = CPIntegratorInit(mem, world_rhs, 0.0, run.y);
    const int failed = alloc_has_failed();
    alloc_unwatch();
    CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &log);
    if (!failed) {
      ck_assert_int_eq(flag, CP_SUCCESS);
      CPIntegratorFree(&mem);
      break;
    }
    ck_assert(flag == CP_MEM_FAIL || flag == CV_MEM_FAIL); /* from cpodes, or from CVodeInit */
    const int again = CPIntegratorInit(mem, world_rhs, 0.0, run.y);
    if (again != CP_SUCCESS) { /* CVODES had been initialised */
      ck_assert_int_eq(again, CP_ILL_INPUT);
      ck_assert_mentions(log.text, "create another one");
      half_way++;
    }
    CPIntegratorFree(&mem);
  }
  ck_assert_int_gt(half_way, 9); /* nine vectors and the solvers */
}
END_TEST

/* ---- far from t = 0 ---- */

#define EPOCH 1.7e9

/* At g = 9.81e4 and this tolerance steps are about 1e-4, a few hundred units of roundoff of the
 * time. */
static void open_epoch(void) {
  open_method(1, 1.0e-8);
  run.world.p.g = 9.81e4;
  ck_assert_success(&run, CPIntegratorReInit(run.mem, EPOCH, run.y));
  run.t = EPOCH;
}

START_TEST(one_failure_of_f_far_from_zero_does_not_end_the_run) {
  sunrealtype h;
  open_epoch();
  run.world.f = (Fault){EPOCH + 0.5, 1, 1, 0.0};
  ck_assert_success(&run, run_to(&run, EPOCH + 1.0));
  ck_assert_int_eq(run.world.f.times, 0);
  ck_assert_success(&run, CVodeGetLastStep(run.cvode_mem, &h));
  ck_assert_double_lt(h, 1.0e-3); /* the difficulty */
  ck_assert_bound(&run, violation_of(&run.world, run.y), violation_bound(&run));
}
END_TEST

/* The time in the message is given at least to the second: %g would print 1.7e+09. */
START_TEST(messages_give_large_times_in_full) {
  sunrealtype told = 0.0;
  open_epoch();
  run.world.f = (Fault){EPOCH + 3.0, -1, 1, 0.0};
  ck_assert_int_lt(run_to(&run, EPOCH + 4.0), 0);
  const char *time = strstr(CPObjectGetLastMessage(CP_OBJECT(run.mem)), "t = ");
  ck_assert_ptr_nonnull(time);
  ck_assert_int_eq(sscanf(time, "t = %lf", &told), 1);
  ck_assert_double_le(fabs(told - run.t), 1.0);
}
END_TEST

/* ---- the roundoff floor, and its warning ---- */

/* Moves the run's start along the orbit of a free rotation; it is consistent to roundoff. */
static void start_at(sunrealtype angle) {
  const sunrealtype rate = 0.3;
  N_Vector y0            = VECTOR(cos(angle), sin(angle), -rate * sin(angle), rate * cos(angle));
  ck_assert_success(&run, CPIntegratorReInit(run.mem, 0.0, y0));
  N_VScale(1.0, y0, run.y);
  N_VDestroy(y0);
}

START_TEST(start_check_initial_conditions_and_projection_know_one_floor) {
  N_Vector ctol = VECTOR(1.0e-18, 1.0e-18), ewt = vector_of(PENDULUM_N, NULL),
           y = vector_of(PENDULUM_N, NULL);
  open_method(_i % n_methods, 1.0e-8);
  ck_assert_success(&run, CPProjectorSetConstraintTol(run.P, ctol));
  start_at(0.1 + 0.37 * (_i / n_methods));
  for (int j = 0; j < PENDULUM_N; j++)
    entries(ewt)[j] = 1.0 / (run.tol * (fabs(entries(run.y)[j]) + 1.0));
  N_VScale(1.0, run.y, y);
  ck_assert_success(&run, CPProjectorProject(run.P, 0.0, y, ewt));
  ck_assert_success(&run, run_step(&run)); /* which checks the start */
  start_at(0.1 + 0.37 * (_i / n_methods));
  ck_assert_success(&run, CPIntegratorCalcIC(run.mem, NULL));
  ck_assert_success(&run, run_to(&run, 1.0));
  N_VDestroy(ctol);
  N_VDestroy(ewt);
  N_VDestroy(y);
}
END_TEST

/* A tolerance of 1.5e-15 times eps = 0.1 lies between residuals of one and two roundoffs of 1: some
 * projections end at this floor, and some later ones do not. */
START_TEST(the_warning_of_the_floor_speaks_of_the_projection_that_ended_there) {
  N_Vector ctol = VECTOR(1.5e-15, 1.0e-10);
  open_method(1, 1.0e-6);
  ck_assert_success(&run, CPProjectorSetConstraintTol(run.P, ctol));
  ck_assert_success(&run, run_to(&run, 0.2 * (1 + _i)));
  ck_assert_int_eq(run.log.count, 1);
  ck_assert_int_eq(run.log.code, CV_WARNING);
  ck_assert_mentions(run.log.text, "constraint 0 ");
  sunrealtype violation = 0.0;
  const char *figure    = strstr(run.log.text, "better than to ");
  ck_assert_ptr_nonnull(figure);
  ck_assert_int_eq(sscanf(figure, "better than to %lf", &violation), 1);
  ck_assert_double_gt(violation, CP_EPS_DEFAULT);
  N_VDestroy(ctol);
}
END_TEST

/* ---- the rank, and its warning ---- */

static int stand_still(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t, (void)y, (void)user_data;
  N_VConst(0.0, ydot);
  return 0;
}

/* Two constraints, from t = 0.5 on one and a row of zeros, and none after 0.7 */
static int fewer_constraints(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  (void)user_data;
  entries(c)[0] = entries(y)[0];
  entries(c)[1] = t < 0.5 ? entries(y)[1] : 0.0;
  return t > 0.7 ? -1 : 0;
}

/* One of two constraints is lost after t = 0.5, when the state becomes so large that roundoff
 * violates the other one. */
static int explosion(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)y, (void)user_data;
  const sunrealtype rate = t > 0.5 ? 1.0e20 : 0.0;
  entries(ydot)[0] = 3.0 * rate, entries(ydot)[1] = rate, entries(ydot)[2] = 0.0;
  return 0;
}

static int lost_constraint(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  (void)user_data;
  entries(c)[0] = entries(y)[0] - 3.0 * entries(y)[1];
  entries(c)[1] = t > 0.5 ? 0.0 : entries(y)[2];
  return 0;
}

/* The second step is attempted to times beyond 0.5, projected there, and rejected. */
START_TEST(a_rejected_attempt_warns_of_nothing) {
  sunrealtype t;
  long int failures = 0, solves = 0;
  MessageLog log = {0};
  N_Vector y = VECTOR(0.0, 0.0, 0.0), c = VECTOR(0.0, 0.0);
  CPProjector P          = CPProjectorCreate(lost_constraint, y, c, test_context);
  CPIntegrator mem       = CPIntegratorCreate("ADAMS", test_context);
  SUNNonlinearSolver NLS = SUNNonlinSol_FixedPoint(y, 0, test_context);
  void *cvode_mem        = CPIntegratorGetCVodeMem(mem);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &log), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetNonlinearSolver(mem, NLS), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetProjector(mem, P), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetErrEst(mem, CP_ERREST_PROJECTED), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-6, 1.0e-6), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorInit(mem, explosion, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CVodeSetInitStep(cvode_mem, 0.3), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetMaxStep(cvode_mem, 0.5), CV_SUCCESS);
  for (int k = 0; k < 2; k++)
    ck_assert_int_eq(CPIntegratorEvolve(mem, 10.0, y, &t, CV_ONE_STEP), CP_SUCCESS);
  ck_assert_int_eq(CVodeGetNumErrTestFails(cvode_mem, &failures), CV_SUCCESS);
  ck_assert_int_eq(CVodeGetNumStepSolveFails(cvode_mem, &solves), CV_SUCCESS);
  ck_assert_int_gt(failures + solves, 0);
  ck_assert_double_le(t, 0.5);
  ck_assert_msg(log.count == 0, "%s", log.text);
  CPIntegratorFree(&mem);
  SUNNonlinSolFree(NLS);
  CPProjectorFree(&P);
  N_VDestroy(y);
  N_VDestroy(c);
}
END_TEST

/* The rank falls shortly before a failure; a new start must not depend on that. */
START_TEST(a_rank_that_fell_is_not_told_after_a_new_start) {
  sunrealtype t;
  MessageLog log = {0};
  N_Vector y = VECTOR(0.0, 0.0), y0 = vector_copy(y);
  CPProjector P          = CPProjectorCreate(fewer_constraints, y, y, test_context);
  CPIntegrator mem       = CPIntegratorCreate("ADAMS", test_context);
  SUNNonlinearSolver NLS = SUNNonlinSol_FixedPoint(y, 0, test_context);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &log), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetNonlinearSolver(mem, NLS), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetProjector(mem, P), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 0.0, 1.0e-6), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorInit(mem, stand_still, 0.0, y0), CP_SUCCESS);
  ck_assert_int_eq(CVodeSetMaxStep(CPIntegratorGetCVodeMem(mem), 0.05), CV_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &t, CV_NORMAL), CP_USERFUNC_FAIL);
  ck_assert_double_gt(t, 0.5);
  const int count = log.count;
  ck_assert_int_eq(CPIntegratorReInit(mem, 0.0, y0), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 0.2, y, &t, CV_NORMAL), CP_SUCCESS);
  ck_assert_msg(log.count == count, "%s", log.text);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 0.6, y, &t, CV_NORMAL), CP_SUCCESS); /* here it falls */
  ck_assert_int_eq(log.count, count + 1);
  ck_assert_mentions(log.text, "rank of the constraint Jacobian fell below 2");
  CPIntegratorFree(&mem);
  SUNNonlinSolFree(NLS);
  CPProjectorFree(&P);
  N_VDestroy(y);
  N_VDestroy(y0);
}
END_TEST

/* Every second step is projected, beginning with the first. The rank must also be right between
 * projections, where the state is not checked. */
START_TEST(the_same_projector_once_more_is_one_with_other_data) {
  IntegratorCounters before, after;
  open_method(_i, 1.0e-6);
  ck_assert_success(&run, CPIntegratorSetProjFrequency(run.mem, 2, 0));
  for (int step = 0; step < 10; step++)
    ck_assert_success(&run, run_step(&run)); /* number 9 was projected */
  ck_assert_success(&run, integrator_counters(run.mem, &before));
  ck_assert_success(&run, CPIntegratorSetProjector(run.mem, run.P));
  ck_assert_success(&run, run_step(&run));
  ck_assert_success(&run, integrator_counters(run.mem, &after));
  ck_assert_int_eq(after.nproj, before.nproj + 1);
  ck_assert_int_ge(after.nje, before.nje + 1);
}
END_TEST

/* ---- codes ---- */

START_TEST(an_f_that_fails_recoverably_may_leave_nan_behind) {
  open_method(_i, 1.0e-6);
  run.world.f = (Fault){0.3, -1, 1, NAN};
  ck_assert_flag(&run, run_to(&run, 1.0), CV_REPTD_RHSFUNC_ERR);
  ck_assert_ptr_null(strstr(CPObjectGetLastMessage(CP_OBJECT(run.mem)), "NaN"));
}
END_TEST

static int half_root(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)user_data;
  g[0] = entries(y)[0] - 0.5;
  return 0;
}

/* Fails only at the root; steps do not end there. */
static int projection_failing_at_root(sunrealtype t, N_Vector yhat, N_Vector y, sunrealtype eps,
                                      void *user_data) {
  if (fabs(entries(yhat)[0] - 0.5) < 1.0e-9) return 1;
  return rod_projection(t, yhat, y, eps, user_data);
}

START_TEST(output_that_cannot_be_projected_at_a_root_is_reported_with_the_root) {
  int info = 0;
  open_method(_i, 1.0e-6);
  CPProjector own = projector_of_user(projection_failing_at_root, NULL, run.y);
  ck_assert_success(&run, CPIntegratorSetProjector(run.mem, own));
  ck_assert_success(&run, CVodeRootInit(run.cvode_mem, 1, half_root));
  ck_assert_flag(&run, run_to(&run, 1.0), CP_OUTPUT_PROJ_FAIL);
  ck_assert_double_eq_tol(entries(run.y)[0], 0.5, 1.0e-9);
  ck_assert_mentions(run.log.text, "CV_ROOT_RETURN");
  ck_assert_success(&run, CVodeGetRootInfo(run.cvode_mem, &info));
  ck_assert_int_eq(info, -1);
  ck_assert_success(&run, run_to(&run, 1.0)); /* beyond the root */
  CPIntegratorFree(&run.mem);                 /* before its projector */
  CPProjectorFree(&own);
}
END_TEST

/* ---- bounds and counters ---- */

/* After twenty steps the drift is that of twenty; a shorter step would not help. */
START_TEST(the_bound_on_corrections_does_not_count_after_skipped_steps) {
  const sunrealtype bound = 1.0e-1;
  open_method(_i, 1.0e-6);
  ck_assert_success(&run, CPIntegratorSetProjFrequency(run.mem, 20, 0));
  ck_assert_success(&run, CPIntegratorSetMaxCorrection(run.mem, bound));
  ck_assert_success(&run, run_to(&run, 3.0));
  ck_assert_int_eq(run_stats(&run).nlargecorr, 0);
  ck_assert_double_gt(run_stats(&run).maxcorrection, bound);
}
END_TEST

START_TEST(a_new_projector_after_a_restart_counts_from_zero) {
  N_Vector y0 = vector_copy(run.y);
  ck_assert_success(&run, run_to(&run, 3.0));
  ck_assert_success(&run, CPIntegratorReInit(run.mem, 0.0, y0));
  CPProjector other = world_projector(&run.world, y0);
  ck_assert_success(&run, CPIntegratorSetProjector(run.mem, other));
  run.world.c_calls = run.world.jac_calls = 0;
  for (int k = 0; k < 5; k++) ck_assert_success(&run, run_step(&run));
  const IntegratorCounters stats = run_stats(&run);
  ck_assert_int_eq(stats.nje + stats.nce, run.world.jac_calls + run.world.c_calls);
  ck_assert_int_gt(stats.nsetups, 0);
  ck_assert_int_gt(stats.niters, 0);
  CPIntegratorFree(&run.mem); /* before its projector */
  CPProjectorFree(&other);
  N_VDestroy(y0);
}
END_TEST

START_TEST(there_is_no_error_estimate_after_a_failed_call) {
  N_Vector ele = vector_of(PENDULUM_N, NULL);
  open_method(_i, 1.0e-6);
  run_until(&run, 0.3);
  ck_assert_success(&run, CPIntegratorGetEstLocalErrors(run.mem, ele));
  run.world.f = (Fault){run.t, -1, -1, 0.0};
  ck_assert_flag(&run, run_step(&run), CV_RHSFUNC_FAIL);
  ck_assert_int_eq(CPIntegratorGetEstLocalErrors(run.mem, ele), CP_NO_INIT);
  N_VDestroy(ele);
}
END_TEST

START_TEST(an_option_for_the_next_step_does_not_change_the_estimate_of_the_last) {
  N_Vector before = vector_of(PENDULUM_N, NULL), after = vector_of(PENDULUM_N, NULL);
  open_method(_i % n_methods, 1.0e-6);
  if (_i >= n_methods)
    ck_assert_success(&run, CPIntegratorSetErrEst(run.mem, CP_ERREST_UNPROJECTED));
  run_until(&run, 0.3);
  ck_assert_success(&run, CPIntegratorGetEstLocalErrors(run.mem, before));
  ck_assert_success(&run, CPIntegratorSetProjFrequency(run.mem, 3, 0));
  ck_assert_success(&run, CPIntegratorGetEstLocalErrors(run.mem, after));
  ck_assert(same_bits(before, after));
  N_VDestroy(before);
  N_VDestroy(after);
}
END_TEST

/* CVODES accepts them: it would never end, or return extrapolated states, since products of h
 * underflow. */
/* CVODES leaves it to a linear solver to reset the rate of convergence of the previous solve; steps
 * that CVodeB repeats would then differ, since their decisions would depend on the steps before the
 * checkpoint. */
START_TEST(a_linear_solver_next_to_fixed_point_iteration_changes_no_convergence_test) {
  const Method method = {_i ? CV_ADAMS : CV_BDF, SUNNONLINEARSOLVER_FIXEDPOINT, "fixed point"};
  Run with;
  run_close(&run);
  run_open(&run, method, 1.0e-6);
  run_open(&with, method, 1.0e-6);
  run_add_linear_solver(&with);
  ck_assert_success(&run, CPIntegratorSetProjector(
                              run.mem, NULL)); /* its factors are renewed with Newton matrices */
  ck_assert_success(&with, CPIntegratorSetProjector(with.mem, NULL));
  for (int k = 0; k < 40; k++) {
    ck_assert_success(&run, run_step(&run));
    ck_assert_success(&with, run_step(&with));
    ck_assert_double_eq(run.t, with.t);
    ck_assert(same_bits(run.y, with.y));
  }
  run_close(&with);
}
END_TEST

/* It is set during the run, where x is negative and rising: CVODES retries with steps that are
 * larger, and the run ends with either result. */
START_TEST(a_retry_with_a_larger_step_is_no_lost_history) {
  const sunrealtype not_negative[PENDULUM_N] = {1.0};
  N_Vector signs                             = vector_of(PENDULUM_N, not_negative);
  run_close(&run);
  run_open(&run, methods[_i], 1.0e-6);
  ck_assert_success(&run, CPIntegratorSetProjector(run.mem, NULL));
  run_until(&run, 1.4);
  ck_assert_success(&run, CVodeSetConstraints(run.cvode_mem, signs));
  ck_assert_int_lt(run_to(&run, 2.0), 0);
  ck_assert_msg(!strstr(run.log.text, "between the state"), "%s", run.log.text);
  ck_assert_success(&run, CVodeSetConstraints(run.cvode_mem, NULL));
  ck_assert_success(&run, CPIntegratorReInit(run.mem, run.t, run.y));
  run_until(&run, 2.0);
  ck_assert_bound(&run, error_of(&run), 2.0 * error_bound(&run)); /* that of two runs */
  N_VDestroy(signs);
}
END_TEST

/* Each call ends with steps that are smaller by orders of magnitude, from which CVODES would not
 * recover. */
START_TEST(after_failures_down_to_the_roundoff_of_t_the_run_goes_on) {
  run_close(&run);
  run_open(&run, methods[_i], 1.0e-6);
  run_until(&run, 0.3);
  run.world.f = (Fault){.after = -1.0, .times = -1, .flag = 1};
  for (int k = 0; k < 6; k++) ck_assert_int_lt(run_step(&run), 0);
  run.world.f.times = 0;
  for (int k = 0; k < 10; k++) {
    const sunrealtype before = run.t;
    ck_assert_success(&run, run_step(&run));
    ck_assert_double_gt(run.t, before);
  }
  ck_assert_success(&run, run_to(&run, 1.0));
  ck_assert_good(&run);
}
END_TEST

START_TEST(a_step_size_that_is_none_ends_the_call) {
  if (_i == 0 && CVodeSetMaxStep(run.cvode_mem, NAN) != CV_SUCCESS) return;
  if (_i == 1) ck_assert_success(&run, CVodeSetInitStep(run.cvode_mem, 4.9406564584124654e-324));
  ck_assert_flag(&run, run_to(&run, 0.1), _i ? CV_TOO_CLOSE : CV_ILL_INPUT);
  ck_assert_message(&run, "step size");
}
END_TEST

/* ---- what an iteration returns ---- */

/* SUNDIALS' fixed-point solver calls it a failure of convergence, although a smaller step would
 * succeed. */
START_TEST(a_fatal_failure_of_f_ends_the_run_though_it_does_not_come_again) {
  open_method(_i, 1.0e-6);
  run_until(&run, 0.1);
  run.world.f = (Fault){.after = 0.1, .times = 1, .flag = -1};
  int flag    = CP_SUCCESS;
  while (flag >= 0 && run.t < 1.0) flag = run_step(&run);
  ck_assert_flag(&run, flag, CV_RHSFUNC_FAIL);
  run_until(&run, 1.0);
  ck_assert_good(&run);
}
END_TEST

/* Comparisons with NaN are false: an iteration would end only at the user's bound. */
START_TEST(iterations_end_where_corrections_are_not_finite) {
  open_method(_i, 1.0e-6);
  ck_assert_success(&run, CVodeSetMaxNonlinIters(run.cvode_mem, 1000000000));
  run_until(&run, 0.1);
  run.world.f           = (Fault){.after = 0.1, .times = -1, .value = INFINITY};
  const long int before = run.world.f_calls;
  int flag              = CP_SUCCESS;
  while (flag >= 0 && run.t < 1.0) flag = run_step(&run);
  ck_assert_flag(&run, flag, CP_RHS_NONFINITE);
  ck_assert_int_lt(run.world.f_calls - before, 2000);
}
END_TEST

/* y' = -sign(y): an implicit step across 0 has no solution, and the size of corrections never
 * changes. */
static long int signs;
static int minus_sign(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t, (void)user_data;
  for (sunindextype i = 0; i < N_VGetLength(y); i++)
    N_VGetArrayPointer(ydot)[i] = N_VGetArrayPointer(y)[i] > 0.0 ? -1.0 : 1.0;
  signs++;
  return 0;
}
START_TEST(iterations_end_where_corrections_do_not_shrink) {
  run_close(&run);
  run_create(&run, methods[_i], 1.0e-6);
  N_VConst(1.0e-3, run.y);
  run.inner = inner_solver(run.method, run.y);
  ck_assert_success(&run, CPIntegratorSetNonlinearSolver(run.mem, run.inner));
  ck_assert_success(&run, CPIntegratorInit(run.mem, minus_sign, 0.0, run.y));
  ck_assert_success(&run, CPIntegratorSStolerances(run.mem, run.tol, run.tol));
  if (run.method.inner == SUNNONLINEARSOLVER_ROOTFIND) run_add_linear_solver(&run);
  ck_assert_success(&run, CVodeSetMaxNonlinIters(run.cvode_mem, 1000000000));
  ck_assert_success(&run, CVodeSetInitStep(run.cvode_mem, 1.0e-2));
  ck_assert_success(&run, CVodeSetMinStep(run.cvode_mem, 1.0e-2));
  signs = 0;
  ck_assert_flag(&run, run_step(&run), CV_CONV_FAILURE);
  ck_assert_int_lt(signs, 2000);
}
END_TEST

/* Taking back the prediction of the first attempts leaves 0 of the change. */
START_TEST(a_first_step_much_too_long_leaves_the_start_as_it_is) {
  open_method(_i, 1.0e-6);
  int flag = CP_SUCCESS;
  run_until(&run, 0.3);
  N_Vector y0 = vector_copy(run.y);
  ck_assert_success(&run, CVodeSetInitStep(run.cvode_mem, 1.0e18));
  ck_assert_success(&run, CPIntegratorReInit(run.mem, run.t, y0));
  ck_assert_success(&run, CVodeSetMaxConvFails(run.cvode_mem, 100000));
  ck_assert_success(&run, CVodeSetMaxErrTestFails(run.cvode_mem, 100000));
  ck_assert_success(&run, CPIntegratorSetProjector(run.mem, NULL));
  for (int k = 0; flag >= 0 && k < 5; k++) {
    flag = CPIntegratorEvolve(run.mem, 1.0e19, run.y, &run.t, CV_ONE_STEP);
    ck_assert_bound(&run, error_of(&run), 1.0e3 * run.tol);
  }
  ck_assert_int_ge(flag, 0);
  N_VDestroy(y0);
}
END_TEST

/* The first step for these weights is about 1e-158. */
START_TEST(a_step_moves_t) {
  N_Vector y0 = vector_copy(run.y);
  ck_assert_success(&run, CPIntegratorSStolerances(run.mem, 1.0e-3, 1.0e-300));
  ck_assert_success(&run, CPIntegratorSetProjector(run.mem, NULL));
  ck_assert_success(&run, CPIntegratorReInit(run.mem, 0.1, y0));
  run.t = 0.1;
  for (int k = 0; k < 5; k++) {
    const sunrealtype before = run.t;
    ck_assert_success(&run, run_step(&run));
    ck_assert_double_gt(run.t, before);
  }
  N_VDestroy(y0);
}
END_TEST

TEST_SUITE(robustness) {
  Suite *suite = suite_create("robustness");
  TCase *tc    = tcase_create("robustness");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_loop_test(tc, a_history_lost_before_sensitivities_ends_the_run_and_it_can_go_on, 0,
                      n_methods);
  tcase_add_loop_test(tc, a_history_lost_on_the_way_to_a_stop_time_ends_the_run, 0, 3 * n_methods);
  tcase_add_loop_test(tc, a_fatal_failure_before_sensitivities_moves_the_start, 0, n_methods);
  tcase_add_test(tc, sizes_that_tell_whether_to_project_do_not_grow_older_than_factors);
  tcase_add_test(tc, factors_grow_older_with_steps_that_are_left_alone);
  tcase_add_test(tc, a_solver_without_a_convergence_test_is_not_attached);
  tcase_add_loop_test(tc, a_refused_solver_leaves_the_old_one, 0, 2);
  tcase_add_loop_test(tc, attaching_a_refused_solver_leaves_the_memory_as_it_was, 0, 2);
  tcase_add_test(tc, the_internal_projector_refuses_states_in_pieces_wherever_they_come);
  tcase_add_loop_test(tc, a_failure_of_the_solver_is_not_judged_by_memory_that_was_never_set, 0,
                      n_methods);
  tcase_add_test(tc, after_an_init_that_failed_half_way_the_next_one_says_what_to_do);
  tcase_add_test(tc, one_failure_of_f_far_from_zero_does_not_end_the_run);
  tcase_add_loop_test(tc, a_linear_solver_next_to_fixed_point_iteration_changes_no_convergence_test,
                      0, 2);
  tcase_add_loop_test(tc, a_retry_with_a_larger_step_is_no_lost_history, 0, n_methods);
  tcase_add_loop_test(tc, after_failures_down_to_the_roundoff_of_t_the_run_goes_on, 0, n_methods);
  tcase_add_loop_test(tc, a_step_size_that_is_none_ends_the_call, 0, 2);
  tcase_add_test(tc, messages_give_large_times_in_full);
  tcase_add_loop_test(tc, start_check_initial_conditions_and_projection_know_one_floor, 0,
                      4 * n_methods);
  tcase_add_loop_test(tc, the_warning_of_the_floor_speaks_of_the_projection_that_ended_there, 0, 10);
  tcase_add_test(tc, a_rejected_attempt_warns_of_nothing);
  tcase_add_test(tc, a_rank_that_fell_is_not_told_after_a_new_start);
  tcase_add_loop_test(tc, the_same_projector_once_more_is_one_with_other_data, 0, n_methods);
  tcase_add_loop_test(tc, an_f_that_fails_recoverably_may_leave_nan_behind, 0, n_methods);
  tcase_add_loop_test(tc, output_that_cannot_be_projected_at_a_root_is_reported_with_the_root, 0,
                      n_methods);
  tcase_add_loop_test(tc, the_bound_on_corrections_does_not_count_after_skipped_steps, 0, n_methods);
  tcase_add_test(tc, a_new_projector_after_a_restart_counts_from_zero);
  tcase_add_loop_test(tc, there_is_no_error_estimate_after_a_failed_call, 0, n_methods);
  tcase_add_loop_test(tc, an_option_for_the_next_step_does_not_change_the_estimate_of_the_last, 0,
                      2 * n_methods);
  tcase_add_loop_test(tc, a_fatal_failure_of_f_ends_the_run_though_it_does_not_come_again, 0,
                      n_methods);
  tcase_add_loop_test(tc, iterations_end_where_corrections_are_not_finite, 0, n_methods);
  tcase_add_loop_test(tc, iterations_end_where_corrections_do_not_shrink, 0, n_methods);
  tcase_add_loop_test(tc, a_first_step_much_too_long_leaves_the_start_as_it_is, 0, n_methods);
  tcase_add_test(tc, a_step_moves_t);
  suite_add_tcase(suite, tc);
  return suite;
}
