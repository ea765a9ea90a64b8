/* This library: one-step methods. */
#include "support.h"

#include "../check.h"
#include <cpodes/cpodes_integrator.h>
#include <models/counters.h>
#include <nvector/nvector_serial.h>

static void integrate(CPIntegrator mem, sunrealtype t_end, sunrealtype tol, N_Vector y,
                      RaceFigures *figures) {
  IntegratorCounters stats;
  CHECK(CPObjectSetErrHandlerFn(CP_OBJECT(mem), race_quiet, NULL));
  CHECK(CPIntegratorSStolerances(mem, tol, tol));
  CHECK(CPIntegratorSetMaxNumSteps(mem, RACE_MAX_STEPS));
  CHECK(CPIntegratorSetStopTime(mem, t_end));
  const double before = cpu_seconds();
  const int flag      = CPIntegratorEvolve(mem, t_end, y, &figures->t, CV_NORMAL);
  figures->seconds    = cpu_seconds() - before;
  if (flag < 0) figures_fail(figures, flag, "%s", CPObjectGetLastMessage(CP_OBJECT(mem)));
  CHECK(integrator_counters(mem, &stats));
  figures->steps          = stats.nst;
  figures->rejected       = stats.nattempts - stats.nst;
  figures->rhs            = stats.nfe;
  figures->jacobians      = stats.njev;
  figures->factorisations = stats.nlinsetups;
}

/* ------------------------------------------------------------------------------- by a CPMech -- */

static void solve_mech(const Contestant *self, const CPPlugin *model, sunrealtype t_end,
                       sunrealtype tol, N_Vector y, RaceFigures *figures) {
  CPMech mech             = CHECK_POINTER(CPPluginMech(model));
  CPMechSuggestion choice = {CP_SIZED(CPMechSuggestion), .method = self->table};
  MechCounters stats;
  CHECK(CPObjectSetErrHandlerFn(CP_OBJECT(mech), race_quiet, NULL));
  /* The first evaluation orders and allocates factors. Contestants that choose nothing do this when
   * they attach the system, so that their time does not contain it. */
  CHECK(CPMechRhs(0, model->y0, y, mech));
  const double before = cpu_seconds();
  if (self->chooses) CHECK(CPMechSuggestMethod(mech, 0, model->y0, t_end, tol, &choice));
  const double choosing = cpu_seconds() - before;
  CPIntegrator mem      = CHECK_POINTER(CPIntegratorCreate(choice.method, model->ctx));
  CHECK(CPMechAttach(mech, mem, 0, model->y0));
  integrate(mem, t_end, tol, y, figures);
  figures->seconds += choosing;
  CHECK(mech_counters(mech, &stats));
  if (stats.nf) figures->rhs = stats.nf; /* including those for differences */
  if (stats.nnewton) figures->factorisations = stats.nnewton;
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
}

static bool takes_mech(const CPPlugin *model) {
  return model->mech.nu > 0 && race_is_smooth(model);
}

const Contestant contestant_cpodes_dop853 = {.name  = "cpodes-dop853",
                                             .title = "cpodes, DOP853",
                                             .settings =
                                                 "CPMech with all defaults, each step projected",
                                             .same_f = true,
                                             .ours   = true,
                                             .takes  = takes_mech,
                                             .solve  = solve_mech,
                                             .table  = "DOP853"};

const Contestant contestant_cpodes_radau = {.name     = "cpodes-radau",
                                            .title    = "cpodes, RADAU",
                                            .settings = "CPMech with all defaults, Radau IIA with"
                                                        " 3 or 5 stages, each step projected",
                                            .same_f   = false,
                                            .ours     = true,
                                            .takes    = takes_mech,
                                            .solve    = solve_mech,
                                            .table    = "RADAU"};

/* Operators, for which BDF is suggested, do not participate in the race. */
const Contestant contestant_cpodes_auto = {.name  = "cpodes-auto",
                                           .title = "cpodes, DOP853 or RADAU",
                                           .settings =
                                               "what CPMechSuggestMethod chooses, with the time"
                                               " that it takes",
                                           .same_f  = false,
                                           .ours    = true,
                                           .chooses = true,
                                           .takes   = takes_mech,
                                           .solve   = solve_mech};

/* ------------------------------------------------------------------------ by f, c and G alone -- */

static bool takes_fc(const CPPlugin *model) {
  return model->f && model->c && race_is_smooth(model);
}

static void solve_fc(const Contestant *self, const CPPlugin *model, sunrealtype t_end,
                     sunrealtype tol, N_Vector y, RaceFigures *figures) {
  SUNMatrix own    = NULL;
  N_Vector c       = CHECK_POINTER(N_VNew_Serial(model->m, model->ctx));
  CPProjector P    = race_projector(model, c, &own);
  CPIntegrator mem = CHECK_POINTER(CPIntegratorCreate(self->table, model->ctx));
  CHECK(CPIntegratorInit(mem, model->f, 0, model->y0));
  CHECK(CPIntegratorSetUserData(mem, model->data));
  CHECK(CPIntegratorSetProjector(mem, P));
  integrate(mem, t_end, tol, y, figures);
  CPIntegratorFree(&mem);
  CPProjectorFree(&P);
  if (own) SUNMatDestroy(own);
  N_VDestroy(c);
}

const Contestant contestant_cpodes_dop853_fc = {
    .name     = "cpodes-dop853-fc",
    .title    = "cpodes, DOP853, f and c by hand",
    .settings = "f, c and dc/dy as the model has them, CPProjector with all defaults, each step"
                " projected",
    .same_f   = true,
    .ours     = true,
    .takes    = takes_fc,
    .solve    = solve_fc,
    .table    = "DOP853"};
