/* Figures of a report: all by one run of gnuplot, whose SVG documents follow each other. */
#define _GNU_SOURCE /* open_memstream */
#include "figures.h"

#include "../options.h"
#include "gnuplot.h"
#include "page_svg.h"
#include "panel_plot.h"
#include "picture.h"

#include <stdlib.h>
#include <string.h>

enum {
  WIDTH  = 600,
  HEIGHT = 360,
  FONT   = 16
}; /* still legible on a phone, where it is half as wide */

static const Theme page_theme = {.ink         = page_ink,
                                 .faint       = page_faint,
                                 .event       = page_event,
                                 .paper       = page_paper,
                                 .colour      = page_colour,
                                 .most_rows   = 700,
                                 .most_points = 300,
                                 .left_margin = 10};

static void set_terminal(FILE *script, int height) {
  fprintf(script, "set terminal svg noenhanced size %d,%d font 'sans-serif,%d'\n", WIDTH, height,
          FONT);
}

static void write_script(FILE *script, const History *history, const Panel *panels, int count,
                         bool picture) {
  fprintf(script, "set encoding utf8\n");
  for (int i = 0; i < count; i++) {
    set_terminal(script, HEIGHT); /* anew: a document ends where a terminal does */
    if (i == 0) panels_begin(script, &page_theme, history);
    fprintf(script, "set bmargin 3.2\n");
    panel_plot(script, &page_theme, &panels[i], true);
  }
  if (!picture) return;
  fprintf(script, "reset\nset encoding utf8\n");
  set_terminal(script, picture_height(history, WIDTH));
  picture_plot(script, &page_theme, history);
}

static int take_figures(const char *text, const Panel *panels, int count, const History *history,
                        bool picture, Figure *figures) {
  for (int i = 0; i < count + picture; i++) {
    Figure *f          = &figures[i];
    const Panel *panel = i < count ? &panels[i] : NULL;
    snprintf(f->id, sizeof f->id, "%s", panel ? panel->id : "motion");
    snprintf(f->title, sizeof f->title, "%s", panel ? panel->title : "The motion at some moments");
    if (panel) snprintf(f->description, sizeof f->description, "%s", panel->description);
    else picture_describe(history, f->description, sizeof f->description);
    f->svg = page_svg(&text, f->id);
    if (f->svg) continue;
    complain("report: gnuplot's figure \"%s\" is not complete", f->id);
    while (i-- > 0) free(figures[i].svg);
    return -1;
  }
  return count + picture;
}

/* Returns the number of figures, or -1 after a complaint */
static int make(FILE *script, const Panel *panels, int count, const History *history, bool picture,
                Figure *figures) {
  char *text    = NULL;
  size_t length = 0;
  int made      = -1;
  FILE *out     = open_memstream(&text, &length);
  if (!out) return -1;
  write_script(script, history, panels, count, picture);
  const int flag = gnuplot_run(script, out, "report");
  if (!fclose(out) && !flag) made = take_figures(text, panels, count, history, picture, figures);
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
