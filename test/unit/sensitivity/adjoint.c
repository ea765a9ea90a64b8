/* Backward runs: the tape of the forward run, end times and times of end terms against closed forms, and CVodeF and CVodeB of
 * a program of one's own. */
#include "cpodes/sensitivity/tape.h"
#include "sensitivity/fixture.h"

#include <malloc.h>
#include <math.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

static SensRun r;
static Run *const run = &r.run;

/* ---- the tape ---- */

/* Runs to t1 with segments of so many steps, and records it. */
static void record(CPTape *tape, Method method, sunrealtype tol, sunrealtype t1, long int most) {
  run_open(run, method, tol);
  ck_assert_success(run, CPIntegratorSetStopTime(run->mem, t1));
  ck_assert_int_eq(cpTapeCreate(tape, run->mem, t1, most, "record"), CP_SUCCESS);
  sunrealtype before = 0.0;
  while (run->t != t1) {
    ck_assert_int_ge(CPIntegratorEvolve(run->mem, t1, run->y, &run->t, CV_ONE_STEP), 0);
    ck_assert_int_eq(cpTapeRecord(tape, before), CP_SUCCESS);
    before = run->t;
  }
}

/* Every segment is integrated again from its start. Errors of states are those of the runs, which ck_assert_good bounds, and of
 * interpolants, which are of the same order or the next lower one. */
START_TEST(the_tape_has_the_motion_in_every_segment) {
  const sunrealtype t1 = _i / ALL_METHODS ? -2.0 : 2.0, tol = 1.0e-9;
  CPTape tape;
  sunrealtype exact[PENDULUM_N];
  record(&tape, methods[_i % ALL_METHODS], tol, t1, 6);
  N_Vector y            = vector_of(PENDULUM_N, NULL);
  const long int before = tape.nsegments;
  ck_assert_int_ge(before, 2);
  for (long int k = before - 1; k >= 0; k--) {
    const sunrealtype end = k + 1 < before ? tape.begins[k + 1] : t1, begins = tape.begins[k];
    if (begins == end) continue;
    ck_assert_int_eq(cpTapeLoad(&tape, k, 100000), CP_SUCCESS);
    for (int i = 0; i <= 40; i++) {
      const sunrealtype t = end + (begins - end) * i / 40.0;
      cpTapeState(&tape, t, y);
      pendulum_exact(&run->world.p, t, exact);
      for (int j = 0; j < PENDULUM_N; j++)
        ck_assert_msg(fabs(entries(y)[j] - exact[j]) <= 1.0e-5, "%s, t = %g: off by %g",
                      run->method.name, t, entries(y)[j] - exact[j]);
    }
  }
  ck_assert_int_eq(tape.nsegments, before);
  cpTapeFree(&tape);
  N_VDestroy(y);
  run_close(run);
}
END_TEST

/* Ten times the time, the same steps in memory: what grows is (t, y) of each segment and the run itself. */
START_TEST(memory_grows_with_the_starts_of_segments_only) {
  size_t heap[2];
  long int segments[2];
  for (int k = 0; k < 2; k++) {
    CPTape tape;
    const size_t before = mallinfo2().uordblks;
    record(&tape, methods[4], 1.0e-10, k ? 40.0 : 4.0, 10);
    heap[k]     = mallinfo2().uordblks - before;
    segments[k] = tape.nsegments;
    cpTapeFree(&tape);
    run_close(run);
  }
  if (heap[0] == 0) return; /* a sanitizer's malloc does not count */
  ck_assert_int_gt(segments[1], segments[0] + 10);
  /* the arrays grow by factors of two */
  ck_assert_uint_le(heap[1],
                    heap[0] + (size_t)segments[1] * 2 * (PENDULUM_N + 2) * sizeof(sunrealtype));
}
END_TEST

/* Quotients by the distance from a node of the polynomials would lose all digits there. */
START_TEST(the_tape_has_rates_next_to_the_nodes_of_its_steps) {
  CPTape tape;
  sunrealtype rate[PENDULUM_N];
  record(&tape, methods[4], 1.0e-10, 2.0, 1000);
  N_Vector y = vector_of(PENDULUM_N, NULL), f = vector_of(PENDULUM_N, NULL);
  for (long int i = 1; i < tape.nsteps; i++)
    for (int k = 0; k < 4; k++) {
      const sunrealtype from = tape.t[i], to = tape.t[i + 1];
      const sunrealtype t = k == 0   ? nextafter(from, to)
                            : k == 1 ? nextafter(to, from)
                            : k == 2 ? from + 1.0e-9 * (to - from)
                                     : (from + to) / 2;
      pendulum_exact(&run->world.p, t, entries(y));
      pendulum_rhs(t, y, f, &run->world.p);
      cpTapeRate(&tape, t, rate);
      for (int j = 0; j < PENDULUM_N; j++) ck_assert_double_eq_tol(rate[j], entries(f)[j], 1.0e-6);
    }
  cpTapeFree(&tape);
  N_VDestroy(y);
  N_VDestroy(f);
  run_close(run);
}
END_TEST

