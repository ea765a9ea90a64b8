/* cpodes: CVODES with coordinate projection (guide, chapter "The integrator").
 *
 *   y' = f(t, y),   0 = c(t, y)
 *
 * CVODES integrates f; a CPProjector moves every step back onto {c = 0} and projects the error
 * estimate that CVODES tests. All of CVODES stays usable through CPodeGetCVodeMem().
 *
 * Functions return CP_SUCCESS (0), CV_TSTOP_RETURN, CV_ROOT_RETURN, or a negative CP_... or CV_...
 * error. Every error has been reported to the message handler and its text is kept for
 * CPodeGetLastMessage. An object must not be used by two threads at once. Different objects are
 * independent. Functions of the user's must not call the object that they are called for, except
 * for its counters and messages (CP_REENTERED), and must not be left by longjmp or an exception
 * (guide, "The integrator", What callbacks may call).
 */
#ifndef CPODES_H
#define CPODES_H

#include <cpodes/cpodes_projector.h>
#include <cvodes/cvodes.h>
#include <stdio.h>
#include <sundials/sundials_nonlinearsolver.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The integrator; created by CPodeCreate or CPodeAttach. */
typedef struct CPodeMem_ *CPodeMem;

/** Counters of the projection since CPodeInit or CPodeReInit. */
typedef struct {
  long int nproj;      /**< step attempts that were projected */
  long int nskipped;   /**< step attempts left unprojected (frequency, small violation) */
  long int nerrproj;   /**< error estimates projected */
  long int nprojfails; /**< failed projections, for which the step was rejected */
  long int nlargecorr; /**< nprojfails whose correction was above its bound */
  long int ntakenback; /**< pending Adams corrections taken back */
  long int noutputs;   /**< outputs projected */
  long int nce;        /**< evaluations of c for the steps, without difference quotients */
  long int nje;        /**< evaluations of G for the steps */
  long int nsetups;    /**< factorisations for the steps */
  long int niters;     /**< Newton corrections for the steps */
  sunrealtype violation; /**< after the newest projection, in its own measure; 0 if it is the user's */
  sunrealtype correction;    /**< WRMS norm of the newest correction */
  sunrealtype maxcorrection; /**< largest WRMS norm of a correction that was taken */
} CPodeProjStats;

/* ---- life cycle ---- */

/**
 * Creates an integrator with CVODES memory of its own. Two of its settings differ from CVODES'
 * defaults (guide, "Defaults") and can be changed with CVodeSet... as usual.
 *
 * lmm is CV_BDF or CV_ADAMS. ctx must outlive the integrator. Returns the integrator, which the
 * caller frees with CPodeFree, or NULL, in which case a line on stderr says why.
 */
CPODES_EXPORT CPodeMem CPodeCreate(int lmm, SUNContext ctx);

/**
 * Adds projection to CVODES memory that a program already owns and has initialised (CVodeInit,
 * tolerances, solvers). The program then calls CPode in place of CVode. Tolerances need not be
 * given again. The nonlinear convergence coefficient is set to CVODES' default, see
 * CPodeSetNonlinConvCoef.
 *
 * lmm is the argument that CVodeCreate was given. A wrong one ends the run with CP_SELFCHECK_FAIL.
 * inner is the nonlinear solver in use, of type ROOTFIND or FIXEDPOINT, with the operations
 * gettype, solve, setsysfn and setctestfn. It remains the caller's and must outlive the integrator.
 * If inner is NULL, which is possible before the first step only, a new Newton solver is used, as
 * by CVODES itself. y_tmpl [n] is a vector like the state.
 *
 * Sensitivities must be set up afterwards, by CPodeSensInit1; memory that has some is refused.
 *
 * Returns the integrator, or NULL, in which case a line on stderr says why. CPodeFree reinstalls
 * inner and leaves the CVODES memory, which must outlive the integrator, to its owner. If inner was
 * NULL, that memory needs CVodeSetNonlinearSolver and CVodeReInit before it is used again, but not
 * before it is freed.
 */
