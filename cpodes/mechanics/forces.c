/* Forces beside those of the model's f: its f_lambda, and those of CPMechAddForce. Those that do not depend
 * on the multipliers join f; with the others accelerations are iterated (multipliers.c). */
#include "forces.h"
#include "functions.h"

#include <math.h>
#include <string.h>

static int keepTemplate(CPMech mech, SUNMatrix *tmpl, int cols, const char *name,
                        const char *function) {
  if (!*tmpl) return CP_SUCCESS;
  const int flag = cpCheckPattern(&mech->log, *tmpl, mech->nu, cols, name, function);
  return flag ? flag : cpMechKeepTemplate(mech, tmpl, name, function);
}

/* Workspace for forces beside f, and for those that depend on multipliers. Of each, the array that is tested is the
 * last one that is allocated. Returns 0 or CP_MEM_FAIL. */
static int createWorkspace(CPMech mech) {
  CPMechMultipliers *it = &mech->multipliers;
  CPArena *arena        = &mech->set_up;
  if (!mech->room.force && (mech->forces.count > 0 || mech->eq->f_lambda))
    CP_ARRAYS(arena, mech->nu, &mech->room.force);
  if (!it->on && cpMechHasLambdaForces(mech)) {
    CP_ARRAYS(arena, mech->nu, &it->f, &it->before);
    CP_ARRAYS(arena, mech->m, &it->next, &it->step, &it->response);
    CP_NEW(arena, it->on, mech->m);
  }
  return cpArenaStatus(arena);
}

/* What depends on the forces: workspace, also for the derivatives with respect to multipliers, and which path
 * evaluations take. Returns 0 or CP_MEM_FAIL. */
int cpMechForcesSetUp(CPMech mech) {
  CPMechMultipliers *it = &mech->multipliers;
  const CPEquations *m  = mech->eq;
  mech->terms.are_plain = mech->terms.is_block && mech->na > 0 && m->M && m->f && m->b && m->A &&
                          !m->f_lambda && !m->udot && mech->forces.count == 0 &&
                          mech->motions->count == 0;
  if (createWorkspace(mech)) return CP_MEM_FAIL;
  if (it->sum.value || !cpMechKnowsLambdaJac(mech)) return CP_SUCCESS;
  int flag = cpUserMatCreate(&it->Fl, NULL, NULL, mech->nu, mech->na, mech->ctx);
  if (!flag) flag = cpMatCreateDense(&it->sum, mech->nu, mech->na);
  if (flag) cpUserMatFree(&it->Fl);
  return flag;
}

/* Forgets the last forces of the list that have been removed. */
static void forget(CPMech mech) {
  CPMechForceList *all = &mech->forces;
  for (; all->count > 0 && !all->list[all->count - 1].f; all->count--)
    all->on_lambda -= all->list[all->count - 1].on_lambda;
  if (mech->ready) cpMechForcesSetUp(mech); /* needs no memory: the derivatives have become fewer */
  cpMechSensForget(mech);
}

int CPMechAddForce(CPMech mech, const CPMechForce *force, int *id) {
  CPMechForce own;
  int flag = cpMechOption(mech, CP_MECH_BEFORE_ATTACH, __func__);
  if (!flag) flag = cpTake(&mech->log, &own, force, __func__);
  if (flag) return flag;
  if (!own.f) return cpRefuse(&mech->log, __func__, "force->f must not be NULL");
  if (own.lambda_jac && !own.on_lambda)
    return cpRefuse(&mech->log, __func__, "lambda_jac must not be given without on_lambda");
  if (mech->operators)
    return cpReport(&mech->log, CP_NOT_SUPPORTED, __func__,
                    "the accelerations of udot, without M or inverse, know no further forces");
  own.on_lambda = own.on_lambda != 0;
  flag          = keepTemplate(mech, &own.K_tmpl, mech->nu, "K_tmpl", __func__);
  if (!flag) flag = keepTemplate(mech, &own.C_tmpl, mech->nu, "C_tmpl", __func__);
  if (!flag) flag = keepTemplate(mech, &own.Fz_tmpl, mech->nz, "Fz_tmpl", __func__);
  if (flag) return flag;
  CPMechForceList *all = &mech->forces;
  CPMechForce *list    = cpMechGrow(mech, all->list, all->count, sizeof *list, __func__);
  if (!list) return CP_MEM_FAIL;
  list[all->count] = own;
  all->list        = list;
  all->on_lambda += own.on_lambda;
  if (id) *id = all->count;
  all->count++;
  cpMechSensForget(mech);
  if (!mech->ready || !cpMechForcesSetUp(mech)) return CP_SUCCESS;
  mech->set_up.failed         = 0;
  all->list[all->count - 1].f = NULL;
  forget(mech);
  return cpReport(&mech->log, CP_MEM_FAIL, __func__, "no memory for a force");
}

