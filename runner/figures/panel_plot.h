/* Writes a panel as gnuplot commands. */
#ifndef CPODES_RUNNER_PANEL_PLOT_H
#define CPODES_RUNNER_PANEL_PLOT_H

#include "panels.h"

/* The colours and the limits of a drawing */
typedef struct {
  const char *ink, *faint, *event; /* of text and axes; of the grid; of events */
  const char *paper;               /* of the background */
  const char *(*colour)(int i);    /* of curve i */
  int most_rows; /* of a curve; more rows are thinned to their least and largest values */
  int most_points;
  int left_margin;  /* in letters */
  int most_letters; /* of a curve's name; longer names are cut */
} Theme;

/* On white */
extern const Theme paper_theme;

/* Commands that all panels share, to be written before the first. */
void panels_begin(FILE *script, const Theme *theme, const History *history);
/* Writes data and plot command. timed: the time axis has a label. */
void panel_plot(FILE *script, const Theme *theme, const Panel *panel, bool timed);

#endif
