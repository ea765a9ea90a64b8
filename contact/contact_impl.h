/* Interfaces between the files of this folder. W (complementarity.h) is the Delassus operator of the rows of
 * closed contacts under the model's other constraints. */
#ifndef CPODES_CONTACT_IMPL_H
#define CPODES_CONTACT_IMPL_H

#include "complementarity.h"
#include "cpodes/base/object.h"
#include "cpodes/base/roundoff.h"

#include <cpodes/cpodes_session.h>

enum { CONTACT_NAME = 48, ROOTS = 5, CONTACT_ARRAYS = 68 };

/* ---- the system with contacts ---- */

/* If A is sparse, islands with more than CONTACT_DIRECT rows are solved by products with W, and W is
 * not stored for more than CONTACT_STORED rows of all. */
enum { CONTACT_DIRECT = 150, CONTACT_STORED = 300 };

/* Sliding at the time t: its direction s and, in space, when the deceleration at t will have halved
 * its speed. At the speed `near` the integrator stops, to see whether sliding ends. If so, or if sliding
 * has just begun (onset.c), slow > 0: while the velocity along s is below slow, friction has the direction
 * of a velocity with the component slow along s. s then turns at the rate `turn`. */
typedef struct {
  sunrealtype t, s[2], t_half, near, slow, turn;
  sunrealtype in_vain; /* the speed at the newest event that has looked for its end and found none, or 0 */
  int ends; /* the friction there is larger than the load: the speed falls until sliding ends */
} Sliding;

/* The beginning of sliding in space (onset.c): friction G, and after the time h rho' = push + growth h, and the
 * angle off + turn h + bend h^2 of the load, as accelerations of the sliding velocity, which is rho at first */
typedef struct {
  sunrealtype G, rho, push, growth, off, turn, bend;
} ContactOnset;

typedef struct {
  char name[CONTACT_NAME];
  /* ntangents = 0 if there is no friction. Without a normal row, `normal` is the number of a row beyond those of A, for which the
   * gap and its velocity are 0, and the acceleration is that of a unit mass under the normal force: x_N - N. */
  int normal, tangent, ntangents;
  int is_held; /* it has no normal row */
  int rested;  /* it was closed before the event at which another source has changed the state */
  /* At an event, without a normal row: N, and the multipliers lambda_L that load it where no contact acts */
  sunrealtype N, unloaded[CP_MOST_LOADS];
  int is_elastic; /* elastic.c */
  /* With a period > 0: the gap and its rate at the time t, from which turns are counted; before a run t is NaN, and the gap is
   * that which is nearest at the start */
  struct {
    sunrealtype period, nearest, t, gap, rate;
  } turn;
  /* 1: the tangential rows are unused, since the coefficients of friction were zero in
   * CPContactCreate */
  int smooth;
  CPContactLaw given, law; /* as given to CPContactCreate; the present one, mu_static >= mu */
  CPContactPhase phase;
  /* sliding[0] is that at the start of sliding. In space, the two are those at both ends of the
   * newest step or, before its root functions have been evaluated, of the step before it. Thus at
   * t > sliding[1].t the step begins with sliding[1], and at other times with sliding[0]. */
  Sliding sliding[2];
  /* Bit k: the contact sticks in tangential direction k because others do: the row depends on theirs
   * and is inactive. Its share of the friction is a force in proportion to N, -mu_static N s_k, or constant (wedged). */
  int implied;
  int carried; /* It sticks, without friction, because others such as a drive, which give its velocity, rest. */
  sunrealtype wedged[2];
  int is_kept; /* It touches and is open, and its gap stays as it is, since its row depends on those of others that are at rest. */
  sunrealtype effect; /* of friction on the sliding velocity in space: the first diagonal entry of W */
  /* Offsets that the root functions subtract: zero[0] from the gap of an open contact, zero[1] from
   * the velocity of a sliding one. That of a gap that leaves fades from t_zero on, over the time fade. height: that of the newest flight, or
   * INFINITY if nothing is known to bring it back */
  sunrealtype zero[2], t_zero, fade, height;
  /* While it is closed, the largest N at the newest event and at ends of steps since: at the root of N the present forces cancel, and
   * do not tell what is roundoff. Once that root has opened it, the third derivative of its gap */
  sunrealtype load, jerk;
  /* The time from which the contact has been open without a jump of its normal velocity, which was v then */
  struct {
    sunrealtype t, v;
  } left;
  /* the gap, its rate and N at both ends of the newest step; is_near: within it the gap may be zero; turns: it may touch zero and open
   * again; is_left_out: while root functions are evaluated, its row is not */
  struct {
    sunrealtype gap[2], rate[2], N[2];
    int is_near, turns, is_left_out;
  } step;
} Point;

