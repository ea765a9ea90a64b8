/* cpodes_contact: mechanical systems with contacts, friction and impacts (guide, chapter "Contact").
 *
 *   0 <= g_N(t, q)  perpendicular to  N >= 0        gap and normal force
 *   |F_T| <= mu_s N where v_T = 0                   sticking
 *   F_T = -mu N v_T / |v_T| elsewhere               sliding, Coulomb's law
 *   v_N+ = -e_N v_N-, v_T+ = -e_T v_T-              impacts: Newton's law, with impulses in the friction cone,
 *   P_N expansion = e_N P_N compression             or Poisson's
 *
 * The rows of contacts are rows of a mechanical system (CPEquations): the gap g_N is a row of p, and the tangential
 * velocities v_T are one row (plane) or two consecutive rows (space) of v after those of p. A CPContact switches
 * them. Between two events the system is an ordinary CPMech, which every method can integrate: the rows of an open
 * contact are off and those of a sticking contact are on; of a sliding contact the normal row is on, and friction
 * is an applied force. Contacts are an event source of a session (cpodes_session.h, CPContactAttach). At an event the impulses, and then the
 * accelerations, decide which contacts open, slide or stick from there on.
 *
 * N = -lambda of the normal row and F_T = -lambda of the tangential rows are the forces on the system, in the
 * directions in which g_N and v_T grow.
 *
 * All functions return CP_SUCCESS or a negative code of CPReturnCode, or of the integrator, which has been reported
 * to the message handler and whose text is kept for CPObjectGetLastMessage.
 */
#ifndef CPODES_CONTACT_H
#define CPODES_CONTACT_H

#include <cpodes/cpodes_mechanics.h>
#include <cpodes/cpodes_session.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A contact, by rows of the model and the constants of its laws. */
typedef struct {
  size_t size;      /**< sizeof(CPContactPoint), set by CP_INIT or CP_SIZED */
  const char *name; /**< for messages; copied */
  /** row of p, v and A: gap g_N [m], rate, and gradient; or -1: it is always closed by the normal force law.force, has one
   * tangential row, and takes no part in impacts (dry friction, |F_T| <= mu law.force), or by one that grows with the multipliers
   * of other rows, N = law.force + |lambda_L| (law.nloads) */
  sunindextype normal;
  sunindextype tangent; /**< first row of v and A of the tangential velocities v_T, from np to nv - 1 */
  int ntangents; /**< 0: no friction, 1: in the plane, 2: in space, with rows orthogonal and of equal scale */
  /** > 0: the row of p is the gap up to multiples of this, as of an angle up to whole turns, and 0 where the gap is 0. A run
   * counts them by the rate of the gap. */
  sunrealtype period;
  sunrealtype nearest; /**< with a period: the gap is nearest to this at the start of a run */
  CPContactLaw law;    /**< friction and restitution; the last member, since laws may grow */
} CPContactPoint;

/** What a contact does between two events. */
typedef enum {
  CP_CONTACT_OPEN     = 0,
  CP_CONTACT_SLIDING  = 1,
  CP_CONTACT_STICKING = 2,
  CP_CONTACT_CLOSED   = 3 /**< closed, without friction */
} CPContactPhase;

/** A contact at an event (CPContactSetEventFn). */
typedef struct {
  size_t size;           /**< sizeof(CPContactEvent), set by CP_INIT or CP_SIZED */
  int contact;           /**< its number */
  const char *name;      /**< its name */
  sunrealtype t;         /**< time of the event */
  CPContactPhase before; /**< phase before the event */
  CPContactPhase after;  /**< phase after it */
  int struck;            /**< 1 if there was an impact at this contact */
  int accumulated; /**< 1 if the impact belongs to an accumulation whose remainder is skipped: the contact closes at once */
  sunrealtype t_closed; /**< after such an impact the end of the geometric series of flights, else t */
  sunrealtype velocity[2][3]; /**< (v_N, v_T) before [0] and after [1] the impact */
  sunrealtype impulse[3];     /**< (P_N, P_T) on the system; 0 without an impact */
} CPContactEvent;

/** Receives each contact that takes part in an impact or changes its phase. Events at the same time come in the order
 * of the contacts. If it returns a value other than 0, CPSessionRun returns after this event with CP_STOPPED. */
