/* cpodes: sensitivities on the manifold (guide, chapter "Sensitivities").
 *
 *   y' = f(t, y, p),   0 = c(t, y, p),   y(t0) = y0(p)
 *
 * Forward: s_i = dy/dp_i satisfies s_i' = (df/dy) s_i + df/dp_i and G s_i + dc/dp_i = 0. CVODES
 * integrates the first equation, one sensitivity after the other (CV_STAGGERED1). After every step each
 * s_i is moved to the nearest vector that satisfies the second one,
 *
 *   s_i <- s_i - D G^T (G D G^T)^+ (G s_i + dc/dp_i)                                          (S1)
 *
 * CVODES tests the errors of sensitivities unprojected (CVodeSetSensErrCon). All its functions for
 * sensitivities apply to CPIntegratorGetCVodeMem, except where this header has one of the same name.
 *
 * Adjoint: CVODES' checkpoints and backward problems (CVodeAdjInit, CVodeCreateB, ...) are used with a
 * projected forward run, CPIntegratorF, and CPIntegratorB. The functions of a backward problem call CPIntegratorForwardState.
 *
 * Return values and messages are those of cpodes.h.
 */
#ifndef CPODES_SENS_H
#define CPODES_SENS_H

#include <cpodes/cpodes_mechanics.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dc/dp for the sensitivity iS (0 ... Ns - 1) at (t, y). cp [m]: out, zero on entry, for the rows
 * of c (unit norms of CPProjectorAddUnitNorm do not depend on parameters). Returns 0, a positive
 * value if a smaller step may help, or a negative one if the failure is fatal.
 */
typedef int (*CPConstraintSensFn)(sunrealtype t, N_Vector y, int iS, N_Vector cp, void *user_data);

/**
 * Partial derivatives of a mechanical system with respect to the parameter of sensitivity iS, at
 * (t, q, u, z) with udot and lambda held: Fp = d/dp (f - M udot - A^T lambda) [nu], Bp = d/dp (b -
 * A udot) [na], pp = dp/dp [np], vp = dv/dp [nv], Zp = dzdot/dp [nz]. All are zero on entry, and
 * NULL where there are no rows.
 */
typedef int (*CPMechParamJacFn)(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                                const sunrealtype *z, const sunrealtype *udot,
                                const sunrealtype *lambda, int iS, sunrealtype *Fp, sunrealtype *Bp,
                                sunrealtype *pp, sunrealtype *vp, sunrealtype *Zp, void *user_data);

/* ---- forward ---- */

/**
 * As CVodeSensInit1: Ns > 0 sensitivities with the start yS0 [Ns], which is copied. To be called
 * after CPIntegratorInit (or CPMechAttach) and CPIntegratorSetProjector, before the first step (CP_TOO_LATE).
 * Tolerances are set by CVodeSens...tolerances.
 *
 * ism must be CV_STAGGERED1. The others return CP_NOT_SUPPORTED, because their solver sees all
 * sensitivities, or state and sensitivities, at once. If fS1 is NULL, an attached CPMech uses its
 * own (CPMechSensRhs1). Otherwise CVODES takes difference quotients, which are too inaccurate for
 * tolerances below 1e-8: see CPIntegratorSensRhs1.
 */
CPODES_EXPORT int CPIntegratorSensInit1(CPIntegrator mem, int Ns, int ism, CVSensRhs1Fn fS1,
                                        N_Vector *yS0);

/**
 * As CVodeSensReInit: a new start, to be called after each CPIntegratorReInit. Otherwise the next call of
 * CPIntegratorEvolve returns CP_NO_INIT, unless CVodeSensToggleOff has been called.
 */
CPODES_EXPORT int CPIntegratorSensReInit(CPIntegrator mem, N_Vector *yS0);

/**
 * As CVodeSetSensParams, after CPIntegratorSensInit1. The values are also used by the differences of
 * cpodes. p is the array of parameters that f and c read, and is not owned. pbar [Ns], the sizes of
 * the parameters, must be positive and is copied. If it is NULL, the sizes are |p_i|, which must
 * not be 0. plist [Ns], the parameter of each sensitivity, counted from 0, is copied. If it is
 * NULL, the parameters are 0 ... Ns - 1.
 */
CPODES_EXPORT int CPIntegratorSetSensParams(CPIntegrator mem, sunrealtype *p,
                                            const sunrealtype *pbar, const int *plist);

/**
 * Sets the function for dc/dp. If cS is NULL (default), differences of c over p of sixth order are
 * taken, or 0 without CPIntegratorSetSensParams. If both are given, they are compared at the start, and
 * CPIntegratorEvolve returns CP_CNSTRSENS_WRONG if they disagree. For an attached CPMech see CPMechSetParamJac.
 */
