/* CPMech: life cycle, set-up at the first use, and the checks that the public functions share. */
#include "accelerations.h"
#include "cpodes/matrix/lapack.h"
#include "expected.h"
#include "forces.h"
#include "motions.h"
#include "shaky.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- creation ---- */

static void freeData(void *mech) {
  const CPMech m = mech;
  m->eq->free_data(m->user_data);
}

/* The data of the model's functions for this mech */
static int createData(CPMech mech, const char *function) {
  const CPEquations *eq = mech->eq;
  mech->user_data       = eq->model_data;
  if (!eq->new_data) return CP_SUCCESS;
  mech->user_data = NULL;
  if (eq->new_data(eq->model_data, mech->ctx, &mech->user_data))
    return cpReport(NULL, CP_USERFUNC_FAIL, function, "the function new_data of the model failed");
  return !eq->free_data || cpArenaOwn(&mech->memory, mech, freeData)
             ? CP_SUCCESS
             : cpReport(NULL, CP_MEM_FAIL, function, "no memory for a mechanical system");
}

static int create(CPMech mech, N_Vector y_tmpl, const char *function) {
  const CPModel model = mech->model;
  mech->eq            = &model->eq;
  mech->coords        = &model->coords;
  mech->motions       = &model->motions;
  mech->nu            = (int)mech->eq->nu;
  mech->nq            = (int)mech->eq->nq;
  mech->nz            = (int)mech->eq->nz;
  mech->np            = (int)mech->eq->np;
  mech->nv            = (int)mech->eq->nv;
  mech->na            = (int)mech->eq->na;
  mech->m             = model->m;
  mech->n             = mech->nq + mech->nu + mech->nz;
  mech->operators     = model->operators;
  mech->stats.rank    = -1;
  mech->y_tmpl        = cpArenaTake(&mech->memory, cpVectorTemplate(y_tmpl));
  CP_NEW(&mech->memory, mech->motion, mech->motions->count);
  if (mech->eq->turns && mech->eq->nangles > 0 && mech->motions->count == 0)
    CP_ARRAYS(&mech->memory, mech->nq, &mech->turns, &mech->whole);
  CP_NEW(&mech->memory, mech->rows.off, mech->m);
  if (cpArenaStatus(&mech->memory) || cpMechProjectorCreate(mech) || cpMechTakeSprings(mech))
    return cpReport(NULL, CP_MEM_FAIL, function, "no memory for a mechanical system");
  for (int i = 0; model->eq.active && i < mech->na; i++)
    mech->rows.off[i] = model->eq.active[i] == 0;
  return createData(mech, function);
}

CPMech CPMechCreate(CPModel model, N_Vector y_tmpl, SUNContext ctx) {
  const char *missing = !model ? "model" : !y_tmpl ? "y_tmpl" : !ctx ? "ctx" : NULL;
  if (missing) return cpRefuse(NULL, __func__, "%s must not be NULL", missing), NULL;
  const sunindextype n = model->eq.nq + model->eq.nu + model->eq.nz;
  if (N_VGetLength(y_tmpl) != n)
    return cpRefuse(NULL, __func__, "y_tmpl must have length nq + nu + nz = %ld, has %ld", (long)n,
                    (long)N_VGetLength(y_tmpl)),
           NULL;
  if (!cpHasData(y_tmpl))
    return cpRefuse(NULL, __func__,
                    "y_tmpl must be a vector in one memory (serial, OpenMP, pthreads)"),
           NULL;
  CPMech mech = calloc(1, sizeof *mech);
  if (!mech)
    return cpReport(NULL, CP_MEM_FAIL, __func__, "no memory for a mechanical system"), NULL;
  mech->log.kind = &cpMechKind;
  mech->ctx      = ctx;
  mech->model    = cpModelKeep(model);
  if (create(mech, y_tmpl, __func__)) CPMechFree(&mech);
  return mech;
}

CPModel CPMechGetModel(CPMech mech) { return mech ? mech->model : NULL; }

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
  cpArenaFree(&mech->memory);
  CPModelFree(&mech->model);
  free(mech);
  *address = NULL;
}

static void destroyMatrix(void *S) { SUNMatDestroy(S); }

int cpMechKeepTemplate(CPMech mech, SUNMatrix *tmpl, const char *name, const char *function) {
  *tmpl = cpArenaOwn(&mech->memory, cpTemplateClone(*tmpl, mech->ctx), destroyMatrix);
  return *tmpl ? CP_SUCCESS : cpReport(&mech->log, CP_MEM_FAIL, function, "no memory for %s", name);
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
  for (int k = 0; U->start && k < mech->motions->count; k++)
    if (mech->motions->list[k].row >= 0)
      cpPlacesAdd(&all, mech->motions->list[k].row, mech->motions->list[k].j);
  const int flag = U->start ? cpMatFromPlaces(A, mech->m, mech->nu, &all)
                            : cpMatCreateDense(A, mech->m, mech->nu);
  CP_NEW(&mech->set_up, mech->rows.place, cpMatEntries(U));
  if (flag || !mech->rows.place) return CP_MEM_FAIL;
  for (int j = 0; j < mech->nu; j++)
    for (size_t k = cpMatFirst(U, j); k < cpMatFirst(U, j + 1); k++)
      mech->rows.place[k] = (size_t)(cpMatAt(A, cpMatRow(U, j, k), j) - A->value);
  for (int k = 0; k < mech->motions->count; k++)
    if (mech->motions->list[k].row >= 0)
      *cpMatAt(A, mech->motions->list[k].row, mech->motions->list[k].j) = 1.0;
  return CP_SUCCESS;
}

