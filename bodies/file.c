/* Reads mechanisms from files, XML or YAML according to the extension. */
#include "bodies_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* limit for one file, so that endless files are refused */
static const size_t most_bytes = (size_t)1 << 30;

char *bodiesFile(const char *path, size_t *size) {
  FILE *file      = fopen(path, "rb");
  size_t capacity = 0, got = 1;
  char *text = NULL;
  *size      = 0;
  while (file && got > 0 && *size < most_bytes) {
    if (*size == capacity) {
      char *more = realloc(text, 2 * capacity + 4097);
      if (!more) break;
      text     = more;
      capacity = 2 * capacity + 4096;
    }
    got = fread(text + *size, 1, capacity - *size, file);
    *size += got;
  }
  const int failed = !file || ferror(file) || got > 0;
  if (file) fclose(file);
  if (!failed) text[*size] = '\0';
  else free(text);
  return failed ? NULL : text;
}

int bodiesBeside(const char *from, const char *path, char *whole, size_t length) {
  const char *slash = strrchr(from, '/');
  const int base    = path[0] == '/' || !slash ? 0 : (int)(slash - from) + 1;
  return snprintf(whole, length, "%.*s%s", base, from, path) >= (int)length;
}

CPBodies CPBodiesReadText(const char *data, size_t size, const char *name, SUNContext ctx,
                          CPBodiesFile *run, char *message, size_t length) {
  const char *dot  = strrchr(name, '.');
  const int is_xml = dot && (!strcmp(dot, ".xml") || !strcmp(dot, ".urdf") || !strcmp(dot, ".mjcf"));
  *run             = (CPBodiesFile){.t_end = 10, .assemble = 1, .balance = 1};
  if (length > 0) message[0] = '\0';
  return (is_xml ? bodiesReadXml : bodiesReadYaml)(data, size, name, ctx, run, message, length);
}

CPBodies CPBodiesRead(const char *path, SUNContext ctx, CPBodiesFile *run, char *message,
                      size_t length) {
  size_t size;
  char *data = bodiesFile(path, &size);
  if (!data) {
    snprintf(message, length, "%s cannot be opened or read", path);
    return NULL;
  }
  CPBodies bodies = CPBodiesReadText(data, size, path, ctx, run, message, length);
  free(data);
  return bodies;
}