CPODES_EXPORT CPodeMem CPodeAttach(void *cvode_mem, int lmm, SUNNonlinearSolver inner,
                                   N_Vector y_tmpl, SUNContext ctx);

/**
 * Returns CVODES' memory, which must not be freed, or NULL if mem is NULL. Every CVode... function
 * applies to it except CVodeResizeHistory (CP_NOT_SUPPORTED). Where a CPode... function of the same
 * name exists (ReInit, SetNonlinearSolver, SetNonlinConvCoef, SensInit1, ...), it must be called
 * instead. Tolerances may be set by either before the first step, and the latest ones count.
 */
CPODES_EXPORT void *CPodeGetCVodeMem(CPodeMem mem);

/**
 * Frees *mem and sets it to NULL. An attached integrator returns the CVODES memory to its owner.
 * mem and *mem may be NULL. In a function that mem has called, nothing is freed.
 */
CPODES_EXPORT void CPodeFree(CPodeMem *mem);

/**
 * As CVodeInit: sets f(t, y, ydot, user_data) and the start (t0, y0). y0 [n] is copied. Not for
 * attached memory.
 */
CPODES_EXPORT int CPodeInit(CPodeMem mem, CVRhsFn f, sunrealtype t0, N_Vector y0);

/**
 * As CVodeReInit: starts again at (t0, y0). Counters are cleared and options kept, except that
 * CVodeSetEtaMaxFirstStep has to be called again where the restart is at the time of a root that
 * was returned (guide, "The integrator", Roots). For attached memory, too, it must be called in
 * place of CVodeReInit.
 */
CPODES_EXPORT int CPodeReInit(CPodeMem mem, sunrealtype t0, N_Vector y0);

/**
 * As CVodeSStolerances. The values are kept. reltol and abstol must be non-negative and finite.
 * After the first step this function and the next two take effect only with CPodeReInit, without
 * which CPode returns CP_TOO_LATE.
 */
CPODES_EXPORT int CPodeSStolerances(CPodeMem mem, sunrealtype reltol, sunrealtype abstol);
/** As CVodeSVtolerances. abstol [n] is copied. Its components must be non-negative and finite. */
CPODES_EXPORT int CPodeSVtolerances(CPodeMem mem, sunrealtype reltol, N_Vector abstol);
/** As CVodeWFtolerances. efun is called with CVODES' user_data. */
CPODES_EXPORT int CPodeWFtolerances(CPodeMem mem, CVEwtFn efun);

/* ---- options ---- */

/**
 * Sets the projector, which is not owned and must outlive mem or be replaced. If P is NULL, steps
 * are not projected. Setting the same projector again announces that the data of its user functions
 * has changed. Returns CP_ILL_INPUT if its states are not of the length of the solution.
 */
CPODES_EXPORT int CPodeSetProjector(CPodeMem mem, CPProjector P);

/**
 * As CVodeRootInit, to be called after CPodeInit: sets the root functions g(t, y, gout, user_data),
 * gout [nrtfn], which get CVODES' user_data. With nrtfn = 0 there are none. CVodeSetRootDirection
 * and CVodeGetRootInfo apply.
 *
 * g gets the states that CPode would hand out, on the manifold, so it is zero at the state that
 * comes with CV_ROOT_RETURN, up to the roundoff of t and the change by a second projection of the
 * same state, which is a small part of the tolerance. A function that becomes exactly zero and stays
 * zero has its root where it becomes zero. Leaving zero is not a root (with CPodeF it is one if the
 * function returns to the side from which it came).
 *
 * If g fails, or has a value that is not finite (for which CVODES would search forever), CPode
 * returns CV_RTFUNC_FAIL and the message names the function and t. After CPodeReInit at the time of
 * a root, the function with that root counts as zero there, so the same root is not returned twice.
 * Attached memory has the root functions of CVodeRootInit, and this function returns
 * CP_NOT_SUPPORTED.
 */
