/* CPMech: the rules for the model's sizes and functions, life cycle, set-up at the first use, and
 * the checks that the public functions share. */
#include "mechanics_impl.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the rules of a model ---- */

static int isSparse(SUNMatrix S) { return S && SUNMatGetID(S) == SUNMATRIX_SPARSE; }

/* Returns what is wrong with the model's choice of functions, or NULL. A function without rows
 * would be ignored, so the user must have forgotten its number of rows. */
static const char *wrongFunctions(const CPEquations *m, sunindextype nv, sunindextype na) {
  const int operators = !m->M && !m->inverse, columns = !m->M && m->inverse,
            products = m->Au != NULL, no_A = !m->A && !(m->inverse && products);
  const struct {
    int wrong;
    const char *message;
  } rules[] = {
      {operators && !m->udot, "M, inverse or udot must be given"},
      {operators && (m->A || m->f || m->f_lambda),
       "without M and inverse, udot must not be given together with A, f or f_lambda"},
      {operators && na > 0 && (!m->Au || !m->ATl), "Au and ATl must be given with udot"},
      {m->inverse && m->f, "f must not be given with inverse, which contains the forces"},
      {m->inverse && m->A && (m->Au || m->ATl),
       "either A, or Au and ATl must be given with inverse"},
      {m->inverse && !m->Au != !m->ATl, "Au and ATl must be given together"},
      {columns && isSparse(m->M_tmpl),
       "M must be given with a sparse M_tmpl: inverse and Mu make a dense one"},
      {columns && m->nz > 0 && !m->Mu,
       "M or Mu must be given with inverse if nz > 0: there is no z for which inverse gives M"},
      {!operators && na > nv && no_A, "A must be given if na > nv"},
      {!operators && nv > m->np && no_A && !m->v, "A or v must be given if nv > np"},
      {!operators && na > 0 && !m->A && (isSparse(m->M_tmpl) || isSparse(m->A_tmpl)),
       "A must be given with sparse templates of M or A: products and differences make a dense "
       "one"},
      {m->np > 0 && !m->p, "p must be given if np > 0"},
      {!operators && na > nv && !m->b, "b must be given if na > nv"},
      {m->nz > 0 && !m->zdot, "zdot must be given if nz > 0"},
      {m->lambda_jac && !m->f_lambda, "lambda_jac must not be given without f_lambda"},
      {m->p && m->np == 0, "p must not be given if np = 0: np is the number of its rows"},
      {m->v && nv == 0, "v must not be given if np = nv = 0: nv is the number of its rows"},
      {na == 0 && (m->A || m->Au || m->ATl || m->b),
       "A, b, Au, ATl must not be given if np = nv = na = 0, the numbers of constraints"},
      {m->zdot && m->nz == 0, "zdot must not be given if nz = 0: nz is the number of its rows"},
  };
  for (size_t k = 0; k < sizeof rules / sizeof rules[0]; k++)
    if (rules[k].wrong) return rules[k].message;
  return NULL;
}

static void destroyMatrix(void *S) { SUNMatDestroy(S); }

int cpMechKeepTemplate(CPMech mech, SUNMatrix *tmpl, const char *name, const char *function) {
  *tmpl = cpArenaOwn(&mech->memory, cpTemplateClone(*tmpl), destroyMatrix);
  return *tmpl ? CP_SUCCESS : cpReport(&mech->log, CP_MEM_FAIL, function, "no memory for %s", name);
}

static sunindextype larger(sunindextype a, sunindextype b) { return a > b ? a : b; }

