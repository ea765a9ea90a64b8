/* Adjoint runs: checkpoints, the forward state, gradients, failures. */
#include "cpodes/sensitivity/sens_impl.h"
#include "sensitivity/fixture.h"

#include <math.h>
#include <string.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

static SensRun r;
static Run *const run = &r.run;

static CPMultistep memory(void) { return (CPMultistep)run->mem; }
static int forwards(sunrealtype tout, int itask, int *ncheck) {
  return cpForwards(memory(), tout, run->y, &run->t, itask, ncheck, "forwards");
}
static int backwards(sunrealtype tB) { return cpBackward(memory(), tB, CV_NORMAL, "backwards"); }

/* ---- a backward problem: l' = -J^T l, l(t1) = (1, 0, 0, 0) ---- */

typedef struct {
  N_Vector y;            /* on the manifold */
  N_Vector weights;      /* for `own` */
  sunrealtype raw, good; /* largest violation of the interpolated state, and after its projection */
  int calls;
  int stays; /* the state is not projected */
  int own;   /* the program calls CVODES itself: only public functions project */
} Backward;
static Backward backward;

/* J^T l by first-order differences of f, which suffice here. */
static int adjoint_rhs(sunrealtype t, N_Vector y, N_Vector l, N_Vector ldot, void *user_data) {
  (void)user_data;
  backward.calls++;
  N_Vector before = vector_copy(y);
  N_VScale(1.0, y, backward.y);
  const int flag = backward.stays ? 0
                   : backward.own ? CPProjectorProject(run->P, t, backward.y, backward.weights)
                                  : cpForwardState(memory(), t, y, backward.y, __func__);
  ck_assert(same_bits(before, y));
  N_VDestroy(before);
  if (flag) return flag;
  backward.raw  = fmax(backward.raw, violation_of(&run->world, y));
  backward.good = fmax(backward.good, violation_of(&run->world, backward.y));
  N_Vector f0 = vector_copy(y), f1 = vector_copy(y);
  pendulum_rhs(t, backward.y, f0, &run->world.p);
  for (int j = 0; j < PENDULUM_N; j++) {
    const sunrealtype kept = entries(backward.y)[j], e = 1.0e-7;
    entries(backward.y)[j] += e;
    pendulum_rhs(t, backward.y, f1, &run->world.p);
    entries(backward.y)[j] = kept;
    N_VLinearSum(1.0 / e, f1, -1.0 / e, f0, f1);
    entries(ldot)[j] = -dot(l, f1);
  }
  N_VDestroy(f0);
  N_VDestroy(f1);
  return 0;
}

static CVRhsFnB backward_rhs = adjoint_rhs;

/* ready for backwards; owned by the test */
static SUNNonlinearSolver create_backward(sunrealtype t1, N_Vector l) {
  int which;
  SUNNonlinearSolver fixed = SUNNonlinSol_FixedPoint(l, 0, test_context);
  memset(&backward, 0, sizeof backward);
  backward.y = vector_copy(l);
  N_VConst(0.0, l);
  entries(l)[0] = 1.0;
  ck_assert_success(run, CVodeCreateB(run->cvode_mem, CV_ADAMS, &which));
  ck_assert_success(run, CVodeInitB(run->cvode_mem, which, backward_rhs, t1, l));
  ck_assert_success(run, CVodeSStolerancesB(run->cvode_mem, which, 1.0e-5, 1.0e-5));
  ck_assert_success(run, CVodeSetMaxNumStepsB(run->cvode_mem, which, 100000));
  ck_assert_success(run, CVodeSetNonlinearSolverB(run->cvode_mem, which, fixed));
  return fixed;
}

/* ---- the forward run ---- */

