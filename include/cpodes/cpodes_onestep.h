/* cpodes: one-step methods with coordinate projection (guide, chapter "One-step methods").
 *
 *   y' = f(t, y),   0 = c(t, y)
 *
 * The methods are of Runge-Kutta type: DOP853, every explicit Butcher table of ARKODE or the user,
 * and for stiff problems Radau IIA. After each step a CPProjector moves the state back onto
 * {c = 0}. If a projection fails, the step is repeated with a smaller size. For smooth problems at
 * tight tolerances DOP853 needs a fraction of the evaluations that multistep methods need, and after
 * events a one-step method restarts at no cost.
 *
 * Return values are those of CPode: CP_SUCCESS (0), CV_TSTOP_RETURN, CV_ROOT_RETURN, or a negative
 * CP_... or CV_... error, which has been reported to the message handler and whose text is kept for
 * CPOneStepGetLastMessage. After an error the state is the last good one. An object must not be used
 * by two threads at once. Different objects are independent.
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
  long int netf;        /**< attempts rejected by the error test */
  long int nrhsfails;   /**< attempts rejected because f failed recoverably */
  long int nprojfails;  /**< attempts rejected because a projection failed or moved too far */
  long int nlargecorr;  /**< nprojfails whose correction was above its bound */
  long int nsolvefails; /**< attempts rejected because stages did not converge (RADAU) */
  long int nfe;         /**< evaluations of f, including those for output and differences */
  long int nfe_output;  /**< evaluations of f for interpolation (output, roots) */
  long int njev;        /**< Jacobians df/dy (RADAU) */
  long int nlinsetups;  /**< factorisations of iteration matrices, real and complex (RADAU) */
  long int nni;         /**< Newton iterations for stages (RADAU) */
  long int nlureal;     /**< factorisations of real matrices (RADAU) */
  long int nlucomplex;  /**< factorisations of complex matrices (RADAU) */
  long int nge;         /**< evaluations of root functions */
  long int nproj;       /**< steps projected */
  long int nerrproj;    /**< error estimates projected; DOP853 has two */
  long int noutputs;    /**< projected outputs and projected states for roots */
  long int nce;         /**< evaluations of c for the steps, without difference quotients */
  long int nje;         /**< evaluations of G for the steps */
  long int nsetups;     /**< factorisations for the steps' projections */
  long int niters;      /**< Newton corrections of the steps' projections */
  sunrealtype hfirst;   /**< first step */
  sunrealtype hlast;    /**< newest step */
  sunrealtype hnext;    /**< size of the next attempt */
  sunrealtype t;        /**< time reached */
  sunrealtype violation; /**< after the newest projection, in its own measure, or a bound on that (RADAU on
                              a CPMech); 0 if it is the user's */
  sunrealtype correction;    /**< WRMS norm of the newest correction */
  sunrealtype maxcorrection; /**< largest WRMS norm of a correction that was taken */
} CPOneStepStats;

/* ---- life cycle ---- */

/**
 * Creates an integrator with the method of this name:
 *
 * - "DOP853" (also if method is NULL): order 8, 12 stages, error estimates of orders 5 and 3,
 *   interpolation of order 7 (E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential
 *   Equations I, 2nd ed., sections II.5, II.6 and II.10);
 * - "RADAU5", "RADAU9" and "RADAU13": Radau IIA with 3, 5 and 7 stages, of orders 5, 9 and 13, the
 *   last one for tight tolerances. "RADAU" selects 3 or 5 stages after each step, whichever promise
 *   the longer step for their cost. These methods are fully implicit, for stiff problems. With s
 *   stages the error estimate is of order s and the interpolation of order s + 1 (E. Hairer, G.
 *   Wanner, Solving Ordinary Differential Equations II, 2nd ed., sections IV.5 and IV.8). Vectors
 *   must be in one memory;
 * - any explicit table of ARKODE, for example "ARKODE_DORMAND_PRINCE_7_4_5".
 *
 * ctx must outlive the integrator. Returns the integrator, which the caller frees with CPOneStepFree,
 * or NULL, in which case a line on stderr says why (unknown name, no embedded method).
 */
CPODES_EXPORT CPOneStepMem CPOneStepCreate(const char *method, SUNContext ctx);

