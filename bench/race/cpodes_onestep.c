/* This library: one-step methods. */
#include "support.h"

#include "../check.h"
#include <cpodes/cpodes_onestep.h>
#include <nvector/nvector_serial.h>
#include <sunmatrix/sunmatrix_dense.h>

static void integrate(CPOneStepMem mem, sunrealtype t_end, sunrealtype tol, N_Vector y,
                      RaceFigures *figures) {
  CPOneStepStats stats;
  CHECK(CPOneStepSetErrHandlerFn(mem, race_quiet, NULL));
  CHECK(CPOneStepSStolerances(mem, tol, tol));
  CHECK(CPOneStepSetMaxNumSteps(mem, RACE_MAX_STEPS));
  CHECK(CPOneStepSetStopTime(mem, t_end));
  const double before = cpu_seconds();
  const int flag      = CPOneStepEvolve(mem, t_end, y, &figures->t, CV_NORMAL);
  figures->seconds    = cpu_seconds() - before;
  if (flag < 0) figures_fail(figures, flag, "%s", CPOneStepGetLastMessage(mem));
  CHECK(CPOneStepGetStats(mem, &stats));
  figures->steps          = stats.nst;
  figures->rejected       = stats.nattempts - stats.nst;
  figures->rhs            = stats.nfe;
  figures->jacobians      = stats.njev;
  figures->factorisations = stats.nlinsetups;
}

/* ------------------------------------------------------------------------------- by a CPMech -- */

static void solve_mech(const Contestant *self, const CPModel *model, sunrealtype t_end,
                       sunrealtype tol, N_Vector y, RaceFigures *figures) {
  CPMech mech      = CHECK_POINTER(CPModelMech(model));
  CPOneStepMem mem = CHECK_POINTER(CPOneStepCreate(self->table, model->ctx));
  CPMechStats stats;
  CHECK(CPMechSetErrHandlerFn(mech, race_quiet, NULL));
  CHECK(CPMechAttachOneStep(mech, mem, 0, model->y0));
  integrate(mem, t_end, tol, y, figures);
  CHECK(CPMechGetStats(mech, &stats));
  if (stats.nf) figures->rhs = stats.nf; /* with those for differences */
  if (stats.nnewton) figures->factorisations = stats.nnewton;
  CPOneStepFree(&mem);
  CPMechFree(&mech);
}

static bool takes_mech(const CPModel *model) { return model->mech.nu > 0 && race_is_smooth(model); }

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

/* ------------------------------------------------------------------- by f, c and G as they are -- */

static bool takes_fc(const CPModel *model) { return model->f && model->c && race_is_smooth(model); }

static void solve_fc(const Contestant *self, const CPModel *model, sunrealtype t_end,
                     sunrealtype tol, N_Vector y, RaceFigures *figures) {
  SUNMatrix own    = NULL;
  N_Vector c       = CHECK_POINTER(N_VNew_Serial(model->m, model->ctx));
  CPProjector P    = race_projector(model, c, &own);
  CPOneStepMem mem = CHECK_POINTER(CPOneStepCreate(self->table, model->ctx));
  CHECK(CPOneStepInit(mem, model->f, 0, model->y0));
  CHECK(CPOneStepSetUserData(mem, model->data));
  CHECK(CPOneStepSetProjector(mem, P));
  integrate(mem, t_end, tol, y, figures);
  CPOneStepFree(&mem);
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
