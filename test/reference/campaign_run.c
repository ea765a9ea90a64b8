#include "campaign.h"

#include <math.h>
#include <models/counters.h>
#include <models/plugin.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int campaign_method(int i) {
  static const int methods[NUM_METHODS] = {CV_BDF, CV_ADAMS, ONE_STEP, RADAU};
  return methods[i];
}

const char *campaign_method_name(int method) {
  return method == ONE_STEP ? "DOP853" : method == RADAU ? "RADAU" : method_name(method);
}

sunrealtype ladder(int i, int n, sunrealtype from, sunrealtype to) {
  return from * pow(to / from, (sunrealtype)i / (n - 1));
}

int campaign_stride(int each) {
  const char *wanted = getenv("CPODES_TEST_CAMPAIGN");
  return wanted && !strcmp(wanted, "full") ? 1 : each;
}

/* Largest number of steps between two outputs or events; more are a stall */
enum { MOST_STEPS = 500000 };

/* Either integrator */
typedef struct {
  const CPPlugin *model;
  const CampaignOptions *options;
  CPMech mech;
  CPIntegrator cpode;
  CPIntegrator onestep;
  N_Vector y;
  int next_stop;
  MessageLog log;
} March;

static void start_multistep(March *m, int lmm, sunrealtype tol) {
  int direction[CP_PLUGIN_MAX_ROOTS] = {0};
  m->cpode = CPIntegratorCreate(lmm == CV_BDF ? "BDF" : "ADAMS", test_context);
  ck_assert_ptr_nonnull(m->cpode);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(m->cpode), message_log, &m->log), CP_SUCCESS);
  ck_assert_msg(CPMechAttach(m->mech, m->cpode, 0, m->y) == CP_SUCCESS, "%s", m->log.text);
  ck_assert_int_eq(CPIntegratorSStolerances(m->cpode, tol, tol), CP_SUCCESS);
  void *cvode_mem = CPIntegratorGetCVodeMem(m->cpode);
  ck_assert_int_eq(CVodeSetMaxNumSteps(cvode_mem, MOST_STEPS), CV_SUCCESS);
  if (m->model->nroots == 0) return;
  for (int i = 0; i < m->model->nroots; i++) direction[i] = m->model->direction[i];
  ck_assert_int_eq(CVodeRootInit(cvode_mem, m->model->nroots, m->model->type->roots), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetRootDirection(cvode_mem, direction), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetNoInactiveRootWarn(cvode_mem), CV_SUCCESS);
}

static void start_onestep(March *m, const char *name, sunrealtype tol) {
  int direction[CP_PLUGIN_MAX_ROOTS] = {0};
  m->onestep                         = CPIntegratorCreate(name, test_context);
  ck_assert_ptr_nonnull(m->onestep);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(m->onestep), message_log, &m->log), CP_SUCCESS);
  ck_assert_msg(CPMechAttach(m->mech, m->onestep, 0, m->y) == CP_SUCCESS, "%s", m->log.text);
  ck_assert_int_eq(CPIntegratorSStolerances(m->onestep, tol, tol), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetMaxNumSteps(m->onestep, MOST_STEPS), CP_SUCCESS);
  if (m->options->max_step > 0)
    ck_assert_int_eq(CPIntegratorSetMaxStep(m->onestep, m->options->max_step), CP_SUCCESS);
  if (m->model->nroots == 0) return;
  for (int i = 0; i < m->model->nroots; i++) direction[i] = m->model->direction[i];
  ck_assert_int_eq(CPIntegratorRootInit(m->onestep, m->model->nroots, m->model->type->roots),
                   CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetRootDirection(m->onestep, direction), CP_SUCCESS);
}

static void set_stop(March *m) {
  if (m->next_stop >= m->model->nstops) return;
  const sunrealtype stop = m->model->stop[m->next_stop];
  ck_assert_int_eq(m->onestep ? CPIntegratorSetStopTime(m->onestep, stop)
                              : CVodeSetStopTime(CPIntegratorGetCVodeMem(m->cpode), stop),
                   0);
}

static long int steps_of(const March *m) {
  IntegratorCounters stats;
  long int steps = 0;
  if (m->onestep) return integrator_counters(m->onestep, &stats) ? 0 : stats.nst;
  CVodeGetNumSteps(CPIntegratorGetCVodeMem(m->cpode), &steps);
  return steps;
}

/* Handles the model's event; afterwards the integrator counts its steps from zero. */
static void strike(March *m, sunrealtype t, Outcome *run) {
  int found[CP_PLUGIN_MAX_ROOTS];
  run->events++;
  ck_assert_int_eq(m->onestep ? CPIntegratorGetRootInfo(m->onestep, found)
                              : CVodeGetRootInfo(CPIntegratorGetCVodeMem(m->cpode), found),
                   0);
  ck_assert_int_eq(m->model->type->event(m->model, m->mech, t, m->y, found), 0);
  if (m->options->event) m->options->event(m->options->data, t, m->y);
}

