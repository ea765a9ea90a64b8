/* cpodes: sensitivities on the manifold (guide, chapter "Sensitivities").
 *
 *   y' = f(t, y, p),   0 = c(t, y, p),   y(t0) = y0(p)
 *
 * Forward: s_i = dy/dp_i satisfies s_i' = (df/dy) s_i + df/dp_i and G s_i + dc/dp_i = 0. The first equation is integrated by
 * the steps of the state, after it, one sensitivity after the other. After every step each s_i is moved to the nearest vector
 * that satisfies the second one,
 *
 *   s_i <- s_i - D G^T (G D G^T)^+ (G s_i + dc/dp_i)                                          (S1)
 *
 * One-step methods take the stages of the state, S_j = s + h sum_k a_jk K_k, K_j = (df/dy) S_j + df/dp at (t_j, Y_j), RADAU by the
 * iteration matrices of the step. With BDF and Adams it is CVODES that integrates (CV_STAGGERED1), and that tests the errors of
 * sensitivities unprojected; all its functions for sensitivities apply to CPIntegratorGetCVodeMem, except where this header has
 * one of the same name.
 *
 * Adjoint: gradients of functionals by a backward run along the forward run, with every method.
 *
 * Return values and messages are those of cpodes_integrator.h.
 */
#ifndef CPODES_SENS_H
#define CPODES_SENS_H

#include <cpodes/cpodes_mechanics.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Parameters: n of the numbers that f, c and the model read. */
typedef struct {
  size_t size;         /**< sizeof(CPParameters), set by CP_INIT or CP_SIZED */
  int n;               /**< their number, > 0 */
  sunrealtype *values; /**< the array in which they are, not owned. Differences move its entries and restore them. NULL if it is
                            not known: then functions of the user's give all derivatives with respect to parameters */
  const sunrealtype *pbar; /**< their sizes [n], > 0; if NULL, |values|, which must not be 0 */
  const int *plist;        /**< their indices in values [n], from 0 on; if NULL, 0 ... n - 1 */
  N_Vector *y0S;           /**< derivatives of the start [n]; NULL if it does not depend on them */
} CPParameters;

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
typedef int (*CPParamPartialsFn)(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                                 const sunrealtype *z, const sunrealtype *udot,
                                 const sunrealtype *lambda, int iS, sunrealtype *Fp, sunrealtype *Bp,
                                 sunrealtype *pp, sunrealtype *vp, sunrealtype *Zp, void *user_data);

/* ---- forward ---- */

/**
 * Creates the sensitivities of a state y with respect to parameters, which are copied, but for the array of values. y_tmpl [n] is
 * cloned. ctx must outlive them. Returns the sensitivities, owned by the caller, or NULL; the message
 * (CPObjectGetLastMessage(NULL)) says which argument breaks which rule. Later messages are those of the integrator, while it
 * computes them.
 */
CPODES_EXPORT CPSens CPSensCreate(const CPParameters *parameters, N_Vector y_tmpl, SUNContext ctx);

/** Frees *sens and sets it to NULL, before or after its integrator. */
CPODES_EXPORT void CPSensFree(CPSens *sens);

/**
 * Sets the right-hand side of the sensitivities, as in CVodeSensInit1, and dc/dp. They get the user_data of f. If fS1 is NULL
 * (default), it is that of an attached CPMech (CPMechJvp), otherwise a directional difference of f of sixth order, which takes six
 * evaluations of f and is accurate to about 1e-12 (CVODES' own difference quotients for memory of CPIntegratorAttach, whose f is
 * not known). If cS is NULL (default), dc/dp are differences of sixth order, or 0 if values are not known. If both are known, they
 * are compared at the start, and CPIntegratorEvolve returns CP_CNSTRSENS_WRONG if they disagree. A CPMech has its own constraints
 * (CP_NOT_SUPPORTED): see CPMechSetParamPartialsFn. To be called before CPIntegratorSetSens (CP_TOO_LATE).
 */
