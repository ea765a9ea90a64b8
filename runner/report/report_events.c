#include "report.h"

enum { MOST_ROWS = 200 };

static long rows_shown(const Report *r) {
  const long kept = r->history->events < HISTORY_EVENTS ? r->history->events : HISTORY_EVENTS;
  return kept < MOST_ROWS ? kept : MOST_ROWS;
}

void report_events_summary(const Report *r, FILE *out) {
  const long events = r->history->events;
  if (events == 1) fputs("There was one.", out);
  else fprintf(out, "There were %ld.", events);
  if (rows_shown(r) < events) fprintf(out, " These are the first %ld.", rows_shown(r));
}

void report_events_table(const Report *r, FILE *out) {
  static const Column columns[] = {{"Number", false}, {"t [s]", true}, {"What happened", false}};
  table_begin(out, "event-list", true, "Events in the order of time", columns,
              sizeof columns / sizeof columns[0]);
  for (long i = 0; i < rows_shown(r); i++) {
    const RunEvent *e = &r->history->event[i];
    char number[NUMBER_TEXT], what[100] = "a kink of the forces: the integration starts anew";
    snprintf(number, sizeof number, "%ld", i + 1);
    if (e->kind == EVENT_ROOT)
      snprintf(what, sizeof what, "event function %d passes 0, %s", e->root,
               e->direction > 0 ? "rising" : "falling");
    table_row(out, number);
    table_number(out, e->t, 10);
    table_text(out, what);
    table_row_end(out);
  }
  table_end(out, NULL);
}
