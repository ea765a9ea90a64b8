/* Calls, counts and checks the functions of the model; those of the constraints are called in constraints.c.
 *
 * With inverse dynamics r(a) = M a - f, f is -r(0), and M e_j = r(e_j) - r(0) if the user gives neither M
 * nor products with it. */
#include "constraints.h"
#include "forces.h"
#include "motions.h"

#include <math.h>
#include <string.h>

/* Adds to a message what the model says about a failure. */
static int explain(CPMech mech, int flag, sunrealtype t) {
  const size_t length = strlen(mech->text);
  char why[CP_MECH_ROW_NAME];
  cpMechAskName(mech, CP_NAME_FAILURE, 0, isnan(t) ? 0 : t, why, sizeof why);
  if (why[0]) snprintf(mech->text + length, sizeof mech->text - length, ": %s", why);
  return flag;
}

int cpMechResult(CPMech mech, int flag, sunrealtype t, const char *name) {
  char function[80];
  if (!flag) return CP_SUCCESS;
  snprintf(function, sizeof function, "the function %s", name);
  return explain(mech, cpUserResult(mech->text, flag, t, function), t);
}

int cpMechWrong(CPMech mech, int flag, sunrealtype t, const char *name, const double *x) {
  char when[40] = ""; /* t is NaN for functions that do not depend on t */
  int bad       = cpMechResult(mech, flag, t, name);
  if (bad) return bad;
  if (!isnan(t)) snprintf(when, sizeof when, "at t = %.10g: ", t);
  while (isfinite(x[bad])) bad++;
  flag = cpReason(mech->text, -CP_MECH_NONFINITE, "%s%s[%d] is %g", when, name, bad, x[bad]);
  return explain(mech, flag, t);
}

/* ---- whole turns of angles ---- */

void cpMechTurned(int on, void *data) {
  const CPMech mech = data;
  if (cpMechData(mech)) return; /* The next function of the model tells. */
  mech->turned = on;
  mech->eq->turns(on ? mech->turns : NULL, mech->data);
}

const double *cpMechWhole(CPMech mech, const double *q) {
  if (!mech->turned || !q) return q;
  for (int i = 0; i < mech->nq; i++) mech->whole[i] = cpTurnedBy(mech->turns[i], q[i]);
  cpMechTurned(0, mech);
  return mech->whole;
}

void cpMechEndWhole(CPMech mech, const double *whole) {
  if (whole && whole == mech->whole) cpMechTurned(1, mech);
}

/* ---- the state ---- */

int cpMechPutFull(CPMech mech, sunrealtype *q, sunrealtype *u) {
  int changed = 0;
  for (int k = 0; k < mech->motions->count; k++) {
    const CPPrescribed *g  = &mech->motions->list[k];
    const CPMotionValue *v = &mech->motion[k];
    if (g->how != CP_MOTION_FULL) continue;
    changed |= q[g->i] != v->value || u[g->j] != v->rate;
    q[g->i] = v->value;
    u[g->j] = v->rate;
  }
  return changed;
}

void cpMechPutFullRates(const CPMech mech, sunrealtype *qdot, sunrealtype *udot) {
  for (int k = 0; k < mech->motions->count; k++) {
    const CPPrescribed *g  = &mech->motions->list[k];
    const CPMotionValue *v = &mech->motion[k];
    if (g->how != CP_MOTION_FULL) continue;
    qdot[g->i] = v->rate;
    udot[g->j] = v->curvature;
  }
}

int cpMechReadMotions(CPMech mech, CPMechState *s) {
  const int flag = cpMechMotions(mech, s->t);
  if (flag || mech->motions->nfull == 0) return flag;
  memcpy(mech->room.q_full, s->q, (size_t)mech->nq * sizeof *mech->room.q_full);
  memcpy(mech->room.u_full, s->u, (size_t)mech->nu * sizeof *mech->room.u_full);
  cpMechPutFull(mech, mech->room.q_full, mech->room.u_full);
  s->q = mech->room.q_full;
  s->u = mech->room.u_full;
  return CP_SUCCESS;
}

/* ---- matrices ---- */

int cpMechTake(CPMech mech, CPUserMat *U, int flag, sunrealtype t, const char *name) {
  int i = 0, j = 0;
  if (flag) return cpMechResult(mech, flag, t, name);
  switch (cpUserMatTake(U, &i, &j)) {
  case 0: return CP_SUCCESS;
  case -2:
    return cpReason(mech->text, CP_USERFUNC_FAIL,
                    "at t = %.10g: the function %s changed the index arrays of its template", t,
                    name);
  default:
    return cpReason(mech->text, -CP_MECH_NONFINITE, "at t = %.10g: entry (%d, %d) of %s is %g", t,
                    i, j, name, *cpMatAt(&U->A, i, j));
  }
}

