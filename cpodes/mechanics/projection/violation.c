/* How far a state is off: positions, velocities, norms, prescribed values. */
#include "projection.h"

#include <math.h>
#include <string.h>

int cpMechMotionRow(const CPMech mech, int k) {
  return mech->space->level[0].nrows + mech->space->level[1].nrows + k;
}

double cpMechMotionsViolation(const CPMech mech, const double *y, const double *ewt, int *worst,
                              double *residual) {
  double largest = 0.0;
  for (int k = 0; k < mech->nprescribed; k++) {
    const CPPrescribed *g = &mech->prescribed[k];
    const int place[2]    = {g->i, mech->nq + g->j};
    const double value[2] = {g->value, g->rate};
    for (int d = 0; g->how == CP_MOTION_FULL && d < 2; d++) {
      const double off = y[place[d]] - value[d];
      const double w   = ewt ? ewt[place[d]] : 1.0 / (CP_BLIND_TOLERANCE * (1.0 + fabs(value[d])));
      if (!(fabs(off) * w > largest)) continue;
      largest   = fabs(off) * w;
      *worst    = cpMechMotionRow(mech, k);
      *residual = off;
    }
  }
  return largest;
}

static int violationOfLevel(CPWork inner, sunrealtype t, N_Vector x, N_Vector ewt, void *arg) {
  cpMechLevelMeasure(inner, x, ewt);
  return cpStateViolation(inner, t, x, ewt, arg);
}

int cpMechNormRow(const CPMech mech, int k) { return cpMechMotionRow(mech, mech->nprescribed) + k; }

/* Distance of the norms from their values, in units of the state's tolerance; of the worst its row, and what
 * it is off. */
static double normsViolation(CPMech mech, const double *q, const double *ewt, int *worst,
                             double *residual) {
  double largest = 0.0;
  for (int k = 0; k < cpMechNumNorms(mech); k++) {
    const CPUnitNorm n = cpMechNorm(mech, k);
    double square = 0.0, unit = 0.0;
    for (int i = n.first; i < n.first + n.length; i++) {
      const double w = ewt ? ewt[i] : 1.0 / (CP_BLIND_TOLERANCE * (1.0 + fabs(q[i])));
      square += q[i] * q[i];
      unit += q[i] * q[i] / (w * w);
    }
    const double norm = sqrt(square), off = norm - n.value;
    if (!(unit > 0.0) || !(fabs(off) * norm > largest * sqrt(unit))) continue;
    largest   = fabs(off) * norm / sqrt(unit);
    *worst    = cpMechNormRow(mech, k);
    *residual = off;
  }
  return largest;
}

int cpMechViolation(void *self, sunrealtype t, N_Vector yv, N_Vector ewt, CPViolation *violation) {
  const CPWork work = self;
  const CPMech mech = work->P->model;
  int flag          = cpMechProjectionUpdate(work);
  if (flag) return flag;
  const sunrealtype *y = N_VGetArrayPointer(yv), *w = ewt ? N_VGetArrayPointer(ewt) : NULL;
  double *x       = N_VGetArrayPointer(cpMechOwn(work)->x);
  int motion      = -1;
  double residual = 0.0;
  if (mech->nfull > 0) flag = cpMechMotions(mech, t);
  if (flag) return cpReason(work->text, flag, "%s", mech->text);
  violation->norm = normsViolation(mech, y, w, &violation->worst, &violation->residual);
  const double of = cpMechMotionsViolation(mech, y, w, &motion, &residual);
  if (of > violation->norm) *violation = (CPViolation){of, motion, residual};
  for (int which = 0; !flag && which < 2; which++) {
    if (!cpMechLevelIsOn(work, which)) continue;
    CPViolation v;
    if (which == CP_POSITIONS) cpMechSpaceStart(mech, y, x);
    else memcpy(x, y + mech->nq, (size_t)mech->nu * sizeof *x);
    flag = cpMechLevelCall(work, which, t, y, violationOfLevel, ewt, &v);
    if (flag || !(v.norm > violation->norm)) continue;
    *violation = v;
    if (which == CP_VELOCITIES) violation->worst += mech->space->level[0].nrows;
  }
  return flag;
}

static int probeLevel(CPWork inner, sunrealtype t, N_Vector x, N_Vector ewt, void *arg) {
  (void)arg;
  return cpJacobianProbe(inner, t, x, ewt);
}

int cpMechProbe(void *self, sunrealtype t, N_Vector yv, N_Vector ewt) {
  const CPWork work    = self;
  const CPMech mech    = work->P->model;
  const sunrealtype *y = N_VGetArrayPointer(yv);
  double *x            = N_VGetArrayPointer(cpMechOwn(work)->x);
  int flag             = CP_SUCCESS;
  for (int which = 0; !flag && which < 2; which++) {
    if (!cpMechLevelIsOn(work, which)) continue;
    if (which == CP_POSITIONS) cpMechSpaceStart(mech, y, x);
    else memcpy(x, y + mech->nq, (size_t)mech->nu * sizeof *x);
    cpMechOwn(work)->level[which]->newton.valid = 0; /* the probe wants factors of this state */
    flag = cpMechLevelCall(work, which, t, y, violationOfLevel, ewt, &(CPViolation){0});
    if (!flag) flag = cpMechLevelCall(work, which, t, y, probeLevel, ewt, NULL);
  }
  return flag;
}
