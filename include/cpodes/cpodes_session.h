/* cpodes: a session marches through a motion (guide, chapter "Sessions"): from t0 to t1 through roots, events at given times,
 * outputs and changes of method, for y' = f, 0 = c or a CPMech, by an integrator that it creates.
 *
 * What happens on the way comes from event sources: tables of functions with roots, times, and a function that handles an event
 * and may change the state. Contacts (cpodes_contact.h), kinks of forces, samples of a controller and the user's events are event
 * sources. A step ends at the earliest root, or at the earliest time of a source. Then
 *
 *   1. the outputs up to there are sent, and the step function is called, with the state before the event;
 *   2. sources with a root or a time there handle the event, in the order in which they were added, each with the state that
 *      the one before has left;
 *   3. if one of them asks for that, the integrator restarts, once.
 *
 * Functions return CP_SUCCESS (0), CP_STOPPED, a negative code of CPReturnCode, or one of the integrator, of the mechanical system or
 * of an event source, which has been reported to the message handler; CPObjectGetLastMessage keeps its text. After an error, *t and y
 * are the last good state, before the event if that failed, and the call may be repeated; if a source refuses a step (accepted),
 * they are its end, which is judged again. A change of the method that fails ends the run. A session is used by one thread at a time.
 * Functions that a session calls must neither start, run nor free it (CP_REENTERED).
 */
#ifndef CPODES_SESSION_H
#define CPODES_SESSION_H

#include <cpodes/cpodes_mechanics.h>
#include <cpodes/cpodes_sens.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An event of one source, as the functions below get it. */
typedef struct {
  size_t size;      /**< of this struct */
  sunrealtype t;    /**< its time */
  int source;       /**< the source, as numbered by CPSessionAddSource */
  const char *name; /**< its name */
  const int *roots; /**< [nroots] -1: falling, 1: rising, 0: none; NULL if the source has no root there */
  int timed;        /**< 1: the source's time has come */
  int restarted; /**< for CPEventFn: whether the integrator has been restarted */
  int is_named;  /**< for CPEventFn: 1 if name is what has happened (CPEventSource.event_name) */
} CPEvent;

/** What a source asks for after an event; the values may be combined. */
enum CPAction {
  CP_CONTINUE = 0, /**< nothing that f, c or y depend on has changed */
  CP_RESTART  = 1, /**< they have: the integrator restarts at the new state */
  CP_STOP     = 2, /**< CPSessionRun returns CP_STOPPED */
  CP_ROOT     = 4  /**< advance: the integrator has ended at a root of another source */
};

/**
 * How derivatives of a motion pass the events of a source (CPSessionGradient), of samples and of events that change the state. With all
 * members 0 its events change neither the state nor its derivatives, as where f is continuous. All functions get data of the source.
 * Those that return int return 0 or a negative code.
 */
typedef struct CPEventDerivatives_ {
  size_t size; /**< sizeof(CPEventDerivatives) */
  /** Samples at times that are given: handle sets these numbers [nheld] to a smooth function of the time, the state, parameters, and
   * these numbers. It changes nothing else, and may be called at any state. The right-hand side depends on them as on parameters, in
   * whose array they are (CPParameters); but not on the last nmemory of them, such as samples that wait, in which the function is linear
   * and which may be anywhere. Not owned. With `record` it is `map` that sets them, in place of handle. */
  sunrealtype *const *held;
  int nheld;   /**< their number */
  int nmemory; /**< the number of those without influence on the right-hand side */
  /** Other events: keeps what the functions below need of the newest event, at t, or of the start; *jumps = 1: derivatives jump there, by
   * `jump` or, if that is NULL, by `margin`; 2: by `map` at a time that depends on nothing; 3: by both. met: 0 if the event is one of other
   * sources alone. */
  int (*record)(void **record, sunrealtype t, int is_start, int met, int *jumps, void *data);
  /** Frees what record has kept. */
  void (*drop)(void *record, void *data);
  /** Makes the system what it was before (after = 0) or after the event, at (t, y). *part: in 1, out a factor on tolerances of the flight
   * that begins there, squared. */
  int (*enter)(const void *record, int after, sunrealtype t, N_Vector y, sunrealtype *part,
               void *data);
  /** S [n] <- S+, derivatives of the state after the event at fixed time; dtau [n] those of its time. Direction i is that of parameter i,
   * or of none from parameters->n on. given = 1: S is in, S-; 0: S- are the smallest that are consistent with the
   * parameters, and then the tangents P e_j. t_before: time of the event before it. The system is that before the event. */
  int (*jump)(const void *record, sunrealtype t_before, const CPParameters *parameters, int n,
              int given, N_Vector *S, sunrealtype *dtau, void *data);
  /** Events that change the right-hand side: *value is zero at the time of the event, for the parameters and the
   * system before it, and smooth in all of them. */
  int (*margin)(const void *record, sunrealtype t, N_Vector y, sunrealtype *value, void *data);
  /** Events that change the state: y becomes the state after the event from any state y before it near that of the event, for the
   * parameters, up to terms of second order, and so do the numbers `held`. It is smooth in all of them. The system is that before the
   * event, and stays so. */
  int (*map)(const void *record, sunrealtype t, N_Vector y, void *data);
} CPEventDerivatives;

