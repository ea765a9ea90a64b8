#include "figures.h"

#include "../options.h"
#include "../output/files.h"
#include "gnuplot.h"
#include "panel_plot.h"

#include <stdlib.h>

enum { WIDTH = 900, PANEL_HEIGHT = 200, TITLE_HEIGHT = 40 };

bool figures_possible(void) { return gnuplot_exists(); }

/* Checked before the run, which may be long. */
int figure_take(const char *option, const char *path, const char **taken) {
  if (!gnuplot_terminal(path))
    complain("%s: the file must end with .svg, .png or .pdf, and is \"%s\"", option, path);
  else if (!figures_possible())
    complain("%s needs gnuplot, which is not there; on Debian: apt install gnuplot-nox", option);
  else return path_take(option, path, ".svg .png .pdf", taken);
  return -1;
}

static void write_script(FILE *script, const History *history, const Panel *panels, int count,
                         const char *path) {
  const RunInfo *info = history->info;
  char title[400];
  snprintf(title, sizeof title, "%s: %s", info->settings->model.type->title, info->method);
  gnuplot_set_terminal(script, path, WIDTH, TITLE_HEIGHT + count * PANEL_HEIGHT);
  panels_begin(script, &paper_theme, history);
  fprintf(script, "set multiplot layout %d,1 title ", count);
  gnuplot_string(script, title);
  fprintf(script, " noenhanced offset 0,0.3\n");
  for (int i = 0; i < count; i++) panel_plot(script, &paper_theme, &panels[i], i + 1 == count);
  fprintf(script, "unset multiplot\nunset output\n");
}

int figure_write(const History *history, const char *path) {
  Panel *panels = calloc(PANELS, sizeof *panels);
  FILE *script  = tmpfile();
  int flag      = -1;
  if (!panels || !script) complain("%s: there is no memory or no temporary file", path);
  else {
    const int count = panels_create(history, panels);
    if (count > 0) {
      write_script(script, history, panels, count, path);
      flag = gnuplot_write(script, path);
    } else complain("%s: the run has nothing to draw", path);
  }
  if (script) fclose(script);
  free(panels);
  return flag;
}
