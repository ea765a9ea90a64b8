/* cpodes: the projector onto a constraint manifold (guide, chapter "The projector").
 *
 * A CPProjector moves a state onto the manifold {y : c(t, y) = 0} and vectors onto its tangent
 * space. It knows nothing of time steps: the integrator, initial conditions, output and a user's
 * own code call the same object.
 *
 * Project and ProjectVector return 0, a positive value after a recoverable failure (a smaller step may
 * help), or a negative one after a fatal failure. After a failure y and x are as they were. All other
 * functions return CP_SUCCESS or a negative code. A non-zero return has been reported to the message
 * handler and its text is kept for CPObjectGetLastMessage.
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
/**
 * Metric as a matrix, M(t, y) = D^{-1}. M [n x n]: out, symmetric and positive definite, with all
 * entries (both triangles). It is zero on entry, and a sparse M has the index arrays of its
 * template.
 */
typedef int (*CPMetricMatrixFn)(sunrealtype t, N_Vector y, SUNMatrix M, void *user_data);

/** The user's own projection, as a multibody code has it (CPProjectorCreateUser). */
typedef struct {
  size_t size; /**< sizeof(CPUserProjection), set by CP_INIT */
  /**
   * The projection y = g(t, yhat). yhat [n]: in. y [n]: out, another vector than yhat. eps: in, the
   * required accuracy in units of the state's tolerance (CPProjectorSetEps).
   */
  int (*state)(sunrealtype t, N_Vector yhat, N_Vector y, sunrealtype eps, void *user_data);
  /**
   * The projection of an error estimate, err <- g_eps(t, y, err). y [n]: in, projected. err [n]: in,
   * out. NULL: estimates are left unprojected.
   */
  int (*error)(sunrealtype t, N_Vector y, N_Vector err, void *user_data);
  /**
   * Both in one call: y = g(t, yhat), and err <- g_eps(t, y, err) with the same factors. BDF and Adams
   * methods call it where a step needs both (CP_ERREST_PROJECTED). err is then the estimate up to a
   * factor that is the same for all components, so g_eps must be linear in err. state and error are
   * still called for everything else: output, states without an error, errors of other orders, one-step
   * methods. NULL: steps call these as well.
   */
  int (*both)(sunrealtype t, N_Vector yhat, N_Vector y, N_Vector err, sunrealtype eps,
              void *user_data);
  /**
   * Norm of the violation at y. norm: out, >= 0. The state counts as being on the manifold if it is at
   * most eps. It is used by GetViolation, by the check of the initial state (at most 1) and where the
   * integrator asks whether to project (above eps). NULL: there is none.
   */
  int (*violation)(sunrealtype t, N_Vector y, sunrealtype *norm, void *user_data);
} CPUserProjection;

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
 * least 1, and exceeds n only if constraints are redundant. c and c_tmpl are both NULL if unit norms are
 * all that there is (CPProjectorAddUnitNorm). Both need vectors in one memory (serial, OpenMP,
 * pthreads): for distributed ones see cpodes_matrixfree.h. ctx must outlive the projector. Returns the
 * projector, which the caller frees, or NULL
 * (CPObjectGetLastMessage(NULL)).
 */
CPODES_EXPORT CPProjector CPProjectorCreate(CPConstraintFn c, N_Vector y_tmpl, N_Vector c_tmpl,
                                            SUNContext ctx);

/**
 * Creates a projector from the user's own projection (the user kind). *user is copied; its size and state
 * must be set. y_tmpl [n] is any N_Vector. Options that concern c, G, the norm or the tolerances of an
 * internal projector are refused with CP_NOT_SUPPORTED. Returns the projector, or NULL.
 */