typedef int (*CPContactEventFn)(const CPContactEvent *event, void *data);

/** Sets the laws of contact i. On entry they have their latest values, at first those of CPContactCreate. Returns 0, or
 * another value if it fails. */
typedef int (*CPContactLawFn)(int i, CPContactLaw *law, void *user_data);

/* ---- life cycle ---- */

/**
 * Adds n contacts at these points to a mechanical system, which may have been used before, and is not attached. points are
 * copied; mech is not owned and must outlive contact.
 *
 * The equations of mech need M, A, b, and p for gaps. If v is NULL, v = A u, and gaps must not depend on t. f_lambda must be NULL.
 * Friction is a force of CPMechAddForce, whose partial derivatives come from differences; those of the equations are used
 * beside them. Motions may be prescribed (CPEquations): impacts do not change the velocities that they prescribe. Whether the rows
 * of contacts are on (CPMechSetActive), and the attachment of mech, belong to contact; everything else remains the caller's. Another
 * event source may switch other rows, with -1 for those of contacts, if it asks for CP_RESTART: a pin that breaks.
 *
 * Returns the contacts, which the caller frees after the sessions, or NULL; the message (CPObjectGetLastMessage(NULL)) says
 * which member of which contact breaks which rule.
 */
CPODES_EXPORT CPContact CPContactCreate(CPMech mech, int n, const CPContactPoint *points);

/** Removes the friction from the mechanical system, whose rows stay as they are, frees *contact and sets it to NULL. The
 * sessions that it is attached to must be freed first. */
CPODES_EXPORT void CPContactFree(CPContact *contact);

/** Sets the function that receives the events, with this data. If fn is NULL (default), there is none. */
CPODES_EXPORT int CPContactSetEventFn(CPContact contact, CPContactEventFn fn, void *data);
/**
 * Sets the function for constants that depend on parameters (CPParameters) or change during the run. It is called
 * before they are used. If fn is NULL (default), they are those of the system (CPEquations.contact_law), such as bodies, whose parameters
 * they follow, or else those of CPContactCreate. The call that uses constants fails if
 * they violate the rules of CPContactPoint, except in differences, where parameters are perturbed. A contact whose mu and
 * mu_static are 0 in CPContactCreate remains without friction.
 */
CPODES_EXPORT int CPContactSetLawFn(CPContact contact, CPContactLawFn fn, void *data);
/**
 * If more than nevents >= 2 events occur within duration > 0, the accelerations at an event have no solution, or the integrator finds no step, continues with
 * time stepping until the set of contacts that carry forces has been the same for duration / nevents, and none with friction has slid.
 * Then events are located again; if one occurs within duration, or within the time that the contacts have been calm, time stepping goes on, with
 * four times these times. With nevents = 0 (default) this never happens.
 *
 * In such an interval the method is of order one: contacts act by impulses at the ends of steps, with the laws of impacts,
 * and negative gaps are projected. A step is at most a quarter of that time long. It is halved up to 5 times until its
 * positions agree with those of two half steps to the tolerance (guide). The message handler gets a CV_WARNING at the
 * beginning and the end of an interval. Within it phases are open and forces zero, the event function is not called, and
 * integrators do not interpolate. The end of an interval is an event.
 *
 * Returns CP_TOO_LATE in an interval, CP_NOT_SUPPORTED with sensitivities or where multipliers load a contact (law.nloads), CP_ILL_INPUT, CP_MEM_FAIL.
 */
CPODES_EXPORT int CPContactSetTimeStepping(CPContact contact, int nevents, sunrealtype duration);

/* ---- integration ---- */

