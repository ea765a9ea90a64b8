#include "plot.h"

#include "contestants.h"

#include <ctype.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NO_PROGRAM = 127, MOST_METHODS = 40 };

/* Dark enough for thin lines; points and dashes distinguish curves whose colours look alike. */
static const char *const colours[] = {
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#b8860b", "#000000", "#7f3c8d",
    "#808080", "#8c564b", "#b40f20", "#4b4b8f", "#e377c2", "#2f8f8f", "#6b8e23", "#444444"};
enum { NCOLOURS = sizeof colours / sizeof *colours };

/* "chain:n=100" -> "chain-n-100" */
static void slug(const char *name, char *file) {
  for (; *name; name++)
    *file++ = isalnum((unsigned char)*name) || *name == '_' || *name == '.' ? *name : '-';
  *file = '\0';
}

/* The runs of a method that finished, by tolerance; returns their number. */
static int write_data(FILE *script, const Results *results, const Contestant *c, int number) {
  int count = 0;
  fprintf(script, "$m%d << EOD\n", number);
  for (int i = 0; i < results->nresults; i++) {
    const Result *r = &results->result[i];
    if (r->contestant != c || r->figures.flag || !(r->error > 0)) continue;
    fprintf(script, "%.6e %.6e %ld\n", r->error, r->figures.seconds, r->figures.rhs);
    count++;
  }
  fprintf(script, "EOD\n");
  return count;
}

typedef struct {
  const Contestant *contestant;
  int number; /* in the list of all contestants: its colour and point, the same in every plot */
} Curve;

static void write_plot(FILE *script, const Curve *curve, int ncurves, Cost cost) {
  const char *separator = "plot";
  for (int i = 0; i < ncurves; i++) {
    const Contestant *c = curve[i].contestant;
    if (cost == COST_EVALUATIONS && !c->same_f) continue;
    fprintf(script, "%s $m%d using %d:1 with linespoints ls %d title '%s'", separator,
            curve[i].number, cost == COST_SECONDS ? 2 : 3, curve[i].number + 1, c->name);
    separator = ", \\\n    ";
  }
  fprintf(script, "\n");
}

static void write_styles(FILE *script, const Curve *curve, int ncurves) {
  for (int i = 0; i < ncurves; i++) {
    const int number          = curve[i].number;
    const bool ours           = curve[i].contestant->ours;
    static const int filled[] = {7, 5, 9, 11, 13}, open[] = {6, 4, 8, 10, 12, 1, 2};
    fprintf(script, "set style line %d lc rgb '%s' lw %s dt %d pt %d ps %s\n", number + 1,
            colours[number % NCOLOURS], ours ? "2.2" : "1.8", ours ? 1 : 2,
            ours ? filled[number % 5] : open[number % 7], ours ? "0.7" : "0.9");
  }
}

/* Two panels side by side, with the legend to the right */
static void write_script(FILE *script, const Results *results, const Curve *curve, int ncurves,
                         const char *name) {
  fprintf(script, "set encoding utf8\nset logscale xy\nset format '10^{%%T}'\nset grid lc rgb "
                  "'#c8c8c8' lw 0.6\n");
  fprintf(script,
          "set border 3 lc rgb '#606060'\nset tics nomirror\nset ylabel 'error at the end'\n");
  write_styles(script, curve, ncurves);
  fprintf(script, "do for [type in 'svg png'] {\n");
  fprintf(script, "  if (type eq 'svg') { set terminal svg size 1200,520 font 'Helvetica,14' "
                  "background '#ffffff' }\n");
  fprintf(script, "  else { set terminal pngcairo size 1800,780 font 'Sans,15' background "
                  "'#ffffff' linewidth 1.4 }\n");
  fprintf(script, "  set output '%s.'.type\n  set multiplot title '%s' noenhanced\n", name,
          results->problem);
  fprintf(script, "  set tmargin at screen 0.90\n  set bmargin at screen 0.14\n");
  fprintf(script, "  set lmargin at screen 0.075\n  set rmargin at screen 0.41\n");
  fprintf(script, "  set key at screen 0.84,0.90 left top Left reverse noenhanced samplen 4\n");
  fprintf(script, "  set xlabel 'CPU time [s]'\n");
  write_plot(script, curve, ncurves, COST_SECONDS);
  /* the legend belongs to the first panel, which has all curves */
  fprintf(script, "  set lmargin at screen 0.49\n  set rmargin at screen 0.825\n  unset key\n");
  fprintf(script, "  set xlabel 'evaluations of f'\n");
  write_plot(script, curve, ncurves, COST_EVALUATIONS);
  fprintf(script, "  unset multiplot\n}\nunset output\n");
}

static int run_gnuplot(const char *folder, const char *file) {
  int status      = 0;
  const pid_t pid = fork();
  if (pid < 0) return -1;
  if (pid == 0) {
    if (!chdir(folder)) execlp("gnuplot", "gnuplot", file, (char *)NULL);
    _exit(NO_PROGRAM);
  }
  if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status) == NO_PROGRAM ? 1 : WEXITSTATUS(status) ? -1 : 0;
}

int plot_write(const Results *results, const char *folder) {
  char name[PROBLEM_NAME], file[PROBLEM_NAME + 8], path[4096];
  Curve curve[MOST_METHODS];
  int ncurves = 0;
  slug(results->problem, name);
  snprintf(file, sizeof file, "%s.gp", name);
  snprintf(path, sizeof path, "%s/%s", folder, file);
  FILE *script = fopen(path, "w");
  if (!script) return -1;
  for (int i = 0; contestant(i) && ncurves < MOST_METHODS; i++)
    if (write_data(script, results, contestant(i), i) > 0)
      curve[ncurves++] = (Curve){contestant(i), i};
  if (ncurves > 0) write_script(script, results, curve, ncurves, name);
  if (fclose(script)) return -1;
  return ncurves > 0 ? run_gnuplot(folder, file) : 2;
}
