/* A panel as commands of gnuplot's. */
#ifndef CPODES_RUNNER_PANEL_PLOT_H
#define CPODES_RUNNER_PANEL_PLOT_H

#include "panels.h"

/* Colours, and how much is drawn */
typedef struct {
  const char *ink, *faint, *event; /* of text and axes; of the grid; of events */
  const char *paper;               /* behind all */
  const char *(*colour)(int i);    /* of curve i */
  int most_rows;                   /* of a curve; more are thinned to their least and largest */
  int most_points;
  int left_margin;  /* in letters */
  int most_letters; /* of a curve's name; longer ones are cut */
} Theme;

/* On white */
extern const Theme paper_theme;

/* What all panels share; before the first */
void panels_begin(FILE *script, const Theme *theme, const History *history);
/* Data and plot command. timed: the axis of time has its label */
void panel_plot(FILE *script, const Theme *theme, const Panel *panel, bool timed);

#endif
