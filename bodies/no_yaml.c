/* Stands in for the reader of YAML files if libyaml is missing. */
#include "bodies_impl.h"

#include <stdio.h>

CPBodies bodiesReadYaml(const char *data, size_t size, const char *name, SUNContext ctx,
                        CPBodiesFile *run, char *message, size_t length) {
  (void)data, (void)size, (void)ctx, (void)run;
  snprintf(message, length, "%s: this cpodes has been built without libyaml", name);
  return NULL;
}
