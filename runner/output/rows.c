#include "rows.h"

#include <stdlib.h>
#include <string.h>

int rows_create(Rows *rows, long width, long capacity) {
  *rows = (Rows){.width = width, .capacity = capacity, .stride = 1};
  /* calloc touches no memory before it is needed, so short runs do not pay for it. */
  rows->data = calloc((size_t)capacity * (size_t)width, sizeof *rows->data);
  return rows->data ? 0 : -1;
}

void rows_free(Rows *rows) {
  free(rows->data);
  *rows = (Rows){.rows = 0};
}

static double *row_at(const Rows *rows, long i) { return rows->data + i * rows->width; }

static void merge_into(const Rows *rows, double *into, const double *row, long from,
                       RowsMerge merge) {
  for (long k = from; merge && k < rows->width; k++) into[k] = merge(into[k], row[k]);
}

/* Merges every second row into the one before it. */
static void halve(Rows *rows, long from, RowsMerge merge) {
  const size_t bytes = (size_t)rows->width * sizeof *rows->data;
  for (long i = 1; i < rows->rows; i += 2)
    merge_into(rows, row_at(rows, i - 1), row_at(rows, i), from, merge);
  for (long i = 2; i < rows->rows; i += 2) memcpy(row_at(rows, i / 2), row_at(rows, i), bytes);
  rows->rows = (rows->rows + 1) / 2;
  rows->stride *= 2;
}

double *rows_next(Rows *rows) { return row_at(rows, rows->rows); }

void rows_put(Rows *rows, long from, RowsMerge merge) {
  if (rows->seen++ % rows->stride == 0) rows->rows++;
  else merge_into(rows, row_at(rows, rows->rows - 1), rows_next(rows), from, merge);
  if (rows->rows < rows->capacity) return; /* one row must stay free for rows_next */
  const double *newest = row_at(rows, rows->rows - 1);
  const int goes       = rows->rows % 2 == 0;
  halve(rows, from, merge);
  if (goes) memcpy(rows_next(rows), newest, (size_t)rows->width * sizeof *newest);
}

const double *rows_newest(const Rows *rows) {
  if (rows->seen == 0) return NULL;
  return row_at(rows, (rows->seen - 1) % rows->stride == 0 ? rows->rows - 1 : rows->rows);
}

void rows_end(Rows *rows) {
  if (rows->seen > 0 && (rows->seen - 1) % rows->stride != 0) rows->rows++;
}
