/* Stands in for the reader of YAML files if libyaml is missing. */
#include "files.h"

#include <stdio.h>

CPBodies bodiesReadYaml(const char *data, size_t size, const char *name, Run *run, char *message,
                        size_t length) {
  (void)data, (void)size, (void)(void)run;
  snprintf(message, length, "%s: this cpodes has been built without libyaml", name);
  return NULL;
}

int bodiesReadLoops(const char *data, size_t size, const char *name, Loops *loops, char *message,
                    size_t length) {
  (void)data, (void)size, (void)loops;
  snprintf(message, length, "%s: this cpodes has been built without libyaml", name);
  return 1;
}

static int start(CPBodies b) {
  (void)b;
  return 0;
}

static void take(CPBodies b, const CPElement *e) { (void)b, (void)e; }

static const char *finish(CPBodies b, const char *from) {
  (void)b, (void)from;
  return NULL;
}

static void release(CPBodies b) { (void)b; }

const FileWriter yaml_writer = {NULL, start, take, finish, release};
