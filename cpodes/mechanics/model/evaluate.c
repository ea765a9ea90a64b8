/* The functions of the model, called, counted and checked. */
#include "cpodes/mechanics/mechanics_impl.h"

#include <math.h>
#include <string.h>

/* "at t = 1: ", or nothing for functions that do not depend on t */
static const char *timeOf(sunrealtype t, char text[40]) {
  if (isnan(t)) text[0] = '\0';
  else snprintf(text, 40, "at t = %.15g: ", t);
  return text;
}

int cpMechResult(CPMech mech, int flag, sunrealtype t, const char *name) {
  char when[40];
  if (flag < 0)
    return cpReason(mech->text, CP_USERFUNC_FAIL, "%sthe function %s failed (%d)", timeOf(t, when),
                    name, flag);
  if (flag > 0)
    return cpReason(mech->text, -CP_REPTD_USERFUNC_ERR, "%sthe function %s failed recoverably (%d)",
                    timeOf(t, when), name, flag);
  return CP_SUCCESS;
}

int cpMechFinite(CPMech mech, sunrealtype t, const char *name, const double *x, int length) {
  char when[40];
  if (cpAllFinite(x, length)) return CP_SUCCESS;
  int bad = 0;
  while (isfinite(x[bad])) bad++;
  return cpReason(mech->text, -CP_MECH_NONFINITE, "%s%s[%d] is %g", timeOf(t, when), name, bad,
                  x[bad]);
}

static int checked(CPMech mech, int flag, sunrealtype t, const char *name, const double *x,
                   int length) {
  const int bad = cpMechResult(mech, flag, t, name);
  return bad ? bad : cpMechFinite(mech, t, name, x, length);
}

/* ---- the state ---- */

int cpMechPutFull(CPMech mech, sunrealtype *q, sunrealtype *u) {
  int changed = 0;
  for (int k = 0; k < mech->nprescribed; k++) {
    const CPPrescribed *g = &mech->prescribed[k];
    if (g->how != CP_MOTION_FULL) continue;
    changed |= q[g->i] != g->value || u[g->j] != g->rate;
    q[g->i] = g->value;
    u[g->j] = g->rate;
  }
  return changed;
}

int cpMechRead(CPMech mech, sunrealtype t, const sunrealtype *y, CPMechState *s) {
  *s             = (CPMechState){.t = t, .q = y, .u = y + mech->nq, .z = y + mech->nq + mech->nu};
  const int flag = mech->nprescribed > 0 ? cpMechMotions(mech, t) : CP_SUCCESS;
  if (flag || mech->nfull == 0) return flag;
  memcpy(mech->q_full, s->q, (size_t)mech->nq * sizeof *mech->q_full);
  memcpy(mech->u_full, s->u, (size_t)mech->nu * sizeof *mech->u_full);
  cpMechPutFull(mech, mech->q_full, mech->u_full);
  s->q = mech->q_full;
  s->u = mech->u_full;
  return CP_SUCCESS;
}

/* ---- matrices ---- */

int cpMechTake(CPMech mech, CPUserMat *U, int flag, sunrealtype t, const char *name) {
  int i = 0, j = 0;
  const int bad = cpMechResult(mech, flag, t, name);
  if (bad) return bad;
  switch (cpUserMatTake(U, &i, &j)) {
  case 0: return CP_SUCCESS;
  case -2:
    return cpReason(mech->text, CP_USERFUNC_FAIL,
                    "at t = %.15g: the function %s changed the index arrays of its template", t,
                    name);
  default:
    return cpReason(mech->text, -CP_MECH_NONFINITE, "at t = %.15g: entry (%d, %d) of %s is %g", t,
                    i, j, name, *cpMatAt(&U->A, i, j));
  }
}

int cpMechMass(CPMech mech, sunrealtype t, const sunrealtype *q) {
  mech->stats.nM++;
  cpUserMatClear(&mech->userM);
  const int flag = mech->model.M(t, q, mech->userM.S, mech->user_data);
  return cpMechTake(mech, &mech->userM, flag, t, "M");
}