/* Allocates f and b, and places M and A behind them if they are dense and small. */
static int createTerms(CPMech mech) {
  CPMechTerms *own = &mech->terms;
  const CPMat *M = &mech->userM.A, *A = &mech->userA.A;
  const size_t vectors = (size_t)mech->nu + (size_t)mech->m,
               all     = vectors + cpMatEntries(M) + cpMatEntries(A);
  own->is_block        = !M->start && !A->start && all <= CP_SMALL * CP_SMALL;
  own->length          = own->is_block ? all : vectors;
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
  const CPEquations *model = mech->eq;
  const CPMemo memo        = mech->model->memo;
  int flag = cpUserMatCreate(&mech->userM, memo, model->M_tmpl, mech->nu, mech->nu, mech->ctx);
  if (!flag)
    flag = cpUserMatCreate(&mech->userA, memo, model->A_tmpl, mech->na, mech->nu, mech->ctx);
  if (!flag && mech->userM.A.start && mech->na == 0) {
    cpUserMatFree(&mech->userA);
    flag = cpMatCreateSparse(&mech->userA.A, 0, mech->nu, 0);
  }
  if (!flag) flag = createTerms(mech);
  if (!flag) flag = createA(mech);
  if (!flag && mech->motions->nfull > 0) flag = cpMatClone(&mech->reduced.M, &mech->userM.A);
  if (!flag && mech->motions->nfull > 0) flag = cpMatClone(&mech->reduced.A, &mech->A);
  if (flag) return flag;
  const CPSaddleOptions options = {.type     = mech->options.linsol,
                                   .shortest = 1,
                                   .cancels  = mech->eq->typical > 0.0,
                                   .finest   = CP_ROUNDED,
                                   .memo     = mech->model->memo};
  return cpSaddleCreate(&mech->kkt, options,
                        mech->motions->nfull > 0 ? &mech->reduced.M : &mech->userM.A,
                        mech->motions->nfull > 0 ? &mech->reduced.A : &mech->A);
}

/* What each evaluation needs. Workspace for what not every system does is allocated at its first use: cpMechNeed,
 * cpMechForcesSetUp, CPMechRhs. */
static int createWorkspace(CPMech mech) {
  CPArena *arena           = &mech->set_up;
  CPMechFunctionRoom *room = &mech->room;
  CPMechSolveRoom *solve   = &mech->solve;
  const int any_full       = mech->motions->nfull > 0;
  CP_ARRAYS(arena, any_full ? mech->nq : 0, &room->q_full);
  CP_ARRAYS(arena, any_full ? mech->nu : 0, &room->u_full, &solve->known);
  CP_ARRAYS(arena, mech->eq->udot ? mech->nq : 0, &mech->stage.q);
  CP_ARRAYS(arena, mech->nu, &room->unit, &solve->rhs, &solve->a);
  CP_ARRAYS(arena, mech->m, &solve->rhs_b, &solve->residual, &solve->lambda, &mech->stage.lambda);
  mech->stage.start = NAN;
  return cpArenaStatus(arena);
}

void cpMechTearDown(CPMech mech) {
  cpSaddleFree(&mech->kkt);
  mech->solve.off = NULL;
  cpMechStageFree(mech);
  cpMechExpectedFree(mech);
  cpMechShakyFree(mech);
  cpMatFree(&mech->reduced.M);
  cpMatFree(&mech->reduced.A);
  cpUserMatFree(&mech->userM);
  cpUserMatFree(&mech->userA);
  cpUserMatFree(&mech->multipliers.Fl);
  cpMatFree(&mech->multipliers.sum);
  cpArenaFree(&mech->multipliers.memory);
  mech->multipliers = (CPMechMultipliers){0};
  if (mech->m > mech->na) cpMatFree(&mech->A);
  mech->A = (CPMat){0};
  for (int k = 0; k < CP_ROOMS; k++) cpArenaFree(&mech->room.memory[k]);
  mech->room = (CPMechFunctionRoom){0};
  cpArenaFree(&mech->set_up);
  mech->ready = 0;
}

int cpMechSetUp(CPMech mech, const char *function) {
  int flag = mech->operators ? CP_SUCCESS : createMatrices(mech);
  if (!flag) flag = createWorkspace(mech);
  if (!flag) flag = cpMechForcesSetUp(mech);
  if (flag) {
    cpMechTearDown(mech);
    return cpReport(&mech->log, flag, function,
                    flag == CP_MEM_FAIL ? "no memory for the matrices of the system"
                    : flag == CP_ILL_INPUT
                        ? "CP_LINSOL_SPARSE and CP_LINSOL_KKT need sparse M and A (M_tmpl, A_tmpl)"
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
  for (int k = 0; k < mech->coords->nquaternions; k++) {
    const int i          = mech->coords->quaternions[k].first_q;
    const sunrealtype *q = N_VGetArrayPointer(y) + i;
    if (q[0] == 0.0 && q[1] == 0.0 && q[2] == 0.0 && q[3] == 0.0)
      return cpReport(&mech->log, CP_QUATERNION_ZERO, function,
                      "the quaternion of coordinates %d to %d must not be zero", i, i + 3);
  }
  return mech->ready ? CP_SUCCESS : cpMechSetUp(mech, function);
}
