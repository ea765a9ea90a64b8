/* The output of a run: files, and lines for people. Each writer is a Listener with its own memory;
 * the ..._create functions return NULL after a complaint. */
#ifndef CPODES_RUNNER_WRITERS_H
#define CPODES_RUNNER_WRITERS_H

#include "history.h"

/* Writes one row for each sample as it arrives; path "-": stdout. A file takes the place of an old one at
 * the end of the run, also of one that fails or is interrupted. If a row cannot be written, the old file
 * remains; stdout ends with the last complete row. */
Listener *csv_create(const char *path);
void csv_free(Listener *csv); /* may be NULL */
/* A bar on stderr with rate and remaining time if that is a terminal, else nothing. */
Listener *progress_create(void);
void progress_free(Listener *progress); /* may be NULL */

/* Writes all results at the end, for programs; path "-": stdout. Returns 0 or -1. */
int json_write(const History *history, int argc, char **argv, const char *path);
/* Prints the same for people. */
void summary_print(const History *history, FILE *out);
/* Writes the HTML report, one file without external parts. argv: the command that reproduces it.
 * Returns 0 or -1. */
int report_write(const History *history, int argc, char **argv, const char *path);

#endif
