/* The reader of files where there is no libyaml */
#include <cpodes/cpodes_bodies.h>
#include <stdio.h>

CPBodies CPBodiesReadText(const char *data, size_t size, const char *name, SUNContext ctx,
                          CPBodiesFile *run, char *message, size_t length) {
  (void)data, (void)size, (void)ctx, (void)run;
  snprintf(message, length, "%s: this cpodes has been built without libyaml", name);
  return NULL;
}

CPBodies CPBodiesRead(const char *path, SUNContext ctx, CPBodiesFile *run, char *message,
                      size_t length) {
  return CPBodiesReadText(NULL, 0, path, ctx, run, message, length);
}
