/* The mechanism at some moments in one picture, pale at first, dark at the end. */
#ifndef CPODES_RUNNER_PICTURE_H
#define CPODES_RUNNER_PICTURE_H

#include "panel_plot.h"

/* Has the run a drawing? */
bool picture_possible(const History *history);
/* Height that suits the motion in a figure so wide */
int picture_height(const History *history, int width);
/* The commands of gnuplot's, without terminal and title */
void picture_plot(FILE *script, const Theme *theme, const History *history);
/* In words, for those who do not see it */
void picture_describe(const History *history, char *text, size_t length);

#endif
