/* Root functions that depend on time itself, between the ends of steps.
 *
 * Steps resolve the state, and with it what root functions g(t, y) owe to y. What they owe to t alone they may lose: at
 * rest nothing limits the steps, and g may cross zero and return within one of them. So g is also looked at between the
 * ends of steps, at distances of its own. At a look, g(t, y_b) is compared with g(b, y_b), b: the end of the step. If they
 * agree, g owes nothing to t, and the distance to the next look is doubled, up to 1/CP_WATCH_PARTS of the time from the
 * start to where the run is to go. If not, g is evaluated along the solution, and the distance is halved until a value
 * between two looks differs from their chord by a part of the distance from zero, as the steps of a quadrature are. */
#ifndef CPODES_WATCH_H
#define CPODES_WATCH_H

#include "cpodes/base/arena.h"

#include <sundials/sundials_types.h>

#define CP_WATCH_PARTS 100
#define CP_WATCH_PARTS_MOVING \
  25 /* where some g_i changes over the step, and none has depended on t */

typedef struct {
  int n;
  int begun, depends;  /* there are a start and a distance; g depended on t at the newest look */
  int known;           /* at_t is valid; otherwise it has not been evaluated */
  int looks;           /* looks since it was last tested whether g depends on t */
  int changed;         /* there has been an event since the newest look */
  sunrealtype newest;  /* time of the newest look, also before events */
  sunrealtype begin;   /* start of the run, which events continue */
  sunrealtype t;       /* the newest look */
  sunrealtype size;    /* distance to the next one */
  sunrealtype between; /* end of a step between t and the next look, or NAN */
  sunrealtype kept;    /* time of at_kept, or NAN */
  sunrealtype before;  /* the look before the newest, or NAN */
  sunrealtype *at_t, *at_between, *at_before; /* [n] g at these times */
  sunrealtype *at_end, *at_kept, *at;         /* [n] g at the next look; latest evaluations */
  sunrealtype *scale;                         /* [n] largest |g_i| */
} CPWatch;

/* What is watched: functions that return 0 or a code with its reason reported as by the caller. */
typedef struct {
  void *data;
  const int *direction; /* [n] crossings to be found: -1 falling, 1 rising, 0 both */
  const int *at_zero;   /* [n] g_i is zero up to errors and has no sign, or NULL */
  int from_start;       /* only functions that have the sign of ga until they cross zero */
  int (*along)(void *data, sunrealtype t, sunrealtype *g); /* g at (t, y(t)) */
  int (*frozen)(void *data, sunrealtype t,
                sunrealtype *g); /* g at (t, y_b), y_b: the end of the step */
} CPWatched;

/* Allocates the arrays for n functions. */
void cpWatchCreate(CPWatch *w, CPArena *arena, int n);
/* The integrator is restarted at t0 after it has reached that time, perhaps at a root: the run goes on if t0 lies behind its
 * start and not beyond that time, and begins anew elsewhere. */
void cpWatchRestart(CPWatch *w, sunrealtype t0, sunrealtype reached, int at_root);
/* The run goes on from a root, or from an event at which functions may have changed. */
void cpWatchContinue(CPWatch *w, int changed);
/* The part of the run behind t, where g is given, will be repeated. */
void cpWatchBack(CPWatch *w, sunrealtype t, const sunrealtype *g);
/* Looks at g in (a, limit], which lies in the newest step or its part up to b, where g is ga and gb. ref: g at the state
 * that `frozen` uses. If limit is before b, the rest is for a later call. tout: where the run is to go. found: out, a time
 * where some g_i has crossed zero since w->t or a, or NAN. Returns 0 or what the functions return. */
int cpWatch(CPWatch *w, const CPWatched *f, sunrealtype tout, sunrealtype a, const sunrealtype *ga,
            sunrealtype b, const sunrealtype *gb, const sunrealtype *ref, sunrealtype limit,
            sunrealtype *found);

#endif