/* ---- gradients at many end times ---- */

static int position(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)user_data;
  g[0] = entries(y)[0];
  return 0;
}

/* d x(t1)/d(L, g) */
static void differentiate(Method method, sunrealtype tol, sunrealtype t1, const CPFunctional *F,
                          const CPGradientOptions *options, sunrealtype *dG) {
  sunrealtype G;
  sens_open_states(&r, method, tol);
  const CPParameters parameters = sens_parameters(&r);
  ck_assert_success(run, CPIntegratorGradient(run->mem, t1, F, &parameters, options, &G, dG, NULL));
  sens_close(&r);
}

/* CVODES' own interpolation of forward runs is wrong at one end time in some hundred (errors of up to 1e9 tolerances, or failures). With
 * the given tolerances instead of parts of them, BDF is off by up to 1e4. */
START_TEST(no_end_time_has_another_gradient) {
  const sunrealtype tol[] = {1.0e-5, 1.0e-7, 1.0e-9};
  const CPFunctional F    = {CP_SIZED(CPFunctional), .ng = 1, .end = position};
  const int chosen[]      = {0, 1, 4, 7}; /* BDF, Adams, DOP853, RADAU */
  const Method method     = methods[chosen[_i % 4]];
  const sunrealtype from  = _i / 4 ? 2.26 : 9.4; /* where CVODES was wrong */
  const int times         = test_is_short() ? 3 : 20;
  N_Vector y = vector_of(PENDULUM_N, NULL), *exact = N_VCloneVectorArray(NS, y);
  for (int k = 0; k < 3; k++) {
    const CPGradientOptions options = {CP_SIZED(CPGradientOptions), .reltol = tol[k]};
    for (int i = 0; i < times; i++) {
      const sunrealtype t1 = from + 0.007 * i;
      sunrealtype dG[NS];
      differentiate(method, tol[k], t1, &F, &options, dG);
      sens_exact(&(Pendulum){1.0, 9.81}, t1, exact);
      for (int p = 0; p < NS; p++)
        ck_assert_msg(fabs(dG[p] - entries(exact[p])[0]) <= 100.0 * tol[k],
                      "%s, tolerance %g, t1 = %g: %g is off by %g", method.name, tol[k], t1, dG[p],
                      dG[p] - entries(exact[p])[0]);
    }
  }
  N_VDestroyVectorArray(exact, NS);
  N_VDestroy(y);
}
END_TEST

/* ---- end terms at many times ---- */

enum { TIMES = 40 };
static sunrealtype times[TIMES];

/* The sum over times of (1 + j) x(t_j) L, whose derivatives with respect to the parameters are explicit, too */
static int sample(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  const Pendulum *p = user_data;
  int j             = 0;
  while (j < TIMES && times[j] != t) j++;
  ck_assert_int_lt(j, TIMES);
  g[0] = (1 + j) * entries(y)[0] * p->L;
  return 0;
}

START_TEST(end_terms_at_many_times_are_those_of_the_closed_form_both_ways) {
  const CPGradientOptions options = {CP_SIZED(CPGradientOptions), .reltol = 1.0e-10, .steps = 30,
                                     .mode = (CPGradientMode)(_i / ALL_METHODS % 2)};
  const sunrealtype t1 = _i / ALL_METHODS / 2 ? -2.0 : 2.0; /* the run goes on after the last time */
  sunrealtype G, dG[NS], value = 0.0, gradient[NS] = {0.0}, y[PENDULUM_N];
  for (int j = 0; j < TIMES; j++) times[j] = j / (TIMES + 2.0) * t1;
  sens_open_states(&r, methods[_i % ALL_METHODS], 1.0e-9);
  const CPFunctional F          = {CP_SIZED(CPFunctional),     .ng = 1,        .end = sample,
                                   .user_data = &run->world.p, .times = times, .ntimes = TIMES};
  const CPParameters parameters = sens_parameters(&r);
  N_Vector *s                   = N_VCloneVectorArray(NS, run->y);
  for (int j = 0; j < TIMES; j++) {
    pendulum_exact(&run->world.p, times[j], y);
    sens_exact(&run->world.p, times[j], s);
    value += (1 + j) * y[0];
    for (int p = 0; p < NS; p++)
      gradient[p] += (1 + j) * (entries(s[p])[0] + (p == BY_L ? y[0] : 0.0));
  }
  ck_assert_success(run,
                    CPIntegratorGradient(run->mem, t1, &F, &parameters, &options, &G, dG, NULL));
  ck_assert_double_eq_tol(G, value, 1.0e-5 * TIMES * TIMES);
  for (int p = 0; p < NS; p++) ck_assert_double_eq_tol(dG[p], gradient[p], 1.0e-5 * TIMES * TIMES);
  N_VDestroyVectorArray(s, NS);
  sens_close(&r);
}
END_TEST

