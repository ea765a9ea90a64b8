/* cpodes: the projector onto a constraint manifold (guide, chapter "The projector").
 *
 * A CPProjector moves a state onto the manifold {y : c(t, y) = 0} and vectors onto its tangent
 * space. It knows nothing of time steps: the integrator, initial conditions, output and a user's
 * own code call the same object.
 *
 * Return values of Project, ProjectTangent and ProjectCotangent: 0; positive for a recoverable
 * failure (a smaller step may help); negative for a fatal one; after either y and v are as they
 * came. All other functions return CP_SUCCESS or a negative code. A non-zero return has been
 * reported to the message handler and its text is kept for CPProjectorGetLastMessage.
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

/** A projector; created by CPProjectorCreate or CPProjectorCreateUser. */
typedef struct CPProjector_ *CPProjector;

/* The user's functions. Each returns 0; positive: failed, a smaller step may help; negative: give
 * up. */

/** Constraints. t: time. y [n]: in. c [m]: out, the residuals c(t, y), in any units. */
typedef int (*CPConstraintFn)(sunrealtype t, N_Vector y, N_Vector c, void *user_data);
/** Constraint Jacobian G = dc/dy at (t, y). c [m]: in, c(t, y). G [m x n]: out, zero when called; a
 * sparse one has the index arrays of its template then, and must have them afterwards. */
typedef int (*CPConstraintJacFn)(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G,
                                 void *user_data);
/** Product G(t, y) v. y, v [n]: in. Gv [m]: out. */
typedef int (*CPJacTimesFn)(sunrealtype t, N_Vector y, N_Vector v, N_Vector Gv, void *user_data);
/** Product G(t, y)^T w. y [n], w [m]: in. GTw [n]: out. */
typedef int (*CPJacTransTimesFn)(sunrealtype t, N_Vector y, N_Vector w, N_Vector GTw,
                                 void *user_data);
/** Diagonal of the Schur complement: diag_i = sum_j D_j G_ij^2. y, D [n]: in, D >= 0, 0 where a
 * component is held. diag [m]: out. */
typedef int (*CPSchurDiagFn)(sunrealtype t, N_Vector y, N_Vector D, N_Vector diag, void *user_data);
/** Prepares the preconditioner for (t, y). D [n]: in, the diagonal of the inverse metric, 0 where a
 * component is held; NULL with a metric of the user's own. */
typedef int (*CPPrecSetupFn)(sunrealtype t, N_Vector y, N_Vector D, void *user_data);
/** Preconditioner: z ~ (G D G^T)^{-1} r, symmetric and positive definite. y: in, that of the
 * set-up. r [m]: in. z [m]: out. With levels only the blocks (rows and columns) of each level
 * matter: r is zero outside of the level being solved for, and of z only its rows are used. */
typedef int (*CPPrecSolveFn)(sunrealtype t, N_Vector y, N_Vector r, N_Vector z, void *user_data);
/** Inverse metric as an operator: Dx = D(t, y) x, D symmetric and positive definite. x, Dx [n]. */
typedef int (*CPMetricFn)(sunrealtype t, N_Vector y, N_Vector x, N_Vector Dx, void *user_data);
/** Metric as a matrix, D = M(t, y)^{-1}. M [n x n]: out, symmetric and positive definite, all
 * entries (both triangles); zero when called, a sparse one with the index arrays of its template.
 */
typedef int (*CPMetricMatrixFn)(sunrealtype t, N_Vector y, SUNMatrix M, void *user_data);
/** The user's own projection y = g(t, yhat). yhat [n]: in. y [n]: out, different from yhat.
 *  eps: in, the accuracy asked for, in units of the state's tolerance (CPProjectorSetEps). */
typedef int (*CPProjFn)(sunrealtype t, N_Vector yhat, N_Vector y, sunrealtype eps, void *user_data);
/** The user's own error projection e = g_eps(t, y, ehat). y [n]: in, projected. err [n]: in, out.
 */
typedef int (*CPErrProjFn)(sunrealtype t, N_Vector y, N_Vector err, void *user_data);
/** The user's own violation norm of the state y. norm: out, >= 0; at most eps means on the
 * manifold. */
