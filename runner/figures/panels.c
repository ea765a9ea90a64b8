#include "panels.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { STEP_H = 1, STEP_ORDER, STEP_REJECTED };

double curve_value(const Panel *panel, const Curve *curve, long i) {
  const double *row = panel->rows->data + i * panel->rows->width;
  double value      = (row[curve->column] - curve->offset) * curve->factor;
  if (curve->kind == CURVE_MARKS && !(row[STEP_REJECTED] > 0)) return NAN;
  if (curve->kind == CURVE_LAST && i + 1 < panel->rows->rows) return NAN;
  if (!isfinite(value)) return NAN;
  return panel->logarithmic ? fabs(value) : value;
}

bool has_bars(const Panel *panel) { return panel->phases != NULL; }

bool has_phase(const Panel *panel, RunPhase phase) {
  for (int c = 0; c < panel->ncurves; c++) {
    const PhaseBar *bar = &panel->phases->bar[panel->curve[c].column];
    for (int i = 0; i < bar->count; i++)
      if (bar->change[i].phase == phase) return true;
  }
  return false;
}

void history_times(const History *history, double *from, double *to) {
  const Rows *rows = &history->curves;
  *from            = rows->rows > 0 ? rows->data[0] : 0;
  *to              = rows->rows > 0 ? rows->data[(rows->rows - 1) * rows->width] : 0;
  if (!(*to > *from)) *to = *from + 1; /* a run that ended where it began */
}

/* ---------------------------------------------------------------------------- panels in words -- */

/* Appends text, or leaves it out altogether if there is no room. */
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

/* The caption below the figure, which the description repeats. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
caption(Panel *panel, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(panel->caption, sizeof panel->caption, format, arguments);
  va_end(arguments);
  say(panel, " %s", panel->caption);
}

/* "Over t = 0 to 10 s. 8 of 260 are shown." */
static void say_frame(Panel *panel, const History *history) {
  double from, to;
  history_times(history, &from, &to);
  say(panel, "Over time t, %.4g to %.4g%s.", from, to, has_units(history->info) ? " s" : "");
  if (panel->all > panel->ncurves)
    caption(panel, "%d of %ld are shown.", panel->ncurves, panel->all);
}

static void say_scale(Panel *panel) {
  say(panel, " The axis is logarithmic%s.", panel->foot > 0 ? "; zero is at its foot" : "");
}

static void say_ranges(Panel *panel) {
  for (int i = 0; i < panel->ncurves; i++) {
    const Curve *c = &panel->curve[i];
    say(panel, " %s: from %.4g to %.4g%s%s, at the end %.4g.", c->name, c->least, c->most,
        unit_space(c->unit), c->unit, c->last);
  }
}

static void say_drifts(Panel *panel, const History *history) {
  const CPPluginType *type = history->info->settings->model.type;
  say_scale(panel);
  for (int i = 0; i < type->nquantities; i++) {
    const CPPluginQuantity *q = &type->quantities[i];
    if (is_conserved(history->info, i))
      say(panel, " %s stays within %.2g%s%s of its start value, %.6g.", q->name,
          history->most_drift[i], unit_space(q->unit), unit_text(q->unit),
          history->first_quantity[i]);
  }
  caption(panel, "A slow rise is the integration's error; jumps would be faults.");
}

static void say_quantities(Panel *panel) {
  for (int i = 0; i < panel->ncurves; i++) {
    const Curve *c   = &panel->curve[i];
    const int digits = digits_apart(c->first, c->last);
    say(panel, " %s: at first %.*g, at the end %.*g%s%s, never above %.6g.", c->name, digits,
        c->first, digits, c->last, unit_space(c->unit), c->unit, c->most);
  }
  caption(panel, "Without a force that works on the mechanism it can only fall.");
}

static void say_errors(Panel *panel, const History *history) {
  const Estimate *e = &history->result.estimate;
  char estimate[2 * RUN_TEXT];
  describe_estimate(e, estimate, sizeof estimate);
  say_scale(panel);
  say(panel, " The largest distance from another run by %s at rtol %.1g, in units of the scales.",
      e->method, e->rtol);
  say(panel, " At the end %s.", estimate);
  caption(panel, "The largest distance from a more accurate run, in units of the scale.");
}

static void say_violations(Panel *panel) {
  say_scale(panel);
  for (int i = 0; i < panel->ncurves; i++) {
    const Curve *c = &panel->curve[i];
    say(panel, " %s: at most %.2g, at t = %.4g.", c->name, c->most, c->when);
  }
  caption(panel, "It should stay small, and not grow with time.");
}