/* Evaluations of f for the sum of x at so many times */
static long int evaluations(Method method, int count, const sunrealtype *at) {
  const CPGradientOptions options = {CP_SIZED(CPGradientOptions), .reltol = 1.0e-6};
  const CPFunctional F            = {CP_SIZED(CPFunctional), .ng = 1, .end = position, .times = at,
                                     .ntimes = count};
  sunrealtype G, dG[NS];
  sens_open_states(&r, method, 1.0e-6);
  const CPParameters parameters = sens_parameters(&r);
  run->world.f_calls            = 0;
  ck_assert_success(run,
                    CPIntegratorGradient(run->mem, 3.0, &F, &parameters, &options, &G, dG, NULL));
  const long int calls = run->world.f_calls;
  sens_close(&r);
  return calls;
}

/* Almost all are those of the backward run, whose steps would be 1.6 times as many if they ended at nodes that do not follow them. (With
 * derivatives in closed form it is 1.2 times; bench/sensitivity.) */
START_TEST(a_hundred_times_take_little_more_evaluations_than_one) {
  const int chosen[]  = {0, 1, 4, 7}; /* BDF, Adams, DOP853, RADAU */
  const Method method = methods[chosen[_i]];
  sunrealtype at[100];
  for (int j = 0; j < 100; j++) at[j] = 3.0 * (j + 1) / 100;
  const long int one = evaluations(method, 1, at + 99), all = evaluations(method, 100, at);
  ck_assert_msg((double)all <= 1.5 * (double)one, "%s: %ld for %ld", method.name, all, one);
}
END_TEST

START_TEST(times_that_lead_elsewhere_are_refused) {
  const sunrealtype wrong[][2] = {{0.5, 0.4}, {0.5, 0.5}, {-0.1, 0.5}, {0.5, 1.1}, {NAN, 0.5}};
  sunrealtype G, dG[NS];
  sens_open_states(&r, methods[4], 1.0e-6);
  const CPParameters parameters = sens_parameters(&r);
  CPFunctional F                = {CP_SIZED(CPFunctional), .ng = 1, .end = position, .ntimes = 2,
                                   .times = wrong[_i]};
  ck_assert_flag(run, CPIntegratorGradient(run->mem, 1.0, &F, &parameters, NULL, &G, dG, NULL),
                 CP_ILL_INPUT);
  ck_assert_message(run, "times[");
  F.ntimes = 0;
  ck_assert_flag(run, CPIntegratorGradient(run->mem, 1.0, &F, &parameters, NULL, &G, dG, NULL),
                 CP_ILL_INPUT);
  ck_assert_message(run, "ntimes");
  ck_assert_success(run, run_step(run)); /* the start is as it was */
  sens_close(&r);
}
END_TEST

/* ---- CVodeF and CVodeB of a program's own ---- */

/* J^T l by first-order differences of f, which suffice here. */
static N_Vector manifold, weights;
static int backward_rhs(sunrealtype t, N_Vector y, N_Vector l, N_Vector ldot, void *user_data) {
  (void)user_data;
  N_VScale(1.0, y, manifold);
  const int flag = CPProjectorProject(run->P, t, manifold, weights);
  if (flag) return flag;
  N_Vector f0 = vector_copy(y), f1 = vector_copy(y);
  pendulum_rhs(t, manifold, f0, &run->world.p);
  for (int j = 0; j < PENDULUM_N; j++) {
    const sunrealtype kept = entries(manifold)[j], e = 1.0e-7;
    entries(manifold)[j] += e;
    pendulum_rhs(t, manifold, f1, &run->world.p);
    entries(manifold)[j] = kept;
    N_VLinearSum(1.0 / e, f1, -1.0 / e, f0, f1);
    entries(ldot)[j] = -dot(l, f1);
  }
  N_VDestroy(f0);
  N_VDestroy(f1);
  return 0;
}