START_TEST(outputs_of_a_run_with_checkpoints_are_on_the_manifold) {
  int ncheck = 0;
  run_open(run, methods[_i], 1.0e-4);
  ck_assert_success(run, CVodeAdjInit(run->cvode_mem, 10, CV_POLYNOMIAL));
  for (int k = 1; k <= 10; k++) {
    ck_assert_success(run, forwards(0.1 * k, CV_NORMAL, &ncheck));
    ck_assert(run->t == 0.1 * k);
    ck_assert_good(run);
  }
  ck_assert_int_ge(ncheck, run_steps(run) /
                               10); /* CVODES makes some steps twice, if output was between steps */
  run_close(run);
}
END_TEST

/* The first step for these weights is about 1e-158. All steps that do not move t are returned as
 * one, and the backward run passes through them. */
START_TEST(a_step_with_checkpoints_moves_t) {
  int ncheck = 0;
  run_open(run, methods[_i], 1.0e-6);
  N_Vector l = vector_copy(run->y);
  ck_assert_success(run, CPIntegratorSStolerances(run->mem, 1.0e-3, 1.0e-300));
  ck_assert_success(run, CPIntegratorSetProjector(run->mem, NULL));
  ck_assert_success(run, CPIntegratorReInit(run->mem, 0.1, run->y));
  ck_assert_success(run, CVodeAdjInit(run->cvode_mem, 50, CV_HERMITE));
  run->t = 0.1;
  for (int k = 0; k < 5; k++) {
    const sunrealtype before = run->t;
    ck_assert_success(run, forwards(1.0, CV_ONE_STEP, &ncheck));
    ck_assert_double_gt(run->t, before);
  }
  SUNNonlinearSolver fixed = create_backward(run->t, l);
  ck_assert_success(run, backwards(0.1));
  run_close(run);
  SUNNonlinSolFree(fixed);
  N_VDestroy(backward.y);
  N_VDestroy(l);
}
END_TEST

/* CVodeF itself ignores it, and interpolates with the previous contents of the vector. */
START_TEST(a_first_evaluation_of_f_that_fails_is_told) {
  int ncheck = 0;
  run_open(run, methods[_i / 2], 1.0e-4);
  ck_assert_success(run, CVodeAdjInit(run->cvode_mem, 10, CV_HERMITE));
  run->world.f = (Fault){.after = -1.0, .times = 1, .flag = _i % 2 ? -1 : 1};
  ck_assert_flag(run, forwards(0.1, CV_NORMAL, &ncheck),
                 _i % 2 ? CV_RHSFUNC_FAIL : CV_FIRST_RHSFUNC_ERR);
  ck_assert_success(run, forwards(0.1, CV_NORMAL, &ncheck));
  run_close(run);
}
END_TEST

/* What CVODES gives the nonlinear solver at each attempt of the forward run */
enum { MOST = 4000 };
static struct {
  Attempt a;
  sunrealtype y[PENDULUM_N];
} seen[MOST];
static int nseen, nrepeated, repeating;

static int record(Run *of, const Attempt *a) {
  (void)of;
  if (!repeating) {
    ck_assert_int_lt(nseen, MOST);
    seen[nseen].a = *a;
    memcpy(seen[nseen++].y, entries(a->ypred), sizeof seen->y);
    return 0;
  }
  int k = 0;
  while (k < nseen && !(seen[k].a.nst == a->nst && seen[k].a.t == a->t && seen[k].a.h == a->h)) k++;
  ck_assert_msg(k < nseen, "%s: no step %ld to t = %.17g in the forward run", run->method.name,
                a->nst, a->t);
  ck_assert_msg(!memcmp(seen[k].y, entries(a->ypred), sizeof seen->y), "%s: t = %.17g",
                run->method.name, a->t);
  nrepeated++;
  return 0;
}

