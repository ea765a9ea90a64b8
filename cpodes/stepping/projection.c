/* The projection of an integrator's states: consistent starts, ends of steps, and outputs between
 * them. */
#include "stepper.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- starts ---- */

/* tmp = the displacement by which a projection would move y. */
static int wayToManifold(CPIntegrator s, sunrealtype t, N_Vector y, N_Vector ewt) {
  N_VScale(1.0, y, s->tmp);
  const int flag = cpProject(s->step, t, s->tmp, ewt, NULL, 0, &(CPProjected){0});
  N_VLinearSum(1.0, s->tmp, -1.0, y, s->tmp);
  return flag;
}

/* Is the start as near to the manifold as roundoff allows? Tolerances may ask for more than that.
 * The start passes if a projection would move each component by at most its tolerance plus
 * CP_FLOOR_FACTOR units of roundoff of the largest of those that it moves: on others, such as a work of
 * millions of J, no constraint depends. */
static int isNearest(CPIntegrator s, sunrealtype t, N_Vector y, N_Vector ewt) {
  const int flag = wayToManifold(s, t, y, ewt);
  cpWorkForget(s->step);
  if (flag) return 0;
  N_VAbs(s->tmp, s->delta);
  N_VAddConst(s->delta, DBL_MIN, s->err);
  N_VDiv(s->delta, s->err, s->delta); /* 1 where it moves, 0 elsewhere */
  N_VProd(s->delta, y, s->delta);
  N_VInv(ewt, s->err);
  N_VAddConst(s->err, CP_FLOOR_FACTOR * CP_UROUND * N_VMaxNorm(s->delta), s->err);
  N_VDiv(s->tmp, s->err, s->tmp);
  return N_VMaxNorm(s->tmp) <= 1.0;
}

int cpStepperCheckConsistent(CPIntegrator s, sunrealtype t, N_Vector y, N_Vector ewt, int stepped) {
  CPViolation off = {.worst = -1}; /* distance of y from the manifold */
  int flag;
  char where[CP_ROW_NAME + 32] = "", name[CP_ROW_NAME];
  if (!s->P || s->start_checked) return CP_SUCCESS;
  cpWorkForget(s->step);
  if (cpProjectorMeasures(s->P)) {
    flag = cpStateViolation(s->step, t, y, ewt, &off);
    if (!flag) flag = cpJacobianProbe(s->step, t, y, ewt);
  } else {
    flag = wayToManifold(s, t, y, ewt);
    if (!flag) off.norm = N_VWrmsNorm(s->tmp, ewt);
  }
  if (flag) {
    const int first = flag == -CP_REPTD_USERFUNC_ERR;
    return cpReason(s->text, first ? CP_FIRST_USERFUNC_ERR : -abs(flag), "%s", cpWorkText(s->step));
  }
  s->start_checked = !(off.norm > 1.0) || isNearest(s, t, y, ewt);
  if (s->start_checked && s->system.begin) s->system.begin(t, s->system.data);
  if (s->start_checked) return CP_SUCCESS;
  if (off.worst >= 0)
    snprintf(where, sizeof where, " (%s: %.3e)", cpRowName(s->P, off.worst, name), off.residual);
  return cpReason(s->text, CP_INCONSISTENT_IC,
                  "at t = %.10g: the start is %.3g times the tolerance off the manifold%s; %s", t,
                  off.norm, where,
                  stepped ? "project it and call CPIntegratorReInit to go on from there"
                          : "CPIntegratorCalcIC makes it consistent");
}

int cpStepperMakeConsistent(CPIntegrator s, long int nst, const char *function) {
  if (!s->P)
    return cpReport(&s->log, CP_NO_PROJECTOR, function, "call CPIntegratorSetProjector first");
  if (nst > 0)
    return cpReport(&s->log, CP_TOO_LATE, function,
                    "%ld steps have been taken: call CPIntegratorReInit first", nst);
  cpStepperEnter(s);
  const int weights = cpStepperLeave(s, cpStepperWeights(s, s->y0, s->ewt));
  if (weights && weights != CP_NO_INIT)
    return cpReport(&s->log, weights, function,
                    "the tolerances give an error weight that is not positive");
  N_VScale(1.0, s->y0, s->tmp);
  cpWorkForget(s->out);
  cpStepperEnter(s);
  const int flag = cpStepperLeave(s, cpAssemble(s->out, s->t0, s->tmp, weights ? NULL : s->ewt));
  cpWorkForget(s->out);
  return flag ? cpReport(&s->log, -abs(flag), function, "%s", cpWorkText(s->out)) : CP_SUCCESS;
}

/* ---- the end of an attempt ---- */

static int failed(CPIntegrator s, int flag) {
  s->stats.nprojfails++;
  return cpReason(s->text, flag, "%s", cpWorkText(s->step));
}

/* If the angle between constraints is narrow, messages name a singular position as a possible cause of a
 * failure. */
void cpStepperTellAngle(CPIntegrator s, char *text, size_t length) {
  const double sine = cpWorkSine(s->step);
  if (sine < CP_NARROW_ANGLE)
    snprintf(text, length,
             "; the constraints are dependent up to an angle of %.1e: a singular position?", sine);
}

