/* Sensitivities of one-step methods, which carry them beside the state (CPBeside): their equations, their projection by (S1),
 * and their start. */
#include "sens_impl.h"

#include <stdlib.h>

/* ewt <- the error weights of sensitivity i at s: its tolerances are those of y, at pbar_i s, divided by pbar_i. data: CPSens. Returns
 * 0, or a code with the reason in the integrator's text. */
static int weightsOf(int i, N_Vector s, N_Vector ewt, void *data) {
  const CPSens sens      = data;
  const sunrealtype pbar = sens->params.pbar[i];
  const CPIntegrator mem = sens->mem;
  N_VScale(pbar, s, sens->moved);
  const int flag = cpStepperWeights(mem, sens->moved, ewt);
  N_VScale(pbar, ewt, ewt);
  return flag ? cpReason(
                    mem->text, flag,
                    "at t = %.10g: an error weight of sensitivity %d is not positive and finite",
                    mem->t, i)
              : CP_SUCCESS;
}

static int failed(CPSens sens, sunrealtype t, int i, int flag) {
  const char *reason = NULL;
  char *text         = sens->mem->text;
  const int code     = cpStepperCause(sens->mem, &reason);
  if (code) return cpReason(text, flag > 0 ? -code : code, "%s", reason);
  return cpReason(text, flag > 0 ? -CV_REPTD_SRHSFUNC_ERR : CV_SRHSFUNC_FAIL,
                  "at t = %.10g: the right-hand side of sensitivity %d failed %s (%d)", t, i,
                  flag > 0 ? "recoverably" : "for good", flag);
}

static int rhs(sunrealtype t, N_Vector y, N_Vector ydot, int i, N_Vector s, N_Vector sdot,
               void *data) {
  const CPSens sens         = data;
  const CPIntegrator mem    = sens->mem;
  const CPSensSystem *model = mem->system.sens;
  const CVSensRhs1Fn fS1    = sens->fS1 ? sens->fS1 : model ? model->rhs : NULL;
  void *user                = mem->ops->data(mem);
  const int flag =
      fS1 ? fS1(sens->params.Ns, t, y, ydot, i, s, sdot, user, sens->s, sens->moved)
          : cpSensDirection(&mem->system, &sens->params, mem->f, t, y, (CPAlong){.iS = i}, s, sdot,
                            sens->s, sens->moved, NULL, user);
  if (flag) return failed(sens, t, i, flag);
  if (cpVectorFinite(sdot)) return CP_SUCCESS;
  return cpReason(mem->text, -CP_RHS_NONFINITE,
                  "at t = %.10g: the right-hand side of sensitivity %d is NaN or Inf", t, i);
}

static int project(sunrealtype t, N_Vector y, int fresh, int i, N_Vector s, void *data) {
  const CPSens sens      = data;
  const CPIntegrator mem = sens->mem;
  if (!mem->P) return CP_SUCCESS;
  if (cpSensUpdate(sens)) return cpReason(mem->text, CP_MEM_FAIL, "no memory for sensitivities");
  if (fresh) cpWorkForget(sens->work);
  N_VScale(1.0, mem->ewt, sens->ewt);
  cpWorkLend(sens->work, cpStepperLent(mem));
  const int flag = cpSensProject(sens, t, y, sens->ewt, i, s);
  sens->stats.nproj++;
  if (!flag) return CP_SUCCESS;
  sens->stats.nprojfails++;
  return cpReason(mem->text, flag, "at t = %.10g: sensitivity %d could not be projected: %s", t, i,
                  cpWorkText(sens->work));
}

int cpSensVerify(CPSens sens) {
  const CPIntegrator mem = sens->mem;
  int flag = CP_SUCCESS, iS = -1;
  for (int i = 0; i < sens->params.Ns && !flag; i++)
    flag = weightsOf(i, sens->start[i], sens->delta[i], sens);
  if (!flag && cpSensUpdate(sens)) flag = cpReason(mem->text, CP_MEM_FAIL, "no memory");
  if (flag || !sens->work) return flag;
  N_VScale(1.0, mem->ewt, sens->ewt);
  flag = cpSensCheckStart(sens, sens->delta, &iS);
  return flag && iS >= 0
             ? cpReason(mem->text, flag, "at t = %.10g: sensitivity %d could not be projected: %s",
                        mem->t, iS, cpWorkText(sens->work))
             : flag;
}

static int start(void *data, N_Vector *s) {
  const CPSens sens = data;
  if (!sens->has_start) return cpReason(sens->mem->text, CP_NO_INIT, CP_SENS_NO_START);
  for (int i = 0; i < sens->params.Ns; i++) N_VScale(1.0, sens->start[i], s[i]);
  return sens->start_checked ? CP_SUCCESS : cpSensVerify(sens);
}

int cpSensCarry(CPSens sens) {
  const CPIntegrator mem = sens->mem;
  const CPBeside beside  = {.data      = sens,
                            .count     = sens->params.Ns,
                            .errcon    = &sens->errcon,
                            .start     = start,
                            .rhs       = rhs,
                            .project   = project,
                            .weights   = weightsOf,
                            .restart   = cpSensRestart,
                            .projector = cpSensNewProjector,
                            .stats     = cpSensStats};
  return mem->ops->carry(mem, &beside);
}
