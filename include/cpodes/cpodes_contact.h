/* cpodes_contact: mechanical systems with contacts, friction and impacts (guide, chapter "Contact").
 *
 *   0 <= g_N(t, q)  perpendicular to  N >= 0        gap and normal force
 *   |F_T| <= mu_s N where v_T = 0                   sticking
 *   F_T = -mu N v_T / |v_T| elsewhere               sliding, Coulomb's law
 *   v_N+ = -e_N v_N-, v_T+ = -e_T v_T-              impacts: Newton's law, with the impulses in the cone of friction,
 *   P_N expansion = e_N P_N compression             or Poisson's
 *
 * The rows of contacts are rows of a mechanical system (CPMechModel): the gap g_N is a row of p, and the tangential
 * velocities v_T are one row (plane) or two consecutive ones (space) of v below those of p. A CPContact switches
 * them. Between two events the system is an ordinary CPMech, which every method integrates: the rows of an open
 * contact are off, those of a sticking one are on, and of a sliding one the normal row is on, beside the force of
 * friction. Events are roots along the projected solution. At an event the impulses, and then the accelerations,
 * decide which contacts are open, slide and stick from there on.
 *
 * N = -lambda of the normal row and F_T = -lambda of the tangential rows are what the other side exerts, in the
 * directions of growing g_N and v_T.
 *
 * All functions return CP_SUCCESS or a negative code of CPReturnCode, or of the integrator, which has been reported
 * to the message handler and whose text is kept for CPContactGetLastMessage.
 */
#ifndef CPODES_CONTACT_H
#define CPODES_CONTACT_H

#include <cpodes/cpodes_mechanics.h>
#include <cpodes/cpodes_onestep.h>
#include <cpodes/cpodes_sens.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A mechanical system with contacts; created by CPContactCreate. */
typedef struct CPContact_ *CPContact;

/** What restitution refers to. */
typedef enum {
  CP_RESTITUTION_NEWTON  = 0, /**< velocities: v_N+ = -e_N v_N- */
  CP_RESTITUTION_POISSON = 1  /**< impulses: that of expansion is e_N times that of compression */
} CPContactRestitution;

/** A contact, by rows of the model and the constants of its laws. */
typedef struct {
  const char *name;    /**< for messages; copied */
  sunindextype normal; /**< row of p, v and A: gap g_N [m], rate, and gradient */
  sunindextype tangent; /**< first row of v and A of the tangential velocities v_T, from np to nv - 1 */
  int ntangents; /**< 0: no friction, 1: in the plane, 2: in space, with rows orthogonal and of equal scale */
  sunrealtype mu;          /**< coefficient of friction of sliding, and of impacts, >= 0 */
  sunrealtype mu_static;   /**< of sticking; mu if it is less than that */
  sunrealtype restitution; /**< e_N, from 0 to 1 */
  sunrealtype tangential_restitution; /**< e_T, from 0 to 1; with Poisson's law 0 */
  CPContactRestitution
      law; /**< Newton's (0) or Poisson's; where one of the contacts that take part in an impact
                                 together has Poisson's, all follow it */
} CPContactPoint;

/** What a contact does between two events. */
typedef enum {
  CP_CONTACT_OPEN     = 0,
  CP_CONTACT_SLIDING  = 1,
  CP_CONTACT_STICKING = 2
} CPContactPhase;

/** A contact at an event (CPContactSetEventFn). */
typedef struct {
  int contact;           /**< its number */
  const char *name;      /**< its name */
  sunrealtype t;         /**< time of the event */
  CPContactPhase before; /**< phase before the event */
  CPContactPhase after;  /**< phase after it */
  int struck;            /**< Was there an impact at this contact? */
  int accumulated; /**< Was it one of an accumulation whose remainder is skipped, so that the contact closes at once? */
  sunrealtype t_closed; /**< end of the geometric series of flights after such an impact, else t */
  sunrealtype velocity[2][3]; /**< (v_N, v_T) before [0] and after [1] the impact */
  sunrealtype impulse[3];     /**< (P_N, P_T) that the other side exerts; 0 without an impact */
} CPContactEvent;