/* The entries of a matrix by rows (rows.c), since products need the rows of few contacts, and matrices are stored by columns: of row i the
 * entries k = first[i] ... first[i + 1] - 1, which are number entry[k] of the matrix's, in column[k] */
typedef struct {
  sunindextype *first, *entry, *column;
} ContactRows;

/* Counters since the newest successful CPSessionStart. */
typedef struct {
  long int nevents;        /* events at which velocities or phases have changed */
  long int nimpacts;       /* events with an impact */
  long int naccumulations; /* accumulations of impacts that have been closed */
  long int nreduced; /* impacts whose restitution was reduced because energy would have grown (guide) */
  long int nsolved;           /* problems solved for impulses or accelerations */
  long int nnewton;           /* problems solved by Newton's iteration; the others by enumeration */
  sunrealtype residual;       /* largest relative residual of their solutions */
  long int nintervals;        /* intervals of time stepping (CPContactSetTimeStepping) */
  long int ninterval_steps;   /* steps in them, each of which was compared with two half steps */
  sunrealtype interval_begin; /* beginning of the newest interval */
  sunrealtype interval_end;   /* its end, or the time reached in it */
  int time_stepping;          /* 1 if it has not ended yet */
} CPContactStats;

struct CPContact_ {
  CPLog log;
  CPMech mech;              /* the caller's */
  const CPEquations *model; /* its equations */
  int friction;             /* the number of the force in mech, or -1 */
  /* the numbers of functions of the model and of laws, and of runs and starts, that are under way */
  int calling, running;
  void *data;                /* what the functions of the model get */
  int npoints, nloaded;      /* nloaded: contacts that multipliers load */
  Point *point, *before;     /* [npoints]; before: phases at the start of an event */
  ContactOnset *onset;       /* [npoints] workspace */
  int np, nv, na, nq, nu, n; /* n: length of y */
  int m;       /* number of multipliers: na rows of A, then those of prescribed motions */
  int nrows;   /* na, and the rows of contacts without a normal row */
  SUNMatrix A; /* as evaluated last */
  ContactRows rows;
  /* The contacts that are not far, ascending, and one more entry; [npoints] 1: far; [npoints] the row of the gap (near.c) */
  int nnear, *near, *gap;
  char *is_far;
  /* [na] 1: a row of a contact that is far; the others, ascending; workspace */
  char *off, *found;
  int nlive, *live;
  int *first_root;      /* [npoints + 1] the first root function of each contact */
  sunrealtype *no_root; /* what root functions are that have none (driver.c) */
  /* [na] rows that the newest forces could do without; A with rows of zeros in their place (contactSome) */
  char *skipped;
  SUNMatrix some;
  /* The state, and `skipped`, of c->some, and v [na] with these rows; age: of the model. t is NaN before the first one. */
  struct {
    sunrealtype t, age, *q, *u, *v;
    char *skipped;
    int with_v;
  } known;
  /* The largest number of rows of an event whose W is stored. Beyond it W is known only by products at (product_t, product_y). */
  int stored;
  struct { /* the rows of an event for which there is memory, with and without W */
    int stored, all;
  } most;
  sunrealtype product_t;
  N_Vector product_y;
  int frictionless;  /* 1: friction is left out for the moment */
  int is_explicit;   /* the steps */
  CPSession session; /* that of the newest start, and its integrator */
  CPIntegrator integrator;
  sunrealtype t, rtol, atol; /* t: time of the newest start or event */
  sunrealtype t_first;       /* time of the start of the run */
  sunrealtype t_last;        /* time of its end, or INFINITY */
  /* Factor on the tolerance for the flights after the newest event, and the factor last given to
   * the integrator. */
  sunrealtype share, share_set;
  /* The rates u [nu] at the end t of the newest step, the largest acceleration a of coordinates that are angles within it, the largest step
   * that these allow, which the integrator has, and that of the user, 0: any */
  struct {
    sunrealtype t, *u, a, max_step, users;
  } turns;
  /* the tolerances of gaps and of velocities at the newest event, a tenth of them, to what both are known that are kept at 0, and the
   * roundoff of gaps */
  sunrealtype tol_q, tol_v, small_q, small_v, noise_q, noise_v, round_q, round_v;
  int side; /* which of the two places the root functions use */
  /* the times of both ends of the newest step, and the state at the latter; end[1] is NAN after a restart */
  sunrealtype end[2], *end_y, *start_y; /* start_y: that at the former, unless end[1] is NAN */
  /* the time of directions of sliding while root functions are evaluated; NaN in the stages of a step, which have their own */
  sunrealtype own;
  void *owned[CONTACT_ARRAYS]; /* the arrays that CPContactFree frees */
  int nowned;
  /* workspace */
  /* is_contact [m] 1: a row of a contact; keep [npoints] 1: the contact is in the problem */
  char *is_contact, *keep;
  sunrealtype *lambda; /* [m] */
  int *mask, *column;  /* [na] column: of Fl, that of a tangential row's friction */
  sunrealtype *p, *v, *b, *a, *impulse; /* [na]; a = A u' - b without contact forces */
  /* While the friction is differentiated by differences, the direction of sliding in space is linear in the
   * velocities, around those of rows in base [na]: steps of differences may exceed them. */
  int is_linear;
  sunrealtype *base;
  /* [na] scale: largest entry of each row of A, which scales the tolerance of the row; error: what the
   * tolerances of all velocities add up to in the row */
  sunrealtype *scale, *error;
  sunrealtype *udot, *force; /* [nu] */
  /* W [n n], the others [na]: the rows of the contacts in the problem. before_v: the velocities
   * to which restitution refers. */
  sunrealtype *W, *velocity, *before_v, *e, *compression;
  int *row, *order; /* [na] row: the row of A of each row of the problem */
  /* [npoints]; event_before: the events before the newest ones */
  CPContactEvent *event, *event_before, *event_own; /* own: while the phases are found anew */
  int *fired;                                       /* [ROOTS npoints] roots of the newest event */
  N_Vector saved;                                   /* y before an event */
  N_Vector newest;                                  /* y at t */
  N_Vector rate;                                    /* workspace */
  /* Time stepping starts when more than `dense` events lie within dense_time (time_stepping.c); 0: never. */
  int dense;
  sunrealtype dense_time, *recent; /* [dense] ring buffer of the times of the newest events */
  long int nrecent;
  int time_stepping;
  /* Step, its least value, the time of the latest step in which the set of loaded contacts
   * changed, and how long it has to stay the same. */
  sunrealtype h, least_h, t_busy, calm;
  int slides; /* a contact with friction has slid in the newest step */
  /* yields: where the laws have no solution, a shorter step or time stepping is tried, which is no failure; yielded: time stepping
   * begins for that, or where the integrator finds no step */
  int yields;
  enum { CONTACT_NO_LAW = 1, CONTACT_STUCK } yielded;
  char *carries, *trial_carries; /* [npoints] 1: the contact has an impulse in the newest step */
  char *lifted;                  /* [npoints] workspace (lift.c) */
  sunrealtype *approach;         /* [na] velocities of all rows at the start of a step */
  /* [na] the newest impulses of a flight, divided by its length; [nu] the rate of velocities by those of contacts at rest, or that slide,
   * whether there are some, and the time of which it is known for all lengths, or NaN */
  sunrealtype *load, *push, push_t;
  int pushes;
  N_Vector trial;
  Point *earlier; /* [npoints] while the phases are found anew */
  /* The newest impact, [npoints]: keep marks the contacts of its problem, plastic those whose e_N
   * counts as 0, and glued those with w_N = 0. */
  struct {
    int any;
    char *keep, *plastic, *glued;
    sunrealtype *pull; /* the acceleration that closes the contact while the others hold; 0 without an impact of several */
    sunrealtype work; /* of constraints that move, in the newest impulses */
  } impact;
  /* Sensitivities (gradient.c); Ns = 0: none */
  struct {
    int Ns,
        count; /* count: length of the arrays [Ns], of which an adjoint computation has one for each direction, too */
    CPSens object; /* those of the integrator, or NULL */
    sunrealtype *p, *size;
    int *which; /* [Ns] index of the parameter, or -1 */
    /* [Ns] S: at the newest start or event; minus: just before the newest event, at t_minus */
    N_Vector *S, *minus;
    sunrealtype t_minus;
    /* Derivatives of the margins: slope [Ns 2 npoints] with respect to parameters, rate [2 npoints]
     * with respect to t along the motion. */
    sunrealtype *slope, *rate;
    sunrealtype *dtau;                 /* [Ns] of the time of the newest event */
    sunrealtype *room, *change, *part; /* [4 length], [length], [length] */
    char *decided; /* [2 npoints] 1: a root of this margin is the event; [2 npoints] workspace */
    N_Vector before, after;               /* f on both sides of an event */
    N_Vector direction, moved, y, weight; /* workspace */
    int dependent; /* rows depend on others: states of differences are projected */
  } sens;
  CPContactLawFn law_fn;
  void *law_data, *event_data;
  struct {                  /* elastic.c */
    int force;              /* the number of their force in mech, or -1 */
    sunrealtype *p, *v, *N; /* [na] workspace */
  } elastic;
  int changed;    /* the event that is under way has changed velocities or phases */
  int recorded;   /* a gradient records the run: no contact is far (passage.c) */
  int found_anew; /* the phases of the newest event have been found anew, since another source had changed the state */
  ContactProblem problem;
  CPContactEventFn event_fn;
  CPContactStats stats;
  struct {                 /* before the newest event */
    Point *point;          /* [npoints] */
    CPContactEvent *event; /* [npoints] the event before it */
    CPContactStats stats;
    int side, time_stepping;
  } kept;
};