CPODES_EXPORT int CPodeRootInit(CPodeMem mem, int nrtfn, CVRootFn g);

/**
 * Returns the interval of the root after CV_ROOT_RETURN: g has not crossed zero at *low, and has
 * crossed it at *high, the time that was returned. Returns CP_NO_INIT if the last call did not return
 * a root of these functions.
 */
CPODES_EXPORT int CPodeGetRootWindow(CPodeMem mem, sunrealtype *low, sunrealtype *high);

/**
 * Sets the solver that the projecting nonlinear solver wraps. It is not owned. If inner is NULL, a
 * Newton solver of the integrator's own is used (default). Returns CP_TOO_LATE after the first step
 * that follows CPodeInit or CPodeReInit.
 */
CPODES_EXPORT int CPodeSetNonlinearSolver(CPodeMem mem, SUNNonlinearSolver inner);

/**
 * As CVodeSetNonlinConvCoef, in whose place it must be called, since cpodes needs to know the
 * value, which it sets again at each call of CPode. coef must be finite and positive. 0 restores
 * CVODES' default, 0.1.
 */
CPODES_EXPORT int CPodeSetNonlinConvCoef(CPodeMem mem, sunrealtype coef);

/** Projects every nsteps-th step, nsteps > 0. 0 restores the default, 1. */
CPODES_EXPORT int CPodeSetProjFrequency(CPodeMem mem, long int nsteps);

/**
 * If on, a step is projected only where its violation exceeds the projector's eps. Off by default.
 */
CPODES_EXPORT int CPodeSetProjTestCnstr(CPodeMem mem, sunbooleantype on);

/** Chooses the norm of the error estimate that CVODES gets. The default is CP_ERREST_DEFAULT. */
CPODES_EXPORT int CPodeSetProjErrEst(CPodeMem mem, CPErrEst mode);

/**
 * Rejects steps whose correction has a WRMS norm (in units of the tolerance) above wrms, which is
 * positive or infinite. 0 restores the default, CP_MAX_CORRECTION_DEFAULT (guide, "Defaults").
 * Corrections after steps that were left unprojected are not bounded, since a smaller step would
 * not reduce the drift of earlier ones.
 */
CPODES_EXPORT int CPodeSetProjMaxCorrection(CPodeMem mem, sunrealtype wrms);
#define CP_MAX_CORRECTION_DEFAULT SUN_RCONST(1.0e3)

/** If on (default), interpolated output is projected. */
CPODES_EXPORT int CPodeSetProjOutput(CPodeMem mem, sunbooleantype on);

/**
 * Sets the function that receives the messages of mem and, during CPode, of its projector. If
 * handler is NULL (default), each message is one line on stderr. CVODES' own messages are passed on
 * as well where its error handler can be borrowed, that is with SUNDIALS 6 and memory of
 * CPodeCreate.
 */
CPODES_EXPORT int CPodeSetErrHandlerFn(CPodeMem mem, CPErrHandlerFn handler, void *data);

/* ---- actions ---- */

/**
 * Makes the start consistent, c(t0, y0) = 0, by CPProjectorAssemble followed by CPProjectorProject,
 * in the projector's norm (L2 if no tolerances are set) and with its fixed components, and
 * re-initialises. A projector of the user kind uses the user's projection.
 *
 * Returns CP_TOO_LATE after the first step that follows CPodeInit or CPodeReInit. On failure,
 * CP_IC_FAIL or the code of a user function, y0 is left as it was and the message names the
 * constraints that are violated most.
 */
CPODES_EXPORT int CPodeCalcIC(CPodeMem mem);

/** Copies the start, which CPodeCalcIC has made consistent, to y0 [n]. */
CPODES_EXPORT int CPodeGetConsistentIC(CPodeMem mem, N_Vector y0);

