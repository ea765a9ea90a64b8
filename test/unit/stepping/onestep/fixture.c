#include "stepping/onestep/fixture.h"

#include <math.h>
#include <models/counters.h>
#include <string.h>

const char *const one_methods[] = {"DOP853",
                                   "BS54",
                                   "BS32",
                                   "ARKODE_HEUN_EULER_2_1_2",
                                   "ARKODE_BOGACKI_SHAMPINE_4_2_3",
                                   "ARKODE_ARK324L2SA_ERK_4_2_3",
                                   "ARKODE_ZONNEVELD_5_3_4",
                                   "ARKODE_ARK436L2SA_ERK_6_3_4",
                                   "ARKODE_SAYFY_ABURUB_6_3_4",
                                   "ARKODE_CASH_KARP_6_4_5",
                                   "ARKODE_FEHLBERG_6_4_5",
                                   "ARKODE_DORMAND_PRINCE_7_4_5",
                                   "ARKODE_ARK548L2SA_ERK_8_4_5",
                                   "ARKODE_VERNER_8_5_6",
                                   "ARKODE_FEHLBERG_13_7_8",
                                   "ARKODE_ARK437L2SA_ERK_7_3_4",
                                   "ARKODE_ARK548L2SAb_ERK_8_4_5",
                                   "RADAU5",
                                   "RADAU9",
                                   "RADAU13",
                                   "RADAU"};
const int n_one_methods         = sizeof one_methods / sizeof one_methods[0];
const int n_explicit_methods    = sizeof one_methods / sizeof one_methods[0] - 4;

void one_open(OneRun *run, const char *method, sunrealtype tol) {
  memset(run, 0, sizeof *run);
  run->method  = method;
  run->world.p = (Pendulum){1.0, 9.81};
  run->y       = vector_of(PENDULUM_N, NULL);
  pendulum_initial(&run->world.p, run->y);
  run->mem = CPIntegratorCreate(method, test_context);
  ck_assert_ptr_nonnull(run->mem);
  run->P = world_projector(&run->world, run->y);
  ck_assert_done(run, CPObjectSetErrHandlerFn(CP_OBJECT(run->mem), message_log, &run->log));
  ck_assert_done(run, CPIntegratorInit(run->mem, world_rhs, 0.0, run->y));
  ck_assert_done(run, CPIntegratorSStolerances(run->mem, tol, tol));
  ck_assert_done(run, CPIntegratorSetProjector(run->mem, run->P));
  ck_assert_done(run, CPIntegratorSetUserData(run->mem, &run->world));
  ck_assert_done(run, CPIntegratorSetMaxNumSteps(run->mem, 100000));
}

void one_close(OneRun *run) {
  CPIntegratorFree(&run->mem);
  CPProjectorFree(&run->P);
  N_VDestroy(run->y);
}

void one_restart(OneRun *run, sunrealtype t0) {
  pendulum_exact(&run->world.p, t0, entries(run->y));
  run->t = t0;
  ck_assert_done(run, CPIntegratorReInit(run->mem, t0, run->y));
}

int one_step(OneRun *run) {
  return CPIntegratorEvolve(run->mem, 1000.0, run->y, &run->t, CV_ONE_STEP);
}

int one_to(OneRun *run, sunrealtype tout) {
  return CPIntegratorEvolve(run->mem, tout, run->y, &run->t, CV_NORMAL);
}

IntegratorCounters one_stats(OneRun *run) {
  IntegratorCounters stats;
  ck_assert_done(run, integrator_counters(run->mem, &stats));
  return stats;
}

sunrealtype one_error(const OneRun *run, sunrealtype t, N_Vector y) {
  sunrealtype exact[PENDULUM_N], error = 0.0;
  pendulum_exact(&run->world.p, t, exact);
  for (int i = 0; i < PENDULUM_N; i++) error = fmax(error, fabs(entries(y)[i] - exact[i]));
  return error;
}

OneErrors one_errors(OneRun *run, int n) {
  OneErrors e = {0.0, 0.0, 0.0};
  N_Vector y  = vector_of(PENDULUM_N, NULL);
  CPIntegratorSetFixedStep(run->mem, 1.0 / n);
  one_restart(run, 0.0);
  for (int i = 0; i < n; i++) {
    ck_assert_done(run, one_step(run));
    e.end = fmax(e.end, one_error(run, run->t, run->y));
    for (int j = 1; j < 8; j++) {
      const sunrealtype t = run->t - j / (8.0 * n);
      sunrealtype exact[PENDULUM_N];
      ck_assert_done(run, CPIntegratorGetDky(run->mem, t, 0, y));
      e.inside = fmax(e.inside, one_error(run, t, y));
      ck_assert_done(run, CPIntegratorGetDky(run->mem, t, 1, y));
      pendulum_exact(&run->world.p, t, exact);
      for (int k = 0; k < 2; k++) e.rate = fmax(e.rate, fabs(entries(y)[k] - exact[k + 2]));
    }
  }
  N_VDestroy(y);
  return e;
}

void one_assert_refused(OneRun *run, int flag, int expected, const char *call,
                        const char *const *words) {
  ck_assert_msg(flag == expected, "%s is %d, not %d: %s", call, flag, expected, run->log.text);
  ck_assert_msg(run->log.count == 1, "%s: %d messages", call, run->log.count);
  ck_assert_int_eq(run->log.code, expected);
  ck_assert_str_eq(CPObjectGetLastMessage(CP_OBJECT(run->mem)), run->log.text);
  for (; *words; words++) ck_assert_mentions(run->log.text, *words);
}
