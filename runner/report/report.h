/* The parts of the report (report_write): each writes what stands in a slot of a page piece (runner/report/page). */
#ifndef CPODES_RUNNER_REPORT_H
#define CPODES_RUNNER_REPORT_H

#include "../figures/figures.h"
#include "../figures/panels.h"
#include "html.h"

enum { REPORT_FIGURES = PANELS + 1 };

typedef struct {
  const History *history;
  const RunInfo *info;     /* of the history */
  const CPModelType *type; /* of the run */
  int argc;
  char **argv;
  double usual_force; /* of contacts (report_usual_force) */
  Figure figure[REPORT_FIGURES];
  int nfigures; /* -1: there is no gnuplot, or it failed */
} Report;

typedef void ReportPart(const Report *report, FILE *out);

/* Puts parts into the slots {{name}} of a piece */
void report_piece(const Report *report, FILE *out, const unsigned char *piece);

/* ---- report_tables.c: results, events, and how to reproduce them ---- */
ReportPart report_invariants, report_violations, report_work, report_state;
ReportPart report_events_summary, report_events_table;
ReportPart report_command, report_settings, report_parameters, report_versions, report_source;

/* ---- report_motion.c: the animation; absent without a drawing ---- */
bool report_moves(const Report *report);
/* The force that nine tenths of those of contacts that are not zero do not exceed: peaks of a moment do not make the others too
   short to be seen. 0: there are none, or no memory */
double report_usual_force(const Report *report);
ReportPart report_motion_class, report_motion_description, report_motion_keys, report_motion_data,
    report_legend;

/* ---- report.c ---- */
bool report_is_pictured(const Report *report); /* is there a figure of the mechanism? */

#endif
