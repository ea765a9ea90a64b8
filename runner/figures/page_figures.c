/* Figures of a report: one run of gnuplot makes all of them, as consecutive SVG documents. */
#include "figures.h"

#include "../options.h"
#include "gnuplot.h"
#include "page_svg.h"
#include "panel_plot.h"
#include "picture.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  WIDTH     = 480, /* letters remain legible on a phone, where a figure is two thirds as wide */
  HEIGHT    = 320,
  FONT      = 16,
  MOST_ROWS = 400 /* for the time cursor */
};

static const Theme page_theme = {.ink          = page_ink,
                                 .faint        = page_faint,
                                 .event        = page_event,
                                 .paper        = page_paper,
                                 .colour       = page_colour,
                                 .most_rows    = 700,
                                 .most_points  = 300,
                                 .left_margin  = 9,
                                 .most_letters = 32};

/* Names of many curves take rows above the panel. */
static int height_of(const Panel *panel) {
  enum { BARS = 170, BAR = 32 }; /* axes and names of phases, and each bar */
  if (has_bars(panel)) return BARS + BAR * panel->ncurves;
  return HEIGHT + (panel->ncurves > 2 ? 10 * panel->ncurves : 0);
}

static void set_terminal(FILE *script, int height) {
  fprintf(script, "set terminal svg noenhanced size %d,%d font 'sans-serif,%d'\n", WIDTH, height,
          FONT);
}

static void write_script(FILE *script, const History *history, const Panel *panels, int count,
                         bool picture) {
  fprintf(script, "set encoding utf8\n");
  for (int i = 0; i < count; i++) {
    set_terminal(script, height_of(&panels[i])); /* again: a document ends where a terminal ends */
    if (i == 0) panels_begin(script, &page_theme, history);
    fprintf(script, "set bmargin 3.2\n");
    panel_plot(script, &page_theme, &panels[i], true);
    fprintf(script,
            "set print '-'\n" /* after the document */
            "print sprintf('<!--box %%.10g %%.10g %%.10g %%.10g %%.10g %%.10g %%.10g %%.10g-->', "
            "GPVAL_TERM_XMIN, GPVAL_TERM_XMAX, GPVAL_TERM_YMIN, GPVAL_TERM_YMAX, GPVAL_X_MIN, "
            "GPVAL_X_MAX, GPVAL_Y_MIN, GPVAL_Y_MAX)\nset print\n");
  }
  if (!picture) return;
  fprintf(script, "reset\nset encoding utf8\n");
  set_terminal(script, picture_height(history, WIDTH));
  picture_plot(script, &page_theme, history);
}

void figure_free(Figure *figure) {
  free(figure->svg);
  free(figure->data);
}

/* The changes of each bar: their times and phases. */
static json_t *bars_of(const Panel *panel) {
  json_t *bars = json_array();
  for (int c = 0; c < panel->ncurves; c++) {
    const PhaseBar *bar = &panel->phases->bar[panel->curve[c].column];
    json_t *times = json_array(), *phases = json_array();
    for (int i = 0; i < bar->count; i++) {
      json_array_append_new(times, json_real(bar->change[i].t));
      json_array_append_new(phases, json_integer(bar->change[i].phase));
    }
    json_array_append_new(bars, json_pack("{s:s, s:o, s:o}", "name", panel->curve[c].name, "t",
                                          times, "phase", phases));
  }
  return bars;
}

/* Adds rows of time, and the values of the curves there. */
static void add_curves(const Panel *panel, json_t *data) {
  const Rows *rows  = panel->rows;
  const long stride = rows->rows / MOST_ROWS + 1;
  json_t *times = json_array(), *curves = json_array();
  for (int c = -1; c < panel->ncurves; c++) {
    const Curve *curve = c < 0 ? NULL : &panel->curve[c];
    if (curve && (curve->kind == CURVE_MARKS || curve->kind == CURVE_LAST)) continue;
    json_t *values = curve ? json_array() : times;
    for (long i = 0; i < rows->rows; i++) {
      if (i % stride && i + 1 < rows->rows) continue;
      const double value = curve ? curve_value(panel, curve, i) : rows->data[i * rows->width];
      json_array_append_new(values, isfinite(value) ? json_real(value) : json_null());
    }
    if (curve)
      json_array_append_new(curves, json_pack("{s:s, s:s, s:i, s:o}", "name", curve->name, "unit",
                                              curve->unit, "colour", c + 1, "values", values));
  }
  json_object_set_new(data, "t", times);
  json_object_set_new(data, "curves", curves);
}

