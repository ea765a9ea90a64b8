/* A run in bounded memory, for figures and the report: of long runs, every second, fourth, ...
 * sample and step is kept. */
#ifndef CPODES_RUNNER_HISTORY_H
#define CPODES_RUNNER_HISTORY_H

#include "../simulation/records.h"
#include "phases.h"
#include "rows.h"

enum {
  HISTORY_ROWS    = 2000, /* most samples for curves */
  HISTORY_STEPS   = 4000, /* most steps */
  HISTORY_FRAMES  = 600,  /* most frames; fewer for large drawings */
  HISTORY_EVENTS  = 1000,
  HISTORY_CHANGES = 20
};

typedef struct {
  Listener listener;
  const RunInfo *info; /* valid from begin to run_info_free */
  /* Indices of what is kept: components of q, u and lambda, contacts for gaps and phases. They are
   * evenly spaced if there are more than RUN_CURVES. */
  long q[RUN_CURVES], u[RUN_CURVES], lambda[RUN_CURVES], gap[RUN_CURVES], phase[RUN_CURVES];
  int nq, nu, nlambda, ngap, nphase;
  /* A row: t, nq of q, nu of u, nlambda of lambda, quantities, ngap gaps, NUM_LEVELS violations
   * (the largest of merged rows). */
  Rows curves;
  /* In curves and frames the first row is the start and the last one the newest sample; they are
   * empty before the first sample. */
  /* A row: t, 3 npoints coordinates, 6 narrows of forces. The total number of values is bounded,
   * too. */
  Rows frames;
  Rows differences; /* a row: t, estimated error; empty without an estimate */
  Rows steps;       /* a row: t, h, order, rejected attempts (the sum of merged rows) */
  RunEvent event[HISTORY_EVENTS];
  long events; /* seen; there may be more than are kept */
  /* The first changes of the method, which are no events of the motion, and their number */
  RunEvent change[HISTORY_CHANGES];
  long changes;
  Phases phases; /* of all contacts */
  double *last;  /* [n] the newest state */
  double last_t;
  double *first_quantity, *last_quantity, *least_quantity; /* [nquantities] */
  /* [nquantities] largest |drift| from the first value; largest rise above the least value before;
   * largest minus least. NaN if the quantity was NaN once. */
  double *most_drift, *most_rise, *most_spread;
  double *least_at, *most_at; /* [nquantities] the times of the least and of the largest value */
  /* The largest violation and its t; NaN if the level does not exist, or could not be evaluated
   * anywhere. */
  double most_violation[NUM_LEVELS], when[NUM_LEVELS];
  Scales scales;    /* zeros, with NaN for quantities, if the run did not end by itself */
  double *sizes;    /* [3 nquantities] the arrays of scales */
  long unevaluated; /* samples at which violations or multipliers could not be evaluated */
  RunResult result;
  bool ended;
} History;

/* history_create allocates nothing; the begin of the run does. Call history_free in any case. */
void history_create(History *history);
void history_free(History *history);

/* The column where each part of a row of curves begins. */
long history_column_u(const History *history);
long history_column_lambda(const History *history);
long history_column_quantity(const History *history);
long history_column_gap(const History *history);
long history_column_violation(const History *history);

#endif
