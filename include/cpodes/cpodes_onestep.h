/* cpodes: one-step methods with coordinate projection (guide, chapter "One-step methods").
 *
 *   y' = f(t, y),   0 = c(t, y)
 *
 * Runge-Kutta methods: after each step a CPProjector moves the state back onto {c = 0} and projects
 * the error estimate, by which steps are accepted and sized; a projection that fails has the step
 * retried with a smaller one. DOP853, every explicit Butcher table of ARKODE's or the user's, and
 * for stiff problems Radau IIA. For smooth problems at tight tolerances DOP853 takes a fraction of the
 * evaluations that multistep methods take; after events a one-step method restarts at no cost.
 *
 * Return values are those of CPode: CP_SUCCESS (0), CV_TSTOP_RETURN, CV_ROOT_RETURN, a negative
 * CP_... or CV_... error, which has been reported to the message handler and whose text is kept for
 * CPOneStepGetLastMessage. After an error the state is the last good one. Objects are not shared
 * between threads; different objects are independent.
 */
#ifndef CPODES_ONESTEP_H
#define CPODES_ONESTEP_H

#include <cpodes/cpodes.h>
#include <cpodes/cpodes_mechanics.h>

#include <cvodes/cvodes_ls.h> /* CVLsJacFn */

#include <arkode/arkode_butcher.h> /* which needs stdio.h before */

