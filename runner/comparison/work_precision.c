#define _GNU_SOURCE /* open_memstream */
#include "comparison.h"

#include "../figures/gnuplot.h"

#include <math.h>
#include <string.h>

typedef enum { WORK_SECONDS, WORK_EVALUATIONS } Work;

static bool is_drawn(const Comparison *c, const ComparedRun *run, int m) {
  return run->method == &c->method[m] && run->result.ending == RUN_DONE && run->error > 0 &&
         run->result.seconds > 0 && run->result.rhs > 0;
}

/* Writes work and error, by method. Returns the number of runs that can be drawn. */
static int write_data(FILE *script, const Comparison *c) {
  int count = 0;
  for (int m = 0; m < c->nmethods; m++) {
    fprintf(script, "$m%d << EOD\n", m);
    for (int i = 0; i < c->nruns; i++) {
      const ComparedRun *run = &c->run[i];
      if (!is_drawn(c, run, m)) continue;
      fprintf(script, "%.6e %ld %.6e\n", run->result.seconds, run->result.rhs,
              fmax(run->error, c->accuracy)); /* below it there is only noise */
      count++;
    }
    fprintf(script, "EOD\n");
  }
  return count;
}

static bool has_drawn(const Comparison *c, int m) {
  for (int i = 0; i < c->nruns; i++)
    if (is_drawn(c, &c->run[i], m)) return true;
  return false;
}

static void write_axes(FILE *script, Work work) {
  fprintf(script, "set logscale xy\nset format '10^{%%T}'\nset ylabel 'error at the end'\n");
  fprintf(script, "set xlabel '%s'\n", work == WORK_SECONDS ? "CPU time [s]" : "evaluations of f");
}

/* Shortens "ARKODE_VERNER_8_5_6" to "VERNER_8_5_6", since legends are narrow. */
static const char *short_name(const char *name) {
  static const char prefix[] = "ARKODE_";
  const size_t length        = sizeof prefix - 1;
  return strncmp(name, prefix, length) ? name : name + length;
}

static void write_plot(FILE *script, const Comparison *c, Work work, bool letters) {
  const char *separator = "plot";
  for (int m = 0; m < c->nmethods; m++) {
    if (!has_drawn(c, m)) continue;
    fprintf(script, "%s $m%d using %d:3 ", separator, m, work == WORK_SECONDS ? 1 : 2);
    if (letters) fprintf(script, "with points pt '%c'", 'A' + m);
    else
      fprintf(script, "with linespoints lw 2 dt %s pt %d ps 0.8 lc rgb '%s'", gnuplot_dashes(m),
              gnuplot_point(m), gnuplot_colour(m));
    fprintf(script, " title ");
    gnuplot_string(script, short_name(c->method[m].name));
    separator = ",";
  }
  fprintf(script, "\n");
}

/* ------------------------------------------------------------------------------------ as letters -- */

static void copy_lines(FILE *from, FILE *to) {
  char line[400];
  rewind(from);
  while (fgets(line, sizeof line, from)) {
    size_t length = strcspn(line, "\n\f");
    while (length > 0 && line[length - 1] == ' ') length--;
    if (length) fprintf(to, "%.*s\n", (int)length, line);
  }
}

int work_precision_print(const Comparison *c, FILE *out) {
  FILE *script = tmpfile(), *text = tmpfile();
  int flag = -1;
  if (!script || !text) complain("there is no temporary file for the plot");
  else if (!write_data(script, c)) flag = 1;
  else {
    fprintf(script, "set terminal dumb noenhanced mono size 79,26\n");
    write_axes(script, WORK_SECONDS);
    fprintf(script, "set format '1e%%T'\nset mxtics 1\nset mytics 1\nset key outside right top "
                    "Left reverse samplen 1\n");
    write_plot(script, c, WORK_SECONDS, true);
    flag = gnuplot_run(script, text, "the plot");
    if (!flag) copy_lines(text, out);
  }
  if (script) fclose(script);
  if (text) fclose(text);
  return flag;
}

/* ------------------------------------------------------------------------------------- as a file -- */

/* Two panels side by side; the legend to their right is that of the first panel. */
static void write_script(FILE *script, const Comparison *c, const char *path) {
  const CPPluginType *type = c->settings.model.type;
  gnuplot_set_terminal(script, path, 1120, 460);
  fprintf(script, "set termoption enhanced\nset border 3 lc rgb '#404040'\nset tics nomirror\n");
  fprintf(script, "set grid lt 1 lc rgb '#d0d0d0' lw 0.6\nset multiplot title ");
  gnuplot_string(script, type->title);
  fprintf(script, " noenhanced\nset tmargin at screen 0.9\nset bmargin at screen 0.14\n");
  fprintf(script, "set lmargin at screen 0.08\nset rmargin at screen 0.37\n");
  fprintf(script, "set key at screen 0.78,0.9 left top Left reverse noenhanced samplen 3\n");
  write_axes(script, WORK_SECONDS);
  write_plot(script, c, WORK_SECONDS, false);
  fprintf(script, "unset key\nset lmargin at screen 0.46\nset rmargin at screen 0.76\n");
  write_axes(script, WORK_EVALUATIONS);
  write_plot(script, c, WORK_EVALUATIONS, false);
  fprintf(script, "unset multiplot\nunset output\n");
}

int work_precision_write(const Comparison *c, const char *path) {
  FILE *script = tmpfile();
  int flag     = -1;
  if (!script) complain("--plot: there is no temporary file");
  else if (!write_data(script, c)) {
    complain("--plot: no run came to an end with an error that could be drawn");
    flag = 1;
  } else {
    write_script(script, c, path);
    flag = gnuplot_write(script, path);
  }
  if (script) fclose(script);
  return flag;
}