/**
 * Makes the contacts an event source of the session, before CPSessionStart, and their mechanical system what it integrates
 * (CPSessionSetMech). CPSessionStart finds the phases, and if closed contacts approach each other, the impact happens first;
 * CPSessionRun goes through all events. A run goes forward in time. Only one session may run with the same contacts at a time.
 *
 * With the session's tolerances rtol and atol the tolerance of a gap is (atol + rtol max |q|) times the largest entry of its row
 * of A; that of its velocities is the same with u for q. A gap below a tenth of its tolerance counts as closed. A multistep method
 * gets at most 0.3 of these tolerances, and less after a bounce (guide). If the flights after a bounce would be lower than a tenth
 * of the tolerance, or too short for the roundoff of t, the contact closes in place of the infinitely many bounces that would
 * follow (guide). Where another source changes the state, the phases are found anew.
 *
 * Loads that depend on time are resolved also where nothing moves: a closed contact slips or opens when its load says so, unless
 * that is due to a pulse shorter than a hundredth of the time from the start to the t1 of CPSessionRun, which may be missed (guide).
 *
 * CPSessionStart and CPSessionRun then also return
 *
 * - CP_CONTACT_PENETRATION: a gap is negative at the start by more than a tenth of its tolerance, or has jumped there;
 * - CP_CONTACT_PAINLEVE: no accelerations satisfy the laws, and a sliding contact fulfils the criterion of
 *   CPContactPainleve; the message names the contact and its sliding velocity;
 * - CP_CONTACT_NO_SOLUTION: no solution at an event has passed the check of signs, cones and complementarity; if there is one
 *   without the rows of prescribed motions that carry the load, the message names that motion (CP_NAME_LIMIT) and the contacts;
 * - CP_STOPPED: the event function asks for a stop; the state is that after the event.
 *
 * Returns CP_TOO_LATE after CPSessionStart, CP_ILL_INPUT, CP_MEM_FAIL.
 */
CPODES_EXPORT int CPContactAttach(CPContact contact, CPSession session);

/**
 * Copies what contact i did at the newest event to *event. It took part if event->struck is 1 or event->before differs
 * from event->after. A start counts as an event, and an event that failed does not. Before the first one all members are
 * 0, and the velocities are 0 of a contact that was too far to close then. Returns CP_ILL_INPUT if there is no such contact.
 */
CPODES_EXPORT int CPContactGetEvent(CPContact contact, int i, CPContactEvent *event);

/* ---- sensitivities ----
 *
 * Sensitivities that the function of CPSessionSetConfigFn gives the integrator (CPIntegratorSetSens) are continued through all events
 * of contacts. Their y0S are the derivatives of the state that CPSessionStart got, before an impact at the start. At an event at tau, where R is the impact,
 *
 *   S+ = R_y (S- + f- dtau) + R_t dtau + R_p - f+ dtau,   dtau = -(g_y S- + g_p) / (g_t + g_y f-),
 *
 * by differences of sixth order over the values of the parameters. CPSessionRun then returns CP_CONTACT_NO_GRADIENT if a gap
 * touches zero without an impact, or if several events at one time separate when the parameters change, and CP_NOT_SUPPORTED with
 * time stepping, or where another source changes the state. CPSessionGradient, forward and adjoint, passes the events by the same formula,
 * returns the same codes, also CP_CONTACT_NO_GRADIENT where a contact with two tangents begins or ceases to slide, and passes samples of
 * controllers, too. */

/* ---- quantities ---- */

/**
 * Evaluates the contacts and the mechanical system at (t, y), in the present phases, with a single solution for the
 * accelerations. Results that are not wanted are NULL. out: as for CPMechEvaluate, with the rows of closed contacts. force
 * [3 n]: out, (N, F_T) of each contact. gap [n]: out, g_N of each contact, including open ones; these alone require no
 * solution. phase [n]: out, the present phases, for which alone y may be NULL.
 *
 * Returns what CPMechEvaluate returns. After a failure the contents of the arrays are unspecified, and *out is as before.
 */
CPODES_EXPORT int CPContactEvaluate(CPContact contact, sunrealtype t, N_Vector y, CPMechOutput *out,
                                    sunrealtype *force, sunrealtype *gap, CPContactPhase *phase);

/**
 * Computes Painleve's criterion of each contact at (t, y), its normal acceleration per normal force:
 *
 *   n^T W (n - mu s),   s: the direction of v_T, or where v_T = 0 the direction that makes the value least,
 *
 * where W is the Delassus operator under the model's other constraints. A closed contact that slides with a value <= 0
 * may have no solution, or two (P. Painleve 1895; A. Champneys, P. Varkonyi, IMA J. Appl. Math. 81, 2016). value [n]: out.
 * The function switches rows and restores them, so do not call it between steps whose results are still needed.
 */
CPODES_EXPORT int CPContactPainleve(CPContact contact, sunrealtype t, N_Vector y,
                                    sunrealtype *value);

#ifdef __cplusplus
}
#endif
#endif