/**
 * As CVode: integrates to tout (itask CV_NORMAL) or takes one step towards it (CV_ONE_STEP). yout
 * [n] receives the solution at *tret, which lies on the manifold. The first call checks that the
 * start is consistent.
 *
 * tout must lie in the last step or beyond it (CV_NORMAL), or on the side of the start to which the
 * run goes (CV_ONE_STEP), else CP_ILL_INPUT is returned. If tout is the start up to roundoff, as
 * after an event at the end of a run, no step is taken, and the start is returned with CP_SUCCESS.
 * If it is not, but too close for a step (about 1e-138 from t0 = 0), CV_TOO_CLOSE is returned.
 *
 * Returns CP_SUCCESS, CV_TSTOP_RETURN, CV_ROOT_RETURN, an error flag of CVODES, or
 *
 * - CP_INCONSISTENT_IC if the start violates the constraint that the message names;
 * - CP_PROJ_..., CP_REPTD_..., CP_CNSTR_... and the other codes of CPReturnCode if the projection
 *   was the cause;
 * - CP_OUTPUT_PROJ_FAIL if the step is good but its output could not be projected and is given as
 *   it is; the message says whether that was at a root or at tstop;
 * - CP_BYPASSED if sensitivities with CV_SIMULTANEOUS, or CVodeSetNonlinearSolver, bypass the
 *   projection;
 * - CP_NOT_SUPPORTED if there are inequality constraints (CVodeSetConstraints), which have then
 *   been switched off.
 *
 * After an error that concerns neither an argument nor output, yout and the state are the last good
 * ones, at *tret, and CPode can be called again. Where CVODES' own state was lost (NaN in its
 * history, or f failing between the parts of a step: CV_UNREC_RHSFUNC_ERR), CVODES has been
 * re-initialised there. The message says so, and quadratures and sensitivities must be
 * re-initialised as well.
 */
CPODES_EXPORT int CPode(CPodeMem mem, sunrealtype tout, N_Vector yout, sunrealtype *tret, int itask);

/* ---- results ---- */

/**
 * As CVodeGetDky, within the last step. For k = 0 the result is projected unless that is switched
 * off. For k >= 1 it is the k-th derivative of the interpolation polynomial, which is not
 * projected. Both may call the user's functions. dky [n]: out. Returns CP_NO_INIT if no step has
 * been taken since the start.
 */
CPODES_EXPORT int CPodeGetDky(CPodeMem mem, sunrealtype t, int k, N_Vector dky);

/**
 * Returns the estimate of the local errors in the last step, scaled as by CVodeGetEstLocalErrors:
 * the vector that was tested if the error estimate is projected (CP_ERREST_PROJECTED), else P ycor.
 * ele [n]: out. Returns CP_NO_INIT if the newest attempt was not an accepted step.
 */
CPODES_EXPORT int CPodeGetEstLocalErrors(CPodeMem mem, N_Vector ele);

/** Copies the counters to *stats. */
CPODES_EXPORT int CPodeGetProjStats(CPodeMem mem, CPodeProjStats *stats);

/**
 * Prints the counters of CVODES and of the projection, as CVodePrintAllStats does. fmt is
 * SUN_OUTPUTFORMAT_TABLE or SUN_OUTPUTFORMAT_CSV.
 */
CPODES_EXPORT int CPodePrintAllStats(CPodeMem mem, FILE *out, SUNOutputFormat fmt);

/**
 * Returns the name of a return value of cpodes or CVODES, such as "CP_INCONSISTENT_IC", in a string
 * that the caller frees, or NULL if there is no memory.
 */
CPODES_EXPORT char *CPodeGetReturnFlagName(long int flag);

/**
 * Returns the newest message, or "" if there has been none. It is valid until the next message or
 * CPodeFree.
 */
CPODES_EXPORT const char *CPodeGetLastMessage(CPodeMem mem);

#ifdef __cplusplus
}
#endif
#endif
