/* Texts, numbers and tables in HTML. Errors of writing are left to ferror. */
#ifndef CPODES_RUNNER_HTML_H
#define CPODES_RUNNER_HTML_H

#include "../simulation/records.h"

#include <stdio.h>

/* Writes text, escaped for elements and quoted attributes. */
void html_text(FILE *out, const char *text);
/* The same between two pieces of HTML. */
void html_within(FILE *out, const char *before, const char *text, const char *after);
/* Writes JSON for a script element, where "<" could begin the end of the element. */
void html_script(FILE *out, const char *json, size_t length);
/* Writes one argument of a command line, escaped, and quoted for a POSIX shell if necessary. */
void html_argument(FILE *out, const char *argument);

typedef struct {
  const char *head;
  bool number; /* right-aligned */
} Column;

/* Begins a table with a head, which scrolls in a box of its own. The first column names the rows.
 * wide: it takes the whole page. */
void table_begin(FILE *out, const char *id, bool wide, const char *caption, const Column *column,
                 int columns);
void table_row(FILE *out, const char *name);
void table_text(FILE *out, const char *text);
/* Writes "kg m^2" in the usual notation; nothing for NULL and "1". */
void table_unit(FILE *out, const char *unit);
void table_number(FILE *out, double value, int digits);
void table_row_end(FILE *out);
/* note: below the table, may be NULL */
void table_end(FILE *out, const char *note);

/* A table of names and values: table_begin with two columns, rows by pair, table_end. */
void pairs_begin(FILE *out, const char *id, const char *caption);
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void pair(FILE *out, const char *name, const char *format, ...);

#endif