typedef int (*CPViolationFn)(sunrealtype t, N_Vector y, sunrealtype *norm, void *user_data);

/** Counters since creation, over everything that uses the projector. */
typedef struct {
  long int nproj;       /**< projections of states that were asked for */
  long int nskipped;    /**< of those, left alone because the violation did not call for one */
  long int ntangent;    /**< projections of tangent and cotangent vectors */
  long int niters;      /**< Newton corrections */
  long int nfails;      /**< failed projections, of states and vectors */
  long int nce;         /**< evaluations of c, without those for difference quotients */
  long int nceDQ;       /**< evaluations of c for difference quotients */
  long int nje;         /**< evaluations of G, by the user's function or by differences */
  long int nsetups;     /**< factorisations, over all levels */
  long int nfloor;      /**< projections accepted at the roundoff floor of c, above eps */
  long int nli;         /**< KRYLOV: iterations of conjugate gradients */
  long int nlinsolves;  /**< KRYLOV: systems solved by them */
  long int nprods;      /**< KRYLOV: products with G and G^T */
  long int npsolves;    /**< KRYLOV: calls of psolve */
  sunindextype rank;    /**< rank of G at the newest factorisation, -1 before and with KRYLOV */
  sunindextype nlevels; /**< levels in use, 0 before the first projection */
  CPLinSol linsol;      /**< solver in use (AUTO resolved) */
} CPProjectorStats;

/* ---- life cycle ---- */

/**
 * Projector from a constraint function ("internal" kind):
 *
 *   minimise 1/2 delta^T D^{-1} delta   subject to   c(t, y + delta) = 0                  (guide,
 * P1)
 *
 * by simplified Newton, delta <- delta - D G^T (G D G^T)^+ c(t, y + delta); E. Eich, SIAM J. Numer.
 * Anal. 30 (1993) 1467-1482.
 *
 * c, c_tmpl: both NULL if unit norms are the only constraints (CPProjectorAddUnitNorm). y_tmpl [n],
 * c_tmpl [m]: templates for the vectors that c gets; only cloned; m >= 1, more constraints than
 * components only if they are redundant. All linear solvers but CP_LINSOL_KRYLOV need vectors in
 * one memory (serial, OpenMP, pthreads). ctx: outlives the projector. Returns the projector, or
 * NULL (a line on stderr says why). The caller frees it.
 */
CPODES_EXPORT CPProjector CPProjectorCreate(CPConstraintFn c, N_Vector y_tmpl, N_Vector c_tmpl,
                                            SUNContext ctx);

/**
 * Projector from the user's own functions ("user" kind), as a multibody code has them.
 * g: y = g(t, yhat), not NULL. g_eps: projects the error estimate, or NULL (it is then left
 * unprojected). y_tmpl [n]: any N_Vector. Options that concern c, G, norm or tolerances of an
 * internal projector are refused with CP_ILL_INPUT. Returns the projector, or NULL.
 */
CPODES_EXPORT CPProjector CPProjectorCreateUser(CPProjFn g, CPErrProjFn g_eps, N_Vector y_tmpl,
                                                SUNContext ctx);

/** Frees *P and sets it to NULL. P or *P may be NULL. Free the integrator that uses it first. */
CPODES_EXPORT void CPProjectorFree(CPProjector *P);

/* ---- options ---- */

/** Pointer handed to all user functions of this projector; not owned. Default NULL. */
CPODES_EXPORT int CPProjectorSetUserData(CPProjector P, void *user_data);

/** Receives the messages of this projector; NULL: one line on stderr (default). */
CPODES_EXPORT int CPProjectorSetErrHandlerFn(CPProjector P, CPErrHandlerFn handler, void *data);

/** The newest message, "" before the first. Valid until the next message or CPProjectorFree. */
CPODES_EXPORT const char *CPProjectorGetLastMessage(CPProjector P);

