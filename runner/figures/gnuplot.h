/* The program gnuplot: scripts for it, and runs of it. */
#ifndef CPODES_RUNNER_GNUPLOT_H
#define CPODES_RUNNER_GNUPLOT_H

#include <stdbool.h>
#include <stdio.h>

/* Is it there? */
bool gnuplot_exists(void);

/* Runs a script (a FILE of tmpfile, written so far) in a process of its own; what it prints is written to out, whose
   ferror the caller asks. 0, or a complaint that begins with what, and -1 */
int gnuplot_run(FILE *script, FILE *out, const char *what);

/* text as a string of gnuplot's, with quotes; control characters and what is not UTF-8 become '?' */
void gnuplot_string(FILE *script, const char *text);
/* A number of a data block: NaN where it is not finite */
void gnuplot_number(FILE *script, double value);

/* What the figures share: a colour of curve i = 0, 1, ...; dashes and points that tell curves apart without colour */
const char *gnuplot_colour(int i);
const char *gnuplot_dashes(int i);
int gnuplot_point(int i);

/* Files by suffix: .svg, .png, .pdf; NULL: none of them */
const char *gnuplot_terminal(const char *path);
/* "set terminal ..." for such a file, of a size in points */
void gnuplot_set_terminal(FILE *script, const char *path, int width, int height);
/* Runs the script into a file that is there completely or not at all; 0, or a complaint and -1 */
int gnuplot_write(FILE *script, const char *path);

#endif
