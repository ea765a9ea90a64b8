#include "module.h"

#include "options.h"

const CPModelType *module_load(const char *path) {
  complain("%s: shared objects cannot be loaded yet", path);
  return NULL;
}
