/* Files for a run's results: checked before the run, and written completely or not at all. */
#ifndef CPODES_RUNNER_FILES_H
#define CPODES_RUNNER_FILES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

enum { PATH_LENGTH = 4096, TEMPORARY_LENGTH = PATH_LENGTH + 32 };

/* Is path "-"? NULL is not. */
bool is_stdout(const char *path);
/* Takes the value of an option as a path, and checks before the run that a file can be created
 * there. whole: by whole_file_open. taken: out, path. Returns 0 or, after a complaint, -1 if it is
 * no path, EIO if no file can be created. */
int path_take(const char *option, const char *path, int whole, const char **taken);

/* A file that is written completely or not at all: a temporary one beside it, renamed at the end.
 * path "-": stdout. */
FILE *whole_file_open(const char *path, char *temporary, size_t length);
int whole_file_close(FILE *file, const char *temporary, const char *path);

/* A number, or null if it is not finite. */
json_t *json_number(double value);
/* Writes json with 17 digits, completely or not at all, and frees it; path "-": stdout. json is
 * NULL if there was no memory for it. Returns 0, or -1 after a complaint. */
int json_save(json_t *json, const char *path);

#endif
