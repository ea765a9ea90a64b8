/* What partial derivatives are derivatives of:
 *
 *   f + f_lambda,   F = f + f_lambda - M a - A^T lambda,   B = b - A a,   zdot,   u'
 *
 * with a and lambda held. */
#include "check_impl.h"

#include <math.h>
#include <string.h>

static void addSizes(const double *x, int length, double *size) {
  for (int i = 0; i < length; i++) size[i] += fabs(x[i]);
}

int cpForcesOf(CPCheck *check, const CPMechState *s, const double *lambda, double *value,
               double *terms) {
  const CPMech mech = check->mech;
  int flag          = cpMechForces(mech, s, value);
  if (!flag) flag = cpMechAddLambdaForces(mech, s, lambda, value);
  memset(terms, 0, (size_t)mech->nu * sizeof *terms);
  if (!flag) addSizes(value, mech->nu, terms);
  return flag;
}

/* y -= x */
static void subtract(const double *x, int length, double *y, double *terms) {
  for (int i = 0; i < length; i++) y[i] -= x[i];
  addSizes(x, length, terms);
}

int cpDynamicsOf(CPCheck *check, const CPMechState *s, const double *lambda, double *value,
                 double *terms) {
  const CPMech mech = check->mech;
  int flag          = cpForcesOf(check, s, lambda, value, terms);
  if (!flag) flag = cpMechMass(mech, s->t, s->q);
  if (flag) return flag;
  cpMatTimes(&mech->userM.A, 1.0, check->a, 0.0, check->w);
  subtract(check->w, mech->nu, value, terms);
  if (mech->m == 0) return CP_SUCCESS;
  flag = cpMechATransposedTimes(mech, s->t, s->q, lambda, check->w);
  if (!flag) subtract(check->w, mech->nu, value, terms);
  return flag;
}

int cpConstraintsOf(CPCheck *check, const CPMechState *s, const double *lambda, double *value,
                    double *terms) {
  const CPMech mech = check->mech;
  (void)lambda;
  int flag = cpMechB(mech, s->t, s->q, s->u, value);
  if (!flag) flag = cpMechATimes(mech, s->t, s->q, check->a, check->w);
  memset(terms, 0, (size_t)mech->m * sizeof *terms);
  if (flag) return flag;
  addSizes(value, mech->m, terms);
  subtract(check->w, mech->m, value, terms);
  return CP_SUCCESS;
}

int cpAuxiliaryOf(CPCheck *check, const CPMechState *s, const double *lambda, double *value,
                  double *terms) {
  const CPMech mech = check->mech;
  const int flag    = cpMechAuxiliary(mech, s, lambda, value);
  memset(terms, 0, (size_t)mech->nz * sizeof *terms);
  if (!flag) addSizes(value, mech->nz, terms);
  return flag;
}

int cpAccelerationsOf(CPCheck *check, const CPMechState *s, const double *lambda, double *value,
                      double *terms) {
  const CPMech mech = check->mech;
  (void)lambda;
  const int flag = cpMechSolve(mech, s, value, check->w);
  memset(terms, 0, (size_t)mech->nu * sizeof *terms);
  if (!flag) addSizes(value, mech->nu, terms);
  return flag;
}
