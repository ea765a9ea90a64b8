/* CVODES itself: Adams without projection, and BDF with its own projection hook. */
#include "hook.h"
#include "support.h"

#include "../check.h"
#include "../lapack_dense.h"
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

enum { MOST_DENSE = 400 }; /* unknowns with a dense df/dy by differences */

/* The user_data of f and of the hook */
typedef struct {
  RaceOde ode; /* must be first: race_ode_rhs expects it */
  Hook hook;
} Peer;

static int project(sunrealtype t, N_Vector y, N_Vector corr, sunrealtype eps, N_Vector err,
                   void *user_data) {
  return hook_project(&((Peer *)user_data)->hook, t, y, corr, eps, err);
}

static void solve(const Contestant *self, const CPPlugin *model, sunrealtype t_end, sunrealtype tol,
                  N_Vector y, RaceFigures *figures) {
  const bool newton            = self->lmm == CV_BDF && model->stiff;
  Peer peer                    = {0};
  SUNMatrix J                  = NULL;
  SUNLinearSolver linear       = NULL;
  SUNNonlinearSolver iteration = NULL;
  void *cvode_mem              = CHECK_POINTER(CVodeCreate(self->lmm, model->ctx));
  CHECK(race_ode_create(model, &peer.ode));
  CHECK(CVodeInit(cvode_mem, race_ode_rhs, 0, model->y0));
  CHECK(CVodeSStolerances(cvode_mem, tol, tol));
  CHECK(CVodeSetUserData(cvode_mem, &peer));
  CHECK(CVodeSetMaxNumSteps(cvode_mem, RACE_MAX_STEPS));
  CHECK(CVodeSetStopTime(cvode_mem, t_end));
  if (newton) {
    J      = CHECK_POINTER(SUNDenseMatrix(model->n, model->n, model->ctx));
    linear = CHECK_POINTER(lapack_dense(model->n, model->ctx));
    CHECK(CVodeSetLinearSolver(cvode_mem, linear, J));
  } else {
    iteration = CHECK_POINTER(SUNNonlinSol_FixedPoint(y, 0, model->ctx));
    CHECK(CVodeSetNonlinearSolver(cvode_mem, iteration));
  }
  if (self->hooked) {
    CHECK(hook_create(model, cvode_mem, &peer.hook));
    CHECK(CVodeSetProjFn(cvode_mem, project));
  }

  const double before = cpu_seconds();
  const int flag      = CVode(cvode_mem, t_end, y, &figures->t, CV_NORMAL);
  figures->seconds    = cpu_seconds() - before;
  if (flag < 0) {
    char *name = CVodeGetReturnFlagName(flag);
    figures_fail(figures, flag, "%s", name ? name : "");
    free(name);
  }
  figures_of_cvodes(cvode_mem, newton, figures);
  if (self->hooked) hook_free(&peer.hook);
  race_ode_free(&peer.ode);
  CVodeFree(&cvode_mem);
  if (iteration) SUNNonlinSolFree(iteration);
  if (linear) SUNLinSolFree(linear);
  if (J) SUNMatDestroy(J);
}

static bool takes_hook(const CPPlugin *model) {
  if (model->stiff && model->n > MOST_DENSE) return false;
  return race_ode_takes(model) && hook_takes(model);
}

const Contestant contestant_cvodes_hook = {
    .name     = "cvodes-hook",
    .title    = "CVODES, BDF, its hook, projection by hand",
    .settings = "CVodeSetProjFn with a projection written by hand: positions, then velocities, "
                "then the error estimate, in the norm of the error weights; tridiagonal factors"
                " for chains, else Cholesky factors of A D A^T (LAPACK). Where the model is "
                "stiff, up to 400 unknowns, Newton with a dense df/dy by differences (LAPACK), "
                "else fixed point",
    .same_f   = true,
    .takes    = takes_hook,
    .solve    = solve,
    .lmm      = CV_BDF,
    .hooked   = true};

const Contestant contestant_cvodes_adams = {.name     = "cvodes-adams",
                                            .title    = "CVODES, Adams, not projected",
                                            .settings = "fixed-point iteration, no projection",
                                            .same_f   = true,
                                            .takes    = race_ode_takes,
                                            .solve    = solve,
                                            .lmm      = CV_ADAMS};
