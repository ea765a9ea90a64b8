/* cpodes: projectors by products with the constraint Jacobian (guide, "Products").
 *
 * Only G v and G^T w are needed, on any N_Vector, distributed ones included. G D G^T is solved by
 * conjugate gradients on residuals that are scaled by its diagonal. CPProjectorSetActive, SetLevels
 * and SetFree take the entries that the process holds. Every function must return the same value on all
 * processes. Such a projector has no rank and no unit norms: write them into c and its products.
 */
#ifndef CPODES_MATRIXFREE_H
#define CPODES_MATRIXFREE_H

#include <cpodes/cpodes_projector.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A product at (t, y), linear in `in`: out = G in (in [n], out [m]), G^T in (in [m], out [n]), D in (both
 * [n]), or an approximate solution of G D G^T out = in (both [m]). Returns 0, a positive value if it
 * failed and a smaller step may help, or a negative value to give up.
 */
typedef int (*CPProductFn)(sunrealtype t, N_Vector y, N_Vector in, N_Vector out, void *user_data);

/**
 * Prepares the preconditioner for (t, y). D [n]: in, the diagonal of the inverse metric, which is 0
 * where a component is held, or NULL with CPProjectorSetMetricProduct. Returns as CPProductFn.
 */
typedef int (*CPPrecSetupFn)(sunrealtype t, N_Vector y, N_Vector D, void *user_data);

/**
 * Creates a projector from a constraint function c and the products Gv = G v and GTw = G^T w with its
 * Jacobian, which CPProjectorCheckJac tests. Nothing may be NULL; otherwise as CPProjectorCreate.
 */
CPODES_EXPORT CPProjector CPProjectorCreateProducts(CPConstraintFn c, CPProductFn Gv,
                                                    CPProductFn GTw, N_Vector y_tmpl,
                                                    N_Vector c_tmpl, SUNContext ctx);

/**
 * Sets the diagonal of G D G^T as a product with the diagonal D: diag_i = sum_j D_j G_ij^2, in: D [n],
 * where D >= 0, and 0 where a component is held; out: diag [m]. It scales the residuals (guide, P3) and
 * is the Jacobi preconditioner. If diag is NULL (default), residuals without tolerances of their own are
 * scaled by an estimate. Returns CP_NOT_SUPPORTED for another kind of projector, as do the functions
 * below.
 */
CPODES_EXPORT int CPProjectorSetSchurDiag(CPProjector P, CPProductFn diag);

/**
 * Sets a preconditioner z ~ (G D G^T)^{-1} r in place of Jacobi's, symmetric and positive definite, at
 * the state of the set-up. psetup is called when (t, y) or D changes, and may be NULL. If psolve is NULL
 * (default), there is none. With levels only the diagonal blocks of the levels matter: r is zero outside
 * the level that is being solved for, and only its rows of z are used.
 */
CPODES_EXPORT int CPProjectorSetPreconditioner(CPProjector P, CPPrecSetupFn psetup,
                                               CPProductFn psolve);

/**
 * Sets the inverse metric D, symmetric and positive definite, as a product in place of the norm's:
 * corrections are smallest in x^T D^{-1} x. Without levels and held components. If D is NULL (default),
 * the norm's is used.
 */
CPODES_EXPORT int CPProjectorSetMetricProduct(CPProjector P, CPProductFn D);

#ifdef __cplusplus
}
#endif
#endif
