/* What a run leaves: files, and lines for people. Each is a Listener in memory of its own; the ..._create functions return
 * NULL after a complaint. */
#ifndef CPODES_RUNNER_WRITERS_H
#define CPODES_RUNNER_WRITERS_H

#include "history.h"

/* One row for each sample, at once; path "-": stdout. If a row cannot be written the file ends with the last complete
   one. */
Listener *csv_create(const char *path);
void csv_free(Listener *csv); /* may be NULL */
/* A bar on stderr with rate and remaining time, if that is a terminal; else nothing */
Listener *progress_create(void);
void progress_free(Listener *progress); /* may be NULL */

/* All that is known at the end, for programs; path "-": stdout. 0 or -1 */
int json_write(const History *history, int argc, char **argv, const char *path);
/* The same for people */
void summary_print(const History *history, FILE *out);
/* The HTML report: one file without anything from elsewhere. argv: how to reproduce it. 0 or -1 */
int report_write(const History *history, int argc, char **argv, const char *path);

#endif