/* Forward through the stop times to t = 2, with a checkpoint after every so many steps, and back. */
static void repeat(const Method *method, long int steps, const double *stop, int nstops) {
  int ncheck = 0;
  nseen = nrepeated = repeating = 0;
  run_open(run, *method, 1.0e-6);
  N_Vector l = vector_copy(run->y);
  run_intercept(run, record, NULL);
  /* CVODES' polynomials read outside their array if the last interval has fewer steps than the
   * order. */
  ck_assert_success(run, CVodeAdjInit(run->cvode_mem, steps, CV_HERMITE));
  for (int k = 0; k < nstops; k++) {
    ck_assert_success(run, CVodeSetStopTime(run->cvode_mem, stop[k]));
    while (run->t < stop[k]) ck_assert_int_ge(forwards(2.0, CV_ONE_STEP, &ncheck), 0);
  }
  while (run->t < 2.0) ck_assert_int_ge(forwards(2.0, CV_ONE_STEP, &ncheck), 0);
  SUNNonlinearSolver fixed = create_backward(run->t, l);
  repeating                = 1;
  ck_assert_success(run, backwards(0.0));
  ck_assert_int_gt(nrepeated, nseen / 2);
  ck_assert_int_gt(backward.calls, 10);
  ck_assert_bound(run, backward.good, violation_bound(run));
  ck_assert_double_gt(backward.raw, backward.good); /* the projection had an effect */
  run_close(run);
  SUNNonlinSolFree(fixed);
  N_VDestroy(backward.y);
  N_VDestroy(l);
}

START_TEST(forward_steps_are_repeated_to_the_last_bit) {
  repeat(&methods[_i % 4], 7, (double[]){2.0}, 1);
}
END_TEST

/* CVODES keeps only the last stop time, and writes outside its array if a checkpoint is at that
 * time. */
START_TEST(forward_steps_to_stop_times_are_repeated_to_the_last_bit) {
  for (long int steps = 1; steps <= 9; steps += test_is_short() ? 4 : 1) {
    repeat(&methods[_i], steps, (double[]){0.7, 1.3, 2.0}, 3);
    repeat(&methods[_i], steps, (double[]){1.3}, 1);
  }
}
END_TEST

/* CVODES interpolates for backward problems in the Nordsieck array of the forward run, even if it
 * repeats no step. */
START_TEST(a_backward_run_is_followed_by_a_new_start) {
  int ncheck = 0;
  run_open(run, methods[_i], 1.0e-6);
  N_Vector l = vector_copy(run->y), y0 = vector_copy(run->y);
  ck_assert_success(run, CVodeAdjInit(run->cvode_mem, 1000, CV_HERMITE));
  ck_assert_success(run, forwards(0.5, CV_NORMAL, &ncheck));
  ck_assert_int_eq(ncheck, 0); /* the one at t0 is not counted */
  SUNNonlinearSolver fixed = create_backward(run->t, l);
  ck_assert_success(run, backwards(0.0));
  ck_assert_flag(run, run_to(run, 0.4), CP_TOO_LATE);
  ck_assert_message(run, "CPIntegratorReInit");
  ck_assert_flag(run, CPIntegratorGetDky(run->mem, 0.5, 0, run->y), CP_TOO_LATE);
  ck_assert_success(run, CPIntegratorReInit(run->mem, 0.0, y0));
  ck_assert_success(run, run_to(run, 0.4));
  ck_assert_good(run);
  run_close(run);
  SUNNonlinSolFree(fixed);
  N_VDestroy(backward.y);
  N_VDestroy(y0);
  N_VDestroy(l);
}
END_TEST

/* CVODES would store more steps than it has room for. */
START_TEST(repeated_steps_that_are_others_end_the_backward_run) {
  int ncheck = 0;
  run_open(run, methods[_i], 1.0e-6);
  N_Vector l = vector_copy(run->y), y0 = vector_copy(run->y);
  ck_assert_success(run, CVodeAdjInit(run->cvode_mem, 7, CV_HERMITE));
  ck_assert_success(run, forwards(1.0, CV_NORMAL, &ncheck));
  SUNNonlinearSolver fixed = create_backward(run->t, l);
  backward.stays           = 1;
  run->world.c             = (Fault){.after = 0.0, .times = 1, .flag = 1};
  ck_assert_flag(run, backwards(0.0), CV_FWD_FAIL);
  ck_assert_message(run, "forward step", "begins at");
  ck_assert_flag(run, run_to(run, 2.0), CP_TOO_LATE);
  ck_assert_message(run, "CPIntegratorReInit");
  ck_assert_success(run, CPIntegratorReInit(run->mem, 0.0, y0));
  ck_assert_success(run, run_to(run, 1.0));
  ck_assert_good(run);
  run_close(run);
  SUNNonlinSolFree(fixed);
  N_VDestroy(backward.y);
  N_VDestroy(l);
  N_VDestroy(y0);
}
END_TEST

