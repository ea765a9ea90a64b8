/* Shared by the files of this room.
 *
 * Letters: x = (N, F_T) forces or (P_N, P_T) impulses of closed contacts, w = W x + c the accelerations or velocities
 * that they lead to, W the Delassus operator of the rows of closed contacts under the model's other constraints. */
#ifndef CPODES_CONTACT_IMPL_H
#define CPODES_CONTACT_IMPL_H

#include <cpodes/cpodes_contact.h>

enum { CONTACT_TEXT = 512, CONTACT_NAME = 48, ROOTS = 5, CONTACT_ARRAYS = 40 };

/* ---- solve.c: the problem of an event ---- */

/* Of contact k, whose rows are first, first + 1, ... */
typedef struct {
  int contact, first, ntangents;
  int slides; /* 1: x_T = -mu x_N s, 0: Coulomb's law, in which x and w decide */
  int glued;  /* 1: w_N = 0, whatever the sign of x_N */
  sunrealtype mu, s[2];
  sunrealtype given; /* part of the normal impulse that is known: x_N is what exceeds it, and the cone's radius mu (x_N + given) */
  /* work: the derivative of the natural map */
  int pressed, sticks;
  sunrealtype d[2], turns;
} ContactLaw;

typedef struct {
  int n, ncontacts; /* rows, contacts */
  ContactLaw *law;
  sunrealtype *W, *c, *x, *w; /* [n n], [n]; x, w: out */
  /* In place of W: y = W x, returns 0 or a failure, and its blocks on the diagonal [9 ncontacts], by columns of 3 entries */
  int (*times)(void *data, const sunrealtype *x, sunrealtype *y);
  void *data;
  sunrealtype *block;
  sunrealtype *room;          /* [3 m m + 12 m], with times [(CONTACT_BASIS + 14) m] */
  int *on;                    /* [n] work */
  sunrealtype shift, *center; /* work: W + shift I and c - shift center take the place of W and c */
  sunrealtype *scale, *scaled; /* work */
  sunrealtype residual;        /* out: of x, relative to c */
  int newton;                  /* out: not solved by enumeration */
} ContactProblem;

/* Solves 0 <= x_N perpendicular to w_N >= 0 with friction, w = W x + c. Returns 0, or 1 if no x has been found
 * whose residual is RESIDUAL at most. */
int contactSolve(ContactProblem *p);

/* LU with partial pivoting in A [n n], b -> x [n]. Returns 1 if a pivot is roundoff. */
int contactGauss(int n, sunrealtype *A, sunrealtype *x);
/* y = W x, W [n n] by columns */
void contactSquareTimes(int n, const sunrealtype *W, const sunrealtype *x, sunrealtype *y);
/* y = W x in scaled rows, while contactSolve runs; NaN where times fails */
void contactProblemTimes(const ContactProblem *p, const sunrealtype *x, sunrealtype *y);
/* y = F'(x) h where F was evaluated last, with Wh = (W + shift I) h: rows of one contact, or all */
void contactLawDerivative(const ContactLaw *law, const sunrealtype *h, const sunrealtype *Wh,
                          sunrealtype *y);
void contactDerivativeTimes(const ContactProblem *p, const sunrealtype *h, const sunrealtype *Wh,
                            sunrealtype *y);

/* x of one contact onto x_N >= 0 and the cone's disc, in this order */
void contactProject(const ContactLaw *law, sunrealtype *x);

/* ---- products.c ---- */

/* A first guess from p->x, by so many accelerated steps x <- proj(y - rho w(y)). y, v, w [n]: work */
void contactProjectedGradient(ContactProblem *p, int steps, sunrealtype *y, sunrealtype *v,
                              sunrealtype *w);

/* F'(x) h = F, with products. Wh [n], basis [(CONTACT_BASIS + 3) n]: work. Returns 1 if it fails. */
enum { CONTACT_BASIS = 60 };
int contactKrylovStep(const ContactProblem *p, const sunrealtype *F, sunrealtype *h,
                      sunrealtype *Wh, sunrealtype *basis);

