/* Sessions: the order of steps, outputs and events, restarts, failures, and the choice of the method. */
#include "support/alloc.h"
#include "support/support.h"

#include <cpodes/cpodes_session.h>
#include <math.h>
#include <models/counters.h>
#include <models/model.h>
#include <stdlib.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

#define TOL 1e-10

/* ---- an oscillator, y'' = a - y, whose a is held between samples or events ---- */

enum { NOTES = 4096 };

/* What the session has called, in order: letters, and the times */
typedef struct {
  CPSession session;
  N_Vector y;
  sunrealtype t, a, period;
  MessageLog log;
  int n;
  char note[NOTES];
  sunrealtype at[NOTES];
  int left; /* handlers fail when this becomes 0; -1: never */
  int undone, again, configured;
  char method[64];
  /* for methods of CVODES, which bring none with them */
  SUNMatrix J;
  SUNLinearSolver newton;
  SUNNonlinearSolver fixed_point;
} Run;

static void take_note(Run *run, char letter, sunrealtype t) {
  if (run->n >= NOTES - 1) return;
  run->note[run->n] = letter;
  run->at[run->n++] = t;
}

static int oscillate(sunrealtype t, N_Vector y, N_Vector ydot, void *data) {
  const Run *run = data;
  (void)t;
  entries(ydot)[0] = entries(y)[1];
  entries(ydot)[1] = run->a - entries(y)[0];
  return 0;
}

static int on_step(CPSession session, sunrealtype t, N_Vector y, void *data) {
  (void)session, (void)y;
  take_note(data, 's', t);
  return 0;
}

static int on_output(CPSession session, sunrealtype t, N_Vector y, void *data) {
  Run *run = data;
  (void)session, (void)y;
  take_note(run, 'o', t);
  return 0;
}

static int on_event(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  (void)session, (void)y;
  take_note(data, event->restarted ? 'E' : 'e', event->t);
  return 0;
}

static int configure(CPIntegrator mem, const char *method, void *data) {
  Run *run = data;
  run->configured++;
  snprintf(run->method, sizeof run->method, "%s", method);
  if (!strcmp(method, "BDF")) {
    run->J      = SUNDenseMatrix(2, 2, test_context);
    run->newton = SUNLinSol_Dense(run->y, run->J, test_context);
    return CVodeSetLinearSolver(CPIntegratorGetCVodeMem(mem), run->newton, run->J);
  }
  if (strcmp(method, "ADAMS")) return 0;
  run->fixed_point = SUNNonlinSol_FixedPoint(run->y, 0, test_context);
  return CPIntegratorSetNonlinearSolver(mem, run->fixed_point);
}

static void open_run(Run *run, const char *method) {
  *run   = (Run){.left = -1, .period = 0.25};
  run->y = VECTOR(1.0, 0.0);
  ck_assert_ptr_nonnull(run->session = CPSessionCreate(method, test_context));
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(run->session), message_log, &run->log),
                   CP_SUCCESS);
  ck_assert_int_eq(CPSessionSetRhsFn(run->session, oscillate, run), CP_SUCCESS);
  ck_assert_int_eq(CPSessionSetTolerances(run->session, TOL, TOL, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionSetStepFn(run->session, on_step, run), CP_SUCCESS);
  ck_assert_int_eq(CPSessionSetEventFn(run->session, on_event, run), CP_SUCCESS);
  ck_assert_int_eq(CPSessionSetConfigFn(run->session, configure, run), CP_SUCCESS);
}

static void close_run(Run *run) {
  CPSessionFree(&run->session);
  ck_assert_ptr_null(run->session);
  N_VDestroy(run->y);
  if (run->newton) SUNLinSolFree(run->newton);
  if (run->J) SUNMatDestroy(run->J);
  if (run->fixed_point) SUNNonlinSolFree(run->fixed_point);
}

static void run_to(Run *run, sunrealtype t1) {
  const int flag = CPSessionRun(run->session, t1, run->y, &run->t);
  ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, run->log.text);
  ck_assert_double_eq(run->t, t1);
}

/* ---- sources ---- */

static sunrealtype next_sample(sunrealtype t, void *data) {
  const sunrealtype period = ((Run *)data)->period;
  return period * (floor(t / period + 1e-9) + 1);
}

/* A controller: a is minus a multiple of the velocity when the sample is taken. */
static int sample(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  Run *run = data;
  (void)session;
  ck_assert(event->timed);
  ck_assert_ptr_null(event->roots);
  take_note(run, 'h', event->t);
  run->a = -0.5 * entries(y)[1];
  return CP_RESTART;
}

static CPEventSource sampler(Run *run) {
  return (CPEventSource){.size      = sizeof(CPEventSource),
                         .name      = "controller",
                         .data      = run,
                         .next_time = next_sample,
                         .handle    = sample};
}

static int position(sunrealtype t, N_Vector y, sunrealtype *g, void *data) {
  (void)t, (void)data;
  g[0] = entries(y)[0];
  return 0;
}

/* A wall at 0, off which the mass bounces elastically */
static int bounce(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  Run *run = data;
  (void)session;
  ck_assert_int_eq(event->roots[0], -1);
  take_note(run, 'h', event->t);
  entries(y)[1] = -entries(y)[1];
  if (run->left >= 0 && run->left-- == 0) return CP_USERFUNC_FAIL;
  return CP_RESTART;
}

static int undo(CPSession session, N_Vector y, void *data) {
  (void)session, (void)y;
  return ((Run *)data)->undone++;
}
static void undo_bounce(CPSession session, N_Vector y, void *data) { undo(session, y, data); }

static const int falling[] = {-1};
static CPEventSource wall(Run *run) {
  return (CPEventSource){.size      = sizeof(CPEventSource),
                         .name      = "wall",
                         .data      = run,
                         .nroots    = 1,
                         .roots     = position,
                         .direction = falling,
                         .handle    = bounce,
                         .undo      = undo_bounce};
}

/* ---- times ---- */

static const char *const methods[] = {"DOP853", "RADAU", "BDF", "ADAMS"};

/* Between samples the motion is a rotation about (a, 0). */
static void rotate(sunrealtype period, int samples, sunrealtype *x, sunrealtype *v, sunrealtype *a) {
  const sunrealtype c = cos(period), s = sin(period);
  for (int k = 0; k < samples; k++) {
    const sunrealtype d = *x - *a;
    *x = *a + d * c + *v * s, *v = *v * c - d * s;
    *a = -0.5 * *v;
  }
}