/** Receives each contact that takes part in an impact or changes its phase. Events at one time come in the order of
 * the contacts. A value other than 0 makes CPContactSolve return after this event, with CV_ROOT_RETURN. */
typedef int (*CPContactEventFn)(const CPContactEvent *event, void *user_data);

/** Sets the constants of the law of contact i, of *point: mu, mu_static, restitution, tangential_restitution. They are
 * what they were before, at first those of CPContactCreate; other members must stay. Returns 0, or another value if it fails. */
typedef int (*CPContactLawFn)(int i, CPContactPoint *point, void *user_data);

/** Counters since the newest successful CPContactAttach or CPContactAttachOneStep. */
typedef struct {
  long int nevents;        /**< events at which velocities or phases have changed */
  long int nimpacts;       /**< of those, with an impact */
  long int naccumulations; /**< accumulations of impacts that have been closed */
  long int nreduced; /**< impacts whose restitution had to be reduced, since energy would have grown (guide) */
  long int nsolved;          /**< problems of impulses or accelerations solved */
  long int nnewton;          /**< of those, by Newton's iteration, the others by enumeration */
  sunrealtype residual;      /**< largest relative residual of their solutions */
  long int nstretches;       /**< stretches of time stepping (CPContactSetTimeStepping) */
  long int nstretch_steps;   /**< steps in these, each of which was compared with two halves */
  sunrealtype stretch_begin; /**< when the newest of them began */
  sunrealtype stretch_end;   /**< when it ended, or how far it has come */
  int stretching;            /**< Has it not ended yet? */
} CPContactStats;

/* ---- life cycle ---- */

/**
 * Creates the system of this model with n contacts at these points. model and points are copied, and y_tmpl, a state of
 * length nq + nu + nz, is cloned. ctx must outlive the system.
 *
 * The model needs M, A and b. If v is NULL, v = A u, so that gaps do not depend on t. Friction adds to the model's
 * forces: f_lambda must be NULL. With friction the partial derivatives K, C and Fz come from differences, in place of
 * dynamics_jac. Motions may be prescribed (CPMechPrescribe with CPContactGetMech) before the system is attached; impacts do
 * not change what they prescribe.
 *
 * Returns the system, which the caller frees after the integrators, or NULL, in which case a line on stderr says which
 * member of which contact breaks which rule.
 */
CPODES_EXPORT CPContact CPContactCreate(const CPMechModel *model, int n,
                                        const CPContactPoint *points, N_Vector y_tmpl,
                                        SUNContext ctx);

/** Frees *contact and sets it to NULL. The integrator that it is attached to must be freed first. */
CPODES_EXPORT void CPContactFree(CPContact *contact);

/**
 * Returns the mechanical system, which contact owns, for options and quantities; NULL if contact is NULL.
 * Its user data, active rows and attachment belong to contact.
 */
CPODES_EXPORT CPMech CPContactGetMech(CPContact contact);

/** Sets the pointer that the functions of the model and of events get. It is not owned. */
CPODES_EXPORT int CPContactSetUserData(CPContact contact, void *user_data);
/** Sets the function that receives the messages of contact and of its CPMech; if handler is NULL (default), each
 * message is one line on stderr. */
CPODES_EXPORT int CPContactSetErrHandlerFn(CPContact contact, CPErrHandlerFn handler, void *data);
/** Sets the function that receives the events; if fn is NULL (default), there is none. */
CPODES_EXPORT int CPContactSetEventFn(CPContact contact, CPContactEventFn fn);
/**
 * Sets the function for constants that depend on parameters (CPContactSensInit) or change during the run, which is called before
 * they are used; if fn is NULL (default), they are those of CPContactCreate. They have to obey the rules of CPContactPoint, or calls fail, but for
 * differences, which move parameters. A contact whose mu and mu_static were 0 in CPContactCreate has no friction later.
 */
