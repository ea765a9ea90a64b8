/* Structured Newton as the linear solver of Newton's iteration: a SUNMatrix and a SUNLinearSolver
 * whose content is the CPMechNewtonMem that owns both. cpMechLinearSystem forms the matrix, so that
 * the SUNMatrix needs no operation but getid. */
#include "cpodes/mechanics/expected.h"
#include "cpodes/mechanics/functions.h"
#include "newton_impl.h"

#include "cpodes/stepping/stepper.h"

#include <stdlib.h>
#include <string.h>

/* The code for an unrecoverable failure of a package; SUNDIALS 6.4 has a special one. */
#ifdef SUNLS_PACKAGE_FAIL_UNREC
#define FAIL_UNREC SUNLS_PACKAGE_FAIL_UNREC
#else
#define FAIL_UNREC SUN_ERR_EXT_FAIL
#endif

/* ---- the matrix ---- */

int cpNewtonSystem(CPMechNewtonMem newton, sunrealtype t, const sunrealtype *y, const double *ewt,
                   int jok, double gamma, int *jcur) {
  const CPPartials P = newton->P;
  const CPMech mech  = newton->mech;
  newton->assembled  = 0;
  *jcur              = !jok || !P->valid || P->fleeting || P->layout != mech->rows.layout;
  int flag           = *jcur ? cpPartialsAt(P, t, y, NULL, NULL, ewt) : CP_SUCCESS;
  if (!flag && *jcur && P->kkt) cpMechExpectedFactor(mech, &P->M, &P->A, P->lambda);
  if (!flag) flag = cpNewtonAssemble(&newton->S, gamma);
  newton->assembled = !flag;
  return flag;
}

int cpMechLinearSystem(sunrealtype t, N_Vector y, sunbooleantype jok, sunbooleantype *jcur,
                       sunrealtype gamma, void *data) {
  CPMech mech            = data;
  CPMechNewtonMem newton = mech->newton;
  int renewed            = 0;
  mech->host->ops->weights(mech->host, newton->ewt);
  mech->attached.cause = cpNewtonSystem(newton, t, N_VGetArrayPointer(y),
                                        N_VGetArrayPointer(newton->ewt), jok, gamma, &renewed);
  if (!mech->attached.cause && renewed)
    mech->attached.cause = cpPartialsCompare(newton->P, gamma, N_VGetArrayPointer(newton->ewt));
  *jcur = renewed;
  return mech->attached.cause ? (mech->attached.cause > 0 ? 1 : -1) : 0;
}

/* ---- SUNDIALS' objects ---- */

static SUNMatrix_ID matrixId(SUNMatrix S) {
  (void)S;
  return SUNMATRIX_CUSTOM;
}

static SUNLinearSolver_Type solverType(SUNLinearSolver LS) {
  (void)LS;
  return SUNLINEARSOLVER_DIRECT;
}

static SUNLinearSolver_ID solverId(SUNLinearSolver LS) {
  (void)LS;
  return SUNLINEARSOLVER_CUSTOM;
}

static int failed(CPMech mech, int code) {
  mech->attached.cause = code;
  return code > 0 ? SUNLS_PACKAGE_FAIL_REC : FAIL_UNREC;
}

/* A singular matrix is recoverable: with a smaller gamma it may be regular. */
static int solverSetup(SUNLinearSolver LS, SUNMatrix S) {
  CPMechNewtonMem newton = LS->content;
  CPMech mech            = newton->mech;
  (void)S;
  if (!newton->assembled)
    return failed(mech, cpReason(mech->text, -CP_LINSOL_FAIL, "there is no iteration matrix"));
  const int flag    = cpNewtonFactor(&newton->S);
  newton->assembled = 0;
  newton->factored  = !flag;
  return flag ? failed(mech, flag) : 0;
}

static int solverSolve(SUNLinearSolver LS, SUNMatrix S, N_Vector x, N_Vector b, sunrealtype tol) {
  CPMechNewtonMem newton = LS->content;
  CPMech mech            = newton->mech;
  (void)S, (void)tol;
  if (!newton->factored)
    return failed(mech, cpReason(mech->text, -CP_LINSOL_FAIL, "there are no factors"));
  int flag = cpNewtonSolve(&newton->S, N_VGetArrayPointer(b), N_VGetArrayPointer(x));
  if (!flag && !cpVectorFinite(x))
    flag = cpReason(mech->text, -CP_LINSOL_FAIL,
                    "at t = %.10g: the iteration matrix is singular to roundoff (gamma = %g)",
                    newton->P->t, creal(newton->S.gamma));
  return flag ? failed(mech, flag) : 0;
}

