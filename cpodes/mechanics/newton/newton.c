/* Structured Newton: life cycle, and the function that makes the matrix. */
#include "newton_impl.h"

#include <stdlib.h>
#include <string.h>

/* ---- creation ---- */

static CPMechNewton choose(const CPMech mech) {
  if (mech->newton_type != CP_NEWTON_AUTO) return mech->newton_type;
  if (!mech->operators) return CP_NEWTON_KKT;
  return mech->model.udot_jac ? CP_NEWTON_HALF : CP_NEWTON_NONE;
}

static void setSizes(CPMechNewtonMem newton) {
  const CPMech mech = newton->mech;
  const int kkt     = cpIsKkt(newton);
  newton->sparse    = kkt && mech->userM.A.start && mech->A.start;
  newton->nu        = mech->nu;
  newton->nz        = mech->nz;
  newton->m         = kkt ? mech->m : 0;
  newton->na        = kkt ? mech->na : 0;
  newton->order     = newton->nu + newton->m + newton->nz;
}

/* Lengths of the whole mechanism: HALF, too, asks for multipliers. */
static int createWork(CPMechNewtonMem newton) {
  const CPMech mech = newton->mech;
  const size_t nq = (size_t)mech->nq, nu = (size_t)mech->nu, m = (size_t)mech->m + 1,
               nz = (size_t)mech->nz + 1, order = (size_t)newton->order;
  double **const of_size[] = {&newton->q,
                              &newton->q2,
                              &newton->rq, /* nq */
                              &newton->u,
                              &newton->u2,
                              &newton->a,
                              &newton->s,
                              &newton->v,
                              &newton->step[CP_BY_Q],
                              &newton->step[CP_BY_U],
                              &newton->value[CP_OF_F],
                              &newton->perturbed[CP_OF_F],
                              &newton->opposite[CP_OF_F], /* nu */
                              &newton->lambda,
                              &newton->lambda2,
                              &newton->bm,
                              &newton->step[CP_BY_LAMBDA],
                              &newton->value[CP_OF_B],
                              &newton->perturbed[CP_OF_B],
                              &newton->opposite[CP_OF_B], /* m */
                              &newton->z,
                              &newton->z2,
                              &newton->step[CP_BY_Z],
                              &newton->value[CP_OF_Z],
                              &newton->perturbed[CP_OF_Z],
                              &newton->opposite[CP_OF_Z], /* nz */
                              &newton->x /* order */};
  const size_t size[]      = {nq, nq, nq, nu, nu, nu, nu, nu, nu, nu, nu, nu, nu,   m,
                              m,  m,  m,  m,  m,  m,  nz, nz, nz, nz, nz, nz, order};
  for (size_t k = 0; k < sizeof size / sizeof size[0]; k++)
    if (!(*of_size[k] = calloc(size[k], sizeof(double)))) return CP_MEM_FAIL;
  newton->fixed    = calloc(order, 1);
  newton->placed   = calloc(order, 1);
  newton->diagonal = calloc(order, sizeof *newton->diagonal);
  newton->ewt      = N_VClone(mech->y_tmpl);
  return newton->fixed && newton->placed && newton->diagonal && newton->ewt ? CP_SUCCESS
                                                                            : CP_MEM_FAIL;
}

static void freeWork(CPMechNewtonMem newton) {
  double *all[] = {newton->q, newton->q2, newton->rq,     newton->u,      newton->u2,
                   newton->a, newton->s,  newton->v,      newton->x,      newton->bm,
                   newton->z, newton->z2, newton->lambda, newton->lambda2};
  for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) free(all[k]);
  for (int by = 0; by < CP_DIRECTIONS; by++) free(newton->step[by]);
  for (int of = 0; of < CP_OUTPUTS; of++) {
    free(newton->value[of]);
    free(newton->perturbed[of]);
    free(newton->opposite[of]);
  }
  free(newton->fixed);
  free(newton->placed);
  free(newton->diagonal);
  if (newton->ewt) N_VDestroy(newton->ewt);
}