CPODES_EXPORT int CPSensSetRhsFn(CPSens sens, CVSensRhs1Fn fS1, CPConstraintSensFn cS);

/** If on, the errors of sensitivities are tested, too. Their tolerances are those of y divided by pbar, with BDF and Adams unless
 * CVodeSens...tolerances sets others afterwards. Off by default, as with CVODES: the steps are then those without sensitivities. */
CPODES_EXPORT int CPSensSetErrCon(CPSens sens, sunbooleantype on);

/**
 * Computes sensitivities with the integrator, from their y0S on, which must satisfy G s + dc/dp = 0 (CPSensCalcIC). To be called
 * after CPIntegratorInit (or CPMechAttach) and CPIntegratorSetProjector, and before the first step (CP_TOO_LATE), or from the function
 * of CPSessionSetConfigFn: then the session keeps its method. They are not owned, and belong to one integrator. If it computes them
 * already, they start anew after CPIntegratorReInit. If sens is NULL, the integrator computes none.
 */
CPODES_EXPORT int CPIntegratorSetSens(CPIntegrator mem, CPSens sens);

/** Returns the integrator's sensitivities, or NULL. parameters: out, their parameters, whose pbar and plist are given; may be NULL. */
CPODES_EXPORT CPSens CPIntegratorGetSens(CPIntegrator mem, CPParameters *parameters);

/**
 * Starts anew from yS0 [number of parameters], to be called after each CPIntegratorReInit. Otherwise the next call of
 * CPIntegratorEvolve returns CP_NO_INIT, unless CVodeSensToggleOff has been called (BDF, Adams). If yS0 is NULL, the start is y0S.
 */
CPODES_EXPORT int CPSensReInit(CPSens sens, N_Vector *yS0);

/**
 * Makes the start consistent, by (S1) at the start of the state, in the projector's norm with the tolerances of the states. To be
 * called before the first step, after CPIntegratorCalcIC. yS0 [number of parameters]: out, the start; may be NULL.
 */
CPODES_EXPORT int CPSensCalcIC(CPSens sens, N_Vector *yS0);

/**
 * The k-th derivatives of the sensitivities at t within the last step. yS [number of parameters]: out. For k = 0 the results are
 * projected as output is, and before the first step they are the start; for k >= 1 they are derivatives of the interpolation
 * polynomials, which are not.
 */
CPODES_EXPORT int CPSensGetDky(CPSens sens, sunrealtype t, int k, N_Vector *yS);

/* ---- mechanical systems ---- */

/**
 * Sets the function for partial derivatives with respect to parameters. If fn is NULL (default), differences of sixth order over
 * the values are taken. If both are known, they are compared at the first use, which returns CP_MECH_DERIV_WRONG if they disagree.
 */
CPODES_EXPORT int CPMechSetParamPartialsFn(CPMech mech, CPParamPartialsFn fn);

/**
 * The derivative of y', u' and lambda at (t, y) along s [n] and, if dp is not NULL, along dp [parameters->n]: sdot [n] and lambdaS
 * [CPMechGetNumMultipliers], out, either may be NULL, from
 *
 *   [ M A^T; A 0 ] [u'_s; lambda_s] = [ K s_q + C s_u + Fz s_z + Fp dp;  Bq s_q + Bu s_u + Bp dp ].  (S2)
 *
 * With forces that depend on multipliers, FULL motions or operators they come from differences. The factors and all partial
 * derivatives at a state serve all products there. parameters may be NULL without dp.
 */
CPODES_EXPORT int CPMechJvp(CPMech mech, sunrealtype t, N_Vector y, const CPParameters *parameters,
                            N_Vector s, const sunrealtype *dp, N_Vector sdot, sunrealtype *lambdaS);

