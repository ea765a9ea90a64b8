/* The mechanisms of examples/models as the benchmarks run them: functions, start, end and reference. */
#ifndef CPODES_BENCH_MECHANISMS_H
#define CPODES_BENCH_MECHANISMS_H

#include <cpodes/cpodes.h>
#include <cpodes/cpodes_mechanics.h>
#include <models/andrews.h>
#include <models/bending_chain.h>
#include <models/bushing_crank.h>
#include <models/car_axis.h>
#include <models/chain.h>
#include <models/flexible_crank.h>
#include <models/knife_edge.h>
#include <models/pendulum.h>
#include <models/slider_crank.h>

typedef struct {
  const char *name;
  sunindextype n, m;      /* length of y and c */
  CVRhsFn f;              /* y' = f(t, y); NULL: only as mechanical system */
  CPConstraintFn c;       /* 0  = c(t, y)   */
  CPConstraintJacFn G;    /* G  = dc/dy     */
  void *data;             /* the user_data of f, c and G */
  sunrealtype t_end;      /* start at 0 */
  N_Vector y0;            /* start */
  N_Vector y_end;         /* reference at t_end */
  CPMechModel model;      /* the same as mechanical system; nu = 0: it is none */
  void *model_data;       /* its user data */
  sunindextype ncompared; /* components of the state with a reference; 0: all */

  /* the parameters that data points to */
  Pendulum pendulum;
  SliderCrank slider_crank;
  CarAxis car_axis;
  KnifeEdge knife_edge;
  BushingCrank bushing_crank;
  FlexibleCrank flexible_crank;
  BendingChain *bending; /* the chain, with or without springs; NULL: no chain */
  Chain *chain;          /* NULL: no chain, and no hand-written projection for CVODES' own hook */
} Mechanism;

/* name: pendulum, slider_crank, car_axis, knife_edge, andrews, chainN with N = 1, 2, 3, 10 or 100 masses; without
   reference bushing_crank, flexible_crank, bending_chain (20 masses). Ends the program if there is none, or if its
   reference does not converge. */
Mechanism *mechanism_create(const char *name, SUNContext ctx);
void mechanism_free(Mechanism **mechanism);

/* max_i |y_i - reference_i| at t_end, and over the positions only: the first half of the state */
sunrealtype mechanism_error(const Mechanism *mechanism, N_Vector y);
sunrealtype mechanism_position_error(const Mechanism *mechanism, N_Vector y);

#endif
