/* cpodes: the projector onto a constraint manifold (guide, chapter "The projector").
 *
 * A CPProjector moves a state onto the manifold {y : c(t, y) = 0} and vectors onto its tangent
 * space. It knows nothing of time steps: the integrator, initial conditions, output and a user's
 * own code call the same object.
 *
 * Project, ProjectTangent and ProjectCotangent return 0, a positive value after a recoverable
 * failure (a smaller step may help), or a negative one after a fatal failure. After a failure y and v
 * are as they were. All other functions return CP_SUCCESS or a negative code. A non-zero return has
 * been reported to the message handler and its text is kept for CPObjectGetLastMessage.
 */
#ifndef CPODES_PROJECTOR_H
#define CPODES_PROJECTOR_H

#include <cpodes/cpodes_types.h>
#include <sundials/sundials_context.h>
#include <sundials/sundials_matrix.h>
#include <sundials/sundials_nvector.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The user's functions. Each returns 0, a positive value if it failed and a smaller step may help, or
 * a negative value to give up. */

/** Constraints: c [m] receives the residuals c(t, y), in any units. y [n]: in. */
typedef int (*CPConstraintFn)(sunrealtype t, N_Vector y, N_Vector c, void *user_data);
/**
 * Constraint Jacobian G = dc/dy at (t, y). c [m]: in, c(t, y). G [m x n]: out, zero on entry. A
 * sparse G has the index arrays of its template on entry and must keep them.
 */
typedef int (*CPConstraintJacFn)(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G,
                                 void *user_data);
/** Product G(t, y) v. y, v [n]: in. Gv [m]: out. */
typedef int (*CPJacTimesFn)(sunrealtype t, N_Vector y, N_Vector v, N_Vector Gv, void *user_data);
/** Product G(t, y)^T w. y [n], w [m]: in. GTw [n]: out. */
typedef int (*CPJacTransTimesFn)(sunrealtype t, N_Vector y, N_Vector w, N_Vector GTw,
                                 void *user_data);
/**
 * Diagonal of the Schur complement, diag_i = sum_j D_j G_ij^2. y, D [n]: in, where D >= 0, and 0
 * where a component is held. diag [m]: out.
 */
typedef int (*CPSchurDiagFn)(sunrealtype t, N_Vector y, N_Vector D, N_Vector diag, void *user_data);
/**
 * Prepares the preconditioner for (t, y). D [n]: in, the diagonal of the inverse metric, which is 0
 * where a component is held, or NULL with a metric of the user's own.
 */
typedef int (*CPPrecSetupFn)(sunrealtype t, N_Vector y, N_Vector D, void *user_data);
/**
 * Preconditioner z ~ (G D G^T)^{-1} r, symmetric and positive definite. y is the state of the
 * set-up. r [m]: in. z [m]: out. With levels only the diagonal blocks of the levels matter: r is
 * zero outside the level that is being solved for, and only its rows of z are used.
 */
typedef int (*CPPrecSolveFn)(sunrealtype t, N_Vector y, N_Vector r, N_Vector z, void *user_data);
/**
 * Inverse metric as an operator: Dx = D(t, y) x, where D is symmetric and positive definite. x, Dx
 * [n].
 */
typedef int (*CPMetricFn)(sunrealtype t, N_Vector y, N_Vector x, N_Vector Dx, void *user_data);
/**
 * Metric as a matrix, M(t, y) = D^{-1}. M [n x n]: out, symmetric and positive definite, with all
 * entries (both triangles). It is zero on entry, and a sparse M has the index arrays of its
 * template.
 */
typedef int (*CPMetricMatrixFn)(sunrealtype t, N_Vector y, SUNMatrix M, void *user_data);
/**
 * The user's own projection y = g(t, yhat). yhat [n]: in. y [n]: out, another vector than yhat.
 * eps: in, the required accuracy in units of the state's tolerance (CPProjectorSetEps).
 */
typedef int (*CPProjFn)(sunrealtype t, N_Vector yhat, N_Vector y, sunrealtype eps, void *user_data);
/**
 * The user's own error projection err <- g_eps(t, y, err). y [n]: in, projected. err [n]: in, out.
 */