static void say_steps(Panel *panel, const History *history) {
  const RunResult *r = &history->result;
  const Curve *c     = &panel->curve[0];
  char reasons[RUN_TEXT];
  describe_rejections(r, reasons, sizeof reasons);
  say_scale(panel);
  say(panel, " From %.3g to %.3g s in %ld steps; rejected attempts: %s.", c->least, c->most,
      r->steps, reasons);
  for (int i = 1; i < panel->ncurves; i++)
    say(panel, panel->curve[i].kind == CURVE_MARKS ? " Marks stand where an attempt was rejected."
                                                   : " The last step is shortened to end there.");
  caption(panel, "Steps are short in fast motion, and after a start.");
}

static void say_events(Panel *panel, const History *history) {
  if (history->events == 1) say(panel, " Thin line: an event at t = %.6g.", history->event[0].t);
  if (history->events > 1)
    say(panel, " Thin lines: %ld events, the first at t = %.6g.", history->events,
        history->event[0].t);
}

/* "beak: open for 92%, sliding for 5%, sticking for 3% of the time." */
static void say_phases(Panel *panel) {
  for (int i = 0; i < panel->ncurves; i++) {
    double time[NUM_PHASES];
    phases_times(panel->phases, (int)panel->curve[i].column, panel->to, time);
    say(panel, " %s:", panel->curve[i].name);
    for (int k = 0, some = 0; k < NUM_PHASES; k++)
      if (time[k] > 0)
        say(panel, "%s %s for %.3g%%", some++ ? "," : "", phase_name(k),
            100 * time[k] / (panel->to - panel->from));
    say(panel, " of the time.");
  }
  if (panel->phases->shortest > 0)
    caption(panel, "Phases shorter than %.2g s that follow each other are drawn as one.",
            panel->phases->shortest);
}

static void describe(const History *history, Panel *panel) {
  const char *id = panel->id;
  say_frame(panel, history);
  if (!strcmp(id, "drift")) say_drifts(panel, history);
  else if (!strncmp(id, "quantities", strlen("quantities"))) say_quantities(panel);
  else if (!strcmp(id, "error")) say_errors(panel, history);
  else if (!strcmp(id, "violations")) say_violations(panel);
  else if (!strcmp(id, "steps")) say_steps(panel, history);
  else if (has_bars(panel)) say_phases(panel);
  else say_ranges(panel);
  say_events(panel, history);
}

/* ------------------------------------------------------------------------------------- building -- */

static Panel *begin(Panel *panel, const Rows *rows, const char *id, const char *title) {
  *panel = (Panel){.rows = rows};
  snprintf(panel->id, sizeof panel->id, "%s", id);
  snprintf(panel->title, sizeof panel->title, "%s", title);
  return panel;
}

static Curve *add(Panel *panel, CurveKind kind, long column, const char *name, const char *unit) {
  Curve *curve = &panel->curve[panel->ncurves++];
  *curve       = (Curve){.kind = kind, .column = column, .factor = 1};
  snprintf(curve->name, sizeof curve->name, "%s", name);
  snprintf(curve->unit, sizeof curve->unit, "%s", unit_text(unit));
  return curve;
}

/* Makes "velocity [rad/s]" if all curves have the same unit; otherwise the units stand with the
 * names. */
static void name_axis(Panel *panel, const char *what) {
  bool same = panel->curve[0].unit[0] != '\0';
  for (int i = 1; i < panel->ncurves; i++)
    same = same && !strcmp(panel->curve[i].unit, panel->curve[0].unit);
  if (same) snprintf(panel->axis, sizeof panel->axis, "%s [%s]", what, panel->curve[0].unit);
  else snprintf(panel->axis, sizeof panel->axis, "%s", what);
}

static bool note_range(const Panel *panel, Curve *curve) {
  curve->first = curve->last = curve->least = curve->most = curve->when = NAN;
  for (long i = 0; i < panel->rows->rows; i++) {
    const double value = curve_value(panel, curve, i);
    if (isnan(value)) continue;
    if (isnan(curve->first)) curve->first = value;
    if (!(value <= curve->most)) {
      curve->most = value;
      curve->when = panel->rows->data[i * panel->rows->width];
    }
    curve->least = fmin(value, curve->least);
    curve->last  = value;
  }
  return !isnan(curve->first);
}

static double largest_of(const Panel *panel) {
  double most = 0;
  for (int c = 0; c < panel->ncurves; c++) most = fmax(most, panel->curve[c].most);
  return most;
}

/* Returns the decade below the smallest value that is not practically zero, or 0 if no value is
 * zero. */
static double find_foot(const Panel *panel) {
  /* below this, values count as zero */
  const double none = fmax(DBL_MIN, fmin(1e-18, 1e-4 * largest_of(panel)));
  double least      = INFINITY;
  bool zero         = false;
  for (int c = 0; c < panel->ncurves; c++)
    for (long i = 0; i < panel->rows->rows; i++) {
      const double value = curve_value(panel, &panel->curve[c], i);
      if (value < none) zero = true;
      else if (value < least) least = value;
    }
  if (!zero) return 0;
  return isfinite(least) ? pow(10, floor(log10(least)) - 1) : DBL_EPSILON;
}