/**
 * An event source. Set size to sizeof(CPEventSource), and functions that are not wanted to NULL. All functions get
 * data. Those that return int return 0, or, where that is said, a CPAction, or a negative code, which ends the run. y
 * [n] is the session's state.
 */
typedef struct CPEventSource_ {
  size_t size;      /**< sizeof(CPEventSource) */
  const char *name; /**< for messages; copied */
  void *data;       /**< what the functions get; not owned */
  int nroots;       /**< number of root functions, >= 0 */
  /** Root functions g [nroots], as for CPIntegratorRootInit. */
  int (*roots)(sunrealtype t, N_Vector y, sunrealtype *g, void *data);
  const int *direction; /**< [nroots] 1: where g rises, -1: where it falls, 0: both; copied; NULL: both */
  /** The name of root i, for messages; NULL: that of the source. */
  const char *(*root_name)(int i, void *data);
  /** The first time of an event beyond t, on the side to which the run goes; infinite if there is none. It is asked at
   * starts, where the source has begun again, and after each of these events. At starts the present time is an event at once. */
  sunrealtype (*next_time)(sunrealtype t, void *data);
  /** Prepares a run from (t, y) towards t_end (CPSessionStart), and may change y. again = 1: another source has changed
   * the state or the system at t. */
  int (*start)(CPSession session, sunrealtype t, sunrealtype t_end, N_Vector y, int again,
               void *data);
  /** Called when an integrator has been created or, with again = 1, restarted at (t, y). It may set options, and make y
   * consistent by CPIntegratorCalcIC. Returns 0 or, with again = 1, CP_STOP. */
  int (*started)(CPSession session, sunrealtype t, N_Vector y, int again, void *data);
  /** A call of CPSessionRun or CPSessionStep begins at t; the source may refuse it. */
  int (*ready)(CPSession session, sunrealtype t, void *data);
  /** Judges the end of a step that has no root. */
  int (*accepted)(CPSession session, sunrealtype t, N_Vector y, void *data);
  /** Handles an event, and may change y. Returns a CPAction. */
  int (*handle)(CPSession session, const CPEvent *event, N_Vector y, void *data);
  /** A later part of the event has failed: makes undone what handle did. y: the state before the event. */
  void (*undo)(CPSession session, N_Vector y, void *data);
  /** 1: the source takes the steps itself, by advance, in place of the integrator (time stepping). */
  int (*advances)(void *data);
  /** Takes a step from (*t, y) to tout, or as far as it goes, with the session's integrator, which it restarts. *t, y:
   * out. Returns a CPAction, or a negative code, with *t and y unchanged. */
  int (*advance)(CPSession session, sunrealtype tout, N_Vector y, sunrealtype *t, void *data);
  /** The text of the source's newest failure; NULL: the session names the source and the code. */
  const char *(*message)(void *data);
  /** > 0, in place of next_time: events at first + k period, k = 0, 1, ..., without accumulated roundoff, the start and the end of
   * a run included, such as the samples of a controller that holds its output until the next one. Its function `handle` sets
   * parameters that f depends on, such as controls of actuators, and returns CP_RESTART, or CP_CONTINUE if none has changed. One-step
   * methods go on with their step size. */
  sunrealtype period;
  sunrealtype first; /**< time of the first of these events */
  /** Called by CPSessionStart, before any source starts, with the session's CPMech, or NULL. The source may switch rows. Returns 0 or a
   * negative code. */
  int (*take_mech)(CPMech mech, void *data);
  /** What the newest event was, "pin released", which CPEventFn gets as its name; NULL: the name of the source. Of an event with an
   * empty name, such as that of a source's bookkeeping, CPEventFn is not told. */
  const char *(*event_name)(void *data);
  /** A call of CPSessionStart, CPSessionRun or CPSessionStep ends: until the next one begins (ready), the system may be evaluated at any
   * state, by anybody. */
  void (*paused)(void *data);
  /** How derivatives pass its events; not owned. NULL: CPSessionGradient returns CP_NOT_SUPPORTED where the source asks for a restart. */
  const CPEventDerivatives *derivatives;
  /** The integrator has found no step from (t, y), for the reason `flag`, a code that smaller steps may cure ([r] in CPReturnCode).
   * Returns 1 if the source takes the steps itself from there on (advances and advance, which it needs), 0 if the run is to end, or a negative code. */
  int (*take_over)(CPSession session, sunrealtype t, N_Vector y, int flag, void *data);
} CPEventSource;

