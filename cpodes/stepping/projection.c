/* The projector of an integrator. */
#include "integration.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int cpWorksCreate(CPProjector P, CPWork *step, CPWork *out) {
  CPWork new_step = NULL, new_out = NULL;
  if (P && (cpWorkCreate(&new_step, P) || cpWorkCreate(&new_out, P))) {
    cpWorkFree(&new_step);
    return CP_MEM_FAIL;
  }
  cpWorkFree(step);
  cpWorkFree(out);
  *step = new_step;
  *out  = new_out;
  return CP_SUCCESS;
}

/* How far off the manifold y is. */
static int measureStart(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector tmp,
                        CPViolation *start) {
  cpWorkForget(work);
  if (cpProjectorMeasures(cpWorkProjector(work))) {
    const int flag = cpStateViolation(work, t, y, ewt, start);
    return flag ? flag : cpJacobianProbe(work, t, y, ewt);
  }
  *start = (CPViolation){.worst = -1};
  N_VScale(1.0, y, tmp); /* how far would the projection go? */
  const int flag = cpProject(work, t, tmp, ewt, 0, &(CPProjected){0});
  N_VLinearSum(1.0, tmp, -1.0, y, tmp);
  if (!flag) start->norm = N_VWrmsNorm(tmp, ewt);
  return flag;
}

int cpCheckConsistent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector tmp,
                      int started, const char *prefix, char *text) {
  CPViolation off;
  char where[CP_ROW_NAME + 32] = "", name[CP_ROW_NAME];
  const int flag               = measureStart(work, t, y, ewt, tmp, &off);
  if (flag) {
    cpWrite(text, "%s", cpWorkText(work));
    return flag == -CP_REPTD_USERFUNC_ERR ? CP_FIRST_USERFUNC_ERR : flag > 0 ? -flag : flag;
  }
  if (!(off.norm > 1.0)) return CP_SUCCESS;
  if (off.worst >= 0)
    snprintf(where, sizeof where, " (%s: %.3e)", cpRowName(cpWorkProjector(work), off.worst, name),
             off.residual);
  cpWrite(text, "at t = %.15g: the start is %.3g times the tolerance off the manifold%s; %s%s%s", t,
          off.norm, where, started ? "project it and call " : "", prefix,
          started ? "ReInit to go on from there" : "CalcIC makes it consistent");
  return CP_INCONSISTENT_IC;
}

int cpMakeConsistent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, int weights) {
  if (weights && weights != CP_NO_INIT)
    return cpReason(cpWorkText(work), weights,
                    "the tolerances give an error weight that is not positive");
  cpWorkForget(work);
  const int flag = cpAssemble(work, t, y, weights ? NULL : ewt);
  cpWorkForget(work);
  return flag > 0 ? -flag : flag;
}

int cpProjectBetween(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector kept,
                     sunrealtype bound, const char *event, const char *prefix, char *text,
                     int *cause) {
  N_VScale(1.0, y, kept);
  *cause = cpProject(work, t, y, ewt, 0, &(CPProjected){0});
  if (*cause)
    return cpReason(text, CP_OUTPUT_PROJ_FAIL, "output at t = %.15g%s is given unprojected: %s", t,
                    event, cpWorkText(work));
  if (isinf(bound)) return CP_SUCCESS;
  N_Vector delta = cpWorkScratch(work);
  N_VLinearSum(1.0, y, -1.0, kept, delta);
  const sunrealtype correction = N_VWrmsNorm(delta, ewt);
  if (correction <= bound) return CP_SUCCESS;
  N_VScale(1.0, kept, y);
  return cpReason(text, CP_OUTPUT_PROJ_FAIL,
                  "output at t = %.15g%s is given unprojected: the projection would move it by "
                  "%.3g times the tolerance, more than the bound %.3g "
                  "(%sSetProjMaxCorrection); after a change of the constraints %sReInit is "
                  "needed",
                  t, event, correction, bound, prefix, prefix);
}

/* f has been evaluated with the normal error e_n = e - P e, so that h df/dy e_n, which may be
 * tangential, stays in the solution: a part of e_n that is h |df/dy|, of the size 0.1 to 0.3 where
 * accuracy limits the step. The heavy top's error is 23 times as large without this share as in a
 * test that counts all of e_n, and 4 times with it; work at equal error is best for shares up to 0.1
 * (guide, "Defaults"). */
#define NORMAL_SHARE 0.125

int cpProjectEstimate(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector e,
                      N_Vector estimate) {
  cpCopy(estimate, e);
  const int flag = cpProjectError(work, t, y, ewt, estimate);
  if (!flag) N_VLinearSum(1.0 - NORMAL_SHARE, estimate, NORMAL_SHARE, e, estimate);
  return flag;
}

/* Sine of the angle between constraints below which a failure may be that of a singular position:
 * what residuals of eps leave, 0.1, is over the default bound where it is some 1e-4. Steps that fail
 * there have passed the position by then: 1.0e-3 has been seen (test/reference/mechanics_four_bar.c).
 */
#define NEARLY_DEPENDENT 1.0e-2

void cpTellAngle(CPWork work, char *text, size_t length) {
  const double sine = cpWorkSine(work);
  if (sine < NEARLY_DEPENDENT)
    snprintf(text, length,
             "; the constraints are dependent up to an angle of %.1e: a singular position?", sine);
}

void cpExplainCorrection(CPWork work, sunrealtype t, sunrealtype correction, sunrealtype bound,
                         const char *prefix, char *text) {
  char which[CP_ROW_NAME + 128] = "", name[CP_ROW_NAME];
  cpWorkWorstName(work, name);
  if (name[0]) snprintf(which, sizeof which, "; %s was violated most", name);
  const size_t used = strlen(which);
  cpTellAngle(work, which + used, sizeof which - used);
  cpWrite(text,
          "at t = %.15g: the projection moved the state by %.3g times the tolerance, more than the "
          "bound %.3g (%sSetProjMaxCorrection)%s",
          t, correction, bound, prefix, which);
}

/* The projections end at that floor. */
void cpWarnOfFloor(CPWork work, int *told, sunrealtype t, CPLog *log, const char *function) {
  const CPFloor *floor = cpWorkFloor(work);
  const CPProjector P  = cpWorkProjector(work);
  if (*told || !floor->reached) return;
  char name[CP_ROW_NAME];
  *told = 1;
  cpReport(log, CV_WARNING, function,
           "at t = %.15g: %s cannot be satisfied better than to %.3g times its "
           "tolerance, the roundoff of evaluating it (asked for: %.3g); projections end there",
           t, cpRowName(P, floor->worst, name), floor->violation, cpProjectorEps(P));
}

/* Each time: the motion may branch there. */
void cpWarnOfRank(CPWork work, sunrealtype t, CPLog *log, const char *function) {
  const sunindextype rank = cpWorkRankFell(work);
  if (!rank) return;
  cpReport(log, CV_WARNING, function,
           "before t = %.15g: the rank of the constraint Jacobian fell below %ld: at a singular "
           "position "
           "more than one motion may satisfy the constraints",
           t, (long)rank);
}
