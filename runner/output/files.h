/* Files for a run's results: checked before the run, and written completely or not at all. */
#ifndef CPODES_RUNNER_FILES_H
#define CPODES_RUNNER_FILES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

enum { PATH_LENGTH = 4096, TEMPORARY_LENGTH = PATH_LENGTH + 32 };

/* Is path "-", or another name of stdout? NULL is not. */
bool is_stdout(const char *path);
/* Does the path end so? `end` is in lower case; case does not matter. */
bool has_end(const char *path, const char *end);
/* Takes the value of an option as a path, and checks before the run that a file can be created
 * there, and that the suffix, if there is one, is among `suffixes` (".csv .txt"). taken: out, path. Returns 0
 * or, after a complaint, -1 if it is no such path, EIO if no file can be created. */
int path_take(const char *option, const char *path, const char *suffixes, const char **taken);
/* Are a and b names of one file, which may not exist yet? Devices may be named twice. */
bool is_same_file(const char *a, const char *b);
/* Checks that no two of these paths [count], which may be NULL, are one file, that at most one is stdout,
 * and that none is the file to which stdout has been redirected. Returns 0, or -1 after a complaint. */
int paths_differ(const char *const *paths, int count);

/* A file that is written completely or not at all: a temporary one beside it, renamed at the end.
 * path "-": stdout. temporary [TEMPORARY_LENGTH]: out, its path, or "" if path is written to directly.
 * Returns NULL after a complaint. */
FILE *whole_file_open(const char *path, char *temporary);
/* Returns 0, or -1 after a complaint; an old file remains then. */
int whole_file_close(FILE *file, const char *temporary, const char *path);
/* Closes the file; an old one remains. */
void whole_file_discard(FILE *file, const char *temporary);

/* A number, or null if it is not finite. */
json_t *json_number(double value);
/* Writes json with 17 digits, completely or not at all, and frees it; path "-": stdout. json is
 * NULL if there was no memory for it. Returns 0, or -1 after a complaint. */
int json_save(json_t *json, const char *path);

#endif