/**
 * (dy'/dy)^T l and l^T dy'/dp at (t, y): Jl [n] and lfp [parameters->n], out, either may be NULL, by one solution of the KKT system,
 *
 *   [ M A^T; A 0 ] [ w; mu ] = [ l_u; Zl^T l_z ],  (df/dy)^T l from K^T w + Bq^T mu + ...      (S3)
 *
 * y must be on the manifold. With operators, forces that depend on multipliers, FULL motions or the user's own kinematics the
 * code is CP_NOT_SUPPORTED. parameters may be NULL without lfp.
 */
CPODES_EXPORT int CPMechVjp(CPMech mech, sunrealtype t, N_Vector y, const CPParameters *parameters,
                            N_Vector l, N_Vector Jl, sunrealtype *lfp);

/* ---- functionals ---- */

/** Values [ng] of end terms or integrands at (t, y) for the present parameters. */
typedef int (*CPFunctionalFn)(sunrealtype t, N_Vector y, sunrealtype *values, void *user_data);
/**
 * Derivatives of value k: gy [n] with respect to y, gp [number of parameters] with respect to the
 * parameters, both zero on entry.
 */
typedef int (*CPFunctionalGradFn)(sunrealtype t, N_Vector y, int k, N_Vector gy, sunrealtype *gp,
                                  void *user_data);

/** G_k = sum_j g_k(t_j, y(t_j), p) + int_t0^t1 h_k(t, y, p) dt, where the times t_j are t1 alone, or `times`. */
typedef struct {
  size_t size;                       /**< sizeof(CPFunctional), set by CP_INIT or CP_SIZED */
  int ng;                            /**< number of functionals, > 0 */
  CPFunctionalFn end;                /**< g, or NULL if it is 0 */
  CPFunctionalFn integrand;          /**< h, or NULL if it is 0 */
  CPFunctionalGradFn end_grad;       /**< gradient of g; if NULL, by differences of sixth order */
  CPFunctionalGradFn integrand_grad; /**< gradient of h; if NULL, by differences of sixth order */
  void *user_data;                   /**< passed to these functions */
  long int mxsteps; /**< largest number of steps of the run and of the backward problem (CV_TOO_MUCH_WORK); 10^6 if <= 0 */
  int ntimes;       /**< number of times, > 0 if they are given */
  const sunrealtype *times; /**< the times of end terms [ntimes], in the order from t0 to t1, or NULL: t1 */
} CPFunctional;

/**
 * J^T l [n] and l^T df/dp [number of parameters] at (t, y), where J = df/dy, of the user's own f.
 * Jl and lfp are zero on entry.
 */
typedef int (*CPAdjointFn)(sunrealtype t, N_Vector y, N_Vector l, N_Vector Jl, sunrealtype *lfp,
                           void *user_data);

/** A consistent start y0 at t0 for the present parameters. */
typedef int (*CPStartFn)(sunrealtype t0, N_Vector y0, void *user_data);

/** How gradients are computed. */
typedef enum {
  CP_GRADIENT_ADJOINT = 0, /**< by one backward run, whatever the number of parameters and of times */
  CP_GRADIENT_FORWARD =
      1 /**< by one sensitivity for each parameter, whatever the number of functionals */
} CPGradientMode;

/** Options of gradients. A member that is 0 has its default. All but mode, start and flight are for the backward run. */
typedef struct {
  size_t size;         /**< sizeof(CPGradientOptions), set by CP_INIT or CP_SIZED */
  CPGradientMode mode; /**< forward or adjoint */
  long int steps; /**< forward steps that are in memory, with at most 14 vectors each; default: as many as 32 MB hold, and at least
                          150. All others are integrated again from the (t, y) that is kept every `steps` steps */
  const char *method; /**< one-step method of the backward run; NULL: DOP853, from which a stiff run with RADAU or BDF forward
                          changes to RADAU */
  sunrealtype reltol; /**< relative tolerance of the gradient by the backward run, default 1e-8 */
  sunrealtype abstol; /**< absolute tolerance; default reltol times the largest of the sum of |dg/dy| over the end terms that the run has
                         passed, and of |dh/dy| there */
  CPAdjointFn adjoint; /**< function for the user's f; if NULL, CPMechVjp for a CPMech that supports it, else
                          differences, which take 6 n evaluations of f for each time */
  CPStartFn start; /**< for CPIntegratorGradientCheck, which gets the user_data of the functional */
  void *user_data; /**< passed to adjoint */
  N_Vector *after; /**< gradients [ng] with respect to y(t1) of what follows t1, as an event or another run, where l begins: G does not
                        contain it, and F may then have no terms. NULL: 0; a forward gradient refuses it */
  int flight; /**< 1: the run is one flight of CPSessionGradient, and events of the system's own sources are not in it. Otherwise a system that has
                   some is refused, since no integrator knows of them */
} CPGradientOptions;