/* A first step of the minimum length is multiplied again when it is repeated, by 1 up to roundoff.
 * Steps that end short of a checkpoint by roundoff would be one too many. */
START_TEST(repeated_steps_that_are_short_by_roundoff_do_not_overflow) {
  int refused = 0;
  for (int k = 0; k < 60; k += test_is_short() ? 20 : 1) {
    int ncheck = 0;
    run_open(run, methods[_i], 1.0e-6);
    N_Vector l = vector_copy(run->y);
    ck_assert_success(run, CVodeSetMinStep(run->cvode_mem, 1.0e-4 * (1.0 + 0.01 * k)));
    ck_assert_success(run, CVodeAdjInit(run->cvode_mem, 3, CV_HERMITE));
    ck_assert_success(run, forwards(0.1, CV_NORMAL, &ncheck));
    SUNNonlinearSolver fixed = create_backward(run->t, l);
    backward.stays           = 1;
    const int flag           = backwards(0.0);
    if (flag) {
      ck_assert_flag(run, flag, CV_FWD_FAIL);
      ck_assert_message(run, "forward step", "CVodeSetMinStep");
      refused++;
    }
    run_close(run);
    SUNNonlinSolFree(fixed);
    N_VDestroy(backward.y);
    N_VDestroy(l);
  }
  ck_assert_int_lt(refused, 60);
}
END_TEST

static int height(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)user_data;
  g[0] = entries(y)[0]; /* 0 where the rod hangs down */
  return 0;
}

static int run_forward(sunrealtype tout, int itask) {
  int ncheck = 0;
  return forwards(tout, itask, &ncheck);
}

/* CVODES would take a root for a step, for which there is no room, and whose state belongs to
 * another time. */
START_TEST(steps_with_a_root_are_not_repeated) {
  const int few = _i < 4; /* checkpoints after the root, or none */
  run_open(run, methods[_i % 4], 1.0e-6);
  N_Vector l = vector_copy(run->y);
  ck_assert_success(run, CVodeAdjInit(run->cvode_mem, few ? 7 : 1000, CV_HERMITE));
  ck_assert_success(run, CVodeRootInit(run->cvode_mem, 1, height));
  ck_assert_flag(run, run_forward(1.0, CV_NORMAL), CV_ROOT_RETURN);
  ck_assert_success(run, run_forward(1.0, CV_NORMAL));
  SUNNonlinearSolver fixed = create_backward(run->t, l);
  ck_assert_flag(run, backwards(0.0), few ? CP_NOT_SUPPORTED : CP_SUCCESS);
  if (few) ck_assert_message(run, "root", "CVodeRootInit");
  run_close(run);
  SUNNonlinSolFree(fixed);
  N_VDestroy(backward.y);
  N_VDestroy(l);
}
END_TEST

/* CVodeF does not report it; with one more step it would be lost, and the next run would return it
 * again. */
