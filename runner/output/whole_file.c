#include "../options.h"
#include "writers.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_stdout(const char *path) { return !strcmp(path, "-"); }

/* Devices and pipes are written to as they are */
static int is_special(const char *path) {
  struct stat status;
  return !stat(path, &status) && !S_ISREG(status.st_mode);
}

int path_check(const char *option, const char *path) {
  char copy[PATH_LENGTH];
  if (is_stdout(path)) return 0;
  if (!path[0] || strlen(path) >= sizeof copy - 16) {
    complain("%s: a path must have from 1 to %d characters", option, PATH_LENGTH - 17);
    return -1;
  }
  strcpy(copy, path);
  const char *folder = dirname(copy);
  struct stat status;
  const char *reason = NULL;
  if (!stat(path, &status) && S_ISDIR(status.st_mode)) reason = strerror(EISDIR);
  else if (!access(path, F_OK) ? access(path, W_OK) : access(folder, W_OK))
    reason = strerror(errno);
  if (!reason) return 0;
  complain("%s: %s cannot be written: %s", option, path, reason);
  return -1;
}

FILE *whole_file_open(const char *path, char *temporary, size_t length) {
  temporary[0] = '\0';
  if (is_stdout(path)) return stdout;
  const int direct = is_special(path);
  if (!direct) snprintf(temporary, length, "%s.%ld~", path, (long)getpid());
  FILE *file = fopen(direct ? path : temporary, "w");
  if (!file) complain("%s cannot be written: %s", path, strerror(errno));
  return file;
}

int whole_file_close(FILE *file, const char *temporary, const char *path) {
  errno       = 0;
  int failed  = fflush(file) || ferror(file);
  int problem = errno;
  if (file != stdout && fclose(file) && !failed) {
    failed  = 1;
    problem = errno;
  }
  if (!failed && temporary[0] && rename(temporary, path)) {
    failed  = 1;
    problem = errno;
  }
  if (!failed) return 0;
  if (temporary[0]) unlink(temporary);
  complain("%s was not written: %s", is_stdout(path) ? "stdout" : path,
           problem ? strerror(problem) : "an output error");
  return -1;
}
