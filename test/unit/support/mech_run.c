#include "support/mech_run.h"

#include <math.h>
#include <stdlib.h>

CPMech create_mech(const CPEquations *equations, N_Vector y, SUNContext ctx) {
  CPModel model = CPModelCreate(equations);
  CPMech mech   = model ? CPMechCreate(model, y, ctx) : NULL;
  CPModelFree(&model);
  return mech;
}

CPEquations linear_equations(sunindextype n, SUNMatrix M, SUNMatrix C, SUNMatrix K) {
  return (CPEquations){CP_SIZED(CPEquations), .nu = n, .M_tmpl = M, .damping = C, .stiffness = K};
}

MechRun *mech_run_create(const CPEquations *model, void *user_data, const sunrealtype *y0) {
  const sunindextype nq = model->nq > 0 ? model->nq : model->nu;
  MechRun *run          = calloc(1, sizeof *run);
  ck_assert_ptr_nonnull(run);
  run->y    = vector_of(nq + model->nu + model->nz, y0);
  run->mech = create_mech(model, run->y, test_context);
  ck_assert_ptr_nonnull(run->mech);
  ck_assert_int_eq(CPMechSetUserData(run->mech, user_data), CP_SUCCESS);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(run->mech), message_log, &run->log),
                   CP_SUCCESS);
  return run;
}

void mech_run_free(MechRun **run) {
  CPIntegratorFree(&(*run)->cpode);
  CPMechFree(&(*run)->mech);
  N_VDestroy((*run)->y);
  free(*run);
  *run = NULL;
}

void mech_run_start(MechRun *run, int lmm, sunrealtype tol) {
  run->tol   = tol;
  run->cpode = CPIntegratorCreate(lmm == CV_BDF ? "BDF" : "ADAMS", test_context);
  ck_assert_ptr_nonnull(run->cpode);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(run->cpode), message_log, &run->log),
                   CP_SUCCESS);
  ck_assert_msg(CPMechAttach(run->mech, run->cpode, 0, run->y) == CP_SUCCESS, "%s", run->log.text);
  ck_assert_int_eq(CPIntegratorSStolerances(run->cpode, tol, tol), CP_SUCCESS);
  ck_assert_int_eq(CVodeSetMaxNumSteps(CPIntegratorGetCVodeMem(run->cpode), 1000000), CV_SUCCESS);
}

void mech_run_to(MechRun *run, sunrealtype t) {
  const int flag = CPIntegratorEvolve(run->cpode, t, run->y, &run->t, CV_NORMAL);
  ck_assert_msg(flag == CP_SUCCESS, "%d at t = %g: %s", flag, run->t, run->log.text);
}

long int mech_run_steps(const MechRun *run) {
  long int steps = 0;
  ck_assert_int_eq(CVodeGetNumSteps(CPIntegratorGetCVodeMem(run->cpode), &steps), CV_SUCCESS);
  return steps;
}

sunrealtype mech_run_error(const MechRun *run, int n, const sunrealtype *exact) {
  sunrealtype error = 0;
  for (int i = 0; i < n; i++) error = fmax(error, fabs(entries(run->y)[i] - exact[i]));
  return error;
}

sunrealtype mech_run_bound(const MechRun *run, sunrealtype size, sunrealtype growth) {
  return (sunrealtype)mech_run_steps(run) * run->tol * (1 + size) * growth;
}
