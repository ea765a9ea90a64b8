/* Linear problems of one state with a choice of rows. */
#include "actions.h"

#include <stdlib.h>
#include <string.h>

/* ---- life cycle ---- */

static int allocate(CPAction *act) {
  const size_t nu = (size_t)act->mech->nu, m = (size_t)act->mech->m;
  double *next = act->memory = calloc(6 * nu + 7 * m + 1, sizeof *act->memory);
  act->out                   = malloc(2 * m + 1);
  if (!act->memory || !act->out) return CP_MEM_FAIL;
  act->factored            = act->out + m;
  double **of_velocities[] = {&act->w, &act->d, &act->f, &act->known, &act->s_cg, &act->dir};
  double **of_rows[]       = {&act->x, &act->r, &act->mu, &act->b, &act->p, &act->Ad, &act->rcg};
  for (size_t k = 0; k < 6; k++, next += nu) *of_velocities[k] = next;
  for (size_t k = 0; k < 7; k++, next += m) *of_rows[k] = next;
  memset(act->out, 1, 2 * m);
  return CP_SUCCESS;
}

int cpActionOpen(CPAction *act, CPMech mech, sunrealtype t, N_Vector y, const char *function) {
  *act     = (CPAction){0};
  int flag = cpMechCheckState(mech, y, function);
  if (flag) return flag;
  if (mech->operators && !mech->model.Minv)
    return cpReport(&mech->log, CP_NOT_SUPPORTED, function,
                    "the operators lack M^{-1} x (Minv of the model)");
  act->mech   = mech;
  act->off    = mech->off;
  act->rank   = mech->stats.rank;
  act->unique = mech->stats.unique;
  if (allocate(act)) return cpReport(&mech->log, CP_MEM_FAIL, function, "out of memory");
  act->u = N_VGetArrayPointer(y) + mech->nq;
  flag   = cpMechRead(mech, t, N_VGetArrayPointer(y), &act->s);
  return flag ? cpMechReport(mech, flag, function) : CP_SUCCESS;
}

static void showRows(CPAction *act, char *off) { act->mech->off = off; }

void cpActionClose(CPAction *act) {
  if (act->mech) {
    showRows(act, act->off);
    act->mech->stats.rank   = act->rank;
    act->mech->stats.unique = act->unique;
  }
  free(act->memory);
  free(act->out);
}

void cpActionRows(CPAction *act, int velocity_level) {
  const CPMech mech = act->mech;
  for (int i = 0; i < mech->m; i++)
    act->out[i] = (char)(act->off[i] || (velocity_level && !mech->at_velocity[i]));
}

int cpActionFactor(CPAction *act) {
  if (act->mech->operators) return CP_SUCCESS;
  memcpy(act->factored, act->out, (size_t)act->mech->m);
  showRows(act, act->factored);
  return cpMechFactor(act->mech, act->s.t, act->s.q);
}

/* ---- products ---- */

int cpActionTimes(CPAction *act, const double *x, double *y) {
  const CPMech mech = act->mech;
  int flag          = CP_SUCCESS;
  if (mech->operators) flag = cpMechATimes(mech, act->s.t, act->s.q, x, y);
  else cpMatTimes(&mech->A, 1.0, x, 0.0, y);
  for (int i = 0; i < mech->m; i++)
    if (act->out[i]) y[i] = 0.0;
  return flag;
}

int cpActionTransposedTimes(CPAction *act, const double *x, double *y) {
  const CPMech mech = act->mech;
  for (int i = 0; i < mech->m; i++) act->b[i] = act->out[i] ? 0.0 : x[i];
  if (mech->operators) return cpMechATransposedTimes(mech, act->s.t, act->s.q, act->b, y);
  cpMatTransposedTimes(&mech->A, 1.0, act->b, 0.0, y);
  return CP_SUCCESS;
}

int cpActionMass(CPAction *act, const double *x, double *y) {
  const CPMech mech = act->mech;
  if (!mech->operators) {
    cpMatTimes(&mech->userM.A, 1.0, x, 0.0, y);
    return CP_SUCCESS;
  }
  if (!mech->model.Mu)
    return cpReason(mech->text, CP_NOT_SUPPORTED, "the operators lack M x (Mu of the model)");
  return cpMechOperator(mech, mech->model.Mu, "Mu", act->s.t, act->s.q, x, y, mech->nu);
}

int cpActionInverseMass(CPAction *act, const double *x, double *y) {
  const CPMech mech = act->mech;
  return cpMechOperator(mech, mech->model.Minv, "Minv", act->s.t, act->s.q, x, y, mech->nu);
}

/* ---- solution ---- */

/* Velocities of FULL motions are known: their columns go to the right, their rows are the
 * identity's. */
static void moveKnown(CPAction *act, const double *d, double *f, double *b) {
  const CPMech mech = act->mech;
  double *known     = act->known;
  if (mech->nfull == 0) return;
  for (int j = 0; j < mech->nu; j++) known[j] = mech->is_full[j] ? d[j] : 0.0;
  cpMechMoveKnown(mech, known, f, b);
}

static int byFactors(CPAction *act, double *f, double *b, double *d, double *mu) {
  const CPMech mech = act->mech;
  moveKnown(act, d, f, b);
  int flag = cpSaddleSolve(mech->kkt, f, b, d, mu);
  if (flag)
    return cpReason(mech->text, flag, "at t = %.15g: the KKT solver '%s' failed", act->s.t,
                    cpSaddleName(mech->kkt));
  flag = cpMechFinite(mech, act->s.t, "velocity", d, mech->nu);
  return flag ? flag : cpMechFinite(mech, act->s.t, "impulse", mu, mech->m);
}

/* A M^{-1} A^T mu = A M^{-1} f - b, d = M^{-1} f - M^{-1} A^T mu */
static int byProducts(CPAction *act, const double *f, const double *b, double *d, double *mu) {
  double *free_d = act->known, *r = act->rcg;
  int flag = cpActionInverseMass(act, f, free_d);
  if (!flag) flag = cpActionTimes(act, free_d, r);
  for (int i = 0; i < act->mech->m; i++) r[i] -= act->out[i] ? 0.0 : b[i];
  if (!flag) flag = cpActionCG(act, r, d, mu);
  for (int j = 0; !flag && j < act->mech->nu; j++) d[j] = free_d[j] - d[j];
  return flag;
}

static void copyOrZero(double *to, const double *from, int length) {
  if (from) memcpy(to, from, (size_t)length * sizeof *to);
  else memset(to, 0, (size_t)length * sizeof *to);
}

int cpActionSolve(CPAction *act, const double *f, const double *r, double *d, double *mu) {
  copyOrZero(act->f, f, act->mech->nu);
  copyOrZero(act->b, r, act->mech->m);
  return act->mech->operators ? byProducts(act, act->f, act->b, d, mu)
                              : byFactors(act, act->f, act->b, d, mu);
}