typedef int (*CPErrProjFn)(sunrealtype t, N_Vector y, N_Vector err, void *user_data);
/**
 * Both in one call: y = g(t, yhat), and err <- g_eps(t, y, err) with the same factors. yhat, y and eps
 * are as in CPProjFn, and err is as in CPErrProjFn.
 */
typedef int (*CPStateErrorProjFn)(sunrealtype t, N_Vector yhat, N_Vector y, N_Vector err,
                                  sunrealtype eps, void *user_data);
/**
 * The user's own norm of the violation at y. norm: out, >= 0. The state counts as being on the
 * manifold if it is at most eps.
 */
typedef int (*CPViolationFn)(sunrealtype t, N_Vector y, sunrealtype *norm, void *user_data);

/* ---- life cycle ---- */

/**
 * Creates a projector from a constraint function (the internal kind). It solves
 *
 *   minimise 1/2 delta^T D^{-1} delta   subject to   c(t, y + delta) = 0             (guide, P1)
 *
 * by simplified Newton iteration, delta <- delta - D G^T (G D G^T)^+ c(t, y + delta); E. Eich, SIAM
 * J. Numer. Anal. 30 (1993) 1467-1482.
 *
 * y_tmpl [n] and c_tmpl [m] are templates of the vectors that c gets, and are only cloned. m is at
 * least 1, and exceeds n only if constraints are redundant. c and c_tmpl are both NULL if unit
 * norms are the only constraints (CPProjectorAddUnitNorm). All linear solvers except
 * CP_LINSOL_KRYLOV need vectors in one memory (serial, OpenMP, pthreads). ctx must outlive the
 * projector. Returns the projector, which the caller frees, or NULL
 * (CPObjectGetLastMessage(NULL)).
 */
CPODES_EXPORT CPProjector CPProjectorCreate(CPConstraintFn c, N_Vector y_tmpl, N_Vector c_tmpl,
                                            SUNContext ctx);

/**
 * Creates a projector from the user's own functions (the user kind), as a multibody code has them:
 * the projection y = g(t, yhat) and the projection g_eps of the error estimate, which is left
 * unprojected if g_eps is NULL. y_tmpl [n] is any N_Vector. Options that concern c, G, the norm or
 * the tolerances of an internal projector are refused with CP_ILL_INPUT. Returns the projector, or
 * NULL.
 */
CPODES_EXPORT CPProjector CPProjectorCreateUser(CPProjFn g, CPErrProjFn g_eps, N_Vector y_tmpl,
                                                SUNContext ctx);

/**
 * Frees *P and sets it to NULL. P and *P may be NULL. The integrator that uses it must be freed
 * first.
 */
CPODES_EXPORT void CPProjectorFree(CPProjector *P);

/* ---- options ---- */

/**
 * Sets the pointer that all user functions of this projector get. It is not owned. If it is NULL
 * (default), they get the user_data of f when an integrator projects, and NULL otherwise.
 */
CPODES_EXPORT int CPProjectorSetUserData(CPProjector P, void *user_data);

/**
 * Sets the constraint Jacobian. If jac is NULL (default), G comes from difference quotients, with n
 * more evaluations of c for each G, or as many as the columns of a sparse G_tmpl need colours
 * (Curtis, Powell & Reid 1974).
 *
 * G_tmpl [m x n], where m does not count unit norms, is cloned. It is dense, or sparse (CSC or CSR)
 * with the pattern of all entries that are ever non-zero in its index arrays, sorted and without
 * duplicates. Its values do not matter. The pattern is analysed once. G_tmpl may be NULL if jac is
 * NULL.
 *
 * Returns CP_ILL_INPUT if the matrix is of another type or not m x n (the message recognises a
 * transposed one), if indices are out of range, unsorted or duplicate, or if a row has no entries,
 * and CP_NOT_SUPPORTED if P has no constraint function.
 */
CPODES_EXPORT int CPProjectorSetJacFn(CPProjector P, CPConstraintJacFn jac, SUNMatrix G_tmpl);

/**
 * Sets products with the constraint Jacobian, for CP_LINSOL_KRYLOV: both, or neither (NULL).
 * CP_LINSOL_AUTO chooses KRYLOV if only these products are given. CPProjectorCheckJacTimes tests
 * them. With vectors that are distributed over processes, every function must return the same value
 * on all of them. Returns CP_NOT_SUPPORTED if P has no constraint function.
 */
