/* Impacts: velocities jump at fixed positions, M (u+ - u-) + A^T Lambda = 0, in two stages.
 *
 * 1. The active rows O that do not strike, and the FULL motions F, take the velocities that they
 *    require: v_O(u1) = 0, u1_F = g'. Nothing changes if u- has these velocities.
 * 2. The named rows N strike:  v_N(u+) = -e v_N(u1),  v_O(u+) = 0.
 *
 * Kinetic energy T with scleronomic constraints, v = A u: stage 1 is a projection, orthogonal with
 * respect to M, so that T(u1) = T(u-) - T(u1 - u-). In stage 2,
 * A (u1 - u+) = S Lambda = (1 + e) v1 and A (u1 + u+) = (1 - e) v1 with v1 = A u1, whose entries O
 * are zero, so that
 *
 *   T(u+) - T(u1) = -1/2 (u1 + u+)^T A^T Lambda = -(1 - e^2)/2  v1^T S^+ v1  <=  0.
 *
 * In a single stage with e > 0, v_O(u-) != 0 could make T grow (Stronge, Rigid body collisions with
 * friction, Proc. R. Soc. Lond. A 431, 1990). */
#include "actions.h"
#include "cpodes/base/random.h"
#include "cpodes/mechanics/functions.h"
#include "cpodes/mechanics/motions.h"

#include <math.h>
#include <string.h>

typedef struct {
  CPAction act;
  char *strikes, *off;     /* [m] 1: named; off before, and not named */
  double *u, *v, *impulse; /* [nu] newest velocities, [m] v(u), [m] sum over both stages */
} Impact;

/* hit->v <- v(u). The model need not evaluate rows that are off. */
static int velocities(Impact *hit, const double *u) {
  hit->act.mech->rows.off = hit->off;
  return cpMechVelocities(hit->act.mech, hit->act.s.t, hit->act.s.q, u, hit->v);
}

/* *work <- -Lambda . g', the work of rows that move, A u = v + g' */
static int workOfRows(Impact *hit, sunrealtype *work) {
  const CPAction *act = &hit->act;
  memset(act->d, 0, (size_t)act->mech->nu * sizeof *act->d);
  const int flag = velocities(hit, act->d); /* v(0) = -g' */
  *work          = cpDot(hit->impulse, hit->v, act->mech->m);
  return flag;
}

/* Checks that v(u), which was `before`, has changed by act.r. The size of the terms that A u
 * consists of is estimated with random weights, so that these terms do not cancel; x and w of the
 * action are workspace. */
static int checkReached(Impact *hit, const double *before) {
  CPAction *act     = &hit->act;
  const CPMech mech = act->mech;
  unsigned state    = 1u;
  double size       = 0.0;
  int flag          = CP_SUCCESS;
  for (int trial = 0; !flag && trial < 3; trial++) {
    for (int j = 0; j < mech->nu; j++) act->w[j] = hit->u[j] * cpUniformAwayFromZero(&state);
    flag = cpActionTimes(act, act->w, act->x);
    for (int i = 0; !flag && i < mech->m; i++)
      if (!act->out[i]) size = fmax(size, fmax(fabs(act->x[i]), fabs(act->r[i])));
  }
  for (int i = 0; !flag && i < mech->m; i++) {
    const double miss = hit->v[i] - before[i] - hit->act.r[i];
    char name[CP_MECH_ROW_NAME];
    if (hit->act.out[i] || fabs(miss) <= CP_CONTRADICTION * size) continue;
    if (mech->kkt && mech->kkt->dependent < 0)
      return cpReason(
          mech->text, CP_MECH_A_WRONG,
          "at t = %.10g: A is not the derivative of v: %s has the velocity %g after the "
          "impact, and not %g (CPMechCheck)",
          hit->act.s.t, cpMechRowName(mech, i, name), hit->v[i], hit->v[i] - miss);
    return cpReason(mech->text, CP_KKT_INCONSISTENT,
                    "at t = %.10g: the velocity that %s has to have after the impact, %g, "
                    "contradicts those of the rows that it depends on",
                    hit->act.s.t, cpMechRowName(mech, i, name), hit->v[i] - miss);
  }
  return flag;
}

