/* The SUNMatrix and the SUNLinearSolver that the integrator sees. Both have the CPMechNewton as content; it
 * owns them. The matrix is made by cpMechLinearSystem: it needs no operation but its
 * name. */
#include "newton_impl.h"

/* A failure of a package for good; 6.4 has a code of its own. */
#ifdef SUNLS_PACKAGE_FAIL_UNREC
#define FAIL_UNREC SUNLS_PACKAGE_FAIL_UNREC
#else
#define FAIL_UNREC SUN_ERR_EXT_FAIL
#endif

/* ---- the matrix ---- */

static SUNMatrix_ID matrixId(SUNMatrix S) {
  (void)S;
  return SUNMATRIX_CUSTOM;
}

/* ---- the linear solver ---- */

static SUNLinearSolver_Type solverType(SUNLinearSolver LS) {
  (void)LS;
  return SUNLINEARSOLVER_DIRECT;
}

static SUNLinearSolver_ID solverId(SUNLinearSolver LS) {
  (void)LS;
  return SUNLINEARSOLVER_CUSTOM;
}

static int failed(CPMech mech, int code) {
  mech->cause = code;
  return code > 0 ? SUNLS_PACKAGE_FAIL_REC : FAIL_UNREC;
}

/* Factors. A singular matrix may be another one with a smaller gamma. */
static int solverSetup(SUNLinearSolver LS, SUNMatrix S) {
  CPMechNewtonMem newton = LS->content;
  CPMech mech            = newton->mech;
  (void)S;
  if (!newton->assembled)
    return failed(mech, cpReason(mech->text, -CP_LINSOL_FAIL, "there is no iteration matrix"));
  mech->stats.nnewton++;
  const int flag    = newton->lu.ops->factor(&newton->lu);
  newton->assembled = 0;
  newton->factored  = !flag;
  if (flag > 0)
    return failed(mech, cpReason(mech->text, -CP_LINSOL_FAIL,
                                 "at t = %.15g: the iteration matrix is singular (gamma = %g)",
                                 newton->t, newton->gamma));
  return flag ? failed(mech, cpReason(mech->text, flag, "no factors of the iteration matrix")) : 0;
}

static int solverSolve(SUNLinearSolver LS, SUNMatrix S, N_Vector x, N_Vector b, sunrealtype tol) {
  CPMechNewtonMem newton = LS->content;
  CPMech mech            = newton->mech;
  (void)S, (void)tol;
  if (!newton->factored)
    return failed(mech, cpReason(mech->text, -CP_LINSOL_FAIL, "there are no factors"));
  int flag = cpNewtonSolve(newton, N_VGetArrayPointer(b), N_VGetArrayPointer(x));
  if (!flag && !cpVectorFinite(x))
    flag = cpReason(mech->text, -CP_LINSOL_FAIL,
                    "at t = %.15g: the iteration matrix is singular to roundoff (gamma = %g)",
                    newton->t, newton->gamma);
  return flag ? failed(mech, flag) : 0;
}

static int solverFree(SUNLinearSolver LS) {
  LS->content = NULL;
  SUNLinSolFreeEmpty(LS);
  return 0;
}

int cpNewtonObjects(CPMechNewtonMem newton) {
  newton->S  = SUNMatNewEmpty(newton->mech->ctx);
  newton->LS = SUNLinSolNewEmpty(newton->mech->ctx);
  if (!newton->S || !newton->LS) return CP_MEM_FAIL;
  newton->S->content       = newton;
  newton->S->ops->getid    = matrixId;
  newton->LS->content      = newton;
  newton->LS->ops->gettype = solverType;
  newton->LS->ops->getid   = solverId;
  newton->LS->ops->setup   = solverSetup;
  newton->LS->ops->solve   = solverSolve;
  newton->LS->ops->free    = solverFree;
  return CP_SUCCESS;
}