/* x [n] <- A^+ b, A [n n] by columns, overwritten: the solution of least norm where A is singular. b: overwritten. */
void contactLinearSolve(int n, sunrealtype *A, sunrealtype *b, sunrealtype *x, sunrealtype *room);

/* ---- the system with contacts ---- */

/* Where A is sparse: events with more rows than the first are solved by products with W, which is not stored with more than the second. */
enum { CONTACT_DIRECT = 150, CONTACT_STORED = 300 };

/* What the model's functions compute: the motion; without friction; the answer to impulses, M u' = A^T P, A u' = 0. */
typedef enum { MOTION, FREE, IMPULSES } Mode;

typedef struct {
  char name[CONTACT_NAME];
  int normal, tangent, ntangents; /* ntangents = 0 if there is no friction */
  int smooth; /* its tangential rows are not used, since its coefficients were zero at first */
  CPContactPoint given; /* in CPContactCreate; its name is not ours */
  sunrealtype mu, mu_static, e[3];
  int poisson;
  CPContactPhase phase;
  sunrealtype s[2]; /* direction of sliding, where it starts */
  /* Sticks because others do: its tangential rows depend on theirs, and are off. Its part of the friction is a force in proportion
   * to N, F_T = -mu_static N s. */
  int implied;
  /* What is subtracted from the gap of an open contact, and from the velocity of a sliding one, in its root function; that of the
   * gap fades from t_zero on. */
  sunrealtype zero[2], t_zero, fade;
} Point;

struct CPContact_ {
  CPMech mech;
  CPMechModel model; /* the user's */
  void *user_data;
  int npoints;
  Point *point, *before;     /* [npoints]; before: at the start of an event */
  int np, nv, na, nq, nu, n; /* n: length of y */
  int m;                     /* multipliers: na rows of A, then those of prescribed motions */
  SUNMatrix A, S; /* A at the newest evaluation, and the Delassus operator of all rows, or NULL */
  int direct; /* rows of an event at most that is solved with factors. With more, and without S, W is known by products at product_t,
               * product_y */
  sunrealtype product_t;
  N_Vector product_y;
  Mode mode;
  /* the integrator, one of two */
  CPodeMem multistep;
  CPOneStepMem onestep;
  sunrealtype t, rtol, atol; /* of the newest start */
  sunrealtype t_first;       /* of the first start */
  /* part of the tolerance for the flights that begin at the newest event, and what the multistep integrator has of it */
  sunrealtype share, share_set;
  sunrealtype small_q,
      small_v; /* tenths of the tolerances of gaps and of velocities, at the newest event */
  int side;    /* which of two places root functions have */
  long int repeated, maxevents; /* events at one time */
  void *owned[CONTACT_ARRAYS];  /* the arrays */
  int nowned;
  /* work */
  char *is_contact, *keep;     /* [m] 1: a row of a contact; [npoints] 1: in the problem */
  sunrealtype *lambda, *other; /* [m], [2 m] */
  sunrealtype *mask, *p, *v, *b, *a, *impulse; /* [na]; a = A u' - b without contacts */
  sunrealtype *scale; /* [na] largest entry of each row of A, by which tolerances of rows are scaled */
  sunrealtype *udot, *driven; /* [nu]; driven: of prescribed motions alone */
  /* [na na], [na], ...: of the rows of closed contacts at an event; before_v: what restitution refers to */
  sunrealtype *W, *velocity, *before_v, *e, *compression;
  int *row, *order;                     /* [na] row of A of each of them */
  CPContactEvent *event, *event_before; /* [npoints]; event_before: those of the event before */
  int *fired;             /* [ROOTS npoints + nroots] roots of the newest return, or directions */
  int nroots, *direction; /* the user's root functions */
  CVRootFn root_fn;
  N_Vector saved;  /* y before an event */
  N_Vector newest; /* y at c->t */
  /* time stepping where more than `dense` events lie within dense_time (stretch.c); 0: never */
  int dense;
  sunrealtype dense_time, *recent; /* [dense] times of the newest events, in turns */
  long int nrecent;
  int stretching;
  sunrealtype h, least_h,
      t_busy; /* step, and the least one; when other contacts carried than before, most recently */
  char *carries, *trial_carries; /* [npoints] 1: has an impulse in the newest step */
  sunrealtype *approach;         /* [na] velocities of all rows at the start of a step */
  N_Vector trial;
  /* What the arrays of a run contain, while a start may still be refused: point, before, event, scale, fired, saved */
  struct {
    Point *point, *before;
    CPContactEvent *event;
    sunrealtype *scale;
    int *fired;
    N_Vector saved;
  } earlier;
  /* The newest impact, [npoints]: the contacts of its problem; of each of these, does e_N count as 0, is it glued? */
  struct {
    int any;
    char *keep, *plastic, *glued;
  } impact;
  /* Sensitivities (gradient.c); Ns = 0: none */
  struct {
    int Ns, allocated, at_start; /* at_start: S is newer than what the integrator has */
    CPodeMem integrator;         /* which has been given sensitivities */
    int given, spent;            /* how many; 1: the run has ended in an adjoint one */
    sunrealtype *p, *size;
    int *which;          /* [Ns] parameter */
    N_Vector *S, *minus; /* [Ns] at the newest start or event, and before the newest event */
    sunrealtype *slope,
        *rate; /* [Ns 2 npoints], [2 npoints] derivatives of margins by parameters, and by t along the motion */
    sunrealtype *value, *change;  /* [length] */
    char *decided;                /* [2 npoints] 1: a margin whose root is the event */
    N_Vector before, after;       /* f on both sides of an event */
    N_Vector direction, moved, y; /* work */
  } sens;
  CPContactLawFn law_fn;
  struct ContactTape_ *tape; /* of the events of a forward run whose adjoint is wanted, or NULL (adjoint.c) */
  int pending; /* the event at t_pending has failed, and is tried again: saved and fired are those of it */
  sunrealtype t_pending;
  ContactProblem problem;
  CPContactEventFn event_fn;
  CPErrHandlerFn handler;
  void *handler_data;
  char message[CONTACT_TEXT];
  CPContactStats stats;
};

