/* Figures and report: to come. */
#include "figures.h"
#include "writers.h"

#include "../options.h"

static int later(const char *what) {
  complain("%s: not yet", what);
  return -1;
}
int figure_check_path(const char *option, const char *path) {
  (void)path;
  return later(option);
}
int figure_write(const History *history, const char *path) {
  (void)history;
  return later(path);
}
int picture_write(const History *history, const char *path) {
  (void)history;
  return later(path);
}
bool figures_possible(void) { return false; }
int figures_for_page(const History *history, Figure *figures, int most) {
  (void)history, (void)figures, (void)most;
  return -1;
}
