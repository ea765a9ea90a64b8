/* What is drawn of a run, and what is to be said of it: curves over time, by panel. */
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
  CURVE_POINTS, /* of each bundle of rows the largest */
  CURVE_BAR,    /* phases of a contact, whose number is the column */
  CURVE_MARKS,  /* where something happened, above the other curves */
  CURVE_LAST    /* the last row only */
} CurveKind;

typedef struct {
  char name[PANEL_NAME]; /* "phi" */
  char unit[24];         /* "rad"; "": none, or not known */
  CurveKind kind;
  long column;           /* of the rows */
  double offset, factor; /* value = (column - offset) factor; its size on a logarithmic axis */
  double first, last, least, most, when; /* finite ones; most is at t = when */
} Curve;

typedef struct {
  char id[24];                 /* "velocities" */
  char title[80];              /* "Velocities" */
  const char *time_axis;       /* "t [s]" */
  char axis[80];               /* "velocity [rad/s]" */
  char caption[PANEL_CAPTION]; /* what to look for; "": nothing */
  char description[PANEL_TEXT];
  const Rows *rows;     /* NULL: bars */
  const Phases *phases; /* of bars, from `from` to `to` */
  double from, to;
  bool logarithmic;
  double foot; /* of a logarithmic axis: where zero is shown; 0: nothing is zero */
  Curve curve[RUN_CURVES];
  int ncurves;
  long all; /* so many there are of which these are some; 0 if all are shown */
} Panel;

/* The panels [PANELS] that the run has: those with a finite number; returns how many */
int panels_create(const History *history, Panel *panels);

/* Are there bars in place of curves? */
bool has_bars(const Panel *panel);
/* Does a contact of the bars have this phase anywhere? */
bool has_phase(const Panel *panel, RunPhase phase);

/* The value of a curve in row i; NaN: there is none */
double curve_value(const Panel *panel, const Curve *curve, long i);
/* From, to; from < to */
void history_times(const History *history, double *from, double *to);

#endif
