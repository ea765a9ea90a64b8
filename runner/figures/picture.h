/* One picture of the mechanism at several moments, pale at first, dark at the end. */
#ifndef CPODES_RUNNER_PICTURE_H
#define CPODES_RUNNER_PICTURE_H

#include "panel_plot.h"

/* Does the run have a drawing? */
bool picture_possible(const History *history);
/* The height that suits the motion in a figure of this width. */
int picture_height(const History *history, int width);
/* Writes the gnuplot commands, without terminal and title. */
void picture_plot(FILE *script, const Theme *theme, const History *history);
/* Describes the picture in words, for those who cannot see it. */
void picture_describe(const History *history, char *text, size_t length);

#endif
