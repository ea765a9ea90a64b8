/* Files: their bytes and paths. */
#define _XOPEN_SOURCE 700 /* fdopen, O_CLOEXEC, realpath */
#include "files.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* limit for one file */
static const size_t most_bytes = (size_t)1 << 30;

/* Reads up to the end of the file; guess: its probable size. Returns NULL with *why. */
static char *readAll(FILE *file, size_t guess, size_t *size, const char **why) {
  size_t capacity = guess + 1, got = 1;
  char *text = malloc(capacity + 1);
  for (*size = 0; text && got > 0 && *size <= most_bytes;) {
    if (*size == capacity) {
      char *more = realloc(text, 2 * capacity + 1);
      if (!more) free(text);
      text = more;
      capacity *= 2;
    }
    if (text) *size += got = fread(text + *size, 1, capacity - *size, file);
  }
  *why = !text          ? "no memory"
         : ferror(file) ? "it cannot be read"
         : got > 0      ? "it is too long"
                        : NULL;
  if (!*why) return text[*size] = '\0', text;
  free(text);
  return NULL;
}

char *bodiesFile(const char *path, size_t *size, const char **why) {
  struct stat status;
  FILE *file = NULL;
  char *text = NULL;
  /* Pipes and devices may block or have no end; without O_NONBLOCK a pipe would block here. */
  const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) *why = "it cannot be opened";
  else if (fstat(descriptor, &status) || !S_ISREG(status.st_mode))
    *why = "it is not a regular file";
  else if ((size_t)status.st_size > most_bytes) *why = "it is too long";
  else if (!(file = fdopen(descriptor, "rb"))) *why = "no memory";
  else text = readAll(file, (size_t)status.st_size, size, why);
  if (file) fclose(file);
  else if (descriptor >= 0) close(descriptor);
  return text;
}

int bodiesBeside(const char *from, const char *path, char *whole, size_t length) {
  const char *slash = strrchr(from, '/');
  const int base    = path[0] == '/' || !slash ? 0 : (int)(slash - from) + 1;
  return snprintf(whole, length, "%.*s%s", base, from, path) >= (int)length;
}

/* The length of the path of the folder that both paths, which are absolute, share, without its last slash */
static size_t shared(const char *a, const char *b) {
  size_t last = 0, i = 0;
  for (; a[i] && a[i] == b[i]; i++)
    if (a[i] == '/') last = i;
  return (!a[i] && b[i] == '/') || (!b[i] && a[i] == '/') || (!a[i] && !b[i]) ? i : last;
}

/* Is a path that of a folder, or in it? The path of the folder has this length; its links are followed. */
static int isIn(const char *path, const char *folder, size_t length) {
  char given[PATH_MAX], real[PATH_MAX];
  if (length == 0 || length >= sizeof given) return 0;
  memcpy(given, folder, length);
  given[length] = '\0';
  return realpath(given, real) && (!strcmp(real, "/") || shared(path, real) == strlen(real));
}

int bodiesMayRead(const char *from, const char *path, const char *folders) {
  const char *slash = strrchr(from, '/'), *home = getenv("HOME");
  char real[PATH_MAX], own[PATH_MAX], folder[PATH_MAX];
  const int length = slash ? (int)(slash - from) + 1 : 1;
  if (!realpath(path, real)) return 1; /* The reason is reported where it is opened. */
  snprintf(folder, sizeof folder, "%.*s", length, slash ? from : ".");
  if (length < (int)sizeof folder && realpath(folder, own)) {
    if (isIn(real, own, strlen(own))) return 1;
    /* The home folder, and those above it, hold what has nothing to do with each other. */
    own[shared(own, real)] = '\0';
    if (*own && !(home && realpath(home, folder) && isIn(folder, own, strlen(own)))) return 1;
  }
  while (*folders) {
    const size_t next = strcspn(folders, ":");
    if (isIn(real, folders, next)) return 1;
    folders += next + (folders[next] == ':');
  }
  return 0;
}

int bodiesEndsWith(const char *name, const char *end) {
  const size_t n = strlen(name), m = strlen(end);
  if (n < m) return 0;
  for (size_t i = 0; i < m; i++) {
    const char c = name[n - m + i];
    if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != end[i]) return 0;
  }
  return 1;
}

int bodiesHasRead(CPBodies b, const char *path) {
  const int length = (int)strlen(path) + 1;
  if (ROOM(b->files, b->nfiles, length + 1)) return 1;
  memcpy(b->files + b->nfiles, path, (size_t)length);
  b->nfiles += length;
  b->files[b->nfiles] = '\0';
  return 0;
}

void bodiesPutList(Text *t, const char *format, va_list args) {
  va_list again;
  va_copy(again, args);
  const int length = vsnprintf(NULL, 0, format, args);
  if (!t->failed && t->length + (size_t)length + 1 > t->room) {
    const size_t room = 2 * t->room + (size_t)length + 1;
    char *more        = realloc(t->text, room);
    if (more) t->text = more, t->room = room;
    else t->failed = 1;
  }
  if (!t->failed)
    t->length += (size_t)vsnprintf(t->text + t->length, (size_t)length + 1, format, again);
  va_end(again);
}

void bodiesPut(Text *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  bodiesPutList(t, format, args);
  va_end(args);
}

void bodiesFreeOrigins(Origin *source, int n) {
  for (int i = 0; i < n; i++) free(source[i].text);
  free(source);
}
