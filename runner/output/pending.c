/* Figures and report: to come. */
#include "figures.h"
#include "writers.h"

#include "../options.h"

static int later(const char *what) {
  complain("%s: not yet", what);
  return -1;
}
int report_write(const History *history, int argc, char **argv, const char *path) {
  (void)history, (void)argc, (void)argv;
  return later(path);
}
