/* cpodes: CVODES with coordinate projection (guide, chapter "The integrator").
 *
 *   y' = f(t, y),   0 = c(t, y)
 *
 * CVODES integrates f; a CPProjector moves every step back onto {c = 0} and projects the error
 * estimate that CVODES tests. All of CVODES stays usable through CPodeGetCVodeMem().
 *
 * Return values: CP_SUCCESS (0); CV_TSTOP_RETURN, CV_ROOT_RETURN; a negative CP_... or CV_...
 * error. Every error has been reported to the message handler and its text is kept for
 * CPodeGetLastMessage. Objects are not shared between threads; different objects are independent.
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
  long int nproj;            /**< attempts of steps that were projected */
  long int nskipped;         /**< those left unprojected (frequency, violation small enough) */
  long int nerrproj;         /**< error estimates projected */
  long int nprojfails;       /**< projections that failed and had the step rejected */
  long int nlargecorr;       /**< of those, because the correction was above its bound */
  long int ntakenback;       /**< pending Adams corrections taken back */
  long int noutputs;         /**< outputs projected */
  long int nce;              /**< evaluations of c for the steps, without difference quotients */
  long int nje;              /**< evaluations of G for the steps */
  long int nsetups;          /**< factorisations for the steps */
  long int niters;           /**< Newton corrections for the steps */
  sunrealtype violation;     /**< after the newest projection, in its own measure; 0: a user's */
  sunrealtype correction;    /**< WRMS norm of the newest correction */
  sunrealtype maxcorrection; /**< largest WRMS norm of a correction that was taken */
} CPodeProjStats;

/* ---- life cycle ---- */

/**
 * Integrator with CVODES memory of its own; two of its settings are not CVODES' defaults (guide,
 * "Defaults"), and CVodeSet... changes them as ever. lmm: CV_BDF or CV_ADAMS. ctx: outlives it.
 * Returns it, or NULL (a line on stderr says why). The caller frees it with CPodeFree.
 */
CPODES_EXPORT CPodeMem CPodeCreate(int lmm, SUNContext ctx);

/**
 * Adds projection to CVODES memory that a code already owns and has initialised (CVodeInit,
 * tolerances, solvers). lmm: as given to CVodeCreate; a wrong one ends the run with
 * CP_SELFCHECK_FAIL. inner: the nonlinear solver that it uses; it stays the caller's, must outlive
 * the integrator and have the operations gettype (ROOTFIND or
 * FIXEDPOINT), solve, setsysfn and setctestfn. NULL, only before
 * the first step: a new Newton solver, as CVODES' default is. y_tmpl [n]: vector like its state.
 * No tolerances need to be given again; the caller goes on with CPode in place of CVode. The
 * nonlinear convergence coefficient is set to CVODES' default, see CPodeSetNonlinConvCoef.
 * Returns the integrator, or NULL (a line on stderr says why). CPodeFree reinstalls inner and
 * leaves the CVODES memory, which must outlive it, to its owner; with inner NULL that memory needs
 * CVodeSetNonlinearSolver and CVodeReInit before it is used again (freeing it needs none).
 */
CPODES_EXPORT CPodeMem CPodeAttach(void *cvode_mem, int lmm, SUNNonlinearSolver inner,
                                   N_Vector y_tmpl, SUNContext ctx);

/** CVODES' memory: every CVode... function applies to it but CVodeResizeHistory (CP_NOT_SUPPORTED); where there is a
 * CPode... function of that name (ReInit, SetNonlinearSolver, SetNonlinConvCoef, SensInit1, ...) that has to be called.
 * Tolerances may be set by either, before the first step; the latest ones count. Not to be freed. NULL if mem is NULL. */
CPODES_EXPORT void *CPodeGetCVodeMem(CPodeMem mem);

/** Frees *mem and sets it to NULL; an attached one gives the CVODES memory back. mem or *mem may be
 * NULL. */
CPODES_EXPORT void CPodeFree(CPodeMem *mem);

/** As CVodeInit: f(t, y, ydot, user_data), start at (t0, y0); y0 [n] is copied. Not for attached
 * memory. */
CPODES_EXPORT int CPodeInit(CPodeMem mem, CVRhsFn f, sunrealtype t0, N_Vector y0);

