/* Work-precision curves: the cost of an accuracy, interpolated between the runs of a method. */
#ifndef CPODES_BENCH_CURVE_H
#define CPODES_BENCH_CURVE_H

typedef struct {
  double error, cost; /* > 0 */
} CurvePoint;

/* Keeps the points that no other one beats in both error and cost, by falling error and strictly
 * rising cost. Returns their number. points [count]: in any order on input; those that are not
 * positive and finite are dropped. */
int curve_envelope(CurvePoint *points, int count);

typedef enum {
  CURVE_INSIDE,   /* interpolated, on logarithmic scales */
  CURVE_AT_MOST,  /* the cheapest run is more accurate than required: its cost is a bound */
  CURVE_NOT_THERE /* no run is that accurate */
} CurvePlace;

/* The cost of an error. points [count]: an envelope */
CurvePlace curve_cost(const CurvePoint *points, int count, double error, double *cost);

#endif