int cpStepperProject(CPIntegrator s, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector e,
                     sunrealtype bound, CPProjected *projected) {
  cpCopy(s->delta, y);
  const int flag = cpProject(s->step, t, y, ewt, e, s->test_cnstr, projected);
  if (flag) return failed(s, flag);
  s->stats.violation = projected->violation;
  if (!projected->moved) return CP_SUCCESS;
  cpLinearSum(1.0, y, -1.0, s->delta, s->delta);
  const sunrealtype correction = cpWrmsNorm(s->delta, ewt);
  if (correction <= bound) {
    s->stats.nproj++;
    s->stats.correction = correction;
    if (correction > s->stats.maxcorrection) s->stats.maxcorrection = correction;
    return CP_SUCCESS;
  }
  char which[CP_ROW_NAME + 128] = "", name[CP_ROW_NAME];
  s->stats.nprojfails++;
  s->stats.nlargecorr++;
  cpWorkWorstName(s->step, name);
  if (name[0]) snprintf(which, sizeof which, "; %s was violated most", name);
  const size_t used = strlen(which);
  cpStepperTellAngle(s, which + used, sizeof which - used);
  return cpReason(
      s->text, -CP_PROJ_CORRECTION,
      "at t = %.10g: the projection moved the state by %.3g times the tolerance, more than the "
      "bound %.3g (CPIntegratorSetMaxCorrection)%s",
      t, correction, s->max_correction, which);
}

int cpStepperProjectError(CPIntegrator s, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector e) {
  const int flag = cpProjectError(s->step, t, y, ewt, e);
  if (flag) return failed(s, flag);
  s->stats.nerrproj++;
  return CP_SUCCESS;
}

/* ---- between two steps ---- */

int cpStepperProjectOutput(CPIntegrator s, sunrealtype t, N_Vector y, sunrealtype bound,
                           long int nst, const char *event) {
  if (nst != s->nst_out) cpWorkForget(s->out); /* outputs within a step share factors */
  s->nst_out = nst;
  N_VScale(1.0, y, s->tmp);
  s->output_cause = cpProject(s->out, t, y, s->ewt, NULL, 0, &(CPProjected){0});
  if (s->output_cause)
    return cpReason(s->text, CP_OUTPUT_PROJ_FAIL, "output at t = %.10g%s is given unprojected: %s",
                    t, event, cpWorkText(s->out));
  if (!isinf(bound)) {
    const N_Vector delta = cpWorkScratch(s->out);
    if (!delta) {
      N_VScale(1.0, s->tmp, y);
      s->output_cause = CP_MEM_FAIL;
      return cpReason(s->text, CP_OUTPUT_PROJ_FAIL,
                      "output at t = %.10g%s is given unprojected: no memory for its correction", t,
                      event);
    }
    N_VLinearSum(1.0, y, -1.0, s->tmp, delta);
    const sunrealtype correction = N_VWrmsNorm(delta, s->ewt);
    if (!(correction <= bound)) {
      N_VScale(1.0, s->tmp, y);
      return cpReason(
          s->text, CP_OUTPUT_PROJ_FAIL,
          "output at t = %.10g%s is given unprojected: the projection would move it by %.3g times "
          "the tolerance, more than the bound %.3g (CPIntegratorSetMaxCorrection); after a change "
          "of the "
          "constraints CPIntegratorReInit is needed",
          t, event, correction, bound);
    }
  }
  s->stats.noutputs++;
  return CP_SUCCESS;
}

/* ---- warnings ---- */

void cpStepperRelaxed(CPIntegrator s, sunrealtype factor) {
  if (s->relaxed_warned || !(factor > s->relaxed)) return;
  s->relaxed      = factor;
  s->relaxed_t    = s->t;
  s->relaxed_sine = cpWorkSine(s->step);
}

void cpStepperWarn(CPIntegrator s, const char *function) {
  char name[CP_ROW_NAME];
  if (!s->step) return;
  const CPFloor *floor = cpWorkFloor(s->step);
  if (floor->reached && !s->floor_warned) {
    s->floor_warned = 1;
    cpReport(&s->log, CV_WARNING, function,
             "at t = %.10g: %s cannot be satisfied better than to %.3g times its tolerance, the "
             "roundoff of evaluating it (asked for: %.3g); projections end there",
             s->t, cpRowName(s->P, floor->worst, name), floor->violation, cpProjectorEps(s->P));
  }
  if (s->relaxed > 1.0 && !s->relaxed_warned) {
    s->relaxed_warned = 1;
    cpReport(
        &s->log, CV_WARNING, function,
        "at t = %.10g: next to a singular position (the constraints are dependent up to an angle "
        "of "
        "%.1e) their roundoff exceeds the tolerances, which are multiplied there, by up to %.3g",
        s->relaxed_t, s->relaxed_sine, s->relaxed);
  }
  const sunindextype rank = cpWorkRankFell(s->step);
  if (rank) /* at each fall, since the motion may branch there */
    cpReport(&s->log, CV_WARNING, function,
             "before t = %.15g: the rank of the constraint Jacobian fell below %ld: at a singular "
             "position more than one motion may satisfy the constraints",
             s->t, (long)rank);
}
