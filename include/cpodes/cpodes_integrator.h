/* cpodes: one integrator, many methods (guide, chapter "The integrator").
 *
 *   y' = f(t, y),   0 = c(t, y),   y(t0) = y0
 *
 *   "DOP853"        explicit, order 8: 12 stages, error estimates of orders 5 and 3, interpolation of order 7 (E. Hairer, S. P.
 *                   Norsett, G. Wanner, Solving Ordinary Differential Equations I, 2nd ed., sections II.5, II.6 and II.10).
 *                   Smooth motion: take this one.
 *   "BS54"          explicit, order 5: 7 evaluations a step, interpolation of order 5 for one more (P. Bogacki, L. F. Shampine,
 *                   Computers & Mathematics with Applications 32 (1996) 15-28). Loose tolerances, from 1e-3 on. Its error
 *                   estimate is scaled so that errors are as many tolerances as those of DOP853.
 *   "BS32"          explicit, order 3: 3 evaluations a step, interpolation of order 3 for none (the same authors, Applied
 *                   Mathematics Letters 2 (1989) 321-325). Where restarts, as those of a controller, end the steps.
 *   "RADAU"         Radau IIA with 3 or 5 stages, whichever promise the longer step for their cost; "RADAU5", "RADAU9" and
 *                   "RADAU13" have 3, 5 and 7 stages, of orders 5, 9 and 13. For stiff problems. With s stages the error
 *                   estimate is of order s and the interpolation of order s + 1 (E. Hairer, G. Wanner, Solving Ordinary
 *                   Differential Equations II, 2nd ed., sections IV.5 and IV.8). Vectors must be in one memory.
 *   "BDF", "ADAMS"  CVODES: variable order, few evaluations of an expensive f, MPI, and all of CVODES
 *   "ARKODE_..."    any explicit table of ARKODE, for example "ARKODE_DORMAND_PRINCE_7_4_5", or the user's
 *
 * After each step a CPProjector moves the state to the nearest point of {c = 0}, and the error estimate is projected, too.
 * If a projection fails, the step is repeated with a smaller size. BDF and Adams are CVODES' own, whose functions apply to
 * CPIntegratorGetCVodeMem. The other methods are one-step methods, which restart at no cost after events.
 *
 * Functions return CP_SUCCESS (0), CV_TSTOP_RETURN, CV_ROOT_RETURN, or a negative CP_... or CV_... error. What a method lacks
 * returns CP_NOT_SUPPORTED, and the message names the methods that have it. Every error has been reported to the message
 * handler and its text is kept for CPObjectGetLastMessage. After an error the state is the last good one. An object must
 * not be used by two threads at once. Different objects are independent. Functions of the user's must not call the object
 * that they are called for, except for its counters and messages (CP_REENTERED), and must not be left by longjmp or an
 * exception (guide, "The integrator", What callbacks may call).
 */
#ifndef CPODES_INTEGRATOR_H
#define CPODES_INTEGRATOR_H

#include <cpodes/cpodes_projector.h>
#include <cvodes/cvodes.h>
#include <cvodes/cvodes_ls.h> /* CVLsJacFn */
#include <stdio.h>
#include <sundials/sundials_nonlinearsolver.h>

#include <arkode/arkode_butcher.h> /* which needs stdio.h before */

