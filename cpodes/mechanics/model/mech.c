/* CPMech: life cycle, and the checks that its functions share. */
#include "cpodes/mechanics/mechanics_impl.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the rules of a model ---- */

typedef struct {
  const char *name;
  sunindextype value;
} Size;

static int checkSizes(const CPMechModel *m, const char *function) {
  const Size sizes[] = {{"nq", m->nq}, {"nz", m->nz}, {"np", m->np}, {"nv", m->nv}, {"na", m->na}};
  if (m->nu < 1)
    return cpReport(NULL, CP_ILL_INPUT, function, "nu must be positive: nu = %ld", (long)m->nu);
  for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
    if (sizes[k].value < 0 || sizes[k].value > INT_MAX / 4)
      return cpReport(NULL, CP_ILL_INPUT, function, "%s must be from 0 to %d: %s = %ld",
                      sizes[k].name, INT_MAX / 4, sizes[k].name, (long)sizes[k].value);
  if (m->nu > INT_MAX / 4)
    return cpReport(NULL, CP_ILL_INPUT, function, "nu must be at most %d: nu = %ld", INT_MAX / 4,
                    (long)m->nu);
  if (m->nq > 0 && m->nq < m->nu)
    return cpReport(NULL, CP_ILL_INPUT, function, "nq must be at least nu: nq = %ld, nu = %ld",
                    (long)m->nq, (long)m->nu);
  return CP_SUCCESS;
}

/* A function without rows: its number has been forgotten. Else the run would ignore it. */
static const char *withoutRows(const CPMechModel *m, sunindextype nv, sunindextype na) {
  if (m->p && m->np == 0) return "p must not be given if np = 0: np is the number of its rows";
  if (m->v && nv == 0) return "v must not be given if np = nv = 0: nv is the number of its rows";
  if ((m->A || m->Au || m->ATl || m->b) && na == 0)
    return "A, b, Au, ATl must not be given if np = nv = na = 0, the numbers of constraints";
  if (m->zdot && m->nz == 0)
    return "zdot must not be given if nz = 0: nz is the number of its rows";
  return NULL;
}

/* The function that is missing, and why it is needed, or NULL. */
static const char *missingFunction(const CPMechModel *m, sunindextype nv, sunindextype na) {
  const int operators = !m->M;
  if (operators && !m->udot) return "M or udot must be given";
  if (operators && (m->A || m->f || m->f_lambda))
    return "without M, udot must not be given together with A, f or f_lambda";
  if (operators && na > 0 && (!m->Au || !m->ATl)) return "Au and ATl must be given with udot";
  if (!operators && na > 0 && !m->A) return "A must be given if there are constraints";
  if (m->np > 0 && !m->p) return "p must be given if np > 0";
  if (na > nv && !m->b && !operators) return "b must be given if na > nv";
  if (m->nz > 0 && !m->zdot) return "zdot must be given if nz > 0";
  if (m->lambda_jac && !m->f_lambda) return "lambda_jac must not be given without f_lambda";
  return NULL;
}

static int checkModel(const CPMechModel *m, N_Vector y_tmpl, SUNContext ctx, const char *function) {
  if (!m || !y_tmpl || !ctx)
    return cpReport(NULL, CP_ILL_INPUT, function, "%s must not be NULL",
                    !m        ? "model"
                    : !y_tmpl ? "y_tmpl"
                              : "ctx");
  const int flag = checkSizes(m, function);
  if (flag) return flag;
  const sunindextype nv = m->nv > m->np ? m->nv : m->np, na = m->na > nv ? m->na : nv;
  const sunindextype nq = m->nq > 0 ? m->nq : m->nu, n = nq + m->nu + m->nz;
  const char *broken = missingFunction(m, nv, na);
  if (!broken) broken = withoutRows(m, nv, na);
  if (broken) return cpReport(NULL, CP_ILL_INPUT, function, "%s", broken);
  if (N_VGetLength(y_tmpl) != n)
    return cpReport(NULL, CP_ILL_INPUT, function,
                    "y_tmpl must have length nq + nu + nz = %ld, has %ld", (long)n,
                    (long)N_VGetLength(y_tmpl));
  if (!cpHasData(y_tmpl))
    return cpReport(NULL, CP_ILL_INPUT, function,
                    "y_tmpl must be a vector in one memory (serial, OpenMP, pthreads)");
  return CP_SUCCESS;
}

