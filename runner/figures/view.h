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
/* What segment s looks like: its kind, and between points of the ground a guide */
CPModelSegmentKind segment_look(const RunInfo *info, int s);
/* The lines of a shape, or of its section with a plane (flat), as coordinates along its half axes; a NaN ends a line. Returns their number. */
enum { OUTLINE_MOST = 200 };
int shape_outline(CPShapeKind kind, bool flat, double (*at)[3]);
/* Reorders the places [n], n at most OUTLINE_MOST, such that the first ones are the corners of the convex polygon around all of
   them; returns the number of corners. */
int convex_hull(double (*paper)[2], int n);
/* A spring as a zigzag: places along it, from 0 to 1, and across it, from -1 to 1. Returns their number. */
enum { SPRING_MOST = 20 };
int spring_outline(double (*at)[2]);
/* A length of 1, 2 or 5 times a power of ten, at most the given one */
double nice_length(double most);

#endif