static int checkModel(const CPEquations *m, N_Vector y_tmpl, SUNContext ctx, const char *function) {
  const char *missing = !m ? "model" : !y_tmpl ? "y_tmpl" : !ctx ? "ctx" : NULL;
  if (missing) return cpRefuse(NULL, function, "%s must not be NULL", missing);
  const struct {
    const char *name;
    sunindextype value;
  } sizes[] = {{"nu", m->nu}, {"nq", m->nq}, {"nz", m->nz},
               {"np", m->np}, {"nv", m->nv}, {"na", m->na}};
  if (m->nu < 1) return cpRefuse(NULL, function, "nu must be positive: nu = %ld", (long)m->nu);
  for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
    if (sizes[k].value < 0 || sizes[k].value > INT_MAX / 4)
      return cpRefuse(NULL, function, "%s must be from 0 to %d: %s = %ld", sizes[k].name,
                      INT_MAX / 4, sizes[k].name, (long)sizes[k].value);
  if (m->nq > 0 && m->nq < m->nu)
    return cpRefuse(NULL, function, "nq must be at least nu: nq = %ld, nu = %ld", (long)m->nq,
                    (long)m->nu);
  const sunindextype nv = larger(m->nv, m->np), n = (m->nq > 0 ? m->nq : m->nu) + m->nu + m->nz;
  if (m->nquad < 0 || m->nquad > m->nz)
    return cpRefuse(NULL, function, "nquad must be from 0 to nz: nquad = %ld, nz = %ld",
                    (long)m->nquad, (long)m->nz);
  const char *wrong = wrongFunctions(m, nv, larger(m->na, nv));
  if (wrong) return cpRefuse(NULL, function, "%s", wrong);
  if (N_VGetLength(y_tmpl) != n)
    return cpRefuse(NULL, function, "y_tmpl must have length nq + nu + nz = %ld, has %ld", (long)n,
                    (long)N_VGetLength(y_tmpl));
  if (!cpHasData(y_tmpl))
    return cpRefuse(NULL, function,
                    "y_tmpl must be a vector in one memory (serial, OpenMP, pthreads)");
  return CP_SUCCESS;
}

/* ---- creation ---- */

/* Replaces the model's templates, which stay the caller's, by copies. Those of M and A must have
 * patterns that projections accept. */
static int cloneTemplates(CPMech mech, const char *function) {
  CPEquations *m = &mech->model;
  const int nu = mech->nu, na = mech->na, nz = mech->nz;
  const struct {
    SUNMatrix *tmpl;
    int rows, cols;
    const char *name;
  } all[] = {
      {&m->M_tmpl, nu, nu, "M_tmpl"},   {&m->A_tmpl, na, nu, "A_tmpl"},
      {&m->K_tmpl, nu, nu, "K_tmpl"},   {&m->C_tmpl, nu, nu, "C_tmpl"},
      {&m->Fz_tmpl, nu, nz, "Fz_tmpl"}, {&m->Bq_tmpl, na, nu, "Bq_tmpl"},
      {&m->Bu_tmpl, na, nu, "Bu_tmpl"}, {&m->Zq_tmpl, nz, nu, "Zq_tmpl"},
      {&m->Zu_tmpl, nz, nu, "Zu_tmpl"}, {&m->Zz_tmpl, nz, nz, "Zz_tmpl"},
  };
  int flag = CP_SUCCESS;
  for (size_t k = 0; !flag && k < sizeof all / sizeof all[0]; k++) {
    SUNMatrix given = *all[k].tmpl;
    if (!given) continue;
    if (all[k].tmpl == &m->M_tmpl && SUNMatGetID(given) == SUNMATRIX_SPARSE)
      flag = cpCheckMetricTemplate(NULL, given, nu, function);
    else if (all[k].tmpl == &m->A_tmpl)
      flag = cpCheckTemplate(NULL, given, na, nu, all[k].name, function);
    else flag = cpCheckPattern(NULL, given, all[k].rows, all[k].cols, all[k].name, function);
    if (!flag) flag = cpMechKeepTemplate(mech, all[k].tmpl, all[k].name, function);
  }
  return flag;
}

