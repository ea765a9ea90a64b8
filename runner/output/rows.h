/* A table of doubles in bounded memory, however many rows are added. */
#ifndef CPODES_RUNNER_ROWS_H
#define CPODES_RUNNER_ROWS_H

/* When the table is full, every second row is dropped, and from then on only each stride-th row is
 * taken. */
typedef struct {
  long rows, width, capacity;
  long stride, seen;
  double *data; /* [rows x width] */
} Rows;

/* Merges the values of a column in two rows. */
typedef double (*RowsMerge)(double a, double b);

/* capacity >= 4. Returns 0, or -1 if out of memory. Call rows_free in any case. */
int rows_create(Rows *rows, long width, long capacity);
void rows_free(Rows *rows);

/* Returns the memory of the next row, to be filled before rows_put. It may become the newest row
 * even if it is not taken. */
double *rows_next(Rows *rows);
/* Adds the row at rows_next. If that row is dropped, now or later, its columns from ... width - 1
 * are merged into the row before it. merge NULL: nothing is merged. */
void rows_put(Rows *rows, long from, RowsMerge merge);
/* Returns the newest row, also if it is not taken; NULL if there is none. */
const double *rows_newest(const Rows *rows);
/* Ends the table: the newest row becomes the last, although it may be closer to its predecessor
 * than other rows. */
void rows_end(Rows *rows);

#endif