#ifdef __cplusplus
extern "C" {
#endif

/* ---- life cycle ---- */

/**
 * Creates an integrator by the name of its method (NULL: "DOP853"), which, except for tables, may be in small letters. ctx must
 * outlive it. Returns the integrator, which the caller frees with CPIntegratorFree, or NULL, with a message
 * (CPObjectGetLastMessage(NULL): unknown name, no embedded method).
 * "BDF" and "ADAMS" get CVODES memory of their own. Two of its settings differ from CVODES' defaults (guide, "Defaults") and
 * can be changed with CVodeSet... as usual.
 */
CPODES_EXPORT CPIntegrator CPIntegratorCreate(const char *method, SUNContext ctx);

/** Creates an integrator with the user's table, which is copied and must be explicit (A strictly lower
 * triangular). A table without an embedded method (B->d) allows fixed steps only
 * (CPIntegratorSetFixedStep). Returns NULL if the table is not explicit, is not consistent (sum_i b_i = 1,
 * sum_j a_ij = c_i), or has entries that are not finite. */
CPODES_EXPORT CPIntegrator CPIntegratorCreateTable(ARKodeButcherTable B, SUNContext ctx);

/**
 * Adds projection to CVODES memory that a program already owns and has initialised (CVodeInit,
 * tolerances, solvers). The program then calls CPIntegratorEvolve in place of CVode. Tolerances need not be
 * given again. If steps have been taken, the nonlinear convergence coefficient becomes CVODES' default, 0.1.
 *
 * method is "BDF" or "ADAMS", in any case: what CVodeCreate was given. A wrong one ends the run with CP_SELFCHECK_FAIL.
 * inner is the nonlinear solver in use, of type ROOTFIND or FIXEDPOINT, with the operations
 * gettype, solve, setsysfn and setctestfn. It remains the caller's and must outlive the integrator.
 * If inner is NULL, which is possible before the first step only, a new Newton solver is used, as
 * by CVODES itself. y_tmpl [n] is a vector like the state.
 *
 * Sensitivities must be set up afterwards, by CPIntegratorSetSens; memory that has some is refused.
 *
 * Returns the integrator, or NULL (CPObjectGetLastMessage(NULL)). CPIntegratorFree reinstalls
 * inner and leaves the CVODES memory, which must outlive the integrator, to its owner. If inner was
 * NULL, that memory needs CVodeSetNonlinearSolver and CVodeReInit before it is used again, but not
 * before it is freed.
 */
CPODES_EXPORT CPIntegrator CPIntegratorAttach(void *cvode_mem, const char *method,
                                              SUNNonlinearSolver inner, N_Vector y_tmpl,
                                              SUNContext ctx);

/**
 * Returns CVODES' memory, which must not be freed, or NULL if mem is NULL or has a one-step method. Every CVode... function
 * applies to it except CVodeResizeHistory (CP_NOT_SUPPORTED). Where a CPIntegrator... function of the same
 * name exists (ReInit, SetNonlinearSolver, SensInit1, ...), it must be called
 * instead. Tolerances may be set by either before the first step, and the latest ones count. CVodeSetNonlinConvCoef
 * counts if it is called before the first step.
 */
CPODES_EXPORT void *CPIntegratorGetCVodeMem(CPIntegrator mem);

/** Frees *mem and sets it to NULL; mem and *mem may be NULL. An attached integrator returns the CVODES memory to its owner.
 * In a function that mem has called, nothing is freed. */
CPODES_EXPORT void CPIntegratorFree(CPIntegrator *mem);

/** As CVodeInit: sets f(t, y, ydot, user_data) and the start (t0, y0). f returns 0, or a positive value after a recoverable
 * failure, or a negative one after a fatal failure. y0 [n] is copied. Not for attached memory. */
CPODES_EXPORT int CPIntegratorInit(CPIntegrator mem, CVRhsFn f, sunrealtype t0, N_Vector y0);

/**
 * As CVodeReInit, in whose place it must be called: starts again at (t0, y0), which is copied. Counters are cleared and
 * options kept.
 *
 * One-step methods keep their step size and number of stages, but no size that is below the roundoff of t0. At a root it is
 * limited to the time since the previous start. With the same first step (CPIntegratorSetInitStep) and number of stages, the
 * run is that of a new integrator. With BDF and ADAMS CVodeSetEtaMaxFirstStep has to be called again where the restart is at
 * the time of a root that was returned (guide, "The integrator", Roots).
 */
CPODES_EXPORT int CPIntegratorReInit(CPIntegrator mem, sunrealtype t0, N_Vector y0);

/**
 * As CVodeSStolerances: the error weights are 1 / (reltol |y_i| + abstol). reltol and abstol must be non-negative and finite.
 * One-step methods take y at the start of the step, and tolerances may be changed between any two steps. With BDF and ADAMS,
 * after the first step, this function and the next two take effect only with CPIntegratorReInit, without
 * which CPIntegratorEvolve returns CP_TOO_LATE.
 */
CPODES_EXPORT int CPIntegratorSStolerances(CPIntegrator mem, sunrealtype reltol, sunrealtype abstol);
/** As CVodeSVtolerances. abstol [n] is copied. Its components must be non-negative and finite. */
CPODES_EXPORT int CPIntegratorSVtolerances(CPIntegrator mem, sunrealtype reltol, N_Vector abstol);
/** As CVodeWFtolerances. efun(y, ewt, user_data) sets the weights ewt [n] > 0. It returns 0, or another value if it fails. */
CPODES_EXPORT int CPIntegratorWFtolerances(CPIntegrator mem, CVEwtFn efun);

/* ---- options; with one-step methods at any time between two steps ---- */

/** Sets the pointer that f, efun and g get, and the functions of a projector without data of its own. It is not owned. Returns
 * CP_NOT_SUPPORTED if a CPMech is attached (use CPMechSetUserData). */
CPODES_EXPORT int CPIntegratorSetUserData(CPIntegrator mem, void *user_data);

/**
 * Sets the projector, which is not owned and must outlive mem or be replaced. If P is NULL, steps
 * are not projected. Setting the same projector again announces that the data of its user functions
 * has changed. Returns CP_ILL_INPUT if its states are not of the length of the solution.
 */
CPODES_EXPORT int CPIntegratorSetProjector(CPIntegrator mem, CPProjector P);

/** Projects every nsteps-th step, nsteps > 0 (0: the default, 1), and of these, if violated is not 0 (default: 0), only
 * those whose violation exceeds the projector's eps. BDF and ADAMS; other methods project every step. */
CPODES_EXPORT int CPIntegratorSetProjFrequency(CPIntegrator mem, long int nsteps, int violated);

/** Chooses the error estimate that is tested. The default is CP_ERREST_DEFAULT. RADAU has no projected one. */
CPODES_EXPORT int CPIntegratorSetErrEst(CPIntegrator mem, CPErrEst mode);

/**
 * Rejects steps whose correction has a WRMS norm (in units of the tolerance) above wrms, which is
 * positive or infinite. 0 restores the default, CP_MAX_CORRECTION_DEFAULT (guide, "Defaults").
 * Corrections after steps that were left unprojected are not bounded, since a smaller step would
 * not reduce the drift of earlier ones, nor those of steps of fixed size, which could not be repeated with a smaller one.
 */
CPODES_EXPORT int CPIntegratorSetMaxCorrection(CPIntegrator mem, sunrealtype wrms);
#define CP_MAX_CORRECTION_DEFAULT SUN_RCONST(1.0e3)

/** If on (default), interpolated output is projected. */
CPODES_EXPORT int CPIntegratorSetProjOutput(CPIntegrator mem, sunbooleantype on);

/** Sets the solver that the projecting nonlinear solver of BDF and ADAMS wraps. It is not owned. If inner is NULL, a
 * Newton solver of the integrator's own is used (default). Returns CP_TOO_LATE after the first step
 * that follows CPIntegratorInit or CPIntegratorReInit. */
CPODES_EXPORT int CPIntegratorSetNonlinearSolver(CPIntegrator mem, SUNNonlinearSolver inner);

/**
 * Sets the Jacobian J = df/dy [n x n] for RADAU, before the first step. J_tmpl, which is copied, is a dense
 * matrix, or a sparse one (CSC or CSR) with the pattern of J. If J_tmpl is NULL (default), J is dense.
 * jac(t, y, fy, J, user_data, tmp1, tmp2, tmp3) fills J as for CVODES. J is zero on entry, and jac must
 * keep its pattern. fy is the derivative of a stage, which approximates f(t, y). If jac is NULL
 * (default), J is formed by difference quotients, which take one evaluation of f for each group of
 * columns that share no row of the pattern. J is compared with f along a random direction now and then:
 * CPIntegratorEvolve returns CP_ILL_INPUT if a row of it is thirty times too large. A CPMech has derivatives of its own.
 * Returns CP_NOT_SUPPORTED for another method (BDF: CVodeSetLinearSolver, CVodeSetJacFn), and CP_TOO_LATE after
 * the first step.
 */
CPODES_EXPORT int CPIntegratorSetJacFn(CPIntegrator mem, SUNMatrix J_tmpl, CVLsJacFn jac);

/**
 * Right-hand side at k points at once: F_i = f(t_i, Y_i) for 0 <= i < k. t [k], Y [k n]: in. F [k n]: out.
 * Point i is at Y + i n and F + i n, in host memory. The arrays belong to the integrator and are valid
 * during the call only. Returns 0, or a positive value if one of the points fails recoverably, or a
 * negative one if it fails fatally.
 */
typedef int (*CPRhsBatchFn)(int k, const sunrealtype *t, const sunrealtype *Y, sunrealtype *F,
                            void *user_data);

/**
 * Sets such a function for RADAU, before the first step. It is called for all stages of a Newton iteration
 * (k = 3, 5 or 7) and for the difference quotients of the Jacobian (k <= CP_MAX_BATCH). Use it where
 * one call with k points costs less than k calls: in an interpreted language, with threads, or on a
 * device. The f of CPIntegratorInit is still called at single points, at starts and for roots. If both
 * functions return the same numbers, the integrator's results do not change. The counters "rhs_evals" count
 * points. If batch is NULL (default), f is called at all points. A CPMech has functions of its own.
 * Returns CP_NOT_SUPPORTED for another method, and CP_TOO_LATE after the first step.
 */
CPODES_EXPORT int CPIntegratorSetRhsBatchFn(CPIntegrator mem, CPRhsBatchFn batch);
/** Largest number of points in one call, which bounds the memory for their states and values. */
#define CP_MAX_BATCH 128

/** Sets the size of the first or next step, with the sign of the direction of integration. If h is 0
 * (default), the size is chosen. BDF and ADAMS use it for the first step after a start only. */
CPODES_EXPORT int CPIntegratorSetInitStep(CPIntegrator mem, sunrealtype h);
/** Sets a bound on |h|, >= 0. 0 means none (default). If a step of the least size is rejected,
 * CPIntegratorEvolve returns CV_ERR_FAILURE. */
CPODES_EXPORT int CPIntegratorSetMinStep(CPIntegrator mem, sunrealtype h);
CPODES_EXPORT int CPIntegratorSetMaxStep(CPIntegrator mem, sunrealtype h);
/** Takes all steps with the size h, except for a shorter one before tstop, without an error test and
 * without a bound on corrections. If h is 0 (default), steps are adaptive. One-step methods. */
CPODES_EXPORT int CPIntegratorSetFixedStep(CPIntegrator mem, sunrealtype h);
/** Sets the largest number of steps in one call, > 0. 0 restores the default, 500. -1 means no bound. */
CPODES_EXPORT int CPIntegratorSetMaxNumSteps(CPIntegrator mem, long int mxsteps);
/** As CVodeSetStopTime: no step goes beyond tstop. When it is reached, CV_TSTOP_RETURN is returned and
 * the stop time is cleared. An infinite tstop clears it at once. */
CPODES_EXPORT int CPIntegratorSetStopTime(CPIntegrator mem, sunrealtype tstop);

/**
 * As CVodeRootInit, to be called after CPIntegratorInit: sets the root functions g(t, y, gout, user_data),
 * gout [nrtfn]. With nrtfn = 0 there are none.
 *
 * g gets states on the manifold, so it is zero at the state that comes with CV_ROOT_RETURN, up to the
 * roundoff of t and the change by a second projection of the same state, which is a small part of the tolerance. With
 * one-step methods it also gets states that are off the manifold by a few tolerances at most. These show
 * which g_i are zero up to errors at a start or a root, and how fast they change at the ends of steps.
 *
 * A function that depends on t itself is also evaluated within steps, which do not resolve it where the state is at rest: at least
 * every hundredth of the time from the start to tout, and as often as its distance from zero demands (guide, "The integrator",
 * Roots). A shorter pulse may be missed; CPIntegratorSetMaxStep helps. For this, g also gets the state at the end of a step with
 * earlier times of the step.
 *
 * A root that lies beyond tout (CV_NORMAL) or the stop time by roundoff, of t or of the state, is one at that time: a call
 * that begins there would take it for the root that it leaves.
 *
 * A function that becomes exactly zero and stays zero has its root where it becomes zero. Leaving zero is not a root (with
 * CVodeF it is one if the function returns to the side from which it came). With one-step methods a function that
 * reaches zero and returns within one step is found if it has only one extremum there, and if the interpolated state at a
 * root would be wrong by more than a tenth of the tolerance, the step is
 * repeated so that it ends just beyond the root (guide), except with fixed steps.
 *
 * If g fails, or has a value that is not finite, CPIntegratorEvolve
 * returns CV_RTFUNC_FAIL and the message names the function and t. After CPIntegratorReInit at the time of
 * a root, the function with that root counts as zero there, so the same root is not returned twice.
 * Attached memory has the root functions of CVodeRootInit, and this function returns
 * CP_NOT_SUPPORTED.
 */
CPODES_EXPORT int CPIntegratorRootInit(CPIntegrator mem, int nrtfn, CVRootFn g);
/** Sets the pointer that g gets in place of the user data, which is not owned. NULL (default): g gets the user data. */
CPODES_EXPORT int CPIntegratorSetRootData(CPIntegrator mem, void *data);
/** As CVodeSetRootDirection. rootdir [nrtfn]: -1, 0, 1. */
CPODES_EXPORT int CPIntegratorSetRootDirection(CPIntegrator mem, const int *rootdir);
/** As CVodeGetRootInfo. rootsfound [nrtfn]: out, -1 where g_i falls, 1 where it rises, 0 without a root. */
CPODES_EXPORT int CPIntegratorGetRootInfo(CPIntegrator mem, int *rootsfound);
/** Returns the interval of the root after CV_ROOT_RETURN: g has not crossed zero at *low, and has
 * crossed it at *high, the time that was returned. Returns CP_NO_INIT if the last call did not return
 * a root of these functions. */
CPODES_EXPORT int CPIntegratorGetRootWindow(CPIntegrator mem, sunrealtype *low, sunrealtype *high);

/* ---- actions ---- */

/**
 * Makes the start consistent, c(t0, y0) = 0, by CPProjectorAssemble followed by CPProjectorProject,
 * in the projector's norm (L2 if no tolerances are set) and with its fixed components, and
 * re-initialises. A projector of the user kind uses the user's projection. y0 [n]: out, the consistent start; it may be NULL.
 *
 * Returns CP_TOO_LATE after the first step that follows CPIntegratorInit or CPIntegratorReInit. On failure,
 * CP_IC_FAIL or the code of a user function, the start is left as it was and the message names the
 * constraints that are violated most.
 */
CPODES_EXPORT int CPIntegratorCalcIC(CPIntegrator mem, N_Vector y0);

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
 * Returns CP_SUCCESS, CV_TSTOP_RETURN, CV_ROOT_RETURN, or
 *
 * - CP_INCONSISTENT_IC if the start violates the constraint that the message names;
 * - CP_PROJ_..., CP_REPTD_..., CP_CNSTR_... and the other codes of CPReturnCode if the projection
 *   was the cause;
 * - CP_OUTPUT_PROJ_FAIL if the step is good but its output could not be projected and is given as
 *   it is; the message says whether that was at a root or at tstop;
 * - CP_BYPASSED if sensitivities with CV_SIMULTANEOUS, or CVodeSetNonlinearSolver, bypass the
 *   projection;
 * - CP_NOT_SUPPORTED if there are inequality constraints (CVodeSetConstraints), which have then
 *   been switched off;
 * - CP_MECH_DERIV_WRONG (RADAU, BDF): dynamics_jac, constraint_jac or auxiliary_jac of a CPMech is too large by
 *   a factor of thirty or more;
 * - an error flag of CVODES. With one-step methods these mean: CV_ERR_FAILURE, no step size passes the error test;
 *   CV_REPTD_RHSFUNC_ERR, CV_RHSFUNC_FAIL, f failed; CV_TOO_MUCH_WORK, more steps are needed than
 *   CPIntegratorSetMaxNumSteps allows; CV_TOO_MUCH_ACC, the tolerance is below roundoff; CV_ILL_INPUT, an adaptive step
 *   needs an embedded method, and the table has none; CV_CONV_FAILURE (RADAU), Newton's iteration does not converge for any
 *   step size; CV_LSETUP_FAIL, CV_LSOLVE_FAIL (RADAU), a linear system failed fatally.
 *
 * After an error that concerns neither an argument nor output, yout and the state are the last good
 * ones, at *tret, and the function can be called again. Where CVODES' own state was lost (NaN in its
 * history, or f failing between the parts of a step: CV_UNREC_RHSFUNC_ERR), CVODES has been
 * re-initialised there. The message says so, and quadratures and sensitivities must be
 * re-initialised as well.
 */