START_TEST(a_root_beyond_tout_is_returned_next_and_in_no_other_run) {
  run_open(run, methods[_i], 1.0e-6);
  N_Vector y0 = vector_copy(run->y);
  ck_assert_success(run, CVodeRootInit(run->cvode_mem, 1, height));
  ck_assert_success(run, CVodeAdjInit(run->cvode_mem, 20, CV_HERMITE));
  ck_assert_flag(run, run_forward(1.0, CV_NORMAL), CV_ROOT_RETURN);
  const sunrealtype root = run->t;
  for (int again = 0; again < 3; again++) { /* one step, a time beyond it, a new start */
    ck_assert_success(run, CPIntegratorReInit(run->mem, 0.0, y0));
    ck_assert_success(run, run_forward(root - 1.0e-5, CV_NORMAL));
    if (again == 2) continue;
    ck_assert_success(run, run_forward(root - 0.9e-5, CV_NORMAL));
    ck_assert_flag(run, run_forward(1.0, again ? CV_NORMAL : CV_ONE_STEP), CV_ROOT_RETURN);
    ck_assert_double_eq_tol(run->t, root, 1.0e-5);
    ck_assert_good(run);
  }
  ck_assert_success(run, CPIntegratorReInit(run->mem, 0.0, y0));
  ck_assert_success(run, run_forward(0.1, CV_NORMAL));
  ck_assert_flag(run, run_forward(1.0, CV_NORMAL), CV_ROOT_RETURN);
  ck_assert_double_eq_tol(run->t, root, 1.0e-5);
  N_VDestroy(y0);
  run_close(run);
}
END_TEST

/* A call that returns such a root takes no step: CVodeB would write beyond an array with the number
 * of checkpoints that it reports. */
START_TEST(a_root_beyond_tout_comes_with_the_number_of_checkpoints) {
  int kept = -1, ncheck = -1;
  run_open(run, methods[_i], 1.0e-6);
  N_Vector y0 = vector_copy(run->y);
  ck_assert_success(run, CVodeRootInit(run->cvode_mem, 1, height));
  ck_assert_success(run, CVodeAdjInit(run->cvode_mem, 3, CV_HERMITE));
  ck_assert_flag(run, run_forward(1.0, CV_NORMAL), CV_ROOT_RETURN);
  const sunrealtype before = run->t - 1.0e-5;
  ck_assert_success(run, CPIntegratorReInit(run->mem, 0.0, y0));
  ck_assert_success(run, forwards(before, CV_NORMAL, &kept));
  ck_assert_flag(run, forwards(1.0, CV_NORMAL, &ncheck), CV_ROOT_RETURN);
  ck_assert_int_gt(kept, 0);
  ck_assert_int_eq(ncheck, kept);
  N_VDestroy(y0);
  run_close(run);
}
END_TEST

static const sunrealtype instants[] = {0.3, 0.3 + 1.0e-7, 0.3 + 2.0e-7, 0.3 + 3.0e-7};
enum { INSTANTS = sizeof instants / sizeof *instants };
static int at_instants(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)y, (void)user_data;
  for (int k = 0; k < INSTANTS; k++) g[k] = t - instants[k];
  return 0;
}

/* CVodeF would interpolate if tout is in the rest of a step after a root. */
START_TEST(each_of_several_roots_in_one_step_is_returned) {
  run_open(run, methods[_i % 4], 1.0e-6);
  const int stops       = _i & 8;
  const sunrealtype end = stops ? 0.3 + 5.0e-7 : 1.0; /* also the end of the step after the roots */
  if (stops) ck_assert_success(run, CVodeSetStopTime(run->cvode_mem, end));
  ck_assert_success(run, _i & 4 ? CVodeRootInit(run->cvode_mem, INSTANTS, at_instants)
                                : CPIntegratorRootInit(run->mem, INSTANTS, at_instants));
  ck_assert_success(run, CVodeAdjInit(run->cvode_mem, 20, CV_HERMITE));
  for (int k = 0; k < INSTANTS; k++) {
    int found[INSTANTS];
    const sunrealtype tout = instants[k | 1] + 0.5e-7; /* after every second one */
    ck_assert_flag(run, run_forward(tout, CV_NORMAL), CV_ROOT_RETURN);
    ck_assert_double_eq_tol(run->t, instants[k], 1.0e-12);
    ck_assert_success(run, CVodeGetRootInfo(run->cvode_mem, found));
    for (int i = 0; i < INSTANTS; i++) ck_assert_int_eq(found[i], i == k);
    if (k & 1) ck_assert_success(run, run_forward(tout, CV_NORMAL));
    if (k & 1) ck_assert_double_eq(run->t, tout);
  }
  ck_assert_flag(run, run_forward(1.0, CV_NORMAL), stops ? CV_TSTOP_RETURN : CP_SUCCESS);
  ck_assert_double_eq(run->t, end);
  ck_assert_good(run);
  run_close(run);
}
END_TEST

