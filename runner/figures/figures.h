/* Figures of a run, by gnuplot. */
#ifndef CPODES_RUNNER_FIGURES_H
#define CPODES_RUNNER_FIGURES_H

#include "../output/history.h"

/* Is gnuplot available? */
bool figures_possible(void);

/* Writes one file with the panels of the run: coordinates, quantities, violations, steps. The
 * suffix of path determines the format: .svg, .png or .pdf. Returns 0, or -1 after a complaint. */
int figure_write(const History *history, const char *path);
/* path_take, after a check that the suffix is one of those, and that gnuplot is available. */
int figure_take(const char *option, const char *path, const char **taken);

/* Writes the mechanism at several moments in one picture, with the paths of its moving points. */
int picture_write(const History *history, const char *path);

/* A figure of the report: an SVG element, as gnuplot writes it, for use within a page. One run of
 * gnuplot makes all figures of a run. Their ids begin with that of the figure. Text and axes have
 * currentColor; the page may define --c1 ... --c8 (curves), --figure-grid, --figure-event, and
 * --figure-paper (its background). */
typedef struct {
  char id[24];       /* "velocities" */
  char title[80];    /* "Velocities" */
  char caption[200]; /* what to look for, in a sentence; may be "" */
  /* for those who cannot see the figure: names, ranges, what to look for */
  char description[2 * RUN_TEXT];
  char *svg; /* <svg ...>...</svg> */
  /* The curves and their box, in JSON; NULL if the figure is not one over time. */
  char *data;
} Figure;

/* Frees svg and data */
void figure_free(Figure *figure);

/* figures [most]: out; the caller frees each (figure_free). Returns their number, or -1 if gnuplot
 * failed. */
int figures_for_page(const History *history, Figure *figures, int most);

#endif