int cpMechInverse(CPMech mech, const CPMechState *s, const double *a, double *r) {
  mech->stats.nf++;
  memset(r, 0, (size_t)mech->nu * sizeof *r);
  const int flag = cpMechCall(mech, inverse, s->t, s->q, s->u, s->z, a, r);
  return cpMechChecked(mech, flag, s->t, "inverse", r, mech->nu);
}

/* Forms the dense userM.A of a model without a function M. As M does not depend on velocities, inverse is
 * called at rest, where its forces, whose roundoff enters the differences, are smallest. */
CP_RARE static int columnsOfM(CPMech mech, sunrealtype t, const sunrealtype *q) {
  const CPMechState s = {.t = t, .q = q, .u = mech->room.unit, .z = mech->room.unit /* nz = 0 */};
  int flag            = cpMechNeed(mech, CP_ROOM_OF_COLUMNS);
  if (flag) return flag;
  double *rest = mech->room.rest, *e = mech->room.one;
  if (!mech->eq->Mu) flag = cpMechInverse(mech, &s, e, rest);
  for (int j = 0; !flag && j < mech->nu; j++) {
    double *column = cpMatAt(&mech->userM.A, 0, j);
    e[j]           = 1.0;
    flag = mech->eq->Mu ? cpMechOperator(mech, mech->eq->Mu, "Mu", t, q, e, column, mech->nu)
                        : cpMechInverse(mech, &s, e, column);
    e[j] = 0.0;
    for (int i = 0; !mech->eq->Mu && i < mech->nu; i++) column[i] -= rest[i];
  }
  return flag;
}

/* Copies a constant M. */
static int constantM(CPMech mech) {
  const SUNMatrix from = mech->model->mass.S, to = mech->userM.S;
  memcpy(cpMatrixData(to), cpMatrixData(from), cpMatrixEntries(from) * sizeof(sunrealtype));
  return CP_SUCCESS;
}

/* Calls the function M. The matrix must be zero before, and its entries are not tested. */
static inline int callM(CPMech mech, sunrealtype t, const sunrealtype *q) {
  mech->stats.nM++;
  if (mech->model->constant) return constantM(mech);
  if (!mech->eq->M) return columnsOfM(mech, t, q);
  const int flag = cpMechCall(mech, M, t, q, mech->userM.S);
  return flag ? cpMechResult(mech, flag, t, "M") : CP_SUCCESS;
}

int cpMechMass(CPMech mech, sunrealtype t, const sunrealtype *q) {
  cpUserMatClear(&mech->userM);
  const int flag = callM(mech, t, q);
  return flag ? flag : cpMechTake(mech, &mech->userM, 0, t, "M");
}

int cpMechIsLight(CPMech mech, const double *w, double largest, int j) {
  const double M_jj = cpMatEntry(&mech->userM.A, j, j);
  return M_jj > 0.0 && M_jj / (w[j] * w[j]) < CP_HALF_DIGITS * largest;
}

double cpMechHeaviest(CPMech mech, const double *w, int *any_light) {
  double largest = 0.0;
  for (int j = 0; j < mech->nu; j++)
    largest = fmax(largest, cpMatEntry(&mech->userM.A, j, j) / (w[j] * w[j]));
  *any_light = 0;
  for (int j = 0; j < mech->nu && !*any_light; j++) *any_light = cpMechIsLight(mech, w, largest, j);
  return largest;
}

int cpMechAsymmetric(const CPMat *M, double tolerance, int *i, int *j) {
  const double largest = cpLargest(M->value, (int)cpMatEntries(M));
  for (*j = 0; *j < M->cols; (*j)++)
    for (size_t k = cpMatFirst(M, *j); k < cpMatFirst(M, *j + 1); k++) {
      *i = cpMatRow(M, *j, k);
      if (fabs(M->value[k] - cpMatEntry(M, *j, *i)) > tolerance * largest) return 1;
    }
  return 0;
}

static int testMass(CPMech mech, sunrealtype t) {
  const CPMat *M = &mech->userM.A;
  int i, j;
  if (!cpMechAsymmetric(M, CP_INEXACT, &i, &j)) return CP_SUCCESS;
  return cpReason(mech->text, CP_MECH_DERIV_WRONG,
                  "at t = %.15g: M is not symmetric: M(%d, %d) is %g, and its mirror image %g", t,
                  i, j, cpMatEntry(M, i, j), cpMatEntry(M, j, i));
}