/* CVODES reads the data of a weight function when a run starts, and until then calls it with NULL. */
START_TEST(tolerances_set_after_the_forward_run_are_refused) {
  N_Vector abstol;
  run_open(run, ADAMS_FIXED_POINT, 1.0e-6);
  N_Vector l = vector_copy(run->y);
  abstol     = vector_copy(run->y);
  N_VConst(1.0e-6, abstol);
  ck_assert_success(run, CPIntegratorSVtolerances(run->mem, 1.0e-6, abstol));
  ck_assert_success(run, CVodeAdjInit(run->cvode_mem, 7, CV_HERMITE));
  ck_assert_success(run, run_forward(1.0, CV_NORMAL));
  ck_assert_success(run, CPIntegratorSStolerances(run->mem, 1.0e-7, 1.0e-7));
  SUNNonlinearSolver fixed = create_backward(run->t, l);
  ck_assert_flag(run, backwards(0.0), CP_TOO_LATE);
  ck_assert_message(run, "tolerances", "CPIntegratorReInit");
  run_close(run);
  SUNNonlinSolFree(fixed);
  N_VDestroy(backward.y);
  N_VDestroy(l);
  N_VDestroy(abstol);
}
END_TEST

/* Factors of another state would suffice for a state on the manifold, but not for this one. */
START_TEST(the_forward_state_depends_on_nothing_but_the_state) {
  run_open(run, methods[_i], 1.0e-6);
  run_until(run, 0.3);
  N_Vector off = vector_copy(run->y), first = vector_copy(run->y), again = vector_copy(run->y);
  entries(off)[0] *= 1.0 + 1.0e-6;
  ck_assert_success(run, cpForwardState(memory(), run->t, off, first, __func__));
  run_until(run, 1.0);
  ck_assert_success(run, cpForwardState(memory(), run->t, run->y, again, __func__)); /* elsewhere */
  ck_assert_success(run, cpForwardState(memory(), run->t, off, again, __func__));
  ck_assert(same_bits(first, again));
  N_VDestroy(off);
  N_VDestroy(first);
  N_VDestroy(again);
  run_close(run);
}
END_TEST

/* c fails permanently in one of the calls from a backward problem; CVodeB's code must not hide
 * that. */
static int failing_for_good(sunrealtype t, N_Vector y, N_Vector l, N_Vector ldot, void *user_data) {
  if (backward.calls == 10) run->world.c = (Fault){.after = -1.0, .times = -1, .flag = -1};
  const int flag     = adjoint_rhs(t, y, l, ldot, user_data);
  run->world.c.times = 0;
  return flag;
}

START_TEST(a_forward_state_that_fails_for_good_ends_the_backward_run_with_its_code) {
  int ncheck = 0;
  run_open(run, methods[_i], 1.0e-6);
  N_Vector l = vector_copy(run->y);
  ck_assert_success(run, CVodeAdjInit(run->cvode_mem, 20, CV_HERMITE));
  ck_assert_success(run, forwards(1.0, CV_NORMAL, &ncheck));
  backward_rhs             = failing_for_good;
  SUNNonlinearSolver fixed = create_backward(run->t, l);
  backward_rhs             = adjoint_rhs;
  ck_assert_flag(run, backwards(0.0), CP_USERFUNC_FAIL);
  ck_assert_message(run, "cannot be projected", "constraint function");
  run_close(run);
  SUNNonlinSolFree(fixed);
  N_VDestroy(backward.y);
  N_VDestroy(l);
}
END_TEST

