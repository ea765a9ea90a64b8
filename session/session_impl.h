/* Interfaces between the files of this folder. */
#ifndef CPODES_SESSION_IMPL_H
#define CPODES_SESSION_IMPL_H

#include "cpodes/base/roundoff.h"
#include "cpodes/stepping/counters.h"

#include <cpodes/cpodes_sens.h>
#include <cpodes/cpodes_session.h>

enum { SESSION_NAME = 64 };

typedef struct {
  CPEventSource is; /* its name and direction are owned */
  int first;        /* index of its first root among those of all sources */
  sunrealtype due;  /* its next time */
  /* what it has done at the newest event: handled an event of its own (acted) or of others, or begun again; and whether it has asked for a
   * restart */
  int acted, handled, again, restarts;
} Source;

/* What is left to be done after a step */
typedef enum { NOTHING, ACCEPT, OUTPUTS, TELL } Todo;

typedef struct {
  CPStateFn fn;
  void *data;
} StateFn;

typedef struct SessionTape_ SessionTape;

struct CPSession_ {
  CPLog log;
  SUNContext ctx;
  /* the problem */
  CPMech mech;
  const Source *failed; /* whose root functions have failed in the newest step */
  CVRhsFn f;
  void *f_data;
  sunrealtype rtol, atol;
  N_Vector vatol;
  CPConfigFn config;
  void *config_data;
  StateFn step, output;
  CPEventFn event;
  void *event_data;
  sunrealtype *times; /* [ntimes] of outputs */
  int ntimes, next_output;
  int nsources, nroots;
  int nown; /* the number of those of mech itself */
  Source *source;
  int *found, *direction; /* [nroots] */
  long int maxevents;
  /* methods: both are the same if the method does not change */
  char method[SESSION_NAME], stiff[SESSION_NAME];
  int chooses, suggests; /* CPMechSuggestMethod names the method: at the start, and on the way */
  int changes;           /* the method may change */
  int unjudged;          /* steps since the start, or since the method was judged */
  int looks_stiff;       /* 1: when it was judged last, stability limited it */
  char longer[SESSION_NAME]; /* the method that BS32, or DOP853 at a singular start, has taken the place of, or "" */
  int shortens, lengthens; /* before the next step BS32 takes its place, or gives it back */
  sunrealtype t_start;     /* of the newest start or restart */
  int excess;              /* of BS32 in the segments before this one (integrators.c), at least 0 */
  sunrealtype too_long;    /* a segment that was too long for BS32, or infinite */
  N_Vector work[4];        /* of that, once it has been needed */
  /* the integrator */
  CPIntegrator mem;
  int given;                /* it is the caller's */
  int initialised;          /* a given one has been started */
  char now[SESSION_NAME];   /* its method */
  sunrealtype stop;         /* its stop time, or NaN */
  CPIntegratorStats before; /* of earlier integrators and starts */
  /* the run */
  int started;
  sunrealtype t0, t, t_end, sign; /* y belongs to t */
  N_Vector y, saved,
      between; /* saved: at the start of a step of a source's own, or before an event */
  sunrealtype t_saved;
  int advanced; /* the newest step was a source's own: saved is the state at its start, t_saved */
  Todo todo;
  int pending;  /* an event at t has not been handled yet */
  int stopping; /* a source has asked for a stop in its own step */
  long int nevents;
  sunrealtype t_event; /* of the first of the events at one time, and the number of events there */
  long int repeated;
  SessionTape *tape; /* records the events of the run for a gradient, or NULL */
};

/* ---- session.c ---- */

extern const CPKind sessionKind;

/* Returns 0 if a call may begin now, with before_start only before the start; otherwise a code that has been reported. */
int sessionIdle(CPSession s, int before_start, const char *function);
/* Keeps the text of a failure that another object has reported, and returns flag. */
int sessionPassOn(CPSession s, int flag, const char *text);
/* The integrator has failed, unless flag is 0; it, or the mechanical system, has reported that. */
int sessionOfIntegrator(CPSession s, int flag);
/* A source has failed with this flag. */
int sessionOfSource(CPSession s, const Source *source, int flag, const char *function);
/* Adds the counters of the integrator to those before. */
void sessionCount(CPSession s);
/* The next output is the first one from t on. */
void sessionFirstOutput(CPSession s, sunrealtype t);

/* ---- march.c ---- */

/* A call ends: sources need not keep to what belongs to the run. */
void sessionPause(CPSession s);

/* ---- gradient.c ---- */

/* Records the event at (t, y) that has been handled; s->saved: the state before it. Returns 0 or an error code that has been reported. */
int sessionRecord(CPSession s, const char *function);

/* ---- integrators.c ---- */

/* Creates the integrator of s->now, and starts it at (t, y). Returns what the sources ask for, CP_CONTINUE or CP_STOP, or a
 * negative code that has been reported. */
int sessionCreateIntegrator(CPSession s, const char *function);
void sessionFreeIntegrator(CPSession s);
/* Restarts it at (t, y), where a segment ends. Returns the same. */
int sessionRestart(CPSession s, const char *function);
/* Sets s->now to the method for the start. Returns 0 or a negative code, which has been reported. */
int sessionFirstMethod(CPSession s);
/* Gives the integrator the session's tolerances. */
int sessionTolerances(CPSession s);
/* Before a step: judges the method from time to time, and replaces it. */
int sessionJudge(CPSession s, const char *function);

#endif
