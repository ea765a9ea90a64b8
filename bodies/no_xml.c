/* Stands in for the reader of XML files if libxml2 is missing. */
#include "files.h"

#include <stdio.h>

CPBodies bodiesReadXml(const char *data, size_t size, const char *name, Run *run, char *message,
                       size_t length) {
  (void)data, (void)size, (void)(void)run;
  snprintf(message, length, "%s: this cpodes has been built without libxml2", name);
  return NULL;
}
