/* The command line of a benchmark. */
#ifndef CPODES_BENCH_OPTIONS_H
#define CPODES_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

typedef struct {
  FILE *csv;    /* gets a line for each run; NULL if that is not wanted */
  int repeat;   /* repetitions of each timed run */
  int nnames;   /* names after the options, */
  char **names; /* they select parts of the benchmark; none: all */
} Options;

/* what: one line for --help; names: what the names can be, for --help, or NULL; repeat: default of its option. Ends
   the program if the command line is wrong. */
Options options_parse(int argc, char **argv, const char *what, const char *names, int repeat);
void options_close(Options *options);

/* Is name, or a number, among the names, or are there none? */
bool options_select(const Options *options, const char *name);
bool options_select_number(const Options *options, long number);

#endif