/* They go through the projecting solver. l(0) . dy0 is the change of x(t1) for a start that is moved along the manifold. */
START_TEST(a_programs_own_adjoint_run_is_projected) {
  int ncheck = 0, which = 0;
  sunrealtype x[2];
  const sunrealtype t1 = 1.0, e = 1.0e-4;
  run_open(run, methods[_i], 1.0e-9);
  N_Vector l = vector_copy(run->y), y0 = vector_copy(run->y);
  manifold = vector_copy(run->y), weights = vector_copy(run->y);
  N_VConst(1.0e9, weights);
  ck_assert_success(run, CVodeAdjInit(run->cvode_mem, 30, CV_HERMITE));
  ck_assert_int_eq(CVodeF(run->cvode_mem, t1, run->y, &run->t, CV_NORMAL, &ncheck), CV_SUCCESS);
  ck_assert_int_gt(ncheck, 1);
  ck_assert_int_gt(run_stats(run).nproj, 10);
  SUNNonlinearSolver fixed = SUNNonlinSol_FixedPoint(l, 0, test_context);
  N_VConst(0.0, l);
  entries(l)[0] = 1.0;
  ck_assert_success(run, CVodeCreateB(run->cvode_mem, CV_ADAMS, &which));
  ck_assert_success(run, CVodeInitB(run->cvode_mem, which, backward_rhs, run->t, l));
  ck_assert_success(run, CVodeSStolerancesB(run->cvode_mem, which, 1.0e-5, 1.0e-5));
  ck_assert_success(run, CVodeSetMaxNumStepsB(run->cvode_mem, which, 100000));
  ck_assert_success(run, CVodeSetNonlinearSolverB(run->cvode_mem, which, fixed));
  ck_assert_int_eq(CVodeB(run->cvode_mem, 0.0, CV_NORMAL), CV_SUCCESS);
  ck_assert_int_eq(CVodeGetB(run->cvode_mem, which, &run->t, l), CV_SUCCESS);
  ck_assert_int_eq(CPProjectorProjectVector(run->P, CP_COTANGENT, 0.0, y0, weights, l), CP_SUCCESS);
  for (int k = 0; k < 2; k++) {
    entries(y0)[0] = cos(e), entries(y0)[1] = k ? sin(e) : -sin(e);
    ck_assert_success(run, CPIntegratorReInit(run->mem, 0.0, y0));
    ck_assert_success(run, run_to(run, t1));
    x[k] = entries(run->y)[0];
  }
  ck_assert_double_eq_tol(entries(l)[1], (x[1] - x[0]) / (2 * e), 1.0e-3); /* of the backward run */
  run_close(run);
  SUNNonlinSolFree(fixed);
  N_VDestroy(manifold);
  N_VDestroy(weights);
  N_VDestroy(y0);
  N_VDestroy(l);
}
END_TEST

/* y' of a mass on a circle of the radius 1e-3, between larger coordinates */
enum { FREQUENCY = 1000 };
static int bent(sunrealtype t, N_Vector y, N_Vector f, void *data) {
  (void)t, (void)data;
  N_VConst(0.0, f);
  entries(f)[0] = sin(FREQUENCY * entries(y)[0]);
  return entries(y)[0] > 0.7 + 2.0e-3; /* There is no f beyond. */
}

START_TEST(differences_have_steps_that_follow_the_function) {
  const sunrealtype at[] = {0.7, 3.0}, along[] = {1.0, 0.0};
  const CPParams none      = {.p = NULL};
  const CPSystem no_system = {.data = NULL};
  N_Vector y = vector_of(2, at), s = vector_of(2, along), d = N_VClone(y), moved = N_VClone(y),
           value = N_VClone(y), error = N_VClone(y);
  ck_assert_int_eq(cpSensDirection(&no_system, &none, bent, 0.0, y, (CPAlong){.iS = -1}, s, d,
                                   moved, value, error, NULL),
                   0);
  ck_assert_double_eq_tol(entries(d)[0] / FREQUENCY, cos(0.7 * FREQUENCY), 1.0e-8);
  ck_assert_double_eq(entries(d)[1], 0.0);
  N_Vector all[] = {y, s, d, moved, value, error};
  for (int k = 0; k < 6; k++) N_VDestroy(all[k]);
}
END_TEST

TEST_SUITE(adjoint) {
  Suite *suite = suite_create("Adjoint sensitivities");
  TCase *tc    = tcase_create("adjoint");
  tcase_add_test(tc, differences_have_steps_that_follow_the_function);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, the_tape_has_the_motion_in_every_segment, 0, 2 * ALL_METHODS);
  tcase_add_test(tc, memory_grows_with_the_starts_of_segments_only);
  tcase_add_loop_test(tc, no_end_time_has_another_gradient, 0, 8);
  tcase_add_loop_test(tc, end_terms_at_many_times_are_those_of_the_closed_form_both_ways, 0,
                      4 * ALL_METHODS);
  tcase_add_test(tc, the_tape_has_rates_next_to_the_nodes_of_its_steps);
  tcase_add_loop_test(tc, a_hundred_times_take_little_more_evaluations_than_one, 0, 4);
  tcase_add_loop_test(tc, times_that_lead_elsewhere_are_refused, 0, 5);
  tcase_add_loop_test(tc, a_programs_own_adjoint_run_is_projected, 0, n_methods);
  suite_add_tcase(suite, tc);
  return suite;
}
