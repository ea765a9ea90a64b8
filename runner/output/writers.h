/* What a run leaves: files, and lines for people. Each is a Listener in memory of its own; the ..._create functions return
 * NULL after a complaint. */
#ifndef CPODES_RUNNER_WRITERS_H
#define CPODES_RUNNER_WRITERS_H

#include "history.h"

enum { PATH_LENGTH = 4096, TEMPORARY_LENGTH = PATH_LENGTH + 32 };

/* Is it "-"? NULL: no */
bool is_stdout(const char *path);
/* The value of an option: can a file be made there? whole: by whole_file_open. taken: out, path. Asked before the run; complains if
   not: 0 or -1 */
int path_take(const char *option, const char *path, int whole, const char **taken);

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

/* A file that is there completely or not at all: a temporary one beside it, renamed at the end. path "-": stdout */
FILE *whole_file_open(const char *path, char *temporary, size_t length);
int whole_file_close(FILE *file, const char *temporary, const char *path);

#endif