/**
 * Functionals and their gradients, in one call from the start (CPIntegratorInit or CPIntegratorReInit) to t1. G [ng] and dG [ng x
 * parameters->n], by rows: out. options NULL: defaults.
 *
 * The tolerances of mem and options->reltol are those of the gradient. The runs inside have a part of them, which depends on the
 * method (guide, "Sensitivities"), and start from the projected start; mem has its own tolerances again afterwards. Weights by
 * a function, and forward runs with sensitivities of CPIntegratorSetSens, keep theirs.
 *
 * Forward: integrals are Gauss' formulas with six nodes on each step, at projected states. The sensitivities of CPIntegratorSetSens
 * are used, whose run may have begun; then parameters is NULL. If there are none, those of parameters are, with tests of their errors.
 *
 * Adjoint: one backward run of a one-step method, with all functionals,
 *
 *   l' = -J^T l - dh/dy,  l(t1) = dg/dy + after,   dG/dp = dg/dp + int (l^T df/dp + dh/dp) dt + l(t0)^T dy0/dp.
 *
 * dy0/dp (y0S) has to satisfy G dy0/dp + dc/dp = 0 (CP_INCONSISTENT_IC), unless gradient is asked for, and is projected by (S1).
 * P^T l(t0) of gradient is for changes of the start beside that one.
 * At each of `times`, l jumps by dg/dy. The forward states are those of the steps' own interpolants,
 * with BDF and Adams projected. parameters NULL: none,
 * or those of CPIntegratorSetSens, whose sensitivities are switched off until CPSensReInit. gradient [ng] (out; it and its vectors
 * may be NULL) becomes P^T l(t0), the gradients with respect to consistent initial states. States must lie in one memory. Root
 * functions are called, and found roots are passed. Afterwards mem is somewhere between t0 and t1, without a stop time, and needs
 * CPIntegratorReInit.
 *
 * Also returns CP_ILL_INPUT, CP_MEM_FAIL, or the code of CPIntegratorEvolve.
 */
CPODES_EXPORT int CPIntegratorGradient(CPIntegrator mem, sunrealtype t1, const CPFunctional *F,
                                       const CPParameters *parameters,
                                       const CPGradientOptions *options, sunrealtype *G,
                                       sunrealtype *dG, N_Vector *gradient);

/**
 * Compares forward sensitivities, adjoint gradients and finite differences from t0, where options->start gives the start, to t1, and
 * prints a table to out, unless it is NULL. The finite differences are central ones of sixth order of the whole run, in which parameters
 * are moved by up to three times `step` (0 < step < 1) of their size. The derivatives of the start are differences of options->start; y0S is not used.
 * worst: out, the largest difference between forward and adjoint, relative to the largest entry of the row; may be NULL. mem has
 * to be re-initialised afterwards, and has no sensitivities any more.
 */
CPODES_EXPORT int CPIntegratorGradientCheck(CPIntegrator mem, sunrealtype t0, sunrealtype t1,
                                            const CPFunctional *F, const CPParameters *parameters,
                                            const CPGradientOptions *options, sunrealtype step,
                                            FILE *out, sunrealtype *worst);

#ifdef __cplusplus
}
#endif
#endif