/**
 * Constraint Jacobian. jac NULL: difference quotients (default), n more evaluations of c per G;
 * with a sparse G_tmpl as many as its columns need colours (Curtis, Powell & Reid 1974).
 *
 * G_tmpl: m x n, cloned: dense, or sparse (CSC or CSR) with the pattern of all entries that are
 * ever non-zero in its index arrays, sorted and without duplicates; its values do not matter. The
 * pattern is analysed once. May be NULL if jac is NULL. m: rows of c, unit norms do not count.
 * CP_ILL_INPUT: another type, not m x n (the message tells a transposed one), indices out of range,
 * unsorted or double, a row without entries. CP_NOT_SUPPORTED: P has no constraint function.
 */
CPODES_EXPORT int CPProjectorSetJacFn(CPProjector P, CPConstraintJacFn jac, SUNMatrix G_tmpl);

/**
 * Products with the constraint Jacobian, for CP_LINSOL_KRYLOV. Both, or neither (NULL: none).
 * CP_LINSOL_AUTO takes KRYLOV if they are all that it is given. See CPProjectorCheckJacTimes. With
 * vectors that are distributed over processes all functions must return the same value on each of
 * them. CP_NOT_SUPPORTED: P has no constraint function.
 */
CPODES_EXPORT int CPProjectorSetJacTimes(CPProjector P, CPJacTimesFn Gv, CPJacTransTimesFn GTw);

/** KRYLOV: diagonal of G D G^T; it measures the residuals (guide, P3) and preconditions (Jacobi).
 * NULL: none (default); residuals without tolerances of their own are then measured by an estimate.
 */
CPODES_EXPORT int CPProjectorSetSchurDiag(CPProjector P, CPSchurDiagFn diag);

/** KRYLOV: preconditioner, instead of Jacobi. psetup: may be NULL; called when (t, y) or D change.
 * psolve NULL: none (default). */
CPODES_EXPORT int CPProjectorSetPreconditioner(CPProjector P, CPPrecSetupFn psetup,
                                               CPPrecSolveFn psolve);

/**
 * Adds the constraint that the components first ... first + length - 1 have the Euclidean norm
 * value, 0 = |y_first..| - value: a unit quaternion is one call. Counts as one more row, after
 * those of c and of earlier calls; messages name it by its components. value > 0. Levels: that of
 * its components, which must be the same for all. Norms that no other constraint touches are solved
 * in closed form by CP_LINSOL_BLOCK. Not with KRYLOV. CP_ILL_INPUT: first < 0, length < 1, first +
 * length > n, value or its square not positive and finite.
 */
CPODES_EXPORT int CPProjectorAddUnitNorm(CPProjector P, sunindextype first, sunindextype length,
                                         sunrealtype value);

/**
 * Switches constraints on and off (contacts), at any time between two steps: nothing is analysed
 * again. mask [m]: copied, 0: off, anything else: on; NULL: all on (default). Unit norms stay on.
 * A constraint that is switched on has to be satisfied already (up to the drift of a step): an
 * impact is the user's, see CPProjectorAssemble. CP_ILL_INPUT: a wrong length, an entry that is not
 * finite, a mask that leaves no constraint.
 */
CPODES_EXPORT int CPProjectorSetActive(CPProjector P, N_Vector mask);

/**
 * Levels 0, 1, ... of rows and columns: the rows of level l are satisfied by moving only the
 * columns of level l, after those of lower levels and with lower columns held (positions, then
 * velocities). A row of level l must not depend on columns of higher levels: CP_ILL_INPUT out of
 * the projection that finds it. row_level [m], col_level [n]: copied, entries are whole numbers
 * from 0 to
 * 15. A level without rows only holds its columns; one with rows needs columns.
 *
 * Both NULL: detect (default): the state is split as (q, u[, z]), (u, q) or in blocks of both,
 * where sparsity and values of G, probed at several perturbed states, show that the velocity
 * constraints contain the time derivatives of the position constraints; else one level, "coupled".
 * All zero: one level.
 *
 * CP_ILL_INPUT: only one is NULL, a wrong length, an entry that is not such a number, rows without
 * columns.
 */
CPODES_EXPORT int CPProjectorSetLevels(CPProjector P, N_Vector row_level, N_Vector col_level);

/** The levels in use; needs one projection before (CP_NO_INIT). row_level [m], col_level [n]: out,
 * may be NULL. */
