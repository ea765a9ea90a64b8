/* cpodes: sensitivities on the manifold (guide, chapter "Sensitivities").
 *
 *   y' = f(t, y, p),   0 = c(t, y, p),   y(t0) = y0(p)
 *
 * Forward: s_i = dy/dp_i satisfies s_i' = (df/dy) s_i + df/dp_i and G s_i + dc/dp_i = 0. CVODES
 * integrates the first, one sensitivity after the other (CV_STAGGERED1); after every step each s_i is
 * moved to the nearest vector that satisfies the second,
 *
 *   s_i <- s_i - D G^T (G D G^T)^+ (G s_i + dc/dp_i)                                          (S1)
 *
 * CVODES tests the errors of sensitivities unprojected (CVodeSetSensErrCon). All its functions for
 * sensitivities apply to CPodeGetCVodeMem, but those that are named here.
 *
 * Adjoint: CVODES' checkpoints and backward problems (CVodeAdjInit, CVodeCreateB, CVodeB, ...) around a
 * projected forward run, CPodeF; CPodeForwardState for the functions of the backward problem.
 *
 * Return values and messages are those of cpodes.h.
 */
#ifndef CPODES_SENS_H
#define CPODES_SENS_H

#include <cpodes/cpodes.h>
#include <cpodes/cpodes_mechanics.h>

