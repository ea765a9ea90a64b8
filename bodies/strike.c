/* Plastic impacts of joints, drives and couplers: velocities jump at fixed positions from the momenta p to those that the rows allow,
 *
 *   M u+ + A^T Lambda = p,   v(t, q, u+) = A u+ - g' = 0,
 *
 * where p = M u-, unless joints move their bodies by other twists than before. The derivative of u+ is that of one step of Newton's method from
 * the solution (u*, Lambda) of the impact itself, with the matrix there,
 *
 *   u+ = u* + D (p - M u* - A^T Lambda) - E^T v(t, q, u*),   [M A^T; A 0] [D; E] = [I; 0],
 *
 * in which M, A, v and p are those of states and parameters nearby. So no rank is decided there, where rows that depend on each other may
 * contradict each other. */
#include "sources.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* T - W stays, whatever part of it CPMechImpact has counted as work. */
int bodiesStrike(Mechanism *m, CPMech mech, sunrealtype t, N_Vector y, const CPPowers *before) {
  CPPowers own = CP_INIT(CPPowers), after = CP_INIT(CPPowers);
  sunrealtype none = 0, *W = m->balance ? N_VGetArrayPointer(y) + bodiesStates(m) - 1 : &none;
  const sunrealtype W_before = *W;
  int flag                   = before ? 0 : CPMechGetPowers(mech, t, y, NULL, &own);
  if (!flag) flag = CPMechImpact(mech, t, y, NULL, 0, NULL);
  if (!flag) flag = CPMechGetPowers(mech, t, y, NULL, &after);
  if (!flag) *W = W_before + (after.kinetic - (before ? before : &own)->kinetic);
  return flag;
}

struct Strike_ {
  size_t nu, na;
  sunrealtype *u, *Lambda;   /* [nu] u*, [na] */
  sunrealtype *D, *E;        /* [nu x nu], [na x nu] by columns */
  sunrealtype *M, *A, *v;    /* workspace: those of the newest state, [na] */
  sunrealtype *p, *f, *unit; /* [nu] workspace; [nu x nu] */
};

/* M and A at (t, y) */
static int findMatrices(const Strike *s, CPMech mech, sunrealtype t, N_Vector y) {
  CPMechOutput out = {CP_SIZED(CPMechOutput), .M = s->M, .A = s->na > 0 ? s->A : NULL};
  return CPMechEvaluate(mech, t, y, &out);
}

/* x <- M u. Returns u . M u. */
static sunrealtype momentaOf(const Strike *s, const sunrealtype *u, sunrealtype *x) {
  sunrealtype sum = 0;
  memset(x, 0, s->nu * sizeof *x);
  for (size_t k = 0; k < s->nu; k++)
    for (size_t i = 0; i < s->nu; i++) x[i] += s->M[k * s->nu + i] * u[k];
  for (size_t i = 0; i < s->nu; i++) sum += u[i] * x[i];
  return sum;
}

/* f <- p - M u* - A^T Lambda */
static void findMissing(const Strike *s, const sunrealtype *p) {
  momentaOf(s, s->u, s->f);
  for (size_t k = 0; k < s->nu; k++) {
    s->f[k] = p[k] - s->f[k];
    for (size_t i = 0; i < s->na; i++) s->f[k] -= s->A[k * s->na + i] * s->Lambda[i];
  }
}

int bodiesKeepStrike(CPMech mech, sunrealtype t, N_Vector y, const sunrealtype *u,
                     const sunrealtype *p, Strike **strike) {
  const CPEquations *eq = CPModelGetEquations(CPMechGetModel(mech));
  const size_t nu = (size_t)eq->nu, na = (size_t)CPMechGetNumMultipliers(mech);
  Strike *s = *strike = calloc(1, sizeof *s);
  if (!s || !(s->u = calloc(3 * nu * nu + 3 * nu + 2 * na * nu + 2 * na + 1, sizeof *s->u)))
    return CP_MEM_FAIL;
  s->nu = nu, s->na = na;
  s->Lambda = s->u + nu, s->v = s->Lambda + na, s->p = s->v + na, s->f = s->p + nu;
  s->unit = s->f + nu, s->D = s->unit + nu * nu, s->M = s->D + nu * nu;
  s->E = s->M + nu * nu, s->A = s->E + na * nu;
  for (size_t k = 0; k < nu; k++) s->unit[k * (nu + 1)] = 1;
  memcpy(s->u, N_VGetArrayPointer(y) + eq->nq, nu * sizeof *s->u);
  int flag = findMatrices(s, mech, t, y);
  if (flag) return flag;
  if (!p) momentaOf(s, u, s->p), p = s->p;
  findMissing(s, p); /* without Lambda, which this is the impulse of */
  flag = CPMechSolve(mech, t, y, 1, s->f, NULL, s->p, s->Lambda);
  return flag ? flag : CPMechSolve(mech, t, y, (int)nu, s->unit, NULL, s->D, s->E);
}

int bodiesStrikeBeside(const Strike *s, Mechanism *m, CPMech mech, sunrealtype t, N_Vector y,
                       const sunrealtype *p, sunrealtype T) {
  const CPEquations *eq = CPModelGetEquations(CPMechGetModel(mech));
  sunrealtype *q = N_VGetArrayPointer(y), *u = q + eq->nq;
  int flag = findMatrices(s, mech, t, y);
  if (flag) return flag;
  const sunrealtype before = isnan(T) ? momentaOf(s, u, s->p) / 2 : T;
  memset(s->v, 0, s->na * sizeof *s->v);
  findMissing(s, p ? p : s->p);
  if (eq->v && (flag = eq->v(t, q, s->u, s->v, m))) return flag < 0 ? flag : CP_USERFUNC_FAIL;
  for (size_t i = 0; i < s->nu; i++) {
    u[i] = s->u[i];
    for (size_t k = 0; k < s->nu; k++) u[i] += s->D[i * s->nu + k] * s->f[k]; /* It is symmetric. */
    for (size_t k = 0; k < s->na; k++) u[i] -= s->E[i * s->na + k] * s->v[k];
  }
  if (m->balance) q[bodiesStates(m) - 1] += momentaOf(s, u, s->p) / 2 - before;
  return 0;
}

void bodiesDropStrike(Strike *s) {
  if (s) free(s->u);
  free(s);
}