/* ---- -K q - C u of a model with constant stiffness and damping ---- */

static int springs(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   const sunrealtype *lambda, sunrealtype *f, void *data) {
  const struct CPModel_ *model = data;
  (void)t, (void)z, (void)lambda;
  if (model->stiffness.S) cpMatTimes(&model->stiffness.A, -1.0, q, 1.0, f);
  if (model->damping.S) cpMatTimes(&model->damping.A, -1.0, u, 1.0, f);
  return 0;
}

/* out = -X, if X is given; out has its pattern */
static void negate(const CPUserMat *X, SUNMatrix out) {
  const sunrealtype *from = X->S ? cpMatrixData(X->S) : NULL;
  const size_t entries    = X->S && out ? cpMatrixEntries(X->S) : 0;
  for (size_t k = 0; k < entries; k++) cpMatrixData(out)[k] = -from[k];
}

static int springsJac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                      const sunrealtype *z, const sunrealtype *lambda, SUNMatrix K, SUNMatrix C,
                      SUNMatrix Fz, void *data) {
  const struct CPModel_ *model = data;
  (void)t, (void)q, (void)u, (void)z, (void)lambda, (void)Fz;
  negate(&model->stiffness, K);
  negate(&model->damping, C);
  return 0;
}

int cpMechIsLinear(const CPMech mech) {
  return mech->model->constant && !mech->eq->f && !cpMechHasLambdaForces(mech) && mech->na == 0 &&
         mech->forces.own > 0;
}

int cpMechTakeSprings(CPMech mech) {
  const CPEquations *eq = mech->eq;
  if (!eq->stiffness && !eq->damping) return CP_SUCCESS;
  CPMechForceList *all = &mech->forces;
  if (!CP_NEW(&mech->memory, all->list, 1)) return CP_MEM_FAIL;
  all->count = all->own = 1;
  all->list[0]          = (CPMechForce){CP_SIZED(CPMechForce),
                                        .f      = springs,
                                        .jac    = springsJac,
                                        .K_tmpl = eq->stiffness ? eq->stiffness : eq->damping,
                                        .C_tmpl = eq->damping ? eq->damping : eq->stiffness,
                                        .data   = mech->model};
  return CP_SUCCESS;
}

/* ---- forces of the user's ---- */

int CPMechRemoveForce(CPMech mech, int id) {
  const int flag = cpMechOption(mech, CP_MECH_ANYTIME, __func__);
  if (flag) return flag;
  if (id < mech->forces.own || id >= mech->forces.count || !mech->forces.list[id].f)
    return cpRefuse(&mech->log, __func__, "there is no force %d", id);
  mech->forces.list[id].f =
      NULL; /* While the system is attached, its place and that of its derivatives stay. */
  if (!mech->host) forget(mech);
  return CP_SUCCESS;
}

/* room.force <- one of CPMechAddForce's, or 0 if it has been removed */
static int evaluate(CPMech mech, const CPMechForce *force, const CPMechState *s,
                    const double *lambda) {
  double *own = mech->room.force;
  memset(own, 0, (size_t)mech->nu * sizeof *own);
  if (!force->f) return CP_SUCCESS;
  const double *q = cpMechWhole(mech, s->q);
  const int flag =
      cpCallUser(&mech->log,
                 force->f(s->t, q, s->u, s->z, force->on_lambda ? lambda : NULL, own, force->data));
  cpMechEndWhole(mech, q);
  return cpMechChecked(mech, flag, s->t, "a force (CPMechAddForce)", own, mech->nu);
}

/* f += room.force, if nothing has failed */
static int add(const CPMech mech, int flag, double *f) {
  for (int j = 0; !flag && j < mech->nu; j++) f[j] += mech->room.force[j];
  return flag;
}

int cpMechAddForce(CPMech mech, const CPMechForce *force, const CPMechState *s,
                   const double *lambda, double *f) {
  return add(mech, evaluate(mech, force, s, lambda), f);
}