/* One stage: v(u) becomes zero, or -e v(u) in rows that strike; in the first stage, velocities of
 * FULL motions become g'. The rows that take part are those active at the velocity level, the named
 * ones only in the second stage. */
static int stage(Impact *hit, int strike, double e) {
  CPAction *act     = &hit->act;
  const CPMech mech = act->mech;
  int changes       = 0;
  cpActionRows(act, 1);
  for (int i = 0; i < mech->m; i++) {
    if (hit->strikes[i]) act->out[i] = (char)!strike;
    act->r[i] = act->out[i] ? 0.0 : -(hit->strikes[i] ? 1.0 + e : 1.0) * hit->v[i];
    changes |= !act->out[i];
  }
  for (int j = 0; j < mech->nu; j++) {
    act->d[j] = mech->motions->is_full[j] && !strike ? act->s.u[j] - hit->u[j] : 0.0;
    changes |= act->d[j] != 0.0;
  }
  if (!changes) return CP_SUCCESS;
  int flag = cpActionFactor(act);
  if (!flag) flag = cpActionSolve(act, NULL, act->r, act->d, act->mu);
  if (flag) return flag;
  for (int j = 0; j < mech->nu; j++) hit->u[j] += act->d[j];
  for (int i = 0; i < mech->m; i++) hit->impulse[i] += act->mu[i];
  memcpy(act->mu, hit->v, (size_t)mech->m * sizeof *hit->v); /* v(u) before the stage */
  flag = velocities(hit, hit->u);
  return flag ? flag : checkReached(hit, act->mu);
}

int CPMechImpact(CPMech mech, sunrealtype t, N_Vector y, const int *named, sunrealtype e,
                 sunrealtype *impulse) {
  Impact hit       = {.u = NULL};
  sunrealtype work = 0.0;
  if (!mech) return cpReport(NULL, CP_MEM_NULL, __func__, "mech must not be NULL");
  if (!(e >= 0.0 && e <= 1.0))
    return cpRefuse(&mech->log, __func__,
                    "the coefficient of restitution must be from 0 to 1: e = %g", e);
  CPAction *act = &hit.act;
  int flag      = cpActionOpen(act, mech, t, y, __func__);
  if (!flag) {
    CP_ARRAYS(&act->arena, mech->nu, &hit.u);
    CP_ARRAYS(&act->arena, mech->m, &hit.v, &hit.impulse);
    CP_NEW(&act->arena, hit.strikes, 2 * mech->m);
    if (!hit.strikes) flag = cpReport(&mech->log, CP_MEM_FAIL, __func__, "out of memory");
  }
  if (!flag) {
    memcpy(hit.u, act->u, (size_t)mech->nu * sizeof *hit.u);
    hit.off = hit.strikes + mech->m;
    for (int i = 0; i < mech->m; i++) {
      const int on   = !act->off[i];
      hit.strikes[i] = (char)(i < mech->nv && (named ? named[i] != 0 : on));
      hit.off[i]     = (char)!(on || hit.strikes[i]);
    }
    flag = velocities(&hit, hit.u);
    if (!flag) flag = stage(&hit, 0, 0.0);
    if (!flag) flag = stage(&hit, 1, e);
    if (!flag && mech->eq->work > 0) flag = workOfRows(&hit, &work);
    flag = cpMechReport(mech, flag, __func__);
  }
  if (!flag) {
    sunrealtype *u = N_VGetArrayPointer(y) + mech->nq;
    memcpy(u, hit.u, (size_t)mech->nu * sizeof *hit.u);
    if (mech->eq->work > 0) u[mech->nu + mech->eq->work - 1] += work;
    if (impulse) memcpy(impulse, hit.impulse, (size_t)mech->m * sizeof *impulse);
  }
  cpActionClose(act);
  return flag;
}
