/* The curves of a run over time, by panel, and their description in words. */
#ifndef CPODES_RUNNER_PANELS_H
#define CPODES_RUNNER_PANELS_H

#include "../output/history.h"

enum {
  PANELS        = 7 + 5 * RUN_CURVES,
  PANEL_NAME    = 100,
  PANEL_CAPTION = 200,
  PANEL_TEXT    = 2 * RUN_TEXT
};

typedef enum {
  CURVE_LINE,
  CURVE_STAIRS,
  CURVE_POINTS, /* the largest of each bundle of rows */
  CURVE_BAR,    /* phases of a contact, whose number is the column */
  CURVE_MARKS,  /* where something happened, above the other curves */
  CURVE_LAST    /* only the last row */
} CurveKind;

typedef struct {
  char name[PANEL_NAME]; /* "phi" */
  char unit[24];         /* "rad"; "": none, or unknown */
  CurveKind kind;
  long column; /* of the rows' data */
  /* value = (column - offset) factor; on a logarithmic axis, its absolute value. */
  double offset, factor;
  /* Finite values; most is reached at t = when. */
  double first, last, least, most, when;
} Curve;

typedef struct {
  char id[24];                 /* "velocities" */
  char title[80];              /* "Velocities" */
  const char *time_axis;       /* "t [s]" */
  char axis[80];               /* "velocity [rad/s]" */
  char caption[PANEL_CAPTION]; /* what to look for; may be "" */
  char description[PANEL_TEXT];
  const Rows *rows;     /* NULL for bars */
  const Phases *phases; /* of bars, from `from` to `to` */
  double from, to;
  bool logarithmic;
  double foot; /* of a logarithmic axis: where zero is shown; 0: no value is zero */
  Curve curve[RUN_CURVES];
  int ncurves;
  long all; /* total number of curves, of which these are some; 0 if all are shown */
} Panel;

/* Makes the panels [PANELS] of the run that have a finite number. Returns how many. */
int panels_create(const History *history, Panel *panels);

/* Does the panel have bars instead of curves? */
bool has_bars(const Panel *panel);
/* Does a contact of the bars ever have this phase? */
bool has_phase(const Panel *panel, RunPhase phase);

/* The value of a curve in row i; NaN if there is none. */
double curve_value(const Panel *panel, const Curve *curve, long i);
/* The first and the last time; from < to. */
void history_times(const History *history, double *from, double *to);

#endif