CPODES_EXPORT int CPContactSetLawFn(CPContact contact, CPContactLawFn fn);
/**
 * Sets the largest number of events in one call of CPContactSolve, > 0. 0 restores the default, 100,000. Independently of
 * that, 100 events at the same time, but for roundoff, are too many.
 */
CPODES_EXPORT int CPContactSetMaxEvents(CPContact contact, long int maxevents);
/**
 * Passes stretches with more than nevents >= 2 events within a duration > 0 by time stepping, until the contacts that carry
 * have been the same for duration / nevents; then events are located again. nevents = 0 (default): never. In a stretch velocities
 * are of order one: contacts act by impulses at the ends of steps, with the laws of impacts, and negative gaps are projected.
 * Steps have at most the length duration / (4 nevents), and are halved up to 6 times until positions agree with those of two
 * halves to the tolerance (guide). Both ends of a stretch are announced to the message handler, as CV_WARNING. Phases are open
 * and forces zero there, the function of events is not called, and integrators do not interpolate; its end is an event.
 * Returns CP_TOO_LATE in a stretch, CP_NOT_SUPPORTED with sensitivities, CP_ILL_INPUT, CP_MEM_FAIL.
 */
CPODES_EXPORT int CPContactSetTimeStepping(CPContact contact, int nevents, sunrealtype duration);
/** Returns the newest message, or "" if there has been none. */
CPODES_EXPORT const char *CPContactGetLastMessage(CPContact contact);

/* ---- integration ---- */

/**
 * Attaches the system to an integrator and starts it at (t0, y), as CPMechAttach and CPMechAttachOneStep do, and sets
 * its tolerances (relative and absolute) and root functions. The tolerance of a gap is (atol + rtol max |q|) times the
 * largest entry of its row of A, and that of its velocities the same with u. A gap below a tenth of that counts as closed. If
 * closed contacts approach each other at the start, the impact happens first. y: in; out, the state after that. A multistep method
 * gets a part of these tolerances, 0.3 at most, and less after a bounce (guide). Nothing else about the integrator is changed, and
 * options other than tolerances may be set afterwards.
 *
 * Returns CP_CONTACT_PENETRATION if a gap is negative by more than that, CP_CONTACT_PAINLEVE, CP_CONTACT_NO_SOLUTION
 * (see CPContactSolve), CP_ILL_INPUT, or the code of what failed. y is then as it was, and so is everything that concerns an earlier
 * run, which goes on with the next call of CPContactSolve, unless its integrator has been freed.
 */
CPODES_EXPORT int CPContactAttach(CPContact contact, CPodeMem mem, sunrealtype t0, N_Vector y,
                                  sunrealtype rtol, sunrealtype atol);
CPODES_EXPORT int CPContactAttachOneStep(CPContact contact, CPOneStepMem mem, sunrealtype t0,
                                         N_Vector y, sunrealtype rtol, sunrealtype atol);

/**
 * Sets root functions of the user's, g(t, y, gout, user_data), gout [nrtfn], beside those of the contacts, for the
 * attachments that follow. direction [nrtfn]: 1 for roots where g rises, -1 where it falls, 0 both; NULL: all 0. It is
 * copied. nrtfn = 0: none. With multistep methods two roots of a function within one step cancel each other
 * (CVodeSetMaxStep helps). Returns CP_TOO_LATE if the contact is attached, CP_ILL_INPUT, CP_MEM_FAIL.
 */
CPODES_EXPORT int CPContactRootInit(CPContact contact, int nrtfn, CVRootFn g, const int *direction);

/**
 * Tells which of these functions had a root where CPContactSolve returned last. found [nrtfn]: out, 1 where it rose, -1 where
 * it fell, 0 where it had none. All are 0 after other returns.
 */
CPODES_EXPORT int CPContactGetRootInfo(CPContact contact, int *found);