/* Drops curves without a finite value. Returns 1 if any remains. */
static int finish(const History *history, Panel *panel, const char *axis) {
  int kept = 0;
  for (int c = 0; c < panel->ncurves; c++)
    if (note_range(panel, &panel->curve[c])) panel->curve[kept++] = panel->curve[c];
  panel->ncurves = kept;
  if (!kept) return 0;
  if (panel->logarithmic) panel->foot = find_foot(panel);
  name_axis(panel, axis);
  panel->time_axis = has_units(history->info) ? "t [s]" : "t";
  describe(history, panel);
  return 1;
}

/* ----------------------------------------------------------------------------- the run's panels -- */

/* Returns the panel [count] for curves in this unit. The first panel has just the id and title;
 * those of other units are distinguished. */
static Panel *panel_in(Panel *panels, int *count, const History *h, const char *id,
                       const char *title, const char *unit) {
  for (int k = 0; k < *count; k++)
    if (!strcmp(panels[k].curve[0].unit, unit_text(unit))) return &panels[k];
  Panel *panel = begin(&panels[*count], &h->curves, id, title);
  if (++*count > 1) snprintf(panel->id + strlen(id), sizeof panel->id - strlen(id), "%d", *count);
  return panel;
}

/* Finishes panels [count] and drops those without a finite number. Returns how many remain. */
static int finish_units(const History *h, Panel *panels, int count, const char *axis) {
  int kept = 0;
  for (int k = 0; k < count; k++) {
    const size_t length = strlen(panels[k].title);
    if (count > 1 && panels[k].curve[0].unit[0])
      snprintf(panels[k].title + length, sizeof panels[k].title - length, " [%s]",
               panels[k].curve[0].unit);
    if (finish(h, &panels[k], axis)) panels[kept++] = panels[k];
  }
  return kept;
}

/* Each unit has a panel, since axes never mix units. */
static int create_components(const History *h, Panel *panels, bool rates) {
  const long first = rates ? history_column_u(h) : 1, from = rates ? h->info->nq : 0;
  const int shown = rates ? h->nu : h->nq;
  int count       = 0;
  for (int i = 0; i < shown; i++) {
    char name[PANEL_NAME], unit[24];
    const long component = from + (rates ? h->u[i] : h->q[i]);
    component_name(h->info, component, name, sizeof name);
    component_unit(h->info, component, unit, sizeof unit);
    Panel *panel = panel_in(panels, &count, h, rates ? "velocities" : "coordinates",
                            rates ? "Velocities" : "Coordinates", unit);
    add(panel, CURVE_LINE, first + i, name, unit);
  }
  for (int k = 0; k < count; k++)
    for (long i = from; i < from + (rates ? h->info->nu : h->info->nq); i++) {
      char unit[24];
      panels[k].all +=
          !strcmp(component_unit(h->info, i, unit, sizeof unit), panels[k].curve[0].unit);
    }
  return finish_units(h, panels, count, rates ? "velocity" : "coordinate");
}

/* Conserved quantities: the distance from the first value, in units of the scale. */
static int create_drifts(const History *h, Panel *panel) {
  const CPPluginQuantity *quantity = h->info->settings->model.type->quantities;
  begin(panel, &h->curves, "drift", "Drift of what the motion keeps");
  panel->logarithmic = true;
  for (int i = 0; i < h->info->nquantities && panel->ncurves < RUN_CURVES; i++) {
    if (!is_conserved(h->info, i) || !is_selected(h->info->settings->curves, quantity[i].name))
      continue;
    const double scale = h->scales.quantity[i];
    Curve *curve       = add(panel, CURVE_LINE, history_column_quantity(h) + i, quantity[i].name,
                       scale > 0 ? "" : quantity[i].unit);
    curve->offset      = h->first_quantity[i];
    curve->factor      = scale > 0 ? 1 / scale : 1;
  }
  return finish(h, panel, "|drift| / scale");
}

/* The values of outputs, or of quantities that may only decrease. */
static int create_quantities(const History *h, Panel *panels, bool outputs) {
  const CPPluginQuantity *quantity = h->info->settings->model.type->quantities;
  int count = 0, shown = 0, last = 0;
  for (int i = 0; i < h->info->nquantities && shown < RUN_CURVES; i++) {
    if (is_conserved(h->info, i) || is_output(h->info, i) != outputs ||
        !is_selected(h->info->settings->curves, quantity[i].name))
      continue;
    Panel *panel = panel_in(panels, &count, h, outputs ? "outputs" : "quantities",
                            outputs ? "Outputs" : "What the motion dissipates", quantity[i].unit);
    add(panel, CURVE_LINE, history_column_quantity(h) + i, quantity[i].name, quantity[i].unit);
    last = i;
    shown++;
  }
  return finish_units(h, panels, count, shown == 1 ? quantity[last].name : "value");
}

