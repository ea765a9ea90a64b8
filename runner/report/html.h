/* Texts, numbers and tables in HTML. Errors of writing are left to ferror. */
#ifndef CPODES_RUNNER_HTML_H
#define CPODES_RUNNER_HTML_H

#include "../simulation/records.h"

#include <stdio.h>

/* Escaped, for elements and quoted attributes alike */
void html_text(FILE *out, const char *text);
/* JSON within a script element, where "<" could begin the end of the element */
void html_script(FILE *out, const char *json, size_t length);
/* One argument of a command line, quoted for a POSIX shell where it has to be, and escaped */
void html_argument(FILE *out, const char *argument);

typedef struct {
  const char *head;
  bool number; /* right-aligned */
} Column;

/* A table with a head; it scrolls in a box of its own. The first column names the rows. wide: it takes the whole page */
void table_begin(FILE *out, const char *id, bool wide, const char *caption, const Column *column,
                 int columns);
void table_row(FILE *out, const char *name);
void table_text(FILE *out, const char *text);
/* "kg m^2" as one writes it by hand; NULL, "1": none */
void table_unit(FILE *out, const char *unit);
void table_number(FILE *out, double value, int digits);
void table_row_end(FILE *out);
/* note: below the table, may be NULL */
void table_end(FILE *out, const char *note);

/* A table of names and values: table_begin of two columns, rows by pair, table_end */
void pairs_begin(FILE *out, const char *id, const char *caption);
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void pair(FILE *out, const char *name, const char *format, ...);

#endif
