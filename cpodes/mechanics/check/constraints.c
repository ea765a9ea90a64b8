/* The levels of the constraints against each other:
 *
 *   A = (dp/dq) N = dv/du,    v = dp/dt along the motion,    b = -dv/dt along it with u held
 *
 * and the derivatives of prescribed motions. */
#include "check_impl.h"

#include <math.h>
#include <string.h>

static void sizes(const double *x, int length, double *size) {
  for (int i = 0; i < length; i++) size[i] = fabs(x[i]);
}

static int positions(CPCheck *check, const CPMechState *s, const double *lambda, double *value,
                     double *terms) {
  (void)lambda;
  const int flag = cpMechPositions(check->mech, s->t, s->q, value);
  sizes(value, check->mech->m, terms);
  return flag;
}

static int velocities(CPCheck *check, const CPMechState *s, const double *lambda, double *value,
                      double *terms) {
  (void)lambda;
  const int flag = cpMechVelocities(check->mech, s->t, s->q, s->u, value);
  sizes(value, check->mech->m, terms);
  return flag;
}

static int negativeVelocities(CPCheck *check, const CPMechState *s, const double *lambda,
                              double *value, double *terms) {
  const int flag = velocities(check, s, lambda, value, terms);
  for (int i = 0; !flag && i < check->mech->m; i++) value[i] = -value[i];
  return flag;
}

/* ---- A ---- */

static int columnOfA(CPCheck *check, int j) {
  const CPMech mech = check->mech;
  if (!mech->operators) {
    cpColumnOf(&check->A, j, check->column);
    return CP_SUCCESS;
  }
  memset(check->w, 0, (size_t)mech->nu * sizeof *check->w);
  check->w[j] = 1.0;
  return cpMechATimes(mech, check->s.t, check->s.q, check->w, check->column);
}

static int compareA(CPCheck *check, const CPFunction *f, int (*along)(CPCheck *check, int j),
                    const char *expected, sunrealtype *result) {
  const CPVerdict verdict = {CP_MECH_A_WRONG, "A", expected, 0};
  sunrealtype error       = 0.0;
  int row = -1, col = -1, flag = CP_SUCCESS;
  cpCompareBegin(check, f->rows);
  for (int j = 0; !flag && j < check->mech->nu; j++) {
    flag = columnOfA(check, j);
    if (!flag) flag = along(check, j);
    if (!flag) flag = cpCompareColumn(check, f, j, check->column);
  }
  if (flag) return flag;
  cpCompareEnd(check, f->rows, &verdict, &error, &row, &col);
  if (error > fmax(check->report->A_p, check->report->A_v))
    check->report->A_row = row, check->report->A_col = col;
  *result = fmax(*result, error);
  return CP_SUCCESS;
}

/* ---- v and b ---- */

/* check->column against the derivative of f along the motion */
static int compareAlongMotion(CPCheck *check, const CPFunction *f, const char *given,
                              const char *expected, sunrealtype *result) {
  const CPVerdict verdict = {CP_MECH_B_WRONG, given, expected, 1};
  sunrealtype error       = 0.0;
  int row                 = -1;
  cpCompareBegin(check, f->rows);
  int flag = cpAlongMotion(check);
  if (!flag) flag = cpCompareColumn(check, f, 0, check->column);
  if (flag) return flag;
  cpCompareEnd(check, f->rows, &verdict, &error, &row, NULL);
  if (error > fmax(check->report->v_p, check->report->b_v)) check->report->b_row = row;
  *result = fmax(*result, error);
  return CP_SUCCESS;
}

static int compareV(CPCheck *check) {
  const CPMech mech  = check->mech;
  const CPFunction p = {mech->np, positions};
  const int flag     = cpMechVelocities(mech, check->s.t, check->s.q, check->s.u, check->column);
  return flag ? flag
              : compareAlongMotion(check, &p, "v", "the derivative of p along the motion",
                                   &check->report->v_p);
}

static int compareB(CPCheck *check) {
  const CPMech mech  = check->mech;
  const CPFunction v = {mech->nv, negativeVelocities};
  const int flag     = cpMechB(mech, check->s.t, check->s.q, check->s.u, check->column);
  return flag ? flag
              : compareAlongMotion(check, &v, "b", "minus the derivative of v along the motion",
                                   &check->report->b_v);
}

/* ---- prescribed motions ---- */

/* g of all motions, or g' */
static int motions(CPCheck *check, const CPMechState *s, int rate, double *value, double *terms) {
  const CPMech mech = check->mech;
  const int flag    = cpMechMotions(mech, s->t);
  for (int k = 0; !flag && k < mech->nprescribed; k++)
    value[k] = rate ? mech->prescribed[k].rate : mech->prescribed[k].value;
  if (!flag) sizes(value, mech->nprescribed, terms);
  return flag;
}