/** As CVodeReInit: a new start at (t0, y0), counters cleared, options kept (at the time of a root that was
 * returned but CVodeSetEtaMaxFirstStep: guide, "The integrator", Roots). Also for attached
 * memory, where it must be called in place of CVodeReInit. */
CPODES_EXPORT int CPodeReInit(CPodeMem mem, sunrealtype t0, N_Vector y0);

/** As CVodeSStolerances, and kept. reltol, abstol >= 0 and finite. This and the next two: after the first step
 * they want CPodeReInit (CPode: CP_TOO_LATE). */
CPODES_EXPORT int CPodeSStolerances(CPodeMem mem, sunrealtype reltol, sunrealtype abstol);
/** As CVodeSVtolerances, and kept. abstol [n] >= 0 and finite, copied. */
CPODES_EXPORT int CPodeSVtolerances(CPodeMem mem, sunrealtype reltol, N_Vector abstol);
/** As CVodeWFtolerances, and kept. efun gets CVODES' user_data. */
CPODES_EXPORT int CPodeWFtolerances(CPodeMem mem, CVEwtFn efun);

/* ---- options ---- */

/** The projector, not owned, must outlive mem or be replaced. NULL: no projection. The same once
 * more: its user functions have other data now. CP_ILL_INPUT: its y_tmpl is of another length than
 * the state. */
CPODES_EXPORT int CPodeSetProjector(CPodeMem mem, CPProjector P);

/**
 * As CVodeRootInit, after CPodeInit: g(t, y, gout, user_data), gout [nrtfn], with CVODES' user_data. nrtfn 0: none.
 * CVodeSetRootDirection and CVodeGetRootInfo apply. A value that is not finite, for which CVODES would search without an
 * end, and a g that fails end the call of CPode with CV_RTFUNC_FAIL; the message names the function and t. After
 * CPodeReInit at the time of a root the function that has it is taken for zero there: the same root does not come twice.
 * Attached memory has its root functions from CVodeRootInit (CP_NOT_SUPPORTED).
 */
CPODES_EXPORT int CPodeRootInit(CPodeMem mem, int nrtfn, CVRootFn g);

/** The solver around which the projecting nonlinear solver is wrapped, not owned. NULL: a Newton
 * solver of its own (default). Before the first step after CPodeInit or CPodeReInit (CP_TOO_LATE).
 */
CPODES_EXPORT int CPodeSetNonlinearSolver(CPodeMem mem, SUNNonlinearSolver inner);

/** As CVodeSetNonlinConvCoef, > 0 and finite; must be used in its place: cpodes needs to know the
 * value (it is set again at each call of CPode). 0: CVODES' default, 0.1. */
CPODES_EXPORT int CPodeSetNonlinConvCoef(CPodeMem mem, sunrealtype coef);

/** Projects every nsteps-th step; > 0. 0: the default, 1. */
CPODES_EXPORT int CPodeSetProjFrequency(CPodeMem mem, long int nsteps);

/** on: projects only where the violation is above the projector's eps. Default off. */
CPODES_EXPORT int CPodeSetProjTestCnstr(CPodeMem mem, sunbooleantype on);

/** Which norm of the error estimate CVODES gets. Default CP_ERREST_DEFAULT. */
CPODES_EXPORT int CPodeSetProjErrEst(CPodeMem mem, CPErrEst mode);

/** A correction with WRMS norm above wrms (in units of the tolerance) rejects the step; > 0 or
 * infinite. 0: the default, CP_MAX_CORRECTION_DEFAULT, see the guide's table "Defaults". After
 * steps that were left unprojected there is no bound: no smaller step would make their drift
 * smaller. */
CPODES_EXPORT int CPodeSetProjMaxCorrection(CPodeMem mem, sunrealtype wrms);
#define CP_MAX_CORRECTION_DEFAULT SUN_RCONST(1.0e3)

/** on: interpolated output is projected (default). */
CPODES_EXPORT int CPodeSetProjOutput(CPodeMem mem, sunbooleantype on);

/** Receives the messages of mem and of its projector during CPode; NULL: one line on stderr
 *  (default). CVODES' own messages come here too where its error handler can be borrowed: SUNDIALS
 * 6, memory of CPodeCreate's. */
