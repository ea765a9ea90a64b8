/* The places of the points of a drawing, and their projection onto paper: points in a plane are
 * drawn as they are, others in an isometric view, y up. */
#ifndef CPODES_RUNNER_VIEW_H
#define CPODES_RUNNER_VIEW_H

#include "../output/history.h"

/* Smaller differences, as fractions of the largest extent, are invisible. */
enum { VIEW_LEVELS = 4000 };

/* Bounds of all points at all times, without numbers that are not finite. */
typedef struct {
  double least[3], most[3];
  double extent; /* the largest side; > 0 */
  bool spatial;  /* does z vary visibly? */
} Box;

Box box_of(const History *history);

typedef struct {
  bool spatial;
  double low[2], high[2]; /* bounds of all points at all times, on paper */
  double size;            /* the larger side, > 0 */
} View;

View view_of(const History *history);
/* The names of the axes of points, of which the second points upwards: "xyz" or "yzx". */
const char *axes_of(const History *history);
/* Projects xyz [3] onto paper [2]. */
void view_project(const View *view, const double *xyz, double *paper);
/* The look of segment s: its kind, except that a segment between points of the ground is a guide. */
CPPluginSegmentKind segment_look(const RunInfo *info, int s);
/* The lines of a shape, or of its section with a plane (flat), as coordinates along its half axes;
 * a NaN ends a line. Returns the number of places. */
enum { OUTLINE_MOST = 200 };
int shape_outline(CPShapeKind kind, bool flat, double (*at)[3]);
/* Reorders the places [n], n <= OUTLINE_MOST, so that the first ones are the corners of the convex
 * polygon around all of them. Returns the number of corners. */
int convex_hull(double (*paper)[2], int n);
/* A spring as a zigzag: places along it, from 0 to 1, and across it, from -1 to 1. Returns their
 * number. */
enum { SPRING_MOST = 20 };
int spring_outline(double (*at)[2]);
/* The largest length of 1, 2 or 5 times a power of ten that does not exceed most. */
double nice_length(double most);

#endif