CPODES_EXPORT int CPProjectorGetLevels(CPProjector P, N_Vector row_level, N_Vector col_level);

/** Linear solver, default CP_LINSOL_AUTO. CP_ILL_INPUT: unknown type. */
CPODES_EXPORT int CPProjectorSetLinearSolver(CPProjector P, CPLinSol type);

/** Norm, default CP_NORM_ERROR. CP_ILL_INPUT: unknown norm. A metric of the user's own goes before.
 */
CPODES_EXPORT int CPProjectorSetNorm(CPProjector P, CPNorm norm);

/**
 * Inverse metric D as an operator, instead of the norm's: corrections are smallest in x^T D^{-1} x.
 * For the dense solvers, which form D by n products, and KRYLOV. NULL: none (default). Takes the
 * place of a metric matrix.
 */
CPODES_EXPORT int CPProjectorSetMetric(CPProjector P, CPMetricFn D);

/**
 * Metric M = D^{-1} as a matrix (kinetic energy: the mass matrix), for all linear solvers. M_tmpl:
 * n x n, cloned: dense, or sparse (CSC or CSR) with the pattern, as in CPProjectorSetJacFn. Renewed
 * with G. Components that are held, and those of other levels, are held in the metric, too: D is
 * the inverse of M's block of the free ones. M NULL: none (default). Takes the place of a metric
 * operator. CP_ILL_INPUT: another type, not n x n, bad indices, an entry without its mirror image,
 * a column without diagonal. A matrix that is not positive definite fails the projection: [r]
 * CP_METRIC_INDEFINITE.
 */
CPODES_EXPORT int CPProjectorSetMetricMatrix(CPProjector P, CPMetricMatrixFn M, SUNMatrix M_tmpl);

/**
 * Tolerances of the constraints: c_i is measured as |c_i| / ctol_i. ctol [m]: copied, all > 0 and
 * finite. NULL: automatic scaling (default), |c_i| / sqrt(sum_j (G_ij / ewt_j)^2), the distance to
 * surface i in units of the state's own tolerance in either norm, j over the free components of the
 * row's level (guide, P3).
 */
CPODES_EXPORT int CPProjectorSetConstraintTol(CPProjector P, N_Vector ctol);

/** The user's own violation norm, used by GetViolation, for the check of the initial state (at most
 *  1) and where the integrator asks whether to project (above eps). NULL: none (default). */
CPODES_EXPORT int CPProjectorSetViolationFn(CPProjector P, CPViolationFn norm);

/** A projected state's violation is at most eps (after one correction at least); 0 < eps <= 1. 0:
 * the default, CP_EPS_DEFAULT. See the guide's table "Defaults". */
CPODES_EXPORT int CPProjectorSetEps(CPProjector P, sunrealtype eps);

/** Most corrections with one G in one projection, > 0. 0: the default, CP_MAXITERS_DEFAULT. */
CPODES_EXPORT int CPProjectorSetMaxIters(CPProjector P, int maxit);

/** G and its factors are renewed after nproj projections at the latest (earlier when the
 * convergence rate asks for it), > 0. 0: the default, CP_JACFREQ_DEFAULT. */
CPODES_EXPORT int CPProjectorSetJacFrequency(CPProjector P, long int nproj);

/** id [n]: copied; id_i = 0: component i is never moved; anything else: free. NULL: all free
 * (default). */
CPODES_EXPORT int CPProjectorSetFixed(CPProjector P, N_Vector id);

#define CP_EPS_DEFAULT      SUN_RCONST(1.0e-1) /**< see the guide's table "Defaults" */
#define CP_MAXITERS_DEFAULT 6                  /**< see the guide's table "Defaults" */
#define CP_JACFREQ_DEFAULT  10L                /**< see the guide's table "Defaults" */

/* ---- actions ---- */

/**
 * Moves y to the manifold: (P1), level by level. t: handed to c. y [n]: in, any state near the
 * manifold; out, projected. ewt [n]: error weights 1/(rtol |y_i| + atol_i), all >= 1e-153 (for unit norms
 * alone, all > 0); NULL only with
 * CP_NORM_L2, a metric of the user's own or the user kind: residuals without tolerances are then
 * measured as if half of the digits of y counted.
 * A failure that a smaller step may help: positive [r] codes of CPReturnCode.
 */