/* ---- contact.c ---- */
int contactError(CPContact c, int code, const char *function, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 4, 5)))
#endif
    ;
/* c->A = A(t, q). Returns what the user's function returns. */
int contactRows(CPContact c, sunrealtype t, const sunrealtype *q);
/* c->scale of c->A */
void contactScales(CPContact c);
/* Arrays for m multipliers. Returns 0, or 1 without memory; then nothing has changed. */
int contactSizeMultipliers(CPContact c, int m);
/* y += A x, or y += A^T x */
void contactTimes(const SUNMatrix A, const sunrealtype *x, sunrealtype *y);
void contactTransposedTimes(const SUNMatrix A, const sunrealtype *x, sunrealtype *y);

/* The constants of all contacts' laws for the present parameters; differences may take them out of their ranges, which are checked
 * where check is set. 0 or a code, reported. */
int contactLaws(CPContact c, sunrealtype t, int check, const char *function);

/* ---- driver.c ---- */
/* Root functions of the user's, and arrays for all roots. Returns 0, or 1 without memory; then nothing has changed. */
int contactSetRoots(CPContact c, int n, CVRootFn g, const int *direction);

/* Starts the integrator again at (t, y). 0 or its code. */
int contactRestart(CPContact c, sunrealtype t, N_Vector y);
/* Integrates until tout, a root, or by one step. Returns what the integrator does, or an error, reported. */
int contactAdvance(CPContact c, sunrealtype tout, N_Vector y, sunrealtype *t, int itask,
                   const char *function);

/* What decides about a contact in its phase, by c->p, c->v, c->lambda: margin 0 is the gap, or N of a closed contact, margin 1 the
 * distance mu_s N - |F_T| from the cone, or the velocity along s. */
sunrealtype contactMargin(CPContact c, const Point *point, int margin, const sunrealtype *s);
/* c->p, c->v and, with closed contacts, c->lambda at (t, y); check: as of contactLaws. 0 or a code, reported. */
int contactMargins(CPContact c, sunrealtype t, N_Vector y, int check, const char *function);