CPODES_EXPORT int CPIntegratorSetSensConstraintFn(CPIntegrator mem, CPConstraintSensFn cS);

/**
 * Sets the solver of each sensitivity's equation, before the first step. It is not owned. If inner
 * is NULL, the solver is of the same kind as that of the states, Newton's or fixed-point iteration,
 * even after the states have been given another one. Newton's iteration needs a linear solver
 * (CVodeSetLinearSolver), whatever the states have.
 */
CPODES_EXPORT int CPIntegratorSetSensNonlinearSolver(CPIntegrator mem, SUNNonlinearSolver inner);

/**
 * Makes the start of the sensitivities consistent, by (S1) at the start of the state, in the
 * projector's norm with the tolerances of the states, and re-initialises. To be called before the
 * first step, after CPIntegratorCalcIC.
 */
CPODES_EXPORT int CPIntegratorSensCalcIC(CPIntegrator mem);
/** Copies the start of the sensitivities to yS0 [Ns]. */
CPODES_EXPORT int CPIntegratorGetConsistentSensIC(CPIntegrator mem, N_Vector *yS0);

/**
 * As CVodeGetSens: returns the sensitivities at the time of the newest output of CPIntegratorEvolve, projected
 * as output is. This function and the next one return CP_NO_INIT before the first step.
 */
CPODES_EXPORT int CPIntegratorGetSens(CPIntegrator mem, sunrealtype *tret, N_Vector *yS);
/**
 * As CVodeGetSensDky, within the last step. For k = 0 the results are projected. For k >= 1 they
 * are derivatives of the interpolation polynomials, which are not.
 */
CPODES_EXPORT int CPIntegratorGetSensDky(CPIntegrator mem, sunrealtype t, int k, N_Vector *dkyS);

/**
 * (df/dy) yS + df/dp by one directional difference of sixth order, which takes six evaluations of f
 * and is accurate to about 1e-12 of ySdot. It is meant for the user's own fS1, which gets mem
 * through its user_data and passes its other arguments on. Returns what fS1 is to return.
 */
CPODES_EXPORT int CPIntegratorSensRhs1(CPIntegrator mem, sunrealtype t, N_Vector y, int iS,
                                       N_Vector yS, N_Vector ySdot, N_Vector tmp1, N_Vector tmp2);

/* ---- adjoint ---- */

/**
 * As CVodeF, after CVodeAdjInit: CPIntegratorEvolve with checkpoints. ncheck: out, their number. Its steps do
 * not reuse the factors of earlier ones, so that CVodeB can repeat them to the last bit. The codes
 * are those of CPIntegratorEvolve and CVodeF. Checkpoints begin anew with the first step after each start, also
 * where CVODES had to be re-initialised.
 */
CPODES_EXPORT int CPIntegratorF(CPIntegrator mem, sunrealtype tout, N_Vector yout,
                                sunrealtype *tret, int itask, int *ncheck);

/**
 * As CVodeB, after CPIntegratorF: integrates the backward problems to tBout and repeats the forward steps
 * from the checkpoints. If such a step fails, the code is that of CPIntegratorEvolve. Other codes:
 *
 * - CV_NO_FWD before CPIntegratorF;
 * - CV_FWD_FAIL if the repeated steps differ because functions did not return the same values
 *   again;
 * - CP_NOT_SUPPORTED if one of the repeated steps has a root, which CVODES cannot repeat (call
 *   CVodeRootInit(cvode_mem, 0, NULL) before CPIntegratorF);
 * - CP_TOO_LATE if tolerances were set after CPIntegratorF.
 *
 * CVODES uses the history arrays of the forward run for this, and is afterwards at the end of the last
 * repeated step. So CPIntegratorEvolve, CPIntegratorF and the functions that interpolate need CPIntegratorReInit first
 * (CP_TOO_LATE).
 */
CPODES_EXPORT int CPIntegratorB(CPIntegrator mem, sunrealtype tBout, int itaskB);

/**
 * Projects the interpolated state y that CVODES passes to the functions of a backward problem.
 * yproj [n]: out, the nearest state on the manifold. y is left as it is. Returns 0, a positive
 * value if a smaller step may help, which the function should return, or a negative one if the
 * failure is fatal.
 */
CPODES_EXPORT int CPIntegratorForwardState(CPIntegrator mem, sunrealtype t, N_Vector y,
                                           N_Vector yproj);