/* ---- contact.c ---- */
/* Checks that c is not NULL, and that no function of the user's works for it. Returns 0, or a code that
 * has been reported. */
int contactIdle(CPContact c, const char *function);
/* Call a function of the user's; run the integration. They return the result. */
#define contactCalled(c, call) ((c)->calling++, contactDone(&(c)->calling, (call)))
#define contactCall(c, member, ...) \
  contactCalled(                    \
      c, !CPMechGetData((c)->mech, &(c)->data) ? (c)->model->member(__VA_ARGS__, (c)->data) : -1)
#define contactRunning(c, call) ((c)->running++, contactDone(&(c)->running, (call)))
static inline int contactDone(int *count, int result) {
  --*count;
  return result;
}
/* Evaluates c->A at (t, q), without the rows that are off. Returns what the user's function returns. */
int contactRows(CPContact c, sunrealtype t, const sunrealtype *q, const char *off);
/* Tells the model which rows of its functions may be left out, or with NULL that all are needed. */
void contactSkip(CPContact c, const char *off);
/* c->some <- A, and v [na] <- A u, where v is not NULL, in the rows that are not in c->skipped; other rows of v stay as they are.
 * Returns what the user's functions return. */
int contactSome(CPContact c, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                sunrealtype *v);
/* Computes c->scale and c->error from A and u, of rows that are not off; off may be NULL. */
void contactScalesOf(CPContact c, const SUNMatrix A, const sunrealtype *u, const char *off);
/* The same from c->A and y */
void contactScales(CPContact c, N_Vector y);
/* Allocates the arrays for m multipliers. Returns 0, or 1 if out of memory; then nothing has changed. */
int contactSizeMultipliers(CPContact c, int m);
/* Creates A and the vectors, once a state is known. Returns 0, or 1 if out of memory. */
int contactObjects(CPContact c, N_Vector y);
/* Lists the entries of the rows of c->A. Returns 0, or 1 if out of memory; contactForgetRows frees what there is. */
int contactIndexRows(CPContact c);
void contactForgetRows(CPContact c);
/* Of A with the pattern of c->A: row i times x; y += s times row i */
sunrealtype contactRowTimes(const CPContact c, const SUNMatrix A, int i, const sunrealtype *x);
void contactAddRow(const CPContact c, const SUNMatrix A, int i, sunrealtype s, sunrealtype *y);
/* y += A x, or y += A^T x */
void contactTimes(const CPContact c, const SUNMatrix A, const sunrealtype *x, sunrealtype *y);
void contactTransposedTimes(const CPContact c, const SUNMatrix A, const sunrealtype *x,
                            sunrealtype *y);
