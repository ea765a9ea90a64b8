/* Stands in for the reader of XML files if libxml2 is missing. */
#include "bodies_impl.h"

#include <stdio.h>

CPBodies bodiesReadXml(const char *data, size_t size, const char *name, SUNContext ctx,
                       CPBodiesFile *run, char *message, size_t length) {
  (void)data, (void)size, (void)ctx, (void)run;
  snprintf(message, length, "%s: this cpodes has been built without libxml2", name);
  return NULL;
}