static void add_bars(const Panel *panel, json_t *data) {
  json_t *words = json_array();
  for (int k = 0; k < NUM_PHASES; k++) json_array_append_new(words, json_string(phase_name(k)));
  json_object_set_new(data, "words", words);
  json_object_set_new(data, "bars", bars_of(panel));
}

/* Returns the curves or bars of a panel and its box, which follows its document in the text, or
 * NULL if out of memory or without a box. */
static char *panel_data(const Panel *panel, const char *text) {
  enum { CURVE_DIGITS = 7, BAR_DIGITS = 10 };
  double x[4], from[2], to[2];
  const char *box = strstr(text, "<!--box ");
  if (!box || sscanf(box, "<!--box %lf %lf %lf %lf %lf %lf %lf %lf", &x[0], &x[1], &x[2], &x[3],
                     &from[0], &to[0], &from[1], &to[1]) != 8)
    return NULL;
  json_t *data = json_pack("{s:[f,f,f,f], s:[f,f], s:[f,f], s:b, s:s}", "box", x[0], x[1],
                           height_of(panel) - x[2], height_of(panel) - x[3], "x", from[0], to[0],
                           "y", from[1], to[1], "logarithmic", panel->logarithmic, "unit",
                           strchr(panel->time_axis, '[') ? "s" : "");
  if (!data) return NULL;
  if (has_bars(panel)) add_bars(panel, data);
  else add_curves(panel, data);
  const size_t digits = has_bars(panel) ? BAR_DIGITS : CURVE_DIGITS;
  char *dump          = json_dumps(data, JSON_COMPACT | JSON_REAL_PRECISION(digits));
  json_decref(data);
  return dump;
}

static int take_figures(const char *text, const Panel *panels, int count, const History *history,
                        bool picture, Figure *figures) {
  for (int i = 0; i < count + picture; i++) {
    Figure *f          = &figures[i];
    const Panel *panel = i < count ? &panels[i] : NULL;
    snprintf(f->id, sizeof f->id, "%s", panel ? panel->id : "motion");
    snprintf(f->title, sizeof f->title, "%s", panel ? panel->title : "The motion at some moments");
    snprintf(f->caption, sizeof f->caption, "%s",
             panel
                 ? panel->caption
                 : "The same time passes between two moments, pale at first and dark at the end.");
    if (panel) snprintf(f->description, sizeof f->description, "%s", panel->description);
    else picture_describe(history, f->description, sizeof f->description);
    f->svg  = page_svg(&text, f->id);
    f->data = f->svg && panel ? panel_data(panel, text) : NULL;
    if (f->svg && (f->data || !panel)) continue;
    complain("report: gnuplot's figure \"%s\" is not complete", f->id);
    for (; i >= 0; i--) figure_free(&figures[i]);
    return -1;
  }
  return count + picture;
}

/* Returns the number of figures, or -1 after a complaint */
static int make(FILE *script, const Panel *panels, int count, const History *history, bool picture,
                Figure *figures) {
  size_t length;
  write_script(script, history, panels, count, picture);
  char *text     = gnuplot_text(script, "report", &length);
  const int made = text ? take_figures(text, panels, count, history, picture, figures) : -1;
  free(text);
  return made;
}

int figures_for_page(const History *history, Figure *figures, int most) {
  Panel *panels = calloc(PANELS, sizeof *panels);
  FILE *script  = tmpfile();
  int made      = -1;
  if (!panels || !script) complain("report: there is no memory or no temporary file");
  else {
    int count          = panels_create(history, panels);
    const bool picture = picture_possible(history) && most > 0;
    if (count > most - picture) count = most - picture;
    made = count + picture > 0 ? make(script, panels, count, history, picture, figures) : 0;
  }
  if (script) fclose(script);
  free(panels);
  return made;
}