/* B e_k += A^T x with the entries i of x for which column [i] = k; B is dense. */
void contactSpread(const CPContact c, const SUNMatrix A, const sunrealtype *x, const int *column,
                   SUNMatrix B);

/* Updates the constants of all contacts' laws for the present parameters or, if q is not NULL, those that are not far, for the state, too. If check is set, it
 * reports constants that are out of range; difference quotients may take them there. Returns 0 or
 * an error code that has been reported. */
int contactLaws(CPContact c, sunrealtype t, const sunrealtype *q, int check, const char *function);
/* The same for contact i alone */
int contactLawOf(CPContact c, int i, sunrealtype t, const sunrealtype *q, int check,
                 const char *function);

/* The coefficient of restitution in direction i of a contact, normal first */
static inline sunrealtype contactE(const Point *point, int i) {
  return i == 0 ? point->law.restitution : point->law.tangential;
}
/* N of a contact, from the multipliers */
sunrealtype contactNormal(const Point *point, const sunrealtype *lambda);
/* A gap of the model at the rate v, on the turn that the run has counted up to t */
sunrealtype contactOnTurn(const Point *point, sunrealtype t, sunrealtype gap, sunrealtype v);
/* |x| of a vector with 0, 1 or 2 entries */
sunrealtype contactLength(int n, const sunrealtype *x);
/* The velocity of row i that counts as zero: a twentieth of the tolerance */
sunrealtype contactZeroVelocity(const CPContact c, int i);
/* Does the contact stick because others do, in all directions? */
int contactIsImplied(const Point *point);
int contactSlidesInSpace(const Point *point);
/* Sliding at the start of the step that contains t */
const Sliding *contactSliding(const Point *point, sunrealtype t);
/* s <- the direction of this sliding, turned to t */
void contactTurned(const Sliding *sliding, sunrealtype t, sunrealtype *s);
/* Is sliding in space slow (Sliding.slow) at the time t and the velocity v? along: out, the velocity
 * along the direction of sliding. */