/* ---- gradient.c ---- */
/* Derivatives by t of events of several contacts that differ by no more than this part are the same. */
#define CONTACT_SAME_TIME 1.0e-4
/* What is to be differentiated at (t, y), value: out. 0 or a code, reported. */
typedef int (*ContactQuantity)(CPContact c, sunrealtype t, N_Vector y, sunrealtype *value,
                               const char *function);
/* The margins of all contacts, [2 npoints]; 0 where there is none */
int contactMarginValues(CPContact c, sunrealtype t, N_Vector y, sunrealtype *value,
                        const char *function);
/* The change of the state by the newest impact, [n]: small ones have errors in proportion */
int contactImpactValue(CPContact c, sunrealtype t, N_Vector y, sunrealtype *value,
                       const char *function);
/* result [n] <- d/dh of a quantity at (t + h dt, y + h d) with parameter i, i >= 0, changed by h: differences of sixth order. 0 or a
 * code, reported. */
int contactDerivative(CPContact c, ContactQuantity quantity, int n, sunrealtype t, sunrealtype dt,
                      N_Vector y, N_Vector d, int i, sunrealtype *result, const char *function);
/* c->sens.before <- y' at (t, y), c->sens.rate <- the derivatives of the margins along the motion. 0 or a code, reported. */
int contactMarginRates(CPContact c, sunrealtype t, N_Vector y, const char *function);
/* f <- y' at (t, y) in the present phases. 0 or a code, reported. */
int contactRightHandSide(CPContact c, sunrealtype t, N_Vector y, N_Vector f, const char *function);
/* decided [2 npoints]: 1 for the margins whose roots were the newest event */
void contactDecided(CPContact c, char *decided);
/* Is the rate of a margin that has decided clearly not zero? 0 or a code, reported. */
int contactCheckRate(CPContact c, int k, sunrealtype t, const char *function);
/* Reports that margins k and l have not the same derivative of the time of their event, and returns the code. */
int contactDiffer(CPContact c, int k, int l, sunrealtype t, const char *function);
/* At a root: the sensitivities there, derivatives of margins, and f before the event. 0 or a code, reported. */
int contactSensBefore(CPContact c, sunrealtype t, N_Vector y, const char *function);
/* The sensitivities after the event at t, whose state was c->saved and is y. 0 or a code, reported. */
int contactSensAfter(CPContact c, sunrealtype t, N_Vector y, const char *function);
/* Starts the integrator's sensitivities again. 0 or its code. */
int contactSensRestart(CPContact c);
/* Is there a run that can have sensitivities? 0 or a code, reported. */
int contactSensAllowed(CPContact c, const char *function);
/* Memory for Ns sensitivities. Returns 0, or 1 without memory. */
int contactSensAllocate(CPContact c, int Ns);
/* The sizes and numbers of the parameters. 0 or a code, reported. */
int contactSensParameters(CPContact c, int Ns, sunrealtype *p, const sunrealtype *pbar,
                          const int *plist, const char *function);
void contactSensFree(CPContact c);

/* ---- adjoint.c ---- */
/* What is remembered of an event, c->event and c->impact, after which the state is y. Returns 0, or 1 without memory. */
typedef struct ContactTape_ *ContactTape;
int contactRecord(CPContact c, sunrealtype t, N_Vector y);

/* ---- stretch.c ---- */
/* From the event at t on: all contacts are open for the integrator. 0 or a code, reported. */
int contactStretchBegin(CPContact c, sunrealtype t);
/* Have the same contacts carried for long enough? */
int contactStretchIsCalm(CPContact c);
/* A step from c->newest towards tout. Returns what the integrator does at its end, or an error, reported, with y and *t of the
 * start. */
int contactStretchStep(CPContact c, sunrealtype tout, N_Vector y, sunrealtype *t,
                       const char *function);