/* The session is off by the errors of its method only. */
START_TEST(a_sampled_controller_acts_at_its_times) {
  Run run;
  open_run(&run, methods[_i]);
  const CPEventSource source = sampler(&run);
  ck_assert_int_eq(CPSessionAddSource(run.session, &source, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionStart(run.session, 0, run.y, 5), CP_SUCCESS);
  run_to(&run, 5);
  sunrealtype x = 1, v = 0, a = 0;
  int samples = 0;
  rotate(run.period, 20, &x, &v, &a);
  for (int i = 0; i < run.n; i++)
    if (run.note[i] == 'h') ck_assert_double_eq(run.at[i], run.period * ++samples);
  ck_assert_int_eq(samples, 20); /* that at the end of the run, too */
  ck_assert_double_le(fabs(entries(run.y)[0] - x), (_i < 2 ? 100 : 3000) * TOL);
  ck_assert_double_le(fabs(entries(run.y)[1] - v), (_i < 2 ? 100 : 3000) * TOL);
  close_run(&run);
}
END_TEST

/* In each step: outputs, then the step function, then the event. */
START_TEST(outputs_steps_and_events_come_in_order) {
  Run run;
  open_run(&run, methods[_i]);
  const sunrealtype times[]  = {0, 0.3, 1, acos(0.0), 2, 3};
  const CPEventSource source = wall(&run);
  int id                     = -1;
  ck_assert_int_eq(CPSessionAddSource(run.session, &source, &id), CP_SUCCESS);
  ck_assert_int_eq(id, 0);
  ck_assert_int_eq(CPSessionStart(run.session, 0, run.y, 3), CP_SUCCESS);
  ck_assert_int_eq(CPSessionSetOutputFn(run.session, 6, times, on_output, &run), CP_SUCCESS);
  run_to(&run, 3);
  run.note[run.n] = '\0';
  int outputs = 0, steps = 0;
  sunrealtype reached = 0;
  for (int i = 0; i < run.n; i++) {
    ck_assert_double_ge(run.at[i], run.note[i] == 'o' ? reached : run.at[i]);
    if (run.note[i] == 'o') ck_assert_double_eq(run.at[i], times[outputs++]);
    if (run.note[i] == 's') reached = run.at[i], steps++;
    if (run.note[i] == 'h') ck_assert_double_eq(run.at[i], reached);
  }
  ck_assert_int_eq(outputs, 6);
  ck_assert_int_eq(run.note[0], 'o');
  ck_assert_ptr_nonnull(strstr(run.note, "shE")); /* a step, its event, which restarts */
  ck_assert_ptr_null(strstr(run.note, "hs"));
  IntegratorCounters stats;
  ck_assert_int_eq(session_counters(run.session, &stats), CP_SUCCESS);
  /* CVODES returns a root, and then the end of the step in which it lies, if nothing has changed; here it restarts. */
  ck_assert_int_eq(stats.nst, steps);
  close_run(&run);
}
END_TEST

/* |cos t|: it bounces at pi / 2 + k pi. */
START_TEST(events_change_the_state) {
  Run run;
  open_run(&run, methods[_i]);
  const CPEventSource source = wall(&run);
  ck_assert_int_eq(CPSessionAddSource(run.session, &source, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionStart(run.session, 0, run.y, 20), CP_SUCCESS);
  run_to(&run, 20);
  int hits = 0;
  for (int i = 0; i < run.n; i++)
    if (run.note[i] == 'h')
      ck_assert_double_le(fabs(run.at[i] - acos(0.0) * (1 + 2 * hits++)),
                          (_i < 2 ? 100 : 5000) * TOL);
  ck_assert_int_eq(hits, 6);
  ck_assert_double_le(fabs(entries(run.y)[0] - fabs(cos(20.0))), (_i < 2 ? 100 : 5000) * TOL);
  close_run(&run);
}
END_TEST

static int fall(sunrealtype t, N_Vector y, N_Vector ydot, void *data) {
  (void)t, (void)data;
  entries(ydot)[0] = entries(y)[1];
  entries(ydot)[1] = -9.81;
  return 0;
}

static int rebound(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  Run *run = data;
  (void)session, (void)event;
  run->again++;
  entries(y)[1] *= -run->a;
  return CP_RESTART;
}

/* At a rebound the ball is below the floor by the roundoff of t, and its way back through the floor is no root. Whether a root is
 * asked for in one direction or in both, it rebounds until its flights are lower than 100 tolerances, as n = n(e) impacts of the
 * closed form say. */
START_TEST(a_ball_is_not_lost_at_a_rebound) {
  static const sunrealtype es[]         = {0.95, 0.9, 0.7, 0.5, 0.3},
                           tolerances[] = {1e-5, 1e-7, 1e-9, 1e-11};
  for (int k = 0; k < 2 * 5 * 4; k += test_is_short() ? 11 : 1) {
    const sunrealtype e = es[k % 5], tol = tolerances[k / 5 % 4], g = 9.81;
    sunrealtype t = sqrt(2 / g), v = g * t;
    Run run;
    int impacts = 1;
    for (; e * v * e * v / (2 * g) >= 100 * tol; impacts++) v *= e, t += 2 * v / g;
    open_run(&run, methods[_i]);
    CPEventSource floor = wall(&run);
    floor.handle        = rebound;
    if (k < 20) floor.direction = NULL;
    run.a = e;
    ck_assert_int_eq(CPSessionAddSource(run.session, &floor, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPSessionSetRhsFn(run.session, fall, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPSessionSetTolerances(run.session, tol, tol, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPSessionStart(run.session, 0, run.y, t + 1), CP_SUCCESS);
    run_to(&run, t + 0.5 * e * v / g);
    ck_assert_msg(run.again == impacts, "e %g, tol %g: %d of %d impacts", e, tol, run.again,
                  impacts);
    close_run(&run);
  }
}
END_TEST

/* Backwards, in pieces, and to a time where the run is already */
START_TEST(runs_go_backwards_and_in_pieces) {
  Run run;
  open_run(&run, methods[_i]);
  const sunrealtype times[] = {-0.5, -1, -1, -2.5};
  ck_assert_int_eq(CPSessionStart(run.session, 0, run.y, -4), CP_SUCCESS);
  ck_assert_int_eq(CPSessionSetOutputFn(run.session, 4, times, on_output, &run), CP_SUCCESS);
  run_to(&run, -1.75);
  run_to(&run, -1.75);
  ck_assert_int_eq(CPSessionRun(run.session, 1, run.y, &run.t), CP_ILL_INPUT);
  run_to(&run, -4);
  int outputs = 0;
  for (int i = 0; i < run.n; i++)
    if (run.note[i] == 'o') ck_assert_double_eq(run.at[i], times[outputs++]);
  ck_assert_int_eq(outputs, 4);
  ck_assert_double_le(fabs(entries(run.y)[0] - cos(4.0)), 3000 * TOL);
  ck_assert_int_eq(CPSessionGetDky(run.session, -4, 0, run.y), CP_SUCCESS);
  close_run(&run);
}
END_TEST

static int stop_late(CPSession session, sunrealtype t, N_Vector y, void *data) {
  (void)session, (void)y, (void)data;
  return t >= 30;
}

START_TEST(a_run_without_an_end_stops_where_its_step_function_says) {
  Run run;
  open_run(&run, methods[_i]);
  ck_assert_int_eq(CPSessionSetStepFn(run.session, stop_late, &run), CP_SUCCESS);
  ck_assert_int_eq(CPSessionStart(run.session, 0, run.y, INFINITY), CP_SUCCESS);
  ck_assert_int_eq(CPSessionRun(run.session, INFINITY, run.y, &run.t), CP_STOPPED);
  ck_assert_double_ge(run.t, 30);
  ck_assert_double_le(fabs(entries(run.y)[0] - cos(run.t)), 1e4 * TOL);
  close_run(&run);
}
END_TEST

/* ---- single steps ---- */

START_TEST(steps_hand_out_the_state_before_and_after_an_event) {
  Run run;
  CPEvent event;
  int flag;
  open_run(&run, methods[_i]);
  const CPEventSource source = wall(&run);
  N_Vector between           = vector_copy(run.y);
  ck_assert_int_eq(CPSessionAddSource(run.session, &source, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionStart(run.session, 0, run.y, 2), CP_SUCCESS);
  while ((flag = CPSessionStep(run.session, 2, run.y, &run.t)) == CP_SUCCESS) {
    ck_assert_int_eq(CPSessionGetEvent(run.session, 0, &event), CP_SUCCESS);
    ck_assert_ptr_null(event.roots);
  }
  ck_assert_int_eq(flag, CV_ROOT_RETURN);
  const sunrealtype t = run.t, v = entries(run.y)[1];
  ck_assert_double_lt(v, 0);
  ck_assert_int_eq(CPSessionGetEvent(run.session, 0, &event), CP_SUCCESS);
  ck_assert_int_eq(event.roots[0], -1);
  ck_assert_int_eq(CPSessionGetEvent(run.session, 1, &event), CP_ILL_INPUT);
  ck_assert_int_eq(CPSessionGetDky(run.session, t, 0, between), CP_SUCCESS);
  ck_assert_double_eq(entries(between)[1], v);
  ck_assert_int_eq(CPSessionStep(run.session, 2, run.y, &run.t), CP_SUCCESS);
  ck_assert_double_eq(run.t, t);
  ck_assert_double_eq(entries(run.y)[1], -v);
  while ((flag = CPSessionStep(run.session, 2, run.y, &run.t)) == CP_SUCCESS) continue;
  ck_assert_int_eq(flag, CV_TSTOP_RETURN);
  ck_assert_double_eq(run.t, 2);
  N_VDestroy(between);
  close_run(&run);
}
END_TEST

/* ---- several sources ---- */

static int begin_again(CPSession session, sunrealtype t, sunrealtype t_end, N_Vector y, int again,
                       void *data) {
  Run *run = data;
  (void)session, (void)t, (void)t_end;
  if (again) run->again++, entries(y)[0] = fabs(entries(y)[0]);
  return 0;
}

static int never(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  (void)session, (void)event, (void)y, (void)data;
  return CP_ILL_INPUT;
}

/* What one source changes, the others learn. */
START_TEST(sources_begin_again_where_another_one_has_changed_the_state) {
  Run run;
  open_run(&run, methods[_i]);
  const CPEventSource hit = wall(&run), other = {.size   = sizeof other,
                                                 .name   = "other",
                                                 .data   = &run,
                                                 .start  = begin_again,
                                                 .handle = never};
  ck_assert_int_eq(CPSessionAddSource(run.session, &other, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionAddSource(run.session, &hit, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionStart(run.session, 0, run.y, 5), CP_SUCCESS);
  run_to(&run, 5);
  ck_assert_int_eq(run.again, 2); /* at pi / 2 and 3 pi / 2 */
  close_run(&run);
}
END_TEST

static int bounce_too(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  (void)session, (void)event, (void)y;
  Run *run = data;
  take_note(run, 'H', event->t);
  return run->left >= 0 && run->left-- == 0 ? CP_USERFUNC_FAIL : CP_CONTINUE;
}

/* Two sources have the same root. Where the second one fails, what the first one did is undone, and the event is tried again. */
START_TEST(an_event_that_fails_is_undone_and_tried_again) {
  Run run;
  open_run(&run, methods[_i]);
  CPEventSource first = wall(&run), second = wall(&run);
  second.name = "second", second.handle = bounce_too, second.undo = NULL;
  ck_assert_int_eq(CPSessionAddSource(run.session, &first, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionAddSource(run.session, &second, NULL), CP_SUCCESS);
  run.left = 1;
  ck_assert_int_eq(CPSessionStart(run.session, 0, run.y, 2), CP_SUCCESS);
  ck_assert_int_eq(CPSessionRun(run.session, 2, run.y, &run.t), CP_USERFUNC_FAIL);
  ck_assert_mentions(run.log.text, "second");
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(run.session)), "second");
  ck_assert_double_eq_tol(run.t, acos(0.0), 1e-6);
  ck_assert_double_lt(entries(run.y)[1], 0); /* before the event */
  ck_assert_int_eq(run.undone, 1);
  ck_assert_int_eq(run.log.count, 1);
  run_to(&run, 2);
  ck_assert_double_le(fabs(entries(run.y)[0] - fabs(cos(2.0))), 1000 * TOL);
  close_run(&run);
}
END_TEST

/* A source that takes the steps itself, by Euler's method, from 1/2 on for four steps. */
typedef struct {
  int steps, on, most, refuses;
} Euler;

static sunrealtype half(sunrealtype t, void *data) {
  (void)data;
  return t < 0.5 ? 0.5 : INFINITY;
}
static int switch_on(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  (void)session, (void)event, (void)y;
  ((Euler *)data)->on = 1;
  return CP_RESTART;
}
static int is_on(void *data) { return ((Euler *)data)->on; }
static int euler(CPSession session, sunrealtype tout, N_Vector y, sunrealtype *t, void *data) {
  Euler *e            = data;
  const sunrealtype h = fmin(0.01, tout - *t), v = entries(y)[1];
  entries(y)[1] -= h * entries(y)[0];
  entries(y)[0] += h * v;
  *t += h;
  e->on = ++e->steps < e->most;
  return e->on || CPIntegratorReInit(CPSessionGetIntegrator(session), *t, y) == 0 ? CP_CONTINUE
                                                                                  : CP_USERFUNC_FAIL;
}

START_TEST(a_source_may_take_steps_of_its_own) {
  Run run;
  Euler own = {.most = 4};
  IntegratorCounters stats;
  int flag = CP_SUCCESS, seen = 0;
  open_run(&run, methods[_i]);
  const CPEventSource source = {.size      = sizeof source,
                                .name      = "euler",
                                .data      = &own,
                                .next_time = half,
                                .handle    = switch_on,
                                .advances  = is_on,
                                .advance   = euler};
  N_Vector between = vector_copy(run.y), before = vector_copy(run.y);
  ck_assert_int_eq(CPSessionAddSource(run.session, &source, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionStart(run.session, 0, run.y, 1), CP_SUCCESS);
  while (flag == CP_SUCCESS || flag == CV_ROOT_RETURN) {
    const sunrealtype t = run.t;
    const int on        = own.on;
    N_VScale(1.0, run.y, before);
    flag = CPSessionStep(run.session, 1, run.y, &run.t);
    ck_assert_int_ge(flag, 0);
    if (!on || run.t == t) continue;
    seen++;
    ck_assert_int_eq(CPSessionGetDky(run.session, t + 0.3 * (run.t - t), 0, between), CP_SUCCESS);
    for (int k = 0; k < 2; k++)
      ck_assert_double_eq_tol(entries(between)[k],
                              0.7 * entries(before)[k] + 0.3 * entries(run.y)[k], 1e-15);
    ck_assert_int_eq(CPSessionGetDky(run.session, t, 1, between), CV_BAD_K);
  }
  ck_assert_int_eq(seen, 4);
  ck_assert_int_eq(session_counters(run.session, &stats), CP_SUCCESS);
  int steps = 0;
  for (int i = 0; i < run.n; i++) steps += run.note[i] == 's';
  ck_assert_int_eq(stats.nst, steps);
  ck_assert_double_eq_tol(entries(run.y)[0], cos(1.0), 1e-3); /* Euler's errors of 4 h^2 / 2 */
  N_VDestroy(between);
  N_VDestroy(before);
  close_run(&run);
}
END_TEST

static int gap_in_time(sunrealtype t, N_Vector y, N_Vector ydot, void *data) {
  return t > 0.5 && t < 0.75 ? 1 : oscillate(t, y, ydot, data);
}
static int switch_on_at_failure(CPSession session, sunrealtype t, N_Vector y, int flag, void *data) {
  Euler *own = data;
  (void)session, (void)y;
  ck_assert(own->refuses || (flag < 0 && t <= 0.5 && t > 0.49));
  return own->on = !own->refuses;
}

/* The right-hand side fails between 0.5 and 0.75, and 30 steps of Euler take 0.3, with errors of 0.3 h / 2. */
START_TEST(a_source_may_go_on_where_the_integrator_fails) {
  Run run;
  Euler own = {.most = 30, .refuses = _i % 2};
  open_run(&run, methods[_i / 2]);
  ck_assert_int_eq(CPSessionSetRhsFn(run.session, gap_in_time, &run), CP_SUCCESS);
  const CPEventSource source = {.size      = sizeof source,
                                .name      = "euler",
                                .data      = &own,
                                .handle    = switch_on,
                                .advances  = is_on,
                                .advance   = euler,
                                .take_over = switch_on_at_failure};
  ck_assert_int_eq(CPSessionAddSource(run.session, &source, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionStart(run.session, 0, run.y, 1), CP_SUCCESS);
  const int flag = CPSessionRun(run.session, 1, run.y, &run.t);
  if (own.refuses) {
    ck_assert_int_lt(flag, 0);
    ck_assert(run.t > 0.49 && run.t <= 0.5);
  } else {
    ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, run.log.text);
    ck_assert_int_eq(own.steps, 30);
    ck_assert_double_eq_tol(entries(run.y)[0], cos(1.0), 2e-3);
  }
  close_run(&run);
}
END_TEST

/* ---- the method ---- */

/* A damper that closes: y' = -(1 + 1e5 (t > 5)) y + ..., so that the motion is stiff from 5 on. */
static int closing(sunrealtype t, N_Vector y, N_Vector ydot, void *data) {
  (void)data;
  entries(ydot)[0] = -(1 + 1e4 * (1 + tanh(t - 20))) * (entries(y)[0] - cos(t)) - sin(t);
  entries(ydot)[1] = 0;
  return 0;
}

START_TEST(the_method_changes_where_stability_limits_it) {
  static const char *const names[][2] = {
      {"auto", "RADAU"}, {"DOP853/BDF", "BDF"}, {"ADAMS/BDF", "BDF"}, {"DOP853", "DOP853"}};
  Run run;
  IntegratorCounters stats;
  if (_i == 3 && test_is_short()) return; /* 30,000 steps */
  open_run(&run, names[_i][0]);
  ck_assert_int_eq(CPSessionSetRhsFn(run.session, closing, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionSetTolerances(run.session, 1e-6, 1e-6, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionStart(run.session, 0, run.y, 60), CP_SUCCESS);
  run_to(&run, 60);
  ck_assert_str_eq(run.method, names[_i][1]);
  ck_assert_int_eq(run.configured, _i < 3 ? 2 : 1);
  ck_assert_int_eq(session_counters(run.session, &stats), CP_SUCCESS);
  if (_i < 3) ck_assert_int_lt(stats.nst, 3000);
  else ck_assert_int_gt(stats.nst, 30000); /* what it would be without */
  ck_assert_double_eq_tol(entries(run.y)[0], cos(60.0), 1e-4);
  int steps = 0;
  for (int i = 0; i < run.n; i++) steps += run.note[i] == 's';
  ck_assert(run.n >= NOTES - 1 || stats.nst == steps); /* over both integrators */
  close_run(&run);
}
END_TEST

/* A millisecond is less than a step: restarts take 4 evaluations of BS32, and the error is within the
 * tolerance. Where samples end, the long steps of the method before return. */
START_TEST(short_segments_are_left_to_the_cheapest_pair) {
  static const char *const names[] = {"auto", "auto", "DOP853/auto"};
  const sunrealtype tol[]          = {1e-3, 1e-6, 1e-3};
  Run run;
  IntegratorCounters shorts, all;
  open_run(&run, names[_i]);
  run.period                 = 1e-3;
  const CPEventSource source = sampler(&run);
  ck_assert_int_eq(CPSessionAddSource(run.session, &source, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionSetTolerances(run.session, tol[_i], tol[_i], NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionStart(run.session, 0, run.y, 50), CP_SUCCESS);
  run_to(&run, 1);
  sunrealtype x = 1, v = 0, a = 0;
  rotate(run.period, 1000, &x, &v, &a);
  ck_assert_double_le(fabs(entries(run.y)[0] - x), 10 * tol[_i]);
  ck_assert_double_le(fabs(entries(run.y)[1] - v), 10 * tol[_i]);
  ck_assert_int_eq(session_counters(run.session, &shorts), CP_SUCCESS);
  ck_assert_int_le(shorts.nfe, 4 * 1000 + 20);
  ck_assert_str_eq(run.method, "BS32");
  run.period = 100;
  run_to(&run, 21);
  ck_assert_int_eq(session_counters(run.session, &all), CP_SUCCESS);
  ck_assert_str_eq(run.method, "DOP853");
  ck_assert_int_le(all.nst - shorts.nst, 60); /* 20 s are 3 periods of 12 steps at 1e-6 */
  close_run(&run);
}
END_TEST

/* The same for mechanisms, with loops and without. Steps of BS32 for the spinning top are hardly longer than a segment: its first
 * steps fail now and then. The reference has no segments. */
START_TEST(short_segments_of_mechanisms_take_five_evaluations) {
  static const char *const names[] = {"pendulum", "heavy_top",        "spatial_chain",
                                      "bricard",  "spatial_four_bar", "slider_crank"};
  CPPlugin *model = CPPluginCreate(model_find(names[_i]), NULL, test_context, NULL, 0);
  CPMech mech     = CPPluginMech(model);
  N_Vector ends[2];
  const sunrealtype tol = 1e-3;
  for (int is_short = 0; is_short < 2; is_short++) {
    Run run                    = {.left = -1, .period = 1e-3};
    const CPEventSource source = sampler(&run);
    const double before        = counter_of(CP_OBJECT(mech), "accelerations");
    run.y = ends[is_short] = vector_copy(model->y0);
    run.session            = CPSessionCreate(is_short ? "auto" : "DOP853", test_context);
    ck_assert_int_eq(CPSessionSetMech(run.session, mech), CP_SUCCESS);
    if (is_short) ck_assert_int_eq(CPSessionAddSource(run.session, &source, NULL), CP_SUCCESS);
    const sunrealtype own = is_short ? tol : TOL;
    ck_assert_int_eq(CPSessionSetTolerances(run.session, own, own, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPSessionStart(run.session, 0, run.y, 2), CP_SUCCESS);
    run_to(&run, 1);
    const double taken = counter_of(CP_OBJECT(mech), "accelerations") - before;
    if (is_short) ck_assert_double_le(taken, 5 * 1000);
    CPSessionFree(&run.session);
  }
  for (int i = 0; i < N_VGetLength(ends[0]); i++) {
    const sunrealtype exact = entries(ends[0])[i];
    ck_assert_double_le(fabs(entries(ends[1])[i] - exact), 10 * tol * fmax(1, fabs(exact)));
  }
  for (int k = 0; k < 2; k++) N_VDestroy(ends[k]);
  CPMechFree(&mech);
  CPPluginFree(&model);
}
END_TEST

START_TEST(an_integrator_of_the_users_takes_the_steps) {
  Run run;
  open_run(&run, "auto");
  CPIntegrator mem = CPIntegratorCreate("ARKODE_DORMAND_PRINCE_7_4_5", test_context);
  N_Vector vatol   = VECTOR(1e-9, 1e-8);
  sunrealtype rtol, atol;
  ck_assert_int_eq(CPSessionSetIntegrator(run.session, mem), CP_SUCCESS);
  ck_assert_int_eq(CPSessionSetTolerances(run.session, 1e-9, 1, vatol), CP_SUCCESS);
  ck_assert_int_eq(CPSessionGetTolerances(run.session, &rtol, &atol), CP_SUCCESS);
  ck_assert_double_eq(atol, 1e-9);
  for (int round = 0; round < 2; round++) { /* a second start of the same integrator */
    entries(run.y)[0] = 1, entries(run.y)[1] = 0;
    ck_assert_int_eq(CPSessionStart(run.session, 0, run.y, 3), CP_SUCCESS);
    ck_assert_ptr_eq(CPSessionGetIntegrator(run.session), mem);
    run_to(&run, 3);
    ck_assert_double_eq_tol(entries(run.y)[0], cos(3.0), 1e-6);
  }
  CPSessionFree(&run.session);
  CPIntegratorFree(&mem); /* which the session has left */
  N_VDestroy(vatol);
  N_VDestroy(run.y);
}
END_TEST

/* ---- failures ---- */

static int again_and_again(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  (void)session, (void)event, (void)y, (void)data;
  return CP_RESTART;
}
static sunrealtype at_once(sunrealtype t, void *data) {
  (void)data;
  return t < 1 ? 1 : 1 + 4e-16 * ceil((t - 1) / 4e-16 + 0.5);
}

START_TEST(events_without_end_are_too_many) {
  Run run;
  open_run(&run, methods[_i]);
  const CPEventSource source = {.size      = sizeof source,
                                .name      = "zeno",
                                .data      = &run,
                                .next_time = at_once,
                                .handle    = again_and_again};
  ck_assert_int_eq(CPSessionAddSource(run.session, &source, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionStart(run.session, 0, run.y, 2), CP_SUCCESS);
  ck_assert_int_eq(CPSessionRun(run.session, 2, run.y, &run.t), CP_TOO_MANY_EVENTS);
  ck_assert_mentions(run.log.text, "zeno");
  ck_assert_double_eq_tol(run.t, 1, 1e-12);
  close_run(&run);
}
END_TEST

/* ---- roundoff ---- */

typedef struct {
  sunrealtype period, sum;
  int adds, events;
} Clock;

static sunrealtype next_tick(sunrealtype t, void *data) {
  Clock *c = data;
  if (c->adds) {
    while (c->sum <= t) c->sum += c->period;
    return c->sum;
  }
  sunrealtype k = floor(t / c->period);
  while (k * c->period <= t) k++;
  return k * c->period;
}

static int tick(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  (void)session, (void)event, (void)y;
  ((Clock *)data)->events++;
  return CP_RESTART;
}

static CPEventSource clock_of(Clock *c) {
  return (CPEventSource){.size      = sizeof(CPEventSource),
                         .name      = "clock",
                         .data      = c,
                         .next_time = next_tick,
                         .handle    = tick};
}

/* The times of two clocks, one by multiplication and one by addition, differ by up to 50 roundoffs in 10 s; the end of the run
 * is a tick of both. */
START_TEST(times_that_differ_by_roundoff_are_all_met_once) {
  Run run;
  Clock clocks[2] = {{.period = 0.1}, {.period = 0.1, .adds = 1}};
  open_run(&run, methods[_i]);
  for (int k = 0; k < 2; k++) {
    const CPEventSource source = clock_of(&clocks[k]);
    ck_assert_int_eq(CPSessionAddSource(run.session, &source, NULL), CP_SUCCESS);
  }
  ck_assert_int_eq(CPSessionStart(run.session, 0, run.y, 10.05), CP_SUCCESS);
  run_to(&run, 0.3);
  run_to(&run, 10.05);
  ck_assert_int_eq(clocks[0].events, 100);
  ck_assert_int_eq(clocks[1].events, 100);
  ck_assert_double_le(fabs(entries(run.y)[0] - cos(10.05)), 1e5 * TOL);
  close_run(&run);
}
END_TEST

/* At a Unix time a roundoff is 2e-7 s: events 1e-4 s apart are no events at one time. */
START_TEST(events_at_large_times_are_not_at_one_time) {
  Run run;
  Clock clock          = {.period = 1e-4};
  const sunrealtype t0 = 1.7e9;
  open_run(&run, methods[_i]);
  const CPEventSource source = clock_of(&clock);
  ck_assert_int_eq(CPSessionSetTolerances(run.session, 1e-4, 1e-4, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionAddSource(run.session, &source, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionStart(run.session, t0, run.y, t0 + 1), CP_SUCCESS);
  run_to(&run, t0 + 0.05);
  ck_assert_int_ge(clock.events, 498);
  ck_assert_int_le(clock.events, 502);
  close_run(&run);
}
END_TEST

/* ---- failures after a step ---- */

static int refuse_once(CPSession session, sunrealtype t, N_Vector y, void *data) {
  Run *run = data;
  (void)session, (void)y;
  run->again++;
  return t > 0.5 && run->left-- > 0 ? CP_USERFUNC_FAIL : 0;
}

static int output_once(CPSession session, sunrealtype t, N_Vector y, void *data) {
  (void)session, (void)y;
  Run *run = data;
  if (run->left-- > 0) return CP_USERFUNC_FAIL;
  take_note(run, 'o', t);
  return 0;
}

/* Whatever fails after a step is tried again, and nothing is left out or done twice. k = 0: a source refuses; 1: an output fails. */
START_TEST(what_fails_after_a_step_is_tried_again) {
  const sunrealtype times[] = {0.2, 0.4, 0.6};
  for (int k = 0; k < 2; k++) {
    Run run;
    IntegratorCounters stats;
    open_run(&run, methods[_i]);
    CPEventSource source = {.size     = sizeof source,
                            .name     = "judge",
                            .data     = &run,
                            .accepted = refuse_once,
                            .handle   = never};
    if (k == 0) ck_assert_int_eq(CPSessionAddSource(run.session, &source, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPSessionStart(run.session, 0, run.y, 1), CP_SUCCESS);
    ck_assert_int_eq(
        CPSessionSetOutputFn(run.session, 3, times, k == 0 ? on_output : output_once, &run),
        CP_SUCCESS);
    run.left = 2;
    for (int n = 0; n < 2; n++)
      ck_assert_int_eq(CPSessionRun(run.session, 1, run.y, &run.t), CP_USERFUNC_FAIL);
    run_to(&run, 1);
    int outputs = 0, steps = 0;
    for (int i = 0; i < run.n; i++) {
      if (run.note[i] == 'o') ck_assert_double_eq(run.at[i], times[outputs++]);
      steps += run.note[i] == 's';
    }
    ck_assert_int_eq(outputs, 3);
    ck_assert_int_eq(session_counters(run.session, &stats), CP_SUCCESS);
    ck_assert_int_eq(steps, stats.nst);
    if (k == 0) ck_assert_int_eq(run.again, steps + 2);
    close_run(&run);
  }
}
END_TEST

static int configure_once(CPIntegrator mem, const char *method, void *data) {
  (void)mem, (void)method;
  return ++((Run *)data)->configured == 2 ? CP_USERFUNC_FAIL : 0;
}

START_TEST(a_change_of_the_method_that_fails_ends_the_run) {
  Run run;
  open_run(&run, "DOP853/RADAU");
  ck_assert_int_eq(CPSessionSetRhsFn(run.session, closing, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionSetConfigFn(run.session, configure_once, &run), CP_SUCCESS);
  ck_assert_int_eq(CPSessionStart(run.session, 0, run.y, 60), CP_SUCCESS);
  ck_assert_int_eq(CPSessionRun(run.session, 60, run.y, &run.t), CP_USERFUNC_FAIL);
  ck_assert_int_eq(CPSessionRun(run.session, 60, run.y, &run.t), CP_NO_INIT);
  ck_assert_int_eq(CPSessionStart(run.session, run.t, run.y, 60), CP_SUCCESS);
  run_to(&run, 60);
  ck_assert_double_eq_tol(entries(run.y)[0], cos(60.0), 1e-6);
  close_run(&run);
}
END_TEST

START_TEST(outputs_before_the_start_are_left_out_and_those_against_the_run_refused) {
  Run run;
  open_run(&run, "DOP853");
  const sunrealtype times[] = {-2, -1, 0, 0.5, 3};
  ck_assert_int_eq(CPSessionSetOutputFn(run.session, 5, times, on_output, &run), CP_SUCCESS);
  ck_assert_int_eq(CPSessionStart(run.session, 0, run.y, -1), CP_ILL_INPUT);
  ck_assert_mentions(run.log.text, "outputs");
  ck_assert_int_eq(CPSessionStart(run.session, 0, run.y, 1), CP_SUCCESS);
  run_to(&run, 1);
  int outputs = 0;
  for (int i = 0; i < run.n; i++)
    if (run.note[i] == 'o') ck_assert_double_eq(run.at[i], times[2 + outputs++]);
  ck_assert_int_eq(outputs, 2);
  close_run(&run);
}
END_TEST

static int reenter(CPSession session, sunrealtype t, N_Vector y, void *data) {
  sunrealtype reached;
  Run *run = data;
  (void)t;
  run->again += CPSessionRun(session, 9, y, &reached) == CP_REENTERED;
  run->again += CPSessionStep(session, 9, y, &reached) == CP_REENTERED;
  run->again += CPSessionStart(session, 0, y, 9) == CP_REENTERED;
  run->again += CPSessionSetMech(session, NULL) == CP_REENTERED;
  CPSession same = session;
  CPSessionFree(&same);
  run->again += same == session;
  return 1;
}

START_TEST(wrong_calls_are_refused_with_a_reason) {
  Run run;
  CPSession none = NULL;
  CPEventSource source;
  sunrealtype t;
  CPSessionFree(NULL);
  CPSessionFree(&none);
  ck_assert_ptr_null(CPSessionCreate("", test_context));
  ck_assert_mentions(CPObjectGetLastMessage(NULL), "method");
  ck_assert_ptr_null(CPSessionCreate("DOP853/", test_context));
  ck_assert_ptr_null(CPSessionCreate("DOP853", NULL));
  ck_assert_mentions(CPObjectGetLastMessage(NULL), "ctx");
  ck_assert_int_eq(CPSessionStart(NULL, 0, NULL, 1), CP_MEM_NULL);
  ck_assert_int_eq(CPSessionRun(NULL, 0, NULL, &t), CP_MEM_NULL);
  ck_assert_int_eq(CPSessionStep(NULL, 0, NULL, &t), CP_MEM_NULL);
  ck_assert_int_eq(CPSessionGetDky(NULL, 0, 0, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPSessionGetTolerances(NULL, &t, &t), CP_MEM_NULL);
  ck_assert_int_eq(CPSessionAddSource(NULL, NULL, NULL), CP_MEM_NULL);
  ck_assert_ptr_null(CPSessionGetIntegrator(NULL));
  ck_assert_ptr_nonnull(none = CPSessionCreate("DOP853", test_context));
  N_Vector y = VECTOR(1.0, 0.0);
  CPObjectSetErrHandlerFn(CP_OBJECT(none), message_log, &run.log);
  ck_assert_int_eq(CPSessionStart(none, 0, y, 1), CP_NO_INIT);
  ck_assert_mentions(run.log.text, "CPSessionSetRhsFn");
  ck_assert_int_eq(CPSessionSetRhsFn(none, oscillate, &run), CP_SUCCESS);
  ck_assert_int_eq(CPSessionStart(none, 0, y, 1), CP_NO_INIT);
  ck_assert_mentions(run.log.text, "CPSessionSetTolerances");
  N_VDestroy(y);
  CPSessionFree(&none);
  open_run(&run, "DOP853");
  ck_assert_int_eq(CPSessionRun(run.session, 1, run.y, &t), CP_NO_INIT);
  ck_assert_mentions(run.log.text, "CPSessionStart");
  ck_assert_int_eq(CPSessionSetTolerances(run.session, -1, 0, NULL), CP_ILL_INPUT);
  ck_assert_int_eq(CPSessionSetMaxEvents(run.session, -1), CP_ILL_INPUT);
  ck_assert_int_eq(CPSessionSetOutputFn(run.session, 2, (sunrealtype[]){1, NAN}, on_output, NULL),
                   CP_ILL_INPUT);
  ck_assert_int_eq(CPSessionSetOutputFn(run.session, 3, (sunrealtype[]){1, 2, 1.5}, on_output, NULL),
                   CP_ILL_INPUT);
  source      = wall(&run);
  source.size = 0;
  ck_assert_int_eq(CPSessionAddSource(run.session, &source, NULL), CP_OLD_STRUCT);
  ck_assert_mentions(run.log.text, "size of source");
  source        = wall(&run);
  source.handle = NULL;
  ck_assert_int_eq(CPSessionAddSource(run.session, &source, NULL), CP_ILL_INPUT);
  source           = wall(&run);
  source.direction = (int[]){2};
  ck_assert_int_eq(CPSessionAddSource(run.session, &source, NULL), CP_ILL_INPUT);
  ck_assert_int_eq(CPSessionStart(run.session, NAN, run.y, 1), CP_ILL_INPUT);
  ck_assert_int_eq(CPSessionStart(run.session, 0, run.y, 0), CP_ILL_INPUT);
  ck_assert_int_eq(CPSessionSetStepFn(run.session, reenter, &run), CP_SUCCESS);
  ck_assert_int_eq(CPSessionStart(run.session, 0, run.y, 1), CP_SUCCESS);
  source = wall(&run);
  ck_assert_int_eq(CPSessionAddSource(run.session, &source, NULL), CP_TOO_LATE);
  ck_assert_int_eq(CPSessionSetIntegrator(run.session, NULL), CP_TOO_LATE);
  ck_assert_int_eq(CPSessionRun(run.session, NAN, run.y, &t), CP_ILL_INPUT);
  ck_assert_int_eq(CPSessionRun(run.session, 1, run.y, &t), CP_STOPPED);
  ck_assert_int_eq(run.again, 5);
  close_run(&run);
  open_run(&run, "no such method");
  ck_assert_int_eq(CPSessionStart(run.session, 0, run.y, 1), CP_ILL_INPUT);
  ck_assert_mentions(run.log.text, "no such method");
  ck_assert_int_eq(CPSessionRun(run.session, 1, run.y, &t), CP_NO_INIT);
  close_run(&run);
}
END_TEST

START_TEST(without_memory_a_session_says_so_and_nothing_leaks) {
  for (long n = 1, failed = 1; failed; n++) {
    Run run = {.left = -1};
    alloc_watch_failing(n);
    run.session = CPSessionCreate(methods[_i], test_context);
    int flag    = run.session ? CP_SUCCESS : CP_MEM_FAIL;
    if (!flag) {
      CPEventSource source = wall(&run);
      source.handle        = again_and_again; /* without assertions, which may allocate */
      CPObjectSetErrHandlerFn(CP_OBJECT(run.session), message_log, &run.log);
      flag = CPSessionAddSource(run.session, &source, NULL);
      CPSessionSetRhsFn(run.session, oscillate, &run);
      if (!flag) flag = CPSessionSetTolerances(run.session, TOL, TOL, NULL);
      if (!flag) flag = CPSessionSetOutputFn(run.session, 1, (sunrealtype[]){1}, on_output, &run);
      N_Vector y = flag ? NULL : N_VNew_Serial(2, test_context);
      if (y) {
        entries(y)[0] = 1, entries(y)[1] = 0;
        flag = CPSessionStart(run.session, 0, y, 2);
        if (!flag) flag = CPSessionRun(run.session, 2, y, &run.t);
        N_VDestroy(y);
      } else flag = CP_MEM_FAIL;
    }
    CPSessionFree(&run.session);
    failed = alloc_has_failed();
    alloc_unwatch();
    ck_assert_int_eq(alloc_live(), 0);
    ck_assert_msg((flag < 0) == failed, "allocation %ld: %d %s", n, flag, run.log.text);
    ck_assert_int_lt(n, 500);
  }
}
END_TEST

/* ---- periodic events ---- */

/* x'' = a, where a is set every millisecond from the state there */
typedef struct {
  long int n;
  sunrealtype a, last;
} Sampled;

static int drift(sunrealtype t, N_Vector y, N_Vector ydot, void *data) {
  (void)t;
  entries(ydot)[0] = entries(y)[1];
  entries(ydot)[1] = ((Sampled *)data)->a;
  return 0;
}

static sunrealtype feedback(const sunrealtype *x) { return -100 * x[0] - 20 * x[1]; }

static int take_feedback(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  Sampled *c = data;
  (void)session;
  ck_assert_double_eq(event->t, 1e-3 * (sunrealtype)c->n++); /* no roundoff adds up */
  c->a    = feedback(entries(y));
  c->last = event->t;
  return CP_RESTART;
}

/* Between samples the motion is a parabola, so that the state at sample k + 1 is a linear function of that at sample k. The one at
 * the end is called. No step is lost: one-step methods take one for each sample. */
START_TEST(a_controller_at_1_kHz_costs_no_accuracy) {
  static const char *const names[] = {"DOP853", "RADAU", "auto", "BS54"};
  const sunrealtype h = 1e-3, tol = pow(10, -4 - _i);
  const long int samples     = 10000;
  Sampled c                  = {0};
  const CPEventSource source = {
      .size = sizeof source, .name = "controller", .data = &c, .handle = take_feedback, .period = h};
  CPSession session = CPSessionCreate(names[_i], test_context);
  N_Vector y        = N_VNew_Serial(2, test_context);
  sunrealtype t, x[2] = {1, 0};
  long int nst  = 0;
  entries(y)[0] = 1, entries(y)[1] = 0;
  ck_assert_int_eq(CPSessionSetRhsFn(session, drift, &c), CP_SUCCESS);
  ck_assert_int_eq(CPSessionSetTolerances(session, tol, tol, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionAddSource(session, &source, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionStart(session, 0, y, h * (sunrealtype)samples), CP_SUCCESS);
  ck_assert_int_eq(CPSessionRun(session, h * (sunrealtype)(samples / 2), y, &t), CP_SUCCESS);
  ck_assert_int_eq(c.n, samples / 2 + 1);
  ck_assert_int_eq(CPSessionRun(session, h * (sunrealtype)samples, y, &t), CP_SUCCESS);
  ck_assert_int_eq(c.n, samples + 1);
  for (long int i = 0; i < samples; i++) {
    const sunrealtype a = feedback(x);
    x[0] += h * x[1] + h * h / 2 * a;
    x[1] += h * a;
  }
  for (int i = 0; i < 2; i++) ck_assert_double_eq_tol(entries(y)[i], x[i], 10 * tol);
  ck_assert_double_eq(c.a, feedback(entries(y)));
  ck_assert_int_eq(CPObjectGetStat(CP_OBJECT(session), "steps", &t), CP_SUCCESS);
  nst = (long int)t;
  ck_assert_int_le(nst, samples + 20);
  CPSessionFree(&session);
  N_VDestroy(y);
}
END_TEST

START_TEST(sources_that_take_over_without_steps_of_their_own_are_refused) {
  const CPEventSource source = {.size = sizeof source, .name = "c", .handle = take_feedback};
  CPSession session          = CPSessionCreate("DOP853", test_context);
  for (int i = 0; i < 3; i++) {
    CPEventSource wrong = source;
    if (i != 1) wrong.take_over = switch_on_at_failure;
    if (i > 0) wrong.advances = is_on;
    if (i == 0) wrong.advance = euler;
    ck_assert_int_eq(CPSessionAddSource(session, &wrong, NULL), CP_ILL_INPUT);
    ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(session)), "take_over need");
  }
  CPSessionFree(&session);
}
END_TEST

START_TEST(wrong_periods_are_refused) {
  CPEventSource source = {.size = sizeof source, .name = "c", .handle = take_feedback};
  CPSession session    = CPSessionCreate("DOP853", test_context);
  source.period        = -1;
  ck_assert_int_eq(CPSessionAddSource(session, &source, NULL), CP_ILL_INPUT);
  source.period = 1, source.first = NAN;
  ck_assert_int_eq(CPSessionAddSource(session, &source, NULL), CP_ILL_INPUT);
  source.first = 0, source.next_time = next_sample;
  ck_assert_int_eq(CPSessionAddSource(session, &source, NULL), CP_ILL_INPUT);
  CPSessionFree(&session);
}
END_TEST

/* ---- events at a stop, but for roundoff ---- */

/* x = v t passes v T at T, where the run ends or a sample is due; and sin(3 pi t / T) has a root there that is off by roundoff. */
typedef struct {
  Run run;
  sunrealtype v, T, at;
  int in_time, action, count;
} Stop;

static int glide(sunrealtype t, N_Vector y, N_Vector ydot, void *data) {
  (void)t, (void)data;
  entries(ydot)[0] = entries(y)[1];
  entries(ydot)[1] = 0;
  return 0;
}

static int passes(sunrealtype t, N_Vector y, sunrealtype *g, void *data) {
  const Stop *stop = data;
  *g = stop->in_time ? sin(3 * acos(-1.0) * t / stop->T) : entries(y)[0] - stop->v * stop->T;
  return 0;
}

static int pass(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  Stop *stop = data;
  (void)session, (void)y;
  if (stop->in_time && event->t < 0.9 * stop->T) return CP_CONTINUE;
  stop->at = event->t;
  stop->count++;
  return stop->action;
}

/* Nothing but restarts may happen there. */
static int restart_there(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  (void)session, (void)event, (void)y, (void)data;
  return CP_RESTART;
}

/* Runs to T, with samples or without, and if `on` to 1.2 T, in one piece or two. */
static void pass_at(const char *method, sunrealtype v, sunrealtype T, int k) {
  const int samples = k & 1, on = k & 2, whole = k & 4;
  Stop stop = {.v = v, .T = T, .action = k & 8 ? CP_RESTART : CP_CONTINUE, .in_time = (k & 16) != 0};
  open_run(&stop.run, method);
  const CPEventSource source = {.size   = sizeof source,
                                .name   = "mark",
                                .data   = &stop,
                                .nroots = 1,
                                .roots  = passes,
                                .handle = pass};
  CPEventSource sampling     = sampler(&stop.run);
  stop.run.period            = T / 4;
  sampling.handle            = restart_there;
  entries(stop.run.y)[0] = 0, entries(stop.run.y)[1] = v;
  ck_assert_int_eq(CPSessionAddSource(stop.run.session, &source, NULL), CP_SUCCESS);
  if (samples) ck_assert_int_eq(CPSessionAddSource(stop.run.session, &sampling, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionSetRhsFn(stop.run.session, glide, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionStart(stop.run.session, 0, stop.run.y, on ? 1.2 * T : T), CP_SUCCESS);
  if (!on || !whole) run_to(&stop.run, T);
  if (!on) ck_assert_msg(stop.count == 1, "%s: v %g, T %g, case %d: not met", method, v, T, k);
  if (on) run_to(&stop.run, 1.2 * T);
  ck_assert_msg(stop.count == 1, "%s: v %g, T %g, case %d: met %d times", method, v, T, k,
                stop.count);
  ck_assert_double_le(fabs(stop.at - T), 1e-12 * T);
  close_run(&stop.run);
}

START_TEST(an_event_at_a_stop_is_met_there_once) {
  static const sunrealtype speeds[] = {1, -0.3, 1e3}, ends[] = {1, 0.7, 72};
  for (int k = 0; k < 32; k += test_is_short() ? 5 : 1)
    for (int i = 0; i < 9; i++) pass_at(methods[_i], speeds[i % 3], ends[i / 3], k);
}
END_TEST

/* ---- gradients ---- */

/* y' = u, where u = -k y from sample to sample: after N samples at distances h, y = (1 - k h)^N y0. p = (k, u) */
static int held_rate(sunrealtype t, N_Vector y, N_Vector ydot, void *p) {
  (void)t, (void)y;
  N_VConst(((sunrealtype *)p)[1], ydot);
  return 0;
}
static int sample_rate(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  sunrealtype *p = data;
  (void)session, (void)event;
  p[1] = -p[0] * N_VGetArrayPointer(y)[0];
  return CP_RESTART;
}
static int jump_away(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  (void)session, (void)event, (void)data;
  N_VGetArrayPointer(y)[0] += 1;
  return CP_RESTART;
}
static int state_itself(sunrealtype t, N_Vector y, sunrealtype *value, void *data) {
  (void)t, (void)data;
  *value = N_VGetArrayPointer(y)[0];
  return 0;
}

/* Derivatives with respect to the gain and, adjoint, the start; a source that says nothing of derivatives ends them. Loop index: the way */
START_TEST(gradients_pass_the_samples_of_a_program) {
  enum { N = 20 };
  const sunrealtype h = 0.05, k = 3, base = 1 - k * h;
  sunrealtype p[] = {k, 0}, *held[] = {&p[1]}, G, dG;
  const CPEventDerivatives set   = {CP_SIZED(CPEventDerivatives), .held = held, .nheld = 1};
  const CPEventSource controller = {CP_SIZED(CPEventSource),
                                    .name        = "controller",
                                    .data        = p,
                                    .handle      = sample_rate,
                                    .period      = h,
                                    .derivatives = &set},
                      other      = {CP_SIZED(CPEventSource), .name = "other", .handle = jump_away,
                                    .period = 0.7, .first = 0.7};
  const CPFunctional F           = {CP_SIZED(CPFunctional), .ng = 1, .end = state_itself};
  const CPParameters by          = {CP_SIZED(CPParameters), .n = 1, .values = p};
  const CPGradientOptions o      = {CP_SIZED(CPGradientOptions), .mode = (CPGradientMode)_i,
                                    .reltol = 1e-10};
  for (int n = 0; n < 4; n++) {
    const char *const own[] = {"DOP853", "BS54", "RADAU", "DOP853"};
    N_Vector y = N_VNew_Serial(1, test_context), gradient = N_VClone(y);
    N_VConst(2, y);
    CPSession session = CPSessionCreate(own[n], test_context);
    ck_assert_int_eq(CPSessionSetRhsFn(session, held_rate, p), CP_SUCCESS);
    ck_assert_int_eq(CPSessionSetTolerances(session, 1e-9, 1e-9, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPSessionAddSource(session, &controller, NULL), CP_SUCCESS);
    if (n == 3) ck_assert_int_eq(CPSessionAddSource(session, &other, NULL), CP_SUCCESS);
    p[1] = 0;
    ck_assert_int_eq(CPSessionStart(session, 0, y, N * h), CP_SUCCESS);
    const int flag = CPSessionGradient(session, N * h, &F, &by, &o, &G, &dG, _i ? NULL : &gradient);
    ck_assert_int_eq(flag, n == 3 ? CP_NOT_SUPPORTED : CP_SUCCESS);
    if (n == 3) ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(session)), "\"other\"");
    else {
      ck_assert_double_eq_tol(G, 2 * pow(base, N), 1e-9);
      ck_assert_double_eq_tol(dG, -2 * N * h * pow(base, N - 1), 1e-9);
      if (!_i) ck_assert_double_eq_tol(N_VGetArrayPointer(gradient)[0], pow(base, N), 1e-9);
    }
    ck_assert_double_eq(p[0], k);
    ck_assert_double_eq(p[1], 0);
    CPSessionFree(&session);
    N_VDestroy(y), N_VDestroy(gradient);
  }
}
END_TEST

/* At t = 1/2 the state doubles, so that y = 2 exp(p t) from then on; the map of derivatives, which does the same, may fail. */
typedef struct {
  sunrealtype p;
  int fails;
} Doubling;

static int grow(sunrealtype t, N_Vector y, N_Vector ydot, void *data) {
  (void)t;
  N_VScale(((const Doubling *)data)->p, y, ydot);
  return 0;
}
static sunrealtype at_half(sunrealtype t, void *data) {
  (void)data;
  return t < 0.5 ? 0.5 : INFINITY;
}
static int twice(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  (void)session, (void)data;
  if (event->t < 0.5) return CP_CONTINUE;
  N_VScale(2, y, y);
  return CP_RESTART;
}
static int keep_doubling(void **record, sunrealtype t, int is_start, int met, int *jumps,
                         void *data) {
  (void)t;
  *record = data, *jumps = met && !is_start ? 2 : 0;
  return 0;
}
static void drop_doubling(void *record, void *data) { (void)record, (void)data; }
static int enter_doubling(const void *record, int after, sunrealtype t, N_Vector y,
                          sunrealtype *part, void *data) {
  (void)record, (void)after, (void)t, (void)y, (void)part, (void)data;
  return 0;
}
static int map_twice(const void *record, sunrealtype t, N_Vector y, void *data) {
  (void)record, (void)t;
  if (((const Doubling *)data)->fails) return ((const Doubling *)data)->fails;
  N_VScale(2, y, y);
  return 0;
}

/* Also a positive code of a map is a failure. Loop index: the way */
START_TEST(gradients_pass_a_change_of_the_state_and_its_failures) {
  static const int fails[] = {0, 1, -1};
  for (int n = 0; n < 3; n++) {
    Doubling own  = {.p = 0.3, .fails = fails[n]};
    sunrealtype G = 0, dG = 0;
    const CPEventDerivatives known = {CP_SIZED(CPEventDerivatives), .record = keep_doubling,
                                      .drop = drop_doubling, .enter = enter_doubling,
                                      .map = map_twice};
    const CPEventSource doubling   = {
          CP_SIZED(CPEventSource), .name = "doubling", .data = &own,
          .next_time = at_half,    .handle = twice,    .derivatives = &known};
    const CPFunctional F      = {CP_SIZED(CPFunctional), .ng = 1, .end = state_itself};
    const CPParameters by     = {CP_SIZED(CPParameters), .n = 1, .values = &own.p};
    const CPGradientOptions o = {CP_SIZED(CPGradientOptions), .mode = (CPGradientMode)_i,
                                 .reltol = 1e-10};
    N_Vector y                = N_VNew_Serial(1, test_context);
    N_VConst(1, y);
    CPSession session = CPSessionCreate("DOP853", test_context);
    ck_assert_int_eq(CPSessionSetRhsFn(session, grow, &own), CP_SUCCESS);
    ck_assert_int_eq(CPSessionSetTolerances(session, 1e-9, 1e-9, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPSessionAddSource(session, &doubling, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPSessionStart(session, 0, y, 1), CP_SUCCESS);
    const int flag = CPSessionGradient(session, 1, &F, &by, &o, &G, &dG, NULL);
    if (n > 0) ck_assert_int_lt(flag, 0);
    else {
      ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, CPObjectGetLastMessage(CP_OBJECT(session)));
      ck_assert_double_eq_tol(G, 2 * exp(0.3), 1e-8);
      ck_assert_double_eq_tol(dG, 2 * exp(0.3), 1e-8);
    }
    CPSessionFree(&session);
    N_VDestroy(y);
  }
}
END_TEST

TEST_SUITE(session) {
  Suite *suite = suite_create("session/session");
  TCase *tcase = tcase_create("session");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_set_timeout(tcase, 60);
  tcase_add_loop_test(tcase, a_sampled_controller_acts_at_its_times, 0, 4);
  tcase_add_loop_test(tcase, a_controller_at_1_kHz_costs_no_accuracy, 0, 4);
  tcase_add_test(tcase, sources_that_take_over_without_steps_of_their_own_are_refused);
  tcase_add_test(tcase, wrong_periods_are_refused);
  tcase_add_loop_test(tcase, outputs_steps_and_events_come_in_order, 0, 4);
  tcase_add_loop_test(tcase, events_change_the_state, 0, 4);
  tcase_add_loop_test(tcase, a_ball_is_not_lost_at_a_rebound, 0, 4);
  tcase_add_loop_test(tcase, runs_go_backwards_and_in_pieces, 0, 4);
  tcase_add_loop_test(tcase, an_event_at_a_stop_is_met_there_once, 0, 4);
  tcase_add_loop_test(tcase, a_run_without_an_end_stops_where_its_step_function_says, 0, 4);
  tcase_add_loop_test(tcase, steps_hand_out_the_state_before_and_after_an_event, 0, 4);
  tcase_add_loop_test(tcase, sources_begin_again_where_another_one_has_changed_the_state, 0, 4);
  tcase_add_loop_test(tcase, an_event_that_fails_is_undone_and_tried_again, 0, 4);
  tcase_add_loop_test(tcase, a_source_may_take_steps_of_its_own, 0, 4);
  tcase_add_loop_test(tcase, a_source_may_go_on_where_the_integrator_fails, 0, 2 * 4);
  tcase_add_loop_test(tcase, the_method_changes_where_stability_limits_it, 0, 4);
  tcase_add_loop_test(tcase, short_segments_are_left_to_the_cheapest_pair, 0, 3);
  tcase_add_loop_test(tcase, short_segments_of_mechanisms_take_five_evaluations, 0, 6);
  tcase_add_test(tcase, an_integrator_of_the_users_takes_the_steps);
  tcase_add_loop_test(tcase, events_without_end_are_too_many, 0, 4);
  tcase_add_loop_test(tcase, times_that_differ_by_roundoff_are_all_met_once, 0, 4);
  tcase_add_loop_test(tcase, events_at_large_times_are_not_at_one_time, 0, 2);
  tcase_add_loop_test(tcase, what_fails_after_a_step_is_tried_again, 0, 4);
  tcase_add_test(tcase, a_change_of_the_method_that_fails_ends_the_run);
  tcase_add_test(tcase, outputs_before_the_start_are_left_out_and_those_against_the_run_refused);
  tcase_add_test(tcase, wrong_calls_are_refused_with_a_reason);
  tcase_add_loop_test(tcase, gradients_pass_the_samples_of_a_program, 0, 2);
  tcase_add_loop_test(tcase, gradients_pass_a_change_of_the_state_and_its_failures, 0, 2);
  tcase_add_loop_test(tcase, without_memory_a_session_says_so_and_nothing_leaks, 0, 2);
  suite_add_tcase(suite, tcase);
  return suite;
}
