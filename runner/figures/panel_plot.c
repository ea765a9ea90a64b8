#include "panel_plot.h"

#include "gnuplot.h"

#include <math.h>
#include <string.h>

enum { MOST_EVENTS = 60 };            /* lines; more would hide the curves */
static const double key_sample = 2.4; /* letters */

const Theme paper_theme = {.ink          = "#404040",
                           .faint        = "#d0d0d0",
                           .event        = "#808080",
                           .paper        = "#ffffff",
                           .colour       = gnuplot_colour,
                           .most_rows    = 2000,
                           .most_points  = 1000,
                           .left_margin  = 13,
                           .most_letters = PANEL_NAME};

/* ----------------------------------------------------------------------------------------- data -- */

/* Zero has no place on a logarithmic axis, so it is shown at the bottom. */
static void write_row(FILE *script, const Panel *panel, const Curve *curve, long i) {
  double value = curve_value(panel, curve, i);
  if (panel->logarithmic && value < panel->foot) value = panel->foot;
  fprintf(script, "%.8g", panel->rows->data[i * panel->rows->width]);
  gnuplot_number(script, value);
  fputc('\n', script);
}

/* Finds the rows of the least and the largest value in from ... to - 1; the first row if there is
 * no value. */
static void find_extremes(const Panel *panel, const Curve *curve, long from, long to, long *least,
                          long *most) {
  *least = *most = from;
  for (long i = from; i < to; i++) {
    const double value = curve_value(panel, curve, i);
    if (!(value >= curve_value(panel, curve, *least))) *least = isnan(value) ? *least : i;
    if (!(value <= curve_value(panel, curve, *most))) *most = isnan(value) ? *most : i;
  }
}

/* Writes the least and the largest value of each bundle of rows, so that no peak is lost; for
 * points and marks, only the largest. */
static void write_data(FILE *script, const Theme *theme, const Panel *panel, int number) {
  const Curve *curve  = &panel->curve[number];
  const bool is_line  = curve->kind == CURVE_LINE || curve->kind == CURVE_STAIRS;
  const long rows     = panel->rows->rows;
  const long most     = is_line ? theme->most_rows : theme->most_points;
  const long bundle   = rows <= most ? 1 : (is_line ? 2 * rows : rows) / most + 1;
  const bool complete = bundle == 1;
  fprintf(script, "$%s%d << EOD\n", panel->id, number);
  if (!complete && is_line) write_row(script, panel, curve, 0);
  for (long from = 0; from < rows; from += bundle) {
    long a, b;
    find_extremes(panel, curve, from, from + bundle < rows ? from + bundle : rows, &a, &b);
    if (is_line && a != b) write_row(script, panel, curve, a < b ? a : b);
    write_row(script, panel, curve, is_line && a > b ? a : b);
  }
  if (!complete && is_line) write_row(script, panel, curve, rows - 1);
  fprintf(script, "EOD\n");
}

/* ----------------------------------------------------------------------------------------- bars -- */

/* Phases also differ in height. Their names are short enough to stand side by side. */
static const struct {
  const char *name;
  double height;
  int colour; /* -1: the colour of events */
} looks[NUM_PHASES] = {[PHASE_OPEN]     = {"open", 0.1, -1},
                       [PHASE_SLIDING]  = {"sliding", 0.4, 1},
                       [PHASE_STICKING] = {"sticking", 0.7, 0},
                       [PHASE_CLOSED]   = {"closed", 0.7, 1},
                       [PHASE_STEPPED]  = {"stepping", 0.55, 3}};

/* Writes a box for each interval of each phase: x, y, and the ends of both. */
static void write_bars(FILE *script, const Panel *panel, RunPhase phase) {
  const double half = looks[phase].height / 2;
  fprintf(script, "$%s%d << EOD\n", panel->id, (int)phase);
  for (int c = 0; c < panel->ncurves; c++) {
    const PhaseBar *bar = &panel->phases->bar[panel->curve[c].column];
    const double y      = panel->ncurves - c;
    for (int i = 0; i < bar->count; i++) {
      const PhaseChange *change = &bar->change[i];
      const double end          = i + 1 < bar->count ? bar->change[i + 1].t : panel->to;
      if (change->phase == phase)
        fprintf(script, "%.10g %g %.10g %.10g %g %g\n", change->t, y, change->t, end, y - half,
                y + half);
    }
  }
  fprintf(script, "EOD\n");
}

