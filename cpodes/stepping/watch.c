#include "watch.h"

#include "cpodes/base/compat.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The first distance, and the least one, which bounds the effort at jumps, as a part of the time from the start to tout */
#define LEAST 1.0e-6
/* After an event, where functions may be others, the first step gets a look, unless the newest one is nearer than this
 * part of the distance; if g depends on t, the distance is multiplied by it, and also where g begins to. */
#define AGAIN 0.25
/* A look divides the distance by the golden section: equal parts would miss what is periodic. */
static const sunrealtype GOLDEN = 0.38196601125010515; /* (3 - sqrt(5)) / 2 */
/* g is resolved if it differs from the chord by RESOLVED of its distance from zero, or of FLAT times its size. */
#define RESOLVED 0.25
#define FLAT     1.0e-3
/* Differences below this part of the largest |g_i| are roundoff. */
#define ROUNDOFF CP_ROUNDED
/* The number of looks after which it is tested again whether g depends on t. */
#define LOOKS 8

void cpWatchCreate(CPWatch *w, CPArena *arena, int n) {
  *w = (CPWatch){.n = n};
  CP_ARRAYS(arena, n, &w->at_t, &w->at_between, &w->at_before, &w->at_end, &w->at_kept, &w->at,
            &w->scale);
}

void cpWatchRestart(CPWatch *w, sunrealtype t0, sunrealtype reached, int at_root) {
  const sunrealtype dir = reached > w->begin ? 1.0 : -1.0;
  if (at_root || ((t0 - w->begin) * dir > 0.0 && (reached - t0) * dir >= 0.0))
    cpWatchContinue(w, at_root);
  else w->begun = 0;
}

void cpWatchContinue(CPWatch *w, int changed) {
  w->changed |= changed;
  if (changed && w->depends) w->size *= AGAIN;
  w->known = 0;
  w->t = w->between = w->before = w->kept = NAN;
}

static void begin(CPWatch *w, sunrealtype a, sunrealtype tout) {
  w->begun = 1, w->depends = w->known = w->looks = 0;
  w->begin = w->newest = a, w->size = LEAST * fabs(tout - a), w->changed = 0;
  w->t = w->between = w->before = w->kept = NAN;
  memset(w->scale, 0, (size_t)w->n * sizeof *w->scale);
}

static void copy(const CPWatch *w, const sunrealtype *from, sunrealtype *to) {
  if (from != to) memcpy(to, from, (size_t)w->n * sizeof *to);
}

static void measure(CPWatch *w, const sunrealtype *g) {
  for (int i = 0; i < w->n; i++)
    if (fabs(g[i]) > w->scale[i]) w->scale[i] = fabs(g[i]);
}

static void restartAt(CPWatch *w, sunrealtype t, const sunrealtype *g) {
  w->t = t, w->known = 1, w->between = w->before = NAN;
  copy(w, g, w->at_t);
}

void cpWatchBack(CPWatch *w, sunrealtype t, const sunrealtype *g) {
  if ((w->t - t) * (t - w->begin) > 0.0) restartAt(w, t, g);
}

/* Does g_i, which is `from` at one look, cross zero before another, where it is `to`? */
static int crosses(const CPWatched *f, int i, sunrealtype from, sunrealtype to) {
  if ((f->at_zero && f->at_zero[i]) || from == 0.0 || f->direction[i] * from > 0.0) return 0;
  return to == 0.0 || (from > 0.0) != (to > 0.0);
}

static int anyCrosses(const CPWatch *w, const CPWatched *f, const sunrealtype *from,
                      const sunrealtype *to, const sunrealtype *ga) {
  for (int i = 0; i < w->n; i++)
    if (crosses(f, i, from[i], to[i]) && (!f->from_start || ga[i] * from[i] > 0.0)) return 1;
  return 0;
}

static int varies(const CPWatch *w, const sunrealtype *g, const sunrealtype *h) {
  for (int i = 0; i < w->n; i++)
    if (!(fabs(g[i] - h[i]) <= ROUNDOFF * w->scale[i])) return 1;
  return 0;
}

/* Is each g_i, which is mid at the part s of the way from start to end, near enough to the chord? Functions that cross
 * zero on the way have been found. */
static int resolved(const CPWatch *w, const CPWatched *f, const sunrealtype *start, sunrealtype s,
                    const sunrealtype *mid, const sunrealtype *end) {
  for (int i = 0; i < w->n; i++) {
    const sunrealtype g = start[i];
    if ((f->at_zero && f->at_zero[i]) || f->direction[i] * g > 0.0 || !(g * end[i] > 0.0)) continue;
    const sunrealtype error = fabs(mid[i] - (g + s * (end[i] - g)));
    const sunrealtype least = fmin(fabs(mid[i]), fmin(fabs(g), fabs(end[i])));
    if (error > RESOLVED * fmax(least, FLAT * w->scale[i])) return 0;
  }
  return 1;
}

/* to <- g at (t, y(t)), which may have been evaluated already. */
static int evaluate(CPWatch *w, const CPWatched *f, sunrealtype t, sunrealtype *to) {
  int flag = 0;
  if (fabs(t - w->kept) <= 4.0 * CP_UROUND * fabs(t)) copy(w, w->at_kept, to);
  else flag = f->along(f->data, t, to);
  if (!flag) measure(w, to);
  return flag;
}

