/* This library: BDF and Adams, for the index-3 system (CPMech) and for f and c written by hand. */
#include "support.h"

#include "../check.h"
#include "../lapack_dense.h"
#include <models/counters.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

static void integrate(CPIntegrator mem, sunrealtype t_end, N_Vector y, RaceFigures *figures) {
  void *cvode_mem = CPIntegratorGetCVodeMem(mem);
  CHECK(CPObjectSetErrHandlerFn(CP_OBJECT(mem), race_quiet, NULL));
  CHECK(CVodeSetMaxNumSteps(cvode_mem, RACE_MAX_STEPS));
  CHECK(CVodeSetStopTime(cvode_mem, t_end)); /* the end is a step, not an interpolation */
  const double before = cpu_seconds();
  const int flag      = CPIntegratorEvolve(mem, t_end, y, &figures->t, CV_NORMAL);
  figures->seconds    = cpu_seconds() - before;
  if (flag < 0) figures_fail(figures, flag, "%s", CPObjectGetLastMessage(CP_OBJECT(mem)));
}

/* ------------------------------------------------------------------------------- by a CPMech -- */

/* Evaluations of f are counted if the model has forces, otherwise those of udot, which computes u'. */
static void figures_of_mech(CPMech mech, CPIntegrator mem, RaceFigures *figures) {
  MechCounters stats;
  figures_of_cvodes(CPIntegratorGetCVodeMem(mem), false, figures);
  CHECK(mech_counters(mech, &stats));
  figures->rhs            = stats.nf > stats.nudot ? stats.nf : stats.nudot;
  figures->jacobians      = stats.npartials;
  figures->factorisations = stats.nnewton;
}

static void solve_mech(const Contestant *self, const CPPlugin *model, sunrealtype t_end,
                       sunrealtype tol, N_Vector y, RaceFigures *figures) {
  CPMech mech = CHECK_POINTER(CPPluginMech(model));
  CPIntegrator mem =
      CHECK_POINTER(CPIntegratorCreate(self->lmm == CV_BDF ? "BDF" : "ADAMS", model->ctx));
  CHECK(CPObjectSetErrHandlerFn(CP_OBJECT(mech), race_quiet, NULL));
  CHECK(CPMechSetErrorTimeScale(mech, self->tau));
  CHECK(CPMechAttach(mech, mem, 0, model->y0));
  if (self->max_order) CHECK(CVodeSetMaxOrd(CPIntegratorGetCVodeMem(mem), self->max_order));
  CHECK(CPIntegratorSStolerances(mem, tol, tol));
  integrate(mem, t_end, y, figures);
  figures_of_mech(mech, mem, figures);
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
}

static bool takes_mech(const CPPlugin *model) {
  return model->mech.nu > 0 && race_is_smooth(model);
}

const Contestant contestant_cpodes_bdf = {
    .name     = "cpodes-bdf",
    .title    = "cpodes, BDF",
    .settings = "CPMech with all defaults: structured Newton on the condensed KKT matrix (dense"
                " or KLU, as the model's matrices), projection in its metric",
    .same_f   = true,
    .ours     = true,
    .takes    = takes_mech,
    .solve    = solve_mech,
    .lmm      = CV_BDF};

const Contestant contestant_cpodes_bdf2 = {
    .name      = "cpodes-bdf2",
    .title     = "cpodes, BDF of order 2, errors of velocities times h",
    .settings  = "as cpodes-bdf, with CVodeSetMaxOrd(2) and "
                 "CPMechSetErrorTimeScale(CP_TAU_STEP): for fast oscillations that need not be "
                 "followed",
    .same_f    = true,
    .ours      = true,
    .takes     = takes_mech,
    .solve     = solve_mech,
    .lmm       = CV_BDF,
    .max_order = 2,
    .tau       = CP_TAU_STEP};

const Contestant contestant_cpodes_adams = {.name  = "cpodes-adams",
                                            .title = "cpodes, Adams",
                                            .settings =
                                                "CPMech with all defaults: fixed-point iteration",
                                            .same_f = true,
                                            .ours   = true,
                                            .takes  = takes_mech,
                                            .solve  = solve_mech,
                                            .lmm    = CV_ADAMS};

/* ------------------------------------------------------------------------ by f, c and G alone -- */

enum { MOST_DENSE = 400 }; /* unknowns with a dense df/dy by differences */

static bool takes_fc(const CPPlugin *model) {
  return model->f && model->c && race_is_smooth(model);
}
static bool takes_fc_newton(const CPPlugin *model) {
  return takes_fc(model) && (!model->stiff || model->n <= MOST_DENSE);
}

static void solve_fc(const Contestant *self, const CPPlugin *model, sunrealtype t_end,
                     sunrealtype tol, N_Vector y, RaceFigures *figures) {
  const bool newton = self->lmm == CV_BDF && model->stiff;
  SUNMatrix own = NULL, J = NULL;
  SUNLinearSolver linear       = NULL;
  SUNNonlinearSolver iteration = NULL;
  N_Vector c                   = CHECK_POINTER(N_VNew_Serial(model->m, model->ctx));
  CPProjector P                = race_projector(model, c, &own);
  CPIntegrator mem =
      CHECK_POINTER(CPIntegratorCreate(self->lmm == CV_BDF ? "BDF" : "ADAMS", model->ctx));
  void *cvode_mem = CPIntegratorGetCVodeMem(mem);
  CHECK(CPIntegratorInit(mem, model->f, 0, model->y0));
  CHECK(CPIntegratorSStolerances(mem, tol, tol));
  CHECK(CVodeSetUserData(cvode_mem, model->data));
  CHECK(CPIntegratorSetProjector(mem, P));
  if (newton) {
    J      = CHECK_POINTER(SUNDenseMatrix(model->n, model->n, model->ctx));
    linear = CHECK_POINTER(lapack_dense(model->n, model->ctx));
    CHECK(CVodeSetLinearSolver(cvode_mem, linear, J));
  } else {
    iteration = CHECK_POINTER(SUNNonlinSol_FixedPoint(y, 0, model->ctx));
    CHECK(CPIntegratorSetNonlinearSolver(mem, iteration));
  }
  integrate(mem, t_end, y, figures);
  figures_of_cvodes(cvode_mem, newton, figures);
  CPIntegratorFree(&mem);
  CPProjectorFree(&P);
  if (iteration) SUNNonlinSolFree(iteration);
  if (linear) SUNLinSolFree(linear);
  if (J) SUNMatDestroy(J);
  if (own) SUNMatDestroy(own);
  N_VDestroy(c);
}

const Contestant contestant_cpodes_bdf_fc = {
    .name     = "cpodes-bdf-fc",
    .title    = "cpodes, BDF, f and c by hand",
    .settings = "f, c and dc/dy as the model has them, CPProjector with all defaults; Newton "
                "with a dense df/dy by differences (LAPACK) where the model is stiff, up to 400"
                " unknowns, else fixed point",
    .same_f   = true,
    .ours     = true,
    .takes    = takes_fc_newton,
    .solve    = solve_fc,
    .lmm      = CV_BDF};

const Contestant contestant_cpodes_adams_fc = {
    .name     = "cpodes-adams-fc",
    .title    = "cpodes, Adams, f and c by hand",
    .settings = "f, c and dc/dy as the model has them, CPProjector with all defaults; fixed-"
                "point iteration",
    .same_f   = true,
    .ours     = true,
    .takes    = takes_fc,
    .solve    = solve_fc,
    .lmm      = CV_ADAMS};