/**
 * Called for every integrator that the session creates, after its start, tolerances and roots have been set and before
 * its first step: sets any other option, the projector and the linear solver included. method: that of the integrator.
 * Returns 0 or a negative code, which ends the call.
 */
typedef int (*CPConfigFn)(CPIntegrator integrator, const char *method, void *data);
/** Called at the end of each step, and at outputs. Non-zero ends the run there: CP_STOPPED if it is positive, otherwise
 * the code. */
typedef int (*CPStateFn)(CPSession session, sunrealtype t, N_Vector y, void *data);
/** Called after an event of a source has been handled; y: the state after it. Returns as CPStateFn. */
typedef int (*CPEventFn)(CPSession session, const CPEvent *event, N_Vector y, void *data);

/* ---- life cycle and options; all take effect at the next start, unless something else is said ---- */

/**
 * Creates a session. method: a name of CPIntegratorCreate; "A/B": A, and B from where the steps of A are limited by
 * stability; or "auto" (NULL): with a CPMech, as CPMechSuggestMethod says at the start and on the way, otherwise
 * "DOP853/RADAU"; "A/auto" begins with A and goes on as "auto". The method is judged again after every 50 steps (guide,
 * "Sessions"). Where a CPMech starts in a singular position, which steps of order one do not leave, the first step of "BDF" and "ADAMS" is DOP853's. ctx must outlive the session. Returns the session, or NULL (CPObjectGetLastMessage(NULL)).
 */
CPODES_EXPORT CPSession CPSessionCreate(const char *method, SUNContext ctx);
/** Frees *session and sets it to NULL. The CPMech, and the integrator of CPSessionSetIntegrator, are the caller's. */
CPODES_EXPORT void CPSessionFree(CPSession *session);
/** Takes the steps by this integrator, which is not owned, has not been initialised and must outlive the session. To be
 * called before CPSessionStart (CP_TOO_LATE), as the next two functions and CPSessionAddSource. */
CPODES_EXPORT int CPSessionSetIntegrator(CPSession session, CPIntegrator integrator);
/** Integrates the mechanical system, which is not owned: its integrators are attached by CPMechAttach. If it has event sources of its
 * own (CPEquations.event_source), they are added, and no other system can take its place (CP_ILL_INPUT). */
CPODES_EXPORT int CPSessionSetMech(CPSession session, CPMech mech);
/** Integrates y' = f(t, y, ydot, user_data); a projector is set by CPSessionSetConfigFn's function. */
CPODES_EXPORT int CPSessionSetRhsFn(CPSession session, CVRhsFn f, void *user_data);
/** Sets the tolerances (CPIntegratorSStolerances). If vabstol [n], which is copied, is not NULL, it replaces abstol. */
CPODES_EXPORT int CPSessionSetTolerances(CPSession session, sunrealtype reltol, sunrealtype abstol,
                                         N_Vector vabstol);
/** Returns the tolerances; each pointer may be NULL. *abstol: the least one if there are several. */
CPODES_EXPORT int CPSessionGetTolerances(CPSession session, sunrealtype *reltol,
                                         sunrealtype *abstol);
/** Sets the function that configures integrators; NULL (default): none. It is the place for all options of integrators
 * but tolerances, roots and stop times, which are the session's. */
CPODES_EXPORT int CPSessionSetConfigFn(CPSession session, CPConfigFn fn, void *data);
/** Sets the function that is called at the end of each step, before an event there is handled; NULL: none. It takes
 * effect at once, as the next two functions and CPSessionSetMaxEvents. */
CPODES_EXPORT int CPSessionSetStepFn(CPSession session, CPStateFn fn, void *data);
/** Sends outputs at times [n], which are copied and ordered along the run, to fn. At the time of an event an output is
 * the state before it. If fn is NULL, nothing is sent; the steps of a source's own end at these times in any case. */
CPODES_EXPORT int CPSessionSetOutputFn(CPSession session, int n, const sunrealtype *times,
                                       CPStateFn fn, void *data);