CPODES_EXPORT int CPProjectorProject(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt);

/**
 * Moves y to the manifold from a poor guess, by damped Gauss-Newton with line search on the scaled
 * violation, a new G in every iteration. The result is close to y, not necessarily the nearest
 * point. Arguments as CPProjectorProject. Returns 0, CP_IC_FAIL (the message names the constraints
 * that remain violated most), or the code of a failed user function, linear solver or last
 * projection; y is then as it came.
 */
CPODES_EXPORT int CPProjectorAssemble(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt);

/**
 * v <- P v, P = I - D G^T (G D G^T)^+ G the projector onto the tangent space at (t, y), orthogonal
 * in the norm of D^{-1}; level by level when there are levels. y [n]: in, on the manifold. v [n]:
 * in, out.
 */
CPODES_EXPORT int CPProjectorProjectTangent(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt,
                                            N_Vector v);

/** w <- P^T w, for gradients: P^T differs from P whenever D is not I. w [n]: in, out. */
CPODES_EXPORT int CPProjectorProjectCotangent(CPProjector P, sunrealtype t, N_Vector y,
                                              N_Vector ewt, N_Vector w);

/**
 * Violation of the state y as CPProjectorSetConstraintTol measures it, with a new G; or by the
 * user's own norm. norm: out. worst: out, index of the constraint that is violated most, unit norms and
 * FULL motions of a CPMech counted behind the constraints, -1: none, or a norm of the user's; may be NULL.
 */
CPODES_EXPORT int CPProjectorGetViolation(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt,
                                          sunrealtype *norm, sunindextype *worst);

/**
 * Compares the user's Jacobian with difference quotients of c at (t, y), and looks for entries
 * outside of a sparse template's pattern. err: out, the largest |G_ij - (DQ)_ij| / ewt_j over the
 * same norm of its row (0 if there is neither jac nor a sparse template). row, col: out, where; may
 * be NULL. Differences are good to some 1e-7: an err above 1e-4 is a wrong Jacobian, or pattern.
 */
CPODES_EXPORT int CPProjectorCheckJac(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt,
                                      sunrealtype *err, sunindextype *row, sunindextype *col);

/** Rank of G at the newest factorisation, summed over the levels. CP_NO_INIT before the first one:
 * unit norms that are projected in closed form need none. CP_NOT_SUPPORTED with KRYLOV. */
CPODES_EXPORT int CPProjectorGetRank(CPProjector P, sunindextype *rank);

/**
 * Constraints that depend on others at the newest factorisation: a set whose removal leaves G's
 * rank as it is. count: out, how many. dependent [m]: out, 1 for each of them, else 0; may be NULL;
 * with unit norms of no function c also NULL. CP_NO_INIT before the first factorisation,
 * CP_NOT_SUPPORTED with KRYLOV, which finds no rank.
 */
CPODES_EXPORT int CPProjectorGetDependent(CPProjector P, sunindextype *count, N_Vector dependent);

/**
 * Linear solver in use and, for AUTO, why; needs one projection before (CP_NO_INIT). type: out.
 * reason: out, valid until the next change of options; may be NULL.
 */
CPODES_EXPORT int CPProjectorGetLinearSolver(CPProjector P, CPLinSol *type, const char **reason);

/**
 * Compares the products of CPProjectorSetJacTimes with each other and with c at (t, y), for
 * pseudo-random v and w: err_transpose: out, |<G v, w> - <v, G^T w>| over the size of its terms;
 * err_product: out, the largest difference of G v from a central difference of c along v, over the
 * largest entry of G v. Either may be NULL. Right ones give some 1e-15 and 1e-9.
 */
CPODES_EXPORT int CPProjectorCheckJacTimes(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt,
                                           sunrealtype *err_transpose, sunrealtype *err_product);

/** Counters; stats: out. */
CPODES_EXPORT int CPProjectorGetStats(CPProjector P, CPProjectorStats *stats);

#ifdef __cplusplus
}
#endif
#endif
