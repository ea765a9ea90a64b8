#include "files.h"

#include "../options.h"

#include <errno.h>
#include <libgen.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool is_stdout(const char *path) { return path && !strcmp(path, "-"); }

/* Devices and pipes are written to directly. */
static int is_special(const char *path) {
  struct stat status;
  return !stat(path, &status) && !S_ISREG(status.st_mode);
}

enum { SUFFIX = 32 }; /* length of the suffix of a temporary name */

/* Returns why no file can be created at path, or NULL. whole: also considers the temporary file
 * beside it, which has a longer name. */
static const char *obstacle(const char *path, int whole) {
  char copy[PATH_LENGTH], name[PATH_LENGTH];
  struct stat status;
  strcpy(copy, path);
  strcpy(name, path);
  const char *folder = dirname(copy); /* dirname and basename change their argument */
  const int exists   = !stat(path, &status);
  const long most    = pathconf(folder, _PC_NAME_MAX);
  if (exists && S_ISDIR(status.st_mode)) return strerror(EISDIR);
  if (most > 0 && (long)strlen(basename(name)) + (whole ? SUFFIX : 0) > most)
    return strerror(ENAMETOOLONG);
  if (exists && access(path, W_OK)) return strerror(errno);
  if (exists && (!whole || !S_ISREG(status.st_mode))) return NULL;
  return access(folder, W_OK) ? strerror(errno) : NULL;
}

int path_take(const char *option, const char *path, int whole, const char **taken) {
  *taken = path;
  if (is_stdout(path)) return 0;
  if (!path[0] || strlen(path) >= PATH_LENGTH - SUFFIX)
    return complain("%s: a path must have from 1 to %d characters", option,
                    PATH_LENGTH - SUFFIX - 1);
  const char *reason = obstacle(path, whole);
  if (!reason) return 0;
  complain("%s: %s cannot be written: %s", option, path, reason);
  return EIO;
}

/* The permissions of an existing file, or those of a new one. */
static mode_t permissions(const char *path) {
  struct stat status;
  const mode_t mask = umask(0);
  umask(mask);
  return stat(path, &status) ? 0666 & ~mask : status.st_mode & 0777;
}

/* Creates a new file beside the one at path, with an unpredictable name: anyone who may write to
 * the folder could have put a link there. Returns NULL with errno. */
static FILE *open_beside(const char *path, char *temporary, size_t length) {
  /* A link to the file remains a link. NULL: there is no file yet. */
  char *target = realpath(path, NULL);
  snprintf(temporary, length, "%s.XXXXXX", target ? target : path);
  free(target);
  const int descriptor = mkstemp(temporary);
  if (descriptor < 0) return NULL;
  FILE *file = fchmod(descriptor, permissions(path)) ? NULL : fdopen(descriptor, "w");
  if (file) return file;
  const int reason = errno;
  close(descriptor);
  unlink(temporary);
  errno = reason;
  return NULL;
}

FILE *whole_file_open(const char *path, char *temporary, size_t length) {
  temporary[0] = '\0';
  if (is_stdout(path)) return stdout;
  FILE *file = is_special(path) ? fopen(path, "w") : open_beside(path, temporary, length);
  if (!file) complain("%s cannot be written: %s", path, strerror(errno));
  return file;
}

/* Renames the temporary file to its target. */
static int put_in_place(const char *temporary) {
  char target[PATH_LENGTH + SUFFIX];
  snprintf(target, sizeof target, "%.*s", (int)(strrchr(temporary, '.') - temporary), temporary);
  return rename(temporary, target);
}

int whole_file_close(FILE *file, const char *temporary, const char *path) {
  const int earlier = ferror(file) ? errno : 0; /* another flush may have nothing left that fails */
  errno             = 0;
  int failed        = fflush(file) || ferror(file);
  int problem       = errno ? errno : earlier;
  if (file != stdout && fclose(file) && !failed) {
    failed  = 1;
    problem = errno;
  }
  if (!failed && temporary[0] && put_in_place(temporary)) {
    failed  = 1;
    problem = errno;
  }
  if (!failed) return 0;
  if (temporary[0]) unlink(temporary);
  return complain("%s was not written: %s", is_stdout(path) ? "stdout" : path,
                  problem ? strerror(problem) : "an output error");
}

/* --------------------------------------------------------------------------------------- JSON -- */

json_t *json_number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

int json_save(json_t *json, const char *path) {
  char temporary[TEMPORARY_LENGTH];
  if (!json) return complain("%s: no memory", path);
  FILE *file = whole_file_open(path, temporary, sizeof temporary);
  if (file) {
    json_dumpf(json, file, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    fputc('\n', file); /* whole_file_close checks for errors */
  }
  json_decref(json);
  return file ? whole_file_close(file, temporary, path) : -1;
}