/** Creates an integrator with the user's table, which is copied and must be explicit (A strictly lower
 * triangular). A table without an embedded method (B->d) allows fixed steps only
 * (CPOneStepSetFixedStep). Returns NULL if the table is not explicit, is not consistent (sum_i b_i = 1,
 * sum_j a_ij = c_i), or has entries that are not finite. */
CPODES_EXPORT CPOneStepMem CPOneStepCreateTable(ARKodeButcherTable B, SUNContext ctx);

/** Frees *mem and sets it to NULL. mem or *mem may be NULL. */
CPODES_EXPORT void CPOneStepFree(CPOneStepMem *mem);

/** Sets f(t, y, ydot, user_data) and the start (t0, y0). f returns 0, or a positive value after a
 * recoverable failure, or a negative one after a fatal failure, as for CVODES. y0 [n] is copied. */
CPODES_EXPORT int CPOneStepInit(CPOneStepMem mem, CVRhsFn f, sunrealtype t0, N_Vector y0);

/** Starts again at (t0, y0); after an event nothing else is needed. Counters are cleared, and options
 * are kept. The step size and RADAU's number of stages are kept as well, but no size that is below the
 * roundoff of t0. At a root it is limited to the time since the previous start. With the same first step
 * (CPOneStepSetInitStep) and number of stages, the run is that of a new integrator. y0 [n] is copied. */
CPODES_EXPORT int CPOneStepReInit(CPOneStepMem mem, sunrealtype t0, N_Vector y0);

/** As CVodeSStolerances: the error weights are 1 / (reltol |y_i| + abstol), where y is the state at the
 * start of the step. Tolerances may be changed between any two steps. */
CPODES_EXPORT int CPOneStepSStolerances(CPOneStepMem mem, sunrealtype reltol, sunrealtype abstol);
/** As CVodeSVtolerances. abstol [n] >= 0 is copied. */
CPODES_EXPORT int CPOneStepSVtolerances(CPOneStepMem mem, sunrealtype reltol, N_Vector abstol);
/** As CVodeWFtolerances. efun(y, ewt, user_data) sets the weights ewt [n] > 0. It returns 0, or another
 * value if it fails. */
CPODES_EXPORT int CPOneStepWFtolerances(CPOneStepMem mem, CVEwtFn efun);

/* ---- options; at any time between two steps ---- */

/** Sets the pointer that f, efun and g get, and the functions of a projector without data of its own. It is not owned. Returns CP_NOT_SUPPORTED if a CPMech is
 * attached (use CPMechSetUserData). */
CPODES_EXPORT int CPOneStepSetUserData(CPOneStepMem mem, void *user_data);
/** Returns that pointer, or NULL if mem is NULL. */
CPODES_EXPORT void *CPOneStepGetUserData(CPOneStepMem mem);

/**
 * Sets the Jacobian J = df/dy [n x n] for RADAU, before CPOneStepInit. J_tmpl, which is copied, is a dense
 * matrix, or a sparse one (CSC or CSR) with the pattern of J. If J_tmpl is NULL (default), J is dense.
 * jac(t, y, fy, J, user_data, tmp1, tmp2, tmp3) fills J as for CVODES. J is zero on entry, and jac must
 * keep its pattern. fy is the derivative of a stage, which approximates f(t, y). If jac is NULL
 * (default), J is formed by difference quotients, which take one evaluation of f for each group of
 * columns that share no row of the pattern. J is compared with f along a random direction now and then:
 * CPOneStepEvolve returns CP_ILL_INPUT if a row of it is thirty times too large. A CPMech has derivatives of its own. Returns
 * CP_NOT_SUPPORTED for another method, and CP_TOO_LATE after CPOneStepInit.
 */
CPODES_EXPORT int CPOneStepSetJacobian(CPOneStepMem mem, SUNMatrix J_tmpl, CVLsJacFn jac);

/**
 * Right-hand side at k points at once: F_i = f(t_i, Y_i) for 0 <= i < k. t [k], Y [k n]: in. F [k n]: out.
 * Point i is at Y + i n and F + i n, in host memory. The arrays belong to the integrator and are valid
 * during the call only. Returns 0, or a positive value if one of the points fails recoverably, or a
 * negative one if it fails fatally.
 */
typedef int (*CPOneStepRhsBatchFn)(int k, const sunrealtype *t, const sunrealtype *Y,
                                   sunrealtype *F, void *user_data);

