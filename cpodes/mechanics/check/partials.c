/* Partial derivatives that the user gives, against differences of what they are derivatives of:
 *
 *   F = f + f_lambda - M a - A^T lambda,   B = b - A a,   zdot,   u'      (a, lambda held)
 *
 * with respect to q (along N e_j), u, z and lambda. */
#include "check_impl.h"

#include <math.h>
#include <string.h>

/* ---- the functions ---- */

static void addSizes(const double *x, int length, double *size) {
  for (int i = 0; i < length; i++) size[i] += fabs(x[i]);
}

static int forces(CPCheck *check, const CPMechState *s, const double *lambda, double *value,
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

static int F(CPCheck *check, const CPMechState *s, const double *lambda, double *value,
             double *terms) {
  const CPMech mech = check->mech;
  int flag          = forces(check, s, lambda, value, terms);
  if (!flag) flag = cpMechMass(mech, s->t, s->q);
  if (flag) return flag;
  cpMatTimes(&mech->userM.A, 1.0, check->a, 0.0, check->w);
  subtract(check->w, mech->nu, value, terms);
  if (mech->m == 0) return CP_SUCCESS;
  flag = cpMechATransposedTimes(mech, s->t, s->q, lambda, check->w);
  if (!flag) subtract(check->w, mech->nu, value, terms);
  return flag;
}

static int B(CPCheck *check, const CPMechState *s, const double *lambda, double *value,
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

static int auxiliary(CPCheck *check, const CPMechState *s, const double *lambda, double *value,
                     double *terms) {
  const CPMech mech = check->mech;
  const int flag    = cpMechAuxiliary(mech, s, lambda, value);
  memset(terms, 0, (size_t)mech->nz * sizeof *terms);
  if (!flag) addSizes(value, mech->nz, terms);
  return flag;
}

static int accelerations(CPCheck *check, const CPMechState *s, const double *lambda, double *value,
                         double *terms) {
  const CPMech mech = check->mech;
  (void)lambda;
  const int flag = cpMechSolve(mech, s, value, check->w);
  memset(terms, 0, (size_t)mech->nu * sizeof *terms);
  if (!flag) addSizes(value, mech->nu, terms);
  return flag;
}

/* ---- the matrices ---- */

typedef struct {
  const char *name;
  SUNMatrix tmpl;
  int rows, cols, exists;
  int (*along)(CPCheck *check, int j);
  CPFunction f;
  const char *expected;
  sunrealtype *result;
  CPUserMat user; /* S NULL: it does not exist, or has no pattern */
} Partial;

static int compareColumns(CPCheck *check, Partial *P) {
  const CPVerdict verdict = {CP_MECH_DERIV_WRONG, P->name, P->expected, 0};
  int flag                = CP_SUCCESS;
  cpCompareBegin(check, P->f.rows);
  for (int j = 0; !flag && j < P->cols; j++) {
    cpColumnOf(&P->user.A, j, check->column);
    flag = P->along(check, j);
    if (!flag) flag = cpCompareColumn(check, &P->f, j, check->column);
  }
  if (!flag) cpCompareEnd(check, P->f.rows, &verdict, P->result, NULL, NULL);
  return flag;
}

static int create(CPCheck *check, Partial *P, int count) {
  int flag = CP_SUCCESS;
  for (int k = 0; !flag && k < count; k++)
    if (P[k].exists && P[k].rows > 0 && P[k].cols > 0) {
      flag = cpUserMatCreate(&P[k].user, P[k].tmpl, P[k].rows, P[k].cols, check->mech->ctx);
      if (!flag) cpUserMatClear(&P[k].user);
    }
  return flag ? cpReason(check->mech->text, flag, "no memory for partial derivatives") : flag;
}

/* The user's function has returned flag. */
static int compareAll(CPCheck *check, Partial *P, int count, int flag, const char *function) {
  const CPMech mech = check->mech;
  flag              = cpMechResult(mech, flag, check->s.t, function);
  for (int k = 0; !flag && k < count; k++)
    if (P[k].user.S) flag = cpMechTake(mech, &P[k].user, CP_SUCCESS, check->s.t, function);
  for (int k = 0; !flag && k < count; k++)
    if (P[k].user.S) flag = compareColumns(check, &P[k]);
  return flag;
}

static void destroy(Partial *P, int count) {
  for (int k = 0; k < count; k++) cpUserMatFree(&P[k].user);
}

/* ---- one function of the user's each ---- */

/* Sparse systems hand out matrices with a template only. */
static int isHandedOut(const CPMech mech, SUNMatrix tmpl) {
  return tmpl || !(mech->userM.A.start && mech->A.start);
}

static int checkDynamics(CPCheck *check) {
  const CPMech mech    = check->mech;
  const CPMechModel *m = &mech->model;
  CPMechReport *report = check->report;
  const int nu = mech->nu, nz = mech->nz;
  SUNMatrix C_tmpl = m->C_tmpl ? m->C_tmpl : m->K_tmpl;
  Partial P[]      = {
      {"dynamics_jac: K", m->K_tmpl, nu, nu, isHandedOut(mech, m->K_tmpl), cpAlongPosition,
            {nu, F}, "the derivative of f - M u' - A^T lambda along N e_j", &report->K, {0}},
      {"dynamics_jac: C", C_tmpl, nu, nu, isHandedOut(mech, C_tmpl), cpAlongVelocity, {nu, forces},
            "the derivative of f with respect to u", &report->C, {0}},
      {"dynamics_jac: Fz", m->Fz_tmpl, nu, nz, 1, cpAlongAuxiliary, {nu, forces},
            "the derivative of f with respect to z", &report->Fz, {0}},
  };
  int flag = create(check, P, 3);
  if (!flag)
    flag = compareAll(check, P, 3,
                      m->dynamics_jac(check->s.t, check->q, check->u, check->z, check->a,
                                      check->lambda, P[0].user.S, P[1].user.S, P[2].user.S,
                                      mech->user_data),
                      "dynamics_jac");
  destroy(P, 3);
  return flag;
}

static int checkConstraintJac(CPCheck *check) {
  const CPMech mech    = check->mech;
  const CPMechModel *m = &mech->model;
  CPMechReport *report = check->report;
  const int nu = mech->nu, na = mech->na;
  Partial P[] = {
      {"constraint_jac: Bq", m->Bq_tmpl, na, nu, isHandedOut(mech, m->Bq_tmpl), cpAlongPosition,
       {na, B}, "the derivative of b - A u' along N e_j", &report->Bq, {0}},
      {"constraint_jac: Bu", m->Bu_tmpl, na, nu, isHandedOut(mech, m->Bu_tmpl), cpAlongVelocity,
       {na, B}, "the derivative of b with respect to u", &report->Bu, {0}},
  };
  int flag = create(check, P, 2);
  if (!flag)
    flag = compareAll(check, P, 2,
                      m->constraint_jac(check->s.t, check->q, check->u, check->a, P[0].user.S,
                                        P[1].user.S, mech->user_data),
                      "constraint_jac");
  destroy(P, 2);
  return flag;
}

static int checkAuxiliary(CPCheck *check) {
  const CPMech mech    = check->mech;
  const CPMechModel *m = &mech->model;
  CPMechReport *report = check->report;
  const int nu = mech->nu, nz = mech->nz;
  Partial P[] = {
      {"auxiliary_jac: Zq", m->Zq_tmpl, nz, nu, 1, cpAlongPosition, {nz, auxiliary},
       "the derivative of zdot along N e_j", &report->Zq, {0}},
      {"auxiliary_jac: Zu", m->Zu_tmpl, nz, nu, 1, cpAlongVelocity, {nz, auxiliary},
       "the derivative of zdot with respect to u", &report->Zu, {0}},
      {"auxiliary_jac: Zz", m->Zz_tmpl, nz, nz, 1, cpAlongAuxiliary, {nz, auxiliary},
       "the derivative of zdot with respect to z", &report->Zz, {0}},
  };
  int flag = create(check, P, 3);
  if (!flag)
    flag = compareAll(check, P, 3,
                      m->auxiliary_jac(check->s.t, check->q, check->u, check->z, check->lambda,
                                       P[0].user.S, P[1].user.S, P[2].user.S, mech->user_data),
                      "auxiliary_jac");
  destroy(P, 3);
  return flag;
}

static int checkLambda(CPCheck *check) {
  const CPMech mech = check->mech;
  Partial P[]       = {{"lambda_jac: Fl", NULL, mech->nu, mech->na, 1, cpAlongMultiplier,
                  {mech->nu, forces}, "the derivative of f_lambda", &check->report->Fl, {0}}};
  int flag          = create(check, P, 1);
  if (!flag && P[0].user.S)
    flag = compareAll(check, P, 1,
                      mech->model.lambda_jac(check->s.t, check->q, check->u, check->z,
                                             check->lambda, P[0].user.S, mech->user_data),
                      "lambda_jac");
  destroy(P, 1);
  return flag;
}

static int checkAccelerations(CPCheck *check) {
  const CPMech mech    = check->mech;
  CPMechReport *report = check->report;
  const int nu = mech->nu, nz = mech->nz;
  Partial P[] = {
      {"udot_jac: Uq", NULL, nu, nu, 1, cpAlongPosition, {nu, accelerations},
       "the derivative of u' along N e_j", &report->Uq, {0}},
      {"udot_jac: Uu", NULL, nu, nu, 1, cpAlongVelocity, {nu, accelerations},
       "the derivative of u' with respect to u", &report->Uu, {0}},
      {"udot_jac: Uz", NULL, nu, nz, 1, cpAlongAuxiliary, {nu, accelerations},
       "the derivative of u' with respect to z", &report->Uz, {0}},
  };
  int flag = create(check, P, 3);
  if (!flag)
    flag = compareAll(check, P, 3,
                      mech->model.udot_jac(check->s.t, check->q, check->u, check->z, P[0].user.S,
                                           P[1].user.S, P[2].user.S, mech->user_data),
                      "udot_jac");
  destroy(P, 3);
  return flag;
}

int cpCheckPartials(CPCheck *check) {
  const CPMechModel *m = &check->mech->model;
  int flag             = CP_SUCCESS;
  if (m->dynamics_jac && !check->mech->operators) flag = checkDynamics(check);
  if (!flag && m->constraint_jac && check->mech->na > 0) flag = checkConstraintJac(check);
  if (!flag && m->auxiliary_jac && check->mech->nz > 0) flag = checkAuxiliary(check);
  if (!flag && m->lambda_jac) flag = checkLambda(check);
  if (!flag && m->udot_jac) flag = checkAccelerations(check);
  return flag;
}