int contactIsGuided(const Point *point, sunrealtype t, const sunrealtype *v, sunrealtype *along);
/* s <- the direction of friction at the velocities c->v */
void contactDirection(const CPContact c, const Point *point, sunrealtype t, sunrealtype *s);
/* The sliding velocity |v_T| in space. A step that passes the end of sliding would meet
 * a jump of the friction there, to the opposite direction, and |v_T| has no sign to show it. The
 * velocity is therefore negative, and the friction keeps its direction, where v_T points back from
 * the direction at the step's start, and either nearly straight back or when the deceleration there would
 * have halved the speed. (Sliding that turns may point back, too, but has not been slowed down.) Thus f is smooth
 * across the end of sliding, as in the plane. Where sliding is slow (Sliding.slow), the velocity is that
 * in its direction. */
sunrealtype contactSpeed(const Point *point, sunrealtype t, const sunrealtype *v);
/* The speed of sliding in space, 2 NEAR_END error, up to which the errors of a few steps may turn a velocity
 * into any direction */
sunrealtype contactSlow(const CPContact c, const Point *point);
/* Sliding.near of steps that begin with this speed, after a step with the sliding before, or with
 * none if that is NULL: that of before while the speed is larger, else NEAR_END error or, if it is
 * slow, what counts as zero */
sunrealtype contactNearEnd(const CPContact c, const Point *point, sunrealtype speed,
                           const Sliding *before);

