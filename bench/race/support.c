#include "support.h"

#include "../check.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <time.h>

double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1.0e-9 * (double)now.tv_nsec;
}

void figures_fail(RaceFigures *figures, int flag, const char *format, ...) {
  va_list arguments;
  figures->flag = flag;
  va_start(arguments, format);
  vsnprintf(figures->message, sizeof figures->message, format, arguments);
  va_end(arguments);
}

void figures_of_cvodes(void *cvode_mem, bool newton, RaceFigures *figures) {
  long int f = 0, differences = 0, error_fails = 0, solve_fails = 0;
  CVodeGetNumSteps(cvode_mem, &figures->steps);
  CVodeGetNumRhsEvals(cvode_mem, &f);
  CVodeGetNumErrTestFails(cvode_mem, &error_fails);
  CVodeGetNumStepSolveFails(cvode_mem, &solve_fails);
  if (newton) {
    CVodeGetNumLinRhsEvals(cvode_mem, &differences);
    CVodeGetNumJacEvals(cvode_mem, &figures->jacobians);
    CVodeGetNumLinSolvSetups(cvode_mem, &figures->factorisations);
  }
  figures->rhs      = f + differences;
  figures->rejected = error_fails + solve_fails;
}

bool race_is_smooth(const CPPlugin *model) {
  return model->nroots == 0 && model->nstops == 0 && model->ncontacts == 0;
}

bool race_has_matrices(const CPPlugin *model) {
  const CPEquations *s = &model->mech;
  return s->nu > 0 && s->M && (s->nq == 0 || s->nq == s->nu) && !s->N && s->nz == 0 &&
         s->nv <= s->np && s->na <= s->np && !s->f_lambda && s->nmotions == 0;
}

void race_quiet(int code, const char *function, const char *message, void *data) {
  (void)code, (void)function, (void)message, (void)data;
}

/* ---------------------------------------------------------------------------- the model as ODE -- */

bool race_ode_takes(const CPPlugin *model) {
  const CPEquations *s = &model->mech;
  if (!race_is_smooth(model)) return false;
  return model->f || (s->nu > 0 && (s->nq == 0 || s->nq == s->nu) && !s->N && s->nz == 0);
}

int race_ode_create(const CPPlugin *model, RaceOde *ode) {
  *ode = (RaceOde){.model = model};
  if (model->f) return 0;
  ode->mech = CPPluginMech(model);
  if (!ode->mech) return -1;
  CPObjectSetErrHandlerFn(CP_OBJECT(ode->mech), race_quiet, NULL);
  return 0;
}

void race_ode_free(RaceOde *ode) {
  if (ode->mech) CPMechFree(&ode->mech);
}

int race_ode_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  RaceOde *ode          = user_data;
  const CPPlugin *model = ode->model;
  ode->evaluations++;
  if (model->f) return model->f(t, y, ydot, model->data);
  const sunindextype nu = model->mech.nu;
  const sunrealtype *u  = N_VGetArrayPointer(y) + nu;
  sunrealtype *rate     = N_VGetArrayPointer(ydot);
  memcpy(rate, u, (size_t)nu * sizeof *u);
  return CPMechAccelerations(ode->mech, t, y, rate + nu, NULL) ? 1 : 0;
}

/* ------------------------------------------------------------------- f and c written by hand -- */

CPProjector race_projector(const CPPlugin *model, N_Vector c, SUNMatrix *own) {
  CPProjector P = CHECK_POINTER(CPProjectorCreate(model->c, model->y0, c, model->ctx));
  CHECK(CPProjectorSetUserData(P, model->data));
  if (!model->G) return P;
  SUNMatrix G = model->G_tmpl;
  if (!G) G = *own = CHECK_POINTER(SUNDenseMatrix(model->m, model->n, model->ctx));
  CHECK(CPProjectorSetJacFn(P, model->G, G));
  return P;
}
