/* Points and lines of a picture as data blocks of gnuplot's. */
#ifndef CPODES_RUNNER_PICTURE_DATA_H
#define CPODES_RUNNER_PICTURE_DATA_H

#include "panel_plot.h"
#include "view.h"

typedef struct {
  FILE *script;
  const Theme *theme;
  const History *history;
  View view;
} Picture;

/* How many moments are drawn, and the time of each; the last one is the newest */
int picture_moments(const History *history);
double picture_time(const History *history, int moment);

/* $rods<moment>: the segments; $points<moment>_<kind>: the points of a kind */
void picture_write_moment(const Picture *picture, int moment);
/* $path0, $path1, ...: where some of the moving points go; returns their number */
int picture_write_paths(const Picture *picture);

#endif