static int solverFree(SUNLinearSolver LS) {
  LS->content = NULL;
  SUNLinSolFreeEmpty(LS);
  return 0;
}

/* ---- quadratures, which Newton's iteration and some stages leave out ---- */

int cpMechLeaveQuadratures(int on, void *data) {
  const CPMech mech = data;
  const int all = (int)mech->eq->nquad, of_newton = mech->newton ? mech->newton->P->nquad : 0;
  return mech->stage.left_out = on == 2 ? all : on ? of_newton : 0;
}

/* The newest solution contains the change of the multipliers since the newest evaluation. */
int cpMechQuadratures(sunrealtype t, N_Vector y, void *data) {
  const CPMech mech  = data;
  const CPPartials P = mech->newton->P;
  double *lambda = P->x2[CP_BY_LAMBDA], *zdot = P->perturbed[CP_OF_Z];
  const double *change = mech->newton->S.x[0] + P->nu;
  CPMechState s;
  int flag = cpMechRead(mech, t, N_VGetArrayPointer(y), &s);
  for (int i = 0; i < P->m; i++) lambda[i] = mech->stage.lambda[i] + change[i];
  if (!flag) flag = cpMechAuxiliary(mech, &s, lambda, zdot);
  if (!flag)
    memcpy(N_VGetArrayPointer(y) + mech->n - P->nquad, zdot + P->nz,
           (size_t)P->nquad * sizeof *zdot);
  return mech->attached.cause = flag;
}

/* ---- life cycle ---- */

int cpNewtonCreate(CPMechNewtonMem *address, CPMech mech) {
  CPMechNewton type = mech->options.newton_type;
  *address          = NULL;
  if (type == CP_NEWTON_AUTO && !mech->operators) type = CP_NEWTON_KKT;
  if (type == CP_NEWTON_AUTO) type = mech->eq->udot_jac ? CP_NEWTON_HALF : CP_NEWTON_NONE;
  if (type == CP_NEWTON_NONE) return CP_SUCCESS;
  CPMechNewtonMem newton = *address = calloc(1, sizeof *newton);
  if (!newton) return CP_MEM_FAIL;
  newton->mech   = mech;
  newton->type   = type;
  newton->ewt    = N_VClone(mech->y_tmpl);
  newton->matrix = SUNMatNewEmpty(mech->ctx);
  newton->LS     = SUNLinSolNewEmpty(mech->ctx);
  int flag       = cpPartialsCreate(&newton->P, mech, type, type == CP_NEWTON_KKT);
  if (!flag) flag = cpNewtonMatrixCreate(&newton->S, newton->P, 0);
  if (!newton->ewt || !newton->matrix || !newton->LS) flag = CP_MEM_FAIL;
  if (flag) {
    cpMechNewtonFree(address);
    return flag;
  }
  newton->matrix->content    = newton;
  newton->matrix->ops->getid = matrixId;
  newton->LS->content        = newton;
  newton->LS->ops->gettype   = solverType;
  newton->LS->ops->getid     = solverId;
  newton->LS->ops->setup     = solverSetup;
  newton->LS->ops->solve     = solverSolve;
  newton->LS->ops->free      = solverFree;
  return CP_SUCCESS;
}

void cpMechNewtonFree(CPMechNewtonMem *address) {
  CPMechNewtonMem newton = *address;
  if (!newton) return;
  cpNewtonMatrixFree(&newton->S);
  cpPartialsFree(&newton->P);
  if (newton->ewt) N_VDestroy(newton->ewt);
  if (newton->matrix) SUNMatFreeEmpty(newton->matrix);
  if (newton->LS) SUNLinSolFree(newton->LS);
  free(newton);
  *address = NULL;
}

/* Sizes and type are final at the first use: a second integrator gets the same objects. */
int cpMechNewtonAttach(CPMech mech, CPIntegrator mem) {
  const int flag = mech->newton ? CP_SUCCESS : cpNewtonCreate(&mech->newton, mech);
  if (flag) return cpReason(mech->text, flag, "no memory for the iteration matrix");
  mech->stats.newton = mech->newton ? mech->newton->type : CP_NEWTON_NONE;
  if (!mech->newton) return CP_SUCCESS;
  mech->newton->P->valid = 0;
  return mem->ops->linear_system(mem, mech->newton->LS, mech->newton->matrix);
}