static void write_bar_axes(FILE *script, const Theme *theme, const Panel *panel) {
  enum { MOST_LETTERS = 14 };
  size_t longest = 0;
  fprintf(script, "set ytics (");
  for (int c = 0; c < panel->ncurves; c++) {
    char name[PANEL_NAME];
    const bool cut = strlen(panel->curve[c].name) > MOST_LETTERS;
    snprintf(name, sizeof name, "%.*s%s", cut ? MOST_LETTERS - 2 : MOST_LETTERS,
             panel->curve[c].name, cut ? ".." : "");
    if (strlen(name) > longest) longest = strlen(name);
    if (c) fputs(", ", script);
    gnuplot_tic(script, name);
    fprintf(script, " %d", panel->ncurves - c);
  }
  fprintf(script, ")\nset yrange [0.4:%g]\nset lmargin %d\nunset ylabel\n", panel->ncurves + 0.6,
          (int)longest + 2 > theme->left_margin ? (int)longest + 2 : theme->left_margin);
}

static void plot_bars(FILE *script, const Theme *theme, const Panel *panel) {
  const char *separator = "plot";
  fprintf(script, "set key samplen 1\n");
  for (int k = 0; k < NUM_PHASES; k++)
    if (has_phase(panel, (RunPhase)k)) write_bars(script, panel, (RunPhase)k);
  write_bar_axes(script, theme, panel);
  for (int k = 0; k < NUM_PHASES; k++) {
    if (!has_phase(panel, (RunPhase)k)) continue;
    const char *colour = looks[k].colour < 0 ? theme->event : theme->colour(looks[k].colour);
    fprintf(script,
            "%s $%s%d using 1:2:3:4:5:6 with boxxyerror fillstyle solid 1 border rgb '%s' lw 0.5 "
            "lc rgb '%s' title '%s'",
            separator, panel->id, k, colour, colour, looks[k].name);
    separator = ",";
  }
  fprintf(script, "\nset key samplen %g\n", key_sample);
}

/* ------------------------------------------------------------------------------------- commands -- */

static void write_events(FILE *script, const Theme *theme, const History *history) {
  const long kept   = history->events < HISTORY_EVENTS ? history->events : HISTORY_EVENTS;
  const long stride = kept / MOST_EVENTS + 1;
  for (long i = 0; i < kept; i += stride)
    fprintf(
        script,
        "set arrow from %.8g, graph 0 to %.8g, graph 1 nohead back lc rgb '%s' lw 0.7 dt (4,3)\n",
        history->event[i].t, history->event[i].t, theme->event);
}

void panels_begin(FILE *script, const Theme *theme, const History *history) {
  double from, to;
  history_times(history, &from, &to);
  fprintf(script, "set border 3 lc rgb '%s'\nset tics nomirror scale 0.6,0 textcolor rgb '%s'\n",
          theme->ink, theme->ink);
  fprintf(script, "set grid lt 1 lc rgb '%s' lw 0.6\n", theme->faint);
  fprintf(script,
          "set key above left horizontal Left reverse samplen %g noenhanced textcolor rgb '%s'\n",
          key_sample, theme->ink);
  fprintf(script, "set xrange [%.10g:%.10g]\nset format x '%%g'\nset lmargin %d\nset rmargin 2\n",
          from, to, theme->left_margin);
  write_events(script, theme, history);
}

/* The least and the largest value of all curves */
static void find_range(const Panel *panel, double *least, double *most) {
  *least = INFINITY, *most = -INFINITY;
  for (int i = 0; i < panel->ncurves; i++) {
    *least = fmin(*least, panel->curve[i].least);
    *most  = fmax(*most, panel->curve[i].most);
  }
}

enum { USUAL_DIGITS = 6 };

/* Enough digits to distinguish ticks: a tenth of the range beside the largest value. %g drops
 * trailing zeros. */
static int tick_digits(const Panel *panel) {
  enum { MOST = 15 };
  double least, most;
  find_range(panel, &least, &most);
  const double part = (most - least) / 10, size = fmax(fabs(least), fabs(most));
  if (!(part > 0) || !isfinite(size)) return USUAL_DIGITS;
  const int digits = 2 + (int)floor(log10(size)) - (int)floor(log10(part));
  return digits < USUAL_DIGITS ? USUAL_DIGITS : digits > MOST ? MOST : digits;
}

/* The length in letters of the numbers at the ticks, for steps like gnuplot's: 1, 2 or 5 times a
 * power of ten. */
static int tick_letters(const Panel *panel, int digits) {
  enum { FEWEST_TICKS = 5, MOST_TICKS = 30 };
  double least, most;
  int longest = 0;
  find_range(panel, &least, &most);
  if (!(most > least)) return longest;
  const double power = pow(10, floor(log10((most - least) / FEWEST_TICKS)));
  const double part  = (most - least) / FEWEST_TICKS / power;
  const double step  = power * (part >= 5 ? 5 : part >= 2 ? 2 : 1);
  const double first = floor(least / step);
  for (int i = 0; i < MOST_TICKS && (first + i - 1) * step < most; i++) {
    char text[NUMBER_TEXT];
    const int letters = snprintf(text, sizeof text, "%.*g", digits, (first + i) * step);
    if (letters > longest) longest = letters;
  }
  return longest;
}