/**
 * Gradient with respect to consistent initial states: lambda <- P^T lambda at (t, y), where P is
 * the tangent projector in the norm of the projector. lambda . dy keeps its value for all dy with G
 * dy = 0. lambda [n]: in, out.
 */
CPODES_EXPORT int CPIntegratorProjectGradient(CPIntegrator mem, sunrealtype t, N_Vector y,
                                              N_Vector lambda);

/* ---- mechanical systems ---- */

/**
 * Sets the function for partial derivatives with respect to parameters. If jac is NULL (default),
 * differences of sixth order over the array of CPIntegratorSetSensParams are taken. If both are given,
 * they are compared at the first use, which returns CP_MECH_DERIV_WRONG if they disagree.
 */
CPODES_EXPORT int CPMechSetParamJac(CPMech mech, CPMechParamJacFn jac);

/**
 * Sets the parameters of a system without forward sensitivities: Np > 0 of them, with p, pbar and
 * plist as in CPIntegratorSetSensParams. Returns CP_NOT_SUPPORTED if there are forward sensitivities,
 * which have parameters of their own.
 */
CPODES_EXPORT int CPMechSetParams(CPMech mech, int Np, sunrealtype *p, const sunrealtype *pbar,
                                  const int *plist);

/**
 * Sensitivities of accelerations and multipliers at (t, y): udotS [nu] and lambdaS
 * [CPMechGetNumMultipliers], out, either may be NULL, are d/dp_iS of u' and lambda along yS, from
 *
 *   [ M A^T; A 0 ] [udotS; lambdaS] = [ K s_q + C s_u + Fz s_z + Fp;  Bq s_q + Bu s_u + Bp ].  (S2)
 *
 * With forces that depend on multipliers, FULL motions or operators they come from differences.
 */
CPODES_EXPORT int CPMechSensAccelerations(CPMech mech, sunrealtype t, N_Vector y, int iS,
                                          N_Vector yS, sunrealtype *udotS, sunrealtype *lambdaS);

/**
 * fS1 of a mechanical system, by (S2), whose user_data is the CPMech. The factors and all partial
 * derivatives at a state serve all its sensitivities.
 */
CPODES_EXPORT int CPMechSensRhs1(int Ns, sunrealtype t, N_Vector y, N_Vector ydot, int iS,
                                 N_Vector yS, N_Vector ySdot, void *mech, N_Vector tmp1,
                                 N_Vector tmp2);

/**
 * Adjoint equation of a mechanical system, yBdot = -(df/dy)^T yB, by one solution of the KKT
 * system,
 *
 *   [ M A^T; A 0 ] [ w; mu ] = [ l_u; Zl^T l_z ],  (df/dy)^T l from K^T w + Bq^T mu + ...      (S3)
 *
 * and its quadrature qBdot [Np] = -yB^T df/dp for all parameters at once. The functions of
 * CVodeInitB and CVodeQuadInitB call these two and add what belongs to the functional. data is the
 * CPMech. y must be on the manifold (CPIntegratorForwardState). With operators, forces that depend on
 * multipliers, FULL motions or the user's own kinematics they return CP_NOT_SUPPORTED, a negative
 * value.
 */
CPODES_EXPORT int CPMechAdjointRhs(sunrealtype t, N_Vector y, N_Vector yB, N_Vector yBdot,
                                   void *mech);
CPODES_EXPORT int CPMechAdjointQuadrature(sunrealtype t, N_Vector y, N_Vector yB, N_Vector qBdot,
                                          void *mech);

/* ---- functionals ---- */

/** Values [ng] of end terms or integrands at (t, y) for the present parameters. */
typedef int (*CPFunctionalFn)(sunrealtype t, N_Vector y, sunrealtype *values, void *user_data);
/**
 * Derivatives of value k: gy [n] with respect to y, gp [number of parameters] with respect to the
 * parameters, both zero on entry.
 */
typedef int (*CPFunctionalGradFn)(sunrealtype t, N_Vector y, int k, N_Vector gy, sunrealtype *gp,
                                  void *user_data);

/** G_k = g_k(t1, y(t1), p) + int_t0^t1 h_k(t, y, p) dt. */
typedef struct {
  int ng;                            /**< number of functionals, > 0 */
  CPFunctionalFn end;                /**< g, or NULL if it is 0 */
  CPFunctionalFn integrand;          /**< h, or NULL if it is 0 */
  CPFunctionalGradFn end_grad;       /**< gradient of g; if NULL, by differences of sixth order */
  CPFunctionalGradFn integrand_grad; /**< gradient of h; if NULL, by differences of sixth order */
  void *user_data;                   /**< passed to these functions */
  long int mxsteps; /**< largest number of steps of the run and of each backward problem (CV_TOO_MUCH_WORK); 10^6 if <= 0 */
} CPFunctional;

