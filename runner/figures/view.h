/* Where the points of a drawing are, and how those in space get onto paper: points in a plane as they are, others by an
 * isometric view, y up. */
#ifndef CPODES_RUNNER_VIEW_H
#define CPODES_RUNNER_VIEW_H

#include "../output/history.h"

enum { VIEW_LEVELS = 4000 }; /* Along the largest extent, nobody sees less than this part of it. */

/* Of all points at all times; numbers that are not finite do not count. */
typedef struct {
  double least[3], most[3];
  double extent; /* the largest side; > 0 */
  bool spatial;  /* Does z vary by more than can be seen? */
} Box;

Box box_of(const History *history);

typedef struct {
  bool spatial;
  double low[2], high[2]; /* of all points at all times, on paper */
  double size;            /* the larger side, > 0 */
} View;

View view_of(const History *history);
/* The names of the axes of points, of which the second one is upwards: "xyz", or "yzx" */
const char *axes_of(const History *history);
/* xyz [3] -> on paper [2] */
void view_project(const View *view, const double *xyz, double *paper);
/* A length of 1, 2 or 5 times a power of ten, at most the given one */
double nice_length(double most);

#endif