/* With powers of ten alone, an axis of one or two decades would have one or two ticks; it gets 1, 2
 * and 5 in each decade. */
static void write_short_decades(FILE *script, const Panel *panel) {
  static const double mantissa[] = {1, 2, 5};
  static const int most_decades  = 2;
  double least, most;
  find_range(panel, &least, &most);
  if (!(least > 0) || !isfinite(most) || most > least * pow(10, most_decades)) return;
  const int from = (int)floor(log10(least)), to = (int)floor(log10(most)) + 1;
  double below = least, above = most;
  fprintf(script, "set ytics (");
  for (int decade = from, ticks = 0; decade <= to; decade++)
    for (int k = 0; k < 3; k++, ticks++) {
      const double value = mantissa[k] * pow(10, decade);
      fprintf(script, "%s'%ge%d' %.3g", ticks ? ", " : "", mantissa[k], decade, value);
      if (value <= least) below = value;
      if (value >= most && above == most) above = value;
    }
  fprintf(script, ")\nset yrange [%.10g:%.10g]\n", below, above);
}

static void write_time_axis(FILE *script, const Theme *theme, const Panel *panel, bool timed) {
  if (timed)
    fprintf(script, "set xlabel '%s' offset 0,0.6 textcolor rgb '%s'\n", panel->time_axis,
            theme->ink);
  else fprintf(script, "unset xlabel\n");
}

static void write_axes(FILE *script, const Theme *theme, const Panel *panel) {
  fprintf(script, "set ylabel ");
  gnuplot_string(script, panel->axis);
  fprintf(script, " textcolor rgb '%s'\n", theme->ink);
  enum { LABEL = 4 }; /* letters for the axis's name and its distance from the numbers */
  const int digits = tick_digits(panel), wider = digits > USUAL_DIGITS ? digits - 4 : 0;
  const int letters = panel->logarithmic ? 0 : tick_letters(panel, digits) + LABEL;
  const int usual   = theme->left_margin + wider;
  fprintf(script, "set lmargin %d\nset ytics autofreq\nunset logscale y\n",
          letters > usual ? letters : usual);
  fprintf(script, "set format y '%%.%dg'\nset yrange [*:*]\n", digits);
  if (panel->logarithmic) fprintf(script, "set logscale y\nset format y '1e%%T'\n");
  if (panel->logarithmic && !(panel->foot > 0)) write_short_decades(script, panel);
  if (panel->foot > 0)
    fprintf(script, "set yrange [%.3g:*]\nset ytics add ('0' %.3g)\n", panel->foot, panel->foot);
  if (!strcmp(panel->id, "orders"))
    fprintf(script, "set yrange [0:%.3g]\nset ytics 1\n", panel->curve[0].most + 1);
}

static void write_curve(FILE *script, const Theme *theme, const Panel *panel, int i) {
  const Curve *curve = &panel->curve[i];
  const char *colour = theme->colour(i);
  char title[2 * PANEL_NAME];
  const bool says_unit = curve->unit[0] && !strchr(panel->axis, '[');
  const bool cut       = strlen(curve->name) > (size_t)theme->most_letters;
  snprintf(title, sizeof title, says_unit ? "%.*s%s [%s]" : "%.*s%s", theme->most_letters,
           curve->name, cut ? "..." : "", curve->unit);
  fprintf(script, "%s $%s%d using 1:2 with ", i ? ", " : "plot", panel->id, i);
  if (curve->kind != CURVE_LINE && curve->kind != CURVE_STAIRS)
    fprintf(script, "points pt %d ps %s lc rgb '%s'", gnuplot_point(i),
            curve->kind == CURVE_POINTS ? "0.35" : "0.7", colour);
  else
    fprintf(script, "%s lw 1.8 dt %s lc rgb '%s'", curve->kind == CURVE_STAIRS ? "steps" : "lines",
            gnuplot_dashes(i), colour);
  fprintf(script, " title ");
  gnuplot_string(script, title);
}

void panel_plot(FILE *script, const Theme *theme, const Panel *panel, bool timed) {
  write_time_axis(script, theme, panel, timed);
  if (has_bars(panel)) {
    plot_bars(script, theme, panel);
    return;
  }
  for (int i = 0; i < panel->ncurves; i++) write_data(script, theme, panel, i);
  write_axes(script, theme, panel);
  for (int i = 0; i < panel->ncurves; i++) write_curve(script, theme, panel, i);
  fprintf(script, "\n");
}