CPODES_EXPORT int CPodeSetErrHandlerFn(CPodeMem mem, CPErrHandlerFn handler, void *data);

/* ---- actions ---- */

/**
 * Makes y0 consistent, c(t0, y0) = 0, by CPProjectorAssemble followed by CPProjectorProject, in the
 * projector's norm and its fixed components (L2 if no tolerances were set), and re-initialises.
 * Only before the first step after CPodeInit or CPodeReInit (CP_TOO_LATE). User kind: by the user's
 * projection. On failure (CP_IC_FAIL or a user function's code) y0 is as it came and the message
 * names the constraints violated most.
 */
CPODES_EXPORT int CPodeCalcIC(CPodeMem mem);

/** The start state, after CPodeCalcIC the consistent one. y0 [n]: out. */
CPODES_EXPORT int CPodeGetConsistentIC(CPodeMem mem, N_Vector y0);

/**
 * As CVode: integrates to tout (itask CV_NORMAL) or one step towards it (CV_ONE_STEP). yout [n]:
 * out, the solution at *tret, on the manifold. The first call checks that the start is consistent.
 * tout: in the last step or beyond it (CV_NORMAL), on the side of the start to which the run goes (CV_ONE_STEP);
 * else CP_ILL_INPUT. Too near to the start: CV_TOO_CLOSE.
 * Returns CP_SUCCESS, CV_TSTOP_RETURN, CV_ROOT_RETURN; a CVODES error flag; or
 *
 * - CP_INCONSISTENT_IC: the start violates the constraint that the message names;
 * - CP_PROJ_..., CP_REPTD_..., CP_CNSTR_... and the other codes of CPReturnCode: the projection was
 *   the cause;
 * - CP_OUTPUT_PROJ_FAIL: the step is good, its output could not be projected and is given raw; the
 *   message says if that was at a root or at tstop;
 * - CP_BYPASSED: sensitivities with CV_SIMULTANEOUS, or CVodeSetNonlinearSolver, went around;
 * - CP_NOT_SUPPORTED: inequality constraints (CVodeSetConstraints; they have been switched off).
 *
 * After an error, except of an argument and of an output, yout and the state are the last good
 * ones, at *tret, and CPode can be called again. Where CVODES' own state was lost (NaN in its
 * history, f failing between the parts of a step: CV_UNREC_RHSFUNC_ERR) CVODES has been
 * re-initialised there; the message says so, and quadratures and sensitivities must be
 * re-initialised as well.
 */
CPODES_EXPORT int CPode(CPodeMem mem, sunrealtype tout, N_Vector yout, sunrealtype *tret, int itask);

/* ---- results ---- */

/** As CVodeGetDky, within the last step. k = 0: projected (unless switched off); k >= 1: the k-th
 * derivative of the raw interpolation polynomial. dky [n]: out. CP_NO_INIT: no step has been taken since the
 * start. */
CPODES_EXPORT int CPodeGetDky(CPodeMem mem, sunrealtype t, int k, N_Vector dky);

/** The estimate of the local errors in the last step, scaled as CVodeGetEstLocalErrors scales it: that which was tested
 * where it is projected (CP_ERREST_PROJECTED), else P ycor. ele [n]: out. CP_NO_INIT: the newest attempt was no accepted
 * step. */
CPODES_EXPORT int CPodeGetEstLocalErrors(CPodeMem mem, N_Vector ele);

/** Counters; stats: out. */
CPODES_EXPORT int CPodeGetProjStats(CPodeMem mem, CPodeProjStats *stats);

/** Counters of CVODES and of the projection, as CVodePrintAllStats. fmt: SUN_OUTPUTFORMAT_TABLE or
 * _CSV. */
CPODES_EXPORT int CPodePrintAllStats(CPodeMem mem, FILE *out, SUNOutputFormat fmt);

/** Name of a return value of cpodes or CVODES, e.g. "CP_INCONSISTENT_IC". The caller frees it.
 * NULL: no memory. */
CPODES_EXPORT char *CPodeGetReturnFlagName(long int flag);

/** The newest message, "" before the first. Valid until the next message or CPodeFree. */
CPODES_EXPORT const char *CPodeGetLastMessage(CPodeMem mem);

#ifdef __cplusplus
}
#endif
#endif
