/* Reads mechanisms from files: the bytes, the format according to the extension, and the locale in which
 * numbers are read. */
#define _POSIX_C_SOURCE 200809L /* newlocale, uselocale */
#include "bodies_impl.h"

#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

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
  if (ROOM(b->files, b->nfiles, length)) return 1;
  memcpy(b->files + b->nfiles, path, (size_t)length);
  b->nfiles += length;
  return 0;
}

const char *bodiesControl(const char *text) {
  for (const unsigned char *c = (const unsigned char *)text; *c; c++)
    if (*c < ' ' || *c == 0x7F || (*c == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0))
      return (const char *)c;
  return NULL;
}

void bodiesOneLine(char *message, size_t length) {
  const char *at;
  for (size_t i = 0; length > 0 && (at = bodiesControl(message + i)); i++) {
    i = (size_t)(at - message);
    if ((unsigned char)message[i] == 0xC2) message[i + 1] = ' ';
    message[i] = ' ';
  }
}

/* Does the text begin like XML? */
static int isMarkup(const char *data, size_t size) {
  size_t i = size >= 3 && !memcmp(data, "\xEF\xBB\xBF", 3) ? 3 : 0;
  while (i < size && data[i] && strchr(" \t\r\n", data[i])) i++;
  return i < size && data[i] == '<';
}

CPBodies CPBodiesReadText(const char *data, size_t size, const char *name, SUNContext ctx,
                          CPBodiesFile *run, char *message, size_t length) {
  char unread[1]; /* A message that is not wanted has this room. */
  if (!message) message = unread, length = sizeof unread;
  if (!data || !name || !ctx || !run) {
    snprintf(message, length, "data, name, ctx and run must not be NULL");
    return NULL;
  }
  const int is_xml = bodiesEndsWith(name, ".xml") || bodiesEndsWith(name, ".mjcf") ||
                     bodiesEndsWith(name, ".urdf");
  *run = (CPBodiesFile){.t_end = 10, .assemble = 1, .balance = 1};
  if (length > 0) message[0] = '\0';
  if (!is_xml && isMarkup(data, size)) {
    snprintf(
        message, length,
        "%s: this format is not read; files in MJCF end in .xml or .mjcf, those in URDF in .urdf",
        name);
    bodiesOneLine(message, length);
    return NULL;
  }
  /* Files have decimal points in every locale. This one holds for this thread, in all functions that the
   * readers call. */
  const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!plain) return snprintf(message, length, "%s: no memory", name), NULL;
  const locale_t before = uselocale(plain);
  CPBodies bodies =
      (is_xml ? bodiesReadXml : bodiesReadYaml)(data, size, name, ctx, run, message, length);
  uselocale(before);
  freelocale(plain);
  return bodies;
}

CPBodies CPBodiesRead(const char *path, SUNContext ctx, CPBodiesFile *run, char *message,
                      size_t length) {
  size_t size;
  char unread[1];
  const char *why = "the path must not be NULL";
  if (!message) message = unread, length = sizeof unread;
  char *data = path ? bodiesFile(path, &size, &why) : NULL;
  if (!data) {
    snprintf(message, length, "%s: %s", path ? path : "NULL", why);
    bodiesOneLine(message, length);
    return NULL;
  }
  CPBodies bodies = CPBodiesReadText(data, size, path, ctx, run, message, length);
  free(data);
  return bodies;
}