/**
 * J^T l [n] and l^T df/dp [number of parameters] at (t, y), where J = df/dy, of the user's own f.
 * Jl and lfp are zero on entry.
 */
typedef int (*CPAdjointFn)(sunrealtype t, N_Vector y, N_Vector l, N_Vector Jl, sunrealtype *lfp,
                           void *user_data);

/** Options of the backward integration in CPIntegratorFunctionalAdjoint. A member that is 0 has its default. */
typedef struct {
  long int steps; /**< steps between checkpoints, which need memory; default 150 */
  int interp; /**< CV_POLYNOMIAL (default) or CV_HERMITE. If t1 < t0 or steps < 13, the default is CV_HERMITE, and
                         CV_POLYNOMIAL returns CP_NOT_SUPPORTED */
  int lmm; /**< CV_ADAMS (default, with fixed-point iteration) or CV_BDF (dense Jacobian by differences) */
  sunrealtype reltol; /**< relative tolerance of adjoint states and quadratures, default 1e-8 */
  sunrealtype abstol; /**< absolute tolerance; default reltol times the largest of |l(t1)| and of the first
                         right-hand side */
  CPAdjointFn adjoint; /**< function for the user's f; if NULL, CPMechAdjointRhs for a CPMech that supports it, else
                          differences, which take 6 n evaluations of f each time */
  void *user_data; /**< passed to adjoint */
} CPAdjointOptions;

/**
 * Functionals and their gradients by forward sensitivities, in one call from the present state to
 * t1. G [ng] and dG [ng x Ns], by rows: out. Integrals are computed by Gauss' formula with six
 * nodes on each step, at projected states. Returns CP_SUCCESS, CP_ILL_INPUT, or the code of CPIntegratorEvolve.
 */
CPODES_EXPORT int CPIntegratorFunctionalForward(CPIntegrator mem, sunrealtype t1,
                                                const CPFunctional *F, sunrealtype *G,
                                                sunrealtype *dG);

/**
 * The same as CPIntegratorFunctionalForward by one backward problem for each functional:
 *
 *   l' = -J^T l - dh/dy,  l(t1) = dg/dy,   dG/dp = dg/dp + int (l^T df/dp + dh/dp) dt + l(t0)^T dy0/dp.
 *
 * It starts at t0 (after CPIntegratorInit or CPIntegratorReInit). y0S [Ns] contains the derivatives of the start,
 * or is NULL if it does not depend on the parameters. The parameters are those of
 * CPIntegratorSetSensParams or, with a CPMech, of CPMechSetParams, without forward sensitivities. gradient
 * [ng] (out; it may be NULL) becomes P^T l(t0), the gradients with respect to consistent initial states.
 *
 * CV_FWD_FAIL has the same meaning as in CPIntegratorB. Afterwards mem is in CVODES' adjoint mode and
 * needs CPIntegratorReInit before anything else (CP_TOO_LATE, as after CPIntegratorB). A stop time
 * (CVodeSetStopTime) is removed.
 */
CPODES_EXPORT int CPIntegratorFunctionalAdjoint(CPIntegrator mem, sunrealtype t1,
                                                const CPFunctional *F,
                                                const CPAdjointOptions *options, N_Vector *y0S,
                                                sunrealtype *G, sunrealtype *dG, N_Vector *gradient);

/** A consistent start y0 at t0 for the present parameters. */
typedef int (*CPStartFn)(sunrealtype t0, N_Vector y0, void *user_data);

/**
 * Compares forward sensitivities, adjoint gradients and finite differences over t0 ... t1 and prints a
 * table to out, unless it is NULL. The finite differences are central ones of the whole run, in which
 * parameters are moved by `step` (0 < step < 1) times their size. The derivatives of the start are differences of
 * `start`. worst: out, the largest difference between forward and adjoint, relative to the largest
 * entry of the row; may be NULL. To be called after CPIntegratorSensInit1 and CPIntegratorSetSensParams. mem has
 * to be re-initialised afterwards.
 */
CPODES_EXPORT int CPIntegratorFunctionalCheck(CPIntegrator mem, sunrealtype t0, sunrealtype t1,
                                              const CPFunctional *F,
                                              const CPAdjointOptions *options, CPStartFn start,
                                              sunrealtype step, FILE *out, sunrealtype *worst);

#ifdef __cplusplus
}
#endif
#endif