static int values(CPCheck *check, const CPMechState *s, const double *lambda, double *value,
                  double *terms) {
  (void)lambda;
  return motions(check, s, 0, value, terms);
}

static int rates(CPCheck *check, const CPMechState *s, const double *lambda, double *value,
                 double *terms) {
  (void)lambda;
  return motions(check, s, 1, value, terms);
}

/* Of motions whose functions are not given there is nothing to compare: their derivatives are
 * differences anyway. */
static int compareMotions(CPCheck *check, int second) {
  const CPMech mech       = check->mech;
  const CPFunction f      = {mech->nprescribed, second ? rates : values};
  const CPVerdict verdict = {CP_MECH_B_WRONG, second ? "g'' of motion " : "g' of motion ",
                             second ? "the derivative of g'" : "the derivative of g", 1};
  cpCompareBegin(check, mech->nprescribed);
  int flag = cpMechMotions(mech, check->s.t);
  for (int k = 0; !flag && k < mech->nprescribed; k++)
    check->column[k] = second ? mech->prescribed[k].curvature : mech->prescribed[k].rate;
  if (!flag) cpAlongTime(check);
  if (!flag) flag = cpCompareColumn(check, &f, 0, check->column);
  for (int k = 0; !flag && k < mech->nprescribed; k++)
    if (!(second ? mech->prescribed[k].gdd : mech->prescribed[k].gd)) check->error[k] = 0.0;
  if (!flag)
    cpCompareEnd(check, mech->nprescribed, &verdict,
                 second ? &check->report->b_v : &check->report->v_p, NULL, NULL);
  return flag;
}

/* ---- all ---- */

static int compareAp(CPCheck *check, sunrealtype *result) {
  const CPFunction p = {check->mech->np, positions};
  return compareA(check, &p, cpAlongPosition, "the derivative of p along N e_j", result);
}

static void turnFrame(CPQuaternion *Q) {
  Q->frame = Q->frame == CP_FRAME_BODY ? CP_FRAME_WORLD : CP_FRAME_BODY;
}

/* A is not (dp/dq) N: is it, with quaternion k in the other frame, or (k = nquaternions) all of them? */
static int fitsTurned(CPCheck *check, int k, int *fits) {
  const CPMech mech         = check->mech;
  const CPMechReport report = *check->report;
  sunrealtype error         = 0.0;
  const int first = k < mech->nquaternions ? k : 0, end = k < mech->nquaternions ? k + 1 : k;
  for (int i = first; i < end; i++) turnFrame(&mech->quaternions[i]);
  const int flag = compareAp(check, &error);
  for (int i = first; i < end; i++) turnFrame(&mech->quaternions[i]);
  *check->report = report;
  *fits          = !flag && error <= CP_CHECK_LIMIT;
  return flag;
}

static int suggestFrame(CPCheck *check) {
  const CPMech mech = check->mech;
  int fits = 0, k = 0, flag = CP_SUCCESS;
  for (; !flag && !fits && k <= mech->nquaternions; k++) flag = fitsTurned(check, k, &fits);
  if (!fits) return flag;
  const int all         = --k == mech->nquaternions;
  const CPQuaternion *Q = &mech->quaternions[all ? 0 : k];
  const size_t used     = strlen(check->text);
  snprintf(check->text + used, sizeof check->text - used,
           "; it fits with %s for %s %d (CPMechAddQuaternion)",
           Q->frame == CP_FRAME_BODY ? "CP_FRAME_WORLD" : "CP_FRAME_BODY",
           all ? "all quaternions, that of coordinate" : "the quaternion of coordinate", Q->first_q);
  return CP_SUCCESS;
}

int cpCheckJacobians(CPCheck *check) {
  const CPMech mech  = check->mech;
  const CPFunction v = {mech->nv, velocities};
  const int before   = check->code;
  int flag           = CP_SUCCESS;
  if (mech->np > 0) flag = compareAp(check, &check->report->A_p);
  if (!flag && check->code && !before && mech->nquaternions > 0) flag = suggestFrame(check);
  if (!flag && mech->nv > 0 && mech->model.v)
    flag = compareA(check, &v, cpAlongVelocity, "the derivative of v", &check->report->A_v);
  return flag;
}

int cpCheckRates(CPCheck *check) {
  const CPMech mech = check->mech;
  int flag          = CP_SUCCESS;
  if (mech->np > 0 && mech->model.v) flag = compareV(check);
  if (!flag && mech->nv > 0 && mech->model.b) flag = compareB(check);
  if (!flag && mech->nprescribed > 0) flag = compareMotions(check, 0);
  if (!flag && mech->nprescribed > 0) flag = compareMotions(check, 1);
  return flag;
}