/* ---- near.c ---- */
/* For each contact i that is not far */
#define EACH_NEAR(c, i) \
  for (int i##_at = 0, i = (c)->near[0]; i##_at < (c)->nnear; i = (c)->near[++i##_at])
/* For each row i that is not off */
#define EACH_LIVE(c, i) \
  for (int i##_at = 0, i = (c)->live[0]; i##_at < (c)->nlive; i = (c)->live[++i##_at])
/* Finds the contacts that are far within a step of length h from (t, y0) to y1, and what the others need that have been far before.
 * Returns 0 or an error code that has been reported. */
int contactNear(CPContact c, sunrealtype t, const sunrealtype *y0, const sunrealtype *y1,
                sunrealtype h);
/* None is far, until contactNear is called. */
void contactAllNear(CPContact c);
/* The rows [na] that may be left out, since their contacts are far, or NULL if none are */
const char *contactOff(const CPContact c);

/* ---- lift.c ---- */
/* At a restart of the integrator at (t, y): y <- a state near it in which closed contacts have the gap 0, and no open one is below 0; their
 * root functions get offsets. Returns 0 or an error code that has been reported. */
int contactLift(CPContact c, sunrealtype t, N_Vector y, const char *function);
/* Sets the offsets of the root functions of open contacts with the gaps c->p at t. */
void contactOffsets(CPContact c, sunrealtype t);

/* ---- driver.c ---- */
/* Copies the message of the integrator, which has reported its failure, and returns flag. */
int contactOfIntegrator(CPContact c, int flag);
/* Restarts the integrator at (t, y). Returns 0 or its code. */
int contactRestart(CPContact c, sunrealtype t, N_Vector y);
/* Integrates to tout or to a root. Returns the integrator's code. */
int contactAdvance(CPContact c, sunrealtype tout, N_Vector y, sunrealtype *t);

/* The quantity whose sign ends a contact's phase, from c->p, c->v and c->lambda. Margin 0 is the
 * gap, or N if the contact is closed; margin 1 is the distance mu_s N - |F_T| from the cone if it
 * sticks, or the velocity in the direction of sliding if it slides. */
sunrealtype contactMargin(CPContact c, const Point *point, int margin, sunrealtype t);
/* Evaluates c->p, c->v and, with closed contacts, c->lambda at (t, y); check as for contactLaws.
 * Returns 0 or an error code that has been reported. */
int contactMargins(CPContact c, sunrealtype t, N_Vector y, int check, const char *function);

/* ---- elastic.c ---- */
/* x of an elastic contact at c->p and c->v, whose fall through 0 ends its phase, with the offset of its root function */
sunrealtype contactElasticMargin(const CPContact c, const Point *point);
/* Its normal force in its phase, or, in time stepping, by the sign of x */
sunrealtype contactElasticForce(const CPContact c, const Point *point, sunrealtype gap,
                                sunrealtype rate);
/* Sets the phases of elastic contacts from those in c->before, at an event at c->p and c->v. */
void contactElasticPhases(CPContact c);
/* Adds their forces to the mechanical system. Returns 0 or its code. */
int contactAddElasticForce(CPContact c);

/* ---- gradient.c ---- */
/* decided [2 npoints]: 1 for the margins whose roots were the newest event */
void contactDecided(CPContact c, char *decided);
/* c->sens.minus <- the directions that make up all sensitivities S- at (t, y): for each parameter the one that is nearest to 0, -K dc/dp,
 * and the tangents P e_j. Returns 0 or an error code that has been reported. */
int contactDirections(CPContact c, sunrealtype t, N_Vector y, const char *function);
/* At a root: computes f before the event, and the derivatives of the margins along the motion and along all c->sens.minus.
 * Returns 0 or an error code that has been reported. */
int contactSensBefore(CPContact c, sunrealtype t, N_Vector y, const char *function);
/* Computes the derivatives dtau of the time of the event of c->sens.decided along all c->sens.minus, on which its margins have to agree.
 * Returns 0 or an error code that has been reported. */
int contactEventTimes(CPContact c, sunrealtype t, const char *function);
/* Computes the sensitivities c->sens.S after the event at t of c->sens.decided, which has changed the state from c->saved to y. Nothing
 * is decided at a start. Returns 0 or an error code that has been reported. */
int contactSensAfter(CPContact c, sunrealtype t, N_Vector y, const char *function);
/* Does the integrator still compute the sensitivities of the newest start? The caller may have removed or freed them. */
int contactHasSens(CPContact c);
/* Restarts the integrator's sensitivities. Returns 0 or its code. */
int contactSensRestart(CPContact c);
/* Takes up the sensitivities of a new integrator at the start. Returns 0 or an error code that has been reported. */
int contactSensStart(CPContact c, sunrealtype t, const char *function);
/* Allocates memory for Ns sensitivities. Returns 0, or 1 if out of memory. */
int contactSensAllocate(CPContact c, int Ns);
/* Stores the parameters' sizes and indices. Returns 0 or an error code that has been reported. */
int contactSensParameters(CPContact c, const CPParameters *given, const char *function);
void contactSensFree(CPContact c);

/* ---- passage.c ---- */
/* How derivatives pass the events of a CPContact. */
extern const CPEventDerivatives contactDerivatives;

/* ---- time_stepping.c ---- */
/* Begins an interval at the event at t: the integrator sees all contacts as open. Returns 0 or an
 * error code that has been reported. */
int contactBeginTimeStepping(CPContact c, sunrealtype t);
/* Does an event at t follow the end of the newest interval so soon that contacts were not calm there? */
int contactResumes(const CPContact c, sunrealtype t);
/* Has the set of loaded contacts stayed the same for long enough? */
int contactIsCalm(CPContact c);
/* Takes a step from c->newest towards tout. Returns the integrator's code at its end, or an error
 * code that has been reported, with y and *t as at the start. */
int contactTimeStep(CPContact c, sunrealtype tout, N_Vector y, sunrealtype *t, const char *function);

/* ---- problem.c: the rows of an event; error codes have been reported ---- */
/* Copies the message of CPMech, which has reported its failure, and returns flag. */
int contactPassOn(CPContact c, int flag);
int contactUserFailed(CPContact c, const char *function, const char *name, sunrealtype t, int flag);
/* Is y a state, and do the arrays hold all multipliers? Returns 0 or an error code. */
int contactReady(CPContact c, N_Vector y, const char *function);
/* c->v at (t, q, u), with c->A at (t, q) if the model has no v, in rows that are not off; off may be NULL. Returns what v does. */
int contactVelocities(CPContact c, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                      const char *off);
/* c->p, c->v at (t, q, u), with the turns of gaps, in rows that are not off; off may be NULL. */
int contactMeasureRows(CPContact c, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       const char *off, const char *function);
/* The same at (t, y), in all rows of contacts that are not far */
int contactMeasure(CPContact c, sunrealtype t, N_Vector y, const char *function);
/* Turns are counted from c->p and c->v at t on. */
void contactCountTurns(CPContact c, sunrealtype t);
/* Activates the rows of the contacts according to their phases; others stay as they are. */
int contactActivate(CPContact c);
/* Activates all rows of the problem's contacts or none; others stay as they are. */
int contactActivateRows(CPContact c, int with_contacts);
/* Builds the problem from the contacts with keep [npoints] = 1. */
void contactGather(CPContact c, const char *keep);
/* Is W stored, and not only known by products? */
int contactStored(const CPContact c);
/* Computes c->W [n n], the problem's Delassus operator, or sets c->problem.times and block; y must
 * then stay valid while they are in use. */
int contactDelassus(CPContact c, sunrealtype t, N_Vector y, const char *function);
/* Builds the problem from the contacts with c->keep = 1, and W, without those, whose keep becomes 0, whose normal impulse would move
 * nothing. */
int contactPose(CPContact c, sunrealtype t, N_Vector y, const char *function);
/* w = W x, and c->udot: the change of the velocities by impulses x in the problem's rows, under the other
 * constraints, at the state of contactDelassus; mu: out, the multipliers of those, or NULL. Returns 0 or CPMechSolve's code. */
int contactReact(CPContact c, const sunrealtype *x, sunrealtype *w, sunrealtype *mu);
/* y [n] <- W x. Returns 0 or an error code. */
int contactProduct(CPContact c, const sunrealtype *x, sunrealtype *y);
/* The block of W of law k: entry (i, j) is at i + j ld. ld: out. */
const sunrealtype *contactBlock(const CPContact c, int k, int *ld);
/* Returns nonzero if there is no solution. */
int contactSolveProblem(CPContact c);
/* Writes that there is none to the log, and returns the code, for contactReported or contactTell. */
int contactNoSolution(CPContact c, sunrealtype t, const char *what);
/* Reports the text of the log with this code, unless another way is tried (yields), and returns it. */
int contactReported(CPContact c, int flag, const char *function);
/* N of the problem's contacts that multipliers load, under the forces P->x: N [nloaded], out. Returns 0 or CPMechSolve's code. */
int contactLoads(CPContact c, sunrealtype *N);
/* c->a [na] <- A u' - b of c->udot at (t, y), in the rows of contacts that are closed, have been or are to be in the problem; others are 0
 * or of no use */
int contactRowAccelerations(CPContact c, sunrealtype t, N_Vector y, const char *function);
/* the same without contact forces */
int contactFreeAccelerations(CPContact c, sunrealtype t, N_Vector y, const char *function);

/* Durations below this, of a flight or of the end of sliding, are not resolved: 1e6 roundoffs of t.
 * Integrators look at root functions that are zero at a start 1e5 roundoffs later. */
sunrealtype contactResolution(sunrealtype t);

/* ---- onset.c ---- */
/* The value of Sliding.slow before contactOnset has found it */
#define CONTACT_BEGINS sqrt(DBL_MAX)
/* Finds Sliding.slow and turn of the contacts that begin to slide in space at (t, y). */
void contactOnset(CPContact c, sunrealtype t, N_Vector y);
/* The speed at which the end of sliding in space comes into reach of contactOnset, or 0 if the direction is not
 * stiff, from the speed now and its accelerations against it and across */
sunrealtype contactStiffEnd(CPContact c, const Point *point, sunrealtype speed, sunrealtype brake,
                            sunrealtype across);
/* The load may turn in another way than expected: reduces slow if the velocity across s is too large. along:
 * that along s. */
void contactWatchOnset(CPContact c, Point *point, sunrealtype t, sunrealtype along,
                       sunrealtype speed);

/* ---- impact.c ---- */
/* If closed contacts approach: computes the new velocities in y and c->v. Returns 0 or an error
 * code that has been reported. */
int contactImpact(CPContact c, sunrealtype t, N_Vector y, const char *function);
/* The acceleration at which contact i comes back, at the event at t: that without contact forces, c->a, or, where others hold one
 * of its bodies, that of the impact's contacts at rest, or what its newest flight has shown; or 0. */
sunrealtype contactReturn(const CPContact c, int i, sunrealtype t);
/* Contact i leaves with velocity v. With restitution e it would return
 * again and again; the remaining flights would last sum_k 2 v e^k / a in total, and their path is
 * about v times that. Returns 1 if they are skipped, and then sets c->event[i]. Requires c->a. */
int contactSkips(const CPContact c, int i, sunrealtype t, sunrealtype v, sunrealtype e);

/* Repeats the newest impact, with the same contacts, at a nearby (t, y). Returns 0 or an error code
 * that has been reported. */
int contactRepeatImpact(CPContact c, sunrealtype t, N_Vector y, const char *function);

/* u <- u + M^{-1} A^T P under the other constraints, where P is the problem's x, and c->velocity
 * holds the velocities before; then updates c->v. Returns CP_CONTACT_NO_SOLUTION, unreported, if P breaks the other
 * constraints, or another code, which has been reported. */
int contactApplyImpulses(CPContact c, sunrealtype t, N_Vector y, const char *function);

/* Computes the impulses with the largest common factor of all e, up to *factor, with which there are impulses and the energy does not grow.
 * releases: contacts that are glued for the moment are released first where there are none with *factor. factor: in, out. Returns 0, or 1 if
 * there is no solution with e = 0 either. */
int contactRestitution(CPContact c, int releases, sunrealtype *factor);

/* ---- event.c ---- */
/* Accelerations agree, or are zero, up to CP_ROUNDED of those without contact forces. Forces at a root of a normal
 * force, or of the distance from the friction cone, are zero up to CP_INEXACT of the largest one, and velocities after
 * impulses are the predicted ones up to this fraction. */
/* Computes these tolerances at y. */
void contactTolerances(CPContact c, N_Vector y);
/* Size up to which the gap of contact i counts as closed at t: a part of the tolerance, plus its
 * change within the uncertainty of t. */
sunrealtype contactClosedGap(CPContact c, int i, sunrealtype t, sunrealtype size);
/* Handles the event at (t, y), given c->fired: new velocities in y, new phases, active rows.
 * Returns 0 or an error code that has been reported, with y and phases as they were. changed: out,
 * 1 if the integrator must be restarted. */
int contactEvent(CPContact c, sunrealtype t, N_Vector y, int *changed, const char *function);
/* Opens all contacts, with zero offsets of their gaps. */
void contactOpenAll(CPContact c);
/* Restores y, phases and c->event to what they were before the newest event. */
void contactUndo(CPContact c, N_Vector y);
/* Keeps the phases and (t, y) for contactUndo. */
void contactKeep(CPContact c, N_Vector y);
/* Computes the velocities and phases after the event at (t, y). Returns 0 or a code, which has been reported but for
 * CP_CONTACT_PENETRATION and CP_CONTACT_NO_SOLUTION. */
int contactDecide(CPContact c, sunrealtype t, N_Vector y, const char *function);

/* ---- lock.c ---- */
/* Reports the reason in the log why the event at (t, y) = contactKeep's, to which y has returned, has failed with one of these two codes,
 * unless a drive has reached its end there, which it tells in place of that. Returns the code. Other codes have been reported. */
int contactTell(CPContact c, sunrealtype t, N_Vector y, int flag, const char *function);
/* Is the gap i, in c->p, negative by more than the tolerance? Returns 0 or CP_CONTACT_PENETRATION,
 * which has been reported. */
int contactPenetrates(CPContact c, int i, sunrealtype t);

#endif