/**
 * Integrates to tout > t0, through all events on the way. y [nq + nu + nz]: out, the state at *t. Where the flights that would
 * follow a bounce are below a tenth of the tolerance, or are not resolved by the roundoff of t, the contact closes
 * in place of the infinitely many bounces that would follow (guide).
 *
 * Returns CP_SUCCESS at tout; CV_ROOT_RETURN at *t < tout if the function of events asks for that, or at a root of
 * CPContactRootInit's, where y is the state after what the contacts do at this time; CV_TSTOP_RETURN and
 * errors as the integrator does; or
 *
 * - CP_CONTACT_PENETRATION: a gap has jumped to a negative value;
 * - CP_CONTACT_PAINLEVE: no accelerations satisfy the laws, and a sliding contact fulfils the criterion of
 *   CPContactPainleve; the message names the contact and its sliding velocity;
 * - CP_CONTACT_NO_SOLUTION: no solution of an event has passed the check of signs, cones, complementarity;
 * - CP_CONTACT_TOO_MANY: too many events (CPContactSetMaxEvents).
 *
 * After an error y is the state before the event, at *t; the next call begins with that event once more, so that tout must not
 * lie before it. tout must be finite.
 */
CPODES_EXPORT int CPContactSolve(CPContact contact, sunrealtype tout, N_Vector y, sunrealtype *t);

/**
 * Does one step of the integration to tout, or what the contacts do at an event. Arguments and errors are those of
 * CPContactSolve. A step may go beyond tout, as with CV_ONE_STEP, unless the integrator has a stop time. Returns
 *
 * - CP_SUCCESS or CV_TSTOP_RETURN after a step, up to whose end the integrator interpolates;
 * - CV_ROOT_RETURN after a step that ends at an event. y is the state before the event, and the integrator still
 *   interpolates up to it. The next call, at the same *t, makes y the state after the event, and returns CP_SUCCESS, or
 *   CV_ROOT_RETURN if the function of events asks for that or a function of CPContactRootInit has had a root there.
 *   Where only these have a root, y is the state there, and the next call goes on.
 *
 * The integrator's counters begin anew at an event that changes velocities or phases.
 */
CPODES_EXPORT int CPContactStep(CPContact contact, sunrealtype tout, N_Vector y, sunrealtype *t);

/**
 * Copies what contact i did at the newest event to *event: it took part if event->struck or event->before differs from
 * event->after. A start counts as an event, before which all members are 0; an event that failed does not count. Returns
 * CP_ILL_INPUT if there is no such contact.
 */
CPODES_EXPORT int CPContactGetEvent(CPContact contact, int i, CPContactEvent *event);

/* ---- sensitivities ---- */

/**
 * Sensitivities dy/dp_i to Ns > 0 parameters, which go through all events: to be called after CPContactAttach and before the first step.
 * p, pbar and plist are those of CPodeSetSensParams: p is the array that the model's functions read, and is not owned. yS0 [Ns]: derivatives of
 * the state that CPContactAttach got, which impacts at the start change. The integrator gets the tolerances of CVodeSensEEtolerances and
 * tests the errors of sensitivities; other options of cpodes_sens.h may be set afterwards. At an event at tau, with R the impact,
 *
 *   S+ = R_y (S- + f- dtau) + R_t dtau + R_p - f+ dtau,   dtau = -(g_y S- + g_p) / (g_t + g_y f-),
 *
 * by differences of sixth order. From then on CPContactSolve and CPContactStep may return CP_CONTACT_NO_GRADIENT: a gap
 * that is touched without an impact, or several events at one time that do not stay together as the parameters change.
 *
 * Returns CP_NO_INIT before CPContactAttach, CP_NOT_SUPPORTED with a one-step method or with time stepping, CP_ILL_INPUT,
 * CP_MEM_FAIL, or what CPodeSensInit1 does. A new CPContactAttach ends the sensitivities of an earlier run.
 */
