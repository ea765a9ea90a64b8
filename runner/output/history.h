/* A run kept in bounded memory, for figures and the report: of long runs every second, fourth, ... sample and step. */
#ifndef CPODES_RUNNER_HISTORY_H
#define CPODES_RUNNER_HISTORY_H

#include "../simulation/records.h"
#include "phases.h"
#include "rows.h"

enum {
  HISTORY_ROWS   = 2000, /* most samples for curves */
  HISTORY_STEPS  = 4000, /* most steps */
  HISTORY_FRAMES = 600,  /* most frames; fewer of large drawings */
  HISTORY_EVENTS = 1000
};

typedef struct {
  Listener listener;
  const RunInfo *info; /* valid from begin to run_info_free */
  /* which are kept: components of q, u and lambda, contacts for gaps and phases; spread evenly where there are more than RUN_CURVES */
  long q[RUN_CURVES], u[RUN_CURVES], lambda[RUN_CURVES], gap[RUN_CURVES], phase[RUN_CURVES];
  int nq, nu, nlambda, ngap, nphase;
  /* a row: t, nq of q, nu of u, nlambda of lambda, quantities, ngap gaps, NUM_LEVELS violations (largest of those merged) */
  Rows curves;
  /* In curves and frames the first row is the start, the last one the newest sample; none before the first sample. */
  Rows frames; /* a row: t, 3 npoints coordinates, 6 narrows of forces; bounded by the numbers in all, too */
  Rows differences; /* a row: t, estimated error; none without an estimate */
  Rows steps;       /* a row: t, h, order, rejected attempts (sum of those merged) */
  RunEvent event[HISTORY_EVENTS];
  long events;   /* seen, perhaps more than are kept */
  Phases phases; /* of all contacts */
  double *last;  /* [n] newest state */
  double last_t;
  double *first_quantity, *last_quantity, *least_quantity; /* [nquantities] */
  /* [nquantities]; |drift| from the first; rise above the least before; largest minus least; NaN if the quantity was NaN once */
  double *most_drift, *most_rise, *most_spread;
  /* largest, and its t; NaN: no such level, or it could be evaluated nowhere */
  double most_violation[NUM_LEVELS], when[NUM_LEVELS];
  long unevaluated; /* samples at which violations or multipliers could not be evaluated */
  RunResult result;
  bool ended;
} History;

/* Memory is allocated when it begins; history_free in any case */
void history_create(History *history);
void history_free(History *history);

/* Where in a row of curves each part begins */
long history_column_u(const History *history);
long history_column_lambda(const History *history);
long history_column_quantity(const History *history);
long history_column_gap(const History *history);
long history_column_violation(const History *history);

#endif
