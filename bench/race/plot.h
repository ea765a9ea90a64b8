/* Work-precision plots by gnuplot. */
#ifndef CPODES_BENCH_PLOT_H
#define CPODES_BENCH_PLOT_H

#include "result.h"

/* Writes <folder>/<problem>.gp with its data, and lets gnuplot make <problem>.svg and .png. Returns
 * 0; 1: there is no gnuplot; 2: nothing to draw; -1: a file cannot be written, or gnuplot failed. */
int plot_write(const Results *results, const char *folder);

#endif
