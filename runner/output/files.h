/* Files for a run's results: asked for before it, there completely or not at all. */
#ifndef CPODES_RUNNER_FILES_H
#define CPODES_RUNNER_FILES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

enum { PATH_LENGTH = 4096, TEMPORARY_LENGTH = PATH_LENGTH + 32 };

/* Is it "-"? NULL: no */
bool is_stdout(const char *path);
/* The value of an option: can a file be made there? whole: by whole_file_open. taken: out, path. Asked before the run; complains if
   not: 0, -1 where it is no path, EIO where no file can be made */
int path_take(const char *option, const char *path, int whole, const char **taken);

/* A file that is there completely or not at all: a temporary one beside it, renamed at the end. path "-": stdout */
FILE *whole_file_open(const char *path, char *temporary, size_t length);
int whole_file_close(FILE *file, const char *temporary, const char *path);

/* null where it is not known, or not finite */
json_t *json_number(double value);
/* Writes it with 17 digits, completely or not at all, and gives it up; path "-": stdout. NULL: there was no memory for
   it. 0, or -1 after a complaint */
int json_save(json_t *json, const char *path);

#endif