/* ---- problem.c: rows of an event; codes are reported ---- */
/* A failure of CPMech, which has reported it: its code. */
int contactPassOn(CPContact c, int flag);
int contactUserFailed(CPContact c, const char *function, const char *name, sunrealtype t, int flag);
/* Is y a state, and have all multipliers room? 0 or a code, reported. */
int contactReady(CPContact c, N_Vector y, const char *function);
/* c->p, c->v at (t, y) */
int contactMeasure(CPContact c, sunrealtype t, N_Vector y, const char *function);
/* Rows that are on: those of the model's other constraints, and those of the contacts by their phases. */
int contactActivate(CPContact c);
/* The same, with those of the problem, or with none of a contact */
int contactActivateRows(CPContact c, int with_contacts);
/* The problem consists of the contacts that are kept, keep [npoints]. */
void contactGather(CPContact c, const char *keep);
/* Is c->W stored, and not only known by products? */
int contactStored(const CPContact c);
/* c->W [n n], its Delassus operator, or c->problem.times and block; y must stay where it is while they are used. */
int contactDelassus(CPContact c, sunrealtype t, N_Vector y);
/* y [n] <- W x. 0 or a code */
int contactProduct(CPContact c, const sunrealtype *x, sunrealtype *y);
/* The block of W of law k: entry (i, j) is at i + j ld. ld: out */
const sunrealtype *contactBlock(const CPContact c, int k, int *ld);
/* Not 0: there is no solution (contactNoSolution). */
int contactSolveProblem(CPContact c);
int contactNoSolution(CPContact c, sunrealtype t, const char *function, const char *what);
/* c->a [na] <- A u' - b without contacts */
int contactFreeAccelerations(CPContact c, sunrealtype t, N_Vector y, const char *function);

/* What lasts less than this, a flight or the end of sliding, is not resolved: 1e6 roundoffs of t. Root functions that are zero at a
 * start are looked at 1e5 of them later. */
sunrealtype contactResolution(sunrealtype t);

/* ---- impact.c ---- */
/* If closed contacts approach each other: new velocities in y and c->v. 0 or a code, reported. */
int contactImpact(CPContact c, sunrealtype t, N_Vector y, const char *function);
/* A contact, whose normal row that is, leaves with velocity v, and with restitution e would come back again and again: flights
 * that last sum_k 2 v e^k / a, of which a way v times as long is what remains; c->a is known. Are they skipped? Then *event says so. */
int contactSkips(const CPContact c, int row, sunrealtype t, sunrealtype v, sunrealtype e,
                 CPContactEvent *event);

/* The newest impact, of the same contacts, at another (t, y) nearby. 0 or a code, reported. */
int contactRepeatImpact(CPContact c, sunrealtype t, N_Vector y, const char *function);

/* u <- u + M^{-1} A^T P under the other constraints, where the problem's x is P and c->velocity what was; then c->v. */
int contactApplyImpulses(CPContact c, sunrealtype t, N_Vector y, const char *function);

/* Impulses with the largest factor of all e that does not let energy grow. Returns 0, or 1 if there is no solution. */
int contactRestitution(CPContact c, sunrealtype *factor);

/* ---- event.c ---- */
/* c->small_q, c->small_v at y */
void contactTolerances(CPContact c, N_Vector y);
/* A gap of contact i that may be zero at t: of a part of the tolerance, or what it changes by in the uncertainty of t. */
sunrealtype contactClosedGap(CPContact c, int i, sunrealtype t);
/* The event at (t, y), with c->fired: new velocities in y, new phases, active rows. 0 or a code, reported, with y and phases
 * as they were. changed: out, is it necessary to start the integrator again? */
int contactEvent(CPContact c, sunrealtype t, N_Vector y, int *changed, const char *function);
/* All phases become open, and no gap has a zero of its own. */
void contactOpenAll(CPContact c);
/* y, phases and what c->event tells as they were before the newest event */
void contactUndo(CPContact c, N_Vector y);
/* Is gap i, in c->p, below zero by more than the tolerance? 0 or CP_CONTACT_PENETRATION, reported. */
int contactPenetrates(CPContact c, int i, sunrealtype t, const char *function);

#endif