static void march(March *m, sunrealtype t_end, Outcome *run) {
  for (;;) {
    run->flag = m->onestep ? CPIntegratorEvolve(m->onestep, t_end, m->y, &run->t, CV_NORMAL)
                           : CPIntegratorEvolve(m->cpode, t_end, m->y, &run->t, CV_NORMAL);
    if (run->flag < 0 || run->flag == CP_SUCCESS) break;
    if (run->flag == CV_ROOT_RETURN) strike(m, run->t, run);
    if (run->flag == CV_TSTOP_RETURN) m->next_stop++;
    if (run->t >= t_end || (run->events > 0 && run->events == m->options->most_events)) break;
    run->steps += steps_of(m);
    ck_assert_int_eq(m->onestep ? CPIntegratorReInit(m->onestep, run->t, m->y)
                                : CPIntegratorReInit(m->cpode, run->t, m->y),
                     CP_SUCCESS);
    set_stop(m);
  }
}

Outcome campaign_run(const CPPlugin *model, int method, sunrealtype tol,
                     const CampaignOptions *options, N_Vector y) {
  static const CampaignOptions none;
  const CampaignOptions *o = options ? options : &none;
  const sunrealtype t_end  = o->t_end > 0 ? o->t_end : model->type->t_end;
  Outcome run              = {0};
  March m = {.model = model, .options = o, .mech = CPPluginMech(model), .y = vector_copy(model->y0)};
  MechCounters stats;
  ck_assert_ptr_nonnull(m.mech);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(m.mech), message_log, &m.log), CP_SUCCESS);
  if (o->linsol) ck_assert_int_eq(CPMechSetLinearSolver(m.mech, o->linsol), CP_SUCCESS);
  if (method == ONE_STEP || method == RADAU) start_onestep(&m, campaign_method_name(method), tol);
  else start_multistep(&m, method, tol);
  set_stop(&m);

  const clock_t start = clock();
  const int outputs   = o->outputs > 0 ? o->outputs : 1;
  for (int k = 1; k <= outputs && run.flag >= 0; k++) {
    march(&m, k == outputs ? t_end : k * t_end / outputs, &run);
    const sunrealtype error = run.flag < 0 ? NAN : plugin_error(model, run.t, m.y);
    run.error               = error > run.error || isnan(error) ? error : run.error;
  }
  run.steps += steps_of(&m);
  run.seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
  ck_assert_int_eq(mech_counters(m.mech, &stats), CP_SUCCESS);
  run.f        = stats.nf > stats.nudot ? stats.nf : stats.nudot;
  run.linsol   = stats.linsol;
  run.warnings = run.flag < 0 ? 0 : m.log.count;
  snprintf(run.text, sizeof run.text, "%.*s", (int)sizeof run.text - 1, m.log.text);
  if (y) N_VScale(1, m.y, y);
  CPIntegratorFree(&m.cpode);
  CPIntegratorFree(&m.onestep);
  CPMechFree(&m.mech);
  N_VDestroy(m.y);
  return run;
}

/* ---------------------------------------------------------------------------------------- tally -- */

void tally_run(Tally *tally, const CPPlugin *model, int method, sunrealtype tol, const Outcome *run) {
  const sunrealtype ratio = run->error / tol;
  if (run->flag < 0 || (run->warnings > 0 && !tally->first[0]))
    if (tally->failed == 0)
      snprintf(tally->first, sizeof tally->first, "tol %.6g, flag %d at t = %g: %s", (double)tol,
               run->flag, (double)run->t, run->text);
  tally->runs++;
  tally->failed += run->flag < 0;
  tally->warned += run->warnings > 0;
  tally->steps += run->steps;
  if (run->steps > tally->most_steps) tally->most_steps = run->steps;
  if (run->f > tally->most_f) tally->most_f = run->f;
  if (run->flag >= 0) {
    tally->sum_of_logs += log(ratio);
    tally->worst = fmax(tally->worst, ratio);
  }
  if (wants_figures())
    printf("%-17s %-6s tol %.5e: %6ld steps, %8ld f, error/tol %10.3g, %d warnings%s%s\n",
           model->type->name, campaign_method_name(method), (double)tol, run->steps, run->f,
           (double)ratio, run->warnings, run->flag < 0 ? ", FAILED: " : "",
           run->flag < 0 ? run->text : "");
}

sunrealtype tally_mean(const Tally *tally) {
  const int ended = tally->runs - tally->failed;
  return ended > 0 ? exp(tally->sum_of_logs / ended) : NAN;
}