static int create(CPMech mech, const CPEquations *m, N_Vector y_tmpl, const char *function) {
  mech->model     = *m;
  mech->user_data = m->data;
  mech->nu        = (int)m->nu;
  mech->nq        = m->nq > 0 ? (int)m->nq : mech->nu;
  mech->nz        = (int)m->nz;
  mech->np        = (int)m->np;
  mech->nv        = (int)larger(m->nv, m->np);
  mech->m = mech->na            = (int)larger(m->na, mech->nv);
  mech->n                       = mech->nq + mech->nu + mech->nz;
  mech->operators               = !m->M && !m->inverse;
  mech->multipliers.rtol        = CP_LAMBDA_RTOL;
  mech->multipliers.maxiters    = CP_LAMBDA_MAXITERS;
  mech->options.difference_time = 1.0;
  mech->stats.rank              = -1;
  const int flag                = cloneTemplates(mech, function);
  if (flag) return flag;
  mech->y_tmpl = cpArenaVector(&mech->memory, y_tmpl);
  CP_NEW(&mech->memory, mech->coords.pair, mech->nu);
  CP_NEW(&mech->memory, mech->motions.is_full, mech->nu);
  CP_NEW(&mech->memory, mech->rows.off, mech->na + mech->nq); /* each coordinate may be prescribed */
  if (cpArenaStatus(&mech->memory) || cpMechProjectorCreate(mech))
    return cpReport(NULL, CP_MEM_FAIL, function, "no memory for a mechanical system");
  return CP_SUCCESS;
}

CPMech CPMechCreate(const CPEquations *model, N_Vector y_tmpl, SUNContext ctx) {
  if (checkModel(model, y_tmpl, ctx, __func__)) return NULL;
  CPMech mech = calloc(1, sizeof *mech);
  if (!mech)
    return cpReport(NULL, CP_MEM_FAIL, __func__, "no memory for a mechanical system"), NULL;
  mech->ctx = ctx;
  if (create(mech, model, y_tmpl, __func__)) CPMechFree(&mech);
  return mech;
}

void CPMechFree(CPMech *address) {
  CPMech mech = address ? *address : NULL;
  if (!mech || cpMechOption(mech, CP_MECH_ANYTIME, __func__)) return;
  const CPIntegrator host = mech->host;
  if (host) { /* The integrator should have been freed before its system. */
    cpMechDetach(mech);
    cpStepperSystemFreed(host);
  }
  cpMechImplicitFree(&mech->implicit);
  cpMechNewtonFree(&mech->newton);
  cpMechSensFree(&mech->sens);
  CPProjectorFree(&mech->P);
  cpMechTearDown(mech);
  cpMechLinearFree(&mech->linear);
  cpArenaFree(&mech->memory);
  free(mech);
  *address = NULL;
}

void *cpMechGrow(CPMech mech, void *array, int count, size_t size, const char *function) {
  if ((count & (count - 1)) != 0) return array; /* The capacity is the next power of two. */
  void *grown         = cpArenaAlloc(&mech->memory, count > 0 ? 2 * (size_t)count : 1, size);
  mech->memory.failed = 0; /* The system remains usable as it is. */
  if (!grown) cpReport(&mech->log, CP_MEM_FAIL, function, "no memory for another entry");
  else if (count > 0) memcpy(grown, array, (size_t)count * size);
  return grown;
}

/* ---- set-up ---- */

/* Creates A = [userA; e_j^T of the motions] and the indices of userA's entries in it. A is userA
 * itself if no motion has a row. */