/* ---- creation ---- */

static void setSizes(CPMech mech, const CPMechModel *m) {
  mech->model     = *m;
  mech->nu        = (int)m->nu;
  mech->nq        = m->nq > 0 ? (int)m->nq : mech->nu;
  mech->nz        = (int)m->nz;
  mech->np        = (int)m->np;
  mech->nv        = m->nv > m->np ? (int)m->nv : mech->np;
  mech->na        = m->na > mech->nv ? (int)m->na : mech->nv;
  mech->m         = mech->na;
  mech->n         = mech->nq + mech->nu + mech->nz;
  mech->operators = !m->M;
}

static void setDefaults(CPMech mech) {
  mech->lambda_rtol     = CP_LAMBDA_RTOL;
  mech->lambda_atol     = CP_LAMBDA_ATOL;
  mech->lambda_maxiters = CP_LAMBDA_MAXITERS;
  mech->difference_time = 1.0;
  mech->stats.rank      = -1;
}

typedef struct {
  SUNMatrix *tmpl;
  int rows, cols;
  const char *name;
} Template;

enum { TEMPLATES = 10 };

/* All templates of the model, with their sizes. */
static void templatesOf(CPMech mech, Template list[TEMPLATES]) {
  CPMechModel *m = &mech->model;
  const int nu = mech->nu, na = mech->na, nz = mech->nz;
  const Template all[TEMPLATES] = {
      {&m->M_tmpl, nu, nu, "M_tmpl"},   {&m->A_tmpl, na, nu, "A_tmpl"},
      {&m->K_tmpl, nu, nu, "K_tmpl"},   {&m->C_tmpl, nu, nu, "C_tmpl"},
      {&m->Fz_tmpl, nu, nz, "Fz_tmpl"}, {&m->Bq_tmpl, na, nu, "Bq_tmpl"},
      {&m->Bu_tmpl, na, nu, "Bu_tmpl"}, {&m->Zq_tmpl, nz, nu, "Zq_tmpl"},
      {&m->Zu_tmpl, nz, nu, "Zu_tmpl"}, {&m->Zz_tmpl, nz, nz, "Zz_tmpl"},
  };
  memcpy(list, all, sizeof all);
}

/* M and A: as projections want them. */
static int checkTemplate(const CPMech mech, const Template *T, SUNMatrix given,
                         const char *function) {
  const CPMechModel *m = &mech->model;
  if (T->tmpl == &m->M_tmpl && SUNMatGetID(given) == SUNMATRIX_SPARSE)
    return cpCheckMetricTemplate(NULL, given, T->rows, function);
  if (T->tmpl == &m->A_tmpl)
    return cpCheckTemplate(NULL, given, T->rows, T->cols, T->name, function);
  return cpCheckPattern(NULL, given, T->rows, T->cols, T->name, function);
}

/* Templates are the user's until this has cloned them. */
static int cloneTemplates(CPMech mech, const char *function) {
  Template list[TEMPLATES];
  int flag = CP_SUCCESS;
  templatesOf(mech, list);
  for (int k = 0; k < TEMPLATES; k++) {
    SUNMatrix given = *list[k].tmpl;
    *list[k].tmpl   = NULL;
    if (!given || flag) continue;
    flag = checkTemplate(mech, &list[k], given, function);
    if (flag) continue;
    *list[k].tmpl = SUNMatClone(given);
    if (!*list[k].tmpl)
      flag = cpReport(NULL, CP_MEM_FAIL, function, "no memory for %s", list[k].name);
    else cpMatrixZero(*list[k].tmpl, given);
  }
  return flag;
}

static int allocate(CPMech mech, N_Vector y_tmpl) {
  const size_t nu = (size_t)mech->nu, m = (size_t)mech->m;
  mech->y_tmpl  = N_VClone(y_tmpl);
  mech->pair    = calloc(nu, sizeof *mech->pair);
  mech->is_full = calloc(nu, 1);
  mech->off     = calloc(m + 1, 1);
  return mech->y_tmpl && mech->pair && mech->is_full && mech->off ? CP_SUCCESS : CP_MEM_FAIL;
}