typedef struct {
  CPMech mech;
  sunrealtype t;
} MassAt;

/* For the memo, which keeps what has succeeded. */
static int testFirstMass(CPArena *arena, void *argument, void **object) {
  const MassAt *at = argument;
  (void)arena;
  *object = NULL;
  return testMass(at->mech, at->t);
}

/* The first M of one system is tested for all systems of the model. */
CP_RARE int cpMechTestMass(CPMech mech, sunrealtype t) {
  MassAt at = {mech, t};
  void *object;
  if (!mech->eq->M) return CP_SUCCESS;
  if (mech->stats.nkkt > 0) return testMass(mech, t);
  const int flag = cpMemoGet(mech->model->memo, NULL, testFirstMass, NULL, 0, &at, &object);
  return flag == CP_MEM_FAIL ? cpReason(mech->text, flag, "no memory for the test of M") : flag;
}

/* ---- vectors ---- */

/* f <- -r(a) */
static int minusInverse(CPMech mech, const CPMechState *s, const double *a, double *f) {
  const int flag = cpMechInverse(mech, s, a, f);
  for (int j = 0; j < mech->nu; j++) f[j] = -f[j];
  return flag;
}

static inline int callForces(CPMech mech, const CPMechState *s, double *f) {
  mech->stats.nf++;
  const int flag = cpMechCall(mech, f, s->t, s->q, s->u, s->z, f);
  return flag ? cpMechResult(mech, flag, s->t, "f") : CP_SUCCESS;
}

static inline int callF(CPMech mech, const CPMechState *s, double *f) {
  int flag = CP_SUCCESS;
  if (mech->eq->inverse) flag = minusInverse(mech, s, mech->room.unit, f);
  else if (mech->eq->f) flag = callForces(mech, s, f);
  return flag || mech->forces.count == mech->forces.on_lambda ? flag
                                                              : cpMechAddForces(mech, s, 0, NULL, f);
}

int cpMechForces(CPMech mech, const CPMechState *s, double *f) {
  memset(f, 0, (size_t)mech->nu * sizeof *f);
  const int flag = callF(mech, s, f);
  return flag ? flag : cpMechChecked(mech, 0, s->t, "f", f, mech->nu);
}

int cpMechAuxiliary(CPMech mech, const CPMechState *s, const double *lambda, double *zdot) {
  if (mech->nz == 0) return CP_SUCCESS;
  memset(zdot, 0, (size_t)mech->nz * sizeof *zdot);
  int flag = cpMechCall(mech, zdot, s->t, s->q, s->u, s->z, lambda, zdot);
  flag     = cpMechChecked(mech, flag, s->t, "zdot", zdot, mech->nz);
  return flag || mech->eq->work == 0 ? flag
                                     : cpMechForcePower(mech, s, lambda, &zdot[mech->eq->work - 1]);
}

/* ---- products ---- */

int cpMechOperator(CPMech mech, CPMechTimesFn function, const char *name, sunrealtype t,
                   const sunrealtype *q, const double *x, double *y, int length) {
  memset(y, 0, (size_t)length * sizeof *y);
  const int flag = cpMechCallFunction(mech, function, t, q, x, y);
  return cpMechChecked(mech, flag, t, name, y, length);
}

int cpMechTimes(CPMech mech, sunrealtype t, const sunrealtype *q, int transposed, const double *x,
                double *y) {
  if (!cpMechMultiplies(mech)) {
    const int flag = cpMechA(mech, t, q);
    if (!flag && transposed) cpMatTransposedTimes(&mech->A, 1.0, x, 0.0, y);
    else if (!flag) cpMatTimes(&mech->A, 1.0, x, 0.0, y);
    return flag;
  }
  if (mech->m == 0) {
    if (transposed) memset(y, 0, (size_t)mech->nu * sizeof *y);
    return CP_SUCCESS;
  }
  mech->stats.nA++;
  const int flag = transposed ? cpMechOperator(mech, mech->eq->ATl, "ATl", t, q, x, y, mech->nu)
                              : cpMechOperator(mech, mech->eq->Au, "Au", t, q, x, y, mech->na);
  for (int k = 0; k < mech->motions->count; k++) { /* rows e_j^T of motions */
    const CPPrescribed *g = &mech->motions->list[k];
    if (g->row >= 0 && transposed) y[g->j] += x[g->row];
    else if (g->row >= 0) y[g->row] = x[g->j];
  }
  return flag;
}

/* ---- f, b, M and A ---- */

