/* Stands in for the reader of XML files if libxml2 is missing. */
#include "files.h"

#include <stdio.h>

CPBodies bodiesReadXml(const char *data, size_t size, const char *name, Run *run, char *message,
                       size_t length) {
  (void)data, (void)size, (void)(void)run;
  snprintf(message, length, "%s: this cpodes has been built without libxml2", name);
  return NULL;
}

int mjcfStartWriting(CPBodies b) {
  (void)b;
  return 0;
}

void mjcfWriteElement(CPBodies b, const CPElement *e) { (void)b, (void)e; }

const char *mjcfWriteFile(CPBodies b) {
  (void)b;
  return NULL;
}

void mjcfFreeWritten(CPBodies b) { (void)b; }
