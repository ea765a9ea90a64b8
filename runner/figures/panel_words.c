/* Figures in words: names, ranges, units, what to look for. */
#include "panels.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Appends; what has no room is left out as a whole */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
say(Panel *panel, const char *format, ...) {
  const size_t used = strlen(panel->description), room = sizeof panel->description - used;
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(panel->description + used, room, format, arguments);
  va_end(arguments);
  if (length < 0 || (size_t)length >= room) panel->description[used] = '\0';
}

static const char *space(const Curve *curve) { return curve->unit[0] ? " " : ""; }

/* "Over t = 0 to 10 s. 8 of 260 are shown." */
static void say_frame(Panel *panel, const History *history, long all) {
  double from, to;
  history_times(history, &from, &to);
  say(panel, "Over time t, %.4g to %.4g%s.", from, to, has_units(history) ? " s" : "");
  if (all > panel->ncurves) say(panel, " %d of %ld are shown.", panel->ncurves, all);
}

static void say_scale(Panel *panel) {
  say(panel, " The axis is logarithmic%s.", panel->foot > 0 ? "; zero is at its foot" : "");
}

static void say_ranges(Panel *panel) {
  for (int i = 0; i < panel->ncurves; i++) {
    const Curve *c = &panel->curve[i];
    say(panel, " %s: from %.4g to %.4g%s%s, at the end %.4g.", c->name, c->least, c->most, space(c),
        c->unit, c->last);
  }
}

static void say_drifts(Panel *panel, const History *history) {
  const CPModelType *type = history->info->settings->model.type;
  say_scale(panel);
  for (int i = 0; i < type->nquantities; i++) {
    const CPModelQuantity *q = &type->quantities[i];
    if (q->conserved)
      say(panel, " %s stays within %.2g %s of its start value, %.6g.", q->name,
          history->most_drift[i], q->unit, history->first_quantity[i]);
  }
  say(panel, " A slow rise is the integration's error; jumps would be faults.");
}

static void say_quantities(Panel *panel) {
  for (int i = 0; i < panel->ncurves; i++) {
    const Curve *c = &panel->curve[i];
    say(panel, " %s: at first %.6g, at the end %.6g%s%s, never above %.6g.", c->name, c->first,
        c->last, space(c), c->unit, c->most);
  }
  say(panel, " Without a force that works on the mechanism it can only fall.");
}

static void say_violations(Panel *panel) {
  say_scale(panel);
  for (int i = 0; i < panel->ncurves; i++) {
    const Curve *c = &panel->curve[i];
    say(panel, " %s: at most %.2g, at t = %.4g.", c->name, c->most, c->when);
  }
  say(panel, " It should stay small, and not grow with time.");
}

static void say_steps(Panel *panel, const History *history) {
  const RunResult *r = &history->result;
  const Curve *c     = &panel->curve[0];
  char reasons[RUN_TEXT];
  describe_rejections(r, reasons, sizeof reasons);
  say_scale(panel);
  say(panel, " From %.3g to %.3g s in %ld steps; rejected attempts: %s.", c->least, c->most,
      r->steps, reasons);
  if (panel->ncurves > 1) say(panel, " Marks stand where an attempt was rejected.");
  say(panel, " Short steps: fast motion, or a start anew.");
}

static void say_events(Panel *panel, const History *history) {
  if (history->events == 1) say(panel, " Thin line: an event at t = %.6g.", history->event[0].t);
  if (history->events > 1)
    say(panel, " Thin lines: %ld events, the first at t = %.6g.", history->events,
        history->event[0].t);
}

void panel_describe(const History *history, Panel *panel) {
  const RunInfo *info = history->info;
  const char *id      = panel->id;
  const long all      = !strcmp(id, "coordinates")   ? info->nq
                        : !strcmp(id, "velocities")  ? info->nu
                        : !strcmp(id, "multipliers") ? info->nlambda
                                                     : 0;
  say_frame(panel, history, all);
  if (!strcmp(id, "drift")) say_drifts(panel, history);
  else if (!strcmp(id, "quantities")) say_quantities(panel);
  else if (!strcmp(id, "violations")) say_violations(panel);
  else if (!strcmp(id, "steps")) say_steps(panel, history);
  else say_ranges(panel);
  say_events(panel, history);
}