CPMech CPMechCreate(const CPMechModel *model, N_Vector y_tmpl, SUNContext ctx) {
  if (checkModel(model, y_tmpl, ctx, __func__)) return NULL;
  CPMech mech = calloc(1, sizeof *mech);
  int flag    = mech ? CP_SUCCESS : CP_MEM_FAIL;
  if (mech) {
    mech->ctx = ctx;
    setSizes(mech, model);
    setDefaults(mech);
    flag = cloneTemplates(mech, __func__);
    if (!flag && !(flag = allocate(mech, y_tmpl))) flag = cpMechProjectorCreate(mech);
    if (flag) CPMechFree(&mech);
  }
  if (flag == CP_MEM_FAIL) cpReport(NULL, flag, __func__, "no memory for a mechanical system");
  return mech;
}

void CPMechFree(CPMech *address) {
  CPMech mech = address ? *address : NULL;
  if (!mech) return;
  const CPStepper host = mech->host;
  if (host) { /* which should have been freed before */
    cpMechDetach(mech);
    cpStepperSystemFreed(host);
  }
  Template list[TEMPLATES];
  templatesOf(mech, list);
  for (int k = 0; k < TEMPLATES; k++)
    if (*list[k].tmpl) SUNMatDestroy(*list[k].tmpl);
  cpMechNewtonFree(&mech->newton);
  cpMechSensFree(&mech->sens);
  cpMechStageFree(mech);
  CPProjectorFree(&mech->P);
  cpMechTearDown(mech);
  if (mech->linear) cpMechLinearFree(&mech->linear);
  if (mech->y_tmpl) N_VDestroy(mech->y_tmpl);
  free(mech->pair);
  free(mech->is_full);
  free(mech->off);
  free(mech->quaternions);
  free(mech->norms);
  free(mech->prescribed);
  free(mech->z_order);
  free(mech);
  *address = NULL;
}

/* ---- what the functions share ---- */

int cpMechOption(CPMech mech, int before_use, const char *function) {
  if (!mech) return cpReport(NULL, CP_MEM_NULL, function, "mech must not be NULL");
  if (before_use && mech->ready)
    return cpReport(&mech->log, CP_TOO_LATE, function,
                    "the system is in use: this option comes before its first use");
  return CP_SUCCESS;
}

int cpMechReport(CPMech mech, int flag, const char *function) {
  if (!flag) return CP_SUCCESS;
  return cpReport(&mech->log, flag > 0 ? -flag : flag, function, "%s", mech->text);
}

static int checkVector(CPMech mech, N_Vector y, const char *name, const char *function) {
  if (!y) return cpReport(&mech->log, CP_ILL_INPUT, function, "%s must not be NULL", name);
  if (N_VGetLength(y) != mech->n)
    return cpReport(&mech->log, CP_ILL_INPUT, function,
                    "%s must have length nq + nu + nz = %d, has %ld", name, mech->n,
                    (long)N_VGetLength(y));
  if (!cpHasData(y))
    return cpReport(&mech->log, CP_ILL_INPUT, function, "%s must be a vector in one memory", name);
  if (cpVectorFinite(y)) return CP_SUCCESS;
  const int bad = cpFirstNonFinite(y);
  return cpReport(&mech->log, CP_ILL_INPUT, function, "%s must be finite: %s[%d] = %g", name, name,
                  bad, N_VGetArrayPointer(y)[bad]);
}

static int zeroQuaternion(CPMech mech, const sunrealtype *q, const char *function) {
  for (int k = 0; k < mech->nquaternions; k++) {
    const int i = mech->quaternions[k].first_q;
    if (q[i] != 0.0 || q[i + 1] != 0.0 || q[i + 2] != 0.0 || q[i + 3] != 0.0) continue;
    return cpReport(&mech->log, CP_QUATERNION_ZERO, function,
                    "the quaternion of coordinates %d to %d must not be zero", i, i + 3);
  }
  return CP_SUCCESS;
}

int cpMechCheckState(CPMech mech, N_Vector y, const char *function) {
  int flag = cpMechOption(mech, 0, function);
  if (!flag) flag = checkVector(mech, y, "y", function);
  if (!flag) flag = zeroQuaternion(mech, N_VGetArrayPointer(y), function);
  if (!flag && !mech->ready) flag = cpMechSetUp(mech, function);
  return flag;
}