int cpMechEvaluate(CPMech mech, const CPMechState *s) {
  const CPMechTerms *own = &mech->terms;
  memset(own->f, 0, own->length * sizeof *own->f);
  if (!own->is_block) cpUserMatClear(&mech->userM);
  int flag = callF(mech, s, own->f);
  if (!flag) flag = cpMechCallB(mech, s, own->b);
  if (!own->is_block || !mech->eq->b)
    cpUserMatClear(&mech->userA); /* Differences leave userA at another state. */
  if (!flag) flag = callM(mech, s->t, s->q);
  if (!flag) flag = cpMechCallA(mech, s->t, s->q);
  /* If the index arrays have changed, cpMechTake names the function. */
  if (!flag && mech->userM.tmpl && cpUserMatCopy(&mech->userM))
    flag = cpMechTake(mech, &mech->userM, 0, s->t, "M");
  if (!flag && mech->userA.tmpl && cpUserMatCopy(&mech->userA))
    flag = cpMechTake(mech, &mech->userA, 0, s->t, "A");
  if (flag) return flag;
  cpMechPlaceA(mech);
  if (mech->motions->count == 0) return CP_SUCCESS;
  return cpMechPlaceB(mech, s->t, own->b);
}

static int areFinite(CPMech mech) {
  const CPMat *M = &mech->userM.A, *A = &mech->userA.A;
  return cpAllFinite(mech->terms.f, (sunindextype)mech->terms.length) &&
         (mech->terms.is_block || (cpAllFinite(M->value, (sunindextype)cpMatEntries(M)) &&
                                   cpAllFinite(A->value, (sunindextype)cpMatEntries(A))));
}

CP_RARE int cpMechTestTerms(CPMech mech, sunrealtype t) {
  int flag = cpMechChecked(mech, 0, t, "f", mech->terms.f, mech->nu);
  if (!flag) flag = cpMechChecked(mech, 0, t, "b", mech->terms.b, mech->na);
  if (!flag) flag = cpMechTake(mech, &mech->userM, 0, t, "M");
  return flag ? flag : cpMechTake(mech, &mech->userA, 0, t, "A");
}

int cpMechAddTimes(CPMech mech, const CPMechState *s, int transposed, double c, const double *x,
                   double *y) {
  if (mech->m == 0) return CP_SUCCESS;
  if (!cpMechMultiplies(mech)) {
    if (transposed) cpMatTransposedTimes(&mech->A, c, x, 1.0, y);
    else cpMatTimes(&mech->A, c, x, 1.0, y);
    return CP_SUCCESS;
  }
  int flag = cpMechNeed(mech, CP_ROOM_OF_COLUMNS);
  if (flag) return flag;
  double *product = transposed ? mech->room.rest : mech->room.dA.plus;
  flag            = cpMechTimes(mech, s->t, s->q, transposed, x, product);
  for (int i = 0; !flag && i < (transposed ? mech->nu : mech->m); i++) y[i] += c * product[i];
  return flag;
}

int cpMechForm(CPMech mech, const CPMechState *s, const double *a, const double *lambda, double *F,
               double *B, double *Z) {
  const int inverse = mech->eq->inverse != NULL, multiplies = cpMechMultiplies(mech);
  int flag = CP_SUCCESS;
  if (F && B && !inverse) { /* The terms themselves are tested, because products may skip entries. */
    flag = cpMechEvaluate(mech, s);
    if (!flag && !areFinite(mech)) flag = cpMechTestTerms(mech, s->t);
    memcpy(F, mech->terms.f, (size_t)mech->nu * sizeof *F);
    memcpy(B, mech->terms.b, (size_t)mech->m * sizeof *B);
  } else {
    if (B) flag = cpMechB(mech, s, B); /* may leave A at another state */
    if (!flag && (F || B) && !multiplies) flag = cpMechA(mech, s->t, s->q);
    if (!flag && F && !inverse) flag = cpMechMass(mech, s->t, s->q);
    if (!flag && F && !inverse) flag = cpMechForces(mech, s, F);
    else if (!flag && F) {
      flag = minusInverse(mech, s, a, F);
      if (!flag) flag = cpMechAddForces(mech, s, 0, NULL, F);
    }
  }
  if (!flag && F) flag = cpMechAddForces(mech, s, 1, lambda, F);
  if (!flag && Z) flag = cpMechAuxiliary(mech, s, lambda, Z);
  if (!flag && B) flag = cpMechAddTimes(mech, s, 0, -1.0, a, B);
  if (!flag && F && !inverse) cpMatTimes(&mech->userM.A, -1.0, a, 1.0, F);
  return flag || !F ? flag : cpMechAddTimes(mech, s, 1, -1.0, lambda, F);
}