CPODES_EXPORT int CPIntegratorEvolve(CPIntegrator mem, sunrealtype tout, N_Vector yout,
                                     sunrealtype *tret, int itask);

/* ---- results ---- */

/**
 * As CVodeGetDky: the k-th derivative of the interpolant within the last step. For k = 0 the result is projected unless that
 * is switched off. For k >= 1 it is that of the polynomial, which is not projected. Both may call the user's functions.
 * dky [n]: out. Returns CP_NO_INIT if no step has been taken since the start, CV_BAD_T if t is outside the step, and
 * CV_BAD_K if k is not in 0 ... the degree of the interpolant.
 */
CPODES_EXPORT int CPIntegratorGetDky(CPIntegrator mem, sunrealtype t, int k, N_Vector dky);

/** Returns the estimate of the local errors in the last step, scaled as by CVodeGetEstLocalErrors: the vector that was tested,
 * with BDF and ADAMS P ycor if the tested one is unprojected. ele [n]: out. Returns CP_NO_INIT if the newest attempt was not
 * an accepted step with an error test. */
CPODES_EXPORT int CPIntegratorGetEstLocalErrors(CPIntegrator mem, N_Vector ele);
/** Returns the name of the method (valid as long as mem), its order (BDF, ADAMS, RADAU: the present one), the order of the embedded
 * method and the number of stages (BDF, ADAMS: 0). Any of them may be NULL. */
CPODES_EXPORT int CPIntegratorGetMethod(CPIntegrator mem, const char **name, int *order,
                                        int *embedded, int *stages);
/** Returns the name of a return value of cpodes or CVODES, such as "CP_INCONSISTENT_IC", in a string
 * that the caller frees, or NULL if there is no memory. */
CPODES_EXPORT char *CPGetReturnFlagName(long int flag);

#ifdef __cplusplus
}
#endif
#endif
