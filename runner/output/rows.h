/* A table of doubles in bounded memory, however many rows are put into it. */
#ifndef CPODES_RUNNER_ROWS_H
#define CPODES_RUNNER_ROWS_H

/* Rows of doubles; full: every second one goes, and from then on only each stride-th is taken */
typedef struct {
  long rows, width, capacity;
  long stride, seen;
  double *data; /* [rows x width] */
} Rows;

/* What becomes of a column of two rows that are merged */
typedef double (*RowsMerge)(double a, double b);

/* capacity: at least 4. 0, or -1 without memory; rows_free in any case */
int rows_create(Rows *rows, long width, long capacity);
void rows_free(Rows *rows);

/* Room for the next row, to be filled in before rows_put. It may become the newest one even where it is not taken. */
double *rows_next(Rows *rows);
/* Takes the row at rows_next; of one that is dropped, now or later, the columns from ... width - 1 are merged into the one
   before it. merge NULL: nothing is */
void rows_put(Rows *rows, long from, RowsMerge merge);
/* No more come: the newest one becomes the last, although it may be closer to the one before than those are */
void rows_end(Rows *rows);

#endif