/**
 * Sets such a function for RADAU, before CPOneStepInit. It is called for all stages of a Newton iteration
 * (k = 3, 5 or 7) and for the difference quotients of the Jacobian (k <= CP_ONESTEP_BATCH). Use it where
 * one call with k points costs less than k calls: in an interpreted language, with threads, or on a
 * device. The f of CPOneStepInit is still called at single points, at starts and for roots. If both
 * functions return the same numbers, the integrator's results do not change. CPOneStepStats counts
 * points. If batch is NULL (default), f is called at all points. A CPMech has functions of its own.
 * Returns CP_NOT_SUPPORTED for another method, and CP_TOO_LATE after CPOneStepInit.
 */
CPODES_EXPORT int CPOneStepSetRhsBatchFn(CPOneStepMem mem, CPOneStepRhsBatchFn batch);
/** Largest number of points in one call, which bounds the memory for their states and values. */
#define CP_ONESTEP_BATCH 128

/** As CPodeSetProjector. mem does not own P. If P is NULL, nothing is projected. */
CPODES_EXPORT int CPOneStepSetProjector(CPOneStepMem mem, CPProjector P);

/** Chooses the error estimate that is tested: CP_ERREST_UNPROJECTED (default) or CP_ERREST_PROJECTED.
 * The latter returns CP_NOT_SUPPORTED for RADAU. */
CPODES_EXPORT int CPOneStepSetProjErrEst(CPOneStepMem mem, CPErrEst mode);

/** As CPodeSetProjMaxCorrection. With CPOneStepSetFixedStep there is no bound, since a rejected step could
 * not be repeated with a smaller one. */
CPODES_EXPORT int CPOneStepSetProjMaxCorrection(CPOneStepMem mem, sunrealtype wrms);

/** If on (default), interpolated output is projected. */
CPODES_EXPORT int CPOneStepSetProjOutput(CPOneStepMem mem, sunbooleantype on);

/** Sets the function that receives the messages of mem and of its projector. If handler is NULL
 * (default), each message is one line on stderr. */
CPODES_EXPORT int CPOneStepSetErrHandlerFn(CPOneStepMem mem, CPErrHandlerFn handler, void *data);

/** Sets the size of the first or next step, with the sign of the direction of integration. If h is 0
 * (default), the size is chosen (Hairer, Norsett, Wanner I, II.4). */
CPODES_EXPORT int CPOneStepSetInitStep(CPOneStepMem mem, sunrealtype h);
/** Sets a bound on |h|, >= 0. 0 means none (default). If a step of the least size is rejected,
 * CPOneStepEvolve returns CV_ERR_FAILURE. */
CPODES_EXPORT int CPOneStepSetMinStep(CPOneStepMem mem, sunrealtype h);
CPODES_EXPORT int CPOneStepSetMaxStep(CPOneStepMem mem, sunrealtype h);
/** Takes all steps with the size h, except for a shorter one before tstop, without an error test and
 * without a bound on corrections. If h is 0 (default), steps are adaptive. */
CPODES_EXPORT int CPOneStepSetFixedStep(CPOneStepMem mem, sunrealtype h);
/** Sets the largest number of steps in one call, > 0. 0 restores the default, 500. -1 means no bound. */
CPODES_EXPORT int CPOneStepSetMaxNumSteps(CPOneStepMem mem, long int mxsteps);
/** As CVodeSetStopTime: no step goes beyond tstop. When it is reached, CV_TSTOP_RETURN is returned and
 * the stop time is cleared. */
CPODES_EXPORT int CPOneStepSetStopTime(CPOneStepMem mem, sunrealtype tstop);
CPODES_EXPORT int CPOneStepClearStopTime(CPOneStepMem mem);

/** As CVodeRootInit: sets the root functions g(t, y, gout, user_data), gout [nrtfn]. With nrtfn = 0 there
 * are none.
 *
 * g gets states on the manifold, so it is zero at the state that comes with CV_ROOT_RETURN, up to the
 * roundoff of t. It also gets states that are off the manifold by a few tolerances at most. These show
 * which g_i are zero up to errors at a start or a root, and how fast they change at the ends of steps.
 *
 * A function that reaches zero and returns within one step is found if it has only one extremum there.
 * If the interpolated state at a root would be wrong by more than a tenth of the tolerance, the step is
 * repeated so that it ends just beyond the root (guide), except with fixed steps.
 */
