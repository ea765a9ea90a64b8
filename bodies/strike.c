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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* mask [nv] <- 0 for the rows of contacts, limits and frictions that are on, and -1 for others. Rows that are on react to forces on all
 * velocities. Returns 0, or a code that has been reported. */
static int findContacts(const Mechanism *m, CPMech mech, sunrealtype t, N_Vector y, int *mask) {
  const int nu = bodiesVelocities(m), nmu = (int)CPMechGetNumMultipliers(mech);
  sunrealtype *f = malloc((size_t)(2 * nu + nmu) * sizeof *f), *d = f + nu, *mu = d + nu;
  int any = 0, flag = f ? CP_SUCCESS : CP_MEM_FAIL;
  for (int i = 0; i < m->nv; i++) mask[i] = -1;
  for (int j = 0; j < m->njoints; j++)
    if (m->joint[j].contact != NONE) bodiesMaskJoint(m, j, 0, mask), any = 1;
  for (int j = 0; j < nu && f; j++) f[j] = 1 + sin(j + SUN_RCONST(0.5)); /* without a pattern */
  if (any && !flag) flag = CPMechSolve(mech, t, y, 1, f, NULL, d, mu);
  for (int i = 0; i < m->nv && any && !flag; i++)
    if (mask[i] == 0 && mu[i] == 0) mask[i] = -1;
  free(f);
  return flag;
}

/* Of an impact that a drive, a coupler or a latch causes, contacts take no part: dry friction is bounded and a contact pulls nothing, while
 * rows that are on hold both ways. A CPContact then finds their own impulses. T - W stays, whatever part of it CPMechImpact has counted
 * as work. */
int bodiesStrike(Mechanism *m, CPMech mech, sunrealtype t, N_Vector y, const CPPowers *before) {
  CPPowers own = CP_INIT(CPPowers), after = CP_INIT(CPPowers);
  sunrealtype none = 0, *W = m->balance ? N_VGetArrayPointer(y) + bodiesStates(m) - 1 : &none;
  const sunrealtype W_before = *W;
  int *mask                  = malloc(((size_t)m->nv + 1) * sizeof *mask);
  int flag                   = mask ? CP_SUCCESS : CP_MEM_FAIL;
  if (!flag && !before) flag = CPMechGetPowers(mech, t, y, NULL, &own);
  if (!flag) flag = findContacts(m, mech, t, y, mask);
  if (!flag) flag = CPMechSetActive(mech, mask);
  if (!flag) flag = CPMechImpact(mech, t, y, NULL, 0, NULL);
  for (int i = 0; i < m->nv && mask; i++) mask[i] = mask[i] == 0 ? 1 : -1;
  const int restored = mask ? CPMechSetActive(mech, mask) : flag;
  free(mask);
  if (!flag) flag = restored;
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

static int noMemory(CPMech mech) {
  return cpReport(CP_OBJECT(mech), CP_MEM_FAIL, "CPSessionGradient",
                  "no memory for the derivatives of an impact");
}

/* Are rows of contacts, limits or frictions on? Returns 0 or a code that has been reported. */
static int refuseContacts(const Mechanism *m, CPMech mech, sunrealtype t, N_Vector y) {
  int *mask = malloc(((size_t)m->nv + 1) * sizeof *mask), any = 0;
  if (!mask) return noMemory(mech);
  const int flag = findContacts(m, mech, t, y, mask);
  for (int i = 0; i < m->nv && !flag; i++) any |= mask[i] == 0;
  free(mask);
  return any ? cpReport(CP_OBJECT(mech), CP_NOT_SUPPORTED, "CPSessionGradient",
                        "contacts, limits or dry friction act there, and derivatives of their "
                        "impulses are not known")
             : flag;
}

int bodiesKeepStrike(const Mechanism *m, CPMech mech, sunrealtype t, N_Vector y,
                     const sunrealtype *u, const sunrealtype *p, Strike **strike) {
  int flag = refuseContacts(m, mech, t, y);
  if (flag) return flag;
  const CPEquations *eq = CPModelGetEquations(CPMechGetModel(mech));
  const size_t nu = (size_t)eq->nu, na = (size_t)CPMechGetNumMultipliers(mech);
  Strike *s = *strike = calloc(1, sizeof *s);
  if (!s || !(s->u = calloc(3 * nu * nu + 3 * nu + 2 * na * nu + 2 * na + 1, sizeof *s->u)))
    return noMemory(mech);
  s->nu = nu, s->na = na;
  s->Lambda = s->u + nu, s->v = s->Lambda + na, s->p = s->v + na, s->f = s->p + nu;
  s->unit = s->f + nu, s->D = s->unit + nu * nu, s->M = s->D + nu * nu;
  s->E = s->M + nu * nu, s->A = s->E + na * nu;
  for (size_t k = 0; k < nu; k++) s->unit[k * (nu + 1)] = 1;
  memcpy(s->u, N_VGetArrayPointer(y) + eq->nq, nu * sizeof *s->u);
  flag = findMatrices(s, mech, t, y);
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

void bodiesDropEvent(void *record, void *data) {
  Strike *s = record ? *(Strike **)record : NULL;
  (void)data;
  if (s) free(s->u);
  free(s);
  free(record);
}

int bodiesRefuseEvent(char *message, sunrealtype t, CPMech mech, int flag, const char *why) {
  snprintf(message, TEXT, "at t = %.10g: %s", (double)t,
           why ? why : CPObjectGetLastMessage(CP_OBJECT(mech)));
  return flag < 0 ? flag : CP_USERFUNC_FAIL;
}
