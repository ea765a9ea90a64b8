/* The mechanisms of examples/models as the benchmarks run them: functions, start, end and reference. */
#ifndef CPODES_BENCH_MECHANISMS_H
#define CPODES_BENCH_MECHANISMS_H

#include <cpodes/cpodes.h>
#include <models/car_axis.h>
#include <models/chain.h>
#include <models/knife_edge.h>
#include <models/pendulum.h>
#include <models/slider_crank.h>

typedef struct {
  const char *name;
  sunindextype n, m;   /* length of y and c */
  CVRhsFn f;           /* y' = f(t, y)   */
  CPConstraintFn c;    /* 0  = c(t, y)   */
  CPConstraintJacFn G; /* G  = dc/dy     */
  void *data;          /* the user_data of f, c and G */
  sunrealtype t_end;   /* start at 0 */
  N_Vector y0;         /* start */
  N_Vector y_end;      /* reference at t_end */

  /* the parameters that data points to */
  Pendulum pendulum;
  SliderCrank slider_crank;
  CarAxis car_axis;
  KnifeEdge knife_edge;
  Chain *chain; /* NULL: no chain, and no hand-written projection for CVODES' own hook */
} Mechanism;

/* name: pendulum, slider_crank, car_axis, knife_edge, or chainN with N = 1, 2, 3 or 10 masses. Ends the program
   if there is none, or if its reference does not converge. */
Mechanism *mechanism_create(const char *name, SUNContext ctx);
void mechanism_free(Mechanism **mechanism);

/* max_i |y_i - reference_i| at t_end */
sunrealtype mechanism_error(const Mechanism *mechanism, N_Vector y);

#endif