/* The distance from the second run. */
static int create_errors(const History *h, Panel *panel) {
  begin(panel, &h->differences, "error", "Estimated error");
  panel->logarithmic = true;
  if (!h->differences.data) return 0;
  add(panel, CURVE_LINE, 1, "error", "");
  return finish(h, panel, "error / scale");
}

static int create_violations(const History *h, Panel *panel) {
  begin(panel, &h->curves, "violations", "Distance from the constraints");
  panel->logarithmic = true;
  for (int l = 0; l < NUM_LEVELS; l++)
    if (level_exists(h->info, (RunLevel)l))
      add(panel, CURVE_POINTS, history_column_violation(h) + l, level_name((RunLevel)l), "");
  return finish(h, panel, "violation");
}

static int create_multipliers(const History *h, Panel *panels) {
  int count = 0;
  for (int i = 0; i < h->nlambda; i++) {
    char name[PANEL_NAME];
    const char *unit = multiplier_unit(h->info, h->lambda[i]);
    multiplier_name(h->info, h->lambda[i], name, sizeof name);
    Panel *panel =
        panel_in(panels, &count, h, "multipliers", "Multipliers of the constraints", unit);
    add(panel, CURVE_LINE, history_column_lambda(h) + i, name, unit);
  }
  for (int k = 0; k < count; k++)
    for (long i = 0; i < h->info->nlambda; i++)
      panels[k].all += !strcmp(multiplier_unit(h->info, i), panels[k].curve[0].unit);
  return finish_units(h, panels, count, "multiplier");
}

static int create_gaps(const History *h, Panel *panel) {
  begin(panel, &h->curves, "gaps", "Gaps of the contacts");
  for (int i = 0; i < h->ngap; i++) {
    char name[PANEL_NAME];
    gap_name(h->info, h->gap[i], name, sizeof name);
    add(panel, CURVE_LINE, history_column_gap(h) + i, name, gap_unit(h->info));
  }
  panel->all = h->info->ncontacts;
  return finish(h, panel, "gap");
}

static int create_phases(const History *h, Panel *panel) {
  begin(panel, NULL, "phases", "Phases of the contacts");
  for (int i = 0; i < h->nphase; i++)
    add(panel, CURVE_BAR, h->phase[i], h->info->contact[h->phase[i]].name, "");
  panel->all       = h->info->ncontacts;
  panel->phases    = &h->phases;
  panel->time_axis = has_units(h->info) ? "t [s]" : "t";
  history_times(h, &panel->from, &panel->to);
  if (panel->ncurves > 0 && h->curves.rows > 0) describe(h, panel);
  return panel->ncurves > 0 && h->curves.rows > 0;
}

static int create_steps(const History *h, Panel *panel) {
  begin(panel, &h->steps, "steps", "Step size");
  panel->logarithmic = true;
  const char *unit   = has_units(h->info) ? "s" : "";
  add(panel, CURVE_LINE, STEP_H, "step size", unit);
  add(panel, CURVE_MARKS, STEP_H, "after rejected attempts", unit);
  const double *last = h->steps.data + (h->steps.rows - 1) * h->steps.width;
  if (h->result.ending == RUN_DONE && h->steps.rows > 1 &&
      last[STEP_H] < last[STEP_H - h->steps.width])
    add(panel, CURVE_LAST, STEP_H, "last, shortened", unit);
  return finish(h, panel, "step size");
}

static int create_orders(const History *h, Panel *panel) {
  begin(panel, &h->steps, "orders", "Order of the method");
  add(panel, CURVE_STAIRS, STEP_ORDER, "order", "");
  /* A method of fixed order has no panel. */
  return finish(h, panel, "order") && panel->curve[0].least < panel->curve[0].most;
}

int panels_create(const History *history, Panel *panels) {
  int count = 0;
  count += create_quantities(history, &panels[count], true); /* what the file asks for */
  count += create_components(history, &panels[count], false);
  count += create_components(history, &panels[count], true);
  count += create_drifts(history, &panels[count]);
  count += create_quantities(history, &panels[count], false);
  count += create_errors(history, &panels[count]);
  count += create_violations(history, &panels[count]);
  count += create_multipliers(history, &panels[count]);
  count += create_gaps(history, &panels[count]);
  count += create_phases(history, &panels[count]);
  count += create_steps(history, &panels[count]);
  count += create_orders(history, &panels[count]);
  return count;
}