CPODES_EXPORT int CPProjectorSetJacTimes(CPProjector P, CPJacTimesFn Gv, CPJacTransTimesFn GTw);

/**
 * Sets the diagonal of G D G^T for KRYLOV. It scales the residuals (guide, P3) and is the Jacobi
 * preconditioner. If diag is NULL (default), residuals without tolerances of their own are scaled by
 * an estimate.
 */
CPODES_EXPORT int CPProjectorSetSchurDiag(CPProjector P, CPSchurDiagFn diag);

/**
 * Sets a preconditioner for KRYLOV in place of Jacobi's. psetup is called when (t, y) or D changes,
 * and may be NULL. If psolve is NULL (default), there is none.
 */
CPODES_EXPORT int CPProjectorSetPreconditioner(CPProjector P, CPPrecSetupFn psetup,
                                               CPPrecSolveFn psolve);

/**
 * Adds the constraint that the components first ... first + length - 1 have the Euclidean norm
 * value > 0, that is 0 = |y_first..| - value. A unit quaternion takes one call.
 *
 * The constraint is one more row, after those of c and of earlier calls. Messages name it by its
 * components. Its level is that of its components, which must be the same for all. KRYLOV does not
 * support them. Returns CP_ILL_INPUT if first < 0, length < 1, first + length > n, or value or its
 * square is not positive and finite.
 */
CPODES_EXPORT int CPProjectorAddUnitNorm(CPProjector P, sunindextype first, sunindextype length,
                                         sunrealtype value);

/**
 * Switches constraints on and off (contacts) at any time between two steps, without a new analysis
 * of patterns. mask [m] is copied: 0 means off, anything else on. If mask is NULL (default), all
 * are on. Unit norms always remain on.
 *
 * A constraint that is switched on must be satisfied already, up to the drift of a step. Impacts
 * are left to the user, see CPProjectorAssemble. Returns CP_ILL_INPUT if mask has a wrong length or
 * an entry that is not finite, or leaves no constraint.
 */
CPODES_EXPORT int CPProjectorSetActive(CPProjector P, N_Vector mask);

/**
 * Sets the levels 0, 1, ... of rows and columns: the rows of level l are satisfied by moving only
 * the columns of level l, after those of lower levels and with lower columns held (positions, then
 * velocities). A row of level l must not depend on columns of higher levels. The projection that
 * finds such a dependence returns CP_ILL_INPUT. row_level [m] and col_level [n] are copied. Their
 * entries are whole numbers from 0 to 15. A level without rows holds its columns. One with rows
 * needs columns.
 *
 * If both are NULL (default), levels are detected: the state is split as (q, u[, z]), (u, q) or in
 * blocks of both where the sparsity and the values of G, probed at several perturbed states, show
 * that the velocity constraints contain the time derivatives of the position constraints. Else
 * there is one level ("coupled"), as with zeros only.
 *
 * Returns CP_ILL_INPUT if only one is NULL, a length is wrong, an entry is not such a number, or
 * rows have no columns.
 */
CPODES_EXPORT int CPProjectorSetLevels(CPProjector P, N_Vector row_level, N_Vector col_level);

/**
 * Returns the levels in use, after the first projection (CP_NO_INIT before it). row_level [m],
 * col_level [n]: out, may be NULL.
 */
CPODES_EXPORT int CPProjectorGetLevels(CPProjector P, N_Vector row_level, N_Vector col_level);

/**
 * Chooses the linear solver. The default is CP_LINSOL_AUTO. Returns CP_ILL_INPUT for an unknown
 * type.
 */
CPODES_EXPORT int CPProjectorSetLinearSolver(CPProjector P, CPLinSol type);

/**
 * Chooses the norm. The default is CP_NORM_ERROR. A metric of the user's own takes precedence.
 * Returns CP_ILL_INPUT for an unknown norm.
 */
CPODES_EXPORT int CPProjectorSetNorm(CPProjector P, CPNorm norm);

/**
 * Sets the inverse metric D as an operator in place of the norm's: corrections are smallest in x^T
 * D^{-1} x. It is for KRYLOV, without levels and held components; other solvers refuse it
 * (CP_NOT_SUPPORTED). It replaces a metric matrix. If D is NULL (default), there is none.
 */
