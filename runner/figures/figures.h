/* Figures of a run, by gnuplot. */
#ifndef CPODES_RUNNER_FIGURES_H
#define CPODES_RUNNER_FIGURES_H

#include "../output/history.h"

/* Is gnuplot there? */
bool figures_possible(void);

/* One file with the panels of the run: coordinates, quantities, violations, steps. The suffix of path says the format:
   .svg, .png or .pdf. 0, or a complaint and -1 */
int figure_write(const History *history, const char *path);
/* Is the suffix one of those, and gnuplot there? Complains if not: 0 or -1 */
int figure_check_path(const char *option, const char *path);

/* The mechanism at some moments in one picture, with the paths of its moving points */
int picture_write(const History *history, const char *path);

/* For the report: SVG elements, as gnuplot writes them, for use inside of a page: one for each figure that the run has,
   in one run of gnuplot. Their ids begin with that of the figure. Text and axes have currentColor; the page may define
   --c1 ... --c8 (curves), --figure-grid, --figure-event, and --figure-paper (its background). */
typedef struct {
  char id[24];                    /* "velocities" */
  char title[80];                 /* "Velocities" */
  char caption[200];              /* what to look for, in a sentence; "": nothing */
  char description[2 * RUN_TEXT]; /* in words, for those who do not see it: names, ranges, what to look for */
  char *svg;                      /* <svg ...>...</svg> */
  char *data; /* its curves and where they are, in JSON; NULL: it is not one over time */
} Figure;

/* Frees svg and data */
void figure_free(Figure *figure);

/* figures [most]: out, the caller frees each (figure_free). Returns their number, -1: gnuplot failed */
int figures_for_page(const History *history, Figure *figures, int most);

#endif
