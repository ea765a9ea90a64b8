/* The command line of a benchmark. */
#ifndef CPODES_BENCH_OPTIONS_H
#define CPODES_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

typedef struct {
  FILE *csv;    /* receives a line for each run; NULL if not wanted */
  int repeat;   /* repetitions of each timed run */
  int nnames;   /* the number of names after the options */
  char **names; /* they select parts of the benchmark; no names: all parts */
} Options;

/* what: a line for --help; names: the permitted names, for --help, or NULL; repeat: the default of
 * its option. Ends the program if the command line is wrong. */
Options options_parse(int argc, char **argv, const char *what, const char *names, int repeat);
void options_close(Options *options);

/* Is name, or a number, among the names, or is the list of names empty? */
bool options_select(const Options *options, const char *name);
bool options_select_number(const Options *options, long number);

#endif
