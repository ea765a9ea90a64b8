/* Partial derivatives that the user gives, against differences (functions.c) with respect to q (along
 * N e_j), u, z and lambda. */
#include "check_impl.h"

/* The matrix of derivatives of f in all directions of one kind. */
typedef struct {
  const char *name, *expected;
  SUNMatrix tmpl;
  CPFunction f;
  int (*along)(CPCheck *check, int j);
  int cols, handed_out;
  sunrealtype *result;
  CPUserMat user; /* S NULL: it does not exist, or is not handed out */
} Partial;

static Partial partial(const char *name, const char *expected, CPFunction f,
                       int (*along)(CPCheck *check, int j), int cols, SUNMatrix tmpl,
                       sunrealtype *result) {
  return (Partial){.name       = name,
                   .expected   = expected,
                   .f          = f,
                   .along      = along,
                   .cols       = cols,
                   .tmpl       = tmpl,
                   .handed_out = 1,
                   .result     = result};
}

/* ---- the comparison ---- */

static int create(CPCheck *check, Partial *P, int count) {
  int flag = CP_SUCCESS;
  for (int k = 0; !flag && k < count; k++) {
    if (!P[k].handed_out || P[k].f.rows == 0 || P[k].cols == 0) continue;
    flag = cpUserMatCreate(&P[k].user, P[k].tmpl, P[k].f.rows, P[k].cols, check->mech->ctx);
    if (!flag) cpUserMatClear(&P[k].user);
  }
  return flag ? cpReason(check->mech->text, flag, "no memory for partial derivatives") : flag;
}

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

/* After the user's function, which has returned flag. Frees P. */
static int compareAll(CPCheck *check, Partial *P, int count, int flag, const char *function) {
  const CPMech mech = check->mech;
  for (int k = 0; !flag && k < count; k++)
    if (P[k].user.S) flag = cpMechTake(mech, &P[k].user, CP_SUCCESS, check->s.t, function);
  for (int k = 0; !flag && k < count; k++)
    if (P[k].user.S) flag = compareColumns(check, &P[k]);
  for (int k = 0; k < count; k++) cpUserMatFree(&P[k].user);
  return flag;
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
  const CPFunction F = {mech->nu, cpDynamicsOf}, f = {mech->nu, cpForcesOf};
  SUNMatrix C_tmpl = m->C_tmpl ? m->C_tmpl : m->K_tmpl;
  Partial P[] = {partial("dynamics_jac: K", "the derivative of f - M u' - A^T lambda along N e_j",
                         F, cpAlongPosition, mech->nu, m->K_tmpl, &report->K),
                 partial("dynamics_jac: C", "the derivative of f with respect to u", f,
                         cpAlongVelocity, mech->nu, C_tmpl, &report->C),
                 partial("dynamics_jac: Fz", "the derivative of f with respect to z", f,
                         cpAlongAuxiliary, mech->nz, m->Fz_tmpl, &report->Fz)};
  P[0].handed_out = isHandedOut(mech, m->K_tmpl);
  P[1].handed_out = isHandedOut(mech, C_tmpl);
  int flag        = create(check, P, 3);
  if (!flag)
    flag = cpMechResult(mech,
                        m->dynamics_jac(check->s.t, check->q, check->u, check->z, check->a,
                                        check->lambda, P[0].user.S, P[1].user.S, P[2].user.S,
                                        mech->user_data),
                        check->s.t, "dynamics_jac");
  return compareAll(check, P, 3, flag, "dynamics_jac");
}

static int checkConstraintJac(CPCheck *check) {
  const CPMech mech    = check->mech;
  const CPMechModel *m = &mech->model;
  CPMechReport *report = check->report;
  const CPFunction B   = {mech->na, cpConstraintsOf};
  Partial P[]          = {partial("constraint_jac: Bq", "the derivative of b - A u' along N e_j", B,
                                  cpAlongPosition, mech->nu, m->Bq_tmpl, &report->Bq),
                          partial("constraint_jac: Bu", "the derivative of b with respect to u", B,
                                  cpAlongVelocity, mech->nu, m->Bu_tmpl, &report->Bu)};
  for (int k = 0; k < 2; k++) P[k].handed_out = isHandedOut(mech, P[k].tmpl);
  int flag = create(check, P, 2);
  if (!flag)
    flag = cpMechResult(mech,
                        m->constraint_jac(check->s.t, check->q, check->u, check->a, P[0].user.S,
                                          P[1].user.S, mech->user_data),
                        check->s.t, "constraint_jac");
  return compareAll(check, P, 2, flag, "constraint_jac");
}

static int checkAuxiliary(CPCheck *check) {
  const CPMech mech    = check->mech;
  const CPMechModel *m = &mech->model;
  CPMechReport *report = check->report;
  const CPFunction z   = {mech->nz, cpAuxiliaryOf};
  Partial P[]          = {partial("auxiliary_jac: Zq", "the derivative of zdot along N e_j", z,
                                  cpAlongPosition, mech->nu, m->Zq_tmpl, &report->Zq),
                          partial("auxiliary_jac: Zu", "the derivative of zdot with respect to u", z,
                                  cpAlongVelocity, mech->nu, m->Zu_tmpl, &report->Zu),
                          partial("auxiliary_jac: Zz", "the derivative of zdot with respect to z", z,
                                  cpAlongAuxiliary, mech->nz, m->Zz_tmpl, &report->Zz)};
  int flag             = create(check, P, 3);
  if (!flag)
    flag = cpMechResult(mech,
                        m->auxiliary_jac(check->s.t, check->q, check->u, check->z, check->lambda,
                                         P[0].user.S, P[1].user.S, P[2].user.S, mech->user_data),
                        check->s.t, "auxiliary_jac");
  return compareAll(check, P, 3, flag, "auxiliary_jac");
}

static int checkLambda(CPCheck *check) {
  const CPMech mech  = check->mech;
  const CPFunction f = {mech->nu, cpForcesOf};
  Partial P          = partial("lambda_jac: Fl", "the derivative of f_lambda", f, cpAlongMultiplier,
                               mech->na, NULL, &check->report->Fl);
  int flag           = create(check, &P, 1);
  if (!flag && P.user.S)
    flag = cpMechResult(mech,
                        mech->model.lambda_jac(check->s.t, check->q, check->u, check->z,
                                               check->lambda, P.user.S, mech->user_data),
                        check->s.t, "lambda_jac");
  return compareAll(check, &P, 1, flag, "lambda_jac");
}

static int checkAccelerations(CPCheck *check) {
  const CPMech mech    = check->mech;
  CPMechReport *report = check->report;
  const CPFunction a   = {mech->nu, cpAccelerationsOf};
  Partial P[] = {partial("udot_jac: Uq", "the derivative of u' along N e_j", a, cpAlongPosition,
                         mech->nu, NULL, &report->Uq),
                 partial("udot_jac: Uu", "the derivative of u' with respect to u", a,
                         cpAlongVelocity, mech->nu, NULL, &report->Uu),
                 partial("udot_jac: Uz", "the derivative of u' with respect to z", a,
                         cpAlongAuxiliary, mech->nz, NULL, &report->Uz)};
  int flag    = create(check, P, 3);
  if (!flag)
    flag = cpMechResult(mech,
                        mech->model.udot_jac(check->s.t, check->q, check->u, check->z, P[0].user.S,
                                             P[1].user.S, P[2].user.S, mech->user_data),
                        check->s.t, "udot_jac");
  return compareAll(check, P, 3, flag, "udot_jac");
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
