/* Results of one-step methods: the solution within the last step, error estimates, statistics. */
#include "onestep_impl.h"

#include <math.h>

sunrealtype cpOneStepTimeRoundoff(CPOneStep mem) {
  const sunrealtype h = mem->have_step ? mem->hlast : 0.0; /* hlast may belong to an earlier run */
  return CP_FUZZ * (fabs(mem->base.t) + fabs(h));
}

int cpOneStepSolution(CPOneStep mem, sunrealtype t, N_Vector y, const char *event) {
  const CPIntegrator s = &mem->base;
  const int at_end     = !mem->have_step || (t - s->t) * mem->dir >= 0.0;
  if (at_end || (t - mem->tlast) * mem->dir <= 0.0) { /* Both states are already projected. */
    N_VScale(1.0, at_end ? s->y : mem->ylast, y);
    return CP_SUCCESS;
  }
  const int flag = mem->method->interpolate(mem, t, 0, y);
  if (flag || !s->P || !s->project_output) return flag;
  return cpStepperProjectOutput(s, t, y, cpOneStepMaxCorrection(mem), mem->stats.nst, event);
}

int cpOneStepDky(CPIntegrator s, sunrealtype t, int k, N_Vector dky, const char *function) {
  const CPOneStep mem = (CPOneStep)s;
  if (!mem->have_step)
    return cpReport(&s->log, CP_NO_INIT, function, "the newest attempt is not an accepted step");
  if (k < 0 || k > mem->method->degree(mem))
    return cpReport(&s->log, CV_BAD_K, function, "k must be 0 ... %d: k = %d",
                    mem->method->degree(mem), k);
  const sunrealtype fuzz = cpOneStepTimeRoundoff(mem); /* Times just outside move to the ends. */
  if (fabs(t - s->t) <= fuzz) t = s->t;
  if (fabs(t - mem->tlast) <= fuzz) t = mem->tlast;
  if (!((t - mem->tlast) * mem->dir >= 0.0 && (s->t - t) * mem->dir >= 0.0))
    return cpReport(&s->log, CV_BAD_T, function,
                    "t must lie in the last step, %.15g to %.15g: t = %.15g", mem->tlast, s->t, t);
  cpStepperEnter(s);
  const int flag = cpStepperLeave(s, k ? mem->method->interpolate(mem, t, k, dky)
                                       : cpOneStepSolution(mem, t, dky, ""));
  return flag ? cpReport(&s->log, flag, function, "%s", s->text) : CP_SUCCESS;
}

int cpOneStepErrors(CPIntegrator s, N_Vector ele, const char *function) {
  const CPOneStep mem = (CPOneStep)s;
  if (!mem->have_step || !mem->have_err)
    return cpReport(&s->log, CP_NO_INIT, function,
                    "the newest attempt is not an accepted step with an error test");
  N_VScale(1.0, s->err, ele);
  return CP_SUCCESS;
}

/* ---- statistics ---- */

void cpOneStepStats(CPIntegrator s, CPIntegratorStats *stats) {
  const CPOneStep mem             = (CPOneStep)s;
  const CPIntegratorStats project = *stats; /* the projection's counters */
  *stats                          = mem->stats;
  stats->nproj                    = project.nproj;
  stats->nerrproj                 = project.nerrproj;
  stats->nprojfails               = project.nprojfails;
  stats->nlargecorr               = project.nlargecorr;
  stats->noutputs                 = project.noutputs;
  stats->nce                      = project.nce;
  stats->nje                      = project.nje;
  stats->nsetups                  = project.nsetups;
  stats->niters                   = project.niters;
  stats->violation                = project.violation;
  stats->correction               = project.correction;
  stats->maxcorrection            = project.maxcorrection;
  stats->hnext                    = mem->hfixed > 0.0 ? mem->dir * mem->hfixed : mem->h;
  stats->t                        = s->t;
  if (mem->beside.of.data) mem->beside.of.stats(mem->beside.of.data, &stats->sens);
  if (mem->method->stats) mem->method->stats(mem, stats);
}