START_TEST(a_forward_step_that_fails_when_repeated_is_named) {
  int ncheck = 0;
  run_open(run, ADAMS_FIXED_POINT, 1.0e-6);
  N_Vector l = vector_copy(run->y);
  ck_assert_success(run, CVodeAdjInit(run->cvode_mem, 20, CV_POLYNOMIAL));
  ck_assert_success(run, forwards(2.0, CV_NORMAL, &ncheck));
  SUNNonlinearSolver fixed = create_backward(run->t, l);
  backward.stays           = 1;
  run->world.jac           = (Fault){.after = 0.0, .times = -1, .flag = -1};
  ck_assert_flag(run, backwards(0.0), CP_USERFUNC_FAIL);
  ck_assert_message(run, "forward step", "Jacobian");
  run_close(run);
  SUNNonlinSolFree(fixed);
  N_VDestroy(backward.y);
  N_VDestroy(l);
}
END_TEST

/* CVodeF would interpolate in the failed step, or in one of the previous run: 0/0. */
START_TEST(a_run_with_checkpoints_starts_again_after_a_failure_and_from_a_new_start) {
  int ncheck = 0;
  run_open(run, methods[_i], 1.0e-6);
  N_Vector y0 = vector_copy(run->y);
  ck_assert_success(run, CVodeAdjInit(run->cvode_mem, 20, CV_HERMITE));
  run->world.f = (Fault){.after = 0.0, .times = -1, .flag = -1};
  ck_assert_int_lt(forwards(1.0, CV_NORMAL, &ncheck), 0);
  run->world.f.times = 0;
  for (int k = 0; k < 2; k++) {
    ck_assert_success(run, forwards(1.0, CV_NORMAL, &ncheck));
    ck_assert_good(run);
    ck_assert_success(run, CPIntegratorReInit(run->mem, 0.0, y0));
  }
  N_VDestroy(y0);
  run_close(run);
}
END_TEST

/* ---- CVodeF and CVodeB of a program's own ---- */

/* They go through the projecting solver. l(0) . dy0 is the change of x(t1) for a start that is moved along the manifold. */
START_TEST(a_programs_own_adjoint_run_is_projected) {
  int ncheck = 0, which = 0;
  sunrealtype x[2];
  const sunrealtype t1 = 1.0, e = 1.0e-4;
  run_open(run, methods[_i], 1.0e-9);
  N_Vector l = vector_copy(run->y), y0 = vector_copy(run->y), weights = vector_copy(run->y);
  N_VConst(1.0e9, weights);
  ck_assert_success(run, CVodeAdjInit(run->cvode_mem, 30, CV_HERMITE));
  ck_assert_int_eq(CVodeF(run->cvode_mem, t1, run->y, &run->t, CV_NORMAL, &ncheck), CV_SUCCESS);
  ck_assert_int_gt(ncheck, 1);
  ck_assert_int_gt(run_stats(run).nproj, 10);
  SUNNonlinearSolver fixed = create_backward(run->t, l);
  backward.own = 1, backward.weights = weights;
  ck_assert_int_eq(CVodeB(run->cvode_mem, 0.0, CV_NORMAL), CV_SUCCESS);
  ck_assert_int_eq(CVodeGetB(run->cvode_mem, which, &run->t, l), CV_SUCCESS);
  ck_assert_int_eq(CPProjectorProjectVector(run->P, CP_COTANGENT, 0.0, y0, weights, l), CP_SUCCESS);
  ck_assert_int_gt(backward.calls, 10);
  for (int k = 0; k < 2; k++) {
    entries(y0)[0] = cos(e), entries(y0)[1] = k ? sin(e) : -sin(e);
    ck_assert_success(run, CPIntegratorReInit(run->mem, 0.0, y0));
    ck_assert_success(run, run_to(run, t1));
    x[k] = entries(run->y)[0];
  }
  ck_assert_double_eq_tol(entries(l)[1], (x[1] - x[0]) / (2 * e), 1.0e-3); /* of the backward run */
  run_close(run);
  SUNNonlinSolFree(fixed);
  N_VDestroy(backward.y);
  N_VDestroy(weights);
  N_VDestroy(y0);
  N_VDestroy(l);
}
END_TEST

/* ---- gradients with respect to consistent states ---- */