CPODES_EXPORT int CPOneStepRootInit(CPOneStepMem mem, int nrtfn, CVRootFn g);
/** As CVodeSetRootDirection. rootdir [nrtfn]: -1, 0, 1. */
CPODES_EXPORT int CPOneStepSetRootDirection(CPOneStepMem mem, const int *rootdir);
/** As CVodeGetRootInfo. rootsfound [nrtfn]: out, -1 where g_i falls, 1 where it rises, 0 without a root. */
CPODES_EXPORT int CPOneStepGetRootInfo(CPOneStepMem mem, int *rootsfound);
/** As CPodeGetRootWindow. */
CPODES_EXPORT int CPOneStepGetRootWindow(CPOneStepMem mem, sunrealtype *low, sunrealtype *high);

/* ---- actions ---- */

/** As CPodeCalcIC. */
CPODES_EXPORT int CPOneStepCalcIC(CPOneStepMem mem);
/** As CPodeGetConsistentIC. */
CPODES_EXPORT int CPOneStepGetConsistentIC(CPOneStepMem mem, N_Vector y0);

/**
 * As CPode: integrates to tout (itask CV_NORMAL) or takes one step towards it (CV_ONE_STEP). yout [n]:
 * out, the solution at *tret, on the manifold. The first call checks that the start is consistent.
 * Returns what CPode returns. The flags of CVODES mean:
 *
 * - CV_ERR_FAILURE: no step size passes the error test;
 * - CV_REPTD_RHSFUNC_ERR, CV_RHSFUNC_FAIL: f failed;
 * - CV_TOO_MUCH_WORK: more steps are needed than CPOneStepSetMaxNumSteps allows;
 * - CV_TOO_MUCH_ACC: the tolerance is below roundoff;
 * - CV_ILL_INPUT: an adaptive step needs an embedded method, and the table has none;
 * - CV_CONV_FAILURE (RADAU): Newton's iteration does not converge for any step size;
 * - CP_MECH_DERIV_WRONG (RADAU): dynamics_jac, constraint_jac or auxiliary_jac of a CPMech is too large by
 *   a factor of thirty or more;
 * - CV_LSETUP_FAIL, CV_LSOLVE_FAIL (RADAU): a linear system failed fatally.
 */
CPODES_EXPORT int CPOneStepEvolve(CPOneStepMem mem, sunrealtype tout, N_Vector yout,
                                  sunrealtype *tret, int itask);

/* ---- results ---- */

/** Returns the k-th derivative of the interpolant within the last step. For k = 0 the result is
 * projected unless that is switched off. dky [n]: out. Returns CV_BAD_T if t is outside the step, and
 * CV_BAD_K if k is not in 0 ... the degree of the interpolant. */
CPODES_EXPORT int CPOneStepGetDky(CPOneStepMem mem, sunrealtype t, int k, N_Vector dky);
/** Returns the error estimate of the last step, which is projected if the projected one was tested.
 * ele [n]: out. Returns CP_NO_INIT if the newest attempt was not an accepted step with an error test. */
CPODES_EXPORT int CPOneStepGetEstLocalErrors(CPOneStepMem mem, N_Vector ele);
/** Returns the name of the method (valid as long as mem), its order, the order of the embedded method and
 * the number of stages. Any of them may be NULL. */
CPODES_EXPORT int CPOneStepGetMethod(CPOneStepMem mem, const char **name, int *order, int *embedded,
                                     int *stages);
/** Copies the counters to *stats. */
CPODES_EXPORT int CPOneStepGetStats(CPOneStepMem mem, CPOneStepStats *stats);
/** Prints the counters, as CPodePrintAllStats does. */
CPODES_EXPORT int CPOneStepPrintAllStats(CPOneStepMem mem, FILE *out, SUNOutputFormat fmt);
/** Returns the newest message, or "" if there has been none. It is valid until the next message or
 * CPOneStepFree. */
CPODES_EXPORT const char *CPOneStepGetLastMessage(CPOneStepMem mem);

/* ---- mechanical systems ---- */

/** As CPMechAttach: sets the right-hand side, the projector, user_data, the error weights and, for RADAU,
 * the equations in implicit form, and starts at (t0, y0) by CPOneStepInit or CPOneStepReInit. */
CPODES_EXPORT int CPMechAttachOneStep(CPMech mech, CPOneStepMem mem, sunrealtype t0, N_Vector y0);

#ifdef __cplusplus
}
#endif
#endif
