/* A run kept in bounded memory, for figures and the report: of long runs every second, fourth, ... sample and step. */
#ifndef CPODES_RUNNER_HISTORY_H
#define CPODES_RUNNER_HISTORY_H

#include "../simulation/records.h"

enum {
  HISTORY_CURVES = 8,    /* most coordinates, velocities, multipliers that are drawn, each */
  HISTORY_ROWS   = 2000, /* most samples for curves */
  HISTORY_STEPS  = 4000, /* most steps */
  HISTORY_EVENTS = 1000
};

/* Rows of doubles; full: every second one goes, and from then on only each stride-th is taken */
typedef struct {
  long rows, width, capacity;
  long stride, seen;
  double *data; /* [rows x width] */
} Rows;

typedef struct {
  Listener listener;
  const RunInfo *info; /* valid from begin to run_info_free */
  /* which components are kept: of q, u and lambda, spread evenly where there are more than HISTORY_CURVES */
  long q[HISTORY_CURVES], u[HISTORY_CURVES], lambda[HISTORY_CURVES];
  int nq, nu, nlambda;
  /* a row: t, nq of q, nu of u, nlambda of lambda, quantities, NUM_LEVELS violations (largest of those merged) */
  Rows curves;
  Rows frames; /* a row: t, 3 npoints coordinates; fewer than 600, and bounded by the coordinates in all */
  Rows steps; /* a row: t, h, order, rejected attempts (sum of those merged) */
  RunEvent event[HISTORY_EVENTS];
  long events;  /* seen, perhaps more than are kept */
  double *last; /* [n] newest state */
  double last_t;
  double *first_quantity, *last_quantity, *most_drift; /* [nquantities] */
  double most_violation[NUM_LEVELS], when[NUM_LEVELS]; /* largest, and its t */
  RunResult result;
  bool ended;
} History;

/* 0, or -1 without memory; history_free in any case */
int history_create(History *history);
void history_free(History *history);

/* Where in a row of curves each part begins */
long history_column_u(const History *history);
long history_column_lambda(const History *history);
long history_column_quantity(const History *history);
long history_column_violation(const History *history);

#endif
