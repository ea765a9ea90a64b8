#define _GNU_SOURCE /* mkostemp */
#include "files.h"

#include "../options.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool is_stdout(const char *path) {
  static const char *const names[] = {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
  for (size_t i = 0; path && i < sizeof names / sizeof names[0]; i++)
    if (!strcmp(path, names[i])) return true;
  return false;
}

bool has_end(const char *path, const char *end) {
  const size_t n = strlen(path), m = strlen(end);
  for (size_t i = 0; i < m && m <= n; i++)
    if (tolower((unsigned char)path[n - m + i]) != end[i]) return false;
  return m <= n;
}

/* Devices and pipes are written to directly. */
static bool is_special(const char *path) {
  struct stat status;
  return !stat(path, &status) && !S_ISREG(status.st_mode);
}

enum { SUFFIX = 32 }; /* length of the suffix of a temporary name */

/* Returns why no temporary file can be created beside path, or nothing be written to a device; or NULL. */
static const char *obstacle(const char *path) {
  char copy[PATH_LENGTH], name[PATH_LENGTH];
  struct stat status;
  strcpy(copy, path);
  strcpy(name, path);
  const char *folder = dirname(copy); /* dirname and basename change their argument */
  const int exists   = !stat(path, &status);
  const long most    = pathconf(folder, _PC_NAME_MAX);
  if (exists && S_ISDIR(status.st_mode)) return strerror(EISDIR);
  if (most > 0 && (long)strlen(basename(name)) + SUFFIX > most) return strerror(ENAMETOOLONG);
  if (exists && access(path, W_OK)) return strerror(errno);
  if (exists && !S_ISREG(status.st_mode)) return NULL;
  return access(folder, W_OK) ? strerror(errno) : NULL;
}

/* The suffix of a file's name: a dot, a letter, and at most four letters or digits more; or NULL. */
static const char *suffix_of(const char *path) {
  enum { LONGEST = 5 };
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path,
             *dot = strrchr(name, '.');
  if (!dot || dot == name || !isalpha((unsigned char)dot[1])) return NULL;
  for (const char *c = dot + 1; *c; c++)
    if (!isalnum((unsigned char)*c) || c - dot > LONGEST) return NULL;
  return dot;
}

/* Is the suffix one of those in the list, which has blanks between? */
static bool is_known(const char *suffix, const char *suffixes) {
  const size_t length = strlen(suffix);
  for (const char *at = suffixes; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
    char one[16];
    snprintf(one, sizeof one, "%.*s", (int)strcspn(at, " "), at);
    if (strlen(one) == length && has_end(suffix, one)) return true;
  }
  return false;
}

int path_take(const char *option, const char *path, const char *suffixes, const char **taken) {
  const char *suffix = suffix_of(path);
  *taken             = path;
  if (is_stdout(path)) return 0;
  if (!path[0] || strlen(path) >= PATH_LENGTH - SUFFIX)
    return complain("%s: a path must have from 1 to %d characters", option,
                    PATH_LENGTH - SUFFIX - 1);
  if (suffix && !is_known(suffix, suffixes) && !is_special(path))
    return complain("%s: the suffix %s is not that of such a file, %s: \"%s\"", option, suffix,
                    suffixes, path);
  const char *reason = obstacle(path);
  if (!reason) return 0;
  complain("%s: %s cannot be written: %s", option, path, reason);
  return EIO;
}

/* Returns the path of the file without links; of one that does not exist, the path that it will have, also
 * at the end of a link. The caller frees it. NULL: there is no such folder, or no memory. */
static char *resolve(const char *path, int links) {
  enum { MOST_LINKS = 40 };
  char copy[PATH_LENGTH], next[PATH_LENGTH];
  char *whole = realpath(path, NULL);
  if (whole || errno != ENOENT || strlen(path) >= sizeof copy || links > MOST_LINKS) return whole;
  const ssize_t length = readlink(path, next, sizeof next - 1);
  if (length > 0) next[length] = '\0';
  if (length > 0 && next[0] == '/') return resolve(next, links + 1);
  strcpy(copy, path);
  const char *folder = dirname(copy);
  char joined[2 * PATH_LENGTH];
  if (length > 0) {
    snprintf(joined, sizeof joined, "%s/%s", folder, next);
    return resolve(joined, links + 1);
  }
  char *real = realpath(folder, NULL);
  strcpy(copy, path);
  snprintf(joined, sizeof joined, "%s/%s", real ? real : "", basename(copy));
  whole = real ? strdup(joined) : NULL;
  free(real);
  return whole;
}

bool is_same_file(const char *a, const char *b) {
  struct stat one, other;
  const bool has_one = !stat(a, &one), has_other = !stat(b, &other);
  if (has_one && has_other)
    return !S_ISCHR(one.st_mode) && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
  if (has_one != has_other) return false;
  char *whole = resolve(a, 0), *whole_b = resolve(b, 0);
  const bool same = !strcmp(a, b) || (whole && whole_b && !strcmp(whole, whole_b));
  free(whole);
  free(whole_b);
  return same;
}

int paths_differ(const char *const *paths, int count) {
  struct stat out, status;
  const bool is_file = !fstat(STDOUT_FILENO, &out) && S_ISREG(out.st_mode);
  for (int i = 0; i < count; i++) {
    if (!paths[i]) continue;
    if (is_file && !is_stdout(paths[i]) && !stat(paths[i], &status) &&
        status.st_dev == out.st_dev && status.st_ino == out.st_ino)
      return complain("%s is the file that stdout goes to", paths[i]);
    for (int k = 0; k < i; k++) {
      if (!paths[k]) continue;
      if (is_stdout(paths[i]) && is_stdout(paths[k]))
        return complain("only one output can be stdout");
      if (!is_stdout(paths[i]) && !is_stdout(paths[k]) && is_same_file(paths[i], paths[k]))
        return complain("%s is given for two outputs", paths[i]);
    }
  }
  return 0;
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
static FILE *open_beside(const char *path, char *temporary) {
  char *target = resolve(path, 0); /* A link to the file remains a link. */
  if (!target) return NULL;
  const int length = snprintf(temporary, TEMPORARY_LENGTH, "%s.XXXXXX", target);
  free(target);
  if (length >= TEMPORARY_LENGTH) return errno = ENAMETOOLONG, NULL;
  const int descriptor = mkostemp(temporary, O_CLOEXEC);
  if (descriptor < 0) return NULL;
  FILE *file = fchmod(descriptor, permissions(path)) ? NULL : fdopen(descriptor, "w");
  if (file) return file;
  const int reason = errno;
  close(descriptor);
  unlink(temporary);
  errno = reason;
  return NULL;
}

FILE *whole_file_open(const char *path, char *temporary) {
  temporary[0] = '\0';
  if (is_stdout(path)) return stdout;
  FILE *file = is_special(path) ? fopen(path, "we") : open_beside(path, temporary);
  if (!file) complain("%s cannot be written: %s", path, strerror(errno));
  return file;
}

void whole_file_discard(FILE *file, const char *temporary) {
  if (file && file != stdout) fclose(file);
  if (temporary[0]) unlink(temporary);
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
  FILE *file = whole_file_open(path, temporary);
  if (file) {
    json_dumpf(json, file, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    fputc('\n', file); /* whole_file_close checks for errors */
  }
  json_decref(json);
  return file ? whole_file_close(file, temporary, path) : -1;
}