static int createA(CPMech mech) {
  const CPMat *U   = &mech->userA.A;
  CPMat *A         = &mech->A;
  CPPlaces all     = {0};
  mech->rows.place = NULL;
  *A               = *U;
  if (mech->m == mech->na) return CP_SUCCESS;
  if (U->start) cpPlacesAddMat(&all, U, 0, 0, 0);
  for (int k = 0; U->start && k < mech->motions.count; k++)
    if (mech->motions.list[k].row >= 0)
      cpPlacesAdd(&all, mech->motions.list[k].row, mech->motions.list[k].j);
  const int flag = U->start ? cpMatFromPlaces(A, mech->m, mech->nu, &all)
                            : cpMatCreateDense(A, mech->m, mech->nu);
  CP_NEW(&mech->set_up, mech->rows.place, cpMatEntries(U));
  if (flag || !mech->rows.place) return CP_MEM_FAIL;
  for (int j = 0; j < mech->nu; j++)
    for (size_t k = cpMatFirst(U, j); k < cpMatFirst(U, j + 1); k++)
      mech->rows.place[k] = (size_t)(cpMatAt(A, cpMatRow(U, j, k), j) - A->value);
  for (int k = 0; k < mech->motions.count; k++)
    if (mech->motions.list[k].row >= 0)
      *cpMatAt(A, mech->motions.list[k].row, mech->motions.list[k].j) = 1.0;
  return CP_SUCCESS;
}

/* With more entries, one loop over all of them saves no noticeable time. */
#define ONE_BLOCK 1024

/* Allocates f and b, and places M and A behind them if they are dense and small. */
static int createTerms(CPMech mech) {
  CPMechTerms *own = &mech->terms;
  const CPMat *M = &mech->userM.A, *A = &mech->userA.A;
  const size_t vectors = (size_t)mech->nu + (size_t)mech->m,
               all     = vectors + cpMatEntries(M) + cpMatEntries(A);
  own->is_block        = !M->start && !A->start && all <= ONE_BLOCK;
  own->length          = own->is_block ? all : vectors;
  own->are_plain       = own->is_block && mech->na > 0 && mech->model.f && mech->model.b &&
                   mech->model.A && !mech->model.f_lambda && !mech->model.udot &&
                   mech->forces.count == 0 && mech->motions.count == 0;
  CP_NEW(&mech->set_up, own->f, own->length);
  if (!own->f) return CP_MEM_FAIL;
  own->b = own->f + mech->nu;
  if (!own->is_block) return CP_SUCCESS;
  cpUserMatPlace(&mech->userM, own->f + vectors);
  cpUserMatPlace(&mech->userA, own->f + vectors + cpMatEntries(M));
  return CP_SUCCESS;
}

/* Without rows, A is as sparse as M. */
static int createMatrices(CPMech mech) {
  CPEquations *model = &mech->model;
  int flag           = cpUserMatCreate(&mech->userM, model->M_tmpl, mech->nu, mech->nu, mech->ctx);
  if (!flag) flag = cpUserMatCreate(&mech->userA, model->A_tmpl, mech->na, mech->nu, mech->ctx);
  if (!flag && mech->userM.A.start && mech->na == 0) {
    cpUserMatFree(&mech->userA);
    flag = cpMatCreateSparse(&mech->userA.A, 0, mech->nu, 0);
  }
  if (!flag) flag = createTerms(mech);
  if (!flag && cpMechKnowsLambdaJac(mech)) {
    flag = cpUserMatCreate(&mech->multipliers.Fl, NULL, mech->nu, mech->na, mech->ctx);
    if (!flag) flag = cpMatCreateDense(&mech->multipliers.sum, mech->nu, mech->na);
  }
  if (!flag) flag = createA(mech);
  if (!flag && mech->motions.nfull > 0) flag = cpMatClone(&mech->reduced.M, &mech->userM.A);
  if (!flag && mech->motions.nfull > 0) flag = cpMatClone(&mech->reduced.A, &mech->A);
  if (flag) return flag;
  const CPSaddleOptions options = {
      .type = cpSaddleOfKkt(mech->options.linsol), .shortest = 1, .finest = CP_SADDLE_FINEST};
  return cpSaddleCreate(&mech->kkt, options,
                        mech->motions.nfull > 0 ? &mech->reduced.M : &mech->userM.A,
                        mech->motions.nfull > 0 ? &mech->reduced.A : &mech->A);
}