CPODES_EXPORT CPProjector CPProjectorCreateUser(const CPUserProjection *user, N_Vector y_tmpl,
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
 * Adds the constraint that the components first ... first + length - 1 have the Euclidean norm
 * value > 0, that is 0 = |y_first..| - value. A unit quaternion takes one call.
 *
 * The constraint is one more row, after those of c and of earlier calls. Messages name it by its
 * components. Its level is that of its components, which must be the same for all. Returns CP_ILL_INPUT if first < 0, length < 1, first + length > n, or value or its
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
 * are left to the user, see CPProjectorAssemble. Returns CP_ILL_INPUT if mask leaves no constraint.
 */
CPODES_EXPORT int CPProjectorSetActive(CPProjector P, const int *mask);

/**
 * Sets the levels 0, 1, ... of rows and columns: the rows of level l are satisfied by moving only
 * the columns of level l, after those of lower levels and with lower columns held (positions, then
 * velocities). A row of level l must not depend on columns of higher levels. The projection that
 * finds such a dependence returns CP_ILL_INPUT. row_level [m] and col_level [n] are copied. Their
 * entries are from 0 to 15. A level without rows holds its columns. One with rows needs columns.
 *
 * If both are NULL (default), G at the first state decides: a state (q, u[, z]) or (u, q[, z]) has two
 * levels, if the velocity constraints contain the time derivatives of the position constraints
 * (guide, "Levels"). Else there is one level ("coupled"), as with zeros only, and always with products.
 * The number of levels is one of the counters.
 *
 * Returns CP_ILL_INPUT if only one is NULL, an entry is out of range, or rows have no columns.
 */
CPODES_EXPORT int CPProjectorSetLevels(CPProjector P, const int *row_level, const int *col_level);

/**
 * Chooses the linear solver for G D G^T. The default is CP_LINSOL_AUTO. Returns CP_ILL_INPUT for an
 * unknown type, or CP_LINSOL_PRODUCTS.
 */
CPODES_EXPORT int CPProjectorSetLinearSolver(CPProjector P, CPLinSol type);

/**
 * Chooses the norm. The default is CP_NORM_ERROR.
 *
 * CP_NORM_MATRIX: x^T M x with a matrix M = D^{-1} of the user's (for kinetic energy the mass matrix).
 * M_tmpl [n x n] is cloned: dense, or sparse (CSC or CSR) with the pattern as in CPProjectorSetJacFn. M
 * is renewed with G. Components that are held, and those of other levels, are held in the metric as
 * well: D is the inverse of the block of M that belongs to the free ones. M and M_tmpl are NULL for the
 * other norms.
 *
 * Returns CP_ILL_INPUT if the matrix is of another type or not n x n, if indices are wrong, an
 * entry lacks its mirror image, or a column its diagonal. A matrix that is not positive definite
 * fails the projection: [r] CP_METRIC_INDEFINITE.
 */
CPODES_EXPORT int CPProjectorSetNorm(CPProjector P, CPNorm norm, CPMetricMatrixFn M,
                                     SUNMatrix M_tmpl);

/**
 * Sets the tolerances of the constraints: c_i is measured as |c_i| / ctol_i. ctol [m] is copied.
 * Its entries must be positive and finite. If ctol is NULL (default), scaling is automatic: |c_i| /
 * sqrt(sum_j (G_ij / ewt_j)^2), the distance to surface i in units of the state's own tolerance in
 * either norm, with j over the free components of the row's level (guide, P3).
 */
CPODES_EXPORT int CPProjectorSetConstraintTol(CPProjector P, N_Vector ctol);

/**
 * Sets the largest violation of a projected state, 0 < eps <= 1. A projection makes at least one
 * correction. 0 restores the default, CP_EPS_DEFAULT (guide, "Defaults").
 */
CPODES_EXPORT int CPProjectorSetEps(CPProjector P, sunrealtype eps);

/**
 * Frees and holds components: component i is never moved if id_i = 0, and is free otherwise. id [n] is
 * copied. If id is NULL (default), all are free.
 */
CPODES_EXPORT int CPProjectorSetFree(CPProjector P, const int *id);

#define CP_EPS_DEFAULT SUN_RCONST(1.0e-1) /**< see the guide's table "Defaults" */

/* ---- actions ---- */

/**
 * Moves y to the manifold, see (P1), level by level. t is passed to c. y [n]: in, any state near
 * the manifold; out, projected. ewt [n]: error weights 1/(rtol |y_i| + atol_i), all at least 1e-153.
 * ewt may be NULL with another norm than CP_NORM_ERROR, or a projector of the user kind.
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
 * Projects a vector x [n] (in, out) by P = I - D G^T (G D G^T)^+ G at (t, y), y [n] on the manifold, as
 * space says: P projects onto the tangent space, orthogonally in the norm of D^{-1}, and level by level if
 * there are levels. P^T differs from P unless D = I.
 */
CPODES_EXPORT int CPProjectorProjectVector(CPProjector P, CPSpace space, sunrealtype t, N_Vector y,
                                           N_Vector ewt, N_Vector x);

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
 *
 * Of products, G v is compared with a central difference of c along a pseudo-random v, and G^T w with
 * G v; row and col are -1.
 */
CPODES_EXPORT int CPProjectorCheckJac(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt,
                                      sunrealtype *err, sunindextype *row, sunindextype *col);

/**
 * Returns the rank of G at the newest factorisation, summed over the levels, and the constraints that
 * depend on others, a set whose removal leaves it as it is. dependent [m]: out, 1 for each of them, else
 * 0; may be NULL. Returns CP_NO_INIT before the first factorisation, and CP_NOT_SUPPORTED with products.
 */
CPODES_EXPORT int CPProjectorGetRank(CPProjector P, sunindextype *rank, int *dependent);

/**
 * Returns the linear solver in use and, if it was chosen by AUTO, the reason. Returns CP_NO_INIT
 * before the first projection. type: out. reason: out, valid until an option changes, may be NULL.
 */
CPODES_EXPORT int CPProjectorGetLinearSolver(CPProjector P, CPLinSol *type, const char **reason);

#ifdef __cplusplus
}
#endif
#endif