int cpWatch(CPWatch *w, const CPWatched *f, sunrealtype tout, sunrealtype a, const sunrealtype *ga,
            sunrealtype b, const sunrealtype *gb, const sunrealtype *ref, sunrealtype limit,
            sunrealtype *found) {
  const sunrealtype dir = b > a ? 1.0 : -1.0;
  int flag              = 0;
  *found                = NAN;
  if (!w->begun) begin(w, a, tout);
  if (isnan(w->t) || (!w->known && (w->t - a) * dir <= 0.0)) restartAt(w, a, ga);
  measure(w, ga), measure(w, gb);
  if (ref != gb) measure(w, ref);
  const int moves = varies(w, ga, gb), to_b = moves || !((tout - w->begin) * dir > 0.0);
  while (!flag) {
    const sunrealtype parts = moves && !w->depends ? CP_WATCH_PARTS_MOVING : CP_WATCH_PARTS;
    const sunrealtype whole = fmax(((to_b ? b : w->t) - w->begin) * dir, (tout - w->begin) * dir);
    const sunrealtype least = fmax(LEAST * whole, CP_LOCATED * fabs(w->t));
    w->size                 = fmax(fmin(w->size, whole / parts), fmax(least, DBL_MIN));
    const int spans         = (w->t - a) * dir < 0.0;
    sunrealtype next        = w->t + dir * w->size;
    /* Is what the step leaves about as long as a distance between two looks? */
    const sunrealtype rest = (b - (spans ? a : w->t)) * dir;
    const int due          = limit == b && w->changed && (b - w->newest) * dir >= AGAIN * w->size;
    if (limit == b && rest <= 1.25 * w->size && (rest >= 0.5 * w->size || (due && rest > 0.0)))
      next = b;
    if ((next - limit) * dir > 0.0) {
      if (limit == b && (isnan(w->between) || (b - w->t) * dir < (1.0 - GOLDEN) * w->size))
        w->between = b, copy(w, gb, w->at_between);
      return 0;
    }
    const int is_end = next == b;
    /* Does g depend on t itself? */
    if (!w->depends || w->looks >= LOOKS) {
      const sunrealtype from = spans ? a : w->t;
      w->looks               = 0;
      w->changed             = 0;
      w->newest              = next;
      flag = f->frozen(f->data, is_end ? from + GOLDEN * (b - from) : next, w->at);
      if (flag) return flag;
      if (!varies(w, w->at, ref)) {
        w->depends = 0, w->known = 0, w->t = next, w->between = w->before = NAN;
        if (!due) w->size *= 2.0;
        if (is_end) restartAt(w, b, gb);
        continue;
      }
      measure(w, w->at);
      if (!w->depends) {
        w->depends = 1, w->size = fmin(w->size, fabs(next - from)) * AGAIN;
        if (spans) restartAt(w, a, ga);
        continue;
      }
    }
    if (!w->known) flag = evaluate(w, f, w->t, w->at_t), w->known = !flag;
    if (!flag && is_end) copy(w, gb, w->at_end);
    else if (!flag) flag = evaluate(w, f, next, w->at_end);
    if (flag) return flag;
    if (!is_end && anyCrosses(w, f, spans ? ga : w->at_t, w->at_end, ga)) {
      *found = next, w->size = fabs(next - w->t);
      copy(w, w->at_end, w->at);
    }
    /* The ends of steps between two looks need no evaluation. */
    const sunrealtype mid     = !spans              ? w->t + GOLDEN * (next - w->t)
                                : isnan(w->between) ? a
                                                    : w->between;
    const sunrealtype *at_mid = !spans ? w->at_kept : isnan(w->between) ? ga : w->at_between;
    if (!spans) flag = evaluate(w, f, mid, w->at_kept), w->kept = flag ? NAN : mid;
    if (flag) return flag;
    if (!spans && anyCrosses(w, f, w->at_t, w->at_kept, ga)) {
      *found = mid, w->size = fabs(mid - w->t);
      copy(w, w->at_kept, w->at);
    }
    if (!isnan(*found)) return 0;
    const sunrealtype part = (mid - w->t) / (next - w->t);
    w->looks++;
    w->changed = 0, w->newest = next;
    const sunrealtype newest = (w->t - w->before) / (next - w->before);
    const int is_smooth =
        resolved(w, f, w->at_t, part, at_mid, w->at_end) &&
        (isnan(w->before) || resolved(w, f, w->at_before, newest, w->at_t, w->at_end));
    if (w->size > least && !is_smooth) {
      w->size = spans ? (1.0 - GOLDEN) * fabs(next - w->t) : fabs(mid - w->t);
      if (spans) restartAt(w, a, ga);
      continue;
    }
    w->size = 2.0 * fabs(next - w->t);
    if (!varies(w, at_mid, w->at_end) && !varies(w, w->at_t, w->at_end)) w->looks = LOOKS;
    const sunrealtype before = w->t;
    copy(w, w->at_t, w->at_before);
    restartAt(w, next, w->at_end);
    w->before = before;
  }
  return flag;
}