static int createRows(CPMech mech) {
  CPArena *arena = &mech->set_up;
  CP_NEW(arena, mech->rows.at_position, mech->m);
  CP_NEW(arena, mech->rows.at_velocity, mech->m);
  for (int which = 0; which < 2; which++) CP_NEW(arena, mech->rows.number[which], mech->m);
  if (cpArenaStatus(arena)) return CP_MEM_FAIL;
  for (int i = 0; i < mech->nv; i++)
    mech->rows.at_position[i] = i < mech->np, mech->rows.at_velocity[i] = 1;
  for (int k = 0; k < mech->motions.count; k++) {
    const CPPrescribed *g = &mech->motions.list[k];
    if (g->row < 0) continue;
    mech->rows.at_position[g->row] = g->how == CP_MOTION_DIRECT;
    mech->rows.at_velocity[g->row] = 1;
  }
  for (int which = 0, count = 0; which < 2; which++) {
    const char *there = which == 0 ? mech->rows.at_position : mech->rows.at_velocity;
    const int first   = count;
    for (int i = 0; i < mech->m; i++) mech->rows.number[which][i] = there[i] ? count++ : -1;
    mech->rows.count[which] = count - first;
  }
  return CP_SUCCESS;
}

static int createWorkspace(CPMech mech) {
  CPArena *arena           = &mech->set_up;
  CPMechFunctionRoom *room = &mech->room;
  CPMechSolveRoom *solve   = &mech->solve;
  CPMechMultipliers *it    = &mech->multipliers;
  CPMechDifferences *dp = &room->dp, *dv = &room->dv, *dA = &room->dA, *dN = &room->dN;
  CP_ARRAYS(arena, mech->nq, &room->q_full, &room->q_moved, &room->qdot, &room->q_near,
            &room->column, &dN->plus, &dN->minus, &dN->fourth, &dN->sixth, &mech->stage.q);
  CP_ARRAYS(arena, mech->m, &dA->plus, &dA->minus, &dA->fourth, &dA->sixth);
  CP_ARRAYS(arena, mech->nu, &room->u_full, &room->force, &room->unit, &room->one, &room->rest,
            &room->reach, &solve->rhs, &solve->known, &solve->a, &it->f, &it->before, &it->a);
  CP_ARRAYS(arena, mech->m, &dp->plus, &dp->minus, &dp->fourth, &dp->sixth, &dv->plus, &dv->minus,
            &dv->fourth, &dv->sixth, &dv->centre, &solve->rhs_b, &solve->residual, &solve->lambda,
            &it->next, &it->step, &it->zero, &mech->stage.lambda, &mech->stage.square,
            &mech->stage.longest, &mech->stage.largest_of_row);
  CP_NEW(arena, mech->stage.largest, cpMatEntries(&mech->A));
  mech->stage.start = NAN;
  CP_NEW(arena, it->pivot, mech->m);
  CP_NEW(arena, it->J, cpMechKnowsLambdaJac(mech) ? (size_t)mech->m * (size_t)mech->m : 0);
  return cpArenaStatus(arena);
}

void cpMechTearDown(CPMech mech) {
  cpSaddleFree(&mech->kkt);
  mech->solve.off = NULL;
  cpMechStageFree(mech);
  cpMechNearFree(mech);
  cpMechShakyFree(mech);
  cpMatFree(&mech->reduced.M);
  cpMatFree(&mech->reduced.A);
  cpUserMatFree(&mech->userM);
  cpUserMatFree(&mech->userA);
  cpUserMatFree(&mech->multipliers.Fl);
  cpMatFree(&mech->multipliers.sum);
  if (mech->m > mech->na) cpMatFree(&mech->A);
  mech->A = (CPMat){0};
  cpArenaFree(&mech->set_up);
  mech->ready = 0;
}

