#include "curve.h"

#include <math.h>
#include <stdlib.h>

static int by_falling_error(const void *a, const void *b) {
  const CurvePoint *x = a, *y = b;
  if (x->error != y->error) return (x->error < y->error) - (x->error > y->error);
  return (x->cost < y->cost) - (x->cost > y->cost);
}

static int drop_invalid(CurvePoint *points, int count) {
  int valid = 0;
  for (int i = 0; i < count; i++)
    if (points[i].error > 0 && points[i].cost > 0 && isfinite(points[i].error) &&
        isfinite(points[i].cost))
      points[valid++] = points[i];
  return valid;
}

int curve_envelope(CurvePoint *points, int count) {
  const int valid = drop_invalid(points, count);
  int first       = valid; /* of those kept, which are for now at the end of the valid ones */
  qsort(points, (size_t)valid, sizeof *points, by_falling_error);
  for (int i = valid - 1; i >= 0; i--)
    if (first == valid || points[i].cost < points[first].cost) points[--first] = points[i];
  for (int i = first; i < valid; i++) points[i - first] = points[i];
  return valid - first;
}

CurvePlace curve_cost(const CurvePoint *points, int count, double error, double *cost) {
  if (count == 0 || error < points[count - 1].error) return CURVE_NOT_THERE;
  if (error > points[0].error) {
    *cost = points[0].cost;
    return CURVE_AT_MOST;
  }
  int i = 0;
  while (i + 1 < count && points[i + 1].error >= error) i++;
  *cost = points[i].cost;
  if (points[i].error == error) return CURVE_INSIDE;
  const double part = log(points[i].error / error) / log(points[i].error / points[i + 1].error);
  *cost *= pow(points[i + 1].cost / points[i].cost, part);
  return CURVE_INSIDE;
}