/** Sets the function that is called after events; NULL: none. */
CPODES_EXPORT int CPSessionSetEventFn(CPSession session, CPEventFn fn, void *data);
/** Adds an event source, whose table is copied. *id: out, its number from 0 on; may be NULL. */
CPODES_EXPORT int CPSessionAddSource(CPSession session, const CPEventSource *source, int *id);
/** Sets the largest number of events with a root in one call of CPSessionRun, > 0. 0 restores the default, 100,000. More than 100
 * events at the same time, up to roundoff, are too many in any case. */
CPODES_EXPORT int CPSessionSetMaxEvents(CPSession session, long int maxevents);

/* ---- the run ---- */

/**
 * Starts at (t0, y), or starts anew. t_end, which may be infinite, is the time to which the run is meant to go: it
 * gives the direction, and "auto" reckons with it. y [n]: in, a consistent start; out, the state after what the sources
 * have done at the start (closed contacts that strike). After a failure y is as it was, and the session has to be
 * started again.
 */
CPODES_EXPORT int CPSessionStart(CPSession session, sunrealtype t0, N_Vector y, sunrealtype t_end);

/**
 * Runs to t1, never beyond it. y [n], *t: out. The number of steps is not bounded; the step function may stop.
 * Returns CP_SUCCESS at t1; CP_STOPPED at *t, where a function asked for that; CP_TOO_MANY_EVENTS; or an error.
 */
CPODES_EXPORT int CPSessionRun(CPSession session, sunrealtype t1, N_Vector y, sunrealtype *t);

/**
 * Takes one step towards t1, never beyond it, or handles the events at its end. y [n], *t: out. Returns
 *
 * - CP_SUCCESS after a step, up to whose end CPSessionGetDky interpolates, or, where *t does not change, after an event;
 * - CV_ROOT_RETURN after a step that ends at an event, with the state before it; the next call handles it;
 * - CV_TSTOP_RETURN at t1;
 * - CP_STOPPED, or an error, as CPSessionRun.
 */
CPODES_EXPORT int CPSessionStep(CPSession session, sunrealtype t1, N_Vector y, sunrealtype *t);

/* ---- results ---- */

/** Returns in *event the event of a source at which the newest step has ended and which the next call handles; its
 * roots are NULL and timed is 0 if the source has none. Returns CP_ILL_INPUT if there is no such source. */
CPODES_EXPORT int CPSessionGetEvent(CPSession session, int source, CPEvent *event);
/** The k-th derivative at t within the last step (CPIntegratorGetDky). In a step of a source's own, which has k = 0
 * only, the state is linear. dky [n]: out. */
CPODES_EXPORT int CPSessionGetDky(CPSession session, sunrealtype t, int k, N_Vector dky);
/** Returns the integrator in use, or NULL before CPSessionStart. It is the session's, until another method replaces it.
 * */
CPODES_EXPORT CPIntegrator CPSessionGetIntegrator(CPSession session);

/* ---- derivatives ---- */

/**
 * Functionals and their gradients through all events, as CPIntegratorGradient without them: from the start of CPSessionStart, before the
 * first step, to t1 > t0. F, parameters, options, G [ng], dG [ng x parameters->n] and gradient [ng] have the same meaning as there.
 * Adjoint, parameters may be NULL, and gradient is with respect to the state that CPSessionStart got; it and each of its vectors may be
 * NULL. Forward, gradient must be NULL. Events are reported once, in a first run, which no function can stop. Then every flight
 * is integrated again. An end term of F->times at the time of an event is that after it.
 *
 * Contacts, samples of controllers, releases of joints, and kinks and jumps of forces are passed, not latches, nor corners of motions, at which
 * velocities jump. Afterwards the session needs CPSessionStart. Returns CP_NO_INIT before CPSessionStart,
 * CP_TOO_LATE after a step or with sensitivities of CPIntegratorSetSens; CP_NOT_SUPPORTED at an event of another source that asks for a
 * restart (CPEventDerivatives); CP_ILL_INPUT, CP_MEM_FAIL, or the code of what failed, such as CP_CONTACT_NO_GRADIENT (CPContactAttach).
 * After a failure G and dG are unspecified.
 */
CPODES_EXPORT int CPSessionGradient(CPSession session, sunrealtype t1, const CPFunctional *F,
                                    const CPParameters *parameters, const CPGradientOptions *options,
                                    sunrealtype *G, sunrealtype *dG, N_Vector *gradient);

#ifdef __cplusplus
}
#endif
#endif