#ifdef __cplusplus
extern "C" {
#endif

/** The integrator; created by CPOneStepCreate or CPOneStepCreateTable. */
typedef struct CPOneStepMem_ *CPOneStepMem;

/** Counters since CPOneStepInit or CPOneStepReInit. */
typedef struct {
  long int nst;         /**< steps taken */
  long int nattempts;   /**< steps attempted */
  long int netf;        /**< of those, rejected by the error test */
  long int nrhsfails;   /**< of those, because f failed recoverably */
  long int nprojfails;  /**< of those, because a projection failed, or moved too far (nlargecorr) */
  long int nlargecorr;  /**< of these, because the correction was above its bound */
  long int nsolvefails; /**< of those, because stages did not converge (RADAU) */
  long int nfe;         /**< evaluations of f, all of them: for outputs and differences, too */
  long int nfe_output;  /**< of those, for interpolation (output, roots) */
  long int njev;        /**< Jacobians df/dy (RADAU) */
  long int nlinsetups;  /**< factorisations of iteration matrices, real and complex (RADAU) */
  long int nni;         /**< iterations for stages (RADAU) */
  long int nlureal;     /**< factorisations of real matrices (RADAU) */
  long int nlucomplex;  /**< of complex ones (RADAU) */
  long int nge;         /**< evaluations of root functions */
  long int nproj;       /**< steps projected */
  long int nerrproj;    /**< error estimates projected; DOP853 has two */
  long int noutputs;    /**< outputs, and states for roots, projected */
  long int nce;         /**< evaluations of c for the steps, without difference quotients */
  long int nje;         /**< evaluations of G for the steps */
  long int nsetups;     /**< factorisations for the steps' projections */
  long int niters;      /**< Newton corrections of the steps' projections */
  sunrealtype hfirst;   /**< first step */
  sunrealtype hlast;    /**< newest step */
  sunrealtype hnext;    /**< size of the next attempt */
  sunrealtype t;        /**< reached */
  sunrealtype violation;     /**< after the newest projection, in its own measure; 0: a user's */
  sunrealtype correction;    /**< WRMS norm of the newest correction */
  sunrealtype maxcorrection; /**< largest WRMS norm of a correction that was taken */
} CPOneStepStats;

/* ---- life cycle ---- */

/**
 * Integrator with the method of this name:
 *
 * - "DOP853": order 8, 12 stages, error estimates of orders 5 and 3, interpolation of order 7
 *   (E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, 2nd ed.,
 *   sections II.5, II.6 and II.10); if method is NULL, this one is meant;
 * - "RADAU5": Radau IIA with 3 stages, order 5, "RADAU9": with 5 stages, order 9, "RADAU13": with 7
 *   stages, order 13, for tight tolerances, "RADAU": with that
 *   of 3 and 5 which promises more after each step; fully implicit, for stiff problems; an error
 *   estimate of the order of the number of stages, interpolation of one order more (E. Hairer, G.
 *   Wanner, Solving Ordinary Differential Equations II, 2nd ed., sections IV.5 and IV.8). Vectors have
 *   to be in one memory;
 * - any explicit table of ARKODE's, "ARKODE_DORMAND_PRINCE_7_4_5" for example.
 *
 * ctx must outlive the integrator. Returns the integrator, which the caller frees with CPOneStepFree, or NULL: then a
 * line on stderr says why (an unknown name, no embedded method).
 */
CPODES_EXPORT CPOneStepMem CPOneStepCreate(const char *method, SUNContext ctx);

/** The same with a table of one's own, which is copied: explicit, A strictly lower triangular. A
 * table without an embedded method (B->d) serves CPOneStepSetFixedStep only. Returns NULL if the table is not explicit, is not
 * consistent (sum_i b_i = 1, sum_j a_ij = c_i), or has entries that are not finite. */
CPODES_EXPORT CPOneStepMem CPOneStepCreateTable(ARKodeButcherTable B, SUNContext ctx);

/** Frees *mem and sets it to NULL. mem or *mem may be NULL. */
CPODES_EXPORT void CPOneStepFree(CPOneStepMem *mem);

/** f(t, y, ydot, user_data) as for CVODES: 0, positive recoverable, negative fatal. Start at (t0, y0);
 * y0 [n] is copied. */
CPODES_EXPORT int CPOneStepInit(CPOneStepMem mem, CVRhsFn f, sunrealtype t0, N_Vector y0);

/** A new start at (t0, y0): counters cleared, options and the step size kept (after an event that is
 * all that it takes), unless t0 does not resolve it; after a root it is no longer than the motion that led to it.
 * y0 [n] is copied. */
CPODES_EXPORT int CPOneStepReInit(CPOneStepMem mem, sunrealtype t0, N_Vector y0);

/** As CVodeSStolerances: error weights 1 / (reltol |y_i| + abstol), of the state at the step's
 * start. These may be set again between any two steps. */
CPODES_EXPORT int CPOneStepSStolerances(CPOneStepMem mem, sunrealtype reltol, sunrealtype abstol);
/** abstol [n] >= 0, copied. */
CPODES_EXPORT int CPOneStepSVtolerances(CPOneStepMem mem, sunrealtype reltol, N_Vector abstol);
/** efun(y, ewt, user_data): the weights, all > 0; non-zero return: failure. */
CPODES_EXPORT int CPOneStepWFtolerances(CPOneStepMem mem, CVEwtFn efun);

/* ---- options; at any time between two steps ---- */

/** Pointer handed to f, efun and g, not owned. With a CPMech attached: CP_NOT_SUPPORTED, see
 * CPMechSetUserData. */
CPODES_EXPORT int CPOneStepSetUserData(CPOneStepMem mem, void *user_data);
/** That pointer. NULL if mem is NULL. */
CPODES_EXPORT void *CPOneStepGetUserData(CPOneStepMem mem);

/**
 * Gives RADAU the Jacobian J = df/dy [n x n], before CPOneStepInit. J_tmpl, which is copied, is a dense matrix, or a
 * sparse one (by columns or rows) with the pattern of J; if it is NULL (default), J is dense. jac(t, y, fy, J, user_data,
 * tmp1, tmp2, tmp3) fills J as for CVODES: J is zero when jac is called, and keeps its pattern; fy approximates f(t, y) by
 * the derivative of a stage. If jac is NULL (default), J is formed by difference quotients, which take one evaluation of
 * f for each group of columns that share no row of the pattern. A CPMech brings its own derivatives. Returns
 * CP_NOT_SUPPORTED with another method, and CP_TOO_LATE after CPOneStepInit.
 */
CPODES_EXPORT int CPOneStepSetJacobian(CPOneStepMem mem, SUNMatrix J_tmpl, CVLsJacFn jac);

/**
 * The right-hand side at k points at once, F_i = f(t_i, Y_i) for i < k: t [k]; Y, F [k n], whose point i is at Y + i n and
 * F + i n, in host memory. The arrays belong to the integrator and are valid during the call. Returns what f returns
 * where one of the points fails: 0, positive recoverable, negative fatal.
 */
typedef int (*CPOneStepRhsBatchFn)(int k, const sunrealtype *t, const sunrealtype *Y,
                                   sunrealtype *F, void *user_data);

/**
 * Gives RADAU such a function, before CPOneStepInit: for all stages of an iteration of Newton's, k = 3, 5 or 7, and for
 * difference quotients of the Jacobian, at most CP_ONESTEP_BATCH states at one time. It pays where k points cost less in one
 * call than in k: in an interpreted language, in threads, on a device. f remains what CPOneStepInit got, and is called at
 * single points: at starts, and for roots. Where both return the same numbers, so does the integrator. CPOneStepStats counts
 * points. If batch is NULL (default), f is called at all points. A CPMech brings functions of its own. Returns
 * CP_NOT_SUPPORTED with another method, and CP_TOO_LATE after CPOneStepInit.
 */
CPODES_EXPORT int CPOneStepSetRhsBatchFn(CPOneStepMem mem, CPOneStepRhsBatchFn batch);
/** Most points of one call. It bounds the memory: so many states, and as many values. */
#define CP_ONESTEP_BATCH 128

/** Sets the projector, as CPodeSetProjector does. mem does not own P; if P is NULL, nothing is projected. */
CPODES_EXPORT int CPOneStepSetProjector(CPOneStepMem mem, CPProjector P);

/** Which error estimate decides: CP_ERREST_UNPROJECTED (default), or _PROJECTED (explicit methods; RADAU:
 * CP_NOT_SUPPORTED). */
CPODES_EXPORT int CPOneStepSetProjErrEst(CPOneStepMem mem, CPErrEst mode);

/** As CPodeSetProjMaxCorrection. With CPOneStepSetFixedStep there is no bound: no smaller step would follow. */
CPODES_EXPORT int CPOneStepSetProjMaxCorrection(CPOneStepMem mem, sunrealtype wrms);

/** on: interpolated output is projected (default). */
CPODES_EXPORT int CPOneStepSetProjOutput(CPOneStepMem mem, sunbooleantype on);

/** handler receives the messages of mem and of its projector. If it is NULL (default), each is a line on stderr. */
CPODES_EXPORT int CPOneStepSetErrHandlerFn(CPOneStepMem mem, CPErrHandlerFn handler, void *data);

/** Size of the first step, or of the next one, of either sign as the direction has it; 0: chosen (default; Hairer, Norsett,
 * Wanner I, II.4). */
CPODES_EXPORT int CPOneStepSetInitStep(CPOneStepMem mem, sunrealtype h);
/** Bounds on |h|, >= 0; 0: none (default). CV_ERR_FAILURE where the lower one does not suffice. */
CPODES_EXPORT int CPOneStepSetMinStep(CPOneStepMem mem, sunrealtype h);
CPODES_EXPORT int CPOneStepSetMaxStep(CPOneStepMem mem, sunrealtype h);
/** Steps of this size, but for the last one before tstop; no error test, no bound on corrections. 0: adaptive
 * (default). */
CPODES_EXPORT int CPOneStepSetFixedStep(CPOneStepMem mem, sunrealtype h);
/** Most steps in one call, > 0; 0: the default, 500; -1: no bound. */
CPODES_EXPORT int CPOneStepSetMaxNumSteps(CPOneStepMem mem, long int mxsteps);
/** As CVodeSetStopTime: no step goes beyond tstop; reaching it is CV_TSTOP_RETURN and clears it. */
CPODES_EXPORT int CPOneStepSetStopTime(CPOneStepMem mem, sunrealtype tstop);
CPODES_EXPORT int CPOneStepClearStopTime(CPOneStepMem mem);

/** As CVodeRootInit: g(t, y, gout, user_data), gout [nrtfn]. nrtfn 0: none. States handed to g are on
 * the manifold, so that g is zero at the state that CV_ROOT_RETURN hands out, up to the roundoff of t; to find
 * which g_i are zero at a start or a root but for errors, and how fast they change at the ends of steps, it also gets states
 * that are off it by some tolerances at most. A function that comes to zero and goes away within one step is found if it
 * falls and rises only once there. A step in which interpolation would make the state at a root wrong by more than a tenth of the
 * tolerance is repeated, to end just behind the root (guide); not with fixed steps.
 */
CPODES_EXPORT int CPOneStepRootInit(CPOneStepMem mem, int nrtfn, CVRootFn g);
/** As CVodeSetRootDirection, rootdir [nrtfn]: -1, 0, 1. */
CPODES_EXPORT int CPOneStepSetRootDirection(CPOneStepMem mem, const int *rootdir);
/** As CVodeGetRootInfo, rootsfound [nrtfn]: out, -1 falling, 1 rising, 0 no root. */
CPODES_EXPORT int CPOneStepGetRootInfo(CPOneStepMem mem, int *rootsfound);
/** As CPodeGetRootWindow. */
CPODES_EXPORT int CPOneStepGetRootWindow(CPOneStepMem mem, sunrealtype *low, sunrealtype *high);

/* ---- actions ---- */

/** As CPodeCalcIC. */
CPODES_EXPORT int CPOneStepCalcIC(CPOneStepMem mem);
/** As CPodeGetConsistentIC. */
CPODES_EXPORT int CPOneStepGetConsistentIC(CPOneStepMem mem, N_Vector y0);

/**
 * As CPode: integrates to tout (itask CV_NORMAL) or one step towards it (CV_ONE_STEP). yout [n]: out,
 * the solution at *tret, on the manifold. The first call checks that the start is consistent.
 * Returns as CPode does; CV_ERR_FAILURE: no step size passes the error test; CV_REPTD_RHSFUNC_ERR,
 * CV_RHSFUNC_FAIL: f failed; CV_TOO_MUCH_WORK: more steps than CPOneStepSetMaxNumSteps;
 * CV_TOO_MUCH_ACC: the tolerance is below roundoff; CV_ILL_INPUT: without an embedded method.
 * RADAU: CV_CONV_FAILURE: Newton's iteration converges with no step size; CV_LSETUP_FAIL, CV_LSOLVE_FAIL: its linear
 * systems failed for good.
 */
CPODES_EXPORT int CPOneStepEvolve(CPOneStepMem mem, sunrealtype tout, N_Vector yout,
                                  sunrealtype *tret, int itask);

/* ---- results ---- */

/** k-th derivative of the interpolant within the last step, whose error is of the order of the
 * method's; k = 0: projected (unless switched off). dky [n]: out. CV_BAD_T, CV_BAD_K (k is not
 * 0 ... its degree). */
CPODES_EXPORT int CPOneStepGetDky(CPOneStepMem mem, sunrealtype t, int k, N_Vector dky);
/** The error estimate of the last step, projected if that decided. ele [n]: out. */
CPODES_EXPORT int CPOneStepGetEstLocalErrors(CPOneStepMem mem, N_Vector ele);
/** Name of the method (valid as long as mem), order, order of the embedded one, stages. Any may be
 * NULL. */
CPODES_EXPORT int CPOneStepGetMethod(CPOneStepMem mem, const char **name, int *order, int *embedded,
                                     int *stages);
/** Counters; stats: out. */
CPODES_EXPORT int CPOneStepGetStats(CPOneStepMem mem, CPOneStepStats *stats);
/** Counters, as CPodePrintAllStats. */
CPODES_EXPORT int CPOneStepPrintAllStats(CPOneStepMem mem, FILE *out, SUNOutputFormat fmt);
/** The newest message, "" before the first. Valid until the next message or CPOneStepFree. */
CPODES_EXPORT const char *CPOneStepGetLastMessage(CPOneStepMem mem);

/* ---- mechanical systems ---- */

/** As CPMechAttach: right-hand side, projector, user_data, error weights, and for RADAU the equations in implicit
 * form; starts at (t0, y0) by CPOneStepInit or CPOneStepReInit. */
CPODES_EXPORT int CPMechAttachOneStep(CPMech mech, CPOneStepMem mem, sunrealtype t0, N_Vector y0);

#ifdef __cplusplus
}
#endif
#endif