/* The rows of motions never change. */
int cpMechA(CPMech mech, sunrealtype t, const sunrealtype *q) {
  if (mech->na == 0) return CP_SUCCESS;
  mech->stats.nA++;
  cpUserMatClear(&mech->userA);
  int flag = mech->model.A(t, q, mech->userA.S, mech->user_data);
  flag     = cpMechTake(mech, &mech->userA, flag, t, "A");
  if (flag) return flag;
  const size_t entries = cpMatEntries(&mech->userA.A);
  for (size_t k = 0; k < entries; k++) mech->A.value[mech->A_place[k]] = mech->userA.A.value[k];
  return CP_SUCCESS;
}

/* ---- vectors ---- */

int cpMechForces(CPMech mech, const CPMechState *s, double *f) {
  memset(f, 0, (size_t)mech->nu * sizeof *f);
  if (!mech->model.f) return CP_SUCCESS;
  mech->stats.nf++;
  const int flag = mech->model.f(s->t, s->q, s->u, s->z, f, mech->user_data);
  return checked(mech, flag, s->t, "f", f, mech->nu);
}

int cpMechAddLambdaForces(CPMech mech, const CPMechState *s, const double *lambda, double *f) {
  if (!mech->model.f_lambda) return CP_SUCCESS;
  double *own = mech->f_lambda;
  memset(own, 0, (size_t)mech->nu * sizeof *own);
  int flag = mech->model.f_lambda(s->t, s->q, s->u, s->z, lambda, own, mech->user_data);
  flag     = checked(mech, flag, s->t, "f_lambda", own, mech->nu);
  for (int j = 0; !flag && j < mech->nu; j++) f[j] += own[j];
  return flag;
}

int cpMechModelPositions(CPMech mech, sunrealtype t, const sunrealtype *q, double *p) {
  memset(p, 0, (size_t)mech->m * sizeof *p);
  if (mech->np == 0) return CP_SUCCESS;
  mech->stats.np++;
  const int flag = mech->model.p(t, q, p, mech->user_data);
  return checked(mech, flag, t, "p", p, mech->np);
}

/* One row for each motion: DIRECT p = q_i - g; v = u_j - g'; b = g''. */
int cpMechPositions(CPMech mech, sunrealtype t, const sunrealtype *q, double *p) {
  int flag = cpMechModelPositions(mech, t, q, p);
  if (!flag && mech->nprescribed > 0) flag = cpMechMotions(mech, t);
  for (int k = 0; !flag && k < mech->nprescribed; k++) {
    const CPPrescribed *g = &mech->prescribed[k];
    if (g->how == CP_MOTION_DIRECT) p[g->row] = q[g->i] - g->value;
  }
  return flag;
}

int cpMechAuxiliary(CPMech mech, const CPMechState *s, const double *lambda, double *zdot) {
  if (mech->nz == 0) return CP_SUCCESS;
  memset(zdot, 0, (size_t)mech->nz * sizeof *zdot);
  const int flag = mech->model.zdot(s->t, s->q, s->u, s->z, lambda, zdot, mech->user_data);
  return checked(mech, flag, s->t, "zdot", zdot, mech->nz);
}

/* ---- products ---- */

int cpMechOperator(CPMech mech, CPMechTimesFn function, const char *name, sunrealtype t,
                   const sunrealtype *q, const double *x, double *y, int length) {
  memset(y, 0, (size_t)length * sizeof *y);
  const int flag = function(t, q, x, y, mech->user_data);
  return checked(mech, flag, t, name, y, length);
}

int cpMechATimes(CPMech mech, sunrealtype t, const sunrealtype *q, const double *x, double *y) {
  if (!mech->operators) {
    const int flag = cpMechA(mech, t, q);
    if (!flag) cpMatTimes(&mech->A, 1.0, x, 0.0, y);
    return flag;
  }
  if (mech->m == 0) return CP_SUCCESS;
  mech->stats.nA++;
  return cpMechOperator(mech, mech->model.Au, "Au", t, q, x, y, mech->m);
}

int cpMechATransposedTimes(CPMech mech, sunrealtype t, const sunrealtype *q, const double *x,
                           double *y) {
  if (!mech->operators) {
    const int flag = cpMechA(mech, t, q);
    if (!flag) cpMatTransposedTimes(&mech->A, 1.0, x, 0.0, y);
    return flag;
  }
  if (mech->m == 0) {
    memset(y, 0, (size_t)mech->nu * sizeof *y);
    return CP_SUCCESS;
  }
  mech->stats.nA++;
  return cpMechOperator(mech, mech->model.ATl, "ATl", t, q, x, y, mech->nu);
}