CPODES_EXPORT int CPProjectorSetMetric(CPProjector P, CPMetricFn D);

/**
 * Sets the metric M = D^{-1} as a matrix (for kinetic energy the mass matrix), for all linear solvers
 * except KRYLOV. M_tmpl [n x n] is cloned: dense, or sparse (CSC or CSR) with the pattern as in
 * CPProjectorSetJacFn. M is renewed with G. Components that are held, and those of other levels,
 * are held in the metric as well: D is the inverse of the block of M that belongs to the free ones.
 * A metric matrix replaces a metric operator. If M is NULL (default), there is none.
 *
 * Returns CP_ILL_INPUT if the matrix is of another type or not n x n, if indices are wrong, an
 * entry lacks its mirror image, or a column its diagonal. A matrix that is not positive definite
 * fails the projection: [r] CP_METRIC_INDEFINITE.
 */
CPODES_EXPORT int CPProjectorSetMetricMatrix(CPProjector P, CPMetricMatrixFn M, SUNMatrix M_tmpl);

/**
 * Sets the tolerances of the constraints: c_i is measured as |c_i| / ctol_i. ctol [m] is copied.
 * Its entries must be positive and finite. If ctol is NULL (default), scaling is automatic: |c_i| /
 * sqrt(sum_j (G_ij / ewt_j)^2), the distance to surface i in units of the state's own tolerance in
 * either norm, with j over the free components of the row's level (guide, P3).
 */
CPODES_EXPORT int CPProjectorSetConstraintTol(CPProjector P, N_Vector ctol);

/**
 * Sets the user's own norm of the violation. It is used by GetViolation, by the check of the
 * initial state (at most 1) and where the integrator asks whether to project (above eps). If norm
 * is NULL (default), there is none.
 */
CPODES_EXPORT int CPProjectorSetViolationFn(CPProjector P, CPViolationFn norm);

/**
 * Sets a function that projects a state and an error estimate in one call, for a projector of
 * CPProjectorCreateUser. BDF and Adams methods call it where a step needs both (CP_ERREST_PROJECTED).
 * err is then the estimate up to a factor that is the same for all components, so g_eps must be linear
 * in err. g and g_eps are still called for everything else: output, states without an error, errors of
 * other orders, one-step methods. If both is NULL (default), steps call g and g_eps as well. Its return
 * values have the same meaning as those of g. Returns CP_ILL_INPUT for another kind of projector.
 */
CPODES_EXPORT int CPProjectorSetStateErrorFn(CPProjector P, CPStateErrorProjFn both);

/**
 * Sets the largest violation of a projected state, 0 < eps <= 1. A projection makes at least one
 * correction. 0 restores the default, CP_EPS_DEFAULT (guide, "Defaults").
 */
CPODES_EXPORT int CPProjectorSetEps(CPProjector P, sunrealtype eps);

/**
 * Sets the largest number of corrections with one G in one projection, > 0. 0 restores the default,
 * CP_MAXITERS_DEFAULT.
 */
CPODES_EXPORT int CPProjectorSetMaxIters(CPProjector P, int maxit);

/**
 * Has G and its factors renewed after nproj > 0 projections at the latest, and earlier if the rate
 * of convergence asks for it. 0 restores the default, CP_JACFREQ_DEFAULT.
 */
CPODES_EXPORT int CPProjectorSetJacFrequency(CPProjector P, long int nproj);

/**
 * Holds components: component i is never moved if id_i = 0. id [n] is copied. If id is NULL
 * (default), all are free.
 */
CPODES_EXPORT int CPProjectorSetFixed(CPProjector P, N_Vector id);

#define CP_EPS_DEFAULT      SUN_RCONST(1.0e-1) /**< see the guide's table "Defaults" */
#define CP_MAXITERS_DEFAULT 6                  /**< see the guide's table "Defaults" */
#define CP_JACFREQ_DEFAULT  10L                /**< see the guide's table "Defaults" */

/* ---- actions ---- */