static int createLu(CPMechNewtonMem newton) {
  newton->lu.ops   = newton->sparse ? &cpLuKluOps : &cpLuDenseOps;
  newton->lu.order = newton->order;
  return newton->lu.ops->create(&newton->lu);
}

static int createParts(CPMechNewtonMem newton) {
  int flag = createWork(newton);
  if (!flag) flag = cpBlocksCreate(newton);
  if (!flag) flag = cpPassesCreate(newton);
  if (!flag) flag = createLu(newton);
  if (!flag) flag = cpNewtonObjects(newton);
  if (!flag) cpTermsCreate(newton);
  return flag;
}

int cpNewtonCreate(CPMechNewtonMem *address, CPMech mech) {
  const CPMechNewton type = choose(mech);
  *address                = NULL;
  if (type == CP_NEWTON_NONE) return CP_SUCCESS;
  CPMechNewtonMem newton = calloc(1, sizeof *newton);
  if (!newton) return CP_MEM_FAIL;
  newton->mech = mech;
  newton->type = type;
  setSizes(newton);
  const int flag = createParts(newton);
  if (flag) cpMechNewtonFree(&newton);
  *address = newton;
  return flag;
}

void cpMechNewtonFree(CPMechNewtonMem *address) {
  CPMechNewtonMem newton = *address;
  if (!newton) return;
  cpTermsFree(newton);
  cpBlocksFree(newton);
  cpPassesFree(newton);
  if (newton->lu.ops) newton->lu.ops->destroy(&newton->lu);
  free(newton->lu.start);
  free(newton->lu.row);
  free(newton->lu.value);
  if (newton->S) SUNMatFreeEmpty(newton->S);
  if (newton->LS) SUNLinSolFree(newton->LS);
  freeWork(newton);
  free(newton);
  *address = NULL;
}

/* ---- use ---- */

int cpNewtonSystem(CPMechNewtonMem newton, sunrealtype t, const sunrealtype *y, const double *ewt,
                   int jok, double gamma, int *jcur) {
  *jcur    = !jok || !newton->valid || newton->layout != newton->mech->layout;
  int flag = *jcur ? cpNewtonPartials(newton, t, y, ewt) : CP_SUCCESS;
  if (flag) return flag;
  flag = cpNewtonAssemble(newton, gamma);
  if (flag) return cpReason(newton->mech->text, flag, "no memory for the iteration matrix");
  if (cpAllFinite(newton->lu.value, (sunindextype)cpLuEntries(&newton->lu))) return CP_SUCCESS;
  newton->valid = newton->assembled = 0; /* a difference that overflows: factors might not show it */
  return cpReason(newton->mech->text, -CP_MECH_NONFINITE,
                  "at t = %.15g: the iteration matrix is not finite", newton->t);
}

int cpMechLinearSystem(sunrealtype t, N_Vector y, sunbooleantype jok, sunbooleantype *jcur,
                       sunrealtype gamma, void *data) {
  CPMech mech            = data;
  CPMechNewtonMem newton = mech->newton;
  int renewed            = 0;
  cpStepperNewestWeights(mech->host, newton->ewt);
  mech->cause = cpNewtonSystem(newton, t, N_VGetArrayPointer(y), N_VGetArrayPointer(newton->ewt),
                               jok, gamma, &renewed);
  *jcur       = renewed;
  return mech->cause ? (mech->cause > 0 ? 1 : -1) : 0;
}

/* Sizes and type are final at the first use: a second integrator gets the same objects. */
int cpMechNewtonAttach(CPMech mech) {
  if (mech->newton_type == CP_NEWTON_KKT && mech->operators)
    return cpReason(mech->text, CP_NOT_SUPPORTED,
                    "CP_NEWTON_KKT needs M and A, and the system has operators");
  const int flag = mech->newton ? CP_SUCCESS : cpNewtonCreate(&mech->newton, mech);
  if (flag) return cpReason(mech->text, flag, "no memory for the iteration matrix");
  mech->stats.newton = mech->newton ? mech->newton->type : CP_NEWTON_NONE;
  if (!mech->newton) return CP_SUCCESS;
  mech->newton->valid = 0;
  return cpStepperSetLinearSolver(mech->host, mech->newton->LS, mech->newton->S);
}