/* lambda . P v is the same for all v with the same tangential part, and 0 for normal ones */
START_TEST(a_projected_gradient_is_that_of_tangential_motion) {
  unsigned long long seed = 7;
  run_open(run, ADAMS_FIXED_POINT, 1.0e-6);
  run_until(run, 0.7);
  N_Vector l = vector_copy(run->y), v = vector_copy(run->y), p = vector_copy(run->y),
           ewt = vector_copy(run->y), once = vector_copy(run->y);
  for (int j = 0; j < PENDULUM_N; j++)
    entries(ewt)[j] = 1.0 / (1.0e-6 * fabs(entries(run->y)[j]) + 1.0e-6);
  random_fill(l, &seed);
  N_VScale(1.0, l, p);
  ck_assert_success(run, cpProjectGradient(memory(), run->t, run->y, p, __func__));
  for (int k = 0; k < 5; k++) {
    random_fill(v, &seed);
    N_Vector tangential = vector_copy(v);
    ck_assert_int_eq(CPProjectorProjectVector(run->P, CP_TANGENT, run->t, run->y, ewt, tangential),
                     CP_SUCCESS);
    ck_assert_double_eq_tol(dot(p, v), dot(l, tangential), 1.0e-13);
    N_VDestroy(tangential);
  }
  N_VScale(1.0, p, once);
  ck_assert_success(run, cpProjectGradient(memory(), run->t, run->y, p, __func__));
  ck_assert_double_le(max_distance(p, once), 1.0e-14);
  N_VDestroy(l), N_VDestroy(v), N_VDestroy(p), N_VDestroy(ewt), N_VDestroy(once);
  run_close(run);
}
END_TEST

TEST_SUITE(adjoint) {
  Suite *suite = suite_create("Adjoint sensitivities");
  TCase *tc    = tcase_create("adjoint");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, outputs_of_a_run_with_checkpoints_are_on_the_manifold, 0, 4);
  tcase_add_loop_test(tc, a_step_with_checkpoints_moves_t, 1, 3); /* by fixed-point iteration */
  tcase_add_loop_test(tc, a_first_evaluation_of_f_that_fails_is_told, 0, 4);
  tcase_add_loop_test(tc, forward_steps_are_repeated_to_the_last_bit, 0, 4);
  tcase_add_loop_test(tc, forward_steps_to_stop_times_are_repeated_to_the_last_bit, 0, 4);
  tcase_add_loop_test(tc, a_backward_run_is_followed_by_a_new_start, 0, n_methods);
  tcase_add_loop_test(tc, repeated_steps_that_are_others_end_the_backward_run, 0, n_methods);
  tcase_add_loop_test(tc, repeated_steps_that_are_short_by_roundoff_do_not_overflow, 0, n_methods);
  tcase_add_loop_test(tc, steps_with_a_root_are_not_repeated, 0, 8);
  tcase_add_loop_test(tc, a_root_beyond_tout_is_returned_next_and_in_no_other_run, 0, 4);
  tcase_add_loop_test(tc, a_root_beyond_tout_comes_with_the_number_of_checkpoints, 0, 4);
  tcase_add_loop_test(tc, each_of_several_roots_in_one_step_is_returned, 0, 16);
  tcase_add_test(tc, tolerances_set_after_the_forward_run_are_refused);
  tcase_add_loop_test(tc, the_forward_state_depends_on_nothing_but_the_state, 0, 2);
  tcase_add_loop_test(tc, a_forward_state_that_fails_for_good_ends_the_backward_run_with_its_code,
                      0, n_methods);
  tcase_add_test(tc, a_forward_step_that_fails_when_repeated_is_named);
  tcase_add_loop_test(tc, a_run_with_checkpoints_starts_again_after_a_failure_and_from_a_new_start,
                      0, 4);
  tcase_add_loop_test(tc, a_programs_own_adjoint_run_is_projected, 0, n_methods);
  tcase_add_test(tc, a_projected_gradient_is_that_of_tangential_motion);
  suite_add_tcase(suite, tc);
  return suite;
}