int cpMechAddForces(CPMech mech, const CPMechState *s, int on_lambda, const double *lambda,
                    double *f) {
  int flag = CP_SUCCESS;
  if (on_lambda && mech->eq->f_lambda) {
    double *own = mech->room.force;
    memset(own, 0, (size_t)mech->nu * sizeof *own);
    flag = cpMechCall(mech, f_lambda, s->t, s->q, s->u, s->z, lambda, own);
    flag = add(mech, cpMechChecked(mech, flag, s->t, "f_lambda", own, mech->nu), f);
  }
  for (int k = 0; !flag && k < mech->forces.count; k++) {
    const CPMechForce *force = &mech->forces.list[k];
    if (force->on_lambda == on_lambda) flag = cpMechAddForce(mech, force, s, lambda, f);
  }
  return flag;
}

int cpMechForcePower(CPMech mech, const CPMechState *s, const double *lambda, double *power) {
  int flag = CP_SUCCESS;
  for (int k = mech->forces.own; !flag && k < mech->forces.count; k++) {
    flag = evaluate(mech, &mech->forces.list[k], s, lambda);
    if (!flag) *power += cpDot(mech->room.force, s->u, mech->nu);
  }
  return flag;
}

int cpMechLinearizeForces(CPMech mech, const CPMechState *s) {
  int any = 0;
  for (int k = 0; k < mech->forces.count; k++) {
    const CPMechForce *force = &mech->forces.list[k];
    if (!force->f || !force->linearize) continue;
    const double *q = cpMechWhole(mech, s ? s->q : NULL);
    const int flag =
        cpCallUser(&mech->log, force->linearize(s ? s->t : NAN, q, s ? s->u : NULL, force->data));
    cpMechEndWhole(mech, q);
    if (flag < 0) return cpMechResult(mech, flag, s ? s->t : NAN, "linearize of a force");
    any |= flag;
  }
  return any;
}

int cpMechForcesByDifference(const CPMech mech) {
  int any = 0;
  for (int k = 0; k < mech->forces.count; k++) any |= !mech->forces.list[k].jac;
  return any;
}

int cpMechKnowsLambdaJac(const CPMech mech) {
  int known = cpMechHasLambdaForces(mech) && (!mech->eq->f_lambda || mech->eq->lambda_jac);
  for (int k = 0; k < mech->forces.count; k++)
    known = known && (!mech->forces.list[k].on_lambda || mech->forces.list[k].lambda_jac);
  return known;
}

/* Zeroes the columns of dense Fl whose rows are on. */
static void clearColumns(CPMech mech, CPMat *Fl) {
  for (int k = 0; k < mech->na; k++)
    if (!mech->rows.off[k]) memset(cpMatAt(Fl, 0, k), 0, (size_t)mech->nu * sizeof(double));
}

/* Of thousands of contacts few are closed, and Fl is dense: the other columns are neither cleared nor read. */
int cpMechLambdaJac(CPMech mech, const CPMechState *s, const double *lambda, CPMat *Fl) {
  CPUserMat *one = &mech->multipliers.Fl;
  int flag       = CP_SUCCESS;
  clearColumns(mech, Fl);
  for (int k = -1; !flag && k < mech->forces.count; k++) { /* -1: the model's */
    const CPMechForce *force = k >= 0 ? &mech->forces.list[k] : NULL;
    if (force ? !force->f || !force->on_lambda : !mech->eq->f_lambda) continue;
    clearColumns(mech, &one->A);
    const double *q = force ? cpMechWhole(mech, s->q) : s->q;
    flag            = force ? cpCallUser(&mech->log,
                                         force->lambda_jac(s->t, q, s->u, s->z, lambda, one->S, force->data))
                            : cpMechCall(mech, lambda_jac, s->t, q, s->u, s->z, lambda, one->S);
    cpMechEndWhole(mech, q);
    if (flag) return cpMechTake(mech, one, flag, s->t, "lambda_jac");
    for (int i = 0; !flag && i < mech->na; i++) {
      if (mech->rows.off[i]) continue;
      const double *column = cpMatAt(&one->A, 0, i);
      double *sum          = cpMatAt(Fl, 0, i);
      if (!cpAllFinite(column, mech->nu)) flag = cpMechTake(mech, one, 0, s->t, "lambda_jac");
      for (int j = 0; j < mech->nu; j++) sum[j] += column[j];
    }
  }
  return flag;
}
