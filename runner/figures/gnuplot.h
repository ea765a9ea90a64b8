/* The program gnuplot: scripts for it, and runs of it. */
#ifndef CPODES_RUNNER_GNUPLOT_H
#define CPODES_RUNNER_GNUPLOT_H

#include <stdbool.h>
#include <stdio.h>

/* Is gnuplot available? */
bool gnuplot_exists(void);

/* Runs a script (a FILE from tmpfile, written so far) in a process of its own. Its output is
 * written to out, whose ferror the caller checks. Returns 0, or -1 after a complaint that begins
 * with `what`. */
int gnuplot_run(FILE *script, FILE *out, const char *what);

/* The same, but returns the output, which the caller frees, or NULL after a complaint. */
char *gnuplot_text(FILE *script, const char *what, size_t *length);

/* Writes text as a quoted gnuplot string; control characters and bytes that are not UTF-8 become
 * '?'. */
void gnuplot_string(FILE *script, const char *text);
/* The same for a label of a tic, which gnuplot takes as a format. */
void gnuplot_tic(FILE *script, const char *text);
/* Writes a number of a data block: NaN if it is not finite. */
void gnuplot_number(FILE *script, double value);

/* The common style: the colour of curve i = 0, 1, ..., and dashes and points that distinguish
 * curves without colour. */
const char *gnuplot_colour(int i);
const char *gnuplot_dashes(int i);
int gnuplot_point(int i);

/* The terminal for a file with the suffix .svg, .png or .pdf; NULL for other files. */
const char *gnuplot_terminal(const char *path);
/* Writes "set terminal ..." for such a file, with the size in points. */
void gnuplot_set_terminal(FILE *script, const char *path, int width, int height);
/* Runs the script to write a file completely or not at all. Returns 0, or -1 after a complaint. */
int gnuplot_write(FILE *script, const char *path);

#endif