/**
 * Moves y to the manifold, see (P1), level by level. t is passed to c. y [n]: in, any state near
 * the manifold; out, projected. ewt [n]: error weights 1/(rtol |y_i| + atol_i), all at least 1e-153.
 * ewt may be NULL with CP_NORM_L2, a metric of the user's own, or a projector of the user kind.
 * Residuals without tolerances are then measured as if half of the digits of y were significant.
 * Failures that a smaller step may avoid have positive codes, marked [r] in CPReturnCode.
 */
CPODES_EXPORT int CPProjectorProject(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt);

/**
 * Moves y to the manifold from a poor guess, by damped Gauss-Newton iteration with a line search on
 * the scaled violation and a new G in every iteration. The result is close to y, but not
 * necessarily the nearest point. Arguments as in CPProjectorProject. Returns 0, CP_IC_FAIL (the
 * message names the constraint that is violated most), or the code of a failed user function,
 * linear solver or last projection. After a failure y is as it was.
 */
CPODES_EXPORT int CPProjectorAssemble(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt);

/**
 * v <- P v, where P = I - D G^T (G D G^T)^+ G projects onto the tangent space at (t, y),
 * orthogonally in the norm of D^{-1}, and level by level if there are levels. y [n]: in, on the
 * manifold. v [n]: in, out.
 */
CPODES_EXPORT int CPProjectorProjectTangent(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt,
                                            N_Vector v);

/** w <- P^T w, for gradients. P^T differs from P unless D = I. w [n]: in, out. */
CPODES_EXPORT int CPProjectorProjectCotangent(CPProjector P, sunrealtype t, N_Vector y,
                                              N_Vector ewt, N_Vector w);

/**
 * Returns the violation of the state y, measured as CPProjectorSetConstraintTol says with a new G,
 * or by the user's own norm. norm: out. worst: out, the index of the constraint that is violated
 * most, where unit norms and FULL motions of a CPMech are counted after the constraints, or -1 if
 * there is none or the norm is the user's. worst may be NULL.
 */
CPODES_EXPORT int CPProjectorGetViolation(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt,
                                          sunrealtype *norm, sunindextype *worst);

/**
 * Compares the user's Jacobian with difference quotients of c at (t, y), and looks for entries
 * outside the pattern of a sparse template. err: out, the largest |G_ij - (DQ)_ij| / ewt_j relative to
 * the same norm of its row, or 0 if there is neither jac nor a sparse template. row, col: out, the
 * indices of that entry, may be NULL. Differences are accurate to about 1e-7, so an err above 1e-4
 * means a wrong Jacobian or pattern.
 */
CPODES_EXPORT int CPProjectorCheckJac(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt,
                                      sunrealtype *err, sunindextype *row, sunindextype *col);

/**
 * Returns the rank of G at the newest factorisation, summed over the levels. Returns CP_NO_INIT
 * before the first one, and CP_NOT_SUPPORTED with KRYLOV.
 */
CPODES_EXPORT int CPProjectorGetRank(CPProjector P, sunindextype *rank);

/**
 * Returns constraints that depend on others at the newest factorisation, a set whose removal leaves
 * the rank of G as it is. count: out, their number. dependent [m]: out, 1 for each of them, else 0.
 * dependent may be NULL, and must be if unit norms are the only constraints. Returns CP_NO_INIT
 * before the first factorisation, and CP_NOT_SUPPORTED with KRYLOV, which finds no rank.
 */
CPODES_EXPORT int CPProjectorGetDependent(CPProjector P, sunindextype *count, N_Vector dependent);

/**
 * Returns the linear solver in use and, if it was chosen by AUTO, the reason. Returns CP_NO_INIT
 * before the first projection. type: out. reason: out, valid until an option changes, may be NULL.
 */
CPODES_EXPORT int CPProjectorGetLinearSolver(CPProjector P, CPLinSol *type, const char **reason);

/**
 * Compares the products of CPProjectorSetJacTimes with each other and with c at (t, y), for
 * pseudo-random v and w. err_transpose: out, |<G v, w> - <v, G^T w>| relative to the size of its
 * terms, about 1e-15 if the products are right. err_product: out, the largest difference between G v
 * and a central difference of c along v, relative to the sizes of both in that row, about 1e-9 if G v
 * is right. Either may be NULL.
 */
CPODES_EXPORT int CPProjectorCheckJacTimes(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt,
                                           sunrealtype *err_transpose, sunrealtype *err_product);

#ifdef __cplusplus
}
#endif
#endif
