#include "json_file.h"

#include "writers.h"

#include <math.h>

json_t *json_number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

int json_save(json_t *json, const char *path) {
  char temporary[TEMPORARY_LENGTH];
  if (!json) {
    complain("%s: no memory", path);
    return -1;
  }
  FILE *file = whole_file_open(path, temporary, sizeof temporary);
  if (file) {
    json_dumpf(json, file, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    fputc('\n', file); /* whole_file_close sees whether all went well */
  }
  json_decref(json);
  return file ? whole_file_close(file, temporary, path) : -1;
}