int cpMechSetUp(CPMech mech, const char *function) {
  if (!mech->model.N && mech->nq != mech->nu + mech->coords.nquaternions)
    return cpRefuse(
        &mech->log, function,
        "nq must be nu + the number of quaternions (CPMechAddQuaternion), or a function N "
        "be given: nq = %d, nu = %d, %d quaternions",
        mech->nq, mech->nu, mech->coords.nquaternions);
  cpMechPair(mech);
  int flag = cpMechMotionsSetUp(mech, function);
  if (flag) return flag;
  mech->coords.are_all = mech->coords.in_order && mech->nz == 0 && mech->motions.count == 0;
  flag                 = createRows(mech);
  if (!flag && !mech->operators) flag = createMatrices(mech);
  if (!flag) flag = createWorkspace(mech);
  if (flag) {
    cpMechTearDown(mech);
    return cpReport(&mech->log, flag, function,
                    flag == CP_MEM_FAIL ? "no memory for the matrices of the system"
                    : flag == CP_ILL_INPUT
                        ? "CP_KKT_SPARSE_SCHUR needs sparse M and A (M_tmpl, A_tmpl)"
                        : "the KKT solver cannot be set up");
  }
  mech->ready = 1;
  return CP_SUCCESS;
}

/* ---- what the functions share ---- */

int cpMechUsable(CPMech mech, const char *function) {
  if (!mech) return cpReport(NULL, CP_MEM_NULL, function, "mech must not be NULL");
  return cpIdle(&mech->log, function);
}

int cpMechOption(CPMech mech, CPMechWhen when, const char *function) {
  const int flag = cpMechUsable(mech, function);
  if (flag) return flag;
  if (mech->host && cpStepperIsRunning(mech->host))
    return cpReport(&mech->log, CP_REENTERED, function,
                    "a function of yours must not call it while the system's integrator steps");
  if (when == CP_MECH_BEFORE_USE && mech->ready)
    return cpReport(&mech->log, CP_TOO_LATE, function,
                    "the system is in use: this option comes before its first use");
  if (when == CP_MECH_BEFORE_ATTACH && mech->host)
    return cpReport(&mech->log, CP_TOO_LATE, function, "this option comes before CPMechAttach");
  return CP_SUCCESS;
}

int cpMechReport(CPMech mech, int flag, const char *function) {
  if (!flag) return CP_SUCCESS;
  return cpReport(&mech->log, flag > 0 ? -flag : flag, function, "%s", mech->text);
}

int cpMechCheckVector(CPMech mech, N_Vector v, const char *name, const char *function) {
  CPLog *log = &mech->log;
  if (!v) return cpRefuse(log, function, "%s must not be NULL", name);
  if (N_VGetLength(v) != mech->n)
    return cpRefuse(log, function, "%s must have length nq + nu + nz = %d, has %ld", name, mech->n,
                    (long)N_VGetLength(v));
  if (!cpHasData(v)) return cpRefuse(log, function, "%s must be a vector in one memory", name);
  if (cpVectorFinite(v)) return CP_SUCCESS;
  const int bad = cpFirstNonFinite(v);
  return cpRefuse(log, function, "%s must be finite: %s[%d] = %g", name, name, bad,
                  N_VGetArrayPointer(v)[bad]);
}

int cpMechCheckState(CPMech mech, N_Vector y, const char *function) {
  int flag = cpMechUsable(mech, function);
  if (!flag) flag = cpMechCheckVector(mech, y, "y", function);
  if (flag) return flag;
  for (int k = 0; k < mech->coords.nquaternions; k++) {
    const int i          = mech->coords.quaternions[k].first_q;
    const sunrealtype *q = N_VGetArrayPointer(y) + i;
    if (q[0] == 0.0 && q[1] == 0.0 && q[2] == 0.0 && q[3] == 0.0)
      return cpReport(&mech->log, CP_QUATERNION_ZERO, function,
                      "the quaternion of coordinates %d to %d must not be zero", i, i + 3);
  }
  return mech->ready ? CP_SUCCESS : cpMechSetUp(mech, function);
}