#ifdef __cplusplus
extern "C" {
#endif

/** dc/dp for the sensitivity iS (0 ... Ns - 1), at (t, y). cp [m]: out, zero when called; rows of c,
 * unit norms of CPProjectorAddUnitNorm have none. 0, positive recoverable, negative fatal. */
typedef int (*CPConstraintSensFn)(sunrealtype t, N_Vector y, int iS, N_Vector cp, void *user_data);

/**
 * Partial derivatives of a mechanical system to the parameter of sensitivity iS, at (t, q, u, z) with
 * udot and lambda held; all zero when called, NULL where there are no rows.
 * Fp = d/dp (f - M udot - A^T lambda) [nu], Bp = d/dp (b - A udot) [na], pp = dp/dp [np],
 * vp = dv/dp [nv], Zp = dzdot/dp [nz].
 */
typedef int (*CPMechParamJacFn)(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                                const sunrealtype *z, const sunrealtype *udot,
                                const sunrealtype *lambda, int iS, sunrealtype *Fp, sunrealtype *Bp,
                                sunrealtype *pp, sunrealtype *vp, sunrealtype *Zp, void *user_data);

/** Counters since CPodeSensInit1 or CPodeSensReInit. */
typedef struct {
  long int nproj;      /**< sensitivities projected, one by one */
  long int nprojfails; /**< of their projections, those that failed and had the step rejected */
  long int ntakenback; /**< pending Adams corrections taken back */
  long int nsetups;    /**< factorisations for them */
  long int ncp;        /**< evaluations of dc/dp, by the user's function or by differences */
} CPodeSensStats;

/* ---- forward ---- */

/**
 * As CVodeSensInit1: Ns > 0 sensitivities with the start yS0 [Ns], copied. ism: CV_STAGGERED1
 * (CP_NOT_SUPPORTED for the others: their solver sees all sensitivities, or state and sensitivities, at
 * once). fS1: NULL: with a CPMech attached its own (CPMechSensRhs1), else CVODES' difference
 * quotients, which are too rough below tolerances of 1e-8: see CPodeSensRhs1. After CPodeInit (or
 * CPMechAttach) and CPodeSetProjector, before the first step (CP_TOO_LATE). Tolerances are set by
 * CVodeSens...tolerances.
 */
CPODES_EXPORT int CPodeSensInit1(CPodeMem mem, int Ns, int ism, CVSensRhs1Fn fS1, N_Vector *yS0);

/** As CVodeSensReInit: a new start, after each CPodeReInit (else the next call of CPode is CP_NO_INIT, unless
 * CVodeSensToggleOff has been called). */
CPODES_EXPORT int CPodeSensReInit(CPodeMem mem, N_Vector *yS0);

/**
 * As CVodeSetSensParams, and kept for the differences of cpodes: p: the array of parameters that f
 * and c read; not owned. pbar [Ns]: sizes of the parameters, > 0, copied; NULL: |p_i|, which must not
 * be 0 then. plist [Ns]: parameter of each sensitivity, from 0, copied; NULL: 0 ... Ns - 1. After
 * CPodeSensInit1.
 */
CPODES_EXPORT int CPodeSetSensParams(CPodeMem mem, sunrealtype *p, const sunrealtype *pbar,
                                     const int *plist);

/** dc/dp by the user's function; NULL: by differences of c over p (default; sixth order), zero
 * without CPodeSetSensParams. With both, they are compared at the start: CP_CNSTRSENS_WRONG from CPode.
 * With a CPMech attached: see CPMechSetParamJac. */
CPODES_EXPORT int CPodeSetSensConstraintFn(CPodeMem mem, CPConstraintSensFn cS);

/** The solver of each sensitivity's equation, not owned; NULL: of the states' kind, Newton's or fixed point
 * iteration, also after the states have been given another one. Newton's needs a linear solver
 * (CVodeSetLinearSolver), whatever the states have. Before the first step. */
CPODES_EXPORT int CPodeSetSensNonlinearSolver(CPodeMem mem, SUNNonlinearSolver inner);

/** Makes the start of the sensitivities consistent, by (S1) at the start state, in the projector's norm
 * with the tolerances of the states; re-initialises. Before the first step, after CPodeCalcIC. */
CPODES_EXPORT int CPodeSensCalcIC(CPodeMem mem);
/** The start of the sensitivities. yS0 [Ns]: out. */
CPODES_EXPORT int CPodeGetConsistentSensIC(CPodeMem mem, N_Vector *yS0);

/** As CVodeGetSens: at the time of the newest output of CPode; projected, as output is. This and the next two:
 * CP_NO_INIT before the first step. */
CPODES_EXPORT int CPodeGetSens(CPodeMem mem, sunrealtype *tret, N_Vector *yS);
/** As CVodeGetSensDky, within the last step. k = 0: projected; k >= 1: of the raw polynomials. */
CPODES_EXPORT int CPodeGetSensDky(CPodeMem mem, sunrealtype t, int k, N_Vector *dkyS);
/** The same for one sensitivity. */
CPODES_EXPORT int CPodeGetSensDky1(CPodeMem mem, sunrealtype t, int k, int iS, N_Vector dkyS);
CPODES_EXPORT int CPodeGetSensStats(CPodeMem mem, CPodeSensStats *stats);

/**
 * (df/dy) yS + df/dp by one directional difference of sixth order: six evaluations of f. For the
 * user's own fS1, which calls it with a pointer to mem that it has from its user_data; all arguments
 * are fS1's, but user_data. Errors are some 1e-12 of ySdot. Returns what fS1 is to return.
 */
CPODES_EXPORT int CPodeSensRhs1(CPodeMem mem, sunrealtype t, N_Vector y, int iS, N_Vector yS,
                                N_Vector ySdot, N_Vector tmp1, N_Vector tmp2);

/* ---- adjoint ---- */

/** As CVodeF, after CVodeAdjInit: CPode with checkpoints. ncheck: out, their number. Its steps carry no factors
 * from one to the next, so that CVodeB can repeat them to the last bit. Codes are those of CPode and of
 * CVodeF; checkpoints begin anew with the first step after each start, also where CVODES had to be
 * re-initialised. */
CPODES_EXPORT int CPodeF(CPodeMem mem, sunrealtype tout, N_Vector yout, sunrealtype *tret,
                         int itask, int *ncheck);

/** As CVodeB, after CPodeF: integrates the backward problems to tBout and repeats the forward steps from
 * the checkpoints. Where such a step fails the code is that of CPode. CV_NO_FWD: before CPodeF;
 * CV_FWD_FAIL: the repeated steps are others, since functions did not return the same again; CP_NOT_SUPPORTED: one of
 * them has a root, which CVODES cannot repeat (CVodeRootInit(cvode_mem, 0, NULL) before CPodeF); CP_TOO_LATE: tolerances
 * were set after CPodeF. CPode and CPodeF want CPodeReInit then, for CVODES stands where the last repeated step ended (CP_TOO_LATE). */
CPODES_EXPORT int CPodeB(CPodeMem mem, sunrealtype tBout, int itaskB);

/** The state y that CVODES hands to functions of a backward problem is interpolated: yproj [n]: out,
 * the nearest one on the manifold; y is left as it is. Returns 0; positive: a smaller step may help
 * (to be returned); negative: fatal. */
CPODES_EXPORT int CPodeForwardState(CPodeMem mem, sunrealtype t, N_Vector y, N_Vector yproj);

/** Gradient with respect to consistent initial states: lambda <- P^T lambda at (t, y), P the tangent
 * projector in the norm of the projector. lambda . dy is the same for all dy with G dy = 0. lambda
 * [n]: in, out. */
CPODES_EXPORT int CPodeProjectGradient(CPodeMem mem, sunrealtype t, N_Vector y, N_Vector lambda);

/* ---- mechanical systems ---- */

/** Partial derivatives to parameters by the user's function; NULL: differences of sixth order over
 * the array of CPodeSetSensParams (default). With both, they are compared at the first use:
 * CP_MECH_DERIV_WRONG. */
CPODES_EXPORT int CPMechSetParamJac(CPMech mech, CPMechParamJacFn jac);

/** Parameters of a system, where there are no forward sensitivities (which bring theirs): p, pbar,
 * plist as in CPodeSetSensParams, Np > 0 of them. With forward sensitivities: CP_NOT_SUPPORTED. */
CPODES_EXPORT int CPMechSetParams(CPMech mech, int Np, sunrealtype *p, const sunrealtype *pbar,
                                  const int *plist);

/**
 * Sensitivities of accelerations and multipliers at (t, y): udotS [nu], lambdaS
 * [CPMechGetNumMultipliers]: out, d/dp_iS of u' and lambda along yS, from
 *
 *   [ M A^T; A 0 ] [udotS; lambdaS] = [ K s_q + C s_u + Fz s_z + Fp;  Bq s_q + Bu s_u + Bp ].  (S2)
 *
 * With forces that depend on multipliers, FULL motions or operators: by differences. Either may be
 * NULL.
 */
CPODES_EXPORT int CPMechSensAccelerations(CPMech mech, sunrealtype t, N_Vector y, int iS,
                                          N_Vector yS, sunrealtype *udotS, sunrealtype *lambdaS);

/** fS1 of a mechanical system, by (S2); user_data: the CPMech. The factors, and all partial
 * derivatives, of a state serve all its sensitivities. */
CPODES_EXPORT int CPMechSensRhs1(int Ns, sunrealtype t, N_Vector y, N_Vector ydot, int iS,
                                 N_Vector yS, N_Vector ySdot, void *mech, N_Vector tmp1,
                                 N_Vector tmp2);

/**
 * Adjoint equation of a mechanical system, yBdot = -(df/dy)^T yB, by one solution of the KKT system,
 *
 *   [ M A^T; A 0 ] [ w; mu ] = [ l_u; Zl^T l_z ],  (df/dy)^T l from K^T w + Bq^T mu + ...      (S3)
 *
 * and its quadrature qBdot [Np] = -yB^T df/dp for all parameters at once. For functions of CVodeInitB
 * and CVodeQuadInitB, which add what belongs to the functional; data: the CPMech. y: on the manifold
 * (CPodeForwardState). CP_NOT_SUPPORTED (as a negative return) with operators, forces that depend on
 * multipliers, FULL motions and kinematics of the user's.
 */
CPODES_EXPORT int CPMechAdjointRhs(sunrealtype t, N_Vector y, N_Vector yB, N_Vector yBdot,
                                   void *mech);
CPODES_EXPORT int CPMechAdjointQuadrature(sunrealtype t, N_Vector y, N_Vector yB, N_Vector qBdot,
                                          void *mech);

/* ---- functionals ---- */

/** Values [ng] of end terms or integrands at (t, y), with the parameters as they are. */
typedef int (*CPFunctionalFn)(sunrealtype t, N_Vector y, sunrealtype *values, void *user_data);
/** Derivatives of value k: gy [n] to y, gp [number of parameters] to the parameters; zero when called. */
typedef int (*CPFunctionalGradFn)(sunrealtype t, N_Vector y, int k, N_Vector gy, sunrealtype *gp,
                                  void *user_data);

/** G_k = g_k(t1, y(t1), p) + int_t0^t1 h_k(t, y, p) dt. What is not there is NULL. */
typedef struct {
  int ng;                            /**< number of functionals, > 0 */
  CPFunctionalFn end;                /**< g; NULL: 0 */
  CPFunctionalFn integrand;          /**< h; NULL: 0 */
  CPFunctionalGradFn end_grad;       /**< NULL: differences of sixth order */
  CPFunctionalGradFn integrand_grad; /**< the same */
  void *user_data;                   /**< handed to these functions */
} CPFunctional;

/** J^T l [n] and l^T df/dp [number of parameters] at (t, y), J = df/dy, of a user's own f. Jl, lfp: zero
 * when called. */
typedef int (*CPAdjointFn)(sunrealtype t, N_Vector y, N_Vector l, N_Vector Jl, sunrealtype *lfp,
                           void *user_data);

/** How CPodeFunctionalAdjoint integrates backwards. What is 0 has its default. */
typedef struct {
  long int steps; /**< between checkpoints (memory), 150 */
  int interp; /**< CV_POLYNOMIAL (default) or CV_HERMITE; with t1 < t0, or less than 13 steps between
                         checkpoints, CV_HERMITE (default; the other one: CP_NOT_SUPPORTED) */
  int lmm;    /**< CV_ADAMS (default, fixed point) or CV_BDF (dense, by differences) */
  sunrealtype reltol; /**< of adjoint states and quadratures, 1e-8 */
  sunrealtype abstol; /**< reltol times the largest |l(t1)| and of the first right-hand side */
  CPAdjointFn adjoint; /**< of the user's f; NULL: CPMechAdjointRhs with a CPMech, else differences: 6 n
                          evaluations of f each */
  void *user_data;     /**< handed to adjoint */
} CPAdjointOptions;

/**
 * Functionals and their gradients by forward sensitivities, in one call from the present state to t1:
 * G [ng], dG [ng x Ns], by rows: out. Integrals are Gauss formulas of six nodes on each step, on
 * projected output. Returns CP_SUCCESS, or what CPode returned; CP_ILL_INPUT.
 */
CPODES_EXPORT int CPodeFunctionalForward(CPodeMem mem, sunrealtype t1, const CPFunctional *F,
                                         sunrealtype *G, sunrealtype *dG);

/**
 * The same by one backward problem for each functional:
 *
 *   l' = -J^T l - dh/dy,  l(t1) = dg/dy,   dG/dp = dg/dp + int (l^T df/dp + dh/dp) dt + l(t0)^T dy0/dp.
 *
 * From a start (after CPodeInit, CPodeReInit), whose derivatives are y0S [Ns]; NULL: 0, as with parameters that
 * do not move the start. Parameters: those of CPodeSetSensParams or, with a CPMech, of CPMechSetParams,
 * without forward sensitivities. gradient [ng]: out, P^T l(t0), with respect to consistent initial
 * states; NULL: not wanted. The mem is in CVODES' adjoint mode afterwards: CPodeReInit before anything else
 * (CPode: CP_TOO_LATE where steps have been repeated); a stop time (CVodeSetStopTime) is gone. CV_FWD_FAIL: as CPodeB.
 */
CPODES_EXPORT int CPodeFunctionalAdjoint(CPodeMem mem, sunrealtype t1, const CPFunctional *F,
                                         const CPAdjointOptions *options, N_Vector *y0S,
                                         sunrealtype *G, sunrealtype *dG, N_Vector *gradient);

/** A consistent start y0 at t0 for the parameters as they are. */
typedef int (*CPStartFn)(sunrealtype t0, N_Vector y0, void *user_data);

/**
 * Compares forward, adjoint and finite differences (central, of the whole run, parameters moved by
 * `step` (0 < step < 1) times their size) over t0 ... t1 and prints a table to out (NULL: none). start: its
 * differences are the start of the sensitivities. worst: out, the largest difference between forward and
 * adjoint, relative to the largest entry of the row; may be NULL. After CPodeSensInit1 and
 * CPodeSetSensParams. The mem has to be re-initialised afterwards.
 */
CPODES_EXPORT int CPodeFunctionalCheck(CPodeMem mem, sunrealtype t0, sunrealtype t1,
                                       const CPFunctional *F, const CPAdjointOptions *options,
                                       CPStartFn start, sunrealtype step, FILE *out,
                                       sunrealtype *worst);

#ifdef __cplusplus
}
#endif
#endif
