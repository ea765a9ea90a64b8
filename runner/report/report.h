/* The parts of the report (report_write). Each writes the content of a slot in a page piece
 * (runner/report/page). */
#ifndef CPODES_RUNNER_REPORT_H
#define CPODES_RUNNER_REPORT_H

#include "../figures/figures.h"
#include "../figures/panels.h"
#include "html.h"

enum { REPORT_FIGURES = PANELS + 1 };

typedef struct {
  const History *history;
  const RunInfo *info;      /* of the history */
  const CPPluginType *type; /* of the run */
  int argc;
  char **argv;
  double usual_force; /* of contacts (report_usual_force) */
  Figure figure[REPORT_FIGURES];
  int nfigures; /* -1: gnuplot is missing, or has failed */
} Report;

typedef void ReportPart(const Report *report, FILE *out);

/* Writes a piece with the parts in its slots {{name}}. */
void report_piece(const Report *report, FILE *out, const unsigned char *piece);

/* ---- report_tables.c: results, events, and how to reproduce them ---- */
ReportPart report_invariants, report_violations, report_work, report_state;
ReportPart report_events_summary, report_events_table;
ReportPart report_command, report_settings, report_parameters, report_versions, report_source;

/* ---- report_motion.c: the animation; absent without a drawing ---- */
bool report_moves(const Report *report);
/* The force that 90 % of the nonzero forces of contacts do not exceed: short peaks do not make the
 * others too small to see. 0 if there are none, or if out of memory. */
double report_usual_force(const Report *report);
ReportPart report_motion_class, report_motion_description, report_motion_keys, report_motion_data,
    report_legend;

/* ---- report.c ---- */
bool report_is_pictured(const Report *report); /* does a figure of the mechanism exist? */

#endif