CPODES_EXPORT int CPContactSensInit(CPContact contact, int Ns, N_Vector *yS0, sunrealtype *p,
                                    const sunrealtype *pbar, const int *plist);

/**
 * Functionals and their gradients by adjoint problems through all events, as CPodeFunctionalAdjoint does it without contacts: from the
 * start of CPContactAttach, before the first step, to t1 > t0. F, options, G [ng], dG [ng x Np], and gradient [ng] have the meaning that they have
 * there; p, pbar, plist are the Np >= 0 parameters, as in CPContactSensInit, and y0S [Np] the derivatives of the state that
 * CPContactAttach got (NULL: it does not depend on them). gradient (it may be NULL, as each of its vectors) is that to this
 * state. Events are reported once, in the forward run; a function of events does not stop it. Every flight is integrated twice.
 *
 * Afterwards contact needs CPContactAttach. Returns CP_CONTACT_NO_GRADIENT as in CPContactSensInit; CP_TOO_LATE after a step or with
 * forward sensitivities (those of an earlier run must have been as many); CP_NOT_SUPPORTED with one-step methods, time stepping, or root functions of the user's; CP_ILL_INPUT,
 * CP_MEM_FAIL, or the code of what failed. G and dG are then unspecified.
 */
CPODES_EXPORT int CPContactFunctionalAdjoint(CPContact contact, sunrealtype t1,
                                             const CPFunctional *F, const CPAdjointOptions *options,
                                             int Np, sunrealtype *p, const sunrealtype *pbar,
                                             const int *plist, N_Vector *y0S, sunrealtype *G,
                                             sunrealtype *dG, N_Vector *gradient);

/** Copies the sensitivities of the state that CPContactSolve or CPContactStep returned last to yS [Ns]. */
CPODES_EXPORT int CPContactGetSens(CPContact contact, N_Vector *yS);

/* ---- quantities ---- */

/** Returns the phase of contact i, or CP_CONTACT_OPEN if there is no such contact. */
CPODES_EXPORT CPContactPhase CPContactGetPhase(CPContact contact, int i);

/** Computes the forces (N, F_T) of all contacts at (t, y), in their present phases. force [3 n]: out. */
CPODES_EXPORT int CPContactForces(CPContact contact, sunrealtype t, N_Vector y, sunrealtype *force);

/**
 * Evaluates contacts and mechanical system at (t, y), in the present phases, with a single solution for the accelerations. What is not
 * wanted is NULL. out: as for CPMechEvaluate, with the rows of closed contacts. force [3 n]: out, (N, F_T) of each contact. gap [n]: out,
 * g_N of each contact, of open ones, too; if only these are wanted, nothing is solved.
 *
 * Returns CP_ILL_INPUT if all three are NULL, and otherwise what CPMechEvaluate does. After a failure the contents of the arrays are
 * unspecified, and *out is as before.
 */
CPODES_EXPORT int CPContactEvaluate(CPContact contact, sunrealtype t, N_Vector y, CPMechOutput *out,
                                    sunrealtype *force, sunrealtype *gap);

/**
 * Computes Painleve's criterion of each contact at (t, y): the normal acceleration per normal force,
 *
 *   n^T W (n - mu s),   s: the direction of v_T, or the one that makes it least where v_T = 0,
 *
 * where W is the Delassus operator under the model's other constraints. A closed contact that slides with a value <= 0
 * may have no solution, or two (P. Painleve 1895; A. Champneys, P. Varkonyi, IMA J. Appl. Math. 81, 2016). value [n]: out.
 * Not between steps whose results are still wanted: it switches rows, and restores them.
 */
CPODES_EXPORT int CPContactPainleve(CPContact contact, sunrealtype t, N_Vector y,
                                    sunrealtype *value);

/** Copies the counters to *stats. */
CPODES_EXPORT int CPContactGetStats(CPContact contact, CPContactStats *stats);

#ifdef __cplusplus
}
#endif
#endif
